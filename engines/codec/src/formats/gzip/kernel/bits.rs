//! Reading bits, lowest first, with bounds checked everywhere: for headers and for the end of the input.
//! The hot loop takes a reader over and gives it back, but does its own reading.

use super::{ByteCell, Halt, Output};

/// A place in the input, to the bit.
///
/// The invariant the hot loop shares: `word` holds at least `count` bits that come before `input[next..]`, and any bits above
/// those are either zero or equal to the bits of `input[next..]`, so that adding those bytes again changes nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct BitReader<'a> {
    pub input: &'a [u8],
    /// Index of the first byte of which no bit is counted.
    pub next: usize,
    pub word: u64,
    /// Valid bits in `word`, at most 63.
    pub count: u32,
}

impl<'a> BitReader<'a> {
    /// At the start of `input`, of whose first byte `bits_used` bits are gone.
    pub fn new(input: &'a [u8], bits_used: u32) -> Self {
        let mut reader = Self { input, next: 0, word: 0, count: 0 };
        if bits_used > 0 && !input.is_empty() {
            reader.refill();
            reader.take(bits_used);
        }
        reader
    }

    /// Bits that are used up.
    pub fn bit(&self) -> usize {
        self.next * 8 - self.count as usize
    }

    /// Whole input bytes that are used up, and how many bits of the byte behind them.
    pub fn position(&self) -> (usize, u32) {
        let bits = self.bit();
        (bits / 8, (bits % 8) as u32)
    }

    /// Makes at least 56 bits available, or all that are left.
    #[inline]
    pub fn refill(&mut self) {
        if let Some(&bytes) = self.input[self.next..].first_chunk() {
            self.word |= u64::from_le_bytes(bytes) << self.count;
            self.next += ((63 - self.count) >> 3) as usize;
            self.count |= 56;
            return;
        }
        while self.count < 56
            && let Some(&byte) = self.input.get(self.next)
        {
            self.word |= u64::from(byte) << self.count;
            self.next += 1;
            self.count += 8;
        }
    }

    /// The bits ahead; only [`BitReader::available`] of them mean something.
    #[inline]
    pub fn ahead(&self) -> u64 {
        self.word
    }

    /// How many bits are ahead.
    #[inline]
    pub fn available(&self) -> u32 {
        self.count
    }

    /// Drops bits that are available.
    #[inline]
    pub fn take(&mut self, bits: u32) {
        debug_assert!(bits <= self.count, "only what is there can be taken");
        self.word >>= bits;
        self.count -= bits;
    }

    /// The next `bits` (up to 32), taken.
    #[inline]
    pub fn number(&mut self, bits: u32) -> Result<u32, Halt> {
        if self.count < bits {
            self.refill();
            if self.count < bits {
                return Err(Halt::Dry);
            }
        }
        let value = self.word & ((1 << bits) - 1);
        self.take(bits);
        Ok(value as u32)
    }

    /// Drops what is left of a byte that was begun.
    pub fn align(&mut self) {
        self.take(self.count % 8);
    }

    /// Copies up to `wanted` whole bytes to the output, as input and the output's soft end allow. Must be aligned.
    pub fn copy_bytes<C: ByteCell>(&mut self, wanted: usize, output: &mut Output<'_, C>) -> usize {
        let start = self.next - self.count as usize / 8;
        let room = output.soft_end - output.at;
        let source = &self.input[start..];
        let source = &source[..source.len().min(wanted).min(room)];
        for (cell, &byte) in output.buffer[output.at..].iter_mut().zip(source) {
            *cell = C::from(byte);
        }
        output.at += source.len();
        self.next = start + source.len();
        self.word = 0;
        self.count = 0;
        source.len()
    }
}
