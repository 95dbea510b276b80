//! The calls that make, change and look at files of a tree, each relative to a directory's descriptor, none following a link at
//! the end of a name. They go through the C library, not past it, so that programs like fakeroot see them.

use crate::entry::{self, in_words_of_the_c_library};
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Whether we have root's rights over files, or believe so under fakeroot.
pub fn acts_as_root() -> bool {
    // SAFETY: it takes nothing and always succeeds.
    unsafe { libc::geteuid() == 0 }
}

/// What is at a name.
#[derive(Clone, Copy, Debug)]
pub struct Status {
    /// Type and permission bits.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Bytes.
    pub size: u64,
    /// Blocks of 512 bytes that are really there.
    pub blocks: u64,
    /// Names.
    pub links: u64,
    /// File system.
    pub dev: u64,
    /// Number in it.
    pub ino: u64,
    /// Numbers of a device: major, minor.
    pub device: (u32, u32),
    /// Seconds and nanoseconds of the last change of content.
    pub mtime: (i64, u32),
    /// The same of the last reading.
    pub atime: (i64, u32),
    /// The same of the last change of the inode.
    pub ctime: (i64, u32),
}

impl Status {
    /// As the kernel itself tells it.
    #[inline(always)]
    pub(crate) fn from_kernel(told: &rustix::fs::Stat) -> Self {
        status_from(&in_words_of_the_c_library(told))
    }

    /// The type bits, as `libc::S_IFREG` and the like.
    pub fn kind(&self) -> u32 {
        self.mode & libc::S_IFMT
    }

    /// Whether it is a directory.
    pub fn is_folder(&self) -> bool {
        self.kind() == libc::S_IFDIR
    }

    /// Whether it is a regular file.
    pub fn is_file(&self) -> bool {
        self.kind() == libc::S_IFREG
    }

    /// Whether it is a symbolic link.
    pub fn is_symlink(&self) -> bool {
        self.kind() == libc::S_IFLNK
    }
}

/// How a name is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    /// An existing directory, to work in.
    Folder,
    /// A new file with these permission bits, for writing; the name must be free.
    NewFile(u32),
    /// A file that may exist, emptied, for writing.
    OverFile(u32),
    /// An existing file, for reading. A FIFO does not make it wait.
    File,
}

impl Open {
    fn flags(self) -> i32 {
        libc::O_CLOEXEC
            | match self {
                Self::Folder => libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NONBLOCK,
                Self::NewFile(_) => libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW,
                Self::OverFile(_) => {
                    libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | libc::O_NOFOLLOW | libc::O_NONBLOCK
                }
                Self::File => libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY,
            }
    }

    fn mode(self) -> u32 {
        match self {
            Self::NewFile(mode) | Self::OverFile(mode) => mode,
            Self::Folder | Self::File => 0,
        }
    }
}

/// Whether links on the way are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// As long as they lead nowhere outside the directory.
    FollowBeneath,
    /// Never.
    Refuse,
}

/// LIMIT: the kernel takes names up to this, with the NUL.
pub const PATH_BYTES_MAX: usize = 4096;

fn with_name<T>(name: &[u8], call: impl FnOnce(*const libc::c_char) -> io::Result<T>) -> io::Result<T> {
    let mut buffer = [0_u8; PATH_BYTES_MAX];
    if name.len() >= buffer.len() {
        return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG));
    }
    buffer[..name.len()].copy_from_slice(name);
    let name = CStr::from_bytes_with_nul(&buffer[..=name.len()]).map_err(io::Error::other)?;
    call(name.as_ptr())
}

fn done(result: libc::c_int) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn opened(result: libc::c_int) -> io::Result<OwnedFd> {
    done(result)?;
    // SAFETY: the kernel has just given us this descriptor, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(result) })
}

/// Opens one name in `folder`; a last link is never followed but for [`Open::Folder`] with `Links::FollowBeneath`, for which
/// [`open_beneath`] is the way.
pub fn open_at(folder: BorrowedFd<'_>, name: &[u8], how: Open) -> io::Result<OwnedFd> {
    let flags = how.flags() | libc::O_NOFOLLOW;
    // SAFETY: the name is NUL-terminated and lives through the call; openat reads nothing else.
    with_name(name, |name| opened(unsafe { libc::openat(folder.as_raw_fd(), name, flags, how.mode()) }))
}

/// Opens a path as any program does, links followed: for paths that a person has typed.
pub fn open_anywhere(folder: BorrowedFd<'_>, path: &[u8], how: Open) -> io::Result<OwnedFd> {
    let flags = how.flags() & !libc::O_NOFOLLOW;
    // SAFETY: as in `open_at`.
    with_name(path, |path| opened(unsafe { libc::openat(folder.as_raw_fd(), path, flags, how.mode()) }))
}

/// Opens a directory that its mode may bar its owner from, who gets all rights to it first. Needs `/proc`.
pub fn open_shut_folder(folder: BorrowedFd<'_>, name: &[u8]) -> io::Result<OwnedFd> {
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: the name is NUL-terminated and lives through the call; the descriptor is fresh.
    let place = with_name(name, |name| opened(unsafe { libc::openat(folder.as_raw_fd(), name, flags) }))?;
    let path = format!("/proc/thread-self/fd/{}", place.as_raw_fd());
    // SAFETY: the path is NUL-terminated and lives through the call.
    with_name(path.as_bytes(), |path| done(unsafe { libc::chmod(path, 0o700) }))?;
    open_at(place.as_fd(), b".", Open::Folder)
}

/// Opens a path of several names that cannot lead out of `folder` (`openat2(2)`). `ErrorKind::CrossesDevices` says that it would.
/// Kernels before 5.6 and sandboxes answer ENOSYS or EPERM.
pub fn open_beneath(folder: BorrowedFd<'_>, path: &[u8], how: Open, links: Links) -> io::Result<OwnedFd> {
    let no_links = if links == Links::Refuse { libc::RESOLVE_NO_SYMLINKS } else { 0 };
    open_resolving(folder, path, how, libc::RESOLVE_BENEATH | libc::RESOLVE_NO_MAGICLINKS | no_links)
}

/// Opens a path of several names, wherever it leads, that goes through no link (`openat2(2)`): ELOOP says that it would. ENOSYS and EPERM as above.
pub fn open_through_no_link(folder: BorrowedFd<'_>, path: &[u8], how: Open) -> io::Result<OwnedFd> {
    open_resolving(folder, path, how, libc::RESOLVE_NO_SYMLINKS)
}

fn open_resolving(folder: BorrowedFd<'_>, path: &[u8], how: Open, resolve: u64) -> io::Result<OwnedFd> {
    // SAFETY: open_how is plain numbers, for which zeros are valid.
    let mut request: libc::open_how = unsafe { std::mem::zeroed() };
    request.flags = u64::from(how.flags().cast_unsigned());
    request.mode = u64::from(how.mode());
    request.resolve = resolve;
    let size = size_of::<libc::open_how>();
    with_name(path, |path| {
        // LIMIT: a rename beside us makes the kernel give up with EAGAIN; who renames without end has won.
        for _ in 0..64 {
            // SAFETY: the path is NUL-terminated, `request` is as large as `size` says, and both live through the call.
            let result =
                unsafe { libc::syscall(libc::SYS_openat2, folder.as_raw_fd(), path, &raw const request, size) };
            let result = opened(result as libc::c_int);
            match &result {
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => {}
                _ => return result,
            }
        }
        Err(io::Error::from_raw_os_error(libc::EAGAIN))
    })
}

/// Makes a directory.
pub fn make_folder(folder: BorrowedFd<'_>, name: &[u8], mode: u32) -> io::Result<()> {
    // SAFETY: the name is NUL-terminated and lives through the call.
    with_name(name, |name| done(unsafe { libc::mkdirat(folder.as_raw_fd(), name, mode) }))
}

/// Removes a file, or an empty directory.
pub fn remove(folder: BorrowedFd<'_>, name: &[u8]) -> io::Result<()> {
    with_name(name, |name| {
        // SAFETY: the name is NUL-terminated and lives through both calls.
        let removed = done(unsafe { libc::unlinkat(folder.as_raw_fd(), name, 0) });
        match removed {
            Err(error) if error.raw_os_error() == Some(libc::EISDIR) => {
                // SAFETY: as above.
                done(unsafe { libc::unlinkat(folder.as_raw_fd(), name, libc::AT_REMOVEDIR) })
            }
            removed => removed,
        }
    })
}

/// Gives a file a second name; of a symbolic link the link itself.
pub fn link(from: BorrowedFd<'_>, old: &[u8], to: BorrowedFd<'_>, new: &[u8]) -> io::Result<()> {
    with_name(old, |old| {
        // SAFETY: both names are NUL-terminated and live through the call.
        with_name(new, |new| done(unsafe { libc::linkat(from.as_raw_fd(), old, to.as_raw_fd(), new, 0) }))
    })
}

/// Makes a symbolic link.
pub fn symlink(target: &[u8], folder: BorrowedFd<'_>, name: &[u8]) -> io::Result<()> {
    with_name(target, |target| {
        // SAFETY: both texts are NUL-terminated and live through the call.
        with_name(name, |name| done(unsafe { libc::symlinkat(target, folder.as_raw_fd(), name) }))
    })
}

/// Where a symbolic link leads.
pub fn read_link(folder: BorrowedFd<'_>, name: &[u8]) -> io::Result<Vec<u8>> {
    let mut target = vec![0_u8; PATH_BYTES_MAX];
    let count = with_name(name, |name| {
        // SAFETY: the name is NUL-terminated, and the kernel writes at most as many bytes as the buffer has.
        let count = unsafe { libc::readlinkat(folder.as_raw_fd(), name, target.as_mut_ptr().cast(), target.len()) };
        usize::try_from(count).ok().ok_or_else(io::Error::last_os_error)
    })?;
    target.truncate(count);
    Ok(target)
}

/// Where an open file or folder lies now, from the root of everything. Needs `/proc`. `(deleted)` stands behind what has gone.
pub fn path_of(file: BorrowedFd<'_>) -> io::Result<Vec<u8>> {
    read_link(rustix::fs::CWD, format!("/proc/thread-self/fd/{}", file.as_raw_fd()).as_bytes())
}

/// Makes a device or a named pipe; `mode` has the type.
pub fn make_node(folder: BorrowedFd<'_>, name: &[u8], mode: u32, device: (u32, u32)) -> io::Result<()> {
    let device = libc::makedev(device.0, device.1);
    // SAFETY: the name is NUL-terminated and lives through the call.
    with_name(name, |name| done(unsafe { libc::mknodat(folder.as_raw_fd(), name, mode, device) }))
}

/// What is at a name; of a symbolic link the link itself.
pub fn status_at(folder: BorrowedFd<'_>, name: &[u8]) -> io::Result<Status> {
    look(folder, name, libc::AT_SYMLINK_NOFOLLOW)
}

/// What is at a name; of a symbolic link what it leads to.
pub fn status_behind(folder: BorrowedFd<'_>, name: &[u8]) -> io::Result<Status> {
    look(folder, name, 0)
}

fn look(folder: BorrowedFd<'_>, name: &[u8], flags: libc::c_int) -> io::Result<Status> {
    with_name(name, |name| {
        // SAFETY: stat is plain numbers, for which zeros are valid.
        let mut status: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: the name is NUL-terminated, `status` is ours, and both live through the call.
        done(unsafe { libc::fstatat(folder.as_raw_fd(), name, &raw mut status, flags) })?;
        Ok(status_from(&status))
    })
}

/// What a descriptor is of.
pub fn status_of(file: BorrowedFd<'_>) -> io::Result<Status> {
    // SAFETY: stat is plain numbers, for which zeros are valid.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `status` is ours and lives through the call.
    done(unsafe { libc::fstat(file.as_raw_fd(), &raw mut status) })?;
    Ok(status_from(&status))
}

fn status_from(status: &libc::stat) -> Status {
    Status {
        mode: status.st_mode,
        uid: status.st_uid,
        gid: status.st_gid,
        size: status.st_size as u64,
        blocks: status.st_blocks as u64,
        links: status.st_nlink as _,
        dev: status.st_dev,
        ino: status.st_ino,
        device: (libc::major(status.st_rdev), libc::minor(status.st_rdev)),
        mtime: (status.st_mtime, status.st_mtime_nsec as u32),
        atime: (status.st_atime, status.st_atime_nsec as u32),
        ctime: (status.st_ctime, status.st_ctime_nsec as u32),
    }
}

/// Sets the owner and group of an open file.
pub fn set_owner(file: BorrowedFd<'_>, uid: u32, gid: u32) -> io::Result<()> {
    // SAFETY: only numbers are passed.
    done(unsafe { libc::fchown(file.as_raw_fd(), uid, gid) })
}

/// Sets the owner and group of what is at a name; of a symbolic link the link's own.
pub fn set_owner_at(folder: BorrowedFd<'_>, name: &[u8], uid: u32, gid: u32) -> io::Result<()> {
    with_name(name, |name| {
        // SAFETY: the name is NUL-terminated and lives through the call.
        done(unsafe { libc::fchownat(folder.as_raw_fd(), name, uid, gid, libc::AT_SYMLINK_NOFOLLOW) })
    })
}

/// Sets the permission bits of an open file.
pub fn set_mode(file: BorrowedFd<'_>, mode: u32) -> io::Result<()> {
    // SAFETY: only numbers are passed.
    done(unsafe { libc::fchmod(file.as_raw_fd(), mode) })
}

/// Sets the permission bits of what is at a name and no link, as [`entry::set_mode`] does.
pub fn set_mode_at(folder: BorrowedFd<'_>, name: &[u8], mode: u32) -> io::Result<()> {
    let name = CString::new(name).map_err(io::Error::other)?;
    entry::set_mode(entry::Target::Named(folder, &name), mode)
}

/// A time to set; none leaves it as it is.
pub type SetTime = Option<(i64, u32)>;

fn timespec(time: SetTime) -> libc::timespec {
    match time {
        Some((seconds, nanoseconds)) => libc::timespec { tv_sec: seconds, tv_nsec: nanoseconds.into() },
        None => libc::timespec { tv_sec: 0, tv_nsec: libc::UTIME_OMIT },
    }
}

/// Sets when an open file was last read and changed.
pub fn set_times(file: BorrowedFd<'_>, read: SetTime, changed: SetTime) -> io::Result<()> {
    let times = [timespec(read), timespec(changed)];
    // SAFETY: two times, as the call wants them, that live through it.
    done(unsafe { libc::futimens(file.as_raw_fd(), times.as_ptr()) })
}

/// Sets when what is at a name was last read and changed; of a symbolic link the link itself.
pub fn set_times_at(folder: BorrowedFd<'_>, name: &[u8], read: SetTime, changed: SetTime) -> io::Result<()> {
    let times = [timespec(read), timespec(changed)];
    with_name(name, |name| {
        // SAFETY: the name is NUL-terminated; two times, as the call wants them; all live through it.
        done(unsafe { libc::utimensat(folder.as_raw_fd(), name, times.as_ptr(), libc::AT_SYMLINK_NOFOLLOW) })
    })
}

/// Sets an extended attribute of an open file.
pub fn set_attribute(file: BorrowedFd<'_>, name: &[u8], value: &[u8]) -> io::Result<()> {
    with_name(name, |name| {
        // SAFETY: the name is NUL-terminated, `value` has as many bytes as are told, and both live through the call.
        done(unsafe { libc::fsetxattr(file.as_raw_fd(), name, value.as_ptr().cast(), value.len(), 0) })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write;
    use std::os::fd::AsFd;

    #[test]
    fn what_is_made_is_what_is_seen() {
        let place = tempfile::tempdir().expect("a folder");
        let root = File::open(place.path()).expect("open");
        make_folder(root.as_fd(), b"d", 0o700).expect("mkdir");
        let file = open_at(root.as_fd(), b"f", Open::NewFile(0o600)).expect("create");
        File::from(file.try_clone().expect("dup")).write_all(b"12345").expect("write");
        set_times(file.as_fd(), None, Some((1_000_000_000, 5))).expect("times");
        set_mode(file.as_fd(), 0o640).expect("mode");
        link(root.as_fd(), b"f", root.as_fd(), b"g").expect("link");
        symlink(b"f", root.as_fd(), b"s").expect("symlink");
        let status = status_at(root.as_fd(), b"g").expect("stat");
        assert_eq!((status.size, status.links, status.mode & 0o777), (5, 2, 0o640));
        assert_eq!(status.mtime, (1_000_000_000, 5));
        assert!(status_at(root.as_fd(), b"s").expect("stat").is_symlink());
        assert!(status_behind(root.as_fd(), b"s").expect("stat").is_file());
        assert_eq!(read_link(root.as_fd(), b"s").expect("readlink"), b"f");
        let again = open_at(root.as_fd(), b"f", Open::NewFile(0o600)).expect_err("it is there");
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        assert!(open_at(root.as_fd(), b"s", Open::File).is_err(), "a last link is not followed");
        remove(root.as_fd(), b"d").expect("rmdir");
        remove(root.as_fd(), b"s").expect("unlink");
    }

    #[test]
    fn nothing_leads_out_of_the_folder() {
        let place = tempfile::tempdir().expect("a folder");
        let root = File::open(place.path()).expect("open");
        make_folder(root.as_fd(), b"in", 0o700).expect("mkdir");
        symlink(b"/", root.as_fd(), b"out").expect("symlink");
        symlink(b"in", root.as_fd(), b"within").expect("symlink");
        let open = |path: &[u8], links| open_beneath(root.as_fd(), path, Open::Folder, links);
        match open(b"in", Links::FollowBeneath) {
            // A sandbox without the call: whoever uses it has another way.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => return,
            opened => drop(opened.expect("open")),
        }
        assert!(open(b"within", Links::FollowBeneath).is_ok());
        assert!(open(b"within", Links::Refuse).is_err());
        for path in [&b"out"[..], b"..", b"in/../..", b"/"] {
            let error = open(path, Links::FollowBeneath).expect_err("it leads out");
            assert_eq!(error.raw_os_error(), Some(libc::EXDEV), "{}", String::from_utf8_lossy(path));
        }
    }
}
