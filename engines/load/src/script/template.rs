//! A statement with places for variables: written as text into memory that is used again, or prepared with its variables as parameters.

use super::scalar::{Scalar, Substitute, Variable};
use crate::session::{Parameter, SqlDialect};

/// LIMIT: bytes of one statement after its variables are written into it.
const STATEMENT_BYTES_MAX: usize = 16 << 20;

/// A statement.
#[derive(Clone, Debug)]
pub(super) struct SqlTemplate {
    shown: String,
    pieces: Vec<TemplatePiece>,
    prepared: Option<PreparedTemplate>,
}

/// A piece of a statement.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TemplatePiece {
    Text(String),
    /// A variable by its place.
    Variable {
        place: usize,
        is_quoted: bool,
    },
}

/// A statement as a server prepares it.
#[derive(Clone, Debug)]
pub(super) struct PreparedTemplate {
    /// With placeholders.
    pub text: String,
    /// Places of variables by placeholder.
    pub places: Vec<usize>,
    dialect: SqlDialect,
}

impl SqlTemplate {
    /// One of pieces; prepared if that is wanted, and can be.
    pub fn new(pieces: Vec<TemplatePiece>, names: &[String], prepare_for: Option<SqlDialect>) -> Self {
        let shown = pieces.iter().map(|piece| match piece {
            TemplatePiece::Text(text) => text.clone(),
            TemplatePiece::Variable { place, .. } => format!(":{}", names[*place]),
        });
        let shown: String = shown.collect();
        let is_in_quotes = |piece: &TemplatePiece| matches!(piece, TemplatePiece::Variable { is_quoted: true, .. });
        let prepared = prepare_for
            .filter(|dialect| !pieces.iter().any(is_in_quotes) && can_be_prepared(&shown, *dialect))
            .map(|dialect| PreparedTemplate::new(&pieces, dialect));
        Self { shown, pieces, prepared }
    }

    /// As it stands in the script.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// As a server prepares it, if it is prepared.
    pub fn prepared(&self) -> Option<&PreparedTemplate> {
        self.prepared.as_ref()
    }

    /// Writes it with the values of variables.
    pub fn write(&self, variables: &[Variable], names: &[String], text: &mut String) -> Result<(), String> {
        text.clear();
        for piece in &self.pieces {
            match piece {
                TemplatePiece::Text(piece) => text.push_str(piece),
                TemplatePiece::Variable { place, .. } => match variables[*place].substitute(&names[*place])? {
                    Substitute::Typed(value) => write_value(value, text),
                    Substitute::Text(value) => text.push_str(value),
                },
            }
            if text.len() > STATEMENT_BYTES_MAX {
                return Err(format!("the statement is longer than {STATEMENT_BYTES_MAX} bytes with its variables"));
            }
        }
        Ok(())
    }
}

/// A negative number behind a minus sign would begin a comment.
fn write_value(value: Scalar, text: &mut String) {
    let begin = text.len();
    value.write(text);
    if text[..begin].ends_with('-') && text[begin..].starts_with('-') {
        text.insert(begin, ' ');
    }
}

/// Whether a server can prepare a statement: MySQL can a list of them only, the others all.
fn can_be_prepared(text: &str, dialect: SqlDialect) -> bool {
    const OF_MYSQL: &[&str] =
        &["call", "commit", "delete", "do", "insert", "replace", "select", "set", "table", "update", "values", "with"];
    let word = text.split(|letter: char| !letter.is_ascii_alphabetic()).find(|word| !word.is_empty()).unwrap_or("");
    match dialect {
        SqlDialect::MySql => OF_MYSQL.iter().any(|known| known.eq_ignore_ascii_case(word)),
        SqlDialect::Postgres | SqlDialect::Sqlite => true,
        SqlDialect::Echo => false,
    }
}

impl PreparedTemplate {
    fn new(pieces: &[TemplatePiece], dialect: SqlDialect) -> Self {
        let (mut text, mut places) = (String::new(), Vec::new());
        for piece in pieces {
            match piece {
                TemplatePiece::Text(piece) => text.push_str(piece),
                TemplatePiece::Variable { place, .. } => {
                    places.push(*place);
                    match dialect {
                        SqlDialect::Postgres => text.push_str(&format!("${}", places.len())),
                        SqlDialect::MySql | SqlDialect::Sqlite | SqlDialect::Echo => text.push('?'),
                    }
                }
            }
        }
        Self { text, places, dialect }
    }

    /// Gives parameters the values of variables.
    pub fn fill(&self, variables: &[Variable], names: &[String], parameters: &mut [Parameter]) -> Result<(), String> {
        for (&place, parameter) in self.places.iter().zip(parameters) {
            match variables[place].substitute(&names[place])? {
                Substitute::Typed(Scalar::Null) => *parameter = Parameter::Null,
                Substitute::Typed(Scalar::Integer(value)) => *parameter = Parameter::Integer(value),
                Substitute::Typed(Scalar::Double(value)) => *parameter = Parameter::Real(value),
                // PostgreSQL has a type for it, which it reads from text; the others have 0 and 1.
                Substitute::Typed(Scalar::Boolean(value)) if self.dialect == SqlDialect::Postgres => {
                    set_text(parameter, if value { "true" } else { "false" });
                }
                Substitute::Typed(Scalar::Boolean(value)) => *parameter = Parameter::Integer(i64::from(value)),
                Substitute::Text(value) => set_text(parameter, value),
            }
        }
        Ok(())
    }
}

/// Overwrites a parameter by a text, in the memory of the text that it had.
pub(crate) fn set_text(parameter: &mut Parameter, value: &str) {
    match parameter {
        Parameter::Text(text) => {
            text.clear();
            text.push_str(value);
        }
        other => *other = Parameter::Text(value.to_owned()),
    }
}
