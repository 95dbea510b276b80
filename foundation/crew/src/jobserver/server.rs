//! Job slots for the programs that a runner starts: a pipe with a byte for each core that none of its jobs and no other run needs
//! now. Each byte stands for a hand, held by a proxy of the lowest class. Theory: `foundation/crew/BUDGET.md`.

use super::pool::Pool;
use crate::budget::{Attention, Hand, Proxy};
use crate::sync::{Mutex, MutexGuard, lock};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::time::Timespec;
use serde::Serialize;
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;

/// While slots that others are entitled to are out, the pipe is watched for them, and so often the table. As a hungry run's look.
const DEBT_LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 160_000_000 };

/// A pool of slots.
pub struct SlotServer {
    proxy: Box<dyn Proxy>,
    pool: Pool,
    wake_word: OwnedFd,
    state: Mutex<State>,
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

impl SlotServer {
    /// Of the slots that stand for hands of `proxy`.
    pub fn new(proxy: Box<dyn Proxy>, pool: Pool) -> io::Result<Self> {
        let wake_word = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { proxy, pool, wake_word, state: Mutex::new(State::default()) })
    }

    /// What children are told of.
    pub fn pool(&self) -> &Pool {
        &self.pool
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

    /// Takes all back and lets [`SlotServer::serve`] end.
    pub fn close(&self) -> SlotBooks {
        let mut state = lock(&self.state);
        self.settle_state(&mut state);
        state.is_closed = true;
        let books = state.books;
        drop(state);
        // Now, and not when the last thread lets go of the pipe: the process may end before that.
        self.pool.remove_name();
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
            // Slots that lie unread take no CPU from anybody.
            let is_watchful = self.pool.unread() < state.hands.len() || state.hands.len() < state.wanted;
            let attention = if is_watchful { Attention::ExternalPrograms } else { Attention::Table };
            drop(state);
            if owes {
                let mut both = [PollFd::new(&self.pool, PollFlags::IN), PollFd::new(&self.wake_word, PollFlags::IN)];
                let _or_interrupted = poll(&mut both, Some(&DEBT_LOOK));
                let _it_may_be_silent = rustix::io::read(&self.wake_word, &mut [0_u8; 8]);
            } else {
                self.proxy.sleep(moment, attention);
            }
        }
    }

    fn wake(&self) {
        let _it_rings_already = rustix::io::write(&self.wake_word, &1_u64.to_ne_bytes());
        self.proxy.wake();
    }

    /// One look: back with what is not wanted or others are entitled to, then out with what can be had. Whether more must come
    /// back than nobody uses.
    fn look(&self, state: &mut State) -> bool {
        while self.pool.unread() > state.hands.len() && self.pool.take() {
            state.books.surplus += 1;
        }
        loop {
            let too_many = state.hands.len() > state.wanted;
            let must_return = |hand: &Hand| too_many || self.proxy.must_return(hand);
            let Some(at) = state.hands.iter().rposition(must_return) else { break };
            if !self.pool.take() {
                return true;
            }
            self.proxy.give_back(state.hands.remove(at));
        }
        while state.hands.len() < state.wanted
            && let Some(hand) = self.proxy.try_take()
        {
            self.pool.give();
            state.hands.push(hand);
        }
        state.books.offered_most = state.books.offered_most.max(state.hands.len());
        false
    }
}

impl fmt::Debug for SlotServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Server").field("auth", &self.pool.auth()).finish_non_exhaustive()
    }
}
