//! The memory that programs in the kernel and this process share: what lies where. Both sides take every number from here.
//!
//! Threads have a row each, owners (what the table is by) a row each, and every pair of owner and call that occurs a cell
//! on each CPU. All room is taken before the first program runs, so nothing in the kernel ever waits for memory.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use sys::bpf::{KernelTable, KernelWords};

/// Rows for calls; the last three stand for something else.
pub const CALLS: u32 = 512;
/// Numbers of calls are below this on every architecture.
pub const CALLS_KNOWN: u32 = 509;
/// Where sampling counts what a thread does between calls.
pub const CALL_BETWEEN: u32 = 509;
/// Numbers beyond, and those that a debugger or filter has spoiled.
pub const CALL_OTHER: u32 = 510;
/// Calls of 32-bit programs, which have numbers of their own.
pub const CALL_OF_32_BIT: u32 = 511;

/// LIMIT: owners that are told apart; what comes later is counted together, and said. Their table of cells is 8 MB.
pub const OWNERS: u32 = 2048;
/// Nobody: a thread that is not followed.
pub const OWNER_NONE: u32 = 0;
/// All owners that found no room.
pub const OWNER_OTHERS: u32 = 1;
/// The thread that measures what measuring costs.
pub const OWNER_OURSELVES: u32 = 2;
/// Where everything counts as one owner.
pub const OWNER_ALL: u32 = 3;
/// The first that is given out.
pub const OWNER_FIRST: u32 = 4;

/// The cell of pairs that found no room.
pub const CELL_OTHERS: u32 = 1;
/// The first that is given out; 0 means none yet.
pub const CELL_FIRST: u32 = 2;

/// One word of the header, by number.
pub mod header {
    /// The next owner to be given out.
    pub const OWNERS_NEXT: i16 = 0;
    /// The next cell to be given out.
    pub const CELLS_NEXT: i16 = 8;
    /// What to take off a call's time, in nanoseconds, so that it is the time that its caller sees; may be negative.
    pub const CORRECTION_NS: i16 = 16;
    /// Processes and names that found no owner.
    pub const OWNERS_REFUSED: i16 = 24;
    /// Pairs that found no cell.
    pub const CELLS_REFUSED: i16 = 32;
    /// Threads whose number is beyond all rows.
    pub const THREADS_REFUSED: i16 = 40;
    /// Threads that were found running though no switch had brought them to a CPU.
    pub const RETURNS_UNSEEN: i16 = 48;
    /// Words in all.
    pub const WORDS: usize = 8;
}

/// A thread's row: bytes from its beginning.
pub mod thread {
    /// Whose it is (32 bits).
    pub const OWNER: i16 = 0;
    /// The call it is in, plus one; 0 between calls (32 bits).
    pub const CALL: i16 = 4;
    /// When that began.
    pub const SINCE: i16 = 8;
    /// For how long it was off the CPU in that call.
    pub const WAITED: i16 = 16;
    /// When it left its CPU; 0 on one.
    pub const OFF_SINCE: i16 = 24;
    /// Since when it is followed.
    pub const BORN: i16 = 32;
    /// For how long it was off the CPU between calls.
    pub const IDLE: i16 = 40;
    /// Whose it becomes at the end of its call, plus one; 0 where that does not change (32 bits).
    pub const OWNER_NEXT: i16 = 48;
    /// As a power of two; a line of the cache, so that neighbours do not disturb each other.
    pub const SHIFT: i32 = 6;
}

/// An owner's row: bytes from its beginning.
pub mod owner {
    /// Time for which its ended threads were followed.
    pub const LIFE: i16 = 0;
    /// Of it, off the CPU between calls.
    pub const IDLE: i16 = 8;
    /// Calls that their thread's end cut short: time.
    pub const CUT: i16 = 16;
    /// Of it, off the CPU.
    pub const CUT_WAITED: i16 = 24;
    /// Threads that have ended or left.
    pub const ENDED: i16 = 32;
    /// Threads that have begun.
    pub const BEGUN: i16 = 40;
    /// The number of its first thread's process (32 bits),
    pub const TGID: i16 = 48;
    /// and of that thread (32 bits).
    pub const THREAD: i16 = 52;
    /// Control group.
    pub const GROUP: i16 = 56;
    /// Name, 16 bytes.
    pub const NAME: i16 = 64;
    /// As a power of two.
    pub const SHIFT: i32 = 7;
}

/// A cell: bytes from its beginning. Written by one program alone, which the kernel never runs twice at once on a CPU: so
/// plain additions lose nothing.
pub mod cell {
    /// Time of all calls that have ended.
    pub const TOTAL: i16 = 0;
    /// Of it, off the CPU.
    pub const WAITED: i16 = 8;
    /// The longest.
    pub const MAX: i16 = 16;
    /// Its process (upper half) and thread.
    pub const MAX_WHO: i16 = 24;
    /// Its first argument.
    pub const MAX_ARGUMENT: i16 = 32;
    /// When it ended.
    pub const MAX_WHEN: i16 = 40;
    /// Errors: number in the upper 12 bits, count below.
    pub const ERRORS: i16 = 48;
    /// LIMIT: different errors of one call on one CPU that are told apart.
    pub const ERROR_KINDS: i16 = 5;
    /// Other errors.
    pub const ERRORS_OTHER: i16 = 88;
    /// Calls by duration: below 128 ns, then by powers of two.
    pub const DURATIONS: i16 = 96;
    /// Sampling counts its samples here instead,
    pub const SAMPLES: i16 = DURATIONS;
    /// and how often a thread waited here.
    pub const WAITS: i16 = DURATIONS + 8;
    /// How many powers; the last has all that is longer, from 8.6 s on.
    pub const DURATION_KINDS: i16 = 28;
    /// The first power.
    pub const DURATION_SHIFT: i32 = 6;
    /// All of it: five lines of the cache.
    pub const BYTES: i32 = 320;
    /// Where an error's number stands in its word.
    pub const ERROR_SHIFT: i32 = 52;
}

/// A CPU's row: bytes from its beginning. Written by programs on that CPU alone.
pub mod cpu {
    /// Calls of threads that were not followed.
    pub const BYSTANDER_CALLS: i16 = 0;
    /// The number of the thread on it.
    pub const THREAD: i16 = 8;
    /// Where that thread's registers lie, which tells it from all others; 0 since the last switch, until somebody asks.
    pub const REGISTERS: i16 = 16;
    /// As a power of two: a line of the cache.
    pub const SHIFT: i32 = 6;
}

/// How large this machine makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Thread numbers are below this.
    pub threads: u32,
    /// CPU numbers are below this.
    pub cpus: u32,
    /// Pairs of owner and call.
    pub cells: u32,
}

impl Size {
    /// LIMIT: cells take this much on all CPUs together, or as much as 128 a CPU do.
    const CELLS_BYTES: u32 = 96 << 20;
    /// More pairs than this nobody reads.
    const CELLS_MAX: u32 = 16 << 10;
    const CELLS_MIN: u32 = 128;

    /// For a machine with so many thread and CPU numbers.
    pub fn of(threads: u32, cpus: u32) -> Self {
        let cpus = cpus.max(1);
        let cells = Self::CELLS_BYTES / (cell::BYTES as u32 * cpus);
        Self { threads, cpus, cells: cells.clamp(Self::CELLS_MIN, Self::CELLS_MAX) }
    }
}

/// All of it.
pub struct CallMemory {
    pub size: Size,
    pub header: KernelWords,
    pub threads: KernelWords,
    pub owners: KernelWords,
    /// Owner and call to cell.
    pub places: KernelWords,
    pub cells: KernelWords,
    /// What is to be known of each CPU.
    pub cpus: KernelWords,
    /// Name or control group to owner.
    pub keys: KernelTable,
}

impl CallMemory {
    /// Takes it, all zero but for what is given out first.
    pub fn new(size: Size) -> io::Result<Self> {
        let words = |rows: usize, shift: i32| rows * (1 << shift) / 8;
        let memory = Self {
            size,
            header: KernelWords::new("mh_header", header::WORDS)?,
            threads: KernelWords::new("mh_threads", words(size.threads as usize, thread::SHIFT))?,
            owners: KernelWords::new("mh_owners", words(OWNERS as usize, owner::SHIFT))?,
            places: KernelWords::new("mh_places", (OWNERS * CALLS) as usize)?,
            cells: KernelWords::new("mh_cells", size.cpus as usize * size.cells as usize * cell::BYTES as usize / 8)?,
            cpus: KernelWords::new("mh_cpus", words(size.cpus as usize, cpu::SHIFT))?,
            keys: KernelTable::new("mh_keys", 16, OWNERS)?,
        };
        memory.set_header(header::OWNERS_NEXT, u64::from(OWNER_FIRST));
        memory.set_header(header::CELLS_NEXT, u64::from(CELL_FIRST));
        Ok(memory)
    }

    /// A word of the header.
    pub fn header(&self, at: i16) -> u64 {
        read(self.header.words(), at as usize / 8)
    }

    /// Sets a word of the header.
    pub fn set_header(&self, at: i16, value: u64) {
        self.header.words()[at as usize / 8].store(value, Ordering::Relaxed);
    }

    /// A thread's row.
    pub fn thread(&self, number: u32) -> CallRow<'_> {
        CallRow { words: self.threads.words(), from: (number as usize) << thread::SHIFT >> 3 }
    }

    /// An owner's row.
    pub fn owner(&self, number: u32) -> CallRow<'_> {
        CallRow { words: self.owners.words(), from: (number as usize) << owner::SHIFT >> 3 }
    }

    /// The cell of an owner's call; 0 for none yet.
    pub fn place(&self, owner: u32, call: u32) -> u32 {
        read(self.places.words(), (owner * CALLS + call) as usize) as u32
    }

    /// A cell as one CPU sees it.
    pub fn cell(&self, cpu: u32, number: u32) -> CallRow<'_> {
        let row = cpu as usize * self.size.cells as usize + number as usize;
        CallRow { words: self.cells.words(), from: row * cell::BYTES as usize / 8 }
    }

    /// Calls of threads that were not followed.
    pub fn bystander_calls(&self) -> u64 {
        let row = |number: usize| CallRow { words: self.cpus.words(), from: number << cpu::SHIFT >> 3 };
        (0..self.size.cpus as usize).map(|number| row(number).word(cpu::BYSTANDER_CALLS)).sum()
    }
}

/// A row of any kind.
#[derive(Clone, Copy)]
pub struct CallRow<'a> {
    words: &'a [AtomicU64],
    from: usize,
}

impl CallRow<'_> {
    /// The eight bytes at `at`.
    pub fn word(&self, at: i16) -> u64 {
        read(self.words, self.from + at as usize / 8)
    }

    /// The four bytes at `at`.
    pub fn half(&self, at: i16) -> u32 {
        let bytes = self.word(at & !7).to_ne_bytes();
        let from = (at & 7) as usize;
        u32::from_ne_bytes([bytes[from], bytes[from + 1], bytes[from + 2], bytes[from + 3]])
    }

    /// Sets the eight bytes at `at`.
    pub fn set_word(&self, at: i16, value: u64) {
        self.words[self.from + at as usize / 8].store(value, Ordering::Relaxed);
    }

    /// Sets the row's first eight bytes as two halves.
    pub fn set_owner_and_call(&self, owner: u32, call: u32) {
        let ([a, b, c, d], [e, f, g, h]) = (owner.to_ne_bytes(), call.to_ne_bytes());
        self.set_word(0, u64::from_ne_bytes([a, b, c, d, e, f, g, h]));
    }
}

// ORDER: relaxed. The numbers are counters that programs on other CPUs go on writing; a reader takes them as they are.
fn read(words: &[AtomicU64], at: usize) -> u64 {
    words[at].load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_overlap_and_rows_hold_them() {
        assert_eq!(cell::ERRORS + 8 * cell::ERROR_KINDS, cell::ERRORS_OTHER);
        assert_eq!(i32::from(cell::DURATIONS + 8 * cell::DURATION_KINDS), cell::BYTES);
        assert!(i32::from(thread::OWNER_NEXT) + 4 <= 1 << thread::SHIFT);
        assert!(i32::from(owner::NAME) + 16 <= 1 << owner::SHIFT);
        assert!(OWNERS.is_power_of_two() && CALLS.is_power_of_two());
    }

    #[test]
    fn machines_of_any_size_get_memory_that_the_kernel_accepts() {
        for cpus in [1, 2, 64, 256, 4096] {
            let size = Size::of(4 << 20, cpus);
            let bytes = size.cpus as usize * size.cells as usize * cell::BYTES as usize;
            assert!(bytes <= KernelWords::BYTES_MAX, "{cpus} CPUs: {bytes} bytes");
            assert!((size.threads as usize) << thread::SHIFT <= KernelWords::BYTES_MAX);
        }
        assert_eq!(Size::of(32768, 2).cells, 16 << 10);
    }
}
