//! What an arm's measurements say beside those of another: a multiple with its interval, and "cannot tell" where the interval holds no difference.

use crate::statistics::{Bootstrap, IntervalEstimate};

/// An arm beside the arm that it is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArmComparison {
    /// Its median as a multiple of the other's; none if a value is 0 or less.
    pub ratio: Option<IntervalEstimate>,
    /// Its median less the other's.
    pub difference: IntervalEstimate,
    /// What that says.
    pub finding: ArmVerdict,
}

/// What a comparison says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArmVerdict {
    /// The arm has more of it.
    More,
    /// The arm has less of it.
    Less,
    /// The interval holds both.
    CannotTell,
}

impl ArmComparison {
    /// Compares two samples; none if one of them is empty.
    pub fn of(other: &[f64], arm: &[f64], bootstrap: &Bootstrap) -> Option<Self> {
        let difference = bootstrap.difference(other, arm)?;
        let finding = match difference {
            _ if other.len() < SAMPLES_MIN || arm.len() < SAMPLES_MIN => ArmVerdict::CannotTell,
            IntervalEstimate { low, .. } if low > 0.0 => ArmVerdict::More,
            IntervalEstimate { high, .. } if high < 0.0 => ArmVerdict::Less,
            _ => ArmVerdict::CannotTell,
        };
        Some(Self { ratio: bootstrap.ratio(other, arm), difference, finding })
    }
}

/// LIMIT: below this many values of each arm their order alone happens by chance once in ten times or more (2 / C(6, 3)).
pub const SAMPLES_MIN: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(other: &[f64], arm: &[f64]) -> ArmComparison {
        ArmComparison::of(other, arm, &Bootstrap::default()).expect("both have values")
    }

    #[test]
    fn arms_apart_are_told_and_arms_that_overlap_are_not() {
        let other = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2];
        let more = compared(&other, &other.map(|value| value * 1.05));
        assert_eq!(more.finding, ArmVerdict::More);
        assert!(more.ratio.is_some_and(|ratio| ratio.low > 1.02 && ratio.contains(1.05)));
        assert_eq!(compared(&other, &other.map(|value| value * 0.9)).finding, ArmVerdict::Less);
        let alike = compared(&other, &other.map(|value| value * 1.001));
        assert_eq!(alike.finding, ArmVerdict::CannotTell);
        assert!(alike.difference.contains(0.0));
    }

    #[test]
    fn few_values_tell_nothing_however_far_apart() {
        assert_eq!(compared(&[1.0, 1.1, 1.2], &[9.0, 9.1, 9.2]).finding, ArmVerdict::CannotTell);
        assert_eq!(ArmComparison::of(&[], &[1.0], &Bootstrap::default()), None);
    }

    #[test]
    fn where_a_value_is_0_there_is_a_difference_and_no_multiple() {
        let compared = compared(&[0.0; 5], &[1.0; 5]);
        assert_eq!((compared.ratio, compared.finding), (None, ArmVerdict::More));
    }

    /// Two arms that are the same: how often a difference is claimed. 95 % intervals of medians of six are too narrow by some per cent; the bound here is
    /// what a user may rely on.
    #[test]
    fn of_two_arms_that_are_the_same_one_in_seven_is_claimed_to_differ_at_most() {
        use crate::arrivals::RandomSource;
        let mut random = RandomSource::new(7, 0);
        let mut sample = || -> Vec<f64> {
            (0..6)
                .map(|_| {
                    100.0 + (0..12).map(|_| crate::distribution::below(&mut random, 1000) as f64).sum::<f64>() / 1000.0
                })
                .collect()
        };
        let claims = (0..200).filter(|_| compared(&sample(), &sample()).finding != ArmVerdict::CannotTell).count();
        assert!(claims <= 28, "{claims} of 200");
    }
}
