//! A job's course through the run: taken from the queue, prepared, started, reaped, and noted in the books. Each step is an owner's; their
//! order is here. Every job that was read is delivered once, with output or without, so that `-k` never waits in vain.

use super::outputs::{Owed, Printed};
use super::spawners::{Mover, Prepared};
use super::starts::UnstartedFate;
use super::trees;
use super::{Asking, ConcludedJob, JobEnd, RunEvent, Runner, Running, SeenJob, Stop};
use crate::ends::{Chain, Death, Reaped, outcome};
use crate::halt::HaltManner;
use crate::journal::{EarlierEnd, JobOutcome, JobRecord};
use crate::output::Part;
use crate::queue::{NextJob, Pending};
use crate::spec::Spec;
use crate::staff::JobCrew;
use crate::start::{self, StartFault};
use crate::template::JobPosition;
use rustix::process::Pid;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};
use sys::reap::How;
use sys::spawn::Words;

const SIGPIPE: i32 = rustix::process::Signal::PIPE.as_raw();

/// LIMIT: letters of a job that are shown on a screen.
const SEEN_LETTERS_MAX: usize = 200;

/// What became of a job that was to be prepared.
enum Preparation {
    Ready(Prepared),
    /// An earlier run did it, or the answer to its question was no.
    LeftOut(EarlierEnd),
    /// There is no answer yet.
    Asked,
}

impl Runner<'_> {
    /// Starts jobs until hands, order or a bound say stop.
    pub(super) fn start_jobs(&mut self, mover: Mover) {
        let may_start = self.starts.begin_turn(self.any_runs(), self.clock.waiting.since);
        if !self.clock.starts_jobs() || !may_start {
            if !self.clock.starts_jobs() {
                self.starts.spares.offer_less(0);
            }
            // Hands that cannot be used are for others.
            return self.starts.want(0, true);
        }
        // Who wanted hands now and gave them back below would be woken by each that comes, without end.
        let mut is_held = self.are_starts_held();
        self.starts.want(self.intake.queue.jobs(), is_held);
        while self.clock.starts_jobs() && self.may_take_next() && !is_held {
            if !self.start_next(mover) {
                break;
            }
            is_held = self.may_take_next() && self.are_starts_held();
        }
        // While time, memory or order hold all jobs back, others may have the hands.
        let is_held = self.keeps_starts_back() || self.starts.are_kept_back();
        self.starts.want_and_offer(self.intake.queue.jobs(), is_held, self.any_runs());
    }

    fn may_take_next(&self) -> bool {
        self.starts.places.staff.has_idle() && self.intake.queue.jobs() > 0
    }

    fn are_starts_held(&mut self) -> bool {
        let is_kept_back = self.keeps_starts_back();
        self.intake.queue.jobs() > 0 && self.starts.are_held(is_kept_back, self.clock.waiting.since)
    }

    fn keeps_starts_back(&self) -> bool {
        self.clock.rest_is_due || self.clock.questions.is_any_open() || self.outputs.are_backed_up(self.any_runs())
    }

    /// Takes the next job, and starts it if that can be. Returns whether there may be another one to start.
    fn start_next(&mut self, mover: Mover) -> bool {
        let next = match self.admitted_aside() {
            Some(pending) => NextJob::Job(pending),
            None => self.intake.queue.next(self.jobs.count()),
        };
        match next {
            NextJob::Empty => return false,
            NextJob::Blocked => {
                self.starts.is_order_blocked = true;
                self.starts.memory.is_blocked = self.intake.queue.has_one_aside();
                return false;
            }
            NextJob::Job(pending) if !self.admits(&pending) => {
                self.ran.measures.put_off += 1;
                if let Err(pending) = self.intake.queue.set_aside(pending) {
                    self.intake.queue.put_back(pending);
                    self.starts.memory.is_blocked = true;
                    return false;
                }
            }
            NextJob::Refused(pending, fault) => {
                self.fail_to_start(pending, &fault);
                self.read_list();
            }
            NextJob::Job(pending) => {
                if !self.try_to_start(pending, mover) {
                    return false;
                }
                if self.intake.is_low() {
                    self.read_list();
                }
            }
        }
        true
    }

    fn admits(&mut self, pending: &Pending) -> bool {
        self.starts.admit(pending, self.any_runs(), self.clock.waiting.since)
    }

    /// The one that is set aside, if it may start now.
    fn admitted_aside(&mut self) -> Option<Pending> {
        let pending = self.intake.queue.take_aside()?;
        if self.admits(&pending) {
            return Some(pending);
        }
        self.intake.queue.keep_aside(pending);
        None
    }

    /// Whether there may be another one to start.
    fn try_to_start(&mut self, pending: Pending, mover: Mover) -> bool {
        let width = self.starts.options.width;
        let Some(spawner) = self.starts.spawners.for_next(mover, width) else {
            self.is_left_to_loop = true;
            self.intake.queue.put_back(pending);
            return false;
        };
        let (count, any_runs, now) = (pending.spec.hands().min(width), self.any_runs(), self.clock.waiting.since);
        let Some(crew) = self.starts.places.take(count, any_runs, now) else {
            self.intake.queue.put_back(pending);
            return false;
        };
        let slot = self.jobs.free_slot();
        let mut running = match self.starts.with_words(pending, slot, &self.ends.books, now) {
            Ok(running) => running,
            Err((pending, fault)) => return self.cannot_start(pending, crew, &fault),
        };
        let prepared = self.prepare(&mut running, slot, self.starts.places.staff.lease_token(&crew));
        self.report_book_faults();
        match prepared {
            Ok(Preparation::LeftOut(earlier)) => {
                self.starts.places.staff.put_back(crew);
                self.leave_out(&running.pending, earlier);
                true
            }
            Ok(Preparation::Asked) => {
                self.starts.places.staff.put_back(crew);
                self.intake.queue.put_back(running.pending);
                false
            }
            Ok(Preparation::Ready(prepared)) => {
                self.note_start(slot, Running { crew, spawner, ..running });
                match spawner {
                    Mover::Loop => self.starts.spawners.give_to_loop(prepared),
                    Mover::Spawner(index) => {
                        self.hold_outputs_open(&prepared);
                        self.starts.spawners.give(index, prepared);
                    }
                }
                !self.starts.holds.has_delay()
            }
            Err(fault) => self.cannot_start(running.pending, crew, &fault),
        }
    }

    /// Whether there may be another one to start all the same.
    fn cannot_start(&mut self, pending: Pending, crew: JobCrew, fault: &StartFault) -> bool {
        self.starts.places.staff.put_back(crew);
        let verdict = self.starts.judge(fault, self.any_runs(), Instant::now());
        if verdict == UnstartedFate::Wait {
            self.intake.queue.put_back(pending);
            return false;
        }
        self.fail_to_start(pending, fault);
        if verdict == UnstartedFate::GiveUp {
            self.stop_jobs(Stop::Soon);
        }
        true
    }

    /// All that is done before a program can be started.
    fn prepare(
        &mut self,
        running: &mut Running,
        slot: usize,
        lease_token: Option<String>,
    ) -> Result<Preparation, StartFault> {
        let is_first = running.pending.failures == 0;
        let text = running.text_for_shell.as_deref();
        if is_first && let Some(earlier) = self.ends.books.take_out(running.key, &running.words, text) {
            return Ok(Preparation::LeftOut(earlier));
        }
        if self.starts.options.asking == Asking::Always {
            match self.permission(running.view()) {
                Some(true) => {}
                Some(false) => return Ok(Preparation::LeftOut(EarlierEnd::Succeeded)),
                None => return Ok(Preparation::Asked),
            }
        }
        let opened = self.starts.open(running, slot, &mut self.ends.books)?;
        // Before anybody can know that it has begun again: a run that is killed in between has reported it all the same.
        let text = running.text_for_shell.as_deref();
        if is_first && self.ends.books.was_interrupted(running.key, &running.words, text) {
            self.observer.tell(&RunEvent::Interrupted(running.view()));
        }
        self.ends.books.begin(running.key, running.number(), &running.made)?;
        let prepared = self.starts.complete(running, slot, opened, lease_token)?;
        // The clocks stop before the spawn: its cost is the job's.
        running.times.started = Instant::now();
        Ok(Preparation::Ready(prepared))
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

    fn leave_out(&mut self, pending: &Pending, earlier: EarlierEnd) {
        self.ends.count_left_out(earlier);
        self.clock.questions.forget(pending.spec.number);
        self.settle(&pending.spec, earlier == EarlierEnd::Succeeded, Chain::default());
        self.deliver(pending.spec.number, None);
    }

    /// It has its place, and counts as running.
    fn note_start(&mut self, slot: usize, mut running: Running) {
        self.starts.note_start(&running);
        if let Some([expected_bytes, cap_bytes]) = self.starts.memory.excess(running.need) {
            self.observer.tell(&RunEvent::RunsAlone { job: running.view(), expected_bytes, cap_bytes });
        }
        let more = running.pending.spec.more.as_deref();
        let since =
            self.clock.waiting.held_until.max(self.clock.begun + Duration::from_nanos(running.pending.since_ns));
        let times = &mut running.times;
        times.waited_ns = times.started.saturating_duration_since(since).as_nanos() as u64;
        times.began_s = now_s();
        times.chain = self.ends.chain_before(more, self.intake.queue.barriers_passed());
        let timeout = more.and_then(|more| more.timeout).or_else(|| self.clock.time_limit());
        if let Some(time) = timeout.filter(|time| !time.is_zero()) {
            running.due.set(times.started + time);
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
                self.starts.take_back_start(&running);
                self.cannot_start(running.pending, running.crew, &fault);
                None
            }
        }
    }

    fn note_begin(&mut self, slot: usize, pid: Pid) {
        self.starts.note_begin();
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
        self.observer.tell(&RunEvent::Started(running.view(), pid));
        let now = Instant::now();
        if running.due.is_over(now) {
            // The run was stopped meanwhile.
            self.act_on_deadlines(now);
        }
    }

    pub(super) fn any_runs(&self) -> bool {
        self.jobs.count() > 0
    }

    /// Whether a program is being started, so that it cannot be signalled yet.
    pub(super) fn is_starting(&self) -> bool {
        self.jobs.iter().any(|running| running.pid.is_none())
    }

    /// For a progress line.
    fn show_running(&self) {
        self.tally.running.store(self.jobs.count() as u64, Ordering::Relaxed);
    }

    /// A job that never ran counts as failed.
    pub(super) fn fail_to_start(&mut self, pending: Pending, fault: &StartFault) {
        let place = JobPosition { number: pending.spec.number, slot: 1 };
        let is_for_shell = pending.spec.more.as_ref().is_some_and(|more| more.is_for_shell);
        let words = self.starts.options.template.compose(&pending.spec.words, place, is_for_shell).unwrap_or_default();
        self.clock.questions.forget(pending.spec.number);
        self.observer.tell(&RunEvent::NotStarted(pending.spec.number, &words, fault));
        self.write_not_started(&pending, &words, fault);
        self.observer.tell(&RunEvent::Concluded(ConcludedJob {
            number: pending.spec.number,
            outcome: JobOutcome::NotStarted,
            how: None,
            wall: Duration::ZERO,
            has_tries_left: matches!(fault, StartFault::Unnoted),
            passed_on_bytes: [0; 2],
        }));
        self.ends.count(JobOutcome::NotStarted);
        self.settle(&pending.spec, false, Chain::default());
        self.deliver(pending.spec.number, None);
        self.consider_halting();
    }

    fn write_not_started(&mut self, pending: &Pending, words: &Words, fault: &StartFault) {
        let (template, spec) = (&self.starts.options.template, &pending.spec);
        let Some(key) = self.ends.books.key_of(template, spec, words) else { return };
        let text = self.ends.books.text_for_shell(template, spec, JobPosition { number: spec.number, slot: 1 });
        self.ends.books.end(&JobRecord {
            text_for_shell: text.as_deref(),
            attempt: pending.failures + 1,
            began_s: now_s(),
            lacks_program: fault.is_of_the_program(),
            ..JobRecord::of(spec, key, words)
        });
        self.report_book_faults();
    }

    /// Reaps what the loop started and has ended, and orphans. Spawners reap what they started.
    pub(super) fn reap(&mut self) {
        loop {
            // One end may be the reason to end others.
            let looks = self.ends.books.has_journal() || self.jobs.iter().any(Running::is_being_ended);
            let known = |process| self.jobs.of(process).map(Running::known);
            match self.ends.reap_next(looks, known) {
                None => return,
                Some(Reaped::Stopped(stopped)) => self.note_stop(stopped),
                Some(Reaped::Job(death)) => self.end_job(death),
                Some(Reaped::Orphan(group, spent)) => {
                    if let Some(running) = self.jobs.of_mut(group) {
                        running.below.orphans = running.below.orphans.with(spent);
                    }
                }
                Some(Reaped::Other) => self.report_book_faults(),
            }
        }
    }

    /// Reaps a spawner's job that has ended.
    pub(super) fn reap_started(&mut self, process: Pid) {
        let known = self.jobs.of(process).map(Running::known);
        let death = known.and_then(|known| self.ends.reap_known(process, &known));
        death.into_iter().for_each(|death| self.end_job(death));
    }

    fn end_job(&mut self, Death { ended, mut spent, leaves_processes }: Death) {
        let Some(mut running) = self.jobs.end(ended.pid) else { return };
        let now = Instant::now();
        let wall = now.duration_since(running.times.started);
        self.show_running();
        self.starts.note_end(&mut running);
        self.take_terminal_back(&ended);
        if running.is_being_ended() {
            trees::end_outsiders(&running.below.outsiders);
        }
        spent.usage.rss_peak_bytes = self.ends.peak_of_job(running.times.started, now, spent.usage.rss_peak_bytes);
        let printed = self.outputs.collect(&mut running.printing);
        let mut end = JobEnd {
            ended,
            spent,
            leaves_processes,
            outcome: outcome(ended.how, running.due.is_timed_out, running.due.is_stopped),
            wall,
            is_tried_again: false,
            printed_bytes: printed.bytes,
        };
        let is_lost = printed.fault.is_some() && end.outcome == JobOutcome::Ok;
        if is_lost || end.outcome == JobOutcome::Failed && self.notices_reader_gone(ended.how) {
            end.outcome = JobOutcome::OutputLost;
        }
        let failures = running.pending.failures;
        end.is_tried_again =
            self.clock.starts_jobs() && self.ends.is_tried_again(end.outcome, running.more(), failures);
        self.ends.measure(&running.attempt(), &end);
        self.starts.learn(&running, &end);
        if let Some(error) = &printed.fault {
            self.observer.tell(&RunEvent::OutputLost(running.view(), error));
        }
        if !self.ran.reader_gone {
            self.observer.tell(&RunEvent::Ended(running.view(), &end));
        }
        if end.is_tried_again {
            self.write_end(&running, &end);
            let since_ns = self.clock.ns(Instant::now());
            let pending = running.pending;
            self.intake.queue.try_again(Pending { failures: pending.failures + 1, since_ns, ..pending });
            return;
        }
        self.conclude(running, &end, printed);
    }

    /// Jobs that write directly hear that nobody reads any more, and die of it, in a shell or not, as each of those that follow would.
    fn notices_reader_gone(&mut self, how: How) -> bool {
        let died_of_it = [How::Signal(SIGPIPE), How::Exit(128 + SIGPIPE)].contains(&how);
        let has_left = died_of_it && self.outputs.direct_reader_has_left();
        if has_left {
            self.ran.reader_gone = true;
            self.stop_jobs(Stop::Now);
        }
        has_left
    }

    fn conclude(&mut self, running: Running, end: &JobEnd, mut printed: Printed) {
        let is_success = end.outcome == JobOutcome::Ok;
        if printed.parts.iter().any(|parts| !parts.is_empty())
            && let Some(heading) = self.observer.heading(running.view(), end.ended.pid)
        {
            printed.parts[0].insert(0, Part::bytes(heading));
        }
        self.ends.count(end.outcome);
        self.starts.places.staff.note_progress();
        if is_success {
            self.note_success(end.wall);
        }
        self.settle(&running.pending.spec, is_success, running.attempt().chain_with_it(end));
        let number = running.number();
        let printed_to = self.outputs.printed_to(&printed);
        let owed = if printed_to.contains(&true) {
            Some(Owed::new(running, *end, printed.parts, printed_to))
        } else {
            self.write_end(&running, end);
            self.tell_concluded(&running, end, [0; 2]);
            None
        };
        self.deliver(number, owed);
        // Its end stands behind its output, and before those of others.
        self.queue_messages();
        self.consider_halting();
    }

    pub(super) fn tell_concluded(&mut self, running: &Running, end: &JobEnd, passed_on_bytes: [u64; 2]) {
        self.observer.tell(&RunEvent::Concluded(ConcludedJob {
            number: running.number(),
            outcome: end.outcome,
            how: Some(end.ended.how),
            wall: end.wall,
            has_tries_left: self.ends.is_tried_again(end.outcome, running.more(), running.pending.failures),
            passed_on_bytes,
        }));
    }

    pub(super) fn write_end(&mut self, running: &Running, end: &JobEnd) {
        if let Some(record) = running.record(end, self.starts.memory.classes.name(running.class)) {
            self.ends.books.end(&record);
        }
        self.report_book_faults();
    }

    /// A journal or log that cannot be written is reported once, and no more jobs start: nobody would know of them afterwards. Those that run
    /// have their beginnings in it, so a run that resumes names them.
    pub(super) fn report_book_faults(&mut self) {
        let faults = self.ends.books.take_faults();
        for fault in &faults {
            self.observer.tell(&RunEvent::BadJournal(fault));
            self.ran.is_incomplete = true;
        }
        if !faults.is_empty() && !self.is_done() {
            self.stop_jobs(Stop::Soon);
        }
    }

    /// Notes how long a success took, and moves the deadlines of those that run, if they follow from it.
    fn note_success(&mut self, wall: Duration) {
        let Some(limit) = self.clock.note_success(wall) else { return };
        for running in self.jobs.iter_mut().filter(|running| !running.is_being_ended()) {
            if running.more().is_none_or(|more| more.timeout.is_none()) {
                running.due.set(running.times.started + limit);
            }
        }
    }

    /// Notes how a job came out, for those that wait for it.
    pub(super) fn settle(&mut self, spec: &Spec, is_success: bool, chain: Chain) {
        self.ends.settle(spec, chain);
        self.intake.settle(spec, is_success, self.clock.ns(Instant::now()));
    }

    pub(super) fn consider_halting(&mut self) {
        if let Some(halt) = self.ends.rule_met()
            && self.clock.starts_jobs()
        {
            self.ran.halted = Some(halt);
            self.stop_jobs(match halt.manner {
                HaltManner::Soon => Stop::Soon,
                HaltManner::Now => Stop::Now,
            });
        }
    }
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
