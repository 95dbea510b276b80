//! The hands of a run: how many workers there are, where they come from, and a thread that attends to signals. Asks what the files lie on.

use crate::request::SumRequest;
use crate::words::NAME;
use crew::budget::{Lease, Waiting};
use digests::DigestRoom;
use mh_kit::context::Context;
use mh_kit::report::counted;
use mh_kit::sharing::{self, Shared};
use mh_kit::width::{self, Bound};

/// LIMIT: memory of a run that nobody gave more: whatever the files, and however many cores.
const MEMORY_BYTES: u64 = 64 << 20;

/// How wide a run is, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunWidth {
    /// The most workers.
    pub workers: usize,
    /// Workers that share a hand, since they wait.
    pub workers_a_hand: usize,
    /// For the plan and the report.
    pub shown: String,
    /// Why.
    pub why: String,
}

/// Decides how wide a run is. `sizes` are those of the files that were typed, if all are regular files.
pub fn width(context: &Context, request: &SumRequest, sizes: Option<&[u64]>) -> RunWidth {
    let asked = request.shared.hands_asked();
    let allowed = asked.unwrap_or_else(|| context.machine.hands_allowed()).max(1);
    let paths = request.files.iter().map(Vec::as_slice).chain(request.judging.is_some().then_some(&b"."[..]));
    if let Some(bound) = width::bound(&context.host, asked, || allowed, paths) {
        let shown = bound.shown();
        let Bound { workers, workers_a_hand, why } = bound;
        return RunWidth { workers, workers_a_hand, shown, why };
    }
    let chains = request.algorithms.iter().filter(|algorithm| !algorithm.is_divisible()).count();
    let is_divided = request.algorithms.iter().any(|algorithm| algorithm.is_divisible());
    // One file without pieces: a hand for each of its chains, and one that reads ahead.
    let lone = sizes.is_some_and(|sizes| sizes.len() == 1) && request.judging.is_none() && !request.is_recursive;
    let (workers, why) = match asked {
        _ if lone && !is_divided && chains + 1 < allowed => {
            (chains + 1, "one file whose bytes are hashed in order: a hand reads ahead".to_owned())
        }
        Some(_) => (allowed, "asked for".to_owned()),
        None => (allowed, format!("{allowed} allowed CPUs")),
    };
    RunWidth { workers, workers_a_hand: 1, shown: counted(workers as u64, "hand"), why }
}

/// Room for pieces.
pub fn room(request: &SumRequest, workers: usize) -> DigestRoom {
    DigestRoom::new(workers, request.shared.memory.unwrap_or(MEMORY_BYTES))
}

/// Hands of a run.
pub struct DigestHands {
    budget: Shared,
    /// Where they come from.
    pub lease: Box<dyn Lease>,
}

impl DigestHands {
    /// Takes part in the budget.
    pub fn new(context: &Context, request: &SumRequest, width: &RunWidth, what: String) -> Self {
        let (priority, weight) = (request.shared.priority().class(), request.shared.weight());
        let useful_width = width.workers.div_ceil(width.workers_a_hand);
        let budget = sharing::budget(context, useful_width, priority);
        if let Some(why) = &budget.why_alone {
            sharing::tell_why_alone(context, NAME, why);
        }
        let lease = budget.budget.lease(crew::budget::Request { priority, weight, useful_width, what });
        let lease = if width.workers_a_hand > 1 {
            Box::new(Waiting::on(lease, width.workers_a_hand)) as Box<dyn Lease>
        } else {
            lease
        };
        Self { budget, lease }
    }

    /// Whose they were, where that is worth a line.
    pub fn from(&self) -> Option<&'static str> {
        self.budget.hands_from(self.lease.as_ref())
    }
}
