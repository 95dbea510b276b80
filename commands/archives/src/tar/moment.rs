//! Moments as `--mtime` takes them: seconds since 1970, or a date by the calendar with a clock and a zone. Pure but for the zone of
//! this machine, which holds where none is said.

use archive::member::Time;
use sys::civil_time::{self, CivilTime};

/// `@SECONDS[.N]` or `YYYY-MM-DD[ HH:MM[:SS[.N]]][ ZONE]`; the zone is `Z`, `UTC`, `+HHMM`, `+HH:MM` or this machine's. None: it is neither.
pub fn parse(text: &str) -> Option<Time> {
    let text = text.trim();
    if let Some(since_1970) = text.strip_prefix('@') {
        return seconds_and_parts(since_1970);
    }
    let (text, east_seconds) = without_zone(text);
    let (date, clock) = text.split_once([' ', 'T']).unwrap_or((text, "0:0"));
    let mut date = date.split('-');
    let (year, month, day) = (number(date.next()?, 9999)?, number(date.next()?, 12)?, number(date.next()?, 31)?);
    let mut clock = clock.trim().splitn(3, ':');
    let (hour, minute) = (number(clock.next()?, 23)?, number(clock.next()?, 59)?);
    let Time { seconds, nanoseconds } = seconds_and_parts(clock.next().unwrap_or("0"))?;
    let second = u8::try_from(seconds).ok().filter(|second| *second <= 60)?;
    if date.next().is_some() || month == 0 || day == 0 {
        return None;
    }
    let (month, day, hour, minute) = (month as u8, day as u8, hour as u8, minute as u8);
    let civil = CivilTime { year: year.into(), month, day, hour, minute, second };
    let seconds = match east_seconds {
        Some(east) => civil_time::seconds_in_greenwich(civil) - east,
        None => civil_time::seconds(civil)?,
    };
    Some(Time { seconds, nanoseconds })
}

fn number(digits: &str, most: u32) -> Option<u32> {
    let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|number| is_plain && *number <= most)
}

/// What is left without the zone, and how far east of Greenwich that is.
fn without_zone(text: &str) -> (&str, Option<i64>) {
    if let Some(rest) = text.strip_prefix("UTC ") {
        return (rest, Some(0));
    }
    for zone in ["Z", "UTC", "GMT"] {
        if let Some(rest) = text.strip_suffix(zone) {
            return (rest.trim_end(), Some(0));
        }
    }
    // A zone stands behind a clock: the date has such signs, too.
    let clock = text.find(':').unwrap_or(text.len());
    let Some(sign) = text[clock..].rfind(['+', '-']).map(|at| at + clock) else { return (text, None) };
    let digits = text[sign + 1..].replace(':', "");
    match (digits.len(), number(&digits, 2359)) {
        (2, Some(hours)) => (text[..sign].trim_end(), Some(signed(&text[sign..], hours * 3600))),
        (4, Some(both)) => (text[..sign].trim_end(), Some(signed(&text[sign..], both / 100 * 3600 + both % 100 * 60))),
        _ => (text, None),
    }
}

fn signed(sign: &str, seconds: u32) -> i64 {
    if sign.starts_with('-') { -i64::from(seconds) } else { i64::from(seconds) }
}

/// `1.5`, also below zero.
fn seconds_and_parts(text: &str) -> Option<Time> {
    let (whole, parts) = text.split_once('.').unwrap_or((text, "0"));
    if parts.is_empty() || parts.len() > 9 || !parts.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let nanoseconds: u32 = format!("{parts:0<9}").parse().ok()?;
    let seconds: i64 = whole.parse().ok()?;
    Some(match (whole.starts_with('-'), nanoseconds) {
        (true, 1..) => Time { seconds: seconds - 1, nanoseconds: 1_000_000_000 - nanoseconds },
        _ => Time { seconds, nanoseconds },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_their_zone() {
        for (text, seconds, nanoseconds) in [
            ("@0", 0, 0),
            ("@1.5", 1, 500_000_000),
            ("@-1.5", -2, 500_000_000),
            ("2020-01-02 03:04:05 +0200", 1_577_927_045, 0),
            ("2020-01-02T03:04:05+02:00", 1_577_927_045, 0),
            ("2020-01-02 03:04:05 -01", 1_577_937_845, 0),
            ("2020-01-02T03:04:05Z", 1_577_934_245, 0),
            ("2020-01-02 03:04:05.123 UTC", 1_577_934_245, 123_000_000),
            ("UTC 2020-01-02", 1_577_923_200, 0),
            ("1969-12-31 23:59 UTC", -60, 0),
        ] {
            assert_eq!(parse(text), Some(Time { seconds, nanoseconds }), "{text}");
        }
        assert!(parse("2020-01-02").is_some() && parse("2020-01-02 03:04").is_some());
        for text in
            ["", "@", "@x", "2020-13-01", "2020-01-02 25:00", "2020-01", "x", "2020-01-02 03:04:05 +2", "2020-01-02-03"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
