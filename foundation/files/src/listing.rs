//! Lists of directories, a part at a time.

use crate::directory::Directory;
use crate::status::FileType;
use rustix::fs::{FileType as ListedType, RawDir};
use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;

/// Room for one part of a list: about a thousand names.
pub type ListBuffer = Box<[MaybeUninit<u8>]>;

/// LIMIT: 32 KiB, as the C library: larger saves nothing measurable, and every step of a tree is that long.
pub fn list_buffer() -> ListBuffer {
    vec![MaybeUninit::uninit(); 32 << 10].into_boxed_slice()
}

/// LIMIT: entries of a part: a directory of fewer is one task, whose end is seen in the same step.
const PART_ENTRIES: usize = 512;

/// Lists entries from where the descriptor stands, about a thousand at most, each with its type. Returns whether the end was reached.
///
/// LIE: some file systems do not say what an entry is; then its type is none.
pub fn list_some(
    directory: Directory<'_>,
    buffer: &mut [MaybeUninit<u8>],
    mut each: impl FnMut(&CStr, Option<FileType>),
) -> io::Result<bool> {
    let mut list = RawDir::new(directory.descriptor(), buffer);
    let mut met = 0;
    loop {
        let Some(found) = list.next() else { return Ok(true) };
        let found = found?;
        let name = found.file_name();
        if name != c"." && name != c".." {
            each(name, type_of(found.file_type()));
            met += 1;
        }
        if list.is_buffer_empty() && met >= PART_ENTRIES {
            return Ok(false);
        }
    }
}

fn type_of(listed: ListedType) -> Option<FileType> {
    Some(match listed {
        ListedType::Unknown => return None,
        ListedType::RegularFile => FileType::Regular,
        ListedType::Directory => FileType::Directory,
        ListedType::Symlink => FileType::SymbolicLink,
        ListedType::Fifo => FileType::Fifo,
        ListedType::Socket => FileType::Socket,
        ListedType::CharacterDevice => FileType::CharacterDevice,
        ListedType::BlockDevice => FileType::BlockDevice,
    })
}

/// Begins a list, or a file, anew.
pub fn rewind(from: BorrowedFd<'_>) -> io::Result<()> {
    Ok(rustix::fs::seek(from, rustix::fs::SeekFrom::Start(0)).map(drop)?)
}
