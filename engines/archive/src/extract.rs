//! Extraction as pipeline stages: headers are sliced in the source's turn, workers read data and make files, each in the directory of
//! its chunk; what depends on an earlier member waits for its turn. Theory: `engines/archive/README.md`, "Extraction".
//! Knows no options of any program; what is taken and how it is named a [`Chooser`] decides.

mod data;
mod later;
mod name;
mod order;
mod source;
mod way;

use crate::blocks::Block;
use crate::member::{Kind, Member};
use crate::operation::Operation;
use crate::place::in_progress::Unfinished;
use crate::place::{
    DirectoriesChanged, Earlier, Existing, Manner, PlaceError, Placed, Placer, Reach, Root, could_not,
    restore_directory, split,
};
use crate::read::{Note, ReadError, Rules};
use crew::budget::Lease;
use crew::measures::Measures;
use crew::pipeline::{By, Cut, CutTurn, OpenLane, Pause, Staffing, Stages, run};
use crew::tally::Tally;
use later::{Again, LaterDirectories, OPEN_MAX};
use name::Name;
use order::{Ask, Order, There, When};
use parking_lot::Mutex;
pub use source::Feed;
use source::{Carry, Slicer};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use sys::at_offset::read_full_at;

/// What happens to a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// It is extracted, under the path that it has now.
    Take,
    /// It is not.
    PassOver,
    /// Nothing behind it is wanted either.
    Stop,
}

/// How much is sliced before it is placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SlicePace {
    /// Members that stand close together, which costs least.
    #[default]
    Gathered,
    /// One member: without threads each is in its place before the chooser is asked about the next.
    OneByOne,
}

/// Decides which members are taken, and under which path. Asked in archive order.
pub trait Chooser: Send {
    /// May change the member's path, owner and whatever else; may have something to tell.
    fn choose(&mut self, member: &mut Member, tell: &mut dyn FnMut(Event)) -> Choice;
}

/// Reports, in archive order.
#[derive(Debug)]
pub enum Event {
    /// The archive's label.
    Label(Arc<Member>),
    /// A file is removed, since an incremental archive does not have it.
    Removed {
        /// Its path.
        path: Vec<u8>,
    },
    /// A file that a member replaces was renamed.
    KeptAs {
        /// Its path.
        path: Vec<u8>,
        /// The other one.
        kept: Vec<u8>,
    },
    /// A member that was taken: name in the archive, and what it became.
    Taken {
        /// Its name in the archive.
        name: Vec<u8>,
        /// It, as it was placed.
        member: Arc<Member>,
    },
    /// Something about the archive.
    Note(Note),
    /// A name keeps what is there, as was asked for.
    Stays {
        /// It.
        name: Vec<u8>,
        /// What was to be there.
        kind: Kind,
    },
    /// A member could not be placed.
    NotPlaced {
        /// Its name in the archive.
        name: Vec<u8>,
        /// Where it leads, if it is a hard link.
        link: Option<Vec<u8>>,
        /// Why.
        error: PlaceError,
    },
    /// A member was refused.
    Refused {
        /// Its name.
        name: Vec<u8>,
        /// Why, after "could not extract 'x': ".
        why: String,
    },
    /// What was taken off the front of a name.
    MadeRelative {
        /// `/`, say.
        removed: Vec<u8>,
    },
}

/// What to do.
pub struct Extraction<'a> {
    /// The archive; taken when the run begins.
    pub feed: Mutex<Option<Feed>>,
    /// How it is read.
    pub rules: Rules,
    /// Which members.
    pub chooser: Mutex<Option<Box<dyn Chooser + 'a>>>,
    /// Where to.
    pub root: &'a Root,
    /// How.
    pub manner: &'a Manner,
    /// Files under way, for signals.
    pub unfinished: &'a Unfinished,
    /// How much is sliced before it is placed.
    pub pace: SlicePace,
    /// Agrees to what an incremental archive removes, by its path.
    pub may_remove: &'a (dyn Fn(&[u8]) -> bool + Sync),
    /// Told of everything, in archive order, from one thread at a time.
    pub on_event: &'a (dyn Fn(Event) + Sync),
    /// Directories that went; starts empty.
    pub changed: &'a DirectoriesChanged,
    /// Why the archive could not be read to its end, once it is over.
    pub ended: Mutex<Option<ReadError>>,
}

/// Extracts. What could not be placed was told; why reading stopped early stands in `ended`.
pub fn extract(what: &Extraction<'_>, staffing: &Staffing, lease: &dyn Lease, tally: &Tally) -> Measures {
    run(what, staffing, lease, tally)
}

/// Far end.
pub struct ExtractSink<'a> {
    /// Places what must wait for its turn.
    placer: Mutex<Placer<'a>>,
    directories: Mutex<LaterDirectories>,
    order: Arc<Mutex<Order<'a>>>,
    /// Chunks that are done with: everything in them is on the disk.
    done: Arc<AtomicU64>,
    archive: Option<Arc<std::fs::File>>,
}

/// A chunk: members whose data stand close together.
#[derive(Default)]
pub struct ExtractChunk {
    entries: Mutex<Vec<Entry>>,
    /// Data of its members: a block of the stream, or a stretch of the file that is still to be read.
    block: Block,
    /// The stretch: where it begins, and how long it is.
    stretch: Option<(u64, usize)>,
    archive: Option<Arc<std::fs::File>>,
}

enum Entry {
    Event(Option<Event>),
    Item(Item),
}

/// A member, or a piece of one, to be placed.
struct Item {
    member: Arc<Member>,
    /// Its name in the archive.
    name: Name,
    carry: Carry,
    when: When,
    outcome: Option<Result<Placed, PlaceError>>,
    /// The name that what was there has got.
    kept: Option<Vec<u8>>,
}

impl Item {
    fn name(&self) -> Vec<u8> {
        self.name.whole(&self.member.path)
    }

    /// The bytes of a regular file, where all of them are in its chunk's block.
    fn bytes_at_hand<'b>(&self, block: &'b [u8]) -> Option<&'b [u8]> {
        match self.carry {
            Carry::InBlock { from, bytes } => Some(&block[from..from + bytes]),
            Carry::Nothing if self.member.kind == Kind::Regular => Some(&[]),
            _ => None,
        }
    }

    /// What was not to be placed yet is tried again in its turn. What came before it may be to replace what stands on its way. What found no
    /// space: halves of files behind it may have taken it, and go when they find none either; one after another, as many are placed as there is
    /// room for. Of a large file the pieces that were written are not kept for that long.
    fn wait_where_it_was_too_early(&mut self, placer: &Placer<'_>) {
        let Some(Err(error)) = &self.outcome else { return };
        let is_full = |error: &PlaceError| {
            matches!(error.cause.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
        };
        let is_piece = matches!(self.carry, Carry::Piece { .. });
        if placer.may_have_been_too_early(error) || is_full(error) && !is_piece {
            self.when = When::InTurn;
            self.outcome = None;
        }
    }
}

impl Item {
    /// Gives it the path that leads to its place through no link: what is made there is known by that to whoever comes later, and of two
    /// names of one directory the last one's metadata are in force.
    fn goes_where_links_lead(&mut self, placer: &mut Placer<'_>, sink: &ExtractSink<'_>) {
        let Some(path) = placer.path_without_links(&self.member) else { return };
        self.name = Name::new(&self.name(), &path);
        self.member = Arc::new(Member { path, ..(*self.member).clone() });
        let mut order = sink.order.lock();
        order.is_in(&self.member, sink.done.load(Ordering::Relaxed), When::InTurn);
    }
}

impl<'a> Stages for Extraction<'a> {
    type Source = Slicer<'a>;
    type Sink = ExtractSink<'a>;
    type Chunk = ExtractChunk;
    type Scratch = Placer<'a>;
    type Error = ReadError;

    fn new_chunk(&self) -> ExtractChunk {
        ExtractChunk::default()
    }

    fn new_scratch(&self) -> Placer<'a> {
        self.placer(Earlier::MayBeUnderWay)
    }

    fn lanes(&self) -> usize {
        1
    }

    fn lanes_share_one_sink(&self) -> bool {
        false
    }

    fn open(&self, _lane: usize) -> Result<OpenLane<Self>, ReadError> {
        let take = |slot: &Mutex<Option<Feed>>| slot.lock().take();
        let feed = take(&self.feed).expect("a lane is opened once");
        let chooser = self.chooser.lock().take();
        let archive = feed.file().cloned();
        let order = Order::new(self.there_before());
        // What a directory says of names comes true before those are used.
        let order = if self.manner.follows_listings { order.all_in_turn() } else { order };
        let order = Arc::new(Mutex::new(order));
        let done = Arc::new(AtomicU64::new(0));
        let chooser = chooser.expect("a lane is opened once");
        let reading = if archive.is_some() { By::Workers } else { By::OwnThread };
        Ok(OpenLane {
            source: Slicer::new(feed, self.rules, (chooser, self.pace), Arc::clone(&order), Arc::clone(&done)),
            sink: ExtractSink {
                placer: Mutex::new(self.placer(Earlier::IsThere)),
                directories: Mutex::default(),
                order,
                done,
                archive,
            },
            reading,
            writing: By::OwnThread,
        })
    }

    fn cut(
        &self,
        source: &mut Slicer<'a>,
        chunk: &mut ExtractChunk,
        _turn: &mut CutTurn<'_>,
    ) -> Result<Cut, ReadError> {
        source.cut(chunk)
    }

    fn fetch(&self, chunk: &mut ExtractChunk) -> Result<(), ReadError> {
        let (Some((offset, bytes)), Some(file)) = (chunk.stretch.take(), &chunk.archive) else { return Ok(()) };
        // Bytes of the chunk before are written over: nothing is cleared.
        let mut block = std::mem::take(&mut chunk.block).emptied();
        if block.len() < bytes {
            block.resize(bytes, 0);
        }
        let read = read_full_at(file, &mut block[..bytes], offset);
        chunk.block = block.into();
        match read.map_err(|cause| ReadError::Read { offset, cause })? {
            read if read < bytes => Err(ReadError::Truncated { offset }),
            _ => Ok(()),
        }
    }

    fn work(&self, placer: &mut Placer<'a>, chunk: &mut ExtractChunk, _: &mut Pause<'_>) -> Result<(), ReadError> {
        let entries = chunk.entries.get_mut();
        for entry in entries {
            if let Entry::Item(item) = entry
                && item.when == When::AtOnce
            {
                if item.bytes_at_hand(&chunk.block).is_some_and(|bytes| placer.plain_file(&item.member, bytes)) {
                    item.outcome = Some(Ok(Placed::Made));
                    continue;
                }
                item.outcome = place(placer, item, &chunk.block, chunk.archive.as_deref());
                item.kept = placer.take_kept();
                item.wait_where_it_was_too_early(placer);
            }
        }
        Ok(())
    }

    fn place(&self, _sink: &ExtractSink<'a>, _chunk: &mut ExtractChunk) -> Result<(), ReadError> {
        Ok(())
    }

    fn write(&self, sink: &ExtractSink<'a>, chunk: &mut ExtractChunk) -> Result<u64, ReadError> {
        let mut bytes = 0;
        let mut entries = chunk.entries.lock();
        for entry in entries.iter_mut() {
            match entry {
                Entry::Event(event) => event.take().into_iter().for_each(self.on_event),
                Entry::Item(item) => {
                    if item.when == When::InTurn {
                        let mut placer = sink.placer.lock();
                        item.goes_where_links_lead(&mut placer, sink);
                        item.outcome = match self.follow_listing(&mut placer, item) {
                            Ok(()) => place(&mut placer, item, &chunk.block, sink.archive.as_deref()),
                            Err(error) => Some(Err(error)),
                        };
                        item.kept = placer.take_kept().or(item.kept.take());
                        self.tell(sink, item);
                        self.remove_what_went(&mut placer, item);
                        bytes += item.carry.bytes(&item.member);
                        continue;
                    }
                    bytes += item.carry.bytes(&item.member);
                    self.tell(sink, item);
                }
            }
        }
        entries.clear();
        // ORDER: whoever slices next must see on the disk what this says is there: Release pairs with its Acquire.
        sink.done.fetch_add(1, Ordering::Release);
        Ok(bytes)
    }

    fn interrupt(&self, _sink: &ExtractSink<'a>) {}

    fn close(&self, _lane: usize, ends: Option<(Slicer<'a>, ExtractSink<'a>)>, outcome: Result<(), ReadError>) {
        let Some((source, sink)) = ends else { return };
        let placer = sink.placer.into_inner();
        if let Some(piece) = source.unfinished() {
            piece.abandon(&placer);
        }
        // What it holds open is not needed any more.
        drop(placer);
        self.finish_directories(sink.directories.into_inner());
        *self.ended.lock() = outcome.err();
    }

    fn stage_names(&self) -> [&'static str; 3] {
        ["slice", "extract", "finish"]
    }
}

impl<'a> Extraction<'a> {
    fn there_before(&self) -> There<'a> {
        let root = self.root;
        // Two names of one file lead two writers to it.
        let is_written_over = self.manner.existing == Existing::Overwrite;
        let has_names = is_written_over.then(|| Box::new(|path: &[u8]| root.has_other_names(path)) as Ask<'a>);
        There { is_link: self.links_there_before(), has_names }
    }

    /// None where there cannot be any: the directory that everything goes to is empty.
    fn links_there_before(&self) -> Option<Ask<'a>> {
        let root = self.root;
        let may_be_some = match root.reach() {
            Reach::Anywhere => true,
            Reach::Beneath => !root.is_empty(),
            // What lies behind one is refused.
            Reach::BeneathWithoutLinks => false,
        };
        may_be_some.then(|| Box::new(|path: &[u8]| root.has_link(path)) as Ask<'a>)
    }

    fn placer(&self, earlier: Earlier) -> Placer<'a> {
        Placer::new(self.root, self.changed, self.manner, self.unfinished, earlier)
    }

    /// Does the renames of an incremental archive's directory.
    fn follow_listing(&self, placer: &mut Placer<'_>, item: &Item) -> Result<(), PlaceError> {
        if self.manner.follows_listings { placer.follow_renames(&item.member) } else { Ok(()) }
    }

    /// Removes what is not in an incremental archive's directory any more.
    fn remove_what_went(&self, placer: &mut Placer<'_>, item: &Item) {
        if !self.manner.follows_listings || item.member.kind != Kind::Directory {
            return;
        }
        let removed = placer.remove_what_went(&item.member, &mut |path| {
            let goes = (self.may_remove)(&path);
            if goes {
                (self.on_event)(Event::Removed { path });
            }
            goes
        });
        if let Err(error) = removed {
            (self.on_event)(Event::NotPlaced { name: item.name(), link: None, error });
        }
    }

    /// Tells of a member, and notes a directory for later.
    fn tell(&self, sink: &ExtractSink<'a>, item: &mut Item) {
        if item.carry.is_first() {
            (self.on_event)(Event::Taken { name: item.name(), member: Arc::clone(&item.member) });
        }
        if let Some(kept) = item.kept.take() {
            let path = item.member.path.clone();
            let kept = [&path[..path.len() - split(&path).1.len()], &kept].concat();
            (self.on_event)(Event::KeptAs { path, kept });
        }
        let mut directories = sink.directories.lock();
        match item.outcome.take() {
            Some(Err(error)) => {
                let is_link = matches!(item.member.kind, Kind::HardLink | Kind::Symlink);
                let is_of_link = matches!(error.operation, Operation::Link | Operation::MakeLink);
                let link =
                    (is_link && is_of_link || item.member.kind == Kind::HardLink).then(|| item.member.link.clone());
                (self.on_event)(Event::NotPlaced { name: item.name(), link, error });
            }
            Some(Ok(Placed::Made)) if item.member.kind == Kind::Directory => {
                let again =
                    if self.manner.existing.gives_directories_metadata() { Again::Anew } else { Again::AsBefore };
                directories.note(&item.member, item.name.clone(), again);
            }
            Some(Ok(Placed::Made)) => directories.forget(&item.member.path),
            Some(Ok(Placed::LeftAlone)) if !matches!(item.member.kind, Kind::VolumeLabel | Kind::Continuation) => {
                (self.on_event)(Event::Stays { name: item.name(), kind: item.member.kind });
            }
            _ => {}
        }
    }

    /// Modes and times of directories.
    fn finish_directories(&self, directories: LaterDirectories) {
        let Manner { restore, umask, .. } = self.manner;
        let mut errors = Vec::new();
        // Who has descriptors for one directory alone has none for these.
        let open_max = if self.manner.open_directories > 1 { OPEN_MAX } else { 1 };
        directories.deepest_first(self.root, open_max, |later, name, directory| {
            let directory = directory.map_err(could_not(Operation::Open));
            let offset = later.header_offset;
            // A later part of the archive has renamed or removed it.
            let is_gone = |error: &PlaceError| error.cause.kind() == io::ErrorKind::NotFound;
            if self.manner.follows_listings && directory.as_ref().is_err_and(is_gone) {
                return;
            }
            let restored =
                directory.and_then(|directory| restore_directory(restore, *umask, &later.member(), directory));
            if let Err(error) = restored {
                errors.push((offset, Event::NotPlaced { name, link: None, error }));
            }
        });
        errors.sort_by_key(|(offset, _)| *offset);
        errors.into_iter().for_each(|(_, event)| (self.on_event)(event));
    }
}

/// Places one item. None: another piece of the same file has the outcome.
fn place(
    placer: &mut Placer<'_>,
    item: &Item,
    block: &[u8],
    archive: Option<&std::fs::File>,
) -> Option<Result<Placed, PlaceError>> {
    let member = &*item.member;
    if let Carry::Piece { file, from, stored_from, bytes } = &item.carry {
        return file.piece(placer, *stored_from, &block[*from..from + bytes]);
    }
    Some(match member.kind {
        Kind::Directory => placer.directory(member),
        Kind::Symlink | Kind::CharacterDevice | Kind::BlockDevice | Kind::Fifo => placer.unopened(member),
        Kind::HardLink => placer.hard_link(member),
        Kind::VolumeLabel | Kind::Continuation => Ok(Placed::LeftAlone),
        Kind::Regular => data::whole_file(placer, member, &item.carry, block, archive),
    })
}

#[cfg(test)]
#[path = "extract/tests.rs"]
mod tests;
