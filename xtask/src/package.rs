//! `cargo xtask package`: what people install. A Debian package, a tarball with an installer, and (`--static`) a tarball whose
//! program needs no C library. Builds and lays out; installs nothing.

mod debian;
mod layout;
mod needs;
mod tarball;

use clap::Args;
use layout::{Layout, Place, Programs};
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::workspace::{self, root};

/// Where to, and from what.
#[derive(Args)]
pub struct PackageArguments {
    /// Directory for the packages; created if it does not exist
    #[arg(long, value_name = "DIR", default_value = "target/package")]
    into: PathBuf,

    /// Package the programs in DIR instead of building them for release
    #[arg(long, value_name = "DIR", conflicts_with = "static_too")]
    built: Option<PathBuf>,

    /// Make a tarball for musl too, which runs on any Linux and preloads no library (no mtwrite, vmtasks run, numa run)
    #[arg(long = "static")]
    static_too: bool,
}

const MUSL: &str = "x86_64-unknown-linux-musl";

/// Links the program so that an older C library suffices (`commands/mh/build.rs`).
const PORTABLE: &str = "MH_PORTABLE";

/// Builds and packs.
pub fn run(arguments: &PackageArguments) -> Result<(), String> {
    std::fs::create_dir_all(&arguments.into).map_err(|error| failed("create", &arguments.into, &error))?;
    // Relative to where the user is; programs are started in the project's root.
    let into = std::path::absolute(&arguments.into).map_err(|error| failed("find", &arguments.into, &error))?;
    let built = arguments.built.as_deref().map(std::path::absolute).transpose();
    let built = built.map_err(|error| format!("could not find the built programs: {error}"))?;
    let release = match &built {
        Some(directory) => Programs::of_gnu(directory),
        None => build(&[])?,
    };
    // What is built for tests is packed for a look, not for a server.
    let level = if built.is_some() { "-z1" } else { "-z9" };
    let package = debian::package(&release, &into, level)?;
    if built.is_none() {
        debian::check_size(&package)?;
    }
    println!("{}", package.display());
    let portable = match built {
        Some(_) => release,
        None => {
            let portable = build(&[(PORTABLE, "1")])?;
            for program in [&portable.mh].into_iter().chain(&portable.preloads) {
                needs::check(program, needs::DOCUMENTED)?;
            }
            portable
        }
    };
    println!("{}", tarball::package(&portable, "linux-gnu", &into)?.display());
    if arguments.static_too {
        println!("{}", tarball::package(&build_static()?, "linux-musl", &into)?.display());
    }
    Ok(())
}

fn build(environment: &[(&str, &str)]) -> Result<Programs, String> {
    run_cargo(workspace::RELEASE, environment)?;
    // Without an unwinder, as commands/jobs/build.rs builds the copy within the program: it is loaded into programs that have none.
    let without_unwinder = [environment, &[("CARGO_PROFILE_RELEASE_PANIC", "abort")]].concat();
    run_cargo(&["build", "--release", "--package", "manyhands-prefault"], &without_unwinder)?;
    let mh = workspace::release_binary()?;
    Ok(Programs::of_gnu(mh.parent().ok_or("the program has no directory")?))
}

/// A static program cannot be preloaded into others, and the library for C is linked with the platform's own C library.
fn build_static() -> Result<Programs, String> {
    let arguments = ["build", "--release", "--package", "manyhands", "--target", MUSL, "--no-default-features"];
    run_cargo(&[&arguments[..], &["--features", "lzma2-kernel,zstd-finder"]].concat(), &[])?;
    let beside = workspace::release_binary()?;
    let target = beside.ancestors().nth(2).ok_or("the program has no target directory")?;
    Ok(Programs { mh: target.join(MUSL).join("release/mh"), library: None, preloads: Vec::new() })
}

fn run_cargo(arguments: &[&str], environment: &[(&str, &str)]) -> Result<(), String> {
    let mut cargo = Command::new("cargo");
    let status = cargo.args(arguments).envs(environment.iter().copied()).current_dir(root()).status();
    let status = status.map_err(|error| format!("could not run cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("cargo {} ended with {status}", arguments.join(" "))) }
}

/// Makes `directory` hold what `layout` names, and nothing else.
fn lay_out(layout: &Layout, directory: &Path) -> Result<(), String> {
    if directory.exists() {
        std::fs::remove_dir_all(directory).map_err(|error| failed("remove", directory, &error))?;
    }
    layout.write(directory)
}

/// `0.1.0`.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Seconds since 1970 of what is packed: the same sources give the same package.
fn epoch() -> Result<String, String> {
    if let Ok(given) = std::env::var("SOURCE_DATE_EPOCH") {
        return Ok(given);
    }
    let commit = output("git", &["log", "-1", "--format=%ct"]).map(|text| text.trim().to_owned());
    Ok(commit.ok().filter(|text| !text.is_empty()).unwrap_or_else(|| "0".to_owned()))
}

/// What a program prints, if it succeeds.
fn output(program: &str, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new(program);
    let output = command.args(arguments).current_dir(root()).output();
    let output = output.map_err(|error| format!("could not run {program}: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{program} {} ended with {}: {}", arguments.join(" "), output.status, said.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn failed(operation: &str, path: &Path, error: &std::io::Error) -> String {
    format!("could not {operation} {}: {error}", path.display())
}

/// A path as an argument.
fn text(path: &Path) -> Result<&str, String> {
    path.to_str().ok_or(format!("the name {} is not text", path.display()))
}

/// The machine's name in Debian's words and in those of tarballs.
fn architecture() -> (&'static str, &'static str) {
    match std::env::consts::ARCH {
        "x86_64" => ("amd64", "x86_64"),
        "aarch64" => ("arm64", "aarch64"),
        other => (other, other),
    }
}

/// Where the pages of this project come from.
fn pages(place: Place) -> Result<Vec<PathBuf>, String> {
    let directory = root().join("docs/generated").join(match place {
        Place::Manual => "man",
        _ => "completions",
    });
    files_in(&directory)
}

/// Its files, sorted; not its directories.
fn files_in(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(directory).map_err(|error| failed("list", directory, &error))?;
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(|error| failed("list", directory, &error))?;
    files.retain(|path| path.is_file());
    files.sort();
    Ok(files)
}
