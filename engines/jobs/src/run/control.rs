//! Signals and time: stopping, going on, other widths, deadlines.
//! Once interrupted no job starts, twice those that run are ended, three times at once.

use super::running::Due;
use super::starters::Mover;
use super::{Event, Runner, Running, Stop};
use std::time::{Duration, Instant};
use sys::reap::signal_group;
use sys::signals::{number, stop_here};

/// LIMIT: how late a signal may be heard while starters' jobs end. Shorter: the loop wakes more often for ends that are not its own.
const SIGNALS_REST: Duration = Duration::from_millis(20);

/// LIMIT: the widest that a signal can make a run.
const WIDTH_MAX: usize = 4096;

impl Runner<'_> {
    pub(super) fn take_signals(&mut self) {
        // Ends of what starters wait for are announced to the loop as well: it listens again when most of them have passed. A job of its
        // own is heard at once.
        let own = self.jobs.iter().any(|running| running.starter == Mover::Loop);
        self.signals_rest_until = Some(Instant::now() + if own { Duration::ZERO } else { SIGNALS_REST });
        // What is left over wakes us again.
        for arrived in self.signals.take().unwrap_or_default() {
            match arrived.signal {
                number::SIGCHLD => self.reap(),
                number::SIGINT => self.interrupt(),
                number::SIGTERM | number::SIGHUP | number::SIGQUIT => {
                    self.ran.stopped_by.get_or_insert(arrived.signal);
                    if self.stop == Stop::Now && self.jobs.count() == 0 {
                        self.gives_outputs_up = true;
                    }
                    self.stop_jobs(Stop::Now);
                }
                // Who is being started could not be stopped with the others.
                number::SIGTSTP => self.rest_is_due = true,
                number::SIGCONT => {
                    // A stop that is still to come has been taken back.
                    self.rest_is_due = false;
                    self.signal_jobs(number::SIGCONT);
                }
                number::SIGUSR1 => self.change_width(self.options.width + 1),
                number::SIGUSR2 => self.change_width(self.options.width.saturating_sub(1)),
                _ => {}
            }
        }
    }

    pub(super) fn interrupt(&mut self) {
        self.interrupts += 1;
        self.ran.stopped_by.get_or_insert(number::SIGINT);
        match self.interrupts {
            1 => self.stop_jobs(Stop::Soon),
            2 => self.stop_jobs(Stop::Now),
            _ => {
                self.signal_jobs(number::SIGKILL);
                self.gives_outputs_up = true;
            }
        }
    }

    /// Stops with all jobs, as one would expect from a single program; deadlines do not count the time.
    pub(super) fn rest(&mut self) {
        self.rest_is_due = false;
        self.signal_jobs(number::SIGTSTP);
        let rested = Instant::now();
        self.lay_question_aside();
        stop_here();
        let time = rested.elapsed();
        for running in self.jobs.iter_mut() {
            running.due.at = running.due.at.map(|(when, step)| (when + time, step));
        }
        self.signal_jobs(number::SIGCONT);
    }

    fn change_width(&mut self, width: usize) {
        self.options.width = width.clamp(1, WIDTH_MAX);
        self.memory.admission.set_width(self.options.width);
        self.memory.is_blocked = false;
        self.watched.iter().for_each(|watched| watched.widened(self.options.width));
        self.observer.tell(&Event::Width(self.options.width));
    }

    fn signal_jobs(&self, signal: i32) {
        for running in self.jobs.iter() {
            // A job that has given up its rights cannot be signalled by us; it ends by itself.
            let _not_ours_any_more = running.pid.map(|pid| signal_group(pid, signal));
        }
    }

    /// Starts no more jobs; ends those that run, if that is what `stop` says.
    pub(super) fn stop_jobs(&mut self, stop: Stop) {
        if stop <= self.stop {
            return;
        }
        self.stop = stop;
        let numbers = self.intake.stop();
        let dropped = numbers.len();
        self.ran.dropped += dropped as u64;
        if stop == Stop::Now {
            let now = Instant::now();
            for running in self.jobs.iter_mut() {
                running.due = Due { at: Some((now, 0)), is_stopped: true, ..running.due };
            }
        }
        match stop {
            // Those that are ended have no order.
            Stop::Now => self.deliver_as_ended(),
            _ => numbers.into_iter().for_each(|number| self.deliver(number, None)),
        }
        if self.ran.reader_gone {
            return self.act_on_deadlines(Instant::now());
        }
        let rule = self.ran.halted;
        self.observer.tell(&Event::Stopping { running: self.jobs.count(), dropped, now: stop == Stop::Now, rule });
        self.act_on_deadlines(Instant::now());
    }

    pub(super) fn act_on_deadlines(&mut self, now: Instant) {
        self.pass_terminal_on();
        self.put_question();
        let is_due = |running: &Running| running.pid.is_some() && running.due.at.is_some_and(|(when, _)| when <= now);
        if !self.jobs.iter().any(is_due) {
            return;
        }
        let looked = self.look_at_processes();
        for running in self.jobs.iter_mut().filter(|running| is_due(running)) {
            let Some((when, step)) = running.due.at else { continue };
            running.due.is_timed_out |= !running.due.is_stopped;
            let Some(end_step) = self.options.ending.get(step) else {
                running.due.at = None;
                continue;
            };
            looked.end(running, end_step, self.host);
            running.due.at = Some((when.max(now) + end_step.wait, step + 1));
        }
    }
}
