//! Any bytes as plain data: packed as one frame, and as a stream in pieces, at the level that the first byte chooses, they come
//! back, from our decoder and from libzstd's.

use crate::decode::{assert_comes_back, encode, format, options, piece_bytes};
use codec::byte_buffer::ByteBuffer;
use codec::format::Layout;

/// Runs one input.
pub fn run(plain: &[u8]) {
    let level = i32::from(plain.first().copied().unwrap_or(1) % 12) - 3;
    let packed = encode("zst", plain, level, Layout::ParallelUnits);
    assert!(packed.len() <= format("zst").packed_bound(plain.len()), "the bound must hold");
    for packed in [packed, in_pieces(plain, level)] {
        assert_comes_back("zst", &packed, plain);
        let mut theirs = vec![0; plain.len() + 1];
        let size = zstd_safe::decompress(theirs.as_mut_slice(), &packed).expect("libzstd reads what it wrote");
        assert!(theirs[..size] == *plain, "libzstd reads it otherwise");
    }
}

/// One frame, fed piece by piece.
fn in_pieces(plain: &[u8], level: i32) -> Vec<u8> {
    let options = options(level, Layout::SingleUnit);
    let encoder = format("zst").stream_encoder(&options).expect("valid options");
    let mut encoder = encoder.expect("zst has such a layout");
    let mut packed = ByteBuffer::default();
    for piece in plain.chunks(piece_bytes(plain).max(64)) {
        encoder.encode(piece, false, &mut packed).expect("any bytes can be packed");
    }
    encoder.encode(b"", true, &mut packed).expect("any frame can be ended");
    packed.content().to_vec()
}
