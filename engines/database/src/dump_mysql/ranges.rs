//! A table's key on the server: estimates by EXPLAIN, values in the middle by probes, and ranges as conditions.

use super::catalogue::{KeyColumn, KeyKind, MySqlKey, text};
use super::cuts::{KeyRange, KeySpace, KeyValue};
use crate::dump::DumpError;
use crate::target::{literal, quoted};
use wire::Connection;

/// Bytes of two texts, behind what they have in common, whose middle is computed.
const MIDDLE_BYTES: usize = 8;

/// EXPLAIN has so many columns in MySQL, where partitions stand before the type; MariaDB leaves them out.
const COLUMNS_OF_MYSQL: usize = 12;

/// A key that is asked about over a connection.
pub struct ServerKeys<'a> {
    connection: &'a mut Connection,
    table: String,
    key: &'a MySqlKey,
}

impl<'a> ServerKeys<'a> {
    /// Of a table, by its bare name.
    pub fn new(connection: &'a mut Connection, table: &str, key: &'a MySqlKey) -> Self {
        Self { connection, table: quoted(table, '`'), key }
    }

    fn ask(&mut self, sql: &str) -> Result<Vec<Vec<Option<Vec<u8>>>>, DumpError> {
        let what = || format!("look for places to divide {} at", self.table);
        self.connection.query(sql).map_err(|cause| DumpError::Server { what: what(), cause })
    }

    fn index(&self) -> String {
        forced_index(self.key)
    }

    /// A value of the range's column that is greater than its least one: the first at or above `least`, behind so many rows.
    fn probe(&mut self, range: &KeyRange, least: Option<&str>, rows: u64) -> Result<Option<KeyValue>, DumpError> {
        let column = &self.key.columns[range.prefix.len()];
        let name = quoted(&column.name, '`');
        let mut conditions = equalities(self.key, &range.prefix);
        conditions.push(format!("{name} > {}", range.low.sql()));
        conditions.push(format!("{name} {} {}", if range.is_last { "<=" } else { "<" }, range.high.sql()));
        conditions.extend(least.map(|least| format!("{name} >= {least}")));
        let sql = format!(
            "select {} from {}{} where {} order by {name} limit 1 offset {rows}",
            shown(column),
            self.table,
            self.index(),
            conditions.join(" and ")
        );
        let rows = self.ask(&sql)?;
        Ok(rows.first().and_then(|row| value(column, &text(row, 0))))
    }
}

impl KeySpace for ServerKeys<'_> {
    type Error = DumpError;

    fn columns(&self) -> usize {
        self.key.columns.len()
    }

    fn ends(&mut self, prefix: &[KeyValue]) -> Result<Option<(KeyValue, KeyValue)>, DumpError> {
        let column = &self.key.columns[prefix.len()];
        let name = quoted(&column.name, '`');
        let end = |order: &str| {
            format!(
                "(select {} from {}{}{} order by {name} {order} limit 1)",
                shown(column),
                self.table,
                self.index(),
                where_clause(&equalities(self.key, prefix))
            )
        };
        let sql = format!("select {}, {}", end("asc"), end("desc"));
        let rows = self.ask(&sql)?;
        let Some(row) = rows.first().filter(|row| row.iter().all(Option::is_some)) else { return Ok(None) };
        Ok(value(column, &text(row, 0)).zip(value(column, &text(row, 1))))
    }

    fn estimate(&mut self, range: &KeyRange) -> Result<u64, DumpError> {
        let sql = format!(
            "explain select 1 from {}{}{}",
            self.table,
            self.index(),
            where_clause(&conditions(self.key, range))
        );
        let rows = self.ask(&sql)?;
        let row = rows.first().map(Vec::as_slice).unwrap_or_default();
        let column = if row.len() >= COLUMNS_OF_MYSQL { 9 } else { 8 };
        // NULL: the server has found that nothing can match.
        Ok(text(row, column).parse().unwrap_or(0))
    }

    fn middle(&mut self, range: &KeyRange) -> Result<Option<KeyValue>, DumpError> {
        let middle = match self.key.columns[range.prefix.len()].kind {
            KeyKind::Integer => return Ok(range.middle_number()),
            KeyKind::Text => middle_text(&range.low, &range.high),
            KeyKind::Binary => middle_bytes(&range.low, &range.high),
            KeyKind::Counted => None,
        };
        // What is not in the order of the column's collation finds no row, or one at an end, which `counted` improves.
        let found = match middle {
            Some(middle) => self.probe(range, Some(&middle), 0)?,
            None => None,
        };
        match found {
            Some(found) => Ok(Some(found)),
            None => self.probe(range, None, 0),
        }
    }

    fn counted(&mut self, range: &KeyRange, rows: u64) -> Result<Option<KeyValue>, DumpError> {
        match self.key.columns[range.prefix.len()].kind {
            KeyKind::Integer => Ok(None),
            _ => self.probe(range, None, rows),
        }
    }
}

impl KeyValue {
    fn sql(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Literal(literal) => literal.clone(),
        }
    }
}

/// Has the server read a range by the key that it is a range of.
pub fn forced_index(key: &MySqlKey) -> String {
    format!(" force index ({})", quoted(&key.name, '`'))
}

/// The condition of a part; empty for all rows.
pub fn where_clause(conditions: &[String]) -> String {
    if conditions.is_empty() { String::new() } else { format!(" where {}", conditions.join(" and ")) }
}

/// What rows of a range fulfil.
pub fn conditions(key: &MySqlKey, range: &KeyRange) -> Vec<String> {
    let mut conditions = equalities(key, &range.prefix);
    let name = quoted(&key.columns[range.prefix.len()].name, '`');
    if !range.is_first {
        conditions.push(format!("{name} >= {}", range.low.sql()));
    }
    if !range.is_last {
        conditions.push(format!("{name} < {}", range.high.sql()));
    }
    conditions
}

fn equalities(key: &MySqlKey, prefix: &[KeyValue]) -> Vec<String> {
    let pairs = key.columns.iter().zip(prefix);
    pairs.map(|(column, value)| format!("{} = {}", quoted(&column.name, '`'), value.sql())).collect()
}

/// A column as it is asked for.
fn shown(column: &KeyColumn) -> String {
    let name = quoted(&column.name, '`');
    if column.kind == KeyKind::Binary { format!("hex({name})") } else { name }
}

/// A value that was shown.
fn value(column: &KeyColumn, shown: &str) -> Option<KeyValue> {
    match column.kind {
        KeyKind::Integer => shown.parse().ok().map(KeyValue::Number),
        KeyKind::Binary => Some(KeyValue::Literal(format!("x'{shown}'"))),
        KeyKind::Text | KeyKind::Counted => Some(KeyValue::Literal(literal(shown))),
    }
}

/// A text about halfway, made of letters that every collation knows; none if the two are not alike in kind.
fn middle_text(low: &KeyValue, high: &KeyValue) -> Option<String> {
    let bare = |value: &KeyValue| match value {
        KeyValue::Literal(text) if text.is_ascii() && !text.contains('\\') => {
            // Most collations have letters of both cases beside each other.
            Some(text[1..text.len() - 1].replace("''", "'").to_ascii_uppercase())
        }
        _ => None,
    };
    let (low, high) = (bare(low)?, bare(high)?);
    let middle = middle_of(low.as_bytes(), high.as_bytes(), (b' ', b'Z'))?;
    String::from_utf8(middle).ok().map(|middle| literal(&middle))
}

fn middle_bytes(low: &KeyValue, high: &KeyValue) -> Option<String> {
    let bytes = |value: &KeyValue| match value {
        KeyValue::Literal(text) => decode(text.strip_prefix("x'")?.strip_suffix('\'')?),
        KeyValue::Number(_) => None,
    };
    let middle = middle_of(&bytes(low)?, &bytes(high)?, (0, 0xff))?;
    let digits: String = middle.iter().map(|byte| format!("{byte:02X}")).collect();
    Some(format!("x'{digits}'"))
}

fn decode(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    pairs.collect()
}

/// Halfway between two strings, in the digits from the least to the greatest byte.
fn middle_of(low: &[u8], high: &[u8], (least, greatest): (u8, u8)) -> Option<Vec<u8>> {
    let common = low.iter().zip(high).take_while(|(one, other)| one == other).count();
    let base = u128::from(greatest - least) + 1;
    let number = |bytes: &[u8]| {
        let digit = |place: usize| {
            bytes.get(common + place).map_or(0, |byte| u128::from(byte.clamp(&least, &greatest) - least))
        };
        (0..MIDDLE_BYTES).fold(0, |number, place| number * base + digit(place))
    };
    let (low_number, high_number) = (number(low), number(high));
    let mut middle = low_number + high_number.checked_sub(low_number)? / 2;
    if middle == low_number {
        return None;
    }
    let mut digits = vec![0; MIDDLE_BYTES];
    for digit in digits.iter_mut().rev() {
        *digit = least + u8::try_from(middle % base).unwrap_or(0);
        middle /= base;
    }
    while digits.len() > 1 && digits.last() == Some(&least) {
        digits.pop();
    }
    Some([&low[..common], &digits].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> MySqlKey {
        let column = |name: &str, kind| KeyColumn { name: name.to_owned(), kind };
        MySqlKey {
            name: "PRIMARY".to_owned(),
            columns: vec![column("a", KeyKind::Integer), column("b`", KeyKind::Text)],
        }
    }

    #[test]
    fn ranges_are_open_at_the_ends_of_the_table() {
        let range = |is_first, is_last| KeyRange {
            prefix: Vec::new(),
            low: KeyValue::Number(-1),
            high: KeyValue::Number(5),
            is_first,
            is_last,
        };
        let clause = |is_first, is_last| where_clause(&conditions(&key(), &range(is_first, is_last)));
        assert_eq!(clause(true, true), "");
        assert_eq!(
            (clause(true, false), clause(false, true)),
            (" where `a` < 5".to_owned(), " where `a` >= -1".to_owned())
        );
        let inner = KeyRange {
            prefix: vec![KeyValue::Number(7)],
            low: KeyValue::Literal("'x'".to_owned()),
            ..range(false, true)
        };
        assert_eq!(where_clause(&conditions(&key(), &inner)), " where `a` = 7 and `b``` >= 'x'");
    }

    #[test]
    fn middles_are_between() {
        let literal = |text: &str| KeyValue::Literal(text.to_owned());
        let between = |low: &str, high: &str| middle_text(&literal(low), &literal(high));
        assert_eq!(between("'user1'", "'user9'").as_deref(), Some("'USER5'"));
        assert!(between("'a'", "'b'").is_some_and(|middle| "'A'" < middle.as_str() && middle.as_str() < "'B'"));
        assert_eq!(between("'a'", "'a'"), None);
        assert_eq!(between("'z'", "'a'"), None, "the collation has its own order");
        assert_eq!(between("'ä'", "'z'"), None);
        let bytes = middle_bytes(&literal("x'00'"), &literal("x'FFFF'"));
        assert_eq!(bytes.as_deref(), Some("x'7FFF80'"));
    }
}
