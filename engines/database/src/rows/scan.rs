//! Where rows end: the last end in a block that grows, and every end in bytes that begin with a row. Looks at quotes, escapes and line ends alone.

use super::{CsvFormat, RowFormat};
use memchr::{memchr, memchr_iter, memchr2, memchr3, memrchr, memrchr2};
use std::ops::Range;

/// Looks for the last row end of a block. The block may grow; what was looked at is not looked at again.
#[derive(Clone, Debug, Default)]
pub struct RowScan {
    scanned: usize,
    state: QuoteState,
    end: usize,
}

/// Whether the next byte stands in quotes, and behind an escape there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct QuoteState {
    is_quoted: bool,
    is_escaped: bool,
}

impl RowScan {
    /// Looks at what was appended to `block` since the last time.
    pub fn advance(&mut self, format: &RowFormat, block: &[u8]) {
        let end = match format {
            RowFormat::Text(_) => last_text_end(block, self.scanned),
            RowFormat::Csv(csv) if csv.quote == csv.escape => self.by_parity(csv.quote, &block[self.scanned..]),
            RowFormat::Csv(csv) => self.by_states(csv, &block[self.scanned..]),
        };
        if let Some(end) = end {
            self.end = end;
        }
        self.scanned = block.len();
    }

    /// Where the last row that is whole ends; 0 if none is.
    pub fn end(&self) -> usize {
        self.end
    }

    /// Whether the block ends within quotes.
    pub fn ends_in_quotes(&self) -> bool {
        self.state.is_quoted
    }

    /// The same for the block without its whole rows.
    pub fn behind_the_end(&self) -> Self {
        Self { scanned: self.scanned - self.end, state: self.state, end: 0 }
    }

    /// Every quote opens or closes: a doubled one does both. So the number of quotes tells the state at the end, and from there back
    /// the first line end outside of quotes is looked for.
    fn by_parity(&mut self, quote: u8, new: &[u8]) -> Option<usize> {
        let odd = memchr_iter(quote, new).count() % 2 == 1;
        self.state.is_quoted ^= odd;
        let mut is_quoted = self.state.is_quoted;
        let mut until = new.len();
        while let Some(at) = memrchr2(quote, b'\n', &new[..until]) {
            if new[at] == quote {
                is_quoted = !is_quoted;
            } else if !is_quoted {
                return Some(self.scanned + at + 1);
            }
            until = at;
        }
        None
    }

    /// An escape in quotes takes the meaning from what follows it.
    fn by_states(&mut self, csv: &CsvFormat, new: &[u8]) -> Option<usize> {
        let mut end = None;
        let mut at = 0;
        while at < new.len() {
            if self.state.is_escaped {
                self.state.is_escaped = false;
                at += 1;
                continue;
            }
            let Some(distance) = memchr3(csv.quote, csv.escape, b'\n', &new[at..]) else { break };
            at += distance;
            match new[at] {
                byte if byte == csv.quote => self.state.is_quoted = !self.state.is_quoted,
                b'\n' if !self.state.is_quoted => end = Some(self.scanned + at + 1),
                byte if byte == csv.escape && self.state.is_quoted => self.state.is_escaped = true,
                _ => {}
            }
            at += 1;
        }
        end
    }
}

/// A line end of the text format ends a row unless a backslash takes its meaning, which a backslash may have lost itself.
fn last_text_end(block: &[u8], from: usize) -> Option<usize> {
    let mut until = block.len();
    while let Some(at) = memrchr(b'\n', &block[from..until]) {
        let at = from + at;
        if !is_escaped_text(block, at) {
            return Some(at + 1);
        }
        until = at;
    }
    None
}

fn is_escaped_text(block: &[u8], at: usize) -> bool {
    block[..at].iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// Every row of bytes that begin with one. The last need not have a line end.
#[derive(Clone, Debug)]
pub struct RowEnds<'a> {
    format: &'a RowFormat,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> RowEnds<'a> {
    pub(super) fn new(format: &'a RowFormat, bytes: &'a [u8]) -> Self {
        Self { format, bytes, at: 0 }
    }

    fn end(&self) -> usize {
        let rest = &self.bytes[self.at..];
        let end = match self.format {
            RowFormat::Text(_) => text_end(rest),
            RowFormat::Csv(csv) => csv_end(csv, rest),
        };
        self.at + end.unwrap_or(rest.len())
    }
}

impl Iterator for RowEnds<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        if self.at == self.bytes.len() {
            return None;
        }
        let begin = self.at;
        self.at = self.end();
        Some(begin..self.at)
    }
}

fn text_end(bytes: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + memchr(b'\n', &bytes[from..])?;
        if !is_escaped_text(bytes, at) {
            return Some(at + 1);
        }
        from = at + 1;
    }
}

fn csv_end(csv: &CsvFormat, bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr2(csv.quote, b'\n', bytes.get(at..)?)?;
        if bytes[at] == b'\n' {
            return Some(at + 1);
        }
        at = behind_quotes(csv, bytes, at + 1)?;
    }
}

/// Behind the quote that closes what was opened before `at`. A doubled quote closes and opens again.
fn behind_quotes(csv: &CsvFormat, bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr2(csv.quote, csv.escape, bytes.get(at..)?)?;
        if bytes[at] == csv.quote {
            return Some(at + 1);
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::TextFormat;
    use proptest::prelude::*;

    fn csv(escape: u8) -> RowFormat {
        RowFormat::Csv(CsvFormat { escape, ..CsvFormat::default() })
    }

    fn rows<'a>(format: &RowFormat, bytes: &'a [u8]) -> Vec<&'a str> {
        format.rows(bytes).map(|row| str::from_utf8(&bytes[row]).expect("text")).collect()
    }

    #[test]
    fn a_line_end_in_quotes_ends_no_row() {
        let bytes = b"1,\"a\nb\"\n2,\"say \"\"x\n\"\"\"\n3,c";
        assert_eq!(rows(&csv(b'"'), bytes), ["1,\"a\nb\"\n", "2,\"say \"\"x\n\"\"\"\n", "3,c"]);
        let bytes = b"1,\"a\\\"\nb\"\n2,\\\"x\ny\"\n3\n";
        assert_eq!(rows(&csv(b'\\'), bytes), ["1,\"a\\\"\nb\"\n", "2,\\\"x\ny\"\n", "3\n"]);
    }

    #[test]
    fn a_backslash_takes_the_meaning_from_a_line_end_of_text() {
        let text = RowFormat::Text(TextFormat::default());
        assert_eq!(rows(&text, b"a\\\nb\\\\\nc\\\\\\\nd\n"), ["a\\\nb\\\\\n", "c\\\\\\\nd\n"]);
    }

    fn last_end(format: &RowFormat, bytes: &[u8]) -> usize {
        let ends_whole = |row: &Range<usize>| {
            let mut scan = RowScan::default();
            scan.advance(format, &bytes[..row.end]);
            scan.end() == row.end
        };
        format.rows(bytes).filter(ends_whole).last().map_or(0, |row| row.end)
    }

    proptest! {
        /// However a block grows, its last end is that of its last whole row.
        #[test]
        fn a_growing_block_ends_where_its_last_row_does(
            bytes in proptest::collection::vec(proptest::sample::select(&b"a,\"\\\n"[..]), 0..60),
            steps in proptest::collection::vec(1_usize..9, 1..20),
            which in 0_usize..3,
        ) {
            let format = [csv(b'"'), csv(b'\\'), RowFormat::Text(TextFormat::default())][which].clone();
            let mut scan = RowScan::default();
            let (mut from, mut until) = (0, 0);
            let mut taken = 0;
            for step in steps.iter().cycle() {
                until = (until + step).min(bytes.len());
                scan.advance(&format, &bytes[from..until]);
                if scan.end() > 0 && step % 2 == 0 {
                    taken = from + scan.end();
                    from = taken;
                    scan = scan.behind_the_end();
                }
                if until == bytes.len() {
                    break;
                }
            }
            prop_assert_eq!(taken.max(from + scan.end()), last_end(&format, &bytes));
        }
    }
}
