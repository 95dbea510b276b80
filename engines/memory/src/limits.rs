//! What bounds memory here, looked at before anything is tried: beyond a limit the kernel answers with SIGBUS or the out-of-memory killer, not
//! with an error. Pure decisions on values that were read before.

use machine::{Host, Machine};
use serde::Serialize;
use std::fmt;

/// What bounds memory, in bytes; none is no bound.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MemoryLimits {
    /// What can be had without swapping, as the kernel estimates (MemAvailable).
    pub available_bytes: u64,
    /// What can be had before a control group meets its limit.
    pub group_bytes: Option<u64>,
    /// What may still be locked (RLIMIT_MEMLOCK less VmLck); none for whoever may lock everything.
    pub lock_bytes: Option<u64>,
    /// Free pages of the pool, by node: number, pages of 2 MiB.
    pub huge_pages: Vec<(usize, u64)>,
}

/// What a range needs of each limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryNeed {
    /// How much.
    pub bytes: u64,
    /// Whether it is to be locked.
    pub is_locked: bool,
    /// The size of the pool's pages that it is to come from.
    pub huge_page_bytes: Option<u64>,
}

/// Which limit is too low, with both numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// What there is, as `MemAvailable`.
    pub limit: &'static str,
    /// What is wanted.
    pub wanted: u64,
    /// What there is.
    pub there: u64,
    /// Bytes, or huge pages.
    pub unit: &'static str,
}

impl fmt::Display for Shortage {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limit, wanted, there, unit } = self;
        write!(to, "get {wanted} {unit}: {limit} leaves {there}")
    }
}

/// LIMIT: so much of the available memory stays for tables of pages (1/512) and for everybody else.
const LEFT_PARTS: u64 = 50;

impl MemoryLimits {
    /// Reads them all. What cannot be read bounds nothing.
    pub fn look(host: &Host, machine: &Machine, huge_page_bytes: u64) -> Self {
        let nodes = machine::numa_nodes(host).unwrap_or_default();
        let free = |number| machine::free_huge_pages(host, number, huge_page_bytes).ok().flatten().unwrap_or(0);
        Self {
            available_bytes: machine.memory_available_bytes,
            group_bytes: machine.memory_headroom_bytes,
            lock_bytes: machine::lockable_bytes(host).unwrap_or_default(),
            huge_pages: nodes.iter().map(|node| (node.number, free(node.number))).collect(),
        }
    }

    /// The first limit that is too low for `need`.
    pub fn check(&self, need: MemoryNeed) -> Result<(), Shortage> {
        let short = |limit, there| Shortage { limit, wanted: need.bytes, there, unit: "bytes" };
        if let Some(page_bytes) = need.huge_page_bytes {
            let (wanted, there) =
                (need.bytes.div_ceil(page_bytes), self.huge_pages.iter().map(|(_, pages)| pages).sum());
            if wanted > there {
                return Err(Shortage { limit: "the pool of huge pages", wanted, there, unit: "huge pages" });
            }
        } else {
            let usable = self.available_bytes - self.available_bytes / LEFT_PARTS;
            if need.bytes > usable {
                return Err(short("MemAvailable", usable));
            }
            if let Some(group) = self.group_bytes.filter(|group| need.bytes > *group) {
                return Err(short("the memory limit of the control group", group));
            }
        }
        match self.lock_bytes.filter(|lock| need.is_locked && need.bytes > *lock) {
            Some(lock) => Err(short("RLIMIT_MEMLOCK", lock)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn limits() -> MemoryLimits {
        MemoryLimits {
            available_bytes: 10 * GIB,
            group_bytes: Some(6 * GIB),
            lock_bytes: Some(GIB),
            huge_pages: vec![(0, 100), (1, 50)],
        }
    }

    fn refusal(bytes: u64, is_locked: bool, huge_page_bytes: Option<u64>) -> Option<String> {
        limits().check(MemoryNeed { bytes, is_locked, huge_page_bytes }).err().map(|short| short.to_string())
    }

    #[test]
    fn each_limit_refuses_with_its_numbers() {
        assert_eq!(refusal(5 * GIB, false, None), None);
        let text = refusal(11 * GIB, false, None).expect("too much");
        assert_eq!(text, "get 11811160064 bytes: MemAvailable leaves 10522669876");
        assert!(refusal(10 * GIB, false, None).is_some(), "a part is left to everybody else");
        let text = refusal(7 * GIB, false, None).expect("too much");
        assert_eq!(text, "get 7516192768 bytes: the memory limit of the control group leaves 6442450944");
        assert!(refusal(2 * GIB, true, None).expect("too much").contains("RLIMIT_MEMLOCK leaves 1073741824"));
        assert_eq!(refusal(GIB, true, None), None);
    }

    #[test]
    fn huge_pages_come_from_their_pool_alone() {
        assert_eq!(refusal(300 << 20, false, Some(2 << 20)), None);
        let text = refusal((300 << 20) + 1, false, Some(2 << 20)).expect("too much");
        assert_eq!(text, "get 151 huge pages: the pool of huge pages leaves 150");
        let group = MemoryLimits { group_bytes: Some(1), available_bytes: 0, ..limits() };
        assert_eq!(
            group.check(MemoryNeed { bytes: 2 << 20, is_locked: false, huge_page_bytes: Some(2 << 20) }),
            Ok(())
        );
    }

    #[test]
    fn whoever_may_lock_everything_has_no_limit() {
        let root = MemoryLimits { lock_bytes: None, ..limits() };
        assert_eq!(root.check(MemoryNeed { bytes: 5 * GIB, is_locked: true, huge_page_bytes: None }), Ok(()));
    }
}
