//! The `pstime` suite: what `mh pstime` says, against what loads say of themselves and against pidstat, watching the same load
//! in the same seconds. This file orders trials and writes the run directory; loads are in `pstime/load.rs`.

mod closing;
pub mod load;
pub mod scan;
mod watching;

use super::judge::median;
use super::record::unused;
use super::{BenchArguments, build, machine};
use load::{Kind, Truth};
use serde::Deserialize;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;
use xtask::workspace::{self, release_binary, root};

/// Parts of the suite, for `--only` and `--list`.
const PARTS: [&str; 7] = ["total", "running", "split", "exact", "closing", "scan", "watching"];

/// Trials of a kind unless `--rounds` says how many.
const TRIALS: usize = 100;
/// What both tools watch; the load works for half of it, in its middle.
const WATCHED_S: u64 = 2;
const BEFORE_WORK: Duration = Duration::from_millis(500);
/// LIMIT: a load that was asleep at both readings is known to this share of a core: the issue's.
const ASLEEP_ERROR_MAX: f64 = 0.0005;
/// LIMIT: one that runs at both is known to so many milliseconds where the scheduler was asked: the issue's.
const RUNNING_MS_MAX: f64 = 0.020;
/// What takes root's rights from a program.
const WITHOUT_RIGHTS: [&str; 3] = ["setpriv", "--reuid=65534", "--clear-groups"];
/// LIMIT: with every call measured the split is known to so many points of the load's time: the issue's.
const EXACT_POINTS_MAX: f64 = 0.2;
/// LIMIT: so many trials of a hundred have the truth inside what was printed.
const INSIDE_MIN: f64 = 0.95;

/// What becomes the run directory.
#[derive(Default)]
struct Record {
    raw: String,
    readme: String,
    missed: usize,
}

impl Record {
    fn raw(&mut self, part: &str, kind: &str, trial: usize, figures: &[f64]) {
        let figures: Vec<String> = figures.iter().map(|figure| format!("{figure:.6}")).collect();
        let _no_error_in_memory = writeln!(self.raw, "{part},{kind},{trial},{}", figures.join(","));
    }

    fn say(&mut self, text: &str) {
        print!("{text}");
        self.readme.push_str(text);
    }

    fn verdict(&mut self, is_met: bool) -> &'static str {
        self.missed += usize::from(!is_met);
        if is_met { "met" } else { "**missed**" }
    }
}

/// What `mh pstime --json` says of one process.
#[derive(Deserialize)]
struct Told {
    rows: Vec<Row>,
}

#[derive(Clone, Copy, Deserialize)]
struct Row {
    elapsed_ns: u64,
    cpu_ns: u64,
    user_cores: f64,
    error_cores: f64,
    stale_cores: f64,
}

/// Runs the suite.
pub fn run(arguments: &BenchArguments) -> Result<(), String> {
    let parts: Vec<&str> = PARTS.into_iter().filter(|part| arguments.wants(part, "")).collect();
    if arguments.list {
        parts.iter().for_each(|part| println!("{part}"));
        return Ok(());
    }
    let _named_below = workspace::install(&[("pidstat", "sysstat"), ("time", "time")]);
    build(arguments)?;
    let program = arguments.program.clone().map_or_else(release_binary, Ok)?;
    let load_before = machine::load();
    let mut record = Record { raw: "part,kind,trial,figures\n".to_owned(), ..Record::default() };
    let trials = match (arguments.quick, arguments.rounds) {
        (_, Some(rounds)) => usize::from(rounds),
        (true, None) => 3,
        (false, None) => TRIALS,
    };
    for part in parts {
        match part {
            "total" => totals(&program, trials, &mut record)?,
            "running" => running(&program, trials, &mut record)?,
            "split" => splits(&program, trials, &mut record)?,
            "exact" => exact_splits(&program, trials, &mut record)?,
            "closing" => closing::run(&program, trials, &mut record)?,
            "scan" => scan::run(&program, arguments.quick, &mut record)?,
            _ => watching::run(&program, arguments.quick, &mut record)?,
        }
    }
    let quick = if arguments.quick { "-quick" } else { "" };
    let directory =
        unused(&root().join("bench/runs"), &format!("{}-{}-pstime{quick}", machine::date(), machine::name()));
    let facts = format!(
        "# {}\n\n- machine: {}, {}\n- kernel: {}\n- load before: {load_before}, after: {}\n- {}\n\n",
        arguments.command_line(),
        machine::name(),
        machine::cpu_model(),
        machine::kernel(),
        machine::load(),
        "errors are absolute, in milliseconds of CPU time; of a core over one second a millisecond is 0.1 %"
    );
    write(&directory, "README.md", &(facts + &record.readme))?;
    write(&directory, "raw.csv", &record.raw)?;
    println!("{} targets missed; written to {}", record.missed, directory.display());
    Ok(())
}

fn write(directory: &Path, name: &str, text: &str) -> Result<(), String> {
    std::fs::create_dir_all(directory).map_err(|error| format!("could not make {}: {error}", directory.display()))?;
    std::fs::write(directory.join(name), text).map_err(|error| format!("could not write {name}: {error}"))
}

/// Loads that sleep at both readings: what was seen should be what they used.
fn totals(program: &Path, trials: usize, record: &mut Record) -> Result<(), String> {
    record.say(&format!(
        "## total CPU time, asleep at both readings\n\n{trials} trials a load; target {} ms of a second\n\n\
         | load | mh median | mh worst | pidstat median | pidstat worst | target |\n|---|---|---|---|---|---|\n",
        ASLEEP_ERROR_MAX * 1000.0
    ));
    for kind in [Kind::Spin, Kind::Calls, Kind::Half, Kind::Brief, Kind::Threads, Kind::Forks] {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for trial in 0..trials {
            let seen = watch(program, kind)?;
            let truth = seen.truth.cpu_ns as f64 / 1e6;
            let our_error = (seen.row.cpu_ns as f64 / 1e6 - truth).abs();
            let their_error = (seen.pidstat_ms - truth).abs();
            record.raw("total", kind.name(), trial, &[truth, our_error, their_error]);
            ours.push(our_error);
            theirs.push(their_error);
        }
        let worst = |errors: &[f64]| errors.iter().copied().fold(0.0, f64::max);
        let verdict = record.verdict(worst(&ours) <= ASLEEP_ERROR_MAX * 1000.0);
        record.say(&format!(
            "| {} | {:.3} | {:.3} | {:.2} | {:.2} | {verdict} |\n",
            kind.name(),
            median(&ours),
            worst(&ours),
            median(&theirs),
            worst(&theirs)
        ));
    }
    record.say("\n");
    Ok(())
}

/// Loads that run at both readings: inside the printed bound, and that is small where the scheduler was asked.
fn running(program: &Path, trials: usize, record: &mut Record) -> Result<(), String> {
    record.say(&format!(
        "## total CPU time, running at both readings\n\n{trials} trials; ms; target: inside the printed bound, with BPF \
         {RUNNING_MS_MAX} ms; truth: how far the load's own notes leave it open\n\n| tier | median | worst | bound | truth, \
         median | target |\n|---|---|---|---|---|---|\n"
    ));
    for (tier, prefix) in [("BPF", &[][..]), ("no rights", &WITHOUT_RIGHTS[..])] {
        let (mut errors, mut open, mut bounds) = (Vec::new(), Vec::new(), Vec::new());
        let mut inside = 0;
        for trial in 0..trials {
            let (row, (least, most)) = run_and_read(program, prefix, trial)?;
            let used = row.cpu_ns as f64;
            let error_ms = ((least - used).max(0.0) + (used - most).max(0.0)) / 1e6;
            let bound_ms = row.stale_cores * row.elapsed_ns as f64 / 1e6;
            inside += usize::from(error_ms <= bound_ms);
            record.raw("running", tier, trial, &[error_ms, bound_ms, (most - least) / 1e6]);
            errors.push(error_ms);
            bounds.push(bound_ms);
            open.push((most - least) / 1e6);
        }
        let worst = errors.iter().copied().fold(0.0, f64::max);
        let is_met = inside == trials && (tier != "BPF" || worst <= RUNNING_MS_MAX);
        let verdict = record.verdict(is_met);
        record.say(&format!(
            "| {tier} | {:.4} | {worst:.4} | {:.3} | {:.4} | {verdict}, {inside} of {trials} inside |\n",
            median(&errors),
            median(&bounds),
            median(&open)
        ));
    }
    record.say("\n");
    Ok(())
}

/// What was told of one load, and what it says of itself.
fn run_and_read(program: &Path, prefix: &[&str], trial: usize) -> Result<(Row, (f64, f64)), String> {
    let mut load = Running::start(Kind::Log)?;
    load.begin()?;
    std::thread::sleep(Duration::from_millis(100));
    let recording = std::env::temp_dir().join(format!("mh-bench-{}-{trial}", std::process::id()));
    let (path, pid, program) = (recording.to_string_lossy(), load.pid(), program.to_string_lossy());
    let words = [prefix, &[&*program, "pstime", "--json", "--record", &path, "1", &pid]].concat();
    let told = mh(&words)?;
    let truth = load.end()?;
    let readings = load::readings_of(&recording, load::Reading::Of(load.child.id()))?;
    std::fs::remove_file(&recording).map_err(|error| format!("could not remove the recording: {error}"))?;
    let row = told.rows.first().copied().ok_or("the load has no row")?;
    Ok((row, truth.between(readings)?))
}

/// How often the true share of user time is inside what was printed.
fn splits(program: &Path, trials: usize, record: &mut Record) -> Result<(), String> {
    let (mut errors, mut inside) = (Vec::new(), 0);
    for trial in 0..trials {
        let seen = watch(program, Kind::Half)?;
        let seconds = seen.row.elapsed_ns as f64 / 1e9;
        let error_ms = (seen.row.user_cores * seconds - seen.truth.user_ns as f64 / 1e9) * 1000.0;
        let printed_ms = seen.row.error_cores * seconds * 1000.0;
        inside += usize::from(error_ms.abs() <= printed_ms);
        record.raw("split", "half", trial, &[error_ms, printed_ms]);
        errors.push(error_ms.abs());
    }
    let verdict = record.verdict(inside as f64 >= INSIDE_MIN * trials as f64);
    record.say(&format!(
        "## user and system, half and half\n\nmedian error {:.1} ms; the truth inside the printed interval in {inside} of {trials}: {verdict}\n\n",
        median(&errors)
    ));
    Ok(())
}

/// The same with every call measured: loads whose truth is known.
fn exact_splits(program: &Path, trials: usize, record: &mut Record) -> Result<(), String> {
    record.say(&format!(
        "## user and system, every call measured\n\n{trials} trials a load; target {EXACT_POINTS_MAX} points of the load's time\n\n\
         | load | median | worst | target |\n|---|---|---|---|\n"
    ));
    for kind in [Kind::Spin, Kind::Half] {
        let mut errors = Vec::new();
        for trial in 0..trials {
            let seen = watch_with(program, kind, &["--exact"])?;
            let truth = match kind {
                Kind::Spin => 1.0,
                _ => seen.truth.user_ns as f64 / seen.truth.cpu_ns as f64,
            };
            let told = seen.row.user_cores * seen.row.elapsed_ns as f64 / seen.row.cpu_ns as f64;
            let points = (told - truth) * 100.0;
            record.raw("exact", kind.name(), trial, &[truth, told, points]);
            errors.push(points.abs());
        }
        let worst = errors.iter().copied().fold(0.0, f64::max);
        let verdict = record.verdict(worst <= EXACT_POINTS_MAX);
        record.say(&format!("| {} | {:.3} | {worst:.3} | {verdict} |\n", kind.name(), median(&errors)));
    }
    record.say("\n");
    Ok(())
}

/// One load, seen by both tools.
struct Seen {
    row: Row,
    pidstat_ms: f64,
    truth: Truth,
}

fn watch(program: &Path, kind: Kind) -> Result<Seen, String> {
    watch_with(program, kind, if kind == Kind::Forks { &["-c"] } else { &[] })
}

fn watch_with(program: &Path, kind: Kind, options: &[&str]) -> Result<Seen, String> {
    let mut load = Running::start(kind)?;
    let pid = load.pid();
    let seconds = WATCHED_S.to_string();
    let rival = Command::new("pidstat")
        .args(rival_options(kind))
        .args(["-p", &pid, &seconds, "1"])
        .env("LC_ALL", "C")
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("could not start pidstat: {error}"))?;
    let ours = Command::new(program)
        .args(["pstime", "--json"])
        .args(options)
        .args([&seconds, &pid])
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("could not start mh: {error}"))?;
    std::thread::sleep(BEFORE_WORK);
    load.begin()?;
    let ours = ours.wait_with_output().map_err(|error| format!("could not wait for mh: {error}"))?;
    let rival = rival.wait_with_output().map_err(|error| format!("could not wait for pidstat: {error}"))?;
    let truth = load.end()?;
    let told: Told = serde_json::from_slice(&ours.stdout).map_err(|error| format!("mh said no JSON: {error}"))?;
    let row = told.rows.first().copied().ok_or("the load has no row")?;
    Ok(Seen { row, pidstat_ms: pidstat_ms(kind, &String::from_utf8_lossy(&rival.stdout)), truth })
}

/// Children are in an account of their own.
fn rival_options(kind: Kind) -> &'static [&'static str] {
    if kind == Kind::Forks { &["-T", "CHILD"] } else { &["-u"] }
}

/// `Average: UID PID %usr %system %guest %wait %CPU CPU Command`; with children `Average: UID PID usr-ms system-ms guest-ms Command`.
fn pidstat_ms(kind: Kind, text: &str) -> f64 {
    let average = text.lines().find(|line| line.starts_with("Average") && !line.contains("Command"));
    let words: Vec<&str> = average.into_iter().flat_map(str::split_whitespace).collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<f64>().ok()).unwrap_or(f64::NAN);
    if kind == Kind::Forks { number(3) + number(4) } else { number(7) / 100.0 * WATCHED_S as f64 * 1000.0 }
}

fn mh(words: &[&str]) -> Result<Told, String> {
    let output = Command::new(words[0]).args(&words[1..]).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("could not start {}: {error}", words[0]))?;
    serde_json::from_slice(&output.stdout).map_err(|error| format!("mh said no JSON: {error}"))
}

/// A load in a process of its own; it ends with this value.
struct Running {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Running {
    /// Starts it and waits until it sleeps.
    fn start(kind: Kind) -> Result<Self, String> {
        let this = std::env::current_exe().map_err(|error| format!("could not find this program: {error}"))?;
        let child = Command::new(this)
            .args(["load", kind.name()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("could not start the load: {error}"));
        let mut child = child?;
        let said = BufReader::new(child.stdout.take().ok_or("the load has no output")?);
        let mut running = Self { child, said };
        running.line()?;
        Ok(running)
    }

    fn pid(&self) -> String {
        self.child.id().to_string()
    }

    /// Lets it work.
    fn begin(&mut self) -> Result<(), String> {
        let input = self.child.stdin.as_mut().ok_or("the load has no input")?;
        input.write_all(b"\n").map_err(|error| format!("could not start the work: {error}"))
    }

    /// Waits for its own account.
    fn end(&mut self) -> Result<Truth, String> {
        let line = self.line()?;
        serde_json::from_str(&line).map_err(|error| format!("the load said no account: {error}"))
    }

    fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        self.said.read_line(&mut line).map_err(|error| format!("could not read from the load: {error}"))?;
        Ok(line)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _it_may_have_ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}
