//! Files that a list names (`--files`, `--files0`), and names that are none.

use crate::tamp::old_names::{Wish, kernel_words, name_of};
use crate::tamp::xz_wish::FileList;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use terminal::printable;

/// LIMIT: names of a list; xz reads one at a time, here all are planned together.
const LIST_BYTES_MAX: u64 = 1 << 30;

/// That of an option whose names end with `end`.
pub fn open(list: &OsStr, end: u8) -> Result<FileList, String> {
    if list.is_empty() {
        return Ok(FileList { from: None, name: OsString::from("(stdin)"), end });
    }
    let opened = File::open(list).map_err(|error| format!("{}: {}", name_of(list.as_ref()), kernel_words(&error)))?;
    Ok(FileList { from: Some(opened), name: list.to_owned(), end })
}

/// Adds its files to `wish`; returns what is wrong with it, for which the files before are no worse.
pub fn add(wish: &mut Wish, list: FileList) -> Vec<String> {
    let mut errors = Vec::new();
    if list.from.is_none() && wish.args.files.iter().any(|path| path.as_os_str() == "-") {
        wish.args.files.retain(|path| path.as_os_str() != "-");
        errors.push("Cannot read data from standard input when reading filenames from standard input".to_owned());
    }
    wish.names_files = true;
    let name = printable(&list.name.to_string_lossy()).into_owned();
    let mut bytes = Vec::new();
    let read = match list.from {
        Some(file) => file.take(LIST_BYTES_MAX).read_to_end(&mut bytes),
        None => io::stdin().lock().take(LIST_BYTES_MAX).read_to_end(&mut bytes),
    };
    if let Err(error) = read {
        errors.push(format!("{name}: Error reading filenames: {}", kernel_words(&error)));
    }
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        let zero = rest.iter().position(|&byte| byte == 0).filter(|_| list.end != 0);
        let Some(length) = rest.iter().position(|&byte| byte == list.end).filter(|end| zero.is_none_or(|at| at > *end))
        else {
            errors.push(match zero {
                Some(_) => format!(
                    "{name}: Null character found when reading filenames; maybe you meant to use `--files0' instead \
                         of `--files'?"
                ),
                None => format!("{name}: Unexpected end of input when reading filenames"),
            });
            break;
        };
        // COMPAT: a dash in a list is a file of that name.
        match &rest[..length] {
            b"" => {}
            b"-" => wish.args.files.push(PathBuf::from("./-")),
            path => wish.args.files.push(PathBuf::from(OsStr::from_bytes(path))),
        }
        rest = &rest[length + 1..];
    }
    errors
}

/// Takes away what is no name.
pub fn without_empty(wish: &mut Wish) -> Vec<String> {
    let before = wish.args.files.len();
    wish.args.files.retain(|path| !path.as_os_str().is_empty());
    let empty = before - wish.args.files.len();
    // If no name is left, standard input is not meant.
    wish.names_files |= empty > 0;
    vec!["Empty filename, skipping".to_owned(); empty]
}
