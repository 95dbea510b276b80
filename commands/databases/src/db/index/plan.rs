//! What a run will do and why: how many builds at once, over how many workers, with how much memory, in which order. Changes nothing.

use super::args::DbIndexArgs;
use crew::plan::Plan;
use database::indexes::{IndexJob, IndexWork, LaneLimits, LaneRule};
use mh_kit::report::counted;
use std::cmp::Reverse;

/// LIMIT: cores of another host that are used unless -j says more.
const REMOTE_USUAL_MAX: usize = 16;

/// The share of this host's memory that sorts may use.
const MEMORY_SHARE: u64 = 8;

/// LIMIT: builds that a plan lists.
const BUILDS_LISTED_MAX: usize = 20;

/// A connection besides those of lanes: it asks how far builds are.
const OTHER_CONNECTIONS: usize = 1;

/// A run that is ready to begin.
pub struct IndexPlan {
    /// For people.
    pub plan: Plan,
    /// The database, without a password.
    pub name: String,
    /// Lanes and workers.
    pub rule: LaneRule,
    /// All that there is to do.
    pub work: IndexWork,
    /// Whether the server works on this host.
    pub is_server_here: bool,
}

/// The facts that a plan rests on.
pub struct IndexCircumstances {
    /// The database, without a password.
    pub name: String,
    /// What the server calls itself.
    pub server_version: String,
    /// Whether it is PostgreSQL.
    pub is_postgres: bool,
    /// Workers that it starts.
    pub server_workers: usize,
    /// Connections that it has left.
    pub connections_left: usize,
    /// Whether it works on this host.
    pub is_server_here: bool,
    /// Cores that may be used.
    pub hands_allowed: usize,
    /// Memory that may be used.
    pub memory_bytes: u64,
}

/// Decides. The error is a sentence that reads after "could not".
pub fn plan(args: &DbIndexArgs, circumstances: IndexCircumstances, work: IndexWork) -> Result<IndexPlan, String> {
    let IndexCircumstances { name, is_server_here, is_postgres, .. } = circumstances;
    let verb = if args.rebuild { "rebuild indexes of" } else { "build indexes of" };
    let mut plan = Plan::new(format!("{verb} {name}"));
    let place = if is_server_here { "it is on this host and shares its cores" } else { "it is elsewhere" };
    let kind = if is_postgres { "PostgreSQL " } else { "" };
    plan.choose("server", format!("{kind}{}", circumstances.server_version), place);
    let (hands, why_hands) = hands(args.hands, is_server_here, circumstances.hands_allowed);
    let left = circumstances.connections_left.saturating_sub(OTHER_CONNECTIONS);
    if left == 0 {
        return Err(format!(
            "connect: the server has {} left",
            counted(circumstances.connections_left as u64, "connection")
        ));
    }
    let (memory_bytes, why_memory) = memory(args.memory, is_postgres && is_server_here, circumstances.memory_bytes);
    let limits = LaneLimits { hands, server_workers: circumstances.server_workers, memory_bytes };
    let at_once = at_once(&work).min(left);
    let mut rule = LaneRule::choose(limits, at_once);
    if is_server_here {
        // More lanes than cores wait for each other's cores; workers would take them away.
        rule.hands = rule.hands.min(circumstances.hands_allowed);
    }
    plan.choose("lanes", rule.lanes.to_string(), why_lanes(&rule, at_once, &why_hands));
    if is_postgres {
        plan.choose(
            "workers",
            format!("at most {} a build", rule.workers),
            "cores that no lane needs; the server has the last word",
        );
        let memory = rule
            .memory_bytes
            .map_or("the server's setting".to_owned(), |bytes| format!("{} a build", terminal::bytes(bytes)));
        plan.choose("memory", memory, why_memory);
    }
    plan.choose("locks", locks(args, is_postgres), "each table's, until its indexes are built");
    list(&mut plan, &work, args.rebuild);
    mh_kit::sharing::explain(&mut plan);
    Ok(IndexPlan { plan, name, rule, work, is_server_here })
}

/// Jobs of the phase that has most, since none waits for another one there.
fn at_once(work: &IndexWork) -> usize {
    let mut by_phase = std::collections::BTreeMap::new();
    for job in &work.jobs {
        *by_phase.entry(job.phase).or_insert(0_usize) += 1;
    }
    by_phase.into_values().max().unwrap_or(0)
}

fn hands(asked: Option<usize>, is_server_here: bool, allowed: usize) -> (usize, String) {
    match asked.filter(|count| *count > 0) {
        Some(count) => (count, format!("-j {count}")),
        None if is_server_here => (allowed, counted(allowed as u64, "core")),
        None => (allowed.clamp(2, REMOTE_USUAL_MAX), "the server's cores are not known: -j says how many".to_owned()),
    }
}

fn why_lanes(rule: &LaneRule, at_once: usize, why_hands: &str) -> String {
    if rule.lanes == 1 && at_once > 1 {
        return format!("{why_hands}: with fewer than 4, an index at a time with workers is as fast as several");
    }
    if rule.lanes >= at_once {
        return format!("{why_hands}; there is no more to do at once");
    }
    format!("{why_hands}: a lane for each, since workers of one build share its sort")
}

/// Memory for all sorts together, and why.
pub fn memory(asked: Option<u64>, is_postgres_here: bool, available: u64) -> (Option<u64>, &'static str) {
    match asked {
        Some(bytes) => (Some(bytes), "--memory, divided by lanes: maintenance_work_mem of each session"),
        None if is_postgres_here => (
            Some(available / MEMORY_SHARE),
            "an eighth of what is free, divided by lanes: maintenance_work_mem of each session",
        ),
        None => (None, "the server's memory is not known: --memory says how much"),
    }
}

fn locks(args: &DbIndexArgs, is_postgres: bool) -> &'static str {
    match (is_postgres, args.rebuild, args.concurrently) {
        (true, true, true) => "SHARE UPDATE EXCLUSIVE: others read and write",
        (true, true, false) => "SHARE, and the index itself: others read by other indexes",
        (true, false, _) => "SHARE: others read; for the moment of a constraint nobody does",
        (false, ..) => "as the server's ALTER TABLE takes them: others read, and write if it can",
    }
}

fn list(plan: &mut Plan, work: &IndexWork, is_rebuild: bool) {
    let (mut builds, behind): (Vec<&IndexJob>, Vec<&IndexJob>) = work.jobs.iter().partition(|job| job.phase == 0);
    builds.sort_by_key(|job| Reverse(job.bytes));
    for job in builds.iter().take(BUILDS_LISTED_MAX) {
        let size = format!("about {} to read and sort", terminal::bytes(job.bytes));
        let line = if is_rebuild { String::new() } else { format!("line {}; ", terminal::integer(job.line)) };
        let way = match (&job.attach, &job.sql) {
            (Some(_), Some(_)) => "; an index first, then the constraint",
            (Some(_), None) => "; its index is there",
            (None, _) => "",
        };
        plan.choose("build", job.name.clone(), format!("{line}{size}{way}"));
    }
    if builds.len() > BUILDS_LISTED_MAX {
        let others = terminal::integer((builds.len() - BUILDS_LISTED_MAX) as u64);
        plan.choose("other builds", others, format!("the {BUILDS_LISTED_MAX} most expensive are listed"));
    }
    if !behind.is_empty() {
        let reason = "in the order of the file; constraints of different tables at once";
        plan.choose("behind them", counted(behind.len() as u64, "statement"), reason);
    }
    if !work.present.is_empty() {
        plan.choose("passed over", terminal::integer(work.present.len() as u64), "there already, by their names");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use database::indexes::{Present, TableSharing};
    use std::sync::Arc;

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        args: DbIndexArgs,
    }

    fn planned(words: &[&str], hands_allowed: usize, connections_left: usize) -> Result<IndexPlan, String> {
        let words = ["index", "-d", "shop", "f.sql"].into_iter().chain(words.iter().copied());
        let args = Typed::try_parse_from(words).unwrap_or_else(|error| panic!("{error}")).args;
        let job = |line: u64, phase| IndexJob {
            line,
            name: format!("index {line}"),
            tables: Vec::new(),
            sharing: TableSharing::Builds,
            phase,
            settings: Arc::new([]),
            sql: Some(String::new()),
            attach: None,
            bytes: line << 20,
            is_parallel: true,
            present: Present::Refused,
            apart: Vec::new(),
        };
        let jobs = (1..=6).map(|line| job(line, 0)).chain([job(9, 1)]).collect();
        let circumstances = IndexCircumstances {
            name: "shop".to_owned(),
            server_version: "15.1".to_owned(),
            is_postgres: true,
            server_workers: 8,
            connections_left,
            is_server_here: true,
            hands_allowed,
            memory_bytes: 8 << 30,
        };
        plan(&args, circumstances, IndexWork { jobs, present: vec![(3, "index x".to_owned())] })
    }

    #[test]
    fn lanes_are_as_many_as_cores_connections_and_builds_allow() {
        let lanes = |words: &[&str], hands, left| planned(words, hands, left).map(|plan| plan.rule.lanes);
        assert_eq!((lanes(&[], 2, 90), lanes(&[], 4, 90), lanes(&[], 16, 90)), (Ok(1), Ok(4), Ok(6)));
        assert_eq!((lanes(&["-j", "5"], 2, 90), lanes(&[], 16, 4)), (Ok(5), Ok(3)));
        assert_eq!(planned(&["-j", "5"], 2, 90).map(|plan| plan.rule.hands), Ok(2), "no more cores than there are");
        assert!(lanes(&[], 4, 1).is_err_and(|error| error.contains("1 connection left")));
    }

    #[test]
    fn a_plan_has_the_most_expensive_first_and_says_what_is_behind() {
        let job = planned(&["--memory", "512M"], 4, 90).expect("a plan");
        let build = job.plan.about("build").expect("builds are listed");
        assert_eq!(
            (build.decision.as_str(), build.reason.as_str()),
            ("index 6", "line 6; about 6.29 MB to read and sort")
        );
        assert_eq!(job.plan.about("behind them").expect("there is one").decision, "1 statement");
        assert_eq!(job.rule.memory_bytes, Some(128 << 20));
        assert!(job.plan.about("passed over").is_some());
    }
}
