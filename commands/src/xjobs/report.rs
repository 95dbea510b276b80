//! What a run of jobs was bound by, in words and as JSON, and the count of what failed.

use super::NAME;
use crate::context::Context;
use crate::report::{counted, seconds_text};
use crate::shared_args::ReportFormat;
use jobs::measures::{JobsBound, JobsVerdict, Measures, verdict};
use jobs::run::Ran;
use serde::Serialize;

/// Shows the report on standard error.
pub fn show(context: &Context, ran: &Ran, format: ReportFormat) {
    let verdict = verdict(&ran.measures);
    let text = match format {
        ReportFormat::Text => text(ran, &verdict),
        ReportFormat::Json => json(ran, &verdict),
    };
    context.messages.report(&text);
}

#[derive(Serialize)]
struct JsonReport<'a> {
    succeeded: u64,
    failed: u64,
    left_out: u64,
    dropped: u64,
    #[serde(flatten)]
    measures: &'a Measures,
    #[serde(flatten)]
    verdict: &'a JobsVerdict,
}

fn json(ran: &Ran, verdict: &JobsVerdict) -> String {
    let (succeeded, failed) = (ran.counts.succeeded, ran.counts.failed);
    let report = JsonReport {
        succeeded,
        failed,
        left_out: ran.left_out,
        dropped: ran.dropped,
        measures: &ran.measures,
        verdict,
    };
    serde_json::to_string(&report).expect("plain data") + "\n"
}

fn text(ran: &Ran, verdict: &JobsVerdict) -> String {
    let measures = &ran.measures;
    let seconds = |nanoseconds: u64| seconds_text(nanoseconds as f64 / 1e9);
    let ended = ran.counts.succeeded + ran.counts.failed;
    let per_start = measures.own_cpu_ns / measures.starts.max(1);
    let mut lines = vec![
        format!(
            "{} in {}, {} at once: {} succeeded, {} failed{}",
            counted(ended, "job"),
            seconds(measures.wall_ns),
            measures.width,
            terminal::integer(ran.counts.succeeded),
            terminal::integer(ran.counts.failed),
            if ran.left_out > 0 { format!(", {} left out", terminal::integer(ran.left_out)) } else { String::new() }
        ),
        format!(
            "jobs took {} in all, the longest {}; CPU {}, largest {}",
            seconds(measures.work_ns),
            seconds(measures.longest_ns),
            seconds(measures.jobs_cpu_ns),
            terminal::bytes(measures.rss_peak_bytes)
        ),
        format!("the runner itself used {} of CPU, {} a job", seconds(measures.own_cpu_ns), seconds(per_start)),
        bound_sentence(verdict, measures),
    ];
    if verdict.bound != JobsBound::CannotTell {
        let points = verdict.expected.iter().map(|point| format!("{} {}", point.width, seconds_text(point.seconds)));
        let buys = terminal::percentage(verdict.one_more_hand_saves);
        let points = points.collect::<Vec<_>>().join(", ");
        lines.push(format!("one more core buys {buys}. Expected at widths: {points}."));
    }
    lines.join("\n") + "\n"
}

fn bound_sentence(verdict: &JobsVerdict, measures: &Measures) -> String {
    let wall = seconds_text(measures.wall_ns as f64 / 1e9);
    let of_wall = |share: f64| format!("{} of {wall}", terminal::percentage_whole(share));
    match verdict.bound {
        JobsBound::Hands { busy } => {
            format!(
                "bound by hands: jobs kept all {} busy {} of the time.",
                measures.width,
                terminal::percentage_whole(busy)
            )
        }
        JobsBound::LongestJob { share } => format!(
            "bound by the longest job, or chain of jobs: it took {}; more hands cannot make it shorter.",
            of_wall(share)
        ),
        JobsBound::List { share } => {
            format!("bound by the list: for {} hands waited for its next line.", of_wall(share))
        }
        JobsBound::Order { share } => format!("bound by order: for {} %% or after held jobs back.", of_wall(share)),
        JobsBound::Memory { share } => format!(
            "bound by memory: for {} there was not enough for one more job, and {} put off; --memory says what they may need together.",
            of_wall(share),
            counted(measures.put_off, "start")
        ),
        JobsBound::Held { share } => {
            format!("bound by --load, --delay or a shortage: for {} they held jobs back.", of_wall(share))
        }
        JobsBound::Output { share } => {
            format!("bound by whoever reads the output: for {} it was waited for.", of_wall(share))
        }
        JobsBound::Spawning { job_cpu_ns } => format!(
            "bound by starting programs: a job needs {} of CPU, its start included; -l or -X puts more into one.",
            seconds_text(job_cpu_ns as f64 / 1e9)
        ),
        JobsBound::CannotTell => format!("cannot tell: the run took {wall}, too short to measure."),
    }
}

/// The last line of a run in which not all went well.
pub fn conclude(context: &Context, ran: &Ran) {
    let mut parts = Vec::new();
    let all = ran.counts.succeeded + ran.counts.failed;
    if ran.counts.failed > 0 && all > 1 {
        parts.push(format!("{} of {} failed", terminal::integer(ran.counts.failed), counted(all, "job")));
    }
    if ran.dropped > 0 {
        parts.push(format!("{} that had been read did not start", counted(ran.dropped, "job")));
    }
    if !parts.is_empty() {
        context.messages.conclusion(NAME, &parts.join("; "));
    }
}
