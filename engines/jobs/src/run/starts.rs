//! Starting jobs: what holds them back, their words, files and streams, and the spawn itself.
//! A shortage (processes, descriptors) is waited out while others run; any other fault is told and counts as a failed job.

use super::starters::{Mover, Prepared};
use super::streams::name;
use super::{Asking, Cause, Chain, Event, JobView, OutputManner, Runner, Running, SeenJob, Stop};
use crate::journal::{Earlier, Outcome, Record};
use crate::key::Key;
use crate::output::Capture;
use crate::poll::{Poll, token};
use crate::queue::{Next, Pending};
use crate::results::OutputFiles;
use crate::spec::{More, Spec};
use crate::staff::Crew;
use crate::start::{self, StartFault};
use crate::template::Place;
use crate::tree::Spent;
use crew::budget::passport::VARIABLE;
use rustix::event::epoll::EventFlags;
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
        let is_time_to_look = self.look_again.is_some_and(|time| time <= self.slept_from);
        self.next_start = self.next_start.filter(|time| self.slept_from < *time);
        self.look_again = self.look_again.filter(|time| self.slept_from < *time);
        if let Some(slots) = self.options.slots.as_ref().filter(|_| self.running == 0) {
            // What has not come back by now never will.
            slots.settle();
            self.offered = 0;
        }
        if self.stop > Stop::No {
            self.offer_slots(|offered| offered > 0, 0);
            return self.staff.want(self.staff.at_work());
        }
        if self.memory.is_blocked && self.running > 0 && !is_time_to_look {
            // Hands that could not be used are for others.
            return self.staff.want(self.staff.at_work());
        }
        self.memory.is_blocked = false;
        // Who wanted hands now and gave them back below would be woken by each that comes, without end.
        let mut is_held = self.intake.queue.jobs() > 0 && self.is_held();
        self.staff.want(if is_held { self.staff.at_work() } else { self.places_wanted() });
        while self.stop == Stop::No && self.staff.has_idle() && self.intake.queue.jobs() > 0 && !is_held {
            let next = match self.admitted_aside() {
                Some(pending) => Next::Job(pending),
                None => self.intake.queue.next(self.running),
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
        let spare = match self.running {
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
            let is_patient = self.running > 0 || self.patience.is_none_or(|until| self.slept_from < until);
            if is_patient { None } else { self.staff.take_fewer() }
        });
        match crew {
            Some(_) => (self.lacking, self.patience) = (0, None),
            None => {
                self.lacking = count;
                self.patience = self.patience.filter(|_| self.running == 0);
                if self.running == 0 && self.patience.is_none() {
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
        self.rest_is_due
            || self.questions.is_any_open()
            || self.next_start.is_some()
            || self.look_again.is_some()
            || self.is_backed_up()
    }

    fn is_short_of_memory(&self) -> bool {
        let wanted = self.options.memory_free_bytes;
        wanted.is_some_and(|wanted| self.available_bytes().is_some_and(|available| available < wanted))
    }

    pub(super) fn available_bytes(&self) -> Option<u64> {
        machine::host_memory(self.around.host).ok().map(|memory| memory.available_bytes)
    }

    fn is_loaded(&self) -> bool {
        let runnable = || machine::runnable_threads(self.around.host).ok();
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
        let slot = self.slots.iter().position(Option::is_none).unwrap_or(self.slots.len());
        let passport = self.staff.passport(&crew);
        match self.prepare(&pending, slot, passport) {
            Ok((Preparation::LeftOut(earlier), _)) => {
                self.staff.put_back(crew);
                self.leave_out(&pending, earlier);
                true
            }
            Ok((Preparation::Asked, _)) => {
                self.staff.put_back(crew);
                self.intake.queue.put_back(pending);
                false
            }
            Ok((Preparation::Ready(prepared), running)) => {
                self.note_start(slot, Running { pending, crew, starter, ..running });
                match starter {
                    Mover::Loop => self.starters.give_to_loop(prepared),
                    Mover::Starter(index) => {
                        self.hold_outputs_open(&prepared);
                        self.starters.give(index, prepared);
                    }
                }
                self.options.delay.is_zero()
            }
            Err(fault) => self.cannot_start(pending, crew, &fault),
        }
    }

    /// Whether there may be another one to start all the same.
    fn cannot_start(&mut self, pending: Pending, crew: Crew, fault: &StartFault) -> bool {
        self.staff.put_back(crew);
        let is_alone = self.running == 0;
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

    /// All that is done before a program can be started.
    fn prepare(
        &mut self,
        pending: &Pending,
        slot: usize,
        passport: Option<String>,
    ) -> Result<(Preparation, Running), StartFault> {
        let nul = |cause| StartFault::Words(io::Error::new(io::ErrorKind::InvalidInput, cause));
        let spec = &pending.spec;
        let place = Place { number: spec.number, slot: slot + 1 };
        let attempt = pending.failures + 1;
        let no_more = More::default();
        let more = spec.more.as_deref().unwrap_or(&no_more);
        let words = self.options.template.compose(&spec.words, place, more.is_for_shell).map_err(nul)?;
        let mut running = Running::at_rest(words, self.class_of(pending), self.need_of(pending));
        running.key = self.key_of(spec, &running.words);
        running.text_for_shell = self.text_for_shell(spec, place);
        if let Some(earlier) = self.is_left_out(&running, pending.failures) {
            return Ok((Preparation::LeftOut(earlier), running));
        }
        if self.options.asking == Asking::Always {
            match self.permission(JobView { number: spec.number, words: &running.words, attempt }) {
                Some(true) => {}
                Some(false) => return Ok((Preparation::LeftOut(Earlier::Succeeded), running)),
                None => return Ok((Preparation::Asked, running)),
            }
        }
        if let Some(template) = &self.options.tag {
            let tag = template.compose(&spec.words, place, false).map_err(nul)?;
            running.tag = Some([tag.iter().collect::<Vec<_>>().join(&b' '), b"\t".to_vec()].concat());
        }
        let program = self.programs.find(running.words.get(0).ok_or(StartFault::Nothing)?)?;
        if let OutputManner::Files(layout) = &self.options.output {
            running.files = Some(OutputFiles::prepare(layout, &spec.words, place)?);
        }
        let streams = self.streams(spec.number, more, &mut running)?;
        // Before anybody can know that it has begun again: who is killed in between has told all the same.
        self.tell_of_interruption(&running, JobView { number: spec.number, words: &running.words, attempt });
        if let (Some(key), Some(journal)) = (running.key, &mut self.around.journal)
            && let Err(error) = journal.begin(key, spec.number, running.made.iter().map(|made| made.mark))
        {
            self.journal_fails(error);
            return Err(StartFault::Unnoted);
        }
        running.made.drain(..).try_for_each(name)?;
        let besides = passport.as_deref().map(besides).transpose().map_err(nul)?;
        running.passport = passport;
        let folder = more.folder.as_deref().map(path_for_kernel).transpose().map_err(StartFault::Words)?;
        let environment = start::environment(self.spawner.environment(), more)?;
        // The clocks stop before the spawn: its cost is the job's.
        running.started = Instant::now();
        let words = Arc::clone(&running.words);
        Ok((Preparation::Ready(Prepared { slot, program, words, environment, besides, folder, streams }), running))
    }

    /// Whoever waits for the job reads its outputs when it has ended: the end of a pipe need not wake the loop besides.
    fn hold_outputs_open(&mut self, prepared: &Prepared) {
        let Some(running) = &mut self.slots[prepared.slot] else { return };
        for (capture, stream) in running.captures.iter_mut().zip(&prepared.streams[1..]) {
            if let Some(capture) = capture {
                capture.hold_open(Arc::clone(stream));
            }
        }
    }

    /// What the job is known by, where books are kept. The slot is where it happens to run.
    fn key_of(&self, spec: &Spec, words: &Words) -> Option<Key> {
        if self.around.journal.is_none() && self.around.joblog.is_none() {
            return None;
        }
        if !self.options.template.names_slot() {
            return Some(self.keys.of(spec, words));
        }
        let is_for_shell = spec.more.as_ref().is_some_and(|more| more.is_for_shell);
        let nowhere = Place { number: spec.number, slot: 0 };
        let words = self.options.template.compose(&spec.words, nowhere, is_for_shell).ok()?;
        Some(self.keys.of(spec, &words))
    }

    /// How a job log names it, where there is one and a shell runs the jobs.
    fn text_for_shell(&self, spec: &Spec, place: Place) -> Option<Vec<u8>> {
        let is_needed = self.around.joblog.is_some() && self.options.template.is_for_shell();
        is_needed.then(|| self.options.template.text_for_shell(&spec.words, place))
    }

    /// Whether an earlier run did this job, which has failed so often in this one.
    fn is_left_out(&mut self, running: &Running, failures: u32) -> Option<Earlier> {
        let (Some(done), Some(key), 0) = (&mut self.around.done, running.key, failures) else { return None };
        done.takes_out(done.key_of(key, &running.words, running.text_for_shell.as_deref()))
    }

    fn tell_of_interruption(&mut self, running: &Running, job: JobView<'_>) {
        if let (Some(done), Some(key), 1) = (&mut self.around.done, running.key, job.attempt) {
            let key = done.key_of(key, &running.words, running.text_for_shell.as_deref());
            if done.was_interrupted(key) {
                self.observer.tell(&Event::Interrupted(job));
            }
        }
    }

    fn leave_out(&mut self, pending: &Pending, earlier: Earlier) {
        self.ran.left_out += 1;
        self.questions.forget(pending.spec.number);
        self.around.tally.ended.fetch_add(1, Ordering::Relaxed);
        self.settle(pending, earlier == Earlier::Succeeded, Chain::default());
        self.deliver(pending.spec.number, None);
    }

    /// It has its place, and counts as running.
    fn note_start(&mut self, slot: usize, mut running: Running) {
        self.memory.admission.begin(running.need);
        let spec = &running.pending.spec;
        let more = spec.more.as_deref();
        let since = self.held_until.max(self.begun + Duration::from_nanos(running.pending.since_ns));
        running.waited_ns = running.started.saturating_duration_since(since).as_nanos() as u64;
        running.began_s = SystemTime::UNIX_EPOCH.elapsed().map_or(0.0, |time| time.as_secs_f64());
        let timeout = more.and_then(|more| more.timeout).or_else(|| self.time_limit());
        running.due = timeout.filter(|time| !time.is_zero()).map(|time| (running.started + time, 0));
        running.chain = self.chain_before(more);
        if !self.options.delay.is_zero() {
            self.next_start = Some(running.started + self.options.delay);
        }
        self.running += 1;
        self.around.tally.running.store(self.running as u64, Ordering::Relaxed);
        if slot == self.slots.len() {
            self.slots.push(Some(running));
        } else {
            self.slots[slot] = Some(running);
        }
    }

    /// Its program has begun, or could not. Its process, where there is one.
    pub(super) fn begin(&mut self, slot: usize, started: Result<Pid, StartFault>) -> Option<Pid> {
        let running = self.slots[slot].take()?;
        match started {
            Ok(pid) => {
                self.note_begin(slot, running, pid);
                Some(pid)
            }
            Err(fault) => {
                self.running -= 1;
                self.around.tally.running.store(self.running as u64, Ordering::Relaxed);
                self.memory.admission.end(running.need);
                self.memory.is_blocked = false;
                self.cannot_start(running.pending, running.crew, &fault);
                None
            }
        }
    }

    fn note_begin(&mut self, slot: usize, mut running: Running, pid: Pid) {
        (self.shortages, self.short_failures) = (0, 0);
        running.pid = Some(pid);
        self.questions.forget(running.pending.spec.number);
        let is_again = running.pending.failures > 0;
        let waits_for_others = is_again || running.chain.jobs > 0 || self.intake.queue.barriers_passed() > 0;
        running.started_as = self.recollection.begin(running.crew.places(), waits_for_others);
        self.show_start(&running, pid);
        self.let_block_go(&mut running);
        self.generation = self.generation.wrapping_add(1) & 0x7fff_ffff;
        running.generation = self.generation;
        self.watch_captures(slot, &running);
        self.ran.measures.starts += 1;
        self.observer.tell(&Event::Started(running.view(), pid));
        self.slot_of.insert(pid, slot);
        let due = running.due;
        self.slots[slot] = Some(running);
        let now = Instant::now();
        if due.is_some_and(|(when, _)| when <= now) {
            // The run was stopped meanwhile.
            self.act_on_deadlines(now);
        }
    }

    /// Whether a program is being started, so that it cannot be signalled yet.
    pub(super) fn is_starting(&self) -> bool {
        self.slots.iter().flatten().any(|running| running.pid.is_none())
    }

    fn show_start(&self, running: &Running, pid: Pid) {
        let Some(watched) = &self.around.watched else { return };
        let words: Vec<String> = running.words.iter().map(start::text).collect();
        let words = words.join(" ").chars().take(SEEN_LETTERS_MAX).collect();
        let number = running.pending.spec.number;
        watched.started(SeenJob { number, pid: pid.as_raw_nonzero().get(), words, started: running.started });
    }

    /// What the job reads now need not be kept, unless it may be tried again.
    fn let_block_go(&self, running: &mut Running) {
        if let Some(more) = &mut running.pending.spec.more
            && more.retries.unwrap_or(self.options.retries) == 0
        {
            more.block = None;
        }
    }

    fn chain_before(&mut self, more: Option<&More>) -> Chain {
        if self.chains.barriers != self.intake.queue.barriers_passed() {
            self.chains.barriers = self.intake.queue.barriers_passed();
            self.chains.barrier = self.chains.longest;
        }
        let named = more.into_iter().flat_map(|more| &more.after).filter_map(|name| self.chains.named.get(name));
        named.copied().fold(self.chains.barrier, Chain::longer)
    }

    fn watch_captures(&self, slot: usize, running: &Running) {
        for (stream, capture) in running.captures.iter().enumerate() {
            if let Some(capture) = capture {
                watch(&self.poll, slot, running.generation, stream, capture);
            }
        }
    }

    /// A job that never ran counts as failed.
    pub(super) fn fail_to_start(&mut self, pending: Pending, fault: &StartFault) {
        let place = Place { number: pending.spec.number, slot: 1 };
        let is_for_shell = pending.spec.more.as_ref().is_some_and(|more| more.is_for_shell);
        let words = self.options.template.compose(&pending.spec.words, place, is_for_shell).unwrap_or_default();
        self.questions.forget(pending.spec.number);
        self.observer.tell(&Event::NotStarted(pending.spec.number, &words, fault));
        self.write_not_started(&pending, &words, fault);
        self.ran.counts.failed += 1;
        self.around.tally.ended.fetch_add(1, Ordering::Relaxed);
        self.around.tally.failed.fetch_add(1, Ordering::Relaxed);
        self.settle(&pending, false, Chain::default());
        self.deliver(pending.spec.number, None);
        self.consider_halting();
    }

    fn write_not_started(&mut self, pending: &Pending, words: &Words, fault: &StartFault) {
        let Some(key) = self.key_of(&pending.spec, words) else { return };
        let text_for_shell = self.text_for_shell(&pending.spec, Place { number: pending.spec.number, slot: 1 });
        let record = Record {
            number: pending.spec.number,
            key,
            words,
            text_for_shell: text_for_shell.as_deref(),
            spec: &pending.spec,
            attempt: pending.failures + 1,
            began_s: SystemTime::UNIX_EPOCH.elapsed().map_or(0.0, |time| time.as_secs_f64()),
            wall_s: 0.0,
            waited_s: 0.0,
            outcome: Outcome::NotStarted,
            how: None,
            class: "",
            spent: Spent::default(),
            leaves_processes: false,
            printed_bytes: [0; 2],
            sent_bytes: 0,
            is_tried_again: false,
            lacks_program: fault.is_of_the_program(),
        };
        let failed = self.around.note_end(&record);
        self.books_failed(&failed);
    }

    pub(super) fn journal_fails(&mut self, error: io::Error) {
        self.around.journal = None;
        self.books_failed(&[error]);
    }
}

/// Has epoll tell when a job prints. Where it cannot, its output is read at its end.
pub(super) fn watch(poll: &Poll, slot: usize, generation: u32, stream: usize, capture: &Capture) {
    let token = ((slot as u64 + 1) << 32) | (u64::from(generation) << 1) | stream as u64;
    debug_assert!(token >= token::JOBS);
    let _read_at_the_end = poll.watch(capture.pipe(), token, EventFlags::IN);
}

/// The variable that tells a job which hands it may use.
fn besides(passport: &str) -> Result<Words, HoldsNul> {
    let mut words = Words::default();
    words.push(format!("{VARIABLE}={passport}").as_bytes())?;
    Ok(words)
}
