//! Short times as typed: `1ns`, `50us`, `1.5ms`, `2s`. Pure.

use std::time::Duration;

/// Reads a number with a unit, which must be there: a bare number means something else to every call.
pub fn parse_span(text: &str) -> Result<Duration, String> {
    let wrong = || "a time with its unit is needed: 1ns, 50us, 1.5ms, 2s".to_owned();
    let digits = text.find(|letter: char| letter.is_ascii_alphabetic()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(digits);
    let nanoseconds = match unit {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return Err(wrong()),
    };
    let number: f64 = number.trim_end().parse().ok().ok_or_else(wrong)?;
    // LIMIT: an hour is longer than anybody measures.
    let span = Duration::try_from_secs_f64(number * nanoseconds).ok().ok_or_else(wrong)?;
    if span > Duration::from_secs(3600) { Err("an hour is the longest".to_owned()) } else { Ok(span) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_need_a_unit() {
        assert_eq!(parse_span("1ns"), Ok(Duration::from_nanos(1)));
        assert_eq!(parse_span("1.5 ms"), Ok(Duration::from_micros(1500)));
        assert_eq!(parse_span("2s"), Ok(Duration::from_secs(2)));
        for bad in ["", "1", "us", "-1us", "1m", "1e400s", "nans", "2h", "3601s", "1us2"] {
            assert!(parse_span(bad).is_err(), "{bad}");
        }
    }
}
