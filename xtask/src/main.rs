//! `cargo xtask`: the project's only scripts, in its own language.
//! One file a task; this one only dispatches.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a script talks to whoever runs it")]

mod generate;
mod package;
mod picture;
mod test;
mod tidy;

use clap::{Args, Parser, Subcommand};
use std::process::ExitCode;
use xtask::workspace;

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
    /// Measure against rivals and leave a run directory; `bench --help` lists suites and options
    #[command(disable_help_flag = true)]
    Bench(BenchArguments),
    /// Write man pages and completions into docs/generated
    Generate(generate::GenerateArguments),
    /// Make a Debian package and a tarball with an installer in target/package
    Package(package::PackageArguments),
    /// Draw the README's picture anew, from the program as it is built
    Picture(picture::PictureArguments),
}

/// Passed on as they are.
#[derive(Args)]
struct BenchArguments {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// A crate of its own, so that tidy and test are built without charts and loads.
fn bench(bench: &BenchArguments) -> Result<(), String> {
    let own = ["run", "--quiet", "--package", "bench", "--", "run"];
    workspace::run("cargo", &own.into_iter().chain(bench.arguments.iter().map(String::as_str)).collect::<Vec<_>>())
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().task {
        Task::Tidy => tidy::run(),
        Task::Test(arguments) => test::run(&arguments),
        Task::Bench(arguments) => bench(&arguments),
        Task::Generate(arguments) => generate::run(&arguments),
        Task::Package(arguments) => package::run(&arguments),
        Task::Picture(arguments) => picture::run(&arguments),
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
