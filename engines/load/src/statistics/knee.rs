//! Where more users no longer bring more throughput: X(N) = min(N / (Z + R), X_max) with users that think for Z. Fitted by relative least squares over the places
//! where points can part into a line and a plateau; bounds come from residuals that are drawn again.

use super::scalability::LoadPoint;
use super::{Bootstrap, IntervalEstimate};
use crate::arrivals::RandomSource;
use crate::distribution::below;
use serde::Serialize;

/// Both lines, and where they meet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct KneeFit {
    /// Throughput of one user, below the knee.
    pub slope: IntervalEstimate,
    /// The most throughput.
    pub plateau: IntervalEstimate,
    /// The users at which one becomes the other.
    pub load: IntervalEstimate,
}

/// Why no knee is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KneeError {
    /// Each line needs points.
    #[error("a knee needs throughput at 4 loads or more, there are {0}")]
    TooFewLoads(usize),
    /// Not a measurement.
    #[error("a load and a throughput are to be above 0")]
    BadPoint,
    /// All points lie on the line.
    #[error("throughput still grows with the users at the highest load")]
    BeyondData,
    /// All points lie on the plateau.
    #[error("throughput does not grow with the users from the lowest load on")]
    BelowData,
}

/// LIMIT: loads below which two lines are a guess.
const LOADS_MIN: usize = 4;
/// LIMIT: fits for the bounds.
const RESAMPLED_FITS: usize = 1000;

/// A line through 0 and a plateau.
#[derive(Clone, Copy, Debug)]
struct TwoLines {
    slope: f64,
    plateau: f64,
}

impl TwoLines {
    fn throughput(&self, load: f64) -> f64 {
        (self.slope * load).min(self.plateau)
    }

    fn knee(&self) -> f64 {
        self.plateau / self.slope
    }

    fn squares(&self, points: &[LoadPoint]) -> f64 {
        let error = |point: &LoadPoint| 1.0 - self.throughput(point.load) / point.throughput;
        points.iter().map(error).map(|error| error * error).sum()
    }
}

/// Fits both lines; several points may have the same load.
pub fn fit(points: &[LoadPoint], bootstrap: &Bootstrap) -> Result<KneeFit, KneeError> {
    let is_bad = |point: &LoadPoint| {
        !(point.load > 0.0 && point.load < 1e9 && point.throughput > 0.0 && point.throughput < 1e18)
    };
    if points.iter().any(is_bad) {
        return Err(KneeError::BadPoint);
    }
    let mut sorted = points.to_vec();
    sorted.sort_by(|first, second| first.load.total_cmp(&second.load));
    let mut loads: Vec<f64> = sorted.iter().map(|point| point.load).collect();
    loads.dedup();
    if loads.len() < LOADS_MIN {
        return Err(KneeError::TooFewLoads(loads.len()));
    }
    let fitted = fit_once(&sorted);
    // Two loads on each side: what one point says is no line.
    if fitted.knee() < loads[1] {
        return Err(KneeError::BelowData);
    }
    if fitted.knee() > loads[loads.len() - 2] {
        return Err(KneeError::BeyondData);
    }
    let drawn = resampled(&sorted, fitted, bootstrap);
    let bounds = |value: f64, of: fn(&TwoLines) -> f64| bootstrap.percentiles(value, drawn.iter().map(of).collect());
    Ok(KneeFit {
        slope: bounds(fitted.slope, |lines| lines.slope),
        plateau: bounds(fitted.plateau, |lines| lines.plateau),
        load: bounds(fitted.knee(), TwoLines::knee),
    })
}

/// The best of all partings; points are in the order of their loads.
fn fit_once(points: &[LoadPoint]) -> TwoLines {
    let of_lines = |count: usize| {
        let (line, plateau) = points.split_at(count);
        TwoLines { slope: least(line, |point| point.load), plateau: least(plateau, |_| 1.0) }
    };
    let candidates = (1..points.len()).map(of_lines);
    let best = candidates.min_by(|first, second| first.squares(points).total_cmp(&second.squares(points)));
    best.unwrap_or(TwoLines { slope: 1.0, plateau: 1.0 })
}

/// The factor of `of` with the least relative squares.
fn least(points: &[LoadPoint], of: impl Fn(&LoadPoint) -> f64) -> f64 {
    let shares = points.iter().map(|point| of(point) / point.throughput);
    let (sum, squares) = shares.fold((0.0, 0.0), |(sum, squares), share| (sum + share, squares + share * share));
    sum / squares
}

fn resampled(points: &[LoadPoint], fitted: TwoLines, bootstrap: &Bootstrap) -> Vec<TwoLines> {
    // Residuals of a fit are smaller than the errors they stand for, by the parameters it had.
    let count = points.len() as f64;
    let widen = libm::sqrt(count / (count - 2.0).max(1.0));
    let residual = |point: &LoadPoint| (point.throughput / fitted.throughput(point.load) - 1.0) * widen;
    let residuals: Vec<f64> = points.iter().map(residual).collect();
    let mut random = RandomSource::new(bootstrap.seed, 0);
    let mut drawn = points.to_vec();
    (0..RESAMPLED_FITS)
        .map(|_| {
            for point in &mut drawn {
                let residual = residuals[below(&mut random, residuals.len() as u64) as usize];
                point.throughput = fitted.throughput(point.load) * (1.0 + residual).max(0.01);
            }
            fit_once(&drawn)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Users by doubling, up to 4096.
    fn doubled() -> impl Iterator<Item = f64> {
        (0..13).map(|power| f64::from(1 << power))
    }

    fn points(throughput: impl FnMut(f64) -> f64) -> Vec<LoadPoint> {
        let mut throughput = throughput;
        doubled().map(|load| LoadPoint { load, throughput: throughput(load) }).collect()
    }

    #[test]
    fn two_lines_are_found_exactly() {
        let fit = fit(&points(|load| (load / 0.202).min(3000.0)), &Bootstrap::default()).expect("a knee");
        assert!(
            (fit.load.value / 606.0 - 1.0).abs() < 1e-9 && (fit.load.high / fit.load.low - 1.0).abs() < 1e-9,
            "{fit:?}"
        );
        assert!((fit.plateau.value - 3000.0).abs() < 1e-6 && (fit.slope.value - 1.0 / 0.202).abs() < 1e-9);
    }

    #[test]
    fn the_interval_holds_the_knee_of_noisy_points() {
        let (mut inside, runs) = (0, 100);
        for seed in 0..runs {
            let mut random = RandomSource::new(seed, 0);
            let noisy = points(|load| (load / 0.202).min(3000.0) * (1.0 + 0.1 * (random.unit() - 0.5)));
            let fit = fit(&noisy, &Bootstrap { seed, ..Bootstrap::default() }).expect("a knee");
            inside += usize::from(fit.load.contains(606.0));
            assert!((fit.load.value / 606.0 - 1.0).abs() < 0.1, "{fit:?}");
        }
        // 95 are promised; three standard errors are 7, and few residuals make bounds somewhat narrow.
        assert!(inside >= 85, "{inside}");
    }

    /// A closed queue of one server (mean value analysis): its knee is round, and its asymptotes meet at (Z + S) / S.
    #[test]
    fn the_knee_of_a_closed_queue_is_where_its_asymptotes_meet() {
        let (think, service) = (0.2, 1.0 / 3000.0);
        let mut throughputs = vec![0.0];
        let mut queue = 0.0;
        for users in 1..=4096 {
            let response = service * (1.0 + queue);
            let throughput = f64::from(users) / (think + response);
            queue = throughput * response;
            throughputs.push(throughput);
        }
        let fit = fit(&points(|load| throughputs[load as usize]), &Bootstrap::default()).expect("a knee");
        let expected = (think + service) / service;
        assert!((fit.load.value / expected - 1.0).abs() < 0.05, "{} against {expected}", fit.load.value);
    }

    #[test]
    fn what_the_data_do_not_show_is_not_told() {
        let with = |throughput: fn(f64) -> f64| fit(&points(throughput), &Bootstrap::default());
        assert_eq!(with(|load| load / 0.2), Err(KneeError::BeyondData));
        assert_eq!(with(|_| 500.0), Err(KneeError::BelowData));
        assert_eq!(with(|_| 0.0), Err(KneeError::BadPoint));
        assert_eq!(fit(&points(|load| load)[..3], &Bootstrap::default()), Err(KneeError::TooFewLoads(3)));
    }
}
