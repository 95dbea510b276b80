//! The line of progress of a dump.

use crate::db::progress_line::{RowsLine, RowsLook};
use database::dump::DumpProgress;
use mh_kit::context::Context;
use mh_kit::report::counted;
use std::time::Duration;
use terminal::Progress;

/// Starts drawing, if standard error is a terminal.
pub fn start(context: &Context, database: &str, now: impl Fn() -> DumpProgress + Send + 'static) -> Progress {
    let mut line = RowsLine::new(database);
    Progress::start_lines(&context.messages, move |elapsed| vec![line.next(elapsed, look(&now(), elapsed))])
}

/// From this age on a snapshot is worth a word: vacuum, or purge, leaves all rows that it sees.
const OLD: Duration = Duration::from_secs(60);

fn look(now: &DumpProgress, age: Duration) -> RowsLook {
    let tables = format!("{} of {}", terminal::integer(now.tables_done), counted(now.tables, "table"));
    let mut rest = vec![tables, counted(now.at_work, "connection")];
    rest.extend((age >= OLD).then(|| format!("snapshot {} old", terminal::duration_coarse(age))));
    RowsLook { bytes: now.bytes, rows: now.rows, stored_done: now.stored_done, stored: now.stored, rest }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            line.next(Duration::from_secs(1), look(&now(0), Duration::from_secs(1))),
            "shop  0 %  0 B  1,234,567 rows  1 of 2 tables  2 connections"
        );
        let later = Duration::from_secs(3);
        let shown = line.next(later, look(&now(100_000_000), later));
        assert_eq!(shown, "shop  25 %  50 MB  1,234,567 rows  25 MB/s  left 6 s  1 of 2 tables  2 connections");
        let old = Duration::from_secs(600);
        assert_eq!(look(&now(0), old).rest.last().map(String::as_str), Some("snapshot 10 min old"));
    }
}
