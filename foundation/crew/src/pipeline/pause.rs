//! Yield points in the middle of a chunk's work: how slow work lets others have its hand. Decides nothing about who pauses;
//! `scheduler` does, and `threaded` carries it out.

use std::time::{Duration, Instant};

/// Time between two looks at the lease. With other runs hungry a look takes microseconds, with many of them milliseconds; a tenth of the
/// 50 ms within which a hand is to come free leaves the rest to the steps of a codec.
const LOOK_EVERY: Duration = if cfg!(feature = "model") { Duration::ZERO } else { Duration::from_millis(5) };

/// What work calls between its steps, so that its hand may go to somebody who is entitled to it.
pub struct Pause<'a> {
    look: Option<&'a mut (dyn FnMut() -> bool + 'a)>,
    every: Duration,
    looked: Instant,
}

impl<'a> Pause<'a> {
    /// For work that nobody waits for: it is never paused.
    pub fn never() -> Self {
        Self { look: None, every: Duration::ZERO, looked: Instant::now() }
    }

    /// Calls `look` at every point. It returns whether the work stood still.
    pub fn at_each(look: &'a mut (dyn FnMut() -> bool + 'a)) -> Self {
        Self { look: Some(look), every: Duration::ZERO, looked: Instant::now() }
    }

    /// Calls `look` at points that are far enough apart.
    pub(super) fn now_and_then(look: &'a mut (dyn FnMut() -> bool + 'a)) -> Self {
        Self { every: LOOK_EVERY, ..Self::at_each(look) }
    }

    /// A yield point. Returns once this work has a hand: at once, or after others had it meanwhile. Whether they had.
    pub fn point(&mut self) -> bool {
        let Some(look) = &mut self.look else { return false };
        if self.every.is_zero() {
            return look();
        }
        let now = Instant::now();
        if now.duration_since(self.looked) < self.every {
            return false;
        }
        let was_paused = look();
        self.looked = if was_paused { Instant::now() } else { now };
        was_paused
    }
}

#[cfg(all(test, not(feature = "model")))]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_not_asked_at_every_step() {
        let mut looks = 0;
        let mut look = || {
            looks += 1;
            false
        };
        let mut pause = Pause::now_and_then(&mut look);
        let begin = Instant::now();
        while begin.elapsed() < 3 * LOOK_EVERY {
            pause.point();
        }
        let most = begin.elapsed().as_micros() / LOOK_EVERY.as_micros();
        assert!(looks >= 1 && looks as u128 <= most, "{looks} looks, {most} at most");
    }

    #[test]
    fn a_point_says_whether_the_work_stood_still() {
        let mut answers = [true, false].into_iter();
        let mut look = || answers.next().expect("asked twice");
        let mut pause = Pause::at_each(&mut look);
        assert_eq!((pause.point(), pause.point()), (true, false));
        assert!(!Pause::never().point());
    }
}
