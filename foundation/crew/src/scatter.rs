//! Trees on many cores: tasks that make tasks, stolen by whoever has none, and a node that is left when all below it is done.
//!
//! Engines implement [`Tree`]; [`run`] drives them. It knows no file system: a node is a folder for one engine, anything with
//! parts for another. Theory (order, bounds, why nothing is lost): `foundation/crew/SCATTER.md`.

mod floor;
mod worker;

use crate::budget::Lease;
use crate::clocks::{StageClock, nanoseconds};
use crate::sync::{Arc, Mutex, lock};
use serde::Serialize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
pub use worker::Branch;

/// What an engine brings.
///
/// A *seed* is a task that nobody has begun: the name of a folder, a handful of files. Begun, it is either done at once or becomes a
/// *node*, which *grows*: each step of its growth may plant seeds below it. When growth is over and everything below it is
/// done, the node is left. Steps of one node's growth come one at a time; everything else may run in many threads at once.
pub trait Tree: Sync {
    /// A task that nobody has begun.
    type Seed: Send;
    /// What stays while something below it is under way.
    type Node: Send + Sync;
    /// Where a node's growth is: an open folder, a list that is not yet empty.
    type Growth: Send;
    /// What a worker keeps between tasks: buffers.
    type Scratch;
    /// What is to be told at the end, in an order that does not depend on who found it when.
    type Report: Ord + Send;

    /// Makes what a worker keeps between tasks, in its thread: 0 is the one that called [`run`], others are hired. It is dropped there too, before
    /// whoever waits for the run goes on.
    fn scratch(&self, worker: usize) -> Self::Scratch;
    /// Begins a seed below `above`; none for the seeds that the run began with.
    fn begin(
        &self,
        seed: Self::Seed,
        above: Option<&Arc<Knot<Self::Node>>>,
        branch: &mut Branch<'_, Self>,
    ) -> Begun<Self::Node, Self::Growth>;
    /// Goes on with a node's growth: a bounded piece of it (LIMIT: about a thousand seeds), so that memory stays bounded too.
    fn grow(&self, knot: &Arc<Knot<Self::Node>>, growth: &mut Self::Growth, branch: &mut Branch<'_, Self>) -> Grown;
    /// Leaves a node: growth is over and all below it is done.
    fn leave(&self, knot: &Knot<Self::Node>, above: Option<&Arc<Knot<Self::Node>>>, branch: &mut Branch<'_, Self>);
    /// More seeds without a node above, once everything that was begun is done: called by one worker while no other has a task. What must come after
    /// something else waits for such a turn. No seeds end the run.
    fn next_turn(&self) -> Vec<Self::Seed> {
        Vec::new()
    }
    /// Takes reports, sorted: all of them at the end of the run, unless a worker found more than it may hold.
    fn tell(&self, reports: Vec<Self::Report>);
}

/// What became of a seed.
pub enum Begun<Node, Growth> {
    /// It is done.
    Done,
    /// It has parts.
    Node(Node, Growth),
}

/// Whether a node has more to grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grown {
    /// Call again.
    More,
    /// That was all.
    Done,
}

/// A node in its place.
pub struct Knot<Node> {
    /// What the engine made of it.
    pub node: Node,
    /// Nodes above it.
    pub depth: usize,
    /// Its own growth, and what has been planted below it and is not done.
    pending: AtomicUsize,
    /// Taken when the node is left: a chain of a hundred thousand must not be dropped by as many nested calls.
    above: Mutex<Option<Arc<Self>>>,
}

impl<Node> Knot<Node> {
    fn new(node: Node, above: Option<Arc<Self>>) -> Arc<Self> {
        let depth = above.as_ref().map_or(0, |above| above.depth + 1);
        Arc::new(Self { node, depth, pending: AtomicUsize::new(1), above: Mutex::new(above) })
    }

    /// The node above; none at the top, and none once this node has been left.
    pub fn above(&self) -> Option<Arc<Self>> {
        lock(&self.above).clone()
    }

    fn plant(&self, seeds: usize) {
        // ORDER: only counts up; whoever counts down to zero synchronises with all who counted down before.
        self.pending.fetch_add(seeds, Ordering::Relaxed);
    }

    /// One thing below is done. Whether it was the last.
    fn is_done_with_one(&self) -> bool {
        // ORDER: the last one must see what all others did to the node.
        self.pending.fetch_sub(1, Ordering::AcqRel) == 1
    }
}

/// Threads of a run.
#[derive(Clone, Copy, Debug)]
pub struct ThreadWidth {
    /// The most workers.
    pub workers: usize,
}

/// What a run measured.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Scattered {
    /// From the first task to the last.
    pub wall_ns: u64,
    /// The most hands that it could have used.
    pub width: usize,
    /// The most workers that had a hand at once.
    pub workers: usize,
    /// Tasks that were begun.
    pub tasks: u64,
    /// Tasks that another worker took over.
    pub stolen: u64,
    /// The workers' time. Blocked is time off the CPU inside a task: a disk, a lock of the kernel's.
    pub clock: StageClock,
    /// CPU time of this process, all threads.
    pub process_cpu_ns: u64,
}

/// Carries out all `seeds` and what grows from them, and returns what was measured.
///
/// # Panics
/// When the engine panics, and when hands are missing at the end: both are bugs.
pub fn run<T: Tree>(tree: &T, seeds: Vec<T::Seed>, width: ThreadWidth, lease: &dyn Lease) -> Scattered {
    let (begin, cpu_before) = (Instant::now(), sys::cpu_clock::process_cpu_ns());
    let width = width.workers.max(1);
    let ran = floor::run(tree, seeds, width, lease);
    let books = lease.books();
    assert_eq!(books.taken, books.returned, "every hand taken must have been given back");
    Scattered {
        wall_ns: nanoseconds(begin.elapsed()),
        width,
        workers: ran.workers,
        tasks: ran.tasks,
        stolen: ran.stolen,
        clock: ran.clock,
        process_cpu_ns: sys::cpu_clock::process_cpu_ns() - cpu_before,
    }
}
