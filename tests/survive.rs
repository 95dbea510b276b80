//! What `mh tar`, `mh cp` and `mh rm` must survive: trees of any depth and breadth, names of every byte, trees that change meanwhile, disks that
//! fail, signals; with 1, 2 and 64 hands, within their bounds of memory and descriptors.

mod changing;
mod failing;
mod large;
mod names;
pub mod sandboxed;
mod signals;

use crate::place::{Place, is_long, said};
use testkit::program::{Exit, ProgramOutcome, TestProgram, left_out};

const WIDTHS: [&str; 3] = ["1", "2", "64"];

/// For what takes long: as many hands as memory and names are dearest with. The long tier takes all.
fn widths_of_the_large() -> &'static [&'static str] {
    if is_long() { &WIDTHS } else { &WIDTHS[2..] }
}

/// A script that must succeed; what it printed.
fn succeeds(place: &Place, script: &str) -> String {
    let outcome = place.shell(script);
    assert_eq!(outcome.exit, Exit::Code(0), "{script}: {}", said(&outcome));
    String::from_utf8_lossy(&outcome.stdout).into_owned()
}

/// A program in Python, which must succeed; what it printed. `None` where there is no Python.
fn python(place: &Place, program: &str) -> Option<String> {
    let Some(python) = TestProgram::find("python3") else {
        left_out("python3 is not installed");
        return None;
    };
    let python = python.in_directory(place.directory()).with_variable("mh", crate::place::binary());
    let ran = python.with_variable("MH_CREW_DIR", "").run(["-c", program], b"").expect("it starts");
    assert_eq!(ran.exit, Exit::Code(0), "{}", said(&ran));
    Some(String::from_utf8_lossy(&ran.stdout).into_owned())
}

fn is_no_panic(outcome: &ProgramOutcome) -> bool {
    !said(outcome).contains("panicked") && matches!(outcome.exit, Exit::Code(0..=2))
}
