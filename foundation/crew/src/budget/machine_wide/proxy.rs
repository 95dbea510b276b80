//! A lease in the hands of a proxy: it speaks for a program that knows nothing of hands, has no yield points and no threads of
//! its own to put into the queue. It says how many hands it wishes for, sleeps on the table and tries again when that changes.

use super::{MachineWide, Member, RowEntry, now_ms};
use crate::budget::hands::Taken;
use crate::budget::layout::CPUS;
use crate::budget::watch::SleepMoment;
use crate::budget::{Hand, HandPlace, Lease, Request};
use crate::sync::{Arc, lock};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often a proxy looks by itself while nobody is hungry: for a table that was removed, which nothing announces. Longer lets
/// old and new runs overlap longer; shorter wakes a machine that rests.
const LOOK_AT_REST: Duration = Duration::from_secs(10);
/// The same for who looks at more than the table, while others are there or this run leaves cores to external programs. Longer notices later that a
/// program or external programs do more than before.
const LOOK_IN_COMPANY: Duration = Duration::from_secs(1);
/// The same while somebody is hungry: waiting long changes who is entitled to what, which nothing announces either; and the dead
/// and the stopped have to be looked after. As long as a hungry run's own slowest look.
const LOOK_HUNGRY: Duration = super::sleep::ROUND;

/// The other runs of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Company {
    /// There is none.
    Nobody,
    /// They have the hands that they want.
    Content,
    /// One of them waits for a hand, or for a CPU for the one it has.
    Hungry,
}

/// What a proxy looks at between its sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attention {
    /// The table, which tells of itself.
    Table,
    /// Also what external programs do, which no table tells.
    ExternalPrograms,
    /// Also what its program does: in a rhythm of its own while somebody is hungry.
    Program,
}

/// What a proxy needs beyond a lease.
pub trait Proxy: Lease {
    /// The CPU whose word the hand is; none for a first hand above capacity.
    fn cpu_of(&self, hand: &Hand) -> Option<usize>;
    /// Says that `hands` more are wanted. Others then give back what they hold beyond their share, and [`Lease::try_take`] gets it.
    fn wish_for(&self, hands: usize);
    /// The other runs, that could use what the program does not.
    fn company(&self) -> Company;
    /// Hands that the run could come to hold now if its program could use as many as it asked for.
    fn may_hold(&self) -> usize;
    /// Whether its user wants the program to rest.
    fn is_paused(&self) -> bool;
    /// The moment to begin a sleep with: to be asked before the table is looked at.
    fn moment(&self) -> SleepMoment;
    /// Milliseconds of a clock that never goes back.
    fn clock_ms(&self) -> u64;
    /// Sleeps until the table has changed in a way that may concern this run, or for as long as may pass without a look at what has
    /// `attention`.
    fn sleep(&self, since: SleepMoment, attention: Attention);
    /// Ends this run's sleep on the table.
    fn wake(&self);
}

impl MachineWide {
    /// Signs a run up that a proxy speaks for. None where runs do not share: [`MachineWide::why_alone`] says why.
    pub fn proxy(&self, request: Request) -> Option<Box<dyn Proxy>> {
        let entry = self.shared.entry(&request);
        self.proxy_as(request, entry)
    }

    /// The same for job slots of a run, in a row that says so.
    pub fn proxy_of_job_slots(&self, request: Request) -> Option<Box<dyn Proxy>> {
        let mut entry = self.shared.entry(&request);
        entry.standing.is_job_slots = true;
        self.proxy_as(request, entry)
    }

    fn proxy_as(&self, request: Request, entry: RowEntry) -> Option<Box<dyn Proxy>> {
        let member = Member::new(Arc::clone(&self.shared), request, self.claim(entry)?);
        member.seat().inspect(|(_, seat)| seat.listen());
        Some(Box::new(member))
    }
}

impl Proxy for Member {
    fn cpu_of(&self, hand: &Hand) -> Option<usize> {
        let taken = match hand.place {
            HandPlace::Inherited { number } => Some(self.inheritance.passed(number).taken),
            _ => self.whereabouts(hand).1,
        };
        taken.map(|Taken { cpu_slot, .. }| cpu_slot).filter(|cpu_slot| *cpu_slot < CPUS)
    }

    fn wish_for(&self, hands: usize) {
        let queue = lock(&self.queue);
        // ORDER: SeqCst like the threads in the queue, with which it is added up.
        self.wished.store(super::width(hands.max(1)) * u32::from(hands > 0), Ordering::SeqCst);
        self.publish(&queue);
    }

    fn company(&self) -> Company {
        self.seat().map_or(Company::Nobody, |(_, seat)| seat.company())
    }

    fn may_hold(&self) -> usize {
        let width = super::width(self.request.useful_width);
        self.seat().map_or(self.request.useful_width, |(_, seat)| seat.may_hold(width) as usize)
    }

    fn is_paused(&self) -> bool {
        self.seat().is_some_and(|(_, seat)| seat.is_paused())
    }

    fn moment(&self) -> SleepMoment {
        self.seat().map(|(_, seat)| seat.moment()).unwrap_or_default()
    }

    fn clock_ms(&self) -> u64 {
        now_ms()
    }

    fn sleep(&self, since: SleepMoment, attention: Attention) {
        let Some((_, seat)) = self.seat() else { return std::thread::sleep(LOOK_HUNGRY) };
        let is_hungry = seat.is_anybody_hungry();
        let has_reason = || seat.company() != Company::Nobody || self.shared.gives_way(seat.standing().class);
        let own_look = match () {
            () if is_hungry => seat.until_own_look(LOOK_HUNGRY),
            () if attention != Attention::Table && has_reason() => LOOK_IN_COMPANY,
            () => LOOK_AT_REST,
        };
        // A look after the others has its turn; at the program it is as frequent however many runs there are.
        let is_sampling = is_hungry && attention == Attention::Program;
        let limit = if is_sampling { own_look.min(LOOK_HUNGRY) } else { own_look };
        seat.sleep(since, limit);
        if (is_hungry && limit == own_look && seat.moment() == since) || seat.sees_a_death() {
            // Somebody died, or time is up. A death that nobody reaps would end the next sleep at once, and every other one.
            seat.reap_others();
        }
        let before = self.current.load(Ordering::Acquire);
        self.look_after_table();
        if self.current.load(Ordering::Acquire) != before {
            self.seat().inspect(|(_, seat)| seat.listen());
        }
    }

    fn wake(&self) {
        self.seat().inspect(|(_, seat)| seat.wake_own());
    }
}
