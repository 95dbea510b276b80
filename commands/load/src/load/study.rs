//! What studies of several runs share: one quiet run, and how rates and times are written in their lines.

use super::plan::PreparedLoad;
use super::stopping::Stopping;
use super::{HINT_PREPARE, NAME, environment};
use ::load::run::{IntervalReport, LoadPlan, RunReport, Watcher, run as run_load};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome};
use std::time::Duration;

/// Nothing is shown while a run goes on.
struct QuietWatcher<'a>(&'a Stopping);

impl Watcher for QuietWatcher<'_> {
    fn interval(&mut self, _report: &IntervalReport<'_>) -> bool {
        true
    }

    fn wants_to_stop(&mut self) -> bool {
        self.0.is_wanted()
    }
}

/// One run of a study; none if the user ended it.
pub fn run_once(
    prepared: &mut PreparedLoad,
    plan: &LoadPlan,
    stopping: &Stopping,
) -> Result<Option<RunReport>, Failure> {
    if stopping.is_wanted() {
        return Ok(None);
    }
    let mut watcher = QuietWatcher(stopping);
    let run = run_load(plan, &prepared.target, &*prepared.workload, prepared.meter.as_mut(), &mut watcher);
    match run {
        Ok(report) if report.is_stopped => Ok(None),
        Err(_) if stopping.is_wanted() => Ok(None),
        run => run.map(Some).map_err(environment),
    }
}

/// Reports an error that ended a run, and with it the study.
pub fn ended_by(context: &Context, prepared: &PreparedLoad, error: &str) -> Outcome {
    let hints = if prepared.has_tables { vec![HINT_PREPARE.to_owned()] } else { Vec::new() };
    context.messages.refusal(NAME, &format!("the run ended early: {error}"), &hints);
    Outcome::Partial
}

/// A rate as it is written: with separators if it is large, with four digits otherwise.
pub fn rate_text(per_second: f64) -> String {
    if per_second >= 999.5 { terminal::integer(per_second.round() as u64) } else { terminal::four_digits(per_second) }
}

/// A value as it was typed, or a rate that was chosen.
pub fn value_text(value: f64) -> String {
    if value.fract() == 0.0 && value < 1e15 { terminal::integer(value as u64) } else { rate_text(value) }
}

/// A time; `-` if there is none.
pub fn time_text(seconds: Option<f64>) -> String {
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.map_or_else(|| "-".to_owned(), terminal::duration)
}
