//! The line of progress of a restore.

use super::report::indexes_of;
use crate::db::progress_line::{RowsLine, RowsLook};
use database::restore::{RestorePhase, RestoreProgress};
use mh_kit::context::Context;
use mh_kit::report::counted;
use terminal::Progress;

/// Starts drawing, if standard error is a terminal.
pub fn start(context: &Context, database: &str, now: impl Fn() -> RestoreProgress + Send + 'static) -> Progress {
    let label = database.to_owned();
    let mut line = RowsLine::new(database);
    Progress::start_lines(&context.messages, move |elapsed| {
        let now = now();
        vec![match now.phase {
            RestorePhase::Rows => line.next(elapsed, look(&now)),
            phase => format!("{}  {}", terminal::printable(&label), phase_name(phase)),
        }]
    })
}

fn phase_name(phase: RestorePhase) -> &'static str {
    match phase {
        RestorePhase::Before => "schemas and tables",
        RestorePhase::Rows => "rows and indexes",
        RestorePhase::After => "foreign keys, triggers and views",
        RestorePhase::Vacuum => "vacuum",
        RestorePhase::Verify => "rows are read again",
    }
}

fn look(now: &RestoreProgress) -> RowsLook {
    let mut rest = vec![format!("{} of {}", terminal::integer(now.tables_done), counted(now.tables, "table"))];
    if now.indexes > 0 {
        rest.push(format!("{} of {}", terminal::integer(now.indexes_done), indexes_of(now.indexes)));
    }
    rest.push(counted(now.at_work, "connection"));
    RowsLook { bytes: now.bytes, rows: now.rows, stored_done: now.stored_done, stored: now.stored, rest }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_line_has_rows_and_indexes() {
        let now = RestoreProgress {
            tables: 2,
            tables_done: 1,
            rows: 1000,
            bytes: 5_000_000,
            stored_done: 1,
            stored: 2,
            indexes: 3,
            at_work: 4,
            ..RestoreProgress::default()
        };
        let shown = RowsLine::new("shop").next(Duration::from_secs(1), look(&now));
        assert_eq!(shown, "shop  50 %  5 MB  1,000 rows  1 of 2 tables  0 of 3 indexes  4 connections");
    }
}
