//! Values of pieces joined to the value of the whole: CRCs by arithmetic on polynomials, BLAKE3 by its tree. Computes no piece.
//!
//! A CRC register is a polynomial modulo the CRC's own: behind `n` more bytes it is the register times x^(8n), plus the register of those
//! bytes alone (zlib's crc32_combine, M. Adler). `crc-fast` combines, too, but squares matrices for it: 50 to 270 us a piece, which
//! is as long as hashing it.

use crate::algorithm::Algorithm;
use crate::pieces::PieceValue;
use crate::value::DigestValue;
use blake3::hazmat::{Mode, merge_subtrees_non_root, merge_subtrees_root};
use crc_fast::CrcAlgorithm;

/// A CRC as arithmetic sees it.
#[derive(Clone, Copy)]
pub(crate) struct CrcFacts {
    pub fast: CrcAlgorithm,
    width: u32,
    /// With the highest power in the lowest bit.
    polynomial: u64,
    /// Whether its register has the highest power in the lowest bit as it is computed.
    is_reflected: bool,
}

impl CrcFacts {
    /// Of a CRC; none of what is no CRC.
    pub fn of(algorithm: Algorithm) -> Option<Self> {
        let (fast, width, polynomial, is_reflected) = match algorithm {
            Algorithm::Crc32 => (CrcAlgorithm::Crc32IsoHdlc, 32, 0xedb8_8320, true),
            Algorithm::Cksum => (CrcAlgorithm::Crc32Cksum, 32, 0xedb8_8320, false),
            Algorithm::Crc32c => (CrcAlgorithm::Crc32Iscsi, 32, 0x82f6_3b78, true),
            Algorithm::Crc64 => (CrcAlgorithm::Crc64Xz, 64, 0xc96c_5795_d787_0f42, true),
            Algorithm::Crc64Nvme => (CrcAlgorithm::Crc64Nvme, 64, 0x9a6c_9329_ac4b_c9b5, true),
            _ => return None,
        };
        Some(Self { fast, width, polynomial, is_reflected })
    }

    /// A value as the arithmetic takes it. POSIX's register begins with zero and ends inverted; all others begin and end inverted,
    /// which cancels out.
    fn register(self, value: u64) -> u64 {
        if self.is_reflected { value } else { u64::from(!(value as u32)).reverse_bits() >> 32 }
    }

    /// And back.
    fn value(self, register: u64) -> u64 {
        if self.is_reflected { register } else { u64::from(!((register << 32).reverse_bits() as u32)) }
    }

    /// x^(8 * bytes).
    fn power(self, mut bytes: u64) -> u64 {
        let (mut power, mut square) = (1 << (self.width - 1), 1 << (self.width - 9));
        while bytes > 0 {
            if bytes & 1 == 1 {
                power = self.times(power, square);
            }
            square = self.times(square, square);
            bytes >>= 1;
        }
        power
    }

    /// The product of two polynomials.
    fn times(self, one: u64, mut other: u64) -> u64 {
        let mut product = 0;
        for bit in (0..self.width).rev() {
            if one >> bit & 1 == 1 {
                product ^= other;
            }
            other = other >> 1 ^ if other & 1 == 1 { self.polynomial } else { 0 };
        }
        product
    }

    /// What POSIX adds: the length, its lowest byte first, without zeros behind the highest.
    fn with_length(self, register: u64, bytes: u64) -> u64 {
        let length = bytes.to_le_bytes();
        let used = length.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let behind = self.register(crc_fast::checksum(self.fast, &length[..used]));
        self.times(self.power(used as u64), register) ^ behind
    }

    /// The end of a CRC over all `bytes`.
    pub fn finish(self, value: u64, bytes: u64) -> DigestValue {
        let register = self.register(value);
        let whole = if self.is_reflected { register } else { self.with_length(register, bytes) };
        DigestValue::new(&self.value(whole).to_be_bytes()[8 - self.width as usize / 8..])
    }
}

/// The value so far of what is joined piece by piece. All pieces but the last have the same length, which is a power of two and at
/// least 1024.
pub(crate) enum JoinedPieces {
    Crc(JoinedCrc),
    Tree(JoinedTree),
}

pub(crate) struct JoinedCrc {
    facts: CrcFacts,
    value: Option<u64>,
    /// The length of the last piece, and the power that goes with it.
    shift: (u64, u64),
}

/// Chaining values of the complete subtrees from the left, each larger than the next, and the last piece, which may be the end.
#[derive(Default)]
pub(crate) struct JoinedTree {
    stack: Vec<[u8; 32]>,
    pieces: u64,
    /// The hash of the first piece, which is that of the whole where no other follows.
    first: [u8; 32],
}

impl JoinedPieces {
    /// Nothing so far.
    pub fn new(algorithm: Algorithm) -> Option<Self> {
        match algorithm {
            Algorithm::Blake3 => Some(Self::Tree(JoinedTree::default())),
            _ => CrcFacts::of(algorithm).map(|facts| Self::Crc(JoinedCrc { facts, value: None, shift: (0, 0) })),
        }
    }

    /// Joins the next piece, of `bytes`.
    pub fn add(&mut self, piece: &PieceValue, bytes: u64) {
        match (self, piece) {
            (Self::Crc(joined), PieceValue::Crc(value)) => joined.add(*value, bytes),
            (Self::Tree(joined), PieceValue::Subtree { chained, alone }) => joined.add(*chained, *alone),
            _ => unreachable!("a piece of the same algorithm"),
        }
    }

    /// The value of all `bytes`. At least one piece has been joined, if an empty one.
    pub fn finish(self, bytes: u64) -> DigestValue {
        match self {
            Self::Crc(joined) => joined.facts.finish(joined.value.unwrap_or_default(), bytes),
            Self::Tree(joined) => DigestValue::new(&joined.finish()),
        }
    }
}

impl JoinedCrc {
    fn add(&mut self, value: u64, bytes: u64) {
        let Some(before) = self.value else {
            self.value = Some(value);
            return;
        };
        if self.shift.0 != bytes {
            self.shift = (bytes, self.facts.power(bytes));
        }
        let facts = self.facts;
        let joined = facts.times(self.shift.1, facts.register(before)) ^ facts.register(value);
        self.value = Some(facts.value(joined));
    }
}

impl JoinedTree {
    fn add(&mut self, chained: [u8; 32], alone: [u8; 32]) {
        if self.pieces == 0 {
            self.first = alone;
        }
        // Subtrees of one size are merged when it is known that something follows: the last merge of all is another one.
        while self.stack.len() > self.pieces.count_ones() as usize {
            let (right, left) = (self.pop(), self.pop());
            self.stack.push(merge_subtrees_non_root(&left, &right, Mode::Hash));
        }
        self.stack.push(chained);
        self.pieces += 1;
    }

    fn pop(&mut self) -> [u8; 32] {
        self.stack.pop().expect("as many as pieces have bits")
    }

    fn finish(mut self) -> [u8; 32] {
        if self.pieces <= 1 {
            return self.first;
        }
        let mut right = self.pop();
        while self.stack.len() > 1 {
            right = merge_subtrees_non_root(&self.pop(), &right, Mode::Hash);
        }
        *merge_subtrees_root(&self.pop(), &right, Mode::Hash).as_bytes()
    }
}
