//! Entries of open folders, by the C library: what they are, making, linking, renaming, removing them, owner, mode, times and extended
//! attributes. Through libc and not past it, so that what a program is run under (fakeroot) sees and may answer these calls.
//! Never goes by more than one name: the folder is a descriptor, the name has no slash.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};

/// What an entry is, as `stat(2)` tells.
#[derive(Clone, Copy)]
pub struct Status(libc::stat);

/// Kinds of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A pipe with a name.
    Fifo,
    /// A socket with a name.
    Socket,
    /// A character device.
    CharacterDevice,
    /// A block device.
    BlockDevice,
    /// What this code has never heard of.
    Other,
}

/// A device and a number on it: one thing, whatever its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity {
    /// The device.
    pub device: u64,
    /// The number.
    pub inode: u64,
}

/// A moment: seconds since 1970 and nanoseconds of that second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// Seconds since 1970.
    pub seconds: i64,
    /// Nanoseconds of that second.
    pub nanoseconds: i64,
}

/// What the kernel itself told, as the C library's structure.
#[inline(always)]
pub(crate) fn in_words_of_the_c_library(told: &rustix::fs::Stat) -> libc::stat {
    // SAFETY: an all-zero stat is a valid object.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    (status.st_dev, status.st_ino, status.st_rdev) = (told.st_dev, told.st_ino, told.st_rdev);
    (status.st_mode, status.st_nlink) = (told.st_mode, told.st_nlink);
    (status.st_uid, status.st_gid) = (told.st_uid, told.st_gid);
    (status.st_size, status.st_blocks) = (told.st_size, told.st_blocks);
    (status.st_atime, status.st_atime_nsec) = (told.st_atime, told.st_atime_nsec.cast_signed());
    (status.st_mtime, status.st_mtime_nsec) = (told.st_mtime, told.st_mtime_nsec.cast_signed());
    (status.st_ctime, status.st_ctime_nsec) = (told.st_ctime, told.st_ctime_nsec.cast_signed());
    status
}

impl Status {
    /// As the kernel itself tells it.
    #[inline(always)]
    pub(crate) fn from_kernel(told: &rustix::fs::Stat) -> Self {
        Self(in_words_of_the_c_library(told))
    }

    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self.0.st_mode & libc::S_IFMT {
            libc::S_IFREG => Kind::File,
            libc::S_IFDIR => Kind::Folder,
            libc::S_IFLNK => Kind::Link,
            libc::S_IFIFO => Kind::Fifo,
            libc::S_IFSOCK => Kind::Socket,
            libc::S_IFCHR => Kind::CharacterDevice,
            libc::S_IFBLK => Kind::BlockDevice,
            _ => Kind::Other,
        }
    }

    /// Which one it is.
    pub fn identity(&self) -> Identity {
        Identity { device: self.0.st_dev, inode: self.0.st_ino }
    }

    /// Permission bits, with set-user-id and the like.
    pub fn mode(&self) -> u32 {
        self.0.st_mode & 0o7777
    }

    /// The format and permission bits as `mknod(2)` takes them.
    pub fn whole_mode(&self) -> u32 {
        self.0.st_mode
    }

    /// Its owner.
    pub fn user(&self) -> u32 {
        self.0.st_uid
    }

    /// Its group.
    pub fn group(&self) -> u32 {
        self.0.st_gid
    }

    /// Its length in bytes.
    pub fn bytes(&self) -> u64 {
        self.0.st_size.unsigned_abs()
    }

    /// Bytes that it takes on the disk.
    pub fn allocated_bytes(&self) -> u64 {
        self.0.st_blocks.unsigned_abs() * 512
    }

    /// Its names.
    #[expect(clippy::unnecessary_cast, reason = "a number of 32 bits on other architectures")]
    pub fn links(&self) -> u64 {
        self.0.st_nlink as u64
    }

    /// The device that it stands for.
    pub fn special_device(&self) -> u64 {
        self.0.st_rdev
    }

    /// When it was last read.
    pub fn read_at(&self) -> Moment {
        Moment { seconds: self.0.st_atime, nanoseconds: self.0.st_atime_nsec }
    }

    /// When it was last changed.
    pub fn changed_at(&self) -> Moment {
        Moment { seconds: self.0.st_mtime, nanoseconds: self.0.st_mtime_nsec }
    }
}

/// Whether a symbolic link is what is meant, or what it points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// What it points to.
    Yes,
    /// The link itself.
    No,
}

impl Follow {
    fn flag(self) -> i32 {
        match self {
            Self::Yes => 0,
            Self::No => libc::AT_SYMLINK_NOFOLLOW,
        }
    }
}

fn outcome(answer: libc::c_int) -> io::Result<()> {
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The working folder of the process.
pub fn here() -> BorrowedFd<'static> {
    rustix::fs::CWD
}

/// What `name` in `folder` is.
pub fn status_at(folder: BorrowedFd<'_>, name: &CStr, follow: Follow) -> io::Result<Status> {
    // SAFETY: an all-zero stat is a valid object for the call to fill.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `name` ends in a zero byte, `status` is live and exclusively borrowed.
    outcome(unsafe { libc::fstatat(folder.as_raw_fd(), name.as_ptr(), &mut status, follow.flag()) })?;
    Ok(Status(status))
}

/// What an open file is.
pub fn status_of(file: BorrowedFd<'_>) -> io::Result<Status> {
    // SAFETY: an all-zero stat is a valid object for the call to fill.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `status` is live and exclusively borrowed.
    outcome(unsafe { libc::fstat(file.as_raw_fd(), &mut status) })?;
    Ok(Status(status))
}

/// Opens `name` in `folder` with flags of `open(2)`; close-on-exec is added. Called again when a signal interrupts it.
pub fn open_at(folder: BorrowedFd<'_>, name: &CStr, flags: i32, mode: u32) -> io::Result<OwnedFd> {
    loop {
        // SAFETY: `name` ends in a zero byte; the mode is passed as the variadic argument that O_CREAT reads.
        let answer = unsafe { libc::openat(folder.as_raw_fd(), name.as_ptr(), flags | libc::O_CLOEXEC, mode) };
        if answer >= 0 {
            // SAFETY: the kernel just gave this descriptor to us alone.
            return Ok(unsafe { OwnedFd::from_raw_fd(answer) });
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Closes a file that was written, and says what the kernel tells of earlier writes only now: NFS, FUSE and quotas do (`close(2)`).
pub fn close(file: OwnedFd) -> io::Result<()> {
    // SAFETY: it was ours alone, and nobody has it any more, whatever the answer.
    match outcome(unsafe { libc::close(file.into_raw_fd()) }) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        closed => closed,
    }
}

/// Flags of `open(2)` for callers without libc.
pub mod flags {
    pub use libc::{
        O_CREAT, O_DIRECTORY, O_EXCL, O_NOCTTY, O_NOFOLLOW, O_NONBLOCK, O_PATH, O_RDONLY, O_RDWR, O_TRUNC, O_WRONLY,
    };
}

/// Makes a folder.
pub fn make_folder_at(folder: BorrowedFd<'_>, name: &CStr, mode: u32) -> io::Result<()> {
    // SAFETY: `name` ends in a zero byte.
    outcome(unsafe { libc::mkdirat(folder.as_raw_fd(), name.as_ptr(), mode) })
}

/// Makes a FIFO, a socket or a device; `mode` with its format bits.
pub fn make_node_at(folder: BorrowedFd<'_>, name: &CStr, mode: u32, device: u64) -> io::Result<()> {
    // SAFETY: `name` ends in a zero byte.
    outcome(unsafe { libc::mknodat(folder.as_raw_fd(), name.as_ptr(), mode, device) })
}

/// Makes a symbolic link.
pub fn make_link_at(target: &CStr, folder: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    // SAFETY: both texts end in a zero byte.
    outcome(unsafe { libc::symlinkat(target.as_ptr(), folder.as_raw_fd(), name.as_ptr()) })
}

/// Where a symbolic link points.
pub fn read_link_at(folder: BorrowedFd<'_>, name: &CStr) -> io::Result<CString> {
    // LIMIT: PATH_MAX, which no link's target exceeds.
    let mut target = vec![0_u8; 4097];
    let room = target.len();
    // SAFETY: `name` ends in a zero byte; the buffer is live and `room` is its length.
    let length = unsafe { libc::readlinkat(folder.as_raw_fd(), name.as_ptr(), target.as_mut_ptr().cast(), room) };
    let length = usize::try_from(length).ok().ok_or_else(io::Error::last_os_error)?;
    target.truncate(length);
    CString::new(target).map_err(io::Error::other)
}

/// Gives `name` a second name: the link itself where it is one.
pub fn hard_link_at(
    from: BorrowedFd<'_>,
    name: &CStr,
    to: BorrowedFd<'_>,
    second: &CStr,
    follow: Follow,
) -> io::Result<()> {
    let flags = if follow == Follow::Yes { libc::AT_SYMLINK_FOLLOW } else { 0 };
    // SAFETY: both names end in a zero byte.
    outcome(unsafe { libc::linkat(from.as_raw_fd(), name.as_ptr(), to.as_raw_fd(), second.as_ptr(), flags) })
}

/// Whether a rename may replace what has the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replace {
    /// It may.
    Yes,
    /// It fails with `EEXIST`, in one step; `EINVAL` where the file system cannot promise that.
    No,
}

/// Renames.
pub fn rename_at(
    from: BorrowedFd<'_>,
    name: &CStr,
    to: BorrowedFd<'_>,
    new: &CStr,
    replace: Replace,
) -> io::Result<()> {
    let (from, to) = (from.as_raw_fd(), to.as_raw_fd());
    // SAFETY: both names end in a zero byte.
    outcome(unsafe {
        match replace {
            Replace::Yes => libc::renameat(from, name.as_ptr(), to, new.as_ptr()),
            Replace::No => libc::renameat2(from, name.as_ptr(), to, new.as_ptr(), libc::RENAME_NOREPLACE),
        }
    })
}

/// Removes a name of anything but a folder.
pub fn unlink_at(folder: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    // SAFETY: `name` ends in a zero byte.
    outcome(unsafe { libc::unlinkat(folder.as_raw_fd(), name.as_ptr(), 0) })
}

/// Removes an empty folder.
pub fn remove_folder_at(folder: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    // SAFETY: `name` ends in a zero byte.
    outcome(unsafe { libc::unlinkat(folder.as_raw_fd(), name.as_ptr(), libc::AT_REMOVEDIR) })
}

/// Whether the effective user may write to `name`.
pub fn is_writable_at(folder: BorrowedFd<'_>, name: &CStr) -> bool {
    // SAFETY: `name` ends in a zero byte.
    unsafe { libc::faccessat(folder.as_raw_fd(), name.as_ptr(), libc::W_OK, libc::AT_EACCESS) == 0 }
}

/// An entry whose metadata are meant: an open file, or a name that is never followed.
#[derive(Clone, Copy)]
pub enum Target<'a> {
    /// An open file.
    Open(BorrowedFd<'a>),
    /// A name in an open folder.
    Named(BorrowedFd<'a>, &'a CStr),
}

/// No change of an owner or a group.
pub const UNCHANGED: u32 = u32::MAX;

/// Sets owner and group. Clears set-id bits and file capabilities.
pub fn set_owner(target: Target<'_>, user: u32, group: u32) -> io::Result<()> {
    // SAFETY: descriptors and texts are live for the call.
    outcome(unsafe {
        match target {
            Target::Open(file) => libc::fchown(file.as_raw_fd(), user, group),
            Target::Named(folder, name) => {
                libc::fchownat(folder.as_raw_fd(), name.as_ptr(), user, group, libc::AT_SYMLINK_NOFOLLOW)
            }
        }
    })
}

/// Sets the permission bits. For a name it needs `/proc`, or a kernel and a C library with `fchmodat2`; for that of a symbolic link it answers
/// EOPNOTSUPP.
pub fn set_mode(target: Target<'_>, mode: u32) -> io::Result<()> {
    let (folder, name) = match target {
        // SAFETY: only numbers are passed.
        Target::Open(file) => return outcome(unsafe { libc::fchmod(file.as_raw_fd(), mode) }),
        Target::Named(folder, name) => (folder, name),
    };
    // LIE: `fchmodat` that follows no links goes, in a C library without `fchmodat2`, through `/proc/self/fd`: what the first thread of the
    // process has open by that number, which is another file, or none, where the calling thread has a table of its own.
    let place = open_at(folder, name, flags::O_PATH | flags::O_NOFOLLOW, 0)?;
    if status_of(place.as_fd())?.kind() == Kind::Link {
        return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
    }
    let path = CString::new(format!("/proc/thread-self/fd/{}", place.as_raw_fd())).map_err(io::Error::other)?;
    // SAFETY: the path ends in a zero byte and lives through the call.
    match outcome(unsafe { libc::chmod(path.as_ptr(), mode) }) {
        // Where no `/proc` is, `fchmodat` cannot go through it.
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR)) => {
            // SAFETY: the name ends in a zero byte and lives through the call.
            outcome(unsafe { libc::fchmodat(folder.as_raw_fd(), name.as_ptr(), mode, libc::AT_SYMLINK_NOFOLLOW) })
        }
        done => done,
    }
}

/// Sets the times of the last reading and the last change.
pub fn set_times(target: Target<'_>, read_at: Moment, changed_at: Moment) -> io::Result<()> {
    let time = |moment: Moment| libc::timespec { tv_sec: moment.seconds, tv_nsec: moment.nanoseconds };
    let times = [time(read_at), time(changed_at)];
    // SAFETY: descriptors, texts and the two times are live for the call.
    outcome(unsafe {
        match target {
            Target::Open(file) => libc::futimens(file.as_raw_fd(), times.as_ptr()),
            Target::Named(folder, name) => {
                libc::utimensat(folder.as_raw_fd(), name.as_ptr(), times.as_ptr(), libc::AT_SYMLINK_NOFOLLOW)
            }
        }
    })
}

/// The way to a name in an open folder for calls that know no folders: `/proc` leads to the descriptor, and the last part is not followed.
fn proc_path(folder: BorrowedFd<'_>, name: &CStr) -> CString {
    if folder.as_raw_fd() == here().as_raw_fd() {
        return name.to_owned();
    }
    let mut path = format!("/proc/thread-self/fd/{}/", folder.as_raw_fd()).into_bytes();
    path.extend_from_slice(name.to_bytes());
    CString::new(path).expect("neither part has a zero byte inside")
}

/// Names of the extended attributes, each ended by a zero byte, into `names`, which grows as needed.
pub fn attribute_names(target: Target<'_>, names: &mut Vec<u8>) -> io::Result<()> {
    filled(names, |room| {
        let (at, length) = (room.as_mut_ptr().cast(), room.len());
        // SAFETY: the buffer is live and `length` long; descriptors and texts are live.
        unsafe {
            match target {
                Target::Open(file) => libc::flistxattr(file.as_raw_fd(), at, length),
                Target::Named(folder, name) => libc::llistxattr(proc_path(folder, name).as_ptr(), at, length),
            }
        }
    })
}

/// One attribute's value, into `value`, which grows as needed.
pub fn attribute(target: Target<'_>, attribute: &CStr, value: &mut Vec<u8>) -> io::Result<()> {
    filled(value, |room| {
        let (at, length) = (room.as_mut_ptr().cast(), room.len());
        // SAFETY: the buffer is live and `length` long; descriptors and texts are live.
        unsafe {
            match target {
                Target::Open(file) => libc::fgetxattr(file.as_raw_fd(), attribute.as_ptr(), at, length),
                Target::Named(folder, name) => {
                    libc::lgetxattr(proc_path(folder, name).as_ptr(), attribute.as_ptr(), at, length)
                }
            }
        }
    })
}

/// Sets one attribute.
pub fn set_attribute(target: Target<'_>, attribute: &CStr, value: &[u8]) -> io::Result<()> {
    let (at, length) = (value.as_ptr().cast(), value.len());
    // SAFETY: the value is live and `length` long; descriptors and texts are live.
    outcome(unsafe {
        match target {
            Target::Open(file) => libc::fsetxattr(file.as_raw_fd(), attribute.as_ptr(), at, length, 0),
            Target::Named(folder, name) => {
                libc::lsetxattr(proc_path(folder, name).as_ptr(), attribute.as_ptr(), at, length, 0)
            }
        }
    })
}

/// Removes one attribute.
pub fn remove_attribute(target: Target<'_>, attribute: &CStr) -> io::Result<()> {
    // SAFETY: descriptors and texts are live.
    outcome(unsafe {
        match target {
            Target::Open(file) => libc::fremovexattr(file.as_raw_fd(), attribute.as_ptr()),
            Target::Named(folder, name) => libc::lremovexattr(proc_path(folder, name).as_ptr(), attribute.as_ptr()),
        }
    })
}

/// Calls with more room until the answer fits.
fn filled(buffer: &mut Vec<u8>, call: impl Fn(&mut [u8]) -> isize) -> io::Result<()> {
    // LIMIT: 64 KiB is the kernel's own bound for the list and for one value (XATTR_LIST_MAX, XATTR_SIZE_MAX).
    for room in [512, 64 << 10] {
        buffer.clear();
        buffer.resize(room, 0);
        match usize::try_from(call(buffer)) {
            Ok(length) => {
                buffer.truncate(length);
                return Ok(());
            }
            Err(_negative) => {
                let error = io::Error::last_os_error();
                if error.raw_os_error() != Some(libc::ERANGE) || room > 512 {
                    buffer.clear();
                    return Err(error);
                }
            }
        }
    }
    unreachable!("the last round returns")
}

/// Sets the mask of bits that new files do not get, for the whole process, and returns the one before.
pub fn set_umask(mask: u32) -> u32 {
    // SAFETY: cannot fail, touches no memory of ours.
    unsafe { libc::umask(mask) }
}

/// The effective user.
pub fn effective_user() -> u32 {
    // SAFETY: cannot fail, touches no memory of ours.
    unsafe { libc::geteuid() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    fn text(text: &str) -> CString {
        CString::new(text).expect("no zero byte inside")
    }

    #[test]
    fn entries_are_made_looked_at_and_removed_below_a_descriptor() {
        let folder = tempfile::tempdir().expect("a folder");
        let open = std::fs::File::open(folder.path()).expect("open");
        let at = open.as_fd();
        make_folder_at(at, &text("d"), 0o700).expect("mkdir");
        make_link_at(&text("nowhere"), at, &text("l")).expect("symlink");
        make_node_at(at, &text("p"), libc::S_IFIFO | 0o600, 0).expect("mkfifo");
        drop(open_at(at, &text("f"), flags::O_CREAT | flags::O_WRONLY | flags::O_EXCL, 0o640).expect("create"));
        hard_link_at(at, &text("f"), at, &text("g"), Follow::No).expect("link");
        let kind = |name: &str| status_at(at, &text(name), Follow::No).expect("stat").kind();
        assert_eq!([kind("d"), kind("l"), kind("p"), kind("f")], [Kind::Folder, Kind::Link, Kind::Fifo, Kind::File]);
        assert_eq!(status_at(at, &text("g"), Follow::No).expect("stat").links(), 2);
        assert_eq!(read_link_at(at, &text("l")).expect("readlink"), text("nowhere"));
        let refused = rename_at(at, &text("f"), at, &text("d"), Replace::No).expect_err("the name is taken");
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        rename_at(at, &text("f"), at, &text("h"), Replace::Yes).expect("rename");
        assert!(unlink_at(at, &text("d")).is_err(), "a folder is not unlinked");
        remove_folder_at(at, &text("d")).expect("rmdir");
        ["l", "p", "g", "h"].iter().for_each(|name| unlink_at(at, &text(name)).expect("unlink"));
        assert_eq!(std::fs::read_dir(folder.path()).expect("list").count(), 0);
    }

    #[test]
    fn metadata_of_names_are_those_of_links_themselves() {
        let folder = tempfile::tempdir().expect("a folder");
        let open = std::fs::File::open(folder.path()).expect("open");
        let at = open.as_fd();
        std::fs::write(folder.path().join("f"), "x").expect("write");
        make_link_at(&text("f"), at, &text("l")).expect("symlink");
        let (file, link) = (text("f"), text("l"));
        let past = Moment { seconds: 1_000_000_000, nanoseconds: 5 };
        let before = status_at(at, &file, Follow::No).expect("stat").changed_at();
        set_times(Target::Named(at, &link), past, past).expect("utimens");
        assert_eq!(status_at(at, &link, Follow::No).expect("stat").changed_at(), past);
        assert_eq!(status_at(at, &file, Follow::No).expect("stat").changed_at(), before);
        let mut value = Vec::new();
        if set_attribute(Target::Named(at, &file), &text("user.a"), b"blue").is_ok() {
            attribute(Target::Named(at, &file), &text("user.a"), &mut value).expect("getxattr");
            assert_eq!(value, b"blue");
            attribute_names(Target::Named(at, &file), &mut value).expect("listxattr");
            assert!(value.windows(7).any(|name| name == b"user.a\0"));
            remove_attribute(Target::Named(at, &file), &text("user.a")).expect("removexattr");
            assert!(attribute(Target::Named(at, &file), &text("user.a"), &mut value).is_err());
        }
    }

    #[test]
    fn modes_of_names_are_set_in_every_thread_and_links_are_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let mode = |name: &str| {
            let open = std::fs::File::open(folder.path()).expect("open");
            status_at(open.as_fd(), &text(name), Follow::Yes).expect("stat").mode() & 0o7777
        };
        let refused = |_: &io::Error| testkit::program::left_out("modes set in a thread with a table of its own");
        let kept = crate::own_table::Kept::now().inspect_err(refused).ok();
        // By the numbers that the thread below uses its first descriptors have other files in the table of this one.
        let others: Vec<_> = (0..20).map(|_| tempfile::tempfile().expect("a file")).collect();
        let modes = || -> Vec<_> { others.iter().map(|file| status_of(file.as_fd()).expect("stat").mode()).collect() };
        let before = modes();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _own = kept.as_ref().map(crate::own_table::Kept::begin_own);
                let open = std::fs::File::open(folder.path()).expect("open");
                let at = open.as_fd();
                make_node_at(at, &text("p"), libc::S_IFIFO | 0o600, 0).expect("mkfifo");
                make_link_at(&text("p"), at, &text("l")).expect("symlink");
                set_mode(Target::Named(at, &text("p")), 0o666).expect("chmod");
                let refused = set_mode(Target::Named(at, &text("l")), 0o640).expect_err("a link has no mode");
                assert_eq!(refused.raw_os_error(), Some(libc::EOPNOTSUPP));
            });
        });
        assert_eq!(mode("p"), 0o666);
        assert_eq!(modes(), before);
    }
}
