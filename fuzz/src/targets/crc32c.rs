//! CRC-32C by the kernel of `engines/innodb` against that of the crate, at every place of the input in a vector.

use crc_fast::{CrcAlgorithm, checksum};

/// Both must give the same.
pub fn run(input: &[u8]) {
    for skipped in [0, 1, input.len() / 3] {
        let part = &input[skipped.min(input.len())..];
        let theirs = checksum(CrcAlgorithm::Crc32Iscsi, part) as u32;
        assert_eq!(innodb::crc32c::crc32c(part), theirs, "{} bytes", part.len());
    }
}
