//! One thread of the generator: a loop over its clients' sessions, which sends what is due and takes what is there. It waits in one place, for sessions and
//! for the next planned instant alike.

mod client;
mod connecting;
mod pipeline;

use crate::arrivals::RandomSource;
use crate::course::Course;
use crate::ledger::Ledger;
use crate::player::TransactionPlayer;
use crate::session::Target;
use client::{Client, ClientProgress, ClientState};
use connecting::Reconnector;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// What all threads of a run know.
pub(crate) struct GeneratorShared {
    /// What they load.
    pub target: Arc<dyn Target>,
    /// Where time begins: when it is first asked for.
    pub began: OnceLock<Instant>,
    /// Threads that have connected their clients, or could not.
    pub connected: AtomicUsize,
    /// Threads that have ended their last transaction.
    pub ended: AtomicUsize,
    /// Nothing begins from here on.
    pub end_ns: u64,
    /// What has not ended by then is given up.
    pub given_up_ns: u64,
    /// How often a transaction is begun again after a deadlock.
    pub retries_max: u32,
    /// Whether the run goes on when a statement fails for another reason.
    pub goes_on_after_errors: bool,
    /// How long to try for a connection.
    pub connect_within: Duration,
    /// Set by whoever wants the run to end now.
    pub stop: AtomicBool,
    /// The first reason to stop that is an error.
    pub error: Mutex<Option<String>>,
    /// The server's words about the first transaction that failed for good.
    pub first_refusal: Mutex<Option<String>>,
}

impl GeneratorShared {
    /// Nanoseconds since the run began.
    pub fn now(&self) -> u64 {
        u64::try_from(self.began.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Ends the run for this reason, unless there is one already.
    pub fn fail(&self, message: String) {
        guarded(&self.error).get_or_insert(message);
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// A lock whose holder cannot leave it in disorder.
pub(crate) fn guarded<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a thread found about itself at its end.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadUse {
    /// CPU time that it used.
    pub cpu_ns: u64,
    /// How long it could run and no CPU was free; none where the kernel does not tell.
    pub run_delay_ns: Option<u64>,
    /// How long it ran its loop.
    pub elapsed_ns: u64,
    /// Transactions that were given up under way.
    pub unfinished: u64,
    /// Transactions that were due and had not begun.
    pub waiting: u64,
}

/// One thread of the generator.
pub(crate) struct Generator<'a> {
    shared: &'a GeneratorShared,
    ledger: &'a Mutex<Ledger>,
    course: Course,
    clients: Vec<Client>,
    random: RandomSource,
    epoll: OwnedFd,
    timer: OwnedFd,
    /// For when the timer is set.
    timer_at: Option<u64>,
    /// Clients that sleep in the midst of a transaction.
    sleeping: BinaryHeap<Reverse<(u64, usize)>>,
    reconnector: Reconnector,
    events_left: Option<u64>,
    /// How many wait for a connection, as the ledger has it.
    waiting_told: u64,
}

/// What stands for the timer among clients' numbers.
const TIMER: u64 = u64::MAX;
/// LIMIT: how long a wish to stop may go unseen.
const LOOK_NS: u64 = 50_000_000;
/// LIMIT: events that are taken at once.
const EVENTS_MAX: usize = 256;

impl<'a> Generator<'a> {
    /// A thread's generator, whose clients are connected here and now.
    pub fn connect(
        shared: &'a GeneratorShared,
        ledger: &'a Mutex<Ledger>,
        course: Course,
        players: Vec<Box<dyn TransactionPlayer>>,
        random: RandomSource,
        events: Option<u64>,
    ) -> Result<Self, String> {
        let failed = |error: rustix::io::Errno| format!("could not wait for connections: {error}");
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(failed)?;
        let timer =
            rustix::time::timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)
                .map_err(failed)?;
        epoll::add(&epoll, &timer, EventData::new_u64(TIMER), EventFlags::IN).map_err(failed)?;
        let mut clients = Vec::with_capacity(players.len());
        for player in players {
            if shared.stop.load(Ordering::Relaxed) {
                return Err("make all connections: it was stopped".to_owned());
            }
            let session = shared.target.connect(shared.connect_within).map_err(|error| error.to_string())?;
            clients.push(Client::new(player, session));
        }
        let reconnector = Reconnector::new(Arc::clone(&shared.target), shared.connect_within);
        let mut generator = Self {
            shared,
            ledger,
            course,
            clients,
            random,
            epoll,
            timer,
            timer_at: None,
            sleeping: BinaryHeap::new(),
            reconnector,
            events_left: events,
            waiting_told: 0,
        };
        for number in 0..generator.clients.len() {
            generator.watch(number).map_err(|error| format!("could not wait for a connection: {error}"))?;
        }
        Ok(generator)
    }

    /// Runs until the end, and tells what this thread took.
    pub fn run(&mut self) -> ThreadUse {
        // What is planned to the microsecond is not to be 50 us late because timers may be gathered.
        let _as_it_was = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        let host = machine::Host::real();
        let delay = || machine::thread_run_delay_ns(&host);
        let (began_ns, cpu_ns, delay_before) = (self.shared.now(), sys::cpu_clock::thread_cpu_ns(), delay());
        for number in 0..self.clients.len() {
            self.course.back(number, began_ns);
        }
        if let Err(error) = self.turn_until_end() {
            self.shared.fail(format!("could not wait for connections: {error}"));
        }
        ThreadUse {
            cpu_ns: sys::cpu_clock::thread_cpu_ns().saturating_sub(cpu_ns),
            run_delay_ns: delay().zip(delay_before).map(|(now, before)| now.saturating_sub(before)),
            elapsed_ns: self.shared.now().saturating_sub(began_ns),
            unfinished: self.clients.iter().filter(|client| client.is_under_way()).count() as u64,
            waiting: self.course.waiting() as u64,
        }
    }

    fn turn_until_end(&mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(EVENTS_MAX);
        loop {
            let now = self.shared.now();
            self.begin_what_is_due(now);
            self.wake_sleepers(now);
            self.take_reconnected();
            if self.is_over(self.shared.now()) {
                return Ok(());
            }
            // What is due already needs no timer, and others may have replies nevertheless.
            let at_once = self.next_due().is_some_and(|due| due <= self.shared.now());
            if !at_once {
                self.set_timer()?;
            }
            let wait = at_once.then(Timespec::default);
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), wait.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                match event.data.u64() {
                    TIMER => self.timer_at = None,
                    number => self.proceed(number as usize),
                }
            }
        }
    }

    fn is_over(&self, now: u64) -> bool {
        if self.shared.stop.load(Ordering::Relaxed) || now >= self.shared.given_up_ns {
            return true;
        }
        let nothing_begins = now >= self.shared.end_ns || self.events_left == Some(0);
        nothing_begins
            && (self.events_left == Some(0) || self.course.waiting() == 0)
            && !self.clients.iter().any(Client::is_under_way)
    }

    fn begin_what_is_due(&mut self, now: u64) {
        while self.events_left != Some(0) {
            let Some(beginning) = self.course.begin(now) else { break };
            self.events_left = self.events_left.map(|left| left - 1);
            let client = &mut self.clients[beginning.client];
            let script = client.player.begin(&mut self.random);
            client.begin(script, beginning.planned, beginning.ready);
            guarded(self.ledger).sent += 1;
            self.go_on(beginning.client);
        }
        let waiting = self.course.waiting() as u64;
        if waiting != self.waiting_told {
            self.waiting_told = waiting;
            guarded(self.ledger).waiting = waiting;
        }
        let dropped = self.course.take_dropped();
        if dropped > 0 {
            guarded(self.ledger).dropped += dropped;
        }
    }

    fn wake_sleepers(&mut self, now: u64) {
        while let Some(Reverse((_, number))) = self.sleeping.peek().copied().filter(|sleeper| sleeper.0.0 <= now) {
            self.sleeping.pop();
            // One whose connection was lost in its sleep is woken for nothing.
            if self.clients[number].wake(now) {
                self.go_on(number);
            }
        }
    }

    /// A session has something to read, or room to write.
    fn proceed(&mut self, number: usize) {
        match self.clients[number].take_reply(self.shared, self.ledger) {
            ClientProgress::Waits => self.arm(number),
            ClientProgress::GoesOn => self.go_on(number),
            other => self.settle(number, other),
        }
    }

    /// Takes steps until there is a reply to wait for.
    fn go_on(&mut self, number: usize) {
        loop {
            match self.clients[number].take_step(self.shared, self.ledger, &mut self.random) {
                ClientProgress::GoesOn => {}
                ClientProgress::Waits => return self.arm(number),
                other => return self.settle(number, other),
            }
        }
    }

    fn settle(&mut self, number: usize, progress: ClientProgress) {
        match progress {
            ClientProgress::Waits | ClientProgress::GoesOn => {}
            ClientProgress::Sleeps(until) => self.sleeping.push(Reverse((until, number))),
            ClientProgress::Ended(now) => self.course.ended(number, now),
            ClientProgress::Lost => {
                self.clients[number].state = ClientState::Away;
                self.reconnector.want(number);
            }
        }
    }

    fn take_reconnected(&mut self) {
        while let Some((number, made)) = self.reconnector.made() {
            match made {
                Ok(session) => {
                    self.clients[number].take_session(session);
                    guarded(self.ledger).reconnects += 1;
                    match self.watch(number) {
                        Ok(()) => self.course.back(number, self.shared.now()),
                        Err(error) => self.shared.fail(format!("could not wait for a connection: {error}")),
                    }
                }
                Err(error) => self.shared.fail(error.to_string()),
            }
        }
    }

    fn watch(&mut self, number: usize) -> io::Result<()> {
        if let Some(descriptor) = self.clients[number].descriptor() {
            epoll::add(&self.epoll, descriptor, EventData::new_u64(number as u64), EventFlags::IN)?;
        }
        Ok(())
    }

    /// Waits for room to write while something is unsent, and no longer.
    fn arm(&mut self, number: usize) {
        let client = &mut self.clients[number];
        let wants_room = client.has_unsent();
        if wants_room == client.waits_for_room {
            return;
        }
        client.waits_for_room = wants_room;
        let flags = if wants_room { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN };
        let Some(descriptor) = client.descriptor() else { return };
        if let Err(error) = epoll::modify(&self.epoll, descriptor, EventData::new_u64(number as u64), flags) {
            self.shared.fail(format!("could not wait for a connection: {error}"));
        }
    }

    /// When there may be something to do though nothing is read; none if never.
    fn next_due(&self) -> Option<u64> {
        let sleeper = self.sleeping.peek().map(|Reverse((until, _))| *until);
        let due = self.course.next_due().filter(|_| self.events_left != Some(0));
        due.into_iter().chain(sleeper).min()
    }

    /// Sets the timer to the next instant at which there may be something to do though nothing is read.
    fn set_timer(&mut self) -> io::Result<()> {
        let now = self.shared.now();
        let next = self.next_due().unwrap_or(u64::MAX).min(now + LOOK_NS);
        // One that comes a little earlier than needed costs less than setting it anew each time.
        if self.timer_at.is_some_and(|at| at <= next && at > now) {
            return Ok(());
        }
        let wait = Duration::from_nanos(next.saturating_sub(now).max(1));
        let it_value = Timespec { tv_sec: wait.as_secs().cast_signed(), tv_nsec: i64::from(wait.subsec_nanos()) };
        let once = Itimerspec { it_interval: Timespec::default(), it_value };
        rustix::time::timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once)?;
        self.timer_at = Some(next);
        Ok(())
    }
}
