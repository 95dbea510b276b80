//! Fits beside R's `usl`, and beside data of known parameters.

use super::*;
use proptest::prelude::*;

fn points(data: &[(f64, f64)]) -> Vec<LoadPoint> {
    data.iter().map(|&(load, throughput)| LoadPoint { load, throughput }).collect()
}

fn of_law(parameters: &UslParameters, loads: &[f64]) -> Vec<LoadPoint> {
    loads.iter().map(|&load| LoadPoint { load, throughput: parameters.throughput(load) }).collect()
}

const LOADS: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];

#[test]
fn specsdm91_has_the_parameters_that_r_finds() {
    // The data set `specsdm91` of the R package usl, whose vignette has a peak of 96.52. The digits here are those of a search without
    // derivatives, written for this test in another language.
    let data =
        [(1.0, 64.9), (18.0, 995.9), (36.0, 1652.4), (72.0, 1853.2), (108.0, 1828.9), (144.0, 1775.0), (216.0, 1702.2)];
    let fit = fit(&points(&data), &Bootstrap::default()).expect("there are points");
    assert!((fit.parameters.alpha - 0.027_728_476).abs() < 2e-6, "{fit:?}");
    assert!((fit.parameters.beta - 0.000_104_365_48).abs() < 2e-8, "{fit:?}");
    assert!((fit.parameters.gamma - 89.995_234).abs() < 1e-3, "{fit:?}");
    let Peak::At { load, .. } = fit.peak else { panic!("{fit:?}") };
    assert!((load.value - 96.519_561).abs() < 1e-2 && load.contains(load.value), "{fit:?}");
    assert!(fit.r_squared > 0.98, "{fit:?}");
}

#[test]
fn exact_data_give_back_their_parameters() {
    for (gamma, alpha, beta) in
        [(1000.0, 0.05, 0.0003), (3.0, 0.2, 0.01), (1e6, 0.0, 0.001), (50.0, 0.4, 0.0), (7.0, 0.0, 0.0)]
    {
        let law = UslParameters { gamma, alpha, beta };
        let found = fit(&of_law(&law, &LOADS), &Bootstrap::default()).expect("there are points").parameters;
        assert!((found.gamma / gamma - 1.0).abs() < 1e-6, "{law:?}: {found:?}");
        assert!((found.alpha - alpha).abs() < 1e-6 && (found.beta - beta).abs() < 1e-7, "{law:?}: {found:?}");
    }
}

#[test]
fn a_peak_is_told_only_within_data() {
    let bootstrap = Bootstrap::default();
    let peak =
        |law: &UslParameters, loads: &[f64]| fit(&of_law(law, loads), &bootstrap).expect("there are points").peak;
    let law = UslParameters { gamma: 100.0, alpha: 0.02, beta: 0.0005 };
    let Peak::At { load, throughput } = peak(&law, &LOADS) else { panic!("44 lies within") };
    assert!((load.value - 44.27).abs() < 0.01 && (throughput - law.throughput(44.27)).abs() < 0.1);
    assert_eq!(peak(&law, &LOADS[..5]), Peak::TooFewPoints);
    assert_eq!(peak(&law, &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]), Peak::BeyondData);
    // Amdahl's law has none. Rounding may leave a trace of beta, whose peak is far away.
    let found = peak(&UslParameters { beta: 0.0, ..law }, &LOADS);
    assert!(matches!(found, Peak::None | Peak::BeyondData), "{found:?}");
}

#[test]
fn superlinear_data_do_not_make_parameters_negative() {
    let data = points(&[(1.0, 10.0), (2.0, 22.0), (4.0, 50.0), (8.0, 110.0), (16.0, 240.0), (32.0, 500.0)]);
    let found = fit(&data, &Bootstrap::default()).expect("there are points");
    assert_eq!((found.parameters.alpha, found.parameters.beta), (0.0, 0.0));
    assert_eq!(found.peak, Peak::None);
    // With both held, gamma is the slope of a line through the origin.
    let slope = data.iter().map(|point| point.load * point.throughput).sum::<f64>()
        / data.iter().map(|point| point.load * point.load).sum::<f64>();
    assert!((found.parameters.gamma / slope - 1.0).abs() < 1e-9, "{found:?}");
}

#[test]
fn bounds_hold_the_truth_of_noisy_data() {
    let law = UslParameters { gamma: 1000.0, alpha: 0.03, beta: 0.0004 };
    let (mut random, mut covered) = (RandomSource::new(41, 0), 0);
    for seed in 0..40 {
        let mut noisy = of_law(&law, &[LOADS, LOADS].concat());
        noisy.iter_mut().for_each(|point| point.throughput += 300.0 * (random.unit() + random.unit() - 1.0));
        let fit = fit(&noisy, &Bootstrap { confidence: 0.9, seed }).expect("there are points");
        covered += usize::from(fit.alpha.contains(law.alpha)) + usize::from(fit.beta.contains(law.beta));
    }
    // 72 of 80 are promised.
    assert!(covered >= 60, "{covered}");
}

#[test]
fn what_is_no_data_is_refused() {
    let bootstrap = Bootstrap::default();
    assert_eq!(fit(&[], &bootstrap), Err(UslError::TooFewLoads(0)));
    let same = points(&[(1.0, 5.0), (2.0, 9.0), (2.0, 9.5), (4.0, 12.0)]);
    assert_eq!(fit(&same, &bootstrap), Err(UslError::TooFewLoads(3)));
    for bad in [(0.0, 1.0), (f64::NAN, 1.0), (1.0, 0.0), (1.0, f64::NAN), (1.0, f64::INFINITY)] {
        assert_eq!(fit(&points(&[bad]), &bootstrap), Err(UslError::BadPoint), "{bad:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn no_data_make_it_panic_or_negative(throughputs in prop::collection::vec(1e-3..1e9, 8)) {
        let data: Vec<LoadPoint> =
            LOADS.iter().zip(&throughputs).map(|(&load, &throughput)| LoadPoint { load, throughput }).collect();
        let found = fit(&data, &Bootstrap::default()).expect("there are points").parameters;
        prop_assert!(found.gamma > 0.0 && found.alpha >= 0.0 && found.beta >= 0.0, "{found:?}");
    }
}
