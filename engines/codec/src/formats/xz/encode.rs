//! Encodes xz blocks: LZMA2 by liblzma, with both sizes in the header and CRC-64 behind; and the Index of a lane's blocks.

use super::check::{Check, CheckKind};
use super::container::{
    BLOCK_HEADER_BYTES_MAX, WRITTEN_BLOCK_HEADER_BYTES, block_header, block_header_bytes, padding, parse_block_header,
    stream_footer,
};
use super::index::{XzIndexRecords, record};
use crate::byte_buffer::ByteBuffer;
use crate::error::CodecError;
use crate::format::{CheckName, EncodeOptions, Encoder, StreamEncoder, Tail};
use crew::pipeline::Pause;
use liblzma::stream::{Action, Error, Filters, LzmaOptions, PRESET_EXTREME, Status, Stream};

/// The check of what is written: 64 bits unless another one was asked for, as xz has it.
pub(super) fn check_kind(options: &EncodeOptions) -> CheckKind {
    match options.check {
        Some(CheckName::Crc32) => CheckKind::Crc32,
        Some(CheckName::Sha256) => CheckKind::Sha256,
        Some(CheckName::Crc64) | None => CheckKind::Crc64,
    }
}

/// The dictionary of each preset of liblzma (xz(1), -0 to -9).
fn dictionary_bytes(level: i32) -> u32 {
    const MEBIBYTES_QUARTERED: [u32; 10] = [1, 4, 8, 16, 16, 32, 32, 64, 128, 256];
    let level = usize::try_from(level).unwrap_or(0).min(MEBIBYTES_QUARTERED.len() - 1);
    MEBIBYTES_QUARTERED[level] << 18
}

/// LIMIT: LZMA2's least.
const DICTIONARY_BYTES_MIN: u32 = 4096;

/// Uncompressed bytes given to the library at a time. The slowest levels take 1 MB/s and less: 20 ms.
const STEP_BYTES: usize = 16 << 10;

/// How far matches reach.
fn match_bytes(options: &EncodeOptions) -> u32 {
    let usual = dictionary_bytes(options.level);
    options.reach_bytes.map_or(usual, |reach| usual.min(reach.max(DICTIONARY_BYTES_MIN)))
}

/// Uncompressed bytes in one block: three dictionaries, as `xz -T` has it, and 1 MiB at least.
pub(super) fn block_bytes(options: &EncodeOptions) -> usize {
    (3 * dictionary_bytes(options.level) as usize).max(1 << 20)
}

/// What liblzma's encoder holds, in MiB, by preset (xz(1)).
pub(crate) fn encoder_bytes(options: &EncodeOptions) -> u64 {
    const MEBIBYTES: [u64; 10] = [3, 9, 17, 32, 48, 94, 94, 186, 370, 674];
    let level = usize::try_from(options.level).unwrap_or(0).min(MEBIBYTES.len() - 1);
    // The extreme variants of the fast presets use another match finder.
    let extreme = if options.is_extreme { u64::from(dictionary_bytes(options.level)) * 4 } else { 0 };
    // Each byte that matches reach is held, with two links of four bytes; the fast presets have one.
    let held_bytes = if options.level < 4 { 5 } else { 9 };
    let unreached = u64::from(dictionary_bytes(options.level) - match_bytes(options));
    (MEBIBYTES[level] << 20) + extreme - unreached * held_bytes
}

/// The largest compressed size: all of it in stored chunks of 64 KiB, three bytes each, and what stands around the data.
pub(super) fn compressed_bound(plain_bytes: usize) -> usize {
    plain_bytes + 3 * (plain_bytes >> 16) + 16 + BLOCK_HEADER_BYTES_MAX + 16
}

pub(crate) fn library_error(error: Error) -> CodecError {
    CodecError::Library { library: "lzma", message: error.to_string() }
}

/// One block a chunk.
pub(super) struct BlockEncoder(EncodeOptions);

impl BlockEncoder {
    pub fn new(options: &EncodeOptions) -> Self {
        Self(*options)
    }
}

impl Encoder for BlockEncoder {
    fn encode(
        &mut self,
        uncompressed: &[u8],
        compressed: &mut ByteBuffer,
        pause: &mut Pause<'_>,
    ) -> Result<(), CodecError> {
        compressed.clear();
        if uncompressed.is_empty() {
            // A stream of no blocks.
            return Ok(());
        }
        SegmentEncoder::new(&self.0, uncompressed.len())?.encode(uncompressed, true, compressed, pause)
    }
}

/// Uncompressed bytes in one block, that come segment by segment: liblzma keeps what it refers to.
pub(super) struct SegmentEncoder {
    stream: Stream,
    check: Check,
    plain_bytes: usize,
    dictionary_bytes: u32,
}

impl SegmentEncoder {
    pub fn new(options: &EncodeOptions, plain_bytes: usize) -> Result<Self, CodecError> {
        let preset = options.level.unsigned_abs() | if options.is_extreme { PRESET_EXTREME } else { 0 };
        let mut settings = LzmaOptions::new_preset(preset).map_err(library_error)?;
        // A dictionary longer than the block is never used, only allocated and cleared.
        let needed =
            u32::try_from(plain_bytes).unwrap_or(u32::MAX).max(DICTIONARY_BYTES_MIN).checked_next_power_of_two();
        let dictionary_bytes = match_bytes(options).min(needed.unwrap_or(u32::MAX));
        settings.dict_size(dictionary_bytes);
        let stream = Stream::new_raw_encoder(Filters::new().lzma2(&settings)).map_err(library_error)?;
        Ok(Self { stream, check: Check::begin(check_kind(options)), plain_bytes, dictionary_bytes })
    }

    /// Takes some bytes in, the last of the block or not.
    fn step(&mut self, uncompressed: &[u8], ends: bool, compressed: &mut ByteBuffer) -> Result<(), CodecError> {
        let (consumed, produced) = (self.stream.total_in(), self.stream.total_out());
        // All of the block fits into the bound.
        let room = compressed.room(compressed_bound(self.plain_bytes) - WRITTEN_BLOCK_HEADER_BYTES - produced as usize);
        let action = if ends { Action::Finish } else { Action::Run };
        let status = self.stream.process(uncompressed, room, action).map_err(library_error)?;
        compressed.grow((self.stream.total_out() - produced) as usize);
        let is_done = self.stream.total_in() - consumed == uncompressed.len() as u64;
        if !is_done || ends != (status == Status::StreamEnd) {
            return Err(library_error(Error::Program));
        }
        self.check.add(uncompressed);
        Ok(())
    }

    /// What stands around the data, once their lengths are known.
    fn finish(&mut self, compressed: &mut ByteBuffer) {
        let (plain_bytes, compressed_bytes) = (self.stream.total_in(), self.stream.total_out());
        let header = block_header(compressed_bytes, plain_bytes, self.dictionary_bytes);
        compressed.content_mut()[..WRITTEN_BLOCK_HEADER_BYTES].copy_from_slice(&header);
        compressed.append(&[0; 4][..padding(compressed_bytes) as usize]);
        compressed.append(&std::mem::replace(&mut self.check, Check::None).finish());
    }
}

impl StreamEncoder for SegmentEncoder {
    fn encode(
        &mut self,
        uncompressed: &[u8],
        ends: bool,
        compressed: &mut ByteBuffer,
        pause: &mut Pause<'_>,
    ) -> Result<(), CodecError> {
        if compressed.is_empty() {
            compressed.append(&[0; WRITTEN_BLOCK_HEADER_BYTES]);
        }
        let mut steps = uncompressed.chunks(STEP_BYTES).peekable();
        while let Some(step) = steps.next() {
            self.step(step, ends && steps.peek().is_none(), compressed)?;
            pause.gone_through(step.len());
            pause.point();
        }
        if ends {
            if uncompressed.is_empty() {
                self.step(uncompressed, true, compressed)?;
            }
            self.finish(compressed);
        }
        Ok(())
    }
}

/// Index and stream footer.
pub(super) struct IndexTail {
    check: CheckKind,
    records: XzIndexRecords,
}

impl IndexTail {
    pub fn new(options: &EncodeOptions) -> Self {
        Self { check: check_kind(options), records: XzIndexRecords::default() }
    }
}

impl Tail for IndexTail {
    fn unit(&mut self, compressed: &[u8], plain_bytes: u64) {
        let Some(&first) = compressed.first() else { return };
        let header = parse_block_header(&compressed[..block_header_bytes(first)]).expect("it was written here");
        let compressed_bytes = header.compressed_bytes.expect("it was written here");
        self.records.add(record(header.bytes, compressed_bytes, self.check, plain_bytes));
    }

    fn finish(&mut self) -> Vec<u8> {
        let index = self.records.index();
        [&index[..], &stream_footer(self.check, index.len() as u64)].concat()
    }
}
