//! Reaping: every child of this process, jobs and the orphans that came to it as the nearest subreaper. A process is looked at
//! before it is reaped, while its PID, its group and its counters are still its own; then it counts for its job.

use super::JobEnds;
use crate::key::JobKey;
use crate::tree::{Spent, Survivor};
use rustix::process::{Pid, getpid};
use std::time::Instant;
use sys::reap::{
    Changed, Ended, Stopped, is_group_there, next_changed, next_ended_of_group, next_to_reap, reap, signal_group,
};
use sys::session::group_of;
use sys::signals::number;

/// What is known of a job whose process has ended or may end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownEnd {
    pub number: u64,
    pub key: Option<JobKey>,
    /// What orphans of its group used that have ended before it.
    pub orphans: Spent,
    /// Whether it is ended before its time.
    pub is_being_ended: bool,
}

/// A job's process has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Death {
    pub ended: Ended,
    pub spent: Spent,
    pub leaves_processes: bool,
}

/// What has become of a child.
#[derive(Debug)]
pub(crate) enum Reaped {
    /// It was stopped.
    Stopped(Stopped),
    Job(Death),
    /// It was an orphan of this running job's group.
    Orphan(Pid, Spent),
    /// It was no running job's.
    Other,
}

impl JobEnds<'_> {
    /// Reaps the next child, if one has ended or was stopped. `looks`: whose an orphan was is asked for, which costs three system calls.
    pub fn reap_next(&mut self, looks: bool, job: impl Fn(Pid) -> Option<KnownEnd>) -> Option<Reaped> {
        if !looks {
            return self.reap_next_unseen(job);
        }
        match next_to_reap().ok()?? {
            Changed::Stopped(stopped) => Some(Reaped::Stopped(stopped)),
            // If it was ours to reap and is not there, asking again would never end.
            Changed::Ended(process) => match job(process) {
                Some(known) => self.reap_job(process, &known).map(Reaped::Job),
                None => self.reap_orphan(process, job),
            },
        }
    }

    fn reap_next_unseen(&mut self, job: impl Fn(Pid) -> Option<KnownEnd>) -> Option<Reaped> {
        let ended = match next_changed().ok()?? {
            Changed::Stopped(stopped) => return Some(Reaped::Stopped(stopped)),
            Changed::Ended(ended) => ended,
        };
        if job(ended.pid).is_some() {
            return Some(Reaped::Job(Death::unseen(ended)));
        }
        self.leftovers.note(None, Spent::of(ended.usage, None));
        Some(Reaped::Other)
    }

    /// Reaps a job whose process has ended and is nobody else's to reap.
    pub fn reap_known(&mut self, process: Pid, known: &KnownEnd) -> Option<Death> {
        if self.books.has_journal() || known.is_being_ended {
            return self.reap_job(process, known);
        }
        Some(Death::unseen(reap(process).ok()??))
    }

    fn reap_job(&mut self, process: Pid, known: &KnownEnd) -> Option<Death> {
        let moved = self.moved_by(process);
        if known.is_being_ended {
            // Its leader is gone; what still runs of it has heard the same signals and goes too, while the group's number is its own.
            let _it_may_be_empty = signal_group(process, number::SIGKILL);
        }
        let ended = reap(process).ok()??;
        let mut spent = Spent::of(ended.usage, moved).with(known.orphans);
        let mut leaves_processes = is_group_there(process);
        if leaves_processes {
            // Orphans that have ended with it or before it are part of what it was.
            while let Ok(Some(orphan)) = next_ended_of_group(process) {
                spent = spent.with(Spent::of(orphan.usage, None));
            }
            leaves_processes = is_group_there(process);
        }
        if leaves_processes && self.books.has_journal() {
            self.leftovers.begin(process, known.number, known.key);
        }
        Some(Death { ended, spent, leaves_processes })
    }

    /// One that lost its parent. Its group says whose it is, for as long as it has not gone into one of its own.
    fn reap_orphan(&mut self, process: Pid, job: impl Fn(Pid) -> Option<KnownEnd>) -> Option<Reaped> {
        let (group, moved) = (group_of(process), self.moved_by(process));
        let spent = Spent::of(reap(process).ok()??.usage, moved);
        if let Some(group) = group.filter(|group| job(*group).is_some()) {
            return Some(Reaped::Orphan(group, spent));
        }
        if self.leftovers.note(group, spent)
            && let Some(group) = group.filter(|group| !is_group_there(*group))
        {
            self.end_leftover(group, &[]);
        }
        Some(Reaped::Other)
    }

    /// Looking costs about 6 us a process.
    fn moved_by(&self, process: Pid) -> Option<machine::ProcessIo> {
        let is_wanted = self.books.has_journal();
        is_wanted.then(|| machine::process_io(self.host, process.as_raw_nonzero().get().cast_unsigned()).ok())?
    }

    fn end_leftover(&mut self, group: Pid, survivors: &[Survivor]) {
        if let Some(leftover) = self.leftovers.end(group) {
            self.books.late(&leftover, survivors);
        }
    }

    /// What is known of the peak of a job that was started then: not what may be this process's own.
    pub fn peak_of_job(&mut self, started: Instant, now: Instant, peak_bytes: Option<u64>) -> Option<u64> {
        self.own_peak.without(started, now, peak_bytes)
    }

    /// At the end of the run: what of its jobs goes on, noted in the journal too. Without `may_live` all of it is being killed.
    pub fn close_groups(&mut self, may_live: bool) -> Vec<Survivor> {
        // Without children there is nothing to look for.
        let any_lives = may_live && next_to_reap().is_ok();
        let survivors = if any_lives { self.survivors() } else { Vec::new() };
        let of_job = |job: Option<u64>| -> Vec<Survivor> {
            survivors.iter().filter(|survivor| survivor.job == job).cloned().collect()
        };
        for group in self.leftovers.groups() {
            self.end_leftover(group, &of_job(self.leftovers.job_of(group)));
        }
        self.books.strays(self.leftovers.strays(), &of_job(None));
        let (late, measures) = (self.leftovers.late(), &mut self.measures);
        measures.jobs_cpu_ns += late.cpu_ns();
        measures.jobs_blocks += late.blocks();
        measures.rss_peak_bytes = measures.rss_peak_bytes.max(late.rss_peak_bytes);
        survivors
    }

    fn survivors(&self) -> Vec<Survivor> {
        let survivor = |child: Pid| {
            let pid = child.as_raw_nonzero().get();
            let name = machine::process_name(self.host, pid.cast_unsigned()).ok().flatten()?;
            Some(Survivor { pid, name, job: group_of(child).and_then(|group| self.leftovers.job_of(group)) })
        };
        sys::guard::children_of(getpid()).into_iter().filter_map(survivor).collect()
    }
}

impl Death {
    /// Of one that nobody looked at: whose its orphans were is not known.
    fn unseen(ended: Ended) -> Self {
        Self { ended, spent: Spent::of(ended.usage, None), leaves_processes: false }
    }
}

/// LIMIT: the runner's own peak is of no account up to here: what jobs are said to need may be that much without their needing it.
const OWN_PEAK_IS_SMALL: u64 = 16 << 20;

/// What jobs' peaks begin with: this process's own peak when it spawned them, see [`sys::reap::Usage`].
#[derive(Debug, Default)]
pub(super) struct OwnPeak {
    /// When it was reset last, and the highest that it was before.
    before: Option<(Instant, u64)>,
    floor_bytes: u64,
}

impl OwnPeak {
    /// The peak of a job spawned after `started`; none if it may be the runner's own. A peak of its own that has grown is reset for the jobs
    /// to come.
    fn without(&mut self, started: Instant, now: Instant, peak_bytes: Option<u64>) -> Option<u64> {
        let peak = peak_bytes?;
        if peak <= OWN_PEAK_IS_SMALL {
            return Some(peak);
        }
        let own = sys::reap::own_usage().rss_peak_bytes.unwrap_or(0);
        let before = self.before.filter(|(when, _)| started < *when).map_or(0, |(_, before)| before);
        if own > self.floor_bytes + OWN_PEAK_IS_SMALL {
            // It stays as it is if this cannot be done.
            let _it_only_helps = sys::reap::forget_own_peak();
            let earlier = self.before.map_or(0, |(_, before)| before);
            self.before = Some((now, own.max(earlier)));
            self.floor_bytes = sys::reap::own_usage().rss_peak_bytes.unwrap_or(own);
        }
        (peak > own.max(before)).then_some(peak)
    }
}
