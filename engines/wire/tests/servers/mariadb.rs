//! MariaDB itself: authentication, statements as text and prepared, errors, pipelines, a loop over many connections.

use crate::{PATIENCE, address, awaited, connected, done, shown, shown_row};
use rustix::event::{PollFd, PollFlags, poll};
use std::os::fd::AsFd;
use testkit::mariadb_server::MariaDbServer;
use testkit::program::left_out;
use wire::{Connection, ErrorKind, Executed, Reply, Value, WireError};

/// A server, or a line about why there is none.
fn server(options: &[&str]) -> Option<MariaDbServer> {
    MariaDbServer::start(options).map_err(|reason| left_out(&reason)).ok()
}

fn by_socket(server: &MariaDbServer) -> String {
    format!("mysql://root@/test_base?socket={}", server.socket().display())
}

/// A connection to a database of its own.
fn opened(server: &MariaDbServer) -> Connection {
    let without = format!("mysql://root@/?socket={}", server.socket().display());
    connected(&without).execute("create database test_base").expect("it is made");
    connected(&by_socket(server))
}

#[test]
fn statements_run_as_text_and_prepared() {
    let Some(server) = server(&[]) else { return };
    let mut connection = opened(&server);
    assert!(connection.server_version().contains("MariaDB") && !connection.server_version().starts_with("5.5.5"));
    let id = connection.query("select connection_id()").expect("an answer");
    assert_eq!(shown(&id), [[connection.server_pid().to_string()]]);
    connection
        .execute("create table t (a int primary key, b text, c decimal(9,2), d double, e blob)")
        .expect("it is made");
    let insert = connection.prepare("insert into t values (?, ?, ?, ?, ?)").expect("it can be prepared");
    assert_eq!(insert.parameters(), 5);
    let rows = [
        [Value::Int(1), Value::Text("ein \u{e4}"), Value::Int(10), Value::Real(0.5), Value::Bytes(b"\0\xff")],
        [Value::Int(-2), Value::Null, Value::Real(1.25), Value::Null, Value::Bytes(b"")],
    ];
    for row in &rows {
        connection.queue_prepared(&insert, row).expect("as many values as parameters");
    }
    assert!(connection.send().expect("it is written"));
    assert_eq!(connection.next_reply().expect("an answer"), Some(done(0, 1)));
    assert_eq!(connection.next_reply().expect("an answer"), Some(done(0, 1)));
    let rows = connection.query("select a, b, c, d, hex(e) from t order by a").expect("an answer");
    assert_eq!(shown(&rows), [["-2", "NULL", "1.25", "NULL", ""], ["1", "ein \u{e4}", "10.00", "0.5", "00FF"]]);
    let both = connection.execute("update t set b = 'x'; select seq from seq_1_to_5").expect("an answer");
    assert_eq!(both, Executed { rows: 5, affected: 2 });
    let nothing = connection.prepare("do 0").expect("it can be prepared");
    connection.queue_prepared(&nothing, &[]).expect("it is queued");
    assert_eq!(awaited(&mut connection), done(0, 0));
}

/// What a prepared statement returns is shown as the server shows it in text.
#[test]
fn binary_rows_are_shown_like_those_in_text() {
    let Some(server) = server(&[]) else { return };
    let mut connection = opened(&server);
    let table = "create table t (a tinyint, b tinyint unsigned, c smallint, d mediumint, e int unsigned, f bigint, g bigint unsigned,
        h year, i float, j double, k decimal(20,5), l date, m datetime(3), n timestamp(6) null, o time(2), p varchar(9), q bit(8),
        r int(6) zerofill, s time, u datetime)";
    connection.execute(table).expect("it is made");
    let rows = "insert into t values
        (-1, 200, -300, -70000, 4000000000, -9e18, 18e18, 2026, 1.5, -2.25, 12345.678, '2026-11-29', '2026-11-29 01:02:03.45',
         '2026-11-29 01:02:03', '-101:02:03.4', 'x', b'1000001', 42, '01:02:03', '0001-01-01'), (null, 1, 2, 3, 4, 5, 6, 1999, 0, 0, 0, '1000-01-01', '1000-01-01', null,
         '00:00:00', '', b'1000010', 0, '-00:00:01', null)";
    connection.execute(rows).expect("they are in");
    connection.keep_last_row(true);
    for row in [-1, 0] {
        let sql = format!("select * from t where coalesce(a, 0) = {row}");
        let expected = shown(&connection.query(&sql).expect("an answer"));
        let prepared = connection.prepare(&sql).expect("it can be prepared");
        // Definitions of columns come with the first result at most.
        for _ in 0..3 {
            connection.queue_prepared(&prepared, &[]).expect("it is queued");
            let Reply::Done { rows: 1, last_row: Some(kept), .. } = awaited(&mut connection) else { panic!("a row") };
            assert_eq!(shown_row(&kept), expected[0]);
        }
    }
}

/// The server sends definitions again when a table has changed under a prepared statement.
#[test]
fn changed_columns_are_seen() {
    let Some(server) = server(&[]) else { return };
    let mut connection = opened(&server);
    connection.execute("create table t (a int); insert into t values (7)").expect("it is made");
    let select = connection.prepare("select * from t").expect("it can be prepared");
    let changes = ["alter table t modify a varchar(9)", "alter table t add b double default 0.5", "do 0"];
    connection.keep_last_row(false);
    for (change, expected) in changes.iter().zip([vec!["7"], vec!["7", "0.5"], vec!["7", "0.5"]]) {
        connection.execute(change).expect("it is changed");
        // The first execution is not looked at: its definitions must be kept all the same.
        connection.keep_last_row(false);
        connection.queue_prepared(&select, &[]).expect("it is queued");
        assert_eq!(awaited(&mut connection), done(1, 0));
        connection.keep_last_row(true);
        connection.queue_prepared(&select, &[]).expect("it is queued");
        let Reply::Done { last_row: Some(row), .. } = awaited(&mut connection) else { panic!("a row") };
        assert_eq!(shown_row(&row), expected);
    }
}

#[test]
fn a_pipeline_is_requests_as_any_others() {
    let Some(server) = server(&[]) else { return };
    let mut connection = opened(&server);
    let select = connection.prepare("select ?").expect("it can be prepared");
    for number in 0..3 {
        connection.queue_pipelined(&select, &[Value::Int(number)]).expect("it is queued");
    }
    assert!(!connection.queue_sync().expect("there is none"), "it has no reply");
    let replies: Vec<Reply> = (0..3).map(|_| awaited(&mut connection)).collect();
    assert_eq!((replies, connection.waiting()), (vec![done(1, 0), done(1, 0), done(1, 0)], 0));
}

#[test]
fn a_refused_request_leaves_the_connection_usable() {
    let Some(server) = server(&[]) else { return };
    let mut connection = opened(&server);
    let Err(WireError::Server(error)) = connection.execute("select * from nowhere") else { panic!("it is refused") };
    assert_eq!((error.code().as_str(), error.kind()), ("1146 (42S02)", ErrorKind::Other));
    let Err(WireError::Server(error)) =
        connection.execute("set statement max_statement_time=0.05 for select sleep(60)")
    else {
        panic!("it is refused")
    };
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(connection.prepare("selec 1").is_err());
    for sql in ["select 1", "selec 1", "select 2", "select 1; selec 2; select 3"] {
        connection.queue_text(sql).expect("it is queued");
    }
    assert_eq!(awaited(&mut connection), done(1, 0));
    assert!(matches!(awaited(&mut connection), Reply::Refused(_)));
    assert_eq!(awaited(&mut connection), done(1, 0));
    assert!(matches!(awaited(&mut connection), Reply::Refused(_)), "the second of three");
    assert_eq!(connection.waiting(), 0);
}

#[test]
fn a_deadlock_is_known_as_one() {
    let Some(server) = server(&[]) else { return };
    let mut first = opened(&server);
    let mut second = connected(&by_socket(&server));
    first.execute("create table t (a int primary key, n int); insert into t values (1, 0), (2, 0)").expect("made");
    for (connection, row) in [(&mut first, 1), (&mut second, 2)] {
        connection.execute("begin").expect("it begins");
        connection.execute(&format!("update t set n = n + 1 where a = {row}")).expect("nobody else wants it");
    }
    first.queue_text("update t set n = n + 1 where a = 2").expect("it is queued");
    first.send().expect("it is written");
    second.queue_text("update t set n = n + 1 where a = 1").expect("it is queued");
    second.send().expect("it is written");
    let both = [awaited(&mut first), awaited(&mut second)];
    let is_victim = |reply: &Reply| matches!(reply, Reply::Refused(error) if error.kind() == ErrorKind::Deadlock);
    assert_eq!(both.iter().filter(|reply| is_victim(reply)).count(), 1, "{both:?}");
}

/// A packet has 16 MiB at most; a longer request or row goes on in the next.
#[test]
fn long_packets_go_on_in_the_next() {
    let Some(server) = server(&["--max-allowed-packet=128M"]) else { return };
    let mut connection = opened(&server);
    for length in [(16 << 20) - 100, (16 << 20) - 6, (16 << 20) - 5, (16 << 20) - 4, (16 << 20) - 1, 16 << 20, 33 << 20]
    {
        let sent = format!("select length('{}')", "z".repeat(length));
        assert_eq!(shown(&connection.query(&sent).expect("an answer")), [[length.to_string()]]);
        let skipped = connection.execute(&format!("select repeat('y', {length}); select 1")).expect("an answer");
        assert_eq!(skipped.rows, 2, "{length}");
        let kept = connection.query(&format!("select repeat('y', {length}); select 1")).expect("an answer");
        assert!(kept[0][0].as_ref().is_some_and(|value| value.len() == length), "{length}");
    }
    let prepared = connection.prepare("select length(?)").expect("it can be prepared");
    connection.keep_last_row(true);
    let long = "x".repeat(17 << 20);
    connection.queue_prepared(&prepared, &[Value::Text(&long)]).expect("it is queued");
    let Reply::Done { last_row: Some(row), .. } = awaited(&mut connection) else { panic!("a row") };
    assert_eq!(shown_row(&row), [long.len().to_string()]);
}

#[test]
fn one_loop_drives_many_connections() {
    let Some(server) = server(&[]) else { return };
    let mut connections = vec![opened(&server)];
    connections.extend((0..39).map(|_| connected(&by_socket(&server))));
    connections[0]
        .execute("create table t (a int primary key, n int); insert into t values (1, 0)")
        .expect("it is made");
    let update =
        |connection: &mut Connection| connection.prepare("update t set n = n + ? where a = 1").expect("prepared");
    let statements: Vec<_> = connections.iter_mut().map(update).collect();
    for connection in &mut connections {
        connection.set_nonblocking(true).expect("it can be");
    }
    for _ in 0..10 {
        for (connection, statement) in connections.iter_mut().zip(&statements) {
            connection.queue_prepared(statement, &[Value::Int(1)]).expect("it is queued");
            connection.queue_text("select sleep(0.001)").expect("it is queued");
            assert!(connection.send().expect("it is written"), "a small request fits the socket");
        }
        for connection in &mut connections {
            assert_eq!(awaited(connection), done(0, 1));
            assert_eq!(awaited(connection), done(1, 0));
            assert_eq!(connection.next_reply().expect("it lives"), None);
        }
    }
    let total = connections[0].query("select n from t").expect("blocking calls work in either mode");
    assert_eq!(shown(&total), [["400"]]);
}

#[test]
fn the_way_of_authentication_is_the_servers() {
    let Some(server) = server(&["--plugin-load-add=auth_ed25519", "--max-connections=10"]) else { return };
    let mut root = opened(&server);
    let users = "create user old@'%' identified by 'geheim'; create user nothing@'%';
                 create user curve@'%' identified via ed25519 using password('geheim')";
    root.execute(users).expect("they are made");
    let by_port =
        |user: &str, password: &str| address(&format!("mysql://{user}:{password}@127.0.0.1:{}/", server.port()));
    for (user, password) in [("old", "geheim"), ("curve", "geheim"), ("nothing", "")] {
        let mut connection = Connection::connect(&by_port(user, password), PATIENCE).expect("it is let in");
        assert_eq!(shown(&connection.query("select user()").expect("an answer")), [[format!("{user}@localhost")]]);
    }
    for user in ["old", "curve", "nothing", "nobody_at_all"] {
        let refused = Connection::connect(&by_port(user, "wrong"), PATIENCE).expect_err("it is refused");
        assert_eq!(refused.kind(), ErrorKind::Authentication, "{user}: {refused}");
    }
    if rustix::process::geteuid().is_root() {
        root.execute("alter user root@localhost identified via unix_socket").expect("it is changed");
        connected(&by_socket(&server));
    } else {
        left_out("unix_socket of MariaDB: the test's user is not root");
    }
    let mut others = Vec::new();
    let error = loop {
        match Connection::connect(&by_port("old", "geheim"), PATIENCE) {
            Ok(connection) => others.push(connection),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::TooManyConnections, "{error}");
}

#[test]
fn a_server_that_ends_the_connection_is_noticed() {
    let Some(server) = server(&[]) else { return };
    let mut first = opened(&server);
    let mut second = connected(&by_socket(&server));
    second.set_nonblocking(true).expect("it can be");
    first.execute(&format!("kill {}", second.server_pid())).expect("it is killed");
    poll(&mut [PollFd::new(&second.as_fd(), PollFlags::IN)], None).expect("it can be waited for");
    let error = loop {
        match second.next_reply() {
            Ok(reply) => assert_eq!(reply, None),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, WireError::Closed | WireError::Server(_)), "{error}");
}
