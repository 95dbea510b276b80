//! Text as words of a command line, and names as lists of them have them: quotes and backslashes. COMPAT: as GNU tar reads `TAR_OPTIONS`, lines of `-T` that
//! are options, and names. Pure.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// Words between blanks; quotes and backslashes keep blanks in them. None where a quote is not closed.
pub fn words(text: &[u8]) -> Option<Vec<OsString>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<Vec<u8>>, None);
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (quote, byte) {
            (None, b' ' | b'\t' | b'\n') => words.extend(word.take()),
            (None, b'\'' | b'"') => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (Some(open), byte) if byte == open => quote = None,
            (None | Some(b'"'), b'\\') => {
                let next = bytes.next()?;
                let word = word.get_or_insert_default();
                // In quotes it is itself unless what follows would end them.
                if quote.is_some() && !matches!(next, b'"' | b'\\') {
                    word.push(b'\\');
                }
                word.push(next);
            }
            (_, byte) => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    quote.is_none().then(|| words.into_iter().map(OsString::from_vec).collect())
}

/// A name of which what a backslash and a letter, or digits, stand for is put in their place: `\n`, `\\`, `\303`. Any other backslash is one.
pub fn unquoted(name: &[u8]) -> Vec<u8> {
    let (mut plain, mut at) = (Vec::with_capacity(name.len()), 0);
    while let Some(&byte) = name.get(at) {
        at += 1;
        let Some(&next) = name.get(at).filter(|_| byte == b'\\') else {
            plain.push(byte);
            continue;
        };
        let letter = match next {
            b'\\' => Some(b'\\'),
            b'a' => Some(0x07),
            b'b' => Some(0x08),
            b'f' => Some(0x0c),
            b'n' => Some(b'\n'),
            b'r' => Some(b'\r'),
            b't' => Some(b'\t'),
            b'v' => Some(0x0b),
            b'?' => Some(0x7f),
            _ => None,
        };
        let digits = name[at..].iter().take(3).take_while(|digit| (b'0'..=b'7').contains(digit)).count();
        match letter {
            Some(letter) => {
                plain.push(letter);
                at += 1;
            }
            None if digits > 0 => {
                let number =
                    name[at..at + digits].iter().fold(0_u32, |number, digit| number * 8 + u32::from(digit - b'0'));
                plain.push(number as u8);
                at += digits;
            }
            None => {
                plain.extend([b'\\', next]);
                at += 1;
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_parted_at_blanks_outside_of_quotes() {
        let parted = |text: &str| {
            let words = words(text.as_bytes())?;
            Some(words.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>())
        };
        let expected = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(parted("-v  --exclude='we ird' "), expected(&["-v", "--exclude=we ird"]));
        assert_eq!(parted(r#"-C "a \"b\" \c" d\ e '' 'f\g'"#), expected(&["-C", r#"a "b" \c"#, "d e", "", r"f\g"]));
        assert_eq!((parted(""), parted("'a"), parted("a\\")), (expected(&[]), None, None));
    }

    #[test]
    fn backslashes_in_names_stand_for_letters() {
        for (name, expected) in [
            (&b"a\\tb"[..], &b"a\tb"[..]),
            (b"\\\\n", b"\\n"),
            (b"\\303\\2748", b"\xc3\xbc8"),
            (b"\\08\\7", b"\x008\x07"),
            (b"a\\sb\\", b"a\\sb\\"),
            (b"plain", b"plain"),
        ] {
            assert_eq!(unquoted(name), expected, "{name:?}");
        }
    }
}
