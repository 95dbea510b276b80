//! Puts an index together while an archive is written: stretches of entries make blocks, blocks are wrapped and written between units
//! when enough have gathered, and in the end a root tells which names each block has.

use super::entry::{bytes, number};
use super::names::Names;
use super::stretch::Stretch;
use super::{MAGIC, TRAILER_BYTES, Trailer};
use codec::byte_buffer::ByteBuffer;
use codec::format::{EncodeOptions, Encoder, Format, UnitLayout};
use crew::pipeline::Pause;

/// What blocks are packed with: decoding takes half as long as of level 3, which a list consists of for a third; that makes the Linux tree's archive 0.05 % longer.
const BLOCK_LEVEL: i32 = -1;
/// LIMIT: wrapped blocks that wait in memory; more are written between two units.
const WAITING_BYTES: usize = 4 << 20;
/// Units of an archive that is not worth an index: it is decoded before an eye has moved.
const UNITS_WORTH_NOTHING: u64 = 4;

#[derive(Default)]
struct Block {
    plain: Vec<u8>,
    names: Names,
}

/// Makes an index.
pub struct Writer {
    /// Of the archive: it wraps.
    format: &'static dyn Format,
    encoder: Box<dyn Encoder>,
    block: Block,
    root: Vec<u8>,
    blocks: u64,
    /// Wrapped blocks without a place, and what the root will say of them.
    waiting: Vec<u8>,
    waiting_lines: Vec<(usize, Vec<u8>)>,
    units: u64,
}

impl Writer {
    /// For archives packed as `format`; none where that has no place for an index.
    pub fn new(format: &'static dyn Format) -> Option<Self> {
        format.aside(&MAGIC)?;
        let packs = codec::registry::formats()[0];
        let options = EncodeOptions::new(BLOCK_LEVEL, UnitLayout::ParallelUnits);
        Some(Self {
            format,
            encoder: packs.encoder(&options).ok()?,
            block: Block::default(),
            root: Vec::new(),
            blocks: 0,
            waiting: Vec::new(),
            waiting_lines: Vec::new(),
            units: 0,
        })
    }

    /// It, with the entries of the members that begin in the unit at `unit`. None: this archive gets no index.
    pub fn unit(mut self, unit: u64, entries: &[Stretch]) -> Option<Self> {
        self.units += 1;
        for stretch in entries {
            if stretch.begins_block && !self.seal() {
                return None;
            }
            stretch.put(unit, &mut self.block.plain);
            self.block.names.extend(&stretch.names);
        }
        Some(self)
    }

    /// What has gathered, to be written at `offset`; nothing most of the time.
    pub fn due(&mut self, offset: u64) -> Vec<u8> {
        if self.waiting.len() < WAITING_BYTES { Vec::new() } else { self.place(offset) }
    }

    /// The rest, the root and the trailer, to be written at `offset` behind the last unit. None: the archive is too small to need it.
    pub fn finish(mut self, offset: u64) -> Option<Vec<u8>> {
        if self.units <= UNITS_WORTH_NOTHING || !self.seal() {
            return None;
        }
        let mut written = self.place(offset);
        let mut root = Vec::new();
        number(self.blocks, &mut root);
        root.extend_from_slice(&self.root);
        let root = self.wrapped(&root)?;
        let trailer = Trailer { root_from: offset + written.len() as u64, root_bytes: root.len() as u64 };
        written.extend(root);
        written.extend(self.format.aside(&trailer.bytes())?);
        Some(written)
    }

    fn wrapped(&mut self, plain: &[u8]) -> Option<Vec<u8>> {
        let mut packed = ByteBuffer::default();
        self.encoder.encode(plain, &mut packed, &mut Pause::never()).ok()?;
        self.format.aside(packed.content())
    }

    fn seal(&mut self) -> bool {
        let block = std::mem::take(&mut self.block);
        if block.names.count == 0 {
            return true;
        }
        let Some(wrapped) = self.wrapped(&block.plain) else { return false };
        let mut line = Vec::new();
        number(wrapped.len() as u64, &mut line);
        number(block.names.count, &mut line);
        bytes(&block.names.least, &mut line);
        bytes(&block.names.greatest, &mut line);
        self.waiting_lines.push((self.waiting.len(), line));
        self.waiting.extend(wrapped);
        self.blocks += 1;
        true
    }

    fn place(&mut self, offset: u64) -> Vec<u8> {
        for (at, line) in self.waiting_lines.drain(..) {
            number(offset + at as u64, &mut self.root);
            self.root.extend(line);
        }
        std::mem::take(&mut self.waiting)
    }
}

const _: () = assert!(TRAILER_BYTES < WAITING_BYTES);
