//! `--timeout N%`: how long jobs usually take, and the deadlines that follow from it. Deadlines move as more jobs end.

use super::Runner;
use std::time::Duration;

/// A time for each job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TimeLimit {
    /// So long.
    Fixed(Duration),
    /// This many times the median of jobs that have succeeded.
    OfMedian(f64),
}

/// COMPAT: GNU parallel knows no median before three jobs have ended.
const KNOWN_FROM: usize = 3;

/// LIMIT: the median is one of the latest so many; more would cost memory and time at each end.
const LATEST: usize = 301;

/// How long the latest jobs took.
#[derive(Debug, Default)]
pub(super) struct Typical {
    latest: Vec<Duration>,
    next: usize,
}

impl Typical {
    /// Notes how long a job took.
    pub fn note(&mut self, wall: Duration) {
        if self.latest.len() < LATEST {
            self.latest.push(wall);
        } else {
            self.latest[self.next % LATEST] = wall;
        }
        self.next += 1;
    }

    /// The median, once it is known.
    pub fn median(&self) -> Option<Duration> {
        let mut sorted = self.latest.clone();
        let middle = sorted.len() / 2;
        (sorted.len() >= KNOWN_FROM).then(|| *sorted.select_nth_unstable(middle).1)
    }
}

impl Runner<'_> {
    /// The time that a job of no limit of its own has now.
    pub(super) fn time_limit(&self) -> Option<Duration> {
        match self.options.timeout? {
            TimeLimit::Fixed(time) => Some(time),
            TimeLimit::OfMedian(factor) => {
                Duration::try_from_secs_f64(self.typical.median()?.as_secs_f64() * factor).ok()
            }
        }
    }

    /// Notes a success, and moves the deadlines of those that run.
    pub(super) fn note_typical(&mut self, wall: Duration) {
        let Some(TimeLimit::OfMedian(_)) = self.options.timeout else { return };
        self.typical.note(wall);
        let Some(limit) = self.time_limit() else { return };
        for running in self.jobs.iter_mut() {
            let has_own = running.more().is_some_and(|more| more.timeout.is_some());
            if !has_own && !running.is_being_ended() {
                running.due.at = Some((running.times.started + limit, 0));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_needs_three_and_follows_the_latest() {
        let (mut typical, second) = (Typical::default(), Duration::from_secs(1));
        typical.note(second);
        typical.note(second * 9);
        assert_eq!(typical.median(), None);
        typical.note(second * 2);
        assert_eq!(typical.median(), Some(second * 2));
        (0..LATEST).for_each(|_| typical.note(second * 5));
        assert_eq!((typical.median(), typical.latest.len()), (Some(second * 5), LATEST));
    }
}
