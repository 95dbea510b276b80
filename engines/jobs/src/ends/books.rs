//! The books of a run: its journal and its job log, what earlier runs wrote into them, and the files that its jobs have made.
//! A book that cannot be written is closed; the cause is kept for the owner of the run ([`RunBooks::take_faults`]).

use crate::joblog::Joblog;
use crate::journal::{EarlierEnd, JobRecord, Journal, JournalDone};
use crate::key::{JobKey, Keys};
use crate::made::{NamingTime, OutputOpening, Own, OwnFile, OwnFileIdentity};
use crate::spec::{OutputTarget, Spec};
use crate::start::{self, StartFault};
use crate::template::{JobPosition, Template};
use crate::tree::{Leftover, Spent, Survivor};
use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use sys::spawn::Words;

/// What is kept of a run.
pub(crate) struct RunBooks {
    journal: Option<Journal>,
    joblog: Option<Joblog>,
    done: Option<JournalDone>,
    keys: Keys,
    /// Files that attempts of jobs made which have not come to their end.
    made: HashMap<u64, Vec<OwnFileIdentity>>,
    faults: Vec<io::Error>,
}

impl RunBooks {
    pub fn new(journal: Option<Journal>, joblog: Option<Joblog>, done: Option<JournalDone>, keys: Keys) -> Self {
        Self { journal, joblog, done, keys, made: HashMap::new(), faults: Vec::new() }
    }

    pub fn has_journal(&self) -> bool {
        self.journal.is_some()
    }

    /// Why books were closed since this was asked last. Nobody would know afterwards of jobs that start from now on.
    pub fn take_faults(&mut self) -> Vec<io::Error> {
        std::mem::take(&mut self.faults)
    }

    /// What the job is known by, if books are kept. The slot is where it happens to run.
    pub fn key_of(&self, template: &Template, spec: &Spec, words: &Words) -> Option<JobKey> {
        if self.journal.is_none() && self.joblog.is_none() {
            return None;
        }
        if !template.names_slot() {
            return Some(self.keys.of(spec, words));
        }
        let is_for_shell = spec.more.as_ref().is_some_and(|more| more.is_for_shell);
        let nowhere = JobPosition { number: spec.number, slot: 0 };
        Some(self.keys.of(spec, &template.compose(&spec.words, nowhere, is_for_shell).ok()?))
    }

    /// How a job log names the job, if there is one and a shell runs the jobs.
    pub fn text_for_shell(&self, template: &Template, spec: &Spec, place: JobPosition) -> Option<Vec<u8>> {
        let is_needed = self.joblog.is_some() && template.is_for_shell();
        is_needed.then(|| template.text_for_shell(&spec.words, place))
    }

    /// How a job came out that an earlier run did. Equal jobs are counted, so it is left out once.
    pub fn take_out(
        &mut self,
        key: Option<JobKey>,
        words: &Words,
        text_for_shell: Option<&[u8]>,
    ) -> Option<EarlierEnd> {
        let (done, key) = self.done.as_mut().zip(key)?;
        done.takes_out(done.key_of(key, words, text_for_shell))
    }

    /// Whether an earlier run began this job, and nobody knows how it ended.
    pub fn was_interrupted(&mut self, key: Option<JobKey>, words: &Words, text_for_shell: Option<&[u8]>) -> bool {
        let known = self.done.as_mut().zip(key);
        known.is_some_and(|(done, key)| done.was_interrupted(done.key_of(key, words, text_for_shell)))
    }

    /// Notes that a job is about to begin, with the files that it has made.
    pub fn begin(&mut self, key: Option<JobKey>, number: u64, made: &[OwnFile]) -> Result<(), StartFault> {
        let Some(key) = key else { return Ok(()) };
        self.note(|journal| journal.begin(key, number, made.iter().map(|made| made.mark)))
    }

    /// Notes how a job ended.
    pub fn end(&mut self, record: &JobRecord<'_>) {
        let _kept_among_faults = self.note(|journal| journal.end(record));
        if let Some(Err(error)) = self.joblog.as_mut().map(|joblog| joblog.end(record)) {
            self.joblog = None;
            self.faults.push(error);
        }
    }

    /// Notes what a job's group used after its end.
    pub fn late(&mut self, leftover: &Leftover, survivors: &[Survivor]) {
        let _kept_among_faults = self.note(|journal| journal.late(leftover, survivors));
    }

    /// Notes what was used by processes of which nobody can say whose they were.
    pub fn strays(&mut self, spent: Spent, survivors: &[Survivor]) {
        if spent.processes > 0 || !survivors.is_empty() {
            let _kept_among_faults = self.note(|journal| journal.strays(spent, survivors));
        }
    }

    fn note(&mut self, write: impl FnOnce(&mut Journal) -> io::Result<()>) -> Result<(), StartFault> {
        let Some(Err(error)) = self.journal.as_mut().map(write) else { return Ok(()) };
        self.journal = None;
        self.faults.push(error);
        Err(StartFault::Unnoted)
    }

    /// Waits until all is on the disk.
    pub fn finish(&mut self) {
        let finished = [self.journal.as_ref().map(Journal::finish), self.joblog.as_ref().map(Joblog::finish)];
        self.faults.extend(finished.into_iter().flatten().filter_map(Result::err));
    }

    fn naming(&self) -> NamingTime {
        if self.journal.is_some() { NamingTime::OnceNoted } else { NamingTime::AtOnce }
    }

    /// Opens a file that the job names; what an earlier attempt made is its own, in this run or in one that it resumes.
    pub fn open_output(
        &mut self,
        number: u64,
        key: Option<JobKey>,
        target: &OutputTarget,
        directory: Option<&[u8]>,
    ) -> Result<(OwnedFd, Option<OwnFile>), StartFault> {
        let (made, done) = (self.made.get(&number), &self.done);
        let is_own = |mark| {
            made.is_some_and(|made| made.contains(&mark))
                || key.is_some() && done.as_ref().is_some_and(|done| done.has_made(key, mark))
        };
        let claim = OutputOpening { naming: self.naming(), own: Own::Emptied, is_own: &is_own };
        let opened = start::open_output(target, directory, &claim)?;
        if let (_, Some(made)) = &opened {
            self.made.entry(number).or_default().push(made.mark);
        }
        Ok(opened)
    }

    /// The job has come to its end: another one of its number makes files of its own.
    pub fn forget_made(&mut self, number: u64) {
        self.made.remove(&number);
    }

    /// Opens a file that all jobs write to. One that an earlier run made has the outputs of jobs that are done: it is added to.
    pub fn open_for_all(&mut self, target: &OutputTarget) -> Result<OwnedFd, StartFault> {
        let done = &self.done;
        let is_own = |mark| done.as_ref().is_some_and(|done| done.has_made(None, mark));
        let claim = OutputOpening { naming: self.naming(), own: Own::Continued, is_own: &is_own };
        let (file, made) = start::open_output(target, None, &claim)?;
        if let Some(made) = made {
            self.note(|journal| journal.made_for_all(made.mark))?;
            start::name(made)?;
        }
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{JobOutcome, Resume};
    use crate::spec::{ExistingOutput, More};
    use std::path::Path;

    fn books(journal: &Path, done: Option<JournalDone>) -> RunBooks {
        let keys = Keys::new(Path::new("/"), &More::default());
        RunBooks::new(Some(Journal::open(journal).expect("it can be made")), None, done, keys)
    }

    #[test]
    fn what_one_run_wrote_the_next_one_leaves_out_or_knows_as_interrupted() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("journal");
        let template = Template::appending(&[], crate::template::Shell::None);
        let specs = [1, 2, 3].map(|number| {
            let mut spec = Spec { number, ..Spec::default() };
            spec.words.push(number.to_string().as_bytes()).expect("no NUL");
            spec
        });
        let mut first = books(&path, None);
        let keys = specs.each_ref().map(|spec| first.key_of(&template, spec, &spec.words));
        first.begin(keys[0], 1, &[]).expect("written");
        first.begin(keys[1], 2, &[]).expect("written");
        let ended = JobRecord::of(&specs[0], keys[0].expect("it keeps books"), &specs[0].words);
        first.end(&JobRecord { outcome: JobOutcome::Ok, ..ended });
        first.finish();
        assert!(first.take_faults().is_empty());
        drop(first);
        let mut second = books(&path, Some(JournalDone::read(&path, Resume::Ended).expect("readable")));
        let taken = [0, 1, 2].map(|job: usize| second.take_out(keys[job], &specs[job].words, None));
        assert_eq!(taken, [Some(EarlierEnd::Succeeded), None, None]);
        let interrupted = [1, 2].map(|job: usize| second.was_interrupted(keys[job], &specs[job].words, None));
        assert_eq!(interrupted, [true, false]);
    }

    #[test]
    fn a_book_that_cannot_be_written_is_closed_and_that_is_known_once() {
        let mut full = books(Path::new("/dev/full"), None);
        let key = JobKey::of_command([&b"x"[..]].into_iter());
        assert!(full.begin(Some(key), 1, &[]).is_err() && !full.has_journal());
        assert_eq!((full.take_faults().len(), full.take_faults().len()), (1, 0));
        full.begin(Some(key), 2, &[]).expect("nothing is kept any more");
    }

    #[test]
    fn a_file_is_the_jobs_own_until_the_job_has_ended() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut books = books(Path::new("/dev/null"), None);
        let path = directory.path().join("o").into_os_string().into_encoded_bytes();
        let target = OutputTarget { path, opening: ExistingOutput::New };
        let (_, made) = books.open_output(7, None, &target, None).expect("it is new");
        start::name(made.expect("a file")).expect("the name is free");
        books.open_output(7, None, &target, None).expect("another attempt");
        assert!(books.open_output(8, None, &target, None).is_err(), "another job");
        books.forget_made(7);
        assert!(books.open_output(7, None, &target, None).is_err(), "it has ended");
    }
}
