//! Texts of checkpoints: `%u` and the like are put in their place. COMPAT: as GNU tar has them.

use super::super::totals;
use std::time::{Duration, SystemTime};
use sys::civil_time::{self, CivilTime};

/// What a text may tell of.
pub struct CheckpointMoment {
    pub number: u64,
    pub is_written: bool,
    pub bytes: u64,
    pub elapsed: Duration,
}

/// LIMIT: columns that are filled up where the terminal's are not asked for.
const COLUMNS: usize = 80;

/// A text of its form: `%[{ARGUMENT}]LETTER`. What is none of these stays.
pub fn of(form: &[u8], at: &CheckpointMoment) -> Vec<u8> {
    let (mut text, mut rest) = (Vec::with_capacity(form.len() + 32), form);
    while let Some((&byte, behind)) = rest.split_first() {
        let Some((argument, letter, end)) = (byte == b'%').then(|| specifier(behind)).flatten() else {
            text.push(byte);
            rest = behind;
            continue;
        };
        match letter {
            b'c' => text.extend(of(b"%{%Y-%m-%d %H:%M:%S}t: %ds, %{read,wrote}T%*\r", at)),
            b'u' => text.extend_from_slice(at.number.to_string().as_bytes()),
            b's' => text.extend_from_slice(if at.is_written { b"write" } else { b"read" }),
            b'd' => text.extend_from_slice(format!("{:.0}", at.elapsed.as_secs_f64()).as_bytes()),
            b'T' => text.extend_from_slice(total(argument, at).as_bytes()),
            b't' => text.extend_from_slice(now(argument.unwrap_or("%c")).as_bytes()),
            b'*' => {
                let columns = argument.and_then(|columns| columns.parse().ok()).unwrap_or(COLUMNS);
                let line = text.rsplit(|&byte| byte == b'\r' || byte == b'\n').next().map_or(0, <[u8]>::len);
                text.resize(text.len() + columns.saturating_sub(line), b' ');
            }
            letter => text.extend([b'%', letter]),
        }
        rest = &behind[end..];
    }
    text
}

/// The argument in braces, the letter, and where they end.
fn specifier(text: &[u8]) -> Option<(Option<&str>, u8, usize)> {
    match text.first()? {
        b'{' => {
            let end = text.iter().position(|&byte| byte == b'}')?;
            Some((std::str::from_utf8(&text[1..end]).ok(), *text.get(end + 1)?, end + 2))
        }
        letter => Some((None, *letter, 1)),
    }
}

/// `W: 20480 (20KiB, 117MiB/s)`; the argument has words for what is read and written.
fn total(argument: Option<&str>, at: &CheckpointMoment) -> String {
    let mut words = argument.unwrap_or("R,W").split(',');
    let (read, written) = (words.next().unwrap_or("R"), words.next().unwrap_or("W"));
    let word = if at.is_written { written } else { read };
    format!("{word}: {}", totals::amount(at.bytes, at.elapsed))
}

/// The time of the clock, by letters of `strftime(3)`; those of other languages are the C locale's.
fn now(form: &str) -> String {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let seconds = i64::try_from(since_1970).unwrap_or(i64::MAX);
    civil_time::local(seconds).map_or_else(|| seconds.to_string(), |civil| by_letters(form, &civil, seconds))
}

const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

fn by_letters(form: &str, civil: &CivilTime, seconds: i64) -> String {
    let CivilTime { year, month, day, hour, minute, second } = *civil;
    // The first day of 1970 was a Thursday.
    let days =
        civil_time::seconds_in_greenwich(CivilTime { hour: 0, minute: 0, second: 0, ..*civil }).div_euclid(86400);
    let weekday = DAYS[(days + 4).rem_euclid(7) as usize];
    let month_name = MONTHS[usize::from(month).clamp(1, 12) - 1];
    let (mut text, mut letters) = (String::new(), form.chars());
    while let Some(letter) = letters.next() {
        if letter != '%' {
            text.push(letter);
            continue;
        }
        let put = match letters.next() {
            Some('Y') => year.to_string(),
            Some('y') => format!("{:02}", year.rem_euclid(100)),
            Some('m') => format!("{month:02}"),
            Some('d') => format!("{day:02}"),
            Some('e') => format!("{day:2}"),
            Some('H') => format!("{hour:02}"),
            Some('M') => format!("{minute:02}"),
            Some('S') => format!("{second:02}"),
            Some('F') => by_letters("%Y-%m-%d", civil, seconds),
            Some('T' | 'X') => by_letters("%H:%M:%S", civil, seconds),
            Some('R') => by_letters("%H:%M", civil, seconds),
            Some('D' | 'x') => by_letters("%m/%d/%y", civil, seconds),
            Some('c') => by_letters("%a %b %e %H:%M:%S %Y", civil, seconds),
            Some('A') => weekday.to_owned(),
            Some('a') => weekday[..3].to_owned(),
            Some('B') => month_name.to_owned(),
            Some('b' | 'h') => month_name[..3].to_owned(),
            Some('s') => seconds.to_string(),
            Some('n') => "\n".to_owned(),
            Some('t') => "\t".to_owned(),
            Some('%') => "%".to_owned(),
            Some(other) => format!("%{other}"),
            None => "%".to_owned(),
        };
        text.push_str(&put);
    }
    text
}

/// What `\r` and the like stand for.
pub fn unescaped(text: &[u8]) -> Vec<u8> {
    super::super::selection::unquoted(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_put_in_their_place() {
        let at = CheckpointMoment { number: 7, is_written: true, bytes: 20480, elapsed: Duration::from_secs(2) };
        let text = |form: &str| String::from_utf8_lossy(&of(form.as_bytes(), &at)).into_owned();
        assert_eq!(text("%s %u %d %% %q%"), "write 7 2 %% %q%");
        assert_eq!(text("%T|%{r,w}T"), "W: 20480 (20KiB, 10KiB/s)|w: 20480 (20KiB, 10KiB/s)");
        assert_eq!(text("ab%{5}*|"), "ab   |");
        let civil = CivilTime { year: 2026, month: 11, day: 9, hour: 18, minute: 5, second: 4 };
        assert_eq!(
            by_letters("%c %F %T %y %B %A %q", &civil, 0),
            "Mon Nov  9 18:05:04 2026 2026-11-09 18:05:04 26 November Monday %q"
        );
    }
}
