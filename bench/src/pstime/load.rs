//! Loads that know what they used: each does its work when told, and says what its own clocks counted. Truth never comes from
//! another tool.

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::hint::black_box;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// One loop in user mode.
    Spin,
    /// One system call after the other.
    Calls,
    /// About 1 ms in user mode, then as long in one system call.
    Half,
    /// 1 ms of work, 3 ms of sleep: in step with a tick of 4 ms.
    Brief,
    /// 64 threads.
    Threads,
    /// A thousand short processes, one after the other, each waited for.
    Forks,
    /// Like spin, noting its clock every 3 ms.
    Log,
}

impl Kind {
    /// As typed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Spin => "spin",
            Self::Calls => "calls",
            Self::Half => "half",
            Self::Brief => "brief",
            Self::Threads => "threads",
            Self::Forks => "forks",
            Self::Log => "log",
        }
    }
}

/// A load's arguments.
#[derive(clap::Args)]
pub struct LoadArguments {
    #[arg(value_enum)]
    kind: Kind,
}

/// What a load says of itself.
#[derive(Default, Serialize, Deserialize)]
pub struct Truth {
    /// CPU time of all its threads, and of the children that it waited for.
    pub cpu_ns: u64,
    /// Of that, in user mode, where it knows.
    pub user_ns: u64,
    /// Time and CPU time, noted often.
    log: Vec<(u64, u64)>,
}

impl Truth {
    fn noted_from_to(&self) -> Option<(u64, u64)> {
        Some((self.log.first()?.0, self.log.last()?.0))
    }

    /// CPU time between two moments, the least and the most that it can have been by the notes around them: in between it has
    /// run all the time, or not at all for as long as both its clocks differ.
    pub fn between(&self, (begin_ns, end_ns): (u64, u64)) -> Result<(f64, f64), String> {
        let at = |moment: u64| {
            let after = self.log.partition_point(|(noted, _)| *noted < moment);
            let ((t0, c0), (t1, c1)) =
                self.log.get(after.wrapping_sub(1)).zip(self.log.get(after)).ok_or_else(|| {
                    format!("a reading at {moment} ns, outside of the load's notes, {:?}", self.noted_from_to())
                })?;
            let (since, until) = ((moment - t0) as f64, (t1 - moment) as f64);
            let (before, later) = (*c0 as f64, *c1 as f64);
            Ok::<_, String>(((later - until).max(before), (before + since).min(later)))
        };
        let ((begin_least, begin_most), (end_least, end_most)) = (at(begin_ns)?, at(end_ns)?);
        Ok((end_least - begin_most, end_most - begin_least))
    }
}

/// How long a load works.
const WORK: Duration = Duration::from_secs(1);
/// One that is watched while it works goes on until the watching is over.
const LONG_WORK: Duration = Duration::from_millis(1600);
const THREADS: u32 = 64;
const FORKS: u32 = 1000;
/// Long beside the readings of its clock around a half, of which a part is the program's and a part the system's.
const PHASE_NS: u64 = 1_000_000;

/// Waits for a line, works, gives account, waits for its end.
pub fn run(arguments: &LoadArguments) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("load: {error}");
    let mut input = BufReader::new(std::io::stdin());
    let mut output = std::io::stdout();
    // Memory that is touched for the first time costs a program time that is neither half's.
    let half = if arguments.kind == Kind::Half { Some(Half::prepare()?) } else { None };
    writeln!(output, "ready").map_err(failed)?;
    let mut line = String::new();
    input.read_line(&mut line).map_err(failed)?;
    let before = clock(ClockId::ProcessCPUTime);
    let mut truth = match half {
        Some(half) => half.work(Instant::now() + WORK)?,
        None => work(arguments.kind)?,
    };
    wait_for_threads();
    truth.cpu_ns += clock(ClockId::ProcessCPUTime) - before;
    let account = serde_json::to_string(&truth).map_err(|error| format!("load: {error}"))?;
    writeln!(output, "{account}").map_err(failed)?;
    input.read_line(&mut line).map_err(failed)?;
    Ok(())
}

/// A thread that has been joined is still ending, on this account: until nothing but this one is listed.
fn wait_for_threads() {
    while std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() > 1) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn work(kind: Kind) -> Result<Truth, String> {
    let mut truth = Truth::default();
    let end = Instant::now() + WORK;
    match kind {
        Kind::Spin => spin_until(end),
        Kind::Calls => {
            while Instant::now() < end {
                (0..100).for_each(|_| {
                    black_box(rustix::process::getppid());
                });
            }
        }
        // It is prepared, and works by itself.
        Kind::Half => {}
        Kind::Brief => {
            while Instant::now() < end {
                spin_until(Instant::now() + Duration::from_millis(1));
                std::thread::sleep(Duration::from_millis(3));
            }
        }
        Kind::Threads => std::thread::scope(|scope| {
            (0..THREADS).for_each(|_| {
                scope.spawn(|| spin_until(end));
            });
        }),
        Kind::Forks => truth.cpu_ns = (0..FORKS).map(|_| forked_ns()).sum::<Result<u64, String>>()?,
        Kind::Log => truth.log = noted(Instant::now() + LONG_WORK),
    }
    Ok(truth)
}

/// The first number of `schedstat`: time on CPUs.
pub fn ran_ns(account: &str) -> Option<u64> {
    account.split(' ').next()?.parse().ok()
}

/// CPU time of a short process, by its own account once it has ended.
fn forked_ns() -> Result<u64, String> {
    let failed = |error: std::io::Error| format!("load: a short process: {error}");
    let mut child = Command::new("true").spawn().map_err(failed)?;
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let pid = Pid::from_child(&child);
    waitid(WaitId::Pid(pid), ended).map_err(|error| failed(error.into()))?;
    let account = std::fs::read_to_string(format!("/proc/{}/schedstat", child.id())).map_err(failed)?;
    child.wait().map_err(failed)?;
    ran_ns(&account).ok_or_else(|| format!("load: a short process has the account {account:?}"))
}

fn spin_until(end: Instant) {
    while Instant::now() < end {
        (0..100_u64).for_each(|value| {
            black_box(value);
        });
    }
}

/// Both halves are work, not time: one that is pushed off its CPU goes on where it was. Their lengths vary, so that the load is not
/// in step with the tick.
struct Half {
    random: std::fs::File,
    buffer: Vec<u8>,
    spins: u64,
    bytes: u64,
}

impl Half {
    fn prepare() -> Result<Self, String> {
        let mut random = std::fs::File::open("/dev/urandom").map_err(|error| format!("load: {error}"))?;
        // Long calls, since what the loop does between them is the program's own and counted nowhere in its account; and few bytes: who fills
        // the caches with zeros has some us of its own time after each call, until what it needs is back.
        let mut buffer = vec![1_u8; 2 * HALF_BYTES];
        let spins = fastest_ns(|| spin(SPINS)).map(|spins_ns| SPINS * PHASE_NS / spins_ns)?;
        let bytes_ns = fastest_ns(|| random.read_exact(&mut buffer[..HALF_BYTES]).expect("it has no end"))?;
        Ok(Self { random, buffer, spins, bytes: HALF_BYTES as u64 * PHASE_NS / bytes_ns })
    }

    /// CPU time of the user halves.
    fn work(mut self, end: Instant) -> Result<Truth, String> {
        let (mut user_ns, mut noise) = (0, 0x2545_f491_4f6c_dd1d_u64);
        while Instant::now() < end {
            // From nothing to twice as long, so that no tick tells what the next will see.
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let part = |whole: u64, noise: u64| whole * (noise & 0xffff) / 0x8000;
            let before = clock(ClockId::ThreadCPUTime);
            spin(part(self.spins, noise >> 48));
            user_ns += clock(ClockId::ThreadCPUTime) - before;
            let length = (part(self.bytes, noise >> 32) as usize).min(self.buffer.len());
            self.random.read_exact(&mut self.buffer[..length]).map_err(|error| format!("load: {error}"))?;
        }
        Ok(Truth { user_ns, ..Truth::default() })
    }
}

const SPINS: u64 = 100_000;
const HALF_BYTES: usize = 512 << 10;

fn spin(count: u64) {
    (0..count).for_each(|value| {
        black_box(value);
    });
}

/// The least CPU time of some.
fn fastest_ns(mut work: impl FnMut()) -> Result<u64, String> {
    let times = (0..5).map(|_| {
        let before = clock(ClockId::ThreadCPUTime);
        work();
        clock(ClockId::ThreadCPUTime) - before
    });
    times.min().filter(|time| *time > 0).ok_or_else(|| "load: the clock stands still".to_owned())
}

fn noted(end: Instant) -> Vec<(u64, u64)> {
    let mut log = Vec::with_capacity(100_000);
    while Instant::now() < end {
        log.push((clock(ClockId::Monotonic), clock(ClockId::ProcessCPUTime)));
        // Asking for its clock adds it up: seldom enough that a reading finds it as a tick has left it.
        spin_until(Instant::now() + Duration::from_micros(3_100));
    }
    log
}

fn clock(id: ClockId) -> u64 {
    let time = clock_gettime(id);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// What is looked for in a recording.
#[derive(Clone, Copy)]
pub enum Reading {
    /// The clock of this process.
    Of(u32),
    /// A sample's beginning.
    Sample,
}

/// When `mh` read it, first and last, as its recording says.
pub fn readings_of(recording: &Path, reading: Reading) -> Result<(u64, u64), String> {
    #[derive(Deserialize)]
    struct Frame {
        at_ns: u64,
        changed: Vec<Changed>,
    }
    #[derive(Deserialize)]
    struct Changed {
        pid: u32,
        at_ns: u64,
    }
    let text = std::fs::read_to_string(recording).map_err(|error| format!("could not read the recording: {error}"))?;
    let mut moments = Vec::new();
    for line in text.lines().skip(1) {
        let frame: Frame =
            serde_json::from_str(line).map_err(|error| format!("could not read the recording: {error}"))?;
        match reading {
            Reading::Sample => moments.push(frame.at_ns),
            Reading::Of(pid) => {
                moments.extend(frame.changed.iter().filter(|changed| changed.pid == pid).map(|changed| changed.at_ns));
            }
        }
    }
    match moments.as_slice() {
        [first, .., last] => Ok((*first, *last)),
        _ => Err("it was not recorded twice".to_owned()),
    }
}
