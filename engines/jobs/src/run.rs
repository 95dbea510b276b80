//! Running a list: one epoll, and a thread a core that starts programs and waits for their ends, all under one lock. Wakes when a child
//! has ended, a job printed, the list came on, a hand arrived, a signal or a deadline came, and never otherwise. The loop alone holds the
//! five owners: intake, starts, outputs, ends, clock. Its turns are in `turns`, a job's course from one owner to the next is in `course`.
//! Theory (what may start, who waits for whom, what each death costs): this crate's `README.md`.

mod clock;
mod course;
mod observer;
mod options;
mod outputs;
mod running;
mod spawners;
mod starts;
mod streams;
mod trees;
mod turns;

use crate::ends::{EndRules, JobEnds, RunBooks};
use crate::halt::{EndCounts, Halt};
use crate::intake::{InputFault, Intake, IntakeReading};
use crate::joblog::Joblog;
use crate::journal::{Journal, JournalDone};
use crate::key::Keys;
use crate::measures::JobMeasures;
use crate::poll::{Poll, token};
use crate::staff::Staff;
use clock::{Cause, RunClock, Stop};
use crew::budget::Lease;
use crew::jobserver::SlotBooks;
use machine::Host;
use outputs::Outputs;
use running::{Jobs, Running};
use rustix::event::epoll::EventFlags;
use spawners::SharedRun;
use starts::Starts;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use sys::signals::SignalQueue;
use turns::{LoopState, turn_until_done};

pub use crate::ends::{JobEnd, JobTally, RunSnapshot, SeenJob, Watched};
pub use crate::source::JobSource;
pub use clock::{ForegroundTurn, JobQuestion, TimeLimit};
pub use observer::{ConcludedJob, EventMoment, JobView, Observer, RunEvent};
pub use options::{Asking, Discarded, EndStep, Errors, MemoryRule, OutputManner, OutputOrder, RunOptions};

/// What a run needs from outside.
pub struct RunSurroundings<'a> {
    /// Signals, opened before any other thread existed.
    pub signals: &'a SignalQueue,
    /// The machine.
    pub host: &'a Host,
    /// Standard output and error.
    pub streams: [Arc<OwnedFd>; 2],
    /// A journal to be written.
    pub journal: Option<Journal>,
    /// GNU parallel's log, to be written as well.
    pub joblog: Option<Joblog>,
    /// What an earlier run has done.
    pub done: Option<JournalDone>,
    /// Jobs in the list, where that is known.
    pub total: Option<u64>,
    /// For a progress line.
    pub tally: Arc<JobTally>,
    /// For a screen, where there is one.
    pub watched: Option<Arc<Watched>>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Default)]
pub struct FinishedRun {
    /// Jobs that succeeded and failed; those that could not be started failed.
    pub counts: EndCounts,
    /// Jobs that an earlier run had done.
    pub left_out: u64,
    /// Those of them that had failed.
    pub left_out_failed: u64,
    /// Jobs that were read and not started, as the run was stopped.
    pub dropped: u64,
    /// The signal that stopped it.
    pub stopped_by: Option<i32>,
    /// Whether nobody read the output any more.
    pub reader_gone: bool,
    /// Nobody read what was said, and the run was ended all the same: what else there is to say would wait as well.
    pub messages_given_up: bool,
    /// Whether the list, an output or the journal failed; it has been told.
    pub is_incomplete: bool,
    /// Jobs that ran when it was stopped, and were ended.
    pub stopped: u64,
    /// The rule that stopped it.
    pub halted: Option<Halt>,
    /// What became of the slots that jobs' programs had.
    pub slots: SlotBooks,
    /// What was measured.
    pub measures: JobMeasures,
}

/// A run could not begin.
#[derive(Debug, thiserror::Error)]
#[error("set up the run")]
pub struct SetupFault(#[source] pub io::Error);

impl From<io::Error> for SetupFault {
    fn from(error: io::Error) -> Self {
        Self(error)
    }
}

impl From<rustix::io::Errno> for SetupFault {
    fn from(error: rustix::io::Errno) -> Self {
        Self(error.into())
    }
}

/// The loop: it alone holds the owners, and what one of them returns it passes on to the others.
struct Runner<'a> {
    observer: &'a mut dyn Observer,
    host: &'a Host,
    tally: Arc<JobTally>,
    watched: Option<Arc<Watched>>,
    intake: Intake,
    starts: Starts<'a>,
    outputs: Outputs,
    ends: JobEnds<'a>,
    clock: RunClock<'a>,
    /// Jobs that have a place.
    jobs: Jobs,
    poll: Poll,
    loop_is: LoopState,
    /// A job can only be started by the loop.
    is_left_to_loop: bool,
    ran: FinishedRun,
}

/// Runs a list with hands from `lease`.
///
/// # Errors
/// Only when it cannot begin; what goes wrong later is told and counted.
pub fn run(
    options: RunOptions,
    source: JobSource,
    lease: Box<dyn Lease>,
    around: RunSurroundings<'_>,
    observer: &mut dyn Observer,
) -> Result<FinishedRun, SetupFault> {
    let own_before = sys::reap::own_usage();
    let staff = Staff::new(lease, options.hands)?;
    let shared = SharedRun::new(Runner::new(options, source, around, staff, observer)?);
    turn_until_done(&shared)?;
    let own = sys::reap::own_usage();
    let mut ran = shared.into_runner().finish();
    ran.measures.own_cpu_ns = (own.user_ns + own.system_ns) - (own_before.user_ns + own_before.system_ns);
    Ok(ran)
}

impl<'a> Runner<'a> {
    fn new(
        mut options: RunOptions,
        source: JobSource,
        around: RunSurroundings<'a>,
        staff: Staff,
        observer: &'a mut dyn Observer,
    ) -> Result<Self, SetupFault> {
        let RunSurroundings { signals, host, streams, journal, joblog, done, total, tally, watched } = around;
        let poll = Poll::new()?;
        poll.watch(staff.wake_fd(), token::HANDS, EventFlags::IN)?;
        let books = RunBooks::new(journal, joblog, done, Keys::new(&options.directory, &options.defaults));
        let rules = EndRules { retries: options.retries, halt: options.halt, total };
        let ending = std::mem::take(&mut options.ending);
        let mut ran = FinishedRun::default();
        ran.measures.width = options.width;
        Ok(Self {
            intake: Intake::new(source, poll.clone(), options.queue_max),
            outputs: Outputs::new(&options, &streams, poll.clone())?,
            ends: JobEnds::new(books, rules, host, Arc::clone(&tally), watched.clone()),
            clock: RunClock::new(signals, poll.clone(), options.timeout, ending, Instant::now())?,
            starts: Starts::new(options, staff, streams, signals, host)?,
            jobs: Jobs::default(),
            loop_is: LoopState::Awake,
            is_left_to_loop: false,
            observer,
            host,
            tally,
            watched,
            poll,
            ran,
        })
    }

    fn is_done(&self) -> bool {
        let no_more = !self.clock.starts_jobs() || (self.intake.has_ended() && self.intake.queue.jobs() == 0);
        no_more && !self.any_runs() && self.outputs.are_empty()
    }

    fn take_event(&mut self, token: u64) {
        match token {
            token::SIGNALS => self.take_signals(),
            token::INPUT => {
                if let Err(fault) = self.intake.read_once() {
                    self.report_input(&fault);
                }
            }
            token::HANDS => self.starts.places.staff.collect(),
            token::ANSWER => self.clock.take_answer(),
            token if token < token::JOBS => {}
            token => self.take_output(token),
        }
    }

    /// Reads while there is room, but not while a question is open: its answer may come from the same terminal.
    fn read_list(&mut self) {
        if !self.clock.starts_jobs() || self.clock.questions.is_any_open() {
            return self.intake.pause();
        }
        let now_ns = self.clock.ns(self.clock.waiting.since);
        let IntakeReading { jobs, faults } = self.intake.read(now_ns);
        self.tally.read.fetch_add(jobs, Ordering::Relaxed);
        // One of them may be small enough to pass those that wait for memory.
        self.starts.memory.is_blocked &= jobs == 0;
        faults.iter().for_each(|fault| self.report_input(fault));
    }

    fn report_input(&mut self, fault: &InputFault) {
        self.ran.is_incomplete = true;
        self.observer.tell(&match fault {
            InputFault::Line(fault) => RunEvent::BadLine(fault),
            InputFault::Read(error) => RunEvent::BadInput(error),
        });
    }

    fn why_no_job_starts(&self) -> Cause {
        let all_at_work = self.starts.places.are_all_at_work(self.starts.options.width);
        if !self.any_runs() && !self.outputs.are_empty() {
            return Cause::Output;
        }
        match (self.intake.queue.jobs() > 0, self.intake.has_ended()) {
            _ if all_at_work => Cause::Hands,
            (true, _) if self.outputs.are_backed_up(self.any_runs()) => Cause::Output,
            (true, _) if self.starts.memory.is_blocked => Cause::Memory,
            (true, _) => match self.starts.holds.cause() {
                Some(cause) => cause,
                None if self.clock.questions.is_any_open() => Cause::Held,
                None if self.starts.is_order_blocked => Cause::Order,
                None => Cause::Unstaffed,
            },
            (false, false) => Cause::List,
            (false, true) => Cause::Tail,
        }
    }

    fn finish(mut self) -> FinishedRun {
        // Orphans that ended while signals were not listened to.
        self.reap();
        if self.clock.stop() == Stop::Now {
            trees::end_strays();
            self.reap();
        }
        let survivors = self.ends.close_groups(self.clock.stop() < Stop::Now);
        self.report_book_faults();
        if !survivors.is_empty() {
            self.observer.tell(&RunEvent::StillRun(&survivors));
        }
        let JobMeasures { width, put_off, .. } = self.ran.measures;
        let (waits, wall_ns) = (self.clock.waiting.clocks, self.clock.ns(Instant::now()));
        self.ran.measures = JobMeasures { put_off, waits, wall_ns, ..self.ends.measures(width) };
        self.ends.books.finish();
        self.report_book_faults();
        let JobEnds { counts, stopped, left_out, left_out_failed, .. } = self.ends;
        (self.ran.counts, self.ran.stopped) = (counts, stopped);
        (self.ran.left_out, self.ran.left_out_failed) = (left_out, left_out_failed);
        self.ran.stopped_by = self.clock.stopped_by;
        self.ran.messages_given_up = self.outputs.messages_given_up;
        self.ran.dropped += self.intake.queue.clear().len() as u64;
        self.ran.slots = self.starts.spares.close();
        let balanced = self.starts.places.staff.close();
        assert!(balanced, "every hand goes back before a run ends");
        self.ran
    }
}
