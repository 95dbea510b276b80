//! Directories by their open descriptors, and what stands in them by name. A name is used relative to its directory, so nobody who swaps a
//! directory on the way for a link leads the work elsewhere. All calls but `openat2` go through the C library, so that fakeroot sees them.

use crate::argument::{PATH_BYTES_MAX, PathArgument};
use crate::status::{FileType, Identity, Status};
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, ResolveFlags};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use sys::tree_calls;

/// Whether a symbolic link is what is meant, or what it leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// What it leads to.
    Yes,
    /// The link itself.
    No,
}

impl Follow {
    /// What `open(2)` takes for it.
    #[inline(always)]
    pub fn open_flag(self) -> OFlags {
        if self == Self::Yes { OFlags::empty() } else { OFlags::NOFOLLOW }
    }

    fn flags(self) -> AtFlags {
        if self == Self::Yes { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW }
    }
}

/// Whether links on the way to a directory are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinksOnTheWay {
    /// As long as they lead nowhere outside the directory that the way begins at.
    FollowBeneath,
    /// Never.
    Refuse,
}

/// Whether a new name may take the place of a file that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replace {
    /// Never: it fails with `AlreadyExists`, in one step.
    Never,
    /// Yes, in one step: a reader sees the old file or the new one, nothing between.
    Yes,
}

/// How files are opened, beside what a caller puts together itself.
pub mod how {
    use rustix::fs::OFlags;

    /// A directory, to be listed and worked in, never through a link. A FIFO or a device in its place does not make the caller wait.
    pub const DIRECTORY: OFlags =
        OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK);
    /// A directory, to find names in it: its own mode need not allow to list it. Links are followed.
    pub const PLACE: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);
    /// A file, to be read, never through a link. A FIFO does not make the caller wait.
    pub const FILE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);
    /// A new file, to be written; the name must be free.
    pub const NEW: OFlags =
        OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::NOCTTY);
    /// A file that may exist, emptied, to be written.
    pub const OVER: OFlags =
        OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::TRUNC).union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK);

    /// The same through a link at the end of the path: for paths that a person has typed.
    pub const fn through_links(flags: OFlags) -> OFlags {
        flags.difference(OFlags::NOFOLLOW)
    }
}

/// A directory by its open descriptor, which somebody else holds.
#[derive(Clone, Copy, Debug)]
pub struct Directory<'a>(BorrowedFd<'a>);

impl AsFd for Directory<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0
    }
}

impl Directory<'static> {
    /// The working directory.
    pub fn here() -> Self {
        Self(rustix::fs::CWD)
    }
}

impl<'a> Directory<'a> {
    /// The directory that `descriptor` is of.
    pub fn of(descriptor: &'a impl AsFd) -> Self {
        Self(descriptor.as_fd())
    }

    /// Its descriptor.
    pub fn descriptor(self) -> BorrowedFd<'a> {
        self.0
    }

    /// Opens a name or a path with flags of `open(2)`, as [`how`] has them; close-on-exec is added.
    pub fn open(self, path: impl PathArgument, flags: OFlags, mode: u32) -> io::Result<OwnedFd> {
        path.with(|path| tree_calls::open_at(self.0, path, flags, mode))
    }

    /// Opens a directory that its mode may bar its owner from, who gets all rights to it first. Needs `/proc`.
    pub fn open_shut(self, name: impl PathArgument) -> io::Result<OwnedFd> {
        let place = self.open(name, how::PLACE | OFlags::NOFOLLOW, 0)?;
        own_path(&place).as_slice().with(|path| tree_calls::set_mode_of_path(path, 0o700))?;
        Directory::of(&place).open(c".", how::DIRECTORY, 0)
    }

    /// Opens a directory by a path of several names that cannot lead out of this one (`openat2(2)`). `ErrorKind::CrossesDevices` says that it
    /// would. Kernels before 5.6 and sandboxes answer ENOSYS or EPERM.
    pub fn open_beneath(self, path: impl PathArgument, links: LinksOnTheWay) -> io::Result<OwnedFd> {
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let no_links = if links == LinksOnTheWay::Refuse { ResolveFlags::NO_SYMLINKS } else { ResolveFlags::empty() };
        self.open_resolving(path, beneath | no_links)
    }

    /// Opens a directory by a path of several names, wherever it leads, that goes through no link (`openat2(2)`): ELOOP says that it would.
    /// ENOSYS and EPERM as above.
    pub fn open_through_no_link(self, path: impl PathArgument) -> io::Result<OwnedFd> {
        self.open_resolving(path, ResolveFlags::NO_SYMLINKS)
    }

    fn open_resolving(self, path: impl PathArgument, resolve: ResolveFlags) -> io::Result<OwnedFd> {
        let flags = how::through_links(how::DIRECTORY) | OFlags::CLOEXEC;
        path.with(|path| {
            // LIMIT: a rename beside us makes the kernel give up with EAGAIN; who renames without end has won.
            for _ in 0..64 {
                match rustix::fs::openat2(self.0, path, flags, Mode::empty(), resolve) {
                    Err(Errno::AGAIN) => {}
                    opened => return Ok(opened?),
                }
            }
            Err(Errno::AGAIN.into())
        })
    }

    /// What stands at a name.
    pub fn status(self, name: impl PathArgument, follow: Follow) -> io::Result<Status> {
        let found = name.with(|name| tree_calls::status(self.0, Some(name), follow.flags()))?;
        Ok(Status::from_library(&found))
    }

    /// Whether the effective user may write to what stands at a name.
    pub fn is_writable(self, name: impl PathArgument) -> bool {
        name.with(|name| Ok(tree_calls::is_writable_at(self.0, name))).unwrap_or(false)
    }

    /// Opens a directory by its name, if it is the one that it was before; none if it is another.
    pub fn open_same(self, name: impl PathArgument, identity: Identity) -> io::Result<Option<OwnedFd>> {
        let found = self.open(name, how::DIRECTORY, 0)?;
        let is_same = Status::of(&found)?.identity() == identity;
        Ok(is_same.then_some(found))
    }

    /// Makes a directory.
    pub fn make_directory(self, name: impl PathArgument, mode: u32) -> io::Result<()> {
        name.with(|name| tree_calls::make_directory_at(self.0, name, mode))
    }

    /// Makes a FIFO, a socket or a device with these permission bits.
    pub fn make_node(self, name: impl PathArgument, file_type: FileType, mode: u32, device: u64) -> io::Result<()> {
        name.with(|name| tree_calls::make_node_at(self.0, name, file_type.bits() | mode, device))
    }

    /// Makes a symbolic link called `name` that leads to `target`.
    pub fn symlink(self, target: impl PathArgument, name: impl PathArgument) -> io::Result<()> {
        target.with(|target| name.with(|name| tree_calls::symlink_at(target, self.0, name)))
    }

    /// Where a symbolic link leads.
    pub fn read_link(self, name: impl PathArgument) -> io::Result<Vec<u8>> {
        let mut target = vec![0; PATH_BYTES_MAX + 1];
        let length = name.with(|name| tree_calls::read_link_at(self.0, name, &mut target))?;
        target.truncate(length);
        Ok(target)
    }

    /// Gives what stands at `name` a second name in `to`; of a link the link itself, or what it leads to.
    pub fn link(
        self,
        name: impl PathArgument,
        to: Directory<'_>,
        second: impl PathArgument,
        follow: Follow,
    ) -> io::Result<()> {
        let flags = if follow == Follow::Yes { AtFlags::SYMLINK_FOLLOW } else { AtFlags::empty() };
        name.with(|name| second.with(|second| tree_calls::link_at(self.0, name, to.0, second, flags)))
    }

    /// Renames what stands at `name` to `new` in `to`. [`Replace::Never`] fails with `EINVAL` if the file system cannot promise that.
    pub fn rename(
        self,
        name: impl PathArgument,
        to: Directory<'_>,
        new: impl PathArgument,
        replace: Replace,
    ) -> io::Result<()> {
        let flags = if replace == Replace::Yes { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
        name.with(|name| new.with(|new| tree_calls::rename_at(self.0, name, to.0, new, flags)))
    }

    /// Removes a name of anything but a directory.
    pub fn unlink(self, name: impl PathArgument) -> io::Result<()> {
        name.with(|name| tree_calls::unlink_at(self.0, name, AtFlags::empty()))
    }

    /// Removes an empty directory.
    pub fn remove_directory(self, name: impl PathArgument) -> io::Result<()> {
        name.with(|name| tree_calls::unlink_at(self.0, name, AtFlags::REMOVEDIR))
    }

    /// Removes a file, or an empty directory.
    pub fn remove(self, name: impl PathArgument) -> io::Result<()> {
        match self.unlink(name) {
            Err(error) if error.raw_os_error() == Some(Errno::ISDIR.raw_os_error()) => self.remove_directory(name),
            removed => removed,
        }
    }
}

/// A path that leads to an open file, whatever has its name by now. Needs `/proc`.
pub fn own_path(file: &impl AsFd) -> Vec<u8> {
    format!("/proc/thread-self/fd/{}", file.as_fd().as_raw_fd()).into_bytes()
}

/// Where an open file or directory lies now, from the root of everything. Needs `/proc`. `(deleted)` stands behind what has gone.
pub fn path_of(file: &impl AsFd) -> io::Result<Vec<u8>> {
    Directory::here().read_link(&own_path(file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::FileReference;
    use crate::status::Moment;
    use std::fs::File;
    use std::io::Write;

    #[test]
    fn entries_are_made_looked_at_and_removed_below_a_descriptor() {
        let directory = tempfile::tempdir().expect("a directory");
        let open = File::open(directory.path()).expect("open");
        let at = Directory::of(&open);
        at.make_directory(c"d", 0o700).expect("mkdir");
        at.symlink(c"nowhere", c"l").expect("symlink");
        at.make_node(c"p", FileType::Fifo, 0o600, 0).expect("mkfifo");
        drop(at.open(c"f", OFlags::CREATE | OFlags::WRONLY | OFlags::EXCL, 0o640).expect("create"));
        at.link(c"f", at, c"g", Follow::No).expect("link");
        let file_type = |name: &[u8; 1]| at.status(name, Follow::No).expect("stat").file_type();
        assert_eq!(
            [file_type(b"d"), file_type(b"l"), file_type(b"p"), file_type(b"f")],
            [FileType::Directory, FileType::SymbolicLink, FileType::Fifo, FileType::Regular]
        );
        assert_eq!(at.status(c"g", Follow::No).expect("stat").links(), 2);
        assert_eq!(at.read_link(c"l").expect("readlink"), b"nowhere");
        let refused = at.rename(c"f", at, c"d", Replace::Never).expect_err("the name is taken");
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        at.rename(c"f", at, c"h", Replace::Yes).expect("rename");
        assert!(at.unlink(c"d").is_err(), "a directory is not unlinked");
        at.remove_directory(c"d").expect("rmdir");
        [c"l", c"p", c"g", c"h"].iter().for_each(|name| at.unlink(*name).expect("unlink"));
        assert_eq!(std::fs::read_dir(directory.path()).expect("list").count(), 0);
    }

    #[test]
    fn what_is_made_is_what_is_seen() {
        let place = tempfile::tempdir().expect("a directory");
        let open = File::open(place.path()).expect("open");
        let root = Directory::of(&open);
        root.make_directory(b"d", 0o700).expect("mkdir");
        let file = root.open(b"f", how::NEW, 0o600).expect("create");
        File::from(file.try_clone().expect("dup")).write_all(b"12345").expect("write");
        let (past, made) = (Moment { seconds: 1_000_000_000, nanoseconds: 5 }, FileReference::Open(file.as_fd()));
        made.set_times(None, Some(past)).expect("times");
        made.set_mode(0o640).expect("mode");
        root.link(b"f", root, b"g", Follow::No).expect("link");
        root.symlink(b"f", b"s").expect("symlink");
        let status = root.status(b"g", Follow::No).expect("stat");
        assert_eq!((status.bytes(), status.links(), status.mode()), (5, 2, 0o640));
        assert_eq!(status.changed_at(), past);
        assert!(root.status(b"s", Follow::No).expect("stat").is_symlink());
        assert!(root.status(b"s", Follow::Yes).expect("stat").is_regular());
        assert_eq!(root.read_link(b"s").expect("readlink"), b"f");
        let again = root.open(b"f", how::NEW, 0o600).expect_err("it is there");
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        assert!(root.open(b"s", how::FILE, 0).is_err(), "a last link is not followed");
        root.remove(b"d").expect("rmdir");
        root.remove(b"s").expect("unlink");
    }

    #[test]
    fn nothing_leads_out_of_the_directory() {
        let place = tempfile::tempdir().expect("a directory");
        let open = File::open(place.path()).expect("open");
        let root = Directory::of(&open);
        root.make_directory(b"in", 0o700).expect("mkdir");
        root.symlink(b"/", b"out").expect("symlink");
        root.symlink(b"in", b"within").expect("symlink");
        match root.open_beneath(b"in", LinksOnTheWay::FollowBeneath) {
            // A sandbox without the call: whoever uses it has another way.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => return,
            opened => drop(opened.expect("open")),
        }
        assert!(root.open_beneath(b"within", LinksOnTheWay::FollowBeneath).is_ok());
        assert!(root.open_beneath(b"within", LinksOnTheWay::Refuse).is_err());
        for path in [&b"out"[..], b"..", b"in/../..", b"/"] {
            let error = root.open_beneath(path, LinksOnTheWay::FollowBeneath).expect_err("it leads out");
            assert_eq!(error.raw_os_error(), Some(libc::EXDEV), "{}", String::from_utf8_lossy(path));
        }
    }
}
