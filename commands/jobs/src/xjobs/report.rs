//! What a run of jobs was bound by, in words and as JSON, and the count of what failed.

use super::NAME;
use crew::budget::census::{Census, CensusRun, census};
use crew::jobserver::SlotBooks;
use jobs::measures::{JobMeasures, JobsBound, JobsVerdict, verdict};
use jobs::run::FinishedRun;
use mh_kit::context::Context;
use mh_kit::report::{counted, json_line, seconds_text};
use mh_kit::shared_args::ReportFormat;
use serde::Serialize;

/// Shows the report on standard error.
pub fn show(context: &Context, ran: &FinishedRun, known_as: u32, format: ReportFormat) {
    let verdict = verdict(&ran.measures);
    let text = match format {
        ReportFormat::Text => text(ran, &verdict, &holders(&verdict, known_as)),
        ReportFormat::Json => json(ran, &verdict),
    };
    context.messages.report(&text);
}

/// A run that is over sooner is not told of: nobody has watched it.
const WATCHED_FROM_NS: u64 = 1_000_000_000;

/// Says in a line what bound a run that somebody has watched.
pub fn tell_bound(context: &Context, ran: &FinishedRun, known_as: u32) {
    let (measures, verdict) = (&ran.measures, verdict(&ran.measures));
    let ended = ran.counts.succeeded + ran.counts.failed;
    if measures.wall_ns < WATCHED_FROM_NS || ended < 2 || verdict.bound == JobsBound::CannotTell {
        return;
    }
    let wall = seconds_text(measures.wall_ns as f64 / 1e9);
    let bound = bound_sentence(&verdict, measures) + &holders(&verdict, known_as);
    context.messages.note(NAME, &format!("{} in {wall}, {bound}", counted(ended, "job")));
}

#[derive(Serialize)]
struct JsonReport<'a> {
    succeeded: u64,
    failed: u64,
    stopped: u64,
    left_out: u64,
    dropped: u64,
    slots: &'a SlotBooks,
    #[serde(flatten)]
    measures: &'a JobMeasures,
    #[serde(flatten)]
    verdict: &'a JobsVerdict,
}

fn json(ran: &FinishedRun, verdict: &JobsVerdict) -> String {
    let (succeeded, failed) = (ran.counts.succeeded, ran.counts.failed);
    let report = JsonReport {
        succeeded,
        failed,
        stopped: ran.stopped,
        left_out: ran.left_out,
        dropped: ran.dropped,
        slots: &ran.slots,
        measures: &ran.measures,
        verdict,
    };
    json_line(&report)
}

/// LIMIT: runs that are named; more are a case for `mh crew`.
const HOLDERS_MAX: usize = 3;

/// Where others had the hands: who has them now, by the table of all runs, as far as it can be read.
fn holders(verdict: &JobsVerdict, known_as: u32) -> String {
    if !matches!(verdict.bound, JobsBound::Unstaffed { .. }) {
        return String::new();
    }
    let census = mh_kit::sharing::crew_directory().and_then(|directory| census(&directory).ok()).unwrap_or_default();
    named_holders(&census, known_as)
}

fn named_holders(census: &Census, own: u32) -> String {
    let others = census.runs.iter().filter(|run| run.pid != own && run.holds > 0).take(HOLDERS_MAX);
    let named = |run: &CensusRun| format!("{} ({}) has {}", run.what, run.pid, terminal::integer(run.holds.into()));
    let names: Vec<String> = others.map(named).collect();
    if names.is_empty() { String::new() } else { format!(" Now {}.", names.join(", ")) }
}

fn text(ran: &FinishedRun, verdict: &JobsVerdict, holders: &str) -> String {
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
            "jobs took {} in all, the longest {} (job {}); CPU {}{}",
            seconds(measures.work_ns),
            seconds(measures.longest_ns),
            terminal::integer(measures.longest_job),
            seconds(measures.jobs_cpu_ns),
            measures.rss_peak_bytes.map_or_else(String::new, |peak| format!(", largest {}", terminal::bytes(peak)))
        ),
        format!("the runner itself used {} of CPU, {} a job", seconds(measures.own_cpu_ns), seconds(per_start)),
        bound_sentence(verdict, measures) + holders,
    ];
    if measures.critical_path_jobs > 1 {
        let (jobs, end) = (measures.critical_path_jobs, measures.critical_path_end);
        let (jobs, end) = (terminal::integer(jobs), terminal::integer(end));
        let chain = seconds(measures.critical_path_ns);
        lines.insert(
            2,
            format!(
                "the longest chain of jobs that waited for each other took {chain}: {jobs} jobs, the last one job {end}"
            ),
        );
    }
    lines.extend(slots_sentence(&ran.slots));
    if verdict.bound != JobsBound::CannotTell {
        let points = verdict.expected.iter().map(|point| format!("{} {}", point.width, seconds_text(point.seconds)));
        let buys = terminal::percentage(verdict.one_more_hand_saves);
        let points = points.collect::<Vec<_>>().join(", ");
        let what = if waits_mostly(verdict, measures) { "one more job at once" } else { "one more core" };
        lines.push(format!("{what} buys {buys}. Expected at widths: {points}."));
    }
    lines.join("\n") + "\n"
}

/// Whether jobs hardly used their cores, so that more of them at once would need no more. Not where cores were waited for: who waits for
/// one uses none either.
fn waits_mostly(verdict: &JobsVerdict, measures: &JobMeasures) -> bool {
    let crowded = measures.cpu_waits_ns.is_some_and(|waits_ns| waits_ns > measures.wall_ns / 2);
    !crowded
        && matches!(verdict.bound, JobsBound::Hands { on_cpu, .. } | JobsBound::Disks { on_cpu, .. } if on_cpu < 0.5)
}

/// Only where something went wrong with them: that they were offered is how it always is.
fn slots_sentence(slots: &SlotBooks) -> Option<String> {
    let leaked = || format!("{} never came back", counted(slots.leaked as u64, "job slot"));
    let surplus = || format!("{} came back that had never been given", counted(slots.surplus as u64, "job slot"));
    match (slots.leaked, slots.surplus) {
        (0, 0) => None,
        (_, 0) => Some(format!("{}: a program of make's was killed, or lives on.", leaked())),
        (0, _) => Some(format!("{}.", surplus())),
        _ => Some(format!("{}; {}.", leaked(), surplus())),
    }
}

fn bound_sentence(verdict: &JobsVerdict, measures: &JobMeasures) -> String {
    let wall = seconds_text(measures.wall_ns as f64 / 1e9);
    let of_wall = |share: f64| format!("{} of {wall}", terminal::percentage_whole(share));
    match verdict.bound {
        JobsBound::Hands { busy, on_cpu } => {
            let hint = match waits_mostly(verdict, measures) {
                true => {
                    "; they used a core for only a part of that, so more at once than there are cores (-j 2x) is worth a try"
                }
                false => "",
            };
            format!(
                "bound by hands: jobs kept all {} busy {} of the time, and were on a core for {} of theirs{hint}.",
                measures.width,
                terminal::percentage_whole(busy),
                terminal::percentage_whole(on_cpu)
            )
        }
        JobsBound::Unstaffed { share } => {
            format!("bound by too few hands: for {} jobs waited for hands that other runs had.", of_wall(share))
        }
        JobsBound::Disks { share, on_cpu } => format!(
            "bound by disks: for {} tasks of this machine waited for one; jobs were on a core for {} of their time.",
            of_wall(share),
            terminal::percentage_whole(on_cpu)
        ),
        JobsBound::LongestJob { share } => {
            format!("bound by the longest job: it took {}; more hands cannot make it shorter.", of_wall(share))
        }
        JobsBound::LongestChain { share } => {
            format!(
                "bound by the longest chain of jobs: it took {}; more hands cannot make it shorter.",
                of_wall(share)
            )
        }
        JobsBound::List { share } => {
            format!("bound by the list: for {} hands waited for its next line.", of_wall(share))
        }
        JobsBound::Order { share } => format!("bound by order: for {} %% or after held jobs back.", of_wall(share)),
        JobsBound::Memory { share } => format!(
            "bound by memory: for {} there was not enough for one more job, and {} put off; --memory sets what they may need together.",
            of_wall(share),
            counted(measures.put_off, "start")
        ),
        JobsBound::Held { share } => {
            format!("bound by --load, --delay or a shortage: for {} they held jobs back.", of_wall(share))
        }
        JobsBound::Output { share } => {
            format!("bound by the reader of the output: for {} jobs waited for it.", of_wall(share))
        }
        JobsBound::Spawning { job_cpu_ns } => format!(
            "bound by starting programs: a job needs {} of CPU, its start included; -l or -X puts more into one.",
            seconds_text(job_cpu_ns as f64 / 1e9)
        ),
        JobsBound::CannotTell => format!("no verdict: the run took {wall}, too short to measure."),
    }
}

/// The last line of a run in which not all went well; before it, what of an earlier run had not, and is not tried again.
pub fn conclude(context: &Context, ran: &FinishedRun, has_journal: bool) {
    if ran.left_out_failed > 0 {
        let (left_out, failed) = (counted(ran.left_out, "job"), terminal::integer(ran.left_out_failed));
        let text =
            format!("{left_out} left out, of which {failed} failed before; --resume-failed runs failed jobs again");
        context.messages.note(NAME, &text);
    }
    let mut parts = Vec::new();
    let all = ran.counts.succeeded + ran.counts.failed;
    if ran.counts.failed > 0 && all > 1 {
        parts.push(format!("{} of {} failed", terminal::integer(ran.counts.failed), counted(all, "job")));
    }
    if ran.stopped > 0 && ran.halted.is_none() {
        parts.push(format!("{} stopped", counted(ran.stopped, "job")));
    }
    if ran.dropped > 0 {
        parts.push(format!("{} that had been read did not start", counted(ran.dropped, "job")));
    }
    if !parts.is_empty() {
        if ran.stopped_by.is_some() && has_journal {
            parts.push("--resume goes on".to_owned());
        }
        context.messages.conclusion(NAME, &parts.join("; "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crew::budget::census::{RunDetail, RunState};
    use crew::budget::{Priority, Weight};

    fn ran(change: impl FnOnce(&mut JobMeasures)) -> FinishedRun {
        let mut ran = FinishedRun::default();
        let measures = &mut ran.measures;
        (measures.wall_ns, measures.width, measures.starts) = (10_000_000_000, 2, 10);
        (measures.work_ns, measures.jobs_cpu_ns, measures.longest_ns) = (20_000_000_000, 2_000_000_000, 3_000_000_000);
        change(measures);
        ran
    }

    fn told(change: impl FnOnce(&mut JobMeasures)) -> String {
        let ran = ran(change);
        text(&ran, &verdict(&ran.measures), "")
    }

    #[test]
    fn jobs_that_wait_are_told_to_be_more() {
        let waiting = told(|_| {});
        assert!(waiting.contains("busy 100 % of the time, and were on a core for 10 % of theirs; "), "{waiting}");
        assert!(waiting.contains("one more job at once buys 33.3 %"), "{waiting}");
        let working = told(|run| run.jobs_cpu_ns = run.work_ns);
        assert!(working.contains("on a core for 100 % of theirs.\none more core buys 33.3 %"), "{working}");
    }

    #[test]
    fn a_chain_is_told_from_a_job() {
        let chain = told(|run| {
            (run.critical_path_ns, run.critical_path_jobs, run.critical_path_end) = (9_500_000_000, 3, 7);
        });
        assert!(
            chain.contains("waited for each other took 9.5 s: 3 jobs, the last one job 7\n")
                && chain.contains("by the longest chain"),
            "{chain}"
        );
        let job =
            told(|run| (run.critical_path_ns, run.longest_ns, run.longest_job) = (9_500_000_000, 9_500_000_000, 4));
        assert!(job.contains("the longest 9.5 s (job 4);"), "{job}");
        assert!(job.contains("bound by the longest job") && !job.contains("chain"), "{job}");
    }

    #[test]
    fn those_who_have_the_hands_are_named() {
        let run = |pid, holds, what: &str| CensusRun {
            pid,
            class: Priority::Normal,
            weight: Weight::default(),
            holds,
            above_capacity: 0,
            lent: 0,
            inherited: 0,
            external: 0,
            wants: holds,
            useful: holds,
            seconds: 1,
            detail: RunDetail::default(),
            what: what.to_owned(),
            state: RunState::Working,
            why: String::new(),
        };
        let runs = vec![run(1, 2, "tamp db"), run(2, 0, "tamp other"), run(9, 4, "xjobs")];
        let census = Census { cpus: 4, free: 0, above_capacity: 0, used_by_others: 0, runs };
        assert_eq!(named_holders(&census, 9), " Now tamp db (1) has 2.");
        assert_eq!(named_holders(&Census::default(), 9), "");
    }
}
