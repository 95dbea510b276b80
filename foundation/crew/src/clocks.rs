//! Where a thread's time goes: one clock a stage, filled by each thread for itself and summed at the end.
//! Does not judge; `verdict` does.

use serde::Serialize;
use std::time::{Duration, Instant};

/// The time that one stage spent, summed over all threads that worked on it. Nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StageClock {
    /// On a CPU, doing the stage's work.
    pub busy_ns: u64,
    /// Waiting for input: a producer, a disk, an earlier stage.
    pub starved_ns: u64,
    /// Waiting for room: a consumer, a disk, a free slot.
    pub blocked_ns: u64,
    /// Ready to work but without a hand, or with a hand whose core somebody else used.
    pub unstaffed_ns: u64,
    /// Of the waiting for a core: ready to run, and waiting for a CPU.
    pub cpu_wait_ns: u64,
    /// Of the blocked: off the CPU in the middle of work and not waiting for one.
    pub asleep_ns: u64,
}

impl StageClock {
    /// All of it.
    pub fn total_ns(&self) -> u64 {
        self.busy_ns + self.starved_ns + self.blocked_ns + self.unstaffed_ns
    }

    /// Adds another clock of the same stage.
    pub fn add(&mut self, other: &Self) {
        self.busy_ns += other.busy_ns;
        self.starved_ns += other.starved_ns;
        self.blocked_ns += other.blocked_ns;
        self.unstaffed_ns += other.unstaffed_ns;
        self.cpu_wait_ns += other.cpu_wait_ns;
        self.asleep_ns += other.asleep_ns;
    }

    /// What was booked as waiting for somebody at either end.
    fn waited_ns(&self) -> u64 {
        self.starved_ns + self.blocked_ns
    }

    /// As [`Clocks::tell_cpu_waits`], for one who is blocked in the middle of work alone: nobody takes its output, so it sleeps if
    /// it does not wait for a CPU, or if the kernel does not tell.
    pub(crate) fn tell_cpu_waits(&mut self, run_delay_ns: Option<u64>) {
        if let Some(run_delay_ns) = run_delay_ns {
            self.rebook((run_delay_ns as f64 / self.waited_ns().max(1) as f64).min(1.0));
        }
        self.asleep_ns = self.blocked_ns;
    }

    /// Part of this time was spent without a hand: nobody waited for a CPU in it.
    pub(crate) fn had_no_hand(&mut self, away: &Self) {
        self.cpu_wait_ns -= away.unstaffed_ns.min(self.cpu_wait_ns);
    }

    /// Books this share of the waiting as waiting for a CPU.
    fn rebook(&mut self, share: f64) {
        let moved = |column: &mut u64| {
            let part = ((*column as f64 * share) as u64).min(*column);
            *column -= part;
            part
        };
        let part = moved(&mut self.starved_ns) + moved(&mut self.blocked_ns);
        self.unstaffed_ns += part;
        self.cpu_wait_ns += part;
    }
}

/// What time off the CPU means in a stage.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OffCpu {
    /// It waited for input (reading).
    Starved,
    /// It waited for room (writing).
    Blocked,
    /// Somebody else used its core (computing).
    NoCpu,
    /// It waited for a hand.
    NoHand,
}

/// The clocks of one thread, or of a whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Clocks {
    /// Cutting and fetching chunks.
    pub read: StageClock,
    /// Of it, the cutting: a lane's chunks are cut one after another, whoever does it, and fetched by all.
    pub cut: StageClock,
    /// Working on them.
    pub work: StageClock,
    /// Writing them.
    pub write: StageClock,
    /// Opening and closing lanes.
    pub lanes: StageClock,
}

impl Clocks {
    /// Adds a cut. What of it others could have prepared is reading as any other: its time by the wall, divided as the whole cut's is,
    /// since the CPU's clock costs a system call.
    pub(crate) fn cut_took(&mut self, whole: &StageClock, preparing: Duration) {
        self.read.add(whole);
        let alone = 1.0 - (nanoseconds(preparing) as f64 / whole.total_ns().max(1) as f64).min(1.0);
        self.cut.busy_ns += (whole.busy_ns as f64 * alone) as u64;
        self.cut.starved_ns += (whole.starved_ns as f64 * alone) as u64;
    }

    /// Takes out of one thread's waiting at both ends what it was ready to run in, `run_delay_ns` by the kernel's count: who waits for
    /// a CPU in the middle of a read is not kept by the source. Which wait it fell into is not known: each gives its share, behind work,
    /// whose every moment off the CPU was taken for one. What of that the kernel does not know slept: work may write files.
    pub(crate) fn tell_cpu_waits(&mut self, run_delay_ns: Option<u64>) {
        let Some(run_delay_ns) = run_delay_ns else { return };
        let Self { read, cut, work, write, lanes } = self;
        let asleep_ns = work.cpu_wait_ns.saturating_sub(run_delay_ns);
        work.cpu_wait_ns -= asleep_ns;
        work.unstaffed_ns -= asleep_ns;
        work.blocked_ns += asleep_ns;
        work.asleep_ns += asleep_ns;
        let elsewhere_ns = run_delay_ns.saturating_sub(work.cpu_wait_ns);
        let waited_ns: u64 = [&*read, work, write, lanes].into_iter().map(StageClock::waited_ns).sum();
        let share = (elsewhere_ns as f64 / waited_ns.max(1) as f64).min(1.0);
        [read, cut, work, write, lanes].into_iter().for_each(|clock| clock.rebook(share));
    }

    /// Adds another thread's clocks.
    pub fn add(&mut self, other: &Self) {
        self.read.add(&other.read);
        self.cut.add(&other.cut);
        self.work.add(&other.work);
        self.write.add(&other.write);
        self.lanes.add(&other.lanes);
    }
}

/// How long a thread was ready to run and without a CPU, from here on. Read at both ends of its work, never within: it is a file.
#[derive(Clone, Copy)]
pub(crate) struct RunDelay {
    before_ns: Option<u64>,
}

impl RunDelay {
    /// Of the calling thread, from now on.
    pub fn since_now() -> Self {
        Self { before_ns: Self::whole_ns() }
    }

    /// Of the calling thread, since it began.
    pub fn since_its_begin() -> Self {
        Self { before_ns: Some(0) }
    }

    /// So far; none where the kernel does not tell.
    pub fn so_far_ns(self) -> Option<u64> {
        Some(Self::whole_ns()?.saturating_sub(self.before_ns?))
    }

    fn whole_ns() -> Option<u64> {
        machine::thread_run_delay_ns(&machine::Host::real())
    }
}

/// Runs `stage` and adds its time to `clock`: CPU time is busy, the rest is what `off_cpu` says.
pub(crate) fn timed<T>(clock: &mut StageClock, off_cpu: OffCpu, stage: impl FnOnce() -> T) -> T {
    let (wall, cpu_before) = (Instant::now(), sys::cpu_clock::thread_cpu_ns());
    let result = stage();
    let wall_ns = nanoseconds(wall.elapsed());
    // The two clocks tick apart by less than a microsecond; a stage is never busier than it was long.
    let busy_ns = (sys::cpu_clock::thread_cpu_ns() - cpu_before).min(wall_ns);
    clock.busy_ns += busy_ns;
    let waited_ns = wall_ns - busy_ns;
    match off_cpu {
        OffCpu::Starved => clock.starved_ns += waited_ns,
        OffCpu::Blocked => clock.blocked_ns += waited_ns,
        OffCpu::NoCpu => {
            clock.unstaffed_ns += waited_ns;
            clock.cpu_wait_ns += waited_ns;
        }
        OffCpu::NoHand => clock.unstaffed_ns += waited_ns,
    }
    result
}

/// A duration as the clocks count it.
pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    // LIMIT: u64 nanoseconds hold 584 years.
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_a_cpu_while_it_reads_does_not_wait_for_the_source() {
        let read = StageClock { busy_ns: 100, starved_ns: 600, blocked_ns: 100, ..StageClock::default() };
        let cut = StageClock { starved_ns: 300, ..StageClock::default() };
        let write = StageClock { blocked_ns: 100, ..StageClock::default() };
        let own = Clocks { read, cut, write, ..Clocks::default() };
        let mut clocks = own;
        clocks.tell_cpu_waits(None);
        assert_eq!(clocks.read, own.read, "the kernel does not tell");
        clocks.tell_cpu_waits(Some(400));
        let (unstaffed_ns, cpu_wait_ns) = (350, 350);
        let read =
            StageClock { busy_ns: 100, starved_ns: 300, blocked_ns: 50, unstaffed_ns, cpu_wait_ns, asleep_ns: 0 };
        assert_eq!(clocks.read, read);
        assert_eq!((clocks.cut.starved_ns, clocks.cut.cpu_wait_ns), (150, 150));
        assert_eq!((clocks.write.blocked_ns, clocks.write.cpu_wait_ns), (50, 50));
        assert_eq!(clocks.read.total_ns(), own.read.total_ns(), "no time is made or lost");
        clocks.tell_cpu_waits(Some(10_000));
        assert_eq!((clocks.read.starved_ns, clocks.read.unstaffed_ns), (0, 700), "no more than was booked");
    }

    #[test]
    fn what_a_worker_waited_while_it_computed_is_not_taken_out_of_its_reading() {
        let work = StageClock { busy_ns: 100, unstaffed_ns: 500, cpu_wait_ns: 300, ..StageClock::default() };
        let read = StageClock { starved_ns: 200, ..StageClock::default() };
        let mut clocks = Clocks { read, work, ..Clocks::default() };
        clocks.tell_cpu_waits(Some(300));
        assert_eq!((clocks.read.starved_ns, clocks.work.unstaffed_ns), (200, 500));
        clocks.tell_cpu_waits(Some(400));
        assert_eq!((clocks.read.starved_ns, clocks.read.cpu_wait_ns, clocks.work), (100, 100, work));
    }

    #[test]
    fn who_is_blocked_in_a_tree_waits_for_a_cpu_or_sleeps() {
        let own = StageClock { busy_ns: 500, starved_ns: 100, blocked_ns: 400, ..StageClock::default() };
        let mut clock = own;
        clock.tell_cpu_waits(None);
        assert_eq!(clock, StageClock { asleep_ns: 400, ..own }, "the kernel does not tell");
        clock.tell_cpu_waits(Some(250));
        let (starved_ns, blocked_ns, unstaffed_ns) = (50, 200, 250);
        let told = StageClock { starved_ns, blocked_ns, unstaffed_ns, cpu_wait_ns: 250, asleep_ns: 200, ..own };
        assert_eq!(clock, told);
    }

    #[test]
    fn who_sleeps_in_the_middle_of_work_does_not_wait_for_a_cpu() {
        let work = StageClock { busy_ns: 100, unstaffed_ns: 500, cpu_wait_ns: 300, ..StageClock::default() };
        let mut clocks = Clocks { work, ..Clocks::default() };
        clocks.tell_cpu_waits(Some(50));
        let (unstaffed_ns, blocked_ns) = (250, 250);
        let told = StageClock { unstaffed_ns, blocked_ns, cpu_wait_ns: 50, asleep_ns: 250, ..work };
        assert_eq!((clocks.work, clocks.work.total_ns()), (told, work.total_ns()));
    }
}
