//! Directory trees: making one for a test, and comparing what a program left with what it should have left.
//! Compares names, contents, modes and times, but not owners, hard links and extended attributes.

use std::collections::BTreeMap;
use std::fs::{self, File, FileTimes, Metadata, Permissions};
use std::hash::Hasher;
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

pub use tempfile::TempDir;

/// A temporary directory that is filled step by step and removed at the end. Panics where the file system refuses.
#[derive(Debug)]
pub struct TempTree {
    directory: TempDir,
}

impl Default for TempTree {
    fn default() -> Self {
        Self::new()
    }
}

impl TempTree {
    /// An empty directory.
    pub fn new() -> Self {
        Self { directory: tempfile::tempdir().expect("a temporary directory can be made") }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file and the directories above it.
    pub fn file(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) -> &Self {
        let path = self.prepare(name);
        fs::write(&path, content).unwrap_or_else(|error| panic!("could not write {path:?}: {error}"));
        self
    }

    /// Makes a directory and those above it.
    pub fn directory(&self, name: impl AsRef<Path>) -> &Self {
        let path = self.prepare(name);
        fs::create_dir_all(&path).unwrap_or_else(|error| panic!("could not make {path:?}: {error}"));
        self
    }

    /// Makes a symbolic link to `target`, which is taken as it is, and the directories above it.
    pub fn link(&self, name: impl AsRef<Path>, target: impl AsRef<Path>) -> &Self {
        let path = self.prepare(name);
        symlink(target, &path).unwrap_or_else(|error| panic!("could not link {path:?}: {error}"));
        self
    }

    /// Sets permissions, such as `0o640`.
    pub fn mode(&self, name: impl AsRef<Path>, mode: u32) -> &Self {
        let path = self.prepare(name);
        let set = fs::set_permissions(&path, Permissions::from_mode(mode));
        set.unwrap_or_else(|error| panic!("could not set the mode of {path:?}: {error}"));
        self
    }

    /// Sets the time of the last change, in time since 1970. Directories change when something is put into them: set theirs
    /// last.
    pub fn modified(&self, name: impl AsRef<Path>, since_1970: Duration) -> &Self {
        let path = self.prepare(name);
        let times = FileTimes::new().set_modified(UNIX_EPOCH + since_1970);
        let set = File::open(&path).and_then(|file| file.set_times(times));
        set.unwrap_or_else(|error| panic!("could not set the time of {path:?}: {error}"));
        self
    }

    /// The full path of `name`, with the directories above it made.
    fn prepare(&self, name: impl AsRef<Path>) -> PathBuf {
        let path = self.path().join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).unwrap_or_else(|error| panic!("could not make {parent:?}: {error}"));
        }
        path
    }
}

/// All that is in a directory, by relative name, at one moment. The directory itself is not part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeSnapshot {
    /// What lies under each name.
    pub entries: BTreeMap<PathBuf, TreeEntry>,
}

/// One file, directory, link or other thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    /// What it is and holds.
    pub content: EntryContent,
    /// Permission bits, with set-user-id and the like.
    pub mode: u32,
    /// Last change, seconds since 1970.
    pub modified_s: i64,
    /// Nanoseconds of that second.
    pub modified_ns: i64,
}

/// What an entry is and holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryContent {
    /// A regular file. The digest is for comparing on one machine in one build only.
    File {
        /// Its length.
        bytes: u64,
        /// A 64-bit digest of what is in it.
        digest: u64,
    },
    /// A directory; what is in it stands under names of its own.
    Directory,
    /// A symbolic link.
    Link {
        /// Where it points.
        target: PathBuf,
    },
    /// A pipe, socket or device.
    Special,
}

impl TreeSnapshot {
    /// Looks at everything in `directory`. Links are not followed.
    pub fn of(directory: &Path) -> io::Result<Self> {
        let mut entries = BTreeMap::new();
        let mut unseen = vec![PathBuf::new()];
        while let Some(relative) = unseen.pop() {
            for item in fs::read_dir(directory.join(&relative))? {
                let name = relative.join(item?.file_name());
                let path = directory.join(&name);
                let metadata = fs::symlink_metadata(&path)?;
                if metadata.is_dir() {
                    unseen.push(name.clone());
                }
                entries.insert(name, TreeEntry::of(&path, &metadata)?);
            }
        }
        Ok(Self { entries })
    }

    /// What distinguishes `other` from this one, a line each; nothing when they are equal.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let mut lines = Vec::new();
        for (name, entry) in &self.entries {
            match other.entries.get(name) {
                None => lines.push(format!("{name:?} is missing")),
                Some(found) if found != entry => lines.push(format!("{name:?} is {found:?}, should be {entry:?}")),
                Some(_) => {}
            }
        }
        let added = other.entries.keys().filter(|name| !self.entries.contains_key(*name));
        lines.extend(added.map(|name| format!("{name:?} should not be there")));
        lines
    }
}

impl TreeEntry {
    fn of(path: &Path, metadata: &Metadata) -> io::Result<Self> {
        let kind = metadata.file_type();
        let content = if kind.is_file() {
            EntryContent::File { bytes: metadata.len(), digest: digest(path)? }
        } else if kind.is_dir() {
            EntryContent::Directory
        } else if kind.is_symlink() {
            EntryContent::Link { target: fs::read_link(path)? }
        } else {
            debug_assert!(kind.is_fifo() || kind.is_socket() || kind.is_char_device() || kind.is_block_device());
            EntryContent::Special
        };
        let (modified_s, modified_ns) = (metadata.mtime(), metadata.mtime_nsec());
        Ok(Self { content, mode: metadata.mode() & 0o7777, modified_s, modified_ns })
    }
}

fn digest(path: &Path) -> io::Result<u64> {
    let mut file = File::open(path)?;
    // Fixed keys: equal contents have equal digests in every process of one build.
    let mut hasher = std::hash::DefaultHasher::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finish()),
            read => hasher.write(&buffer[..read]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> TempTree {
        let tree = TempTree::new();
        tree.file("a/one", "1").file("a/two", "22").directory("empty").link("a/link", "one");
        tree.mode("a/one", 0o640);
        for name in ["a/one", "a/two", "a", "empty"] {
            tree.modified(name, Duration::new(1_000_000_000, 5));
        }
        tree
    }

    fn snapshot(tree: &TempTree) -> TreeSnapshot {
        let mut snapshot = TreeSnapshot::of(tree.path()).expect("readable");
        // A link's own time cannot be set by the standard library.
        snapshot.entries.get_mut(Path::new("a/link")).expect("there").modified_s = 0;
        snapshot.entries.get_mut(Path::new("a/link")).expect("there").modified_ns = 0;
        snapshot
    }

    #[test]
    fn equal_trees_have_equal_snapshots() {
        let (one, other) = (snapshot(&sample()), snapshot(&sample()));
        assert_eq!(one, other);
        assert!(one.differences(&other).is_empty());
        assert_eq!(one.entries.len(), 5);
        assert_eq!(one.entries[Path::new("a/one")].mode, 0o640);
    }

    #[test]
    fn every_kind_of_difference_is_seen() {
        type Change = fn(&TempTree) -> &TempTree;
        let changes: [(Change, &str); 6] = [
            (|tree| tree.file("a/two", "23").modified("a/two", Duration::new(1_000_000_000, 5)), "\"a/two\" is "),
            (|tree| tree.mode("a/one", 0o600), "\"a/one\" is "),
            (|tree| tree.modified("a/one", Duration::new(1_000_000_000, 6)), "\"a/one\" is "),
            (|tree| tree.modified("empty", Duration::new(7, 0)), "\"empty\" is "),
            (|tree| tree.file("new", ""), "\"new\" should not be there"),
            (
                |tree| {
                    fs::remove_dir(tree.path().join("empty")).expect("removable");
                    tree
                },
                "\"empty\" is missing",
            ),
        ];
        for (change, line) in changes {
            let (before, tree) = (snapshot(&sample()), sample());
            change(&tree);
            let differences = before.differences(&snapshot(&tree));
            assert!(differences.len() == 1 && differences[0].starts_with(line), "{differences:?}");
        }
    }

    #[test]
    fn links_are_not_followed() {
        let tree = TempTree::new();
        tree.link("loop", ".").link("nowhere", "absent");
        let snapshot = TreeSnapshot::of(tree.path()).expect("readable");
        let target = PathBuf::from("absent");
        assert_eq!(snapshot.entries[Path::new("nowhere")].content, EntryContent::Link { target });
        assert_eq!(snapshot.entries.len(), 2);
    }
}
