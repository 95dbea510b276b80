//! Reading small files of settings: bounded, regular files only, with what their mode allows others to do.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// LIMIT: a file of settings that is larger is none.
const BYTES_MAX: u64 = 1 << 20;

/// A file's text and mode.
pub(super) struct SettingFile {
    pub text: String,
    pub mode: u32,
}

/// Reads a file; none if there is none of that name.
pub(super) fn read(path: &Path) -> io::Result<Option<SettingFile>> {
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    // A FIFO of that name must not hold the program up.
    let file = match File::options().read(true).custom_flags(nonblocking).open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    let mut bytes = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 1 MiB"));
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Some(SettingFile { text, mode: metadata.mode() }))
}
