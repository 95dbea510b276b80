//! Refused rows: which of a chunk's they are, and where they go. What the database refuses at a known row is divided there; what it refuses without a
//! row is halved until one is left.

use super::control::LoadControl;
use crate::chunks::{RowChunk, RowPlace};
use crate::error::LoadFailure;
use crate::rows::RowFormat;
use crate::target::{LoadSession, RowRefusal, SessionFailure};
use std::io;
use std::ops::Range;

/// A row that the database did not take.
#[derive(Debug)]
pub struct RejectedRow<'a> {
    /// Where it stands.
    pub place: RowPlace,
    /// The row with its line end.
    pub row: &'a [u8],
    /// The database's words, or ours.
    pub message: &'a str,
}

/// Takes refused rows, from any thread.
pub type TakeRejected<'a> = dyn Fn(&RejectedRow<'_>) -> io::Result<()> + Sync + 'a;

/// Where refused rows go.
pub struct Rejects<'a> {
    /// Gets each of them.
    pub take: &'a TakeRejected<'a>,
    /// But no more than this; the load ends at the next one.
    pub limit: u64,
}

impl Rejects<'_> {
    fn put(&self, row: &RejectedRow<'_>, control: &LoadControl) -> Result<(), LoadFailure> {
        if control.rejected() > self.limit {
            return Err(LoadFailure::Rejects { limit: self.limit });
        }
        (self.take)(row).map_err(LoadFailure::RejectFile)
    }
}

/// What a chunk came to.
pub struct Narrowed {
    /// Rows taken.
    pub rows: u64,
    /// Rows refused: where in the chunk, and why.
    pub refused: Vec<(Range<usize>, String)>,
}

/// Loads all rows of a chunk but those that are refused, within the transaction that is open. LIMIT: of more than `refused_max` rows none is looked for.
pub fn load_narrowing(
    session: &mut dyn LoadSession,
    format: &RowFormat,
    bytes: &[u8],
    refused_max: u64,
) -> Result<Narrowed, SessionFailure> {
    let mut narrowed = Narrowed { rows: 0, refused: Vec::new() };
    let mut left: Vec<Range<usize>> = std::iter::once(0..bytes.len()).collect();
    while let Some(part) = left.pop() {
        session.execute("savepoint mh_part")?;
        match session.load(&bytes[part.clone()]) {
            Ok(rows) => {
                session.execute("release savepoint mh_part")?;
                narrowed.rows += rows;
            }
            Err(SessionFailure::Rows(refusals)) => {
                session.execute("rollback to savepoint mh_part")?;
                divide(format, bytes, part, refusals, &mut left, &mut narrowed.refused);
                if narrowed.refused.len() as u64 > refused_max {
                    break;
                }
            }
            Err(other) => return Err(other),
        }
    }
    narrowed.refused.sort_by_key(|(row, _)| row.start);
    Ok(narrowed)
}

/// Takes the refused rows out of a part; what is left of it is to be loaded again.
fn divide(
    format: &RowFormat,
    bytes: &[u8],
    part: Range<usize>,
    refusals: Vec<RowRefusal>,
    left: &mut Vec<Range<usize>>,
    refused: &mut Vec<(Range<usize>, String)>,
) {
    let rows: Vec<Range<usize>> =
        format.rows(&bytes[part.clone()]).map(|row| part.start + row.start..part.start + row.end).collect();
    if rows.len() == 1 {
        let message = refusals.into_iter().next().map(|refusal| refusal.message).unwrap_or_default();
        return refused.push((part, message));
    }
    let known: Vec<usize> = refusals.iter().filter_map(|refusal| refusal.row.filter(|row| *row < rows.len())).collect();
    if known.is_empty() {
        let middle = rows[rows.len() / 2].start;
        left.extend([middle..part.end, part.start..middle]);
        return;
    }
    let mut begin = part.start;
    let mut parts = Vec::new();
    for number in known {
        let row = rows[number].clone();
        // It is tried alone: a good row is not put aside because lines were counted in another way.
        parts.extend([begin..row.start, row.clone()]);
        begin = row.end;
    }
    parts.push(begin..part.end);
    // The first is the last that was put there.
    left.extend(parts.into_iter().filter(|part| !part.is_empty()).rev());
}

/// Writes the refused rows of a chunk away.
pub fn put_away(
    rejects: &Rejects<'_>,
    control: &LoadControl,
    chunk: &RowChunk,
    refused: &[(Range<usize>, String)],
) -> Result<(), LoadFailure> {
    for (row, message) in refused {
        let rejected = RejectedRow { place: chunk.place(row.start), row: &chunk.bytes[row.clone()], message };
        rejects.put(&rejected, control)?;
    }
    Ok(())
}

/// How many may still be refused.
pub fn refused_left(rejects: &Rejects<'_>, control: &LoadControl) -> u64 {
    rejects.limit.saturating_sub(control.rows_rejected())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::TextFormat;
    use proptest::prelude::*;
    use wire::Canceller;

    /// Refuses rows that begin with x, at their place or without it, all at once or the first.
    struct Refusing {
        tells_rows: bool,
        tells_all: bool,
        taken: Vec<Vec<u8>>,
        kept: usize,
    }

    impl LoadSession for Refusing {
        fn execute(&mut self, sql: &str) -> Result<(), SessionFailure> {
            match sql {
                "savepoint mh_part" => self.kept = self.taken.len(),
                "rollback to savepoint mh_part" => self.taken.truncate(self.kept),
                _ => {}
            }
            Ok(())
        }

        fn load(&mut self, rows: &[u8]) -> Result<u64, SessionFailure> {
            let format = RowFormat::Text(TextFormat::default());
            let rows: Vec<&[u8]> = format.rows(rows).map(|row| &rows[row]).collect();
            self.taken.extend(rows.iter().map(|row| row.to_vec()));
            let refused = rows.iter().enumerate().filter(|(_, row)| row.starts_with(b"x"));
            let refusals = refused
                .map(|(number, _)| RowRefusal { row: self.tells_rows.then_some(number), message: "no".to_owned() });
            let mut refusals: Vec<_> = refusals.collect();
            if !self.tells_all {
                refusals.truncate(1);
            }
            if refusals.is_empty() { Ok(rows.len() as u64) } else { Err(SessionFailure::Rows(refusals)) }
        }

        fn canceller(&self) -> Option<Canceller> {
            None
        }

        fn number(&self) -> Option<u32> {
            None
        }
    }

    proptest! {
        #[test]
        fn good_rows_are_taken_once_and_in_order_and_bad_ones_found(
            rows in proptest::collection::vec(proptest::sample::select(&["a\n", "bb\n", "x1\n", "x\n"][..]), 1..40),
            tells_rows: bool,
            tells_all: bool,
        ) {
            let bytes = rows.concat().into_bytes();
            let mut session = Refusing { tells_rows, tells_all, taken: Vec::new(), kept: 0 };
            let format = RowFormat::Text(TextFormat::default());
            let narrowed = load_narrowing(&mut session, &format, &bytes, u64::MAX).expect("it goes on");
            let good: Vec<Vec<u8>> = rows.iter().filter(|row| !row.starts_with('x')).map(|row| row.as_bytes().to_vec()).collect();
            prop_assert_eq!(narrowed.rows as usize, good.len());
            prop_assert_eq!(session.taken, good);
            let bad: Vec<&[u8]> = narrowed.refused.iter().map(|(row, _)| &bytes[row.clone()]).collect();
            prop_assert_eq!(bad.concat(), rows.iter().filter(|row| row.starts_with('x')).copied().collect::<String>().into_bytes());
        }
    }
}
