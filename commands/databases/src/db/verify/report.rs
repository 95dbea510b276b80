//! `--report`: what was read, where the time went, and what bound the comparison.

use database::dump::{DumpClocks, DumpProgress};
use mh_kit::report::{counted, json_line};
use mh_kit::shared_args::ReportFormat;
use serde::Serialize;
use std::time::Duration;

/// A comparison that has ended.
pub struct VerifyEnd<'a> {
    /// What was compared.
    pub purpose: &'a str,
    /// What was read.
    pub progress: &'a DumpProgress,
    /// Connections to both sides.
    pub connections: usize,
    /// The longest that writers to a server had to wait; none: they had not to.
    pub locked: Option<Duration>,
    /// How long it took.
    pub wall: Duration,
    /// Whose hands they were.
    pub hands_from: Option<&'static str>,
}

/// LIMIT: shares of less time mean nothing.
const SHORT: Duration = Duration::from_millis(500);

/// From this share on something binds.
const BINDS: f64 = 0.5;

/// The report.
pub fn text(end: &VerifyEnd<'_>, format: ReportFormat) -> String {
    let (bound_by, sentence) = judge(end.wall, &end.progress.clocks);
    let progress = end.progress;
    if format == ReportFormat::Json {
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        return json_line(&JsonVerify {
            what: end.purpose,
            tables: progress.tables,
            rows: progress.rows,
            row_bytes: progress.bytes,
            connections: end.connections,
            locked_ns: end.locked.map(nanoseconds),
            wall_ns: nanoseconds(end.wall),
            client_cpu_ns: nanoseconds(progress.clocks.computing),
            bound_by,
            sentence,
        });
    }
    let rate = progress.bytes as f64 / end.wall.as_secs_f64().max(1e-9);
    let mut text = format!(
        "{}: {} in {}, {}\n{}, {} of CPU time in this program\n{sentence}\n",
        counted(progress.rows, "row"),
        terminal::bytes(progress.bytes),
        terminal::duration(end.wall),
        terminal::rate(rate),
        counted(end.connections as u64, "connection"),
        terminal::duration(progress.clocks.computing)
    );
    if let Some(locked) = end.locked {
        text += &format!("the server was locked for {}\n", terminal::duration(locked));
    }
    if let Some(hands) = end.hands_from {
        text += &format!("cores: {hands}\n");
    }
    text
}

fn judge(wall: Duration, clocks: &DumpClocks) -> (&'static str, String) {
    let threads = (clocks.reading + clocks.waiting_for_hands).as_secs_f64();
    if wall < SHORT || threads == 0.0 {
        return ("unknown", format!("cannot tell: it took {}, too short to measure", terminal::duration(wall)));
    }
    let waited = clocks.waiting_for_hands.as_secs_f64() / threads;
    let computing = clocks.computing.as_secs_f64() / clocks.reading.as_secs_f64().max(1e-9);
    if waited >= BINDS {
        let share = terminal::percentage_whole(waited);
        return ("cores", format!("bound by cores: connections waited {share} of their time for one (mh crew)"));
    }
    if computing >= BINDS {
        let share = terminal::percentage_whole(computing);
        return ("client", format!("bound by this program: it added up rows for {share} of the time that they took"));
    }
    let share = terminal::percentage_whole(1.0 - computing);
    ("server", format!("bound by the server: connections waited for its rows for {share} of the time"))
}

#[derive(Serialize)]
struct JsonVerify<'a> {
    what: &'a str,
    tables: u64,
    rows: u64,
    row_bytes: u64,
    connections: usize,
    /// None: no server was locked.
    #[serde(skip_serializing_if = "Option::is_none")]
    locked_ns: Option<u64>,
    wall_ns: u64,
    client_cpu_ns: u64,
    bound_by: &'static str,
    sentence: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_took_most_of_the_time_binds() {
        let bound = |reading, computing, waiting| {
            let seconds = Duration::from_secs;
            let clocks = DumpClocks {
                reading: seconds(reading),
                computing: seconds(computing),
                waiting_for_hands: seconds(waiting),
                ..DumpClocks::default()
            };
            judge(seconds(10), &clocks).0
        };
        assert_eq!(
            [bound(10, 1, 1), bound(10, 6, 1), bound(5, 1, 6), bound(0, 0, 0)],
            ["server", "client", "cores", "unknown"]
        );
    }
}
