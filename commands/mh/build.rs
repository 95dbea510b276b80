//! What makes the program start sooner where it is built for the machine it is built on and for GNU's C library; elsewhere, and with
//! `MH_PORTABLE` set, it is linked as always, and an older C library suffices.
//!
//! The unwinder comes into the program where the C compiler has it as an archive: as a library of its own it would be found, mapped
//! and relocated at each start. And the program's 9,000 relocations are packed (DT_RELR), 2 KB in place of 220 to be read.
//!
//! It also hands down what `--version` prints, with the commit: only this crate, the last one, is built anew for a commit.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=MH_PORTABLE");
    hand_down_version();
    if env::var_os("MH_PORTABLE").is_some() {
        return;
    }
    let is_for_this_machine = env::var_os("TARGET") == env::var_os("HOST");
    if !is_for_this_machine || env::var_os("CARGO_CFG_TARGET_ENV").is_none_or(|library| library != "gnu") {
        return;
    }
    link_the_unwinder();
    if c_library().is_some_and(|version| version >= FIRST_WITH_PACKED_RELOCATIONS) {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// `MH_COMMIT` names the commit for builds from an archive of the source.
fn hand_down_version() {
    println!("cargo:rerun-if-env-changed=MH_COMMIT");
    let commit = env::var("MH_COMMIT").ok().or_else(commit).filter(|commit| !commit.is_empty());
    let commit = commit.map(|commit| format!(", {commit}")).unwrap_or_default();
    println!("cargo:rustc-env=MH_VERSION={} (manyhands{commit})", env!("CARGO_PKG_VERSION"));
}

/// The commit of this source tree. A tree within somebody else's repository has none.
fn commit() -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().ok()?;
    if Path::new(&git(&root, &["--show-toplevel"])?) != root.as_path() {
        return None;
    }
    // Each commit adds a line to the second.
    for file in ["HEAD", "logs/HEAD"] {
        let path = root.join(git(&root, &["--git-path", file])?);
        if path.exists() {
            println!("cargo:rerun-if-changed={}", path.display());
        }
    }
    git(&root, &["--short=9", "HEAD"])
}

fn git(root: &Path, words: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(root).arg("rev-parse").args(words).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

fn link_the_unwinder() {
    let Ok(asked) = Command::new("cc").arg("-print-file-name=libgcc_eh.a").output() else { return };
    let named = String::from_utf8_lossy(&asked.stdout);
    let archive = Path::new(named.trim());
    // A name without a directory is the compiler's way to say that it has none.
    let Some(directory) = archive.parent().filter(|directory| directory.is_absolute() && archive.is_file()) else {
        return;
    };
    println!("cargo:rustc-link-search=native={}", directory.display());
    println!("cargo:rustc-link-lib=static:-bundle=gcc_eh");
}

/// Older ones refuse to load a program whose relocations are packed.
const FIRST_WITH_PACKED_RELOCATIONS: (u32, u32) = (2, 36);

fn c_library() -> Option<(u32, u32)> {
    let asked = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(asked.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
