//! Where the files suite works: a directory in memory, or a file system of its own on a loop device; and what lies in each: the tree,
//! a flat directory, ten files. Makes them; measures nothing.

use crate::undo::{Undo, shell};
use std::path::{Path, PathBuf};
use xtask::workspace;

/// How much there is of each.
#[derive(Clone, Copy)]
pub struct Sizes {
    /// What of the Linux source is unpacked.
    tree: &'static str,
    /// Files of the flat directory.
    flat_files: usize,
    pub large_bytes: u64,
    /// What a run of the tree takes, at most.
    run_bytes: u64,
    /// Of each of the eight.
    pub eighth_bytes: u64,
    disk_bytes: u64,
}

impl Sizes {
    pub const WHOLE: Self = Self {
        tree: "",
        flat_files: 100_000,
        large_bytes: 4 << 30,
        run_bytes: 1700 << 20,
        eighth_bytes: 128 << 20,
        disk_bytes: 12 << 30,
    };
    /// To see whether it works.
    pub const QUICK: Self = Self {
        tree: "--wildcards '*/drivers/net/*'",
        flat_files: 5000,
        large_bytes: 256 << 20,
        run_bytes: 256 << 20,
        eighth_bytes: 8 << 20,
        disk_bytes: 2 << 30,
    };
}

/// A directory with everything in it.
pub struct Place {
    /// Its file system, as the table shows it.
    pub name: &'static str,
    pub directory: PathBuf,
    /// The directory above the tree, and the tree's name in it.
    pub above_tree: PathBuf,
    pub tree_name: String,
    /// The last file of the tree, below it: what is taken out of an archive alone.
    pub member: String,
    pub sizes: Sizes,
    /// What is done before each run, so that it does not pay for the one before.
    pub settle: String,
}

const LINUX: &str = "/usr/src/linux-source-6.1.tar.xz";

impl Place {
    /// Where all would be; nothing is made.
    pub fn named(name: &'static str, directory: &Path, tree: Option<&Path>, sizes: Sizes) -> Self {
        let directory = directory.to_owned();
        let (above_tree, tree_name) = tree
            .and_then(|tree| Some((tree.parent()?.to_owned(), tree.file_name()?.to_str()?.to_owned())))
            .unwrap_or((directory.clone(), "linux".to_owned()));
        let settle = touch_memory(&directory, sizes.run_bytes);
        Self { name, directory, above_tree, tree_name, member: String::new(), sizes, settle }
    }

    /// A line of shell that has the kernel hold as much free memory as the large file takes.
    pub fn touch_for_large(&self) -> String {
        touch_memory(&self.directory, self.sizes.large_bytes)
    }

    pub fn tree(&self) -> PathBuf {
        self.above_tree.join(&self.tree_name)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    pub fn text(&self, name: &str) -> String {
        self.path(name).to_string_lossy().into_owned()
    }

    /// Makes what is not there yet; says what it is.
    pub fn make(&mut self, sizes: Sizes) -> Result<String, String> {
        let failed = |error: std::io::Error| format!("could not make {}: {error}", self.directory.display());
        std::fs::create_dir_all(&self.directory).map_err(failed)?;
        let kind = shell(&format!("stat -f -c %T '{}'", self.directory.display()))?;
        if kind != self.name {
            return Err(format!("{} is on {kind}; a directory in memory is needed: --data", self.directory.display()));
        }
        self.unpack_tree(sizes)?;
        make_files(&self.path("flat"), sizes.flat_files).map_err(failed)?;
        make_files(&self.path("ten"), 10).map_err(failed)?;
        let tree = self.tree();
        self.member =
            shell(&format!("cd '{}' && find . -type f | LC_ALL=C sort | tail -n 1 | cut -c 3-", tree.display()))?;
        let counted = shell(&format!("find '{0}' | wc -l; du -sb '{0}' | cut -f 1", tree.display()))?;
        let (entries, bytes) = counted.split_once('\n').unwrap_or((&counted, "0"));
        let megabytes = bytes.trim().parse().unwrap_or(0.0) / 1e6;
        let origin = if tree.starts_with(&self.directory) {
            format!("linux-source-6.1 {}", sizes.tree)
        } else {
            self.tree_name.clone()
        };
        Ok(format!(
            "tree: {}, {entries} entries, {megabytes:.0} MB; flat directory: {} files of 0 to 4 KiB",
            origin.trim(),
            sizes.flat_files
        ))
    }

    fn unpack_tree(&self, sizes: Sizes) -> Result<(), String> {
        let tree = self.tree();
        if tree.is_dir() {
            return Ok(());
        }
        if !Path::new(LINUX).is_file() {
            let _told_below = workspace::run("apt-get", &["install", "-y", "-qq", "linux-source-6.1"]);
        }
        // Under its name only when it is whole.
        let part = tree.with_extension("part");
        let (tree, part) = (tree.display(), part.display());
        let unpack = format!("tar -xpf {LINUX} -C '{part}' --strip-components=1 {}", sizes.tree);
        shell(&format!("rm -rf '{part}' && mkdir '{part}' && {unpack} && mv '{part}' '{tree}'")).map(drop)
    }
}

/// A line of shell that has the kernel hold as many bytes of free memory, in pieces as `directory`'s file system takes for its files.
// LIE: a virtual machine's memory is given back to its host while it is free, blocks of 2 MiB and more first, and to touch it again costs several times what
// copying does. Where a file system takes large pieces for large writes (ext4 since Linux 6.16), memory that another's small ones have touched does not help.
fn touch_memory(directory: &Path, bytes: u64) -> String {
    let (touched, mebibytes) = (directory.join("touched"), bytes.div_ceil(1 << 20));
    format!("dd if=/dev/zero of='{0}' bs=1M count={mebibytes} status=none && rm '{0}'", touched.display())
}

/// 0 to 4 KiB each, the same ones every time.
fn make_files(directory: &Path, count: usize) -> std::io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    let part = directory.with_extension("part");
    let _of_an_interrupted_run = std::fs::remove_dir_all(&part);
    std::fs::create_dir(&part)?;
    let bytes: Vec<u8> = (0..4096_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for number in 0..count {
        let length = number.wrapping_mul(2_654_435_761) % 4097;
        std::fs::write(part.join(format!("file-{number:06}")), &bytes[..length])?;
    }
    std::fs::rename(&part, directory)
}

/// ext4 in a file, on a loop device; gone when dropped, as far as it came.
pub struct Disk {
    pub place: Place,
    _undo: Undo,
}

impl Disk {
    /// With the tree and the flat directory of `memory` on it.
    pub fn new(memory: &Place, sizes: Sizes) -> Result<Self, String> {
        let image = std::env::temp_dir().join(format!("mh-bench-files-{}.img", std::process::id()));
        let mount = image.with_extension("mount");
        let mut undo = Undo::begin()?;
        let (image, at) = (format!("'{}'", image.display()), format!("'{}'", mount.display()));
        undo.step(&format!("truncate -s {} {image}", sizes.disk_bytes), &format!("rm -f {image}"))?;
        // Tables at once: else the kernel makes them beside what is measured.
        undo.step(&format!("mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 -N 1000000 {image}"), "")?;
        undo.step(&format!("mkdir {at}"), &format!("rmdir {at}"))?;
        undo.step(&format!("mount -o loop {image} {at}"), &format!("umount {at}"))?;
        let mut place = Place::named("ext4", &mount, None, sizes);
        place.tree_name.clone_from(&memory.tree_name);
        shell(&format!("cp -a '{}' '{}' {at}", memory.tree().display(), memory.text("flat")))?;
        place.settle = format!("sync -f {at} && {}", touch_memory(&mount, sizes.run_bytes));
        shell(&place.settle)?;
        Ok(Self { place, _undo: undo })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_made_once_and_of_all_sizes() {
        let directory = tempfile::tempdir().expect("a directory");
        let flat = directory.path().join("flat");
        make_files(&flat, 50).expect("they can be made");
        let lengths = || {
            let entries = std::fs::read_dir(&flat).expect("it is there");
            let length = |entry: std::io::Result<std::fs::DirEntry>| {
                entry.and_then(|entry| entry.metadata()).map(|found| found.len())
            };
            entries.map(|entry| length(entry).expect("a file")).collect::<Vec<u64>>()
        };
        assert_eq!(lengths().len(), 50);
        assert!(lengths().contains(&0) && lengths().iter().any(|length| *length > 3000));
        make_files(&flat, 60).expect("they are there");
        assert_eq!(lengths().len(), 50, "what is there is kept");
    }

    #[test]
    fn a_tree_of_ones_own_is_named_where_it_is() {
        let place = Place::named("tmpfs", Path::new("/d"), Some(Path::new("/home/x/tree")), Sizes::QUICK);
        assert_eq!((place.tree(), place.path("flat")), (PathBuf::from("/home/x/tree"), PathBuf::from("/d/flat")));
        assert_eq!(Place::named("tmpfs", Path::new("/d"), None, Sizes::QUICK).tree(), Path::new("/d/linux"));
    }
}
