//! Becomes another program, with another timer slack. Nothing of `mh` is left once it runs.

use super::NAME;
use mh_kit::failure::{Failure, Outcome, program_not_run};
use std::ffi::OsString;
use std::num::NonZeroU64;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Returns only when the program cannot be run.
///
/// LIE: a thread has two slacks, the one in force and the one that it falls back to when its scheduling is set anew (which some
/// programs do at their start, to the class that they have already). Only the first can be set; but a new thread takes its creator's for
/// both. So the program is started by a new thread, which the kernel makes the first and only one of the process.
pub fn become_program(slack: NonZeroU64, program: &[OsString]) -> Result<Outcome, Failure> {
    let Some((name, arguments)) = program.split_first() else {
        return Err(Failure::Usage { command: NAME, message: "name a program to run".to_owned() });
    };
    lab::timers::set_own_slack(slack).map_err(|error| super::failure("set the timer slack", &error))?;
    sys::signals::file_size_limit_ends_the_program();
    let mut command = Command::new(name);
    command.args(arguments);
    let thread = std::thread::Builder::new().spawn(move || command.exec());
    let thread = thread.map_err(|error| super::failure("start the thread that becomes the program", &error))?;
    let error = thread.join().unwrap_or_else(|_panicked| std::io::Error::other("its thread ended early"));
    Err(program_not_run(NAME, name, &error))
}
