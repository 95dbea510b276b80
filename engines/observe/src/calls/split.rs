//! User and system time by system calls, every one of them measured: divides what the clocks of processes say, in place of the
//! ticks. What it costs: `CALLS.md` beside this crate's manifest.

use super::measure::{MeasureError, Measurement, MeasuringCost, MeasuringMethod, MeasuringRequest};
use super::programs::births::{CallGrouping, Selection};
use super::snapshot::{CallSnapshot, OwnerTimes, TimeOwner};
use crate::model::{Interval, ProcessUsage};
use crate::split::Split;
use machine::Host;
use std::collections::HashMap;

/// Measures the calls of all processes but this one.
pub struct CallSplit {
    measurement: Measurement,
}

/// A process up to a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Times {
    /// On a CPU, all threads, those that have ended too.
    cpu_ns: u64,
    /// Of it, in system calls, with what measuring added to them. LIE: page faults and interrupts count as the program's own.
    system_ns: u64,
    /// Of what measuring added to the calls, what may have been of either kind.
    unsure_ns: u64,
}

/// All processes up to a moment. What found no room of its own is not in it, and stays divided by ticks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SplitReading {
    times: HashMap<u32, Times>,
}

impl CallSplit {
    /// Begins.
    pub fn start(host: &Host) -> Result<Self, MeasureError> {
        let selection = Selection::AllBut { own: std::process::id() };
        let request = MeasuringRequest {
            method: MeasuringMethod::Exact,
            selection,
            grouping: CallGrouping::Process,
            wanted: Vec::new(),
        };
        Ok(Self { measurement: Measurement::start(host, &request)? })
    }

    /// What it costs.
    pub fn cost(&self) -> MeasuringCost {
        self.measurement.cost()
    }

    /// Everybody up to now.
    pub fn read(&self) -> SplitReading {
        self.measurement.follow_changes();
        SplitReading::of(&self.measurement.read(), self.cost().measured_ns)
    }
}

impl SplitReading {
    fn of(snapshot: &CallSnapshot, added_ns: f64) -> Self {
        let mut times: HashMap<u32, Times> = HashMap::new();
        for owner in &snapshot.owners {
            if let TimeOwner::Process { pid, .. } = owner.who {
                // A number that was given out twice: both, since only differences are used.
                let sum = times.entry(pid).or_default();
                let one = Times::of(owner, added_ns);
                *sum = Times {
                    cpu_ns: sum.cpu_ns + one.cpu_ns,
                    system_ns: sum.system_ns + one.system_ns,
                    unsure_ns: sum.unsure_ns + one.unsure_ns,
                };
            }
        }
        Self { times }
    }
}

impl Times {
    fn of(owner: &OwnerTimes, added_ns: f64) -> Self {
        let in_calls_waiting_ns = owner.calls.iter().map(|call| call.waiting_ns).sum::<u64>() + owner.cut_waiting_ns;
        let cpu_ns = owner.life_ns.saturating_sub(in_calls_waiting_ns + owner.between_waiting_ns);
        let system_ns = owner.in_calls_ns().saturating_sub(in_calls_waiting_ns) + owner.measuring_ns;
        let calls = owner.calls.iter().map(|call| call.ended).sum::<u64>();
        let unsure_ns = (calls as f64 * added_ns * UNSURE_COST) as u64;
        Self { cpu_ns, system_ns: system_ns.min(cpu_ns), unsure_ns }
    }
}

/// Divides the time of each process of the interval as its calls were measured between two readings.
pub fn divide(interval: &mut Interval, earlier: &SplitReading, later: &SplitReading) {
    for usage in &mut interval.processes {
        if let Some(after) = later.times.get(&usage.pid) {
            divide_one(usage, earlier.times.get(&usage.pid).copied().unwrap_or_default(), *after);
        }
    }
}

/// LIMIT: nothing is told better than this, whatever both clocks say: the ways into the kernel and out of it, interrupts. A load of
/// known halves was off by up to 0.22 points where nothing else was wrong (docs/journal/0011-process-times.md).
const UNSURE_SHARE: f64 = 0.0025;
/// LIMIT: what measuring adds to a call is known to this, since it was measured with calls that do nothing, in a program that does nothing
/// else; a program's own caches, and neighbours, make it another one. Loops of known work and calls: docs/journal/0011-process-times.md.
const UNSURE_COST: f64 = 0.4;

fn divide_one(usage: &mut ProcessUsage, before: Times, after: Times) {
    let (cpu_ns, system_ns) =
        (after.cpu_ns.saturating_sub(before.cpu_ns), after.system_ns.saturating_sub(before.system_ns));
    if cpu_ns == 0 {
        return;
    }
    let total = usage.cpu.total_ns as f64;
    // Time that the clock does not know is waiting whose end nobody saw, and that is between calls: in calls it was ended.
    let share = (system_ns as f64 / (cpu_ns as f64).min(total).max(1.0)).min(1.0);
    // Both readings are not of the same moment: what lies between them may have been of either kind.
    let between_ns = cpu_ns.abs_diff(usage.cpu.total_ns).saturating_sub(usage.cpu.stale_ns);
    let unsure_ns = after.unsure_ns.saturating_sub(before.unsure_ns) as f64;
    let error_ns = (between_ns as f64 + unsure_ns).max(total * UNSURE_SHARE).min(total);
    usage.cpu.split = Split { user_ns: total * (1.0 - share), system_ns: total * share, error_ns };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Cpu;

    fn owner(pid: u32) -> OwnerTimes {
        let who = TimeOwner::Process { pid, name: "a".to_owned() };
        let mut owner = OwnerTimes {
            life_ns: 10_000,
            between_waiting_ns: 1000,
            cut_ns: 500,
            measuring_ns: 250,
            ..OwnerTimes::new(who)
        };
        let call = owner.call(3);
        (call.total_ns, call.waiting_ns, call.ended) = (4000, 3000, 10);
        owner
    }

    #[test]
    fn time_in_calls_and_what_measuring_added_is_the_systems() {
        let snapshot =
            CallSnapshot { owners: vec![owner(7), OwnerTimes::new(TimeOwner::Others)], ..CallSnapshot::default() };
        let reading = SplitReading::of(&snapshot, 25.0);
        assert_eq!(reading.times, HashMap::from([(7, Times { cpu_ns: 6000, system_ns: 1750, unsure_ns: 100 })]));
        let twice =
            SplitReading::of(&CallSnapshot { owners: vec![owner(7), owner(7)], ..CallSnapshot::default() }, 25.0);
        let sums = Times { cpu_ns: 12_000, system_ns: 3500, unsure_ns: 200 };
        assert_eq!(twice.times[&7], sums, "a number that was used again");
    }

    #[test]
    fn the_clocks_total_is_divided_as_the_calls_were() {
        let usage =
            |pid, total_ns| ProcessUsage { pid, cpu: Cpu { total_ns, ..Cpu::default() }, ..ProcessUsage::default() };
        let mut interval = Interval { processes: vec![usage(1, 1000), usage(2, 1000)], ..Interval::default() };
        let reading = |cpu_ns, system_ns| SplitReading {
            times: HashMap::from([(1, Times { cpu_ns, system_ns, unsure_ns: cpu_ns / 100 })]),
        };
        divide(&mut interval, &reading(5000, 700), &reading(6100, 975));
        let split = interval.processes[0].cpu.split;
        assert_eq!((split.user_ns, split.system_ns, split.error_ns), (725.0, 275.0, 111.0), "what is over was waiting");
        assert_eq!(interval.processes[1].cpu.split, Split::default(), "nobody knows, so the ticks stay");
        divide(&mut interval, &reading(5000, 700), &reading(6000, 950));
        assert_eq!(interval.processes[0].cpu.split.error_ns, 10.0, "both clocks agree, and yet");
        divide(&mut interval, &reading(5000, 700), &reading(6100, 975));
        divide(&mut interval, &SplitReading::default(), &reading(0, 0));
        assert_eq!(interval.processes[0].cpu.split, split, "nothing was measured");
    }
}
