//! Takes samples: the list of processes, three clocks each (both in one pass where the kernel lets us put a program into it),
//! and text only where a clock has moved since the sample before. That is what makes a scan of ten thousand sleepers cost
//! milliseconds. Buffers are used again; once they have grown, a sample of processes that are known allocates nothing.

mod sleepers;

use crate::clocks::{HostClocks, KernelClocks};
use crate::files::{Files, Numbered};
use crate::groups::{Hierarchies, Hierarchy, Version};
use crate::listing::ProcessListing;
use crate::sample::{
    CpuBasis, CpuReading, HostSample, MachineTotal, ProcessIdentity, ProcessSample, Span, StatesSeen, ThreadName,
    ThreadSample, TotalBasis,
};
use crate::source::ended::EndedProcesses;
use crate::source::thread_list::{ListedProcess, ThreadList};
use crate::source::words::text_of;
use crate::source::{control_group, machine_stat, pressure, process_stat, process_status, run_delay};
use machine::{Host, HostError};
use sleepers::Trust;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sys::cpu_clock::Counted;

/// What a sample is to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleContent {
    /// Which processes.
    pub who: ProcessSelection,
    /// Whose names and lines are needed.
    pub texts: Texts,
    /// How deep to look.
    pub depth: Depth,
    /// What becomes of those that slept.
    pub sleepers: Sleepers,
}

/// What becomes of those that slept up to the sample before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sleepers {
    /// Each is asked whether it still does.
    Asked,
    /// Most are taken to do, as long as the machine's total says so. For whoever looks for those that use much.
    Trusted,
}

/// Which processes are looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessSelection {
    /// All that can be seen.
    Everybody,
    /// These.
    These(Vec<u32>),
}

/// Whose names and lines are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Texts {
    /// Of those that used CPU time since the sample before: the first sample has none.
    OfBusy,
    /// Of all, once: to choose processes by name, user or parent.
    OfAll,
}

/// How deep a sample looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Processes.
    Processes,
    /// Their threads too, with the time each waited for a CPU.
    Threads,
}

/// The steps of times in `/proc/PID/stat`.
pub const FILE_TICK_NS: u64 = 10_000_000;

/// Takes samples of one host.
pub struct HostSampler {
    host: Host,
    clocks: Box<dyn HostClocks>,
    proc: Files,
    root: Files,
    hierarchies: Hierarchies,
    quota_millicores: Option<u64>,
    /// The groups of all processes and those above them, of which quotas are read; none yet, or processes have changed theirs.
    with_quotas: Option<Vec<PathBuf>>,
    listing: ProcessListing,
    thread_list: Option<ThreadList>,
    /// Who tells of ends, rather than that.
    ended: Option<EndedProcesses>,
    trust: Trust,
    /// Processes that the kernel hides from programs in it.
    hidden: Vec<u32>,
    identities: Identities,
    found: Vec<Found>,
    tasks: Vec<Numbered>,
    path: String,
    scratch: Vec<u8>,
    group: Vec<u8>,
}

impl HostSampler {
    /// Of a real host by the kernel's clocks; of a fake one by its files alone.
    pub fn open(host: &Host) -> Result<Self, HostError> {
        Self::with_clocks(host, Box::new(KernelClocks))
    }

    /// By other clocks.
    pub fn with_clocks(host: &Host, clocks: Box<dyn HostClocks>) -> Result<Self, HostError> {
        Ok(Self {
            host: host.clone(),
            clocks,
            proc: Files::open(host, Path::new("/proc"))?,
            root: Files::open(host, Path::new("/"))?,
            hierarchies: Hierarchies::find(host),
            // LIMIT: a quota that changes while we look is not noticed; finding it means listing all mounts.
            quota_millicores: machine::cpu_quota(host).ok().flatten().map(|quota| quota.millicores),
            with_quotas: None,
            listing: ProcessListing::default(),
            thread_list: None,
            ended: None,
            trust: Trust::default(),
            hidden: Vec::new(),
            identities: Identities::default(),
            found: Vec::new(),
            tasks: Vec::new(),
            path: String::new(),
            scratch: Vec::new(),
            group: Vec::new(),
        })
    }

    /// From now on processes are looked at in one pass of a program inside the kernel. False where that is not possible: then all
    /// stays as it was. A pass that fails later ends it, too.
    pub fn use_thread_list(&mut self) -> bool {
        self.thread_list = ThreadList::open(&self.host, self.ended.is_none());
        if let Some(list) = &mut self.thread_list {
            // Listed before the pass, so that who is born in between is not taken for hidden; who ends is no harm.
            let is_listed = self.proc.numbers(&mut self.tasks).is_ok() && list.read();
            let seen = |pid: u32| list.processes().binary_search_by_key(&pid, |listed| listed.pid).is_ok();
            let all = self.tasks.iter().map(|entry| entry.number).filter(|_| is_listed);
            self.hidden = all.filter(|pid| !seen(*pid)).collect();
        }
        self.thread_list.is_some()
    }

    /// From now on the kernel's accounting of tasks names the processes that end, better than [`HostSampler::use_thread_list`] does: to be called
    /// before that. False where that is not possible.
    pub fn use_task_accounting(&mut self) -> bool {
        let cpus = self.root.read("sys/devices/system/cpu/possible").ok().filter(|_| self.host.is_real());
        let cpus = cpus.and_then(|text| std::str::from_utf8(text).ok());
        self.ended = cpus.and_then(|text| EndedProcesses::listen(text.trim()));
        self.ended.is_some()
    }

    /// Fills `later`. `earlier` is the sample before it, if there is one: it says what is known already.
    pub fn take(
        &mut self,
        wanted: &SampleContent,
        earlier: Option<&HostSample>,
        later: &mut HostSample,
    ) -> Result<(), HostError> {
        later.at_ns = self.clocks.now_ns();
        later.since_boot_ns = self.clocks.since_boot_ns();
        later.wall_ns = self.clocks.wall_ns();
        later.processes.clear();
        later.threads.clear();
        self.identities.begin(later.at_ns);
        let mut found = std::mem::take(&mut self.found);
        let listed = self.list(&wanted.who, earlier, later, &mut found);
        // Behind the list: who ends in between is in both, and counted once.
        let mut endings = later.endings.take().unwrap_or_default();
        let are_told = match (&mut self.ended, &mut self.thread_list) {
            (Some(ended), _) => ended.take(&mut endings),
            (None, Some(list)) => list.endings(&mut endings),
            (None, None) => false,
        };
        later.endings = are_told.then_some(endings);
        if let (Some(earlier), Sleepers::Trusted, None) = (earlier, wanted.sleepers, &self.thread_list) {
            self.ask_who_may_have_moved(&mut found, earlier, later);
        }
        let mut known = earlier.map(|earlier| earlier.processes.iter().peekable());
        for entry in &found {
            let before = known.as_mut().and_then(|known| {
                while known.next_if(|process| process.pid < entry.pid).is_some() {}
                known.next_if(|process| process.pid == entry.pid)
            });
            self.look_at_process(*entry, wanted, Before { sample: earlier, process: before }, later);
        }
        self.found = found;
        if wanted.depth == Depth::Threads {
            self.look_at_quotas(later);
        }
        listed
    }

    /// How often the groups of all processes, and the groups above them, were held back by their quotas.
    fn look_at_quotas(&mut self, later: &mut HostSample) {
        later.machine.throttling.clear();
        let Some(hierarchy) = &self.hierarchies.quota else { return };
        // LIMIT: a group that its last process has left is read until somebody else appears.
        let directories = self.with_quotas.get_or_insert_with(|| directories_of(hierarchy, &later.processes));
        for folder in directories {
            let path = folder.join("cpu.stat");
            let Some(path) = path.to_str() else { continue };
            let read = self.root.read(path.trim_start_matches('/')).ok().and_then(control_group::throttling);
            if let Some(throttling) = read.filter(|throttling| throttling.periods > 0) {
                later.machine.throttling.insert(folder.to_string_lossy().into_owned(), throttling);
            }
        }
    }

    /// Fills `found` with who is there, and looks at the machine.
    fn list(
        &mut self,
        who: &ProcessSelection,
        earlier: Option<&HostSample>,
        later: &mut HostSample,
        found: &mut Vec<Found>,
    ) -> Result<(), HostError> {
        found.clear();
        if self.read_thread_list(later) {
            let is_wanted = |listed: &&ListedProcess| match who {
                ProcessSelection::Everybody => true,
                ProcessSelection::These(pids) => pids.contains(&listed.pid),
            };
            let listed = self.thread_list.as_ref().map_or(&[][..], ThreadList::processes);
            found.extend(listed.iter().filter(is_wanted).map(Found::in_list));
            // LIE: kernels hide some processes from programs in them, and show them in /proc all the same.
            match who {
                ProcessSelection::Everybody => {
                    let hidden = std::mem::take(&mut self.hidden);
                    self.find_directories(&hidden, found);
                    self.hidden = hidden;
                }
                ProcessSelection::These(pids) => self.find_directories(pids, found),
            }
            return Ok(());
        }
        let listed = match who {
            ProcessSelection::Everybody => {
                let listed = self.listing.find(&mut self.proc, earlier, later.at_ns, &mut self.tasks);
                found.extend(self.tasks.iter().map(|entry| Found::in_directory(entry.number, entry.inode)));
                listed.map_err(|cause| HostError::Read { path: Path::new("/proc").to_owned(), cause })
            }
            ProcessSelection::These(pids) => {
                self.find_directories(pids, found);
                Ok(())
            }
        };
        self.look_at_machine(later);
        listed
    }

    /// Makes a pass, and looks at the machine at once: so the same time is in both. False where there is no list, or no more.
    fn read_thread_list(&mut self, later: &mut HostSample) -> bool {
        let Some(list) = &mut self.thread_list else { return false };
        if !list.read() {
            self.thread_list = None;
            return false;
        }
        // Passes that were disturbed came before it: up to milliseconds.
        later.begin_later(list.began_ns());
        self.look_at_machine(later);
        true
    }

    /// Those of `pids` that are in `/proc` and were not found before.
    fn find_directories(&mut self, pids: &[u32], found: &mut Vec<Found>) {
        for &pid in pids {
            if found.iter().any(|found| found.pid == pid) {
                continue;
            }
            self.path.clear();
            write!(self.path, "{pid}").expect("a string takes every write");
            if let Ok(inode) = self.proc.inode(&self.path) {
                found.push(Found::in_directory(pid, inode));
            }
        }
        if !found.is_sorted_by_key(|found| found.pid) {
            found.sort_unstable_by_key(|found| found.pid);
        }
    }

    fn look_at_machine(&mut self, later: &mut HostSample) {
        let machine = &mut later.machine;
        machine.tick_ns = self.clocks.tick_ns();
        machine.quota_millicores = self.quota_millicores;
        // The group's account is added up when its threads' are.
        let ahead_ns = self.thread_list.as_ref().map_or(0, ThreadList::ahead_ns);
        machine.total =
            self.group_total().map(|total| MachineTotal { used_ns: total.used_ns.saturating_add(ahead_ns), ..total });
        // Keeps the list of CPUs, so that it is not allocated for every sample.
        let mut ticks = machine.ticks.take().unwrap_or_default();
        let is_read = self.proc.read("stat").is_ok_and(|text| machine_stat::parse_into(text, &mut ticks));
        if is_read {
            let busy =
                MachineTotal { used_ns: ticks.all.busy().saturating_mul(FILE_TICK_NS), basis: TotalBasis::Ticks };
            machine.total = machine.total.or(Some(busy));
            machine.online_cpus = u32::try_from(ticks.cpus.len()).unwrap_or(u32::MAX);
            machine.ticks = Some(ticks);
        }
        machine.pressure_us = self.proc.read("pressure/cpu").ok().and_then(pressure::some_us);
    }

    /// CPU time of the topmost group: exact where version 1's accounting is.
    fn group_total(&mut self) -> Option<MachineTotal> {
        let hierarchy = self.hierarchies.usage.as_ref()?;
        // LIE: the unified hierarchy's topmost group of a host reports ticks of CPUs, not what its threads used.
        if hierarchy.version == Version::Two {
            return None;
        }
        self.path.clear();
        let point = hierarchy.mount_point.to_str()?;
        write!(self.path, "{}/cpuacct.usage", point.trim_start_matches('/')).expect("a string takes every write");
        let used_ns = self.root.read(&self.path).ok().and_then(control_group::usage_v1_ns)?;
        Some(MachineTotal { used_ns, basis: TotalBasis::ControlGroup })
    }

    fn look_at_process(&mut self, entry: Found, wanted: &SampleContent, before: Before<'_>, later: &mut HostSample) {
        let mut process = ProcessSample { pid: entry.pid, folder: entry.folder, ..ProcessSample::default() };
        let known = before.process.filter(|known| known.folder == entry.folder);
        (process.at_ns, process.cpu) =
            entry.reading.unwrap_or_else(|| (self.clocks.now_ns(), self.clock_reading(entry.pid, known)));
        let has_clock = process.cpu.total_ns.is_some();
        let has_moved = !has_clock || entry.waits || known.is_none_or(|known| known.cpu != process.cpu);
        if !has_moved {
            // What did not move until now had not moved at the sample's beginning either: one time for all of these.
            process.at_ns = later.at_ns;
        }
        if let Some(known) = known {
            process.line = known.line;
            process.identity = known.identity.clone();
        }
        let is_of_interest = wanted.texts == Texts::OfAll || wanted.depth == Depth::Threads || before.sample.is_some();
        let needs_text = has_moved && (is_of_interest || !has_clock);
        // A process that went away since it was listed has a good reading or none at all.
        let mut name = None;
        if needs_text {
            name = self.read_texts(&mut process);
            let is_read = name.is_some();
            if !is_read && !has_clock {
                return;
            }
            if is_read && process.cpu.basis == CpuBasis::Clock && has_clock {
                self.read_clocks_again(&mut process);
            }
        }
        if wanted.depth == Depth::Threads {
            match (known, before.sample) {
                (Some(known), Some(sample)) if !has_moved => {
                    copy_threads(sample.threads_of(known), &mut process, &mut later.threads);
                }
                (known, sample) => {
                    let threads = known.zip(sample).map(|(known, sample)| (known.line, sample.threads_of(known)));
                    match name.filter(|_| is_alone(&process, threads)) {
                        Some(name) => self.look_at_only_thread(&mut process, name, &mut later.threads),
                        None => self.look_at_threads(&mut process, &mut later.threads),
                    }
                }
            }
        }
        if !has_clock {
            process.cpu = reading_of_files(&process, &later.threads);
        }
        process.may_run = may_run(&process, needs_text, &later.threads);
        later.processes.push(process);
    }

    /// Ticks meet who runs: where the first clock stands still, the others do.
    fn clock_reading(&self, pid: u32, known: Option<&ProcessSample>) -> CpuReading {
        let Some(total_ns) = self.clocks.process_ns(pid, Counted::Scheduled) else { return CpuReading::default() };
        if let Some(known) = known.filter(|known| known.cpu.total_ns == Some(total_ns)) {
            return known.cpu;
        }
        let user_ns = self.clocks.process_ns(pid, Counted::UserTicks);
        let all_ns = self.clocks.process_ns(pid, Counted::AllTicks);
        let system_ns = all_ns.zip(user_ns).map(|(all_ns, user_ns)| all_ns.saturating_sub(user_ns));
        CpuReading { total_ns: Some(total_ns), user_ns, system_ns, children_ns: None, basis: CpuBasis::Clock }
    }

    /// Once its state is known: a process that sleeps then has a clock that no running thread is ahead of.
    fn read_clocks_again(&self, process: &mut ProcessSample) {
        let at_ns = self.clocks.now_ns();
        let again = self.clock_reading(process.pid, Some(process));
        if again.total_ns.is_some() {
            process.at_ns = at_ns;
            process.cpu = again;
        }
    }

    /// Reads line and identity; returns the name. None where the line cannot be had.
    fn read_texts(&mut self, process: &mut ProcessSample) -> Option<ThreadName> {
        let (name, line) = self.read_line(process.pid)?;
        process.line = Some(line);
        let is_called_so = process.identity.as_ref().is_some_and(|known| known.name.as_bytes() == name.bytes());
        if is_called_so && !self.identities.are_due {
            return Some(name);
        }
        self.read_command(process.pid);
        let status = self.read_of(process.pid, "status");
        let (user, cpus_allowed) =
            status.map_or((None, None), |text| (process_status::user(text), process_status::cpus_allowed(text)));
        let has_group = self.read_group(process.pid);
        let group = has_group.then_some(self.group.as_slice());
        let is_known = process.identity.as_ref().is_some_and(|known| {
            known.name.as_bytes() == name.bytes()
                && known.command.as_bytes() == self.scratch
                && known.user == user
                && known.group.as_deref().map(str::as_bytes) == group
                && known.cpus_allowed == cpus_allowed
        });
        if !is_known {
            let (name, command, group) = (name.text(), text_of(&self.scratch), group.map(text_of));
            process.identity = Some(Arc::new(ProcessIdentity { name, command, user, group, cpus_allowed }));
            self.with_quotas = None;
        }
        Some(name)
    }

    fn read_line(&mut self, pid: u32) -> Option<(ThreadName, process_stat::StatLine)> {
        let (name, line) = process_stat::parse(self.read_of(pid, "stat")?)?;
        Some((ThreadName::new(name), line))
    }

    /// Fills `scratch` with the arguments, joined by blanks.
    fn read_command(&mut self, pid: u32) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        if let Some(text) = self.read_of(pid, "cmdline") {
            let arguments = text.strip_suffix(b"\0").unwrap_or(text);
            scratch.extend(arguments[..arguments.len().min(COMMAND_BYTES_MAX)].iter().map(|&byte| match byte {
                0 => b' ',
                byte => byte,
            }));
        }
        self.scratch = scratch;
    }

    /// Fills `group` with the control group. False where there is none.
    fn read_group(&mut self, pid: u32) -> bool {
        let mut group = std::mem::take(&mut self.group);
        group.clear();
        let found = self.read_of(pid, "cgroup").and_then(control_group::of_process);
        let is_found = found.map(|found| group.extend_from_slice(found)).is_some();
        self.group = group;
        is_found
    }

    fn read_of(&mut self, pid: u32, file: &str) -> Option<&[u8]> {
        self.path.clear();
        write!(self.path, "{pid}/{file}").expect("a string takes every write");
        self.proc.read(&self.path).ok()
    }

    fn look_at_threads(&mut self, process: &mut ProcessSample, threads: &mut Vec<ThreadSample>) {
        let mut tasks = std::mem::take(&mut self.tasks);
        let start = threads.len();
        self.path.clear();
        write!(self.path, "{}/task", process.pid).expect("a string takes every write");
        // What was listed before an error is worth as much as without it.
        let _vanished = self.proc.numbers_below(&self.path, &mut tasks);
        for task in &tasks {
            if let Some(thread) = self.look_at_thread(process.pid, task.number) {
                threads.push(thread);
            }
        }
        self.tasks = tasks;
        process.threads = Span { start: index(start), end: index(threads.len()) };
    }

    /// The thread of a process that has no other: its line is the process's.
    fn look_at_only_thread(&mut self, process: &mut ProcessSample, name: ThreadName, threads: &mut Vec<ThreadSample>) {
        let start = threads.len();
        let at_ns = self.clocks.now_ns();
        let delay = self.read_delay(process.pid, process.pid);
        let thread =
            ThreadSample { tid: process.pid, at_ns, delay, line: process.line, name, ..ThreadSample::default() };
        threads.push(thread);
        process.threads = Span { start: index(start), end: index(threads.len()) };
    }

    /// Leaves the file's path in `path`.
    fn read_delay(&mut self, pid: u32, tid: u32) -> Option<run_delay::ThreadRunDelay> {
        self.path.clear();
        write!(self.path, "{pid}/task/{tid}/schedstat").expect("a string takes every write");
        self.proc.read(&self.path).ok().and_then(run_delay::parse)
    }

    fn look_at_thread(&mut self, pid: u32, tid: u32) -> Option<ThreadSample> {
        let mut thread = ThreadSample { tid, at_ns: self.clocks.now_ns(), ..ThreadSample::default() };
        thread.delay = self.read_delay(pid, tid);
        self.path.truncate(self.path.len() - "schedstat".len());
        self.path.push_str("stat");
        let (name, line) = process_stat::parse(self.proc.read(&self.path).ok()?)?;
        thread.name = ThreadName::new(name);
        thread.line = Some(line);
        Some(thread)
    }

    /// Where the control groups' files are.
    pub fn hierarchies(&self) -> &Hierarchies {
        &self.hierarchies
    }

    /// Whose host it is.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The clock that samples are stamped with.
    pub fn now_ns(&self) -> u64 {
        self.clocks.now_ns()
    }
}

/// The groups of these processes, and those above them.
fn directories_of(hierarchy: &Hierarchy, processes: &[ProcessSample]) -> Vec<PathBuf> {
    let groups = processes.iter().filter_map(|process| process.identity.as_ref()?.group.as_deref());
    let mut groups: Vec<&str> = groups.collect();
    // Thousands of neighbours are in one group.
    groups.dedup();
    groups.sort_unstable();
    groups.dedup();
    let mut directories: Vec<_> = groups.into_iter().flat_map(|group| hierarchy.levels(group)).collect();
    directories.sort_unstable();
    directories.dedup();
    directories
}

/// A process that is there.
#[derive(Clone, Copy)]
struct Found {
    pid: u32,
    /// See [`ProcessSample::folder`].
    folder: u64,
    /// When its CPU time was read and what it was, where that is known already.
    reading: Option<(u64, CpuReading)>,
    /// Whether one of its threads is known to have waited for a CPU: it may have begun to without any clock's moving.
    waits: bool,
}

impl Found {
    fn in_directory(pid: u32, inode: u64) -> Self {
        Self { pid, folder: inode, reading: None, waits: false }
    }

    fn in_list(listed: &ListedProcess) -> Self {
        let reading = Some((listed.at_ns, listed.cpu()));
        Self { pid: listed.pid, folder: listed.start_ns, reading, waits: listed.waits }
    }
}

/// What is known of a process from the sample before.
#[derive(Clone, Copy)]
struct Before<'a> {
    sample: Option<&'a HostSample>,
    process: Option<&'a ProcessSample>,
}

/// When names, arguments, users and groups of those that have moved are read again, though they are called as they were: they hardly
/// ever change, and are most of what there is to read.
#[derive(Default)]
struct Identities {
    read_at_ns: Option<u64>,
    are_due: bool,
}

/// LIMIT: arguments that a program changes, and the group that it is moved to, are noticed so late.
const IDENTITIES_EVERY_NS: u64 = 5_000_000_000;

impl Identities {
    fn begin(&mut self, at_ns: u64) {
        self.are_due = self.read_at_ns.is_none_or(|read_ns| at_ns.saturating_sub(read_ns) >= IDENTITIES_EVERY_NS);
        if self.are_due {
            self.read_at_ns = Some(at_ns);
        }
    }
}

/// Whether a process has one thread and always had, as far as its times tell: then its line, which has ended threads' times too, is
/// the thread's. `known` is its line, and are its threads, of the sample before.
fn is_alone(process: &ProcessSample, known: Option<(Option<process_stat::StatLine>, &[ThreadSample])>) -> bool {
    let ticks = |line: process_stat::StatLine| (line.user_ticks, line.system_ticks);
    let was_alone = match known {
        Some((line, [thread])) => line.map(ticks) == thread.line.map(ticks),
        Some(_) => false,
        None => true,
    };
    was_alone && process.line.is_some_and(|line| line.threads == 1)
}

/// How many of its threads may have been on a CPU when its clock was read, and so be up to a tick ahead of it.
fn may_run(process: &ProcessSample, state_is_fresh: bool, threads: &[ThreadSample]) -> u32 {
    let is_runnable = |line: &process_stat::StatLine| line.state == process_stat::ThreadState::Runnable;
    let threads = process.threads.of(threads);
    match process.line {
        Some(line) if line.threads <= 1 && state_is_fresh => u32::from(is_runnable(&line)),
        Some(line) if threads.is_empty() => line.threads.max(1),
        Some(_) => index(threads.iter().filter(|thread| thread.line.as_ref().is_some_and(is_runnable)).count()),
        None => 1,
    }
}

/// LIMIT: longer command lines are cut here; rows show less, and a recording stays small.
const COMMAND_BYTES_MAX: usize = 4096;

fn copy_threads(known: &[ThreadSample], process: &mut ProcessSample, threads: &mut Vec<ThreadSample>) {
    let start = threads.len();
    threads.extend(known.iter().map(|thread| ThreadSample {
        at_ns: process.at_ns,
        seen: StatesSeen::default(),
        ..*thread
    }));
    process.threads = Span { start: index(start), end: index(threads.len()) };
}

/// CPU time by the process's files, where its clocks cannot be asked. Both ways say too little, never too much.
fn reading_of_files(process: &ProcessSample, threads: &[ThreadSample]) -> CpuReading {
    let runs = process.threads.of(threads).iter().filter_map(|thread| thread.delay).map(|delay| delay.run_ns);
    let by_threads = runs.reduce(u64::saturating_add);
    let line = process.line.unwrap_or_default();
    let (user_ns, system_ns) =
        (line.user_ticks.saturating_mul(FILE_TICK_NS), line.system_ticks.saturating_mul(FILE_TICK_NS));
    let by_ticks = process.line.map(|_| user_ns.saturating_add(system_ns));
    let (total_ns, basis) = match (by_threads, by_ticks) {
        (Some(threads), ticks) if Some(threads) >= ticks => (Some(threads), CpuBasis::Threads),
        (_, ticks) => (ticks, CpuBasis::Ticks),
    };
    let told = |ns: u64| process.line.map(|_| ns);
    CpuReading { total_ns, user_ns: told(user_ns), system_ns: told(system_ns), children_ns: None, basis }
}

/// LIMIT: Linux has at most 2^22 threads.
fn index(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
