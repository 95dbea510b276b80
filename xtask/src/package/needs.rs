//! Which version of GNU's C library a program needs, read from its version references (`objdump -p`).

use super::layout::Programs;
use super::{output, text};
use std::path::Path;

/// Major and minor.
pub type Version = (u32, u32);

/// The need that the documents state for the tarball: Debian 12, Ubuntu 22.04 and RHEL 9 have it.
pub const DOCUMENTED: Version = (2, 34);

/// The lowest version that `program` runs with; (0, 0) if it needs none.
pub fn c_library(program: &Path) -> Result<Version, String> {
    Ok(highest(&output("objdump", &["-p", text(program)?])?))
}

/// The lowest version that all of them run with.
pub fn of_all(programs: &Programs) -> Result<Version, String> {
    [&programs.mh]
        .into_iter()
        .chain(&programs.preloads)
        .map(|program| c_library(program))
        .try_fold((0, 0), |most, needed| Ok(needed?.max(most)))
}

/// An error if `program` needs more than `version`.
pub fn check(program: &Path, version: Version) -> Result<(), String> {
    let needed = c_library(program)?;
    if needed <= version {
        return Ok(());
    }
    let show = |(major, minor): Version| format!("{major}.{minor}");
    let (needed, version) = (show(needed), show(version));
    Err(format!("{} needs glibc {needed}, and the documents say {version} (objdump -T shows why)", program.display()))
}

fn highest(references: &str) -> Version {
    references.split_whitespace().filter_map(version).max().unwrap_or_default()
}

fn version(word: &str) -> Option<Version> {
    let version = word.strip_prefix("GLIBC_")?;
    // Packed relocations are a property of the loader and came with this release.
    if version == "ABI_DT_RELR" {
        return Some((2, 36));
    }
    let mut numbers = version.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_reference_counts_and_versions_are_numbers() {
        let references = "  required from libc.so.6:\n    0x0 0x00 10 GLIBC_2.9\n    0x0 0x00 04 GLIBC_2.34\n";
        assert_eq!(highest(references), (2, 34));
        assert_eq!(highest(&format!("{references} 0x0 0x00 11 GLIBC_ABI_DT_RELR")), (2, 36));
        assert_eq!(highest("required from libgcc_s.so.1: GCC_3.0 GLIBC_PRIVATE"), (0, 0));
    }

    #[test]
    fn a_program_that_needs_more_is_refused_by_name() {
        let this = std::env::current_exe().expect("it runs");
        assert_eq!(check(&this, (9, 0)), Ok(()));
        assert!(check(&this, (2, 0)).expect_err("it needs more").contains("needs glibc 2."));
    }
}
