//! How many columns a text takes on a terminal, and shortening it to fit. Kept simple: combining marks take none, East Asian
//! wide characters and emoji take two, all others one. A terminal that draws otherwise gets an uneven table, nothing worse.

/// Columns that `text` takes.
pub fn columns(text: &str) -> usize {
    text.chars().map(letter_columns).sum()
}

/// The longest start of `text` that fits into `limit` columns, marked with `..` where something is missing and fits.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
    if columns(text) <= limit {
        return text.to_owned();
    }
    let mark = if limit > 2 { ".." } else { "" };
    let mut room = limit - mark.len();
    let mut kept = String::new();
    for letter in text.chars() {
        let taken = letter_columns(letter);
        if taken > room {
            break;
        }
        room -= taken;
        kept.push(letter);
    }
    kept + mark
}

/// The ends of `text` that fit into `limit` columns together, with `..` between them: both ends of a path tell most.
pub fn shorten_middle(text: &str, limit: usize) -> String {
    const MARK: &str = "..";
    let whole = columns(text);
    if whole <= limit || limit <= MARK.len() {
        return shorten(text, limit);
    }
    let room = limit - MARK.len();
    let front = shorten_without_mark(text, room.div_ceil(2));
    let behind = whole - (room - columns(&front));
    let (mut passed, mut end) = (0, String::new());
    for letter in text.chars() {
        if passed >= behind {
            end.push(letter);
        }
        passed += letter_columns(letter);
    }
    front + MARK + &end
}

/// The longest start that fits.
fn shorten_without_mark(text: &str, limit: usize) -> String {
    let mut taken = 0;
    let fits = |letter: &char| {
        taken += letter_columns(*letter);
        taken <= limit
    };
    text.chars().take_while(fits).collect()
}

fn letter_columns(letter: char) -> usize {
    match letter as u32 {
        0x0300..=0x036f | 0x1ab0..=0x1aff | 0x1dc0..=0x1dff | 0x20d0..=0x20ff | 0xfe00..=0xfe0f | 0xfe20..=0xfe2f => 0,
        0x1100..=0x115f | 0x2e80..=0x303e | 0x3041..=0x4dbf | 0x4e00..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff => 2,
        0xfe30..=0xfe6f | 0xff00..=0xff60 | 0xffe0..=0xffe6 | 0x1f300..=0x1f64f | 0x1f680..=0x1f6ff => 2,
        0x1f900..=0x1f9ff | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_and_combining_characters_are_counted() {
        assert_eq!(columns("größe"), 5);
        assert_eq!(columns("e\u{301}"), 1);
        assert_eq!(columns("数据"), 4);
    }

    #[test]
    fn a_text_cut_in_the_middle_keeps_both_ends_and_fits() {
        assert_eq!(shorten_middle("database", 8), "database");
        assert_eq!(shorten_middle("a-long-export.sql", 11), "a-lon...sql");
        assert_eq!(shorten_middle("数据数据数据", 9), "数据..据");
        for text in ["a-long-export.sql", "数据a数据b数据", "e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}"] {
            for limit in 0..20 {
                assert!(columns(&shorten_middle(text, limit)) <= limit, "{text} {limit}");
            }
        }
    }

    #[test]
    fn a_shortened_text_fits_and_says_so() {
        assert_eq!(shorten("database", 8), "database");
        assert_eq!(shorten("database", 7), "datab..");
        assert_eq!(shorten("数据数据", 7), "数据..");
        assert_eq!(shorten("database", 2), "da");
        assert_eq!(shorten("database", 0), "");
    }
}
