//! Large memory for C programs, in safe Rust: threads that wait, and ranges that they create and destroy. Knows no pointer but addresses.

use crate::share::{Mistake, OpenedBudget};
use machine::{Host, Machine};
use memory::error::MemoryError;
use memory::limits::MemoryLimits;
use memory::pool::{THREADS_MAX, ThreadPool, allowed_nodes};
use memory::range::{MemoryRange, PageWish, RangeEffort, RangeKind, RangeWish, populate_mapped};
use std::error::Error;
use std::sync::Arc;

/// Size of the pool's pages that `MH_MEMORY_HUGE` takes.
const HUGE_PAGE_BYTES: u64 = 2 << 20;

/// `MH_MEMORY_LOCKED`.
pub const LOCKED: u32 = 1;
/// `MH_MEMORY_HUGE_PAGES`.
pub const HUGE_PAGES: u32 = 2;
/// `MH_MEMORY_BEST_EFFORT`.
pub const BEST_EFFORT: u32 = 4;

/// Threads that set up memory, each with a hand of the budget.
pub struct MemoryPool {
    pool: ThreadPool,
}

impl MemoryPool {
    /// Starts threads; 0 is as many as the program could hold hands, at most 16.
    pub fn open(crew: &OpenedBudget, threads: usize) -> Result<Self, Mistake> {
        let threads = if threads == 0 { crew.hands().min(THREADS_MAX) } else { threads }.max(1);
        let lease = Arc::from(crew.lease_for_memory(threads));
        let pool = ThreadPool::new(lease, allowed_nodes(&Host::real()), threads).map_err(|error| mistake(&error))?;
        Ok(Self { pool })
    }

    /// Creates a range.
    pub fn create(&self, bytes: usize, kind: i32, flags: u32) -> Result<MemoryRange, Mistake> {
        if bytes == 0 {
            return Err(Mistake::Argument("a range of 0 bytes"));
        }
        if flags & !(LOCKED | HUGE_PAGES | BEST_EFFORT) != 0 {
            return Err(Mistake::Argument(
                "these flags: MH_MEMORY_LOCKED, HUGE_PAGES and BEST_EFFORT are all there are",
            ));
        }
        let wish = RangeWish {
            kind: kind_of(kind)?,
            pages: if flags & HUGE_PAGES == 0 { PageWish::AsSet } else { PageWish::Huge },
            is_locked: flags & LOCKED != 0,
            effort: if flags & BEST_EFFORT == 0 { RangeEffort::Strict } else { RangeEffort::Best },
            ..RangeWish::anonymous(bytes as u64)
        };
        // Asked anew each time: what is available changes.
        let host = Host::real();
        let limits = MemoryLimits::look(&host, &Machine::look(&host), HUGE_PAGE_BYTES);
        MemoryRange::create(&self.pool, &limits, wish).map(|(range, _)| range).map_err(|error| mistake(&error))
    }

    /// Counts what is resident of a range; 0 where that cannot be counted.
    pub fn resident(&self, range: &MemoryRange) -> usize {
        range.resident_bytes(&self.pool).map_or(0, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX))
    }

    /// Gives a range back.
    pub fn destroy(&self, range: MemoryRange) -> Result<(), Mistake> {
        range.destroy(&self.pool).map(drop).map_err(|error| mistake(&error))
    }

    /// Makes the pages of memory that the program mapped itself.
    pub fn populate(&self, address: usize, bytes: usize) -> Result<(), Mistake> {
        populate_mapped(&self.pool, address, bytes, usize::MAX).map(drop).map_err(|error| mistake(&error))
    }
}

/// Locks a range that was created without.
pub fn lock(range: &MemoryRange) -> Result<(), Mistake> {
    range.lock().map(drop).map_err(|error| mistake(&error))
}

fn kind_of(kind: i32) -> Result<RangeKind, Mistake> {
    match kind {
        0 => Ok(RangeKind::Anonymous),
        1 => Ok(RangeKind::SharedAnonymous),
        2 => Ok(RangeKind::MemoryFiles),
        3 => Ok(RangeKind::SystemV),
        4 => Ok(RangeKind::HugePages(HUGE_PAGE_BYTES)),
        _ => Err(Mistake::Argument(
            "this kind of memory: MH_MEMORY_ANON, SHARED, FILES, SYSV and HUGE are all there are",
        )),
    }
}

fn mistake(error: &MemoryError) -> Mistake {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !text.ends_with(&words) {
            text = format!("{text}: {words}");
        }
        cause = error.source();
    }
    Mistake::Memory(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::share::ShareSettings;
    use std::ffi::OsStr;

    fn pool(threads: usize) -> MemoryPool {
        let alone = ShareSettings { directory: Some(OsStr::new("")), lease: None };
        MemoryPool::open(&OpenedBudget::open(None, alone), threads).expect("threads can be had")
    }

    #[test]
    fn a_range_goes_its_way() {
        let pool = pool(2);
        for kind in 0..4 {
            let range = pool.create(8 << 20, kind, 0).expect("there is room");
            assert_eq!(pool.resident(&range), 8 << 20, "{kind}");
            pool.populate(range.address(), 8 << 20).expect("it is mapped");
            pool.destroy(range).expect("it can be given back");
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let pool = pool(0);
        for (bytes, kind, flags) in [(0, 0, 0), (4096, 5, 0), (4096, -1, 0), (4096, 0, 8)] {
            let mistake = pool.create(bytes, kind, flags).expect_err("refused");
            assert!(matches!(mistake, Mistake::Argument(_)), "{mistake:?}");
        }
        let said = pool.create(1 << 46, 0, 0).expect_err("more than there is").said();
        assert!(said.starts_with("get 70368744177664 bytes: MemAvailable leaves "), "{said}");
        let said = pool.populate(4096, 8 << 20).expect_err("nothing is mapped there").said();
        assert!(said.contains("populate bytes "), "{said}");
    }
}
