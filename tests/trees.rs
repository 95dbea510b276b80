//! `mh cp`, `mh rm` and `mh mv` on real trees, against GNU's: same trees, same exit codes, at 1, 2 and 64 hands; and under those who
//! swap folders for links meanwhile.

mod corners;
pub mod described;
mod hostile;
mod interrupted;
mod likeness;

use crate::place::{Place, said};
use testkit::program::{Exit, Outcome, Program, left_out};

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

/// Taking the low numbers of descriptors, so that no file is in two tables, costs a call for each: as much as copying three small files.
#[test]
fn a_copy_of_ten_files_prepares_nothing_for_other_hands() {
    if Program::find("strace").is_none() {
        return left_out("strace is not installed");
    }
    let place = Place::new();
    succeeds(&place, "mkdir src; for i in 0 1 2 3 4 5 6 7 8 9; do echo $i > src/$i; done");
    let duplicated =
        "strace -f -e trace=fcntl -o calls \"$mh\" cp -r src dst && diff -r src dst && grep -c F_DUPFD calls || true";
    let count: u32 = String::from_utf8_lossy(&succeeds(&place, duplicated).stdout).trim().parse().expect("a number");
    assert!(count <= 1, "{count} descriptors were duplicated");
}
