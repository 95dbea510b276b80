//! The last lines of a restore: what is in the database, what is missing, or why it ended, with its exit code.

use super::report::indexes_of;
use super::{NAME, NOT_BEGUN};
use database::restore::{RestoreError, RestoreFault, RestoreInto, Restored};
use mh_kit::context::Context;
use mh_kit::failure::{Outcome, with_causes};
use mh_kit::report::counted;
use std::time::Duration;
use wire::{ErrorKind, WireError};

/// The exit code of a run that a signal ended, less the signal's number.
const BY_SIGNAL: i32 = 128;

/// Prints what a restore has done.
pub fn end(context: &Context, name: &str, restored: &Restored, wall: Duration) -> Outcome {
    for warning in &restored.warnings {
        context.messages.warning(NAME, &format!("pg_restore: {warning}"), &[]);
    }
    for fault in &restored.faults {
        let (message, hints) = shown(fault);
        context.messages.error(NAME, &message, &hints);
    }
    let progress = &restored.progress;
    let before = match restored.rows_before {
        0 => String::new(),
        rows => format!(" and {} of the interrupted restore", terminal::integer(rows)),
    };
    let text = format!(
        "{name}: {} with {}{before}, {} in {}",
        counted(progress.tables, "table"),
        counted(progress.rows, "row"),
        indexes_of(progress.indexes),
        terminal::duration(wall)
    );
    context.messages.note(NAME, &text);
    if restored.faults.is_empty() { Outcome::Done } else { Outcome::Partial }
}

fn shown(fault: &RestoreFault) -> (String, Vec<String>) {
    let mut lines = fault.message.lines();
    let first = lines.next().unwrap_or_default().trim_start_matches("ERROR:").trim();
    let what = fault.what.lines().next().unwrap_or_default();
    (format!("{what}: {first}"), lines.map(|line| line.trim().to_owned()).collect())
}

/// Prints why a restore ended before its time. `begun`: how, if something may be in the database.
pub fn failure(
    context: &Context,
    name: &str,
    error: &RestoreError,
    signal: Option<i32>,
    begun: Option<RestoreInto>,
) -> Outcome {
    let has_begun = begun.is_some();
    let resume = resume_hint(begun);
    if let Some(signal) = signal {
        context.messages.error(NAME, &format!("restore into {name}: interrupted"), &[resume]);
        return Outcome::Code(u8::try_from(BY_SIGNAL + signal).unwrap_or(1));
    }
    let is_refusal = is_refusal(error);
    let mut hints: Vec<String> = advice(error).into_iter().map(str::to_owned).collect();
    if has_begun && !is_refusal {
        hints.push(resume);
    }
    context.messages.error(NAME, &format!("restore into {name}: {}", with_causes(error)), &hints);
    if is_refusal || !has_begun { Outcome::Code(NOT_BEGUN) } else { Outcome::Partial }
}

/// How a restore goes on that was begun so.
fn resume_hint(begun: Option<RestoreInto>) -> String {
    let instead = match begun {
        Some(RestoreInto::Cleaned { .. }) => " in place of --clean",
        Some(RestoreInto::Existing) => " in place of --into-existing",
        _ => "",
    };
    format!("rows that are in stay; the same command with --resume{instead} goes on")
}

fn advice(error: &RestoreError) -> Option<&'static str> {
    match error {
        RestoreError::NotEmpty(_) => {
            Some("--clean drops what is to be restored, --into-existing restores beside what is there")
        }
        RestoreError::NothingInterrupted => Some(
            "a restore that is complete leaves no note, and --resume is not needed; mh db verify compares rows with the archive",
        ),
        RestoreError::Unfinished { is_ours: true } => Some("--resume goes on with it, --clean begins anew"),
        RestoreError::Unfinished { is_ours: false } => Some(
            "its archive or its selection was another; --clean forgets it, as does dropping mh_restore: a schema, of MariaDB a table",
        ),
        RestoreError::Server { cause: WireError::Server(error), .. } if error.sqlstate() == "3D000" => {
            Some("createdb makes a database")
        }
        RestoreError::Program { message, .. } if message.contains("out of shared memory") => Some(
            "large objects come in one transaction, each with a lock: the server needs more max_locks_per_transaction",
        ),
        RestoreError::Damaged { .. } => Some("the archive has to come from its copy, or from a new dump"),
        RestoreError::Rows { .. } => Some("a trigger or a rule of a table that was there leaves rows out"),
        _ => None,
    }
}

/// Whether the restore could not begin, for want of a connection, a right or room.
fn is_refusal(error: &RestoreError) -> bool {
    match error {
        RestoreError::NotEmpty(_)
        | RestoreError::NothingInterrupted
        | RestoreError::Unfinished { .. }
        | RestoreError::Busy => true,
        RestoreError::Server { cause: WireError::Connect { .. } | WireError::Tls(_), .. } => true,
        RestoreError::Server { cause, .. } => cause.kind() == ErrorKind::Authentication,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_shown_with_the_servers_first_line() {
        let fault = RestoreFault {
            what: "CREATE TRIGGER x\n  BEFORE".to_owned(),
            message: "ERROR:  no function\nHINT:  y".to_owned(),
        };
        assert_eq!(shown(&fault), ("CREATE TRIGGER x: no function".to_owned(), vec!["HINT:  y".to_owned()]));
        assert!(is_refusal(&RestoreError::NotEmpty(3)) && !is_refusal(&RestoreError::Interrupted));
        assert!(resume_hint(Some(RestoreInto::Cleaned { if_exists: true })).contains("in place of --clean"));
        assert!(advice(&RestoreError::Unfinished { is_ours: true }).is_some_and(|text| text.contains("--resume")));
    }
}
