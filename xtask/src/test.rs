//! `cargo xtask test`: the project's one test command. Runs step after step, stops at the first that fails, names what it had
//! to leave out, and ends in the totals of all test runners.

use crate::workspace::{self, has_program, release_binary, root};
use clap::Args;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// How much to test.
#[derive(Args)]
pub struct TestArguments {
    /// The second tier: fuzzing, long models, everything that takes more than minutes
    #[arg(long)]
    long: bool,
}

/// Tools whose files must be read, and read ours; and what the tests' scripts need. Debian's names.
const PACKAGES: &[(&str, &str)] = &[
    ("gzip", "gzip"),
    ("pigz", "pigz"),
    ("zstd", "zstd"),
    ("bgzip", "tabix"),
    ("igzip", "isal"),
    ("libdeflate-gzip", "libdeflate-tools"),
    ("setfattr", "attr"),
    ("tar", "tar"),
];

/// One step: a heading and a program.
struct Step {
    heading: &'static str,
    program: &'static str,
    arguments: Vec<&'static str>,
    environment: Vec<(&'static str, String)>,
}

/// What all test runners said together.
#[derive(Clone, Copy, Default)]
struct Totals {
    passed: u64,
    failed: u64,
    ignored: u64,
}

/// Runs all steps.
pub fn run(arguments: &TestArguments) -> Result<(), String> {
    let begin = Instant::now();
    let mut left_out = install_rivals();
    let notes = tempfile::NamedTempFile::new().map_err(|error| format!("could not make a file: {error}"))?;
    let steps = steps(arguments.long, notes.path(), &mut left_out);
    let mut totals = Totals::default();
    let mut failure = None;
    for (number, step) in steps.iter().enumerate() {
        println!("\n=== {} ({} of {})", step.heading, number + 1, steps.len());
        let step_begin = Instant::now();
        let outcome = run_step(step, &mut totals);
        println!("=== {}: {:.0} s", step.heading, step_begin.elapsed().as_secs_f64());
        if let Err(message) = outcome {
            let remaining: Vec<&str> = steps[number + 1..].iter().map(|step| step.heading).collect();
            println!(
                "=== stopped here; not run: {}",
                if remaining.is_empty() { "-".into() } else { remaining.join(", ") }
            );
            failure = Some(message);
            break;
        }
    }
    left_out.extend(std::fs::read_to_string(notes.path()).unwrap_or_default().lines().map(str::to_owned));
    left_out.sort();
    left_out.dedup();
    println!();
    for reason in &left_out {
        println!("left out: {reason}");
    }
    println!(
        "test summary: {} passed, {} failed, {} ignored, {} left out in {:.0} s",
        totals.passed,
        totals.failed,
        totals.ignored,
        left_out.len(),
        begin.elapsed().as_secs_f64()
    );
    failure.map_or(Ok(()), Err)
}

/// Installs what is missing where that is allowed; names what stays missing.
fn install_rivals() -> Vec<String> {
    let missing = || PACKAGES.iter().filter(|(program, _)| !has_program(program));
    let packages: Vec<&str> = missing().map(|(_, package)| *package).collect();
    if !packages.is_empty() && rustix::process::getuid().is_root() && has_program("apt-get") {
        println!("=== installing {}", packages.join(" "));
        // Without a network both fail, and the tests that need the tools are left out.
        let _offline = workspace::run("apt-get", &["update", "-qq"]);
        let install = [&["install", "-y", "-qq", "--no-install-recommends"], packages.as_slice()].concat();
        let _offline = workspace::run("apt-get", &install);
    }
    missing().map(|(program, _)| format!("tests against {program}, which is not installed")).collect()
}

fn steps(long: bool, notes: &Path, left_out: &mut Vec<String>) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut step = |heading, program, arguments: &[&'static str]| {
        steps.push(Step { heading, program, arguments: arguments.to_vec(), environment: Vec::new() });
    };
    if has_component("fmt") {
        step("format", "cargo", &["fmt", "--all", "--check"]);
    } else {
        left_out.push("cargo fmt, which is not installed".to_owned());
    }
    if has_component("clippy") {
        step("lints", "cargo", &["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"]);
    } else {
        left_out.push("cargo clippy, which is not installed".to_owned());
    }
    if has_program("cargo-deny") {
        step("licences and advisories", "cargo", &["deny", "--offline", "check", "licenses", "bans", "sources"]);
    } else {
        left_out.push("cargo deny, which is not installed".to_owned());
    }
    step("the program", "cargo", &["build", "--release", "--package", "manyhands"]);
    step("tests", "cargo", &["test", "--workspace"]);
    step(
        "models of the pipeline",
        "cargo",
        &["test", "--package", "crew", "--features", "model", "--release", "--test", "model"],
    );
    let seconds = if long { "60" } else { "2" };
    step("fuzzing", "cargo", &["run", "--release", "--package", "fuzz", "--", "--all", "--seconds", seconds]);
    if long {
        step("long tests", "cargo", &["test", "--workspace", "--release", "--", "--ignored"]);
    }
    for step in &mut steps {
        step.environment.push(("MH_BINARY", release_binary().display().to_string()));
        step.environment.push(("MH_LEFT_OUT", notes.display().to_string()));
        if long {
            step.environment.push(("MH_MODEL_ITERATIONS", "100000".to_owned()));
        }
    }
    steps
}

/// A component of the toolchain may be missing on a bare machine.
fn has_component(name: &str) -> bool {
    let quiet = Command::new("cargo").args([name, "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

/// Runs a step, passing its output on line by line and adding up what test runners say.
fn run_step(step: &Step, totals: &mut Totals) -> Result<(), String> {
    let mut child = Command::new(step.program)
        .args(&step.arguments)
        .envs(step.environment.iter().map(|(name, value)| (name, value)))
        .current_dir(root())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("could not run {}: {error}", step.program))?;
    let stdout = child.stdout.take().expect("it is piped");
    for line in BufReader::new(stdout).split(b'\n') {
        let line = line.map_err(|error| format!("could not read from {}: {error}", step.program))?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        totals.add(&line);
    }
    let status = child.wait().map_err(|error| format!("could not wait for {}: {error}", step.program))?;
    if status.success() { Ok(()) } else { Err(format!("{} failed ({status})", step.heading)) }
}

impl Totals {
    /// `test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s`
    fn add(&mut self, line: &str) {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_added_up() {
        let mut totals = Totals::default();
        totals.add("test result: ok. 4 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s");
        totals.add("test result: FAILED. 2 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s");
        totals.add("test something ... ok");
        assert_eq!((totals.passed, totals.failed, totals.ignored), (6, 3, 1));
    }
}
