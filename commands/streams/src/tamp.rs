//! `mh tamp`: compress or decompress files and streams on all cores.
//! Does not compress (engines/codec), order or staff (foundation/crew), or name outputs (`names`). Reading order:
//! TampArgs -> plan -> run -> show.

mod digests;
mod gather;
mod keep_up;
mod levels;
mod list;
mod manners;
mod memory;
mod names;
mod nodes;
mod old_names;
mod origin;
mod plan;
mod question;
mod staffing;
mod xz_wish;

use ::digests::algorithm::Algorithm;
use clap::builder::PossibleValuesParser;
use clap::{ArgAction, ArgMatches, Args, Command, FromArgMatches};
use codec::compress::{Compression, KeepUp, compress};
use codec::decompress::{Decompression, decompress};
use codec::error::{CodecError, UnitDefect};
use codec::format::{CheckName, Remark};
use codec::keep_up::KeptUp;
use codec::lane::{Lane, LaneInput, LaneOutcome, LaneOutput, SourceFate, Totals};
use codec::passing::PassingBytes;
use codec::zstd_tuning::ZstdTuning;
use crew::budget::Request;
use crew::measures::Measures;
use crew::tally::Tally;
use crew::verdict::Circumstances;
use digests::PassedDigests;
use machine::ProcessorTime;
use manners::{Event, Manners};
use mh_kit::context::{Context, signal_failure};
use mh_kit::entry::{Entry, Group, LinkProfile, Signals};
use mh_kit::failure::{Failure, Outcome, with_causes};
use mh_kit::progress;
use mh_kit::report::{self, Failed, Finished};
use mh_kit::shared_args::SharedArgs;
use mh_kit::sharing::{self, Shared};
use names::LeftAlone;
use parking_lot::Mutex;
use plan::{Direction, Job};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use terminal::{Progress, ProgressSample, Verbosity, quote};
use xz_wish::XzWish;

/// How messages begin.
const NAME: &str = "mh tamp";

/// The registry's line.
pub const ENTRY: Entry = Entry {
    rewrite: levels::rewrite,
    link: LinkProfile { is_offered: true, ..LinkProfile::NEW },
    old_names: old_names::OLD,
    ..Entry::new("tamp", Group::Do, Signals::TidyUpLater, command, run)
};

/// Compress or decompress files and streams on all cores
///
/// With no FILE, or with -, standard input goes to standard output. Otherwise each FILE gets a compressed file beside it
/// (FILE.zst, or FILE.gz with --format gz), complete or not at all; sources are kept unless --rm is given. What is compressed
/// is recognised by its content, and the checksums are always verified.
#[derive(Args, Debug)]
pub struct TampArgs {
    /// Files to work on; - is standard input
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Compress: the default
    #[arg(short = 'z', long, hide_short_help = true, overrides_with_all = ["decompress", "test", "list"])]
    pub compress: bool,

    /// Decompress
    #[arg(short = 'd', long, visible_alias = "uncompress")]
    pub decompress: bool,

    /// Test: decompress, verify every checksum, write nothing
    #[arg(short = 't', long)]
    pub test: bool,

    /// List sizes, ratio, check and blocks, and whether the file can be decoded in parallel
    #[arg(short = 'l', long)]
    pub list: bool,

    /// Write to standard output, keep the files
    #[arg(short = 'c', long, visible_alias = "to-stdout")]
    pub stdout: bool,

    /// Write to FILE
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Replace existing files; allow compressed data on a terminal
    #[arg(short = 'f', long)]
    pub force: bool,

    /// Keep the sources: the default
    #[arg(short = 'k', long, hide_short_help = true, overrides_with = "remove")]
    pub keep: bool,

    /// Remove each source once its output is complete
    #[arg(long = "rm", overrides_with = "keep")]
    pub remove: bool,

    /// Write the sound part of a damaged file, as far as checksums confirm it
    #[arg(long, requires = "decompress", hide_short_help = true)]
    pub keep_good: bool,

    /// Wait until the output, and its name, are on the disk
    #[arg(long, hide_short_help = true)]
    pub fsync: bool,

    /// When decompressing, make holes for zeros also if standard output is a file (default for named files)
    #[arg(long, overrides_with = "no_sparse", hide_short_help = true)]
    pub sparse: bool,

    /// Write zeros, make no holes
    #[arg(long, overrides_with = "sparse", hide_short_help = true)]
    pub no_sparse: bool,

    /// Descend into directories
    #[arg(short = 'r', long)]
    pub recursive: bool,

    /// Level, as -0 to -19: fast and large to slow and small (gz 0 to 9, zst 1 to 19, bz2 1 to 9,
    /// lz4 1 to 12, xz 0 to 9)
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub level: Option<i32>,

    /// Keep up with the producer: each chunk's level as high as the pipe allows, between MIN and MAX
    // COMPAT: zstd calls it so.
    #[arg(long, alias = "adapt", value_name = "MIN..MAX", num_args = 0..=1, require_equals = true, default_missing_value = "..",
          value_parser = keep_up::parse, conflicts_with_all = ["level", "fast", "best"])]
    pub keep_up: Option<keep_up::Bounds>,

    /// Fastest; for zst and lz4 N makes it faster still
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "1",
          value_parser = clap::value_parser!(i32).range(1..=131_072),
          conflicts_with_all = ["level", "best"], hide_short_help = true)]
    pub fast: Option<i32>,

    /// Smallest without --ultra
    #[arg(long, conflicts_with = "level", hide_short_help = true)]
    pub best: bool,

    /// xz: search longer for slightly smaller output
    #[arg(short = 'e', long, hide_short_help = true)]
    pub extreme: bool,

    /// Allow levels that need much time and memory (gz 10 to 12, zst 20 to 22)
    #[arg(long, hide_short_help = true)]
    pub ultra: bool,

    /// Format to write: zst, gz, bz2, lz4, xz or lzma (default: zst, or as the suffix in -o or -S)
    #[arg(long, short = 'F', value_name = "FORMAT", value_parser = format_names(), hide_possible_values = true)]
    pub format: Option<String>,

    /// Suffix to use
    #[arg(short = 'S', long, value_name = "ENDING", hide_short_help = true)]
    pub suffix: Option<String>,

    /// zst: look for matches up to 2^LOG bytes back (default 27), in one frame; when decompressing, allow such windows
    #[arg(long, value_name = "LOG", num_args = 0..=1, require_equals = true, default_missing_value = "27",
          value_parser = clap::value_parser!(u32).range(10..=31), hide_short_help = true)]
    pub long: Option<u32>,

    /// Print digests of the uncompressed data, computed in the same pass: sha256, or several (crc32,blake3)
    #[arg(long, value_name = "ALGO", value_delimiter = ',', value_parser = ::digests::algorithm::Algorithm::typed, conflicts_with = "list", hide_short_help = true)]
    pub digest: Vec<Algorithm>,

    /// zst, lz4: use FILE as a dictionary; decompression needs the same FILE
    #[arg(short = 'D', long, value_name = "FILE", hide_short_help = true)]
    pub dictionary: Option<PathBuf>,

    /// zst: write one frame instead of frames that can be decoded in parallel
    #[arg(long, hide_short_help = true)]
    pub single_frame: bool,

    /// Cut by content, so that a small change of the input stays a small change of the output
    #[arg(long, conflicts_with_all = ["single_frame", "long", "bgzf"], hide_short_help = true)]
    pub rsyncable: bool,

    /// gz: write BGZF blocks, for genome tools
    #[arg(long, hide_short_help = true)]
    pub bgzf: bool,

    /// Write no name into gz files: as always here; for scripts that ask for it
    #[arg(short = 'n', long, hide = true)]
    pub no_name: bool,

    /// Print the list as JSON
    #[arg(long, requires = "list", hide_short_help = true)]
    pub json: bool,

    /// Print only errors; twice: nothing
    #[arg(short = 'q', long, action = ArgAction::Count)]
    pub quiet: u8,

    /// Print the result for each file
    #[arg(short = 'v', long, action = ArgAction::Count)]
    pub verbose: u8,

    /// Other machines.
    #[command(flatten)]
    pub division: nodes::TampDivisionArgs,

    /// Hands, priority, memory, plan and report.
    #[command(flatten)]
    pub shared: SharedArgs,

    /// Whether zst frames leave out which dictionary they need, where an old name asks for it.
    #[arg(skip)]
    pub hides_dictionary: bool,

    /// How zst frames are made beyond their level, where an old name asks for something.
    #[arg(skip)]
    pub zst: ZstdTuning,

    /// The largest window that a zst frame may have, where an old name bounds it.
    #[arg(skip)]
    pub window_bytes: Option<u64>,

    /// Whether all inputs go into the one file that `-o` names, where an old name has it so.
    #[arg(skip)]
    pub gathers: bool,

    /// The check that compressed files carry, where an old name asks for one.
    #[arg(skip)]
    pub check: Option<CheckName>,

    /// How it asks before a file is replaced, where an old name does.
    #[arg(skip)]
    pub question: Option<question::OverwriteQuestion>,

    /// Whether standard input may be listed, where an old name allows it: a stream is used up by it.
    #[arg(skip)]
    pub lists_stdin: bool,

    /// Whether lz4 files are legacy frames, where an old name asks for them.
    #[arg(skip)]
    pub legacy_blocks: bool,

    /// Whether a list needs the check of the uncompressed data.
    #[arg(skip)]
    pub lists_checks: bool,

    /// Options of the old name xz alone.
    #[arg(skip)]
    pub xz: XzWish,

    /// How it behaves under another name.
    #[arg(skip)]
    pub manners: Manners,
}

/// What `--format` takes.
fn format_names() -> PossibleValuesParser {
    let facts = codec::registry::formats().iter().filter(|format| format.can_encode()).map(|format| format.facts());
    let mut names: Vec<&str> = facts.flat_map(|facts| [facts.name, facts.tool]).collect();
    names.dedup();
    PossibleValuesParser::new(names)
}

fn command() -> Command {
    let command = TampArgs::augment_args(Command::new("tamp")).args_override_self(true).infer_long_args(true);
    command.version(env!("CARGO_PKG_VERSION")).after_help(
        "Examples:\n  mh tamp db.export                    db.export.zst beside it, on all cores\n  \
         pg_dump db | mh tamp -3 > db.zst     as fast as the dump comes\n  \
         mh tamp -d --report db.export.zst    back again, and what bound it\n  \
         dump | mh tamp --keep-up > db.zst    as small as it can be without the dump waiting\n  \
         tar -I 'mh tamp' -cf src.tar.zst src under tar, both ways",
    )
}

fn run(context: &mut Context, matches: &ArgMatches) -> Result<Outcome, Failure> {
    let mut args = TampArgs::from_arg_matches(matches).map_err(Failure::CommandLine)?;
    if args.division.on.is_asked() {
        args.shared.settle(&context.settings.crew);
        context.messages = context.terminals.messages(verbosity(&args));
        return nodes::run(context, &args);
    }
    context.hold_signals().and_then(|held| held.attend()).map_err(signal_failure)?;
    if let Some(ended) = nodes::job(context, &args) {
        return ended;
    }
    run_args(context, &mut args)
}

/// What all names have in common.
fn run_args(context: &mut Context, args: &mut TampArgs) -> Result<Outcome, Failure> {
    args.shared.settle(&context.settings.crew);
    context.messages = context.terminals.messages(verbosity(args));
    if let Some(lists) = args.xz.lists {
        return lists(context, args);
    }
    let mut inputs = plan::look(context, args)?;
    let verb = if args.list { "list" } else { inputs.direction.verb(args.test) };
    for (path, why) in &inputs.left_alone {
        tell_left_alone(context, args, verb, path, why);
    }
    let left_alone = question::settle(context, args, &mut inputs.lanes);
    let mut job = plan::plan(context, args, inputs)?;
    job.left_alone += left_alone;
    if args.shared.explain {
        report::show_plan(context, &plan::expectation(&job), args.shared.report)?;
        return Ok(if job.left_alone == 0 { Outcome::Done } else { Outcome::Partial });
    }
    if args.list {
        return list::list(context, &job, args);
    }
    lower_priority(context, &args.shared);
    let passed = PassedDigests::new(&args.digest);
    let output = args.output.as_deref().filter(|_| args.gathers);
    let gathering = output.map(|path| gather::begin(context, args, &mut job, path)).transpose()?;
    let finished = carry_out(context, &job, &args.shared, passed.as_ref(), None);
    if let Some(gathering) = gathering.filter(|_| finished.leaves_sound_output(&job)) {
        gathering.finish(&job.manners)?;
    }
    if let Some(passed) = passed {
        passed.print(context, args, &job)?;
    }
    show(context, args, &job, &finished)
}

/// A file that was named but will not be worked on.
fn tell_left_alone(context: &Context, args: &TampArgs, verb: &str, path: &Path, why: &LeftAlone) {
    if args.manners.say(context, &Event::LeftAlone { path, why }) {
        return;
    }
    let (cause, hint) = match why {
        LeftAlone::CompressedAlready { ending } => {
            (format!("its name ends in {ending} already"), Some("-f packs it once more"))
        }
        LeftAlone::UnknownEnding => {
            ("its name does not give a name for the uncompressed file".to_owned(), Some("use -o FILE or -c"))
        }
        LeftAlone::SymbolicLink => ("it is a symbolic link".to_owned(), None),
        LeftAlone::OtherNames(others) => (format!("{others} other names mean the same file"), None),
        LeftAlone::SpecialMode(_) => ("its mode would be lost".to_owned(), None),
        LeftAlone::AboveMirror { directory, .. } => (format!("it has no place in {}", quote(directory)), None),
        LeftAlone::Directory => ("it is a directory".to_owned(), Some("use -r to descend into directories")),
        LeftAlone::NotAFile => ("it is not a regular file".to_owned(), Some("-c or -o reads it all the same")),
        LeftAlone::SameOutput { other } => {
            (format!("its output would have the same name as that of {}", quote(other)), None)
        }
        LeftAlone::Unreadable(error) => (error.clone(), None),
    };
    let hints: Vec<String> = hint.into_iter().map(str::to_owned).collect();
    context.messages.error(NAME, &format!("{verb} {}: {cause}", quote(path)), &hints);
}

fn verbosity(args: &TampArgs) -> Verbosity {
    match (args.quiet, args.verbose) {
        (0, 0) => Verbosity::Normal,
        (0, _) => Verbosity::Verbose,
        (1, _) => Verbosity::Quiet,
        _ => Verbosity::Silent,
    }
}

/// A refusal costs politeness, not the run.
fn lower_priority(context: &Context, shared: &SharedArgs) {
    let steps = shared.priority().nicer_by();
    if steps > 0
        && let Err(error) = sys::scheduling::be_as_nice_as(steps)
    {
        context.messages.warning(NAME, &format!("could not lower its priority: {error}"), &[]);
    }
}

/// What came of all lanes.
pub struct Ran {
    measures: Measures,
    others_cpu_ns: u64,
    totals: Totals,
    failed: usize,
    /// Of a lane that failed something was written already.
    is_spoilt: bool,
    broken_pipe: bool,
    kept: Option<KeptUp>,
    hands_from: Option<&'static str>,
}

impl Ran {
    /// Whether a common output holds whole contents, and any.
    fn leaves_sound_output(&self, job: &Job) -> bool {
        !self.is_spoilt && self.failed < job.lanes.len()
    }
}

/// Runs the engine, on a `part` of the inputs if there is one; lanes tell of their end as they end.
fn carry_out(
    context: &Context,
    job: &Job,
    shared: &SharedArgs,
    passed: Option<&PassedDigests<'_>>,
    part: Option<Range<u64>>,
) -> Ran {
    let shared_budget = budget(context, job);
    if let Some(why) = &shared_budget.why_alone {
        sharing::tell_why_alone(context, NAME, why);
    }
    let lease = shared_budget.budget.lease(Request {
        priority: job.priority,
        weight: shared.weight(),
        useful_width: job.staffing.width,
        what: format!("tamp: {}", job.plan.purpose),
    });
    let hands_from = shared_budget.hands_from(lease.as_ref());
    let tally = Arc::new(Tally::default());
    lease.show_progress(sharing::bytes_done(&tally, job.total_bytes));
    let ran = Mutex::new((Totals::default(), 0, false, false));
    let on_close = |number: usize, closed: LaneOutcome| {
        let lane = &job.lanes[number];
        let broken_pipe = closed.outcome.as_ref().is_err_and(CodecError::is_broken_pipe);
        let failed = closed.outcome.is_err();
        if broken_pipe && job.one_output {
            // Nobody reads what the others would give, and one of them may wait for its input.
            sys::signals::die_by(sys::signals::BROKEN_PIPE);
        }
        if !broken_pipe {
            passed.filter(|_| !failed).inspect(|passed| passed.is_whole(number));
            give_time(context, job, number, &closed);
            tell(context, job, lane, &closed);
        }
        let mut ran = ran.lock();
        ran.0.add(&closed.totals);
        ran.1 += usize::from(failed);
        ran.2 |= broken_pipe;
        ran.3 |= failed && closed.totals.bytes_out > 0;
    };
    make_directories(job);
    let before = shared.report.is_some().then(|| machine::processor_time(&context.host).ok()).flatten();
    let progress = show_progress(context, job, &tally);
    let pass = |lane: usize, bytes: &[u8]| passed.into_iter().for_each(|passed| passed.pass(lane, bytes));
    let passing = passed.map(|_| &pass as &PassingBytes<'_>);
    let mut kept = None;
    let measures = match &job.direction {
        Direction::Compress { format, options, keep_up } => {
            kept =
                keep_up.as_ref().map(|levels| KeepUp::new(levels.clone(), job.direction.chunk_bytes(), &job.staffing));
            let what = Compression {
                keep_up: kept.as_ref(),
                passing,
                lanes: &job.lanes,
                one_output: job.one_output,
                format: *format,
                options: *options,
                part,
                tells_origin: job.manners.tells_origin,
                unfinished: &context.unfinished,
                on_close: &on_close,
            };
            compress(&what, &job.staffing, lease.as_ref(), &tally)
        }
        Direction::Decompress { limits } => {
            let mut what = Decompression::new(&job.lanes, job.one_output, *limits, &context.unfinished, &on_close)
                .admitting(job.manners.admission);
            (what.passing, what.reading) = (passing, job.reading);
            decompress(&what, &job.staffing, lease.as_ref(), &tally)
        }
    };
    drop(progress);
    let (totals, failed, broken_pipe, is_spoilt) = ran.into_inner();
    let others_cpu_ns = others_cpu_ns(context, before, &measures);
    let kept = kept.map(|keep_up| keep_up.kept());
    Ran { measures, others_cpu_ns, totals, failed, is_spoilt, broken_pipe, kept, hands_from }
}

/// LIMIT: source bytes up to which a run is over before others could notice it.
const BRIEF_BYTES: u64 = 1 << 20;

fn budget(context: &Context, job: &Job) -> Shared {
    if job.total_bytes.is_some_and(|bytes| bytes <= BRIEF_BYTES) {
        return Shared::alone(job.staffing.width);
    }
    sharing::budget(context, job.staffing.width, job.priority)
}

/// A mirror of the inputs' directories is made where there is none. What cannot be made, its lane will tell.
fn make_directories(job: &Job) {
    for lane in job.lanes.iter().filter(|_| job.manners.mirrors_directories()) {
        if let LaneOutput::Path { path, .. } = &lane.output
            && let Some(directory) = path.parent()
        {
            let _told_by_its_lane = std::fs::create_dir_all(directory);
        }
    }
}

/// What other programs used of the CPUs since `before`; 0 where the kernel does not tell.
fn others_cpu_ns(context: &Context, before: Option<ProcessorTime>, measures: &Measures) -> u64 {
    let Some(before) = before else { return 0 };
    let now = machine::processor_time(&context.host).map_or(before, |now| now);
    let busy_ticks = now.busy_ticks.saturating_sub(before.busy_ticks);
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
    (busy_ticks * tick_ns).saturating_sub(measures.process_cpu_ns)
}

/// The progress line, unless the data go to somebody at the same terminal.
fn show_progress(context: &Context, job: &Job, tally: &Arc<Tally>) -> Option<Progress> {
    if goes_to_somebody(context, job) || !job.manners.shows_progress {
        return None;
    }
    let (tally, label, total_bytes) = (Arc::clone(tally), job.label.clone(), job.total_bytes);
    Some(Progress::start(&context.messages, move || ProgressSample {
        label: label.clone(),
        done_bytes: tally.bytes_done(),
        total_bytes,
        hands: Some(tally.hands()),
        ..ProgressSample::default()
    }))
}

/// Whether what comes out is read on the terminal, or by a program that may have it for itself (`less`).
fn goes_to_somebody(context: &Context, job: &Job) -> bool {
    let is_read = !job.direction.is_compression() && progress::output_is_piped();
    job.goes_to_stdout() && (context.terminals.stdout || is_read)
}

/// Gives an uncompressed file the time that its compressed file tells, where it is wanted. The bytes are there; only the time may not be.
fn give_time(context: &Context, job: &Job, number: usize, closed: &LaneOutcome) {
    let (Ok(()), Some(seconds)) = (&closed.outcome, job.times[number]) else { return };
    if let Err(error) = origin::set_time(&job.lanes[number].output, seconds) {
        let name = input_name(&job.lanes[number].input);
        context.messages.warning(&job.manners.name, &format!("could not set the time of {name}: {error}"), &[]);
    }
}

/// Tells what came of one lane: an error always, success only when asked for.
fn tell(context: &Context, job: &Job, lane: &Lane, closed: &LaneOutcome) {
    let (input, output, way) = (&lane.input, &lane.output, job.way);
    let name = input_name(input);
    if let Some(error) = &closed.left_unread {
        job.manners.say(context, &Event::LeftUnread { input, error });
    }
    if let Some(remark) = closed.remark {
        let is_said = job.manners.say(context, &Event::Odd { input, remark });
        if !is_said {
            context.messages.warning(NAME, &format!("{name}: {}", remark.description()), &[]);
        }
    }
    match &closed.outcome {
        Ok(()) => {
            for lost in &closed.not_carried {
                let words = with_causes(&lost.cause);
                context.messages.warning(
                    &job.manners.name,
                    &format!("could not carry over {} of {name}: {words}", lost.what),
                    &[],
                );
            }
            let totals = report::sizes(&reported(&closed.totals), job.direction.is_compression());
            let keeps = lane.source == SourceFate::Keep || closed.remark == Some(Remark::EndsEarly);
            let done = Event::Done {
                input,
                output,
                totals: &closed.totals,
                keeps,
                way,
                alone: job.lanes.len() + job.left_alone == 1,
            };
            let told_at_end = job.lanes.len() == 1 && has_summary(context, job) && progress::is_shown(context);
            if !job.manners.say(context, &done) && !told_at_end {
                context.messages.detail(NAME, &format!("{name}: {totals}"));
            }
        }
        Err(error) if job.manners.say(context, &Event::Failed { input, output, error, way }) => {}
        Err(error) => {
            let verb = job.direction.verb(job.is_test);
            let message = format!("{verb} {name}: {}{}", with_causes(error), remedy(error));
            context.messages.error(NAME, &message, &hints(error, job, lane, closed.kept_bytes));
        }
    }
}

/// The option by which a sound input could be decoded, if there is one. Not all commands that decode have it.
pub fn remedy(error: &CodecError) -> String {
    match error {
        // LIMIT: no decoder takes windows above 2 GiB.
        CodecError::Damaged { defect: UnitDefect::Window { log: log @ ..=31, .. }, .. } => {
            format!("; --long={log} allows it")
        }
        CodecError::Damaged { defect: UnitDefect::Memory { .. }, .. } => "; --memory leaves no more for it".to_owned(),
        _ => String::new(),
    }
}

/// What to do about an error, where something can be done.
fn hints(error: &CodecError, job: &Job, lane: &Lane, kept_bytes: Option<u64>) -> Vec<String> {
    if let (Some(bytes), LaneOutput::Path { path, .. }) = (kept_bytes, &lane.output) {
        return vec![format!("what stands before the damage, {}, is in {}", terminal::bytes(bytes), quote(path))];
    }
    match error {
        CodecError::Exists { .. } => {
            vec!["-f replaces it, -c writes to standard output".to_owned()]
        }
        CodecError::Directory => vec!["use -r to descend into directories".to_owned()],
        CodecError::Damaged { unit, .. } | CodecError::TrailingGarbage { unit, .. }
            if error.is_damage() && !job.is_test && !job.one_output && *unit > 1 && !lane.care.keeps_good =>
        {
            vec!["nothing was kept; --keep-good writes what stands before the damage".to_owned()]
        }
        _ => Vec::new(),
    }
}

/// An input as messages name it.
fn input_name(input: &LaneInput) -> String {
    match input {
        LaneInput::Stdin => "standard input".to_owned(),
        LaneInput::Path(path) => quote(path),
    }
}

/// Bytes and units as reports have them.
fn reported(totals: &Totals) -> report::ReportTotals {
    let Totals { bytes_in, bytes_out, units, streamed_units } = *totals;
    report::ReportTotals { bytes_in, bytes_out, units, streamed_units }
}

fn kept_up(kept: KeptUp) -> report::ReportKeptUp {
    let KeptUp { waited_ns, level_lowest, level_highest, level_mean } = kept;
    report::ReportKeptUp { waited_ns, level_lowest, level_highest, level_mean }
}

/// Whether the end of the run may be told in a line: by our own name alone, and to nobody who reads the data.
fn has_summary(context: &Context, job: &Job) -> bool {
    let is_read = context.terminals.stdout || progress::output_is_piped();
    job.manners.voice.is_none() && !(job.goes_to_stdout() && is_read)
}

/// The name of the one file that is made.
fn made(job: &Job) -> Option<String> {
    let [Lane { output: LaneOutput::Path { path, .. }, .. }] = &job.lanes[..] else { return None };
    path.file_name().map(|name| terminal::printable(&name.to_string_lossy()).into_owned())
}

/// Totals, the report if asked for, and the exit.
fn show(context: &Context, args: &TampArgs, job: &Job, ran: &Ran) -> Result<Outcome, Failure> {
    if ran.broken_pipe {
        return Err(Failure::BrokenPipe);
    }
    let asked = job.lanes.len() + job.left_alone;
    let failed = ran.failed + job.left_alone;
    let finished = Finished {
        subject: &job.label,
        totals: reported(&ran.totals),
        failed: (failed > 0).then_some(Failed { files: failed, of: asked }),
        is_compression: job.direction.is_compression(),
        measures: &ran.measures,
        kept_up: ran.kept.map(kept_up),
        width_why: None,
        hands_from: ran.hands_from,
        index: None,
        members: None,
        made: made(job),
        circumstances: Circumstances { others_cpu_ns: ran.others_cpu_ns, ..job.circumstances },
    };
    if args.shared.report.is_some() || has_summary(context, job) {
        report::conclude(context, &finished, args.shared.report, args.verbose > 0);
    }
    let end =
        Event::End { totals: &ran.totals, done: asked - failed, asked, way: job.way, to_stdout: job.goes_to_stdout() };
    if job.manners.say(context, &end) {
        return Ok(Outcome::Code(job.manners.codes.worst()));
    }
    if failed > 0 && job.lanes.len() + job.left_alone > 1 {
        let done = if job.is_test { "found sound" } else { job.direction.done() };
        let were = if failed == 1 { "was" } else { "were" };
        context.messages.conclusion(NAME, &format!("{failed} of {asked} files {were} not {done}"));
    }
    Ok(if failed == 0 { Outcome::Done } else { Outcome::Partial })
}
