//! What a dump of MariaDB or MySQL will do and why: program, compression, lock, connections, which tables are divided. Changes nothing.

use super::programs::FoundProgram;
use crate::db::dump::args::DbDumpArgs;
use crate::db::dump::plan::{ConnectionRoom, PART_BYTES, connections, list_tables, place};
use crate::db::mysql_lock;
use crew::plan::Plan;
use database::dump::DumpCodec;
use database::dump_mysql::{DumpLockKind, MySqlSource};

/// Sessions besides those that read rows: the lock's, the one that holds tables, mariadb-dump's.
const OTHER_CONNECTIONS: u64 = 3;

/// A dump that is ready to begin.
pub struct MySqlDumpJob {
    /// For people.
    pub plan: Plan,
    /// The database, without a password.
    pub name: String,
    /// What writes the schema.
    pub program: FoundProgram,
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
pub struct MySqlCircumstances<'a> {
    /// The database, without a password.
    pub name: String,
    /// What is known of it.
    pub source: &'a MySqlSource,
    /// What writes the schema.
    pub program: FoundProgram,
    /// Whether the server works on this host.
    pub is_server_here: bool,
    /// Cores that may be used.
    pub hands_allowed: usize,
}

/// Decides. The error is a sentence for the user that reads after "could not".
pub fn plan(args: &DbDumpArgs, circumstances: MySqlCircumstances<'_>) -> Result<MySqlDumpJob, String> {
    let MySqlCircumstances { name, source, program, is_server_here, hands_allowed } = circumstances;
    let mut plan = Plan::new(format!("dump {name} to {}", terminal::quote(&args.file)));
    plan.choose("server", source.server.name(), place(is_server_here));
    let shown = format!("{} {}", terminal::quote(&program.program.path), program.version);
    plan.choose("program", shown, "it writes all but the rows");
    let (text, reason) = match args.compress.as_deref() {
        Some(text) => (text, "asked for"),
        None => ("zstd:1", "restore.sh needs the decompressor where it is run"),
    };
    let codec = DumpCodec::parse(text).map_err(|cause| format!("compress as asked: {cause}"))?;
    plan.choose("compression", codec.name(), reason);
    let room = ConnectionRoom {
        left: source.connections_left,
        others: OTHER_CONNECTIONS,
        parts: source.tables.iter().map(|table| table.parts).sum(),
    };
    let is_one_enough = source.lock == DumpLockKind::Nothing && args.connections.is_none_or(|count| count == 0);
    let (connections, reason) = match is_one_enough {
        true => (1, "without a lock, only one connection sees one moment".to_owned()),
        false => connections(args.connections, &room, is_server_here, hands_allowed)?,
    };
    plan.choose("connections", connections.to_string(), reason);
    match args.verify {
        true => plan.choose(
            "verification",
            "rows, and the archive",
            "hashes of rows as they came, again when the archive is read back",
        ),
        false => plan.choose("verification", "rows", "rows are counted and hashed; mh.index has both"),
    }
    plan.choose("lock", source.lock.name(), mysql_lock::reason(source.lock, source.locked, connections));
    plan.choose("DDL", "waits", "each connection has touched each table, and holds it until the dump ends");
    list_tables(&mut plan, "", &source.tables, PART_BYTES);
    mh_kit::sharing::explain(&mut plan);
    let warnings = warnings(source, connections);
    Ok(MySqlDumpJob { plan, name, program, codec, connections, is_server_here, warnings })
}

fn warnings(source: &MySqlSource, connections: usize) -> Vec<String> {
    let mut warnings = mysql_lock::warnings(source.lock, source.locked, connections);
    if let Some(first) = source.versioned.first() {
        let others = source.versioned.len() - 1;
        let more = if others > 0 { format!(" and {} more", terminal::integer(others as u64)) } else { String::new() };
        warnings.push(format!("older versions of rows are not dumped: {}{more}", terminal::printable(first)));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use database::dump::SourceTable;
    use database::dump_mysql::{DumpLock, MySqlDumpProgram, MySqlServer};
    use wire::OptionDialect;

    #[derive(clap::Parser)]
    struct Typed {
        #[command(flatten)]
        args: DbDumpArgs,
    }

    fn planned(words: &[&str], lock: DumpLock, locked: (u64, u64)) -> MySqlDumpJob {
        let words = ["dump", "shop", "-f", "d"].into_iter().chain(words.iter().copied());
        let args = <Typed as clap::Parser>::try_parse_from(words).expect("a command line").args;
        let server = MySqlServer::of("10.11.19-MariaDB");
        let table = SourceTable { name: "big".to_owned(), bytes: 400 << 20, parts: 12, undivided: None };
        let source = MySqlSource {
            lock: server.lock(lock),
            server,
            connections_left: 100,
            tables: vec![table],
            locked,
            versioned: vec!["v".to_owned()],
            is_encrypted: false,
        };
        let program = MySqlDumpProgram { path: "/usr/bin/mariadb-dump".into(), dialect: OptionDialect::MariaDb };
        let program = FoundProgram { program, version: "10.11.19".to_owned() };
        let name = "shop".to_owned();
        let is_server_here = true;
        plan(&args, MySqlCircumstances { name, source: &source, program, is_server_here, hands_allowed: 8 })
            .expect("a plan")
    }

    #[test]
    fn without_a_lock_one_connection_is_the_default() {
        assert_eq!(planned(&[], DumpLock::Auto, (0, 0)).connections, 8);
        assert_eq!(planned(&[], DumpLock::None, (0, 0)).connections, 1);
        let many = planned(&["-j4"], DumpLock::None, (1, 10));
        assert_eq!((many.connections, many.warnings.len()), (4, 3), "{:?}", many.warnings);
    }

    #[test]
    fn a_plan_says_what_waits_for_the_lock() {
        let lock = |locked| planned(&[], DumpLock::Auto, locked).plan.about("lock").expect("a choice").reason.clone();
        assert!(lock((0, 0)).starts_with("commits and DDL wait while all connections"));
        assert_eq!(lock((2, 5000)), "commits and DDL wait until 2 tables without transactions (5 kB) are read");
    }
}
