//! Intake: reads the list as far ahead as it may and keeps the jobs that wait, in their order. Knows nothing of how a job is run, and no
//! clock: the reader passes the time in, in nanoseconds since its run began. Faults are returned, and reported by the reader.

use crate::list::{ListFault, ListItem};
use crate::poll::{Poll, token};
use crate::queue::Queue;
use crate::source::JobSource;
use crate::spec::Spec;
use rustix::event::epoll::EventFlags;
use std::io;

/// Bytes of the list read at once.
const READ_BYTES: usize = 64 << 10;

/// How the list is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    /// Reading never waits.
    Plain,
    /// Epoll reports when there is something; it is asked only while there is room.
    Watched,
    Unwatched,
    Ended,
}

/// Why the list cannot be read on.
#[derive(Debug)]
pub(crate) enum InputFault {
    Line(ListFault),
    Read(io::Error),
}

/// What one reading brought.
#[derive(Debug, Default)]
pub(crate) struct IntakeReading {
    pub jobs: u64,
    pub faults: Vec<InputFault>,
}

/// The list, and the jobs of it that wait.
#[derive(Debug)]
pub(crate) struct Intake {
    pub queue: Queue,
    source: JobSource,
    input: Input,
    poll: Poll,
    /// Jobs that are read ahead.
    ahead_max: usize,
    scratch: Vec<u8>,
}

impl Intake {
    pub fn new(source: JobSource, poll: Poll, ahead_max: usize) -> Self {
        let input = if source.descriptor().is_some() { Input::Unwatched } else { Input::Plain };
        Self { queue: Queue::default(), source, input, poll, ahead_max, scratch: vec![0; READ_BYTES] }
    }

    /// Reads while there is room and reading does not wait. Jobs that come could have started from `now_ns` on.
    pub fn read(&mut self, now_ns: u64) -> IntakeReading {
        let mut reading = IntakeReading::default();
        while self.input != Input::Ended && self.queue.jobs() < self.ahead_max {
            match self.source.next_item() {
                Ok(Some(ListItem::Job(spec))) => {
                    self.queue.push(spec, now_ns);
                    reading.jobs += 1;
                }
                Ok(Some(ListItem::Barrier)) => self.queue.push_barrier(),
                Ok(None) if self.source.is_exhausted() => self.end(),
                Ok(None) if self.watch() => return reading,
                Ok(None) => reading.faults.extend(self.read_once().err()),
                Err(fault) => {
                    reading.faults.push(InputFault::Line(fault));
                    self.end();
                }
            }
        }
        self.pause();
        reading
    }

    /// Reads once, as there is something to read.
    pub fn read_once(&mut self) -> Result<(), InputFault> {
        self.source.read_once(&mut self.scratch).map_err(InputFault::Read)
    }

    /// Whether there is less than half of what is read ahead.
    pub fn is_low(&self) -> bool {
        self.queue.jobs() * 2 < self.ahead_max
    }

    /// Whether all of the list has been read.
    pub fn has_ended(&self) -> bool {
        self.input == Input::Ended
    }

    /// Reads nothing for now: what the list's descriptor has wakes nobody.
    pub fn pause(&mut self) {
        if let (Input::Watched, Some(input)) = (self.input, self.source.descriptor()) {
            self.poll.forget(input);
            self.input = Input::Unwatched;
        }
    }

    /// Reads nothing any more, and drops the jobs that wait. Returns their numbers.
    pub fn stop(&mut self) -> Vec<u64> {
        self.end();
        self.queue.clear()
    }

    /// Notes that a job has come to its end, started or not, for those that wait for it and for whoever sent it.
    pub fn settle(&mut self, spec: &Spec, is_success: bool, now_ns: u64) {
        self.source.job_ended(spec.number, is_success);
        if spec.more.as_ref().is_some_and(|more| more.id.is_some()) {
            self.queue.settle(spec.number, is_success, now_ns);
        }
    }

    fn end(&mut self) {
        self.pause();
        self.input = Input::Ended;
    }

    /// Waits for the list with epoll. Returns whether that can be done: files cannot be watched, and need not be.
    fn watch(&mut self) -> bool {
        if let (Input::Unwatched, Some(input)) = (self.input, self.source.descriptor()) {
            let done = self.poll.watch(input, token::INPUT, EventFlags::IN);
            self.input = if done.is_ok() { Input::Watched } else { Input::Plain };
        }
        self.input == Input::Watched
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::{JsonRecords, ListReader, Syntax};
    use crate::queue::NextJob;
    use crate::record::Utility;
    use std::io::Write;
    use std::os::fd::OwnedFd;

    fn intake(ahead_max: usize, input: OwnedFd) -> Intake {
        let list = ListReader::new(Syntax::Words { lines_per_job: 1, records: JsonRecords::Read }, Utility::InTheList);
        Intake::new(JobSource::Stream(list, input), Poll::new().expect("an epoll"), ahead_max)
    }

    fn number(next: NextJob) -> Option<(u64, u64)> {
        if let NextJob::Job(pending) = next { Some((pending.spec.number, pending.since_ns)) } else { None }
    }

    #[test]
    fn a_list_is_read_as_far_ahead_as_it_may_and_watched_where_it_has_to_come() {
        let (reader, mut writer) = io::pipe().expect("a pipe");
        let mut intake = intake(2, reader.into());
        assert_eq!((intake.read(1).jobs, intake.input), (0, Input::Watched), "nothing is there yet");
        writer.write_all(b"a\nb\nc\n").expect("written");
        intake.read_once().expect("read");
        assert_eq!((intake.read(5).jobs, intake.input), (2, Input::Unwatched), "there is room for two");
        assert!(!intake.is_low() && number(intake.queue.next(0)) == Some((1, 5)));
        drop(writer);
        assert_eq!((intake.read(9).jobs, intake.has_ended()), (1, false));
        assert_eq!((number(intake.queue.next(1)), number(intake.queue.next(1))), (Some((2, 5)), Some((3, 9))));
        assert_eq!((intake.read(9).jobs, intake.input), (0, Input::Watched));
        intake.read_once().expect("its end");
        assert!(intake.read(9).faults.is_empty() && intake.has_ended());
    }

    #[test]
    fn an_input_that_fails_is_reported_once_and_has_ended() {
        // A directory can be opened and neither watched nor read.
        let mut intake = intake(9, std::fs::File::open("/").expect("there is one").into());
        let faults = intake.read(0).faults;
        assert!(matches!(faults[..], [InputFault::Read(_)]), "{faults:?}");
        assert!(intake.has_ended() && intake.read(0).faults.is_empty());
    }

    #[test]
    fn a_stopped_intake_drops_what_waits() {
        let (reader, mut writer) = io::pipe().expect("a pipe");
        let mut intake = intake(9, reader.into());
        writer.write_all(b"a\nb\n").expect("written");
        intake.read_once().expect("read");
        intake.read(0);
        assert_eq!((intake.stop(), intake.has_ended(), intake.queue.jobs()), (vec![1, 2], true, 0));
    }
}
