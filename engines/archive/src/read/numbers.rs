//! Numbers as headers have them: octal text of many habits, base 256 for what that cannot hold, decimals in pax records.
//! Everything is checked: what is no number is told as such, never guessed.

use crate::member::Time;

/// A number in a header's field: octal digits between blanks, ended by a blank or NUL; or, with the first bit set, base 256.
/// An empty field is 0, as v7 left what it did not use.
pub fn field(bytes: &[u8]) -> Option<i64> {
    match bytes.first() {
        Some(&first) if first & 0x80 != 0 => base_256(bytes),
        _ => octal(bytes).and_then(|number| i64::try_from(number).ok()),
    }
}

fn octal(bytes: &[u8]) -> Option<u64> {
    let text = bytes.trim_ascii_start();
    let end = text.iter().position(|byte| matches!(byte, b' ' | 0)).unwrap_or(text.len());
    // COMPAT: behind the end GNU tar, bsdtar and others leave whatever stands there.
    text[..end].iter().try_fold(0_u64, |number, &digit| match digit {
        b'0'..=b'7' => number.checked_mul(8)?.checked_add(u64::from(digit - b'0')),
        _ => None,
    })
}

/// Two's complement over the whole field, whose first bit is a mark.
fn base_256(bytes: &[u8]) -> Option<i64> {
    let is_negative = bytes[0] & 0x40 != 0;
    let first = if is_negative { bytes[0] | 0x80 } else { bytes[0] & 0x7f };
    let start: i128 = if is_negative { -1 } else { 0 };
    let mut number = start << 8 | i128::from(first);
    for &byte in &bytes[1..] {
        number = number.checked_mul(256)? | i128::from(byte);
        if number > i128::from(i64::MAX) || number < i128::from(i64::MIN) {
            return None;
        }
    }
    i64::try_from(number).ok()
}

/// Decimal digits and nothing else.
pub fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |number, &digit| match digit {
        b'0'..=b'9' => number.checked_mul(10)?.checked_add(u64::from(digit - b'0')),
        _ => None,
    })
}

/// Seconds with any number of decimals; more than nine are cut off, towards the past.
pub fn time(text: &[u8]) -> Option<Time> {
    let (is_negative, text) = match text.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let mut parts = text.splitn(2, |&byte| byte == b'.');
    let whole = decimal(parts.next()?)?;
    let fraction = parts.next().unwrap_or(b"0");
    if !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digits = fraction.iter().chain(std::iter::repeat(&b'0')).take(9);
    let nanoseconds = digits.fold(0, |number, digit| number * 10 + u32::from(digit - b'0'));
    let is_cut = fraction.get(9..).is_some_and(|rest| rest.iter().any(|&digit| digit != b'0'));
    if !is_negative {
        return Some(Time { seconds: i64::try_from(whole).ok()?, nanoseconds });
    }
    let seconds = 0_i64.checked_sub_unsigned(whole)?;
    let below = nanoseconds + u32::from(is_cut);
    match below {
        0 => Some(Time { seconds, nanoseconds: 0 }),
        below => Some(Time { seconds: seconds.checked_sub(1)?, nanoseconds: 1_000_000_000 - below }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octal_of_all_habits() {
        for (text, number) in [
            (&b"0000644\0"[..], Some(0o644)),
            (b"   644 \0", Some(0o644)),
            (b"000644 \0", Some(0o644)),
            (b"77777777777", Some(0o77_777_777_777)),
            (b"\0\0\0\0\0\0\0\0", Some(0)),
            (b"        ", Some(0)),
            (b"12\x00garbage", Some(0o12)),
            (b"0000684\0", None),
            (b"-1      ", None),
        ] {
            assert_eq!(field(text), number, "{text:?}");
        }
    }

    #[test]
    fn base_256_of_both_signs_and_too_large() {
        assert_eq!(field(&[0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]), Some(256));
        assert_eq!(field(&[0xff; 12]), Some(-1));
        assert_eq!(field(&[0x80, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]), Some(i64::MAX));
        assert_eq!(field(&[0x80, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(field(&[0x80, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]), None);
    }

    #[test]
    fn decimals_take_digits_only() {
        assert_eq!(decimal(b"00123"), Some(123));
        for text in [&b""[..], b"+1", b"-1", b" 1", b"1 ", b"0x1", b"18446744073709551616"] {
            assert_eq!(decimal(text), None, "{text:?}");
        }
    }

    #[test]
    fn times_count_forward_from_the_second() {
        let time_of = |seconds, nanoseconds| Some(Time { seconds, nanoseconds });
        assert_eq!(time(b"12.5"), time_of(12, 500_000_000));
        assert_eq!(time(b"12"), time_of(12, 0));
        assert_eq!(time(b"-1.25"), time_of(-2, 750_000_000));
        assert_eq!(time(b"-3"), time_of(-3, 0));
        assert_eq!(time(b"1.1234567899"), time_of(1, 123_456_789));
        assert_eq!(time(b"-0.0000000001"), time_of(-1, 999_999_999));
        assert_eq!(time(b"9223372036854775807"), time_of(i64::MAX, 0));
        assert_eq!(time(b"-9223372036854775808"), time_of(i64::MIN, 0));
        for beyond in [&b"9223372036854775808"[..], b"-9223372036854775809", b"-9223372036854775808.5"] {
            assert_eq!(time(beyond), None, "{}", String::from_utf8_lossy(beyond));
        }
        assert_eq!(time(b"1.x"), None);
        assert_eq!(time(b""), None);
    }
}
