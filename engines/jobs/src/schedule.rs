//! When a list of jobs would end at other widths, and when this one will: list scheduling on measured and expected times.
//! Pure figures. What is estimated comes with its error; see "Time left" in `README.md`.

#[cfg(test)]
mod simulated;

/// Widths that a forecast is made for: one, as many as now, one more, twice and four times as many.
pub fn widths(width: usize) -> [usize; 5] {
    let width = width.max(1);
    [1, width, width + 1, 2 * width, 4 * width]
}

/// When the last job ends if each starts as soon as a hand is free, in this order. In the times' unit.
pub fn makespan(times: impl IntoIterator<Item = f64>, width: usize) -> f64 {
    let mut hands = Hands::new(vec![0.0; width.max(1)]);
    times.into_iter().for_each(|time| hands.give(time));
    hands.last()
}

/// When each hand is free.
struct Hands {
    free_at: Vec<f64>,
}

impl Hands {
    fn new(free_at: Vec<f64>) -> Self {
        Self { free_at }
    }

    fn give(&mut self, time: f64) {
        if let Some(first) = self.free_at.iter_mut().min_by(|one, other| one.total_cmp(other)) {
            *first += time;
        }
    }

    fn last(&self) -> f64 {
        self.free_at.iter().copied().fold(0.0, f64::max)
    }
}

/// How a run stands.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScheduleStanding<'a> {
    /// Jobs at once.
    pub width: usize,
    /// For how long each running job has run, in seconds.
    pub running: &'a [f64],
    /// Jobs that have not started.
    pub waiting: u64,
    /// Times of jobs that have ended, in seconds: the last ones, or those of earlier runs where a journal knows them.
    pub times: &'a [f64],
}

/// A time in seconds with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RemainingTime {
    /// Expected.
    pub seconds: f64,
    /// Either way, in two cases of three.
    pub error: f64,
}

/// LIMIT: nothing is estimated from fewer jobs than this.
const ESTIMATED_FROM: usize = 3;

/// Runs that are played through for one estimate. More would tell the error more closely than anybody reads it; with very many
/// hands fewer do, as each is slow and their means vary little.
const PLAYED: std::ops::RangeInclusive<usize> = 8..=64;
const PLAYED_HANDS: usize = 1 << 14;

/// LIMIT: so many waiting jobs are played one by one; those above keep all hands busy alike. A millisecond for all runs.
const SCHEDULED_MAX: u64 = 256;

/// When the last job will have ended: the mean of runs that are played through with times drawn from what is known, each
/// from its own draw of that (bootstrap), so that few known times make a large error. None before enough are known.
pub fn left(standing: &ScheduleStanding<'_>) -> Option<RemainingTime> {
    if standing.times.len() < ESTIMATED_FROM {
        return None;
    }
    let mut chance = Chance(0x9E37_79B9_7F4A_7C15);
    let played = (PLAYED_HANDS / standing.width.max(1)).clamp(*PLAYED.start(), *PLAYED.end());
    let ends: Vec<f64> = (0..played).map(|_| play(standing, &mut chance)).collect();
    let seconds = ends.iter().sum::<f64>() / played as f64;
    let variance = ends.iter().map(|end| (end - seconds).powi(2)).sum::<f64>() / (played - 1) as f64;
    Some(RemainingTime { seconds, error: variance.sqrt() })
}

fn play(standing: &ScheduleStanding<'_>, chance: &mut Chance) -> f64 {
    let ScheduleStanding { width, running, waiting, .. } = *standing;
    let known = Known::drawn_from(standing, chance);
    let mut free_at: Vec<f64> = running.iter().map(|ran| known.draw(*ran, chance) - ran).collect();
    let width = width.max(1);
    free_at.resize(width.max(free_at.len()), 0.0);
    let streamed = waiting.saturating_sub(SCHEDULED_MAX);
    let mut hands = Hands::new(free_at);
    let (mut sum, one_by_one) = (0.0, waiting - streamed);
    for _ in 0..one_by_one {
        let time = known.draw(0.0, chance);
        sum += time;
        hands.give(time);
    }
    hands.last() + streamed as f64 * sum / (one_by_one.max(1) as f64 * width as f64)
}

/// Times as far as they are known: jobs that have ended, and jobs of which only is known that they took longer than this. Without
/// the latter all would be judged by the short ones, which end first.
struct Known {
    /// Sorted by time; whether the job had ended.
    times: Vec<(f64, bool)>,
    longest: f64,
    deviation: f64,
}

impl Known {
    fn drawn_from(standing: &ScheduleStanding<'_>, chance: &mut Chance) -> Self {
        let (ended, running) = (standing.times, standing.running);
        let at = |index: usize| match index.checked_sub(ended.len()) {
            None => (ended[index], true),
            Some(index) => (running[index], false),
        };
        // One that has ended is always among them: without any no time at all would be known.
        let count = ended.len() + running.len();
        let drawn = (1..count).map(|_| chance.below(count)).collect::<Vec<_>>();
        let first = chance.below(ended.len());
        let mut times: Vec<(f64, bool)> = drawn.into_iter().chain([first]).map(at).collect();
        times.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mean = ended.iter().sum::<f64>() / ended.len() as f64;
        let variance = ended.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / ended.len() as f64;
        Self { times, longest: ended.iter().copied().fold(0.0, f64::max), deviation: variance.sqrt() }
    }

    /// The time of a job that has taken longer than `ran`: one of the known times above that; where this is of a job that still
    /// runs, one above it in turn (Kaplan and Meier's estimate, by Efron's redistribution to the right).
    fn draw(&self, ran: f64, chance: &mut Chance) -> f64 {
        let mut above = ran;
        loop {
            let from = self.times.partition_point(|(time, _)| *time <= above);
            match self.times[from..].len() {
                0 if above == 0.0 => return 0.0,
                // Longer than all others: nobody knows. One that is over by a hair is about to end.
                0 => return above + ((above - self.longest).max(0.0) + self.deviation) * chance.exponential(),
                count => match self.times[from + chance.below(count)] {
                    (time, true) => return time,
                    (time, false) => above = time,
                },
            }
        }
    }
}

/// Numbers that look like chance, the same in each run: an estimate must not flicker.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() >> 16) as usize % count.max(1)
    }

    /// Exponentially distributed, with mean 1.
    fn exponential(&mut self) -> f64 {
        -libm::log(((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_scheduled_in_their_order() {
        assert_eq!(makespan([1.0, 1.0, 1.0, 4.0], 2), 5.0);
        assert_eq!(makespan([4.0, 1.0, 1.0, 1.0], 2), 4.0);
        assert_eq!(makespan([1.0, 1.0, 1.0, 4.0], 0), 7.0);
        assert_eq!(makespan([], 3), 0.0);
    }

    #[test]
    fn equal_jobs_are_foretold_exactly() {
        let times = &[2.0; 5];
        let at = |running: &[f64], waiting| left(&ScheduleStanding { width: 2, running, waiting, times });
        assert_eq!(at(&[], 4), Some(RemainingTime { seconds: 4.0, error: 0.0 }));
        assert_eq!(at(&[1.5, 0.5], 1), Some(RemainingTime { seconds: 2.5, error: 0.0 }));
        assert_eq!(at(&[], 0), Some(RemainingTime { seconds: 0.0, error: 0.0 }));
        assert_eq!(at(&[], 1_000_000), Some(RemainingTime { seconds: 1_000_000.0, error: 0.0 }));
    }

    #[test]
    fn jobs_that_have_just_started_are_no_times() {
        let standing = ScheduleStanding { width: 3, running: &[0.0; 3], waiting: 179, times: &[1.0; 3] };
        let estimated = left(&standing).expect("from three jobs");
        assert!((estimated.seconds - 61.0).abs() < 1e-9 && estimated.error < 1e-9, "{estimated:?}");
    }

    #[test]
    fn nothing_is_foretold_from_two_jobs() {
        let times = &[2.0; 2];
        assert_eq!(left(&ScheduleStanding { width: 2, running: &[], waiting: 4, times }), None);
    }

    #[test]
    fn a_job_that_outlasts_all_others_is_expected_to_go_on() {
        let times = &[1.0, 1.0, 4.0, 2.0];
        let estimated =
            left(&ScheduleStanding { width: 2, running: &[30.0], waiting: 0, times }).expect("from four jobs");
        assert!(estimated.seconds > 0.5 && estimated.error > 0.0, "{estimated:?}");
    }
}
