//! Which CPUs hands could be on: shows whether one more has a place, where masks differ. A flow through a network with
//! augmenting paths (Ford and Fulkerson), from affinity classes of runs to CPU sets. Says nothing about who is to have a hand.

use super::super::cpu_set::CpuSet;
use super::RunClaim;

/// A whole hand, in the parts in which places are given.
pub const HAND: u64 = 1 << 40;

/// Who has which CPUs. Runs of one *affinity class* may use the same CPUs and share a quota, if any; CPUs of one *CPU set* may be used by the same affinity classes.
#[derive(Clone)]
pub struct Seating {
    /// Of each claim.
    affinity_of: Vec<usize>,
    /// Of each affinity class, its CPU sets by number: there are no more of them than CPUs.
    cpu_sets_of: Vec<CpuSet>,
    /// In each CPU set, what nobody has.
    free: Vec<u64>,
    /// In each CPU set, which affinity classes have how much.
    given: Vec<Vec<(usize, u64)>>,
    /// What each affinity class has in all.
    has: Vec<u64>,
    /// Blocks in which something is free.
    open: CpuSet,
    /// Blocks that are full, as are all to which those in them could move: what searches have found so far.
    closed: CpuSet,
}

/// How far a search has come.
struct Search {
    /// Who would move into each CPU set.
    mover: Vec<usize>,
    /// Out of which CPU set each affinity class would move.
    out_of: Vec<Option<usize>>,
}

impl Search {
    /// From `cpu_set` back to `affinity`: who moves into which CPU set.
    fn way(&self, affinity: usize, cpu_set: usize) -> Vec<(usize, usize)> {
        let mut way = vec![(self.mover[cpu_set], cpu_set)];
        while let Some(left) =
            way.last().filter(|(mover, _)| *mover != affinity).and_then(|(mover, _)| self.out_of[*mover])
        {
            way.push((self.mover[left], left));
        }
        way
    }
}

impl Seating {
    pub fn new(claims: &[RunClaim]) -> Self {
        let mut affinities: Vec<&RunClaim> = Vec::new();
        let mut affinity_of = Vec::with_capacity(claims.len());
        let group = |claim: &RunClaim| claim.quota.map(|quota| quota.group);
        for claim in claims {
            let is_alike = |affinity: &&RunClaim| affinity.cpus == claim.cpus && group(affinity) == group(claim);
            affinity_of.push(affinities.iter().position(is_alike).unwrap_or(affinities.len()));
            if affinity_of.last() == Some(&affinities.len()) {
                affinities.push(claim);
            }
        }
        let cpu_sets = cpu_sets(&affinities);
        let is_of =
            |affinity: &RunClaim, cpu_set: &CpuSet| cpu_set.first().is_some_and(|cpu| affinity.cpus.contains(cpu));
        let cpu_sets_of = |affinity: &&RunClaim| {
            CpuSet::of((0..cpu_sets.len()).filter(|&cpu_set| is_of(affinity, &cpu_sets[cpu_set])))
        };
        Self {
            cpu_sets_of: affinities.iter().map(cpu_sets_of).collect(),
            free: cpu_sets.iter().map(|cpu_set| cpu_set.count() as u64 * HAND).collect(),
            given: vec![Vec::new(); cpu_sets.len()],
            has: vec![0; affinities.len()],
            open: CpuSet::of(0..cpu_sets.len()),
            closed: CpuSet::default(),
            affinity_of,
        }
    }

    pub fn affinity_of(&self, claim: usize) -> usize {
        self.affinity_of[claim]
    }

    pub fn affinities(&self) -> usize {
        self.cpu_sets_of.len()
    }

    pub fn cpu_sets(&self) -> usize {
        self.free.len()
    }

    /// Which affinity classes have how much in `cpu_set`.
    pub fn given(&self, cpu_set: usize) -> &[(usize, u64)] {
        &self.given[cpu_set]
    }

    /// What an affinity class has in all.
    pub fn has(&self, affinity: usize) -> u64 {
        self.has[affinity]
    }

    /// Affinity classes that can have nothing more whatever moves, among them all that `give` has refused something; and what all of them have.
    pub fn bottleneck(&self) -> (Vec<bool>, u64) {
        let is_in = |cpu_sets: &CpuSet| cpu_sets.without(&self.closed).is_empty();
        let has = self.closed.iter().flat_map(|cpu_set| &self.given[cpu_set]).map(|(_, amount)| amount).sum();
        (self.cpu_sets_of.iter().map(is_in).collect(), has)
    }

    /// Takes `amount` away from `affinity`, which has as much.
    pub fn take(&mut self, affinity: usize, mut amount: u64) {
        if amount == 0 {
            return;
        }
        self.closed = CpuSet::default();
        self.has[affinity] -= amount;
        let cpu_sets = self.cpu_sets_of[affinity];
        for cpu_set in cpu_sets.iter() {
            let taken = self.given_to(cpu_set, affinity).min(amount);
            if taken > 0 {
                self.change(cpu_set, affinity, |given| given - taken);
                self.free[cpu_set] += taken;
                self.open.insert(cpu_set);
            }
            amount -= taken;
        }
    }

    fn given_to(&self, cpu_set: usize, affinity: usize) -> u64 {
        self.given[cpu_set].iter().find(|(other, _)| *other == affinity).map_or(0, |(_, amount)| *amount)
    }

    /// Finds places for `amount` more of `affinity`, moving others among their CPUs if need be. Says how much there was.
    pub fn give(&mut self, affinity: usize, amount: u64) -> u64 {
        let mut left = amount;
        while left > 0 {
            match self.give_by_one_path(affinity, left) {
                0 => break,
                given => left -= given,
            }
        }
        self.has[affinity] += amount - left;
        amount - left
    }

    fn give_by_one_path(&mut self, affinity: usize, most: u64) -> u64 {
        if let Some(cpu_set) = self.cpu_sets_of[affinity].and(&self.open).first() {
            return self.move_along(&[(affinity, cpu_set)], most);
        }
        let mut search = Search { mover: vec![affinity; self.cpu_sets()], out_of: vec![None; self.affinities()] };
        let mut reached = self.closed;
        let mut queue = vec![affinity];
        let mut next = 0;
        while let Some(&mover) = queue.get(next) {
            next += 1;
            let cpu_sets = self.cpu_sets_of[mover].without(&reached);
            reached = reached.or(&cpu_sets);
            if let Some(cpu_set) = cpu_sets.and(&self.open).first() {
                search.mover[cpu_set] = mover;
                return self.move_along(&search.way(affinity, cpu_set), most);
            }
            for cpu_set in cpu_sets.iter() {
                search.mover[cpu_set] = mover;
                for &(other, _) in &self.given[cpu_set] {
                    if other != affinity && search.out_of[other].is_none() {
                        search.out_of[other] = Some(cpu_set);
                        queue.push(other);
                    }
                }
            }
        }
        // Until something is taken away nobody will ever leave these CPU sets: no later search needs to look at them.
        self.closed = reached;
        0
    }

    /// Moves as much as can go the whole way, the first of it into what is free. Each goes where the one before it was.
    fn move_along(&mut self, way: &[(usize, usize)], most: u64) -> u64 {
        let leaves = |step: usize| way.get(step + 1).map(|(_, cpu_set)| *cpu_set);
        let end = way[0].1;
        let given = way.iter().enumerate().filter_map(|(step, (mover, _))| Some(self.given_to(leaves(step)?, *mover)));
        let amount = given.fold(most.min(self.free[end]), u64::min);
        self.free[end] -= amount;
        if self.free[end] == 0 {
            self.open.remove(end);
        }
        for (step, &(mover, cpu_set)) in way.iter().enumerate() {
            self.change(cpu_set, mover, |given| given + amount);
            if let Some(left) = leaves(step) {
                self.change(left, mover, |given| given - amount);
            }
        }
        amount
    }

    fn change(&mut self, cpu_set: usize, affinity: usize, change: impl Fn(u64) -> u64) {
        let given = &mut self.given[cpu_set];
        let position = given.iter().position(|(other, _)| *other == affinity).unwrap_or(given.len());
        if position == given.len() {
            given.push((affinity, 0));
        }
        given[position].1 = change(given[position].1);
        if given[position].1 == 0 {
            given.swap_remove(position);
        }
    }
}

/// The CPUs of all affinity classes, divided so that each affinity class may use all of a CPU set or nothing.
fn cpu_sets(affinities: &[&RunClaim]) -> Vec<CpuSet> {
    let mut cpu_sets: Vec<CpuSet> = Vec::new();
    for affinity in affinities {
        let mut new = affinity.cpus;
        for number in 0..cpu_sets.len() {
            let (inside, outside) = (cpu_sets[number].and(&affinity.cpus), cpu_sets[number].without(&affinity.cpus));
            new = new.without(&inside);
            if !inside.is_empty() && !outside.is_empty() {
                cpu_sets[number] = inside;
                cpu_sets.push(outside);
            }
        }
        if !new.is_empty() {
            cpu_sets.push(new);
        }
    }
    cpu_sets
}
