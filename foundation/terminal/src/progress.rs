//! One line of progress on a terminal, drawn by its own thread from samples that the caller provides.
//! Nothing appears in the first half second, nothing remains at the end. What is drawn is a pure function of sample, rate,
//! time and width.

use crate::display_width::{columns, shorten, shorten_middle};
use crate::messages::Messages;
use crate::quote::printable;
use crate::screen::Screen;
use crate::units;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How far a run is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgressSample {
    /// What is being worked on, usually a file name.
    pub label: String,
    /// Bytes of the source that are done.
    pub done_bytes: u64,
    /// Bytes of the source, if known.
    pub total_bytes: Option<u64>,
    /// Entries of a tree that are done, for runs that count them.
    pub done_entries: Option<u64>,
    /// Entries of the tree, if known.
    pub total_entries: Option<u64>,
    /// Hands at work, for runs that count them.
    pub hands: Option<usize>,
}

/// Earlier, short runs would flicker; later, a person wonders whether anything happens.
const FIRST_DRAWN_AFTER: Duration = Duration::from_millis(500);

/// More often, digits cannot be read; less often, the line looks stuck.
const REDRAWN_EVERY: Duration = Duration::from_millis(200);

/// Lines are read word by word; twice a second is what the eye follows, and what a waiting run may cost.
const LINES_REDRAWN_EVERY: Duration = Duration::from_millis(500);

/// The rate is the mean over this time. Longer would hide a change, shorter would make the digits jump.
const RATE_WINDOW: Duration = Duration::from_secs(4);

/// LIMIT: what is left is not guessed from less than this.
const LEFT_SHOWN_AFTER: Duration = Duration::from_secs(1);

/// LIMIT: more than this is left only when the run is as good as stuck, and the number then means nothing.
const LEFT_AT_MOST_S: f64 = 100.0 * 86_400.0;

/// A progress line that is being kept up to date. Dropping it is finishing it.
#[derive(Debug)]
pub struct Progress {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Starts drawing, if standard error is a terminal and `messages` are not quiet.
    ///
    /// `sample` is called five times a second from another thread and must be cheap. Not for runs whose data go to the
    /// same terminal: the line and the data would be mixed.
    pub fn start(messages: &Messages, sample: impl FnMut() -> ProgressSample + Send + 'static) -> Self {
        let stop = Arc::new(Stop::default());
        let thread = messages.screen_for_progress().and_then(|screen| {
            let stop = Arc::clone(&stop);
            let thread = std::thread::Builder::new().name("progress".to_owned());
            // Without a thread to spare there is no progress line, and the run itself goes on.
            thread.spawn(move || draw_until_stopped(&screen, &stop, sample)).ok()
        });
        Self { stop, thread }
    }

    /// The same for one or more lines of the caller's making, given the time since the beginning: for what is not counted in bytes.
    /// Drawn twice a second.
    pub fn start_lines(messages: &Messages, mut lines: impl FnMut(Duration) -> Vec<String> + Send + 'static) -> Self {
        let stop = Arc::new(Stop::default());
        let thread = messages.screen_for_progress().and_then(|screen| {
            let stop = Arc::clone(&stop);
            let thread = std::thread::Builder::new().name("progress".to_owned()).stack_size(64 << 10);
            thread
                .spawn(move || {
                    let cleared = ClearAtEnd(&screen);
                    let (started, mut pause) = (Instant::now(), FIRST_DRAWN_AFTER);
                    while !stop.rings_within(pause) {
                        pause = LINES_REDRAWN_EVERY;
                        match screen.columns() {
                            Some(width) => {
                                let lines = lines(started.elapsed());
                                let short = |line: &String| shorten(&printable(line), width.saturating_sub(1));
                                screen.draw(&lines.iter().map(short).collect::<Vec<_>>().join("\n"));
                            }
                            None => screen.abandon(),
                        }
                    }
                    drop(cleared);
                })
                .ok()
        });
        Self { stop, thread }
    }

    /// Removes the line and waits until it is gone.
    pub fn finish(self) {
        drop(self);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.stop.ring();
        if let Some(thread) = self.thread.take() {
            // A panic in the caller's sample has been reported by the thread itself.
            let _panicked = thread.join();
        }
    }
}

/// Ends a wait at once instead of after its time.
#[derive(Debug, Default)]
struct Stop {
    is_rung: Mutex<bool>,
    bell: Condvar,
}

impl Stop {
    fn ring(&self) {
        *self.is_rung.lock() = true;
        self.bell.notify_all();
    }

    /// Waits for the bell for that long and says whether it rang.
    fn rings_within(&self, time: Duration) -> bool {
        let mut is_rung = self.is_rung.lock();
        self.bell.wait_while_for(&mut is_rung, |is_rung| !*is_rung, time);
        *is_rung
    }
}

fn draw_until_stopped(screen: &Screen, stop: &Stop, mut sample: impl FnMut() -> ProgressSample) {
    // Also after a panic of `sample` the line goes.
    let cleared = ClearAtEnd(screen);
    let started = Instant::now();
    let mut recent = RecentRate::default();
    recent.note(Duration::ZERO, sample().counted());
    let mut pause = FIRST_DRAWN_AFTER;
    while !stop.rings_within(pause) {
        pause = REDRAWN_EVERY;
        let (sample, elapsed) = (sample(), started.elapsed());
        recent.note(elapsed, sample.counted());
        match screen.columns() {
            Some(width) => screen.draw(&render_line(&sample, recent.a_second(), elapsed, width)),
            None => screen.abandon(),
        }
    }
    drop(cleared);
}

struct ClearAtEnd<'screen>(&'screen Screen);

impl Drop for ClearAtEnd<'_> {
    fn drop(&mut self) {
        self.0.clear();
    }
}

impl ProgressSample {
    /// What the rate is of: bytes, or entries where there are no bytes.
    fn counted(&self) -> u64 {
        if self.counts_entries() { self.done_entries.unwrap_or(0) } else { self.done_bytes }
    }

    fn counts_entries(&self) -> bool {
        self.done_entries.is_some() && self.done_bytes == 0
    }
}

/// The mean rate over the last seconds, or since the beginning if nothing was counted in those: a long chunk that is not counted in parts.
#[derive(Debug, Default)]
struct RecentRate {
    points: VecDeque<(Duration, u64)>,
}

impl RecentRate {
    fn note(&mut self, elapsed: Duration, done: u64) {
        self.points.push_back((elapsed, done));
        let horizon = elapsed.saturating_sub(RATE_WINDOW);
        // One point at or before the horizon stays, so that the window is always full.
        while self.points.get(1).is_some_and(|(time, _)| *time <= horizon) {
            self.points.pop_front();
        }
    }

    fn a_second(&self) -> f64 {
        let (Some((start, before)), Some((end, after))) = (self.points.front(), self.points.back()) else { return 0.0 };
        let over = |done: u64, time: Duration| {
            if time.is_zero() { 0.0 } else { done as f64 / time.as_secs_f64() }
        };
        match after.saturating_sub(*before) {
            0 => over(*after, *end),
            fresh => over(fresh, end.saturating_sub(*start)),
        }
    }
}

/// Writes the line, at most `width - 1` columns (in its last column many terminals wrap):
/// `db.export  38 %  15.7 of 41.2 GB  1.24 GB/s  left 21 s  58 hands`, or without a total
/// `db.export  15.7 GB  1.24 GB/s  58 hands`, of a tree also `12,345 of 40,001 entries`. The label gives way first, in its middle; then the hands
/// and the entries do.
pub fn render_line(sample: &ProgressSample, a_second: f64, elapsed: Duration, width: usize) -> String {
    const SHORTEST_LABEL: usize = 12;
    let room = width.saturating_sub(1);
    let label = printable(&sample.label);
    let least = columns(&label).min(SHORTEST_LABEL);
    let mut numbers = numbers(sample, a_second, elapsed);
    let taken = |numbers: &[Number]| numbers.iter().map(|number| columns(&number.text) + 2).sum::<usize>();
    while least + taken(&numbers) > room
        && let Some(expendable) = numbers.iter().rposition(|number| number.gives_way)
    {
        numbers.remove(expendable);
    }
    let label_room = room.saturating_sub(taken(&numbers)).max(least);
    let texts = numbers.into_iter().map(|number| number.text);
    let parts: Vec<String> = std::iter::once(shorten_middle(&label, label_room)).chain(texts).collect();
    let shown: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    shorten(&shown.join("  "), room)
}

/// A part of the line.
struct Number {
    text: String,
    /// Whether it is left out where there is no room for all.
    gives_way: bool,
}

fn numbers(sample: &ProgressSample, a_second: f64, elapsed: Duration) -> Vec<Number> {
    let always = |text: String| Number { text, gives_way: false };
    let done = sample.done_bytes;
    // A source that has grown past its announced size has no known size.
    let total = sample.total_bytes.filter(|total| done <= *total && !sample.counts_entries());
    let mut numbers = Vec::with_capacity(6);
    match total {
        Some(total) => {
            // Rounded down: 100 % is said when it is true.
            let percent = u128::from(done) * 100 / u128::from(total.max(1));
            numbers.push(always(format!("{percent} %")));
            numbers.push(always(units::bytes_of(done, total)));
        }
        None if sample.counts_entries() => {}
        None => numbers.push(always(units::bytes(done))),
    }
    if let Some(entries) = sample.done_entries {
        let total = sample.total_entries.filter(|total| entries <= *total);
        let of = total.map_or(String::new(), |total| format!(" of {}", units::integer(total)));
        let noun = if total.unwrap_or(entries) == 1 { "entry" } else { "entries" };
        let text = format!("{}{of} {noun}", units::integer(entries));
        numbers.push(Number { text, gives_way: !sample.counts_entries() });
    }
    numbers.push(always(match sample.counts_entries() {
        true => format!("{} entries/s", units::integer(a_second.max(0.0).round() as u64)),
        false => units::rate(a_second),
    }));
    let left_s = total.map(|total| (total - done) as f64 / a_second);
    if let Some(left_s) = left_s.filter(|left_s| *left_s < LEFT_AT_MOST_S && elapsed >= LEFT_SHOWN_AFTER) {
        numbers.push(always(format!("left {}", units::duration_coarse(Duration::from_secs_f64(left_s)))));
    }
    if let Some(hands) = sample.hands {
        let text = if hands == 1 { "1 hand".to_owned() } else { format!("{hands} hands") };
        numbers.push(Number { text, gives_way: true });
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::Verbosity;
    use crate::screen::fake;
    use std::sync::mpsc;

    fn sample(total_bytes: Option<u64>) -> ProgressSample {
        let label = "db.export".to_owned();
        ProgressSample { label, done_bytes: 15_712_345_678, total_bytes, hands: Some(58), ..ProgressSample::default() }
    }

    const LONG_AGO: Duration = Duration::from_secs(12);

    #[test]
    fn a_known_total_gives_share_and_time_left() {
        let line = render_line(&sample(Some(41_212_345_678)), 1.24e9, LONG_AGO, 80);
        assert_eq!(line, "db.export  38 %  15.7 of 41.2 GB  1.24 GB/s  left 21 s  58 hands");
    }

    #[test]
    fn an_unknown_total_gives_neither() {
        assert_eq!(render_line(&sample(None), 1.24e9, LONG_AGO, 80), "db.export  15.7 GB  1.24 GB/s  58 hands");
        let unlabelled = ProgressSample { label: String::new(), hands: Some(1), ..sample(None) };
        assert_eq!(render_line(&unlabelled, 1.24e9, LONG_AGO, 80), "15.7 GB  1.24 GB/s  1 hand");
    }

    #[test]
    fn a_source_that_outgrew_its_size_has_no_total() {
        assert_eq!(render_line(&sample(Some(5)), 1.24e9, LONG_AGO, 80), "db.export  15.7 GB  1.24 GB/s  58 hands");
    }

    #[test]
    fn the_time_left_is_not_guessed_too_early_or_from_nothing() {
        let known = sample(Some(41_212_345_678));
        for (rate, elapsed) in [(1.24e9, Duration::from_millis(700)), (0.0, LONG_AGO), (1.0, LONG_AGO)] {
            assert!(!render_line(&known, rate, elapsed, 80).contains("left"), "{rate}");
        }
    }

    #[test]
    fn empty_and_finished_sources_are_no_division_by_zero() {
        let empty = ProgressSample { done_bytes: 0, total_bytes: Some(0), ..sample(None) };
        assert_eq!(render_line(&empty, 0.0, LONG_AGO, 80), "db.export  0 %  0 of 0 B  0 B/s  58 hands");
        let finished = ProgressSample { done_bytes: 7, total_bytes: Some(7), ..sample(None) };
        assert_eq!(render_line(&finished, 7.0, LONG_AGO, 80), "db.export  100 %  7 of 7 B  7 B/s  left 0 s  58 hands");
    }

    #[test]
    fn the_label_gives_way_and_the_line_never_reaches_the_last_column() {
        let long = ProgressSample { label: "a-very-long-name-of-an-export.sql".to_owned(), ..sample(None) };
        assert_eq!(render_line(&long, 1.24e9, LONG_AGO, 44), "a-very..t.sql  15.7 GB  1.24 GB/s  58 hands");
        for width in 0..60 {
            assert!(columns(&render_line(&long, 1.24e9, LONG_AGO, width)) < width.max(1), "{width}");
        }
    }

    fn tree(done_bytes: u64, total: Option<(u64, u64)>) -> ProgressSample {
        ProgressSample {
            label: "copying home".to_owned(),
            done_bytes,
            total_bytes: total.map(|(bytes, _)| bytes),
            done_entries: Some(12_345),
            total_entries: total.map(|(_, entries)| entries),
            hands: None,
        }
    }

    #[test]
    fn a_tree_has_entries_and_those_of_unknown_number_no_total() {
        let known = tree(15_700_000_000, Some((41_200_000_000, 40_001)));
        assert_eq!(
            render_line(&known, 1.24e9, LONG_AGO, 100),
            "copying home  38 %  15.7 of 41.2 GB  12,345 of 40,001 entries  1.24 GB/s  left 21 s"
        );
        let unknown = tree(15_700_000_000, None);
        assert_eq!(render_line(&unknown, 1.24e9, LONG_AGO, 80), "copying home  15.7 GB  12,345 entries  1.24 GB/s");
        let without_bytes = tree(0, None);
        assert_eq!(render_line(&without_bytes, 4321.0, LONG_AGO, 80), "copying home  12,345 entries  4,321 entries/s");
    }

    #[test]
    fn in_a_narrow_line_entries_give_way_before_what_is_left_does() {
        let known = tree(15_700_000_000, Some((41_200_000_000, 40_001)));
        assert_eq!(
            render_line(&known, 1.24e9, LONG_AGO, 80),
            "copying home  38 %  15.7 of 41.2 GB  1.24 GB/s  left 21 s"
        );
        for width in 0..120 {
            assert!(columns(&render_line(&known, 1.24e9, LONG_AGO, width)) < width.max(1), "{width}");
        }
    }

    #[test]
    fn a_hostile_label_is_escaped() {
        let hostile = ProgressSample { label: "\x1b[2J".to_owned(), ..sample(None) };
        assert!(render_line(&hostile, 1.0, LONG_AGO, 80).starts_with("\\x1b[2J  "));
    }

    #[test]
    fn the_rate_is_that_of_the_last_seconds() {
        let mut recent = RecentRate::default();
        assert_eq!(recent.a_second(), 0.0);
        for second in 0..=20 {
            let slow_then_fast = if second <= 10 { second } else { 10 + (second - 10) * 100 };
            recent.note(Duration::from_secs(second), slow_then_fast);
        }
        assert_eq!(recent.a_second(), 100.0);
        recent.note(Duration::from_secs(21), 0);
        assert_eq!(recent.a_second(), 0.0);
    }

    #[test]
    fn where_nothing_was_counted_lately_the_rate_is_that_since_the_beginning() {
        let mut recent = RecentRate::default();
        for second in 0..=20 {
            recent.note(Duration::from_secs(second), if second < 2 { 0 } else { 600 });
        }
        assert_eq!(recent.a_second(), 30.0);
    }

    #[test]
    fn the_line_is_gone_at_the_end_and_the_end_does_not_wait() {
        let (screen, written) = fake::screen(Some(80));
        let messages = Messages::on(screen, Verbosity::Normal);
        let (drawn, was_drawn) = mpsc::sync_channel(64);
        let mut calls = 0;
        let progress = Progress::start(&messages, move || {
            calls += 1;
            // The third call comes after the first line was drawn.
            if calls == 3 {
                drawn.send(()).expect("the test waits");
            }
            sample(None)
        });
        was_drawn.recv().expect("progress is drawn");
        progress.finish();
        assert!(written.text().starts_with("\rdb.export  15.7 GB"), "{}", written.text());
        assert!(written.text().ends_with("\r\x1b[K"));
    }

    #[test]
    fn nobody_is_sampled_when_nobody_looks() {
        for (columns, verbosity) in [(None, Verbosity::Normal), (Some(80), Verbosity::Quiet)] {
            let (screen, written) = fake::screen(columns);
            let progress = Progress::start(&Messages::on(screen, verbosity), || panic!("nobody asked"));
            assert!(progress.thread.is_none());
            progress.finish();
            assert_eq!(written.text(), "");
        }
    }

    #[test]
    fn a_panicking_sample_ends_the_line_only() {
        let (screen, _written) = fake::screen(Some(80));
        let progress = Progress::start(&Messages::on(screen, Verbosity::Normal), || panic!("expected by the test"));
        progress.finish();
    }
}
