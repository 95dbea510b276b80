//! Symbols in safe code, with every access checked: for processors without a hot loop, and near the ends of input and output.

use super::model::{
    ALIGN, IS_MATCH, IS_REPEAT, IS_REPEAT_0, IS_REPEAT_0_LONG, IS_REPEAT_1, IS_REPEAT_2, LENGTH_HIGH, LENGTH_IS_HIGH,
    LENGTH_IS_NOT_LOW, LENGTH_LOW, LENGTH_MIDDLE, LITERAL_ROW, LITERAL_STATES, LITERALS, MATCH_BYTES_MIN,
    MATCH_LENGTHS, MOVE_BITS, Model, NEAR, POSITION_STATES, PROBABILITY_BITS, REPEAT_LENGTHS, SLOT_DIRECT,
    SLOT_MODELLED, SLOTS, after_literal, after_match, after_repeat, after_short_repeat,
};
use super::{Lzma2Error, Output, RANGE_DECODER_BYTES, too_far};

/// The range below which the next byte is taken in.
pub(super) const RANGE_MIN: u32 = 1 << 24;

/// The range decoder between two symbols.
#[derive(Clone, Copy, Debug)]
pub(super) struct RangeDecoder {
    pub range: u32,
    pub code: u32,
    /// Offset of the next byte in the chunk.
    pub next: usize,
}

impl RangeDecoder {
    pub fn begin(chunk: &[u8]) -> Result<Self, Lzma2Error> {
        let &[first, ref code @ ..] = chunk.first_chunk::<RANGE_DECODER_BYTES>().ok_or(Lzma2Error::ChunkEnd)?;
        if first != 0 {
            return Err(Lzma2Error::FirstByte);
        }
        Ok(Self { range: u32::MAX, code: u32::from_be_bytes(*code), next: RANGE_DECODER_BYTES })
    }

    /// Whether the chunk may end here: nothing is left, of it or in the decoder.
    pub fn end(mut self, chunk: &[u8]) -> Result<(), Lzma2Error> {
        self.normalise(chunk)?;
        if self.code == 0 && self.next == chunk.len() { Ok(()) } else { Err(Lzma2Error::ChunkEnd) }
    }

    #[inline(always)]
    fn normalise(&mut self, chunk: &[u8]) -> Result<(), Lzma2Error> {
        if self.range < RANGE_MIN {
            let byte = *chunk.get(self.next).ok_or(Lzma2Error::ChunkEnd)?;
            self.range <<= 8;
            self.code = self.code << 8 | u32::from(byte);
            self.next += 1;
        }
        Ok(())
    }

    /// One bit by a probability, which learns from it.
    #[inline(always)]
    fn bit(&mut self, chunk: &[u8], probability: &mut u16) -> Result<u32, Lzma2Error> {
        self.normalise(chunk)?;
        let bound = (self.range >> PROBABILITY_BITS) * u32::from(*probability);
        if self.code < bound {
            self.range = bound;
            *probability += ((1 << PROBABILITY_BITS) - *probability) >> MOVE_BITS;
            Ok(0)
        } else {
            self.range -= bound;
            self.code -= bound;
            *probability -= *probability >> MOVE_BITS;
            Ok(1)
        }
    }

    /// `count` bits of a tree, the highest first.
    #[inline(always)]
    fn tree(&mut self, chunk: &[u8], tree: &mut [u16], count: u32) -> Result<u32, Lzma2Error> {
        let mut node = 1;
        for _ in 0..count {
            node = node << 1 | self.bit(chunk, &mut tree[node as usize])?;
        }
        Ok(node - (1 << count))
    }

    /// `count` bits of a tree, the lowest first.
    #[inline(always)]
    fn reverse_tree(&mut self, chunk: &[u8], tree: &mut [u16], count: u32) -> Result<u32, Lzma2Error> {
        let (mut node, mut value) = (1, 0);
        for index in 0..count {
            let bit = self.bit(chunk, &mut tree[node as usize])?;
            node = node << 1 | bit;
            value |= bit << index;
        }
        Ok(value)
    }

    /// `count` bits without probabilities, below the bits of `value`.
    fn direct(&mut self, chunk: &[u8], mut value: u32, count: u32) -> Result<u32, Lzma2Error> {
        for _ in 0..count {
            self.normalise(chunk)?;
            self.range >>= 1;
            let less = self.code.wrapping_sub(self.range);
            // The sign, not the carry: they differ in broken data only, and then this is how liblzma sees it.
            let bit = 1 - (less >> 31);
            self.code = if bit == 1 { less } else { self.code };
            value = value << 1 | bit;
        }
        Ok(value)
    }
}

/// Decodes symbols to the end of the chunk's output.
pub(super) fn symbols(
    model: &mut Model,
    coder: &mut RangeDecoder,
    chunk: &[u8],
    output: &mut Output<'_>,
) -> Result<(), Lzma2Error> {
    while output.at < output.chunk_end {
        let position_state = output.at & ((1 << model.properties.position_bits) - 1);
        let state = model.state as usize;
        let row = state * POSITION_STATES + position_state;
        let probabilities = &mut model.probabilities;
        if coder.bit(chunk, &mut probabilities[IS_MATCH + row])? == 0 {
            literal(model, coder, chunk, output)?;
            continue;
        }
        let length;
        if coder.bit(chunk, &mut probabilities[IS_REPEAT + state])? == 0 {
            model.distances.rotate_right(1);
            model.state = after_match(model.state);
            length = self::length(model, MATCH_LENGTHS, position_state, coder, chunk)?;
            model.distances[0] = distance(model, length, coder, chunk)?;
        } else {
            if coder.bit(chunk, &mut probabilities[IS_REPEAT_0 + state])? == 0 {
                if coder.bit(chunk, &mut probabilities[IS_REPEAT_0_LONG + row])? == 0 {
                    model.state = after_short_repeat(model.state);
                    copy(output, model.distances[0], 1)?;
                    continue;
                }
            } else if coder.bit(chunk, &mut probabilities[IS_REPEAT_1 + state])? == 0 {
                model.distances[..2].rotate_right(1);
            } else {
                let third = coder.bit(chunk, &mut probabilities[IS_REPEAT_2 + state])? as usize;
                model.distances[..3 + third].rotate_right(1);
            }
            model.state = after_repeat(model.state);
            length = self::length(model, REPEAT_LENGTHS, position_state, coder, chunk)?;
        }
        copy(output, model.distances[0], length as usize)?;
    }
    Ok(())
}

fn literal(
    model: &mut Model,
    coder: &mut RangeDecoder,
    chunk: &[u8],
    output: &mut Output<'_>,
) -> Result<(), Lzma2Error> {
    let before = output.at.checked_sub(1).map_or(0, |last| output.buffer[last]);
    let properties = model.properties;
    let position = output.at & ((1 << properties.literal_position_bits) - 1);
    let context = position << properties.context_bits | usize::from(before) >> (8 - properties.context_bits);
    let row = LITERALS + context * LITERAL_ROW;
    let row = &mut model.probabilities[row..row + LITERAL_ROW];
    let byte = if model.state < LITERAL_STATES {
        coder.tree(chunk, row, 8)?
    } else {
        let distance = model.distances[0] as usize + 1;
        let source = output.at.checked_sub(distance).ok_or_else(|| too_far(model.distances[0], output.at))?;
        let matched = u32::from(output.buffer[source]);
        let (mut node, mut agrees) = (1, true);
        for index in (0..8).rev() {
            let match_bit = matched >> index & 1;
            let tree = if agrees { 0x100 << match_bit } else { 0 };
            let bit = coder.bit(chunk, &mut row[(tree + node) as usize])?;
            node = node << 1 | bit;
            agrees &= bit == match_bit;
        }
        node & 0xff
    };
    // Eight bits.
    output.buffer[output.at] = byte as u8;
    output.at += 1;
    model.state = after_literal(model.state);
    Ok(())
}

fn length(
    model: &mut Model,
    set: usize,
    position_state: usize,
    coder: &mut RangeDecoder,
    chunk: &[u8],
) -> Result<u32, Lzma2Error> {
    let trees = &mut model.probabilities[set..];
    if coder.bit(chunk, &mut trees[LENGTH_IS_NOT_LOW])? == 0 {
        let tree = &mut trees[LENGTH_LOW + 8 * position_state..];
        return Ok(MATCH_BYTES_MIN + coder.tree(chunk, tree, 3)?);
    }
    if coder.bit(chunk, &mut trees[LENGTH_IS_HIGH])? == 0 {
        let tree = &mut trees[LENGTH_MIDDLE + 8 * position_state..];
        return Ok(MATCH_BYTES_MIN + 8 + coder.tree(chunk, tree, 3)?);
    }
    Ok(MATCH_BYTES_MIN + 16 + coder.tree(chunk, &mut trees[LENGTH_HIGH..], 8)?)
}

fn distance(model: &mut Model, length: u32, coder: &mut RangeDecoder, chunk: &[u8]) -> Result<u32, Lzma2Error> {
    let by_length = (length - MATCH_BYTES_MIN).min(3) as usize;
    let slot = coder.tree(chunk, &mut model.probabilities[SLOTS + 64 * by_length..], 6)?;
    if slot < SLOT_MODELLED {
        return Ok(slot);
    }
    let count = (slot >> 1) - 1;
    let high = 2 | slot & 1;
    if slot < SLOT_DIRECT {
        let smallest = high << count;
        let tree = &mut model.probabilities[NEAR + (smallest - slot) as usize..];
        return Ok(smallest + coder.reverse_tree(chunk, tree, count)?);
    }
    let high = coder.direct(chunk, high, count - 4)?;
    Ok(high << 4 | coder.reverse_tree(chunk, &mut model.probabilities[ALIGN..], 4)?)
}

/// Repeats what stands `distance + 1` before the output's end.
fn copy(output: &mut Output<'_>, distance: u32, length: usize) -> Result<(), Lzma2Error> {
    let available = output.at.min(output.dictionary_bytes);
    if distance as usize >= available {
        return Err(too_far(distance, available));
    }
    if length > output.chunk_end - output.at {
        return Err(Lzma2Error::MatchTooLong);
    }
    let source = output.at - distance as usize - 1;
    for index in 0..length {
        output.buffer[output.at + index] = output.buffer[source + index];
    }
    output.at += length;
    Ok(())
}
