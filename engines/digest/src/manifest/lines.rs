//! Lines of a manifest of any length, in bounded memory: what is longer than any line that means something is passed over as one.

use std::io::{self, BufRead, BufReader, Read};

/// LIMIT: bytes of a line: a path of 4096 bytes with every byte escaped, a value and a tag need less than a sixth of it.
const LINE_BYTES_MAX: usize = 64 << 10;

/// What ends lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnd {
    /// A line feed.
    NewLine,
    /// A zero byte.
    Zero,
    /// A zero byte, if there is one before the first line feed, or as far as is looked ahead.
    AsFound,
}

/// A line.
#[derive(Debug, PartialEq, Eq)]
pub enum ManifestLine<'a> {
    /// Its bytes, without what ends it.
    Whole(&'a [u8]),
    /// It is longer than any that means something.
    TooLong,
}

/// Reads lines.
pub struct ManifestLines<From: Read> {
    from: BufReader<From>,
    end: LineEnd,
    line: Vec<u8>,
    number: u64,
    bytes: u64,
}

impl<From: Read> ManifestLines<From> {
    /// Of a manifest.
    pub fn new(from: From, end: LineEnd) -> Self {
        Self { from: BufReader::with_capacity(LINE_BYTES_MAX, from), end, line: Vec::new(), number: 0, bytes: 0 }
    }

    /// The number of the line that was read last, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Bytes of the lines that have been read.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The next line; none at the end.
    pub fn read(&mut self) -> io::Result<Option<ManifestLine<'_>>> {
        if self.end == LineEnd::AsFound {
            self.end = found_end(self.from.fill_buf()?);
        }
        let end = if self.end == LineEnd::Zero { 0 } else { b'\n' };
        self.line.clear();
        let (mut any, mut is_too_long) = (false, false);
        loop {
            let there = match self.from.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                there => there?,
            };
            if there.is_empty() {
                break;
            }
            any = true;
            let at = there.iter().position(|byte| *byte == end);
            let part = &there[..at.unwrap_or(there.len())];
            is_too_long |= self.line.len() + part.len() > LINE_BYTES_MAX;
            if !is_too_long {
                self.line.extend_from_slice(part);
            }
            let used = at.map_or(there.len(), |at| at + 1);
            self.from.consume(used);
            self.bytes += used as u64;
            if at.is_some() {
                break;
            }
        }
        self.number += u64::from(any);
        Ok(match (any, is_too_long) {
            (false, _) => None,
            (true, true) => Some(ManifestLine::TooLong),
            (true, false) => Some(ManifestLine::Whole(&self.line)),
        })
    }
}

/// Names hold no zero byte: where one comes first, it ends lines.
fn found_end(begin: &[u8]) -> LineEnd {
    let first = begin.iter().find(|byte| matches!(byte, 0 | b'\n'));
    if first == Some(&0) { LineEnd::Zero } else { LineEnd::NewLine }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8], end: LineEnd) -> Vec<Option<Vec<u8>>> {
        let (mut lines, mut found) = (ManifestLines::new(text, end), Vec::new());
        while let Some(line) = lines.read().expect("memory can be read") {
            found.push(match line {
                ManifestLine::Whole(line) => Some(line.to_vec()),
                ManifestLine::TooLong => None,
            });
        }
        assert_eq!((lines.number(), lines.bytes()), (found.len() as u64, text.len() as u64));
        found
    }

    #[test]
    fn lines_end_as_their_manifest_says() {
        let whole = |parts: &[&[u8]]| parts.iter().map(|part| Some(part.to_vec())).collect::<Vec<_>>();
        assert_eq!(lines(b"a\n\nb", LineEnd::NewLine), whole(&[b"a", b"", b"b"]));
        assert_eq!(lines(b"a\nb\0c", LineEnd::Zero), whole(&[b"a\nb", b"c"]));
        assert_eq!(lines(b"a b\0c\n\0", LineEnd::AsFound), whole(&[b"a b", b"c\n"]));
        assert_eq!(lines(b"a\nb\0", LineEnd::AsFound), whole(&[b"a", b"b\0"]));
        assert_eq!(lines(b"", LineEnd::AsFound), whole(&[]));
    }

    #[test]
    fn a_line_that_never_ends_takes_no_memory() {
        let long = [b"x\n".as_slice(), &vec![b'y'; 3 * LINE_BYTES_MAX], b"\nz"].concat();
        assert_eq!(lines(&long, LineEnd::NewLine), [Some(b"x".to_vec()), None, Some(b"z".to_vec())]);
    }
}
