//! The error that a server sends before it closes a connection reaches the caller: while a request runs, and if it was in the socket when the next one was
//! sent. False servers write it; the real ones are ended by an administrator.

use crate::{PATIENCE, address, connected};
use std::io::Write;
use std::os::unix::net::UnixStream;
use testkit::mariadb_server::MariaDbServer;
use testkit::postgres_server::PostgresServer;
use testkit::program::left_out;
use wire::{Connection, ErrorKind, WireError};

const FATAL: &[u8] = b"E\0\0\0\x26SFATAL\0VFATAL\0C57P01\0Mgoing down\0\0";
const REFUSED: &[u8] = b"E\0\0\0\x1aVERROR\0C22012\0Mnever\0\0";
const KILLED: &[u8] = b"\xff\x87\x07#70100Connection was killed";

/// A logged-in connection, and the false server's end of its socket.
fn postgres() -> (Connection, UnixStream) {
    let welcome = b"R\0\0\0\x08\0\0\0\0K\0\0\0\x0c\0\0\0\x07\0\0\0\x09Z\0\0\0\x05I";
    logged_in("postgres://u@127.0.0.1:1/d?sslmode=disable", welcome)
}

fn mysql() -> (Connection, UnixStream) {
    let greeting = b"\x0a8.0.1\0\x07\0\0\0abcdefgh\0\xff\xff\x2d\x02\0\xff\xc1\x15\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0mysql_native_password\0";
    let login = [packet(0, greeting), packet(2, b"\0\0\0\x02\0\0\0")].concat();
    logged_in("mysql://u@127.0.0.1:1/d?ssl-mode=disabled", &login)
}

fn logged_in(text: &str, login: &[u8]) -> (Connection, UnixStream) {
    let (ours, mut server) = UnixStream::pair().expect("sockets");
    server.write_all(login).expect("there is room");
    (Connection::on_socket(ours, &address(text), PATIENCE).expect("the login is right"), server)
}

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_le_bytes();
    [&length[..3], &[sequence], payload].concat()
}

/// The server's end writes this and is closed.
fn ends(mut server: UnixStream, last: &[u8]) {
    server.write_all(last).expect("there is room");
}

/// Requests fail with this error, the first and every later one.
fn assert_ended(connection: &mut Connection, expected: &str) {
    for _ in 0..3 {
        let error = connection.execute("select 1").expect_err("it is over");
        assert_eq!(error.to_string(), expected);
        let is_fatal = matches!(&error, WireError::Server(error) if error.is_fatal);
        assert_eq!(is_fatal, !matches!(error, WireError::Closed));
    }
}

#[test]
fn an_error_that_was_there_before_the_next_request_is_the_reason() {
    let cases = [(FATAL, "57P01 going down"), (b"", "the server closed the connection")];
    for (last, expected) in cases {
        let (mut connection, server) = postgres();
        ends(server, last);
        assert_ended(&mut connection, expected);
    }
    // The server did not see the request: its packets are counted from 0.
    for (last, expected) in [(packet(0, KILLED), "1927 (70100) Connection was killed"), (Vec::new(), cases[1].1)] {
        let (mut connection, server) = mysql();
        ends(server, &last);
        assert_ended(&mut connection, expected);
    }
}

#[test]
fn an_error_that_comes_while_a_request_runs_stays_the_reason() {
    for (last, expected) in
        [(FATAL, "57P01 going down"), (REFUSED, "22012 never"), (&[REFUSED, FATAL].concat(), "57P01 going down")]
    {
        let (mut connection, server) = postgres();
        connection.queue_text("select 1").expect("it is queued");
        connection.send().expect("it is written");
        ends(server, last);
        let error = connection.next_reply().expect_err("it is over");
        assert_eq!(error.to_string(), expected);
        assert_ended(&mut connection, expected);
    }
    let (mut connection, server) = mysql();
    connection.queue_text("select 1").expect("it is queued");
    connection.send().expect("it is written");
    ends(server, &packet(1, KILLED));
    assert!(connection.next_reply().is_ok(), "the error is the reply");
    assert_ended(&mut connection, "1927 (70100) Connection was killed");
}

#[test]
fn data_in_bulk_end_with_the_servers_error() {
    let (mut connection, mut server) = postgres();
    server.write_all(b"G\0\0\0\x07\0\0\0").expect("there is room");
    let mut copy = connection.copy_in("copy t from stdin").expect("it begins");
    ends(server, FATAL);
    let error = (0..99).find_map(|_| copy.write(&[b'x'; 65536]).err()).expect("nobody reads");
    assert_eq!(error.to_string(), "57P01 going down");
    drop(copy);
    assert_ended(&mut connection, "57P01 going down");

    let (mut connection, mut server) = mysql();
    server.write_all(&packet(1, b"\xfbrows")).expect("there is room");
    let mut server = Some(server);
    let open = |_: &str| {
        // The client counts packets that the server never reads.
        server.take().into_iter().for_each(|server| ends(server, &packet(2, KILLED)));
        Ok(&[b'x'; 1 << 20][..])
    };
    let error = connection.load_local("load data", open).expect_err("nobody reads");
    assert_eq!(error.to_string(), "1927 (70100) Connection was killed");
    assert_ended(&mut connection, "1927 (70100) Connection was killed");
}

#[test]
fn a_relay_ends_with_the_servers_error() {
    for has_asked in [false, true] {
        let (connection, server) = postgres();
        let mut relay = connection.into_postgres_relay().expect("it is idle");
        if has_asked {
            relay.forward(b"Q\0\0\0\x06;\0").expect("the server is there");
        }
        ends(server, FATAL);
        let outcome = if has_asked { relay.answer(|_| Ok(())).map(drop) } else { relay.forward(b"Q\0\0\0\x06;\0") };
        assert_eq!(outcome.expect_err("it is over").to_string(), "57P01 going down");
    }
}

#[test]
fn an_error_out_of_order_is_one_only_where_a_reply_begins() {
    let (mut connection, server) = mysql();
    let columns = [packet(1, b"\x01"), packet(2, b"\x03def\0\0\0\0\0\x0c\x3f\0\x01\0\0\0\x08\0\0\0\0\0")].concat();
    connection.queue_text("select 1").expect("it is queued");
    connection.send().expect("it is written");
    ends(server, &[columns, packet(9, KILLED)].concat());
    let error = connection.next_reply().expect_err("it is a lie").to_string();
    assert_eq!(error, "protocol error: the server sent packet 9 where 3 is next");
}

/// Over TCP the request may still be written, and is answered by a reset.
#[test]
fn an_idle_session_of_postgresql_that_is_terminated_has_the_reason() {
    let Ok(server) = PostgresServer::start(&[]).map_err(|reason| left_out(&reason)) else { return };
    let by_socket =
        format!("host={} port={} user=postgres dbname=postgres", server.directory().display(), server.port());
    let by_port = format!("postgres://postgres@127.0.0.1:{}/postgres", server.port());
    let mut administrator = connected(&by_socket);
    for text in [&by_socket, &by_port] {
        let (mut idle, mut waiting) = (connected(text), connected(text));
        waiting.queue_text("select pg_sleep(600)").expect("it is queued");
        waiting.send().expect("it is written");
        for pid in [idle.server_pid(), waiting.server_pid()] {
            administrator.execute(&format!("select pg_terminate_backend({pid}, 60000)")).expect("it is ended");
        }
        let expected = "57P01 terminating connection due to administrator command";
        let error = waiting.next_reply().expect_err("it is over");
        assert_eq!((error.to_string().as_str(), error.kind()), (expected, ErrorKind::ShuttingDown));
        assert_ended(&mut idle, expected);
        assert_ended(&mut waiting, expected);
    }
}

/// MariaDB shuts the socket of a session that another one kills, without a message; only a session that kills itself has one.
#[test]
fn a_session_of_mariadb_that_is_killed_has_the_reason_if_there_is_one() {
    let Ok(server) = MariaDbServer::start(&[]).map_err(|reason| left_out(&reason)) else { return };
    let by_socket = format!("mysql://root@/?socket={}", server.socket().display());
    for text in [by_socket.clone(), format!("mysql://root@127.0.0.1:{}/", server.port())] {
        let mut own = connected(&text);
        let killed = "1927 (70100) Connection was killed";
        assert_eq!(own.execute("kill connection_id()").expect_err("it is over").to_string(), killed);
        assert_ended(&mut own, killed);
        let (mut administrator, mut idle) = (connected(&by_socket), connected(&text));
        administrator.execute(&format!("kill {}", idle.server_pid())).expect("it is killed");
        let error = idle.execute("select sleep(600)").expect_err("it is over").to_string();
        assert!(error == killed || error == "the server closed the connection", "{error}");
    }
}
