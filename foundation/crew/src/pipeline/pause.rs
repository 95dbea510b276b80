//! Yield points in the middle of a chunk's work: how slow work lets others have its hand. Decides nothing about who pauses;
//! `scheduler` does, and `threaded` carries it out.

use crate::tally::Tally;
use std::time::{Duration, Instant};

/// Time between two looks at the lease. With other runs hungry a look takes microseconds, with many of them milliseconds; a tenth of the
/// 50 ms within which a hand is to come free leaves the rest to the steps of a codec.
const LOOK_EVERY: Duration = if cfg!(feature = "model") { Duration::ZERO } else { Duration::from_millis(5) };

/// What work calls between its steps, so that its hand may go to somebody who is entitled to it.
pub struct Pause<'a> {
    look: Option<&'a mut (dyn FnMut() -> bool + 'a)>,
    every: Duration,
    looked: Instant,
    progress: Option<Progress<'a>>,
}

/// How far a chunk's work is, and where that is counted.
struct Progress<'a> {
    tally: &'a Tally,
    chunk_bytes: u64,
    /// Bytes that the work has gone through.
    gone_through: u64,
    /// Bytes of them that are counted.
    counted: u64,
}

/// Source bytes between two counts. More: slow work would seem to stand still. Less: workers would touch the same counter more often than
/// anybody looks.
const COUNT_EVERY_BYTES: u64 = 128 << 10;

impl<'a> Pause<'a> {
    /// For work that nobody waits for: it is never paused.
    pub fn never() -> Self {
        Self { look: None, every: Duration::ZERO, looked: Instant::now(), progress: None }
    }

    /// Calls `look` at every point. It returns whether the work stood still.
    pub fn at_each(look: &'a mut (dyn FnMut() -> bool + 'a)) -> Self {
        Self { look: Some(look), every: Duration::ZERO, looked: Instant::now(), progress: None }
    }

    /// Calls `look` at points that are far enough apart.
    pub(super) fn now_and_then(look: &'a mut (dyn FnMut() -> bool + 'a)) -> Self {
        Self { every: LOOK_EVERY, ..Self::at_each(look) }
    }

    /// Counts in `tally` how far the work on a chunk of `chunk_bytes` is.
    pub(super) fn counting(mut self, tally: &'a Tally, chunk_bytes: u64) -> Self {
        self.progress = Some(Progress { tally, chunk_bytes, gone_through: 0, counted: 0 });
        self
    }

    /// The work has gone through so many more bytes of its chunk: only for chunks that take long.
    pub fn gone_through(&mut self, bytes: usize) {
        let Some(progress) = &mut self.progress else { return };
        // What a unit needs besides the chunk is no part of it.
        progress.gone_through = progress.chunk_bytes.min(progress.gone_through + bytes as u64);
        let fresh = progress.gone_through - progress.counted;
        if fresh >= COUNT_EVERY_BYTES {
            progress.tally.did(fresh);
            progress.counted = progress.gone_through;
        }
    }

    /// Bytes of the chunk that were counted.
    pub(super) fn counted(&self) -> u64 {
        self.progress.as_ref().map_or(0, |progress| progress.counted)
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
    fn long_work_is_counted_while_it_goes_on_and_never_beyond_its_chunk() {
        let tally = Tally::default();
        let mut pause = Pause::never().counting(&tally, 300 << 10);
        pause.gone_through(100 << 10);
        assert_eq!((tally.bytes_done(), pause.counted()), (0, 0), "too little to be worth a count");
        pause.gone_through(100 << 10);
        assert_eq!((tally.bytes_done(), pause.counted()), (200 << 10, 200 << 10));
        pause.gone_through(500 << 10);
        pause.gone_through(500 << 10);
        assert_eq!((tally.bytes_done(), pause.counted()), (200 << 10, 200 << 10));
        // The rest is what the pipeline counts once the work is done.
        Pause::never().gone_through(1 << 30);
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
