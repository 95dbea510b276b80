//! CRC-32C (Castagnoli, reflected, as iSCSI has it): the one checksum that modern pages carry.

use crc_fast::{CrcAlgorithm, checksum};

/// The CRC-32C of `bytes`.
pub fn crc32c(bytes: &[u8]) -> u32 {
    // A CRC of 32 bits in a word of 64.
    checksum(CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_one_of_rfc_3720() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa, "RFC 3720, B.4");
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43, "RFC 3720, B.4");
    }
}
