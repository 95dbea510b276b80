//! What a compressed file may tell of the uncompressed one besides its bytes: its name and its time.
//! A claim of whoever wrote the file: a caller must not follow it out of a directory.

use crate::format::Remark;
use crate::lane::LaneInput;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

/// What of it compressed files tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tells {
    /// The name.
    pub name: bool,
    /// The time.
    pub time: bool,
}

/// Name and time of an uncompressed file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Its name without directories; empty where there is none.
    pub name: Vec<u8>,
    /// When it was modified, in seconds since 1970; 0 where nobody knows.
    pub modified_seconds: u32,
}

impl Origin {
    /// What is to be told of an open input, and whether its time has no place there.
    pub fn of(input: &LaneInput, file: &File, tells: Tells) -> (Option<Self>, Option<Remark>) {
        let name = match input {
            LaneInput::Path(path) if tells.name => path.file_name().map_or(Vec::new(), |name| name.as_bytes().to_vec()),
            _ => Vec::new(),
        };
        // The time of a pipe says nothing.
        let metadata = file.metadata().ok().filter(|metadata| tells.time && metadata.is_file());
        let modified_seconds = metadata.as_ref().map(|metadata| told_time(metadata.mtime()));
        let remark = (modified_seconds == Some(0)).then_some(Remark::TimeOutOfRange);
        let origin = Self { name, modified_seconds: modified_seconds.unwrap_or(0) };
        (Some(origin).filter(|origin| *origin != Self::default()), remark)
    }

    /// What the first header of a compressed file tells; `None` where the format has no room for it, or nothing stands there.
    pub fn told_by(head: &[u8]) -> Option<Self> {
        crate::formats::gzip::origin(head)
    }
}

/// A time as a gz header holds it: 0 means none, and so does a time before 1970 or after 2106.
fn told_time(seconds: i64) -> u32 {
    u32::try_from(seconds).unwrap_or(0)
}
