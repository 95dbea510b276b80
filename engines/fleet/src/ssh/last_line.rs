//! The last line of what a program says, as plain text: the rest is forgotten while it arrives.

/// LIMIT: of a line that is shown.
const LINE_MAX: usize = 200;

/// The line before the last end of line, and the one that has begun.
#[derive(Debug, Default)]
pub(super) struct LastLine {
    whole: Vec<u8>,
    begun: Vec<u8>,
}

impl LastLine {
    pub fn push(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            match byte {
                b'\n' | b'\r' if self.begun.is_empty() => {}
                b'\n' | b'\r' => self.whole = std::mem::take(&mut self.begun),
                byte if self.begun.len() < LINE_MAX => self.begun.push(byte),
                _ => {}
            }
        }
    }

    /// None if nothing was said. Anything but ASCII becomes `?`: a terminal shows it.
    pub fn text(&self) -> Option<String> {
        let line = if self.begun.is_empty() { &self.whole } else { &self.begun };
        let plain = |&byte: &u8| if byte.is_ascii_graphic() || byte == b' ' { char::from(byte) } else { '?' };
        (!line.is_empty()).then(|| line.iter().map(plain).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(said: &[u8]) -> Option<String> {
        let mut line = LastLine::default();
        said.chunks(3).for_each(|piece| line.push(piece));
        line.text()
    }

    #[test]
    fn the_last_line_is_kept_as_plain_text() {
        assert_eq!(last(b"one\r\ntwo\r\n\r\n").as_deref(), Some("two"));
        assert_eq!(last(b"one\nbegun").as_deref(), Some("begun"));
        assert_eq!(last(b"\x1b[31mred\x9b").as_deref(), Some("?[31mred?"));
        assert_eq!(last(b"\n\n"), None);
        assert_eq!(last(&[b'x'; 9999]).map(|text| text.len()), Some(200));
    }
}
