//! Hosts over ssh: a child process each, whose standard output is the stream of envelopes. ssh asks, trusts and refuses
//! by the user's own settings; nothing is asked on the terminal. Keeps one connection a host; when to begin one is the
//! viewer's.

mod host_list;
mod last_line;

pub use host_list::{expand_hosts, read_hosts_file};

use crate::Error;
use crate::envelope::EnvelopeSplitter;
use crate::network::Ready;
use crate::session::SessionEnd;
use last_line::LastLine;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::time::Duration;

/// LIMIT: what login scripts may print before the first sample.
const JUNK_MAX: usize = 64 << 10;

/// Until the first sample: names are resolved, jump hosts are passed, the program is started.
pub(crate) const REACH: Duration = Duration::from_secs(60);

/// How a host is reached: `program HOST command`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshOptions {
    /// ssh and its options.
    pub program: Vec<OsString>,
    /// What runs on the host, and writes envelopes to standard output.
    pub command: Vec<OsString>,
}

impl SshOptions {
    /// The system's ssh, which asks nothing, and a command of words that are passed to the host's shell.
    pub fn usual<Word: Into<OsString>>(command: impl IntoIterator<Item = Word>) -> Self {
        let program = ["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "-T"];
        Self {
            program: program.into_iter().map(OsString::from).collect(),
            command: command.into_iter().map(Into::into).collect(),
        }
    }
}

/// One child.
#[derive(Debug)]
pub(crate) struct SshLink {
    child: Child,
    pub stdout: ChildStdout,
    pub stderr: ChildStderr,
    splitter: EnvelopeSplitter,
    last_line: LastLine,
    is_stderr_open: bool,
}

impl SshLink {
    /// Starts one, in a process group of its own: the terminal's signals are not meant for it.
    pub fn start(options: &SshOptions, host: &str) -> Result<Self, SessionEnd> {
        let (program, arguments) =
            options.program.split_first().ok_or_else(|| SessionEnd::Ssh("no program".to_owned()))?;
        let mut command = Command::new(program);
        command.args(arguments).arg(host).args(&options.command).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = sys::signals::as_at_start(&mut command).spawn().map_err(|error| not_started(error, program))?;
        let pipes = (child.stdout.take(), child.stderr.take());
        let (Some(stdout), Some(stderr)) = pipes else { return Err(SessionEnd::Closed) };
        let link = Self {
            child,
            stdout,
            stderr,
            splitter: EnvelopeSplitter::new(JUNK_MAX),
            last_line: LastLine::default(),
            is_stderr_open: true,
        };
        never_block(&link.stdout)?;
        never_block(&link.stderr)?;
        Ok(link)
    }

    pub fn buffered(&self) -> usize {
        self.splitter.buffered()
    }

    /// Takes what the child has written to its standard output.
    pub fn take_output(
        &mut self,
        ready: Ready,
        scratch: &mut [u8],
        each: impl FnMut(Vec<u8>),
    ) -> Result<(), SessionEnd> {
        if !ready.readable {
            return Ok(());
        }
        match self.stdout.read(scratch) {
            Ok(0) => Err(self.end(scratch)),
            Ok(read) => Ok(self.splitter.push(&scratch[..read], each)?),
            Err(error) if is_temporary(&error) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes what it has written to its standard error. False once that has ended.
    pub fn take_errors(&mut self, scratch: &mut [u8]) -> bool {
        match self.stderr.read(scratch) {
            Ok(0) => self.is_stderr_open = false,
            Ok(read) => self.last_line.push(&scratch[..read]),
            Err(error) if is_temporary(&error) => {}
            Err(_) => self.is_stderr_open = false,
        }
        self.is_stderr_open
    }

    /// Its output has ended: the reason is what it said last, or how it ended.
    fn end(&mut self, scratch: &mut [u8]) -> SessionEnd {
        for _ in 0..16 {
            if !self.take_errors(scratch) {
                break;
            }
        }
        let ended = self.stop();
        let how = match ended {
            Ok(status) => match (status.code(), status.signal()) {
                (Some(code), _) => format!("ssh ended with exit code {code}"),
                (None, Some(signal)) => format!("ssh was ended by signal {signal}"),
                (None, None) => "ssh ended".to_owned(),
            },
            Err(error) => sys::error_text::message(&error),
        };
        SessionEnd::Ssh(self.last_line.text().unwrap_or(how))
    }

    /// Ends the child with all that it has started, and reaps it.
    fn stop(&mut self) -> io::Result<std::process::ExitStatus> {
        // One that has closed its output is about to end, and how it ends is what is wanted.
        for _ in 0..ENDING_LOOKS {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            std::thread::sleep(ENDING_LOOK);
        }
        self.kill();
        self.child.wait()
    }

    fn kill(&self) {
        // It is not reaped yet, so that its number cannot have become another group's.
        let _is_gone = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
    }
}

/// LIMIT: 10 ms for a child to end by itself.
const ENDING_LOOKS: usize = 5;
const ENDING_LOOK: Duration = Duration::from_millis(2);

impl Drop for SshLink {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.kill();
            let _ended_by_the_signal = self.child.wait();
        }
    }
}

fn never_block(pipe: impl AsFd) -> Result<(), SessionEnd> {
    let flags = fcntl_getfl(&pipe)?;
    Ok(fcntl_setfl(&pipe, flags | OFlags::NONBLOCK)?)
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

impl AsFd for SshLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stdout.as_fd()
    }
}

/// Refuses what ssh would take for an option, or a terminal for something else.
pub(crate) fn check_destination(host: &str) -> Result<(), Error> {
    let is_plain = |letter: char| letter.is_ascii_graphic() && !"\"'\\`$;&|<>(){}*?!".contains(letter);
    let refuse = |reason: &str| Err(Error::refused("use host", host.escape_default().to_string(), reason));
    match () {
        () if host.is_empty() || host.len() > 255 => refuse("a name has 1 to 255 letters"),
        () if host.starts_with('-') || host.contains("@-") => refuse("begins with '-', which ssh takes for an option"),
        () if !host.chars().all(is_plain) => refuse("has letters that no host name has"),
        () => Ok(()),
    }
}

/// The kernel says of a program that is not there only that there is no such file.
fn not_started(error: io::Error, program: &OsStr) -> SessionEnd {
    match error.kind() {
        ErrorKind::NotFound => SessionEnd::Ssh(format!("the program '{}' was not found", program.display())),
        _ => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let options = SshOptions { program: vec!["mh-no-such-ssh".into()], command: Vec::new() };
        let end = SshLink::start(&options, "web1").expect_err("no such program");
        assert!(end.to_string().contains("the program 'mh-no-such-ssh' was not found"), "{end}");
    }

    fn fake(script: &str) -> SshLink {
        let options = SshOptions { program: vec!["sh".into(), "-c".into(), script.into()], command: Vec::new() };
        SshLink::start(&options, "web1").expect("sh starts")
    }

    fn until_end(link: &mut SshLink) -> (Vec<Vec<u8>>, String) {
        let (mut found, mut scratch) = (Vec::new(), [0; 4096]);
        let ready = Ready { token: 0, readable: true, writable: false };
        loop {
            match link.take_output(ready, &mut scratch, |envelope| found.push(envelope)) {
                Ok(()) => std::thread::sleep(Duration::from_millis(1)),
                Err(end) => return (found, end.to_string()),
            }
        }
    }

    #[test]
    fn envelopes_are_read_and_the_last_line_is_the_reason() {
        let script = r"echo Welcome; printf 'mh\001\002\000\000\000............hi'; echo 'no route' >&2; exit 255";
        let (found, reason) = until_end(&mut fake(script));
        assert_eq!(found, [b"mh\x01\x02\0\0\0............hi".to_vec()]);
        assert_eq!(reason, "no route");
        assert_eq!(until_end(&mut fake("exit 7")).1, "ssh ended with exit code 7");
    }

    #[test]
    fn a_child_ends_with_its_link() {
        let link = fake("sleep 1000 & sleep 1000");
        let pid = link.child.id();
        drop(link);
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        assert!(state.is_empty(), "it is reaped: {state}");
    }

    #[test]
    fn options_are_no_hosts() {
        for host in ["-oProxyCommand=x", "a@-b", "", "a b", "a;b", "web\x1b[2J", "$(x)"] {
            assert!(check_destination(host).is_err(), "{host}");
        }
        for host in ["web7", "root@db1.example.org", "10.0.0.1", "fe80::1%eth0"] {
            assert!(check_destination(host).is_ok(), "{host}");
        }
    }
}
