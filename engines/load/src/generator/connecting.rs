//! Connections that are made anew while the others go on: by one thread beside the loop, each after a pause that grows.

use crate::session::{Session, SessionLost, Target};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// A client's number, and its new session.
type Made = (usize, Result<Box<dyn Session>, SessionLost>);

/// Makes connections anew. Its thread is started when the first is wanted.
pub(super) struct Reconnector {
    target: Arc<dyn Target>,
    within: Duration,
    thread: Option<(SyncSender<usize>, Receiver<Made>)>,
}

/// The first pause before another attempt, and the longest.
const PAUSE_FIRST: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// LIMIT: a server that is not back by then is not coming back in this run.
const ATTEMPTS_FOR: Duration = Duration::from_secs(60);
/// LIMIT: more clients than any thread has.
const WANTED_MAX: usize = 1 << 17;

impl Reconnector {
    pub fn new(target: Arc<dyn Target>, within: Duration) -> Self {
        Self { target, within, thread: None }
    }

    /// Client `number` wants a new session.
    pub fn want(&mut self, number: usize) {
        let (wanted, _) = self.thread.get_or_insert_with(|| start(Arc::clone(&self.target), self.within));
        // It ends only with this, and each client wants one at a time.
        let _there_is_room = wanted.try_send(number);
    }

    /// One that has been made, or cannot be.
    pub fn made(&mut self) -> Option<Made> {
        let (_, made) = self.thread.as_ref()?;
        made.try_recv().ok()
    }
}

fn start(target: Arc<dyn Target>, within: Duration) -> (SyncSender<usize>, Receiver<Made>) {
    let (want, wanted) = sync_channel::<usize>(WANTED_MAX);
    let (give, made) = sync_channel::<Made>(WANTED_MAX);
    // Not waited for: it may be in a connect that takes its time, and ends with the next message.
    let _detached = std::thread::spawn(move || {
        while let Ok(number) = wanted.recv() {
            if give.send((number, attempt(&*target, within))).is_err() {
                return;
            }
        }
    });
    (want, made)
}

fn attempt(target: &dyn Target, within: Duration) -> Result<Box<dyn Session>, SessionLost> {
    let (began, mut pause) = (Instant::now(), PAUSE_FIRST);
    loop {
        std::thread::sleep(pause);
        match target.connect(within) {
            Err(_) if began.elapsed() < ATTEMPTS_FOR => pause = (pause * 2).min(PAUSE_MAX),
            made => return made,
        }
    }
}
