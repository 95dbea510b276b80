//! The inflate kernel: DEFLATE data (RFC 1951) in, uncompressed bytes out, on one core, resumable at every symbol. Bytes are kept in cells of one
//! byte, or of two where what they refer to is not known yet (`markers`).
//! It knows nothing of gzip, checksums, files or threads; whoever calls it brings the input, the buffer and the history.
//! What is accepted is what zlib accepts, including its rules for codes with one symbol or none.
//! Layers: `bits` (careful reading), `tables` and `build` (what one look-up answers), `header` (block headers),
//! `fast` (the hot loop, the only unsafe code), and here the states between calls and the careful loop for the input's end.

mod bits;
mod build;
mod fast;
mod header;
pub mod markers;
mod tables;
#[cfg(test)]
mod tests;

use bits::BitReader;
use header::DeflateBlockKind;
use tables::{InflateTables, Portable, SymbolEntry};
use thiserror::Error;

/// Bytes of room the buffer must have behind `soft_end`: two literals, a match of 258, and the 64 that word-wise copies may
/// write past it. Larger wastes memory only, smaller would be unsound (and is refused at compile time).
pub const SLACK_BYTES: usize = 384;

/// Why a call of [`Inflater::inflate`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InflateStatus {
    /// What is left of the input is not enough to go on: call again with it and at least one byte more.
    NeedsInput,
    /// The output reached `soft_end`.
    OutputFull,
    /// The final block ended.
    Finished,
    /// A block ended, and the next one begins where the caller wanted to stop.
    BlockEnd,
}

/// What a call of [`Inflater::inflate`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InflateStep {
    /// Input bytes that are done with. The byte behind them may have been used in part and is to be shown again.
    pub consumed: usize,
    /// Bytes written behind `filled`.
    pub produced: usize,
    /// Why it returned.
    pub status: InflateStatus,
}

/// Why data are not a DEFLATE stream (RFC 1951 section 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InflateError {
    /// Block type 3.
    #[error("a block has the reserved type")]
    BlockType,
    /// A stored block whose length and its complement disagree.
    #[error("a stored block's length does not match its complement")]
    StoredLength,
    /// More than 286 literal/length or 30 distance codes.
    #[error("a block announces too many codes")]
    CodeCount,
    /// The code for the code lengths is over-subscribed or incomplete.
    #[error("the code for a block's code lengths is not a code")]
    LengthCode,
    /// A repeat of code lengths without a first one or beyond the last one.
    #[error("a repeat of code lengths has nothing to repeat or goes too far")]
    LengthRepeat,
    /// The literal/length code has no end-of-block symbol.
    #[error("a block has no code for its end")]
    NoEndOfBlock,
    /// The literal/length code is over-subscribed or incomplete.
    #[error("a block's literal and length code is not a code")]
    LiteralCode,
    /// The distance code is over-subscribed or incomplete.
    #[error("a block's distance code is not a code")]
    DistanceCode,
    /// Bits that are no literal, length or end.
    #[error("a literal or length symbol is invalid")]
    LiteralSymbol,
    /// Bits that are no distance.
    #[error("a distance symbol is invalid")]
    DistanceSymbol,
    /// A reference to before the first byte of the stream.
    #[error("a distance of {distance} reaches back to before the data, of which there are {available} bytes")]
    DistanceTooFar {
        /// How far back.
        distance: u32,
        /// How far back there is something.
        available: u32,
    },
    /// The input ends inside the stream.
    #[error("the compressed data end too early")]
    Truncated,
}

/// Where data broke off being a DEFLATE stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeflateBreak {
    /// Why.
    pub cause: InflateError,
    /// Bytes written behind `filled` before that.
    pub produced: usize,
}

impl From<DeflateBreak> for InflateError {
    fn from(broken: DeflateBreak) -> Self {
        broken.cause
    }
}

/// Where decoding stands between two symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Before the header of a block.
    Header,
    /// Inside a stored block with so many bytes to come.
    Stored(usize),
    /// Inside a block with its own codes.
    Dynamic,
    /// Inside a block with the fixed codes.
    Fixed,
    /// Behind the final block.
    Finished,
}

/// Why decoding cannot go on.
#[derive(Debug)]
enum Halt {
    /// Too little input.
    Dry,
    /// Wrong input.
    Broken(InflateError),
}

impl From<InflateError> for Halt {
    fn from(error: InflateError) -> Self {
        Self::Broken(error)
    }
}

/// Why a loop over symbols stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pause {
    /// The end-of-block symbol was taken.
    EndOfBlock,
    /// The output reached its soft end, or the input is too near to its end for this loop.
    Edge,
}

/// What a byte of output is kept in.
pub trait ByteCell: Copy + From<u8> + sealed::Number {
    /// Two literals, in one store.
    fn pair(literals: [u8; 2]) -> [Self; 2];
}

impl ByteCell for u8 {
    #[inline(always)]
    fn pair(literals: [u8; 2]) -> [Self; 2] {
        literals
    }
}

/// A byte, or a marker of one that is not known yet.
impl ByteCell for u16 {
    #[inline(always)]
    fn pair(literals: [u8; 2]) -> [Self; 2] {
        literals.map(Self::from)
    }
}

mod sealed {
    /// A number of which all bits count: the hot loop copies cells as bytes, and may tear one behind the end.
    pub trait Number {}

    impl Number for u8 {}
    impl Number for u16 {}
}

/// The output while it grows.
#[derive(Debug)]
struct Output<'a, C> {
    /// History, then room.
    buffer: &'a mut [C],
    /// Where the first byte lies that this stream may refer to.
    floor: usize,
    /// Where the next byte goes. At least `floor`.
    at: usize,
    /// Where to stop. At least [`SLACK_BYTES`] before the end of `buffer`.
    soft_end: usize,
}

/// A decoder of one DEFLATE stream at a time: tables and what must be remembered between calls. About 16 KiB.
#[derive(Debug)]
pub struct Inflater {
    tables: InflateTables,
    phase: Phase,
    /// Whether the block at hand is the final one.
    final_block: bool,
    /// Bits of the next input byte that were used already, 0..8.
    bits_used: u32,
    /// Bytes produced since the reset, as far as distances can tell: never more than the window.
    reachable: usize,
    /// Bits before the header of the block begun last, in the input of the call that began it.
    block_began: usize,
}

/// Where the final block of a stream stands, in bits from the stream's first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinalBlock {
    /// Its header, whose first bit says that it is the final one.
    pub header: usize,
    /// Behind its last code.
    pub end: usize,
}

/// How far a distance can go (RFC 1951 section 3.2.5).
pub const WINDOW_BYTES: usize = 32 << 10;

impl Inflater {
    /// One on the heap, ready for a stream.
    pub fn boxed() -> Box<Self> {
        let (phase, tables) = (Phase::Header, InflateTables::new());
        Box::new(Self { tables, phase, final_block: false, bits_used: 0, reachable: 0, block_began: 0 })
    }

    /// Forgets the stream at hand and is ready for another.
    pub fn reset(&mut self) {
        self.phase = Phase::Header;
        self.final_block = false;
        self.bits_used = 0;
        self.reachable = 0;
    }

    /// Decodes from the start of `input` into `buffer[filled..]` until the output reaches `soft_end`, the input is used up,
    /// or the stream is finished.
    ///
    /// `buffer[..filled]` is history: it ends with the last 32 KiB this stream produced, or all of it when that is less.
    /// Up to [`SLACK_BYTES`] behind `soft_end` may be overwritten, and the output may end up to 258 bytes behind it: no symbol
    /// is split. `input_ends` says that nothing follows `input`. With `input_ends` or 1 KiB of input, every call that may
    /// produce something makes progress: a block's header needs less than that, and is read again as a whole if it was cut.
    /// After an error only [`Inflater::reset`] leads on.
    ///
    /// # Errors
    ///
    /// [`DeflateBreak`], when the data are no DEFLATE stream, or end too early and `input_ends`.
    ///
    /// # Panics
    ///
    /// If the buffer has less than [`SLACK_BYTES`] behind `filled` or `soft_end`.
    pub fn inflate(
        &mut self,
        input: &[u8],
        input_ends: bool,
        buffer: &mut [u8],
        filled: usize,
        soft_end: usize,
    ) -> Result<InflateStep, DeflateBreak> {
        self.inflate_to(usize::MAX, input, input_ends, buffer, filled, soft_end)
    }

    /// Goes on before a block of a stream that has more than a window behind it, in whose first byte `bits_used` bits belong to the block before.
    pub fn resume(&mut self, bits_used: u32) {
        self.reset();
        self.bits_used = bits_used;
        self.reachable = WINDOW_BYTES;
    }

    /// Whether the next thing is a block's header.
    pub fn is_between_blocks(&self) -> bool {
        self.phase == Phase::Header
    }

    /// Bits of the next input byte that were used already.
    pub fn bits_used(&self) -> u32 {
        self.bits_used
    }

    /// As [`Inflater::inflate`], but ends with [`InflateStatus::BlockEnd`] before the first block that begins at bit `stop` of the input or behind it, unless
    /// nothing comes before it in this call. The buffer is one of bytes, or of cells (`markers`).
    ///
    /// # Errors
    ///
    /// As for [`Inflater::inflate`].
    ///
    /// # Panics
    ///
    /// Likewise.
    pub fn inflate_to<C: ByteCell>(
        &mut self,
        stop: usize,
        input: &[u8],
        input_ends: bool,
        buffer: &mut [C],
        filled: usize,
        soft_end: usize,
    ) -> Result<InflateStep, DeflateBreak> {
        let room_end = buffer.len().checked_sub(SLACK_BYTES).expect("the buffer is larger than its slack");
        assert!(filled <= room_end && soft_end <= room_end, "the slack lies behind what is filled and the soft end");
        let floor = filled - self.reachable.min(filled);
        let mut output = Output { buffer, floor, at: filled, soft_end };
        let mut bits = BitReader::new(input, self.bits_used);
        let outcome = self.run(stop, &mut bits, &mut output);
        let produced = output.at - filled;
        let status = match outcome {
            Ok(status) => status,
            Err(Halt::Dry) if input_ends => return Err(DeflateBreak { cause: InflateError::Truncated, produced }),
            Err(Halt::Dry) => InflateStatus::NeedsInput,
            Err(Halt::Broken(cause)) => return Err(DeflateBreak { cause, produced }),
        };
        self.reachable = (self.reachable + produced).min(WINDOW_BYTES);
        let mut consumed = 0;
        if !input.is_empty() {
            (consumed, self.bits_used) = bits.position();
        }
        if status == InflateStatus::Finished && self.bits_used > 0 {
            // The bits behind the final block belong to nobody; the stream's container goes on at the next byte.
            consumed += 1;
            self.bits_used = 0;
        }
        Ok(InflateStep { consumed, produced, status })
    }

    /// Decodes a whole stream that comes to `buffer` less [`SLACK_BYTES`] and finds its final block. `None` where it is no such stream.
    ///
    /// # Panics
    ///
    /// If the buffer is smaller than its slack.
    pub fn find_final_block(&mut self, input: &[u8], buffer: &mut [u8]) -> Option<FinalBlock> {
        self.reset();
        let soft_end = buffer.len().checked_sub(SLACK_BYTES).expect("the buffer is larger than its slack");
        let mut output = Output { buffer, floor: 0, at: 0, soft_end };
        let mut bits = BitReader::new(input, 0);
        match self.run(usize::MAX, &mut bits, &mut output) {
            Ok(InflateStatus::Finished) => Some(FinalBlock { header: self.block_began, end: bits.bit() }),
            _ => None,
        }
    }

    /// Goes from phase to phase.
    fn run<C: ByteCell>(
        &mut self,
        stop: usize,
        bits: &mut BitReader<'_>,
        output: &mut Output<'_, C>,
    ) -> Result<InflateStatus, Halt> {
        let mut has_begun_one = self.phase != Phase::Header;
        loop {
            match self.phase {
                Phase::Finished => return Ok(InflateStatus::Finished),
                Phase::Header if has_begun_one && bits.bit() >= stop => return Ok(InflateStatus::BlockEnd),
                Phase::Header => {
                    self.begin_block(bits)?;
                    has_begun_one = true;
                }
                Phase::Stored(0) => self.end_block(),
                _ if output.at >= output.soft_end => return Ok(InflateStatus::OutputFull),
                Phase::Stored(remaining) => {
                    let count = bits.copy_bytes(remaining, output);
                    self.phase = Phase::Stored(remaining - count);
                    if count == 0 {
                        return Err(Halt::Dry);
                    }
                }
                Phase::Dynamic | Phase::Fixed => {
                    let tables = if self.phase == Phase::Fixed { InflateTables::fixed() } else { &self.tables };
                    if symbols(tables, bits, output)? == Pause::EndOfBlock {
                        self.end_block();
                    }
                }
            }
        }
    }

    /// Reads a block's header, or nothing of it when the input does not hold all.
    fn begin_block(&mut self, bits: &mut BitReader<'_>) -> Result<(), Halt> {
        let start = *bits;
        self.block_began = start.bit();
        match header::read(bits, &mut self.tables) {
            Ok(block) => {
                self.final_block = block.is_final;
                self.phase = match block.kind {
                    DeflateBlockKind::Stored(length) => Phase::Stored(length),
                    DeflateBlockKind::Fixed => Phase::Fixed,
                    DeflateBlockKind::Dynamic => Phase::Dynamic,
                };
                Ok(())
            }
            Err(halt) => {
                *bits = start;
                Err(halt)
            }
        }
    }

    fn end_block(&mut self) {
        self.phase = if self.final_block { Phase::Finished } else { Phase::Header };
    }
}

/// Decodes symbols until the block ends or the output is full.
fn symbols<C: ByteCell>(
    tables: &InflateTables,
    bits: &mut BitReader<'_>,
    output: &mut Output<'_, C>,
) -> Result<Pause, Halt> {
    if fast::symbols(tables, bits, output)? == Pause::EndOfBlock {
        return Ok(Pause::EndOfBlock);
    }
    while output.at < output.soft_end {
        if careful_symbol(tables, bits, output)? == Pause::EndOfBlock {
            return Ok(Pause::EndOfBlock);
        }
    }
    Ok(Pause::Edge)
}

/// Decodes what one look-up answers, near the end of the input. Takes nothing when the input does not hold all of it.
fn careful_symbol<C: ByteCell>(
    tables: &InflateTables,
    bits: &mut BitReader<'_>,
    output: &mut Output<'_, C>,
) -> Result<Pause, Halt> {
    bits.refill();
    let ahead = bits.ahead();
    let symbol = tables.symbol(ahead);
    let mut taken = symbol.bits();
    if taken > bits.available() {
        return Err(Halt::Dry);
    }
    if symbol.is_exceptional() {
        bits.take(taken);
        return if symbol.is_end() { Ok(Pause::EndOfBlock) } else { Err(InflateError::LiteralSymbol.into()) };
    }
    let mut reference = None;
    if symbol.is_match() {
        let ahead_of_distance = ahead >> taken;
        let distance = tables.distance(ahead_of_distance);
        taken += distance.bits();
        if taken > bits.available() {
            return Err(Halt::Dry);
        }
        if distance.is_invalid() {
            return Err(InflateError::DistanceSymbol.into());
        }
        reference = Some((symbol.length::<Portable>(ahead), distance.distance::<Portable>(ahead_of_distance)));
    }
    bits.take(taken);
    output.put_literals(symbol);
    if let Some((length, distance)) = reference {
        output.repeat(distance, length)?;
    }
    Ok(Pause::Edge)
}

impl<C: ByteCell> Output<'_, C> {
    fn put_literals(&mut self, symbol: SymbolEntry) {
        let count = symbol.literal_count();
        self.buffer[self.at..][..count].copy_from_slice(&C::pair(symbol.literals())[..count]);
        self.at += count;
    }

    /// Repeats `length` bytes from `distance` back.
    fn repeat(&mut self, distance: usize, length: usize) -> Result<(), InflateError> {
        let available = self.at - self.floor;
        if distance > available {
            return Err(too_far(distance, available));
        }
        if distance >= length {
            self.buffer.copy_within(self.at - distance..self.at - distance + length, self.at);
        } else {
            for to in self.at..self.at + length {
                self.buffer[to] = self.buffer[to - distance];
            }
        }
        self.at += length;
        Ok(())
    }
}

fn too_far(distance: usize, available: usize) -> InflateError {
    let narrow = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    InflateError::DistanceTooFar { distance: narrow(distance), available: narrow(available) }
}
