//! The progress line of a run of jobs: running, ended, failed, left, and the time left.

use super::plan::Job;
use crate::context::Context;
use jobs::run::Tally;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use terminal::Progress;

/// LIMIT: the time left is not guessed from fewer jobs than this.
const GUESSED_FROM: u64 = 3;

/// Starts the line, where standard error is a terminal that outputs do not go to as well, unless it was asked for.
pub fn start(context: &Context, job: &Job, tally: Arc<Tally>, is_asked_for: bool) -> Option<Progress> {
    if job.called == super::Called::OldName || (context.terminals.stdout && !is_asked_for) {
        return None;
    }
    let total = job.total;
    Some(Progress::start_lines(&context.messages, move |elapsed| line(&tally, total, elapsed)))
}

fn line(tally: &Tally, total: Option<u64>, elapsed: Duration) -> String {
    let of = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    let (ended, failed, running) = (of(&tally.ended), of(&tally.failed), of(&tally.running));
    let mut parts = vec![match total.filter(|total| ended <= *total) {
        Some(total) => format!("{} of {} jobs", terminal::integer(ended), terminal::integer(total)),
        None => crate::report::counted(ended, "job"),
    }];
    parts.push(format!("{running} running"));
    if failed > 0 {
        parts.push(format!("{failed} failed"));
    }
    if let Some(left) = total.and_then(|total| total.checked_sub(ended)).filter(|_| ended >= GUESSED_FROM) {
        // The mean's own error falls with the root of the count.
        let seconds = elapsed.as_secs_f64() / ended as f64 * left as f64;
        if let Ok(time) = Duration::try_from_secs_f64(seconds) {
            parts.push(format!(
                "left {} ± {}",
                terminal::duration_coarse(time),
                terminal::percentage_whole(1.0 / (ended as f64).sqrt())
            ));
        }
    }
    parts.join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_needs_a_total_and_some_jobs() {
        let tally = Tally::default();
        tally.running.store(2, Ordering::Relaxed);
        assert_eq!(line(&tally, None, Duration::from_secs(9)), "0 jobs  2 running");
        tally.ended.store(4, Ordering::Relaxed);
        tally.failed.store(1, Ordering::Relaxed);
        assert_eq!(line(&tally, Some(8), Duration::from_secs(8)), "4 of 8 jobs  2 running  1 failed  left 8 s ± 50 %");
    }
}
