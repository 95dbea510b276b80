//! Signals and time: stopping, going on, other widths, deadlines.
//! Once interrupted no job starts, twice those that run are ended, three times at once.

use super::starts::LOOK_AGAIN_AFTER;
use super::{Event, Runner, Running, Stop, timespec};
use rustix::time::Timespec;
use std::time::{Duration, Instant};
use sys::reap::signal_group;
use sys::signals::{number, stop_here};

/// LIMIT: the widest that a signal can make a run.
const WIDTH_MAX: usize = 4096;

impl Runner<'_> {
    pub(super) fn take_signals(&mut self) {
        // What is left over wakes us again.
        for arrived in self.around.signals.take().unwrap_or_default() {
            match arrived.signal {
                number::SIGCHLD => self.reap(),
                number::SIGINT => self.interrupt(),
                number::SIGTERM | number::SIGHUP | number::SIGQUIT => {
                    self.ran.stopped_by.get_or_insert(arrived.signal);
                    self.stop_jobs(Stop::Now);
                }
                number::SIGTSTP => self.rest(),
                number::SIGCONT => self.signal_jobs(number::SIGCONT),
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
            _ => self.signal_jobs(number::SIGKILL),
        }
    }

    /// Stops with all jobs, as one would expect from a single program; deadlines do not count the time.
    fn rest(&mut self) {
        self.signal_jobs(number::SIGTSTP);
        let rested = Instant::now();
        stop_here();
        let time = rested.elapsed();
        for running in self.slots.iter_mut().flatten() {
            running.due = running.due.map(|(when, step)| (when + time, step));
        }
        self.signal_jobs(number::SIGCONT);
    }

    fn change_width(&mut self, width: usize) {
        self.options.width = width.clamp(1, WIDTH_MAX);
        self.memory.admission.set_width(self.options.width);
        self.memory.is_blocked = false;
        self.around.watched.iter().for_each(|watched| watched.widened(self.options.width));
        self.observer.tell(&Event::Width(self.options.width));
    }

    fn signal_jobs(&self, signal: i32) {
        for running in self.slots.iter().flatten() {
            // A job that has given up its rights cannot be signalled by us; it ends by itself.
            let _not_ours_any_more = signal_group(running.pid, signal);
        }
    }

    /// Starts no more jobs; ends those that run, if that is what `stop` says.
    pub(super) fn stop_jobs(&mut self, stop: Stop) {
        if stop <= self.stop {
            return;
        }
        self.stop = stop;
        let dropped = self.queue.clear();
        self.ran.dropped += dropped as u64;
        self.end_input();
        if stop == Stop::Now {
            let now = Instant::now();
            for running in self.slots.iter_mut().flatten() {
                running.is_stopped = true;
                running.due = Some((now, 0));
            }
        }
        // Those that were dropped will never be delivered.
        self.deliver_as_ended();
        if self.ran.reader_gone {
            return self.act_on_deadlines(Instant::now());
        }
        let rule = self.ran.halted;
        self.observer.tell(&Event::Stopping { running: self.running, dropped, now: stop == Stop::Now, rule });
        self.act_on_deadlines(Instant::now());
    }

    pub(super) fn time_to_next_deadline(&self) -> Option<Timespec> {
        let due = self.slots.iter().flatten().filter_map(|running| running.due.map(|(when, _)| when));
        let waits_to_start = self.queue.jobs() > 0 && self.stop == Stop::No;
        let held = [self.next_start, self.look_again, self.patience].into_iter().flatten().filter(|_| waits_to_start);
        let terminal = self.foreground.must_look().then(|| Instant::now() + LOOK_AGAIN_AFTER);
        let earliest = due.chain(held).chain(terminal).min()?;
        Some(timespec(earliest.saturating_duration_since(Instant::now()) + Duration::from_micros(1)))
    }

    pub(super) fn act_on_deadlines(&mut self, now: Instant) {
        self.pass_terminal_on();
        let is_due = |running: &Running| running.due.is_some_and(|(when, _)| when <= now);
        if !self.slots.iter().flatten().any(is_due) {
            return;
        }
        let looked = self.look_at_processes();
        for running in self.slots.iter_mut().flatten() {
            let Some((when, step)) = running.due.filter(|(when, _)| *when <= now) else { continue };
            running.is_timed_out |= !running.is_stopped;
            let Some(end_step) = self.options.ending.get(step) else {
                running.due = None;
                continue;
            };
            looked.end(running, end_step, self.around.host);
            running.due = Some((when.max(now) + end_step.wait, step + 1));
        }
    }
}
