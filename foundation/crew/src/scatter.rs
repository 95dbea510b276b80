//! Trees on many cores: tasks that spawn tasks, stolen by workers that have none, and a node that is left when all below it is done.
//!
//! Engines implement [`Tree`]; [`run`] drives them. It knows no file system: a node is a directory for one engine, anything with
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
/// A *task* is work that nobody has begun: the name of a directory, a handful of files. Begun, it is either done at once or becomes a
/// *node*, which *expands*: each step of its expansion may spawn tasks below it. When expansion is over and everything below it is
/// done, the node is left. Steps of one node's expansion come one at a time; everything else may run in many threads at once.
pub trait Tree: Sync {
    /// Work that nobody has begun.
    type Task: Send;
    /// What stays while something below it is under way.
    type Node: Send + Sync;
    /// Where a node's expansion is: an open directory, a list that is not yet empty.
    type Expansion: Send;
    /// What a worker keeps between tasks: buffers.
    type Scratch;
    /// What is to be reported at the end, in an order that does not depend on which worker found it when.
    type Report: Ord + Send;

    /// Makes what a worker keeps between tasks, in its thread: 0 is the one that called [`run`], others are hired. It is dropped there too, before
    /// whoever waits for the run goes on.
    fn scratch(&self, worker: usize) -> Self::Scratch;
    /// Begins a task below `above`; none for the tasks that the run began with.
    fn begin(
        &self,
        task: Self::Task,
        above: Option<&Arc<TreeNode<Self::Node>>>,
        branch: &mut Branch<'_, Self>,
    ) -> Begun<Self::Node, Self::Expansion>;
    /// Goes on with a node's expansion: a bounded part of it (LIMIT: about a thousand tasks), so that memory stays bounded too.
    fn expand(
        &self,
        tree_node: &Arc<TreeNode<Self::Node>>,
        expansion: &mut Self::Expansion,
        branch: &mut Branch<'_, Self>,
    ) -> Expanded;
    /// Leaves a node: expansion is over and all below it is done.
    fn leave(
        &self,
        tree_node: &TreeNode<Self::Node>,
        above: Option<&Arc<TreeNode<Self::Node>>>,
        branch: &mut Branch<'_, Self>,
    );
    /// More tasks without a node above, once everything that was begun is done: called by one worker while no other has a task. Work that must come after
    /// other work waits for such a turn. If there are no tasks, the run ends.
    fn next_turn(&self) -> Vec<Self::Task> {
        Vec::new()
    }
    /// Takes reports, sorted: all of them at the end of the run, unless a worker found more than it may hold.
    fn tell(&self, reports: Vec<Self::Report>);
}

/// What became of a task.
pub enum Begun<Node, Expansion> {
    /// It is done.
    Done,
    /// It has parts.
    Node(Node, Expansion),
}

/// Whether a node has more to expand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expanded {
    /// Call again.
    More,
    /// That was all.
    Done,
}

/// A node in its place.
pub struct TreeNode<Node> {
    /// What the engine made of it.
    pub node: Node,
    /// Nodes above it.
    pub depth: usize,
    /// Its own expansion, and what has been spawned below it and is not done.
    pending: AtomicUsize,
    /// Taken when the node is left: a chain of a hundred thousand must not be dropped by as many nested calls.
    above: Mutex<Option<Arc<Self>>>,
}

impl<Node> TreeNode<Node> {
    fn new(node: Node, above: Option<Arc<Self>>) -> Arc<Self> {
        let depth = above.as_ref().map_or(0, |above| above.depth + 1);
        Arc::new(Self { node, depth, pending: AtomicUsize::new(1), above: Mutex::new(above) })
    }

    /// The node above; none at the top, and none once this node has been left.
    pub fn above(&self) -> Option<Arc<Self>> {
        lock(&self.above).clone()
    }

    fn spawn(&self, tasks: usize) {
        // ORDER: only counts up; whoever counts down to zero synchronises with all who counted down before.
        self.pending.fetch_add(tasks, Ordering::Relaxed);
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

/// Carries out all `tasks` and what expands from them, and returns what was measured.
///
/// # Panics
/// When the engine panics, and when hands are missing at the end: both are bugs.
pub fn run<T: Tree>(tree: &T, tasks: Vec<T::Task>, width: ThreadWidth, lease: &dyn Lease) -> Scattered {
    let (begin, cpu_before) = (Instant::now(), sys::cpu_clock::process_cpu_ns());
    let width = width.workers.max(1);
    let ran = floor::run(tree, tasks, width, lease);
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
