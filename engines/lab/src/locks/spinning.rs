//! Locks whose waiters never sleep, of atomic operations alone: test-and-set, ticket and the queues of MCS and CLH.

use super::atomics::{AtomicBool, AtomicUsize, Ordering};
use super::lock::{Lock, LockAccess};
use super::seat::LockSeat;

/// What different threads write lies on different cache lines; two, since CPUs fetch them in pairs.
#[repr(align(128))]
#[derive(Default)]
struct OwnLine<T>(T);

/// Test-and-set: every look writes.
pub(super) struct TestAndSet {
    is_held: OwnLine<AtomicBool>,
    with_pause: bool,
}

impl TestAndSet {
    pub(super) fn new(with_pause: bool) -> Self {
        Self { is_held: OwnLine::default(), with_pause }
    }
}

impl Lock for TestAndSet {
    #[inline]
    fn hold(&self, seat: &mut LockSeat, _access: LockAccess, critical: impl FnOnce()) {
        while self.is_held.0.swap(true, Ordering::Acquire) {
            if self.with_pause { seat.pause() } else { seat.look_up() }
        }
        critical();
        self.is_held.0.store(false, Ordering::Release);
    }
}

/// Test-and-test-and-set with a back-off that doubles: it writes only if the lock looked free.
pub(super) struct BackOff {
    is_held: OwnLine<AtomicBool>,
    /// PAUSEs after the first look, and at most.
    first: u32,
    most: u32,
}

impl BackOff {
    pub(super) fn new(first: u32, most: u32) -> Self {
        Self { is_held: OwnLine::default(), first: first.max(1), most }
    }
}

impl Lock for BackOff {
    #[inline]
    fn hold(&self, seat: &mut LockSeat, _access: LockAccess, critical: impl FnOnce()) {
        let mut pauses = self.first;
        while self.is_held.0.load(Ordering::Relaxed) || self.is_held.0.swap(true, Ordering::Acquire) {
            (0..pauses).for_each(|_| seat.pause());
            pauses = pauses.saturating_mul(2).min(self.most);
        }
        critical();
        self.is_held.0.store(false, Ordering::Release);
    }
}

/// Ticket: first come, first served, and all look at one word.
#[derive(Default)]
pub(super) struct TicketLock {
    next: OwnLine<AtomicUsize>,
    serving: OwnLine<AtomicUsize>,
}

impl Lock for TicketLock {
    #[inline]
    fn hold(&self, seat: &mut LockSeat, _access: LockAccess, critical: impl FnOnce()) {
        let ticket = self.next.0.fetch_add(1, Ordering::Relaxed);
        while self.serving.0.load(Ordering::Acquire) != ticket {
            seat.pause();
        }
        critical();
        self.serving.0.store(ticket.wrapping_add(1), Ordering::Release);
    }
}

/// No seat; seats in links count from 1.
const NOBODY: usize = 0;

#[derive(Default)]
struct QueueNode {
    next: AtomicUsize,
    must_wait: AtomicBool,
}

/// Mellor-Crummey and Scott: a queue, and each waiter looks at a word of its own.
pub(super) struct McsLock {
    tail: OwnLine<AtomicUsize>,
    nodes: Vec<OwnLine<QueueNode>>,
}

impl McsLock {
    pub(super) fn new(threads: usize) -> Self {
        Self { tail: OwnLine::default(), nodes: (0..threads).map(|_| OwnLine::default()).collect() }
    }

    #[inline]
    fn release(&self, seat: &mut LockSeat) {
        let own = &self.nodes[seat.number].0;
        let mut next = own.next.load(Ordering::Acquire);
        if next == NOBODY {
            let is_last =
                self.tail.0.compare_exchange(seat.number + 1, NOBODY, Ordering::Release, Ordering::Relaxed).is_ok();
            if is_last {
                return;
            }
            // Somebody has come, and is about to say so.
            while next == NOBODY {
                seat.pause();
                next = own.next.load(Ordering::Acquire);
            }
        }
        self.nodes[next - 1].0.must_wait.store(false, Ordering::Release);
    }
}

impl Lock for McsLock {
    #[inline]
    fn hold(&self, seat: &mut LockSeat, _access: LockAccess, critical: impl FnOnce()) {
        let own = &self.nodes[seat.number].0;
        own.next.store(NOBODY, Ordering::Relaxed);
        own.must_wait.store(true, Ordering::Relaxed);
        // ORDER: who finds this seat in the tail finds its node as it was just set; and this thread sees what the last holder left.
        let before = self.tail.0.swap(seat.number + 1, Ordering::AcqRel);
        if before != NOBODY {
            self.nodes[before - 1].0.next.store(seat.number + 1, Ordering::Release);
            while own.must_wait.load(Ordering::Acquire) {
                seat.pause();
            }
        }
        critical();
        self.release(seat);
    }
}

/// Craig, Landin and Hagersten: a queue in which each waiter looks at the word of the one before it.
pub(super) struct ClhLock {
    tail: OwnLine<AtomicUsize>,
    is_busy: Vec<OwnLine<AtomicBool>>,
}

impl ClhLock {
    pub(super) fn new(threads: usize) -> Self {
        // One more than there are seats: the free lock has one.
        let is_busy = (0..=threads).map(|_| OwnLine::default()).collect();
        Self { tail: OwnLine(AtomicUsize::new(threads)), is_busy }
    }
}

impl Lock for ClhLock {
    #[inline]
    fn hold(&self, seat: &mut LockSeat, _access: LockAccess, critical: impl FnOnce()) {
        self.is_busy[seat.node].0.store(true, Ordering::Relaxed);
        let before = self.tail.0.swap(seat.node, Ordering::AcqRel);
        while self.is_busy[before].0.load(Ordering::Acquire) {
            seat.pause();
        }
        critical();
        self.is_busy[seat.node].0.store(false, Ordering::Release);
        // The one behind still looks at the old node; nobody looks at the one before any more.
        seat.node = before;
    }
}
