//! `cargo xtask test`: the project's one test command. Runs step after step, stops at the first that fails, names what it had
//! to leave out, and ends in the totals of all test runners. Holds no test itself.

use clap::Args;
use rustix::fs::StatVfsMountFlags;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use xtask::workspace::{self, Packaged, built, has_program, release_binary, root};

/// How much to test.
#[derive(Args)]
pub struct TestArguments {
    /// The second tier: fuzzing, long models, everything that takes more than minutes
    #[arg(long)]
    long: bool,

    /// Install the missing Debian packages first, as root (also if the variable CI is set)
    #[arg(long)]
    install: bool,
}

/// Tools whose files must be read, and read ours; and what the tests' scripts need. Debian's names.
const PACKAGES: &[Packaged] = &[
    ("gzip", "gzip"),
    ("pigz", "pigz"),
    ("zstd", "zstd"),
    ("lz4", "lz4"),
    ("bzip2", "bzip2"),
    ("lbzip2", "lbzip2"),
    ("pbzip2", "pbzip2"),
    ("xz", "xz-utils"),
    ("pixz", "pixz"),
    ("time", "time"),
    ("compress", "ncompress"),
    ("lzip", "lzip"),
    ("lzop", "lzop"),
    ("bgzip", "tabix"),
    ("igzip", "isal"),
    ("libdeflate-gzip", "libdeflate-tools"),
    ("setfattr", "attr"),
    ("setfacl", "acl"),
    ("xjobs", "xjobs"),
    ("strace", "strace"),
    ("ps", "procps"),
    ("c++", "g++"),
    ("unshare", "util-linux"),
    ("bsdtar", "libarchive-tools"),
    ("fakeroot", "fakeroot"),
    ("unzip", "unzip"),
    ("zip", "zip"),
    ("cpio", "cpio"),
    ("rsync", "rsync"),
    ("cyclictest", "rt-tests"),
    ("objdump", "binutils"),
    ("lintian", "lintian"),
    ("mariadbd", "mariadb-server"),
    ("pg_ctlcluster", "postgresql"),
    ("openssl", "openssl"),
    ("prometheus", "prometheus"),
    ("sbatch", "slurm-wlm"),
    ("munged", "munge"),
    ("sshd", "openssh-server"),
    ("ssh", "openssh-client"),
];

/// Schedules of each model in the second tier.
const MODEL_ITERATIONS_LONG: &str = "100000";

/// `TMPFS_MAGIC` of statfs(2).
const TMPFS: rustix::fs::FsWord = 0x0102_1994;

/// Where tests make their files, if it is a file system in memory with room: on a disk they take up to three times as long.
const IN_MEMORY: &str = "/dev/shm";

/// LIMIT: tests hold 1.7 GB of files at once; the rest is for what they run.
const IN_MEMORY_MIN_BYTES: u64 = 6 << 30;

/// The step whose files may be in memory.
const TESTS: &str = "tests";

/// LIMIT: enough for a handful of tests; all lines are where the test runner printed them.
const MAX_FAILURE_LINES: usize = 100;

/// How many tests run at a time. Three for two cores: tests wait for servers, disks and clocks for a third of their time.
const TEST_THREADS: &str = "RUST_TEST_THREADS";

/// Runs the acceptance tests that have one of the names behind it.
const ACCEPTANCE: &[&str] = &["test", "--workspace", "--test", "acceptance", "--"];

/// Those that ask a file system what it can do, or compare what others make on it: on the disk, too.
const ON_DISK: &[&str] = &[
    "trees::likeness",
    "trees::corners",
    "tar::habits",
    "tar::corners",
    "tar::itself",
    "mtwrite::alike",
    "faults::metadata",
    "faults::outputs",
    "survive::changing",
];

/// One step: a heading and a program.
struct Step {
    heading: &'static str,
    program: PathBuf,
    arguments: Vec<&'static str>,
    environment: Vec<(&'static str, String)>,
}

/// What can be run here.
#[derive(Clone, Copy)]
struct Tools {
    fmt: bool,
    clippy: bool,
    deny: Deny,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Deny {
    Missing,
    /// The advisories cannot be fetched.
    Offline,
    Whole,
}

/// What all test runners said together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Totals {
    passed: u64,
    failed: u64,
    ignored: u64,
    /// Which those were, each with its reason.
    names_ignored: Vec<String>,
    /// Whatever failed tests printed, to be read again at the end.
    failures: Vec<String>,
    is_in_failures: bool,
}

/// Runs all steps.
pub fn run(arguments: &TestArguments) -> Result<(), String> {
    let begin = Instant::now();
    let may_install = arguments.install || std::env::var_os("CI").is_some();
    let missing = if may_install { workspace::install(PACKAGES) } else { workspace::missing(PACKAGES) };
    if !may_install && !missing.is_empty() {
        println!("{}", how_to_install(&missing));
    }
    let missing = missing.into_iter().map(|(program, _)| program);
    let mut left_out: Vec<String> =
        missing.map(|program| format!("tests that need {program}, which is not installed")).collect();
    let tools = Tools::here();
    left_out.extend(tools.left_out().into_iter().map(str::to_owned));
    let notes = tempfile::NamedTempFile::new().map_err(|error| format!("could not make a file: {error}"))?;
    let mut steps = steps(arguments.long, tools, &built("fuzz")?);
    set_environment(&mut steps, arguments.long, &built("mh")?, notes.path());
    if arguments.long {
        take_what_is_shipped(&mut steps, &release_binary()?);
    }
    if std::env::var_os("TMPDIR").is_none() && is_roomy(Path::new(IN_MEMORY)) {
        move_into_memory(&mut steps);
    }
    let mut totals = Totals::default();
    let outcome = run_all(&steps, &mut totals);
    left_out.extend(std::fs::read_to_string(notes.path()).unwrap_or_default().lines().map(told));
    left_out.sort();
    left_out.dedup();
    println!();
    for test in &totals.names_ignored {
        println!("ignored, --long runs it: {test}");
    }
    for reason in &left_out {
        println!("left out: {reason}");
    }
    for line in &totals.failures {
        println!("{line}");
    }
    if let Err(message) = &outcome {
        println!("test failure: {message}");
    }
    println!("{}", totals.summary(left_out.len(), begin.elapsed().as_secs()));
    // Said above already; the summary is to be the last line.
    outcome.ok().ok_or_else(String::new)
}

/// The names of packages, as apt-get takes them.
fn how_to_install(missing: &[Packaged]) -> String {
    let packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    format!(
        "some tests are left out for want of programs; `cargo xtask test --install` or this installs them:\n    apt-get install {}",
        packages.join(" ")
    )
}

/// A line that a test has left, without its first words: they come when all are listed.
fn told(line: &str) -> String {
    line.strip_prefix("left out: ").unwrap_or(line).to_owned()
}

/// Stops at the first that fails, and names those not reached.
fn run_all(steps: &[Step], totals: &mut Totals) -> Result<(), String> {
    for (index, step) in steps.iter().enumerate() {
        println!("\n=== {} ({} of {})", step.heading, index + 1, steps.len());
        let begin = Instant::now();
        let outcome = run_step(step, totals);
        println!("=== {}: {:.0} s", step.heading, begin.elapsed().as_secs_f64());
        if let Err(message) = outcome {
            let remaining: Vec<&str> = steps[index + 1..].iter().map(|step| step.heading).collect();
            let remaining = if remaining.is_empty() { "nothing".to_owned() } else { remaining.join(", ") };
            println!("=== stopped here; not run: {remaining}");
            return Err(message);
        }
    }
    Ok(())
}

impl Tools {
    fn here() -> Self {
        let deny = match (has_program("cargo-deny"), has_program("cargo-deny") && is_quietly_fine(&["deny", "fetch"])) {
            (false, _) => Deny::Missing,
            (true, false) => Deny::Offline,
            (true, true) => Deny::Whole,
        };
        Self { fmt: is_quietly_fine(&["fmt", "--version"]), clippy: is_quietly_fine(&["clippy", "--version"]), deny }
    }

    fn left_out(self) -> Vec<&'static str> {
        let reasons = [
            (!self.fmt, "cargo fmt, which is not installed"),
            (!self.clippy, "cargo clippy, which is not installed"),
            (self.deny == Deny::Missing, "cargo deny, which is not installed"),
            (self.deny == Deny::Offline, "cargo deny check advisories, which could not be fetched"),
        ];
        reasons.into_iter().filter(|(is_so, _)| *is_so).map(|(_, reason)| reason).collect()
    }
}

/// Components of the toolchain may be missing on a bare machine.
fn is_quietly_fine(arguments: &[&str]) -> bool {
    let mut cargo = Command::new("cargo");
    let quiet = cargo.args(arguments).current_dir(root()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

/// The program, all tests and the fuzz targets are built in one call and one profile: a call with other packages unifies
/// features otherwise, and builds most of the tree anew.
fn steps(long: bool, tools: Tools, fuzz: &Path) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut cargo = |heading, arguments: &[&'static str]| {
        steps.push(Step::cargo(heading, arguments));
    };
    if tools.fmt {
        cargo("format", &["fmt", "--all", "--check"]);
    }
    if tools.clippy {
        cargo("lints", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]);
        let bare = ["clippy", "--package", "manyhands", "--package", "manyhands-codec", "--no-default-features"];
        cargo("lints of a build without features", &[&bare[..], &["--all-targets", "--", "-D", "warnings"]].concat());
    }
    match tools.deny {
        Deny::Missing => {}
        Deny::Offline => {
            cargo("licences and sources", &["deny", "--offline", "check", "licenses", "bans", "sources"]);
        }
        Deny::Whole => cargo("licences, sources and advisories", &["deny", "check"]),
    }
    cargo("program and tests", &["build", "--workspace", "--bins", "--lib", "--tests"]);
    // The documents' examples are among them: cargo runs those of all libraries unless targets are named.
    cargo(TESTS, &["test", "--workspace", "--no-fail-fast"]);
    // On its own, or the other tests would be built with the model's locks: features unify within one call of cargo.
    cargo("models", &["test", "--package", "manyhands-crew", "--features", "model", "--test", "model"]);
    cargo("models of locks", &["test", "--package", "manyhands-lab", "--features", "model", "locks::model"]);
    if long {
        cargo("tests without features", &["test", "--package", "manyhands-codec", "--no-default-features"]);
        cargo("the program as it is shipped", workspace::RELEASE);
        cargo("long tests", &["test", "--workspace", "--release", "--", "--ignored"]);
    }
    let seconds = if long { "60" } else { "2" };
    let arguments = vec!["--all", "--seconds", seconds];
    steps.push(Step { heading: "fuzzing", program: fuzz.to_owned(), arguments, environment: Vec::new() });
    steps
}

fn set_environment(steps: &mut [Step], long: bool, binary: &Path, notes: &Path) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    for step in steps {
        if step.heading.starts_with(TESTS) {
            step.environment.push((TEST_THREADS, (cores + cores / 2).to_string()));
        }
        step.environment.push(("MH_BINARY", binary.display().to_string()));
        step.environment.push(("MH_LEFT_OUT", notes.display().to_string()));
        if long {
            step.environment.push(("MH_LONG", "1".to_owned()));
            step.environment.push(("MH_MODEL_ITERATIONS", MODEL_ITERATIONS_LONG.to_owned()));
        }
    }
}

/// The long tests run the program that people install, not the one that is built beside the tests.
fn take_what_is_shipped(steps: &mut [Step], binary: &Path) {
    for step in steps.iter_mut().filter(|step| step.heading == "long tests") {
        step.environment.push(("MH_BINARY", binary.display().to_string()));
    }
}

/// Files are made, and programs run, in `directory`, and there is memory for them.
fn is_roomy(directory: &Path) -> bool {
    let is_in_memory = rustix::fs::statfs(directory).is_ok_and(|answer| answer.f_type == TMPFS);
    let is_fit = rustix::fs::statvfs(directory).is_ok_and(|answer| {
        !answer.f_flag.intersects(StatVfsMountFlags::NOEXEC | StatVfsMountFlags::RDONLY)
            && answer.f_bavail.saturating_mul(answer.f_frsize) >= IN_MEMORY_MIN_BYTES
    });
    is_in_memory && is_fit && memory_at_hand_bytes() >= IN_MEMORY_MIN_BYTES
}

/// None where the kernel does not tell.
fn memory_at_hand_bytes() -> u64 {
    let told = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = told.lines().find_map(|line| line.strip_prefix("MemAvailable:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) << 10
}

/// Tests make their files there; those to whom the file system matters run on the disk besides.
fn move_into_memory(steps: &mut Vec<Step>) {
    let Some(at) = steps.iter().position(|step| step.heading == TESTS) else { return };
    let environment = steps[at].environment.clone();
    steps[at].environment.push(("TMPDIR", IN_MEMORY.to_owned()));
    let on_disk = Step::cargo("tests on the disk", &[ACCEPTANCE, ON_DISK].concat());
    steps.insert(at + 1, Step { environment, ..on_disk });
}

/// Runs a step, passing its output on line by line and adding up what test runners say.
fn run_step(step: &Step, totals: &mut Totals) -> Result<(), String> {
    check_filters(step.filters())?;
    let named = |error: std::io::Error, what: &str| format!("could not {what} {}: {error}", step.program.display());
    let passed_before = totals.passed;
    let mut child = Command::new(&step.program)
        .args(&step.arguments)
        .envs(step.environment.iter().map(|(name, value)| (name, value)))
        .current_dir(root())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| named(error, "run"))?;
    let stdout = child.stdout.take().expect("it is piped");
    for line in BufReader::new(stdout).split(b'\n') {
        let line = line.map_err(|error| named(error, "read from"))?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        totals.add(&line);
    }
    let status = child.wait().map_err(|error| named(error, "wait for"))?;
    let command = format!("{} {}", step.program.display(), step.arguments.join(" "));
    if !status.success() {
        return Err(format!("{}: {command} ended with {status}", step.heading));
    }
    if step.arguments.first() == Some(&"test") && totals.passed == passed_before {
        return Err(format!("{}: {command} ran no test", step.heading));
    }
    Ok(())
}

impl Step {
    /// The names that a run of [`ACCEPTANCE`] is limited to.
    fn filters(&self) -> &[&'static str] {
        self.arguments.strip_prefix(ACCEPTANCE).unwrap_or(&[])
    }

    fn cargo(heading: &'static str, arguments: &[&'static str]) -> Self {
        Self { heading, program: "cargo".into(), arguments: arguments.to_vec(), environment: Vec::new() }
    }
}

/// A filter that matches nothing would pass for a test that was run.
fn check_filters(filters: &[&str]) -> Result<(), String> {
    if filters.is_empty() {
        return Ok(());
    }
    let listed = Command::new("cargo").args(ACCEPTANCE).arg("--list").current_dir(root()).output();
    let listed = listed.map_err(|error| format!("could not run cargo: {error}"))?;
    match without_a_test(filters, &String::from_utf8_lossy(&listed.stdout)).as_slice() {
        [] => Ok(()),
        unmatched => Err(format!("no acceptance test has one of these in its name: {}", unmatched.join(", "))),
    }
}

/// Those of `filters` that no test's name contains. `listed` is what the tests print with `--list`.
fn without_a_test<'a>(filters: &[&'a str], listed: &str) -> Vec<&'a str> {
    let names = || listed.lines().filter_map(|line| line.strip_suffix(": test"));
    filters.iter().copied().filter(|filter| !names().any(|name| name.contains(filter))).collect()
}

impl Totals {
    /// `test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s`
    fn add(&mut self, line: &str) {
        if let Some((name, reason)) = line.strip_prefix("test ").and_then(|test| test.split_once(" ... ignored, ")) {
            self.names_ignored.push(format!("{name}: {reason}"));
        }
        self.is_in_failures = (self.is_in_failures || line.starts_with("---- ")) && line != "failures:";
        if self.is_in_failures && self.failures.len() < MAX_FAILURE_LINES {
            self.failures.push(line.to_owned());
        }
        let Some(counts) = line.strip_prefix("test result: ") else { return };
        for part in counts.split([';', '.']) {
            let mut words = part.split_whitespace();
            let (Some(count), Some(kind)) = (words.next().and_then(|word| word.parse::<u64>().ok()), words.next())
            else {
                continue;
            };
            match kind {
                "passed" => self.passed += count,
                "failed" => self.failed += count,
                "ignored" => self.ignored += count,
                _ => {}
            }
        }
    }

    fn summary(&self, left_out: usize, seconds: u64) -> String {
        let Self { passed, failed, ignored, .. } = self;
        format!("test summary: {passed} passed, {failed} failed, {ignored} ignored, {left_out} left out in {seconds} s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Tools = Tools { fmt: true, clippy: true, deny: Deny::Whole };
    const NONE: Tools = Tools { fmt: false, clippy: false, deny: Deny::Missing };

    fn headings(long: bool, tools: Tools) -> Vec<&'static str> {
        steps(long, tools, Path::new("/b/fuzz")).iter().map(|step| step.heading).collect()
    }

    fn shell(heading: &'static str, script: &'static str) -> Step {
        Step { heading, program: "sh".into(), arguments: vec!["-c", script], environment: Vec::new() }
    }

    #[test]
    fn missing_programs_are_named_by_their_packages() {
        let text = how_to_install(&[("bgzip", "tabix"), ("ps", "procps")]);
        assert!(text.ends_with("apt-get install tabix procps"), "{text}");
    }

    #[test]
    fn totals_are_added_up() {
        let mut totals = Totals::default();
        totals.add("test result: ok. 4 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s");
        totals.add("test result: FAILED. 2 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s");
        totals.add("test something ... ok");
        totals.add("test many::a_lot ... ignored, takes minutes");
        for line in ["failures:", "---- one stdout ----", "it panicked", "failures:", "    one"] {
            totals.add(line);
        }
        let names_ignored = vec!["many::a_lot: takes minutes".to_owned()];
        let failures = vec!["---- one stdout ----".to_owned(), "it panicked".to_owned()];
        let expected = Totals { passed: 6, failed: 3, ignored: 1, names_ignored, failures, is_in_failures: false };
        assert_eq!(totals, expected);
        assert_eq!(totals.summary(2, 214), "test summary: 6 passed, 3 failed, 1 ignored, 2 left out in 214 s");
    }

    #[test]
    fn a_bare_toolchain_leaves_steps_out_by_name() {
        assert_eq!(headings(false, NONE), ["program and tests", "tests", "models", "models of locks", "fuzzing"]);
        assert_eq!(NONE.left_out().len(), 3);
        assert_eq!(headings(false, ALL).len(), 9);
        assert_eq!(ALL.left_out(), Vec::<&str>::new());
        let offline = Tools { deny: Deny::Offline, ..ALL };
        assert_eq!((headings(false, offline).len(), offline.left_out().len()), (9, 1));
    }

    #[test]
    fn the_long_tier_adds_time_and_the_ignored_tests() {
        let more: Vec<_> = headings(true, NONE).into_iter().filter(|it| !headings(false, NONE).contains(it)).collect();
        assert_eq!(more, ["tests without features", "the program as it is shipped", "long tests"]);
        let mut steps = steps(true, NONE, Path::new("/b/fuzz"));
        assert_eq!(steps.last().expect("there are steps").arguments.last(), Some(&"60"));
        set_environment(&mut steps, true, Path::new("/b/mh"), Path::new("/notes"));
        take_what_is_shipped(&mut steps, Path::new("/r/mh"));
        let binary = |heading: &str| {
            let step = steps.iter().find(|step| step.heading == heading).expect("it is among them");
            step.environment.iter().rfind(|(name, _)| *name == "MH_BINARY").map(|(_, path)| path.clone())
        };
        assert_eq!((binary(TESTS).as_deref(), binary("long tests").as_deref()), (Some("/b/mh"), Some("/r/mh")));
        let environment = &steps[2].environment;
        for expected in
            [("MH_BINARY", "/b/mh"), ("MH_LONG", "1"), ("MH_LEFT_OUT", "/notes"), ("MH_MODEL_ITERATIONS", "100000")]
        {
            assert!(environment.iter().any(|(name, value)| (*name, value.as_str()) == expected), "{expected:?}");
        }
    }

    #[test]
    fn in_memory_what_asks_the_file_system_runs_on_the_disk_too() {
        let mut steps = steps(false, NONE, Path::new("/b/fuzz"));
        set_environment(&mut steps, false, Path::new("/b/mh"), Path::new("/notes"));
        move_into_memory(&mut steps);
        let places: Vec<_> = steps
            .iter()
            .map(|step| (step.heading, step.environment.iter().any(|(name, _)| *name == "TMPDIR")))
            .filter(|(heading, _)| heading.starts_with(TESTS))
            .collect();
        assert_eq!(places, [("tests", true), ("tests on the disk", false)]);
        assert!(steps[2].environment.iter().any(|(name, _)| *name == "MH_BINARY"));
    }

    #[test]
    fn the_first_failure_stops_and_what_ran_is_counted() {
        let line = "echo 'test result: ok. 1 passed; 0 failed; 0 ignored'";
        let steps = [shell("a", line), shell("b", "exit 3"), shell("c", line)];
        let mut totals = Totals::default();
        let message = run_all(&steps, &mut totals).expect_err("b fails");
        assert!(message.starts_with("b: sh -c exit 3"), "{message}");
        assert_eq!(totals.passed, 1, "c is not run");
    }

    #[test]
    fn a_filter_without_a_test_is_named_and_a_run_without_a_test_fails() {
        let listed = "trees::likeness::of_files: test\ntar::habits::names: test\n2 tests, 0 benchmarks\n";
        assert_eq!(without_a_test(&["tar::habits", "tests", "trees::"], listed), ["tests"]);
        assert_eq!(Step::cargo("a", &[ACCEPTANCE, &["tar::"]].concat()).filters(), ["tar::"]);
        assert_eq!(Step::cargo("a", &["test", "--workspace"]).filters(), Vec::<&str>::new());
        let program = PathBuf::from("true");
        let silent = Step { heading: "a", program, arguments: vec!["test"], environment: Vec::new() };
        let message = run_step(&silent, &mut Totals::default()).expect_err("it prints no result");
        assert_eq!(message, "a: true test ran no test");
    }
}
