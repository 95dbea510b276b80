//! The last line of a dump: what is in the archive, or why there is none, with its exit code.

use super::{NAME, NOT_BEGUN};
use database::dump::{ArchiveFault, DumpError, DumpProgress};
use database::dump_mysql::MySqlDumpFault;
use mh_kit::context::Context;
use mh_kit::failure::{Outcome, with_causes};
use mh_kit::report::counted;
use std::time::Duration;
use wire::{ErrorKind, WireError};

/// The exit code of a run that a signal ended, less the signal's number.
const BY_SIGNAL: i32 = 128;

/// Prints what a dump has made.
pub fn success(context: &Context, target: &str, progress: &DumpProgress, wall: Duration) {
    let text = format!(
        "{target}: {} with {}, {} in {}, written in {}",
        counted(progress.tables, "table"),
        counted(progress.rows, "row"),
        terminal::bytes(progress.bytes),
        terminal::bytes(progress.written),
        terminal::duration(wall)
    );
    context.messages.note(NAME, &text);
}

/// Prints what a program wrote on standard error though it succeeded.
pub fn warnings<'a>(context: &Context, program: &str, lines: impl Iterator<Item = &'a str>) {
    let prefix = format!("{program}: ");
    for line in lines.map(|line| line.trim_start_matches(&prefix)) {
        context.messages.warning(NAME, &format!("{program}: {}", line.trim_start_matches("warning: ")), &[]);
    }
}

/// Prints why there is no archive.
pub fn failure(context: &Context, name: &str, error: &DumpError, signal: Option<i32>) -> Outcome {
    if let Some(signal) = signal {
        let hint = "nothing is kept: its snapshot is gone, so that a dump cannot go on".to_owned();
        context.messages.error(NAME, &format!("dump {name}: interrupted"), &[hint]);
        return Outcome::Code(u8::try_from(BY_SIGNAL + signal).unwrap_or(1));
    }
    let (cause, mut hints) = match error {
        DumpError::Program { program, message } => of_program(program, message),
        error => (with_causes(error), Vec::new()),
    };
    hints.extend(advice(error, &cause));
    context.messages.error(NAME, &format!("dump {name}: {cause}"), &hints);
    if is_refusal(error, &cause) { Outcome::Code(NOT_BEGUN) } else { Outcome::Partial }
}

/// Prints why a dump did not come to its beginning. A lock that is not had ends it as it would later.
pub fn failure_of_look(context: &Context, name: &str, error: &DumpError, signal: Option<i32>) -> Outcome {
    let outcome = failure(context, name, error, signal);
    if signal.is_some() || waited_too_long(error) { outcome } else { Outcome::Code(NOT_BEGUN) }
}

/// COMPAT: PostgreSQL's code, and MariaDB's number, of a lock that was waited for too long.
fn waited_too_long(error: &DumpError) -> bool {
    const NOT_HAD: &str = "55P03";
    const TIMEOUT: u16 = 1205;
    let DumpError::Server { cause: WireError::Server(error), .. } = error else { return false };
    error.number.map_or_else(|| error.sqlstate() == NOT_HAD, |number| number == TIMEOUT)
}

/// The first error of what a program wrote, and what it wrote behind that.
fn of_program(program: &str, message: &str) -> (String, Vec<String>) {
    let prefix = format!("{program}: ");
    let mut lines = message.lines().map(|line| line.trim_start_matches(&prefix));
    let behind_status = format!("): {program}: ");
    match lines.find_map(|line| {
        let line = line.split_once(&behind_status).map_or(line, |(_, text)| text);
        line.strip_prefix("error: ").or_else(|| line.strip_prefix("Got error: "))
    }) {
        Some(error) => {
            let behind = lines.next().map(|line| line.trim_start_matches("detail: ").to_owned());
            (format!("{program}: {error}"), behind.into_iter().collect())
        }
        None => (format!("{program} {}", message.trim()), Vec::new()),
    }
}

fn advice(error: &DumpError, cause: &str) -> Option<String> {
    let text = match error {
        DumpError::Archive(ArchiveFault::Exists(path)) if path.contains(".partial") => {
            "a dump that was killed has left it, or one is running; if none is, remove it"
        }
        DumpError::Archive(ArchiveFault::Exists(_)) => "-f needs the name of a new directory",
        DumpError::MySql(MySqlDumpFault::Changed(_)) => "nothing is kept; run it again when no DDL runs",
        _ if cause.contains("Lock wait timeout") => {
            "a session holds what the lock needs; --lock-wait-timeout waits longer, information_schema.processlist names it"
        }
        _ if cause.contains("row-level security") => {
            "a dump needs a role that sees all rows (BYPASSRLS); --enable-row-security leaves hidden ones out"
        }
        _ if cause.contains("lock timeout") => {
            "another session waits for an exclusive lock on a table; pg_stat_activity and pg_locks name it"
        }
        _ if cause.contains("max_locks_per_transaction") || cause.contains("out of shared memory") => {
            "every table is locked: the server needs more max_locks_per_transaction"
        }
        _ if cause.contains("invalid memory alloc request size") => {
            "a row of it has more than 1 GiB as text (bytea takes two bytes for one), which COPY and pg_dump cannot send; \
             octet_length() of its columns finds it, --exclude-table-data leaves the table's rows out"
        }
        _ if cause.contains("conflict with recovery") => {
            "a standby takes rows away: max_standby_streaming_delay = -1 or hot_standby_feedback = on there"
        }
        _ => return None,
    };
    Some(text.to_owned())
}

/// Whether the dump could not begin for want of a connection, a right or a place.
fn is_refusal(error: &DumpError, cause: &str) -> bool {
    const DENIED: &str = "42501";
    match error {
        DumpError::Archive(ArchiveFault::Exists(_)) => true,
        DumpError::Server { cause: WireError::Connect { .. } | WireError::Tls(_), .. } => true,
        DumpError::Server { cause: WireError::Server(error), .. } if error.sqlstate() == DENIED => true,
        DumpError::Server { cause, .. } if cause.kind() == ErrorKind::Authentication => true,
        DumpError::MySql(MySqlDumpFault::Right { .. } | MySqlDumpFault::NoDatabase(_)) => true,
        DumpError::Server { cause: WireError::Server(error), .. } if is_denied_by_mysql(error.number) => true,
        DumpError::Program { .. } => cause.contains("permission denied"),
        _ => false,
    }
}

/// A database, a table, a right, the server itself.
fn is_denied_by_mysql(number: Option<u16>) -> bool {
    matches!(number, Some(1044 | 1045 | 1049 | 1130 | 1142 | 1227))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_program_is_its_own_line() {
        let message = "failed (exit status: 1): pg_dump: error: query failed: ERROR:  permission denied for table t\n\
            pg_dump: detail: Query was: LOCK TABLE public.t IN ACCESS SHARE MODE";
        let (cause, hints) = of_program("pg_dump", message);
        assert_eq!(cause, "pg_dump: query failed: ERROR:  permission denied for table t");
        assert_eq!(hints, ["Query was: LOCK TABLE public.t IN ACCESS SHARE MODE"]);
        let error = DumpError::Program { program: "pg_dump", message: message.to_owned() };
        assert!(is_refusal(&error, &cause));
        assert_eq!(of_program("pg_dump", "failed (signal: 9)").0, "pg_dump failed (signal: 9)");
    }
}
