//! The kernel's own list of threads, read in one pass by a program of ours: number, start and CPU time of each, added up by
//! process. Cheaper than asking clocks, and ahead of them: of a thread on a CPU the kernel notes when it last added its time up,
//! so the time since then is known as well.

mod ending;
mod programs;

use crate::sample::{CpuBasis, CpuReading, Endings};
use ending::NotedEndings;
use machine::Host;
use programs::{ThreadWalk, WalkFields};
use sys::bpf::iterate::visit_all;
use sys::bpf::probe::kernel_types;
use sys::bpf::{Attached, Place, Program};
use sys::cpu_clock::{monotonic_ns, thread_cpu_ns};

/// One thread as the programs write it: eight bytes each, in the machine's order. The first record is of the thread that reads,
/// without numbers: see [`ThreadList::read`].
mod record {
    /// CLOCK_MONOTONIC when it was looked at; 0 for a thread that is on no CPU: hardly later than the one before.
    pub const AT_NS: usize = 0;
    /// The thread's number, then its process's (32 bits each).
    pub const NUMBERS: usize = 1;
    /// When its process began, on the clock that goes on while the machine is suspended.
    pub const START_NS: usize = 2;
    /// The thread's three times.
    pub const ALIVE: usize = 3;
    /// Those of its process's threads that have ended.
    pub const ENDED: usize = 6;
    /// User and system time of its process's children that ended and were waited for.
    pub const CHILDREN: usize = 9;
    /// On the scheduler's clock of its CPU when its time was last added up; 0 for a thread that is on no CPU.
    pub const ADDED_UP_NS: usize = 11;
    /// How far that CPU's clock for threads is behind its clock: interrupts, and what the hypervisor took.
    pub const BEHIND_NS: usize = 12;
    /// In the same place, of a thread that is on no CPU: its state.
    pub const STATE: usize = BEHIND_NS;
    /// The state of who could run.
    pub const RUNNABLE: u64 = 0;
    pub const WORDS: usize = 13;
    pub const BYTES: usize = 8 * WORDS;
    pub type ThreadRecord = [u64; WORDS];
}

use record::ThreadRecord;

/// LIMIT: Linux has at most 2^22 threads.
const BYTES_MAX: u64 = (record::BYTES as u64) << 22;

/// Time on CPUs: all, in programs by ticks, in the kernel by ticks.
type Times = [u64; 3];

/// A process in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedProcess {
    /// Its number.
    pub pid: u32,
    /// When it began, in nanoseconds since boot: another start under the same number is another process.
    pub start_ns: u64,
    /// When its first thread was looked at.
    pub at_ns: u64,
    /// Whether one of its threads could run and had no CPU.
    pub waits: bool,
    alive: Times,
    ended: Times,
    children: [u64; 2],
}

impl ListedProcess {
    /// Its CPU time, ended threads included.
    pub fn cpu(&self) -> CpuReading {
        let [total_ns, user_ns, system_ns] =
            std::array::from_fn(|kind| Some(self.alive[kind].saturating_add(self.ended[kind])));
        CpuReading { total_ns, user_ns, system_ns, children_ns: Some(self.children), basis: CpuBasis::Scheduler }
    }

    fn of_record(record: &ThreadRecord, ahead_ns: u64) -> Self {
        let [run_ns, user_ns, system_ns] = times(record, record::ALIVE);
        Self {
            pid: pid_of(record),
            start_ns: record[record::START_NS],
            at_ns: record[record::AT_NS],
            waits: record[record::ADDED_UP_NS] == 0 && record[record::STATE] == record::RUNNABLE,
            alive: [run_ns.saturating_add(ahead_ns), user_ns, system_ns],
            ended: times(record, record::ENDED),
            children: times(record, record::CHILDREN),
        }
    }
}

/// As many of its words from `first` on.
fn times<const COUNT: usize>(record: &ThreadRecord, first: usize) -> [u64; COUNT] {
    std::array::from_fn(|kind| record[first + kind])
}

/// The number of a thread's process.
fn pid_of(record: &ThreadRecord) -> u32 {
    let [_, _, _, _, pid @ ..] = record[record::NUMBERS].to_ne_bytes();
    u32::from_ne_bytes(pid)
}

/// Reads the list. Buffers are used again.
pub struct ThreadList {
    way: Way,
    processes: Vec<ListedProcess>,
    /// CLOCK_MONOTONIC less the scheduler's clock, when both were last seen together.
    between_clocks_ns: Option<i64>,
    /// When the last pass began.
    began_ns: u64,
    ahead_ns: u64,
    noted: Option<NotedEndings>,
}

/// How a pass is made.
enum Way {
    /// The program goes from thread to thread.
    Walk { walk: ThreadWalk, threads: usize },
    /// The kernel calls the program.
    Visits { pass: Attached, bytes: Vec<u8> },
}

/// Room that a walk has at first; it is doubled whenever there is too little.
const THREADS_FIRST: usize = 8192;
/// LIMIT: kernels that cannot be interrupted do nothing else on this CPU during a walk: 0.2 us a thread, 13 ms for so many. Of more
/// the kernel itself makes the pass, in pieces.
const THREADS_WALKED_MAX: usize = 65_536;

impl Way {
    fn open(room: usize) -> Option<Self> {
        let btf = kernel_types().ok()?;
        let fields = WalkFields::find(&btf)?;
        let walk = (room <= THREADS_WALKED_MAX).then(|| ThreadWalk::load(&btf, &fields, room)).flatten();
        if let Some(walk) = walk {
            return Some(Self::Walk { walk, threads: room });
        }
        let code = fields.visited().ok()?;
        let pass = Program::load(Place::Iterator("task"), "mh_threads", &code, &btf).ok()?.attach().ok()?;
        Some(Self::Visits { pass, bytes: Vec::new() })
    }

    /// Looks at all threads once. False where that failed, or there was no room for all.
    fn look(&mut self) -> bool {
        match self {
            Self::Walk { walk, .. } => walk.run() && !walk.is_too_small(),
            Self::Visits { pass, bytes } => {
                bytes.clear();
                visit_all(pass, BYTES_MAX, bytes).is_ok()
            }
        }
    }

    /// What would have room for more; none where it was not the room.
    fn larger(&self) -> Option<Self> {
        match self {
            Self::Walk { walk, threads } if walk.is_too_small() => Self::open(threads * 2),
            Self::Walk { .. } | Self::Visits { .. } => None,
        }
    }

    /// Calls `take` with the thread that reads, then with every thread there is.
    fn records<Taken>(&self, take: impl FnOnce(&mut dyn Iterator<Item = ThreadRecord>) -> Taken) -> Taken {
        match self {
            Self::Walk { walk, .. } => take(&mut walk.records()),
            Self::Visits { bytes, .. } => take(&mut bytes.chunks_exact(record::BYTES).map(record_of)),
        }
    }
}

fn record_of(bytes: &[u8]) -> ThreadRecord {
    std::array::from_fn(|at| u64::from_ne_bytes(bytes[8 * at..8 * at + 8].try_into().expect("eight bytes")))
}

impl ThreadList {
    /// None where this process may put no programs into the kernel, or sees other numbers than the kernel's own. `with_endings`: who ends is
    /// noted, too.
    pub fn open(host: &Host, with_endings: bool) -> Option<Self> {
        machine::sees_the_kernels_numbers(host).ok().filter(|sees| *sees)?;
        let way = Way::open(THREADS_FIRST)?;
        Some(Self {
            way,
            processes: Vec::new(),
            between_clocks_ns: None,
            began_ns: 0,
            ahead_ns: 0,
            noted: with_endings.then(NotedEndings::begin).flatten(),
        })
    }

    /// Looks at all processes. False where the pass failed.
    ///
    /// Asking for its own CPU clock makes the kernel add this thread's time up, there and then. If that is still the last time
    /// when the pass begins, the scheduler's clock is known to have been then what CLOCK_MONOTONIC was; if not, once more.
    pub fn read(&mut self) -> bool {
        let mut attempts_left = if self.between_clocks_ns.is_some() { ATTEMPTS_MAX } else { FIRST_ATTEMPTS_MAX };
        while attempts_left > 0 {
            let before_ns = monotonic_ns();
            let own_ns = thread_cpu_ns();
            let at_ns = before_ns.midpoint(monotonic_ns());
            if !self.way.look() {
                let Some(larger) = self.way.larger() else { return false };
                self.way = larger;
                continue;
            }
            attempts_left -= 1;
            self.began_ns = at_ns;
            let own = self.way.records(|records| records.next()).filter(|own| own[record::ALIVE] == own_ns);
            if let Some(own) = own {
                let scheduler_ns = own[record::ADDED_UP_NS].wrapping_add(own[record::BEHIND_NS]);
                self.between_clocks_ns = Some(at_ns.wrapping_sub(scheduler_ns).cast_signed());
                break;
            }
        }
        let Some(between_clocks_ns) = self.between_clocks_ns else { return false };
        let processes = &mut self.processes;
        self.ahead_ns = self.way.records(|records| add_up(records, between_clocks_ns, processes));
        true
    }

    /// Fills `endings` with the processes that have ended since it was last asked. False where that is not known.
    pub fn endings(&mut self, endings: &mut Endings) -> bool {
        let (Some(noted), Some(between_clocks_ns)) = (&mut self.noted, self.between_clocks_ns) else { return false };
        noted.take(between_clocks_ns, endings);
        true
    }

    /// What was read, by number.
    pub fn processes(&self) -> &[ListedProcess] {
        &self.processes
    }

    /// When the pass began, on CLOCK_MONOTONIC.
    pub fn began_ns(&self) -> u64 {
        self.began_ns
    }

    /// How much of it the kernel had not added up itself.
    pub fn ahead_ns(&self) -> u64 {
        self.ahead_ns
    }
}

/// LIMIT: passes until one begins before a tick or another thread disturbs: one in a thousand is disturbed on a quiet machine.
const ATTEMPTS_MAX: usize = 3;
/// LIMIT: the same while nothing is known from before: without it there is no list. On a machine where many threads wait for each CPU most are disturbed.
const FIRST_ATTEMPTS_MAX: usize = 50;
/// LIMIT: no thread runs longer without being added up: a tick, or a second where ticks are off while one thread runs.
const AHEAD_NS_MAX: u64 = 2_000_000_000;

/// For how long a thread has run since its time was last added up.
fn ahead_ns(record: &ThreadRecord, between_clocks_ns: i64) -> u64 {
    let added_up_ns = record[record::ADDED_UP_NS];
    if added_up_ns == 0 {
        return 0;
    }
    let scheduler_ns = record[record::AT_NS].wrapping_sub(between_clocks_ns.cast_unsigned());
    let ahead_ns = scheduler_ns.wrapping_sub(record[record::BEHIND_NS]).wrapping_sub(added_up_ns);
    // Clocks of two CPUs may differ by less than a microsecond, so it may seem to be just behind.
    if ahead_ns > AHEAD_NS_MAX { 0 } else { ahead_ns }
}

/// Threads to processes, behind the record of the thread that reads; returns how far all of them were ahead.
///
/// What its ended threads used is taken from the thread that was looked at first: one that ends during the pass may then be
/// missing, and is in the next pass's sum, but is never counted twice.
fn add_up(
    records: &mut dyn Iterator<Item = ThreadRecord>,
    between_clocks_ns: i64,
    processes: &mut Vec<ListedProcess>,
) -> u64 {
    let mut all_ahead_ns: u64 = 0;
    let mut at_ns = records.next().map_or(0, |own| own[record::AT_NS]);
    processes.clear();
    // A walk begins with what a CPU does when nobody wants it: number 0, no process, and in nobody's account.
    let threads = records.filter(|record| pid_of(record) != 0);
    processes.extend(threads.map(|mut record| {
        match record[record::AT_NS] {
            0 => record[record::AT_NS] = at_ns,
            stamp_ns => at_ns = stamp_ns,
        }
        let ahead_ns = ahead_ns(&record, between_clocks_ns);
        all_ahead_ns = all_ahead_ns.saturating_add(ahead_ns);
        ListedProcess::of_record(&record, ahead_ns)
    }));
    // A walk goes by age, visits by the threads' numbers; until numbers are given out again both are the same.
    if !processes.is_sorted_by_key(|listed| listed.pid) {
        processes.sort_by_key(|listed| listed.pid);
    }
    processes.dedup_by(|thread, process| {
        let is_same = thread.pid == process.pid;
        if is_same {
            process.waits |= thread.waits;
            process.alive.iter_mut().zip(thread.alive).for_each(|(sum, time)| *sum = sum.saturating_add(time));
        }
        is_same
    });
    all_ahead_ns
}

#[cfg(test)]
mod tests {
    use super::*;
    use sys::cpu_clock::{Counted, other_process_ns};

    const SLEEPING: u64 = 1;

    fn record(pid: u32, at_ns: u64, times: Times, ended: Times, on_cpu: [u64; 2]) -> ThreadRecord {
        let numbers = u64::from_ne_bytes([[9; 4], pid.to_ne_bytes()].concat().try_into().expect("eight"));
        let words = [at_ns, numbers, 77].into_iter().chain(times).chain(ended).chain([21, 22]).chain(on_cpu);
        words.collect::<Vec<u64>>().try_into().expect("a record")
    }

    #[test]
    fn threads_are_added_up_by_process_and_the_ended_ones_counted_once() {
        let own = record(0, 1, [50, 0, 0], [0; 3], [500, 30]);
        let threads = [
            own,
            // Asleep: not stamped.
            record(7, 0, [10, 4, 6], [100, 40, 60], [0, SLEEPING]),
            // What a CPU does that nobody wants, for a while already.
            record(0, 1530, [0, 0, 900], [0; 3], [5, 30]),
            // On a CPU: added up at 500 of a clock that is 30 behind another, which is 1000 behind ours.
            record(9, 1535, [1, 1, 0], [0; 3], [500, 30]),
            // A thread with a higher number than the next process's, and one more has ended since the first was seen.
            record(7, 0, [20, 5, 5], [130, 50, 80], [0, record::RUNNABLE]),
            record(11, 0, [20, 5, 5], [0; 3], [0, SLEEPING]),
        ];
        let mut processes = Vec::new();
        let mut add_up = |records: &[ThreadRecord]| {
            let ahead_ns = add_up(&mut records.iter().copied(), 1000, &mut processes);
            (ahead_ns, processes.clone())
        };
        let (ahead_ns, listed) = add_up(&threads);
        let [first, second, third] = listed.as_slice() else { panic!("{listed:?}") };
        assert_eq!((ahead_ns, first.pid, first.start_ns, first.at_ns, second.pid, third.at_ns), (5, 7, 77, 1, 9, 1535));
        assert_eq!([first, second, third].map(|listed| listed.waits), [true, false, false], "one of two threads waits");
        let cpu = first.cpu();
        assert_eq!((cpu.total_ns, cpu.user_ns, cpu.system_ns), (Some(130), Some(49), Some(71)));
        assert_eq!(cpu.children_ns, Some([21, 22]), "once a process, not once a thread");
        assert_eq!(second.cpu().total_ns, Some(6));
        let before_its_time = record(9, 1529, [1, 1, 0], [0; 3], [500, 30]);
        assert_eq!(add_up(&[own, before_its_time]).0, 0, "clocks of two CPUs");
        assert_eq!(add_up(&[]), (0, Vec::new()));
    }

    /// A list by each way that this kernel has, and by a walk that has no room at first.
    fn lists() -> Vec<ThreadList> {
        let ways = [THREADS_FIRST, THREADS_WALKED_MAX + 1, 1].map(Way::open);
        let list = |way| ThreadList {
            way,
            processes: Vec::new(),
            between_clocks_ns: None,
            began_ns: 0,
            ahead_ns: 0,
            noted: None,
        };
        ways.into_iter().flatten().map(list).collect()
    }

    /// A first pass fails where this thread loses its CPU between two clocks each time that it looks.
    pub(super) fn reads(list: &mut ThreadList) -> bool {
        (0..100).any(|_| list.read())
    }

    #[test]
    fn the_list_says_what_the_clocks_say_in_whichever_way_it_is_read() {
        let host = Host::real();
        let may = machine::sees_the_kernels_numbers(&host).expect("readable") && kernel_types().is_ok();
        assert_eq!(
            ThreadList::open(&host, true).is_some(),
            may,
            "where programs may be put into the kernel, this one is taken"
        );
        if !may {
            return;
        }
        let mut child = std::process::Command::new("/bin/sleep").arg("60").spawn().expect("there is a sleep");
        // Once it sleeps its clock stands still.
        let clock = |counted| other_process_ns(child.id(), counted).ok();
        let mut before = None;
        while before.is_none() || before != clock(Counted::Scheduled) {
            before = clock(Counted::Scheduled);
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let mut lists = lists();
        assert_eq!(lists.len(), 3);
        for list in &mut lists {
            assert!(reads(list));
            let find = |pid| list.processes().iter().find(|listed| listed.pid == pid).copied().expect("listed");
            let (sleeper, own) = (find(child.id()), find(std::process::id()));
            assert_eq!(sleeper.cpu().total_ns, clock(Counted::Scheduled));
            assert_eq!(sleeper.cpu().user_ns, clock(Counted::UserTicks));
            assert!(own.start_ns <= sleeper.start_ns && own.at_ns > 0 && own.cpu().total_ns > Some(0));
            assert!(list.ahead_ns() > 0, "this thread at least is on a CPU");
        }
        child.kill().expect("ours");
        child.wait().expect("it ends");
        for list in &mut lists {
            assert!(reads(list) && list.processes().iter().all(|listed| listed.pid != child.id()));
        }
    }
}
