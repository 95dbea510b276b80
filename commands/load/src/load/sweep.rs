//! `mh load --sweep`: a run for each number of connections, or each rate, a line for each, and what throughput follows.

use super::args::LoadArgs;
use super::html::SweepPage;
use super::plan::PreparedLoad;
use super::search::GENERATOR;
use super::stopping::Stopping;
use super::study::{ended_by, rate_text, run_once, time_text, value_text};
use super::{GENERATOR_WAS_LIMIT, NAME, environment};
use crate::page_target::PageTarget;
use ::load::arrivals::{ArrivalModel, RateProfile, Spacing};
use ::load::run::LoadPlan;
use ::load::session::SqlDialect;
use ::load::statistics::IntervalEstimate;
use ::load::statistics::knee::KneeFit;
use ::load::statistics::scalability::{Peak, UslFit};
use ::load::sweep::{SweepAxis, SweepLaw, SweepPlan, SweepPoint, SweepReport, SweepRun};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome};
use mh_kit::report::{json_line, print_as};
use serde::Serialize;
use std::fmt::Write;
use terminal::{Align, TextTable};

#[derive(Serialize)]
struct SweepRunObject<'a> {
    kind: &'static str,
    #[serde(flatten)]
    run: &'a SweepRun,
}

#[derive(Serialize)]
struct SweepObject<'a> {
    kind: &'static str,
    target: &'a str,
    workload: &'a str,
    run_s: f64,
    rounds: usize,
    is_stopped: bool,
    #[serde(flatten)]
    report: &'a SweepReport,
}

/// Runs that were made, and why there are no more.
#[derive(Default)]
struct SweptRuns {
    runs: Vec<SweepRun>,
    is_stopped: bool,
    /// Why a run could not begin or ended early.
    error: Option<String>,
}

/// Sweeps, prints what was found and writes its page if there is to be one.
pub fn sweep(
    context: &Context,
    args: &LoadArgs,
    prepared: &mut PreparedLoad,
    stopping: &Stopping,
    page: Option<&PageTarget>,
) -> Result<Outcome, Failure> {
    let Some(plan) = &args.study.sweep else { return Ok(Outcome::Done) };
    let rounds = args.study.rounds as usize;
    let swept = run_all(args, prepared, stopping, plan)?;
    if let (Some(error), true) = (&swept.error, swept.runs.is_empty()) {
        return Ok(ended_by(context, prepared, error));
    }
    let think_s = args.think.as_secs_f64();
    let report = SweepReport::new(plan.axis, !super::shown::is_open(prepared), think_s, &swept.runs);
    let text = conclusion(&report, rounds);
    let data = json_line(&SweepObject {
        kind: "sweep",
        target: &prepared.name,
        workload: &prepared.workload_name,
        run_s: prepared.plan.duration.as_secs_f64(),
        rounds,
        is_stopped: swept.is_stopped,
        report: &report,
    });
    print_as(NAME, if args.json { &data } else { &text })?;
    if let Some(page) = page {
        let ended_early = match &swept.error {
            Some(error) => Some(format!("It ended early: {error}")),
            None => swept.is_stopped.then(|| "It was interrupted; these are its figures until then.".to_owned()),
        };
        let sheet = SweepPage { prepared, report: &report, rounds, data: &data, ended_early };
        page.write(&sheet.page()).map_err(environment)?;
    }
    if swept.is_stopped {
        let all = rounds * plan.values.len();
        context.messages.note(NAME, &format!("stopped after {} of {all} runs", swept.runs.len()));
    }
    if let Some(error) = &swept.error {
        return Ok(ended_by(context, prepared, error));
    }
    let all_spoiled = !report.points.is_empty() && report.points.iter().all(|point| point.is_generator);
    Ok(if all_spoiled { Outcome::Code(GENERATOR_WAS_LIMIT) } else { Outcome::Done })
}

/// What was measured before an error is worth its report: a server that takes 100 connections says so at the 101st.
fn run_all(
    args: &LoadArgs,
    prepared: &mut PreparedLoad,
    stopping: &Stopping,
    plan: &SweepPlan,
) -> Result<SweptRuns, Failure> {
    let mut swept = SweptRuns::default();
    if !args.json {
        print_as(NAME, &heading(plan.axis))?;
    }
    for (round, value) in plan.runs(args.study.rounds as usize) {
        let seed = prepared.plan.seed.wrapping_add(swept.runs.len() as u64);
        let plan_here = LoadPlan { seed, ..plan_at(args, prepared, plan.axis, value)? };
        let report = match run_once(prepared, &plan_here, stopping) {
            Ok(Some(report)) => report,
            Ok(None) => {
                swept.is_stopped = true;
                return Ok(swept);
            }
            Err(Failure::Environment { message, .. }) => {
                swept.error = Some(format!("at {}: could not {message}", value_text(value)));
                return Ok(swept);
            }
            Err(failure) => return Err(failure),
        };
        if let Some(error) = report.error {
            swept.error = Some(format!("at {}: {error}", value_text(value)));
            return Ok(swept);
        }
        let run = SweepRun::of(&report, value, round);
        let text = match args.json {
            true => json_line(&SweepRunObject { kind: "sweep-run", run: &run }),
            false => line(&run),
        };
        print_as(NAME, &text)?;
        swept.runs.push(run);
    }
    Ok(swept)
}

fn plan_at(args: &LoadArgs, prepared: &PreparedLoad, axis: SweepAxis, value: f64) -> Result<LoadPlan, Failure> {
    let plan = prepared.plan.clone();
    Ok(match axis {
        SweepAxis::Connections => {
            let clients = value as usize;
            // In this process a statement keeps its thread until it is answered.
            let is_embedded = prepared.target.dialect() == SqlDialect::Sqlite;
            LoadPlan { clients, threads: if is_embedded { clients } else { plan.threads }, ..plan }
        }
        SweepAxis::Rate => {
            let rate = RateProfile::constant(value).map_err(|error| environment(format!("could not run: {error}")))?;
            LoadPlan { arrivals: ArrivalModel::Open { rate, spacing: Spacing::from(args.arrivals) }, ..plan }
        }
    })
}

fn heading(axis: SweepAxis) -> String {
    let value = axis.name().to_uppercase();
    format!(
        "{:>78}\n{value:>11} {:>9} {:>8} {:>8} {:>8} {:>10} {:>8} {:>9}\n",
        "PER TRANSACTION", "DONE/s", "p50", "p95", "p99", "SERVER CPU", "SWITCHES", "GENERATOR"
    )
}

fn line(run: &SweepRun) -> String {
    let mut text = format!(
        "{:>11} {:>9} {:>8} {:>8} {:>8} {:>10} {:>8} {:>9}",
        value_text(run.value),
        rate_text(run.transactions_per_s),
        time_text(run.p50_s),
        time_text(run.p95_s),
        time_text(run.p99_s),
        time_text(run.server_cpu_s),
        switches_text(run.server_switches),
        time_text(Some(run.generator_cpu_s)),
    );
    if run.is_generator {
        let _written = write!(text, "  {GENERATOR}");
    }
    if run.failed > 0 {
        let _written = write!(text, "  {} failed or dropped", terminal::integer(run.failed));
    }
    text + "\n"
}

fn switches_text(switches: Option<f64>) -> String {
    switches.map_or_else(|| "-".to_owned(), |switches| format!("{switches:.1}"))
}

/// Medians if there were several rounds, and the law in words.
pub fn conclusion(report: &SweepReport, rounds: usize) -> String {
    let mut text = String::new();
    if rounds > 1 {
        let _written = write!(text, "\n{}", medians(report));
    }
    if let Some(law) = &report.law {
        let _written = write!(text, "\n{}", law_text(law, report));
    }
    let spoiled = report.points.iter().filter(|point| point.is_generator).count();
    if spoiled > 0 {
        let _written = writeln!(
            text,
            "At {} of {} values the generator was the limit: more of its threads (-j), or another machine for it.",
            spoiled,
            report.points.len()
        );
    }
    text
}

const MEDIANS: [Align; 10] = [Align::Right; 10];
/// Names of the columns of [`point_row`] behind the first.
pub const POINT_HEADS: [&str; 9] =
    ["DONE/s", "BETWEEN", "AND", "p50", "p95", "p99", "SERVER CPU", "SWITCHES", "GENERATOR"];

fn medians(report: &SweepReport) -> String {
    // On a narrow terminal others than throughput and its bounds go first.
    let mut table = TextTable::new(&MEDIANS).no_wider_than(terminal::standard_output_columns()).dropping(&[4, 9, 8, 5]);
    let value = report.axis.name().to_uppercase();
    table.row(std::iter::once(value.as_str()).chain(POINT_HEADS));
    report.points.iter().for_each(|point| table.row(point_row(point)));
    format!("Medians of all rounds:\n{table}")
}

/// The figures of one value.
pub fn point_row(point: &SweepPoint) -> [String; 10] {
    let rate = point.transactions_per_s;
    [
        value_text(point.value),
        rate_text(rate.value),
        rate_text(rate.low),
        rate_text(rate.high),
        time_text(point.p50_s),
        time_text(point.p95_s),
        time_text(point.p99_s),
        time_text(point.server_cpu_s),
        switches_text(point.server_switches),
        time_text(Some(point.generator_cpu_s)),
    ]
}

fn law_text(law: &SweepLaw, report: &SweepReport) -> String {
    match law {
        SweepLaw::Scalability(fit) => scalability_text(fit),
        SweepLaw::Knee(fit) => knee_text(fit, report.think_s),
        SweepLaw::None { reason } if report.think_s > 0.0 => format!("No knee is given: {reason}.\n"),
        SweepLaw::None { reason } => format!("No law of scalability is given: {reason}.\n"),
    }
}

/// LIMIT: below, the law does not describe what was measured.
const FITS_LEAST: f64 = 0.9;

fn scalability_text(fit: &UslFit) -> String {
    let mut text = format!(
        "Universal Scalability Law, by connections:\n  gamma  {}: what one does a second\n  \
         alpha  {}: contention\n  beta   {}: coherency\n",
        between(&fit.gamma, rate_text),
        between(&fit.alpha, terminal::four_digits),
        between(&fit.beta, terminal::four_digits),
    );
    let _written = writeln!(text, "{}", peak_text(fit));
    if fit.r_squared < FITS_LEAST {
        let _written = writeln!(text, "{}", doubt_text(fit));
    }
    text
}

fn peak_text(fit: &UslFit) -> String {
    match &fit.peak {
        Peak::At { load, throughput } => format!(
            "Throughput is highest at {} connections: {} a second.",
            between(load, |load| format!("{load:.0}")),
            rate_text(*throughput)
        ),
        Peak::BeyondData => "No peak is given: by the law it lies beyond the most connections measured.".to_owned(),
        Peak::TooFewPoints => "No peak is given: it takes six numbers of connections.".to_owned(),
        Peak::None => "No peak is given: by the law throughput never falls.".to_owned(),
    }
}

fn doubt_text(fit: &UslFit) -> String {
    let explained = terminal::percentage_whole(fit.r_squared);
    format!("The law explains only {explained} of the differences: do not rely on it.")
}

/// The sentence that a reader in a hurry needs, which is a line of [`conclusion`], too; none where there is no law.
pub fn sentence(report: &SweepReport) -> Option<String> {
    match report.law.as_ref()? {
        SweepLaw::Scalability(fit) if fit.r_squared < FITS_LEAST => Some(doubt_text(fit)),
        SweepLaw::Scalability(fit) => Some(peak_text(fit)),
        law => law_text(law, report).lines().next().map(str::to_owned),
    }
}

fn knee_text(fit: &KneeFit, think_s: f64) -> String {
    let response_s = 1.0 / fit.slope.value - think_s;
    format!(
        "The knee is at {} users.\n\
         Below it, each user who thinks for {} adds transactions.\n\
         Above it, all share {} a second.\n\
         Below it, a transaction takes {}.\n",
        between(&fit.load, |load| format!("{load:.0}")),
        time_text(Some(think_s)),
        between(&fit.plateau, rate_text),
        time_text(Some(response_s.max(0.0))),
    )
}

/// A value with its bounds.
fn between(estimate: &IntervalEstimate, shown: impl Fn(f64) -> String) -> String {
    let high = if estimate.high.is_finite() { shown(estimate.high) } else { "more than measured".to_owned() };
    format!("{} ({} to {high})", shown(estimate.value), shown(estimate.low))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::load::statistics::scalability::UslParameters;

    fn estimate(value: f64) -> IntervalEstimate {
        IntervalEstimate { value, low: value * 0.9, high: value * 1.1 }
    }

    #[test]
    fn the_law_is_told_in_words() {
        let parameters = UslParameters { gamma: 4210.0, alpha: 0.021, beta: 0.0001 };
        let fit = UslFit {
            parameters,
            gamma: estimate(4210.0),
            alpha: estimate(0.021),
            beta: estimate(0.0001),
            r_squared: 0.99,
            peak: Peak::At { load: IntervalEstimate { high: f64::INFINITY, ..estimate(99.0) }, throughput: 51_200.0 },
        };
        let text = scalability_text(&fit);
        assert!(text.contains("gamma  4,210 (3,789 to 4,631): what one does a second"), "{text}");
        assert!(text.contains("highest at 99 (89 to more than measured) connections: 51,200 a second."), "{text}");
        let poor = UslFit { peak: Peak::BeyondData, r_squared: 0.42, ..fit };
        let text = scalability_text(&poor);
        assert!(text.contains("No peak is given") && text.contains("explains only 42 %"), "{text}");
    }

    #[test]
    fn the_knee_is_told_in_words() {
        let fit = KneeFit { slope: estimate(1.0 / 0.202), plateau: estimate(3000.0), load: estimate(606.0) };
        let text = knee_text(&fit, 0.2);
        assert!(
            text.starts_with("The knee is at 606 (545 to 667) users.\nBelow it, each user who thinks for 200 ms"),
            "{text}"
        );
        assert!(text.contains("all share 3,000 (2,700 to 3,300) a second"), "{text}");
        assert!(text.contains("a transaction takes 2 ms"), "{text}");
    }
}
