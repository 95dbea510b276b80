//! Which tables are restored here, from which files, and in which pieces their rows go over connections.

use super::RestoreError;
use super::contents::{ArchiveContents, ArchiveEntry, ArchiveScript, EntryKind, Section};
use crate::dump::archive::{ArchiveFrame, ArchiveIndex, ArchiveTable, INDEX};
use crate::dump::statement::qualified_name;
use crate::indexes::{self, ScriptDialect, ScriptStatement};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Uncompressed bytes after which a piece of one of our archives ends with its frame: one transaction.
pub const PIECE_BYTES: u64 = 32 << 20;

/// A backend whose client is gone ends what it does; from version 14 on.
pub const CHECKS_CONNECTION: &str = "SET client_connection_check_interval = '2s'";

/// Where the rows of a table are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowSource {
    /// In units that can be decompressed each by itself, as `mh.index` has them.
    Frames(ArchiveTable),
    /// In one stream: pg_dump has written it, or `mh.index` is of something else.
    Stream,
}

/// A table whose rows are restored here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreTable {
    /// The number of the entry with its rows.
    pub entry: u64,
    /// Its quoted name with its schema.
    pub name: String,
    /// The statement that takes its rows.
    pub copy: String,
    /// The file with its rows.
    pub file: PathBuf,
    /// Bytes of that file.
    pub stored: u64,
    /// How it is divided.
    pub source: RowSource,
    /// Its indexes and constraints, which are made as soon as its rows are in.
    pub indexes: Vec<ScriptStatement>,
}

/// What a restore consists of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoreParts {
    /// Tables whose rows are restored here, in the archive's order.
    pub tables: Vec<RestoreTable>,
    /// Settings for sessions, from the archive.
    pub settings: Vec<String>,
    /// What pg_restore does before rows come.
    pub before: Vec<u64>,
    /// What it does while they come.
    pub meanwhile: Vec<u64>,
    /// What it does when all are in.
    pub after: Vec<u64>,
    /// Whether tables were there before, with the constraints that they have: they are filled one after the other.
    pub in_order: bool,
    /// Whether there is an index to verify by.
    pub is_indexed: bool,
    /// Why the index that is there is not used; rows are not verified by it.
    pub index_fault: Option<String>,
}

/// Entries whose SQL is needed.
pub fn scripted(contents: &ArchiveContents) -> Vec<&ArchiveEntry> {
    let wanted = |entry: &&ArchiveEntry| matches!(entry.kind, EntryKind::TableData | EntryKind::Index);
    contents.entries.iter().filter(wanted).collect()
}

/// Who restores what: rows of tables and their indexes are restored here, all else by pg_restore.
pub fn divide(
    archive: &Path,
    contents: &ArchiveContents,
    script: &ArchiveScript,
) -> Result<RestoreParts, RestoreError> {
    let (index, index_fault) = read_index(archive)?;
    let mut parts = RestoreParts {
        settings: settings(&script.prelude),
        is_indexed: !index.is_empty(),
        index_fault,
        ..RestoreParts::default()
    };
    let is_utf8 = parts.settings.iter().any(|setting| setting == "SET client_encoding = 'UTF8'");
    // Statements go out as UTF-8: what is written otherwise is pg_restore's affair.
    let readable = |sql: &[u8]| {
        let text = str::from_utf8(sql).ok()?.trim();
        (is_utf8 || text.is_ascii()).then(|| text.to_owned())
    };
    let made: HashSet<u64> =
        contents.entries.iter().filter(|entry| entry.kind == EntryKind::Table).map(|entry| entry.id).collect();
    let mut by_owner = HashMap::new();
    // Tables of extensions come with these: one table that is made is enough.
    let mut is_made = false;
    for entry in &contents.entries {
        let sql = script.of_entry.get(&entry.id);
        let statements = sql.and_then(|sql| readable(&sql.statements));
        match (entry.section, entry.kind, statements) {
            (_, EntryKind::TableData, Some(statements)) => match restored_here(archive, entry, &statements, &index)? {
                Some(table) => {
                    by_owner.extend(entry.depends.iter().map(|owner| (*owner, parts.tables.len())));
                    is_made |= entry.depends.iter().any(|owner| made.contains(owner));
                    parts.tables.push(table);
                }
                None => parts.meanwhile.push(entry.id),
            },
            (Section::PreData, ..) => parts.before.push(entry.id),
            (Section::Data, ..) => parts.meanwhile.push(entry.id),
            (Section::PostData, EntryKind::Index, Some(statements)) => {
                let owner = entry.depends.iter().find_map(|owner| by_owner.get(owner));
                let tablespace = sql.and_then(|sql| readable(&sql.tablespace)).unwrap_or_default();
                let made_here = owner.and_then(|&table| {
                    let text =
                        format!("{};\n{CHECKS_CONNECTION};\n{tablespace}\n{statements}", parts.settings.join(";\n"));
                    // A kind of statement that is not known here is left to pg_restore, with its entry.
                    Some((table, indexes::parse(&text, ScriptDialect::Postgres).ok()?))
                });
                match made_here {
                    Some((table, statements)) => parts.tables[table].indexes.extend(statements),
                    None => parts.after.push(entry.id),
                }
            }
            (Section::PostData, ..) => parts.after.push(entry.id),
        }
    }
    parts.in_order = !is_made && !parts.tables.is_empty();
    Ok(parts)
}

/// A table whose rows COPY takes; none where they are INSERT statements.
fn restored_here(
    archive: &Path,
    entry: &ArchiveEntry,
    sql: &str,
    index: &BTreeMap<String, ArchiveTable>,
) -> Result<Option<RestoreTable>, RestoreError> {
    let Some(copy) = sql.strip_suffix(';').filter(|sql| sql.starts_with("COPY ") && sql.ends_with(" FROM stdin"))
    else {
        return Ok(None);
    };
    let file = file_of(archive, entry.id).ok_or_else(|| {
        let missing = archive.join(format!("{}.dat", entry.id));
        RestoreError::file("find, with any suffix,", &missing)(rustix::io::Errno::NOENT.into())
    })?;
    let stored = std::fs::metadata(&file).map_err(RestoreError::file("look at", &file))?.len();
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let source = match index.get(name).filter(|table| is_index_of(table, stored)) {
        Some(table) => RowSource::Frames(table.clone()),
        None => RowSource::Stream,
    };
    let Some(name) = qualified_name(&copy["COPY ".len()..]).map(str::to_owned) else { return Ok(None) };
    let copy = copy.to_owned();
    Ok(Some(RestoreTable { entry: entry.id, name, copy, file, stored, source, indexes: Vec::new() }))
}

/// Whether frames lie one behind the other and fill a file of so many bytes.
fn is_index_of(table: &ArchiveTable, stored: u64) -> bool {
    let mut end = 0_u64;
    let is_chain = table.frames.iter().all(|frame| {
        let follows = frame.offset == end && frame.stored > 0;
        end = end.saturating_add(frame.stored);
        follows
    });
    is_chain && end == stored
}

/// The file of an entry, whichever suffix it has; as pg_restore looks for it.
fn file_of(archive: &Path, entry: u64) -> Option<PathBuf> {
    ["", ".gz", ".lz4", ".zst"]
        .iter()
        .map(|suffix| archive.join(format!("{entry}.dat{suffix}")))
        .find(|path| path.is_file())
}

/// LIMIT: `mh.index` has about 250 bytes a frame of 4 MB: of 8 TB.
const INDEX_BYTES_MAX: u64 = 512 << 20;

/// `mh.index` by names of files, and why it is not used if it is there and is none of ours.
fn read_index(archive: &Path) -> Result<(BTreeMap<String, ArchiveTable>, Option<String>), RestoreError> {
    let path = archive.join(INDEX);
    let text = match std::fs::metadata(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Default::default()),
        Ok(metadata) if metadata.len() > INDEX_BYTES_MAX => Vec::new(),
        _ => std::fs::read(&path).map_err(RestoreError::file("read", &path))?,
    };
    match serde_json::from_slice::<ArchiveIndex>(&text) {
        Ok(index) => Ok((index.tables.into_iter().map(|table| (table.file.clone(), table)).collect(), None)),
        Err(error) => Ok((BTreeMap::new(), Some(format!("mh.index is damaged ({error})")))),
    }
}

/// Settings for sessions: single lines of the script's begin.
fn settings(prelude: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(prelude);
    let is_setting = |line: &&str| line.starts_with("SET ") || line.starts_with("SELECT pg_catalog.set_config(");
    text.lines().filter(is_setting).filter_map(|line| line.strip_suffix(';')).map(str::to_owned).collect()
}

/// A piece of a table's rows in our archive: one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FramePiece {
    /// The first byte of its first frame in the file.
    pub begin: u64,
    /// The first byte behind its last one.
    pub end: u64,
    /// Its frames.
    pub frames: Vec<ArchiveFrame>,
    /// Its rows.
    pub rows: u64,
}

/// Divides frames into pieces. The last unit, which has no row but the end marker, is left out.
pub fn pieces(table: &ArchiveTable) -> Vec<FramePiece> {
    let mut pieces: Vec<FramePiece> = Vec::new();
    let mut bytes = 0_u64;
    for frame in table.frames.iter().filter(|frame| frame.rows > 0) {
        match pieces.last_mut().filter(|piece| bytes < PIECE_BYTES && piece.end == frame.offset) {
            Some(piece) => {
                piece.end = frame.offset + frame.stored;
                piece.rows += frame.rows;
                piece.frames.push(frame.clone());
            }
            None => {
                bytes = 0;
                let (begin, end) = (frame.offset, frame.offset + frame.stored);
                pieces.push(FramePiece { begin, end, frames: vec![frame.clone()], rows: frame.rows });
            }
        }
        bytes = bytes.saturating_add(frame.bytes);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(frames: &[(u64, u64, u64)]) -> ArchiveTable {
        let mut offset = 0;
        let frames = frames.iter().map(|&(stored, bytes, rows)| {
            let frame = ArchiveFrame { offset, stored, bytes, rows, ..ArchiveFrame::default() };
            offset += stored;
            frame
        });
        ArchiveTable { frames: frames.collect(), ..ArchiveTable::default() }
    }

    #[test]
    fn pieces_are_whole_frames_of_about_one_transaction() {
        let megabytes = 1 << 20;
        let many = table(&[(10, 4 * megabytes, 7); 20]);
        let divided = pieces(&many);
        assert_eq!(divided.iter().map(|piece| piece.frames.len()).collect::<Vec<_>>(), [8, 8, 4]);
        assert_eq!((divided[1].begin, divided[1].end, divided[1].rows), (80, 160, 56));
        let with_end = table(&[(10, 4, 7), (5, 4, 0)]);
        assert_eq!(pieces(&with_end).len(), 1);
        assert_eq!(pieces(&with_end)[0].end, 10);
        assert!(pieces(&table(&[(5, 4, 0)])).is_empty(), "a table without rows");
    }

    #[test]
    fn an_index_is_used_only_if_it_is_of_the_file() {
        let of = table(&[(10, 4, 7), (5, 4, 0)]);
        assert!(is_index_of(&of, 15) && !is_index_of(&of, 16));
        let mut odd = of.clone();
        odd.frames[1].offset = 9;
        assert!(!is_index_of(&odd, 15));
        odd.frames[1] = ArchiveFrame { offset: 10, stored: u64::MAX, ..of.frames[1].clone() };
        assert!(!is_index_of(&odd, 9));
    }

    #[test]
    fn settings_are_the_lines_that_set_something() {
        let prelude = b"SET client_encoding = 'UTF8';
SELECT pg_catalog.set_config('search_path', '', false);
DROP TABLE x;
";
        assert_eq!(
            settings(prelude),
            ["SET client_encoding = 'UTF8'", "SELECT pg_catalog.set_config('search_path', '', false)"]
        );
    }
}
