//! Any bytes as plain data: packed as members and as BGZF blocks at the level that the first byte chooses, they come back,
//! from our decoder and from flate2.

use crate::decode::{assert_comes_back, encode, format};
use codec::format::UnitLayout;
use std::io::Read;

/// Runs one input.
pub fn run(plain: &[u8]) {
    let level = i32::from(plain.first().copied().unwrap_or(6) % 10);
    for layout in [UnitLayout::ParallelUnits, UnitLayout::Bgzf] {
        let packed = encode("gz", plain, level, layout);
        assert!(packed.len() <= format("gz").compressed_bound(plain.len()), "the bound must hold");
        assert_comes_back("gz", &packed, plain);
        // A run without a byte makes no BGZF block, only the end mark, which is the tail's to write.
        if packed.is_empty() {
            continue;
        }
        let mut theirs = Vec::new();
        let read = flate2::read::MultiGzDecoder::new(packed.as_slice()).read_to_end(&mut theirs);
        assert!(read.is_ok() && theirs == plain, "flate2 reads it otherwise");
    }
}
