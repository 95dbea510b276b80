//! Questions (`-p`): whoever is asked answers when they like. The run goes on meanwhile, but no other job starts, and hands go back.

use super::{JobView, Runner, token};
use rustix::event::epoll;
use std::collections::HashMap;
use std::os::fd::OwnedFd;

/// What has been asked.
#[derive(Default)]
pub(super) struct Questions {
    /// The job that is asked about, and what can be read when there is an answer.
    open: Option<(u64, OwnedFd)>,
    /// Answers for jobs that have not started yet.
    answers: HashMap<u64, bool>,
}

impl Questions {
    pub fn is_any_open(&self) -> bool {
        self.open.is_some()
    }

    /// The job has started, or never will: about its next attempt it is asked again.
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
        let Some(terminal) = self.observer.ask(job) else { return Some(false) };
        let data = epoll::EventData::new_u64(token::ANSWER);
        if epoll::add(&self.epoll, &terminal, data, epoll::EventFlags::IN).is_err() {
            return Some(self.observer.answer());
        }
        self.questions.open = Some((job.number, terminal));
        None
    }

    pub(super) fn take_answer(&mut self) {
        let Some((number, terminal)) = self.questions.open.take() else { return };
        let _it_was_watched = epoll::delete(&self.epoll, &terminal);
        let answer = self.observer.answer();
        self.questions.answers.insert(number, answer);
    }
}
