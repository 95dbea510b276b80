//! Any bytes as a zlib stream, in large and in odd pieces, and by zlib itself (flate2): what we accept it accepts.

use crate::decode::{Decoded, assert_agreement, decode, format, piece_bytes};
use std::io::Read;

/// Runs one input.
pub fn run(input: &[u8]) {
    if !format("zlib").recognises(input) {
        return;
    }
    let large = decode(format("zlib"), input, 1 << 20);
    let small = decode(format("zlib"), input, piece_bytes(input));
    assert_agreement(&large, &small);
    let mut theirs = Vec::new();
    let mut decoder = flate2::read::ZlibDecoder::new(input);
    let is_accepted = decoder.read_to_end(&mut theirs).is_ok();
    if let Decoded::Whole { plain } = &large {
        assert!(is_accepted && *plain == theirs, "zlib says otherwise");
    }
}
