//! The command line of `mh db restore`, spelled as pg_restore has it, and how it is divided: what is selected, how statements are written, the run.

use super::selection::{EmissionArgs, PassedSelectionArgs};
use crate::db::connect::ConnectArgs;
use clap::Args;
use database::restore::RestoreInto;
use mh_kit::shared_args::{ReportFormat, StandingArgs, parse_hands, parse_size};
use std::path::PathBuf;

/// Examples in the help.
pub const EXAMPLES: &str = "Examples:\n  mh db restore -d postgres:///copy shop.dump            into an empty database\n  \
    mh db restore -d postgres:///copy shop.dump --resume   goes on after an interruption\n  \
    mh db restore -d mariadb://me@db/copy shop.dump        an archive of MariaDB or MySQL\n  \
    mh db restore -d copy --pg shop.dump --clean --if-exists\n  \
    mh db restore -d copy --pg shop.dump --explain         what would be done, and why\n\n\
    Exit codes: 0 all is restored, 1 something is missing, 2 wrong command line, no connection, no right, 130 interrupted";

/// Restore an archive over many connections
///
/// Reads directory archives of pg_dump (-Fd) and of mh db dump. Rows are loaded over many connections, and a table's indexes are made as soon as its rows
/// are in; for PostgreSQL, pg_restore restores all the rest. Finished pieces are noted in the database, so that --resume goes on after an interruption.
#[derive(Args, Debug)]
pub struct DbRestoreArgs {
    /// The archive: a directory
    #[arg(value_name = "DIR")]
    pub archive: PathBuf,

    /// Restore over at most N connections (default, and 0: two for each core)
    #[arg(short = 'j', long = "jobs", visible_alias = "connections", alias = "threads", value_name = "N", value_parser = parse_hands)]
    pub connections: Option<usize>,

    /// Drop what is to be restored first
    #[arg(short = 'c', long, conflicts_with_all = ["resume", "into_existing", "data_only"])]
    clean: bool,

    /// Have --clean pass over objects that are not there
    #[arg(long, requires = "clean", hide_short_help = true)]
    if_exists: bool,

    /// Restore into a database that is not empty
    #[arg(long, conflicts_with = "resume")]
    into_existing: bool,

    /// Go on with a restore of this archive that was interrupted
    #[arg(long)]
    resume: bool,

    /// End with the first statement that the server refuses (default: go on, exit code 1)
    #[arg(short = 'e', long)]
    pub exit_on_error: bool,

    /// Vacuum and analyse restored tables at the end
    #[arg(long)]
    pub vacuum: bool,

    /// Read all rows again at the end and compare them with what mh db dump has noted; costs about 0.7 of a dump
    #[arg(long, conflicts_with = "into_existing")]
    pub verify: bool,

    /// Memory that sorts of indexes share (default: an eighth of what is free, if the server is on this host)
    #[arg(long, value_name = "SIZE", value_parser = parse_size, hide_short_help = true)]
    pub memory: Option<u64>,

    /// Print the plan with its reasons and do nothing
    #[arg(long)]
    pub explain: bool,

    /// After the run, print what bound it: server, disk, cores or this program
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, require_equals = true, default_missing_value = "text")]
    pub report: Option<ReportFormat>,

    /// Print errors only
    #[arg(short = 'q', long)]
    pub quiet: bool,

    /// Among the other runs.
    #[command(flatten)]
    pub standing: StandingArgs,

    /// What is restored, and how.
    #[command(flatten)]
    pub passed: PassedArgs,

    /// Which database.
    #[command(flatten)]
    pub connect: ConnectArgs,
}

/// pg_restore's options.
#[derive(Args, Debug, Default)]
pub struct PassedArgs {
    /// What is restored.
    #[command(flatten)]
    pub selection: PassedSelectionArgs,

    /// How statements are written.
    #[command(flatten)]
    pub emission: EmissionArgs,
}

impl DbRestoreArgs {
    /// What may be there before.
    pub fn into(&self) -> RestoreInto {
        match (self.clean, self.into_existing, self.resume) {
            (true, ..) => RestoreInto::Cleaned { if_exists: self.if_exists },
            (_, true, _) => RestoreInto::Existing,
            (.., true) => RestoreInto::Interrupted,
            _ => RestoreInto::Empty,
        }
    }
}
