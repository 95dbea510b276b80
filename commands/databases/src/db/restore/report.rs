//! `--report`: what a restore loaded and made, where its time went, what it cost, and what bound it.

use super::plan::RestoreJob;
use crate::db::waits::{bound_by_server, cost_text, forced_checkpoints, forecast, seen, wait_name};
use ::load::cost::ServerCost;
use database::restore::{RestoreClocks, Restored};
use mh_kit::context::Context;
use mh_kit::report::{counted, json_line};
use mh_kit::shared_args::ReportFormat;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;
use terminal::{Align, TextTable};

/// A restore that has come to its end.
pub struct RestoreEnd<'a> {
    /// What was to be done.
    pub job: &'a RestoreJob,
    /// What came of it.
    pub restored: &'a Restored,
    /// How long it took.
    pub wall: Duration,
    /// CPU time of this program, without pg_restore.
    pub client_cpu: Duration,
    /// What it cost the server, if that is on this host and may be seen.
    pub cost: Option<ServerCost>,
    /// Whose hands they were.
    pub hands_from: Option<&'static str>,
    /// Cores that may be used.
    pub cores: usize,
}

/// Prints what was asked for.
pub fn show(context: &Context, format: Option<ReportFormat>, end: &RestoreEnd<'_>) {
    let text = match format {
        None => return,
        Some(ReportFormat::Json) => json_line(&JsonRestore::new(end)),
        Some(ReportFormat::Text) => report_text(end),
    };
    context.messages.report(&text);
}

/// A number of them.
pub fn indexes_of(count: u64) -> String {
    let word = if count == 1 { "index" } else { "indexes" };
    format!("{} {word}", terminal::integer(count))
}

fn report_text(end: &RestoreEnd<'_>) -> String {
    let progress = &end.restored.progress;
    let seconds = end.wall.as_secs_f64().max(1e-9);
    let mut text = format!(
        "{}: {}, {} of {}, {} in {}, {}\n\nwhere the time went\n",
        terminal::printable(&end.job.name),
        counted(progress.tables, "table"),
        counted(progress.rows, "row"),
        terminal::bytes(progress.bytes),
        indexes_of(progress.indexes),
        terminal::duration(end.wall),
        terminal::rate(progress.bytes as f64 / seconds)
    );
    let mut table = TextTable::new(&[Align::Left, Align::Left]).indented(2);
    for (name, what) in time_rows(end) {
        table.row([&name, &what]);
    }
    text += &table.to_string();
    let verdict = judge(end);
    text += &format!("{}\n", verdict.sentence);
    for step in &verdict.next_steps {
        text += &format!("next: {step}\n");
    }
    if let Some(line) = forecast(end.cost.as_ref(), end.client_cpu, end.cores) {
        text += &format!("{line}\n");
    }
    if let Some(hands) = end.hands_from {
        text += &format!("cores: {hands}\n");
    }
    text
}

fn time_rows(end: &RestoreEnd<'_>) -> Vec<(String, String)> {
    let clocks = &end.restored.progress.clocks;
    let share = |time: Duration| terminal::percentage_whole(time.as_secs_f64() / total(clocks).max(1e-9));
    let spent = format!(
        "{} loading rows, {} making indexes, {} waiting for either, {} waiting for a core",
        share(clocks.loading),
        share(clocks.indexing),
        share(clocks.waiting_for_work),
        share(clocks.waiting_for_hands)
    );
    let server = cost_text(end.cost.as_ref());
    let without = if end.job.has_program { ", without pg_restore" } else { "" };
    let mut rows = vec![
        (counted(end.job.connections as u64, "connection"), spent),
        ("this program".to_owned(), format!("{} of CPU time{without}", terminal::duration(end.client_cpu))),
        ("server".to_owned(), server),
    ];
    if end.restored.waits.looks() > 0 {
        rows.push(("server seen at".to_owned(), seen(&end.restored.waits)));
    }
    rows
}

fn total(clocks: &RestoreClocks) -> f64 {
    (clocks.loading + clocks.indexing + clocks.waiting_for_hands + clocks.waiting_for_work).as_secs_f64()
}

/// What bound a restore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct RestoreVerdict {
    /// `server`, `server-disk`, `server-lock`, `network`, `client`, `work`, `cores` or `unknown`.
    bound_by: &'static str,
    /// The same as a sentence.
    sentence: String,
    /// What would help.
    next_steps: Vec<String>,
}

/// LIMIT: shares of less time mean nothing.
const SHORT: Duration = Duration::from_millis(1500);

/// From this share on something binds.
const BINDS: f64 = 0.5;

fn judge(end: &RestoreEnd<'_>) -> RestoreVerdict {
    let clocks = &end.restored.progress.clocks;
    let threads = total(clocks);
    if end.wall < SHORT || threads == 0.0 {
        let sentence = format!("cannot tell: the restore took {}, too short to measure", terminal::duration(end.wall));
        return RestoreVerdict { bound_by: "unknown", sentence, next_steps: Vec::new() };
    }
    let share = |time: Duration| time.as_secs_f64() / threads;
    let percent = |time: Duration| terminal::percentage_whole(share(time));
    let computing = clocks.computing.as_secs_f64() / (clocks.loading + clocks.indexing).as_secs_f64().max(1e-9);
    let (bound_by, sentence) = if share(clocks.waiting_for_hands) >= BINDS {
        let waited = percent(clocks.waiting_for_hands);
        (
            "cores",
            format!("bound by cores: connections waited {waited} of their time for one that other runs have (mh crew)"),
        )
    } else if share(clocks.waiting_for_work) >= BINDS {
        let waited = percent(clocks.waiting_for_work);
        let sentence =
            format!("bound by the last table or index: connections waited {waited} of their time for others to end");
        ("work", sentence)
    } else if computing >= BINDS {
        let share = terminal::percentage_whole(computing);
        ("client", format!("bound by this program: it decompressed for {share} of the time that rows took"))
    } else {
        bound_by_server(&end.restored.waits, end.job.connections)
    };
    let next_steps = forced_checkpoints(&end.restored.waits).into_iter().collect();
    RestoreVerdict { bound_by, sentence, next_steps }
}

#[derive(Serialize)]
struct JsonRestore<'a> {
    database: &'a str,
    tables: u64,
    rows: u64,
    /// Rows that an interrupted restore had loaded.
    rows_before: u64,
    row_bytes: u64,
    indexes: u64,
    connections: usize,
    faults: Vec<&'a str>,
    wall_ns: u64,
    client_cpu_ns: u64,
    server_cost: Option<ServerCost>,
    /// How often a connection was seen at what.
    server_seen: BTreeMap<&'a str, u64>,
    #[serde(flatten)]
    verdict: RestoreVerdict,
}

impl<'a> JsonRestore<'a> {
    fn new(end: &RestoreEnd<'a>) -> Self {
        let progress = &end.restored.progress;
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let waits = &end.restored.waits;
        Self {
            database: &end.job.name,
            tables: progress.tables,
            rows: progress.rows,
            rows_before: end.restored.rows_before,
            row_bytes: progress.bytes,
            indexes: progress.indexes,
            connections: end.job.connections,
            faults: end.restored.faults.iter().map(|fault| fault.message.as_str()).collect(),
            wall_ns: nanoseconds(end.wall),
            client_cpu_ns: nanoseconds(end.client_cpu),
            server_cost: end.cost,
            server_seen: waits.seen.iter().map(|(wait, count)| (wait_name(wait), *count)).collect(),
            verdict: judge(end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crew::plan::Plan;
    use database::load::{ServerWait, WaitTally};
    use database::restore::RestoreProgress;

    fn judged(loading: u64, indexing: u64, work: u64, hands: u64, computing: u64) -> RestoreVerdict {
        let job = RestoreJob {
            plan: Plan::new("restore"),
            name: "shop".to_owned(),
            connections: 2,
            chunk_bytes: 1,
            index_memory: None,
            is_server_here: true,
            has_program: true,
        };
        let seconds = Duration::from_secs;
        let clocks = RestoreClocks {
            loading: seconds(loading),
            indexing: seconds(indexing),
            computing: seconds(computing),
            waiting_for_hands: seconds(hands),
            waiting_for_work: seconds(work),
        };
        let progress = RestoreProgress { clocks, ..RestoreProgress::default() };
        let waits = WaitTally { seen: [(ServerWait::Working, 9)].into(), ..WaitTally::default() };
        let (faults, warnings) = (Vec::new(), Vec::new());
        let restored = Restored { progress, rows_before: 0, faults, warnings, waits };
        let (client_cpu, cost, hands_from) = (Duration::ZERO, None, None);
        judge(&RestoreEnd { job: &job, restored: &restored, wall: seconds(10), client_cpu, cost, hands_from, cores: 2 })
    }

    #[test]
    fn what_took_most_of_the_time_binds() {
        assert_eq!(judged(10, 8, 1, 1, 2).bound_by, "server");
        assert_eq!(judged(10, 8, 1, 1, 15).bound_by, "client");
        assert_eq!(judged(4, 2, 14, 0, 1).bound_by, "work");
        assert_eq!(judged(4, 2, 0, 14, 1).bound_by, "cores");
        assert_eq!(judged(0, 0, 0, 0, 0).bound_by, "unknown");
    }
}
