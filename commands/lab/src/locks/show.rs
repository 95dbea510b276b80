//! What was measured, for people and as comma-separated values. Pure.

use super::{Ended, LocksReport, advice_text, signs};
use lab::locks::cell::LockSubject;
use lab::locks::row::{LockRow, WaitFigures};
use lab::locks::scenario::{Crowd, Scenario, scenario_named};
use lab::locks::{MadeOf, lock_named};
use mh_kit::instrument::look::TextLook;
use std::fmt::Write;
use std::time::Duration;
use terminal::{Align, TextTable, Tint};

/// A median that another run would not find again within this is not worth a third digit.
pub(super) const STEADY: f64 = 0.03;

/// The whole text: verdict, machine, a table for each situation, what they show, settings.
pub fn as_text(report: &LocksReport, look: TextLook) -> String {
    let mut text = look.verdict(Tint::Bold, &verdict(report));
    text.push_str(&look.prose(&surroundings(report)));
    for rows in report.rows.chunk_by(|one, next| (one.scenario, one.threads) == (next.scenario, next.threads)) {
        let Some(scenario) = rows.first().and_then(|row| scenario_named(row.scenario)) else { continue };
        let heading = look.prose(&heading(scenario, &rows[0], report));
        write!(text, "\n{heading}{}", look.table(table(scenario, rows, report, look))).expect("writing to a string");
        not_measured_line(scenario, rows, report).iter().for_each(|line| text.push_str(&look.prose(line)));
    }
    let signs = signs::signs(report);
    if !signs.is_empty() {
        text.push_str("\nwhat the rows show\n");
        signs.iter().for_each(|sign| text.push_str(&item(look, sign)));
    }
    if why_no_settings(report).is_none() {
        text.push_str("\nsettings that follow\n");
        advice_text::lines(report).iter().for_each(|line| text.push_str(&item(look, line)));
    }
    text.push_str("\nnot known\n");
    advice_text::not_known(report).iter().for_each(|line| text.push_str(&item(look, line)));
    text
}

/// A sentence that is one of several.
fn item(look: TextLook, sentence: &str) -> String {
    let narrower = TextLook { columns: look.columns.map(|columns| columns.saturating_sub(4).max(20)), ..look };
    let broken = narrower.prose(sentence);
    let lines: Vec<&str> = broken.lines().collect();
    format!("  - {}\n", lines.join("\n    "))
}

/// A time with three digits and its unit.
pub(super) fn span(nanoseconds: f64) -> String {
    terminal::duration(Duration::from_nanos(nanoseconds.round().max(0.0) as u64))
}

/// What a person came for.
fn verdict(report: &LocksReport) -> String {
    if let Some(why) = why_no_settings(report) {
        return format!("no settings: {why}\n");
    }
    let found = &report.calibration;
    let quiet = if others_too_busy(report).is_some() { "; NOT QUIET: another run may find another number" } else { "" };
    format!(
        "spin at most {} before a sleep: a PAUSE takes {:.1} ns here, a wake-up {}{quiet}\n",
        about_pauses(report.advice.spin_tries),
        found.pause_ns,
        span(found.wake_latency_ns)
    )
}

fn why_no_settings(report: &LocksReport) -> Option<&'static str> {
    let is_any_measured = || report.rows.iter().any(|row| is_measured(report, row));
    match report.ended {
        Ended::Signal if report.rounds_whole == 0 => Some("a signal came before a round was whole"),
        _ if report.rows.is_empty() || is_any_measured() => None,
        _ => Some("rounds were too short for such holds (more --seconds, or a shorter --hold)"),
    }
}

/// Whether nothing in a row is for want of time: a lock that nobody has passed in a round that was long enough stands still.
pub(super) fn is_measured(report: &LocksReport, row: &LockRow) -> bool {
    let Some(scenario) = scenario_named(row.scenario) else { return true };
    let hold = scenario.longest_hold(Duration::from_nanos(report.hold_ns));
    // An acquisition counts if it begins and ends in the round: the holds of all others before it, and its own.
    let turn = hold.saturating_mul(u32::try_from(row.threads).unwrap_or(u32::MAX)).saturating_mul(2);
    row.per_s.median > 0.0 || turn < Duration::from_nanos(row.window_ns)
}

/// Names rows whose rounds were too short.
fn not_measured_line(scenario: &Scenario, rows: &[LockRow], report: &LocksReport) -> Option<String> {
    let names: Vec<&str> = rows.iter().filter(|row| !is_measured(report, row)).map(|row| row.lock.as_str()).collect();
    let first = rows.first().filter(|_| !names.is_empty())?;
    let hold = scenario.longest_hold(Duration::from_nanos(report.hold_ns));
    Some(format!(
        "not measured: {}; a round of {} is too short for holds of {} by {} threads\n",
        names.join(", "),
        span(first.window_ns as f64),
        terminal::duration(hold),
        first.threads
    ))
}

/// Two digits: another run finds the third one different.
fn about_pauses(count: u32) -> String {
    let step = 10_u32.pow(count.checked_ilog10().unwrap_or(0).saturating_sub(1));
    match step {
        1 => pauses(count),
        _ => format!("about {}", pauses(count.saturating_add(step / 2) / step * step)),
    }
}

pub(super) fn pauses(count: u32) -> String {
    if count == 1 { "1 PAUSE".to_owned() } else { format!("{} PAUSEs", terminal::integer(count.into())) }
}

fn surroundings(report: &LocksReport) -> String {
    let found = &report.calibration;
    let plural = if report.cpus == 1 { "" } else { "s" };
    let counter = match found.counter_is_steady {
        Some(true) => "its counter keeps its pace",
        Some(false) => "its counter may change its pace, so counts are not times",
        None => "whether its counter keeps its pace is not known",
    };
    let apart = (found.pause_by_clock_ns / found.pause_ns - 1.0).abs() * 100.0;
    let handover = match found.handover_ns {
        Some(handover_ns) => format!("a cache line reaches the other CPU in {}", span(handover_ns)),
        None => "one CPU: nothing reaches another".to_owned(),
    };
    let mut text = format!(
        "{} CPU{plural}; a PAUSE is {:.1} counts ({counter}; by the clock alone {apart:.1} % apart); {handover}; a sleep and its wake-up \
         take {} of CPU time\n",
        report.cpus,
        found.pause_counts,
        span(found.sleep_cpu_ns)
    );
    text.push_str(&rounds_text(report));
    text
}

fn rounds_text(report: &LocksReport) -> String {
    let rounds = report.rows.iter().map(|row| row.rounds + row.rounds_disturbed).max().unwrap_or(0);
    let restless = report.rows.iter().filter(|row| row.rounds < 2 || row.per_s.spread() > STEADY).count();
    let end = match report.ended {
        Ended::Done => "",
        Ended::Signal => ", ended by a signal",
        Ended::Time => ", fewer than asked for since they took too long",
    };
    let disturbed: usize = report.rows.iter().map(|row| row.rounds_disturbed).sum();
    let left_out = match disturbed {
        0 => String::new(),
        count => format!("; {count} rounds of rows left out, as other programs took a thread's CPU"),
    };
    let plural = if rounds == 1 { "" } else { "s" };
    let differ = match rounds {
        0 | 1 => "how far rounds differ is not known".to_owned(),
        _ => format!("{restless} of {} rows differ by more than 3 % (+-) from round to round", report.rows.len()),
    };
    let mut text = format!("{rounds} round{plural} in turns, {:.0} s{end}; {differ}{left_out}\n", report.took_s);
    match (report.others_cpus, others_too_busy(report)) {
        (_, Some(others)) => {
            let line = format!(
                "NOT QUIET: other programs, or the hypervisor, took {others:.2} CPUs of the machine meanwhile; another run may differ by more than 3 %\n"
            );
            text.push_str(&line);
        }
        (Some(_), None) => {}
        (None, None) => text.push_str("how busy other programs were is not known\n"),
    }
    text
}

/// CPUs that others took, if that is too much for quiet figures.
fn others_too_busy(report: &LocksReport) -> Option<f64> {
    report.others_cpus.filter(|others| *others > STEADY * report.cpus as f64)
}

fn heading(scenario: &Scenario, row: &LockRow, report: &LocksReport) -> String {
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let hold = scenario.hold(Duration::from_nanos(report.hold_ns));
    let placed = if row.pinned { ", each on its own" } else { "" };
    let is_crowd = scenario.crowd != Crowd::Many || row.threads > row.cpus;
    let no_crowd = if is_crowd { "" } else { "; NO CROWD: there is a CPU for each thread" };
    format!(
        "{}: {} thread{} on {} CPU{}{placed}; {} held, {} between; {}{no_crowd}\n",
        scenario.name,
        row.threads,
        plural(row.threads),
        row.cpus,
        plural(row.cpus),
        terminal::duration(hold),
        terminal::duration(scenario.think(Duration::from_nanos(report.think_ns))),
        scenario.about
    )
}

/// From so many columns on there is room for what each lock is.
const ABOUT_FROM: usize = 120;

fn table(scenario: &Scenario, rows: &[LockRow], report: &LocksReport, look: TextLook) -> TextTable {
    let with_about = look.cut.is_some_and(|columns| columns >= ABOUT_FROM);
    if rows.iter().any(|row| row.made_of.is_none()) {
        return uncontended_table(rows, with_about);
    }
    let mut sorted: Vec<&LockRow> = rows.iter().collect();
    sorted.sort_by(|one, other| other.per_s.median.total_cmp(&one.per_s.median));
    let mut aligns = vec![Align::Left];
    aligns.extend([Align::Right; 9]);
    aligns.push(Align::Left);
    let mut table = TextTable::new(&aligns).indented(2).dropping(&[8, 6]);
    let middle = if scenario.has_readers() { "WRITER P99" } else { "WASTED" };
    table.row(["LOCK", "PER S", "+-%", "P50", "P99", "MAX", "FAIR", middle, "SLEEPS", "CPU"]);
    for row in sorted {
        let about = with_about.then(|| about(&row.lock).to_owned());
        table.row(cells(scenario, row, is_measured(report, row)).into_iter().chain(about));
    }
    table
}

fn cells(scenario: &Scenario, row: &LockRow, is_measured: bool) -> Vec<String> {
    let none = || "-".to_owned();
    let wait = |pick: fn(&WaitFigures) -> f64| row.wait.as_ref().map_or_else(none, |wait| span(pick(wait)));
    let costs = row.costs.as_ref();
    let each = |value: Option<f64>| value.map_or_else(none, per_acquisition);
    let middle = match scenario.has_readers() {
        true => row.writer_wait.map_or_else(none, |wait| span(wait.p99_ns)),
        false => each(costs.and_then(|costs| costs.wasted_wakes)),
    };
    vec![
        row.lock.clone(),
        if is_measured { passes(row).replace("fewer than ", "<") } else { none() },
        if row.per_s.high > 0.0 { spread(row) } else { none() },
        wait(|wait| wait.p50_ns),
        wait(|wait| wait.p99_ns),
        wait(|wait| wait.longest_ns as f64),
        row.fairness.map_or_else(none, |fairness| format!("{fairness:.2}")),
        middle,
        each(costs.map(|costs| costs.sleeps)),
        costs.map_or_else(none, |costs| span(costs.cpu_ns)),
    ]
}

fn about(lock: &str) -> &'static str {
    lock_named(lock).map_or("as MySQL 8 spins, with this innodb_spin_wait_pause_multiplier", |kind| kind.about)
}

/// One thread alone never waits: what is left is what the lock costs, beside the same without one.
fn uncontended_table(rows: &[LockRow], with_about: bool) -> TextTable {
    let aligns = [Align::Left, Align::Right, Align::Right, Align::Right, Align::Left];
    let mut table = TextTable::new(&aligns).indented(2);
    table.row(["LOCK", "COST ns", "PER S", "+-%"]);
    let mut sorted: Vec<&LockRow> = rows.iter().collect();
    sorted.sort_by(|one, other| other.per_s.high.total_cmp(&one.per_s.high));
    for row in sorted {
        let about = if row.made_of.is_some() { about(&row.lock) } else { "the same without a lock" };
        let cells = [
            row.lock.clone(),
            lock_cost_ns(rows, row).map_or("-".to_owned(), |cost_ns| format!("{cost_ns:.1}")),
            rate(row.per_s.median),
            spread(row),
        ];
        table.row(cells.into_iter().chain(with_about.then(|| about.to_owned())));
    }
    table
}

/// What a lock costs that nobody else wants, by the quickest rounds: a round of one thread can only be slowed down by others. None for the row
/// without a lock, and for one that is no slower.
pub(super) fn lock_cost_ns(rows: &[LockRow], row: &LockRow) -> Option<f64> {
    let nothing = LockSubject::Nothing.name();
    let without = rows.iter().find(|other| other.lock == nothing)?;
    let is_slower = row.lock != nothing && row.per_s.high > 0.0 && row.per_s.high < without.per_s.high;
    is_slower.then(|| 1e9 / row.per_s.high - 1e9 / without.per_s.high)
}

/// In percent; one round differs from nothing.
fn spread(row: &LockRow) -> String {
    let percent = row.per_s.spread() * 100.0;
    match row.rounds {
        0 | 1 => "-".to_owned(),
        // Rounds without an acquisition, and one with some.
        _ if percent > 999.0 => ">999".to_owned(),
        _ => format!("{percent:.0}"),
    }
}

/// A number a second, with three digits.
pub(super) fn rate(per_s: f64) -> String {
    let (value, unit) = match per_s {
        rate if rate >= 999_500.0 => (rate / 1e6, " M"),
        rate if rate >= 999.5 => (rate / 1e3, " k"),
        rate => (rate, ""),
    };
    format!("{}{unit}", three_digits(value))
}

/// Acquisitions a second; of a lock that stood still, what they were fewer than.
pub(super) fn passes(row: &LockRow) -> String {
    match row.per_s.median > 0.0 || row.window_ns == 0 {
        true => rate(row.per_s.median),
        false => format!("fewer than {}", rate(1e9 / row.window_ns as f64)),
    }
}

fn per_acquisition(count: f64) -> String {
    if count < 0.005 { "0".to_owned() } else { three_digits(count) }
}

fn three_digits(value: f64) -> String {
    match value {
        size if size < 9.995 => format!("{size:.2}"),
        size if size < 99.95 => format!("{size:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// As in JSON.
fn made_of_text(made_of: MadeOf) -> &'static str {
    match made_of {
        MadeOf::Atomics => "atomics",
        MadeOf::Futex => "futex",
        MadeOf::Pthread => "pthread",
        MadeOf::Std => "std",
        MadeOf::ParkingLot => "parking_lot",
    }
}

/// The rows, one a line, after a line of names.
pub fn as_csv(report: &LocksReport) -> String {
    let mut text = "scenario,lock,threads,cpus,pinned,rounds,per_s,per_s_low,per_s_high,p50_ns,p99_ns,longest_ns,writer_p99_ns,fairness,\
                    cpu_ns,cpu_over_held,sleeps,preemptions,wasted_wakes,made_of\n"
        .to_owned();
    for row in &report.rows {
        let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.4}"));
        let costs = row.costs.as_ref();
        let figures = [
            Some(row.per_s.median),
            Some(row.per_s.low),
            Some(row.per_s.high),
            row.wait.map(|wait| wait.p50_ns),
            row.wait.map(|wait| wait.p99_ns),
            row.wait.map(|wait| wait.longest_ns as f64),
            row.writer_wait.map(|wait| wait.p99_ns),
            row.fairness,
            costs.map(|costs| costs.cpu_ns),
            costs.map(|costs| costs.cpu_over_held),
            costs.map(|costs| costs.sleeps),
            costs.map(|costs| costs.preemptions),
            costs.and_then(|costs| costs.wasted_wakes),
        ];
        let LockRow { scenario, lock, threads, cpus, pinned, rounds, .. } = row;
        let figures = figures.map(number).join(",");
        let made_of = row.made_of.map_or("", made_of_text);
        writeln!(text, "{scenario},{lock},{threads},{cpus},{pinned},{rounds},{figures},{made_of}")
            .expect("writing to a string");
    }
    text
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use lab::locks::advice::{MariaDbAdvice, MySqlAdvice, PostgresSpins, SpinAdvice};
    use lab::locks::calibration::Calibration;
    use lab::locks::row::{LockCosts, Middle};

    /// A row of a lock that passes so often, rounds apart by 1 %.
    pub fn row(scenario: &'static str, lock: &str, threads: usize, per_s: f64) -> LockRow {
        let made_of = match lock {
            "none" => None,
            _ => Some(lock_named(lock).map_or(MadeOf::Futex, |kind| kind.made_of)),
        };
        LockRow {
            lock: lock.to_owned(),
            made_of,
            scenario,
            threads,
            cpus: 2,
            pinned: threads <= 2,
            rounds: 5,
            rounds_disturbed: 0,
            window_ns: 16_000_000,
            per_s: Middle { median: per_s, low: per_s * 0.99, high: per_s * 1.01 },
            wait: Some(WaitFigures { p50_ns: 120.0, p99_ns: 4_500.0, longest_ns: 7_900_000 }),
            writer_wait: None,
            fairness: Some(0.98),
            costs: Some(LockCosts {
                cpu_ns: 310.0,
                cpu_over_held: 3.1,
                sleeps: 0.25,
                preemptions: 0.0,
                wasted_wakes: (made_of == Some(MadeOf::Futex)).then_some(0.125),
            }),
        }
    }

    pub fn report(rows: Vec<LockRow>) -> LocksReport {
        let mysql = MySqlAdvice {
            innodb_spin_wait_delay: 6,
            innodb_spin_wait_pause_multiplier: 3,
            innodb_sync_spin_loops: 30,
            spins_ns: 7_200.0,
            default_spins_ns: 120_000.0,
        };
        let mariadb = MariaDbAdvice {
            pauses_per_delay: 25,
            innodb_spin_wait_delay: 1,
            innodb_sync_spin_loops: 9,
            spins_ns: 6_000.0,
            default_spins_ns: 80_000.0,
        };
        let postgresql =
            PostgresSpins { shortest_ns: 267.0, first_ns: 2_670.0, longest_ns: 26_700.0, sleep_ns: 1_000_000 };
        LocksReport {
            cpus: 2,
            shares_cores: false,
            calibration: Calibration::of_parts(2.445, 26.7, 80.0, 6_200.0),
            hold_ns: 100,
            think_ns: 1_000,
            rounds: 5,
            ended: Ended::Done,
            rounds_whole: 5,
            signal: None,
            took_s: 27.0,
            others_cpus: Some(0.01),
            rows,
            advice: SpinAdvice { spin_tries: 232, mysql, mariadb, postgresql },
        }
    }

    #[test]
    fn a_situation_is_a_table_with_the_quickest_first() {
        let report = report(vec![row("short", "futex", 2, 1.5e6), row("short", "mcs", 2, 4.12e6)]);
        let text = as_text(&report, TextLook::PLAIN);
        let first = text.lines().next().expect("a verdict");
        assert_eq!(first, "spin at most about 230 PAUSEs before a sleep: a PAUSE takes 26.7 ns here, a wake-up 6.2 us");
        assert!(text.contains("\nshort: 2 threads on 2 CPUs, each on its own; 100 ns held, 1 us between; "), "{text}");
        let at = |name: &str| text.find(&format!("\n  {name} ")).unwrap_or_else(|| panic!("{name}: {text}"));
        assert!(at("LOCK") < at("mcs") && at("mcs") < at("futex"), "{text}");
        assert!(text.contains("4.12 M    1  120 ns  4.5 us  7.9 ms  0.98"), "{text}");
        assert!(!text.contains("NOT QUIET") && text.contains("0 of 2 rows differ"), "{text}");
    }

    #[test]
    fn a_machine_that_others_use_is_named() {
        let busy =
            LocksReport { others_cpus: Some(0.5), ended: Ended::Signal, ..report(vec![row("hog", "mcs", 2, 1.0)]) };
        let text = as_text(&busy, TextLook::PLAIN);
        assert!(
            text.contains("NOT QUIET")
                && text.contains("took 0.50 CPUs of the machine")
                && text.contains("ended by a signal"),
            "{text}"
        );
        let dark = LocksReport { others_cpus: None, ..report(Vec::new()) };
        assert!(as_text(&dark, TextLook::PLAIN).contains("how busy other programs were is not known"));
    }

    #[test]
    fn what_was_not_measured_is_named_and_gives_no_settings() {
        let still = |scenario, lock: &str, threads| LockRow { wait: None, ..row(scenario, lock, threads, 0.0) };
        let long = LocksReport { hold_ns: 5_000_000, ..report(vec![still("short", "handoff", 2)]) };
        let text = as_text(&long, TextLook::PLAIN);
        assert!(text.starts_with("no settings: rounds were too short for such holds"), "{text}");
        assert!(
            text.contains("not measured: handoff; a round of 16 ms is too short for holds of 5 ms by 2 threads"),
            "{text}"
        );
        assert!(!text.contains("settings that follow") && !text.contains("0.00  "), "{text}");
        // Here the round was long enough: the lock stands still.
        let text = as_text(&report(vec![still("oversubscribed", "mcs", 64)]), TextLook::PLAIN);
        assert!(text.contains("<62.5    -") && text.contains("settings that follow"), "{text}");
    }

    #[test]
    fn a_signal_before_a_round_was_whole_gives_no_settings() {
        let rows = vec![row("short", "mcs", 2, 1.0)];
        let early = LocksReport { ended: Ended::Signal, rounds_whole: 0, signal: Some(2), ..report(rows) };
        let text = as_text(&early, TextLook::PLAIN);
        assert!(text.starts_with("no settings: a signal came") && !text.contains("settings that follow"), "{text}");
        assert_eq!(super::super::outcome(&early).exit_code(), 130);
        assert_eq!(super::super::outcome(&LocksReport { rounds_whole: 1, ..early }).exit_code(), 0);
    }

    #[test]
    fn the_first_line_has_two_digits() {
        let shown = [1, 99, 232, 1_089, 12_499].map(about_pauses);
        assert_eq!(shown, ["1 PAUSE", "99 PAUSEs", "about 230 PAUSEs", "about 1,100 PAUSEs", "about 12,000 PAUSEs"]);
        let busy = LocksReport { others_cpus: Some(0.5), ..report(Vec::new()) };
        assert!(verdict(&busy).contains("NOT QUIET") && !verdict(&report(Vec::new())).contains("NOT QUIET"));
    }

    #[test]
    fn lines_fit_on_a_terminal_of_80_columns() {
        let rows = vec![
            row("uncontended", "none", 1, 5e6),
            row("uncontended", "pthread-spin", 1, 4e6),
            row("short", "pthread-spin", 2, 4.12e6),
            row("short", "innodb x50", 2, 4.1e6),
            row("short", "innodb x3", 2, 2.1e6),
            LockRow { writer_wait: None, ..row("readers", "parking_lot-rw", 2, 1e6) },
        ];
        let look = TextLook { columns: Some(80), cut: Some(80), ..TextLook::PLAIN };
        let text = as_text(&report(rows), look);
        assert!(text.lines().all(|line| terminal::columns(line) <= 80), "{text}");
        // Nothing of a table is cut.
        assert!(!text.contains(".."), "{text}");
        let wide = TextLook { columns: Some(200), cut: Some(200), ..TextLook::PLAIN };
        assert!(as_text(&report(vec![row("short", "mcs", 2, 1.0)]), wide).contains("MCS queue with PAUSE"));
    }

    #[test]
    fn what_a_lock_costs_alone_is_beside_no_lock() {
        let rows = [row("uncontended", "none", 1, 5e6), row("uncontended", "tas", 1, 4e6)];
        let cost_ns = lock_cost_ns(&rows, &rows[1]).expect("both are there");
        assert!((cost_ns - 50.0 / 1.01).abs() < 1e-6, "{cost_ns}");
        assert_eq!((lock_cost_ns(&rows, &rows[0]), lock_cost_ns(&rows[1..], &rows[1])), (None, None));
        let as_quick = [row("uncontended", "none", 1, 5e6), row("uncontended", "tas", 1, 5.01e6)];
        assert_eq!(lock_cost_ns(&as_quick, &as_quick[1]), None);
    }

    #[test]
    fn csv_has_a_cell_for_each_name_also_where_nothing_is_known() {
        let empty = LockRow { wait: None, fairness: None, costs: None, ..row("oversubscribed", "mcs", 64, 0.0) };
        let text = as_csv(&report(vec![row("short", "futex", 2, 2e6), empty]));
        let columns: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
        assert_eq!(columns, [20; 3], "{text}");
        assert!(text.contains("oversubscribed,mcs,64,2,false,5,0.0000,"), "{text}");
    }

    #[test]
    fn rates_have_three_digits() {
        assert_eq!(
            [4_123_456.0, 81_230.0, 999_600.0, 999.6, 12.34, 0.0].map(rate),
            ["4.12 M", "81.2 k", "1.00 M", "1.00 k", "12.3", "0.00"]
        );
    }
}
