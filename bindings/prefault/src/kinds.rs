//! Which mappings are populated: those that the program can write, that begin empty, and that it has not asked to be sparse.
//! Knows no pointers; what is asked of the kernel about a file comes in as values.

use crate::ledger::Kind;

/// File systems (statfs(2)).
const TMPFS_MAGIC: u64 = 0x0102_1994;
const HUGETLBFS_MAGIC: u64 = 0x9584_58f6;

/// Mappings that are for growing stacks, deliberately sparse, or populated and locked by the kernel itself within mmap(2).
const LEFT_ALONE: i32 =
    libc::MAP_GROWSDOWN | libc::MAP_STACK | libc::MAP_NORESERVE | libc::MAP_LOCKED | libc::MAP_NONBLOCK;

/// What is behind a descriptor.
#[derive(Clone, Copy, Debug)]
pub struct FileFacts {
    /// Of its file system.
    pub magic: u64,
    /// Bytes of it that are in memory already.
    pub present_bytes: u64,
    /// Bytes that its file system still takes; none where it has no limit.
    pub room: Option<u64>,
    /// Whether it has a name, by which others see its size and its times.
    pub is_named: bool,
}

/// A call of mmap(2).
#[derive(Clone, Copy, Debug)]
pub struct MapCall {
    pub bytes: usize,
    pub protection: i32,
    pub flags: i32,
}

impl MapCall {
    fn has(self, flag: i32) -> bool {
        self.flags & flag != 0
    }

    /// Whether it sets addresses aside that a later call makes accessible.
    pub fn is_reservation(self) -> bool {
        let is_stack = self.has(libc::MAP_GROWSDOWN | libc::MAP_STACK);
        self.protection == libc::PROT_NONE && self.has(libc::MAP_ANONYMOUS) && !is_stack
    }

    /// What it makes, if that is to be populated. `file` looks at the file behind it, if there is one.
    pub fn kind(self, file: impl FnOnce() -> Option<FileFacts>) -> Option<Kind> {
        if self.protection & libc::PROT_WRITE == 0 || self.has(LEFT_ALONE) {
            return None;
        }
        let is_shared = self.flags & libc::MAP_TYPE != libc::MAP_PRIVATE;
        if self.has(libc::MAP_ANONYMOUS) {
            return Some(match () {
                () if self.has(libc::MAP_HUGETLB) => Kind::Huge,
                () if is_shared => Kind::Shared,
                () if self.has(libc::MAP_FIXED) => Kind::Committed,
                () => Kind::Private,
            });
        }
        let facts = file().filter(|facts| is_shared && facts.present_bytes < self.bytes as u64)?;
        let fits = facts.room.is_none_or(|room| (self.bytes as u64).saturating_sub(facts.present_bytes) <= room / 2);
        match facts.magic {
            TMPFS_MAGIC if !facts.is_named && fits => Some(Kind::Memory),
            HUGETLBFS_MAGIC => Some(Kind::Huge),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use libc::{MAP_ANONYMOUS, MAP_FIXED, MAP_HUGETLB, MAP_PRIVATE, MAP_SHARED, PROT_NONE, PROT_READ, PROT_WRITE};

    const READ_WRITE: i32 = PROT_READ | PROT_WRITE;

    fn kind(protection: i32, flags: i32) -> Option<Kind> {
        MapCall { bytes: 1 << 30, protection, flags }.kind(|| None)
    }

    fn of_file(magic: u64, present_bytes: u64, flags: i32) -> Option<Kind> {
        of(FileFacts { magic, present_bytes, room: None, is_named: false }, flags)
    }

    fn of(facts: FileFacts, flags: i32) -> Option<Kind> {
        MapCall { bytes: 1 << 20, protection: READ_WRITE, flags }.kind(|| Some(facts))
    }

    #[test]
    fn files_that_others_see_or_that_have_no_room_are_left_alone() {
        let facts = FileFacts { magic: TMPFS_MAGIC, present_bytes: 0, room: Some(4 << 20), is_named: false };
        assert_eq!(of(facts, MAP_SHARED), Some(Kind::Memory));
        assert_eq!(of(FileFacts { is_named: true, ..facts }, MAP_SHARED), None, "its times and its size would change");
        assert_eq!(of(FileFacts { room: Some(1 << 20), ..facts }, MAP_SHARED), None, "another file would find no room");
    }

    #[test]
    fn anonymous_memory_that_can_be_written_is_populated() {
        assert_eq!(kind(READ_WRITE, MAP_PRIVATE | MAP_ANONYMOUS), Some(Kind::Private));
        assert_eq!(kind(READ_WRITE, MAP_SHARED | MAP_ANONYMOUS), Some(Kind::Shared));
        assert_eq!(kind(READ_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED), Some(Kind::Committed));
        assert_eq!(kind(PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB), Some(Kind::Huge));
    }

    #[test]
    fn reservations_stacks_and_sparse_memory_are_left_alone() {
        assert_eq!(kind(PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS), None);
        assert_eq!(kind(PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS), None);
        for flag in [libc::MAP_NORESERVE, libc::MAP_GROWSDOWN, libc::MAP_STACK, libc::MAP_LOCKED] {
            assert_eq!(kind(READ_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flag), None, "{flag:#x}");
        }
        let reservation = MapCall { bytes: 1 << 30, protection: PROT_NONE, flags: MAP_PRIVATE | MAP_ANONYMOUS };
        assert!(reservation.is_reservation());
        let stack = MapCall { flags: reservation.flags | libc::MAP_STACK, ..reservation };
        assert!(!stack.is_reservation());
    }

    #[test]
    fn of_files_only_those_in_memory_that_are_not_there_yet() {
        assert_eq!(of_file(TMPFS_MAGIC, 0, MAP_SHARED), Some(Kind::Memory));
        assert_eq!(of_file(HUGETLBFS_MAGIC, 0, MAP_SHARED), Some(Kind::Huge));
        assert_eq!(of_file(TMPFS_MAGIC, 1 << 20, MAP_SHARED), None, "another process has populated it");
        assert_eq!(of_file(TMPFS_MAGIC, 0, MAP_PRIVATE), None, "pages of the file would be copied");
        assert_eq!(of_file(0xef53, 0, MAP_SHARED), None, "ext4: the file would be read and written");
        assert_eq!(kind(READ_WRITE, MAP_SHARED), None, "nothing is known of the file");
    }
}
