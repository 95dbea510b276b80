//! Open folders: a budget of descriptors, folders that are closed while the work is far below them and opened again only if they are still
//! the same, and lists of entries. Follows no link.

use crew::scatter::Knot;
use rustix::fs::{FileType, RawDir};
use std::ffi::{CStr, CString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use sys::entry::{self, Identity, flags};
use sys::own_table::HandedFd;

/// Folders are opened to be read, and never through a link. A FIFO or a device put in a folder's place does not make it wait.
pub const OPEN_FOLDER: i32 = flags::O_RDONLY | flags::O_DIRECTORY | flags::O_NOFOLLOW | flags::O_NONBLOCK;

/// LIMIT: the lowest levels of a chain keep their descriptors, where there are some for twice as many: siblings there are worked on next.
const LEVELS_KEPT: usize = 8;

/// How many descriptors of folders a run may hold.
#[derive(Debug)]
pub struct Descriptors {
    open: AtomicUsize,
    most: usize,
    levels_kept: usize,
}

impl Descriptors {
    /// A budget of `most`. LIMIT: it is a wish: a run whose workers are all at different places holds some a worker beyond it.
    pub fn new(most: usize) -> Self {
        Self { open: AtomicUsize::new(0), most: most.max(1), levels_kept: (most / 2).clamp(1, LEVELS_KEPT) }
    }

    fn are_short(&self) -> bool {
        // ORDER: a count of its own; a moment's error costs one descriptor.
        self.open.load(Ordering::Relaxed) >= self.most
    }
}

/// A folder of a tree: open, or closed and known well enough to be opened again.
#[derive(Debug)]
pub struct Folder {
    name: CString,
    descriptor: Mutex<Option<Arc<HandedFd>>>,
    identity: OnceLock<Identity>,
}

impl Folder {
    /// An open folder; `name` is what it is called in the folder above.
    pub fn new(name: CString, descriptor: OwnedFd, descriptors: &Descriptors) -> Self {
        descriptors.open.fetch_add(1, Ordering::Relaxed);
        Self { name, descriptor: Mutex::new(Some(Arc::new(descriptor.into()))), identity: OnceLock::new() }
    }

    /// The same, where its identity has been asked for already.
    pub fn known(name: CString, descriptor: OwnedFd, identity: Identity, descriptors: &Descriptors) -> Self {
        let folder = Self::new(name, descriptor, descriptors);
        folder.identity.get_or_init(|| identity);
        folder
    }

    /// What it is called in the folder above.
    pub fn name(&self) -> &CStr {
        &self.name
    }

    /// Its descriptor, if it is open.
    pub fn open(&self) -> Option<Arc<HandedFd>> {
        self.lock().clone()
    }

    /// Closes it for good.
    pub fn close(&self, descriptors: &Descriptors) {
        if self.lock().take().is_some() {
            descriptors.open.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Closes it, having noted which one it is.
    fn close_for_now(&self, descriptors: &Descriptors) {
        let mut descriptor = self.lock();
        let Some(open) = descriptor.as_ref() else { return };
        if self.identity.get().is_none() {
            let Ok(status) = entry::status_of(open.as_fd()) else { return };
            self.identity.get_or_init(|| status.identity());
        }
        *descriptor = None;
        descriptors.open.fetch_sub(1, Ordering::Relaxed);
    }

    /// Takes `found` as this folder's descriptor if it is this folder.
    fn is_back(&self, found: OwnedFd, descriptors: &Descriptors) -> io::Result<Arc<HandedFd>> {
        let expected = self.identity.get().copied();
        let status = entry::status_of(found.as_fd())?;
        if expected != Some(status.identity()) {
            return Err(io::Error::other("the folder was moved meanwhile"));
        }
        let found = Arc::new(HandedFd::from(found));
        if self.lock().replace(Arc::clone(&found)).is_none() {
            descriptors.open.fetch_add(1, Ordering::Relaxed);
        }
        Ok(found)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<HandedFd>>> {
        self.descriptor.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A knot's folder, opened again where it had been closed: by name from the nearest open folder above, and only if it is the same one still.
/// Those on the way are closed again where descriptors are short.
pub fn descriptor<Node>(
    knot: &Arc<Knot<Node>>,
    folder: impl Fn(&Node) -> &Folder,
    descriptors: &Descriptors,
) -> io::Result<Arc<HandedFd>> {
    if let Some(open) = folder(&knot.node).open() {
        return Ok(open);
    }
    let mut closed = vec![Arc::clone(knot)];
    let mut at = loop {
        let above = closed[closed.len() - 1].above();
        let Some(above) = above else { return Err(io::Error::other("its folder cannot be found any more")) };
        match folder(&above.node).open() {
            Some(open) => break open,
            None => closed.push(above),
        }
    };
    while let Some(knot) = closed.pop() {
        let found = entry::open_at(at.as_fd(), folder(&knot.node).name(), OPEN_FOLDER, 0)?;
        at = folder(&knot.node).is_back(found, descriptors)?;
        make_room(&knot, &folder, descriptors);
    }
    Ok(at)
}

/// After `knot` was opened: closes a folder some levels above where descriptors are short.
pub fn make_room<Node>(knot: &Arc<Knot<Node>>, folder: impl Fn(&Node) -> &Folder, descriptors: &Descriptors) {
    if !descriptors.are_short() || knot.depth <= descriptors.levels_kept {
        return;
    }
    let mut level = Arc::clone(knot);
    for _ in 0..descriptors.levels_kept {
        let Some(above) = level.above() else { return };
        level = above;
    }
    // The top stays open: everything is found from there.
    if level.depth > 0 {
        folder(&level.node).close_for_now(descriptors);
    }
}

/// Before `below` is closed: opens the closed folder above it through its `..`, which is one call instead of one a level.
pub fn open_above(below: &Folder, above: &Folder, descriptors: &Descriptors) {
    if above.open().is_some() {
        return;
    }
    if let Some(open) = below.open()
        && let Ok(found) = entry::open_at(open.as_fd(), c"..", OPEN_FOLDER, 0)
    {
        // Where the folder was moved meanwhile, its own way down will tell.
        let _another = above.is_back(found, descriptors);
    }
}

/// What a list says about an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// A folder.
    Folder,
    /// A regular file.
    File,
    /// Anything else.
    Other,
    /// LIE: some file systems do not tell.
    Unknown,
}

/// Room for one step of a list: about a thousand names.
pub type ListBuffer = Box<[MaybeUninit<u8>]>;

/// LIMIT: 32 KiB, as the C library: larger saves nothing measurable, and every step of a tree is that long.
pub fn list_buffer() -> ListBuffer {
    vec![MaybeUninit::uninit(); 32 << 10].into_boxed_slice()
}

/// LIMIT: entries of a step: a folder of fewer is one task, whose end is seen in the same step.
const STEP_ENTRIES: usize = 512;

/// Lists entries from where the descriptor stands, about a thousand at most. Whether the end was reached.
pub fn list_some(
    folder: BorrowedFd<'_>,
    buffer: &mut [MaybeUninit<u8>],
    mut each: impl FnMut(&CStr, Listed),
) -> io::Result<bool> {
    let mut list = RawDir::new(folder, buffer);
    let mut met = 0;
    loop {
        let Some(found) = list.next() else { return Ok(true) };
        let found = found?;
        let name = found.file_name();
        if name != c"." && name != c".." {
            let listed = match found.file_type() {
                FileType::Directory => Listed::Folder,
                FileType::RegularFile => Listed::File,
                FileType::Unknown => Listed::Unknown,
                _ => Listed::Other,
            };
            each(name, listed);
            met += 1;
        }
        if list.is_buffer_empty() && met >= STEP_ENTRIES {
            return Ok(false);
        }
    }
}

/// Begins a list, or a file, anew.
pub fn rewind(from: BorrowedFd<'_>) -> io::Result<()> {
    Ok(rustix::fs::seek(from, rustix::fs::SeekFrom::Start(0)).map(drop)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crew::budget::{Budget, InProcess, Priority, Request, Weight};
    use crew::scatter::{Begun, Branch, Grown, ThreadWidth, Tree};

    const LEVELS: usize = 200;
    const MOST: usize = 20;

    /// A chain of folders called `d`.
    struct Chain {
        descriptors: Descriptors,
        most_open: AtomicUsize,
    }

    impl Tree for Chain {
        type Seed = OwnedFd;
        type Node = Folder;
        type Growth = ();
        type Scratch = ();
        type Report = ();

        fn scratch(&self, _worker: usize) {}

        fn begin(
            &self,
            folder: OwnedFd,
            _above: Option<&Arc<Knot<Folder>>>,
            _: &mut Branch<'_, Self>,
        ) -> Begun<Folder, ()> {
            Begun::Node(Folder::new(c"d".to_owned(), folder, &self.descriptors), ())
        }

        fn grow(&self, knot: &Arc<Knot<Folder>>, _: &mut (), branch: &mut Branch<'_, Self>) -> Grown {
            make_room(knot, |folder| folder, &self.descriptors);
            let open = knot.node.open().expect("it was just opened");
            if knot.depth < LEVELS {
                branch.plant(entry::open_at(open.as_fd(), c"d", OPEN_FOLDER, 0).expect("the next one"));
                return Grown::Done;
            }
            // As if another worker had come back to the top meanwhile.
            let mut above = knot.above();
            while let Some(level) = above.filter(|level| level.depth > 0) {
                level.node.close_for_now(&self.descriptors);
                above = level.above();
            }
            knot.node.close_for_now(&self.descriptors);
            let found = descriptor(knot, |folder| folder, &self.descriptors).expect("it is still there");
            assert_eq!(
                entry::status_of(found.as_fd()).ok().map(|status| status.identity()),
                knot.node.identity.get().copied()
            );
            self.most_open.store(self.descriptors.open.load(Ordering::Relaxed), Ordering::Relaxed);
            Grown::Done
        }

        fn leave(&self, knot: &Knot<Folder>, _: Option<&Arc<Knot<Folder>>>, _: &mut Branch<'_, Self>) {
            knot.node.close(&self.descriptors);
        }

        fn tell(&self, _: Vec<()>) {}
    }

    #[test]
    fn a_chain_that_is_opened_again_keeps_no_more_descriptors_than_there_are() {
        let top = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(top.path().join(vec!["d"; LEVELS].join("/"))).expect("folders");
        let chain = Chain { descriptors: Descriptors::new(MOST), most_open: AtomicUsize::new(0) };
        let top = OwnedFd::from(std::fs::File::open(top.path()).expect("the top"));
        let request =
            Request { priority: Priority::Normal, weight: Weight::default(), useful_width: 1, what: String::new() };
        crew::scatter::run(&chain, vec![top], ThreadWidth { workers: 1 }, InProcess::new(1).lease(request).as_ref());
        let open = chain.most_open.load(Ordering::Relaxed);
        assert!((LEVELS_KEPT..=MOST + 1).contains(&open), "{open} are open");
        assert_eq!(chain.descriptors.open.load(Ordering::Relaxed), 0);
    }
}
