//! Any bytes as plain data: packed as one stream of several blocks at the level that the first byte chooses, they come back,
//! from our decoder and from liblzma's.

use crate::decode::{assert_comes_back, encode_in_parts};
use liblzma::read::XzDecoder;
use std::io::Read;

/// Runs one input.
pub fn run(plain: &[u8]) {
    let level = i32::from(plain.first().copied().unwrap_or(1) % 4);
    let packed = encode_in_parts("xz", plain, level);
    assert_comes_back("xz", &packed, plain);
    let mut theirs = Vec::new();
    XzDecoder::new_multi_decoder(packed.as_slice()).read_to_end(&mut theirs).expect("liblzma reads what we wrote");
    assert!(theirs == plain, "liblzma reads it otherwise");
}
