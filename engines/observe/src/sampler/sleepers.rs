//! Whose clocks are not read: those of processes that slept, where the machine's total says that they still do. Asking 2,000 clocks takes
//! 3 ms, and of most machines' processes all but a few sleep all the time.

use super::{Found, HostSampler};
use crate::sample::{CpuBasis, HostSample, ProcessSample, ThreadSample};
use crate::source::process_stat::ThreadState;

/// One in so many is asked all the same, another one with each sample.
pub(super) const TURNS: u32 = 4;

/// What nobody who was asked has used, and is not worth asking the others for: a hundredth of a core.
const NEGLIGIBLE_DIVISOR: u64 = 100;

/// By how much more of a core those that end may use than when that was last known.
const ENDED_VARY_DIVISOR: u64 = 10;

/// What is known of those that sleep.
#[derive(Default)]
pub(super) struct Trust {
    /// Which of them are asked next.
    turn: u32,
    /// What processes that ended used between two samples, when that was last known: nobody who is asked explains it.
    ended_used_ns: u64,
}

impl HostSampler {
    /// Asks those that may have moved. Where the machine's total leaves no more for the others than for those that end, as many as do
    /// here, the others are said to have slept; otherwise they are asked, too.
    ///
    /// LIMIT: who wakes up and uses less than a hundredth of a core, or than a tenth where processes end all the time, or no more than what
    /// others use less that are not asked (short processes, other containers), is noticed up to four samples later, or one later where looks see it.
    pub(super) fn ask_who_may_have_moved(&mut self, found: &mut [Found], earlier: &HostSample, later: &HostSample) {
        let turn = self.trust.turn;
        self.trust.turn = (turn + 1) % TURNS;
        let Some(used_ns) = used_ns(earlier, later) else { return };
        let sleeps = |known: &ProcessSample| slept(known, earlier) && known.pid % TURNS != turn;
        let asked_ns = self.ask(with_known(found, earlier).filter(|(_, known)| !known.is_some_and(sleeps)));
        let unexplained_ns = used_ns.saturating_sub(asked_ns);
        let elapsed_ns = later.at_ns.saturating_sub(earlier.at_ns);
        let varies_ns = (self.trust.ended_used_ns / 4).min(elapsed_ns / ENDED_VARY_DIVISOR);
        let by_ended_ns = self.trust.ended_used_ns.saturating_add(varies_ns);
        let negligible_ns = negligible_ns(earlier, later);
        // A total that has less than those few used is not that of all.
        let is_of_all = asked_ns <= used_ns.saturating_add(negligible_ns);
        let others = with_known(found, earlier).filter(|(entry, _)| entry.reading.is_none());
        if !is_of_all || unexplained_ns > by_ended_ns.saturating_add(negligible_ns) {
            self.trust.ended_used_ns = unexplained_ns.saturating_sub(self.ask(others));
            return;
        }
        self.trust.ended_used_ns = self.trust.ended_used_ns.min(unexplained_ns);
        for (entry, known) in others {
            entry.reading = known.map(|known| (later.at_ns, known.cpu));
        }
    }

    /// Asks these, and returns what they used since they were last asked.
    fn ask<'a>(&self, these: impl Iterator<Item = (&'a mut Found, Option<&'a ProcessSample>)>) -> u64 {
        let used_ns = these.map(|(entry, known)| {
            let (at_ns, cpu) = (self.clocks.now_ns(), self.clock_reading(entry.pid, known));
            entry.reading = Some((at_ns, cpu));
            let before_ns = known.and_then(|known| known.cpu.total_ns).unwrap_or(0);
            cpu.total_ns.unwrap_or(0).saturating_sub(before_ns)
        });
        used_ns.fold(0, u64::saturating_add)
    }
}

/// Those in the list, each with what is known of it.
fn with_known<'a>(
    found: &'a mut [Found],
    earlier: &'a HostSample,
) -> impl Iterator<Item = (&'a mut Found, Option<&'a ProcessSample>)> {
    let mut known = earlier.processes.iter().peekable();
    found.iter_mut().map(move |entry| {
        while known.next_if(|process| process.pid < entry.pid).is_some() {}
        let known = known.next_if(|process| process.pid == entry.pid);
        let known = known.filter(|process| process.folder == entry.folder);
        (entry, known)
    })
}

/// What all processes of the machine used, the ended ones too; none where that is not known.
fn used_ns(earlier: &HostSample, later: &HostSample) -> Option<u64> {
    let (before, now) = (earlier.machine.total?, later.machine.total?);
    (before.basis == now.basis).then(|| now.used_ns.saturating_sub(before.used_ns))
}

/// The time of one that had not moved is that of its sample. Who could run may run by now, and who was seen to has moved since.
fn slept(known: &ProcessSample, earlier: &HostSample) -> bool {
    let can_run = |thread: &ThreadSample| {
        thread.seen.runnable > 0 || thread.line.is_some_and(|line| line.state == ThreadState::Runnable)
    };
    known.at_ns == earlier.at_ns
        && known.cpu.basis == CpuBasis::Clock
        && known.cpu.total_ns.is_some()
        && !earlier.threads_of(known).iter().any(can_run)
}

/// The total is added up when CPUs tick, each at another time: their errors add up as dice do.
fn negligible_ns(earlier: &HostSample, later: &HostSample) -> u64 {
    let cpus = u64::from(later.machine.online_cpus);
    let error_ns = later.machine.tick_ns.saturating_mul(2 + 2 * cpus.isqrt());
    later.at_ns.saturating_sub(earlier.at_ns) / NEGLIGIBLE_DIVISOR + error_ns
}
