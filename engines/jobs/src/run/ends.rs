//! Ending: what an end means, retries, what is left to be delivered, the journal, and stopping early.
//! Every job that was read is delivered once, with output or without, so that `-k` never waits in vain.

use super::delivery::Owed;
use super::starters::Mover;
use super::{Cause, Chain, Errors, Event, JobEnd, Order, OutputManner, Runner, Running, Stop, Surroundings};
use crate::admission::Need;
use crate::classes::Class;
use crate::halt::HaltManner;
use crate::journal::{Outcome, Record};
use crate::output::{Flow, Part};
use crate::queue::Pending;
use crate::spec::Spec;
use crate::staff::Crew;
use crate::tree::Spent;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use sys::reap::{Ended, How};
use sys::spawn::Words;

const SIGPIPE: i32 = rustix::process::Signal::PIPE.as_raw();

impl Running {
    /// A job that is being prepared: what is not known yet is set before it counts as running.
    pub(super) fn at_rest(words: Words, class: Class, need: Need) -> Self {
        Self {
            class,
            need,
            started_as: 0,
            pending: Pending { spec: Spec::default(), failures: 0, since_ns: 0 },
            words: Arc::new(words),
            text_for_shell: None,
            key: None,
            pid: None,
            starter: Mover::Loop,
            crew: Crew::default(),
            captures: [None, None],
            tag: None,
            generation: 0,
            started: Instant::now(),
            began_s: 0.0,
            waited_ns: 0,
            chain: Chain::default(),
            due: None,
            is_timed_out: false,
            is_stopped: false,
            passport: None,
            outsiders: Vec::new(),
            orphans: Spent::default(),
            sent_bytes: 0,
            files: None,
            made: Vec::new(),
        }
    }

    /// Whether it is ended before its time: it was too late, or the run was stopped.
    pub(super) fn is_being_ended(&self) -> bool {
        self.is_timed_out || self.is_stopped
    }
}

impl Surroundings<'_> {
    /// Writes a job's end into whatever is kept; what cannot be written is given up.
    pub(super) fn note_end(&mut self, record: &Record<'_>) -> Vec<io::Error> {
        let mut errors = Vec::new();
        if let Some(Err(error)) = self.journal.as_mut().map(|journal| journal.end(record)) {
            self.journal = None;
            errors.push(error);
        }
        if let Some(Err(error)) = self.joblog.as_mut().map(|joblog| joblog.end(record)) {
            self.joblog = None;
            errors.push(error);
        }
        errors
    }
}

impl Runner<'_> {
    /// Takes in what a job has printed.
    pub(super) fn take_output(&mut self, token: u64) {
        let (slot, stream) = ((token >> 32) as usize - 1, (token & 1) as usize);
        let generation = (token as u32) >> 1;
        // A child between its start and its program holds copies of other jobs' pipes for a moment, so an event may come
        // for a job that is over.
        let Some(Some(running)) = self.slots.get_mut(slot) else { return };
        if running.generation != generation {
            return;
        }
        let tag = running.tag.as_deref();
        let Some(capture) = &mut running.captures[stream] else { return };
        let is_live = self.options.output == OutputManner::Lines
            && (self.options.order == Order::AsEnded || running.pending.spec.number == self.delivery.next_number());
        let (flow, lines) = match is_live {
            true => capture.take_lines(&mut self.scratch, tag, &self.options.spill_folder),
            false => (capture.take_in(&mut self.scratch, tag, &self.options.spill_folder), Vec::new()),
        };
        if flow == Flow::Ended {
            self.poll.forget(capture.pipe());
        }
        self.pass_lines_on(slot, stream, lines);
    }

    pub(super) fn end_job(&mut self, mut running: Running, ended: Ended, mut spent: Spent, leaves_processes: bool) {
        let wall = running.started.elapsed();
        self.running -= 1;
        self.around.tally.running.store(self.running as u64, Ordering::Relaxed);
        self.staff.put_back(std::mem::take(&mut running.crew));
        if self.held_by == Cause::Short {
            // It may be there now.
            self.look_again = None;
        }
        self.take_terminal_back(&ended);
        if running.is_being_ended() {
            self.end_outsiders(&running.outsiders);
        }
        spent.usage.rss_peak_bytes = self.memory.own_mark.without(running.started, spent.usage.rss_peak_bytes);
        let (parts, printed_bytes, fault) = self.collect_output(&mut running);
        let mut end = JobEnd {
            ended,
            spent,
            leaves_processes,
            outcome: outcome(&running, ended.how),
            wall,
            is_tried_again: false,
            printed_bytes,
        };
        let is_lost = fault.is_some() && end.outcome == Outcome::Ok;
        if is_lost || end.outcome == Outcome::Failed && self.notices_reader_gone(ended.how) {
            end.outcome = Outcome::OutputLost;
        }
        let retries = running.pending.spec.more.as_ref().and_then(|more| more.retries).unwrap_or(self.options.retries);
        end.is_tried_again = is_failure(end.outcome) && running.pending.failures < retries && self.stop == Stop::No;
        self.measure(&running, &end);
        self.learn(&running, &end);
        if let Some(error) = &fault {
            self.observer.tell(&Event::OutputLost(running.view(), error));
        }
        if !self.ran.reader_gone {
            self.observer.tell(&Event::Ended(running.view(), &end));
        }
        if end.is_tried_again {
            self.write_end(&running, &end);
            let since_ns = self.begun.elapsed().as_nanos() as u64;
            let pending = running.pending;
            self.intake.queue.try_again(Pending { failures: pending.failures + 1, since_ns, ..pending });
            return;
        }
        self.conclude(running, &end, parts);
    }

    /// Jobs that write directly hear that nobody reads any more, and die of it, in a shell or not, as each of those that follow would.
    fn notices_reader_gone(&mut self, how: How) -> bool {
        let died_of_it = [How::Signal(SIGPIPE), How::Exit(128 + SIGPIPE)].contains(&how);
        let has_left = died_of_it && self.options.output == OutputManner::Direct && self.outlets[0].reader_has_left();
        if has_left {
            self.ran.reader_gone = true;
            self.stop_jobs(Stop::Now);
        }
        has_left
    }

    fn conclude(&mut self, running: Running, end: &JobEnd, mut parts: [Vec<Part>; 2]) {
        let is_success = end.outcome == Outcome::Ok;
        if !(parts[0].is_empty() && parts[1].is_empty())
            && let Some(heading) = self.observer.heading(running.view(), end.ended.pid)
        {
            parts[0].insert(0, Part::bytes(heading));
        }
        match end.outcome {
            Outcome::Ok => {
                self.ran.counts.succeeded += 1;
                self.note_typical(end.wall);
            }
            // It may have been about to succeed.
            Outcome::Stopped => self.ran.stopped += 1,
            _ => {
                self.ran.counts.failed += 1;
                self.around.tally.failed.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.around.tally.ended.fetch_add(1, Ordering::Relaxed);
        self.settle(&running.pending, is_success, chain_to(&running, end));
        let number = running.pending.spec.number;
        // Lines have gone their way while it ran.
        let went_before = |stream: usize| self.options.output == OutputManner::Lines && end.printed_bytes[stream] > 0;
        let went_by = |outlet: usize| (0..2).any(|stream| self.outlet_of(stream) == outlet && went_before(stream));
        let printed = [0, 1].map(|outlet| !parts[outlet].is_empty() || went_by(outlet));
        let owed = if printed.contains(&true) {
            Some(Owed::new(running, *end, parts, printed))
        } else {
            self.write_end(&running, end);
            None
        };
        self.deliver(number, owed);
        // Its end stands behind its output, and before those of others.
        self.queue_messages();
        self.consider_halting();
    }

    /// Where what a job prints to `stream` is passed on.
    pub(super) fn outlet_of(&self, stream: usize) -> usize {
        if self.streams_are_one || self.options.errors == Errors::WithOutput { 0 } else { stream }
    }

    /// What it has printed, how much of it on each stream, and why not all of it could be kept.
    fn collect_output(&mut self, running: &mut Running) -> ([Vec<Part>; 2], [u64; 2], Option<io::Error>) {
        let (mut parts, mut bytes, mut fault) = ([Vec::new(), Vec::new()], [0; 2], None);
        for (stream, capture) in running.captures.iter_mut().enumerate() {
            let Some(mut capture) = capture.take() else { continue };
            if !capture.is_held_open() {
                // Copies of its other end that a child has which is being started would go on ringing.
                self.poll.forget(capture.pipe());
            }
            capture.drain(&mut self.scratch, running.tag.as_deref(), &self.options.spill_folder);
            let (kept, printed, lost) = capture.finish();
            (parts[stream], bytes[stream], fault) = (kept, printed, fault.or(lost));
        }
        if let Some(files) = running.files.take() {
            bytes = files.finish();
        }
        // Where outputs are thrown away, or go to files, errors were kept for themselves.
        let errors = std::mem::take(&mut parts[1]);
        parts[self.outlet_of(1)].extend(errors);
        (parts, bytes, fault)
    }

    fn measure(&mut self, running: &Running, end: &JobEnd) {
        let wall_ns = end.wall.as_nanos() as u64;
        self.recollection.end(running.started_as, wall_ns);
        if let Some(watched) = &self.around.watched {
            watched.ended(running.pending.spec.number, end.wall.as_secs_f64());
        }
        let measures = &mut self.ran.measures;
        measures.work_ns += wall_ns * running.pending.spec.hands() as u64;
        if wall_ns > measures.longest_ns {
            (measures.longest_ns, measures.longest_job) = (wall_ns, running.pending.spec.number);
        }
        measures.jobs_cpu_ns += end.spent.usage.cpu_ns();
        measures.jobs_blocks += end.spent.usage.blocks();
        measures.output_bytes += end.printed_bytes.iter().sum::<u64>();
        measures.rss_peak_bytes = measures.rss_peak_bytes.max(end.spent.usage.rss_peak_bytes);
        self.chains.longest = self.chains.longest.longer(chain_to(running, end));
    }

    pub(super) fn write_end(&mut self, running: &Running, end: &JobEnd) {
        let Some(key) = running.key else { return };
        let record = Record {
            number: running.pending.spec.number,
            key,
            words: &running.words,
            text_for_shell: running.text_for_shell.as_deref(),
            spec: &running.pending.spec,
            attempt: running.pending.failures + 1,
            began_s: running.began_s,
            wall_s: end.wall.as_secs_f64(),
            waited_s: running.waited_ns as f64 / 1e9,
            outcome: end.outcome,
            how: Some(end.ended.how),
            class: self.memory.classes.name(running.class),
            spent: end.spent,
            leaves_processes: end.leaves_processes,
            printed_bytes: end.printed_bytes,
            sent_bytes: running.sent_bytes,
            is_tried_again: end.is_tried_again,
            lacks_program: false,
        };
        let failed = self.around.note_end(&record);
        self.books_failed(&failed);
    }

    /// A journal or log that cannot be written is told once, and no more jobs start: nobody would know of them afterwards. Those that run
    /// have their beginnings in it, so a run that resumes names them.
    pub(super) fn books_failed(&mut self, errors: &[io::Error]) {
        for error in errors {
            self.observer.tell(&Event::BadJournal(error));
            self.ran.is_incomplete = true;
        }
        if !errors.is_empty() && !self.is_done() {
            self.stop_jobs(Stop::Soon);
        }
    }

    /// Notes how a named job came out, for those that wait for it.
    pub(super) fn settle(&mut self, pending: &Pending, is_success: bool, chain: Chain) {
        self.made.remove(&pending.spec.number);
        self.intake.settle(&pending.spec, is_success, self.begun.elapsed().as_nanos() as u64);
        if let Some(id) = pending.spec.more.as_ref().and_then(|more| more.id.clone()) {
            self.chains.named.insert(id, chain);
        }
    }

    pub(super) fn consider_halting(&mut self) {
        let total = self.around.total;
        if let Some(halt) = self.options.halt.filter(|halt| halt.is_met(self.ran.counts, total))
            && self.stop == Stop::No
        {
            self.ran.halted = Some(halt);
            self.stop_jobs(match halt.manner {
                HaltManner::Soon => Stop::Soon,
                HaltManner::Now => Stop::Now,
            });
        }
    }
}

/// Up to this job, with it.
fn chain_to(running: &Running, end: &JobEnd) -> Chain {
    let before = running.chain;
    Chain { ns: before.ns + end.wall.as_nanos() as u64, jobs: before.jobs + 1, end: running.pending.spec.number }
}

fn outcome(running: &Running, how: How) -> Outcome {
    match how {
        _ if running.is_timed_out => Outcome::TimedOut,
        _ if running.is_stopped => Outcome::Stopped,
        How::Exit(0) => Outcome::Ok,
        _ => Outcome::Failed,
    }
}

fn is_failure(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Failed | Outcome::TimedOut | Outcome::OutputLost)
}
