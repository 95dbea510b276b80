//! The two programs that write down every thread, and what they write. One walks the kernel's list of processes by itself and
//! writes into memory that is shared with us; the other is called by the kernel for each thread (`iter/task`), for kernels before
//! 6.7 and for very many threads. The walk costs a quarter: the kernel's own looks each number up, and counts who holds the thread.
//!
//! Registers: R6 is the context, R7 the thread, R9 where its record is written.

use super::{ending, record};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use sys::bpf::assemble::Arithmetic::{Add, And, Multiply, Subtract};
use sys::bpf::assemble::Condition::{Above, Equal, NotEqual};
use sys::bpf::assemble::Operand::{Is, Of};
use sys::bpf::assemble::Register::{R0, R1, R2, R3, R6, R7, R8, R9, R10};
use sys::bpf::assemble::Width::{Double, Word};
use sys::bpf::assemble::{AssembleError, Assembler, Helper, Instruction};
use sys::bpf::btf::{Btf, Kind};
use sys::bpf::{KernelWords, Place, Program};

/// A program, ready to be loaded.
pub type WalkProgram = Result<Vec<Instruction>, AssembleError>;

/// Where in the kernel's structures the fields lie.
pub struct WalkFields {
    numbers: [i16; 2],
    leader: i16,
    start: i16,
    run: i16,
    ticks: [i16; 2],
    signal: i16,
    ended: [i16; 3],
    children: [i16; 2],
    state: i16,
    is_on_cpu: i16,
    added_up: i16,
    /// From a thread to the queue it is in, to its CPU's, with its two clocks. COMPAT: in kernels that schedule groups.
    queue: i16,
    cpu_queue: i16,
    clocks: [i16; 2],
    name: i16,
    /// How many of a process's threads have not begun to end.
    living: i16,
}

impl WalkFields {
    /// Finds them all.
    pub fn find(btf: &Btf) -> Option<Self> {
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
            children: [signal("cutime")?, signal("cstime")?],
            // COMPAT: its name before 5.14.
            state: task("__state").or_else(|| task("state"))?,
            is_on_cpu: task("on_cpu")?,
            added_up: task("se.exec_start")?,
            queue: task("se.cfs_rq")?,
            cpu_queue: field("cfs_rq", "rq")?,
            clocks: [field("rq", "clock")?, field("rq", "clock_task")?],
            name: task("comm")?,
            living: signal("live")?,
        })
    }

    /// Called for each thread.
    pub fn visited(&self) -> WalkProgram {
        let mut code = Assembler::new();
        let (end, is_first, others) = (code.label(), code.label(), code.label());
        code.copy(R6, R1);
        code.load(Double, R7, R6, 8);
        code.jump_if(R7, Equal, Is(0), end);
        code.copy(R9, R10);
        code.compute(Add, R9, Is(-(record::BYTES as i32)));
        // The context begins with what the pass is, and that with where to write, a number, and how many came before.
        code.load(Double, R1, R6, 0);
        code.load(Double, R1, R1, 16);
        code.jump_if(R1, Equal, Is(0), is_first);
        code.jump(others);
        code.bind(is_first);
        self.tell_own(&mut code);
        write(&mut code);
        code.bind(others);
        code.load(Double, R1, R6, 0);
        code.load(Double, R1, R1, 16);
        self.tell(&mut code, STAMPED_EVERY - 1);
        write(&mut code);
        code.bind(end);
        code.set(R0, 0);
        code.exit();
        code.finish()
    }

    /// Goes from thread to thread by itself. The first word of `words` says how many bytes of records follow it, or
    /// [`NO_ROOM`].
    fn walking(&self, functions: &Functions, words: &KernelWords) -> WalkProgram {
        let mut code = Assembler::new();
        let (next, full, end) = (code.label(), code.label(), code.label());
        let iterator = |code: &mut Assembler| {
            code.copy(R1, R10);
            code.compute(Add, R1, Is(-(ITERATOR_BYTES as i32)));
        };
        let last_bytes = 8 * words.words().len() - 8 - record::BYTES;
        code.address(R9, words.descriptor(), 8);
        self.tell_own(&mut code);
        code.address(R6, words.descriptor(), 0);
        code.store(Double, R6, 0, Is(record::BYTES as i32));
        code.call_kernel(functions.lock);
        iterator(&mut code);
        code.set(R2, 0);
        code.set(R3, ALL_THREADS);
        code.call_kernel(functions.begin);
        code.bind(next);
        iterator(&mut code);
        code.call_kernel(functions.next);
        code.jump_if(R0, Equal, Is(0), end);
        code.copy(R7, R0);
        code.address(R6, words.descriptor(), 0);
        code.load(Double, R1, R6, 0);
        code.jump_if(R1, Above, Is(last_bytes as i32), full);
        code.copy(R9, R6);
        code.compute(Add, R9, Of(R1));
        code.compute(Add, R9, Is(8));
        code.compute(Add, R1, Is(record::BYTES as i32));
        code.store(Double, R6, 0, Of(R1));
        // In words, a record is an odd number of them: its multiples meet those of a power of two as the numbers 1, 2, 3 do.
        self.tell(&mut code, 8 * (STAMPED_EVERY - 1));
        code.jump(next);
        code.bind(full);
        code.store(Double, R6, 0, Is(-1));
        code.bind(end);
        iterator(&mut code);
        code.call_kernel(functions.end);
        code.call_kernel(functions.unlock);
        code.set(R0, 0);
        code.exit();
        code.finish()
    }

    /// Called when a thread ends: where it is the last of its process, one slot more of `words` is filled. The first word counts
    /// them, and the last one of each slot says which it was, so that one that is half written is told.
    pub fn ending(&self, words: &KernelWords) -> WalkProgram {
        let mut code = Assembler::new();
        let end = code.label();
        code.load(Double, R7, R1, 0);
        code.load(Double, R1, R7, self.signal);
        code.load(Word, R1, R1, self.living);
        code.jump_if(R1, NotEqual, Is(0), end);
        code.address(R9, words.descriptor(), 0);
        code.set(R6, 1);
        code.fetch_add_shared(R9, 0, R6);
        code.copy(R1, R6);
        code.compute(Add, R6, Is(1));
        code.compute(And, R1, Is(ending::SLOTS as i32 - 1));
        code.compute(Multiply, R1, Is(8 * ending::WORDS as i32));
        code.compute(Add, R9, Of(R1));
        code.compute(Add, R9, Is(8));
        code.store(Double, R9, at(ending::NUMBER), Is(0));
        code.copy(R1, R9);
        code.compute(Add, R1, Is(at(ending::NAME).into()));
        code.set(R2, 16);
        code.load(Double, R3, R7, self.leader);
        code.compute(Add, R3, Is(self.name.into()));
        code.call(Helper::ReadKernelString);
        // Stamped in any case: it is on a CPU.
        code.set(R1, 1);
        self.tell(&mut code, 1);
        code.store(Double, R9, at(ending::NUMBER), Of(R6));
        code.bind(end);
        code.set(R0, 0);
        code.exit();
        code.finish()
    }

    /// The thread that reads: what its clock stands at.
    fn tell_own(&self, code: &mut Assembler) {
        code.call(Helper::CurrentTask);
        code.copy(R8, R0);
        code.store(Double, R9, at(record::NUMBERS), Is(0));
        code.store(Double, R9, at(record::START_NS), Is(0));
        (record::ALIVE + 1..record::ADDED_UP_NS).for_each(|word| code.store(Double, R9, at(word), Is(0)));
        self.run_time(code);
    }

    /// The thread of R7, which is lost. When it was looked at, is asked for one in [`STAMPED_EVERY`], where `mask` leaves nothing
    /// of R1, and for all that are on a CPU: reading the clock waits for all memory that is still on its way, a microsecond.
    fn tell(&self, code: &mut Assembler, mask: i32) {
        let unstamped = code.label();
        code.store(Double, R9, at(record::AT_NS), Is(0));
        code.compute(And, R1, Is(mask));
        code.jump_if(R1, NotEqual, Is(0), unstamped);
        stamp(code);
        code.bind(unstamped);
        code.copy(R8, R7);
        for (half, field) in self.numbers.into_iter().enumerate() {
            code.load(Word, R1, R7, field);
            code.store(Word, R9, at(record::NUMBERS) + 4 * half as i16, Of(R1));
        }
        code.load(Double, R1, R7, self.leader);
        code.load(Double, R1, R1, self.start);
        code.store(Double, R9, at(record::START_NS), Of(R1));
        for (kind, field) in self.ticks.into_iter().enumerate() {
            code.load(Double, R1, R7, field);
            code.store(Double, R9, at(record::ALIVE + 1 + kind), Of(R1));
        }
        code.load(Double, R7, R7, self.signal);
        for (kind, field) in self.ended.into_iter().chain(self.children).enumerate() {
            code.load(Double, R1, R7, field);
            code.store(Double, R9, at(record::ENDED + kind), Of(R1));
        }
        self.run_time(code);
    }

    /// For how long the thread of R8 has run, as far as it is added up; and when that was, where it runs, or its state.
    fn run_time(&self, code: &mut Assembler) {
        let (waits, same, done) = (code.label(), code.label(), code.label());
        code.store(Double, R9, at(record::ADDED_UP_NS), Is(0));
        code.load(Word, R1, R8, self.is_on_cpu);
        code.jump_if(R1, Equal, Is(0), waits);
        code.load(Double, R3, R8, self.queue);
        code.load(Double, R3, R3, self.cpu_queue);
        code.load(Double, R1, R3, self.clocks[0]);
        code.load(Double, R2, R3, self.clocks[1]);
        code.compute(Subtract, R1, Of(R2));
        code.store(Double, R9, at(record::BEHIND_NS), Of(R1));
        // Its CPU may be adding up right now, first noting when: both numbers must be of the same time.
        code.load(Double, R2, R8, self.added_up);
        code.load(Double, R3, R8, self.run);
        code.load(Double, R1, R8, self.added_up);
        code.jump_if(R1, Equal, Of(R2), same);
        code.load(Double, R3, R8, self.run);
        code.bind(same);
        code.store(Double, R9, at(record::ADDED_UP_NS), Of(R1));
        code.store(Double, R9, at(record::ALIVE), Of(R3));
        stamp(code);
        code.jump(done);
        code.bind(waits);
        code.load(Word, R1, R8, self.state);
        code.store(Double, R9, at(record::STATE), Of(R1));
        code.load(Double, R3, R8, self.run);
        code.store(Double, R9, at(record::ALIVE), Of(R3));
        code.bind(done);
    }
}

fn stamp(code: &mut Assembler) {
    code.call(Helper::MonotonicNs);
    code.store(Double, R9, at(record::AT_NS), Of(R0));
}

/// Between two stamps: 64 threads are 13 us.
const STAMPED_EVERY: i32 = 64;

/// Where a word of the record is.
fn at(word: usize) -> i16 {
    8 * word as i16
}

fn write(code: &mut Assembler) {
    code.load(Double, R1, R6, 0);
    code.load(Double, R1, R1, 0);
    code.copy(R2, R9);
    code.set(R3, record::BYTES as i32);
    code.call(Helper::WriteSequence);
}

/// `BPF_TASK_ITER_ALL_THREADS`.
const ALL_THREADS: i32 = 1;
/// `struct bpf_iter_task`.
const ITERATOR_BYTES: usize = 24;
/// In place of a number of bytes: there were more threads.
pub const NO_ROOM: u64 = u64::MAX;

/// Functions of the kernel that walk its list, by number.
struct Functions {
    lock: u32,
    begin: u32,
    next: u32,
    end: u32,
    unlock: u32,
}

impl Functions {
    /// None before Linux 6.7.
    fn find(btf: &Btf) -> Option<Self> {
        let function = |name| btf.find(Kind::Function, name);
        Some(Self {
            lock: function("bpf_rcu_read_lock")?,
            begin: function("bpf_iter_task_new")?,
            next: function("bpf_iter_task_next")?,
            end: function("bpf_iter_task_destroy")?,
            unlock: function("bpf_rcu_read_unlock")?,
        })
    }
}

/// The walk, with the memory that it writes to.
pub struct ThreadWalk {
    program: Program,
    words: KernelWords,
}

impl ThreadWalk {
    /// With room for so many threads. None where the kernel does not take it.
    pub fn load(btf: &Btf, fields: &WalkFields, threads: usize) -> Option<Self> {
        let functions = Functions::find(btf)?;
        // One record more, of the thread that reads.
        let words = KernelWords::new("mh_threads", 1 + (threads + 1) * record::WORDS).ok()?;
        let code = fields.walking(&functions, &words).ok()?;
        let program = Program::load(Place::OnDemand, "mh_walk", &code, btf).ok()?;
        Some(Self { program, words })
    }

    /// Walks once. False where the kernel refused.
    pub fn run(&self) -> bool {
        self.program.run().is_ok()
    }

    /// Whether there were more threads than room at the last walk.
    pub fn is_too_small(&self) -> bool {
        self.filled() == NO_ROOM
    }

    /// What it wrote.
    pub fn records(&self) -> impl Iterator<Item = record::ThreadRecord> {
        let filled = usize::try_from(self.filled()).unwrap_or(0) / 8;
        // ORDER: the program has ended, and nobody else writes.
        let word = |word: &AtomicU64| word.load(Relaxed);
        let written = self.words.words().get(1..=filled).unwrap_or_default();
        written.chunks_exact(record::WORDS).map(move |words| std::array::from_fn(|at| word(&words[at])))
    }

    fn filled(&self) -> u64 {
        self.words.words()[0].load(Relaxed)
    }
}
