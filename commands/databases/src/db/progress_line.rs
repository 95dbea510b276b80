//! The line of progress of a dump or a restore: share of the stored bytes, bytes and rows, rate, time left, and what else there is to say.

use mh_kit::report::counted;
use std::collections::VecDeque;
use std::time::Duration;

/// The rate is the mean over this time.
const RATE_WINDOW: Duration = Duration::from_secs(10);

/// How far a run is.
#[derive(Clone, Debug, Default)]
pub struct RowsLook {
    /// Bytes of rows as COPY has them.
    pub bytes: u64,
    /// Rows.
    pub rows: u64,
    /// Stored bytes that are done: a table's, or an archive's.
    pub stored_done: u64,
    /// In all.
    pub stored: u64,
    /// More.
    pub rest: Vec<String>,
}

/// The line.
pub struct RowsLine {
    label: String,
    /// When, bytes of rows, stored bytes.
    seen: VecDeque<(Duration, u64, u64)>,
}

impl RowsLine {
    /// For a database.
    pub fn new(label: &str) -> Self {
        Self { label: label.to_owned(), seen: VecDeque::new() }
    }

    /// The line as it is now.
    pub fn next(&mut self, elapsed: Duration, now: RowsLook) -> String {
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
        if speed > 0.0 && now.stored_done < now.stored {
            let left = now.stored.saturating_sub(now.stored_done) as f64 / speed;
            let left = Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX);
            parts.push(format!("left {}", terminal::duration_coarse(left)));
        }
        parts.extend(now.rest);
        parts.join("  ")
    }
}
