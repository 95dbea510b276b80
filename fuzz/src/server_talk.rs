//! What a server says, as bytes, to a client that is real: logins, and replies in one piece and in others.

use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;
use wire::{Connection, Environment, ServerAddress, Value};

/// LIMIT: what a socket holds before anybody reads.
const SAID_BYTES_MAX: usize = 64 << 10;

/// No input needs it: all bytes are there, and then the end.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server's words before those of the input.
pub struct Prologue {
    /// The address that the client has.
    pub address: &'static str,
    /// What lets it in.
    pub login: Vec<u8>,
    /// The answer to the preparation of a statement without parameters.
    pub prepared: Vec<u8>,
}

/// The first byte chooses: its lowest bit whether the rest answers the login, the next whether rows are kept, the others the pieces.
pub fn run(prologue: &Prologue, input: &[u8]) {
    let Some((choice, said)) = input.split_first() else { return };
    let said = &said[..said.len().min(SAID_BYTES_MAX)];
    if choice & 1 == 0 {
        login(prologue, said);
        return;
    }
    let keeps = choice & 2 != 0;
    let piece = usize::from(choice >> 2) + 1;
    assert_eq!(replies(prologue, said, said.len().max(1), keeps), replies(prologue, said, piece, keeps));
}

fn address(prologue: &Prologue) -> ServerAddress {
    ServerAddress::parse(prologue.address, &Environment::default()).expect("the target's address is one")
}

fn login(prologue: &Prologue, said: &[u8]) {
    let (client, mut server) = UnixStream::pair().expect("two sockets");
    server.write_all(said).expect("it fits");
    server.shutdown(Shutdown::Write).expect("it is open");
    let _in_or_refused = Connection::on_socket(client, &address(prologue), PATIENCE);
}

/// What becomes of four requests, up to the error that ends the connection: at the latest, the end of what was said.
pub(crate) fn replies(prologue: &Prologue, said: &[u8], piece: usize, keeps: bool) -> Vec<String> {
    let (client, mut server) = UnixStream::pair().expect("two sockets");
    server.write_all(&prologue.login).expect("it fits");
    let mut connection = Connection::on_socket(client, &address(prologue), PATIENCE).expect("it is let in");
    server.write_all(&prologue.prepared).expect("it fits");
    let statement = connection.prepare("select 1").expect("it is prepared");
    let values = vec![Value::Int(1); statement.parameters()];
    connection.keep_last_row(keeps);
    connection.set_nonblocking(true).expect("it can be");
    connection.queue_text("select 1").expect("it is queued");
    connection.queue_prepared(&statement, &values).expect("it is queued");
    connection.queue_text("select 2").expect("it is queued");
    connection.queue_prepared(&statement, &values).expect("it is queued");
    connection.send().expect("it is written");
    let mut pieces = said.chunks(piece);
    let mut outcomes = Vec::new();
    loop {
        match connection.next_reply() {
            Ok(Some(reply)) => outcomes.push(format!("{reply:?}")),
            Ok(None) => match pieces.next() {
                Some(piece) => server.write_all(piece).expect("it fits"),
                None => server.shutdown(Shutdown::Write).expect("it is open"),
            },
            Err(error) => {
                outcomes.push(error.to_string());
                return outcomes;
            }
        }
    }
}
