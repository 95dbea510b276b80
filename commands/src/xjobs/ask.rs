//! `-p`: asks on the terminal whether a job is to be started. Jobs and the list keep standard input.
//! No terminal is no permission.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};

/// Whether there is somebody to be asked.
pub fn can_be_asked() -> std::io::Result<()> {
    File::options().read(true).write(true).open("/dev/tty").map(|_terminal| ())
}

/// Whether the person at the terminal wants `what`.
pub fn approves(what: &str) -> bool {
    let Ok(mut terminal) = File::options().read(true).write(true).open("/dev/tty") else { return false };
    let asked = write!(terminal, "{}? ", terminal::printable(what)).and_then(|()| terminal.flush());
    let mut answer = String::new();
    let answered = asked.and_then(|()| BufReader::new(terminal).read_line(&mut answer));
    answered.is_ok() && answer.trim_start().starts_with(['y', 'Y'])
}
