//! Producers that tell for how long they were blocked, and a table of what `mh tamp --keep-up` and `zstd --adapt` make of them.
//! `cargo xtask pour` is the producer. It has a pace of its own: a blocked moment is not caught up, it comes on top.

use super::corpus::Data;
use super::judge::median;
use super::machine;
use clap::{Args, ValueEnum};
use rustix::event::{PollFd, PollFlags, poll};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What the cases are called.
pub const NAME: &str = "keep-up";

/// A producer.
#[derive(Args)]
pub struct PourArguments {
    /// Bytes of this file, over and over
    #[arg(long)]
    file: PathBuf,
    /// Mean bytes a second
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    rate: u64,
    /// For how long
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// How the rate or the data change
    #[arg(long, value_enum)]
    pattern: Pattern,
    /// Write seconds blocked, seconds in all and bytes into FILE
    #[arg(long, value_name = "FILE")]
    told: Option<PathBuf>,
    /// Write nothing: read standard input, and fail if it is not what would have been written
    #[arg(long)]
    compare: bool,
}

/// How the rate or the data change.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Pattern {
    /// Not at all
    Steady,
    /// A second at four times the rate, three of nothing
    Bursty,
    /// A third of easy data, a third of the file, a third of easy data
    Changing,
}

impl Pattern {
    const ALL: [Self; 3] = [Self::Steady, Self::Bursty, Self::Changing];

    fn name(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Bursty => "bursty",
            Self::Changing => "changing",
        }
    }
}

const STEP_BYTES: usize = 64 << 10;
/// Easy data are this much of the file over and over: a long repetition.
const EASY_BYTES: usize = 4 * STEP_BYTES;
/// LIMIT: so much of the file is held in memory.
const FILE_BYTES_MAX: u64 = 512 << 20;

/// The producer's bytes, step by step, each with the moment at which its own pace has it done.
struct Pour {
    content: Vec<u8>,
    pattern: Pattern,
    rate: f64,
    steps: u64,
    next: u64,
}

impl Pour {
    fn new(arguments: &PourArguments) -> Result<Self, String> {
        let failed = |error| format!("could not read {}: {error}", arguments.file.display());
        let mut content = Vec::new();
        File::open(&arguments.file).map_err(failed)?.take(FILE_BYTES_MAX).read_to_end(&mut content).map_err(failed)?;
        content.truncate(content.len() / STEP_BYTES * STEP_BYTES);
        if content.len() < EASY_BYTES {
            return Err(format!("{} is too short", arguments.file.display()));
        }
        let steps = (arguments.rate * arguments.seconds).div_ceil(STEP_BYTES as u64);
        Ok(Self { content, pattern: arguments.pattern, rate: arguments.rate as f64, steps, next: 0 })
    }

    fn step(&mut self) -> Option<(&[u8], Duration)> {
        if self.next == self.steps {
            return None;
        }
        let number = self.next;
        self.next += 1;
        let seconds = self.next as f64 * STEP_BYTES as f64 / self.rate;
        let due = match self.pattern {
            Pattern::Bursty => (seconds / 4.0).floor() * 4.0 + seconds % 4.0 / 4.0,
            Pattern::Steady | Pattern::Changing => seconds,
        };
        let is_easy = matches!(self.pattern, Pattern::Changing) && number * 3 / self.steps != 1;
        let cycle = if is_easy { EASY_BYTES } else { self.content.len() };
        let from = usize::try_from(number).ok()? * STEP_BYTES % cycle;
        Some((&self.content[from..from + STEP_BYTES], Duration::from_secs_f64(due)))
    }
}

/// `cargo xtask pour`.
pub fn pour(arguments: &PourArguments) -> Result<(), String> {
    let mut source = Pour::new(arguments)?;
    if arguments.compare {
        return compare(&mut source, &mut std::io::stdin().lock());
    }
    let stdout = std::io::stdout();
    let flags = rustix::fs::fcntl_getfl(&stdout).map_err(|error| format!("could not look at the pipe: {error}"))?;
    rustix::fs::fcntl_setfl(&stdout, flags | rustix::fs::OFlags::NONBLOCK)
        .map_err(|error| format!("could not set up the pipe: {error}"))?;
    let (begin, mut blocked, mut bytes) = (Instant::now(), Duration::ZERO, 0);
    while let Some((step, due)) = source.step() {
        blocked += write_all(&stdout, step).map_err(|error| format!("could not write: {error}"))?;
        bytes += step.len();
        if let Some(early) = (due + blocked).checked_sub(begin.elapsed()) {
            std::thread::sleep(early);
        }
    }
    let told = format!("{:.6} {:.6} {bytes}\n", blocked.as_secs_f64(), begin.elapsed().as_secs_f64());
    match &arguments.told {
        Some(path) => {
            std::fs::write(path, told).map_err(|error| format!("could not write {}: {error}", path.display()))
        }
        None => Ok(()),
    }
}

/// Writes all of it; returns for how long there was no room.
fn write_all(mut to: impl AsFd + Write, mut bytes: &[u8]) -> std::io::Result<Duration> {
    let mut blocked = Duration::ZERO;
    while !bytes.is_empty() {
        match rustix::io::write(&to, bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(rustix::io::Errno::AGAIN) => {
                let since = Instant::now();
                poll(&mut [PollFd::new(&to, PollFlags::OUT)], None)?;
                blocked += since.elapsed();
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    to.flush()?;
    Ok(blocked)
}

fn compare(source: &mut Pour, input: &mut impl Read) -> Result<(), String> {
    let mut found = vec![0; STEP_BYTES];
    while let Some((expected, _)) = source.step() {
        match input.read_exact(&mut found) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Err("it is too short".to_owned()),
            other => other.map_err(|error| format!("could not read: {error}"))?,
        }
        if found != expected {
            return Err("it is not what was produced".to_owned());
        }
    }
    match input.read(&mut found) {
        Ok(0) => Ok(()),
        _ => Err("it is too long".to_owned()),
    }
}

/// A row to be: who compresses what.
pub struct Row {
    pub name: String,
    pub tool: String,
    produce: Vec<String>,
    pack: Vec<String>,
    unpack: &'static str,
    directory: PathBuf,
}

/// What a run showed.
#[derive(Clone, Copy, Debug)]
pub struct Poured {
    pub blocked_s: f64,
    pub producing_s: f64,
    /// Until the packed file was complete.
    pub wall_s: f64,
    pub plain_bytes: u64,
    pub packed_bytes: u64,
}

/// LIMIT: `zstd --adapt` may stay at a high level for an hour once it is there.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(120);

/// A mean rate that two cores can meet at a middle level, and one that needs the lowest.
const RATES: [u64; 2] = [25_000_000, 150_000_000];

/// All rows: ours for both formats and zstd's own, each with all producers.
pub fn rows(program: &Path, data: &Data, quick: bool) -> Result<Vec<Row>, String> {
    let this = std::env::current_exe().map_err(|error| format!("could not find this program: {error}"))?;
    let (this, mh) = (this.display().to_string(), program.display().to_string());
    let seconds = if quick { 6 } else { 30 };
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let threads = format!("-T{}", machine::cores());
    let mut rows = Vec::new();
    for (pattern, rate) in Pattern::ALL.into_iter().flat_map(|pattern| RATES.map(|rate| (pattern, rate))) {
        let (rate_text, seconds_text) = (rate.to_string(), seconds.to_string());
        let (file, told) = (data.source.whole.plain.display().to_string(), data.file("told").display().to_string());
        let pace = ["--rate", &rate_text, "--seconds", &seconds_text, "--pattern", pattern.name()];
        let produce = words(&[&[this.as_str(), "pour", "--file", &file, "--told", &told][..], &pace].concat());
        let tools = [
            ("mh tamp --keep-up".to_owned(), words(&[&mh, "tamp", "-q", "--keep-up"]), "zstd"),
            (format!("zstd --adapt {threads}"), words(&["zstd", "-q", "--adapt", &threads]), "zstd"),
            ("mh tamp --keep-up -F gz".to_owned(), words(&[&mh, "tamp", "-q", "--keep-up", "-F", "gz"]), "gzip"),
        ];
        for (tool, pack, unpack) in tools {
            let name = format!("{NAME}: {}, {} MB/s", pattern.name(), rate / 1_000_000);
            let directory = data.file("");
            rows.push(Row { name, tool, produce: produce.clone(), pack, unpack, directory });
        }
    }
    Ok(rows)
}

impl Row {
    /// Runs it once; the output is verified.
    pub fn run(&self) -> Result<Poured, String> {
        let failed = |error: std::io::Error| format!("could not run {}: {error}", self.tool);
        let (out, told) = (self.directory.join("out"), self.directory.join("told"));
        let begin = Instant::now();
        let mut producer = command(&self.produce).stdout(Stdio::piped()).spawn().map_err(failed)?;
        let pipe = producer.stdout.take().ok_or("the producer has no pipe")?;
        let mut packer =
            command(&self.pack).stdin(pipe).stdout(File::create(&out).map_err(failed)?).spawn().map_err(failed)?;
        let packed = loop {
            match packer.try_wait().map_err(failed)? {
                Some(status) => break status,
                None if begin.elapsed() > GIVEN_UP_AFTER => {
                    packer.kill().and_then(|()| packer.wait()).map_err(failed)?;
                    producer.wait().map_err(failed)?;
                    let seconds = GIVEN_UP_AFTER.as_secs();
                    return Err(format!("{} was not done after {seconds} s and was ended", self.tool));
                }
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        let wall_s = begin.elapsed().as_secs_f64();
        let produced = producer.wait().map_err(failed)?;
        if !packed.success() || !produced.success() {
            return Err(format!("{} or its producer failed", self.tool));
        }
        self.verify(&out)?;
        let told = std::fs::read_to_string(told).map_err(failed)?;
        let mut figures = told.split_whitespace().map(str::parse::<f64>);
        let mut next = || figures.next().and_then(Result::ok).ok_or("the producer told nothing");
        let (blocked_s, producing_s, plain_bytes) = (next()?, next()?, next()? as u64);
        let packed_bytes = out.metadata().map_err(failed)?.len();
        Ok(Poured { blocked_s, producing_s, wall_s, plain_bytes, packed_bytes })
    }

    fn verify(&self, out: &Path) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("could not verify: {error}");
        let packed = File::open(out).map_err(failed)?;
        let mut unpack =
            Command::new(self.unpack).arg("-dc").stdin(packed).stdout(Stdio::piped()).spawn().map_err(failed)?;
        let plain = unpack.stdout.take().ok_or("it has no pipe")?;
        let compared = command(&self.produce).arg("--compare").stdin(plain).status().map_err(failed)?;
        let unpacked = unpack.wait().map_err(failed)?;
        if compared.success() && unpacked.success() { Ok(()) } else { Err("its output is not the input".to_owned()) }
    }

    /// Its line in the table: medians, and the worst share.
    pub fn line(&self, runs: &[Poured]) -> String {
        let middle = |of: fn(&Poured) -> f64| median(&runs.iter().map(of).collect::<Vec<f64>>());
        let worst = runs.iter().map(|run| run.blocked_s / run.producing_s).fold(0.0, f64::max);
        format!(
            "| {} | {} | {:.2} | {:.1} % ({:.1} %) | {:.2} | {:.2} | {:.2} |\n",
            self.name,
            self.tool,
            middle(|run| run.blocked_s),
            middle(|run| run.blocked_s / run.producing_s) * 100.0,
            worst * 100.0,
            middle(|run| run.producing_s),
            middle(|run| run.wall_s),
            middle(|run| run.plain_bytes as f64 / run.packed_bytes.max(1) as f64),
        )
    }
}

fn command(words: &[String]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

/// The table's head.
pub const TABLE: &str = "## Producers that must not wait

Blocked: the producer had bytes and the pipe no room. Medians; the worst run in brackets.

| case | tool | blocked s | blocked of the time | producing s | wall s | times smaller |
|---|---|---|---|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;

    fn poured(pattern: Pattern) -> (Vec<u8>, Vec<f64>) {
        let content: Vec<u8> = (0..8 * STEP_BYTES).map(|at| (at / 7) as u8).collect();
        let mut pour = Pour { content, pattern, rate: 4.0 * STEP_BYTES as f64, steps: 48, next: 0 };
        let (mut bytes, mut times) = (Vec::new(), Vec::new());
        while let Some((step, due)) = pour.step() {
            bytes.extend_from_slice(step);
            times.push(due.as_secs_f64());
        }
        (bytes, times)
    }

    #[test]
    fn patterns_have_their_rates() {
        let (_, steady) = poured(Pattern::Steady);
        let (_, bursty) = poured(Pattern::Bursty);
        assert!((steady[47] - 12.0).abs() < 1e-9 && (steady[7] - 2.0).abs() < 1e-9);
        assert!((bursty[7] - 0.5).abs() < 1e-9, "four times as fast");
        assert!((bursty[15] - 4.0).abs() < 1e-9 && (bursty[16] - 4.0625).abs() < 1e-9, "then a pause");
    }

    #[test]
    fn what_was_poured_is_compared() {
        let (bytes, _) = poured(Pattern::Changing);
        let again = || Pour {
            content: (0..8 * STEP_BYTES).map(|at| (at / 7) as u8).collect(),
            pattern: Pattern::Changing,
            rate: 1.0,
            steps: 48,
            next: 0,
        };
        assert_eq!(compare(&mut again(), &mut bytes.as_slice()), Ok(()));
        assert!(compare(&mut again(), &mut &bytes[1..]).is_err());
        assert!(compare(&mut again(), &mut [&bytes[..], &[0]].concat().as_slice()).is_err());
    }
}
