//! Jobs that have a place: what each of them is, and the table of them, by slot and by process. Pure books; decides nothing.

use super::clock::Due;
use super::spawners::Mover;
use super::{JobEnd, JobView};
use crate::admission::Need;
use crate::classes::JobClass;
use crate::ends::{Chain, JobAttempt, KnownEnd};
use crate::journal::JobRecord;
use crate::key::JobKey;
use crate::made::OwnFile;
use crate::output::Capture;
use crate::queue::Pending;
use crate::results::OutputFiles;
use crate::spec::More;
use crate::staff::JobCrew;
use crate::tree::Spent;
use rustix::process::Pid;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;
use sys::spawn::Words;

/// A job that runs, or is about to.
pub(super) struct Running {
    pub pending: Pending,
    pub words: Arc<Words>,
    /// Its command as a job log has it, if a shell runs it and there is one.
    pub text_for_shell: Option<Vec<u8>>,
    pub key: Option<JobKey>,
    /// Its process, once it has begun.
    pub pid: Option<Pid>,
    /// Who starts it and waits for it.
    pub spawner: Mover,
    pub crew: JobCrew,
    pub printing: Printing,
    pub times: Times,
    pub due: Due,
    pub below: Below,
    pub class: JobClass,
    pub need: Need,
    /// Bytes of the block that is its standard input.
    pub sent_bytes: u64,
    /// Files of its redirections.
    pub made: Vec<OwnFile>,
}

/// Where what it prints goes.
#[derive(Default)]
pub(super) struct Printing {
    pub captures: [Option<Capture>; 2],
    pub tag: Option<Vec<u8>>,
    /// Tells the events of one job from those of the job that had its slot before.
    pub generation: u32,
    /// Its files of `--results`.
    pub files: Option<OutputFiles>,
}

/// When it began, and after which others.
pub(super) struct Times {
    pub started: Instant,
    pub began_s: f64,
    pub waited_ns: u64,
    pub started_as: usize,
    /// The chain of jobs that had to end before this one began.
    pub chain: Chain,
}

/// Its processes.
#[derive(Default)]
pub(super) struct Below {
    /// The hands that they know of.
    pub lease_token: Option<String>,
    /// Those that have left its group, as they were when it was last signalled.
    pub outsiders: Vec<Pid>,
    /// Orphans of its group that have ended.
    pub orphans: Spent,
}

impl Printing {
    /// Whose an event of a stream of this job is.
    pub fn token(&self, slot: usize, stream: usize) -> u64 {
        ((slot as u64 + 1) << 32) | (u64::from(self.generation) << 1) | stream as u64
    }
}

impl Running {
    /// A job that has only its words; the rest is set before it counts as running.
    pub fn new(pending: Pending, words: Words, class: JobClass, need: Need, now: Instant) -> Self {
        Self {
            pending,
            words: Arc::new(words),
            text_for_shell: None,
            key: None,
            pid: None,
            spawner: Mover::Loop,
            crew: JobCrew::default(),
            printing: Printing::default(),
            times: Times { started: now, began_s: 0.0, waited_ns: 0, started_as: 0, chain: Chain::default() },
            due: Due::default(),
            below: Below::default(),
            class,
            need,
            sent_bytes: 0,
            made: Vec::new(),
        }
    }

    pub fn view(&self) -> JobView<'_> {
        JobView { number: self.number(), words: &self.words, attempt: self.pending.failures + 1 }
    }

    pub fn number(&self) -> u64 {
        self.pending.spec.number
    }

    pub fn more(&self) -> Option<&More> {
        self.pending.spec.more.as_deref()
    }

    /// Lets go of the block that is its input.
    pub fn drop_block(&mut self) {
        if let Some(more) = &mut self.pending.spec.more {
            more.block = None;
        }
    }

    pub fn attempt(&self) -> JobAttempt {
        let Times { started_as, chain, .. } = self.times;
        JobAttempt { number: self.number(), hands: self.pending.spec.hands(), started_as, chain }
    }

    /// Whether it is ended before its time: it was too late, or the run was stopped.
    pub fn is_being_ended(&self) -> bool {
        self.due.is_timed_out || self.due.is_stopped
    }

    pub fn known(&self) -> KnownEnd {
        let is_being_ended = self.is_being_ended();
        KnownEnd { number: self.number(), key: self.key, orphans: self.below.orphans, is_being_ended }
    }

    /// Its end for the books, if there are any.
    pub fn record<'a>(&'a self, end: &JobEnd, class: &'a str) -> Option<JobRecord<'a>> {
        Some(JobRecord {
            text_for_shell: self.text_for_shell.as_deref(),
            attempt: self.pending.failures + 1,
            began_s: self.times.began_s,
            wall_s: end.wall.as_secs_f64(),
            waited_s: self.times.waited_ns as f64 / 1e9,
            outcome: end.outcome,
            how: Some(end.ended.how),
            class,
            spent: end.spent,
            leaves_processes: end.leaves_processes,
            printed_bytes: end.printed_bytes,
            sent_bytes: self.sent_bytes,
            is_tried_again: end.is_tried_again,
            ..JobRecord::of(&self.pending.spec, self.key?, &self.words)
        })
    }
}

/// The table of jobs that have a place.
#[derive(Default)]
pub(super) struct Jobs {
    slots: Vec<Option<Running>>,
    slot_of: HashMap<Pid, usize>,
    count: usize,
    generation: u32,
}

impl Jobs {
    pub fn count(&self) -> usize {
        self.count
    }

    pub fn free_slot(&self) -> usize {
        self.slots.iter().position(Option::is_none).unwrap_or(self.slots.len())
    }

    /// Puts a job into a free slot.
    pub fn put(&mut self, slot: usize, running: Running) {
        if slot == self.slots.len() {
            self.slots.push(None);
        }
        self.slots[slot] = Some(running);
        self.count += 1;
    }

    pub fn at(&mut self, slot: usize) -> Option<&mut Running> {
        self.slots.get_mut(slot)?.as_mut()
    }

    /// Takes out a job that could not be started.
    pub fn take(&mut self, slot: usize) -> Option<Running> {
        let running = self.slots[slot].take()?;
        self.count -= 1;
        Some(running)
    }

    /// Notes that a job has begun.
    pub fn begin(&mut self, slot: usize, pid: Pid) -> Option<&mut Running> {
        self.generation = self.generation.wrapping_add(1) & 0x7fff_ffff;
        let running = self.slots[slot].as_mut()?;
        (running.pid, running.printing.generation) = (Some(pid), self.generation);
        self.slot_of.insert(pid, slot);
        Some(running)
    }

    /// Takes out a job whose process has ended.
    pub fn end(&mut self, pid: Pid) -> Option<Running> {
        let slot = self.slot_of.remove(&pid)?;
        self.take(slot)
    }

    pub fn of(&self, pid: Pid) -> Option<&Running> {
        self.slots[*self.slot_of.get(&pid)?].as_ref()
    }

    pub fn of_mut(&mut self, pid: Pid) -> Option<&mut Running> {
        self.slots[*self.slot_of.get(&pid)?].as_mut()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Running> {
        self.slots.iter().flatten()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Running> {
        self.slots.iter_mut().flatten()
    }

    /// The job of an event, which may be over, with the stream: a child between its start and its program holds copies of other
    /// jobs' pipes for a moment.
    pub fn of_token(&mut self, token: u64) -> Option<(&mut Running, usize)> {
        let (slot, stream) = ((token >> 32) as usize - 1, (token & 1) as usize);
        let running = self.at(slot)?;
        (running.printing.token(slot, stream) == token).then_some((running, stream))
    }

    /// The same with their slots.
    pub fn slots_mut(&mut self) -> impl Iterator<Item = (usize, &mut Running)> {
        self.slots.iter_mut().enumerate().filter_map(|(slot, running)| Some((slot, running.as_mut()?)))
    }
}

#[cfg(test)]
impl Running {
    /// Job `number`, started then, with a word and nothing else.
    pub fn for_tests(number: u64, now: Instant) -> Self {
        let class = crate::classes::Classes::default().class("a test");
        let mut spec = crate::spec::Spec { number, ..crate::spec::Spec::default() };
        spec.words.push(b"true").expect("no NUL");
        let words = spec.words.clone();
        Self::new(Pending { spec, failures: 0, since_ns: 0 }, words, class, Need::Learnt(class), now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_knows_jobs_by_slot_by_process_and_by_the_token_of_their_pipes() {
        let (mut jobs, now) = (Jobs::default(), Instant::now());
        for number in [1, 2] {
            let slot = jobs.free_slot();
            jobs.put(slot, Running::for_tests(number, now));
        }
        let pid = Pid::from_raw(77).expect("above 0");
        let token = jobs.begin(0, pid).expect("it is there").printing.token(0, 1);
        assert!(jobs.of_token(token).is_some_and(|(running, stream)| (running.number(), stream) == (1, 1)));
        assert_eq!(jobs.end(pid).map(|running| running.number()), Some(1));
        assert_eq!((jobs.count(), jobs.free_slot(), jobs.of(pid).is_none()), (1, 0, true));
        jobs.put(0, Running::for_tests(3, now));
        jobs.begin(0, pid).expect("it is there");
        assert!(jobs.of_token(token).is_none(), "an event of the job that had the slot before");
    }
}
