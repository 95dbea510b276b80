//! What the kernel says about a file: its type, which one it is, whose it is, how long, and when it was changed.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileType {
    /// A regular file.
    Regular,
    /// A directory.
    Directory,
    /// A symbolic link.
    SymbolicLink,
    /// A named pipe.
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

impl FileType {
    /// From the type bits of a mode.
    fn of_mode(mode: u32) -> Self {
        match mode & libc::S_IFMT {
            libc::S_IFREG => Self::Regular,
            libc::S_IFDIR => Self::Directory,
            libc::S_IFLNK => Self::SymbolicLink,
            libc::S_IFIFO => Self::Fifo,
            libc::S_IFSOCK => Self::Socket,
            libc::S_IFCHR => Self::CharacterDevice,
            libc::S_IFBLK => Self::BlockDevice,
            _ => Self::Other,
        }
    }

    /// The type bits of a mode, as `mknod(2)` takes them. It refuses those of what this code has never heard of.
    pub(crate) fn bits(self) -> u32 {
        match self {
            Self::Regular => libc::S_IFREG,
            Self::Directory => libc::S_IFDIR,
            Self::SymbolicLink => libc::S_IFLNK,
            Self::Fifo => libc::S_IFIFO,
            Self::Socket => libc::S_IFSOCK,
            Self::CharacterDevice => libc::S_IFCHR,
            Self::BlockDevice => libc::S_IFBLK,
            Self::Other => libc::S_IFMT,
        }
    }
}

/// A device and a number on it: one file, whatever its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity {
    /// The device.
    pub device: u64,
    /// The number.
    pub inode: u64,
}

impl From<&std::fs::Metadata> for Identity {
    fn from(metadata: &std::fs::Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}

/// A moment: seconds since 1970 and nanoseconds of that second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// Seconds since 1970.
    pub seconds: i64,
    /// Nanoseconds of that second.
    pub nanoseconds: u32,
}

/// What a file is, as `stat(2)` returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    mode: u32,
    user: u32,
    group: u32,
    bytes: u64,
    blocks: u64,
    links: u64,
    identity: Identity,
    special_device: u64,
    read_at: Moment,
    changed_at: Moment,
    status_changed_at: Moment,
}

impl Status {
    /// Of an open file.
    pub fn of(file: impl AsFd) -> io::Result<Self> {
        let none = rustix::fs::AtFlags::empty();
        Ok(Self::from_library(&sys::tree_calls::status(file.as_fd(), None, none)?))
    }

    /// As the C library returns it.
    #[expect(clippy::unnecessary_cast, reason = "a number of 32 bits on other architectures")]
    pub(crate) fn from_library(found: &libc::stat) -> Self {
        let moment = |seconds, nanoseconds: i64| Moment { seconds, nanoseconds: nanoseconds as u32 };
        Self {
            mode: found.st_mode,
            user: found.st_uid,
            group: found.st_gid,
            bytes: found.st_size.unsigned_abs(),
            blocks: found.st_blocks.unsigned_abs(),
            links: found.st_nlink as u64,
            identity: Identity { device: found.st_dev, inode: found.st_ino },
            special_device: found.st_rdev,
            read_at: moment(found.st_atime, found.st_atime_nsec),
            changed_at: moment(found.st_mtime, found.st_mtime_nsec),
            status_changed_at: moment(found.st_ctime, found.st_ctime_nsec),
        }
    }

    /// As the kernel itself returns it.
    #[inline(always)]
    #[expect(clippy::unnecessary_cast, reason = "a number of 32 bits on other architectures")]
    pub(crate) fn from_kernel(found: &rustix::fs::Stat) -> Self {
        let moment = |seconds, nanoseconds: u64| Moment { seconds, nanoseconds: nanoseconds as u32 };
        Self {
            mode: found.st_mode,
            user: found.st_uid,
            group: found.st_gid,
            bytes: found.st_size.unsigned_abs(),
            blocks: found.st_blocks.unsigned_abs(),
            links: found.st_nlink as u64,
            identity: Identity { device: found.st_dev, inode: found.st_ino },
            special_device: found.st_rdev,
            read_at: moment(found.st_atime, found.st_atime_nsec),
            changed_at: moment(found.st_mtime, found.st_mtime_nsec),
            status_changed_at: moment(found.st_ctime, found.st_ctime_nsec),
        }
    }

    /// What it is.
    pub fn file_type(&self) -> FileType {
        FileType::of_mode(self.mode)
    }

    /// Whether it is a regular file.
    pub fn is_regular(&self) -> bool {
        self.file_type() == FileType::Regular
    }

    /// Whether it is a directory.
    pub fn is_directory(&self) -> bool {
        self.file_type() == FileType::Directory
    }

    /// Whether it is a symbolic link.
    pub fn is_symlink(&self) -> bool {
        self.file_type() == FileType::SymbolicLink
    }

    /// Which one it is.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Permission bits, with set-user-id and the like.
    pub fn mode(&self) -> u32 {
        self.mode & 0o7777
    }

    /// Its owner.
    pub fn user(&self) -> u32 {
        self.user
    }

    /// Its group.
    pub fn group(&self) -> u32 {
        self.group
    }

    /// Its length in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes that it takes on the disk.
    pub fn allocated_bytes(&self) -> u64 {
        self.blocks * 512
    }

    /// How many names it has.
    pub fn links(&self) -> u64 {
        self.links
    }

    /// The device that it stands for.
    pub fn special_device(&self) -> u64 {
        self.special_device
    }

    /// Major and minor number of that device.
    pub fn device_numbers(&self) -> (u32, u32) {
        (libc::major(self.special_device), libc::minor(self.special_device))
    }

    /// When it was last read.
    pub fn read_at(&self) -> Moment {
        self.read_at
    }

    /// When its content was last changed.
    pub fn changed_at(&self) -> Moment {
        self.changed_at
    }

    /// When anything about it was last changed.
    pub fn status_changed_at(&self) -> Moment {
        self.status_changed_at
    }
}
