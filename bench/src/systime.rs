//! `cargo xtask bench systime`: what watching system calls costs the watched and the others, ours and its rivals, in turn.
//! `cargo xtask call-loop` is the watched: one-byte reads and writes, as fast as they go, timed by itself in short batches;
//! the fastest batch counts, since what disturbs makes slower, never faster. Samples hit few batches: there the mean counts.

use super::{BenchArguments, build, machine};
use clap::Args;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use xtask::workspace::{self, has_program, release_binary, root};

/// The watched.
#[derive(Args)]
pub struct CallLoopArguments {
    /// For how long
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Bytes of each read and write
    #[arg(long, default_value_t = 1)]
    bytes: usize,
    /// Read the clock around each read, and tell the mean between instead
    #[arg(long)]
    clocked: bool,
    /// Write nanoseconds a call of the fastest batch, of the median one, and the mean into FILE
    #[arg(long, value_name = "FILE")]
    told: PathBuf,
}

/// Pairs of calls in a batch: 0.1 ms, so that many batches are disturbed by nothing.
const BATCH_PAIRS: usize = 250;

/// Reads and writes.
pub fn call_loop(arguments: &CallLoopArguments) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("could not run the loop: {error}");
    let mut source = File::open("/dev/zero").map_err(failed)?;
    let mut sink = OpenOptions::new().write(true).open("/dev/null").map_err(failed)?;
    let mut buffer = vec![0_u8; arguments.bytes];
    let clock_ns = if arguments.clocked { clock_ns() } else { 0.0 };
    let (began, mut batches) = (Instant::now(), Vec::new());
    while began.elapsed().as_secs_f64() < arguments.seconds {
        let batch = Instant::now();
        let mut inside = Duration::ZERO;
        for _pair in 0..BATCH_PAIRS {
            let before = arguments.clocked.then(Instant::now);
            source.read_exact(&mut buffer).map_err(failed)?;
            inside += before.map_or(Duration::ZERO, |before| before.elapsed());
            sink.write_all(&buffer).map_err(failed)?;
        }
        let plain = batch.elapsed().as_nanos() as f64 / (2 * BATCH_PAIRS) as f64;
        let clocked = inside.as_nanos() as f64 / BATCH_PAIRS as f64 - clock_ns;
        batches.push(if arguments.clocked { clocked } else { plain });
    }
    batches.sort_by(f64::total_cmp);
    let mean = batches.iter().sum::<f64>() / batches.len().max(1) as f64;
    let best = batches.first().copied().unwrap_or(f64::NAN);
    let median = batches.get(batches.len() / 2).copied().unwrap_or(f64::NAN);
    fs::write(&arguments.told, format!("{best:.1} {median:.1} {mean:.1}\n")).map_err(failed)
}

/// What reading the clock twice in a row takes, at its fastest.
fn clock_ns() -> f64 {
    let once = |_| (0..1000).map(|_| Instant::now().elapsed().as_nanos()).sum::<u128>() as f64 / 1000.0;
    (0..200).map(once).fold(f64::MAX, f64::min)
}

/// What the loop told.
#[derive(Clone, Copy, Debug)]
struct Told {
    best_ns: f64,
    median_ns: f64,
    mean_ns: f64,
}

/// What is compared.
#[derive(Clone, Copy)]
enum Judged {
    /// The fastest batch.
    Best,
    /// The mean of the least disturbed round.
    Mean,
}

/// A row to be: who watches, whom, and what it may cost.
struct Row {
    name: &'static str,
    tool: &'static str,
    bytes: usize,
    /// Put before the loop's command line.
    before: Vec<String>,
    /// Runs beside the loop, watching somebody else.
    beside: Vec<String>,
    judged: Judged,
    must: Option<f64>,
    aim: Option<f64>,
}

/// A row with its runs, or with why there are none.
struct Measured {
    row: Row,
    told: Vec<Told>,
    left_out: Option<String>,
}

impl Measured {
    fn best_ns(&self) -> f64 {
        self.told.iter().map(|told| told.best_ns).fold(f64::NAN, f64::min)
    }

    fn median_ns(&self) -> f64 {
        self.told.iter().map(|told| told.median_ns).fold(f64::NAN, f64::min)
    }

    fn mean_ns(&self) -> f64 {
        self.told.iter().map(|told| told.mean_ns).fold(f64::NAN, f64::min)
    }

    fn judged_ns(&self, judged: Judged) -> f64 {
        match judged {
            Judged::Best => self.best_ns(),
            Judged::Mean => self.mean_ns(),
        }
    }
}

/// Each run: a sample hits one batch of forty, a mean over two seconds has five hundred of them.
const SECONDS: &str = "2";
const EXACT: &str = "mh systime --exact";
const SAMPLED: &str = "mh systime (sampled)";
const NOBODY: &str = "nobody-has-this-name";

fn rows(program: &str) -> Vec<Row> {
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let row = |name, tool, before: &str, beside: &str, must, aim| Row {
        name,
        tool,
        bytes: 1,
        before: words(before),
        beside: words(beside),
        judged: if tool == SAMPLED { Judged::Mean } else { Judged::Best },
        must,
        aim,
    };
    let exact = format!("{program} systime --exact -o /dev/null --");
    let sampled = format!("{program} systime -o /dev/null --");
    let exact_beside = format!("{program} systime --exact {NOBODY}");
    let sampled_beside = format!("{program} systime {NOBODY}");
    let script = "tracepoint:raw_syscalls:sys_enter /pid == cpid/ { @s[tid] = nsecs; @c[args->id] = count(); } \
                  tracepoint:raw_syscalls:sys_exit /@s[tid] && pid == cpid/ \
                  { @t[args->id] = sum(nsecs - @s[tid]); delete(@s[tid]); }";
    let bpftrace = Row {
        before: ["bpftrace", "-q", "-e", script, "-c"].map(str::to_owned).to_vec(),
        ..row("watched", "bpftrace", "", "", None, None)
    };
    let mut rows = vec![
        row("watched", "nobody", "", "", None, None),
        row("watched", EXACT, &exact, "", Some(2.2), Some(1.6)),
        row("watched", SAMPLED, &sampled, "", Some(1.005), None),
        row("watched", "strace -c", "strace -c -f -o /dev/null", "", None, None),
        row("watched", "perf trace -s", "perf trace -s -o /dev/null --", "", None, None),
        bpftrace,
        row("bystander", EXACT, "", &exact_beside, Some(1.3), Some(1.1)),
        row("bystander", SAMPLED, "", &sampled_beside, Some(1.005), None),
    ];
    for tool in [None, Some(EXACT)] {
        let beside = if tool.is_some() { exact_beside.as_str() } else { "" };
        rows.push(Row {
            bytes: 4096,
            ..row("bystander, 4 KiB a call", tool.unwrap_or("nobody"), "", beside, None, None)
        });
    }
    rows
}

/// Runs the suite.
pub fn run(arguments: &BenchArguments) -> Result<(), String> {
    let _named_row_by_row = workspace::install(&[("strace", "strace"), ("bpftrace", "bpftrace")]);
    build(arguments)?;
    let program = arguments.program.clone().map_or_else(release_binary, Ok)?;
    let rounds = arguments.rounds();
    let program = program.to_str().ok_or("the program's path is no text")?.to_owned();
    let directory = tempfile::tempdir().map_err(|error| format!("could not make a directory: {error}"))?;
    let mut all: Vec<Measured> =
        rows(&program).into_iter().map(|row| Measured { row, told: Vec::new(), left_out: None }).collect();
    let load_before = machine::load();
    for _round in 0..rounds {
        for measured in all.iter_mut().filter(|measured| measured.left_out.is_none()) {
            println!("{}: {}", measured.row.name, measured.row.tool);
            match run_row(&measured.row, directory.path()) {
                Ok(told) => measured.told.push(told),
                Err(reason) => measured.left_out = Some(reason),
            }
        }
    }
    let accuracy = accuracy(&program, directory.path(), rounds)?;
    let text = readme(&all, &accuracy, &load_before, rounds);
    print!("{text}");
    let mut raw = String::from("row,tool,bytes,round,best_ns,median_ns,mean_ns\n");
    for measured in &all {
        for (round, Told { best_ns, median_ns, mean_ns }) in measured.told.iter().enumerate() {
            let Row { name, tool, bytes, .. } = &measured.row;
            raw += &format!("\"{name}\",\"{tool}\",{bytes},{round},{best_ns},{median_ns},{mean_ns}\n");
        }
    }
    let name = format!("{}-{}-systime", machine::date(), machine::name());
    let directory = super::record::unused(&root().join("bench/runs"), &name);
    let written = fs::create_dir_all(&directory)
        .and_then(|()| fs::write(directory.join("README.md"), text))
        .and_then(|()| fs::write(directory.join("raw.csv"), raw));
    written.map_err(|error| format!("could not write {}: {error}", directory.display()))
}

/// The loop's own command line.
fn loop_words(told: &Path, bytes: usize, clocked: bool) -> Result<Vec<String>, String> {
    let this = std::env::current_exe().map_err(|error| format!("could not find this program: {error}"))?;
    let mut words =
        vec![this.display().to_string(), "call-loop".to_owned(), "--seconds".to_owned(), SECONDS.to_owned()];
    words.extend(["--bytes".to_owned(), bytes.to_string(), "--told".to_owned(), told.display().to_string()]);
    if clocked {
        words.push("--clocked".to_owned());
    }
    Ok(words)
}

fn run_row(row: &Row, directory: &Path) -> Result<Told, String> {
    let told = directory.join("told");
    let _there_is_none = fs::remove_file(&told);
    let watcher = row.beside.first().map(|_| Beside::start(&row.beside, directory)).transpose()?;
    let mut words = row.before.clone();
    let own = loop_words(&told, row.bytes, false)?;
    // bpftrace takes a command as one word.
    if row.before.last().is_some_and(|word| word == "-c") {
        words.push(own.join(" "))
    } else {
        words.extend(own)
    }
    let said = run_words(&words);
    drop(watcher);
    let said = said?;
    let text = fs::read_to_string(&told).map_err(|error| format!("the loop told nothing ({error}): {said}"))?;
    let mut numbers = text.split_whitespace().map_while(|word| word.parse().ok());
    match (numbers.next(), numbers.next(), numbers.next()) {
        (Some(best_ns), Some(median_ns), Some(mean_ns)) => Ok(Told { best_ns, median_ns, mean_ns }),
        _ => Err(format!("the loop told '{}'", text.trim())),
    }
}

fn run_words(words: &[String]) -> Result<String, String> {
    let (program, arguments) = words.split_first().ok_or("no command")?;
    if !has_program(program) && !Path::new(program).exists() {
        return Err("not installed".to_owned());
    }
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("could not run {program}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or_default().to_owned();
    if output.status.success() { Ok(said) } else { Err(format!("{program} failed: {said}")) }
}

/// A watcher of somebody else, ended when dropped.
struct Beside {
    child: Child,
}

impl Beside {
    /// Waits until it says that it follows.
    fn start(words: &[String], directory: &Path) -> Result<Self, String> {
        let path = directory.join("said");
        let failed = |error: std::io::Error| format!("could not start the watcher: {error}");
        let said = File::create(&path).map_err(failed)?;
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
        let mut beside = Self { child: command.spawn().map_err(failed)? };
        while !fs::read_to_string(&path).map_err(failed)?.contains("following") {
            if beside.child.try_wait().map_err(failed)?.is_some() {
                return Err(fs::read_to_string(&path).map_err(failed)?);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(beside)
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _ended_already = self.child.wait();
    }
}

/// What the loop's own clock says of a read, and what `--exact` says of the same; both at their best.
struct Accuracy {
    clocked_ns: f64,
    exact_ns: f64,
}

fn accuracy(program: &str, directory: &Path, rounds: usize) -> Result<Accuracy, String> {
    let (told, csv) = (directory.join("told"), directory.join("csv"));
    let mut best = Accuracy { clocked_ns: f64::MAX, exact_ns: f64::MAX };
    for _round in 0..rounds {
        run_words(&loop_words(&told, 1, true)?)?;
        let text = fs::read_to_string(&told).map_err(|error| format!("could not read what the loop told: {error}"))?;
        let mean = text.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(f64::MAX);
        best.clocked_ns = best.clocked_ns.min(mean);
        let mut words: Vec<String> = [program, "systime", "--exact", "--csv", "-o"].map(str::to_owned).to_vec();
        words.extend([csv.display().to_string(), "--".to_owned()]);
        words.extend(loop_words(&told, 1, false)?);
        run_words(&words)?;
        let text = fs::read_to_string(&csv).map_err(|error| format!("could not read the table: {error}"))?;
        // who,call,total_ns,waiting_ns,calls: on a CPU, as the clocked median batch is.
        let cells: Vec<f64> = text
            .lines()
            .find(|line| line.split(',').nth(1) == Some("read"))
            .map(|line| line.split(',').skip(2).take(3).map_while(|cell| cell.parse().ok()).collect())
            .unwrap_or_default();
        if let [total_ns, waiting_ns, calls] = cells[..] {
            best.exact_ns = best.exact_ns.min((total_ns - waiting_ns) / calls);
        }
    }
    Ok(best)
}

fn readme(all: &[Measured], accuracy: &Accuracy, load_before: &str, rounds: usize) -> String {
    let mut text = format!(
        "# systime: what watching costs\n\n{}, {} CPUs, Linux {}; load before {load_before}, after {}. `cargo xtask bench systime \
         --rounds {rounds}`: reads and writes in a loop, nanoseconds a call: the fastest batch of all rounds, the median one, the mean of the least \
         disturbed round; the tools in turn. The ratio is that of fastest batches, or of means where calls are sampled.\n\n\
         | whom | watched by | fastest | median | mean | ratio | must | verdict |\n|---|---|---|---|---|---|---|---|\n",
        machine::cpu_model(),
        std::thread::available_parallelism().map_or(1, usize::from),
        machine::kernel(),
        machine::load(),
    );
    for measured in all {
        let Row { name, tool, bytes, judged, must, aim, .. } = &measured.row;
        if let Some(reason) = &measured.left_out {
            text += &format!("| {name} | {tool} | left out: {} | | | | | |\n", reason.replace('|', "/"));
            continue;
        }
        let is_base = |other: &&Measured| other.row.tool == "nobody" && other.row.bytes == *bytes;
        let base_ns = all.iter().find(is_base).map_or(f64::NAN, |base| base.judged_ns(*judged));
        let ratio = measured.judged_ns(*judged) / base_ns;
        let wanted = must.map_or(String::new(), |must| format!("<= {must}"));
        let aimed = aim.map_or(String::new(), |aim| format!(" (aim {aim})"));
        let verdict = must.map_or("-", |must| if ratio <= must { "met" } else { "**missed**" });
        text += &format!(
            "| {name} | {tool} | {:.0} | {:.0} | {:.0} | {ratio:.3} | {wanted}{aimed} | {verdict} |\n",
            measured.best_ns(),
            measured.median_ns(),
            measured.mean_ns(),
        );
    }
    text += &against_bpftrace(all);
    text += &format!(
        "\nA read by the loop's own clock: {:.1} ns; by `--exact`: {:.1} ns, {:+.1} % (must: within 5 %).\n",
        accuracy.clocked_ns,
        accuracy.exact_ns,
        (accuracy.exact_ns / accuracy.clocked_ns - 1.0) * 100.0
    );
    text
}

/// The other line: exact measuring costs less than a counting script.
fn against_bpftrace(all: &[Measured]) -> String {
    let watched = |tool: &str| {
        let is_it = |other: &&Measured| other.row.tool == tool && other.row.name == "watched" && !other.told.is_empty();
        all.iter().find(is_it).map(Measured::best_ns)
    };
    match (watched(EXACT), watched("bpftrace")) {
        (Some(ours_ns), Some(theirs_ns)) => {
            let verdict = if ours_ns < theirs_ns { "met" } else { "**missed**" };
            format!("\n`--exact` {ours_ns:.0} ns, bpftrace {theirs_ns:.0} ns (must: below): {verdict}.\n")
        }
        _ => "\n`--exact` was not compared with bpftrace.\n".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_says_what_was_met_missed_and_left_out() {
        let measured = |index: usize, best_ns: f64| Measured {
            row: rows("mh").swap_remove(index),
            told: vec![Told { best_ns, median_ns: best_ns, mean_ns: best_ns }],
            left_out: None,
        };
        let mut missing = measured(3, 0.0);
        (missing.left_out, missing.told) = (Some("not installed".to_owned()), Vec::new());
        let all = [measured(0, 100.0), measured(1, 200.0), measured(2, 102.0), missing];
        let text = readme(&all, &Accuracy { clocked_ns: 100.0, exact_ns: 98.0 }, "0", 1);
        assert!(
            text.contains("| watched | mh systime --exact | 200 | 200 | 200 | 2.000 | <= 2.2 (aim 1.6) | met |"),
            "{text}"
        );
        assert!(text.contains("| 1.020 | <= 1.005 | **missed** |"), "{text}");
        assert!(text.contains("left out: not installed") && text.contains("-2.0 %"), "{text}");
    }

    #[test]
    fn the_loop_tells_what_a_call_takes() {
        let directory = tempfile::tempdir().expect("a directory");
        let told = directory.path().join("told");
        for clocked in [false, true] {
            let arguments = CallLoopArguments { seconds: 0.01, bytes: 1, clocked, told: told.clone() };
            call_loop(&arguments).expect("it runs");
            let text = fs::read_to_string(&told).expect("it told");
            assert_eq!(text.split_whitespace().filter_map(|word| word.parse::<f64>().ok()).count(), 3, "{text}");
        }
    }
}
