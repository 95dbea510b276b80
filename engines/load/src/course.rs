//! Which connection begins a transaction, and when: arrivals, the queue of those that wait for a connection, the policy for overload. Pure: the
//! generator tells the time and what has ended, so that whole runs can be simulated.

use crate::arrivals::{ArrivalModel, ConnectionClock, RandomSource, Schedule, Think};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// What becomes of transactions that are due while every connection is busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overload {
    /// They wait, up to this many; what comes behind is dropped and counted.
    Queue(usize),
    /// They are dropped and counted at once.
    Drop,
}

/// LIMIT: eight bytes each; a server that is a million transactions behind is not going to catch up.
pub const QUEUE_MAX: usize = 1_000_000;

impl Default for Overload {
    fn default() -> Self {
        Self::Queue(QUEUE_MAX)
    }
}

/// A transaction that is to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beginning {
    /// Of the clients of this course.
    pub client: usize,
    /// When it was due.
    pub planned: u64,
    /// When it was due and its connection free.
    pub ready: u64,
}

/// The course of one thread's clients.
#[derive(Debug)]
pub struct Course {
    pacing: Pacing,
    /// Clients that are free, and since when.
    idle: VecDeque<(usize, u64)>,
    random: RandomSource,
    end: u64,
    dropped: u64,
}

#[derive(Debug)]
enum Pacing {
    /// Clients that think, by the instant at which they are done with it.
    Closed {
        think: Think,
        thinking: BinaryHeap<Reverse<(u64, usize)>>,
    },
    Open {
        next: Option<u64>,
        schedule: Box<Schedule>,
        waiting: VecDeque<u64>,
        overload: Overload,
    },
    /// Clients that are idle by the instant of their next transaction, which may have passed. Behind it, when each became free.
    Clocked {
        clocks: Vec<ConnectionClock>,
        due: BinaryHeap<Reverse<(u64, usize, u64)>>,
    },
}

/// This thread's part of the load.
#[derive(Clone, Copy, Debug)]
pub struct CoursePart {
    /// Which thread it is.
    pub thread: usize,
    /// How many there are.
    pub threads: usize,
    /// Clients of this thread.
    pub clients: usize,
    /// The first of them among all.
    pub first_client: usize,
    /// All clients of the run.
    pub clients_of_all: usize,
}

impl Course {
    /// A course that begins no transaction at `end_ns` or later. All clients are away until they are `back`.
    pub fn new(arrivals: &ArrivalModel, overload: Overload, part: CoursePart, seed: u64, end_ns: u64) -> Self {
        let pacing = match arrivals {
            ArrivalModel::Closed(think) => Pacing::Closed { think: *think, thinking: BinaryHeap::new() },
            ArrivalModel::Open { rate, spacing } => {
                let mut schedule = Box::new(Schedule::new(rate.clone(), *spacing, seed, part.thread, part.threads));
                Pacing::Open { next: schedule.next(), schedule, waiting: VecDeque::new(), overload }
            }
            ArrivalModel::Clocked { rate, jitter_ns } => {
                let clock =
                    |client| ConnectionClock::new(*rate, *jitter_ns, part.first_client + client, part.clients_of_all);
                Pacing::Clocked { clocks: (0..part.clients).map(clock).collect(), due: BinaryHeap::new() }
            }
        };
        // Another stream than the schedule's.
        let random = RandomSource::new(!seed, part.thread);
        Self { pacing, idle: VecDeque::new(), random, end: end_ns, dropped: 0 }
    }

    /// A client has a connection, for the first time or once more. Where there is think time, its user begins with a part of it, so that not all come at once.
    pub fn back(&mut self, client: usize, now: u64) {
        match &mut self.pacing {
            Pacing::Closed { think, thinking } => {
                let first = self.random.unit() * think.mean_ns as f64;
                thinking.push(Reverse((now + first as u64, client)));
            }
            Pacing::Open { .. } => self.idle.push_back((client, now)),
            Pacing::Clocked { clocks, due } => {
                due.push(Reverse((clocks[client].next_ns(&mut self.random), client, now)));
            }
        }
    }

    /// A client's transaction has ended.
    pub fn ended(&mut self, client: usize, now: u64) {
        match &mut self.pacing {
            Pacing::Closed { think, thinking } => {
                thinking.push(Reverse((now + think.draw_ns(&mut self.random), client)));
            }
            Pacing::Open { .. } | Pacing::Clocked { .. } => self.back(client, now),
        }
    }

    /// The next transaction that is to begin now; ask until there is none.
    pub fn begin(&mut self, now: u64) -> Option<Beginning> {
        self.admit(now);
        match &mut self.pacing {
            Pacing::Closed { thinking, .. } => {
                let Reverse((planned, _)) = *thinking.peek()?;
                if planned > now || planned >= self.end {
                    return None;
                }
                let Reverse((planned, client)) = thinking.pop()?;
                Some(Beginning { client, planned, ready: planned })
            }
            Pacing::Open { waiting, .. } => {
                let (client, free) = *self.idle.front()?;
                let planned = waiting.pop_front()?;
                self.idle.pop_front();
                Some(Beginning { client, planned, ready: planned.max(free) })
            }
            Pacing::Clocked { due, .. } => {
                let Reverse((planned, ..)) = *due.peek()?;
                if planned > now || planned >= self.end {
                    return None;
                }
                let Reverse((planned, client, free)) = due.pop()?;
                Some(Beginning { client, planned, ready: planned.max(free) })
            }
        }
    }

    /// When there may be something to begin though nothing ends; none if there is nothing more.
    pub fn next_due(&self) -> Option<u64> {
        let next = match &self.pacing {
            Pacing::Closed { thinking, .. } => thinking.peek().map(|Reverse((planned, _))| *planned),
            Pacing::Open { next, .. } => *next,
            Pacing::Clocked { due, .. } => due.peek().map(|Reverse((planned, ..))| *planned),
        };
        next.filter(|next| *next < self.end)
    }

    /// Transactions that are due and wait for a connection.
    pub fn waiting(&self) -> usize {
        match &self.pacing {
            Pacing::Open { waiting, .. } => waiting.len(),
            Pacing::Closed { .. } | Pacing::Clocked { .. } => 0,
        }
    }

    /// Transactions dropped since this was last asked.
    pub fn take_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped)
    }

    /// What was due until `now` gets into the queue, or is dropped.
    fn admit(&mut self, now: u64) {
        let Pacing::Open { next, schedule, waiting, overload } = &mut self.pacing else { return };
        let most = match overload {
            Overload::Queue(most) => *most,
            // As many as can begin at once.
            Overload::Drop => self.idle.len(),
        };
        while let Some(planned) = next.filter(|planned| *planned <= now && *planned < self.end) {
            match waiting.len() < most {
                true => waiting.push_back(planned),
                false => self.dropped += 1,
            }
            *next = schedule.next();
        }
    }
}

#[cfg(test)]
mod tests;
