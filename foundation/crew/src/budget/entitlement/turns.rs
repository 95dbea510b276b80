//! Turns of runs that are guaranteed nothing: their shares in parts of hands, and which of these are whole hands in one turn.
//! A pure function in whole numbers, the same in all processes. Gives no hand: `entitlement` does.

use super::seating::{HAND, Seating};

/// By steps of this part of 2^64, the golden ratio, few turns one after the other are spread evenly, whatever the shares are.
const GOLDEN_RATIO: u64 = 0x9e37_79b9_7f4a_7c15;

/// LIMIT: what is so little beyond whole hands, or short of them, was left by rounding: the least that weights from 1 to 10,000 of 250 runs make is more.
const TINY: u64 = HAND >> 22;

fn is_part(amount: u64) -> bool {
    let part = amount % HAND;
    part > TINY && HAND - part > TINY
}

/// A run that wants more hands.
pub struct HandWish {
    pub affinity: usize,
    pub weight: u64,
    /// Parts of hands that it has, those from its runner included.
    pub has: u64,
    /// The most that it would have.
    pub most: u64,
}

/// What runs of these affinity classes may have more between them.
#[derive(Clone)]
pub struct SharedBound {
    pub affinities: Vec<bool>,
    pub more: u64,
}

/// For each of `wishes` the hands that it gets in this `turn`, besides those that it has. `seating` is that of the hands that were given
/// before; the first of `bounds` is for all, no others have an affinity class in common.
pub fn hands_in_turn(seating: &Seating, bounds: &[SharedBound], wishes: &[HandWish], turn: u64) -> Vec<u32> {
    let mut shares = Shares::new(seating, bounds, wishes);
    shares.settle();
    let is_rounded_up = Network::new(&shares).round(turn);
    shares.whole_hands(&is_rounded_up, turn)
}

/// A number below `end` that runs evenly through all of them from turn to turn: for each `step` by other steps.
fn drawn_below(end: u64, turn: u64, step: u32) -> u64 {
    let drawn = turn.wrapping_mul(GOLDEN_RATIO.wrapping_pow(step + 1));
    ((u128::from(drawn) * u128::from(end)) >> 64) as u64
}

/// What there is for a weight.
#[derive(Clone, Copy)]
struct Level {
    amount: u64,
    weight: u64,
}

impl Level {
    const HIGHEST: Self = Self { amount: u64::MAX, weight: 1 };

    fn of(self, weight: u64) -> u64 {
        let share = u128::from(self.amount) * u128::from(weight) / u128::from(self.weight);
        u64::try_from(share).unwrap_or(u64::MAX)
    }

    fn share(self, wish: &HandWish) -> u64 {
        self.of(wish.weight).clamp(wish.has, wish.most)
    }

    /// Where the shares of `wishes` are `amount` together.
    fn at(mut amount: u64, wishes: &[&HandWish]) -> Self {
        let mut open = wishes.to_vec();
        loop {
            let level = Self { amount, weight: open.iter().map(|wish| wish.weight).sum::<u64>().max(1) };
            let over: u64 = open.iter().map(|wish| level.of(wish.weight).saturating_sub(wish.most)).sum();
            let under: u64 = open.iter().map(|wish| wish.has.saturating_sub(level.of(wish.weight))).sum();
            if over == under {
                return level;
            }
            // The level will be a higher one, and these have their most, or a lower one, and those what they have.
            let bound = |wish: &HandWish| {
                let share = level.of(wish.weight);
                if over > under {
                    (share > wish.most).then_some(wish.most)
                } else {
                    (share < wish.has).then_some(wish.has)
                }
            };
            amount = amount.saturating_sub(open.iter().filter_map(|wish| bound(wish)).sum());
            open.retain(|wish| bound(wish).is_none());
            if open.is_empty() {
                return level;
            }
        }
    }
}

/// What each would have if hands could be divided: by weight, and where CPUs or a quota bound some, these have what there is for them, and the others more
/// (weighted max-min fairness).
struct Shares<'a> {
    wishes: &'a [HandWish],
    bounds: &'a [SharedBound],
    /// The share of each wish, without what it has.
    more: Vec<u64>,
    /// What each affinity class has without these.
    before: Vec<u64>,
    /// Where they are.
    seating: Seating,
    /// Of each affinity class, whether its shares are final.
    is_settled: Vec<bool>,
}

impl<'a> Shares<'a> {
    fn new(seating: &Seating, bounds: &'a [SharedBound], wishes: &'a [HandWish]) -> Self {
        let before = (0..seating.affinities()).map(|affinity| seating.has(affinity)).collect();
        let mut is_settled = vec![true; seating.affinities()];
        wishes.iter().for_each(|wish| is_settled[wish.affinity] = false);
        Self { wishes, bounds, more: vec![0; wishes.len()], before, seating: seating.clone(), is_settled }
    }

    /// Raises the level for all until some cannot have more. These stay there, and the others go on.
    fn settle(&mut self) {
        // The level is found from above, by what is exceeded at the one before (Newton's method).
        let mut bounds: Vec<SharedBound> = Vec::new();
        // LIMIT: each affinity class is found to be bound once, after some steps; this many are an end whatever the table says.
        for _ in 0..16 * (self.seating.affinities() + 1) {
            self.raise_to(bounds.last().map_or(Level::HIGHEST, |bound| self.level_within(bound)));
            if let Some(bound) = self.exceeded() {
                bounds.push(bound);
                continue;
            }
            let Some(bound) = bounds.pop() else { break };
            self.is_settled.iter_mut().zip(&bound.affinities).for_each(|(is_settled, is_in)| *is_settled |= is_in);
            let is_open = |bound: &SharedBound| {
                self.is_settled.iter().zip(&bound.affinities).any(|(settled, is_in)| *is_in && !settled)
            };
            bounds.retain(is_open);
        }
        for more in self.more.iter_mut().filter(|more| !is_part(**more)) {
            *more = (*more + TINY) / HAND * HAND;
        }
    }

    fn raise_to(&mut self, level: Level) {
        for (more, wish) in self.more.iter_mut().zip(self.wishes).filter(|(_, wish)| !self.is_settled[wish.affinity]) {
            *more = level.share(wish) - wish.has;
        }
    }

    fn more_of(&self, is_meant: impl Fn(usize) -> bool) -> u64 {
        self.wishes.iter().zip(&self.more).filter(|(wish, _)| is_meant(wish.affinity)).map(|(_, more)| more).sum()
    }

    fn more_by_affinity(&self) -> Vec<u64> {
        let mut affinities = vec![0; self.seating.affinities()];
        self.wishes.iter().zip(&self.more).for_each(|(wish, more)| affinities[wish.affinity] += more);
        affinities
    }

    /// A bound beyond which some would have more than there is.
    fn exceeded(&mut self) -> Option<SharedBound> {
        if let Some(bound) =
            self.bounds.iter().find(|bound| self.more_of(|affinity| bound.affinities[affinity]) > bound.more)
        {
            return Some(bound.clone());
        }
        if self.find_places() {
            return None;
        }
        let (affinities, has) = self.seating.bottleneck();
        let before: u64 =
            self.before.iter().zip(&affinities).filter(|(_, is_in)| **is_in).map(|(before, _)| before).sum();
        Some(SharedBound { affinities, more: has.saturating_sub(before) })
    }

    /// Says whether there are places for all.
    fn find_places(&mut self) -> bool {
        let needs: Vec<u64> =
            self.before.iter().zip(self.more_by_affinity()).map(|(before, more)| before + more).collect();
        for (affinity, needs) in needs.iter().enumerate() {
            self.seating.take(affinity, self.seating.has(affinity).saturating_sub(*needs));
        }
        let mut has_all = true;
        for (affinity, needs) in needs.iter().enumerate() {
            let lacks = needs - self.seating.has(affinity);
            has_all &= self.seating.give(affinity, lacks) == lacks;
        }
        has_all
    }

    fn level_within(&self, bound: &SharedBound) -> Level {
        let settled = self.more_of(|affinity| bound.affinities[affinity] && self.is_settled[affinity]);
        let is_open = |wish: &&HandWish| bound.affinities[wish.affinity] && !self.is_settled[wish.affinity];
        let open: Vec<&HandWish> = self.wishes.iter().filter(is_open).collect();
        let has: u64 = open.iter().map(|wish| wish.has).sum();
        Level::at(has + bound.more.saturating_sub(settled), &open)
    }

    /// Divides within each affinity class what it has in this turn, a whole hand or none for the part of one, by systematic sampling (W. G. Madow, 1949): the shares
    /// stand in a row, and marks one hand apart beside it, of which the first moves from turn to turn. A hand with a mark on its share gets the hand.
    fn whole_hands(&self, is_rounded_up: &[bool], turn: u64) -> Vec<u32> {
        let first_mark = |(more, is_rounded_up): (u64, &bool)| {
            let part = more % HAND;
            let (from, wide) = if *is_rounded_up { (0, part) } else { (part, HAND - part) };
            from + drawn_below(wide, turn, 0)
        };
        let first_marks: Vec<u64> = self.more_by_affinity().into_iter().zip(is_rounded_up).map(first_mark).collect();
        let mut ends = vec![0; self.seating.affinities()];
        let mut hands = Vec::with_capacity(self.wishes.len());
        for (wish, more) in self.wishes.iter().zip(&self.more) {
            let marks_before = |end: u64| (end + HAND - 1 - first_marks[wish.affinity]) / HAND;
            let end = ends[wish.affinity] + more;
            hands.push((marks_before(end) - marks_before(ends[wish.affinity])) as u32);
            ends[wish.affinity] = end;
        }
        hands
    }
}

/// A stretch of the way from all hands by quotas, affinity classes and CPU sets back to all hands.
struct Edge {
    from: usize,
    to: usize,
    /// What is beyond whole hands of what goes along it.
    part: u64,
}

/// Where parts of hands go: at every point as much comes in as goes out.
struct Network {
    edges: Vec<Edge>,
    /// At each point, the edges that end or begin there.
    at: Vec<Vec<usize>>,
    affinities: usize,
}

impl Network {
    /// The first edges are those to the affinity classes.
    fn new(shares: &Shares) -> Self {
        let seating = &shares.seating;
        let (affinities, cpu_sets) = (seating.affinities(), seating.cpu_sets());
        // Points: affinity classes, CPU sets, bounds (the first is for all hands), the end.
        let of_bound = |bound: usize| affinities + cpu_sets + bound;
        let end = of_bound(shares.bounds.len());
        let is_of = |bound: usize, affinity: usize| bound > 0 && shares.bounds[bound].affinities[affinity];
        let bound_of = |affinity| (1..shares.bounds.len()).find(|&bound| is_of(bound, affinity)).unwrap_or(0);
        let mut network = Self { edges: Vec::new(), at: vec![Vec::new(); end + 1], affinities };
        for (affinity, more) in shares.more_by_affinity().into_iter().enumerate() {
            network.add(of_bound(bound_of(affinity)), affinity, more);
        }
        for bound in 1..shares.bounds.len() {
            network.add(of_bound(0), of_bound(bound), shares.more_of(|affinity| is_of(bound, affinity)));
        }
        for cpu_set in 0..cpu_sets {
            let given = seating.given(cpu_set);
            given.iter().for_each(|&(affinity, amount)| network.add(affinity, affinities + cpu_set, amount));
            network.add(affinities + cpu_set, end, given.iter().map(|(_, amount)| amount).sum());
        }
        network.add(end, of_bound(0), shares.more_of(|_| true));
        network
    }

    fn add(&mut self, from: usize, to: usize, amount: u64) {
        if is_part(amount) || self.edges.len() < self.affinities {
            self.at[from].push(self.edges.len());
            self.at[to].push(self.edges.len());
            self.edges.push(Edge { from, to, part: amount % HAND });
        }
    }

    /// Makes whole hands or none of all parts, and says which affinity classes got one: each as often as its part is large, over the turns. Where parts lead in a
    /// circle more may flow around it, or less, until somewhere a hand is whole or none; one of the two is the rarer, the farther it leads
    /// (dependent rounding: R. Gandhi, S. Khuller, S. Parthasarathy, A. Srinivasan, 2006).
    fn round(mut self, turn: u64) -> Vec<bool> {
        let mut step = 0_u32;
        while let Some(circle) = self.circle() {
            step += 1;
            let room = |is_more: bool| {
                let room = |&(edge, is_along): &(usize, bool)| match is_along == is_more {
                    true => HAND - self.edges[edge].part,
                    false => self.edges[edge].part,
                };
                circle.iter().map(room).min().unwrap_or(0)
            };
            let (more, less) = (room(true), room(false));
            let is_more = drawn_below(more + less, turn, step) < less;
            for &(edge, is_along) in &circle {
                let part = &mut self.edges[edge].part;
                match (is_along == is_more, is_more) {
                    (true, true) => *part += more,
                    (true, false) => *part += less,
                    (false, true) => *part -= more,
                    (false, false) => *part -= less,
                }
            }
        }
        self.edges[..self.affinities].iter().map(|edge| edge.part > HAND / 2).collect()
    }

    /// Edges with parts that lead back to where they began, and whether each is gone along. None when no part is left.
    fn circle(&mut self) -> Option<Vec<(usize, bool)>> {
        let mut way: Vec<(usize, bool)> = Vec::new();
        let mut left_at = vec![None; self.at.len()];
        let mut point = self.edges.iter().find(|edge| is_part(edge.part))?.from;
        while left_at[point].is_none() {
            left_at[point] = Some(way.len());
            let came = way.last().map(|(edge, _)| *edge);
            let edges = &self.edges;
            self.at[point].retain(|&edge| is_part(edges[edge].part));
            let Some(&edge) = self.at[point].iter().find(|&&edge| Some(edge) != came) else {
                // Where one part comes in another one goes out: this one is what rounding has left.
                let part = &mut self.edges[came?].part;
                *part = if *part > HAND / 2 { HAND } else { 0 };
                return Some(Vec::new());
            };
            let Edge { from, to, .. } = self.edges[edge];
            way.push((edge, from == point));
            point = if from == point { to } else { from };
        }
        Some(way.split_off(left_at[point]?))
    }
}
