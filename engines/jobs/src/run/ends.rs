//! Ending: what an end means, retries, what is left to be delivered, the journal, and stopping early.
//! Every job that was read is delivered once, with output or without, so that `-k` never waits in vain.

use super::delivery::Owed;
use super::running::Printing;
use super::{Cause, Errors, Event, JobEnd, Order, OutputManner, Runner, Running, Stop};
use crate::ends::{Chain, Death, Reaped, outcome};
use crate::halt::HaltManner;
use crate::journal::Outcome;
use crate::output::{Flow, Part};
use crate::queue::Pending;
use crate::spec::Spec;
use rustix::process::Pid;
use std::io;
use std::time::{Duration, Instant};
use sys::reap::How;

const SIGPIPE: i32 = rustix::process::Signal::PIPE.as_raw();

impl Runner<'_> {
    /// Takes in what a job has printed.
    pub(super) fn take_output(&mut self, token: u64) {
        let (slot, stream) = ((token >> 32) as usize - 1, (token & 1) as usize);
        let generation = (token as u32) >> 1;
        // A child between its start and its program holds copies of other jobs' pipes for a moment, so an event may come
        // for a job that is over.
        let Some(running) = self.jobs.at(slot) else { return };
        if running.printing.generation != generation {
            return;
        }
        let number = running.number();
        let Printing { captures, tag, .. } = &mut running.printing;
        let (Some(capture), tag) = (&mut captures[stream], tag.as_deref()) else { return };
        let is_live = self.options.output == OutputManner::Lines
            && (self.options.order == Order::AsEnded || number == self.delivery.next_number());
        let (flow, lines) = match is_live {
            true => capture.take_lines(&mut self.scratch, tag, &self.options.spill_folder),
            false => (capture.take_in(&mut self.scratch, tag, &self.options.spill_folder), Vec::new()),
        };
        if flow == Flow::Ended {
            self.poll.forget(capture.pipe());
        }
        self.pass_lines_on(slot, stream, lines);
    }

    /// Reaps what the loop started and has ended, and orphans. Starters reap what they started.
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

    /// Reaps a starter's job that has ended.
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
        self.staff.put_back(std::mem::take(&mut running.crew));
        if self.held_by == Cause::Short {
            // It may be there now.
            self.look_again = None;
        }
        self.take_terminal_back(&ended);
        if running.is_being_ended() {
            self.end_outsiders(&running.below.outsiders);
        }
        spent.usage.rss_peak_bytes = self.ends.peak_of_job(running.times.started, now, spent.usage.rss_peak_bytes);
        let (parts, printed_bytes, fault) = self.collect_output(&mut running);
        let mut end = JobEnd {
            ended,
            spent,
            leaves_processes,
            outcome: outcome(ended.how, running.due.is_timed_out, running.due.is_stopped),
            wall,
            is_tried_again: false,
            printed_bytes,
        };
        let is_lost = fault.is_some() && end.outcome == Outcome::Ok;
        if is_lost || end.outcome == Outcome::Failed && self.notices_reader_gone(ended.how) {
            end.outcome = Outcome::OutputLost;
        }
        let failures = running.pending.failures;
        end.is_tried_again =
            self.clock.starts_jobs() && self.ends.is_tried_again(end.outcome, running.more(), failures);
        self.ends.measure(&running.attempt(), &end);
        self.learn(&running, &end);
        if let Some(error) = &fault {
            self.observer.tell(&Event::OutputLost(running.view(), error));
        }
        if !self.ran.reader_gone {
            self.observer.tell(&Event::Ended(running.view(), &end));
        }
        if end.is_tried_again {
            self.write_end(&running, &end);
            let since_ns = self.clock.ns(Instant::now());
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
        self.ends.count(end.outcome);
        if is_success {
            self.note_success(end.wall);
        }
        self.settle(&running.pending.spec, is_success, running.attempt().chain_with_it(end));
        let number = running.number();
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
        for (stream, capture) in running.printing.captures.iter_mut().enumerate() {
            let Some(mut capture) = capture.take() else { continue };
            if !capture.is_held_open() {
                // Copies of its other end that a child has which is being started would go on ringing.
                self.poll.forget(capture.pipe());
            }
            capture.drain(&mut self.scratch, running.printing.tag.as_deref(), &self.options.spill_folder);
            let (kept, printed, lost) = capture.finish();
            (parts[stream], bytes[stream], fault) = (kept, printed, fault.or(lost));
        }
        if let Some(files) = running.printing.files.take() {
            bytes = files.finish();
        }
        // Where outputs are thrown away, or go to files, errors were kept for themselves.
        let errors = std::mem::take(&mut parts[1]);
        parts[self.outlet_of(1)].extend(errors);
        (parts, bytes, fault)
    }

    pub(super) fn write_end(&mut self, running: &Running, end: &JobEnd) {
        if let Some(record) = running.record(end, self.memory.classes.name(running.class)) {
            self.ends.books.end(&record);
        }
        self.report_book_faults();
    }

    /// A journal or log that cannot be written is reported once, and no more jobs start: nobody would know of them afterwards. Those that run
    /// have their beginnings in it, so a run that resumes names them.
    pub(super) fn report_book_faults(&mut self) {
        let faults = self.ends.books.take_faults();
        for fault in &faults {
            self.observer.tell(&Event::BadJournal(fault));
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
