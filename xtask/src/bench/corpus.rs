//! What is compressed: source code as everybody's benchmark has it, and a mixture of what disks hold. Made once, in memory.

use crate::workspace;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folder with the corpora.
pub struct Data {
    pub folder: PathBuf,
    /// Source code: the Linux tar, or what stands in for it.
    pub source: PathBuf,
    pub source_name: &'static str,
    /// Programs, libraries, documents, database-like records, log lines.
    pub mixed: PathBuf,
    /// Many files of 1 MiB.
    pub small: Vec<PathBuf>,
    keep: bool,
}

const MIB: u64 = 1 << 20;
const LINUX: &str = "/usr/src/linux-source-6.1.tar.xz";

impl Data {
    /// Makes what is not there yet.
    pub fn at(folder: &Path, quick: bool, keep: bool) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("could not make {}: {error}", folder.display());
        std::fs::create_dir_all(folder).map_err(failed)?;
        let (source_bytes, mixed_bytes) = if quick { (64 * MIB, 32 * MIB) } else { (512 * MIB, 256 * MIB) };
        let source = folder.join(format!("source-{}", source_bytes / MIB));
        let mixed = folder.join(format!("mixed-{}", mixed_bytes / MIB));
        if !Path::new(LINUX).is_file() {
            let _stands_in_below = workspace::run("apt-get", &["install", "-y", "-qq", "linux-source-6.1"]);
        }
        let has_linux = Path::new(LINUX).is_file();
        if !source.is_file() {
            let script = if has_linux {
                format!("xz -dc {LINUX}")
            } else {
                "tar -c /usr/include /usr/share/doc /usr/lib/python3".into()
            };
            first_bytes(&format!("{script} 2>/dev/null"), source_bytes, &source)?;
        }
        if !mixed.is_file() {
            make_mixed(mixed_bytes, &mixed)?;
        }
        let source_name = if has_linux { "linux-source-6.1.tar" } else { "headers and documents" };
        let small = make_small(folder, &mixed, if quick { 8 } else { 72 })?;
        Ok(Self { folder: folder.to_owned(), source, source_name, mixed, small, keep })
    }

    /// A file in the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Runs a shell command that makes `name`, if it is not there.
    pub fn made(&self, name: &str, script: &str) -> Result<PathBuf, String> {
        let path = self.file(name);
        if !path.is_file() {
            let status = Command::new("sh").arg("-c").arg(format!("{script} > '{}'", path.display())).status();
            let status = status.map_err(|error| format!("could not make {name}: {error}"))?;
            if !status.success() {
                return Err(format!("could not make {name}: {script} ended with {status}"));
            }
        }
        Ok(path)
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        if !self.keep {
            let _left_behind = std::fs::remove_dir_all(&self.folder);
        }
    }
}

/// The first bytes of what a script writes.
fn first_bytes(script: &str, bytes: u64, path: &Path) -> Result<(), String> {
    let script = format!("{{ {script}; }} | head -c {bytes} > '{}'", path.display());
    let status = Command::new("sh").args(["-c", &script]).stderr(Stdio::null()).status();
    status.map_err(|error| format!("could not make {}: {error}", path.display()))?;
    match path.metadata() {
        Ok(metadata) if metadata.len() > 0 => Ok(()),
        _ => Err(format!("could not make {}: {script} wrote nothing", path.display())),
    }
}

/// Half programs and libraries, then documents, then generated records and log lines to the size wanted.
fn make_mixed(bytes: u64, path: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("could not make {}: {error}", path.display());
    first_bytes("tar -c /usr/bin /usr/lib/x86_64-linux-gnu", bytes / 2, path)?;
    let documents = path.with_extension("documents");
    first_bytes("tar -c /usr/share/doc /usr/share/perl /usr/share/man", bytes / 8, &documents)?;
    let mut file = BufWriter::new(File::options().append(true).open(path).map_err(failed)?);
    std::io::copy(&mut File::open(&documents).map_err(failed)?, &mut file).map_err(failed)?;
    std::fs::remove_file(&documents).map_err(failed)?;
    file.flush().map_err(failed)?;
    let so_far = path.metadata().map_err(failed)?.len();
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
            page.extend(
                format!("{name}-{:05}|2026-{:02}-{:02}|", state % 5000, state % 12 + 1, state % 28 + 1).bytes(),
            );
        }
        page.resize(16 << 10, 0);
        let left = usize::try_from(bytes - written).unwrap_or(usize::MAX).min(page.len());
        file.write_all(&page[..left])?;
        written += left as u64;
    }
    Ok(())
}

fn make_small(folder: &Path, from: &Path, count: usize) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| format!("could not make small files: {error}");
    let bytes = std::fs::read(from).map_err(failed)?;
    let step = bytes.len() / count;
    let mut files = Vec::with_capacity(count);
    for number in 0..count {
        let path = folder.join(format!("small-{number:02}"));
        let part = &bytes[number * step..];
        std::fs::write(&path, &part[..part.len().min(MIB as usize)]).map_err(failed)?;
        files.push(path);
    }
    Ok(files)
}
