//! Questions (`-p`): whoever is asked answers when they like. The run goes on meanwhile, but reads no list, which may come from the same
//! terminal; no other job starts, and hands go back. An answer is read only while the terminal is this run's: what is typed to a job, or to
//! a shell, is none.

use super::{JobView, Runner};
use crate::poll::token;
use rustix::event::epoll::EventFlags;
use std::collections::HashMap;
use std::io;
use std::os::fd::BorrowedFd;

/// A question about a job.
pub trait Question: Send {
    /// What can be read when there is an answer.
    fn descriptor(&self) -> BorrowedFd<'_>;
    /// Puts it, or puts it again.
    fn put(&mut self) -> io::Result<()>;
    /// What was answered; none where there is nothing to read after all.
    fn answer(&mut self) -> Option<bool>;
}

struct Open {
    number: u64,
    question: Box<dyn Question>,
    is_watched: bool,
}

/// What has been asked.
#[derive(Default)]
pub(super) struct Questions {
    open: Option<Open>,
    /// Answers for jobs that have not begun yet.
    answers: HashMap<u64, bool>,
}

impl Questions {
    pub fn is_any_open(&self) -> bool {
        self.open.is_some()
    }

    /// Whether one waits for a terminal that somebody else has.
    pub fn must_look(&self) -> bool {
        self.open.as_ref().is_some_and(|open| !open.is_watched)
    }

    /// The job has begun, or never will: about its next attempt it is asked again.
    pub fn forget(&mut self, number: u64) {
        self.answers.remove(&number);
    }
}

impl Runner<'_> {
    /// Whether the job may start; none until there is an answer.
    pub(super) fn permission(&mut self, job: JobView<'_>) -> Option<bool> {
        if let Some(&answer) = self.questions.answers.get(&job.number) {
            return Some(answer);
        }
        let Some(question) = self.observer.ask(job) else { return Some(false) };
        self.questions.open = Some(Open { number: job.number, question, is_watched: false });
        self.intake.pause();
        self.put_question();
        // It may have been closed at once.
        self.questions.answers.get(&job.number).copied()
    }

    /// Puts the open question where it is not put yet, if the terminal is this run's.
    pub(super) fn put_question(&mut self) {
        if !self.questions.must_look() || !self.may_read_terminal() {
            return;
        }
        self.pass_messages_on();
        let Some(open) = &mut self.questions.open else { return };
        let watch = |open: &Open| self.poll.watch(open.question.descriptor(), token::ANSWER, EventFlags::IN);
        match open.question.put().and_then(|()| Ok(watch(open)?)) {
            Ok(()) => open.is_watched = true,
            // The terminal has been told to hold its output: later.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // A terminal that has gone gives no permission.
            Err(_) => self.close_question(false),
        }
    }

    /// The terminal is somebody else's from now on, or was for a while: the question is put again when it is this run's.
    pub(super) fn lay_question_aside(&mut self) {
        if let Some(open) = self.questions.open.as_mut().filter(|open| open.is_watched) {
            self.poll.forget(open.question.descriptor());
            open.is_watched = false;
        }
    }

    pub(super) fn take_answer(&mut self) {
        if !self.may_read_terminal() {
            return self.lay_question_aside();
        }
        let answer = self.questions.open.as_mut().and_then(|open| open.question.answer());
        answer.into_iter().for_each(|answer| self.close_question(answer));
    }

    fn close_question(&mut self, answer: bool) {
        self.lay_question_aside();
        if let Some(open) = self.questions.open.take() {
            self.questions.answers.insert(open.number, answer);
        }
    }
}
