//! Reads the host twice with some time between, and looks at pages meanwhile: at those of one process at a time, rotating over
//! the instances, for a hundredth of a CPU at most. Whatever vanishes or may not be read is left out and counted.

use super::limits::{self, files_left, huge_pages_left, memory_pressure, number_in, processes_max, threads_of_machine};
use super::patience::Patience;
use super::{HostRoom, HostSurvey, Instance, Instances, MemoryCost, TaskRoom};
use crate::clocks::HostClocks;
use crate::files::{Files, Numbered};
use crate::source::accounts::Accounts;
use crate::source::machine_stat::{MachineTicks, parse_into};
use crate::source::memory_map::{self, MemoryMap, MemoryOwner};
use crate::source::memory_status::{self, MemoryStatus};
use crate::source::process_status::{name, user};
use crate::source::words::text_of;
use machine::{ControlGroups, Host, HostError};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::cpu_clock::{Counted, thread_cpu_ns};

/// The kernel's records of a thread besides its stack (task_struct and what hangs on it), and of a process (its address space,
/// a hundred mappings or so, files, signals). Estimates: `docs/journal` says what they were held against.
const THREAD_BYTES: u64 = 11 << 10;
const PROCESS_BYTES: u64 = 64 << 10;
/// Where the kernel does not tell: x86's and ARM's.
const KERNEL_STACK_BYTES: u64 = 16 << 10;
/// LIMIT: open descriptors are counted of so many processes, since listing them costs a look at each.
const DESCRIPTORS_COUNTED_MAX: usize = 64;

/// One process of an instance.
struct Process {
    pid: u32,
    instance: usize,
    name: Vec<u8>,
    user: u32,
    first: MemoryStatus,
    cpu_ns: Option<u64>,
    detail: Option<MemoryMap>,
}

/// What one look at a process tells; no memory for kernel threads, and for what has ended and was not waited for.
struct Look {
    name: Vec<u8>,
    user: u32,
    memory: Option<MemoryStatus>,
}

/// Looks at the host.
pub struct Surveyor<'host> {
    host: &'host Host,
    clocks: &'host dyn HostClocks,
    accounts: &'host Accounts,
    files: Files,
    processes: Vec<Process>,
    instances: Vec<Instance>,
    /// How many processes of the whole machine have each name: those that a fork made share pages.
    sharers: BTreeMap<Vec<u8>, usize>,
    /// Instances are made up of many processes, which share pages with each other.
    are_wholes: bool,
    seen_threads: u64,
    /// Of each user: a limit of processes counts all threads of a user, whoever set it.
    threads_of: BTreeMap<u32, u64>,
    vanished: u64,
}

impl<'host> Surveyor<'host> {
    /// Opens `/proc`.
    pub fn open(
        host: &'host Host,
        clocks: &'host dyn HostClocks,
        accounts: &'host Accounts,
    ) -> Result<Self, HostError> {
        let files = Files::open(host, Path::new("/proc"))?;
        let (processes, instances) = (Vec::new(), Vec::new());
        let (sharers, threads_of) = (BTreeMap::new(), BTreeMap::new());
        let (seen_threads, vanished) = (0, 0);
        Ok(Self {
            host,
            clocks,
            accounts,
            files,
            processes,
            instances,
            sharers,
            are_wholes: false,
            seen_threads,
            threads_of,
            vanished,
        })
    }

    /// Watches for `time`. `rest` sleeps. An error where no process at all can be looked at.
    pub fn survey(
        mut self,
        wanted: &Instances,
        time: Duration,
        rest: &mut dyn FnMut(Duration),
    ) -> Result<HostSurvey, HostError> {
        let begin_ns = self.clocks.now_ns();
        let (mut before, mut after) = (MachineTicks::default(), MachineTicks::default());
        self.machine_ticks(&mut before);
        self.are_wholes = !matches!(wanted, Instances::Processes { .. });
        let threads_before = threads_of_machine(&mut self.files).unwrap_or(0);
        self.first_look(wanted)?;
        let detail_cpu_ns = self.look_at_pages(time, rest);
        let passed = Duration::from_nanos(self.clocks.now_ns().saturating_sub(begin_ns));
        rest(time.saturating_sub(passed));
        let watched_ns = self.clocks.now_ns().saturating_sub(begin_ns);
        self.last_look(watched_ns);
        self.machine_ticks(&mut after);
        let room = self.room(wanted, &before, &after);
        // Threads come and go between two looks: hidden ones were there before the look and are there after it. More than a tenth do not come and go at once.
        let all_threads = threads_of_machine(&mut self.files).unwrap_or(0).min(threads_before);
        let hidden_threads =
            Some(all_threads.saturating_sub(self.seen_threads)).filter(|&hidden| hidden > all_threads / 10);
        let read_in_detail = self.processes.iter().filter(|process| process.detail.is_some()).count() as u64;
        self.instances.retain(|instance| instance.processes > 0);
        self.instances.sort_by_key(|instance| std::cmp::Reverse(instance.cost.total_bytes()));
        Ok(HostSurvey {
            instances: self.instances,
            room,
            watched_ns,
            processes: self.processes.len() as u64,
            read_in_detail,
            detail_cpu_ns,
            vanished: self.vanished,
            hidden_threads: hidden_threads.unwrap_or(0),
        })
    }

    fn machine_ticks(&mut self, ticks: &mut MachineTicks) {
        // A host without the file has no CPU figures; the rest stands.
        let _is_there = self.files.read("stat").is_ok_and(|text| parse_into(text, ticks));
    }

    /// Finds the instances and their processes.
    fn first_look(&mut self, wanted: &Instances) -> Result<(), HostError> {
        let unreadable = |path: PathBuf, cause: io::Error| HostError::Read { path, cause };
        let mut numbers: Vec<Numbered> = Vec::new();
        self.files.numbers(&mut numbers).map_err(|cause| unreadable("/proc".into(), cause))?;
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        // Whoever looks is a process, too: where there is none, it is the looking that failed.
        let mut obstacle = unreadable("/proc".into(), io::Error::other("no process is in it: it is not mounted here"));
        for number in numbers {
            let Look { name, user, memory } = match self.status(number.number) {
                Ok(Some(look)) => look,
                Ok(None) => continue,
                Err(cause) => {
                    obstacle = unreadable(format!("/proc/{}/status", number.number).into(), cause);
                    continue;
                }
            };
            // Kernel threads are threads, too.
            let threads = memory.map_or(1, |memory| memory.threads);
            self.seen_threads += threads;
            *self.threads_of.entry(user).or_default() += threads;
            let Some(first) = memory else { continue };
            *self.sharers.entry(name.clone()).or_default() += 1;
            let Some(key) = self.instance_of(wanted, number.number, &name, user) else { continue };
            let instance = *places.entry(key).or_insert_with_key(|key| {
                let pid = matches!(wanted, Instances::Processes { .. }).then_some(number.number);
                let shown = if pid.is_some() { text_of(&name) } else { key.clone() };
                self.instances.push(Instance { name: shown, pid, ..Instance::default() });
                self.instances.len() - 1
            });
            let cpu_ns = self.clocks.process_ns(number.number, Counted::Scheduled);
            self.processes.push(Process { pid: number.number, instance, name, user, first, cpu_ns, detail: None });
        }
        if self.seen_threads == 0 { Err(obstacle) } else { Ok(()) }
    }

    /// None for what is no process.
    fn status(&mut self, pid: u32) -> io::Result<Option<Look>> {
        let text = self.files.read(&format!("{pid}/status"))?;
        let look = |text| Some(Look { name: name(text)?, user: user(text)?, memory: memory_status::parse(text) });
        Ok(look(text))
    }

    /// What tells its instance from others; none when it is in none.
    fn instance_of(&mut self, wanted: &Instances, pid: u32, name: &[u8], user: u32) -> Option<String> {
        match wanted {
            Instances::Users(None) => Some(self.accounts.name(user)),
            Instances::Users(Some(only)) => (user == *only).then(|| self.accounts.name(user)),
            Instances::Processes { name: typed, words } => {
                // LIMIT: the kernel keeps 15 bytes of a name.
                let name = text_of(name);
                let is_called = name == *typed || typed.as_bytes().get(..15) == Some(name.as_bytes());
                let has_words = |surveyor: &mut Self, words: &String| {
                    let line = surveyor.files.read(&format!("{pid}/cmdline")).map(<[u8]>::to_vec).unwrap_or_default();
                    let line: Vec<u8> = line.iter().map(|&byte| if byte == 0 { b' ' } else { byte }).collect();
                    text_of(&line).contains(words.as_str())
                };
                let is_meant = is_called && words.as_ref().is_none_or(|words| has_words(self, words));
                is_meant.then(|| pid.to_string())
            }
            Instances::Group(group) => {
                let text = text_of(self.files.read(&format!("{pid}/cgroup")).ok()?);
                let is_in = |path: &str| {
                    path.trim_matches('/')
                        .strip_prefix(group.trim_matches('/'))
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                };
                let mut paths = text.lines().filter_map(|line| line.splitn(3, ':').nth(2));
                paths.any(is_in).then(|| group.clone())
            }
        }
    }

    /// Looks at the pages of each process for which there is time; returns the CPU time.
    fn look_at_pages(&mut self, time: Duration, rest: &mut dyn FnMut(Duration)) -> u64 {
        let mut patience = Patience::new(time);
        let mut spent_ns = 0;
        for index in self.turns() {
            let resident_bytes = self.processes[index].first.resident_bytes;
            if !patience.allows(resident_bytes) {
                continue;
            }
            let before_ns = thread_cpu_ns();
            self.processes[index].detail = self.pages_of(index);
            let cpu_ns = thread_cpu_ns() - before_ns;
            spent_ns += cpu_ns;
            rest(patience.rest_after(resident_bytes, Duration::from_nanos(cpu_ns)));
        }
        spent_ns
    }

    /// One process of each instance, then the next of each: so that few looks say something of every instance.
    fn turns(&self) -> Vec<usize> {
        let mut nth_of: Vec<usize> = vec![0; self.instances.len()];
        let mut turns: Vec<(usize, usize)> = Vec::with_capacity(self.processes.len());
        for (index, process) in self.processes.iter().enumerate() {
            turns.push((nth_of[process.instance], index));
            nth_of[process.instance] += 1;
        }
        turns.sort_unstable();
        turns.into_iter().map(|(_, index)| index).collect()
    }

    fn pages_of(&mut self, index: usize) -> Option<MemoryMap> {
        let pid = self.processes[index].pid;
        let text = self.files.read(&format!("{pid}/smaps_rollup")).ok()?;
        memory_map::parse(text)
    }

    /// Reads everything again and sums up. Who has gone meanwhile leaves its instance.
    fn last_look(&mut self, watched_ns: u64) {
        let (_, _, kernel_stacks_bytes) = limits::memory(&mut self.files).unwrap_or_default();
        let threads = threads_of_machine(&mut self.files).unwrap_or(0);
        let kernel_stack_bytes =
            kernel_stacks_bytes.checked_div(threads).filter(|&bytes| bytes > 0).unwrap_or(KERNEL_STACK_BYTES);
        let per_thread_bytes = kernel_stack_bytes.saturating_add(THREAD_BYTES);
        let shares = self.shares();
        let counted = self.processes.len().min(DESCRIPTORS_COUNTED_MAX);
        let mut entries = Vec::new();
        let mut kept = Vec::with_capacity(self.processes.len());
        for (index, process) in std::mem::take(&mut self.processes).into_iter().enumerate() {
            // A process of another name or user is another one, under the same number.
            let again = self.status(process.pid).ok().flatten();
            let again = again.filter(|look| look.name == process.name && look.user == process.user);
            let Some(last) = again.and_then(|look| look.memory) else {
                self.vanished += 1;
                continue;
            };
            let cpu_ns = self.clocks.process_ns(process.pid, Counted::Scheduled).zip(process.cpu_ns);
            let descriptors = (index < counted)
                .then(|| self.files.numbers_below(&format!("{}/fd", process.pid), &mut entries).ok())
                .flatten()
                .map(|()| entries.len() as u64);
            let owner = self.owner_of(&process.name);
            let cost = cost_of(&process, &last, shares, owner, per_thread_bytes);
            let instance = &mut self.instances[process.instance];
            instance.processes += 1;
            instance.threads += last.threads;
            instance.cost.add(&cost);
            let own_shared_bytes = own_shared_of(&process, &last, shares, owner);
            instance.own_shared_bytes = instance.own_shared_bytes.saturating_add(own_shared_bytes);
            instance.resident_bytes = instance.resident_bytes.saturating_add(last.resident_bytes);
            if let Some((after, before)) = cpu_ns.filter(|_| watched_ns > 0) {
                instance.cores += after.saturating_sub(before) as f64 / watched_ns as f64;
            }
            instance.descriptors = match (instance.processes, instance.descriptors, descriptors) {
                (1, _, first) => first,
                (_, sum, more) => sum.zip(more).map(|(sum, more)| sum + more),
            };
            instance.growth_bytes += last.anonymous_bytes as i64 - process.first.anonymous_bytes as i64;
            instance.read_in_detail += u64::from(process.detail.is_some());
            kept.push(process);
        }
        self.processes = kept;
    }

    /// Who is meant by an instance, of a process of that name.
    fn owner_of(&self, name: &[u8]) -> MemoryOwner {
        let sharers = self.sharers.get(name).copied().unwrap_or(1);
        if self.are_wholes { MemoryOwner::Whole(sharers) } else { MemoryOwner::Process(sharers) }
    }

    /// By the processes that were looked at.
    fn shares(&self) -> Shares {
        let (mut anonymous, mut shared, mut huge) = ([0, 0], [0, 0], [0, 0]);
        let add =
            |sum: &mut [u64; 2], own: u64, all: u64| *sum = [sum[0].saturating_add(own), sum[1].saturating_add(all)];
        for process in &self.processes {
            let Some(detail) = process.detail else { continue };
            let (owner, shared_bytes) = (self.owner_of(&process.name), process.first.shared_bytes);
            add(&mut anonymous, detail.own_anonymous_bytes(owner), detail.anonymous_bytes);
            add(&mut shared, detail.own_shared_bytes(owner, shared_bytes), shared_bytes);
            add(&mut huge, detail.huge_bytes, detail.huge_bytes.saturating_add(detail.huge_shared_bytes));
        }
        let share = |[own, all]: [u64; 2]| if all > 0 { own as f64 / all as f64 } else { 1.0 };
        // Huge pages are shared more often than not: where nobody could look, they are taken to be there already.
        let huge = if huge[1] > 0 { share(huge) } else { 0.0 };
        Shares { anonymous: share(anonymous), shared: share(shared), huge }
    }

    fn room(&mut self, wanted: &Instances, before: &MachineTicks, after: &MachineTicks) -> HostRoom {
        let (total, available, _) = limits::memory(&mut self.files).unwrap_or_default();
        let groups = self.common_groups(wanted);
        let group_memory = groups.as_ref().and_then(|groups| groups.memory(self.host).ok());
        let quota = groups.as_ref().and_then(|groups| groups.cpu_quota_millicores(self.host).ok().flatten());
        let cpus = u32::try_from(after.cpus.len()).unwrap_or(u32::MAX);
        let busy = after.all.busy_share_since(&before.all);
        let mut tasks = self.task_limits(wanted);
        if let Some(limit) = groups.as_ref().and_then(|groups| groups.tasks(self.host).ok().flatten()) {
            let left = limit.limit.saturating_sub(limit.now);
            tasks.push(TaskRoom { limit: format!("pids.max of {}", limit.directory.display()), left });
        }
        HostRoom {
            memory_total_bytes: total,
            memory_available_bytes: available,
            huge_bytes: Files::open(self.host, Path::new("/sys/kernel/mm/hugepages"))
                .ok()
                .and_then(|mut pools| huge_pages_left(&mut pools)),
            group_memory_bytes: group_memory.and_then(|memory| memory.headroom_bytes),
            cpus,
            idle_cores: busy.map(|busy| f64::from(cpus) * (1.0 - busy)),
            quota_cores: quota.map(|millicores| millicores as f64 / 1000.0),
            tasks,
            files: files_left(&mut self.files),
            memory_pressure: memory_pressure(&mut self.files),
        }
    }

    /// The groups that one more would be in: those that all instances share. A group that is one instance would get a sibling.
    fn common_groups(&self, wanted: &Instances) -> Option<ControlGroups> {
        // LIMIT: a hundred processes show what is common to all.
        let pids = self.processes.iter().map(|process| process.pid).take(100);
        let mut groups = pids.filter_map(|pid| ControlGroups::of_process(self.host, pid).ok());
        let first = groups.next()?;
        let shared = groups.fold(first, |shared, more| shared.shared_with(&more));
        Some(if matches!(wanted, Instances::Group(_)) { shared.above() } else { shared })
    }

    fn task_limits(&mut self, wanted: &Instances) -> Vec<TaskRoom> {
        let mut tasks = Vec::new();
        let now = threads_of_machine(&mut self.files);
        for (name, path) in [("kernel.pid_max", "sys/kernel/pid_max"), ("kernel.threads-max", "sys/kernel/threads-max")]
        {
            if let (Some(limit), Some(now)) = (number_in(&mut self.files, path), now) {
                tasks.push(TaskRoom { limit: name.to_owned(), left: limit.saturating_sub(now) });
            }
        }
        // Each user has a limit of its own, and the superuser none; one more user brings his.
        let of_a_user = match wanted {
            Instances::Processes { .. } => self.processes.first().map(|process| (process.pid, process.user)),
            Instances::Users(_) | Instances::Group(_) => None,
        };
        let Some((pid, user)) = of_a_user.filter(|(_, user)| *user != 0) else { return tasks };
        if let Some(limit) = processes_max(&mut self.files, pid) {
            let now = self.threads_of.get(&user).copied().unwrap_or(0);
            let name = format!("RLIMIT_NPROC of {}", self.accounts.name(user));
            tasks.push(TaskRoom { limit: name, left: limit.saturating_sub(now) });
        }
        tasks
    }
}

/// Which share of memory of a kind is the instances' own.
#[derive(Clone, Copy)]
struct Shares {
    anonymous: f64,
    shared: f64,
    huge: f64,
}

/// What a process has to itself.
fn cost_of(
    process: &Process,
    last: &MemoryStatus,
    shares: Shares,
    owner: MemoryOwner,
    per_thread_bytes: u64,
) -> MemoryCost {
    let (anonymous_bytes, swap_bytes, huge_bytes) = match process.detail {
        // The moment of the look is over; what has come since counts in the same proportion.
        Some(detail) => {
            let own = detail.own_anonymous_bytes(owner) as f64;
            let share =
                if detail.anonymous_bytes == 0 { shares.anonymous } else { own / detail.anonymous_bytes as f64 };
            (portion(last.anonymous_bytes, share), detail.swap_share_bytes, detail.huge_bytes)
        }
        None => {
            let huge_bytes = portion(last.huge_bytes, shares.huge);
            (portion(last.anonymous_bytes, shares.anonymous), last.swap_bytes, huge_bytes)
        }
    };
    let stack_bytes = last.stack_bytes.min(anonymous_bytes);
    MemoryCost {
        heap_bytes: anonymous_bytes - stack_bytes,
        stack_bytes,
        swap_bytes,
        tables_bytes: last.tables_bytes,
        kernel_bytes: last.threads.saturating_mul(per_thread_bytes).saturating_add(PROCESS_BYTES),
        huge_bytes,
    }
}

/// Shared memory that nobody else has.
fn own_shared_of(process: &Process, last: &MemoryStatus, shares: Shares, owner: MemoryOwner) -> u64 {
    match process.detail {
        Some(detail) => detail.own_shared_bytes(owner, process.first.shared_bytes),
        None => portion(last.shared_bytes, shares.shared),
    }
}

fn portion(bytes: u64, share: f64) -> u64 {
    (bytes as f64 * share.clamp(0.0, 1.0)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeProcHost;
    use std::cell::Cell;

    /// Clocks that move when somebody rests.
    #[derive(Default)]
    struct Resting {
        now_ns: Cell<u64>,
    }

    impl HostClocks for Resting {
        fn now_ns(&self) -> u64 {
            self.now_ns.get()
        }
        fn since_boot_ns(&self) -> u64 {
            0
        }
        fn wall_ns(&self) -> u64 {
            0
        }
        fn tick_ns(&self) -> u64 {
            4_000_000
        }
        fn process_ns(&self, pid: u32, _counted: Counted) -> Option<u64> {
            // Process 10 uses half a core.
            (pid == 10).then(|| self.now_ns.get() / 2)
        }
    }

    fn process(fake: &FakeProcHost, pid: u32, name: &str, user: u32, anonymous_kb: u64) {
        let status = format!(
            "Name:\t{name}\nUid:\t{user}\t{user}\t{user}\t{user}\nVmStk:\t 4 kB\nVmPTE:\t 8 kB\nVmSwap:\t 0 kB\n\
             VmRSS:\t {} kB\nRssAnon:\t {anonymous_kb} kB\nThreads:\t2\n",
            anonymous_kb + 100
        );
        fake.file(&format!("/proc/{pid}/status"), status);
        fake.file(&format!("/proc/{pid}/cmdline"), format!("/bin/{name}\0--work\0{pid}\0"));
    }

    fn detail(fake: &FakeProcHost, pid: u32, private_kb: u64, anonymous_kb: u64) {
        let text = format!(
            "0-1 ---p 00000000 00:00 0 [rollup]\nPss_Anon: {private_kb} kB\nPrivate_Dirty: {private_kb} kB\n\
             Anonymous: {anonymous_kb} kB\n"
        );
        fake.file(&format!("/proc/{pid}/smaps_rollup"), text);
    }

    fn survey_with(fake: &FakeProcHost, wanted: &Instances, mut at_rest: impl FnMut()) -> HostSurvey {
        let (host, clocks) = (fake.host(), Resting::default());
        let accounts = Accounts::parse(b"ann:x:1001:\n");
        let surveyor = Surveyor::open(&host, &clocks, &accounts).expect("a folder");
        let survey = surveyor.survey(wanted, Duration::from_secs(2), &mut |pause| {
            at_rest();
            clocks.now_ns.set(clocks.now_ns.get() + pause.as_nanos() as u64);
        });
        survey.expect("processes that can be looked at")
    }

    fn named(name: &str) -> Instances {
        Instances::Processes { name: name.to_owned(), words: None }
    }

    #[test]
    fn users_are_summed_up_and_kernel_threads_left_out() {
        let fake = FakeProcHost::new();
        process(&fake, 10, "sh", 1001, 40);
        process(&fake, 11, "cc", 1001, 60);
        process(&fake, 12, "sh", 7, 50);
        fake.file("/proc/2/status", "Name:\tkthreadd\nUid:\t0\t0\t0\t0\nThreads:\t1\n");
        fake.file("/proc/loadavg", "0 0 0 1/9 99\n");
        let seen = survey_with(&fake, &Instances::Users(None), || {});
        let names: Vec<&str> = seen.instances.iter().map(|instance| instance.name.as_str()).collect();
        assert_eq!(names, ["ann", "7"]);
        let ann = &seen.instances[0];
        assert_eq!((ann.processes, ann.threads, ann.resident_bytes), (2, 4, 300 << 10));
        // No right to look at pages: what status says is taken.
        assert_eq!((ann.cost.heap_bytes, ann.cost.stack_bytes), (92 << 10, 8 << 10));
        assert!(ann.cores > 0.49 && ann.cores < 0.51, "{}", ann.cores);
        assert_eq!((seen.read_in_detail, seen.hidden_threads), (0, 2));
    }

    #[test]
    fn threads_that_begin_behind_the_look_are_not_hidden() {
        let fake = FakeProcHost::new();
        process(&fake, 10, "sh", 1001, 40);
        fake.file("/proc/loadavg", "0 0 0 1/2 99\n");
        let begin = || fake.file("/proc/loadavg", "0 0 0 1/70 99\n");
        let seen = survey_with(&fake, &Instances::Users(None), begin);
        assert_eq!(seen.hidden_threads, 0);
    }

    #[test]
    fn nobody_at_all_is_an_error_of_looking() {
        let fake = FakeProcHost::new();
        let said = |fake: &FakeProcHost| {
            let (host, clocks, accounts) = (fake.host(), Resting::default(), Accounts::default());
            let surveyor = Surveyor::open(&host, &clocks, &accounts).expect("a folder");
            let survey = surveyor.survey(&Instances::Users(None), Duration::from_secs(1), &mut |_| {});
            survey.err().map(|error| error.to_string())
        };
        assert_eq!(said(&fake).as_deref(), Some("read '/proc'"));
        fake.file("/proc/7/status/is-no-file", "");
        assert_eq!(said(&fake).as_deref(), Some("read '/proc/7/status'"));
        process(&fake, 8, "sh", 7, 50);
        assert_eq!(said(&fake), None);
    }

    #[test]
    fn what_is_shared_since_a_fork_does_not_count() {
        let fake = FakeProcHost::new();
        process(&fake, 10, "pg", 1001, 100);
        process(&fake, 11, "pg", 1001, 100);
        detail(&fake, 10, 40, 100);
        let seen = survey_with(&fake, &named("pg"), || {});
        assert_eq!(seen.read_in_detail, 1);
        // The one that could not be looked at is taken to be like the other.
        let exclusive = |instance: &Instance| instance.cost.heap_bytes + instance.cost.stack_bytes;
        assert_eq!(exclusive(&seen.instances[0]), exclusive(&seen.instances[1]));
        assert!(exclusive(&seen.instances[0]) <= 40 << 10);
    }

    #[test]
    fn huge_pages_are_the_pools_and_shared_memory_of_its_own_is_told() {
        let fake = FakeProcHost::new();
        for pid in [10, 11, 12] {
            let status = "Name:\tvm\nUid:\t1\t1\t1\t1\nVmRSS:\t 1000 kB\nRssAnon:\t 100 kB\nRssShmem:\t 900 kB\n\
                          HugetlbPages:\t 6144 kB\nThreads:\t1\n";
            fake.file(&format!("/proc/{pid}/status"), status);
        }
        // 12 cannot be looked at, and is taken to be like the others.
        for pid in [10, 11] {
            let text = "0-1 ---p 00000000 00:00 0 [rollup]\nPss_Anon: 100 kB\nPss_Shmem: 900 kB\nPrivate_Dirty: 1000 kB\n\
                        Anonymous: 100 kB\nShared_Hugetlb: 2048 kB\nPrivate_Hugetlb: 4096 kB\n";
            fake.file(&format!("/proc/{pid}/smaps_rollup"), text);
        }
        let without = survey_with(&fake, &named("vm"), || {});
        assert_eq!(without.room.huge_bytes, None);
        for (file, pages) in [("free", 9), ("resv", 2), ("nr_overcommit", 3), ("surplus", 1)] {
            fake.file(&format!("/sys/kernel/mm/hugepages/hugepages-2048kB/{file}_hugepages"), format!("{pages}\n"));
        }
        fake.file("/sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages", "0\n");
        let seen = survey_with(&fake, &named("vm"), || {});
        assert_eq!(seen.room.huge_bytes, Some((9 - 2 + 3 - 1) * (2 << 20)));
        for instance in &seen.instances {
            assert_eq!((instance.cost.huge_bytes, instance.own_shared_bytes), (4 << 20, 900 << 10));
            assert_eq!(instance.cost.heap_bytes + instance.cost.stack_bytes, 100 << 10, "memory has none of it");
        }
    }

    #[test]
    fn what_an_instances_processes_share_with_each_other_is_its_own() {
        let fake = FakeProcHost::new();
        for pid in [10, 11] {
            process(&fake, pid, "work", 1001, 1000);
            let text =
                "0-1 ---p 00000000 00:00 0 [rollup]\nPss_Anon: 600 kB\nPrivate_Dirty: 200 kB\nAnonymous: 1000 kB\n";
            fake.file(&format!("/proc/{pid}/smaps_rollup"), text);
        }
        let anonymous_kib = |wanted: &Instances| -> Vec<u64> {
            let survey = survey_with(&fake, wanted, || ());
            survey.instances.iter().map(|each| (each.cost.heap_bytes + each.cost.stack_bytes) >> 10).collect()
        };
        assert_eq!(anonymous_kib(&Instances::Users(Some(1001))), [1200]);
        assert_eq!(anonymous_kib(&named("work")), [200, 200]);
    }

    #[test]
    fn names_words_and_groups_choose() {
        let fake = FakeProcHost::new();
        process(&fake, 10, "py", 1001, 10);
        process(&fake, 11, "py", 1001, 10);
        process(&fake, 12, "a-name-of-15-by", 1001, 10);
        process(&fake, 13, "line\\nend\\\\", 1001, 10);
        assert_eq!(survey_with(&fake, &named("line\nend\\"), || {}).instances[0].name, "line\nend\\");
        let words = Instances::Processes { name: "py".to_owned(), words: Some("--work 11".to_owned()) };
        assert_eq!(survey_with(&fake, &words, || {}).instances[0].pid, Some(11));
        assert_eq!(survey_with(&fake, &named("a-name-of-15-bytes-and-more"), || {}).processes, 1);
        fake.file("/proc/10/cgroup", "4:memory:/a/b\n0::/\n");
        fake.file("/proc/11/cgroup", "4:memory:/ab\n");
        let seen = survey_with(&fake, &Instances::Group("/a".to_owned()), || {});
        assert_eq!((seen.processes, seen.instances.len()), (1, 1));
        assert!(survey_with(&fake, &named("none"), || {}).instances.is_empty());
    }

    #[test]
    fn who_goes_or_becomes_another_meanwhile_is_counted_and_left_out() {
        let fake = FakeProcHost::new();
        (10..14).for_each(|pid| process(&fake, pid, "py", 1001, 10));
        let seen = survey_with(&fake, &named("py"), || {
            if fake.has("/proc/11") {
                fake.remove("/proc/11");
            }
            process(&fake, 12, "other", 1001, 10);
            fake.file("/proc/13/status", "garbage");
        });
        assert_eq!((seen.instances.len(), seen.vanished, seen.processes), (1, 3, 1));
    }

    #[test]
    fn limits_are_read_where_they_are() {
        let fake = FakeProcHost::new();
        process(&fake, 10, "py", 1001, 10);
        process(&fake, 11, "another", 1001, 10);
        process(&fake, 12, "somebody", 1002, 10);
        let bare = survey_with(&fake, &named("py"), || {}).room;
        assert_eq!((bare.tasks, bare.files, bare.memory_pressure, bare.idle_cores), (Vec::new(), None, None, None));
        fake.file("/proc/loadavg", "0 0 0 1/50 99\n");
        fake.file("/proc/sys/kernel/pid_max", "100\n");
        fake.file("/proc/sys/fs/file-nr", "30\t0\t100\n");
        fake.file("/proc/pressure/memory", "some avg10=12.50 avg60=0 avg300=0 total=1\nfull avg10=0.00\n");
        fake.file(
            "/proc/10/limits",
            "Limit  Soft  Hard\nMax processes             20                   30   processes\n",
        );
        fake.file("/proc/meminfo", "MemTotal: 1000 kB\nMemFree: 300 kB\nKernelStack: 1600 kB\n");
        fake.file("/proc/10/cgroup", "0::/a\n");
        fake.file("/proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        fake.file("/sys/fs/cgroup/a/pids.max", "9\n");
        fake.file("/sys/fs/cgroup/a/pids.current", "4\n");
        fake.file("/sys/fs/cgroup/a/memory.max", "2048\n");
        fake.file("/sys/fs/cgroup/a/memory.current", "1024\n");
        let room = survey_with(&fake, &named("py"), || {}).room;
        let left: Vec<u64> = room.tasks.iter().map(|limit| limit.left).collect();
        assert_eq!(left, [50, 16, 5], "{:?}", room.tasks);
        assert_eq!((room.files, room.memory_pressure, room.group_memory_bytes), (Some(70), Some(12.5), Some(1024)));
        assert_eq!((room.memory_total_bytes, room.memory_available_bytes), (1000 << 10, 300 << 10));
    }

    #[test]
    fn four_thousand_cpus_are_counted() {
        let fake = FakeProcHost::new();
        process(&fake, 10, "py", 1001, 10);
        let stat = |idle: u64| {
            let mut text = format!("cpu  {} 0 0 {idle} 0 0 0 0 0 0\n", 4096);
            (0..4096).for_each(|cpu| text.push_str(&format!("cpu{cpu} 1 0 0 1 0 0 0 0 0 0\n")));
            text
        };
        fake.file("/proc/stat", stat(1000));
        let room = survey_with(&fake, &named("py"), || fake.file("/proc/stat", stat(2000))).room;
        assert_eq!((room.cpus, room.idle_cores), (4096, Some(4096.0)));
    }
}
