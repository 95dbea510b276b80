//! How far a run is, as it publishes it in its row: for people who look at the table. Nothing is decided by it.

use super::layout::{field, row_word};
use super::memory::Memory;
use serde::Serialize;
use std::sync::Arc;

/// What a run counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProgressUnit {
    /// Bytes of its source.
    #[default]
    Bytes,
    /// Entries of trees.
    Entries,
    /// Jobs of a list.
    Jobs,
}

/// What a run has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkDone {
    /// What is counted.
    pub unit: ProgressUnit,
    /// So many.
    pub done: u64,
    /// Of so many; none where that is not known.
    pub total: Option<u64>,
}

/// Asked from time to time by a thread of the run that computes: must be cheap, and wait for nothing.
pub type ProgressSource = Arc<dyn Fn() -> WorkDone + Send + Sync>;

/// How far a run is, as it was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RunProgress {
    /// What is counted.
    pub unit: ProgressUnit,
    /// So many.
    pub done: u64,
    /// Of so many; none where that is not known.
    pub total: Option<u64>,
    /// Thousandths of a unit a second, over the last seconds.
    pub rate_milli: u64,
}

impl RunProgress {
    /// Seconds until all is done at the present rate; none where that cannot be said.
    pub fn seconds_left(&self) -> Option<u64> {
        let left = self.total?.saturating_sub(self.done);
        (self.rate_milli > 0).then(|| left.saturating_mul(1000) / self.rate_milli)
    }
}

/// Puts `progress` into row `row`.
pub fn write<M: Memory + ?Sized>(memory: &M, row: usize, progress: &RunProgress) {
    let put = |field, value| memory.store(row_word(row, field), value);
    put(field::PROGRESS_DONE, progress.done);
    put(field::PROGRESS_TOTAL, progress.total.unwrap_or(0));
    put(field::PROGRESS_RATE, progress.rate_milli);
    let unit = match progress.unit {
        ProgressUnit::Bytes => 1,
        ProgressUnit::Entries => 2,
        ProgressUnit::Jobs => 3,
    };
    put(field::PROGRESS_UNIT, unit);
}

/// What row `row` says; none where it has said nothing, or something that there is not.
pub fn read<M: Memory + ?Sized>(memory: &M, row: usize) -> Option<RunProgress> {
    let get = |field| memory.load(row_word(row, field));
    let unit = match get(field::PROGRESS_UNIT) {
        1 => ProgressUnit::Bytes,
        2 => ProgressUnit::Entries,
        3 => ProgressUnit::Jobs,
        _ => return None,
    };
    let (done, total) = (get(field::PROGRESS_DONE), get(field::PROGRESS_TOTAL));
    // A source that grew past its announced length has no known one; the words need not be of the same moment.
    let total = Some(total).filter(|total| *total >= done && *total > 0);
    Some(RunProgress { unit, done, total, rate_milli: get(field::PROGRESS_RATE) })
}

/// The rate is a mean over one to two of these, or more while nothing is done. Longer would hide a change, shorter would make the digits jump.
const RATE_WINDOW_MS: u64 = 3000;

/// Makes rates out of what a source says.
#[derive(Default)]
pub struct ProgressMeter {
    source: Option<ProgressSource>,
    older: Option<Point>,
    newer: Option<Point>,
}

#[derive(Clone, Copy)]
struct Point {
    at_ms: u64,
    done: u64,
}

impl ProgressMeter {
    /// From now on of this source.
    pub fn begin(&mut self, source: ProgressSource, now_ms: u64) {
        let begin = Point { at_ms: now_ms, done: source().done };
        *self = Self { source: Some(source), older: Some(begin), newer: Some(begin) };
    }

    /// What is to be published now; none without a source.
    pub fn read(&mut self, now_ms: u64) -> Option<RunProgress> {
        let WorkDone { unit, done, total } = self.source.as_ref()?();
        let now = Point { at_ms: now_ms, done };
        // A run whose chunks take longer than that has the rate since its last step but one, not none in between.
        let is_next = |newer: Point| now_ms.saturating_sub(newer.at_ms) >= RATE_WINDOW_MS && done != newer.done;
        if self.newer.is_none_or(is_next) {
            (self.older, self.newer) = (self.newer, Some(now));
        }
        let since = self.older.unwrap_or(now);
        let elapsed_ms = now_ms.saturating_sub(since.at_ms).max(1);
        // Thousandths a second are units a millisecond, a million of them.
        let rate_milli = u128::from(done.saturating_sub(since.done)) * 1_000_000 / u128::from(elapsed_ms);
        Some(RunProgress { unit, done, total, rate_milli: u64::try_from(rate_milli).unwrap_or(u64::MAX) })
    }
}

#[cfg(all(test, not(feature = "model")))]
mod tests {
    use super::super::layout::WORDS;
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn what_is_published_is_read_and_nothing_is_nothing() {
        let memory: Vec<AtomicU64> = (0..WORDS).map(|_| AtomicU64::new(0)).collect();
        let memory = &memory[..];
        assert_eq!(read(memory, 7), None);
        for unit in [ProgressUnit::Bytes, ProgressUnit::Entries, ProgressUnit::Jobs] {
            for total in [None, Some(40)] {
                let progress = RunProgress { unit, done: 30, total, rate_milli: 5000 };
                write(memory, 7, &progress);
                assert_eq!(read(memory, 7), Some(progress));
                assert_eq!(progress.seconds_left(), total.map(|_| 2));
            }
        }
        memory.store(row_word(7, field::PROGRESS_DONE), 41);
        assert_eq!(read(memory, 7).map(|progress| progress.total), Some(None), "more than there was to be");
        memory.store(row_word(7, field::PROGRESS_UNIT), u64::MAX);
        assert_eq!(read(memory, 7), None, "forged");
    }

    #[test]
    fn rates_are_those_of_the_last_seconds() {
        let done = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&done);
        let mut meter = ProgressMeter::default();
        assert_eq!(meter.read(0), None);
        let unit = ProgressUnit::Jobs;
        meter.begin(Arc::new(move || WorkDone { unit, done: counted.load(Ordering::Relaxed), total: None }), 1000);
        let mut rate = |jobs, now_ms| {
            done.store(jobs, Ordering::Relaxed);
            meter.read(now_ms).map(|progress| progress.rate_milli)
        };
        assert_eq!(rate(4, 3000), Some(2000), "two a second");
        assert_eq!(rate(6, 4000), Some(2000));
        assert_eq!(rate(6, 6000), Some(1200), "six in the five seconds since it began");
        assert_eq!(rate(16, 9000), Some(2000), "ten in the five seconds since the last step");
    }
}
