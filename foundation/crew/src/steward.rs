//! Hands for a program that knows nothing of them: takes what the run may have, holds the program to the CPUs of these hands,
//! and gives back what others are entitled to. Starts nothing and asks no kernel: a [`Guest`] carries the program's side.

use crate::budget::{Hand, Passport, Proxy};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

/// The program, as far as a steward can rule it.
pub trait Guest {
    /// May run on these CPUs from now on, on all of them at once; never none.
    fn hold_to(&self, cpus: &[usize]);
    /// Has no hand and wants one, or is paused: must not run.
    fn rest(&self);
    /// Has one again.
    fn go_on(&self);
    /// How many of its threads run or could: what it has a use for now.
    fn runnable(&self) -> usize;
}

/// LIMIT: looks by which it is judged what a program has a use for. More: its hands lie idle longer; fewer: it is taken for narrower than it is, where
/// its threads wait for each other.
const LOOKS: usize = 8;

/// What a program has a use for: the most threads that could run at the last looks.
struct Appetite {
    width: usize,
    seen: VecDeque<usize>,
}

impl Appetite {
    fn of(width: usize) -> Self {
        Self { width, seen: VecDeque::with_capacity(LOOKS) }
    }

    fn note(&mut self, runnable: usize) {
        if self.seen.len() == LOOKS {
            self.seen.pop_front();
        }
        self.seen.push_back(runnable);
    }

    fn useful_width(&self) -> usize {
        let most = self.seen.iter().copied().max().unwrap_or(0);
        if self.seen.len() < LOOKS { self.width } else { most.min(self.width) }
    }
}

/// One program's hands.
pub struct Steward<'a> {
    proxy: &'a dyn Proxy,
    appetite: Appetite,
    useful_width: usize,
    /// CPUs that the program could use at all, for a hand that has none of its own.
    allowed: Vec<usize>,
    hands: Vec<Hand>,
}

impl<'a> Steward<'a> {
    /// Of a program that can use `width` CPUs of `allowed`.
    ///
    /// # Panics
    /// When no CPU is allowed: then nothing could have asked.
    pub fn new(proxy: &'a dyn Proxy, width: usize, allowed: Vec<usize>) -> Self {
        assert!(!allowed.is_empty(), "whoever runs has a CPU");
        let width = width.clamp(1, allowed.len());
        Self { proxy, appetite: Appetite::of(width), useful_width: width, allowed, hands: Vec::new() }
    }

    /// Waits for a first hand and takes what else can be had now: the CPUs to begin with. None when it is over before that.
    pub fn begin(&mut self, is_over: &AtomicBool) -> Option<Vec<usize>> {
        loop {
            let moment = self.proxy.moment();
            self.take_and_return();
            if is_over.load(Ordering::SeqCst) {
                return None;
            }
            if !self.hands.is_empty() {
                return Some(self.cpus());
            }
            self.proxy.sleep(moment, true);
        }
    }

    /// What the program needs to use its hands itself, should it know about hands after all.
    pub fn passport(&self) -> Option<Passport> {
        self.proxy.passport(&self.hands.iter().collect::<Vec<_>>())
    }

    /// Keeps `guest` to its hands, which are as [`Steward::begin`] left them, until it is over. Whoever says so rings.
    pub fn keep(&mut self, guest: &dyn Guest, is_over: &AtomicBool) {
        let (mut given, mut rests) = (self.cpus(), false);
        loop {
            let moment = self.proxy.moment();
            if !rests {
                self.judge(guest);
            }
            self.take_and_return();
            if is_over.load(Ordering::SeqCst) {
                return;
            }
            let cpus = self.cpus();
            // Held to fewer before they are lost to others would be better still; hands change within a look.
            let did_rest = rests;
            // Who sleeps needs no hand, and is found awake at the next look.
            rests = cpus.is_empty() && (self.useful_width > 0 || self.proxy.is_paused());
            if rests {
                guest.rest();
            }
            if !cpus.is_empty() && (cpus != given || did_rest) {
                guest.hold_to(&cpus);
                given = cpus;
            }
            if did_rest && !rests {
                guest.go_on();
            }
            self.proxy.sleep(moment, true);
        }
    }

    /// Gives all back.
    pub fn end(self) {
        self.proxy.wish_for(0);
        self.hands.into_iter().for_each(|hand| self.proxy.give_back(hand));
    }

    /// What the program has no use for is for others, if there are any.
    fn judge(&mut self, guest: &dyn Guest) {
        if self.proxy.has_company() {
            self.appetite.note(guest.runnable());
        } else {
            self.appetite.seen.clear();
        }
        let useful_width = self.appetite.useful_width();
        if useful_width != self.useful_width {
            self.useful_width = useful_width;
            self.proxy.set_useful_width(useful_width.max(1));
        }
    }

    /// One look: back with what others are entitled to, and up to the width with what can be had.
    fn take_and_return(&mut self) {
        // The newest first: the first hand is the one that is guaranteed.
        while let Some(at) = self.hands.iter().rposition(|hand| self.proxy.must_return(hand)) {
            self.proxy.give_back(self.hands.remove(at));
        }
        while self.hands.len() > self.useful_width
            && let Some(hand) = self.hands.pop()
        {
            self.proxy.give_back(hand);
        }
        self.proxy.wish_for(self.useful_width - self.hands.len());
        while self.hands.len() < self.useful_width
            && let Some(hand) = self.proxy.try_take()
        {
            self.hands.push(hand);
        }
        self.proxy.wish_for(self.useful_width - self.hands.len());
    }

    /// The CPUs of its hands, ascending. A hand above capacity has none: it shares one with somebody, a fixed one, so that a
    /// program never uses more CPUs than it has hands.
    fn cpus(&self) -> Vec<usize> {
        let mut cpus: Vec<usize> = self.hands.iter().filter_map(|hand| self.proxy.cpu_of(hand)).collect();
        if cpus.len() < self.hands.len() {
            let start = std::process::id() as usize % self.allowed.len();
            let round = self.allowed[start..].iter().chain(&self.allowed[..start]);
            cpus.extend(round.copied().find(|cpu| !cpus.contains(cpu)));
        }
        cpus.sort_unstable();
        cpus
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::watch::Moment;
    use crate::budget::{HandBooks, Lease, Place};
    use std::sync::Mutex;

    /// What a table says at one moment: CPUs that may be taken now, and those whose hands others are entitled to.
    #[derive(Clone, Copy)]
    struct Then {
        free: &'static [usize],
        back: &'static [usize],
    }

    /// A table that goes one step further with each sleep, and is over behind the last.
    struct Played<'a> {
        steps: &'a [Then],
        is_over: &'a AtomicBool,
        has_company: bool,
        state: Mutex<(usize, Vec<usize>)>,
        log: &'a Mutex<Vec<String>>,
    }

    impl Played<'_> {
        fn now(&self) -> Then {
            self.steps[self.state.lock().expect("no panic").0]
        }
    }

    /// `Inherited` carries a number: here that of a CPU, and above all of these a hand without one.
    fn number(hand: &Hand) -> usize {
        match hand.place {
            Place::Inherited { number } => number,
            _ => unreachable!("none of ours"),
        }
    }

    const ABOVE: usize = 99;

    impl Lease for Played<'_> {
        fn take(&self) -> Hand {
            unreachable!("a steward sleeps on the table and not in the queue")
        }
        fn try_take(&self) -> Option<Hand> {
            let free = self.now().free;
            let taken = &mut self.state.lock().expect("no panic").1;
            let number = *free.iter().find(|cpu| !taken.contains(cpu))?;
            taken.push(number);
            Some(Hand { place: Place::Inherited { number } })
        }
        fn give_back(&self, hand: Hand) {
            self.state.lock().expect("no panic").1.retain(|cpu| *cpu != number(&hand));
        }
        fn must_return(&self, hand: &Hand) -> bool {
            self.now().back.contains(&number(hand))
        }
        fn books(&self) -> HandBooks {
            HandBooks { taken: 0, returned: 0, lost: 0 }
        }
    }

    impl Proxy for Played<'_> {
        fn cpu_of(&self, hand: &Hand) -> Option<usize> {
            Some(number(hand)).filter(|cpu| *cpu != ABOVE)
        }
        fn wish_for(&self, hands: usize) {
            let mut log = self.log.lock().expect("no panic");
            let wish = format!("wish {hands}");
            if log.iter().rfind(|line| line.starts_with("wish")) != Some(&wish) {
                log.push(wish);
            }
        }
        fn has_company(&self) -> bool {
            self.has_company
        }
        fn is_paused(&self) -> bool {
            false
        }
        fn moment(&self) -> Moment {
            Moment::default()
        }
        fn sleep(&self, _since: Moment, _is_watchful: bool) {
            let step = &mut self.state.lock().expect("no panic").0;
            *step = (*step + 1).min(self.steps.len() - 1);
            self.is_over.store(*step + 1 == self.steps.len(), Ordering::SeqCst);
        }
        fn ring(&self) {}
    }

    impl Guest for Mutex<Vec<String>> {
        fn hold_to(&self, cpus: &[usize]) {
            self.lock().expect("no panic").push(format!("hold to {cpus:?}"));
        }
        fn rest(&self) {
            self.lock().expect("no panic").push("rest".to_owned());
        }
        fn go_on(&self) {
            self.lock().expect("no panic").push("go on".to_owned());
        }
        fn runnable(&self) -> usize {
            1
        }
    }

    /// What a program of `width` on CPUs 0 to 3 goes through, with what it begins with; and what it still has at the end.
    fn played(width: usize, steps: &[Then]) -> (Option<Vec<usize>>, Vec<String>, usize) {
        played_in_company(false, width, steps)
    }

    fn played_in_company(has_company: bool, width: usize, steps: &[Then]) -> (Option<Vec<usize>>, Vec<String>, usize) {
        let (is_over, log) = (AtomicBool::new(false), Mutex::new(Vec::new()));
        let proxy = Played { steps, is_over: &is_over, has_company, state: Mutex::new((0, Vec::new())), log: &log };
        let mut steward = Steward::new(&proxy, width, vec![0, 1, 2, 3]);
        let begun = steward.begin(&is_over);
        if begun.is_some() {
            steward.keep(&log, &is_over);
        }
        steward.end();
        let left = proxy.state.lock().expect("no panic").1.len();
        let log = log.lock().expect("no panic").clone();
        (begun, log, left)
    }

    const NOTHING: Then = Then { free: &[], back: &[] };

    #[test]
    fn a_program_has_the_cpus_of_its_hands_and_rests_without_any() {
        let (begun, log, left) = played(
            2,
            &[
                NOTHING,
                Then { free: &[1, 2, 3], back: &[] },
                NOTHING,
                Then { free: &[], back: &[2] },
                Then { free: &[], back: &[1] },
                Then { free: &[3], back: &[] },
                NOTHING,
            ],
        );
        assert_eq!(begun, Some(vec![1, 2]), "it waits for a first hand, and takes no more than it can use");
        let expected =
            ["wish 2", "wish 0", "wish 1", "hold to [1]", "wish 2", "rest", "wish 1", "hold to [3]", "go on", "wish 0"];
        assert_eq!(log, expected);
        assert_eq!(left, 0, "all go back at the end");
    }

    #[test]
    fn a_hand_without_a_cpu_shares_one_that_the_program_has_not() {
        let (begun, _, left) = played(2, &[Then { free: &[0, ABOVE], back: &[] }, NOTHING]);
        let begun = begun.expect("two hands are there");
        assert!(begun.len() == 2 && begun[0] == 0 && begun[1] < 4 && begun[1] > 0, "{begun:?}");
        assert_eq!(left, 0);
    }

    #[test]
    fn what_a_program_has_no_use_for_goes_back_while_others_are_there() {
        let mut steps = [NOTHING; LOOKS + 2];
        steps[0] = Then { free: &[1, 2], back: &[] };
        let (begun, log, _) = played_in_company(true, 2, &steps);
        assert_eq!(
            (begun, log),
            (Some(vec![1, 2]), vec!["wish 2".to_owned(), "wish 0".to_owned(), "hold to [1]".to_owned()])
        );
        let (_, log, _) = played_in_company(false, 2, &steps);
        assert_eq!(log, ["wish 2", "wish 0"], "alone it keeps what it has");
        let mut appetite = Appetite::of(4);
        (0..LOOKS - 1).for_each(|_| appetite.note(0));
        assert_eq!(appetite.useful_width(), 4, "not known yet");
        appetite.note(9);
        assert_eq!(appetite.useful_width(), 4);
        (0..LOOKS - 1).for_each(|_| appetite.note(2));
        assert_eq!(appetite.useful_width(), 4, "it could use them a moment ago");
        appetite.note(2);
        assert_eq!(appetite.useful_width(), 2);
        (0..LOOKS).for_each(|_| appetite.note(0));
        assert_eq!(appetite.useful_width(), 0);
    }

    #[test]
    fn who_is_over_before_the_first_hand_has_none() {
        assert_eq!(played(2, &[NOTHING, NOTHING]), (None, vec!["wish 2".to_owned(), "wish 0".to_owned()], 0));
    }
}
