//! Ending: what an end means, retries, what is left to be delivered, the journal, and stopping early.
//! Every job that was read is delivered once, with output or without, so that `-k` never waits in vain.

use super::outputs::{Owed, Printed};
use super::{Cause, Event, JobEnd, Runner, Running, Stop};
use crate::ends::{Chain, Death, Reaped, outcome};
use crate::halt::HaltManner;
use crate::journal::Outcome;
use crate::output::Part;
use crate::queue::Pending;
use crate::spec::Spec;
use rustix::process::Pid;
use std::time::{Duration, Instant};
use sys::reap::How;

const SIGPIPE: i32 = rustix::process::Signal::PIPE.as_raw();

impl Runner<'_> {
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
        let is_lost = printed.fault.is_some() && end.outcome == Outcome::Ok;
        if is_lost || end.outcome == Outcome::Failed && self.notices_reader_gone(ended.how) {
            end.outcome = Outcome::OutputLost;
        }
        let failures = running.pending.failures;
        end.is_tried_again =
            self.clock.starts_jobs() && self.ends.is_tried_again(end.outcome, running.more(), failures);
        self.ends.measure(&running.attempt(), &end);
        self.learn(&running, &end);
        if let Some(error) = &printed.fault {
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
        let is_success = end.outcome == Outcome::Ok;
        if printed.parts.iter().any(|parts| !parts.is_empty())
            && let Some(heading) = self.observer.heading(running.view(), end.ended.pid)
        {
            printed.parts[0].insert(0, Part::bytes(heading));
        }
        self.ends.count(end.outcome);
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
            None
        };
        self.deliver(number, owed);
        // Its end stands behind its output, and before those of others.
        self.queue_messages();
        self.consider_halting();
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
