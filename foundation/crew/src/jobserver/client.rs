//! A budget whose hands are job slots: the first is the one that this process was started with, the others are bytes of the
//! pipe. Each goes back the moment nobody needs it. Sets nothing on the descriptors it was given: it opens the pipe anew.

use super::{Auth, JobserverFault};
use crate::budget::machine_wide::ShownRow;
use crate::budget::{Budget, Hand, HandBooks, HandPlace, Lease, MachineWide, Request};
use crate::sync::{Arc, Condvar, Mutex, MutexGuard, lock, wait};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use sys::own_table::HandedFd;

/// How long a slot is kept before it is offered to the others, who cannot say that they wait. Shorter costs two system calls each
/// time; longer keeps a compiler of the same `make` waiting.
const SLICE: Duration = Duration::from_secs(1);

/// How long a thread that cannot sleep on the pipe waits for a slot before it looks.
const PATIENCE: Duration = Duration::from_millis(10);

/// How long one sleeps there that nobody wakes.
const LONGEST_SLEEP: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// A pool of job slots as a budget.
pub struct Jobserver {
    shared: Arc<Shared>,
    width: usize,
    table: Option<MachineWide>,
}

struct Shared {
    pipe: Pipe,
    state: Mutex<State>,
    changed: Condvar,
}

/// The pool, through descriptions of our own: theirs are shared with every other program, and O_NONBLOCK on them would break
/// those that rely on a read that waits. Threads with tables of descriptors of their own use them too.
struct Pipe {
    read: HandedFd,
    write: HandedFd,
    /// Wakes the thread that sleeps on the pipe for all.
    wake_word: HandedFd,
}

#[derive(Default)]
struct State {
    /// Whether the slot that the process was started with is in use.
    implicit_is_out: bool,
    /// The bytes that are in use: the same ones go back.
    out: Vec<u8>,
    is_watched: bool,
    /// The process is about to end: nothing is taken any more.
    is_closed: bool,
}

impl Jobserver {
    /// Takes part in the pool that `auth` leads to, with up to `width` slots. `table` shows what it has to others.
    pub fn join(auth: &Auth, width: usize, table: Option<MachineWide>) -> Result<Self, JobserverFault> {
        let pipe = Pipe::open(auth)?;
        let shared = Shared { pipe, state: Mutex::new(State::default()), changed: Condvar::new() };
        Ok(Self { shared: Arc::new(shared), width: width.max(1), table })
    }

    /// What gives all slots back at once, for a process that is about to end by a signal.
    pub fn returner(&self) -> impl Fn() + Send + 'static {
        let shared = Arc::clone(&self.shared);
        move || shared.close()
    }
}

impl Budget for Jobserver {
    fn capacity(&self) -> usize {
        self.width
    }

    fn lease(&self, request: Request) -> Box<dyn Lease> {
        let row = self.table.as_ref().and_then(|table| table.show(&request));
        let width = AtomicUsize::new(request.useful_width.clamp(1, self.width));
        let books = Mutex::new(HandBooks::default());
        Box::new(SlotLease { shared: Arc::clone(&self.shared), most: self.width, width, books, row })
    }
}

struct SlotLease {
    shared: Arc<Shared>,
    most: usize,
    width: AtomicUsize,
    books: Mutex<HandBooks>,
    row: Option<ShownRow>,
}

impl SlotLease {
    fn held(&self) -> usize {
        let books = lock(&self.books);
        (books.taken - books.returned) as usize
    }

    fn has_room(&self) -> bool {
        // ORDER: SeqCst for uniformity: this is changed once in a while.
        self.held() < self.width.load(Ordering::SeqCst)
    }

    fn attempt(&self, state: &mut State) -> Option<Hand> {
        if state.is_closed || !self.has_room() {
            return None;
        }
        let place = if state.implicit_is_out {
            let byte = self.shared.pipe.take()?;
            state.out.push(byte);
            HandPlace::Slot { byte, since: Instant::now() }
        } else {
            state.implicit_is_out = true;
            HandPlace::ImplicitSlot
        };
        lock(&self.books).taken += 1;
        self.show();
        Some(Hand { place })
    }

    fn show(&self) {
        if let Some(row) = &self.row {
            row.set_external(self.held());
        }
    }

    /// Sleeps until there may be a slot. One thread sleeps on the pipe, the others on that one.
    fn wait_for_a_change<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        if state.is_watched || state.is_closed || !self.has_room() {
            return wait(&self.shared.changed, state);
        }
        state.is_watched = true;
        drop(state);
        self.shared.pipe.sleep();
        let mut state = lock(&self.shared.state);
        state.is_watched = false;
        state
    }
}

impl Lease for SlotLease {
    fn take(&self) -> Hand {
        let mut state = lock(&self.shared.state);
        loop {
            if let Some(hand) = self.attempt(&mut state) {
                // The next one watches.
                self.shared.changed.notify_one();
                return hand;
            }
            state = self.wait_for_a_change(state);
        }
    }

    fn try_take(&self) -> Option<Hand> {
        self.attempt(&mut lock(&self.shared.state))
    }

    fn give_back(&self, hand: Hand) {
        let mut state = lock(&self.shared.state);
        match hand.place {
            HandPlace::ImplicitSlot => state.implicit_is_out = false,
            HandPlace::Slot { byte, .. } => state.give_back(byte, &self.shared.pipe),
            _ => debug_assert!(false, "a hand goes back to the lease it came from"),
        }
        lock(&self.books).returned += 1;
        self.show();
        if state.is_watched {
            self.shared.pipe.wake();
        }
        self.shared.changed.notify_all();
    }

    fn must_return(&self, hand: &Hand) -> bool {
        let HandPlace::Slot { since, .. } = hand.place else { return false };
        let implicit_is_free = !lock(&self.shared.state).implicit_is_out;
        implicit_is_free || since.elapsed() >= SLICE || self.held() > self.width.load(Ordering::SeqCst)
    }

    fn books(&self) -> HandBooks {
        *lock(&self.books)
    }

    fn set_useful_width(&self, width: usize) {
        self.width.store(width.clamp(1, self.most), Ordering::SeqCst);
        let state = lock(&self.shared.state);
        self.shared.pipe.wake();
        self.shared.changed.notify_all();
        drop(state);
    }
}

impl State {
    fn give_back(&mut self, byte: u8, pipe: &Pipe) {
        // Not there: it went back when the process was told to end.
        if let Some(index) = self.out.iter().position(|out| *out == byte) {
            self.out.swap_remove(index);
            pipe.give_back(byte);
        }
    }
}

impl Shared {
    fn close(&self) {
        let mut state = lock(&self.state);
        state.is_closed = true;
        std::mem::take(&mut state.out).into_iter().for_each(|byte| self.pipe.give_back(byte));
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.close();
    }
}

impl Pipe {
    fn open(auth: &Auth) -> Result<Self, JobserverFault> {
        let unfit = |why| JobserverFault::Unfit { text: auth.text(), why };
        let system = |cause: Errno| match (auth, cause) {
            (Auth::Descriptors { .. }, Errno::NOENT) => JobserverFault::KeptBack,
            (_, cause) => JobserverFault::System { text: auth.text(), cause: cause.into() },
        };
        let open = |path: &Path, how| {
            // O_NONBLOCK: neither opening a name that leads to something else nor reading may ever wait.
            let flags = how | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
            openat(CWD, path, flags, Mode::empty()).map_err(system)
        };
        let (from, to) = match auth {
            Auth::Fifo(path) => (path.clone(), path.clone()),
            Auth::Descriptors { read, write } => {
                if !opens_for(*read, OFlags::RDONLY) || !opens_for(*write, OFlags::WRONLY) {
                    return Err(JobserverFault::KeptBack);
                }
                (in_proc(*read), in_proc(*write))
            }
        };
        // Looked at before it is opened for use: opening a device may do something.
        let place = |path: &Path| openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).and_then(fstat);
        let (source, target) = (place(&from).map_err(system)?, place(&to).map_err(system)?);
        if !FileType::from_raw_mode(source.st_mode).is_fifo() || !FileType::from_raw_mode(target.st_mode).is_fifo() {
            return Err(unfit("they are no pipe"));
        }
        if (source.st_dev, source.st_ino) != (target.st_dev, target.st_ino) {
            return Err(unfit("they are ends of two pipes"));
        }
        let read = open(&from, OFlags::RDONLY)?;
        let write = open(&to, OFlags::WRONLY)?;
        let wake_word = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(system)?;
        Ok(Self { read: read.into(), write: write.into(), wake_word: wake_word.into() })
    }

    /// A slot, if one is free.
    fn take(&self) -> Option<u8> {
        let mut byte = [0];
        // Where a thread with a table of its own could not give it back it takes none.
        self.write.reach().ok()?;
        loop {
            match rustix::io::read(&self.read, &mut byte) {
                Ok(1) => return Some(byte[0]),
                Err(Errno::INTR) => {}
                // Empty. Never closed: this process has a writing end itself.
                _ => return None,
            }
        }
    }

    fn give_back(&self, byte: u8) {
        loop {
            match rustix::io::write(&self.write, &[byte]) {
                // LIMIT: a pipe holds thousands of slots and this one was in it: it is full only if somebody fills it with others.
                Err(Errno::AGAIN) => {
                    let _or_interrupted = poll(&mut [PollFd::new(&self.write, PollFlags::OUT)], None);
                }
                Err(Errno::INTR) => {}
                _ => return,
            }
        }
    }

    /// Sleeps until a slot is free or the wake word wakes. Others may be faster.
    fn sleep(&self) {
        if self.read.reach().and_then(|_| self.wake_word.reach()).is_err() {
            // LIMIT: a thread whose own table of descriptors is full looks again and again.
            std::thread::sleep(PATIENCE);
            return;
        }
        let mut both = [PollFd::new(&self.read, PollFlags::IN), PollFd::new(&self.wake_word, PollFlags::IN)];
        // LIMIT: not for ever: a thread whose own table of descriptors is full cannot wake.
        let _or_interrupted = poll(&mut both, Some(&LONGEST_SLEEP));
        let _it_may_be_silent = rustix::io::read(&self.wake_word, &mut [0_u8; 8]);
    }

    fn wake(&self) {
        let _it_rings_already = rustix::io::write(&self.wake_word, &1_u64.to_ne_bytes());
    }
}

fn in_proc(descriptor: i32) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{descriptor}"))
}

/// Whether `descriptor` is open in this process, for `how` or for both: its `flags` in `/proc/self/fdinfo` (proc(5)), octal.
/// LIE: opening it anew through `/proc` works in any direction, whatever it was open for.
fn opens_for(descriptor: i32, how: OFlags) -> bool {
    let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{descriptor}")).unwrap_or_default();
    let flags = text.lines().find_map(|line| u32::from_str_radix(line.strip_prefix("flags:")?.trim(), 8).ok());
    let access = flags.map(|flags| OFlags::from_bits_retain(flags).intersection(OFlags::RWMODE));
    access.is_some_and(|access| access == how || access == OFlags::RDWR)
}
