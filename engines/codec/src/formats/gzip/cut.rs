//! Finds the members of a gzip file: by the length in their header where there is one, else by decoding.
//!
//! Policy after the last member: zero bytes to the end are padding (as on tapes; gzip does the same), anything else is an
//! error. gzip only warns there; but a member whose magic was hit by a flipped bit looks exactly like garbage.

use super::chunk::SpareMemory;
use super::container::{HEADER_BYTES_MAX, MAGIC, TRAILER_BYTES, parse_header};
use super::decode::MemberStream;
use super::parallel_member::ParallelMember;
use crate::compressed_reader::CompressedReader;
use crate::error::UnitDefect;
use crate::format::{CutError, Cutter, DecodeLimits, NextUnit, UncompressedSize, UnitPlace};

/// Bytes read to look at one header: more than almost every header has.
const GLANCE_BYTES: usize = 512;

/// Deflate cannot pack better than this: a length that claims it was read from the wrong place.
const DEFLATE_RATIO_MAX: u64 = 1032;

pub(super) struct GzipCutter {
    unit_uncompressed_bytes: u64,
    ahead_bytes: u64,
    hands: usize,
    members: u64,
    /// Where the last member began whose end only decoding finds.
    last_stream: Option<u64>,
    spare: SpareMemory,
}

impl GzipCutter {
    pub fn new(limits: &DecodeLimits, hands: usize) -> Self {
        let DecodeLimits { unit_uncompressed_bytes, ahead_bytes, .. } = *limits;
        Self {
            unit_uncompressed_bytes,
            ahead_bytes,
            hands,
            members: 0,
            last_stream: None,
            spare: SpareMemory::default(),
        }
    }

    fn stream(&mut self, input: &CompressedReader) -> NextUnit {
        let at = input.position();
        let bytes_before = self.last_stream.replace(at).map_or(0, |before| at - before);
        match ParallelMember::for_hands(self.hands, self.ahead_bytes, input, bytes_before, &self.spare) {
            Some(member) => NextUnit::Stream(Box::new(member)),
            None => NextUnit::Stream(Box::new(MemberStream::new(!input.is_stream()))),
        }
    }

    /// The uncompressed length in the trailer of a member that ends `member_bytes` ahead, if it is there.
    fn claimed_uncompressed_bytes(input: &mut CompressedReader, member_bytes: u64) -> Result<Option<u64>, CutError> {
        let mut length = [0; 4];
        let read = input.peek_at(member_bytes - length.len() as u64, &mut length)?;
        Ok((read == length.len()).then(|| u64::from(u32::from_le_bytes(length))))
    }
}

impl Cutter for GzipCutter {
    fn next(&mut self, input: &mut CompressedReader) -> Result<NextUnit, CutError> {
        let mut glance = GLANCE_BYTES;
        let header = loop {
            let (head, at_end) = input.ahead(glance, glance)?;
            if head.is_empty() {
                return Ok(NextUnit::End);
            }
            if self.members > 0 && !head.starts_with(&MAGIC[..head.len().min(MAGIC.len())]) {
                let bytes = input.zeros_to_the_end()?;
                return if bytes > 0 { Ok(NextUnit::Zeros { bytes }) } else { Err(CutError::Garbage) };
            }
            match parse_header(head)? {
                Some(header) => break header,
                None if at_end => return Err(UnitDefect::Truncated.into()),
                None => glance = (glance * 8).min(HEADER_BYTES_MAX),
            }
        };
        self.members += 1;
        let Some(packed_bytes) = header.member_bytes else {
            return Ok(self.stream(input));
        };
        // A unit that does not fit into what a worker may hold, or that the file is too short for, is decoded as a stream:
        // in bounded memory, and up to where it breaks off. Deflate expands at most 1032-fold, and a compressed unit is not
        // larger than its uncompressed bytes but for a little.
        if packed_bytes > self.unit_uncompressed_bytes + self.unit_uncompressed_bytes / 8 + (64 << 10) {
            return Ok(self.stream(input));
        }
        match Self::claimed_uncompressed_bytes(input, packed_bytes)? {
            Some(uncompressed)
                if uncompressed <= self.unit_uncompressed_bytes && uncompressed <= packed_bytes * DEFLATE_RATIO_MAX =>
            {
                Ok(NextUnit::Unit(UnitPlace::whole(packed_bytes, UncompressedSize::Known(uncompressed))))
            }
            _ => Ok(self.stream(input)),
        }
    }
}

/// The smallest member there is: header, an empty block, trailer.
const _: () = assert!(GLANCE_BYTES > 10 + 2 + TRAILER_BYTES);
