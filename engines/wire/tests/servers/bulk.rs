//! Data in bulk to and from real servers: COPY both ways, LOAD DATA LOCAL INFILE, errors in their midst; and ending a statement.

use crate::{PATIENCE, address, connected, shown};
use std::io::{self, Read};
use std::time::{Duration, Instant};
use testkit::mariadb_server::MariaDbServer;
use testkit::postgres_server::PostgresServer;
use testkit::program::left_out;
use wire::{Connection, ErrorKind, Executed, RowPart, WireError};

fn postgres() -> Option<(PostgresServer, Connection)> {
    let server = PostgresServer::start(&[]).map_err(|reason| left_out(&reason)).ok()?;
    let mut connection = by_socket(&server);
    connection.execute("create table t (a int, b text)").expect("it is made");
    Some((server, connection))
}

fn by_socket(server: &PostgresServer) -> Connection {
    connected(&format!("host={} port={} user=postgres dbname=postgres", server.directory().display(), server.port()))
}

fn mariadb() -> Option<(MariaDbServer, Connection)> {
    let server = MariaDbServer::start(&["--local-infile=1"]).map_err(|reason| left_out(&reason)).ok()?;
    let mut connection = connected(&format!("mysql://root@/?socket={}", server.socket().display()));
    connection.execute("create database d; use d; create table t (a int, b longtext)").expect("it is made");
    Some((server, connection))
}

fn lines(count: usize) -> Vec<u8> {
    (0..count).flat_map(|number| format!("{number}\tline {number} of many\n").into_bytes()).collect()
}

#[test]
fn copied_data_come_back_as_they_were() {
    let Some((_server, mut connection)) = postgres() else { return };
    let data = lines(200_000);
    for slice in [7, 5000, 300_000, data.len()] {
        connection.execute("truncate t").expect("it is empty");
        let mut copy = connection.copy_in("copy t from stdin").expect("it begins");
        // Small slices are many: a part of the data is enough for them.
        let part = if slice < 100 { &data[..70_000] } else { &data[..] };
        part.chunks(slice).for_each(|slice| copy.write(slice).expect("it is taken"));
        if slice < 100 {
            copy.abort("enough").expect("the server drops it");
            assert_eq!(shown(&connection.query("select count(*) from t").expect("it goes on")), [["0"]]);
            continue;
        }
        assert_eq!(copy.finish().expect("all are in"), Executed { rows: 0, affected: 200_000 });
        let mut back = Vec::new();
        let taken = connection.copy_out("copy (select * from t order by a) to stdout", |bytes| {
            back.extend_from_slice(bytes);
            Ok(())
        });
        assert_eq!(taken.expect("all come").affected, 200_000);
        assert!(back == data);
    }
    // A row larger than every buffer passes in slices.
    let mut longest = 0;
    let mut total = 0;
    let taken = connection.copy_out("copy (select repeat('x', 50000000)) to stdout", |bytes| {
        longest = longest.max(bytes.len());
        total += bytes.len();
        Ok(())
    });
    taken.expect("it comes");
    assert!(total == 50_000_001 && longest <= 64 << 10, "{total} in slices of {longest}");
}

#[test]
fn a_refused_copy_leaves_the_connection_usable() {
    let Some((_server, mut connection)) = postgres() else { return };
    let refused = connection.copy_in("copy nowhere from stdin").map(drop);
    assert!(matches!(refused, Err(WireError::Server(_))));
    let refused = connection.copy_in("select 1").map(drop);
    assert!(matches!(refused, Err(WireError::Request(_))), "no COPY");
    let mut copy = connection.copy_in("copy t from stdin").expect("it begins");
    // The server refuses the first line; it is heard long before all is written.
    let error = loop {
        if let Err(error) = copy.write(&b"no number\n".repeat(10_000)) {
            break error;
        }
    };
    let WireError::Server(error) = error else { panic!("{error}") };
    assert_eq!(error.code(), "22P02");
    assert!(error.context.is_some_and(|context| context.starts_with("COPY t, line 1, column a")));
    assert!(copy.write(b"more").is_err() && copy.finish().is_err());
    let short = connection.copy_in("copy t from stdin").and_then(|mut copy| {
        copy.write(b"1")?;
        copy.finish()
    });
    assert!(matches!(short, Err(WireError::Server(_))), "{short:?}");
    assert_eq!(shown(&connection.query("select count(*) from t").expect("it goes on")), [["0"]]);
}

/// A server that has much to say while it takes data does not stop both sides.
#[test]
fn notices_during_a_copy_are_taken() {
    let Some((_server, mut connection)) = postgres() else { return };
    let trigger = "create function f() returns trigger language plpgsql as $$ begin raise notice '%', repeat('n', 2000); return new; end $$;
        create trigger r before insert on t for each row execute function f()";
    connection.execute(trigger).expect("it is made");
    let mut copy = connection.copy_in("copy t from stdin").expect("it begins");
    copy.write(&lines(20_000)).expect("it is taken");
    assert_eq!(copy.finish().expect("all are in").affected, 20_000);
}

#[test]
fn a_copy_without_an_end_copies_nothing() {
    let Some((server, mut connection)) = postgres() else { return };
    let mut copy = connection.copy_in("copy t from stdin").expect("it begins");
    copy.write(&lines(1000)).expect("it is taken");
    drop(copy);
    assert!(matches!(connection.execute("select 1"), Err(WireError::Closed | WireError::Request(_))));
    let mut other = by_socket(&server);
    other.execute("begin; lock t; commit").expect("nobody holds it any more");
    assert_eq!(shown(&other.query("select count(*) from t").expect("an answer")), [["0"]]);
    let failed = other.copy_out("copy pg_class to stdout", |_| Err(io::Error::other("full")));
    assert!(matches!(failed, Err(WireError::Io(_))), "{failed:?}");
    assert!(other.execute("select 1").is_err());
}

#[test]
fn a_local_file_is_loaded_if_it_is_offered() {
    let Some((_server, mut connection)) = mariadb() else { return };
    let data = lines(100_000);
    let load = "load data local infile 'any name' into table t";
    for length in [0, data.len() / 2, data.len()] {
        connection.execute("truncate t").expect("it is empty");
        let part = &data[..length];
        let whole = part.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let mut asked = Vec::new();
        let loaded = connection.load_local(load, |name| {
            asked.push(name.to_owned());
            Ok(&part[..whole])
        });
        let count = part.iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(loaded.expect("it is loaded").affected, count as u64);
        assert_eq!(asked, ["any name"]);
        assert_eq!(shown(&connection.query("select count(*) from t").expect("it goes on")), [[count.to_string()]]);
    }
    let long = [b"1\t", &vec![b'x'; 40 << 20][..], b"\n"].concat();
    connection.execute("truncate t").expect("it is empty");
    connection.load_local(load, |_| Ok(&long[..])).expect("it is loaded");
    assert_eq!(shown(&connection.query("select length(b) from t").expect("an answer")), [[(40 << 20).to_string()]]);
}

struct Torn(usize);

impl Read for Torn {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(1).ok_or_else(|| io::Error::other("torn"))?;
        bytes[..2].copy_from_slice(b"1\n");
        Ok(2)
    }
}

#[test]
fn a_file_that_cannot_be_read_loads_nothing() {
    let Some((server, mut connection)) = mariadb() else { return };
    let load = "load data local infile 'f' into table t";
    let missing = connection.load_local(load, |_| Err::<&[u8], _>(io::Error::from(io::ErrorKind::NotFound)));
    assert!(matches!(missing, Err(WireError::Io(error)) if error.kind() == io::ErrorKind::NotFound));
    let refused = connection.load_local("load data local infile 'f' into table nowhere", |_| Ok(&b""[..]));
    assert!(matches!(refused, Err(WireError::Server(_))));
    assert_eq!(connection.load_local("do 0", |_| Ok(&b""[..])).expect("it asks for none"), Executed::default());
    let torn = connection.load_local(load, |_| Ok(Torn(3)));
    assert!(matches!(torn, Err(WireError::Io(_))), "{torn:?}");
    assert!(matches!(connection.execute("do 0"), Err(WireError::Closed | WireError::Request(_))));
    let mut other = connected(&format!("mysql://root@/d?socket={}", server.socket().display()));
    assert_eq!(shown(&other.query("select count(*) from t").expect("an answer")), [["0"]]);
    // Without an offer there is no file, even for the statement's own name.
    let unoffered = other.execute(load);
    assert!(matches!(unoffered, Err(WireError::LocalFile(_))), "{unoffered:?}");
}

/// The statement would take a minute; that it ends at all before the test's limit is what is looked at.
#[test]
fn a_statement_is_ended_from_outside() {
    let postgres = postgres();
    let mariadb = mariadb();
    let postgres = postgres
        .map(|(server, connection)| (Box::new(server) as Box<dyn std::any::Any>, connection, "select pg_sleep(600)"));
    let mariadb = mariadb.map(|(server, connection)| {
        (Box::new(server) as Box<dyn std::any::Any>, connection, "select sleep(600) from mysql.user")
    });
    for (_server, mut connection, sleep) in [postgres, mariadb].into_iter().flatten() {
        let canceller = connection.canceller();
        connection.queue_text(sleep).expect("it is queued");
        connection.send().expect("it is written");
        connection.set_nonblocking(true).expect("it can be");
        // One that comes before the statement has begun is lost.
        let reply = loop {
            canceller.cancel(PATIENCE).expect("the server is asked");
            connection.set_nonblocking(false).expect("it can be");
            connection.set_deadline(Some(Instant::now() + Duration::from_millis(300)));
            match connection.next_reply() {
                Ok(Some(reply)) => break reply,
                Ok(None) | Err(WireError::TimedOut) => {}
                Err(error) => panic!("{error}"),
            }
        };
        let wire::Reply::Refused(error) = reply else { panic!("it ended by itself: {reply:?}") };
        assert!(error.kind() == ErrorKind::Timeout || error.number == Some(1317), "{error}");
        connection.set_deadline(None);
        connection.execute("select 1").expect("it goes on");
    }
    let nobody = address("postgres://u@127.0.0.1:1/d");
    assert!(matches!(Connection::connect(&nobody, PATIENCE), Err(WireError::Connect { .. })));
}

/// Values, NULL, and a row that needs several packets pass as the server sends them.
#[test]
fn rows_of_mariadb_pass_in_order_and_whole() {
    let Some((_server, mut connection)) = mariadb() else { return };
    let sql = "select n, if(n % 3, concat('row ', n), null), if(n = 1000, concat(repeat('x', 10000000), repeat('x', 5000000)), ''), \
        if(n = 1000, repeat('y', 15000000), '') from (select 1 as n union all select 1000 union all select 3) s";
    let (mut shown, mut row) = (Vec::new(), Vec::new());
    let passed = connection.rows_out(sql, |part| {
        match part {
            RowPart::Value(value) => {
                row.push(value.map(|value| (value.len(), value.iter().take(8).copied().collect::<Vec<u8>>())))
            }
            RowPart::End => shown.push(std::mem::take(&mut row)),
        }
        Ok(())
    });
    assert_eq!(passed.expect("they pass").rows, 3);
    let value = |text: &str| Some((text.len(), text.bytes().take(8).collect::<Vec<u8>>()));
    assert_eq!(shown[0], [value("1"), value("row 1"), value(""), value("")]);
    let long = ["x", "y"].map(|letter| value(&letter.repeat(15_000_000)));
    assert_eq!(shown[1], [vec![value("1000"), value("row 1000")], long.to_vec()].concat());
    assert_eq!(shown[2], [value("3"), None, value(""), value("")]);
    assert!(matches!(connection.rows_out("select nothing", |_| Ok(())), Err(WireError::Server(_))));
    assert_eq!(connection.rows_out("select 1", |_| Ok(())).expect("the connection goes on").rows, 1);
    let stopped = connection.rows_out("select 1", |_| Err(io::ErrorKind::StorageFull.into()));
    assert!(matches!(stopped, Err(WireError::Io(_))));
    assert!(connection.execute("select 1").is_err(), "the connection is over");
}
