//! Indexes and constraints of a file, several at once: statements are read and divided into jobs (`script`, `jobs`), which lanes carry out. Theory: README.md.

mod facts;
mod jobs;
mod key;
mod lane;
mod lanes;
mod lexer;
mod reader;
mod rebuild;
mod rule;
mod script;
mod statement;
mod watch;

pub(crate) use facts::literal;
pub use facts::{IndexFacts, IndexedTable};
pub use jobs::{IndexJob, IndexWork, Present, TableSharing};
pub use lane::Connecting;
pub use lanes::{AfterFailure, BuildEnd, BuildOutcome, BuildStage, IndexLanes, IndexProgress, LaneStop, RunningJob};
pub use lexer::ScriptDialect;
pub(crate) use lexer::{SqlLexer, SqlTokenKind};
pub use reader::plain_name;
pub use rebuild::{Rebuild, rebuild};
pub use rule::{LaneLimits, LaneRule};
pub use script::{ScriptFault, ScriptStatement, beginning, parse};
pub use statement::{IndexStatement, ScriptOrder};

use wire::{Connection, Protocol, WireError};

/// Asks the server about the tables that statements name, and makes jobs of these.
pub fn plan(
    connection: &mut Connection,
    statements: &[ScriptStatement],
    present: Present,
) -> Result<IndexWork, WireError> {
    let dialect =
        if connection.protocol() == Protocol::Postgres { ScriptDialect::Postgres } else { ScriptDialect::MySql };
    let mut facts = IndexFacts::read(connection, statements, dialect)?;
    facts.look_for_names(connection, &jobs::names_to_look_for(statements, &facts))?;
    Ok(jobs::jobs(statements, &facts, dialect, present))
}

/// What bounds builds on a server, by its own settings: workers that it starts.
pub fn server_workers(connection: &mut Connection) -> Result<usize, WireError> {
    if connection.protocol() != Protocol::Postgres {
        return Ok(0);
    }
    let sql =
        "select least(current_setting('max_parallel_workers')::int8, current_setting('max_worker_processes')::int8)";
    let rows = connection.query(sql)?;
    Ok(crate::dump::text_of(&rows, 0, 0).and_then(|text| text.parse().ok()).unwrap_or(0))
}

/// Connections that the server has left for us, this one included.
pub fn connections_left(connection: &mut Connection) -> Result<usize, WireError> {
    let sql = match connection.protocol() {
        Protocol::Postgres => {
            "select greatest(0, current_setting('max_connections')::int8 - current_setting('superuser_reserved_connections')::int8 \
             - (select coalesce(sum(numbackends), 0) from pg_catalog.pg_stat_database)::int8 + 1)"
        }
        Protocol::MySql => {
            "select greatest(0, cast(@@max_connections as signed) + 1 - (select cast(variable_value as signed) \
             from information_schema.global_status where variable_name = 'Threads_connected'))"
        }
    };
    let rows = connection.query(sql)?;
    Ok(crate::dump::text_of(&rows, 0, 0).and_then(|text| text.parse().ok()).unwrap_or(usize::MAX))
}

/// Indexes of PostgreSQL that an interrupted CONCURRENTLY has left, which are never used: quoted names with their schema.
pub fn invalid_indexes(connection: &mut Connection) -> Result<Vec<String>, WireError> {
    if connection.protocol() != Protocol::Postgres {
        return Ok(Vec::new());
    }
    let sql = "select pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname) \
        from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indexrelid \
        join pg_catalog.pg_namespace n on n.oid = c.relnamespace \
        where not i.indisvalid and c.relkind = 'i' and n.nspname <> 'pg_toast' order by 1";
    let rows = connection.query(sql)?;
    Ok((0..rows.len()).filter_map(|row| crate::dump::text_of(&rows, row, 0)).collect())
}
