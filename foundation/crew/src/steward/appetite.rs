//! How many cores a program has a use for, from what its threads did over a time. Knows no table and asks no kernel: measurements are passed in.

use std::collections::VecDeque;

/// Between two samples at least. Shorter: more walks through `/proc`; longer: fewer samples in the time by which it is judged.
const SAMPLE_MS: u64 = 120;
/// LIMIT: the time by which it is judged. Longer: hands lie idle longer; shorter: it is taken for narrower than it is, where its threads wait
/// for each other.
const SPAN_MS: u64 = 1200;
/// LIMIT: samples by which it is judged at least, where they come late.
const SAMPLES_MIN: usize = 5;
/// The same for a program that has done nothing so far.
const SAMPLES_OF_NOTHING: usize = 3;
/// How long no hand more is tried after one was found to be too many; twice as long each time, up to the second. Longer: who adapts to its CPUs
/// grows later; shorter: others miss more often what is not used.
const PAUSE_MS: u64 = 2400;
const PAUSE_MAX_MS: u64 = 38_400;

/// What a program has a use for: the most that it needed at any sample of the last time.
pub(super) struct Appetite {
    width: usize,
    seen: VecDeque<Sample>,
    judged: usize,
    trial: Trial,
}

/// Hands that it needed at one moment.
struct Sample {
    at_ms: u64,
    needs: usize,
}

/// Who has `held` CPUs and is seen on all of them might use one more: nobody can see that before it has it.
struct Trial {
    /// So many hands were too many, or are tried now: more than one.
    doubtful: usize,
    /// When the next try may be.
    next_ms: u64,
    pause_ms: u64,
}

impl Trial {
    const NONE: Self = Self { doubtful: usize::MAX, next_ms: 0, pause_ms: PAUSE_MS };
}

impl Appetite {
    /// Of a program that can use `width` hands at most, which it is taken to do until it is known better.
    pub(super) fn of(width: usize) -> Self {
        Self { width, seen: VecDeque::new(), judged: width, trial: Trial::NONE }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Whether it is time for another sample.
    pub(super) fn is_due(&self, now_ms: u64) -> bool {
        self.seen.back().is_none_or(|last| now_ms.saturating_sub(last.at_ms) >= SAMPLE_MS)
    }

    /// Nothing is known of it any more: samples begin anew.
    pub(super) fn forget(&mut self) {
        self.seen.clear();
        self.judged = self.width;
    }

    /// Notes how many threads could run, where that is known, on the `held` hands it has. `may_grow`: it has all that it was found to need, and
    /// could have one more.
    pub(super) fn note(&mut self, now_ms: u64, runnable: Option<usize>, held: usize, may_grow: bool) {
        let needs = match runnable {
            Some(runnable) => self.needs(now_ms, runnable, held, may_grow),
            None => self.width,
        };
        if self.seen.back().is_some_and(|last| now_ms.saturating_sub(last.at_ms) > SPAN_MS) {
            // What it was before a rest says nothing of the time between.
            self.seen.clear();
        }
        self.seen.push_back(Sample { at_ms: now_ms, needs });
        while self.seen.len() > SAMPLES_MIN && now_ms.saturating_sub(self.seen[1].at_ms) >= SPAN_MS {
            self.seen.pop_front();
        }
        let least = if self.is_known(now_ms) { 0 } else { self.judged };
        let judged = self.needed_most().clamp(least, self.width);
        if judged < self.judged {
            let Trial { pause_ms, .. } = self.trial;
            let next_ms = now_ms + pause_ms;
            self.trial = Trial { doubtful: judged.max(1) + 1, next_ms, pause_ms: (pause_ms * 2).min(PAUSE_MAX_MS) };
        }
        self.judged = judged;
    }

    fn needs(&mut self, now_ms: u64, runnable: usize, held: usize, may_grow: bool) -> usize {
        if runnable >= self.trial.doubtful {
            self.trial = Trial::NONE;
        }
        let is_tried = may_grow && runnable == held && held > 0 && now_ms >= self.trial.next_ms;
        if !is_tried {
            return runnable;
        }
        let next_ms = now_ms + self.trial.pause_ms;
        self.trial = Trial { doubtful: held + 1, next_ms, ..self.trial };
        held + 1
    }

    fn is_known(&self, now_ms: u64) -> bool {
        let is_long = self.seen.front().is_some_and(|first| now_ms.saturating_sub(first.at_ms) >= SPAN_MS);
        (is_long && self.seen.len() >= SAMPLES_MIN)
            || (self.seen.len() >= SAMPLES_OF_NOTHING && self.needed_most() == 0)
    }

    fn needed_most(&self) -> usize {
        self.seen.iter().map(|sample| sample.needs).max().unwrap_or(0)
    }

    /// Hands beyond which it would not get faster, as far as is known; 0 where it sleeps.
    pub(super) fn useful_width(&self) -> usize {
        self.judged
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples of `runnable` threads every `every_ms` on two hands, from `from_ms` on, until the judgement is another one: when that was.
    fn until_changed(appetite: &mut Appetite, from_ms: u64, every_ms: usize, runnable: Option<usize>) -> Option<u64> {
        let before = appetite.useful_width();
        let is_changed = |now_ms: &u64| {
            if appetite.is_due(*now_ms) {
                appetite.note(*now_ms, runnable, 2, false);
            }
            appetite.useful_width() != before
        };
        (from_ms..from_ms + 10_000).step_by(every_ms).find(is_changed)
    }

    #[test]
    fn it_is_judged_by_time_however_often_it_is_looked_at() {
        for (every_ms, known_ms) in [(1, SPAN_MS), (7, 1260), (160, 1280), (300, SPAN_MS), (1000, 4000)] {
            let mut appetite = Appetite::of(4);
            assert_eq!(until_changed(&mut appetite, 0, every_ms, Some(1)), Some(known_ms), "every {every_ms} ms");
            assert_eq!(appetite.useful_width(), 1);
            assert!(appetite.seen.len() <= 1 + (SPAN_MS / SAMPLE_MS) as usize);
        }
    }

    #[test]
    fn the_most_that_was_needed_counts_until_it_is_long_ago() {
        let mut appetite = Appetite::of(4);
        appetite.note(0, Some(9), 2, false);
        assert_eq!(
            until_changed(&mut appetite, 120, 120, Some(2)),
            Some(120 + SPAN_MS),
            "it could use them a moment ago"
        );
        assert_eq!(appetite.useful_width(), 2);
        appetite.note(2000, Some(3), 2, false);
        assert_eq!(appetite.useful_width(), 3, "more at once");
    }

    #[test]
    fn who_has_done_nothing_so_far_is_known_sooner() {
        let mut appetite = Appetite::of(4);
        assert_eq!((until_changed(&mut appetite, 0, 120, Some(0)), appetite.useful_width()), (Some(240), 0));
        appetite.note(360, Some(1), 0, false);
        assert_eq!(appetite.useful_width(), 1);
    }

    #[test]
    fn what_cannot_be_seen_is_taken_for_all() {
        let mut appetite = Appetite::of(4);
        assert_eq!(until_changed(&mut appetite, 0, 120, None), None);
        assert_eq!(until_changed(&mut appetite, 10_080, 120, Some(1)), Some(10_080 + SPAN_MS));
        appetite.note(11_400, None, 2, false);
        assert_eq!(appetite.useful_width(), 4);
    }

    #[test]
    fn what_was_before_a_rest_does_not_stand_for_the_time_behind_it() {
        let mut appetite = Appetite::of(4);
        assert_eq!(until_changed(&mut appetite, 0, 120, Some(3)), Some(SPAN_MS));
        assert_eq!(until_changed(&mut appetite, 100_000, 120, Some(1)), Some(100_000 + SPAN_MS));
    }

    #[test]
    fn a_hand_more_is_tried_ever_more_seldom_until_it_is_used() {
        let mut appetite = Appetite::of(4);
        let mut tries = Vec::new();
        let mut held = 1;
        for now_ms in (0..200_000).step_by(120) {
            appetite.note(now_ms, Some(1), held, held >= appetite.useful_width());
            if appetite.useful_width() == 2 && held == 1 {
                tries.push(now_ms);
            }
            // It gets what it is found to need.
            held = appetite.useful_width();
        }
        let pauses: Vec<u64> = tries.windows(2).map(|two| two[1] - two[0]).collect();
        assert!(pauses.len() >= 4 && pauses.windows(2).all(|two| two[1] >= two[0]), "{tries:?}");
        assert!(pauses.last().is_some_and(|last| *last >= PAUSE_MAX_MS), "{tries:?}");
        // From now on it uses what it has, as who starts a thread for each CPU.
        let from_ms = 200_000 + 2 * PAUSE_MAX_MS;
        let grown = (from_ms..from_ms + 4 * SPAN_MS).step_by(120).find(|&now_ms| {
            appetite.note(now_ms, Some(held), held, held >= appetite.useful_width());
            held = appetite.useful_width();
            held == 4
        });
        assert!(grown.is_some_and(|at_ms| at_ms <= from_ms + 4 * SAMPLE_MS), "{grown:?}");
    }
}
