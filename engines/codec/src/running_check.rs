//! Checks over uncompressed data that are decoded segment by segment, or unit by unit, and what trailers claim of them.
//! CRC-32 is computed by the workers and combined; XXH32 cannot be, and runs in order.

use crate::error::UnitDefect;
use crc_fast::{CrcAlgorithm, checksum, checksum_combine};
use xxhash_rust::xxh32::Xxh32;

/// A check that somebody else than the decoder computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunningCheck {
    /// None, or the decoder sees to it.
    #[default]
    None,
    /// CRC-32 (ISO-HDLC): every segment by itself, then combined.
    Crc32,
    /// XXH32 with seed 0: in order.
    Xxh32,
}

/// A trailer's claim about uncompressed data, to be compared with what was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrailerClaim {
    /// gzip's trailer (RFC 1952).
    Crc32 {
        /// CRC-32 (ISO-HDLC).
        stored: u32,
        /// Uncompressed length modulo 2^32 (ISIZE).
        length_modulo: u32,
    },
    /// What an LZ4 frame has of content checksum and content size.
    Xxh32 {
        /// XXH32 with seed 0.
        stored: Option<u32>,
        /// Uncompressed length.
        length: Option<u64>,
    },
}

impl TrailerClaim {
    /// Compares with uncompressed data that are at hand as a whole.
    pub fn compare(self, uncompressed: &[u8]) -> Result<(), UnitDefect> {
        let check = match self {
            Self::Crc32 { .. } => RunningCheck::Crc32,
            Self::Xxh32 { .. } => RunningCheck::Xxh32,
        };
        let mut segment = SegmentCheck::begin(check);
        segment.compute(uncompressed);
        let mut so_far = CheckSoFar::default();
        so_far.add(segment, uncompressed);
        so_far.compare(Some(self))
    }
}

/// What one segment brings to the check.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SegmentCheck {
    None,
    /// Its own CRC-32.
    Crc32(u64),
    /// Its bytes, in order.
    Xxh32,
}

impl SegmentCheck {
    pub fn begin(check: RunningCheck) -> Self {
        match check {
            RunningCheck::None => Self::None,
            RunningCheck::Crc32 => Self::Crc32(0),
            RunningCheck::Xxh32 => Self::Xxh32,
        }
    }

    /// The part that needs no order.
    pub fn compute(&mut self, uncompressed: &[u8]) {
        if let Self::Crc32(crc32) = self {
            *crc32 = checksum(CrcAlgorithm::Crc32IsoHdlc, uncompressed);
        }
    }
}

/// A check over the segments so far.
#[derive(Default)]
pub(crate) struct CheckSoFar {
    length: u64,
    crc32: u64,
    xxh32: Option<Xxh32>,
}

impl CheckSoFar {
    /// Adds the next segment.
    pub fn add(&mut self, segment: SegmentCheck, uncompressed: &[u8]) {
        let length = uncompressed.len() as u64;
        match segment {
            SegmentCheck::None => {}
            SegmentCheck::Crc32(crc32) => {
                self.crc32 = checksum_combine(CrcAlgorithm::Crc32IsoHdlc, self.crc32, crc32, length);
            }
            SegmentCheck::Xxh32 => self.xxh32.get_or_insert_with(|| Xxh32::new(0)).update(uncompressed),
        }
        self.length += length;
    }

    /// Compares with what a trailer claims, and begins anew.
    pub fn compare(&mut self, claim: Option<TrailerClaim>) -> Result<(), UnitDefect> {
        let done = std::mem::take(self);
        let (checksums, length) = match claim {
            None => return Ok(()),
            // 32-bit values: the checksum by its definition, the length by RFC 1952's.
            Some(TrailerClaim::Crc32 { stored, length_modulo }) => {
                let length = (length_modulo != done.length as u32).then_some(u64::from(length_modulo));
                (Some((stored, done.crc32 as u32)), length)
            }
            Some(TrailerClaim::Xxh32 { stored, length }) => {
                let computed = done.xxh32.unwrap_or_else(|| Xxh32::new(0)).digest();
                (stored.map(|stored| (stored, computed)), length.filter(|&length| length != done.length))
            }
        };
        match (checksums, length) {
            (Some((stored, computed)), _) if stored != computed => Err(UnitDefect::Checksum { stored, computed }),
            (_, Some(stored)) => Err(UnitDefect::Length { stored, actual: done.length }),
            _ => Ok(()),
        }
    }
}
