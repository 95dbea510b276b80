//! `mh vmtasks bench` beside the ways in which others set up memory (`bench/jobs/memory.c`): MAP_POPULATE, mlock and munmap by one thread, and
//! equal parts by threads as QEMU has them. In turns, each in a fresh process that has created and destroyed one range before; residency of every
//! range is counted page by page.

mod programs;

use crate::BenchArguments;
use crate::instruments::{Due, Line, answer, finish, number};
use crate::judge::median;
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::workspace::{self, Packaged, release_binary, root};

const PACKAGES: &[Packaged] =
    &[("cc", "gcc"), ("postgres", "postgresql"), ("mariadbd", "mariadb-server"), ("javac", "default-jdk-headless")];

/// What is measured, by the words of `--only`: our arguments, and the rivals' ways with what the ratio of creating must reach.
const ROWS: &[Row] = &[
    Row { name: "anon", kind: "anon", is_locked: false, rivals: &[("populate", 0.60), ("qemu", 1.0)] },
    Row { name: "shm", kind: "shm", is_locked: false, rivals: &[("populate", 0.60), ("qemu", 1.0)] },
    Row { name: "memfd", kind: "memfd", is_locked: false, rivals: &[("populate", 0.60), ("qemu", 1.0)] },
    Row { name: "anon locked", kind: "anon", is_locked: true, rivals: &[("mlock", 0.60)] },
];

struct Row {
    name: &'static str,
    kind: &'static str,
    is_locked: bool,
    rivals: &'static [(&'static str, f64)],
}

/// Milliseconds of each round.
#[derive(Default)]
struct Times {
    create: Vec<f64>,
    destroy: Vec<f64>,
}

struct MemoryBench {
    mh: PathBuf,
    rivals: PathBuf,
    bytes: u64,
    threads: usize,
    rounds: usize,
}

/// Runs the suite.
pub fn run(arguments: &BenchArguments) -> Result<(), String> {
    let wants =
        |row: &&Row| arguments.only.is_empty() || arguments.only.iter().any(|only| row.name.contains(only.as_str()));
    if arguments.list {
        ROWS.iter().map(|row| row.name).chain(programs::PROGRAMS).for_each(|name| println!("{name}"));
        return Ok(());
    }
    let _named_below = workspace::install(PACKAGES);
    let mh = arguments.program.clone().map_or_else(release_binary, Ok)?;
    let mh = std::path::absolute(&mh).map_err(|error| format!("could not find {}: {error}", mh.display()))?;
    if arguments.program.is_none() {
        workspace::run("cargo", &["build", "--quiet", "--release", "--package", "manyhands"])?;
    }
    let directory = tempfile::tempdir().map_err(|error| format!("could not make a directory: {error}"))?;
    let rivals = directory.path().join("rivals");
    let [source, built] = [root().join("bench/jobs/memory.c"), rivals.clone()].map(|path| path.display().to_string());
    workspace::run("cc", &["-O2", "-pthread", "-o", &built, &source])?;
    let bench = MemoryBench {
        mh,
        rivals,
        bytes: if arguments.quick { 256 << 20 } else { 4 << 30 },
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        rounds: if arguments.quick { 1 } else { arguments.rounds().max(5) },
    };
    let mut lines = Vec::new();
    for row in ROWS.iter().filter(wants) {
        lines.extend(bench.row(row)?);
    }
    let mut left_out = Vec::new();
    let is_wanted =
        |part: &&str| arguments.only.is_empty() || arguments.only.iter().any(|only| part.contains(only.as_str()));
    for part in programs::PROGRAMS.into_iter().filter(is_wanted) {
        match programs::measure(&bench, part) {
            Ok(line) => lines.push(line),
            Err(reason) => left_out.push(format!("{part}: {reason}")),
        }
    }
    let how = format!(
        "{} MiB in pages of 4 KiB, {} threads, {} rounds in turns, each in a fresh process. Medians of milliseconds, from the smallest to the largest. \
         The ratio is the median of the rounds' ratios. All of every range was counted resident. Programs: data in memory, results of all passes the same.",
        bench.bytes >> 20,
        bench.threads,
        bench.rounds
    );
    let suffix = if arguments.only.is_empty() { "memory" } else { "memory-part" };
    finish(suffix, &arguments.command_line(), &how, &lines, &left_out)
}

impl MemoryBench {
    /// Ours and each rival, round by round, forward and backward.
    fn row(&self, row: &Row) -> Result<Vec<Line>, String> {
        let mut times: Vec<Times> = (0..=row.rivals.len()).map(|_| Times::default()).collect();
        for round in 0..self.rounds {
            let mut order: Vec<usize> = (0..times.len()).collect();
            if round % 2 == 1 {
                order.reverse();
            }
            for tool in order {
                let (create, destroy) = match tool.checked_sub(1) {
                    None => self.ours(row)?,
                    Some(rival) => self.rival(row.rivals[rival].0, row.kind)?,
                };
                times[tool].create.push(create);
                times[tool].destroy.push(destroy);
            }
        }
        let (ours, theirs) = times.split_first().expect("ours is there");
        let mut lines = Vec::new();
        for ((way, most), theirs) in row.rivals.iter().zip(theirs) {
            let due = Due { words: if *most < 1.0 { "at most 0.60" } else { "at most 1.0" }, is_met: false };
            lines.push(line(&format!("create {}", row.name), way, [&ours.create, &theirs.create], Some((due, *most))));
        }
        if !row.is_locked {
            // Of shared memory the kernel frees a file's pages in one thread.
            let due = (row.kind == "anon").then_some((Due { words: "at most 0.75", is_met: false }, 0.75));
            lines.push(line(&format!("destroy {}", row.name), "munmap", [&ours.destroy, &theirs[0].destroy], due));
        }
        Ok(lines)
    }

    fn ours(&self, row: &Row) -> Result<(f64, f64), String> {
        let (bytes, threads) = (self.bytes.to_string(), self.threads.to_string());
        let mut words =
            vec!["vmtasks", "bench", "--json", "--rounds", "1", "--kind", row.kind, "--size", &bytes, "-j", &threads];
        if row.is_locked {
            words.push("--lock");
        }
        let report = answer(&self.mh, &words)?;
        self.verify(number(&report, "/facts/resident_bytes")?, "ours")?;
        let last = report["rows"].as_array().map_or(0, Vec::len).saturating_sub(1);
        let figures = if row.is_locked { "create_locked_ns" } else { "create_ns" };
        let milliseconds = |name: &str| Ok::<f64, String>(number(&report, &format!("/rows/{last}/{name}/0"))? / 1e6);
        Ok((milliseconds(figures)?, milliseconds("destroy_ns")?))
    }

    fn rival(&self, way: &str, kind: &str) -> Result<(f64, f64), String> {
        let words = [way, &self.bytes.to_string(), &self.threads.to_string(), kind];
        let figures = printed(&self.rivals, &words)?;
        let [create, destroy, resident] = figures[..] else { return Err(format!("{way} printed {figures:?}")) };
        self.verify(resident, way)?;
        Ok((create / 1e6, destroy / 1e6))
    }

    fn verify(&self, resident: f64, who: &str) -> Result<(), String> {
        if resident == self.bytes as f64 {
            return Ok(());
        }
        Err(format!("{who}: {resident} of {} bytes are resident", self.bytes))
    }
}

fn printed(program: &Path, words: &[&str]) -> Result<Vec<f64>, String> {
    let output =
        Command::new(program).args(words).output().map_err(|error| format!("could not run {words:?}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{words:?}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split_whitespace().map(|word| word.parse().map_err(|error| format!("{word}: {error}"))).collect()
}

fn line(name: &str, way: &str, [ours, theirs]: [&Vec<f64>; 2], due: Option<(Due, f64)>) -> Line {
    let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect();
    let ratio = median(&ratios);
    let line = Line {
        name: name.to_owned(),
        ours: format!("{} ms, ratio {ratio:.2}", figures(ours)),
        against: format!("{way} {} ms", figures(theirs)),
        due: due.map(|(due, most)| Due { is_met: ratio <= most, ..due }),
    };
    println!("| {} | {} | {} |", line.name, line.ours, line.against);
    line
}

fn figures(values: &[f64]) -> String {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(0.0, f64::max);
    format!("{:.0} ({low:.0} to {high:.0})", median(values))
}
