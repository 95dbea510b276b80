//! Questions (`-p`): whoever is asked answers when they like. The run goes on meanwhile, but reads no list, which may come from the same
//! terminal; no other job starts, and hands go back. An answer is read only while the terminal is this run's: what is typed to a job, or to
//! a shell, is none.

use crate::poll::{Poll, token};
use rustix::event::epoll::EventFlags;
use std::collections::HashMap;
use std::io;
use std::os::fd::BorrowedFd;

/// A question about a job.
pub trait JobQuestion: Send {
    /// What can be read when there is an answer.
    fn descriptor(&self) -> BorrowedFd<'_>;
    /// Puts it, or puts it again.
    fn put(&mut self) -> io::Result<()>;
    /// What was answered; none where there is nothing to read after all.
    fn answer(&mut self) -> Option<bool>;
}

struct Open {
    number: u64,
    question: Box<dyn JobQuestion>,
    is_watched: bool,
}

/// What has been asked.
pub(in crate::run) struct Questions {
    open: Option<Open>,
    /// Answers for jobs that have not begun yet.
    answers: HashMap<u64, bool>,
    poll: Poll,
}

impl Questions {
    pub fn new(poll: Poll) -> Self {
        Self { open: None, answers: HashMap::new(), poll }
    }

    pub fn is_any_open(&self) -> bool {
        self.open.is_some()
    }

    /// Whether one waits for a terminal that somebody else has.
    pub fn must_look(&self) -> bool {
        self.open.as_ref().is_some_and(|open| !open.is_watched)
    }

    /// What was answered about this job.
    pub fn answer(&self, number: u64) -> Option<bool> {
        self.answers.get(&number).copied()
    }

    /// The job has begun, or never will: about its next attempt it is asked again.
    pub fn forget(&mut self, number: u64) {
        self.answers.remove(&number);
    }

    /// Opens a question about this job; it is to be put.
    pub fn open(&mut self, number: u64, question: Box<dyn JobQuestion>) {
        self.open = Some(Open { number, question, is_watched: false });
    }

    /// Puts the open question.
    pub fn put(&mut self) {
        let Some(open) = &mut self.open else { return };
        let watch = |open: &Open| self.poll.watch(open.question.descriptor(), token::ANSWER, EventFlags::IN);
        match open.question.put().and_then(|()| Ok(watch(open)?)) {
            Ok(()) => open.is_watched = true,
            // The terminal has been told to hold its output: later.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // A terminal that has gone gives no permission.
            Err(_) => self.close(false),
        }
    }

    /// The terminal is somebody else's from now on, or was for a while: the question is put again when it is this run's.
    pub fn lay_aside(&mut self) {
        if let Some(open) = self.open.as_mut().filter(|open| open.is_watched) {
            self.poll.forget(open.question.descriptor());
            open.is_watched = false;
        }
    }

    pub fn take_answer(&mut self) {
        let answer = self.open.as_mut().and_then(|open| open.question.answer());
        answer.into_iter().for_each(|answer| self.close(answer));
    }

    fn close(&mut self, answer: bool) {
        self.lay_aside();
        if let Some(open) = self.open.take() {
            self.answers.insert(open.number, answer);
        }
    }
}
