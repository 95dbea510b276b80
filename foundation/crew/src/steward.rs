//! Hands for a program that knows nothing of them: takes what the run may have, holds the program to the CPUs of these hands,
//! and gives back what others are entitled to. Starts nothing and asks no kernel: a [`Guest`] carries the program's side.

mod appetite;

use crate::budget::{Attention, Company, Hand, LeaseToken, Proxy};
use appetite::Appetite;
use std::sync::atomic::{AtomicBool, Ordering};

/// The program, as far as a steward can rule it.
pub trait Guest {
    /// May do `jobs` at once from now on, as far as it can be told: so many hands it could come to have. At least one; said at each look.
    fn offer(&self, jobs: usize);
    /// May run on these CPUs from now on, on all of them at once; never none.
    fn hold_to(&self, cpus: &[usize]);
    /// Has no hand and wants one, or is paused: must not run.
    fn rest(&self);
    /// Has one again.
    fn go_on(&self);
    /// How many of its threads run or could, counted up to `most`: what it has a use for now. None where that is not to be known.
    fn runnable(&self, most: usize) -> Option<usize>;
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
            self.proxy.sleep(moment, Attention::Table);
        }
    }

    /// Jobs that the program may do at once: hands that it could come to have. It cannot show that it has a use for more before it has begun them.
    pub fn jobs(&self) -> usize {
        self.proxy.may_hold().max(self.hands.len()).clamp(1, self.appetite.width())
    }

    /// What the program needs to use its hands itself, should it know about hands after all.
    pub fn lease_token(&self) -> Option<LeaseToken> {
        self.proxy.lease_token(&self.hands.iter().collect::<Vec<_>>())
    }

    /// Keeps `guest` to its hands, which are as [`Steward::begin`] left them, until it is over. Whoever says so wakes.
    pub fn keep(&mut self, guest: &dyn Guest, is_over: &AtomicBool) {
        let (mut given, mut rests) = (self.cpus(), false);
        loop {
            let moment = self.proxy.moment();
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
            guest.offer(self.jobs());
            if !cpus.is_empty() && (cpus != given || did_rest) {
                guest.hold_to(&cpus);
                given = cpus;
            }
            if did_rest && !rests {
                guest.go_on();
            }
            // Looking at its threads takes time: what others wait for has gone back before. Who is stopped shows nothing.
            if !rests && self.judge(guest) {
                continue;
            }
            self.proxy.sleep(moment, if rests { Attention::Table } else { Attention::Program });
        }
    }

    /// Gives all back.
    pub fn end(self) {
        self.proxy.wish_for(0);
        self.hands.into_iter().for_each(|hand| self.proxy.give_back(hand));
    }

    /// What the program has no use for is for others who want it, and hands more are for the program where it may have a use for them. Whether
    /// that is another number now. Looks at its threads where the answer matters, and where the last sample is long enough ago.
    fn judge(&mut self, guest: &dyn Guest) -> bool {
        let (held, width) = (self.hands.len(), self.appetite.width());
        let (company, now_ms) = (self.proxy.company(), self.proxy.clock_ms());
        if company == Company::Nobody || (company == Company::Content && held == width) {
            self.appetite.forget();
        } else if self.appetite.is_due(now_ms) {
            let may_grow = held >= self.useful_width && self.proxy.may_hold() > held;
            self.appetite.note(now_ms, guest.runnable(width), held, may_grow);
        } else {
            return false;
        }
        let judged = self.appetite.useful_width();
        // What nobody waits for is kept.
        let useful_width = if company == Company::Hungry { judged } else { judged.max(held) };
        let is_another = useful_width != self.useful_width;
        if is_another {
            self.useful_width = useful_width;
            self.proxy.set_useful_width(useful_width.max(1));
        }
        is_another
    }

    /// One look: back with what others are entitled to, and up to the width with what can be had.
    fn take_and_return(&mut self) {
        // The newest first: the first hand is the one that is guaranteed.
        while let Some(at) = self.hands.iter().rposition(|hand| self.proxy.must_return(hand)) {
            self.proxy.give_back(self.hands.remove(at));
        }
        while self.hands.len() > self.useful_width {
            // One that shares somebody's CPU before one that has its own.
            let without_cpu = self.hands.iter().position(|hand| self.proxy.cpu_of(hand).is_none());
            self.proxy.give_back(self.hands.remove(without_cpu.unwrap_or(self.hands.len() - 1)));
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
    use crate::budget::watch::SleepMoment;
    use crate::budget::{HandBooks, HandPlace, Lease};
    use std::sync::Mutex;

    /// What a table and a program say at one moment.
    #[derive(Clone, Copy)]
    struct Then {
        /// CPUs that may be taken now.
        free: &'static [usize],
        /// Those whose hands others are entitled to.
        back: &'static [usize],
        company: Company,
        is_paused: bool,
        /// How many threads of the program could run, held to so many CPUs.
        threads: fn(usize) -> Option<usize>,
        /// How long it lasts.
        time_ms: u64,
    }

    /// A table that goes one step further with each sleep, and is over behind the last; and the program in it.
    struct Played<'a> {
        steps: &'a [Then],
        is_over: &'a AtomicBool,
        state: Mutex<State>,
    }

    #[derive(Default)]
    struct State {
        step: usize,
        now_ms: u64,
        taken: Vec<usize>,
        held_to: usize,
        log: Vec<String>,
        /// When the program's threads were looked at.
        looked_ms: Vec<u64>,
        /// Hands at the end of each step.
        held: Vec<usize>,
    }

    impl Played<'_> {
        fn now(&self) -> Then {
            self.steps[self.state().step]
        }
        fn state(&self) -> std::sync::MutexGuard<'_, State> {
            self.state.lock().expect("no panic")
        }
        /// Notes a line, unless it is the last one of its kind once more.
        fn note(&self, kind: &str, line: String) {
            let log = &mut self.state().log;
            if log.iter().rfind(|old| old.starts_with(kind)) != Some(&line) {
                log.push(line);
            }
        }
    }

    /// `Inherited` carries a number: here that of a CPU, and above all of these a hand without one.
    fn number(hand: &Hand) -> usize {
        match hand.place {
            HandPlace::Inherited { number } => number,
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
            let taken = &mut self.state().taken;
            let number = *free.iter().find(|cpu| !taken.contains(cpu))?;
            taken.push(number);
            Some(Hand { place: HandPlace::Inherited { number } })
        }
        fn give_back(&self, hand: Hand) {
            self.state().taken.retain(|cpu| *cpu != number(&hand));
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
            self.note("wish", format!("wish {hands}"));
        }
        fn company(&self) -> Company {
            self.now().company
        }
        fn may_hold(&self) -> usize {
            let free = self.now().free;
            let taken = &self.state().taken;
            taken.len() + free.iter().filter(|cpu| !taken.contains(cpu)).count()
        }
        fn is_paused(&self) -> bool {
            self.now().is_paused
        }
        fn moment(&self) -> SleepMoment {
            SleepMoment::default()
        }
        fn clock_ms(&self) -> u64 {
            self.state().now_ms
        }
        fn sleep(&self, _since: SleepMoment, _attention: Attention) {
            let time_ms = self.now().time_ms;
            let state = &mut self.state();
            let held = state.taken.len();
            state.held.push(held);
            state.now_ms += time_ms;
            state.step = (state.step + 1).min(self.steps.len() - 1);
            self.is_over.store(state.step + 1 == self.steps.len(), Ordering::SeqCst);
        }
        fn wake(&self) {}
    }

    impl Guest for Played<'_> {
        fn offer(&self, jobs: usize) {
            self.note("jobs", format!("jobs {jobs}"));
        }
        fn hold_to(&self, cpus: &[usize]) {
            self.state().held_to = cpus.len();
            self.note("hold", format!("hold to {cpus:?}"));
        }
        fn rest(&self) {
            self.note("re", "rest".to_owned());
        }
        fn go_on(&self) {
            self.note("go", "go on".to_owned());
        }
        fn runnable(&self, most: usize) -> Option<usize> {
            let state = &mut self.state();
            let now_ms = state.now_ms;
            state.looked_ms.push(now_ms);
            (self.steps[state.step].threads)(state.held_to).map(|threads| threads.min(most))
        }
    }

    /// What a program of `width` on CPUs 0 to 3 goes through, with what it begins with; it has nothing left at the end.
    fn played(width: usize, steps: &[Then]) -> (Option<Vec<usize>>, State) {
        let is_over = AtomicBool::new(false);
        let played = Played { steps, is_over: &is_over, state: Mutex::default() };
        let mut steward = Steward::new(&played, width, vec![0, 1, 2, 3]);
        let begun = steward.begin(&is_over);
        if let Some(cpus) = &begun {
            played.state().held_to = cpus.len();
            steward.keep(&played, &is_over);
        }
        steward.end();
        let state = std::mem::take(&mut *played.state());
        assert_eq!(state.taken, [0; 0], "all go back at the end");
        (begun, state)
    }

    /// Of a log the lines that begin with one of `kinds`.
    fn only<'a>(state: &'a State, kinds: &[&str]) -> Vec<&'a str> {
        state.log.iter().map(String::as_str).filter(|line| kinds.iter().any(|kind| line.starts_with(kind))).collect()
    }

    fn one(_held: usize) -> Option<usize> {
        Some(1)
    }

    const NOTHING: Then =
        Then { free: &[], back: &[], company: Company::Nobody, is_paused: false, threads: one, time_ms: 160 };
    const BUT_JOBS: [&str; 4] = ["wish", "hold", "re", "go"];

    #[test]
    fn a_program_has_the_cpus_of_its_hands_and_rests_without_any() {
        let (begun, state) = played(
            2,
            &[
                NOTHING,
                Then { free: &[1, 2, 3], ..NOTHING },
                NOTHING,
                Then { back: &[2], ..NOTHING },
                Then { back: &[1], ..NOTHING },
                Then { free: &[3], ..NOTHING },
                NOTHING,
            ],
        );
        assert_eq!(begun, Some(vec![1, 2]), "it waits for a first hand, and takes no more than it can use");
        let expected =
            ["wish 2", "wish 0", "wish 1", "hold to [1]", "wish 2", "rest", "wish 1", "hold to [3]", "go on", "wish 0"];
        assert_eq!(only(&state, &BUT_JOBS), expected);
    }

    #[test]
    fn a_hand_without_a_cpu_shares_one_that_the_program_has_not() {
        let (begun, _) = played(2, &[Then { free: &[0, ABOVE], ..NOTHING }, NOTHING]);
        let begun = begun.expect("two hands are there");
        assert!(begun.len() == 2 && begun[0] == 0 && begun[1] < 4 && begun[1] > 0, "{begun:?}");
    }

    #[test]
    fn a_hand_without_a_cpu_goes_before_one_that_has_its_own() {
        let mut steps = [Then { company: Company::Hungry, ..NOTHING }; 12];
        steps[0].free = &[ABOVE, 1];
        let (_, state) = played(2, &steps);
        assert_eq!(only(&state, &["hold"]), ["hold to [1]"]);
    }

    #[test]
    fn what_a_program_has_no_use_for_goes_back_when_others_want_it() {
        let with = |company| {
            let mut steps = [Then { company, ..NOTHING }; 12];
            steps[0].free = &[1, 2];
            played(2, &steps)
        };
        let (begun, state) = with(Company::Hungry);
        assert_eq!(begun, Some(vec![1, 2]));
        assert_eq!(only(&state, &BUT_JOBS), ["wish 2", "wish 0", "hold to [1]"]);
        for company in [Company::Nobody, Company::Content] {
            let (_, state) = with(company);
            assert_eq!(only(&state, &BUT_JOBS), ["wish 2", "wish 0"], "nobody wants more: it keeps what it has");
            assert_eq!(state.looked_ms, [0; 0], "and nobody looks at its threads");
        }
    }

    #[test]
    fn looks_that_come_often_are_no_samples() {
        let mut steps = [Then { company: Company::Hungry, time_ms: 3, ..NOTHING }; 600];
        steps[0].free = &[1, 2];
        let (_, state) = played(2, &steps);
        assert!(state.looked_ms.windows(2).all(|two| two[1] - two[0] >= 100), "{:?}", state.looked_ms);
        let returned = state.held.iter().position(|held| *held == 1).expect("one goes back");
        assert!((1190..1500).contains(&(returned * 3)), "after a time: {returned} looks");
    }

    #[test]
    fn who_could_use_a_hand_more_gets_it_beside_another_run() {
        let as_many_as_cpus = |held| Some(held);
        let busy = Then { company: Company::Hungry, ..NOTHING };
        let mut steps = [busy; 60];
        steps[0].free = &[0, 1, 2];
        // It has shrunk; now it would use whatever it has, and what others leave is free.
        for step in &mut steps[20..] {
            *step = Then { free: &[0, 1, 2], company: Company::Content, threads: as_many_as_cpus, ..busy };
        }
        let (_, state) = played(3, &steps);
        assert_eq!((state.held[19], state.held.last()), (1, Some(&3)), "{:?}", state.held);
    }

    #[test]
    fn a_hand_more_that_is_not_used_goes_back() {
        let mut steps = [Then { free: &[0, 1], company: Company::Hungry, ..NOTHING }; 200];
        steps[0].threads = |_| None;
        let (_, state) = played(2, &steps);
        let first = state.held.iter().position(|held| *held == 1).expect("the second goes back");
        let again = state.held[first..].iter().filter(|held| **held == 2).count();
        assert!(again > 0, "one more is tried: {:?}", state.held);
        assert!(again * 4 < state.held.len() - first, "and seldom: {:?}", state.held);
        assert_eq!(state.held.iter().min(), Some(&1));
    }

    #[test]
    fn a_program_that_cannot_be_seen_is_as_wide_as_it_asked_to_be() {
        let mut steps = [Then { company: Company::Hungry, threads: |_| None, ..NOTHING }; 40];
        steps[0].free = &[0, 1];
        let (_, state) = played(2, &steps);
        assert_eq!((state.held.last(), only(&state, &["hold", "re"]).len()), (Some(&2), 0));
    }

    #[test]
    fn a_program_that_does_nothing_has_no_hand_soon_and_one_when_it_wakes_up() {
        let mut steps = [Then { free: &[0, 1], company: Company::Hungry, threads: |_| Some(0), ..NOTHING }; 30];
        steps[20..].iter_mut().for_each(|step| *step = Then { free: &[0], threads: one, ..*step });
        let (_, state) = played(2, &steps);
        assert!(state.held[3..20].iter().all(|held| *held == 0), "{:?}", state.held);
        assert!(state.held[20..].iter().all(|held| *held == 1), "{:?}", state.held);
        assert_eq!(only(&state, &["re"]), [""; 0], "it is not stopped");
    }

    #[test]
    fn who_rests_is_not_looked_at() {
        let busy = Then { free: &[0, 1], company: Company::Hungry, threads: |_| Some(2), ..NOTHING };
        let mut steps = [busy; 30];
        for step in &mut steps[5..20] {
            *step = Then { free: &[], back: &[0, 1], is_paused: true, threads: |_| Some(0), ..busy };
        }
        let (_, state) = played(2, &steps);
        assert!(!state.looked_ms.iter().any(|at_ms| (5 * 160..20 * 160).contains(at_ms)), "{:?}", state.looked_ms);
        assert_eq!(state.held.last(), Some(&2), "it is as wide as before");
    }

    #[test]
    fn jobs_are_offered_by_what_it_may_come_to_hold() {
        let busy = Then { company: Company::Hungry, ..NOTHING };
        let mut steps = [busy; 30];
        steps[0].free = &[0, 1];
        steps[20..].iter_mut().for_each(|step| step.free = &[0, 1, 2]);
        let (_, state) = played(2, &steps);
        assert_eq!(only(&state, &["jobs"]), ["jobs 2", "jobs 1", "jobs 2"]);
    }

    #[test]
    fn who_is_over_before_the_first_hand_has_none() {
        let (begun, state) = played(2, &[NOTHING, NOTHING]);
        assert_eq!((begun, only(&state, &["wish"])), (None, vec!["wish 2", "wish 0"]));
    }
}
