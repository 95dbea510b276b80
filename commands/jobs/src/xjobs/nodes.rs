//! `mh xjobs --on ENGINE`: the same list on many machines. `submit` cuts it and has workers started, `worker` is one of them, `gather` prints
//! what they publish, `books` keeps the journal; `target` says where. How chunks are claimed and results published: engines/cluster.

mod args;
mod books;
mod gather;
mod list;
mod shown;
mod submit;
mod target;
mod watched;
mod worker;

pub use args::NodeArgs;
pub use gather::attach;
pub use submit::submit;
pub use worker::work;

use super::NAME;
use cluster::spool::SpoolFault;
use mh_kit::failure::{Failure, with_causes};

/// A fault of the spool as the end of the run.
fn spool_failure(fault: &SpoolFault) -> Failure {
    Failure::Environment { command: NAME, message: with_causes(fault) }
}
