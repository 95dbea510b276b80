//! The command of a worker, for programs and for shells.

use super::WorkerRequest;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// The words of a worker, whose number is still to come: it is the last one.
pub(super) fn words(request: &WorkerRequest) -> Vec<OsString> {
    let word = |text: &str| OsString::from(text);
    vec![
        request.program.clone().into(),
        word("xjobs"),
        word("--worker"),
        request.spool.clone().into(),
        word("--worker-run"),
        word(&request.run_id),
        word("--worker-number"),
    ]
}

/// Where a worker's own messages go; never what its jobs print.
pub(super) fn log(request: &WorkerRequest, number: u32) -> PathBuf {
    log_directory(request).join(number.to_string())
}

pub(super) fn log_directory(request: &WorkerRequest) -> PathBuf {
    request.spool.join("log")
}

/// Words for any POSIX shell.
pub(super) fn quoted<'a>(words: impl IntoIterator<Item = &'a (impl AsRef<OsStr> + 'a)>) -> OsString {
    let words = words.into_iter().map(|word| word.as_ref().as_bytes());
    OsString::from_vec(jobs::shell_words::join(words, jobs::shell_words::Controls::Raw))
}
