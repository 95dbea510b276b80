//! The memory that `mh vmtasks run` shares with every process of the program: 64-bit words in a file without a name. The header holds
//! settings, which never change; a slot is one mapping, asked by the library, judged by the runner, and reported by the library.
//! The runner includes this file; the layout is written once.
#![expect(dead_code, reason = "each side writes some words that the other reads")]

/// First word: this layout.
pub const MAGIC: u64 = 0x6d68_7072_6566_0002;
/// Where it is.
pub const MAGIC_AT: usize = 0;
/// Half a word: rung by the library, and waited for by the runner.
pub const BELL: usize = 1;
/// 1 while the runner answers.
pub const IS_ANSWERING: usize = 2;
/// Processes that have loaded the library.
pub const PROCESSES: usize = 3;
/// Mappings that found all slots taken.
pub const MISSED: usize = 4;
/// Mappings below this many bytes are not looked at.
pub const MIN_BYTES: usize = 5;
/// Bits of `MODE_*`.
pub const MODE: usize = 6;
/// When the start-up ends, in nanoseconds of CLOCK_MONOTONIC.
pub const STARTUP_ENDS: usize = 7;
/// A memory policy as mbind(2) has it, plus one; 0 leaves mappings alone. Its nodes are in the next word.
pub const STARTUP_POLICY: usize = 8;
/// The same for mappings after the start-up.
pub const LATER_POLICY: usize = 10;
/// Bytes that `MODE_AHEAD` stays in front of the program.
pub const WINDOW_BYTES: usize = 12;
/// The runner's PID namespace (namespaces(7)): processes of another one are left alone, since their numbers mean others here.
pub const NAMESPACE: usize = 13;
/// Filters of system calls that the runner has (seccomp(2)): who has more may be ended by calls that it never made.
pub const FILTERS: usize = 14;
/// Until when the runner is not asked, in nanoseconds of CLOCK_MONOTONIC: it did not answer. The runner sets it back.
pub const SILENT_UNTIL: usize = 15;

/// Populate mappings before the program gets them.
pub const MODE_POPULATE: u64 = 1;
/// Lock them, too.
pub const MODE_LOCK: u64 = 2;
/// Ask for transparent huge pages first.
pub const MODE_HUGE: u64 = 4;
/// Populate behind the program's back instead, a window in front of it.
pub const MODE_AHEAD: u64 = 8;
/// A mapping that does not fit into memory is refused (ENOMEM), not left to the kernel.
pub const MODE_STRICT: u64 = 16;

/// CPUs of each node: [`MASK_WORDS`] words a node, all zero on a machine of one node.
pub const NODE_CPUS: usize = 16;
/// LIMIT: nodes whose CPUs are kept apart; helpers go anywhere for those behind them.
pub const NODES: usize = 16;
/// LIMIT: 1,024 CPUs.
pub const MASK_WORDS: usize = 16;

/// Large mappings that are not of a kind that is populated: sparse, stacks, locked by mmap(2) itself, files with names.
pub const LEFT_ALONE: usize = NODE_CPUS + NODES * MASK_WORDS;
/// Large mappings that came when no policy was wanted.
pub const UNWANTED: usize = LEFT_ALONE + 1;

/// Where the first slot is.
pub const FIRST_SLOT: usize = LEFT_ALONE + 8;
/// LIMIT: mappings that are being populated at once, by all processes of the program.
pub const SLOTS: usize = 128;
/// Words of a slot.
pub const SLOT_WORDS: usize = 16;
/// All words.
pub const WORDS: usize = FIRST_SLOT + SLOTS * SLOT_WORDS;

/// Half a word of a slot: one of the states below, woken at each change.
pub const STATE: usize = 0;
/// The process, and the thread in the upper half.
pub const PROCESS: usize = 1;
/// Where the mapping begins.
pub const ADDRESS: usize = 2;
/// How long it is.
pub const BYTES: usize = 3;
/// A `Kind`, as a number.
pub const KIND: usize = 4;
/// What the runner decided: one of `VERDICT_*`.
pub const VERDICT: usize = 5;
/// Core tokens that the runner holds for this mapping now: so many helpers may work.
pub const GRANTED: usize = 6;
/// Bytes that were populated.
pub const POPULATED: usize = 7;
/// Time from the program's call to its return, in nanoseconds.
pub const WALL_NS: usize = 8;
/// CPU time of all threads that populated.
pub const WORK_NS: usize = 9;
/// Helpers that were started; under `MODE_AHEAD`, 1 while there is something to do and no core token for it.
pub const HELPERS: usize = 10;
/// Why populating ended early: an errno, 0, or [`INTERRUPTED`].
pub const FAULT: usize = 11;
/// Why it could not be locked, as an errno.
pub const LOCK_FAULT: usize = 12;
/// Why the policy could not be set, as an errno.
pub const POLICY_FAULT: usize = 13;
/// The policy that was set, plus one; 0 for none.
pub const POLICY: usize = 14;
/// The bytes that the runner judged by: free memory, or the limit in the way.
pub const ROOM: usize = 15;

/// States of a slot.
pub const FREE: u32 = 0;
/// A thread writes its question.
pub const CLAIMED: u32 = 1;
/// The runner is to decide.
pub const ASKED: u32 = 2;
/// It has decided.
pub const ANSWERED: u32 = 3;
/// Threads populate.
pub const WORKING: u32 = 4;
/// The runner is to read it and set it free.
pub const DONE: u32 = 5;

/// Populate it.
pub const VERDICT_GO: u64 = 1;
/// It does not fit into the memory that is free, or that a control group allows.
pub const VERDICT_MEMORY: u64 = 2;
/// Locked, it would exceed RLIMIT_MEMLOCK: a strict run refuses it, any other populates it and does not lock it.
pub const VERDICT_LOCK_LIMIT: u64 = 3;
/// The runner did not answer in time.
pub const VERDICT_NONE: u64 = 4;

/// A signal arrived for the program while its mapping was populated.
pub const INTERRUPTED: u64 = 1 << 32;

/// What a mapping is. Numbers are part of the layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Kind {
    /// Private and anonymous: a buffer pool, a heap.
    Private = 1,
    /// Shared and anonymous: PostgreSQL's shared memory.
    Shared = 2,
    /// A file in memory: memfd, /dev/shm.
    Memory = 3,
    /// Explicit huge pages.
    Huge = 4,
    /// A System V segment.
    Segment = 5,
    /// What a program made accessible that it had reserved before.
    Committed = 6,
    /// Memory that a program locks.
    Locked = 7,
    /// A file that a program locks, or what is not known to be memory.
    LockedFile = 8,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Private,
        Self::Shared,
        Self::Memory,
        Self::Huge,
        Self::Segment,
        Self::Committed,
        Self::Locked,
        Self::LockedFile,
    ];
}
