//! Any bytes as a .Z file, in large and in odd pieces. The format has neither length nor check: it is enough that nothing
//! panics and that the size of pieces decides nothing.

use crate::decode::{assert_agreement, decode, format, piece_bytes};

/// Runs one input.
pub fn run(input: &[u8]) {
    if !format("Z").recognises(input) {
        return;
    }
    let large = decode(format("Z"), input, 1 << 20);
    let small = decode(format("Z"), input, piece_bytes(input));
    assert_agreement(&large, &small);
}
