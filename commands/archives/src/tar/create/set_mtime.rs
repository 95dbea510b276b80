//! `--set-mtime-command`: a program prints the time to write for each file. COMPAT: as of GNU tar 1.36.

use super::super::TarArgs;
use super::super::moment;
use archive::create::{AskedTime, MtimeOf};
use archive::member::Time;
use std::ffi::{OsStr, OsString};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use sys::signals::as_at_start;

/// What runs the program for a file, if one was named.
pub fn asked(args: &TarArgs) -> Option<AskedTime> {
    let command = args.metadata.set_mtime_command.clone()?;
    let format = args.metadata.set_mtime_format.clone();
    let ask: Arc<MtimeOf> = Arc::new(move |directory, path| ask(&command, format.as_deref(), directory, path));
    Some(AskedTime(ask))
}

/// Runs it by a shell where the file's name counts from, with that behind its words.
fn ask(command: &OsStr, format: Option<&str>, directory: BorrowedFd<'_>, path: &[u8]) -> Result<Time, String> {
    let mut line = command.to_owned();
    line.push(" \"$@\"");
    let mut shell = Command::new("/bin/sh");
    as_at_start(shell.arg("-c").arg(line).arg("sh").arg(OsStr::from_bytes(path)));
    shell.current_dir(in_proc(directory)).stdin(Stdio::null()).stdout(Stdio::piped());
    let shown = terminal::quote(command);
    let ran = shell.spawn().and_then(std::process::Child::wait_with_output);
    let ran = ran.map_err(|error| format!("{shown} cannot be run: {error}"))?;
    if !ran.status.success() {
        return Err(format!("{shown} ended with {}", ran.status));
    }
    let text = String::from_utf8_lossy(&ran.stdout);
    match format {
        None => moment::parse(&text).ok_or_else(|| format!("{shown} prints no date: {}", terminal::quote(text.trim()))),
        Some(format) => match moment::parse_formatted(&text, format) {
            Some((time, behind)) if behind.trim().is_empty() => Ok(time),
            _ => Err(format!("what {shown} prints is not of the form '{format}': {}", terminal::quote(text.trim()))),
        },
    }
}

/// A directory by its descriptor: the shell has it open when it begins.
fn in_proc(directory: BorrowedFd<'_>) -> OsString {
    use std::os::fd::AsRawFd;
    format!("/proc/{}/fd/{}", std::process::id(), directory.as_raw_fd()).into()
}
