//! `mh cp`, `mh rm` and `mh mv` on real trees, against GNU's: same trees, same exit codes, at 1, 2 and 64 hands; and under those who
//! swap directories for links meanwhile.

mod corners;
pub mod described;
mod hostile;
mod interrupted;
mod likeness;
mod overlap;

use crate::place::{Place, said};
use testkit::program::{Exit, ProgramOutcome, TestProgram, left_out};

/// Widths at which everything is tried: alone, as this machine, more than any core here.
const WIDTHS: [&str; 3] = ["1", "2", "64"];

/// A script that must succeed.
fn succeeds(place: &Place, script: &str) -> ProgramOutcome {
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
    if TestProgram::find("strace").is_none() {
        return left_out("strace is not installed");
    }
    let place = Place::new();
    succeeds(&place, "mkdir src; for i in 0 1 2 3 4 5 6 7 8 9; do echo $i > src/$i; done");
    let duplicated =
        "strace -f -e trace=fcntl -o calls \"$mh\" cp -r src dst && diff -r src dst && grep -c F_DUPFD calls || true";
    let count: u32 = String::from_utf8_lossy(&succeeds(&place, duplicated).stdout).trim().parse().expect("a number");
    assert!(count <= 1, "{count} descriptors were duplicated");
}

/// To SMB, NFS and FUSE, a file in two tables is one that its owner has not closed yet.
#[test]
fn from_when_there_is_work_for_two_no_file_gets_a_number_that_tables_share() {
    if TestProgram::find("strace").is_none() {
        return left_out("strace is not installed");
    }
    let place = Place::new();
    let elsewhere = likeness::elsewhere(&place).map(|path| path.display().to_string());
    if elsewhere.is_none() {
        left_out("moves to another file system: there is only one");
    }
    // A directory that is listed in pieces, the rest while another worker begins; and one below it that is moved before it. `-v` asks for hands at once.
    succeeds(&place, "mkdir -p src/a/b/c; for i in $(seq 2500); do : > src/a/leaf$i; done");
    let traced = "strace -f -qq -e trace=openat,close_range -o calls env MH_CREW_DIR= $mh";
    let moves = elsewhere.map(|far| {
        format!("far=$(mktemp -d -p {far}); trap 'rm -rf $far' EXIT; {traced} mv -v -j2 src/a/b src/a $far")
    });
    for script in [Some(format!("{traced} cp -rv -j2 src dst")), moves].into_iter().flatten() {
        succeeds(&place, &script);
        let calls = String::from_utf8(place.read("calls")).expect("text");
        let unshares = |line: &str| line.contains("CLOSE_RANGE_UNSHARE");
        let is_made = |line: &&str| line.contains("leaf") && line.contains("O_CREAT|O_EXCL");
        let number = |line: &str| line.rsplit_once(" = ").and_then(|(_, number)| number.trim().parse::<u32>().ok());
        // Calls of the last run of several, from when there were two.
        let lines: Vec<&str> = calls.lines().collect();
        let from =
            lines.iter().rposition(|line| unshares(line)).unwrap_or_else(|| panic!("{script}: one table: {calls}"));
        let numbers: Vec<u32> = lines[from..].iter().copied().filter(is_made).filter_map(number).collect();
        assert!(numbers.len() > 50 && numbers.iter().all(|&number| number >= 64), "{script}: {numbers:?}");
    }
}

/// A table that grows once threads share it makes whoever opens something wait for ten milliseconds.
#[test]
fn room_for_descriptors_is_made_before_somebody_draws_progress() {
    if ["strace", "script"].map(TestProgram::find).iter().any(Option::is_none) {
        return left_out("strace or script is not installed");
    }
    for command in ["cp -r src dst", "rm -r src"] {
        let place = Place::new();
        succeeds(&place, "mkdir src; echo 1 > src/file");
        succeeds(&place, &format!("script -qec \"strace -f -e trace=fcntl,clone3 -o calls $mh {command}\" /dev/null"));
        let calls = String::from_utf8(place.read("calls")).expect("text");
        let at = |text| calls.find(text).unwrap_or_else(|| panic!("{command}: no {text}: {calls}"));
        assert!(at("F_DUPFD_CLOEXEC, 1023") < at("clone3("), "{command}: {calls}");
    }
}
