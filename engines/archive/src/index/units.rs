//! Plain bytes out of a packed file from any unit on, decoded one unit at a time by whoever asks; and, out of such, an archive of
//! nothing but chosen members.

use super::entry::Spot;
use crate::blocks::{BLOCK_TARGET_BYTES, Block, BlockFeed};
use crate::member::BLOCK_BYTES;
use crate::source::Source;
use codec::byte_buffer::ByteBuffer;
use codec::compressed_reader::CompressedReader;
use codec::format::{CutError, Cutter, DecodeLimits, Decoder, Format, NextUnit};
use crew::pipeline::Pause;
use std::fs::File;
use std::io;
use std::sync::Arc;

/// Units of a packed file.
pub struct Units {
    file: Arc<File>,
    format: &'static dyn Format,
    limits: DecodeLimits,
    reader: CompressedReader,
    cutter: Box<dyn Cutter>,
    decoder: Box<dyn Decoder>,
    packed: Vec<u8>,
    plain: ByteBuffer,
    /// The unit that `plain` is of, if any.
    unit: Option<u64>,
    at: usize,
    position: u64,
}

fn unfit() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "what stands where its index leads is no unit")
}

impl Units {
    /// Of a file. Units longer than the limits allow are refused.
    pub fn new(file: Arc<File>, format: &'static dyn Format, limits: DecodeLimits) -> Self {
        Self {
            reader: CompressedReader::file(Arc::clone(&file), 0),
            cutter: format.cutter(&limits),
            decoder: format.decoder(&limits),
            file,
            format,
            limits,
            packed: Vec::new(),
            plain: ByteBuffer::default(),
            unit: None,
            at: 0,
            position: 0,
        }
    }

    /// Stands at a member from now on; positions count from there.
    pub fn go(&mut self, spot: &Spot) -> io::Result<()> {
        if self.unit != Some(spot.unit) {
            self.reader = CompressedReader::file(Arc::clone(&self.file), spot.unit);
            self.cutter = self.format.cutter(&self.limits);
            if !self.decode()? {
                return Err(unfit());
            }
        }
        self.at = usize::try_from(spot.at).ok().filter(|&at| at <= self.plain.len()).ok_or_else(unfit)?;
        self.position = 0;
        Ok(())
    }

    /// The next unit; false at the end of the file.
    fn decode(&mut self) -> io::Result<bool> {
        (self.unit, self.at) = (None, 0);
        self.plain.clear();
        loop {
            let unit = self.reader.position();
            let place = match self.cutter.next(&mut self.reader) {
                Ok(NextUnit::Unit(place)) if !place.is_checked_later && place.shared_bytes == 0 => place,
                Ok(NextUnit::Padding { bytes } | NextUnit::Zeros { bytes }) if bytes > 0 => {
                    self.reader.skip(bytes)?;
                    continue;
                }
                Ok(NextUnit::End) => return Ok(false),
                Err(CutError::Read(error)) => return Err(error),
                _ => return Err(unfit()),
            };
            let bytes = usize::try_from(place.packed_bytes).map_err(io::Error::other)?;
            self.packed.clear();
            if self.reader.take_into(bytes, &mut self.packed)? < bytes {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let most = self.limits.unit_uncompressed_bytes;
            let pause = &mut Pause::never();
            let decoded = self.decoder.decode(&self.packed, place.parameters, most, &mut self.plain, pause);
            decoded.map_err(io::Error::other)?;
            self.unit = Some(unit);
            return Ok(true);
        }
    }

    /// Bytes that are ahead, at least one but at the end.
    fn ahead(&mut self) -> io::Result<&[u8]> {
        while self.at == self.plain.len() && self.unit.is_some() {
            if !self.decode()? {
                return Ok(&[]);
            }
        }
        Ok(&self.plain.content()[self.at..])
    }

    fn advance(&mut self, bytes: usize) {
        self.at += bytes;
        self.position += bytes as u64;
    }
}

impl Source for Units {
    fn position(&self) -> u64 {
        self.position
    }

    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < target.len() {
            let ahead = self.ahead()?;
            let count = ahead.len().min(target.len() - filled);
            if count == 0 {
                break;
            }
            target[filled..filled + count].copy_from_slice(&ahead[..count]);
            self.advance(count);
            filled += count;
        }
        Ok(filled)
    }

    fn skip(&mut self, bytes: u64) -> io::Result<u64> {
        let mut skipped = 0;
        while skipped < bytes {
            let count = (self.ahead()?.len() as u64).min(bytes - skipped);
            if count == 0 {
                break;
            }
            self.advance(count as usize);
            skipped += count;
        }
        Ok(skipped)
    }
}

/// An archive of chosen members and an end mark: what reads archives reads it as any other.
pub struct ChosenMembers {
    units: Units,
    spots: std::vec::IntoIter<Spot>,
    /// Bytes of the member at hand that are still ahead.
    left: u64,
    is_ended: bool,
}

impl ChosenMembers {
    /// Members in their order.
    pub fn new(units: Units, spots: Vec<Spot>) -> Self {
        Self { units, spots: spots.into_iter(), left: 0, is_ended: false }
    }
}

impl BlockFeed for ChosenMembers {
    fn next_block(&mut self, mut block: Vec<u8>) -> io::Result<Block> {
        block.clear();
        while block.len() < BLOCK_TARGET_BYTES && !self.is_ended {
            if self.left == 0 {
                match self.spots.next() {
                    Some(spot) => {
                        self.units.go(&spot)?;
                        self.left = spot.bytes;
                    }
                    None => {
                        block.resize(block.len() + 2 * BLOCK_BYTES, 0);
                        self.is_ended = true;
                    }
                }
                continue;
            }
            let room = (BLOCK_TARGET_BYTES - block.len()) as u64;
            let from = block.len();
            // LIMIT: a block at a time, whatever an index claims.
            block.resize(from + self.left.min(room) as usize, 0);
            let read = self.units.read(&mut block[from..])?;
            if read < block.len() - from {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.left -= read as u64;
        }
        Ok(block.into())
    }
}
