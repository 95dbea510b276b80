//! `mh tamp -l`: what compressed files hold. Headers tell most of it; a file that does not tell its size is decoded to nowhere,
//! so that the figures are true (gzip's own trailer gives the size of the last member modulo 4 GiB).

use super::manners::Event;
use super::plan::{Direction, Job};
use super::{NAME, input_name};
use codec::admission::BehindTheEnd;
use codec::decompress::{Decompression, decompress};
use codec::error::CodecError;
use codec::lane::{Lane, LaneInput, LaneOutcome};
use codec::list::{HeaderSurvey, survey};
use crew::budget::{Budget, InProcess, Request, Weight};
use crew::tally::Tally;
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome, with_causes};
use mh_kit::report::print;
use parking_lot::Mutex;
use serde::Serialize;
use terminal::{Align, TextTable};

/// One line of the list.
#[derive(Debug, Serialize)]
pub struct Row {
    /// As it was given; `-` is standard input.
    pub name: String,
    /// The format's name.
    pub format: &'static str,
    /// Size of the compressed file.
    pub packed_bytes: u64,
    /// Size of what is in it; none where only decoding tells, for which a window or a dictionary is missing.
    pub plain_bytes: Option<u64>,
    /// Share saved, 0 to 1; negative when the compressed file is larger.
    saved: Option<f64>,
    /// The check that its units carry.
    pub check: &'static str,
    /// Members or frames.
    pub units: u64,
    /// Skippable frames beside those.
    pub skipped: u64,
    parallel: bool,
}

/// Lists all files of the job.
pub fn list(context: &Context, job: &Job, json: bool) -> Result<Outcome, Failure> {
    let Direction::Decompress { limits } = &job.direction else {
        unreachable!("-l is planned as decompression");
    };
    let mut rows = Vec::new();
    let mut failed = job.left_alone;
    for lane in &job.lanes {
        let listed = survey(&lane.input, job.manners.admission.formats).and_then(|survey| {
            match survey.plain_bytes {
                Some(plain_bytes) => Ok((survey.units, Some(plain_bytes), survey)),
                None => match decode(context, job, lane) {
                    Ok((units, plain_bytes)) => Ok((units, Some(plain_bytes), survey)),
                    // Nothing is wrong with it, and the unit that does not tell its size is one.
                    Err(error @ CodecError::Damaged { .. }) if !error.is_damage() => {
                        Ok((survey.units + u64::from(survey.is_streamed), None, survey))
                    }
                    Err(error) => Err(error),
                },
            }
        });
        match listed {
            Ok((units, plain_bytes, survey)) => {
                rows.push(row(lane, units, plain_bytes, &survey, survey.is_parallel(limits)));
            }
            Err(error) => {
                failed += 1;
                let (input, output, way) = (&lane.input, &lane.output, job.way);
                let is_told = job.manners.admission.behind_the_end == BehindTheEnd::Told;
                let event = match &error {
                    CodecError::TrailingGarbage { .. } if is_told => Event::LeftUnread { input, error: &error },
                    error => Event::Failed { input, output, error, way },
                };
                if !job.manners.say(context, &event) {
                    let message = format!("list {}: {}", input_name(input), with_causes(&error));
                    context.messages.error(NAME, &message, &[]);
                }
            }
        }
    }
    let text = match job.manners.lists {
        Some(lists) => lists(&rows, job.lanes.len() + job.left_alone),
        None if json => as_json(&rows),
        // A heading above nothing tells nothing.
        None if rows.is_empty() => String::new(),
        None => as_table(&rows),
    };
    print(&text)?;
    if job.manners.voice.is_some() {
        return Ok(Outcome::Code(job.manners.codes.worst()));
    }
    Ok(if failed == 0 { Outcome::Done } else { Outcome::Partial })
}

fn row(lane: &Lane, units: u64, plain_bytes: Option<u64>, survey: &HeaderSurvey, parallel: bool) -> Row {
    Row {
        name: match &lane.input {
            LaneInput::Stdin => "-".to_owned(),
            LaneInput::Path(path) => path.to_string_lossy().into_owned(),
        },
        format: survey.format,
        packed_bytes: survey.packed_bytes,
        plain_bytes,
        saved: plain_bytes.map(|plain_bytes| match plain_bytes {
            0 => 0.0,
            _ => 1.0 - survey.packed_bytes as f64 / plain_bytes as f64,
        }),
        check: survey.check,
        units,
        skipped: survey.skipped,
        parallel,
    }
}

/// Decodes one lane to nowhere and tells its units and uncompressed bytes.
fn decode(context: &Context, job: &Job, lane: &Lane) -> Result<(u64, u64), CodecError> {
    let Direction::Decompress { limits } = &job.direction else {
        unreachable!("-l is planned as decompression");
    };
    let result = Mutex::new(None);
    let on_close = |_: usize, closed: LaneOutcome| {
        *result.lock() = Some(closed);
    };
    let lanes = [lane.clone()];
    let what =
        Decompression::new(&lanes, false, *limits, &context.unfinished, &on_close).admitting(job.manners.admission);
    let budget = InProcess::new(job.staffing.width);
    let request = Request {
        priority: job.priority,
        weight: Weight::default(),
        useful_width: job.staffing.width,
        what: job.label.clone(),
    };
    decompress(&what, &job.staffing, budget.lease(request).as_ref(), &Tally::default());
    let closed = result.into_inner();
    let closed = closed.expect("every lane is closed");
    closed.outcome?;
    closed.left_unread.map_or(Ok((closed.totals.units, closed.totals.bytes_out)), Err)
}

fn as_table(rows: &[Row]) -> String {
    use Align::{Left, Right};
    let mut table = TextTable::new(&[Right, Right, Right, Left, Left, Right, Left, Left]);
    table.row(["compressed", "uncompressed", "saved", "format", "check", "units", "parallel", "name"]);
    for row in rows {
        table.row([
            terminal::integer(row.packed_bytes),
            row.plain_bytes.map_or("-".to_owned(), terminal::integer),
            row.saved.map_or("-".to_owned(), terminal::percentage),
            row.format.to_owned(),
            row.check.to_owned(),
            terminal::integer(row.units),
            if row.parallel { "yes" } else { "no" }.to_owned(),
            terminal::quote(&row.name),
        ]);
    }
    table.to_string()
}

fn as_json(rows: &[Row]) -> String {
    rows.iter().map(mh_kit::report::json_line).collect()
}
