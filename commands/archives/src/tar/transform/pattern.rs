//! Expressions of POSIX, basic and extended, as regex-lite reads them. Pure. COMPAT: GNU's additions (`\+`, `\?`, `\|`, `\w`, `\<`) are read, back
//! references are not: an engine that cannot become slow has none.

use regex_lite::{Regex, RegexBuilder};
use std::iter::Peekable;
use std::str::Chars;

/// How an expression is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct PatternSyntax {
    pub is_extended: bool,
    pub ignores_case: bool,
}

/// The expression; an error says what is wrong with it.
pub fn compile(pattern: &str, syntax: PatternSyntax) -> Result<Regex, String> {
    let translated = Translation::new(pattern, syntax.is_extended).translate()?;
    let mut builder = RegexBuilder::new(&translated);
    let built = builder.case_insensitive(syntax.ignores_case).dot_matches_new_line(true).build();
    built.map_err(|error| format!("Invalid regular expression: {error}"))
}

struct Translation<'p> {
    letters: Peekable<Chars<'p>>,
    is_extended: bool,
    written: String,
    open_groups: usize,
    /// Nothing stands in front that could be repeated: at the front, and behind `(`, `|` and `^`.
    is_at_front: bool,
}

impl<'p> Translation<'p> {
    fn new(pattern: &'p str, is_extended: bool) -> Self {
        let (letters, written) = (pattern.chars().peekable(), String::new());
        Self { letters, is_extended, written, open_groups: 0, is_at_front: true }
    }

    fn translate(mut self) -> Result<String, String> {
        while let Some(letter) = self.letters.next() {
            match letter {
                '\\' => self.escaped()?,
                '[' => self.bracket()?,
                '.' => self.put("."),
                '*' if self.is_at_front => self.literal('*'),
                '*' => self.written.push('*'),
                '^' if self.is_extended || self.is_at_front && !self.written.ends_with('^') => {
                    self.written.push('^');
                    self.is_at_front = true;
                }
                '$' if self.is_extended || self.ends_here() => self.put("$"),
                '(' | ')' | '|' | '+' | '?' | '{' | '}' if self.is_extended => self.operator(letter)?,
                letter => self.literal(letter),
            }
        }
        match self.open_groups {
            0 => Ok(self.written),
            _ => Err("Unmatched ( or \\(".to_owned()),
        }
    }

    fn put(&mut self, text: &str) {
        self.written.push_str(text);
        self.is_at_front = false;
    }

    fn literal(&mut self, letter: char) {
        if letter.is_ascii_punctuation() {
            self.written.push('\\');
        }
        self.written.push(letter);
        self.is_at_front = false;
    }

    /// Whether nothing follows, or what ends a part of the expression.
    fn ends_here(&self) -> bool {
        let mut rest = self.letters.clone();
        matches!((rest.next(), rest.next()), (None, _) | (Some('\\'), Some(')' | '|')))
    }

    fn escaped(&mut self) -> Result<(), String> {
        let letter = self.letters.next().ok_or("Trailing backslash")?;
        match letter {
            '(' | ')' | '|' | '+' | '?' | '{' | '}' if !self.is_extended => self.operator(letter)?,
            '1'..='9' => return Err(format!("back references (\\{letter}) are not supported in patterns")),
            'n' => self.put("\\n"),
            't' => self.put("\\t"),
            'w' | 'W' | 's' | 'S' => self.put(&format!("\\{letter}")),
            'b' | 'B' | '<' | '>' => {
                self.written.extend(['\\', letter]);
                self.is_at_front = false;
            }
            '`' => self.put("\\A"),
            '\'' => self.put("\\z"),
            letter => self.literal(letter),
        }
        Ok(())
    }

    fn operator(&mut self, letter: char) -> Result<(), String> {
        match letter {
            '(' => {
                self.open_groups += 1;
                self.written.push('(');
                self.is_at_front = true;
            }
            ')' => {
                let Some(left) = self.open_groups.checked_sub(1) else {
                    return Err("Unmatched ) or \\)".to_owned());
                };
                self.open_groups = left;
                self.put(")");
            }
            '|' => {
                self.written.push('|');
                self.is_at_front = true;
            }
            // Nothing is repeated by it.
            letter if self.is_at_front => self.literal(letter),
            '{' => self.interval()?,
            letter => self.put(&letter.to_string()),
        }
        Ok(())
    }

    /// `{2}`, `{2,}`, `{,2}`, `{2,3}`, of which basic expressions end in `\}`.
    fn interval(&mut self) -> Result<(), String> {
        let mut text = String::new();
        loop {
            match self.letters.next().ok_or("Unmatched { or \\{")? {
                '\\' if !self.is_extended => {}
                '}' => break,
                letter => text.push(letter),
            }
        }
        let text = if text.starts_with(',') { format!("0{text}") } else { text };
        self.put(&format!("{{{text}}}"));
        Ok(())
    }

    /// `[...]`: what has a meaning there for regex-lite alone gets a backslash.
    fn bracket(&mut self) -> Result<(), String> {
        self.written.push('[');
        if self.letters.next_if_eq(&'^').is_some() {
            self.written.push('^');
        }
        let mut is_first = true;
        loop {
            let letter = self.letters.next().ok_or("Unmatched [, [^, [:, [., or [=")?;
            match letter {
                ']' if !is_first => break,
                '[' if self.letters.peek() == Some(&':') => {
                    let class: String = self.letters.by_ref().take_while(|letter| *letter != ']').collect();
                    self.written.push_str(&format!("[{class}]"));
                }
                '-' if is_first || self.letters.peek() == Some(&']') => self.written.push_str("\\-"),
                '-' => self.written.push('-'),
                letter if letter.is_ascii_punctuation() => self.written.extend(['\\', letter]),
                letter => self.written.push(letter),
            }
            is_first = false;
        }
        self.put("]");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(pattern: &str, is_extended: bool) -> String {
        Translation::new(pattern, is_extended).translate().unwrap_or_else(|why| format!("refused: {why}"))
    }

    #[test]
    fn operators_are_those_of_the_syntax() {
        for (pattern, basic, extended) in [
            ("a+(b)", "a\\+\\(b\\)", "a+(b)"),
            ("a\\+\\(b\\)", "a+(b)", "a\\+\\(b\\)"),
            ("^a*$", "^a*$", "^a*$"),
            ("*a", "\\*a", "\\*a"),
            ("a^b$c", "a\\^b\\$c", "a^b$c"),
            ("a{2}", "a\\{2\\}", "a{2}"),
            ("[a.]-[]^-]", "[a\\.]\\-[\\]\\^\\-]", "[a\\.]\\-[\\]\\^\\-]"),
            ("[[:alpha:]_]", "[[:alpha:]\\_]", "[[:alpha:]\\_]"),
        ] {
            assert_eq!((translated(pattern, false).as_str(), translated(pattern, true).as_str()), (basic, extended));
        }
        assert_eq!(translated("a\\{,2\\}\\|b$\\|c", false), "a{0,2}|b$|c");
    }

    #[test]
    fn all_of_it_is_read_by_the_engine() {
        for pattern in ["\\<a\\>", "\\w\\+\\W\\s*", "\\`a\\'", "[^/]*", "[a-z0-9_]", "[%--]", "\\bx\\B", "[&~]"] {
            assert!(compile(pattern, PatternSyntax::default()).is_ok(), "{pattern}: {}", translated(pattern, false));
        }
    }
}
