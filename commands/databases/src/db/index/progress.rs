//! The lines of progress: how much of all builds is done, and below it the build that has run longest, with its stage.

use database::indexes::{IndexLanes, IndexProgress};
use mh_kit::context::Context;
use std::sync::Arc;
use std::time::{Duration, Instant};
use terminal::Progress;

/// Starts drawing, if standard error is a terminal.
pub fn start(context: &Context, database: &str, lanes: &Arc<IndexLanes>) -> Progress {
    let (lanes, label) = (Arc::clone(lanes), database.to_owned());
    Progress::start_lines(&context.messages, move |elapsed| lines(&label, elapsed, &lanes.progress(), Instant::now()))
}

fn lines(label: &str, elapsed: Duration, progress: &IndexProgress, now: Instant) -> Vec<String> {
    let mut parts = vec![terminal::printable(label).to_string()];
    if progress.bytes > 0 {
        let share = (progress.bytes_done as f64 / progress.bytes as f64).min(1.0);
        parts.push(terminal::percentage_whole(share));
        if share > 0.0 {
            let left = elapsed.as_secs_f64() * (1.0 - share) / share;
            let left = Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX);
            parts.push(format!("left {}", terminal::duration_coarse(left)));
        }
    }
    parts.push(format!("{} of {} done", terminal::integer(progress.ended), terminal::integer(progress.jobs)));
    parts.push(format!("{} running", progress.running.len()));
    parts.push(format!("cores {}", progress.hands));
    let mut lines = vec![parts.join("  ")];
    if let Some(job) = progress.running.iter().min_by_key(|job| job.since) {
        let mut parts = vec![terminal::printable(&job.name).to_string()];
        if job.stage.share > 0.0 {
            parts.push(terminal::percentage_whole(job.stage.share));
        }
        parts.push(terminal::duration_coarse(now.saturating_duration_since(job.since)));
        if !job.stage.name.is_empty() {
            parts.push(terminal::printable(&job.stage.name).to_string());
        }
        lines.push(parts.join("  "));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use database::indexes::{BuildStage, RunningJob};

    #[test]
    fn lines_have_the_share_of_all_and_the_stage_of_the_longest() {
        let now = Instant::now();
        let job = |name: &str, seconds| RunningJob {
            name: name.to_owned(),
            bytes: 50,
            since: now.checked_sub(Duration::from_secs(seconds)).unwrap_or(now),
            stage: BuildStage { name: "scanning table".to_owned(), share: 0.25 },
        };
        let progress = IndexProgress {
            jobs: 5,
            ended: 1,
            bytes: 200,
            bytes_done: 50,
            running: vec![job("index b of t", 1), job("index a of t", 0)],
            hands: 3,
        };
        let shown = lines("shop", Duration::from_secs(10), &progress, now);
        assert_eq!(
            shown,
            ["shop  25 %  left 30 s  1 of 5 done  2 running  cores 3", "index b of t  25 %  1 s  scanning table"]
        );
    }
}
