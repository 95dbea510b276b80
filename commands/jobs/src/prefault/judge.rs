//! Whether a mapping is populated: it must fit into what the machine has free and what control groups allow, or populating would end in the
//! out-of-memory killer what would have lived by touching little. Decides from numbers; reads them from `/proc`.

use super::ledger;
use machine::{ControlGroups, Host};

/// Left free at least.
const RESERVE_BYTES: u64 = 64 << 20;
/// And this part of all memory.
const RESERVE_PART: u64 = 50;

/// What a mapping is judged by, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// Free by the machine and by control groups.
    pub memory: u64,
    /// What the process may still lock; none where it may lock all.
    pub lock: Option<u64>,
}

/// A decision, as the ledger has it, and the number that it was made by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoomVerdict {
    pub verdict: u64,
    pub room: u64,
}

/// Judges a mapping of `bytes` that needs `now` of them at once.
pub fn judge(room: Room, now: u64, bytes: u64, is_locked: bool) -> RoomVerdict {
    match room.lock.filter(|&lock| is_locked && bytes > lock) {
        _ if now > room.memory => RoomVerdict { verdict: ledger::VERDICT_MEMORY, room: room.memory },
        Some(lock) => RoomVerdict { verdict: ledger::VERDICT_LOCK_LIMIT, room: lock },
        None => RoomVerdict { verdict: ledger::VERDICT_GO, room: room.memory },
    }
}

/// The room for a process, less what others are being given now.
pub fn room(host: &Host, process: u32, promised: u64) -> Room {
    let (total, available) =
        machine::host_memory(host).map_or((0, u64::MAX), |memory| (memory.total_bytes, memory.available_bytes));
    let groups = ControlGroups::of_process(host, process).or_else(|_gone| ControlGroups::of(host));
    let allowed = groups.and_then(|groups| groups.memory(host)).ok().and_then(|memory| memory.headroom_bytes);
    let reserve = RESERVE_BYTES.max(total / RESERVE_PART).min(available / 4);
    let machine = available.saturating_sub(reserve);
    let group = allowed.map_or(u64::MAX, |bytes| bytes.saturating_sub(RESERVE_BYTES.min(bytes / 4)));
    // What is not known is left to the kernel, whose answer is reported.
    let lock = machine::lockable_bytes_of(host, process).ok();
    Room { memory: machine.min(group).saturating_sub(promised), lock: lock.flatten() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::fake_machine::FakeMachine;

    fn fake(limit: &str) -> FakeMachine {
        let fake = FakeMachine::new(2, 8 << 30);
        fake.file(
            "/proc/7/mountinfo",
            "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
        );
        fake.file(
            "/proc/self/mountinfo",
            "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
        );
        fake.file("/proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n");
        fake.file("/proc/7/cgroup", "0::/db\n");
        fake.file("/sys/fs/cgroup/db/memory.max", limit);
        fake.file("/sys/fs/cgroup/db/memory.current", "0\n");
        fake.file("/proc/7/status", "VmLck:\t 1024 kB\nCapEff:\t0000000000000000\n");
        fake.file("/proc/7/limits", "Max locked memory         8388608              8388608              bytes\n");
        fake
    }

    fn host(fake: &FakeMachine) -> Host {
        Host::rooted_at(fake.root())
    }

    #[test]
    fn free_memory_and_the_limit_of_the_group_bound_what_is_populated() {
        let free = room(&host(&fake("max\n")), 7, 0).memory;
        assert!(free < 4 << 30 && free > 3 << 30, "{free}");
        assert_eq!(room(&host(&fake("max\n")), 7, 1 << 30).memory, free - (1 << 30));
        let tight = room(&host(&fake("1073741824\n")), 7, 0).memory;
        assert_eq!(tight, (1 << 30) - RESERVE_BYTES);
    }

    #[test]
    fn what_may_be_locked_is_the_limit_less_what_is_locked() {
        assert_eq!(room(&host(&fake("max\n")), 7, 0).lock, Some(7 << 20));
        let fake = fake("max\n");
        fake.file("/proc/7/status", "VmLck:\t 1024 kB\nCapEff:\t0000000000004000\n");
        assert_eq!(room(&host(&fake), 7, 0).lock, None);
    }

    #[test]
    fn the_number_in_the_way_is_named() {
        let room = Room { memory: 100, lock: Some(10) };
        assert_eq!(judge(room, 100, 100, false), RoomVerdict { verdict: ledger::VERDICT_GO, room: 100 });
        assert_eq!(judge(room, 101, 101, false), RoomVerdict { verdict: ledger::VERDICT_MEMORY, room: 100 });
        assert_eq!(judge(room, 50, 1000, false).verdict, ledger::VERDICT_GO, "a window of a large mapping");
        assert_eq!(judge(room, 11, 11, true), RoomVerdict { verdict: ledger::VERDICT_LOCK_LIMIT, room: 10 });
    }
}
