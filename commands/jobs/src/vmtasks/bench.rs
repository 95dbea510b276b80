//! `mh vmtasks bench`: what it takes here to create, lock and destroy memory, by one thread and by more. Decides what is measured; the engine
//! measures.

mod show;

use super::NAME;
use crate::mappings::page_label;
use clap::{Args, ValueEnum};
use crew::budget::{Lease, Request, Weight};
use memory::error::MemoryError;
use memory::knee::thread_counts;
use memory::limits::{MemoryLimits, Shortage};
use memory::measure::{MeasurePlan, MeasureStep, MeasuredCosts, MeasuredKind, measure};
use memory::pool::{ThreadPool, allowed_nodes};
use mh_kit::context::{Context, temporary_directory};
use mh_kit::failure::{Failure, Outcome, with_causes};
use mh_kit::instrument::look::LookArgs;
use mh_kit::report::{json_line, print_as};
use mh_kit::shared_args::{PriorityArg, parse_hands, parse_size};
use mh_kit::sharing;
use parking_lot::Mutex;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;
use terminal::Progress;

/// What to measure.
#[derive(Args, Debug)]
pub struct BenchArgs {
    /// Size of each range [default: 4G, or a quarter of the available memory if that is less]
    #[arg(long, value_name = "SIZE", value_parser = parse_range_size)]
    size: Option<u64>,

    /// Kind of memory
    #[arg(long, value_enum, default_value = "anon")]
    kind: KindArg,

    /// Measure ranges that are locked, too
    #[arg(long)]
    lock: bool,

    /// The most threads [default: all CPUs that this process may use]
    #[arg(short = 'j', long = "hands", short_aliases = ['T', 'p'], alias = "threads", value_name = "N", value_parser = parse_hands)]
    hands: Option<usize>,

    /// How often each number of threads is measured; medians are shown
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=100))]
    rounds: u8,

    /// Directory of the file of --kind file [default: TMPDIR, or /tmp]
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    directory: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    look: LookArgs,
}

/// Kinds of memory, as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum KindArg {
    /// Memory of one process, in the smallest pages
    Anon,
    /// Shared memory without a file, as PostgreSQL has it
    Shm,
    /// Files in memory (memfd), side by side
    Memfd,
    /// A segment of System V
    Sysv,
    /// Huge pages of the pool, or transparent ones if it has too few
    Huge,
    /// A file of a directory, mapped
    File,
}

/// What is measured, and why.
#[derive(Debug, PartialEq, Eq)]
struct BenchPlan {
    kind: MeasuredKind,
    /// What the kind is called.
    what: String,
    bytes: u64,
    why_bytes: &'static str,
    threads_max: usize,
    /// CPUs that this process may use.
    cpus: usize,
}

/// For programs.
#[derive(Serialize)]
struct BenchReport<'a> {
    kind: &'a str,
    why_bytes: &'a str,
    kernel: &'a str,
    cpus: usize,
    #[serde(flatten)]
    measured: &'a MeasuredCosts,
}

/// As the issue of the kernel's own tables: what fits a machine of today, and is over in seconds.
const BYTES: u64 = 4 << 30;
/// LIMIT: of the available memory, so much is taken where nobody said how much.
const MEMORY_PARTS: u64 = 4;
/// LIMIT: of threads; more would be measured on no machine that there is.
const THREADS_MAX: usize = 256;
/// Huge pages of the pool are the usual ones.
const HUGE_PAGE_BYTES: u64 = 2 << 20;

/// LIMIT: of a smaller range, starting threads is all that would be measured.
const BYTES_MIN: u64 = 1 << 20;

fn parse_range_size(text: &str) -> Result<u64, String> {
    match parse_size(text)? {
        bytes if bytes < BYTES_MIN => Err("1M is the least".to_owned()),
        bytes => Ok(bytes),
    }
}

/// Measures, and prints.
pub fn run(context: &Context, args: &BenchArgs) -> Result<Outcome, Failure> {
    let limits = MemoryLimits::look(&context.host, &context.machine, HUGE_PAGE_BYTES);
    let plan = plan(args, context.machine.hands_allowed(), &limits);
    if let Some(hands) = args.hands.filter(|hands| *hands > THREADS_MAX) {
        context.messages.note(NAME, &format!("-j {hands}: {THREADS_MAX} threads are the most that are measured"));
    }
    let pool =
        ThreadPool::new(lease(context, &plan), allowed_nodes(&context.host), plan.threads_max).map_err(failure)?;
    let measured = with_progress(context, |tell| measure(&pool, &limits, &measure_plan(args, &plan), tell));
    let measured = measured.map_err(failure)?;
    let kernel = kernel();
    let text = match args.json {
        true => json_line(&BenchReport {
            kind: &plan.what,
            why_bytes: plan.why_bytes,
            kernel: &kernel,
            cpus: context.machine.hands_allowed(),
            measured: &measured,
        }),
        false => show::as_text(args.look.look(), &plan, &measured, &kernel),
    };
    print_as(NAME, &text)?;
    Ok(Outcome::Done)
}

fn failure(error: MemoryError) -> Failure {
    let message = match &error {
        MemoryError::Short(shortage) => shortage_label(shortage),
        error => with_causes(error),
    };
    Failure::Environment { command: NAME, message }
}

/// `get 100 TB: MemAvailable leaves 23.4 GB`.
fn shortage_label(shortage: &Shortage) -> String {
    let Shortage { limit, wanted, there, unit } = shortage;
    match *unit {
        "bytes" => format!("get {}: {limit} leaves {}", terminal::bytes(*wanted), terminal::bytes(*there)),
        unit => format!("get {} {unit}: {limit} leaves {}", terminal::integer(*wanted), terminal::integer(*there)),
    }
}

fn plan(args: &BenchArgs, hands_allowed: usize, limits: &MemoryLimits) -> BenchPlan {
    let quarter = limits.available_bytes.min(limits.group_bytes.unwrap_or(u64::MAX)) / MEMORY_PARTS;
    let (bytes, why_bytes) = match args.size {
        Some(bytes) => (bytes.max(1), "--size"),
        None if quarter < BYTES => (quarter.max(1), "a quarter of the available memory"),
        None => (BYTES, "the usual size"),
    };
    let (kind, what) = kind(args, bytes, limits);
    let threads_max = args.hands.filter(|hands| *hands > 0).unwrap_or(hands_allowed).clamp(1, THREADS_MAX);
    BenchPlan { kind, what, bytes, why_bytes, threads_max, cpus: hands_allowed }
}

fn kind(args: &BenchArgs, bytes: u64, limits: &MemoryLimits) -> (MeasuredKind, String) {
    let (kind, what) = match args.kind {
        KindArg::Anon => (MeasuredKind::Anonymous, "anonymous memory"),
        KindArg::Shm => (MeasuredKind::Shared, "shared anonymous memory"),
        KindArg::Memfd => (MeasuredKind::MemoryFiles, "files in memory"),
        KindArg::Sysv => (MeasuredKind::SystemV, "a System V segment"),
        KindArg::File => {
            let directory = args.directory.clone().unwrap_or_else(temporary_directory);
            let what = format!("a file in {}", terminal::quote(&directory));
            return (MeasuredKind::File(directory), what);
        }
        KindArg::Huge => {
            let free: u64 = limits.huge_pages.iter().map(|(_, pages)| pages).sum();
            if free >= bytes.div_ceil(HUGE_PAGE_BYTES) {
                return (MeasuredKind::HugePages(HUGE_PAGE_BYTES), "huge pages of the pool".to_owned());
            }
            let pool = terminal::integer(free);
            let what =
                format!("transparent huge pages (the pool has {pool} free pages of {})", page_label(HUGE_PAGE_BYTES));
            return (MeasuredKind::TransparentHuge, what);
        }
    };
    (kind, what.to_owned())
}

fn measure_plan(args: &BenchArgs, plan: &BenchPlan) -> MeasurePlan {
    MeasurePlan {
        kind: plan.kind.clone(),
        bytes: plan.bytes,
        has_lock: args.lock,
        threads: thread_counts(plan.threads_max),
        rounds: usize::from(args.rounds),
    }
}

fn lease(context: &Context, plan: &BenchPlan) -> Arc<dyn Lease> {
    let priority = context.settings.crew.priority.unwrap_or(PriorityArg::Normal).class();
    let budget = sharing::budget(context, plan.threads_max, priority);
    if let Some(why) = &budget.why_alone {
        sharing::tell_why_alone(context, NAME, why);
    }
    let what = format!("vmtasks bench: {}", plan.what);
    let weight = context.settings.crew.weight.map(Weight::new).unwrap_or_default();
    Arc::from(budget.budget.lease(Request { priority, weight, useful_width: plan.threads_max, what }))
}

/// Shows on a terminal which range is created.
fn with_progress<Answer>(context: &Context, work: impl FnOnce(&mut dyn FnMut(MeasureStep)) -> Answer) -> Answer {
    let step: Arc<Mutex<Option<MeasureStep>>> = Arc::default();
    let shown = Arc::clone(&step);
    let progress = mh_kit::progress::is_shown(context).then(|| {
        Progress::start_lines(&context.messages, move |_elapsed| shown.lock().map(progress_line).into_iter().collect())
    });
    let answer = work(&mut |now| *step.lock() = Some(now));
    progress.into_iter().for_each(Progress::finish);
    answer
}

fn progress_line(step: MeasureStep) -> String {
    let threads = mh_kit::report::counted(step.threads as u64, "thread");
    format!("range {} of {} by {threads}", step.done + 1, step.of)
}

fn kernel() -> String {
    let names = rustix::system::uname();
    format!("{} {}", names.sysname().to_string_lossy(), names.release().to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, FromArgMatches};

    const GIB: u64 = 1 << 30;

    fn planned(typed: &str, limits: &MemoryLimits) -> BenchPlan {
        let command = BenchArgs::augment_args(Command::new("bench"));
        let matches = command.get_matches_from(["bench"].into_iter().chain(typed.split_whitespace()));
        plan(&BenchArgs::from_arg_matches(&matches).expect("good options"), 8, limits)
    }

    fn limits(available_bytes: u64) -> MemoryLimits {
        MemoryLimits { available_bytes, huge_pages: vec![(0, 300), (1, 212)], ..MemoryLimits::default() }
    }

    #[test]
    fn the_size_is_4_gib_or_a_quarter_of_what_there_is() {
        let plenty = planned("", &limits(64 * GIB));
        assert_eq!((plenty.bytes, plenty.why_bytes, plenty.threads_max), (4 * GIB, "the usual size", 8));
        let small = planned("", &limits(8 * GIB));
        assert_eq!((small.bytes, small.why_bytes), (2 * GIB, "a quarter of the available memory"));
        let group = MemoryLimits { group_bytes: Some(GIB), ..limits(64 * GIB) };
        assert_eq!(planned("", &group).bytes, GIB / 4);
        assert_eq!(planned("--size 100M -j 3", &group).threads_max, 3);
        assert_eq!((planned("-j 0", &group).threads_max, planned("-j 999", &group).threads_max), (8, THREADS_MAX));
    }

    #[test]
    fn a_range_has_a_mebibyte_at_least() {
        assert_eq!(parse_range_size("1M"), Ok(1 << 20));
        assert_eq!(parse_range_size("1023K"), Err("1M is the least".to_owned()));
        assert!(parse_range_size("nonsense").is_err());
    }

    #[test]
    fn a_shortage_has_both_numbers() {
        let of = |unit| Shortage { limit: "MemAvailable", wanted: 4_000_000_000, there: 1_500_000_000, unit };
        assert_eq!(shortage_label(&of("bytes")), "get 4 GB: MemAvailable leaves 1.5 GB");
        assert_eq!(
            shortage_label(&of("huge pages")),
            "get 4,000,000,000 huge pages: MemAvailable leaves 1,500,000,000"
        );
    }

    #[test]
    fn huge_pages_come_from_the_pool_where_it_has_enough() {
        let of = |typed| planned(typed, &limits(64 * GIB));
        assert_eq!(of("--kind huge --size 1G").kind, MeasuredKind::HugePages(HUGE_PAGE_BYTES));
        let transparent = of("--kind huge --size 1025M");
        assert_eq!(transparent.kind, MeasuredKind::TransparentHuge);
        assert_eq!(transparent.what, "transparent huge pages (the pool has 512 free pages of 2 MiB)");
        let file = of("--kind file --directory /data");
        assert_eq!((file.kind, file.what.as_str()), (MeasuredKind::File("/data".into()), "a file in '/data'"));
    }
}
