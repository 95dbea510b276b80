//! `--report`: what a dump read and wrote, where its time went, what it cost, and what bound it.

use crate::db::waits::{cost_text, forecast};
use ::load::cost::ServerCost;
use database::dump::{DumpClocks, DumpCodec, DumpProgress};
use mh_kit::context::Context;
use mh_kit::report::{counted, json_line};
use mh_kit::shared_args::ReportFormat;
use serde::Serialize;
use std::time::Duration;
use terminal::{Align, TextTable};

/// A dump that has succeeded.
pub struct DumpEnd<'a> {
    /// The database, without a password.
    pub name: &'a str,
    /// What wrote the schema: pg_dump or mariadb-dump.
    pub program: &'static str,
    /// Its version.
    pub program_version: &'a str,
    /// Connections that read rows.
    pub connections: usize,
    /// Whether the server works on this host.
    pub is_server_here: bool,
    /// How rows are compressed.
    pub codec: &'a DumpCodec,
    /// At its end.
    pub progress: &'a DumpProgress,
    /// Units of whole rows in the archive.
    pub frames: u64,
    /// How long the server was locked, if so.
    pub locked: Option<Duration>,
    /// How long it took.
    pub wall: Duration,
    /// CPU time of this program, without the one that wrote the schema.
    pub client_cpu: Duration,
    /// What it cost the server, if that is on this host and may be seen.
    pub cost: Option<ServerCost>,
    /// Whose hands they were.
    pub hands_from: Option<&'static str>,
    /// Cores that may be used.
    pub cores: usize,
}

/// Prints what was asked for.
pub fn show(context: &Context, format: Option<ReportFormat>, end: &DumpEnd<'_>) {
    let text = match format {
        None => return,
        Some(ReportFormat::Json) => json_line(&JsonDump::new(end)),
        Some(ReportFormat::Text) => report_text(end),
    };
    context.messages.report(&text);
}

fn report_text(end: &DumpEnd<'_>) -> String {
    let progress = end.progress;
    let seconds = end.wall.as_secs_f64().max(1e-9);
    let mut text = format!(
        "{}: {}, {} of {} in {}, {}\n\nwhere the time went\n",
        terminal::printable(end.name),
        counted(progress.tables, "table"),
        counted(progress.rows, "row"),
        terminal::bytes(progress.bytes),
        terminal::duration(end.wall),
        terminal::rate(progress.bytes as f64 / seconds)
    );
    let mut table = TextTable::new(&[Align::Left, Align::Left]).indented(2);
    for (name, what) in time_rows(end) {
        table.row([&name, &what]);
    }
    text += &table.to_string();
    let verdict = judge(end);
    text += &format!("{}\n", verdict.sentence);
    for step in &verdict.next_steps {
        text += &format!("next: {step}\n");
    }
    if let Some(line) = forecast(end.cost.as_ref(), end.client_cpu, end.cores) {
        text += &format!("{line}\n");
    }
    if let Some(hands) = end.hands_from {
        text += &format!("cores: {hands}\n");
    }
    text
}

fn time_rows(end: &DumpEnd<'_>) -> Vec<(String, String)> {
    let progress = end.progress;
    let clocks = &progress.clocks;
    let share = |time: Duration| terminal::percentage_whole(time.as_secs_f64() / total(clocks).max(1e-9));
    let reading = format!(
        "{} reading rows, {} waiting for a table or a part, {} waiting for a core",
        share(clocks.reading),
        share(clocks.waiting_for_work),
        share(clocks.waiting_for_hands)
    );
    let server = cost_text(end.cost.as_ref());
    let written = match end.frames {
        0 => terminal::bytes(progress.written),
        frames => {
            format!("{} in {}, {}", terminal::bytes(progress.written), counted(frames, "frame"), end.codec.name())
        }
    };
    let own = format!("{} of CPU time, without {}", terminal::duration(end.client_cpu), end.program);
    let mut rows = vec![
        (counted(end.connections as u64, "connection"), reading),
        ("this program".to_owned(), own),
        ("server".to_owned(), server),
        ("written".to_owned(), written),
    ];
    rows.extend(end.locked.map(|held| ("lock".to_owned(), format!("held for {}", terminal::duration(held)))));
    rows
}

fn total(clocks: &DumpClocks) -> f64 {
    (clocks.reading + clocks.waiting_for_hands + clocks.waiting_for_work).as_secs_f64()
}

/// What bound a dump.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct DumpVerdict {
    /// `server`, `client`, `pg_dump`, `mariadb-dump`, `cores` or `unknown`.
    bound_by: &'static str,
    /// The same as a sentence.
    sentence: String,
    /// What would help.
    next_steps: Vec<String>,
}

/// LIMIT: shares of less time mean nothing.
const SHORT: Duration = Duration::from_millis(500);

/// From this share on something binds.
const BINDS: f64 = 0.5;

fn judge(end: &DumpEnd<'_>) -> DumpVerdict {
    let (wall, clocks) = (end.wall, &end.progress.clocks);
    let threads = total(clocks);
    if wall < SHORT || threads == 0.0 {
        let sentence = format!("cannot tell: the dump took {}, too short to measure", terminal::duration(wall));
        return DumpVerdict { bound_by: "unknown", sentence, next_steps: Vec::new() };
    }
    let share = |time: Duration| time.as_secs_f64() / threads;
    let percent = |time: Duration| terminal::percentage_whole(share(time));
    let computing = clocks.computing.as_secs_f64() / clocks.reading.as_secs_f64().max(1e-9);
    let (bound_by, sentence) = if share(clocks.waiting_for_hands) >= BINDS {
        let waited = percent(clocks.waiting_for_hands);
        (
            "cores",
            format!("bound by cores: connections waited {waited} of their time for one that other runs have (mh crew)"),
        )
    } else if share(clocks.waiting_for_work) >= BINDS {
        let waited = percent(clocks.waiting_for_work);
        let sentence = format!(
            "bound by {} or one table: connections waited {waited} of their time for rows to read",
            end.program
        );
        (end.program, sentence)
    } else if computing >= BINDS {
        let share = terminal::percentage_whole(computing);
        ("client", format!("bound by this program: it compressed for {share} of the time that rows took"))
    } else {
        let share = terminal::percentage_whole(1.0 - computing);
        ("server", format!("bound by the server: connections waited for its rows for {share} of the time"))
    };
    DumpVerdict { bound_by, sentence, next_steps: next_steps(bound_by, end) }
}

fn next_steps(bound_by: &str, end: &DumpEnd<'_>) -> Vec<String> {
    let connections = end.connections;
    match bound_by {
        "server" if !end.is_server_here || connections < end.cores => {
            let most = terminal::percentage_whole(1.0 / (connections as f64 + 1.0));
            vec![format!("one more connection buys {most} at most (-j {})", connections + 1)]
        }
        "client" if end.codec.name() != "none" => vec![format!("a faster compression than {}: -Z", end.codec.name())],
        _ => Vec::new(),
    }
}

#[derive(Serialize)]
struct JsonDump<'a> {
    database: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pg_dump: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mariadb_dump: Option<&'a str>,
    tables: u64,
    rows: u64,
    row_bytes: u64,
    stored_bytes: u64,
    frames: u64,
    compression: String,
    connections: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    locked_ns: Option<u64>,
    wall_ns: u64,
    client_cpu_ns: u64,
    server_cost: Option<ServerCost>,
    #[serde(flatten)]
    verdict: DumpVerdict,
}

impl<'a> JsonDump<'a> {
    fn new(end: &DumpEnd<'a>) -> Self {
        let progress = end.progress;
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Self {
            database: end.name,
            pg_dump: Some(end.program_version).filter(|_| end.program == "pg_dump"),
            mariadb_dump: Some(end.program_version).filter(|_| end.program != "pg_dump"),
            tables: progress.tables,
            rows: progress.rows,
            row_bytes: progress.bytes,
            stored_bytes: progress.written,
            frames: end.frames,
            compression: end.codec.name(),
            connections: end.connections,
            locked_ns: end.locked.map(nanoseconds),
            wall_ns: nanoseconds(end.wall),
            client_cpu_ns: nanoseconds(end.client_cpu),
            server_cost: end.cost,
            verdict: judge(end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(reading: u64, computing: u64, work: u64, hands: u64) -> DumpVerdict {
        let seconds = Duration::from_secs;
        let clocks = DumpClocks {
            reading: seconds(reading),
            computing: seconds(computing),
            waiting_for_work: seconds(work),
            waiting_for_hands: seconds(hands),
        };
        judge(&DumpEnd {
            name: "shop",
            program: "pg_dump",
            program_version: "17.2",
            connections: 2,
            is_server_here: true,
            codec: &DumpCodec::parse("gzip:9").expect("a compression"),
            progress: &DumpProgress { clocks, ..DumpProgress::default() },
            frames: 1,
            locked: None,
            wall: seconds(10),
            client_cpu: seconds(1),
            cost: None,
            hands_from: None,
            cores: 4,
        })
    }

    #[test]
    fn what_took_most_of_the_time_binds() {
        let server = judged(18, 2, 1, 1);
        assert_eq!(server.bound_by, "server");
        assert_eq!(server.next_steps, ["one more connection buys 33 % at most (-j 3)"]);
        let client = judged(18, 12, 1, 1);
        assert_eq!((client.bound_by, client.next_steps.len()), ("client", 1));
        assert_eq!(judged(5, 1, 15, 0).bound_by, "pg_dump");
        assert_eq!(judged(5, 1, 0, 15).bound_by, "cores");
        assert_eq!(judged(0, 0, 0, 0).bound_by, "unknown");
    }
}
