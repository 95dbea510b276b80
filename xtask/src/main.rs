//! `cargo xtask`: the project's only scripts, in its own language.
//! One file a task; this one only dispatches.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a script talks to whoever runs it")]

mod bench;
mod generate;
mod package;
mod test;
mod tidy;
mod workspace;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The project's scripts")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Check the project's own rules (also a test)
    Tidy,
    /// Run everything that must hold; the one test command
    Test(test::TestArguments),
    /// Measure against rivals and leave a run folder
    Bench(bench::BenchArguments),
    /// Write man pages and completions into docs/generated
    Generate(generate::GenerateArguments),
    /// Build what is installed: the program, its manual pages, the C library and its header
    Package(package::PackageArguments),
    /// A producer for benches: BYTES of FILE, over and over, at RATE bytes a second
    #[command(hide = true)]
    Produce(bench::pace::PaceArguments),
    /// A producer for benches that tells for how long it was blocked
    #[command(hide = true)]
    Pour(bench::keep_up::PourArguments),
    /// A load for benches that knows what it used
    #[command(hide = true)]
    Load(bench::pstime::load::LoadArguments),
    /// System calls for benches: one-byte reads and writes that time themselves
    #[command(hide = true)]
    CallLoop(bench::systime::CallLoopArguments),
    /// A consumer for benches: reads standard input at RATE bytes a second
    #[command(hide = true)]
    Consume(bench::pace::PaceArguments),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().task {
        Task::Tidy => tidy::run(),
        Task::Test(arguments) => test::run(&arguments),
        Task::Bench(arguments) => bench::run(&arguments),
        Task::Generate(arguments) => generate::run(&arguments),
        Task::Package(arguments) => package::run(&arguments),
        Task::Produce(arguments) => bench::pace::produce(&arguments),
        Task::Pour(arguments) => bench::keep_up::pour(&arguments),
        Task::Load(arguments) => bench::pstime::load::run(&arguments),
        Task::CallLoop(arguments) => bench::systime::call_loop(&arguments),
        Task::Consume(arguments) => bench::pace::consume(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // A task that has said all it had to say ends without a message.
        Err(message) if message.is_empty() => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}
