//! A false PostgreSQL that lies: lengths, order, early ends, replies in single bytes. Each lie is an error, none a panic or a hang.

use crate::{PATIENCE, address, false_server, read_some, say};
use std::thread::JoinHandle;
use std::time::Duration;
use wire::{Connection, Reply, WireError};

const WELCOME: &[u8] =
    b"R\0\0\0\x08\0\0\0\0S\0\0\0\x18server_version\x0017.0\0K\0\0\0\x0c\0\0\0\x07\0\0\0\x09Z\0\0\0\x05I";

/// It answers the login with `login` and, if that was right, the first request with `reply`, and hangs up.
fn liar(login: Vec<u8>, reply: Vec<u8>) -> (String, JoinHandle<()>) {
    let (port, thread) = false_server(move |mut client| {
        read_some(&mut client);
        say(&mut client, &login);
        if login == WELCOME {
            read_some(&mut client);
            say(&mut client, &reply);
        }
    });
    (address_of(port), thread)
}

fn address_of(port: u16) -> String {
    format!("postgres://u:p@127.0.0.1:{port}/d?sslmode=disable")
}

fn login_error(login: &[u8]) -> WireError {
    let (text, thread) = liar(login.to_vec(), Vec::new());
    let error = Connection::connect(&address(&text), PATIENCE).expect_err("it is a lie");
    thread.join().expect("the false server ends");
    error
}

fn outcome(reply: &[u8]) -> Result<Option<Reply>, WireError> {
    let (text, thread) = liar(WELCOME.to_vec(), reply.to_vec());
    let mut connection = Connection::connect(&address(&text), PATIENCE).expect("the login is right");
    assert_eq!((connection.server_version(), connection.server_pid()), ("17.0", 7));
    connection.queue_text("select 1").expect("it is queued");
    connection.send().expect("it is written");
    let outcome = connection.next_reply();
    drop(connection);
    thread.join().expect("the false server ends");
    outcome
}

#[test]
fn lies_during_the_login_are_errors() {
    let lies: [(&[u8], &str); 9] = [
        (b"", "the server closed the connection"),
        (b"R\0\0\0", "the server closed the connection"),
        (b"R\x7f\xff\xff\xff", "protocol error: the server sent a message of 2147483648 bytes"),
        (b"HTTP/1.1 400 Bad Request\r\n", "protocol error: the server sent a message of 1414811696 bytes"),
        (
            b"R\0\0\0\x08\0\0\0\x07",
            "authentication: the server asks for Kerberos (GSSAPI or SSPI), which is not spoken",
        ),
        (b"R\0\0\0\x08\0\0\0\x0c", "protocol error: the server sent something else than an authentication request"),
        (b"D\0\0\0\x06\0\0", "protocol error: the server sent something else than an authentication request"),
        (
            b"R\0\0\0\x08\0\0\0\0D\0\0\0\x06\0\0",
            "protocol error: the server sent something else than its parameters after the login",
        ),
        (
            b"E\0\0\0\x0eC53300\0Mx\0",
            "protocol error: the server sent an unreadable message: failed to fill whole buffer",
        ),
    ];
    for (lie, message) in lies {
        assert_eq!(login_error(lie).to_string(), message, "{}", lie.escape_ascii());
    }
}

/// A server that believes without its own proof has not shown that it knows the password.
#[test]
fn scram_without_the_servers_proof_is_refused() {
    let offer = b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0";
    let error = login_error(&[&offer[..], b"R\0\0\0\x08\0\0\0\0"].concat());
    assert_eq!(error.to_string(), "protocol error: the server sent no challenge in SCRAM");
}

#[test]
fn lies_in_a_reply_are_errors() {
    let lies: [(&[u8], &str); 6] = [
        (b"", "the server closed the connection"),
        (b"C\0\0\0\x03", "an unreadable message: invalid message length"),
        (b"D\x7f\xff\xff\xff", "a message of 2147483648 bytes"),
        (b"W\0\0\0\x07\0\0\0", "a message of type 'W' in a reply"),
        (b"R\0\0\0\x08\0\0\0\0", "a message of type 'R' in a reply"),
        (b"G\0\0\0\x07\0\0\0", "COPY FROM STDIN waits for data"),
    ];
    for (lie, message) in lies {
        let error = outcome(lie).expect_err("it is a lie").to_string();
        assert!(error.contains(message), "{}: {error}", lie.escape_ascii());
    }
}

#[test]
fn a_message_larger_than_the_limit_is_refused_by_its_head() {
    let error = outcome(b"C\x04\xff\xff\xff").expect_err("it is too large").to_string();
    assert_eq!(error, "a message has 83886080 bytes, 67108864 are the most");
}

#[test]
fn a_fatal_error_before_the_end_is_the_reason() {
    let error = outcome(b"E\0\0\0\x18VFATAL\0C57P01\0Mbye\0\0").expect_err("it is the end");
    assert_eq!(error.to_string(), "57P01 bye");
}

#[test]
fn a_reply_may_come_byte_by_byte() {
    let (port, thread) = false_server(|mut client| {
        read_some(&mut client);
        for byte in WELCOME {
            say(&mut client, &[*byte]);
        }
        read_some(&mut client);
        for byte in b"2\0\0\0\x04D\0\0\0\x0b\0\x01\0\0\0\x01xC\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I" {
            say(&mut client, &[*byte]);
            std::thread::sleep(Duration::from_micros(200));
        }
    });
    let text = address_of(port);
    let mut connection = Connection::connect(&address(&text), PATIENCE).expect("the login is right");
    connection.queue_text("select 'x'").expect("it is queued");
    connection.send().expect("it is written");
    assert_eq!(connection.next_reply().expect("an answer"), Some(Reply::Done { rows: 1, affected: 0, last_row: None }));
    thread.join().expect("the false server ends");
}

/// A server that always has something more to say does not hold a login up, nor does one that says nothing.
#[test]
fn a_login_ends_in_time() {
    for chatter in [&b""[..], &b"S\0\0\0\x08a\0b\0".repeat(1000)] {
        let chatter = chatter.to_vec();
        let (port, thread) = false_server(move |mut client| {
            read_some(&mut client);
            say(&mut client, b"R\0\0\0\x08\0\0\0\0");
            while !chatter.is_empty() && say(&mut client, &chatter) {}
            read_some(&mut client);
        });
        let text = address_of(port);
        let error = Connection::connect(&address(&text), Duration::from_millis(200)).expect_err("it takes too long");
        assert!(matches!(error, WireError::TimedOut), "{error}");
        thread.join().expect("the false server ends");
    }
}

/// What somebody slips in before TLS begins must not be taken for the server's word.
#[test]
fn nothing_comes_in_clear_text_before_tls() {
    for (answer, message) in
        [(&b"SZ"[..], "something in clear text where TLS begins"), (b"X", "'X' when asked for TLS")]
    {
        let (port, thread) = false_server(move |mut client| {
            read_some(&mut client);
            say(&mut client, answer);
            read_some(&mut client);
        });
        let text = format!("postgres://u@127.0.0.1:{port}/d?sslmode=require");
        let error = Connection::connect(&address(&text), PATIENCE).expect_err("it is an attack").to_string();
        assert!(error.ends_with(message), "{error}");
        thread.join().expect("the false server ends");
    }
}
