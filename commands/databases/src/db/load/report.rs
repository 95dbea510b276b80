//! `--report`: where the time of a load went, what it cost the server, and the verdict.

use super::args::DbLoadArgs;
use super::plan::LoadJob;
use super::verdict::{LoadMeasures, LoadVerdict, judge};
use crate::db::waits::{seen, wait_name};
use ::load::cost::ServerCost;
use database::load::{LoadOutcome, LoadedRange};
use mh_kit::context::Context;
use mh_kit::failure::Failure;
use mh_kit::report::{counted, json_line};
use mh_kit::shared_args::ReportFormat;
use serde::Serialize;
use std::collections::BTreeMap;
use terminal::{Align, TextTable};

/// A load that has ended.
pub struct LoadEnd<'a> {
    /// What was to be done.
    pub job: &'a LoadJob,
    /// What came of it.
    pub outcome: &'a LoadOutcome,
    /// What it cost the server, if that is on this host and may be seen.
    pub cost: Option<ServerCost>,
    /// The server's first process.
    pub server: Option<u32>,
    /// Whose hands they were.
    pub hands_from: Option<&'static str>,
}

/// Prints what was asked for.
pub fn show(context: &Context, args: &DbLoadArgs, end: &LoadEnd<'_>) -> Result<(), Failure> {
    let Some(format) = args.report else { return Ok(()) };
    let verdict = verdict(context.machine.hands_allowed(), end);
    let text = match format {
        ReportFormat::Json => json_line(&JsonLoad::new(end, &verdict)),
        ReportFormat::Text => report_text(end, &verdict),
    };
    context.messages.report(&text);
    Ok(())
}

fn verdict(cores: usize, end: &LoadEnd<'_>) -> LoadVerdict {
    let facts = &end.job.target.facts;
    judge(&LoadMeasures {
        clocks: end.outcome.clocks,
        waits: &end.outcome.waits,
        connections: end.job.connections,
        cores,
        is_server_here: end.job.is_server_here,
        one_connection: facts.one_connection.as_deref(),
        indexes: facts.indexes,
        commit: end.job.commit,
    })
}

/// Bytes of rows that are committed, uncompressed.
pub fn bytes_of(ranges: &[LoadedRange]) -> u64 {
    ranges.iter().map(|range| range.end - range.begin).sum()
}

fn report_text(end: &LoadEnd<'_>, verdict: &LoadVerdict) -> String {
    let (outcome, job) = (end.outcome, end.job);
    let (bytes, wall) = (bytes_of(&outcome.committed), outcome.clocks.wall);
    let seconds = wall.as_secs_f64().max(1e-9);
    let mut text = format!(
        "{}: {} of {} in {}, {}, {} rows/s\n\nwhere the time went\n",
        terminal::printable(&job.target.facts.name),
        counted(outcome.rows, "row"),
        terminal::bytes(bytes),
        terminal::duration(wall),
        terminal::rate(bytes as f64 / seconds),
        terminal::integer((outcome.rows as f64 / seconds) as u64)
    );
    let mut table = TextTable::new(&[Align::Left, Align::Left]).indented(2);
    for (name, what) in time_rows(end) {
        table.row([&name, &what]);
    }
    text += &table.to_string();
    text += &format!("{}\n", verdict.sentence);
    for step in &verdict.next_steps {
        text += &format!("next: {step}\n");
    }
    if let Some(hands) = end.hands_from {
        text += &format!("cores: {hands}\n");
    }
    text
}

fn time_rows(end: &LoadEnd<'_>) -> Vec<(String, String)> {
    let (outcome, clocks) = (end.outcome, &end.outcome.clocks);
    let threads = (clocks.loading + clocks.waiting_for_chunks + clocks.waiting_for_hands).as_secs_f64().max(1e-9);
    let share = |time: std::time::Duration| terminal::percentage_whole(time.as_secs_f64() / threads);
    let mut rows = vec![(
        counted(outcome.connections as u64, "connection"),
        format!(
            "{} loading, {} waiting for rows, {} waiting for a core",
            share(clocks.loading),
            share(clocks.waiting_for_chunks),
            share(clocks.waiting_for_hands)
        ),
    )];
    let client = clocks.client_cpu + clocks.cutting;
    rows.push(("this program".to_owned(), format!("{} of CPU time", terminal::duration(client))));
    let cost = match (&end.cost, end.job.target.protocol()) {
        (Some(cost), _) => {
            let cores = cost.cpu_ns() as f64 / cost.elapsed_ns.max(1) as f64;
            let time = std::time::Duration::from_nanos(cost.cpu_ns());
            let pid = end.server.map(|pid| format!(", process {pid}")).unwrap_or_default();
            format!("{} of CPU time, {} cores{pid}", terminal::duration(time), terminal::four_digits(cores))
        }
        (None, None) => "in this program".to_owned(),
        (None, Some(_)) => "its CPU time is not to be seen from here".to_owned(),
    };
    rows.push(("server".to_owned(), cost));
    if outcome.waits.looks() > 0 {
        rows.push(("server seen at".to_owned(), seen(&outcome.waits)));
    }
    if outcome.retries > 0 {
        rows.push(("sent again".to_owned(), format!("{} after conflicts", counted(outcome.retries, "chunk"))));
    }
    rows
}

#[derive(Serialize)]
struct JsonLoad<'a> {
    table: &'a str,
    server: &'a str,
    rows: u64,
    rejected: u64,
    bytes: u64,
    wall_ns: u64,
    connections: usize,
    retries: u64,
    client_cpu_ns: u64,
    server_cost: Option<ServerCost>,
    /// How often a connection was seen at what.
    server_seen: BTreeMap<&'a str, u64>,
    committed: Vec<JsonRange<'a>>,
    error: Option<String>,
    #[serde(flatten)]
    verdict: &'a LoadVerdict,
}

#[derive(Serialize)]
struct JsonRange<'a> {
    file: &'a str,
    begin_bytes: u64,
    end_bytes: u64,
    first_line: u64,
    last_line: u64,
    rows: u64,
}

impl<'a> JsonLoad<'a> {
    fn new(end: &LoadEnd<'a>, verdict: &'a LoadVerdict) -> Self {
        let (outcome, job) = (end.outcome, end.job);
        let range = |range: &LoadedRange| JsonRange {
            file: job.names.get(range.input).map_or("-", String::as_str),
            begin_bytes: range.begin,
            end_bytes: range.end,
            first_line: range.first_line,
            last_line: range.last_line(),
            rows: range.rows,
        };
        let nanoseconds = |time: std::time::Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Self {
            table: &job.target.facts.name,
            server: &job.target.facts.server,
            rows: outcome.rows,
            rejected: outcome.rejected,
            bytes: bytes_of(&outcome.committed),
            wall_ns: nanoseconds(outcome.clocks.wall),
            connections: outcome.connections,
            retries: outcome.retries,
            client_cpu_ns: nanoseconds(outcome.clocks.client_cpu + outcome.clocks.cutting),
            server_cost: end.cost,
            server_seen: outcome.waits.seen.iter().map(|(wait, count)| (wait_name(wait), *count)).collect(),
            committed: outcome.committed.iter().map(range).collect(),
            error: outcome.error.as_ref().map(ToString::to_string),
            verdict,
        }
    }
}
