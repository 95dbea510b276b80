//! Signals, times and the terminal: what the clock returns is done here.

use super::clock::{Asked, Wish};
use super::starters::Mover;
use super::{Event, JobView, Runner, Running, Stop};
use std::time::Instant;
use sys::reap::{Ended, How, Stopped, signal_group};
use sys::signals::{number, stop_here};

/// LIMIT: the widest that a signal can make a run.
const WIDTH_MAX: usize = 4096;

impl Runner<'_> {
    pub(super) fn take_signals(&mut self) {
        let waits_itself = self.jobs.iter().any(|running| running.starter == Mover::Loop);
        for signal in self.clock.arrived(Instant::now(), waits_itself) {
            let asked = self.clock.understand(signal, self.jobs.count() > 0);
            asked.into_iter().for_each(|asked| self.act(asked));
        }
    }

    fn act(&mut self, asked: Asked) {
        match asked {
            Asked::Reap => self.reap(),
            Asked::Stop(stop) => self.stop_jobs(stop),
            Asked::Kill => {
                self.signal_jobs(number::SIGKILL);
                self.gives_outputs_up = true;
            }
            Asked::GiveOutputsUp => self.gives_outputs_up = true,
            Asked::GoOn => self.signal_jobs(number::SIGCONT),
            Asked::Wider => self.change_width(self.options.width + 1),
            Asked::Narrower => self.change_width(self.options.width.saturating_sub(1)),
        }
    }

    /// Stops with all jobs, as one would expect from a single program; deadlines do not count the time.
    pub(super) fn rest(&mut self) {
        self.clock.rest_is_due = false;
        self.signal_jobs(number::SIGTSTP);
        let rested = Instant::now();
        self.clock.questions.lay_aside();
        stop_here();
        let time = rested.elapsed();
        self.jobs.iter_mut().for_each(|running| running.due.put_off(time));
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
        if !self.clock.stop_at(stop) {
            return;
        }
        let (numbers, now) = (self.intake.stop(), Instant::now());
        let dropped = numbers.len();
        self.ran.dropped += dropped as u64;
        if stop == Stop::Now {
            self.jobs.iter_mut().for_each(|running| running.due.stop(now));
            // Those that are ended have no order.
            self.deliver_as_ended();
        } else {
            numbers.into_iter().for_each(|number| self.deliver(number, None));
        }
        if !self.ran.reader_gone {
            let (running, rule) = (self.jobs.count(), self.ran.halted);
            self.observer.tell(&Event::Stopping { running, dropped, now: stop == Stop::Now, rule });
        }
        self.act_on_deadlines(Instant::now());
    }

    pub(super) fn act_on_deadlines(&mut self, now: Instant) {
        self.clock.pass_terminal_on();
        self.put_question();
        let is_due = |running: &Running| running.pid.is_some() && running.due.is_over(now);
        if !self.jobs.iter().any(is_due) {
            return;
        }
        let looked = self.look_at_processes();
        for running in self.jobs.iter_mut().filter(|running| is_due(running)) {
            if let Some(step) = running.due.take_step(now, &self.clock.ending) {
                looked.end(running, &step, self.host);
            }
        }
    }

    /// A child was stopped.
    pub(super) fn note_stop(&mut self, stopped: Stopped) {
        let Some(running) = self.jobs.of(stopped.pid) else { return };
        let Wish::Terminal(turn) = self.clock.terminal.note_stop(stopped) else { return };
        if let Some(turn) = turn {
            self.observer.tell(&Event::WantsTerminal(running.view(), turn));
            self.pass_messages_on();
        }
        self.clock.pass_terminal_on();
    }

    /// A job has ended; whoever waits for the terminal after it gets it. An interrupt that it heard alone was meant for all.
    pub(super) fn take_terminal_back(&mut self, ended: &Ended) {
        if !self.clock.terminal.take_back(ended.pid) {
            return;
        }
        if ended.how == How::Signal(number::SIGINT) {
            let asked = self.clock.interrupt();
            self.act(asked);
        }
        self.clock.pass_terminal_on();
        self.put_question();
    }

    /// Whether the job may start; none until there is an answer.
    pub(super) fn permission(&mut self, job: JobView<'_>) -> Option<bool> {
        if let Some(answer) = self.clock.questions.answer(job.number) {
            return Some(answer);
        }
        let Some(question) = self.observer.ask(job) else { return Some(false) };
        self.clock.questions.open(job.number, question);
        self.intake.pause();
        self.put_question();
        // It may have been closed at once.
        self.clock.questions.answer(job.number)
    }

    fn put_question(&mut self) {
        if self.clock.may_put_question() {
            self.pass_messages_on();
            self.clock.questions.put();
        }
    }
}
