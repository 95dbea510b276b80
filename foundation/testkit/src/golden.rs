//! Golden command lines: small shell scripts with their expected output and exit code beside them.
//!
//! A case is `NAME.cmd`, run by `sh` in a fresh directory, with `NAME.stdout`, `NAME.stderr` and `NAME.exit` (absent means
//! empty, and 0). In an expected line `[..]` stands for anything. `MH_GOLDEN_ACCEPT=1` writes down what happened instead of
//! comparing. Bytes that are no text are compared, and written down, as `\xNN`; the case must not print such text itself.

use crate::program::{Exit, ProgramOutcome, TIME_LIMIT, run_to_end};
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A directory of cases, with those in the directories below it, and how to run them.
#[derive(Clone, Debug)]
pub struct Golden {
    cases: PathBuf,
    programs: PathBuf,
    variables: Vec<(OsString, OsString)>,
    mode: GoldenMode,
    time_limit: Duration,
}

/// What happens to expectations that are not met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoldenMode {
    /// They fail the test.
    Compare,
    /// They are written anew. Lines with `[..]` that still fit stay.
    Accept,
}

/// What running the cases has shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Cases that were run.
    pub cases: usize,
    /// What was not as written down, a text each, ready to print.
    pub failures: Vec<String>,
    /// Expectations that were written anew.
    pub accepted: Vec<PathBuf>,
}

const SCRIPT: &str = "cmd";
const EXPECTATIONS: [&str; 3] = ["stdout", "stderr", "exit"];

impl Golden {
    /// The cases in `cases`, run with the directory `programs` first in `PATH`. The mode is taken from the environment.
    pub fn new(cases: impl Into<PathBuf>, programs: impl Into<PathBuf>) -> Self {
        let is_accepted = std::env::var_os("MH_GOLDEN_ACCEPT").is_some_and(|value| value == "1");
        let mode = if is_accepted { GoldenMode::Accept } else { GoldenMode::Compare };
        Self { cases: cases.into(), programs: programs.into(), variables: Vec::new(), mode, time_limit: TIME_LIMIT }
    }

    /// Chooses the mode, whatever the environment says.
    #[must_use]
    pub fn in_mode(mut self, mode: GoldenMode) -> Self {
        self.mode = mode;
        self
    }

    /// Adds an environment variable; scripts see none of this process's but those listed at [`Golden::run`].
    #[must_use]
    pub fn with_variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Ends a case after another time than [`TIME_LIMIT`].
    #[must_use]
    pub fn within(mut self, time_limit: Duration) -> Self {
        self.time_limit = time_limit;
        self
    }

    /// Runs all cases.
    ///
    /// # Panics
    /// When a case is not as written down, when an expectation has no case, or when there is no case at all.
    pub fn check(&self) {
        let findings =
            self.run().unwrap_or_else(|error| panic!("could not run the cases in {:?}: {error}", self.cases));
        assert!(findings.cases > 0, "there are no cases in {:?}", self.cases);
        let (failed, cases) = (findings.failures.len(), findings.cases);
        assert!(failed == 0, "{failed} failures in {cases} cases\n\n{}", findings.failures.join("\n"));
    }

    /// Runs all cases in order of their names and compares them.
    ///
    /// A script sees `PATH`, `LC_ALL=C`, `TZ=UTC`, `HOME` and `TMPDIR` (its own fresh directory), and `CASE_DIRECTORY`, where its
    /// `.cmd` lies with whatever files it shares with others.
    pub fn run(&self) -> io::Result<Findings> {
        let mut findings = Findings::default();
        for path in files_below(&self.cases)? {
            let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
            if extension == SCRIPT {
                self.run_case(&path, &mut findings)?;
            } else if EXPECTATIONS.contains(&extension) && !path.with_extension(SCRIPT).exists() {
                findings.failures.push(format!("--- {}: there is no .cmd to it\n", self.name(&path)));
            }
        }
        Ok(findings)
    }

    fn run_case(&self, script: &Path, findings: &mut Findings) -> io::Result<()> {
        findings.cases += 1;
        let outcome = self.outcome(script)?;
        if outcome.exit == Exit::TimedOut {
            let (stdout, stderr) = (readable(&outcome.stdout), readable(&outcome.stderr));
            let (name, limit) = (self.name(script), self.time_limit);
            let said = format!("stdout so far:\n{stdout}\nstderr so far:\n{stderr}\n");
            findings.failures.push(format!("--- {name}: killed after {limit:?}\n{said}"));
            return Ok(());
        }
        let exit = match outcome.exit {
            Exit::Code(0) => String::new(),
            Exit::Code(code) => format!("{code}\n"),
            Exit::Signal(signal) => format!("signal {signal}\n"),
            Exit::TimedOut => unreachable!("handled above"),
        };
        for (kind, actual) in EXPECTATIONS.iter().zip([readable(&outcome.stdout), readable(&outcome.stderr), exit]) {
            let path = script.with_extension(kind);
            let expected = read_if_there(&path)?;
            // A .exit of 0 may be written down too.
            let expected = if *kind == "exit" && expected.trim() == "0" { String::new() } else { expected };
            if text_fits(&expected, &actual) {
                continue;
            }
            match self.mode {
                GoldenMode::Compare => {
                    findings.failures.push(format!("--- {}\n{}", self.name(&path), diff(&expected, &actual)))
                }
                GoldenMode::Accept => {
                    accept(&path, &expected, &actual)?;
                    findings.accepted.push(path);
                }
            }
        }
        Ok(())
    }

    fn outcome(&self, script: &Path) -> io::Result<ProgramOutcome> {
        let directory = tempfile::tempdir()?;
        let script = fs::canonicalize(script)?;
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        let directories = [fs::canonicalize(&self.programs)?].into_iter().chain(std::env::split_paths(&inherited));
        let path = std::env::join_paths(directories).map_err(io::Error::other)?;
        let mut command = Command::new("sh");
        command.arg(&script).current_dir(directory.path()).env_clear();
        command.env("PATH", path).env("LC_ALL", "C").env("TZ", "UTC");
        command.env("HOME", directory.path()).env("TMPDIR", directory.path());
        command.env("CASE_DIRECTORY", script.parent().unwrap_or(Path::new("/")));
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        run_to_end(command, b"", self.time_limit)
    }

    fn name(&self, path: &Path) -> String {
        path.strip_prefix(&self.cases).unwrap_or(path).display().to_string()
    }
}

/// All files in `directory` and below, sorted.
fn files_below(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut unseen = vec![directory.to_owned()];
    while let Some(directory) = unseen.pop() {
        for entry in fs::read_dir(&directory)? {
            let path = entry?.path();
            if path.is_dir() { unseen.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    Ok(files)
}

fn read_if_there(path: &Path) -> io::Result<String> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        other => other,
    }
}

fn readable(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for part in bytes.utf8_chunks() {
        text.push_str(part.valid());
        for byte in part.invalid() {
            write!(text, "\\x{byte:02x}").expect("a string takes every write");
        }
    }
    text
}

/// Lines, and whatever follows the last line end: a missing line end is a difference.
fn lines(text: &str) -> Vec<&str> {
    text.split('\n').collect()
}

fn text_fits(expected: &str, actual: &str) -> bool {
    let (expected, actual) = (lines(expected), lines(actual));
    expected.len() == actual.len() && expected.iter().zip(&actual).all(|(expected, actual)| line_fits(expected, actual))
}

const ANYTHING: &str = "[..]";

/// Whether `actual` is `expected`, where `[..]` stands for any text, also none.
fn line_fits(expected: &str, actual: &str) -> bool {
    let Some((start, patterns)) = expected.split_once(ANYTHING) else { return expected == actual };
    let Some(mut rest) = actual.strip_prefix(start) else { return false };
    let mut patterns: Vec<&str> = patterns.split(ANYTHING).collect();
    let end = patterns.pop().unwrap_or_default();
    // The earliest place of each middle part leaves most room for the others.
    for middle in patterns {
        match rest.split_once(middle) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(end)
}

fn accept(path: &Path, expected: &str, actual: &str) -> io::Result<()> {
    if actual.is_empty() {
        return fs::remove_file(path);
    }
    let (expected, actual) = (lines(expected), lines(actual));
    let kept = actual.iter().enumerate().map(|(index, actual)| match expected.get(index) {
        Some(expected) if line_fits(expected, actual) => *expected,
        _ => *actual,
    });
    fs::write(path, kept.collect::<Vec<_>>().join("\n"))
}

/// Expected lines with `-`, actual ones with `+`, what both have with a blank.
fn diff(expected: &str, actual: &str) -> String {
    let (expected, actual) = (shown_lines(expected), shown_lines(actual));
    let same = |(expected, actual): &(&String, &String)| line_fits(expected, actual);
    let before = expected.iter().zip(&actual).take_while(same).count();
    let (expected_rest, actual_rest) = (&expected[before..], &actual[before..]);
    let after = expected_rest.iter().rev().zip(actual_rest.iter().rev()).take_while(same).count();
    let mut text = String::new();
    let parts = [
        (' ', &actual[before.saturating_sub(CONTEXT_LINES)..before]),
        ('-', &expected_rest[..expected_rest.len() - after]),
        ('+', &actual_rest[..actual_rest.len() - after]),
        (' ', &actual_rest[actual_rest.len() - after..][..after.min(CONTEXT_LINES)]),
    ];
    for (mark, lines) in parts {
        for line in lines {
            writeln!(text, "{mark} {line}").expect("a string takes every write");
        }
    }
    text
}

/// Lines for a reader, who cannot see whether the last one has an end.
fn shown_lines(text: &str) -> Vec<String> {
    let mut shown: Vec<String> = text.lines().map(without_controls).collect();
    if let Some(last) = shown.last_mut().filter(|_| !text.ends_with('\n')) {
        last.push_str(" (no line end)");
    }
    shown
}

/// Shows control characters, which a terminal would obey, by their escapes.
fn without_controls(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    for letter in line.chars() {
        if letter.is_control() {
            shown.extend(letter.escape_default());
        } else {
            shown.push(letter);
        }
    }
    shown
}

/// More would drown the difference, fewer would not show where it is.
const CONTEXT_LINES: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::TempTree;

    /// A directory `cases` with these files, and an empty directory `programs`.
    fn golden(files: &[(&str, &str)]) -> (TempTree, Golden) {
        let tree = TempTree::new();
        tree.directory("cases").directory("programs");
        for (name, text) in files {
            tree.file(format!("cases/{name}"), text);
        }
        let golden = Golden::new(tree.path().join("cases"), tree.path().join("programs")).in_mode(GoldenMode::Compare);
        (tree, golden)
    }

    fn failures(files: &[(&str, &str)]) -> Vec<String> {
        let (_tree, golden) = golden(files);
        golden.run().expect("cases run").failures
    }

    #[test]
    fn a_case_as_written_down_passes() {
        let script = "echo out $LC_ALL $TZ; echo err >&2; exit 3";
        let files = [("deep/a.cmd", script), ("deep/a.stdout", "out C UTC\n"), ("deep/a.stderr", "err\n")];
        let (tree, golden) = golden(&files);
        tree.file("cases/deep/a.exit", "3\n").file("cases/silent.cmd", "true").file("cases/silent.exit", "0\n");
        assert_eq!(golden.run().expect("cases run"), Findings { cases: 2, ..Findings::default() });
        golden.check();
    }

    #[test]
    fn every_difference_is_shown() {
        let failures =
            failures(&[("a.cmd", "echo one; echo 2; echo three; exit 4"), ("a.stdout", "one\ntwo\nthree\n")]);
        assert_eq!(failures, ["--- a.stdout\n  one\n- two\n+ 2\n  three\n", "--- a.exit\n+ 4\n"]);
    }

    #[test]
    fn a_difference_shows_control_characters_and_leaves_quotes() {
        let failures = failures(&[("a.cmd", "printf \"'\\033[2J'\\n\""), ("a.stdout", "''\n")]);
        assert_eq!(failures, ["--- a.stdout\n- ''\n+ '\\u{1b}[2J'\n"]);
    }

    #[test]
    fn a_missing_line_end_is_a_difference() {
        let shown = failures(&[("a.cmd", "printf x"), ("a.stdout", "x\n")]);
        assert_eq!(shown, ["--- a.stdout\n- x\n+ x (no line end)\n"]);
        assert_eq!(failures(&[("a.cmd", "printf x"), ("a.stdout", "x")]).len(), 0);
    }

    #[test]
    fn wildcards_stand_for_any_part_of_a_line() {
        for (pattern, line, fits) in [
            ("took [..] s", "took 1.5 s", true),
            ("took [..] s", "took 1.5 ms!", false),
            ("[..]", "", true),
            ("a[..]b[..]c", "a-b-b-c", true),
            ("a[..]a", "a", false),
            ("a[..]b", "xab", false),
            ("a[..]b[..]b", "ab", false),
        ] {
            assert_eq!(line_fits(pattern, line), fits, "{pattern} {line}");
        }
        assert!(!text_fits("[..]\n", "one\ntwo\n"), "a wildcard does not cross lines");
    }

    #[test]
    fn an_expectation_without_a_case_fails() {
        for forgotten in ["b.stdout", "b.stderr", "deep/b.exit"] {
            let failures = failures(&[("a.cmd", "true"), (forgotten, "")]);
            assert_eq!(failures, [format!("--- {forgotten}: there is no .cmd to it\n")]);
        }
    }

    #[test]
    fn programs_come_first_and_little_else_is_seen() {
        let (tree, golden) =
            golden(&[("a.cmd", "mh; echo ${CARGO_MANIFEST_DIR-none} $MINE; pwd | grep -c \"$HOME\"; ls")]);
        tree.file("programs/mh", "#!/bin/sh\necho the program\n").mode("programs/mh", 0o755);
        tree.file("cases/a.stdout", "the program\nnone here\n1\n");
        let findings = golden.with_variable("MINE", "here").run().expect("cases run");
        assert!(findings.failures.is_empty(), "{:?}", findings.failures);
    }

    #[test]
    fn a_hanging_case_is_killed_and_reported() {
        let (_tree, golden) = golden(&[("a.cmd", "echo begun; sleep 1000")]);
        let failures = golden.within(Duration::from_millis(300)).run().expect("cases run").failures;
        assert!(failures[0].starts_with("--- a.cmd: killed after 300ms\nstdout so far:\nbegun\n"), "{failures:?}");
    }

    #[test]
    fn accepting_writes_what_happened_and_keeps_wildcards_that_fit() {
        let script = "echo took 5 s; echo new; echo err >&2; printf '\\377\\n'";
        let (tree, golden) = golden(&[("a.cmd", script), ("a.stdout", "took [..] s\nold\n"), ("a.exit", "7\n")]);
        let findings = golden.clone().in_mode(GoldenMode::Accept).run().expect("cases run");
        assert_eq!((findings.failures.len(), findings.accepted.len()), (0, 3));
        let read = |name: &str| fs::read_to_string(tree.path().join("cases").join(name));
        assert_eq!(read("a.stdout").expect("written"), "took [..] s\nnew\n\\xff\n");
        assert_eq!(read("a.stderr").expect("written"), "err\n");
        assert!(read("a.exit").is_err(), "an exit of 0 is not written down");
        golden.check();
    }

    #[test]
    #[should_panic(expected = "there are no cases")]
    fn a_directory_without_cases_is_a_mistake() {
        golden(&[]).1.check();
    }
}
