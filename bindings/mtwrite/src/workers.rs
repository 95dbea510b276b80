//! Which file is worked on when, and by whom: the list of files that are ready, the threads that take from it, and the program's own
//! threads where memory is used up. A worker that has nothing to do naps, so that the program need not wake it for each file.

use crate::boundary;
use crate::file::{self, BUFFERS, PerformExtent};
use crate::locks::held;
use crate::statistics::{FULL, WORKERS};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a worker naps before it looks again. Longer lets written bytes be seen later by others, shorter costs CPU time.
const NAP: Duration = Duration::from_millis(1);
/// After so many naps in vain it sleeps until it is woken.
const NAPS: usize = 50;
/// So many files that are ready wake a worker from its nap: a wake-up costs the program as much as a small write.
const FILES_TO_WAKE_FOR: usize = 32;
/// So many bytes of one file do, too.
const BYTES_TO_WAKE_FOR: usize = 64 << 10;

/// What is ready, and who works.
pub struct WorkList {
    ready: VecDeque<usize>,
    most_workers: usize,
    workers: Vec<JoinHandle<()>>,
    idle: usize,
    /// Workers end, and none is started any more.
    is_over: bool,
}

static LIST: Mutex<WorkList> =
    Mutex::new(WorkList { ready: VecDeque::new(), most_workers: 1, workers: Vec::new(), idle: 0, is_over: false });
static BELL: Condvar = Condvar::new();

/// No worker is awake: the first call that is queued must wake one, or start one.
static IS_QUIET: AtomicBool = AtomicBool::new(true);

/// The list, for a fork.
pub fn lock() -> MutexGuard<'static, WorkList> {
    held(LIST.lock())
}

impl WorkList {
    /// Sets how many workers there may be.
    pub fn limit_to(&mut self, workers: usize) {
        self.most_workers = workers.max(1);
    }

    /// In a process that was forked there is no worker.
    pub fn begin_again(&mut self) {
        // Threads of another process: nobody may wait for them, or let go of what they run on.
        std::mem::forget(std::mem::take(&mut self.workers));
        (self.idle, self.is_over) = (0, false);
        self.ready.clear();
        IS_QUIET.store(true, Ordering::SeqCst);
    }

    /// Starts a worker, if there may be one more. The program does the work itself where none can be had.
    fn hire(&mut self) {
        if self.workers.len() < self.most_workers
            && !self.is_over
            && let Ok(worker) = boundary::start_thread(work)
        {
            self.workers.push(worker);
            WORKERS.add(1);
        }
    }
}

/// Ends all workers, so that the program's last thread is the process's.
pub fn retire() {
    let workers = {
        let mut list = lock();
        list.is_over = true;
        std::mem::take(&mut list.workers)
    };
    BELL.notify_all();
    for worker in workers {
        let _it_has_no_answer = worker.join();
    }
}

/// A file is ready, with so many bytes.
pub fn list(index: usize, bytes: usize) {
    let mut list = lock();
    list.ready.push_back(index);
    let is_quiet = IS_QUIET.load(Ordering::SeqCst);
    let is_worth_it = list.ready.len() >= FILES_TO_WAKE_FOR || bytes >= BYTES_TO_WAKE_FOR;
    let has_idle = list.idle > 0;
    drop(list);
    if is_quiet {
        attend();
    } else if has_idle && is_worth_it {
        BELL.notify_one();
    }
}

/// Something was queued: makes sure that a worker will look.
pub fn attend() {
    if IS_QUIET.load(Ordering::SeqCst) {
        let mut list = lock();
        IS_QUIET.store(false, Ordering::SeqCst);
        if list.workers.is_empty() {
            list.hire();
        }
        drop(list);
        BELL.notify_one();
    }
}

/// Memory is used up: works for a while, or waits until some comes back.
pub fn relieve() {
    FULL.add(1);
    loop {
        let mut list = lock();
        let next = list.ready.pop_front();
        if next.is_some() && list.idle == 0 {
            list.hire();
        }
        let has_idle = list.idle > 0;
        drop(list);
        if has_idle {
            BELL.notify_one();
        }
        // Who saw to a file that was listed has left it on the list.
        let has_worked = match next {
            Some(index) => file::at(index).run(index, PerformExtent::Worthwhile),
            None => sweep(),
        };
        if has_worked {
            return;
        }
        if next.is_none() {
            return BUFFERS.wait();
        }
    }
}

/// Works on all files that nobody works on, ready or not. Says whether there was anything to do.
fn sweep() -> bool {
    let mut has_worked = false;
    for (index, file) in file::all() {
        has_worked |= file.run(index, PerformExtent::All);
    }
    has_worked
}

/// What a worker does, as long as the process lives.
fn work() {
    let mut naps = 0;
    let mut list = lock();
    while !list.is_over {
        if let Some(index) = list.ready.pop_front() {
            drop(list);
            file::at(index).run(index, PerformExtent::Worthwhile);
            naps = 0;
            list = lock();
            continue;
        }
        list.idle += 1;
        let waited = if naps < NAPS {
            held(BELL.wait_timeout(list, NAP))
        } else {
            list = sleep(list);
            naps = 0;
            held(BELL.wait_timeout(list, NAP))
        };
        list = waited.0;
        list.idle -= 1;
        if waited.1.timed_out() && list.ready.is_empty() {
            drop(list);
            naps = if sweep() { 0 } else { naps + 1 };
            list = lock();
        }
    }
}

/// Until somebody queues something. The last one to fall asleep looks once more: what is queued before it said so rings for nobody.
fn sleep(mut list: MutexGuard<'static, WorkList>) -> MutexGuard<'static, WorkList> {
    if list.idle == list.workers.len() {
        IS_QUIET.store(true, Ordering::SeqCst);
        if file::owed() > 0 {
            IS_QUIET.store(false, Ordering::SeqCst);
            return list;
        }
    }
    while list.ready.is_empty() && !list.is_over && IS_QUIET.load(Ordering::SeqCst) {
        list = held(BELL.wait(list));
    }
    list
}
