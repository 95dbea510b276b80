//! A socket that pg_dump or pg_restore takes for the server: each connection has one of its own to the real server, which has logged in already, and
//! every message goes through unchanged but for the COPY of a table that is read here. That one is answered as if the table were empty, or with the rows that many connections have read.
//! So passwords and TLS are ours alone. Where pg_dump's locks have to outlive it, connections to the server stay open until the proxy ends.

use super::course::DumpStop;
use super::session::ENCODING_OF_SERVER;
use super::statement::CopyOut;
use super::table::Catalogue;
use super::work::{Board, RowSink, TableWork};
use super::{DumpError, LOGIN};
use parking_lot::Mutex;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use wire::{AnswerEnd, Connection, PostgresRelay, RelayedAnswer, ServerAddress, ServerError};

/// libpq puts it into the socket's name.
const PORT: &str = "5432";

/// LIMIT: as the protocol has it; an INSERT of a long row may come near.
const MESSAGE_BYTES_MAX: usize = 1 << 30;
/// LIMIT: as the server has it.
const STARTUP_BYTES_MAX: usize = 10_000;

/// LIMIT: bytes of rows in a message.
const SENT_BYTES: usize = 64 << 10;

/// Variables that would lead pg_dump elsewhere, or that it has no use for.
const LED_ASTRAY: [&str; 11] = [
    "PGHOSTADDR",
    "PGSERVICE",
    "PGPASSWORD",
    "PGPASSFILE",
    "PGSSLMODE",
    "PGREQUIRESSL",
    "PGCHANNELBINDING",
    "PGREQUIREAUTH",
    "PGTARGETSESSIONATTRS",
    "PGCLIENTENCODING",
    "PGOPTIONS",
];

/// Whoever runs the program.
pub trait ProxyHost: Send + Sync {
    /// The answer to a statement that the server does not get; none: the server gets it. Rows may go to the program before.
    fn answers(&self, _sql: &str, _program: &UnixStream) -> Result<Option<Vec<u8>>, DumpError> {
        Ok(None)
    }
    /// The statement that the server gets in place of this one; none: this one.
    fn replaces(&self, _sql: &str) -> Option<String> {
        None
    }
    /// The server has refused a statement; none: one that is no text in UTF-8, or a message of another kind.
    fn refused(&self, _sql: Option<&str>, _error: ServerError) {}
    /// A connection of the program's, to be ended with the run.
    fn opened(&self, connection: &Connection);
    /// A connection's server has failed.
    fn failed(&self, error: DumpError);
    /// Whether connections outlive the program's, with the locks of their transactions.
    fn keeps_locks(&self) -> bool {
        false
    }
}

/// What to do with the tables that pg_dump asks for.
pub struct Offer {
    pub board: Arc<Board>,
    pub catalogue: Arc<Catalogue>,
    pub part_bytes: u64,
    /// Where rows wait for their place in the archive; none: pg_dump gets them, and writes them into a script.
    pub parts: Option<PathBuf>,
}

impl ProxyHost for Offer {
    /// Takes a statement if it is the COPY of a table of the catalogue.
    fn answers(&self, sql: &str, program: &UnixStream) -> Result<Option<Vec<u8>>, DumpError> {
        let Some(copy) = CopyOut::parse(sql) else { return Ok(None) };
        let Some(table) = self.catalogue.find(copy.table) else { return Ok(None) };
        let division = self.catalogue.divide(table, self.part_bytes);
        if let Some(parts) = &self.parts {
            let path = parts.join(format!("{}.rows", table.oid));
            let file = File::create_new(&path).map_err(DumpError::file("create", &path))?;
            self.board.add(TableWork::new(&copy, table, division, path, RowSink::File(file)));
            return Ok(Some([begin_of_rows(), end_of_rows(0)].concat()));
        }
        let path = PathBuf::from("pg_dump");
        let failed = DumpError::file("write to", &path);
        let rows = program.try_clone().and_then(|mut rows| rows.write_all(&begin_of_rows()).map(|()| rows));
        let sink = RowSink::Program(rows.map_err(failed)?);
        let table = self.board.add(TableWork::new(&copy, table, division, path, sink));
        // It is asked for one table at a time, and its rows are what it waits for.
        self.board.rows_written(&table).map(|rows| Some(end_of_rows(rows))).ok_or(DumpError::Interrupted)
    }

    fn opened(&self, connection: &Connection) {
        self.board.may_be_cancelled(connection);
    }

    fn failed(&self, error: DumpError) {
        self.board.stop(DumpStop::Failed(error));
    }

    fn keeps_locks(&self) -> bool {
        true
    }
}

/// The socket.
pub struct ProgramProxy {
    directory: PathBuf,
    socket: PathBuf,
    shared: Arc<SharedProxy>,
    accepts: Option<JoinHandle<()>>,
}

struct SharedProxy {
    address: ServerAddress,
    host: Box<dyn ProxyHost>,
    is_over: AtomicBool,
    /// pg_dump has left them, and their transactions hold its locks.
    kept: Mutex<Vec<PostgresRelay>>,
}

impl ProgramProxy {
    /// Listens in `directory`, which nobody else may enter.
    pub fn open(directory: &Path, address: ServerAddress, host: Box<dyn ProxyHost>) -> Result<Self, DumpError> {
        let socket = directory.join(format!(".s.PGSQL.{PORT}"));
        let listener = UnixListener::bind(&socket).map_err(DumpError::file("listen on", &socket))?;
        let shared = Arc::new(SharedProxy { address, host, is_over: AtomicBool::new(false), kept: Mutex::default() });
        let serving = Arc::clone(&shared);
        let accepts = std::thread::spawn(move || serving.accept(&listener));
        Ok(Self { directory: directory.to_owned(), socket, shared, accepts: Some(accepts) })
    }

    /// Makes a program connect here.
    pub fn lead(&self, command: &mut Command) {
        LED_ASTRAY.iter().for_each(|name| {
            command.env_remove(name);
        });
        // What it reports becomes part of our messages.
        command.env("LC_ALL", "C");
        command.env("PGHOST", &self.directory).env("PGPORT", PORT).env("PGUSER", self.shared.address.user());
        command.env("PGDATABASE", self.shared.address.database().unwrap_or(self.shared.address.user()));
    }
}

impl Drop for ProgramProxy {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        let _gone_already = UnixStream::connect(&self.socket);
        if let Some(accepts) = self.accepts.take() {
            let _it_does_not_panic = accepts.join();
        }
        let _removed_already = std::fs::remove_file(&self.socket);
    }
}

impl SharedProxy {
    fn accept(self: Arc<Self>, listener: &UnixListener) {
        for client in listener.incoming() {
            if self.is_over.load(Ordering::SeqCst) {
                return;
            }
            let Ok(client) = client else { continue };
            let shared = Arc::clone(&self);
            // It ends with its client: nobody waits for it.
            std::thread::spawn(move || shared.serve(client));
        }
    }

    /// One connection of pg_dump. What fails here, pg_dump sees as a lost connection, and says so.
    fn serve(&self, mut client: UnixStream) {
        let outcome = self.greet(&mut client).and_then(|relay| match relay {
            Some(relay) => self.relay(&mut client, relay),
            None => Ok(()),
        });
        if let Err(error) = outcome {
            let stop = match error {
                ServeError::Dump(error) => error,
                // pg_dump was ended, or has ended: its exit code is what counts.
                ServeError::Client(_gone) => return,
                ServeError::Server(cause) => DumpError::Server { what: "pass statements on".to_owned(), cause },
            };
            self.host.failed(stop);
        }
    }

    /// Answers the begin of a connection; none where it was a request to cancel.
    fn greet(&self, client: &mut UnixStream) -> Result<Option<PostgresRelay>, ServeError> {
        const VERSION: u32 = 196_608;
        const CANCEL: u32 = 80_877_102;
        const ENCRYPT: [u32; 2] = [80_877_103, 80_877_104];
        loop {
            let mut head = [0; 8];
            client.read_exact(&mut head)?;
            let [length, code] =
                [&head[..4], &head[4..]].map(|word| u32::from_be_bytes([word[0], word[1], word[2], word[3]]));
            let rest = usize::try_from(length).unwrap_or(usize::MAX).saturating_sub(8);
            if rest > STARTUP_BYTES_MAX {
                return Err(io::Error::from(io::ErrorKind::InvalidData).into());
            }
            let mut body = vec![0; rest];
            client.read_exact(&mut body)?;
            match code {
                code if ENCRYPT.contains(&code) => client.write_all(b"N")?,
                // The dump as a whole is ended by whoever started it.
                CANCEL => return Ok(None),
                VERSION => return self.log_in(client, &body).map(Some),
                _ => return Err(io::Error::from(io::ErrorKind::InvalidData).into()),
            }
        }
    }

    fn log_in(&self, client: &mut UnixStream, startup: &[u8]) -> Result<PostgresRelay, ServeError> {
        let words: Vec<String> =
            startup.split(|&byte| byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        let given = |name: &str| words.chunks_exact(2).find(|pair| pair[0] == name).map(|pair| pair[1].clone());
        let mut address = self.address.clone();
        if let Some(database) = given("database") {
            address = address.with_database(database);
        }
        let mut connection = Connection::connect(&address, LOGIN)?;
        // The program may wait for a lock when all is over.
        self.host.opened(&connection);
        connection.execute(ENCODING_OF_SERVER)?;
        let name = given("application_name").unwrap_or_else(|| "pg_dump".to_owned());
        connection.execute(&format!("set application_name = '{}'", name.replace('\'', "''")))?;
        let relay = connection.into_postgres_relay()?;
        let mut greeting = message(b'R', &0_u32.to_be_bytes());
        let encoding = relay.parameters().iter().find(|(name, _)| name == "server_encoding").cloned();
        for (name, value) in relay.parameters() {
            // What the login had is no longer so.
            let value = encoding.as_ref().filter(|_| name == "client_encoding").map_or(value, |(_, encoding)| encoding);
            greeting.extend(message(b'S', format!("{name}\0{value}\0").as_bytes()));
        }
        let (pid, secret) = relay.cancel_key();
        greeting.extend(message(b'K', &[pid.to_be_bytes(), secret.to_be_bytes()].concat()));
        greeting.extend(message(b'Z', b"I"));
        client.write_all(&greeting)?;
        Ok(relay)
    }

    fn relay(&self, client: &mut UnixStream, mut relay: PostgresRelay) -> Result<(), ServeError> {
        let outcome = self.relay_all(client, &mut relay);
        if self.host.keeps_locks() {
            self.kept.lock().push(relay);
        }
        outcome
    }

    fn relay_all(&self, client: &mut UnixStream, relay: &mut PostgresRelay) -> Result<(), ServeError> {
        let mut is_copying = false;
        loop {
            let Some(request) = next_message(client)? else { return Ok(()) };
            let sql = if request[0] == b'Q' { statement(&request) } else { None };
            let answer = sql.map(|sql| self.host.answers(sql, client)).transpose().map_err(ServeError::Dump)?;
            if let Some(answer) = answer.flatten() {
                client.write_all(&answer)?;
                continue;
            }
            match (request[0], sql) {
                // Terminate.
                (b'X', _) => return Ok(()),
                // Query, Sync and FunctionCall have an answer; what comes before a Sync has none of its own. CopyDone and CopyFail end the data of a COPY.
                (tag, sql) if matches!(tag, b'Q' | b'S' | b'F') || (is_copying && matches!(tag, b'c' | b'f')) => {
                    match sql.and_then(|sql| self.host.replaces(sql)) {
                        Some(other) => relay.forward(&message(b'Q', format!("{other}\0").as_bytes()))?,
                        None => relay.forward(&request)?,
                    }
                    let answer = pass_answer(client, relay)?;
                    answer.refused.into_iter().for_each(|error| self.host.refused(sql, error));
                    is_copying = answer.end == AnswerEnd::CopyIn;
                }
                _ => relay.forward(&request)?,
            }
        }
    }
}

/// The statement of a Query, if it is text in UTF-8.
fn statement(request: &[u8]) -> Option<&str> {
    std::str::from_utf8(request.get(5..)?.strip_suffix(b"\0")?).ok()
}

/// Passes the server's answer on. It is read to its end, whether or not somebody still wants it.
fn pass_answer(client: &mut UnixStream, relay: &mut PostgresRelay) -> Result<RelayedAnswer, ServeError> {
    let mut client_fault = None;
    let answer = relay.answer(|bytes| {
        if client_fault.is_none() {
            client_fault = client.write_all(bytes).err();
        }
        Ok(())
    })?;
    match client_fault {
        None => Ok(answer),
        Some(fault) => Err(fault.into()),
    }
}

/// Who has failed.
enum ServeError {
    Client(io::Error),
    Server(wire::WireError),
    Dump(DumpError),
}

impl From<io::Error> for ServeError {
    fn from(error: io::Error) -> Self {
        Self::Client(error)
    }
}

impl From<wire::WireError> for ServeError {
    fn from(error: wire::WireError) -> Self {
        Self::Server(error)
    }
}

/// A message of the client, whole; none at the end.
fn next_message(client: &mut UnixStream) -> Result<Option<Vec<u8>>, ServeError> {
    let mut message = vec![0; 5];
    match client.read_exact(&mut message) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        outcome => outcome?,
    }
    let length = u32::from_be_bytes([message[1], message[2], message[3], message[4]]);
    let bytes = usize::try_from(length).unwrap_or(usize::MAX);
    if !(4..=MESSAGE_BYTES_MAX).contains(&bytes) {
        return Err(io::Error::from(io::ErrorKind::InvalidData).into());
    }
    message.resize(bytes + 1, 0);
    client.read_exact(&mut message[5..])?;
    Ok(Some(message))
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut message = vec![tag];
    message.extend(u32::try_from(body.len() + 4).unwrap_or(u32::MAX).to_be_bytes());
    message.extend(body);
    message
}

/// CopyOutResponse in text.
fn begin_of_rows() -> Vec<u8> {
    message(b'H', &[0, 0, 0])
}

/// Rows as CopyData. If pg_dump has ended, its exit code is what counts.
pub fn send_rows(program: &mut UnixStream, rows: &[u8]) -> io::Result<()> {
    for piece in rows.chunks(SENT_BYTES) {
        match program.write_all(&message(b'd', piece)) {
            Err(error) if matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) => break,
            outcome => outcome?,
        }
    }
    Ok(())
}

/// CopyDone, `COPY ROWS`, ready within a transaction.
fn end_of_rows(rows: u64) -> Vec<u8> {
    let complete = format!("COPY {rows}\0");
    [message(b'c', &[]), message(b'C', complete.as_bytes()), message(b'Z', b"T")].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_whole_and_lengths_that_lie_are_refused() {
        let (mut ours, mut theirs) = UnixStream::pair().expect("sockets");
        theirs.write_all(&message(b'Q', b"select 1\0")).expect("room");
        theirs.write_all(b"Q\0\0\0\x03").expect("room");
        let read = next_message(&mut ours).unwrap_or_default().expect("a message");
        assert_eq!(read, b"Q\0\0\0\x0dselect 1\0");
        assert!(matches!(next_message(&mut ours), Err(ServeError::Client(_))));
        drop(theirs);
        assert!(matches!(next_message(&mut ours), Ok(None)));
    }
}
