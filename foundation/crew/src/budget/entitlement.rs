//! How many hands each run may hold: a pure function of the table, computed alike by every run.
//! Takes nothing and asks nobody; `machine_wide` acts on the answer. Why nobody starves: `foundation/crew/BUDGET.md`.

mod seating;
mod turns;

use super::Priority;
use super::cpu_set::CpuSet;
use seating::{HAND, Seating};
use turns::{HandWish, SharedBound};

/// What decides about one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunClaim {
    /// Its class: a higher one is served first.
    pub class: Priority,
    /// Its share among runs of its class, at least 1.
    pub weight: u32,
    /// CPUs it may use.
    pub cpus: CpuSet,
    /// The quota that it shares with all runs of its group.
    pub quota: Option<Quota>,
    /// Hands beyond which it would not get faster, at least 1.
    pub useful_width: u32,
    /// Hands it holds, one above capacity included.
    pub held: u32,
    /// Hands that it has from the runner that started it, who holds them: it needs so many fewer of its own, and no guaranteed one.
    pub inherited: u32,
    /// Hands it waits for.
    pub waiting: u32,
    /// Paused by its user, or stopped: it can use no hand now.
    pub rests: bool,
    /// Of class low or idle, and has waited so long that it gets one hand for a slice of time.
    pub is_aged: bool,
}

/// A CPU quota of a control group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// The group's number.
    pub group: u64,
    /// Thousandths of a core.
    pub millicores: u64,
}

/// What a run may do now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entitled {
    /// Hands it may hold.
    pub may_hold: u32,
    /// Hands it must give back at its next yield points: somebody else is entitled to them, or it cannot use them.
    pub must_return: u32,
    /// Of those it may hold, how many there is no CPU for: 1 when its first hand is guaranteed and all CPUs are spoken for.
    pub above: u32,
}

impl RunClaim {
    /// Hands of its own that it has a use for.
    pub fn wants(&self) -> u32 {
        let cpus = u32::try_from(self.cpus.count()).unwrap_or(u32::MAX);
        let useful = self.useful_width.max(1).saturating_sub(self.inherited);
        if self.rests { 0 } else { self.held.saturating_add(self.waiting).min(useful).min(cpus) }
    }

    /// Hands of its own that it would take in the end: of several that it lacks it may wait for one after the other.
    fn would_take(&self) -> u32 {
        match self.waiting {
            0 => self.wants(),
            _ => Self { waiting: u32::MAX, ..*self }.wants(),
        }
    }

    fn is_guaranteed_one(&self) -> bool {
        self.inherited == 0 && self.wants() > 0 && (self.class >= Priority::Normal || self.is_aged)
    }
}

/// Divides the CPUs among `claims`; never more than `capacity` of them, first hands aside. Answers in the claims' order.
///
/// First everybody who is guaranteed a hand gets one, above capacity if need be. What is left goes hand by hand to the
/// highest class, there to the run with the least for its weight, until it wants no more; then to the next class. Runs of low and
/// idle, which are guaranteed nothing, take turns at what cannot be divided among them: `turn` says whose it is.
pub fn entitlements(capacity: u32, turn: u64, claims: &[RunClaim]) -> Vec<Entitled> {
    let mut division = Division::new(capacity, claims);
    let mut order: Vec<usize> = (0..claims.len()).collect();
    // Stable: within a class in the order of the rows.
    order.sort_by_key(|&index| std::cmp::Reverse(claims[index].class));
    for &index in order.iter().filter(|&&index| claims[index].is_guaranteed_one()) {
        division.give_first(index);
    }
    for class in [Priority::High, Priority::Normal, Priority::Low, Priority::Idle] {
        division.serve(class, turn);
    }
    division.entitled
}

/// LIMIT: hands of one run that are told apart: more than there are words, so few that the parts of all can be added up.
const HANDS_MAX: u64 = 8192;

/// How far the dividing has come.
struct Division<'a> {
    claims: &'a [RunClaim],
    entitled: Vec<Entitled>,
    seating: Seating,
    /// Hands that may still be given.
    left: u32,
}

impl<'a> Division<'a> {
    fn new(capacity: u32, claims: &'a [RunClaim]) -> Self {
        let entitled = claims.iter().map(|claim| Entitled { must_return: claim.held, ..Entitled::default() }).collect();
        Self { claims, entitled, seating: Seating::new(claims), left: capacity }
    }

    fn give_first(&mut self, index: usize) {
        if !self.give_seated(index) {
            self.entitled[index].above = 1;
            self.give(index);
        }
    }

    /// Gives a hand for which there is a CPU, if there is one.
    fn give_seated(&mut self, index: usize) -> bool {
        let affinity = self.seating.affinity_of(index);
        let is_seated = self.left > 0 && self.left_of_quota(index) > 0 && self.seating.give(affinity, HAND) == HAND;
        if is_seated {
            self.left -= 1;
            self.give(index);
        }
        is_seated
    }

    fn give(&mut self, index: usize) {
        let entitled = &mut self.entitled[index];
        entitled.may_hold += 1;
        entitled.must_return = self.claims[index].held.saturating_sub(entitled.may_hold);
    }

    /// Gives to the runs of `class` until nobody wants more or nothing is left.
    fn serve(&mut self, class: Priority, turn: u64) {
        let is_open = |&index: &usize| self.claims[index].class == class && self.wants_more(index);
        let open: Vec<usize> = (0..self.claims.len()).filter(is_open).collect();
        if class < Priority::Normal && open.len() > 1 {
            for (&index, hands) in open.iter().zip(self.hands_in_turn(&open, turn)) {
                // It may not yet wait for all that it would take.
                for _ in 0..hands {
                    if self.wants_more(index) {
                        self.give_seated(index);
                    }
                }
            }
        }
        self.deal(open);
    }

    fn wants_more(&self, index: usize) -> bool {
        self.entitled[index].may_hold < self.claims[index].wants()
    }

    /// Gives hand by hand to the neediest of `open`.
    fn deal(&mut self, mut open: Vec<usize>) {
        open.retain(|&index| self.wants_more(index));
        while self.left > 0 {
            let Some(position) = self.neediest(&open) else { return };
            // Who cannot be served now cannot be served later either: CPUs and quotas only fill up.
            if !self.give_seated(open[position]) || !self.wants_more(open[position]) {
                open.remove(position);
            }
        }
    }

    /// Where in `open` the run stands that would have the least for its weight after one more hand; the first of several.
    fn neediest(&self, open: &[usize]) -> Option<usize> {
        let after = |index: usize| f64::from(self.has(index) + 1) / f64::from(self.claims[index].weight.max(1));
        (0..open.len()).min_by(|&one, &other| after(open[one]).total_cmp(&after(open[other])))
    }

    /// What each of `open` is to get in this turn, where shares are not whole hands.
    fn hands_in_turn(&self, open: &[usize], turn: u64) -> Vec<u32> {
        let wish = |&index: &usize| {
            let (claim, has) = (&self.claims[index], self.has(index));
            let most = claim.inherited.saturating_add(claim.would_take()).max(has);
            let (affinity, weight) = (self.seating.affinity_of(index), u64::from(claim.weight.max(1)));
            HandWish { affinity, weight, has: parts(has.into()), most: parts(most.into()) }
        };
        let wishes: Vec<HandWish> = open.iter().map(wish).collect();
        turns::hands_in_turn(&self.seating, &self.bounds(open), &wishes, turn)
    }

    /// What all runs may have more, and then what those of each quota may.
    fn bounds(&self, open: &[usize]) -> Vec<SharedBound> {
        let mut bounds =
            vec![SharedBound { affinities: vec![true; self.seating.affinities()], more: parts(self.left.into()) }];
        let group = |index: usize| self.claims[index].quota.map(|quota| quota.group);
        for &index in open.iter().filter(|&&index| group(index).is_some()) {
            if bounds[1..].iter().any(|bound| bound.affinities[self.seating.affinity_of(index)]) {
                continue;
            }
            let mut affinities = vec![false; self.seating.affinities()];
            let sharers = open.iter().filter(|&&other| group(other) == group(index));
            sharers.for_each(|&sharer| affinities[self.seating.affinity_of(sharer)] = true);
            bounds.push(SharedBound { affinities, more: parts(self.left_of_quota(index)) });
        }
        bounds
    }

    fn has(&self, index: usize) -> u32 {
        self.entitled[index].may_hold + self.claims[index].inherited
    }

    /// Hands that the run's quota still has for its group.
    fn left_of_quota(&self, index: usize) -> u64 {
        let Some(quota) = self.claims[index].quota else { return u64::MAX };
        let is_sharer = |claim: &RunClaim| claim.quota.is_some_and(|other| other.group == quota.group);
        let sharers = self.claims.iter().zip(&self.entitled).filter(|(claim, _)| is_sharer(claim));
        let given: u64 = sharers.map(|(_, entitled)| u64::from(entitled.may_hold)).sum();
        quota.hands().saturating_sub(given)
    }
}

/// So many hands in the parts in which places are given.
fn parts(hands: u64) -> u64 {
    hands.min(HANDS_MAX) * HAND
}

impl Quota {
    /// Hands that keep the quota busy: a part of a core counts as one, and there is always one.
    pub fn hands(&self) -> u64 {
        self.millicores.div_ceil(1000).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(class: Priority, held: u32, waiting: u32) -> RunClaim {
        let cpus = CpuSet::of(0..4);
        let (useful_width, inherited, rests, is_aged) = (64, 0, false, false);
        RunClaim { class, weight: 100, cpus, quota: None, useful_width, held, inherited, waiting, rests, is_aged }
    }

    fn may_hold(claims: &[RunClaim]) -> Vec<u32> {
        entitlements(u32::MAX, 0, claims).iter().map(|entitled| entitled.may_hold).collect()
    }

    #[test]
    fn equals_share_equally_and_a_lone_run_has_all() {
        assert_eq!(may_hold(&[claim(Priority::Normal, 4, 0)]), [4]);
        let two = [claim(Priority::Normal, 4, 0), claim(Priority::Normal, 0, 4)];
        assert_eq!(may_hold(&two), [2, 2]);
        assert_eq!(entitlements(u32::MAX, 0, &two)[0].must_return, 2);
    }

    #[test]
    fn a_higher_class_leaves_the_lower_what_it_does_not_want() {
        assert_eq!(may_hold(&[claim(Priority::Low, 4, 0), claim(Priority::Normal, 0, 3)]), [1, 3]);
        assert_eq!(may_hold(&[claim(Priority::Low, 4, 0), claim(Priority::Normal, 0, 8)]), [0, 4]);
        assert_eq!(may_hold(&[claim(Priority::Normal, 4, 0), claim(Priority::High, 0, 8)]), [1, 3], "its first hand");
    }

    #[test]
    fn weight_divides_a_class() {
        let heavy = RunClaim { weight: 300, ..claim(Priority::Normal, 0, 8) };
        assert_eq!(may_hold(&[heavy, claim(Priority::Normal, 0, 8)]), [3, 1]);
    }

    #[test]
    fn nobody_goes_beyond_useful_width_and_the_rest_is_lent() {
        let narrow = RunClaim { useful_width: 1, ..claim(Priority::High, 3, 5) };
        assert_eq!(may_hold(&[narrow, claim(Priority::Idle, 0, 8)]), [1, 3]);
        assert_eq!(entitlements(u32::MAX, 0, &[narrow])[0].must_return, 2);
    }

    #[test]
    fn first_hands_go_above_capacity_and_say_so() {
        let crowd = vec![claim(Priority::Normal, 0, 2); 6];
        let entitled = entitlements(u32::MAX, 0, &crowd);
        assert!(entitled.iter().all(|entitled| entitled.may_hold == 1));
        assert_eq!(entitled.iter().map(|entitled| entitled.above).sum::<u32>(), 2);
    }

    /// Hands of each in 5000 turns, on average.
    fn over_many_turns(claims: &[RunClaim]) -> Vec<f64> {
        let mut hands = vec![0; claims.len()];
        for turn in 0..5000 {
            let entitled = entitlements(u32::MAX, turn, claims);
            hands.iter_mut().zip(entitled).for_each(|(hands, entitled)| *hands += entitled.may_hold);
        }
        hands.into_iter().map(|hands| f64::from(hands) / 5000.0).collect()
    }

    fn assert_near(claims: &[RunClaim], expected: &[f64]) {
        let hands = over_many_turns(claims);
        let is_near = |(hands, expected): (&f64, &f64)| (hands - expected).abs() < 0.002;
        assert!(hands.iter().zip(expected).all(is_near), "{hands:?} for {expected:?}");
    }

    #[test]
    fn low_runs_have_their_shares_over_many_turns() {
        let of = |weight, cpus| RunClaim { weight, cpus: CpuSet::of(0..cpus), ..claim(Priority::Low, 0, 8) };
        for (cpus, weights, expected) in [
            (1, &[100, 10][..], &[10.0 / 11.0, 1.0 / 11.0][..]),
            (1, &[200, 100], &[2.0 / 3.0, 1.0 / 3.0]),
            (1, &[100, 49, 51], &[0.5, 0.245, 0.255]),
            (2, &[100, 100, 100], &[2.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0]),
            (4, &[10, 100], &[4.0 / 11.0, 40.0 / 11.0]),
            (4, &[100, 100, 100, 100, 100, 300], &[0.5, 0.5, 0.5, 0.5, 0.5, 1.5]),
        ] {
            let claims: Vec<RunClaim> = weights.iter().map(|&weight| of(weight, cpus)).collect();
            assert_near(&claims, expected);
        }
    }

    #[test]
    fn who_wants_nothing_or_little_leaves_the_others_equal() {
        let hungry = claim(Priority::Low, 0, 8);
        let (silent, paused) = (RunClaim { waiting: 0, ..hungry }, RunClaim { rests: true, ..hungry });
        let one_cpu = |claim: RunClaim| RunClaim { cpus: CpuSet::of([0]), ..claim };
        let claims = [hungry, silent, hungry, silent, paused, silent].map(one_cpu);
        assert_near(&claims, &[0.5, 0.0, 0.5, 0.0, 0.0, 0.0]);
        let narrow = RunClaim { useful_width: 1, ..hungry };
        assert_near(&[hungry, narrow, hungry], &[1.5, 1.0, 1.5]);
        let job = RunClaim { inherited: 1, ..hungry };
        assert_near(&[hungry, job], &[2.5, 1.5]);
    }

    #[test]
    fn nobody_starves_by_what_others_could_use() {
        let low = |weight, cpus: std::ops::Range<usize>| RunClaim {
            weight,
            cpus: CpuSet::of(cpus),
            ..claim(Priority::Low, 0, 8)
        };
        // A run that has nothing to do knows more CPUs.
        let silent = RunClaim { waiting: 0, ..low(100, 0..4) };
        assert_near(&[low(100, 0..1), low(300, 0..1), silent], &[0.25, 0.75, 0.0]);
        let in_quota = |weight| RunClaim { quota: Some(Quota { group: 7, millicores: 1000 }), ..low(weight, 0..4) };
        assert_near(&[in_quota(100), in_quota(300)], &[0.25, 0.75]);
        assert_near(&[in_quota(100), in_quota(100), in_quota(100)], &[1.0 / 3.0; 3]);
        let higher = RunClaim { cpus: CpuSet::of([1]), ..claim(Priority::High, 1, 0) };
        assert_near(&[low(100, 0..1), low(300, 0..1), low(100, 2..3), low(900, 2..3)], &[0.25, 0.75, 0.1, 0.9]);
        for (weight, share) in [(100, 0.5), (300, 0.25)] {
            assert_near(&[low(100, 0..1), low(weight, 0..2), higher], &[share, 1.0 - share, 1.0]);
        }
        // The second is on the first one's CPU, since the third's share fills the other.
        assert_near(&[low(100, 0..1), low(100, 0..2), low(200, 1..2)], &[0.5, 0.5, 1.0]);
    }

    #[test]
    fn what_is_whole_hands_never_moves() {
        let of = |weight, cpus| RunClaim { weight, cpus: CpuSet::of(cpus), ..claim(Priority::Low, 0, 8) };
        let in_quota = RunClaim { quota: Some(Quota { group: 7, millicores: 1000 }), ..of(300, 0..4) };
        for (claims, expected) in [
            (vec![of(100, 0..2), of(100, 1..2)], vec![1, 1]),
            (vec![of(300, 0..4), of(100, 1..4)], vec![3, 1]),
            (vec![of(7, 0..3), of(7, 1..4), of(7, 0..3), of(7, 2..4)], vec![1, 1, 1, 1]),
            (vec![of(900, 0..4), of(900, 1..4)], vec![2, 2]),
            (vec![in_quota, of(100, 0..4)], vec![1, 3]),
        ] {
            for turn in (0..2000).chain(u64::MAX - 9..=u64::MAX) {
                let hands = entitlements(u32::MAX, turn, &claims).into_iter().map(|entitled| entitled.may_hold);
                assert_eq!(hands.collect::<Vec<_>>(), expected, "{claims:?} in turn {turn}");
            }
        }
    }

    #[test]
    fn turns_come_round_soon() {
        let claims = [claim(Priority::Low, 0, 1); 8].map(|claim| RunClaim { cpus: CpuSet::of([0]), ..claim });
        let mut last = [0; 8];
        for turn in 0..2000 {
            let entitled = entitlements(u32::MAX, turn, &claims);
            let winner = entitled.iter().position(|entitled| entitled.may_hold == 1).expect("one of them");
            assert!(turn < 30 || turn - last[winner] <= 13, "run {winner} waited from turn {} to {turn}", last[winner]);
            last[winner] = turn;
        }
    }

    #[test]
    fn whoever_waited_long_gets_one_hand_also_under_a_higher_class() {
        let aged = RunClaim { is_aged: true, ..claim(Priority::Idle, 0, 4) };
        assert_eq!(may_hold(&[claim(Priority::High, 4, 4), aged]), [3, 1]);
        assert_eq!(may_hold(&[claim(Priority::High, 4, 4), claim(Priority::Idle, 0, 4)]), [4, 0]);
    }

    #[test]
    fn a_quota_bounds_all_runs_of_its_group_together() {
        let quota = Some(Quota { group: 7, millicores: 2500 });
        let inside = RunClaim { quota, ..claim(Priority::Normal, 0, 4) };
        assert_eq!(may_hold(&[inside, inside, claim(Priority::Low, 0, 4)]), [2, 1, 1]);
    }

    #[test]
    fn hands_move_among_their_cpus_to_make_room_for_a_narrow_mask() {
        let wide = RunClaim { cpus: CpuSet::of(0..2), useful_width: 1, ..claim(Priority::High, 0, 1) };
        let narrow = RunClaim { cpus: CpuSet::of([0]), ..claim(Priority::Low, 0, 4) };
        assert_eq!(may_hold(&[wide, narrow]), [1, 1]);
    }

    #[test]
    fn the_paused_and_the_stopped_hold_nothing() {
        let paused = RunClaim { rests: true, ..claim(Priority::High, 3, 1) };
        assert_eq!(entitlements(u32::MAX, 0, &[paused])[0], Entitled { may_hold: 0, must_return: 3, above: 0 });
    }

    #[test]
    fn a_smaller_capacity_is_kept_to() {
        assert_eq!(entitlements(3, 0, &[claim(Priority::Normal, 4, 0)])[0].must_return, 1);
    }

    #[test]
    fn what_a_run_has_from_its_runner_counts_for_its_width_its_share_and_its_first_hand() {
        let job = RunClaim { inherited: 1, useful_width: 4, ..claim(Priority::Normal, 0, 4) };
        assert_eq!(may_hold(&[claim(Priority::Normal, 1, 0), job]), [1, 3]);
        assert_eq!(may_hold(&[claim(Priority::Normal, 0, 4), job]), [3, 1], "three each would be too much by two");
        assert_eq!(may_hold(&[claim(Priority::High, 4, 4), job]), [4, 0], "it has a hand and is guaranteed no other");
        let narrow = RunClaim { useful_width: 1, ..job };
        assert_eq!(may_hold(&[narrow]), [0]);
    }
}
