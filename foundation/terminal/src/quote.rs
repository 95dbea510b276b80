//! Names and texts from outside, made safe for a terminal: control characters, invalid UTF-8 and characters that hide or
//! reorder others are written as escapes. Not for shells: the result is to be read by people.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;

/// Writes a file name as `'name'`. Quotes, backslashes and bytes that are no text are escaped, so that two names never
/// look the same.
pub fn quote(name: impl AsRef<OsStr>) -> String {
    let mut quoted = String::from("'");
    for part in name.as_ref().as_bytes().utf8_chunks() {
        for letter in part.valid().chars() {
            match letter {
                '\'' | '\\' => quoted.extend(['\\', letter]),
                _ => push_escaped(&mut quoted, letter),
            }
        }
        for byte in part.invalid() {
            push_byte(&mut quoted, *byte);
        }
    }
    quoted.push('\'');
    quoted
}

/// The same for a name that has become text, whose bytes that are no text are written `\xNN` already: backslashes stay.
pub fn quote_text(name: &str) -> String {
    format!("'{}'", printable(name).replace('\'', "\\'"))
}

/// Escapes what could steer a terminal, and leaves quotes and backslashes as they are.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hostile) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        push_escaped(&mut escaped, letter);
    }
    Cow::Owned(escaped)
}

fn push_escaped(text: &mut String, letter: char) {
    match letter {
        '\n' => text.push_str("\\n"),
        '\t' => text.push_str("\\t"),
        '\r' => text.push_str("\\r"),
        _ if !is_hostile(letter) => text.push(letter),
        _ if letter.is_ascii() => push_byte(text, letter as u8),
        _ => text.extend(letter.escape_unicode()),
    }
}

fn push_byte(text: &mut String, byte: u8) {
    write!(text, "\\x{byte:02x}").expect("a string takes every write");
}

/// Control characters (also those of 0x80 to 0x9f, which some terminals obey), and characters without a shape of their own
/// that hide, join or reorder their neighbours.
fn is_hostile(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_are_only_quoted() {
        assert_eq!(quote("a b.gz"), "'a b.gz'");
        assert_eq!(quote("größe-数据"), "'größe-数据'");
        assert_eq!(quote(""), "''");
    }

    #[test]
    fn escape_sequences_do_not_reach_the_terminal() {
        assert_eq!(quote("\x1b]0;owned\x07\x1b[2J"), r"'\x1b]0;owned\x07\x1b[2J'");
        assert_eq!(quote("a\nb\tc\rd\x7f"), r"'a\nb\tc\rd\x7f'");
        assert_eq!(quote("\u{9b}31m"), r"'\u{9b}31m'");
    }

    #[test]
    fn invalid_bytes_and_quotes_are_escaped() {
        assert_eq!(quote(OsStr::from_bytes(b"a\xff\xc3")), r"'a\xff\xc3'");
        assert_eq!(quote(r"it's \x1b"), r"'it\'s \\x1b'");
        assert_eq!(quote_text("it's \\xff\x1b\n"), r"'it\'s \xff\x1b\n'", "escaped once");
    }

    #[test]
    fn characters_that_reorder_or_hide_are_shown() {
        assert_eq!(quote("exe.\u{202e}txt"), r"'exe.\u{202e}txt'");
        assert_eq!(quote("a\u{200b}b"), r"'a\u{200b}b'");
    }

    #[test]
    fn printable_text_keeps_its_quotes() {
        assert_eq!(printable("read 'a': it's \\ gone"), "read 'a': it's \\ gone");
        assert_eq!(printable("two\nlines\x1b[0m"), r"two\nlines\x1b[0m");
    }
}
