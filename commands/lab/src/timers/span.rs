//! Short times as typed. Pure.

use std::time::Duration;

/// LIMIT: an hour is longer than anybody measures.
const LONGEST: Duration = Duration::from_secs(3600);

/// LIMIT: a longer wait is a number whose unit was forgotten: a bare one is seconds.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Reads a time: `1ns`, `50us`, `1.5ms`, `2`, which is seconds.
pub fn parse_span(text: &str) -> Result<Duration, String> {
    let span = terminal::parse_duration(text).map_err(|error| error.to_string())?;
    if span > LONGEST { Err("an hour is the longest".to_owned()) } else { Ok(span) }
}

/// Reads the time of a single wait.
pub fn parse_wait(text: &str) -> Result<Duration, String> {
    let span = parse_span(text)?;
    match span > LONGEST_WAIT {
        true => Err("10 s is the longest; a bare number is seconds, 100us are microseconds".to_owned()),
        false => Ok(span),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_everywhere_and_an_hour_is_the_longest() {
        assert_eq!(parse_span("1ns"), Ok(Duration::from_nanos(1)));
        assert_eq!(parse_span("1.5 ms"), Ok(Duration::from_micros(1500)));
        assert_eq!(parse_span("2s"), Ok(Duration::from_secs(2)));
        assert_eq!((parse_span("1"), parse_span("1m")), (Ok(Duration::from_secs(1)), Ok(Duration::from_secs(60))));
        for bad in ["", "us", "-1us", "1e400s", "nans", "2h", "3601s", "1us2"] {
            assert!(parse_span(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_wait_of_a_forgotten_unit_is_refused() {
        assert!(parse_wait("100").expect_err("100 s").contains("100us are microseconds"));
        assert_eq!(parse_wait("100us"), Ok(Duration::from_micros(100)));
    }
}
