//! The programs that run in the kernel, instruction by instruction: this file has those of every call and every switch, whose
//! cost is paid millions of times a second; [`births`] has the rest.
//!
//! Registers: R6 is the context, R8 the thread's row, R9 and R7 as the comment beside them says. No program waits, loops
//! without bound, or takes memory.

pub mod births;
pub mod sampled;

use super::layout::{self, CallMemory, cell, cpu, header, thread};
use sys::bpf::assemble::Arithmetic::{Add, And, Multiply, ShiftLeft, ShiftRight, Subtract};
use sys::bpf::assemble::Condition::{Above, AtLeast, AtLeastSigned, Below, BelowSigned, Equal, NotEqual};
use sys::bpf::assemble::Operand::{Is, Of};
use sys::bpf::assemble::Register::{R0, R1, R2, R3, R6, R7, R8, R9};
use sys::bpf::assemble::Width::{Double, Word};
use sys::bpf::assemble::{AssembleError, Assembler, Helper, Instruction, Label, Register};
use sys::bpf::btf::Btf;

/// A program, ready to be loaded.
pub type CallProgram = Result<Vec<Instruction>, AssembleError>;

/// Where in the kernel's structures the fields lie that the programs read.
#[derive(Clone, Copy, Debug)]
pub struct CallFields {
    pub task_pid: i16,
    pub task_tgid: i16,
    pub task_flags: i16,
    pub task_on_cpu: i16,
    pub task_comm: i16,
    pub task_leader: i16,
    pub task_parent: i16,
    /// From the task to its set of control groups, to the group (in the old hierarchies by way of a controller's state), to its
    /// node, to the node's number.
    pub task_group: [Option<i16>; 5],
    /// In the registers that a thread entered the kernel with: the first argument.
    pub first_argument: i16,
    /// The number of the call.
    pub call_number: i16,
    /// What tells a 32-bit program: where, which bits, and their value.
    pub narrow: Narrow,
}

/// How a 32-bit program is told by its registers.
#[derive(Clone, Copy, Debug)]
pub struct Narrow {
    pub at: i16,
    pub bits: i32,
    pub value: i32,
}

/// The first field that this kernel does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingField(pub &'static str);

impl CallFields {
    /// Finds them all. With `of_version_1` the groups are those of the old hierarchy with that controller.
    pub fn find(btf: &Btf, of_version_1: Option<&str>) -> Result<Self, MissingField> {
        let field = |structure: &'static str, path: &'static str| {
            let offset = btf.field_offset(structure, path).ok_or(MissingField(path))?;
            i16::try_from(offset).ok().ok_or(MissingField(path))
        };
        let (group, by_way) = match of_version_1 {
            None => (field("css_set", "dfl_cgrp")?, None),
            Some(controller) => {
                let number = btf.constant("cgroup_subsys_id", &format!("{controller}_cgrp_id"));
                let number =
                    number.and_then(|number| i16::try_from(number).ok()).ok_or(MissingField("cgroup_subsys_id"))?;
                (field("css_set", "subsys")? + 8 * number, Some(field("cgroup_subsys_state", "cgroup")?))
            }
        };
        let group_node = field("cgroup", "kn")?;
        Ok(Self {
            task_pid: field("task_struct", "pid")?,
            task_tgid: field("task_struct", "tgid")?,
            task_flags: field("task_struct", "flags")?,
            task_on_cpu: field("task_struct", "on_cpu")?,
            task_comm: field("task_struct", "comm")?,
            task_leader: field("task_struct", "group_leader")?,
            task_parent: field("task_struct", "real_parent")?,
            task_group: [
                Some(field("task_struct", "cgroups")?),
                Some(group),
                by_way,
                Some(group_node),
                Some(field("kernfs_node", "id")?),
            ],
            first_argument: field("pt_regs", FIRST_ARGUMENT)?,
            call_number: field("pt_regs", CALL_NUMBER)?,
            narrow: Narrow { at: field("pt_regs", NARROW.0)?, bits: NARROW.1, value: NARROW.2 },
        })
    }
}

#[cfg(target_arch = "x86_64")]
const FIRST_ARGUMENT: &str = "di";
#[cfg(target_arch = "x86_64")]
const CALL_NUMBER: &str = "orig_ax";
/// The code segment that 32-bit programs run in. LIE: a 64-bit program that enters by the old interrupt is not told; none does.
#[cfg(target_arch = "x86_64")]
const NARROW: (&str, i32, i32) = ("cs", 0xffff, 0x23);

#[cfg(target_arch = "aarch64")]
const FIRST_ARGUMENT: &str = "orig_x0";
#[cfg(target_arch = "aarch64")]
const CALL_NUMBER: &str = "syscallno";
/// The saved processor state of a thread in 32-bit mode.
#[cfg(target_arch = "aarch64")]
const NARROW: (&str, i32, i32) = ("pstate", 0x10, 0x10);

#[cfg(target_arch = "x86_64")]
const CALL_NUMBER_WIDTH: sys::bpf::assemble::Width = Double;
#[cfg(target_arch = "aarch64")]
const CALL_NUMBER_WIDTH: sys::bpf::assemble::Width = Word;

/// What tells that an interrupt came while the program itself ran: where, which bits; their value is 0 in the kernel on x86
/// and in the program on ARM.
#[cfg(target_arch = "x86_64")]
const USER_BITS: (i32, bool) = (3, true);
#[cfg(target_arch = "aarch64")]
const USER_BITS: (i32, bool) = (0xf, false);

/// Room of the arguments of a tracepoint.
const ARGUMENT: i16 = 8;

/// A program as it grows, with what all of them need.
pub struct Draft<'a> {
    pub code: Assembler,
    pub memory: &'a CallMemory,
    pub fields: &'a CallFields,
    /// Where every program ends.
    pub end: Label,
}

impl<'a> Draft<'a> {
    /// Begins: R6 = the context.
    pub fn new(memory: &'a CallMemory, fields: &'a CallFields) -> Self {
        let mut code = Assembler::new();
        let end = code.label();
        code.copy(R6, R1);
        Self { code, memory, fields, end }
    }

    /// Ends with 0, as all programs must.
    pub fn finish(mut self) -> CallProgram {
        self.code.bind(self.end);
        self.code.set(R0, 0);
        self.code.exit();
        self.code.finish()
    }

    /// `row` = the row of the thread whose number stands in `number` (lost); to `otherwise` where it has none.
    pub fn thread_row(&mut self, row: Register, number: Register, otherwise: Label) {
        let code = &mut self.code;
        code.jump_if(number, AtLeast, Is(self.memory.size.threads.cast_signed()), otherwise);
        code.compute(ShiftLeft, number, Is(thread::SHIFT));
        code.address(row, self.memory.threads.descriptor(), 0);
        code.compute(Add, row, Of(number));
    }

    /// R8 = the current thread's row; to `bystander` where nobody follows it, with R9 = the row of this CPU. R9 = its owner.
    ///
    /// Asking the kernel who it is costs 10 ns at both ends of every call of everybody. So it is asked once after each switch, and
    /// the number stands in the CPU's row, beside the place where the thread's registers were saved when it entered the kernel:
    /// that is on its own stack, so another thread's are elsewhere, and a number that is not this thread's is never believed.
    /// What the switches tell is not enough (docs/journal/0006-system-calls.md). The CPU's own number the kernel writes into
    /// the program.
    fn current_row(&mut self, bystander: Label) {
        let (known, end) = (self.code.label(), self.end);
        cpu_row(self, R9, end);
        self.code.load(Double, R0, R9, cpu::THREAD);
        self.code.load(Double, R1, R6, 0);
        self.code.load(Double, R2, R9, cpu::REGISTERS);
        self.code.jump_if(R1, Equal, Of(R2), known);
        self.code.store(Double, R9, cpu::REGISTERS, Of(R1));
        self.ask_for_thread();
        self.code.store(Double, R9, cpu::THREAD, Of(R0));
        self.code.bind(known);
        self.owned_row(bystander);
    }

    /// The same for a program that may run in the middle of a switch. R9 = its owner.
    fn current_row_asked(&mut self, bystander: Label) {
        self.ask_for_thread();
        self.owned_row(bystander);
    }

    /// R0 = the current thread's number.
    fn ask_for_thread(&mut self) {
        self.code.call(Helper::CurrentPidTgid);
        // The lower half: the thread. Its uppermost bit is never set.
        self.code.compute(And, R0, Is(i32::MAX));
    }

    /// R8 = the row of the thread R0, R9 = its owner.
    fn owned_row(&mut self, bystander: Label) {
        self.thread_row(R8, R0, bystander);
        self.code.load(Word, R1, R8, thread::OWNER);
        self.code.jump_if(R1, Equal, Is(0), bystander);
        self.code.copy(R9, R1);
    }

    /// Adds one to a word of the header.
    pub fn count_in_header(&mut self, at: i16) {
        self.code.address(R1, self.memory.header.descriptor(), 0);
        self.code.set(R2, 1);
        self.code.add_shared(R1, at, R2);
    }
}

/// `row` = the row of this CPU; to `end` where it has none. R0 is lost.
pub fn cpu_row(draft: &mut Draft<'_>, row: Register, end: Label) {
    let (memory, code) = (draft.memory, &mut draft.code);
    code.call(Helper::ProcessorNumber);
    code.jump_if(R0, AtLeast, Is(memory.size.cpus.cast_signed()), end);
    code.compute(ShiftLeft, R0, Is(cpu::SHIFT));
    code.address(row, memory.cpus.descriptor(), 0);
    code.compute(Add, row, Of(R0));
}

/// At the beginning of every call on the machine: notes which and when. `wanted` empty: all calls.
pub fn enter(memory: &CallMemory, fields: &CallFields, wanted: &[u32]) -> CallProgram {
    let mut draft = Draft::new(memory, fields);
    let (bystander, measure) = (draft.code.label(), draft.code.label());
    draft.current_row(bystander);
    let (end, code) = (draft.end, &mut draft.code);
    code.load(Double, R7, R6, ARGUMENT);
    for call in wanted {
        code.jump_if(R7, Equal, Is(call.cast_signed()), measure);
    }
    if !wanted.is_empty() {
        code.store(Word, R8, thread::CALL, Is(0));
        code.jump(end);
    }
    code.bind(measure);
    // Unsigned: -1 is above too.
    let known = code.label();
    code.jump_if(R7, Below, Is(layout::CALLS_KNOWN.cast_signed()), known);
    code.set(R7, layout::CALL_OTHER.cast_signed());
    code.bind(known);
    code.load(Double, R1, R6, 0);
    code.load(Double, R1, R1, fields.narrow.at);
    code.compute(And, R1, Is(fields.narrow.bits));
    let wide = code.label();
    code.jump_if(R1, NotEqual, Is(fields.narrow.value), wide);
    code.set(R7, layout::CALL_OF_32_BIT.cast_signed());
    code.bind(wide);
    code.compute(Add, R7, Is(1));
    // What a thread waited after its last call was counted, on its way out of the kernel, is not this call's.
    code.store(Double, R8, thread::WAITED, Is(0));
    // Last: what the program did before is not counted as the call's time.
    code.call(Helper::MonotonicNs);
    code.store(Double, R8, thread::SINCE, Of(R0));
    // In this order: a reader who sees the call sees when it began.
    code.store(Word, R8, thread::CALL, Of(R7));
    code.jump(end);

    code.bind(bystander);
    code.load(Double, R1, R9, cpu::BYSTANDER_CALLS);
    code.compute(Add, R1, Is(1));
    code.store(Double, R9, cpu::BYSTANDER_CALLS, Of(R1));
    draft.finish()
}

/// At the end of every call: adds it to its cell.
pub fn exit(memory: &CallMemory, fields: &CallFields) -> CallProgram {
    let mut draft = Draft::new(memory, fields);
    let end = draft.end;
    draft.current_row(end);
    duration(&mut draft);
    unseen_return(&mut draft);
    find_cell(&mut draft);
    account(&mut draft);
    account_error(&mut draft);
    account_duration(&mut draft);
    let changes = draft.code.label();
    draft.code.load(Word, R1, R8, thread::OWNER_NEXT);
    draft.code.jump_if(R1, NotEqual, Is(0), changes);
    draft.code.jump(end);
    draft.code.bind(changes);
    births::change_owner(&mut draft);
    draft.finish()
}

/// R7 = how long the call took, R9 = 512 times the owner plus the call: the number of its place.
fn duration(draft: &mut Draft<'_>) {
    let (end, code) = (draft.end, &mut draft.code);
    code.load(Word, R7, R8, thread::CALL);
    code.jump_if(R7, Equal, Is(0), end);
    code.compute(Subtract, R7, Is(1));
    // The masks change nothing; they let the verifier know how far an address can lead.
    code.compute(And, R7, Is(layout::CALLS.cast_signed() - 1));
    code.compute(And, R9, Is(layout::OWNERS.cast_signed() - 1));
    code.compute(ShiftLeft, R9, Is(layout::CALLS.trailing_zeros().cast_signed()));
    code.compute(Add, R9, Of(R7));
    code.call(Helper::MonotonicNs);
    code.load(Double, R1, R8, thread::SINCE);
    code.compute(Subtract, R0, Of(R1));
    code.address(R1, draft.memory.header.descriptor(), 0);
    code.load(Double, R1, R1, header::CORRECTION_NS);
    code.compute(Subtract, R0, Of(R1));
    code.copy(R7, R0);
    let positive = code.label();
    code.jump_if(R7, AtLeastSigned, Is(0), positive);
    code.set(R7, 0);
    code.bind(positive);
    code.store(Word, R8, thread::CALL, Is(0));
}

/// A thread that ends a call is on a CPU. If no switch was seen to bring it there, its wait is taken to last until now: some threads
/// leave their CPU behind the tracepoint's back, and nobody tells who comes after them (docs/journal/0006-system-calls.md).
/// R7 = how long the call took.
fn unseen_return(draft: &mut Draft<'_>) {
    let (seen, code) = (draft.code.label(), &mut draft.code);
    code.load(Double, R1, R8, thread::OFF_SINCE);
    code.jump_if(R1, Equal, Is(0), seen);
    code.store(Double, R8, thread::OFF_SINCE, Is(0));
    code.address(R2, draft.memory.header.descriptor(), 0);
    code.set(R3, 1);
    code.add_shared(R2, header::RETURNS_UNSEEN, R3);
    // What began before the call was not waited in it.
    code.load(Double, R2, R8, thread::SINCE);
    code.jump_if(R1, Below, Of(R2), seen);
    code.compute(Subtract, R1, Of(R2));
    code.copy(R2, R7);
    code.compute(Subtract, R2, Of(R1));
    code.jump_if(R2, BelowSigned, Is(0), seen);
    code.load(Double, R1, R8, thread::WAITED);
    code.compute(Add, R1, Of(R2));
    code.store(Double, R8, thread::WAITED, Of(R1));
    code.bind(seen);
}

/// R8 = the row of a thread that leaves its CPU: counts it where nobody saw it come. R1, R2 are lost.
pub fn count_unseen_return(draft: &mut Draft<'_>) {
    let seen = draft.code.label();
    draft.code.load(Double, R1, R8, thread::OFF_SINCE);
    draft.code.jump_if(R1, Equal, Is(0), seen);
    draft.count_in_header(header::RETURNS_UNSEEN);
    draft.code.bind(seen);
}

/// R9 = this CPU's cell. A pair that occurs for the first time gets one.
fn find_cell(draft: &mut Draft<'_>) {
    let (end, memory, code) = (draft.end, draft.memory, &mut draft.code);
    let (found, has_room) = (code.label(), code.label());
    code.compute(ShiftLeft, R9, Is(3));
    code.address(R1, memory.places.descriptor(), 0);
    code.compute(Add, R1, Of(R9));
    code.load(Double, R9, R1, 0);
    code.jump_if(R9, NotEqual, Is(0), found);

    code.address(R2, memory.header.descriptor(), 0);
    code.set(R9, 1);
    code.fetch_add_shared(R2, header::CELLS_NEXT, R9);
    code.jump_if(R9, Below, Is(memory.size.cells.cast_signed()), has_room);
    code.set(R9, 1);
    code.add_shared(R2, header::CELLS_REFUSED, R9);
    code.set(R9, layout::CELL_OTHERS.cast_signed());
    code.bind(has_room);
    code.set(R0, 0);
    code.compare_exchange(R1, 0, R9);
    // Another CPU was faster: its cell is the pair's, ours stays empty.
    code.jump_if(R0, Equal, Is(0), found);
    code.copy(R9, R0);

    code.bind(found);
    code.jump_if(R9, AtLeast, Is(memory.size.cells.cast_signed()), end);
    code.call(Helper::ProcessorNumber);
    code.jump_if(R0, AtLeast, Is(memory.size.cpus.cast_signed()), end);
    code.compute(Multiply, R0, Is(memory.size.cells.cast_signed()));
    code.compute(Add, R0, Of(R9));
    code.compute(Multiply, R0, Is(cell::BYTES));
    code.address(R9, memory.cells.descriptor(), 0);
    code.compute(Add, R9, Of(R0));
}

/// Time, waiting, and who was slowest.
fn account(draft: &mut Draft<'_>) {
    let first_argument = draft.fields.first_argument;
    let code = &mut draft.code;
    code.load(Double, R1, R9, cell::TOTAL);
    code.compute(Add, R1, Of(R7));
    code.store(Double, R9, cell::TOTAL, Of(R1));
    let stayed = code.label();
    code.load(Double, R1, R8, thread::WAITED);
    code.jump_if(R1, Equal, Is(0), stayed);
    code.load(Double, R2, R9, cell::WAITED);
    code.compute(Add, R2, Of(R1));
    code.store(Double, R9, cell::WAITED, Of(R2));
    code.bind(stayed);
    let shorter = code.label();
    code.load(Double, R1, R9, cell::MAX);
    code.jump_if(R1, AtLeast, Of(R7), shorter);
    code.store(Double, R9, cell::MAX, Of(R7));
    code.load(Double, R1, R6, 0);
    code.load(Double, R1, R1, first_argument);
    code.store(Double, R9, cell::MAX_ARGUMENT, Of(R1));
    code.call(Helper::CurrentPidTgid);
    code.store(Double, R9, cell::MAX_WHO, Of(R0));
    code.call(Helper::MonotonicNs);
    code.store(Double, R9, cell::MAX_WHEN, Of(R0));
    code.bind(shorter);
}

/// Results from -4095 to -1 are errors.
fn account_error(draft: &mut Draft<'_>) {
    let code = &mut draft.code;
    let fine = code.label();
    code.load(Double, R1, R6, ARGUMENT);
    code.set(R2, 0);
    code.compute(Subtract, R2, Of(R1));
    // Now errors are 1 to 4095, and everything else is above or zero.
    code.jump_if(R2, Equal, Is(0), fine);
    code.jump_if(R2, Above, Is(4095), fine);
    for kind in 0..cell::ERROR_KINDS {
        let at = cell::ERRORS + 8 * kind;
        let (taken, next) = (code.label(), code.label());
        code.load(Double, R1, R9, at);
        code.jump_if(R1, NotEqual, Is(0), taken);
        // The first of its kind.
        code.copy(R1, R2);
        code.compute(ShiftLeft, R1, Is(cell::ERROR_SHIFT));
        code.bind(taken);
        code.copy(R3, R1);
        code.compute(ShiftRight, R3, Is(cell::ERROR_SHIFT));
        code.jump_if(R3, NotEqual, Of(R2), next);
        code.compute(Add, R1, Is(1));
        code.store(Double, R9, at, Of(R1));
        code.jump(fine);
        code.bind(next);
    }
    code.load(Double, R1, R9, cell::ERRORS_OTHER);
    code.compute(Add, R1, Is(1));
    code.store(Double, R9, cell::ERRORS_OTHER, Of(R1));
    code.bind(fine);
}

/// One more in the power of two that R7 lies in: R2 = its number, halving what is left of R1.
fn account_duration(draft: &mut Draft<'_>) {
    let code = &mut draft.code;
    let longest = i32::from(cell::DURATION_KINDS) - 1;
    code.copy(R1, R7);
    code.compute(ShiftRight, R1, Is(cell::DURATION_SHIFT));
    code.set(R2, 0);
    let counted = code.label();
    for halving in [16, 8, 4, 2, 1] {
        let below = code.label();
        code.jump_if(R1, Below, Is(1 << halving), below);
        code.compute(Add, R2, Is(halving));
        code.compute(ShiftRight, R1, Is(halving));
        code.bind(below);
    }
    code.jump_if(R2, Below, Is(longest), counted);
    code.set(R2, longest);
    code.bind(counted);
    code.compute(ShiftLeft, R2, Is(3));
    code.compute(Add, R2, Of(R9));
    code.load(Double, R1, R2, cell::DURATIONS);
    code.compute(Add, R1, Is(1));
    code.store(Double, R2, cell::DURATIONS, Of(R1));
}

/// When a CPU goes from one thread to another: the one begins to wait, the other's wait ends.
pub fn switch(memory: &CallMemory, fields: &CallFields) -> CallProgram {
    let mut draft = Draft::new(memory, fields);
    let end = draft.end;
    let (comes, known) = (draft.code.label(), draft.code.label());
    // R9 = the time, once somebody needs it.
    draft.code.set(R9, 0);
    draft.code.load(Double, R1, R6, ARGUMENT);
    draft.code.load(Word, R1, R1, fields.task_pid);
    draft.thread_row(R8, R1, comes);
    draft.code.load(Word, R1, R8, thread::OWNER);
    draft.code.jump_if(R1, Equal, Is(0), comes);
    count_unseen_return(&mut draft);
    draft.code.call(Helper::MonotonicNs);
    draft.code.copy(R9, R0);
    draft.code.store(Double, R8, thread::OFF_SINCE, Of(R9));

    draft.code.bind(comes);
    cpu_row(&mut draft, R8, end);
    draft.code.load(Double, R1, R6, 2 * ARGUMENT);
    draft.code.load(Word, R1, R1, fields.task_pid);
    draft.code.store(Double, R8, cpu::REGISTERS, Is(0));
    draft.thread_row(R8, R1, end);
    let code = &mut draft.code;
    code.load(Word, R1, R8, thread::OWNER);
    code.jump_if(R1, Equal, Is(0), end);
    code.load(Double, R7, R8, thread::OFF_SINCE);
    code.jump_if(R7, Equal, Is(0), end);
    code.jump_if(R9, NotEqual, Is(0), known);
    code.call(Helper::MonotonicNs);
    code.copy(R9, R0);
    code.bind(known);
    code.compute(Subtract, R9, Of(R7));
    code.store(Double, R8, thread::OFF_SINCE, Is(0));
    let between = code.label();
    code.load(Word, R1, R8, thread::CALL);
    code.jump_if(R1, Equal, Is(0), between);
    code.load(Double, R1, R8, thread::WAITED);
    code.compute(Add, R1, Of(R9));
    code.store(Double, R8, thread::WAITED, Of(R1));
    code.jump(end);
    code.bind(between);
    code.load(Double, R1, R8, thread::IDLE);
    code.compute(Add, R1, Of(R9));
    code.store(Double, R8, thread::IDLE, Of(R1));
    draft.finish()
}
