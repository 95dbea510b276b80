//! The serial part of extraction: goes from header to header and notes which data belong to which member. Copies no data: of a
//! file it notes where they stand, of a stream it hands on the blocks in which they came.

use super::data::PieceFile;
use super::name::Name;
use super::order::Order;
use super::{Choice, Chooser, Entry, Event, ExtractChunk, Item, SlicePace};
use crate::blocks::{Block, BlockSource};
use crate::member::{Kind, Member};
use crate::place::split;
use crate::read::{ReadError, Reader, Rules, Step};
use crate::source::{FileSource, Source};
use crew::pipeline::Cut;
use parking_lot::Mutex;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of data that one chunk takes out of a file: what stays in the second-level cache between being read and written.
const STRETCH_BYTES: u64 = 512 << 10;
/// Members of a chunk, where they are small.
const MEMBERS_MAX: usize = 128;
/// A chunk ends where the directory changes when it has this much: two workers then seldom make names in one directory.
const MEMBERS_WORTH_IT: usize = 12;
const BYTES_WORTH_IT: u64 = 128 << 10;
/// LIMIT: bytes of names in a chunk without data in a block, unless one alone has more; each may have a mebibyte. Those of usual archives have a tenth of this.
const NAMES_BYTES: usize = 128 << 10;
/// Bytes between two members that are rather read in vain than for another call.
const GAP_BYTES: u64 = 16 << 10;

/// An archive that is read.
pub enum Feed {
    /// A regular file that is not packed.
    File(FileSource),
    /// Whatever comes in order.
    Blocks(BlockSource),
}

impl Feed {
    /// The file, where workers can read at offsets.
    pub fn file(&self) -> Option<&Arc<File>> {
        match self {
            Self::File(source) => Some(source.file()),
            Self::Blocks(_) => None,
        }
    }

    /// Behind the end mark: what comes in order is read to its end, since a decoder finds a wrong checksum only there.
    pub fn drain(&mut self) -> Result<(), ReadError> {
        let Self::Blocks(source) = self else { return Ok(()) };
        let offset = source.position();
        source.drain().map_err(|cause| ReadError::Read { offset, cause })
    }
}

impl Source for Feed {
    fn position(&self) -> u64 {
        match self {
            Self::File(source) => source.position(),
            Self::Blocks(source) => source.position(),
        }
    }

    fn read(&mut self, target: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::File(source) => source.read(target),
            Self::Blocks(source) => source.read(target),
        }
    }

    fn skip(&mut self, bytes: u64) -> std::io::Result<u64> {
        match self {
            Self::File(source) => source.skip(bytes),
            Self::Blocks(source) => source.skip(bytes),
        }
    }
}

/// Where a member's data are.
pub enum Carry {
    /// It has none.
    Nothing,
    /// All of them in the chunk's block.
    InBlock {
        /// Where in it.
        from: usize,
        /// How many.
        bytes: usize,
    },
    /// In the archive, too many for a block.
    InArchive {
        /// Where in it.
        offset: u64,
    },
    /// Some of them in the chunk's block, others in those of other chunks.
    Piece {
        /// What the pieces make.
        file: Arc<PieceFile>,
        /// Where in the block.
        from: usize,
        /// Where among the stored bytes.
        stored_from: u64,
        /// How many.
        bytes: usize,
    },
}

impl Carry {
    /// Bytes of data that come with it.
    pub fn bytes(&self, member: &Member) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::InBlock { bytes, .. } | Self::Piece { bytes, .. } => *bytes as u64,
            Self::InArchive { .. } => member.stored_bytes,
        }
    }

    /// Whether a member begins with it.
    pub fn is_first(&self) -> bool {
        !matches!(self, Self::Piece { stored_from: 1.., .. })
    }
}

/// A member whose data are still ahead.
struct Current {
    member: Arc<Member>,
    name: Name,
    when: super::When,
    /// Bytes of its data that were handed on.
    done: u64,
    /// The chunk that was thought to take it.
    ticket: u64,
    pieces: Option<Arc<PieceFile>>,
}

/// Whether data of a member stand in the chunk's block.
fn has_data_in_block(chunk: &mut ExtractChunk) -> bool {
    let entries = chunk.entries.get_mut();
    let is_data = |entry: &Entry| matches!(entry, Entry::Item(item) if !matches!(item.carry, Carry::Nothing));
    entries.iter().any(is_data)
}

/// Whether a chunk has so much to tell that it ends.
fn has_enough_to_tell(entries: &[Entry], names_bytes: usize) -> bool {
    entries.len() >= MEMBERS_MAX || names_bytes >= NAMES_BYTES
}

fn has_data(member: &Member) -> bool {
    member.kind == Kind::Regular && member.stored_bytes > 0
}

/// Slices an archive into chunks.
pub struct Slicer<'a> {
    feed: Feed,
    reader: Reader,
    chooser: Box<dyn Chooser + 'a>,
    pace: SlicePace,
    order: Arc<Mutex<Order<'a>>>,
    ticket: u64,
    done: Arc<AtomicU64>,
    /// A member that did not fit into the chunk before, or whose data go on.
    current: Option<Current>,
    ended: bool,
    /// The archive's end was read, and not what stands behind it.
    is_to_drain: bool,
    /// Told at the next cut.
    failed: Option<ReadError>,
}

impl<'a> Slicer<'a> {
    /// From the beginning of an archive on.
    pub fn new(
        feed: Feed,
        rules: Rules,
        (chooser, pace): (Box<dyn Chooser + 'a>, SlicePace),
        order: Arc<Mutex<Order<'a>>>,
        done: Arc<AtomicU64>,
    ) -> Self {
        let reader = Reader::new(rules, &feed);
        Self {
            feed,
            reader,
            chooser,
            pace,
            order,
            ticket: 0,
            done,
            current: None,
            ended: false,
            is_to_drain: false,
            failed: None,
        }
    }

    /// The file that the archive ended inside of.
    pub fn unfinished(self) -> Option<Arc<PieceFile>> {
        self.current?.pieces
    }

    /// The next chunk.
    pub fn cut(&mut self, chunk: &mut ExtractChunk) -> Result<Cut, ReadError> {
        chunk.stretch = None;
        let from = self.feed.position();
        chunk.entries.get_mut().clear();
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if self.ended && self.current.is_none() {
            return self.cut_the_end();
        }
        let is_file = matches!(self.feed, Feed::File(_));
        let sliced = if is_file { self.cut_file(chunk) } else { self.cut_blocks(chunk) };
        if let Feed::Blocks(source) = &mut self.feed {
            // Of a member alone they have been copied.
            let has_data = self.pace == SlicePace::Gathered && has_data_in_block(chunk);
            // Where long names have ended the chunk, the next one goes on in the block.
            if has_data || source.has_left() || source.ahead().is_empty() {
                let emptied = match self.pace {
                    SlicePace::Gathered => std::mem::take(&mut chunk.block),
                    SlicePace::OneByOne => Block::default(),
                };
                let block = source.take_block(emptied);
                // Of headers alone nothing is needed any more: the names in them, which may be as long, are held already.
                match has_data {
                    true => chunk.block = block,
                    false => source.is_read(block),
                }
            }
        }
        self.ticket += 1;
        let is_empty = chunk.entries.get_mut().is_empty();
        // What stands before the damage is placed before it is told.
        match sliced {
            Err(error) if is_empty => return Err(error),
            Err(error) => self.failed = Some(error),
            Ok(()) => {}
        }
        let bytes = self.feed.position() - from;
        Ok(match (is_file, self.ended && is_empty && !self.is_to_drain) {
            (_, true) => Cut::End,
            (true, false) => Cut::Noted(bytes),
            (false, false) => Cut::Taken(bytes),
        })
    }

    /// What stands behind the archive. Read by itself, since it may be long in coming.
    fn cut_the_end(&mut self) -> Result<Cut, ReadError> {
        let from = self.feed.position();
        if std::mem::take(&mut self.is_to_drain) {
            self.feed.drain()?;
        }
        Ok(match self.feed.position() - from {
            0 => Cut::End,
            bytes => Cut::Taken(bytes),
        })
    }

    /// The next member that is taken; what is to be told goes to `entries`, and its names are counted in `names_bytes`. Where there is enough of
    /// that the search ends, if it may here.
    fn next(
        &mut self,
        entries: &mut Vec<Entry>,
        names_bytes: &mut usize,
        may_end: impl Fn(&Feed) -> bool,
    ) -> Result<Option<Current>, ReadError> {
        if let Some(mut current) = self.current.take() {
            if current.ticket != self.ticket {
                current.ticket = self.ticket;
                let mut order = self.order.lock();
                order.is_in(&current.member, self.ticket, current.when);
            }
            return Ok(Some(current));
        }
        while !self.ended {
            let mut member = match self.reader.next(&mut self.feed)? {
                Step::Member(member) => *member,
                Step::Note(note) => {
                    *names_bytes += note.path().len();
                    entries.push(Entry::Event(Some(Event::Note(note))));
                    // What is told without end must not gather without end.
                    if has_enough_to_tell(entries, *names_bytes) && may_end(&self.feed) {
                        return Ok(None);
                    }
                    continue;
                }
                Step::End => {
                    (self.ended, self.is_to_drain) = (true, true);
                    break;
                }
            };
            let (name, told) = (member.path.clone(), entries.len());
            match self.chooser.choose(&mut member, &mut |event| entries.push(Entry::Event(Some(event)))) {
                Choice::Take => {}
                Choice::PassOver => {
                    if entries.len() > told {
                        *names_bytes += name.len();
                    }
                    if has_enough_to_tell(entries, *names_bytes) && may_end(&self.feed) {
                        return Ok(None);
                    }
                    continue;
                }
                Choice::Stop => {
                    self.ended = true;
                    break;
                }
            }
            // ORDER: Acquire pairs with the Release of whoever has placed what this says is there.
            let done = self.done.load(Ordering::Acquire);
            let when = self.order.lock().when(&member, self.ticket, done);
            let name = Name::new(&name, &member.path);
            return Ok(Some(Current {
                member: Arc::new(member),
                name,
                when,
                done: 0,
                ticket: self.ticket,
                pieces: None,
            }));
        }
        Ok(None)
    }

    fn cut_file(&mut self, chunk: &mut ExtractChunk) -> Result<(), ReadError> {
        chunk.archive = self.feed.file().cloned();
        let ExtractChunk { entries, stretch, .. } = chunk;
        let entries = entries.get_mut();
        let mut directory: Option<Vec<u8>> = None;
        let mut names_bytes = 0;
        let most = if self.pace == SlicePace::OneByOne { 1 } else { MEMBERS_MAX };
        while entries.len() < most && names_bytes < NAMES_BYTES {
            let Some(current) = self.next(entries, &mut names_bytes, |_| true)? else { break };
            let member = Arc::clone(&current.member);
            let end = member.data_offset + member.stored_bytes;
            let taken = stretch.map_or(0, |(_, bytes)| bytes as u64);
            let this_directory = split(&member.path).0;
            let is_enough = entries.len() >= MEMBERS_WORTH_IT || taken >= BYTES_WORTH_IT;
            if is_enough && directory.as_deref().is_some_and(|directory| directory != this_directory) {
                self.current = Some(current);
                break;
            }
            // Before it widens the stretch: what stands before it is whole.
            if let Feed::File(source) = &mut self.feed {
                let reaches = source.reaches(end).map_err(|cause| ReadError::Read { offset: end, cause })?;
                if !reaches {
                    let name = current.name.whole(&member.path);
                    entries.push(Entry::Event(Some(Event::Taken { name, member: Arc::clone(&member) })));
                    return Err(ReadError::Truncated { offset: member.header_offset });
                }
            }
            let carry = if !has_data(&member) {
                Carry::Nothing
            } else if member.stored_bytes > STRETCH_BYTES {
                Carry::InArchive { offset: member.data_offset }
            } else {
                let (from, bytes) = stretch.unwrap_or((member.data_offset, 0));
                let gap = member.data_offset - (from + bytes as u64);
                if end - from > STRETCH_BYTES || gap > GAP_BYTES {
                    self.current = Some(current);
                    break;
                }
                *stretch = Some((from, (end - from) as usize));
                Carry::InBlock { from: (member.data_offset - from) as usize, bytes: member.stored_bytes as usize }
            };
            let is_alone = matches!(carry, Carry::InArchive { .. });
            directory = Some(this_directory.to_vec());
            names_bytes += member.path.len() + member.link.len();
            let Current { name, when, .. } = current;
            entries.push(Entry::Item(Item { member, name, carry, when, outcome: None, kept: None }));
            if is_alone {
                break;
            }
        }
        Ok(())
    }

    fn cut_blocks(&mut self, chunk: &mut ExtractChunk) -> Result<(), ReadError> {
        let entries = chunk.entries.get_mut();
        let (mut names_bytes, mut has_data_in_block) = (0, false);
        while has_data_in_block || names_bytes < NAMES_BYTES {
            let is_whole = self.pace == SlicePace::OneByOne && !entries.is_empty();
            if is_whole || self.block_is_over()? {
                break;
            }
            let Feed::Blocks(source) = &mut self.feed else { break };
            if !entries.is_empty() && self.current.is_none() && source.must_wait_for_a_header() {
                break;
            }
            // LIMIT: what one block brings to tell, where data stand in it: it is not handed on before it is read to its end.
            let may_end = |feed: &Feed| !has_data_in_block || matches!(feed, Feed::Blocks(source) if source.has_left());
            let Some(mut current) = self.next(entries, &mut names_bytes, may_end)? else { break };
            let Feed::Blocks(source) = &mut self.feed else { break };
            // Its header stood behind the border of the block that this chunk takes.
            if source.has_left() {
                self.current = Some(current);
                break;
            }
            let member = Arc::clone(&current.member);
            let has_data = has_data(&member);
            let left = member.stored_bytes - current.done;
            let bytes = left.min(source.ahead().len() as u64) as usize;
            let mut from = source.at();
            if self.pace == SlicePace::OneByOne && has_data && bytes > 0 {
                (chunk.block, from) = (source.ahead()[..bytes].to_vec().into(), 0);
            }
            let carry = if !has_data {
                Carry::Nothing
            } else if bytes == 0 {
                // Its data begin with the next block.
                self.current = Some(current);
                continue;
            } else if current.done == 0 && bytes as u64 == left {
                Carry::InBlock { from, bytes }
            } else {
                let pieces = current.pieces.get_or_insert_with(|| Arc::new(PieceFile::new(Arc::clone(&member))));
                Carry::Piece { file: Arc::clone(pieces), from, stored_from: current.done, bytes }
            };
            if has_data {
                source.advance(bytes);
                current.done += bytes as u64;
                has_data_in_block = true;
            }
            names_bytes += member.path.len() + member.link.len();
            entries.push(Entry::Item(Item {
                member,
                name: current.name.clone(),
                carry,
                when: current.when,
                outcome: None,
                kept: None,
            }));
            if has_data && (bytes as u64) < left {
                self.current = Some(current);
            }
        }
        Ok(())
    }

    /// Whether the chunk's block has been read to its end; loads one where there is none.
    fn block_is_over(&mut self) -> Result<bool, ReadError> {
        let Feed::Blocks(source) = &mut self.feed else { return Ok(true) };
        if source.has_left() {
            return Ok(true);
        }
        let is_over = source.ahead().is_empty() && source.at() > 0;
        if !is_over {
            let offset = source.position();
            let filled = source.fill().map_err(|cause| ReadError::Read { offset, cause })?;
            let ends_inside =
                |current: &&Current| has_data(&current.member) && current.done < current.member.stored_bytes;
            if !filled && let Some(current) = self.current.as_ref().filter(ends_inside) {
                return Err(ReadError::Truncated { offset: current.member.header_offset });
            }
        }
        Ok(is_over)
    }
}
