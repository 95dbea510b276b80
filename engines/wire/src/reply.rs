//! What a request brought, and the tally of the reply that is being read.
//! Knows no protocol: postgres.rs and mysql.rs fill the tally.

use crate::error::{ServerError, WireError};

/// The answer to one request.
#[derive(Debug, PartialEq, Eq)]
pub enum Reply {
    /// It was carried out.
    Done {
        /// Rows returned.
        rows: u64,
        /// Rows inserted, updated, deleted or merged.
        affected: u64,
        /// The last row, if rows are kept and there was one.
        last_row: Option<TextRow>,
    },
    /// The server refused it; the connection goes on.
    Refused(ServerError),
    /// The server passed it over, because it had refused one before it in the same pipeline.
    Skipped,
}

/// A row's values as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextRow {
    text: Vec<u8>,
    /// Where each value ends, and whether it is one.
    ends: Vec<(u32, bool)>,
}

impl TextRow {
    /// How many values it has.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The value of a column; none for NULL, and for a column that there is not.
    pub fn value(&self, column: usize) -> Option<&[u8]> {
        let (end, is_value) = *self.ends.get(column)?;
        let begin = column.checked_sub(1).map_or(0, |before| self.ends[before].0);
        is_value.then(|| &self.text[begin as usize..end as usize])
    }

    /// All values.
    pub fn values(&self) -> impl Iterator<Item = Option<&[u8]>> {
        (0..self.len()).map(|column| self.value(column))
    }

    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    /// LIMIT: `u32` suffices, as a kept row is never larger than a message that is kept whole.
    pub(crate) fn push(&mut self, value: Option<&[u8]>) {
        self.text.extend_from_slice(value.unwrap_or_default());
        self.ends.push((self.text.len() as u32, value.is_some()));
    }

    fn bytes(&self) -> u64 {
        (self.text.len() + self.ends.len() * size_of::<(u32, bool)>()) as u64
    }
}

/// Rows as catalogue questions get them.
pub type TextRows = Vec<Vec<Option<Vec<u8>>>>;

/// What becomes of rows.
#[derive(Debug, Default)]
pub(crate) enum Keeping {
    /// They are skipped by their length.
    #[default]
    Nothing,
    /// The last one stays.
    LastRow,
    /// All stay, with the bytes that they have so far.
    AllRows(TextRows, u64),
}

/// LIMIT: rows of one `query`; catalogue questions have far less.
const KEPT_BYTES_MAX: u64 = 256 << 20;

/// The reply that is being read.
#[derive(Debug, Default)]
pub(crate) struct ReplyTally {
    pub rows: u64,
    pub affected: u64,
    pub refused: Option<ServerError>,
    pub is_skipped: bool,
    pub keeping: Keeping,
    pub row: TextRow,
    pub has_row: bool,
}

impl ReplyTally {
    pub fn keeps_rows(&self) -> bool {
        !matches!(self.keeping, Keeping::Nothing)
    }

    /// `row` holds a whole one.
    pub fn take_row(&mut self) -> Result<(), WireError> {
        self.has_row = true;
        let Keeping::AllRows(rows, bytes) = &mut self.keeping else { return Ok(()) };
        *bytes += self.row.bytes();
        if *bytes > KEPT_BYTES_MAX {
            return Err(WireError::TooLarge { what: "a result", bytes: *bytes, limit: KEPT_BYTES_MAX });
        }
        rows.push(self.row.values().map(|value| value.map(<[u8]>::to_vec)).collect());
        Ok(())
    }

    /// The reply, and a tally for the next one.
    pub fn finish(&mut self) -> Reply {
        let (rows, affected) = (std::mem::take(&mut self.rows), std::mem::take(&mut self.affected));
        let has_row = std::mem::take(&mut self.has_row);
        let last_row = has_row.then(|| std::mem::take(&mut self.row));
        if std::mem::take(&mut self.is_skipped) {
            return Reply::Skipped;
        }
        match self.refused.take() {
            Some(error) => Reply::Refused(error),
            None => Reply::Done { rows, affected, last_row },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_keeps_nulls_apart_from_empty_values() {
        let mut row = TextRow::default();
        for value in [Some(&b"one"[..]), None, Some(b""), Some(b"four")] {
            row.push(value);
        }
        let values: Vec<_> = row.values().collect();
        assert_eq!(values, [Some(&b"one"[..]), None, Some(b""), Some(b"four")]);
        assert_eq!(row.value(4), None);
    }

    #[test]
    fn a_tally_starts_anew_after_each_reply() {
        let mut tally = ReplyTally { rows: 2, affected: 3, ..ReplyTally::default() };
        assert_eq!(tally.finish(), Reply::Done { rows: 2, affected: 3, last_row: None });
        assert_eq!(tally.finish(), Reply::Done { rows: 0, affected: 0, last_row: None });
    }

    #[test]
    fn kept_rows_are_bounded() {
        let mut tally = ReplyTally { keeping: Keeping::AllRows(Vec::new(), KEPT_BYTES_MAX), ..ReplyTally::default() };
        tally.row.push(Some(b"x"));
        assert!(matches!(tally.take_row(), Err(WireError::TooLarge { .. })));
    }
}
