//! A Rust file as the rules see it: line by line, what is code (strings and comments blanked), what is comment, and what is
//! test only. Knows literals, nested comments and braces; knows no grammar beyond that, and expands no macro.

use std::path::{Path, PathBuf};

/// A file taken apart. All three lists have one entry a line.
pub struct Scanned {
    pub path: PathBuf,
    /// Code with the contents of literals and comments left out; quotes stay.
    pub code: Vec<String>,
    /// The comments.
    pub comments: Vec<String>,
    /// Whether the line is part of a `#[cfg(test)]` item, or the whole file is a test.
    is_test: Vec<bool>,
}

/// What the scanner stands in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Code,
    LineComment,
    /// How deeply nested.
    BlockComment(usize),
    Text,
    /// How many `#` end it.
    RawText(usize),
}

impl Scanned {
    pub fn new(path: &Path, text: &str) -> Self {
        let (code, comments) = take_apart(text);
        let is_whole_test = path.iter().any(|part| part == "tests") || path.ends_with("tests.rs");
        let is_test = if is_whole_test { vec![true; code.len()] } else { test_lines(&code) };
        Self { path: path.to_owned(), code, comments, is_test }
    }

    /// Lines with their numbers, counted from 1.
    pub fn numbered(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code.iter().enumerate().map(|(index, code)| (index + 1, code.as_str()))
    }

    pub fn is_test(&self, number: usize) -> bool {
        self.is_test[number - 1]
    }

    /// `path:line`.
    pub fn place(&self, number: usize) -> String {
        format!("{}:{number}", self.path.display())
    }
}

fn take_apart(text: &str) -> (Vec<String>, Vec<String>) {
    let letters: Vec<char> = text.chars().collect();
    let (mut code, mut comments) = (vec![String::new()], vec![String::new()]);
    let (mut at, mut inside) = (0, Inside::Code);
    while at < letters.len() {
        let letter = letters[at];
        if letter == '\n' {
            if inside == Inside::LineComment {
                inside = Inside::Code;
            }
            code.push(String::new());
            comments.push(String::new());
            at += 1;
            continue;
        }
        let (next, length) = step(&letters, at, inside);
        let is_comment = |inside| matches!(inside, Inside::LineComment | Inside::BlockComment(_));
        if is_comment(inside) || is_comment(next) {
            comments.last_mut().expect("it begins with a line").extend(&letters[at..at + length]);
        } else if inside == Inside::Code {
            let line = code.last_mut().expect("it begins with a line");
            // Of a literal only its first letter stays.
            let is_literal = next != Inside::Code || letter == '\'' && length > 1;
            line.extend(&letters[at..at + if is_literal { 1 } else { length }]);
        }
        inside = next;
        at += length;
    }
    (code, comments)
}

/// What comes next, and how many letters lead there. Never takes in a line's end, except behind a backslash in a text.
fn step(letters: &[char], at: usize, inside: Inside) -> (Inside, usize) {
    let is = |offset: usize, wanted: char| letters.get(at + offset) == Some(&wanted);
    match inside {
        Inside::LineComment => (inside, 1),
        Inside::BlockComment(depth) if is(0, '/') && is(1, '*') => (Inside::BlockComment(depth + 1), 2),
        Inside::BlockComment(1) if is(0, '*') && is(1, '/') => (Inside::Code, 2),
        Inside::BlockComment(depth) if is(0, '*') && is(1, '/') => (Inside::BlockComment(depth - 1), 2),
        Inside::Text if is(0, '\\') && at + 1 < letters.len() && !is(1, '\n') => (inside, 2),
        Inside::Text if is(0, '"') => (Inside::Code, 1),
        Inside::RawText(hashes) if is(0, '"') && (1..=hashes).all(|offset| is(offset, '#')) => {
            (Inside::Code, hashes + 1)
        }
        Inside::BlockComment(_) | Inside::Text | Inside::RawText(_) => (inside, 1),
        Inside::Code if is(0, '/') && is(1, '/') => (Inside::LineComment, 2),
        Inside::Code if is(0, '/') && is(1, '*') => (Inside::BlockComment(1), 2),
        Inside::Code if is(0, '"') => (Inside::Text, 1),
        Inside::Code if is(0, '\'') => (inside, letter_literal(letters, at)),
        Inside::Code => raw_text(letters, at).map_or((inside, 1), |(hashes, length)| (Inside::RawText(hashes), length)),
    }
}

/// Length of `'x'` or `'\x'`; 1 for the quote of a lifetime.
fn letter_literal(letters: &[char], at: usize) -> usize {
    match (letters.get(at + 1), letters.get(at + 2)) {
        (Some('\\'), Some(_)) => {
            letters[at + 3..].iter().take(12).position(|&letter| letter == '\'').map_or(1, |end| end + 4)
        }
        (Some(letter), Some('\'')) if *letter != '\n' => 3,
        _ => 1,
    }
}

/// `r"`, `r#"`, `br##"`: how many `#`, and the length up to the quote.
fn raw_text(letters: &[char], at: usize) -> Option<(usize, usize)> {
    let is_word = |letter: &char| letter.is_alphanumeric() || *letter == '_';
    let before = at.checked_sub(1).map(|before| &letters[before]);
    let is_prefixed =
        matches!(before, Some('b' | 'c')) && !at.checked_sub(2).is_some_and(|before| is_word(&letters[before]));
    if letters[at] != 'r' || (before.is_some_and(is_word) && !is_prefixed) {
        return None;
    }
    let hashes = letters[at + 1..].iter().take_while(|&&letter| letter == '#').count();
    (letters.get(at + 1 + hashes) == Some(&'"')).then_some((hashes, hashes + 2))
}

/// Marks each `#[cfg(test)]` with the item below it.
fn test_lines(code: &[String]) -> Vec<bool> {
    let mut marks = vec![false; code.len()];
    let mut index = 0;
    while index < code.len() {
        let line = &code[index];
        let is_for_tests = line.contains("#[cfg(") && has_word(line, "test") && !line.contains("not(test");
        let end = if is_for_tests { item_end(&code[index..]).map(|(_, end)| index + end) } else { None };
        let after = end.map_or(index, |end| end.min(code.len() - 1));
        marks[index..=after].fill(end.is_some());
        index = after + 1;
    }
    marks
}

/// Where the body of the item that begins in the first line opens and closes; both the same for one without a body.
pub fn item_end(code: &[String]) -> Option<(usize, usize)> {
    let (mut braces, mut others, mut opened_at) = (0_usize, 0_usize, None);
    for (index, line) in code.iter().enumerate() {
        for letter in line.chars() {
            match letter {
                '(' | '[' => others += 1,
                ')' | ']' => others = others.saturating_sub(1),
                '{' => {
                    braces += 1;
                    opened_at.get_or_insert(index);
                }
                '}' => {
                    braces = braces.saturating_sub(1);
                    if let (Some(from), 0) = (opened_at, braces) {
                        return Some((from, index));
                    }
                }
                // Not the one in `[u8; 4]`.
                ';' if opened_at.is_none() && others == 0 => return Some((index, index)),
                _ => {}
            }
        }
    }
    None
}

/// Whether a word stands in the code, not as a part of a longer one.
pub fn has_word(code: &str, word: &str) -> bool {
    word_at(code, word).is_some()
}

/// Where a word stands first.
pub fn word_at(code: &str, word: &str) -> Option<usize> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let stands_alone = |at: &usize| {
        let before = code[..*at].chars().next_back();
        let after = code[at + word.len()..].chars().next();
        // A word that ends in a sign, as `unbounded(`, ends there.
        let may_go_on = word.ends_with(is_part);
        !(before.is_some_and(is_part) || may_go_on && after.is_some_and(is_part))
    };
    code.match_indices(word).map(|(at, _)| at).find(stands_alone)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        Scanned::new(Path::new("x.rs"), text).code.join("\n")
    }

    #[test]
    fn literals_and_comments_are_no_code() {
        assert_eq!(code("a(\"x { \\\" }\"); // b"), "a(\"); ");
        assert_eq!(code("a(r#\"x \" y\"#, br\"z\", 'x', '\\'', '{', b'\"')"), "a(r, br, ', ', ', b')");
        assert_eq!(code("a /* b /* c */ d\n e */ f"), "a \n f");
        assert_eq!(code("fn f<'a>(x: &'a str) -> r#type {}"), "fn f<'a>(x: &'a str) -> r#type {}");
        assert_eq!(code("a(\"x \\\n  y\");"), "a(\"\n);");
    }

    #[test]
    fn comments_are_kept_apart() {
        let scanned = Scanned::new(Path::new("x.rs"), "let a = 1; // SAFETY: b\n/* c\nd */");
        assert_eq!(scanned.comments, ["// SAFETY: b", "/* c", "d */"]);
    }

    #[test]
    fn test_items_end_with_their_braces() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    const B: &str = \"}\";\n}\nfn c() {}\n#[cfg(test)]\nmod d;\nfn e() {}";
        let scanned = Scanned::new(Path::new("x.rs"), text);
        let marks: Vec<bool> = (1..=9).map(|number| scanned.is_test(number)).collect();
        assert_eq!(marks, [false, true, true, true, true, false, true, true, false]);
    }

    #[test]
    fn words_stand_alone() {
        assert!(has_word("unsafe {", "unsafe") && !has_word("unsafe_code", "unsafe"));
        assert!(has_word("unbounded(x)", "unbounded(") && !has_word("is_unbounded(x)", "unbounded("));
    }
}
