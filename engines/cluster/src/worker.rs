//! A worker: claims chunks, hands their jobs to the local runner as it has room for them, and publishes what came of them. How jobs run is
//! the runner's matter (engines/jobs); this is its source and its observer.

mod books;
mod commit;
mod feed;

pub use books::WorkerBooks;
pub use feed::ChunkFeed;

use crate::alive::AliveSign;
use crate::claims::Claims;
use crate::spool::{Spool, SpoolFault, SpoolStop, failed};
use books::ChunkBooks;
use commit::Committer;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What a worker is.
#[derive(Clone, Debug)]
pub struct WorkerIdentity {
    /// Unlike that of any other worker of the run, also of one that was started again.
    pub name: String,
    /// By which chunks are dealt out.
    pub number: u32,
    /// Jobs at once.
    pub width: usize,
    /// When it will be ended.
    pub deadline: Option<WorkerDeadline>,
}

/// When a worker's time is over.
#[derive(Clone, Copy, Debug)]
pub struct WorkerDeadline {
    /// From here on it takes no jobs.
    pub drain: Instant,
    /// Here it ends those that run.
    pub end: Instant,
}

/// How a worker has ended.
#[derive(Debug, Default)]
pub struct WorkerEnd {
    /// Chunks of it that count.
    pub chunks: u64,
    /// Chunks that others had done before it.
    pub late: u64,
    /// Chunks that it gave up.
    pub freed: u64,
    /// Why it could not go on.
    pub fault: Option<SpoolFault>,
}

/// A worker of a run.
#[derive(Debug)]
pub struct Worker {
    spool: Arc<Spool>,
    identity: WorkerIdentity,
    sign: Arc<AliveSign>,
    books: Arc<Mutex<ChunkBooks>>,
    committer: Committer,
}

impl Worker {
    /// Gives a first sign of life, and makes the files that the runner writes to: the third of them is the journal's name.
    ///
    /// # Errors
    /// When the spool cannot be written.
    pub fn begin(spool: Arc<Spool>, identity: WorkerIdentity) -> Result<Self, SpoolFault> {
        let sign = Arc::new(AliveSign::make(&spool, &identity.name)?);
        let committer = Committer::start(Arc::clone(&spool), &identity)?;
        let books = Arc::new(Mutex::new(ChunkBooks::new(&identity.name, committer.sender())));
        Ok(Self { spool, identity, sign, books, committer })
    }

    /// Where jobs' output and errors go.
    ///
    /// # Errors
    /// When they cannot be made.
    pub fn outputs(&self) -> Result<[File; 2], SpoolFault> {
        let open = |path: PathBuf| {
            let file = File::options().create_new(true).append(true).mode(0o600).open(&path);
            file.map_err(failed("make", &path))
        };
        let [output, errors] = commit::outputs_of(&self.spool, &self.identity.name);
        Ok([open(output)?, open(errors)?])
    }

    /// Where the runner's journal is to be.
    pub fn journal(&self) -> PathBuf {
        commit::journal_of(&self.spool, &self.identity.name)
    }

    /// The source of jobs.
    ///
    /// # Errors
    /// When no timer can be had.
    pub fn feed(&self) -> std::io::Result<ChunkFeed> {
        let WorkerIdentity { name, number, .. } = &self.identity;
        let claims = Claims::new(Arc::clone(&self.spool), name, *number, Arc::clone(&self.sign));
        ChunkFeed::new(Arc::clone(&self.spool), claims, Arc::clone(&self.books), &self.identity)
    }

    /// What the run's observer passes on.
    pub fn books(&self) -> WorkerBooks {
        WorkerBooks::new(Arc::clone(&self.books))
    }

    /// Gives signs of life until the value is dropped, and passes on when the run is to stop or the worker's time is over.
    ///
    /// # Errors
    /// When no thread can be had.
    pub fn live(&self, stop: impl FnMut(SpoolStop) + Send + 'static) -> std::io::Result<Living> {
        let (ended, is_ended) = mpsc::sync_channel(1);
        let (spool, sign, deadline) = (Arc::clone(&self.spool), Arc::clone(&self.sign), self.identity.deadline);
        let books = Arc::clone(&self.books);
        let thread = std::thread::Builder::new()
            .name("alive".to_owned())
            .spawn(move || give_signs(&spool, &sign, &books, deadline, &is_ended, stop))?;
        Ok(Living { ended: Some(ended), thread: Some(thread) })
    }

    /// Publishes what has ended, and gives the rest up.
    pub fn end(self) -> WorkerEnd {
        let fault = lock(&self.books).close();
        let mut end = self.committer.end();
        self.sign.remove();
        // The gatherer removes a spool that has been done.
        let is_there = self.spool.is_there();
        end.fault = fault.or(end.fault).filter(|_| is_there);
        end
    }
}

/// Signs of life are given while this is there.
#[derive(Debug)]
pub struct Living {
    ended: Option<mpsc::SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Living {
    fn drop(&mut self) {
        self.ended = None;
        if let Some(thread) = self.thread.take() {
            let _it_does_not_panic = thread.join();
        }
    }
}

/// Signs within a lease: two may be lost.
const SIGNS_A_LEASE: f64 = 6.0;

/// Between looks for the wish to stop, at most.
const LOOK: Duration = Duration::from_secs(1);

impl WorkerDeadline {
    fn asks_for(self, now: Instant) -> Option<SpoolStop> {
        match now {
            now if now >= self.end => Some(SpoolStop::Now),
            now if now >= self.drain => Some(SpoolStop::Drain),
            _ => None,
        }
    }
}

fn give_signs(
    spool: &Spool,
    sign: &AliveSign,
    books: &Mutex<ChunkBooks>,
    deadline: Option<WorkerDeadline>,
    is_ended: &mpsc::Receiver<()>,
    mut stop: impl FnMut(SpoolStop),
) {
    let between = Duration::from_secs_f64(spool.header().limits.lease_s / SIGNS_A_LEASE);
    let (mut touched, mut told) = (Instant::now(), None);
    while is_ended.recv_timeout(LOOK.min(between)) == Err(mpsc::RecvTimeoutError::Timeout) {
        if touched.elapsed() >= between {
            // One that fails is made up for by the next, or others take the work.
            let _or_the_next = sign.touch();
            touched = Instant::now();
        }
        lock(books).outlive(Instant::now());
        let asked = spool.stopped().max(deadline.and_then(|deadline| deadline.asks_for(Instant::now())));
        if let Some(asked) = asked.filter(|_| asked != told) {
            told = Some(asked);
            stop(asked);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
