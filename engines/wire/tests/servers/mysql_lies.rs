//! A false MySQL that lies: lengths, order, early ends, a request for a file of the client. Each lie is an error, none a panic or a hang.

use crate::{PATIENCE, address, false_server, read_some, say};
use std::fs;
use std::thread::JoinHandle;
use std::time::Duration;
use testkit::program::{TestProgram, left_out};
use testkit::tree::TempDir;
use wire::{Connection, Reply, WireError};

/// A greeting with this plugin.
fn greeting(plugin: &str) -> Vec<u8> {
    let head = b"\x0a8.0.1\0\x07\0\0\0abcdefgh\0\xff\xff\x2d\x02\0\xff\xc1\x15\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0";
    packet(0, &[&head[..], plugin.as_bytes(), b"\0"].concat())
}

const NONCE: &[u8] = b"abcdefghijklmnopqrst";

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_le_bytes();
    [&length[..3], &[sequence], payload].concat()
}

fn ok(sequence: u8) -> Vec<u8> {
    packet(sequence, b"\0\0\0\x02\0\0\0")
}

fn address_of(port: u16) -> String {
    format!("mysql://u:geheim@127.0.0.1:{port}/d?ssl-mode=disabled")
}

fn login_error(parts: Vec<Vec<u8>>) -> WireError {
    let (port, thread) = false_server(move |mut client| {
        for part in parts {
            say(&mut client, &part);
            read_some(&mut client);
        }
    });
    let error = Connection::connect(&address(&address_of(port)), Duration::from_secs(5)).expect_err("it is a lie");
    thread.join().expect("the false server ends");
    error
}

/// A server that lets the client in, answers its first request with `reply`, and hands over what the client says then.
fn liar(reply: Vec<u8>) -> (String, JoinHandle<Vec<u8>>) {
    let (sender, receiver) = std::sync::mpsc::sync_channel(1);
    let (port, thread) = false_server(move |mut client| {
        say(&mut client, &greeting("mysql_native_password"));
        read_some(&mut client);
        say(&mut client, &ok(2));
        read_some(&mut client);
        say(&mut client, &reply);
        client.shutdown(std::net::Shutdown::Write).expect("the client may go on");
        sender.send(read_some(&mut client)).expect("the test waits");
    });
    let waiter = std::thread::spawn(move || {
        thread.join().expect("the false server ends");
        receiver.recv().expect("it has said")
    });
    (address_of(port), waiter)
}

fn outcome(reply: Vec<u8>) -> (Result<Option<Reply>, WireError>, Vec<u8>) {
    let (text, thread) = liar(reply);
    let mut connection = Connection::connect(&address(&text), PATIENCE).expect("the login is right");
    assert_eq!((connection.server_version(), connection.server_pid()), ("8.0.1", 7));
    connection.queue_text("select 1").expect("it is queued");
    connection.send().expect("it is written");
    let outcome = connection.next_reply();
    drop(connection);
    (outcome, thread.join().expect("the false server ends"))
}

#[test]
fn lies_during_the_login_are_errors() {
    let native = || greeting("mysql_native_password");
    let lies = [
        (vec![], "the server closed the connection"),
        (vec![b"\xff\xff\xff\0x".to_vec()], "something else than a packet of MySQL's login"),
        (vec![b"SSH-2.0-OpenSSH_9.2\r\n".to_vec()], "something else than a packet of MySQL's login"),
        (vec![packet(0, b"\x0a8.0\0short")], "a greeting that is none of MySQL's"),
        (vec![packet(0, b"\xff\x10\x04Too many connections")], "1040 (HY000) Too many connections"),
        (vec![native(), ok(7)], "something else than a packet of MySQL's login"),
        (vec![native(), packet(2, b"\x01extra")], "more data than its way of authentication has"),
        (vec![native(), packet(2, b"\xfemysql_clear_password\0")], "sent over TLS only"),
        (vec![native(), packet(2, b"\xfedialog\0")], "the plugin 'dialog', which is not spoken"),
        (vec![native(), packet(2, b"\xfe")], "the plugin 'mysql_old_password', which is not spoken"),
        (vec![native(), packet(2, b"\xfecaching_sha2_password\0short\0")], "random bytes of another number than 20"),
        (
            vec![greeting("caching_sha2_password"), packet(2, b"\x01\x04"), packet(4, b"\x01nonsense")],
            "a public key that cannot be used",
        ),
    ];
    for (lie, message) in lies {
        let error = login_error(lie).to_string();
        assert!(error.contains(message), "{message}: {error}");
    }
}

#[test]
fn lies_in_a_reply_are_errors() {
    let columns = || [packet(1, b"\x01"), packet(2, b"\x03def\0\0\0\0\0\x0c\x3f\0\x01\0\0\0\x08\0\0\0\0\0")].concat();
    let lies = [
        (vec![], "the server closed the connection"),
        (packet(3, b"\0\0\0\x02\0\0\0"), "packet 3 where 1 is next"),
        (packet(1, b"\0"), "an OK packet that is too short"),
        (packet(1, b"\xff"), "an ERR packet that is too short"),
        (packet(1, b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff"), "a result without a possible number of columns"),
        (packet(1, b""), "a result without a possible number of columns"),
        ([columns(), packet(3, b"\xfe\0")].concat(), "an OK packet that is too short"),
        ([columns(), packet(3, b"")].concat(), "too short"),
        (columns(), "the server closed the connection"),
    ];
    for (lie, message) in lies {
        let error = outcome(lie).0.expect_err("it is a lie").to_string();
        assert!(error.contains(message), "{message}: {error}");
    }
}

/// The known attack: a server asks for a file of its client's host. It gets an empty one, and the client an error.
#[test]
fn a_server_gets_no_file_that_was_not_offered() {
    let (outcome, said) = outcome(packet(1, b"\xfb/etc/passwd"));
    assert_eq!(said, packet(2, b""));
    let error = outcome.expect_err("it is an attack").to_string();
    assert_eq!(error, "the server asked for the local file '/etc/passwd', which was not offered");
}

/// The password that a client seals under the server's key is the password, as openssl opens it.
#[test]
fn a_sealed_password_opens() {
    let Some(openssl) = TestProgram::find("openssl") else { return left_out("openssl is not installed") };
    let place = TempDir::new().expect("a directory");
    let openssl = openssl.in_directory(place.path());
    let private = openssl.run(["genrsa", "2048"], b"").expect("it starts").stdout_of_success();
    let public = openssl.run(["rsa", "-pubout"], &private).expect("it starts").stdout_of_success();
    fs::write(place.path().join("key"), &private).expect("it can be written");
    let (sender, receiver) = std::sync::mpsc::sync_channel(1);
    let (port, thread) = false_server(move |mut client| {
        say(&mut client, &greeting("caching_sha2_password"));
        read_some(&mut client);
        say(&mut client, &packet(2, b"\x01\x04"));
        assert_eq!(read_some(&mut client), packet(3, b"\x02"), "it asks for the key");
        say(&mut client, &packet(4, &[b"\x01", &public[..]].concat()));
        sender.send(read_some(&mut client)).expect("the test waits");
        say(&mut client, &ok(6));
    });
    Connection::connect(&address(&address_of(port)), PATIENCE).expect("it is let in");
    thread.join().expect("the false server ends");
    let sealed = receiver.recv().expect("it has said");
    assert_eq!((sealed.len(), sealed[3]), (4 + 256, 5));
    let open = ["pkeyutl", "-decrypt", "-inkey", "key", "-pkeyopt", "rsa_padding_mode:oaep"];
    let hidden = openssl.run(open, &sealed[4..]).expect("it starts").stdout_of_success();
    let opened: Vec<u8> = hidden.iter().zip(NONCE.iter().cycle()).map(|(a, b)| a ^ b).collect();
    assert_eq!(opened, b"geheim\0");
}
