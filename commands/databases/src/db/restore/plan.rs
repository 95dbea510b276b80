//! What a restore will do and why: connections, which tables are loaded in pieces, what pg_restore does. Changes nothing.

use super::args::DbRestoreArgs;
use crate::db::index;
use crate::db::programs::ClientPrograms;
use crew::plan::Plan;
use database::restore::{LookedArchive, RestoreInto, RestoreTable, RowSource};
use mh_kit::report::counted;

/// LIMIT: connections that are made unless -j says more, and the cores are more.
const CONNECTIONS_USUAL_MAX: usize = 32;

/// Sessions besides those that load rows and make indexes: the ledger's, two that look at the server, pg_restore's.
const OTHER_CONNECTIONS: u64 = 4;

/// Connections for each core: they wait for WAL and for the disk.
const CONNECTIONS_A_CORE: usize = 2;

/// LIMIT: memory for rows of files that are cut here.
const HELD_BYTES: usize = 512 << 20;

/// LIMIT: tables that a plan lists.
const TABLES_LISTED_MAX: usize = 20;

/// A restore that is ready to begin.
pub struct RestoreJob {
    /// For people.
    pub plan: Plan,
    /// The database, without a password.
    pub name: String,
    /// Connections that load rows; at most as many make indexes.
    pub connections: usize,
    /// Bytes of a piece of rows.
    pub chunk_bytes: usize,
    /// Memory for all sorts of indexes together; none: each session has what the server gives it.
    pub index_memory: Option<u64>,
    /// Whether the server works on this host.
    pub is_server_here: bool,
    /// Whether pg_restore does a part of it.
    pub has_program: bool,
}

/// The facts that a plan rests on.
pub struct RestoreCircumstances<'a> {
    /// The database, without a password.
    pub name: String,
    /// `15.18`.
    pub server_version: String,
    /// Connections that the server has left.
    pub connections_left: u64,
    /// PostgreSQL's programs.
    pub programs: &'a ClientPrograms,
    /// The archive.
    pub looked: &'a LookedArchive,
    /// Whether the server works on this host.
    pub is_server_here: bool,
    /// Cores that may be used.
    pub hands_allowed: usize,
    /// Memory that may be used.
    pub memory_bytes: u64,
}

/// Decides. The error is a sentence for the user that reads after "could not".
pub fn plan(args: &DbRestoreArgs, circumstances: &RestoreCircumstances<'_>) -> Result<RestoreJob, String> {
    let RestoreCircumstances { name, server_version, programs, looked, is_server_here, .. } = circumstances;
    let mut plan = Plan::new(format!("restore {} into {name}", terminal::quote(&args.archive)));
    let place = if *is_server_here { "it is on this host and shares its cores" } else { "it is elsewhere" };
    plan.choose("server", format!("PostgreSQL {server_version}"), place);
    plan.choose(
        "programs",
        format!("pg_restore {} in {}", programs.version, terminal::quote(&programs.directory)),
        "it reads the archive; the server's own version is tried first",
    );
    let from = looked.contents.server_version.as_deref().unwrap_or("an unknown version");
    let database = looked.contents.database.as_deref().unwrap_or("?");
    plan.choose("archive", format!("of database {database}"), format!("dumped from PostgreSQL {from}"));
    // As many make indexes.
    let room = SessionRoom { has: circumstances.connections_left, others: OTHER_CONNECTIONS, each: 2 };
    let (connections, reason) = connections(args.connections, &room, circumstances.hands_allowed)?;
    plan.choose("connections", connections.to_string(), reason);
    list_tables(&mut plan, &looked.parts.tables);
    let parts = &looked.parts;
    let indexes: usize = parts.tables.iter().map(|table| table.indexes.len()).sum();
    plan.choose(
        "indexes",
        terminal::integer(indexes as u64),
        "each as soon as its table's rows are in; keys become constraints by their index",
    );
    let (index_memory, why_memory) = index::plan::memory(args.memory, *is_server_here, circumstances.memory_bytes);
    plan.choose("memory", index_memory.map_or("the server's".to_owned(), terminal::bytes), why_memory);
    let others = (parts.before.len() + parts.meanwhile.len() + parts.after.len()) as u64;
    plan.choose("pg_restore", counted(others, "entry"), "schemas, functions, large objects, foreign keys, triggers");
    plan.choose("order", order(parts.in_order), order_reason(parts.in_order));
    match (args.verify, &parts.index_fault) {
        (true, Some(fault)) => return Err(format!("verify: {fault}; rows are counted without --verify")),
        (true, None) if !parts.is_indexed => {
            return Err(
                "verify: the archive has no mh.index, which mh db dump writes; rows are counted without --verify"
                    .to_owned(),
            );
        }
        (true, None) => {
            plan.choose("verification", "full", "all rows are read again, and compared with the archive's hashes")
        }
        (false, _) => plan.choose("verification", "rows", "the server's count of each piece must be the archive's"),
    }
    plan.choose("interruption", "--resume goes on", "each piece is noted in the schema mh_restore until all is done");
    plan.choose("database", into(args.into()), "by the command line");
    mh_kit::sharing::explain(&mut plan);
    let chunk_bytes = (HELD_BYTES / (connections + 2)).clamp(1 << 20, 16 << 20);
    let (name, is_server_here) = (name.clone(), *is_server_here);
    let has_program = true;
    Ok(RestoreJob { plan, name, connections, chunk_bytes, index_memory, is_server_here, has_program })
}

fn order(in_order: bool) -> &'static str {
    if in_order { "the archive's" } else { "the largest table first" }
}

fn order_reason(in_order: bool) -> &'static str {
    match in_order {
        true => "tables are there with their foreign keys: one is filled after the other",
        false => "it would be the last otherwise",
    }
}

/// What may be there before, for people.
pub fn into(into: RestoreInto) -> &'static str {
    match into {
        RestoreInto::Empty => "must be empty",
        RestoreInto::Existing => "may have anything in it",
        RestoreInto::Cleaned { .. } => "what is to be restored is dropped first",
        RestoreInto::Interrupted => "has what an interrupted restore has left",
    }
}

/// Sessions that a server has left.
pub struct SessionRoom {
    /// So many.
    pub has: u64,
    /// Those besides the ones that load.
    pub others: u64,
    /// For each one that loads.
    pub each: u64,
}

/// How many connections, and why no other number.
pub fn connections(asked: Option<usize>, room: &SessionRoom, hands: usize) -> Result<(usize, String), String> {
    let (wanted, reason) = match asked.filter(|count| *count > 0) {
        Some(count) => (count, "asked for".to_owned()),
        None => {
            let cores = counted(hands as u64, "core");
            let wanted = (CONNECTIONS_A_CORE * hands).min(CONNECTIONS_USUAL_MAX);
            (wanted, format!("{CONNECTIONS_A_CORE} for each of {cores}: some wait for the disk"))
        }
    };
    let left = room.has.saturating_sub(room.others) / room.each;
    if left == 0 {
        return Err(format!(
            "connect: the server has {} left, and a restore needs {}",
            counted(room.has, "connection"),
            room.others + room.each
        ));
    }
    let left = usize::try_from(left).unwrap_or(usize::MAX);
    Ok(match left < wanted {
        true => (left, format!("the server has no more left for {wanted}: max_connections")),
        false => (wanted, reason),
    })
}

fn list_tables(plan: &mut Plan, tables: &[RestoreTable]) {
    let mut largest: Vec<&RestoreTable> = tables.iter().filter(|table| table.stored >= 1 << 20).collect();
    largest.sort_by_key(|table| std::cmp::Reverse(table.stored));
    for table in largest.iter().take(TABLES_LISTED_MAX) {
        let how = match &table.source {
            RowSource::Frames(frames) => format!("{} read at any place", counted(frames.frames.len() as u64, "frame")),
            RowSource::Stream => "one stream, which is cut between rows".to_owned(),
        };
        plan.choose("table", table.name.clone(), format!("{} in the archive; {how}", terminal::bytes(table.stored)));
    }
    let others = tables.len() - largest.len().min(TABLES_LISTED_MAX);
    if others > 0 {
        plan.choose("other tables", terminal::integer(others as u64), "they are smaller");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(clap::Parser)]
    struct Typed {
        #[command(flatten)]
        args: DbRestoreArgs,
    }

    fn planned(words: &[&str], connections_left: u64) -> Result<RestoreJob, String> {
        let words = ["restore", "d"].into_iter().chain(words.iter().copied());
        let args = <Typed as clap::Parser>::try_parse_from(words).expect("a command line").args;
        let programs = ClientPrograms { directory: "/nothing".into(), version: "15.1".to_owned(), major: 15 };
        let mut looked = LookedArchive::default();
        looked.parts.tables.push(RestoreTable {
            entry: 7,
            name: "public.big".to_owned(),
            copy: String::new(),
            file: "d/7.dat".into(),
            stored: 5 << 20,
            source: RowSource::Stream,
            indexes: Vec::new(),
        });
        plan(
            &args,
            &RestoreCircumstances {
                name: "shop".to_owned(),
                server_version: "15.1".to_owned(),
                connections_left,
                programs: &programs,
                looked: &looked,
                is_server_here: true,
                hands_allowed: 4,
                memory_bytes: 8 << 30,
            },
        )
    }

    #[test]
    fn connections_are_two_a_core_as_far_as_the_server_has_them() {
        let count = |words: &[&str], left| planned(words, left).map(|job| job.connections);
        assert_eq!((count(&[], 97), count(&["-j", "3"], 97)), (Ok(8), Ok(3)));
        assert_eq!((count(&[], 11), count(&["-j", "90"], 197)), (Ok(3), Ok(90)));
        assert!(count(&[], 5).is_err_and(|error| error.contains("5 connections left, and a restore needs 6")));
        assert_eq!(planned(&["-j", "90"], 197).expect("a plan").chunk_bytes, HELD_BYTES / 92);
    }

    #[test]
    fn a_plan_says_what_may_be_there_and_how_tables_are_read() {
        let job = planned(&["--clean", "--if-exists"], 97).expect("a plan");
        assert!(job.plan.about("database").expect("a choice").decision.contains("dropped first"));
        assert_eq!(job.plan.about("table").expect("a choice").decision, "public.big");
        assert!(planned(&["--resume"], 97).expect("a plan").plan.about("database").is_some());
    }
}
