//! Runs fuzz targets on the stable toolchain: mutates valid files, feeds them to a target, keeps what makes it panic.
//! Not guided by coverage; `fuzz/README.md` says how to hang a target into libFuzzer.
#![expect(clippy::print_stdout, reason = "a driver tells its user what it did")]

mod decode;
mod mutate;
mod targets;

use clap::Parser;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use targets::{TARGETS, Target};
use testkit::random::Random;

#[derive(Parser)]
#[command(name = "fuzz", about = "Feeds mutated files to the parsers and compares what comes out with other decoders")]
struct Arguments {
    /// Which targets; all without any
    targets: Vec<String>,
    /// All targets
    #[arg(long)]
    all: bool,
    /// How long for each
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Begin of the random sequence; the same seed gives the same inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only this input, once: to see a find again
    #[arg(long, value_name = "FILE")]
    one: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let wanted = |target: &&Target| {
        arguments.all || arguments.targets.is_empty() || arguments.targets.iter().any(|name| name == target.name)
    };
    let mut sound = true;
    for target in TARGETS.iter().filter(wanted) {
        sound &= match &arguments.one {
            Some(file) => run_one(target, file),
            None => run(target, Duration::from_secs(arguments.seconds), arguments.seed),
        };
    }
    if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

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

/// Mutates until the time is up or something panics.
fn run(target: &Target, time: Duration, seed: u64) -> bool {
    let mut random = Random::seeded(seed);
    let mut seeds = (target.seeds)();
    seeds.extend(corpus(target.name));
    let (begin, mut executions) = (Instant::now(), 0_u64);
    while begin.elapsed() < time {
        let input = mutate::mutated(&seeds, &mut random);
        executions += 1;
        if catch_unwind(AssertUnwindSafe(|| (target.run)(&input))).is_err() {
            keep(target.name, &input);
            return false;
        }
        // An input that got far is worth mutating further: among many, some.
        if executions.is_multiple_of(64) && seeds.len() < 512 && input.len() < 1 << 16 {
            seeds.push(input);
        }
    }
    println!("{}: {executions} inputs, nothing found", target.name);
    true
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Finds of the past, kept for ever.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let Ok(entries) = std::fs::read_dir(folder().join("corpus").join(name)) else { return Vec::new() };
    entries.flatten().filter_map(|entry| std::fs::read(entry.path()).ok()).collect()
}

fn keep(name: &str, input: &[u8]) {
    let folder = folder().join("finds");
    let digest = input
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let path = folder.join(format!("{name}-{digest:016x}"));
    let written = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, input));
    match written {
        Ok(()) => println!("{name}: panicked; see it again with: cargo run -p fuzz -- {name} --one {}", path.display()),
        Err(error) => println!("{name}: panicked, and the input could not be kept: {error}"),
    }
}
