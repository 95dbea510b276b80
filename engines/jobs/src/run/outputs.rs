//! Outputs: takes in what running jobs print, and passes it on as the reader takes it, in the order of `outputs/delivery.rs`. What the run
//! says itself goes the same way. Knows neither list nor clock; what goes wrong is returned, and the loop acts on it.
//!
//! Lines that are passed on while their job runs (`--line-buffer`) hold it back when the reader is slow, as it would a program that writes to
//! it directly: what jobs print waits in their pipes, not here.

mod delivery;

pub(super) use delivery::{Fate, Owed};

use super::running::Printing;
use super::{Errors, OutputManner, OutputOrder, RunOptions};
use crate::output::{Flow, Outlet, OutputWeight, Part, PassedOn};
use crate::poll::{Poll, token};
use delivery::PendingDelivery;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;

/// LIMIT: what outputs that wait for a slow reader or an earlier job may take before no more jobs start. In memory: their bytes up to 64 KiB a
/// job, and what is known of these jobs.
const WAITING_BYTES_MAX: u64 = 16 << 20;

/// LIMIT: descriptors of those that are larger. What is raised for a wide run (`allow_descriptors`) leaves room for them.
const WAITING_FILES_MAX: usize = 240;

/// LIMIT: bytes of lines, and files of long ones, that wait for a slow reader before the pipes of those who print are left alone.
const LINES_BYTES_MAX: u64 = 4 << 20;
const LINES_FILES_MAX: usize = 8;

/// Bytes of an output read at once.
const READ_BYTES: usize = 64 << 10;

/// Descriptors of a run without jobs, and of a job while it starts.
const OWN_FILES: usize = 24;
const JOB_FILES: usize = 6;

/// How many outputs may wait in files of their own: half of what the run needs not itself, since jobs that run then may add theirs.
fn waiting_files_max(width: usize) -> usize {
    let limit = getrlimit(Resource::Nofile).current.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    let spare = limit.saturating_sub(OWN_FILES).saturating_sub(width.saturating_mul(JOB_FILES));
    (spare / 2).clamp(1, WAITING_FILES_MAX)
}

/// What has gone wrong with an outlet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Nobody reads standard output any more.
    ReaderGone,
    /// It cannot be written.
    Failed(usize),
}

/// What an ended job has printed.
#[derive(Default)]
pub(super) struct Printed {
    /// By outlet.
    pub parts: [Vec<Part>; 2],
    /// How much, by stream.
    pub bytes: [u64; 2],
    /// Why not all of it could be kept.
    pub fault: Option<io::Error>,
}

/// Outputs on their way.
pub(super) struct Outputs {
    /// What would wait for its reader is lost: it may never read on, and the run is to end.
    pub gives_up: bool,
    /// Messages were given up so.
    pub messages_given_up: bool,
    outlets: [Outlet; 2],
    is_watched: [bool; 2],
    /// It cannot be watched and need not be: a file, which the loop goes on with at once.
    goes_on: [bool; 2],
    /// Standard output and error are the same file, pipe or terminal.
    streams_are_one: bool,
    delivery: PendingDelivery,
    waiting_files_max: usize,
    manner: OutputManner,
    order: OutputOrder,
    errors: Errors,
    spill_directory: PathBuf,
    scratch: Vec<u8>,
    poll: Poll,
}

impl Outputs {
    pub fn new(options: &RunOptions, streams: &[Arc<OwnedFd>; 2], poll: Poll) -> io::Result<Self> {
        let [output, errors] = [rustix::fs::fstat(&streams[0])?, rustix::fs::fstat(&streams[1])?];
        Ok(Self {
            gives_up: false,
            messages_given_up: false,
            outlets: [Outlet::new(streams[0].as_fd())?, Outlet::new(streams[1].as_fd())?],
            is_watched: [false; 2],
            goes_on: [false; 2],
            streams_are_one: (output.st_dev, output.st_ino) == (errors.st_dev, errors.st_ino),
            delivery: PendingDelivery::default(),
            waiting_files_max: waiting_files_max(options.width),
            manner: options.output.clone(),
            order: options.order,
            errors: options.errors,
            spill_directory: options.spill_directory.clone(),
            scratch: vec![0; READ_BYTES],
            poll,
        })
    }

    /// Reports when a job prints. If that cannot be, its output is read at its end.
    pub fn watch(&self, slot: usize, printing: &Printing) {
        for (stream, capture) in printing.captures.iter().enumerate() {
            if let Some(capture) = capture {
                let _read_at_the_end = self.poll.watch(capture.pipe(), printing.token(slot, stream), EventFlags::IN);
            }
        }
    }

    /// Takes in what a job has printed.
    pub fn take_in(&mut self, number: u64, stream: usize, printing: &mut Printing) {
        let Printing { captures, tag, .. } = printing;
        let (Some(capture), tag) = (&mut captures[stream], tag.as_deref()) else { return };
        let is_live = self.manner == OutputManner::Lines
            && (self.order == OutputOrder::AsEnded || number == self.delivery.next_number());
        let (flow, lines) = match is_live {
            true => capture.take_lines(&mut self.scratch, tag, &self.spill_directory),
            false => (capture.take_in(&mut self.scratch, tag, &self.spill_directory), Vec::new()),
        };
        if flow == Flow::Ended {
            self.poll.forget(capture.pipe());
        }
        if lines.is_empty() {
            return;
        }
        let outlet = &mut self.outlets[self.outlet_of(stream)];
        lines.into_iter().for_each(|part| outlet.push(part));
        let weight = outlet.weight();
        if weight.bytes > LINES_BYTES_MAX || weight.files > LINES_FILES_MAX {
            capture.is_held = self.poll.forget(capture.pipe());
        }
    }

    /// Which outlets have room for lines again, if any job may be held back.
    pub fn room_for_lines(&self) -> Option<[bool; 2]> {
        (self.manner == OutputManner::Lines).then(|| {
            [0, 1].map(|stream| {
                let weight = self.outlets[self.outlet_of(stream)].weight();
                weight.bytes <= LINES_BYTES_MAX / 2 && weight.files <= LINES_FILES_MAX / 2
            })
        })
    }

    /// The reader has come on: a job that was held back goes on.
    pub fn let_lines_come(&self, slot: usize, printing: &mut Printing, has_room: [bool; 2]) {
        for stream in [0, 1] {
            let token = printing.token(slot, stream);
            if let Some(capture) = printing.captures[stream].as_mut().filter(|it| it.is_held && has_room[stream]) {
                capture.is_held = false;
                let _read_at_the_end = self.poll.watch(capture.pipe(), token, EventFlags::IN);
            }
        }
    }

    /// The job whose lines are passed on from now on, if they come in the list's order: it may have printed already.
    pub fn next_with_lines(&self) -> Option<u64> {
        let is_so = self.manner == OutputManner::Lines && self.order == OutputOrder::AsListed;
        is_so.then(|| self.delivery.next_number())
    }

    /// Passes on what this job has printed so far.
    pub fn begin_passing_on(&mut self, printing: &mut Printing) {
        for (stream, capture) in printing.captures.iter_mut().enumerate() {
            let outlet = self.outlet_of(stream);
            let parts = capture.as_mut().map_or(Vec::new(), |capture| capture.take_out());
            parts.into_iter().for_each(|part| self.outlets[outlet].push(part));
        }
    }

    /// Where what a job prints to `stream` is passed on.
    fn outlet_of(&self, stream: usize) -> usize {
        if self.streams_are_one || self.errors == Errors::WithOutput { 0 } else { stream }
    }

    /// All that a job has printed that has ended.
    pub fn collect(&mut self, printing: &mut Printing) -> Printed {
        let mut printed = Printed::default();
        for (stream, capture) in printing.captures.iter_mut().enumerate() {
            let Some(mut capture) = capture.take() else { continue };
            if !capture.is_held_open() {
                // Copies of its other end that a child has which is being started would go on ringing.
                self.poll.forget(capture.pipe());
            }
            capture.drain(&mut self.scratch, printing.tag.as_deref(), &self.spill_directory);
            let (kept, bytes, lost) = capture.finish();
            (printed.parts[stream], printed.bytes[stream]) = (kept, bytes);
            printed.fault = printed.fault.or(lost);
        }
        if let Some(files) = printing.files.take() {
            printed.bytes = files.finish();
        }
        // Where outputs are thrown away, or go to files, errors were kept for themselves.
        let errors = std::mem::take(&mut printed.parts[1]);
        printed.parts[self.outlet_of(1)].extend(errors);
        printed
    }

    /// Which outlets a job has printed to: now, or in lines while it ran.
    pub fn printed_to(&self, printed: &Printed) -> [bool; 2] {
        let went_before = |stream: usize| self.manner == OutputManner::Lines && printed.bytes[stream] > 0;
        let went_by = |outlet: usize| (0..2).any(|stream| self.outlet_of(stream) == outlet && went_before(stream));
        [0, 1].map(|outlet| !printed.parts[outlet].is_empty() || went_by(outlet))
    }

    /// Passes a job's output on, if it has any: now, or when those that stand before it have ended.
    pub fn deliver(&mut self, number: u64, owed: Option<Box<Owed>>) {
        if self.order == OutputOrder::AsListed {
            self.delivery.push_in_turn(number, owed, &mut self.outlets);
        } else if let Some(owed) = owed {
            self.delivery.push(owed, &mut self.outlets);
        }
    }

    /// Those that would be delivered first may never be: the others go now.
    pub fn deliver_as_ended(&mut self) {
        self.order = OutputOrder::AsEnded;
        self.delivery.give_up_turns(&mut self.outlets);
    }

    /// Takes out the next job whose output has been delivered, or never will be.
    pub fn take_over(&mut self) -> Option<(Box<Owed>, Fate)> {
        self.delivery.take_over(&self.outlets)
    }

    /// Whether messages can be written; if not they stay where they are, for the end of the run.
    pub fn takes_messages(&self) -> bool {
        self.outlets[self.outlet_of_messages()].fault().is_none()
    }

    /// A message waits for a slow reader as outputs do, and holds up nobody; in the same file, pipe or terminal it stands between them.
    pub fn push_message(&mut self, text: Vec<u8>) {
        self.outlets[self.outlet_of_messages()].push(Part::message(text));
    }

    fn outlet_of_messages(&self) -> usize {
        if self.streams_are_one { 0 } else { 1 }
    }

    /// Which outlets have something to write.
    pub fn waiting(&self) -> [bool; 2] {
        self.outlets.each_ref().map(|outlet| !outlet.is_empty())
    }

    pub fn are_empty(&self) -> bool {
        self.waiting() == [false; 2]
    }

    /// Whether something waits and is not watched: what was put in while others were passed on.
    pub fn has_forgotten(&self) -> bool {
        (0..2).any(|number| !self.outlets[number].is_empty() && !self.is_watched[number])
    }

    /// Whether the loop is to go on at once.
    pub fn go_on(&self) -> bool {
        self.goes_on.contains(&true)
    }

    /// Passes on what can be; the rest is watched.
    pub fn pass_on(&mut self) -> Vec<Trouble> {
        let mut troubles = Vec::new();
        for number in 0..self.outlets.len() {
            match self.outlets[number].pass_on() {
                PassedOn::All => self.watch_outlet(number, false),
                PassedOn::WouldWait if self.gives_up && !self.outlets[number].never_waits() => {
                    self.outlets[number].give_up(io::ErrorKind::Interrupted.into());
                    self.messages_given_up |= number == self.outlet_of_messages();
                }
                PassedOn::WouldWait | PassedOn::Enough => self.watch_outlet(number, true),
                PassedOn::ReaderGone if number == 0 && !self.only_errors_come() => {
                    self.outlets[number].give_up(io::ErrorKind::BrokenPipe.into());
                    troubles.push(Trouble::ReaderGone);
                }
                // Who closes standard error wants none of it.
                PassedOn::ReaderGone => self.outlets[number].clear(),
                PassedOn::Failed(error) => {
                    self.outlets[number].give_up(error);
                    troubles.push(Trouble::Failed(number));
                }
            }
        }
        troubles
    }

    /// Outputs are thrown away, or go to files.
    fn only_errors_come(&self) -> bool {
        matches!(self.manner, OutputManner::Discarded(_) | OutputManner::Files(_))
    }

    fn watch_outlet(&mut self, number: usize, wanted: bool) {
        if self.is_watched[number] == wanted {
            return;
        }
        self.is_watched[number] = wanted;
        let descriptor = self.outlets[number].descriptor();
        self.goes_on[number] = if wanted {
            self.poll.watch(descriptor, token::OUTLETS + number as u64, EventFlags::OUT) == Err(Errno::PERM)
        } else {
            self.poll.forget(descriptor);
            false
        };
    }

    /// Why nothing is written to this outlet any more.
    pub fn fault(&self, outlet: usize) -> Option<&io::Error> {
        self.outlets[outlet].fault()
    }

    /// Whether jobs that write directly write to nobody.
    pub fn direct_reader_has_left(&self) -> bool {
        self.manner == OutputManner::Direct && self.outlets[0].reader_has_left()
    }

    /// Whether so much waits that no more jobs start, while something moves.
    pub fn are_backed_up(&self, any_runs: bool) -> bool {
        let waiting = self.outlets.iter().map(Outlet::weight).fold(self.delivery.weight(), OutputWeight::with);
        let is_much = waiting.bytes > WAITING_BYTES_MAX || waiting.files > self.waiting_files_max;
        is_much && (any_runs || !self.are_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::JobOutcome;
    use crate::output::Capture;
    use crate::run::JobEnd;
    use crate::run::running::Running;
    use crate::tree::Spent;
    use std::io::{PipeReader, Read, Write};
    use std::time::{Duration, Instant};
    use sys::reap::{Ended, How};

    fn outputs() -> (Outputs, PipeReader) {
        let (reader, writer) = io::pipe().expect("a pipe");
        let errors = std::fs::File::options().write(true).open("/dev/null").expect("there is one");
        let streams = [Arc::new(OwnedFd::from(writer)), Arc::new(OwnedFd::from(errors))];
        let poll = Poll::new().expect("an epoll");
        (Outputs::new(&RunOptions::for_tests(), &streams, poll).expect("they can be written"), reader)
    }

    /// A job that has printed this and ended.
    fn owed(outputs: &mut Outputs, number: u64, text: &[u8]) -> Option<Box<Owed>> {
        let mut running = Running::for_tests(number, Instant::now());
        let (capture, writer) = Capture::new().expect("a pipe");
        running.printing.captures[0] = Some(capture);
        std::fs::File::from(writer).write_all(text).expect("it fits");
        let printed = outputs.collect(&mut running.printing);
        let printed_to = outputs.printed_to(&printed);
        let ended = Ended { pid: rustix::process::Pid::INIT, how: How::Exit(0), usage: sys::reap::Usage::default() };
        let end = JobEnd {
            ended,
            spent: Spent::default(),
            leaves_processes: false,
            outcome: JobOutcome::Ok,
            wall: Duration::ZERO,
            is_tried_again: false,
            printed_bytes: printed.bytes,
        };
        printed_to.contains(&true).then(|| Owed::new(running, end, printed.parts, printed_to))
    }

    fn taken_over(outputs: &mut Outputs) -> Vec<(u64, Fate)> {
        std::iter::from_fn(|| outputs.take_over()).map(|(owed, fate)| (owed.running.number(), fate)).collect()
    }

    #[test]
    fn a_jobs_books_are_closed_when_its_output_is_written_in_the_lists_order() {
        let (mut outputs, mut reader) = outputs();
        for number in [3, 2] {
            let owed = owed(&mut outputs, number, format!("{number}\n").as_bytes());
            outputs.deliver(number, owed);
        }
        assert!(outputs.pass_on().is_empty() && outputs.are_empty() && taken_over(&mut outputs).is_empty());
        let silent = owed(&mut outputs, 1, b"");
        assert!(silent.is_none());
        outputs.deliver(1, silent);
        assert!(!outputs.are_empty() && taken_over(&mut outputs).is_empty(), "it waits to be written");
        assert!(outputs.pass_on().is_empty());
        assert_eq!(taken_over(&mut outputs), [(2, Fate::Delivered), (3, Fate::Delivered)]);
        drop(outputs);
        let mut text = String::new();
        reader.read_to_string(&mut text).expect("text");
        assert_eq!(text, "2\n3\n");
    }

    #[test]
    fn an_output_that_nobody_reads_is_lost_and_that_is_returned_once() {
        let (mut outputs, reader) = outputs();
        drop(reader);
        let owed = owed(&mut outputs, 1, b"x");
        outputs.deliver(1, owed);
        assert_eq!(outputs.pass_on(), [Trouble::ReaderGone]);
        assert_eq!((taken_over(&mut outputs), outputs.pass_on()), (vec![(1, Fate::Lost(0))], Vec::new()));
        assert!(outputs.takes_messages(), "standard error is another one");
    }

    #[test]
    fn a_slow_reader_is_waited_for_until_the_run_gives_up() {
        let (mut outputs, _reader) = outputs();
        for number in 1..=3 {
            let owed = owed(&mut outputs, number, &[b'x'; 60_000]);
            outputs.deliver(number, owed);
        }
        assert!(outputs.pass_on().is_empty() && !outputs.are_empty() && !outputs.has_forgotten());
        assert_eq!(taken_over(&mut outputs), [(1, Fate::Delivered)]);
        outputs.gives_up = true;
        assert!(outputs.pass_on().is_empty() && outputs.are_empty() && !outputs.messages_given_up);
        assert_eq!(taken_over(&mut outputs), [(2, Fate::Lost(0)), (3, Fate::Lost(0))]);
    }
}
