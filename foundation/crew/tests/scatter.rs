//! Properties of scatter over random trees and widths: every task is begun once, every node left once and after all below it,
//! reports come sorted whoever found them, memory stays bounded, and no task is lost however threads meet.

use crew::budget::{Budget, InProcess, Priority, Request, Weight};
use crew::scatter::{Begun, Branch, Expanded, Scattered, ThreadWidth, Tree, TreeNode, run};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// How a made-up tree looks below a node of this number and depth: children, and which of them are leaves.
type Shape = dyn Fn(u64, usize) -> Vec<Child> + Sync;

#[derive(Clone, Copy, Debug)]
enum Child {
    Leaf,
    Directory,
}

/// A tree that notes what happens to it. Nodes are named by the path of their numbers.
struct MadeUp<'a> {
    shape: &'a Shape,
    /// Begun and left, by name.
    seen: Mutex<BTreeMap<Vec<u32>, (usize, usize)>>,
    /// Children of a node that are not done when it is left.
    too_early: AtomicUsize,
    outstanding: AtomicUsize,
    outstanding_most: AtomicUsize,
    told: Mutex<Vec<Vec<Vec<u32>>>>,
    /// Children that one step of expansion spawns.
    step: usize,
    notes: bool,
}

struct Node {
    name: Vec<u32>,
    /// Children that were spawned and are not done.
    open: AtomicUsize,
}

impl<'a> MadeUp<'a> {
    fn new(shape: &'a Shape, step: usize, notes: bool) -> Self {
        Self {
            shape,
            seen: Mutex::default(),
            too_early: AtomicUsize::new(0),
            outstanding: AtomicUsize::new(0),
            outstanding_most: AtomicUsize::new(0),
            told: Mutex::default(),
            step,
            notes,
        }
    }

    fn note(&self, name: &[u32], begun: usize, left: usize) {
        if self.notes {
            let mut seen = self.seen.lock().expect("no test panics inside");
            let entry = seen.entry(name.to_vec()).or_default();
            entry.0 += begun;
            entry.1 += left;
        }
    }
}

fn key(name: &[u32]) -> u64 {
    name.iter().fold(7, |sum, &part| (sum ^ u64::from(part)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17))
}

impl Tree for MadeUp<'_> {
    type Task = (Vec<u32>, Child);
    type Node = Node;
    type Expansion = (std::vec::IntoIter<Child>, u32);
    type Scratch = ();
    type Report = Vec<u32>;

    fn scratch(&self, _worker: usize) {}

    fn begin(
        &self,
        (name, child): Self::Task,
        above: Option<&Arc<TreeNode<Node>>>,
        branch: &mut Branch<'_, Self>,
    ) -> Begun<Node, Self::Expansion> {
        self.outstanding.fetch_sub(1, Ordering::SeqCst);
        self.note(&name, 1, 0);
        if key(&name).is_multiple_of(5) {
            branch.report(name.clone());
        }
        branch.yield_point();
        match child {
            Child::Leaf => {
                above.inspect(|above| _ = above.node.open.fetch_sub(1, Ordering::SeqCst));
                Begun::Done
            }
            Child::Directory => {
                let depth = above.map_or(0, |above| above.depth + 1);
                let children = (self.shape)(key(&name), depth).into_iter();
                let name = if self.notes { name } else { Vec::new() };
                Begun::Node(Node { name, open: AtomicUsize::new(0) }, (children, 0))
            }
        }
    }

    fn expand(
        &self,
        tree_node: &Arc<TreeNode<Node>>,
        (children, number): &mut Self::Expansion,
        branch: &mut Branch<'_, Self>,
    ) -> Expanded {
        for child in children.by_ref().take(self.step) {
            let mut name = tree_node.node.name.clone();
            name.push(*number);
            *number += 1;
            tree_node.node.open.fetch_add(1, Ordering::SeqCst);
            let now = self.outstanding.fetch_add(1, Ordering::SeqCst) + 1;
            self.outstanding_most.fetch_max(now, Ordering::SeqCst);
            branch.spawn((name, child));
        }
        if children.len() > 0 { Expanded::More } else { Expanded::Done }
    }

    fn leave(&self, tree_node: &TreeNode<Node>, above: Option<&Arc<TreeNode<Node>>>, _branch: &mut Branch<'_, Self>) {
        self.too_early.fetch_add(tree_node.node.open.load(Ordering::SeqCst), Ordering::SeqCst);
        self.note(&tree_node.node.name, 0, 1);
        above.inspect(|above| _ = above.node.open.fetch_sub(1, Ordering::SeqCst));
    }

    fn tell(&self, reports: Vec<Vec<u32>>) {
        self.told.lock().expect("no test panics inside").push(reports);
    }
}

fn drive(tree: &MadeUp<'_>, tops: u32, width: usize, hands: usize) -> Scattered {
    let budget = InProcess::new(hands);
    let (priority, weight) = (Priority::Normal, Weight::default());
    let lease = budget.lease(Request { priority, weight, useful_width: width, what: "a test".to_owned() });
    let tasks: Vec<_> = (0..tops).map(|top| (vec![top], Child::Directory)).collect();
    tree.outstanding.fetch_add(tasks.len(), Ordering::SeqCst);
    let ran = run(tree, tasks, ThreadWidth { workers: width }, lease.as_ref());
    assert_eq!(tree.outstanding.load(Ordering::SeqCst), 0, "every seed was begun");
    assert_eq!(tree.too_early.load(Ordering::SeqCst), 0, "a node was left before all below it was done");
    ran
}

/// The tree walked by the simplest code there is: name and whether it is a directory.
fn walked(shape: &Shape, tops: u32) -> BTreeMap<Vec<u32>, (usize, usize)> {
    let mut all = BTreeMap::new();
    let mut unseen: Vec<(Vec<u32>, Child)> = (0..tops).map(|top| (vec![top], Child::Directory)).collect();
    while let Some((name, child)) = unseen.pop() {
        let is_directory = matches!(child, Child::Directory);
        if is_directory {
            let children = shape(key(&name), name.len() - 1);
            unseen
                .extend(children.into_iter().zip(0..).map(|(child, number)| ([&name[..], &[number]].concat(), child)));
        }
        all.insert(name, (1, usize::from(is_directory)));
    }
    all
}

/// Random, the same for the same numbers: few levels, some of them wide.
fn random_shape(task: u64, widest: u64, deepest: usize) -> impl Fn(u64, usize) -> Vec<Child> + Sync {
    move |key, depth| {
        let mut state = key ^ task;
        let mut next = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        let children = if depth >= deepest { 0 } else { next() % (widest + 1) };
        (0..children).map(|_| if next() % 3 == 0 { Child::Directory } else { Child::Leaf }).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn all_is_begun_once_and_left_after_what_is_below(
        task: u64, widest in 0..9_u64, deepest in 0..7_usize, tops in 0..4_u32, step in 1..5_usize,
        width in 1..9_usize, hands in 1..9_usize,
    ) {
        let shape = random_shape(task, widest, deepest);
        let (one, many) = (MadeUp::new(&shape, step, true), MadeUp::new(&shape, step, true));
        drive(&one, tops, 1, 1);
        let ran = drive(&many, tops, width, hands);
        let expected = walked(&shape, tops);
        prop_assert_eq!(ran.tasks, expected.len() as u64);
        prop_assert_eq!(&*one.seen.lock().expect("done"), &expected);
        prop_assert_eq!(&*many.seen.lock().expect("done"), &expected);
        let (one, many) = (one.told.into_inner().expect("done"), many.told.into_inner().expect("done"));
        prop_assert!(many.iter().all(|told| told.is_sorted()));
        prop_assert_eq!(one, many, "what is told does not depend on the width");
    }
}

#[test]
fn sixty_four_workers_lose_nothing_however_often_they_meet() {
    for round in 0..40 {
        let shape = random_shape(round, 24, 5);
        for hands in [2, 64] {
            let tree = MadeUp::new(&shape, 3, true);
            drive(&tree, 3, 64, hands);
            assert_eq!(*tree.seen.lock().expect("done"), walked(&shape, 3), "round {round} with {hands} hands");
        }
    }
}

#[test]
fn a_chain_of_a_hundred_thousand_needs_no_stack() {
    let shape = |_key: u64, depth: usize| if depth < 100_000 { vec![Child::Directory] } else { Vec::new() };
    for width in [1, 4] {
        let tree = MadeUp::new(&shape, 8, false);
        let ran = drive(&tree, 1, width, width);
        assert_eq!(ran.tasks, 100_001);
    }
}

#[test]
fn a_million_children_are_not_held_at_once() {
    let shape = |_key: u64, depth: usize| if depth == 0 { vec![Child::Directory; 1_000_000] } else { Vec::new() };
    for width in [1, 8] {
        let tree = MadeUp::new(&shape, 512, false);
        let ran = drive(&tree, 1, width, width);
        assert_eq!(ran.tasks, 1_000_001);
        let most = tree.outstanding_most.load(Ordering::SeqCst);
        // What one worker keeps, and one step more; whoever steals the expansion while its worker sleeps keeps as much again.
        assert!(most <= width * (2048 + 512), "{most} seeds were waiting at once");
    }
}

/// Tasks in turns: each notes how many of its own turn were begun, and whether all before were done.
struct InTurns {
    waiting: Mutex<Vec<Vec<u32>>>,
    turn: AtomicUsize,
    begun: Mutex<Vec<(usize, u32)>>,
    left: AtomicUsize,
}

impl Tree for InTurns {
    type Task = u32;
    type Node = ();
    type Expansion = ();
    type Scratch = ();
    type Report = u32;
    fn scratch(&self, _worker: usize) {}
    fn begin(&self, task: u32, above: Option<&Arc<TreeNode<()>>>, branch: &mut Branch<'_, Self>) -> Begun<(), ()> {
        self.begun.lock().expect("no test panics inside").push((self.turn.load(Ordering::SeqCst), task));
        branch.report(task);
        // What stands at the top has parts, and so takes a while.
        if above.is_none() { Begun::Node((), ()) } else { Begun::Done }
    }
    fn expand(&self, _tree_node: &Arc<TreeNode<()>>, (): &mut (), branch: &mut Branch<'_, Self>) -> Expanded {
        (1000..1020).for_each(|number| branch.spawn(number));
        Expanded::Done
    }
    fn leave(&self, _tree_node: &TreeNode<()>, _above: Option<&Arc<TreeNode<()>>>, _branch: &mut Branch<'_, Self>) {
        self.left.fetch_add(1, Ordering::SeqCst);
    }
    fn next_turn(&self) -> Vec<u32> {
        let turn = self.turn.fetch_add(1, Ordering::SeqCst) + 1;
        assert_eq!(self.left.load(Ordering::SeqCst), turn * 5, "all of the turn before is done");
        self.waiting.lock().expect("no test panics inside").pop().unwrap_or_default()
    }
    fn tell(&self, reports: Vec<u32>) {
        assert!(reports.is_sorted(), "what is told does not depend on turns");
    }
}

#[test]
fn a_turn_begins_when_the_one_before_it_is_done() {
    for (width, hands) in [(1, 1), (4, 2), (64, 64)] {
        let turn = |number: u32| (0..5).map(|task| number * 5 + task).collect::<Vec<_>>();
        let waiting = Mutex::new((1..40).rev().map(turn).collect());
        let (turns, begun, left) = (AtomicUsize::new(0), Mutex::default(), AtomicUsize::new(0));
        let tree = InTurns { waiting, turn: turns, begun, left };
        let budget = InProcess::new(hands);
        let (priority, weight) = (Priority::Normal, Weight::default());
        let lease = budget.lease(Request { priority, weight, useful_width: width, what: "a test".to_owned() });
        let ran = run(&tree, turn(0), ThreadWidth { workers: width }, lease.as_ref());
        assert_eq!(ran.tasks, 40 * 5 * 21);
        let begun = tree.begun.into_inner().expect("done");
        let tops: Vec<_> = begun.iter().filter(|(_, task)| *task < 1000).collect();
        assert!(tops.iter().all(|(turn, task)| *task as usize / 5 == *turn), "each seed in its own turn");
        assert_eq!((begun.len(), tops.len()), (40 * 5 * 21, 40 * 5));
    }
}

#[test]
fn a_panic_ends_the_run_and_reaches_the_caller() {
    const TOP: u32 = 100;
    struct Panics;
    impl Tree for Panics {
        type Task = u32;
        type Node = ();
        type Expansion = ();
        type Scratch = ();
        type Report = ();
        fn scratch(&self, _worker: usize) {}
        fn begin(
            &self,
            task: u32,
            _above: Option<&Arc<TreeNode<()>>>,
            _branch: &mut Branch<'_, Self>,
        ) -> Begun<(), ()> {
            assert_ne!(task, 77, "expected by the test");
            if task == TOP { Begun::Node((), ()) } else { Begun::Done }
        }
        fn expand(&self, _tree_node: &Arc<TreeNode<()>>, (): &mut (), branch: &mut Branch<'_, Self>) -> Expanded {
            (0..TOP).for_each(|number| branch.spawn(number));
            Expanded::Done
        }
        fn leave(&self, _tree_node: &TreeNode<()>, _above: Option<&Arc<TreeNode<()>>>, _branch: &mut Branch<'_, Self>) {
        }
        fn tell(&self, _reports: Vec<()>) {}
    }
    let budget = InProcess::new(4);
    let (priority, weight) = (Priority::Normal, Weight::default());
    let lease = budget.lease(Request { priority, weight, useful_width: 4, what: "a test".to_owned() });
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        run(&Panics, vec![TOP], ThreadWidth { workers: 4 }, lease.as_ref());
    }));
    assert!(ended.is_err());
    assert_eq!(lease.books().taken, lease.books().returned);
}
