//! `mh xjobs` as it is shipped: beside Debian's xjobs, on GNU parallel's list of stress tests, under hostile arguments, and
//! killed in the middle. Nothing depends on speed.

mod debian;
mod delivery;
mod ends;
mod hands;
mod hostile;
mod kills;
mod memory;
mod nodes;
mod output;
mod parallel;
mod releases;
mod resume;
mod server;
mod sleeps;
mod slots;
mod slurm;
mod tree;

use crate::place::{Place, binary};
use std::ffi::OsStr;
use testkit::program::{ProgramOutcome, TestProgram};

/// `mh xjobs` with these arguments and this list, in a fresh place's directory.
fn xjobs<Argument: AsRef<OsStr>>(place: &Place, arguments: &[Argument], list: impl AsRef<[u8]>) -> ProgramOutcome {
    let words = [OsStr::new("xjobs")].into_iter().chain(arguments.iter().map(AsRef::as_ref));
    // Tests run side by side, and some jobs wait for each other: each list has as many hands as it asks for.
    let program = TestProgram::at(binary()).in_directory(place.directory()).with_variable("MH_CREW_DIR", "");
    program.run(words, list.as_ref()).expect("the program starts")
}

fn stdout(outcome: &ProgramOutcome) -> String {
    String::from_utf8_lossy(&outcome.stdout).into_owned()
}
