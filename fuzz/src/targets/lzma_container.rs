//! Any bytes as a .lzma file, in large and in odd pieces. The format has no check: it is enough that nothing panics, that the
//! size of pieces decides nothing, and that liblzma, where it accepts as well, reads the same bytes.

use crate::decode::{Decoded, assert_agreement, decode, format, piece_bytes};
use liblzma::read::XzDecoder;
use liblzma::stream::Stream;
use std::io::Read;

/// LIMIT: what liblzma may take for a dictionary.
const MEMORY_BYTES: u64 = 64 << 20;

/// Runs one input.
pub fn run(input: &[u8]) {
    if !format("lzma").recognises(input) {
        return;
    }
    let large = decode(format("lzma"), input, 1 << 20);
    let small = decode(format("lzma"), input, piece_bytes(input));
    assert_agreement(&large, &small);
    if let Decoded::Whole { plain, .. } = &large
        && let Ok(decoder) = Stream::new_lzma_decoder(MEMORY_BYTES)
    {
        let mut theirs = Vec::new();
        if XzDecoder::new_stream(input, decoder).read_to_end(&mut theirs).is_ok() {
            assert!(*plain == theirs, "liblzma reads other bytes");
        }
    }
}
