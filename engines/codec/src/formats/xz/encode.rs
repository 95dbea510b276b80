//! Encodes xz blocks: LZMA2 by liblzma, with both sizes in the header and CRC-64 behind; and the Index of a lane's blocks.

use super::check::{Check, CheckKind};
use super::container::{
    BLOCK_HEADER_BYTES_MAX, WRITTEN_BLOCK_HEADER_BYTES, block_header, block_header_bytes, padding, parse_block_header,
    stream_footer,
};
use super::index::{Records, record};
use crate::byte_buffer::ByteBuffer;
use crate::error::CodecError;
use crate::format::{CheckName, EncodeOptions, Encoder, Tail};
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

/// Plain bytes in one block: three dictionaries, as `xz -T` has it, and 1 MiB at least.
pub(super) fn block_bytes(options: &EncodeOptions) -> usize {
    (3 * dictionary_bytes(options.level) as usize).max(1 << 20)
}

/// What liblzma's encoder holds, in MiB, by preset (xz(1)).
pub(crate) fn encoder_bytes(options: &EncodeOptions) -> u64 {
    const MEBIBYTES: [u64; 10] = [3, 9, 17, 32, 48, 94, 94, 186, 370, 674];
    let level = usize::try_from(options.level).unwrap_or(0).min(MEBIBYTES.len() - 1);
    // The extreme variants of the fast presets use another match finder.
    let extreme = if options.is_extreme { u64::from(dictionary_bytes(options.level)) * 4 } else { 0 };
    (MEBIBYTES[level] << 20) + extreme
}

/// The largest packed size: all of it in stored chunks of 64 KiB, three bytes each, and what stands around the data.
pub(super) fn packed_bound(plain_bytes: usize) -> usize {
    plain_bytes + 3 * (plain_bytes >> 16) + 16 + BLOCK_HEADER_BYTES_MAX + 16
}

pub(crate) fn library_error(error: Error) -> CodecError {
    CodecError::Library { library: "lzma", message: error.to_string() }
}

/// One block a chunk.
pub(super) struct BlockEncoder {
    preset: u32,
    dictionary_bytes: u32,
    check: CheckKind,
}

impl BlockEncoder {
    pub fn new(options: &EncodeOptions) -> Self {
        let preset = options.level.unsigned_abs() | if options.is_extreme { PRESET_EXTREME } else { 0 };
        let (dictionary_bytes, check) = (dictionary_bytes(options.level), check_kind(options));
        Self { preset, dictionary_bytes, check }
    }
}

impl Encoder for BlockEncoder {
    fn encode(&mut self, plain: &[u8], packed: &mut ByteBuffer) -> Result<(), CodecError> {
        packed.clear();
        if plain.is_empty() {
            // A stream of no blocks.
            return Ok(());
        }
        let mut settings = LzmaOptions::new_preset(self.preset).map_err(library_error)?;
        // A dictionary longer than the block is never used, only allocated and cleared. LIMIT: 4 KiB is LZMA2's least.
        let needed = u32::try_from(plain.len()).unwrap_or(u32::MAX).max(4096).checked_next_power_of_two();
        let dictionary_bytes = self.dictionary_bytes.min(needed.unwrap_or(u32::MAX));
        settings.dict_size(dictionary_bytes);
        let mut stream = Stream::new_raw_encoder(Filters::new().lzma2(&settings)).map_err(library_error)?;
        let room = packed.room(packed_bound(plain.len()));
        let (header, data) = room.split_at_mut(WRITTEN_BLOCK_HEADER_BYTES);
        let status = stream.process(plain, data, Action::Finish).map_err(library_error)?;
        if status != Status::StreamEnd {
            return Err(library_error(Error::Program));
        }
        let compressed_bytes = stream.total_out();
        header.copy_from_slice(&block_header(compressed_bytes, plain.len() as u64, dictionary_bytes));
        // It fitted into the room.
        packed.grow(WRITTEN_BLOCK_HEADER_BYTES + compressed_bytes as usize);
        packed.append(&[0; 4][..padding(compressed_bytes) as usize]);
        let mut check = Check::begin(self.check);
        check.add(plain);
        packed.append(&check.finish());
        Ok(())
    }
}

/// Index and stream footer.
pub(super) struct IndexTail {
    check: CheckKind,
    records: Records,
}

impl IndexTail {
    pub fn new(options: &EncodeOptions) -> Self {
        Self { check: check_kind(options), records: Records::default() }
    }
}

impl Tail for IndexTail {
    fn unit(&mut self, packed: &[u8], plain_bytes: u64) {
        let Some(&first) = packed.first() else { return };
        let header = parse_block_header(&packed[..block_header_bytes(first)]).expect("it was written here");
        let compressed = header.compressed_bytes.expect("it was written here");
        self.records.add(record(header.bytes, compressed, self.check, plain_bytes));
    }

    fn finish(&mut self) -> Vec<u8> {
        let index = self.records.index();
        [&index[..], &stream_footer(self.check, index.len() as u64)].concat()
    }
}
