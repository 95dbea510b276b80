//! Settings in sentences, each with its basis, and what this machine cannot know. Pure.

use super::LocksReport;
use super::show::{is_measured, passes, pauses, span};
use super::signs::{RowsCompared, compare, row_of, too_few_rounds};
use lab::locks::cell::LockSubject;
use lab::locks::row::LockRow;

/// One a program.
pub fn lines(report: &LocksReport) -> Vec<String> {
    let (found, advice) = (&report.calibration, &report.advice);
    let basis = format!(
        "basis: spin as long as a wake-up takes ({}), which costs at most twice the best choice; a PAUSE of {:.1} ns",
        span(found.wake_latency_ns),
        found.pause_ns
    );
    let own = format!("a lock of your own: spin_tries = {}, then sleep", pauses(advice.spin_tries));
    let mut lines = vec![basis, own, mysql(report), mariadb(report), postgresql(report)];
    lines.extend(measured(report));
    lines
}

fn mysql(report: &LocksReport) -> String {
    let mysql = &report.advice.mysql;
    let loops = match mysql.innodb_sync_spin_loops {
        30 => String::new(),
        loops => format!(", innodb_sync_spin_loops = {loops}"),
    };
    format!(
        "MySQL 8: innodb_spin_wait_pause_multiplier = {}{loops}, innodb_spin_wait_delay = {} (its default): spins {} before it sleeps; the \
         defaults (50, 30, 6) spin {}",
        mysql.innodb_spin_wait_pause_multiplier,
        mysql.innodb_spin_wait_delay,
        span(mysql.spins_ns),
        span(mysql.default_spins_ns)
    )
}

fn mariadb(report: &LocksReport) -> String {
    let mariadb = &report.advice.mariadb;
    let loops = match mariadb.innodb_sync_spin_loops {
        30 => String::new(),
        loops => format!(", innodb_sync_spin_loops = {loops}"),
    };
    format!(
        "MariaDB: innodb_spin_wait_delay = {}{loops}: spins {}; the defaults (4, 30) spin {}. It has no multiplier to set: a server \
         started here chooses {} PAUSEs a delay, by the PAUSE that it finds",
        mariadb.innodb_spin_wait_delay,
        span(mariadb.spins_ns),
        span(mariadb.default_spins_ns),
        mariadb.pauses_per_delay
    )
}

fn postgresql(report: &LocksReport) -> String {
    let spins = &report.advice.postgresql;
    format!(
        "PostgreSQL: nothing to set. spins_per_delay begins at 100 PAUSEs ({}) and adapts itself between 10 ({}) and 1000 ({}); then a \
         sleep of {} or more follows",
        span(spins.first_ns),
        span(spins.shortest_ns),
        span(spins.longest_ns),
        span(spins.sleep_ns as f64)
    )
}

/// Whether what was calculated for MySQL is what was seen: the same lock with the default beside it.
fn measured(report: &LocksReport) -> Vec<String> {
    let multiplier = report.advice.mysql.innodb_spin_wait_pause_multiplier;
    let [advised, default] = [multiplier, 50].map(|multiplier| LockSubject::InnoDb { multiplier }.name());
    if advised == default {
        return Vec::new();
    }
    let of = |scenario: &str| {
        let (ours, usual) = (row_of(&report.rows, scenario, &advised)?, row_of(&report.rows, scenario, &default)?);
        (is_measured(report, ours) && is_measured(report, usual)).then(|| compared(ours, usual))
    };
    let found: Vec<String> = ["short", "oversubscribed"].into_iter().filter_map(of).collect();
    match found.is_empty() {
        true => vec!["whether the setting for MySQL is the better one was not measured here (rows innodb)".to_owned()],
        false => found,
    }
}

fn compared(ours: &LockRow, usual: &LockRow) -> String {
    let cpu = |row: &LockRow| row.costs.as_ref().map_or("-".to_owned(), |costs| span(costs.cpu_ns));
    let few = too_few_rounds(ours, usual);
    let result = match compare(ours, usual) {
        _ if few.is_some() => few.unwrap_or_default(),
        RowsCompared::Times(times) if times >= 1.0 => format!("confirmed, {times:.2} times as often"),
        RowsCompared::Times(times) => {
            format!("NOT confirmed, {times:.2} times as often: keep the default for such holds")
        }
        RowsCompared::CannotTell => "no difference can be seen".to_owned(),
    };
    format!(
        "measured, {} with {} threads on {} CPUs: {} passes the lock {}/s at {} of CPU each, {} {}/s at {}: {result}",
        ours.scenario,
        ours.threads,
        ours.cpus,
        ours.lock,
        passes(ours),
        cpu(ours),
        usual.lock,
        passes(usual),
        cpu(usual)
    )
}

/// What this run cannot say.
pub fn not_known(report: &LocksReport) -> Vec<String> {
    let mut lines = vec![format!(
        "how long your program holds its locks, and how often it wants them: here {} and every {} (perf lock contention shows yours)",
        span(report.hold_ns as f64),
        span((report.hold_ns + report.think_ns) as f64)
    )];
    lines.push(match report.shares_cores {
        true => "what a spinning thread takes from the other thread of its core".to_owned(),
        false => "machines whose CPUs share cores: none do here, or it cannot be seen".to_owned(),
    });
    lines.push(format!(
        "CPUs of other sockets: a cache line reached one other CPU of {}; and more CPUs than {}, for which these rows claim nothing",
        report.cpus, report.cpus
    ));
    lines.push(
        "other versions: which latches of MySQL and MariaDB obey these settings differs; try them with your load"
            .to_owned(),
    );
    lines
}

#[cfg(test)]
mod tests {
    use super::super::show::tests::{report, row};
    use super::*;

    #[test]
    fn what_was_calculated_is_held_against_what_was_measured() {
        let told = |ours: f64| {
            let rows = vec![row("short", "innodb x3", 2, ours), row("short", "innodb x50", 2, 100.0)];
            lines(&report(rows)).join("\n")
        };
        assert!(told(150.0).contains("confirmed, 1.50 times as often"));
        assert!(told(50.0).contains("NOT confirmed, 0.50 times as often"));
        assert!(told(101.0).contains("no difference can be seen"));
        assert!(lines(&report(Vec::new())).join("\n").contains("was not measured here"));
    }

    #[test]
    fn settings_are_named_as_the_programs_name_them() {
        let text = lines(&report(Vec::new())).join("\n");
        for expected in [
            "innodb_spin_wait_pause_multiplier = 3, innodb_spin_wait_delay = 6",
            "innodb_spin_wait_delay = 1, innodb_sync_spin_loops = 9",
            "spins_per_delay begins at 100 PAUSEs (2.67 us)",
            "spin_tries = 232 PAUSEs",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
    }

    #[test]
    fn cores_that_are_shared_are_named() {
        let shared = LocksReport { shares_cores: true, ..report(Vec::new()) };
        assert!(not_known(&shared).join("\n").contains("the other thread of its core"));
        assert!(not_known(&report(Vec::new())).join("\n").contains("machines whose CPUs share cores"));
    }
}
