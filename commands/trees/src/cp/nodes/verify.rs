//! A job behind the finish of a divided copy: reads the copies of one shard back and compares their BLAKE3 with what the part says. On the node that
//! has written them they leave its page cache first, so that the file system is asked.

use super::super::NAME;
use super::Work;
use super::records::{PartLine, RecordLines, ShardEntry, Verified, part, put_one};
use super::shard::hex;
use crate::trees::{cause, shown};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome};
use mh_kit::nodes::{environment, node_name};
use rustix::fs::{Advice, Mode, OFlags, fadvise, fsync};
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use transfer::copy::digest_range;

/// Reads back what the shard in the file `path` has copied.
pub fn verify_shard(context: &Context, path: &Path) -> Result<Outcome, Failure> {
    let path = path.canonicalize().map_err(|error| environment(NAME, "find", path, &error))?;
    let (work, name) = Work::of_file(context, &path)?;
    // Files that were not copied have been reported.
    let Some((head, lines)) = part(&work.place, &name)? else { return Ok(Outcome::Partial) };
    let entries: Vec<ShardEntry> = RecordLines::open(&path)?.rest()?;
    let node = node_name();
    let is_by_other = head.node != node;
    let mut verified = Verified { node, is_by_other, files: 0, bad: 0 };
    for (entry, line) in entries.iter().zip(&lines).filter(|(_, line)| line.is_done) {
        let Some(expected) = &line.blake3 else { continue };
        // A file that is divided counts where its first range is.
        verified.files += u64::from(line.from == 0);
        match digest(entry, line, is_by_other) {
            Ok(found) if found.as_ref() == Some(expected) => {}
            Ok(_) => {
                verified.bad += 1;
                let (target, source) = (shown(&entry.target.0), shown(&entry.source.0));
                work.words.say(&format!("{target} is not what was read from {source}"));
            }
            Err(error) => {
                verified.bad += 1;
                work.words.say(&format!("cannot read {} back: {}", shown(&entry.target.0), cause(&error)));
            }
        }
    }
    put_one(&work.place, &format!("verified/{name}"), &verified)?;
    work.words.finish()?;
    Ok(if verified.bad == 0 { Outcome::Done } else { Outcome::Partial })
}

/// What the copy holds; none where it has another length.
fn digest(entry: &ShardEntry, line: &PartLine, is_by_other: bool) -> io::Result<Option<String>> {
    let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(entry.target.0.as_slice(), flags, Mode::empty())?;
    if !is_by_other {
        // Only what is on the disk leaves the cache. Where the file system does neither, it is read from there all the same.
        let _read_anyway = fsync(&file).and_then(|()| fadvise(&file, line.from, None, Advice::DontNeed));
    }
    let length = rustix::fs::fstat(&file)?.st_size.cast_unsigned();
    let digest = digest_range(file.as_fd(), line.from, line.from + line.bytes)?;
    let is_whole = length == entry.likeness.bytes && digest.bytes == line.bytes;
    Ok(is_whole.then(|| hex(&digest.value)))
}
