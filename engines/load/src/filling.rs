//! The tables of a workload: made, filled by all connections, removed. A table's rows are divided into ranges, so that one large table is filled as fast as many
//! small ones.

use crate::session::{Session, SessionReply, SessionRequest, Target, ask};
use crate::workload::{RowForm, WorkloadTable};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// LIMIT: rows of one INSERT: some 200 KB of sysbench's, far below every server's limit of a statement.
const ROWS_AT_ONCE: u64 = 1000;

/// How tables are filled.
#[derive(Clone, Copy, Debug)]
pub struct Filling {
    /// Connections that fill.
    pub connections: usize,
    /// How long to try for each of them.
    pub connect_within: Duration,
}

impl Filling {
    /// Makes and fills `tables` in turn. `goes_on` gets the number of rows so far and returns whether to go on.
    pub fn fill(
        self,
        target: &dyn Target,
        tables: &[WorkloadTable],
        goes_on: &(dyn Fn(u64) -> bool + Sync),
    ) -> Result<u64, String> {
        let connect = |_| target.connect(self.connect_within).map_err(|error| error.to_string());
        let mut sessions = (0..self.connections.max(1)).map(connect).collect::<Result<Vec<_>, String>>()?;
        let done = AtomicU64::new(0);
        for table in tables {
            each(&mut *sessions[0], &table.create, &table.name)?;
            fill_one(&mut sessions, table, &done, goes_on)?;
            each(&mut *sessions[0], &table.finish, &table.name)?;
        }
        Ok(done.into_inner())
    }

    /// Removes `tables`.
    pub fn remove(self, target: &dyn Target, tables: &[WorkloadTable]) -> Result<(), String> {
        let mut session = target.connect(self.connect_within).map_err(|error| error.to_string())?;
        tables.iter().try_for_each(|table| each(&mut *session, &[table.drop_statement()], &table.name))
    }
}

/// All connections take ranges of one table until there is none.
fn fill_one(
    sessions: &mut [Box<dyn Session>],
    table: &WorkloadTable,
    done: &AtomicU64,
    goes_on: &(dyn Fn(u64) -> bool + Sync),
) -> Result<(), String> {
    let (next, failed) = (AtomicU64::new(0), AtomicBool::new(false));
    let fill = |session: &mut Box<dyn Session>| {
        let mut text = String::new();
        loop {
            let first = next.fetch_add(ROWS_AT_ONCE, Ordering::Relaxed);
            if first >= table.rows || failed.load(Ordering::Relaxed) {
                return Ok(());
            }
            let last = (first + ROWS_AT_ONCE).min(table.rows);
            text.clear();
            table.write_rows(first..last, RowForm::Insert, &mut text);
            if let Err(error) = carry_out(&mut **session, &text, &table.name) {
                failed.store(true, Ordering::Relaxed);
                return Err(error);
            }
            if !goes_on(done.fetch_add(last - first, Ordering::Relaxed) + last - first) {
                failed.store(true, Ordering::Relaxed);
                return Err(format!("fill {}: it was stopped; cleanup removes what is there", table.name));
            }
        }
    };
    std::thread::scope(|scope| {
        let handles: Vec<_> = sessions.iter_mut().map(|session| scope.spawn(|| fill(session))).collect();
        let ends =
            handles.into_iter().map(|handle| handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        ends.collect::<Vec<Result<(), String>>>().into_iter().collect()
    })
}

fn each(session: &mut dyn Session, statements: &[String], table: &str) -> Result<(), String> {
    statements.iter().try_for_each(|statement| carry_out(session, statement, table))
}

fn carry_out(session: &mut dyn Session, statement: &str, table: &str) -> Result<(), String> {
    match ask(session, &SessionRequest::plain(statement)) {
        Ok(SessionReply::Done { .. }) => Ok(()),
        Ok(SessionReply::Refused(refusal)) => Err(format!("make table {table}: {}", refusal.message)),
        Ok(SessionReply::Skipped) => Err(format!("make table {table}: the server passed it over")),
        Err(error) => Err(format!("make table {table}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::SqlDialect;
    use crate::target::sqlite::Sqlite;
    use crate::workload::{BuiltIn, WorkloadOptions};

    #[test]
    fn tables_have_all_their_rows_and_are_removed() {
        let place = tempfile::tempdir().expect("a directory");
        let target = Sqlite::new(place.path().join("base"), Duration::from_secs(5));
        let options = WorkloadOptions { tables: 2, rows: 2_500, ..WorkloadOptions::new(SqlDialect::Sqlite) };
        let tables = BuiltIn::ReadWrite.tables(&options).expect("they can be");
        let filling = Filling { connections: 2, connect_within: Duration::from_secs(5) };
        assert_eq!(filling.fill(&target, &tables, &|_| true), Ok(5_000));
        let mut session = target.connect(Duration::from_secs(5)).expect("it opens");
        session.keep_last_row(true);
        let question = SessionRequest::plain("select count(*), min(id), max(id) from sbtest2");
        let row = ["2500", "1", "2500"].map(|value| Some(value.to_owned())).to_vec();
        assert_eq!(ask(&mut *session, &question), Ok(SessionReply::Done { rows: 1, last_row: Some(row) }));
        let again = filling.fill(&target, &tables, &|_| true).expect_err("they are there");
        assert!(again.contains("sbtest1"), "{again}");
        assert_eq!(filling.remove(&target, &tables), Ok(()));
        let stopped = filling.fill(&target, &tables, &|_| false).expect_err("it was stopped");
        assert!(stopped.contains("stopped"), "{stopped}");
    }
}
