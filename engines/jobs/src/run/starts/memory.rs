//! Memory and starts: the memory that a job counts for, the memory that the machine has, and what finished jobs teach. The rules are in `crate::admission`.
//! The machine is asked at most four times a second, only while jobs run and another could start.

use super::LOOK_AGAIN_AFTER;
use crate::admission::{AdmissionRefusal, MemoryAdmission, Need, Weather};
use crate::classes::{Classes, JobClass};
use crate::queue::Pending;
use crate::run::RunOptions;
use crate::template::Template;
use machine::{Host, Resource};
use std::time::{Duration, Instant};

/// Over a longer time than this a mean says nothing about now; the kernel's own of the last ten seconds does.
const STALE_AFTER: Duration = Duration::from_secs(5);

/// The books of memory, and when the machine was asked last.
pub(in crate::run) struct JobMemory {
    pub admission: MemoryAdmission,
    pub classes: Classes,
    /// The class of all jobs, if the command line names the utility.
    for_all: Option<JobClass>,
    /// Nothing that waits fits; an end or time may change that.
    pub is_blocked: bool,
    looked: Option<(Instant, u64)>,
    /// A job that needs more than the cap has been reported.
    has_reported_excess: bool,
}

pub(super) fn available_bytes(host: &Host) -> Option<u64> {
    machine::host_memory(host).ok().map(|memory| memory.available_bytes)
}

impl JobMemory {
    pub fn new(options: &mut RunOptions) -> Self {
        let mut classes = std::mem::take(&mut options.memory.classes);
        let for_all = options.template.class_name().map(|name| classes.class(&name));
        let admission = MemoryAdmission::new(options.memory.cap_bytes, options.width);
        Self { admission, classes, for_all, is_blocked: false, looked: None, has_reported_excess: false }
    }

    pub fn class_of(&mut self, pending: &Pending, template: &Template) -> JobClass {
        self.for_all.unwrap_or_else(|| {
            let is_for_shell = pending.spec.more.as_ref().is_some_and(|more| more.is_for_shell);
            self.classes.class(&template.class_name_of(&pending.spec.words, is_for_shell))
        })
    }

    pub fn need_of(&mut self, pending: &Pending, template: &Template) -> Need {
        let stated = pending.spec.more.as_ref().and_then(|more| more.memory_bytes);
        stated.map_or_else(|| Need::Learnt(self.class_of(pending, template)), Need::Stated)
    }

    /// Whether memory lets a job start that needs so much.
    pub fn judge(&mut self, need: Need, any_runs: bool, now: Instant, host: &Host) -> Result<(), AdmissionRefusal> {
        if any_runs && self.looked.is_none_or(|(when, _)| now.duration_since(when) >= LOOK_AGAIN_AFTER) {
            self.look(now, host);
        }
        self.admission.judge(need, &self.classes)
    }

    /// The first time that a job is expected to need more than the cap: how much, and the cap.
    pub fn excess(&mut self, need: Need) -> Option<[u64; 2]> {
        let excess = if self.has_reported_excess { None } else { self.admission.excess(need, &self.classes) };
        self.has_reported_excess |= excess.is_some();
        excess
    }

    fn look(&mut self, now: Instant, host: &Host) {
        let pressure = machine::pressure(host, Resource::Memory).ok().flatten().unwrap_or_default();
        let share = match self.looked {
            Some((when, before_us)) if now.duration_since(when) < STALE_AFTER => {
                let waited_us = pressure.total_us.saturating_sub(before_us) as f64;
                waited_us / now.duration_since(when).as_micros().max(1) as f64
            }
            _ => pressure.recent_share,
        };
        self.looked = Some((now, pressure.total_us));
        self.admission.note_weather(Weather { available_bytes: available_bytes(host), pressure: share });
    }
}
