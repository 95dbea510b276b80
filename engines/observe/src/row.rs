//! Rows: what an interval means for one process, thread, user, group or name; filtered, sorted, cut. Pure functions.
//! Every rate is in cores: 1 is one core all the time. Who shows a row chooses the base.

use crate::model::{Cpu, Idlers, Interval, Presence, ProcessUsage, ThreadUsage};
use crate::sample::{CpuBasis, HostSample, ProcessIdentity};
use crate::source::control_group::unit;
use serde::Serialize;
use std::collections::HashMap;

/// What one row stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowGrouping {
    /// A process.
    Process,
    /// A thread.
    Thread,
    /// All processes of a user.
    User,
    /// All processes of a control group.
    Group,
    /// All processes of a service or container.
    Unit,
    /// All processes of a name.
    Name,
}

/// One row.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProcessRow {
    /// The process, if it is one.
    pub pid: Option<u32>,
    /// The thread, if it is one.
    pub tid: Option<u32>,
    /// The effective user.
    pub user: Option<u32>,
    /// The control group.
    pub group: Option<String>,
    /// The short name, a thread's own where it is one.
    pub name: String,
    /// The command line.
    pub command: String,
    /// Processes, or threads, that are in it.
    pub members: u32,
    /// Which samples it is in.
    pub presence: Presence,
    /// Where its total comes from, the coarsest of all members.
    pub basis: CpuBasis,
    /// Members that no program in the kernel has read: their clocks and files were.
    pub members_by_clock: u32,
    /// The time it was watched.
    pub elapsed_ns: u64,
    /// CPU time.
    pub cpu_ns: u64,
    /// Cores used in programs.
    pub user_cores: f64,
    /// Cores used in the kernel.
    pub system_cores: f64,
    /// How far each of both may be off, with 98 % confidence.
    pub error_cores: f64,
    /// Cores used.
    pub cores: f64,
    /// How far that may be off: threads that ran at the moment of a reading.
    pub stale_cores: f64,
    /// Threads that on average could run and had no CPU.
    pub wait_cores: Option<f64>,
    /// Threads that on average waited for a block device, where the kernel keeps it.
    pub block_cores: Option<f64>,
    /// Threads that on average slept or waited for something else.
    pub sleep_cores: Option<f64>,
}

/// What rows are sorted by, largest first; names and numbers smallest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOrder {
    /// CPU time.
    Cpu,
    /// Time in programs.
    User,
    /// Time in the kernel.
    System,
    /// Time without a CPU.
    Wait,
    /// The process's number.
    Pid,
    /// The name.
    Name,
}

impl ProcessRow {
    fn of_process(usage: &ProcessUsage, later: &HostSample) -> Self {
        let process = later.process(usage.pid);
        let mut row = Self { pid: Some(usage.pid), members: 1, presence: usage.presence, ..Self::default() };
        row.name_it(process.and_then(|process| process.identity.as_deref()));
        row.basis = usage.basis;
        row.members_by_clock = u32::from(usage.basis != CpuBasis::Scheduler);
        row.fill(&usage.cpu, usage.elapsed_ns);
        row.wait_cores = usage.wait_ns.map(|wait_ns| rate(wait_ns as f64, usage.elapsed_ns));
        row.block_cores = usage.block_ns.map(|block_ns| rate(block_ns as f64, usage.elapsed_ns));
        row
    }

    fn of_thread(usage: &ThreadUsage, later: &HostSample) -> Self {
        let process = later.process(usage.pid);
        let mut row = Self { pid: Some(usage.pid), tid: Some(usage.tid), members: 1, ..Self::default() };
        row.name_it(process.and_then(|process| process.identity.as_deref()));
        if let Some(thread) = later.threads.get(usage.index as usize) {
            row.name = thread.name.text();
        }
        row.basis = CpuBasis::Clock;
        row.members_by_clock = 1;
        row.fill(&usage.cpu, usage.elapsed_ns);
        // What it ran is known to a tick, what it waited is not read at the same moment: what both have too much is the wait's,
        // so that all states make up the time.
        let mut left = (1.0 - row.cores).max(0.0);
        let mut part = |time_ns: u64| {
            let part = rate(time_ns as f64, usage.elapsed_ns).min(left);
            left -= part;
            Some(part)
        };
        row.wait_cores = part(usage.wait_ns);
        row.block_cores = part(usage.block_ns);
        row.sleep_cores = Some(left);
        row
    }

    fn name_it(&mut self, identity: Option<&ProcessIdentity>) {
        let Some(identity) = identity else { return };
        self.user = identity.user;
        self.group.clone_from(&identity.group);
        self.name.clone_from(&identity.name);
        self.command = identity.shown();
    }

    fn fill(&mut self, cpu: &Cpu, elapsed_ns: u64) {
        self.elapsed_ns = elapsed_ns;
        self.cpu_ns = cpu.total_ns;
        self.user_cores = rate(cpu.split.user_ns, elapsed_ns);
        self.system_cores = rate(cpu.split.system_ns, elapsed_ns);
        self.cores = rate(cpu.total_ns as f64, elapsed_ns);
        self.stale_cores = rate(cpu.stale_ns as f64, elapsed_ns);
        self.error_cores = rate(cpu.split.error_ns, elapsed_ns) + self.stale_cores;
    }

    fn add(&mut self, other: &Self) {
        let optional = |one: Option<f64>, other: Option<f64>| match (one, other) {
            (None, None) => None,
            (one, other) => Some(one.unwrap_or(0.0) + other.unwrap_or(0.0)),
        };
        // Lotteries of different processes are independent; staleness is not, ticks fall on all CPUs together.
        let lottery = libm::hypot(self.error_cores - self.stale_cores, other.error_cores - other.stale_cores);
        self.members += other.members;
        self.basis = self.basis.max(other.basis);
        self.members_by_clock += other.members_by_clock;
        self.elapsed_ns = self.elapsed_ns.max(other.elapsed_ns);
        self.cpu_ns = self.cpu_ns.saturating_add(other.cpu_ns);
        self.user_cores += other.user_cores;
        self.system_cores += other.system_cores;
        self.cores += other.cores;
        self.stale_cores += other.stale_cores;
        self.error_cores = lottery + self.stale_cores;
        self.wait_cores = optional(self.wait_cores, other.wait_cores);
        self.block_cores = optional(self.block_cores, other.block_cores);
    }
}

fn rate(time_ns: f64, elapsed_ns: u64) -> f64 {
    if elapsed_ns == 0 { 0.0 } else { time_ns / elapsed_ns as f64 }
}

/// A row for each process of `usages`.
pub fn of_processes(usages: &[ProcessUsage], later: &HostSample) -> Vec<ProcessRow> {
    usages.iter().map(|usage| ProcessRow::of_process(usage, later)).collect()
}

/// A row for each thread that did anything; with `idlers`, for the others too.
pub fn of_threads(interval: &Interval, later: &HostSample, idlers: Idlers) -> Vec<ProcessRow> {
    let is_shown = |thread: &&ThreadUsage| idlers == Idlers::Listed || thread.cpu.total_ns > 0 || thread.wait_ns > 0;
    interval.threads.iter().filter(is_shown).map(|usage| ProcessRow::of_thread(usage, later)).collect()
}

/// Adds up the rows of processes by what they have in common.
pub fn grouped(rows: Vec<ProcessRow>, grouping: RowGrouping) -> Vec<ProcessRow> {
    if matches!(grouping, RowGrouping::Process | RowGrouping::Thread) {
        return rows;
    }
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut sums: Vec<ProcessRow> = Vec::new();
    for row in rows {
        let (key, common) = common(&row, grouping);
        match places.get(&key) {
            Some(&place) => sums[place].add(&row),
            None => {
                places.insert(key, sums.len());
                sums.push(ProcessRow { members: 0, ..common });
                let last = sums.len() - 1;
                sums[last].add(&row);
            }
        }
    }
    sums
}

/// What the rows of one sum have in common, and the word that tells sums apart.
fn common(row: &ProcessRow, grouping: RowGrouping) -> (String, ProcessRow) {
    let mut common = ProcessRow::default();
    let key = match grouping {
        RowGrouping::User => {
            common.user = row.user;
            row.user.map(|user| user.to_string()).unwrap_or_default()
        }
        RowGrouping::Group | RowGrouping::Unit => {
            let path = row.group.clone().unwrap_or_default();
            let key = if grouping == RowGrouping::Unit { unit(&path).to_owned() } else { path };
            common.group = Some(key.clone());
            key
        }
        RowGrouping::Name | RowGrouping::Process | RowGrouping::Thread => {
            common.name.clone_from(&row.name);
            row.name.clone()
        }
    };
    (key, common)
}

/// Sorts rows; equal ones by number.
pub fn sort(rows: &mut [ProcessRow], order: RowOrder) {
    let largest = |key: fn(&ProcessRow) -> f64, one: &ProcessRow, other: &ProcessRow| key(other).total_cmp(&key(one));
    rows.sort_by(|one, other| {
        let by_order = match order {
            RowOrder::Cpu => largest(|row| row.cores, one, other),
            RowOrder::User => largest(|row| row.user_cores, one, other),
            RowOrder::System => largest(|row| row.system_cores, one, other),
            RowOrder::Wait => largest(|row| row.wait_cores.unwrap_or(0.0), one, other),
            RowOrder::Pid => one.pid.cmp(&other.pid),
            RowOrder::Name => one.name.cmp(&other.name),
        };
        by_order.then_with(|| (one.pid, one.tid).cmp(&(other.pid, other.tid)))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(pid: u32, user: u32, group: &str, cores: f64) -> ProcessRow {
        ProcessRow {
            pid: Some(pid),
            user: Some(user),
            group: Some(group.to_owned()),
            name: format!("n{}", pid % 2),
            members: 1,
            cores,
            user_cores: cores,
            error_cores: 0.03,
            wait_cores: (pid == 1).then_some(0.5),
            ..ProcessRow::default()
        }
    }

    #[test]
    fn rows_are_added_up_by_user_group_and_name() {
        let rows = || vec![row(1, 0, "/a/x.service/b", 0.5), row(2, 0, "/a/x.service", 0.25), row(3, 7, "/c", 0.1)];
        let users = grouped(rows(), RowGrouping::User);
        assert_eq!(users.iter().map(|row| (row.user, row.members)).collect::<Vec<_>>(), [(Some(0), 2), (Some(7), 1)]);
        assert_eq!((users[0].cores, users[0].wait_cores, users[0].pid), (0.75, Some(0.5), None));
        assert!((users[0].error_cores - 0.03 * 2_f64.sqrt()).abs() < 1e-12, "lotteries are independent");
        assert_eq!(grouped(rows(), RowGrouping::Group).len(), 3);
        let units = grouped(rows(), RowGrouping::Unit);
        assert_eq!(units[0].group.as_deref(), Some("x.service"));
        assert_eq!(grouped(rows(), RowGrouping::Name).iter().map(|row| row.members).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(grouped(rows(), RowGrouping::Process), rows());
    }

    #[test]
    fn what_a_thread_did_adds_up_to_its_time() {
        let later = HostSample::default();
        for (ran_ns, wait_ns, block_ns) in [(300, 500, 100), (300, 500, 300), (504, 500, 0), (1_004, 3, 0), (0, 0, 0)] {
            let cpu = Cpu { total_ns: ran_ns, ..Cpu::default() };
            let usage = ThreadUsage { elapsed_ns: 1_000, cpu, wait_ns, block_ns, ..ThreadUsage::default() };
            let row = ProcessRow::of_thread(&usage, &later);
            let states = [Some(row.cores), row.wait_cores, row.block_cores, row.sleep_cores];
            let sum: f64 = states.into_iter().flatten().sum();
            assert!((sum - 1.0).abs() < 1e-9 || (ran_ns > 1_000 && sum == row.cores), "{states:?}");
        }
    }

    #[test]
    fn the_largest_come_first() {
        let mut rows = vec![row(3, 0, "", 0.1), row(2, 0, "", 0.5), row(1, 0, "", 0.5)];
        sort(&mut rows, RowOrder::Cpu);
        assert_eq!(rows.iter().filter_map(|row| row.pid).collect::<Vec<_>>(), [1, 2, 3]);
        sort(&mut rows, RowOrder::Pid);
        assert_eq!(rows.iter().filter_map(|row| row.pid).collect::<Vec<_>>(), [1, 2, 3]);
        sort(&mut rows, RowOrder::Wait);
        assert_eq!(rows[0].pid, Some(1));
    }
}
