//! The `crew` suite: what the budget of cores gives and costs, always against the same runs without it (`MH_CREW_DIR=`), in
//! turn. This file orders rounds and writes the run directory; the directory beside it measures.

mod crowd;
mod pairs;
mod sampling;
mod slow;
mod words;

use super::corpus::Data;
use super::judge::{Ratio, median};
use super::measure::Run;
use super::record::unused;
use super::{BenchArguments, build, machine};
use crowd::{Crowd, RUNS, WIDTH};
use slow::Beside;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use xtask::workspace::{self, release_binary, root};

/// Parts of the suite, for `--only` and `--list`.
const PARTS: [&str; 6] = ["crowd", "high-beside-low", "high-beside-slow", "equals", "alone", "words"];

/// LIMIT: a high run beside a low one takes no longer than this times a high run alone.
const BESIDE_MAX: f64 = 1.10;
/// LIMIT: nor beside one whose chunks take seconds.
const BESIDE_SLOW_MAX: f64 = 1.05;
/// LIMIT: a run alone takes no longer with the table than this times the same run without.
const ALONE_MAX: f64 = 1.01;
/// LIMIT: of two equals, the one with less has at least this share.
const EQUAL_MIN: f64 = 0.45;
/// LIMIT: hands of a killed run are in use again, median.
const KILL_MAX_US: f64 = 50_000.0;

/// Pairs whose ratio is to be known to a hundredth are short; they get this many times the rounds.
const PAIRS_A_ROUND: usize = 5;

/// Whether runs share the cores by the table, or have each as many threads as they like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    Budget,
    Nothing,
}

impl Sharing {
    const BOTH: [Self; 2] = [Self::Budget, Self::Nothing];

    fn name(self) -> &'static str {
        match self {
            Self::Budget => "with",
            Self::Nothing => "without",
        }
    }
}

/// What is measured, and where its files are.
pub struct Bench<'a> {
    program: &'a Path,
    data: &'a Data,
    /// Short enough that eight of them are a round.
    crowd_input: PathBuf,
    pair_input: PathBuf,
}

impl Bench<'_> {
    fn file(&self, name: &str) -> PathBuf {
        self.data.file(name)
    }

    /// The value of `MH_CREW_DIR`.
    fn directory_of(&self, sharing: Sharing) -> PathBuf {
        match sharing {
            Sharing::Budget => self.file("crew"),
            Sharing::Nothing => PathBuf::new(),
        }
    }
}

/// What becomes the run directory.
#[derive(Default)]
struct Record {
    raw: String,
    readme: String,
    missed: Vec<String>,
    left_out: Vec<String>,
}

impl Record {
    fn raw(&mut self, part: &str, variant: &str, round: usize, figure: &str, value: f64) {
        let _no_error_in_memory = writeln!(self.raw, "{part},\"{variant}\",{round},{figure},{value:.4}");
    }

    fn say(&mut self, text: &str) {
        print!("{text}");
        self.readme.push_str(text);
    }

    /// A target, met or not, as a table's last cell.
    fn verdict(&mut self, what: &str, is_met: bool) -> &'static str {
        if is_met {
            return "met";
        }
        self.missed.push(what.to_owned());
        "**missed**"
    }
}

/// Runs the suite.
pub fn run(arguments: &BenchArguments) -> Result<(), String> {
    let parts: Vec<&str> = PARTS.into_iter().filter(|part| arguments.wants(part, "")).collect();
    if arguments.list {
        parts.iter().for_each(|part| println!("{part}"));
        return Ok(());
    }
    let _named_below = workspace::install(&[("time", "time"), ("zstd", "zstd")]);
    build(arguments)?;
    let program = arguments.program.clone().map_or_else(release_binary, Ok)?;
    let mut data = Data::at(&arguments.data, arguments.quick, arguments.keep);
    let described = data.make_source_alone()?;
    let (crowd_input, pair_input) = (data.source.middle.plain.clone(), data.source.whole.plain.clone());
    let described = format!("{described}; the crowd packs its first {} MiB", data.source.middle.bytes >> 20);
    let bench = Bench { program: &program, data: &data, crowd_input, pair_input };
    let load_before = machine::load();
    let mut record = Record { raw: "part,variant,round,figure,value\n".to_owned(), ..Record::default() };
    let rounds = arguments.rounds();
    for part in PARTS {
        if !parts.contains(&part) {
            record.left_out.push(format!("{part}: not asked for"));
            continue;
        }
        println!("{part}");
        match part {
            "crowd" => crowds(&bench, rounds, &mut record)?,
            "high-beside-low" => beside(&bench, rounds, &mut record)?,
            "high-beside-slow" => beside_slow(&bench, rounds, &mut record)?,
            "equals" => equals(&bench, rounds, arguments.quick, &mut record)?,
            "alone" => alone(&bench, rounds * PAIRS_A_ROUND, &mut record)?,
            _ => of_words(&mut record)?,
        }
    }
    let suffix = if arguments.only.is_empty() { "" } else { "-part" };
    let quick = if arguments.quick { "-quick" } else { "" };
    let name = format!("{}-{}-crew{quick}{suffix}", machine::date(), machine::name());
    let directory = unused(&root().join("bench/runs"), &name);
    write(&directory, &record, &readme(arguments, &described, &load_before, &record))?;
    println!("{} targets missed; written to {}", record.missed.len(), directory.display());
    Ok(())
}

fn crowds(bench: &Bench, rounds: usize, record: &mut Record) -> Result<(), String> {
    let mut all: [Vec<Crowd>; 2] = [Vec::new(), Vec::new()];
    for round in 0..=rounds {
        for (index, sharing) in Sharing::BOTH.into_iter().enumerate() {
            let crowd = crowd::round(bench, sharing)?;
            verify(bench, round)?;
            // The first round warms up.
            if round > 0 {
                all[index].push(crowd);
            }
        }
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let most = cores + RUNS;
    record.say(&format!(
        "## {RUNS} runs of width {WIDTH} at once\n\n`mh tamp -3 -j{WIDTH}`, all started together; {rounds} rounds, medians. The limit is the {cores} cores and a first hand for each run: {most}.
Hands: what `mh crew --json` says of all runs together. Runnable threads: of these runs alone, state R in /proc, a look every 10 ms and more; besides
those with a hand they are threads that begin or end, and one at a time that was woken for a hand. Memory: the most that all had together.

| budget | hands, most | runnable, median | runnable, most | looks above {most} | memory MB | context switches | mean end s | last end s | CPU s |
|---|---|---|---|---|---|---|---|---|---|
"
    ));
    for (crowds, sharing) in all.iter().zip(Sharing::BOTH) {
        raw_crowds(record, sharing, crowds);
        crowd_line(record, sharing, crowds, most);
    }
    record.say("\n");
    Ok(())
}

fn raw_crowds(record: &mut Record, sharing: Sharing, crowds: &[Crowd]) {
    for (round, crowd) in crowds.iter().enumerate() {
        let mut raw = |name, value| record.raw("crowd", sharing.name(), round, name, value);
        raw("mean_end_s", crowd.mean_s);
        raw("last_end_s", crowd.total_s);
        raw("cpu_s", crowd.cpu_s);
        raw("context_switches", crowd.switches as f64);
        raw("memory_kib", crowd.seen.memory_kib as f64);
        crowd.seen.runnable.iter().for_each(|threads| raw("runnable", f64::from(*threads)));
        crowd.hands.iter().for_each(|hands| raw("hands", *hands as f64));
    }
}

fn crowd_line(record: &mut Record, sharing: Sharing, crowds: &[Crowd], most: usize) {
    let middle = |figure: fn(&Crowd) -> f64| median(&crowds.iter().map(figure).collect::<Vec<_>>());
    let runnable: Vec<f64> = crowds.iter().flat_map(|crowd| &crowd.seen.runnable).map(|at| f64::from(*at)).collect();
    let above = runnable.iter().filter(|threads| **threads > most as f64).count();
    let highest = runnable.iter().copied().fold(0.0, f64::max);
    let hands = crowds.iter().flat_map(|crowd| &crowd.hands).max();
    let (of_hands, of_threads) = match (sharing, hands) {
        (Sharing::Budget, Some(hands)) => (
            format!("{hands} {}", record.verdict(&format!("hands never above {most}"), *hands <= most as u64)),
            record.verdict(&format!("runnable threads never above {most}"), above == 0),
        ),
        _ => (String::new(), ""),
    };
    record.say(&format!(
        "| {} | {of_hands} | {:.0} | {highest:.0} | {above} of {} {of_threads} | {:.0} | {:.0} | {:.2} | {:.2} | {:.2} |\n",
        sharing.name(),
        median(&runnable),
        runnable.len(),
        middle(|crowd| crowd.seen.memory_kib as f64 * 1024.0 / 1e6),
        middle(|crowd| crowd.switches as f64),
        middle(|crowd| crowd.mean_s),
        middle(|crowd| crowd.total_s),
        middle(|crowd| crowd.cpu_s),
    ));
}

/// All outputs are the same, and the first one is the input again: unpacked by the format's own tool, once.
fn verify(bench: &Bench, round: usize) -> Result<(), String> {
    let first = crowd::output(bench, 0);
    let succeeds = |command: &mut Command| command.status().is_ok_and(|status| status.success());
    for run in 1..RUNS {
        if !succeeds(Command::new("cmp").arg(&first).arg(crowd::output(bench, run))) {
            return Err(format!("run {run} wrote something else than run 0"));
        }
    }
    let script = "zstd -qdc \"$1\" | cmp - \"$2\"";
    if round == 0 && !succeeds(Command::new("sh").args(["-c", script, "sh"]).arg(first).arg(&bench.crowd_input)) {
        return Err("what was packed is not the input".to_owned());
    }
    Ok(())
}

fn beside(bench: &Bench, rounds: usize, record: &mut Record) -> Result<(), String> {
    let mut runs: [Vec<Run>; 3] = [Vec::new(), Vec::new(), Vec::new()];
    for round in 0..=rounds {
        let once = [
            pairs::high_alone(bench)?,
            pairs::high_beside_low(bench, Sharing::Budget)?,
            pairs::high_beside_low(bench, Sharing::Nothing)?,
        ];
        if round > 0 {
            runs.iter_mut().zip(once).for_each(|(runs, run)| runs.push(run));
        }
    }
    raw_walls(record, "high-beside-low", &["alone", "with", "without"], &runs);
    record.say(&format!(
        "## A high run beside a low one\n\n`mh tamp -3 --priority high`, {rounds} rounds in turn; the low one runs on and on. It has the kernel's lower priority too, with and without the budget.

| beside | wall s | of medians | median ratio | target | verdict |
|---|---|---|---|---|---|
| nobody | {:.3} | | | | |
",
        wall(&runs[0])
    ));
    for (index, name) in [(1, "a low run"), (2, "a low run, no budget")] {
        let ratio = Ratio::of(&runs[index], &runs[0]);
        let (target, verdict) = if index == 1 {
            (format!("<= {BESIDE_MAX:.2}"), record.verdict("high beside low", ratio.worse() <= BESIDE_MAX))
        } else {
            (String::new(), "-")
        };
        record.say(&format!(
            "| {name} | {:.3} | {:.3} | {:.3} | {target} | {verdict} |\n",
            wall(&runs[index]),
            ratio.of_medians,
            ratio.of_pairs
        ));
    }
    record.say("\n");
    Ok(())
}

fn beside_slow(bench: &Bench, rounds: usize, record: &mut Record) -> Result<(), String> {
    let lows: Vec<Option<[&str; 2]>> = std::iter::once(None).chain(slow::LOW_RUNS.map(Some)).collect();
    let mut all: Vec<Vec<Beside>> = lows.iter().map(|_| Vec::new()).collect();
    for round in 0..=rounds {
        for (runs, low) in all.iter_mut().zip(&lows) {
            let run = slow::high_beside(bench, *low)?;
            if round > 0 {
                runs.push(run);
            }
        }
    }
    record.say(&format!(
        "## A high run beside low ones with long chunks\n\n`mh tamp -9 --format gz --priority high`, {rounds} rounds in turn. All hands: from its start until `mh crew --json` shows it with a hand for every core, a first one above capacity among them.

| beside a low | all hands ms, median | longest | wall s | of medians | median ratio | target | verdict |
|---|---|---|---|---|---|---|---|
"
    ));
    for (runs, low) in all.iter().zip(&lows) {
        beside_slow_line(record, low.map_or("nothing".to_owned(), |low| low.join(" ")), runs, &all[0]);
    }
    record.say("\n");
    Ok(())
}

fn beside_slow_line(record: &mut Record, name: String, runs: &[Beside], alone: &[Beside]) {
    let of = |runs: &[Beside], figure: fn(&Beside) -> f64| runs.iter().map(figure).collect::<Vec<_>>();
    let (walls, waits) = (of(runs, |run| run.wall_s), of(runs, |run| run.all_hands_s));
    for (round, run) in runs.iter().enumerate() {
        record.raw("high-beside-slow", &name, round, "wall_s", run.wall_s);
        record.raw("high-beside-slow", &name, round, "all_hands_s", run.all_hands_s);
    }
    let alone = of(alone, |run| run.wall_s);
    let of_medians = median(&walls) / median(&alone);
    let of_pairs = median(&walls.iter().zip(&alone).map(|(wall_s, alone_s)| wall_s / alone_s).collect::<Vec<_>>());
    let is_met = of_medians.max(of_pairs) <= BESIDE_SLOW_MAX;
    let verdict = record.verdict(&format!("high beside low {name}"), is_met);
    let longest = waits.iter().copied().fold(0.0, f64::max);
    record.say(&format!(
        "| {name} | {:.0} | {:.0} | {:.3} | {of_medians:.3} | {of_pairs:.3} | <= {BESIDE_SLOW_MAX:.2} | {verdict} |\n",
        median(&waits) * 1e3,
        longest * 1e3,
        median(&walls),
    ));
}

fn equals(bench: &Bench, rounds: usize, is_quick: bool, record: &mut Record) -> Result<(), String> {
    let stretch = Duration::from_secs(if is_quick { 1 } else { 4 });
    let shares: Vec<f64> = (0..rounds)
        .map(|_| pairs::equals(bench, stretch).map(|(less_s, more_s)| less_s / (less_s + more_s)))
        .collect::<Result<_, _>>()?;
    for (round, share) in shares.iter().enumerate() {
        record.raw("equals", "with", round, "share_of_the_less", *share);
    }
    let share = median(&shares);
    let verdict = record.verdict("two equals", share >= EQUAL_MIN);
    record.say(&format!(
        "## Two equal runs\n\nOf the CPU time of both in {} s the one with less had {:.1} % (median of {rounds}; target >= {:.0} %): {verdict}.\n\n",
        stretch.as_secs(),
        share * 100.0,
        EQUAL_MIN * 100.0
    ));
    Ok(())
}

fn alone(bench: &Bench, rounds: usize, record: &mut Record) -> Result<(), String> {
    let mut runs: [Vec<Run>; 2] = [Vec::new(), Vec::new()];
    for round in 0..=rounds {
        // Turned round each time: whoever is second finds the first one's pages in the cache.
        let first = round % 2;
        for index in [first, 1 - first] {
            let run = pairs::alone(bench, Sharing::BOTH[index])?;
            if round > 0 {
                runs[index].push(run);
            }
        }
    }
    raw_walls(record, "alone", &["with", "without"], &runs);
    let ratio = Ratio::of(&runs[0], &runs[1]);
    let verdict = record.verdict("alone", ratio.worse() <= ALONE_MAX);
    record.say(&format!(
        "## A run alone, with the table and without\n\n`mh tamp -3`, {rounds} pairs: {:.4} s with, {:.4} s without; ratio of medians {:.4}, median ratio {:.4} (target <= {ALONE_MAX}): {verdict}.\n\n",
        wall(&runs[0]),
        wall(&runs[1]),
        ratio.of_medians,
        ratio.of_pairs
    ));
    Ok(())
}

fn of_words(record: &mut Record) -> Result<(), String> {
    let figures = words::measure()?;
    record.say("## At the words\n\n`foundation/crew/tests/bench_of_hands.rs`: the least of many batches, kills apart.\n\n| what | figure | target |\n|---|---|---|\n");
    for figure in &figures {
        record.raw("words", &figure.name, 0, &figure.unit, figure.value);
        let is_judged = figure.name.starts_with("kill") && figure.name.contains("median");
        let verdict = if is_judged {
            format!("<= {:.0} us: {}", KILL_MAX_US, record.verdict("kill to next use", figure.value <= KILL_MAX_US))
        } else {
            String::new()
        };
        record.say(&format!("| {} | {:.1} {} | {verdict} |\n", figure.name, figure.value, figure.unit));
    }
    record.say("\n");
    Ok(())
}

fn raw_walls(record: &mut Record, part: &str, variants: &[&str], runs: &[Vec<Run>]) {
    for (variant, runs) in variants.iter().zip(runs) {
        runs.iter().enumerate().for_each(|(round, run)| record.raw(part, variant, round, "wall_s", run.wall_s));
    }
}

fn wall(runs: &[Run]) -> f64 {
    median(&runs.iter().map(|run| run.wall_s).collect::<Vec<_>>())
}

fn readme(arguments: &BenchArguments, described: &str, load_before: &str, record: &Record) -> String {
    let machine = machine::name();
    let left_out: String = record.left_out.iter().map(|reason| format!("- {reason}\n")).collect();
    let left_out = if left_out.is_empty() { "- nothing\n".to_owned() } else { left_out };
    format!(
        "# Bench crew, {machine}\n\nRepeat with `{}`. With and without the budget in turn, after a round that is not counted; every figure is in raw.csv. Without:
`MH_CREW_DIR` is empty, each run has the threads it was asked to have.\n\n- source: {described}\n- machine: {machine}, {}\n- kernel: {}\n- load before: {load_before}, after: {}\n\n{}## Left out\n\n{left_out}",
        arguments.command_line(),
        machine::cpu_model(),
        machine::kernel(),
        machine::load(),
        record.readme,
    )
}

fn write(directory: &Path, record: &Record, readme: &str) -> Result<(), String> {
    std::fs::create_dir_all(directory).map_err(|error| format!("could not make {}: {error}", directory.display()))?;
    for (name, text) in [("raw.csv", &*record.raw), ("README.md", readme)] {
        let path = directory.join(name);
        std::fs::write(&path, text).map_err(|error| format!("could not write {}: {error}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missed_target_is_counted_and_said() {
        let mut record = Record::default();
        assert_eq!((record.verdict("a", true), record.verdict("b", false)), ("met", "**missed**"));
        assert_eq!(record.missed, ["b"]);
        record.raw("alone", "with", 3, "wall_s", 0.5);
        assert_eq!(record.raw, "alone,\"with\",3,wall_s,0.5000\n");
    }

    #[test]
    fn a_run_directory_has_both_files() {
        let directory = tempfile::tempdir().expect("a directory");
        write(&directory.path().join("run"), &Record::default(), "text").expect("written");
        assert_eq!(std::fs::read_to_string(directory.path().join("run/README.md")).expect("there"), "text");
        assert!(directory.path().join("run/raw.csv").is_file());
    }
}
