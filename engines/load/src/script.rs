//! Scripts in pgbench's language: SQL over several lines, variables, expressions, conditions, pauses, rows taken into variables. A script is read as a
//! whole before anything runs, and all its mistakes are found at once. No socket, no clock.

mod columns;
mod compile;
mod draws;
mod expression;
mod function;
mod mix;
mod parser;
mod pipelines;
mod player;
mod reader;
mod scalar;
mod template;
mod token;

pub use mix::{ScriptMix, split_weight};

use crate::session::{PreparedText, SqlDialect};
use expression::Expression;
use scalar::Variable;
use std::fmt;
use template::SqlTemplate;

/// LIMIT: bytes of a script.
pub const SCRIPT_BYTES_MAX: usize = 1 << 20;

/// What a script is read for.
#[derive(Clone, Debug)]
pub struct ScriptOptions {
    /// Whose placeholders prepared statements have.
    pub dialect: SqlDialect,
    /// Whether statements are prepared, with variables as parameters; otherwise variables are written into their text.
    pub is_prepared: bool,
    /// The value of `:scale`.
    pub scale: i64,
    /// The value of `:random_seed`, of which `:default_seed` is made.
    pub random_seed: i64,
    /// Further variables and their values, which may have the names of those above.
    pub definitions: Vec<(String, String)>,
}

impl ScriptOptions {
    /// Statements as text, at scale 1.
    pub fn new(dialect: SqlDialect) -> Self {
        Self { dialect, is_prepared: false, scale: 1, random_seed: 0, definitions: Vec::new() }
    }
}

/// A script that can be run.
#[derive(Clone, Debug)]
pub struct LoadScript {
    name: String,
    statements: Vec<ScriptStatement>,
    instructions: Vec<Instruction>,
    /// Names of variables by their places.
    names: Vec<String>,
    /// Variables as each client begins with them.
    initial: Vec<Variable>,
    /// What is prepared before each pipeline.
    pipelines: Vec<Vec<PreparedText>>,
}

/// The place of `:client_id` among the variables.
const CLIENT_ID: usize = 0;

impl LoadScript {
    /// Reads a script; `name` is what messages call it.
    pub fn parse(name: &str, text: &str, options: &ScriptOptions) -> Result<Self, Vec<ScriptError>> {
        compile::compile(name, text, options).map_err(|mut mistakes| {
            mistakes.sort();
            // LIMIT: nobody mends more than these before the next try.
            mistakes.truncate(20);
            mistakes.into_iter().map(|(at, cause)| ScriptError::new(name, text, at, cause)).collect()
        })
    }

    /// What messages call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its statements as they are shown.
    pub fn statements(&self) -> impl ExactSizeIterator<Item = &str> {
        self.statements.iter().map(|statement| statement.template.shown())
    }
}

/// A statement, and the variables that its row goes to.
#[derive(Clone, Debug)]
struct ScriptStatement {
    line: usize,
    template: SqlTemplate,
    /// Places of variables by column, if `\gset` follows.
    row_to: Option<Vec<usize>>,
}

/// What a script does, one after the other.
#[derive(Clone, Debug)]
enum Instruction {
    Statement(usize),
    Set { line: usize, place: usize, value: Expression },
    Sleep { line: usize, amount: Amount, unit_ns: u64 },
    JumpUnless { line: usize, condition: Expression, to: usize },
    Jump { to: usize },
    BeginPipeline(usize),
    SyncPipeline,
    EndPipeline,
}

/// How long a pause is, in its unit.
#[derive(Clone, Copy, Debug)]
enum Amount {
    Fixed(u64),
    Variable(usize),
}

/// A mistake in a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    /// What the script is called.
    pub script: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// What is wrong.
    pub cause: String,
    /// The line, as much of it as helps, with a caret below the place.
    excerpt: String,
}

impl std::error::Error for ScriptError {}

impl fmt::Display for ScriptError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}:{}: {}\n{}", self.script, self.line, self.column, self.cause, self.excerpt)
    }
}

impl ScriptError {
    fn new(script: &str, text: &str, at: usize, cause: String) -> Self {
        let at = (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        let begin = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let line = text[begin..].lines().next().unwrap_or("");
        let column = text[begin..at].chars().count();
        Self {
            script: script.to_owned(),
            line: line_of(text, at),
            column: column + 1,
            // LIMIT: a cause that quotes the script quotes no more of it than this.
            cause: cause.chars().take(400).map(printable).collect(),
            excerpt: excerpt(line, column),
        }
    }
}

/// The line with a caret below a column of it.
fn excerpt(line: &str, column: usize) -> String {
    // LIMIT: a longer line is shown around the place.
    const BEFORE: usize = 80;
    const BEHIND: usize = 40;
    let skipped = column.saturating_sub(BEFORE);
    let shown: String = line.chars().skip(skipped).take(BEFORE + BEHIND).map(printable).collect();
    let below: String =
        shown.chars().take(column - skipped).map(|letter| if letter == '\t' { '\t' } else { ' ' }).collect();
    format!("    {shown}\n    {below}^")
}

/// A script's control characters do not reach a terminal.
pub(crate) fn printable(letter: char) -> char {
    if letter.is_control() && letter != '\t' { char::REPLACEMENT_CHARACTER } else { letter }
}

fn line_of(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count()
}

#[cfg(test)]
mod tests;
