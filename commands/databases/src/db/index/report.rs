//! `--report`: how long each build took, what it cost the server, and what bound the run.

use super::plan::IndexPlan;
use super::shown::IndexEnd;
use ::load::cost::ServerCost;
use database::indexes::{BuildEnd, BuildOutcome};
use database::load::{ServerWait, WaitTally};
use mh_kit::context::Context;
use mh_kit::report::{counted, json_line};
use mh_kit::shared_args::ReportFormat;
use serde::Serialize;
use std::cmp::Reverse;
use std::time::Duration;
use terminal::{Align, TextTable};

/// LIMIT: builds that the table has.
const BUILDS_LISTED_MAX: usize = 10;

/// Further facts of a run.
pub struct IndexMeasures<'a> {
    /// What was to be done.
    pub plan: &'a IndexPlan,
    /// The states in which server processes were seen.
    pub waits: &'a WaitTally,
    /// What it cost the server, if that is on this host and may be seen.
    pub cost: Option<ServerCost>,
    /// Whose hands they were.
    pub hands_from: Option<&'static str>,
}

/// Prints what was asked for.
pub fn show(context: &Context, format: Option<ReportFormat>, end: &IndexEnd<'_>, measures: &IndexMeasures<'_>) {
    let text = match format {
        None => return,
        Some(ReportFormat::Json) => json_line(&JsonIndex::new(end, measures)),
        Some(ReportFormat::Text) => text(end, measures),
    };
    context.messages.report(&text);
}

struct BuildTime<'a> {
    name: &'a str,
    line: u64,
    took: Duration,
    workers: usize,
}

/// Longest first.
fn times(outcomes: &[BuildOutcome]) -> Vec<BuildTime<'_>> {
    let time = |outcome: &BuildOutcome| match outcome.end {
        BuildEnd::Made { took, workers } => Some((took, workers)),
        _ => None,
    };
    let times = outcomes.iter().filter_map(|outcome| Some((outcome, time(outcome)?)));
    let mut times: Vec<_> = times
        .map(|(outcome, (took, workers))| BuildTime { name: &outcome.name, line: outcome.line, took, workers })
        .collect();
    times.sort_by_key(|time| Reverse(time.took));
    times
}

fn text(end: &IndexEnd<'_>, measures: &IndexMeasures<'_>) -> String {
    let times = times(end.outcomes);
    let rule = &measures.plan.rule;
    let mut text = format!(
        "{}: {} in {}, {}\n\nwhere the time went\n",
        terminal::printable(end.name),
        counted(times.len() as u64, "statement"),
        terminal::duration(end.wall),
        counted(rule.lanes as u64, "lane"),
    );
    let mut table = TextTable::new(&[Align::Left, Align::Right, Align::Left]).indented(2);
    for time in times.iter().take(BUILDS_LISTED_MAX) {
        let workers = if time.workers > 0 { counted(time.workers as u64, "worker") } else { String::new() };
        table.row([&*terminal::printable(time.name), &terminal::duration(time.took), &workers]);
    }
    text += &table.to_string();
    if let Some(cost) = &measures.cost {
        let cores = cost.cpu_ns() as f64 / cost.elapsed_ns.max(1) as f64;
        let cpu = terminal::duration(Duration::from_nanos(cost.cpu_ns()));
        text += &format!("server: {cpu} of CPU time, {} cores\n", terminal::four_digits(cores));
    }
    let verdict = judge(end.wall, &times, measures);
    text += &format!("{}\n", verdict.sentence);
    for step in &verdict.next_steps {
        text += &format!("next: {step}\n");
    }
    if let Some(hands) = measures.hands_from {
        text += &format!("cores: {hands}\n");
    }
    text
}

/// What bound a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct IndexVerdict {
    /// `one-build`, `server`, `server-lock`, `server-wait` or `unknown`.
    bound_by: &'static str,
    /// The same as a sentence.
    sentence: String,
    /// What would help.
    next_steps: Vec<String>,
}

/// LIMIT: shorter runs have been looked at too seldom.
const SHORT: Duration = Duration::from_secs(2);

/// From this share on something binds.
const BINDS: f64 = 0.5;

/// The share of a run from which on one build binds it, if others could have run beside it.
const ONE_BINDS: f64 = 0.8;

fn judge(wall: Duration, times: &[BuildTime<'_>], measures: &IndexMeasures<'_>) -> IndexVerdict {
    let rule = &measures.plan.rule;
    let verdict = |bound_by, sentence, next_steps| IndexVerdict { bound_by, sentence, next_steps };
    if wall < SHORT || measures.waits.looks() == 0 {
        let sentence = format!("cannot tell: the run took {}, too short to measure", terminal::duration(wall));
        return verdict("unknown", sentence, Vec::new());
    }
    let seen = |what: &ServerWait| terminal::percentage_whole(measures.waits.share(what));
    if let Some(longest) =
        times.first().filter(|longest| rule.lanes > 1 && longest.took.as_secs_f64() >= ONE_BINDS * wall.as_secs_f64())
    {
        let share = terminal::percentage_whole(longest.took.as_secs_f64() / wall.as_secs_f64());
        let sentence = format!("bound by one build: {} took {share} of the run", terminal::printable(longest.name));
        let step =
            format!("more workers for it: it had {}, and cores beyond -j {} would be its", longest.workers, rule.hands);
        return verdict("one-build", sentence, vec![step]);
    }
    if measures.waits.share(&ServerWait::Lock) >= BINDS {
        let sentence =
            format!("bound by locks: builds waited for other sessions at {} of all looks", seen(&ServerWait::Lock));
        return verdict("server-lock", sentence, vec!["pg_blocking_pids() names who holds them".to_owned()]);
    }
    let most = measures.waits.seen.iter().max_by_key(|(_, count)| **count);
    if let Some((ServerWait::Of(what), _)) = most {
        let share = terminal::percentage_whole(measures.waits.share(&ServerWait::Of(what.clone())));
        let sentence = format!("bound by the server's {what}: seen at {share} of all looks");
        let step = what.starts_with("IO").then(|| "a faster disk, or more memory for sorts: --memory".to_owned());
        return verdict("server-wait", sentence, step.into_iter().collect());
    }
    let working = seen(&ServerWait::Working);
    let hands = counted(rule.hands as u64, "core");
    let sentence = format!("bound by the server's CPU: its processes worked at {working} of all looks, on {hands}");
    verdict("server", sentence, vec!["more cores: -j, if the server has them".to_owned()])
}

#[derive(Serialize)]
struct JsonIndex<'a> {
    database: &'a str,
    statements: usize,
    missing: usize,
    there_before: usize,
    lanes: usize,
    hands: usize,
    memory_a_lane_bytes: Option<u64>,
    wall_ns: u64,
    server_cost: Option<ServerCost>,
    builds: Vec<JsonBuild<'a>>,
    invalid: &'a [String],
    #[serde(flatten)]
    verdict: IndexVerdict,
}

#[derive(Serialize)]
struct JsonBuild<'a> {
    name: &'a str,
    line: u64,
    took_ns: u64,
    workers: usize,
}

impl<'a> JsonIndex<'a> {
    fn new(end: &IndexEnd<'a>, measures: &IndexMeasures<'a>) -> Self {
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let times = times(end.outcomes);
        let verdict = judge(end.wall, &times, measures);
        let is_there = |end: &BuildEnd| matches!(end, BuildEnd::Made { .. } | BuildEnd::Present);
        let build = |time: BuildTime<'a>| JsonBuild {
            name: time.name,
            line: time.line,
            took_ns: nanoseconds(time.took),
            workers: time.workers,
        };
        Self {
            database: end.name,
            statements: end.outcomes.len(),
            missing: end.outcomes.iter().filter(|outcome| !is_there(&outcome.end)).count(),
            there_before: end.present,
            lanes: measures.plan.rule.lanes,
            hands: measures.plan.rule.hands,
            memory_a_lane_bytes: measures.plan.rule.memory_bytes,
            wall_ns: nanoseconds(end.wall),
            server_cost: measures.cost,
            builds: times.into_iter().map(build).collect(),
            invalid: end.invalid,
            verdict,
        }
    }
}
