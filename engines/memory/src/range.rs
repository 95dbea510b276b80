//! A range of memory from creation to destruction: reserve, policy, advice, lock as a whole, populate in parallel, verify; and back.
//! The order matters: locking by parts would divide areas, and advice after the pages are there comes too late.

use crate::chunks::{ChunkPlan, TABLE_BYTES};
use crate::error::MemoryError;
use crate::limits::{MemoryLimits, MemoryNeed};
use crate::pool::{OperationEnd, RangeFault, ThreadPool};
use serde::Serialize;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use sys::mapped_memory::{Backing, MappedMemory, page_bytes, populate};
use sys::memory_policy::{NodePolicy, set_policy};
use sys::shared_memory::{SystemVSegment, memory_file};

/// What a range is made of.
#[derive(Debug)]
pub enum RangeKind {
    /// Memory of this process alone, in small pages unless huge ones are asked for.
    Anonymous,
    /// Memory that its children share.
    SharedAnonymous,
    /// Files in memory, side by side, so that they can be destroyed in parallel.
    MemoryFiles,
    /// A segment of System V.
    SystemV,
    /// Pages of the pool that an administrator reserved, of this size.
    HugePages(u64),
    /// A file that is as long as the range, from its beginning.
    File(OwnedFd),
}

/// Which pages anonymous memory gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageWish {
    /// As the system is set.
    #[default]
    AsSet,
    /// The smallest.
    Small,
    /// Transparent huge pages where the kernel has some.
    Huge,
}

/// Where a range's pages shall be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// How nodes are chosen.
    pub policy: NodePolicy,
    /// Their numbers.
    pub nodes: Vec<usize>,
}

/// Whether a refusal ends it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RangeEffort {
    /// All of it, or an error and nothing.
    #[default]
    Strict,
    /// What can be had, with a list of what could not.
    Best,
}

/// A range as it is wanted.
#[derive(Debug)]
pub struct RangeWish {
    /// What it is made of.
    pub kind: RangeKind,
    /// How large, rounded up to whole pages.
    pub bytes: u64,
    /// Which pages.
    pub pages: PageWish,
    /// Whether the kernel may not take its pages.
    pub is_locked: bool,
    /// Where they shall be; none as the process has it.
    pub placement: Option<Placement>,
    /// Whether a refusal ends it.
    pub effort: RangeEffort,
    /// Threads that work at once, at most.
    pub threads: usize,
}

impl RangeWish {
    /// So many bytes of anonymous memory, by as many threads as the pool has.
    pub fn anonymous(bytes: u64) -> Self {
        Self {
            kind: RangeKind::Anonymous,
            bytes,
            pages: PageWish::AsSet,
            is_locked: false,
            placement: None,
            effort: RangeEffort::Strict,
            threads: usize::MAX,
        }
    }
}

/// What one operation took, and what came of it.
#[derive(Debug, Serialize)]
pub struct OperationReport {
    /// From the first call to the last.
    pub wall: Duration,
    /// The most threads that worked at once.
    pub threads: usize,
    /// Whether threads waited for a core token until the end.
    pub is_short_of_hands: bool,
    /// How large the chunks were.
    pub chunk_bytes: u64,
    /// Resident at the end, counted page by page, in a time that is not in `wall`.
    pub resident_bytes: u64,
    /// Where the kernel refused.
    #[serde(skip)]
    pub faults: Vec<RangeFault>,
}

/// A range that was created.
#[derive(Debug)]
pub struct MemoryRange {
    memory: Arc<MappedMemory>,
    files: Arc<Vec<OwnedFd>>,
    file_bytes: usize,
    page_bytes: usize,
    threads: usize,
}

/// LIMIT: so much is populated by one call. A call keeps others of the process from mapping anything (its mmap_lock): a third of a millisecond
/// (`docs/journal/0024-memory.md`).
const CALL_BYTES: usize = 1 << 20;
/// LIMIT: the same for giving back, which is many times as fast; each call interrupts the CPUs that have run this process.
const DISCARD_CALL_BYTES: usize = 16 << 20;
/// LIMIT: of files in memory side by side; each is a descriptor.
const FILES_MAX: usize = 64;
/// Pages whose flags fit on a helper's stack at once.
const FLAGS: usize = 4096;

impl MemoryRange {
    /// Creates a range: all of its pages are there when it returns.
    pub fn create(
        pool: &ThreadPool,
        limits: &MemoryLimits,
        wish: RangeWish,
    ) -> Result<(Self, OperationReport), MemoryError> {
        let huge_page_bytes = if let RangeKind::HugePages(size) = wish.kind { Some(size) } else { None };
        let need = MemoryNeed { bytes: wish.bytes, is_locked: wish.is_locked, huge_page_bytes };
        limits.check(need).map_err(MemoryError::Short)?;
        let begin = Instant::now();
        let (is_locked, placement, pages, effort) = (wish.is_locked, wish.placement.clone(), wish.pages, wish.effort);
        let range = Self::reserve(wish, pool.threads())?;
        let (memory, all) = (&range.memory, range.memory.all());
        if let Some(Placement { policy, nodes }) = &placement {
            set_policy(memory, &all, *policy, nodes).map_err(MemoryError::refused("set the policy of the range"))?;
        }
        if pages != PageWish::AsSet {
            // A kernel without huge pages refuses, and has the wanted small ones.
            let _as_it_can = memory.prefer_huge_pages(&all, pages == PageWish::Huge);
        }
        if is_locked {
            memory.lock_on_fault(&all).map_err(MemoryError::refused("lock the range"))?;
        }
        let (chunk_bytes, end) = range.populate(pool, effort == RangeEffort::Strict);
        let wall = begin.elapsed();
        if let (RangeEffort::Strict, Some(first)) = (effort, first_fault(&end)) {
            return Err(MemoryError::Parts { first, faults: end.faults.len() });
        }
        let resident_bytes = range.resident_bytes(pool)?;
        let bytes = range.bytes();
        if effort == RangeEffort::Strict && resident_bytes < bytes {
            return Err(MemoryError::Missing { missing_bytes: bytes - resident_bytes, bytes });
        }
        let is_short_of_hands = end.is_short_of_hands;
        let report = OperationReport {
            wall,
            threads: end.threads,
            is_short_of_hands,
            chunk_bytes,
            resident_bytes,
            faults: end.faults,
        };
        Ok((range, report))
    }

    fn reserve(wish: RangeWish, threads: usize) -> Result<Self, MemoryError> {
        let size = wish.bytes;
        let refused = || MemoryError::refused(format!("reserve {size} bytes"));
        let page = if let RangeKind::HugePages(page) = wish.kind { page } else { page_bytes() as u64 };
        let bytes = size.max(1).checked_next_multiple_of(page).and_then(|bytes| usize::try_from(bytes).ok());
        let (Some(bytes), Ok(page)) = (bytes, usize::try_from(page)) else {
            return Err(refused()(io::Error::from(io::ErrorKind::InvalidInput)));
        };
        let memory = MappedMemory::reserve(bytes, page).map_err(refused())?;
        let threads = wish.threads.clamp(1, threads);
        let mut range =
            Self { memory: Arc::new(memory), files: Arc::default(), file_bytes: bytes, page_bytes: page, threads };
        range.back(wish.kind).map_err(refused())?;
        Ok(range)
    }

    fn back(&mut self, kind: RangeKind) -> io::Result<()> {
        let (memory, all) = (&self.memory, self.memory.all());
        match kind {
            RangeKind::Anonymous => memory.back(all, Backing::Anonymous),
            RangeKind::SharedAnonymous => memory.back(all, Backing::SharedAnonymous),
            RangeKind::HugePages(_) => memory.back(all, Backing::HugePages(self.page_bytes)),
            RangeKind::File(file) => memory.back(all, Backing::File(file.as_fd(), 0)),
            RangeKind::SystemV => {
                let segment = SystemVSegment::new(memory.bytes())?;
                let attached = segment.attach(memory);
                // Either way nobody shall find it when this process is gone.
                segment.remove()?;
                attached
            }
            RangeKind::MemoryFiles => self.back_by_files(),
        }
    }

    /// One file for each thread: what one file holds is freed by one thread.
    fn back_by_files(&mut self) -> io::Result<()> {
        let count = (self.threads * 2).clamp(1, FILES_MAX);
        self.file_bytes = self.memory.bytes().div_ceil(count).next_multiple_of(TABLE_BYTES);
        let plan = ChunkPlan::of_size(self.memory.bytes(), self.file_bytes);
        let mut files = Vec::with_capacity(plan.count());
        for number in 0..plan.count() {
            let part = plan.chunk(number);
            let file = memory_file("manyhands", part.len() as u64)?;
            self.memory.back(part, Backing::File(file.as_fd(), 0))?;
            files.push(file);
        }
        self.files = Arc::new(files);
        Ok(())
    }

    /// Where it begins.
    pub fn address(&self) -> usize {
        self.memory.address()
    }

    /// How large it is.
    pub fn bytes(&self) -> u64 {
        self.memory.bytes() as u64
    }

    /// The files in memory that it is made of, each as long as [`MemoryRange::file_bytes`], the last one shorter; none of other kinds.
    pub fn files(&self) -> &[OwnedFd] {
        &self.files
    }

    /// How long each file is.
    pub fn file_bytes(&self) -> u64 {
        self.file_bytes as u64
    }

    fn populate(&self, pool: &ThreadPool, is_strict: bool) -> (u64, OperationEnd) {
        let plan = ChunkPlan::new(self.memory.bytes(), self.page_bytes, self.threads);
        let (memory, page) = (Arc::clone(&self.memory), self.page_bytes);
        let end = pool.run(plan, self.threads, is_strict, move |part| populate_part(&memory, part, page));
        (plan.chunk_bytes() as u64, end)
    }

    /// Counts what is resident, page by page, in parallel.
    pub fn resident_bytes(&self, pool: &ThreadPool) -> Result<u64, MemoryError> {
        let plan = ChunkPlan::new(self.memory.bytes(), self.page_bytes, self.threads);
        let count = Arc::new(AtomicUsize::new(0));
        let (memory, sum) = (Arc::clone(&self.memory), Arc::clone(&count));
        let mut end = pool.run(plan, self.threads, true, move |part| {
            sum.fetch_add(memory.resident_pages(&part, &mut [0; FLAGS])?, Ordering::Relaxed);
            Ok(())
        });
        match end.faults.pop() {
            Some(fault) => Err(MemoryError::refused("count the pages of the range")(fault.cause)),
            // ORDER: the operation's end has made all of it visible.
            None => Ok((count.load(Ordering::Relaxed) * page_bytes()) as u64),
        }
    }

    /// Locks a range that was created without. The kernel does it in one thread: wish for it before the pages are made.
    pub fn lock(&self) -> Result<Duration, MemoryError> {
        let begin = Instant::now();
        self.memory.lock_on_fault(&self.memory.all()).map_err(MemoryError::refused("lock the range"))?;
        Ok(begin.elapsed())
    }

    /// Gives all of it back: pages by threads, then the range as a whole.
    pub fn destroy(self, pool: &ThreadPool) -> Result<OperationReport, MemoryError> {
        let begin = Instant::now();
        let plan = ChunkPlan::new(self.memory.bytes(), self.page_bytes, self.threads);
        let memory = Arc::clone(&self.memory);
        let end = pool.run(plan, self.threads, true, move |part| {
            pieces(part, DISCARD_CALL_BYTES).try_for_each(|piece| match memory.discard(&piece) {
                // Before Linux 5.18 locked pages and those of the pool go with the range as a whole.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
                outcome => outcome,
            })
        });
        let mut faults = end.faults;
        faults.extend(self.empty_files(pool).faults);
        let Self { memory, files, .. } = self;
        drop(memory);
        drop(files);
        let wall = begin.elapsed();
        match faults.into_iter().next() {
            Some(fault) => Err(MemoryError::refused("give back the range")(fault.cause)),
            None => Ok(OperationReport {
                wall,
                threads: end.threads,
                is_short_of_hands: end.is_short_of_hands,
                chunk_bytes: plan.chunk_bytes() as u64,
                resident_bytes: 0,
                faults: Vec::new(),
            }),
        }
    }

    fn empty_files(&self, pool: &ThreadPool) -> OperationEnd {
        let (files, plan) = (Arc::clone(&self.files), ChunkPlan::of_size(self.files.len(), 1));
        pool.run(plan, self.threads, true, move |part| Ok(rustix::fs::ftruncate(&files[part.start], 0)?))
    }
}

/// Makes all pages of memory that is mapped already, between two addresses; content stays. The kernel must be able to populate (Linux 5.14):
/// nobody else's data are written to.
pub fn populate_mapped(
    pool: &ThreadPool,
    address: usize,
    bytes: usize,
    threads: usize,
) -> Result<OperationReport, MemoryError> {
    let begin = Instant::now();
    let page = page_bytes();
    // Chunks begin where tables of pages do, the first and the last one apart.
    let first = address / page * page;
    let origin = first / TABLE_BYTES * TABLE_BYTES;
    let end = address.checked_add(bytes).and_then(|end| end.checked_next_multiple_of(page));
    let end = end
        .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))
        .map_err(MemoryError::refused("populate the range"))?;
    let threads = threads.clamp(1, pool.threads());
    let plan = ChunkPlan::new(end - origin, page, threads);
    let done = pool.run(plan, threads, true, move |part| {
        let part = (origin + part.start).max(first)..origin + part.end;
        pieces(part, CALL_BYTES).try_for_each(|piece| populate(piece.start, piece.len()))
    });
    match first_fault(&done) {
        Some(first) => Err(MemoryError::Parts { first, faults: done.faults.len() }),
        None => Ok(OperationReport {
            wall: begin.elapsed(),
            threads: done.threads,
            is_short_of_hands: done.is_short_of_hands,
            chunk_bytes: plan.chunk_bytes() as u64,
            resident_bytes: (end - first) as u64,
            faults: Vec::new(),
        }),
    }
}

/// Parts of a part, one call each.
fn pieces(part: Range<usize>, bytes: usize) -> impl Iterator<Item = Range<usize>> {
    let end = part.end;
    part.step_by(bytes).map(move |start| start..(start + bytes).min(end))
}

fn populate_part(memory: &MappedMemory, part: Range<usize>, page_bytes: usize) -> io::Result<()> {
    for piece in pieces(part, CALL_BYTES.max(page_bytes)) {
        match memory.populate(&piece) {
            // Before Linux 5.14. Nobody has written to the range so far, so that zeros lose nothing.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => memory.touch(&piece, page_bytes),
            outcome => outcome?,
        }
    }
    Ok(())
}

fn first_fault(end: &OperationEnd) -> Option<crate::error::PartFault> {
    let fault = end.faults.first()?;
    // Not cloned as it is: an error of the kernel's is its number.
    let cause =
        fault.cause.raw_os_error().map_or_else(|| io::Error::from(fault.cause.kind()), io::Error::from_raw_os_error);
    Some(crate::error::PartFault { part: fault.part.clone(), cause })
}

#[cfg(test)]
mod tests;
