//! What stands out in text: colours where they are wanted, and prose that ends its lines between words. Pure.

use crate::display_width::columns;
use crate::output::Colour;

/// How a piece of text stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tint {
    /// A heading.
    Bold,
    /// All is well.
    Good,
    /// Worth a look.
    Warning,
    /// Something is held back.
    Bad,
    /// Far from what is usual.
    Unusual,
    /// Less important than the rest.
    Dim,
}

impl Tint {
    /// The parameters of SGR (ECMA-48).
    fn code(self) -> &'static str {
        match self {
            Self::Bold => "1",
            Self::Good => "1;32",
            Self::Warning => "1;33",
            Self::Bad => "1;31",
            Self::Unusual => "1;35",
            Self::Dim => "2",
        }
    }
}

impl Colour {
    /// `text` in `tint`, line by line, or as it is where no colour is wanted.
    pub fn paint(self, tint: Tint, text: &str) -> String {
        if self == Self::Off || text.is_empty() {
            return text.to_owned();
        }
        let painted = |line: &str| match line.strip_suffix('\n') {
            Some(line) => format!("\x1b[{}m{line}\x1b[0m\n", tint.code()),
            None => format!("\x1b[{}m{line}\x1b[0m", tint.code()),
        };
        text.split_inclusive('\n').map(painted).collect()
    }
}

/// Lines of prose, broken between words so that none is wider than `width`; as they are where there is none.
pub fn wrapped(text: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return text.to_owned() };
    let ends_line = text.ends_with('\n');
    let lines: Vec<String> = text.lines().flat_map(|line| wrapped_line(line, width)).collect();
    lines.join("\n") + if ends_line { "\n" } else { "" }
}

/// One line of words on as many lines as it needs. A word that is wider than a line has one for itself.
pub fn wrapped_line(text: &str, width: usize) -> Vec<String> {
    if columns(text) <= width {
        return vec![text.to_owned()];
    }
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("never empty");
        if line.is_empty() || columns(line) + 1 + columns(word) <= width {
            let blank = if line.is_empty() { "" } else { " " };
            line.push_str(blank);
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_ends_its_lines_between_words() {
        let text = "maxed out: one thread has used one core.\nshort\n";
        assert_eq!(wrapped(text, Some(20)), "maxed out: one\nthread has used one\ncore.\nshort\n");
        assert_eq!(wrapped(text, None), text);
        assert_eq!(wrapped("unbreakable", Some(4)), "unbreakable");
        assert_eq!(wrapped("", Some(4)), "");
    }

    #[test]
    fn colour_ends_with_its_line() {
        assert_eq!(Colour::On.paint(Tint::Bad, "a\nb"), "\x1b[1;31ma\x1b[0m\n\x1b[1;31mb\x1b[0m");
        assert_eq!(Colour::Off.paint(Tint::Bad, "a\n"), "a\n");
        assert_eq!(Colour::On.paint(Tint::Good, ""), "");
    }
}
