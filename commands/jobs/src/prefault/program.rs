//! Whether a program can load a library at all, from the head of its file (elf(5)).

use crate::crew::run::find_program;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Set-user-ID and set-group-ID.
const SET_ID: u32 = 0o6000;

/// LIMIT: program headers within this many bytes are looked at; linkers put them at the begin.
const HEAD_BYTES: u64 = 64 << 10;

/// Whether a program loads a preloaded library. Reasons read after its name.
#[derive(Debug, PartialEq, Eq)]
pub enum Loads {
    /// It does, or that is not known.
    Yes,
    /// It runs as it is.
    Not(&'static str),
    /// The loader ignores preloaded libraries for it, and rightly.
    Ignores(&'static str),
}

/// Looks at the program of a command line.
pub fn check(command: &[OsString]) -> Loads {
    // A program that is not found is reported by whoever starts it.
    let Some(Ok(path)) = command.first().map(|word| find_program(word)) else { return Loads::Yes };
    let path = Path::new(OsStr::from_bytes(path.as_bytes()));
    let Ok(status) = std::fs::metadata(path) else { return Loads::Yes };
    if status.permissions().mode() & SET_ID != 0 {
        return Loads::Ignores(
            "it is set-user-ID or set-group-ID, and the loader ignores preloaded libraries in such programs",
        );
    }
    let mut head = Vec::new();
    let _not_known_then = std::fs::File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    if is_static(&head) { Loads::Not("is a static program, which loads no library") } else { Loads::Yes }
}

/// Whether it is a 64-bit little-endian ELF program without an interpreter.
fn is_static(head: &[u8]) -> bool {
    const INTERPRETER: u32 = 3;
    let word = |at: usize, bytes: usize| -> Option<u64> {
        let field = head.get(at..at.checked_add(bytes)?)?;
        Some(field.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    };
    let is_known = head.starts_with(b"\x7fELF\x02\x01") && matches!(word(16, 2), Some(2 | 3));
    let (Some(first), Some(size), Some(count)) = (word(32, 8), word(54, 2), word(56, 2)) else { return false };
    let kinds = (0..count).map(|number| {
        let at = usize::try_from(first.checked_add(number * size)?).ok()?;
        word(at, 4)
    });
    let kinds: Option<Vec<u64>> = kinds.collect();
    is_known && kinds.is_some_and(|kinds| !kinds.is_empty() && !kinds.contains(&u64::from(INTERPRETER)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(kinds: &[u32]) -> Vec<u8> {
        let mut head = vec![0; 64];
        head[..6].copy_from_slice(b"\x7fELF\x02\x01");
        head[16] = 2;
        head[32] = 64;
        head[54] = 56;
        head[56] = u8::try_from(kinds.len()).expect("few");
        for kind in kinds {
            head.extend(kind.to_le_bytes());
            head.extend([0; 52]);
        }
        head
    }

    #[test]
    fn a_program_without_interpreter_is_static() {
        assert!(is_static(&program(&[1, 1])));
        assert!(!is_static(&program(&[6, 3, 1])));
    }

    #[test]
    fn what_is_no_program_or_is_cut_off_is_not_called_static() {
        let whole = program(&[1, 1]);
        for length in 0..whole.len() - 52 {
            assert!(!is_static(&whole[..length]), "{length}");
        }
        assert!(!is_static(b"#!/bin/sh\n") && !is_static(&program(&[])));
    }

    #[test]
    fn set_id_programs_are_refused_and_others_are_not() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("program");
        std::fs::write(&path, program(&[3])).expect("written");
        let check = || check(&[path.clone().into_os_string()]);
        assert_eq!(check(), Loads::Yes);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o4755)).expect("ours");
        assert!(matches!(check(), Loads::Ignores(_)));
    }
}
