//! User or system: how a process's exact CPU time is divided, and how far the division may be wrong.
//! LIE: kernels that account by ticks know which mode met the tick, nothing else; every tool that prints %usr and %sys
//! prints that lottery. This module prints its error too.

/// CPU time in two modes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Split {
    /// In programs.
    pub user_ns: f64,
    /// In the kernel.
    pub system_ns: f64,
    /// How far each of both may be off, with 98 % confidence.
    pub error_ns: f64,
}

/// What ticks met since the sample before, and since the process began.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ticks {
    /// In user mode, in the interval.
    pub user_ns: u64,
    /// In the kernel, in the interval.
    pub system_ns: u64,
    /// In user mode, since it began.
    pub lifetime_user_ns: u64,
    /// In the kernel, since it began.
    pub lifetime_system_ns: u64,
}

/// From so many ticks on the interval speaks for itself; with fewer, what is known of the process's whole life is a better
/// guess. At 50 the interval's own error is 7 points (one standard deviation) and a habit is a worse guide than that.
const TICKS_ENOUGH: f64 = 50.0;

/// How sure an interval is to hold: so many standard deviations of a normal distribution.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Confidence {
    /// 95 of 100: for what is decided.
    Usual,
    /// 98 of 100: for what is printed, so that of any hundred rows 95 hold and not just of most hundreds.
    Printed,
}

impl Confidence {
    fn deviations(self) -> f64 {
        match self {
            Self::Usual => 1.96,
            Self::Printed => 2.33,
        }
    }
}

/// Divides `total_ns` as the ticks fell.
///
/// The error is the farther end of Wilson's interval (J. Am. Stat. Assoc. 22, 1927) for a share of so many draws. It holds
/// for loads that do not keep step with the tick; one that does can fool every tick-counting kernel.
pub fn split(total_ns: u64, ticks: Ticks, tick_ns: u64) -> Split {
    let total = total_ns as f64;
    let (user, system) = (ticks.user_ns as f64, ticks.system_ns as f64);
    let draws = (user + system) / tick_ns.max(1) as f64;
    let in_life = (ticks.lifetime_user_ns as f64, ticks.lifetime_system_ns as f64);
    let share = match draws >= TICKS_ENOUGH {
        true => user / (user + system),
        false if in_life.0 + in_life.1 > 0.0 => in_life.0 / (in_life.0 + in_life.1),
        false => 0.5,
    };
    let (low, high) = wilson(user, system, draws, Confidence::Printed);
    Split {
        user_ns: total * share,
        system_ns: total * (1.0 - share),
        error_ns: total * (share - low).max(high - share).max(0.0),
    }
}

/// Between which ends a share lies, when so many draws have met `one` and `other` in this proportion.
pub(crate) fn wilson(one: f64, other: f64, draws: f64, confidence: Confidence) -> (f64, f64) {
    if draws <= 0.0 {
        return (0.0, 1.0);
    }
    let share = one / (one + other);
    let square = confidence.deviations().powi(2) / draws;
    let centre = (share + square / 2.0) / (1.0 + square);
    let half = (square * share * (1.0 - share) + square * square / 4.0).sqrt() / (1.0 + square);
    ((centre - half).max(0.0), (centre + half).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TICK_NS: u64 = 4_000_000;

    #[test]
    fn a_second_of_even_work_is_known_to_seven_points() {
        let ticks = Ticks { user_ns: 500_000_000, system_ns: 500_000_000, ..Ticks::default() };
        let split = split(1_000_000_000, ticks, TICK_NS);
        assert_eq!((split.user_ns, split.system_ns), (5e8, 5e8));
        assert!((split.error_ns / 1e9 - 0.0729).abs() < 0.0005, "{split:?}");
    }

    #[test]
    fn what_no_tick_met_is_not_known_at_all() {
        let unknown = split(3_000_000, Ticks::default(), TICK_NS);
        assert_eq!((unknown.user_ns, unknown.error_ns), (1_500_000.0, 1_500_000.0));
        let habit = Ticks { lifetime_user_ns: 9 * TICK_NS, lifetime_system_ns: TICK_NS, ..Ticks::default() };
        let guessed = split(1_000_000, habit, TICK_NS);
        assert_eq!((guessed.user_ns, guessed.error_ns), (900_000.0, 900_000.0));
    }

    #[test]
    fn few_ticks_all_in_one_mode_prove_little() {
        let ticks = Ticks { user_ns: 3 * TICK_NS, lifetime_user_ns: 3 * TICK_NS, ..Ticks::default() };
        let split = split(12_000_000, ticks, TICK_NS);
        assert_eq!(split.system_ns, 0.0);
        assert!(split.error_ns > 0.5 * 12e6, "{split:?}");
    }

    proptest! {
        #[test]
        fn both_modes_make_the_total_and_the_truth_of_the_ticks_is_inside(
            user in 0_u64..1_000, system in 0_u64..1_000, life in 0_u64..100_000, total in 0_u64..u64::MAX / 2,
        ) {
            let ticks = Ticks {
                user_ns: user * TICK_NS,
                system_ns: system * TICK_NS,
                lifetime_user_ns: (user + life) * TICK_NS,
                lifetime_system_ns: system * TICK_NS,
            };
            let split = split(total, ticks, TICK_NS);
            let whole = total as f64;
            prop_assert!((split.user_ns + split.system_ns - whole).abs() <= whole * 1e-9 + 1.0);
            prop_assert!(split.error_ns >= 0.0 && split.error_ns <= whole * (1.0 + 1e-9));
            if user + system > 0 {
                let seen = whole * user as f64 / (user + system) as f64;
                prop_assert!((seen - split.user_ns).abs() <= split.error_ns + whole * 1e-9 + 1.0);
            }
        }
    }
}
