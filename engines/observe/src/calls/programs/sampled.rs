//! The programs of sampling: one a thousand times a second on every CPU, one at every switch. Calls go by without them.
//!
//! Registers: R6 is the context, R8 the thread's row, R9 its owner and then its cell, R7 as the comment beside it says.

use super::super::layout::{self, CallMemory, cell, thread};
use super::{ARGUMENT, CALL_NUMBER_WIDTH, CallFields, CallProgram, Draft, USER_BITS, count_unseen_return, find_cell};
use sys::bpf::assemble::Arithmetic::{Add, And, Or, ShiftLeft, Subtract};
use sys::bpf::assemble::Condition::{AtLeast, Equal, NotEqual};
use sys::bpf::assemble::Helper;
use sys::bpf::assemble::Operand::{Is, Of};
use sys::bpf::assemble::Register::{R0, R1, R2, R6, R7, R8, R9};
use sys::bpf::assemble::Width::{Double, Word};

/// When the clock of a CPU strikes: one sample more for what the thread on it is doing.
pub fn sample(memory: &CallMemory, fields: &CallFields) -> CallProgram {
    let mut draft = Draft::new(memory, fields);
    let end = draft.end;
    draft.current_row_asked(end);
    let code = &mut draft.code;
    let known = code.label();
    // R7 = the call.
    code.set(R7, layout::CALL_BETWEEN.cast_signed());
    code.load(Double, R1, R6, fields.narrow.at);
    let (bits, is_set_in_programs) = USER_BITS;
    code.compute(And, R1, Is(bits));
    code.jump_if(R1, if is_set_in_programs { NotEqual } else { Equal }, Is(0), known);
    code.call(Helper::CurrentTask);
    code.copy(R1, R0);
    call_of_task(&mut draft);
    draft.code.bind(known);
    cell_of_call(&mut draft);
    count(&mut draft, cell::SAMPLES);
    draft.finish()
}

/// R7 = the call that the task of R1, which is in the kernel, is in.
fn call_of_task(draft: &mut Draft<'_>) {
    let fields = *draft.fields;
    let code = &mut draft.code;
    let (wide, known) = (code.label(), code.label());
    code.call(Helper::TaskRegisters);
    code.set(R7, layout::CALL_OF_32_BIT.cast_signed());
    code.load(Double, R1, R0, fields.narrow.at);
    code.compute(And, R1, Is(fields.narrow.bits));
    code.jump_if(R1, NotEqual, Is(fields.narrow.value), wide);
    code.jump(known);
    code.bind(wide);
    // Not by a call but by a fault or an interrupt: that belongs to the program's own work.
    code.set(R7, layout::CALL_BETWEEN.cast_signed());
    code.load(CALL_NUMBER_WIDTH, R1, R0, fields.call_number);
    code.jump_if(R1, AtLeast, Is(layout::CALLS_KNOWN.cast_signed()), known);
    code.copy(R7, R1);
    code.bind(known);
}

/// R9 = the cell of the call R7 of the owner R9.
fn cell_of_call(draft: &mut Draft<'_>) {
    let code = &mut draft.code;
    code.compute(And, R7, Is(layout::CALLS.cast_signed() - 1));
    code.compute(And, R9, Is(layout::OWNERS.cast_signed() - 1));
    code.compute(ShiftLeft, R9, Is(layout::CALLS.trailing_zeros().cast_signed()));
    code.compute(Add, R9, Of(R7));
    find_cell(draft);
}

fn count(draft: &mut Draft<'_>, at: i16) {
    draft.code.load(Double, R1, R9, at);
    draft.code.compute(Add, R1, Is(1));
    draft.code.store(Double, R9, at, Of(R1));
}

/// When a CPU goes from one thread to another: the one begins to wait in its call, the other's wait ends and is added up.
pub fn switch(memory: &CallMemory, fields: &CallFields) -> CallProgram {
    let mut draft = Draft::new(memory, fields);
    let end = draft.end;
    let comes = draft.code.label();
    leaves(&mut draft, comes);
    draft.code.bind(comes);
    draft.code.load(Double, R1, R6, 2 * ARGUMENT);
    draft.code.load(Word, R1, R1, fields.task_pid);
    draft.thread_row(R8, R1, end);
    draft.code.load(Word, R9, R8, thread::OWNER);
    draft.code.jump_if(R9, Equal, Is(0), end);
    draft.code.load(Double, R7, R8, thread::OFF_SINCE);
    draft.code.jump_if(R7, Equal, Is(0), end);
    // The wait replaces its beginning in the row, since R7 is needed for the call.
    draft.code.call(Helper::MonotonicNs);
    draft.code.compute(Subtract, R0, Of(R7));
    draft.code.store(Double, R8, thread::WAITED, Of(R0));
    draft.code.store(Double, R8, thread::OFF_SINCE, Is(0));
    let (in_call, known) = (draft.code.label(), draft.code.label());
    draft.code.load(Word, R7, R8, thread::CALL);
    draft.code.jump_if(R7, NotEqual, Is(0), in_call);
    draft.code.set(R7, layout::CALL_BETWEEN.cast_signed());
    draft.code.jump(known);
    draft.code.bind(in_call);
    draft.code.compute(Subtract, R7, Is(1));
    draft.code.bind(known);
    draft.code.store(Word, R8, thread::CALL, Is(0));
    cell_of_call(&mut draft);
    draft.code.load(Double, R7, R8, thread::WAITED);
    draft.code.store(Double, R8, thread::WAITED, Is(0));
    draft.code.load(Double, R1, R9, cell::WAITED);
    draft.code.compute(Add, R1, Of(R7));
    draft.code.store(Double, R9, cell::WAITED, Of(R1));
    count(&mut draft, cell::WAITS);
    longest(&mut draft);
    draft.finish()
}

/// The thread that leaves the CPU waits from now on, in a call or between two.
fn leaves(draft: &mut Draft<'_>, comes: sys::bpf::assemble::Label) {
    let pid_at = draft.fields.task_pid;
    draft.code.load(Double, R7, R6, ARGUMENT);
    draft.code.load(Word, R1, R7, pid_at);
    draft.thread_row(R8, R1, comes);
    draft.code.load(Word, R1, R8, thread::OWNER);
    draft.code.jump_if(R1, Equal, Is(0), comes);
    count_unseen_return(draft);
    draft.code.copy(R1, R7);
    call_of_task(draft);
    let (in_call, known) = (draft.code.label(), draft.code.label());
    draft.code.jump_if(R7, NotEqual, Is(layout::CALL_BETWEEN.cast_signed()), in_call);
    draft.code.store(Word, R8, thread::CALL, Is(0));
    draft.code.jump(known);
    draft.code.bind(in_call);
    draft.code.compute(Add, R7, Is(1));
    draft.code.store(Word, R8, thread::CALL, Of(R7));
    draft.code.bind(known);
    draft.code.call(Helper::MonotonicNs);
    draft.code.store(Double, R8, thread::SINCE, Of(R0));
    draft.code.store(Double, R8, thread::OFF_SINCE, Of(R0));
}

/// Where the wait R7 is the longest: whose, and on what.
fn longest(draft: &mut Draft<'_>) {
    let fields = *draft.fields;
    let (end, code) = (draft.end, &mut draft.code);
    code.load(Double, R1, R9, cell::MAX);
    code.jump_if(R1, AtLeast, Of(R7), end);
    code.store(Double, R9, cell::MAX, Of(R7));
    code.load(Double, R1, R6, 2 * ARGUMENT);
    code.load(Word, R2, R1, fields.task_tgid);
    code.compute(ShiftLeft, R2, Is(32));
    code.load(Word, R7, R1, fields.task_pid);
    code.compute(Or, R2, Of(R7));
    code.store(Double, R9, cell::MAX_WHO, Of(R2));
    code.call(Helper::TaskRegisters);
    code.load(Double, R1, R0, fields.first_argument);
    code.store(Double, R9, cell::MAX_ARGUMENT, Of(R1));
}
