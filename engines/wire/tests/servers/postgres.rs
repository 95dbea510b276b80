//! PostgreSQL itself: authentication, statements as text and prepared, errors, pipelines, a loop over many connections.

use crate::{PATIENCE, address, awaited, connected, done, shown, shown_row};
use rustix::event::{PollFd, PollFlags, poll};
use std::os::fd::AsFd;
use testkit::postgres_server::PostgresServer;
use testkit::program::left_out;
use wire::{Connection, ErrorKind, Executed, Reply, Value, WireError};

/// A server, or a line about why there is none.
fn server(settings: &[(&str, &str)]) -> Option<PostgresServer> {
    PostgresServer::start(settings).map_err(|reason| left_out(&reason)).ok()
}

fn by_socket(server: &PostgresServer) -> String {
    format!("host={} port={} user=postgres dbname=postgres", server.directory().display(), server.port())
}

fn by_port(server: &PostgresServer, user: &str, password: &str) -> String {
    format!("postgres://{user}:{password}@127.0.0.1:{}/postgres", server.port())
}

#[test]
fn statements_run_as_text_and_prepared() {
    let Some(server) = server(&[]) else { return };
    let mut connection = connected(&by_socket(&server));
    assert!(connection.server_version().starts_with(|first: char| first.is_ascii_digit()));
    let made = connection.execute("create table t (a int primary key, b text, c numeric, d float8, e bytea)");
    assert_eq!(made.expect("it is made"), Executed::default());
    let insert = connection.prepare("insert into t values ($1, $2, $3, $4, $5)").expect("it can be prepared");
    assert_eq!(insert.parameters(), 5);
    let rows = [
        [Value::Int(1), Value::Text("one"), Value::Int(10), Value::Real(0.5), Value::Bytes(b"\0\xff")],
        [Value::Int(-2), Value::Null, Value::Real(1.25), Value::Null, Value::Bytes(b"")],
    ];
    for row in &rows {
        connection.queue_prepared(&insert, row).expect("as many values as parameters");
    }
    assert_eq!(connection.waiting(), 2);
    assert!(connection.send().expect("it is written"));
    assert_eq!(connection.next_reply().expect("an answer"), Some(done(0, 1)));
    assert_eq!(connection.next_reply().expect("an answer"), Some(done(0, 1)));
    let rows = connection.query("select a, b, c, d, e from t order by a").expect("an answer");
    assert_eq!(shown(&rows), [["-2", "NULL", "1.25", "NULL", "\\x"], ["1", "one", "10", "0.5", "\\x00ff"]]);
    let both = connection.execute("update t set b = 'x'; select generate_series(1, 5)").expect("an answer");
    assert_eq!(both, Executed { rows: 5, affected: 2 });
    assert!(matches!(connection.queue_prepared(&insert, &[]), Err(WireError::Request(_))));
    assert_eq!(connection.waiting(), 0);
}

#[test]
fn the_last_row_is_kept_on_demand() {
    let Some(server) = server(&[]) else { return };
    let mut connection = connected(&by_socket(&server));
    connection.keep_last_row(true);
    connection.queue_text("select i, null, 'x' || i from generate_series(1, 3) i").expect("it is queued");
    let Reply::Done { rows: 3, last_row: Some(row), .. } = awaited(&mut connection) else { panic!("three rows") };
    assert_eq!(row.values().collect::<Vec<_>>(), [Some(&b"3"[..]), None, Some(b"x3")]);
    connection.queue_text("select 1 where false").expect("it is queued");
    assert_eq!(awaited(&mut connection), done(0, 0));
    connection.keep_last_row(false);
    connection.queue_text("select 1").expect("it is queued");
    assert_eq!(awaited(&mut connection), done(1, 0));
}

#[test]
fn a_refused_request_leaves_the_connection_usable() {
    let Some(server) = server(&[("statement_timeout", "50ms")]) else { return };
    let mut connection = connected(&by_socket(&server));
    let Err(WireError::Server(error)) = connection.execute("select 1 / 0") else { panic!("it is refused") };
    assert_eq!((error.code().as_str(), error.kind()), ("22012", ErrorKind::Other));
    let Err(WireError::Server(error)) = connection.execute("select pg_sleep(60)") else { panic!("it is refused") };
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(connection.prepare("selec 1").is_err());
    connection.queue_text("select 1").expect("it is queued");
    connection.queue_text("select 1 / 0").expect("it is queued");
    connection.queue_text("select 2").expect("it is queued");
    assert_eq!(awaited(&mut connection), done(1, 0));
    assert!(matches!(awaited(&mut connection), Reply::Refused(_)));
    assert_eq!(awaited(&mut connection), done(1, 0));
    let blocked = connection.queue_text("select 1").and_then(|()| connection.execute("select 1").map(drop));
    assert!(matches!(blocked, Err(WireError::Request(_))), "others wait");
}

/// Each statement has its own reply. After an error the server passes over the others of the pipeline and undoes those before it.
#[test]
fn statements_of_a_pipeline_are_answered_one_by_one_and_an_error_ends_it() {
    let Some(server) = server(&[]) else { return };
    let mut connection = connected(&by_socket(&server));
    connection.execute("create table p (a int primary key)").expect("it is made");
    let insert = connection.prepare("insert into p values ($1)").expect("prepared");
    let count = connection.prepare("select count(*) from p").expect("prepared");
    let nothing = connection.prepare("").expect("prepared");
    for number in [1, 2] {
        connection.queue_pipelined(&insert, &[Value::Int(number)]).expect("it is queued");
    }
    connection.queue_pipelined(&nothing, &[]).expect("it is queued");
    assert!(connection.queue_sync().expect("it is queued"), "it has a reply of its own");
    let replies: Vec<Reply> = (0..4).map(|_| awaited(&mut connection)).collect();
    assert_eq!(replies, [done(0, 1), done(0, 1), done(0, 0), done(0, 0)]);
    for number in [3, 1, 4] {
        connection.queue_pipelined(&insert, &[Value::Int(number)]).expect("it is queued");
    }
    connection.queue_sync().expect("it is queued");
    connection.queue_pipelined(&count, &[]).expect("it is queued");
    connection.queue_sync().expect("it is queued");
    connection.keep_last_row(true);
    assert_eq!(awaited(&mut connection), done(0, 1));
    let Reply::Refused(error) = awaited(&mut connection) else { panic!("1 is there") };
    assert_eq!(error.code(), "23505");
    assert_eq!((awaited(&mut connection), awaited(&mut connection)), (Reply::Skipped, done(0, 0)));
    let Reply::Done { last_row: Some(row), .. } = awaited(&mut connection) else { panic!("a row") };
    assert_eq!(shown_row(&row), ["2"], "3 went with the pipeline that it was in");
    assert_eq!((awaited(&mut connection), connection.waiting()), (done(0, 0), 0));
}

#[test]
fn long_rows_and_many_rows_pass_through_small_buffers() {
    let Some(server) = server(&[]) else { return };
    let mut connection = connected(&by_socket(&server));
    let many = connection.execute("select repeat('x', i % 20000) from generate_series(1, 3000) i").expect("an answer");
    assert_eq!(many.rows, 3000);
    let long = connection.query("select repeat('y', 3000000)").expect("an answer");
    assert!(
        long[0][0].as_ref().is_some_and(|value| value.len() == 3_000_000 && value.iter().all(|byte| *byte == b'y'))
    );
    let sent = format!("select length('{}')", "z".repeat(3_000_000));
    assert_eq!(connection.query(&sent).expect("an answer")[0][0].as_deref(), Some(&b"3000000"[..]));
}

#[test]
fn one_loop_drives_many_connections() {
    let Some(server) = server(&[("max_connections", "60")]) else { return };
    let mut connections: Vec<Connection> = (0..40).map(|_| connected(&by_socket(&server))).collect();
    connections[0]
        .execute("create table t (a int primary key, n int); insert into t values (1, 0)")
        .expect("it is made");
    let update =
        |connection: &mut Connection| connection.prepare("update t set n = n + $1 where a = 1").expect("prepared");
    let statements: Vec<_> = connections.iter_mut().map(update).collect();
    for connection in &mut connections {
        connection.set_nonblocking(true).expect("it can be");
    }
    for _ in 0..10 {
        for (connection, statement) in connections.iter_mut().zip(&statements) {
            connection.queue_prepared(statement, &[Value::Int(1)]).expect("it is queued");
            connection.queue_text("select pg_sleep(0.001)").expect("it is queued");
            assert!(connection.send().expect("it is written"), "a small request fits the socket");
        }
        for connection in &mut connections {
            assert_eq!(awaited(connection), done(0, 1));
            assert_eq!(awaited(connection), done(1, 0));
            assert_eq!(connection.next_reply().expect("it lives"), None);
        }
    }
    let total = connections[0].query("select n from t").expect("blocking calls work in either mode");
    assert_eq!(total[0][0].as_deref(), Some(&b"400"[..]));
}

#[test]
fn the_way_of_authentication_is_the_servers() {
    let Some(server) = server(&[]) else { return };
    let mut postgres = connected(&by_socket(&server));
    let users = "create role trusted login; create role clear login password 'geheim'; create role sha login password 'gehe^im';
                 set password_encryption = md5; create role old login password 'geheim'; set password_encryption = 'scram-sha-256';
                 create role nobody_at_all login";
    postgres.execute(users).expect("they are made");
    server.set_rules(
        "local all postgres trust\nhost all trusted all trust\nhost all clear all password\nhost all sha all scram-sha-256\nhost all old all md5\n",
    );
    // The rules are read by the server in its own time: the last rule's user is let in then.
    while Connection::connect(&address(&by_port(&server, "old", "no")), PATIENCE).is_ok() {
        std::thread::yield_now();
    }
    for (user, password) in [("trusted", "any"), ("clear", "geheim"), ("sha", "gehe%5Eim"), ("old", "geheim")] {
        let mut connection = connected(&by_port(&server, user, password));
        let rows = connection.query("select current_user").expect("an answer");
        assert_eq!(rows[0][0].as_deref(), Some(user.as_bytes()));
    }
    for user in ["clear", "sha", "old", "nobody_at_all"] {
        let refused = Connection::connect(&address(&by_port(&server, user, "wrong")), PATIENCE);
        assert_eq!(refused.expect_err("it is refused").kind(), ErrorKind::Authentication, "{user}");
    }
    let without = format!("host=127.0.0.1 port={} user=sha dbname=postgres", server.port());
    let refused = Connection::connect(&address(&without), PATIENCE).expect_err("it is refused");
    assert_eq!(refused.to_string(), "authentication: the server asks for a password, and none is given");
}

#[test]
fn a_server_that_ends_the_connection_says_why() {
    let Some(server) = server(&[]) else { return };
    let mut first = connected(&by_socket(&server));
    let mut second = connected(&by_socket(&server));
    second.set_nonblocking(true).expect("it can be");
    let end = format!("select pg_terminate_backend({}, 60000)", second.server_pid());
    first.execute(&end).expect("it is ended");
    poll(&mut [PollFd::new(&second.as_fd(), PollFlags::IN)], None).expect("it can be waited for");
    let error = loop {
        match second.next_reply() {
            Ok(reply) => assert_eq!(reply, None),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::ShuttingDown, "{error}");
}

#[test]
fn a_relay_passes_requests_of_another_program_on_and_knows_where_answers_end() {
    let Some(server) = server(&[]) else { return };
    let mut relay = connected(&by_socket(&server)).into_postgres_relay().expect("it is idle");
    assert!(relay.parameters().iter().any(|(name, value)| name == "client_encoding" && value == "UTF8"));
    assert_ne!(relay.cancel_key().0, 0);
    for (sql, expected) in
        [("select 'x' || 41 + 1", "42"), ("select repeat('y', 300000)", "yyyy"), ("select nonsense", "nonsense")]
    {
        let mut request = vec![b'Q'];
        request.extend(u32::try_from(sql.len() + 5).expect("short").to_be_bytes());
        request.extend(sql.as_bytes());
        request.push(0);
        relay.forward(&request).expect("it listens");
        let mut answer = Vec::new();
        let take = |bytes: &[u8]| {
            answer.extend_from_slice(bytes);
            Ok(())
        };
        relay.answer(take).expect("it answers");
        assert!(String::from_utf8_lossy(&answer).contains(expected), "{sql}");
        assert!(answer.ends_with(b"Z\0\0\0\x05I"), "{sql}");
    }
}
