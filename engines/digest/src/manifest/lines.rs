//! Lines of a manifest of any length, in bounded memory: what is longer than any line that means something is passed over as one.

use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};

/// LIMIT: bytes of a line: a path of 4096 bytes with every byte escaped, a value and a tag need less than a sixth of it.
const LINE_BYTES_MAX: usize = 64 << 10;

/// What ends lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnd {
    /// A line feed.
    NewLine,
    /// A zero byte.
    Zero,
    /// A zero byte, if there is one as far as is looked ahead: at least to the end of the first line that means something.
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
    from: BufReader<Chain<Cursor<Vec<u8>>, From>>,
    end: LineEnd,
    line: Vec<u8>,
    number: u64,
    bytes: u64,
}

impl<From: Read> ManifestLines<From> {
    /// Of a manifest.
    pub fn new(from: From, end: LineEnd) -> Self {
        let from = BufReader::with_capacity(LINE_BYTES_MAX, Cursor::default().chain(from));
        Self { from, end, line: Vec::new(), number: 0, bytes: 0 }
    }

    /// The number of the line that was read last, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Bytes of the lines that have been read.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The byte that ends lines. A pipe may give less than a line at a time, so it is read until enough is there.
    pub fn end(&mut self) -> io::Result<LineEnd> {
        if self.end == LineEnd::AsFound {
            let (ahead, from) = self.from.get_mut().get_mut();
            from.take(LINE_BYTES_MAX as u64).read_to_end(ahead.get_mut())?;
            self.end = found_end(ahead.get_ref());
        }
        Ok(self.end)
    }

    /// The next line; none at the end.
    pub fn read(&mut self) -> io::Result<Option<ManifestLine<'_>>> {
        let end = if self.end()? == LineEnd::Zero { 0 } else { b'\n' };
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

/// Neither a name nor a text holds a zero byte, but a name may hold line feeds: any zero byte ends lines.
fn found_end(begin: &[u8]) -> LineEnd {
    if begin.contains(&0) { LineEnd::Zero } else { LineEnd::NewLine }
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
        assert_eq!(lines(b"a\nb\0", LineEnd::AsFound), whole(&[b"a\nb"]), "a name may hold line feeds");
        assert_eq!(lines(b"a\nb\n", LineEnd::AsFound), whole(&[b"a", b"b"]));
        assert_eq!(lines(b"", LineEnd::AsFound), whole(&[]));
    }

    /// Gives a byte at a time, as a slow pipe does.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            let count = room.len().min(1);
            self.0.read(&mut room[..count])
        }
    }

    #[test]
    fn a_pipe_is_waited_for_until_it_is_known_what_ends_lines() {
        let mut lines = ManifestLines::new(Slow(b"a\nb\0c\0"), LineEnd::AsFound);
        assert_eq!(lines.end().expect("memory can be read"), LineEnd::Zero);
        assert_eq!(lines.read().expect("memory can be read"), Some(ManifestLine::Whole(b"a\nb")));
        assert_eq!(lines.read().expect("memory can be read"), Some(ManifestLine::Whole(b"c")));
    }

    #[test]
    fn a_line_that_never_ends_takes_no_memory() {
        let long = [b"x\n".as_slice(), &vec![b'y'; 3 * LINE_BYTES_MAX], b"\nz"].concat();
        assert_eq!(lines(&long, LineEnd::NewLine), [Some(b"x".to_vec()), None, Some(b"z".to_vec())]);
    }
}
