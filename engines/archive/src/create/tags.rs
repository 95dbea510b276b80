//! Files that say of the directory they stand in that it, or what else is in it, is not worth an archive.

use files::{Directory, Follow, how};
use std::fs::File;

/// Such a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Its name.
    pub name: Vec<u8>,
    /// What it begins with; nothing where its name is enough.
    pub signature: &'static [u8],
    /// What is archived of its directory all the same.
    pub keeps: Keeps,
}

/// What is archived of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeps {
    /// It with all that is in it.
    All,
    /// It, and the file that says so.
    DirectoryAndTag,
    /// It alone.
    Directory,
    /// Nothing.
    Nothing,
}

impl Tag {
    /// The tag of caches, as `https://bford.info/cachedir/` has it.
    pub fn of_caches(keeps: Keeps) -> Self {
        let signature = b"Signature: 8a477f597d28d172789f06886806bc55";
        Self { name: b"CACHEDIR.TAG".to_vec(), signature, keeps }
    }

    /// Whether it stands in `directory`.
    pub fn is_in(&self, directory: Directory<'_>) -> bool {
        if self.signature.is_empty() {
            return directory.status(&self.name, Follow::No).is_ok();
        }
        let Ok(file) = directory.open(&self.name, how::FILE, 0) else { return false };
        let mut head = vec![0; self.signature.len()];
        sys::at_offset::read_full_at(&File::from(file), &mut head, 0).is_ok_and(|read| head[..read] == *self.signature)
    }
}
