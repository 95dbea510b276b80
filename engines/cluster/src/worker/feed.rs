//! The source of a worker's jobs: chunks, claimed when the runner has room for their jobs, so that no core idles at a chunk's end and none
//! is kept from others that have nothing to do.

use super::books::ChunkBooks;
use super::{WorkerIdentity, lock};
use crate::claims::{Claims, NextChunk};
use crate::part::{ChunkPart, JobResult};
use crate::spool::{Spool, SpoolFault};
use jobs::journal::JobOutcome;
use jobs::list::ListItem;
use jobs::source::JobFeed;
use jobs::spec::Spec;
use jobs::start::StartFault;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Between looks for chunks that others may give up, at first; twice as long each time, up to a second.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// Jobs shorter than this are claimed ahead, so that a claim costs no core its time.
const SHORT: Duration = Duration::from_millis(200);

/// Chunks as a source of jobs.
#[derive(Debug)]
pub struct ChunkFeed {
    spool: Arc<Spool>,
    claims: Claims,
    books: Arc<Mutex<ChunkBooks>>,
    jobs: VecDeque<Spec>,
    /// Jobs of chunks that have not ended.
    outstanding: usize,
    timer: OwnedFd,
    /// Nothing is claimed until the timer rings.
    waits: bool,
    pause: Duration,
    idle_since: Option<Instant>,
    is_over: bool,
    width: usize,
    deadline: Option<Instant>,
}

impl ChunkFeed {
    pub(super) fn new(
        spool: Arc<Spool>,
        claims: Claims,
        books: Arc<Mutex<ChunkBooks>>,
        identity: &WorkerIdentity,
    ) -> io::Result<Self> {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        Ok(Self {
            spool,
            claims,
            books,
            jobs: VecDeque::new(),
            outstanding: 0,
            timer,
            waits: false,
            pause: FIRST_PAUSE,
            idle_since: None,
            is_over: false,
            width: identity.width,
            deadline: identity.deadline.map(|deadline| deadline.drain),
        })
    }

    /// Has the descriptor become readable after this time.
    fn ring_after(&self, time: Duration) {
        let time = time.max(Duration::from_nanos(1));
        let value = Timespec {
            tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(time.subsec_nanos()),
        };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once).expect("a timer of ours takes any time");
    }

    fn has_room(&self) -> bool {
        let is_short = lock(&self.books).usual().is_none_or(|usual| usual < SHORT);
        self.outstanding < if is_short { 2 * self.width } else { self.width }
    }

    /// Whether one more job is likely to end before the worker is ended.
    fn is_too_late(&self) -> bool {
        let usual = lock(&self.books).usual().unwrap_or_default();
        self.deadline.is_some_and(|deadline| Instant::now() + usual > deadline)
    }

    fn claim(&mut self) -> Result<(), SpoolFault> {
        if self.is_too_late() || self.spool.stopped().is_some() {
            self.is_over = true;
            return Ok(());
        }
        match self.claims.next_chunk()? {
            NextChunk::Claimed { chunk, attempt, behind } => {
                (self.pause, self.idle_since) = (FIRST_PAUSE, None);
                let (results, left) = self.rest(chunk, behind)?;
                lock(&self.books).open(chunk, attempt, results, &left);
                self.outstanding += left.len();
                self.jobs.extend(left);
            }
            NextChunk::Hopeless { chunk, attempt, behind } => {
                let (results, left) = self.rest(chunk, behind)?;
                lock(&self.books).give_up(chunk, attempt, results, &left);
            }
            NextChunk::Wait { more_follows } => self.wait(more_follows),
            NextChunk::Finished => self.is_over = true,
        }
        Ok(())
    }

    /// What is known of a chunk's jobs before they run, and those that are to run.
    fn rest(&self, chunk: u32, behind: Option<u32>) -> Result<(Vec<JobResult>, Vec<Spec>), SpoolFault> {
        let earlier = match behind {
            Some(before) => ChunkPart::freed(&self.spool, chunk, before)?.map_or(Vec::new(), |part| part.results),
            None => Vec::new(),
        };
        let mut failed_needs = HashMap::new();
        let jobs = self.spool.chunk(chunk)?;
        for spec in &jobs {
            for need in self.spool.header().needs.get(&spec.number).into_iter().flatten() {
                let part = ChunkPart::done(&self.spool, need.chunk)?;
                let outcome = part.and_then(|part| part.results.into_iter().find(|result| result.job == need.job));
                if outcome.is_none_or(|result| result.outcome != JobOutcome::Ok) {
                    failed_needs.insert(spec.number, need.name.clone());
                }
            }
        }
        Ok(resolve(jobs, earlier, &failed_needs))
    }

    /// Others have what there is. One of them may die, but for longer than a lease nobody waits: cores of a cluster are others' too.
    fn wait(&mut self, more_follows: bool) {
        let is_idle = self.outstanding == 0;
        let since = *self.idle_since.get_or_insert_with(Instant::now);
        let lease = Duration::from_secs_f64(self.spool.header().limits.lease_s);
        self.is_over = is_idle && !more_follows && since.elapsed() > lease + PAUSE_MAX;
        self.waits = !self.is_over;
        if self.waits {
            self.ring_after(self.pause);
            self.pause = (self.pause * 2).min(PAUSE_MAX);
        }
    }
}

/// How a job of the chunk stands that others name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NamedJob {
    Succeeded,
    Failed,
    ToRun,
}

/// Divides the jobs of a chunk into those of which the result is known and those that are to run. The local runner knows only the latter, so
/// names of the others are resolved here, by its own rule: the last job of that name before.
fn resolve(
    jobs: Vec<Spec>,
    mut results: Vec<JobResult>,
    failed_needs: &HashMap<u64, String>,
) -> (Vec<JobResult>, Vec<Spec>) {
    let known: HashMap<u64, JobOutcome> = results.iter().map(|result| (result.job, result.outcome)).collect();
    let mut named: HashMap<String, NamedJob> = HashMap::new();
    let mut left = Vec::new();
    for mut spec in jobs {
        let id = spec.more.as_ref().and_then(|more| more.id.clone());
        let mut fault = failed_needs.get(&spec.number).map(|name| StartFault::After(name.clone()));
        let standing = match known.get(&spec.number) {
            Some(JobOutcome::Ok) => NamedJob::Succeeded,
            Some(_) => NamedJob::Failed,
            None => {
                if let Some(more) = &mut spec.more {
                    more.after.retain(|name| match named.get(name) {
                        Some(NamedJob::ToRun) => true,
                        Some(NamedJob::Succeeded) => false,
                        Some(NamedJob::Failed) => {
                            fault.get_or_insert_with(|| StartFault::After(name.clone()));
                            false
                        }
                        // Its own name is refused where it is read.
                        None if id.as_ref() == Some(name) => true,
                        None => {
                            fault.get_or_insert_with(|| StartFault::AfterUnknown(name.clone()));
                            false
                        }
                    });
                }
                if fault.is_none() { NamedJob::ToRun } else { NamedJob::Failed }
            }
        };
        named.extend(id.map(|id| (id, standing)));
        if known.contains_key(&spec.number) {
            continue;
        }
        match fault {
            None => left.push(spec),
            Some(fault) => results.push(JobResult::not_started(spec.number, &fault)),
        }
    }
    (results, left)
}

impl JobFeed for ChunkFeed {
    fn next_item(&mut self) -> Option<ListItem> {
        loop {
            if let Some(spec) = self.jobs.pop_front() {
                return Some(ListItem::Job(spec));
            }
            if self.is_over || self.waits || !self.has_room() {
                return None;
            }
            if let Err(fault) = self.claim() {
                lock(&self.books).fail(fault);
                self.is_over = true;
            }
        }
    }

    fn is_exhausted(&self) -> bool {
        self.is_over && self.jobs.is_empty()
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }

    fn read_once(&mut self, _scratch: &mut [u8]) -> io::Result<()> {
        let _rung_or_not = rustix::io::read(&self.timer, &mut [0_u8; 8]);
        self.waits = false;
        Ok(())
    }

    fn job_ended(&mut self, _number: u64, _is_success: bool) {
        self.outstanding -= 1;
        // There may be room now.
        if !self.waits && self.jobs.is_empty() {
            self.ring_after(Duration::ZERO);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spool::tests::spec;

    fn named(number: u64, id: &str, after: &[&str]) -> Spec {
        let mut spec = spec(number);
        spec.more_mut().id = Some(id.to_owned());
        spec.more_mut().after = after.iter().map(|name| (*name).to_owned()).collect();
        spec
    }

    fn after(spec: &Spec) -> Vec<&str> {
        spec.more.as_ref().map_or(Vec::new(), |more| more.after.iter().map(String::as_str).collect())
    }

    #[test]
    fn what_has_succeeded_is_not_waited_for_and_what_has_failed_is_in_the_way() {
        let jobs = vec![
            named(1, "a", &[]),
            named(2, "b", &[]),
            named(3, "c", &["a"]),
            named(4, "d", &["b"]),
            named(5, "e", &["d"]),
            named(6, "f", &["c", "nobody"]),
            named(7, "a", &[]),
            named(8, "g", &["a", "c"]),
        ];
        let ok = JobResult { outcome: JobOutcome::Ok, ..JobResult::lost(1, 0) };
        let (results, left) = resolve(jobs, vec![ok, JobResult::lost(2, 0)], &HashMap::new());
        assert_eq!(results.iter().map(|result| result.job).collect::<Vec<_>>(), [1, 2, 4, 5, 6]);
        assert_eq!(left.iter().map(|spec| spec.number).collect::<Vec<_>>(), [3, 7, 8]);
        assert!(after(&left[0]).is_empty(), "a has succeeded");
        assert_eq!(after(&left[2]), ["a", "c"], "the last a before it is still to run");
        assert!(results[4].said[0].contains("'nobody' in its after is no earlier job"), "{:?}", results[4].said);
    }

    #[test]
    fn a_job_of_an_earlier_generation_that_failed_is_in_the_way_too() {
        let needs = HashMap::from([(2, "x".to_owned())]);
        let (results, left) = resolve(vec![named(1, "a", &[]), named(2, "b", &[])], Vec::new(), &needs);
        assert_eq!((results.len(), left.len()), (1, 1));
        assert!(results[0].said[0].contains("'x', which it waits for, failed"), "{:?}", results[0].said);
    }
}
