//! The last lines of a run: statements that failed with their lines, what is there, and the exit code.

use super::{IndexSource, NAME};
use database::indexes::{BuildEnd, BuildOutcome, LaneStop};
use mh_kit::context::Context;
use mh_kit::failure::Outcome;
use mh_kit::report::counted;
use std::time::Duration;

/// The exit code of a run that a signal ended, less the signal's number.
const BY_SIGNAL: i32 = 128;

/// LIMIT: names that a message lists.
const NAMES_LISTED_MAX: usize = 10;

/// A run that has ended.
pub struct IndexEnd<'a> {
    /// Where statements came from.
    pub source: &'a IndexSource,
    /// The database, without a password.
    pub name: &'a str,
    /// What came of each statement.
    pub outcomes: &'a [BuildOutcome],
    /// Statements of which the result was there before.
    pub present: usize,
    /// Why it ended early.
    pub stop: Option<LaneStop>,
    /// How long it took.
    pub wall: Duration,
    /// Indexes of the database that an interrupted CONCURRENTLY has left.
    pub invalid: &'a [String],
    /// The signal that came.
    pub signal: Option<i32>,
}

/// Prints them.
pub fn conclude(context: &Context, end: &IndexEnd<'_>) -> Outcome {
    let mut missing = 0;
    for outcome in end.outcomes {
        let (verb, error) = match &outcome.end {
            BuildEnd::Failed(error) => ("make", error),
            BuildEnd::OnlyIndex(error) => ("make a key of the index, which is there,", error),
            BuildEnd::Made { .. } | BuildEnd::Present => continue,
            BuildEnd::NotMade { .. } => {
                missing += 1;
                continue;
            }
        };
        missing += 1;
        let place = end.source.place(outcome.line);
        let text = format!("{verb} {}: {place}{error}", terminal::printable(&outcome.name));
        context.messages.error(NAME, &text, &advice(&error.to_string()).into_iter().collect::<Vec<_>>());
    }
    if !end.invalid.is_empty() {
        let text = format!("{} by queries: {}", counted_invalid(end.invalid.len()), listed(end.invalid));
        let hint =
            "DROP INDEX removes one, REINDEX INDEX makes it whole; an interrupted CONCURRENTLY leaves them".to_owned();
        context.messages.warning(NAME, &text, &[hint]);
    }
    if missing == 0 && end.stop.is_none() {
        success(context, end);
        return Outcome::Done;
    }
    let count = format!("{missing} of {}", counted(end.outcomes.len() as u64, "statement"));
    let (text, code) = match (end.stop, end.signal) {
        (Some(LaneStop::Interrupted), Some(signal)) => {
            let code = Outcome::Code(u8::try_from(BY_SIGNAL + signal).unwrap_or(1));
            (format!("interrupted: {count} not carried out"), code)
        }
        _ => (format!("{count} not carried out"), Outcome::Partial),
    };
    context.messages.error(NAME, &format!("build all indexes of {}: {text}", end.name), &kept(end));
    code
}

fn counted_invalid(count: usize) -> String {
    if count == 1 {
        "1 index is invalid and not used".to_owned()
    } else {
        format!("{count} indexes are invalid and not used")
    }
}

fn success(context: &Context, end: &IndexEnd<'_>) {
    let present = match end.present {
        0 => String::new(),
        count => format!(", {} there before", terminal::integer(count as u64)),
    };
    let count = counted(end.outcomes.len() as u64, "statement");
    let text = format!("{}: {count} carried out in {}{present}", end.name, terminal::duration(end.wall));
    context.messages.note(NAME, &text);
}

/// What is there after all.
fn kept(end: &IndexEnd<'_>) -> Vec<String> {
    let names = |is_wanted: fn(&BuildEnd) -> bool| -> Vec<String> {
        let wanted = end.outcomes.iter().filter(|outcome| is_wanted(&outcome.end));
        wanted.map(|outcome| terminal::printable(&outcome.name).to_string()).collect()
    };
    let mut hints = Vec::new();
    let made = names(|end| matches!(end, BuildEnd::Made { .. } | BuildEnd::Present));
    if !made.is_empty() {
        hints.push(format!("kept: {}", listed(&made)));
    }
    let halves = names(|end| matches!(end, BuildEnd::OnlyIndex(_) | BuildEnd::NotMade { has_index: true }));
    if !halves.is_empty() {
        hints.push(format!("kept as a unique index, not yet a key: {}", listed(&halves)));
    }
    if matches!(end.source, IndexSource::File(_)) && hints.len() < 2 {
        hints.push("the same command with --resume passes over what is there".to_owned());
    }
    hints
}

fn listed(names: &[String]) -> String {
    let first = names.iter().take(NAMES_LISTED_MAX).cloned().collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(NAMES_LISTED_MAX).filter(|more| *more > 0) {
        Some(more) => format!("{first} and {more} more"),
        None => first,
    }
}

fn advice(error: &str) -> Option<String> {
    let text = if error.contains("already exists") {
        "--resume passes over indexes and constraints that are there"
    } else if error.contains("No space left on device") || error.contains("disk full") {
        "the server's disk is full: sorts need about as much temporary space as the index is large"
    } else if error.contains("shared memory segment") {
        "the server has too little /dev/shm for workers: --memory makes sorts smaller"
    } else {
        return None;
    };
    Some(text.to_owned())
}
