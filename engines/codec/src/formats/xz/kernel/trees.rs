//! The hot loop's steps in assembly: whole trees of bits without a branch on any of the bits.
//! Theory: what one bit waits for is the bit before it: shift, multiplication (three cycles), comparison, conditional move; six
//! cycles. The probabilities of both of a node's children are loaded meanwhile, and the bit chooses one of them. Taking in the
//! next byte stays a branch: without it a bit takes longer by more than the mispredictions cost.
#![expect(unsafe_code, reason = "assembly, and accesses without bounds checks: these steps are what the kernel is for")]

use std::arch::asm;

/// The range decoder in registers.
#[derive(Clone, Copy)]
pub(super) struct Coder {
    pub range: u32,
    pub code: u32,
    /// The next byte.
    pub next: *const u8,
}

/// Takes in the next byte if the range has become small.
macro_rules! normalise {
    () => {
        "cmp r8d, 0x1000000
        jae 2f
        shl r9d, 8
        mov r9b, byte ptr [r10]
        shl r8d, 8
        inc r10
        2:
        "
    };
}

/// Tries the bit: `spare` and `code` become what `range` and `code` are if it is 1, `range` and `old` if it is 0; carry: it is 0.
macro_rules! try_bit {
    ($now:literal) => {
        concat!(
            "mov {spare:e}, r8d
            shr r8d, 11
            imul r8d, {",
            $now,
            ":e}
            mov {old:e}, r9d
            sub {spare:e}, r8d
            sub r9d, r8d
            cmovae r8d, {spare:e}
            "
        )
    };
}

/// Has the probability learn from the bit in carry, and puts the bit behind those in `node`.
macro_rules! learn {
    ($now:literal) => {
        concat!(
            "cmovb r9d, {old:e}
            lea {spare:e}, [{",
            $now,
            ":r} - 2017]
            mov {old:e}, {node:e}
            cmovae {spare:e}, {",
            $now,
            ":e}
            lea {node:e}, [{node:r} + {node:r}]
            sbb {node:e}, -1
            shr {spare:e}, 5
            sub {",
            $now,
            ":e}, {spare:e}
            mov word ptr [{tree} + {old:r}*2], {",
            $now,
            ":x}
            "
        )
    };
}

/// The first bit of a tree.
macro_rules! first_step {
    ($now:literal, $after:literal) => {
        concat!(
            "movzx {",
            $now,
            ":e}, word ptr [{tree} + 2]
            movzx {",
            $after,
            ":e}, word ptr [{tree} + 4]
            mov {node:e}, 1
            ",
            normalise!(),
            try_bit!($now),
            "cmovae {",
            $after,
            ":x}, word ptr [{tree} + 6]
            ",
            learn!($now),
        )
    };
}

/// A bit that is neither the first nor the last.
macro_rules! step {
    ($now:literal, $after:literal) => {
        concat!(
            "movzx {",
            $after,
            ":e}, word ptr [{tree} + {node:r}*4]
            ",
            normalise!(),
            try_bit!($now),
            "cmovae {",
            $after,
            ":x}, word ptr [{tree} + {node:r}*4 + 2]
            ",
            learn!($now),
        )
    };
}

/// The last bit of a tree.
macro_rules! last_step {
    ($now:literal) => {
        concat!(normalise!(), try_bit!($now), learn!($now))
    };
}

macro_rules! tree_block {
    ($coder:ident, $tree:ident, [$($extra:tt)*], $($text:expr),+) => {{
        let node: u64;
        // SAFETY: as the caller of the function around it promises: bytes at `next`, the tree's probabilities at `tree`.
        unsafe {
            asm!(
                $($text),+,
                tree = in(reg) $tree,
                node = out(reg) node,
                a = out(reg) _,
                b = out(reg) _,
                spare = out(reg) _,
                old = out(reg) _,
                $($extra)*
                inout("r8d") $coder.range,
                inout("r9d") $coder.code,
                inout("r10") $coder.next,
                options(nostack),
            );
        }
        node as u32
    }};
}

/// Three bits, with a 1 in front of them.
///
/// # Safety
///
/// Three bytes are readable at `next`, and `tree` is one of 8 probabilities that may be written.
#[inline(always)]
pub(super) unsafe fn tree_of_3(coder: &mut Coder, tree: *mut u16) -> u32 {
    tree_block!(coder, tree, [], first_step!("a", "b"), step!("b", "a"), last_step!("a"))
}

/// Four bits, with a 1 in front of them.
///
/// # Safety
///
/// Four bytes are readable at `next`, and `tree` is one of 16 probabilities that may be written.
#[inline(always)]
pub(super) unsafe fn tree_of_4(coder: &mut Coder, tree: *mut u16) -> u32 {
    tree_block!(coder, tree, [], first_step!("a", "b"), step!("b", "a"), step!("a", "b"), last_step!("b"))
}

/// Six bits, with a 1 in front of them.
///
/// # Safety
///
/// Six bytes are readable at `next`, and `tree` is one of 64 probabilities that may be written.
#[inline(always)]
pub(super) unsafe fn tree_of_6(coder: &mut Coder, tree: *mut u16) -> u32 {
    tree_block!(
        coder,
        tree,
        [],
        first_step!("a", "b"),
        step!("b", "a"),
        step!("a", "b"),
        step!("b", "a"),
        step!("a", "b"),
        last_step!("b")
    )
}

/// Eight bits, with a 1 in front of them; and the first four of them, with a 1 in front.
///
/// # Safety
///
/// Eight bytes are readable at `next`, and `tree` is one of 256 probabilities that may be written.
#[inline(always)]
pub(super) unsafe fn tree_of_8(coder: &mut Coder, tree: *mut u16) -> (u32, u32) {
    let high: u64;
    let node = tree_block!(
        coder, tree, [high = out(reg) high,], first_step!("a", "b"), step!("b", "a"), step!("a", "b"), step!("b", "a"),
        "mov {high:e}, {node:e}\n", step!("a", "b"), step!("b", "a"), step!("a", "b"), last_step!("b")
    );
    (node, high as u32)
}

/// `count` bits, at least one, with a 1 in front of them.
///
/// # Safety
///
/// `count` bytes are readable at `next`, and `tree` is one of `1 << count` probabilities that may be written, in front of as
/// many that are readable.
#[inline(always)]
pub(super) unsafe fn tree_of(coder: &mut Coder, tree: *mut u16, count: u32) -> u32 {
    tree_block!(
        coder, tree, [count = inout(reg) count => _,],
        "movzx {a:e}, word ptr [{tree} + 2]
        mov {node:e}, 1
        3:
        ",
        step!("a", "b"),
        "mov {a:e}, {b:e}
        dec {count:e}
        jnz 3b
        "
    )
}

/// What a matched literal's step adds to the address of the next probability: by the bit, and only while all agreed.
#[repr(C, align(16))]
struct Offsets {
    if_0: [u32; 8],
    if_1: [u32; 8],
}

/// A bit of a matched literal; `agrees` is all ones while the bits were those of the match byte, `row` the tree's offset.
macro_rules! matched_step {
    ($index:literal, $now:literal, $after:literal) => {
        concat!(
            "mov {if_0:e}, {agrees:e}
            mov {if_1:e}, {agrees:e}
            lea {old}, [{tree} + {node:r}*4]
            and {if_0:e}, dword ptr [{offsets} + 4*",
            $index,
            "]
            and {if_1:e}, dword ptr [{offsets} + 4*",
            $index,
            " + 32]
            movzx {",
            $after,
            ":e}, word ptr [{old} + {if_0:r}]
            movzx {child:e}, word ptr [{old} + {if_1:r} + 2]
            ",
            normalise!(),
            "lea {row}, [{row} + {node:r}*2]
            ",
            try_bit!($now),
            "cmovae {",
            $after,
            ":e}, {child:e}
            cmovae {if_0:e}, {if_1:e}
            cmovb r9d, {old:e}
            lea {spare:e}, [{",
            $now,
            ":r} - 2017]
            cmovae {spare:e}, {",
            $now,
            ":e}
            lea {node:e}, [{node:r} + {node:r}]
            sbb {node:e}, -1
            shr {spare:e}, 5
            sub {",
            $now,
            ":e}, {spare:e}
            mov word ptr [{row}], {",
            $now,
            ":x}
            xor {agrees:e}, {agrees:e}
            lea {row}, [{tree} + {if_0:r}]
            cmp {agrees:e}, {if_0:e}
            sbb {agrees:e}, {agrees:e}
            "
        )
    };
}

/// Eight bits, with a 1 in front of them, as they are coded where `matched` would have been the match's next byte.
///
/// # Safety
///
/// Eight bytes are readable at `next`, and `tree` is a row of 0x300 probabilities that may be written.
#[inline(always)]
pub(super) unsafe fn matched_tree(coder: &mut Coder, tree: *mut u16, matched: u8) -> (u32, u32) {
    use std::arch::x86_64::{
        _mm_add_epi32, _mm_and_si128, _mm_andnot_si128, _mm_cmpeq_epi32, _mm_set1_epi32, _mm_setr_epi32,
        _mm_store_si128,
    };
    let mut offsets = Offsets { if_0: [0; 8], if_1: [0; 8] };
    // SAFETY: SSE2 is part of x86-64; the arrays are aligned to 16 bytes and each half has that many.
    unsafe {
        let all = _mm_set1_epi32(i32::from(matched));
        let row = _mm_set1_epi32(0x200);
        let halves = [
            (0, _mm_setr_epi32(0x80, 0x40, 0x20, 0x10), _mm_setr_epi32(0x40, 0x20, 0x10, 0x08)),
            (4, _mm_setr_epi32(0x08, 0x04, 0x02, 0x01), _mm_setr_epi32(0x04, 0x02, 0x01, 0x00)),
        ];
        for (at, bits, next_bits) in halves {
            let is_1 = _mm_cmpeq_epi32(_mm_and_si128(all, bits), bits);
            let next_is_1 = _mm_cmpeq_epi32(_mm_and_si128(all, next_bits), next_bits);
            let next_row = _mm_add_epi32(row, _mm_and_si128(next_is_1, row));
            _mm_store_si128((&raw mut offsets.if_0[at]).cast(), _mm_andnot_si128(is_1, next_row));
            _mm_store_si128((&raw mut offsets.if_1[at]).cast(), _mm_and_si128(is_1, next_row));
        }
    }
    let first_row = 0x200 + (usize::from(matched >> 7) << 9);
    let node: u64;
    // SAFETY: as the caller promises; the offsets lead to one of the row's three trees.
    unsafe {
        asm!(
            "movzx {a:e}, word ptr [{row} + 2]
            mov {node:e}, 1
            mov {agrees:e}, -1
            ",
            matched_step!(0, "a", "b"),
            matched_step!(1, "b", "a"),
            matched_step!(2, "a", "b"),
            matched_step!(3, "b", "a"),
            matched_step!(4, "a", "b"),
            matched_step!(5, "b", "a"),
            matched_step!(6, "a", "b"),
            normalise!(),
            "lea {row}, [{row} + {node:r}*2]
            ",
            try_bit!("b"),
            "cmovb r9d, {old:e}
            lea {spare:e}, [{b:r} - 2017]
            cmovae {spare:e}, {b:e}
            lea {node:e}, [{node:r} + {node:r}]
            sbb {node:e}, -1
            shr {spare:e}, 5
            sub {b:e}, {spare:e}
            mov word ptr [{row}], {b:x}
            ",
            tree = in(reg) tree,
            row = inout(reg) tree.byte_add(first_row) => _,
            node = out(reg) node,
            a = out(reg) _,
            b = out(reg) _,
            spare = out(reg) _,
            old = out(reg) _,
            if_0 = out(reg) _,
            if_1 = out(reg) _,
            agrees = out(reg) _,
            child = out(reg) _,
            offsets = in(reg) &raw const offsets,
            inout("r8d") coder.range,
            inout("r9d") coder.code,
            inout("r10") coder.next,
            options(nostack),
        );
    }
    (node as u32, node as u32 >> 4)
}

/// `count` bits without probabilities, below the bits of `value`.
///
/// # Safety
///
/// Eight bytes are readable at `next`; `count` is from 1 to 26.
#[inline(always)]
pub(super) unsafe fn direct(coder: &mut Coder, value: u32, count: u32) -> u32 {
    if count <= 20 {
        // SAFETY: as the caller promises.
        let ahead = unsafe { coder.next.cast::<u32>().read_unaligned() }.swap_bytes();
        let mut code = u64::from(coder.code) << 32 | u64::from(ahead);
        let zeros = coder.range.leading_zeros() as i32;
        let range: u64;
        let mut bits = value;
        // SAFETY: registers only.
        unsafe {
            asm!(
                "shl {range}, 32
                mov {ones}, -1
                mov {mask:e}, {ones:e}
                shl {mask}, 32
                2:
                add {value:e}, {value:e}
                lea {one:e}, [{value:r} + 1]
                mov {old}, {code}
                shr {range}, 1
                dec {cut:e}
                cmovs {mask}, {ones}
                and {range}, {mask}
                sub {code}, {range}
                cmovb {code}, {old}
                cmovae {value:e}, {one:e}
                dec {count:e}
                jnz 2b
                ",
                range = inout(reg) u64::from(coder.range) => range,
                code = inout(reg) code,
                value = inout(reg) bits,
                count = inout(reg) count => _,
                cut = inout(reg) 8 - zeros => _,
                ones = out(reg) _,
                mask = out(reg) _,
                old = out(reg) _,
                one = out(reg) _,
                options(nostack, nomem, pure),
            );
        }
        if code < range {
            let zeros = zeros as u32 + count;
            let shift = 32 - (zeros & 0x38);
            coder.range = (range >> shift) as u32;
            coder.code = (code >> shift) as u32;
            // SAFETY: at most four bytes on.
            coder.next = unsafe { coder.next.add((zeros >> 3) as usize) };
            return bits;
        }
    }
    // SAFETY: as the caller promises.
    let (after, value) = unsafe { direct_one_by_one(*coder, value, count) };
    *coder = after;
    value
}

/// The same where the code is not below the range, as in broken data, or for distances beyond what is common.
///
/// # Safety
/// As many bytes are readable at `next` as the bits may take: a byte for eight of them, and one more.
#[cold]
#[inline(never)]
unsafe fn direct_one_by_one(mut coder: Coder, mut value: u32, count: u32) -> (Coder, u32) {
    for _ in 0..count {
        if coder.range < 1 << 24 {
            coder.range <<= 8;
            // SAFETY: as the caller promises.
            unsafe {
                coder.code = coder.code << 8 | u32::from(*coder.next);
                coder.next = coder.next.add(1);
            }
        }
        coder.range >>= 1;
        let less = coder.code.wrapping_sub(coder.range);
        // The sign, not the carry: that is how liblzma sees it.
        let bit = 1 - (less >> 31);
        coder.code = if bit == 1 { less } else { coder.code };
        value = value << 1 | bit;
    }
    (coder, value)
}
