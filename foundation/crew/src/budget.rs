//! Hands: the right to use one core now. Decides which run may take one, and which run must return one.
//!
//! [`Budget`] and [`Lease`] are what engines see. [`MachineWide`] stands behind them on a user's machine: one table for all
//! runs (`foundation/crew/BUDGET.md`). [`InProcess`] is the budget of one process, for where there is no table.

mod brief;
pub mod census;
pub mod cpu_set;
pub mod entitlement;
pub mod external_programs;
pub mod hands;
mod in_process;
mod inheritance;
pub mod layout;
pub mod lease_token;
pub mod machine_wide;
pub mod memory;
pub mod orders;
pub mod progress;
pub mod row;
mod seat;
mod share;
mod sleep;
pub mod surroundings;
pub mod table;
pub mod view;
mod waiting;
pub mod watch;

pub use brief::{Brief, Joined};
pub use in_process::InProcess;
pub use lease_token::LeaseToken;
pub use machine_wide::{Attention, Company, MachineWide, Proxy};
pub use share::LeaseShare;
pub use surroundings::Surroundings;
pub use table::CrewDirectory;
pub use waiting::Waiting;

use hands::Taken;
use serde::Serialize;

/// How important a run is among the runs that share the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// Gets what nobody else wants.
    Idle,
    /// Gives way to normal work.
    Low,
    /// Everyday work.
    #[default]
    Normal,
    /// Served first.
    High,
}

/// A run's share among the runs of its class: one of 200 gets twice what one of 100 gets, where both want more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Weight(u16);

impl Weight {
    /// LIMIT: 1 to 10,000, as the kernel's `cpu.weight`; what is outside becomes the nearest.
    pub const fn new(weight: u16) -> Self {
        match weight {
            0 => Self(1),
            10_000.. => Self(10_000),
            weight => Self(weight),
        }
    }

    /// The number.
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl Default for Weight {
    fn default() -> Self {
        Self(100)
    }
}

/// What a run asks of the budget.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its class.
    pub priority: Priority,
    /// Its share within the class.
    pub weight: Weight,
    /// The number of hands beyond which it would not get faster.
    pub useful_width: usize,
    /// What it is doing, for people: `tamp -9 db.export`.
    pub what: String,
}

/// One hand. Comes from a lease and must go back to the same lease.
#[derive(Debug)]
#[must_use = "a hand that is dropped is lost to everybody; give it back"]
pub struct Hand {
    pub(crate) place: HandPlace,
}

/// Where a hand stands in the books.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandPlace {
    /// In a counter of this process.
    Counted,
    /// The one that a run begins with, before it takes part.
    Outset,
    /// A CPU's word in the table of one of the lease's seats.
    Cpu { seat: usize, taken: Taken },
    /// On a hand that several workers share ([`Waiting`]).
    Beside { number: usize },
    /// The lease's first hand, which may have begun above capacity.
    First,
    /// One that the run has from the runner that started it.
    Inherited { number: usize },
    /// The job slot that the process was started with.
    ImplicitSlot,
    /// A byte out of make's pipe.
    Slot { byte: u8, since: std::time::Instant },
}

/// Hands for all runs that share it.
pub trait Budget: Send + Sync {
    /// How many hands there are.
    fn capacity(&self) -> usize;
    /// Signs a run up.
    fn lease(&self, request: Request) -> Box<dyn Lease>;
}

/// One run's share of a budget.
pub trait Lease: Send + Sync {
    /// Takes a hand; sleeps until one can be had.
    fn take(&self) -> Hand;
    /// Takes a hand if one can be had now. Leaves the run no hungrier than it was: nobody gives one back for its sake, and time
    /// spent asking again and again is no waiting. Whoever must have a hand in the end waits in [`Lease::take`].
    fn try_take(&self) -> Option<Hand>;
    /// Gives a hand back.
    fn give_back(&self, hand: Hand);
    /// Whether `hand` should go back at this yield point: somebody else is entitled to it, or the run was paused, or it was
    /// taken away while the run was stopped.
    fn must_return(&self, hand: &Hand) -> bool;
    /// Hands taken and given back since the lease began: equal when the run's books balance.
    fn books(&self) -> HandBooks;
    /// What a child needs to use `hands` in this run's place: text for its environment ([`lease_token::VARIABLE`]). The run keeps them
    /// until the child has ended. None where they are in no table.
    fn lease_token(&self, _hands: &[&Hand]) -> Option<LeaseToken> {
        None
    }
    /// Hands that the run had from the runner that started it, when it came.
    fn inherited(&self) -> usize {
        0
    }
    /// Says that from now on the run would not get faster by more than `width` hands. A budget of one process does not mind.
    fn set_useful_width(&self, _width: usize) {}
    /// Has the run say from time to time, in its row, how far `source` says that it is. A budget of one process shows nothing.
    fn show_progress(&self, _source: progress::ProgressSource) {}
    /// Says now how far it is: for a run whose threads compute nothing themselves.
    fn note_progress(&self) {}
    /// Whether now is the time to hire a worker who will ask for a hand more.
    fn may_grow(&self) -> bool {
        true
    }
}

/// Counts of hands over a lease's life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandBooks {
    /// Hands ever taken.
    pub taken: u64,
    /// Hands ever given back.
    pub returned: u64,
    /// Those of them that others had taken away meanwhile, which happens only to a run that was stopped.
    pub lost: u64,
}
