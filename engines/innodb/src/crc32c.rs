//! CRC-32C (Castagnoli, reflected, as iSCSI has it): the one checksum that modern pages carry. Chooses between the crate's kernels and ours.

#[cfg(target_arch = "x86_64")]
mod kernel;

use crc_fast::{CrcAlgorithm, checksum};

/// The CRC-32C of `bytes`.
pub fn crc32c(bytes: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if let Some(crc) = kernel::crc32c(bytes) {
        return crc;
    }
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

    #[test]
    fn both_kernels_agree_on_every_length_and_place() {
        let bytes: Vec<u8> = (0..70_000_u32).map(|at| (at.wrapping_mul(0x9e37_79b9) >> 21) as u8).collect();
        let lengths = (0..1500).chain([4088, 4092, 16330, 16380, 65532]);
        for (number, length) in lengths.enumerate() {
            let part = &bytes[number % 67..number % 67 + length];
            assert_eq!(crc32c(part), checksum(CrcAlgorithm::Crc32Iscsi, part) as u32, "{length} bytes");
        }
    }
}
