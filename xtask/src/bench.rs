//! `cargo xtask bench`: our commands against the tools of today, interleaved, outputs verified, written into a run folder.
//! Suites say what is run; this file orders rounds, judges rows and writes what came out.

mod corpus;
mod forecast;
mod measure;
pub mod pace;
mod plot;
mod record;
mod tamp;
mod throttle;

use crate::workspace::{self, release_binary};
use clap::Args;
use measure::{Run, Tool};
use std::path::PathBuf;

/// What to measure.
#[derive(Args)]
pub struct BenchArguments {
    /// The suite
    #[arg(default_value = "tamp", value_parser = ["tamp"])]
    suite: String,
    /// 64 MiB instead of 512, three rounds: to see whether it works, not how fast it is
    #[arg(long)]
    quick: bool,
    /// Only cases whose name contains TEXT
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Name the cases and do nothing
    #[arg(long)]
    list: bool,
    /// Rounds; medians are taken over them
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Where the data lie; a folder in memory
    #[arg(long, default_value = "/dev/shm/mh-bench")]
    data: PathBuf,
    /// Keep the data for the next run
    #[arg(long)]
    keep: bool,
}

/// One row to be: our tool, its rivals, and how outputs are verified.
pub struct Case {
    pub name: String,
    pub corpus: &'static str,
    pub ours: Tool,
    pub rivals: Vec<Rival>,
    pub verify: measure::Verify,
}

/// A rival, and what the ratio of our time to its should be.
pub struct Rival {
    pub tool: Tool,
    /// At most this; none where the comparison only informs.
    pub must: Option<f64>,
    /// Hoped for.
    pub aim: Option<f64>,
}

/// All runs of a case: ours first, then each rival's, round by round.
pub struct Measured {
    pub case: Case,
    pub runs: Vec<Vec<Run>>,
}

/// Runs the suite.
pub fn run(arguments: &BenchArguments) -> Result<(), String> {
    let rounds = if arguments.quick { 3 } else { arguments.rounds };
    let program = release_binary();
    if !arguments.list {
        workspace::run("cargo", &["build", "--quiet", "--release", "--package", "manyhands"])?;
    }
    let data = corpus::Data::at(&arguments.data, arguments.quick, arguments.keep)?;
    let wanted = |name: &str| arguments.only.as_ref().is_none_or(|text| name.contains(text.as_str()));
    let cases = tamp::cases(&program, &data, arguments.list)?;
    let cases: Vec<Case> = cases.into_iter().filter(|case| wanted(&case.name)).collect();
    if arguments.list {
        cases.iter().for_each(|case| println!("{} ({})", case.name, case.corpus));
        return Ok(());
    }
    let mut recorder = record::Recorder::begin(&arguments.suite, arguments.quick, data.source_name)?;
    for case in cases {
        println!("{} ({})", case.name, case.corpus);
        let measured = measure_case(case, rounds)?;
        recorder.row(&measured)?;
    }
    for check in tamp::forecasts(&program, &data) {
        if wanted(&check.name) {
            println!("{}", check.name);
            recorder.forecast(forecast::check(&check, rounds.min(5))?);
        }
    }
    for (name, outcome) in throttle::cases(&program, &data, &wanted) {
        match outcome {
            Ok(case) => {
                println!("{name}");
                let measured = measure_case(case.case, rounds.min(3))?;
                recorder.row(&measured)?;
            }
            Err(reason) => recorder.left_out(&name, &reason),
        }
    }
    recorder.finish()
}

/// Interleaves: ours, rival, rival, ours, rival, rival, ... after one round that is not counted and verifies everything.
fn measure_case(case: Case, rounds: usize) -> Result<Measured, String> {
    let tools: Vec<&Tool> = std::iter::once(&case.ours).chain(case.rivals.iter().map(|rival| &rival.tool)).collect();
    for tool in &tools {
        let run = tool.run()?;
        tool.verify(&case.verify, &run).map_err(|error| format!("{}, {}: {error}", case.name, tool.name))?;
    }
    let mut runs: Vec<Vec<Run>> = tools.iter().map(|_| Vec::with_capacity(rounds)).collect();
    for _ in 0..rounds {
        for (tool, runs) in tools.iter().zip(&mut runs) {
            runs.push(tool.run()?);
        }
    }
    // What was timed last is looked at, too: a tool that is right once need not be right again.
    let last = runs[0].last().ok_or("no rounds")?;
    case.ours.run()?;
    case.ours.verify(&case.verify, last).map_err(|error| format!("{}, after timing: {error}", case.name))?;
    for tool in tools {
        tool.clean_up();
    }
    Ok(Measured { case, runs })
}
