//! A line of a job list in the syntax of Debian's xjobs 20120412: quotes, comments, continuation, redirections, `cd DIR;`, `%%`.
//! Each rule was tried on that program; where its manual and the program differ, the program counts. Knows no list and no
//! utility: [`crate::list`] joins lines and numbers them.

use crate::spec::{ExistingOutput, More, OutputTarget};
use sys::spawn::Words;

/// What has been read of one job so far. Lines are fed one by one; several make one job with a continuation or `-l`.
#[derive(Debug, Default)]
pub struct LineReader {
    words: Words,
    more: Option<Box<More>>,
    /// A quotation that goes on in the next line, and what it holds so far.
    quotation: Option<(u8, Vec<u8>)>,
    /// A redirection whose file has not come yet.
    operator: Option<Operator>,
}

/// What a line was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fed {
    /// Words, or nothing at all: the line is complete.
    Complete,
    /// The next line belongs to it.
    GoesOn,
    /// A comment.
    Comment,
    /// `%%`: all before must end before anything behind begins.
    Barrier,
}

/// What is wrong with a line, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {cause}")]
pub struct LineFault {
    /// Byte in the line, from 1.
    pub column: usize,
    /// What is wrong there.
    pub cause: LineCause,
}

/// What can be wrong with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineCause {
    /// A quotation has no end.
    #[error("the quotation that begins here has no end")]
    OpenQuotation,
    /// A redirection has no file.
    #[error("a file name is needed behind {0}")]
    NoFile(&'static str),
    /// A word with a NUL byte.
    #[error("there is a NUL byte in a word")]
    Nul,
}

/// The redirections, longest first.
const OPERATORS: &[(&str, Operator)] = &[
    (">>&", Operator { sink: Some(ExistingOutput::Append), takes_stderr: true, text: ">>&" }),
    (">>", Operator { sink: Some(ExistingOutput::Append), takes_stderr: false, text: ">>" }),
    (">&", Operator { sink: Some(ExistingOutput::New), takes_stderr: true, text: ">&" }),
    (">!", Operator { sink: Some(ExistingOutput::Replace), takes_stderr: false, text: ">!" }),
    (">", Operator { sink: Some(ExistingOutput::New), takes_stderr: false, text: ">" }),
    ("<", Operator { sink: None, takes_stderr: false, text: "<" }),
];

/// A redirection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Operator {
    /// How the output file is opened; none for an input.
    sink: Option<ExistingOutput>,
    takes_stderr: bool,
    text: &'static str,
}

impl Operator {
    fn apply(self, more: &mut More, path: Vec<u8>) {
        let Some(opening) = self.sink else {
            more.stdin = Some(path);
            return;
        };
        let target = OutputTarget { path, opening };
        if self.takes_stderr {
            // COMPAT: `> a >& b` sends only errors to b, as an earlier > has settled the output.
            more.stdout.get_or_insert_with(|| target.clone());
            more.stderr = Some(target);
        } else {
            more.stdout = Some(target);
        }
    }
}

impl LineReader {
    /// Reads one line, without its end.
    pub fn feed(&mut self, line: &[u8]) -> Result<Fed, LineFault> {
        let mut at = 0;
        if let Some((quote, text)) = self.quotation.take() {
            match quoted(line, 0, quote, text) {
                Quoted::Closed(text, behind) => {
                    self.take_word(&text, 0)?;
                    at = behind;
                }
                Quoted::GoesOn(text) => {
                    self.quotation = Some((quote, text));
                    return Ok(Fed::GoesOn);
                }
                Quoted::Open => return Err(LineFault { column: 1, cause: LineCause::OpenQuotation }),
            }
        } else if line.first() == Some(&b'#') {
            return Ok(Fed::Comment);
        } else if line == b"%%" {
            return Ok(Fed::Barrier);
        } else if let Some((directory, behind)) = directory_command(line) {
            self.more.get_or_insert_default().directory = Some(directory);
            at = behind;
        }
        self.feed_words(line, at)
    }

    fn feed_words(&mut self, line: &[u8], mut at: usize) -> Result<Fed, LineFault> {
        loop {
            at += blanks(&line[at..]);
            let rest = &line[at..];
            match rest.first() {
                None => break,
                // COMPAT: a backslash goes on only where a word would begin; at a word's end it belongs to the word.
                Some(b'\\') if rest.len() == 1 => return Ok(Fed::GoesOn),
                Some(&quote @ (b'"' | b'\'')) => match quoted(line, at + 1, quote, Vec::new()) {
                    Quoted::Closed(text, behind) => {
                        self.take_word(&text, at)?;
                        at = behind;
                    }
                    Quoted::GoesOn(text) => {
                        self.quotation = Some((quote, text));
                        return Ok(Fed::GoesOn);
                    }
                    Quoted::Open => return Err(LineFault { column: at + 1, cause: LineCause::OpenQuotation }),
                },
                Some(_) => match OPERATORS.iter().find(|(text, _)| rest.starts_with(text.as_bytes())) {
                    Some((text, operator)) => {
                        self.no_file_missing(at)?;
                        self.operator = Some(*operator);
                        at += text.len();
                    }
                    None => {
                        let (word, length) = bare_word(rest);
                        self.take_word(&word, at)?;
                        at += length;
                    }
                },
            }
        }
        self.no_file_missing(line.len())?;
        Ok(Fed::Complete)
    }

    /// Whether nothing has been read since [`LineReader::take`].
    pub fn is_empty(&self) -> bool {
        self.words.is_empty() && self.more.is_none() && self.quotation.is_none() && self.operator.is_none()
    }

    /// There are no more lines for it.
    pub fn end(&self) -> Result<(), LineFault> {
        match self.quotation {
            Some(_) => Err(LineFault { column: 1, cause: LineCause::OpenQuotation }),
            None => self.no_file_missing(0),
        }
    }

    /// The backslash at the end of the line that was fed last, as a word; in a quotation it stands for more than itself.
    pub fn take_last_backslash(&mut self) -> Result<(), LineFault> {
        if self.quotation.is_some() { Ok(()) } else { self.take_word(b"\\", 0) }
    }

    /// What has been read, to make a job of.
    pub fn take(&mut self) -> (Words, Option<Box<More>>) {
        let mut words = std::mem::take(&mut self.words);
        words.shrink();
        (words, self.more.take())
    }

    /// Adds a word that is taken as it is (`-1`, `-0`).
    pub fn take_raw(&mut self, word: &[u8]) -> Result<(), LineFault> {
        self.take_word(word, 0)
    }

    fn take_word(&mut self, word: &[u8], at: usize) -> Result<(), LineFault> {
        if word.contains(&0) {
            return Err(LineFault { column: at + 1, cause: LineCause::Nul });
        }
        match self.operator.take() {
            Some(operator) => {
                operator.apply(self.more.get_or_insert_default(), word.to_vec());
                Ok(())
            }
            None => self.words.push(word).ok().ok_or(LineFault { column: at + 1, cause: LineCause::Nul }),
        }
    }

    fn no_file_missing(&self, at: usize) -> Result<(), LineFault> {
        match self.operator {
            Some(operator) => Err(LineFault { column: at + 1, cause: LineCause::NoFile(operator.text) }),
            None => Ok(()),
        }
    }
}

/// Redirections among the words of a command line: operators as words of their own, as the shell passes `'>' file`.
/// Returns the other words and what was redirected.
pub fn redirections(words: impl Iterator<Item = Vec<u8>>) -> Result<(Vec<Vec<u8>>, More), LineCause> {
    let (mut plain, mut more, mut pending) = (Vec::new(), More::default(), None::<Operator>);
    for word in words {
        let named = OPERATORS.iter().find(|(text, _)| text.as_bytes() == word.as_slice());
        match (pending.take(), named) {
            (Some(operator), _) => operator.apply(&mut more, word),
            (None, Some((_, operator))) => pending = Some(*operator),
            (None, None) => plain.push(word),
        }
    }
    match pending {
        Some(operator) => Err(LineCause::NoFile(operator.text)),
        None => Ok((plain, more)),
    }
}

fn blanks(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// A word without quotes: up to a blank, where `\ ` behind its first letter is a space. Quotes inside are letters.
fn bare_word(rest: &[u8]) -> (Vec<u8>, usize) {
    let mut word = Vec::new();
    let mut at = 0;
    while let Some(&byte) = rest.get(at) {
        match byte {
            b'\\' if at > 0 && rest.get(at + 1) == Some(&b' ') => {
                word.push(b' ');
                at += 1;
            }
            b' ' | b'\t' => break,
            _ => word.push(byte),
        }
        at += 1;
    }
    (word, at)
}

enum Quoted {
    /// Its text, and where the line goes on behind it.
    Closed(Vec<u8>, usize),
    /// The line ended in a backslash: the line end is part of the text.
    GoesOn(Vec<u8>),
    /// It has no end.
    Open,
}

/// Reads on in a quotation from `at`. A backslash before the quote, a backslash or the line's end takes its meaning away;
/// before other letters it stays (where xjobs refuses the line).
fn quoted(line: &[u8], mut at: usize, quote: u8, mut text: Vec<u8>) -> Quoted {
    while let Some(&byte) = line.get(at) {
        match (byte, line.get(at + 1)) {
            (b'\\', None) => {
                text.push(b'\n');
                return Quoted::GoesOn(text);
            }
            (b'\\', Some(&next)) if next == quote || next == b'\\' => {
                text.push(next);
                at += 1;
            }
            _ if byte == quote => return Quoted::Closed(text, at + 1),
            _ => text.push(byte),
        }
        at += 1;
    }
    Quoted::Open
}

/// `cd DIR;` at a line's beginning, or `cd DIR ;`: the directory, and where the line goes on.
fn directory_command(line: &[u8]) -> Option<(Vec<u8>, usize)> {
    let mut at = blanks(line);
    at += line[at..].starts_with(b"cd").then_some(2)?;
    let gap = blanks(&line[at..]);
    if gap == 0 {
        return None;
    }
    at += gap;
    let (directory, behind) = match line.get(at) {
        Some(&quote @ (b'"' | b'\'')) => match quoted(line, at + 1, quote, Vec::new()) {
            Quoted::Closed(text, behind) => (text, behind),
            _ => return None,
        },
        _ => {
            let length = line[at..].iter().position(|&byte| byte == b';')?;
            let (directory, word_length) = bare_word(&line[at..at + length]);
            (directory, at + word_length)
        }
    };
    let behind = behind + blanks(&line[behind..]);
    (line.get(behind) == Some(&b';') && !directory.is_empty()).then_some((directory, behind + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(lines: &[&str]) -> Result<(Vec<String>, More, Fed), LineFault> {
        let mut reader = LineReader::default();
        let mut last = Fed::Complete;
        for line in lines {
            last = reader.feed(line.as_bytes())?;
        }
        let (words, more) = reader.take();
        let words = words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        Ok((words, more.map(|more| *more).unwrap_or_default(), last))
    }

    fn words(line: &str) -> Vec<String> {
        read(&[line]).expect("a good line").0
    }

    #[test]
    fn words_and_quotes_are_as_xjobs_has_them() {
        let cases: &[(&str, &[&str])] = &[
            (r#"a "b c" d"#, &["a", "b c", "d"]),
            ("'a b' c", &["a b", "c"]),
            (r"a\ b c", &["a b", "c"]),
            (r#""a\"b" c"#, &["a\"b", "c"]),
            (r"'a\'b' c", &["a'b", "c"]),
            (r"a\\b", &[r"a\\b"]),
            (r#"a"b c"d"#, &["a\"b", "c\"d"]),
            (r#""" b ''"#, &["", "b", ""]),
            ("a #b a#", &["a", "#b", "a#"]),
            ("\ta  b \t", &["a", "b"]),
            ("a\\\tb", &["a\\", "b"]),
            (r#""a"b"c" x"#, &["a", "b\"c\"", "x"]),
            (r#""a"'b'"#, &["a", "b"]),
            (r"\x \# \> y", &[r"\x", r"\#", r"\>", "y"]),
            (r"a \ b", &["a", "\\", "b"]),
            (r"a\\ b", &["a\\ b"]),
            ("%% b a%%b", &["%%", "b", "a%%b"]),
            ("$HOME `ls` * ~ ; | &", &["$HOME", "`ls`", "*", "~", ";", "|", "&"]),
            ("x cd /; y", &["x", "cd", "/;", "y"]),
        ];
        for (line, expected) in cases {
            assert_eq!(words(line), *expected, "{line}");
        }
    }

    #[test]
    fn lines_go_on_comment_and_divide() {
        assert_eq!(read(&["a \\", "b"]).expect("good").0, ["a", "b"]);
        assert_eq!(read(&["a\\"]).expect("good"), (vec!["a\\".to_owned()], More::default(), Fed::Complete));
        assert_eq!(read(&["\"a\\", "b\" c"]).expect("good").0, ["a\nb", "c"]);
        assert_eq!(read(&["#x"]).expect("good").2, Fed::Comment);
        assert_eq!(words(" #x"), ["#x"]);
        assert_eq!(read(&["%%"]).expect("good").2, Fed::Barrier);
    }

    #[test]
    fn redirections_stand_anywhere_and_need_a_file() {
        let target = |path: &str, opening| Some(OutputTarget { path: path.as_bytes().to_vec(), opening });
        let (plain, more, _) = read(&["> o both a <'i n' b >& e"]).expect("good");
        assert_eq!(plain, ["both", "a", "b"]);
        assert_eq!(more.stdin.as_deref(), Some(&b"i n"[..]));
        assert_eq!((more.stdout, more.stderr), (target("o", ExistingOutput::New), target("e", ExistingOutput::New)));
        assert_eq!(read(&["a >!o"]).expect("good").1.stdout, target("o", ExistingOutput::Replace));
        assert_eq!(read(&["a >>& o"]).expect("good").1.stderr, target("o", ExistingOutput::Append));
        assert_eq!(read(&["a >& o > p"]).expect("good").1.stdout, target("p", ExistingOutput::New));
        assert_eq!(words("a>o"), ["a>o"]);
        assert_eq!(read(&["a >"]), Err(LineFault { column: 4, cause: LineCause::NoFile(">") }));
        assert_eq!(read(&["a > < b"]), Err(LineFault { column: 5, cause: LineCause::NoFile(">") }));
        assert_eq!(read(&["a \"b"]), Err(LineFault { column: 3, cause: LineCause::OpenQuotation }));
    }

    #[test]
    fn a_directory_is_changed_once_and_at_the_beginning() {
        for (line, directory) in
            [("cd /; pwd", "/"), ("  cd   /usr;pwd", "/usr"), ("cd \"/a b\"; pwd", "/a b"), ("cd / ; pwd", "/")]
        {
            let (plain, more, _) = read(&[line]).expect("good");
            assert_eq!(
                (plain, more.directory),
                (vec!["pwd".to_owned()], Some(directory.as_bytes().to_vec())),
                "{line}"
            );
        }
        assert_eq!(words("cd a b; show"), ["cd", "a", "b;", "show"]);
        assert_eq!(words("cd; pwd"), ["cd;", "pwd"]);
    }

    proptest! {
        #[test]
        fn any_words_that_are_quoted_come_back(list in proptest::collection::vec("[^\0\n]{0,12}", 1..6)) {
            let quoted: Vec<String> =
                list.iter().map(|word| format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))).collect();
            prop_assert_eq!(words(&quoted.join(" ")), list);
        }

        #[test]
        fn no_bytes_make_it_panic(line in proptest::collection::vec(any::<u8>(), 0..60)) {
            let mut reader = LineReader::default();
            let _any_answer_will_do = reader.feed(&line);
        }
    }
}
