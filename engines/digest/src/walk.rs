//! The regular files below a directory, in one order that does not depend on the file system: entries of a directory by the bytes of their names,
//! a directory where its name stands. Follows no link. Reads one directory at a time, and holds the lists of those above it.

use files::{Directory, FileType, Follow, Identity, Status, how, list_buffer, list_some};
use std::collections::VecDeque;
use std::io;

/// What a walk finds.
#[derive(Debug)]
pub enum Walked {
    /// A regular file.
    File(Vec<u8>),
    /// Something that has no contents of its own: a link, a FIFO, a device, a socket.
    Other(Vec<u8>),
    /// A directory that could not be listed.
    Failed(Vec<u8>, io::Error),
}

/// A walk through one tree.
pub struct FileWalk {
    /// What is still to be looked at in each directory that has been entered.
    levels: Vec<Level>,
    buffer: files::ListBuffer,
    left_out: Option<Identity>,
}

/// A name and what the list says that it is.
type ListedEntry = (Vec<u8>, Option<FileType>);

struct Level {
    path: Vec<u8>,
    entries: VecDeque<ListedEntry>,
}

impl FileWalk {
    /// Below `root`, which may be a file itself. A link that was typed is followed.
    pub fn new(root: &[u8]) -> Self {
        let file_type = Directory::here().status(root, Follow::Yes).ok().map(|status| status.file_type());
        let first = Level { path: Vec::new(), entries: VecDeque::from([(root.to_vec(), file_type)]) };
        Self { levels: vec![first], buffer: list_buffer(), left_out: None }
    }

    /// Passes over a directory, wherever it is.
    pub fn leaving_out(self, left_out: Option<Identity>) -> Self {
        Self { left_out, ..self }
    }

    fn enter(&mut self, path: Vec<u8>) -> Option<Walked> {
        let flags = if self.levels.len() == 1 { how::through_links(how::DIRECTORY) } else { how::DIRECTORY };
        match self.list(&path, flags) {
            Ok(mut entries) => {
                entries.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
                self.levels.push(Level { path, entries: entries.into() });
                None
            }
            Err(error) => Some(Walked::Failed(path, error)),
        }
    }

    fn list(&mut self, path: &[u8], flags: rustix::fs::OFlags) -> io::Result<Vec<ListedEntry>> {
        let open = Directory::here().open(path, flags, 0)?;
        if self.left_out.is_some() && Some(Status::of(&open)?.identity()) == self.left_out {
            return Ok(Vec::new());
        }
        let (directory, mut entries) = (Directory::of(&open), Vec::new());
        let mut each = |name: &std::ffi::CStr, file_type| entries.push((name.to_bytes().to_vec(), file_type));
        while !list_some(directory, &mut self.buffer, &mut each)? {}
        Ok(entries)
    }
}

impl Iterator for FileWalk {
    type Item = Walked;

    fn next(&mut self) -> Option<Walked> {
        loop {
            let level = self.levels.last_mut()?;
            let Some((name, file_type)) = level.entries.pop_front() else {
                self.levels.pop();
                continue;
            };
            let path = joined(&level.path, &name);
            let file_type = file_type.or_else(|| {
                Directory::here().status(path.as_slice(), Follow::No).ok().map(|status| status.file_type())
            });
            match file_type {
                Some(FileType::Directory) => {
                    if let Some(failed) = self.enter(path) {
                        return Some(failed);
                    }
                }
                // A file that has gone meanwhile, or was never there, is reported when it is opened.
                Some(FileType::Regular) | None => return Some(Walked::File(path)),
                // A name on the command line is read, whatever it is.
                Some(_) if self.levels.len() == 1 => return Some(Walked::File(path)),
                Some(_) => return Some(Walked::Other(path)),
            }
        }
    }
}

fn joined(directory: &[u8], name: &[u8]) -> Vec<u8> {
    match directory {
        [] => name.to_vec(),
        [.., b'/'] => [directory, name].concat(),
        _ => [directory, b"/", name].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn files_come_in_the_order_of_their_names() {
        let place = tempfile::tempdir().expect("a directory");
        for directory in ["b", "b/deep", "empty"] {
            std::fs::create_dir(place.path().join(directory)).expect("made");
        }
        for file in ["a", "b/z", "b/deep/x", "b-", "c"] {
            std::fs::write(place.path().join(file), file).expect("written");
        }
        std::os::unix::fs::symlink("/", place.path().join("link")).expect("linked");
        let root = place.path().as_os_str().as_bytes();
        let mut found = Vec::new();
        for walked in FileWalk::new(root) {
            match walked {
                Walked::File(path) | Walked::Other(path) => found.push(path[root.len()..].to_vec()),
                Walked::Failed(path, error) => panic!("{path:?}: {error}"),
            }
        }
        let found: Vec<&[u8]> = found.iter().map(Vec::as_slice).collect();
        assert_eq!(found, [b"/a".as_slice(), b"/b/deep/x", b"/b/z", b"/b-", b"/c", b"/link"]);
    }

    #[test]
    fn what_cannot_be_listed_is_told_and_what_is_not_there_too() {
        let files: Vec<Walked> = FileWalk::new(b"/no/such").collect();
        assert!(matches!(&files[..], [Walked::File(path)] if path == b"/no/such"));
        assert_eq!(joined(b"/", b"a"), b"/a");
        assert_eq!(joined(b"a", b"b"), b"a/b");
    }
}
