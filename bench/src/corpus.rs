//! What is compressed: source code as everybody's benchmark has it, and a mixture of what disks hold. Made once, in memory.
//! Removes only the directory that it made itself. The same machine makes the same bytes again.

use super::undo::Undo;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use xtask::workspace;

/// The directory with the corpora. Paths only, until they are made.
pub struct Data {
    directory: PathBuf,
    /// Source code: the Linux tar, or what stands in for it.
    pub source: Corpora,
    /// Programs, libraries, documents, database-like records.
    pub mixed: Corpora,
    /// Files of 1 MiB.
    pub small: Files,
    /// Many files of 64 KiB.
    pub many: Files,
    /// A file of 1 KiB.
    pub tiny: PathBuf,
    /// What source code is taken from instead of Linux.
    tree: Option<PathBuf>,
    keep: bool,
    /// Removes the directory. Naming files is no reason to: they may have been kept by an earlier run.
    undo: Option<Undo>,
}

/// A file to compress.
pub struct Corpus {
    /// As the table shows it: a beginning is named with its MiB.
    pub name: &'static str,
    pub plain: PathBuf,
    pub bytes: u64,
}

/// A file, and beginnings of it for rows that are slow.
pub struct Corpora {
    pub whole: Corpus,
    pub middle: Corpus,
    pub short: Corpus,
}

/// Files of one size, cut from all over the mixture.
pub struct Files {
    pub paths: Vec<PathBuf>,
    /// Their paths, a line each.
    pub list: PathBuf,
    each_bytes: u64,
}

/// A file that a shell command makes.
#[derive(Clone)]
pub struct Made {
    pub path: PathBuf,
    pub script: String,
}

impl Made {
    /// Makes it, if it is not there. It gets its name when it is whole.
    pub fn make(&self) -> Result<(), String> {
        if self.path.is_file() {
            return Ok(());
        }
        let failed = |cause: String| format!("could not make {}: {cause}", self.path.display());
        let part = self.path.with_extension("part");
        let script = format!("{} > '{}'", self.script, part.display());
        let status = Command::new("sh").args(["-c", &script]).status().map_err(|error| failed(error.to_string()))?;
        if !status.success() {
            return Err(failed(format!("{script} ended with {status}")));
        }
        std::fs::rename(&part, &self.path).map_err(|error| failed(error.to_string()))
    }
}

const MIB: u64 = 1 << 20;
pub const SOURCE: &str = "source";
pub const MIXED: &str = "mixed";
pub const TINY: &str = "tiny";
const LINUX: &str = "/usr/src/linux-source-6.1.tar.xz";
/// The same bytes whatever the order on disk, and whoever unpacked it.
const TAR: &str = "tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -c";

impl Data {
    /// Names what would be in a directory below `directory`.
    pub fn at(directory: &Path, quick: bool, keep: bool) -> Self {
        let directory = directory.join("manyhands-corpora");
        let corpora = |names: [&'static str; 3], mib: [u64; 3]| {
            let [whole, middle, short] = [0, 1, 2].map(|index| Corpus {
                name: names[index],
                plain: directory.join(format!("{}.{}", names[0], mib[index])),
                bytes: mib[index] * MIB,
            });
            Corpora { whole, middle, short }
        };
        let files = |name: &str, count: usize, each_bytes: u64| Files {
            paths: (0..count).map(|number| directory.join(name).join(format!("{number:04}"))).collect(),
            list: directory.join(format!("{name}.list")),
            each_bytes,
        };
        let (source, mixed, counts) = if quick {
            let source = corpora([SOURCE, "source-16", "source-8"], [64, 16, 8]);
            (source, corpora([MIXED, "mixed-16", "mixed-8"], [64, 16, 8]), (8, 200))
        } else {
            let source = corpora([SOURCE, "source-128", "source-64"], [512, 128, 64]);
            (source, corpora([MIXED, "mixed-128", "mixed-64"], [256, 128, 64]), (72, 2000))
        };
        Self {
            source,
            mixed,
            small: files("small", counts.0, MIB),
            many: files("many", counts.1, 64 << 10),
            tiny: directory.join(TINY),
            directory,
            tree: None,
            keep,
            undo: None,
        }
    }

    /// The source of a tree, where one is named: made anew, and not kept, since its files have the names that those of Linux have.
    pub fn of_tree(self, tree: Option<&Path>) -> Self {
        Self { tree: tree.map(Path::to_owned), keep: self.keep && tree.is_none(), ..self }
    }

    /// Makes what is not there yet; says what it is.
    pub fn make(&mut self) -> Result<String, String> {
        if !self.keep {
            self.undo = Some(self.removal()?);
        }
        let failed = |error: std::io::Error| format!("could not make {}: {error}", self.directory.display());
        // What a run that was killed has left, or one of another source: packed files belong to the plain ones that they were made of.
        let is_ours = [&self.source, &self.mixed].iter().all(|corpora| corpora.whole.plain.is_file());
        if (self.tree.is_some() || !is_ours) && self.directory.exists() {
            std::fs::remove_dir_all(&self.directory).map_err(failed)?;
        }
        std::fs::create_dir_all(&self.directory).map_err(failed)?;
        let described = self.make_source()?;
        let mixed = &self.mixed.whole;
        if !mixed.plain.is_file() {
            let part = mixed.plain.with_extension("part");
            make_mixed(mixed.bytes, &part)?;
            std::fs::rename(&part, &mixed.plain).map_err(failed)?;
        }
        for corpora in [&self.source, &self.mixed] {
            for beginning in [&corpora.middle, &corpora.short] {
                copy_beginning(&corpora.whole.plain, beginning.bytes, &beginning.plain).map_err(failed)?;
            }
        }
        let bytes = std::fs::read(&mixed.plain).map_err(failed)?;
        for files in [&self.small, &self.many] {
            files.cut_from(&bytes).map_err(failed)?;
        }
        copy_beginning(&self.source.whole.plain, 1024, &self.tiny).map_err(failed)?;
        let (middle, short) = (&self.source.middle, &self.source.short);
        Ok(format!(
            "source: {described}; mixed: {} MiB of programs, libraries, documents and generated records; {} and {}: its first {} and {} MiB, and so with mixed",
            mixed.bytes / MIB,
            middle.name,
            short.name,
            middle.bytes / MIB,
            short.bytes / MIB
        ))
    }

    /// Makes the source alone, for suites that need no other corpus; says what it is.
    pub fn make_source_alone(&mut self) -> Result<String, String> {
        if !self.keep {
            self.undo = Some(self.removal()?);
        }
        let failed = |error: std::io::Error| format!("could not make {}: {error}", self.directory.display());
        std::fs::create_dir_all(&self.directory).map_err(failed)?;
        let described = self.make_source()?;
        for beginning in [&self.source.middle, &self.source.short] {
            copy_beginning(&self.source.whole.plain, beginning.bytes, &beginning.plain).map_err(failed)?;
        }
        Ok(described)
    }

    /// A file in the directory.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// The directory above goes only if nothing of somebody else's is in it.
    fn removal(&self) -> Result<Undo, String> {
        let mut undo = Undo::begin()?;
        if let Some(above) = self.directory.parent() {
            undo.later(&format!("rmdir '{}' || true", above.display()))?;
        }
        undo.later(&format!("rm -rf '{}'", self.directory.display()))?;
        Ok(undo)
    }

    fn make_source(&self) -> Result<String, String> {
        if self.tree.is_none() && !Path::new(LINUX).is_file() {
            let _stands_in_below = workspace::run("apt-get", &["install", "-y", "-qq", "linux-source-6.1"]);
        }
        if let Some(tree) = self.tree.as_ref().filter(|tree| !tree.is_dir()) {
            return Err(format!("{} is no directory", tree.display()));
        }
        let source = &self.source.whole;
        let mib = source.bytes / MIB;
        let (script, described) = if let Some(tree) = &self.tree {
            (format!("{TAR} '{}'", tree.display()), format!("at most {mib} MiB of a tar of {}", tree.display()))
        } else if Path::new(LINUX).is_file() {
            (format!("xz -dc {LINUX}"), format!("the first {mib} MiB of linux-source-6.1.tar"))
        } else {
            let once = format!("{TAR} \"$(rustc --print sysroot)\" /usr/lib");
            // tar may find files that it cannot read (2); head ends the loop (a signal).
            let script = format!("while {once}; [ $? -le 2 ]; do :; done");
            (script, format!("{mib} MiB of a tar of the Rust sysroot and /usr/lib, repeated; NOT the Linux tar"))
        };
        if !source.plain.is_file() {
            let part = source.plain.with_extension("part");
            first_bytes(&script, source.bytes, &part)?;
            std::fs::rename(&part, &source.plain)
                .map_err(|error| format!("could not make {}: {error}", source.plain.display()))?;
        }
        Ok(described)
    }
}

impl Files {
    fn cut_from(&self, bytes: &[u8]) -> std::io::Result<()> {
        let step = bytes.len() / self.paths.len();
        let mut list = String::new();
        for (number, path) in self.paths.iter().enumerate() {
            std::fs::create_dir_all(path.parent().expect("it has a directory"))?;
            let part = &bytes[number * step..];
            std::fs::write(path, &part[..part.len().min(self.each_bytes as usize)])?;
            list += &format!("{}\n", path.display());
        }
        std::fs::write(&self.list, list)
    }
}

fn copy_beginning(from: &Path, bytes: u64, to: &Path) -> std::io::Result<()> {
    std::io::copy(&mut std::io::Read::take(File::open(from)?, bytes), &mut File::create(to)?)?;
    Ok(())
}

/// The first bytes of what a script writes; it need not come to its own end.
fn first_bytes(script: &str, bytes: u64, path: &Path) -> Result<(), String> {
    let failed = |cause: String| format!("could not make {}: {cause}", path.display());
    let script = format!("{{ {script}; }} 2>/dev/null | head -c {bytes} > '{}'", path.display());
    let status = Command::new("sh").args(["-c", &script]).stderr(Stdio::null()).status();
    status.map_err(|error| failed(error.to_string()))?;
    match path.metadata() {
        Ok(metadata) if metadata.len() > 0 => Ok(()),
        _ => Err(failed(format!("{script} wrote nothing"))),
    }
}

/// Half programs and libraries, an eighth documents, then generated records to the size wanted.
fn make_mixed(bytes: u64, path: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("could not make {}: {error}", path.display());
    let mut file = BufWriter::new(File::create(path).map_err(failed)?);
    let piece = path.with_extension("piece");
    let mut so_far = 0;
    for (directories, share) in [("/usr/bin", bytes / 4), ("/usr/lib", bytes / 4), ("/usr/share/doc", bytes / 8)] {
        first_bytes(&format!("{TAR} {directories}"), share, &piece)?;
        so_far += std::io::copy(&mut File::open(&piece).map_err(failed)?, &mut file).map_err(failed)?;
    }
    std::fs::remove_file(&piece).map_err(failed)?;
    write_records(&mut file, bytes.saturating_sub(so_far)).map_err(failed)?;
    file.flush().map_err(failed)
}

/// Pages like a database's: rising keys, repeating names, numbers that hardly repeat, and free space.
fn write_records(file: &mut impl Write, bytes: u64) -> std::io::Result<()> {
    let (mut written, mut key, mut state) = (0, 0_u64, 0x9E37_79B9_7F4A_7C15_u64);
    while written < bytes {
        let mut page = Vec::with_capacity(16 << 10);
        while page.len() < 14 << 10 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            key += 1 + state % 3;
            page.extend(key.to_be_bytes());
            page.extend((state as u32).to_le_bytes());
            let name = ["order", "customer", "invoice", "shipment"][(state >> 40) as usize % 4];
            let (number, month, day) = (state % 5000, state % 12 + 1, state % 28 + 1);
            page.extend(format!("{name}-{number:05}|2026-{month:02}-{day:02}|").bytes());
        }
        page.resize(16 << 10, 0);
        let left = usize::try_from(bytes - written).unwrap_or(usize::MAX).min(page.len());
        file.write_all(&page[..left])?;
        written += left as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_the_same_each_time_and_exactly_as_long_as_wanted() {
        let (mut first, mut second) = (Vec::new(), Vec::new());
        write_records(&mut first, 50_000).expect("memory can be written");
        write_records(&mut second, 50_000).expect("memory can be written");
        assert_eq!(first.len(), 50_000);
        assert!(first == second);
    }

    #[test]
    fn only_what_was_made_is_removed() {
        let directory = tempfile::tempdir().expect("a directory");
        let theirs = directory.path().join("theirs");
        std::fs::write(&theirs, "x").expect("a file");
        let made = Data::at(directory.path(), true, false).directory.clone();
        for (is_made, stays) in [(false, true), (true, false)] {
            std::fs::create_dir_all(&made).expect("a directory");
            let mut data = Data::at(directory.path(), true, false);
            data.undo = is_made.then(|| data.removal().expect("a shell"));
            drop(data);
            assert_eq!(made.exists(), stays, "made {is_made}");
        }
        assert!(theirs.is_file());
    }

    #[test]
    fn the_source_of_a_tree_is_a_tar_of_it_and_not_kept() {
        let directory = tempfile::tempdir().expect("a directory");
        let tree = directory.path().join("tree");
        let data = || Data::at(&directory.path().join("data"), true, true).of_tree(Some(&tree));
        assert!(data().make_source_alone().expect_err("there is none").ends_with("tree is no directory"));
        std::fs::create_dir(&tree).and_then(|()| std::fs::write(tree.join("inside"), "x")).expect("a tree");
        let mut made = data();
        assert!(made.make_source_alone().expect("tar is there").ends_with("/tree"));
        let tar = std::fs::read(&made.source.whole.plain).expect("it is there");
        assert!(tar.windows(11).any(|bytes| bytes == b"tree/inside"));
        let plain = made.source.whole.plain.clone();
        drop(made);
        assert!(!plain.exists());
    }

    #[test]
    fn what_a_script_did_not_finish_has_no_name() {
        let directory = tempfile::tempdir().expect("a directory");
        let made = Made { path: directory.path().join("a"), script: "{ echo x; exit 3; }".to_owned() };
        assert!(made.make().expect_err("it fails").contains("exit status: 3"));
        assert!(!made.path.exists());
        let made = Made { script: "echo x".to_owned(), ..made };
        made.make().expect("it writes");
        assert_eq!(std::fs::read_to_string(&made.path).expect("it is there"), "x\n");
    }

    #[test]
    fn an_endless_script_is_cut() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a");
        first_bytes("yes", 100_000, &path).expect("it writes");
        assert_eq!(path.metadata().expect("it is there").len(), 100_000);
        assert!(first_bytes("true", 10, &path).is_err());
    }
}
