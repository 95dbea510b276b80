//! SQLite in this process. A statement is carried out when it begins: there is nobody else to wait for but another connection's lock, which a thread of its
//! own waits for.

use crate::ledger::Failing;
use crate::session::{
    Parameter, Session, SessionLost, SessionReply, SessionRequest, SqlDialect, StatementRefusal, Target,
};
use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Error, ErrorCode, Rows, Statement, ToSql};
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A database file.
#[derive(Debug)]
pub struct Sqlite {
    path: PathBuf,
    lock_wait: Duration,
    /// Two that change a file to a write-ahead log at the same time get an error at once, whatever they would wait.
    opening: Mutex<()>,
}

impl Sqlite {
    /// The version of the library, which is part of this program.
    pub fn version() -> &'static str {
        rusqlite::version()
    }

    /// The database in `path`, made if it is not there. Statements wait so long for another connection's lock.
    pub fn new(path: impl Into<PathBuf>, lock_wait: Duration) -> Self {
        Self { path: path.into(), lock_wait, opening: Mutex::default() }
    }
}

impl Target for Sqlite {
    fn dialect(&self) -> SqlDialect {
        SqlDialect::Sqlite
    }

    fn connect(&self, _within: Duration) -> Result<Box<dyn Session>, SessionLost> {
        let lost = |error: Error| SessionLost(format!("could not open '{}': {error}", self.path.display()));
        let _one_at_a_time = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = Connection::open(&self.path).map_err(lost)?;
        connection.busy_timeout(self.lock_wait).map_err(lost)?;
        // Readers and a writer beside each other; a commit is safe when the program ends, not when the power does.
        connection.pragma_update(None, "journal_mode", "wal").map_err(lost)?;
        connection.pragma_update(None, "synchronous", "normal").map_err(lost)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
        Ok(Box::new(SqliteSession { connection, reply: None, keeps_row: false }))
    }
}

/// LIMIT: statements that stay prepared; sysbench's transactions have some ten for each of up to a few tables.
const STATEMENTS_KEPT: usize = 256;

struct SqliteSession {
    connection: Connection,
    reply: Option<SessionReply>,
    keeps_row: bool,
}

impl Session for SqliteSession {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn begin(&mut self, request: &SessionRequest<'_>) -> Result<(), SessionLost> {
        let reply = match self.carry_out(request) {
            Ok(reply) => reply,
            Err(error) => {
                SessionReply::Refused(StatementRefusal { failing: failing(&error), message: error.to_string() })
            }
        };
        self.reply = Some(reply);
        Ok(())
    }

    fn reply(&mut self) -> Result<Option<SessionReply>, SessionLost> {
        Ok(self.reply.take())
    }

    fn keep_last_row(&mut self, is_kept: bool) {
        self.keeps_row = is_kept;
    }
}

impl SqliteSession {
    fn carry_out(&self, request: &SessionRequest<'_>) -> Result<SessionReply, Error> {
        if request.prepared.is_some() {
            let mut statement = self.connection.prepare_cached(request.text)?;
            return run(&mut statement, request.parameters, self.keeps_row);
        }
        // A text may have several statements; the last one's rows are its reply.
        let mut batch = rusqlite::Batch::new(&self.connection, request.text);
        let mut reply = SessionReply::Done { rows: 0, last_row: None };
        while let Some(mut statement) = batch.next()? {
            reply = run(&mut statement, &[], self.keeps_row)?;
        }
        Ok(reply)
    }
}

fn run(statement: &mut Statement<'_>, parameters: &[Parameter], keeps_row: bool) -> Result<SessionReply, Error> {
    for (index, parameter) in parameters.iter().enumerate() {
        statement.raw_bind_parameter(index + 1, parameter)?;
    }
    let columns = statement.column_count();
    let mut found = statement.raw_query();
    let (mut rows, mut last_row) = (0, None);
    while let Some(row) = Rows::next(&mut found)? {
        rows += 1;
        if keeps_row {
            let value = |column| Ok(text(row.get_ref(column)?));
            last_row = Some((0..columns).map(value).collect::<Result<Vec<_>, Error>>()?);
        }
    }
    Ok(SessionReply::Done { rows, last_row })
}

fn text(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
    }
}

fn failing(error: &Error) -> Failing {
    match error.sqlite_error_code() {
        // Another connection has the lock: to wait longer would not help (SQLITE_BUSY_SNAPSHOT), to begin again does.
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Failing::Serialization,
        Some(ErrorCode::OperationInterrupted) => Failing::Timeout,
        _ => Failing::Refused,
    }
}

impl ToSql for Parameter {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Parameter::Null => ValueRef::Null,
            Parameter::Integer(number) => ValueRef::Integer(*number),
            Parameter::Real(number) => ValueRef::Real(*number),
            Parameter::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::ask;

    fn session() -> (tempfile::TempDir, Box<dyn Session>) {
        let place = tempfile::tempdir().expect("a directory");
        let target = Sqlite::new(place.path().join("base"), Duration::ZERO);
        let session = target.connect(Duration::from_secs(1)).expect("it opens");
        (place, session)
    }

    #[test]
    fn statements_are_carried_out_prepared_and_not() {
        let (_place, mut session) = session();
        let plain =
            SessionRequest::plain("create table t (a integer, b text); insert into t values (1, 'x'), (2, null)");
        assert_eq!(ask(&mut *session, &plain), Ok(SessionReply::Done { rows: 0, last_row: None }));
        session.keep_last_row(true);
        let parameters = [Parameter::Integer(2), Parameter::Text("x".to_owned())];
        let prepared = SessionRequest {
            prepared: Some(0),
            text: "select a, b from t where a = ?1 or b = ?2 order by a",
            parameters: &parameters,
        };
        let row = Some(vec![Some("2".to_owned()), None]);
        assert_eq!(ask(&mut *session, &prepared), Ok(SessionReply::Done { rows: 2, last_row: row.clone() }));
        assert_eq!(ask(&mut *session, &prepared), Ok(SessionReply::Done { rows: 2, last_row: row }));
    }

    #[test]
    fn an_error_leaves_the_session_usable_and_a_lock_of_another_is_no_error_of_ours() {
        let (place, mut session) = session();
        let Ok(SessionReply::Refused(refusal)) = ask(&mut *session, &SessionRequest::plain("select * from nowhere"))
        else {
            panic!("there is no such table");
        };
        assert_eq!(refusal.failing, Failing::Refused);
        assert!(refusal.message.contains("nowhere"), "{}", refusal.message);
        ask(&mut *session, &SessionRequest::plain("create table t (a); begin immediate")).expect("it goes on");
        let target = Sqlite::new(place.path().join("base"), Duration::ZERO);
        let mut other = target.connect(Duration::from_secs(1)).expect("it opens");
        let Ok(SessionReply::Refused(refusal)) = ask(&mut *other, &SessionRequest::plain("begin immediate")) else {
            panic!("the other has the lock");
        };
        assert_eq!(refusal.failing, Failing::Serialization);
    }

    #[test]
    fn what_cannot_be_opened_is_told_with_its_name() {
        let target = Sqlite::new("/nowhere/base", Duration::ZERO);
        let error = target.connect(Duration::from_secs(1)).err().expect("no such directory");
        assert!(error.to_string().contains("/nowhere/base"), "{error}");
    }
}
