//! So many a second, and no more at once than a second's worth.

use std::time::Instant;

/// A bucket that fills with time.
#[derive(Clone, Debug)]
pub(crate) struct TokenBucket {
    per_second: f64,
    level: f64,
    at: Instant,
}

impl TokenBucket {
    pub fn new(per_second: u32, now: Instant) -> Self {
        let per_second = f64::from(per_second);
        Self { per_second, level: per_second, at: now }
    }

    /// Takes one, if there is one.
    pub fn take(&mut self, now: Instant) -> bool {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        self.level = (self.level + since * self.per_second).min(self.per_second);
        self.at = self.at.max(now);
        let is_there = self.level >= 1.0;
        if is_there {
            self.level -= 1.0;
        }
        is_there
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_second_gives_as_many_as_it_should() {
        let begin = Instant::now();
        let mut bucket = TokenBucket::new(4, begin);
        let taken = |bucket: &mut TokenBucket, now| (0..100).filter(|_| bucket.take(now)).count();
        assert_eq!(taken(&mut bucket, begin), 4);
        assert_eq!(taken(&mut bucket, begin + Duration::from_millis(500)), 2);
        assert_eq!(taken(&mut bucket, begin + Duration::from_secs(3600)), 4);
        assert_eq!(taken(&mut bucket, begin), 0, "a clock that goes back gives nothing");
    }
}
