//! What is loaded, as ranges of the inputs, and the table in the database that keeps them for a load that goes on: a row for each chunk, written in the
//! chunk's own transaction.

use crate::chunks::RowChunk;
use crate::error::LoadFailure;
use crate::target::{LoadSession, TableTarget, mysql};
use parking_lot::Mutex;
use wire::Protocol;

/// Rows of one input that lie beside each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LoadedRange {
    /// Which input.
    pub input: usize,
    /// Its first byte.
    pub begin: u64,
    /// Behind its last byte.
    pub end: u64,
    /// Its first line.
    pub first_line: u64,
    /// Its lines.
    pub lines: u64,
    /// Its rows that the database took.
    pub rows: u64,
}

impl LoadedRange {
    /// Of a chunk, of which so many rows were taken.
    pub fn of(chunk: &RowChunk, rows: u64) -> Self {
        let lines = chunk.lines + u64::from(!chunk.bytes.ends_with(b"\n"));
        Self { input: chunk.input, begin: chunk.offset, end: chunk.end(), first_line: chunk.first_line, lines, rows }
    }

    /// Its last line.
    pub fn last_line(&self) -> u64 {
        (self.first_line + self.lines).saturating_sub(1)
    }
}

/// The same in the order of the inputs, with neighbours as one.
pub fn merged(mut ranges: Vec<LoadedRange>) -> Vec<LoadedRange> {
    ranges.sort_unstable();
    let mut merged: Vec<LoadedRange> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if last.input == range.input && last.end == range.begin => {
                last.end = range.end;
                last.lines += range.lines;
                last.rows += range.rows;
            }
            _ => merged.push(range),
        }
    }
    merged
}

/// What an input was when a load began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFacts {
    /// Its name.
    pub name: String,
    /// Size and time of change, as text; the same for a file that was not changed.
    pub version: String,
}

/// The ledger of a load.
pub struct ChunkLedger {
    table: String,
    done: Vec<LoadedRange>,
    /// Has a lock of the server that a second load of the table waits for in vain.
    _guard: Mutex<Box<dyn LoadSession>>,
}

/// LIMIT: bytes of a name in PostgreSQL, and characters in MySQL, less what stands before it.
const NAME_MAX: usize = 50;

impl ChunkLedger {
    /// Finds the ledger of the table or makes it. One of other inputs, or of inputs that were changed, is refused.
    pub fn open(target: &TableTarget, sources: &[SourceFacts]) -> Result<Self, LoadFailure> {
        let mut session = target.open()?;
        let quote = target.quote();
        let name: String = target.facts.name.chars().filter(|letter| *letter != quote).take(NAME_MAX).collect();
        let table = format!("{}{quote}mh_load_{name}{quote}", target.facts.schema_prefix);
        session.execute(&format!(
            "create table if not exists {table} (input integer not null, first_byte bigint not null, end_byte bigint not null, \
             first_line bigint not null, line_count bigint not null, row_count bigint not null, source text)"
        ))?;
        guard(target, session.as_mut(), &table)?;
        let rows = target.rows_of(&format!(
            "select input, first_byte, end_byte, first_line, line_count, row_count, source from {table}"
        ))?;
        let done = entries(&rows, sources).ok_or_else(|| {
            LoadFailure::Database(format!(
                "table {table} has what an interrupted load of other files, or of the same before they were changed, had done; \
                 drop it to begin anew"
            ))
        })?;
        if rows.is_empty() {
            for (input, source) in sources.iter().enumerate() {
                let values = format!("{input}, -1, -1, 0, 0, 0, {}", target.literal(&source.text()));
                session.execute(&format!("insert into {table} values ({values})"))?;
            }
        }
        Ok(Self { table, done: merged(done), _guard: Mutex::new(session) })
    }

    /// What is done.
    pub fn done(&self) -> &[LoadedRange] {
        &self.done
    }

    /// What is done of one input.
    pub fn done_of(&self, input: usize) -> Vec<LoadedRange> {
        self.done.iter().filter(|range| range.input == input).copied().collect()
    }

    /// The first statement of a chunk's transaction, where there is one.
    pub fn use_of(&self, target: &TableTarget) -> Option<String> {
        (target.protocol() == Some(Protocol::MySql)).then(|| mysql::use_of(&self.table))
    }

    /// The statement that notes a chunk.
    pub fn note(&self, range: &LoadedRange) -> String {
        let LoadedRange { input, begin, end, first_line, lines, rows } = range;
        format!("insert into {} values ({input}, {begin}, {end}, {first_line}, {lines}, {rows}, null)", self.table)
    }

    /// Removes it: all is done.
    pub fn drop_with(&self, target: &TableTarget) -> Result<(), LoadFailure> {
        Ok(target.open()?.execute(&format!("drop table {}", self.table))?)
    }
}

/// Waits until no load of the table is under way: one that was killed may still commit its last chunk, or have it rolled back.
fn guard(target: &TableTarget, session: &mut dyn LoadSession, table: &str) -> Result<(), LoadFailure> {
    if !session.has_lock(table)? {
        return Err(LoadFailure::Database("another load of this table is under way".to_owned()));
    }
    let waits: &[String] = match target.protocol() {
        // One writer, whose locks end with it.
        None => &[],
        Some(Protocol::Postgres) => &[format!("begin; lock table {table} in share mode; commit")],
        Some(Protocol::MySql) => &mysql::wait_for_users(table),
    };
    Ok(waits.iter().try_for_each(|statement| session.execute(statement))?)
}

impl SourceFacts {
    fn text(&self) -> String {
        format!("{} {}", self.version, self.name)
    }
}

/// The ranges of a ledger's rows; none if its sources are others.
fn entries(rows: &[Vec<Option<String>>], sources: &[SourceFacts]) -> Option<Vec<LoadedRange>> {
    let mut ranges = Vec::new();
    let mut known = 0;
    for row in rows {
        let number = |at: usize| row.get(at)?.as_deref()?.parse::<i64>().ok();
        let input = usize::try_from(number(0)?).ok()?;
        if let Some(source) = row.get(6)?.as_deref() {
            if sources.get(input)?.text() != source {
                return None;
            }
            known += 1;
            continue;
        }
        let unsigned = |at: usize| u64::try_from(number(at)?).ok();
        ranges.push(LoadedRange {
            input,
            begin: unsigned(1)?,
            end: unsigned(2)?,
            first_line: unsigned(3)?,
            lines: unsigned(4)?,
            rows: unsigned(5)?,
        });
    }
    (rows.is_empty() || known == sources.len()).then_some(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(input: usize, begin: u64, end: u64) -> LoadedRange {
        LoadedRange { input, begin, end, first_line: begin + 1, lines: end - begin, rows: 1 }
    }

    #[test]
    fn neighbours_are_one_range() {
        let ranges = merged(vec![range(1, 0, 5), range(0, 5, 9), range(0, 0, 5), range(0, 12, 13)]);
        let shown: Vec<_> = ranges.iter().map(|range| (range.input, range.begin, range.end, range.rows)).collect();
        assert_eq!(shown, [(0, 0, 9, 2), (0, 12, 13, 1), (1, 0, 5, 1)]);
        assert_eq!(ranges[0].last_line(), 9);
    }

    #[test]
    fn a_ledger_of_other_files_is_none_of_ours() {
        let source = |version: &str| SourceFacts { name: "a b.csv".to_owned(), version: version.to_owned() };
        let row = |values: [&str; 7]| values.map(|value| (!value.is_empty()).then(|| value.to_owned())).to_vec();
        let rows = [row(["0", "-1", "-1", "0", "0", "0", "9 a b.csv"]), row(["0", "4", "8", "2", "3", "3", ""])];
        assert_eq!(
            entries(&rows, &[source("9")]).expect("ours"),
            [LoadedRange { input: 0, begin: 4, end: 8, first_line: 2, lines: 3, rows: 3 }]
        );
        assert_eq!(entries(&rows, &[source("8")]), None);
        assert_eq!(entries(&rows, &[source("9"), source("9")]), None, "a file more");
        assert_eq!(entries(&[], &[source("9")]), Some(Vec::new()));
    }
}
