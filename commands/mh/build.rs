//! What makes the program start sooner where it is built for the machine it is built on and for GNU's C library; elsewhere, and with
//! `MH_PORTABLE` set, it is linked as always, and an older C library suffices.
//!
//! The unwinder comes into the program where the C compiler has it as an archive: as a library of its own it would be found, mapped
//! and relocated at each start. And the program's 9,000 relocations are packed (DT_RELR), 2 KB in place of 220 to be read.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=MH_PORTABLE");
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
