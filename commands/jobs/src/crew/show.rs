//! A census in words: one line of numbers, then a row a run and, below it, why it has not what it wants. Plain data in, text out.

use super::usage::{OwnSession, RunUsages};
use crew::budget::census::{Census, CensusRun, RunState};
use crew::budget::progress::{ProgressUnit, RunProgress};
use mh_kit::instrument::look::TextLook;
use terminal::{Align, TextTable, Tint};

/// A census and what is measured beside it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CensusView {
    /// Who holds what.
    pub census: Census,
    /// CPU use of each run.
    pub usage: RunUsages,
    /// Which runs were started in this terminal.
    pub own: OwnSession,
}

/// All of it as text.
pub fn as_text(seen: &CensusView, look: TextLook) -> String {
    let census = &seen.census;
    if census.runs.is_empty() {
        return "no run shares the cores now\n".to_owned();
    }
    let table = table(seen).no_wider_than(look.cut).to_string();
    let below = |line: &str| look.prose(&format!("         {line}\n"));
    let mut lines = table.lines();
    let heading = look.colour.paint(Tint::Bold, lines.next().unwrap_or_default());
    let mut text = format!("{}\n{heading}\n", look.prose(&numbers(census)));
    for (run, line) in census.runs.iter().zip(lines) {
        text.push_str(&format!("{line}\n"));
        // Lines of their own, so that neither is ever cut.
        let what = terminal::printable(&run.what);
        if !line.ends_with(&*what) {
            text.push_str(&below(&what));
        }
        if run.state != RunState::Working {
            text.push_str(&look.colour.paint(Tint::Warning, &below(&reason(run))));
        }
    }
    if census.runs.iter().any(|run| seen.own.has(run)) {
        text.push_str(&look.prose("* started in this terminal\n"));
    }
    text
}

/// `waits: normal runs keep one core each`.
pub fn reason(run: &CensusRun) -> String {
    format!("{}: {}", state(run.state), run.why)
}

/// The table of cores in one line.
pub fn numbers(census: &Census) -> String {
    let held = held(census);
    let lent: u32 = census.runs.iter().map(|run| run.lent).sum();
    let mut text = format!("{}: {held} held, {lent} lent, {} free", cores(census.cpus), census.free);
    if census.used_by_others > 0 {
        text.push_str(&format!(", {} used by others", census.used_by_others));
    }
    if census.above_capacity > 0 {
        text.push_str(&format!("; {} above capacity", census.above_capacity));
    }
    text
}

/// CPUs that runs hold.
pub fn held(census: &Census) -> u32 {
    census.runs.iter().map(|run| run.holds.saturating_sub(run.above_capacity)).sum()
}

/// Headings; the columns that give way on a narrow terminal, in this order, are [`DROPPED`].
const HEADINGS: [&str; 10] = ["PID", "CLASS", "CORES", "USEFUL", "%CPU", "DONE", "RATE", "LEFT", "RUNNING", "WHAT"];
const DROPPED: [usize; 3] = [3, 8, 1];

/// The runs, a row each.
pub fn table(seen: &CensusView) -> TextTable {
    let mut aligns = [Align::Right; HEADINGS.len()];
    (aligns[1], aligns[HEADINGS.len() - 1]) = (Align::Left, Align::Left);
    let mut table = TextTable::new(&aligns).indented(2).dropping(&DROPPED);
    table.row(HEADINGS);
    seen.census.runs.iter().for_each(|run| table.row(cells(run, seen)));
    table
}

/// A number of cores in words.
pub fn cores(count: usize) -> String {
    format!("{count} core{}", if count == 1 { "" } else { "s" })
}

fn cells(run: &CensusRun, seen: &CensusView) -> [String; HEADINGS.len()] {
    let or_not_known = |cell: Option<String>| cell.unwrap_or_else(|| "-".to_owned());
    let progress = paced(run);
    let what = terminal::printable(&run.what);
    [
        format!("{}{}", if seen.own.has(run) { "*" } else { "" }, run.pid),
        format!("{:?}", run.class).to_lowercase(),
        held_of_wanted(run),
        run.useful.to_string(),
        or_not_known(seen.usage.cores(run).map(|cores| format!("{:.0}", cores * 100.0))),
        or_not_known(progress.map(done)),
        or_not_known(progress.map(rate)),
        or_not_known(progress.and_then(|progress| progress.seconds_left()).map(short_time)),
        short_time(run.seconds),
        if run.state == RunState::Working { what.into_owned() } else { format!("({}) {what}", state(run.state)) },
    ]
}

/// How far it is. Jobs are published as they end, and no more while a long one runs: their rate is that of the whole run.
fn paced(run: &CensusRun) -> Option<RunProgress> {
    let progress = run.detail.progress?;
    let mean = progress.done.saturating_mul(1000).checked_div(run.seconds).unwrap_or(0);
    let rate_milli = if progress.unit == ProgressUnit::Jobs { mean } else { progress.rate_milli };
    Some(RunProgress { rate_milli, ..progress })
}

/// `40/64`: cores that it uses and cores that it wants; `0/2+1` with one that its runner or a make holds for it.
fn held_of_wanted(run: &CensusRun) -> String {
    match run.inherited + run.external {
        0 => format!("{}/{}", run.holds, run.wants),
        others => format!("{}/{}+{others}", run.holds, run.wants),
    }
}

/// `38 %`, or how much where nobody knows of how much.
fn done(progress: RunProgress) -> String {
    match (progress.total, progress.unit) {
        // Rounded down: all is done when all is done.
        (Some(total), _) => format!("{} %", u128::from(progress.done) * 100 / u128::from(total.max(1))),
        (None, ProgressUnit::Bytes) => terminal::bytes(progress.done),
        (None, _) => terminal::integer(progress.done),
    }
}

fn rate(progress: RunProgress) -> String {
    let a_second = progress.rate_milli as f64 / 1000.0;
    match progress.unit {
        ProgressUnit::Bytes => terminal::rate(a_second),
        _ if a_second >= 10.0 => format!("{a_second:.0}/s"),
        _ => format!("{a_second:.1}/s"),
    }
}

/// A time in few columns: `21s`, `3m55s`, `1h02m`, `2d03h`.
fn short_time(seconds: u64) -> String {
    let minutes = seconds / 60;
    match (seconds, minutes) {
        (0..60, _) => format!("{seconds}s"),
        (_, 0..60) => format!("{minutes}m{:02}s", seconds % 60),
        (_, 60..1440) => format!("{}h{:02}m", minutes / 60, minutes % 60),
        _ => format!("{}d{:02}h", minutes / 1440, minutes / 60 % 24),
    }
}

/// A state as people read it.
pub fn state(state: RunState) -> &'static str {
    match state {
        RunState::Working => "works",
        RunState::Waiting => "waits",
        RunState::Returning => "shares",
        RunState::Paused => "paused",
        RunState::Stopped => "stopped",
        RunState::Dead => "ended",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crew::budget::census::RunDetail;
    use crew::budget::{Priority, Weight};

    fn run(pid: u32, state: RunState, progress: Option<RunProgress>) -> CensusRun {
        CensusRun {
            pid,
            class: Priority::Idle,
            weight: Weight::default(),
            holds: 0,
            above_capacity: 0,
            lent: 0,
            inherited: 0,
            external: 0,
            wants: 64,
            useful: 64,
            seconds: 480,
            detail: RunDetail { progress, ..RunDetail::default() },
            what: "tar\u{1b}: archive /home to /backup/home.tar.zst".to_owned(),
            state,
            why: "high and normal runs want every core".to_owned(),
        }
    }

    fn seen(runs: Vec<CensusRun>) -> CensusView {
        let census = Census { cpus: 64, free: 6, used_by_others: 3, above_capacity: 1, runs };
        CensusView { census, ..CensusView::default() }
    }

    const HALF: RunProgress =
        RunProgress { unit: ProgressUnit::Bytes, done: 19_990, total: Some(40_000), rate_milli: 100_000 };

    #[test]
    fn a_run_that_waits_says_why_on_a_line_that_is_never_cut() {
        let text = as_text(&seen(vec![run(9001, RunState::Waiting, None)]), TextLook::PLAIN);
        assert!(text.starts_with("64 cores: 0 held, 0 lent, 6 free, 3 used by others; 1 above capacity\n"), "{text}");
        assert!(text.contains("\n         waits: high and normal runs want every core\n"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
        assert_eq!(as_text(&CensusView::default(), TextLook::PLAIN), "no run shares the cores now\n");
    }

    #[test]
    fn columns_give_way_to_what_a_run_does() {
        let seen = seen(vec![run(9001, RunState::Working, Some(HALF))]);
        let heading = |cut| {
            let text = as_text(&seen, TextLook { cut, ..TextLook::PLAIN });
            text.lines().nth(1).unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(heading(None), "PID CLASS CORES USEFUL %CPU DONE RATE LEFT RUNNING WHAT");
        assert_eq!(heading(Some(80)), "PID CLASS CORES %CPU DONE RATE LEFT RUNNING WHAT");
        assert_eq!(heading(Some(70)), "PID CLASS CORES %CPU DONE RATE LEFT WHAT");
        assert_eq!(heading(Some(69)), "PID CORES %CPU DONE RATE LEFT WHAT");
        let text = as_text(&seen, TextLook { cut: Some(80), ..TextLook::PLAIN });
        assert!(text.contains("0/64     -  49 %  100 B/s  3m20s    8m00s  tar"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("\n         tar\\x1b: archive /home to /backup/home.tar.zst\n"), "in full: {text}");
    }

    #[test]
    fn where_no_total_is_known_there_are_bytes_and_a_rate() {
        let progress = RunProgress { total: None, done: 41_200_000_000, ..HALF };
        assert_eq!((done(progress), progress.seconds_left()), ("41.2 GB".to_owned(), None));
        let jobs = RunProgress { unit: ProgressUnit::Jobs, done: 3, total: Some(4), rate_milli: 1500 };
        assert_eq!((done(jobs), rate(jobs)), ("75 %".to_owned(), "1.5/s".to_owned()));
        let long = RunProgress { rate_milli: 40_000, ..jobs };
        let listed = paced(&run(7, RunState::Working, Some(long)));
        assert_eq!(
            listed.map(|progress| progress.rate_milli),
            Some(6),
            "three in 480 s, whatever it was at the last end"
        );
        let all_but_one = RunProgress { done: 39_999, ..HALF };
        assert_eq!(done(all_but_one), "99 %");
        assert_eq!([21, 235, 3720, 183_600].map(short_time), ["21s", "3m55s", "1h02m", "2d03h"]);
    }
}
