//! `--to-command`: a program for each file, which gets its data. COMPAT: GNU tar's variables.

use super::super::{TarArgs, could_not};
use super::Stopped;
use archive::member::{Member, Time};
use mh_kit::context::Context;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::process::{ChildStdin, Command, Stdio};
use sys::signals::as_at_start;

/// A run of it.
pub struct FileCommand<'a> {
    pub context: &'a Context,
    pub args: &'a TarArgs,
    pub command: &'a OsStr,
}

impl FileCommand<'_> {
    /// Runs it for a member, whose data `copy` writes. Whether it failed.
    pub fn with(
        &self,
        name: &[u8],
        member: &Member,
        copy: impl FnOnce(&mut ChildStdin) -> Result<(), Stopped>,
    ) -> Result<bool, Stopped> {
        let mut shell = Command::new("/bin/sh");
        as_at_start(shell.arg("-c").arg(self.command)).envs(self.variables(name, member)).stdin(Stdio::piped());
        let told = |error: std::io::Error| Stopped::Failure(could_not("run", self.command, &error));
        let mut child = shell.spawn().map_err(told)?;
        let mut input = child.stdin.take().expect("it was piped");
        match copy(&mut input) {
            // It has read enough.
            Err(Stopped::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
            copied => copied?,
        }
        drop(input);
        let status = child.wait().map_err(told)?;
        if status.success() || self.args.ignore_command_error && status.code().is_some() {
            return Ok(false);
        }
        let (name, command) = (super::quoted(name), terminal::quote(self.command));
        // COMPAT: that a signal has ended it is no failure.
        if status.code().is_none() {
            let text = format!("{name}: {command} ended with {status}");
            self.context.messages.warning(&self.context.program, &text, &[]);
            return Ok(false);
        }
        let theirs = format!("Child returned status {}", status.code().unwrap_or_default());
        super::messages::failed(self.context, &theirs, &format!("extract {name}: {command} ended with {status}"));
        Ok(true)
    }

    fn variables(&self, name: &[u8], member: &Member) -> Vec<(&'static str, OsString)> {
        let text = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
        let time = |time: Time| match time.nanoseconds {
            0 => time.seconds.to_string(),
            nanoseconds => format!("{}.{nanoseconds:09}", time.seconds).trim_end_matches('0').to_owned(),
        };
        let archive = self.args.archive().map_or("-".into(), |path| path.as_os_str().to_owned());
        let mut variables = vec![
            ("TAR_VERSION", env!("CARGO_PKG_VERSION").into()),
            ("TAR_ARCHIVE", archive),
            ("TAR_VOLUME", "1".into()),
            ("TAR_BLOCKING_FACTOR", "20".into()),
            ("TAR_FORMAT", self.args.format_name().into()),
            ("TAR_FILETYPE", "f".into()),
            ("TAR_MODE", format!("{:04o}", member.mode).into()),
            ("TAR_FILENAME", text(&member.path)),
            ("TAR_REALNAME", text(name)),
            ("TAR_UNAME", text(&member.owner)),
            ("TAR_GNAME", text(&member.group)),
            ("TAR_UID", member.uid.to_string().into()),
            ("TAR_GID", member.gid.to_string().into()),
            ("TAR_MTIME", time(member.mtime).into()),
            ("TAR_SIZE", member.size.to_string().into()),
        ];
        let others = [("TAR_ATIME", member.atime), ("TAR_CTIME", member.ctime)];
        variables.extend(others.into_iter().filter_map(|(name, at)| Some((name, time(at?).into()))));
        variables
    }
}
