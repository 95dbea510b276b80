//! Hosts side by side: a line a figure, a column a host, and marks where one lies apart from the others. Pure.

use super::FleetRow;
use super::columns::{COLUMNS, COUNT, FleetFigures};
use super::fold::apart;
use super::rows::state_text;
use crate::sysstat::line::{TintedLine, age, count, percent, size};
use observe::host::fields::*;
use observe::host::interval::HostInterval;
use observe::host::recording::HostFacts;
use terminal::Tint;

/// Columns of a figure's name, and of each host at least.
const NAME: usize = 22;
const HOST_LEAST: usize = 11;
const HOST_MOST: usize = 24;

/// What is known of a host that no row has.
struct Standing {
    name: &'static str,
    text: fn(&HostFacts, &HostInterval<'_>) -> String,
}

/// What hosts of one kind should have in common.
const STANDING: [Standing; 8] = [
    Standing { name: "kernel", text: |facts, _| terminal::printable(&facts.kernel).into_owned() },
    Standing { name: "mh", text: |facts, _| terminal::printable(&facts.version).into_owned() },
    Standing { name: "cpus", text: |_, interval| gauge(interval, CPUS_ONLINE, |cpus| cpus.to_string()) },
    Standing { name: "memory", text: |_, interval| gauge(interval, MEM_TOTAL, size) },
    Standing { name: "swap", text: |_, interval| gauge(interval, SWAP_TOTAL, size) },
    Standing { name: "up", text: |_, interval| gauge(interval, UPTIME, |ns| age(ns as f64 / 1e9)) },
    Standing { name: "processes", text: |_, interval| count(f64::from(interval.later.rest.count)) },
    Standing { name: "fullest file system %", text: |_, interval| fullest(interval) },
];

fn gauge(interval: &HostInterval<'_>, field: FieldId, text: impl Fn(u64) -> String) -> String {
    interval.gauge(field).map_or_else(|| "-".to_owned(), text)
}

fn fullest(interval: &HostInterval<'_>) -> String {
    let of = |(instance, _)| observe::host::verdict::file_system_use(interval, instance);
    let fullest = interval
        .instances(FS_SIZE)
        .filter_map(of)
        .fold(None, |most: Option<f64>, used| Some(most.map_or(used, |most| most.max(used))));
    fullest.map_or_else(|| "-".to_owned(), percent)
}

/// How many hosts stand side by side on a screen of this width.
pub fn hosts_that_fit(width: usize) -> usize {
    (width.saturating_sub(NAME) / HOST_LEAST).max(1)
}

/// The lines for `hosts`, of which those that do not fit are counted.
pub fn lines(hosts: &[&FleetRow], width: usize) -> Vec<TintedLine> {
    let fit = hosts.len().min(hosts_that_fit(width));
    let (shown, left_out) = hosts.split_at(fit);
    let each = (width.saturating_sub(NAME) / fit.max(1)).clamp(HOST_LEAST, HOST_MOST);
    let cell = |text: &str| format!(" {:>width$}", terminal::shorten_middle(text, each - 2), width = each - 1);
    let row = |name: &str, texts: Vec<String>| {
        texts.iter().fold(TintedLine::of(format!("{name:<NAME$}")), |line, text| line.and(cell(text)))
    };
    let names = shown.iter().map(|host| cell(&terminal::printable(&host.name))).collect::<String>();
    let title = if left_out.is_empty() { "compared".to_owned() } else { format!("{} more do not fit", left_out.len()) };
    let mut lines = vec![TintedLine::tinted(format!("{title:<NAME$}{names}"), Tint::Bold)];
    lines.push(shown.iter().fold(TintedLine::of(format!("{:<NAME$}", "state")), |line, host| {
        let (text, tint) = state_text(host);
        line.and_tinted(cell(&text), Some(tint))
    }));
    let figures: Vec<&FleetFigures> = shown.iter().map(|host| &host.judged.figures).collect();
    lines.extend((0..COUNT).map(|at| figure_line(&figures, at, each)));
    for standing in &STANDING {
        let text = |host: &&FleetRow| {
            let session = host.host.session.lock();
            (standing.text)(&session.facts, &session.latest().interval())
        };
        let texts: Vec<String> = shown.iter().map(text).collect();
        let differ = texts.iter().any(|text| Some(text) != texts.first());
        let is_kind = matches!(standing.name, "kernel" | "mh" | "cpus" | "memory" | "swap");
        let line = row(standing.name, texts);
        lines.push(if differ && is_kind { line.and_tinted("  differ", Some(Tint::Unusual)) } else { line });
    }
    lines
}

fn figure_line(figures: &[&FleetFigures], at: usize, each: usize) -> TintedLine {
    let name = TintedLine::of(format!("{:<NAME$}", COLUMNS[at].name));
    let all = figures.iter().zip(apart(figures, at));
    all.fold(name, |line, (figures, deviation)| {
        line.and_figure(format!("{:>each$}", figures.text(at)), figures.limit(at), deviation)
    })
}
