//! All threads of the machine in one pass, read by a program in the kernel: a few hundred nanoseconds a thread, without
//! `/proc`. Times are the scheduler's own, those of running threads brought up to the moment.

use std::io;
use sys::bpf::assemble::Arithmetic::Add;
use sys::bpf::assemble::Condition::Equal;
use sys::bpf::assemble::Operand::{Is, Of};
use sys::bpf::assemble::Register::{R0, R1, R2, R3, R6, R7, R8, R10};
use sys::bpf::assemble::Width::{Double, Word};
use sys::bpf::assemble::{AssembleError, Assembler, Helper, Instruction, Width};
use sys::bpf::btf::Btf;
use sys::bpf::iterate::visit_all;
use sys::bpf::probe::{Obstacle, kernel_types};
use sys::bpf::{Attached, LoadError, Place, Program};

/// A thread at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Task {
    /// Its process.
    pub process: u32,
    /// Its number.
    pub thread: u32,
    /// When it was read, on the monotonic clock.
    pub read_at_ns: u64,
    /// When it began, since boot: with its number, what tells it from others.
    pub began_ns: u64,
    /// On a CPU so far, up to the moment of reading.
    pub cpu_ns: u64,
    /// Ticks that met it in its program and in the kernel, as nanoseconds.
    pub ticks_user_ns: u64,
    /// The same in the kernel.
    pub ticks_system_ns: u64,
    /// Ready and waiting for a CPU so far.
    pub run_delay_ns: u64,
    /// The first three times of its process's threads that have ended; the same for all threads of a process.
    pub ended: Ended,
    /// Whether it was on a CPU.
    pub is_running: bool,
    /// Its name, zeros behind.
    pub name: [u8; 16],
}

/// Times of threads that have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// On a CPU.
    pub cpu_ns: u64,
    /// Ticks in programs.
    pub ticks_user_ns: u64,
    /// Ticks in the kernel.
    pub ticks_system_ns: u64,
}

/// Why it is not possible here.
#[derive(Debug, thiserror::Error)]
pub enum TasksError {
    /// No programs in the kernel.
    #[error("put programs into the kernel")]
    Obstacle(#[source] Obstacle),
    /// The kernel lacks a field.
    #[error("find '{0}' among the kernel's own types")]
    Field(&'static str),
    /// Assembling failed: a slip of ours.
    #[error("assemble the program")]
    Assemble(#[source] AssembleError),
    /// The kernel refused it.
    #[error("load the program")]
    Load(#[source] LoadError),
    /// The pass failed.
    #[error("read the kernel's threads")]
    Read(#[source] io::Error),
}

/// What the program writes about a thread, in words.
const WORDS: usize = 16;
const RECORD_BYTES: usize = WORDS * 8;
/// LIMIT: more threads than the kernel can number are not read.
const BYTES_MAX: u64 = (4 << 20) * RECORD_BYTES as u64;
/// Where the record begins on the program's stack.
const RECORD_AT: i16 = -(RECORD_BYTES as i16);

/// A step to a field: the pointer or number behind it.
struct Field {
    width: Width,
    at: i16,
}

/// The reader, ready to pass over all threads.
pub struct Tasks {
    pass: Attached,
    bytes: Vec<u8>,
    /// Monotonic time less the scheduler's, which begin at different moments.
    clock_offset_ns: i64,
}

impl Tasks {
    /// Loads the program.
    pub fn open() -> Result<Self, TasksError> {
        let btf = kernel_types().map_err(TasksError::Obstacle)?;
        let code = program(&btf)?;
        let program = Program::load(Place::Iterator("task"), "mh_tasks", &code, &btf).map_err(TasksError::Load)?;
        let pass = program.attach().map_err(TasksError::Load)?;
        let mut tasks = Self { pass, bytes: Vec::new(), clock_offset_ns: i64::MAX };
        tasks.compare_clocks()?;
        Ok(tasks)
    }

    /// The scheduler's clock is brought up to date by a yield, and read a moment later: the least difference is the true one.
    fn compare_clocks(&mut self) -> Result<(), TasksError> {
        const TRIES: usize = 12;
        let own = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        for _try in 0..TRIES {
            rustix::thread::sched_yield();
            self.pass()?;
            let records = self.bytes.chunks_exact(RECORD_BYTES).map(Record::new);
            for record in records.filter(|record| record.0[0] as u32 == own && record.0[14] > 0) {
                let difference = (record.0[1] as i64).saturating_sub(record.0[14] as i64);
                self.clock_offset_ns = self.clock_offset_ns.min(difference);
            }
        }
        Ok(())
    }

    fn pass(&mut self) -> Result<(), TasksError> {
        self.bytes.clear();
        visit_all(&self.pass, BYTES_MAX, &mut self.bytes).map_err(TasksError::Read)
    }

    /// Fills `tasks` with all threads, by number. Allocates nothing once both buffers have grown.
    pub fn read(&mut self, tasks: &mut Vec<Task>) -> Result<(), TasksError> {
        self.pass()?;
        tasks.clear();
        tasks.extend(self.bytes.chunks_exact(RECORD_BYTES).map(|bytes| Record::new(bytes).task(self.clock_offset_ns)));
        Ok(())
    }
}

/// The words as the program wrote them.
struct Record([u64; WORDS]);

impl Record {
    fn new(bytes: &[u8]) -> Self {
        let mut words = [0; WORDS];
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = bytes.try_into().map_or(0, u64::from_ne_bytes);
        }
        Self(words)
    }

    fn task(&self, clock_offset_ns: i64) -> Task {
        let words = &self.0;
        let [low, high] = [words[10], words[11]].map(u64::to_ne_bytes);
        let mut name = [0; 16];
        name[..8].copy_from_slice(&low);
        name[8..].copy_from_slice(&high);
        let is_running = words[12] as u32 != 0;
        Task {
            thread: words[0] as u32,
            process: (words[0] >> 32) as u32,
            read_at_ns: words[1],
            began_ns: words[2],
            cpu_ns: words[3] + if is_running { self.since_last_account_ns(clock_offset_ns) } else { 0 },
            ticks_user_ns: words[4],
            ticks_system_ns: words[5],
            run_delay_ns: words[6],
            ended: Ended { cpu_ns: words[7], ticks_user_ns: words[8], ticks_system_ns: words[9] },
            is_running,
            name,
        }
    }

    /// A running thread's time was brought up to date at its last tick. What has passed since is the monotonic time less the
    /// offset, less what the hypervisor has taken (clock less task clock), less the task clock at that tick.
    fn since_last_account_ns(&self, clock_offset_ns: i64) -> u64 {
        /// LIMIT: no tick is further away; a larger difference is a clock that we misread.
        const TICK_MAX_NS: i64 = 20_000_000;
        let [now, accounted_at, clock, task_clock] = [1, 13, 14, 15].map(|word| self.0[word] as i64);
        if clock == 0 || clock_offset_ns == i64::MAX {
            return 0;
        }
        let passed =
            now.wrapping_sub(clock_offset_ns).wrapping_sub(clock.wrapping_sub(task_clock)).wrapping_sub(accounted_at);
        if (0..=TICK_MAX_NS).contains(&passed) { passed.unsigned_abs() } else { 0 }
    }
}

/// R6 = the context, R7 = the thread, R8 = what hangs on it.
fn program(btf: &Btf) -> Result<Vec<Instruction>, TasksError> {
    let field = |structure: &'static str, path: &'static str| {
        let offset = btf.field_offset(structure, path).and_then(|offset| i16::try_from(offset).ok());
        offset.ok_or(TasksError::Field(path))
    };
    let task = |path| field("task_struct", path);
    let own: [(i16, Field); 9] = [
        (0, Field { width: Word, at: task("pid")? }),
        (4, Field { width: Word, at: task("tgid")? }),
        (16, Field { width: Double, at: task("start_boottime")? }),
        (24, Field { width: Double, at: task("se.sum_exec_runtime")? }),
        (32, Field { width: Double, at: task("utime")? }),
        (40, Field { width: Double, at: task("stime")? }),
        (48, Field { width: Double, at: task("sched_info.run_delay")? }),
        (96, Field { width: Word, at: task("on_cpu")? }),
        (104, Field { width: Double, at: task("se.exec_start")? }),
    ];
    let signal = task("signal")?;
    let ended = [
        (56, field("signal_struct", "sum_sched_runtime")?),
        (64, field("signal_struct", "utime")?),
        (72, field("signal_struct", "stime")?),
    ];
    let mut code = Assembler::new();
    let end = code.label();
    code.copy(R6, R1);
    code.load(Double, R7, R6, 8);
    code.jump_if(R7, Equal, Is(0), end);
    for word in 0..WORDS as i16 {
        code.store(Double, R10, RECORD_AT + 8 * word, Is(0));
    }
    code.call(Helper::MonotonicNs);
    code.store(Double, R10, RECORD_AT + 8, Of(R0));
    for (to, Field { width, at }) in own {
        code.load(width, R1, R7, at);
        code.store(width, R10, RECORD_AT + to, Of(R1));
    }
    code.load(Double, R8, R7, signal);
    for (to, at) in ended {
        code.load(Double, R1, R8, at);
        code.store(Double, R10, RECORD_AT + to, Of(R1));
    }
    if let Ok(clocks) = Clocks::find(btf) {
        code.load(Double, R8, R7, clocks.queue[0]);
        code.load(Double, R8, R8, clocks.queue[1]);
        for (to, at) in [(112, clocks.clock), (120, clocks.task_clock)] {
            code.load(Double, R1, R8, at);
            code.store(Double, R10, RECORD_AT + to, Of(R1));
        }
    }
    copy_to_stack(&mut code, 80, task("comm")?);
    code.load(Double, R1, R6, 0);
    code.load(Double, R1, R1, 0);
    code.copy(R2, R10);
    code.compute(Add, R2, Is(RECORD_AT.into()));
    code.set(R3, RECORD_BYTES as i32);
    code.call(Helper::WriteSequence);
    code.bind(end);
    code.set(R0, 0);
    code.exit();
    code.finish().map_err(TasksError::Assemble)
}

/// The name of the thread of R7, zeros behind it.
fn copy_to_stack(code: &mut Assembler, to: i16, from: i16) {
    code.copy(R1, R10);
    code.compute(Add, R1, Is((RECORD_AT + to).into()));
    code.set(R2, 16);
    code.copy(R3, R7);
    code.compute(Add, R3, Is(from.into()));
    code.call(Helper::ReadKernelString);
}

/// The way to a thread's run queue and its clocks. Without them running threads are as old as their last tick.
struct Clocks {
    queue: [i16; 2],
    clock: i16,
    task_clock: i16,
}

impl Clocks {
    fn find(btf: &Btf) -> Result<Self, TasksError> {
        let field = |structure: &'static str, path: &'static str| {
            let offset = btf.field_offset(structure, path).and_then(|offset| i16::try_from(offset).ok());
            offset.ok_or(TasksError::Field(path))
        };
        Ok(Self {
            queue: [field("task_struct", "se.cfs_rq")?, field("cfs_rq", "rq")?],
            clock: field("rq", "clock")?,
            task_clock: field("rq", "clock_task")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sys::cpu_clock::thread_cpu_ns;

    #[test]
    fn this_thread_is_found_with_its_own_clocks_time() {
        let mut reader = match Tasks::open() {
            Ok(reader) => reader,
            Err(TasksError::Obstacle(_)) => return,
            Err(error) => panic!("{error}: {error:?}"),
        };
        let own = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        let mut tasks = Vec::new();
        let before_ns = thread_cpu_ns();
        reader.read(&mut tasks).expect("read");
        let after_ns = thread_cpu_ns();
        let task = tasks.iter().find(|task| task.thread == own).expect("this thread");
        assert_eq!((task.process, task.is_running), (std::process::id(), true));
        // A clock misread by a millisecond is a defect; by less, it is the machine's.
        assert!(
            task.cpu_ns + 1_000_000 >= before_ns && task.cpu_ns <= after_ns + 1_000_000,
            "{before_ns} {task:?} {after_ns}"
        );
        assert!(tasks.iter().any(|task| task.thread == 1), "the first process");
        let distinct: std::collections::BTreeSet<u32> = tasks.iter().map(|task| task.thread).collect();
        assert_eq!(distinct.len(), tasks.len());
    }

    #[test]
    fn what_a_clock_says_is_believed_within_a_tick() {
        let mut words = [0; WORDS];
        (words[1], words[12], words[13], words[14], words[15]) = (1_000_500, 1, 90_000, 1_000_000, 900_000);
        words[3] = 7;
        let cpu_ns = |words: [u64; WORDS], offset| Record(words).task(offset).cpu_ns;
        // 1,000,500 - 0 - 100,000 stolen - 90,000 at the last tick.
        assert_eq!(cpu_ns(words, 0), 7 + 810_500);
        assert_eq!(cpu_ns(words, 5_000_000), 7, "a clock that ran backwards");
        assert_eq!(cpu_ns(words, i64::MAX), 7, "an offset that nobody knows");
        words[12] = 0;
        assert_eq!(cpu_ns(words, 0), 7, "a thread that does not run is up to date");
    }
}
