//! `/proc/PID/smaps_rollup` (Documentation/filesystems/proc.rst): what a process has to itself, summed over its mappings.
//! LIE: reading it is not free for the process: the kernel walks its page tables and holds up its own changes to its mappings
//! meanwhile. Milliseconds for gigabytes; so it is read of few, one at a time.

use super::words::{lines, number, words};

/// The sums, in bytes. What a kernel does not tell is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryMap {
    /// Pages that nobody else maps.
    pub private_bytes: u64,
    /// Anonymous pages, those that others share since a fork included.
    pub anonymous_bytes: u64,
    /// The same, each page divided by those who map it. Linux 5.3.
    pub anonymous_share_bytes: Option<u64>,
    /// Swapped out, shared swap divided by those who share it.
    pub swap_share_bytes: u64,
    /// Shared memory, each page divided by those who map it. Linux 5.3.
    pub shared_share_bytes: Option<u64>,
    /// Private pages of the pool of huge pages, which the other sums leave out.
    pub huge_bytes: u64,
    /// Those of them that others map, too.
    pub huge_shared_bytes: u64,
}

/// Reads the file's text; none for what is no such file.
pub fn parse(text: &[u8]) -> Option<MemoryMap> {
    let mut map = MemoryMap::default();
    let mut has_anonymous = false;
    for line in lines(text) {
        let mut columns = words(line);
        let (Some(key), Some(value)) = (columns.next(), columns.next().and_then(number)) else { continue };
        // LIE: the kernel writes kB and means KiB.
        let bytes = value.saturating_mul(1024);
        match key {
            b"Private_Clean:" | b"Private_Dirty:" => map.private_bytes = map.private_bytes.saturating_add(bytes),
            b"Anonymous:" => {
                map.anonymous_bytes = bytes;
                has_anonymous = true;
            }
            b"Pss_Anon:" => map.anonymous_share_bytes = Some(bytes),
            b"SwapPss:" => map.swap_share_bytes = bytes,
            b"Pss_Shmem:" => map.shared_share_bytes = Some(bytes),
            b"Shared_Hugetlb:" => map.huge_shared_bytes = bytes,
            b"Private_Hugetlb:" => map.huge_bytes = bytes,
            _ => {}
        }
    }
    has_anonymous.then_some(map)
}

/// Whose memory is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryOwner {
    /// The process's alone; so many processes share what is shared.
    Process(usize),
    /// That of a whole that the process is a part of, together with those that it shares pages with: so many.
    Whole(usize),
}

impl MemoryMap {
    /// Anonymous memory that `owner` has by this process. LIMIT: of a whole, what is shared with processes outside counts in part.
    pub fn own_anonymous_bytes(&self, owner: MemoryOwner) -> u64 {
        match owner {
            MemoryOwner::Process(sharers) => self.exclusive_anonymous_bytes(sharers),
            MemoryOwner::Whole(sharers) => {
                self.anonymous_share_bytes.unwrap_or_else(|| self.divided_by_itself(sharers)).min(self.anonymous_bytes)
            }
        }
    }

    /// Shared memory that `owner` has by this process and nobody else has, of `all_bytes` that it maps.
    pub fn own_shared_bytes(&self, owner: MemoryOwner, all_bytes: u64) -> u64 {
        match (owner, self.shared_share_bytes) {
            (_, None) => all_bytes,
            (MemoryOwner::Whole(_), Some(divided)) => divided.min(all_bytes),
            (MemoryOwner::Process(sharers), Some(divided)) => {
                exclusive(all_bytes, divided, self.private_bytes, sharers)
            }
        }
    }

    /// COMPAT: kernels before 5.4 do not divide anonymous memory by who shares it.
    fn divided_by_itself(&self, sharers: usize) -> u64 {
        let private = self.private_bytes.min(self.anonymous_bytes);
        private + (self.anonymous_bytes - private) / sharers.max(1) as u64
    }

    /// Anonymous memory that would be free if the process ended, where `sharers` processes share what is shared.
    fn exclusive_anonymous_bytes(&self, sharers: usize) -> u64 {
        match self.anonymous_share_bytes {
            None => self.private_bytes.min(self.anonymous_bytes),
            Some(divided) => exclusive(self.anonymous_bytes, divided, self.private_bytes, sharers),
        }
    }
}

/// What would be free if the process ended, of memory of one kind: `all` that it maps, each page `divided` by those who map it, where `sharers`
/// processes share what is shared and no more than `private` of any kind is mapped once.
///
/// With `S` of `all` shared by `k`, the divided sum is `all - S + S / k`, which gives `S`. More than is
/// mapped once or stands in the divided sum it cannot be; less than `2 * divided - all` neither, since pages are shared by two
/// at least.
fn exclusive(all: u64, divided: u64, private: u64, sharers: usize) -> u64 {
    let most = private.min(all).min(divided);
    let least = divided.saturating_mul(2).saturating_sub(all).min(most);
    let sharers = sharers.max(2) as u64;
    let given_away = all.saturating_sub(divided);
    let shared = given_away.saturating_mul(sharers) / (sharers - 1);
    all.saturating_sub(shared).clamp(least, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"55d0-7ffd ---p 00000000 00:00 0 [rollup]\nRss: 100 kB\nPss: 60 kB\nPss_Anon: 40 kB\n\
        Private_Clean: 5 kB\nPrivate_Dirty: 30 kB\nAnonymous: 50 kB\nSwap: 9 kB\nSwapPss: 8 kB\nPrivate_Hugetlb: 2 kB\n";

    #[test]
    fn sums_are_read_in_bytes() {
        let map = parse(TEXT).expect("a good file");
        assert_eq!((map.private_bytes, map.anonymous_bytes, map.swap_share_bytes), (35 << 10, 50 << 10, 8 << 10));
        assert_eq!((map.anonymous_share_bytes, map.huge_bytes), (Some(40 << 10), 2 << 10));
        assert_eq!(parse(b""), None);
        assert_eq!(parse(b"Anonymous: x kB\n"), None);
    }

    #[test]
    fn what_is_shared_since_a_fork_is_not_exclusive() {
        let map = |private, anonymous, divided| MemoryMap {
            private_bytes: private,
            anonymous_bytes: anonymous,
            anonymous_share_bytes: divided,
            ..MemoryMap::default()
        };
        // 30 of its own, 20 shared by 4: divided 35.
        assert_eq!(map(1000, 50, Some(35)).exclusive_anonymous_bytes(4), 30);
        // Shared by two.
        assert_eq!(map(1000, 50, Some(40)).exclusive_anonymous_bytes(2), 30);
        // Nothing shared; mapped files do not count.
        assert_eq!(map(1000, 50, Some(50)).exclusive_anonymous_bytes(9), 50);
        // Pages that are mapped once bound it.
        assert_eq!(map(10, 50, Some(40)).exclusive_anonymous_bytes(2), 10);
        assert_eq!(map(20, 50, None).exclusive_anonymous_bytes(2), 20);
        // Of a whole that all four are in, each has a quarter of what they share.
        assert_eq!(map(1000, 50, Some(35)).own_anonymous_bytes(MemoryOwner::Whole(4)), 35);
        assert_eq!(map(30, 50, None).own_anonymous_bytes(MemoryOwner::Whole(4)), 35, "a kernel that does not divide");
        assert_eq!(map(1000, 50, Some(35)).own_anonymous_bytes(MemoryOwner::Process(4)), 30);
        // Shared memory: 40 made for itself, 60 that a hundred map; of a whole all that it has a part in.
        let shared = MemoryMap { private_bytes: 90, shared_share_bytes: Some(40), ..MemoryMap::default() };
        assert_eq!(shared.own_shared_bytes(MemoryOwner::Process(100), 40), 40);
        let parts = MemoryMap { private_bytes: 5000, shared_share_bytes: Some(4060), ..MemoryMap::default() };
        assert_eq!(parts.own_shared_bytes(MemoryOwner::Process(100), 10_000), 4000);
        assert_eq!(parts.own_shared_bytes(MemoryOwner::Whole(100), 10_000), 4060);
        assert_eq!(map(1000, 50, None).own_shared_bytes(MemoryOwner::Process(2), 7), 7, "nobody knows better");
        // Nonsense stays in range.
        assert_eq!(map(0, 10, Some(99)).exclusive_anonymous_bytes(0), 0);
        assert!(map(u64::MAX, u64::MAX, Some(u64::MAX)).exclusive_anonymous_bytes(2) > 0);
    }
}
