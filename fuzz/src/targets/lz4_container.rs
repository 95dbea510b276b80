//! Any bytes as an lz4 file: survey, cutter, independent blocks, linked and legacy ones, in large and in odd pieces.
//! What the other implementation reads of its first frame, we must have read too.

use crate::decode::{Decoded, assert_agreement, decode, format, piece_bytes};
use codec::compressed_reader::CompressedReader;
use codec::list::survey_reader;
use lz4_flex::frame::FrameDecoder;
use std::io::Read;

/// Runs one input.
pub fn run(input: &[u8]) {
    let _told_or_refused = survey_reader(&mut CompressedReader::memory(input.to_vec()));
    let large = decode(format("lz4"), input, 1 << 20);
    let small = decode(format("lz4"), input, piece_bytes(input));
    assert_agreement(&large, &small);
    if let Decoded::Whole { plain, .. } = &large {
        let mut theirs = Vec::new();
        // One byte more than ours shows that it has more.
        let most = plain.len() as u64 + 1;
        if FrameDecoder::new(input).take(most).read_to_end(&mut theirs).is_ok() {
            assert!(plain.starts_with(&theirs), "lz4_flex reads other bytes");
        }
    }
}
