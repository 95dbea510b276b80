//! The values of one row, as COPY reads them: quotes and escapes gone, NULL told from an empty value.

use super::{CsvFormat, RowFormat, TextFormat, without_line_end};
use memchr::{memchr, memchr2};

/// The values of a row. It is used again for the next one.
#[derive(Debug, Default)]
pub struct RowValues {
    bytes: Vec<u8>,
    /// Where each value ends, and whether it is one.
    ends: Vec<(usize, bool)>,
}

/// Why a row has no values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowDefect {
    /// A quote opens that nothing closes.
    #[error("a quoted field does not end")]
    OpenQuote,
    /// The last byte of a row takes the meaning of nothing.
    #[error("a backslash ends the row")]
    LoneBackslash,
}

impl RowValues {
    /// Reads a row, with or without its line end, which a carriage return may stand before.
    pub fn read(&mut self, format: &RowFormat, row: &[u8]) -> Result<(), RowDefect> {
        self.read_content(format, without_line_end(row))
    }

    /// Reads a row without its line end: a carriage return is the last value's.
    pub fn read_content(&mut self, format: &RowFormat, row: &[u8]) -> Result<(), RowDefect> {
        self.bytes.clear();
        self.ends.clear();
        match format {
            RowFormat::Csv(csv) => self.read_csv(csv, row),
            RowFormat::Text(text) => self.read_text(text, row),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none: only before a row was read.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All of them; none for NULL.
    pub fn iter(&self) -> impl Iterator<Item = Option<&[u8]>> {
        let begins = std::iter::once(0).chain(self.ends.iter().map(|(end, _)| *end));
        begins.zip(&self.ends).map(|(begin, (end, is_value))| is_value.then(|| &self.bytes[begin..*end]))
    }

    fn end_value(&mut self, begin: usize, null: &[u8], may_be_null: bool) {
        let is_null = may_be_null && &self.bytes[begin..] == null;
        self.ends.push((self.bytes.len(), !is_null));
    }

    fn read_csv(&mut self, csv: &CsvFormat, mut rest: &[u8]) -> Result<(), RowDefect> {
        let (mut begin, mut was_quoted) = (0, false);
        loop {
            let at = memchr2(csv.delimiter, csv.quote, rest).unwrap_or(rest.len());
            self.bytes.extend_from_slice(&rest[..at]);
            match rest.get(at) {
                Some(byte) if *byte == csv.quote => {
                    was_quoted = true;
                    rest = self.take_quoted(csv, &rest[at + 1..])?;
                }
                Some(_) => {
                    self.end_value(begin, &csv.null, !was_quoted);
                    (begin, was_quoted) = (self.bytes.len(), false);
                    rest = &rest[at + 1..];
                }
                None => {
                    self.end_value(begin, &csv.null, !was_quoted);
                    return Ok(());
                }
            }
        }
    }

    /// Takes what stands in quotes, and returns what follows them.
    fn take_quoted<'a>(&mut self, csv: &CsvFormat, mut rest: &'a [u8]) -> Result<&'a [u8], RowDefect> {
        loop {
            let at = memchr2(csv.quote, csv.escape, rest).ok_or(RowDefect::OpenQuote)?;
            self.bytes.extend_from_slice(&rest[..at]);
            let next = rest.get(at + 1).copied();
            let is_escape = rest[at] == csv.escape;
            match next {
                Some(byte) if is_escape && (byte == csv.quote || byte == csv.escape) => {
                    self.bytes.push(byte);
                    rest = &rest[at + 2..];
                }
                _ if rest[at] == csv.quote => return Ok(&rest[at + 1..]),
                _ => {
                    self.bytes.push(rest[at]);
                    rest = &rest[at + 1..];
                }
            }
        }
    }

    fn read_text(&mut self, text: &TextFormat, mut rest: &[u8]) -> Result<(), RowDefect> {
        loop {
            let (field, after) = split_text(text.delimiter, rest);
            if field == text.null {
                self.ends.push((self.bytes.len(), false));
            } else {
                unescape(field, &mut self.bytes)?;
                self.ends.push((self.bytes.len(), true));
            }
            let Some(after) = after else { return Ok(()) };
            rest = after;
        }
    }
}

/// The first field, and what follows its delimiter.
fn split_text(delimiter: u8, row: &[u8]) -> (&[u8], Option<&[u8]>) {
    let mut from = 0;
    while let Some(distance) = memchr2(delimiter, b'\\', row.get(from..).unwrap_or_default()) {
        let at = from + distance;
        if row[at] == delimiter {
            return (&row[..at], Some(&row[at + 1..]));
        }
        from = at + 2;
    }
    (row, None)
}

/// COMPAT: the escapes of COPY; any other byte behind a backslash stands for itself.
fn unescape(mut field: &[u8], to: &mut Vec<u8>) -> Result<(), RowDefect> {
    while let Some(at) = memchr(b'\\', field) {
        to.extend_from_slice(&field[..at]);
        let (byte, rest) = field[at + 1..].split_first().ok_or(RowDefect::LoneBackslash)?;
        let (byte, taken) = match byte {
            b'b' => (8, 0),
            b'f' => (12, 0),
            b'n' => (b'\n', 0),
            b'r' => (b'\r', 0),
            b't' => (b'\t', 0),
            b'v' => (11, 0),
            b'x' if rest.first().is_some_and(u8::is_ascii_hexdigit) => number(rest, 16, 2),
            b'0'..=b'7' => {
                let (value, digits) = number(&field[at + 1..], 8, 3);
                (value, digits - 1)
            }
            byte => (*byte, 0),
        };
        to.push(byte);
        field = &rest[taken..];
    }
    to.extend_from_slice(field);
    Ok(())
}

/// The number that `bytes` begin with, and how many digits it has. What exceeds a byte is cut off, as COPY does.
fn number(bytes: &[u8], base: u32, digits_most: usize) -> (u8, usize) {
    let digits = bytes.iter().take(digits_most).map_while(|byte| char::from(*byte).to_digit(base));
    let (mut value, mut count) = (0_u32, 0);
    for digit in digits {
        value = value * base + digit;
        count += 1;
    }
    (value as u8, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(format: &RowFormat, row: &[u8]) -> Vec<Option<String>> {
        let mut values = RowValues::default();
        values.read(format, row).expect("a row");
        values.iter().map(|value| value.map(|bytes| String::from_utf8_lossy(bytes).into_owned())).collect()
    }

    fn some(values: &[&str]) -> Vec<Option<String>> {
        values.iter().map(|value| (*value != "NULL").then(|| (*value).to_owned())).collect()
    }

    #[test]
    fn csv_tells_null_from_empty_by_quotes() {
        let csv = RowFormat::Csv(CsvFormat::default());
        assert_eq!(
            values(&csv, b"1,,\"\",\"a,\"\"b\"\"\n\",x\"y z\"w\r\n"),
            some(&["1", "NULL", "", "a,\"b\"\n", "xy zw"])
        );
        assert_eq!(values(&csv, b""), some(&["NULL"]));
        let dashes = RowFormat::Csv(CsvFormat { null: b"-".to_vec(), escape: b'\\', ..CsvFormat::default() });
        assert_eq!(values(&dashes, b"-,\"-\",,\"a\\\"b\\\\c\\d\"\n"), some(&["NULL", "-", "", "a\"b\\c\\d"]));
        let mut row = RowValues::default();
        assert_eq!(row.read(&csv, b"1,\"a"), Err(RowDefect::OpenQuote));
    }

    #[test]
    fn text_has_the_escapes_of_copy() {
        let text = RowFormat::Text(TextFormat::default());
        assert_eq!(
            values(&text, b"a\\tb\t\\N\t\t\\\\N\\\tc\t\\101\\x42\\q\n"),
            some(&["a\tb", "NULL", "", "\\N\tc", "ABq"])
        );
        let mut row = RowValues::default();
        assert_eq!(row.read(&text, b"a\\"), Err(RowDefect::LoneBackslash));
    }
}
