//! The kernel's own list of threads, read in one pass by a program of ours (`iter/task`): number, start and CPU time of each,
//! added up by process. Cheaper than asking clocks, and ahead of them: of a thread on a CPU the kernel notes when it last added
//! its time up, so the time since then is known as well.

use crate::sample::{CpuBasis, CpuReading};
use machine::Host;
use sys::bpf::assemble::Arithmetic::{Add, Subtract};
use sys::bpf::assemble::Condition::Equal;
use sys::bpf::assemble::Operand::{Is, Of};
use sys::bpf::assemble::Register::{R0, R1, R2, R3, R6, R7, R8, R10};
use sys::bpf::assemble::Width::{Double, Word};
use sys::bpf::assemble::{AssembleError, Assembler, Helper, Instruction};
use sys::bpf::btf::Btf;
use sys::bpf::iterate::visit_all;
use sys::bpf::probe::kernel_types;
use sys::bpf::{Attached, Place, Program};
use sys::cpu_clock::{monotonic_ns, thread_cpu_ns};

/// One thread as the program writes it: eight bytes each, in the machine's order. The first record is of the thread that reads,
/// without numbers: see [`ThreadList::read`].
mod record {
    /// CLOCK_MONOTONIC when it was looked at.
    pub const AT_NS: usize = 0;
    /// The thread's number, then its process's (32 bits each).
    pub const NUMBERS: usize = 1;
    /// When its process began, on the clock that goes on while the machine is suspended.
    pub const START_NS: usize = 2;
    /// The thread's three times.
    pub const ALIVE: usize = 3;
    /// Those of its process's threads that have ended.
    pub const ENDED: usize = 6;
    /// On the scheduler's clock of its CPU when its time was last added up; 0 for a thread that is on no CPU.
    pub const ADDED_UP_NS: usize = 9;
    /// How far that CPU's clock for threads is behind its clock: interrupts, and what the hypervisor took.
    pub const BEHIND_NS: usize = 10;
    pub const WORDS: usize = 11;
}

/// LIMIT: Linux has at most 2^22 threads.
const BYTES_MAX: u64 = (record::WORDS as u64 * 8) << 22;

/// Time on CPUs: all, in programs by ticks, in the kernel by ticks.
type Times = [u64; 3];

/// A process in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its number.
    pub pid: u32,
    /// When it began, in nanoseconds since boot: another start under the same number is another process.
    pub start_ns: u64,
    /// When its first thread was looked at.
    pub at_ns: u64,
    alive: Times,
    ended: Times,
}

impl Listed {
    /// Its CPU time, ended threads included.
    pub fn cpu(&self) -> CpuReading {
        let [total_ns, user_ns, system_ns] =
            std::array::from_fn(|kind| Some(self.alive[kind].saturating_add(self.ended[kind])));
        CpuReading { total_ns, user_ns, system_ns, basis: CpuBasis::Scheduler }
    }

    fn of_record(record: &[u8], ahead_ns: u64) -> Self {
        let times = |from: usize| std::array::from_fn(|kind| word(record, from + kind));
        let [run_ns, user_ns, system_ns] = times(record::ALIVE);
        let pid = &record[8 * record::NUMBERS + 4..8 * record::NUMBERS + 8];
        Self {
            pid: u32::from_ne_bytes(pid.try_into().expect("four bytes")),
            start_ns: word(record, record::START_NS),
            at_ns: word(record, record::AT_NS),
            alive: [run_ns.saturating_add(ahead_ns), user_ns, system_ns],
            ended: times(record::ENDED),
        }
    }
}

/// Reads the list. Buffers are used again.
pub struct ThreadList {
    pass: Attached,
    bytes: Vec<u8>,
    processes: Vec<Listed>,
    /// CLOCK_MONOTONIC less the scheduler's clock, when both were last seen together.
    between_clocks_ns: Option<i64>,
    ahead_ns: u64,
}

impl ThreadList {
    /// None where this process may put no programs into the kernel, or sees other numbers than the kernel's own.
    pub fn open(host: &Host) -> Option<Self> {
        machine::sees_the_kernels_numbers(host).ok().filter(|sees| *sees)?;
        let btf = kernel_types().ok()?;
        let code = Fields::find(&btf)?.program().ok()?;
        let pass = Program::load(Place::Iterator("task"), "mh_threads", &code, &btf).ok()?.attach().ok()?;
        Some(Self { pass, bytes: Vec::new(), processes: Vec::new(), between_clocks_ns: None, ahead_ns: 0 })
    }

    /// Looks at all processes. False where the pass failed.
    ///
    /// Asking for its own CPU clock makes the kernel add this thread's time up, there and then. If that is still the last time
    /// when the pass begins, the scheduler's clock is known to have been then what CLOCK_MONOTONIC was; if not, once more.
    pub fn read(&mut self) -> bool {
        for _attempt in 0..ATTEMPTS_MAX {
            self.bytes.clear();
            let before_ns = monotonic_ns();
            let own_ns = thread_cpu_ns();
            let at_ns = before_ns.midpoint(monotonic_ns());
            if visit_all(&self.pass, BYTES_MAX, &mut self.bytes).is_err() {
                return false;
            }
            let own = self.bytes.get(..RECORD_BYTES).filter(|own| word(own, record::ALIVE) == own_ns);
            if let Some(own) = own {
                let scheduler_ns = word(own, record::ADDED_UP_NS).wrapping_add(word(own, record::BEHIND_NS));
                self.between_clocks_ns = Some(at_ns.wrapping_sub(scheduler_ns).cast_signed());
                break;
            }
        }
        let Some(between_clocks_ns) = self.between_clocks_ns else { return false };
        self.ahead_ns =
            add_up(self.bytes.get(RECORD_BYTES..).unwrap_or_default(), between_clocks_ns, &mut self.processes);
        true
    }

    /// What was read, by number.
    pub fn processes(&self) -> &[Listed] {
        &self.processes
    }

    /// How much of it the kernel had not added up itself.
    pub fn ahead_ns(&self) -> u64 {
        self.ahead_ns
    }
}

/// LIMIT: passes until one begins before a tick or another thread disturbs: one in a thousand is disturbed on a quiet machine.
const ATTEMPTS_MAX: usize = 3;
const RECORD_BYTES: usize = record::WORDS * 8;
/// LIMIT: no thread runs longer without being added up: a tick, or a second where ticks are off while one thread runs.
const AHEAD_NS_MAX: u64 = 2_000_000_000;

fn word(record: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(record[8 * at..8 * at + 8].try_into().expect("eight bytes"))
}

/// For how long a thread has run since its time was last added up.
fn ahead_ns(record: &[u8], between_clocks_ns: i64) -> u64 {
    let added_up_ns = word(record, record::ADDED_UP_NS);
    if added_up_ns == 0 {
        return 0;
    }
    let scheduler_ns = word(record, record::AT_NS).wrapping_sub(between_clocks_ns.cast_unsigned());
    let ahead_ns = scheduler_ns.wrapping_sub(word(record, record::BEHIND_NS)).wrapping_sub(added_up_ns);
    // Clocks of two CPUs may differ by less than a microsecond, so it may seem to be just behind.
    if ahead_ns > AHEAD_NS_MAX { 0 } else { ahead_ns }
}

/// Threads to processes; returns how far all of them were ahead.
///
/// What its ended threads used is taken from the thread that was looked at first: one that ends during the pass may then be
/// missing, and is in the next pass's sum, but is never counted twice.
fn add_up(bytes: &[u8], between_clocks_ns: i64, processes: &mut Vec<Listed>) -> u64 {
    let mut all_ahead_ns: u64 = 0;
    processes.clear();
    processes.extend(bytes.chunks_exact(RECORD_BYTES).map(|record| {
        let ahead_ns = ahead_ns(record, between_clocks_ns);
        all_ahead_ns = all_ahead_ns.saturating_add(ahead_ns);
        Listed::of_record(record, ahead_ns)
    }));
    // The kernel goes by the threads' numbers.
    if !processes.is_sorted_by_key(|listed| listed.pid) {
        processes.sort_by_key(|listed| listed.pid);
    }
    processes.dedup_by(|thread, process| {
        let is_same = thread.pid == process.pid;
        if is_same {
            process.alive.iter_mut().zip(thread.alive).for_each(|(sum, time)| *sum = sum.saturating_add(time));
        }
        is_same
    });
    all_ahead_ns
}

/// Where in the kernel's structures the fields lie.
struct Fields {
    numbers: [i16; 2],
    leader: i16,
    start: i16,
    run: i16,
    ticks: [i16; 2],
    signal: i16,
    ended: [i16; 3],
    is_on_cpu: i16,
    added_up: i16,
    /// From a thread to the queue it is in, to its CPU's, with its two clocks. COMPAT: in kernels that schedule groups.
    queue: i16,
    cpu_queue: i16,
    clocks: [i16; 2],
}

impl Fields {
    fn find(btf: &Btf) -> Option<Self> {
        let field = |structure, path| i16::try_from(btf.field_offset(structure, path)?).ok();
        let task = |path| field("task_struct", path);
        let signal = |path| field("signal_struct", path);
        Some(Self {
            numbers: [task("pid")?, task("tgid")?],
            leader: task("group_leader")?,
            start: task("start_boottime")?,
            run: task("se.sum_exec_runtime")?,
            ticks: [task("utime")?, task("stime")?],
            signal: task("signal")?,
            ended: [signal("sum_sched_runtime")?, signal("utime")?, signal("stime")?],
            is_on_cpu: task("on_cpu")?,
            added_up: task("se.exec_start")?,
            queue: task("se.cfs_rq")?,
            cpu_queue: field("cfs_rq", "rq")?,
            clocks: [field("rq", "clock")?, field("rq", "clock_task")?],
        })
    }

    /// R6 = the context, R7 = the thread; the record grows on the stack.
    fn program(&self) -> Result<Vec<Instruction>, AssembleError> {
        let mut code = Assembler::new();
        let (end, is_first, others) = (code.label(), code.label(), code.label());
        code.copy(R6, R1);
        code.load(Double, R7, R6, 8);
        code.jump_if(R7, Equal, Is(0), end);
        // The context begins with what the pass is, and that with where to write, a number, and how many came before.
        code.load(Double, R1, R6, 0);
        code.load(Double, R1, R1, 16);
        code.jump_if(R1, Equal, Is(0), is_first);
        code.jump(others);
        code.bind(is_first);
        code.call(Helper::CurrentTask);
        code.copy(R8, R0);
        code.store(Double, R10, at(record::NUMBERS), Is(0));
        code.store(Double, R10, at(record::START_NS), Is(0));
        [1, 2, 3, 4, 5].into_iter().for_each(|more| code.store(Double, R10, at(record::ALIVE + more), Is(0)));
        self.run_time(&mut code);
        write(&mut code);

        code.bind(others);
        code.copy(R8, R7);
        for (half, field) in self.numbers.into_iter().enumerate() {
            code.load(Word, R1, R7, field);
            code.store(Word, R10, at(record::NUMBERS) + 4 * half as i16, Of(R1));
        }
        code.load(Double, R1, R7, self.leader);
        code.load(Double, R1, R1, self.start);
        code.store(Double, R10, at(record::START_NS), Of(R1));
        for (kind, field) in self.ticks.into_iter().enumerate() {
            code.load(Double, R1, R7, field);
            code.store(Double, R10, at(record::ALIVE + 1 + kind), Of(R1));
        }
        code.load(Double, R7, R7, self.signal);
        for (kind, field) in self.ended.into_iter().enumerate() {
            code.load(Double, R1, R7, field);
            code.store(Double, R10, at(record::ENDED + kind), Of(R1));
        }
        self.run_time(&mut code);
        write(&mut code);
        code.bind(end);
        code.set(R0, 0);
        code.exit();
        code.finish()
    }

    /// When, and for how long the thread of R8 has run, as far as it is added up.
    fn run_time(&self, code: &mut Assembler) {
        let (waits, same, done) = (code.label(), code.label(), code.label());
        code.store(Double, R10, at(record::ADDED_UP_NS), Is(0));
        code.store(Double, R10, at(record::BEHIND_NS), Is(0));
        code.load(Word, R1, R8, self.is_on_cpu);
        code.jump_if(R1, Equal, Is(0), waits);
        code.load(Double, R3, R8, self.queue);
        code.load(Double, R3, R3, self.cpu_queue);
        code.load(Double, R1, R3, self.clocks[0]);
        code.load(Double, R2, R3, self.clocks[1]);
        code.compute(Subtract, R1, Of(R2));
        code.store(Double, R10, at(record::BEHIND_NS), Of(R1));
        // Its CPU may be adding up right now, first noting when: both numbers must be of the same time.
        code.load(Double, R2, R8, self.added_up);
        code.load(Double, R3, R8, self.run);
        code.load(Double, R1, R8, self.added_up);
        code.jump_if(R1, Equal, Of(R2), same);
        code.load(Double, R3, R8, self.run);
        code.bind(same);
        code.store(Double, R10, at(record::ADDED_UP_NS), Of(R1));
        code.store(Double, R10, at(record::ALIVE), Of(R3));
        code.jump(done);
        code.bind(waits);
        code.load(Double, R3, R8, self.run);
        code.store(Double, R10, at(record::ALIVE), Of(R3));
        code.bind(done);
        code.call(Helper::MonotonicNs);
        code.store(Double, R10, at(record::AT_NS), Of(R0));
    }
}

/// Where a word of the record is on the stack.
fn at(word: usize) -> i16 {
    (word as i16 - record::WORDS as i16) * 8
}

fn write(code: &mut Assembler) {
    code.load(Double, R1, R6, 0);
    code.load(Double, R1, R1, 0);
    code.copy(R2, R10);
    code.compute(Add, R2, Is(at(0).into()));
    code.set(R3, RECORD_BYTES as i32);
    code.call(Helper::WriteSequence);
}

#[cfg(test)]
mod tests {
    use super::*;
    use sys::cpu_clock::{Counted, other_process_ns};

    fn record(pid: u32, at_ns: u64, times: Times, ended: Times, on_cpu: [u64; 2]) -> Vec<u8> {
        let numbers = u64::from_ne_bytes([[9; 4], pid.to_ne_bytes()].concat().try_into().expect("eight"));
        let words = [at_ns, numbers, 77].into_iter().chain(times).chain(ended).chain(on_cpu);
        words.flat_map(u64::to_ne_bytes).collect()
    }

    #[test]
    fn threads_are_added_up_by_process_and_the_ended_ones_counted_once() {
        let threads = [
            record(7, 1, [10, 4, 6], [100, 40, 60], [0; 2]),
            // On a CPU: added up at 500 of a clock that is 30 behind another, which is 1000 behind ours.
            record(9, 1535, [1, 1, 0], [0; 3], [500, 30]),
            // A thread with a higher number than the next process's, and one more has ended since the first was seen.
            record(7, 3, [20, 5, 5], [130, 50, 80], [0; 2]),
            vec![1; 5],
        ];
        let mut processes = Vec::new();
        assert_eq!(add_up(&threads.concat(), 1000, &mut processes), 5);
        let [first, second] = processes.as_slice() else { panic!("{processes:?}") };
        assert_eq!((first.pid, first.start_ns, first.at_ns, second.pid), (7, 77, 1, 9));
        let cpu = first.cpu();
        assert_eq!((cpu.total_ns, cpu.user_ns, cpu.system_ns), (Some(130), Some(49), Some(71)));
        assert_eq!(second.cpu().total_ns, Some(6));
        let before_its_time = record(9, 1529, [1, 1, 0], [0; 3], [500, 30]);
        assert_eq!(add_up(&before_its_time, 1000, &mut processes), 0, "clocks of two CPUs");
        assert_eq!((add_up(&[], 0, &mut processes), processes.len()), (0, 0));
    }

    #[test]
    fn the_list_says_what_the_clocks_say() {
        let host = Host::real();
        let may = machine::sees_the_kernels_numbers(&host).expect("readable") && kernel_types().is_ok();
        let list = ThreadList::open(&host);
        assert_eq!(list.is_some(), may, "where programs may be put into the kernel, this one is taken");
        let Some(mut list) = list else { return };
        let mut child = std::process::Command::new("/bin/sleep").arg("60").spawn().expect("there is a sleep");
        // Once it sleeps its clock stands still.
        let clock = |counted| other_process_ns(child.id(), counted).ok();
        let mut before = None;
        while before.is_none() || before != clock(Counted::Scheduled) {
            before = clock(Counted::Scheduled);
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        assert!(list.read());
        let find = |pid| list.processes().iter().find(|listed| listed.pid == pid).copied().expect("listed");
        let (sleeper, own) = (find(child.id()), find(std::process::id()));
        assert_eq!(sleeper.cpu().total_ns, clock(Counted::Scheduled));
        assert_eq!(sleeper.cpu().user_ns, clock(Counted::UserTicks));
        assert!(own.start_ns <= sleeper.start_ns && own.at_ns > 0 && own.cpu().total_ns > Some(0));
        assert!(list.ahead_ns() > 0, "this thread at least is on a CPU");
        child.kill().expect("ours");
        child.wait().expect("it ends");
        assert!(list.read() && list.processes().iter().all(|listed| listed.pid != child.id()));
    }
}
