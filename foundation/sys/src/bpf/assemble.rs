//! A small assembler: typed instructions with labels become the kernel's bytecode. One method an instruction, no
//! optimisation: the kernel's verifier judges the result and its compiler makes machine code of it.
//! The encoding is RFC 9669's.

use std::os::fd::{AsRawFd, BorrowedFd};

/// A register. R0 carries results, R1 to R5 arguments (lost in a call), R6 to R9 are kept, R10 is the end of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the machine's")]
#[repr(u8)]
pub enum Register {
    R0,
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
    R7,
    R8,
    R9,
    R10,
}

/// How many bytes a load or store moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Width {
    /// One.
    Byte = 0x10,
    /// Two.
    Half = 0x08,
    /// Four.
    Word = 0x00,
    /// Eight.
    Double = 0x18,
}

/// The second operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// What stands in a register.
    Of(Register),
    /// A number, extended by its sign to 64 bits.
    Is(i32),
}

/// Arithmetic in 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the machine's")]
#[repr(u8)]
pub enum Arithmetic {
    Add = 0x00,
    Subtract = 0x10,
    Multiply = 0x20,
    Or = 0x40,
    And = 0x50,
    ShiftLeft = 0x60,
    ShiftRight = 0x70,
    Copy = 0xb0,
    ShiftRightSigned = 0xc0,
}

/// When a jump is taken. Comparisons are of 64 bits, unsigned unless said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
#[repr(u8)]
pub enum Condition {
    Equal = 0x10,
    Above = 0x20,
    AtLeast = 0x30,
    AnyBit = 0x40,
    NotEqual = 0x50,
    AboveSigned = 0x60,
    AtLeastSigned = 0x70,
    Below = 0xa0,
    AtMost = 0xb0,
    BelowSigned = 0xc0,
}

/// Functions of the kernel that programs may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the kernel's")]
#[repr(i32)]
pub enum Helper {
    MapLookup = 1,
    MapUpdate = 2,
    MonotonicNs = 5,
    ProcessorNumber = 8,
    CurrentPidTgid = 14,
    ReadKernel = 113,
    ReadKernelString = 115,
    WriteSequence = 127,
    CurrentTask = 158,
    TaskRegisters = 175,
}

/// A place to jump to, bound once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(usize);

/// What is wrong with a program before the kernel has seen it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssembleError {
    /// A label was used and never bound.
    Unbound,
    /// A jump over more than 32767 instructions.
    TooFar,
}

impl std::fmt::Display for AssembleError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Unbound => "a jump leads nowhere",
            Self::TooFar => "a jump leads too far",
        })
    }
}

impl std::error::Error for AssembleError {}

/// One instruction of eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Instruction {
    opcode: u8,
    registers: u8,
    offset: i16,
    immediate: i32,
}

const CLASS_LOAD_IMMEDIATE: u8 = 0x00;
const CLASS_LOAD: u8 = 0x01;
const CLASS_STORE_IMMEDIATE: u8 = 0x02;
const CLASS_STORE: u8 = 0x03;
const CLASS_JUMP: u8 = 0x05;
const CLASS_ARITHMETIC: u8 = 0x07;
const MODE_MEMORY: u8 = 0x60;
const MODE_ATOMIC: u8 = 0xc0;
const FROM_REGISTER: u8 = 0x08;
const ATOMIC_FETCH: i32 = 0x01;
const ATOMIC_COMPARE_EXCHANGE: i32 = 0xf1;
const OPCODE_CALL: u8 = 0x85;
const OPCODE_EXIT: u8 = 0x95;
const PSEUDO_MAP: u8 = 1;
const PSEUDO_KERNEL_FUNCTION: u8 = 2;
const PSEUDO_MAP_VALUE: u8 = 2;

/// A program as it grows.
#[derive(Clone, Debug, Default)]
pub struct Assembler {
    code: Vec<Instruction>,
    /// Where each label stands, once it is bound.
    labels: Vec<Option<usize>>,
    /// Instructions whose offset waits for a label.
    jumps: Vec<(usize, Label)>,
}

impl Assembler {
    /// A program of no instructions.
    pub fn new() -> Self {
        Self::default()
    }

    /// A new label, to be bound with [`Assembler::bind`].
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Puts `label` in front of the next instruction.
    ///
    /// # Panics
    /// When it is bound already: that is a slip in the caller's source.
    pub fn bind(&mut self, label: Label) {
        let place = &mut self.labels[label.0];
        assert!(place.is_none(), "a label is bound once");
        *place = Some(self.code.len());
    }

    fn push(&mut self, opcode: u8, to: u8, from: u8, offset: i16, immediate: i32) {
        self.code.push(Instruction { opcode, registers: from << 4 | to, offset, immediate });
    }

    /// `to = to <operation> operand`, or `to = operand` for [`Arithmetic::Copy`].
    pub fn compute(&mut self, operation: Arithmetic, to: Register, operand: Operand) {
        let opcode = CLASS_ARITHMETIC | operation as u8;
        match operand {
            Operand::Of(from) => self.push(opcode | FROM_REGISTER, to as u8, from as u8, 0, 0),
            Operand::Is(number) => self.push(opcode, to as u8, 0, 0, number),
        }
    }

    /// `to = from`.
    pub fn copy(&mut self, to: Register, from: Register) {
        self.compute(Arithmetic::Copy, to, Operand::Of(from));
    }

    /// `to = number`.
    pub fn set(&mut self, to: Register, number: i32) {
        self.compute(Arithmetic::Copy, to, Operand::Is(number));
    }

    /// `to = number`, all 64 bits.
    pub fn set_wide(&mut self, to: Register, number: u64) {
        self.push_wide(to, 0, number as u32, (number >> 32) as u32);
    }

    /// `to` = the address of byte `offset` of the memory behind `map`.
    pub fn address(&mut self, to: Register, map: BorrowedFd<'_>, offset: u32) {
        self.push_wide(to, PSEUDO_MAP_VALUE, map.as_raw_fd() as u32, offset);
    }

    /// `to` = the map itself, for the helpers that take one.
    pub fn map(&mut self, to: Register, map: BorrowedFd<'_>) {
        self.push_wide(to, PSEUDO_MAP, map.as_raw_fd() as u32, 0);
    }

    fn push_wide(&mut self, to: Register, kind: u8, low: u32, high: u32) {
        self.push(CLASS_LOAD_IMMEDIATE | Width::Double as u8, to as u8, kind, 0, low as i32);
        self.push(0, 0, 0, 0, high as i32);
    }

    /// `to = *(base + offset)`, the upper bytes zero.
    pub fn load(&mut self, width: Width, to: Register, base: Register, offset: i16) {
        self.push(CLASS_LOAD | MODE_MEMORY | width as u8, to as u8, base as u8, offset, 0);
    }

    /// `*(base + offset) = operand`.
    pub fn store(&mut self, width: Width, base: Register, offset: i16, operand: Operand) {
        let opcode = MODE_MEMORY | width as u8;
        match operand {
            Operand::Of(from) => self.push(CLASS_STORE | opcode, base as u8, from as u8, offset, 0),
            Operand::Is(number) => self.push(CLASS_STORE_IMMEDIATE | opcode, base as u8, 0, offset, number),
        }
    }

    /// `*(base + offset) += from` without loss between CPUs; eight bytes.
    pub fn add_shared(&mut self, base: Register, offset: i16, from: Register) {
        self.push(CLASS_STORE | MODE_ATOMIC | Width::Double as u8, base as u8, from as u8, offset, 0);
    }

    /// The same, and `from` = what stood there before.
    pub fn fetch_add_shared(&mut self, base: Register, offset: i16, from: Register) {
        self.push(CLASS_STORE | MODE_ATOMIC | Width::Double as u8, base as u8, from as u8, offset, ATOMIC_FETCH);
    }

    /// Where `*(base + offset)` is R0 it becomes `from`; R0 = what stood there before. Eight bytes.
    pub fn compare_exchange(&mut self, base: Register, offset: i16, from: Register) {
        let opcode = CLASS_STORE | MODE_ATOMIC | Width::Double as u8;
        self.push(opcode, base as u8, from as u8, offset, ATOMIC_COMPARE_EXCHANGE);
    }

    /// Goes on at `to`.
    pub fn jump(&mut self, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.push(CLASS_JUMP, 0, 0, 0, 0);
    }

    /// Goes on at `to` when `left <condition> right`.
    pub fn jump_if(&mut self, left: Register, condition: Condition, right: Operand, to: Label) {
        self.jumps.push((self.code.len(), to));
        let opcode = CLASS_JUMP | condition as u8;
        match right {
            Operand::Of(right) => self.push(opcode | FROM_REGISTER, left as u8, right as u8, 0, 0),
            Operand::Is(number) => self.push(opcode, left as u8, 0, 0, number),
        }
    }

    /// R0 = what the helper says to R1 ... R5, which are lost.
    pub fn call(&mut self, helper: Helper) {
        self.push(OPCODE_CALL, 0, 0, 0, helper as i32);
    }

    /// The same with a function of the kernel's that its types know by this number.
    pub fn call_kernel(&mut self, function: u32) {
        self.push(OPCODE_CALL, 0, PSEUDO_KERNEL_FUNCTION, 0, function.cast_signed());
    }

    /// Ends the program; R0 is its result.
    pub fn exit(&mut self) {
        self.push(OPCODE_EXIT, 0, 0, 0, 0);
    }

    /// The finished bytecode.
    pub fn finish(mut self) -> Result<Vec<Instruction>, AssembleError> {
        for (at, label) in self.jumps {
            let target = self.labels[label.0].ok_or(AssembleError::Unbound)?;
            let distance = target as i64 - at as i64 - 1;
            self.code[at].offset = i16::try_from(distance).ok().ok_or(AssembleError::TooFar)?;
        }
        Ok(self.code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Register::{R0, R1, R2, R10};

    fn bytes(instruction: Instruction) -> [u8; 8] {
        let [low, high] = instruction.offset.to_le_bytes();
        let [a, b, c, d] = instruction.immediate.to_le_bytes();
        [instruction.opcode, instruction.registers, low, high, a, b, c, d]
    }

    fn one(write: impl FnOnce(&mut Assembler)) -> [u8; 8] {
        let mut assembler = Assembler::new();
        write(&mut assembler);
        bytes(assembler.finish().expect("no jumps")[0])
    }

    #[test]
    fn instructions_are_the_rfcs() {
        assert_eq!(one(|program| program.set(R0, 7)), [0xb7, 0, 0, 0, 7, 0, 0, 0]);
        assert_eq!(one(|program| program.copy(R1, R2)), [0xbf, 0x21, 0, 0, 0, 0, 0, 0]);
        assert_eq!(one(|program| program.load(Width::Half, R1, R10, -4)), [0x69, 0xa1, 0xfc, 0xff, 0, 0, 0, 0]);
        assert_eq!(
            one(|program| program.store(Width::Double, R10, -8, Operand::Of(R1))),
            [0x7b, 0x1a, 0xf8, 0xff, 0, 0, 0, 0]
        );
        assert_eq!(one(|program| program.add_shared(R1, 0, R2)), [0xdb, 0x21, 0, 0, 0, 0, 0, 0]);
        assert_eq!(one(|program| program.call(Helper::MonotonicNs)), [0x85, 0, 0, 0, 5, 0, 0, 0]);
        assert_eq!(one(|program| program.call_kernel(300)), [0x85, 0x20, 0, 0, 44, 1, 0, 0]);
        assert_eq!(one(Assembler::exit), [0x95, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn jumps_find_their_labels_forwards_and_back() {
        let mut program = Assembler::new();
        let (top, end) = (program.label(), program.label());
        program.bind(top);
        program.jump_if(R1, Condition::Equal, Operand::Is(3), end);
        program.jump(top);
        program.bind(end);
        program.exit();
        let code = program.finish().expect("both bound");
        assert_eq!([code[0].offset, code[1].offset], [1, -2]);
    }

    #[test]
    fn a_jump_that_leads_nowhere_or_too_far_is_refused() {
        let mut program = Assembler::new();
        let label = program.label();
        program.jump(label);
        assert_eq!(program.clone().finish(), Err(AssembleError::Unbound));
        (0..40_000).for_each(|_| program.set(R0, 0));
        program.bind(label);
        assert_eq!(program.finish(), Err(AssembleError::TooFar));
    }
}
