//! One deflate stream made of pieces, for formats that have room for one stream alone (zlib, zip): each chunk becomes blocks that
//! end at a byte, by a worker of its own; and the way back, as a stream.

use crate::byte_buffer::ByteBuffer;
use crate::compressed_reader::CompressedReader;
use crate::error::{CodecError, UnitDefect};
use crate::format::{CutError, Encoder};
use crate::formats::gzip::kernel::{FinalBlock, InflateStatus, Inflater, SLACK_BYTES};
use crew::pipeline::{CutTurn, Pause};
use libdeflater::{CompressionLvl, Compressor};

/// Uncompressed bytes in one piece, as in a member of gz.
pub(super) const PIECE_BYTES: usize = 1 << 20;

/// The final block: empty, in the fixed codes.
pub(super) const STREAM_END: [u8; 2] = [3, 0];

/// The length of an empty stored block and its complement.
const EMPTY_STORED: [u8; 4] = [0, 0, 0xff, 0xff];

/// Bytes behind a piece: its check, for the tail.
pub(super) const NOTE_BYTES: usize = 4;

/// Largest compressed size of a piece.
pub(super) fn compressed_bound(plain_bytes: usize) -> usize {
    plain_bytes + plain_bytes / 1000 + 128
}

/// A piece as the tail needs it: its size in the file, and its check.
pub(super) fn piece_and_note(unit: &[u8]) -> (u64, u32) {
    let (piece, note) = unit.split_last_chunk::<NOTE_BYTES>().unwrap_or((unit, &[0; NOTE_BYTES]));
    (piece.len() as u64, u32::from_le_bytes(*note))
}

/// Encodes pieces; `check` is computed of the uncompressed bytes of each.
pub(super) struct PieceEncoder {
    compressor: Compressor,
    inflater: Box<Inflater>,
    /// Where a piece is decoded to find its last block.
    decoded: Vec<u8>,
    check: fn(&[u8]) -> u32,
}

impl PieceEncoder {
    pub fn new(level: i32, check: fn(&[u8]) -> u32) -> Self {
        // As in gz: libdeflate's 7 and 8 are zlib's 8 and 9.
        let effort = if matches!(level, 8 | 9) { level - 1 } else { level };
        let effort = CompressionLvl::new(effort).expect("the facts bound the level to 0..=12");
        Self { compressor: Compressor::new(effort), inflater: Inflater::boxed(), decoded: Vec::new(), check }
    }
}

impl Encoder for PieceEncoder {
    fn encode(
        &mut self,
        uncompressed: &[u8],
        compressed: &mut ByteBuffer,
        _pause: &mut Pause<'_>,
    ) -> Result<(), CodecError> {
        let failed = |message: &str| CodecError::Library { library: "libdeflate", message: message.to_owned() };
        compressed.clear();
        if !uncompressed.is_empty() {
            let room = compressed.room(self.compressor.deflate_compress_bound(uncompressed.len()));
            let bytes = self.compressor.deflate_compress(uncompressed, room);
            compressed.grow(bytes.map_err(|error| failed(&error.to_string()))?);
            self.decoded.resize(uncompressed.len() + SLACK_BYTES + 1, 0);
            let found = self.inflater.find_final_block(compressed.content(), &mut self.decoded);
            let found = found.filter(|_| self.decoded.starts_with(uncompressed));
            open_end(compressed, found.ok_or_else(|| failed("its output does not decode to its input"))?);
        }
        compressed.append(&(self.check)(uncompressed).to_le_bytes());
        Ok(())
    }
}

/// Makes the final block one of many, and ends it at a byte by an empty stored block.
fn open_end(compressed: &mut ByteBuffer, found: FinalBlock) {
    let stream = compressed.content_mut();
    stream[found.header / 8] &= !(1 << (found.header % 8));
    // Three bits of the stored block's header, all zeros; those behind the last code are zeros already.
    if (found.end + 3).div_ceil(8) > stream.len() {
        compressed.append(&[0]);
    }
    compressed.append(&EMPTY_STORED);
}

/// Decodes a deflate stream segment by segment.
pub(super) struct DeflateReader {
    inflater: Box<Inflater>,
    history: Vec<u8>,
}

/// How far deflate refers back.
const WINDOW_BYTES: usize = 32 << 10;

/// Compressed bytes given to the kernel at a time.
const INPUT_BYTES: usize = 256 << 10;

impl DeflateReader {
    pub fn new() -> Self {
        Self { inflater: Inflater::boxed(), history: Vec::with_capacity(WINDOW_BYTES) }
    }

    /// Fills `uncompressed` as a stream decoder does. Returns whether the stream has ended.
    pub fn fill(
        &mut self,
        input: &mut CompressedReader,
        uncompressed: &mut ByteBuffer,
        segment_bytes: usize,
        turn: &mut CutTurn<'_>,
    ) -> Result<bool, CutError> {
        uncompressed.restart_with(&self.history);
        let mut at_least = 1;
        loop {
            let (compressed, at_end) = input.ahead(at_least, INPUT_BYTES)?;
            let shown = compressed.len();
            let (buffer, filled) =
                uncompressed.with_history(segment_bytes.saturating_sub(uncompressed.len()) + SLACK_BYTES);
            let soft_end = buffer.len() - SLACK_BYTES;
            let inflater = &mut self.inflater;
            let step = match turn.with_hand(|| inflater.inflate(compressed, false, buffer, filled, soft_end)) {
                Ok(step) => step,
                Err(broken) => {
                    uncompressed.grow(broken.produced);
                    return Err(CutError::Defect(UnitDefect::Deflate(broken.cause)));
                }
            };
            input.consume(step.consumed);
            uncompressed.grow(step.produced);
            match step.status {
                InflateStatus::Finished => return Ok(true),
                // Blocks end where nobody asked to stop.
                InflateStatus::OutputFull | InflateStatus::BlockEnd => break,
                InflateStatus::NeedsInput if at_end => return Err(UnitDefect::Truncated.into()),
                InflateStatus::NeedsInput if !uncompressed.is_empty() && input.would_wait() => break,
                InflateStatus::NeedsInput => at_least = shown - step.consumed + 1,
            }
        }
        self.history.clear();
        self.history.extend_from_slice(uncompressed.last(WINDOW_BYTES));
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn pieces_behind_one_another_are_one_stream() {
        for level in [0, 1, 6, 9, 12] {
            for plain_bytes in [1, 2, 3, 100, 300_000] {
                let uncompressed = testkit::data::mixed(plain_bytes, 7);
                let (mut stream, mut piece) = (Vec::new(), ByteBuffer::default());
                let mut encoder = PieceEncoder::new(level, |bytes| bytes.len() as u32);
                for part in uncompressed.chunks(70_001) {
                    encoder.encode(part, &mut piece, &mut Pause::never()).expect("encode");
                    let (bytes, note) = piece_and_note(piece.content());
                    assert_eq!(note as usize, part.len());
                    assert!(bytes as usize <= compressed_bound(part.len()));
                    stream.extend_from_slice(&piece.content()[..bytes as usize]);
                }
                stream.extend(STREAM_END);
                let mut back = Vec::new();
                flate2::read::DeflateDecoder::new(&stream[..]).read_to_end(&mut back).expect("zlib reads it");
                assert!(back == uncompressed, "level {level}, {plain_bytes} bytes");
            }
        }
    }
}
