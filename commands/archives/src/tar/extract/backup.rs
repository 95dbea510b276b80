//! `--backup` and `--suffix`: how what has a member's name is kept. COMPAT: GNU's words and variables, as for cp.

use super::super::{TarArgs, usage};
use archive::place::BackUp;
use mh_kit::context::variable;
use mh_kit::failure::Failure;
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;
use transfer::copy::{Backup, BackupNames, back_up};

/// None where nothing is kept.
pub fn of(args: &TarArgs) -> Result<Option<BackUp>, Failure> {
    let existing = &args.existing;
    if existing.backup.is_none() && existing.suffix.is_none() {
        return Ok(None);
    }
    let given = existing.backup.clone().filter(|control| !control.is_empty());
    let control = given.or_else(|| variable("VERSION_CONTROL").and_then(|value| value.into_string().ok()));
    let names = match control.as_deref().unwrap_or_default() {
        "none" | "off" => return Ok(None),
        "simple" | "never" => BackupNames::Simple,
        "" | "existing" | "nil" => BackupNames::AsBefore,
        "numbered" | "t" => BackupNames::Numbered,
        other => return Err(usage(format!("--backup is none, simple, existing or numbered, not '{other}'"))),
    };
    let suffix = existing.suffix.clone().or_else(|| variable("SIMPLE_BACKUP_SUFFIX")).map(OsStringExt::into_vec);
    let suffix = suffix.filter(|suffix| !suffix.is_empty() && !suffix.contains(&b'/')).unwrap_or_else(|| b"~".to_vec());
    let backup = Backup { names, suffix };
    Ok(Some(BackUp(Arc::new(move |directory, name| {
        let name = CString::new(name).map_err(io::Error::from)?;
        back_up(directory, &name, &backup).map(CString::into_bytes)
    }))))
}
