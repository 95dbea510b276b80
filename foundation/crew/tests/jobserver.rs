//! Job slots of a real pipe and a real FIFO, made as make makes them: the first is free, each other one is a byte that comes back.

use crew::budget::{Budget, HandBooks, Lease, Priority, Request, Weight};
use crew::jobserver::{Auth, Jobserver, JobserverFault};
use rustix::fs::{CWD, FileType, Mode, OFlags};
use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

/// A pool with `slots` bytes, as descriptors or by name.
struct Pool {
    read: OwnedFd,
    write: OwnedFd,
    flags: String,
    _directory: Option<tempfile::TempDir>,
}

impl Pool {
    fn of_descriptors(slots: &[u8]) -> Self {
        let (read, write) = rustix::pipe::pipe().expect("a pipe");
        let flags = format!(" -j9 --jobserver-auth={},{}", read.as_raw_fd(), write.as_raw_fd());
        Self { read, write, flags, _directory: None }.with(slots)
    }

    fn of_fifo(slots: &[u8]) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("GMfifo1");
        rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a FIFO");
        let read = rustix::fs::open(&path, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty()).expect("a reader");
        let write = rustix::fs::open(&path, OFlags::WRONLY, Mode::empty()).expect("a writer");
        let flags = format!("--jobserver-auth=fifo:{}", path.display());
        Self { read, write, flags, _directory: Some(directory) }.with(slots)
    }

    fn with(self, slots: &[u8]) -> Self {
        assert_eq!(rustix::io::write(&self.write, slots), Ok(slots.len()));
        self
    }

    fn join(&self, width: usize) -> Result<Jobserver, JobserverFault> {
        Jobserver::join(&Auth::from_flags(OsStr::new(&self.flags)).expect("slots are named")?, width, None)
    }

    fn left(&self) -> u64 {
        rustix::io::ioctl_fionread(&self.read).expect("a pipe tells")
    }

    /// What is in the pool at the end, sorted.
    fn content(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.left() as usize];
        let count = rustix::io::read(&self.read, &mut bytes[..]).expect("they are there");
        bytes.truncate(count);
        bytes.sort_unstable();
        bytes
    }
}

fn lease(budget: &Jobserver, useful_width: usize) -> Box<dyn Lease> {
    let (priority, weight) = (Priority::Normal, Weight::default());
    budget.lease(Request { priority, weight, useful_width, what: "a test".to_owned() })
}

#[test]
fn the_first_is_free_and_the_same_bytes_go_back() {
    for pool in [Pool::of_descriptors(b"+G|"), Pool::of_fifo(b"+G|")] {
        let budget = pool.join(8).expect("a pool");
        let lease = lease(&budget, 3);
        let hands = [lease.take(), lease.take(), lease.take()];
        assert_eq!((pool.left(), lease.try_take().is_none()), (1, true), "its useful width");
        lease.set_useful_width(8);
        let last = lease.try_take().expect("there is one more");
        assert!(lease.try_take().is_none(), "the pool is empty");
        hands.into_iter().chain([last]).for_each(|hand| lease.give_back(hand));
        assert_eq!(lease.books(), HandBooks { taken: 4, returned: 4, lost: 0 });
        assert_eq!(pool.content(), b"+G|");
    }
}

#[test]
fn their_description_stays_as_it_was() {
    let pool = Pool::of_descriptors(b"+");
    let lease = lease(&pool.join(4).expect("a pool"), 4);
    let hands = [lease.take(), lease.take()];
    for end in [&pool.read, &pool.write] {
        let flags = rustix::fs::fcntl_getfl(end).expect("it is open");
        assert!(!flags.contains(OFlags::NONBLOCK), "a read that waits would fail in other programs");
    }
    hands.into_iter().for_each(|hand| lease.give_back(hand));
}

#[test]
fn whoever_waits_gets_what_others_put_back() {
    let pool = Pool::of_fifo(b"");
    let budget = pool.join(4).expect("a pool");
    let lease = lease(&budget, 4);
    let first = lease.take();
    std::thread::scope(|scope| {
        let hungry: Vec<_> = (0..3).map(|_| scope.spawn(|| lease.take())).collect();
        assert_eq!(rustix::io::write(&pool.write, b"ab"), Ok(2));
        // The third has the slot that the process was started with.
        while lease.books().taken < 3 {
            std::thread::sleep(Duration::from_millis(1));
        }
        lease.give_back(first);
        hungry.into_iter().for_each(|thread| lease.give_back(thread.join().expect("each gets one")));
    });
    assert_eq!((lease.books().taken, pool.content()), (4, b"ab".to_vec()));
}

#[test]
fn a_slot_goes_back_when_the_first_one_is_free_or_its_time_is_over() {
    let pool = Pool::of_descriptors(b"+");
    let lease = lease(&pool.join(4).expect("a pool"), 4);
    let (first, slot) = (lease.take(), lease.take());
    assert!(!lease.must_return(&first) && !lease.must_return(&slot));
    lease.give_back(first);
    assert!(lease.must_return(&slot), "that one costs nobody anything");
    let first = lease.take();
    while !lease.must_return(&slot) {
        std::thread::sleep(Duration::from_millis(10));
    }
    [first, slot].into_iter().for_each(|hand| lease.give_back(hand));
}

#[test]
fn a_signal_or_the_end_puts_all_back() {
    let pool = Pool::of_descriptors(b"abc");
    let budget = pool.join(4).expect("a pool");
    let returner = budget.returner();
    let first = lease(&budget, 4);
    let hands = [first.take(), first.take(), first.take()];
    assert_eq!(pool.left(), 1);
    returner();
    assert_eq!((pool.left(), first.try_take().is_none()), (3, true), "and takes none any more");
    hands.into_iter().for_each(|hand| first.give_back(hand));
    assert_eq!(pool.left(), 3, "nothing twice");
    drop(first);
    drop((budget, returner));
    let budget = pool.join(4).expect("a pool");
    let second = lease(&budget, 4);
    let lost = [second.take(), second.take()];
    assert_eq!(pool.left(), 2);
    drop((second, budget));
    assert_eq!(pool.content(), b"abc", "what a thread that panicked had");
    drop(lost);
}

#[test]
fn what_is_no_pool_is_refused() {
    let refused = |flags: String| {
        let auth = Auth::from_flags(OsStr::new(&flags)).expect("slots are named").expect("they can be read");
        Jobserver::join(&auth, 2, None).err().expect("refused")
    };
    let (read, write) = rustix::pipe::pipe().expect("a pipe");
    let (other, _other_end) = rustix::pipe::pipe().expect("a pipe");
    let file = tempfile::tempfile().expect("a file");
    let fds = |one: &dyn AsFd, two: &dyn AsFd| {
        format!("--jobserver-auth={},{}", one.as_fd().as_raw_fd(), two.as_fd().as_raw_fd())
    };
    assert!(matches!(refused("--jobserver-auth=900,901".to_owned()), JobserverFault::KeptBack), "closed");
    assert!(matches!(refused(fds(&write, &read)), JobserverFault::KeptBack), "the wrong way round");
    assert!(matches!(refused(fds(&other, &write)), JobserverFault::Unfit { .. }), "two pipes");
    assert!(matches!(refused(fds(&file, &file)), JobserverFault::Unfit { .. }), "a file");
    let fifo = |path: &str| format!("--jobserver-auth=fifo:{path}");
    assert!(matches!(refused(fifo("/nowhere/fifo")), JobserverFault::System { .. }));
    assert!(matches!(refused(fifo("/dev/null")), JobserverFault::Unfit { .. }));
}
