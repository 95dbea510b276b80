//! `cargo xtask bench`: our commands against the tools of today, interleaved, outputs verified, written into a run directory.
//! Suites say what is run; this file orders rounds. It judges nothing: record.rs does. The hidden tasks are loads that suites start.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a script talks to whoever runs it")]

mod cluster;
mod corpus;
mod crew;
mod db;
mod files;
mod forecast;
mod innodb;
mod instruments;
mod judge;
mod keep_up;
mod load;
mod machine;
mod measure;
mod memory;
mod pace;
mod plot;
mod pstime;
mod record;
mod sizes;
mod sum;
mod systime;
mod tamp;
mod throttle;
mod undo;
mod xjobs;

use clap::{Args, Parser, Subcommand};
use corpus::Data;
use measure::{Run, Tool};
use record::{About, Recorder};
use std::path::PathBuf;
use std::process::ExitCode;
use xtask::workspace::{self, Packaged, has_program, release_binary};

#[derive(Parser)]
#[command(name = "cargo xtask bench", about = "Measure against rivals and leave a run directory")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Measure against rivals and leave a run directory
    Run(BenchArguments),
    /// A producer for benches: BYTES of FILE, over and over, at RATE bytes a second
    #[command(hide = true)]
    Produce(pace::PaceArguments),
    /// A producer for benches that reports for how long it was blocked
    #[command(hide = true)]
    Pour(keep_up::PourArguments),
    /// A load for benches that knows what it used
    #[command(hide = true)]
    Load(pstime::load::LoadArguments),
    /// System calls for benches: one-byte reads and writes that time themselves
    #[command(hide = true)]
    CallLoop(systime::CallLoopArguments),
    /// A consumer for benches: reads standard input at RATE bytes a second
    #[command(hide = true)]
    Consume(pace::PaceArguments),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().task {
        Task::Run(arguments) => run(&arguments),
        Task::Produce(arguments) => pace::produce(&arguments),
        Task::Pour(arguments) => keep_up::pour(&arguments),
        Task::Load(arguments) => pstime::load::run(&arguments),
        Task::CallLoop(arguments) => systime::call_loop(&arguments),
        Task::Consume(arguments) => pace::consume(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("bench: {message}");
            ExitCode::FAILURE
        }
    }
}

/// What to measure.
#[derive(Args)]
struct BenchArguments {
    /// The suite
    #[arg(default_value = "tamp", value_parser = ["tamp", "files", "sum", "crew", "xjobs", "pstime", "systime", "fit", "timers", "sysstat", "innodb", "load", "memory", "db", "cluster"])]
    suite: String,
    /// Small data and lists, three rounds: to see whether it works, not how fast it is
    #[arg(long)]
    quick: bool,
    /// Only cases whose name or corpus contains TEXT; may be given again
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// Name the cases and do nothing
    #[arg(long)]
    list: bool,
    /// The most rounds; medians are taken over them, fewer of slow rows [default: 5, or 3 with --quick]
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..))]
    rounds: Option<u8>,
    /// Where the data are made; a directory in memory
    #[arg(long, value_name = "DIR", default_value = "/dev/shm/mh-bench")]
    data: PathBuf,
    /// A tree to work on instead of the Linux source (files, tamp)
    #[arg(long, value_name = "DIR")]
    tree: Option<PathBuf>,
    /// Keep the data for the next run; the tamp suite keeps none of a --tree
    #[arg(long)]
    keep: bool,
    /// Measure this program instead of building ours
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

/// One row to be: our tool, its rivals, and how outputs are verified.
struct Case {
    name: String,
    corpus: &'static str,
    ours: Tool,
    rivals: Vec<Rival>,
    verify: measure::Verify,
    /// Files that must be there first.
    needs: Vec<corpus::Made>,
    /// Format and level, where it is a point of the chart of sizes.
    level: Option<(&'static str, &'static str)>,
    /// Takes half a minute a run: few rounds, all counted.
    is_slow: bool,
    /// LIMIT of our peak memory, where there is one.
    memory_mb_max: Option<f64>,
    /// LIMIT: no more rounds than fit into this, but the least.
    seconds_max: f64,
}

impl Case {
    fn new(name: &str, corpus: &'static str, ours: Tool, rivals: Vec<Rival>, verify: measure::Verify) -> Self {
        let (name, needs, seconds_max) = (name.to_owned(), Vec::new(), ROW_SECONDS);
        let (level, is_slow, memory_mb_max) = (None, false, None);
        Self { name, corpus, ours, rivals, verify, needs, level, is_slow, memory_mb_max, seconds_max }
    }

    /// A program without which no run of it can be made or verified.
    fn missing(&self) -> Option<&str> {
        let packers = self.needs.iter().filter_map(|made| made.script.split(' ').next());
        let unpacker = match &self.verify {
            measure::Verify::Packed { unpack, .. } | measure::Verify::PackedEach { unpack, .. } => Some(&*unpack[0]),
            measure::Verify::Plain(_)
            | measure::Verify::Tree(_)
            | measure::Verify::Archive { .. }
            | measure::Verify::Gone
            | measure::Verify::Exit => None,
        };
        // Ours stands in quotes, and is built.
        packers.chain(unpacker).find(|program| !program.starts_with('\'') && !has_program(program))
    }
}

/// A rival, and what the ratio of our time to its should be.
struct Rival {
    tool: Tool,
    target: judge::Target,
}

/// All runs of a case: ours first, then each rival's, round by round.
struct Measured {
    case: Case,
    runs: Vec<Vec<Run>>,
}

/// What the suites compare with, and what measures.
const PACKAGES: &[Packaged] = &[
    ("time", "time"),
    ("gzip", "gzip"),
    ("pigz", "pigz"),
    ("zstd", "zstd"),
    ("bgzip", "tabix"),
    ("igzip", "isal"),
    ("libdeflate-gzip", "libdeflate-tools"),
    ("lz4", "lz4"),
    ("xz", "xz-utils"),
    ("pixz", "pixz"),
    ("bzip2", "bzip2"),
    ("lbzip2", "lbzip2"),
    ("pbzip2", "pbzip2"),
];

/// Rounds of what is slow by itself.
const SLOW_ROUNDS_MAX: usize = 2;
const FORECAST_ROUNDS_MAX: usize = 3;
/// Half a minute each, and eighteen of them.
const PRODUCER_ROUNDS_MAX: usize = 1;

/// What a row of tamp's may take, so that a whole run takes less than half an hour.
const ROW_SECONDS: f64 = 25.0;
const ROUNDS_MIN: usize = 3;

impl BenchArguments {
    fn wants(&self, name: &str, corpus: &str) -> bool {
        let row = format!("{name} ({corpus})");
        self.only.is_empty() || self.only.iter().any(|text| row.contains(text.as_str()))
    }

    fn rounds(&self) -> usize {
        self.rounds.map_or(if self.quick { 3 } else { 5 }, usize::from)
    }

    /// The command that repeats this run.
    fn command_line(&self) -> String {
        let mut words = format!("cargo xtask bench {} --rounds {}", self.suite, self.rounds());
        if self.quick {
            words += " --quick";
        }
        if let Some(tree) = &self.tree {
            words += &format!(" --tree '{}'", tree.display());
        }
        for text in &self.only {
            words += &format!(" --only '{text}'");
        }
        words
    }
}

/// Runs the suite.
fn run(arguments: &BenchArguments) -> Result<(), String> {
    match arguments.suite.as_str() {
        "files" => files::run(arguments),
        "sum" => sum::run(arguments),
        "crew" => crew::run(arguments),
        "xjobs" => xjobs::run(arguments),
        "pstime" => pstime::run(arguments),
        "systime" => systime::run(arguments),
        "fit" => instruments::fit::run(arguments),
        "innodb" => innodb::run(arguments),
        "db" => db::run(arguments),
        "cluster" => cluster::run(arguments),
        "load" => load::run(arguments),
        "memory" => memory::run(arguments),
        "sysstat" => instruments::sysstat::run(arguments),
        "timers" => instruments::timers::run(arguments),
        _ => run_tamp(arguments),
    }
}

fn run_tamp(arguments: &BenchArguments) -> Result<(), String> {
    let program = arguments.program.clone().map_or_else(release_binary, Ok)?;
    let mut data = Data::at(&arguments.data, arguments.quick, arguments.keep).of_tree(arguments.tree.as_deref());
    let cases = tamp::cases(&program, &data)?;
    let cases: Vec<Case> = cases.into_iter().filter(|case| arguments.wants(&case.name, case.corpus)).collect();
    let mut checks = tamp::forecasts(&program, &data)?;
    checks.retain(|check| arguments.wants(&check.name, tamp::SOURCE));
    let wants_slow_disk = arguments.wants(throttle::NAME, throttle::CORPUS);
    let mut rows = keep_up::rows(&program, &data, arguments.quick)?;
    rows.retain(|row| arguments.wants(&row.name, tamp::SOURCE));
    if arguments.list {
        cases.iter().for_each(|case| println!("{} ({})", case.name, case.corpus));
        rows.iter().for_each(|row| println!("{}, {} ({})", row.name, row.tool, tamp::SOURCE));
        checks.iter().for_each(|check| println!("{} ({})", check.name, tamp::SOURCE));
        if wants_slow_disk {
            println!("{} ({})", throttle::NAME, throttle::CORPUS);
        }
        return Ok(());
    }
    let _named_row_by_row = workspace::install(PACKAGES);
    build(arguments)?;
    let described = data.make()?;
    println!("{described}");
    let mut recorder = Recorder::begin(About {
        suite: arguments.suite.clone(),
        command_line: arguments.command_line(),
        how: record::HOW_TAMP,
        rivals: machine::rivals(),
        corpora: described,
    });
    for case in cases {
        if let Some(program) = case.missing() {
            recorder.left_out(&format!("{} ({})", case.name, case.corpus), &format!("{program} is not installed"));
            continue;
        }
        let case = without_missing_rivals(case, &mut recorder);
        measure_and_record(case, arguments.rounds(), &mut recorder);
    }
    for check in checks {
        println!("{}", check.name);
        match forecast::check(&check, arguments.rounds().min(FORECAST_ROUNDS_MAX)) {
            Ok(checked) => recorder.forecast(&checked),
            Err(message) => recorder.failed(&check.name, tamp::SOURCE, &message),
        }
    }
    measure_rows(&rows, arguments.rounds().min(PRODUCER_ROUNDS_MAX), &mut recorder);
    if wants_slow_disk {
        match throttle::SlowDisk::new(&data) {
            Ok(disk) => {
                let case = disk.case(&program, &data);
                measure_and_record(case, arguments.rounds(), &mut recorder);
            }
            Err(reason) => recorder.left_out(throttle::NAME, &reason),
        }
    }
    let suffix = if !arguments.only.is_empty() { "-part" } else { "" };
    recorder.finish(&format!("{}{suffix}", if arguments.quick { "-quick" } else { "" }))
}

/// Builds ours, unless it was named.
fn build(arguments: &BenchArguments) -> Result<(), String> {
    if arguments.program.is_some() {
        return Ok(());
    }
    workspace::run("cargo", &["build", "--quiet", "--release", "--package", "manyhands"])
}

/// Interleaved: every row once, then every row again. A row that fails fails the bench.
fn measure_rows(rows: &[keep_up::Row], rounds: usize, recorder: &mut Recorder) {
    let mut runs: Vec<Vec<keep_up::Poured>> = rows.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        for (row, runs) in rows.iter().zip(&mut runs) {
            match row.run() {
                Ok(poured) => runs.push(poured),
                Err(message) => recorder.failed(&row.name, tamp::SOURCE, &message),
            }
        }
    }
    for (row, runs) in rows.iter().zip(&runs) {
        recorder.poured(row, runs);
    }
}

/// A rival that is not installed must be missed in the table, not forgotten.
fn without_missing_rivals(mut case: Case, recorder: &mut Recorder) -> Case {
    case.rivals.retain(|rival| {
        let is_there = has_program(&rival.tool.program);
        if !is_there {
            recorder.left_out(&format!("{} ({}) against {}", case.name, case.corpus, rival.tool.name), "not installed");
        }
        is_there
    });
    case
}

fn measure_and_record(case: Case, rounds: usize, recorder: &mut Recorder) {
    let (name, corpus) = (case.name.clone(), case.corpus);
    println!("{name} ({corpus})");
    match measure_case(case, rounds) {
        Ok(measured) => recorder.row(&measured),
        Err(message) => recorder.failed(&name, corpus, &message),
    }
}

/// Interleaves: ours, rival, rival; rival, rival, ours; ... after one round that is not counted and verifies everything.
/// Of a slow case that one counts too.
fn measure_case(case: Case, rounds: usize) -> Result<Measured, String> {
    for made in &case.needs {
        made.make()?;
    }
    let tools: Vec<&Tool> = std::iter::once(&case.ours).chain(case.rivals.iter().map(|rival| &rival.tool)).collect();
    let verified =
        || -> Result<Vec<Run>, String> { tools.iter().map(|tool| verified_run(tool, &case.verify)).collect() };
    let mut all = vec![verified()?];
    if case.is_slow {
        for _ in 1..rounds.min(SLOW_ROUNDS_MAX) {
            all.push(verified()?);
        }
    } else {
        let round_s: f64 = all[0].iter().map(|run| run.wall_s).sum();
        all.clear();
        for round in 0..rounds_of(rounds, round_s, case.seconds_max) {
            // Another one begins each round: what a tool leaves behind, such as memory that has been touched, serves the next.
            let in_turn = (0..tools.len()).map(|step| (round + step) % tools.len());
            let mut runs: Vec<(usize, Run)> =
                in_turn.map(|at| tools[at].run().map(|run| (at, run))).collect::<Result<_, _>>()?;
            runs.sort_by_key(|(at, _)| *at);
            all.push(runs.into_iter().map(|(_, run)| run).collect());
        }
        // Once more: a program that was right the first time need not be right again.
        verified_run(&case.ours, &case.verify).map_err(|error| format!("after timing: {error}"))?;
    }
    for tool in &tools {
        tool.clean_up();
    }
    let runs = (0..tools.len()).map(|tool| all.iter().map(|round| round[tool]).collect()).collect();
    Ok(Measured { case, runs })
}

fn verified_run(tool: &Tool, how: &measure::Verify) -> Result<Run, String> {
    let run = tool.run()?;
    tool.verify(how, run).map_err(|error| format!("{}: {error}", tool.name))?;
    Ok(run)
}

/// As many as fit, within limits; where fewer were asked for, those.
fn rounds_of(rounds_max: usize, round_s: f64, seconds_max: f64) -> usize {
    let fitting = (seconds_max / round_s.max(1e-3)) as usize;
    fitting.max(ROUNDS_MIN).min(rounds_max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn case(directory: &Path, ours: &str) -> Case {
        let (plain, out) = (directory.join("plain"), directory.join("out"));
        std::fs::write(&plain, "some text\n").expect("a file");
        let copying = |name: &str, script: &str| {
            Tool::new(name, &["sh", "-c", script, "sh", plain.to_str().expect("text")], &out).into_stdout()
        };
        let rival = Rival { tool: copying("cat", "cat \"$1\""), target: judge::Target::none() };
        let verify = measure::Verify::Plain(plain.clone());
        let ours = copying("ours", ours);
        Case::new("copy", "text", ours, vec![rival], verify)
    }

    #[test]
    fn ours_and_rivals_run_in_turn_and_are_verified() {
        let directory = tempfile::tempdir().expect("a directory");
        let measured = measure_case(case(directory.path(), "cat \"$1\""), 2).expect("both copy");
        assert_eq!(measured.runs.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
        assert!(measured.runs.iter().flatten().all(|run| run.output_bytes == 10 && run.wall_s > 0.0));
        assert!(!directory.path().join("out").exists(), "outputs are removed");
    }

    #[test]
    fn slow_rows_get_fewer_rounds() {
        assert_eq!([0.001, 4.9, 6.0, 500.0].map(|round_s| rounds_of(5, round_s, ROW_SECONDS)), [5, 5, 4, 3]);
        assert_eq!(rounds_of(1, 500.0, ROW_SECONDS), 1);
        let directory = tempfile::tempdir().expect("a directory");
        let slow = Case { is_slow: true, ..case(directory.path(), "cat \"$1\"") };
        assert_eq!(measure_case(slow, 5).expect("both copy").runs.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
    }

    #[test]
    fn what_cannot_be_verified_is_known_before() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut case = case(directory.path(), "true");
        assert_eq!(case.missing(), None);
        let script = "no-such-program-anywhere -c".to_owned();
        case.needs.push(corpus::Made { path: PathBuf::new(), script });
        assert_eq!(case.missing(), Some("no-such-program-anywhere"));
    }

    #[test]
    fn a_wrong_output_or_a_failing_tool_is_an_error() {
        let directory = tempfile::tempdir().expect("a directory");
        let wrong = measure_case(case(directory.path(), "echo other txt"), 1).err().expect("it is not the input");
        assert!(wrong.starts_with("ours: "), "{wrong}");
        let failing = measure_case(case(directory.path(), "cat \"$1\"; exit 3"), 1).err().expect("it fails");
        assert!(failing.contains("exit status: 3"), "{failing}");
    }
}
