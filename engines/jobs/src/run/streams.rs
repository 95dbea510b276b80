//! A job's standard input, output and error: files that it or the command line names, pipes through us, or nothing.
//! Starts nothing; faults say what could not be opened.

use super::running::{Printing, Running};
use super::{Discarded, Errors, OutputManner, RunOptions};
use crate::ends::RunBooks;
use crate::output::Capture;
use crate::spec::More;
use crate::start::{self, StartFault};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// A stream of a job, closed when nobody needs it any more.
pub(super) type Stream = Arc<OwnedFd>;

/// Opens jobs' streams.
pub(super) struct Streams {
    nothing: Stream,
    /// Standard output and error of this process.
    own: [Stream; 2],
    /// Redirections of the command line, opened once for all jobs.
    for_all: [Option<Stream>; 3],
}

impl Streams {
    pub fn new(own: [Stream; 2]) -> io::Result<Self> {
        let nothing = Arc::new(std::fs::File::options().read(true).write(true).open("/dev/null")?.into());
        Ok(Self { nothing, own, for_all: [None, None, None] })
    }

    /// Opens a job's streams, and captures what goes through us.
    pub fn open(
        &mut self,
        options: &RunOptions,
        books: &mut RunBooks,
        running: &mut Running,
    ) -> Result<[Stream; 3], StartFault> {
        let Running { pending, key, printing, made, sent_bytes, .. } = running;
        let no_more = More::default();
        let (number, more) = (pending.spec.number, pending.spec.more.as_deref().unwrap_or(&no_more));
        let mut open_own = |books: &mut RunBooks, target| -> Result<Stream, StartFault> {
            let (file, new) = books.open_output(number, *key, target, more.directory.as_deref())?;
            made.extend(new);
            Ok(Arc::new(file))
        };
        let input = match (&more.stdin, &more.block) {
            (Some(path), _) => Arc::new(start::open_input(path, more.directory.as_deref())?),
            (None, Some(block)) => {
                *sent_bytes = block.len() as u64;
                Arc::new(start::hold(block).map_err(StartFault::Pipe)?)
            }
            // It is read by each from its beginning, so each opens it.
            (None, None) => match &options.defaults.stdin {
                Some(path) => Arc::new(start::open_input(path, None)?),
                None => Arc::clone(&self.nothing),
            },
        };
        let output = match &more.stdout {
            Some(target) => open_own(books, target)?,
            None => match self.for_all(1, options, books)? {
                Some(stream) => stream,
                None => self.through_us(0, options, printing)?,
            },
        };
        let is_through_us = more.stdout.is_none() && options.defaults.stdout.is_none();
        let goes_with_output = options.errors == Errors::WithOutput && is_through_us;
        let errors = match &more.stderr {
            Some(target) if more.stdout.as_ref() == Some(target) => Arc::clone(&output),
            Some(target) => open_own(books, target)?,
            None => match (self.for_all(2, options, books)?, &options.output) {
                (Some(stream), _) => stream,
                (None, OutputManner::Whole | OutputManner::Lines) if goes_with_output => Arc::clone(&output),
                (None, _) => self.through_us(1, options, printing)?,
            },
        };
        Ok([input, output, errors])
    }

    /// The redirection of the command line.
    fn for_all(
        &mut self,
        number: usize,
        options: &RunOptions,
        books: &mut RunBooks,
    ) -> Result<Option<Stream>, StartFault> {
        let defaults = &options.defaults;
        let Some(target) = [None, defaults.stdout.as_ref(), defaults.stderr.as_ref()][number] else { return Ok(None) };
        if number == 2 && defaults.stdout.as_ref() == Some(target) {
            return self.for_all(1, options, books);
        }
        if self.for_all[number].is_none() {
            self.for_all[number] = Some(Arc::new(books.open_for_all(target)?));
        }
        Ok(self.for_all[number].clone())
    }

    /// Where output or errors go that nobody redirects.
    fn through_us(&self, stream: usize, options: &RunOptions, printing: &mut Printing) -> Result<Stream, StartFault> {
        match &options.output {
            OutputManner::Direct => return Ok(Arc::clone(&self.own[stream])),
            OutputManner::Discarded(discarded) if stream == 0 || *discarded == Discarded::OutputAndErrors => {}
            OutputManner::Files(_) => {
                if let Some(files) = &mut printing.files {
                    return files.open(stream).map(Arc::new);
                }
            }
            OutputManner::Whole | OutputManner::Lines | OutputManner::Discarded(_) => {
                let (capture, writer) = Capture::new().map_err(StartFault::Pipe)?;
                printing.captures[stream] = Some(capture);
                return Ok(Arc::new(writer));
            }
        }
        Ok(Arc::clone(&self.nothing))
    }
}
