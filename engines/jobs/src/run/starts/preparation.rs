//! Everything that is done before a program can be started: its arguments, files, streams and variables.

use super::Starts;
use crate::ends::RunBooks;
use crate::queue::Pending;
use crate::results::OutputFiles;
use crate::run::OutputManner;
use crate::run::running::Running;
use crate::run::spawners::Prepared;
use crate::run::streams::Stream;
use crate::start::{self, StartFault};
use crate::template::JobPosition;
use crew::budget::lease_token::VARIABLE;
use std::ffi::CString;
use std::io;
use std::sync::Arc;
use std::time::Instant;
use sys::spawn::{HoldsNul, Words, path_for_kernel};

/// A job whose program is found and whose streams are open.
pub(in crate::run) struct PreparedJob {
    program: CString,
    streams: [Stream; 3],
}

impl Starts<'_> {
    /// A job with the words that it is to run, and what it is known by.
    pub fn with_words(
        &mut self,
        pending: Pending,
        slot: usize,
        books: &RunBooks,
        now: Instant,
    ) -> Result<Running, (Pending, StartFault)> {
        let (template, spec) = (&self.options.template, &pending.spec);
        let place = JobPosition { number: spec.number, slot: slot + 1 };
        let is_for_shell = spec.more.as_ref().is_some_and(|more| more.is_for_shell);
        let words = match template.compose(&spec.words, place, is_for_shell) {
            Ok(words) => words,
            Err(cause) => return Err((pending, nul(cause))),
        };
        let (key, text_for_shell) = (books.key_of(template, spec, &words), books.text_for_shell(template, spec, place));
        let (class, need) = (self.memory.class_of(&pending, template), self.memory.need_of(&pending, template));
        Ok(Running { key, text_for_shell, ..Running::new(pending, words, class, need, now) })
    }

    /// Finds its program and opens its streams.
    pub fn open(
        &mut self,
        running: &mut Running,
        slot: usize,
        books: &mut RunBooks,
    ) -> Result<PreparedJob, StartFault> {
        let (place, own) = (JobPosition { number: running.number(), slot: slot + 1 }, &running.pending.spec.words);
        if let Some(template) = &self.options.tag {
            let tag = template.compose(own, place, false).map_err(nul)?;
            running.printing.tag = Some([tag.iter().collect::<Vec<_>>().join(&b' '), b"\t".to_vec()].concat());
        }
        let program = self.programs.find(running.words.get(0).ok_or(StartFault::Nothing)?)?;
        if let OutputManner::Files(layout) = &self.options.output {
            running.printing.files = Some(OutputFiles::prepare(layout, own, place)?);
        }
        let streams = self.streams.open(&self.options, books, running)?;
        Ok(PreparedJob { program, streams })
    }

    /// Names the files that have been made, now that the books know whose they are, and puts together what its spawner needs.
    pub fn complete(
        &self,
        running: &mut Running,
        slot: usize,
        opened: PreparedJob,
        lease_token: Option<String>,
    ) -> Result<Prepared, StartFault> {
        running.made.drain(..).try_for_each(start::name)?;
        let besides = lease_token.as_deref().map(besides).transpose().map_err(nul)?;
        running.below.lease_token = lease_token;
        let (words, more) = (Arc::clone(&running.words), running.more());
        let directory = more.and_then(|more| more.directory.as_deref()).map(path_for_kernel).transpose();
        let directory = directory.map_err(StartFault::Words)?;
        let environment = more.map(|more| start::environment(self.spawner.environment(), more)).transpose()?.flatten();
        let PreparedJob { program, streams } = opened;
        Ok(Prepared { slot, program, words, environment, besides, directory, streams })
    }
}

fn nul(cause: HoldsNul) -> StartFault {
    StartFault::Words(io::Error::new(io::ErrorKind::InvalidInput, cause))
}

/// The variable that tells a job which hands it may use.
fn besides(lease_token: &str) -> Result<Words, HoldsNul> {
    let mut words = Words::default();
    words.push(format!("{VARIABLE}={lease_token}").as_bytes())?;
    Ok(words)
}
