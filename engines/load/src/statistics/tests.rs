//! Intervals beside what is known of them: exact cases, coverage over many seeded samples, orders.

use super::*;
use proptest::prelude::*;

/// A sample around 0 with deviation 1: sums of twelve uniform draws.
fn normal(size: usize, random: &mut RandomSource) -> Vec<f64> {
    (0..size).map(|_| (0..12).map(|_| random.unit()).sum::<f64>() - 6.0).collect()
}

#[test]
fn medians_are_in_the_middle() {
    assert_eq!(median(&[]), None);
    assert_eq!(median(&[3.0]), Some(3.0));
    assert_eq!(median(&[4.0, 1.0]), Some(2.5));
    assert_eq!(median(&[9.0, 1.0, 5.0]), Some(5.0));
    assert_eq!(median(&[1.0, 9.0, 2.0, 8.0]), Some(5.0));
}

#[test]
fn a_sample_without_spread_has_no_width() {
    let interval = Bootstrap::default().median(&[7.0; 5]).expect("there is a sample");
    assert_eq!(interval, IntervalEstimate { value: 7.0, low: 7.0, high: 7.0 });
    assert_eq!(interval.relative_width(), Some(0.0));
    assert_eq!(Bootstrap::default().median(&[]), None);
}

#[test]
fn the_same_seed_gives_the_same_interval() {
    let sample = normal(30, &mut RandomSource::new(5, 0));
    let with = |seed| Bootstrap { seed, ..Bootstrap::default() }.median(&sample);
    assert_eq!(with(1), with(1));
    assert_ne!(with(1), with(2));
}

#[test]
fn intervals_cover_what_they_promise() {
    let mut random = RandomSource::new(17, 0);
    let (mut medians, mut differences, trials) = (0, 0, 300);
    for seed in 0..trials {
        let bootstrap = Bootstrap { confidence: 0.9, seed };
        let (first, second) = (normal(25, &mut random), normal(25, &mut random));
        medians += usize::from(bootstrap.median(&first).expect("there is a sample").contains(0.0));
        let second: Vec<f64> = second.into_iter().map(|value| value + 3.0).collect();
        differences += usize::from(bootstrap.difference(&first, &second).expect("there are two").contains(3.0));
    }
    // 270 of 300 are promised; three standard errors are 16, and medians of few values are known to be covered a little more often.
    assert!((254..=300).contains(&medians), "{medians}");
    assert!((254..=300).contains(&differences), "{differences}");
}

#[test]
fn a_ratio_says_how_many_times() {
    let mut random = RandomSource::new(23, 0);
    let first: Vec<f64> = normal(40, &mut random).into_iter().map(|value| 100.0 + value).collect();
    let second: Vec<f64> = normal(40, &mut random).into_iter().map(|value| 150.0 + value).collect();
    let ratio = Bootstrap::default().ratio(&first, &second).expect("there are two");
    assert!(ratio.contains(1.5) && ratio.relative_width().expect("it is not 0") < 0.02, "{ratio:?}");
    assert_eq!(Bootstrap::default().ratio(&[0.0], &second), None);
    assert_eq!(Bootstrap::default().ratio(&[], &second), None);
}

#[test]
fn more_confidence_is_wider() {
    let sample = normal(50, &mut RandomSource::new(8, 0));
    let width = |confidence| {
        let interval = Bootstrap { confidence, seed: 1 }.median(&sample).expect("there is a sample");
        interval.high - interval.low
    };
    assert!(width(0.5) < width(0.9) && width(0.9) < width(0.99));
}

#[test]
fn arms_are_measured_forward_and_backward() {
    assert_eq!(interleaved(2, 4).collect::<Vec<_>>(), [0, 1, 1, 0, 0, 1, 1, 0]);
    assert_eq!(interleaved(3, 2).collect::<Vec<_>>(), [0, 1, 2, 2, 1, 0]);
    // What grows steadily meets both arms alike.
    let drift = |arm| interleaved(2, 4).enumerate().filter(|(_, found)| *found == arm).map(|(at, _)| at).sum::<usize>();
    assert_eq!(drift(0), drift(1));
}

#[test]
fn measuring_stops_by_width_alone() {
    let rule = StoppingRule { relative_width: 0.05, least: 6, most: 20 };
    let bootstrap = Bootstrap::default();
    let steady: Vec<f64> = (0..20).map(|at| 100.0 + f64::from(at % 3)).collect();
    assert_eq!(rule.decide(&steady[..5], &bootstrap), StoppingDecision::GoOn);
    assert_eq!(rule.decide(&steady[..6], &bootstrap), StoppingDecision::Narrow);
    let wild: Vec<f64> = (0..20).map(|at| 100.0 + f64::from(at % 7) * 30.0).collect();
    assert_eq!(rule.decide(&wild[..19], &bootstrap), StoppingDecision::GoOn);
    assert_eq!(rule.decide(&wild, &bootstrap), StoppingDecision::Exhausted);
    // A value of 0 is never narrow beside itself.
    assert_eq!(rule.decide(&[0.0; 20], &bootstrap), StoppingDecision::Exhausted);
}

proptest! {
    #[test]
    fn an_interval_lies_in_its_sample(sample in prop::collection::vec(-1e6..1e6, 1..30), seed: u64) {
        let interval = Bootstrap { confidence: 0.95, seed }.median(&sample).expect("there is a sample");
        let (least, most) = (sample.iter().copied().fold(f64::MAX, f64::min), sample.iter().copied().fold(f64::MIN, f64::max));
        prop_assert!(least <= interval.low && interval.low <= interval.high && interval.high <= most);
    }
}
