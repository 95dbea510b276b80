//! How many columns a text takes on a terminal, and shortening it to fit. Kept simple: combining marks take none, East Asian
//! wide characters and emoji take two, all others one. A terminal that draws otherwise gets an uneven table, nothing worse.

/// Columns that `text` takes.
pub(crate) fn columns(text: &str) -> usize {
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
    fn a_shortened_text_fits_and_says_so() {
        assert_eq!(shorten("database", 8), "database");
        assert_eq!(shorten("database", 7), "datab..");
        assert_eq!(shorten("数据数据", 7), "数据..");
        assert_eq!(shorten("database", 2), "da");
        assert_eq!(shorten("database", 0), "");
    }
}
