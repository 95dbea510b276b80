//! `--delete` of an archive that comes in on standard input: what stays goes out on standard output.

use super::super::chosen::{Chosen, not_found};
use super::super::extract::tell_note;
use super::super::list::rules;
use super::super::messages;
use super::super::{FAILED, TarArgs, could_not, usage};
use archive::member::padded;
use archive::read::{Note, ReadError, Reader, Step};
use archive::source::Source;
use archive::write::end_archive;
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome};
use std::io::{self, Read, Write};
use terminal::StandardStream;

/// The fate of bytes that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// They wait until it is known.
    Unknown,
    Stays,
    Goes,
}

/// An archive on its way.
struct Filter<Input, Output> {
    input: Input,
    output: Output,
    fate: Fate,
    waiting: Vec<u8>,
    position: u64,
    written: u64,
    /// Why what stays could not be written.
    write_error: Option<io::Error>,
}

/// Why it went no further.
enum Stopped {
    Reading(ReadError),
    Writing(io::Error),
}

/// Filters.
pub fn run(context: &Context, args: &TarArgs) -> Result<Outcome, Failure> {
    if super::archive::said(args).is_some() || args.packing.use_compress_program.is_some() {
        return Err(super::is_packed());
    }
    if context.terminals.stdout {
        return Err(usage("an archive is not written to a terminal".to_owned()));
    }
    let mut chosen = Chosen::new(args, None)?;
    let mut filter = Filter {
        input: io::stdin().lock(),
        output: StandardStream::Output,
        fate: Fate::Unknown,
        waiting: Vec::new(),
        position: 0,
        written: 0,
        write_error: None,
    };
    let mut failed = match filter.pass(context, args, &mut chosen) {
        Ok(failed) => failed,
        Err(Stopped::Reading(error)) => return Err(could_not("read", "standard input".as_ref(), &error)),
        Err(Stopped::Writing(error)) if error.kind() == io::ErrorKind::BrokenPipe => return Err(Failure::BrokenPipe),
        Err(Stopped::Writing(error)) => return Err(could_not("write to", "standard output".as_ref(), &error)),
    };
    for name in not_found(&chosen.wanted) {
        failed = true;
        messages::not_found(context, &name);
    }
    Ok(if failed { FAILED } else { Outcome::Done })
}

impl<Input: Read, Output: Write> Filter<Input, Output> {
    /// Goes through the archive. Whether anything in it was wrong.
    fn pass(&mut self, context: &Context, args: &TarArgs, chosen: &mut Chosen) -> Result<bool, Stopped> {
        let mut reader = Reader::new(rules(args), self);
        let mut failed = false;
        loop {
            let step = reader.next(self);
            if let Some(error) = self.write_error.take() {
                return Err(Stopped::Writing(error));
            }
            let (fate, data_bytes) = match step.map_err(Stopped::Reading)? {
                Step::Member(member) if chosen.means(&member.path) => (Fate::Goes, padded(member.stored_bytes)),
                Step::Member(member) => (Fate::Stays, padded(member.stored_bytes)),
                Step::Note(Note::Unusable { .. }) => continue,
                Step::Note(note) => {
                    failed |= tell_note(context, args, &note);
                    continue;
                }
                Step::End => break,
            };
            self.decide(fate).map_err(Stopped::Writing)?;
            let skipped = self.skip(data_bytes);
            self.fate = Fate::Unknown;
            if let Some(error) = self.write_error.take() {
                return Err(Stopped::Writing(error));
            }
            let offset = self.position;
            skipped.map_err(|cause| Stopped::Reading(ReadError::Read { offset, cause }))?;
        }
        // What waits is the end mark.
        let mut mark = Vec::new();
        end_archive(self.written, &mut mark);
        self.output.write_all(&mark).and_then(|()| self.output.flush()).map_err(Stopped::Writing)?;
        Ok(failed)
    }

    fn decide(&mut self, fate: Fate) -> io::Result<()> {
        self.fate = fate;
        let waiting = std::mem::take(&mut self.waiting);
        if fate == Fate::Stays {
            self.written += waiting.len() as u64;
            self.output.write_all(&waiting)?;
        }
        Ok(())
    }
}

impl<Input: Read, Output: Write> Source for Filter<Input, Output> {
    fn position(&self) -> u64 {
        self.position
    }

    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let mut read = 0;
        while read < target.len() {
            match self.input.read(&mut target[read..]) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.position += read as u64;
        match self.fate {
            Fate::Unknown => self.waiting.extend_from_slice(&target[..read]),
            Fate::Goes => {}
            Fate::Stays => {
                self.written += read as u64;
                self.output.write_all(&target[..read]).map_err(|error| {
                    let kind = error.kind();
                    self.write_error = Some(error);
                    io::Error::from(kind)
                })?;
            }
        }
        Ok(read)
    }

    fn skip(&mut self, bytes: u64) -> io::Result<u64> {
        let mut buffer = vec![0; bytes.min(256 << 10) as usize];
        let mut left = bytes;
        while left > 0 {
            let count = left.min(buffer.len() as u64) as usize;
            let read = self.read(&mut buffer[..count])?;
            left -= read as u64;
            if read < count {
                break;
            }
        }
        Ok(bytes - left)
    }
}
