//! The two sides of a comparison: how they are named, what is found on them, and why two do not go together.

use super::args::{DbVerifyArgs, TypedSide};
use super::plan::{ReadServerFacts, SideFacts};
use super::usage;
use crate::db::connect::{self, ServerSurroundings};
use crate::db::mysql_lock::LockArg;
use crew::budget::Lease;
use database::dump::DumpError;
use database::target::Database;
use database::verify::{
    ArchiveDigests, MySqlReadOptions, MySqlReading, NoDigests, PostgresReading, ServerReading, TableState, TableToRead,
    WantedTables, kind_name,
};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, with_causes};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use wire::{Protocol, ServerAddress};

/// Bytes of a table that are read at a time.
const PART_BYTES: u64 = 32 << 20;

/// For a lock to be had: whoever writes waits behind it.
const LOCK_WAIT: Duration = Duration::from_secs(30);

/// A side that is known.
pub enum Side {
    /// An archive, with what its index says.
    Archive { path: PathBuf, digests: ArchiveDigests },
    /// A database on a server.
    Server { name: String, is_here: bool, kind: Protocol, reading: Arc<dyn ServerReading> },
}

/// A side that is not looked at yet.
pub enum NamedSide {
    /// An archive.
    Archive(PathBuf),
    /// A database on a server; `bare`: its name alone was typed, which may have been meant as an archive.
    Server { name: String, address: Box<ServerAddress>, bare: Option<String> },
}

impl NamedSide {
    /// Finds out which server is meant.
    pub fn of(context: &Context, args: &DbVerifyArgs, side: TypedSide) -> Result<Self, Failure> {
        let text = match side {
            TypedSide::Archive(path) => return Ok(Self::Archive(path)),
            TypedSide::Server(text) => text,
        };
        let bare = text.as_ref().filter(|text| is_bare(args, text)).cloned();
        let mut connect = args.connect.clone();
        connect.dbname = text.or(connect.dbname);
        let found = connect::find(&connect, &ServerSurroundings::look()).map_err(|error| {
            usage(bare.as_deref().map_or(error.clone(), |name| no_archive_nor_server(name, &error)))
        })?;
        for warning in &found.warnings {
            context.messages.warning(super::NAME, warning, &[]);
        }
        match found.database {
            Database::Server(address) if address.protocol() == Protocol::MySql && address.database().is_none() => {
                Err(usage("no database is named: mariadb://USER@HOST/DATABASE".to_owned()))
            }
            Database::Server(address) if address.protocol() == Protocol::Postgres && args.lock.is_some() => {
                Err(usage("--lock is for MariaDB and MySQL".to_owned()))
            }
            Database::Server(address) => Ok(Self::Server { name: found.name, address, bare }),
            Database::Sqlite(_) => Err(usage("SQLite files are compared by sqldiff".to_owned())),
        }
    }

    fn bare(&self) -> Option<String> {
        match self {
            Self::Server { bare, .. } => bare.clone(),
            Self::Archive(_) => None,
        }
    }

    fn kind(&self) -> Option<Protocol> {
        match self {
            Self::Archive(_) => None,
            Self::Server { address, .. } => Some(address.protocol()),
        }
    }
}

/// Whether a side may have been meant as an archive: a name that is nothing else than a name.
fn is_bare(args: &DbVerifyArgs, text: &str) -> bool {
    let is_address = text.contains("://") || text.contains('=') || text.starts_with("sqlite:");
    !is_address && !args.connect.pg && !args.connect.mariadb
}

fn no_archive_nor_server(name: &str, error: &str) -> String {
    format!("there is no archive '{name}', and as the name of a database it has no server: {error}")
}

/// Of a side whose name was taken for that of a database: it may be an archive that is not there.
fn or_archive(bare: Option<String>) -> impl Fn(String) -> String {
    move |error| match &bare {
        Some(name) => format!("find an archive '{name}', nor, with '{name}' as the name of a database, {error}"),
        None => error,
    }
}

/// Looks at both; the second side has the tables of the first, and is read in its encoding. The error reads after "could not".
pub fn look(args: &DbVerifyArgs, [one, other]: [NamedSide; 2]) -> Result<[Side; 2], String> {
    let [of_one, of_other] = [one.bare(), other.bare()].map(or_archive);
    let of_either = or_archive(one.bare().or(other.bare()));
    if let (Some(one), Some(other)) = (one.kind(), other.kind()) {
        go_together(one, other).map_err(&of_either)?;
    }
    let wanted = if args.tables.is_empty() { WantedTables::All } else { WantedTables::Named(args.tables.clone()) };
    let first = look_at(one, &wanted, None, args).map_err(of_one)?;
    if let Some(other) = other.kind() {
        go_together(first.kind(), other).map_err(of_either)?;
    }
    let tables = first.tables();
    let is_there = |name: &&String| tables.iter().any(|table| first.is_named(&table.name, std::slice::from_ref(*name)));
    if let Some(unknown) = args.tables.iter().find(|name| !is_there(name)) {
        return Err(format!("find table '{}' on the first side, {}", terminal::printable(unknown), first.name()));
    }
    let encoding = first.encoding();
    let second = look_at(other, &WantedTables::Alike(tables), encoding.as_deref(), args).map_err(of_other)?;
    go_together(first.kind(), second.kind())?;
    Ok([first, second])
}

fn go_together(one: Protocol, other: Protocol) -> Result<(), String> {
    if one == other {
        return Ok(());
    }
    let (one, other) = (kind_name(one), kind_name(other));
    Err(format!("compare {one} with {other}: the same value is another text there"))
}

fn look_at(
    side: NamedSide,
    wanted: &WantedTables,
    encoding: Option<&str>,
    args: &DbVerifyArgs,
) -> Result<Side, String> {
    let (name, address) = match side {
        NamedSide::Archive(path) => {
            let mut digests = ArchiveDigests::read(&path).map_err(|error| unread(&error))?;
            let names = &args.tables;
            let mut tables = std::mem::take(&mut digests.tables);
            tables.retain(|(table, _)| names.is_empty() || digests.is_named(&table.name, names));
            return Ok(Side::Archive { path, digests: ArchiveDigests { tables, ..digests } });
        }
        NamedSide::Server { name, address, .. } => (name, address),
    };
    let kind = address.protocol();
    let looked: Result<Arc<dyn ServerReading>, DumpError> = match kind {
        Protocol::Postgres => {
            PostgresReading::look(&address, wanted, encoding, PART_BYTES).map(|reading| Arc::new(reading) as _)
        }
        Protocol::MySql => {
            let lock = LockArg::meant(args.lock);
            let options = MySqlReadOptions { lock, lock_wait: LOCK_WAIT, part_bytes: PART_BYTES };
            MySqlReading::look(&address, wanted, options).map(|reading| Arc::new(reading) as _)
        }
    };
    let reading = looked.map_err(|error| format!("look at {name}: {}", with_causes(&error)))?;
    Ok(Side::Server { name, is_here: address.is_local(), kind, reading })
}

fn unread(error: &NoDigests) -> String {
    let is_absent = matches!(error, NoDigests::Read { cause, .. } if cause.kind() == io::ErrorKind::NotFound);
    let advice = if is_absent { "; mh db dump writes it, other archives have none" } else { "" };
    with_causes(error) + advice
}

impl Side {
    /// For people.
    pub fn name(&self) -> String {
        match self {
            Self::Archive { path, .. } => terminal::quote(path).to_string(),
            Self::Server { name, .. } => name.clone(),
        }
    }

    fn kind(&self) -> Protocol {
        match self {
            Self::Archive { digests, .. } => digests.kind,
            Self::Server { kind, .. } => *kind,
        }
    }

    fn tables(&self) -> Vec<TableToRead> {
        match self {
            Self::Archive { digests, .. } => digests.tables.iter().map(|(table, _)| table.clone()).collect(),
            Self::Server { reading, .. } => reading.tables().into_iter().map(|(table, _)| table).collect(),
        }
    }

    fn is_named(&self, table: &str, names: &[String]) -> bool {
        match self {
            Self::Archive { digests, .. } => digests.is_named(table, names),
            Self::Server { reading, .. } => reading.is_named(table, names),
        }
    }

    /// The encoding that rows are in, if there are several.
    pub fn encoding(&self) -> Option<String> {
        match self {
            Self::Archive { digests, .. } => digests.encoding.clone(),
            Self::Server { reading, .. } => reading.encoding(),
        }
    }

    /// A server's rows.
    pub fn reading(&self) -> Option<&Arc<dyn ServerReading>> {
        match self {
            Self::Archive { .. } => None,
            Self::Server { reading, .. } => Some(reading),
        }
    }

    /// Whether no server elsewhere does its work.
    pub fn is_here(&self) -> bool {
        matches!(self, Self::Archive { .. } | Self::Server { is_here: true, .. })
    }

    /// Begins the moment of a server; how long writers had to wait.
    pub fn begin(&self, connections: usize, lease: &dyn Lease) -> Result<Duration, DumpError> {
        self.reading().map_or(Ok(Duration::ZERO), |reading| reading.begin(connections, lease))
    }

    /// Rows and digests of its tables, which are read if they are a server's.
    pub fn states(&self, connections: usize, lease: &dyn Lease) -> Result<Vec<(String, TableState)>, DumpError> {
        match self {
            Self::Archive { digests, .. } => Ok(digests.states().collect()),
            Self::Server { reading, .. } => reading.read(connections, lease),
        }
    }

    /// For a plan.
    pub fn facts(&self) -> SideFacts {
        let name = self.name();
        match self {
            Self::Archive { digests, .. } => SideFacts { name, server: None, tables: digests.tables.len() as u64 },
            Self::Server { is_here, reading, .. } => {
                let tables: Vec<(String, u64)> =
                    reading.tables().into_iter().map(|(table, bytes)| (table.name, bytes)).collect();
                let count = tables.len() as u64;
                let stored = tables.iter().map(|(_, bytes)| bytes).sum();
                let (server, moment, parts) = (reading.server(), reading.moment(), reading.parts());
                let server = ReadServerFacts { server, moment, is_here: *is_here, parts, stored, tables };
                SideFacts { name, server: Some(server), tables: count }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_no_database_may_be_an_archive_that_is_not_there() {
        let error = || "compare one with another".to_owned();
        assert_eq!(or_archive(None)(error()), error());
        let text = or_archive(Some("xx".to_owned()))(error());
        assert_eq!(text, "find an archive 'xx', nor, with 'xx' as the name of a database, compare one with another");
    }
}
