//! Properties of the entitlement over random crowds of runs: nobody gets what is not there, nobody who could be served goes
//! without, classes are strict, and a small change changes little.

use crew::budget::cpu_set::CpuSet;
use crew::budget::entitlement::{Entitled, Quota, RunClaim, entitlements};
use crew::budget::{Priority, Weight};
use proptest::prelude::*;

const CPUS: usize = 6;

fn class() -> impl Strategy<Value = Priority> {
    prop_oneof![Just(Priority::Idle), Just(Priority::Low), Just(Priority::Normal), Just(Priority::High)]
}

fn cpus() -> impl Strategy<Value = CpuSet> {
    prop_oneof![
        3 => Just(CpuSet::of(0..CPUS)),
        1 => prop::collection::vec(0..CPUS, 0..CPUS).prop_map(CpuSet::of),
    ]
}

fn quota() -> impl Strategy<Value = Option<Quota>> {
    let bound = (0..2_u64).prop_map(|group| Some(Quota { group, millicores: 1500 + 1000 * group }));
    prop_oneof![4 => Just(None), 1 => bound]
}

fn claim() -> impl Strategy<Value = RunClaim> {
    let state = (prop::bool::weighted(0.1), prop::bool::weighted(0.2));
    let inherited = prop_oneof![3 => Just(0), 1 => 1..3_u32];
    (class(), 1..300_u32, cpus(), quota(), 1..9_u32, (0..5_u32, inherited, 0..9_u32), state).prop_map(
        |(class, weight, cpus, quota, useful_width, (held, inherited, waiting), (rests, is_aged))| RunClaim {
            is_aged: is_aged && class < Priority::Normal,
            class,
            weight,
            cpus,
            quota,
            useful_width,
            held,
            inherited,
            waiting,
            rests,
        },
    )
}

fn crowd() -> impl Strategy<Value = Vec<RunClaim>> {
    prop::collection::vec(claim(), 0..9)
}

/// Runs of one mask and no quota: what can be said exactly is said about these.
fn plain_crowd() -> impl Strategy<Value = Vec<RunClaim>> {
    let plain = claim().prop_map(|claim| RunClaim { cpus: CpuSet::of(0..CPUS), quota: None, is_aged: false, ..claim });
    prop::collection::vec(plain, 1..9)
}

fn seated(entitled: &Entitled) -> u32 {
    entitled.may_hold - entitled.above
}

fn is_guaranteed(claim: &RunClaim) -> bool {
    claim.inherited == 0 && claim.wants() > 0 && (claim.class >= Priority::Normal || claim.is_aged)
}

/// Whether each of the `hands` (by run) can have a CPU of its own, by trying all ways.
fn have_places(claims: &[RunClaim], hands: &[usize], taken: CpuSet) -> bool {
    let Some((&run, rest)) = hands.split_first() else { return true };
    let open = claims[run].cpus.without(&taken);
    open.iter().any(|cpu| have_places(claims, rest, taken.or(&CpuSet::of([cpu]))))
}

fn hands_of(entitled: &[Entitled]) -> Vec<usize> {
    let hands = entitled.iter().enumerate();
    hands.flat_map(|(run, entitled)| std::iter::repeat_n(run, seated(entitled) as usize)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn there_is_a_cpu_for_every_hand_but_the_counted_first_ones(claims in crowd(), capacity in 0..8_u32, turn in 0..1000_u64) {
        let entitled = entitlements(capacity, turn, &claims);
        prop_assert!(entitled.iter().map(seated).sum::<u32>() <= capacity);
        prop_assert!(have_places(&claims, &hands_of(&entitled), CpuSet::default()));
        for (claim, entitled) in claims.iter().zip(&entitled) {
            prop_assert!(entitled.above <= 1 && entitled.above <= entitled.may_hold);
            prop_assert!(entitled.above == 0 || (is_guaranteed(claim) && entitled.may_hold == 1));
        }
    }

    #[test]
    fn nobody_goes_beyond_what_it_can_use(claims in crowd(), capacity in 0..8_u32, turn in 0..1000_u64) {
        for (claim, entitled) in claims.iter().zip(entitlements(capacity, turn, &claims)) {
            prop_assert!(entitled.may_hold <= claim.useful_width.saturating_sub(claim.inherited));
            prop_assert!(entitled.may_hold <= claim.held + claim.waiting);
            prop_assert!(entitled.may_hold as usize <= claim.cpus.count());
            prop_assert!(!claim.rests || entitled.may_hold == 0);
            prop_assert_eq!(entitled.must_return, claim.held.saturating_sub(entitled.may_hold));
        }
    }

    #[test]
    fn high_normal_and_aged_runs_always_get_one(claims in crowd(), capacity in 0..8_u32, turn in 0..1000_u64) {
        for (claim, entitled) in claims.iter().zip(entitlements(capacity, turn, &claims)) {
            prop_assert!(!is_guaranteed(claim) || entitled.may_hold >= 1);
        }
    }

    #[test]
    fn a_quota_is_kept_first_hands_aside(claims in crowd(), turn in 0..1000_u64) {
        let entitled = entitlements(u32::MAX, turn, &claims);
        for group in 0..2 {
            let sharers = || claims.iter().zip(&entitled).filter(|(claim, _)| claim.quota.is_some_and(|quota| quota.group == group));
            let Some(quota) = sharers().find_map(|(claim, _)| claim.quota) else { continue };
            let seats: u64 = sharers().map(|(_, entitled)| u64::from(seated(entitled))).sum();
            prop_assert!(seats <= quota.hands());
        }
    }

    #[test]
    fn no_hand_lies_idle_that_somebody_could_use(claims in crowd(), capacity in 0..8_u32, turn in 0..1000_u64) {
        let entitled = entitlements(capacity, turn, &claims);
        let hands = hands_of(&entitled);
        for (run, claim) in claims.iter().enumerate() {
            let given = |group| {
                let sharers = claims.iter().zip(&entitled);
                sharers.filter(|(claim, _)| claim.quota.is_some_and(|quota| quota.group == group))
                    .map(|(_, entitled)| u64::from(entitled.may_hold)).sum::<u64>()
            };
            let is_bound = claim.quota.is_some_and(|quota| given(quota.group) >= quota.hands());
            if entitled[run].may_hold < claim.wants() && !is_bound && (hands.len() as u32) < capacity {
                let mut more = hands.clone();
                more.push(run);
                prop_assert!(!have_places(&claims, &more, CpuSet::default()), "run {run} could have one more");
            }
        }
    }

    #[test]
    fn classes_are_strict_beyond_the_first_hands(claims in plain_crowd(), turn in 0..1000_u64) {
        let entitled = entitlements(u32::MAX, turn, &claims);
        for (higher, theirs) in claims.iter().zip(&entitled) {
            if theirs.may_hold >= higher.wants() {
                continue;
            }
            for (lower, ours) in claims.iter().zip(&entitled).filter(|(lower, _)| lower.class < higher.class) {
                prop_assert!(ours.may_hold <= u32::from(is_guaranteed(lower)));
            }
        }
    }

    #[test]
    fn within_a_class_nobody_envies_anybody(claims in plain_crowd(), turn in 0..1000_u64) {
        let entitled = entitlements(u32::MAX, turn, &claims);
        for (poor, less) in claims.iter().zip(&entitled).filter(|(poor, less)| less.may_hold < poor.wants()) {
            for (rich, more) in claims.iter().zip(&entitled).filter(|(rich, _)| rich.class == poor.class) {
                // The last hand that the rich got, first hands and turns aside, would not have been less for the poor's weight.
                let is_first = more.may_hold == 0 || (more.may_hold == 1 && rich.inherited == 0);
                let (more, less) = (more.may_hold + rich.inherited, less.may_hold + poor.inherited);
                let by_turns = u32::from(rich.class < Priority::Normal);
                let (rich_after, poor_after) = (more.max(1) - by_turns, less + 1);
                prop_assert!(is_first || rich_after * poor.weight <= poor_after * rich.weight);
            }
        }
    }

    #[test]
    fn what_a_run_waits_for_one_by_one_is_not_taken_from_it_again(claims in crowd(), turn in 0..1000_u64) {
        // Each waits for one hand at a time, and obeys: at once one by one, and then it is at rest.
        let mut claims: Vec<RunClaim> = claims.into_iter().map(|claim| RunClaim { waiting: claim.waiting.min(1), ..claim }).collect();
        for _ in 0..200 {
            let entitled = entitlements(u32::MAX, turn, &claims);
            let moves = |(claim, entitled): (&RunClaim, &Entitled)| entitled.may_hold != claim.held;
            let Some(mover) = claims.iter().zip(&entitled).position(moves) else { return Ok(()) };
            let claim = &mut claims[mover];
            if entitled[mover].may_hold > claim.held { claim.held += 1 } else { claim.held -= 1 }
        }
        prop_assert!(false, "it never comes to rest: {claims:?}");
    }

    #[test]
    fn the_same_table_gives_the_same_answer_and_obeying_it_changes_nothing(claims in plain_crowd(), turn in 0..1000_u64) {
        let entitled = entitlements(u32::MAX, turn, &claims);
        prop_assert_eq!(&entitled, &entitlements(u32::MAX, turn, &claims));
        let obeyed: Vec<RunClaim> = claims.iter().zip(&entitled).map(|(claim, entitled)| RunClaim {
            held: entitled.may_hold,
            waiting: claim.wants() - entitled.may_hold,
            ..*claim
        }).collect();
        // Who has all it wants waits no more, and then turns may come differently: once.
        let after = entitlements(u32::MAX, turn, &obeyed);
        for (claim, (before, after)) in claims.iter().zip(entitled.iter().zip(after)).filter(|(claim, _)| claim.class >= Priority::Normal) {
            prop_assert_eq!(before.may_hold, after.may_hold, "{:?}", claim);
            prop_assert_eq!(after.must_return, 0);
        }
    }

    #[test]
    fn one_more_waiting_thread_moves_one_hand_at_most(claims in plain_crowd(), turn in 0..1000_u64, which in any::<prop::sample::Index>()) {
        let before = entitlements(u32::MAX, turn, &claims);
        let mut changed = claims.clone();
        changed[which.index(claims.len())].waiting += 1;
        let after = entitlements(u32::MAX, turn, &changed);
        let moves = claims.iter().zip(before.iter().zip(&after)).map(|(claim, (before, after))| (claim.class, before.may_hold.abs_diff(after.may_hold)));
        // Whose turn it is depends on everybody's share.
        let guaranteed: Vec<u32> = moves.clone().filter(|(class, _)| *class >= Priority::Normal).map(|(_, moved)| moved).collect();
        prop_assert!(guaranteed.iter().all(|&moved| moved <= 1) && guaranteed.iter().sum::<u32>() <= 2);
        prop_assert!(moves.clone().all(|(_, moved)| moved <= 2));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn over_many_turns_no_low_run_starves_beside_its_like(claims in crowd()) {
        let alike = |claim: RunClaim| RunClaim { class: Priority::Low, is_aged: false, weight: claim.weight.max(50), ..claim };
        let claims: Vec<RunClaim> = claims.into_iter().map(alike).collect();
        let mut hands = vec![0_u32; claims.len()];
        let turns = 2560;
        for turn in 0..turns {
            hands.iter_mut().zip(entitlements(u32::MAX, turn, &claims)).for_each(|(hands, entitled)| *hands += entitled.may_hold);
        }
        let weights: u32 = claims.iter().map(|claim| claim.weight).sum();
        for (claim, hands) in claims.iter().zip(hands).filter(|(claim, _)| claim.wants() > 0) {
            let share = f64::from(claim.weight) / f64::from(weights);
            let has = f64::from(hands) / turns as f64 + f64::from(claim.inherited);
            prop_assert!(has > share / 4.0, "{has} for {share}: {claim:?} among {claims:?}");
        }
    }
}

#[test]
fn whatever_the_table_says_there_is_an_answer() {
    let forged = |run: u32| RunClaim {
        class: if run.is_multiple_of(3) { Priority::Idle } else { Priority::Low },
        weight: [0, 1, u32::MAX][run as usize % 3],
        cpus: CpuSet::of((0..1024).filter(|cpu| cpu % (1 + run as usize % 7) == 0)),
        quota: run.is_multiple_of(5).then_some(Quota { group: 1, millicores: [0, 1, u64::MAX][run as usize % 3] }),
        useful_width: u32::MAX - run % 2,
        held: if run.is_multiple_of(11) { u32::MAX } else { 0 },
        inherited: if run.is_multiple_of(4) { 1 << (run % 31) } else { 0 },
        waiting: u32::MAX,
        rests: false,
        is_aged: run.is_multiple_of(13),
    };
    let claims: Vec<RunClaim> = (0..256).map(forged).collect();
    for turn in [0, 1, u64::MAX] {
        assert!(entitlements(u32::MAX, turn, &claims).iter().map(seated).sum::<u32>() <= 1024);
    }
}

#[test]
fn weights_outside_their_range_become_the_nearest() {
    assert_eq!((Weight::new(0).get(), Weight::new(u16::MAX).get(), Weight::default().get()), (1, 10_000, 100));
}

/// Runs of class low that want all they can have, beside runs of higher classes; masks and quotas differ.
fn crowd_in_turns() -> impl Strategy<Value = Vec<RunClaim>> {
    let greedy = claim().prop_map(|claim| RunClaim {
        class: claim.class.max(Priority::Low),
        is_aged: false,
        waiting: if claim.class > Priority::Low { claim.waiting } else { 9 },
        ..claim
    });
    let narrow = (0..CPUS, 1..CPUS).prop_map(|(first, count)| CpuSet::of((first..first + count).map(|cpu| cpu % CPUS)));
    let claim = (greedy, narrow, prop_oneof![Just(100_u32), Just(50), 1..300_u32]);
    prop::collection::vec(claim.prop_map(|(claim, cpus, weight)| RunClaim { cpus, weight, ..claim }), 1..8)
}

/// What is not to be exceeded by these runs, by number, together.
struct Limit {
    runs: Vec<usize>,
    hands: f64,
}

/// `once` is what they got in some turn.
fn limits(capacity: u32, claims: &[RunClaim], once: &[Entitled]) -> Vec<Limit> {
    let all = 0..claims.len();
    let quota = |group| claims.iter().find_map(|claim| claim.quota.filter(|quota| quota.group == group));
    let in_quota = |quota: Quota| {
        let runs: Vec<usize> = all.clone().filter(|&run| claims[run].quota == Some(quota)).collect();
        let above: u32 = runs.iter().map(|&run| once[run].above).sum();
        Limit { hands: quota.hands().saturating_sub(above.into()) as f64, runs }
    };
    // By Hall's theorem all have places if the runs of each set know enough CPUs.
    let places = (1..1_usize << claims.len()).map(|set| {
        let runs: Vec<usize> = all.clone().filter(|run| set >> run & 1 == 1).collect();
        let cpus = runs.iter().fold(CpuSet::default(), |cpus, &run| cpus.or(&claims[run].cpus));
        Limit { hands: cpus.count() as f64, runs }
    });
    let whole = Limit { runs: all.clone().collect(), hands: f64::from(capacity) };
    places.chain((0..2).filter_map(quota).map(in_quota)).chain([whole]).collect()
}

/// What low runs would have of their own if hands could be divided, by raising the level for all and trying all limits.
fn shares(capacity: u32, claims: &[RunClaim], once: &[Entitled]) -> Vec<f64> {
    let limits = limits(capacity, claims, once);
    let is_guaranteed = |(claim, entitled): (&RunClaim, &Entitled)| {
        (claim.class > Priority::Low).then_some(f64::from(seated(entitled)))
    };
    let mut fixed: Vec<Option<f64>> = claims.iter().zip(once).map(is_guaranteed).collect();
    let own = |fixed: &[Option<f64>], run: usize, level: f64| {
        let claim = &claims[run];
        let share = level * f64::from(claim.weight) - f64::from(claim.inherited);
        fixed[run].unwrap_or_else(|| share.clamp(0.0, f64::from(claim.wants())))
    };
    const HIGHEST: f64 = 100.0;
    loop {
        let sum = |limit: &Limit, level: f64| limit.runs.iter().map(|&run| own(&fixed, run, level)).sum::<f64>();
        let highest = |limit: &Limit| {
            let (mut low, mut high) = (0.0, HIGHEST);
            for _ in 0..60 {
                let middle = (low + high) / 2.0;
                *(if sum(limit, middle) > limit.hands + 1e-12 { &mut high } else { &mut low }) = middle;
            }
            low
        };
        let is_open = |limit: &&Limit| {
            limit.runs.iter().any(|&run| fixed[run].is_none()) && sum(limit, HIGHEST) > limit.hands + 1e-9
        };
        let levels = limits.iter().filter(is_open).map(|limit| (limit, highest(limit)));
        let Some((tight, level)) = levels.min_by(|one, other| one.1.total_cmp(&other.1)) else {
            return (0..claims.len()).map(|run| own(&fixed, run, HIGHEST)).collect();
        };
        let settled: Vec<(usize, f64)> = tight.runs.iter().map(|&run| (run, own(&fixed, run, level))).collect();
        settled.into_iter().for_each(|(run, own)| fixed[run] = Some(own));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn whole_shares_never_move_and_parts_come_as_often_as_they_are_large(claims in crowd_in_turns(), capacity in 3..9_u32) {
        let is_low = |claim: &RunClaim| claim.class == Priority::Low;
        let once = entitlements(capacity, 0, &claims);
        let expected = shares(capacity, &claims, &once);
        let turns = 2000;
        let mut hands = vec![0_u32; claims.len()];
        for turn in 0..turns {
            let entitled = entitlements(capacity, turn, &claims);
            for (run, claim) in claims.iter().enumerate().filter(|(_, claim)| is_low(claim)) {
                let beside = (f64::from(entitled[run].may_hold) - expected[run]).abs();
                let is_whole = (expected[run] - expected[run].round()).abs() < 1e-7;
                prop_assert!(beside < if is_whole { 1e-7 } else { 1.0 }, "{entitled:?} for {expected:?}: {claim:?} among {claims:?}");
                hands[run] += entitled[run].may_hold;
            }
        }
        for (run, claim) in claims.iter().enumerate().filter(|(_, claim)| is_low(claim)) {
            let has = f64::from(hands[run]) / turns as f64;
            prop_assert!((has - expected[run]).abs() < 0.03, "{has} for {}: {claim:?} among {claims:?}", expected[run]);
        }
    }
}
