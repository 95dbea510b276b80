//! Which CPUs hands could be on: shows whether one more has a place, where masks differ. A flow through a network with
//! augmenting paths (Ford and Fulkerson), from kinds of runs to patches of CPUs. Says nothing about who is to have a hand.

use super::super::cpu_set::CpuSet;
use super::RunClaim;

/// A whole hand, in the parts in which places are given.
pub const HAND: u64 = 1 << 40;

/// Who has which CPUs. Runs of one *kind* may use the same CPUs and share a quota, if any; CPUs of one *patch* may be used by the same kinds.
#[derive(Clone)]
pub struct Seating {
    /// Of each claim.
    kind_of: Vec<usize>,
    /// Of each kind, its patches by number: there are no more of them than CPUs.
    patches_of: Vec<CpuSet>,
    /// In each patch, what nobody has.
    free: Vec<u64>,
    /// In each patch, which kinds have how much.
    given: Vec<Vec<(usize, u64)>>,
    /// What each kind has in all.
    has: Vec<u64>,
    /// Blocks in which something is free.
    open: CpuSet,
    /// Blocks that are full, as are all to which those in them could move: what searches have found so far.
    closed: CpuSet,
}

/// How far a search has come.
struct Search {
    /// Who would move into each patch.
    mover: Vec<usize>,
    /// Out of which patch each kind would move.
    out_of: Vec<Option<usize>>,
}

impl Search {
    /// From `patch` back to `kind`: who moves into which patch.
    fn way(&self, kind: usize, patch: usize) -> Vec<(usize, usize)> {
        let mut way = vec![(self.mover[patch], patch)];
        while let Some(left) = way.last().filter(|(mover, _)| *mover != kind).and_then(|(mover, _)| self.out_of[*mover])
        {
            way.push((self.mover[left], left));
        }
        way
    }
}

impl Seating {
    pub fn new(claims: &[RunClaim]) -> Self {
        let mut kinds: Vec<&RunClaim> = Vec::new();
        let mut kind_of = Vec::with_capacity(claims.len());
        let group = |claim: &RunClaim| claim.quota.map(|quota| quota.group);
        for claim in claims {
            let is_alike = |kind: &&RunClaim| kind.cpus == claim.cpus && group(kind) == group(claim);
            kind_of.push(kinds.iter().position(is_alike).unwrap_or(kinds.len()));
            if kind_of.last() == Some(&kinds.len()) {
                kinds.push(claim);
            }
        }
        let patches = patches(&kinds);
        let is_of = |kind: &RunClaim, patch: &CpuSet| patch.first().is_some_and(|cpu| kind.cpus.contains(cpu));
        let patches_of =
            |kind: &&RunClaim| CpuSet::of((0..patches.len()).filter(|&patch| is_of(kind, &patches[patch])));
        Self {
            patches_of: kinds.iter().map(patches_of).collect(),
            free: patches.iter().map(|patch| patch.count() as u64 * HAND).collect(),
            given: vec![Vec::new(); patches.len()],
            has: vec![0; kinds.len()],
            open: CpuSet::of(0..patches.len()),
            closed: CpuSet::default(),
            kind_of,
        }
    }

    pub fn kind_of(&self, claim: usize) -> usize {
        self.kind_of[claim]
    }

    pub fn kinds(&self) -> usize {
        self.patches_of.len()
    }

    pub fn patches(&self) -> usize {
        self.free.len()
    }

    /// Which kinds have how much in `patch`.
    pub fn given(&self, patch: usize) -> &[(usize, u64)] {
        &self.given[patch]
    }

    /// What a kind has in all.
    pub fn has(&self, kind: usize) -> u64 {
        self.has[kind]
    }

    /// Kinds that can have nothing more whatever moves, among them all that `give` has refused something; and what all of them have.
    pub fn bottleneck(&self) -> (Vec<bool>, u64) {
        let is_in = |patches: &CpuSet| patches.without(&self.closed).is_empty();
        let has = self.closed.iter().flat_map(|patch| &self.given[patch]).map(|(_, amount)| amount).sum();
        (self.patches_of.iter().map(is_in).collect(), has)
    }

    /// Takes `amount` away from `kind`, which has as much.
    pub fn take(&mut self, kind: usize, mut amount: u64) {
        if amount == 0 {
            return;
        }
        self.closed = CpuSet::default();
        self.has[kind] -= amount;
        let patches = self.patches_of[kind];
        for patch in patches.iter() {
            let taken = self.given_to(patch, kind).min(amount);
            if taken > 0 {
                self.change(patch, kind, |given| given - taken);
                self.free[patch] += taken;
                self.open.insert(patch);
            }
            amount -= taken;
        }
    }

    fn given_to(&self, patch: usize, kind: usize) -> u64 {
        self.given[patch].iter().find(|(other, _)| *other == kind).map_or(0, |(_, amount)| *amount)
    }

    /// Finds places for `amount` more of `kind`, moving others among their CPUs if need be. Says how much there was.
    pub fn give(&mut self, kind: usize, amount: u64) -> u64 {
        let mut left = amount;
        while left > 0 {
            match self.give_by_one_path(kind, left) {
                0 => break,
                given => left -= given,
            }
        }
        self.has[kind] += amount - left;
        amount - left
    }

    fn give_by_one_path(&mut self, kind: usize, most: u64) -> u64 {
        if let Some(patch) = self.patches_of[kind].and(&self.open).first() {
            return self.move_along(&[(kind, patch)], most);
        }
        let mut search = Search { mover: vec![kind; self.patches()], out_of: vec![None; self.kinds()] };
        let mut reached = self.closed;
        let mut queue = vec![kind];
        let mut next = 0;
        while let Some(&mover) = queue.get(next) {
            next += 1;
            let patches = self.patches_of[mover].without(&reached);
            reached = reached.or(&patches);
            if let Some(patch) = patches.and(&self.open).first() {
                search.mover[patch] = mover;
                return self.move_along(&search.way(kind, patch), most);
            }
            for patch in patches.iter() {
                search.mover[patch] = mover;
                for &(other, _) in &self.given[patch] {
                    if other != kind && search.out_of[other].is_none() {
                        search.out_of[other] = Some(patch);
                        queue.push(other);
                    }
                }
            }
        }
        // Until something is taken away nobody will ever leave these patches: no later search needs to look at them.
        self.closed = reached;
        0
    }

    /// Moves as much as can go the whole way, the first of it into what is free. Each goes where the one before it was.
    fn move_along(&mut self, way: &[(usize, usize)], most: u64) -> u64 {
        let leaves = |step: usize| way.get(step + 1).map(|(_, patch)| *patch);
        let end = way[0].1;
        let given = way.iter().enumerate().filter_map(|(step, (mover, _))| Some(self.given_to(leaves(step)?, *mover)));
        let amount = given.fold(most.min(self.free[end]), u64::min);
        self.free[end] -= amount;
        if self.free[end] == 0 {
            self.open.remove(end);
        }
        for (step, &(mover, patch)) in way.iter().enumerate() {
            self.change(patch, mover, |given| given + amount);
            if let Some(left) = leaves(step) {
                self.change(left, mover, |given| given - amount);
            }
        }
        amount
    }

    fn change(&mut self, patch: usize, kind: usize, change: impl Fn(u64) -> u64) {
        let given = &mut self.given[patch];
        let position = given.iter().position(|(other, _)| *other == kind).unwrap_or(given.len());
        if position == given.len() {
            given.push((kind, 0));
        }
        given[position].1 = change(given[position].1);
        if given[position].1 == 0 {
            given.swap_remove(position);
        }
    }
}

/// The CPUs of all kinds, divided so that each kind may use all of a patch or nothing.
fn patches(kinds: &[&RunClaim]) -> Vec<CpuSet> {
    let mut patches: Vec<CpuSet> = Vec::new();
    for kind in kinds {
        let mut new = kind.cpus;
        for number in 0..patches.len() {
            let (inside, outside) = (patches[number].and(&kind.cpus), patches[number].without(&kind.cpus));
            new = new.without(&inside);
            if !inside.is_empty() && !outside.is_empty() {
                patches[number] = inside;
                patches.push(outside);
            }
        }
        if !new.is_empty() {
            patches.push(new);
        }
    }
    patches
}
