//! The line of progress: bytes, rows, rate, time left, connections at work.

use super::plan::LoadJob;
use database::load::LoadControl;
use mh_kit::context::Context;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use terminal::Progress;

/// The rate is the mean over this time.
const RATE_WINDOW: Duration = Duration::from_secs(5);

/// Starts drawing, if standard error is a terminal.
pub fn start(context: &Context, job: &LoadJob, control: &Arc<LoadControl>) -> Progress {
    let (control, is_compressed) = (Arc::clone(control), job.is_compressed);
    let mut line = LoadLine { label: job.target.facts.name.clone(), total: job.total_bytes, seen: VecDeque::new() };
    Progress::start_lines(&context.messages, move |elapsed| {
        // Of compressed files only what is read is known in their own bytes: rows of a few chunks are not in yet.
        let done = if is_compressed { control.bytes_read() } else { control.bytes_loaded() };
        vec![line.next(
            elapsed,
            LoadSeen {
                done,
                rows: control.rows_loaded(),
                at_work: control.at_work(),
                rejected: control.rows_rejected(),
            },
        )]
    })
}

/// What a look shows.
#[derive(Clone, Copy)]
struct LoadSeen {
    done: u64,
    rows: u64,
    at_work: usize,
    rejected: u64,
}

struct LoadLine {
    label: String,
    total: Option<u64>,
    seen: VecDeque<(Duration, u64)>,
}

impl LoadLine {
    fn next(&mut self, elapsed: Duration, seen: LoadSeen) -> String {
        self.seen.push_back((elapsed, seen.done));
        while self.seen.len() > 2 && elapsed.saturating_sub(self.seen[1].0) >= RATE_WINDOW {
            self.seen.pop_front();
        }
        let (since, before) = self.seen[0];
        let seconds = elapsed.saturating_sub(since).as_secs_f64();
        let rate = if seconds > 0.0 { seen.done.saturating_sub(before) as f64 / seconds } else { 0.0 };
        let mut parts = vec![terminal::printable(&self.label).to_string()];
        match self.total {
            Some(total) if total > 0 => {
                parts.push(terminal::percentage_whole((seen.done as f64 / total as f64).min(1.0)));
                parts.push(terminal::bytes_of(seen.done.min(total), total));
            }
            _ => parts.push(terminal::bytes(seen.done)),
        }
        parts.push(mh_kit::report::counted(seen.rows, "row"));
        if rate > 0.0 {
            parts.push(terminal::rate(rate));
        }
        if let Some(total) = self.total.filter(|_| rate > 0.0) {
            let left = total.saturating_sub(seen.done) as f64 / rate;
            parts.push(format!(
                "left {}",
                terminal::duration_coarse(Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX))
            ));
        }
        parts.push(format!("{} conn.", seen.at_work));
        if seen.rejected > 0 {
            parts.push(format!("{} refused", terminal::integer(seen.rejected)));
        }
        parts.join("  ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_bytes_rows_rate_and_what_is_left() {
        let mut line = LoadLine { label: "events".to_owned(), total: Some(400_000_000), seen: VecDeque::new() };
        let seen = |done| LoadSeen { done, rows: 1_234_567, at_work: 2, rejected: 0 };
        assert_eq!(line.next(Duration::from_secs(1), seen(0)), "events  0 %  0 B of 400 MB  1,234,567 rows  2 conn.");
        let shown = line.next(Duration::from_secs(3), seen(100_000_000));
        assert_eq!(shown, "events  25 %  100 of 400 MB  1,234,567 rows  50 MB/s  left 6 s  2 conn.");
        line.total = None;
        let shown = line.next(Duration::from_secs(5), LoadSeen { rejected: 3, ..seen(200_000_000) });
        assert_eq!(shown, "events  200 MB  1,234,567 rows  50 MB/s  2 conn.  3 refused");
    }
}
