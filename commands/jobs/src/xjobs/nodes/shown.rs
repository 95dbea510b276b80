//! A line on the terminal while a run on many machines goes, and its end in words.

use cluster::forecast::verdict::ClusterVerdict;
use jobs::halt::EndCounts;
use jobs::run::FinishedRun;
use mh_kit::context::Context;
use mh_kit::report::{counted, json_line};
use mh_kit::shared_args::ReportFormat;
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use terminal::Progress;

/// How far a run is.
#[derive(Debug, Default)]
pub struct NodeTally {
    pub ended: AtomicU64,
    /// Those of them that had ended before this submission.
    pub before: AtomicU64,
    pub failed: AtomicU64,
    /// Workers that give signs of life.
    pub workers: AtomicU64,
    /// Workers that the engine has not started yet.
    pub pending: AtomicU64,
    /// When the first result came, in nanoseconds since the begin; 0 before.
    pub first_ns: AtomicU64,
}

/// Draws it until the value is dropped.
pub fn progress(context: &Context, tally: &Arc<NodeTally>, total: u64, is_plain: bool) -> Option<Progress> {
    if is_plain || !context.messages.shows_progress() {
        return None;
    }
    let tally = Arc::clone(tally);
    Some(Progress::start_lines(&context.messages, move |elapsed| vec![line(&tally, total, elapsed)]))
}

fn line(tally: &NodeTally, total: u64, elapsed: Duration) -> String {
    let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let (ended, workers, pending) = (of(&tally.ended), of(&tally.workers), of(&tally.pending));
    let mut parts = vec![format!("{} of {} jobs", terminal::integer(ended), terminal::integer(total))];
    parts.push(counted(workers, "worker"));
    if pending > 0 {
        parts.push(format!("{pending} wait for a node"));
    }
    if of(&tally.failed) > 0 {
        parts.push(format!("{} failed", terminal::integer(of(&tally.failed))));
    }
    let first = Duration::from_nanos(of(&tally.first_ns));
    let ended_now = ended.saturating_sub(of(&tally.before));
    if ended_now > 2 && ended < total && workers > 0 {
        let left = elapsed.saturating_sub(first).div_f64(ended_now as f64).mul_f64((total - ended) as f64);
        parts.push(format!("left about {}", terminal::duration_coarse(left)));
    }
    parts.join("  ")
}

/// What bound the run, and how it came out.
#[derive(Serialize)]
struct JsonReport<'a> {
    succeeded: u64,
    failed: u64,
    left_out: u64,
    #[serde(flatten)]
    verdict: &'a ClusterVerdict,
}

/// Shows the report on standard error.
pub fn report(context: &Context, verdict: &ClusterVerdict, ran: &FinishedRun, format: ReportFormat) {
    let EndCounts { succeeded, failed } = ran.counts;
    let text = match format {
        ReportFormat::Text => format!("{}: {verdict}", counted(succeeded + failed, "job")),
        ReportFormat::Json => json_line(&JsonReport { succeeded, failed, left_out: ran.left_out, verdict }),
    };
    context.messages.report(&text);
}

/// How a run that has not come to its end goes on.
pub fn goes_on(spool: &Path) -> String {
    format!("to go on: the same command with --spool {}", terminal::quote(spool))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_who_works_and_how_long() {
        let tally = NodeTally::default();
        tally.pending.store(4, Ordering::Relaxed);
        assert_eq!(line(&tally, 100, Duration::ZERO), "0 of 100 jobs  0 workers  4 wait for a node");
        tally.pending.store(0, Ordering::Relaxed);
        tally.workers.store(1, Ordering::Relaxed);
        tally.ended.store(20, Ordering::Relaxed);
        tally.failed.store(1, Ordering::Relaxed);
        tally.first_ns.store(1_000_000_000, Ordering::Relaxed);
        let text = line(&tally, 100, Duration::from_secs(11));
        assert_eq!(text, "20 of 100 jobs  1 worker  1 failed  left about 40 s");
    }
}
