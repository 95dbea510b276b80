//! One worker: its end of a deque, the task it carries out, and what a task may ask of it.
//! Does not sleep, hire or wake; `floor` does.

use super::floor::Floor;
use super::{Begun, Grown, Knot, Tree};
use crate::clocks::StageClock;
use crate::sync::Arc;
use crossbeam_deque::Worker as Deque;

/// LIMIT: seeds that a worker keeps before it finishes them instead of planting more. More costs memory (a hundred bytes each), fewer
/// leaves thieves without work.
const KEPT_SEEDS: usize = 2048;

/// LIMIT: reports that a worker holds until the end; what is beyond is told at once, in order as far as it goes.
const KEPT_REPORTS: usize = 4096;

/// What lies in a deque.
pub(super) enum DequeTask<T: Tree + ?Sized> {
    Begin { seed: T::Seed, above: Option<Arc<Knot<T::Node>>> },
    Grow { knot: Arc<Knot<T::Node>>, growth: T::Growth },
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
    planted: Vec<T::Seed>,
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
        let (reports, planted) = (Vec::new(), Vec::new());
        let (away_ns, tasks, stolen) = (0, 0, 0);
        Self { hand, scratch, deque, floor, hire, number, clock, away_ns, tasks, stolen, reports, planted }
    }

    /// Plants a seed below the node that is growing. Seeds of one step are begun in the order in which they were planted, unless
    /// others steal them.
    pub fn plant(&mut self, seed: T::Seed) {
        self.planted.push(seed);
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

    /// Whether somebody would take over a part of this task at once. A task that could go on alone plants seeds only then: to divide
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
            DequeTask::Begin { seed, above } => {
                self.tasks += 1;
                let tree = self.floor.tree;
                match tree.begin(seed, above.as_ref(), self) {
                    Begun::Done => self.done_below(above),
                    Begun::Node(node, growth) => self.grow(Knot::new(node, above), growth),
                }
            }
            DequeTask::Grow { knot, growth } => self.grow(knot, growth),
        }
    }

    /// One step of a node's growth. The rest of it goes back into the deque, so that between two steps there is time to hire, to give
    /// a hand back, and to be stolen from.
    fn grow(&mut self, knot: Arc<Knot<T::Node>>, mut growth: T::Growth) {
        let tree = self.floor.tree;
        let grown = tree.grow(&knot, &mut growth, self);
        let planted = std::mem::take(&mut self.planted);
        knot.plant(planted.len());
        match grown {
            Grown::Done => {
                drop(growth);
                self.push(&knot, planted);
                self.done_below(Some(knot));
            }
            // Beneath its seeds, so that they are finished first: memory stays bounded however many there will be.
            Grown::More if self.deque.len() + planted.len() > KEPT_SEEDS => {
                self.deque.push(DequeTask::Grow { knot: Arc::clone(&knot), growth });
                self.push(&knot, planted);
            }
            Grown::More => {
                self.push(&knot, planted);
                self.deque.push(DequeTask::Grow { knot, growth });
            }
        }
    }

    /// The last one is taken first, so it goes in first.
    fn push(&mut self, knot: &Arc<Knot<T::Node>>, mut planted: Vec<T::Seed>) {
        let is_any = !planted.is_empty();
        for seed in planted.drain(..).rev() {
            self.deque.push(DequeTask::Begin { seed, above: Some(Arc::clone(knot)) });
        }
        self.planted = planted;
        if is_any {
            self.floor.call();
        }
    }

    /// One thing below `knot` is done: leaves it if that was the last, and so on upwards. A loop, since trees are deep.
    fn done_below(&mut self, mut knot: Option<Arc<Knot<T::Node>>>) {
        while let Some(done) = knot {
            if !done.is_done_with_one() {
                return;
            }
            let above = done.above();
            let tree = self.floor.tree;
            tree.leave(&done, above.as_ref(), self);
            drop(crate::sync::lock(&done.above).take());
            knot = above;
        }
        if self.floor.is_done_with_one_top() {
            self.begin_next_turn();
        }
    }

    /// All seeds so far are done: those of the next turn, or the end.
    fn begin_next_turn(&mut self) {
        let seeds = self.floor.tree.next_turn();
        if seeds.is_empty() {
            return self.floor.finish();
        }
        self.floor.expect_tops(seeds.len());
        // The last one is taken first, so it goes in first.
        seeds.into_iter().rev().for_each(|seed| self.deque.push(DequeTask::Begin { seed, above: None }));
        self.floor.call();
    }
}
