//! A file with statements about indexes, keys and constraints, as `pg_dump --section=post-data` writes it or a person: cut into statements, each with
//! what it is. Statements of other kinds are refused with their line, since nobody knows whether an index needs them.

use super::lexer::{OpenQuote, ScriptDialect, SqlLexer, SqlToken, SqlTokenKind};
use super::statement::{self, ScriptOrder};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A statement of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptStatement {
    /// The line that it begins on, from 1.
    pub line: u64,
    /// Without the semicolon.
    pub text: String,
    /// Its kind.
    pub order: ScriptOrder,
    /// Settings that stand before it, the last one of each name.
    pub settings: Arc<[String]>,
}

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ScriptFault {
    /// Where, from 1.
    pub line: u64,
    /// What.
    pub message: String,
}

/// Reads a file.
pub fn parse(text: &str, dialect: ScriptDialect) -> Result<Vec<ScriptStatement>, ScriptFault> {
    let mut script = Script { text, dialect, lines: LineCounter::new(text), settings: BTreeMap::new(), sealed: None };
    let mut lexer = SqlLexer::new(text, dialect);
    let mut statements = Vec::new();
    let mut tokens = Vec::new();
    loop {
        let token = lexer
            .next()
            .map_err(|OpenQuote { at }| script.fault(at, "a quote or comment that begins here does not end"))?;
        match token {
            Some(SqlToken { kind: SqlTokenKind::Symbol(b';'), .. }) => {
                statements.extend(script.statement(&tokens)?);
                tokens.clear();
            }
            Some(SqlToken { kind: SqlTokenKind::Meta, begin, end }) => {
                script.check_meta(begin, end, tokens.is_empty())?
            }
            Some(token) => tokens.push(token),
            None => {
                statements.extend(script.statement(&tokens)?);
                return Ok(statements);
            }
        }
    }
}

struct Script<'a> {
    text: &'a str,
    dialect: ScriptDialect,
    lines: LineCounter<'a>,
    /// By name.
    settings: BTreeMap<String, String>,
    /// The same, until one changes.
    sealed: Option<Arc<[String]>>,
}

impl Script<'_> {
    fn fault(&mut self, at: usize, message: impl Into<String>) -> ScriptFault {
        ScriptFault { line: self.lines.line_of(at), message: message.into() }
    }

    /// COMPAT: pg_dump's files begin and end with commands that forbid psql others; those that connect elsewhere cannot be obeyed.
    fn check_meta(&mut self, begin: usize, end: usize, is_between: bool) -> Result<(), ScriptFault> {
        let command = self.text[begin..end].trim_end();
        let word = command.split_whitespace().next().unwrap_or_default();
        if is_between && matches!(word, "\\restrict" | "\\unrestrict") {
            return Ok(());
        }
        let message = format!("psql's command '{word}' is not carried out");
        Err(self.fault(begin, message))
    }

    fn statement(&mut self, tokens: &[SqlToken]) -> Result<Option<ScriptStatement>, ScriptFault> {
        let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else { return Ok(None) };
        let text = &self.text[first.begin..last.end];
        let order = statement::classify(self.text, tokens, self.dialect);
        match order {
            Err(reason) => Err(self.fault(first.begin, format!("'{}' {reason}", beginning(text)))),
            Ok(ScriptOrder::Setting(name)) => {
                self.settings.insert(name, text.to_owned());
                self.sealed = None;
                Ok(None)
            }
            Ok(order) => {
                let settings = &self.settings;
                let settings = self.sealed.get_or_insert_with(|| settings.values().cloned().collect());
                let settings = Arc::clone(settings);
                let line = self.lines.line_of(first.begin);
                Ok(Some(ScriptStatement { line, text: text.to_owned(), order, settings }))
            }
        }
    }
}

/// LIMIT: of a statement that a message shows.
const SHOWN_CHARACTERS: usize = 40;

/// The first words of a statement, on one line.
pub fn beginning(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{}...", &words[..end]),
        None => words,
    }
}

/// Lines of places that are asked for in ascending order, mostly.
struct LineCounter<'a> {
    text: &'a [u8],
    at: usize,
    line: u64,
}

impl<'a> LineCounter<'a> {
    fn new(text: &'a str) -> Self {
        Self { text: text.as_bytes(), at: 0, line: 1 }
    }

    fn line_of(&mut self, at: usize) -> u64 {
        if at < self.at {
            (self.at, self.line) = (0, 1);
        }
        self.line += memchr::memchr_iter(b'\n', &self.text[self.at..at]).count() as u64;
        self.at = at;
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_have_lines_and_the_settings_before_them() {
        let text = "-- a dump\n\\restrict abc\nSET work_mem = '1MB';\nSELECT pg_catalog.set_config('search_path', '', false);\n\
            CREATE INDEX a ON t (x);\nSET work_mem\n = '2MB';\n\n  CREATE INDEX b ON t (y)";
        let statements = parse(text, ScriptDialect::Postgres).expect("statements of indexes");
        let found: Vec<_> = statements.iter().map(|statement| (statement.line, statement.text.as_str())).collect();
        assert_eq!(found, [(5, "CREATE INDEX a ON t (x)"), (9, "CREATE INDEX b ON t (y)")]);
        let search_path = "SELECT pg_catalog.set_config('search_path', '', false)";
        assert_eq!(*statements[0].settings, [search_path, "SET work_mem = '1MB'"]);
        assert_eq!(*statements[1].settings, [search_path, "SET work_mem\n = '2MB'"]);
    }

    #[test]
    fn others_are_refused_with_their_line() {
        let fault = |text| parse(text, ScriptDialect::Postgres).expect_err("no statement of an index").to_string();
        assert!(fault("\n\nDROP TABLE t;").starts_with("line 3: 'DROP TABLE t' "));
        assert_eq!(fault("\\connect x"), "line 1: psql's command '\\connect' is not carried out");
        assert_eq!(fault("create index\non t ('x"), "line 2: a quote or comment that begins here does not end");
    }
}
