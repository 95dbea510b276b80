//! Starts: what holds jobs back, what they start with, and who starts them. The queue, the books and what runs are the loop's to pass in, and
//! so is the time.
//! A shortage (processes, descriptors) is waited out while others run; any other fault is returned, and the job has failed.

mod holds;
mod memory;
mod places;
mod preparation;
mod spares;

pub(super) use holds::{LOOK_AGAIN_AFTER, UnstartedFate};

use super::clock::Cause;
use super::spawners::Spawners;
use super::streams::Streams;
use super::{JobEnd, RunOptions, Running};
use crate::admission::AdmissionRefusal;
use crate::journal::JobOutcome;
use crate::queue::Pending;
use crate::staff::Staff;
use crate::start::{Programs, StartFault};
use holds::{Holds, Shortages};
use machine::Host;
use memory::JobMemory;
use places::Places;
use spares::Spares;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;
use sys::signals::SignalQueue;
use sys::spawn::Spawner;

/// What jobs are started with.
pub(super) struct Starts<'a> {
    pub options: RunOptions,
    pub places: Places,
    pub spawners: Spawners,
    pub memory: JobMemory,
    pub holds: Holds,
    pub spares: Spares,
    pub spawner: Spawner,
    /// The next job waits for others to end.
    pub is_order_blocked: bool,
    shortages: Shortages,
    programs: Programs,
    streams: Streams,
    host: &'a Host,
}

impl<'a> Starts<'a> {
    pub fn new(
        mut options: RunOptions,
        staff: Staff,
        streams: [Arc<OwnedFd>; 2],
        signals: &SignalQueue,
        host: &'a Host,
    ) -> io::Result<Self> {
        let mut spawner = Spawner::new(signals, options.environment.clone());
        Ok(Self {
            places: Places::new(staff),
            spawners: Spawners::new(&options),
            memory: JobMemory::new(&mut options),
            holds: Holds::new(options.delay),
            spares: Spares::new(options.slots.clone(), &mut spawner)?,
            is_order_blocked: false,
            shortages: Shortages::default(),
            programs: Programs::new(&options.path),
            streams: Streams::new(streams)?,
            spawner,
            host,
            options,
        })
    }

    /// Begins a turn. Returns whether jobs may start, as far as is known without the queue: not while nothing has changed that blocked them.
    pub fn begin_turn(&mut self, any_runs: bool, now: Instant) -> bool {
        self.is_order_blocked = false;
        let is_time_to_look = self.holds.pass(now);
        if !any_runs {
            self.spares.settle();
        }
        let is_still_blocked = self.memory.is_blocked && any_runs && !is_time_to_look;
        self.memory.is_blocked &= is_still_blocked;
        !is_still_blocked
    }

    /// Whether something other than hands and order holds all jobs back. `kept_back`: something that only the loop knows does.
    pub fn are_held(&mut self, kept_back: bool, now: Instant) -> bool {
        if kept_back || self.holds.cause().is_some() {
            return true;
        }
        let cause =
            if self.is_short_of_memory() { Some(Cause::Memory) } else { self.is_loaded().then_some(Cause::Held) };
        cause.into_iter().for_each(|cause| self.holds.hold(cause, now));
        cause.is_some()
    }

    fn is_short_of_memory(&self) -> bool {
        let wanted = self.options.memory_free_bytes;
        wanted.is_some_and(|wanted| memory::available_bytes(self.host).is_some_and(|available| available < wanted))
    }

    fn is_loaded(&self) -> bool {
        let runnable = || machine::runnable_threads(self.host).ok();
        // We are one of those that can run: we ask.
        self.options.load_max.is_some_and(|most| runnable().is_some_and(|count| count.saturating_sub(1) as f64 >= most))
    }

    /// Whether memory lets it start.
    pub fn admit(&mut self, pending: &Pending, any_runs: bool, now: Instant) -> bool {
        let need = self.memory.need_of(pending, &self.options.template);
        let refused = self.memory.judge(need, any_runs, now, self.host).err();
        if refused == Some(AdmissionRefusal::Short) {
            self.holds.hold(Cause::Memory, now);
        }
        refused.is_none()
    }

    /// Whether something in here holds all jobs back, by what is known: time, memory or order.
    pub fn are_kept_back(&self) -> bool {
        self.holds.cause().is_some() || self.is_order_blocked || self.memory.is_blocked
    }

    /// Wants places for those that run and, unless something holds all of them back, for `queued` jobs.
    pub fn want(&mut self, queued: usize, is_held: bool) {
        let wanted = self.wanted(queued, is_held);
        self.places.staff.want(wanted);
    }

    fn wanted(&self, queued: usize, is_held: bool) -> usize {
        if is_held { self.places.at_work() } else { self.places.wanted(self.options.width, queued) }
    }

    /// The same, and offers cores that are left over to jobs' programs.
    pub fn want_and_offer(&mut self, queued: usize, is_held: bool, any_runs: bool) {
        let (wanted, cores) = (self.wanted(queued, is_held), self.options.width.min(self.options.hands));
        let spare = if any_runs { cores.saturating_sub(wanted) } else { 0 };
        // Jobs of the list come first: what they want comes back before they ask for it, what they leave is offered afterwards.
        self.spares.offer_less(spare);
        self.places.staff.want(wanted);
        self.spares.offer_more(spare);
    }

    /// When what holds starts back is over.
    pub fn times(&self) -> [Option<Instant>; 3] {
        let [next_start, look_again] = self.holds.times();
        [next_start, look_again, self.places.patience()]
    }

    pub fn set_width(&mut self, width: usize) {
        self.options.width = width;
        self.memory.admission.set_width(width);
        self.memory.is_blocked = false;
    }

    /// What becomes of a job that could not be started, with others running or not.
    pub fn judge(&mut self, fault: &StartFault, any_runs: bool, now: Instant) -> UnstartedFate {
        let verdict = self.shortages.judge(fault.is_a_shortage(), any_runs);
        if verdict == UnstartedFate::Wait {
            if fault.is_for_want_of_processes() {
                self.spawners.retire();
            }
            self.holds.hold(Cause::Short, now);
        }
        verdict
    }

    /// A job has its place.
    pub fn note_start(&mut self, running: &Running) {
        self.memory.admission.begin(running.need);
        self.holds.started(running.times.started);
    }

    /// Its program has begun: nothing is short.
    pub fn note_begin(&mut self) {
        self.shortages = Shortages::default();
    }

    /// Its program could not begin: its memory is free.
    pub fn take_back_start(&mut self, running: &Running) {
        self.memory.admission.end(running.need);
        self.memory.is_blocked = false;
    }

    /// A job has ended: its place is free.
    pub fn note_end(&mut self, running: &mut Running) {
        self.places.staff.put_back(std::mem::take(&mut running.crew));
        self.holds.ended();
    }

    /// A job has ended: its memory is free, and its class is better known.
    pub fn learn(&mut self, running: &Running, end: &JobEnd) {
        self.take_back_start(running);
        if end.outcome == JobOutcome::Ok {
            self.memory.classes.note(running.class, end.spent.usage.rss_peak_bytes, end.wall.as_secs_f64());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crew::budget::{Budget, InProcess, Priority, Request, Weight};
    use std::time::Duration;
    use sys::signals::JOB_CONTROL;

    fn with_starts(options: RunOptions, test: impl FnOnce(&mut Starts<'_>)) {
        let (signals, host) = (SignalQueue::open(JOB_CONTROL).expect("a signalfd"), Host::real());
        let (priority, weight) = (Priority::Normal, Weight::default());
        let request = Request { priority, weight, useful_width: 1, what: "a test".to_owned() };
        let staff = Staff::new(InProcess::new(1).lease(request), 1).expect("a thread and an eventfd");
        let nothing = || Arc::new(OwnedFd::from(std::fs::File::open("/dev/null").expect("there is one")));
        let mut starts = Starts::new(options, staff, [nothing(), nothing()], &signals, &host).expect("it begins");
        test(&mut starts);
        assert!(starts.places.staff.close());
        signals.close();
    }

    #[test]
    fn a_delay_holds_all_jobs_back_until_it_has_passed() {
        let (second, now) = (Duration::from_secs(1), Instant::now());
        with_starts(RunOptions { delay: second, ..RunOptions::for_tests() }, |starts| {
            assert!(starts.begin_turn(false, now) && !starts.are_held(false, now) && starts.are_held(true, now));
            starts.note_start(&Running::for_tests(1, now));
            assert!(starts.begin_turn(true, now) && starts.are_held(false, now) && starts.are_kept_back());
            assert_eq!(starts.times(), [Some(now + second), None, None]);
            assert!(starts.begin_turn(true, now + second) && !starts.are_held(false, now + second));
        });
    }

    #[test]
    fn what_is_short_is_waited_for_until_a_job_has_ended() {
        let now = Instant::now();
        with_starts(RunOptions::for_tests(), |starts| {
            let mut running = Running::for_tests(1, now);
            starts.note_start(&running);
            let cause = io::Error::from(rustix::io::Errno::AGAIN);
            let fault = StartFault::Run { program: "x".to_owned(), cause };
            assert_eq!(starts.judge(&fault, true, now), UnstartedFate::Wait);
            assert_eq!(starts.holds.cause(), Some(Cause::Short));
            starts.note_end(&mut running);
            assert_eq!(starts.holds.cause(), None);
            assert_eq!(starts.judge(&StartFault::Nothing, true, now), UnstartedFate::Fail);
        });
    }

    #[test]
    fn memory_that_blocks_is_asked_again_when_nothing_runs_or_it_is_time() {
        let now = Instant::now();
        with_starts(RunOptions::for_tests(), |starts| {
            starts.memory.is_blocked = true;
            assert!(!starts.begin_turn(true, now) && starts.are_kept_back());
            assert!(starts.begin_turn(false, now) && !starts.are_kept_back());
            starts.memory.is_blocked = true;
            starts.holds.hold(Cause::Memory, now);
            assert!(!starts.begin_turn(true, now) && starts.begin_turn(true, now + LOOK_AGAIN_AFTER));
        });
    }
}
