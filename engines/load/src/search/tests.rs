//! Searches on simulated servers, with and without noise.

use super::*;
use crate::arrivals::RandomSource;

/// A run at a rate, by what its figure was.
fn trial(rate_per_s: f64, figure_s: f64, limit_s: f64) -> RateTrial {
    let verdict = if figure_s < limit_s { TrialVerdict::Holds } else { TrialVerdict::Late };
    RateTrial { rate_per_s, done_per_s: rate_per_s, figures_s: vec![figure_s], verdict }
}

/// M/M/1 that serves `capacity` a second: the time that 99 % do not exceed, and none where it cannot keep up.
fn p99_s(capacity: f64, rate: f64) -> f64 {
    if rate < capacity { libm::log(100.0) / (capacity - rate) } else { f64::INFINITY }
}

fn searched(mut search: RateSearch, mut run: impl FnMut(f64) -> RateTrial) -> RateSearch {
    while let SearchStep::Run(rate) = search.next() {
        search.add(run(rate));
    }
    search
}

#[test]
fn the_highest_rate_of_a_queue_is_found_within_five_per_cent() {
    for (capacity, begin) in [(2000.0, 1000.0), (2000.0, 5.0), (2000.0, 900_000.0), (520.0, 260.0), (1e6, 3.0)] {
        let search = searched(RateSearch::new(begin, 0.05, 1.0), |rate| trial(rate, p99_s(capacity, rate), 0.010));
        let (answer, truth) = (search.answer(), capacity - libm::log(100.0) / 0.010);
        let (low, high) = (answer.low_per_s.expect("it held"), answer.high_per_s.expect("it failed"));
        assert!(low < truth && truth <= high && (high - low) / high <= 0.05, "{truth}: {answer:?}");
        assert!(answer.is_narrow && !answer.is_generator && answer.rate_per_s == Some(low));
        assert_eq!(answer.above.map(|above| above.rate_per_s), Some(high));
        let at = |rate: f64| search.trials().iter().filter(|trial| trial.rate_per_s == rate).count();
        assert!(at(low) >= 3 && at(high) >= 3, "single runs are noisy");
        assert!(search.trials().len() <= 50, "{}", search.trials().len());
    }
}

#[test]
fn noise_does_not_lead_it_astray() {
    let (capacity, limit_s) = (2000.0, 0.010);
    let truth = capacity - libm::log(100.0) / limit_s;
    let (mut inside, mut near) = (0, 0);
    for seed in 0..200 {
        let mut random = RandomSource::new(seed, 0);
        // Figures vary by 10 %, and one run in twenty meets something that has nothing to do with it.
        let search = searched(RateSearch::new(500.0, 0.05, 1.0), |rate| {
            let factor = if random.unit() < 0.05 { 5.0 } else { 1.0 + 0.2 * (random.unit() - 0.5) };
            trial(rate, p99_s(capacity, rate) * factor, limit_s)
        });
        let answer = search.answer();
        assert!(search.trials().len() < RUNS_MAX, "seed {seed}: {answer:?}");
        let (low, high) = (answer.low_per_s.unwrap_or(0.0), answer.high_per_s.unwrap_or(f64::INFINITY));
        inside += usize::from((low..=high).contains(&truth));
        near += usize::from(answer.rate_per_s.is_some_and(|rate| (rate / truth - 1.0).abs() < 0.1));
    }
    assert!(inside >= 150 && near >= 170, "{inside} intervals hold the truth, {near} rates are near it");
}

#[test]
fn one_bad_run_at_a_low_rate_is_outvoted() {
    let mut runs = 0;
    let search = searched(RateSearch::new(100.0, 0.05, 1.0), |rate| {
        runs += 1;
        // The first of all meets a checkpoint.
        let figure = if runs == 1 { 1.0 } else { p99_s(2000.0, rate) };
        trial(rate, figure, 0.010)
    });
    let rate = search.answer().rate_per_s.expect("it holds");
    assert!((rate / 1539.5 - 1.0).abs() < 0.06, "{rate}");
}

#[test]
fn a_goal_that_nothing_holds_has_no_rate() {
    let search = searched(RateSearch::new(1000.0, 0.05, 40.0), |rate| trial(rate, 0.5, 0.010));
    let answer = search.answer();
    assert_eq!((answer.rate_per_s, answer.low_per_s, answer.is_narrow), (None, None, false));
    assert_eq!(answer.above.map(|above| above.rate_per_s), Some(40.0), "lower ones say nothing");
}

#[test]
fn a_generator_that_is_the_limit_is_told_from_the_server() {
    let search = searched(RateSearch::new(100.0, 0.05, 1.0), |rate| match rate < 3000.0 {
        true => trial(rate, 0.001, 0.010),
        false => RateTrial { figures_s: Vec::new(), verdict: TrialVerdict::Generator, ..trial(rate, 1.0, 0.010) },
    });
    let answer = search.answer();
    assert!(answer.is_generator && answer.is_narrow);
    assert!(answer.rate_per_s.is_some_and(|rate| (2800.0..3000.0).contains(&rate)));
}

#[test]
fn what_never_fails_ends_at_the_highest_rate_there_is() {
    let search = searched(RateSearch::new(1e7, 0.05, 1.0), |rate| trial(rate, 0.001, 0.010));
    assert_eq!((search.answer().rate_per_s, search.answer().high_per_s), (Some(1e8), None));
}

#[test]
fn rates_have_four_digits() {
    for (rate, expected) in [(1234.56, 1235.0), (0.123_456, 0.1235), (12.345_6, 12.35), (99_999.0, 100_000.0)] {
        assert_eq!(rounded(rate), expected);
    }
    assert_eq!(rounded(f64::NAN), RATE_LEAST);
}
