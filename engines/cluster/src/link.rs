//! The one step that decides between several who want the same name: link(2), or exclusive creation where there are no links. On a
//! network file system an answer may be lost and the step repeated by the client: then it fails though it was done, and the file tells.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Gives a whole file its final name. Returns whether it was the first to have it.
pub(crate) fn link_or_create(file: &Path, name: &Path) -> io::Result<bool> {
    match std::fs::hard_link(file, name) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => is_the_same(file, name),
        // COMPAT: file systems without links (vfat, some of FUSE).
        Err(error) if is_unsupported(&error) => create(name, &std::fs::read(file)?),
        Err(error) => Err(error),
    }
}

/// Creates a file with this content, unless it is there. Returns whether it is ours.
pub(crate) fn create(name: &Path, content: &[u8]) -> io::Result<bool> {
    match File::options().write(true).create_new(true).mode(0o600).open(name) {
        Ok(mut file) => match file.write_all(content) {
            Ok(()) => Ok(true),
            Err(error) => {
                // Half a file would be taken for a whole one.
                let _it_is_ours = std::fs::remove_file(name);
                Err(error)
            }
        },
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(std::fs::read(name)? == content),
        Err(error) => Err(error),
    }
}

fn is_the_same(file: &Path, name: &Path) -> io::Result<bool> {
    let (file, name) = (std::fs::metadata(file)?, std::fs::metadata(name)?);
    Ok((file.dev(), file.ino()) == (name.dev(), name.ino()))
}

fn is_unsupported(error: &io::Error) -> bool {
    error.kind() == ErrorKind::Unsupported || error.raw_os_error() == Some(rustix::io::Errno::PERM.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_has_the_name_and_knows_it_when_asked_again() {
        let place = tempfile::tempdir().expect("a directory");
        let [one, two, name] = ["one", "two", "name"].map(|name| place.path().join(name));
        std::fs::write(&one, b"1").expect("written");
        std::fs::write(&two, b"1").expect("written");
        assert!(link_or_create(&one, &name).expect("linked"));
        assert!(link_or_create(&one, &name).expect("its answer was lost"));
        assert!(!link_or_create(&two, &name).expect("another one was first"));
        let claim = place.path().join("claim");
        assert!(create(&claim, b"a").expect("created"));
        assert!(create(&claim, b"a").expect("its answer was lost"));
        assert!(!create(&claim, b"b").expect("another one was first"));
    }
}
