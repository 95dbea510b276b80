//! The name and the time that a gz file tells of its uncompressed file, where `gunzip -N` asks for them.
//! A name that a file tells is never followed out of a directory.

use super::TampArgs;
use codec::lane::{Lane, LaneInput, LaneOutput};
use codec::origin::Origin;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// LIMIT: what is read to find a name; gzip's own names end within a few hundred bytes.
const HEAD_BYTES: u64 = 64 << 10;

/// What the compressed file at `path` tells. A file that cannot be read tells nothing; its lane will say why.
fn told_by(path: &Path) -> Option<Origin> {
    let mut head = Vec::new();
    File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head)).ok()?;
    Origin::told_by(&head)
}

/// Name and time of an input; standard input is read at an offset, where it is a file, and keeps its place.
pub fn told_by_input(input: &LaneInput) -> Option<Origin> {
    match input {
        LaneInput::Path(path) => told_by(path),
        LaneInput::Stdin => {
            let mut stdin = File::from(std::io::stdin().as_fd().try_clone_to_owned().ok()?);
            let from = stdin.stream_position().ok()?;
            let mut head = vec![0; HEAD_BYTES as usize];
            let count = stdin.read_at(&mut head, from).ok()?;
            Origin::told_by(&head[..count])
        }
    }
}

/// The name for the uncompressed file of `path`, where one is wanted and told.
pub fn name_in(path: &Path, args: &TampArgs) -> Option<OsString> {
    if !args.manners.restores_origin {
        return None;
    }
    base_name(&told_by(path)?.name)
}

/// The last part of a name, without the directories before it.
fn base_name(name: &[u8]) -> Option<OsString> {
    let last = name.rsplit(|&byte| byte == b'/').next()?;
    let is_name = !matches!(last, b"" | b"." | b"..");
    is_name.then(|| OsStr::from_bytes(last).to_owned())
}

/// The times for the uncompressed files of all lanes, where they are wanted: read before any compressed file goes.
pub fn times(args: &TampArgs, lanes: &[Lane]) -> Vec<Option<u32>> {
    match args.manners.restores_origin {
        true => lanes.iter().map(time_in).collect(),
        false => vec![None; lanes.len()],
    }
}

fn time_in(lane: &Lane) -> Option<u32> {
    let (LaneInput::Path(path), LaneOutput::Path { .. }) = (&lane.input, &lane.output) else { return None };
    told_by(path).map(|origin| origin.modified_seconds).filter(|&seconds| seconds != 0)
}

/// Gives the uncompressed file its time.
pub fn set_time(output: &LaneOutput, seconds: u32) -> std::io::Result<()> {
    let LaneOutput::Path { path, .. } = output else { return Ok(()) };
    let time = rustix::fs::Timespec { tv_sec: i64::from(seconds), tv_nsec: 0 };
    let keep = rustix::fs::Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT };
    let times = rustix::fs::Timestamps { last_access: keep, last_modification: time };
    // By name: a file that may only be read cannot be opened for writing, and its owner may set its time all the same.
    rustix::fs::utimensat(rustix::fs::CWD, path, &times, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)
        .map_err(std::io::Error::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_told_name_stays_in_its_directory() {
        let name = |name: &[u8]| base_name(name).and_then(|name| name.into_string().ok());
        assert_eq!(name(b"a b").as_deref(), Some("a b"));
        assert_eq!(name(b"../../etc/passwd").as_deref(), Some("passwd"));
        assert_eq!(name(b"/"), None);
        assert_eq!(name(b".."), None);
        assert_eq!(name(b""), None);
    }
}
