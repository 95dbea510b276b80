//! Metadata of one file, call by call: owner, mode, times and extended attributes of an open file, or of what stands at a name. No link is
//! followed. `metadata` has the order in which they are put on a file.

use crate::argument::PathArgument;
use crate::directory::{Directory, Follow, own_path};
use crate::status::{Moment, Status};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use sys::tree_calls::{self, Attributed};

/// No change of an owner or a group.
pub const UNCHANGED: u32 = u32::MAX;

/// A file whose metadata are meant.
#[derive(Clone, Copy, Debug)]
pub enum FileReference<'a> {
    /// An open file.
    Open(BorrowedFd<'a>),
    /// What stands at a name, of a link the link itself.
    Named(Directory<'a>, &'a CStr),
}

impl<'a> FileReference<'a> {
    fn parts(self) -> (BorrowedFd<'a>, Option<&'a CStr>) {
        match self {
            Self::Open(file) => (file, None),
            Self::Named(directory, name) => (directory.descriptor(), Some(name)),
        }
    }

    /// What it is.
    pub fn status(self) -> io::Result<Status> {
        match self {
            Self::Open(file) => Status::of(file),
            Self::Named(directory, name) => directory.status(name, Follow::No),
        }
    }

    /// Sets owner and group. The kernel clears set-id bits and file capabilities.
    pub fn set_owner(self, user: u32, group: u32) -> io::Result<()> {
        let (file, name) = self.parts();
        tree_calls::set_owner(file, name, user, group)
    }

    /// Sets the permission bits. For a name it needs `/proc`, or a kernel and a C library with `fchmodat2`; a symbolic link has none, and is
    /// answered by EOPNOTSUPP.
    pub fn set_mode(self, mode: u32) -> io::Result<()> {
        let (directory, name) = match self {
            Self::Open(file) => return tree_calls::set_mode(file, None, mode),
            Self::Named(directory, name) => (directory, name),
        };
        // LIE: `fchmodat` that follows no links goes, in a C library without `fchmodat2`, through `/proc/self/fd`: what the first thread of the
        // process has open by that number, which is another file, or none, if the calling thread has a table of its own.
        let place = directory.open(name, OFlags::PATH | OFlags::NOFOLLOW, 0)?;
        if Status::of(&place)?.is_symlink() {
            return Err(Errno::OPNOTSUPP.into());
        }
        match own_path(&place).with(|path| tree_calls::set_mode_of_path(path, mode)) {
            // Without `/proc`, `fchmodat` cannot go through it.
            Err(error) if is(&error, Errno::NOENT) || is(&error, Errno::NOTDIR) => {
                tree_calls::set_mode(directory.descriptor(), Some(name), mode)
            }
            done => done,
        }
    }

    /// Sets when it was last read and changed; none leaves that time as it is.
    pub fn set_times(self, read: Option<Moment>, changed: Option<Moment>) -> io::Result<()> {
        let (file, name) = self.parts();
        let time = |moment: Option<Moment>| match moment {
            Some(moment) => (moment.seconds, moment.nanoseconds.into()),
            None => (0, tree_calls::OMITTED),
        };
        tree_calls::set_times(file, name, [time(read), time(changed)])
    }

    /// Names of the extended attributes, each ended by a zero byte, into `names`, which grows as needed.
    pub fn attribute_names(self, names: &mut Vec<u8>) -> io::Result<()> {
        self.attributed(|of| filled(names, |room| tree_calls::attribute_names(of, room)))
    }

    /// One attribute's value, into `value`, which grows as needed.
    pub fn attribute(self, name: &CStr, value: &mut Vec<u8>) -> io::Result<()> {
        self.attributed(|of| filled(value, |room| tree_calls::attribute(of, name, room)))
    }

    /// Sets one attribute.
    pub fn set_attribute(self, name: &CStr, value: &[u8]) -> io::Result<()> {
        self.attributed(|of| tree_calls::set_attribute(of, name, value))
    }

    /// Removes one attribute.
    pub fn remove_attribute(self, name: &CStr) -> io::Result<()> {
        self.attributed(|of| tree_calls::remove_attribute(of, name))
    }

    /// These calls know no directories: `/proc` leads to the descriptor, and the last part is not followed.
    fn attributed<T>(self, call: impl FnOnce(Attributed<'_>) -> io::Result<T>) -> io::Result<T> {
        match self {
            Self::Open(file) => call(Attributed::Open(file)),
            Self::Named(directory, name) if is_here(directory) => call(Attributed::At(name)),
            Self::Named(directory, name) => {
                let path = [own_path(&directory).as_slice(), b"/", name.to_bytes()].concat();
                let path = CString::new(path).expect("neither part has a zero byte inside");
                call(Attributed::At(&path))
            }
        }
    }
}

fn is_here(directory: Directory<'_>) -> bool {
    directory.descriptor().as_raw_fd() == rustix::fs::CWD.as_fd().as_raw_fd()
}

fn is(error: &io::Error, errno: Errno) -> bool {
    error.raw_os_error() == Some(errno.raw_os_error())
}

/// Calls with more room until the answer fits.
fn filled(buffer: &mut Vec<u8>, call: impl Fn(&mut [u8]) -> io::Result<usize>) -> io::Result<()> {
    // LIMIT: 64 KiB is the kernel's own bound for the list and for one value (XATTR_LIST_MAX, XATTR_SIZE_MAX).
    for room in [512, 64 << 10] {
        buffer.clear();
        buffer.resize(room, 0);
        match call(buffer) {
            Ok(length) => {
                buffer.truncate(length);
                return Ok(());
            }
            Err(error) if is(&error, Errno::RANGE) && room == 512 => {}
            Err(error) => {
                buffer.clear();
                return Err(error);
            }
        }
    }
    unreachable!("the last round returns")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::FileType;
    use std::fs::File;

    #[test]
    fn metadata_of_names_are_those_of_links_themselves() {
        let directory = tempfile::tempdir().expect("a directory");
        let open = File::open(directory.path()).expect("open");
        let at = Directory::of(&open);
        std::fs::write(directory.path().join("f"), "x").expect("write");
        at.symlink(c"f", c"l").expect("symlink");
        let (file, link) = (FileReference::Named(at, c"f"), FileReference::Named(at, c"l"));
        let past = Moment { seconds: 1_000_000_000, nanoseconds: 5 };
        let before = file.status().expect("stat").changed_at();
        link.set_times(Some(past), Some(past)).expect("utimens");
        assert_eq!(link.status().expect("stat").changed_at(), past);
        assert_eq!(file.status().expect("stat").changed_at(), before);
        let mut value = Vec::new();
        if file.set_attribute(c"user.a", b"blue").is_ok() {
            file.attribute(c"user.a", &mut value).expect("getxattr");
            assert_eq!(value, b"blue");
            file.attribute_names(&mut value).expect("listxattr");
            assert!(value.windows(7).any(|name| name == b"user.a\0"));
            file.remove_attribute(c"user.a").expect("removexattr");
            assert!(file.attribute(c"user.a", &mut value).is_err());
        }
    }

    #[test]
    fn modes_of_names_are_set_in_every_thread_and_links_are_not_followed() {
        let directory = tempfile::tempdir().expect("a directory");
        let mode = |name: &CStr| {
            let open = File::open(directory.path()).expect("open");
            Directory::of(&open).status(name, Follow::Yes).expect("stat").mode()
        };
        let refused = |_: &io::Error| testkit::program::left_out("modes set in a thread with a table of its own");
        let kept = sys::own_table::Kept::now().inspect_err(refused).ok();
        // By the numbers that the thread below uses its first descriptors have other files in the table of this one.
        let others: Vec<_> = (0..20).map(|_| tempfile::tempfile().expect("a file")).collect();
        let modes = || -> Vec<_> { others.iter().map(|file| Status::of(file).expect("stat").mode()).collect() };
        let before = modes();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _own = kept.as_ref().map(sys::own_table::Kept::begin_own);
                let open = File::open(directory.path()).expect("open");
                let at = Directory::of(&open);
                at.make_node(c"p", FileType::Fifo, 0o600, 0).expect("mkfifo");
                at.symlink(c"p", c"l").expect("symlink");
                FileReference::Named(at, c"p").set_mode(0o666).expect("chmod");
                let refused = FileReference::Named(at, c"l").set_mode(0o640).expect_err("a link has no mode");
                assert_eq!(refused.raw_os_error(), Some(libc::EOPNOTSUPP));
            });
        });
        assert_eq!(mode(c"p"), 0o666);
        assert_eq!(modes(), before);
    }
}
