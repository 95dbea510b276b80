//! Any bytes as plain data: packed as several frames at the level that the first byte chooses, they come back, from our
//! decoder and from another implementation's.

use crate::decode::{assert_comes_back, encode, encode_in_parts, format};
use codec::format::UnitLayout;
use lz4_flex::frame::FrameDecoder;
use std::io::Read;

/// Runs one input.
pub fn run(plain: &[u8]) {
    let level = i32::from(plain.first().copied().unwrap_or(1) % 17) - 4;
    assert_comes_back("lz4", &encode_in_parts("lz4", plain, level), plain);
    let packed = encode("lz4", plain, level, UnitLayout::ParallelUnits);
    assert!(packed.len() <= format("lz4").compressed_bound(plain.len()), "the bound must hold");
    assert_comes_back("lz4", &packed, plain);
    let mut theirs = Vec::new();
    FrameDecoder::new(packed.as_slice()).read_to_end(&mut theirs).expect("lz4_flex reads what we wrote");
    assert!(theirs == plain, "lz4_flex reads it otherwise");
}
