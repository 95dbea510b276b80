//! The command line of `mh db index`.

use crate::db::connect::ConnectArgs;
use clap::Args;
use mh_kit::shared_args::{ReportFormat, StandingArgs, parse_hands, parse_size};
use std::path::PathBuf;

/// Examples in the help.
pub const EXAMPLES: &str = "Examples:\n  mh db index -d postgres:///shop indexes.sql                   several indexes at once\n  \
    pg_dump --section=post-data shop | mh db index -d postgres:///copy -\n  \
    mh db index -d shop --pg indexes.sql --resume                 pass over those that are there\n  \
    mh db index -d shop --pg --rebuild -t orders --concurrently   build the indexes of a table anew\n  \
    mh db index -d shop --pg indexes.sql --explain                the order, and why\n\n\
    Exit codes: 0 all is there, 1 something is missing, 2 wrong command line or file, no connection, 130 interrupted";

/// Build indexes and keys, several at once
///
/// Reads CREATE INDEX and ALTER TABLE ADD of a file, as pg_dump --section=post-data writes them, and builds the most expensive first. Keys are built as
/// indexes and become constraints afterwards; foreign keys, triggers and comments come last, in the order of the file. Other statements are refused.
#[derive(Args, Debug)]
pub struct DbIndexArgs {
    /// A file of statements; - is standard input
    #[arg(value_name = "FILE", required_unless_present = "rebuild", conflicts_with = "rebuild")]
    pub file: Option<PathBuf>,

    /// Build the indexes anew that are there
    #[arg(long)]
    pub rebuild: bool,

    /// With --rebuild: of this table, as SQL has its name, only
    #[arg(short = 't', long = "table", value_name = "TABLE", requires = "rebuild")]
    pub tables: Vec<String>,

    /// With --rebuild: let others write meanwhile, which takes longer (PostgreSQL)
    #[arg(long, requires = "rebuild")]
    pub concurrently: bool,

    /// Pass over indexes and constraints that are there by their names
    #[arg(long, conflicts_with = "rebuild")]
    pub resume: bool,

    /// End the run when a statement fails (default: carry out the others)
    #[arg(short = 'e', long)]
    pub exit_on_error: bool,

    /// Use at most N cores of the server, for lanes and their workers (default, and 0: those of this host)
    #[arg(short = 'j', long = "jobs", visible_alias = "connections", alias = "threads", value_name = "N", value_parser = parse_hands)]
    pub hands: Option<usize>,

    /// Memory of the server for all sorts together (default: an eighth of this host's if the server is on it)
    #[arg(long, value_name = "SIZE", value_parser = parse_size, hide_short_help = true)]
    pub memory: Option<u64>,

    /// Print the plan with its reasons and do nothing
    #[arg(long)]
    pub explain: bool,

    /// After the run, print how long each build took, and what bound the run
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, require_equals = true, default_missing_value = "text")]
    pub report: Option<ReportFormat>,

    /// Print errors only
    #[arg(short = 'q', long)]
    pub quiet: bool,

    /// Among the other runs.
    #[command(flatten)]
    pub standing: StandingArgs,

    /// Which database.
    #[command(flatten)]
    pub connect: ConnectArgs,
}
