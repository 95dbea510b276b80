//! Quantities as people read and write them: bytes, rates, times, shares, counts. Pure functions.
//! Measured values carry three significant digits; a value that is exact with fewer is written with fewer (`8 GB` is
//! exactly that, `8.00 GB` is about that).

use std::time::Duration;

/// Writes a number of bytes in decimal units: `512 B`, `41.2 GB`.
pub fn bytes(count: u64) -> String {
    let (number, unit) = scaled_bytes(count);
    format!("{number} {unit}")
}

/// Writes how many bytes of how many: `15.7 of 41.2 GB`, `315 MB of 41.2 GB`.
pub fn bytes_of(done: u64, total: u64) -> String {
    let ((number, unit), (_, unit_of_total)) = (scaled_bytes(done), scaled_bytes(total));
    let total = bytes(total);
    if unit == unit_of_total { format!("{number} of {total}") } else { format!("{number} {unit} of {total}") }
}

/// Writes a rate: `1.23 GB/s`. What is no rate (negative, infinite, not a number) is `-`.
pub fn rate(bytes_per_second: f64) -> String {
    if !bytes_per_second.is_finite() || bytes_per_second < 0.0 {
        return "-".to_owned();
    }
    format!("{}/s", bytes(bytes_per_second.round() as u64))
}

/// Writes a measured time: `640 ns`, `40.3 ms`, `33.4 s`, `3 min 55 s`, `1 h 02 min`, `2 d 03 h`.
pub fn duration(time: Duration) -> String {
    // Above this, three digits would be written as 60.0 s.
    if time >= Duration::from_millis(59_950) {
        return long_duration(time);
    }
    let nanoseconds = time.as_nanos();
    let units = [("ns", 1), ("us", 1000), ("ms", 1_000_000), ("s", 1_000_000_000)];
    let written =
        units.into_iter().find_map(|(unit, size)| Some(format!("{} {unit}", three_digits(nanoseconds, size)?)));
    written.unwrap_or_else(|| long_duration(time))
}

/// Writes an expected or remaining time, without false precision: `0 s`, `21 s`, `3 min 55 s`, `31 min`, `1 h 02 min`.
pub fn duration_coarse(time: Duration) -> String {
    let (seconds, minutes) = (rounded(time, 1), rounded(time, 60));
    match (seconds, minutes) {
        (0..60, _) => format!("{seconds} s"),
        (60..600, _) => format!("{} min {:02} s", seconds / 60, seconds % 60),
        (_, 0..60) => format!("{minutes} min"),
        _ => long_duration(Duration::from_secs(minutes.saturating_mul(60))),
    }
}

/// A minute and more: two units, each rounded, so that the larger is never overstated.
fn long_duration(time: Duration) -> String {
    let (seconds, minutes, hours) = (rounded(time, 1), rounded(time, 60), rounded(time, 3600));
    if seconds < 3600 {
        format!("{} min {:02} s", seconds / 60, seconds % 60)
    } else if minutes < 24 * 60 {
        format!("{} h {:02} min", minutes / 60, minutes % 60)
    } else {
        format!("{} d {:02} h", hours / 24, hours % 24)
    }
}

/// `time` in units of `unit_s` seconds, rounded to the nearest.
fn rounded(time: Duration, unit_s: u64) -> u64 {
    let half = Duration::from_millis(unit_s * 500);
    time.saturating_add(half).as_secs() / unit_s
}

/// Writes a measured number with four significant digits, at most six of them behind the point: `44.17`, `3.391`, `0.0042`.
/// What is not a number is `-`.
pub fn four_digits(value: f64) -> String {
    const DIGITS: i32 = 4;
    const BEHIND_POINT_MAX: i32 = 6;
    if !value.is_finite() {
        return "-".to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    // Rounding may bring one digit more: 9.9996 is 10.00.
    let magnitude = |value: f64| libm::log10(value.abs()).floor() as i32;
    let rounded = |places: i32| (value * 10_f64.powi(places)).round() / 10_f64.powi(places);
    let places = (DIGITS - 1 - magnitude(value)).min(BEHIND_POINT_MAX);
    let places = (DIGITS - 1 - magnitude(rounded(places)).max(-BEHIND_POINT_MAX)).clamp(0, BEHIND_POINT_MAX);
    format!("{:.*}", places as usize, rounded(places))
}

/// Writes a possible error with two significant digits, never smaller than it is: `0.021`, `3.2`, `17`. Nothing is `0`.
pub fn error_digits(error: f64) -> String {
    const BEHIND_POINT_MAX: i32 = 6;
    if !error.is_finite() {
        return "-".to_owned();
    }
    if error <= 0.0 {
        return "0".to_owned();
    }
    let places = (1 - libm::log10(error).floor() as i32).clamp(0, BEHIND_POINT_MAX);
    let scale = 10_f64.powi(places);
    // What is exact with two digits must not be rounded up for the sake of a binary fraction.
    format!("{:.*}", places as usize, (error * scale - 1e-9).ceil() / scale)
}

/// Writes a share of 0 to 1 with one decimal: `66.2 %`. What is not a number is `-`.
pub fn percentage(share: f64) -> String {
    if share.is_nan() { "-".to_owned() } else { format!("{:.1} %", positive_zero(share, 1000.0) * 100.0) }
}

/// Writes a share of 0 to 1 as a whole number: `97 %`. What is not a number is `-`.
pub fn percentage_whole(share: f64) -> String {
    if share.is_nan() { "-".to_owned() } else { format!("{:.0} %", positive_zero(share, 100.0) * 100.0) }
}

/// Keeps `-0.0 %` from being written for what rounds to zero in steps of 1 / `steps`.
fn positive_zero(share: f64, steps: f64) -> f64 {
    if (share * steps).round() == 0.0 { 0.0 } else { share }
}

/// Writes a count with separators: `18,874,368`.
pub fn integer(count: u64) -> String {
    let digits = count.to_string();
    let mut written = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            written.push(',');
        }
        written.push(digit);
    }
    written
}

/// The number and the unit in which it has one to three digits before the point.
fn scaled_bytes(count: u64) -> (String, &'static str) {
    let mut size: u128 = 1;
    for unit in ["B", "kB", "MB", "GB", "TB", "PB"] {
        if let Some(number) = three_digits(u128::from(count), size) {
            return (number, unit);
        }
        size *= 1000;
    }
    // LIMIT: the largest u64 is 18.4 EB, so that this always has a value.
    (three_digits(u128::from(count), size).unwrap_or_default(), "EB")
}

/// `value / unit` with three significant digits, or fewer if that is exact; none when it rounds to 1000 or more.
fn three_digits(value: u128, unit: u128) -> Option<String> {
    for (scale, decimals) in [(100, 2), (10, 1), (1, 0)] {
        let rounded = (value * scale + unit / 2) / unit;
        if rounded < 1000 {
            let number = format!("{}.{:0decimals$}", rounded / scale, rounded % scale);
            let number = if decimals == 0 { (rounded / scale).to_string() } else { number };
            let is_exact = rounded * unit == value * scale;
            let shortened =
                if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { &number };
            return Some(if is_exact { shortened.to_owned() } else { number });
        }
    }
    None
}

/// Why a text is no size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// Nothing, or nothing but a unit.
    #[error("no number before the unit; write a size such as 64M, 1.5GiB or 500kB")]
    NoNumber,
    /// Digits and points that make no number, or a sign.
    #[error("'{}' is not a number; write a size such as 64M, 1.5GiB or 500kB", crate::printable(.0))]
    NotANumber(String),
    /// Letters that are no unit.
    #[error(
        "unit '{}' is not known; K, M, G, T, P, E are powers of 1024 (also KiB ... EiB), kB ... EB are powers of 1000, B is bytes",
        crate::printable(.0)
    )]
    UnknownUnit(String),
    /// A half of a byte.
    #[error("{0} is not a whole number of bytes")]
    PartOfAByte(String),
    /// More than 64 bits can count.
    #[error("more than the largest size, 15.9E")]
    TooLarge,
}

/// Reads a size: `64M`, `1.5GiB`, `500kB`, `4096`.
///
/// COMPAT: as in GNU tools `K`, `M`, `G`... and `KiB`... are powers of 1024, `kB`, `MB`... powers of 1000. Case and a space
/// before the unit do not matter, except that a lone `b`, which is 512 bytes to some tools, is refused. What is not a whole
/// number of bytes is rounded down.
pub fn parse_bytes(text: &str) -> Result<u64, SizeError> {
    let text = text.trim();
    let unit_starts = text.find(|letter: char| letter.is_alphabetic()).unwrap_or(text.len());
    let (number, unit) = (text[..unit_starts].trim_end(), &text[unit_starts..]);
    if number.is_empty() {
        return Err(SizeError::NoNumber);
    }
    let unit_bytes = unit_bytes(unit).ok_or_else(|| SizeError::UnknownUnit(unit.to_owned()))?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let is_number = [whole, fraction].iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
    if !is_number || whole.len() + fraction.len() == 0 {
        return Err(SizeError::NotANumber(number.to_owned()));
    }
    let fraction = fraction.trim_end_matches('0');
    if unit_bytes == 1 && !fraction.is_empty() {
        return Err(SizeError::PartOfAByte(number.to_owned()));
    }
    let whole_bytes = decimal(whole).and_then(|whole| whole.checked_mul(unit_bytes)).ok_or(SizeError::TooLarge)?;
    let fraction_bytes = fraction_of(fraction, unit_bytes);
    u64::try_from(whole_bytes + fraction_bytes).ok().ok_or(SizeError::TooLarge)
}

fn unit_bytes(unit: &str) -> Option<u128> {
    if matches!(unit, "" | "B") {
        return Some(1);
    }
    let (letter, rest) = unit.split_at_checked(1)?;
    let power = "KMGTPE".find(&letter.to_ascii_uppercase())? as u32 + 1;
    match rest.to_ascii_uppercase().as_str() {
        "" | "IB" => Some(1024_u128.pow(power)),
        "B" => Some(1000_u128.pow(power)),
        _ => None,
    }
}

/// The number of some digits, if it can be one of bytes at all.
fn decimal(digits: &str) -> Option<u128> {
    if digits.is_empty() {
        return Some(0);
    }
    digits.parse::<u64>().ok().map(u128::from)
}

/// `0.digits * unit_bytes`, rounded down.
fn fraction_of(digits: &str, unit_bytes: u128) -> u128 {
    // LIMIT: in the largest unit, 2^60, all digits after the 19th together are less than a byte.
    let digits = &digits[..digits.len().min(19)];
    let numerator = digits.bytes().fold(0_u128, |sum, digit| sum * 10 + u128::from(digit - b'0'));
    numerator * unit_bytes / 10_u128.pow(digits.len() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits_are_four_and_no_more_than_make_sense() {
        let written = [44.17, 3.3911, 0.004_231_9, 100.0, 9.999_96, 12_345.6, 0.000_000_4, 0.0, -1.5, f64::NAN];
        let expected = ["44.17", "3.391", "0.004232", "100.0", "10.00", "12346", "0.000000", "0", "-1.500", "-"];
        assert_eq!(written.map(four_digits), expected);
    }

    #[test]
    fn errors_are_never_understated() {
        let errors = [0.021, 0.0201, 3.13, 17.2, 0.0, 0.000_000_01, 100.0];
        assert_eq!(errors.map(error_digits), ["0.021", "0.021", "3.2", "18", "0", "0.000001", "100"]);
    }

    #[test]
    fn bytes_have_three_significant_digits() {
        for (count, written) in [
            (0, "0 B"),
            (512, "512 B"),
            (999, "999 B"),
            (1000, "1 kB"),
            (1001, "1.00 kB"),
            (1234, "1.23 kB"),
            (1_500_000, "1.5 MB"),
            (12_345_678, "12.3 MB"),
            (520_123_456, "520 MB"),
            (41_212_345_678, "41.2 GB"),
            (8_000_000_000, "8 GB"),
            (8_000_000_001, "8.00 GB"),
            (100_000_000_000, "100 GB"),
            (u64::MAX, "18.4 EB"),
        ] {
            assert_eq!(bytes(count), written);
        }
    }

    #[test]
    fn rounding_up_moves_to_the_next_unit() {
        assert_eq!(bytes(999_499), "999 kB");
        assert_eq!(bytes(999_500), "1.00 MB");
        assert_eq!(bytes(9_994_999), "9.99 MB");
        assert_eq!(bytes(9_995_000), "10.0 MB");
        assert_eq!(bytes(99_950_000), "100 MB");
    }

    #[test]
    fn a_part_shares_the_unit_of_its_total_when_it_has_the_same() {
        assert_eq!(bytes_of(15_712_000_000, 41_212_345_678), "15.7 of 41.2 GB");
        assert_eq!(bytes_of(315_400_000, 41_212_345_678), "315 MB of 41.2 GB");
        assert_eq!(bytes_of(0, 512), "0 of 512 B");
    }

    #[test]
    fn rates_are_bytes_a_second() {
        assert_eq!(rate(1_234_567_890.4), "1.23 GB/s");
        assert_eq!(rate(0.4), "0 B/s");
        for no_rate in [f64::NAN, f64::INFINITY, -1.0] {
            assert_eq!(rate(no_rate), "-");
        }
    }

    #[test]
    fn durations_choose_the_unit_a_person_would() {
        for (nanoseconds, written) in [
            (0, "0 ns"),
            (640, "640 ns"),
            (180_400, "180 us"),
            (40_000_000, "40 ms"),
            (40_312_000, "40.3 ms"),
            (999_600_000, "1.00 s"),
            (1_234_000_000, "1.23 s"),
            (33_400_000_000, "33.4 s"),
            (59_949_000_000, "59.9 s"),
            (59_950_000_000, "1 min 00 s"),
            (235_000_000_000, "3 min 55 s"),
            (3_599_400_000_000, "59 min 59 s"),
            (3_599_500_000_000, "1 h 00 min"),
            (3_720_000_000_000, "1 h 02 min"),
            (86_399_000_000_000, "1 d 00 h"),
            (183_600_000_000_000, "2 d 03 h"),
        ] {
            assert_eq!(duration(Duration::from_nanos(nanoseconds)), written, "{nanoseconds}");
        }
    }

    #[test]
    fn coarse_durations_have_no_decimals() {
        for (milliseconds, written) in [
            (0, "0 s"),
            (21_400, "21 s"),
            (59_600, "1 min 00 s"),
            (235_000, "3 min 55 s"),
            (1_860_000, "31 min"),
            (3_569_000, "59 min"),
            (3_571_000, "1 h 00 min"),
            (3_720_000, "1 h 02 min"),
        ] {
            assert_eq!(duration_coarse(Duration::from_millis(milliseconds)), written, "{milliseconds}");
        }
        assert!(duration_coarse(Duration::MAX).ends_with(" h"));
    }

    #[test]
    fn shares_are_percentages() {
        assert_eq!(percentage(0.6624), "66.2 %");
        assert_eq!(percentage(-0.0001), "0.0 %");
        assert_eq!(percentage(-0.25), "-25.0 %");
        assert_eq!(percentage_whole(0.974), "97 %");
        assert_eq!(percentage_whole(-0.001), "0 %");
        assert_eq!((percentage(f64::NAN), percentage_whole(f64::NAN)), ("-".to_owned(), "-".to_owned()));
    }

    #[test]
    fn integers_have_separators() {
        for (count, written) in [(0, "0"), (999, "999"), (1000, "1,000"), (18_874_368, "18,874,368")] {
            assert_eq!(integer(count), written);
        }
        assert_eq!(integer(u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn sizes_are_read_as_gnu_tools_read_them() {
        for (text, expected) in [
            ("0", 0),
            ("4096", 4096),
            ("4096B", 4096),
            ("64M", 64 << 20),
            ("64m", 64 << 20),
            ("64 MiB", 64 << 20),
            ("1.5GiB", 3 << 29),
            ("500kB", 500_000),
            ("500KB", 500_000),
            (".5K", 512),
            ("2.K", 2048),
            ("0.3k", 307),
            ("1.0", 1),
            ("15E", 15 << 60),
            ("18446744073709551615", u64::MAX),
            ("0.0000000000000000000000000001E", 0),
        ] {
            assert_eq!(parse_bytes(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused_with_the_reason() {
        let owned = str::to_owned;
        for (text, error) in [
            ("", SizeError::NoNumber),
            ("M", SizeError::NoNumber),
            ("-1M", SizeError::NotANumber(owned("-1"))),
            ("1,5G", SizeError::NotANumber(owned("1,5"))),
            ("1.2.3K", SizeError::NotANumber(owned("1.2.3"))),
            (".", SizeError::NotANumber(owned("."))),
            ("64Q", SizeError::UnknownUnit(owned("Q"))),
            ("64b", SizeError::UnknownUnit(owned("b"))),
            ("64Mbit", SizeError::UnknownUnit(owned("Mbit"))),
            ("64M 3", SizeError::UnknownUnit(owned("M 3"))),
            ("64é", SizeError::UnknownUnit(owned("é"))),
            ("1.5", SizeError::PartOfAByte(owned("1.5"))),
            ("16E", SizeError::TooLarge),
            ("18446744073709551616", SizeError::TooLarge),
            ("99999999999999999999999999999999999999999999E", SizeError::TooLarge),
        ] {
            assert_eq!(parse_bytes(text), Err(error), "{text}");
        }
    }

    #[test]
    fn size_errors_tell_what_to_write() {
        let error = parse_bytes("6\u{1b}4M").expect_err("no number");
        assert_eq!(error.to_string(), r"'6\x1b4' is not a number; write a size such as 64M, 1.5GiB or 500kB");
    }
}
