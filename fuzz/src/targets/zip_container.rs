//! Any bytes as a zip archive of one entry, in large and in odd pieces: nothing panics, and the size of pieces decides nothing.

use crate::decode::{assert_agreement, decode, format, piece_bytes};

/// Runs one input.
pub fn run(input: &[u8]) {
    if !format("zip").recognises(input) {
        return;
    }
    let large = decode(format("zip"), input, 1 << 20);
    let small = decode(format("zip"), input, piece_bytes(input));
    assert_agreement(&large, &small);
}
