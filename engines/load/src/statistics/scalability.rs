//! The Universal Scalability Law, C(N) = gamma N / (1 + alpha (N - 1) + beta N (N - 1)), fitted to measured throughput by nonlinear least squares
//! (Levenberg and Marquardt) with parameters that are never negative. A peak that the data do not reach is not told.

use super::{Bootstrap, IntervalEstimate};
use crate::arrivals::RandomSource;
use crate::distribution::below;
use serde::Serialize;

/// A measured throughput.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadPoint {
    /// Connections, threads or cores.
    pub load: f64,
    /// What was done in a second.
    pub throughput: f64,
}

/// The law's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct UslParameters {
    /// Throughput of one.
    pub gamma: f64,
    /// Contention: the share that goes one after the other.
    pub alpha: f64,
    /// Coherency: what each pays for each other.
    pub beta: f64,
}

impl UslParameters {
    /// The law's throughput.
    pub fn throughput(&self, load: f64) -> f64 {
        self.gamma * load / self.denominator(load)
    }

    fn denominator(&self, load: f64) -> f64 {
        1.0 + self.alpha * (load - 1.0) + self.beta * load * (load - 1.0)
    }

    /// The load from which on throughput falls; none if it never does.
    pub fn peak_load(&self) -> Option<f64> {
        (self.beta > 0.0 && self.alpha < 1.0).then(|| libm::sqrt((1.0 - self.alpha) / self.beta))
    }

    fn as_array(&self) -> [f64; 3] {
        [self.gamma, self.alpha, self.beta]
    }

    fn squares(&self, points: &[LoadPoint]) -> f64 {
        let error = |point: &LoadPoint| point.throughput - self.throughput(point.load);
        points.iter().map(error).map(|error| error * error).sum()
    }
}

/// A fit with its intervals.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UslFit {
    /// The parameters themselves.
    pub parameters: UslParameters,
    /// Bounds of gamma, alpha and beta.
    pub gamma: IntervalEstimate,
    /// Bounds of alpha.
    pub alpha: IntervalEstimate,
    /// Bounds of beta.
    pub beta: IntervalEstimate,
    /// How much of the differences in throughput the law explains, from 0 to 1.
    pub r_squared: f64,
    /// Where the peak is, or why it is not told.
    pub peak: Peak,
}

/// Where throughput is highest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Peak {
    /// At this load, with this throughput.
    At {
        /// The load, with its bounds.
        load: IntervalEstimate,
        /// The law's throughput there.
        throughput: f64,
    },
    /// The data end before it.
    BeyondData,
    /// Fewer loads than the six that it needs.
    TooFewPoints,
    /// Throughput never falls by this law.
    None,
}

/// Data that no law can be fitted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UslError {
    /// Three parameters need more than three loads.
    #[error("the law needs throughput at 4 loads or more, there are {0}")]
    TooFewLoads(usize),
    /// Not a measurement.
    #[error("a load is to be 1 or more, and a throughput above 0")]
    BadPoint,
}

/// LIMIT: loads below which a peak is a guess.
const PEAK_LOADS_MIN: usize = 6;
/// LIMIT: fits for the bounds.
const RESAMPLED_FITS: usize = 500;
/// LIMIT: steps of one fit, which takes some ten.
const STEPS_MAX: usize = 200;

/// Fits the law. Bounds come from residuals that are drawn again.
pub fn fit(points: &[LoadPoint], bootstrap: &Bootstrap) -> Result<UslFit, UslError> {
    let is_bad = |point: &LoadPoint| {
        !(point.load >= 1.0 && point.load < 1e9 && point.throughput > 0.0 && point.throughput < 1e18)
    };
    if points.iter().any(is_bad) {
        return Err(UslError::BadPoint);
    }
    let mut loads: Vec<f64> = points.iter().map(|point| point.load).collect();
    loads.sort_unstable_by(f64::total_cmp);
    loads.dedup();
    if loads.len() < 4 {
        return Err(UslError::TooFewLoads(loads.len()));
    }
    let parameters = fit_once(points, None);
    let resampled = resampled_fits(points, &parameters, bootstrap);
    let bounds =
        |value: f64, of: fn(&UslParameters) -> f64| bootstrap.percentiles(value, resampled.iter().map(of).collect());
    let mean = points.iter().map(|point| point.throughput).sum::<f64>() / points.len() as f64;
    let all: f64 = points.iter().map(|point| (point.throughput - mean) * (point.throughput - mean)).sum();
    let r_squared = if all > 0.0 { (1.0 - parameters.squares(points) / all).max(0.0) } else { 1.0 };
    let most = loads.last().copied().unwrap_or(1.0);
    let peak = match parameters.peak_load() {
        _ if loads.len() < PEAK_LOADS_MIN => Peak::TooFewPoints,
        None => Peak::None,
        Some(load) if load > most => Peak::BeyondData,
        // A resampled fit without a peak puts it beyond everything.
        Some(load) => Peak::At {
            load: bounds(load, |parameters| parameters.peak_load().unwrap_or(f64::INFINITY)),
            throughput: parameters.throughput(load),
        },
    };
    Ok(UslFit {
        parameters,
        gamma: bounds(parameters.gamma, |parameters| parameters.gamma),
        alpha: bounds(parameters.alpha, |parameters| parameters.alpha),
        beta: bounds(parameters.beta, |parameters| parameters.beta),
        r_squared,
        peak,
    })
}

fn resampled_fits(points: &[LoadPoint], fitted: &UslParameters, bootstrap: &Bootstrap) -> Vec<UslParameters> {
    // Residuals of a fit are smaller than the errors they stand for, by the parameters it had.
    let count = points.len() as f64;
    let widen = libm::sqrt(count / (count - 3.0).max(1.0));
    let residuals: Vec<f64> =
        points.iter().map(|point| (point.throughput - fitted.throughput(point.load)) * widen).collect();
    let mut random = RandomSource::new(bootstrap.seed, 0);
    let mut drawn = points.to_vec();
    (0..RESAMPLED_FITS)
        .map(|_| {
            for point in &mut drawn {
                let residual = residuals[below(&mut random, residuals.len() as u64) as usize];
                point.throughput = (fitted.throughput(point.load) + residual).max(f64::MIN_POSITIVE);
            }
            fit_once(&drawn, Some(*fitted))
        })
        .collect()
}

/// One fit, from the parameters of a fit to similar data if there are some.
fn fit_once(points: &[LoadPoint], begin: Option<UslParameters>) -> UslParameters {
    let mut found = begin.unwrap_or_else(|| linear_guess(points));
    let mut squares = found.squares(points);
    let mut damping = 1e-3;
    for _ in 0..STEPS_MAX {
        let Some(next) = step(points, &found, damping) else { break };
        let next_squares = next.squares(points);
        if next_squares < squares {
            let is_done = squares - next_squares <= 1e-14 * squares;
            (found, squares, damping) = (next, next_squares, (damping / 10.0).max(1e-12));
            if is_done {
                break;
            }
        } else {
            damping *= 10.0;
            if damping > 1e12 {
                break;
            }
        }
    }
    found
}

/// N / C(N) is linear in 1, N - 1 and N (N - 1): least squares of that begin near enough.
fn linear_guess(points: &[LoadPoint]) -> UslParameters {
    let (mut matrix, mut right) = ([[0.0; 3]; 3], [0.0; 3]);
    for point in points {
        // Weighed so that its error counts as that of throughput does.
        let weight = point.throughput * point.throughput / point.load;
        let row = [1.0, point.load - 1.0, point.load * (point.load - 1.0)];
        add_row(&mut matrix, &mut right, &row, point.load / point.throughput, weight * weight);
    }
    let one = points.iter().map(|point| point.throughput / point.load).fold(0.0, f64::max);
    match solve(matrix, right) {
        Some([inverse, alpha, beta]) if inverse > 0.0 => {
            UslParameters { gamma: 1.0 / inverse, alpha: (alpha / inverse).max(0.0), beta: (beta / inverse).max(0.0) }
        }
        _ => UslParameters { gamma: one, alpha: 0.01, beta: 0.0 },
    }
}

fn add_row(matrix: &mut [[f64; 3]; 3], right: &mut [f64; 3], row: &[f64; 3], value: f64, weight: f64) {
    for i in 0..3 {
        right[i] += weight * row[i] * value;
        for j in 0..3 {
            matrix[i][j] += weight * row[i] * row[j];
        }
    }
}

/// A damped step of Gauss and Newton. A parameter at 0 that would become negative stays there, and the others take the step without it.
fn step(points: &[LoadPoint], at: &UslParameters, damping: f64) -> Option<UslParameters> {
    let (mut matrix, mut right) = ([[0.0; 3]; 3], [0.0; 3]);
    for point in points {
        let denominator = at.denominator(point.load);
        let by_gamma = point.load / denominator;
        let by_alpha = -at.gamma * by_gamma * (point.load - 1.0) / denominator;
        let row = [by_gamma, by_alpha, by_alpha * point.load];
        add_row(&mut matrix, &mut right, &row, point.throughput - at.throughput(point.load), 1.0);
    }
    let values = at.as_array();
    let mut is_held = [false; 3];
    loop {
        let (mut damped, mut wanted) = (matrix, right);
        for i in 0..3 {
            damped[i][i] *= 1.0 + damping;
            if is_held[i] {
                (damped[i], wanted[i]) = ([0.0; 3], 0.0);
                damped[i][i] = 1.0;
                damped.iter_mut().enumerate().filter(|(j, _)| *j != i).for_each(|(_, row)| row[i] = 0.0);
            }
        }
        let change = solve(damped, wanted)?;
        let held_now = (1..3).find(|&i| !is_held[i] && values[i] == 0.0 && change[i] < 0.0);
        let Some(held_now) = held_now else {
            let gamma = values[0] + change[0];
            let next = [1, 2].map(|i| (values[i] + change[i]).max(0.0));
            return (gamma > 0.0).then_some(UslParameters { gamma, alpha: next[0], beta: next[1] });
        };
        is_held[held_now] = true;
    }
}

/// Solves three equations by elimination with pivots, each scaled by its diagonal; none if they do not determine all.
fn solve(mut matrix: [[f64; 3]; 3], mut right: [f64; 3]) -> Option<[f64; 3]> {
    // Parameters differ by many orders of magnitude: each is measured by its own.
    let mut scale = [1.0; 3];
    for i in 0..3 {
        scale[i] = libm::sqrt(matrix[i][i].abs());
        if !(scale[i] > 0.0 && scale[i].is_finite()) {
            return None;
        }
    }
    for i in 0..3 {
        right[i] /= scale[i];
        for j in 0..3 {
            matrix[i][j] /= scale[i] * scale[j];
        }
    }
    for column in 0..3 {
        let pivot = (column..3).max_by(|&a, &b| matrix[a][column].abs().total_cmp(&matrix[b][column].abs()))?;
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        if matrix[column][column].abs() < 1e-14 {
            return None;
        }
        for row in column + 1..3 {
            let factor = matrix[row][column] / matrix[column][column];
            let pivot_row = matrix[column];
            matrix[row].iter_mut().zip(pivot_row).for_each(|(value, of_pivot)| *value -= factor * of_pivot);
            right[row] -= factor * right[column];
        }
    }
    let mut found = [0.0; 3];
    for row in (0..3).rev() {
        let known: f64 = (row + 1..3).map(|column| matrix[row][column] * found[column]).sum();
        found[row] = (right[row] - known) / matrix[row][row];
    }
    (0..3).for_each(|i| found[i] /= scale[i]);
    found.iter().all(|value| value.is_finite()).then_some(found)
}

#[cfg(test)]
mod tests;
