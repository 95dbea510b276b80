//! A process with all that descend from it, as one: those alive by their clocks, those that ended by what their parents got.
//! Once a member, always a member: a child that outlives its parent is followed still.

use crate::model::{Interval, Presence, ProcessUsage};
use crate::sample::{HostSample, ProcessSample};
use crate::sampler::FILE_TICK_NS;
use std::collections::HashSet;

/// A process and its descendants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessTree {
    /// The process that all descend from.
    pub root: u32,
    members: HashSet<u32>,
}

impl ProcessTree {
    /// Of `root`; members are found by [`ProcessTree::follow`].
    pub fn of(root: u32) -> Self {
        Self { root, members: HashSet::from([root]) }
    }

    /// Finds who belongs to it now, and forgets who has ended. Needs the lines of all processes.
    pub fn follow(&mut self, sample: &HostSample) {
        self.members.retain(|pid| sample.process(*pid).is_some());
        // Numbers wrap round, so that a child may stand before its parent: repeat until nobody is added.
        loop {
            let count = self.members.len();
            for process in &sample.processes {
                if process.line.is_some_and(|line| self.members.contains(&line.parent)) {
                    self.members.insert(process.pid);
                }
            }
            if self.members.len() == count {
                return;
            }
        }
    }

    /// The processes that live.
    pub fn members(&self) -> impl Iterator<Item = u32> {
        self.members.iter().copied()
    }

    /// How many live.
    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// Whether anybody lives.
    pub fn is_extinct(&self) -> bool {
        self.members.is_empty()
    }

    /// What all of it used in `interval`, which lies between `earlier` and `later`. `self` has followed `earlier`, but not
    /// yet `later`.
    pub fn usage(&self, interval: &Interval, earlier: &HostSample, later: &HostSample) -> ProcessUsage {
        let mut next = self.clone();
        next.follow(later);
        let mut sum = ProcessUsage {
            pid: self.root,
            presence: Presence::Both,
            elapsed_ns: interval.elapsed_ns,
            ..ProcessUsage::default()
        };
        for usage in interval.processes.iter().filter(|usage| next.members.contains(&usage.pid)) {
            add(&mut sum, usage);
        }
        self.add_ended(&next, &mut sum, earlier, later);
        sum
    }

    /// What members used that ended: what their parents were told, less what was counted for them before.
    fn add_ended(&self, next: &Self, sum: &mut ProcessUsage, earlier: &HostSample, later: &HostSample) {
        let (mut user_ns, mut system_ns, mut had_ns) = (0_u64, 0_u64, 0_u64);
        for process in later.processes.iter().filter(|process| next.members.contains(&process.pid)) {
            let before = earlier.process(process.pid);
            let is_exact = [Some(process), before].into_iter().flatten().all(|seen| seen.cpu.children_ns.is_some());
            let told = if is_exact { told_of_children } else { told_in_ticks };
            let (since, until) = (before.map_or([0; 2], told), told(process));
            if since != until && !is_exact {
                // User and system time are cut down to whole ticks each, both times.
                sum.cpu.stale_ns = sum.cpu.stale_ns.saturating_add(2 * FILE_TICK_NS);
            }
            user_ns = user_ns.saturating_add(until[0].saturating_sub(since[0]));
            system_ns = system_ns.saturating_add(until[1].saturating_sub(since[1]));
        }
        for process in earlier.processes.iter().filter(|process| self.members.contains(&process.pid)) {
            if later.process(process.pid).is_none() {
                let [user, system] = told_of_children(process);
                // LIE: parents are told what the scheduler measured, divided as the ticks fell; the ticks alone may be none at all.
                had_ns = had_ns
                    .saturating_add(process.cpu.total_ns.unwrap_or(0))
                    .saturating_add(user)
                    .saturating_add(system);
            }
        }
        // A member whose parent was no member any more is told to nobody; nothing is taken from the others for it.
        let told_ns = user_ns.saturating_add(system_ns);
        let ended_ns = told_ns.saturating_sub(had_ns);
        let share = ended_ns as f64 / told_ns.max(1) as f64;
        sum.cpu.split.user_ns += user_ns as f64 * share;
        sum.cpu.split.system_ns += system_ns as f64 * share;
        sum.cpu.total_ns = sum.cpu.total_ns.saturating_add(ended_ns);
    }
}

/// User and system time that ended children left to `process`.
fn told_of_children(process: &ProcessSample) -> [u64; 2] {
    process.cpu.children_ns.unwrap_or_else(|| told_in_ticks(process))
}

/// The same, by what its line says.
fn told_in_ticks(process: &ProcessSample) -> [u64; 2] {
    let line = process.line.unwrap_or_default();
    [line.children_user_ticks, line.children_system_ticks].map(|ticks| ticks.saturating_mul(FILE_TICK_NS))
}

fn add(sum: &mut ProcessUsage, usage: &ProcessUsage) {
    let optional = |one: Option<u64>, other: Option<u64>| match (one, other) {
        (None, None) => None,
        (one, other) => Some(one.unwrap_or(0).saturating_add(other.unwrap_or(0))),
    };
    sum.cpu.total_ns = sum.cpu.total_ns.saturating_add(usage.cpu.total_ns);
    sum.cpu.split.user_ns += usage.cpu.split.user_ns;
    sum.cpu.split.system_ns += usage.cpu.split.system_ns;
    sum.cpu.split.error_ns = libm::hypot(sum.cpu.split.error_ns, usage.cpu.split.error_ns);
    sum.cpu.stale_ns = sum.cpu.stale_ns.saturating_add(usage.cpu.stale_ns);
    sum.wait_ns = optional(sum.wait_ns, usage.wait_ns);
    sum.block_ns = optional(sum.block_ns, usage.block_ns);
    sum.basis = sum.basis.max(usage.basis);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::CpuReading;
    use crate::source::process_stat::StatLine;

    fn process(pid: u32, parent: u32, total_ns: u64, children_user_ticks: u64) -> ProcessSample {
        let cpu = CpuReading { total_ns: Some(total_ns), user_ns: Some(total_ns), ..CpuReading::default() };
        let line = Some(StatLine { parent, children_user_ticks, ..StatLine::default() });
        ProcessSample { pid, folder: u64::from(pid), cpu, line, ..ProcessSample::default() }
    }

    fn used(process_tree: &ProcessTree, earlier: &HostSample, later: &HostSample) -> u64 {
        let mut interval = Interval::default();
        interval.update(earlier, later);
        process_tree.usage(&interval, earlier, later).cpu.total_ns
    }

    fn sample(at_ns: u64, processes: Vec<ProcessSample>) -> HostSample {
        HostSample { at_ns, since_boot_ns: at_ns, processes, ..HostSample::default() }
    }

    const MS: u64 = 1_000_000;

    #[test]
    fn children_count_while_they_live_and_after_they_were_waited_for() {
        let earlier = sample(1, vec![process(5, 1, 0, 0), process(6, 5, 30 * MS, 0), process(9, 1, 0, 0)]);
        let mut process_tree = ProcessTree::of(5);
        process_tree.follow(&earlier);
        assert_eq!(process_tree.size(), 2);
        // 6 went on to 50 ms, ended and was waited for; 7 began, and 4 below it; 9 is an external program.
        let processes =
            vec![process(4, 7, MS, 0), process(5, 1, 2 * MS, 5), process(7, 5, MS, 0), process(9, 1, MS, 0)];
        let later = sample(2, processes);
        assert_eq!(used(&process_tree, &earlier, &later), (1 + 2 + 1 + 20) * MS);
        process_tree.follow(&later);
        assert_eq!(process_tree.size(), 3);
    }

    #[test]
    fn a_child_that_the_ticks_have_missed_is_counted_by_what_it_used() {
        let between_ticks = |pid, total_ns| {
            let cpu = CpuReading { user_ns: Some(0), ..process(pid, 5, total_ns, 0).cpu };
            ProcessSample { cpu, ..process(pid, 5, total_ns, 0) }
        };
        let earlier = sample(1, vec![process(5, 1, 0, 0), between_ticks(6, 1_350 * MS)]);
        let mut process_tree = ProcessTree::of(5);
        process_tree.follow(&earlier);
        let later = sample(2, vec![process(5, 1, 0, 200)]);
        assert_eq!(used(&process_tree, &earlier, &later), (2_000 - 1_350) * MS);
    }

    #[test]
    fn what_the_kernel_tells_in_nanoseconds_is_believed_before_ticks() {
        let told = |line_ticks, children_ns| {
            let plain = process(5, 1, 0, line_ticks);
            ProcessSample { cpu: CpuReading { children_ns, ..plain.cpu }, ..plain }
        };
        let process_tree = ProcessTree::of(5);
        let used = |earlier, later| {
            let (earlier, later) = (sample(1, vec![earlier]), sample(2, vec![later]));
            let mut interval = Interval::default();
            interval.update(&earlier, &later);
            let cpu = process_tree.usage(&interval, &earlier, &later).cpu;
            (cpu.total_ns, cpu.stale_ns)
        };
        assert_eq!(used(told(3, Some([30, 1])), told(4, Some([32, 5]))), (6, 0));
        assert_eq!(used(told(3, None), told(4, None)), (FILE_TICK_NS, 2 * FILE_TICK_NS));
        assert_eq!(
            used(told(3, Some([30, 1])), told(4, None)),
            (FILE_TICK_NS, 2 * FILE_TICK_NS),
            "the list was lost meanwhile"
        );
    }

    #[test]
    fn orphans_are_followed_and_lost_ones_take_nothing_from_others() {
        let earlier = sample(1, vec![process(5, 1, 0, 0), process(6, 5, 0, 0), process(7, 6, 30 * MS, 0)]);
        let mut process_tree = ProcessTree::of(5);
        process_tree.follow(&earlier);
        let orphaned = sample(2, vec![process(5, 1, 0, 0), process(7, 1, 40 * MS, 0)]);
        assert_eq!(used(&process_tree, &earlier, &orphaned), 10 * MS);
        process_tree.follow(&orphaned);
        let alone = sample(3, vec![process(5, 1, 7 * MS, 0)]);
        assert_eq!(used(&process_tree, &orphaned, &alone), 7 * MS);
        process_tree.follow(&sample(4, Vec::new()));
        assert!(process_tree.is_extinct());
    }
}
