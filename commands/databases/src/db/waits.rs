//! The states of a server while it worked for us, in words, and whether they bound the run.

use ::load::cost::ServerCost;
use database::load::{ServerWait, WaitTally};
use mh_kit::report::counted;
use std::time::Duration;

/// LIMIT: what a server was seen at that is shown.
const SEEN_MAX: usize = 4;

/// LIMIT: fewer looks at the server show nothing.
const LOOKS_LEAST: u64 = 5;

/// What a run cost the server, if that may be seen.
pub fn cost_text(cost: Option<&ServerCost>) -> String {
    let Some(cost) = cost else { return "its CPU time cannot be seen from here".to_owned() };
    let cores = cost.cpu_ns() as f64 / cost.elapsed_ns.max(1) as f64;
    let time = terminal::duration(Duration::from_nanos(cost.cpu_ns()));
    format!("{time} of CPU time, {} cores", terminal::four_digits(cores))
}

/// The cores that a run on fewer is thought onto.
const MANY_CORES: usize = 16;

/// What a run would take on many cores, from the CPU time that it took on these; its assumption stands beside it.
pub fn forecast(cost: Option<&ServerCost>, client_cpu: Duration, cores: usize) -> Option<String> {
    let total = Duration::from_nanos(cost?.cpu_ns()) + client_cpu;
    (cores < MANY_CORES).then(|| {
        format!(
            "forecast: {} with {MANY_CORES} cores, if its {} of CPU time are divided evenly, and disks and locks let it",
            terminal::duration(total / MANY_CORES as u32),
            terminal::duration(total)
        )
    })
}

/// The states that it was seen in most often.
pub fn seen(waits: &WaitTally) -> String {
    let mut seen: Vec<_> = waits.seen.iter().collect();
    seen.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let part = |(wait, _): &(&ServerWait, &u64)| {
        format!("{} {}", wait_name(wait), terminal::percentage_whole(waits.share(wait)))
    };
    seen.iter().take(SEEN_MAX).map(part).collect::<Vec<_>>().join(", ")
}

/// The name of a wait.
pub fn wait_name(wait: &ServerWait) -> &str {
    match wait {
        ServerWait::Working => "work",
        ServerWait::Client => "waiting for rows",
        ServerWait::Lock => "a lock",
        ServerWait::Of(what) => what,
    }
}

/// What bound a run that the server bound: a word and a sentence.
pub fn bound_by_server(waits: &WaitTally, connections: usize) -> (&'static str, String) {
    let most = waits.seen.iter().max_by_key(|(_, count)| **count).filter(|_| waits.looks() >= LOOKS_LEAST);
    let Some((most, _)) = most else {
        return ("server", "bound by the server; it was seen too seldom to tell what it waited for".to_owned());
    };
    let share = terminal::percentage_whole(waits.share(most));
    let backends = counted(connections as u64, "connection");
    match most {
        ServerWait::Working => {
            ("server", format!("bound by the server's CPU: it worked for {backends} at {share} of all looks"))
        }
        ServerWait::Client => {
            ("network", format!("bound by the way to the server: it waited for our rows at {share} of all looks"))
        }
        ServerWait::Lock => ("server-lock", format!("bound by a lock of another transaction, at {share} of all looks")),
        ServerWait::Of(what) if what.starts_with("IO") || what.contains("WAL") || what == "commit" => {
            ("server-disk", format!("bound by the server's disk: {what} at {share} of all looks"))
        }
        ServerWait::Of(what) => ("server", format!("bound by the server: {what} at {share} of all looks")),
    }
}

/// What would help against checkpoints before their time.
pub fn forced_checkpoints(waits: &WaitTally) -> Option<String> {
    let count = waits.forced_checkpoints.filter(|count| *count > 0)?;
    let size = waits.max_wal_size.as_deref().unwrap_or("of the server");
    Some(format!("max_wal_size {size} forced {}: more of it saves them", counted(count, "checkpoint")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forecast_needs_the_servers_cost_and_fewer_cores() {
        let cost = ServerCost { user_ns: 3_000_000_000, system_ns: 1_000_000_000, ..ServerCost::default() };
        let text = forecast(Some(&cost), Duration::from_secs(4), 2).expect("a forecast");
        assert!(text.starts_with("forecast: 500 ms with 16 cores, if its 8 s of CPU time"), "{text}");
        assert_eq!(forecast(None, Duration::from_secs(4), 2), None);
        assert_eq!(forecast(Some(&cost), Duration::from_secs(4), 16), None);
    }
}
