//! The checks a block may carry: none, CRC-32, CRC-64, SHA-256.

use crate::error::UnitDefect;
use crc_fast::{CrcAlgorithm, Digest as Crc};
use sha2::{Digest, Sha256};

/// Which check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CheckKind {
    None,
    Crc32,
    Crc64,
    Sha256,
    /// One of the reserved numbers: its size is known, not how it is computed.
    Unknown(u8),
}

/// Sizes of the checks by their numbers (section 2.1.1.2).
const BYTES: [usize; 16] = [0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64];

/// What lists call a check that is not known.
const UNKNOWN_NAMES: [&str; 16] = [
    "unknown-0",
    "unknown-1",
    "unknown-2",
    "unknown-3",
    "unknown-4",
    "unknown-5",
    "unknown-6",
    "unknown-7",
    "unknown-8",
    "unknown-9",
    "unknown-10",
    "unknown-11",
    "unknown-12",
    "unknown-13",
    "unknown-14",
    "unknown-15",
];

impl CheckKind {
    /// By its number in the stream flags (section 2.1.1.2), which has four bits.
    pub fn from_id(id: u8) -> Self {
        match id & 0x0f {
            0x00 => Self::None,
            0x01 => Self::Crc32,
            0x04 => Self::Crc64,
            0x0a => Self::Sha256,
            other => Self::Unknown(other),
        }
    }

    pub fn id(self) -> u8 {
        match self {
            Self::None => 0x00,
            Self::Crc32 => 0x01,
            Self::Crc64 => 0x04,
            Self::Sha256 => 0x0a,
            Self::Unknown(id) => id,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Crc32 => "crc32",
            Self::Crc64 => "crc64",
            Self::Sha256 => "sha256",
            Self::Unknown(id) => UNKNOWN_NAMES[usize::from(id & 0x0f)],
        }
    }

    pub fn bytes(self) -> usize {
        BYTES[usize::from(self.id() & 0x0f)]
    }
}

/// A check in the making.
pub(super) enum Check {
    None,
    Crc32(Box<Crc>),
    Crc64(Box<Crc>),
    Sha256(Box<Sha256>),
    /// Not computed: whatever is stored is taken.
    Unknown,
}

impl Check {
    pub fn begin(kind: CheckKind) -> Self {
        match kind {
            CheckKind::None => Self::None,
            CheckKind::Crc32 => Self::Crc32(Box::new(Crc::new(CrcAlgorithm::Crc32IsoHdlc))),
            CheckKind::Crc64 => Self::Crc64(Box::new(Crc::new(CrcAlgorithm::Crc64Xz))),
            CheckKind::Sha256 => Self::Sha256(Box::default()),
            CheckKind::Unknown(_) => Self::Unknown,
        }
    }

    /// One that takes whatever is stored, unless it is to be compared.
    pub fn begin_if(is_compared: bool, kind: CheckKind) -> Self {
        if is_compared { Self::begin(kind) } else { Self::Unknown }
    }

    pub fn add(&mut self, uncompressed: &[u8]) {
        match self {
            Self::None | Self::Unknown => {}
            Self::Crc32(crc) | Self::Crc64(crc) => crc.update(uncompressed),
            Self::Sha256(hash) => hash.update(uncompressed),
        }
    }

    /// As it is stored: CRCs little endian.
    pub fn finish(self) -> Vec<u8> {
        match self {
            Self::None | Self::Unknown => Vec::new(),
            // The algorithm's width.
            Self::Crc32(crc) => (crc.finalize() as u32).to_le_bytes().to_vec(),
            Self::Crc64(crc) => crc.finalize().to_le_bytes().to_vec(),
            Self::Sha256(hash) => hash.finalize().to_vec(),
        }
    }

    /// Compares with what is stored.
    pub fn compare(self, stored: &[u8]) -> Result<(), UnitDefect> {
        if matches!(self, Self::Unknown) {
            return Ok(());
        }
        let computed = self.finish();
        if computed == stored { Ok(()) } else { Err(UnitDefect::WideChecksum { stored: stored.to_vec(), computed }) }
    }
}
