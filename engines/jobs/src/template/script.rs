//! A shell's script with values in it: the script names them as parameters, and the quotes that it has around a value's place go on meaning
//! what they say. Follows quotes, backslashes, comments and substitutions, and knows nothing else of the shell's grammar.
//! LIMIT: in a here-document, and behind a `case` within `$( )`, quotes are not followed.

/// What a place in a script stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inside {
    Apostrophes,
    Quotes,
    Backticks,
    /// `$( )`, and parentheses in it: within are commands again, whatever is around.
    Parentheses,
    Comment,
}

/// A script that is being put together.
#[derive(Debug, Default)]
pub(super) struct Script {
    text: Vec<u8>,
    /// From the outermost.
    inside: Vec<Inside>,
    is_escaped: bool,
    /// The byte before, where it was not escaped.
    before: Option<u8>,
    values: Vec<Vec<u8>>,
}

impl Script {
    /// Adds text of the script itself.
    pub fn push(&mut self, text: &[u8]) {
        for &byte in text {
            if std::mem::take(&mut self.is_escaped) {
                self.before = None;
            } else {
                self.follow(byte);
                self.before = Some(byte);
            }
            self.text.push(byte);
        }
    }

    fn follow(&mut self, byte: u8) {
        let is_at_word = self.text.is_empty() || self.before.is_some_and(|before| b" \t\n;&|(".contains(&before));
        match (self.inside.last().copied(), byte) {
            (Some(Inside::Apostrophes), b'\'')
            | (Some(Inside::Quotes), b'"')
            | (Some(Inside::Backticks), b'`')
            | (Some(Inside::Parentheses), b')')
            | (Some(Inside::Comment), b'\n') => {
                self.inside.pop();
            }
            (Some(Inside::Apostrophes | Inside::Comment), _) => {}
            (_, b'\\') => self.is_escaped = true,
            (_, b'(') if self.before == Some(b'$') => self.inside.push(Inside::Parentheses),
            (_, b'`') => self.inside.push(Inside::Backticks),
            (Some(Inside::Quotes), _) => {}
            (Some(Inside::Parentheses), b'(') => self.inside.push(Inside::Parentheses),
            (_, b'"') => self.inside.push(Inside::Quotes),
            (_, b'\'') => self.inside.push(Inside::Apostrophes),
            (_, b'#') if is_at_word => self.inside.push(Inside::Comment),
            _ => {}
        }
    }

    /// Names values in the place that has been reached: each a word of its own where no quotes are around, else all in one.
    pub fn name_values(&mut self, values: impl IntoIterator<Item = Vec<u8>>) {
        let (open, close, between) = match self.inside.last().copied() {
            Some(Inside::Apostrophes) => ("'\"", "\"'", " "),
            Some(Inside::Quotes) => ("", "", " "),
            _ => ("\"", "\"", "\" \""),
        };
        let mut names = Vec::new();
        for value in values {
            self.values.push(value);
            names.push(format!("${{{}}}", self.values.len()));
        }
        if !names.is_empty() {
            self.text.extend([open, &names.join(between), close].concat().into_bytes());
            self.before = Some(b'}');
        }
    }

    /// The script, and what it names.
    pub fn finish(self) -> (Vec<u8>, Vec<Vec<u8>>) {
        (self.text, self.values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The script with all its `{}` replaced by names of `values`.
    fn named(script: &str, values: &[&str]) -> String {
        let mut made = Script::default();
        for (index, text) in script.split("{}").enumerate() {
            if index > 0 {
                made.name_values(values.iter().map(|value| value.as_bytes().to_vec()));
            }
            made.push(text.as_bytes());
        }
        String::from_utf8(made.finish().0).expect("text")
    }

    #[test]
    fn quotes_around_a_place_mean_what_they_say() {
        let cases = [
            ("a {} b{}c", "a \"${1}\" b\"${2}\"c"),
            ("a \"{}\" \"x {}\"", "a \"${1}\" \"x ${2}\""),
            ("a '{}' 'x {}'", "a ''\"${1}\"'' 'x '\"${2}\"''"),
            ("a \"it's {}\" \\\"{}", "a \"it's ${1}\" \\\"\"${2}\""),
            ("\"$(a \"{}\" {}) {}\"", "\"$(a \"${1}\" \"${2}\") ${3}\""),
            ("\"`a {}` {}\"", "\"`a \"${1}\"` ${2}\""),
            ("\"\\$({}\"", "\"\\$(${1}\""),
            ("(a {}) # it's\nb {}", "(a \"${1}\") # it's\nb \"${2}\""),
            ("a#'{}'", "a#''\"${1}\"''"),
        ];
        for (script, expected) in cases {
            assert_eq!(named(script, &["v"]), expected);
        }
    }

    #[test]
    fn several_values_are_words_of_their_own_unless_quotes_hold_them_together() {
        assert_eq!(named("a {} x{}y", &["1", "2"]), "a \"${1}\" \"${2}\" x\"${3}\" \"${4}\"y");
        assert_eq!(named("a \"{}\" '{}'", &["1", "2"]), "a \"${1} ${2}\" ''\"${3} ${4}\"''");
        assert_eq!(named("a {}", &[]), "a ");
    }
}
