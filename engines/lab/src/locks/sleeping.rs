//! Locks whose waiters sleep, of atomic operations and futex(2): who is woken (one, all, the next in line), and how long is spun before.

use super::atomics::{AtomicU32, AtomicU64, Ordering};
use super::lock::{Lock, LockAccess};
use super::seat::LockSeat;
use super::sleep::{EVERYBODY, FutexWord, SleepEnd};

const FREE: u32 = 0;
const HELD: u32 = 1;
/// Held, and somebody may sleep.
const AWAITED: u32 = 2;

/// A word of three states, as in "Futexes are tricky" (Drepper): no system call unless somebody waits.
struct Word {
    word: FutexWord,
    /// How many are woken when it becomes free.
    woken_at_once: u32,
}

impl Word {
    fn new(woken_at_once: u32) -> Self {
        Self { word: FutexWord::new(FREE), woken_at_once }
    }

    #[inline]
    fn take_if_free(&self) -> bool {
        self.word.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn sleep_until_taken(&self, seat: &mut LockSeat) {
        let mut was_woken = false;
        while self.word.swap(AWAITED, Ordering::Acquire) != FREE {
            // Others may be quicker, the one who gave the lock up for example.
            seat.counts.wasted += u64::from(was_woken);
            was_woken = self.word.sleep_while(AWAITED) == SleepEnd::Woken;
            seat.counts.wakes += u64::from(was_woken);
        }
    }

    #[inline]
    fn give_up(&self) {
        if self.word.swap(FREE, Ordering::Release) == AWAITED {
            self.word.wake(self.woken_at_once);
        }
    }
}

/// Sleeps at once.
pub(super) struct FutexLock(Word);

impl FutexLock {
    pub(super) fn waking_one() -> Self {
        Self(Word::new(1))
    }

    /// The thundering herd.
    pub(super) fn waking_all() -> Self {
        Self(Word::new(EVERYBODY))
    }
}

impl Lock for FutexLock {
    #[inline]
    fn hold(&self, seat: &mut LockSeat, _access: LockAccess, critical: impl FnOnce()) {
        if !self.0.take_if_free() {
            self.0.sleep_until_taken(seat);
        }
        critical();
        self.0.give_up();
    }
}

/// Looks some times with pauses between, then sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SpinPolicy {
    /// Looks before it sleeps.
    pub rounds: u32,
    /// After each, a random number from 0 to this ...
    pub delay_max: u32,
    /// ... times so many PAUSEs.
    pub multiplier: u32,
}

/// As InnoDB's latches do it: rounds of random pauses, then a sleep.
pub(super) struct SpinThenSleep {
    word: Word,
    policy: SpinPolicy,
}

impl SpinThenSleep {
    pub(super) fn new(policy: SpinPolicy) -> Self {
        Self { word: Word::new(1), policy }
    }

    fn spin(&self, seat: &mut LockSeat) -> bool {
        for _ in 0..self.policy.rounds {
            if self.word.word.load(Ordering::Relaxed) == FREE && self.word.take_if_free() {
                return true;
            }
            let pauses = seat.random_up_to(self.policy.delay_max).saturating_mul(self.policy.multiplier);
            (0..pauses).for_each(|_| seat.pause());
        }
        false
    }
}

impl Lock for SpinThenSleep {
    #[inline]
    fn hold(&self, seat: &mut LockSeat, _access: LockAccess, critical: impl FnOnce()) {
        if !self.word.take_if_free() && !self.spin(seat) {
            self.word.sleep_until_taken(seat);
        }
        critical();
        self.word.give_up();
    }
}

/// Spins only as long as the holder seems to run.
///
/// No call tells a thread in time whether another one runs. So each thread notes on a board where it was last seen. If another of ours has
/// been on the holder's CPU since, or the waiter runs there itself, the holder does not run. A holder that sleeps, or whose CPU was taken
/// by another program, looks like one that runs: hence the limit.
pub(super) struct Adaptive {
    word: Word,
    /// Seat and CPU of the holder.
    holder: AtomicU64,
    /// Of each CPU, the seat that was last seen on it.
    last_seen: Vec<AtomicU32>,
    /// LIMIT: PAUSEs.
    pauses_max: u32,
}

impl Adaptive {
    pub(super) fn new(cpus: usize, pauses_max: u32) -> Self {
        let last_seen = (0..cpus.max(1)).map(|_| AtomicU32::new(u32::MAX)).collect();
        Self { word: Word::new(1), holder: AtomicU64::new(u64::MAX), last_seen, pauses_max }
    }

    /// Notes where this thread runs.
    #[inline]
    fn check_in(&self, seat: &LockSeat) -> usize {
        let cpu = sys::scheduling::current_cpu() % self.last_seen.len();
        // Mostly it is there already, and others read the line.
        if self.last_seen[cpu].load(Ordering::Relaxed) != seat.number as u32 {
            self.last_seen[cpu].store(seat.number as u32, Ordering::Relaxed);
        }
        cpu
    }

    fn holder_seems_to_run(&self, own_cpu: usize, own_seat: u32) -> bool {
        let holder = self.holder.load(Ordering::Relaxed);
        let (seat, cpu) = ((holder >> 32) as u32, holder as u32 as usize);
        // Its own name there: the new holder has not entered itself yet. So has nobody in the beginning.
        seat == own_seat
            || cpu >= self.last_seen.len()
            || (cpu != own_cpu && self.last_seen[cpu].load(Ordering::Relaxed) == seat)
    }

    fn spin(&self, seat: &mut LockSeat) -> bool {
        for _ in 0..self.pauses_max {
            if self.word.word.load(Ordering::Relaxed) == FREE && self.word.take_if_free() {
                return true;
            }
            let own_cpu = self.check_in(seat);
            if !self.holder_seems_to_run(own_cpu, seat.number as u32) {
                return false;
            }
            seat.pause();
        }
        false
    }
}

impl Lock for Adaptive {
    #[inline]
    fn hold(&self, seat: &mut LockSeat, _access: LockAccess, critical: impl FnOnce()) {
        if !self.word.take_if_free() && !self.spin(seat) {
            self.word.sleep_until_taken(seat);
        }
        let holder = ((seat.number as u64) << 32) | self.check_in(seat) as u64;
        self.holder.store(holder, Ordering::Relaxed);
        critical();
        self.word.give_up();
    }
}

/// First come, first served: who gives the lock up gives it to the next in line, who may still have to wake up.
pub(super) struct HandOff {
    next: AtomicU32,
    serving: AtomicU32,
    /// Where the thread of a ticket sleeps; at least one for each thread.
    beds: Vec<FutexWord>,
}

impl HandOff {
    pub(super) fn new(threads: usize) -> Self {
        // A power of two, so that tickets may begin anew at 2^32. No bed holds a ticket before it is served.
        let beds = threads.next_power_of_two();
        Self {
            next: AtomicU32::new(0),
            serving: AtomicU32::new(0),
            beds: (0..beds).map(|_| FutexWord::new(u32::MAX)).collect(),
        }
    }

    #[inline]
    fn bed(&self, ticket: u32) -> &FutexWord {
        &self.beds[ticket as usize & (self.beds.len() - 1)]
    }
}

impl Lock for HandOff {
    #[inline]
    fn hold(&self, seat: &mut LockSeat, _access: LockAccess, critical: impl FnOnce()) {
        let ticket = self.next.fetch_add(1, Ordering::SeqCst);
        if self.serving.load(Ordering::SeqCst) != ticket {
            let bed = self.bed(ticket);
            loop {
                let served = bed.load(Ordering::Acquire);
                if served == ticket {
                    break;
                }
                if bed.sleep_while(served) == SleepEnd::Woken {
                    seat.counts.wakes += 1;
                    if bed.load(Ordering::Relaxed) != ticket {
                        seat.counts.wasted += 1;
                    }
                }
            }
        }
        critical();
        let successor = ticket.wrapping_add(1);
        self.bed(successor).store(successor, Ordering::Release);
        // ORDER: of these two and the two of the next in line, one thread sees the other's first.
        self.serving.store(successor, Ordering::SeqCst);
        if self.next.load(Ordering::SeqCst) != successor {
            self.bed(successor).wake(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_whose_cpu_another_one_has_used_does_not_run() {
        let lock = Adaptive::new(4, 100);
        assert!(lock.holder_seems_to_run(0, 7), "nobody has held it yet");
        lock.holder.store((3 << 32) | 1, Ordering::Relaxed);
        lock.last_seen[1].store(3, Ordering::Relaxed);
        assert!(lock.holder_seems_to_run(0, 7), "it was the last on CPU 1");
        assert!(!lock.holder_seems_to_run(1, 7), "the waiter itself is there now");
        assert!(lock.holder_seems_to_run(1, 3), "its own name is an old one");
        lock.last_seen[1].store(5, Ordering::Relaxed);
        assert!(!lock.holder_seems_to_run(0, 7), "another is there now");
    }
}
