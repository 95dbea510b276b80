//! The command line of `mh db verify`.

use crate::db::connect::ConnectArgs;
use crate::db::mysql_lock::LockArg;
use clap::Args;
use mh_kit::shared_args::{ReportFormat, StandingArgs, parse_hands};
use std::path::PathBuf;

/// Examples in the help.
pub const EXAMPLES: &str = "Examples:\n  mh db verify -d postgres:///copy shop.dump                    a restored archive\n  \
    mh db verify postgres:///shop postgres://me@new/shop          two servers\n  \
    mh db verify -d mariadb://me@db/copy shop.dump                MariaDB or MySQL\n  \
    mh db verify -d copy --pg shop.dump -t orders -q              one table, differences only\n  \
    mh db verify -d copy --pg shop.dump --explain                 how much would be read\n\n\
    Exit codes: 0 all tables are the same, 1 some differ, 2 one side cannot be read, 130 interrupted";

/// Compare the rows of a server with an archive of mh db dump, or with those of another server
///
/// Reads all rows again over many connections of one moment, and adds their hashes up. The sums do not depend on the order of rows, so
/// that they are the same on another server and of another version. Nothing is written on either side. Both sides are of PostgreSQL, or
/// both of MariaDB or MySQL.
#[derive(Args, Debug)]
pub struct DbVerifyArgs {
    /// An archive's directory, or a database as with -d; two sides in all
    #[arg(value_name = "SIDE")]
    pub sides: Vec<PathBuf>,

    /// The other server
    #[arg(long, value_name = "DB")]
    pub other: Option<PathBuf>,

    /// Compare this table only, with its schema or without it
    ///
    /// For MariaDB and MySQL, * and ? match any letters and one letter.
    #[arg(short = 't', long = "table", value_name = "TABLE")]
    pub tables: Vec<String>,

    /// Read rows over at most N connections a server (default, and 0: a connection for each core)
    #[arg(short = 'j', long = "jobs", visible_alias = "connections", alias = "threads", value_name = "N", value_parser = parse_hands)]
    pub connections: Option<usize>,

    /// MariaDB and MySQL: lock of the moment that all connections see: auto, flush (FLUSH TABLES WITH READ LOCK) or none (default: auto)
    #[arg(long, value_enum, value_name = "LOCK", hide_short_help = true)]
    pub lock: Option<LockArg>,

    /// Print the plan with its cost and do nothing
    #[arg(long)]
    pub explain: bool,

    /// Print a JSON object for each table
    #[arg(long)]
    pub json: bool,

    /// After the run, print what bound it
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, require_equals = true, default_missing_value = "text")]
    pub report: Option<ReportFormat>,

    /// Print tables that differ and errors only
    #[arg(short = 'q', long)]
    pub quiet: bool,

    /// Among the other runs.
    #[command(flatten)]
    pub standing: StandingArgs,

    /// Which database.
    #[command(flatten)]
    pub connect: ConnectArgs,
}

/// A side as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypedSide {
    /// A directory.
    Archive(PathBuf),
    /// A database of this name, or the one of -d and the environment.
    Server(Option<String>),
}

impl DbVerifyArgs {
    /// Both sides: an archive first, else in the order of the command line.
    pub fn both_sides(&self) -> Result<[TypedSide; 2], String> {
        let typed = |path: &PathBuf| match path.is_dir() {
            true => Ok(TypedSide::Archive(path.clone())),
            false => {
                let text = path.to_str().ok_or("the name of a database is not UTF-8")?;
                let is_path = text.contains('/') && !text.contains("://") && !text.contains('=');
                if is_path {
                    return Err(format!("{} is no directory, and no address of a database", terminal::quote(path)));
                }
                Ok(TypedSide::Server(Some(text.to_owned())))
            }
        };
        let named = self.connect.dbname.is_some() || self.connect.host.is_some() || self.connect.port.is_some();
        let mut sides: Vec<TypedSide> = named.then_some(TypedSide::Server(None)).into_iter().collect();
        for path in self.sides.iter().chain(&self.other) {
            sides.push(typed(path)?);
        }
        if sides.len() == 1 && !named {
            sides.push(TypedSide::Server(None));
        }
        sides.sort_by_key(|side| matches!(side, TypedSide::Server(_)));
        sides.try_into().map_err(|sides: Vec<TypedSide>| {
            let count = sides.len();
            format!("two sides are compared, and {count} are named: an archive and a database, or two databases")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        args: DbVerifyArgs,
    }

    fn sides(words: &[&str]) -> Result<[TypedSide; 2], String> {
        let words = ["verify"].into_iter().chain(words.iter().copied());
        Typed::try_parse_from(words).unwrap_or_else(|error| panic!("{error}")).args.both_sides()
    }

    #[test]
    fn two_sides_are_found_wherever_they_were_typed() {
        let archive = || TypedSide::Archive("/".into());
        let named = |name: &str| TypedSide::Server(Some(name.to_owned()));
        assert_eq!(sides(&["-d", "x", "/"]), Ok([archive(), TypedSide::Server(None)]));
        assert_eq!(sides(&["postgres://h/d", "/"]), Ok([archive(), named("postgres://h/d")]));
        assert_eq!(sides(&["-d", "x", "--other", "y"]), Ok([TypedSide::Server(None), named("y")]));
        assert_eq!(sides(&["/"]), Ok([archive(), TypedSide::Server(None)]), "the environment's");
        assert_eq!(sides(&["/", "/"]), Ok([archive(), archive()]));
        assert!(sides(&["-d", "x"]).is_err_and(|error| error.contains("1 are named")));
        assert!(sides(&["-d", "x", "y", "/"]).is_err_and(|error| error.contains("3 are named")));
        assert!(sides(&["no/such.dump", "x"]).is_err_and(|error| error.contains("is no directory")));
    }
}
