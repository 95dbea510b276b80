//! `--timeout N%`: how long jobs usually take, and the deadlines that follow from it. Deadlines move as more jobs end.

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
pub(in crate::run) struct Typical {
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
