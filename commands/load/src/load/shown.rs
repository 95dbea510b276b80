//! What a run says to people: a line an interval, and what it took at the end.

use super::plan::PreparedLoad;
use super::report::PERCENTILES;
use ::load::arrivals::{ArrivalModel, Spacing};
use ::load::cost::ServerCost;
use ::load::late::WhoWasLate;
use ::load::ledger::Distribution;
use ::load::run::{IntervalReport, LoadPlan, RunReport};
use ::load::session::SqlDialect;
use ::load::sweep::{SweepAxis, SweepPlan};
use mh_kit::report::counted;
use std::fmt::Write;
use std::time::Duration;
use terminal::{Align, TextTable};

/// What begins, in one line.
pub fn opening(prepared: &PreparedLoad) -> String {
    opening_of(prepared, &format!("{}, for", arrivals(&prepared.plan)))
}

/// A sweep, in one line.
pub fn opening_of_sweep(prepared: &PreparedLoad, plan: &SweepPlan) -> String {
    let time = terminal::duration(prepared.plan.duration);
    let how = match plan.axis {
        SweepAxis::Connections => arrivals(&prepared.plan),
        SweepAxis::Rate => counted(prepared.plan.clients as u64, "connection"),
    };
    let (name, on, axis) = (&prepared.workload_name, &prepared.name, plan.axis.name());
    format!("'{name}' on {on}: {axis}, {plan}, {how}, for {time} each")
}

/// When transactions are due.
pub fn arrivals(plan: &LoadPlan) -> String {
    match &plan.arrivals {
        ArrivalModel::Closed(think) if think.mean_ns == 0 => "flat out".to_owned(),
        ArrivalModel::Closed(think) => {
            format!("{} of thought between transactions", terminal::duration(Duration::from_nanos(think.mean_ns)))
        }
        ArrivalModel::Open { rate, spacing: Spacing::Poisson } => format!("{rate} a second, at random (Poisson)"),
        ArrivalModel::Open { rate, spacing: Spacing::Fixed } => format!("{rate} a second, evenly"),
        ArrivalModel::Clocked { rate, .. } => format!("{rate} a second, each connection by its own clock"),
    }
}

/// What begins, with how it is done up to the time of a run.
pub fn opening_of(prepared: &PreparedLoad, how: &str) -> String {
    let time = terminal::duration(prepared.plan.duration);
    let connections = counted(prepared.plan.clients as u64, "connection");
    format!("'{}' on {}: {connections}, {how} {time}", prepared.workload_name, prepared.name)
}

/// Names of the columns of [`interval`].
pub fn heading() -> String {
    "    TIME      DONE/s    FAILED   NOT DONE  RESPONSE p50       p95       p99   SERVICE p95   SLIP p99   SERVER CPU/tx\n"
        .to_owned()
}

/// One interval in one line.
pub fn interval(report: &IntervalReport<'_>) -> String {
    let ledger = report.ledger;
    let (response, service) = (ledger.response(), ledger.service());
    let seconds = report.elapsed.as_secs_f64();
    let time = if report.is_warmup { "warm-up".to_owned() } else { format!("{:.0} s", report.at_seconds) };
    let cost = report.cost.map_or_else(|| "-".to_owned(), |cost| per_transaction(&cost, ledger.succeeded()));
    format!(
        "{time:>8} {:>11.1} {:>9} {:>10} {:>13} {:>9} {:>9} {:>13} {:>10} {cost:>15}\n",
        ledger.succeeded() as f64 / seconds,
        ledger.failures(),
        report.not_done,
        milliseconds(&response, 50.0),
        milliseconds(&response, 95.0),
        milliseconds(&response, 99.0),
        milliseconds(&service, 95.0),
        milliseconds(&ledger.slip, 99.0),
    )
}

/// A percentile; `-` if there is none.
pub fn milliseconds(distribution: &Distribution, percent: f64) -> String {
    if distribution.count() == 0 { "-".to_owned() } else { time_text(distribution.percentile_ns(percent) as f64) }
}

/// Times here are at most a few hours.
pub fn time_text(ns: f64) -> String {
    terminal::duration(Duration::from_nanos(ns as u64))
}

fn per_transaction(cost: &ServerCost, transactions: u64) -> String {
    if transactions == 0 { "-".to_owned() } else { time_text(cost.cpu_ns() as f64 / transactions as f64) }
}

/// The whole run.
pub fn end(prepared: &PreparedLoad, report: &RunReport) -> String {
    let ledger = &report.ledger;
    let mut text = format!(
        "\n{} transactions in {:.1} s: {:.1} a second\n",
        terminal::integer(ledger.succeeded()),
        report.elapsed.as_secs_f64(),
        report.rate()
    );
    if sends_several(report) {
        let a_second = ledger.statements as f64 / report.elapsed.as_secs_f64().max(1e-9);
        let _written = writeln!(text, "{} statements: {a_second:.1} a second", terminal::integer(ledger.statements));
    }
    counts(&mut text, report);
    if ledger.succeeded() == 0 {
        return text;
    }
    let verdict = verdict(prepared, report);
    match &report.late {
        WhoWasLate::Generator { .. } => text.push_str(&verdict),
        WhoWasLate::Server | WhoWasLate::Nobody => {
            text.push_str(&times(report));
            text.push_str(&statements(prepared, report));
            text.push_str(&verdict);
        }
    }
    text.push('\n');
    text + &costs(prepared, report)
}

/// Who was late, and what follows from that.
pub fn verdict(prepared: &PreparedLoad, report: &RunReport) -> String {
    const ADVICE: &str = "No percentiles: they would be the generator's. More of its threads (-j), a lower --rate, or another machine for it.";
    match &report.late {
        WhoWasLate::Generator { reason } => format!("The generator was the limit: {reason}.\n{ADVICE}"),
        WhoWasLate::Server if is_open(prepared) => "The server was late: transactions waited for it.".to_owned(),
        WhoWasLate::Server => {
            "The server was the limit: every connection always had a transaction under way, or its user thought."
                .to_owned()
        }
        WhoWasLate::Nobody => "Nobody was late: what was due was sent and answered in time.".to_owned(),
    }
}

/// What generator and server paid, a line each.
pub fn costs(prepared: &PreparedLoad, report: &RunReport) -> String {
    match prepared.target.dialect() {
        SqlDialect::Sqlite => generator(report, "database and generator"),
        SqlDialect::Postgres | SqlDialect::MySql | SqlDialect::Echo => generator(report, "generator") + &server(report),
    }
}

/// Whether transactions are due whatever the server does.
pub fn is_open(prepared: &PreparedLoad) -> bool {
    !matches!(prepared.plan.arrivals, ArrivalModel::Closed(_))
}

fn counts(text: &mut String, report: &RunReport) {
    for (name, count) in troubles(report) {
        let _written = writeln!(text, "{:>12}  {name}", terminal::integer(count));
    }
}

/// What did not go well, and how often, if at all.
pub fn troubles(report: &RunReport) -> impl Iterator<Item = (&'static str, u64)> {
    let ledger = &report.ledger;
    let causes = ledger.failed.iter().map(|(cause, count)| (cause.name(), *count));
    let others = [
        ("begun again after a deadlock or serialization failure", ledger.retries),
        ("dropped: due while every connection was busy", ledger.dropped),
        ("due or under way and not done at the end", report.unfinished()),
        ("done behind the end, and not in the rate", worth_telling(ledger.done_late, ledger.succeeded())),
        ("connections made anew", ledger.reconnects),
    ];
    causes.chain(others).filter(|(_, count)| *count > 0)
}

/// Every connection has one at the end of a closed load.
fn worth_telling(late: u64, of: u64) -> u64 {
    if late * 100 > of { late } else { 0 }
}

/// A name, and its mean, percentiles and longest.
const TIMES: [Align; 9] = [
    Align::Left,
    Align::Right,
    Align::Right,
    Align::Right,
    Align::Right,
    Align::Right,
    Align::Right,
    Align::Right,
    Align::Right,
];

/// Names of the columns of [`time_rows`].
pub const TIME_HEADS: [&str; 9] = ["", "mean", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max"];

fn times(report: &RunReport) -> String {
    let mut table = TextTable::new(&TIMES);
    table.row(TIME_HEADS);
    time_rows(report).into_iter().for_each(|row| table.row(row));
    table.to_string()
}

/// The three clocks of the whole run.
pub fn time_rows(report: &RunReport) -> Vec<Vec<String>> {
    let ledger = &report.ledger;
    let rows = [
        ("response (due to done)", ledger.response()),
        ("service (sent to done)", ledger.service()),
        ("generator's slip", ledger.slip.clone()),
    ];
    let row = |(name, distribution): (&str, Distribution)| {
        let mut cells = vec![name.to_owned(), time_text(distribution.mean_ns())];
        cells.extend(PERCENTILES.iter().map(|(_, percent)| milliseconds(&distribution, *percent)));
        cells.push(time_text(distribution.max_ns() as f64));
        cells
    };
    rows.into_iter().map(row).collect()
}

/// Whether transactions have more than one statement, or one more than once.
fn sends_several(report: &RunReport) -> bool {
    report.ledger.statements > report.ledger.sent
}

/// Names of the columns of [`statement_rows`].
pub const STATEMENT_HEADS: [&str; 5] = ["COUNT", "MEAN", "p95", "p99", "STATEMENT"];

/// Where a transaction has several statements, each one's own times.
fn statements(prepared: &PreparedLoad, report: &RunReport) -> String {
    let scripts = prepared.workload.scripts();
    let has_several = scripts.len() > 1 || scripts.iter().any(|(_, texts)| texts.len() > 1) || sends_several(report);
    if !has_several {
        return String::new();
    }
    let mut table = TextTable::new(&[Align::Right, Align::Right, Align::Right, Align::Right, Align::Left]);
    table.row(STATEMENT_HEADS);
    statement_rows(prepared, report).into_iter().for_each(|row| table.row(row));
    format!("\n{table}\n")
}

/// Each script's response times, and below them the service times of its statements.
pub fn statement_rows(prepared: &PreparedLoad, report: &RunReport) -> Vec<Vec<String>> {
    let cells = |distribution: &Distribution, what: String| {
        vec![
            terminal::integer(distribution.count()),
            time_text(distribution.mean_ns()),
            milliseconds(distribution, 95.0),
            milliseconds(distribution, 99.0),
            what,
        ]
    };
    let mut rows = Vec::new();
    for (ledger, (name, texts)) in report.ledger.scripts.iter().zip(prepared.workload.scripts()) {
        rows.push(cells(&ledger.response, format!("[{name}]")));
        rows.extend(ledger.statements.iter().zip(texts).map(|(statement, text)| cells(statement, text)));
    }
    rows
}

fn generator(report: &RunReport, who: &str) -> String {
    let (cpu_ns, elapsed_ns) =
        report.threads.iter().fold((0, 1), |sum, used| (sum.0 + used.cpu_ns, sum.1.max(used.elapsed_ns)));
    let waited = report.threads.iter().filter_map(|used| used.run_delay_ns).sum::<u64>();
    format!(
        "{who}: {} of a core, {} a transaction; it waited {} for a CPU\n",
        terminal::percentage(cpu_ns as f64 / elapsed_ns as f64),
        time_text(cpu_ns as f64 / report.ledger.sent.max(1) as f64),
        time_text(waited as f64)
    )
}

fn server(report: &RunReport) -> String {
    let Some(cost) = &report.cost else {
        return "server: not measured (not on this host, or not found; --server-pid names it)\n".to_owned();
    };
    let transactions = report.ledger.succeeded().max(1) as f64;
    let mut text = format!(
        "server: {} of a core, {} a transaction ({} user, {} system)",
        terminal::percentage(cost.cpu_ns() as f64 / cost.elapsed_ns.max(1) as f64),
        time_text(cost.cpu_ns() as f64 / transactions),
        time_text(cost.user_ns as f64 / transactions),
        time_text(cost.system_ns as f64 / transactions),
    );
    if let Some(switches) = cost.switches {
        let _written = write!(text, ", {:.1} context switches a transaction", switches as f64 / transactions);
    }
    if let Some(bytes) = cost.memory_bytes {
        let _written = write!(text, ", {} of memory at the end", terminal::bytes(bytes));
    }
    text + "\n"
}
