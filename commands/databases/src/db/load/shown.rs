//! The last words of a load: how many rows are in, or why not all and what is kept, to the line.

use super::NAME;
use super::plan::LoadJob;
use super::rejected::KeptRejects;
use super::report::{LoadEnd, bytes_of};
use database::chunks::RowPlace;
use database::error::LoadFailure;
use database::load::{Commit, LoadedRange};
use mh_kit::context::Context;
use mh_kit::failure::{Outcome, with_causes};
use mh_kit::report::counted;
use terminal::integer;

/// The exit code of a run that a signal ended, less the signal's number.
const BY_SIGNAL: i32 = 128;

/// Prints it, and decides the exit code.
pub fn conclude(context: &Context, end: &LoadEnd<'_>, rejects: Option<&KeptRejects>, signal: Option<i32>) -> Outcome {
    let (job, outcome) = (end.job, end.outcome);
    let Some(error) = &outcome.error else {
        context.messages.note(NAME, &success(end));
        return tell_rejects(context, end, rejects);
    };
    let what = format!("load into {}", job.target.facts.sql_name);
    let mut hints = vec![kept(job, &outcome.committed)];
    if !outcome.unknown.is_empty() {
        let ranges = ranges(job, &outcome.unknown);
        hints
            .push(format!("the connection broke when the server was asked to commit {ranges}: these may be in or not"));
    }
    hints.extend(advice(job, error));
    context.messages.error(NAME, &format!("{what}: {}", cause(job, error)), &hints);
    let _same_code = tell_rejects(context, end, rejects);
    match (error, signal) {
        (LoadFailure::Interrupted, Some(signal)) => Outcome::Code(u8::try_from(BY_SIGNAL + signal).unwrap_or(1)),
        _ => Outcome::Partial,
    }
}

fn success(end: &LoadEnd<'_>) -> String {
    let (job, outcome) = (end.job, end.outcome);
    let before: u64 = outcome.done_before.iter().map(|range| range.rows).sum();
    let before = if before > 0 { format!("; {} by a run before", counted(before, "row")) } else { String::new() };
    let rows = counted(outcome.rows, "row");
    let bytes = terminal::bytes(bytes_of(&outcome.committed));
    let name = terminal::printable(&job.target.facts.name);
    format!("{name}: {rows} of {bytes} in {}{before}", terminal::duration(outcome.clocks.wall))
}

fn tell_rejects(context: &Context, end: &LoadEnd<'_>, rejects: Option<&KeptRejects>) -> Outcome {
    let Some(rejects) = rejects.filter(|_| end.outcome.rejected > 0) else { return Outcome::Done };
    let first = rejects.first.as_deref().unwrap_or_default();
    let count = counted(end.outcome.rejected, "row");
    let kept = match rejects.count {
        count if count == end.outcome.rejected => "they are".to_owned(),
        count => format!("the first {} are", integer(count)),
    };
    let files =
        format!("{kept} in {}, their causes in {}", terminal::quote(&rejects.path), terminal::quote(&rejects.log_path));
    let text = format!("{count} refused, the first: {}", terminal::printable(first));
    context.messages.refusal(NAME, &text, &[files]);
    Outcome::Partial
}

/// Why, with the place in the file.
fn cause(job: &LoadJob, error: &LoadFailure) -> String {
    let at = |place: &RowPlace| {
        let name = job.names.get(place.input).map_or("-", String::as_str);
        format!("{}, line {}, byte {}", terminal::quote(name), integer(place.line), integer(place.offset))
    };
    match error {
        LoadFailure::Input { place, defect } => format!("{}: {defect}", at(place)),
        LoadFailure::Row { place, message } => format!("{}: {message}", at(place)),
        LoadFailure::Rows { from, last_line, message } => {
            format!("a row of {} to line {}: {message}", at(from), integer(*last_line))
        }
        LoadFailure::Read { input, cause } => {
            let name = job.names.get(*input).map_or("-", String::as_str);
            format!("could not read {}: {}", terminal::quote(name), with_causes(cause))
        }
        LoadFailure::RejectFile(error) => format!("could not write refused rows: {}", with_causes(error)),
        other => other.to_string(),
    }
}

/// What is in the table.
fn kept(job: &LoadJob, committed: &[LoadedRange]) -> String {
    let rows: u64 = committed.iter().map(|range| range.rows).sum();
    match rows {
        0 => "no row was kept".to_owned(),
        rows => format!("{} are kept: {}", counted(rows, "row"), ranges(job, committed)),
    }
}

/// LIMIT: ranges that are listed; all of them are in --report=json.
const RANGES_MAX: usize = 6;

fn ranges(job: &LoadJob, ranges: &[LoadedRange]) -> String {
    let one = |range: &LoadedRange| {
        let name = job.names.get(range.input).map_or("-", String::as_str);
        format!("lines {} to {} of {}", integer(range.first_line), integer(range.last_line()), terminal::quote(name))
    };
    let mut listed: Vec<String> = ranges.iter().take(RANGES_MAX).map(one).collect();
    if ranges.len() > RANGES_MAX {
        listed.push(format!("{} more (--report=json)", ranges.len() - RANGES_MAX));
    }
    listed.join(", ")
}

fn advice(job: &LoadJob, error: &LoadFailure) -> Option<String> {
    match error {
        LoadFailure::Row { .. } | LoadFailure::Rows { .. } if job.commit == Commit::AtTheEnd => {
            Some("--reject FILE puts refused rows aside and loads the others".to_owned())
        }
        LoadFailure::Rejects { .. } => Some("--reject-limit N allows more".to_owned()),
        LoadFailure::OwnLock(_) => Some(
            "rows with the same key, or a row that all of them change, make connections wait: -j1 or --reject"
                .to_owned(),
        ),
        // It would come to the same row again.
        LoadFailure::Row { .. } | LoadFailure::Rows { .. } | LoadFailure::Input { .. } => None,
        _ if job.sources.is_some() => Some("the same command goes on from there".to_owned()),
        _ => None,
    }
}
