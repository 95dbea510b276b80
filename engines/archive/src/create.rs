//! Creation as pipeline stages: the source goes through the tree and lays out headers and data, workers read the data and pack
//! them, the sink writes in order. The layout depends on the files alone, so that the archive is the same for any number of hands.
//! Theory: `engines/archive/README.md`, "Creation".

mod ahead;
mod choice;
mod data;
mod event;
mod look;
mod mode;
mod notes;
mod scope;
mod tags;
mod walk;

use crate::index::stretch::Stretch;
use crate::index::writer::Writer;
use crate::member::padded;
use crate::operation::Operation;
use crate::write::{Style, begin_archive, begin_member, end_archive};
use ahead::Ahead;
pub use choice::{
    Archived, AskedTime, Choice, HardLinks, HoleSearch, Instead, LeavesAttribute, Links, MtimeOf, NewTime, Newer,
    Operand, OperandDepth, OwnerMap, Rename, Renamed, Sort,
};
use codec::byte_buffer::ByteBuffer;
use codec::error::CodecError;
use codec::format::{EncodeOptions, Encoder, Format, Tail};
use crew::budget::Lease;
use crew::measures::Measures;
use crew::pipeline::{By, Cut, CutTurn, Executor, OpenLane, Pause, Staffing, Stages, run};
use crew::tally::Tally;
use data::Source;
pub use event::Event;
use files::{Status, straight};
use look::Look;
pub use mode::ModeRule;
use notes::{ChunkNotes, Notes};
use parking_lot::Mutex;
pub use scope::{IgnoreFile, IgnoreReach, IgnoreSyntax, Scope};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use sys::at_offset::write_all_at;
pub use tags::{Keeps, Tag};
use walk::{Found, Walk};

/// Things to tell.
pub type Told = Vec<Event>;

/// Whether what has a name is to be archived, with all beneath it. Asked in archive order, of each before its data are read; takes the events
/// that are to be reported before the question.
pub type Confirm<'a> = &'a (dyn Fn(&[u8], &mut Told) -> bool + Sync);

/// How the archive is packed.
#[derive(Clone, Copy)]
pub struct Packing {
    /// The format.
    pub format: &'static dyn Format,
    /// How to encode.
    pub options: EncodeOptions,
}

/// Plain bytes of a chunk where nothing is packed: what stays in the second-level cache.
pub const PLAIN_CHUNK_BYTES: usize = 512 << 10;

/// What to do.
pub struct Creation<'a> {
    /// Which files.
    pub choice: &'a Choice,
    /// Their names; taken when the run begins.
    pub operands: Mutex<Vec<Operand>>,
    /// How headers are written.
    pub style: &'a Style,
    /// How it is packed, if it is.
    pub packing: Option<Packing>,
    /// Whether a packed archive tells where its members are.
    pub index: Index,
    /// Where to.
    pub output: &'a File,
    /// Whether workers write at offsets; else one thread writes in order.
    pub writing: By,
    /// Where the archive begins in the output: behind what is there already.
    pub base: u64,
    /// Files that may be open at a time. Beyond it the walk reads small ones itself: it opens each, since their headers promise their sizes.
    pub open_files: usize,
    /// What is told of members that are archived.
    pub members: Members,
    /// Agrees to each file.
    pub confirm: Confirm<'a>,
    /// Told of everything, in archive order, from one thread at a time.
    pub on_event: &'a (dyn Fn(Event) + Sync),
    /// Why it failed as a whole, once it is over.
    pub ended: Mutex<Option<CreateError>>,
}

/// What is told of members that are archived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Members {
    /// Each.
    Shown,
    /// How many: nothing of them is held until the chunk that they stand in is written.
    Counted,
}

/// Whether a packed archive tells where its members are, where its format has a place for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// It does; units end where members do, where that costs nothing.
    Kept,
    /// It does not: what is packed is the plain archive and nothing else.
    LeftOut,
}

/// Why there is no archive.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// The output failed.
    #[error("cannot write the archive at byte {offset}")]
    Write {
        /// Where.
        offset: u64,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// The encoder failed.
    #[error(transparent)]
    Pack(#[from] CodecError),
}

impl CreateError {
    /// Whether nobody reads the output any more.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Write { cause, .. } if cause.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// Creates an archive. What could not be archived was told; why there is none stands in `ended`.
pub fn create(what: &Creation<'_>, staffing: &Staffing, lease: &dyn Lease, tally: &Tally) -> Measures {
    // Where links are followed, a directory may lie in itself.
    let is_shared = staffing.mode == Executor::Threaded && staffing.width > 1 && what.choice.links == Links::Kept;
    let ahead = Ahead::new(is_shared, what.open_files);
    run(&Creating { what, ahead: &ahead }, staffing, lease, tally)
}

/// A creation at work.
#[derive(Clone, Copy)]
struct Creating<'a> {
    what: &'a Creation<'a>,
    ahead: &'a Ahead,
}

/// Bytes of a file that the walk reads itself where descriptors are short.
///
/// LIMIT: of larger ones a chunk holds a few, and keeps them open beyond what it may.
const SMALL_BYTES: u64 = 1 << 20;

/// A part of the archive.
enum Segment {
    /// So many of the bytes that are known: headers.
    Bytes(usize),
    Data(Data),
    Zeros(usize),
}

/// Data that are still to be read.
struct Data {
    source: Arc<Source>,
    from: u64,
    bytes: usize,
    is_last: bool,
}

impl Segment {
    fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) | Self::Zeros(bytes) | Self::Data(Data { bytes, .. }) => *bytes,
        }
    }

    /// Its first `count` bytes, and the rest.
    fn split(self, count: usize) -> (Self, Self) {
        match self {
            Self::Bytes(bytes) => (Self::Bytes(count), Self::Bytes(bytes - count)),
            Self::Data(Data { source, from, bytes, is_last }) => (
                Self::Data(Data { source: Arc::clone(&source), from, bytes: count, is_last: false }),
                Self::Data(Data { source, from: from + count as u64, bytes: bytes - count, is_last }),
            ),
            Self::Zeros(bytes) => (Self::Zeros(count), Self::Zeros(bytes - count)),
        }
    }
}

/// Front end: lays the archive out.
pub struct Layout<'a> {
    walk: Walk<'a>,
    /// What has been laid out and belongs to the next chunk.
    ahead: VecDeque<Segment>,
    ahead_bytes: u64,
    /// The bytes of it that are known.
    known: Vec<u8>,
    laid_out: u64,
    ended: bool,
    any_chunk: bool,
    notes: Notes,
}

/// Far end.
pub struct ArchiveEnd {
    fold: Mutex<Fold>,
}

struct Fold {
    offset: u64,
    tail: Option<Box<dyn Tail>>,
    index: Option<Writer>,
}

/// A chunk of the archive.
#[derive(Default)]
pub struct ArchiveChunk {
    segments: VecDeque<Segment>,
    /// The bytes of it that are known, whatever was read of them already.
    known: Vec<u8>,
    known_read: usize,
    plain_bytes: usize,
    ends_at: u64,
    told: Told,
    plain: ByteBuffer,
    packed: ByteBuffer,
    head: Vec<u8>,
    offset: u64,
    notes: ChunkNotes,
    /// What an index says of the members that begin in it; none where it cannot.
    entries: Option<Vec<Stretch>>,
}

impl<'a> Stages for Creating<'a> {
    type Source = Layout<'a>;
    type Sink = ArchiveEnd;
    type Chunk = ArchiveChunk;
    type Scratch = Option<Box<dyn Encoder>>;
    type Error = CreateError;

    fn new_chunk(&self) -> ArchiveChunk {
        ArchiveChunk::default()
    }

    fn new_scratch(&self) -> Option<Box<dyn Encoder>> {
        None
    }

    fn lanes(&self) -> usize {
        1
    }

    fn lanes_share_one_sink(&self) -> bool {
        false
    }

    fn open(&self, _lane: usize) -> Result<OpenLane<Self>, CreateError> {
        let operands = std::mem::take(&mut *self.what.operands.lock());
        let tail = self.what.packing.map(|packing| packing.format.tail(&packing.options));
        // Whoever reads a member by its index does not see what stands in front of all.
        let mut front = Vec::new();
        begin_archive(self.what.style, &mut front);
        let is_indexed = self.what.index == Index::Kept && front.is_empty();
        let index = self.what.packing.filter(|_| is_indexed).and_then(|packing| Writer::new(packing.format));
        let mut source = Layout {
            walk: Walk::new(self.what.choice, self.ahead, operands),
            ahead: Default::default(),
            known: front,
            ahead_bytes: 0,
            laid_out: self.what.base,
            ended: false,
            any_chunk: false,
            notes: Notes::new(index.is_some()),
        };
        source.put(Segment::Bytes(source.known.len()));
        Ok(OpenLane {
            source,
            sink: ArchiveEnd { fold: Mutex::new(Fold { offset: self.what.base, tail, index }) },
            reading: By::Workers,
            writing: self.what.writing,
        })
    }

    fn cut(
        &self,
        layout: &mut Layout<'a>,
        chunk: &mut ArchiveChunk,
        turn: &mut CutTurn<'_>,
    ) -> Result<Cut, CreateError> {
        chunk.told.clear();
        chunk.segments.clear();
        let chunk_bytes =
            self.what.packing.map_or(PLAIN_CHUNK_BYTES, |packing| packing.format.chunk_bytes(&packing.options));
        while layout.ahead_bytes < chunk_bytes as u64 && !layout.ended {
            layout.lay_out(self.what, &mut chunk.told, turn);
        }
        if layout.ahead_bytes == 0 && layout.any_chunk && chunk.told.is_empty() {
            return Ok(Cut::End);
        }
        layout.any_chunk = true;
        let bytes = layout.next_border(chunk_bytes);
        chunk.plain_bytes = layout.take(bytes, chunk);
        chunk.ends_at = layout.laid_out - layout.ahead_bytes;
        self.ahead.note_laid_out(layout.ahead_bytes);
        Ok(Cut::Noted(chunk.plain_bytes as u64))
    }

    fn fetch(&self, chunk: &mut ArchiveChunk) -> Result<(), CreateError> {
        if !self.what.packing.is_some_and(|packing| packing.format.takes_segments()) {
            chunk.read(chunk.plain_bytes);
        }
        Ok(())
    }

    fn can_look_ahead(&self) -> bool {
        self.ahead.has_some()
    }

    fn look_ahead(&self) {
        self.ahead.look(&Look { choice: self.what.choice, ahead: self.ahead });
    }

    fn work(
        &self,
        encoder: &mut Option<Box<dyn Encoder>>,
        chunk: &mut ArchiveChunk,
        pause: &mut Pause<'_>,
    ) -> Result<(), CreateError> {
        let Some(Packing { format, options }) = self.what.packing else { return Ok(()) };
        chunk.entries = chunk.notes.stretches();
        if format.takes_segments() {
            return Ok(chunk.pack_in_pieces(format, &options, pause)?);
        }
        if encoder.is_none() {
            *encoder = Some(format.encoder(&options)?);
        }
        if let Some(encoder) = encoder {
            chunk.packed.clear();
            chunk.packed.reserve_about(chunk.plain.len());
            encoder.encode(chunk.plain.content(), &mut chunk.packed, pause)?;
        }
        Ok(())
    }

    fn place(&self, sink: &ArchiveEnd, chunk: &mut ArchiveChunk) -> Result<(), CreateError> {
        chunk.told.drain(..).for_each(self.what.on_event);
        (self.what.on_event)(Event::Reached(chunk.ends_at));
        let mut fold = sink.fold.lock();
        let Fold { offset, tail, index } = &mut *fold;
        chunk.offset = *offset;
        chunk.head.clear();
        match (&self.what.packing, tail) {
            (Some(packing), Some(tail)) => {
                if chunk.offset == self.what.base {
                    chunk.head = packing.format.head(&packing.options);
                }
                let asides = index.as_mut().map(|index| index.due(chunk.offset)).unwrap_or_default();
                if !asides.is_empty() {
                    tail.unit(&asides, 0);
                    chunk.head.extend(asides);
                }
                let unit = chunk.offset + chunk.head.len() as u64;
                *index = index.take().zip(chunk.entries.take()).and_then(|(index, entries)| index.unit(unit, &entries));
                tail.unit(chunk.packed.content(), chunk.plain_bytes as u64);
                *offset += (chunk.head.len() + chunk.packed.len()) as u64;
            }
            _ => *offset += chunk.plain_bytes as u64,
        }
        Ok(())
    }

    fn write(&self, _sink: &ArchiveEnd, chunk: &mut ArchiveChunk) -> Result<u64, CreateError> {
        let content = if self.what.packing.is_some() { chunk.packed.content() } else { chunk.plain.content() };
        self.what.put(&chunk.head, chunk.offset)?;
        self.what.put(content, chunk.offset + chunk.head.len() as u64)?;
        Ok((chunk.head.len() + content.len()) as u64)
    }

    fn interrupt(&self, _sink: &ArchiveEnd) {}

    fn close(&self, _lane: usize, ends: Option<(Layout<'a>, ArchiveEnd)>, outcome: Result<(), CreateError>) {
        let written = outcome.and_then(|()| {
            let Some((_, sink)) = ends else { return Ok(()) };
            let Fold { offset, tail, index } = sink.fold.into_inner();
            let Some(mut tail) = tail else { return Ok(()) };
            let mut behind = index.and_then(|index| index.finish(offset)).unwrap_or_default();
            if !behind.is_empty() {
                tail.unit(&behind, 0);
            }
            behind.extend(tail.finish());
            self.what.put(&behind, offset)
        });
        *self.what.ended.lock() = written.err();
    }

    fn stage_names(&self) -> [&'static str; 3] {
        match self.what.packing {
            Some(packing) if packing.format.takes_segments() => ["walk", "read and pack", "write"],
            _ => ["walk and read", "pack", "write"],
        }
    }
}

impl Creation<'_> {
    fn put(&self, bytes: &[u8], offset: u64) -> Result<(), CreateError> {
        let mut output = self.output;
        let written = match self.writing {
            By::Workers => write_all_at(output, bytes, offset),
            By::OwnThread => output.write_all(bytes),
        };
        written.map_err(|cause| CreateError::Write { offset, cause })
    }
}

/// The commonest data by the shortest way: those of a whole file, read by one call, that is as it was when it was looked at. Its calls are set in line
/// into the loop over a chunk's segments (`files::straight` says why). Any others, and what fails, come back for [`fill`].
#[inline(always)]
fn fill_plainly(data: Data, target: &mut [u8]) -> Option<Data> {
    let Data { source, from: 0, is_last: true, .. } = &data else { return Some(data) };
    if source.extents.is_some() || !straight::is_free() {
        return Some(data);
    }
    let file = source.file.as_fd();
    let is_read = straight::read_at(file, target, 0).is_ok_and(|read| read == target.len());
    let is_same = |now: Status| (now.status_changed_at(), now.bytes()) == (source.ctime, source.size);
    if !is_read || !straight::status_of(file).is_ok_and(is_same) {
        return Some(data);
    }
    if let Some(Source { file, .. }) = Arc::into_inner(data.source) {
        // What was only read has nothing to tell.
        let _closed = straight::close(file.into());
    }
    None
}

/// Reads data into their place. A file that cannot be read any more is filled up with zeros: its header has told its size.
fn fill(Data { source, from, is_last, .. }: &Data, target: &mut [u8], told: &mut Told) {
    match source.read(*from, target) {
        Ok(missing) => {
            // ORDER: as below.
            let is_told = missing.is_none() || source.shrank.swap(true, Ordering::Relaxed);
            let shrank = missing.filter(|_| !is_told);
            let shrank = shrank.map(|missing_bytes| Event::Shrank { path: source.path.clone(), missing_bytes });
            told.extend(shrank);
            // Whatever else changed shows at the end, and is told once.
            if *is_last && missing.is_none() {
                told.extend(source.change());
            }
        }
        Err(cause) => {
            target.fill(0);
            // ORDER: whichever chunk is first tells; nothing else depends on it.
            if !source.failed.swap(true, Ordering::Relaxed) {
                told.push(Event::NotArchived { path: source.path.clone(), operation: Operation::Read, cause });
            }
        }
    }
}

impl Layout<'_> {
    /// Lays out one more member, or the end.
    fn lay_out(&mut self, what: &Creation<'_>, told: &mut Told, turn: &mut CutTurn<'_>) {
        let from = self.known.len();
        let Some(Found { operand, path, mut member, data }) = self.walk.next(told, turn, what.confirm) else {
            self.ended = true;
            self.walk.missing_links(told);
            end_archive(self.laid_out, &mut self.known);
            self.put(Segment::Bytes(self.known.len() - from));
            return;
        };
        if let Err(cause) = begin_member(&member, what.style, &mut self.known) {
            self.known.truncate(from);
            self.walk.forget_last();
            told.push(Event::Unfit { path: member.path, cause });
            return;
        }
        let stored_bytes = member.stored_bytes;
        member.header_offset = self.laid_out;
        let (noted, shown) = match what.members {
            Members::Shown => (self.notes.are_kept().then(|| member.clone()), Some(Box::new(member))),
            Members::Counted => (Some(member), None),
        };
        if let Some(member) = noted {
            self.notes.add(self.laid_out, member, &self.known[from..], what.style);
        }
        self.put(Segment::Bytes(self.known.len() - from));
        let is_read_now = |data: &Arc<Source>| data.open_now() > what.open_files && stored_bytes <= SMALL_BYTES;
        if let Some(source) = data.as_ref().filter(|data| is_read_now(data)) {
            let bytes = stored_bytes as usize;
            let (from, padded_bytes) = (self.known.len(), padded(stored_bytes) as usize);
            self.known.resize(from + padded_bytes, 0);
            let data = Data { source: Arc::clone(source), from: 0, bytes, is_last: true };
            fill(&data, &mut self.known[from..from + bytes], told);
            self.put(Segment::Bytes(padded_bytes));
        } else if let Some(source) = data {
            let mut left = stored_bytes;
            let mut from = 0;
            while left > 0 {
                // A segment's length is a usize on all machines.
                let bytes = left.min(1 << 30);
                left -= bytes;
                let is_last = left == 0;
                self.put(Segment::Data(Data { source: Arc::clone(&source), from, bytes: bytes as usize, is_last }));
                from += bytes;
            }
            self.put(Segment::Zeros((padded(stored_bytes) - stored_bytes) as usize));
        }
        match (shown, told.last_mut()) {
            (Some(member), _) => told.push(Event::Taken { operand, path, member }),
            (None, Some(Event::Counted(members))) => *members += 1,
            (None, _) => told.push(Event::Counted(1)),
        }
    }

    /// How much the next chunk takes: up to where the last member begins that leaves it no less than half full.
    fn next_border(&self, chunk_bytes: usize) -> usize {
        let from = self.laid_out - self.ahead_bytes;
        let half_full = chunk_bytes as u64 / 2..=chunk_bytes as u64;
        let border = self.notes.borders().map(|at| at - from).find(|border| half_full.contains(border));
        border.map_or(chunk_bytes, |border| border as usize)
    }

    fn put(&mut self, segment: Segment) {
        let bytes = segment.len() as u64;
        self.ahead_bytes += bytes;
        self.laid_out += bytes;
        match (self.ahead.back_mut(), segment) {
            (Some(Segment::Bytes(last)), Segment::Bytes(more)) => *last += more,
            (_, segment) if bytes > 0 => self.ahead.push_back(segment),
            _ => {}
        }
    }

    /// Moves up to `chunk_bytes` to a chunk; returns how much that is.
    fn take(&mut self, chunk_bytes: usize, chunk: &mut ArchiveChunk) -> usize {
        let from = self.laid_out - self.ahead_bytes;
        let (mut taken, mut known) = (0, 0);
        while let Some(segment) = first_segment(&mut self.ahead, chunk_bytes - taken) {
            taken += segment.len();
            known += if matches!(segment, Segment::Bytes(_)) { segment.len() } else { 0 };
            chunk.segments.push_back(segment);
        }
        // The memory goes back and forth.
        chunk.known.clear();
        chunk.known.extend_from_slice(&self.known[known..]);
        std::mem::swap(&mut chunk.known, &mut self.known);
        chunk.known.truncate(known);
        chunk.known_read = 0;
        self.ahead_bytes -= taken as u64;
        self.notes.take(from, from + taken as u64, &mut chunk.notes);
        taken
    }
}

/// Takes up to `bytes` of what is first in a row.
fn first_segment(row: &mut VecDeque<Segment>, bytes: usize) -> Option<Segment> {
    let segment = if bytes > 0 { row.pop_front()? } else { return None };
    if segment.len() <= bytes {
        return Some(segment);
    }
    let (first, rest) = segment.split(bytes);
    row.push_front(rest);
    Some(first)
}

impl ArchiveChunk {
    /// Reads its next `bytes`, which take the place of those that were read before.
    fn read(&mut self, bytes: usize) {
        self.plain.clear();
        self.plain.reserve_about(bytes);
        let mut room = self.plain.room(bytes);
        while let Some(segment) = first_segment(&mut self.segments, room.len()) {
            let (target, rest) = std::mem::take(&mut room).split_at_mut(segment.len());
            room = rest;
            match segment {
                Segment::Bytes(count) => {
                    target.copy_from_slice(&self.known[self.known_read..][..count]);
                    self.known_read += count;
                }
                Segment::Zeros(_) => target.fill(0),
                Segment::Data(data) => {
                    if let Some(data) = fill_plainly(data, target) {
                        fill(&data, target, &mut self.told);
                    }
                }
            }
        }
        self.plain.grow(bytes);
        // An archive of nothing but headers is not to be held twice.
        if self.segments.is_empty() && self.known.capacity() > PLAIN_CHUNK_BYTES {
            self.known = Vec::new();
        }
    }

    /// Reads and packs turn by turn, so that what is packed already is held no more.
    fn pack_in_pieces(
        &mut self,
        format: &'static dyn Format,
        options: &EncodeOptions,
        pause: &mut Pause<'_>,
    ) -> Result<(), CodecError> {
        self.packed.clear();
        let mut left = self.plain_bytes;
        if left == 0 {
            return Ok(());
        }
        let mut encoder = format.unit_encoder(options, left)?;
        while left > 0 {
            let bytes = left.min(PLAIN_CHUNK_BYTES);
            left -= bytes;
            self.read(bytes);
            encoder.encode(self.plain.content(), left == 0, &mut self.packed, pause)?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "create/tests.rs"]
mod tests;
