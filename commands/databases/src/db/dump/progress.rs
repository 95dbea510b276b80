//! The line of progress: share of the tables' storage, bytes and rows read, rate, time left, tables, connections at work.

use database::dump::{DumpProgress, DumpRun};
use mh_kit::context::Context;
use mh_kit::report::counted;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use terminal::Progress;

/// The rate is the mean over this time.
const RATE_WINDOW: Duration = Duration::from_secs(10);

/// Starts drawing, if standard error is a terminal.
pub fn start(context: &Context, database: &str, run: &Arc<DumpRun>) -> Progress {
    let run = Arc::clone(run);
    let mut line = DumpLine { label: database.to_owned(), seen: VecDeque::new() };
    Progress::start_lines(&context.messages, move |elapsed| vec![line.next(elapsed, &run.progress())])
}

struct DumpLine {
    label: String,
    /// When, bytes of rows, bytes of storage.
    seen: VecDeque<(Duration, u64, u64)>,
}

impl DumpLine {
    fn next(&mut self, elapsed: Duration, now: &DumpProgress) -> String {
        self.seen.push_back((elapsed, now.bytes, now.stored_done));
        while self.seen.len() > 2 && elapsed.saturating_sub(self.seen[1].0) >= RATE_WINDOW {
            self.seen.pop_front();
        }
        let (since, bytes, stored) = self.seen[0];
        let seconds = elapsed.saturating_sub(since).as_secs_f64();
        let a_second = |now: u64, before: u64| {
            if seconds > 0.0 { now.saturating_sub(before) as f64 / seconds } else { 0.0 }
        };
        let mut parts = vec![terminal::printable(&self.label).to_string()];
        if now.stored > 0 {
            parts.push(terminal::percentage_whole((now.stored_done as f64 / now.stored as f64).min(1.0)));
        }
        parts.push(terminal::bytes(now.bytes));
        parts.push(counted(now.rows, "row"));
        if a_second(now.bytes, bytes) > 0.0 {
            parts.push(terminal::rate(a_second(now.bytes, bytes)));
        }
        let speed = a_second(now.stored_done, stored);
        if speed > 0.0 {
            let left = now.stored.saturating_sub(now.stored_done) as f64 / speed;
            let left = Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX);
            parts.push(format!("left {}", terminal::duration_coarse(left)));
        }
        parts.push(format!("{} of {}", terminal::integer(now.tables_done), counted(now.tables, "table")));
        parts.push(counted(now.at_work, "connection"));
        parts.join("  ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_share_rows_rate_and_what_is_left() {
        let mut line = DumpLine { label: "shop".to_owned(), seen: VecDeque::new() };
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
            line.next(Duration::from_secs(1), &now(0)),
            "shop  0 %  0 B  1,234,567 rows  1 of 2 tables  2 connections"
        );
        let shown = line.next(Duration::from_secs(3), &now(100_000_000));
        assert_eq!(shown, "shop  25 %  50 MB  1,234,567 rows  25 MB/s  left 6 s  1 of 2 tables  2 connections");
    }
}
