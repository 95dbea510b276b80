//! Any bytes as plain data: packed at the level that the first byte chooses, they come back, from our decoder and from mibz2
//! without our cutter.

use crate::decode::{assert_comes_back, encode, format};
use codec::format::UnitLayout;

/// Runs one input.
pub fn run(plain: &[u8]) {
    let level = i32::from(plain.first().copied().unwrap_or(1) % 9) + 1;
    let packed = encode("bz2", plain, level, UnitLayout::ParallelUnits);
    assert!(packed.len() <= format("bz2").compressed_bound(plain.len()), "the bound must hold");
    assert_comes_back("bz2", &packed, plain);
    let theirs = mibz2::decode(&packed).expect("mibz2 reads what we wrote");
    assert!(theirs == plain, "mibz2 reads it otherwise");
}
