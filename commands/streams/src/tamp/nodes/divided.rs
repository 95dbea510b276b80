//! The command that divides files: refuses what cannot be divided, plans or finds the plan, has `mh xjobs --on` run the list of what is missing,
//! and says how it ended.

use super::super::plan::{self, Direction, Inputs, decompresses, usage};
use super::super::{NAME, TampArgs, names, tell_left_alone};
use super::records::{
    DICTIONARY, DoneFile, FORMAT, PlannedFile, TampPlan, changed_at, changed_name, file_name, part_path,
};
use cluster::text::ByteText;
use codec::error::CodecError;
use codec::format::{EncodeOptions, Format};
use codec::lane::{Lane, LaneInput, LaneOutput, SourceFate};
use crew::plan::Plan;
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome, with_causes};
use mh_kit::nodes::{BARRIER, PlanDirectory, SignalWatch, ask_engine, die_as, environment, job_line};
use mh_kit::report::{ReportTotals, counted, json_line, show_plan, sizes};
use mh_kit::shared_args::ReportFormat;
use serde::Serialize;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Instant;
use terminal::quote;

/// The spool of `mh xjobs`, and its list; there while it is not over.
const RUN: &str = "run";
const LIST: &str = "list";

/// LIMIT: parts for each worker. More make the ends more even, fewer cost less.
const PARTS_A_WORKER: u64 = 8;

/// LIMIT: uncompressed bytes of a part. A job takes some 20 ms to start; what a worker that dies was at is done again.
const PART_BYTES_MIN: u64 = 32 << 20;
const PART_BYTES_MAX: u64 = 1 << 30;

/// Compresses files over machines.
pub fn run(context: &Context, args: &TampArgs) -> Result<Outcome, Failure> {
    refuse(context, args)?;
    let inputs = plan::look(context, args)?;
    let Direction::Compress { format, options, .. } = &inputs.direction else {
        return Err(usage("-d does not go with --on"));
    };
    refuse_format(*format)?;
    for (path, why) in &inputs.left_alone {
        tell_left_alone(context, args, "compress", path, why);
    }
    let cut = Cut::new(args, *format, options, &inputs.lanes);
    if args.shared.explain {
        show_plan(context, &explained(args, &inputs, &cut), args.shared.report)?;
        return Ok(if inputs.left_alone.is_empty() { Outcome::Done } else { Outcome::Partial });
    }
    let on = &args.division.on;
    if on.on.is_some() {
        ask_engine(on)?;
    }
    let begun = Instant::now();
    let place = PlanDirectory::make(on, NAME)?;
    let watch = SignalWatch::begin(&place)?;
    let plan = plan_or_found(context, args, &inputs, &cut, &place)?;
    let list = list(&place, &plan)?;
    if on.plan_only {
        return place.print_list(NAME, &list);
    }
    let again = || {
        let text = format!("the same command with --spool {} does what is missing", quote(place.root()));
        context.messages.conclusion(NAME, &text);
    };
    if !list.is_empty() {
        let path = place.path(LIST);
        if !place.path(RUN).exists() || !path.exists() {
            place.put(LIST, &list).map_err(|error| environment(NAME, "write", &path, &error))?;
        }
        let status = watch.run_list(on, &path, &place.path(RUN))?;
        die_as(status, again);
        // Files that failed are not done, and are in the next list.
        if !matches!(status.code(), Some(0 | 1)) {
            again();
            return Ok(Outcome::Code(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)));
        }
        let _done_again_at_worst = std::fs::remove_file(&path).and_then(|()| std::fs::remove_dir_all(place.path(RUN)));
    }
    let ended = Ended::of(context, &place, &plan, inputs.left_alone.len() as u64, begun)?;
    ended.show(context, args);
    place.end();
    Ok(if ended.failed == 0 { Outcome::Done } else { Outcome::Partial })
}

/// Options that mean something on one machine alone, and outputs that several cannot make.
fn refuse(context: &Context, args: &TampArgs) -> Result<(), Failure> {
    let refused = |option: &str, why: &str| Err(usage(format!("{option} does not go with --on: {why}")));
    let reads_stdin = args.files.is_empty() || args.files.iter().any(|file| file == Path::new("-"));
    match () {
        () if !context.has_own_name() => Err(usage("--on is for mh tamp")),
        () if decompresses(args) => {
            let option = if args.test {
                "-t"
            } else if args.list {
                "-l"
            } else {
                "-d"
            };
            refused(option, "where a compressed file can be divided is found out by reading it")
        }
        () if reads_stdin => refused("standard input", "other machines cannot read it"),
        () if args.stdout => refused("-c", "outputs are files that all machines see"),
        () if args.single_frame => refused("--single-frame", "one frame is made on one machine"),
        () if args.long.is_some() => refused("--long", "it makes one frame, on one machine"),
        () if args.rsyncable => refused("--rsyncable", "where a chunk ends depends on all before it"),
        () if args.keep_up.is_some() => refused("--keep-up", "a file is no producer"),
        () if !args.digest.is_empty() => refused("--digest", "mh sum --on computes digests"),
        () => Ok(()),
    }
}

fn refuse_format(format: &dyn Format) -> Result<(), Failure> {
    if format.joins_parts() {
        return Ok(());
    }
    let name = format.facts().name;
    let why = if name == "xz" { "is one stream with one index at its end" } else { "is one stream" };
    Err(usage(format!(
        "--format {name} does not go with --on: a file of it {why}; zst, gz, bz2 and lz4 can be divided"
    )))
}

/// How files are cut.
struct Cut {
    chunk_bytes: u64,
    part_bytes: u64,
    unit: String,
}

impl Cut {
    fn new(args: &TampArgs, format: &dyn Format, options: &EncodeOptions, lanes: &[Lane]) -> Self {
        let sizes = lanes.iter().filter_map(|lane| source(lane).metadata().ok()).map(|there| there.len());
        let parts = PARTS_A_WORKER * u64::from(args.division.on.workers());
        let usual = sizes.sum::<u64>().div_ceil(parts).clamp(PART_BYTES_MIN, PART_BYTES_MAX);
        let chunk_bytes = format.chunk_bytes(options).max(1) as u64;
        let part_bytes = args.division.range.unwrap_or(usual).clamp(1, u64::MAX / 2).next_multiple_of(chunk_bytes);
        let facts = format.facts();
        Self { chunk_bytes, part_bytes, unit: format!("{}, level {}", facts.name, options.level) }
    }
}

/// The file that a lane reads; none is standard input by now.
fn source(lane: &Lane) -> &Path {
    match &lane.input {
        LaneInput::Path(path) => path,
        LaneInput::Stdin => Path::new("-"),
    }
}

fn explained(args: &TampArgs, inputs: &Inputs, cut: &Cut) -> Plan {
    let lanes = &inputs.lanes;
    let what = match &lanes[..] {
        [lane] => quote(source(lane)),
        lanes => counted(lanes.len() as u64, "file"),
    };
    let mut plan = Plan::new(format!("compress {what} over machines"));
    let workers = u64::from(args.division.on.workers());
    plan.choose("format", &cut.unit, format!("chunks of {}, as on one machine", terminal::bytes(cut.chunk_bytes)));
    plan.choose("workers", counted(workers, "worker"), "each takes the next range when it has room");
    let why = if args.division.range.is_some() { "given" } else { "eight for each worker, of 32M to 1G" };
    plan.choose("ranges", format!("of {}", terminal::bytes(cut.part_bytes)), format!("{why}; whole chunks"));
    for lane in lanes {
        let Ok(there) = source(lane).metadata() else { continue };
        let parts = there.len().div_ceil(cut.part_bytes).max(1);
        let jobs =
            if parts == 1 { "one job".to_owned() } else { format!("{parts} jobs, and one that joins their parts") };
        plan.choose("file", format!("{}, {}", quote(source(lane)), terminal::bytes(there.len())), jobs);
    }
    plan
}

/// The command without what may differ when it goes on.
fn asked(args: &TampArgs, inputs: &Inputs) -> String {
    let Direction::Compress { format, options, .. } = &inputs.direction else { return String::new() };
    let encoding = (format.facts().name, options.level, options.layout, options.is_extreme, &args.dictionary);
    let files = (&args.files, args.recursive, &args.output, &args.suffix, args.force, args.remove);
    format!("{:?} {encoding:?} {files:?}", std::env::current_dir().ok())
}

/// The plan of an earlier run of the same command, or a new one.
fn plan_or_found(
    context: &Context,
    args: &TampArgs,
    inputs: &Inputs,
    cut: &Cut,
    place: &PlanDirectory,
) -> Result<TampPlan, Failure> {
    let asked = asked(args, inputs);
    match TampPlan::read(place)? {
        Some(plan) if plan.asked == asked => Ok(plan),
        Some(_) => {
            let root = quote(place.root());
            let message = format!("use {root} as the spool: it has the plan of another command");
            Err(Failure::Environment { command: NAME, message })
        }
        None => make_plan(context, args, inputs, cut, place, asked),
    }
}

fn make_plan(
    context: &Context,
    args: &TampArgs,
    inputs: &Inputs,
    cut: &Cut,
    place: &PlanDirectory,
    asked: String,
) -> Result<TampPlan, Failure> {
    let failed = |error: io::Error| environment(NAME, "make a plan in", place.root(), &error);
    for name in ["file", "part", "done", "changed"] {
        place.make_below(name).map_err(failed)?;
    }
    let Direction::Compress { options, .. } = &inputs.direction else { return Err(usage("nothing is compressed")) };
    if let (Some(bytes), true) = (options.dictionary, args.dictionary.is_some()) {
        place.put(DICTIONARY, bytes).map_err(failed)?;
    }
    let (mut files, mut refused) = (0, 0);
    for lane in &inputs.lanes {
        match planned(lane, cut) {
            Ok(file) => {
                file.put(place, files)?;
                files += 1;
            }
            Err(error) => {
                let hint = matches!(error, CodecError::Exists { .. }).then(|| "-f replaces it".to_owned());
                let text = format!("compress {}: {}", quote(source(lane)), with_causes(&error));
                context.messages.error(NAME, &text, hint.as_slice());
                refused += 1;
            }
        }
    }
    let directory = std::env::current_dir().map_err(failed)?;
    let plan = TampPlan {
        format: FORMAT,
        words: context.words.iter().map(|word| ByteText(word.as_bytes().to_vec())).collect(),
        asked,
        directory: ByteText(directory.as_os_str().as_bytes().to_vec()),
        files,
        refused,
    };
    plan.put(place).map(|()| plan)
}

/// The record of a file, if it can be divided.
fn planned(lane: &Lane, cut: &Cut) -> Result<PlannedFile, CodecError> {
    let path = source(lane);
    // Whether it may be read, too.
    let there = std::fs::metadata(path).map_err(CodecError::Open)?;
    if !there.is_file() {
        return Err(CodecError::NotAFile);
    }
    std::fs::File::open(path).map_err(CodecError::Open)?;
    let LaneOutput::Path { path: output, replace } = &lane.output else { return Err(CodecError::NotAFile) };
    if !replace && output.symlink_metadata().is_ok() {
        return Err(CodecError::Exists { path: output.clone() });
    }
    if names::is_special(output) {
        let cause = io::Error::other("it is not a regular file");
        return Err(CodecError::Create { path: output.clone(), cause });
    }
    Ok(PlannedFile {
        source: ByteText(path.as_os_str().as_bytes().to_vec()),
        output: ByteText(output.as_os_str().as_bytes().to_vec()),
        replaces: *replace,
        removes: lane.source == SourceFate::Remove,
        bytes: there.len(),
        changed: changed_at(&there),
        part_bytes: cut.part_bytes,
    })
}

/// The file of a number, which is in the plan.
fn file(place: &PlanDirectory, number: u32) -> Result<PlannedFile, Failure> {
    let missing = || environment(NAME, "read", &place.path(file_name(number)), &io::ErrorKind::NotFound.into());
    PlannedFile::read(place, number)?.ok_or_else(missing)
}

/// What came of a file, if nothing is left to do for it: a source that is to be removed must be gone, or be another file by now.
fn done(place: &PlanDirectory, number: u32, file: &PlannedFile) -> Result<Option<DoneFile>, Failure> {
    let is_left = || file.removes && file.changed().is_ok_and(|how| how.is_none());
    Ok(DoneFile::read(place, number)?.filter(|_| !is_left()))
}

/// The jobs that are missing: parts, and behind a barrier those that join them.
fn list(place: &PlanDirectory, plan: &TampPlan) -> Result<Vec<u8>, Failure> {
    let failed = |error: io::Error| environment(NAME, "list jobs for", place.root(), &error);
    let job = |option: &str, path: &Path| job_line("tamp", option, path).map_err(failed);
    let (mut parts, mut finishes) = (Vec::new(), Vec::new());
    for number in 0..plan.files {
        let file = file(place, number)?;
        if done(place, number, &file)?.is_some() {
            continue;
        }
        super::forget(&place.path(changed_name(number))).map_err(failed)?;
        let is_joined = DoneFile::read(place, number)?.is_some();
        if file.parts() == 1 {
            parts.extend(job("--part", &part_path(place, number, 0))?);
            continue;
        }
        for path in (0..file.parts()).map(|part| part_path(place, number, part)) {
            if !is_joined && !path.exists() {
                parts.extend(job("--part", &path)?);
            }
        }
        finishes.extend(job("--finish-file", &place.path(file_name(number)))?);
    }
    if !parts.is_empty() && !finishes.is_empty() {
        parts.extend_from_slice(BARRIER);
    }
    parts.append(&mut finishes);
    Ok(parts)
}

/// How it ended.
#[derive(Debug, Serialize)]
struct Ended {
    /// Files that have their outputs.
    files: u64,
    bytes_in: u64,
    bytes_out: u64,
    parts: u64,
    /// Files that do not, those included that were left alone.
    failed: u64,
    seconds: f64,
}

impl Ended {
    fn of(
        context: &Context,
        place: &PlanDirectory,
        plan: &TampPlan,
        left_alone: u64,
        begun: Instant,
    ) -> Result<Self, Failure> {
        let mut ended = Self {
            files: 0,
            bytes_in: 0,
            bytes_out: 0,
            parts: 0,
            failed: left_alone + plan.refused,
            seconds: begun.elapsed().as_secs_f64(),
        };
        for number in 0..plan.files {
            let file = file(place, number)?;
            let Some(DoneFile { bytes_in, bytes_out }) = done(place, number, &file)? else {
                ended.failed += 1;
                continue;
            };
            context.messages.detail(NAME, &format!("{}: {}", quote(file.source()), both_sizes(bytes_in, bytes_out)));
            ended.files += 1;
            ended.bytes_in += bytes_in;
            ended.bytes_out += bytes_out;
            ended.parts += file.parts();
        }
        Ok(ended)
    }

    fn show(&self, context: &Context, args: &TampArgs) {
        match args.shared.report {
            Some(ReportFormat::Json) => context.messages.report(&json_line(self)),
            Some(ReportFormat::Text) => context.messages.report(&format!("{}\n", self.text())),
            None => {}
        }
        let asked = self.files + self.failed;
        if self.failed > 0 && asked > 1 {
            let were = if self.failed == 1 { "was" } else { "were" };
            context.messages.conclusion(NAME, &format!("{} of {asked} files {were} not compressed", self.failed));
        }
    }

    fn text(&self) -> String {
        let (files, parts) = (counted(self.files, "file"), counted(self.parts, "part"));
        format!("compressed {files}, {}, in {parts}", both_sizes(self.bytes_in, self.bytes_out))
    }
}

fn both_sizes(bytes_in: u64, bytes_out: u64) -> String {
    sizes(&ReportTotals { bytes_in, bytes_out, units: 0, streamed_units: 0 }, true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::FromArgMatches;
    use codec::format::UnitLayout;
    use codec::registry::{by_name, formats};

    #[test]
    fn ranges_end_where_chunks_do() {
        for format in formats().iter().copied().filter(|format| format.joins_parts()) {
            let options = EncodeOptions::new(format.facts().default_level, UnitLayout::ParallelUnits);
            for range in [None, Some(1), Some(5_000_001)] {
                let matches = crate::tamp::command().get_matches_from(["tamp"]);
                let mut args = TampArgs::from_arg_matches(&matches).expect("good options");
                args.division.range = range;
                let cut = Cut::new(&args, format, &options, &[]);
                assert_eq!(cut.part_bytes % cut.chunk_bytes, 0);
                let least = range.unwrap_or(PART_BYTES_MIN);
                assert!((least..least + cut.chunk_bytes).contains(&cut.part_bytes), "{range:?}");
            }
        }
    }

    #[test]
    fn formats_of_one_stream_are_refused_by_name() {
        for (name, why) in [("xz", "one index"), ("lzma", "is one stream")] {
            let Err(Failure::Usage { message, .. }) = refuse_format(by_name(name).expect("registered")) else {
                panic!("{name} is refused")
            };
            assert!(message.starts_with(&format!("--format {name} ")) && message.contains(why), "{message}");
        }
    }
}
