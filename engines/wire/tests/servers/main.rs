//! Connections to real servers that the tests start, with and without TLS, and to false ones that lie.
//! A server that is not installed is named as left out.

mod bulk;
mod certificates;
mod encrypted;
mod last_errors;
mod mariadb;
mod mysql_lies;
mod postgres;
mod postgres_lies;

use rustix::event::{PollFd, PollFlags, poll};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::thread::JoinHandle;
use std::time::Duration;
use wire::{Connection, Environment, Reply, ServerAddress, TextRow};

/// Long enough for a busy machine; what is meant to run out of time has a limit of its own.
const PATIENCE: Duration = Duration::from_secs(60);

/// An address without anything from the environment.
fn address(text: &str) -> ServerAddress {
    ServerAddress::parse(text, &Environment::default()).expect("the test's address is one")
}

fn connected(text: &str) -> Connection {
    Connection::connect(&address(text), PATIENCE).expect("the test's server lets it in")
}

/// The next reply, whether the connection blocks or not.
fn awaited(connection: &mut Connection) -> Reply {
    loop {
        let is_sent = connection.send().expect("the server reads");
        if let Some(reply) = connection.next_reply().expect("the server answers") {
            return reply;
        }
        let events = if is_sent { PollFlags::IN } else { PollFlags::IN | PollFlags::OUT };
        poll(&mut [PollFd::new(&connection.as_fd(), events)], None).expect("it can be waited for");
    }
}

fn done(rows: u64, affected: u64) -> Reply {
    Reply::Done { rows, affected, last_row: None }
}

/// Rows as text, NULL by its name.
fn shown(rows: &[Vec<Option<Vec<u8>>>]) -> Vec<Vec<String>> {
    rows.iter().map(|row| row.iter().map(|value| text(value.as_deref())).collect()).collect()
}

fn shown_row(row: &TextRow) -> Vec<String> {
    row.values().map(text).collect()
}

fn text(value: Option<&[u8]>) -> String {
    value.map_or("NULL".to_owned(), |value| String::from_utf8_lossy(value).into_owned())
}

/// A false server for one connection, and its port.
fn false_server(talk: impl FnOnce(TcpStream) + Send + 'static) -> (u16, JoinHandle<()>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("it has one").port();
    let thread = std::thread::spawn(move || {
        let (client, _) = listener.accept().expect("a client comes");
        client.set_nodelay(true).expect("it can be");
        talk(client);
    });
    (port, thread)
}

/// Reads what the client says, once; it may have gone.
fn read_some(client: &mut TcpStream) -> Vec<u8> {
    use std::io::Read;
    let mut bytes = vec![0; 4096];
    let count = client.read(&mut bytes).unwrap_or(0);
    bytes.truncate(count);
    bytes
}

/// Writes to a client that may have gone.
fn say(client: &mut TcpStream, bytes: &[u8]) -> bool {
    use std::io::Write;
    client.write_all(bytes).is_ok()
}
