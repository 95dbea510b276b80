//! Which arm is measured next, and when it is enough. Knows no clock and no server: the same results give the same answer, so that an interrupted
//! comparison goes on where it ended.

use super::comparison::SAMPLES_MIN;
use crate::statistics::{Bootstrap, interleaved};
use std::time::Duration;

/// How often arms are measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agenda {
    /// How many arms there are.
    pub arms: usize,
    /// Rounds of all arms before the first look at what they say.
    pub least: usize,
    /// Rounds after which it ends in any case.
    pub most: usize,
    /// It is enough once the interval of each multiple is this narrow: 0.02 is two per cent of it.
    pub relative_width: f64,
    /// No round begins that would not end within it, if it takes as long as the longest one before.
    pub budget: Option<Duration>,
}

/// What is there already.
#[derive(Clone, Copy, Debug)]
pub struct AgendaProgress<'a> {
    /// Starts that were measured to their end.
    pub starts: usize,
    /// Of each thing that is compared, of each arm, the values.
    pub samples: &'a [Vec<Vec<f64>>],
    /// The arm that the others are compared with.
    pub baseline: usize,
    /// How long this session has measured; what was there before it is not on its budget.
    pub spent: Duration,
    /// How long the longest round took.
    pub longest_round: Duration,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStart {
    /// Measure this arm.
    Of(usize),
    /// There is enough.
    Enough(WhyEnough),
}

/// Why no more is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyEnough {
    /// Every interval is as narrow as was wanted.
    Narrow,
    /// There were as many rounds as were allowed.
    AllRounds,
    /// The time is used.
    BudgetUsed,
}

impl Agenda {
    /// What to do after `progress`. Only whole rounds are judged, so that every arm has as many values.
    pub fn next(&self, progress: &AgendaProgress<'_>, bootstrap: &Bootstrap) -> NextStart {
        let arms = self.arms.max(1);
        let (round, place) = (progress.starts / arms, progress.starts % arms);
        let why = if place == 0 { self.is_enough(round, progress, bootstrap) } else { None };
        if let Some(why) = why {
            return NextStart::Enough(why);
        }
        let mut order = interleaved(arms, round + 1).skip(progress.starts);
        NextStart::Of(order.next().unwrap_or(0))
    }

    fn is_enough(&self, rounds: usize, progress: &AgendaProgress<'_>, bootstrap: &Bootstrap) -> Option<WhyEnough> {
        if rounds >= self.least.max(SAMPLES_MIN) && self.is_narrow(progress, bootstrap) {
            return Some(WhyEnough::Narrow);
        }
        if rounds >= self.most {
            return Some(WhyEnough::AllRounds);
        }
        let end = progress.spent.saturating_add(progress.longest_round);
        let is_over = self.budget.is_some_and(|budget| end > budget);
        (rounds > 0 && is_over).then_some(WhyEnough::BudgetUsed)
    }

    /// Whether every arm's multiple is known well enough. Nothing is known of arms with too few values.
    fn is_narrow(&self, progress: &AgendaProgress<'_>, bootstrap: &Bootstrap) -> bool {
        let is_known = |samples: &Vec<Vec<f64>>| {
            let Some(baseline) = samples.get(progress.baseline) else { return false };
            let mut others = samples.iter().enumerate().filter(|(arm, _)| *arm != progress.baseline);
            let is_narrow = |arm: &[f64]| {
                let width = bootstrap.ratio(baseline, arm).and_then(|ratio| ratio.relative_width());
                width.is_some_and(|width| width <= self.relative_width)
            };
            samples.iter().all(|arm| arm.len() >= SAMPLES_MIN) && others.all(|(_, arm)| is_narrow(arm))
        };
        progress.samples.iter().all(is_known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGENDA: Agenda = Agenda { arms: 2, least: 5, most: 9, relative_width: 0.02, budget: None };

    fn after(starts: usize, samples: &[Vec<Vec<f64>>], spent_s: u64, agenda: &Agenda) -> NextStart {
        let spent = Duration::from_secs(spent_s);
        let progress = AgendaProgress { starts, samples, baseline: 0, spent, longest_round: Duration::from_secs(50) };
        agenda.next(&progress, &Bootstrap::default())
    }

    fn alike(values: usize, spread: f64) -> Vec<Vec<Vec<f64>>> {
        let arm = |by: f64| (0..values).map(|index| by * (100.0 + spread * (index % 3) as f64)).collect::<Vec<_>>();
        vec![vec![arm(1.0), arm(1.1)]]
    }

    #[test]
    fn arms_take_turns_forward_and_backward() {
        let order: Vec<NextStart> = (0..6).map(|starts| after(starts, &alike(1, 9.0), 0, &AGENDA)).collect();
        assert_eq!(order, [0, 1, 1, 0, 0, 1].map(NextStart::Of));
    }

    #[test]
    fn it_ends_when_all_intervals_are_narrow_and_not_within_a_round() {
        assert_eq!(after(10, &alike(5, 0.1), 0, &AGENDA), NextStart::Enough(WhyEnough::Narrow));
        assert!(matches!(after(11, &alike(5, 0.1), 0, &AGENDA), NextStart::Of(_)));
        assert!(matches!(after(8, &alike(4, 0.1), 0, &AGENDA), NextStart::Of(_)), "fewer rounds than were asked for");
        assert!(matches!(after(10, &alike(5, 20.0), 0, &AGENDA), NextStart::Of(_)), "too wide");
        let mut with_a_wide_one = alike(5, 0.1);
        with_a_wide_one.extend(alike(5, 20.0));
        assert!(matches!(after(10, &with_a_wide_one, 0, &AGENDA), NextStart::Of(_)), "each of them counts");
        assert_eq!(after(18, &alike(9, 20.0), 0, &AGENDA), NextStart::Enough(WhyEnough::AllRounds));
        let without_values = vec![vec![Vec::new(), Vec::new()]];
        assert!(matches!(after(10, &without_values, 0, &AGENDA), NextStart::Of(_)), "nothing is known");
        let one = Agenda { least: 1, most: 3, ..AGENDA };
        assert!(
            matches!(after(2, &alike(1, 0.0), 0, &one), NextStart::Of(_)),
            "the interval of one value is no interval"
        );
    }

    #[test]
    fn no_round_begins_that_would_not_end_in_time() {
        let agenda = Agenda { budget: Some(Duration::from_secs(100)), ..AGENDA };
        assert!(matches!(after(0, &[], 90, &agenda), NextStart::Of(0)), "one round in any case");
        assert!(matches!(after(2, &alike(1, 9.0), 50, &agenda), NextStart::Of(_)));
        assert_eq!(after(2, &alike(1, 9.0), 51, &agenda), NextStart::Enough(WhyEnough::BudgetUsed));
        assert!(matches!(after(3, &alike(1, 9.0), 99, &agenda), NextStart::Of(_)), "a round that began is ended");
    }
}
