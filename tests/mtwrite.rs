//! Unmodified programs under `mh mtwrite`: the same trees as without it, failures that are told, and no end of a process that loses
//! what it has written.

mod alike;
mod ends;
mod hazards;

use crate::place::{Place, binary};
use std::path::PathBuf;
use testkit::program::{Exit, ProgramOutcome};

/// The library, beside the program under test.
fn library() -> PathBuf {
    let library = binary().with_file_name("libmhwrite.so");
    assert!(library.exists(), "there is no {library:?}: run `cargo build --release --package manyhands-mtwrite`");
    library
}

/// A script that must succeed, with the library as `$lib`.
fn succeeds(place: &Place, script: &str) -> ProgramOutcome {
    let outcome = run(place, script);
    let said = String::from_utf8_lossy(&outcome.stderr);
    assert_eq!(outcome.exit, Exit::Code(0), "{script}\n{said}");
    outcome
}

fn run(place: &Place, script: &str) -> ProgramOutcome {
    place.shell(&format!("lib='{}'; {script}", library().display()))
}

/// A program in C, built in `place` under `name`.
fn build(place: &Place, name: &str, options: &str, source: &str) {
    place.write(format!("{name}.c"), source);
    succeeds(place, &format!("cc -O1 {options} -o {name} {name}.c"));
}
