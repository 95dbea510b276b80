//! Delivery: outputs of jobs in their order, passed on as the reader takes them. A job's end is written down when all of its output has been
//! passed on and not before: whatever kills this process, an output that nobody got is that of a job which `--resume` runs again.

use super::{Event, JobEnd, Moment, Order, OutputManner, Runner, Running, Stop};
use crate::output::{Outlet, Part, Passed, Weight};
use crate::poll::token;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use std::collections::{BTreeMap, VecDeque};
use std::io;

/// LIMIT: what outputs that wait for a slow reader or an earlier job may take before no more jobs start. In memory: their bytes up to 64 KiB a
/// job, and what is known of these jobs.
const WAITING_BYTES_MAX: u64 = 16 << 20;

/// LIMIT: descriptors of those that are larger. What is raised for a wide run (`allow_descriptors`) leaves room for them.
const WAITING_FILES_MAX: usize = 240;

/// Descriptors of a run without jobs, and of a job while it starts.
const OWN_FILES: usize = 24;
const JOB_FILES: usize = 6;

/// How many outputs may wait in files of their own: half of what the run needs not itself, since jobs that run then may add theirs.
pub(super) fn waiting_files_max(width: usize) -> usize {
    let limit = getrlimit(Resource::Nofile).current.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    let spare = limit.saturating_sub(OWN_FILES).saturating_sub(width.saturating_mul(JOB_FILES));
    (spare / 2).clamp(1, WAITING_FILES_MAX)
}

/// A job that has ended and has printed something: its books are open until that is delivered.
pub(super) struct Owed {
    pub running: Running,
    pub end: JobEnd,
    pub parts: [Vec<Part>; 2],
    /// Which of the two streams it has printed to.
    pub printed: [bool; 2],
    /// How far each outlet must have come for all of it to be passed on.
    marks: [u64; 2],
}

impl Owed {
    pub fn new(mut running: Running, end: JobEnd, parts: [Vec<Part>; 2], printed: [bool; 2]) -> Box<Self> {
        running.drop_block();
        Box::new(Self { running, end, parts, printed, marks: [0; 2] })
    }

    /// What is known of it, besides its output.
    fn book(&self) -> Weight {
        let words = self.running.words.as_bytes().len() + self.running.pending.spec.words.as_bytes().len();
        Weight { bytes: (size_of::<Self>() + words) as u64, files: 0 }
    }

    fn output(&self) -> Weight {
        self.parts.iter().flatten().map(Part::weight).fold(Weight::default(), Weight::with)
    }
}

/// What waits between the end of a job and the end of its delivery.
#[derive(Default)]
pub(super) struct Delivery {
    line: Line<Box<Owed>>,
    under_way: VecDeque<Box<Owed>>,
    /// What is known of both, and the outputs of those in the line.
    weight: Weight,
}

impl Delivery {
    /// The job whose turn it is, where outputs come in the list's order.
    pub fn next_number(&self) -> u64 {
        self.line.next
    }
}

/// Who is next, where outputs come in the list's order. Who has nothing to deliver takes no room, but for a pair of numbers around each gap.
struct Line<T> {
    next: u64,
    waiting: BTreeMap<u64, T>,
    /// From the first to behind the last.
    silent: BTreeMap<u64, u64>,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self { next: 1, waiting: BTreeMap::new(), silent: BTreeMap::new() }
    }
}

impl<T> Line<T> {
    fn put(&mut self, number: u64, what: Option<T>) {
        if let Some(what) = what {
            self.waiting.insert(number, what);
            return;
        }
        let end = self.silent.remove(&(number + 1)).unwrap_or(number + 1);
        match self.silent.range_mut(..number).next_back().filter(|(_, end)| **end == number) {
            Some((_, before)) => *before = end,
            None => _ = self.silent.insert(number, end),
        }
    }

    /// Takes out whose turn it is.
    fn take_next(&mut self) -> Option<T> {
        if let Some(end) = self.silent.remove(&self.next) {
            self.next = end;
        }
        let next = self.waiting.remove(&self.next)?;
        self.next += 1;
        Some(next)
    }
}

/// How the delivery of a job's output stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    UnderWay,
    Delivered,
    /// This outlet cannot be written any more.
    Lost(usize),
}

fn fate(outlets: &[Outlet; 2], owed: &Owed) -> Fate {
    let is_open = |stream: &usize| outlets[*stream].passed() < owed.marks[*stream];
    match (0..outlets.len()).filter(is_open).find(|stream| outlets[*stream].fault().is_some()) {
        Some(stream) => Fate::Lost(stream),
        None if (0..outlets.len()).any(|stream| is_open(&stream)) => Fate::UnderWay,
        None => Fate::Delivered,
    }
}

impl Runner<'_> {
    /// Passes a job's output on, if it has any: now, or when those that stand before it have ended.
    pub(super) fn deliver(&mut self, number: u64, owed: Option<Box<Owed>>) {
        if let Some(owed) = &owed {
            self.delivery.weight = self.delivery.weight.with(owed.book());
        }
        if self.options.order == Order::AsEnded {
            owed.into_iter().for_each(|owed| self.push(owed));
            return;
        }
        if let Some(owed) = &owed {
            self.delivery.weight = self.delivery.weight.with(owed.output());
        }
        self.delivery.line.put(number, owed);
        while let Some(owed) = self.delivery.line.take_next() {
            self.delivery.weight = self.delivery.weight.without(owed.output());
            self.push(owed);
        }
        self.begin_passing_lines_on();
    }

    /// Those that would be delivered first may never be: the others go now.
    pub(super) fn deliver_as_ended(&mut self) {
        self.options.order = Order::AsEnded;
        for owed in std::mem::take(&mut self.delivery.line).waiting.into_values() {
            self.delivery.weight = self.delivery.weight.without(owed.output());
            self.push(owed);
        }
    }

    fn push(&mut self, mut owed: Box<Owed>) {
        for (stream, outlet) in self.outlets.iter_mut().enumerate() {
            std::mem::take(&mut owed.parts[stream]).into_iter().for_each(|part| outlet.push(part));
            owed.marks[stream] = if owed.printed[stream] { outlet.pushed() } else { 0 };
        }
        self.delivery.under_way.push_back(owed);
    }

    /// Passes on what can be. What cannot be now is watched afterwards: also what was let go by a failure on the way.
    pub(super) fn pass_outputs_on(&mut self) {
        self.queue_messages();
        loop {
            self.pass_once();
            self.queue_messages();
            let is_forgotten = |number: usize| !self.outlets[number].is_empty() && !self.outlet_is_watched[number];
            if !(0..self.outlets.len()).any(is_forgotten) {
                return;
            }
        }
    }

    fn pass_once(&mut self) {
        let waiting = self.outlets.each_ref().map(|outlet| !outlet.is_empty());
        if waiting.contains(&true) {
            self.observer.passes_output(Moment::Before, waiting);
            self.pass_waiting_outputs_on();
            let is_all = self.outlets.iter().all(Outlet::is_empty);
            self.observer.passes_output(if is_all { Moment::After } else { Moment::Within }, waiting);
        } else {
            // Nothing to pass on, and nothing that is still watched.
            (0..self.outlets.len()).for_each(|number| self.watch_outlet(number, false));
        }
        self.close_books();
    }

    /// What is said waits for a slow reader as outputs do, and holds up nobody; in the same place it stands between them. Where nothing is
    /// written any more it stays, for the end of the run. Says whether there was anything.
    pub(super) fn queue_messages(&mut self) -> bool {
        let outlet = self.outlet_of_messages();
        if self.outlets[outlet].fault().is_some() {
            return false;
        }
        let text = self.observer.take_messages();
        let is_anything = !text.is_empty();
        self.outlets[outlet].push(Part::message(text));
        is_anything
    }

    /// What was said goes now: a thread is about to wait, a question to be put, or a job to have the terminal.
    pub(super) fn pass_messages_on(&mut self) {
        if self.queue_messages() {
            self.pass_outputs_on();
        }
    }

    fn outlet_of_messages(&self) -> usize {
        if self.streams_are_one { 0 } else { 1 }
    }

    fn pass_waiting_outputs_on(&mut self) {
        for number in 0..self.outlets.len() {
            match self.outlets[number].pass_on() {
                Passed::All => self.watch_outlet(number, false),
                Passed::WouldWait if self.gives_outputs_up && !self.outlets[number].never_waits() => {
                    self.outlets[number].give_up(io::ErrorKind::Interrupted.into());
                    self.ran.messages_given_up |= number == self.outlet_of_messages();
                }
                Passed::WouldWait | Passed::Enough => self.watch_outlet(number, true),
                Passed::ReaderGone if number == 0 && !self.only_errors_come() => {
                    self.outlets[number].give_up(io::ErrorKind::BrokenPipe.into());
                    self.ran.reader_gone = true;
                    self.stop_jobs(Stop::Now);
                }
                // Who closes standard error wants none of it.
                Passed::ReaderGone => self.outlets[number].clear(),
                Passed::Failed(error) => {
                    if !self.ran.is_incomplete {
                        self.observer.tell(&Event::BadOutput(&error));
                    }
                    self.outlets[number].give_up(error);
                    self.ran.is_incomplete = true;
                    self.stop_jobs(Stop::Soon);
                }
            }
        }
        self.let_lines_come();
    }

    /// Outputs are thrown away, or go to files.
    fn only_errors_come(&self) -> bool {
        matches!(self.options.output, OutputManner::Discarded(_) | OutputManner::Files(_))
    }

    fn watch_outlet(&mut self, number: usize, wanted: bool) {
        if self.outlet_is_watched[number] == wanted {
            return;
        }
        self.outlet_is_watched[number] = wanted;
        let descriptor = self.outlets[number].descriptor();
        self.outlet_goes_on[number] = if wanted {
            self.poll.watch(descriptor, token::OUTLETS + number as u64, EventFlags::OUT) == Err(Errno::PERM)
        } else {
            self.poll.forget(descriptor);
            false
        };
    }

    /// Writes down the ends of jobs whose outputs have been delivered, or never will be.
    fn close_books(&mut self) {
        while let Some(owed) = self.delivery.under_way.front() {
            let fate = fate(&self.outlets, owed);
            if fate == Fate::UnderWay {
                return;
            }
            let Some(owed) = self.delivery.under_way.pop_front() else { return };
            self.delivery.weight = self.delivery.weight.without(owed.book());
            match fate {
                Fate::Lost(stream) => self.note_lost(&owed, stream),
                _ => self.write_end(&owed.running, &owed.end),
            }
        }
    }

    /// A job whose output did not reach anybody has failed, however it ended.
    fn note_lost(&mut self, owed: &Owed, stream: usize) {
        if let Some(error) = self.outlets[stream].fault().filter(|_| !self.ran.reader_gone) {
            self.observer.tell(&Event::NotDelivered(owed.running.view(), error));
        }
        let outcome = self.ends.count_lost(owed.end.outcome);
        self.write_end(&owed.running, &JobEnd { outcome, ..owed.end });
    }

    pub(super) fn is_backed_up(&self) -> bool {
        let waiting = self.outlets.iter().map(Outlet::weight).fold(self.delivery.weight, Weight::with);
        let something_moves = self.jobs.count() > 0 || self.outlets.iter().any(|outlet| !outlet.is_empty());
        (waiting.bytes > WAITING_BYTES_MAX || waiting.files > self.waiting_files_max) && something_moves
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(line: &mut Line<u64>) -> Vec<u64> {
        std::iter::from_fn(|| line.take_next()).collect()
    }

    #[test]
    fn each_is_taken_in_its_turn_and_the_silent_are_stepped_over() {
        let mut line = Line::default();
        for number in [4, 2, 6] {
            line.put(number, Some(number));
        }
        line.put(3, None);
        assert!(taken(&mut line).is_empty());
        line.put(1, None);
        assert_eq!(taken(&mut line), [2, 4]);
        line.put(5, Some(5));
        assert_eq!((taken(&mut line), line.next), (vec![5, 6], 7));
    }

    #[test]
    fn the_silent_take_room_for_gaps_alone() {
        let mut line = Line::default();
        for number in (2..=1000).filter(|number| number % 2 == 0).chain((2..=1000).filter(|number| number % 2 == 1)) {
            line.put(number, None);
        }
        assert_eq!((line.silent.len(), taken(&mut line).len()), (1, 0));
        line.put(1001, Some(1001));
        line.put(1, None);
        assert_eq!(taken(&mut line), [1001]);
    }
}
