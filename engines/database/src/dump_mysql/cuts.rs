//! How a table is divided by a key: ranges are halved until the server's estimate of each is small, and neighbours are packed into parts of about
//! the same size. Where keys are dense or sparse does not matter, only how many rows are estimated.

use std::cmp::Ordering;

/// LIMIT: estimates that are asked for of a table.
const ESTIMATES_MAX: u32 = 2000;

/// Pieces are no more than a part's share of this.
const PIECES_A_PART: u64 = 4;

/// A value of a key's column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyValue {
    /// An integer.
    Number(i128),
    /// As it is written in SQL.
    Literal(String),
}

/// A range of a key: columns that are equal to values, and of the next one values from `low` up to `high`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// Values of the columns before.
    pub prefix: Vec<KeyValue>,
    /// The least value.
    pub low: KeyValue,
    /// Behind the last value; if `is_last`, that itself.
    pub high: KeyValue,
    /// Nothing is below.
    pub is_first: bool,
    /// Nothing is above.
    pub is_last: bool,
}

/// A table's key as it can be asked about.
pub trait KeySpace {
    /// Why it could not be asked.
    type Error;
    /// How many columns divide it.
    fn columns(&self) -> usize;
    /// The least and the greatest value of the column behind a prefix; none if there is no row.
    fn ends(&mut self, prefix: &[KeyValue]) -> Result<Option<(KeyValue, KeyValue)>, Self::Error>;
    /// How many rows a range is estimated to have.
    fn estimate(&mut self, range: &KeyRange) -> Result<u64, Self::Error>;
    /// A value within, greater than the least; none if the range has one value only.
    fn middle(&mut self, range: &KeyRange) -> Result<Option<KeyValue>, Self::Error>;
    /// The value after so many rows, as `middle`; none if it costs nothing to divide unevenly.
    fn counted(&mut self, range: &KeyRange, rows: u64) -> Result<Option<KeyValue>, Self::Error>;
}

/// Divides all of a table into ranges of about `rows_a_part`. None: the table has no row.
pub fn cut<Space: KeySpace>(space: &mut Space, rows_a_part: u64) -> Result<Vec<KeyRange>, Space::Error> {
    let Some(all) = whole(space, Vec::new())? else { return Ok(Vec::new()) };
    let mut cutter = Cutter { space, piece: (rows_a_part / PIECES_A_PART).max(1), asked: 0, done: Vec::new() };
    let estimate = cutter.estimate(&all)?;
    cutter.halve_all(all, estimate)?;
    Ok(packed(cutter.done, rows_a_part))
}

fn whole<Space: KeySpace>(space: &mut Space, prefix: Vec<KeyValue>) -> Result<Option<KeyRange>, Space::Error> {
    let ends = space.ends(&prefix)?;
    Ok(ends.map(|(low, high)| KeyRange { prefix, low, high, is_first: true, is_last: true }))
}

struct Cutter<'a, Space> {
    space: &'a mut Space,
    piece: u64,
    asked: u32,
    done: Vec<(KeyRange, u64)>,
}

impl<Space: KeySpace> Cutter<'_, Space> {
    fn estimate(&mut self, range: &KeyRange) -> Result<u64, Space::Error> {
        self.asked += 1;
        self.space.estimate(range)
    }

    /// In the order of the key, without recursion: a skewed key makes deep trees.
    fn halve_all(&mut self, range: KeyRange, estimate: u64) -> Result<(), Space::Error> {
        let mut open = vec![(range, estimate)];
        while let Some((range, estimate)) = open.pop() {
            if estimate <= self.piece || self.asked >= ESTIMATES_MAX {
                self.done.push((range, estimate));
                continue;
            }
            match self.halves(&range, estimate)? {
                Some((left, right)) => open.extend([right, left]),
                None => match self.deeper(&range)? {
                    Some(inner) => open.push((inner, estimate)),
                    None => self.done.push((range, estimate)),
                },
            }
        }
        Ok(())
    }

    #[expect(clippy::type_complexity, reason = "two of what the caller keeps in a list")]
    fn halves(
        &mut self,
        range: &KeyRange,
        estimate: u64,
    ) -> Result<Option<((KeyRange, u64), (KeyRange, u64))>, Space::Error> {
        let Some(middle) = self.space.middle(range)? else { return Ok(None) };
        let mut halves = range.halves(middle);
        let mut left = self.estimate(&halves.0)?;
        let is_uneven = left.saturating_mul(16) < estimate || left.saturating_mul(16) > estimate.saturating_mul(15);
        if is_uneven && let Some(counted) = self.counted(range, estimate)? {
            halves = range.halves(counted);
            left = self.estimate(&halves.0)?;
        }
        let right = self.estimate(&halves.1)?;
        Ok(Some(((halves.0, left), (halves.1, right))))
    }

    /// Estimates may be several times too large, so that there is no row so far away.
    fn counted(&mut self, range: &KeyRange, estimate: u64) -> Result<Option<KeyValue>, Space::Error> {
        let mut rows = estimate / 2;
        while rows > 0 {
            if let Some(found) = self.space.counted(range, rows)? {
                return Ok(Some(found));
            }
            rows /= 4;
        }
        Ok(None)
    }

    /// One value that many rows have is divided by the next column.
    fn deeper(&mut self, range: &KeyRange) -> Result<Option<KeyRange>, Space::Error> {
        let mut prefix = range.prefix.clone();
        prefix.push(range.low.clone());
        if prefix.len() >= self.space.columns() {
            return Ok(None);
        }
        whole(self.space, prefix)
    }
}

impl KeyRange {
    fn halves(&self, middle: KeyValue) -> (Self, Self) {
        let left = Self { high: middle.clone(), is_last: false, ..self.clone() };
        (left, Self { low: middle, is_first: false, ..self.clone() })
    }

    /// The middle of a range of integers.
    pub fn middle_number(&self) -> Option<KeyValue> {
        let (KeyValue::Number(low), KeyValue::Number(high)) = (&self.low, &self.high) else { return None };
        let behind = high + i128::from(self.is_last);
        match (behind - low).cmp(&2) {
            Ordering::Less => None,
            _ => Some(KeyValue::Number(low + (behind - low) / 2)),
        }
    }
}

/// Neighbours with the same prefix, as long as they are not too large together.
fn packed(pieces: Vec<(KeyRange, u64)>, rows_a_part: u64) -> Vec<KeyRange> {
    let mut parts: Vec<(KeyRange, u64)> = Vec::new();
    for (range, rows) in pieces {
        match parts.last_mut() {
            Some((last, sum))
                if last.prefix == range.prefix && last.high == range.low && *sum + rows <= rows_a_part =>
            {
                (last.high, last.is_last) = (range.high, range.is_last);
                *sum += rows;
            }
            _ => parts.push((range, rows)),
        }
    }
    parts.into_iter().map(|(range, _)| range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Rows in memory, whose estimates are right.
    struct Rows(BTreeSet<(i128, i128)>);

    impl Rows {
        fn within(&self, range: &KeyRange) -> u64 {
            let number =
                |value: &KeyValue| if let KeyValue::Number(number) = value { *number } else { panic!("a number") };
            let is_in = |value: i128| {
                (range.is_first || value >= number(&range.low)) && (range.is_last || value < number(&range.high))
            };
            let rows = self.0.iter().filter(|(first, second)| match range.prefix.first() {
                None => is_in(*first),
                Some(prefix) => *first == number(prefix) && is_in(*second),
            });
            rows.count() as u64
        }
    }

    impl KeySpace for Rows {
        type Error = std::convert::Infallible;

        fn columns(&self) -> usize {
            2
        }

        fn ends(&mut self, prefix: &[KeyValue]) -> Result<Option<(KeyValue, KeyValue)>, Self::Error> {
            let values: Vec<i128> = match prefix.first() {
                None => self.0.iter().map(|row| row.0).collect(),
                Some(first) => self.0.iter().filter(|row| KeyValue::Number(row.0) == *first).map(|row| row.1).collect(),
            };
            let ends = values.iter().min().zip(values.iter().max());
            Ok(ends.map(|(low, high)| (KeyValue::Number(*low), KeyValue::Number(*high))))
        }

        fn estimate(&mut self, range: &KeyRange) -> Result<u64, Self::Error> {
            Ok(self.within(range))
        }

        fn middle(&mut self, range: &KeyRange) -> Result<Option<KeyValue>, Self::Error> {
            Ok(range.middle_number())
        }

        fn counted(&mut self, _range: &KeyRange, _rows: u64) -> Result<Option<KeyValue>, Self::Error> {
            Ok(None)
        }
    }

    fn sizes(mut rows: Rows, rows_a_part: u64) -> Vec<u64> {
        let parts = cut(&mut rows, rows_a_part).expect("it cannot fail");
        let sizes: Vec<u64> = parts.iter().map(|part| rows.within(part)).collect();
        assert_eq!(sizes.iter().sum::<u64>(), rows.0.len() as u64, "each row is in one part: {parts:?}");
        sizes
    }

    fn most_to_mean(sizes: &[u64]) -> f64 {
        let mean = sizes.iter().sum::<u64>() as f64 / sizes.len() as f64;
        *sizes.iter().max().expect("some") as f64 / mean
    }

    #[test]
    fn parts_of_a_skewed_key_are_alike() {
        let clusters =
            [0, 1 << 40, -(1 << 50)].into_iter().flat_map(|begin| (0..4000).map(move |row| (begin + row, 0)));
        let sizes = sizes(Rows(clusters.collect()), 750);
        assert!(sizes.len() >= 16 && most_to_mean(&sizes) <= 1.5, "{sizes:?}");
        let quadratic = (0..8000_i128).map(|row| (row * row * row, 0));
        let sizes = self::sizes(Rows(quadratic.collect()), 500);
        assert!(most_to_mean(&sizes) <= 1.5, "{sizes:?}");
    }

    #[test]
    fn one_value_of_many_rows_is_divided_by_the_next_column() {
        let rows = (0..100)
            .map(|row| (row, row))
            .chain((0..5000).map(|row| (50, 1000 + row)))
            .chain((100..400).map(|row| (row, 1)));
        let sizes = sizes(Rows(rows.collect()), 500);
        assert!(sizes.len() > 10 && *sizes.iter().max().expect("some") <= 500, "{sizes:?}");
    }

    #[test]
    fn few_rows_are_one_part_and_none_are_none() {
        assert_eq!(sizes(Rows((0..10).map(|row| (row, 0)).collect()), 100), [10]);
        assert!(sizes(Rows(BTreeSet::new()), 100).is_empty());
        let ends = (i128::from(i64::MIN), i128::from(u64::MAX));
        assert_eq!(sizes(Rows([(ends.0, 0), (ends.1, 0)].into_iter().collect()), 1), [1, 1]);
    }
}
