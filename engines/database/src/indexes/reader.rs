//! A statement that is read token by token: keywords, names, lists in parentheses, each as it stands in the text.

use super::lexer::{SqlToken, SqlTokenKind};

/// A place in the tokens of a statement.
#[derive(Clone)]
pub struct StatementReader<'a> {
    text: &'a str,
    tokens: &'a [SqlToken],
    at: usize,
}

impl<'a> StatementReader<'a> {
    /// At the beginning of a statement whose tokens lie in `text`.
    pub fn new(text: &'a str, tokens: &'a [SqlToken]) -> Self {
        Self { text, tokens, at: 0 }
    }

    fn token(&self) -> Option<(SqlTokenKind, &'a str)> {
        let token = self.tokens.get(self.at)?;
        Some((token.kind, &self.text[token.begin..token.end]))
    }

    /// Whether nothing is left.
    pub fn is_done(&self) -> bool {
        self.at >= self.tokens.len()
    }

    /// Whether these keywords come next.
    pub fn is(&self, words: &str) -> bool {
        self.clone().accept(words)
    }

    /// Passes over these keywords, all or none of them.
    pub fn accept(&mut self, words: &str) -> bool {
        let begin = self.at;
        for word in words.split(' ') {
            let is_word =
                |(kind, text): (SqlTokenKind, &str)| kind == SqlTokenKind::Word && text.eq_ignore_ascii_case(word);
            if !self.token().is_some_and(is_word) {
                self.at = begin;
                return false;
            }
            self.at += 1;
        }
        true
    }

    /// Passes over a character.
    pub fn accept_symbol(&mut self, symbol: u8) -> bool {
        let is_there = self.token().is_some_and(|(kind, _)| kind == SqlTokenKind::Symbol(symbol));
        self.at += usize::from(is_there);
        is_there
    }

    /// A name, with what it is qualified by.
    pub fn name(&mut self) -> Option<&'a str> {
        let begin = self.tokens.get(self.at)?.begin;
        loop {
            let (kind, _) = self.token()?;
            if !matches!(kind, SqlTokenKind::Word | SqlTokenKind::Quoted) {
                return None;
            }
            let end = self.tokens[self.at].end;
            self.at += 1;
            if !self.accept_symbol(b'.') {
                return Some(&self.text[begin..end]);
            }
        }
    }

    /// A string, with its quotes.
    pub fn string(&mut self) -> Option<&'a str> {
        let (_, text) = self.token().filter(|(kind, _)| *kind == SqlTokenKind::Text)?;
        self.at += 1;
        Some(text)
    }

    /// What stands in parentheses, with them.
    pub fn parenthesised(&mut self) -> Option<&'a str> {
        let begin = self.tokens.get(self.at)?.begin;
        let mut depth = 0_usize;
        if !self.token().is_some_and(|(kind, _)| kind == SqlTokenKind::Symbol(b'(')) {
            return None;
        }
        while let Some((kind, _)) = self.token() {
            let end = self.tokens[self.at].end;
            self.at += 1;
            match kind {
                SqlTokenKind::Symbol(b'(') => depth += 1,
                SqlTokenKind::Symbol(b')') if depth == 1 => return Some(&self.text[begin..end]),
                SqlTokenKind::Symbol(b')') => depth -= 1,
                _ => {}
            }
        }
        None
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'a str {
        let left = &self.tokens[self.at.min(self.tokens.len())..];
        self.at = self.tokens.len();
        match (left.first(), left.last()) {
            (Some(first), Some(last)) => &self.text[first.begin..last.end],
            _ => "",
        }
    }

    /// What is left in parts, at commas outside of parentheses.
    pub fn parts(&mut self) -> Vec<Self> {
        let left = &self.tokens[self.at.min(self.tokens.len())..];
        self.at = self.tokens.len();
        let mut depth = 0_usize;
        let mut parts = Vec::new();
        let mut begin = 0;
        for (at, token) in left.iter().enumerate() {
            match token.kind {
                SqlTokenKind::Symbol(b'(' | b'[') => depth += 1,
                SqlTokenKind::Symbol(b')' | b']') => depth = depth.saturating_sub(1),
                SqlTokenKind::Symbol(b',') if depth == 0 => {
                    parts.push(Self::new(self.text, &left[begin..at]));
                    begin = at + 1;
                }
                _ => {}
            }
        }
        parts.push(Self::new(self.text, &left[begin..]));
        parts
    }
}

/// A name as the catalogue has it: the last of a qualified one, without quotes, folded as the server does it.
pub fn plain_name(name: &str) -> String {
    let last = match name.strip_suffix(['"', '`']) {
        Some(quoted) => {
            let quote = &name[name.len() - 1..];
            let begin = opening(quoted, quote);
            return quoted[begin..].replace(&quote.repeat(2), quote);
        }
        None => name.rsplit('.').next().unwrap_or(name).trim(),
    };
    last.to_ascii_lowercase()
}

/// Behind the quote that opens the name at the end of `quoted`, whose closing quote is gone.
fn opening(quoted: &str, quote: &str) -> usize {
    let bytes = quoted.as_bytes();
    let quote = quote.as_bytes()[0];
    let mut at = bytes.len();
    while at > 0 {
        at -= 1;
        if bytes[at] != quote {
            continue;
        }
        if at > 0 && bytes[at - 1] == quote {
            at -= 1;
            continue;
        }
        return at + 1;
    }
    0
}

#[cfg(test)]
mod tests {
    use super::super::lexer::{ScriptDialect, SqlLexer};
    use super::*;

    fn lexed(text: &str) -> Vec<SqlToken> {
        let mut lexer = SqlLexer::new(text, ScriptDialect::Postgres);
        std::iter::from_fn(|| lexer.next().expect("closed")).collect()
    }

    #[test]
    fn parts_of_a_statement_are_taken_as_they_stand() {
        let text = "Alter  TABLE \"A b\" . t (x, (y)) rest 'of', it";
        let tokens = lexed(text);
        let mut reader = StatementReader::new(text, &tokens);
        assert!(!reader.accept("alter index") && reader.accept("alter table"));
        assert_eq!(reader.name(), Some("\"A b\" . t"));
        assert_eq!(reader.parenthesised(), Some("(x, (y))"));
        assert_eq!(reader.name(), Some("rest"));
        let parts: Vec<&str> = reader.parts().iter_mut().map(|part| part.rest()).collect();
        assert_eq!((parts, reader.is_done()), (vec!["'of'", "it"], true));
    }

    #[test]
    fn names_are_those_of_the_catalogue() {
        for (name, expected) in
            [("Public.T", "t"), ("public.\"T\"", "T"), ("\"a.\"\"b\"", "a.\"b"), ("`x`.`y``z`", "y`z")]
        {
            assert_eq!(plain_name(name), expected, "{name}");
        }
    }
}
