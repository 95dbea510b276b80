//! `mh vmtasks`: large memory on every core. A file for each subcommand; the work is done in the engine `memory`.

mod bench;
mod check;
#[cfg(feature = "mtwrite")]
mod run;

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use mh_kit::context::Context;
use mh_kit::entry::{Entry, Group, Signals};
use mh_kit::failure::{Failure, Outcome};

/// How messages begin.
const NAME: &str = "mh vmtasks";

/// The registry's line. Signals are those of the program that run starts; check leaves nothing behind that would outlive it.
pub const ENTRY: Entry = Entry::new("vmtasks", Group::Do, Signals::Own, command, run);

/// Set up large memory on every core, and prove that it is resident
#[derive(Args, Debug)]
struct VmtasksArgs {
    #[command(subcommand)]
    task: Option<VmtasksTask>,
}

#[derive(Debug, Subcommand)]
enum VmtasksTask {
    #[cfg(feature = "mtwrite")]
    Run(run::VmtasksRunArgs),
    /// Measure what it takes here to create, lock and destroy memory, by one thread and by more
    ///
    /// A gigabyte is 10^9 bytes. Each range is counted page by page; ranges of all numbers of threads are created in turns.
    Bench(bench::BenchArgs),
    /// Check that the large memory of running programs is resident
    ///
    /// Exit code: 0 if all large mappings are resident as a whole, 1 if not, or if there is none.
    Check(check::ResidencyArgs),
}

fn command() -> Command {
    VmtasksArgs::augment_args(Command::new("vmtasks")).override_usage("mh vmtasks <COMMAND>").after_help(
        "Examples:\n  mh vmtasks run -- postgres -D DATA  start it with memory set up by all cores\n  \
         mh vmtasks bench --lock             the cost of 4 GiB on this machine\n  \
         mh vmtasks check 4711               is all of its large memory in memory?\n  \
         mh vmtasks check --locked 4711      and locked, so that it stays there?",
    )
}

fn run(context: &mut Context, matches: &ArgMatches) -> Result<Outcome, Failure> {
    let args = VmtasksArgs::from_arg_matches(matches).map_err(Failure::CommandLine)?;
    let Some(task) = args.task else {
        let names: Vec<String> = command().get_subcommands().map(|task| task.get_name().to_owned()).collect();
        let message = format!("a command is needed: {}", names.join(", "));
        return Err(Failure::Usage { command: NAME, message });
    };
    match task {
        VmtasksTask::Bench(args) => bench::run(context, &args),
        VmtasksTask::Check(args) => check::run(context, &args),
        #[cfg(feature = "mtwrite")]
        VmtasksTask::Run(args) => run::run(context, args),
    }
}
