//! When a host is tried again: 1, 2, 4 ... 60 s, each a quarter more or less by chance, so that a thousand do not come
//! back at once.

use std::time::Duration;

const FIRST_S: f64 = 1.0;
const LAST_S: f64 = 60.0;

/// How often it has failed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Backoff(u32);

impl Backoff {
    /// It worked.
    pub fn reset(&mut self) {
        self.0 = 0;
    }

    /// How long to wait after another failure; `chance` is any number.
    pub fn next(&mut self, chance: u64) -> Duration {
        let seconds = (FIRST_S * f64::from(1_u32 << self.0.min(10))).min(LAST_S);
        self.0 = self.0.saturating_add(1);
        let part = (chance % 1024) as f64 / 1024.0;
        Duration::from_secs_f64(seconds * (0.75 + part / 2.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_doubles_to_a_minute_and_begins_again() {
        let mut backoff = Backoff::default();
        let seconds: Vec<u64> = (0..9).map(|_| backoff.next(512).as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        backoff.reset();
        assert_eq!((backoff.next(0).as_millis(), backoff.next(1023).as_millis()), (750, 2499));
    }
}
