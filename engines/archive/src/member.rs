//! A member of an archive as every part of this engine sees it: path, kind, metadata, where its data stand.
//! Paths are bytes, exactly as the archive has them; nothing here judges whether they are safe.

/// One member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Member {
    /// Its name in the archive.
    pub path: Vec<u8>,
    /// What it is.
    pub kind: Kind,
    /// Where a link leads.
    pub link: Vec<u8>,
    /// Permission bits with set-id and sticky, no type.
    pub mode: u32,
    /// Owner by number.
    pub uid: u64,
    /// Group by number.
    pub gid: u64,
    /// Owner by name; empty where the archive has none.
    pub owner: Vec<u8>,
    /// Group by name; empty where the archive has none.
    pub group: Vec<u8>,
    /// When its content was changed.
    pub mtime: Time,
    /// When it was last read, where the archive tells.
    pub atime: Option<Time>,
    /// When its inode was changed, where the archive tells.
    pub ctime: Option<Time>,
    /// Numbers of a device.
    pub device: Device,
    /// Bytes of the file that it stands for, holes included.
    pub size: u64,
    /// Bytes of data that stand in the archive.
    pub stored_bytes: u64,
    /// Where stored data belong in a sparse file; none where they are the whole file.
    pub sparse: Option<Vec<Extent>>,
    /// Extended attributes, access control lists included, in the archive's own terms.
    pub attributes: Vec<Attribute>,
    /// Where its own header stands in the archive.
    pub header_offset: u64,
    /// Where its data begin in the archive.
    pub data_offset: u64,
}

/// What a member is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// A file with data.
    #[default]
    Regular,
    /// Another name of an earlier member.
    HardLink,
    /// A symbolic link.
    Symlink,
    /// A character device.
    CharacterDevice,
    /// A block device.
    BlockDevice,
    /// A directory.
    Directory,
    /// A named pipe.
    Fifo,
    /// GNU's label of a volume: no file.
    VolumeLabel,
    /// The rest of a file that began on an earlier volume: not extracted.
    Continuation,
}

impl Kind {
    /// Whether it is a device, named pipe or the like.
    pub fn is_special(self) -> bool {
        matches!(self, Self::CharacterDevice | Self::BlockDevice | Self::Fifo)
    }
}

/// A moment; nanoseconds count forward from the second also before 1970.
pub type Time = files::Moment;

/// Numbers of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// Which driver.
    pub major: u32,
    /// Which of its devices.
    pub minor: u32,
}

/// A stretch of data in a sparse file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Where it begins in the file.
    pub offset: u64,
    /// Its length.
    pub bytes: u64,
}

/// An extended attribute or an access control list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// What it is.
    pub name: AttributeName,
    /// Its value, as bytes of an attribute or as text of a list.
    pub value: Vec<u8>,
}

/// What an attribute is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttributeName {
    /// `user.colour`, `security.capability` and the like.
    Extended(Vec<u8>),
    /// The access control list, as text.
    AccessList,
    /// A directory's list for what is made in it, as text.
    DefaultList,
    /// The label of SELinux, as text.
    Selinux,
    /// What was in a directory of an incremental archive, as GNU tar writes it.
    Listing,
}

impl Member {
    /// Bytes that its data take in the archive, with what fills the last block.
    pub fn padded_bytes(&self) -> u64 {
        padded(self.stored_bytes)
    }

    /// Its path for messages.
    pub fn name(&self) -> String {
        String::from_utf8_lossy(&self.path).into_owned()
    }
}

/// The bytes of a block of any tar archive.
pub const BLOCK_BYTES: usize = 512;

/// `bytes` rounded up to whole blocks.
///
/// LIMIT: at the end of what 64 bits hold it stays there; readers have refused such sizes before.
pub fn padded(bytes: u64) -> u64 {
    bytes.checked_next_multiple_of(BLOCK_BYTES as u64).unwrap_or(u64::MAX - u64::MAX % BLOCK_BYTES as u64)
}
