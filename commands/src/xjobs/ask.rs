//! `-p`: asks on the terminal whether a job is to be started. Jobs and the list keep standard input.
//! No terminal is no permission.

use std::fs::File;
use std::io::{BufRead, BufReader, Result, Write};
use std::os::fd::OwnedFd;

fn terminal() -> Result<File> {
    File::options().read(true).write(true).open("/dev/tty")
}

/// Whether there is somebody to be asked.
pub fn can_be_asked() -> Result<()> {
    terminal().map(|_terminal| ())
}

/// Asks the person at the terminal about `what`; the terminal, which can be read when they have answered.
pub fn ask(what: &str) -> Option<OwnedFd> {
    let mut terminal = terminal().ok()?;
    write!(terminal, "{}? ", ::terminal::printable(what)).and_then(|()| terminal.flush()).ok()?;
    Some(terminal.into())
}

/// Whether they want it.
pub fn answer() -> bool {
    let mut answer = String::new();
    let answered = terminal().and_then(|terminal| BufReader::new(terminal).read_line(&mut answer));
    answered.is_ok() && answer.trim_start().starts_with(['y', 'Y'])
}
