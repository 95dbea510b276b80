//! Numbers, texts and sections in bytes. LEB128 (DWARF 5, section 7.6); signed numbers are folded so that small ones of either sign
//! stay short.

use super::FrameError;
use crate::source::words::beginning;

/// LIMIT: bytes of a text: a command line may have 2 MiB, of which nobody reads more than this.
const TEXT_BYTES_MAX: usize = 4096;

/// What is written.
#[derive(Default)]
pub(super) struct FrameWriter {
    bytes: Vec<u8>,
}

impl FrameWriter {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(super) fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    pub(super) fn signed(&mut self, value: i64) {
        self.number(((value << 1) ^ (value >> 63)).cast_unsigned());
    }

    /// The beginning of a long text.
    pub(super) fn text(&mut self, text: &str) {
        let text = beginning(text, TEXT_BYTES_MAX);
        self.number(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// What `fill` writes, behind its number and length.
    pub(super) fn section(&mut self, number: u64, fill: impl FnOnce(&mut Self)) {
        let mut part = Self::default();
        fill(&mut part);
        self.number(number);
        self.number(part.bytes.len() as u64);
        self.bytes.append(&mut part.bytes);
    }
}

/// What is read.
pub(super) struct FrameReader<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
}

impl<'a> FrameReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, end: bytes.len() }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at >= self.end
    }

    pub(super) fn number(&mut self, what: &'static str) -> Result<u64, FrameError> {
        let began = self.at;
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.bytes[..self.end].get(self.at).copied().ok_or(FrameError::Ends { at: self.end, what })?;
            self.at += 1;
            let part = u64::from(byte & 0x7f);
            if part << shift >> shift != part {
                break;
            }
            value |= part << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(FrameError::Impossible { at: began, what })
    }

    pub(super) fn signed(&mut self, what: &'static str) -> Result<i64, FrameError> {
        let folded = self.number(what)?;
        Ok((folded >> 1).cast_signed() ^ -((folded & 1).cast_signed()))
    }

    /// A number that fits.
    pub(super) fn small(&mut self, what: &'static str) -> Result<u32, FrameError> {
        let at = self.at;
        u32::try_from(self.number(what)?).ok().ok_or(FrameError::Impossible { at, what })
    }

    pub(super) fn text(&mut self, what: &'static str) -> Result<String, FrameError> {
        let at = self.at;
        let length = usize::try_from(self.number(what)?).ok().filter(|length| *length <= TEXT_BYTES_MAX);
        let length = length.ok_or(FrameError::Impossible { at, what })?;
        let bytes = self.take(length, what)?;
        std::str::from_utf8(bytes).ok().map(str::to_owned).ok_or(FrameError::Impossible { at, what })
    }

    /// The next section: its number and what is in it.
    pub(super) fn section(&mut self) -> Result<Option<(u64, FrameReader<'a>)>, FrameError> {
        if self.is_empty() {
            return Ok(None);
        }
        let number = self.number("a section")?;
        Ok(Some((number, self.part()?)))
    }

    /// A part with its length before it.
    pub(super) fn part(&mut self) -> Result<FrameReader<'a>, FrameError> {
        let what = "a section";
        let at = self.at;
        let length = usize::try_from(self.number(what)?).ok().ok_or(FrameError::Impossible { at, what })?;
        let start = self.at;
        self.take(length, what)?;
        Ok(FrameReader { bytes: self.bytes, at: start, end: start + length })
    }

    fn take(&mut self, length: usize, what: &'static str) -> Result<&'a [u8], FrameError> {
        let end = self.at.checked_add(length).filter(|end| *end <= self.end);
        let end = end.ok_or(FrameError::Ends { at: self.end, what })?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_all_sizes_come_back() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX / 2, u64::MAX] {
            let mut writer = FrameWriter::default();
            writer.number(value);
            writer.signed(value.cast_signed());
            let bytes = writer.into_bytes();
            let mut reader = FrameReader::new(&bytes);
            assert_eq!((reader.number("x"), reader.signed("x")), (Ok(value), Ok(value.cast_signed())));
            assert!(reader.is_empty());
        }
    }

    #[test]
    fn what_is_too_long_or_too_short_is_refused() {
        let too_large = [0xff; 9].iter().chain(&[0x02]).copied().collect::<Vec<u8>>();
        assert_eq!(FrameReader::new(&too_large).number("x"), Err(FrameError::Impossible { at: 0, what: "x" }));
        assert_eq!(FrameReader::new(&[0x80]).number("x"), Err(FrameError::Ends { at: 1, what: "x" }));
        assert_eq!(FrameReader::new(&[3, b'a']).text("x"), Err(FrameError::Ends { at: 2, what: "x" }));
        assert_eq!(FrameReader::new(&[1, 0xff]).text("x"), Err(FrameError::Impossible { at: 0, what: "x" }));
        assert!(FrameReader::new(&[7, 9, 1]).section().is_err());
        let mut writer = FrameWriter::default();
        writer.text(&"ä".repeat(TEXT_BYTES_MAX));
        assert_eq!(FrameReader::new(&writer.into_bytes()).text("x").expect("cut").len(), TEXT_BYTES_MAX);
    }
}
