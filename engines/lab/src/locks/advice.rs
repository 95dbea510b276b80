//! Settings for programs that spin, from what a PAUSE and a sleep cost here. Pure. The rule: spin as long as a sleep costs, which never costs
//! more than twice what the best choice would (Karlin, Manasse, McGeoch, Owicki 1990). Theory: "locks" in this crate's README.

use super::calibration::Calibration;
use super::cell::INNODB;
use serde::Serialize;

/// What follows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpinAdvice {
    /// For a lock of one's own: PAUSEs before it sleeps.
    pub spin_tries: u32,
    /// For MySQL 8.
    pub mysql: MySqlAdvice,
    /// For MariaDB.
    pub mariadb: MariaDbAdvice,
    /// What PostgreSQL does: it has no setting.
    pub postgresql: PostgresSpins,
}

/// MySQL 8.0 and later: `innodb_sync_spin_loops` looks, after each a random number from 0 to `innodb_spin_wait_delay`, times
/// `innodb_spin_wait_pause_multiplier`, of PAUSEs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MySqlAdvice {
    /// Its default.
    pub innodb_spin_wait_delay: u32,
    /// 1 to 100.
    pub innodb_spin_wait_pause_multiplier: u32,
    /// The default, unless even the smallest multiplier spins too long.
    pub innodb_sync_spin_loops: u32,
    /// How long it spins before it sleeps, on average, with these.
    pub spins_ns: f64,
    /// The same with the defaults.
    pub default_spins_ns: f64,
}

/// MariaDB: the same without randomness, and with a multiplier that the server chooses when it starts: 50, or 25 where a PAUSE takes more
/// than 30 counts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MariaDbAdvice {
    /// What the server chooses here.
    pub pauses_per_delay: u32,
    /// 1 or more; its default is 4.
    pub innodb_spin_wait_delay: u32,
    /// The default, unless even the smallest delay spins too long.
    pub innodb_sync_spin_loops: u32,
    /// How long it spins before it sleeps with these.
    pub spins_ns: f64,
    /// The same with the defaults.
    pub default_spins_ns: f64,
}

/// PostgreSQL's spinlocks: `spins_per_delay` adapts itself, and then a sleep of a millisecond or more follows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PostgresSpins {
    /// How long it spins at least, where waits end in sleeps again and again: 10 PAUSEs.
    pub shortest_ns: f64,
    /// In the beginning: 100.
    pub first_ns: f64,
    /// At most, where they do not: 1000.
    pub longest_ns: f64,
    /// The shortest sleep that follows.
    pub sleep_ns: u64,
}

/// Defaults of MariaDB, as `mariadbd --no-defaults --help --verbose` prints them.
const MARIADB_LOOPS: u32 = 30;
const MARIADB_DELAY: u32 = 4;
/// LIMIT: delays that MariaDB takes.
const MARIADB_DELAY_MAX: f64 = 6000.0;
/// A longer PAUSE makes MariaDB halve its multiplier (mysys/my_cpu.c there).
const MARIADB_LONG_PAUSE_COUNTS: f64 = 30.0;

/// LIMIT: what MySQL takes.
const MULTIPLIER_MAX: f64 = 100.0;

/// What follows from `found`.
pub fn advise(found: &Calibration) -> SpinAdvice {
    SpinAdvice {
        spin_tries: found.spin_tries(),
        mysql: for_mysql(found),
        mariadb: for_mariadb(found),
        postgresql: PostgresSpins {
            shortest_ns: 10.0 * found.pause_ns,
            first_ns: 100.0 * found.pause_ns,
            longest_ns: 1000.0 * found.pause_ns,
            sleep_ns: 1_000_000,
        },
    }
}

fn for_mysql(found: &Calibration) -> MySqlAdvice {
    // Half of the delay is its mean.
    let spins_ns = |loops: u32, multiplier: u32| {
        f64::from(loops) * f64::from(INNODB.delay_max) / 2.0 * f64::from(multiplier) * found.pause_ns
    };
    let multiplier = (found.wake_latency_ns / spins_ns(INNODB.rounds, 1)).round().clamp(1.0, MULTIPLIER_MAX) as u32;
    let loops = loops_within(found.wake_latency_ns, spins_ns(1, multiplier), INNODB.rounds);
    MySqlAdvice {
        innodb_spin_wait_delay: INNODB.delay_max,
        innodb_spin_wait_pause_multiplier: multiplier,
        innodb_sync_spin_loops: loops,
        spins_ns: spins_ns(loops, multiplier),
        default_spins_ns: spins_ns(INNODB.rounds, INNODB.multiplier),
    }
}

fn for_mariadb(found: &Calibration) -> MariaDbAdvice {
    let pauses_per_delay = if found.pause_counts > MARIADB_LONG_PAUSE_COUNTS { 25 } else { 50 };
    let spins_ns =
        |loops: u32, delay: u32| f64::from(loops) * f64::from(delay) * f64::from(pauses_per_delay) * found.pause_ns;
    let delay = (found.wake_latency_ns / spins_ns(MARIADB_LOOPS, 1)).round().clamp(1.0, MARIADB_DELAY_MAX) as u32;
    let loops = loops_within(found.wake_latency_ns, spins_ns(1, delay), MARIADB_LOOPS);
    MariaDbAdvice {
        pauses_per_delay,
        innodb_spin_wait_delay: delay,
        innodb_sync_spin_loops: loops,
        spins_ns: spins_ns(loops, delay),
        default_spins_ns: spins_ns(MARIADB_LOOPS, MARIADB_DELAY),
    }
}

/// The default, unless it would spin half as long again as a sleep costs.
fn loops_within(sleep_ns: f64, loop_ns: f64, default: u32) -> u32 {
    match sleep_ns * 1.5 < loop_ns * f64::from(default) {
        true => ((sleep_ns / loop_ns).round() as u32).clamp(1, default),
        false => default,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pause_counts: f64, wake_latency_ns: f64) -> Calibration {
        let example = Calibration::of_parts(2.5, 40.0, 80.0, 6_000.0);
        Calibration { pause_counts, pause_ns: pause_counts / example.counts_per_ns, wake_latency_ns, ..example }
    }

    #[test]
    fn a_long_pause_asks_for_a_small_multiplier() {
        // Skylake's: 140 counts, 56 ns. The default spins a quarter of a millisecond.
        let long = for_mysql(&found(140.0, 25_000.0));
        assert_eq!((long.innodb_spin_wait_pause_multiplier, long.innodb_sync_spin_loops), (5, 30));
        assert!((long.default_spins_ns - 252_000.0).abs() < 1.0, "{long:?}");
        // Broadwell's: 10 counts, 4 ns.
        let short = for_mysql(&found(10.0, 25_000.0));
        assert_eq!((short.innodb_spin_wait_pause_multiplier, short.innodb_sync_spin_loops), (69, 30));
    }

    #[test]
    fn what_spins_too_long_with_the_smallest_delay_gets_fewer_loops() {
        let mysql = for_mysql(&found(140.0, 2_000.0));
        assert_eq!((mysql.innodb_spin_wait_pause_multiplier, mysql.innodb_sync_spin_loops), (1, 12));
        let mariadb = for_mariadb(&found(140.0, 2_000.0));
        let set = (mariadb.pauses_per_delay, mariadb.innodb_spin_wait_delay, mariadb.innodb_sync_spin_loops);
        assert_eq!(set, (25, 1, 1));
        for cost_ns in [0.0, 1e12] {
            let advice = advise(&found(140.0, cost_ns));
            assert!(advice.mysql.innodb_spin_wait_pause_multiplier <= 100 && advice.spin_tries >= 1, "{advice:?}");
        }
    }

    #[test]
    fn mariadb_chooses_its_multiplier_by_the_pause() {
        let [short, long] = [10.0, 31.0].map(|counts| for_mariadb(&found(counts, 25_000.0)).pauses_per_delay);
        assert_eq!((short, long), (50, 25));
        assert!((for_mariadb(&found(10.0, 1.0)).default_spins_ns - 24_000.0).abs() < 1.0);
    }

    #[test]
    fn postgresql_spins_from_ten_to_a_thousand_pauses() {
        let spins = advise(&found(100.0, 1.0)).postgresql;
        assert_eq!((spins.shortest_ns, spins.first_ns, spins.longest_ns), (400.0, 4_000.0, 40_000.0));
    }
}
