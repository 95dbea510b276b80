//! Any bytes as an xz file: survey, cutter, Index, blocks that tell their sizes and blocks in series, in large and in odd
//! pieces. What we accept, liblzma's own loop over streams must accept, and read the same bytes.

use crate::decode::{Decoded, assert_agreement, decode, format, piece_bytes};
use codec::compressed_reader::CompressedReader;
use codec::list::survey_reader;
use liblzma::read::XzDecoder;
use std::io::Read;

/// Runs one input.
pub fn run(input: &[u8]) {
    let _told_or_refused = survey_reader(&mut CompressedReader::memory(input.to_vec()));
    let large = decode(format("xz"), input, 1 << 20);
    let small = decode(format("xz"), input, piece_bytes(input));
    assert_agreement(&large, &small);
    if let Decoded::Whole { plain, .. } = &large
        && format("xz").recognises(input)
    {
        let mut theirs = Vec::new();
        let outcome = XzDecoder::new_multi_decoder(input).read_to_end(&mut theirs);
        assert!(outcome.is_ok() && *plain == theirs, "liblzma reads it otherwise: {outcome:?}");
    }
}
