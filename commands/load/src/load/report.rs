//! What a run says to programs: an object for each interval, one at the end, and percentiles as HdrHistogram's tools read them. Names are the contract; docs/json.md
//! has them.

use super::environment;
use super::plan::PreparedLoad;
use ::load::cost::ServerCost;
use ::load::late::WhoWasLate;
use ::load::ledger::{Distribution, Ledger};
use ::load::run::{IntervalReport, RunReport};
use mh_kit::failure::Failure;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use sys::error_text::message;

/// Times of one kind, in seconds.
#[derive(Serialize)]
pub struct TimesObject {
    count: u64,
    mean_s: f64,
    stddev_s: f64,
    min_s: f64,
    max_s: f64,
    /// By percent.
    percentiles_s: BTreeMap<&'static str, f64>,
}

/// The percentiles that are printed.
pub const PERCENTILES: &[(&str, f64)] =
    &[("50", 50.0), ("90", 90.0), ("95", 95.0), ("99", 99.0), ("99.9", 99.9), ("99.99", 99.99)];

impl TimesObject {
    fn of(distribution: &Distribution) -> Self {
        let seconds = |ns: u64| ns as f64 / 1e9;
        Self {
            count: distribution.count(),
            mean_s: distribution.mean_ns() / 1e9,
            stddev_s: distribution.deviation_ns() / 1e9,
            min_s: seconds(distribution.min_ns()),
            max_s: seconds(distribution.max_ns()),
            percentiles_s: PERCENTILES
                .iter()
                .map(|(name, percent)| (*name, seconds(distribution.percentile_ns(*percent))))
                .collect(),
        }
    }
}

/// Counts of an interval or a run.
#[derive(Serialize)]
struct Counts {
    sent: u64,
    succeeded: u64,
    failed: BTreeMap<&'static str, u64>,
    dropped: u64,
    retries: u64,
    reconnects: u64,
    statements: u64,
    rows: u64,
    done_late: u64,
}

impl Counts {
    fn of(ledger: &Ledger) -> Self {
        Self {
            sent: ledger.sent,
            succeeded: ledger.succeeded(),
            failed: ledger.failed.iter().map(|(cause, count)| (cause.name(), *count)).collect(),
            dropped: ledger.dropped,
            retries: ledger.retries,
            reconnects: ledger.reconnects,
            statements: ledger.statements,
            rows: ledger.rows,
            done_late: ledger.done_late,
        }
    }
}

/// One interval.
#[derive(Serialize)]
pub struct IntervalObject {
    kind: &'static str,
    at_s: f64,
    elapsed_s: f64,
    is_warmup: bool,
    not_done: u64,
    #[serde(flatten)]
    counts: Counts,
    transactions_per_s: f64,
    response: TimesObject,
    service: TimesObject,
    slip: TimesObject,
    server: Option<ServerCost>,
}

/// An interval as an object.
pub fn interval(report: &IntervalReport<'_>) -> IntervalObject {
    IntervalObject {
        kind: "interval",
        at_s: report.at_seconds,
        elapsed_s: report.elapsed.as_secs_f64(),
        is_warmup: report.is_warmup,
        not_done: report.not_done,
        counts: Counts::of(report.ledger),
        transactions_per_s: report.ledger.succeeded() as f64 / report.elapsed.as_secs_f64(),
        response: TimesObject::of(&report.ledger.response()),
        service: TimesObject::of(&report.ledger.service()),
        slip: TimesObject::of(&report.ledger.slip),
        server: report.cost,
    }
}

/// A thread of the generator.
#[derive(Serialize)]
struct GeneratorThread {
    cpu_s: f64,
    elapsed_s: f64,
    run_queue_wait_s: Option<f64>,
}

/// Times of a whole run. None where the generator was the limit: they would be its own.
#[derive(Serialize)]
struct EndTimes {
    response: Option<TimesObject>,
    service: Option<TimesObject>,
    slip: TimesObject,
    statements_by_script: Option<Vec<ScriptObject>>,
}

/// The whole run.
#[derive(Serialize)]
pub struct EndObject {
    kind: &'static str,
    target: String,
    workload: String,
    connections: usize,
    elapsed_s: f64,
    #[serde(flatten)]
    counts: Counts,
    unfinished: u64,
    transactions_per_s: f64,
    #[serde(flatten)]
    times: EndTimes,
    late: WhoWasLate,
    generators: Vec<GeneratorThread>,
    server: Option<ServerCost>,
    is_stopped: bool,
    first_refusal: Option<String>,
    error: Option<String>,
}

/// A script, and its statements.
#[derive(Serialize)]
struct ScriptObject {
    name: String,
    response: TimesObject,
    statements: Vec<StatementObject>,
}

#[derive(Serialize)]
struct StatementObject {
    text: String,
    service: TimesObject,
}

/// A run as an object.
pub fn end(prepared: &PreparedLoad, report: &RunReport) -> EndObject {
    let is_told = !matches!(report.late, WhoWasLate::Generator { .. });
    let thread = |used: &::load::generator::ThreadUse| GeneratorThread {
        cpu_s: used.cpu_ns as f64 / 1e9,
        elapsed_s: used.elapsed_ns as f64 / 1e9,
        run_queue_wait_s: used.run_delay_ns.map(|ns| ns as f64 / 1e9),
    };
    let times = EndTimes {
        response: is_told.then(|| TimesObject::of(&report.ledger.response())),
        service: is_told.then(|| TimesObject::of(&report.ledger.service())),
        slip: TimesObject::of(&report.ledger.slip),
        statements_by_script: is_told.then(|| scripts(prepared, report)),
    };
    EndObject {
        kind: "end",
        target: prepared.name.clone(),
        workload: prepared.workload_name.clone(),
        connections: prepared.plan.clients,
        elapsed_s: report.elapsed.as_secs_f64(),
        counts: Counts::of(&report.ledger),
        unfinished: report.unfinished(),
        transactions_per_s: report.rate(),
        times,
        late: report.late.clone(),
        generators: report.threads.iter().map(thread).collect(),
        server: report.cost,
        is_stopped: report.is_stopped,
        first_refusal: report.first_refusal.clone(),
        error: report.error.clone(),
    }
}

fn scripts(prepared: &PreparedLoad, report: &RunReport) -> Vec<ScriptObject> {
    let names = prepared.workload.scripts();
    let script = |(ledger, (name, texts)): (&::load::ledger::ScriptLedger, (String, Vec<String>))| ScriptObject {
        name,
        response: TimesObject::of(&ledger.response),
        statements: ledger
            .statements
            .iter()
            .zip(texts)
            .map(|(statement, text)| StatementObject { text, service: TimesObject::of(statement) })
            .collect(),
    };
    report.ledger.scripts.iter().zip(names).map(script).collect()
}

/// Five steps to half of what is left, and so on: as the tools of HdrHistogram have it. The library's own iterator asks the C library for logarithms.
pub fn quantiles() -> impl Iterator<Item = f64> {
    (0..40_i32).flat_map(|halving| {
        let left = 0.5_f64.powi(halving);
        (0..5).map(move |step| 1.0 - left + left / 10.0 * f64::from(step))
    })
}

/// Writes response times in milliseconds in the text form of HdrHistogram (`outputPercentileDistribution`), which its plotter reads.
pub fn write_hgrm(path: &Path, report: &RunReport) -> Result<(), Failure> {
    let response = report.ledger.response();
    let mut text = format!("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
    let counts = response.histogram();
    let longest_ms = response.max_ns() as f64 / 1e6;
    for quantile in quantiles() {
        let value_ns = counts.value_at_quantile(quantile);
        let value_ms = value_ns as f64 / 1e6;
        if response.count() == 0 || value_ms >= longest_ms {
            break;
        }
        let (total, odds) = (counts.count_between(0, value_ns), 1.0 / (1.0 - quantile));
        // A String takes whatever is written to it.
        let _written = writeln!(text, "{value_ms:12.3} {quantile:14.12} {total:10} {odds:14.2}");
    }
    let _written = writeln!(text, "{longest_ms:12.3} {:14.12} {:10}", 1.0, response.count());
    let (mean_ms, deviation_ms) = (response.mean_ns() / 1e6, response.deviation_ns() / 1e6);
    let _written = writeln!(text, "#[Mean    = {mean_ms:12.3}, StdDeviation   = {deviation_ms:12.3}]");
    let _written = writeln!(
        text,
        "#[Max     = {:12.3}, Total count    = {:12}]",
        response.max_ns() as f64 / 1e6,
        response.count()
    );
    std::fs::write(path, text)
        .map_err(|error| environment(format!("could not write {}: {}", terminal::quote(path), message(&error))))
}
