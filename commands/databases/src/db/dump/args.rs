//! The command line of `mh db dump`, spelled as pg_dump has it, and how it is divided: for pg_dump, for the sessions, for the run.

use super::mysql::MySqlDumpArgs;
use super::selection::{AccessArgs, ContentArgs, ObjectArgs, RestoreArgs};
use crate::db::connect::ConnectArgs;
use clap::Args;
use database::dump::DumpSession;
use database::dump_mysql::MySqlSelection;
use mh_kit::shared_args::{ReportFormat, StandingArgs, parse_hands};
use std::ffi::OsString;
use std::path::PathBuf;

/// Examples in the help.
pub const EXAMPLES: &str = "Examples:\n  mh db dump -d postgres:///shop -f shop.dump                   a directory that pg_restore reads\n  \
    mh db dump -d postgres://me@db/shop -f shop.dump -j 8 -Z gzip:6\n  \
    mh db dump -d shop --pg -f orders.dump -t 'public.orders*'    some tables\n  \
    mh db dump -d mariadb://me@db/shop -f shop.dump               MariaDB: shop.dump/restore.sh is the way back\n  \
    mh db dump -d shop --pg -f - | mh tamp > shop.sql.zst         a script that psql reads\n  \
    mh db dump -d shop --pg -f shop.dump --explain                what would be done, and why\n  \
    pg_restore -j 4 -d copy shop.dump                             the way back\n\n\
    Exit codes: 0 all is in the archive, 1 no archive was made, 2 wrong command line, no connection, no right, 130 interrupted";

/// Dump a database of PostgreSQL, MariaDB or MySQL over many connections
///
/// PostgreSQL: writes pg_dump's directory format, which pg_restore reads. MariaDB and MySQL: writes SQL files and files for LOAD DATA, with a script that
/// restores them. pg_dump or mariadb-dump writes the schema; rows are read over many connections that see one moment, a large table in parts. Rows are
/// counted and compared in every dump. The directory appears when the dump is complete.
#[derive(Args, Debug)]
pub struct DbDumpArgs {
    /// The database, as with -d
    #[arg(value_name = "DB", conflicts_with = "dbname")]
    database: Option<String>,

    /// Write the archive to the new directory DIR, or a script for psql to standard output (-)
    #[arg(short = 'f', long, value_name = "DIR")]
    pub file: PathBuf,

    /// Format: directory, or plain with -f -
    #[arg(short = 'F', long, value_name = "FORMAT", value_parser = parse_format, hide_short_help = true)]
    format: Option<ArchiveFormat>,

    /// Compress rows with zstd, gzip, lz4 (and :LEVEL) or none (default: zstd:1 if pg_restore reads it, else gzip:1)
    #[arg(short = 'Z', long, value_name = "METHOD")]
    pub compress: Option<String>,

    /// Read rows over at most N connections (default, and 0: a connection for each core)
    #[arg(short = 'j', long = "jobs", visible_alias = "connections", alias = "threads", value_name = "N", value_parser = parse_hands)]
    pub connections: Option<usize>,

    /// Read the archive back and compare its rows with those that came, before it gets its name
    #[arg(long)]
    pub verify: bool,

    /// Print the plan with its reasons and do nothing
    #[arg(long)]
    pub explain: bool,

    /// After the run, print what bound it: server, compression, pg_dump or cores
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, require_equals = true, default_missing_value = "text")]
    pub report: Option<ReportFormat>,

    /// Print errors only
    #[arg(short = 'q', long)]
    pub quiet: bool,

    /// Among the other runs.
    #[command(flatten)]
    pub standing: StandingArgs,

    /// What is dumped.
    #[command(flatten)]
    objects: ObjectArgs,

    /// Which part of that.
    #[command(flatten)]
    content: ContentArgs,

    /// What pg_restore will do.
    #[command(flatten)]
    restore: RestoreArgs,

    /// Locks and rights.
    #[command(flatten)]
    access: AccessArgs,

    /// What PostgreSQL has not.
    #[command(flatten)]
    pub mysql: MySqlDumpArgs,

    /// Which database.
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Formats of a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArchiveFormat {
    /// A directory with a file for each table.
    Directory,
    /// A script.
    Plain,
}

/// COMPAT: spelled as pg_dump has them.
fn parse_format(name: &str) -> Result<ArchiveFormat, String> {
    match name {
        "d" | "directory" => Ok(ArchiveFormat::Directory),
        "p" | "plain" => Ok(ArchiveFormat::Plain),
        "c" | "custom" | "t" | "tar" => {
            Err("there are directory and plain; pg_dump alone writes the archives of one file".to_owned())
        }
        _ => Err("there are directory and plain".to_owned()),
    }
}

impl DbDumpArgs {
    /// Whether a script goes to standard output.
    pub fn is_script(&self) -> bool {
        self.file.as_os_str() == "-"
    }

    /// The directory that is made; none: a script goes to standard output.
    pub fn target(&self) -> Option<PathBuf> {
        (!self.is_script()).then(|| self.file.clone())
    }

    /// Where the dump goes, for messages.
    pub fn shown_target(&self) -> String {
        if self.is_script() { "standard output".to_owned() } else { terminal::quote(&self.file) }
    }

    /// Refuses a format that does not go with the file.
    pub fn check_format(&self) -> Result<(), String> {
        match (self.is_script(), self.format) {
            (true, Some(ArchiveFormat::Directory)) => {
                Err("a directory does not go to standard output: -F plain, or -f DIR".to_owned())
            }
            (false, Some(ArchiveFormat::Plain)) => Err("a plain dump goes to standard output: -f - > FILE".to_owned()),
            (true, _) if self.compress.is_some() => {
                Err("a script is not compressed here: -f - | mh tamp does it on all cores".to_owned())
            }
            (true, _) if self.verify => Err("a script is not read back: --verify goes with a directory".to_owned()),
            _ => Ok(()),
        }
    }

    /// What is verified, for a plan.
    pub fn verification(&self) -> (&'static str, &'static str) {
        match self.verify {
            true => (
                "rows, and the archive",
                "the server's count of rows in each part, and hashes when the archive is read back",
            ),
            false => ("rows", "each part's rows are counted here and by the server, and must agree"),
        }
    }

    /// Which database, wherever it was typed.
    pub fn connect(&self) -> ConnectArgs {
        let mut connect = self.connect.clone();
        connect.dbname = connect.dbname.or_else(|| self.database.clone());
        connect
    }

    /// Options for pg_dump.
    pub fn selection(&self) -> Vec<OsString> {
        let mut options = self.objects.options();
        options.extend(self.content.options());
        options.extend(self.restore.options());
        options.extend(self.access.options());
        options.into_iter().map(OsString::from).collect()
    }

    /// What is selected of a database of MariaDB or MySQL.
    pub fn mysql_selection(&self, database: &str) -> MySqlSelection {
        let [tables, exclude_tables, exclude_rows] = self.objects.of_mysql(database);
        let (has_schema, has_rows) = self.content.schema_and_rows();
        let (has_triggers, has_routines, has_events) = self.mysql.kinds();
        let keeps_definers = !self.mysql.skip_definer;
        MySqlSelection {
            tables,
            exclude_tables,
            exclude_rows,
            has_schema,
            has_rows,
            has_triggers,
            has_routines,
            has_events,
            keeps_definers,
        }
    }

    /// How long a lock is waited for.
    pub fn lock_wait(&self) -> Option<&str> {
        self.access.lock_wait_timeout.as_deref()
    }

    /// What these options mean for our own sessions.
    pub fn session(&self) -> DumpSession {
        DumpSession {
            role: self.access.role.clone(),
            has_row_security: self.access.enable_row_security,
            is_deferrable: self.access.serializable_deferrable,
            lock_wait: self.access.lock_wait_timeout.clone(),
        }
    }
}
