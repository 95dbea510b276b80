//! Hands for jobs: taken from the lease by one thread that may sleep in it, so that the event loop never does.
//! A hand stays with the run from job to job while work waits and nobody else is entitled to it. Jobs beyond the cores that there
//! are (`-j` says so: they wait for disks and networks) have none.

use crew::budget::{Hand, Lease};
use parking_lot::{Mutex, MutexGuard};
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

/// LIMIT: hands asked for and not yet had; more than any width.
const ASKED_MAX: usize = 8192;

/// What a job works with.
#[derive(Debug, Default)]
pub(crate) struct JobCrew {
    hands: Vec<Hand>,
    /// Places beyond the cores, for which there are no hands.
    unstaffed: usize,
}

impl JobCrew {
    /// How many jobs of one core could run in its stead.
    pub fn places(&self) -> usize {
        self.hands.len() + self.unstaffed
    }
}

/// A run's hands.
pub(crate) struct Staff {
    lease: Arc<dyn Lease>,
    shared: Arc<Shared>,
    ask: SyncSender<()>,
    thread: JoinHandle<()>,
    idle: Vec<Hand>,
    /// Hands that the lease has at most.
    most: usize,
    /// Places for jobs without a hand, and how many of them are taken.
    unstaffed: usize,
    unstaffed_at_work: usize,
    /// What the lease was told last.
    useful_width: usize,
    /// Asked for and not yet arrived.
    asked: usize,
    /// With jobs.
    hands_at_work: usize,
}

struct Shared {
    arrived: Mutex<Vec<Hand>>,
    wake_fd: OwnedFd,
}

impl Staff {
    /// `most`: hands that the lease has at most, where more places are asked for.
    pub fn new(lease: Box<dyn Lease>, most: usize) -> io::Result<Self> {
        let wake_fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let shared = Arc::new(Shared { arrived: Mutex::new(Vec::new()), wake_fd });
        let lease: Arc<dyn Lease> = Arc::from(lease);
        let (ask, asked) = sync_channel::<()>(ASKED_MAX);
        let (for_thread, lease_of_thread) = (Arc::clone(&shared), Arc::clone(&lease));
        let thread = std::thread::Builder::new().name("hands".to_owned()).stack_size(64 << 10).spawn(move || {
            while asked.recv().is_ok() {
                let hand = lease_of_thread.take();
                for_thread.lock().push(hand);
                for_thread.wake();
            }
        })?;
        Ok(Self {
            lease,
            shared,
            ask,
            thread,
            idle: Vec::new(),
            most: most.max(1),
            unstaffed: 0,
            unstaffed_at_work: 0,
            useful_width: 0,
            asked: 0,
            hands_at_work: 0,
        })
    }

    /// Wakes when hands have arrived.
    pub fn wake_fd(&self) -> BorrowedFd<'_> {
        self.shared.wake_fd.as_fd()
    }

    /// For others who have something for whoever listens to the wake descriptor.
    pub fn waker(&self) -> Waker {
        Waker(Arc::clone(&self.shared))
    }

    /// Collects hands that have arrived.
    pub fn collect(&mut self) {
        let _it_may_be_silent = rustix::io::read(&self.shared.wake_fd, &mut [0_u8; 8]);
        let mut arrived = self.shared.lock();
        self.asked -= arrived.len();
        self.idle.append(&mut arrived);
    }

    /// Takes places for a job that needs `count`, if they are here.
    pub fn take(&mut self, count: usize) -> Option<JobCrew> {
        let unstaffed = count - count.min(self.idle.len());
        if unstaffed > self.unstaffed.saturating_sub(self.unstaffed_at_work) {
            return None;
        }
        self.unstaffed_at_work += unstaffed;
        self.hands_at_work += count - unstaffed;
        Some(JobCrew { hands: self.idle.split_off(self.idle.len() - (count - unstaffed)), unstaffed })
    }

    /// Takes the hands that are here for a job that needs more: it has waited for them.
    pub fn take_fewer(&mut self) -> Option<JobCrew> {
        self.take(self.idle.len()).filter(|crew| !crew.hands.is_empty())
    }

    /// Takes back a job's places.
    pub fn put_back(&mut self, mut crew: JobCrew) {
        self.unstaffed_at_work -= crew.unstaffed;
        self.hands_at_work -= crew.hands.len();
        self.idle.append(&mut crew.hands);
        while self.idle.last().is_some_and(|hand| self.lease.must_return(hand)) {
            self.give_back_one();
        }
    }

    /// Has the table show how many jobs have ended: for after one was counted.
    pub fn note_progress(&self) {
        self.lease.note_progress();
    }

    /// What a job needs to use its hands in the run's place: text for its environment. None where it has none that others see.
    pub fn lease_token(&self, crew: &JobCrew) -> Option<String> {
        let hands: Vec<&Hand> = crew.hands.iter().collect();
        Some(self.lease.lease_token(&hands)?.to_string())
    }

    /// Whether a place is here for a job.
    pub fn has_idle(&self) -> bool {
        !self.idle.is_empty() || self.unstaffed_at_work < self.unstaffed
    }

    /// Places that jobs have.
    pub fn at_work(&self) -> usize {
        self.hands_at_work + self.unstaffed_at_work
    }

    /// Sees to it that `wanted` places are here, under way or at work, and no more idle hands than that. Those beyond the cores are
    /// places without a hand: so many wait for a hand as there are cores, however long others keep those.
    pub fn want(&mut self, wanted: usize) {
        self.unstaffed = wanted.saturating_sub(self.most);
        let hands = wanted.saturating_sub(self.unstaffed_at_work).min(self.most);
        if self.useful_width != hands.max(1) {
            self.useful_width = hands.max(1);
            self.lease.set_useful_width(self.useful_width);
        }
        while self.hands_at_work + self.idle.len() + self.asked < hands && self.ask.try_send(()).is_ok() {
            self.asked += 1;
        }
        while self.hands_at_work + self.idle.len() > hands && !self.idle.is_empty() {
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
        let balanced = self.at_work() == 0 && books.taken - books.returned <= self.asked as u64;
        drop(self.ask);
        if self.asked == 0 {
            // Then the lease ends here, and nobody has to find its row. A thread that still waits for a hand ends with the process.
            let _it_has_nothing_to_tell = self.thread.join();
        }
        balanced
    }

    fn give_back_one(&mut self) {
        if let Some(hand) = self.idle.pop() {
            self.lease.give_back(hand);
        }
    }
}

/// Wakes a run's wake descriptor.
pub(crate) struct Waker(Arc<Shared>);

impl Waker {
    /// Wakes it.
    pub fn wake(&self) {
        self.0.wake();
    }
}

impl Shared {
    fn wake(&self) {
        // A full counter means that the wake descriptor wakes already.
        let _already_ringing = rustix::io::write(&self.wake_fd, &1_u64.to_ne_bytes());
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Hand>> {
        self.arrived.lock()
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
        let mut staff = Staff::new(budget.lease(request), 2).expect("a thread and an eventfd");
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

    #[test]
    fn places_beyond_the_cores_need_no_hand_and_come_last() {
        let budget = InProcess::new(1);
        let (priority, weight) = (Priority::Normal, Weight::default());
        let lease = |useful_width| budget.lease(Request { priority, weight, useful_width, what: "a test".to_owned() });
        let other = lease(1);
        let theirs = other.take();
        let mut staff = Staff::new(lease(3), 1).expect("a thread and an eventfd");
        staff.want(1);
        assert!(staff.take(1).is_none(), "one job waits for the core");
        staff.want(3);
        let two = staff.take(2).expect("two do not");
        assert!(staff.take(1).is_none() && !staff.has_idle() && staff.lease_token(&two).is_none());
        other.give_back(theirs);
        while staff.asked > 0 {
            staff.collect();
            std::thread::yield_now();
        }
        let third = staff.take(1).expect("the core is free");
        assert_eq!(staff.at_work(), 3);
        staff.put_back(two);
        staff.want(1);
        assert!(!staff.has_idle(), "one place in all, and that is taken");
        staff.put_back(third);
        staff.want(0);
        assert!(staff.close());
    }
}
