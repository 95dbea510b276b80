//! Reaping: every child of this process, jobs and the orphans that came to it as the nearest subreaper. A process is looked at
//! before it is reaped, while its number, its group and its counters are still its own; then it counts for its job.

use super::{Event, Runner, Running, Stop};
use crate::tree::{Spent, Survivor};
use rustix::process::Pid;
use sys::reap::{
    Changed, Ended, group_of, is_group_there, next_changed, next_ended_of_group, next_to_reap, reap, signal_group,
};
use sys::signals::number;

impl Runner<'_> {
    /// Reaps what the loop started and has ended, and orphans. Starters reap what they started.
    pub(super) fn reap(&mut self) {
        let mut there_may_be_more = true;
        while there_may_be_more {
            // One end may be the reason to end others.
            let is_any_being_ended = self.slots.iter().flatten().any(Running::is_being_ended);
            let looks = self.around.journal.is_some() || is_any_being_ended;
            there_may_be_more = if looks { self.reap_next() } else { self.reap_next_unseen() };
        }
    }

    /// What has ended; none where something has only stopped, which is noted.
    fn end_in<End>(&mut self, changed: Changed<End>) -> Option<End> {
        match changed {
            Changed::Ended(end) => Some(end),
            Changed::Stopped(stopped) => {
                self.note_stop(stopped);
                None
            }
        }
    }

    /// Looks at the next one and reaps it. Whether there may be more.
    fn reap_next(&mut self) -> bool {
        let Ok(Some(changed)) = next_to_reap() else { return false };
        let Some(process) = self.end_in(changed) else { return true };
        let ended = match self.slot_of.get(&process) {
            Some(&slot) => self.reap_job(process, slot),
            None => self.reap_orphan(process),
        };
        // It was ours to reap and was not there: asking again would never end.
        ended.is_some()
    }

    /// Reaps a starter's job that has ended.
    pub(super) fn reap_started(&mut self, process: Pid) {
        let Some(&slot) = self.slot_of.get(&process) else { return };
        let is_being_ended = self.slots[slot].as_ref().is_some_and(Running::is_being_ended);
        if self.around.journal.is_some() || is_being_ended {
            self.reap_job(process, slot);
        } else if let Ok(Some(ended)) = reap(process) {
            self.slot_of.remove(&process);
            if let Some(running) = self.slots[slot].take() {
                self.end_job(running, ended, Spent::of(ended.usage, None), false);
            }
        }
    }

    /// Without a journal nobody asks whose an orphan was: three system calls a job are saved.
    fn reap_next_unseen(&mut self) -> bool {
        let Ok(Some(changed)) = next_changed() else { return false };
        let Some(ended) = self.end_in(changed) else { return true };
        let spent = Spent::of(ended.usage, None);
        let slot = self.slot_of.remove(&ended.pid);
        match slot.and_then(|slot| self.slots[slot].take()) {
            Some(running) => self.end_job(running, ended, spent, false),
            None => _ = self.leftovers.note(None, spent),
        }
        true
    }

    fn reap_job(&mut self, process: Pid, slot: usize) -> Option<()> {
        let moved = self.moved_by(process);
        if self.slots[slot].as_ref().is_some_and(Running::is_being_ended) {
            // Its leader is gone; what still runs of it has heard the same signals and goes too, while the group's number is its own.
            let _it_may_be_empty = signal_group(process, number::SIGKILL);
        }
        let ended = reap(process).ok()??;
        self.slot_of.remove(&process);
        let running = self.slots[slot].take()?;
        let mut spent = Spent::of(ended.usage, moved).with(running.orphans);
        let mut leaves_processes = is_group_there(process);
        if leaves_processes {
            // Orphans that have ended with it or before it are part of what it was.
            while let Ok(Some(orphan)) = next_ended_of_group(process) {
                spent = spent.with(Spent::of(orphan.usage, None));
            }
            leaves_processes = is_group_there(process);
        }
        if leaves_processes && self.around.journal.is_some() {
            self.leftovers.begin(process, running.pending.spec.number, running.key);
        }
        self.end_job(running, ended, spent, leaves_processes);
        Some(())
    }

    /// One that lost its parent. Its group says whose it is, for as long as it has not gone into one of its own.
    fn reap_orphan(&mut self, process: Pid) -> Option<()> {
        let (group, moved) = (group_of(process), self.moved_by(process));
        let Ended { usage, .. } = reap(process).ok()??;
        let spent = Spent::of(usage, moved);
        let of_a_running_job = group.and_then(|group| self.slot_of.get(&group));
        if let Some(running) = of_a_running_job.and_then(|slot| self.slots[*slot].as_mut()) {
            running.orphans = running.orphans.with(spent);
        } else if self.leftovers.note(group, spent)
            && let Some(group) = group.filter(|group| !is_group_there(*group))
        {
            self.end_leftover(group, &[]);
        }
        Some(())
    }

    /// Looking costs about 6 us a process.
    fn moved_by(&self, process: Pid) -> Option<machine::ProcessIo> {
        self.around.journal.as_ref()?;
        machine::process_io(self.around.host, process.as_raw_nonzero().get().cast_unsigned()).ok()
    }

    fn end_leftover(&mut self, group: Pid, survivors: &[Survivor]) {
        let Some(leftover) = self.leftovers.end(group) else { return };
        if let Some(journal) = &mut self.around.journal
            && let Err(error) = journal.late(&leftover, survivors)
        {
            self.journal_fails(error);
        }
    }

    /// At the end of the run: names what of its jobs goes on, in the journal too.
    pub(super) fn tell_survivors(&mut self) {
        // Without children there is nothing to look for; after `Stop::Now` all of them are being killed.
        let any_lives = self.stop < Stop::Now && next_to_reap().is_ok();
        let survivors = if any_lives { self.survivors() } else { Vec::new() };
        for group in self.leftovers.groups() {
            let job = self.leftovers.job_of(group);
            let of_it: Vec<Survivor> = survivors.iter().filter(|survivor| survivor.job == job).cloned().collect();
            self.end_leftover(group, &of_it);
        }
        let strays = self.leftovers.strays();
        let elsewhere: Vec<Survivor> = survivors.iter().filter(|survivor| survivor.job.is_none()).cloned().collect();
        if (strays.processes > 0 || !elsewhere.is_empty())
            && let Some(journal) = &mut self.around.journal
            && let Err(error) = journal.strays(strays, &elsewhere)
        {
            self.journal_fails(error);
        }
        let (late, measures) = (self.leftovers.late(), &mut self.ran.measures);
        measures.jobs_cpu_ns += late.cpu_ns();
        measures.jobs_blocks += late.blocks();
        measures.rss_peak_bytes = measures.rss_peak_bytes.max(late.rss_peak_bytes);
        if !survivors.is_empty() {
            self.observer.tell(&Event::StillRun(&survivors));
        }
    }

    fn survivors(&self) -> Vec<Survivor> {
        let host = self.around.host;
        let children = sys::guard::children_of(rustix::process::getpid());
        let survivor = |child: Pid| {
            let pid = child.as_raw_nonzero().get();
            let name = machine::process_name(host, pid.cast_unsigned()).ok().flatten()?;
            Some(Survivor { pid, name, job: group_of(child).and_then(|group| self.leftovers.job_of(group)) })
        };
        children.into_iter().filter_map(survivor).collect()
    }
}
