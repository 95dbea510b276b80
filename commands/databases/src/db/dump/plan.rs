//! What a dump will do and why: programs, compression, connections, which tables are divided. Changes nothing.

use super::args::DbDumpArgs;
use crate::db::programs::ClientPrograms;
use crew::plan::Plan;
use database::dump::{DumpCodec, DumpSource, SourceTable};
use mh_kit::report::counted;

/// Uncompressed bytes of a part of a table: smaller ones cost the server more, larger ones memory.
pub const PART_BYTES: u64 = 32 << 20;

/// LIMIT: connections that are made unless -j says more, and the cores are more.
const CONNECTIONS_USUAL_MAX: usize = 16;

/// The same of a script: each connection holds a part until those before it have gone to pg_dump.
const SCRIPT_PART_BYTES: u64 = 8 << 20;

/// Uncompressed bytes of a part of a table.
pub fn part_bytes(args: &DbDumpArgs) -> u64 {
    if args.is_script() { SCRIPT_PART_BYTES } else { PART_BYTES }
}

/// Sessions besides those that read rows: that of the snapshot, and three of pg_dump.
const OTHER_CONNECTIONS: u64 = 4;

/// LIMIT: tables that a plan lists.
const TABLES_LISTED_MAX: usize = 20;

/// A dump that is ready to begin.
pub struct DumpJob {
    /// For people.
    pub plan: Plan,
    /// The database, without a password.
    pub name: String,
    /// PostgreSQL's programs.
    pub programs: ClientPrograms,
    /// How rows are compressed.
    pub codec: DumpCodec,
    /// Connections that read rows.
    pub connections: usize,
    /// Whether the server works on this host.
    pub is_server_here: bool,
    /// What the user should know before.
    pub warnings: Vec<String>,
}

/// The facts that a plan rests on.
pub struct DumpCircumstances<'a> {
    /// The database, without a password.
    pub name: String,
    /// What is known of it.
    pub source: &'a DumpSource,
    /// PostgreSQL's programs.
    pub programs: ClientPrograms,
    /// Whether the server works on this host.
    pub is_server_here: bool,
    /// Cores that may be used.
    pub hands_allowed: usize,
}

/// Decides. The error is a sentence for the user that reads after "could not".
pub fn plan(args: &DbDumpArgs, circumstances: DumpCircumstances<'_>) -> Result<DumpJob, String> {
    let DumpCircumstances { name, source, programs, is_server_here, hands_allowed } = circumstances;
    let mut plan = Plan::new(format!("dump {name} to {}", args.shown_target()));
    let mut warnings = warnings(source);
    plan.choose("server", format!("PostgreSQL {}", source.server_version), place(is_server_here));
    plan.choose(
        "programs",
        format!("pg_dump {} in {}", programs.version, terminal::quote(&programs.directory)),
        "the newest here that is not older than the server; it writes all but the rows",
    );
    let (codec, reason) = match args.is_script() {
        true => (
            DumpCodec::parse("none")?,
            "pg_dump writes the script, rows in its order: mh tamp compresses it".to_owned(),
        ),
        false => codec(args.compress.as_deref(), &programs)?,
    };
    warnings.extend(args.compress.as_ref().and(programs.why_unreadable(&codec)));
    plan.choose("compression", codec.name(), reason);
    let parts = source.tables.iter().map(|table| table.parts).sum::<u64>();
    let room = ConnectionRoom { left: source.connections_left, others: OTHER_CONNECTIONS, parts };
    let (connections, reason) = connections(args.connections, &room, is_server_here, hands_allowed)?;
    plan.choose("connections", connections.to_string(), reason);
    let (verification, why) = args.verification();
    plan.choose("verification", verification, why);
    plan.choose("locks", "ACCESS SHARE on each table", "as pg_dump takes them; DDL waits until the dump ends");
    let selected = if args.selection().is_empty() { "" } else { ", if pg_dump's options select it" };
    list_tables(&mut plan, selected, &source.tables, part_bytes(args));
    mh_kit::sharing::explain(&mut plan);
    Ok(DumpJob { plan, name, programs, codec, connections, is_server_here, warnings })
}

pub fn place(is_server_here: bool) -> &'static str {
    if is_server_here { "it is on this host and shares its cores" } else { "it is elsewhere" }
}

fn warnings(source: &DumpSource) -> Vec<String> {
    let mut warnings = Vec::new();
    if source.tables.len() as u64 > source.lock_slots {
        warnings.push(format!(
            "the server has room for about {} locks and the database has {}: more max_locks_per_transaction may be needed",
            terminal::integer(source.lock_slots),
            counted(source.tables.len() as u64, "table")
        ));
    }
    if source.is_standby {
        warnings.push(
            "the server is a standby: it may cancel the dump (max_standby_streaming_delay, hot_standby_feedback)"
                .to_owned(),
        );
    }
    warnings
}

fn codec(asked: Option<&str>, programs: &ClientPrograms) -> Result<(DumpCodec, String), String> {
    if let Some(text) = asked {
        let codec = DumpCodec::parse(text).map_err(|cause| format!("compress as asked: {cause}"))?;
        return Ok((codec, "asked for".to_owned()));
    }
    let best = DumpCodec::parse("zstd:1")?;
    match programs.why_unreadable(&best) {
        None => Ok((best, format!("pg_restore {} reads it", programs.version))),
        Some(why) => Ok((DumpCodec::parse("gzip:1")?, why)),
    }
}

/// How many connections there can be, and are of use.
pub struct ConnectionRoom {
    /// Those that the server has left.
    pub left: u64,
    /// Those besides the ones that read rows.
    pub others: u64,
    /// Parts that can be read.
    pub parts: u64,
}

/// How many connections, and why no other number.
pub fn connections(
    asked: Option<usize>,
    room: &ConnectionRoom,
    is_server_here: bool,
    hands_allowed: usize,
) -> Result<(usize, String), String> {
    let (wanted, reason) = match asked.filter(|count| *count > 0) {
        Some(count) => (count, "asked for".to_owned()),
        None if is_server_here => {
            let cores = counted(hands_allowed as u64, "core");
            (
                hands_allowed.min(CONNECTIONS_USUAL_MAX),
                format!("the server is on this host: a connection for each of {cores}"),
            )
        }
        None => (hands_allowed.clamp(2, CONNECTIONS_USUAL_MAX), "the server is elsewhere: -j says more".to_owned()),
    };
    let left = room.left.saturating_sub(room.others);
    if left == 0 {
        return Err(format!(
            "connect: the server has {} left, and a dump needs {}",
            counted(room.left, "connection"),
            room.others + 1
        ));
    }
    let useful = room.parts.max(1);
    let as_count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    if as_count(left.min(useful)) >= wanted {
        return Ok((wanted, reason));
    }
    Ok(match left < useful {
        true => (as_count(left), format!("the server has no more left for {wanted}: max_connections")),
        false => (as_count(useful), "there is no more to divide".to_owned()),
    })
}

/// Adds tables that are divided, and large ones that are not.
pub fn list_tables(plan: &mut Plan, selected: &str, tables: &[SourceTable], part_bytes: u64) {
    let told: Vec<&SourceTable> = tables.iter().filter(|table| table.parts > 1 || table.undivided.is_some()).collect();
    for table in told.iter().take(TABLES_LISTED_MAX) {
        let size = terminal::bytes(table.bytes);
        match table.undivided {
            Some(reason) => plan.choose("table", format!("{} whole", table.name), format!("{size}; {reason}")),
            None => {
                plan.choose("table", format!("{} in {} parts", table.name, table.parts), format!("{size}{selected}"))
            }
        }
    }
    let others = tables.len() - told.len().min(TABLES_LISTED_MAX);
    let reason = match told.len() > TABLES_LISTED_MAX {
        true => format!("the largest {TABLES_LISTED_MAX} are listed"),
        false => format!("each is smaller than {}", terminal::bytes(2 * part_bytes)),
    };
    if others > 0 {
        plan.choose("other tables", terminal::integer(others as u64), reason);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressions_are_those_that_can_be_read() {
        let directory = std::path::PathBuf::from("/nothing");
        let programs = ClientPrograms { directory, version: "15.1".to_owned(), major: 15 };
        let (codec_of_15, reason) = codec(None, &programs).expect("gzip");
        assert_eq!(codec_of_15.name(), "gzip:1");
        assert!(reason.contains("does not read zstd"), "{reason}");
        assert_eq!(codec(Some("zstd:9"), &programs).expect("asked for").0.name(), "zstd:9");
        assert!(codec(Some("rar"), &programs).is_err());
    }

    #[derive(clap::Parser)]
    struct Typed {
        #[command(flatten)]
        args: DbDumpArgs,
    }

    fn planned(words: &[&str], connections_left: u64) -> Result<DumpJob, String> {
        let words = ["dump", "shop", "-f", "d"].into_iter().chain(words.iter().copied());
        let args = <Typed as clap::Parser>::try_parse_from(words).expect("a command line").args;
        let table = |name: &str, parts, undivided| SourceTable {
            name: name.to_owned(),
            bytes: parts * PART_BYTES,
            parts,
            undivided,
        };
        let source = DumpSource {
            server_version: "15.1".to_owned(),
            connections_left,
            tables: vec![table("public.big", 12, None), table("public.other", 1, Some("it is not stored as a heap"))],
            is_standby: true,
            ..DumpSource::default()
        };
        let directory = std::path::PathBuf::from("/nothing");
        let programs = ClientPrograms { directory, version: "15.1".to_owned(), major: 15 };
        let name = "shop".to_owned();
        let is_server_here = true;
        plan(&args, DumpCircumstances { name, source: &source, programs, is_server_here, hands_allowed: 8 })
    }

    #[test]
    fn a_plan_has_as_many_connections_as_there_is_room_and_work_for() {
        let count = |words: &[&str], left| planned(words, left).map(|job| job.connections);
        assert_eq!((count(&[], 97), count(&["-j", "3"], 97)), (Ok(8), Ok(3)));
        assert_eq!((count(&["-j", "90"], 97), count(&[], 6)), (Ok(13), Ok(2)));
        assert!(count(&[], 4).is_err_and(|error| error.contains("4 connections left, and a dump needs 5")));
    }

    #[test]
    fn a_plan_names_divided_tables_and_warns() {
        let job = planned(&["-Z", "zstd"], 97).expect("a plan");
        assert_eq!(job.plan.about("table").expect("a choice").decision, "public.big in 12 parts");
        assert_eq!(job.warnings.len(), 3, "locks, a standby, and what pg_restore does not read: {:?}", job.warnings);
    }
}
