//! What it takes to create, lock and destroy a range here, by one thread and by more, in turns. Every range is counted page by page
//! before it is believed.

use crate::error::MemoryError;
use crate::knee::{KneePoint, knee};
use crate::limits::MemoryLimits;
use crate::look::{LargeMapping, MappingChoice, look};
use crate::pool::ThreadPool;
use crate::range::{MemoryRange, PageWish, RangeKind, RangeWish};
use machine::Host;
use rustix::fs::{CWD, FallocateFlags, Mode, OFlags, fallocate, openat};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

/// What is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeasuredKind {
    /// Memory of one process, in the smallest pages.
    Anonymous,
    /// The same in transparent huge pages.
    TransparentHuge,
    /// Memory that children share.
    Shared,
    /// Files in memory.
    MemoryFiles,
    /// A segment of System V.
    SystemV,
    /// Huge pages of the pool, of this size.
    HugePages(u64),
    /// A file without a name in this directory, whose room is reserved before.
    File(PathBuf),
}

/// How it is measured.
#[derive(Clone, Debug)]
pub struct MeasurePlan {
    /// What.
    pub kind: MeasuredKind,
    /// How much.
    pub bytes: u64,
    /// Whether locked ranges are measured, too.
    pub has_lock: bool,
    /// Numbers of threads.
    pub threads: Vec<usize>,
    /// How often each is measured.
    pub rounds: usize,
}

/// What so many threads took, round by round.
#[derive(Clone, Debug, Default, Serialize)]
pub struct MeasuredThreads {
    /// How many were asked for.
    pub threads: usize,
    /// The fewest of them that worked at once in any round.
    pub threads_worked: usize,
    /// Whether threads of that round waited for a core token until its end: other runs had the cores.
    pub is_short_of_hands: bool,
    /// Chunks of a range: more threads than chunks do not help.
    pub chunks: usize,
    /// Create.
    pub create_ns: Vec<u64>,
    /// Create a range that is locked.
    pub create_locked_ns: Vec<u64>,
    /// Destroy what was created unlocked.
    pub destroy_ns: Vec<u64>,
}

/// What the kernel says of a range that was created.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RangeFacts {
    /// Resident, by the table of pages.
    pub resident_bytes: u64,
    /// In areas that are locked.
    pub locked_bytes: u64,
    /// Resident in huge pages.
    pub huge_bytes: u64,
    /// Size of its small pages.
    pub page_bytes: u64,
    /// Bytes on each node.
    pub nodes: BTreeMap<u32, u64>,
}

/// All that was measured.
#[derive(Clone, Debug, Serialize)]
pub struct MeasuredCosts {
    /// How large each range was.
    pub bytes: u64,
    /// By numbers of threads.
    pub rows: Vec<MeasuredThreads>,
    /// Of the last range, which was locked if locked ones were measured.
    pub facts: RangeFacts,
    /// The fewest threads that create as fast as any.
    pub knee_threads: usize,
}

/// Where a measurement is: for progress.
#[derive(Clone, Copy, Debug)]
pub struct MeasureStep {
    /// Ranges that were created.
    pub done: usize,
    /// Of so many.
    pub of: usize,
    /// Threads of the next one.
    pub threads: usize,
}

/// Measures. The first range, by all threads, is not counted: a virtual machine's host may have to find the memory first.
pub fn measure(
    pool: &ThreadPool,
    limits: &MemoryLimits,
    plan: &MeasurePlan,
    mut tell: impl FnMut(MeasureStep),
) -> Result<MeasuredCosts, MemoryError> {
    let locks: &[bool] = if plan.has_lock { &[false, true] } else { &[false] };
    let of = 1 + plan.rounds * plan.threads.len() * locks.len();
    let most = plan.threads.iter().copied().max().unwrap_or(1);
    tell(MeasureStep { done: 0, of, threads: most });
    create_and_destroy(pool, limits, plan, most, false)?;
    let row = |&threads: &usize| MeasuredThreads { threads, threads_worked: threads, ..MeasuredThreads::default() };
    let mut rows: Vec<MeasuredThreads> = plan.threads.iter().map(row).collect();
    let (mut done, mut facts) = (1, RangeFacts::default());
    for _ in 0..plan.rounds {
        for row in &mut rows {
            for &is_locked in locks {
                tell(MeasureStep { done, of, threads: row.threads });
                let turn = create_and_destroy(pool, limits, plan, row.threads, is_locked)?;
                row.note(&turn, is_locked);
                facts = turn.facts;
                done += 1;
            }
        }
    }
    let points: Vec<KneePoint> = rows.iter().map(|row| row.point(plan.bytes)).collect();
    Ok(MeasuredCosts { bytes: plan.bytes, rows, facts, knee_threads: knee(&points) })
}

impl MeasuredThreads {
    fn note(&mut self, turn: &Turn, is_locked: bool) {
        if turn.threads < self.threads_worked {
            (self.threads_worked, self.is_short_of_hands) = (turn.threads, turn.is_short_of_hands);
        }
        self.chunks = turn.chunks;
        if is_locked {
            self.create_locked_ns.push(nanoseconds(turn.create));
        } else {
            self.create_ns.push(nanoseconds(turn.create));
            self.destroy_ns.push(nanoseconds(turn.destroy));
        }
    }

    fn point(&self, bytes: u64) -> KneePoint {
        let seconds = median_ns(&self.create_ns).unwrap_or(u64::MAX) as f64 / 1e9;
        KneePoint { threads: self.threads, bytes_per_second: bytes as f64 / seconds.max(1e-9) }
    }
}

/// The middle of some figures, the lower one of two; none of none.
pub fn median_ns(figures: &[u64]) -> Option<u64> {
    let mut sorted = figures.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len().checked_sub(1)? / 2).copied()
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// One range from creation to destruction.
struct Turn {
    threads: usize,
    is_short_of_hands: bool,
    chunks: usize,
    create: Duration,
    destroy: Duration,
    facts: RangeFacts,
}

fn create_and_destroy(
    pool: &ThreadPool,
    limits: &MemoryLimits,
    plan: &MeasurePlan,
    threads: usize,
    is_locked: bool,
) -> Result<Turn, MemoryError> {
    let kind = kind(plan)?;
    let pages = match plan.kind {
        MeasuredKind::Anonymous => PageWish::Small,
        MeasuredKind::TransparentHuge => PageWish::Huge,
        _ => PageWish::AsSet,
    };
    let wish = RangeWish { kind, pages, is_locked, threads, ..RangeWish::anonymous(plan.bytes) };
    let (range, created) = MemoryRange::create(pool, limits, wish)?;
    let facts = facts(&range);
    let destroyed = range.destroy(pool)?;
    let chunks = plan.bytes.div_ceil(created.chunk_bytes.max(1));
    Ok(Turn {
        threads: created.threads,
        is_short_of_hands: created.is_short_of_hands,
        chunks: usize::try_from(chunks).unwrap_or(usize::MAX),
        create: created.wall,
        destroy: destroyed.wall,
        facts,
    })
}

fn kind(plan: &MeasurePlan) -> Result<RangeKind, MemoryError> {
    Ok(match &plan.kind {
        MeasuredKind::Anonymous | MeasuredKind::TransparentHuge => RangeKind::Anonymous,
        MeasuredKind::Shared => RangeKind::SharedAnonymous,
        MeasuredKind::MemoryFiles => RangeKind::MemoryFiles,
        MeasuredKind::SystemV => RangeKind::SystemV,
        MeasuredKind::HugePages(size) => RangeKind::HugePages(*size),
        MeasuredKind::File(directory) => {
            let step = format!("make a file of {} bytes in '{}'", plan.bytes, directory.display());
            RangeKind::File(nameless_file(directory, plan.bytes).map_err(MemoryError::refused(step))?)
        }
    })
}

/// Its room is reserved, since a write that finds none ends the process.
fn nameless_file(directory: &PathBuf, bytes: u64) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
    let file = openat(CWD, directory, flags, Mode::RUSR | Mode::WUSR)?;
    fallocate(&file, FallocateFlags::empty(), 0, bytes)?;
    Ok(file)
}

/// What smaps and numa_maps say of the range; nothing where they cannot be read.
fn facts(range: &MemoryRange) -> RangeFacts {
    let choice = MappingChoice { bytes_min: 1, has_files_for_reading: true, is_by_flags: false };
    let Ok(process) = look(&Host::real(), std::process::id(), choice) else { return RangeFacts::default() };
    let begin = range.address() as u64;
    let is_part =
        |mapping: &&LargeMapping| mapping.address < begin + range.bytes() && begin < mapping.address + mapping.bytes;
    let mut facts = RangeFacts::default();
    for mapping in process.mappings.iter().filter(is_part) {
        facts.resident_bytes += mapping.resident_bytes;
        facts.locked_bytes += mapping.locked_bytes;
        facts.huge_bytes += mapping.huge_bytes;
        facts.page_bytes = mapping.page_bytes;
        mapping.nodes.iter().for_each(|(&node, &bytes)| *facts.nodes.entry(node).or_default() += bytes);
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::allowed_nodes;
    use crew::budget::{Budget, InProcess, Priority, Request, Weight};
    use std::sync::Arc;

    #[test]
    fn each_number_of_threads_is_measured_as_often() {
        let (priority, weight) = (Priority::Normal, Weight::default());
        let request = Request { priority, weight, useful_width: 2, what: "a test".to_owned() };
        let lease = Arc::from(InProcess::new(2).lease(request));
        let pool = ThreadPool::new(lease, allowed_nodes(&Host::real()), 2).expect("threads can be had");
        let limits = MemoryLimits { available_bytes: 1 << 40, ..MemoryLimits::default() };
        let plan = MeasurePlan {
            kind: MeasuredKind::Anonymous,
            bytes: 16 << 20,
            has_lock: false,
            threads: vec![1, 2],
            rounds: 3,
        };
        let mut steps = Vec::new();
        let measured = measure(&pool, &limits, &plan, |step| steps.push((step.done, step.threads))).expect("room");
        assert_eq!(steps, [(0, 2), (1, 1), (2, 2), (3, 1), (4, 2), (5, 1), (6, 2)]);
        assert!(measured.rows.iter().all(|row| row.create_ns.len() == 3 && row.destroy_ns.len() == 3));
        assert_eq!((measured.facts.resident_bytes, measured.facts.page_bytes), (16 << 20, 4096));
        assert!([1, 2].contains(&measured.knee_threads));
    }

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!((median_ns(&[3, 1, 2]), median_ns(&[4, 1]), median_ns(&[])), (Some(2), Some(1), None));
    }
}
