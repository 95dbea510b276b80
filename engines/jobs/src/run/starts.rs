//! Starting jobs: what holds them back, their words, files and streams, and the spawn itself.
//! A shortage (processes, descriptors) is waited out while others run; any other fault is told and counts as a failed job.

use super::starters::{Mover, Prepared};
use super::{Asking, Cause, Event, OutputManner, Runner, Running, SeenJob, Stop};
use crate::ends::Chain;
use crate::journal::{Earlier, Outcome, Record};
use crate::queue::{Next, Pending};
use crate::results::OutputFiles;
use crate::staff::Crew;
use crate::start::{self, StartFault};
use crate::template::Place;
use crew::budget::passport::VARIABLE;
use rustix::process::Pid;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};
use sys::spawn::{HoldsNul, Words, path_for_kernel};

/// Between two looks at what is short: memory, load, processes. Nothing tells when these change.
pub(super) const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(250);

/// LIMIT: looks at a shortage that no job of ours can end, before the job counts as failed.
const SHORTAGES_MAX: u32 = 20;

/// LIMIT: jobs in a row that fail so, before the run gives up: none of the others could start either.
const SHORT_FAILURES_MAX: u32 = 3;

/// LIMIT: letters of a job that are shown on a screen.
const SEEN_LETTERS_MAX: usize = 200;

/// What became of a job that was to be prepared.
enum Preparation {
    Ready(Prepared),
    /// An earlier run did it, or who was asked did not want it.
    LeftOut(Earlier),
    /// There is no answer yet.
    Asked,
}

impl Runner<'_> {
    /// Starts jobs until hands, order or a bound say stop.
    pub(super) fn start_jobs(&mut self, mover: Mover) {
        self.is_order_blocked = false;
        let is_time_to_look = self.look_again.is_some_and(|time| time <= self.clock.waiting.since);
        self.next_start = self.next_start.filter(|time| self.clock.waiting.since < *time);
        self.look_again = self.look_again.filter(|time| self.clock.waiting.since < *time);
        if let Some(slots) = self.options.slots.as_ref().filter(|_| self.jobs.count() == 0) {
            // What has not come back by now never will.
            slots.settle();
            self.offered = 0;
        }
        if !self.clock.starts_jobs() {
            self.offer_slots(|offered| offered > 0, 0);
            return self.staff.want(self.staff.at_work());
        }
        if self.memory.is_blocked && self.jobs.count() > 0 && !is_time_to_look {
            // Hands that could not be used are for others.
            return self.staff.want(self.staff.at_work());
        }
        self.memory.is_blocked = false;
        // Who wanted hands now and gave them back below would be woken by each that comes, without end.
        let mut is_held = self.intake.queue.jobs() > 0 && self.is_held();
        self.staff.want(if is_held { self.staff.at_work() } else { self.places_wanted() });
        while self.clock.starts_jobs() && self.staff.has_idle() && self.intake.queue.jobs() > 0 && !is_held {
            let next = match self.admitted_aside() {
                Some(pending) => Next::Job(pending),
                None => self.intake.queue.next(self.jobs.count()),
            };
            match next {
                Next::Empty => break,
                Next::Blocked => {
                    self.is_order_blocked = true;
                    self.memory.is_blocked = self.intake.queue.has_one_aside();
                    break;
                }
                Next::Job(pending) if !self.admits(&pending) => {
                    self.ran.measures.put_off += 1;
                    if let Err(pending) = self.intake.queue.set_aside(pending) {
                        self.intake.queue.put_back(pending);
                        self.memory.is_blocked = true;
                        break;
                    }
                }
                Next::Refused(pending, fault) => {
                    self.fail_to_start(pending, &fault);
                    self.read_list();
                }
                Next::Job(pending) => {
                    if !self.try_to_start(pending, mover) {
                        break;
                    }
                    if self.intake.is_low() {
                        self.read_list();
                    }
                }
            }
            is_held = self.staff.has_idle() && self.intake.queue.jobs() > 0 && self.is_held();
        }
        // While time, memory or order hold all jobs back, others may have the hands.
        let is_held = self.is_kept_back() || self.is_order_blocked || self.memory.is_blocked;
        let wanted = if is_held { self.staff.at_work() } else { self.places_wanted() };
        let spare = match self.jobs.count() {
            0 => 0,
            _ => self.options.width.min(self.options.hands).saturating_sub(wanted),
        };
        // Jobs of the list come first: what they want comes back before they ask for it, what they leave is offered afterwards.
        self.offer_slots(|offered| spare < offered, spare);
        self.staff.want(wanted);
        self.offer_slots(|offered| spare > offered, spare);
    }

    fn offer_slots(&mut self, is_time: impl Fn(usize) -> bool, spare: usize) {
        let Some(slots) = self.options.slots.as_ref().filter(|_| is_time(self.offered)) else { return };
        slots.offer(spare);
        self.offered = spare;
    }

    fn places_wanted(&self) -> usize {
        let (at_work, lacking) = (self.staff.at_work(), self.places_lacking());
        if lacking > 0 && at_work + lacking > self.options.width {
            // The next job needs places of those that run: what it would have besides lies idle until then, and others may have it.
            return at_work;
        }
        self.options.width.min(at_work + self.intake.queue.jobs().max(lacking))
    }

    /// The width may have become smaller meanwhile.
    pub(super) fn places_lacking(&self) -> usize {
        self.lacking.min(self.options.width)
    }

    /// Places for the next job, as many as it asks for. When it alone is left to run and others have the hands, it waits a moment
    /// and begins with those there are: nobody promises it more than one.
    fn take_places(&mut self, count: usize) -> Option<Crew> {
        let crew = self.staff.take(count).or_else(|| {
            let is_patient =
                self.jobs.count() > 0 || self.patience.is_none_or(|until| self.clock.waiting.since < until);
            if is_patient { None } else { self.staff.take_fewer() }
        });
        match crew {
            Some(_) => (self.lacking, self.patience) = (0, None),
            None => {
                self.lacking = count;
                self.patience = self.patience.filter(|_| self.jobs.count() == 0);
                if self.jobs.count() == 0 && self.patience.is_none() {
                    self.patience = Some(Instant::now() + LOOK_AGAIN_AFTER);
                }
            }
        }
        crew
    }

    /// Whether something other than hands and order holds all jobs back.
    fn is_held(&mut self) -> bool {
        if self.is_kept_back() {
            return true;
        }
        let cause =
            if self.is_short_of_memory() { Some(Cause::Memory) } else { self.is_loaded().then_some(Cause::Held) };
        cause.into_iter().for_each(|cause| self.hold(cause));
        cause.is_some()
    }

    /// The same by what is known, without a look at the machine.
    fn is_kept_back(&self) -> bool {
        self.clock.rest_is_due
            || self.clock.questions.is_any_open()
            || self.next_start.is_some()
            || self.look_again.is_some()
            || self.outputs.are_backed_up(self.jobs.count() > 0)
    }

    fn is_short_of_memory(&self) -> bool {
        let wanted = self.options.memory_free_bytes;
        wanted.is_some_and(|wanted| self.available_bytes().is_some_and(|available| available < wanted))
    }

    pub(super) fn available_bytes(&self) -> Option<u64> {
        machine::host_memory(self.host).ok().map(|memory| memory.available_bytes)
    }

    fn is_loaded(&self) -> bool {
        let runnable = || machine::runnable_threads(self.host).ok();
        // We are one of those that can run: we ask.
        self.options.load_max.is_some_and(|most| runnable().is_some_and(|count| count.saturating_sub(1) as f64 >= most))
    }

    /// Whether there may be another one to start.
    fn try_to_start(&mut self, pending: Pending, mover: Mover) -> bool {
        let Some(starter) = self.starters.for_next(mover, self.options.width) else {
            self.is_left_to_loop = true;
            self.intake.queue.put_back(pending);
            return false;
        };
        let count = pending.spec.hands().min(self.options.width);
        let Some(crew) = self.take_places(count) else {
            self.intake.queue.put_back(pending);
            return false;
        };
        let slot = self.jobs.free_slot();
        let mut running = match self.with_words(pending, slot) {
            Ok(running) => running,
            Err((pending, fault)) => return self.cannot_start(pending, crew, &fault),
        };
        let passport = self.staff.passport(&crew);
        let prepared = self.prepare(&mut running, slot, passport);
        self.report_book_faults();
        match prepared {
            Ok(Preparation::LeftOut(earlier)) => {
                self.staff.put_back(crew);
                self.leave_out(&running.pending, earlier);
                true
            }
            Ok(Preparation::Asked) => {
                self.staff.put_back(crew);
                self.intake.queue.put_back(running.pending);
                false
            }
            Ok(Preparation::Ready(prepared)) => {
                self.note_start(slot, Running { crew, starter, ..running });
                match starter {
                    Mover::Loop => self.starters.give_to_loop(prepared),
                    Mover::Starter(index) => {
                        self.hold_outputs_open(&prepared);
                        self.starters.give(index, prepared);
                    }
                }
                self.options.delay.is_zero()
            }
            Err(fault) => self.cannot_start(running.pending, crew, &fault),
        }
    }

    /// Whether there may be another one to start all the same.
    fn cannot_start(&mut self, pending: Pending, crew: Crew, fault: &StartFault) -> bool {
        self.staff.put_back(crew);
        let is_alone = self.jobs.count() == 0;
        if fault.is_a_shortage() && !(is_alone && self.shortages >= SHORTAGES_MAX) {
            self.shortages += u32::from(is_alone);
            if fault.is_for_want_of_processes() {
                self.starters.retire();
            }
            self.intake.queue.put_back(pending);
            self.hold(Cause::Short);
            return false;
        }
        self.shortages = 0;
        self.fail_to_start(pending, fault);
        self.short_failures += u32::from(fault.is_a_shortage());
        if self.short_failures >= SHORT_FAILURES_MAX {
            self.stop_jobs(Stop::Soon);
        }
        true
    }

    /// A job with the words that it is to run.
    fn with_words(&mut self, pending: Pending, slot: usize) -> Result<Running, (Pending, StartFault)> {
        let (template, spec) = (&self.options.template, &pending.spec);
        let place = Place { number: spec.number, slot: slot + 1 };
        let is_for_shell = spec.more.as_ref().is_some_and(|more| more.is_for_shell);
        let words = match template.compose(&spec.words, place, is_for_shell) {
            Ok(words) => words,
            Err(cause) => return Err((pending, nul(cause))),
        };
        let (key, text) =
            (self.ends.books.key_of(template, spec, &words), self.ends.books.text_for_shell(template, spec, place));
        let (class, need) = (self.class_of(&pending), self.need_of(&pending));
        let running = Running::new(pending, words, class, need, self.clock.waiting.since);
        Ok(Running { key, text_for_shell: text, ..running })
    }

    /// All that is done before a program can be started.
    fn prepare(
        &mut self,
        running: &mut Running,
        slot: usize,
        passport: Option<String>,
    ) -> Result<Preparation, StartFault> {
        let is_first = running.pending.failures == 0;
        let (key, words, number) = (running.key, Arc::clone(&running.words), running.number());
        let text = running.text_for_shell.clone();
        if is_first && let Some(earlier) = self.ends.books.take_out(key, &words, text.as_deref()) {
            return Ok(Preparation::LeftOut(earlier));
        }
        if self.options.asking == Asking::Always {
            match self.permission(running.view()) {
                Some(true) => {}
                Some(false) => return Ok(Preparation::LeftOut(Earlier::Succeeded)),
                None => return Ok(Preparation::Asked),
            }
        }
        let place = Place { number, slot: slot + 1 };
        if let Some(template) = &self.options.tag {
            let tag = template.compose(&running.pending.spec.words, place, false).map_err(nul)?;
            running.printing.tag = Some([tag.iter().collect::<Vec<_>>().join(&b' '), b"\t".to_vec()].concat());
        }
        let program = self.programs.find(words.get(0).ok_or(StartFault::Nothing)?)?;
        if let OutputManner::Files(layout) = &self.options.output {
            running.printing.files = Some(OutputFiles::prepare(layout, &running.pending.spec.words, place)?);
        }
        let streams = self.streams.open(&self.options, &mut self.ends.books, running)?;
        // Before anybody can know that it has begun again: who is killed in between has told all the same.
        if is_first && self.ends.books.was_interrupted(key, &words, text.as_deref()) {
            self.observer.tell(&Event::Interrupted(running.view()));
        }
        self.ends.books.begin(key, number, &running.made)?;
        running.made.drain(..).try_for_each(start::name)?;
        let besides = passport.as_deref().map(besides).transpose().map_err(nul)?;
        running.below.passport = passport;
        let more = running.more();
        let folder = more.and_then(|more| more.folder.as_deref()).map(path_for_kernel).transpose();
        let environment = more.map(|more| start::environment(self.spawner.environment(), more)).transpose()?.flatten();
        let folder = folder.map_err(StartFault::Words)?;
        // The clocks stop before the spawn: its cost is the job's.
        running.times.started = Instant::now();
        Ok(Preparation::Ready(Prepared { slot, program, words, environment, besides, folder, streams }))
    }

    /// Whoever waits for the job reads its outputs when it has ended: the end of a pipe need not wake the loop besides.
    fn hold_outputs_open(&mut self, prepared: &Prepared) {
        let Some(running) = self.jobs.at(prepared.slot) else { return };
        for (capture, stream) in running.printing.captures.iter_mut().zip(&prepared.streams[1..]) {
            if let Some(capture) = capture {
                capture.hold_open(Arc::clone(stream));
            }
        }
    }

    fn leave_out(&mut self, pending: &Pending, earlier: Earlier) {
        self.ends.count_left_out();
        self.clock.questions.forget(pending.spec.number);
        self.settle(&pending.spec, earlier == Earlier::Succeeded, Chain::default());
        self.deliver(pending.spec.number, None);
    }

    /// It has its place, and counts as running.
    fn note_start(&mut self, slot: usize, mut running: Running) {
        self.memory.admission.begin(running.need);
        let spec = &running.pending.spec;
        let more = spec.more.as_deref();
        let since =
            self.clock.waiting.held_until.max(self.clock.begun + Duration::from_nanos(running.pending.since_ns));
        running.times.waited_ns = running.times.started.saturating_duration_since(since).as_nanos() as u64;
        running.times.began_s = now_s();
        let timeout = more.and_then(|more| more.timeout).or_else(|| self.clock.time_limit());
        if let Some(time) = timeout.filter(|time| !time.is_zero()) {
            running.due.set(running.times.started + time);
        }
        running.times.chain = self.ends.chain_before(more, self.intake.queue.barriers_passed());
        if !self.options.delay.is_zero() {
            self.next_start = Some(running.times.started + self.options.delay);
        }
        self.jobs.put(slot, running);
        self.show_running();
    }

    /// Its program has begun, or could not. Its process, if there is one.
    pub(super) fn begin(&mut self, slot: usize, started: Result<Pid, StartFault>) -> Option<Pid> {
        match started {
            Ok(pid) => {
                self.note_begin(slot, pid);
                Some(pid)
            }
            Err(fault) => {
                let running = self.jobs.take(slot)?;
                self.show_running();
                self.memory.admission.end(running.need);
                self.memory.is_blocked = false;
                self.cannot_start(running.pending, running.crew, &fault);
                None
            }
        }
    }

    fn note_begin(&mut self, slot: usize, pid: Pid) {
        (self.shortages, self.short_failures) = (0, 0);
        let Some(running) = self.jobs.begin(slot, pid) else { return };
        self.clock.questions.forget(running.number());
        let is_again = running.pending.failures > 0;
        let waits_for_others = is_again || running.times.chain.jobs > 0 || self.intake.queue.barriers_passed() > 0;
        running.times.started_as = self.ends.begin(running.crew.places(), waits_for_others);
        self.ends.show_start(|| seen(running, pid));
        // What the job reads now need not be kept, unless it may be tried again.
        if self.ends.retries_of(running.more()) == 0 {
            running.drop_block();
        }
        self.outputs.watch(slot, &running.printing);
        self.observer.tell(&Event::Started(running.view(), pid));
        let now = Instant::now();
        if running.due.is_over(now) {
            // The run was stopped meanwhile.
            self.act_on_deadlines(now);
        }
    }

    /// Whether a program is being started, so that it cannot be signalled yet.
    pub(super) fn is_starting(&self) -> bool {
        self.jobs.iter().any(|running| running.pid.is_none())
    }

    /// A job that never ran counts as failed.
    pub(super) fn fail_to_start(&mut self, pending: Pending, fault: &StartFault) {
        let place = Place { number: pending.spec.number, slot: 1 };
        let is_for_shell = pending.spec.more.as_ref().is_some_and(|more| more.is_for_shell);
        let words = self.options.template.compose(&pending.spec.words, place, is_for_shell).unwrap_or_default();
        self.clock.questions.forget(pending.spec.number);
        self.observer.tell(&Event::NotStarted(pending.spec.number, &words, fault));
        self.write_not_started(&pending, &words, fault);
        self.ends.count(Outcome::NotStarted);
        self.settle(&pending.spec, false, Chain::default());
        self.deliver(pending.spec.number, None);
        self.consider_halting();
    }

    fn write_not_started(&mut self, pending: &Pending, words: &Words, fault: &StartFault) {
        let (template, spec) = (&self.options.template, &pending.spec);
        let Some(key) = self.ends.books.key_of(template, spec, words) else { return };
        let text = self.ends.books.text_for_shell(template, spec, Place { number: spec.number, slot: 1 });
        self.ends.books.end(&Record {
            text_for_shell: text.as_deref(),
            attempt: pending.failures + 1,
            began_s: now_s(),
            lacks_program: fault.is_of_the_program(),
            ..Record::of(spec, key, words)
        });
        self.report_book_faults();
    }

    /// For a progress line.
    pub(super) fn show_running(&self) {
        self.tally.running.store(self.jobs.count() as u64, Ordering::Relaxed);
    }
}

fn nul(cause: HoldsNul) -> StartFault {
    StartFault::Words(io::Error::new(io::ErrorKind::InvalidInput, cause))
}

/// Seconds since 1970.
fn now_s() -> f64 {
    SystemTime::UNIX_EPOCH.elapsed().map_or(0.0, |time| time.as_secs_f64())
}

/// A job as it is shown on a screen.
fn seen(running: &Running, pid: Pid) -> SeenJob {
    let words: Vec<String> = running.words.iter().map(start::text).collect();
    let words = words.join(" ").chars().take(SEEN_LETTERS_MAX).collect();
    let (number, started) = (running.number(), running.times.started);
    SeenJob { number, pid: pid.as_raw_nonzero().get(), words, started }
}

/// The variable that tells a job which hands it may use.
fn besides(passport: &str) -> Result<Words, HoldsNul> {
    let mut words = Words::default();
    words.push(format!("{VARIABLE}={passport}").as_bytes())?;
    Ok(words)
}
