//! `-p`: asks on the terminal whether a job is to be started. Jobs and the list keep standard input.
//! No terminal is no permission.

use jobs::run::JobQuestion;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Result, Write};
use std::os::fd::{AsFd, BorrowedFd};

/// Descriptors of its own, so that reading never waits: whoever else reads the terminal may have taken what epoll saw.
fn terminal() -> Result<File> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    Ok(File::from(rustix::fs::open("/dev/tty", flags, Mode::empty())?))
}

/// Whether there is somebody to be asked.
pub fn can_be_asked() -> Result<()> {
    terminal().map(|_terminal| ())
}

/// Asks the person at the terminal.
pub struct AtTerminal {
    terminal: File,
    prompt: String,
}

impl AtTerminal {
    /// About `what`; none where there is no terminal.
    pub fn about(what: &str) -> Option<Self> {
        Some(Self { terminal: terminal().ok()?, prompt: format!("{}? ", ::terminal::printable(what)) })
    }
}

impl JobQuestion for AtTerminal {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.terminal.as_fd()
    }

    fn put(&mut self) -> Result<()> {
        self.terminal.write_all(self.prompt.as_bytes())
    }

    fn answer(&mut self) -> Option<bool> {
        // A line, as terminals give it.
        let mut line = [0; 4096];
        match rustix::io::read(&self.terminal, &mut line) {
            Ok(count) => Some(matches!(line[..count].trim_ascii_start().first(), Some(b'y' | b'Y'))),
            // Read by somebody else, or not ours to read.
            Err(Errno::AGAIN | Errno::INTR | Errno::IO) => None,
            Err(_gone) => Some(false),
        }
    }
}
