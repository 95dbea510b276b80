//! Runs fuzz targets on the stable toolchain: mutates valid files, feeds them to a target, keeps what makes it panic.
//! Not guided by coverage; `fuzz/README.md` says how to hang a target into libFuzzer.
#![expect(clippy::print_stdout, reason = "a driver tells its user what it did")]

use clap::Parser;
use fuzz::mutate::mutated;
use fuzz::seeds::files_in;
use fuzz::targets::{TARGETS, Target};
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};
use testkit::random::Random;

#[derive(Parser)]
#[command(name = "fuzz", about = "Feeds mutated files to the parsers and compares what comes out with other decoders")]
struct Arguments {
    /// Which target
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(TARGETS.iter().map(|target| target.name)))]
    target: Option<String>,
    /// All targets
    #[arg(long, conflicts_with = "target", required_unless_present = "target")]
    all: bool,
    /// How long for each target
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Begin of the random sequence; the same seed gives the same inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only this input, once: to see a find again
    #[arg(long, value_name = "FILE", requires = "target")]
    one: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let is_sound = match (arguments.target.as_deref().and_then(find), &arguments.one) {
        (Some(target), Some(file)) => run_one(target, file),
        (Some(target), None) => run(target, &arguments),
        (None, _) => run_all(&arguments),
    };
    if is_sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// A target a core at a time.
fn run_all(arguments: &Arguments) -> bool {
    let (next, is_sound) = (AtomicUsize::new(0), AtomicBool::new(true));
    let work = || {
        while let Some(target) = TARGETS.get(next.fetch_add(1, Ordering::Relaxed)) {
            is_sound.fetch_and(run(target, arguments), Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| {
        (0..available_parallelism().map_or(1, NonZero::get)).for_each(|_| drop(scope.spawn(work)));
    });
    is_sound.into_inner()
}

/// One input, without a net: the panic is what one wants to see.
fn run_one(target: &Target, file: &Path) -> bool {
    match std::fs::read(file) {
        Ok(bytes) => {
            (target.run)(&bytes);
            println!("{}: {} is handled", target.name, file.display());
            true
        }
        Err(error) => {
            println!("{}: could not read {}: {error}", target.name, file.display());
            false
        }
    }
}

/// All seeds as they are, then mutations until the time is up or something panics.
fn run(target: &Target, arguments: &Arguments) -> bool {
    let mut seeds = (target.seeds)();
    seeds.extend(files_in(&directory().join("corpus").join(target.name), None));
    let mut random = Random::seeded(arguments.seed);
    let (begin, mut executions) = (Instant::now(), 0_u64);
    for input in &seeds {
        executions += 1;
        if !is_handled(target, input) {
            return false;
        }
    }
    while begin.elapsed() < Duration::from_secs(arguments.seconds) {
        executions += 1;
        let input = mutated(&seeds, &mut random);
        if !is_handled(target, &input) {
            return false;
        }
    }
    println!("{}: {executions} executions in {:.1} s, nothing found", target.name, begin.elapsed().as_secs_f64());
    true
}

fn is_handled(target: &Target, input: &[u8]) -> bool {
    let is_sound = catch_unwind(AssertUnwindSafe(|| (target.run)(input))).is_ok();
    if !is_sound {
        keep(target.name, input);
    }
    is_sound
}

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Writes the input that made a target panic.
fn keep(name: &str, input: &[u8]) {
    let directory = directory().join("finds");
    // FNV-1a: the same input has the same name on every machine.
    let digest = input
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let path = directory.join(format!("{name}-{digest:016x}"));
    match std::fs::create_dir_all(&directory).and_then(|()| std::fs::write(&path, input)) {
        Ok(()) => {
            println!("{name}: panicked; see it again with: cargo run -p fuzz -- {name} --one {}", path.display());
        }
        Err(error) => println!("{name}: panicked, and the input could not be kept: {error}"),
    }
}
