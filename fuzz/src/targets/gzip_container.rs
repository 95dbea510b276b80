//! Any bytes as a gz file: survey, cutter, whole members and streamed ones, in large and in odd pieces.
//! Where flate2 accepts as well, it must have read the same bytes.

use crate::decode::{Decoded, assert_agreement, decode, format, piece_bytes};
use codec::compressed_reader::CompressedReader;
use codec::list::survey_reader;
use std::io::Read;

/// Runs one input.
pub fn run(input: &[u8]) {
    let _told_or_refused = survey_reader(&mut CompressedReader::memory(input.to_vec()));
    let large = decode(format("gz"), input, 1 << 20);
    let small = decode(format("gz"), input, piece_bytes(input));
    assert_agreement(&large, &small);
    let Decoded::Whole { plain } = &large else { return };
    let mut theirs = Vec::new();
    if flate2::read::MultiGzDecoder::new(input).read_to_end(&mut theirs).is_ok() {
        assert!(*plain == theirs, "flate2 reads other bytes");
    }
}
