//! Moments in a form that is given, as strptime(3) reads them: `--set-mtime-format`. Pure but for the zone of this machine.

use super::words::{self, DateWord};
use archive::member::Time;
use sys::civil_time::{self, CivilTime};

/// The moment in `text` by `format`, and what stands behind it; none if the text is another one, or the form has a letter that is not read.
pub fn parse_formatted<'t>(text: &'t str, format: &str) -> Option<(Time, &'t str)> {
    let mut reading =
        Reading { rest: text, year: 1900, month: 1, day: 1, hour: 0, minute: 0, second: 0, ..Reading::default() };
    reading.all(format)?;
    if let Some(seconds) = reading.since_1970 {
        return Some((Time { seconds, nanoseconds: 0 }, reading.rest));
    }
    let Reading { year, month, day, hour, minute, second, .. } = reading;
    let hour = reading.half_of_day.map_or(hour, |offset| hour % 12 + offset);
    let civil = CivilTime { year, month, day, hour, minute, second };
    let seconds = match reading.east_seconds {
        Some(east) => civil_time::seconds_in_greenwich(civil) - east,
        None => civil_time::seconds(civil)?,
    };
    Some((Time { seconds, nanoseconds: 0 }, reading.rest))
}

#[derive(Default)]
struct Reading<'t> {
    rest: &'t str,
    year: i64,
    month: u8,
    day: u8,
    hour: u8,
    minute: u8,
    second: u8,
    half_of_day: Option<u8>,
    east_seconds: Option<i64>,
    since_1970: Option<i64>,
}

impl Reading<'_> {
    fn all(&mut self, format: &str) -> Option<()> {
        let mut letters = format.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '%' => self.one(letters.next()?)?,
                blank if blank.is_whitespace() => self.rest = self.rest.trim_start(),
                letter => self.rest = self.rest.strip_prefix(letter)?,
            }
        }
        Some(())
    }

    fn one(&mut self, letter: char) -> Option<()> {
        match letter {
            's' => {
                let end = self.rest.find(|next: char| !next.is_ascii_digit() && next != '-').unwrap_or(self.rest.len());
                self.since_1970 = Some(self.rest[..end].parse().ok()?);
                self.rest = &self.rest[end..];
            }
            'Y' => self.year = self.number(4, 0, 9999)?,
            'y' => {
                let year = self.number(2, 0, 99)?;
                self.year = if year < 69 { 2000 + year } else { 1900 + year };
            }
            'm' => self.month = self.number(2, 1, 12)? as u8,
            'd' | 'e' => self.day = self.number(2, 1, 31)? as u8,
            'H' | 'k' => self.hour = self.number(2, 0, 23)? as u8,
            'I' | 'l' => self.hour = self.number(2, 1, 12)? as u8,
            'M' => self.minute = self.number(2, 0, 59)? as u8,
            'S' => self.second = self.number(2, 0, 60)? as u8,
            'b' | 'B' | 'h' => match self.word()? {
                DateWord::Month(month) => self.month = month,
                _ => return None,
            },
            'a' | 'A' => match self.word()? {
                DateWord::Weekday(_) => {}
                _ => return None,
            },
            'p' | 'P' => match self.word()? {
                DateWord::HalfOfDay(offset) => self.half_of_day = Some(offset),
                _ => return None,
            },
            'Z' => {
                if let DateWord::Zone(east) = self.word()? {
                    self.east_seconds = Some(east);
                }
            }
            'z' => self.zone()?,
            'T' => self.all("%H:%M:%S")?,
            'R' => self.all("%H:%M")?,
            'D' | 'x' => self.all("%m/%d/%y")?,
            'F' => self.all("%Y-%m-%d")?,
            'c' => self.all("%a %b %e %H:%M:%S %Y")?,
            'n' | 't' => self.rest = self.rest.trim_start(),
            '%' => self.rest = self.rest.strip_prefix('%')?,
            _ => return None,
        }
        Some(())
    }

    fn number(&mut self, most_digits: usize, least: i64, most: i64) -> Option<i64> {
        self.rest = self.rest.trim_start();
        let digits = self.rest.bytes().take(most_digits).take_while(u8::is_ascii_digit).count();
        let number = self.rest[..digits].parse().ok().filter(|number| (least..=most).contains(number))?;
        self.rest = &self.rest[digits..];
        Some(number)
    }

    fn word(&mut self) -> Option<DateWord> {
        self.rest = self.rest.trim_start();
        let end = self.rest.find(|next: char| !next.is_alphabetic()).unwrap_or(self.rest.len());
        let word = &self.rest[..end];
        self.rest = &self.rest[end..];
        words::meaning(word)
    }

    fn zone(&mut self) -> Option<()> {
        self.rest = self.rest.trim_start();
        if let Some(rest) = self.rest.strip_prefix('Z') {
            (self.rest, self.east_seconds) = (rest, Some(0));
            return Some(());
        }
        let is_west = self.rest.starts_with('-');
        self.rest = self.rest.strip_prefix(['+', '-'])?;
        let hours = self.number(2, 0, 24)?;
        self.rest = self.rest.strip_prefix(':').unwrap_or(self.rest);
        let minutes = self.number(2, 0, 59).unwrap_or(0);
        let east = hours * 3600 + minutes * 60;
        self.east_seconds = Some(if is_west { -east } else { east });
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_by_their_form() {
        for (text, format, seconds, behind) in [
            ("1577934245\n", "%s", 1_577_934_245, "\n"),
            ("2020-01-02 03:04:05 +0000", "%Y-%m-%d %H:%M:%S %z", 1_577_934_245, ""),
            ("2020-01-02T03:04:05Z x", "%FT%T%z", 1_577_934_245, " x"),
            ("Thu Jan  2 03:04:05 2020 UTC", "%c %Z", 1_577_934_245, ""),
            ("02 January 20 03 PM +01:00", "%d %B %y %I %p %z", 1_577_973_600, ""),
        ] {
            let found = parse_formatted(text, format);
            assert_eq!(found, Some((Time { seconds, nanoseconds: 0 }, behind)), "{text}");
        }
        for (text, format) in [("x", "%s"), ("2020-13-01", "%F"), ("2020", "%Q"), ("2020-01-02", "%Y/%m")] {
            assert_eq!(parse_formatted(text, format), None, "{text}");
        }
    }
}
