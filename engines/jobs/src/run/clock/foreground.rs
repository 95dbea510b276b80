//! The terminal, for jobs that ask for it. Each job is a group of its own, in the background for the kernel, which stops whoever
//! reads the terminal from there (SIGTTIN), or changes it (SIGTTOU). Such a job gets the terminal until it ends, one after another.

use rustix::fs::{Mode, OFlags};
use rustix::process::Pid;
use rustix::termios::{tcgetpgrp, tcsetpgrp};
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use sys::reap::{Stopped, signal_group};
use sys::session::own_group;
use sys::signals::number;

/// When a job gets the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForegroundTurn {
    /// Now, and it keeps it until it ends.
    Now,
    /// When the job that has it has ended.
    Later,
    /// When this run has it itself.
    InBackground,
}

/// What a job that was stopped asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::run) enum ForegroundWish {
    Nothing,
    /// The terminal; when it gets it, if it asks for the first time.
    Terminal(Option<ForegroundTurn>),
}

/// Who has the terminal, and who waits for it.
#[derive(Default)]
pub(in crate::run) struct Foreground {
    terminal: Option<OwnedFd>,
    holder: Option<Pid>,
    waiting: VecDeque<Pid>,
}

impl Foreground {
    /// Whether no job has the terminal.
    pub fn is_free(&self) -> bool {
        self.holder.is_none()
    }

    /// Whether a job waits for a terminal that no other job has. Nothing tells a run that it has come into the foreground.
    pub fn must_look(&self) -> bool {
        self.holder.is_none() && !self.waiting.is_empty()
    }
    /// A job was stopped.
    pub fn note_stop(&mut self, stopped: Stopped) -> ForegroundWish {
        let Stopped { pid, signal } = stopped;
        let wants_terminal = matches!(signal, number::SIGTTIN | number::SIGTTOU);
        if !(wants_terminal || signal == number::SIGTSTP) || !self.can_open() {
            return ForegroundWish::Nothing;
        }
        if self.holder == Some(pid) {
            if self.foreground_group() == Some(pid) {
                // LIMIT: Ctrl-Z at a job that has the terminal is of no effect: only a shell could bring it back.
                let _not_ours_any_more = signal_group(pid, number::SIGCONT);
                return ForegroundWish::Nothing;
            }
            // A shell has taken it meanwhile.
            self.holder = None;
        }
        if !wants_terminal {
            return ForegroundWish::Nothing;
        }
        let is_new = !self.waiting.contains(&pid);
        if is_new {
            self.waiting.push_back(pid);
        }
        ForegroundWish::Terminal(is_new.then(|| self.turn()))
    }

    fn can_open(&mut self) -> bool {
        if self.terminal.is_none() {
            let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
            self.terminal = rustix::fs::open("/dev/tty", flags, Mode::empty()).ok();
        }
        self.terminal.is_some()
    }

    fn foreground_group(&self) -> Option<Pid> {
        self.terminal.as_ref().and_then(|terminal| tcgetpgrp(terminal).ok())
    }

    /// Whether what is typed is meant for this run.
    pub fn may_be_read(&mut self) -> bool {
        self.can_open() && self.holder.is_none() && self.is_ours()
    }

    /// Whether the terminal is this run's to give.
    fn is_ours(&self) -> bool {
        self.foreground_group().is_some_and(|group| Some(group) == own_group())
    }

    fn turn(&self) -> ForegroundTurn {
        match self.holder {
            None if self.is_ours() => ForegroundTurn::Now,
            None => ForegroundTurn::InBackground,
            Some(_) => ForegroundTurn::Later,
        }
    }

    /// Gives the terminal to the next one, if it is this run's. It is to be sent SIGCONT.
    pub fn pass_on(&mut self) -> Option<Pid> {
        if !self.must_look() || !self.is_ours() {
            return None;
        }
        let (terminal, next) = (self.terminal.as_ref()?, self.waiting.pop_front()?);
        self.holder = tcsetpgrp(terminal, next).is_ok().then_some(next);
        self.holder
    }

    /// A job has ended. Returns whether it had the terminal, which is this run's again.
    pub fn take_back(&mut self, ended: Pid) -> bool {
        self.waiting.retain(|waiting| *waiting != ended);
        if self.holder != Some(ended) {
            return false;
        }
        self.holder = None;
        if let (Some(terminal), Some(own)) = (&self.terminal, own_group()) {
            let _gone_with_its_window = tcsetpgrp(terminal, own);
        }
        true
    }
}
