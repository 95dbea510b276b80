//! Moments as `--mtime`, `-N` and `--set-mtime-command` take them: what GNU tar's parser reads, such as `@1`, `2020-01-02 03:04:05 +0200`,
//! `Thu, 02 Jan 2020 03:04:05 GMT`, `yesterday`, `2 days ago`. Pure but for the zone and the clock of this machine. Reading order: `parse`, `Items`.

mod formatted;
mod words;

use archive::member::Time;
pub use formatted::parse_formatted;
use std::time::{SystemTime, UNIX_EPOCH};
use sys::civil_time::{self, CivilTime};
use words::{DateUnit, DateWord};

/// A moment; none if the text is none.
pub fn parse(text: &str) -> Option<Time> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    parse_at(text, Time { seconds: now.as_secs().cast_signed(), nanoseconds: now.subsec_nanos() })
}

/// The same at `now`, which words such as `yesterday` count from.
fn parse_at(text: &str, now: Time) -> Option<Time> {
    let text = text.trim();
    if let Some(since_1970) = text.strip_prefix('@') {
        return seconds_and_parts(since_1970);
    }
    if text.is_empty() {
        return None;
    }
    let mut items = Items { rest: text, found: Found::default() };
    while !items.rest.is_empty() {
        items.next()?;
    }
    items.found.moment(now)
}

/// What was found, in any order.
#[derive(Default)]
struct Found {
    /// Year, if there was one, month and day.
    date: Option<(Option<i64>, u8, u8)>,
    /// Hour, minute, second and parts of it.
    clock: Option<(u8, u8, u8, u32)>,
    east_seconds: Option<i64>,
    /// Which of them to come, counted from 0, and a day of the week, Sunday 0.
    weekday: Option<(i64, u8)>,
    months: i64,
    days: i64,
    seconds: i64,
    is_relative: bool,
}

/// Takes items off the front of a text.
struct Items<'t> {
    rest: &'t str,
    found: Found,
}

impl Items<'_> {
    /// One item; none if there is no sense in it.
    fn next(&mut self) -> Option<()> {
        self.skip_blanks();
        match self.rest.chars().next() {
            None => Some(()),
            Some('0'..='9') => self.number(),
            Some(sign @ ('+' | '-')) => {
                self.rest = &self.rest[1..];
                self.skip_blanks();
                let count: i64 = self.digits()?.parse().ok()?;
                self.skip_blanks();
                let DateWord::Unit(unit) = words::meaning(self.word()?)? else { return None };
                self.shift(unit, if sign == '-' { -count } else { count })
            }
            Some(_) => self.named(),
        }
    }

    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start_matches(|letter: char| letter.is_whitespace() || letter == ',');
    }

    fn digits(&mut self) -> Option<String> {
        let end = self.rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!digits.is_empty()).then(|| digits.to_owned())
    }

    /// Digits behind `border`, if that is what comes next.
    fn digits_behind(&mut self, border: char) -> Option<String> {
        let rest =
            self.rest.strip_prefix(border).filter(|rest| rest.starts_with(|next: char| next.is_ascii_digit()))?;
        self.rest = rest;
        self.digits()
    }

    /// Digits behind blanks that are no clock.
    fn year_behind(&mut self) -> Option<String> {
        let before = self.rest;
        self.skip_blanks();
        let digits = self.digits().filter(|_| !self.rest.starts_with(':'));
        if digits.is_none() {
            self.rest = before;
        }
        digits
    }

    fn word(&mut self) -> Option<&str> {
        let end = self.rest.find(|letter: char| !letter.is_alphabetic()).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.strip_prefix('.').unwrap_or(rest);
        (!word.is_empty()).then_some(word)
    }

    /// What begins with digits.
    fn number(&mut self) -> Option<()> {
        let first = self.digits()?;
        if self.rest.starts_with(':') {
            return self.clock(&first);
        }
        for border in ['-', '/'] {
            if let Some(second) = self.digits_behind(border) {
                let third = self.digits_behind(border);
                return match (border, third) {
                    ('-', Some(day)) => self.date(Some(&first), &second, &day),
                    ('/', Some(third)) if first.len() > 2 => self.date(Some(&first), &second, &third),
                    ('/', third) => self.date(third.as_deref(), &first, &second),
                    _ => None,
                };
            }
        }
        let behind = self.rest.trim_start_matches([' ', '-']);
        let word: String = behind.chars().take_while(|letter| letter.is_alphabetic()).collect();
        match words::meaning(&word) {
            Some(DateWord::Month(month)) => {
                self.rest = &behind[word.len()..];
                let year = self.digits_behind('-').or_else(|| self.year_behind());
                self.date(year.as_deref(), &month.to_string(), &first)
            }
            Some(DateWord::Unit(unit)) => {
                self.rest = &behind[word.len()..];
                self.shift(unit, first.parse().ok()?)
            }
            Some(DateWord::HalfOfDay(offset)) => {
                self.rest = &behind[word.len()..];
                let hour = within(&first, 1, 12)? % 12 + offset;
                self.set_clock((hour, 0, 0, 0))
            }
            _ => self.alone(&first),
        }
    }

    /// Digits that nothing says what they are. COMPAT: the year of a date that has none, else a date, else a clock.
    fn alone(&mut self, digits: &str) -> Option<()> {
        if let Some((year @ None, ..)) = &mut self.found.date
            && !self.found.is_relative
            && (self.found.clock.is_some() || digits.len() > 2)
        {
            *year = Some(year_of(digits)?);
            return Some(());
        }
        match digits.len() {
            5.. => {
                let (date, day) = digits.split_at(digits.len() - 2);
                let (year, month) = date.split_at(date.len() - 2);
                self.date(Some(year), month, day)
            }
            3..=4 => {
                let (hour, minute) = digits.split_at(digits.len() - 2);
                self.set_clock((within(hour, 0, 23)?, within(minute, 0, 59)?, 0, 0))
            }
            _ => self.set_clock((within(digits, 0, 23)?, 0, 0, 0)),
        }
    }

    fn date(&mut self, year: Option<&str>, month: &str, day: &str) -> Option<()> {
        let year = year.map(year_of);
        let date = (year.map_or(Some(None), |year| year.map(Some))?, within(month, 1, 12)?, within(day, 1, 31)?);
        if let Some(clock) = self.rest.strip_prefix(['T', 't'])
            && clock.starts_with(|next: char| next.is_ascii_digit())
        {
            self.rest = clock;
        }
        self.found.date.replace(date).is_none().then_some(())
    }

    /// `:MM[:SS[.N]]`, am or pm, and a zone behind it.
    fn clock(&mut self, hour: &str) -> Option<()> {
        let minute = within(&self.digits_behind(':')?, 0, 59)?;
        let (mut second, mut parts) = (0, 0);
        if let Some(digits) = self.digits_behind(':') {
            second = within(&digits, 0, 60)?;
            let border = if self.rest.starts_with(',') { ',' } else { '.' };
            parts = self.digits_behind(border).map_or(Some(0), |digits| nanoseconds(&digits))?;
        }
        let behind = self.rest.trim_start();
        let word: String = behind.chars().take_while(|letter| letter.is_alphabetic() || *letter == '.').collect();
        let hour = match words::meaning(&word.replace('.', "")) {
            Some(DateWord::HalfOfDay(offset)) => {
                self.rest = &behind[word.len()..];
                within(hour, 1, 12)? % 12 + offset
            }
            _ => within(hour, 0, 23)?,
        };
        self.set_clock((hour, minute, second, parts))?;
        self.zone_by_sign()
    }

    /// `+HHMM`, `+HH:MM` or `+HH`, if that is what comes next.
    fn zone_by_sign(&mut self) -> Option<()> {
        let behind = self.rest.trim_start();
        let Some(digits) =
            behind.strip_prefix(['+', '-']).filter(|digits| digits.starts_with(|next: char| next.is_ascii_digit()))
        else {
            return Some(());
        };
        self.rest = digits;
        let hours = self.digits()?;
        let (hours, minutes) = match (hours.len(), self.digits_behind(':')) {
            (1..=2, Some(minutes)) => (hours, minutes),
            (1..=2, None) => (hours, "0".to_owned()),
            (3..=4, None) => (hours[..hours.len() - 2].to_owned(), hours[hours.len() - 2..].to_owned()),
            _ => return None,
        };
        let east = i64::from(within(&hours, 0, 24)?) * 3600 + i64::from(within(&minutes, 0, 59)?) * 60;
        self.set_zone(if behind.starts_with('-') { -east } else { east })
    }

    fn set_clock(&mut self, clock: (u8, u8, u8, u32)) -> Option<()> {
        self.found.clock.replace(clock).is_none().then_some(())
    }

    fn set_zone(&mut self, east: i64) -> Option<()> {
        self.found.east_seconds.replace(east).is_none().then_some(())
    }

    /// What begins with a word.
    fn named(&mut self) -> Option<()> {
        match words::meaning(self.word()?)? {
            DateWord::Month(month) => {
                self.skip_blanks();
                self.rest = self.rest.trim_start_matches('-');
                let day = self.digits()?;
                let year = self.digits_behind('-');
                self.date(year.as_deref(), &month.to_string(), &day)
            }
            DateWord::Weekday(day) => self.found.weekday.replace((0, day)).is_none().then_some(()),
            DateWord::Zone(east) => {
                self.set_zone(east)?;
                // As in UTC+2.
                let east_of_it = self.found.east_seconds.take();
                self.zone_by_sign()?;
                self.found.east_seconds = Some(self.found.east_seconds.unwrap_or(0) + east_of_it.unwrap_or(0));
                Some(())
            }
            DateWord::Days(days) => self.shift(DateUnit::Days(1), days),
            DateWord::Unit(unit) => self.shift(unit, 1),
            DateWord::Ordinal(count) => {
                self.skip_blanks();
                match words::meaning(self.word()?)? {
                    DateWord::Unit(unit) => self.shift(unit, count),
                    DateWord::Weekday(day) => self.found.weekday.replace((count, day)).is_none().then_some(()),
                    _ => None,
                }
            }
            DateWord::Ago => {
                let Found { months, days, seconds, .. } = &mut self.found;
                (*months, *days, *seconds) = (-*months, -*days, -*seconds);
                self.found.is_relative.then_some(())
            }
            DateWord::HalfOfDay(_) => None,
        }
    }

    fn shift(&mut self, unit: DateUnit, count: i64) -> Option<()> {
        let found = &mut self.found;
        match unit {
            DateUnit::Months(months) => found.months = found.months.checked_add(months.checked_mul(count)?)?,
            DateUnit::Days(days) => found.days = found.days.checked_add(days.checked_mul(count)?)?,
            DateUnit::Seconds(seconds) => found.seconds = found.seconds.checked_add(seconds.checked_mul(count)?)?,
        }
        found.is_relative = true;
        Some(())
    }
}

impl Found {
    fn moment(&self, now: Time) -> Option<Time> {
        let today = match self.east_seconds {
            Some(east) => civil_time::in_greenwich(now.seconds + east)?,
            None => civil_time::local(now.seconds)?,
        };
        let (year, month, day) = self.date.map_or((today.year, today.month, today.day), |(year, month, day)| {
            (year.unwrap_or(today.year), month, day)
        });
        let keeps_clock = self.clock.is_none() && self.date.is_none() && self.weekday.is_none() && self.is_relative;
        let (hour, minute, second, nanoseconds) = match self.clock {
            Some(clock) => clock,
            None if keeps_clock => (today.hour, today.minute, today.second, now.nanoseconds),
            None => (0, 0, 0, 0),
        };
        if self.date.is_some() && day > days_in(year, month) {
            return None;
        }
        let months = year.checked_mul(12)?.checked_add(i64::from(month) - 1)?.checked_add(self.months)?;
        let first = CivilTime {
            year: months.div_euclid(12),
            month: months.rem_euclid(12) as u8 + 1,
            day: 1,
            hour: 0,
            minute: 0,
            second: 0,
        };
        if !(-9999..=99_999).contains(&first.year) {
            return None;
        }
        let mut number = civil_time::seconds_in_greenwich(first) / DAY + i64::from(day) - 1;
        number = number.checked_add(self.days)?;
        if let Some((ordinal, weekday)) = self.weekday.filter(|_| self.date.is_none()) {
            // 1970 began on a Thursday.
            let is_that = (number + 4).rem_euclid(7) == i64::from(weekday);
            let weeks = ordinal - i64::from(ordinal > 0 && !is_that);
            number += (i64::from(weekday) - number - 4).rem_euclid(7) + 7 * weeks;
        }
        let date = civil_time::in_greenwich(number.checked_mul(DAY)?)?;
        let civil = CivilTime { hour, minute, second, ..date };
        let seconds = match self.east_seconds {
            Some(east) => civil_time::seconds_in_greenwich(civil) - east,
            None => civil_time::seconds(civil)?,
        };
        Some(Time { seconds: seconds.checked_add(self.seconds)?, nanoseconds })
    }
}

const DAY: i64 = 86_400;

fn days_in(year: i64, month: u8) -> u8 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// COMPAT: two digits are a year of 1969 to 2068.
fn year_of(digits: &str) -> Option<i64> {
    let year: i64 = digits.parse().ok().filter(|year| *year <= 9999)?;
    Some(match (digits.len(), year) {
        (..=2, ..69) => year + 2000,
        (..=2, _) => year + 1900,
        _ => year,
    })
}

fn within(digits: &str, least: u8, most: u8) -> Option<u8> {
    digits.parse().ok().filter(|number| (least..=most).contains(number))
}

fn nanoseconds(digits: &str) -> Option<u32> {
    format!("{digits:0<9}").get(..9)?.parse().ok()
}

/// `1.5`, also below zero.
fn seconds_and_parts(text: &str) -> Option<Time> {
    let (whole, parts) = text.split_once('.').unwrap_or((text, "0"));
    if parts.is_empty() || !parts.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let nanoseconds = nanoseconds(parts)?;
    let seconds: i64 = whole.parse().ok()?;
    Some(match (whole.starts_with('-'), nanoseconds) {
        (true, 1..) => Time { seconds: seconds - 1, nanoseconds: 1_000_000_000 - nanoseconds },
        _ => Time { seconds, nanoseconds },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wednesday, 2020-01-15 10:20:30.5 in Greenwich.
    const NOW: Time = Time { seconds: 1_579_083_630, nanoseconds: 500_000_000 };

    #[test]
    fn moments_are_those_of_their_zone() {
        for (text, seconds, nanoseconds) in [
            ("@0", 0, 0),
            ("@1.5", 1, 500_000_000),
            ("@-1.5", -2, 500_000_000),
            ("2020-01-02 03:04:05 +0200", 1_577_927_045, 0),
            ("2020-01-02T03:04:05+02:00", 1_577_927_045, 0),
            ("2020-01-02 03:04:05 +2", 1_577_927_045, 0),
            ("2020-01-02 03:04:05 -01", 1_577_937_845, 0),
            ("2020-01-02T03:04:05Z", 1_577_934_245, 0),
            ("2020-01-02 03:04:05.123 UTC", 1_577_934_245, 123_000_000),
            ("UTC 2020-01-02", 1_577_923_200, 0),
            ("1969-12-31 23:59 UTC", -60, 0),
            ("Thu, 02 Jan 2020 03:04:05 GMT", 1_577_934_245, 0),
            ("Thu, 02 Jan 2020 05:04:05 +0200", 1_577_934_245, 0),
            ("Thu Jan  2 03:04:05 UTC 2020", 1_577_934_245, 0),
            ("Thu Jan  2 03:04:05 AM UTC 2020", 1_577_934_245, 0),
            ("January 2, 2020 3:04:05 am UTC", 1_577_934_245, 0),
            ("2 jan 20 UTC", 1_577_923_200, 0),
            ("02-Jan-2020 UTC", 1_577_923_200, 0),
            ("1/2/2020 UTC", 1_577_923_200, 0),
            ("2020/01/02 UTC", 1_577_923_200, 0),
            ("20200102 UTC", 1_577_923_200, 0),
            ("20200102 0304 UTC", 1_577_934_240, 0),
            ("3pm UTC", 1_579_100_400, 0),
            ("now UTC", 1_579_083_630, 500_000_000),
            ("yesterday UTC", 1_578_997_230, 500_000_000),
            ("2 days ago UTC", 1_578_910_830, 500_000_000),
            ("1 week ago UTC", 1_578_478_830, 500_000_000),
            ("-1 hour UTC", 1_579_080_030, 500_000_000),
            ("last month UTC", 1_576_405_230, 500_000_000),
            ("next friday UTC", 1_579_219_200, 0),
            ("last friday UTC", 1_578_614_400, 0),
            ("2020-01-31 1 month UTC", 1_583_107_200, 0),
            ("2020-01-02 UTC tomorrow", 1_578_009_600, 0),
        ] {
            assert_eq!(parse_at(text, NOW), Some(Time { seconds, nanoseconds }), "{text}");
        }
        assert!(parse("2020-01-02").is_some() && parse("2020-01-02 03:04").is_some() && parse("today").is_some());
    }

    #[test]
    fn what_makes_no_sense_is_no_moment() {
        for text in [
            "",
            "@",
            "@x",
            "2020-13-01",
            "2020-02-30",
            "2020-01-02 25:00",
            "2020-01",
            "x",
            "2020-01-02-03",
            "ago",
            "1 2020-01-02 2020-01-03",
            "next",
            "12345678901234567890 years",
        ] {
            assert_eq!(parse_at(text, NOW), None, "{text}");
        }
    }
}
