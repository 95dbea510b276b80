//! Where a new archive goes: under which name one is staged whose name is a link, and what is written directly instead.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Where the bytes go.
pub enum Destination {
    /// Beside this name, which they get when they are complete.
    Beside(PathBuf),
    /// Into what is open already, over what it has.
    Into(File),
}

/// LIMIT: links that are followed, as for the kernel.
const LINKS_MAX: usize = 40;

/// Of an archive that is to be called `path`, which is a regular file or none yet. A link stays: what it leads to is replaced.
pub fn of(path: &Path) -> io::Result<Destination> {
    if !fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) {
        return Ok(Destination::Beside(path.to_owned()));
    }
    // The kernel follows it as for any program, or refuses to: in a directory where everybody makes links, those of others.
    let file = File::options().write(true).create(true).truncate(false).open(path)?;
    let opened = file.metadata()?;
    match behind_links(path)? {
        Some(name) if fs::symlink_metadata(&name).is_ok_and(|found| is_one(&found, &opened)) => {
            Ok(Destination::Beside(name))
        }
        // What a descriptor leads to (/dev/fd/3) is meant, and not whatever may get its name.
        _ => Ok(Destination::Into(file)),
    }
}

/// The name at the end of links; none where the kernel makes one of them up.
fn behind_links(path: &Path) -> io::Result<Option<PathBuf>> {
    let mut at = path.to_owned();
    for _ in 0..LINKS_MAX {
        if !fs::symlink_metadata(&at)?.is_symlink() {
            return Ok(Some(at));
        }
        let directory = at.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if rustix::fs::statfs(directory)?.f_type == rustix::fs::PROC_SUPER_MAGIC {
            return Ok(None);
        }
        at = directory.join(fs::read_link(&at)?);
    }
    Ok(None)
}

/// Whether `path` is another name of standard output, a file or a pipe: `/dev/stdout`. What else writes there is not to be written over.
pub fn is_stdout(path: &Path) -> bool {
    let (Ok(there), Ok(stdout)) = (fs::metadata(path), rustix::fs::fstat(io::stdout())) else { return false };
    let kind = there.file_type();
    (kind.is_file() || kind.is_fifo() || kind.is_socket())
        && (there.dev(), there.ino()) == (stdout.st_dev, stdout.st_ino)
}

fn is_one(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}
