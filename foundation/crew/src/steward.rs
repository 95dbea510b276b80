//! Hands for a program that knows nothing of them: takes what the run may have, holds the program to the CPUs of these hands,
//! and gives back what others are entitled to. Starts nothing and asks no kernel: a [`Guest`] carries the program's side.

use crate::budget::{Hand, Passport, Proxy};
use std::sync::atomic::{AtomicBool, Ordering};

/// The program, as far as a steward can rule it.
pub trait Guest {
    /// May run on these CPUs from now on, on all of them at once; never none.
    fn hold_to(&self, cpus: &[usize]);
    /// Has no hand: must not run.
    fn rest(&self);
    /// Has one again.
    fn go_on(&self);
}

/// One program's hands.
pub struct Steward<'a> {
    proxy: &'a dyn Proxy,
    width: usize,
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
        Self { proxy, width, allowed, hands: Vec::new() }
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
            self.proxy.sleep(moment);
        }
    }

    /// What the program needs to use its hands itself, should it know about hands after all.
    pub fn passport(&self) -> Option<Passport> {
        self.proxy.passport(&self.hands.iter().collect::<Vec<_>>())
    }

    /// Keeps `guest` to its hands, which are as [`Steward::begin`] left them, until it is over. Whoever says so rings.
    pub fn keep(&mut self, guest: &dyn Guest, is_over: &AtomicBool) {
        let mut given = self.cpus();
        loop {
            let moment = self.proxy.moment();
            self.take_and_return();
            if is_over.load(Ordering::SeqCst) {
                return;
            }
            let cpus = self.cpus();
            // Held to fewer before they are lost to others would be better still; hands change within a look.
            if cpus.is_empty() {
                guest.rest();
            } else if cpus != given || given.is_empty() {
                guest.hold_to(&cpus);
                if given.is_empty() {
                    guest.go_on();
                }
            }
            given = cpus;
            self.proxy.sleep(moment);
        }
    }

    /// Gives all back.
    pub fn end(self) {
        self.proxy.wish_for(0);
        self.hands.into_iter().for_each(|hand| self.proxy.give_back(hand));
    }

    /// One look: back with what others are entitled to, and up to the width with what can be had.
    fn take_and_return(&mut self) {
        // The newest first: the first hand is the one that is guaranteed.
        while let Some(at) = self.hands.iter().rposition(|hand| self.proxy.must_return(hand)) {
            self.proxy.give_back(self.hands.remove(at));
        }
        self.proxy.wish_for(self.width - self.hands.len());
        while self.hands.len() < self.width
            && let Some(hand) = self.proxy.try_take()
        {
            self.hands.push(hand);
        }
        self.proxy.wish_for(self.width - self.hands.len());
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
