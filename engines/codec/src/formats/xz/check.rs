//! The checks a block may carry: none, CRC-32, CRC-64, SHA-256.

use crate::error::Defect;
use crc_fast::{CrcAlgorithm, Digest as Crc};
use sha2::{Digest, Sha256};

/// Which check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CheckKind {
    None,
    Crc32,
    Crc64,
    Sha256,
}

impl CheckKind {
    /// By its number in the stream flags (section 2.1.1.2); the others are reserved.
    pub fn from_id(id: u8) -> Option<Self> {
        match id {
            0x00 => Some(Self::None),
            0x01 => Some(Self::Crc32),
            0x04 => Some(Self::Crc64),
            0x0a => Some(Self::Sha256),
            _ => None,
        }
    }

    pub fn id(self) -> u8 {
        match self {
            Self::None => 0x00,
            Self::Crc32 => 0x01,
            Self::Crc64 => 0x04,
            Self::Sha256 => 0x0a,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Crc32 => "crc32",
            Self::Crc64 => "crc64",
            Self::Sha256 => "sha256",
        }
    }

    pub fn bytes(self) -> usize {
        match self {
            Self::None => 0,
            Self::Crc32 => 4,
            Self::Crc64 => 8,
            Self::Sha256 => 32,
        }
    }
}

/// A check in the making.
pub(super) enum Check {
    None,
    Crc32(Box<Crc>),
    Crc64(Box<Crc>),
    Sha256(Box<Sha256>),
}

impl Check {
    pub fn begin(kind: CheckKind) -> Self {
        match kind {
            CheckKind::None => Self::None,
            CheckKind::Crc32 => Self::Crc32(Box::new(Crc::new(CrcAlgorithm::Crc32IsoHdlc))),
            CheckKind::Crc64 => Self::Crc64(Box::new(Crc::new(CrcAlgorithm::Crc64Xz))),
            CheckKind::Sha256 => Self::Sha256(Box::default()),
        }
    }

    pub fn add(&mut self, plain: &[u8]) {
        match self {
            Self::None => {}
            Self::Crc32(crc) | Self::Crc64(crc) => crc.update(plain),
            Self::Sha256(hash) => hash.update(plain),
        }
    }

    /// As it is stored: CRCs little endian.
    pub fn finish(self) -> Vec<u8> {
        match self {
            Self::None => Vec::new(),
            // The algorithm's width.
            Self::Crc32(crc) => (crc.finalize() as u32).to_le_bytes().to_vec(),
            Self::Crc64(crc) => crc.finalize().to_le_bytes().to_vec(),
            Self::Sha256(hash) => hash.finalize().to_vec(),
        }
    }

    /// Compares with what is stored.
    pub fn compare(self, stored: &[u8]) -> Result<(), Defect> {
        let computed = self.finish();
        if computed == stored { Ok(()) } else { Err(Defect::WideChecksum { stored: stored.to_vec(), computed }) }
    }
}
