//! One worker: its end of a deque, the task it carries out, and what a task may ask of it.
//! Does not sleep, hire or wake; `floor` does.

use super::floor::Floor;
use super::{Begun, Expanded, Tree, TreeNode};
use crate::clocks::StageClock;
use crate::sync::Arc;
use crossbeam_deque::Worker as Deque;

/// LIMIT: tasks that a worker keeps before it finishes them instead of spawning more. More costs memory (a hundred bytes each), fewer
/// leaves thieves without work.
const KEPT_TASKS: usize = 2048;

/// LIMIT: reports that a worker holds until the end; what is beyond is told at once, in order as far as it goes.
const KEPT_REPORTS: usize = 4096;

/// What lies in a deque.
pub(super) enum DequeTask<T: Tree + ?Sized> {
    Begin { task: T::Task, above: Option<Arc<TreeNode<T::Node>>> },
    Expand { tree_node: Arc<TreeNode<T::Node>>, expansion: T::Expansion },
}

/// A worker while it carries out tasks, as the engine sees it.
pub struct Branch<'a, T: Tree + ?Sized> {
    // Fields are dropped in this order: a hand may need descriptors that end with the scratch.
    pub(super) hand: floor_hand::FloorHand<'a>,
    /// What the engine keeps between tasks.
    pub scratch: T::Scratch,
    pub(super) deque: Deque<DequeTask<T>>,
    pub(super) floor: &'a Floor<'a, T>,
    /// Hires one more worker, where there is work for it and it is not too early.
    pub(super) hire: Box<dyn Fn() + 'a>,
    pub(super) number: usize,
    pub(super) clock: StageClock,
    /// Time within a task that does not count as the task's.
    pub(super) away_ns: u64,
    pub(super) tasks: u64,
    pub(super) stolen: u64,
    pub(super) reports: Vec<T::Report>,
    spawned: Vec<T::Task>,
}

/// The hand of a worker, so that both files mean the same thing by it.
pub(super) mod floor_hand {
    use crate::budget::Lease;

    /// Held or not; goes back when dropped, also while a panic unwinds.
    pub struct FloorHand<'a> {
        pub lease: &'a dyn Lease,
        pub held: Option<crate::budget::Hand>,
    }

    impl FloorHand<'_> {
        pub fn give_back(&mut self) {
            self.held.take().into_iter().for_each(|hand| self.lease.give_back(hand));
        }

        pub fn must_return(&self) -> bool {
            self.held.as_ref().is_some_and(|hand| self.lease.must_return(hand))
        }
    }

    impl Drop for FloorHand<'_> {
        fn drop(&mut self) {
            self.give_back();
        }
    }
}

impl<'a, T: Tree> Branch<'a, T> {
    pub(super) fn new(
        floor: &'a Floor<'a, T>,
        number: usize,
        deque: Deque<DequeTask<T>>,
        hire: Box<dyn Fn() + 'a>,
    ) -> Self {
        let hand = floor_hand::FloorHand { lease: floor.lease, held: None };
        let (scratch, clock) = (floor.tree.scratch(number), StageClock::default());
        let (reports, spawned) = (Vec::new(), Vec::new());
        let (away_ns, tasks, stolen) = (0, 0, 0);
        Self { hand, scratch, deque, floor, hire, number, clock, away_ns, tasks, stolen, reports, spawned }
    }

    /// Spawns a task below the node that is growing. Tasks of one step are begun in the order in which they were spawned, unless
    /// others steal them.
    pub fn spawn(&mut self, task: T::Task) {
        self.spawned.push(task);
    }

    /// Keeps a report for the end.
    pub fn report(&mut self, report: T::Report) {
        self.reports.push(report);
        if self.reports.len() >= KEPT_REPORTS {
            let mut reports = std::mem::take(&mut self.reports);
            reports.sort();
            self.floor.tree.tell(reports);
        }
    }

    /// Whether somebody would take over a part of this task at once. A task that could go on alone spawns tasks only then: to divide
    /// for nobody costs.
    pub fn has_takers(&self) -> bool {
        self.floor.has_takers() && self.deque.is_empty()
    }

    /// Whether this run has, or could have, more than this worker.
    pub fn has_other_hands(&self) -> bool {
        self.floor.width() > 1
    }

    /// The worker's number: below the width of the run, no two workers at one time have the same.
    pub fn worker(&self) -> usize {
        self.number
    }

    /// A place in a long task at which this worker's hand may go to somebody who is entitled to it.
    pub fn yield_point(&mut self) {
        if self.hand.must_return() {
            self.hand.give_back();
            self.away_ns += self.floor.wait_for_a_hand(self);
            // A run that was brief until now goes on with company.
            (self.hire)();
        }
    }

    /// Carries out one task, and whatever it completes.
    pub(super) fn carry_out(&mut self, task: DequeTask<T>) {
        match task {
            DequeTask::Begin { task, above } => {
                self.tasks += 1;
                let tree = self.floor.tree;
                match tree.begin(task, above.as_ref(), self) {
                    Begun::Done => self.done_below(above),
                    Begun::Node(node, expansion) => self.expand(TreeNode::new(node, above), expansion),
                }
            }
            DequeTask::Expand { tree_node, expansion } => self.expand(tree_node, expansion),
        }
    }

    /// One step of a node's expansion. The rest of it goes back into the deque, so that between two steps there is time to hire, to give
    /// a hand back, and to be stolen from.
    fn expand(&mut self, tree_node: Arc<TreeNode<T::Node>>, mut expansion: T::Expansion) {
        let tree = self.floor.tree;
        let expanded = tree.expand(&tree_node, &mut expansion, self);
        let spawned = std::mem::take(&mut self.spawned);
        tree_node.spawn(spawned.len());
        match expanded {
            Expanded::Done => {
                drop(expansion);
                self.push(&tree_node, spawned);
                self.done_below(Some(tree_node));
            }
            // Beneath its tasks, so that they are finished first: memory stays bounded however many there will be.
            Expanded::More if self.deque.len() + spawned.len() > KEPT_TASKS => {
                self.deque.push(DequeTask::Expand { tree_node: Arc::clone(&tree_node), expansion });
                self.push(&tree_node, spawned);
            }
            Expanded::More => {
                self.push(&tree_node, spawned);
                self.deque.push(DequeTask::Expand { tree_node, expansion });
            }
        }
    }

    /// The last one is taken first, so it goes in first.
    fn push(&mut self, tree_node: &Arc<TreeNode<T::Node>>, mut spawned: Vec<T::Task>) {
        let is_any = !spawned.is_empty();
        for task in spawned.drain(..).rev() {
            self.deque.push(DequeTask::Begin { task, above: Some(Arc::clone(tree_node)) });
        }
        self.spawned = spawned;
        if is_any {
            self.floor.call();
        }
    }

    /// One thing below `tree_node` is done: leaves it if that was the last, and so on upwards. A loop, since trees are deep.
    fn done_below(&mut self, mut tree_node: Option<Arc<TreeNode<T::Node>>>) {
        while let Some(done) = tree_node {
            if !done.is_done_with_one() {
                return;
            }
            let above = done.above();
            let tree = self.floor.tree;
            tree.leave(&done, above.as_ref(), self);
            drop(crate::sync::lock(&done.above).take());
            tree_node = above;
        }
        if self.floor.is_done_with_one_top() {
            self.begin_next_turn();
        }
    }

    /// All tasks so far are done: those of the next turn, or the end.
    fn begin_next_turn(&mut self) {
        let tasks = self.floor.tree.next_turn();
        if tasks.is_empty() {
            return self.floor.finish();
        }
        self.floor.expect_tops(tasks.len());
        // The last one is taken first, so it goes in first.
        tasks.into_iter().rev().for_each(|task| self.deque.push(DequeTask::Begin { task, above: None }));
        self.floor.call();
    }
}
