//! `mh sum` and its old names against the real tools: the same command line in twin directories must print the same, and end with the same exit code.
//! What differs on purpose is no case here but a line in docs/commands/sum.md. A tool that is not installed is named as left out.

mod b3sum;
mod coreutils;
mod hazards;
mod own;
mod xxhsum;

use crate::place::{Place, binary};
use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use testkit::data;
use testkit::program::{ProgramOutcome, TestProgram, left_out};
use testkit::tree::TempDir;

/// A command line, and whether its messages must be the same, too.
struct Case {
    line: &'static str,
    same_messages: bool,
}

/// Standard output and exit code.
const fn ends(line: &'static str) -> Case {
    Case { line, same_messages: false }
}

/// Standard error too.
const fn says(line: &'static str) -> Case {
    Case { line, same_messages: true }
}

/// Links of all names to the program under test.
fn links() -> TempDir {
    let links = TempDir::new().expect("a directory");
    let made = TestProgram::at(binary()).run([Path::new("links"), links.path()], b"").expect("the program starts");
    made.stdout_of_success();
    links
}

/// What cases find: files of all sizes that matter, names that need escapes, and what is no file.
fn directory() -> Place {
    let place = Place::new();
    place.write("a", b"hello").write("empty", b"").write("text", data::text(70_000, 1));
    place.write("large", data::text((3 << 20) + 5, 2)).write("new\nline", b"x\n").write("back\\slash", b"y\n");
    place.write("return\r", b"z\n").write("dir/inside", b"in a directory\n").write("it's $5", b"q\n");
    place.write(" blank", b"w\n").write("junk", b"junk\n");
    symlink("a", place.path("link")).expect("a link");
    symlink("nowhere", place.path("dangling")).expect("a link");
    place
}

/// Runs a line in `sh`, with `links` in front of the path.
fn run_line(place: &Place, line: &str, links: Option<&Path>) -> ProgramOutcome {
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    let directories = links.into_iter().map(PathBuf::from).chain(std::env::split_paths(&inherited));
    let path: OsString = std::env::join_paths(directories).expect("directories without colons");
    let shell = TestProgram::find("sh").expect("every system has sh").in_directory(place.directory());
    let shell = shell.with_variable("PATH", path).with_variable("LC_ALL", "C");
    let shell = shell.with_variable("MH_CREW_DIR", "").with_variable("MH_CONFIG", "");
    shell.run(["-c", line], b"").expect("sh starts")
}

/// Runs all cases both ways.
fn compare(tool: &str, cases: &[Case]) {
    if TestProgram::find(tool).is_none() {
        return left_out(&format!("{tool} is not installed"));
    }
    let (links, mut differences) = (links(), String::new());
    for case in cases {
        let (theirs, ours) = (directory(), directory());
        let real = run_line(&theirs, case.line, None);
        let linked = run_line(&ours, case.line, Some(links.path()));
        let mut differs = |what: &str, real: String, ours: String| {
            if real != ours {
                differences.push_str(&format!("{}\n  {what}: {real}\n  ours: {ours}\n", case.line));
            }
        };
        let text = |bytes: &[u8]| format!("{:?}", String::from_utf8_lossy(bytes));
        differs("exit", format!("{:?}", real.exit), format!("{:?}", linked.exit));
        differs("output", text(&real.stdout), text(&linked.stdout));
        if case.same_messages {
            differs("messages", text(&real.stderr), text(&linked.stderr));
        }
    }
    assert!(differences.is_empty(), "{tool}:\n{differences}");
}
