//! `mh db`: data between files and databases. Its commands are files beside each other; what they have in common is how a database is named
//! (`connect.rs`) and how a run is ended (`stopping.rs`).

mod connect;
mod dump;
mod hands;
mod index;
mod load;
mod mysql_lock;
mod option_list;
mod programs;
mod progress_line;
mod restore;
mod scratch;
mod stopping;
mod verify;
mod waits;

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use dump::DbDumpArgs;
use index::DbIndexArgs;
use load::DbLoadArgs;
use mh_kit::context::Context;
use mh_kit::entry::{Entry, Group, Signals};
use mh_kit::failure::{Failure, Outcome};
use restore::DbRestoreArgs;
use verify::DbVerifyArgs;

/// The registry's line. A signal ends what the server does for us first.
pub const ENTRY: Entry = Entry::new("db", Group::Do, Signals::Own, command, run);

/// Move data between files and databases over many connections
#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
struct DbArgs {
    #[command(subcommand)]
    order: DbOrder,
}

#[derive(Debug, Subcommand)]
enum DbOrder {
    /// Load CSV or tab-separated files into a table over many connections
    #[command(after_help = load::EXAMPLES)]
    Load(Box<DbLoadArgs>),
    /// Dump a database of PostgreSQL, MariaDB or MySQL over many connections
    #[command(after_help = dump::EXAMPLES)]
    Dump(Box<DbDumpArgs>),
    /// Restore an archive of pg_dump over many connections
    #[command(after_help = restore::EXAMPLES)]
    Restore(Box<DbRestoreArgs>),
    /// Build indexes and keys, several at once
    #[command(after_help = index::EXAMPLES)]
    Index(Box<DbIndexArgs>),
    /// Compare the rows of a server with an archive or with another server
    #[command(after_help = verify::EXAMPLES)]
    Verify(Box<DbVerifyArgs>),
}

fn command() -> Command {
    DbArgs::augment_args(Command::new("db")).after_help(
        "Examples:\n  mh db load -d postgres:///shop orders orders.csv --header\n  \
         mh db load -d sqlite:shop.db orders orders.csv.gz --header\n  \
         mh db dump -d postgres:///shop -f shop.dump\n  \
         mh db restore -d postgres:///copy shop.dump\n  \
         mh db index -d postgres:///shop indexes.sql\n  \
         mh db verify -d postgres:///copy shop.dump\n\n\
         Exit codes: 0 done, 1 rows are missing, 2 wrong command line, no connection, no right, 130 interrupted",
    )
}

fn run(context: &mut Context, matches: &ArgMatches) -> Result<Outcome, Failure> {
    let args = DbArgs::from_arg_matches(matches).map_err(Failure::CommandLine)?;
    match args.order {
        DbOrder::Load(args) => load::run(context, *args),
        DbOrder::Dump(args) => dump::run(context, *args),
        DbOrder::Restore(args) => restore::run(context, *args),
        DbOrder::Index(args) => index::run(context, *args),
        DbOrder::Verify(args) => verify::run(context, *args),
    }
}
