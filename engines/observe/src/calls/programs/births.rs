//! The programs that follow threads: born, executing another program, ended, and those that were there before. They run
//! thousands of times a second at most, so they may look things up.
//!
//! Registers: R6 is the task, R7 the time, R8 the thread's row, R9 its owner. The stack holds a key of 16 bytes, a value
//! below it, and the task while R6 is lent.

use super::super::layout::{self, CallMemory, cpu, header, owner, thread};
use super::{ARGUMENT, CALL_NUMBER_WIDTH, CallFields, CallProgram, Draft, cpu_row};
use sys::bpf::assemble::Arithmetic::{Add, And, ShiftLeft, Subtract};
use sys::bpf::assemble::Condition::{AnyBit, AtLeast, AtMost, Below, Equal, NotEqual};
use sys::bpf::assemble::Helper;
use sys::bpf::assemble::Operand::{Is, Of};
use sys::bpf::assemble::Register::{R0, R1, R2, R3, R4, R6, R7, R8, R9, R10};
use sys::bpf::assemble::Width::{Double, Word};

/// A program's name as the kernel keeps it: cut to 15 bytes, zeros behind.
pub type KernelName = [u8; 16];

/// Which threads are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// All but this process's own.
    AllBut {
        /// This process.
        own: u32,
    },
    /// Those of programs with this name, from their start, with what they fork until that executes another program.
    Named(KernelName),
    /// Those of this process and its descendants, whatever they execute.
    Tree {
        /// Its root.
        root: u32,
    },
    /// Those that are born of the measuring thread while it says so, from the program on that they execute, and their
    /// descendants.
    Born,
}

/// What the table is by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallGrouping {
    /// Everything is one.
    Together,
    /// Each process for itself.
    Process,
    /// Each thread for itself.
    Thread,
    /// By the program's name.
    Name,
    /// By control group.
    Group,
}

const KEY_AT: i16 = -16;
const VALUE_AT: i16 = -24;
const TASK_AT: i16 = -32;
/// Kernel threads and the kernel's helpers for io_uring make no calls; threads that are ending make no more.
const FLAGS_NOT_FOLLOWED: i32 = 0x0020_0000 | 0x10 | 0x4;
/// LIMIT: a process further below the root than this is not found when the tree is adopted; it is followed when born later.
const GENERATIONS_MAX: usize = 32;
const NO_REPLACEMENT: i32 = 1;

/// When a thread forks another: the child is followed where the parent is.
pub fn fork(memory: &CallMemory, fields: &CallFields, grouping: CallGrouping) -> CallProgram {
    let mut draft = Draft::new(memory, fields);
    let end = draft.end;
    let refused = draft.code.label();
    draft.code.load(Double, R1, R6, 0);
    draft.code.load(Double, R6, R6, ARGUMENT);
    draft.code.load(Word, R1, R1, fields.task_pid);
    draft.thread_row(R8, R1, end);
    draft.code.load(Word, R9, R8, thread::OWNER);
    draft.code.load(Word, R1, R6, fields.task_pid);
    draft.thread_row(R8, R1, refused);
    let follow = draft.code.label();
    draft.code.jump_if(R9, NotEqual, Is(0), follow);
    // Whoever had the number before has left nothing.
    draft.code.store(Word, R8, thread::OWNER, Is(0));
    draft.code.jump(end);
    draft.code.bind(refused);
    draft.count_in_header(header::THREADS_REFUSED);
    draft.code.jump(end);

    draft.code.bind(follow);
    let known = draft.code.label();
    if matches!(grouping, CallGrouping::Thread | CallGrouping::Process) {
        // Our child is ours until it executes its program.
        draft.code.jump_if(R9, Equal, Is(layout::OWNER_OURSELVES.cast_signed()), known);
        if grouping == CallGrouping::Process {
            draft.code.load(Word, R1, R6, fields.task_pid);
            draft.code.load(Word, R2, R6, fields.task_tgid);
            draft.code.jump_if(R1, NotEqual, Of(R2), known);
        }
        owner_of(&mut draft, grouping);
    }
    draft.code.bind(known);
    begin(&mut draft, Running::NotYet);
    draft.finish()
}

/// When a thread has executed another program.
pub fn execute(memory: &CallMemory, fields: &CallFields, selection: Selection, grouping: CallGrouping) -> CallProgram {
    let mut draft = Draft::new(memory, fields);
    let end = draft.end;
    draft.code.load(Word, R9, R6, ARGUMENT);
    draft.code.load(Double, R6, R6, 0);
    draft.code.load(Word, R1, R6, fields.task_pid);
    draft.code.copy(R7, R1);
    draft.thread_row(R8, R1, end);
    let same = draft.code.label();
    draft.code.jump_if(R9, Equal, Of(R7), same);
    // A thread that was not the first has got the first one's number.
    cpu_row(&mut draft, R1, end);
    draft.code.store(Double, R1, cpu::THREAD, Of(R7));
    draft.thread_row(R7, R9, end);
    for at in [8, 16, 24, 32, 40, 48, 0] {
        draft.code.load(Double, R1, R7, at);
        draft.code.store(Double, R8, at, Of(R1));
    }
    draft.code.store(Double, R7, thread::OWNER, Is(0));
    draft.code.bind(same);
    draft.code.load(Word, R9, R8, thread::OWNER);
    let (newcomer, leaves) = (draft.code.label(), draft.code.label());
    if let Selection::Named(name) = selection {
        let (others_name, followed) = (draft.code.label(), draft.code.label());
        is_named(&mut draft, name, others_name);
        draft.code.jump_if(R9, NotEqual, Is(0), followed);
        draft.code.jump(newcomer);
        draft.code.bind(others_name);
        draft.code.jump_if(R9, Equal, Is(0), end);
        draft.code.set(R9, 0);
        draft.code.jump(leaves);
        draft.code.bind(followed);
    } else {
        let otherwise = if matches!(selection, Selection::AllBut { .. }) { newcomer } else { end };
        draft.code.jump_if(R9, Equal, Is(0), otherwise);
        if selection == Selection::Born {
            // What our child did before was our own preparing: its owner is left behind, and the call that executes, too.
            draft.code.jump_if(R9, Equal, Is(layout::OWNER_OURSELVES.cast_signed()), newcomer);
        }
    }
    match grouping {
        CallGrouping::Name => {
            owner_of(&mut draft, grouping);
            draft.code.jump(leaves);
        }
        CallGrouping::Process | CallGrouping::Thread => {
            rename(&mut draft);
            draft.code.jump(end);
        }
        CallGrouping::Together | CallGrouping::Group => draft.code.jump(end),
    }
    // The verifier refuses what cannot be reached.
    let is_named = matches!(selection, Selection::Named(_));
    if is_named || grouping == CallGrouping::Name {
        draft.code.bind(leaves);
        leave_after_call(&mut draft);
    }
    if is_named || matches!(selection, Selection::AllBut { .. } | Selection::Born) {
        draft.code.bind(newcomer);
        owner_of(&mut draft, grouping);
        begin(&mut draft, Running::Now);
    }
    draft.finish()
}

/// R9 becomes the owner when the call is over in which the thread is, or now where that is not measured.
fn leave_after_call(draft: &mut Draft<'_>) {
    let end = draft.end;
    let between = draft.code.label();
    draft.code.compute(Add, R9, Is(1));
    draft.code.store(Word, R8, thread::OWNER_NEXT, Of(R9));
    draft.code.load(Word, R1, R8, thread::CALL);
    draft.code.jump_if(R1, Equal, Is(0), between);
    draft.code.jump(end);
    draft.code.bind(between);
    change_owner(draft);
}

/// The thread of R8 goes from its owner to the next one; the program ends.
pub fn change_owner(draft: &mut Draft<'_>) {
    let end = draft.end;
    draft.code.load(Word, R9, R8, thread::OWNER);
    settle(draft);
    draft.code.load(Word, R9, R8, thread::OWNER_NEXT);
    draft.code.compute(Subtract, R9, Is(1));
    draft.code.jump_if(R9, Equal, Is(0), end);
    begin(draft, Running::Now);
}

/// When a thread ends.
pub fn end(memory: &CallMemory, fields: &CallFields) -> CallProgram {
    let mut draft = Draft::new(memory, fields);
    let end = draft.end;
    draft.code.load(Double, R6, R6, 0);
    draft.code.load(Word, R1, R6, fields.task_pid);
    draft.thread_row(R8, R1, end);
    draft.code.load(Word, R9, R8, thread::OWNER);
    draft.code.jump_if(R9, Equal, Is(0), end);
    settle(&mut draft);
    draft.finish()
}

/// Once for every thread there is: those that are asked for are followed from now on.
pub fn adopt(
    memory: &CallMemory,
    fields: &CallFields,
    selection: Selection,
    grouping: CallGrouping,
    wanted: &[u32],
) -> CallProgram {
    let mut draft = Draft::new(memory, fields);
    let end = draft.end;
    let code = &mut draft.code;
    code.load(Double, R6, R6, ARGUMENT);
    code.jump_if(R6, Equal, Is(0), end);
    code.store(Double, R10, TASK_AT, Of(R6));
    code.load(Word, R1, R6, fields.task_flags);
    code.jump_if(R1, AnyBit, Is(FLAGS_NOT_FOLLOWED), end);
    code.load(Word, R1, R6, fields.task_pid);
    draft.thread_row(R8, R1, end);
    draft.code.load(Word, R1, R8, thread::OWNER);
    let is_new = draft.code.label();
    draft.code.jump_if(R1, Equal, Is(0), is_new);
    wake(&mut draft);
    draft.code.bind(is_new);
    // A process is chosen, and named, by its first thread.
    draft.code.load(Double, R6, R6, fields.task_leader);
    select(&mut draft, selection);
    if grouping == CallGrouping::Thread {
        draft.code.load(Double, R6, R10, TASK_AT);
    }
    let known = draft.code.label();
    if grouping == CallGrouping::Process {
        let first = draft.code.label();
        draft.code.load(Word, R1, R6, fields.task_tgid);
        draft.thread_row(R9, R1, first);
        draft.code.load(Word, R9, R9, thread::OWNER);
        draft.code.jump_if(R9, NotEqual, Is(0), known);
        draft.code.bind(first);
    }
    owner_of(&mut draft, grouping);
    draft.code.bind(known);
    draft.code.load(Double, R6, R10, TASK_AT);
    begin(&mut draft, Running::AsItIs { wanted });
    draft.finish()
}

/// A thread that got its CPU while an earlier pass took it for one that waits is not waiting: nobody has noted the end. The
/// program ends.
fn wake(draft: &mut Draft<'_>) {
    let (end, on_cpu_at) = (draft.end, draft.fields.task_on_cpu);
    let code = &mut draft.code;
    code.load(Word, R1, R6, on_cpu_at);
    code.jump_if(R1, Equal, Is(0), end);
    code.load(Double, R1, R8, thread::OFF_SINCE);
    code.load(Double, R2, R8, thread::BORN);
    code.jump_if(R1, NotEqual, Of(R2), end);
    code.store(Double, R8, thread::OFF_SINCE, Is(0));
    code.jump(end);
}

/// To the end where the process whose leader is R6 is not asked for.
fn select(draft: &mut Draft<'_>, selection: Selection) {
    let (end, fields) = (draft.end, *draft.fields);
    match selection {
        Selection::Named(name) => is_named(draft, name, end),
        Selection::AllBut { own } => {
            draft.code.load(Word, R1, R6, fields.task_tgid);
            draft.code.jump_if(R1, Equal, Is(own.cast_signed()), end);
        }
        Selection::Tree { root } => {
            let found = draft.code.label();
            draft.code.copy(R7, R6);
            for _generation in 0..GENERATIONS_MAX {
                draft.code.load(Word, R1, R7, fields.task_tgid);
                draft.code.jump_if(R1, Equal, Is(root.cast_signed()), found);
                draft.code.jump_if(R1, AtMost, Is(1), end);
                draft.code.load(Double, R7, R7, fields.task_parent);
            }
            draft.code.jump(end);
            draft.code.bind(found);
        }
        // Never adopted: see who calls.
        Selection::Born => {}
    }
}

/// To `otherwise` where the task of R6 has another name.
fn is_named(draft: &mut Draft<'_>, name: KernelName, otherwise: sys::bpf::assemble::Label) {
    read_name(draft);
    let [low, high] =
        [&name[..8], &name[8..]].map(|half| u64::from_ne_bytes(half.try_into().expect("half of sixteen bytes")));
    for (at, half) in [(KEY_AT, low), (KEY_AT + 8, high)] {
        draft.code.load(Double, R1, R10, at);
        draft.code.set_wide(R2, half);
        draft.code.jump_if(R1, NotEqual, Of(R2), otherwise);
    }
}

/// The key = the name of the task of R6, zeros behind it.
fn read_name(draft: &mut Draft<'_>) {
    draft.code.store(Double, R10, KEY_AT, Is(0));
    draft.code.store(Double, R10, KEY_AT + 8, Is(0));
    draft.code.copy(R1, R10);
    draft.code.compute(Add, R1, Is(KEY_AT.into()));
    copy_name(draft);
}

/// Copies the name of the task of R6 to where R1 points.
fn copy_name(draft: &mut Draft<'_>) {
    let at = draft.fields.task_comm;
    draft.code.set(R2, size_of::<KernelName>() as i32);
    draft.code.copy(R3, R6);
    draft.code.compute(Add, R3, Is(at.into()));
    draft.code.call(Helper::ReadKernelString);
}

/// The key = the number of the control group of the task of R6.
fn read_group(draft: &mut Draft<'_>) {
    let path = draft.fields.task_group;
    draft.code.copy(R3, R6);
    for at in path.into_iter().flatten() {
        // Each pointer is read by the kernel's careful reader: a group that is being removed may be anywhere.
        draft.code.compute(Add, R3, Is(at.into()));
        draft.code.store(Double, R10, KEY_AT, Is(0));
        draft.code.copy(R1, R10);
        draft.code.compute(Add, R1, Is(KEY_AT.into()));
        draft.code.set(R2, 8);
        draft.code.call(Helper::ReadKernel);
        draft.code.load(Double, R3, R10, KEY_AT);
    }
    draft.code.store(Double, R10, KEY_AT + 8, Is(0));
}

/// R9 = the owner of the task of R6; R7 is lost.
fn owner_of(draft: &mut Draft<'_>, grouping: CallGrouping) {
    match grouping {
        CallGrouping::Together => return draft.code.set(R9, layout::OWNER_ALL.cast_signed()),
        CallGrouping::Process | CallGrouping::Thread => return new_owner(draft, grouping),
        CallGrouping::Name => read_name(draft),
        CallGrouping::Group => read_group(draft),
    }
    let (new, known, found) = (draft.code.label(), draft.code.label(), draft.code.label());
    look_up(draft);
    draft.code.jump_if(R0, Equal, Is(0), new);
    draft.code.bind(found);
    draft.code.load(Double, R9, R0, 0);
    draft.code.jump(known);

    draft.code.bind(new);
    new_owner(draft, grouping);
    draft.code.store(Double, R10, VALUE_AT, Of(R9));
    address_key(draft);
    draft.code.copy(R3, R10);
    draft.code.compute(Add, R3, Is(VALUE_AT.into()));
    draft.code.set(R4, NO_REPLACEMENT);
    draft.code.call(Helper::MapUpdate);
    draft.code.jump_if(R0, Equal, Is(0), known);
    // Another CPU was faster; or the table is full, and then the new owner is known to nobody else.
    look_up(draft);
    draft.code.jump_if(R0, NotEqual, Is(0), found);
    draft.code.bind(known);
}

fn address_key(draft: &mut Draft<'_>) {
    draft.code.map(R1, draft.memory.keys.descriptor());
    draft.code.copy(R2, R10);
    draft.code.compute(Add, R2, Is(KEY_AT.into()));
}

fn look_up(draft: &mut Draft<'_>) {
    address_key(draft);
    draft.code.call(Helper::MapLookup);
}

/// R9 = a new owner, described by the task of R6; R7 is lost.
fn new_owner(draft: &mut Draft<'_>, grouping: CallGrouping) {
    let fields = *draft.fields;
    let (has_room, done) = (draft.code.label(), draft.code.label());
    draft.code.address(R1, draft.memory.header.descriptor(), 0);
    draft.code.set(R9, 1);
    draft.code.fetch_add_shared(R1, header::OWNERS_NEXT, R9);
    draft.code.jump_if(R9, Below, Is(layout::OWNERS.cast_signed()), has_room);
    draft.count_in_header(header::OWNERS_REFUSED);
    draft.code.set(R9, layout::OWNER_OTHERS.cast_signed());
    draft.code.jump(done);
    draft.code.bind(has_room);
    owner_row(draft);
    for (field, at) in [(fields.task_tgid, owner::TGID), (fields.task_pid, owner::THREAD)] {
        draft.code.load(Word, R1, R6, field);
        draft.code.store(Word, R7, at, Of(R1));
    }
    if grouping == CallGrouping::Group {
        draft.code.load(Double, R1, R10, KEY_AT);
        draft.code.store(Double, R7, owner::GROUP, Of(R1));
    }
    draft.code.copy(R1, R7);
    draft.code.compute(Add, R1, Is(owner::NAME.into()));
    copy_name(draft);
    draft.code.bind(done);
}

/// R7 = the row of the owner R9; to the end where there is no such owner.
fn owner_row(draft: &mut Draft<'_>) {
    let (end, memory) = (draft.end, draft.memory);
    draft.code.copy(R2, R9);
    draft.code.jump_if(R2, AtLeast, Is(layout::OWNERS.cast_signed()), end);
    draft.code.compute(ShiftLeft, R2, Is(owner::SHIFT));
    draft.code.address(R7, memory.owners.descriptor(), 0);
    draft.code.compute(Add, R7, Of(R2));
}

/// The owner R9 is called like the task of R6 from now on.
fn rename(draft: &mut Draft<'_>) {
    owner_row(draft);
    draft.code.copy(R1, R7);
    draft.code.compute(Add, R1, Is(owner::NAME.into()));
    copy_name(draft);
}

/// What a thread does that begins to be followed.
enum Running<'a> {
    /// It waits for its first turn, and is of its parent's kind.
    NotYet,
    /// It is the current one.
    Now,
    /// Whatever the kernel says; of the calls only those, or all.
    AsItIs { wanted: &'a [u32] },
}

/// The thread of R8, whose task is R6, is followed for the owner R9 from now on; the program ends.
fn begin(draft: &mut Draft<'_>, running: Running<'_>) {
    let end = draft.end;
    owner_row(draft);
    draft.code.set(R1, 1);
    draft.code.add_shared(R7, owner::BEGUN, R1);
    draft.code.call(Helper::MonotonicNs);
    draft.code.copy(R7, R0);
    let code = &mut draft.code;
    for at in [thread::IDLE, thread::WAITED, thread::OFF_SINCE] {
        code.store(Double, R8, at, Is(0));
    }
    code.store(Word, R8, thread::OWNER_NEXT, Is(0));
    code.store(Double, R8, thread::BORN, Of(R7));
    code.store(Word, R8, thread::CALL, Is(0));
    match running {
        Running::Now => {}
        Running::NotYet => code.store(Double, R8, thread::OFF_SINCE, Of(R7)),
        Running::AsItIs { wanted } => as_it_is(draft, wanted),
    }
    // Last: from here on the other programs believe what stands in the row.
    draft.code.store(Word, R8, thread::OWNER, Of(R9));
    draft.code.jump(end);
}

/// A thread that is on no CPU waits, in a call or between two; what it does that is on one is known at its next call.
fn as_it_is(draft: &mut Draft<'_>, wanted: &[u32]) {
    let fields = *draft.fields;
    let code = &mut draft.code;
    let (known, is_wanted) = (code.label(), code.label());
    code.load(Word, R1, R6, fields.task_on_cpu);
    code.jump_if(R1, NotEqual, Is(0), known);
    code.store(Double, R8, thread::OFF_SINCE, Of(R7));
    code.copy(R1, R6);
    code.call(Helper::TaskRegisters);
    code.load(Double, R1, R0, fields.narrow.at);
    code.compute(And, R1, Is(fields.narrow.bits));
    code.jump_if(R1, Equal, Is(fields.narrow.value), known);
    code.load(CALL_NUMBER_WIDTH, R1, R0, fields.call_number);
    code.jump_if(R1, AtLeast, Is(layout::CALLS_KNOWN.cast_signed()), known);
    for call in wanted {
        code.jump_if(R1, Equal, Is(call.cast_signed()), is_wanted);
    }
    if !wanted.is_empty() {
        code.jump(known);
    }
    code.bind(is_wanted);
    code.compute(Add, R1, Is(1));
    code.store(Word, R8, thread::CALL, Of(R1));
    code.store(Double, R8, thread::SINCE, Of(R7));
    code.bind(known);
}

/// The thread of R8 is followed no more; what it did is its owner's (R9). R7 is lost.
fn settle(draft: &mut Draft<'_>) {
    owner_row(draft);
    let code = &mut draft.code;
    let between = code.label();
    code.call(Helper::MonotonicNs);
    code.store(Word, R8, thread::OWNER, Is(0));
    code.load(Double, R1, R8, thread::BORN);
    code.copy(R2, R0);
    code.compute(Subtract, R2, Of(R1));
    code.add_shared(R7, owner::LIFE, R2);
    code.load(Double, R2, R8, thread::IDLE);
    code.add_shared(R7, owner::IDLE, R2);
    code.set(R2, 1);
    code.add_shared(R7, owner::ENDED, R2);
    code.load(Word, R1, R8, thread::CALL);
    code.jump_if(R1, Equal, Is(0), between);
    code.load(Double, R1, R8, thread::SINCE);
    code.compute(Subtract, R0, Of(R1));
    code.add_shared(R7, owner::CUT, R0);
    code.load(Double, R2, R8, thread::WAITED);
    code.add_shared(R7, owner::CUT_WAITED, R2);
    code.bind(between);
}
