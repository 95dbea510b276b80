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
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::collections::{HashSet, VecDeque};
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
        if self.is_too_late() {
            self.is_over = true;
            return Ok(());
        }
        match self.claims.next_chunk()? {
            NextChunk::Claimed { chunk, attempt, behind } => {
                (self.pause, self.idle_since) = (FIRST_PAUSE, None);
                let earlier = match behind {
                    Some(before) => {
                        ChunkPart::freed(&self.spool, chunk, before)?.map_or(Vec::new(), |part| part.results)
                    }
                    None => Vec::new(),
                };
                let left = left_of(self.spool.chunk(chunk)?, &earlier);
                lock(&self.books).open(chunk, attempt, earlier, &left);
                self.outstanding += left.len();
                self.jobs.extend(left);
            }
            NextChunk::Hopeless { chunk, attempt } => {
                let jobs = self.spool.chunk(chunk)?;
                lock(&self.books).give_up(chunk, attempt, &jobs);
            }
            NextChunk::Wait { more_follows } => self.wait(more_follows),
            NextChunk::Finished => self.is_over = true,
        }
        Ok(())
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

/// The jobs that earlier attempts have not done. What they waited for and has succeeded need not be waited for.
fn left_of(jobs: Vec<Spec>, earlier: &[JobResult]) -> Vec<Spec> {
    let done: HashSet<u64> = earlier.iter().map(|result| result.job).collect();
    let well: HashSet<u64> =
        earlier.iter().filter(|result| result.outcome == JobOutcome::Ok).map(|result| result.job).collect();
    let names: HashSet<String> = jobs
        .iter()
        .filter(|spec| well.contains(&spec.number))
        .filter_map(|spec| spec.more.as_ref()?.id.clone())
        .collect();
    let mut left: Vec<Spec> = jobs.into_iter().filter(|spec| !done.contains(&spec.number)).collect();
    for more in left.iter_mut().filter_map(|spec| spec.more.as_mut()) {
        more.after.retain(|name| !names.contains(name));
    }
    left
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

    #[test]
    fn jobs_that_were_done_are_left_out_and_not_waited_for() {
        let mut jobs = vec![spec(1), spec(2), spec(3)];
        jobs[0].more_mut().id = Some("a".to_owned());
        jobs[1].more_mut().id = Some("b".to_owned());
        jobs[2].more_mut().after = vec!["a".to_owned(), "b".to_owned()];
        let earlier = [JobResult { outcome: JobOutcome::Ok, ..JobResult::lost(1, 0) }, JobResult::lost(2, 0)];
        let left = left_of(jobs, &earlier);
        assert_eq!(left.len(), 1);
        assert_eq!(left[0].more.as_ref().expect("it waits").after, ["b"], "what failed is still in its way");
    }
}
