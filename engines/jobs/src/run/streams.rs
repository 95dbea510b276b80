//! A job's standard input, output and error: files that it or the command line names, pipes through us, or nothing.
//! Starts nothing; faults say what could not be opened.

use super::{Discarded, Errors, OutputManner, Runner, Running};
use crate::made::{Claim, Made, Naming, Own};
use crate::output::Capture;
use crate::spec::{More, Target};
use crate::start::{self, StartFault};
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// A stream of a job, closed when nobody needs it any more.
pub(super) type Stream = Arc<OwnedFd>;

impl Runner<'_> {
    /// Opens a job's streams, and captures what goes through us.
    pub(super) fn streams(
        &mut self,
        number: u64,
        more: &More,
        running: &mut Running,
    ) -> Result<[Stream; 3], StartFault> {
        let own = |file: OwnedFd| Arc::new(file);
        let folder = more.folder.as_deref();
        let input = match (&more.stdin, &more.block) {
            (Some(path), _) => own(start::open_input(path, folder)?),
            (None, Some(block)) => {
                running.sent_bytes = block.len() as u64;
                own(start::hold(block).map_err(StartFault::Pipe)?)
            }
            (None, None) => self.default_stream(0)?.unwrap_or_else(|| Arc::clone(&self.nothing)),
        };
        let output = match &more.stdout {
            Some(target) => own(self.open_output(number, target, folder, running)?),
            None => match self.default_stream(1)? {
                Some(stream) => stream,
                None => self.output_stream(running)?,
            },
        };
        let errors = match &more.stderr {
            Some(target) if more.stdout.as_ref() == Some(target) => Arc::clone(&output),
            Some(target) => own(self.open_output(number, target, folder, running)?),
            None => match self.default_stream(2)? {
                Some(stream) => stream,
                None => self.error_stream(more, running, &output)?,
            },
        };
        Ok([input, output, errors])
    }

    fn naming(&self) -> Naming {
        if self.around.journal.is_some() { Naming::OnceNoted } else { Naming::AtOnce }
    }

    /// Opens a file that the job names; what an earlier attempt made is its own, in this run or in one that it resumes.
    fn open_output(
        &mut self,
        number: u64,
        target: &Target,
        folder: Option<&[u8]>,
        running: &mut Running,
    ) -> Result<OwnedFd, StartFault> {
        let (made, done) = (self.made.get(&number), &self.around.done);
        let is_own = |mark| {
            made.is_some_and(|made| made.contains(&mark))
                || running.key.is_some() && done.as_ref().is_some_and(|done| done.has_made(running.key, mark))
        };
        let claim = Claim { naming: self.naming(), own: Own::Emptied, is_own: &is_own };
        let (file, made) = start::open_output(target, folder, &claim)?;
        if let Some(made) = made {
            self.made.entry(number).or_default().push(made.mark);
            running.made.push(made);
        }
        Ok(file)
    }

    /// Opens a file that all jobs write to. One that an earlier run made has the outputs of jobs that are done: it is added to.
    fn open_for_all(&mut self, target: &Target) -> Result<OwnedFd, StartFault> {
        let done = &self.around.done;
        let is_own = |mark| done.as_ref().is_some_and(|done| done.has_made(None, mark));
        let claim = Claim { naming: self.naming(), own: Own::Continued, is_own: &is_own };
        let (file, made) = start::open_output(target, None, &claim)?;
        if let Some(made) = made {
            if let Some(Err(error)) = self.around.journal.as_mut().map(|journal| journal.made_for_all(made.mark)) {
                self.journal_fails(error);
                return Err(StartFault::Unnoted);
            }
            name(made)?;
        }
        Ok(file)
    }

    /// The redirection of the command line, opened once for all jobs.
    fn default_stream(&mut self, number: usize) -> Result<Option<Stream>, StartFault> {
        let defaults = &self.options.defaults;
        let target = [None, defaults.stdout.as_ref(), defaults.stderr.as_ref()][number];
        if number == 0 {
            // An input is read by each from its beginning, so each opens it.
            return defaults.stdin.as_ref().map(|path| start::open_input(path, None).map(Arc::new)).transpose();
        }
        let Some(target) = target else { return Ok(None) };
        if number == 2 && defaults.stdout.as_ref() == Some(target) {
            return self.default_stream(1);
        }
        if self.defaults[number].is_none() {
            let target = target.clone();
            self.defaults[number] = Some(Arc::new(self.open_for_all(&target)?));
        }
        Ok(self.defaults[number].clone())
    }

    fn output_stream(&self, running: &mut Running) -> Result<Stream, StartFault> {
        match &self.options.output {
            OutputManner::Whole | OutputManner::Lines => captured(0, running),
            OutputManner::Direct => Ok(Arc::clone(&self.around.streams[0])),
            OutputManner::Discarded(_) => Ok(Arc::clone(&self.nothing)),
            OutputManner::Files(_) => self.in_file(0, running),
        }
    }

    fn error_stream(&self, more: &More, running: &mut Running, output: &Stream) -> Result<Stream, StartFault> {
        let output_is_ours = more.stdout.is_none() && self.options.defaults.stdout.is_none();
        let goes_with_output = self.options.errors == Errors::WithOutput && output_is_ours;
        match &self.options.output {
            OutputManner::Whole | OutputManner::Lines if goes_with_output => Ok(Arc::clone(output)),
            OutputManner::Whole | OutputManner::Lines | OutputManner::Discarded(Discarded::Output) => {
                captured(1, running)
            }
            OutputManner::Direct => Ok(Arc::clone(&self.around.streams[1])),
            OutputManner::Discarded(Discarded::OutputAndErrors) => Ok(Arc::clone(&self.nothing)),
            OutputManner::Files(_) => self.in_file(1, running),
        }
    }

    fn in_file(&self, stream: usize, running: &mut Running) -> Result<Stream, StartFault> {
        match &mut running.files {
            Some(files) => files.open(stream).map(Arc::new),
            None => Ok(Arc::clone(&self.nothing)),
        }
    }
}

/// Gives a file that has been made its name.
pub(super) fn name(made: Made) -> Result<(), StartFault> {
    made.name().map_err(|(path, cause)| StartFault::Open { path: path.to_string_lossy().into_owned(), cause })
}

fn captured(stream: usize, running: &mut Running) -> Result<Stream, StartFault> {
    let (capture, writer) = Capture::new().map_err(StartFault::Pipe)?;
    running.captures[stream] = Some(capture);
    Ok(Arc::new(writer))
}
