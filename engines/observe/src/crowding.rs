//! Whether a machine's CPUs are all busy, though no single thread shows it: many short-lived programs take turns, and each is gone
//! before it could be judged. Pure judgement over two samples.

use crate::model::Interval;
use crate::sample::{HostSample, TotalBasis};
use crate::sampler::FILE_TICK_NS;
use serde::Serialize;

/// All CPUs are busy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Crowding {
    /// Share of the time in which some thread could run and had no CPU; none if the kernel does not say.
    pub waited: Option<f64>,
}

/// So much of all CPUs is all of them: accounts are added up at ticks, and a CPU that changes threads all the time rests in between.
const ALL: f64 = 0.95;
/// As much as makes a single thread starved.
const NOTABLE: f64 = 0.10;
/// LIMIT: ticks say nothing of less time than this.
const TICKS_ENOUGH: u64 = 10;

impl Crowding {
    /// None unless all CPUs are busy.
    pub fn of(interval: &Interval, earlier: &HostSample, later: &HostSample) -> Option<Self> {
        let busy = busy_cores(interval, earlier, later)?;
        let online = interval.machine.online_cpus;
        (online > 0 && busy >= ALL * f64::from(online)).then(|| Self { waited: waited(interval, earlier, later) })
    }

    /// Whether threads waited so much that more CPUs would help.
    pub fn is_short(&self) -> bool {
        self.waited.is_some_and(|waited| waited >= NOTABLE)
    }
}

/// The kernel's own account of waiting, or the longest wait of a thread that is still there, if that is more: the account comes about every two seconds.
/// Waits of several threads are not added up, since they may be at the same time.
fn waited(interval: &Interval, earlier: &HostSample, later: &HostSample) -> Option<f64> {
    let share = |ns: u64| (ns as f64 / interval.elapsed_ns.max(1) as f64).min(1.0);
    let pressure = earlier.machine.pressure_us.zip(later.machine.pressure_us);
    let pressure = pressure.map(|(before, after)| share(after.saturating_sub(before).saturating_mul(1000)));
    // Where the kernel does not count it, it is 0 of every thread.
    let longest = interval.threads.iter().map(|thread| thread.wait_ns).max().filter(|wait_ns| *wait_ns > 0);
    pressure.into_iter().chain(longest.map(share)).reduce(f64::max)
}

/// How many cores' worth of CPU time all processes used; none if the machine does not say.
pub fn busy_cores(interval: &Interval, earlier: &HostSample, later: &HostSample) -> Option<f64> {
    let elapsed = interval.elapsed_ns.max(1) as f64;
    let cores = interval.machine.total_ns? as f64 / elapsed;
    let has_ticks = interval.elapsed_ns >= TICKS_ENOUGH * FILE_TICK_NS;
    if interval.machine.basis == Some(TotalBasis::Ticks) {
        return has_ticks.then_some(cores);
    }
    let ticks = earlier.machine.ticks.as_ref().zip(later.machine.ticks.as_ref()).filter(|_| has_ticks);
    let by_ticks = ticks.map(|(before, after)| {
        let busy = after.all.busy().saturating_sub(before.all.busy());
        busy.saturating_mul(FILE_TICK_NS) as f64 / elapsed
    });
    // A container sees its own group's account alone: the ticks are of the whole machine. They are rough, so that a little more is none.
    let is_more = |by_ticks: &f64| *by_ticks > cores + NOTABLE * f64::from(interval.machine.online_cpus);
    Some(by_ticks.filter(is_more).unwrap_or(cores))
}

/// Of these, what no process used that can be seen at the end; none if the machine does not say.
pub fn unaccounted_cores(interval: &Interval) -> Option<f64> {
    interval.machine.unaccounted_ns.map(|used_ns| used_ns.max(0) as f64 / interval.elapsed_ns.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{MachineUsage, ThreadUsage};
    use crate::source::machine_stat::{CpuTicks, MachineTicks};

    const S: u64 = 1_000_000_000;

    /// A second of two CPUs: what all processes used by `basis`, ticks of 10 ms that met a busy CPU, and pressure.
    fn second(
        total_ns: u64,
        basis: TotalBasis,
        ticks: u64,
        pressure_us: Option<u64>,
    ) -> (Interval, HostSample, HostSample) {
        let machine =
            MachineUsage { total_ns: Some(total_ns), basis: Some(basis), online_cpus: 2, ..MachineUsage::default() };
        let (mut earlier, mut later) = (HostSample::default(), HostSample::default());
        earlier.machine.ticks = Some(MachineTicks::default());
        let all = CpuTicks { user: ticks, ..CpuTicks::default() };
        later.machine.ticks = Some(MachineTicks { all, ..MachineTicks::default() });
        (earlier.machine.pressure_us, later.machine.pressure_us) =
            (pressure_us.map(|_| 7), pressure_us.map(|us| us + 7));
        (Interval { elapsed_ns: S, machine, ..Interval::default() }, earlier, later)
    }

    #[test]
    fn all_cpus_are_busy_from_95_percent_on_and_short_if_threads_waited() {
        for (total_ns, pressure_us, expected) in [
            (1_900_000_000, Some(900_000), Some((Some(0.9), true))),
            (2_000_000_000, Some(100_000), Some((Some(0.1), true))),
            (2_000_000_000, Some(99_000), Some((Some(0.099), false))),
            (2_000_000_000, None, Some((None, false))),
            (1_890_000_000, Some(900_000), None),
        ] {
            let (interval, earlier, later) = second(total_ns, TotalBasis::ControlGroup, 0, pressure_us);
            let found = Crowding::of(&interval, &earlier, &later);
            assert_eq!(found.map(|crowding| (crowding.waited, crowding.is_short())), expected, "{total_ns}");
        }
    }

    #[test]
    fn waits_that_may_be_at_one_time_do_not_add_up() {
        let (mut interval, earlier, later) = second(2 * S, TotalBasis::Ticks, 200, None);
        interval.threads = vec![ThreadUsage { wait_ns: 40_000_000, ..ThreadUsage::default() }; 64];
        assert_eq!(Crowding::of(&interval, &earlier, &later), Some(Crowding { waited: Some(0.04) }));
        let (_, earlier, later) = second(2 * S, TotalBasis::Ticks, 200, Some(50_000));
        assert_eq!(Crowding::of(&interval, &earlier, &later), Some(Crowding { waited: Some(0.05) }));
    }

    #[test]
    fn a_container_whose_own_group_rests_does_not_hide_a_busy_machine() {
        let busy = |total_ns, basis, ticks, elapsed_ns| {
            let (mut interval, earlier, later) = second(total_ns, basis, ticks, None);
            interval.elapsed_ns = elapsed_ns;
            busy_cores(&interval, &earlier, &later)
        };
        assert_eq!(busy(0, TotalBasis::ControlGroup, 200, S), Some(2.0));
        assert_eq!(busy(S, TotalBasis::ControlGroup, 115, S), Some(1.0), "ticks are rough");
        // Before a few ticks have passed, none of them is no idle machine.
        assert_eq!(busy(0, TotalBasis::Ticks, 0, 50_000_000), None);
        assert_eq!(busy(0, TotalBasis::Ticks, 0, S), Some(0.0));
        assert_eq!(busy(50_000_000, TotalBasis::ControlGroup, 0, 50_000_000), Some(1.0));
    }
}
