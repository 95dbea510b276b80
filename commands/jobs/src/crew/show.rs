//! A census in words: one line of numbers, then a row a run. Plain data in, text out.

use crew::budget::census::{Census, CensusRun, RunState};
use std::time::Duration;
use terminal::{Align, TextTable};

/// All of it as text.
pub fn as_text(census: &Census) -> String {
    if census.runs.is_empty() {
        return "no run shares the cores now\n".to_owned();
    }
    format!("{}\n{}", numbers(census), table(census))
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

/// The runs, a row each.
pub fn table(census: &Census) -> TextTable {
    let mut table = TextTable::new(&[
        Align::Right,
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Left,
    ])
    .indented(2);
    table.row(["PID", "CLASS", "HOLDS", "WANTS", "USEFUL TO", "RUNNING", "WHAT"]);
    census.runs.iter().for_each(|run| table.row(cells(run)));
    table
}

/// A number of cores in words.
pub fn cores(count: usize) -> String {
    format!("{count} core{}", if count == 1 { "" } else { "s" })
}

fn cells(run: &CensusRun) -> [String; 7] {
    let what = terminal::printable(&run.what).into_owned();
    let what =
        if run.state == RunState::Working { what } else { format!("{what}     {}: {}", state(run.state), run.why) };
    [
        run.pid.to_string(),
        format!("{:?}", run.class).to_lowercase(),
        holds(run),
        run.wants.to_string(),
        run.useful.to_string(),
        terminal::duration_coarse(Duration::from_secs(run.seconds)),
        what,
    ]
}

/// Hands of its own, and those it uses that are counted elsewhere.
fn holds(run: &CensusRun) -> String {
    match run.inherited + run.external {
        0 => run.holds.to_string(),
        others => format!("{} +{others}", run.holds),
    }
}

/// A state as people read it.
pub fn state(state: RunState) -> String {
    format!("{state:?}").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crew::budget::{Priority, Weight};

    #[test]
    fn a_run_that_waits_says_why() {
        let run = CensusRun {
            pid: 9001,
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
            is_job_slots: false,
            what: "tar\u{1b}".to_owned(),
            state: RunState::Waiting,
            why: "runs of a higher class have the CPUs".to_owned(),
        };
        let census = Census { cpus: 64, free: 6, used_by_others: 3, above_capacity: 1, runs: vec![run] };
        let text = as_text(&census);
        assert!(text.starts_with("64 cores: 0 held, 0 lent, 6 free, 3 used by others; 1 above capacity\n"), "{text}");
        assert!(text.contains("waiting: runs of a higher class") && !text.contains('\u{1b}'), "{text}");
        assert_eq!(as_text(&Census::default()), "no run shares the cores now\n");
    }
}
