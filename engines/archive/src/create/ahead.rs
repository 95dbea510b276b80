//! Names that hands without other work look at before the walk comes to them. The names of a directory are shared out in batches between the walk
//! and those who look ahead; whoever claims a batch looks at it, the walk takes them in order. Decides what may be held; looks at nothing.

use super::choice::OperandDepth;
use super::choice::Sort;
use super::data::Counted;
use super::look::{At, Look, Looked, When};
use super::scope::Scope;
use files::Directory;
use parking_lot::{Condvar, Mutex};
use rustix::fs::FileType;
use std::collections::BTreeMap;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// Files that are looked at in one go. A directory ends a batch: what stands behind it is far away.
const BATCH: usize = 32;

/// LIMIT: names that were looked at and that the walk has not come to, and names of directories that were read before their turn.
const LOOKED_MAX: usize = 1 << 10;
const LISTED_MAX: usize = 64 << 10;

/// LIMIT: bytes of files between what is read and what is looked at ahead. Looking is not what they wait for, and who sees a file
/// long before its turn may see what it is no more.
const BYTES_MAX: u64 = 16 << 20;
const BATCH_BYTES_MAX: u64 = 1 << 20;

/// LIMIT: directories in one another in which anybody looks ahead: an order's length is their number.
const DEPTH_MAX: usize = 32;

/// LIMIT: directories that the walk holds open, the deepest ones, beside the uppermost ones in which somebody still looks ahead. One that was closed is found
/// again from the one in it.
const LEVELS_OPEN_MAX: usize = 64;

/// LIMIT: places of listings, of which the walk may have come to the end of all but some thousand.
const PLACES_MAX: usize = 4 << 10;

/// What was looked at longer ago may be another thing by now, and is looked at again.
const FRESH: Duration = Duration::from_secs(1);

/// Where in the tree a directory stands: which name of each directory above it is the way to it. As words they come in the walk's order.
type Order = Vec<usize>;

/// Looks that can be done ahead, and what has been done.
pub(super) struct Ahead {
    /// Whether anybody looks ahead.
    is_on: bool,
    open_max: usize,
    open: Arc<AtomicUsize>,
    looked: Arc<AtomicUsize>,
    listed: Arc<AtomicUsize>,
    /// Bytes, in KiB, of files that were looked at, and of those that the walk has come to and that are still to be read.
    looked_kib: Arc<AtomicUsize>,
    laid_out: AtomicU64,
    /// Names that nobody has claimed.
    unclaimed: Arc<AtomicUsize>,
    /// By the next name in each that nobody had claimed when it was put here.
    listings: Mutex<BTreeMap<Order, Weak<Listing>>>,
}

/// The names in a directory, shared out.
pub(super) struct Listing {
    names: Names,
    /// Where it is, for those who look ahead.
    shared: Option<Shared>,
    claims: Mutex<Claims>,
    has_been_looked: Condvar,
}

struct Shared {
    directory: Arc<OwnedFd>,
    path: Vec<u8>,
    device: u64,
    scope: Scope,
    order: Order,
    unclaimed: Arc<AtomicUsize>,
}

#[derive(Default)]
struct Claims {
    /// The first name that nobody has claimed.
    next: usize,
    /// The first name that the walk has not taken.
    to_take: usize,
    /// What those who look ahead have looked at, by its first name; none where they could not.
    looked: BTreeMap<usize, Option<Batch>>,
}

/// What was looked at in one go, in the order of names.
pub(super) struct Batch {
    looked: std::vec::IntoIter<Looked>,
    since: Instant,
    _counted: Option<[Counted; 2]>,
}

impl Batch {
    /// Nothing.
    pub fn empty() -> Self {
        Self { looked: Vec::new().into_iter(), since: Instant::now(), _counted: None }
    }

    /// The next.
    pub fn next(&mut self) -> Option<Looked> {
        self.looked.next()
    }

    /// Whether there is nothing in it any more.
    pub fn is_over(&self) -> bool {
        self.looked.len() == 0
    }

    /// Whether it can be believed.
    pub fn is_fresh(&self) -> bool {
        self.since.elapsed() < FRESH
    }
}

/// A directory whose names are looked at.
pub(super) struct Place<'a> {
    pub directory: Directory<'a>,
    /// Its name, with a slash; empty for what was named.
    pub path: &'a [u8],
    /// Its file system; none for what was named.
    pub device: Option<u64>,
    /// What is left out in it.
    pub scope: &'a Scope,
    /// Which name of each directory above it is the way to it.
    pub order: &'a [usize],
}

/// A directory whose names are shared out.
#[derive(Clone, Copy)]
pub(super) struct ListedDirectory<'a> {
    pub directory: &'a Arc<OwnedFd>,
    pub device: u64,
    pub scope: &'a Scope,
}

impl Place<'_> {
    pub fn path_of(&self, name: &[u8]) -> Vec<u8> {
        if self.device.is_some() {
            return [self.path, name].concat();
        }
        let end = name.iter().rposition(|&byte| byte != b'/').map_or(name.len().min(1), |last| last + 1);
        name[..end].to_vec()
    }
}

impl Ahead {
    /// Where no more than `open_max` files should be open.
    pub fn new(is_on: bool, open_max: usize) -> Self {
        Self {
            is_on,
            open_max,
            open: Arc::default(),
            looked: Arc::default(),
            listed: Arc::default(),
            looked_kib: Arc::default(),
            laid_out: AtomicU64::new(0),
            unclaimed: Arc::default(),
            listings: Mutex::default(),
        }
    }

    /// One more open file.
    pub fn count_open(&self) -> Counted {
        Counted::among(&self.open, 1)
    }

    /// The names of a directory, read before its turn.
    pub fn count_listed(&self, names: usize) -> Counted {
        Counted::among(&self.listed, names)
    }

    /// LIMIT: directories in one another that the walk may hold open, as far as descriptors are enough for that.
    pub fn levels_open_max(&self) -> usize {
        (self.open_max / 4).clamp(1, LEVELS_OPEN_MAX)
    }

    /// Directories in one another in which anybody looks ahead, and holds them open.
    pub fn depth_max(&self) -> usize {
        (self.open_max / 8).min(DEPTH_MAX)
    }

    /// Whether no file should be opened before its turn: half of them are for what has been laid out.
    pub fn has_too_much_open(&self) -> bool {
        self.open.load(Ordering::Relaxed) >= self.open_max / 2
    }

    /// Whether there is anything to look at.
    pub fn has_some(&self) -> bool {
        // ORDER: counts of their own; a moment's error is one batch more or less.
        self.unclaimed.load(Ordering::Relaxed) > 0
            && self.looked.load(Ordering::Relaxed) < LOOKED_MAX
            && !self.has_listed_enough()
            && self.bytes_ahead() < BYTES_MAX
            && !self.has_too_much_open()
    }

    /// Whether as many names of directories are held as are to be before their turn.
    pub fn has_listed_enough(&self) -> bool {
        self.listed.load(Ordering::Relaxed) >= LISTED_MAX
    }

    /// Notes how many bytes the walk has come to that are still to be read.
    pub fn note_laid_out(&self, bytes: u64) {
        self.laid_out.store(bytes, Ordering::Relaxed);
    }

    fn bytes_ahead(&self) -> u64 {
        let looked = (self.looked_kib.load(Ordering::Relaxed) as u64) << 10;
        looked.saturating_add(self.laid_out.load(Ordering::Relaxed))
    }

    /// The names of the directory `at`, for everybody.
    pub fn list(&self, names: Names, at: &At<'_>, path: &[u8], inside: ListedDirectory<'_>) -> Option<Arc<Listing>> {
        if names.len() == 0 {
            return None;
        }
        let depth = at.place.device.map_or(0, |_| at.place.order.len() + 1);
        let shared = (self.is_on && depth < self.depth_max()).then(|| {
            let order = match at.place.device {
                None => Vec::new(),
                Some(_) => [at.place.order, &[at.index]].concat(),
            };
            let slash: &[u8] = if path.ends_with(b"/") { b"" } else { b"/" };
            // ORDER: as in `has_some`.
            self.unclaimed.fetch_add(names.len(), Ordering::Relaxed);
            Shared {
                directory: Arc::clone(inside.directory),
                path: [path, slash].concat(),
                device: inside.device,
                scope: inside.scope.clone(),
                order,
                unclaimed: Arc::clone(&self.unclaimed),
            }
        });
        let listing = Arc::new(Listing { names, shared, claims: Mutex::default(), has_been_looked: Condvar::new() });
        self.offer(&listing, 0);
        Some(listing)
    }

    fn offer(&self, listing: &Arc<Listing>, next: usize) {
        if let Some(shared) = &listing.shared {
            let order = [shared.order.as_slice(), &[next]].concat();
            let mut listings = self.listings.lock();
            if listings.len() >= PLACES_MAX {
                listings.retain(|_, listing| listing.strong_count() > 0);
            }
            listings.insert(order, Arc::downgrade(listing));
        }
    }

    /// Looks at what the walk will come to first. False where there was nothing to look at.
    pub fn look(&self, look: &Look<'_>) -> bool {
        let Some(mut claim) = self.has_some().then(|| self.claim()).flatten() else { return false };
        let Some(Shared { directory, path, device, scope, order, .. }) = &claim.listing.shared else { return false };
        let place = Place { directory: Directory::of(directory), path, device: Some(*device), scope, order };
        let names = Counted::among(&self.looked, claim.range.len());
        let mut batch = claim.listing.look_at(claim.range.clone(), &place, look);
        let bytes: u64 = batch.looked.as_slice().iter().map(Looked::bytes).sum();
        batch._counted = Some([names, Counted::among(&self.looked_kib, (bytes >> 10) as usize)]);
        claim.batch = Some(batch);
        true
    }

    fn claim(&self) -> Option<Claim> {
        let mut listings = self.listings.lock();
        while let Some((mut order, listing)) = listings.pop_first() {
            let Some(listing) = listing.upgrade() else { continue };
            let (thought, next) = (order.pop(), listing.claims.lock().next);
            if next == listing.names.len() {
                continue;
            }
            if thought != Some(next) {
                // The walk has claimed some itself.
                order.push(next);
                listings.insert(order, Arc::downgrade(&listing));
                continue;
            }
            let range = listing.claim(&mut listing.claims.lock());
            if range.end < listing.names.len() {
                order.push(range.end);
                listings.insert(order, Arc::downgrade(&listing));
            }
            return Some(Claim { listing, range, batch: None });
        }
        None
    }
}

/// A batch that somebody who looks ahead has claimed. The walk, which may wait for it, is told of the end of it, also while a panic unwinds.
struct Claim {
    listing: Arc<Listing>,
    range: Range<usize>,
    batch: Option<Batch>,
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.listing.claims.lock().looked.insert(self.range.start, self.batch.take());
        self.listing.has_been_looked.notify_all();
    }
}

impl Listing {
    /// The next batch, for the walk; none when it has had all.
    pub fn take(&self, place: &Place<'_>, look: &Look<'_>) -> Option<Batch> {
        let mut claims = self.claims.lock();
        let from = claims.to_take;
        if from == self.names.len() {
            return None;
        }
        let (range, batch) = if claims.next == from {
            (self.claim(&mut claims), None)
        } else {
            let mut has_more = true;
            let batch = loop {
                match claims.looked.remove(&from) {
                    Some(batch) => break batch,
                    // Somebody is looking at it just now: a nap would last longer than that.
                    None if has_more => {
                        drop(claims);
                        has_more = look.ahead.look(look);
                        claims = self.claims.lock();
                    }
                    None => self.has_been_looked.wait(&mut claims),
                }
            };
            (self.names.batch_from(from), batch)
        };
        claims.to_take = range.end;
        drop(claims);
        Some(batch.unwrap_or_else(|| self.look_at(range, place, look)))
    }

    /// Claims the next batch that nobody has.
    fn claim(&self, claims: &mut Claims) -> Range<usize> {
        let range = self.names.batch_from(claims.next);
        claims.next = range.end;
        if let Some(shared) = &self.shared {
            // ORDER: as in `Ahead::has_some`.
            shared.unclaimed.fetch_sub(range.len(), Ordering::Relaxed);
        }
        range
    }

    fn look_at(&self, range: Range<usize>, place: &Place<'_>, look: &Look<'_>) -> Batch {
        let mut bytes = 0;
        let looked = range.filter_map(|index| {
            let (name, is_file) = self.names.at(index);
            let at = At { place, name, index, is_file, depth: OperandDepth::Whole };
            let looked = if bytes < BATCH_BYTES_MAX { look.at(&at, When::Ahead) } else { Some(at.later()) };
            bytes += looked.as_ref().map_or(0, Looked::bytes);
            looked
        });
        let looked = looked.collect::<Vec<_>>().into_iter();
        Batch { looked, since: Instant::now(), _counted: None }
    }

    /// Whether the walk has had all.
    pub fn is_over(&self) -> bool {
        self.claims.lock().to_take == self.names.len()
    }
}

impl Drop for Listing {
    fn drop(&mut self) {
        let left = self.names.len() - self.claims.lock().next;
        if let Some(shared) = &self.shared {
            shared.unclaimed.fetch_sub(left, Ordering::Relaxed);
        }
    }
}

/// The names in a directory, one behind the other: a directory may have a million of them.
#[derive(Default)]
pub(super) struct Names {
    bytes: Vec<u8>,
    names: Vec<Name>,
}

/// A name in a directory.
struct Name {
    from: usize,
    ino: u64,
    /// LIMIT: the kernel's own: a name has 255 bytes at most.
    bytes: u8,
    kind: FileType,
}

impl Name {
    fn of<'n>(&self, bytes: &'n [u8]) -> &'n [u8] {
        &bytes[self.from..self.from + usize::from(self.bytes)]
    }
}

impl Names {
    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn push(&mut self, name: &[u8], ino: u64, kind: FileType) -> Result<(), std::num::TryFromIntError> {
        self.names.push(Name { from: self.bytes.len(), ino, bytes: u8::try_from(name.len())?, kind });
        self.bytes.extend_from_slice(name);
        Ok(())
    }

    pub fn sort(&mut self, sort: Sort) {
        let Self { bytes, names } = self;
        match sort {
            Sort::Name => names.sort_unstable_by(|one, other| one.of(bytes).cmp(other.of(bytes))),
            Sort::Inode => names.sort_unstable_by_key(|name| name.ino),
            Sort::None => {}
        }
    }

    /// A name, and whether the directory says that it is a regular file.
    fn at(&self, index: usize) -> (&[u8], bool) {
        let name = &self.names[index];
        (name.of(&self.bytes), name.kind == FileType::RegularFile)
    }

    /// What is looked at in one go from there on: files, up to the first that may be a directory.
    fn batch_from(&self, from: usize) -> Range<usize> {
        let ahead = &self.names[from..];
        let files =
            ahead.iter().take(BATCH).take_while(|name| !matches!(name.kind, FileType::Directory | FileType::Unknown));
        let files = files.count();
        from..from + (files + 1).min(BATCH).min(ahead.len())
    }
}

#[cfg(test)]
#[path = "ahead_tests.rs"]
mod tests;
