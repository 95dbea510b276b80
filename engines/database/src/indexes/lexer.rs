//! SQL text as tokens: as much of it as is needed to find the ends of statements and the parts of those about indexes, in either dialect.

/// Whose SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptDialect {
    /// PostgreSQL's.
    Postgres,
    /// MySQL's and MariaDB's.
    MySql,
}

/// Kinds of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlTokenKind {
    /// A keyword, a name without quotes, a number.
    Word,
    /// A name in quotes.
    Quoted,
    /// A string; of MySQL also a comment that its server reads.
    Text,
    /// A command of psql, with its line.
    Meta,
    /// Any other character.
    Symbol(u8),
}

/// A token; its place is in the text that was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SqlToken {
    /// Its kind.
    pub kind: SqlTokenKind,
    /// Its first byte.
    pub begin: usize,
    /// The byte behind its last one.
    pub end: usize,
}

/// A quote, or a comment, that nothing closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenQuote {
    /// Where it begins.
    pub at: usize,
}

/// Reads tokens from front to back.
pub struct SqlLexer<'a> {
    text: &'a [u8],
    dialect: ScriptDialect,
    at: usize,
}

impl<'a> SqlLexer<'a> {
    /// At the beginning of a text.
    pub fn new(text: &'a str, dialect: ScriptDialect) -> Self {
        Self { text: text.as_bytes(), dialect, at: 0 }
    }

    /// The next token; none at the end.
    pub fn next(&mut self) -> Result<Option<SqlToken>, OpenQuote> {
        self.skip_space()?;
        let begin = self.at;
        let Some(&first) = self.text.get(begin) else { return Ok(None) };
        let is_mysql = self.dialect == ScriptDialect::MySql;
        let kind = match first {
            b'\'' => self.quoted(b'\'', is_mysql)?,
            b'"' if is_mysql => self.quoted(b'"', true)?,
            b'"' => self.quoted(b'"', false).map(|_| SqlTokenKind::Quoted)?,
            b'`' if is_mysql => self.quoted(b'`', false).map(|_| SqlTokenKind::Quoted)?,
            b'E' | b'e' if !is_mysql && self.text.get(begin + 1) == Some(&b'\'') => {
                self.at += 1;
                self.quoted(b'\'', true)?
            }
            b'$' if !is_mysql => self.dollar_quoted()?,
            b'/' if self.text[begin..].starts_with(b"/*") => {
                self.comment()?;
                SqlTokenKind::Text
            }
            b'\\' => {
                self.skip_line();
                SqlTokenKind::Meta
            }
            byte if is_of_word(byte) => {
                self.at += self.text[begin..].iter().take_while(|&&byte| is_of_word(byte) || byte == b'$').count();
                SqlTokenKind::Word
            }
            byte => {
                self.at += 1;
                SqlTokenKind::Symbol(byte)
            }
        };
        Ok(Some(SqlToken { kind, begin, end: self.at }))
    }

    /// Passes over white space and comments. A comment that MySQL's server reads (`/*!`) is none.
    fn skip_space(&mut self) -> Result<(), OpenQuote> {
        let is_mysql = self.dialect == ScriptDialect::MySql;
        loop {
            match &self.text[self.at..] {
                [byte, ..] if byte.is_ascii_whitespace() => self.at += 1,
                [b'-', b'-'] => self.at += 2,
                // COMPAT: MySQL wants white space behind the dashes.
                [b'-', b'-', next, ..] if !is_mysql || next.is_ascii_whitespace() => self.skip_line(),
                [b'#', ..] if is_mysql => self.skip_line(),
                [b'/', b'*', b'!', ..] | [b'/', b'*', b'M', b'!', ..] if is_mysql => return Ok(()),
                [b'/', b'*', ..] => self.comment()?,
                _ => return Ok(()),
            }
        }
    }

    fn skip_line(&mut self) {
        self.at = memchr::memchr(b'\n', &self.text[self.at..]).map_or(self.text.len(), |length| self.at + length);
    }

    /// PostgreSQL's comments nest.
    fn comment(&mut self) -> Result<(), OpenQuote> {
        let begin = self.at;
        let mut depth = 0_usize;
        loop {
            match &self.text[self.at..] {
                [b'/', b'*', ..] if depth == 0 || self.dialect == ScriptDialect::Postgres => {
                    depth += 1;
                    self.at += 2;
                }
                [b'*', b'/', ..] => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                [] => return Err(OpenQuote { at: begin }),
                _ => self.at += 1,
            }
        }
    }

    /// Behind a quoted text whose quote stands at the current place; a doubled quote is one of the text.
    fn quoted(&mut self, quote: u8, has_escapes: bool) -> Result<SqlTokenKind, OpenQuote> {
        let begin = self.at;
        self.at += 1;
        loop {
            match &self.text[self.at..] {
                [] => return Err(OpenQuote { at: begin }),
                [b'\\', _, ..] if has_escapes => self.at += 2,
                [first, second, ..] if *first == quote && *second == quote => self.at += 2,
                [first, ..] => {
                    self.at += 1;
                    if *first == quote {
                        return Ok(SqlTokenKind::Text);
                    }
                }
            }
        }
    }

    /// `$tag$ ... $tag$`; a dollar with something else behind it is a symbol.
    fn dollar_quoted(&mut self) -> Result<SqlTokenKind, OpenQuote> {
        let begin = self.at;
        let rest = &self.text[begin..];
        let tag = 1 + rest[1..].iter().take_while(|&&byte| is_of_word(byte)).count();
        if rest.get(tag) != Some(&b'$') || rest[1].is_ascii_digit() {
            self.at += 1;
            return Ok(SqlTokenKind::Symbol(b'$'));
        }
        let tag = &rest[..=tag];
        let inside = &rest[tag.len()..];
        let length = memchr::memmem::find(inside, tag).ok_or(OpenQuote { at: begin })?;
        self.at += length + 2 * tag.len();
        Ok(SqlTokenKind::Text)
    }
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tokens(text: &str, dialect: ScriptDialect) -> Vec<(SqlTokenKind, &str)> {
        let mut lexer = SqlLexer::new(text, dialect);
        let mut found = Vec::new();
        while let Some(token) = lexer.next().expect("all quotes are closed") {
            found.push((token.kind, &text[token.begin..token.end]));
        }
        found
    }

    #[test]
    fn quotes_and_comments_hide_what_is_in_them() {
        use SqlTokenKind::{Quoted, Symbol, Text, Word};
        let text = "a/* ; /* x */ ; */ \"b\"\"; c\" E'\\'; ' 'it''s;' $x$ ; $y$ $x$ $1 -- ;\n;";
        let expected = [
            (Word, "a"),
            (Quoted, "\"b\"\"; c\""),
            (Text, "E'\\'; '"),
            (Text, "'it''s;'"),
            (Text, "$x$ ; $y$ $x$"),
            (Symbol(b'$'), "$"),
            (Word, "1"),
            (Symbol(b';'), ";"),
        ];
        assert_eq!(tokens(text, ScriptDialect::Postgres), expected);
        let text = "`a``;` '\\';' \"\\\";\" # ;\n a--b -- ;\n/*!40101 x; */ /* /* */ ;";
        let found = tokens(text, ScriptDialect::MySql);
        let words: Vec<&str> = found.iter().map(|(_, text)| *text).collect();
        assert_eq!(words, ["`a``;`", "'\\';'", "\"\\\";\"", "a", "-", "-", "b", "/*!40101 x; */", ";"]);
        assert_eq!(found[0].0, Quoted);
    }

    #[test]
    fn what_is_not_closed_is_reported_with_its_place() {
        for text in ["a 'b", "a \"b", "a /* /* */", "a $q$ $r$"] {
            let mut lexer = SqlLexer::new(text, ScriptDialect::Postgres);
            lexer.next().expect("a word");
            assert_eq!(lexer.next(), Err(OpenQuote { at: 2 }), "{text}");
        }
    }

    proptest! {
        #[test]
        fn tokens_are_in_order_and_the_end_is_reached(text in ".{0,80}") {
            for dialect in [ScriptDialect::Postgres, ScriptDialect::MySql] {
                let mut lexer = SqlLexer::new(&text, dialect);
                let mut before = 0;
                while let Ok(Some(token)) = lexer.next() {
                    prop_assert!(token.begin >= before && token.end > token.begin && text.is_char_boundary(token.end));
                    before = token.end;
                }
            }
        }
    }
}
