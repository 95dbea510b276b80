//! Any bytes as a .lz file, in large and in odd pieces: the size of pieces decides nothing, and liblzma's decoder of whole files, if it
//! accepts the bytes as well, reads the same.

use crate::decode::{Decoded, assert_agreement, decode, format, piece_bytes};
use liblzma::read::XzDecoder;
use liblzma::stream::{CONCATENATED, Stream};
use std::io::Read;

/// LIMIT: what liblzma may take for a dictionary.
const MEMORY_BYTES: u64 = 64 << 20;

/// Runs one input.
pub fn run(input: &[u8]) {
    if !format("lz").recognises(input) {
        return;
    }
    let large = decode(format("lz"), input, 1 << 20);
    let small = decode(format("lz"), input, piece_bytes(input));
    assert_agreement(&large, &small);
    if let Decoded::Whole { plain, .. } = &large
        && let Ok(decoder) = Stream::new_lzip_decoder(MEMORY_BYTES, CONCATENATED)
    {
        let mut theirs = Vec::new();
        if XzDecoder::new_stream(input, decoder).read_to_end(&mut theirs).is_ok() {
            assert!(*plain == theirs, "liblzma reads other bytes");
        }
    }
}
