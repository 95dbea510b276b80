//! What each process did with its CPU time, from a snapshot by process: to the nanosecond, at the moment of the reading, the
//! program's own work apart from the kernel's for it.

use super::sampled::share_within;
use super::snapshot::{OwnerTimes, Snapshot, Who};

/// A process's time while it was followed.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessTime {
    /// Its number.
    pub pid: u32,
    /// Its name, when it was last seen.
    pub name: String,
    /// On a CPU, all threads, those that have ended too. Exact, but for what measuring added to each call, which is taken off.
    pub cpu_ns: u64,
    /// Of it, in system calls. LIE: page faults and interrupts count as the program's own work.
    pub system_ns: u64,
    /// How far that may be off with 95 % confidence; 0 where every call was measured.
    pub system_within_ns: u64,
    /// Off the CPU, in calls and between them.
    pub waiting_ns: u64,
}

/// All processes of a snapshot by process. What it lost, it says itself.
pub fn process_times(snapshot: &Snapshot) -> Vec<ProcessTime> {
    snapshot.owners.iter().filter_map(process_time).collect()
}

fn process_time(owner: &OwnerTimes) -> Option<ProcessTime> {
    let Who::Process { pid, name } = &owner.who else { return None };
    let in_calls_waiting_ns = owner.calls.iter().map(|call| call.waiting_ns).sum::<u64>() + owner.cut_waiting_ns;
    let waiting_ns = in_calls_waiting_ns + owner.between_waiting_ns;
    let cpu_ns = owner.life_ns.saturating_sub(waiting_ns).saturating_sub(owner.measuring_ns);
    let system_ns = owner.in_calls_ns().saturating_sub(in_calls_waiting_ns).min(cpu_ns);
    let system_within_ns = match owner.samples {
        0 => 0,
        samples => {
            let in_calls = owner.calls.iter().map(|call| call.samples).sum();
            (share_within(in_calls, samples).1 * cpu_ns as f64) as u64
        }
    };
    Some(ProcessTime { pid: *pid, name: name.clone(), cpu_ns, system_ns, system_within_ns, waiting_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner() -> OwnerTimes {
        let who = Who::Process { pid: 7, name: "a".to_owned() };
        let mut owner = OwnerTimes { life_ns: 10_000, between_waiting_ns: 1000, cut_ns: 500, ..OwnerTimes::new(who) };
        let call = owner.call(3);
        (call.total_ns, call.waiting_ns, call.ended) = (4000, 3000, 10);
        owner
    }

    #[test]
    fn time_is_divided_and_what_measuring_added_is_taken_off() {
        let measured = OwnerTimes { measuring_ns: 500, ..owner() };
        let snapshot = Snapshot { owners: vec![measured, OwnerTimes::new(Who::Others)], ..Snapshot::default() };
        let times = process_times(&snapshot);
        let [time] = times.as_slice() else { panic!("{times:?}") };
        assert_eq!((time.pid, time.waiting_ns, time.cpu_ns, time.system_ns), (7, 4000, 5500, 1500));
        assert_eq!(time.system_within_ns, 0);
    }

    #[test]
    fn samples_have_an_interval_and_nothing_is_negative() {
        let mut sampled = owner();
        sampled.samples = 100;
        sampled.call(3).samples = 50;
        sampled.call(3).ended = 0;
        let time = process_time(&sampled).expect("a process");
        assert!((500..700).contains(&time.system_within_ns), "{time:?}");
        sampled.measuring_ns = u64::MAX;
        assert_eq!(process_time(&sampled).map(|time| (time.cpu_ns, time.system_ns)), Some((0, 0)));
    }
}
