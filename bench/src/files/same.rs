//! Whether one tree is another's copy: names, kinds, bytes, targets of links, and as much metadata as a job keeps.
//! Says what the first difference is. Follows no link, changes nothing.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// What a copy has of its original's metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Modes, less the umask.
    Modes,
    /// Modes, owners, times and hard links; GNU tar's own format has whole seconds.
    Seconds,
    /// The same, to the nanosecond.
    Nanoseconds,
}

/// Two trees to be compared.
#[derive(Clone, Debug)]
pub struct Same {
    pub original: PathBuf,
    pub copy: PathBuf,
    pub kept: Kept,
}

impl Same {
    /// An error that names the first difference.
    pub fn check(&self) -> Result<(), String> {
        let mut walk = Walk { kept: self.kept, umask: umask(), links: HashMap::new(), buffers: Default::default() };
        walk.entry(&self.original, &self.copy)
    }
}

struct Walk {
    kept: Kept,
    umask: u32,
    /// By device and number: which file of the copy stands for a file with several names.
    links: HashMap<(u64, u64), (u64, u64)>,
    buffers: [Vec<u8>; 2],
}

impl Walk {
    fn entry(&mut self, original: &Path, copy: &Path) -> Result<(), String> {
        let (left, right) = (look(original)?, look(copy)?);
        let differs = |what: &str| Err(format!("{} is not as {}: {what}", copy.display(), original.display()));
        if let Some(what) = self.metadata_differ(&left, &right) {
            return differs(what);
        }
        if left.is_dir() {
            return self.directory(original, copy);
        }
        if left.is_symlink() && target(original)? != target(copy)? {
            return differs("its target");
        }
        if left.is_file() && !self.bytes_are_equal(original, copy)? {
            return differs("its bytes");
        }
        Ok(())
    }

    fn directory(&mut self, original: &Path, copy: &Path) -> Result<(), String> {
        let (left, right) = (names(original)?, names(copy)?);
        if left != right {
            let odd = left.iter().find(|name| !right.contains(name)).or(right.iter().find(|name| !left.contains(name)));
            return Err(format!("{} has other names than {}: {odd:?}", copy.display(), original.display()));
        }
        left.iter().try_for_each(|name| self.entry(&original.join(name), &copy.join(name)))
    }

    fn metadata_differ(&mut self, left: &Metadata, right: &Metadata) -> Option<&'static str> {
        if left.file_type() != right.file_type() {
            return Some("its kind");
        }
        if !left.is_dir() && left.len() != right.len() {
            return Some("its length");
        }
        let has_mode = !left.is_symlink();
        if self.kept == Kept::Modes {
            let less = |mode: u32| mode & 0o777 & !self.umask;
            return (has_mode && less(left.mode()) != less(right.mode())).then_some("its mode");
        }
        if has_mode && left.mode() != right.mode() {
            return Some("its mode");
        }
        if (left.uid(), left.gid()) != (right.uid(), right.gid()) {
            return Some("its owner");
        }
        let is_exact = self.kept == Kept::Nanoseconds;
        if left.mtime() != right.mtime() || is_exact && left.mtime_nsec() != right.mtime_nsec() {
            return Some("its time");
        }
        if left.file_type().is_block_device() || left.file_type().is_char_device() {
            return (left.rdev() != right.rdev()).then_some("its device");
        }
        if !left.is_dir() && left.nlink() > 1 {
            let file = (right.dev(), right.ino());
            let stands_for_it = *self.links.entry((left.dev(), left.ino())).or_insert(file);
            return (stands_for_it != file).then_some("its other names");
        }
        None
    }

    fn bytes_are_equal(&mut self, original: &Path, copy: &Path) -> Result<bool, String> {
        self.buffers.iter_mut().for_each(|buffer| buffer.resize(PIECE_BYTES, 0));
        let [mut left, mut right] = [open(original)?, open(copy)?];
        let [one, other] = &mut self.buffers;
        loop {
            let (read, also) = (fill(&mut left, one, original)?, fill(&mut right, other, copy)?);
            if one[..read] != other[..also] {
                return Ok(false);
            }
            if read < PIECE_BYTES {
                return Ok(true);
            }
        }
    }
}

/// Read at once of each file.
const PIECE_BYTES: usize = 256 << 10;

fn fill(file: &mut File, buffer: &mut [u8], path: &Path) -> Result<usize, String> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]).map_err(|error| format!("could not read {}: {error}", path.display()))? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

fn open(path: &Path) -> Result<File, String> {
    File::open(path).map_err(|error| format!("could not open {}: {error}", path.display()))
}

fn look(path: &Path) -> Result<Metadata, String> {
    path.symlink_metadata().map_err(|error| format!("could not look at {}: {error}", path.display()))
}

fn target(path: &Path) -> Result<PathBuf, String> {
    path.read_link().map_err(|error| format!("could not read the link {}: {error}", path.display()))
}

/// Sorted.
fn names(directory: &Path) -> Result<Vec<OsString>, String> {
    let failed = |error: std::io::Error| format!("could not list {}: {error}", directory.display());
    let entries = std::fs::read_dir(directory).map_err(failed)?;
    let mut names =
        entries.map(|entry| entry.map(|entry| entry.file_name())).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    names.sort();
    Ok(names)
}

/// The kernel says it without changing it.
fn umask() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let digits = status.lines().find_map(|line| line.strip_prefix("Umask:")).unwrap_or("0022").trim().to_owned();
    u32::from_str_radix(&digits, 8).unwrap_or(0o022)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::process::Command;

    /// Something that is done to a copy.
    type Change = fn(&Path);

    fn pair() -> (tempfile::TempDir, Same) {
        let directory = tempfile::tempdir().expect("a directory");
        let original = directory.path().join("original");
        std::fs::create_dir_all(original.join("inner")).expect("directories");
        std::fs::write(original.join("inner/file"), vec![7; PIECE_BYTES + 5]).expect("a file");
        std::fs::hard_link(original.join("inner/file"), original.join("again")).expect("a link");
        symlink("nowhere", original.join("link")).expect("a link");
        let copy = directory.path().join("copy");
        let same = Same { original, copy, kept: Kept::Nanoseconds };
        let status = Command::new("cp").arg("-a").args([&same.original, &same.copy]).status().expect("cp is there");
        assert!(status.success());
        (directory, same)
    }

    #[test]
    fn a_copy_is_the_same_and_a_plain_copy_has_the_modes_alone() {
        let (_directory, same) = pair();
        assert_eq!(same.check(), Ok(()));
        std::fs::remove_dir_all(&same.copy).expect("it was there");
        Command::new("cp").arg("-r").args([&same.original, &same.copy]).status().expect("cp is there");
        assert_eq!(Same { kept: Kept::Modes, ..same.clone() }.check(), Ok(()));
        assert!(same.check().is_err());
    }

    #[test]
    fn every_difference_is_seen() {
        let changes: &[(&str, Change)] = &[
            ("other names", |copy| std::fs::write(copy.join("more"), "").expect("a file")),
            ("other names", |copy| std::fs::remove_file(copy.join("link")).expect("it was there")),
            ("its bytes", |copy| {
                let mut bytes = vec![7; PIECE_BYTES + 5];
                bytes[PIECE_BYTES] = 8;
                let time = copy.join("again").metadata().and_then(|metadata| metadata.modified()).expect("a time");
                std::fs::write(copy.join("again"), bytes).expect("a file");
                File::options()
                    .write(true)
                    .open(copy.join("again"))
                    .and_then(|file| file.set_modified(time))
                    .expect("a time");
            }),
            ("its length", |copy| std::fs::write(copy.join("again"), "").expect("a file")),
            ("its target", |copy| {
                std::fs::remove_file(copy.join("link")).expect("it was there");
                symlink("no_here", copy.join("link")).expect("a link");
                let reference = copy.with_file_name("original").join("link");
                let status = Command::new("touch").arg("-hr").arg(reference).arg(copy.join("link")).status();
                assert!(status.expect("touch").success());
            }),
            ("its mode", |copy| {
                std::fs::set_permissions(copy.join("inner"), PermissionsExt::from_mode(0o700)).expect("a mode");
            }),
            ("its kind", |copy| {
                std::fs::remove_file(copy.join("link")).expect("it was there");
                std::fs::create_dir(copy.join("link")).expect("a directory");
            }),
            ("its other names", |copy| {
                let status = Command::new("sh").args(["-c", "cp -p again x && mv x again"]).current_dir(copy).status();
                assert!(status.expect("a shell").success());
            }),
            ("its time", |copy| {
                let file = File::options().write(true).open(copy.join("again")).expect("it is there");
                file.set_modified(std::time::UNIX_EPOCH).expect("a time");
            }),
        ];
        for (expected, change) in changes {
            let (_directory, same) = pair();
            change(&same.copy);
            // The change has given the directory another time: it is not what is looked for.
            let status = Command::new("touch").arg("-r").arg(&same.original).arg(&same.copy).status();
            assert!(status.expect("touch").success());
            let said = same.check().expect_err(expected);
            assert!(said.contains(expected), "{expected}: {said}");
        }
    }
}
