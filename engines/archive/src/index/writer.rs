//! Puts an index together while an archive is written: entries in blocks of some hundred, blocks wrapped and written between units
//! when enough have gathered, and in the end a root that tells which names each block has.

use super::entry::{Entry, bytes, number, put};
use super::{MAGIC, NAME_BYTES_MAX, TRAILER_BYTES, Trailer};
use crate::member::Member;
use codec::byte_buffer::ByteBuffer;
use codec::format::{EncodeOptions, Encoder, Format, Layout};
use std::cmp::Ordering;

/// Plain bytes of a block: what one search has to read. Smaller makes the root longer.
const BLOCK_BYTES: usize = 64 << 10;
/// Entries of a block, for the same reason. Fewer are decoded in twice the time: each block has its own tables.
const BLOCK_ENTRIES: u64 = 1024;
/// What blocks are packed with: decoding takes half as long as of level 3, which a list consists of for a third; that makes the Linux tree's archive 0.05 % longer.
const BLOCK_LEVEL: i32 = -1;
/// LIMIT: wrapped blocks that wait in memory; more are written between two units.
const WAITING_BYTES: usize = 4 << 20;
/// Units of an archive that is not worth an index: it is decoded before an eye has moved.
const UNITS_WORTH_NOTHING: u64 = 4;

/// A member that begins in a unit.
pub struct Begun {
    /// Where in the unit's plain bytes.
    pub at: u64,
    /// Its length in the archive.
    pub bytes: u64,
    /// It, as its headers tell it; none where they tell nothing.
    pub member: Option<Member>,
}

/// Names are compared as a walk meets them: what lies beneath a folder stands behind it and before its neighbours.
pub(super) fn compare(one: &[u8], other: &[u8]) -> Ordering {
    let key = |byte: &u8| if *byte == b'/' { 0 } else { *byte };
    one.iter().map(key).cmp(other.iter().map(key))
}

/// A name without the slashes that mark a folder.
pub(super) fn bare(name: &[u8]) -> &[u8] {
    &name[..name.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last + 1)]
}

#[derive(Default)]
struct Block {
    plain: Vec<u8>,
    entries: u64,
    last: Entry,
    least: Vec<u8>,
    greatest: Vec<u8>,
}

impl Block {
    fn take(&mut self, entry: Entry) -> bool {
        let name = bare(&entry.member.path);
        if self.entries == 0 || compare(name, &self.least).is_lt() {
            self.least = name.to_vec();
        }
        if compare(name, &self.greatest).is_gt() {
            self.greatest = name.to_vec();
        }
        self.entries += 1;
        let fits = put(&entry, &self.last, &mut self.plain);
        self.last = entry;
        fits
    }
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
        let options = EncodeOptions::new(BLOCK_LEVEL, Layout::ParallelUnits);
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

    /// Notes the members that begin in the unit at `unit`. False: this archive gets no index.
    pub fn unit(&mut self, unit: u64, members: impl Iterator<Item = Begun>) -> bool {
        self.units += 1;
        for Begun { at, bytes, member } in members {
            let Some(member) = member else { return false };
            let spot = super::entry::Spot { unit, at, bytes };
            if !self.block.take(Entry { member, spot }) {
                return false;
            }
            if (self.block.plain.len() >= BLOCK_BYTES || self.block.entries >= BLOCK_ENTRIES) && !self.seal() {
                return false;
            }
        }
        true
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
        self.encoder.encode(plain, &mut packed).ok()?;
        self.format.aside(packed.content())
    }

    fn seal(&mut self) -> bool {
        let block = std::mem::take(&mut self.block);
        if block.entries == 0 {
            return true;
        }
        let Some(wrapped) = self.wrapped(&block.plain) else { return false };
        let mut line = Vec::new();
        number(wrapped.len() as u64, &mut line);
        number(block.entries, &mut line);
        bytes(&block.least, &mut line);
        bytes(&block.greatest, &mut line);
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

const _: () = assert!(NAME_BYTES_MAX < BLOCK_BYTES && TRAILER_BYTES < BLOCK_BYTES);
