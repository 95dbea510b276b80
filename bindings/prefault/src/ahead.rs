//! Populating behind the program's back: one thread stays a window in front of the program, and never further. Where the program is, it sees by
//! pages that it leaves out on purpose: the last 2 MiB of each segment are the program's to touch, and once they are present it has come so far.
//! Nothing but the program's own calls tells when a range ends: `forget` is called before each of them.
//!
//! All state is in one page that a child of fork(2) finds empty: no thread, no range, no lock. The thread ends with the last range.

use crate::boundary::calls::{self, SignalMask};
use crate::boundary::shared;
use crate::boundary::thread::{STACK_BYTES, start_alone};
use crate::ledger;
use crate::operation::{LedgerSlot, Mapping, PAGE};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// LIMIT: mappings that are populated at once in this way.
const RANGES: usize = 32;

/// A part of a range, cut at multiples: populated whole, but for its last 2 MiB, where the program is waited for.
const SEGMENT: usize = 64 << 20;
/// So large that a transparent huge page fits.
const LEFT_OUT: usize = 2 << 20;

/// Bytes of one call: the program may wait for it, and for the thread to get a CPU in it.
const STEP: usize = 64 << 10;

/// How often the thread looks where the program is.
const LOOK_NS: u64 = 2_000_000;
/// After so many looks in vain, it looks less often, up to this.
const LOOK_MAX_NS: u64 = 50_000_000;

/// One mapping.
struct Range {
    start: AtomicUsize,
    end: AtomicUsize,
    /// Where populating goes on.
    next: AtomicUsize,
    /// How far the program was seen to have come.
    reached: AtomicUsize,
    /// One behind the number of its slot; 0 while the place is free.
    slot: AtomicUsize,
    /// 1 while the thread populates a part of it.
    is_busy: AtomicU32,
}

/// All of a process. Zeroes are the state of one that has nothing under way.
pub struct AheadState {
    lock: AtomicU32,
    /// Ranges that are under way.
    count: AtomicU32,
    /// 1 from when a thread is started until it decides, with the lock, to end.
    is_running: AtomicU32,
    /// Not 0 while a thread is on the stack.
    lives: AtomicU32,
    /// Nothing is taken any more.
    has_ended: AtomicU32,
    stack: AtomicUsize,
    ranges: [Range; RANGES],
}

const _: () = assert!(size_of::<AheadState>() <= PAGE);

/// The lock, with all signals held back: a handler that maps memory must not find it taken by its own thread.
struct Locked {
    state: &'static AheadState,
    signals: SignalMask,
}

impl Locked {
    fn take(state: &'static AheadState) -> Self {
        let signals = SignalMask::hold_all();
        while state.lock.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            calls::wait(&state.lock, 1, LOOK_NS);
        }
        Self { state, signals }
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        self.state.lock.store(0, Ordering::Release);
        calls::wake(&self.state.lock);
        self.signals.restore();
    }
}

/// Has a mapping populated in front of the program. False where that cannot be done.
pub fn take(slot: LedgerSlot, mapping: Mapping) -> bool {
    let Some(state) = shared::ahead_state() else { return false };
    let locked = Locked::take(state);
    if state.has_ended.load(Ordering::Relaxed) != 0 {
        return false;
    }
    let Some(range) = state.ranges.iter().find(|range| range.slot.load(Ordering::Acquire) == 0) else { return false };
    range.start.store(mapping.start, Ordering::Relaxed);
    range.end.store(mapping.start.saturating_add(mapping.bytes), Ordering::Relaxed);
    range.next.store(mapping.start, Ordering::Relaxed);
    range.reached.store(mapping.start, Ordering::Relaxed);
    slot.begin();
    range.slot.store(slot.number() + 1, Ordering::SeqCst);
    state.count.fetch_add(1, Ordering::AcqRel);
    calls::wake(&state.count);
    let runs = state.is_running.load(Ordering::Relaxed) != 0 || start_thread(state);
    if !runs {
        range.slot.store(0, Ordering::SeqCst);
        state.count.fetch_sub(1, Ordering::AcqRel);
    }
    drop(locked);
    runs
}

/// With the lock.
fn start_thread(state: &'static AheadState) -> bool {
    // One that has decided to end may still be on the stack.
    while state.lives.load(Ordering::Acquire) != 0 {
        calls::wait(&state.lives, 1, LOOK_NS);
    }
    if state.stack.load(Ordering::Relaxed) == 0 {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let Ok(stack) = calls::map(0, STACK_BYTES, protection, flags, -1, 0) else { return false };
        state.stack.store(stack, Ordering::Relaxed);
    }
    state.is_running.store(1, Ordering::Relaxed);
    state.lives.store(1, Ordering::SeqCst);
    let started = start_alone(state.stack.load(Ordering::Relaxed) + STACK_BYTES, work, &state.lives).is_ok();
    if !started {
        state.lives.store(0, Ordering::SeqCst);
        state.is_running.store(0, Ordering::Relaxed);
    }
    started
}

/// The program is about to unmap, replace or close a range: nothing in it is touched once this returns.
#[inline]
pub fn forget(start: usize, bytes: usize) {
    if let Some(state) = shared::ahead_state().filter(|state| state.count.load(Ordering::Acquire) > 0) {
        forget_now(state, start, start.saturating_add(bytes.max(1)));
    }
}

#[cold]
fn forget_now(state: &'static AheadState, start: usize, end: usize) {
    let _locked = Locked::take(state);
    for range in &state.ranges {
        let slot = range.slot.load(Ordering::Acquire);
        let (first, last) = (range.start.load(Ordering::Acquire), range.end.load(Ordering::Acquire));
        if slot != 0 && start < last && first < end {
            finish(state, range, slot);
        }
    }
}

/// With the lock: the thread leaves a range, and what came of it is reported.
fn finish(state: &AheadState, range: &Range, slot: usize) {
    // SEQUENCE: the thread says that it is busy before it looks at `slot`, and this clears `slot` before it looks who is busy.
    range.slot.store(0, Ordering::SeqCst);
    while range.is_busy.load(Ordering::SeqCst) != 0 {
        calls::wait(&range.is_busy, 1, LOOK_NS);
    }
    if let Some(slot) = shared::words().and_then(|words| LedgerSlot::numbered(words, slot - 1)) {
        slot.report();
    }
    state.count.fetch_sub(1, Ordering::AcqRel);
    calls::wake(&state.count);
}

/// Ends it for this process: what the program becomes now (another user, one that filters its calls) must not have a thread beside it that
/// is as it was before.
pub fn end() {
    let Some(state) = shared::ahead_state() else { return };
    let locked = Locked::take(state);
    state.has_ended.store(1, Ordering::Relaxed);
    for range in &state.ranges {
        let slot = range.slot.load(Ordering::Acquire);
        if slot != 0 {
            finish(state, range, slot);
        }
    }
    drop(locked);
    while state.lives.load(Ordering::Acquire) != 0 {
        calls::wait(&state.lives, 1, LOOK_NS);
    }
}

/// The thread.
extern "C" fn work(_nothing: &()) {
    calls::set_name(c"mh-prefault");
    calls::give_way();
    let Some(state) = shared::ahead_state() else { return };
    let mut rest = LOOK_NS;
    loop {
        let count = state.count.load(Ordering::Acquire);
        if count == 0 && ends(state) {
            return;
        }
        if state.ranges.iter().filter(|range| advance(state, range)).count() > 0 {
            rest = LOOK_NS;
        } else {
            calls::wait(&state.count, count, rest);
            rest = (rest * 2).min(LOOK_MAX_NS);
        }
    }
}

/// Whether the thread ends: there is nothing to do, and whoever comes now starts another.
fn ends(state: &'static AheadState) -> bool {
    let _locked = Locked::take(state);
    let is_idle = state.count.load(Ordering::Acquire) == 0;
    if is_idle {
        state.is_running.store(0, Ordering::Relaxed);
    }
    is_idle
}

/// Populates the next part of a range, if there is one within the window; whether it did.
fn advance(state: &'static AheadState, range: &Range) -> bool {
    range.is_busy.store(1, Ordering::SeqCst);
    let number = range.slot.load(Ordering::SeqCst);
    let outcome = if number == 0 { Step::Wait } else { step(range, number - 1) };
    range.is_busy.store(0, Ordering::SeqCst);
    calls::wake(&range.is_busy);
    if outcome == Step::Over {
        let _locked = Locked::take(state);
        if range.slot.load(Ordering::SeqCst) == number {
            finish(state, range, number);
        }
    }
    outcome == Step::Done
}

#[derive(PartialEq, Eq)]
enum Step {
    Done,
    Wait,
    Over,
}

fn step(range: &Range, number: usize) -> Step {
    let Some(words) = shared::words() else { return Step::Over };
    let Some(slot) = LedgerSlot::numbered(words, number) else { return Step::Over };
    let (start, end) = (range.start.load(Ordering::Relaxed), range.end.load(Ordering::Relaxed));
    let next = range.next.load(Ordering::Relaxed);
    let window = words[ledger::WINDOW_BYTES].load(Ordering::Relaxed) as usize;
    if next >= end || words[ledger::IS_ANSWERING].load(Ordering::Relaxed) == 0 {
        return Step::Over;
    }
    let reached = reached(start, end, next, range.reached.load(Ordering::Relaxed));
    range.reached.store(reached, Ordering::Relaxed);
    let has_work = next.saturating_sub(reached) < window;
    let is_granted = slot.granted() > 0;
    slot.word(ledger::HELPERS).store(u64::from(has_work && !is_granted), Ordering::Relaxed);
    if !has_work || !is_granted {
        return Step::Wait;
    }
    let (from, bytes, after) = part(end, next);
    range.next.store(after, Ordering::Relaxed);
    if bytes == 0 {
        return Step::Done;
    }
    let begin = calls::clock_ns(libc::CLOCK_THREAD_CPUTIME_ID);
    let outcome = calls::populate(from, bytes);
    let work = calls::clock_ns(libc::CLOCK_THREAD_CPUTIME_ID).saturating_sub(begin);
    slot.word(ledger::WORK_NS).fetch_add(work, Ordering::Relaxed);
    match outcome {
        Ok(()) => {
            slot.word(ledger::POPULATED).fetch_add(bytes as u64, Ordering::Relaxed);
            Step::Done
        }
        Err(errno) => {
            slot.word(ledger::FAULT).store(errno as u64, Ordering::Relaxed);
            Step::Over
        }
    }
}

/// Where the segment ends that an address is in.
fn segment_end(address: usize) -> usize {
    (address / SEGMENT + 1).saturating_mul(SEGMENT)
}

/// How far the program has come: behind the last segment in front of `next` whose left-out part is present, and no less than `before`.
fn reached(start: usize, end: usize, next: usize, before: usize) -> usize {
    let mut at = next;
    while at > before {
        let segment_begin = (at - 1) / SEGMENT * SEGMENT;
        let segment_end = segment_begin + SEGMENT;
        let is_whole = segment_end <= next && segment_end <= end && segment_end - PAGE >= start;
        if is_whole && calls::is_present(segment_end - PAGE) == Some(true) {
            return segment_end;
        }
        at = segment_begin;
    }
    before
}

/// What is populated at `next`: where, how many bytes, and where it goes on. What is left out has no bytes.
fn part(end: usize, next: usize) -> (usize, usize, usize) {
    let segment_end = segment_end(next);
    let populated_end = segment_end.saturating_sub(LEFT_OUT).min(end);
    if next >= populated_end {
        return (next, 0, segment_end.min(end));
    }
    let after = next.saturating_add(STEP).min(populated_end);
    (next, after - next, after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_the_end_of_each_segment_is_populated_once() {
        for start in [SEGMENT, SEGMENT + 0x10000, 2 * SEGMENT - PAGE] {
            for bytes in [PAGE, SEGMENT, 3 * SEGMENT + PAGE, SEGMENT - LEFT_OUT / 2] {
                let (mut next, mut left_out) = (start, 0);
                while next < start + bytes {
                    let (from, length, after) = part(start + bytes, next);
                    assert!(from == next && after > next && length <= STEP, "{next:#x}");
                    if length == 0 {
                        assert_eq!(segment_end(next), segment_end(after - 1));
                        left_out += after - next;
                    }
                    next = after;
                }
                assert_eq!(next, start + bytes);
                assert!(left_out <= (bytes / SEGMENT + 2) * LEFT_OUT);
            }
        }
    }

    #[test]
    fn without_a_ledger_there_is_nothing_to_forget_or_end() {
        forget(0, usize::MAX);
        end();
    }
}
