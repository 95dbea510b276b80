//! The side that is an archive: rows and digests of its tables are in its index.

use super::{ColumnsToRead, RowDigest, TableState, TableToRead, mysql, postgres};
use crate::dump::{ArchiveIndex, ArchiveTable, DumpError, INDEX};
use crate::dump_mysql::{MySqlArchive, MySqlArchiveTable};
use serde::Deserialize;
use std::path::Path;
use wire::Protocol;

/// What an archive says of its tables.
#[derive(Clone, Debug)]
pub struct ArchiveDigests {
    /// Whose archive it is.
    pub kind: Protocol,
    /// Of MariaDB and MySQL: the database that was dumped.
    pub database: Option<String>,
    /// The encoding that its rows are in; none: it is not noted.
    pub encoding: Option<String>,
    /// Its tables.
    pub tables: Vec<(TableToRead, RowDigest)>,
}

/// Why an archive cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum NoDigests {
    /// It has no index, or one that cannot be read.
    #[error("read '{path}'")]
    Read {
        /// The index.
        path: String,
        /// Why not.
        #[source]
        cause: std::io::Error,
    },
    /// The index is of another layout.
    #[error("'{0}' is no index of an archive of mh db dump")]
    Unknown(String),
    /// It is one of MariaDB or MySQL, and cannot be read.
    #[error("read an index")]
    MySql(#[from] DumpError),
}

/// Whose index it is; indexes of PostgreSQL have no such word.
#[derive(Deserialize)]
struct IndexKind {
    #[serde(default)]
    kind: String,
}

impl ArchiveDigests {
    /// Reads `mh.index` of an archive.
    pub fn read(archive: &Path) -> Result<Self, NoDigests> {
        let path = archive.join(INDEX);
        let shown = || path.display().to_string();
        let text = std::fs::read(&path).map_err(|cause| NoDigests::Read { path: shown(), cause })?;
        let unreadable = |cause: serde_json::Error| NoDigests::Read { path: shown(), cause: cause.into() };
        let kind: IndexKind = serde_json::from_slice(&text).map_err(unreadable)?;
        if !kind.kind.is_empty() {
            let index = MySqlArchive::read(archive)?;
            let digests = Self::of_mysql(index.tables.iter()).ok_or_else(|| NoDigests::Unknown(shown()))?;
            return Ok(Self { database: Some(index.database), ..digests });
        }
        let index: ArchiveIndex = serde_json::from_slice(&text).map_err(unreadable)?;
        let tables = index.tables.iter().map(of_postgres).collect::<Option<Vec<_>>>();
        let encoding = Some(index.encoding).filter(|encoding| !encoding.is_empty());
        let tables = tables.ok_or_else(|| NoDigests::Unknown(shown()))?;
        Ok(Self { kind: Protocol::Postgres, database: None, encoding, tables })
    }

    /// Of tables of an archive of MariaDB or MySQL; none if one has no digest.
    pub fn of_mysql<'a>(tables: impl Iterator<Item = &'a MySqlArchiveTable>) -> Option<Self> {
        let tables = tables.map(of_mysql).collect::<Option<Vec<_>>>()?;
        Some(Self { kind: Protocol::MySql, database: None, encoding: None, tables })
    }

    /// Whether a table is one of these names.
    pub fn is_named(&self, table: &str, names: &[String]) -> bool {
        match self.kind {
            Protocol::Postgres => postgres::is_named(table, names),
            Protocol::MySql => mysql::is_named(table, self.database.as_deref().unwrap_or_default(), names),
        }
    }

    /// All tables as they were.
    pub fn states(&self) -> impl Iterator<Item = (String, TableState)> {
        self.tables.iter().map(|(table, digest)| (table.name.clone(), TableState::Read(*digest)))
    }
}

fn of_postgres(table: &ArchiveTable) -> Option<(TableToRead, RowDigest)> {
    let sum = u128::from_str_radix(&table.digest, 16).ok()?;
    let columns = match table.columns.as_str() {
        "" => ColumnsToRead::Own,
        columns => ColumnsToRead::List(columns.to_owned()),
    };
    Some((TableToRead { name: table.table.clone(), columns }, RowDigest { rows: table.rows, bytes: table.bytes, sum }))
}

fn of_mysql(table: &MySqlArchiveTable) -> Option<(TableToRead, RowDigest)> {
    let columns = ColumnsToRead::Names(table.columns.iter().map(|column| column.name.clone()).collect());
    Some((TableToRead { name: table.table.clone(), columns }, mysql::row_digest(table)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_without_an_index_is_an_error() {
        let directory = tempfile::tempdir().expect("a directory");
        assert!(matches!(ArchiveDigests::read(directory.path()), Err(NoDigests::Read { .. })));
        std::fs::write(directory.path().join(INDEX), r#"{"version":1,"tables":[{"table":"t"}]}"#).expect("ours");
        assert!(ArchiveDigests::read(directory.path()).is_err(), "a table without a digest");
        std::fs::write(directory.path().join(INDEX), r#"{"version":1,"kind":"oracle"}"#).expect("ours");
        let error = ArchiveDigests::read(directory.path()).expect_err("nobody knows it");
        assert!(
            matches!(&error, NoDigests::MySql(cause) if cause.to_string().contains("no index of MariaDB or MySQL")),
            "{error:?}"
        );
    }
}
