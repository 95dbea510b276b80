//! .Z files of compress(1): LZW with codes of 9 to 16 bits, read only. There is no check and no length in them: a file that
//! breaks off between codes reads as a shorter one.

use crate::byte_buffer::ByteBuffer;
use crate::compressed_reader::CompressedReader;
use crate::error::{CodecError, UnitDefect};
use crate::format::{
    CutError, Cutter, DecodeLimits, Decoder, EncodeOptions, Encoder, FixedTail, Format, FormatFacts, NextUnit, Remark,
    SegmentFill, StreamDecoder, Tail,
};
use crew::pipeline::{CutTurn, Pause};

/// The format.
#[derive(Debug)]
pub struct Compress;

static FACTS: FormatFacts = FormatFacts {
    name: "Z",
    tool: "compress",
    suffixes: &[(".Z", ""), (".taZ", ".tar")],
    unit_name: "stream",
    levels: 0..=0,
    level_before_ultra: 0,
    default_level: 0,
    best_level: 0,
    check: "none",
};

const MAGIC: [u8; 2] = [0x1f, 0x9d];
const HEADER_BYTES: usize = 3;

/// Compressed bytes looked at at a time.
const STEP_BYTES: usize = 64 << 10;

const FIRST_BITS: u32 = 9;
const LAST_BITS: u32 = 16;
/// In block mode: begin a new table.
const CLEAR: usize = 256;

impl Format for Compress {
    fn facts(&self) -> &'static FormatFacts {
        &FACTS
    }

    fn recognises(&self, head: &[u8]) -> bool {
        head.starts_with(&MAGIC)
    }

    fn can_encode(&self) -> bool {
        false
    }

    fn chunk_bytes(&self, _options: &EncodeOptions) -> usize {
        1 << 20
    }

    fn compressed_bound(&self, plain_bytes: usize) -> usize {
        plain_bytes
    }

    fn encoder_bytes(&self, _options: &EncodeOptions) -> u64 {
        0
    }

    fn decoder_bytes(&self, _unit_uncompressed_bytes: u64) -> u64 {
        0
    }

    fn encoder(&self, _options: &EncodeOptions) -> Result<Box<dyn Encoder>, CodecError> {
        Err(CodecError::Library { library: "LZW", message: "Z files are only read".to_owned() })
    }

    fn tail(&self, _options: &EncodeOptions) -> Box<dyn Tail> {
        Box::new(FixedTail::default())
    }

    fn cutter(&self, _limits: &DecodeLimits) -> Box<dyn Cutter> {
        Box::new(WholeCutter { unknown_flags: 0 })
    }

    fn decoder(&self, _limits: &DecodeLimits) -> Box<dyn Decoder> {
        Box::new(NoUnits)
    }
}

/// The file is one stream, up to its end.
struct WholeCutter {
    unknown_flags: u8,
}

impl Cutter for WholeCutter {
    fn next(&mut self, input: &mut CompressedReader) -> Result<NextUnit, CutError> {
        let (head, _) = input.ahead(HEADER_BYTES, STEP_BYTES)?;
        if head.is_empty() {
            return Ok(NextUnit::End);
        }
        let &flags = head.get(2).ok_or(UnitDefect::Truncated)?;
        let bits_max = u32::from(flags & 0x1f);
        if bits_max > LAST_BITS {
            return Err(UnitDefect::Header("its codes have more than 16 bits").into());
        }
        self.unknown_flags = flags & 0x60;
        Ok(NextUnit::Stream(Box::new(LzwStream::new(bits_max, flags & 0x80 != 0))))
    }

    fn remark(&self) -> Option<Remark> {
        (self.unknown_flags != 0).then_some(Remark::UnknownFlags(self.unknown_flags))
    }
}

/// The decoder: each code stands for the string of another code and one byte more.
struct LzwStream {
    bits_max: u32,
    has_clear: bool,
    header_read: bool,
    prefix: Vec<u16>,
    last_byte: Vec<u8>,
    /// Codes of `bits` bits come in groups of eight: a change of their length begins a new group.
    bits: u32,
    /// Their length from the next group on.
    next_bits: u32,
    codes_in_group: u32,
    next: usize,
    /// Whether no code was read: the first one is a byte.
    is_first: bool,
    /// The code before, and the first byte of its string.
    before: Option<(usize, u8)>,
    /// Decoded, last byte first, and not passed on yet.
    waiting: Vec<u8>,
    held: u64,
    held_bits: u32,
}

impl LzwStream {
    fn new(bits_max: u32, has_clear: bool) -> Self {
        Self {
            bits_max,
            has_clear,
            header_read: false,
            prefix: vec![0; (1 << bits_max).max(CLEAR)],
            last_byte: (0..(1_usize << bits_max).max(CLEAR)).map(|code| code as u8).collect(),
            bits: FIRST_BITS,
            next_bits: FIRST_BITS,
            codes_in_group: 0,
            next: first_free(has_clear),
            is_first: true,
            before: None,
            waiting: Vec::new(),
            held: 0,
            held_bits: 0,
        }
    }

    /// Takes the next code off the front of `compressed`; nothing where that does not hold it whole.
    fn code(&mut self, compressed: &mut &[u8]) -> Option<usize> {
        while self.held_bits < self.bits {
            let (&byte, rest) = compressed.split_first()?;
            *compressed = rest;
            self.held |= u64::from(byte) << self.held_bits;
            self.held_bits += 8;
        }
        let code = self.held & ((1 << self.bits) - 1);
        self.held >>= self.bits;
        self.held_bits -= self.bits;
        self.codes_in_group = (self.codes_in_group + 1) % 8;
        // At most 16 bits.
        Some(code as usize)
    }

    /// Decodes one code into `waiting`. Returns false where `compressed` does not hold it whole.
    fn step(&mut self, compressed: &mut &[u8]) -> Result<bool, UnitDefect> {
        // COMPAT: codes grow to ten bits also where the header says nine: so compress writes them no longer, and so it and gzip read them.
        if self.next >= 1 << self.bits && (self.bits < self.bits_max || self.bits == FIRST_BITS) {
            self.next_bits = self.bits + 1;
        }
        while self.bits != self.next_bits {
            // What is left of a group of eight codes is stepped over.
            if self.codes_in_group == 0 {
                self.bits = self.next_bits;
            } else if self.code(compressed).is_none() {
                return Ok(false);
            }
        }
        let Some(code) = self.code(compressed) else { return Ok(false) };
        if code == CLEAR && self.has_clear && !self.is_first {
            self.next_bits = FIRST_BITS;
            (self.next, self.before) = (first_free(true), None);
            return Ok(true);
        }
        self.is_first = false;
        let Some((before, first_before)) = self.before else {
            if code > 255 {
                return Err(UnitDefect::Header("its first code stands for nothing"));
            }
            // One byte.
            self.waiting.push(code as u8);
            self.before = Some((code, code as u8));
            return Ok(true);
        };
        let mut at = code;
        if code >= self.next {
            // What was not given a place in a full table cannot be referred to.
            if code > self.next || before > 255 && before >= self.next {
                return Err(UnitDefect::Header("a code of it stands for nothing yet"));
            }
            self.waiting.push(first_before);
            at = before;
        }
        while at > 255 {
            self.waiting.push(self.last_byte[at]);
            at = usize::from(self.prefix[at]);
        }
        // One byte.
        let first = at as u8;
        self.waiting.push(first);
        if self.next < 1 << self.bits_max {
            // Codes have 16 bits at most.
            self.prefix[self.next] = before as u16;
            self.last_byte[self.next] = first;
            self.next += 1;
        }
        self.before = Some((code, first));
        Ok(true)
    }
}

/// The first code that a string is given.
fn first_free(has_clear: bool) -> usize {
    if has_clear { CLEAR + 1 } else { CLEAR }
}

impl StreamDecoder for LzwStream {
    fn fill(
        &mut self,
        input: &mut CompressedReader,
        uncompressed: &mut ByteBuffer,
        segment_bytes: usize,
        turn: &mut CutTurn<'_>,
    ) -> Result<SegmentFill, CutError> {
        uncompressed.clear();
        if !self.header_read {
            input.consume(HEADER_BYTES);
            self.header_read = true;
        }
        loop {
            let (compressed, at_end) = input.ahead(1, STEP_BYTES)?;
            let mut rest = compressed;
            let goes_on = turn.with_hand(|| self.decode(&mut rest, uncompressed, segment_bytes))?;
            let consumed = compressed.len() - rest.len();
            input.consume(consumed);
            if !goes_on && at_end {
                return Ok(SegmentFill::Last(None));
            }
            if uncompressed.len() == segment_bytes || (!uncompressed.is_empty() && input.would_wait()) {
                return Ok(SegmentFill::More);
            }
        }
    }
}

impl LzwStream {
    /// Decodes until `uncompressed` has `segment_bytes`. Returns false where `compressed` ends before.
    fn decode(
        &mut self,
        compressed: &mut &[u8],
        uncompressed: &mut ByteBuffer,
        segment_bytes: usize,
    ) -> Result<bool, UnitDefect> {
        loop {
            // Strings come out last byte first.
            let count = self.waiting.len().min(segment_bytes - uncompressed.len());
            let kept = self.waiting.len() - count;
            for (target, &byte) in uncompressed.room(count).iter_mut().zip(self.waiting[kept..].iter().rev()) {
                *target = byte;
            }
            uncompressed.grow(count);
            self.waiting.truncate(kept);
            if uncompressed.len() == segment_bytes {
                return Ok(true);
            }
            if !self.step(compressed)? {
                return Ok(false);
            }
        }
    }
}

/// The cutter gives no units.
struct NoUnits;

impl Decoder for NoUnits {
    fn decode(&mut self, _: &[u8], _: u64, _: u64, _: &mut ByteBuffer, _: &mut Pause<'_>) -> Result<(), UnitDefect> {
        Err(UnitDefect::Header("it has no units"))
    }
}
