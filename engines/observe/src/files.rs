//! Reading many small files of one directory: the directory stays open, the buffers are used again, nothing is allocated once they
//! have grown. Knows no file's contents.

use machine::{Host, HostError};
use rustix::fs::{AtFlags, Mode, OFlags, PROC_SUPER_MAGIC, RawDir, SeekFrom, fstatfs, openat, seek, statat};
use rustix::io::Errno;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// A directory such as `/proc`, held open.
#[derive(Debug)]
pub struct Files {
    folder: OwnedFd,
    text: Vec<u8>,
    entries: Box<[MaybeUninit<u8>]>,
    /// Whether it is the kernel's list of processes: other file systems' positions mean nothing.
    is_proc: bool,
    origin: Option<u64>,
}

/// One look at most files is one page; the buffer grows for those that are longer.
const TEXT_BYTES: usize = 8 << 10;
/// LIMIT: longer files (a process may make its command line as long as it likes) are cut here. `/proc/stat` of 8,192 CPUs is below.
const TEXT_BYTES_MAX: usize = 2 << 20;
/// A directory of 10,000 processes is read in 8 calls.
const ENTRIES_BYTES: usize = 32 << 10;

impl Files {
    /// Opens the directory at the host's `path`.
    pub fn open(host: &Host, path: &Path) -> Result<Self, HostError> {
        let folder = host.open_directory(path)?;
        Ok(Self {
            is_proc: fstatfs(&folder).is_ok_and(|system| system.f_type == PROC_SUPER_MAGIC),
            folder,
            text: vec![0; TEXT_BYTES],
            entries: vec![MaybeUninit::uninit(); ENTRIES_BYTES].into_boxed_slice(),
            origin: None,
        })
    }

    /// The bytes of the file `path` below the directory. An error where it is not there, is not ours to read, or went away.
    pub fn read(&mut self, path: &str) -> io::Result<&[u8]> {
        let file = openat(&self.folder, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let mut filled = 0;
        loop {
            match rustix::io::read(&file, &mut self.text[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            if filled < self.text.len() {
                // LIE: the kernel gives its texts whole to whoever has room; to ask whether there is more costs a twelfth of the reading.
                if self.is_proc {
                    break;
                }
            } else if filled < TEXT_BYTES_MAX {
                self.text.resize(filled * 2, 0);
            } else {
                break;
            }
        }
        Ok(&self.text[..filled])
    }

    /// The file `path` below the directory, to be read again and again by [`Files::read_held`].
    pub fn hold(&self, path: &str) -> io::Result<OwnedFd> {
        Ok(openat(&self.folder, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
    }

    /// The first bytes of a held file as they are now: a third of what opening and reading costs. An error where what it tells of went away.
    pub fn read_held(&mut self, file: &OwnedFd) -> io::Result<&[u8]> {
        let filled = rustix::io::retry_on_intr(|| rustix::io::pread(file, &mut self.text[..], 0))?;
        Ok(&self.text[..filled])
    }

    /// Fills `found` with the entries of the directory itself whose names are numbers: each number and its inode.
    pub fn numbers(&mut self, found: &mut Vec<Numbered>) -> io::Result<()> {
        self.origin = None;
        found.clear();
        seek(&self.folder, SeekFrom::Start(0))?;
        let origin = list(self.folder.as_fd(), &mut self.entries, found)?;
        self.origin = origin.filter(|_| self.is_proc);
        Ok(())
    }

    /// Where the entries of the directory stand that [`Files::numbers`] found, less their numbers. None where they do not stand by
    /// number.
    pub fn origin(&self) -> Option<u64> {
        self.origin
    }

    /// Fills `found` with those from this position in the directory on.
    pub fn numbers_at(&mut self, position: u64, found: &mut Vec<Numbered>) -> io::Result<()> {
        found.clear();
        seek(&self.folder, SeekFrom::Start(position))?;
        list(self.folder.as_fd(), &mut self.entries, found).map(|_| ())
    }

    /// The same for the directory `path` below it.
    pub fn numbers_below(&mut self, path: &str, found: &mut Vec<Numbered>) -> io::Result<()> {
        found.clear();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(&self.folder, path, flags, Mode::empty())?;
        list(folder.as_fd(), &mut self.entries, found).map(|_| ())
    }

    /// The inode of `path` below the directory.
    pub fn inode(&self, path: &str) -> io::Result<u64> {
        Ok(statat(&self.folder, path, AtFlags::empty())?.st_ino)
    }
}

/// A directory's entry whose name is a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Numbered {
    /// The name.
    pub number: u32,
    /// Which file it is: another inode under the same name is another file.
    pub inode: u64,
}

/// Says where the entries stand less their numbers, if that is the same for all.
fn list(
    folder: std::os::fd::BorrowedFd<'_>,
    entries: &mut [MaybeUninit<u8>],
    found: &mut Vec<Numbered>,
) -> io::Result<Option<u64>> {
    let mut reading = RawDir::new(folder, entries);
    let (mut position, mut origin, mut is_one) = (None, None, true);
    while let Some(entry) = reading.next() {
        let entry = entry?;
        let number = super::source::words::number(entry.file_name().to_bytes());
        if let Some(number) = number.and_then(|number| u32::try_from(number).ok()) {
            found.push(Numbered { number, inode: entry.ino() });
            let own = position.and_then(|position: u64| position.checked_sub(number.into()));
            is_one &= own.is_some() && own == *origin.get_or_insert(own);
        }
        // The kernel says of each entry where the next one is.
        position = Some(entry.next_entry_cookie());
    }
    // The kernel lists processes in order; other file systems do not.
    if !found.is_sorted() {
        found.sort_unstable();
    }
    Ok(origin.flatten().filter(|_| is_one))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeProcHost;

    #[test]
    fn only_numbers_are_listed_in_order_and_again() {
        let fake = FakeProcHost::new();
        for name in ["12", "7", "self", "7x", "99999999999"] {
            fake.file(&format!("/proc/{name}/stat"), "x");
        }
        let mut files = Files::open(&fake.host(), Path::new("/proc")).expect("a folder");
        let mut found = Vec::new();
        for _ in 0..2 {
            files.numbers(&mut found).expect("readable");
            assert_eq!(found.iter().map(|entry| entry.number).collect::<Vec<_>>(), [7, 12]);
        }
        assert_eq!(files.inode("7").expect("there"), found[0].inode);
        assert!(files.numbers_below("13/task", &mut found).is_err());
        assert!(found.is_empty());
    }

    #[test]
    fn the_kernel_s_list_is_read_from_a_number_on() {
        let mut files = Files::open(&Host::real(), Path::new("/proc")).expect("Linux has /proc");
        let (mut all, mut part) = (Vec::new(), Vec::new());
        files.numbers(&mut all).expect("readable");
        let origin = files.origin().expect("entries stand by number");
        let own = std::process::id();
        for (number, is_in) in [(own, true), (own + 1, false)] {
            files.numbers_at(origin + u64::from(number), &mut part).expect("readable");
            assert!(part.iter().all(|entry| entry.number >= number));
            assert_eq!(part.iter().any(|entry| entry.number == own), is_in);
        }
    }

    #[test]
    fn long_files_are_read_whole_and_endless_ones_are_cut() {
        let fake = FakeProcHost::new();
        fake.file("/proc/stat", "cpu".repeat(TEXT_BYTES));
        let mut files = Files::open(&fake.host(), Path::new("/proc")).expect("a folder");
        assert_eq!(files.read("stat").expect("there").len(), 3 * TEXT_BYTES);
        fake.file("/proc/cmdline", "x".repeat(TEXT_BYTES_MAX + 1));
        assert_eq!(files.read("cmdline").expect("there").len(), TEXT_BYTES_MAX);
        assert!(files.read("none").is_err());
    }

    #[test]
    fn held_files_tell_what_is_there_now() {
        let fake = FakeProcHost::new();
        fake.file("/proc/stat", "one");
        let mut files = Files::open(&fake.host(), Path::new("/proc")).expect("a folder");
        let held = files.hold("stat").expect("there");
        assert_eq!(files.read_held(&held).expect("readable"), b"one");
        fake.file("/proc/stat", "other");
        assert_eq!(files.read_held(&held).expect("readable"), b"other");
        assert!(files.hold("none").is_err());
    }
}
