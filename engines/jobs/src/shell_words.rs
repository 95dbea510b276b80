//! Words as a line that a shell reads back as the same words, and such a line divided again: what GNU parallel's job log holds.
//! Knows quoting alone: no variables, no substitution, no operators.

/// How bytes that would break a line are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controls {
    /// As they are, between quotes.
    Raw,
    /// As `$'\n'`, so that the line stays one line.
    Escaped,
}

/// One line of `words`.
pub fn join<'a>(words: impl Iterator<Item = &'a [u8]>, controls: Controls) -> Vec<u8> {
    words.map(|word| quoted(word, controls)).collect::<Vec<_>>().join(&b' ')
}

fn quoted(word: &[u8], controls: Controls) -> Vec<u8> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"%+,-./:=@_".contains(byte);
    if !word.is_empty() && word.iter().all(is_plain) {
        return word.to_vec();
    }
    if controls == Controls::Escaped && word.iter().any(u8::is_ascii_control) {
        return escaped(word);
    }
    let mut text = vec![b'\''];
    for &byte in word {
        match byte {
            b'\'' => text.extend_from_slice(b"'\\''"),
            other => text.push(other),
        }
    }
    text.push(b'\'');
    text
}

/// COMPAT: a word as GNU parallel quotes it for a shell, byte by byte.
pub(crate) fn as_gnu_parallel(word: &[u8]) -> Vec<u8> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.+/".contains(byte);
    if word.is_empty() || word.iter().all(is_plain) {
        return if word.is_empty() { b"''".to_vec() } else { word.to_vec() };
    }
    let pieces: Vec<&[u8]> = word.split(|&byte| byte == b'\'').collect();
    let text = [&b"'"[..], &pieces.join(&b"'\"'\"'"[..]), b"'"].concat();
    let text = text.strip_prefix(b"''").unwrap_or(&text);
    text.strip_suffix(b"''").unwrap_or(text).to_vec()
}

fn escaped(word: &[u8]) -> Vec<u8> {
    let mut text = b"$'".to_vec();
    for &byte in word {
        match byte {
            b'\n' => text.extend_from_slice(b"\\n"),
            b'\t' => text.extend_from_slice(b"\\t"),
            b'\'' | b'\\' => text.extend_from_slice(&[b'\\', byte]),
            byte if byte.is_ascii_control() => text.extend_from_slice(format!("\\x{byte:02x}").as_bytes()),
            byte => text.push(byte),
        }
    }
    text.push(b'\'');
    text
}

/// The words of a line; none where a quotation has no end.
pub fn split(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let (mut words, mut word, mut at) = (Vec::new(), None::<Vec<u8>>, 0);
    while let Some(&byte) = line.get(at) {
        at += 1;
        match byte {
            b' ' | b'\t' | b'\n' => words.extend(word.take()),
            b'\'' => {
                let end = at + line[at..].iter().position(|&byte| byte == b'\'')?;
                word.get_or_insert_default().extend_from_slice(&line[at..end]);
                at = end + 1;
            }
            b'"' => at = in_double_quotes(line, at, word.get_or_insert_default())?,
            b'$' if line.get(at) == Some(&b'\'') => at = in_dollar_quotes(line, at + 1, word.get_or_insert_default())?,
            b'\\' => {
                word.get_or_insert_default().push(*line.get(at)?);
                at += 1;
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Some(words)
}

fn in_double_quotes(line: &[u8], mut at: usize, word: &mut Vec<u8>) -> Option<usize> {
    loop {
        match *line.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' if line.get(at + 1).is_some_and(|next| b"\\\"$`".contains(next)) => {
                word.push(line[at + 1]);
                at += 2;
            }
            other => {
                word.push(other);
                at += 1;
            }
        }
    }
}

fn in_dollar_quotes(line: &[u8], mut at: usize, word: &mut Vec<u8>) -> Option<usize> {
    loop {
        match *line.get(at)? {
            b'\'' => return Some(at + 1),
            b'\\' => {
                let (byte, length) = match *line.get(at + 1)? {
                    b'n' => (b'\n', 2),
                    b't' => (b'\t', 2),
                    b'x' => {
                        let digits = std::str::from_utf8(line.get(at + 2..at + 4)?).ok()?;
                        (u8::from_str_radix(digits, 16).ok()?, 4)
                    }
                    other => (other, 2),
                };
                word.push(byte);
                at += length;
            }
            other => {
                word.push(other);
                at += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_of_shells_and_of_gnu_parallel_are_divided() {
        let words = |line: &str| split(line.as_bytes()).expect("it is closed");
        assert_eq!(words(r#"echo 'a'"'"'b' c\ d "" "$x\"y""#), [&b"echo"[..], b"a'b", b"c d", b"", b"$x\"y"]);
        assert_eq!(words("  a\t b "), [b"a", b"b"]);
        assert_eq!(words(r"$'a\n\x07\'b'"), [b"a\n\x07'b"]);
        for line in ["'a", "\"a", "a\\", "$'a", "$'\\x0"] {
            assert_eq!(split(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn control_bytes_do_not_break_a_line() {
        let line = join([&b"a\nb"[..], b"c'\x01"].into_iter(), Controls::Escaped);
        assert_eq!(line, br"$'a\nb' $'c\'\x01'");
        assert_eq!(join([&b"a\nb"[..]].into_iter(), Controls::Raw), b"'a\nb'");
    }

    proptest! {
        #[test]
        fn what_is_joined_divides_into_the_same_words(words in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9), 0..6)) {
            for controls in [Controls::Raw, Controls::Escaped] {
                let line = join(words.iter().map(Vec::as_slice), controls);
                prop_assert_eq!(split(&line).expect("closed"), words.clone());
                prop_assert!(controls == Controls::Raw || !line.contains(&b'\n'));
            }
        }
    }
}
