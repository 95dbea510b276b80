//! The page of a run: what was run, who was late, what happened over time, the distribution of times. It refuses percentiles where the report refuses them.

mod sweep;

use super::history::{History, LoadMoment, OVER_TIME};
use super::plan::PreparedLoad;
use super::{report, shown};
use crate::page::HtmlPage;
use crate::plots::{Axis, Marks, Plot, Scale, Series, plot};
use ::load::course::Overload;
use ::load::late::WhoWasLate;
use ::load::ledger::Distribution;
use ::load::run::RunReport;
use std::time::{SystemTime, UNIX_EPOCH};
pub use sweep::SweepPage;
use sys::civil_time::local;

/// LIMIT: of a statement's text; the beginning and the end of a longer one are shown.
const STATEMENT_COLUMNS: usize = 400;

/// The whole page.
pub fn page(prepared: &PreparedLoad, report: &RunReport, history: &History) -> HtmlPage {
    let mut page = HtmlPage::new(&format!("mh load: '{}' on {}", prepared.workload_name, prepared.name));
    conclusion(&mut page, prepared, report);
    page.heading("The run").table(&["", ""], &facts(prepared, report));
    let has_times = report.ledger.succeeded() > 0 && !matches!(report.late, WhoWasLate::Generator { .. });
    over_time(&mut page, history, has_times);
    if has_times {
        page.heading("Times")
            .paragraph("Response time counts from when a transaction was due, service time from when it was sent.");
        page.table(&shown::TIME_HEADS, &shown::time_rows(report));
        distribution(&mut page, report);
        page.heading("Statements").table(&shown::STATEMENT_HEADS, &statements(prepared, report));
    }
    page.data("The report as JSON", mh_kit::report::json_line(&report::end(prepared, report)).trim_end());
    page
}

fn conclusion(page: &mut HtmlPage, prepared: &PreparedLoad, report: &RunReport) {
    if let Some(error) = &report.error {
        page.verdict(&format!("The run ended early: {error}"));
    } else if report.is_stopped {
        page.paragraph("The run was interrupted; these are its figures until then.");
    }
    let (done, seconds) = (terminal::integer(report.ledger.succeeded()), report.elapsed.as_secs_f64());
    if report.ledger.succeeded() > 0 {
        let text = shown::verdict(prepared, report);
        let mut lines = text.lines();
        page.verdict(lines.next().unwrap_or_default());
        for advice in lines {
            page.paragraph(advice);
        }
    }
    page.paragraph(&format!("{done} transactions in {seconds:.1} s: {:.1} a second", report.rate()));
    for line in shown::costs(prepared, report).lines() {
        page.paragraph(line);
    }
    let troubles: Vec<_> =
        shown::troubles(report).map(|(name, count)| vec![terminal::integer(count), name.to_owned()]).collect();
    if !troubles.is_empty() {
        page.table(&["COUNT", "TRANSACTIONS"], &troubles);
    }
}

/// What was run, as it would have to be said to run it again.
fn facts(prepared: &PreparedLoad, report: &RunReport) -> Vec<Vec<String>> {
    let plan = &prepared.plan;
    let overload = match plan.overload {
        Overload::Queue(most) => format!("up to {} wait", terminal::integer(most as u64)),
        Overload::Drop => "dropped at once".to_owned(),
    };
    let facts = [
        ("target", prepared.name.clone()),
        ("server's version", prepared.version.clone().unwrap_or_default()),
        ("workload", prepared.workload_name.clone()),
        ("arrivals", shown::arrivals(plan)),
        ("transactions that find no connection", if shown::is_open(prepared) { overload } else { String::new() }),
        ("connections", plan.clients.to_string()),
        ("threads of the generator", report.threads.len().to_string()),
        ("measured for", terminal::duration(plan.duration)),
        ("after a warm-up of", if plan.warmup.is_zero() { String::new() } else { terminal::duration(plan.warmup) }),
        ("seed", plan.seed.to_string()),
        ("ended", now()),
        ("mh", env!("CARGO_PKG_VERSION").to_owned()),
    ];
    let facts = facts.into_iter().filter(|(_, value)| !value.is_empty());
    facts.map(|(name, value)| vec![name.to_owned(), value]).collect()
}

/// By the clock on the wall; empty if the clock is not set.
fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok();
    let at = since.and_then(|since| local(since.as_secs().cast_signed()));
    at.map_or_else(String::new, |at| {
        format!("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", at.year, at.month, at.day, at.hour, at.minute, at.second)
    })
}

fn statements(prepared: &PreparedLoad, report: &RunReport) -> Vec<Vec<String>> {
    let mut rows = shown::statement_rows(prepared, report);
    for text in rows.iter_mut().filter_map(|row| row.last_mut()) {
        *text = terminal::shorten_middle(text, STATEMENT_COLUMNS);
    }
    rows
}

/// Moments that are measured, and the unit of their times.
struct Course<'a> {
    moments: Vec<&'a LoadMoment>,
    unit_s: f64,
    label: &'static str,
}

impl<'a> Course<'a> {
    fn of(history: &'a History) -> Option<Self> {
        let moments: Vec<&LoadMoment> = history.moments().iter().filter(|moment| !moment.is_warmup).collect();
        let (unit_s, label) = match moments.last()?.at_s {
            172_800.0.. => (86_400.0, "time (days)"),
            7_200.0.. => (3600.0, "time (hours)"),
            180.0.. => (60.0, "time (minutes)"),
            _ => (1.0, "time (seconds)"),
        };
        Some(Self { moments, unit_s, label })
    }

    /// One value a moment; none is a gap.
    fn series(&self, name: &str, value: impl Fn(&LoadMoment) -> Option<f64>) -> Series {
        let point = |moment: &&LoadMoment| (moment.at_s / self.unit_s, value(moment).unwrap_or(f64::NAN));
        // A single point has no line.
        let marks = if self.moments.len() > 1 { Marks::Line } else { Marks::Dots };
        Series { marks, ..Series::line(name, self.moments.iter().map(point).collect()) }
    }

    fn axis(&self) -> Axis<'static> {
        Axis { label: self.label, scale: Scale::Linear }
    }
}

fn over_time(page: &mut HtmlPage, history: &History, has_times: bool) {
    let Some(course) = Course::of(history) else { return };
    page.heading("Over time");
    if history.intervals() > 1 {
        let joined = history.intervals();
        page.paragraph(&format!(
            "Each point is {joined} intervals; their percentiles are right to 3 %, and slip is the largest of them."
        ));
    }
    throughput(page, &course);
    if has_times {
        let percentiles = OVER_TIME
            .iter()
            .enumerate()
            .map(|(index, (name, _))| course.series(name, |moment| Some(milliseconds(moment.percentiles_ns?[index]))));
        let caption = "From when transactions were due until they were done.";
        figure(page, &course, ("Response time", "ms", Scale::Logarithmic), percentiles.collect(), caption);
    }
    let slip = vec![
        course.series("p99", |moment| Some(milliseconds(moment.slip_p99_ns))),
        course.series("longest", |moment| Some(milliseconds(moment.slip_max_ns))),
    ];
    let caption = "How late the generator sent what it could have sent. Response times contain it.";
    figure(page, &course, ("The generator's slip", "ms", Scale::Logarithmic), slip, caption);
    let cpu = course.series("CPU time a transaction", |moment| {
        let done = (moment.counts.done > 0).then_some(moment.counts.done as f64)?;
        Some(moment.cost?.cpu_ns as f64 / 1e3 / done)
    });
    let caption = "User and system time of all processes of the server.";
    figure(page, &course, ("The server's CPU time", "us a transaction", Scale::Linear), vec![cpu], caption);
    let memory = course.series("memory", |moment| Some(moment.cost?.memory_bytes? as f64 / 1e6));
    let caption = "Pages that processes of the server share count once.";
    figure(page, &course, ("The server's memory", "MB", Scale::Linear), vec![memory], caption);
}

fn throughput(page: &mut HtmlPage, course: &Course<'_>) {
    let has = |is: fn(&LoadMoment) -> bool| course.moments.iter().any(|moment| is(moment));
    let mut series = vec![course.series("done", |moment| Some(moment.a_second(moment.counts.done)))];
    if has(|moment| moment.counts.offered.is_some()) {
        series.push(course.series("offered", |moment| Some(moment.counts.offered? / moment.elapsed_s)));
    }
    if has(|moment| moment.counts.failed > 0) {
        series.push(course.series("failed", |moment| Some(moment.a_second(moment.counts.failed))));
    }
    if has(|moment| moment.counts.dropped > 0) {
        series.push(course.series("dropped", |moment| Some(moment.a_second(moment.counts.dropped))));
    }
    figure(
        page,
        course,
        ("Transactions a second", "a second", Scale::Linear),
        series,
        "Those that succeeded, and those that were due if a rate was asked for.",
    );
}

/// A figure if there is anything to be seen in it: a server elsewhere has neither CPU time nor memory.
fn figure(
    page: &mut HtmlPage,
    course: &Course<'_>,
    (title, unit, scale): (&str, &str, Scale),
    series: Vec<Series>,
    caption: &str,
) {
    let picture = Plot { title, x: course.axis(), y: Axis { label: unit, scale }, series };
    if let Ok(svg) = plot(&picture) {
        page.figure(&svg, caption);
    }
}

fn distribution(page: &mut HtmlPage, report: &RunReport) {
    let (response, service) = (report.ledger.response(), report.ledger.service());
    let series = vec![quantiles("response", &response), quantiles("service", &service)];
    let x = Axis { label: "share of the transactions that took no longer", scale: Scale::Percentile };
    let picture =
        Plot { title: "Distribution of times", x, y: Axis { label: "ms", scale: Scale::Logarithmic }, series };
    if let Ok(svg) = plot(&picture) {
        page.figure(
            &svg,
            "Each share is ten times as close to all as the one before, as in the plots of HdrHistogram.",
        );
    }
}

/// Up to the share of all but one.
fn quantiles(name: &str, distribution: &Distribution) -> Series {
    let last = 1.0 - 1.0 / distribution.count().max(1) as f64;
    let shares = report::quantiles().take_while(|share| *share <= last);
    let counts = distribution.histogram();
    Series::line(name, shares.map(|share| (share, milliseconds(counts.value_at_quantile(share)))).collect())
}

fn milliseconds(ns: u64) -> f64 {
    ns as f64 / 1e6
}
