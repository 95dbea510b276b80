//! Any bytes as a bz2 file: survey, cutter, single blocks (levels 1 and 2) and blocks in series (the others), in large and in
//! odd pieces. Where mibz2 reads the file as a whole, without a cutter, it must have read the same bytes.

use crate::decode::{Decoded, assert_agreement, decode, format, piece_bytes};
use codec::compressed_reader::CompressedReader;
use codec::list::survey_reader;

/// Runs one input.
pub fn run(input: &[u8]) {
    let _told_or_refused = survey_reader(&mut CompressedReader::memory(input.to_vec()));
    let large = decode(format("bz2"), input, 1 << 20);
    let small = decode(format("bz2"), input, piece_bytes(input));
    assert_agreement(&large, &small);
    if let Decoded::Whole { plain, .. } = &large
        && let Ok(theirs) = mibz2::decode(input)
    {
        assert!(*plain == theirs, "mibz2 reads other bytes");
    }
}
