//! Populating behind the program's back: one thread of the kernel's idle class stays a window in front of the program, and never further.
//! Where the program is, it sees by pages that it leaves out on purpose: the last 2 MiB of each segment are the program's to touch, and
//! once they are present it has come so far. Nothing but the program's own calls tells when a range ends: `forget` is called before each of them.

use crate::boundary::calls;
use crate::boundary::shared;
use crate::boundary::thread::{STACK_BYTES, start_for_good};
use crate::ledger;
use crate::operation::{LedgerSlot, Mapping, PAGE};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// LIMIT: mappings that are populated at once in this way.
const RANGES: usize = 32;

/// A part of a range: populated whole, but for its last 2 MiB, where the program is waited for.
const SEGMENT: usize = 64 << 20;
/// So large that a transparent huge page fits.
const LEFT_OUT: usize = 2 << 20;

/// Bytes of one call: this class may be kept from its CPU for long while it holds the address space.
const STEP: usize = 512 << 10;

/// How often the thread looks where the program is.
const LOOK_NS: u64 = 2_000_000;
/// After so many looks in vain, it looks less often, up to [`LOOK_MAX_NS`].
const LOOK_MAX_NS: u64 = 50_000_000;

/// One mapping. Taken (`slot` not 0) by the program's thread, ended by either.
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

/// All of this process. A child has a copy without the thread: `OWNER` tells.
static ALL: [Range; RANGES] = [const {
    Range {
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        next: AtomicUsize::new(0),
        reached: AtomicUsize::new(0),
        slot: AtomicUsize::new(0),
        is_busy: AtomicU32::new(0),
    }
}; RANGES];

/// The process that has the thread.
static OWNER: AtomicU32 = AtomicU32::new(0);
/// Not 0 while the thread lives.
static LIVES: AtomicU32 = AtomicU32::new(0);
/// Ranges that are under way: where there are none, the program's calls cost nothing.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// Has a mapping populated in front of the program. False where that cannot be done.
pub fn take(slot: LedgerSlot, mapping: Mapping) -> bool {
    let own = calls::process();
    if OWNER.swap(own, Ordering::AcqRel) != own {
        // The first of this process; what a parent had under way is the parent's.
        ALL.iter().for_each(|range| range.slot.store(0, Ordering::Release));
        COUNT.store(0, Ordering::Release);
        LIVES.store(0, Ordering::Release);
    }
    let Some(range) = ALL
        .iter()
        .find(|range| range.slot.compare_exchange(0, usize::MAX, Ordering::AcqRel, Ordering::Relaxed).is_ok())
    else {
        return false;
    };
    range.start.store(mapping.start, Ordering::Relaxed);
    range.end.store(mapping.start.saturating_add(mapping.bytes), Ordering::Relaxed);
    range.next.store(mapping.start, Ordering::Relaxed);
    range.reached.store(mapping.start, Ordering::Relaxed);
    range.slot.store(slot.number() + 1, Ordering::Release);
    COUNT.fetch_add(1, Ordering::AcqRel);
    calls::wake(&COUNT);
    slot.begin();
    if LIVES.load(Ordering::Acquire) == 0 && !start_thread() {
        range.slot.store(0, Ordering::Release);
        COUNT.fetch_sub(1, Ordering::AcqRel);
        return false;
    }
    true
}

fn start_thread() -> bool {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    let Ok(stack) = calls::map(0, STACK_BYTES, protection, flags, -1, 0) else { return false };
    if start_for_good(stack + STACK_BYTES, work, &LIVES).is_err() {
        let _ours = calls::unmap(stack, STACK_BYTES);
        return false;
    }
    true
}

/// The program is about to unmap, replace or close a range: nothing in it is touched once this returns.
#[inline]
pub fn forget(start: usize, bytes: usize) {
    if COUNT.load(Ordering::Acquire) > 0 {
        forget_now(start, bytes);
    }
}

#[cold]
fn forget_now(start: usize, bytes: usize) {
    if OWNER.load(Ordering::Acquire) != calls::process() {
        return;
    }
    for range in &ALL {
        let slot = range.slot.load(Ordering::Acquire);
        let (first, end) = (range.start.load(Ordering::Acquire), range.end.load(Ordering::Acquire));
        if slot == 0 || slot == usize::MAX || end <= start || start.saturating_add(bytes.max(1)) <= first {
            continue;
        }
        // SEQUENCE: the thread says that it is busy before it looks at `slot`, and this clears `slot` before it looks who is busy.
        if range.slot.compare_exchange(slot, usize::MAX, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
            while range.is_busy.load(Ordering::SeqCst) != 0 {
                calls::wait(&range.is_busy, 1, 1_000_000);
            }
            finish(range, slot);
        }
    }
}

/// Says what came of a range whose place is held by `usize::MAX`, and sets the place free.
fn finish(range: &Range, slot: usize) {
    if let Some(slot) = shared::words().and_then(|words| LedgerSlot::numbered(words, slot.wrapping_sub(1))) {
        slot.report();
    }
    range.slot.store(0, Ordering::SeqCst);
    COUNT.fetch_sub(1, Ordering::AcqRel);
}

/// The thread. It stays, and sleeps where there is nothing to do, until the process ends.
extern "C" fn work(_nothing: &()) {
    calls::set_name(c"mh-prefault");
    calls::become_idle();
    let mut rest = LOOK_NS;
    loop {
        calls::wait(&COUNT, 0, u64::MAX >> 1);
        if ALL.iter().filter(|range| advance(range)).count() > 0 {
            rest = LOOK_NS;
        } else {
            calls::nap(rest);
            rest = (rest * 2).min(LOOK_MAX_NS);
        }
    }
}

/// Populates the next part of a range, if there is one within the window; whether it did.
fn advance(range: &Range) -> bool {
    range.is_busy.store(1, Ordering::SeqCst);
    let number = range.slot.load(Ordering::SeqCst);
    let outcome = match number {
        0 | usize::MAX => Step::Wait,
        number => step(range, number - 1),
    };
    range.is_busy.store(0, Ordering::SeqCst);
    calls::wake(&range.is_busy);
    if outcome == Step::Over
        && range.slot.compare_exchange(number, usize::MAX, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    {
        finish(range, number);
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
    if next >= end {
        return Step::Over;
    }
    let reached = reached(start, end, next, range.reached.load(Ordering::Relaxed));
    range.reached.store(reached, Ordering::Relaxed);
    if slot.granted() == 0 || next.saturating_sub(reached) >= window {
        return Step::Wait;
    }
    let (from, bytes, after) = part(start, end, next);
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

/// How far the program has come: behind the last segment in front of `next` whose left-out part is present, and no less than `before`.
fn reached(start: usize, end: usize, next: usize, before: usize) -> usize {
    let segments = (before - start) / SEGMENT..(next - start) / SEGMENT;
    let end_of = |segment: usize| start + (segment + 1) * SEGMENT;
    let is_reached = |segment: &usize| {
        let left_out = end_of(*segment) - PAGE;
        left_out < end && calls::is_present(left_out & !(PAGE - 1)) == Some(true)
    };
    segments.rev().find(is_reached).map_or(before, end_of)
}

/// What is populated at `next`: where, how many bytes, and where it goes on. What is left out has no bytes.
fn part(start: usize, end: usize, next: usize) -> (usize, usize, usize) {
    let segment_end = start + ((next - start) / SEGMENT + 1) * SEGMENT;
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
        for bytes in [PAGE, SEGMENT, 3 * SEGMENT + PAGE, SEGMENT - LEFT_OUT / 2] {
            let (start, mut next, mut populated) = (0x10000, 0x10000, 0);
            while next < start + bytes {
                let (from, length, after) = part(start, start + bytes, next);
                assert!(from == next && after > next && length <= STEP, "{next:#x}");
                populated += length;
                next = after;
            }
            let segments = bytes / SEGMENT;
            let tail = (bytes % SEGMENT).saturating_sub(SEGMENT - LEFT_OUT);
            assert_eq!((next, populated), (start + bytes, bytes - segments * LEFT_OUT - tail));
        }
    }

    #[test]
    fn without_ranges_nothing_is_forgotten() {
        forget(0, usize::MAX);
        assert_eq!(COUNT.load(Ordering::Relaxed), 0);
    }
}
