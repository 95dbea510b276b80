//! What is compressed: source code as everybody's benchmark has it, and a mixture of what disks hold. Made once, in memory.
//! Removes only the folder that it made itself. The same machine makes the same bytes again.

use crate::workspace;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folder with the corpora. Paths only, until they are made.
pub struct Data {
    folder: PathBuf,
    /// Source code: the Linux tar, or what stands in for it.
    pub source: PathBuf,
    /// Programs, libraries, documents, database-like records.
    pub mixed: PathBuf,
    /// Many files of 1 MiB.
    pub small: Vec<PathBuf>,
    /// A file of 1 KiB.
    pub tiny: PathBuf,
    source_bytes: u64,
    mixed_bytes: u64,
    keep: bool,
    /// Naming files is no reason to remove them: they may have been kept by an earlier run.
    is_made: bool,
}

/// A file that a shell command makes.
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
const LINUX: &str = "/usr/src/linux-source-6.1.tar.xz";
/// The same bytes whatever the order on disk, and whoever unpacked it.
const TAR: &str = "tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -c";

impl Data {
    /// Names what would be in a folder below `folder`.
    pub fn at(folder: &Path, quick: bool, keep: bool) -> Self {
        let folder = folder.join("manyhands-corpora");
        let (source_bytes, mixed_bytes) = if quick { (64 * MIB, 64 * MIB) } else { (512 * MIB, 256 * MIB) };
        let small_count = if quick { 8 } else { 72 };
        Self {
            source: folder.join(format!("source-{}", source_bytes / MIB)),
            mixed: folder.join(format!("mixed-{}", mixed_bytes / MIB)),
            small: (0..small_count).map(|number| folder.join(format!("small-{number:02}"))).collect(),
            tiny: folder.join("tiny"),
            source_bytes,
            mixed_bytes,
            folder,
            keep,
            is_made: false,
        }
    }

    /// Makes what is not there yet; says what it is.
    pub fn make(&mut self) -> Result<String, String> {
        self.is_made = true;
        let failed = |error: std::io::Error| format!("could not make {}: {error}", self.folder.display());
        std::fs::create_dir_all(&self.folder).map_err(failed)?;
        let described = self.make_source()?;
        if !self.mixed.is_file() {
            let part = self.mixed.with_extension("part");
            make_mixed(self.mixed_bytes, &part)?;
            std::fs::rename(&part, &self.mixed).map_err(failed)?;
        }
        self.make_small().map_err(failed)?;
        let mixed_mib = self.mixed_bytes / MIB;
        Ok(format!(
            "source: {described}; mixed: {mixed_mib} MiB of programs, libraries, documents and generated records"
        ))
    }

    /// A file in the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn make_source(&self) -> Result<String, String> {
        if !Path::new(LINUX).is_file() {
            let _stands_in_below = workspace::run("apt-get", &["install", "-y", "-qq", "linux-source-6.1"]);
        }
        let mib = self.source_bytes / MIB;
        let (script, described) = if Path::new(LINUX).is_file() {
            (format!("xz -dc {LINUX}"), format!("the first {mib} MiB of linux-source-6.1.tar"))
        } else {
            let once = format!("{TAR} \"$(rustc --print sysroot)\" /usr/lib");
            // tar may find files that it cannot read (2); head ends the loop (a signal).
            let script = format!("while {once}; [ $? -le 2 ]; do :; done");
            (script, format!("{mib} MiB of a tar of the Rust sysroot and /usr/lib, repeated; NOT the Linux tar"))
        };
        if !self.source.is_file() {
            let part = self.source.with_extension("part");
            first_bytes(&script, self.source_bytes, &part)?;
            std::fs::rename(&part, &self.source)
                .map_err(|error| format!("could not make {}: {error}", self.source.display()))?;
        }
        Ok(described)
    }

    /// Cut from all over the mixture.
    fn make_small(&self) -> std::io::Result<()> {
        let bytes = std::fs::read(&self.mixed)?;
        let step = bytes.len() / self.small.len();
        for (number, path) in self.small.iter().enumerate() {
            let part = &bytes[number * step..];
            std::fs::write(path, &part[..part.len().min(MIB as usize)])?;
        }
        let source = File::open(&self.source)?;
        std::io::copy(&mut std::io::Read::take(source, 1024), &mut File::create(&self.tiny)?)?;
        Ok(())
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        if self.is_made && !self.keep {
            let _was_not_made = std::fs::remove_dir_all(&self.folder);
            // The folder above goes only if nothing of somebody else's is in it.
            let _not_empty = self.folder.parent().map(std::fs::remove_dir);
        }
    }
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
    for (folders, share) in [("/usr/bin", bytes / 4), ("/usr/lib", bytes / 4), ("/usr/share/doc", bytes / 8)] {
        first_bytes(&format!("{TAR} {folders}"), share, &piece)?;
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
        let folder = tempfile::tempdir().expect("a folder");
        let theirs = folder.path().join("theirs");
        std::fs::write(&theirs, "x").expect("a file");
        let made = Data::at(folder.path(), true, false).folder.clone();
        for (keep, is_made, stays) in [(false, false, true), (true, true, true), (false, true, false)] {
            std::fs::create_dir_all(&made).expect("a folder");
            let mut data = Data::at(folder.path(), true, keep);
            data.is_made = is_made;
            drop(data);
            assert_eq!(made.exists(), stays, "keep {keep}, made {is_made}");
        }
        assert!(theirs.is_file());
    }

    #[test]
    fn what_a_script_did_not_finish_has_no_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let made = Made { path: folder.path().join("a"), script: "{ echo x; exit 3; }".to_owned() };
        assert!(made.make().expect_err("it fails").contains("exit status: 3"));
        assert!(!made.path.exists());
        let made = Made { script: "echo x".to_owned(), ..made };
        made.make().expect("it writes");
        assert_eq!(std::fs::read_to_string(&made.path).expect("it is there"), "x\n");
    }

    #[test]
    fn an_endless_script_is_cut() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        first_bytes("yes", 100_000, &path).expect("it writes");
        assert_eq!(path.metadata().expect("it is there").len(), 100_000);
        assert!(first_bytes("true", 10, &path).is_err());
    }
}
