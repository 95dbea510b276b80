//! How rows are written in a file: CSV and the text format, both as PostgreSQL's COPY defines them. Where rows end is in `scan.rs`, what stands in one
//! in `values.rs`. Knows no file and no database.

mod scan;
mod values;

use memchr::memchr3;
pub use scan::{RowEnds, RowScan};
pub use values::{RowDefect, RowValues};

/// How rows are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowFormat {
    /// Fields may be quoted, and a quoted one may hold line ends.
    Csv(CsvFormat),
    /// A backslash stands before what would end a field or a row.
    Text(TextFormat),
}

/// COPY's FORMAT csv.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvFormat {
    /// Between two fields.
    pub delimiter: u8,
    /// Around a field.
    pub quote: u8,
    /// In a quoted field, before a quote or another escape.
    pub escape: u8,
    /// A field without quotes that is this is NULL.
    pub null: Vec<u8>,
}

/// COPY's FORMAT text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextFormat {
    /// Between two fields.
    pub delimiter: u8,
    /// A field that is this is NULL.
    pub null: Vec<u8>,
}

impl Default for CsvFormat {
    fn default() -> Self {
        Self { delimiter: b',', quote: b'"', escape: b'"', null: Vec::new() }
    }
}

impl Default for TextFormat {
    fn default() -> Self {
        Self { delimiter: b'\t', null: b"\\N".to_vec() }
    }
}

impl RowFormat {
    /// Its name in COPY.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Csv(_) => "csv",
            Self::Text(_) => "text",
        }
    }

    /// Between two fields.
    pub fn delimiter(&self) -> u8 {
        match self {
            Self::Csv(csv) => csv.delimiter,
            Self::Text(text) => text.delimiter,
        }
    }

    /// What stands for NULL.
    pub fn null(&self) -> &[u8] {
        match self {
            Self::Csv(csv) => &csv.null,
            Self::Text(text) => &text.null,
        }
    }

    /// The rows of `bytes`, which begin with one.
    pub fn rows<'a>(&'a self, bytes: &'a [u8]) -> RowEnds<'a> {
        RowEnds::new(self, bytes)
    }
}

/// Writes a value as COPY's text and LOAD DATA read it: a backslash stands before what would end it.
pub fn escape(mut value: &[u8], to: &mut Vec<u8>) {
    while let Some(at) = memchr3(b'\t', b'\n', b'\\', value) {
        to.extend_from_slice(&value[..at]);
        to.extend_from_slice(match value[at] {
            b'\t' => b"\\t",
            b'\n' => b"\\n",
            _ => b"\\\\",
        });
        value = &value[at + 1..];
    }
    to.extend_from_slice(value);
}

/// A row without its line end: `\n`, or `\r\n`.
pub fn without_line_end(row: &[u8]) -> &[u8] {
    let row = row.strip_suffix(b"\n").unwrap_or(row);
    row.strip_suffix(b"\r").unwrap_or(row)
}
