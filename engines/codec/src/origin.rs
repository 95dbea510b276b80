//! What a packed file may tell of the plain one besides its bytes: its name and its time.
//! A claim of whoever wrote the file: a caller must not follow it out of a folder.

use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Name and time of a plain file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Its name without folders; empty where there is none.
    pub name: Vec<u8>,
    /// When it was modified, in seconds since 1970; 0 where nobody knows.
    pub modified_seconds: u32,
}

impl Origin {
    /// Those of an open file called `path`.
    pub fn of(path: &Path, file: &File) -> Self {
        let name = path.file_name().map_or(Vec::new(), |name| name.as_bytes().to_vec());
        // A time before 1970 or after 2106 has no place in a gz header.
        let modified = file.metadata().map_or(0, |metadata| metadata.mtime());
        Self { name, modified_seconds: u32::try_from(modified).unwrap_or(0) }
    }

    /// What the first header of a packed file tells; `None` where the format has no room for it, or nothing stands there.
    pub fn told_by(head: &[u8]) -> Option<Self> {
        crate::formats::gzip::origin(head)
    }
}
