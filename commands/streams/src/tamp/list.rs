//! `mh tamp -l`: what compressed files hold. Headers tell most of it; a file that does not tell its size is decoded to nowhere,
//! so that the figures are true (gzip's own trailer gives the size of the last member modulo 4 GiB).

use super::manners::Event;
use super::plan::{Direction, Job, stdin_metadata};
use super::{NAME, TampArgs, input_name, origin};
use ::digests::algorithm::Algorithm;
use ::digests::stream_hash;
use codec::admission::BehindTheEnd;
use codec::decompress::{Decompression, decompress};
use codec::error::CodecError;
use codec::format::Detail;
use codec::lane::{Lane, LaneInput, LaneOutcome, Totals};
use codec::list::{HeaderSurvey, survey};
use codec::origin::Origin;
use codec::passing::PassingBytes;
use crew::budget::{Budget, InProcess, Request, Weight};
use crew::tally::Tally;
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome, with_causes};
use mh_kit::report::print;
use parking_lot::Mutex;
use serde::Serialize;
use std::os::unix::fs::MetadataExt;
use std::time::{SystemTime, UNIX_EPOCH};
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
    /// Facts about the file besides its content.
    #[serde(skip)]
    pub file: ListedFile,
}

/// Facts about a listed file besides its content.
#[derive(Debug, Default)]
pub struct ListedFile {
    /// When it was changed last; now, where it is a stream.
    pub modified_seconds: Option<i64>,
    /// Name and time that it tells of the uncompressed file.
    pub origin: Option<Origin>,
    /// Of all the uncompressed data, where it was asked for.
    pub crc32: Option<u32>,
}

/// Lists all files of the job.
pub fn list(context: &Context, job: &Job, args: &TampArgs) -> Result<Outcome, Failure> {
    let mut rows = Vec::new();
    let mut failed = job.left_alone;
    for lane in &job.lanes {
        match look(context, job, lane, args) {
            Ok(row) => rows.push(row),
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
        None if args.json => as_json(&rows),
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

/// Finds out what one line tells.
fn look(context: &Context, job: &Job, lane: &Lane, args: &TampArgs) -> Result<Row, CodecError> {
    let Direction::Decompress { limits } = &job.direction else {
        unreachable!("-l is planned as decompression");
    };
    let origin = origin::told_by_input(&lane.input);
    let survey = match survey(&lane.input, job.manners.admission.formats) {
        // A stream is used up by looking at it: what decoding tells is all there is.
        Err(CodecError::NotAFile) if lane.input == LaneInput::Stdin => None,
        survey => Some(survey?),
    };
    let decoded = match survey.as_ref().map(|survey| survey.plain_bytes) {
        Some(Some(plain_bytes)) if !args.lists_checks => {
            Ok((survey.as_ref().map_or(0, |survey| survey.units), Some(plain_bytes), None))
        }
        _ => decode(context, job, lane, args.lists_checks)
            .map(|decoded| (decoded.totals.units, Some(decoded.totals.bytes_out), Some(decoded))),
    };
    let (units, plain_bytes, decoded) = match (decoded, &survey) {
        // Nothing is wrong with it, and the unit that does not tell its size is one.
        (Err(error @ CodecError::Damaged { .. }), Some(survey)) if !error.is_damage() => {
            (survey.units + u64::from(survey.is_streamed), None, None)
        }
        (decoded, _) => decoded?,
    };
    let file = ListedFile {
        modified_seconds: modified(&lane.input),
        origin,
        crc32: decoded.as_ref().and_then(|decoded| decoded.crc32),
    };
    let survey = survey.unwrap_or_else(|| of_a_stream(job, decoded.map_or(0, |decoded| decoded.totals.bytes_in)));
    let parallel = survey.is_parallel(limits);
    Ok(row(lane, units, plain_bytes, &survey, parallel, file))
}

/// The facts that headers would have given of a stream that is used up. The format is the first of those that were admitted.
fn of_a_stream(job: &Job, packed_bytes: u64) -> HeaderSurvey {
    HeaderSurvey {
        format: job.manners.admission.formats.first().unwrap_or(&"-"),
        check: "-",
        packed_bytes,
        plain_bytes: None,
        units: 0,
        skipped: 0,
        largest_unit_bytes: 0,
        is_streamed: true,
        detail: Detail::default(),
    }
}

/// When the file was changed last; now, where it is a stream.
fn modified(input: &LaneInput) -> Option<i64> {
    let metadata = match input {
        LaneInput::Path(path) => std::fs::metadata(path),
        LaneInput::Stdin => stdin_metadata(),
    };
    let modified = metadata.ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.mtime());
    modified.or_else(|| i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs()).ok())
}

fn row(
    lane: &Lane,
    units: u64,
    plain_bytes: Option<u64>,
    survey: &HeaderSurvey,
    parallel: bool,
    file: ListedFile,
) -> Row {
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
        file,
    }
}

/// Facts from decoding.
struct Decoded {
    totals: Totals,
    crc32: Option<u32>,
}

/// Decodes one lane to nowhere.
fn decode(context: &Context, job: &Job, lane: &Lane, with_check: bool) -> Result<Decoded, CodecError> {
    let Direction::Decompress { limits } = &job.direction else {
        unreachable!("-l is planned as decompression");
    };
    let result = Mutex::new(None);
    let on_close = |_: usize, closed: LaneOutcome| {
        *result.lock() = Some(closed);
    };
    let lanes = [lane.clone()];
    let crc = Mutex::new(with_check.then(|| stream_hash(Algorithm::Crc32)));
    let pass = |_: usize, bytes: &[u8]| crc.lock().iter_mut().for_each(|crc| crc.update(bytes));
    let mut what =
        Decompression::new(&lanes, false, *limits, &context.unfinished, &on_close).admitting(job.manners.admission);
    what.passing = with_check.then_some(&pass as &PassingBytes<'_>);
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
    let crc = crc.into_inner().map(|crc| crc.finish().hex());
    let crc32 = crc.and_then(|digits| u32::from_str_radix(&digits, 16).ok());
    // COMPAT: pigz lists the first entry of an archive, and mentions no others.
    let left_unread = closed.left_unread.filter(|error| !matches!(error, CodecError::FurtherEntries { .. }));
    left_unread.map_or(Ok(Decoded { totals: closed.totals, crc32 }), Err)
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
