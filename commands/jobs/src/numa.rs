//! `mh numa`: on which nodes the memory of programs is. A file for each subcommand; verdicts are the engine `memory`'s.

mod check;
#[cfg(feature = "mtwrite")]
mod run;

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use mh_kit::context::Context;
use mh_kit::entry::{Entry, Group, Signals};
use mh_kit::failure::{Failure, Outcome};

/// How messages begin.
const NAME: &str = "mh numa";

/// The registry's line. Signals are those of the program that run starts; check leaves nothing behind that would outlive it.
pub const ENTRY: Entry = Entry::new("numa", Group::Do, Signals::Own, command, run);

/// Place large memory on NUMA nodes, and show where it is
#[derive(Args, Debug)]
struct NumaArgs {
    #[command(subcommand)]
    task: Option<NumaTask>,
}

#[derive(Debug, Subcommand)]
enum NumaTask {
    #[cfg(feature = "mtwrite")]
    Run(run::NumaRunArgs),
    /// Show on which nodes the large memory of running programs is, and judge it
    ///
    /// Exit code: 0, or 1 if the kernel will swap although another node has memory, or a process could not be checked.
    Check(check::PlacementArgs),
}

fn command() -> Command {
    NumaArgs::augment_args(Command::new("numa")).override_usage("mh numa <COMMAND>").after_help(
        "Examples:\n  mh numa run --startup interleave -- mariadbd  its buffer pool over all nodes\n  \
         mh numa check 4711                            pages by node, and one verdict\n  \
         mh numa check --json 4711                     for programs",
    )
}

fn run(context: &mut Context, matches: &ArgMatches) -> Result<Outcome, Failure> {
    let args = NumaArgs::from_arg_matches(matches).map_err(Failure::CommandLine)?;
    let Some(task) = args.task else {
        let names: Vec<String> = command().get_subcommands().map(|task| task.get_name().to_owned()).collect();
        let message = format!("a command is needed: {}", names.join(", "));
        return Err(Failure::Usage { command: NAME, message });
    };
    match task {
        NumaTask::Check(args) => check::run(context, &args),
        #[cfg(feature = "mtwrite")]
        NumaTask::Run(args) => run::run(context, args),
    }
}
