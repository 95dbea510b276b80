//! Checking files: each is a lane that is cut into chunks of pages; workers read and judge them, and their counts are added up in order.
//! Pages that do not pass are read again when the file ends. Says nothing; outcomes go to a listener.

use crate::census::PageCensus;
use crate::judge::{PageVerdict, judge};
use crate::outcome::{CorruptPage, FileDefect, FileOutcome, LISTED_MAX, PageCounts, UnreadablePage};
use crate::page::PageType;
use crate::recheck::{Rechecked, recheck, stays};
use crate::tablespace::{OpenError, Tablespace};
use crew::budget::Lease;
use crew::measures::Measures;
use crew::pipeline::{By, Cut, CutTurn, OpenLane, Pause, Staffing, Stages, run};
use crew::tally::Tally;
use files::Moment;
use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes that a worker takes at a time. Smaller costs turns at the pipeline's lock, larger makes the ends of files uneven; with
/// whole extents a chunk never needs two pages with descriptors.
pub const CHUNK_BYTES: u64 = 1 << 20;

/// Bytes read at once, and judged while they are in the core's second cache. A page of 64 KiB fits. Chosen in docs/journal/0021-innodb-pages.md.
const READ_BYTES: usize = 128 << 10;

/// What is to be checked, and how.
pub struct PageCheck<'a> {
    /// The files.
    pub files: &'a [PathBuf],
    /// Whether types and indexes are counted.
    pub takes_census: bool,
    /// Takes what came of each file, by its number; in any order, from any thread.
    pub on_file: &'a (dyn Fn(usize, Result<FileOutcome, OpenError>) + Sync),
}

/// Checks all files, and returns what was measured.
pub fn check(what: &PageCheck<'_>, staffing: &Staffing, lease: &dyn Lease, tally: &Tally) -> Measures {
    run(what, staffing, lease, tally)
}

/// Bytes that a run holds for each worker and each slot: what it reads into, a page with descriptors, and the counts of a chunk.
pub fn held_bytes(staffing: &Staffing) -> u64 {
    let worker = READ_BYTES + crate::page::PAGE_BYTES_MAX;
    (staffing.width * worker + staffing.slots.given * size_of::<Chunk>()) as u64
}

/// Where a file's next chunk begins.
pub struct PageSource {
    space: Arc<Tablespace>,
    next: u32,
}

/// What a file has come to.
pub struct PageSink {
    space: Arc<Tablespace>,
    began: Option<Moment>,
    found: Mutex<Found>,
}

/// Pages one behind the other, and what they turned out to be.
#[derive(Default)]
pub struct Chunk {
    space: Option<Arc<Tablespace>>,
    /// In the file, not in the tablespace.
    first: u32,
    pages: u32,
    found: Found,
}

#[derive(Default)]
struct Found {
    counts: PageCounts,
    suspects: Vec<CorruptPage>,
    unreadable: Vec<UnreadablePage>,
    census: PageCensus,
    /// Pages that were there when the file was opened, and are not any more.
    gone: u64,
}

/// What a worker keeps: room for pages, and the descriptors that it needed last.
pub struct CheckScratch {
    pages: Vec<u8>,
    descriptors: Option<Descriptors>,
}

struct Descriptors {
    space: Arc<Tablespace>,
    first: u32,
    map: Option<Vec<u8>>,
}

impl Stages for PageCheck<'_> {
    type Source = PageSource;
    type Sink = PageSink;
    type Chunk = Chunk;
    type Scratch = CheckScratch;
    type Error = OpenError;

    fn new_chunk(&self) -> Chunk {
        Chunk::default()
    }

    fn new_scratch(&self) -> CheckScratch {
        CheckScratch { pages: vec![0; READ_BYTES], descriptors: None }
    }

    fn lanes(&self) -> usize {
        self.files.len()
    }

    fn lanes_share_one_sink(&self) -> bool {
        false
    }

    fn tasks_are_brief(&self) -> bool {
        true
    }

    fn open(&self, lane: usize) -> Result<OpenLane<Self>, OpenError> {
        let space = Arc::new(Tablespace::open(&self.files[lane])?);
        let (began, found) = (changed(&space), Mutex::default());
        let source = PageSource { space: Arc::clone(&space), next: 0 };
        Ok(OpenLane { source, sink: PageSink { space, began, found }, reading: By::Workers, writing: By::Workers })
    }

    fn cut(&self, source: &mut PageSource, chunk: &mut Chunk, _turn: &mut CutTurn<'_>) -> Result<Cut, OpenError> {
        let (pages, page_bytes) = (source.space.pages(), source.space.page_bytes());
        if source.next >= pages {
            return Ok(Cut::End);
        }
        // A later file of a system tablespace may begin in the middle of an extent.
        let chunk_pages = (CHUNK_BYTES / page_bytes) as u32;
        let into = source.space.first_page().wrapping_add(source.next) % chunk_pages;
        chunk.pages = (chunk_pages - into).min(pages - source.next);
        chunk.first = source.next;
        chunk.space = Some(Arc::clone(&source.space));
        chunk.found = Found::default();
        source.next += chunk.pages;
        Ok(Cut::Noted(u64::from(chunk.pages) * page_bytes))
    }

    fn fetch(&self, _chunk: &mut Chunk) -> Result<(), OpenError> {
        Ok(())
    }

    fn work(&self, scratch: &mut CheckScratch, chunk: &mut Chunk, pause: &mut Pause<'_>) -> Result<(), OpenError> {
        let Some(space) = chunk.space.take() else { return Ok(()) };
        let at_once = (READ_BYTES as u64 / space.page_bytes()) as u32;
        let end = chunk.first + chunk.pages;
        let mut next = chunk.first;
        while next < end {
            let pages = at_once.min(end - next);
            self.look(&space, scratch, next, pages, &mut chunk.found);
            next += pages;
            pause.point();
        }
        Ok(())
    }

    fn place(&self, sink: &PageSink, chunk: &mut Chunk) -> Result<(), OpenError> {
        sink.found.lock().add(std::mem::take(&mut chunk.found));
        Ok(())
    }

    fn write(&self, _sink: &PageSink, _chunk: &mut Chunk) -> Result<u64, OpenError> {
        Ok(0)
    }

    fn interrupt(&self, _sink: &PageSink) {}

    fn close(&self, lane: usize, ends: Option<(PageSource, PageSink)>, outcome: Result<(), OpenError>) {
        let outcome = match (ends, outcome) {
            (Some((_, sink)), Ok(())) => self.conclude(sink),
            (_, Err(error)) => Err(error),
            (None, Ok(())) => return,
        };
        (self.on_file)(lane, outcome);
    }

    fn stage_names(&self) -> [&'static str; 3] {
        ["list", "read and check", "add up"]
    }
}

impl PageCheck<'_> {
    /// Reads pages and judges them. If the kernel cannot read them all, they are read one by one.
    fn look(&self, space: &Arc<Tablespace>, scratch: &mut CheckScratch, first: u32, pages: u32, found: &mut Found) {
        let page_bytes = space.page_bytes() as usize;
        let number = space.first_page().wrapping_add(first);
        let mut buffer = std::mem::take(&mut scratch.pages);
        let room = &mut buffer[..pages as usize * page_bytes];
        match space.read(number, room) {
            Ok(filled) => {
                let whole = filled / page_bytes;
                found.gone += u64::from(pages) - whole as u64;
                for (index, page) in room.chunks_exact(page_bytes).take(whole).enumerate() {
                    self.judge(space, scratch, page, number.wrapping_add(index as u32), found);
                }
            }
            Err(cause) if pages == 1 => {
                found.counts.unreadable += 1;
                if found.unreadable.len() < LISTED_MAX {
                    found.unreadable.push(UnreadablePage { number, offset: space.offset_of(number), cause });
                }
            }
            Err(_one_of_them) => {
                scratch.pages = buffer;
                (first..first + pages).for_each(|page| self.look(space, scratch, page, 1, found));
                return;
            }
        }
        scratch.pages = buffer;
    }

    fn judge(&self, space: &Arc<Tablespace>, scratch: &mut CheckScratch, page: &[u8], number: u32, found: &mut Found) {
        let counts = &mut found.counts;
        if space.is_doublewrite(number) {
            counts.doublewrite += 1;
            return;
        }
        if scratch.is_free(space, number) {
            counts.free += 1;
            return;
        }
        match judge(page, number, space.facts()) {
            PageVerdict::Good => counts.good += 1,
            PageVerdict::Zero => {
                counts.zero += 1;
                return;
            }
            PageVerdict::NotCheckable(reason) => *counts.not_checkable.entry(reason).or_default() += 1,
            PageVerdict::Corrupt(mismatches) => {
                counts.corrupt += 1;
                let (offset, type_name) = (space.offset_of(number), PageType::of(page).name());
                found.suspects.push(CorruptPage { number, offset, type_name, mismatches });
                return;
            }
        }
        if self.takes_census {
            found.census.count(page, space.facts().layout.format);
        }
    }

    /// A whole file in one go.
    fn all_at_once(&self, space: &Arc<Tablespace>) -> Found {
        let (mut scratch, mut found) = (self.new_scratch(), Found::default());
        let at_once = (READ_BYTES as u64 / space.page_bytes()) as u32;
        let mut next = 0;
        while next < space.pages() {
            let pages = at_once.min(space.pages() - next);
            let mut part = Found::default();
            self.look(space, &mut scratch, next, pages, &mut part);
            found.add(part);
            next += pages;
        }
        found
    }

    /// The end of a file.
    fn conclude(&self, sink: PageSink) -> Result<FileOutcome, OpenError> {
        let PageSink { mut space, began, found } = sink;
        let mut found = found.into_inner();
        if space.is_blank() && !found.suspects.is_empty() {
            // A server has begun to write to it meanwhile.
            space = Arc::new(Tablespace::open(space.path())?);
            found = self.all_at_once(&space);
        }
        let server = space.server();
        let is_live = || server.is_some() || changed(&space) != began;
        let rechecked = recheck(&space, std::mem::take(&mut found.suspects), &is_live);
        let read_again = found.settle(&rechecked);
        let facts = space.facts();
        Ok(FileOutcome {
            space_id: facts.space_id,
            format: if space.is_blank() { "only zeros" } else { facts.layout.format.name() },
            page_bytes: space.page_bytes(),
            logical_bytes: facts.layout.logical_bytes as u64,
            first_page: space.first_page(),
            has_header: space.has_header(),
            server,
            defects: defects(&space, &found, &is_live),
            counts: found.counts,
            corrupt: rechecked.corrupt,
            unreadable: found.unreadable,
            read_again,
            census: self.takes_census.then_some(found.census),
        })
    }
}

impl CheckScratch {
    fn is_free(&mut self, space: &Arc<Tablespace>, number: u32) -> bool {
        let first = number - number % space.facts().layout.described_pages();
        let is_known = |known: &Descriptors| known.first == first && Arc::ptr_eq(&known.space, space);
        if !self.descriptors.as_ref().is_some_and(is_known) {
            // Without them every page counts as one that is in use.
            let map = space.free_map(first).unwrap_or_default();
            self.descriptors = Some(Descriptors { space: Arc::clone(space), first, map });
        }
        let map = self.descriptors.as_ref().and_then(|known| known.map.as_deref());
        map.is_some_and(|map| space.is_free(map, number))
    }
}

impl Found {
    fn add(&mut self, other: Self) {
        self.counts.add(&other.counts);
        self.census.add(&other.census);
        self.gone += other.gone;
        let room = LISTED_MAX - self.suspects.len().min(LISTED_MAX);
        self.suspects.extend(other.suspects.into_iter().take(room));
        let room = LISTED_MAX - self.unreadable.len().min(LISTED_MAX);
        self.unreadable.extend(other.unreadable.into_iter().take(room));
    }

    /// Moves pages that passed the second time to where they belong. Returns how many there were.
    fn settle(&mut self, rechecked: &Rechecked) -> u64 {
        let Rechecked { good, zero, free, gone, not_checkable, .. } = rechecked;
        let passed = good + zero + free + gone + not_checkable.len() as u64;
        self.counts.good += good;
        self.counts.zero += zero;
        self.counts.free += free;
        self.counts.corrupt -= passed;
        self.gone += gone;
        for reason in not_checkable {
            *self.counts.not_checkable.entry(*reason).or_default() += 1;
        }
        passed
    }
}

/// When a file was last written to, as far as its status says.
fn changed(space: &Tablespace) -> Option<Moment> {
    space.changed_at().ok()
}

/// Defects of a file as a whole. A server that grows or shrinks it meanwhile is believed.
fn defects(space: &Tablespace, found: &Found, is_live: &dyn Fn() -> bool) -> Vec<FileDefect> {
    let mut defects = Vec::new();
    // A file whose status cannot be read has no defect here: the verdicts on its pages are worth more than an error.
    let Ok(now) = space.bytes_now() else { return defects };
    let page_bytes = space.page_bytes();
    if now % page_bytes != 0 && space.rest_bytes() != 0 {
        let page = space.first_page().wrapping_add((now / page_bytes) as u32);
        defects.push(FileDefect::CutOff { page, bytes: now % page_bytes, page_bytes });
    }
    let pages = now / page_bytes;
    // A header that cannot be read is counted as an unreadable page. A server writes the pages of a new table in any order.
    if !space.has_server_nearby() && stays(&|| space.lacks_header().unwrap_or_default(), is_live) {
        defects.push(FileDefect::NoHeader);
    }
    match space.announced_pages().unwrap_or_default() {
        Some(expected) if expected > pages && found.gone == 0 => {
            defects.push(FileDefect::PagesMissing { found: pages, expected });
        }
        _ => {}
    }
    defects
}

#[cfg(test)]
mod tests;
