//! The table's file: its path, how it is created, which owner is trusted, and whether it still exists.
//! Knows the header; rows and hands belong to `row` and `hands`.

use super::layout::{
    CLAIMS_AT, CPU_SLOTS, CPUS, FILE_BYTES, GENERATION_AT, HANDS_AT, MAGIC, ROW_WORDS, ROWS, ROWS_AT, VERSION,
    VERSION_AT, WORDS, field, row_word,
};
use super::memory::Memory;
use super::row;
use rustix::fs::{AtFlags, CWD, FallocateFlags, Mode, OFlags, fallocate, fchmod, linkat, mkdirat, openat, unlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use sys::robust_mark::MarkKeeper;
use sys::shared_words::SharedWords;

/// The file's name in its directory.
/// It has the version in it, so that programs of two versions have a table each while both run.
pub const FILE_NAME: &str = "table-4";
/// Where everybody's directories are, unless one is told otherwise.
pub const SHARED_MEMORY: &str = "/dev/shm";
/// What a user's directory is called; their number follows.
pub const DIRECTORY_PREFIX: &str = "manyhands-";

/// The directory that holds a user's table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrewDirectory {
    path: PathBuf,
}

impl CrewDirectory {
    /// The usual one: `/dev/shm/manyhands-UID`.
    pub fn usual() -> Self {
        Self::of_user_in(Path::new(SHARED_MEMORY))
    }

    /// This user's directory in `parent`.
    pub fn of_user_in(parent: &Path) -> Self {
        Self { path: parent.join(format!("{DIRECTORY_PREFIX}{}", geteuid().as_raw())) }
    }

    /// Another one, which need not exist yet; its parent must.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where its table lies, if there is one.
    pub fn table(&self) -> PathBuf {
        self.path.join(FILE_NAME)
    }
}

/// Why there is no table to be had. Reads after "could not".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// A system call failed.
    #[error("{operation} '{}'", path.display())]
    System {
        /// What was tried.
        operation: &'static str,
        /// On what.
        path: PathBuf,
        /// What the kernel said.
        #[source]
        cause: io::Error,
    },
    /// Somebody else could have put it there, or could change it.
    #[error("trust '{}': {why}", path.display())]
    Untrusted {
        /// The directory or file.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// It is not a table that this program reads.
    #[error("use '{}': {why}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Every row belongs to a living run.
    #[error("find a free row in '{}': {ROWS} runs have one", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
}

/// Puts operation and path around the kernel's answer.
fn failed(operation: &'static str, path: &Path) -> impl FnOnce(Errno) -> TableError {
    let path = path.to_owned();
    move |cause| TableError::System { operation, path, cause: cause.into() }
}

/// Which thread keeps the death word of a run's row: see `sys::robust_mark`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeathWordThread {
    /// The first one of the program, where it is the one that takes the row.
    FirstThread,
    /// One that is started for it.
    OwnThread,
}

/// A table in this process's memory.
#[derive(Debug)]
pub struct MemoryTable {
    words: Arc<SharedWords>,
    path: PathBuf,
    number: FileNumber,
}

/// What tells a file from another one that took its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileNumber {
    /// Of its file system.
    pub device: u64,
    /// Its own in there.
    pub inode: u64,
}

impl FileNumber {
    fn of(status: &std::fs::Metadata) -> Self {
        Self { device: status.dev(), inode: status.ino() }
    }
}

impl MemoryTable {
    /// Opens the table in `directory`; makes both if they are not there.
    pub fn open(directory: &CrewDirectory) -> Result<Self, TableError> {
        let place = open_directory(directory.path())?;
        let path = directory.table();
        // LIMIT: two rounds: it is not there, so it is made; somebody removed it at once: then something is wrong here.
        for _ in 0..3 {
            match openat(&place, FILE_NAME, OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()) {
                Ok(file) => return Self::of(File::from(file), path),
                Err(Errno::NOENT) => create(&place, &path)?,
                Err(error) => return Err(failed("open", &path)(error)),
            }
        }
        Err(failed("keep", &path)(Errno::NOENT))
    }

    /// Opens the table in `directory` if there is one; makes nothing.
    pub fn open_existing(directory: &CrewDirectory) -> Result<Option<Self>, TableError> {
        match std::fs::symlink_metadata(directory.table()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // Where none could be made, runs share nothing: that is not the same as that there are none.
                if directory.path().try_exists().unwrap_or(true) {
                    open_directory(directory.path())?;
                }
                Ok(None)
            }
            _ => Self::open(directory).map(Some),
        }
    }

    fn of(file: File, path: PathBuf) -> Result<Self, TableError> {
        let system = |cause| TableError::System { operation: "look at", path: path.clone(), cause };
        let status = file.metadata().map_err(system)?;
        let foreign = |why| Err(TableError::Foreign { path: path.clone(), why });
        if !status.is_file() || status.uid() != geteuid().as_raw() {
            return Err(TableError::Untrusted { path, why: "it is not a file of this user" });
        }
        if status.mode() & 0o022 != 0 {
            return Err(TableError::Untrusted { path, why: "others may write to it" });
        }
        if status.len() != FILE_BYTES {
            return foreign("it has not a table's length");
        }
        let mapped = SharedWords::map(&file, WORDS);
        let words = mapped.map_err(|cause| TableError::System { operation: "map", path: path.clone(), cause })?;
        if words.words().load(0) != MAGIC {
            return foreign("it is not a table");
        }
        if words.words().load(VERSION_AT) != VERSION {
            return foreign("it belongs to another version of this program");
        }
        Ok(Self { words: Arc::new(words), number: FileNumber::of(&status), path })
    }

    /// Its words.
    pub fn words(&self) -> &[AtomicU64] {
        self.words.words()
    }

    /// What tells its file from others.
    pub fn number(&self) -> FileNumber {
        self.number
    }

    /// Its file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether its name still leads to it. A table that was removed lives on for those who have it, and nobody else comes.
    pub fn is_still_there(&self) -> bool {
        std::fs::symlink_metadata(&self.path).is_ok_and(|status| FileNumber::of(&status) == self.number)
    }

    /// A second open file description of the same file, for locks alone: what is mapped through it keeps them.
    pub fn open_for_locks(&self) -> Result<File, TableError> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(openat(CWD, &self.path, flags, Mode::empty()).map_err(failed("open", &self.path))?);
        match file.metadata() {
            Ok(status) if FileNumber::of(&status) == self.number => Ok(file),
            Ok(_) => Err(TableError::Foreign { path: self.path.clone(), why: "another table has taken its place" }),
            Err(cause) => Err(TableError::System { operation: "look at", path: self.path.clone(), cause }),
        }
    }

    /// The futex that is counted up whenever somebody may take who could not before.
    pub fn generation(&self) -> &AtomicU32 {
        self.words.half(GENERATION_AT)
    }

    /// What `row` sleeps on.
    pub fn wake_word(&self, row: usize) -> &AtomicU32 {
        self.words.second_half(row_word(row, field::DEATH_WORD))
    }

    /// Wakes `row` alone.
    pub fn wake(&self, row: usize) {
        sound(self.wake_word(row));
    }

    /// Wakes every run that waits for something, and all who watch.
    pub fn wake_all(&self) {
        self.tell_watchers();
        row::hungry_or_listening(self.words()).for_each(|row| self.wake(row));
    }

    /// Wakes all who watch who is there.
    pub fn tell_watchers(&self) {
        sound(self.generation());
    }

    /// The death word of `row`.
    pub fn death_word(&self, row: usize) -> &AtomicU32 {
        self.words.half(row_word(row, field::DEATH_WORD))
    }

    /// Marks `row` as this process's, soon or at once, and wakes for one of those who wait: others learn of its death at once. None where the system
    /// has no thread to spare.
    pub fn keep_death_word(self: &Arc<Self>, row: usize, death_word_thread: DeathWordThread) -> Option<MarkKeeper> {
        let table = Arc::clone(self);
        // One of those who wait sleeps on the new mark from now on: the kernel wakes no more than one.
        let wake = move || {
            row::hungry_or_listening(table.words()).find(|&other| other != row).inspect(|&other| table.wake(other));
        };
        let word = row_word(row, field::DEATH_WORD);
        if death_word_thread == DeathWordThread::FirstThread
            && let Some(keeper) = MarkKeeper::on_first_thread(&self.words, word)
        {
            wake();
            return Some(keeper);
        }
        MarkKeeper::start(Arc::clone(&self.words), word, wake).ok()
    }
}

fn sound(wake_word: &AtomicU32) {
    // ORDER: SeqCst, as for all words of the table: who looks at the words after this sees what was changed before.
    wake_word.fetch_add(1, Ordering::SeqCst);
    sys::futex::wake_all(wake_word);
}

/// Opens the directory, making it first if need be, and checks that nobody else can put things into it.
fn open_directory(path: &Path) -> Result<OwnedFd, TableError> {
    match mkdirat(CWD, path, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(failed("make", path)(error)),
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = openat(CWD, path, flags, Mode::empty()).map_err(failed("open", path))?;
    let status = rustix::fs::fstat(&directory).map_err(failed("look at", path))?;
    let untrusted = |why| Err(TableError::Untrusted { path: path.to_owned(), why });
    if status.st_uid != geteuid().as_raw() {
        return untrusted("it belongs to another user");
    }
    if status.st_mode & 0o022 != 0 {
        return untrusted("others may write to it");
    }
    Ok(directory)
}

/// Makes a whole table under a name of its own and links it to its final one, unless somebody else was faster.
fn create(directory: &OwnedFd, path: &Path) -> Result<(), TableError> {
    static MADE: AtomicU64 = AtomicU64::new(0);
    // ORDER: Relaxed: the number only has to differ between the threads of this process.
    let count = MADE.fetch_add(1, Ordering::Relaxed);
    let staged = format!("{FILE_NAME}.{}.{count}", std::process::id());
    // Left behind by a killed process with our number.
    let _there_was_none = unlinkat(directory, &*staged, AtFlags::empty());
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(directory, &*staged, flags, Mode::RUSR | Mode::WUSR).map_err(failed("make", path))?;
    let made =
        fill(&file, path).and_then(|()| match linkat(directory, &*staged, directory, FILE_NAME, AtFlags::empty()) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(failed("make", path)(error)),
        });
    let _only_a_second_name = unlinkat(directory, &*staged, AtFlags::empty());
    made
}

/// Gives the file its length, its blocks (a hole in shared memory that cannot be filled later kills who touches it), its
/// header and its mode.
fn fill(file: &OwnedFd, path: &Path) -> Result<(), TableError> {
    fallocate(file, FallocateFlags::empty(), 0, FILE_BYTES).map_err(failed("find room for", path))?;
    let header = [MAGIC, VERSION].map(u64::to_ne_bytes).concat();
    rustix::io::pwrite(file.as_fd(), &header, 0).map_err(failed("write", path))?;
    fchmod(file, Mode::RUSR | Mode::WUSR).map_err(failed("protect", path))
}

const _: () = assert!(CLAIMS_AT == HANDS_AT + CPUS && ROWS_AT == CLAIMS_AT + CPU_SLOTS);
const _: () = assert!(WORDS == ROWS_AT + ROWS * ROW_WORDS);

#[cfg(all(test, not(feature = "model")))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn directory() -> (tempfile::TempDir, CrewDirectory) {
        let parent = tempfile::tempdir().expect("a directory");
        let directory = CrewDirectory::of_user_in(parent.path());
        (parent, directory)
    }

    #[test]
    fn it_is_made_once_and_shared_by_all_who_open_it() {
        let (_parent, directory) = directory();
        let (one, other) =
            (MemoryTable::open(&directory).expect("made"), MemoryTable::open(&directory).expect("opened"));
        one.words().store(WORDS - 1, 42);
        assert_eq!(other.words().load(WORDS - 1), 42);
        assert!(one.is_still_there());
        let names: Vec<_> = fs::read_dir(directory.path()).expect("readable").flatten().collect();
        assert_eq!(names.len(), 1, "nothing is left of the making");
        let status = fs::metadata(directory.table()).expect("there");
        assert_eq!((status.mode() & 0o7777, status.len()), (0o600, FILE_BYTES));
        assert!(status.blocks() * 512 >= FILE_BYTES, "all blocks are there");
        assert_eq!(fs::metadata(directory.path()).expect("there").mode() & 0o7777, 0o700);
    }

    #[test]
    fn many_makers_at_once_make_one() {
        let (_parent, directory) = directory();
        let numbers: Vec<FileNumber> = std::thread::scope(|scope| {
            let open = || scope.spawn(|| MemoryTable::open(&directory).expect("a table").number);
            let threads: Vec<_> = (0..8).map(|_| open()).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        assert!(numbers.iter().all(|number| *number == numbers[0]));
    }

    #[test]
    fn a_removed_table_is_noticed_and_its_successor_is_another() {
        let (_parent, directory) = directory();
        let first = MemoryTable::open(&directory).expect("made");
        fs::remove_file(directory.table()).expect("removed");
        assert!(!first.is_still_there());
        assert!(first.open_for_locks().is_err());
        let second = MemoryTable::open(&directory).expect("made anew");
        assert!(second.is_still_there() && !first.is_still_there());
        assert!(matches!(first.open_for_locks(), Err(TableError::Foreign { .. })));
    }

    #[test]
    fn what_others_could_have_put_there_is_refused() {
        let (parent, directory) = directory();
        let real = parent.path().join("real");
        fs::create_dir(&real).expect("a directory");
        symlink(&real, directory.path()).expect("a link");
        assert!(
            matches!(MemoryTable::open(&directory), Err(TableError::System { operation: "open", .. })),
            "a linked directory"
        );
        fs::remove_file(directory.path()).expect("removed");
        fs::create_dir(directory.path()).expect("a directory");
        fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o770)).expect("chmod");
        assert!(
            matches!(MemoryTable::open(&directory), Err(TableError::Untrusted { .. })),
            "a directory open to others"
        );
        assert!(matches!(MemoryTable::open_existing(&directory), Err(TableError::Untrusted { .. })), "there, to look");
        fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o700)).expect("chmod");
        symlink(real.join("x"), directory.table()).expect("a link");
        assert!(
            matches!(MemoryTable::open(&directory), Err(TableError::System { operation: "open", .. })),
            "a linked table"
        );
        fs::remove_file(directory.table()).expect("removed");
        MemoryTable::open(&directory).expect("made");
        fs::set_permissions(directory.table(), PermissionsExt::from_mode(0o666)).expect("chmod");
        assert!(matches!(MemoryTable::open(&directory), Err(TableError::Untrusted { .. })), "a table open to others");
    }

    #[test]
    fn what_belongs_to_another_user_is_refused() {
        const OTHER: Option<u32> = Some(54_321);
        let (parent, directory) = directory();
        let own = parent.path().join("own");
        fs::write(&own, "").expect("a file");
        if std::os::unix::fs::chown(&own, OTHER, None).is_err() {
            // Only root may give files away; for everybody else there is nothing to test with.
            return;
        }
        drop(MemoryTable::open(&directory).expect("made"));
        std::os::unix::fs::chown(directory.table(), OTHER, None).expect("given away");
        assert!(matches!(MemoryTable::open(&directory), Err(TableError::Untrusted { .. })), "a foreign table");
        fs::remove_file(directory.table()).expect("removed");
        std::os::unix::fs::chown(directory.path(), OTHER, None).expect("given away");
        assert!(matches!(MemoryTable::open(&directory), Err(TableError::Untrusted { .. })), "a foreign directory");
    }

    #[test]
    fn what_is_no_table_is_refused() {
        let whole = |first: u64, version: u64, bytes: u64| {
            let mut content = [first, version].map(u64::to_ne_bytes).concat();
            content.resize(bytes as usize, 0);
            content
        };
        let bad = [
            whole(MAGIC, VERSION, FILE_BYTES - 1),
            whole(MAGIC, VERSION, 16),
            whole(MAGIC, VERSION, FILE_BYTES + 4096),
            whole(MAGIC, VERSION + 1, FILE_BYTES),
            whole(7, VERSION, FILE_BYTES),
            Vec::new(),
        ];
        for content in bad {
            let (_parent, directory) = directory();
            MemoryTable::open(&directory).expect("made");
            fs::write(directory.table(), &content).expect("written");
            assert!(matches!(MemoryTable::open(&directory), Err(TableError::Foreign { .. })));
        }
        let (_parent, directory) = directory();
        fs::create_dir(directory.path()).expect("a directory");
        fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o700)).expect("chmod");
        fs::create_dir(directory.table()).expect("a directory in its place");
        assert!(MemoryTable::open(&directory).is_err());
    }
}
