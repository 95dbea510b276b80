//! Numbers and words in kernel text, read by hand: these files are read ten thousand times a sample.

/// The number that `digits` is; none for anything but decimal digits that fit.
pub fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |value, &digit| {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 { None } else { value.checked_mul(10)?.checked_add(u64::from(digit)) }
    })
}

/// The words of `text`, whatever blanks stand between them.
pub fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty())
}

/// The lines of `text`, without their ends.
pub fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty())
}

/// What stands behind `key` on the line that begins with it.
pub fn value_of<'text>(text: &'text [u8], key: &[u8]) -> Option<&'text [u8]> {
    lines(text).find_map(|line| line.strip_prefix(key)).map(<[u8]>::trim_ascii)
}

/// The first number behind `key` on the line that begins with it.
pub fn number_of(text: &[u8], key: &[u8]) -> Option<u64> {
    value_of(text, key).and_then(|value| words(value).next()).and_then(number)
}

/// Bytes as text: what is no UTF-8 is written as `\xNN`, so that two names never become one. Control characters stay: who
/// shows the text escapes them.
pub fn text_of(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(bytes.len());
    for part in bytes.utf8_chunks() {
        text.push_str(part.valid());
        for byte in part.invalid() {
            write!(text, "\\x{byte:02x}").expect("a string takes every write");
        }
    }
    text
}

/// The beginning of `text`: at most so many bytes, and no half letter.
pub fn beginning(text: &str, bytes_most: usize) -> &str {
    let end = (0..=bytes_most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_numbers_in_range_are_numbers() {
        assert_eq!(number(b"0"), Some(0));
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        for bad in [&b""[..], b"-1", b"1 ", b"18446744073709551616", b"0x1", b"1.0"] {
            assert_eq!(number(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn keys_are_found_at_the_beginning_of_lines() {
        let text = b"Name:\tUid: 7\nUid:\t1000 1001\n";
        assert_eq!(number_of(text, b"Uid:"), Some(1000));
        assert_eq!(value_of(text, b"Gid:"), None);
    }

    #[test]
    fn bytes_that_are_no_text_stay_apart() {
        assert_eq!(text_of(b"a\xffb\n"), "a\\xffb\n");
        assert_eq!(text_of("größe".as_bytes()), "größe");
    }
}
