//! Memory and starts: what a job counts for, what the machine says, what jobs teach. The rules are in `crate::admission`.
//! The machine is asked at most four times a second, only while jobs run and another could start.

use super::{Cause, JobEnd, Runner, Running};
use crate::admission::{Admission, Need, Refusal, Weather};
use crate::classes::{Class, Classes};
use crate::journal::Outcome;
use crate::queue::Pending;
use crate::run::Options;
use crate::run::starts::LOOK_AGAIN_AFTER;
use machine::Resource;
use std::time::{Duration, Instant};

/// Over a longer time than this a mean says nothing about now; the kernel's own of the last ten seconds does.
const STALE_AFTER: Duration = Duration::from_secs(5);

/// The books of memory, and when the machine was asked last.
pub(super) struct Memory {
    pub admission: Admission,
    pub classes: Classes,
    /// The class of all jobs, where the command line names the utility.
    for_all: Option<Class>,
    /// Nothing that waits fits; an end or time may change that.
    pub is_blocked: bool,
    looked: Option<(Instant, u64)>,
}

impl Memory {
    pub fn new(options: &mut Options) -> Self {
        let mut classes = std::mem::take(&mut options.memory.classes);
        let for_all = options.template.class_name().map(|name| classes.class(&name));
        let admission = Admission::new(options.memory.cap_bytes, options.width);
        Self { admission, classes, for_all, is_blocked: false, looked: None }
    }
}

impl Runner<'_> {
    pub(super) fn class_of(&mut self, pending: &Pending) -> Class {
        match self.memory.for_all {
            Some(class) => class,
            None => {
                let is_for_shell = pending.spec.more.as_ref().is_some_and(|more| more.is_for_shell);
                let name = self.options.template.class_name_of(&pending.spec.words, is_for_shell);
                self.memory.classes.class(&name)
            }
        }
    }

    pub(super) fn need_of(&mut self, pending: &Pending) -> Need {
        let stated = pending.spec.more.as_ref().and_then(|more| more.memory_bytes);
        stated.map_or_else(|| Need::Learnt(self.class_of(pending)), Need::Stated)
    }

    /// Whether memory lets it start.
    pub(super) fn admits(&mut self, pending: &Pending) -> bool {
        if self.jobs.count() > 0 {
            self.look_at_memory();
        }
        let need = self.need_of(pending);
        let Err(refusal) = self.memory.admission.judge(need, &self.memory.classes) else { return true };
        if refusal == Refusal::Short {
            self.hold(Cause::Memory);
        }
        false
    }

    /// The one that is set aside, if it may start now.
    pub(super) fn admitted_aside(&mut self) -> Option<Pending> {
        let pending = self.intake.queue.take_aside()?;
        if self.admits(&pending) {
            return Some(pending);
        }
        self.intake.queue.keep_aside(pending);
        None
    }

    /// Holds all starts back until it is time to look again.
    pub(super) fn hold(&mut self, cause: Cause) {
        self.held_by = cause;
        self.look_again = Some(Instant::now() + LOOK_AGAIN_AFTER);
    }

    fn look_at_memory(&mut self) {
        let now = self.clock.waiting.since;
        if self.memory.looked.is_some_and(|(when, _)| now.duration_since(when) < LOOK_AGAIN_AFTER) {
            return;
        }
        let pressure = machine::pressure(self.host, Resource::Memory).ok().flatten().unwrap_or_default();
        let share = match self.memory.looked {
            Some((when, before_us)) if now.duration_since(when) < STALE_AFTER => {
                let waited_us = pressure.total_us.saturating_sub(before_us) as f64;
                waited_us / now.duration_since(when).as_micros().max(1) as f64
            }
            _ => pressure.recent_share,
        };
        self.memory.looked = Some((now, pressure.total_us));
        let weather = Weather { available_bytes: self.available_bytes(), pressure: share };
        self.memory.admission.note_weather(weather);
    }

    /// A job has ended: its memory is free, and its class is better known.
    pub(super) fn learn(&mut self, running: &Running, end: &JobEnd) {
        self.memory.admission.end(running.need);
        self.memory.is_blocked = false;
        if end.outcome == Outcome::Ok {
            self.memory.classes.note(running.class, end.spent.usage.rss_peak_bytes, end.wall.as_secs_f64());
        }
    }
}
