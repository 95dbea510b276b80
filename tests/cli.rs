//! Golden command lines: `tests/cli/<command>/NAME.cmd` with what it prints and how it ends.
//! `MH_GOLDEN_ACCEPT=1 cargo test -p acceptance cli` writes down what happens; read the difference before committing it.

use crate::place::programs;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use testkit::golden::Golden;

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("cli")
}

fn check(command: &str) {
    let programs = programs();
    Golden::new(cases().join(command), programs.path()).check();
}

/// A test for each line, which runs the cases of its directories: tests of one line run one after the other, lines side by side.
macro_rules! runners {
    ($($name:ident: $($directory:literal),+;)+) => {
        $(#[test]
        fn $name() {
            [$($directory),+].iter().for_each(|directory| check(directory));
        })+

        const WITH_RUNNER: &[&str] = &[$($($directory),+),+];
    };
}

runners! {
    the_house_answers_as_written_down: "house";
    tamp_does_and_says_what_is_written_down: "tamp";
    tar_does_and_says_what_is_written_down: "tar";
    cp_rm_and_mv_do_and_say_what_is_written_down: "cp", "rm", "mv";
    sum_does_and_says_what_is_written_down: "sum";
    links_does_and_says_what_is_written_down: "links";
    xjobs_does_and_says_what_is_written_down: "xjobs";
    pstime_does_and_says_what_is_written_down: "pstime";
    ceiling_does_and_says_what_is_written_down: "ceiling";
    sysstat_does_and_says_what_is_written_down: "sysstat";
    systime_does_and_says_what_is_written_down: "systime";
    fit_does_and_says_what_is_written_down: "fit";
    innodb_does_and_says_what_is_written_down: "innodb";
    db_does_and_says_what_is_written_down: "db";
    mtwrite_does_and_says_what_is_written_down: "mtwrite";
    numa_does_and_says_what_is_written_down: "numa";
    bakeoff_does_and_says_what_is_written_down: "bakeoff";
    load_does_and_says_what_is_written_down: "load";
    locks_does_and_says_what_is_written_down: "locks";
    timers_does_and_says_what_is_written_down: "timers";
    vmtasks_does_and_says_what_is_written_down: "vmtasks";
    crew_does_and_says_what_is_written_down: "crew";
}

#[test]
fn every_directory_of_cases_has_a_runner() {
    let entries = std::fs::read_dir(cases()).expect("the cases can be listed");
    let mut found: Vec<String> =
        entries.map(|entry| entry.expect("the cases can be listed").file_name().into_string().expect("text")).collect();
    found.sort();
    let mut run: Vec<&str> = WITH_RUNNER.to_vec();
    run.sort_unstable();
    assert_eq!(found, run, "a directory of cases that no test runs, or a test of a directory that is not there");
}

#[test]
fn every_case_says_in_its_first_line_what_it_shows() {
    for path in files_below(&cases()) {
        if path.extension() == Some(OsStr::new("cmd")) {
            let script = std::fs::read_to_string(&path).expect("a case is text");
            assert!(script.starts_with("# "), "{path:?} does not say what it shows");
        }
    }
}

#[test]
fn nothing_but_cases_and_their_expectations_lies_between_them() {
    for path in files_below(&cases()) {
        let kind = path.extension().and_then(OsStr::to_str).unwrap_or_default();
        assert!(["cmd", "stdout", "stderr", "exit"].contains(&kind), "{path:?} belongs to nothing");
        assert!(path.with_extension("cmd").exists(), "{path:?} has no case");
        let is_empty = std::fs::metadata(&path).expect("it was listed").len() == 0;
        assert!(!is_empty, "{path:?} is empty: an expectation of nothing is not written down");
    }
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut unseen = vec![directory.to_owned()];
    while let Some(directory) = unseen.pop() {
        for entry in std::fs::read_dir(&directory).expect("the cases can be listed") {
            let path = entry.expect("the cases can be listed").path();
            if path.is_dir() { unseen.push(path) } else { files.push(path) }
        }
    }
    files
}

/// Each library that is loaded costs every start of the program a tenth of a millisecond: the C library and the unwinder are enough.
#[test]
fn the_program_loads_no_library_but_the_compiler_s() {
    let is_expected =
        |name: &str| ["linux-vdso.so.1", "libgcc_s.so.1", "libc.so.6"].contains(&name) || name.contains("/ld-");
    let program = crate::place::binary();
    let traced = std::process::Command::new(program).env("LD_TRACE_LOADED_OBJECTS", "1").output().expect("it runs");
    let text = String::from_utf8_lossy(&traced.stdout);
    assert!(text.lines().filter_map(|line| line.split_whitespace().next()).all(is_expected), "{text}");
}
