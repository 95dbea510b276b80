//! Durations as people type them: `2`, `500ms`, `10m`, `1h30m`. Pure. The only reader of times in `commands`.

use std::time::Duration;

/// Why a text is no duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// No number, no known unit, or units that do not descend.
    #[error("not a time; write one such as 10, 500ms, 1.5h or 1h30m (a bare number is seconds)")]
    NotATime,
    /// More than can be counted.
    #[error("longer than any time that can be measured")]
    TooLong,
}

/// Units, longest first, in seconds.
const UNITS: [(&str, f64); 8] =
    [("d", 86_400.0), ("h", 3600.0), ("m", 60.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)];

/// Reads a duration. A bare number is seconds; with units, each is shorter than the one before it.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let mut rest = text.trim();
    if let Some(seconds) = number(rest) {
        return duration(seconds);
    }
    let (mut seconds, mut last_unit) = (0.0, f64::INFINITY);
    while !rest.is_empty() {
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
        let (digits, behind) = rest.split_at(end);
        let behind = behind.trim_start();
        let end = behind.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(behind.len());
        let unit = UNITS.iter().find(|(name, _)| *name == &behind[..end]).filter(|(_, unit)| *unit < last_unit);
        let (value, (_, unit)) = number(digits).zip(unit).ok_or(DurationError::NotATime)?;
        seconds += value * unit;
        (last_unit, rest) = (*unit, behind[end..].trim_start());
    }
    if last_unit.is_finite() { duration(seconds) } else { Err(DurationError::NotATime) }
}

/// Digits with at most one point; no sign, no exponent.
fn number(digits: &str) -> Option<f64> {
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    digits.parse().ok().filter(|_| is_number)
}

fn duration(seconds: f64) -> Result<Duration, DurationError> {
    Duration::try_from_secs_f64(seconds).ok().ok_or(DurationError::TooLong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_seconds_and_units_add_up() {
        for (text, milliseconds) in [
            ("2", 2000),
            ("0.5", 500),
            (".5", 500),
            ("500ms", 500),
            ("1.5 s", 1500),
            ("10m", 600_000),
            ("10min", 600_000),
            ("1h30m", 5_400_000),
            ("1h 30m 5s", 5_405_000),
            ("1d", 86_400_000),
            ("2s500ms", 2500),
            ("0", 0),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        assert_eq!(parse_duration("1ns"), Ok(Duration::from_nanos(1)));
        assert_eq!(parse_duration("50us"), Ok(Duration::from_micros(50)));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "", " ", "ten", "-1", "+1", "1e3", "1x", "m", "30m1h", "1m1m", "1h30", "1.2.3s", ".", "inf", "nan", "1h-5m",
        ] {
            assert_eq!(parse_duration(text), Err(DurationError::NotATime), "{text}");
        }
        assert_eq!(parse_duration("999999999999999999999999d"), Err(DurationError::TooLong));
    }
}
