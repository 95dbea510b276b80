//! Builds the libraries of `mh mtwrite` and `mh vmtasks run` (`bindings/mtwrite`, `bindings/prefault`) and hands their paths to
//! `include_bytes!`, so that the program alone, as `cargo install` leaves it, can preload them. Cargo cannot express a dependency on a shared library; hence a second cargo, in a directory of its own.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Package, directory, file, and the variable that names the file.
const BINDINGS: [(&str, &str, &str, &str); 2] = [
    ("manyhands-mtwrite", "../../bindings/mtwrite", "libmhwrite.so", "MH_MTWRITE_LIBRARY"),
    ("manyhands-prefault", "../../bindings/prefault", "libmhprefault.so", "MH_PREFAULT_LIBRARY"),
];

/// It needs the program's own libc alone, whichever that is: no unwinder, and no standard library.
const WITHOUT_UNWINDING: &str = "manyhands-prefault";

/// Variables that concern the outer build: its compiler wrapper (clippy), its flags (a static build), its directory.
const OF_THE_OUTER_BUILD: [&str; 5] =
    ["RUSTC_WORKSPACE_WRAPPER", "CARGO_ENCODED_RUSTFLAGS", "RUSTFLAGS", "CARGO_TARGET_DIR", "CARGO_BUILD_TARGET"];

fn main() {
    for (_, directory, _, _) in BINDINGS {
        for part in ["src", "Cargo.toml"] {
            println!("cargo::rerun-if-changed={directory}/{part}");
        }
    }
    for file in ["build.rs", "../../Cargo.toml", "../../Cargo.lock"] {
        println!("cargo::rerun-if-changed={file}");
    }
    let is_dynamic = env::var_os("CARGO_CFG_TARGET_ENV").is_some_and(|library| library == "gnu");
    println!("cargo::rustc-check-cfg=cfg(has_embedded_library)");
    // A static program could not know which C library the programs that it starts are linked with.
    if env::var_os("CARGO_FEATURE_MTWRITE").is_none() || !is_dynamic {
        return;
    }
    match build() {
        Ok(directory) => {
            for (_, _, file, variable) in BINDINGS {
                println!("cargo::rustc-env={variable}={}", directory.join(file).display());
            }
            println!("cargo::rustc-cfg=has_embedded_library");
        }
        Err(message) => println!("cargo::error=could not build the preloaded libraries: {message}"),
    }
}

/// Builds both; the directory that they are in.
fn build() -> Result<PathBuf, String> {
    let required = |name: &str| env::var_os(name).ok_or(format!("cargo has not set {name}"));
    let target = required("TARGET")?;
    let directory = Path::new(&required("OUT_DIR")?).join("preload");
    for (package, _, _, _) in BINDINGS {
        let mut cargo = Command::new(required("CARGO")?);
        cargo.args(["build", "--quiet", "--release", "--locked", "--manifest-path", "../../Cargo.toml"]);
        // One by one: together, each would have the other's features of what both use.
        cargo.args(["--package", package]).arg("--target").arg(&target).arg("--target-dir").arg(&directory);
        for name in OF_THE_OUTER_BUILD {
            cargo.env_remove(name);
        }
        cargo.env("CARGO_PROFILE_RELEASE_STRIP", "symbols").env("CARGO_PROFILE_RELEASE_DEBUG", "false");
        if package == WITHOUT_UNWINDING {
            cargo.env("CARGO_PROFILE_RELEASE_PANIC", "abort");
        }
        let status = cargo.status().map_err(|error| format!("could not run cargo: {error}"))?;
        if !status.success() {
            return Err(format!("cargo ended with {status}"));
        }
    }
    Ok(directory.join(target).join("release"))
}
