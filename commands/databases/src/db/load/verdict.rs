//! What bound a load: the server and what it did, the way to it, the input, or the cores. A pure function of what was measured.

use crate::db::waits::{bound_by_server, forced_checkpoints};
use database::load::{Commit, LoadClocks, WaitTally};
use serde::Serialize;
use std::time::Duration;

/// What is known of a load.
#[derive(Clone, Debug)]
pub struct LoadMeasures<'a> {
    /// Where threads spent their time.
    pub clocks: LoadClocks,
    /// What the server was seen at.
    pub waits: &'a WaitTally,
    /// Connections.
    pub connections: usize,
    /// Cores that this process may use.
    pub cores: usize,
    /// Whether the server shares them.
    pub is_server_here: bool,
    /// Why there is one connection, if there cannot be more.
    pub one_connection: Option<&'a str>,
    /// Indexes of the table.
    pub indexes: u64,
    /// How rows were kept.
    pub commit: Commit,
}

/// What bound it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LoadVerdict {
    /// `server`, `server-disk`, `server-lock`, `network`, `input`, `client`, `cores` or `unknown`.
    pub bound_by: &'static str,
    /// The same as a sentence.
    pub sentence: String,
    /// What would help.
    pub next_steps: Vec<String>,
}

/// LIMIT: a shorter load has been looked at too seldom.
const SHORT: Duration = Duration::from_millis(1500);

/// From this share on something binds.
const BINDS: f64 = 0.5;

/// Judges.
pub fn judge(measures: &LoadMeasures<'_>) -> LoadVerdict {
    let clocks = &measures.clocks;
    let threads = (clocks.loading + clocks.waiting_for_chunks + clocks.waiting_for_hands).as_secs_f64();
    if clocks.wall < SHORT || threads == 0.0 {
        let sentence = format!("cannot tell: the load took {}, too short to measure", terminal::duration(clocks.wall));
        return LoadVerdict { bound_by: "unknown", sentence, next_steps: Vec::new() };
    }
    let share = |time: Duration| time.as_secs_f64() / threads;
    let (bound_by, sentence) = if share(clocks.waiting_for_hands) >= BINDS {
        let waited = terminal::percentage_whole(share(clocks.waiting_for_hands));
        (
            "cores",
            format!(
                "bound by cores: connections waited for one for {waited} of their time, since other runs have them (mh crew)"
            ),
        )
    } else if share(clocks.waiting_for_chunks) >= BINDS {
        by_input(measures, share(clocks.waiting_for_chunks))
    } else {
        bound_by_server(measures.waits, measures.connections)
    };
    LoadVerdict { bound_by, sentence, next_steps: next_steps(measures, bound_by) }
}

fn by_input(measures: &LoadMeasures<'_>, waited: f64) -> (&'static str, String) {
    let clocks = &measures.clocks;
    let waited = terminal::percentage_whole(waited);
    if clocks.cutting > clocks.reading {
        return (
            "client",
            format!("bound by this program: connections waited {waited} of their time for rows, which one thread cuts"),
        );
    }
    (
        "input",
        format!(
            "bound by the input: connections waited {waited} of their time for rows of a disk, a pipe or a decoder"
        ),
    )
}

fn next_steps(measures: &LoadMeasures<'_>, bound_by: &str) -> Vec<String> {
    let mut steps = Vec::new();
    let is_server = bound_by.starts_with("server");
    steps.extend(forced_checkpoints(measures.waits));
    if is_server && measures.indexes > 1 {
        steps.push(format!(
            "{} indexes were kept up row by row; built after the load they cost a third of that",
            measures.indexes
        ));
    }
    match measures.one_connection {
        Some(reason) if is_server => steps.push(format!("one connection alone: {reason}")),
        None if bound_by == "server" && (!measures.is_server_here || measures.connections < measures.cores) => {
            let most = terminal::percentage_whole(1.0 / (measures.connections as f64 + 1.0));
            steps.push(format!("one more connection buys {most} at most (-j {})", measures.connections + 1));
        }
        _ => {}
    }
    if measures.commit == Commit::EachChunk && bound_by == "server-disk" {
        steps.push("each chunk is synced by its commit: a larger --memory makes chunks larger".to_owned());
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use database::load::ServerWait;

    fn judged(loading: u64, chunks: u64, hands: u64, waits: &[(ServerWait, u64)]) -> LoadVerdict {
        let seconds = Duration::from_secs;
        let clocks = LoadClocks {
            wall: seconds(10),
            loading: seconds(loading),
            waiting_for_chunks: seconds(chunks),
            waiting_for_hands: seconds(hands),
            reading: seconds(5),
            ..LoadClocks::default()
        };
        let waits = WaitTally {
            seen: waits.iter().cloned().collect(),
            forced_checkpoints: Some(14),
            max_wal_size: Some("1GB".to_owned()),
        };
        let measures = LoadMeasures {
            clocks,
            waits: &waits,
            connections: 2,
            cores: 4,
            is_server_here: true,
            one_connection: None,
            indexes: 1,
            commit: Commit::AtTheEnd,
        };
        judge(&measures)
    }

    #[test]
    fn what_took_most_of_the_time_binds() {
        let bound = |loading, chunks, hands, wait: ServerWait| judged(loading, chunks, hands, &[(wait, 9)]).bound_by;
        assert_eq!(bound(18, 1, 1, ServerWait::Working), "server");
        assert_eq!(bound(18, 1, 1, ServerWait::Client), "network");
        assert_eq!(bound(18, 1, 1, ServerWait::Lock), "server-lock");
        assert_eq!(bound(18, 1, 1, ServerWait::Of("LWLock: WALWrite".to_owned())), "server-disk");
        assert_eq!(bound(18, 1, 1, ServerWait::Of("Lock: extend".to_owned())), "server");
        assert_eq!(bound(5, 15, 0, ServerWait::Working), "input");
        assert_eq!(bound(5, 0, 15, ServerWait::Working), "cores");
        assert_eq!(judged(18, 0, 0, &[]).bound_by, "server");
    }

    #[test]
    fn a_next_step_has_its_figure() {
        let verdict = judged(18, 1, 1, &[(ServerWait::Working, 19), (ServerWait::Client, 1)]);
        assert_eq!(verdict.sentence, "bound by the server's CPU: it worked for 2 connections at 95 % of all looks");
        let expected = [
            "max_wal_size 1GB forced 14 checkpoints: more of it saves them",
            "one more connection buys 33 % at most (-j 3)",
        ];
        assert_eq!(verdict.next_steps, expected);
    }
}
