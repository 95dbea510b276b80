//! The kernel's own list of threads, read in one pass by a program of ours (`iter/task`): number, start and CPU time of each,
//! added up by process. Says what the CPU clocks of processes say, for a fifth of the cost, and needs no `/proc`.

use crate::sample::{CpuBasis, CpuReading};
use machine::Host;
use sys::bpf::assemble::Arithmetic::Add;
use sys::bpf::assemble::Condition::Equal;
use sys::bpf::assemble::Operand::{Is, Of};
use sys::bpf::assemble::Register::{R0, R1, R2, R3, R6, R7, R10};
use sys::bpf::assemble::Width::{Double, Word};
use sys::bpf::assemble::{AssembleError, Assembler, Helper, Instruction};
use sys::bpf::btf::Btf;
use sys::bpf::iterate::visit_all;
use sys::bpf::probe::kernel_types;
use sys::bpf::{Attached, Place, Program};

/// One thread as the program writes it: eight bytes each, in the machine's order.
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
    pub const WORDS: usize = 9;
}

/// LIMIT: Linux has at most 2^22 threads.
const BYTES_MAX: u64 = (record::WORDS as u64 * 8) << 22;
/// The first pid namespace always has this number (`PROC_PID_INIT_INO`).
const FIRST_PID_NAMESPACE: u64 = 0xefff_fffc;

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
        CpuReading { total_ns, user_ns, system_ns, basis: CpuBasis::Clock }
    }

    fn of_record(record: &[u8]) -> Self {
        let word = |at: usize| u64::from_ne_bytes(record[8 * at..8 * at + 8].try_into().expect("eight bytes"));
        let times = |from: usize| std::array::from_fn(|kind| word(from + kind));
        let pid = &record[8 * record::NUMBERS + 4..8 * record::NUMBERS + 8];
        Self {
            pid: u32::from_ne_bytes(pid.try_into().expect("four bytes")),
            start_ns: word(record::START_NS),
            at_ns: word(record::AT_NS),
            alive: times(record::ALIVE),
            ended: times(record::ENDED),
        }
    }
}

/// Reads the list. Buffers are used again.
pub struct ThreadList {
    pass: Attached,
    bytes: Vec<u8>,
    processes: Vec<Listed>,
}

impl ThreadList {
    /// None where this process may put no programs into the kernel, or sees other numbers than the kernel's own.
    pub fn open(host: &Host) -> Option<Self> {
        if machine::own_pid_namespace(host).ok()? != FIRST_PID_NAMESPACE {
            return None;
        }
        let btf = kernel_types().ok()?;
        let code = Fields::find(&btf)?.program().ok()?;
        let pass = Program::load(Place::Iterator("task"), "mh_threads", &code, &btf).ok()?.attach().ok()?;
        Some(Self { pass, bytes: Vec::new(), processes: Vec::new() })
    }

    /// Looks at all processes. False where the pass failed.
    pub fn read(&mut self) -> bool {
        self.bytes.clear();
        let is_read = visit_all(&self.pass, BYTES_MAX, &mut self.bytes).is_ok();
        add_up(&self.bytes, &mut self.processes);
        is_read
    }

    /// What was read, by number.
    pub fn processes(&self) -> &[Listed] {
        &self.processes
    }
}

/// Threads to processes.
///
/// What its ended threads used is taken from the thread that was looked at first: one that ends during the pass may then be
/// missing, and is in the next pass's sum, but is never counted twice.
fn add_up(bytes: &[u8], processes: &mut Vec<Listed>) {
    processes.clear();
    processes.extend(bytes.chunks_exact(record::WORDS * 8).map(Listed::of_record));
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
}

/// Where in the kernel's structures the fields lie.
struct Fields {
    numbers: [i16; 2],
    leader: i16,
    start: i16,
    times: [i16; 3],
    signal: i16,
    ended_times: [i16; 3],
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
            times: [task("se.sum_exec_runtime")?, task("utime")?, task("stime")?],
            signal: task("signal")?,
            ended_times: [signal("sum_sched_runtime")?, signal("utime")?, signal("stime")?],
        })
    }

    /// R6 = the context, R7 = the thread; the record grows on the stack.
    fn program(&self) -> Result<Vec<Instruction>, AssembleError> {
        const BYTES: i16 = record::WORDS as i16 * 8;
        let at = |word: usize| word as i16 * 8 - BYTES;
        let mut code = Assembler::new();
        let end = code.label();
        code.copy(R6, R1);
        code.load(Double, R7, R6, 8);
        code.jump_if(R7, Equal, Is(0), end);
        code.call(Helper::MonotonicNs);
        code.store(Double, R10, at(record::AT_NS), Of(R0));
        for (half, field) in self.numbers.into_iter().enumerate() {
            code.load(Word, R1, R7, field);
            code.store(Word, R10, at(record::NUMBERS) + 4 * half as i16, Of(R1));
        }
        code.load(Double, R1, R7, self.leader);
        code.load(Double, R1, R1, self.start);
        code.store(Double, R10, at(record::START_NS), Of(R1));
        for (kind, field) in self.times.into_iter().enumerate() {
            code.load(Double, R1, R7, field);
            code.store(Double, R10, at(record::ALIVE + kind), Of(R1));
        }
        code.load(Double, R7, R7, self.signal);
        for (kind, field) in self.ended_times.into_iter().enumerate() {
            code.load(Double, R1, R7, field);
            code.store(Double, R10, at(record::ENDED + kind), Of(R1));
        }
        // The context begins with what the pass is, and that with where to write.
        code.load(Double, R1, R6, 0);
        code.load(Double, R1, R1, 0);
        code.copy(R2, R10);
        code.compute(Add, R2, Is((-BYTES).into()));
        code.set(R3, BYTES.into());
        code.call(Helper::WriteSequence);
        code.bind(end);
        code.set(R0, 0);
        code.exit();
        code.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sys::cpu_clock::{Counted, other_process_ns};

    fn record(pid: u32, at_ns: u64, times: Times, ended: Times) -> Vec<u8> {
        let numbers = u64::from_ne_bytes([[9; 4], pid.to_ne_bytes()].concat().try_into().expect("eight"));
        let words = [at_ns, numbers, 77].into_iter().chain(times).chain(ended);
        words.flat_map(u64::to_ne_bytes).collect()
    }

    #[test]
    fn threads_are_added_up_by_process_and_the_ended_ones_counted_once() {
        let threads = [
            record(7, 1, [10, 4, 6], [100, 40, 60]),
            record(9, 2, [1, 1, 0], [0; 3]),
            // A thread with a higher number than the next process's, and one more has ended since the first was seen.
            record(7, 3, [20, 5, 5], [130, 50, 80]),
            vec![1; 5],
        ];
        let mut processes = Vec::new();
        add_up(&threads.concat(), &mut processes);
        let [first, second] = processes.as_slice() else { panic!("{processes:?}") };
        assert_eq!((first.pid, first.start_ns, first.at_ns, second.pid), (7, 77, 1, 9));
        let cpu = first.cpu();
        assert_eq!((cpu.total_ns, cpu.user_ns, cpu.system_ns), (Some(130), Some(49), Some(71)));
        add_up(&[], &mut processes);
        assert!(processes.is_empty());
    }

    #[test]
    fn the_list_says_what_the_clocks_say() {
        let Some(mut list) = ThreadList::open(&Host::real()) else { return };
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
        child.kill().expect("ours");
        child.wait().expect("it ends");
        assert!(list.read() && list.processes().iter().all(|listed| listed.pid != child.id()));
    }
}
