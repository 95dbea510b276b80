//! pgbench's tables and transactions. The transactions are scripts in its own language.

use super::tables::{TableContent, WorkloadTable};
use super::{BuiltIn, WorkloadOptions};
use crate::script::{LoadScript, ScriptOptions};
use crate::session::SqlDialect;

/// Tellers and accounts of a branch.
pub(super) const TELLERS: u64 = 10;
pub(super) const ACCOUNTS: u64 = 100_000;

const DRAWS: &str = "\\set aid random(1, 100000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
";
const UPDATE_ACCOUNT: &str = "UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\n";
const SELECT_ACCOUNT: &str = "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n";
const UPDATE_TELLER: &str = "UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;\n";
const UPDATE_BRANCH: &str = "UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;\n";
const INSERT_HISTORY: &str = "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
                              VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);\n";

/// The text of a transaction.
fn text(workload: BuiltIn, dialect: SqlDialect) -> String {
    let (begin, end) = match dialect {
        SqlDialect::MySql => ("BEGIN;\n", "COMMIT;\n"),
        // A lock that is taken at the first update cannot be had by two who have read before.
        SqlDialect::Sqlite => ("BEGIN IMMEDIATE;\n", "END;\n"),
        SqlDialect::Postgres | SqlDialect::Echo => ("BEGIN;\n", "END;\n"),
    };
    match workload {
        BuiltIn::TpcbSelect => ["\\set aid random(1, 100000 * :scale)\n", SELECT_ACCOUNT].concat(),
        BuiltIn::TpcbSimple => [DRAWS, begin, UPDATE_ACCOUNT, SELECT_ACCOUNT, INSERT_HISTORY, end].concat(),
        _ => [DRAWS, begin, UPDATE_ACCOUNT, SELECT_ACCOUNT, UPDATE_TELLER, UPDATE_BRANCH, INSERT_HISTORY, end].concat(),
    }
}

/// A transaction as a script.
pub(super) fn script(workload: BuiltIn, options: &WorkloadOptions) -> LoadScript {
    let script_options = ScriptOptions {
        is_prepared: options.is_prepared,
        scale: i64::try_from(options.scale).unwrap_or(i64::MAX),
        random_seed: options.seed as i64,
        ..ScriptOptions::new(options.dialect)
    };
    LoadScript::parse(workload.name(), &text(workload, options.dialect), &script_options)
        .expect("the program's own scripts have no mistake, as tests check for each dialect")
}

/// pgbench's four tables.
pub(super) fn tables(options: &WorkloadOptions) -> Vec<WorkloadTable> {
    let table = |name: &str, rows: u64, columns: &'static str, definition: &str, content: TableContent| {
        let has_rows = rows > 0;
        // Rows that are updated in place want full pages to begin with, as pgbench has them.
        let behind = if options.dialect == SqlDialect::Postgres && has_rows { " WITH (fillfactor = 100)" } else { "" };
        let key = columns.split(',').next().unwrap_or("");
        // PostgreSQL makes an index faster from all rows at once; the others keep rows by their key.
        let is_key_late = options.dialect == SqlDialect::Postgres;
        let key_inside = if has_rows && !is_key_late { format!(", PRIMARY KEY ({key})") } else { String::new() };
        let mut finish = Vec::new();
        if has_rows && is_key_late {
            finish.push(format!("ALTER TABLE {name} ADD PRIMARY KEY ({key})"));
        }
        WorkloadTable {
            name: name.to_owned(),
            rows,
            create: vec![format!("CREATE TABLE {name} ({definition}{key_inside}){behind}")],
            finish,
            columns,
            content,
        }
    };
    let time = if options.dialect == SqlDialect::Postgres { "timestamp" } else { "datetime" };
    vec![
        table(
            "pgbench_branches",
            options.scale,
            "bid, bbalance",
            "bid integer NOT NULL, bbalance integer, filler char(88)",
            TableContent::Branches,
        ),
        table(
            "pgbench_tellers",
            options.scale * TELLERS,
            "tid, bid, tbalance",
            "tid integer NOT NULL, bid integer, tbalance integer, filler char(84)",
            TableContent::Tellers,
        ),
        table(
            "pgbench_accounts",
            options.scale * ACCOUNTS,
            "aid, bid, abalance, filler",
            "aid integer NOT NULL, bid integer, abalance integer, filler char(84)",
            TableContent::Accounts,
        ),
        table(
            "pgbench_history",
            0,
            "",
            &format!("tid integer, bid integer, aid integer, delta integer, mtime {time}, filler char(22)"),
            TableContent::History,
        ),
    ]
}
