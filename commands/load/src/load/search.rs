//! `mh load --find-max`: runs at one rate after the other, a line for each, and the highest rate that holds the goal.

use super::args::LoadArgs;
use super::plan::PreparedLoad;
use super::stopping::Stopping;
use super::study::{ended_by, rate_text, run_once, time_text, value_text};
use super::{GENERATOR_WAS_LIMIT, NAME, environment};
use ::load::arrivals::{ArrivalModel, RateProfile, Spacing, Think};
use ::load::goal::LatencyGoal;
use ::load::late::WhoWasLate;
use ::load::run::{LoadPlan, RunReport};
use ::load::search::{RateSearch, RateTrial, SearchAnswer, SearchStep, TrialVerdict};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome};
use mh_kit::report::{counted, json_line, print_as};
use serde::Serialize;
use std::fmt::Write;

/// The run that says where to begin.
#[derive(Serialize)]
struct FlatOutObject {
    kind: &'static str,
    done_per_s: f64,
    figures_s: Vec<f64>,
    is_generator: bool,
}

#[derive(Serialize)]
struct TrialObject<'a> {
    kind: &'static str,
    #[serde(flatten)]
    trial: &'a RateTrial,
}

#[derive(Serialize)]
struct SearchObject<'a> {
    kind: &'static str,
    target: &'a str,
    workload: &'a str,
    connections: usize,
    goal: String,
    runs: usize,
    run_s: f64,
    is_stopped: bool,
    #[serde(flatten)]
    answer: &'a SearchAnswer,
}

/// Where a search's lines go, and in which form.
struct SearchLines<'a> {
    goal: &'a LatencyGoal,
    is_json: bool,
}

/// How many transactions must lie beyond a percentile, so that it is more than chance.
const BEYOND_LEAST: f64 = 10.0;

/// Searches, and prints what was found.
pub fn find(
    context: &Context,
    args: &LoadArgs,
    prepared: &mut PreparedLoad,
    stopping: &Stopping,
    goal: &LatencyGoal,
) -> Result<Outcome, Failure> {
    let lines = SearchLines { goal, is_json: args.json };
    lines.heading()?;
    let flat_out = LoadPlan { arrivals: ArrivalModel::Closed(Think::default()), ..prepared.plan.clone() };
    let Some(report) = run_once(prepared, &flat_out, stopping)? else { return lines.stopped_before() };
    if let Some(error) = &report.error {
        return Ok(ended_by(context, prepared, error));
    }
    lines.flat_out(&report)?;
    let least = goal.transactions_least() / prepared.plan.duration.as_secs_f64();
    let mut search = RateSearch::new(report.rate() / 2.0, args.study.find_within / 100.0, least);
    let mut is_stopped = false;
    while let SearchStep::Run(rate) = search.next() {
        let plan = plan_at(&prepared.plan, args, rate, search.trials().len())?;
        let Some(report) = run_once(prepared, &plan, stopping)? else {
            is_stopped = true;
            break;
        };
        if let Some(error) = &report.error {
            return Ok(ended_by(context, prepared, error));
        }
        let trial = RateTrial::of(&report, rate, goal);
        lines.trial(&trial)?;
        search.add(trial);
    }
    conclude(context, prepared, &lines, &search, is_stopped)
}

/// A run at a rate; each has random numbers of its own, as runs that are all alike would share a mishap.
fn plan_at(plan: &LoadPlan, args: &LoadArgs, rate: f64, number: usize) -> Result<LoadPlan, Failure> {
    let rate = RateProfile::constant(rate).map_err(|error| environment(format!("could not run: {error}")))?;
    let spacing = Spacing::from(args.arrivals);
    let seed = plan.seed.wrapping_add(1 + number as u64);
    Ok(LoadPlan { arrivals: ArrivalModel::Open { rate, spacing }, seed, ..plan.clone() })
}

fn conclude(
    context: &Context,
    prepared: &PreparedLoad,
    lines: &SearchLines<'_>,
    search: &RateSearch,
    is_stopped: bool,
) -> Result<Outcome, Failure> {
    let answer = search.answer();
    let run_s = prepared.plan.duration.as_secs_f64();
    let text = match lines.is_json {
        true => json_line(&SearchObject {
            kind: "search",
            target: &prepared.name,
            workload: &prepared.workload_name,
            connections: prepared.plan.clients,
            goal: lines.goal.to_string(),
            runs: search.trials().len(),
            run_s,
            is_stopped,
            answer: &answer,
        }),
        false => format!("\n{}\n", sentence(lines.goal, &answer, search.trials().len(), is_stopped)),
    };
    print_as(NAME, &text)?;
    let count = (answer.rate_per_s.unwrap_or(0.0) * run_s) as u64;
    for limit in &lines.goal.limits {
        if limit.figure.beyond(count).is_some_and(|beyond| beyond < BEYOND_LEAST) && count > 0 {
            let few = format!(
                "{} of {} is chance: fewer than {BEYOND_LEAST} are slower; a longer --time makes it surer",
                limit.figure,
                counted(count, "transaction")
            );
            context.messages.warning(NAME, &few, &[]);
        }
    }
    Ok(match answer {
        answer if answer.is_generator => Outcome::Code(GENERATOR_WAS_LIMIT),
        SearchAnswer { rate_per_s: None, .. } => Outcome::Partial,
        _ => Outcome::Done,
    })
}

/// The answer in a sentence.
fn sentence(goal: &LatencyGoal, answer: &SearchAnswer, runs: usize, is_stopped: bool) -> String {
    let mut text = match answer.rate_per_s {
        Some(rate) => format!("{} a second hold {goal}", value_text(rate)),
        None => format!("No rate that was tried holds {goal}"),
    };
    if let (Some(low), Some(high)) = (answer.low_per_s, answer.high_per_s) {
        let _written = write!(text, " ({} to {})", value_text(low), value_text(high));
    }
    if let Some(above) = &answer.above {
        let _written = write!(text, "; at {} {}", value_text(above.rate_per_s), above_text(goal, above));
    }
    text.push('.');
    if is_stopped {
        let _written = write!(text, " Stopped after {}: not all was tried.", counted(runs as u64, "run"));
    } else if !answer.is_narrow && answer.rate_per_s.is_some() {
        let _written = write!(text, " Not narrower after {}: they differ too much.", counted(runs as u64, "run"));
    }
    if answer.is_generator {
        text.push_str(
            "\nThe server may do more: the generator was the limit above. More of its threads (-j), or another machine for it.",
        );
    }
    text
}

/// Why a rate did not hold, behind "at RATE".
fn above_text(goal: &LatencyGoal, trial: &RateTrial) -> String {
    let missed = goal.limits.iter().zip(&trial.figures_s).find(|(limit, figure)| **figure >= limit.below_s);
    match (trial.verdict, missed) {
        (TrialVerdict::Late, Some((limit, figure))) if goal.limits.len() > 1 => {
            format!("{} was {}", limit.figure, time_text(Some(*figure)))
        }
        (TrialVerdict::Late | TrialVerdict::Holds, missed) => {
            format!("it was {}", time_text(missed.map(|(_, figure)| *figure)))
        }
        (TrialVerdict::NotKept, _) => format!("only {} were done", rate_text(trial.done_per_s)),
        (TrialVerdict::Dropped, _) => "transactions were dropped".to_owned(),
        (TrialVerdict::Failed, _) => "transactions failed".to_owned(),
        (TrialVerdict::Generator, _) => "the generator was the limit".to_owned(),
    }
}

impl SearchLines<'_> {
    fn heading(&self) -> Result<(), Failure> {
        if self.is_json {
            return Ok(());
        }
        let mut text = format!("{:>12} {:>12}", "RATE", "DONE/s");
        for limit in &self.goal.limits {
            let _written = write!(text, " {:>10}", limit.figure.to_string());
        }
        print_as(NAME, &format!("{text}\n"))
    }

    fn flat_out(&self, report: &RunReport) -> Result<(), Failure> {
        let is_generator = matches!(report.late, WhoWasLate::Generator { .. });
        let figures_s = if is_generator { Vec::new() } else { self.goal.figures(&report.ledger.response()) };
        let text = match self.is_json {
            true => json_line(&FlatOutObject { kind: "flat-out", done_per_s: report.rate(), figures_s, is_generator }),
            false => self.line("flat out", report.rate(), &figures_s, if is_generator { GENERATOR } else { "" }),
        };
        print_as(NAME, &text)
    }

    fn trial(&self, trial: &RateTrial) -> Result<(), Failure> {
        let text = match self.is_json {
            true => json_line(&TrialObject { kind: "trial", trial }),
            false => self.line(
                &value_text(trial.rate_per_s),
                trial.done_per_s,
                &trial.figures_s,
                verdict_text(trial.verdict),
            ),
        };
        print_as(NAME, &text)
    }

    fn line(&self, rate: &str, done_per_s: f64, figures_s: &[f64], verdict: &str) -> String {
        let mut text = format!("{rate:>12} {:>12}", rate_text(done_per_s));
        for index in 0..self.goal.limits.len() {
            let _written = write!(text, " {:>10}", time_text(figures_s.get(index).copied()));
        }
        format!("{}\n", format!("{text}  {verdict}").trim_end())
    }

    fn stopped_before(&self) -> Result<Outcome, Failure> {
        Err(environment("could not search: it was stopped before the first run ended".to_owned()))
    }
}

/// What a run's line says where its times are the generator's.
pub const GENERATOR: &str = "the generator was the limit";

fn verdict_text(verdict: TrialVerdict) -> &'static str {
    match verdict {
        TrialVerdict::Holds => "holds",
        TrialVerdict::Late => "too slow",
        TrialVerdict::NotKept => "rate not kept",
        TrialVerdict::Dropped => "transactions dropped",
        TrialVerdict::Failed => "transactions failed",
        TrialVerdict::Generator => GENERATOR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(rate_per_s: f64, figure_s: f64, verdict: TrialVerdict) -> RateTrial {
        RateTrial { rate_per_s, done_per_s: 1790.4, figures_s: vec![0.001, figure_s], verdict }
    }

    fn answer(above: RateTrial) -> SearchAnswer {
        SearchAnswer {
            rate_per_s: Some(1840.0),
            low_per_s: Some(1810.0),
            high_per_s: Some(1860.0),
            is_generator: above.verdict == TrialVerdict::Generator,
            above: Some(above),
            is_narrow: true,
        }
    }

    #[test]
    fn the_answer_is_a_sentence() {
        let goal: LatencyGoal = "p50<5ms,p99<10ms".parse().expect("a goal");
        let said = sentence(&goal, &answer(trial(1860.0, 0.0121, TrialVerdict::Late)), 12, false);
        assert_eq!(said, "1,840 a second hold p50 < 5 ms, p99 < 10 ms (1,810 to 1,860); at 1,860 p99 was 12.1 ms.");
        let said = sentence(&goal, &answer(trial(1860.0, 0.5, TrialVerdict::NotKept)), 12, true);
        assert!(said.contains("at 1,860 only 1,790 were done. Stopped after 12 runs"), "{said}");
        let said = sentence(&goal, &answer(trial(1860.0, 0.5, TrialVerdict::Generator)), 12, false);
        assert!(said.contains("The server may do more"), "{said}");
        let none = SearchAnswer { rate_per_s: None, low_per_s: None, ..answer(trial(0.1, 0.5, TrialVerdict::Late)) };
        let said = sentence(&goal, &none, 12, false);
        assert_eq!(said, "No rate that was tried holds p50 < 5 ms, p99 < 10 ms; at 0.1000 p99 was 500 ms.");
    }
}
