//! `mh vmtasks`: large memory on every core. A file for each subcommand.
mod run;
use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use mh_kit::context::Context;
use mh_kit::entry::{Entry, Group, Signals};
use mh_kit::failure::{Failure, Outcome};
const NAME: &str = "mh vmtasks";
/// The line of the registry.
pub const ENTRY: Entry = Entry::new("vmtasks", Group::Do, Signals::Own, command, start);
#[derive(Args, Debug)]
struct A {
    #[command(subcommand)]
    c: C,
}
#[derive(Debug, Subcommand)]
enum C {
    Run(run::VmtasksRunArgs),
}
/// Populate, lock and check large memory with every core
fn command() -> Command {
    A::augment_args(Command::new("vmtasks"))
}
fn start(context: &mut Context, matches: &ArgMatches) -> Result<Outcome, Failure> {
    let a = A::from_arg_matches(matches).map_err(Failure::CommandLine)?;
    match a.c {
        C::Run(a) => run::run(context, a),
    }
}
