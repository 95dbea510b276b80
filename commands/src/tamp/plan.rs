//! What `mh tamp` will do, decided before anything is done: lanes, format, hands, slots, each with its reason.
//! Looks at files and at the machine; changes nothing.

use super::names::{self, Found, LeftAlone};
use super::{NAME, TampArgs};
use crate::context::Context;
use crate::failure::Failure;
use crate::report::{counted, seconds_text};
use codec::compress::slot_bytes;
use codec::format::{DecodeLimits, EncodeOptions, Format, Layout};
use codec::lane::{Input, Lane, Output, Source};
use codec::registry;
use crew::budget::Priority;
use crew::measures::Slots;
use crew::pipeline::{Mode, Staffing};
use crew::plan::Plan;
use crew::verdict::Circumstances;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use terminal::quote;

/// Everything that `run` needs.
pub struct Job {
    pub plan: Plan,
    pub direction: Direction,
    pub lanes: Vec<Lane>,
    /// All lanes go to standard output, one after another.
    pub one_output: bool,
    pub is_test: bool,
    pub staffing: Staffing,
    pub priority: Priority,
    pub circumstances: Circumstances,
    /// What the progress line and the report call it.
    pub label: String,
    /// Source bytes, where all of them are known.
    pub total_bytes: Option<u64>,
    /// Files that were named but are not worked on; each has been told.
    pub left_alone: usize,
}

/// Which way, and how.
pub enum Direction {
    Compress { format: &'static dyn Format, options: EncodeOptions },
    Decompress { limits: DecodeLimits },
}

impl Direction {
    pub fn is_compression(&self) -> bool {
        matches!(self, Self::Compress { .. })
    }

    /// For `could not ... 'x'`.
    pub fn verb(&self, is_test: bool) -> &'static str {
        match self {
            Self::Compress { .. } => "compress",
            Self::Decompress { .. } if is_test => "verify",
            Self::Decompress { .. } => "decompress",
        }
    }

    pub fn done(&self) -> &'static str {
        if self.is_compression() { "compressed" } else { "decompressed" }
    }
}

/// The largest unit that a worker decodes as a whole. Larger ones are decoded as a stream on one core. Larger: files of
/// long frames decode in parallel, at twice this much memory a slot. Smaller: less memory. pzstd's longest frames are 32 MiB.
const UNIT_BYTES_MAX: u64 = 32 << 20;

/// The smallest such unit that a memory cap may force: our gz members.
const UNIT_BYTES_MIN: u64 = 1 << 20;

/// The share of the memory at hand that a run takes without being told otherwise: an eighth leaves room for its producer
/// and consumer, and for other runs.
const MEMORY_SHARE: u64 = 8;

/// Makes the plan.
pub fn plan(context: &Context, args: &TampArgs) -> Result<Job, Failure> {
    check_combinations(context, args)?;
    let mut left_alone = Vec::new();
    let files = names::expand(&args.files, args.recursive, &mut left_alone);
    let direction = if decompresses(args) { decode_direction(args) } else { encode_direction(args)? };
    let lanes = lanes(args, &direction, &files, &mut left_alone);
    for (path, why) in &left_alone {
        tell_left_alone(context, &direction, path, why);
    }
    let sizes = look_at_inputs(&lanes);
    let one_output = lanes.iter().all(|lane| lane.output == Output::Stdout);
    let mut plan = Plan::new(purpose(context, &direction, args, &lanes, &sizes));
    let (direction, staffing) = staff(context, args, direction, &lanes, &sizes, &mut plan);
    let circumstances = Circumstances {
        hands_allowed: context.machine.hands_allowed(),
        hands_asked: args.shared.hands,
        priority_is_highest: args.shared.priority.class() == Priority::High,
        others_cpu_ns: 0,
    };
    Ok(Job {
        plan,
        direction,
        one_output,
        is_test: args.test,
        staffing,
        priority: args.shared.priority.class(),
        circumstances,
        label: label(&lanes),
        total_bytes: sizes.total_bytes,
        left_alone: left_alone.len(),
        lanes,
    })
}

fn usage(message: impl Into<String>) -> Failure {
    Failure::Usage { command: NAME, message: message.into() }
}

fn decompresses(args: &TampArgs) -> bool {
    args.decompress || args.test || args.list
}

fn check_combinations(context: &Context, args: &TampArgs) -> Result<(), Failure> {
    let reads_stdin = args.files.is_empty() || args.files.iter().any(|file| file == Path::new("-"));
    let to_stdout = args.stdout || (reads_stdin && args.output.is_none());
    if args.output.is_some() && (args.files.len() > 1 || args.recursive) {
        return Err(usage("-o takes one file; -c puts several into standard output"));
    }
    if args.output.is_some() && args.stdout {
        return Err(usage("give either -o or -c"));
    }
    if args.list && reads_stdin {
        return Err(usage("-l needs files: a stream cannot be listed and kept"));
    }
    if !decompresses(args) && to_stdout && context.terminals.stdout && !args.force && !args.shared.explain {
        return Err(usage("packed data would go to the terminal; redirect them, or -f sends them there all the same"));
    }
    if decompresses(args) && reads_stdin && context.terminals.stdin && !args.force {
        return Err(usage("packed data cannot be typed; give a file, or feed them through a pipe"));
    }
    Ok(())
}

/// The format to write: as given, or as the ending of the output's name or of `-S` tells, or the default.
fn format_of(args: &TampArgs) -> Result<(&'static dyn Format, &'static str), Failure> {
    if let Some(name) = &args.format {
        let name = if name.starts_with("gz") { "gz" } else { "zst" };
        return Ok((registry::by_name(name).expect("clap lets only these through"), "given"));
    }
    let ending = args.output.as_ref().map(|path| path.to_string_lossy().into_owned()).or_else(|| args.suffix.clone());
    let by_ending = ending.and_then(|ending| {
        registry::formats().iter().copied().find(|format| registry::is_packed_name(format.facts(), &ending))
    });
    if args.bgzf {
        return Ok((registry::by_name("gz").expect("gz is registered"), "--bgzf is a kind of gz"));
    }
    Ok(match by_ending {
        Some(format) => (format, "the output's name says so"),
        None => (registry::formats()[0], "the default"),
    })
}

fn encode_direction(args: &TampArgs) -> Result<Direction, Failure> {
    let (format, _) = format_of(args)?;
    let facts = format.facts();
    let level = match (args.level, args.fast, args.best) {
        (Some(level), _, _) => level,
        (_, Some(fast), _) if facts.name == "zst" => -fast,
        (_, Some(_), _) => 1,
        (_, _, true) => facts.best_level,
        _ => facts.default_level,
    };
    if !facts.levels.contains(&level) {
        let (low, high) = (facts.levels.start().max(&0), facts.levels.end());
        return Err(usage(format!("{} has levels {low} to {high}, not {level}", facts.name)));
    }
    if level > facts.level_before_ultra && !args.ultra {
        let usual = facts.level_before_ultra;
        return Err(usage(format!(
            "{} levels above {usual} need much time and memory; --ultra allows them",
            facts.name
        )));
    }
    let layout = match (args.bgzf, args.single_frame || args.long.is_some()) {
        (true, _) if facts.name != "gz" => {
            return Err(usage("--bgzf is a kind of gz; --format says zst"));
        }
        (_, true) if facts.name != "zst" => {
            return Err(usage("--single-frame and --long are for zst"));
        }
        (true, _) => Layout::Bgzf,
        (_, true) => Layout::SingleUnit,
        _ => Layout::ParallelUnits,
    };
    let options = EncodeOptions { level, layout, window_log: args.long, library_threads: 1 };
    Ok(Direction::Compress { format, options })
}

fn decode_direction(args: &TampArgs) -> Direction {
    // COMPAT: zstd refuses windows above 128 MiB unless --long allows them.
    let window_bytes = 1_u64 << args.long.unwrap_or(27).max(27);
    Direction::Decompress { limits: DecodeLimits { unit_plain_bytes: UNIT_BYTES_MAX, window_bytes } }
}

/// One lane for each input that gets an output.
fn lanes(
    args: &TampArgs,
    direction: &Direction,
    files: &[Found],
    left_alone: &mut Vec<(PathBuf, LeftAlone)>,
) -> Vec<Lane> {
    if args.files.is_empty() {
        let output = output_of_stdin(args);
        return vec![Lane { input: Input::Stdin, output, source: Source::Keep }];
    }
    let mut lanes = Vec::with_capacity(files.len());
    for file in files {
        let is_stdin = file.path == Path::new("-");
        let output = if is_stdin { Ok(output_of_stdin(args)) } else { output_of(args, direction, &file.path) };
        match output {
            Ok(output) => {
                let removes = args.remove && matches!(output, Output::Path { .. }) && !is_stdin;
                let source = if removes { Source::Remove } else { Source::Keep };
                let input = if is_stdin { Input::Stdin } else { Input::Path(file.path.clone()) };
                lanes.push(Lane { input, output, source });
            }
            // COMPAT: gzip -r passes over what is packed already, and over what is not packed, without a word.
            Err(LeftAlone::PackedAlready { .. } | LeftAlone::UnknownEnding) if file.by_walking => {}
            Err(why) => left_alone.push((file.path.clone(), why)),
        }
    }
    lanes
}

fn output_of_stdin(args: &TampArgs) -> Output {
    match &args.output {
        _ if args.test => Output::Discard,
        Some(path) => Output::Path { path: path.clone(), replace: args.force },
        None => Output::Stdout,
    }
}

fn output_of(args: &TampArgs, direction: &Direction, path: &Path) -> Result<Output, LeftAlone> {
    if args.test || args.list {
        return Ok(Output::Discard);
    }
    if args.stdout {
        return Ok(Output::Stdout);
    }
    let suffix = args.suffix.as_deref();
    let name = match (&args.output, direction) {
        (Some(path), _) => path.clone(),
        (None, Direction::Compress { format, .. }) => names::packed(path, format.facts(), suffix, args.force)?,
        (None, Direction::Decompress { .. }) => names::plain(path, suffix)?,
    };
    Ok(Output::Path { path: name, replace: args.force })
}

fn tell_left_alone(context: &Context, direction: &Direction, path: &Path, why: &LeftAlone) {
    let verb = direction.verb(false);
    let (cause, hint) = match why {
        LeftAlone::PackedAlready { ending } => {
            (format!("its name ends in {ending} already"), Some("-f packs it once more"))
        }
        LeftAlone::UnknownEnding => {
            ("its name does not tell what to call the plain file".to_owned(), Some("-o or -c tells where to"))
        }
        LeftAlone::Directory => ("it is a directory".to_owned(), Some("-r goes through folders")),
        LeftAlone::Unreadable(error) => (error.clone(), None),
    };
    let hints: Vec<String> = hint.into_iter().map(str::to_owned).collect();
    context.messages.error(NAME, &format!("{verb} {}: {cause}", quote(path)), &hints);
}

/// What could be learnt of the inputs without reading them.
struct Sizes {
    /// Of each lane; `None` for streams and for what cannot be looked at.
    of_lanes: Vec<Option<u64>>,
    total_bytes: Option<u64>,
}

fn look_at_inputs(lanes: &[Lane]) -> Sizes {
    let of_lanes: Vec<Option<u64>> = lanes.iter().map(|lane| size_of(&lane.input)).collect();
    let total_bytes = of_lanes.iter().copied().sum::<Option<u64>>();
    Sizes { of_lanes, total_bytes }
}

fn size_of(input: &Input) -> Option<u64> {
    let metadata = match input {
        Input::Path(path) => std::fs::metadata(path).ok(),
        Input::Stdin => std::fs::metadata("/proc/self/fd/0").ok(),
    };
    metadata.filter(Metadata::is_file).map(|metadata| metadata.len())
}

fn label(lanes: &[Lane]) -> String {
    match lanes {
        [Lane { input: Input::Stdin, .. }] => "standard input".to_owned(),
        [Lane { input: Input::Path(path), .. }] => {
            let name = path.file_name().unwrap_or(path.as_os_str());
            terminal::printable(&name.to_string_lossy()).into_owned()
        }
        lanes => format!("{} files", terminal::integer(lanes.len() as u64)),
    }
}

fn purpose(context: &Context, direction: &Direction, args: &TampArgs, lanes: &[Lane], sizes: &Sizes) -> String {
    let verb = direction.verb(args.test);
    let size = sizes.total_bytes.map_or("size unknown".to_owned(), terminal::bytes);
    match lanes {
        [Lane { input: Input::Path(path), .. }] => {
            let whole = std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
            let place = machine::storage_of(&context.host, &whole).map_or(String::new(), |storage| {
                let device = storage.device.map_or(String::new(), |device| format!(" on {device}"));
                format!(", {}{device}", storage.filesystem)
            });
            format!("{verb} {} ({size}{place})", quote(path))
        }
        _ => format!("{verb} {} ({size})", label(lanes)),
    }
}

/// What is at the two ends of all lanes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// Regular files only.
    Files,
    /// A pipe, socket or terminal at one end at least.
    Pipe,
}

/// Decides hands, slots and executor, and writes all choices into the plan.
fn staff(
    context: &Context,
    args: &TampArgs,
    direction: Direction,
    lanes: &[Lane],
    sizes: &Sizes,
    plan: &mut Plan,
) -> (Direction, Staffing) {
    let allowed = context.machine.hands_allowed();
    let hands = args.shared.hands.unwrap_or(allowed);
    let memory = args.shared.memory.unwrap_or(context.machine.memory_budget_bytes() / MEMORY_SHARE);
    choose_format(args, &direction, plan);
    let from_files = sizes.of_lanes.iter().all(Option::is_some);
    plan.choose(
        "read",
        if from_files { "in each worker, at offsets" } else { "in a thread of its own" },
        if from_files {
            "the source is a regular file: no serial reader"
        } else {
            "a pipe gives its bytes in one order only"
        },
    );
    let chunks = chunks(&direction, sizes);
    let width = hands.min(usize::try_from(chunks.unwrap_or(u64::MAX)).unwrap_or(usize::MAX)).max(1);
    let to_files = lanes.iter().all(|lane| !matches!(lane.output, Output::Stdout)) || stdout_is_file();
    let ends = if from_files && to_files { Ends::Files } else { Ends::Pipe };
    let (width, slots, direction) = fit_into_memory(direction, width, ends, memory);
    let reason = match (args.shared.hands, chunks) {
        (_, Some(chunks)) if (chunks as usize) < hands => {
            format!("there are no more than {} to work on", counted(chunks, "chunk"))
        }
        (Some(asked), _) if width == asked => format!("-j; {allowed} allowed"),
        (None, _) if width == allowed => {
            let quota = context
                .machine
                .cpu_quota_millicores
                .map_or("none".to_owned(), |quota| format!("{}.{:02} cores", quota / 1000, quota % 1000 / 10));
            format!("{}; quota {quota}", counted(context.machine.allowed_cpus as u64, "allowed CPU"))
        }
        _ => "memory allows no more".to_owned(),
    };
    let work = direction.verb(false);
    plan.choose(work, format!("up to {}", counted(width as u64, "hand")), reason);
    plan.choose(
        "write",
        if args.test {
            "nowhere"
        } else if to_files {
            "in each worker, at offsets"
        } else {
            "in a thread of its own, in order"
        },
        if args.test {
            "-t only verifies"
        } else if to_files {
            "order fixed by the sizes of earlier chunks"
        } else {
            "a pipe takes bytes in one order only"
        },
    );
    let mode = choose_mode(width, ends);
    let slot = slot_size(&direction);
    plan.choose(
        "memory",
        format!("{} of {} allowed", terminal::bytes(slots.given as u64 * slot), terminal::bytes(memory)),
        format!("{} of {}", counted(slots.given as u64, "slot"), terminal::bytes(slot)),
    );
    let nicer = args.shared.priority.nicer_by();
    if args.shared.priority.class() != Priority::Normal {
        let reason = if nicer > 0 {
            format!("given; the kernel is asked for nice {nicer}")
        } else {
            "given; other runs do not see it yet".to_owned()
        };
        plan.choose("priority", format!("{:?}", args.shared.priority).to_lowercase(), reason);
    }
    (direction, Staffing { width, slots, mode })
}

fn choose_format(args: &TampArgs, direction: &Direction, plan: &mut Plan) {
    match direction {
        Direction::Compress { format, options } => {
            let facts = format.facts();
            let chunk = chunk_text(format.chunk_bytes(options));
            let units_text = match options.layout {
                Layout::SingleUnit => format!("one {}", facts.unit_name),
                Layout::Bgzf => "BGZF blocks".to_owned(),
                Layout::ParallelUnits => format!("{}s of {chunk}", facts.unit_name),
            };
            let (_, reason) = format_of(args).unwrap_or((*format, "the default"));
            plan.choose("format", format!("{} {units_text}, level {}", facts.name, options.level), reason);
        }
        Direction::Decompress { .. } => {
            plan.choose("format", "as the content tells", "names lie");
        }
    }
}

/// Chunk sizes are powers of two.
fn chunk_text(bytes: usize) -> String {
    if bytes.is_multiple_of(1 << 20) { format!("{} MiB", bytes >> 20) } else { format!("{} KiB", bytes >> 10) }
}

/// Chunks that there will be, where the sizes are known. Packed files do not tell before they are cut.
fn chunks(direction: &Direction, sizes: &Sizes) -> Option<u64> {
    let Direction::Compress { format, options } = direction else {
        return None;
    };
    if options.layout == Layout::SingleUnit {
        return None;
    }
    let chunk_bytes = format.chunk_bytes(options) as u64;
    sizes.of_lanes.iter().map(|size| size.map(|bytes| bytes.div_ceil(chunk_bytes).max(1))).sum()
}

/// Gives up slots first, then hands, until what is held fits. One hand and one slot always remain.
fn fit_into_memory(direction: Direction, width: usize, ends: Ends, memory: u64) -> (usize, Slots, Direction) {
    let wanted = slots_wanted(width, ends);
    let direction = match direction {
        // A unit takes its packed and its plain bytes; the cap divides into that many.
        Direction::Decompress { limits } => {
            let unit_plain_bytes = (memory / (2 * wanted as u64)).clamp(UNIT_BYTES_MIN, UNIT_BYTES_MAX);
            Direction::Decompress { limits: DecodeLimits { unit_plain_bytes, ..limits } }
        }
        Direction::Compress { format, options } => {
            let library_threads = if options.layout == Layout::SingleUnit { width as u32 } else { 1 };
            Direction::Compress { format, options: EncodeOptions { library_threads, ..options } }
        }
    };
    let slot = slot_size(&direction);
    let affordable = usize::try_from(memory / slot.max(1)).unwrap_or(usize::MAX).max(1);
    let given = wanted.min(affordable);
    // A worker without a slot of its own and one to spare for the chunk that waits to be written is no help.
    let width = width.min(given.saturating_sub(1).max(1));
    (width, Slots { given, wanted }, direction)
}

/// Between files two slots more than hands are enough: chunks end almost in order. A pipe at either end is read ahead and
/// written behind, so that it and the hands do not wait for each other: twice as many, and two.
fn slots_wanted(width: usize, ends: Ends) -> usize {
    match ends {
        Ends::Files => width + 2,
        Ends::Pipe => 2 * width + 2,
    }
}

fn slot_size(direction: &Direction) -> u64 {
    match direction {
        Direction::Compress { format, options } => slot_bytes(*format, options),
        Direction::Decompress { limits } => 2 * limits.unit_plain_bytes,
    }
}

/// One hand between files needs no thread; with a pipe at either end, waiting there must not stop the work.
fn choose_mode(width: usize, ends: Ends) -> Mode {
    if width == 1 && ends == Ends::Files { Mode::SingleCore } else { Mode::Threaded }
}

fn stdout_is_file() -> bool {
    std::fs::metadata("/proc/self/fd/1").is_ok_and(|metadata| metadata.is_file())
}

/// The plan with what is to be expected, found out by compressing a little of the source in memory.
pub fn expectation(job: &Job) -> Plan {
    let mut plan = job.plan.clone();
    let (Direction::Compress { format, options }, [Lane { input: Input::Path(path), .. }]) =
        (&job.direction, &job.lanes[..])
    else {
        return plan;
    };
    let Some(sample) = codec::sample::sample(path, *format, options) else {
        return plan;
    };
    let hands = job.staffing.width as f64;
    if let Some(total) = job.total_bytes {
        let seconds = total as f64 / sample.bytes_per_second / hands;
        let packed = (total as f64 * sample.packed_share) as u64;
        plan.choose(
            "expect",
            format!("about {}, {} packed", seconds_text(seconds), terminal::bytes(packed)),
            format!(
                "a sample of {} went at {} a hand; bound by compress",
                terminal::bytes(sample.bytes),
                terminal::rate(sample.bytes_per_second)
            ),
        );
    }
    plan
}
