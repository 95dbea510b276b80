//! The xjobs suite: what running a list of programs costs, against a C loop of posix_spawn and wait, and against the runners of
//! today. Orders rounds; what is run is in `races`, what is watched from beside in `standing`, the run directory in `sheet`.

mod programs;
mod races;
mod sheet;
mod standing;

use super::BenchArguments;
use super::measure::{Run, Tool};
use super::undo::Undo;
use programs::Programs;
use races::Race;
use sheet::{Figure, Sheet};
use std::path::Path;
use xtask::workspace::{self, Packaged, release_binary};

/// What the suite compares with, and what measures.
const PACKAGES: &[Packaged] = &[
    ("time", "time"),
    ("cc", "gcc"),
    ("xargs", "findutils"),
    ("xjobs", "xjobs"),
    ("parallel.moreutils", "moreutils"),
    ("parallel", "parallel"),
];

/// How much of each is run.
#[derive(Clone, Copy)]
pub struct Sizes {
    /// Jobs of a race.
    jobs: usize,
    /// Jobs of the list that memory must not grow with.
    many_lines: usize,
    /// Jobs that are read ahead and wait.
    queued: usize,
    /// Jobs that print, and how much each does.
    printers: usize,
    printed_bytes: usize,
    /// Seconds of a short job in the skewed list.
    skew_s: f64,
}

const WHOLE: Sizes = Sizes {
    jobs: 10_000,
    many_lines: 1_000_000,
    queued: 200_000,
    printers: 20,
    printed_bytes: 100_000_000,
    skew_s: 1.0,
};

/// To see whether it works.
const QUICK: Sizes =
    Sizes { jobs: 500, many_lines: 5000, queued: 20_000, printers: 4, printed_bytes: 5_000_000, skew_s: 0.2 };

/// Runs the suite.
pub fn run(arguments: &BenchArguments) -> Result<(), String> {
    let program = arguments.program.clone().map_or_else(release_binary, Ok)?;
    let sizes = if arguments.quick { QUICK } else { WHOLE };
    let directory = arguments.data.join("manyhands-jobs");
    if arguments.list {
        let none = Programs::named(&program, &directory);
        races::all(&none, sizes).iter().for_each(|race| println!("{}", race.name));
        standing::NAMES.iter().for_each(|name| println!("{name}"));
        return Ok(());
    }
    let _named_row_by_row = workspace::install(PACKAGES);
    if arguments.program.is_none() {
        workspace::run("cargo", &["build", "--quiet", "--release", "--package", "manyhands"])?;
    }
    let mut undo = Undo::begin()?;
    undo.later(&format!("rmdir '{}' || true", arguments.data.display()))?;
    undo.later(&format!("rm -rf '{}'", directory.display()))?;
    std::fs::create_dir_all(&directory).map_err(|error| format!("could not make {}: {error}", directory.display()))?;
    let programs = Programs::make(&program, &directory)?;
    let mut sheet = Sheet::begin(arguments.command_line(), programs.rust_parallel.clone());
    for race in races::all(&programs, sizes) {
        if arguments.wants(&race.name, "") {
            run_race(race, arguments.rounds(), &mut sheet);
        }
    }
    for name in standing::NAMES {
        if arguments.wants(name, "") {
            println!("{name}");
            match standing::watch(name, &programs, sizes) {
                Ok(figures) => figures.iter().for_each(|figure: &Figure| sheet.figure(name, figure)),
                Err(message) => sheet.failed(name, &message),
            }
        }
    }
    let suffix = [(arguments.quick, "-quick"), (!arguments.only.is_empty(), "-part")];
    let suffix: String = suffix.iter().filter(|(is_so, _)| *is_so).map(|(_, word)| *word).collect();
    sheet.finish(&format!("-xjobs{suffix}"))
}

fn run_race(mut race: Race, rounds: usize, sheet: &mut Sheet) {
    println!("{}", race.name);
    race.rivals.retain(|rival| {
        let is_there = Path::new(&rival.runner.program).is_file() || workspace::has_program(&rival.runner.program);
        if !is_there {
            sheet.left_out(&format!("{} against {}", race.name, rival.runner.name), "not installed");
        }
        is_there
    });
    match measure(&race, rounds) {
        Ok(runs) => sheet.race(&race, &runs),
        Err(message) => sheet.failed(&race.name, &message),
    }
}

/// One run of a runner: time(1)'s figures, and where the job looked at its runner, what it saw.
#[derive(Clone, Copy)]
pub struct Taken {
    pub run: Run,
    pub own: Option<programs::Own>,
}

/// Ours, rival, rival, ours ... after a round in which every job leaves a mark, so that each is known to have run once.
fn measure(race: &Race, rounds: usize) -> Result<Vec<Vec<Taken>>, String> {
    let runners: Vec<_> = std::iter::once(&race.ours).chain(race.rivals.iter().map(|rival| &rival.runner)).collect();
    for runner in &runners {
        race.verify(runner).map_err(|error| format!("{}: {error}", runner.name))?;
    }
    let mut all: Vec<Vec<Taken>> = runners.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        for (runner, taken) in runners.iter().zip(&mut all) {
            let tool: Tool = race.tool(runner);
            let run = tool.run()?;
            race.check(&tool).map_err(|error| format!("{}: {error}", runner.name))?;
            taken.push(Taken { run, own: race.own() });
            tool.clean_up();
        }
    }
    Ok(all)
}
