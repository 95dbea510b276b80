//! The load suite: `mh load` beside pgbench, sysbench, mysqlslap and yes(1), in turns on servers of Debian that are started anew for each round;
//! a server that is stopped for a second beside the model of an ideal queue; the rate that was kept; a sweep with users who think.

mod client;
mod rows;
mod server;
mod stall;

use crate::BenchArguments;
use crate::instruments::{Due, Line, finish};
use std::path::{Path, PathBuf};
use xtask::workspace::{self, Packaged, release_binary};

const PACKAGES: &[Packaged] = &[
    ("postgres", "postgresql"),
    ("pgbench", "postgresql-contrib"),
    ("mariadbd", "mariadb-server"),
    ("mariadb-slap", "mariadb-client"),
    ("sysbench", "sysbench"),
    ("time", "time"),
];

/// What is measured, by the words of `--only`.
const PARTS: &[&str] = &["point select", "do 0", "oltp", "stall", "known truth", "think", "2048 connections"];

type Part = fn(&mut LoadBench) -> Result<(), String>;

/// What all parts share.
pub struct LoadBench {
    /// The program under test.
    mh: PathBuf,
    /// Starts of a server.
    starts: usize,
    /// Seconds of a run.
    seconds: u32,
    /// Seconds of a run at a rate.
    seconds_at_rate: u32,
    lines: Vec<Line>,
    left_out: Vec<String>,
}

impl LoadBench {
    fn line(&mut self, name: impl Into<String>, ours: String, against: String, due: Option<Due>) {
        let line = Line { name: name.into(), ours, against, due };
        println!("| {} | {} | {} |", line.name, line.ours, line.against);
        self.lines.push(line);
    }
}

/// Runs the suite.
pub fn run(arguments: &BenchArguments) -> Result<(), String> {
    if arguments.list {
        PARTS.iter().for_each(|part| println!("{part}"));
        return Ok(());
    }
    let _named_part_by_part = workspace::install(PACKAGES);
    let mh = arguments.program.clone().map_or_else(release_binary, Ok)?;
    if arguments.program.is_none() {
        workspace::run("cargo", &["build", "--quiet", "--release", "--package", "manyhands"])?;
    }
    let quick = arguments.quick;
    let mut bench = LoadBench {
        mh,
        starts: if quick { 1 } else { arguments.rounds().max(5) },
        seconds: if quick { 2 } else { 6 },
        seconds_at_rate: if quick { 10 } else { 60 },
        lines: Vec::new(),
        left_out: Vec::new(),
    };
    let wants =
        |part: &str| arguments.only.is_empty() || arguments.only.iter().any(|only| part.contains(only.as_str()));
    let parts: [(&str, Part); 7] = [
        (PARTS[0], rows::point_select),
        (PARTS[1], rows::do_nothing),
        (PARTS[2], rows::oltp),
        (PARTS[3], stall::run_all),
        (PARTS[4], stall::known_truth),
        (PARTS[5], rows::think),
        (PARTS[6], rows::many_connections),
    ];
    for (name, part) in parts.into_iter().filter(|(name, _)| wants(name)) {
        if let Err(reason) = part(&mut bench) {
            println!("left out: {name}: {reason}");
            bench.left_out.push(format!("{name}: {reason}"));
        }
    }
    let how = "Servers in memory, 2 cores for server and client together; each start of a server measures all tools in turns, forward and backward by turns. \
               Values are medians of starts. CPU time of clients by wait4(2) of their processes, of servers by /proc.";
    let suffix = if arguments.only.is_empty() { "load" } else { "load-part" };
    finish(suffix, &arguments.command_line(), how, &bench.lines, &bench.left_out)
}

/// A directory in memory.
fn in_memory() -> Result<tempfile::TempDir, String> {
    let made = tempfile::Builder::new().prefix("mh-bench-load-").tempdir_in(Path::new("/dev/shm"));
    made.map_err(|error| format!("could not make a directory in /dev/shm: {error}"))
}
