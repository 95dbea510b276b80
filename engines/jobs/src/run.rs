//! Running a list: one epoll, and a thread a core that starts programs and waits for their ends, all under one lock. Wakes when a child
//! has ended, a job printed, the list came on, a hand arrived, a signal or a deadline came, and never otherwise. Turns are in `turns`,
//! starting is in `starts`, ending in `ends`, signals and time in `control`.
//! Theory (what may start, who waits for whom, what each death costs): this crate's `README.md`.

mod control;
mod delivery;
mod ends;
mod foreground;
mod live;
mod memory;
mod observer;
mod options;
mod questions;
mod reaping;
mod recollection;
mod starters;
mod starts;
mod streams;
mod trees;
mod turns;
mod typical;

use crate::admission::Need;
use crate::classes::Class;
use crate::halt::{Counts, Halt};
use crate::intake::{InputFault, Intake, Reading};
use crate::joblog::Joblog;
use crate::journal::{Done, Journal};
use crate::key::{Key, Keys};
use crate::made::{Made, Mark};
use crate::measures::{Measures, WaitClocks};
use crate::output::{Capture, Outlet};
use crate::poll::{Poll, token};
use crate::queue::Pending;
use crate::results::OutputFiles;
use crate::staff::{Crew, Staff};
use crate::start::Programs;
use crate::tree::{Leftovers, Spent};
use crew::budget::Lease;
use crew::jobserver::{Server, SlotBooks};
use machine::Host;
use questions::Questions;
use rustix::event::epoll::EventFlags;
use rustix::process::Pid;
use starters::{Mover, Shared, Starters};
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;
use sys::signals::SignalQueue;
use sys::spawn::{Spawner, Words};
use turns::{LoopState, SIGNAL_FLAGS, turn_until_done};

pub use crate::source::Source;
pub use foreground::Turn;
pub use observer::{Event, JobEnd, JobView, Moment, Observer};
pub use options::{Asking, Discarded, EndStep, Errors, MemoryRule, Options, Order, OutputManner};
pub use questions::Question;
pub use recollection::{Seen, SeenJob, Watched};
pub use typical::TimeLimit;

/// How far a run is: read by other threads.
#[derive(Debug, Default)]
pub struct Tally {
    /// Jobs that have ended.
    pub ended: AtomicU64,
    /// Those of them that failed.
    pub failed: AtomicU64,
    /// Jobs that run.
    pub running: AtomicU64,
    /// Jobs that have been read.
    pub read: AtomicU64,
    /// Whether the next one waits for memory.
    pub waits_for_memory: AtomicBool,
}

/// What a run needs from outside.
pub struct Surroundings<'a> {
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
    pub done: Option<Done>,
    /// Jobs in the list, where that is known.
    pub total: Option<u64>,
    /// For a progress line.
    pub tally: Arc<Tally>,
    /// For a screen, where there is one.
    pub watched: Option<Arc<Watched>>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ran {
    /// Jobs that succeeded and failed; those that could not be started failed.
    pub counts: Counts,
    /// Jobs that an earlier run had done.
    pub left_out: u64,
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
    pub measures: Measures,
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

/// Whether more jobs start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stop {
    No,
    /// None starts; those that run end by themselves.
    Soon,
    /// Those that run are ended.
    Now,
}

/// A job that runs.
struct Running {
    pending: Pending,
    words: Arc<Words>,
    /// Its command as a job log has it, where a shell runs it and there is one.
    text_for_shell: Option<Vec<u8>>,
    key: Option<Key>,
    /// Its process, once it has begun.
    pid: Option<Pid>,
    /// Who starts it and waits for it.
    starter: Mover,
    crew: Crew,
    captures: [Option<Capture>; 2],
    tag: Option<Vec<u8>>,
    generation: u32,
    started: Instant,
    began_s: f64,
    waited_ns: u64,
    /// The chain of jobs that had to end before this one began.
    chain: Chain,
    /// When which step of ending it is due.
    due: Option<(Instant, usize)>,
    is_timed_out: bool,
    is_stopped: bool,
    /// The hands that its processes are told of.
    passport: Option<String>,
    /// Processes of it that have left its group, as they were when it was last signalled.
    outsiders: Vec<Pid>,
    /// Orphans of its group that have ended.
    orphans: Spent,
    class: Class,
    need: Need,
    started_as: usize,
    /// Bytes of the block that is its standard input.
    sent_bytes: u64,
    /// The files of `--results` that its output goes to.
    files: Option<OutputFiles>,
    /// Files of its redirections.
    made: Vec<Made>,
}

impl Running {
    fn view(&self) -> JobView<'_> {
        JobView { number: self.pending.spec.number, words: &self.words, attempt: self.pending.failures + 1 }
    }
}

/// What kept the run from starting jobs, when it went to sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Hands,
    /// Others have the hands.
    Unstaffed,
    List,
    Order,
    Held,
    /// Processes or open files are.
    Short,
    Memory,
    Output,
    Tail,
}

struct Runner<'a> {
    options: Options,
    around: Surroundings<'a>,
    observer: &'a mut dyn Observer,
    intake: Intake,
    staff: Staff,
    slots: Vec<Option<Running>>,
    slot_of: HashMap<Pid, usize>,
    leftovers: Leftovers,
    foreground: foreground::Foreground,
    memory: memory::Memory,
    recollection: recollection::Recollection,
    running: usize,
    poll: Poll,
    starters: Starters,
    loop_is: LoopState,
    /// A job can only be started by the loop.
    is_left_to_loop: bool,
    /// Signals are not listened to until then.
    signals_rest_until: Option<Instant>,
    /// A stop was asked for; it waits for programs that are being started.
    rest_is_due: bool,
    outlets: [Outlet; 2],
    outlet_is_watched: [bool; 2],
    /// It cannot be watched and need not be: a file, which the loop goes on with at once.
    outlet_goes_on: [bool; 2],
    /// Standard output and error are the same file, pipe or terminal.
    streams_are_one: bool,
    /// What would wait for its reader is lost: it may never read on, and the run is to end.
    gives_outputs_up: bool,
    delivery: delivery::Delivery,
    /// Files that attempts of jobs made which have not come to their end.
    made: HashMap<u64, Vec<Mark>>,
    keys: Keys,
    spawner: Spawner,
    programs: Programs,
    nothing: Arc<OwnedFd>,
    defaults: [Option<Arc<OwnedFd>>; 3],
    scratch: Vec<u8>,
    stop: Stop,
    interrupts: u32,
    generation: u32,
    next_start: Option<Instant>,
    /// When what was short (processes, files, memory, load) is looked at again.
    look_again: Option<Instant>,
    /// What holds starts back until then: memory, or all else.
    held_by: Cause,
    /// When all jobs that waited were last kept back by something else than hands.
    held_until: Instant,
    shortages: u32,
    /// Outputs that may wait in files before no more jobs start.
    waiting_files_max: usize,
    /// Jobs in a row that could not start for want of what the machine or its user has no more of.
    short_failures: u32,
    questions: Questions,
    /// Hands that the next job lacks, and until when it waits for them.
    lacking: usize,
    /// Slots that are offered to jobs' programs.
    offered: usize,
    slots_thread: Option<JoinHandle<()>>,
    patience: Option<Instant>,
    is_order_blocked: bool,
    chains: Chains,
    typical: typical::Typical,
    begun: Instant,
    slept_from: Instant,
    cause: Cause,
    ran: Ran,
}

/// Jobs each of which had to wait for the one before.
#[derive(Clone, Copy, Default)]
struct Chain {
    ns: u64,
    jobs: u64,
    /// The number of the last of them.
    end: u64,
}

impl Chain {
    fn longer(self, other: Self) -> Self {
        if other.ns > self.ns { other } else { self }
    }
}

/// The longest chains.
#[derive(Default)]
struct Chains {
    named: HashMap<String, Chain>,
    longest: Chain,
    /// What all jobs behind the last barrier waited for.
    barrier: Chain,
    barriers: u64,
}

/// Bytes of an output read at once.
const READ_BYTES: usize = 64 << 10;

/// Runs a list with hands from `lease`.
///
/// # Errors
/// Only when it cannot begin; what goes wrong later is told and counted.
pub fn run(
    options: Options,
    source: Source,
    lease: Box<dyn Lease>,
    around: Surroundings<'_>,
    observer: &mut dyn Observer,
) -> Result<Ran, SetupFault> {
    let own_before = sys::reap::own_usage();
    let staff = Staff::new(lease, options.hands)?;
    let shared = Shared::new(Runner::new(options, source, around, staff, observer)?);
    turn_until_done(&shared)?;
    let own = sys::reap::own_usage();
    let mut ran = shared.into_runner().finish();
    ran.measures.own_cpu_ns = (own.user_ns + own.system_ns) - (own_before.user_ns + own_before.system_ns);
    Ok(ran)
}

/// Has programs know the slots, and begins to give them.
fn serve_slots(slots: &Arc<Server>, spawner: &mut Spawner) -> io::Result<JoinHandle<()>> {
    spawner.hand_down(&slots.pool().descriptors());
    let slots = Arc::clone(slots);
    std::thread::Builder::new().name("slots".to_owned()).stack_size(64 << 10).spawn(move || slots.serve())
}

/// Whether both are the same file, pipe or terminal.
fn are_one(streams: &[Arc<OwnedFd>; 2]) -> rustix::io::Result<bool> {
    let [output, errors] = [rustix::fs::fstat(&streams[0])?, rustix::fs::fstat(&streams[1])?];
    Ok((output.st_dev, output.st_ino) == (errors.st_dev, errors.st_ino))
}

impl<'a> Runner<'a> {
    fn new(
        mut options: Options,
        source: Source,
        around: Surroundings<'a>,
        staff: Staff,
        observer: &'a mut dyn Observer,
    ) -> Result<Self, SetupFault> {
        let poll = Poll::new()?;
        poll.watch(around.signals, token::SIGNALS, SIGNAL_FLAGS)?;
        poll.watch(staff.bell(), token::HANDS, EventFlags::IN)?;
        let outlets = [Outlet::new(around.streams[0].as_fd())?, Outlet::new(around.streams[1].as_fd())?];
        let mut spawner = Spawner::new(around.signals, options.environment.clone());
        let slots_thread = options.slots.as_ref().map(|slots| serve_slots(slots, &mut spawner)).transpose()?;
        let nothing = Arc::new(std::fs::File::options().read(true).write(true).open("/dev/null")?.into());
        let (programs, now) = (Programs::new(&options.path), Instant::now());
        let mut ran = Ran::default();
        ran.measures.width = options.width;
        Ok(Self {
            slots: Vec::new(),
            slot_of: HashMap::new(),
            leftovers: Leftovers::default(),
            foreground: foreground::Foreground::default(),
            memory: memory::Memory::new(&mut options),
            recollection: recollection::Recollection::new(around.host),
            running: 0,
            starters: Starters::new(&options),
            loop_is: LoopState::Awake,
            is_left_to_loop: false,
            signals_rest_until: None,
            rest_is_due: false,
            intake: Intake::new(source, poll.clone(), options.queue_max),
            outlet_is_watched: [false; 2],
            outlet_goes_on: [false; 2],
            streams_are_one: are_one(&around.streams)?,
            gives_outputs_up: false,
            delivery: delivery::Delivery::default(),
            made: HashMap::new(),
            keys: Keys::new(&options.folder, &options.defaults),
            defaults: [None, None, None],
            scratch: vec![0; READ_BYTES],
            stop: Stop::No,
            interrupts: 0,
            generation: 0,
            next_start: None,
            look_again: None,
            held_by: Cause::Held,
            held_until: now,
            shortages: 0,
            waiting_files_max: delivery::waiting_files_max(options.width),
            short_failures: 0,
            questions: Questions::default(),
            lacking: 0,
            offered: 0,
            slots_thread,
            patience: None,
            is_order_blocked: false,
            chains: Chains::default(),
            typical: typical::Typical::default(),
            begun: now,
            slept_from: now,
            cause: Cause::List,
            ran,
            options,
            around,
            observer,
            staff,
            poll,
            outlets,
            spawner,
            programs,
            nothing,
        })
    }

    fn is_done(&self) -> bool {
        let no_more = self.stop > Stop::No || (self.intake.has_ended() && self.intake.queue.jobs() == 0);
        no_more && self.running == 0 && self.outlets.iter().all(Outlet::is_empty)
    }

    fn take_event(&mut self, token: u64) {
        match token {
            token::SIGNALS => self.take_signals(),
            token::INPUT => {
                if let Err(fault) = self.intake.read_once() {
                    self.report_input(&fault);
                }
            }
            token::HANDS => self.staff.collect(),
            token::ANSWER => self.take_answer(),
            token if token < token::JOBS => {}
            token => self.take_output(token),
        }
    }

    /// Reads while there is room, but not while a question is open: its answer may come from the same terminal.
    fn read_list(&mut self) {
        if self.stop > Stop::No || self.questions.is_any_open() {
            return self.intake.pause();
        }
        let now_ns = self.slept_from.duration_since(self.begun).as_nanos() as u64;
        let Reading { jobs, faults } = self.intake.read(now_ns);
        self.around.tally.read.fetch_add(jobs, Ordering::Relaxed);
        // One of them may be small enough to pass those that wait for memory.
        self.memory.is_blocked &= jobs == 0;
        faults.iter().for_each(|fault| self.report_input(fault));
    }

    fn report_input(&mut self, fault: &InputFault) {
        self.ran.is_incomplete = true;
        self.observer.tell(&match fault {
            InputFault::Line(fault) => Event::BadLine(fault),
            InputFault::Read(error) => Event::BadInput(error),
        });
    }

    fn account(&mut self, now: Instant) {
        let slept_ns = now.duration_since(self.slept_from).as_nanos() as u64;
        let WaitClocks { hands_ns, unstaffed_ns, list_ns, order_ns, held_ns, memory_ns, output_ns, tail_ns } =
            &mut self.ran.measures.waits;
        let clock = match self.cause {
            Cause::Hands => hands_ns,
            Cause::Unstaffed => unstaffed_ns,
            Cause::List => list_ns,
            Cause::Order => order_ns,
            Cause::Held | Cause::Short => held_ns,
            Cause::Memory => memory_ns,
            Cause::Output => output_ns,
            Cause::Tail => tail_ns,
        };
        *clock += slept_ns;
        if !matches!(self.cause, Cause::Hands | Cause::Unstaffed | Cause::List | Cause::Tail) {
            self.held_until = now;
        }
        self.slept_from = now;
    }

    fn why_no_job_starts(&self) -> Cause {
        // A job that needs several places waits for its own run's others, not for other runs.
        let all_at_work = self.staff.at_work() + self.places_lacking().max(1) > self.options.width;
        if self.running == 0 && !self.outlets.iter().all(Outlet::is_empty) {
            return Cause::Output;
        }
        match (self.intake.queue.jobs() > 0, self.intake.has_ended()) {
            _ if all_at_work => Cause::Hands,
            (true, _) if self.is_backed_up() => Cause::Output,
            (true, _) if self.memory.is_blocked => Cause::Memory,
            (true, _) if self.look_again.is_some() => self.held_by,
            (true, _) if self.next_start.is_some() || self.questions.is_any_open() => Cause::Held,
            (true, _) if self.is_order_blocked => Cause::Order,
            (true, _) => Cause::Unstaffed,
            (false, false) => Cause::List,
            (false, true) => Cause::Tail,
        }
    }

    fn finish(mut self) -> Ran {
        // Orphans that ended while signals were not listened to.
        self.reap();
        if self.stop == Stop::Now {
            self.end_strays();
        }
        self.tell_survivors();
        self.recollect();
        self.ran.measures.wall_ns = self.begun.elapsed().as_nanos() as u64;
        let Chain { ns, jobs, end } = self.chains.longest;
        let measures = &mut self.ran.measures;
        (measures.critical_path_ns, measures.critical_path_jobs, measures.critical_path_end) = (ns, jobs, end);
        let finished =
            [self.around.journal.as_ref().map(Journal::finish), self.around.joblog.as_ref().map(Joblog::finish)];
        let failed: Vec<io::Error> = finished.into_iter().flatten().filter_map(Result::err).collect();
        self.books_failed(&failed);
        self.ran.dropped += self.intake.queue.clear().len() as u64;
        if let Some(slots) = &self.options.slots {
            self.ran.slots = slots.close();
        }
        // It ends at once, and with it the row of the slots.
        let _it_has_nothing_to_tell = self.slots_thread.take().map(JoinHandle::join);
        let balanced = self.staff.close();
        assert!(balanced, "every hand goes back before a run ends");
        self.ran
    }
}
