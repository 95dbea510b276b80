//! The archive: pg_dump's directory with the rows of tables in their places, and beside them `mh.index`, which pg_restore does not look at.

use super::read_back::RowsFile;
use super::work::TableWork;
use super::{DumpError, DumpRequest};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// The name of the index.
pub const INDEX: &str = "mh.index";

/// LIMIT: what is kept of a program's standard error.
const SAID_BYTES: u64 = 64 << 10;
/// LIMIT: of what follows that.
const LAST_BYTES: usize = 4 << 10;

/// What `mh.index` says of an archive, as JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveIndex {
    /// Of this layout.
    pub version: u32,
    /// The encoding that rows are in, as PostgreSQL names it; empty if an older dump has not noted it.
    #[serde(default)]
    pub encoding: String,
    /// Tables whose rows are in frames.
    pub tables: Vec<ArchiveTable>,
}

/// The layout of `mh.index`.
const INDEX_VERSION: u32 = 1;

/// A table of an archive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveTable {
    /// Its quoted name with its schema.
    pub table: String,
    /// Its number in the source database.
    pub oid: u32,
    /// Its columns in the order of the rows, quoted and in parentheses, as COPY has them.
    #[serde(default)]
    pub columns: String,
    /// The file with its rows.
    pub file: String,
    /// Its rows.
    pub rows: u64,
    /// Bytes as COPY has them, with the line behind the last row.
    pub bytes: u64,
    /// Bytes of the file.
    pub stored: u64,
    /// The sum of the XXH3-128 of all rows, in hexadecimal: it does not depend on their order.
    pub digest: String,
    /// Ranges of whole rows, one behind the other.
    pub frames: Vec<ArchiveFrame>,
}

/// A range of a table's file that can be decompressed by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveFrame {
    /// Where it begins in the file.
    pub offset: u64,
    /// Bytes in the file.
    pub stored: u64,
    /// Uncompressed bytes.
    pub bytes: u64,
    /// Rows; none in the one with the line behind the last row.
    pub rows: u64,
    /// The sum of their hashes.
    pub digest: String,
    /// Bytes in the file of each compressed unit that it is made of; none: it is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<u64>,
}

impl ArchiveIndex {
    /// Its files with rows.
    pub fn rows_files(&self) -> Vec<RowsFile<'_>> {
        self.tables.iter().map(|table| RowsFile { name: &table.file, frames: &table.frames }).collect()
    }
}

/// What is wrong with an archive.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveFault {
    /// It must not be there before a dump.
    #[error("'{0}' exists already")]
    Exists(String),
    /// pg_dump has asked for rows, and lists no place for them.
    #[error("pg_dump's archive has no place for the rows of {0}")]
    NoPlace(String),
}

/// A directory that goes with its value.
pub struct Removed(PathBuf);

impl Removed {
    /// Makes it.
    pub fn make(path: &Path) -> Result<Self, DumpError> {
        std::fs::create_dir(path).map_err(DumpError::file("make directory", path))?;
        Ok(Self(path.to_owned()))
    }
}

impl Drop for Removed {
    fn drop(&mut self) {
        let _removed_already = std::fs::remove_dir_all(&self.0);
    }
}

/// A path with something behind its last name.
pub fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(suffix);
    beside.into()
}

/// Behind the name of an unfinished archive: where rows wait for their places in it.
pub const ROWS: &str = ".rows";

/// Where an archive is made: beside its target, whose name it gets at the end.
pub fn partial_of(target: &Path) -> Result<PathBuf, DumpError> {
    let partial = beside(target, ".partial");
    for path in [target, &partial, &beside(&partial, ROWS)] {
        if path.symlink_metadata().is_ok() {
            return Err(ArchiveFault::Exists(path.display().to_string()).into());
        }
    }
    Ok(partial)
}

/// The directory that a path is in.
pub fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Puts rows in their places and writes the index.
pub fn finish(
    request: &DumpRequest,
    partial: &Path,
    tables: Vec<Arc<TableWork>>,
    encoding: String,
) -> Result<ArchiveIndex, DumpError> {
    let places = places(&request.programs, partial)?;
    let mut index = ArchiveIndex { version: INDEX_VERSION, encoding, tables: Vec::with_capacity(tables.len()) };
    for table in tables {
        let place = places.get(&table.oid).ok_or_else(|| ArchiveFault::NoPlace(table.name.clone()))?;
        for written_by_pg_dump in ["", ".gz", ".lz4", ".zst"] {
            let _another_suffix = std::fs::remove_file(partial.join(format!("{place}.dat{written_by_pg_dump}")));
        }
        let mut entry = table.entry().map_err(DumpError::file("write", &table.path))?;
        entry.file = format!("{place}.dat{}", request.codec.suffix());
        let place = partial.join(&entry.file);
        std::fs::rename(&table.path, &place).map_err(DumpError::file("rename to", &place))?;
        index.tables.push(entry);
    }
    index.tables.sort_by(|one, other| one.table.cmp(&other.table));
    let path = partial.join(INDEX);
    let written = serde_json::to_vec(&index).map_err(io::Error::from).and_then(|text| std::fs::write(&path, text));
    written.map_err(DumpError::file("write", &path))?;
    Ok(index)
}

/// Gives an archive its name when all of it is on the disk.
pub fn seal(partial: &Path, target: &Path) -> Result<(), DumpError> {
    sync_all(partial).map_err(DumpError::file("write out", partial))?;
    std::fs::rename(partial, target).map_err(DumpError::file("rename to", target))?;
    let above = directory_of(target);
    File::open(above).and_then(|above| above.sync_all()).map_err(DumpError::file("write out", above))
}

/// Has files and their names on the disk.
fn sync_all(directory: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        File::open(entry?.path())?.sync_all()?;
    }
    File::open(directory)?.sync_all()
}

/// Where the rows of each table belong, by its number: what pg_restore lists.
fn places(programs: &Path, partial: &Path) -> Result<HashMap<u32, u64>, DumpError> {
    let program = programs.join("pg_restore");
    let mut child = Command::new(&program);
    let output = child.arg("--list").arg(partial).output().map_err(DumpError::file("run", &program))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let message = format!("failed ({}): {}", output.status, said.trim_end());
        return Err(DumpError::Program { program: "pg_restore", message });
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().filter_map(place).collect())
}

/// `3460; 0 16385 TABLE DATA public events owner`: the table's number, and the entry's.
fn place(line: &str) -> Option<(u32, u64)> {
    let (entry, rest) = line.split_once("; ")?;
    let mut words = rest.split(' ');
    let oid = words.nth(1)?.parse().ok()?;
    (words.next()? == "TABLE" && words.next()? == "DATA").then_some(())?;
    Some((oid, entry.parse().ok()?))
}

/// The begin of what a program says, and its last lines.
pub fn read_some(from: impl Read) -> String {
    let mut from = from;
    let mut said = Vec::new();
    let _what_came_until_then = from.by_ref().take(SAID_BYTES).read_to_end(&mut said);
    // A program that writes on must not wait for its reader. Its last lines count.
    let mut last = Vec::new();
    let mut block = vec![0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut block) {
        last.extend_from_slice(&block[..count]);
        let surplus = last.len().saturating_sub(LAST_BYTES);
        last.drain(..surplus);
    }
    said.extend(last);
    String::from_utf8_lossy(&said).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_rows_of_tables() {
        assert_eq!(place("3460; 0 16385 TABLE DATA public events owner"), Some((16385, 3460)));
        assert_eq!(place("3460; 0 16385 TABLE DATA public TABLE DATA x y"), Some((16385, 3460)));
        for other in ["; Archive created", "215; 1259 16385 TABLE public events owner", "", "x; y z TABLE DATA", "1; 0"]
        {
            assert_eq!(place(other), None, "{other}");
        }
    }

    #[test]
    fn what_is_there_is_not_written_over() {
        let directory = tempfile::tempdir().expect("a directory");
        let target = directory.path().join("d");
        assert_eq!(partial_of(&target).expect("free"), directory.path().join("d.partial"));
        std::fs::create_dir(directory.path().join("d.partial")).expect("ours");
        assert!(matches!(partial_of(&target), Err(DumpError::Archive(ArchiveFault::Exists(_)))));
    }
}
