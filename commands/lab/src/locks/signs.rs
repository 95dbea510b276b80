//! Sentences about what the rows show: only of rows that are there, and only of differences that are larger than rounds differ. Pure.

use super::LocksReport;
use super::show::{is_measured, lock_cost_ns, passes, span};
use lab::locks::MadeOf;
use lab::locks::row::LockRow;
use mh_kit::report::counted;

/// All that can be said.
pub fn signs(report: &LocksReport) -> Vec<String> {
    let measured: Vec<LockRow> = report.rows.iter().filter(|row| is_measured(report, row)).cloned().collect();
    let rows = &measured;
    [
        uncontended(rows),
        spinning_beside_sleeping(rows, "short"),
        spinning_beside_sleeping(rows, "oversubscribed"),
        herd(rows),
        hand_off(rows),
        preempted(rows),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// How two rows compare.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RowsCompared {
    /// So many times as often: the rounds do not overlap.
    Times(f64),
    /// The rounds overlap.
    CannotTell,
}

/// Fewer rounds do not show how far they differ.
const ROUNDS_MIN: usize = 3;

pub(super) fn compare(row: &LockRow, beside: &LockRow) -> RowsCompared {
    let are_enough = row.rounds >= ROUNDS_MIN && beside.rounds >= ROUNDS_MIN;
    let is_apart = row.per_s.low > beside.per_s.high || row.per_s.high < beside.per_s.low;
    match are_enough && is_apart && beside.per_s.median > 0.0 {
        true => RowsCompared::Times(row.per_s.median / beside.per_s.median),
        false => RowsCompared::CannotTell,
    }
}

/// Why rows are not compared, if they have too few rounds.
pub(super) fn too_few_rounds(row: &LockRow, beside: &LockRow) -> Option<String> {
    let rounds = row.rounds.min(beside.rounds);
    let has_few = rounds < ROUNDS_MIN;
    has_few.then(|| format!("not compared: {} (-n {ROUNDS_MIN})", counted(rounds as u64, "round")))
}

/// The row of a lock in a situation, with the most threads if there are several.
pub(super) fn row_of<'a>(rows: &'a [LockRow], scenario: &str, lock: &str) -> Option<&'a LockRow> {
    rows.iter().filter(|row| row.scenario == scenario && row.lock == lock).max_by_key(|row| row.threads)
}

fn uncontended(rows: &[LockRow]) -> Option<String> {
    let alone: Vec<LockRow> = rows.iter().filter(|row| row.scenario == "uncontended").cloned().collect();
    let mut costs: Vec<(f64, &LockRow)> =
        alone.iter().filter_map(|row| Some((lock_cost_ns(&alone, row)?, row))).collect();
    costs.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (&(least_ns, least), &(most_ns, most)) = (costs.first()?, costs.last()?);
    (least.lock != most.lock).then(|| {
        format!(
            "alone, locks cost {least_ns:.1} ns ({}) to {most_ns:.1} ns ({}): without contention the choice hardly matters",
            least.lock, most.lock
        )
    })
}

fn spinning_beside_sleeping(rows: &[LockRow], scenario: &str) -> Option<String> {
    let sleeping = row_of(rows, scenario, "futex")?;
    let spins = |row: &&LockRow| {
        row.scenario == scenario && row.threads == sleeping.threads && row.made_of == Some(MadeOf::Atomics)
    };
    let spinning = || rows.iter().filter(spins);
    let best = spinning().max_by(|one, other| one.per_s.median.total_cmp(&other.per_s.median))?;
    let worst = spinning().min_by(|one, other| one.per_s.median.total_cmp(&other.per_s.median))?;
    let beside = |row: &LockRow| match compare(row, sleeping) {
        RowsCompared::Times(times) => format!("{} {times:.2} times as often", row.lock),
        RowsCompared::CannotTell => format!("{} no differently, as far as can be seen", row.lock),
    };
    let names = match (too_few_rounds(best, sleeping), best.lock == worst.lock) {
        (Some(why), _) => why,
        (None, true) => beside(best),
        (None, false) => format!("{}; {}", beside(best), beside(worst)),
    };
    Some(format!(
        "{scenario}, {} threads on {} CPUs: sleeping at once passes the lock {}/s (futex); spinning: {names}",
        sleeping.threads,
        sleeping.cpus,
        passes(sleeping)
    ))
}

fn most_crowded<'a>(rows: &'a [LockRow], lock: &str, beside: &str) -> Option<(&'a LockRow, &'a LockRow)> {
    let pairs = rows.iter().filter(|row| row.lock == lock && row.scenario != "readers").filter_map(|row| {
        let is_partner =
            |other: &&LockRow| other.lock == beside && other.scenario == row.scenario && other.threads == row.threads;
        Some((row, rows.iter().find(is_partner)?))
    });
    pairs.max_by_key(|(row, _)| (row.threads, ["herd", "long"].contains(&row.scenario)))
}

fn herd(rows: &[LockRow]) -> Option<String> {
    let (all, one) = most_crowded(rows, "futex-all", "futex").filter(|(all, _)| all.threads > 1)?;
    let wasted = |row: &LockRow| row.costs.as_ref().and_then(|costs| costs.wasted_wakes);
    let passes = match compare(all, one) {
        _ if too_few_rounds(all, one).is_some() => format!("is {}", too_few_rounds(all, one).unwrap_or_default()),
        RowsCompared::Times(times) => format!("passes the lock {times:.2} times as often"),
        RowsCompared::CannotTell => "passes the lock no differently, as far as can be seen".to_owned(),
    };
    Some(format!(
        "{}, {} threads: waking all instead of one {passes}, with {:.2} instead of {:.2} wasted wake-ups an acquisition",
        all.scenario,
        all.threads,
        wasted(all)?,
        wasted(one)?
    ))
}

fn hand_off(rows: &[LockRow]) -> Option<String> {
    let (given, raced) = most_crowded(rows, "handoff", "futex").filter(|(given, _)| given.threads > 1)?;
    let (given_wait, raced_wait) = (given.wait?, raced.wait?);
    let passes = match compare(given, raced) {
        _ if too_few_rounds(given, raced).is_some() => {
            format!("is {}", too_few_rounds(given, raced).unwrap_or_default())
        }
        RowsCompared::Times(times) => format!("passes it {times:.2} times as often"),
        RowsCompared::CannotTell => "passes it no differently, as far as can be seen".to_owned(),
    };
    Some(format!(
        "{}, {} threads: handing the lock to the next in line {passes}; the longest wait is {} instead of {}, fairness {:.2} \
         instead of {:.2}",
        given.scenario,
        given.threads,
        span(given_wait.longest_ns as f64),
        span(raced_wait.longest_ns as f64),
        given.fairness?,
        raced.fairness?
    ))
}

fn preempted(rows: &[LockRow]) -> Option<String> {
    let (spinning, adaptive) = (row_of(rows, "preempted", "tas-pause")?, row_of(rows, "preempted", "adaptive")?);
    let cpu_ns = |row: &LockRow| row.costs.as_ref().map(|costs| costs.cpu_ns);
    Some(format!(
        "holders that leave their CPUs: waiters that spin on burn {} of CPU time an acquisition (tas-pause), those that give up {} (adaptive)",
        span(cpu_ns(spinning)?),
        span(cpu_ns(adaptive)?)
    ))
}

#[cfg(test)]
mod tests {
    use super::super::show::tests::{report, row};
    use super::*;

    fn with_wasted(row: LockRow, wasted: f64) -> LockRow {
        let costs = row.costs.map(|costs| lab::locks::row::LockCosts { wasted_wakes: Some(wasted), ..costs });
        LockRow { costs, ..row }
    }

    #[test]
    fn rounds_that_overlap_tell_nothing() {
        let one = row("short", "futex", 2, 100.0);
        assert_eq!(compare(&one, &row("short", "mcs", 2, 101.0)), RowsCompared::CannotTell);
        assert_eq!(compare(&one, &row("short", "mcs", 2, 200.0)), RowsCompared::Times(0.5));
        assert_eq!(compare(&one, &row("short", "mcs", 2, 0.0)), RowsCompared::CannotTell);
        let once = LockRow { rounds: 1, ..row("short", "mcs", 2, 200.0) };
        assert_eq!((compare(&one, &once), compare(&once, &one)), (RowsCompared::CannotTell, RowsCompared::CannotTell));
    }

    #[test]
    fn the_herd_is_told_of_the_most_threads() {
        let rows = vec![
            row("short", "futex", 2, 100.0),
            row("short", "futex-all", 2, 90.0),
            with_wasted(row("herd", "futex", 64, 100.0), 0.5),
            with_wasted(row("herd", "futex-all", 64, 40.0), 12.0),
            row("oversubscribed", "futex", 64, 100.0),
            row("oversubscribed", "futex-all", 64, 70.0),
        ];
        let signs = signs(&report(rows)).join("\n");
        let expected = "herd, 64 threads: waking all instead of one passes the lock 0.40 times as often, with 12.00 instead of \
                        0.50 wasted wake-ups";
        assert!(signs.contains(expected), "{signs}");
    }

    #[test]
    fn spinning_is_held_against_sleeping_in_the_same_crowd() {
        let rows = vec![
            row("short", "futex", 2, 100.0),
            row("short", "mcs", 2, 300.0),
            row("short", "ticket", 2, 50.0),
            row("short", "tas", 4, 900.0),
        ];
        let signs = signs(&report(rows)).join("\n");
        assert!(
            signs.contains("mcs 3.00 times as often; ticket 0.50 times as often") && !signs.contains("tas 9"),
            "{signs}"
        );
    }

    #[test]
    fn one_round_is_not_compared() {
        let once = |lock: &str| LockRow { rounds: 1, ..row("short", lock, 2, 300.0) };
        let signs = signs(&report(vec![once("futex"), once("clh"), once("handoff")])).join("\n");
        assert!(signs.contains("(futex); spinning: not compared: 1 round (-n 3)"), "{signs}");
        assert!(signs.contains("the next in line is not compared: 1 round (-n 3); the longest"), "{signs}");
    }

    #[test]
    fn nothing_is_said_of_rows_that_are_not_there() {
        assert_eq!(signs(&report(Vec::new())), Vec::<String>::new());
        assert_eq!(signs(&report(vec![row("preempted", "adaptive", 4, 1.0)])), Vec::<String>::new());
    }
}
