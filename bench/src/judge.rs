//! Medians, ratios and verdicts: pure figures, no tables.
//! A ratio is our wall time to the rival's; below 1 we are faster.

use super::measure::Run;

/// What a ratio should be.
#[derive(Clone, Copy)]
pub struct Target {
    /// At most this; none where the comparison only informs.
    pub must: Option<f64>,
    /// Hoped for.
    pub aim: Option<f64>,
}

impl Target {
    pub const fn none() -> Self {
        Self { must: None, aim: None }
    }

    pub const fn must(most: f64) -> Self {
        Self { must: Some(most), aim: None }
    }

    pub const fn aim(self, aim: f64) -> Self {
        Self { must: self.must, aim: Some(aim) }
    }
}

/// LIMIT: a speed bought with an output larger than this counts as missed.
const OUTPUT_RATIO_MAX: f64 = 1.01;

/// How a comparison came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Informs,
    AimMet,
    /// Hoped for only, and no target missed.
    AimNotMet,
    Met,
    Missed,
    OutputTooLarge,
}

impl Verdict {
    pub fn is_missed(self) -> bool {
        matches!(self, Self::Missed | Self::OutputTooLarge)
    }

    pub fn text(self) -> &'static str {
        match self {
            Self::Informs => "-",
            Self::AimMet => "aim met",
            Self::AimNotMet => "aim not met",
            Self::Met => "met",
            Self::Missed => "**missed**",
            Self::OutputTooLarge => "**missed**: our output is larger",
        }
    }
}

/// Medians of a tool's runs.
#[derive(Clone, Copy, Default)]
pub struct Summary {
    pub wall_s: f64,
    pub wall_s_min: f64,
    pub wall_s_max: f64,
    pub cpu_s: f64,
    pub memory_mb: f64,
    pub output_bytes: u64,
}

impl Summary {
    pub fn of(runs: &[Run]) -> Self {
        let middle = |figure: fn(&Run) -> f64| median(&runs.iter().map(figure).collect::<Vec<_>>());
        let walls = || runs.iter().map(|run| run.wall_s);
        Self {
            wall_s: middle(|run| run.wall_s),
            wall_s_min: walls().fold(f64::INFINITY, f64::min),
            wall_s_max: walls().fold(0.0, f64::max),
            cpu_s: middle(|run| run.user_s + run.system_s),
            memory_mb: middle(|run| run.memory_kib as f64 * 1024.0 / 1e6),
            output_bytes: runs.first().map_or(0, |run| run.output_bytes),
        }
    }
}

/// Two ways to compare: a drift of the machine's speed shows as a difference between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    pub of_medians: f64,
    /// The median of the ratios of each round.
    pub of_pairs: f64,
}

impl Ratio {
    pub fn of(ours: &[Run], theirs: &[Run]) -> Self {
        let pairs: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| ours.wall_s / theirs.wall_s).collect();
        Self { of_medians: Summary::of(ours).wall_s / Summary::of(theirs).wall_s, of_pairs: median(&pairs) }
    }

    /// The one that is worse for us: a target is met by both or not at all.
    pub fn worse(self) -> f64 {
        self.of_medians.max(self.of_pairs)
    }
}

pub fn judge(target: Target, ratio: Ratio, ours: &Summary, theirs: &Summary) -> Verdict {
    let is_too_large = ours.output_bytes as f64 > theirs.output_bytes as f64 * OUTPUT_RATIO_MAX;
    let is_aim_met = target.aim.map(|aim| ratio.worse() <= aim && !is_too_large);
    let Some(must) = target.must else {
        return match is_aim_met {
            None => Verdict::Informs,
            Some(true) => Verdict::AimMet,
            Some(false) => Verdict::AimNotMet,
        };
    };
    if is_too_large {
        Verdict::OutputTooLarge
    } else if is_aim_met == Some(true) {
        Verdict::AimMet
    } else if ratio.worse() <= must {
        Verdict::Met
    } else {
        Verdict::Missed
    }
}

/// The middle value, or the mean of the two in the middle.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => sorted[count / 2],
        count => f64::midpoint(sorted[count / 2 - 1], sorted[count / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(walls: &[f64], output_bytes: u64) -> Vec<Run> {
        let run = |&wall_s| Run { wall_s, user_s: 1.0, system_s: 0.5, memory_kib: 1000, output_bytes };
        walls.iter().map(run).collect()
    }

    fn verdict(ours: &[Run], theirs: &[Run], target: Target) -> Verdict {
        judge(target, Ratio::of(ours, theirs), &Summary::of(ours), &Summary::of(theirs))
    }

    #[test]
    fn medians_are_in_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        let summary = Summary::of(&runs(&[3.0, 1.0, 2.0], 7));
        assert_eq!((summary.wall_s, summary.wall_s_min, summary.wall_s_max), (2.0, 1.0, 3.0));
        assert_eq!((summary.cpu_s, summary.memory_mb, summary.output_bytes), (1.5, 1.024, 7));
    }

    #[test]
    fn the_worse_ratio_counts() {
        let ratio = Ratio::of(&runs(&[1.0, 2.0, 3.0], 1), &runs(&[4.0, 4.0, 4.0], 1));
        assert_eq!(ratio, Ratio { of_medians: 0.5, of_pairs: 0.5 });
        let drifting = Ratio::of(&runs(&[1.0, 2.0, 9.0], 1), &runs(&[1.0, 9.0, 4.0], 1));
        assert_eq!(drifting, Ratio { of_medians: 0.5, of_pairs: 1.0 });
        assert_eq!(drifting.worse(), 1.0);
    }

    #[test]
    fn verdicts_follow_targets_and_sizes() {
        let (ours, theirs) = (runs(&[1.0], 100), runs(&[2.0], 100));
        assert_eq!(verdict(&ours, &theirs, Target::none()), Verdict::Informs);
        assert_eq!(verdict(&ours, &theirs, Target::must(0.6)), Verdict::Met);
        assert_eq!(verdict(&ours, &theirs, Target::must(0.6).aim(0.5)), Verdict::AimMet);
        assert_eq!(verdict(&ours, &theirs, Target::must(0.4)), Verdict::Missed);
        assert_eq!(verdict(&ours, &theirs, Target::none().aim(0.5)), Verdict::AimMet);
        assert_eq!(verdict(&ours, &theirs, Target::none().aim(0.4)), Verdict::AimNotMet);
        assert_eq!(verdict(&runs(&[1.0], 101), &theirs, Target::must(0.6)), Verdict::Met);
        assert_eq!(verdict(&runs(&[1.0], 102), &theirs, Target::must(0.6)), Verdict::OutputTooLarge);
    }
}
