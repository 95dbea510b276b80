//! Words of moments. COMPAT: those of GNU's parser of dates, in any case, months and days of the week also cut to three letters. Pure.

/// By how much a moment is shifted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateUnit {
    Months(i64),
    Days(i64),
    Seconds(i64),
}

/// A word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateWord {
    /// January is 1.
    Month(u8),
    /// Sunday is 0.
    Weekday(u8),
    /// East of Greenwich.
    Zone(i64),
    /// Days from now on.
    Days(i64),
    Unit(DateUnit),
    /// As in `last week`.
    Ordinal(i64),
    /// Hours to be added: am, pm.
    HalfOfDay(u8),
    Ago,
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const ORDINALS: [&str; 12] = [
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth",
];

/// Hours east of Greenwich, in quarters.
const ZONES: [(&str, i64); 29] = [
    ("z", 0),
    ("utc", 0),
    ("ut", 0),
    ("gmt", 0),
    ("wet", 0),
    ("west", 4),
    ("bst", 4),
    ("cet", 4),
    ("cest", 8),
    ("met", 4),
    ("mest", 8),
    ("eet", 8),
    ("eest", 12),
    ("sast", 8),
    ("msk", 12),
    ("msd", 16),
    ("ist", 22),
    ("sgt", 32),
    ("jst", 36),
    ("nzst", 48),
    ("nzdt", 52),
    ("est", -20),
    ("edt", -16),
    ("cst", -24),
    ("cdt", -20),
    ("mst", -28),
    ("mdt", -24),
    ("pst", -32),
    ("pdt", -28),
];

/// The meaning of a word; none where it is not known.
pub fn meaning(word: &str) -> Option<DateWord> {
    let word = word.to_lowercase();
    let is = |name: &str| word == name || word.len() == 3 && name.starts_with(&word);
    if let Some(month) = MONTHS.iter().position(|name| is(name) || word == "sept" && *name == "september") {
        return Some(DateWord::Month(month as u8 + 1));
    }
    let longer = |name| {
        matches!((word.as_str(), name), ("tues", "tuesday") | ("wednes", "wednesday") | ("thur" | "thurs", "thursday"))
    };
    if let Some(day) = WEEKDAYS.iter().position(|name| is(name) || longer(*name)) {
        return Some(DateWord::Weekday(day as u8));
    }
    if let Some((_, quarters)) = ZONES.iter().find(|(name, _)| word == *name) {
        return Some(DateWord::Zone(quarters * 900));
    }
    let singular = word.strip_suffix('s').unwrap_or(&word);
    let unit = match singular {
        "year" => DateUnit::Months(12),
        "month" => DateUnit::Months(1),
        "fortnight" => DateUnit::Days(14),
        "week" => DateUnit::Days(7),
        "day" => DateUnit::Days(1),
        "hour" => DateUnit::Seconds(3600),
        "minute" | "min" => DateUnit::Seconds(60),
        "second" | "sec" => DateUnit::Seconds(1),
        _ => return other(&word),
    };
    Some(DateWord::Unit(unit))
}

fn other(word: &str) -> Option<DateWord> {
    Some(match word {
        "now" | "today" => DateWord::Days(0),
        "tomorrow" => DateWord::Days(1),
        "yesterday" => DateWord::Days(-1),
        "last" => DateWord::Ordinal(-1),
        "this" => DateWord::Ordinal(0),
        "next" => DateWord::Ordinal(1),
        "am" => DateWord::HalfOfDay(0),
        "pm" => DateWord::HalfOfDay(12),
        "ago" => DateWord::Ago,
        // `second` is a unit.
        _ => DateWord::Ordinal(ORDINALS.iter().position(|name| *name == word)? as i64 + 1),
    })
}
