//! Delivery: outputs of jobs in their order. A job's end is written down when all of its output has been passed on and not before: whatever
//! kills this process, an output that nobody got is that of a job which `--resume` runs again. Writes nothing itself.

use super::super::JobEnd;
use super::super::running::Running;
use crate::output::{Outlet, OutputWeight, Part};
use std::collections::{BTreeMap, VecDeque};

/// A job that has ended and has printed something: its books are open until that is delivered.
pub(in crate::run) struct Owed {
    pub running: Running,
    pub end: JobEnd,
    pub parts: [Vec<Part>; 2],
    /// Which of the two streams it has printed to.
    pub printed: [bool; 2],
    /// Bytes that each outlet gets of it.
    pub bytes: [u64; 2],
    /// How far each outlet must have come for all of it to be passed on.
    marks: [u64; 2],
}

impl Owed {
    pub fn new(mut running: Running, end: JobEnd, parts: [Vec<Part>; 2], printed: [bool; 2]) -> Box<Self> {
        running.drop_block();
        let bytes = parts.each_ref().map(|parts| parts.iter().map(Part::len).sum());
        Box::new(Self { running, end, parts, printed, bytes, marks: [0; 2] })
    }

    /// What is known of it, besides its output.
    fn book(&self) -> OutputWeight {
        let words = self.running.words.as_bytes().len() + self.running.pending.spec.words.as_bytes().len();
        OutputWeight { bytes: (size_of::<Self>() + words) as u64, files: 0 }
    }

    fn output(&self) -> OutputWeight {
        self.parts.iter().flatten().map(Part::weight).fold(OutputWeight::default(), OutputWeight::with)
    }
}

/// How the delivery of a job's output has come out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::run) enum Fate {
    Delivered,
    /// This outlet cannot be written any more.
    Lost(usize),
}

/// What waits between the end of a job and the end of its delivery.
#[derive(Default)]
pub(super) struct PendingDelivery {
    line: Line<Box<Owed>>,
    under_way: VecDeque<Box<Owed>>,
    /// What is known of both, and the outputs of those in the line.
    weight: OutputWeight,
}

impl PendingDelivery {
    /// The job whose turn it is, if outputs come in the list's order.
    pub fn next_number(&self) -> u64 {
        self.line.next
    }

    pub fn weight(&self) -> OutputWeight {
        self.weight
    }

    /// Passes an output on now.
    pub fn push(&mut self, owed: Box<Owed>, outlets: &mut [Outlet; 2]) {
        self.weight = self.weight.with(owed.book());
        self.put_in(owed, outlets);
    }

    /// Passes an output on, if there is any, when those that stand before it have ended.
    pub fn push_in_turn(&mut self, number: u64, owed: Option<Box<Owed>>, outlets: &mut [Outlet; 2]) {
        if let Some(owed) = &owed {
            self.weight = self.weight.with(owed.book()).with(owed.output());
        }
        self.line.put(number, owed);
        while let Some(owed) = self.line.take_next() {
            self.weight = self.weight.without(owed.output());
            self.put_in(owed, outlets);
        }
    }

    /// Those that would be delivered first may never be: the others go now.
    pub fn give_up_turns(&mut self, outlets: &mut [Outlet; 2]) {
        for owed in std::mem::take(&mut self.line).waiting.into_values() {
            self.weight = self.weight.without(owed.output());
            self.put_in(owed, outlets);
        }
    }

    fn put_in(&mut self, mut owed: Box<Owed>, outlets: &mut [Outlet; 2]) {
        for (stream, outlet) in outlets.iter_mut().enumerate() {
            std::mem::take(&mut owed.parts[stream]).into_iter().for_each(|part| outlet.push(part));
            owed.marks[stream] = if owed.printed[stream] { outlet.pushed() } else { 0 };
        }
        self.under_way.push_back(owed);
    }

    /// Takes out the next job whose output has been delivered, or never will be.
    pub fn take_over(&mut self, outlets: &[Outlet; 2]) -> Option<(Box<Owed>, Fate)> {
        let fate = fate(outlets, self.under_way.front()?)?;
        let owed = self.under_way.pop_front()?;
        self.weight = self.weight.without(owed.book());
        Some((owed, fate))
    }
}

/// None while it is under way.
fn fate(outlets: &[Outlet; 2], owed: &Owed) -> Option<Fate> {
    let is_open = |stream: &usize| outlets[*stream].passed() < owed.marks[*stream];
    let mut open = (0..outlets.len()).filter(is_open).peekable();
    if open.peek().is_none() {
        return Some(Fate::Delivered);
    }
    open.find(|stream| outlets[*stream].fault().is_some()).map(Fate::Lost)
}

/// The order of the list. A job that has nothing to deliver takes no room, but for a pair of numbers around each gap.
struct Line<T> {
    next: u64,
    waiting: BTreeMap<u64, T>,
    /// From the first to behind the last.
    silent: BTreeMap<u64, u64>,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self { next: 1, waiting: BTreeMap::new(), silent: BTreeMap::new() }
    }
}

impl<T> Line<T> {
    fn put(&mut self, number: u64, what: Option<T>) {
        if let Some(what) = what {
            self.waiting.insert(number, what);
            return;
        }
        let end = self.silent.remove(&(number + 1)).unwrap_or(number + 1);
        match self.silent.range_mut(..number).next_back().filter(|(_, end)| **end == number) {
            Some((_, before)) => *before = end,
            None => _ = self.silent.insert(number, end),
        }
    }

    /// Takes out whose turn it is.
    fn take_next(&mut self) -> Option<T> {
        if let Some(end) = self.silent.remove(&self.next) {
            self.next = end;
        }
        let next = self.waiting.remove(&self.next)?;
        self.next += 1;
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(line: &mut Line<u64>) -> Vec<u64> {
        std::iter::from_fn(|| line.take_next()).collect()
    }

    #[test]
    fn each_is_taken_in_its_turn_and_the_silent_are_stepped_over() {
        let mut line = Line::default();
        for number in [4, 2, 6] {
            line.put(number, Some(number));
        }
        line.put(3, None);
        assert!(taken(&mut line).is_empty());
        line.put(1, None);
        assert_eq!(taken(&mut line), [2, 4]);
        line.put(5, Some(5));
        assert_eq!((taken(&mut line), line.next), (vec![5, 6], 7));
    }

    #[test]
    fn the_silent_take_room_for_gaps_alone() {
        let mut line = Line::default();
        for number in (2..=1000).filter(|number| number % 2 == 0).chain((2..=1000).filter(|number| number % 2 == 1)) {
            line.put(number, None);
        }
        assert_eq!((line.silent.len(), taken(&mut line).len()), (1, 0));
        line.put(1001, Some(1001));
        line.put(1, None);
        assert_eq!(taken(&mut line), [1001]);
    }
}
