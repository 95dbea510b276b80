//! What happened between two samples: rates, births, deaths, and what nobody accounts for.
//! Works on live and on recorded samples alike; reads nothing.

use crate::sample::{
    CpuBasis, Endings, HostSample, MachineSample, ProcessSample, ThreadName, ThreadSample, TotalBasis,
};
use crate::sampler::FILE_TICK_NS;
use crate::source::process_stat::{StatLine, ThreadState};
use crate::source::words::text_of;
use crate::split::{Split, Ticks, split};
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};

/// What happened between two samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interval {
    /// Between the samples' beginnings.
    pub elapsed_ns: u64,
    /// Processes that used CPU time or were born, by number; where asked for, those that did nothing too.
    pub processes: Vec<ProcessUsage>,
    /// Whether those that did nothing are listed.
    pub idlers: Idlers,
    /// Their threads, where both samples have them.
    pub threads: Vec<ThreadUsage>,
    /// Processes that lived at both moments and used nothing.
    pub idle: usize,
    /// Processes that began in between and live.
    pub born: usize,
    /// Processes of the first sample that the second does not have.
    pub ended: usize,
    /// The machine.
    pub machine: MachineUsage,
    /// Those that ended, and what they used since they were last seen; none where nobody noted it.
    pub endings: Option<EndedUsage>,
}

/// Processes that ended, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EndedUsage {
    /// The largest first.
    pub by_name: Vec<EndedName>,
    /// How many more there were, or more than that.
    pub unnamed: u64,
}

/// Processes of one name that ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EndedName {
    /// The name. Text from outside: escaped wherever it is shown.
    pub name: String,
    /// How many.
    pub count: u64,
    /// What they used in the interval and no row has; none where nobody noted it.
    pub used_ns: Option<u64>,
}

/// A process that ended.
#[derive(Clone, Copy, Debug)]
pub struct EndedOne<'a> {
    /// Its number.
    pub pid: u32,
    /// Its name at its end, where that was noted.
    pub name: Option<&'a ThreadName>,
    /// What was known of it when it was last seen; none if it never was.
    pub seen: Option<&'a ProcessSample>,
}

impl EndedUsage {
    fn of(endings: &Endings, earlier: &HostSample, later: &HostSample) -> Self {
        Self::of_chosen(endings, earlier, later, |_| true)
    }

    /// Those among all that were noted that `is_chosen`.
    fn of_chosen(
        endings: &Endings,
        earlier: &HostSample,
        later: &HostSample,
        is_chosen: impl Fn(&EndedOne<'_>) -> bool,
    ) -> Self {
        let mut names: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        let mut by_number = HashSet::new();
        for ending in &endings.named {
            let seen = [earlier, later].into_iter().filter_map(|sample| sample.process(ending.pid));
            // Where only the number is known, the first of that number that ended is the one that was seen.
            let is_first = ending.folder.is_none() && by_number.insert(ending.pid);
            let seen = seen.filter(|process| is_first || ending.folder == Some(process.folder));
            let seen = seen.max_by_key(|process| process.cpu.total_ns);
            if !is_chosen(&EndedOne { pid: ending.pid, name: Some(&ending.name), seen }) {
                continue;
            }
            let had_ns = seen.and_then(|process| process.cpu.total_ns).unwrap_or(0);
            let (count, used_ns) = names.entry(text_of(ending.name.bytes())).or_default();
            *count += 1;
            *used_ns = used_ns.saturating_add(ending.used_ns.saturating_sub(had_ns));
        }
        let name = |(name, (count, used_ns))| EndedName { name, count, used_ns: Some(used_ns) };
        let mut by_name: Vec<EndedName> = names.into_iter().map(name).collect();
        by_name.sort_by_key(|name| std::cmp::Reverse(name.used_ns));
        Self { by_name, unnamed: endings.unnamed }
    }

    /// Those that ended between two samples and that `is_chosen`. Where nobody notes ends, they are those of the first sample that the
    /// second does not have, and what they used since is not known.
    pub fn between(earlier: &HostSample, later: &HostSample, is_chosen: impl Fn(&EndedOne<'_>) -> bool) -> Self {
        if let Some(endings) = &later.endings {
            return Self::of_chosen(endings, earlier, later, is_chosen);
        }
        let mut names: BTreeMap<&str, u64> = BTreeMap::new();
        for process in &earlier.processes {
            let lives = later.process(process.pid).is_some_and(|now| is_same(process, now, earlier));
            if !lives && is_chosen(&EndedOne { pid: process.pid, name: None, seen: Some(process) }) {
                let name = process.identity.as_deref().map_or("", |identity| identity.name.as_str());
                *names.entry(name).or_default() += 1;
            }
        }
        let name = |(name, count): (&str, _)| EndedName { name: name.to_owned(), count, used_ns: None };
        Self { by_name: names.into_iter().map(name).collect(), unnamed: 0 }
    }
}

/// What becomes of processes that did nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Idlers {
    /// They are counted.
    #[default]
    Counted,
    /// They are counted and listed.
    Listed,
}

/// The machine in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MachineUsage {
    /// CPU time of all processes, ended ones too, as the machine says.
    pub total_ns: Option<u64>,
    /// Where that comes from.
    pub basis: Option<TotalBasis>,
    /// Of that, what no process of the list used: processes that ended, that began and ended, that are hidden; and
    /// interrupts, where the total has them. Negative where the list says more than the machine.
    pub unaccounted_ns: Option<i64>,
    /// Time in which the hypervisor ran others while a CPU had work.
    pub stolen_ns: Option<u64>,
    /// CPUs that are switched on.
    pub online_cpus: u32,
    /// CPU time that the control groups allow, in thousandths of a core.
    pub quota_millicores: Option<u64>,
}

/// Which of both samples a process is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Presence {
    /// Both.
    #[default]
    Both,
    /// It began in between.
    Born,
}

/// CPU time in an interval, and how far it may be off.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cpu {
    /// On CPUs.
    pub total_ns: u64,
    /// In programs or in the kernel.
    pub split: Split,
    /// How far the total may be off: threads that ran at one of the two moments were added up at a tick before it.
    pub stale_ns: u64,
}

/// One process in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProcessUsage {
    /// Its number.
    pub pid: u32,
    /// Which samples it is in.
    pub presence: Presence,
    /// Between its own two readings; for one that was born, the interval.
    pub elapsed_ns: u64,
    /// What it used.
    pub cpu: Cpu,
    /// Where that comes from.
    pub basis: CpuBasis,
    /// Time that its threads could run and had no CPU, all threads added up; none without threads in the samples.
    pub wait_ns: Option<u64>,
    /// Time that its threads waited for block devices, where the kernel keeps it.
    pub block_ns: Option<u64>,
}

/// One thread in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ThreadUsage {
    /// Its process.
    pub pid: u32,
    /// Its number.
    pub tid: u32,
    /// Between its two readings; for one that was born, since the first sample.
    pub elapsed_ns: u64,
    /// What it used.
    pub cpu: Cpu,
    /// Time that it could run and had no CPU.
    pub wait_ns: u64,
    /// Time that it waited for block devices, where the kernel keeps it.
    pub block_ns: u64,
    /// Whether it could run at both moments and never did.
    pub is_starved: bool,
    /// Times it was given a CPU.
    pub turns: u64,
    /// Where it stands in the second sample's list.
    pub index: u32,
}

impl Interval {
    /// Nothing yet.
    pub fn new(idlers: Idlers) -> Self {
        Self { idlers, ..Self::default() }
    }

    /// Forgets what it held and fills itself from two samples of one host.
    pub fn update(&mut self, earlier: &HostSample, later: &HostSample) {
        self.elapsed_ns = later.at_ns.saturating_sub(earlier.at_ns);
        self.processes.clear();
        self.threads.clear();
        (self.idle, self.born, self.ended) = (0, 0, 0);
        let mut before = earlier.processes.iter().peekable();
        let mut surviving = 0;
        for process in &later.processes {
            while before.next_if(|known| known.pid < process.pid).is_some() {}
            let known = before.next_if(|known| known.pid == process.pid);
            let known = known.filter(|known| is_same(known, process, earlier));
            surviving += usize::from(known.is_some());
            self.add(known, process, earlier, later);
        }
        self.ended = earlier.processes.len() - surviving;
        self.machine = self.machine_usage(&earlier.machine, &later.machine);
        self.endings = later.endings.as_ref().map(|endings| EndedUsage::of(endings, earlier, later));
    }

    /// Counts idle processes again, and leaves them out where they are only counted: their waiting may have become known since.
    pub fn count_idle(&mut self, idlers: Idlers) {
        let is_idle = |usage: &ProcessUsage| {
            usage.cpu.total_ns == 0 && usage.wait_ns.unwrap_or(0) == 0 && usage.presence == Presence::Both
        };
        self.idle = self.processes.iter().filter(|usage| is_idle(usage)).count();
        if idlers == Idlers::Counted {
            self.processes.retain(|usage| !is_idle(usage));
        }
    }

    fn add(
        &mut self,
        known: Option<&ProcessSample>,
        process: &ProcessSample,
        earlier: &HostSample,
        later: &HostSample,
    ) {
        let Some(total_ns) = process.cpu.total_ns else { return };
        let had_ns = known.and_then(|known| known.cpu.total_ns).unwrap_or(0);
        let used_ns = total_ns.saturating_sub(had_ns);
        let presence = if known.is_some() { Presence::Both } else { Presence::Born };
        self.born += usize::from(known.is_none());
        let first_thread = self.threads.len();
        if known.is_none_or(|known| known.threads.start < known.threads.end) {
            let threads = known.map_or(&[][..], |known| earlier.threads_of(known));
            self.add_threads(process, threads, earlier, later);
        }
        let threads = &self.threads[first_thread..];
        let wait_ns = (!threads.is_empty()).then(|| threads.iter().map(|thread| thread.wait_ns).sum());
        let block_ns = (!threads.is_empty()).then(|| threads.iter().map(|thread| thread.block_ns).sum());
        if used_ns == 0 && wait_ns.unwrap_or(0) == 0 && presence == Presence::Both {
            self.idle += 1;
            if self.idlers == Idlers::Counted {
                return;
            }
        }
        let elapsed_ns = match known {
            Some(known) => process.at_ns.saturating_sub(known.at_ns),
            None => self.elapsed_ns,
        };
        let cpu = process_cpu(known, process, used_ns, &later.machine);
        let basis = process.cpu.basis;
        self.processes.push(ProcessUsage { pid: process.pid, presence, elapsed_ns, cpu, basis, wait_ns, block_ns });
    }

    /// Threads that are in both samples or began in between.
    fn add_threads(
        &mut self,
        process: &ProcessSample,
        known: &[ThreadSample],
        earlier: &HostSample,
        later: &HostSample,
    ) {
        let mut known = known.iter().peekable();
        for (at, thread) in later.threads_of(process).iter().enumerate() {
            while known.next_if(|known| known.tid < thread.tid).is_some() {}
            let before = known.next_if(|known| known.tid == thread.tid);
            let before = before.filter(|before| start_of(before.line) == start_of(thread.line));
            let index = process.threads.start + at as u32;
            self.threads.extend(thread_usage(before, thread, earlier, &later.machine).map(|usage| ThreadUsage {
                pid: process.pid,
                index,
                ..usage
            }));
        }
    }

    fn machine_usage(&self, earlier: &MachineSample, later: &MachineSample) -> MachineUsage {
        let both = earlier.total.zip(later.total).filter(|(earlier, later)| earlier.basis == later.basis);
        let total_ns = both.map(|(earlier, later)| later.used_ns.saturating_sub(earlier.used_ns));
        let listed = self.processes.iter().map(|usage| usage.cpu.total_ns).fold(0, u64::saturating_add);
        let stolen = earlier.ticks.as_ref().zip(later.ticks.as_ref());
        MachineUsage {
            total_ns,
            basis: both.map(|(_, later)| later.basis),
            unaccounted_ns: total_ns.map(|total| total.cast_signed().saturating_sub(listed.cast_signed())),
            stolen_ns: stolen
                .map(|(earlier, later)| later.all.steal.saturating_sub(earlier.all.steal).saturating_mul(FILE_TICK_NS)),
            online_cpus: later.online_cpus,
            quota_millicores: later.quota_millicores,
        }
    }
}

/// Whether two readings of one number are of one process.
fn is_same(known: &ProcessSample, process: &ProcessSample, earlier: &HostSample) -> bool {
    let (had, has) = (start_of(known.line), start_of(process.line));
    match (had.zip(has), has) {
        (Some((had, has)), _) => had == has,
        (None, _) if known.folder == process.folder => true,
        // The kernel forgot the directory, or it is another process: one that began before the first sample is the same.
        (None, Some(start)) => {
            let started_ns = start.saturating_add(1).saturating_mul(FILE_TICK_NS);
            started_ns <= earlier.since_boot_ns && process.cpu.total_ns >= known.cpu.total_ns
        }
        (None, None) => false,
    }
}

fn start_of(line: Option<StatLine>) -> Option<u64> {
    line.map(|line| line.start_ticks)
}

fn process_cpu(known: Option<&ProcessSample>, process: &ProcessSample, used_ns: u64, machine: &MachineSample) -> Cpu {
    let (user_ns, system_ns) = (process.cpu.user_ns.unwrap_or(0), process.cpu.system_ns.unwrap_or(0));
    let before = known.map(|known| known.cpu).unwrap_or_default();
    let ticks = Ticks {
        user_ns: user_ns.saturating_sub(before.user_ns.unwrap_or(0)),
        system_ns: system_ns.saturating_sub(before.system_ns.unwrap_or(0)),
        lifetime_user_ns: user_ns,
        lifetime_system_ns: system_ns,
    };
    let may_run = process.may_run.max(known.map_or(0, |known| known.may_run)).min(machine.online_cpus.max(1));
    // Files of ticks are cut off, so that a difference of two is up to one step off either way.
    let (a_thread_ns, step_ns) = match process.cpu.basis {
        CpuBasis::Scheduler => (SCHEDULER_ERROR_NS.min(machine.tick_ns), 0),
        CpuBasis::Clock => (machine.tick_ns, 0),
        CpuBasis::Threads | CpuBasis::Ticks => (machine.tick_ns, FILE_TICK_NS),
    };
    Cpu {
        total_ns: used_ns,
        split: divide(used_ns, ticks, process.line, machine.tick_ns),
        stale_ns: u64::from(may_run).saturating_mul(a_thread_ns).max(step_ns),
    }
}

/// How far the time of a thread on a CPU may be off where the scheduler was asked: reading its clocks and ours takes a
/// microsecond, and an interrupt, or the hypervisor, may have had the CPU since its time was last added up.
const SCHEDULER_ERROR_NS: u64 = 20_000;

/// A thread of the kernel is nowhere else.
fn divide(used_ns: u64, ticks: Ticks, line: Option<StatLine>, tick_ns: u64) -> Split {
    match line {
        Some(line) if line.is_kernel_thread => Split { user_ns: 0.0, system_ns: used_ns as f64, error_ns: 0.0 },
        _ => split(used_ns, ticks, tick_ns),
    }
}

fn thread_usage(
    before: Option<&ThreadSample>,
    thread: &ThreadSample,
    earlier: &HostSample,
    machine: &MachineSample,
) -> Option<ThreadUsage> {
    let delay = thread.delay?;
    let had = before.and_then(|before| before.delay).unwrap_or_default();
    let line = thread.line.unwrap_or_default();
    let line_had = before.and_then(|before| before.line).unwrap_or_default();
    let used_ns = delay.run_ns.saturating_sub(had.run_ns);
    let elapsed_ns = thread.at_ns.saturating_sub(before.map_or(earlier.at_ns, |before| before.at_ns));
    let turns = delay.turns.saturating_sub(had.turns);
    let could_run = |thread: &ThreadSample| thread.line.is_some_and(|line| line.state == ThreadState::Runnable);
    // LIE: waiting is counted when it ends, all at once. Who could run all the time and never did has waited all the time; and of
    // what ends now, what does not fit was before.
    // LIMIT: who runs is added up at ticks, and at one a second on CPUs whose ticks are off (`nohz_full`): there it may seem to wait.
    let has_ticked = elapsed_ns >= 2 * machine.tick_ns;
    let is_starved = has_ticked && used_ns == 0 && turns == 0 && could_run(thread) && before.is_some_and(could_run);
    let counted_ns = delay.wait_ns.saturating_sub(had.wait_ns).min(elapsed_ns.saturating_sub(used_ns));
    let in_time = |ticks: u64| ticks.saturating_mul(FILE_TICK_NS);
    let ticks = Ticks {
        user_ns: in_time(line.user_ticks.saturating_sub(line_had.user_ticks)),
        system_ns: in_time(line.system_ticks.saturating_sub(line_had.system_ticks)),
        lifetime_user_ns: in_time(line.user_ticks),
        lifetime_system_ns: in_time(line.system_ticks),
    };
    // What the files say has steps of 10 ms, so a draw is never shorter than that.
    let draw_ns = machine.tick_ns.max(FILE_TICK_NS);
    let cpu = Cpu { total_ns: used_ns, split: divide(used_ns, ticks, thread.line, draw_ns), stale_ns: machine.tick_ns };
    Some(ThreadUsage {
        pid: 0,
        tid: thread.tid,
        elapsed_ns,
        cpu,
        is_starved,
        wait_ns: if is_starved { elapsed_ns } else { counted_ns },
        block_ns: in_time(line.block_ticks.saturating_sub(line_had.block_ticks)),
        turns,
        index: 0,
    })
}

impl ProcessUsage {
    /// Share of one core, 1 is one core all the time.
    pub fn cores(&self, time_ns: f64) -> f64 {
        time_ns / self.elapsed_ns.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{CpuReading, Ending, MachineTotal, ProcessIdentity, Span};
    use crate::source::run_delay::ThreadRunDelay;
    use std::sync::Arc;

    fn process(pid: u32, at_ns: u64, total_ns: u64) -> ProcessSample {
        let cpu = CpuReading { total_ns: Some(total_ns), ..CpuReading::default() };
        ProcessSample { pid, folder: u64::from(pid), at_ns, cpu, ..ProcessSample::default() }
    }

    fn sample(at_ns: u64, used_ns: u64, processes: Vec<ProcessSample>) -> HostSample {
        let machine = MachineSample {
            total: Some(MachineTotal { used_ns, basis: TotalBasis::ControlGroup }),
            online_cpus: 2,
            tick_ns: 4_000_000,
            ..MachineSample::default()
        };
        HostSample { at_ns, since_boot_ns: at_ns, machine, processes, ..HostSample::default() }
    }

    fn interval(earlier: &HostSample, later: &HostSample) -> Interval {
        let mut interval = Interval::default();
        interval.update(earlier, later);
        interval
    }

    const S: u64 = 1_000_000_000;

    #[test]
    fn each_process_has_its_own_time_and_the_table_closes() {
        let earlier = sample(10 * S, 0, vec![process(1, 10 * S, 5), process(2, 10 * S, 7), process(3, 10 * S, 0)]);
        let mut born = process(4, 11 * S, 90);
        born.line = Some(StatLine { start_ticks: 1050, ..StatLine::default() });
        let later = sample(11 * S, 1000, vec![process(1, 11 * S + 50, 505), process(2, 11 * S, 7), born]);
        let interval = interval(&earlier, &later);
        assert_eq!((interval.idle, interval.born, interval.ended), (1, 1, 1));
        let used: Vec<_> = interval.processes.iter().map(|usage| (usage.pid, usage.cpu.total_ns)).collect();
        assert_eq!(used, [(1, 500), (4, 90)]);
        assert_eq!(interval.processes[0].elapsed_ns, S + 50);
        assert_eq!((interval.processes[1].presence, interval.processes[1].elapsed_ns), (Presence::Born, S));
        assert_eq!(interval.machine.unaccounted_ns, Some(1000 - 590));
    }

    #[test]
    fn who_ended_is_told_by_name_with_what_no_row_has() {
        let ending = |pid, folder, name: &[u8], used_ns| Ending {
            pid,
            folder: Some(folder),
            name: ThreadName::new(name),
            used_ns,
        };
        let earlier = sample(10 * S, 0, vec![process(1, 10 * S, 5), process(2, 10 * S, 7)]);
        let mut later = sample(11 * S, 1000, vec![process(1, 11 * S, 50)]);
        // 1 ended when it had been listed, 2 before; 3 came and went twice, once under another name.
        let named = vec![
            ending(1, 1, b"one", 60),
            ending(2, 2, b"two", 107),
            ending(3, 3, b"two", 1),
            ending(3, 4, b"\xff", 300),
            ending(2, 99, b"two", 50),
        ];
        later.endings = Some(Endings { named, unnamed: 4 });
        let ended = interval(&earlier, &later).endings.expect("noted");
        let told: Vec<_> = ended.by_name.iter().map(|name| (name.name.as_str(), name.count, name.used_ns)).collect();
        assert_eq!(
            (told.as_slice(), ended.unnamed),
            (&[("\\xff", 1, Some(300)), ("two", 3, Some(151)), ("one", 1, Some(10))][..], 4)
        );
        let mut departed = crate::departed::Departed::default();
        departed.note(&earlier, &later);
        let all = interval(&earlier, &departed.join(&later)).endings.expect("noted");
        assert_eq!(all.by_name[1].used_ns, Some(51), "a row of an average has all that the second used");
        assert_eq!(interval(&earlier, &earlier).endings, None);
        // 2 again, and somebody else with its number.
        let numbers_alone = |used_ns| Ending { folder: None, ..ending(2, 2, b"two", used_ns) };
        later.endings = Some(Endings { named: vec![numbers_alone(107), numbers_alone(50)], unnamed: 0 });
        let ended = interval(&earlier, &later).endings.expect("noted");
        assert_eq!(ended.by_name[0].used_ns, Some(150));
    }

    #[test]
    fn of_those_that_ended_the_chosen_ones_are_counted() {
        let named = |mut process: ProcessSample, name: &str| {
            process.identity = Some(Arc::new(ProcessIdentity { name: name.to_owned(), ..ProcessIdentity::default() }));
            process
        };
        let [one, two] = [named(process(1, 10 * S, 5), "work"), named(process(2, 10 * S, 7), "work")];
        let earlier = sample(10 * S, 0, vec![one, two, named(process(3, 10 * S, 0), "other")]);
        let mut later = sample(11 * S, 1000, vec![named(process(2, 11 * S, 8), "work")]);
        let told = |later: &HostSample| {
            let is_work = |one: &EndedOne<'_>| {
                let seen = one.seen.and_then(|seen| seen.identity.as_deref()).is_some_and(|who| who.is_called("work"));
                seen || one.name.is_some_and(|name| name.bytes() == b"work")
            };
            let ended = EndedUsage::between(&earlier, later, is_work).by_name;
            ended.into_iter().map(|ended| (ended.name, ended.count, ended.used_ns)).collect::<Vec<_>>()
        };
        assert_eq!(told(&later), [("work".to_owned(), 1, None)], "nobody noted what it used since");
        let ending = |pid, name: &[u8], used_ns| Ending {
            pid,
            folder: Some(u64::from(pid)),
            name: ThreadName::new(name),
            used_ns,
        };
        // Two came and went.
        let named =
            vec![ending(1, b"work", 60), ending(3, b"other", 9), ending(4, b"work", 30), ending(5, b"other", 1)];
        later.endings = Some(Endings { named, unnamed: 0 });
        assert_eq!(told(&later), [("work".to_owned(), 2, Some(55 + 30))]);
    }

    #[test]
    fn a_number_that_is_used_again_is_another_process() {
        let with_start = |mut process: ProcessSample, start_ticks| {
            process.line = Some(StatLine { start_ticks, ..StatLine::default() });
            process
        };
        let earlier = sample(10 * S, 0, vec![with_start(process(1, 10 * S, 5), 700)]);
        let again = sample(11 * S, 0, vec![with_start(process(1, 11 * S, 60), 1050)]);
        let found = interval(&earlier, &again);
        assert_eq!((found.born, found.ended, found.processes[0].cpu.total_ns), (1, 1, 60));
        assert_eq!(found.machine.unaccounted_ns, Some(-60), "more than the machine says, and shown");
    }

    #[test]
    fn a_forgotten_directory_alone_makes_no_other_process() {
        let earlier = sample(10 * S, 0, vec![process(1, 10 * S, 5)]);
        for (start_ticks, total_ns, is_same) in [(700, 9, true), (1000, 9, false), (700, 4, false)] {
            let mut changed = process(1, 11 * S, total_ns);
            changed.folder = 99;
            changed.line = Some(StatLine { start_ticks, ..StatLine::default() });
            let found = interval(&earlier, &sample(11 * S, 0, vec![changed]));
            assert_eq!(found.born == 0, is_same, "{start_ticks} {total_ns}");
        }
    }

    #[test]
    fn threads_that_could_run_bound_the_staleness() {
        let mut before = process(1, 10 * S, 0);
        before.may_run = 40;
        let found = interval(&sample(10 * S, 0, vec![before]), &sample(11 * S, 0, vec![process(1, 11 * S, S)]));
        assert_eq!(found.processes[0].cpu.stale_ns, 2 * 4_000_000, "no more threads run than there are CPUs");
        let asleep =
            interval(&sample(10 * S, 0, vec![process(1, 10 * S, 0)]), &sample(11 * S, 0, vec![process(1, 11 * S, S)]));
        assert_eq!(asleep.processes[0].cpu.stale_ns, 0);
    }

    #[test]
    fn the_waiting_of_all_threads_is_added_up() {
        let thread = |tid, run_ns, wait_ns| ThreadSample {
            tid,
            delay: Some(ThreadRunDelay { run_ns, wait_ns, turns: 1 }),
            ..ThreadSample::default()
        };
        let with_threads = |at_ns, total_ns, mut threads: Vec<ThreadSample>| {
            let mut process = process(1, at_ns, total_ns);
            threads.iter_mut().for_each(|thread| thread.at_ns = at_ns);
            process.threads = Span { start: 0, end: threads.len() as u32 };
            HostSample { threads, ..sample(at_ns, 0, vec![process]) }
        };
        let earlier = with_threads(10 * S, 10, vec![thread(1, 0, 5), thread(2, 10, 50), thread(3, 0, 0)]);
        let later = with_threads(11 * S, 30, vec![thread(1, 0, 6), thread(3, 10, 20), thread(4, 10, 300)]);
        let found = interval(&earlier, &later);
        assert_eq!(found.processes[0].wait_ns, Some(1 + 20 + 300));
        assert_eq!(found.threads.iter().map(|thread| thread.tid).collect::<Vec<_>>(), [1, 3, 4]);
        assert_eq!(found.threads[2].index, 2);
        // What was waited before the interval and is counted now; and who could run and never did, which is counted when it does.
        let can_run = |thread: ThreadSample| {
            let line = StatLine { state: ThreadState::Runnable, ..StatLine::default() };
            ThreadSample { line: Some(line), ..thread }
        };
        let earlier = with_threads(10 * S, 10, vec![thread(1, 0, 0), can_run(thread(2, 5, 7)), thread(3, 5, 7)]);
        let later = with_threads(11 * S, 30, vec![thread(1, S / 4, 9 * S), can_run(thread(2, 5, 7)), thread(3, 5, 7)]);
        let waits: Vec<u64> = interval(&earlier, &later).threads.iter().map(|thread| thread.wait_ns).collect();
        assert_eq!(waits, [S - S / 4, S, 0]);
    }

    #[test]
    fn samples_in_the_wrong_order_are_no_panic() {
        let earlier = sample(10 * S, 5, vec![process(1, 10 * S, 50)]);
        let later = sample(9 * S, 0, vec![process(1, 9 * S, 0)]);
        let found = interval(&earlier, &later);
        assert_eq!((found.elapsed_ns, found.idle), (0, 1));
    }
}
