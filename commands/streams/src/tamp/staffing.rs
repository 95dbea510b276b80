//! How many hands, how much room, threads or none: decided from the machine, the options and the inputs, each choice written
//! into the plan with its reason.

use super::memory::{Cap, Fitting, TooTight, fit};
use super::plan::{Direction, Sizes};
use super::{NAME, TampArgs};
use codec::format::{DecodeLimits, EncodeOptions, Format, UnitLayout};
use codec::lane::{Lane, LaneOutput};
use crew::budget::Priority;
use crew::pipeline::{Executor, Staffing};
use crew::plan::Plan;
use mh_kit::command_line::RefusedLine;
use mh_kit::context::Context;
use mh_kit::failure::Failure;
use mh_kit::report::counted;

/// The share of the memory at hand that a run takes without being told otherwise: an eighth leaves room for its producer
/// and consumer, and for other runs.
pub const MEMORY_SHARE: u64 = 8;

/// What is at the two ends of all lanes.
#[derive(Clone, Copy)]
pub struct Ends {
    pub from_files: bool,
    to_files: bool,
}

impl Ends {
    fn of(lanes: &[Lane], sizes: &Sizes, is_gathered: bool) -> Self {
        let stdout_is_file = || std::fs::metadata("/proc/self/fd/1").is_ok_and(|metadata| metadata.is_file());
        Self {
            from_files: sizes.of_lanes.iter().all(Option::is_some),
            to_files: is_gathered
                || lanes.iter().all(|lane| !matches!(lane.output, LaneOutput::Stdout))
                || stdout_is_file(),
        }
    }

    pub fn are_files(self) -> bool {
        self.from_files && self.to_files
    }
}

/// The highest level below the one that was asked for that fits under the cap.
fn lower_level(
    (format, options): (&'static dyn Format, EncodeOptions),
    lanes: usize,
    ends: Ends,
    cap: Cap,
) -> Option<i32> {
    (1..options.level).rev().find(|&level| {
        let options = EncodeOptions { level, ..options };
        fit(Direction::Compress { format, options, keep_up: None }, 1, lanes, ends, cap).is_ok()
    })
}

/// The refusal of a level that needs more than it may, with the ways out. The size is in units of 1024, as the option reads it.
fn too_tight(need_bytes: u64, cap: Cap, lower: Option<i32>) -> Failure {
    let (need, allowed) = (terminal::bytes(need_bytes), terminal::bytes(cap.bytes));
    let message = format!("this level needs {need} on one hand, --memory allows {allowed}");
    let mut hint = format!("--memory {}M", need_bytes.div_ceil(1 << 20));
    hint.extend(lower.map(|level| format!(", or a level up to -{level}")));
    Failure::Refused { program: NAME.to_owned(), refused: RefusedLine { message, hints: vec![hint] } }
}

/// Decides hands, slots and executor.
pub fn staff(
    context: &Context,
    args: &TampArgs,
    direction: Direction,
    lanes: &[Lane],
    sizes: &Sizes,
    plan: &mut Plan,
) -> Result<(Direction, Staffing), Failure> {
    let ends = Ends::of(lanes, sizes, args.gathers);
    let cap = Cap {
        bytes: args.shared.memory.unwrap_or(context.machine.memory_budget_bytes() / MEMORY_SHARE),
        is_promise: args.shared.memory.is_some(),
    };
    let asked = args.shared.hands_asked().unwrap_or(context.machine.hands_allowed());
    let chunks = chunks(&direction, sizes);
    let useful = chunks.map_or(asked, |chunks| usize::try_from(chunks).unwrap_or(usize::MAX).min(asked)).max(1);
    // Under limits of xz's kind one lane is open at a time.
    let lanes_open = if args.xz.has_limits { 1 } else { lanes.len() };
    let asked_for = match &direction {
        Direction::Compress { format, options, keep_up: None } => Some((*format, *options)),
        _ => None,
    };
    let fitting = fit(direction, useful, lanes_open, ends, cap).map_err(|TooTight { need_bytes }| {
        let lower = asked_for.and_then(|asked_for| lower_level(asked_for, lanes_open, ends, cap));
        too_tight(need_bytes, cap, lower)
    })?;
    let Fitting { width, slots, direction, held_bytes } = fitting;
    // One hand between files needs no thread; with a pipe at either end, waiting there must not stop the work, if there is any.
    let has_one_chunk = ends.from_files && chunks == Some(1);
    let mode =
        if width == 1 && (ends.are_files() || has_one_chunk) { Executor::SingleCore } else { Executor::Threaded };

    explain_reading(&direction, ends, plan);
    let reason = reason_for_width(context, args, width, useful, chunks);
    plan.choose(direction.verb(false), format!("up to {}", counted(width as u64, "hand")), reason);
    explain_writing(ends, args.test, plan);
    let held = format!("{} of {} allowed", terminal::bytes(held_bytes), terminal::bytes(cap.bytes));
    plan.choose(
        "memory",
        held,
        format!("{}, and the codecs of {}", counted(slots.given as u64, "slot"), counted(width as u64, "hand")),
    );
    explain_priority(args, plan);
    let (direction, lanes_at_once) = match direction {
        // The memory of a file's filters has a limit of its own, and no two files share it.
        Direction::Decompress { limits } if args.xz.has_limits => {
            (Direction::Decompress { limits: DecodeLimits { stream_bytes: u64::MAX, ..limits } }, 1)
        }
        direction if args.xz.has_limits => (direction, 1),
        direction => (direction, lanes_at_once()),
    };
    Ok((direction, Staffing { width, slots, lanes_at_once, mode }))
}

/// LIMIT: open files. A lane takes its input, its output, a bell and for a moment one more; some are ours.
fn lanes_at_once() -> usize {
    let open_files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(1 << 16);
    usize::try_from(open_files.saturating_sub(12) / 4).unwrap_or(usize::MAX).max(1)
}

/// Chunks that there will be, where the sizes are known. Compressed files do not tell before they are cut.
fn chunks(direction: &Direction, sizes: &Sizes) -> Option<u64> {
    let Direction::Compress { options, .. } = direction else { return None };
    if options.layout == UnitLayout::SingleUnit {
        return None;
    }
    let chunk_bytes = direction.chunk_bytes() as u64;
    sizes.of_lanes.iter().map(|size| size.map(|bytes| bytes.div_ceil(chunk_bytes).max(1))).sum()
}

/// The format's line of the plan; `reason` says why this format.
pub fn explain_format(direction: &Direction, reason: &str, plan: &mut Plan) {
    let Direction::Compress { format, options, keep_up } = direction else {
        plan.choose("format", "as the content tells", "names lie");
        return;
    };
    let facts = format.facts();
    let units = match options.layout {
        // Blocks of an unknown number, as their bytes come.
        UnitLayout::SingleUnit if facts.unit_name == "block" => "blocks, one behind another".to_owned(),
        UnitLayout::SingleUnit => format!("one {}", facts.unit_name),
        UnitLayout::Bgzf => "BGZF blocks".to_owned(),
        UnitLayout::ParallelUnits | UnitLayout::LegacyBlocks => {
            format!("{}s of {}", facts.unit_name, chunk_size(direction.chunk_bytes()))
        }
    };
    let Some(levels) = keep_up else {
        plan.choose("format", format!("{} {units}, level {}", facts.name, options.level), reason);
        return;
    };
    plan.choose("format", format!("{} {units}", facts.name), reason);
    let range = format!("{} to {}, as the producer allows", levels.start(), levels.end());
    plan.choose("level", range, "--keep-up; the output depends on timing");
}

/// Powers of two in MiB, as the formats count; the others as bytes are.
fn chunk_size(bytes: usize) -> String {
    if bytes.is_multiple_of(1 << 20) { format!("{} MiB", bytes >> 20) } else { terminal::bytes(bytes as u64) }
}

fn explain_reading(direction: &Direction, ends: Ends, plan: &mut Plan) {
    let in_series = match direction {
        Direction::Compress { options, .. } if options.layout == UnitLayout::SingleUnit => {
            Some("one unit takes its bytes in order")
        }
        Direction::Compress { options, .. } if options.is_rsyncable => {
            Some("where a unit ends depends on the bytes before")
        }
        _ => None,
    };
    match ends.from_files {
        true if in_series.is_some() => plan.choose("read", "in order", in_series.unwrap_or_default()),
        true => plan.choose("read", "in each worker, at offsets", "the source is a regular file: no serial reader"),
        false => plan.choose("read", "in a thread of its own", "a pipe gives its bytes in one order only"),
    }
}

fn explain_writing(ends: Ends, is_test: bool, plan: &mut Plan) {
    match (is_test, ends.to_files) {
        (true, _) => plan.choose("write", "nowhere", "-t only verifies"),
        (_, true) => {
            plan.choose("write", "in the workers, at offsets", "order fixed by the sizes of earlier chunks");
        }
        (_, false) => {
            plan.choose("write", "in a thread of its own, in order", "a pipe takes bytes in one order only");
        }
    }
}

fn reason_for_width(context: &Context, args: &TampArgs, width: usize, useful: usize, chunks: Option<u64>) -> String {
    let allowed = context.machine.hands_allowed();
    let asked = args.shared.hands_asked().unwrap_or(allowed);
    if width < useful {
        return "memory allows no more".to_owned();
    }
    if useful < asked {
        return format!("there is no more than {} to work on", counted(chunks.unwrap_or(1), "chunk"));
    }
    if args.shared.hands_asked().is_some() {
        return format!("-j; {allowed} allowed");
    }
    let quota = context.machine.cpu_quota_millicores;
    let quota = quota.map_or("none".to_owned(), |quota| format!("{}.{:02} cores", quota / 1000, quota % 1000 / 10));
    format!("{}; quota {quota}", counted(context.machine.allowed_cpus as u64, "allowed CPU"))
}

fn explain_priority(args: &TampArgs, plan: &mut Plan) {
    let class = args.shared.priority().class();
    if class == Priority::Normal {
        return;
    }
    let reason = match args.shared.priority().nicer_by() {
        0 => "given, or the runner's; among all runs of mh".to_owned(),
        nicer => format!("given, or the runner's; among all runs of mh, and the kernel is asked for nice {nicer}"),
    };
    plan.choose("priority", format!("{class:?}").to_lowercase(), reason);
}
