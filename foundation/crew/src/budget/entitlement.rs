//! Who may hold how many hands: a pure function of what the table says, computed alike by every run.
//! Takes nothing and asks nobody; `machine_wide` acts on the answer. Why nobody starves: `foundation/crew/BUDGET.md`.

use super::Priority;
use super::cpu_set::CpuSet;

/// What decides about one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
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

impl Claim {
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
pub fn entitlements(capacity: u32, turn: u64, claims: &[Claim]) -> Vec<Entitled> {
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

/// LIMIT: halvings when shares are looked for: to a ten-thousandth of a hand at worst, for weights from 1 to 10,000 and 1,024 CPUs.
const SHARE_BITS: u32 = 40;

/// By steps of this, few turns one after the other are spread evenly, whatever the shares are.
const GOLDEN_RATIO: f64 = 0.618_033_988_749_895;

/// A time that `index` draws in `turn`, nearly exponentially distributed: the same in all processes. Random bits from the finalizer of
/// splitmix64, and minus their logarithm, a straight line between powers of two (without the C library's mathematics, which all runs would load).
fn drawn(turn: u64, index: usize) -> f64 {
    let mut bits = (turn << 16).wrapping_add(index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits = (bits ^ (bits >> 31)) | 1;
    let behind_first_one = bits << bits.leading_zeros() << 1;
    let line = 1.0 - behind_first_one as f64 / 2_f64.powi(64);
    (f64::from(bits.leading_zeros()) + line) * std::f64::consts::LN_2
}

/// What stands behind the point of a number that is not negative.
fn part(number: f64) -> f64 {
    number - (number as u64) as f64
}

/// A run that wants more hands.
struct Open {
    index: usize,
    /// What is taken off its next hand when hands are compared: less than one, or where it is drawn at most that.
    lead: f64,
}

impl Open {
    fn without_lead(index: usize) -> Self {
        Self { index, lead: 0.0 }
    }
}

/// How far the dividing has come.
#[derive(Clone)]
struct Division<'a> {
    claims: &'a [Claim],
    entitled: Vec<Entitled>,
    seating: Seating<'a>,
    /// Hands that may still be given.
    left: u32,
}

impl<'a> Division<'a> {
    fn new(capacity: u32, claims: &'a [Claim]) -> Self {
        let entitled = claims.iter().map(|claim| Entitled { must_return: claim.held, ..Entitled::default() }).collect();
        Self { claims, entitled, seating: Seating::new(claims), left: capacity }
    }

    fn give_first(&mut self, index: usize) {
        let is_seated = self.left > 0 && !self.is_quota_used_up(index) && self.seating.seat(index);
        if is_seated {
            self.left -= 1;
        } else {
            self.entitled[index].above = 1;
        }
        self.give(index);
    }

    fn give(&mut self, index: usize) {
        let entitled = &mut self.entitled[index];
        entitled.may_hold += 1;
        entitled.must_return = self.claims[index].held.saturating_sub(entitled.may_hold);
    }

    /// Gives to the runs of `class` until nobody wants more or nothing is left.
    fn serve(&mut self, class: Priority, turn: u64) {
        let is_served = |&index: &usize| {
            self.claims[index].class == class && self.entitled[index].may_hold < self.claims[index].wants()
        };
        let mut open: Vec<Open> = (0..self.claims.len()).filter(is_served).map(Open::without_lead).collect();
        if class < Priority::Normal && open.len() > 1 {
            self.give_leads(&mut open, turn);
        }
        self.deal(open, Claim::wants);
    }

    /// Gives hand by hand to the neediest of `open`.
    fn deal(&mut self, mut open: Vec<Open>, wants: fn(&Claim) -> u32) {
        while self.left > 0 {
            let Some(position) = self.neediest(&open) else { return };
            let index = open[position].index;
            // Who cannot be served now cannot be served later either: CPUs and quotas only fill up.
            if self.is_quota_used_up(index) || !self.seating.seat(index) {
                open.remove(position);
                continue;
            }
            self.left -= 1;
            self.give(index);
            if self.entitled[index].may_hold >= wants(&self.claims[index]) {
                open.remove(position);
            }
        }
    }

    /// Where in `open` the run stands that would have the least for its weight after one more hand; the first of several.
    fn neediest(&self, open: &[Open]) -> Option<usize> {
        let after = |open: &Open| (f64::from(self.has(open.index) + 1) - open.lead) / self.weight(open.index);
        (0..open.len()).min_by(|&one, &other| after(&open[one]).total_cmp(&after(&open[other])))
    }

    /// Says what each of `open` is ahead by when hands are compared.
    ///
    /// Where all who compete may use the same CPUs, by systematic sampling (W. G. Madow, 1949): their shares, parts of hands included, stand in a
    /// row, and marks one hand apart beside it, of which the first moves from turn to turn. Who has a mark on its share begins with a lead so large that
    /// this hand comes before all unmarked ones: over the turns the hands of each are its share.
    ///
    /// Where masks or quotas differ it is not known beforehand who stands in whose way: each draws a time from an exponential distribution,
    /// and of any who want one hand each gets it as often as its weight says.
    fn give_leads(&self, open: &mut [Open], turn: u64) {
        let mut trial = self.clone();
        trial.deal(open.iter().map(|open| Open::without_lead(open.index)).collect(), Claim::would_take);
        let among = self.competitors(open);
        for number in 0..open.len() {
            let mut members: Vec<&mut Open> =
                open.iter_mut().zip(&among).filter(|(_, among)| **among == number).map(|(open, _)| open).collect();
            let indices: Vec<usize> = members.iter().map(|open| open.index).collect();
            if !self.are_alike(&indices) {
                members.iter_mut().for_each(|open| open.lead = 1.0 - drawn(turn, open.index));
                continue;
            }
            let there_is = indices.iter().map(|&index| f64::from(trial.has(index))).sum();
            let mut begin = part(turn as f64 * GOLDEN_RATIO);
            for (open, share) in members.iter_mut().zip(self.shares(&indices, there_is)) {
                open.lead = part(begin);
                begin += share;
            }
        }
    }

    fn are_alike(&self, indices: &[usize]) -> bool {
        let bounds = |&index: &usize| (self.claims[index].cpus, self.claims[index].quota.map(|quota| quota.group));
        indices.windows(2).all(|pair| bounds(&pair[0]) == bounds(&pair[1]))
    }

    /// For each of `open` a number that it has in common with those it competes with for CPUs or a quota, at first or second hand.
    fn competitors(&self, open: &[Open]) -> Vec<usize> {
        let mut among: Vec<usize> = (0..open.len()).collect();
        for one in 0..open.len() {
            for other in 0..one {
                let (a, b) = (&self.claims[open[one].index], &self.claims[open[other].index]);
                let is_one_quota = a.quota.is_some_and(|quota| b.quota.is_some_and(|other| other.group == quota.group));
                let (from, to) = (among[one], among[other]);
                if from != to && (is_one_quota || !a.cpus.and(&b.cpus).is_empty()) {
                    among.iter_mut().filter(|number| **number == from).for_each(|number| *number = to);
                }
            }
        }
        among
    }

    /// What each would have of `there_is` if hands could be divided, what it has already included: by weight, nobody more than it would take.
    fn shares(&self, indices: &[usize], there_is: f64) -> Vec<f64> {
        let least = |index: usize| f64::from(self.has(index));
        let most = |index: usize| f64::from(self.claims[index].inherited + self.claims[index].would_take());
        let at = |level: f64| move |&index: &usize| (level * self.weight(index)).clamp(least(index), most(index));
        let highest = |&index: &usize| most(index) / self.weight(index);
        let (mut low, mut high) = (0.0, indices.iter().map(highest).fold(0.0, f64::max));
        for _ in 0..SHARE_BITS {
            let middle = (low + high) / 2.0;
            let is_too_high = indices.iter().map(at(middle)).sum::<f64>() > there_is;
            *(if is_too_high { &mut high } else { &mut low }) = middle;
        }
        indices.iter().map(at(low)).collect()
    }

    fn has(&self, index: usize) -> u32 {
        self.entitled[index].may_hold + self.claims[index].inherited
    }

    fn weight(&self, index: usize) -> f64 {
        f64::from(self.claims[index].weight.max(1))
    }

    fn is_quota_used_up(&self, index: usize) -> bool {
        let Some(quota) = self.claims[index].quota else { return false };
        let is_sharer = |claim: &Claim| claim.quota.is_some_and(|other| other.group == quota.group);
        let sharers = self.claims.iter().zip(&self.entitled).filter(|(claim, _)| is_sharer(claim));
        let given: u64 = sharers.map(|(_, entitled)| u64::from(entitled.may_hold)).sum();
        given >= quota.hands()
    }
}

impl Quota {
    /// Hands that keep the quota busy: a part of a core counts as one, and there is always one.
    pub fn hands(&self) -> u64 {
        self.millicores.div_ceil(1000).max(1)
    }
}

/// Which CPUs the hands given so far could be on: shows whether one more has a place, where masks differ. This is the
/// matching of a bipartite graph with augmenting paths (Kuhn), over runs instead of single hands.
#[derive(Clone)]
struct Seating<'a> {
    claims: &'a [Claim],
    free: CpuSet,
    seats: Vec<CpuSet>,
}

impl<'a> Seating<'a> {
    fn new(claims: &'a [Claim]) -> Self {
        let free = claims.iter().fold(CpuSet::default(), |all, claim| all.or(&claim.cpus));
        Self { claims, free, seats: vec![CpuSet::default(); claims.len()] }
    }

    /// Finds a CPU for one more hand of run `index`, moving hands of others among their CPUs if need be.
    fn seat(&mut self, index: usize) -> bool {
        if self.free.is_empty() {
            return false;
        }
        // came_from[run] = who would take which CPU of that run's.
        let mut came_from: Vec<Option<(usize, usize)>> = vec![None; self.claims.len()];
        let mut queue = vec![index];
        let mut next = 0;
        while let Some(&run) = queue.get(next) {
            next += 1;
            if let Some(cpu) = self.claims[run].cpus.and(&self.free).first() {
                self.move_along(index, run, cpu, &came_from);
                return true;
            }
            for (other, came) in
                came_from.iter_mut().enumerate().filter(|(other, came)| *other != index && came.is_none())
            {
                if let Some(cpu) = self.seats[other].and(&self.claims[run].cpus).first() {
                    *came = Some((run, cpu));
                    queue.push(other);
                }
            }
        }
        false
    }

    /// Seats `run` on the free `cpu`; it leaves a CPU to the one it was asked by, and so on back to `index`.
    fn move_along(&mut self, index: usize, mut run: usize, mut cpu: usize, came_from: &[Option<(usize, usize)>]) {
        self.free.remove(cpu);
        self.seats[run].insert(cpu);
        while run != index {
            let Some((asking, left_cpu)) = came_from[run] else { return };
            self.seats[run].remove(left_cpu);
            (run, cpu) = (asking, left_cpu);
            self.seats[run].insert(cpu);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(class: Priority, held: u32, waiting: u32) -> Claim {
        let cpus = CpuSet::of(0..4);
        let (useful_width, inherited, rests, is_aged) = (64, 0, false, false);
        Claim { class, weight: 100, cpus, quota: None, useful_width, held, inherited, waiting, rests, is_aged }
    }

    fn may_hold(claims: &[Claim]) -> Vec<u32> {
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
        let heavy = Claim { weight: 300, ..claim(Priority::Normal, 0, 8) };
        assert_eq!(may_hold(&[heavy, claim(Priority::Normal, 0, 8)]), [3, 1]);
    }

    #[test]
    fn nobody_goes_beyond_useful_width_and_the_rest_is_lent() {
        let narrow = Claim { useful_width: 1, ..claim(Priority::High, 3, 5) };
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
    fn over_many_turns(claims: &[Claim]) -> Vec<f64> {
        let mut hands = vec![0; claims.len()];
        for turn in 0..5000 {
            let entitled = entitlements(u32::MAX, turn, claims);
            hands.iter_mut().zip(entitled).for_each(|(hands, entitled)| *hands += entitled.may_hold);
        }
        hands.into_iter().map(|hands| f64::from(hands) / 5000.0).collect()
    }

    fn assert_near(claims: &[Claim], expected: &[f64]) {
        let hands = over_many_turns(claims);
        let is_near = |(hands, expected): (&f64, &f64)| (hands - expected).abs() < 0.002;
        assert!(hands.iter().zip(expected).all(is_near), "{hands:?} for {expected:?}");
    }

    #[test]
    fn low_runs_have_their_shares_over_many_turns() {
        let of = |weight, cpus| Claim { weight, cpus: CpuSet::of(0..cpus), ..claim(Priority::Low, 0, 8) };
        for (cpus, weights, expected) in [
            (1, &[100, 10][..], &[10.0 / 11.0, 1.0 / 11.0][..]),
            (1, &[200, 100], &[2.0 / 3.0, 1.0 / 3.0]),
            (1, &[100, 49, 51], &[0.5, 0.245, 0.255]),
            (2, &[100, 100, 100], &[2.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0]),
            (4, &[10, 100], &[4.0 / 11.0, 40.0 / 11.0]),
            (4, &[100, 100, 100, 100, 100, 300], &[0.5, 0.5, 0.5, 0.5, 0.5, 1.5]),
        ] {
            let claims: Vec<Claim> = weights.iter().map(|&weight| of(weight, cpus)).collect();
            assert_near(&claims, expected);
        }
    }

    #[test]
    fn who_wants_nothing_or_little_leaves_the_others_equal() {
        let hungry = claim(Priority::Low, 0, 8);
        let (silent, paused) = (Claim { waiting: 0, ..hungry }, Claim { rests: true, ..hungry });
        let one_cpu = |claim: Claim| Claim { cpus: CpuSet::of([0]), ..claim };
        let claims = [hungry, silent, hungry, silent, paused, silent].map(one_cpu);
        assert_near(&claims, &[0.5, 0.0, 0.5, 0.0, 0.0, 0.0]);
        let narrow = Claim { useful_width: 1, ..hungry };
        assert_near(&[hungry, narrow, hungry], &[1.5, 1.0, 1.5]);
        let job = Claim { inherited: 1, ..hungry };
        assert_near(&[hungry, job], &[2.5, 1.5]);
    }

    #[test]
    fn nobody_starves_by_what_others_could_use() {
        let low = |weight, cpus: std::ops::Range<usize>| Claim {
            weight,
            cpus: CpuSet::of(cpus),
            ..claim(Priority::Low, 0, 8)
        };
        // A run that has nothing to do knows more CPUs.
        let silent = Claim { waiting: 0, ..low(100, 0..4) };
        assert_near(&[low(100, 0..1), low(300, 0..1), silent], &[0.25, 0.75, 0.0]);
        let in_quota = |weight| Claim { quota: Some(Quota { group: 7, millicores: 1000 }), ..low(weight, 0..4) };
        assert_near(&[in_quota(100), in_quota(300)], &[0.25, 0.75]);
        assert_near(&[in_quota(100), in_quota(100), in_quota(100)], &[1.0 / 3.0; 3]);
        let higher = Claim { cpus: CpuSet::of([1]), ..claim(Priority::High, 1, 0) };
        assert_near(&[low(100, 0..1), low(300, 0..1), low(100, 2..3), low(900, 2..3)], &[0.25, 0.75, 0.1, 0.9]);
        // By lot: 5000 drawings.
        for (weight, share) in [(100, 0.5), (300, 0.25)] {
            let hands = over_many_turns(&[low(100, 0..1), low(weight, 0..2), higher]);
            assert!(
                (hands[0] - share).abs() < 0.03 && (hands[0] + hands[1] - 1.0).abs() < 1e-9,
                "{hands:?} for {share}"
            );
        }
    }

    #[test]
    fn turns_come_round_soon() {
        let claims = [claim(Priority::Low, 0, 1); 8].map(|claim| Claim { cpus: CpuSet::of([0]), ..claim });
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
        let aged = Claim { is_aged: true, ..claim(Priority::Idle, 0, 4) };
        assert_eq!(may_hold(&[claim(Priority::High, 4, 4), aged]), [3, 1]);
        assert_eq!(may_hold(&[claim(Priority::High, 4, 4), claim(Priority::Idle, 0, 4)]), [4, 0]);
    }

    #[test]
    fn a_quota_bounds_all_runs_of_its_group_together() {
        let quota = Some(Quota { group: 7, millicores: 2500 });
        let inside = Claim { quota, ..claim(Priority::Normal, 0, 4) };
        assert_eq!(may_hold(&[inside, inside, claim(Priority::Low, 0, 4)]), [2, 1, 1]);
    }

    #[test]
    fn hands_move_among_their_cpus_to_make_room_for_a_narrow_mask() {
        let wide = Claim { cpus: CpuSet::of(0..2), useful_width: 1, ..claim(Priority::High, 0, 1) };
        let narrow = Claim { cpus: CpuSet::of([0]), ..claim(Priority::Low, 0, 4) };
        assert_eq!(may_hold(&[wide, narrow]), [1, 1]);
    }

    #[test]
    fn the_paused_and_the_stopped_hold_nothing() {
        let paused = Claim { rests: true, ..claim(Priority::High, 3, 1) };
        assert_eq!(entitlements(u32::MAX, 0, &[paused])[0], Entitled { may_hold: 0, must_return: 3, above: 0 });
    }

    #[test]
    fn a_smaller_capacity_is_kept_to() {
        assert_eq!(entitlements(3, 0, &[claim(Priority::Normal, 4, 0)])[0].must_return, 1);
    }

    #[test]
    fn what_a_run_has_from_its_runner_counts_for_its_width_its_share_and_its_first_hand() {
        let job = Claim { inherited: 1, useful_width: 4, ..claim(Priority::Normal, 0, 4) };
        assert_eq!(may_hold(&[claim(Priority::Normal, 1, 0), job]), [1, 3]);
        assert_eq!(may_hold(&[claim(Priority::Normal, 0, 4), job]), [3, 1], "three each would be too much by two");
        assert_eq!(may_hold(&[claim(Priority::High, 4, 4), job]), [4, 0], "it has a hand and is guaranteed no other");
        let narrow = Claim { useful_width: 1, ..job };
        assert_eq!(may_hold(&[narrow]), [0]);
    }
}
