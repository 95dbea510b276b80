//! Hands for jobs: taken from the lease by one thread that may sleep in it, so that the event loop never does.
//! A hand stays with the run from job to job while work waits and nobody else is entitled to it.

use crew::budget::{Hand, Lease};
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// LIMIT: hands asked for and not yet had; more than any width.
const ASKED_MAX: usize = 8192;

/// A run's hands.
pub(crate) struct Staff {
    lease: Arc<dyn Lease>,
    shared: Arc<Shared>,
    ask: SyncSender<()>,
    idle: Vec<Hand>,
    /// Asked for and not yet arrived.
    asked: usize,
    /// With jobs.
    at_work: usize,
}

struct Shared {
    arrived: Mutex<Vec<Hand>>,
    bell: OwnedFd,
}

impl Staff {
    pub fn new(lease: Box<dyn Lease>) -> io::Result<Self> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let shared = Arc::new(Shared { arrived: Mutex::new(Vec::new()), bell });
        let lease: Arc<dyn Lease> = Arc::from(lease);
        let (ask, asked) = sync_channel::<()>(ASKED_MAX);
        let (for_thread, lease_of_thread) = (Arc::clone(&shared), Arc::clone(&lease));
        std::thread::Builder::new().name("hands".to_owned()).stack_size(64 << 10).spawn(move || {
            while asked.recv().is_ok() {
                let hand = lease_of_thread.take();
                for_thread.lock().push(hand);
                // A full counter means that the bell rings already.
                let _already_ringing = rustix::io::write(&for_thread.bell, &1_u64.to_ne_bytes());
            }
        })?;
        Ok(Self { lease, shared, ask, idle: Vec::new(), asked: 0, at_work: 0 })
    }

    /// Rings when hands have arrived.
    pub fn bell(&self) -> BorrowedFd<'_> {
        self.shared.bell.as_fd()
    }

    /// Collects hands that have arrived.
    pub fn collect(&mut self) {
        let _it_may_be_silent = rustix::io::read(&self.shared.bell, &mut [0_u8; 8]);
        let mut arrived = self.shared.lock();
        self.asked -= arrived.len();
        self.idle.append(&mut arrived);
    }

    /// Takes `count` hands for a job, if they are here.
    pub fn take(&mut self, count: usize) -> Option<Vec<Hand>> {
        if self.idle.len() < count {
            return None;
        }
        self.at_work += count;
        Some(self.idle.split_off(self.idle.len() - count))
    }

    /// Takes back a job's hands.
    pub fn put_back(&mut self, mut hands: Vec<Hand>) {
        self.at_work -= hands.len();
        self.idle.append(&mut hands);
        while self.idle.last().is_some_and(|hand| self.lease.must_return(hand)) {
            self.give_back_one();
        }
    }

    /// Whether a hand is here for a job.
    pub fn has_idle(&self) -> bool {
        !self.idle.is_empty()
    }

    /// Hands that jobs hold.
    pub fn at_work(&self) -> usize {
        self.at_work
    }

    /// Sees to it that `wanted` hands are here, under way or at work, and no more idle ones than that.
    pub fn want(&mut self, wanted: usize) {
        while self.at_work + self.idle.len() + self.asked < wanted && self.ask.try_send(()).is_ok() {
            self.asked += 1;
        }
        while self.at_work + self.idle.len() > wanted && !self.idle.is_empty() {
            self.give_back_one();
        }
    }

    /// Gives back all that are idle. Whether the books then balance.
    pub fn close(mut self) -> bool {
        self.collect();
        while !self.idle.is_empty() {
            self.give_back_one();
        }
        let books = self.lease.books();
        self.at_work == 0 && books.taken - books.returned <= self.asked as u64
    }

    fn give_back_one(&mut self) {
        if let Some(hand) = self.idle.pop() {
            self.lease.give_back(hand);
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Vec<Hand>> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crew::budget::{Budget, InProcess, Priority, Request, Weight};

    #[test]
    fn hands_come_go_to_work_and_go_back() {
        let budget = InProcess::new(2);
        let request = Request {
            priority: Priority::Normal,
            weight: Weight::default(),
            useful_width: 2,
            what: "a test".to_owned(),
        };
        let mut staff = Staff::new(budget.lease(request)).expect("a thread and an eventfd");
        assert!(staff.take(1).is_none());
        staff.want(2);
        while staff.asked > 0 {
            staff.collect();
            std::thread::yield_now();
        }
        let hands = staff.take(2).expect("both are here");
        assert!(staff.take(1).is_none());
        assert_eq!(staff.at_work(), 2);
        staff.put_back(hands);
        staff.want(0);
        assert!(staff.close());
    }
}
