//! Job slots for the programs that a runner starts: a pipe with a byte for each core that none of its jobs and no other run needs
//! now. Each byte stands for a hand, held by a proxy of the lowest class. Theory: `foundation/crew/BUDGET.md`.

use crate::budget::{Hand, Proxy};
use crate::sync::{Mutex, MutexGuard, lock};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, openat};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::time::Timespec;
use serde::Serialize;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

/// What a slot's byte is. Programs give back what they read and ask nothing of it.
const SLOT: u8 = b'+';

/// While slots that others are entitled to are out, the pipe is watched for them, and so often the table. As a hungry run's look.
const DEBT_LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 160_000_000 };

/// A pool of slots.
pub struct Server {
    proxy: Box<dyn Proxy>,
    pipe: Pipe,
    bell: OwnedFd,
    state: Mutex<State>,
}

/// Where the bytes are.
struct Pipe {
    /// Of our own, both ways: a read must not wait, a write cannot (the pipe holds more bytes than there are CPUs).
    own: OwnedFd,
    given: Given,
}

/// What children get.
enum Given {
    Descriptors([OwnedFd; 2]),
    Name(PathBuf),
}

#[derive(Default)]
struct State {
    /// One for each byte that is in the pipe or with a program.
    hands: Vec<Hand>,
    /// How many there may be.
    wanted: usize,
    books: SlotBooks,
    is_closed: bool,
}

/// What became of the slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SlotBooks {
    /// The most that were out at once, unread ones included.
    pub offered_most: usize,
    /// Slots that had not come back when no job ran any more: whoever had them was killed, or lives on.
    pub leaked: usize,
    /// Bytes that came back and had never been given.
    pub surplus: usize,
}

impl Server {
    /// A pool whose ends children inherit: every make understands that.
    pub fn of_descriptors(proxy: Box<dyn Proxy>) -> io::Result<Self> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
        // A description of our own: O_NONBLOCK on theirs would break programs that rely on a read that waits.
        let name = format!("/proc/self/fd/{}", read.as_raw_fd());
        Self::new(proxy, PathBuf::from(name), |_| Given::Descriptors([read, write]))
    }

    /// A pool with a name, which is removed at the end. COMPAT: fatal to make before 4.4.
    pub fn named(proxy: Box<dyn Proxy>, path: PathBuf) -> io::Result<Self> {
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        Self::new(proxy, path, Given::Name)
    }

    fn new(proxy: Box<dyn Proxy>, path: PathBuf, given: impl FnOnce(PathBuf) -> Given) -> io::Result<Self> {
        let own = openat(CWD, &path, OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { proxy, pipe: Pipe { own, given: given(path) }, bell, state: Mutex::new(State::default()) })
    }

    /// What stands behind `--jobserver-auth=`.
    pub fn auth(&self) -> String {
        match &self.pipe.given {
            Given::Descriptors([read, write]) => format!("{},{}", read.as_raw_fd(), write.as_raw_fd()),
            Given::Name(path) => format!("fifo:{}", path.display()),
        }
    }

    /// Descriptors that children inherit under the same numbers.
    pub fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        match &self.pipe.given {
            Given::Descriptors(both) => both.iter().map(AsFd::as_fd).collect(),
            Given::Name(_) => Vec::new(),
        }
    }

    /// Says that up to `slots` cores are not needed by jobs. Those there are more of are taken back: at once where nobody uses them,
    /// else when they come back.
    pub fn offer(&self, slots: usize) {
        let mut state = lock(&self.state);
        if state.wanted == slots {
            return;
        }
        state.wanted = slots;
        let owes = self.look(&mut state);
        drop(state);
        if owes {
            self.wake();
        }
    }

    /// No job runs: whatever is out is lost, and its hands are free.
    pub fn settle(&self) {
        let mut state = lock(&self.state);
        if !state.hands.is_empty() || state.wanted > 0 {
            self.settle_state(&mut state);
        }
    }

    fn settle_state(&self, state: &mut MutexGuard<'_, State>) {
        state.wanted = 0;
        self.look(state);
        let lost = std::mem::take(&mut state.hands);
        state.books.leaked += lost.len();
        lost.into_iter().for_each(|hand| self.proxy.give_back(hand));
    }

    /// Takes all back and lets [`Server::serve`] end.
    pub fn close(&self) -> SlotBooks {
        let mut state = lock(&self.state);
        self.settle_state(&mut state);
        state.is_closed = true;
        let books = state.books;
        drop(state);
        // Now, and not when the last thread lets go of the pipe: the process may end before that.
        self.pipe.remove_name();
        self.wake();
        books
    }

    /// Gives others their hands back when they are entitled to them, until it is closed: for a thread of its own, which sleeps
    /// while nobody is hungry.
    pub fn serve(&self) {
        loop {
            let moment = self.proxy.moment();
            let mut state = lock(&self.state);
            if state.is_closed {
                return;
            }
            let owes = self.look(&mut state);
            drop(state);
            if owes {
                let mut both = [PollFd::new(&self.pipe.own, PollFlags::IN), PollFd::new(&self.bell, PollFlags::IN)];
                let _or_interrupted = poll(&mut both, Some(&DEBT_LOOK));
                let _it_may_be_silent = rustix::io::read(&self.bell, &mut [0_u8; 8]);
            } else {
                self.proxy.sleep(moment);
            }
        }
    }

    fn wake(&self) {
        let _it_rings_already = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
        self.proxy.ring();
    }

    /// One look: back with what is not wanted or others are entitled to, then out with what can be had. Whether more must come
    /// back than nobody uses.
    fn look(&self, state: &mut State) -> bool {
        while self.pipe.unread() > state.hands.len() && self.pipe.take() {
            state.books.surplus += 1;
        }
        loop {
            let too_many = state.hands.len() > state.wanted;
            let must_return = |hand: &Hand| too_many || self.proxy.must_return(hand);
            let Some(at) = state.hands.iter().rposition(must_return) else { break };
            if !self.pipe.take() {
                return true;
            }
            self.proxy.give_back(state.hands.remove(at));
        }
        while state.hands.len() < state.wanted
            && let Some(hand) = self.proxy.try_take()
        {
            self.pipe.give();
            state.hands.push(hand);
        }
        state.books.offered_most = state.books.offered_most.max(state.hands.len());
        false
    }
}

impl Pipe {
    /// Slots that nobody has taken. FIONREAD counts under the pipe's lock.
    fn unread(&self) -> usize {
        rustix::io::ioctl_fionread(&self.own).map_or(0, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX))
    }

    /// Takes a slot back, if one is there.
    fn take(&self) -> bool {
        loop {
            match rustix::io::read(&self.own, &mut [0]) {
                Err(Errno::INTR) => {}
                other => return other == Ok(1),
            }
        }
    }

    fn remove_name(&self) {
        if let Given::Name(path) = &self.given {
            let _it_may_be_gone = rustix::fs::unlink(path);
        }
    }

    fn give(&self) {
        // LIMIT: a full pipe is one that a program has filled with bytes of its own; then there are slots enough.
        while rustix::io::write(&self.own, &[SLOT]) == Err(Errno::INTR) {}
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.remove_name();
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Server").field("auth", &self.auth()).finish_non_exhaustive()
    }
}

/// MAKEFLAGS for a child: the user's own flags in `old`, with `slots + 1` jobs and this pool in place of any other.
pub fn flags(old: &[u8], slots: usize, auth: &str) -> Vec<u8> {
    let words: Vec<&[u8]> = old.split(|byte| *byte == b' ').collect();
    let end = words.iter().position(|word| *word == b"--").unwrap_or(words.len());
    let is_kept = |word: &&&[u8]| !word.starts_with(b"-j") && !word.starts_with(b"--job");
    let mut flags: Vec<u8> = words[..end].iter().filter(is_kept).copied().collect::<Vec<_>>().join(&b' ');
    flags.extend(format!(" -j{} --jobserver-auth={auth}", slots + 1).into_bytes());
    for word in &words[end..] {
        flags.push(b' ');
        flags.extend_from_slice(word);
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_flags_stay_and_another_pool_goes() {
        let made = |old: &str| String::from_utf8(flags(old.as_bytes(), 1, "3,4")).expect("text");
        assert_eq!(made(""), " -j2 --jobserver-auth=3,4");
        assert_eq!(made("k -j8 --jobserver-auth=fifo:/x -- A=-j9"), "k -j2 --jobserver-auth=3,4 -- A=-j9");
        assert_eq!(made(" -j"), " -j2 --jobserver-auth=3,4");
    }
}
