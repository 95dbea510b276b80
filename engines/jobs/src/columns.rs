//! Divides a line into columns (GNU parallel's `--colsep`): by a text, or by a regular expression if the separator is one. Lines are bytes and
//! need be no text. Knows nothing of where lines come from.

use regex_lite::Regex;
use std::sync::Arc;

/// A separator of columns.
#[derive(Clone, Debug)]
pub struct Columns {
    typed: String,
    separator: Separator,
}

#[derive(Clone, Debug)]
enum Separator {
    Text(Vec<u8>),
    /// For lines that are text, and for those that are not, whose bytes are taken for letters. Behind a pointer: a copy of an
    /// expression begins without what it has found out.
    Pattern(Arc<[Regex; 2]>),
}

/// An expression that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadPattern(String);

/// What stands for something else in an expression.
const SPECIAL: &[u8] = b".^$|?*+()[{";

impl Columns {
    /// As it is typed: `,`, `\t`, `\|`, `\s+`, `[;,]`.
    ///
    /// # Errors
    /// What is wrong with the expression.
    pub fn parse(typed: &str) -> Result<Self, BadPattern> {
        let separator = match literal(typed.as_bytes()) {
            Some(text) => Separator::Text(text),
            None => {
                let pattern = with_nul(typed);
                let of_bytes: String = pattern.bytes().map(char::from).collect();
                let regex = |pattern: &str| Regex::new(pattern).map_err(|error| BadPattern(error.to_string()));
                Separator::Pattern(Arc::new([regex(&pattern)?, regex(&of_bytes)?]))
            }
        };
        Ok(Self { typed: typed.to_owned(), separator })
    }

    /// The words of a line, without the blanks around them: at least one. COMPAT: GNU parallel's, which are Perl's: what a group of the
    /// expression matches is a word as well, and a match of nothing divides letters, but has nothing before the first.
    pub fn divide<'a>(&self, line: &'a [u8]) -> Vec<&'a [u8]> {
        let mut words = match &self.separator {
            _ if line.is_empty() => vec![line],
            Separator::Text(text) => at_text(line, text),
            Separator::Pattern(patterns) => match std::str::from_utf8(line) {
                Ok(text) => at_pattern(text, &patterns[0]).into_iter().map(|(from, to)| &line[from..to]).collect(),
                Err(_) => {
                    let letters: String = line.iter().copied().map(char::from).collect();
                    let places = byte_places(&letters);
                    let words = at_pattern(&letters, &patterns[1]).into_iter();
                    words.map(|(from, to)| &line[places[from]..places[to]]).collect()
                }
            },
        };
        words.iter_mut().for_each(|word| *word = trimmed(word));
        words
    }
}

impl PartialEq for Columns {
    fn eq(&self, other: &Self) -> bool {
        self.typed == other.typed
    }
}

impl Eq for Columns {}

/// The text that an expression without anything special is.
fn literal(typed: &[u8]) -> Option<Vec<u8>> {
    let (mut text, mut bytes) = (Vec::new(), typed.iter());
    while let Some(&byte) = bytes.next() {
        text.push(match byte {
            b'\\' => match *bytes.next()? {
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                b'0' => 0,
                escaped if escaped.is_ascii_punctuation() => escaped,
                _ => return None,
            },
            byte if SPECIAL.contains(&byte) => return None,
            byte => byte,
        });
    }
    (!text.is_empty()).then_some(text)
}

/// The expression with `\0` as its crate writes it.
fn with_nul(typed: &str) -> String {
    let (mut pattern, mut letters) = (String::new(), typed.chars());
    while let Some(letter) = letters.next() {
        pattern.push(letter);
        if letter == '\\' {
            match letters.next() {
                Some('0') => pattern.push_str("x00"),
                Some(escaped) => pattern.push(escaped),
                None => {}
            }
        }
    }
    pattern
}

fn at_text<'a>(line: &'a [u8], by: &[u8]) -> Vec<&'a [u8]> {
    let (mut parts, mut begin, mut at) = (Vec::new(), 0, 0);
    while at + by.len() <= line.len() {
        if line[at..].starts_with(by) {
            parts.push(&line[begin..at]);
            at += by.len();
            begin = at;
        } else {
            at += 1;
        }
    }
    parts.push(&line[begin..]);
    parts
}

/// Where the parts of `text` begin and end.
fn at_pattern(text: &str, pattern: &Regex) -> Vec<(usize, usize)> {
    let (mut parts, mut begin) = (Vec::new(), 0);
    if pattern.captures_len() == 1 {
        for found in pattern.find_iter(text).filter(|found| found.end() > 0) {
            parts.push((begin, found.start()));
            begin = found.end();
        }
    } else {
        let separates = |found: &regex_lite::Captures<'_>| found.get(0).is_some_and(|whole| whole.end() > 0);
        for found in pattern.captures_iter(text).filter(separates) {
            let mut groups = found.iter().map(|group| group.map_or((0, 0), |group| (group.start(), group.end())));
            let (from, to) = groups.next().unwrap_or_default();
            parts.push((begin, from));
            parts.extend(groups);
            begin = to;
        }
    }
    parts.push((begin, text.len()));
    parts
}

/// Of each place in `letters` how many letters are before it.
fn byte_places(letters: &str) -> Vec<usize> {
    let mut places = vec![0; letters.len() + 1];
    let ends = letters.char_indices().map(|(at, letter)| at + letter.len_utf8());
    ends.enumerate().for_each(|(index, end)| places[end] = index + 1);
    places
}

/// COMPAT: GNU parallel takes blanks off where there are columns; they are Perl's `\s`.
fn trimmed(word: &[u8]) -> &[u8] {
    let is_blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'\x0b';
    let begin = word.iter().position(|byte| !is_blank(byte)).unwrap_or(word.len());
    let end = word.iter().rposition(|byte| !is_blank(byte)).map_or(begin, |last| last + 1);
    &word[begin..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn divided<'a>(typed: &str, line: &'a [u8]) -> Vec<&'a [u8]> {
        Columns::parse(typed).expect("it is one").divide(line)
    }

    #[test]
    fn texts_and_expressions_divide() {
        let cases: [(&str, &str, &[&str]); 17] = [
            (",", "a,b,,c,", &["a", "b", "", "c", ""]),
            ("\\t", "a\tb", &["a", "b"]),
            ("\\|", "a|b", &["a", "b"]),
            ("\\\\", "a\\b", &["a", "b"]),
            ("::", "a::b:c", &["a", "b:c"]),
            ("\\s+", "a  b\t c", &["a", "b", "c"]),
            ("[;,]", "a;b,c", &["a", "b", "c"]),
            ("(?:;|,) *", "a; b,c", &["a", "b", "c"]),
            ("(;|(,))", "a;b,c", &["a", ";", "", "b", ",", ",", "c"]),
            ("(?i)x", "aXbxc", &["a", "b", "c"]),
            (".", "a.b", &["", "", "", ""]),
            ("", "abc", &["a", "b", "c", ""]),
            ("x*", "axb", &["a", "b", ""]),
            ("|", "a|b", &["a", "|", "b", ""]),
            ("^", "a,b", &["a,b"]),
            (",", " a , b\x0b", &["a", "b"]),
            ("\\s+", "", &[""]),
        ];
        for (typed, line, words) in cases {
            let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
            assert_eq!(divided(typed, line.as_bytes()), words, "{typed:?} {line:?}");
        }
        assert_eq!(divided("\\0", b"a\0b"), [b"a", b"b"]);
        assert_eq!(divided("[\\0]", b"a\0b"), [b"a", b"b"]);
        assert_eq!(
            Columns::parse("(a").expect_err("it has no end").to_string(),
            "found open group without closing ')'"
        );
    }

    #[test]
    fn lines_need_be_no_text() {
        assert_eq!(divided("é", b"a\xff\xc3\xa9b"), [&b"a\xff"[..], b"b"]);
        assert_eq!(divided("(?:é)+", b"a\xff\xc3\xa9\xc3\xa9b"), [&b"a\xff"[..], b"b"]);
        assert_eq!(divided("[;,]", b"\xe9;\xff,"), [&b"\xe9"[..], b"\xff", b""]);
        assert_eq!(divided("x.y", "axéyb".as_bytes()), [b"a", b"b"]);
    }

    proptest! {
        #[test]
        fn a_text_divides_as_the_same_text_in_a_group(line in prop::collection::vec(prop::sample::select(b"a,;\xff\xc3\xa9 ".to_vec()), 0..12)) {
            prop_assert_eq!(divided(",", &line), divided("(?:,)", &line));
            prop_assert_eq!(divided(",;", &line), divided("(?:,;)", &line));
            prop_assert_eq!(divided("é", &line), divided("(?:é)", &line));
        }
    }
}
