//! One mapping made better: its policy, huge pages, lock, and then all its pages by several threads, chunk by chunk. The runner decides
//! whether it fits and how many helpers may work; the program's thread works, too, and looks between two chunks whether more may.

use crate::ahead;
use crate::boundary::calls::{self, SignalMask};
use crate::boundary::shared;
use crate::boundary::thread::Threads;
use crate::ledger::{self, Kind, WORDS};
use crate::ranges::Ranges;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The page that every machine of ours has.
pub const PAGE: usize = 4096;

/// Bytes that a thread takes at once: what one page of page tables has, so that no two threads work below the same.
pub const CHUNK: usize = 2 << 20;

/// Bytes that one call populates: the address space is locked that long, and a thread of the program that maps waits (`docs/journal/0024-memory.md`).
const CALL: usize = 1 << 20;

/// LIMIT: helpers of one mapping, as the first such service had it.
const HELPERS_MAX: usize = 16;

/// How long the runner is waited for. Without an answer the mapping is as it would have been without us.
const ANSWER_NS: u64 = 200_000_000;
/// And for how long it is not asked then.
const SILENCE_NS: u64 = 5_000_000_000;

/// A new mapping of the program's, which has not heard of it.
#[derive(Clone, Copy, Debug)]
pub struct Mapping {
    pub start: usize,
    pub bytes: usize,
    pub kind: Kind,
    /// Bytes of its pages.
    pub page: usize,
    /// The program wants it populated when it gets it.
    pub is_demanded: bool,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Improved {
    /// Populated.
    Whole,
    /// Populated in part.
    Partly,
    /// It is being populated.
    Ahead,
    /// As it was.
    No,
    /// It does not fit, and the user wants to hear of that now.
    Refused,
}

/// What was locked here, though the program has not asked for it.
pub static LOCKED: Ranges = Ranges::new();

/// The page size that flags of mmap(2) ask for; `file` knows it for a file on hugetlbfs.
pub fn page_bytes(flags: i32, file: impl FnOnce() -> Option<usize>) -> usize {
    const MASK: u32 = 0x3f;
    let order = flags.cast_unsigned() >> libc::MAP_HUGE_SHIFT & MASK;
    match flags & libc::MAP_HUGETLB != 0 {
        true if (12..usize::BITS).contains(&order) => 1 << order,
        true => 2 << 20,
        false if flags & libc::MAP_ANONYMOUS != 0 => PAGE,
        false => file().filter(|bytes| bytes.is_power_of_two()).unwrap_or(PAGE),
    }
}

/// A slot of the ledger, while it is this thread's.
#[derive(Clone, Copy)]
pub struct LedgerSlot {
    words: &'static [AtomicU64; WORDS],
    first: usize,
}

impl LedgerSlot {
    fn claim(words: &'static [AtomicU64; WORDS]) -> Option<Self> {
        let mut slots = (0..ledger::SLOTS).filter_map(|number| Self::numbered(words, number));
        let claimed = |slot: &Self| {
            let state = slot.state();
            state.compare_exchange(ledger::FREE, ledger::CLAIMED, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        let slot = slots.find(claimed);
        if slot.is_none() {
            words[ledger::MISSED].fetch_add(1, Ordering::Relaxed);
        }
        slot
    }

    /// One by its number.
    pub fn numbered(words: &'static [AtomicU64; WORDS], number: usize) -> Option<Self> {
        (number < ledger::SLOTS).then(|| Self { words, first: ledger::FIRST_SLOT + number * ledger::SLOT_WORDS })
    }

    /// Which it is.
    pub fn number(&self) -> usize {
        (self.first - ledger::FIRST_SLOT) / ledger::SLOT_WORDS
    }

    fn state(&self) -> &'static core::sync::atomic::AtomicU32 {
        shared::half(&self.words[self.first + ledger::STATE])
    }

    /// One of its words.
    pub fn word(&self, word: usize) -> &'static AtomicU64 {
        &self.words[self.first + word]
    }

    fn set(&self, word: usize, value: u64) {
        self.word(word).store(value, Ordering::Relaxed);
    }

    /// The next state, and the runner hears of it.
    fn enter(&self, state: u32) {
        self.state().store(state, Ordering::Release);
        let bell = shared::half(&self.words[ledger::BELL]);
        bell.fetch_add(1, Ordering::AcqRel);
        calls::wake(bell);
    }

    /// Helpers that may work now.
    pub fn granted(&self) -> usize {
        self.word(ledger::GRANTED).load(Ordering::Acquire) as usize
    }

    /// Writes the question.
    fn describe(&self, mapping: Mapping) {
        let process = u64::from(calls::process()) | u64::from(calls::thread()) << 32;
        (ledger::VERDICT..=ledger::ROOM).for_each(|word| self.set(word, 0));
        self.set(ledger::PROCESS, process);
        self.set(ledger::ADDRESS, mapping.start as u64);
        self.set(ledger::BYTES, mapping.bytes as u64);
        self.set(ledger::KIND, mapping.kind as u64);
    }

    /// Waits for the runner's decision. A runner that does not answer is left alone for a while.
    fn ask(&self) -> u64 {
        let silent_until = &self.words[ledger::SILENT_UNTIL];
        let begin = calls::clock_ns(libc::CLOCK_MONOTONIC);
        if begin < silent_until.load(Ordering::Relaxed) {
            return ledger::VERDICT_NONE;
        }
        self.enter(ledger::ASKED);
        let end = begin.saturating_add(ANSWER_NS);
        while self.state().load(Ordering::Acquire) == ledger::ASKED {
            let left = end.saturating_sub(calls::clock_ns(libc::CLOCK_MONOTONIC));
            let (asked, claimed) = (ledger::ASKED, ledger::CLAIMED);
            if left == 0 && self.state().compare_exchange(asked, claimed, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                silent_until.store(end.saturating_add(SILENCE_NS), Ordering::Relaxed);
                return ledger::VERDICT_NONE;
            }
            calls::wait(self.state(), ledger::ASKED, left);
        }
        self.word(ledger::VERDICT).load(Ordering::Acquire)
    }

    /// Threads work on it from now on.
    pub fn begin(&self) {
        self.enter(ledger::WORKING);
    }

    /// All that there is to say has been written.
    pub fn report(&self) {
        self.enter(ledger::DONE);
    }
}

/// Makes a mapping better, by what the ledger wants. Leaves errno alone.
pub fn improve(mapping: Mapping) -> Improved {
    let Some(words) = shared::words() else { return Improved::No };
    let mode = words[ledger::MODE].load(Ordering::Relaxed);
    let begin = calls::clock_ns(libc::CLOCK_MONOTONIC);
    let is_startup = begin < words[ledger::STARTUP_ENDS].load(Ordering::Relaxed);
    let policy_at = if is_startup { ledger::STARTUP_POLICY } else { ledger::LATER_POLICY };
    let policy = words[policy_at].load(Ordering::Relaxed);
    let is_populated = mode & ledger::MODE_POPULATE != 0;
    if policy == 0 && !is_populated {
        shared::count(ledger::UNWANTED);
        return Improved::No;
    }
    if words[ledger::IS_ANSWERING].load(Ordering::Relaxed) == 0 {
        return Improved::No;
    }
    // A handler that jumps out of this call would leave a slot, and threads, behind.
    let before = SignalMask::hold_all();
    let outcome = LedgerSlot::claim(words).map_or(Improved::No, |slot| {
        let policy = Policy { number: policy, nodes: words[policy_at + 1].load(Ordering::Relaxed) };
        improve_in(slot, mapping, Wish { mode, policy, begin, signals: before })
    });
    before.restore();
    outcome
}

/// A policy as the ledger has it: one more than mbind(2)'s number, 0 for none.
#[derive(Clone, Copy)]
struct Policy {
    number: u64,
    nodes: u64,
}

/// What the ledger wants of this mapping, and what was there when the program made its call.
#[derive(Clone, Copy)]
struct Wish {
    mode: u64,
    policy: Policy,
    begin: u64,
    /// Signals that the program lets through.
    signals: SignalMask,
}

fn improve_in(slot: LedgerSlot, mapping: Mapping, wish: Wish) -> Improved {
    let Wish { mode, policy: Policy { number: policy, nodes }, begin, signals } = wish;
    slot.describe(mapping);
    if policy != 0 {
        let fault = calls::set_policy(mapping.start, mapping.bytes, policy - 1, nodes).err();
        slot.set(ledger::POLICY, policy);
        slot.set(ledger::POLICY_FAULT, fault.map_or(0, |errno| errno as u64));
    }
    let outcome = match mode & ledger::MODE_POPULATE != 0 {
        true => populate_if_it_fits(slot, mapping, mode, signals),
        false => Improved::No,
    };
    slot.set(ledger::WALL_NS, calls::clock_ns(libc::CLOCK_MONOTONIC).saturating_sub(begin));
    // Its own thread reports at its end.
    if outcome != Improved::Ahead {
        slot.report();
    }
    outcome
}

fn populate_if_it_fits(slot: LedgerSlot, mapping: Mapping, mode: u64, signals: SignalMask) -> Improved {
    let verdict = slot.ask();
    let is_strict = mode & ledger::MODE_STRICT != 0;
    match verdict {
        ledger::VERDICT_GO => {}
        ledger::VERDICT_LOCK_LIMIT if !is_strict => {}
        ledger::VERDICT_NONE => {
            slot.set(ledger::VERDICT, ledger::VERDICT_NONE);
            return Improved::No;
        }
        ledger::VERDICT_MEMORY | ledger::VERDICT_LOCK_LIMIT if is_strict => return Improved::Refused,
        _ => return Improved::No,
    }
    if mode & ledger::MODE_HUGE != 0 {
        let _not_for_this_kind = calls::ask_huge(mapping.start, mapping.bytes);
    }
    if mode & ledger::MODE_LOCK != 0 && verdict == ledger::VERDICT_GO {
        let fault = calls::lock_on_fault(mapping.start, mapping.bytes).err();
        if fault.is_none() {
            LOCKED.add(mapping.start, mapping.bytes);
        }
        slot.set(ledger::LOCK_FAULT, fault.map_or(0, |errno| errno as u64));
    }
    if mode & ledger::MODE_AHEAD != 0 && !mapping.is_demanded {
        return if ahead::take(slot, mapping) { Improved::Ahead } else { Improved::No };
    }
    slot.begin();
    populate(slot, mapping, signals)
}

/// What the threads of one mapping share; lives on the stack of the program's thread, which outlasts them.
struct Operation {
    slot: LedgerSlot,
    mapping: Mapping,
    chunk: usize,
    next: AtomicUsize,
    work_ns: AtomicU64,
    fault: AtomicU64,
    started: AtomicUsize,
    /// CPUs of the node that the program's thread is on; all zero where that does not matter.
    node_cpus: [u64; ledger::MASK_WORDS],
}

fn populate(slot: LedgerSlot, mapping: Mapping, signals: SignalMask) -> Improved {
    let operation = Operation::new(slot, mapping);
    operation.work(signals);
    slot.set(ledger::WORK_NS, operation.work_ns.load(Ordering::Relaxed));
    let fault = operation.fault.load(Ordering::Relaxed);
    slot.set(ledger::FAULT, fault);
    if fault == 0 { Improved::Whole } else { Improved::Partly }
}

impl Operation {
    fn new(slot: LedgerSlot, mapping: Mapping) -> Self {
        let node = calls::node();
        let mut node_cpus = [0; ledger::MASK_WORDS];
        if node < ledger::NODES {
            let first = ledger::NODE_CPUS + node * ledger::MASK_WORDS;
            let mask = slot.words.iter().skip(first);
            node_cpus.iter_mut().zip(mask).for_each(|(cpus, word)| *cpus = word.load(Ordering::Relaxed));
        }
        Self {
            slot,
            mapping,
            chunk: mapping.page.max(CHUNK),
            next: AtomicUsize::new(0),
            work_ns: AtomicU64::new(0),
            fault: AtomicU64::new(0),
            started: AtomicUsize::new(0),
            node_cpus,
        }
    }

    /// The program's thread: populates, and starts a helper whenever the runner holds another core token for it.
    fn work(&self, before: SignalMask) {
        let begin = calls::clock_ns(libc::CLOCK_THREAD_CPUTIME_ID);
        let chunks = chunks(self.mapping, self.chunk);
        let mut helpers: Threads<HELPERS_MAX> = Threads::new(chunks.saturating_sub(1));
        loop {
            if before.is_any_waiting() {
                self.fail(ledger::INTERRUPTED);
            }
            while helpers.started() < self.slot.granted() && helpers.has_room() && !self.is_over() {
                if helpers.start(help, self).is_err() {
                    break;
                }
            }
            if !self.step() {
                break;
            }
        }
        helpers.join();
        self.slot.set(ledger::HELPERS, helpers.started() as u64);
        drop(helpers);
        self.add_work(begin);
    }

    fn add_work(&self, begin: u64) {
        let work = calls::clock_ns(libc::CLOCK_THREAD_CPUTIME_ID).saturating_sub(begin);
        self.work_ns.fetch_add(work, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.fault.load(Ordering::Relaxed) != 0 || self.next.load(Ordering::Relaxed) >= chunks(self.mapping, self.chunk)
    }

    /// The first fault stands.
    fn fail(&self, fault: u64) {
        let _an_earlier_one = self.fault.compare_exchange(0, fault, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Populates a chunk; whether there may be more.
    fn step(&self) -> bool {
        if self.fault.load(Ordering::Relaxed) != 0 {
            return false;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let Some((start, bytes)) = chunk(self.mapping, self.chunk, number) else { return false };
        let call_bytes = self.mapping.page.max(CALL);
        for (start, bytes) in pieces(start, bytes, call_bytes) {
            let outcome = match self.mapping.kind {
                Kind::LockedFile => calls::populate_for_reading(start, bytes),
                _ => calls::populate(start, bytes),
            };
            if let Err(errno) = outcome {
                self.fail(errno as u64);
                return false;
            }
            self.slot.word(ledger::POPULATED).fetch_add(bytes as u64, Ordering::Relaxed);
        }
        true
    }
}

/// A helper: as long as the runner holds a core token for it.
extern "C" fn help(operation: &Operation) {
    let number = operation.started.fetch_add(1, Ordering::Relaxed);
    calls::set_name(c"mh-prefault");
    if operation.node_cpus.iter().any(|&word| word != 0) {
        calls::stay_on(&operation.node_cpus);
    }
    while number < operation.slot.granted() && operation.step() {}
    operation.add_work(0);
}

/// How many chunks a mapping has, cut where addresses are multiples of `chunk`: no two threads work below one page table.
fn chunks(mapping: Mapping, chunk: usize) -> usize {
    let last = mapping.start.saturating_add(mapping.bytes).saturating_sub(1);
    if mapping.bytes == 0 { 0 } else { last / chunk - mapping.start / chunk + 1 }
}

/// Start and length of one of them.
fn chunk(mapping: Mapping, chunk: usize, number: usize) -> Option<(usize, usize)> {
    if number >= chunks(mapping, chunk) {
        return None;
    }
    let base = (mapping.start / chunk).saturating_add(number).saturating_mul(chunk);
    let end = mapping.start.saturating_add(mapping.bytes).min(base.saturating_add(chunk));
    let start = base.max(mapping.start);
    Some((start, end.saturating_sub(start)))
}

/// A range in pieces of at most `most`.
fn pieces(start: usize, bytes: usize, most: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..bytes.div_ceil(most)).map(move |number| (start + number * most, most.min(bytes - number * most)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(start: usize, bytes: usize) -> Mapping {
        Mapping { start, bytes, kind: Kind::Private, page: PAGE, is_demanded: false }
    }

    #[test]
    fn chunks_are_cut_at_multiples_and_cover_every_byte_once() {
        for (start, bytes) in
            [(0x1000, 64 << 20), (CHUNK, CHUNK), (CHUNK - PAGE, 2 * PAGE), (7 * CHUNK, 9 * CHUNK + PAGE)]
        {
            let whole = mapping(start, bytes);
            let mut at = start;
            for number in 0..chunks(whole, CHUNK) {
                let (first, length) = chunk(whole, CHUNK, number).expect("it is one of them");
                assert!(
                    first == at && length > 0 && (first / CHUNK == (first + length - 1) / CHUNK),
                    "{first:#x} {length:#x}"
                );
                at += length;
            }
            assert_eq!(at, start + bytes);
            assert_eq!(chunk(whole, CHUNK, chunks(whole, CHUNK)), None);
        }
        assert_eq!(chunks(mapping(PAGE, 0), CHUNK), 0);
        assert!(pieces(PAGE, 2 * CALL + PAGE, CALL).eq([(PAGE, CALL), (PAGE + CALL, CALL), (PAGE + 2 * CALL, PAGE)]));
    }

    #[test]
    fn page_sizes_are_those_that_the_flags_ask_for() {
        let huge = libc::MAP_HUGETLB | libc::MAP_ANONYMOUS;
        assert_eq!(page_bytes(libc::MAP_ANONYMOUS, || None), PAGE);
        assert_eq!(page_bytes(huge, || None), 2 << 20);
        assert_eq!(page_bytes(huge | 30 << libc::MAP_HUGE_SHIFT, || None), 1 << 30);
        assert_eq!(page_bytes(libc::MAP_SHARED, || Some(2 << 20)), 2 << 20);
        assert_eq!(page_bytes(libc::MAP_SHARED, || Some(3)), PAGE);
    }

    #[test]
    fn without_a_ledger_nothing_is_done() {
        assert_eq!(improve(mapping(PAGE, 1 << 30)), Improved::No);
    }
}
