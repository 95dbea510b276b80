//! Files that hold keys: made with mode 0600, refused if somebody else could have read or written them.

use crate::Error;
use rustix::fs::{FileType, Mode, OFlags};
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

/// LIMIT: a few lines of a few hundred letters; known hosts take more, see `trust`.
const FILE_BYTES_MAX: u64 = 1 << 20;

const READ: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK);

/// The text of a file that only its owner may read. None if there is no file.
pub(crate) fn read_private(operation: &'static str, path: &Path) -> Result<Option<String>, Error> {
    read(operation, path, 0o077)
}

/// The text of a file that only its owner may write. None if there is no file.
pub(crate) fn read_public(operation: &'static str, path: &Path) -> Result<Option<String>, Error> {
    read(operation, path, 0o022)
}

fn read(operation: &'static str, path: &Path, forbidden: u32) -> Result<Option<String>, Error> {
    let open = match rustix::fs::open(path, READ, Mode::empty()) {
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        open => open.map_err(|cause| Error::at(operation, path, cause))?,
    };
    let status = rustix::fs::fstat(&open).map_err(|cause| Error::at(operation, path, cause))?;
    let refuse = |reason: String| Err(Error::refused(operation, path.display().to_string(), reason));
    let mode = status.st_mode & 0o7777;
    if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
        return refuse("not a regular file".to_owned());
    }
    if status.st_uid != rustix::process::geteuid().as_raw() {
        return refuse(format!("belongs to user {}, not to you", status.st_uid));
    }
    if mode & forbidden != 0 {
        let (act, wanted) = if forbidden == 0o077 { ("read", "600") } else { ("write", "644") };
        return refuse(format!("others may {act} it (mode {mode:04o}); chmod {wanted} it"));
    }
    let mut text = String::new();
    let read = File::from(open).take(FILE_BYTES_MAX + 1).read_to_string(&mut text);
    let read = read.map_err(|cause| Error::at(operation, path, cause))?;
    if read as u64 > FILE_BYTES_MAX {
        return refuse(format!("longer than {FILE_BYTES_MAX} bytes"));
    }
    Ok(Some(text))
}

/// Writes a file of mode 0600 under a temporary name, and gives it its own when it is complete.
pub(crate) fn write_private(operation: &'static str, path: &Path, text: &str) -> Result<(), Error> {
    let failed = |cause: std::io::Error| Error::at(operation, path, cause);
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let staged = Path::new(&name);
    // Left over by a run that was killed; of nobody else, because the directory is the user's own.
    let _was_not_there = std::fs::remove_file(staged);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = rustix::fs::open(staged, flags, Mode::RUSR | Mode::WUSR).map_err(|cause| failed(cause.into()))?;
    let mut file = File::from(open);
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
    std::fs::rename(staged, path).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_others_could_read_is_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("key");
        assert!(read_private("read key", &path).expect("no file is no error").is_none());
        write_private("write key", &path, "one\n").expect("written");
        write_private("write key", &path, "secret\n").expect("written again");
        assert_eq!(read_private("read key", &path).expect("readable").as_deref(), Some("secret\n"));
        for mode in [0o640, 0o604, 0o620] {
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).expect("own file");
            let error = read_private("read key", &path).expect_err("others may read it").to_string();
            assert!(error.contains(&format!("mode {mode:04o}")), "{error}");
        }
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("own file");
        assert!(read_public("read line", &path).is_ok());
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        assert!(read_public("read line", &link).is_err(), "a link is not followed");
        assert!(read_public("read line", directory.path()).is_err(), "nor is a directory read");
    }

    #[test]
    fn a_file_of_another_user_is_refused() {
        if !rustix::process::geteuid().is_root() {
            return testkit::program::left_out("only root can make a file of another user");
        }
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("key");
        write_private("write key", &path, "x").expect("written");
        std::os::unix::fs::chown(&path, Some(12345), None).expect("root may");
        let error = read_private("read key", &path).expect_err("not ours").to_string();
        assert!(error.ends_with("belongs to user 12345, not to you"), "{error}");
    }
}
