//! What `mh tamp` will do, decided before anything is done: lanes, format, hands, slots, each with its reason.
//! Looks at files and at the machine; changes nothing.

use super::manners::{Event, Manners, Way};
use super::names::{self, Found, LeftAlone};
use super::{NAME, TampArgs, keep_up, origin, staffing};
use codec::format::{DecodeLimits, EncodeOptions, Format, UnitLayout};
use codec::lane::{Holes, Lane, LaneInput, LaneOutput, OutputCare, SourceFate};
use codec::reading::StreamReading;
use codec::registry;
use crew::budget::Priority;
use crew::pipeline::Staffing;
use crew::plan::Plan;
use crew::verdict::Circumstances;
use mh_kit::context::Context;
use mh_kit::failure::Failure;
use mh_kit::report::{range_text, seconds_text};
use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{Read, Seek, SeekFrom};
use std::ops::RangeInclusive;
use std::os::fd::AsFd;
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
    pub way: Way,
    pub manners: Manners,
    /// Of each lane: the time that its uncompressed file gets, where the compressed one tells it and it is wanted.
    pub times: Vec<Option<u32>>,
    pub staffing: Staffing,
    pub priority: Priority,
    pub circumstances: Circumstances,
    /// What the progress line and the report call it.
    pub label: String,
    /// Source bytes, where all of them are known.
    pub total_bytes: Option<u64>,
    /// Files that were named but are not worked on.
    pub left_alone: usize,
    /// The way streams are read.
    pub reading: StreamReading,
}

impl Job {
    /// Whether everything goes to standard output; in a plan a common output of several inputs counts as it.
    pub fn goes_to_stdout(&self) -> bool {
        self.one_output && !self.lanes.iter().any(|lane| matches!(lane.output, LaneOutput::Open(_)))
    }
}

/// Which way, and how.
#[expect(clippy::large_enum_variant, reason = "there is one a run")]
pub enum Direction {
    Compress {
        format: &'static dyn Format,
        options: EncodeOptions,
        /// Levels to choose from, chunk by chunk.
        keep_up: Option<RangeInclusive<i32>>,
    },
    Decompress {
        limits: DecodeLimits,
    },
}

impl Direction {
    pub fn is_compression(&self) -> bool {
        matches!(self, Self::Compress { .. })
    }

    /// Whether a library divides the work among threads of its own.
    fn uses_library_threads(&self) -> bool {
        let Self::Compress { format, options, .. } = self else { return false };
        options.layout == UnitLayout::SingleUnit && format.facts().unit_name == "frame"
    }

    /// Uncompressed bytes in one unit that we write; what is read has its own.
    pub fn chunk_bytes(&self) -> usize {
        match self {
            Self::Compress { format, options, keep_up: Some(_) } => codec::keep_up::chunk_bytes(*format, options),
            Self::Compress { format, options, keep_up: None } => format.chunk_bytes(options),
            Self::Decompress { .. } => 0,
        }
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
/// long units decode in parallel, at twice this much memory a slot where they are there. Smaller: less memory. The blocks of
/// `xz -9` have 192 MiB, pzstd's longest frames 32 MiB; a pipe's unit must have arrived before it is
/// begun, and a bz2 block made of runs has up to 46.6 MB.
pub const FILE_UNIT_BYTES_MAX: u64 = 256 << 20;
pub const PIPE_UNIT_BYTES_MAX: u64 = 48 << 20;

/// The inputs, and which way they go.
pub struct Inputs {
    pub direction: Direction,
    pub lanes: Vec<Lane>,
    /// Files that were named but will not be worked on.
    pub left_alone: Vec<(PathBuf, LeftAlone)>,
}

/// Looks at what was named.
pub fn look(context: &Context, args: &TampArgs) -> Result<Inputs, Failure> {
    check_combinations(context, args)?;
    let mut left_alone = Vec::new();
    let meant: Vec<PathBuf> = match decompresses(args) {
        true => args.files.iter().map(|path| args.manners.meant(path, args.suffix.as_deref())).collect(),
        false => args.files.clone(),
    };
    let files = names::expand(&meant, args.recursive, args.manners.refuses.inside, &mut left_alone);
    let direction = if decompresses(args) { decode_direction(args)? } else { encode_direction(args)? };
    let lanes = lanes(args, &direction, &files, &mut left_alone);
    Ok(Inputs { direction, lanes, left_alone })
}

/// Makes the plan.
pub fn plan(context: &Context, args: &TampArgs, inputs: Inputs) -> Result<Job, Failure> {
    let Inputs { direction, lanes, left_alone } = inputs;
    if args.keep_up.is_some() {
        keep_up::check_sources(&lanes)?;
    }
    let sizes = look_at_inputs(&lanes);
    // Inputs that cannot be looked at have no output; the others still go to one, in order.
    let one_output = lanes.iter().any(|lane| lane.output == LaneOutput::Stdout)
        && lanes.iter().all(|lane| matches!(lane.output, LaneOutput::Stdout | LaneOutput::Discard));
    let mut plan = Plan::new(purpose(context, &direction, args, &lanes, &sizes));
    let (_, reason) = format_of(args)?;
    staffing::explain_format(&direction, reason, &mut plan);
    let (direction, staffing) = staffing::staff(context, args, direction, &lanes, &sizes, &mut plan)?;
    mh_kit::sharing::explain(&mut plan);
    let circumstances = Circumstances {
        hands_allowed: context.machine.hands_allowed(),
        hands_asked: args.shared.hands_asked(),
        priority_is_lowered: args.shared.priority().class() < Priority::Normal,
        library_threads: direction.uses_library_threads(),
        others_cpu_ns: 0,
    };
    Ok(Job {
        plan,
        direction,
        one_output,
        is_test: args.test,
        way: Way::of(args),
        manners: args.manners.clone(),
        times: origin::times(args, &lanes),
        staffing,
        priority: args.shared.priority().class(),
        circumstances,
        label: label(&lanes),
        total_bytes: sizes.total_bytes,
        left_alone: left_alone.len(),
        reading: args.xz.reading,
        lanes,
    })
}

pub fn usage(message: impl Into<String>) -> Failure {
    Failure::Usage { command: NAME, message: message.into() }
}

pub fn decompresses(args: &TampArgs) -> bool {
    args.decompress || args.test || args.list
}

fn check_combinations(context: &Context, args: &TampArgs) -> Result<(), Failure> {
    let reads_stdin = args.files.is_empty() || args.files.iter().any(|file| file == Path::new("-"));
    let to_stdout = args.stdout || (reads_stdin && args.output.is_none());
    if args.output.is_some() && !args.gathers && (args.files.len() > 1 || args.recursive) {
        return Err(usage("-o takes one file; -c puts several into standard output"));
    }
    if args.suffix.as_ref().is_some_and(|suffix| suffix.is_empty() || suffix.contains('/')) {
        return Err(usage("-S needs a suffix without /"));
    }
    if args.files.iter().filter(|file| *file == Path::new("-")).count() > 1 {
        return Err(usage("standard input can be read once; - is given twice"));
    }
    let is_directory = |path: &&Path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    if let Some(output) = args.output.as_deref().filter(is_directory).filter(|_| args.manners.voice.is_none()) {
        let message = format!("write {}: it is a directory, and -o takes a file", quote(output));
        return Err(Failure::Environment { command: NAME, message });
    }
    if args.output.is_some() && args.stdout {
        return Err(usage("give either -o or -c"));
    }
    if args.list && reads_stdin && !args.lists_stdin {
        return Err(usage("-l needs files: a stream cannot be listed and kept"));
    }
    keep_up::check_combinations(args)?;
    if !decompresses(args) && to_stdout && context.terminals.stdout && !args.force && !args.shared.explain {
        refuse(context, args, &Event::TerminalOut)?;
        return Err(usage("compressed data is not written to a terminal; redirect it, or force it with -f"));
    }
    if decompresses(args) && reads_stdin && context.terminals.stdin && !args.force {
        refuse(context, args, &Event::TerminalIn)?;
        return Err(usage("compressed data cannot be read from a terminal; give a file or a pipe"));
    }
    Ok(())
}

/// The same in the words of the tool whose name was used, if one was.
fn refuse(context: &Context, args: &TampArgs, event: &Event<'_>) -> Result<(), Failure> {
    if !args.manners.say(context, event) {
        return Ok(());
    }
    Err(Failure::InWordsOfOthers { text: String::new(), code: args.manners.codes.worst() })
}

/// The format to write: as given, or as the ending of the output's name or of `-S` tells, or the default.
fn format_of(args: &TampArgs) -> Result<(&'static dyn Format, &'static str), Failure> {
    if args.xz.is_raw {
        return Ok((registry::raw(), "given"));
    }
    if let Some(name) = &args.format {
        return Ok((registry::by_name(name).expect("clap lets only these through"), "given"));
    }
    let ending = args.output.as_ref().map(|path| path.to_string_lossy().into_owned()).or_else(|| args.suffix.clone());
    let by_ending = ending.and_then(|ending| {
        registry::formats()
            .iter()
            .copied()
            .find(|format| format.can_encode() && registry::is_compressed_name(format.facts(), &ending))
    });
    if args.bgzf {
        return Ok((registry::by_name("gz").expect("gz is registered"), "--bgzf is a kind of gz"));
    }
    Ok(match by_ending {
        Some(format) => (format, "from the output's name"),
        None => (registry::formats()[0], "the default"),
    })
}

pub fn encode_direction(args: &TampArgs) -> Result<Direction, Failure> {
    let (format, _) = format_of(args)?;
    let facts = format.facts();
    let level = match (args.level, args.fast, args.best) {
        (Some(level), _, _) => level,
        (_, Some(fast), _) if *facts.levels.start() < 0 => -fast,
        (_, Some(_), _) => 1,
        (_, _, true) => facts.best_level,
        _ => facts.default_level,
    };
    if !facts.levels.contains(&level) {
        let (low, high) = (facts.levels.start().max(&0), facts.levels.end());
        let usual = facts.level_before_ultra;
        let range = match usual < *high && !args.ultra {
            true => format!("{low} to {usual}, and to {high} with --ultra"),
            false => format!("{low} to {high}"),
        };
        return Err(usage(format!("{} has levels {range}, not {level}", facts.name)));
    }
    if level > facts.level_before_ultra && !args.ultra {
        let usual = facts.level_before_ultra;
        return Err(usage(format!(
            "{} levels above {usual} need much time and memory; --ultra allows them",
            facts.name
        )));
    }
    if args.dictionary.is_some() && !matches!(facts.name, "zst" | "lz4") {
        return Err(usage("-D is for zst and lz4"));
    }
    let layout = match (args.bgzf, args.single_frame || args.long.is_some() || args.zst.needs_one_frame()) {
        (true, _) if facts.name != "gz" => {
            return Err(usage(format!("--bgzf is a kind of gz; --format says {}", facts.name)));
        }
        (_, true) if facts.name != "zst" => {
            return Err(usage("--single-frame and --long are for zst"));
        }
        _ if args.legacy_blocks => UnitLayout::LegacyBlocks,
        (true, _) => UnitLayout::Bgzf,
        _ if facts.unit_name == "stream" || args.xz.is_in_order => UnitLayout::SingleUnit,
        (_, true) => UnitLayout::SingleUnit,
        _ => UnitLayout::ParallelUnits,
    };
    let options = EncodeOptions {
        level,
        is_extreme: args.extreme,
        is_rsyncable: args.rsyncable,
        check: args.check,
        layout,
        dictionary: dictionary(args)?,
        window_log: args.long,
        reach_bytes: None,
        hides_dictionary: args.hides_dictionary,
        zst: args.zst,
        library_threads: 1,
        blocks: args.xz.blocks,
    };
    let keep_up = keep_up::levels(args, facts)?;
    // Chunks and memory as the highest level needs them.
    let level = keep_up.as_ref().map_or(level, |levels| *levels.end());
    Ok(Direction::Compress { format, options: EncodeOptions { level, ..options }, keep_up })
}

/// The dictionary's bytes: kept for the whole run, so that every encoder and decoder can look at them.
fn dictionary(args: &TampArgs) -> Result<Option<&'static [u8]>, Failure> {
    let Some(path) = &args.dictionary else { return Ok(None) };
    // LIMIT: as zstd has it.
    const DICTIONARY_BYTES_MAX: u64 = 32 << 20;
    // COMPAT: lz4 takes the end of a file of any size.
    const LZ4_BYTES: u64 = 64 << 10;
    let mut bytes = Vec::new();
    let mut read = || {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        if length > DICTIONARY_BYTES_MAX && args.format.as_deref() == Some("lz4") {
            file.seek(SeekFrom::Start(length - LZ4_BYTES))?;
        }
        file.take(DICTIONARY_BYTES_MAX + 1).read_to_end(&mut bytes)
    };
    read().map_err(|error| usage(format!("could not read the dictionary {}: {error}", quote(path))))?;
    if bytes.len() as u64 > DICTIONARY_BYTES_MAX {
        return Err(usage(format!("the dictionary {} is larger than 32 MiB", quote(path))));
    }
    Ok(Some(bytes.leak()))
}

fn decode_direction(args: &TampArgs) -> Result<Direction, Failure> {
    // COMPAT: zstd refuses windows above 128 MiB unless --long allows them.
    let window_bytes = args.window_bytes.unwrap_or(1 << args.long.unwrap_or(27).max(27));
    Ok(Direction::Decompress {
        limits: DecodeLimits {
            unit_uncompressed_bytes: PIPE_UNIT_BYTES_MAX,
            unit_held_bytes: u64::MAX,
            window_bytes,
            dictionary: dictionary(args)?,
            prefix: args.zst.prefix,
            stream_bytes: u64::MAX,
            ahead_bytes: 0,
            streams_lone_unit: true,
        },
    })
}

/// One lane for each input that gets an output.
fn lanes(
    args: &TampArgs,
    direction: &Direction,
    files: &[Found],
    left_alone: &mut Vec<(PathBuf, LeftAlone)>,
) -> Vec<Lane> {
    let care = care(args, direction);
    if args.files.is_empty() {
        let output = output_of_stdin(args);
        return vec![Lane { input: LaneInput::Stdin, output, source: SourceFate::Keep, care }];
    }
    let mut lanes = Vec::with_capacity(files.len());
    let mut names = HashMap::new();
    for file in files {
        let is_stdin = file.path == Path::new("-");
        let refused = if is_stdin { None } else { args.manners.refused(&file.path) };
        let output = match refused {
            Some(why) => Err(why),
            None if is_stdin => Ok(output_of_stdin(args)),
            None => output_of(args, direction, &file.path),
        };
        match output.and_then(|output| claim_name(&mut names, output, &file.path)) {
            Ok(output) => {
                let removes = args.remove && matches!(output, LaneOutput::Path { .. }) && !is_stdin;
                let source = if removes { SourceFate::Remove } else { SourceFate::Keep };
                let input = if is_stdin { LaneInput::Stdin } else { LaneInput::Path(file.path.clone()) };
                lanes.push(Lane { input, output, source, care });
            }
            // COMPAT: gzip -r passes over what is compressed already, and over what is not compressed, without a word.
            Err(LeftAlone::CompressedAlready { .. } | LeftAlone::UnknownEnding) if file.by_walking => {}
            Err(why) => left_alone.push((file.path.clone(), why)),
        }
    }
    lanes
}

fn care(args: &TampArgs, direction: &Direction) -> OutputCare {
    let holes = match direction {
        // Compressed data have no long runs of zeros.
        Direction::Compress { .. } => Holes::Never,
        Direction::Decompress { .. } if args.no_sparse => Holes::Never,
        Direction::Decompress { .. } if args.sparse => Holes::Everywhere,
        Direction::Decompress { .. } => Holes::InNamedFiles,
    };
    OutputCare { holes, syncs: args.fsync, keeps_good: args.keep_good }
}

/// Two files must not get the same output: they would be written at the same time, and one would be lost.
fn claim_name(
    names: &mut HashMap<PathBuf, PathBuf>,
    output: LaneOutput,
    input: &Path,
) -> Result<LaneOutput, LeftAlone> {
    if let LaneOutput::Path { path, .. } = &output
        && let Some(other) = names.insert(path.clone(), input.to_owned())
    {
        names.insert(path.clone(), other.clone());
        return Err(LeftAlone::SameOutput { other });
    }
    Ok(output)
}

fn output_of_stdin(args: &TampArgs) -> LaneOutput {
    match &args.output {
        _ if args.test || args.list => LaneOutput::Discard,
        Some(path) if !args.gathers => to_name(path, args),
        _ => LaneOutput::Stdout,
    }
}

fn output_of(args: &TampArgs, direction: &Direction, path: &Path) -> Result<LaneOutput, LeftAlone> {
    if args.test || args.list {
        return Ok(LaneOutput::Discard);
    }
    let is_named = !args.stdout && args.output.is_none();
    match std::fs::metadata(path) {
        // Opening it will tell why.
        Err(_) => return Ok(LaneOutput::Discard),
        Ok(metadata) if !metadata.is_file() && is_named => return Err(LeftAlone::NotAFile),
        Ok(_) => {}
    }
    let suffix = args.suffix.as_deref();
    let packs_twice = args.manners.packs_twice;
    if let Direction::Compress { format, .. } = direction
        && args.output.is_none()
        && !(args.force && packs_twice.by_force || args.stdout && packs_twice.to_stdout)
        && let Some(ending) = names::compressed_ending(path, format.facts(), suffix, &args.manners)
    {
        return Err(LeftAlone::CompressedAlready { ending });
    }
    let name = match (&args.output, direction) {
        _ if args.stdout || args.gathers => return Ok(LaneOutput::Stdout),
        (Some(path), _) => return Ok(to_name(path, args)),
        (None, Direction::Compress { format, .. }) => names::compressed(path, format.facts(), suffix),
        (None, Direction::Decompress { .. }) => {
            let uncompressed = names::uncompressed(path, suffix, &args.manners)?;
            origin::name_in(path, args).map_or(uncompressed, |name| path.with_file_name(name))
        }
    };
    let verb = direction.verb(false);
    let placed = args.manners.place(name);
    Ok(LaneOutput::Path {
        path: placed.map_err(|directory| LeftAlone::AboveMirror { directory, verb })?,
        replace: args.force,
    })
}

/// What `-o` says: `-` is standard output, as for zstd.
fn to_name(path: &Path, args: &TampArgs) -> LaneOutput {
    match path == Path::new("-") {
        true => LaneOutput::Stdout,
        // A FIFO or device that is named is meant.
        false => LaneOutput::Path { path: path.to_owned(), replace: args.force || names::is_special(path) },
    }
}

/// What could be learnt of the inputs without reading them.
pub struct Sizes {
    /// Of each lane; `None` for streams and for what cannot be looked at.
    pub of_lanes: Vec<Option<u64>>,
    pub total_bytes: Option<u64>,
}

fn look_at_inputs(lanes: &[Lane]) -> Sizes {
    let of_lanes: Vec<Option<u64>> = lanes.iter().map(|lane| size_of(&lane.input)).collect();
    let total_bytes = of_lanes.iter().copied().sum::<Option<u64>>();
    Sizes { of_lanes, total_bytes }
}

/// Of standard input itself: no file system is needed for it.
pub fn stdin_metadata() -> std::io::Result<Metadata> {
    File::from(std::io::stdin().as_fd().try_clone_to_owned()?).metadata()
}

fn size_of(input: &LaneInput) -> Option<u64> {
    let metadata = match input {
        LaneInput::Path(path) => std::fs::metadata(path),
        LaneInput::Stdin => stdin_metadata(),
    };
    // What cannot be looked at will not be read: it adds nothing.
    metadata.map_or(Some(0), |metadata| metadata.is_file().then_some(metadata.len()))
}

fn label(lanes: &[Lane]) -> String {
    match lanes {
        [Lane { input: LaneInput::Stdin, .. }] => "standard input".to_owned(),
        [Lane { input: LaneInput::Path(path), .. }] => {
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
        [Lane { input: LaneInput::Path(path), .. }] => {
            let place = if args.shared.explain { storage(context, path) } else { String::new() };
            format!("{verb} {} ({size}{place})", quote(path))
        }
        _ => format!("{verb} {} ({size})", label(lanes)),
    }
}

/// Where a file lies, for the plan alone: it takes a while to find out.
fn storage(context: &Context, path: &Path) -> String {
    let whole = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    machine::storage_of(&context.host, &whole).map_or(String::new(), |storage| {
        let device = storage.device.map_or(String::new(), |device| format!(" on {device}"));
        format!(", {}{device}", storage.filesystem)
    })
}

/// The plan with what is to be expected, found out by compressing a little of the source in memory.
pub fn expectation(job: &Job) -> Plan {
    let mut plan = job.plan.clone();
    let (Direction::Compress { format, options, keep_up: None }, [Lane { input: LaneInput::Path(path), .. }]) =
        (&job.direction, &job.lanes[..])
    else {
        return plan;
    };
    let Some(sample) = codec::sample::sample(path, *format, options) else {
        return plan;
    };
    if let Some(total) = job.total_bytes {
        // Units are not divided: the last round leaves hands idle.
        let unit_bytes = job.direction.chunk_bytes().max(1) as u64;
        let rounds = total.div_ceil(unit_bytes).div_ceil(job.staffing.width.max(1) as u64);
        let bytes_a_hand = (rounds * unit_bytes).min(total);
        let seconds = bytes_a_hand as f64 / sample.bytes_per_second;
        let [least, most] = [sample.compressed_least, sample.compressed_most].map(terminal::bytes);
        let tried = match sample.is_whole {
            true => format!("all {}", terminal::bytes(sample.bytes)),
            false => format!("{} of {} places", terminal::bytes(sample.bytes), sample.places),
        };
        plan.choose(
            "expect",
            format!("about {}, {} compressed", seconds_text(seconds), range_text(&least, &most)),
            format!("{tried} were tried, at {} a hand", terminal::rate(sample.bytes_per_second)),
        );
    }
    plan
}

#[cfg(test)]
mod tests;
