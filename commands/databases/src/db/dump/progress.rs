//! The line of progress of a dump.

use crate::db::progress_line::{RowsLine, RowsLook};
use database::dump::DumpProgress;
use mh_kit::context::Context;
use mh_kit::report::counted;
use terminal::Progress;

/// Starts drawing, if standard error is a terminal.
pub fn start(context: &Context, database: &str, now: impl Fn() -> DumpProgress + Send + 'static) -> Progress {
    let mut line = RowsLine::new(database);
    Progress::start_lines(&context.messages, move |elapsed| vec![line.next(elapsed, look(&now()))])
}

fn look(now: &DumpProgress) -> RowsLook {
    let tables = format!("{} of {}", terminal::integer(now.tables_done), counted(now.tables, "table"));
    RowsLook {
        bytes: now.bytes,
        rows: now.rows,
        stored_done: now.stored_done,
        stored: now.stored,
        rest: vec![tables, counted(now.at_work, "connection")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_line_has_share_rows_rate_and_what_is_left() {
        let mut line = RowsLine::new("shop");
        let now = |done: u64| DumpProgress {
            tables: 2,
            tables_done: 1,
            rows: 1_234_567,
            bytes: done / 2,
            stored_done: done,
            stored: 400_000_000,
            at_work: 2,
            ..DumpProgress::default()
        };
        assert_eq!(
            line.next(Duration::from_secs(1), look(&now(0))),
            "shop  0 %  0 B  1,234,567 rows  1 of 2 tables  2 connections"
        );
        let shown = line.next(Duration::from_secs(3), look(&now(100_000_000)));
        assert_eq!(shown, "shop  25 %  50 MB  1,234,567 rows  25 MB/s  left 6 s  1 of 2 tables  2 connections");
    }
}
