//! Finds the index of a packed archive, and searches it. Believes nothing: what does not fit is [`Unfit`], in one word.

use super::entry::{Cursor, Entry, Taker};
use super::names::{bare, compare};
use super::units::Units;
use super::{BLOCK_BYTES_MAX, NAME_BYTES_MAX, ROOT_BYTES_MAX, TRAILER_BYTES, Trailer};
use crate::member::Kind;
use crate::read::{Reader, Rules, Step};
use crate::source::Source;
use codec::byte_buffer::ByteBuffer;
use codec::format::{DecodeLimits, Decoder, Format};
use crew::pipeline::Pause;
use std::fs::File;
use std::io;
use std::sync::Arc;
use sys::at_offset::read_full_at;

/// Why an index is not used: one word each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// It is of another file, or of this one when that was shorter.
    #[error("misplaced")]
    Misplaced,
    /// Its bytes are none that an index has.
    #[error("damaged")]
    Damaged,
    /// Members are not what it says of them.
    #[error("untrue")]
    Untrue,
    /// Reading failed.
    #[error("unreadable")]
    Unreadable,
}

/// A block, as the root has it.
struct BlockPlace {
    offset: u64,
    bytes: usize,
    least: Vec<u8>,
    greatest: Vec<u8>,
}

/// An index.
pub struct Index {
    file: Arc<File>,
    format: &'static dyn Format,
    blocks: Vec<BlockPlace>,
    members: u64,
}

/// Bytes at the end of a file that tell how long what follows its last unit is.
const TAIL_LOOK_BYTES: u64 = 16;

/// What a search does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// It goes on.
    On,
    /// It has found what it wanted.
    Done,
}

impl Index {
    /// The index of a file that is packed as `format`; none where it has none.
    pub fn find(file: &Arc<File>, format: &'static dyn Format) -> Option<Result<Self, Unfit>> {
        let trailer_bytes = format.aside(&[0; TRAILER_BYTES])?.len() as u64;
        let end = file.metadata().ok()?.len();
        let last = read(file, end.checked_sub(TAIL_LOOK_BYTES)?, TAIL_LOOK_BYTES).ok()?;
        let trailer_from = end.checked_sub(format.tail_bytes(&last))?.checked_sub(trailer_bytes)?;
        let packed = read(file, trailer_from, trailer_bytes).ok()?;
        let trailer = Trailer::read(&format.open_aside(&packed)?)?;
        Some(Self::open(file, format, trailer, trailer_from))
    }

    fn open(file: &Arc<File>, format: &'static dyn Format, root: Trailer, root_to: u64) -> Result<Self, Unfit> {
        if root.root_from.checked_add(root.root_bytes) != Some(root_to) || root.root_bytes > ROOT_BYTES_MAX {
            return Err(Unfit::Misplaced);
        }
        let packed = read(file, root.root_from, root.root_bytes).ok().ok_or(Unfit::Unreadable)?;
        let mut unpacker = Unpacker::new(format, ROOT_BYTES_MAX);
        let plain = unpacker.unpack(&packed).ok_or(Unfit::Damaged)?;
        let (blocks, members) = places(plain, root.root_from).ok_or(Unfit::Damaged)?;
        Ok(Self { file: Arc::clone(file), format, blocks, members })
    }

    /// How many members it knows.
    pub fn members(&self) -> u64 {
        self.members
    }

    /// Shows all entries in order to `each`.
    pub fn all(&self, mut each: impl FnMut(&Entry) -> io::Result<Search>) -> io::Result<Result<(), Unfit>> {
        let mut unpacker = Unpacker::new(self.format, BLOCK_BYTES_MAX);
        for place in &self.blocks {
            match self.block(place, &mut unpacker, &mut each)? {
                Ok(Search::On) => {}
                Ok(Search::Done) => break,
                Err(unfit) => return Ok(Err(unfit)),
            }
        }
        Ok(Ok(()))
    }

    /// Shows those entries in order to `each` that may have one of these names, or lie beneath one.
    pub fn named(&self, names: &[&[u8]], mut each: impl FnMut(&Entry)) -> Result<(), Unfit> {
        let mut shown = |entry: &Entry| {
            each(entry);
            Ok(Search::On)
        };
        let mut unpacker = Unpacker::new(self.format, BLOCK_BYTES_MAX);
        for place in self.blocks.iter().filter(|place| names.iter().any(|name| place.may_have(name))) {
            // Nothing but the search can fail: the closure does not.
            match self.block(place, &mut unpacker, &mut shown) {
                Ok(Ok(_)) => {}
                Ok(Err(unfit)) => return Err(unfit),
                Err(_) => return Err(Unfit::Unreadable),
            }
        }
        Ok(())
    }

    /// The last entry; none where there is none.
    pub fn last(&self) -> Result<Option<Entry>, Unfit> {
        let mut last = None;
        let Some(place) = self.blocks.last() else { return Ok(None) };
        let mut unpacker = Unpacker::new(self.format, BLOCK_BYTES_MAX);
        let looked = self.block(place, &mut unpacker, &mut |entry| {
            last = Some(entry.clone());
            Ok(Search::On)
        });
        looked.ok().ok_or(Unfit::Unreadable)??;
        Ok(last)
    }

    fn block(
        &self,
        place: &BlockPlace,
        unpacker: &mut Unpacker,
        each: &mut impl FnMut(&Entry) -> io::Result<Search>,
    ) -> io::Result<Result<Search, Unfit>> {
        let Ok(packed) = read(&self.file, place.offset, place.bytes as u64) else { return Ok(Err(Unfit::Unreadable)) };
        let Some(plain) = unpacker.unpack(&packed) else { return Ok(Err(Unfit::Damaged)) };
        let mut cursor = Cursor::new(plain);
        loop {
            match cursor.next() {
                Ok(true) if each(&cursor.entry)? == Search::Done => return Ok(Ok(Search::Done)),
                Ok(true) => {}
                Ok(false) => return Ok(Ok(Search::On)),
                Err(_) => return Ok(Err(Unfit::Damaged)),
            }
        }
    }

    /// The packed file's units, to read members from.
    pub fn units(&self, limits: DecodeLimits) -> Units {
        Units::new(Arc::clone(&self.file), self.format, limits)
    }

    /// Whether what stands at an entry's place is what the entry says.
    pub fn is_true_of(units: &mut Units, entry: &Entry) -> bool {
        if units.go(&entry.spot).is_err() {
            return false;
        }
        let mut reader = Reader::new(Rules::default(), units);
        let Ok(Step::Member(found)) = reader.next(units) else { return false };
        let told = &entry.member;
        let is_same = (&found.path, found.kind, &found.link, found.mode, found.size, found.mtime)
            == (&told.path, told.kind, &told.link, told.mode, told.size, told.mtime)
            && (found.uid, found.gid, &found.owner, &found.group) == (told.uid, told.gid, &told.owner, &told.group);
        let is_device = matches!(found.kind, Kind::CharacterDevice | Kind::BlockDevice);
        is_same
            && (!is_device || found.device == told.device)
            && units.position() + found.padded_bytes() == entry.spot.bytes
    }
}

impl BlockPlace {
    /// Whether it may have the name, or what lies beneath it.
    fn may_have(&self, name: &[u8]) -> bool {
        let is_beneath = self.least.strip_prefix(name).is_some_and(|rest| rest.first() == Some(&b'/'));
        let name = bare(name);
        compare(&self.greatest, name).is_ge() && (compare(&self.least, name).is_le() || is_beneath)
    }
}

fn read(file: &File, offset: u64, bytes: u64) -> io::Result<Vec<u8>> {
    let mut packed = vec![0; usize::try_from(bytes).map_err(io::Error::other)?];
    if read_full_at(file, &mut packed, offset)? < packed.len() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(packed)
}

/// Unpacks what stands aside, one after the other.
struct Unpacker {
    format: &'static dyn Format,
    most: u64,
    decoder: Box<dyn Decoder>,
    plain: ByteBuffer,
}

impl Unpacker {
    /// Of pieces that hold `most` bytes each.
    fn new(format: &'static dyn Format, most: u64) -> Self {
        let limits = DecodeLimits {
            unit_uncompressed_bytes: most,
            unit_held_bytes: u64::MAX,
            window_bytes: most,
            dictionary: None,
            prefix: None,
            stream_bytes: most,
            ahead_bytes: 0,
            streams_lone_unit: false,
        };
        let decoder = codec::registry::formats()[0].decoder(&limits);
        Self { format, most, decoder, plain: ByteBuffer::default() }
    }

    fn unpack(&mut self, aside: &[u8]) -> Option<&[u8]> {
        let packed = self.format.open_aside(aside)?;
        self.plain.clear();
        self.decoder.decode(&packed, 0, self.most, &mut self.plain, &mut Pause::never()).ok()?;
        Some(self.plain.content())
    }
}

/// The root's lines. Blocks stand one behind the other, and before the root.
fn places(root: &[u8], root_from: u64) -> Option<(Vec<BlockPlace>, u64)> {
    let mut left = Taker(root);
    let count = left.number().ok()?;
    let (mut blocks, mut members, mut behind) = (Vec::new(), 0_u64, 0);
    for _ in 0..count {
        let (offset, bytes) = (left.number().ok()?, left.number().ok()?);
        let end = offset.checked_add(bytes).filter(|&end| end <= root_from && offset >= behind)?;
        // A block that packed to more than it may hold is none.
        let bytes = usize::try_from(bytes).ok().filter(|&bytes| bytes as u64 <= 2 * BLOCK_BYTES_MAX)?;
        members = members.checked_add(left.number().ok()?)?;
        let (least, greatest) = (left.name().ok()?.to_vec(), left.name().ok()?.to_vec());
        blocks.push(BlockPlace { offset, bytes, least, greatest });
        behind = end;
    }
    (left.0.is_empty() && blocks.iter().all(|block| block.least.len() <= NAME_BYTES_MAX)).then_some((blocks, members))
}
