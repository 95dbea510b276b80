//! Which locks are tried in which situations, with how many threads, and how long that takes. Pure.

use super::LocksArgs;
use lab::locks::advice::SpinAdvice;
use lab::locks::cell::{Cell, LockSubject};
use lab::locks::scenario::{Crowd, SCENARIOS, Scenario};
use lab::locks::{LOCKS, LockKind};
use std::time::Duration;

/// The name under which locks that spin as InnoDB does are asked for.
pub const INNODB: &str = "innodb";

/// Where they are tried.
const WITH_INNODB: [&str; 2] = ["short", "oversubscribed"];

/// The default of MySQL 8.
const USUAL_MULTIPLIER: u32 = 50;

/// How long a row is watched in a round, unless the user says so.
const WINDOW: Duration = Duration::from_millis(16);
/// LIMIT: less shows nothing but the scheduler, more is more rounds.
const WINDOW_MIN: Duration = Duration::from_millis(2);
const WINDOW_MAX: Duration = Duration::from_secs(5);
/// Holds of each thread in a round: fewer are no rate.
const HOLDS_MIN: u32 = 20;
/// What a round takes besides: threads that begin and end, and warm up.
const BESIDE: Duration = Duration::from_millis(8);

/// What is done.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// In the order of their turns.
    pub cells: Vec<Cell>,
    /// How long a cell of weight 1 is watched in each round.
    pub window: Duration,
    /// Holds of each thread that a round has room for; 0 if the user says how long all may take.
    pub holds_min: u32,
    /// About how long all of it takes.
    pub expected: Duration,
    /// Whether that is more than the user gave it, and the least that there is.
    pub is_more_than_given: bool,
}

/// Names that `--locks` takes.
pub fn lock_names() -> impl Iterator<Item = &'static str> {
    LOCKS.iter().map(|kind| kind.name).chain([INNODB])
}

/// Decides what is measured on so many CPUs.
pub fn plan(args: &LocksArgs, cpus: usize, advice: &SpinAdvice) -> Plan {
    let mut cells = Vec::new();
    for scenario in SCENARIOS.iter().filter(|scenario| is_asked_for(scenario, args)) {
        for threads in crowds(scenario, args, cpus) {
            let subjects = subjects(scenario, args, advice);
            cells.extend(subjects.into_iter().map(|subject| Cell { subject, scenario, threads }));
        }
    }
    let rounds = u32::from(args.rounds);
    let weights: u32 = cells.iter().map(|cell| cell.scenario.weight).sum();
    let beside = BESIDE * cells.len() as u32 * rounds;
    let window = args.seconds.map_or(WINDOW, |time| {
        // An eighth more is warming up.
        let shared = time.saturating_sub(beside) / (weights.max(1) * rounds) * 8 / 9;
        shared.clamp(WINDOW_MIN, WINDOW_MAX)
    });
    let holds_min = if args.seconds.is_some() { 0 } else { HOLDS_MIN };
    let of_cell = |cell: &Cell| cell.scenario.window(window, args.hold, cell.threads, holds_min);
    let watched: Duration = cells.iter().map(of_cell).sum();
    let expected = watched * rounds * 9 / 8 + beside;
    let is_more_than_given = window == WINDOW_MIN && args.seconds.is_some_and(|time| time < expected);
    Plan { cells, window, holds_min, expected, is_more_than_given }
}

fn is_asked_for(scenario: &Scenario, args: &LocksArgs) -> bool {
    args.scenario.is_empty() || args.scenario.iter().any(|name| name == scenario.name)
}

fn crowds(scenario: &Scenario, args: &LocksArgs, cpus: usize) -> Vec<usize> {
    let mut given: Vec<usize> = args.threads.iter().map(|&threads| threads.into()).collect();
    given.sort_unstable();
    given.dedup();
    match given.last() {
        None => vec![scenario.threads(cpus)],
        Some(_) if scenario.crowd == Crowd::One => vec![scenario.threads(cpus)],
        // A crowd is the largest of them, and none if each thread has a CPU.
        Some(&most) if scenario.crowd == Crowd::Many && args.scenario.is_empty() => {
            if most > cpus {
                vec![most]
            } else {
                Vec::new()
            }
        }
        Some(_) => given,
    }
}

fn subjects(scenario: &Scenario, args: &LocksArgs, advice: &SpinAdvice) -> Vec<LockSubject> {
    let is_chosen = |kind: &LockKind| match (args.waiters.is_empty(), args.locks.is_empty()) {
        (false, _) => args.waiters.iter().any(|waiters| Some(waiters.policy()) == kind.wakes),
        (true, false) => args.locks.iter().any(|name| name == kind.name),
        (true, true) => true,
    };
    let chosen = LOCKS.iter().filter(|kind| is_chosen(kind) && scenario.takes(kind)).map(LockSubject::Lock);
    let mut subjects: Vec<LockSubject> = chosen.collect();
    let with_innodb = match args.locks.is_empty() {
        true => args.waiters.is_empty() && WITH_INNODB.contains(&scenario.name),
        false => args.locks.iter().any(|name| name == INNODB) && !scenario.has_readers(),
    };
    if with_innodb {
        let mut multipliers = vec![advice.mysql.innodb_spin_wait_pause_multiplier, USUAL_MULTIPLIER];
        multipliers.dedup();
        subjects.extend(multipliers.into_iter().map(|multiplier| LockSubject::InnoDb { multiplier }));
    }
    if scenario.crowd == Crowd::One && !subjects.is_empty() {
        subjects.insert(0, LockSubject::Nothing);
    }
    subjects
}

#[cfg(test)]
mod tests {
    use super::super::command;
    use super::*;
    use clap::FromArgMatches;
    use lab::locks::advice::{MariaDbAdvice, MySqlAdvice, PostgresSpins};

    fn advice(multiplier: u32) -> SpinAdvice {
        SpinAdvice {
            spin_tries: 100,
            mysql: MySqlAdvice {
                innodb_spin_wait_delay: 6,
                innodb_spin_wait_pause_multiplier: multiplier,
                innodb_sync_spin_loops: 30,
                spins_ns: 1.0,
                default_spins_ns: 1.0,
            },
            mariadb: MariaDbAdvice {
                pauses_per_delay: 25,
                innodb_spin_wait_delay: 1,
                innodb_sync_spin_loops: 30,
                spins_ns: 1.0,
                default_spins_ns: 1.0,
            },
            postgresql: PostgresSpins { shortest_ns: 1.0, first_ns: 1.0, longest_ns: 1.0, sleep_ns: 1 },
        }
    }

    fn planned(words: &str) -> Plan {
        let words = words.split_whitespace();
        let matches = command().try_get_matches_from(["locks"].into_iter().chain(words)).expect("a command line");
        plan(&LocksArgs::from_arg_matches(&matches).expect("it fits"), 2, &advice(3))
    }

    fn names(plan: &Plan, scenario: &str) -> Vec<String> {
        let cells = plan.cells.iter().filter(|cell| cell.scenario.name == scenario);
        cells.map(|cell| format!("{} {}", cell.subject.name(), cell.threads)).collect()
    }

    #[test]
    fn everything_takes_less_than_half_a_minute() {
        let plan = planned("");
        assert!(plan.expected < Duration::from_secs(30), "{:?}", plan.expected);
        assert!(SCENARIOS.iter().all(|scenario| !names(&plan, scenario.name).is_empty()));
        let short = names(&plan, "short");
        assert!(["mcs 2", "innodb x3 2", "innodb x50 2"].iter().all(|name| short.contains(&(*name).into())));
        assert_eq!(names(&plan, "uncontended")[0], "none 1");
        assert!(names(&plan, "oversubscribed").contains(&"futex 64".to_owned()));
    }

    #[test]
    fn threads_that_are_given_are_every_situation_s_but_one_alone() {
        let plan = planned("--threads 4,8 --locks futex");
        assert_eq!(names(&plan, "short"), ["futex 4", "futex 8"]);
        assert_eq!(names(&plan, "uncontended"), ["none 1", "futex 1"]);
        assert_eq!(names(&plan, "oversubscribed"), ["futex 8"], "the largest is the crowd");
        assert_eq!(
            names(&planned("-t 2 --locks futex"), "oversubscribed"),
            Vec::<String>::new(),
            "it is none on 2 CPUs"
        );
        assert_eq!(names(&planned("-t 4,2,4 -s short --locks futex"), "short"), ["futex 2", "futex 4"]);
        let herd = planned("--waiters one,all -t 8,64");
        assert_eq!(names(&herd, "herd"), ["futex 64", "futex-all 64"]);
        assert_eq!(names(&herd, "oversubscribed"), ["futex 64", "futex-all 64"]);
        assert_eq!(names(&planned("-t 4 -s oversubscribed --locks futex"), "oversubscribed"), ["futex 4"]);
    }

    #[test]
    fn waiters_choose_among_locks_that_differ_in_nothing_else() {
        assert_eq!(names(&planned("--waiters one,all -s short"), "short"), ["futex 2", "futex-all 2"]);
        assert_eq!(names(&planned("--waiters hand-off -s short"), "short"), ["handoff 2"]);
    }

    #[test]
    fn innodb_is_tried_where_it_is_asked_for() {
        assert_eq!(names(&planned("--locks innodb -s long"), "long"), ["innodb x3 2", "innodb x50 2"]);
        assert_eq!(names(&planned("--locks mcs"), "short"), ["mcs 2"]);
        assert_eq!(names(&planned("--locks innodb"), "readers"), Vec::<String>::new());
    }

    #[test]
    fn long_holds_make_rounds_longer_unless_the_time_is_given() {
        let of = |words| planned(words).expected;
        let usual = of("--locks futex -s short -n 1");
        assert!(of("--locks futex -s short -n 1 --hold 5ms") > usual + Duration::from_millis(180));
        assert!(of("--locks futex -s short -n 1 --hold 5ms --seconds 100ms") <= Duration::from_millis(101));
    }

    #[test]
    fn time_is_shared_out_by_weight_and_has_bounds() {
        let plan = planned("--locks mcs,clh -s short --seconds 2 -n 4");
        assert!(plan.expected <= Duration::from_millis(2001), "{:?}", plan.expected);
        assert!(plan.expected >= Duration::from_millis(1990), "{:?}", plan.expected);
        let least = planned("--locks mcs -s short --seconds 1ms");
        assert_eq!((least.window, least.is_more_than_given, plan.is_more_than_given), (WINDOW_MIN, true, false));
        assert_eq!(planned("--locks mcs -s short --seconds 1h").window, WINDOW_MAX);
        assert!(planned("--locks mcs -s readers").cells.is_empty());
    }
}
