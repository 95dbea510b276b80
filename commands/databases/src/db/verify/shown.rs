//! The result: a line for each table, or a JSON object, and at the end how many are the same.

use super::NAME;
use database::dump::DumpError;
use database::verify::{ComparedTable, RowDigest, TableState, TableVerdict};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome, with_causes};
use mh_kit::report::{counted, json_line, print_as};
use serde::Serialize;
use std::time::Duration;
use terminal::{Align, TextTable};

/// How tables are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TablesShown {
    /// All.
    All,
    /// Those that are not the same.
    Different,
    /// All, as JSON.
    Json,
    /// Those that are not the same, as JSON.
    DifferentJson,
}

impl TablesShown {
    fn is_of_different(self) -> bool {
        matches!(self, Self::Different | Self::DifferentJson)
    }
}

/// Prints tables.
pub fn tables(compared: &[ComparedTable], shown: TablesShown) -> Result<(), Failure> {
    let is_shown = |table: &&ComparedTable| !shown.is_of_different() || table.verdict() != TableVerdict::Same;
    let chosen = compared.iter().filter(is_shown);
    let text = match shown {
        TablesShown::Json | TablesShown::DifferentJson => {
            chosen.map(|table| json_line(&JsonTable::new(table))).collect::<String>()
        }
        TablesShown::All | TablesShown::Different => {
            let mut lines = TextTable::new(&[Align::Left, Align::Left, Align::Left]);
            for table in chosen {
                lines.row([word(table.verdict()), &*terminal::printable(&table.name), &reason(table)]);
            }
            lines.to_string()
        }
    };
    print_as(NAME, &text)
}

fn word(verdict: TableVerdict) -> &'static str {
    match verdict {
        TableVerdict::Same => "same",
        TableVerdict::Differs => "differs",
        TableVerdict::Unknown => "unknown",
    }
}

/// What is the same, or is not.
fn reason(table: &ComparedTable) -> String {
    let rows = |digest: &RowDigest| counted(digest.rows, "row");
    match (&table.expected, &table.found) {
        (TableState::Read(one), TableState::Read(other)) if table.verdict() == TableVerdict::Same => {
            debug_assert_eq!(one.rows, other.rows, "they are the same");
            format!("{}, digest {:032x}", rows(one), one.sum)
        }
        (TableState::Read(one), TableState::Read(other)) if one.rows == other.rows => {
            format!("{} on both sides, not all the same: digests {:032x} and {:032x}", rows(one), one.sum, other.sum)
        }
        (TableState::Read(one), TableState::Read(other)) => format!("{} and {}", rows(one), rows(other)),
        (TableState::Refused(error), _) => format!("first side: {}", cause(error)),
        (_, TableState::Refused(error)) => format!("second side: {}", cause(error)),
        (TableState::Missing, _) => "not on the first side".to_owned(),
        (_, TableState::Missing) => "not on the second side".to_owned(),
        (TableState::Unread, _) | (_, TableState::Unread) => "not read".to_owned(),
    }
}

fn cause(error: &DumpError) -> String {
    match error {
        DumpError::Server { cause, .. } => terminal::printable(&cause.to_string()).to_string(),
        error => terminal::printable(&with_causes(error)).to_string(),
    }
}

/// Prints how many are the same; the exit code.
pub fn conclude(context: &Context, compared: &[ComparedTable], wall: Duration) -> Outcome {
    let count = |verdict| compared.iter().filter(|table| table.verdict() == verdict).count() as u64;
    let (same, differ, unknown) =
        (count(TableVerdict::Same), count(TableVerdict::Differs), count(TableVerdict::Unknown));
    let mut text = format!("{} the same", counted(same, "table"));
    for (count, what) in [(differ, "differ"), (unknown, "cannot be read")] {
        if count > 0 {
            text += &format!(", {} {what}", terminal::integer(count));
        }
    }
    text += &format!("; compared in {}", terminal::duration(wall));
    match (differ, unknown) {
        (0, 0) => {
            context.messages.note(NAME, &text);
            Outcome::Done
        }
        (0, _) => {
            context.messages.conclusion(NAME, &text);
            Outcome::Code(super::CANNOT)
        }
        _ => {
            context.messages.conclusion(NAME, &text);
            Outcome::Partial
        }
    }
}

#[derive(Serialize)]
struct JsonTable<'a> {
    table: &'a str,
    verdict: &'static str,
    first: Option<JsonDigest>,
    second: Option<JsonDigest>,
    reason: String,
}

#[derive(Serialize)]
struct JsonDigest {
    rows: u64,
    digest: String,
}

impl<'a> JsonTable<'a> {
    fn new(table: &'a ComparedTable) -> Self {
        let digest = |state: &TableState| match state {
            TableState::Read(digest) => Some(JsonDigest { rows: digest.rows, digest: format!("{:032x}", digest.sum) }),
            _ => None,
        };
        Self {
            table: &table.name,
            verdict: word(table.verdict()),
            first: digest(&table.expected),
            second: digest(&table.found),
            reason: reason(table),
        }
    }
}
