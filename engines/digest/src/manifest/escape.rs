//! Names in lines: what would break a line is escaped, and a backslash in front of the line says so.

use crate::algorithm::Algorithm;

/// Which bytes of a name are escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameEscape {
    /// Backslash, line feed and carriage return: coreutils.
    Lines,
    /// Backslash and line feed: b3sum. What is no UTF-8 becomes a replacement character, so that such a name cannot be verified.
    NewLines,
    /// None: lines end with a zero byte.
    None,
}

/// The name as a line has it, and whether the line begins with a backslash.
pub fn escaped_name(name: &[u8], escapes: NameEscape) -> (Vec<u8>, bool) {
    let letter = |byte: u8| match (escapes, byte) {
        (NameEscape::Lines, b'\r') => Some(b'r'),
        (NameEscape::Lines | NameEscape::NewLines, b'\n') => Some(b'n'),
        (NameEscape::Lines | NameEscape::NewLines, b'\\') => Some(b'\\'),
        _ => None,
    };
    if !name.iter().any(|byte| letter(*byte).is_some()) {
        return (name.to_vec(), false);
    }
    let mut escaped = Vec::with_capacity(name.len() + 8);
    for byte in name {
        match letter(*byte) {
            Some(letter) => escaped.extend([b'\\', letter]),
            None => escaped.push(*byte),
        }
    }
    (escaped, true)
}

/// A line of the BSD form without its end, as coreutils escapes it: `SHA256 (NAME) = VALUE`.
pub fn tagged_line(name: &[u8], algorithm: Algorithm, value: &str) -> Vec<u8> {
    let (name, is_escaped) = escaped_name(name, NameEscape::Lines);
    let begin = if is_escaped { "\\" } else { "" };
    let (before, behind) = (format!("{begin}{} (", algorithm.tag()), format!(") = {value}"));
    [before.as_bytes(), &name, behind.as_bytes()].concat()
}

/// The name that a line with a backslash in front means; none where an escape means nothing.
pub fn unescaped_name(name: &[u8], escapes: NameEscape) -> Option<Vec<u8>> {
    if name.contains(&0) {
        return None;
    }
    if escapes == NameEscape::None {
        return Some(name.to_vec());
    }
    let (mut plain, mut bytes) = (Vec::with_capacity(name.len()), name.iter());
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => plain.push(match bytes.next()? {
                b'n' => b'\n',
                b'r' => b'\r',
                b'\\' => b'\\',
                _ => return None,
            }),
            _ => plain.push(*byte),
        }
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tagged_line_is_that_of_cksum() {
        assert_eq!(tagged_line(b"a\nb", Algorithm::Crc32, "00"), b"\\CRC32 (a\\nb) = 00");
        assert_eq!(tagged_line(b"a\xff", Algorithm::Crc32, "00"), b"CRC32 (a\xff) = 00");
    }
}
