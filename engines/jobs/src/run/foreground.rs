//! The terminal, for jobs that ask for it. Each job is a group of its own, in the background for the kernel, which stops whoever
//! reads the terminal from there (SIGTTIN), or changes it (SIGTTOU). Such a job gets the terminal until it ends, one after another.

use super::{Event, Runner};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, getpgrp};
use rustix::termios::{tcgetpgrp, tcsetpgrp};
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use sys::reap::{Ended, How, Stopped, signal_group};
use sys::signals::number;

/// When a job gets the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Now, and it keeps it until it ends.
    Now,
    /// When the job that has it has ended.
    Later,
    /// When this run has it itself.
    InBackground,
}

/// Who has the terminal, and who waits for it.
#[derive(Default)]
pub(super) struct Foreground {
    terminal: Option<OwnedFd>,
    holder: Option<Pid>,
    waiting: VecDeque<Pid>,
}

impl Foreground {
    /// Whether no job has the terminal.
    pub(super) fn is_free(&self) -> bool {
        self.holder.is_none()
    }

    /// Whether a job waits for a terminal that no other job has. Nothing tells a run that it has come into the foreground.
    pub(super) fn must_look(&self) -> bool {
        self.holder.is_none() && !self.waiting.is_empty()
    }
}

impl Runner<'_> {
    /// A child was stopped.
    pub(super) fn note_stop(&mut self, stopped: Stopped) {
        let Stopped { pid, signal } = stopped;
        let wants_terminal = matches!(signal, number::SIGTTIN | number::SIGTTOU);
        if !(wants_terminal || signal == number::SIGTSTP) || self.jobs.of(pid).is_none() || !self.can_open_terminal() {
            return;
        }
        if self.foreground.holder == Some(pid) {
            if self.foreground_group() == Some(pid) {
                // LIMIT: Ctrl-Z at a job that has the terminal is of no effect: only a shell could bring it back.
                let _not_ours_any_more = signal_group(pid, number::SIGCONT);
                return;
            }
            // A shell has taken it meanwhile.
            self.foreground.holder = None;
        }
        if wants_terminal {
            if !self.foreground.waiting.contains(&pid) {
                self.foreground.waiting.push_back(pid);
                self.tell_turn(pid);
                self.pass_messages_on();
            }
            self.pass_terminal_on();
        }
    }

    fn can_open_terminal(&mut self) -> bool {
        if self.foreground.terminal.is_none() {
            let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
            self.foreground.terminal = rustix::fs::open("/dev/tty", flags, Mode::empty()).ok();
        }
        self.foreground.terminal.is_some()
    }

    fn foreground_group(&self) -> Option<Pid> {
        self.foreground.terminal.as_ref().and_then(|terminal| tcgetpgrp(terminal).ok())
    }

    /// Whether what is typed is meant for this run.
    pub(super) fn may_read_terminal(&mut self) -> bool {
        self.can_open_terminal() && self.foreground.holder.is_none() && self.has_terminal()
    }

    /// Whether the terminal is this run's to give.
    fn has_terminal(&self) -> bool {
        self.foreground_group() == Some(getpgrp())
    }

    fn tell_turn(&mut self, pid: Pid) {
        let turn = match self.foreground.holder {
            None if self.has_terminal() => Turn::Now,
            None => Turn::InBackground,
            Some(_) => Turn::Later,
        };
        if let Some(running) = self.jobs.of(pid) {
            self.observer.tell(&Event::WantsTerminal(running.view(), turn));
        }
    }

    pub(super) fn pass_terminal_on(&mut self) {
        if !self.foreground.must_look() || !self.has_terminal() {
            return;
        }
        let (Some(terminal), Some(next)) = (&self.foreground.terminal, self.foreground.waiting.pop_front()) else {
            return;
        };
        if tcsetpgrp(terminal, next).is_ok() {
            self.foreground.holder = Some(next);
            self.lay_question_aside();
            let _not_ours_any_more = signal_group(next, number::SIGCONT);
        }
    }

    /// A job has ended; whoever waits for the terminal after it gets it. An interrupt that it heard alone was meant for all.
    pub(super) fn take_terminal_back(&mut self, ended: &Ended) {
        self.foreground.waiting.retain(|waiting| *waiting != ended.pid);
        if self.foreground.holder != Some(ended.pid) {
            return;
        }
        self.foreground.holder = None;
        if let Some(terminal) = &self.foreground.terminal {
            let _gone_with_its_window = tcsetpgrp(terminal, getpgrp());
        }
        if ended.how == How::Signal(number::SIGINT) {
            self.interrupt();
        }
        self.pass_terminal_on();
        self.put_question();
    }
}
