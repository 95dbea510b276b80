//! `mh cp`, `mh rm` and `mh mv` on real trees, against GNU's: same trees, same exit codes, at 1, 2 and 64 hands; and under those who
//! swap folders for links meanwhile.

mod corners;
pub mod described;
mod hostile;
mod interrupted;
mod likeness;

use crate::place::{Place, said};
use testkit::program::{Exit, Outcome};

/// Widths at which everything is tried: alone, as this machine, more than any core here.
const WIDTHS: [&str; 3] = ["1", "2", "64"];

/// A script that must succeed.
fn succeeds(place: &Place, script: &str) -> Outcome {
    let outcome = place.shell(script);
    assert_eq!(outcome.exit, Exit::Code(0), "{script}: {}", said(&outcome));
    outcome
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
