//! .z files of pack(1): Huffman codes of whole bytes, read only. There is no check in them; the length of the data stands
//! in front, modulo 4 GiB.

use crate::byte_buffer::ByteBuffer;
use crate::compressed_reader::CompressedReader;
use crate::error::{CodecError, UnitDefect};
use crate::format::{
    CutError, Cutter, DecodeLimits, Decoder, EncodeOptions, Encoder, FixedTail, Format, FormatFacts, NextUnit,
    SegmentFill, StreamDecoder, Tail,
};
use crate::formats::lzma::NoUnits;
use crew::pipeline::CutTurn;

/// The format.
#[derive(Debug)]
pub struct Pack;

static FACTS: FormatFacts = FormatFacts {
    name: "z",
    tool: "pack",
    suffixes: &[(".z", "")],
    unit_name: "packed file",
    levels: 0..=0,
    level_before_ultra: 0,
    default_level: 0,
    best_level: 0,
    check: "none",
};

const MAGIC: [u8; 2] = [0x1f, 0x1e];

/// Magic, length of the data, length of the longest code.
const FIXED_HEADER_BYTES: usize = 2 + 4 + 1;

/// LIMIT: as pack and gzip have it.
const CODE_BITS_MAX: usize = 25;

/// Each byte may have a code. The end of the data has one too, and does not stand in the header.
const SYMBOLS_MAX: usize = 256;

const HEADER_BYTES_MAX: usize = FIXED_HEADER_BYTES + CODE_BITS_MAX + SYMBOLS_MAX;

/// Compressed bytes looked at at a time.
const STEP_BYTES: usize = 64 << 10;

/// Codes up to this length are found by one look-up.
const LOOK_UP_BITS: u32 = 12;

impl Format for Pack {
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
        Err(CodecError::Library { library: "pack", message: "z files are only read".to_owned() })
    }

    fn tail(&self, _options: &EncodeOptions) -> Box<dyn Tail> {
        Box::new(FixedTail::default())
    }

    fn cutter(&self, _limits: &DecodeLimits) -> Box<dyn Cutter> {
        Box::new(WholeCutter { seen: false })
    }

    fn decoder(&self, _limits: &DecodeLimits) -> Box<dyn Decoder> {
        Box::new(NoUnits)
    }
}

/// One stream, and others where the one before has ended.
struct WholeCutter {
    seen: bool,
}

impl Cutter for WholeCutter {
    fn next(&mut self, input: &mut CompressedReader) -> Result<NextUnit, CutError> {
        let (head, _) = input.ahead(HEADER_BYTES_MAX, STEP_BYTES)?;
        if head.is_empty() {
            return Ok(NextUnit::End);
        }
        if std::mem::replace(&mut self.seen, true) && !head.starts_with(&MAGIC) {
            return Err(CutError::Garbage);
        }
        Ok(NextUnit::Stream(Box::new(HuffmanStream::new(PackHeader::parse(head)?))))
    }
}

/// The header: codes of each length in the order in which the tree has them, from its right end to the left.
#[derive(Debug, PartialEq, Eq)]
struct PackHeader {
    bytes: usize,
    data_bytes: u32,
    levels: Vec<CodeLevel>,
    /// Bytes in the order of their codes; the last code of all has none and ends the data.
    symbols: Vec<u8>,
}

/// Codes of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CodeLevel {
    /// Numbers below are the beginnings of longer codes.
    inner: u32,
    /// The place in `symbols` of the first code.
    first: usize,
}

impl PackHeader {
    fn parse(head: &[u8]) -> Result<Self, UnitDefect> {
        let (fixed, rest) = head.split_first_chunk::<FIXED_HEADER_BYTES>().ok_or(UnitDefect::Truncated)?;
        let [_, _, a, b, c, d, bits_max] = *fixed;
        let bits_max = usize::from(bits_max);
        if !(1..=CODE_BITS_MAX).contains(&bits_max) {
            return Err(UnitDefect::Header("invalid compressed data -- Huffman code bit length out of range"));
        }
        let (counts, rest) = rest.split_at_checked(bits_max).ok_or(UnitDefect::Truncated)?;
        let mut counts: Vec<u32> = counts.iter().map(|&count| u32::from(count)).collect();
        // The last count leaves out two: no tree has fewer of its longest codes, and 256 fit into a byte so.
        counts[bits_max - 1] += 2;
        let mut room = 2_u64;
        for &count in &counts {
            room = room.checked_sub(u64::from(count)).ok_or(TOO_MANY)? * 2;
        }
        let symbol_count = counts.iter().sum::<u32>() as usize - 1;
        if symbol_count > SYMBOLS_MAX {
            return Err(TOO_MANY);
        }
        if room > 0 {
            return Err(UnitDefect::Header("too few leaves in Huffman tree"));
        }
        let symbols = rest.get(..symbol_count).ok_or(UnitDefect::Truncated)?.to_vec();
        let (mut levels, mut nodes, mut first) = (Vec::with_capacity(bits_max), 0, symbol_count + 1);
        for &count in counts.iter().rev() {
            let inner = nodes / 2;
            first -= count as usize;
            levels.push(CodeLevel { inner, first });
            nodes = inner + count;
        }
        levels.reverse();
        let bytes = FIXED_HEADER_BYTES + bits_max + symbol_count;
        Ok(Self { bytes, data_bytes: u32::from_be_bytes([a, b, c, d]), levels, symbols })
    }
}

const TOO_MANY: UnitDefect = UnitDefect::Header("too many leaves in Huffman tree");

/// Decodes the data behind a header.
struct HuffmanStream {
    header: PackHeader,
    header_read: bool,
    /// For each beginning of a code: the code's length, 0 where it is longer, and its place in the symbols.
    look_up: Vec<(u8, u16)>,
    look_up_bits: u32,
    /// Bits ahead, the next one highest.
    held: u64,
    held_bits: u32,
    written: u64,
}

/// The next step.
enum Symbol {
    Byte(u8),
    End,
    /// Its code is not there as a whole.
    Cut,
}

impl HuffmanStream {
    fn new(header: PackHeader) -> Self {
        let look_up_bits = LOOK_UP_BITS.min(header.levels.len() as u32);
        let look_up = (0..1_u32 << look_up_bits).map(|ahead| {
            let bits = u64::from(ahead) << (64 - look_up_bits);
            let found = walk(&header.levels[..look_up_bits as usize], bits);
            // 25 bits and 257 places at most.
            found.map_or((0, 0), |(length, place)| (length as u8, place as u16))
        });
        let look_up = look_up.collect();
        Self { header, header_read: false, look_up, look_up_bits, held: 0, held_bits: 0, written: 0 }
    }

    fn symbol(&mut self, compressed: &mut &[u8]) -> Symbol {
        while self.held_bits <= 56
            && let Some((&byte, rest)) = compressed.split_first()
        {
            *compressed = rest;
            self.held |= u64::from(byte) << (56 - self.held_bits);
            self.held_bits += 8;
        }
        let (length, place) = match self.look_up[(self.held >> (64 - self.look_up_bits)) as usize] {
            (0, _) => walk(&self.header.levels, self.held).unwrap_or((u32::MAX, 0)),
            (length, place) => (u32::from(length), usize::from(place)),
        };
        if length > self.held_bits {
            return Symbol::Cut;
        }
        self.held <<= length;
        self.held_bits -= length;
        self.header.symbols.get(place).map_or(Symbol::End, |&byte| Symbol::Byte(byte))
    }

    /// Decodes until `uncompressed` is full, the data end or `compressed` does.
    fn decode(
        &mut self,
        compressed: &mut &[u8],
        uncompressed: &mut ByteBuffer,
        segment_bytes: usize,
    ) -> Option<Symbol> {
        let room = uncompressed.room(segment_bytes - uncompressed.len());
        let (mut count, mut stopped) = (0, None);
        for place in room {
            match self.symbol(compressed) {
                Symbol::Byte(byte) => *place = byte,
                other => {
                    stopped = Some(other);
                    break;
                }
            }
            count += 1;
        }
        uncompressed.grow(count);
        self.written += count as u64;
        stopped
    }

    /// Gives whole bytes back that are held: nothing behind the last code is taken. Returns how many.
    fn give_back(&mut self) -> usize {
        let bytes = self.held_bits / 8;
        self.held_bits %= 8;
        self.held &= !(u64::MAX >> self.held_bits);
        bytes as usize
    }

    fn check_length(&self) -> Result<SegmentFill, UnitDefect> {
        let stored = u64::from(self.header.data_bytes);
        if self.written & u64::from(u32::MAX) != stored {
            return Err(UnitDefect::Length { stored, actual: self.written });
        }
        Ok(SegmentFill::Last(None))
    }
}

/// The code that `bits` begin with (the first one highest): its length, and its place among the symbols.
fn walk(levels: &[CodeLevel], bits: u64) -> Option<(u32, usize)> {
    (1..).zip(levels).find_map(|(length, level)| {
        let number = (bits >> (64 - length)) as u32;
        (number >= level.inner).then(|| (length, level.first + (number - level.inner) as usize))
    })
}

impl StreamDecoder for HuffmanStream {
    fn fill(
        &mut self,
        input: &mut CompressedReader,
        uncompressed: &mut ByteBuffer,
        segment_bytes: usize,
        turn: &mut CutTurn<'_>,
    ) -> Result<SegmentFill, CutError> {
        uncompressed.clear();
        if !self.header_read {
            input.consume(self.header.bytes);
            self.header_read = true;
        }
        let mut at_least = 1;
        loop {
            let (compressed, at_end) = input.ahead(at_least, STEP_BYTES)?;
            let mut rest = compressed;
            let stopped = turn.with_hand(|| self.decode(&mut rest, uncompressed, segment_bytes));
            let (shown, left) = (compressed.len(), rest.len() + self.give_back());
            input.consume(shown - left);
            // The rest was too little for a code: one byte more, at least.
            at_least = left + 1;
            match stopped {
                Some(Symbol::End) => return Ok(self.check_length()?),
                Some(_) if at_end => return Err(UnitDefect::Truncated.into()),
                Some(_) if uncompressed.is_empty() || !input.would_wait() => {}
                _ => return Ok(SegmentFill::More),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codes of 1, 2 and 3 bits: `a` is 1, `b` 01, `c` 000, the end 001.
    const SMALL: [u8; 13] = [0x1f, 0x1e, 0, 0, 0, 4, 3, 1, 1, 0, b'a', b'b', b'c'];

    fn decoded(file: &[u8]) -> Result<Vec<u8>, String> {
        let mut reader = CompressedReader::memory(file.to_vec());
        let unit = WholeCutter { seen: false }.next(&mut reader).map_err(|error| format!("{error:?}"))?;
        let NextUnit::Stream(mut stream) = unit else { panic!("it is a stream") };
        let (mut all, mut segment) = (Vec::new(), ByteBuffer::default());
        loop {
            let filled = stream.fill(&mut reader, &mut segment, 3, &mut CutTurn::with_a_hand());
            all.extend_from_slice(segment.content());
            match filled {
                Ok(SegmentFill::More) => {}
                Ok(SegmentFill::Last(_)) => return Ok(all),
                Err(error) => return Err(format!("{error:?}")),
            }
        }
    }

    #[test]
    fn codes_are_read_from_the_right_end_of_the_tree() {
        // a b a c end: 1 01 1 000 001.
        let file = [&SMALL[..], &[0b1011_0000, 0b0100_0000]].concat();
        assert_eq!(decoded(&file).as_deref(), Ok(&b"abac"[..]));
        assert!(decoded(&file[..file.len() - 1]).is_err_and(|why| why.contains("Truncated")));
        let mut longer = file.clone();
        longer[5] = 5;
        assert!(decoded(&longer).is_err_and(|why| why.contains("Length { stored: 5, actual: 4 }")));
    }

    #[test]
    fn trees_that_are_none_are_refused() {
        let defect = |counts: &[u8]| {
            let mut head = vec![0x1f, 0x1e, 0, 0, 0, 1, counts.len() as u8];
            head.extend(counts);
            head.resize(HEADER_BYTES_MAX + 10, 0);
            PackHeader::parse(&head).map_err(|defect| defect.to_string())
        };
        assert!(defect(&[]).is_err_and(|why| why.contains("out of range")));
        assert!(defect(&[0; 26]).is_err_and(|why| why.contains("out of range")));
        assert!(defect(&[1, 1]).is_err_and(|why| why.contains("too many")));
        assert!(defect(&[0, 0]).is_err_and(|why| why.contains("too few")));
        let whole = [0, 0, 0, 0, 0, 0, 0, 254];
        assert!(defect(&whole).is_ok_and(|header| header.symbols.len() == 255));
    }
}
