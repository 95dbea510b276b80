//! One run of a command: how long it took from its start to its end, and what it used (`wait4(2)`).

use rustix::process::Pid;
use std::io;
use std::process::Command;
use std::time::{Duration, Instant};
use sys::reap::{Changed, Ended, How, Usage, forget_own_peak, reap, wait_for_change};

/// What a run of a command took.
#[derive(Clone, Copy, Debug)]
pub struct CommandRun {
    /// From before it was started until its end was seen.
    pub wall: Duration,
    /// How it ended.
    pub how: How,
    /// What it and the children that it waited for used.
    pub usage: Usage,
}

/// Runs a command to its end. It begins with no signal held back, as the library has it; nothing else is done between fork and exec, so that the library may
/// start it without a copy of our address space, which would be in its figures.
pub fn run(command: &mut Command) -> io::Result<CommandRun> {
    // A child begins with our own peak; without the right to reset it the figure is never below it.
    let _it_is_a_floor = forget_own_peak();
    let began = Instant::now();
    let child = command.spawn()?;
    let pid = Pid::from_child(&child);
    let mut stops = 0;
    while let Changed::Stopped(_) = wait_for_change(pid)? {
        stops += 1;
        if stops > STOPS_MAX {
            return Err(io::Error::other("it was stopped again and again"));
        }
    }
    let wall = began.elapsed();
    match reap(pid)? {
        Some(Ended { how, usage, .. }) => Ok(CommandRun { wall, how, usage }),
        None => Err(io::Error::other("its end was seen, and its figures are gone")),
    }
}

/// LIMIT: a command that somebody stops more often is no measurement.
const STOPS_MAX: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(line: &str) -> CommandRun {
        run(Command::new("sh").args(["-c", line])).expect("it runs")
    }

    #[test]
    fn codes_signals_and_work_are_the_commands_own() {
        assert_eq!(shell("exit 7").how, How::Exit(7));
        assert_eq!(shell("kill -9 $$").how, How::Signal(9));
        let busy = shell("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done");
        assert!(busy.usage.cpu_ns() > 0 && busy.wall > Duration::ZERO, "{busy:?}");
        assert!(busy.usage.rss_peak_bytes.is_some_and(|bytes| bytes > 100_000), "{busy:?}");
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        assert_eq!(
            run(&mut Command::new("/nowhere/program")).expect_err("it is not there").kind(),
            io::ErrorKind::NotFound
        );
    }
}
