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
use cluster::spool::{Spool, SpoolFault};
use mh_kit::failure::{Failure, with_causes};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The directory of whoever submitted it: relative names mean files there.
fn go_to_its_directory(spool: &Spool) -> Result<(), Failure> {
    let directory = Path::new(OsStr::from_bytes(&spool.header().directory.0));
    std::env::set_current_dir(directory).map_err(|error| Failure::Environment {
        command: NAME,
        message: format!("go to {}, where jobs run: {}", terminal::quote(directory), with_causes(&error)),
    })
}

/// A fault of the spool as the end of the run.
fn spool_failure(fault: &SpoolFault) -> Failure {
    Failure::Environment { command: NAME, message: with_causes(fault) }
}
