//! Any bytes as a .z file of pack, in large and in odd pieces. The format has no check: it is enough that nothing panics and
//! that the size of pieces decides nothing.

use crate::decode::{assert_agreement, decode, format, piece_bytes};

/// Runs one input.
pub fn run(input: &[u8]) {
    if !format("z").recognises(input) {
        return;
    }
    let large = decode(format("z"), input, 1 << 20);
    let small = decode(format("z"), input, piece_bytes(input));
    assert_agreement(&large, &small);
}
