//! Block headers (RFC 1951 sections 3.2.3 to 3.2.7): what kind of block comes, and for dynamic ones the tables.
//! Takes no notice of where input is cut: it says so and is asked again from the header's start.

use super::bits::BitReader;
use super::tables::{END_OF_BLOCK, InflateTables};
use super::{Halt, InflateError};

/// A block's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DeflateBlock {
    pub is_final: bool,
    pub kind: DeflateBlockKind,
}

/// What follows a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeflateBlockKind {
    /// So many uncompressed bytes.
    Stored(usize),
    /// Symbols in the fixed codes.
    Fixed,
    /// Symbols in the codes that were put into the tables.
    Dynamic,
}

/// LIMIT: zlib refuses more codes than the alphabets have in use, though the fields could hold 288 and 32.
const SYMBOLS_MAX: usize = 286;
const DISTANCES_MAX: usize = 30;

/// Reads a header.
pub(super) fn read(bits: &mut BitReader<'_>, tables: &mut InflateTables) -> Result<DeflateBlock, Halt> {
    let is_final = bits.number(1)? == 1;
    let kind = match bits.number(2)? {
        0 => {
            bits.align();
            let (length, complement) = (bits.number(16)?, bits.number(16)?);
            if length ^ complement != 0xffff {
                return Err(InflateError::StoredLength.into());
            }
            DeflateBlockKind::Stored(length as usize)
        }
        1 => DeflateBlockKind::Fixed,
        2 => {
            read_codes(bits, tables)?;
            DeflateBlockKind::Dynamic
        }
        _ => return Err(InflateError::BlockType.into()),
    };
    Ok(DeflateBlock { is_final, kind })
}

/// Reads the code lengths of a dynamic block and fills the tables.
fn read_codes(bits: &mut BitReader<'_>, tables: &mut InflateTables) -> Result<(), Halt> {
    let symbol_count = bits.number(5)? as usize + 257;
    let distance_count = bits.number(5)? as usize + 1;
    let length_code_count = bits.number(4)? as usize + 4;
    if symbol_count > SYMBOLS_MAX || distance_count > DISTANCES_MAX {
        return Err(InflateError::CodeCount.into());
    }
    let length_code = LengthCode::read(bits, length_code_count)?;
    let mut lengths = [0; LENGTHS_MAX];
    length_code.read_lengths(bits, &mut lengths, symbol_count + distance_count)?;
    let (symbols, rest) = lengths.split_at(symbol_count);
    if symbols[END_OF_BLOCK] == 0 {
        return Err(InflateError::NoEndOfBlock.into());
    }
    tables.build(symbols, &rest[..distance_count])?;
    Ok(())
}

/// Room for all lengths and for the longest repeat to be written as a whole behind the last one.
const LENGTHS_MAX: usize = SYMBOLS_MAX + DISTANCES_MAX + REPEAT_MAX;
/// The longest repeat of a length.
const REPEAT_MAX: usize = 138;

/// The code that code lengths are written in: per look-ahead of seven bits a symbol (upper five bits) and its code's length.
struct LengthCode([u8; 1 << LENGTH_CODE_BITS_MAX]);

const LENGTH_CODE_BITS_MAX: u32 = 7;

/// The order in which the lengths of this code are written (RFC 1951 section 3.2.7).
pub(super) const LENGTH_CODE_ORDER: [u8; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

impl LengthCode {
    fn read(bits: &mut BitReader<'_>, count: usize) -> Result<Self, Halt> {
        let mut code_bits = [0u8; 19];
        for &symbol in &LENGTH_CODE_ORDER[..count] {
            code_bits[usize::from(symbol)] = bits.number(3)? as u8;
        }
        let mut table = [0; 1 << LENGTH_CODE_BITS_MAX];
        // Codes counted with their first bit highest; `code` is the next one, as a fraction of the table.
        let mut code = 0;
        for length in 1..=LENGTH_CODE_BITS_MAX as u8 {
            for symbol in (0..19u8).filter(|&symbol| code_bits[usize::from(symbol)] == length) {
                if code >= table.len() {
                    return Err(InflateError::LengthCode.into());
                }
                let index = code.reverse_bits() >> (usize::BITS - LENGTH_CODE_BITS_MAX);
                for place in table[index..].iter_mut().step_by(1 << length) {
                    *place = symbol << 3 | length;
                }
                code += 1 << (LENGTH_CODE_BITS_MAX - u32::from(length));
            }
        }
        if code == table.len() { Ok(Self(table)) } else { Err(InflateError::LengthCode.into()) }
    }

    /// Reads `count` lengths to the start of `lengths`, which are zero before.
    fn read_lengths(
        &self,
        bits: &mut BitReader<'_>,
        lengths: &mut [u8; LENGTHS_MAX],
        count: usize,
    ) -> Result<(), Halt> {
        let mut at = 0;
        while at < count {
            bits.refill();
            let entry = self.0[bits.ahead() as usize & ((1 << LENGTH_CODE_BITS_MAX) - 1)];
            let (symbol, code_bits) = (entry >> 3, u32::from(entry & 7));
            if code_bits > bits.available() {
                return Err(Halt::Dry);
            }
            bits.take(code_bits);
            if symbol < 16 {
                lengths[at] = symbol;
                at += 1;
                continue;
            }
            let (value, repeat) = match symbol {
                16 if at == 0 => return Err(InflateError::LengthRepeat.into()),
                16 => (lengths[at - 1], 3 + bits.number(2)?),
                17 => (0, 3 + bits.number(3)?),
                _ => (0, 11 + bits.number(7)?),
            };
            lengths[at..][..repeat as usize].fill(value);
            at += repeat as usize;
        }
        if at > count { Err(InflateError::LengthRepeat.into()) } else { Ok(()) }
    }
}
