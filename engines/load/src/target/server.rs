//! SQL servers by their protocols. A statement is prepared on each connection the first time that it is wanted.

use crate::cost::server_behind;
use crate::ledger::Failing;
use crate::session::{
    PARAMETERS_MAX, Parameter, PreparedText, Session, SessionLost, SessionReply, SessionRequest, SqlDialect,
    StatementRefusal, Target,
};
use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;
use wire::{Connection, ErrorKind, Protocol, ServerAddress, ServerError, Statement, Value, WireError};

/// A server.
#[derive(Debug)]
pub struct Server(pub ServerAddress);

/// What a first connection tells about a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerFacts {
    /// Its first process, if it is on this host and may be seen.
    pub process: Option<u32>,
    /// Its version, in its own words.
    pub version: String,
}

impl Server {
    /// Connects once and looks.
    pub fn facts(&self, within: Duration) -> Result<ServerFacts, SessionLost> {
        let connection = Connection::connect(&self.0, within).map_err(lost)?;
        Ok(ServerFacts { process: server_behind(connection.as_fd()), version: connection.server_version().to_owned() })
    }
}

impl Target for Server {
    fn dialect(&self) -> SqlDialect {
        match self.0.protocol() {
            Protocol::Postgres => SqlDialect::Postgres,
            Protocol::MySql => SqlDialect::MySql,
        }
    }

    fn connect(&self, within: Duration) -> Result<Box<dyn Session>, SessionLost> {
        let not_connected = |error: WireError| SessionLost(format!("could not connect to {}: {error}", self.0));
        let mut connection = Connection::connect(&self.0, within).map_err(not_connected)?;
        connection.set_nonblocking(true).map_err(lost)?;
        Ok(Box::new(ServerSession {
            connection,
            statements: HashMap::new(),
            is_unsent: false,
            not_prepared: None,
            is_refused: false,
        }))
    }
}

/// Its words have their cause in them.
fn lost(error: WireError) -> SessionLost {
    SessionLost(error.to_string())
}

struct ServerSession {
    connection: Connection,
    statements: HashMap<usize, Statement>,
    is_unsent: bool,
    /// Why a statement was not prepared, which is what its reply says unless it is carried out as text.
    not_prepared: Option<ServerError>,
    /// Whether it was not sent as text either.
    is_refused: bool,
}

impl Session for ServerSession {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.connection.as_fd())
    }

    fn has_unsent(&self) -> bool {
        self.is_unsent
    }

    fn begin(&mut self, request: &SessionRequest<'_>) -> Result<(), SessionLost> {
        self.not_prepared = match request.prepared {
            Some(number) => self.make_ready(number, request.text)?,
            None => None,
        };
        // Some statements cannot be prepared and are carried out as text. With parameters there is no text.
        self.is_refused = self.not_prepared.is_some() && !request.parameters.is_empty();
        if self.is_refused {
            return Ok(());
        }
        let prepared = request.prepared.and_then(|number| self.statements.get(&number));
        match prepared {
            None => self.connection.queue_text(request.text).map_err(lost)?,
            Some(statement) => {
                let connection = &mut self.connection;
                with_values(request.parameters, |values| connection.queue_prepared(statement, values)).map_err(lost)?;
            }
        }
        self.send()
    }

    fn prepare(&mut self, statements: &[PreparedText]) -> Result<Result<(), StatementRefusal>, SessionLost> {
        // They are prepared in their order: if the last one is, all are.
        if statements.last().is_some_and(|last| self.statements.contains_key(&last.number)) {
            return Ok(Ok(()));
        }
        for PreparedText { number, text } in statements {
            if let Some(error) = self.make_ready(*number, text)? {
                return Ok(Err(refusal(&error)));
            }
        }
        Ok(Ok(()))
    }

    fn append(&mut self, request: &SessionRequest<'_>) -> Result<(), SessionLost> {
        let connection = &mut self.connection;
        match request.prepared.and_then(|number| self.statements.get(&number)) {
            None => connection.queue_text(request.text),
            Some(statement) => with_values(request.parameters, |values| connection.queue_pipelined(statement, values)),
        }
        .map_err(lost)
    }

    fn synchronize(&mut self) -> Result<bool, SessionLost> {
        self.connection.queue_sync().map_err(lost)
    }

    fn send_appended(&mut self) -> Result<(), SessionLost> {
        self.send()
    }

    fn answers_at_once(&self) -> bool {
        self.is_refused
    }

    fn reply(&mut self) -> Result<Option<SessionReply>, SessionLost> {
        if std::mem::take(&mut self.is_refused)
            && let Some(error) = self.not_prepared.take()
        {
            return Ok(Some(SessionReply::Refused(refusal(&error))));
        }
        if self.is_unsent {
            self.send()?;
        }
        let reply = self.connection.next_reply().map_err(lost)?;
        Ok(reply.map(|reply| match reply {
            wire::Reply::Done { rows, last_row, .. } => {
                let texts = |row: wire::TextRow| {
                    row.values().map(|value| value.map(|bytes| String::from_utf8_lossy(bytes).into_owned())).collect()
                };
                SessionReply::Done { rows, last_row: last_row.map(texts) }
            }
            // Behind a refusal a transaction of PostgreSQL refuses everything, in words that hide the cause.
            wire::Reply::Refused(error) => SessionReply::Refused(refusal(self.not_prepared.as_ref().unwrap_or(&error))),
            wire::Reply::Skipped => SessionReply::Skipped,
        }))
    }

    fn keep_last_row(&mut self, is_kept: bool) {
        self.connection.keep_last_row(is_kept);
    }
}

impl ServerSession {
    /// Prepares a statement, and waits for that, unless it is prepared; why the server refuses to, if it does.
    fn make_ready(&mut self, number: usize, text: &str) -> Result<Option<ServerError>, SessionLost> {
        if self.statements.contains_key(&number) {
            return Ok(None);
        }
        self.connection.set_nonblocking(false).map_err(lost)?;
        let prepared = self.connection.prepare(text);
        self.connection.set_nonblocking(true).map_err(lost)?;
        match prepared {
            Ok(statement) => {
                self.statements.insert(number, statement);
                Ok(None)
            }
            Err(WireError::Server(error)) => Ok(Some(error)),
            Err(error) => Err(lost(error)),
        }
    }

    fn send(&mut self) -> Result<(), SessionLost> {
        self.is_unsent = !self.connection.send().map_err(lost)?;
        Ok(())
    }
}

/// Calls with the values of parameters.
fn with_values<T>(parameters: &[Parameter], take: impl FnOnce(&[Value<'_>]) -> T) -> T {
    let mut values = [Value::Null; PARAMETERS_MAX];
    for (value, parameter) in values.iter_mut().zip(parameters) {
        *value = match parameter {
            Parameter::Null => Value::Null,
            Parameter::Integer(number) => Value::Int(*number),
            Parameter::Real(number) => Value::Real(*number),
            Parameter::Text(text) => Value::Text(text),
        };
    }
    take(values.get(..parameters.len()).unwrap_or(&values))
}

fn refusal(error: &ServerError) -> StatementRefusal {
    StatementRefusal { failing: failing(error), message: error.to_string() }
}

fn failing(error: &ServerError) -> Failing {
    match error.kind() {
        ErrorKind::Deadlock => Failing::Deadlock,
        ErrorKind::Serialization => Failing::Serialization,
        ErrorKind::Timeout => Failing::Timeout,
        ErrorKind::TooManyConnections
        | ErrorKind::ShuttingDown
        | ErrorKind::Authentication
        | ErrorKind::DiskFull
        | ErrorKind::Other => Failing::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::ask;
    use testkit::mariadb_server::MariaDbServer;
    use testkit::postgres_server::PostgresServer;
    use testkit::program::left_out;

    /// A value comes back, a refusal leaves the session usable, and the server is found by the connection.
    fn is_spoken_to(address: &str, statement: &str, pid: u32) {
        let address = ServerAddress::parse(address, &wire::Environment::default()).expect("an address");
        let server = Server(address);
        let within = Duration::from_secs(20);
        let facts = server.facts(within).expect("it listens");
        assert_eq!(facts.process, Some(pid));
        assert!(facts.version.starts_with(|first: char| first.is_ascii_digit()), "{}", facts.version);
        let mut session = server.connect(within).expect("it listens");
        session.keep_last_row(true);
        let parameters = [Parameter::Text("it's".to_owned())];
        let row = Some(vec![Some("it's".to_owned())]);
        let good = SessionRequest { prepared: Some(7), text: statement, parameters: &parameters };
        for _again in 0..2 {
            let reply = ask(&mut *session, &good);
            assert_eq!(reply, Ok(SessionReply::Done { rows: 1, last_row: row.clone() }));
        }
        for (prepared, parameters) in [(Some(8), &[][..]), (None, &[]), (Some(9), &parameters)] {
            // Within a transaction, of which PostgreSQL refuses the rest in other words.
            let begun = ask(&mut *session, &SessionRequest::plain("begin"));
            assert!(matches!(begun, Ok(SessionReply::Done { .. })), "{begun:?}");
            let wrong = SessionRequest { prepared, text: "select * from nowhere_at_all", parameters };
            let Ok(SessionReply::Refused(refusal)) = ask(&mut *session, &wrong) else {
                panic!("there is no such table")
            };
            assert_eq!(refusal.failing, Failing::Refused);
            assert!(refusal.message.contains("nowhere_at_all"), "{}", refusal.message);
            let back = ask(&mut *session, &SessionRequest::plain("rollback"));
            assert!(matches!(back, Ok(SessionReply::Done { .. })), "{back:?}");
        }
        assert_eq!(ask(&mut *session, &good), Ok(SessionReply::Done { rows: 1, last_row: row }));
    }

    #[test]
    fn postgresql_is_spoken_to() {
        match PostgresServer::start(&[]) {
            Ok(server) => {
                let address = format!(
                    "host={} port={} user=postgres dbname=postgres",
                    server.directory().display(),
                    server.port()
                );
                is_spoken_to(&address, "select $1::text", server.pid());
            }
            Err(reason) => left_out(&reason),
        }
    }

    #[test]
    fn mariadb_is_spoken_to() {
        match MariaDbServer::start(&[]) {
            Ok(server) => {
                let address = format!("mysql://root@127.0.0.1:{}/mysql", server.port());
                is_spoken_to(&address, "select cast(? as char)", server.pid());
            }
            Err(reason) => left_out(&reason),
        }
    }
}
