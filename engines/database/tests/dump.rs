//! Dumps of a real PostgreSQL, restored by pg_restore itself: the same rows, sequences, large objects and constraints.

use crew::budget::{Budget, InProcess, Lease, Priority, Request, Weight};
use database::dump::{ArchiveIndex, DumpCodec, DumpError, DumpRequest, DumpRun, DumpSession, Dumped};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use testkit::postgres_server::PostgresServer;
use testkit::program::left_out;
use wire::{Connection, Environment, ServerAddress};

const SCHEMA: &str = r#"
create schema "Odd.Schema";
create table parent (id int generated always as identity primary key, name text);
insert into parent (name) select 'name ' || i from generate_series(1, 1000) i;
create table events (id bigint primary key, at timestamptz default now(), who int references parent (id), note text,
    twice bigint generated always as (id * 2) stored, details jsonb);
insert into events (id, who, note, details)
    select i, i % 1000 + 1, case i % 5 when 0 then null when 1 then '' when 2 then E'tab\tnew\nline\\.' when 3 then 'emoji 😀' else repeat('x', i % 300) end,
    jsonb_build_object('i', i) from generate_series(1, 60000) i;
create index on events (who);
create table "Odd.Schema"."table ""with"" (quotes" ("column (a, b" int, "order" text);
insert into "Odd.Schema"."table ""with"" (quotes" values (1, E'\\.'), (2, null), (3, E'a\\nb');
create table no_columns ();
insert into no_columns default values;
create table empty (a int);
create table parts (id int, v text) partition by range (id);
create table parts_1 partition of parts for values from (0) to (500);
create table parts_2 partition of parts for values from (500) to (1000);
insert into parts select i, 'v' || i from generate_series(0, 999) i;
create table toasted (id int, body text);
alter table toasted alter body set storage external;
insert into toasted select i, repeat(md5(i::text), 6000) from generate_series(1, 40) i;
create materialized view seen as select who, count(*) as n from events group by who;
create unique index on seen (who);
create table rls (id int, owner text);
insert into rls select i, 'nobody' from generate_series(1, 10) i;
alter table rls enable row level security;
alter table rls force row level security;
create sequence counter;
select setval('counter', 4711);
select lo_from_bytea(0, '\xdeadbeef');
"#;

/// Counts and sums over everything.
const FINGERPRINT: &str = r#"
select 'parent', count(*), sum(hashtext(t::text)::bigint) from parent t
union all select 'events', count(*), sum(hashtext(t::text)::bigint) from events t
union all select 'odd', count(*), sum(hashtext(t::text)::bigint) from "Odd.Schema"."table ""with"" (quotes" t
union all select 'no columns', count(*), 0 from no_columns
union all select 'empty', count(*), 0 from empty
union all select 'parts', count(*), sum(hashtext(t::text)::bigint) from parts t
union all select 'toasted', count(*), sum(hashtext(t::text)::bigint) from toasted t
union all select 'seen', count(*), sum(hashtext(t::text)::bigint) from seen t
union all select 'rls', count(*), sum(hashtext(t::text)::bigint) from rls t
union all select 'counter', last_value, 0 from counter
union all select 'objects', count(*), sum(hashtext(data::text)::bigint) from pg_largeobject
union all select 'constraints', count(*), 0 from pg_constraint where connamespace = 'public'::regnamespace
union all select 'indexes', count(*), 0 from pg_indexes where schemaname = 'public'
order by 1
"#;

struct Source {
    server: PostgresServer,
    directory: tempfile::TempDir,
}

impl Source {
    /// A server, or a line about why there is none.
    fn start() -> Option<Self> {
        let server = PostgresServer::start(&[]).map_err(|reason| left_out(&reason)).ok()?;
        let directory = tempfile::tempdir().expect("a directory");
        Some(Self { server, directory })
    }

    fn address(&self, database: &str) -> ServerAddress {
        let text = format!(
            "host={} port={} user=postgres dbname={database}",
            self.server.directory().display(),
            self.server.port()
        );
        ServerAddress::parse(&text, &Environment::default()).expect("a good address")
    }

    fn connection(&self, database: &str) -> Connection {
        Connection::connect(&self.address(database), Duration::from_secs(20)).expect("it listens")
    }

    fn request(&self, name: &str, codec: DumpCodec) -> DumpRequest {
        let sockets = self.directory.path().join(format!("{name}.s"));
        std::fs::create_dir(&sockets).expect("ours");
        DumpRequest {
            address: self.address("postgres"),
            selection: Vec::new(),
            session: DumpSession::default(),
            programs: programs(),
            target: Some(self.directory.path().join(name)),
            sockets,
            connections: 3,
            codec,
            part_bytes: 1 << 20,
            verifies: true,
        }
    }

    fn restored(&self, archive: &Path, database: &str) -> Vec<Vec<Option<Vec<u8>>>> {
        self.connection("postgres").execute(&format!("create database {database}")).expect("it is made");
        let mut restore = Command::new(programs().join("pg_restore"));
        restore.args(["--exit-on-error", "-j2", "-h"]).arg(self.server.directory());
        restore.args(["-p", &self.server.port().to_string(), "-U", "postgres", "-d", database]).arg(archive);
        let output = restore.output().expect("pg_restore runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        self.connection(database).query(FINGERPRINT).expect("all is there")
    }
}

fn target(request: &DumpRequest) -> &Path {
    request.target.as_deref().expect("a directory")
}

fn lease() -> Box<dyn Lease> {
    let what = "a dump".to_owned();
    let request = Request { priority: Priority::Normal, weight: Weight::default(), useful_width: 4, what };
    InProcess::new(4).lease(request)
}

fn programs() -> PathBuf {
    let all = std::fs::read_dir("/usr/lib/postgresql").expect("Debian's place");
    let newest = all.filter_map(|entry| Some(entry.ok()?.path().join("bin"))).max();
    newest.expect("it is installed")
}

fn codec(name: &str) -> DumpCodec {
    DumpCodec { format: codec::registry::by_name(name), level: 1 }
}

fn dump(request: &DumpRequest) -> Dumped {
    DumpRun::new()
        .run(request, lease().as_ref())
        .unwrap_or_else(|error| panic!("{error}: {:?}", std::error::Error::source(&error).map(ToString::to_string)))
}

#[test]
fn pg_restore_restores_what_was_dumped_by_many_connections() {
    let Some(source) = Source::start() else { return };
    let mut connection = source.connection("postgres");
    connection.execute(SCHEMA).expect("it is made");
    let expected = connection.query(FINGERPRINT).expect("all is there");
    for (number, name) in ["none", "gz"].into_iter().enumerate() {
        let request = source.request(name, codec(name));
        let dumped = dump(&request);
        assert_eq!(dumped.warnings, "");
        let events = dumped.index.tables.iter().find(|table| table.table == "public.events").expect("it is a table");
        assert!(events.rows == 60_000 && events.frames.len() > 4, "{} in {}", events.rows, events.frames.len());
        let written = std::fs::read(target(&request).join("mh.index")).expect("it is there");
        assert_eq!(serde_json::from_slice::<ArchiveIndex>(&written).expect("JSON"), dumped.index);
        assert_eq!(dumped.progress.tables, dumped.progress.tables_done);
        let left: Vec<_> = std::fs::read_dir(source.directory.path())
            .expect("ours")
            .flatten()
            .map(|entry| entry.file_name())
            .collect();
        assert_eq!(left.len(), 2 * (number + 1), "{left:?}");
        assert_eq!(source.restored(target(&request), &format!("copy_{name}")), expected, "{name}");
    }
}

#[test]
fn rows_are_of_one_moment_while_others_write() {
    let Some(source) = Source::start() else { return };
    let mut connection = source.connection("postgres");
    let make = "create table a (n int, pad text); create table b (n int, pad text);
        insert into a select 0, repeat('x', 500) from generate_series(1, 20000); insert into b select * from a";
    connection.execute(make).expect("it is made");
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let request = source.request("busy", codec("none"));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut writer = source.connection("postgres");
            while !is_over.load(std::sync::atomic::Ordering::SeqCst) {
                writer.execute("begin; update a set n = n + 1 where ctid < '(5,0)'; update b set n = n + 1 where ctid < '(5,0)'; commit").expect("it writes");
            }
        });
        let dumped = dump(&request);
        is_over.store(true, std::sync::atomic::Ordering::SeqCst);
        let [a, b] = ["public.a", "public.b"]
            .map(|name| dumped.index.tables.iter().find(|table| table.table == name).expect("there"));
        assert_eq!((a.rows, b.rows), (20_000, 20_000));
        let digest_of_rows = |table: &database::dump::ArchiveTable| table.digest.clone();
        assert_eq!(digest_of_rows(a), digest_of_rows(b), "both have seen the same updates");
    });
}

#[test]
fn an_end_from_outside_leaves_nothing_on_either_side() {
    let Some(source) = Source::start() else { return };
    let mut connection = source.connection("postgres");
    connection
        .execute("create table big as select i, repeat('x', 1000) s from generate_series(1, 100000) i")
        .expect("it is made");
    let request = source.request("ended", codec("none"));
    let run = DumpRun::new();
    let outcome = std::thread::scope(|scope| {
        let dumps = scope.spawn(|| run.run(&request, lease().as_ref()));
        while run.progress().bytes == 0 && !dumps.is_finished() {
            std::thread::sleep(Duration::from_millis(1));
        }
        run.stop();
        dumps.join().expect("it does not panic")
    });
    assert!(matches!(outcome, Err(DumpError::Interrupted) | Ok(_)));
    if outcome.is_err() {
        let left = std::fs::read_dir(source.directory.path()).expect("ours").flatten().map(|entry| entry.file_name());
        assert_eq!(left.collect::<Vec<_>>(), ["ended.s"]);
    }
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    loop {
        let others =
            "select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()";
        let rows = connection.query(others).expect("an answer");
        if rows[0][0].as_deref() == Some(b"0") {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "connections are left");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_failure_of_pg_dump_is_the_dumps() {
    let Some(source) = Source::start() else { return };
    let mut request = source.request("wrong", codec("none"));
    request.selection = vec!["--table=nothing".into()];
    let error = DumpRun::new().run(&request, lease().as_ref()).expect_err("no such table");
    assert!(error.to_string().contains("no matching tables were found"), "{error}");
    assert!(!target(&request).exists());
}

/// pg_dump says in the archive in which encoding rows are: a session of another one would write what nobody can restore.
#[test]
fn rows_are_in_the_encoding_of_the_database() {
    let Some(source) = Source::start() else { return };
    let make = "create database latin encoding 'LATIN1' locale 'C' template template0";
    source.connection("postgres").execute(make).expect("it is made");
    source
        .connection("postgres")
        .execute("create database raw encoding 'SQL_ASCII' template template0")
        .expect("it is made");
    source.connection("latin").execute("create table t (a text); insert into t values ('ä')").expect("it is made");
    let raw = "set client_encoding = 'SQL_ASCII'; create table t (a text); insert into t values (E'\\xff\\xfe')";
    source.connection("raw").execute(raw).expect("it is made");
    for (database, bytes) in [("latin", &b"\xe4\n"[..]), ("raw", b"\xff\xfe\n")] {
        let mut request = source.request(database, codec("none"));
        request.address = source.address(database);
        dump(&request);
        let written = std::fs::read_dir(target(&request)).expect("ours").flatten();
        let is_table = |name: &str| name.ends_with(".dat") && name != "toc.dat";
        let rows = written.filter(|entry| is_table(&entry.file_name().to_string_lossy()));
        let rows: Vec<u8> = rows.flat_map(|entry| std::fs::read(entry.path()).expect("ours")).collect();
        assert!(rows.starts_with(bytes), "{database}: {rows:?}");
        let restored = format!("{database}_restored");
        let encoding = if database == "latin" { "LATIN1" } else { "SQL_ASCII" };
        let make = format!("create database {restored} encoding '{encoding}' locale 'C' template template0");
        source.connection("postgres").execute(&make).expect("it is made");
        let mut restore = Command::new(programs().join("pg_restore"));
        restore.args(["--exit-on-error", "-h"]).arg(source.server.directory());
        restore
            .args(["-p", &source.server.port().to_string(), "-U", "postgres", "-d", &restored])
            .arg(target(&request));
        let output = restore.output().expect("pg_restore runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let question = "select encode(convert_to(a, current_setting('server_encoding')), 'hex') from t";
        let question = if database == "raw" { "select encode(a::bytea, 'hex') from t" } else { question };
        let hexadecimal = source.connection(&restored).query(question).expect("an answer");
        let expected = if database == "latin" { "e4" } else { "fffe" };
        assert_eq!(hexadecimal[0][0].as_deref(), Some(expected.as_bytes()));
    }
}

/// Who would be shown some rows only gets no dump, and no short one.
#[test]
fn row_security_fails_the_dump_unless_it_is_asked_for() {
    let Some(source) = Source::start() else { return };
    let make = "create role limited login; create table secrets (owner text, n int); \
        insert into secrets values ('limited', 1), ('other', 2); alter table secrets enable row level security; \
        create policy own on secrets using (owner = current_user); grant select on secrets to limited";
    source.connection("postgres").execute(make).expect("it is made");
    let mut request = source.request("limited", codec("none"));
    request.session.role = Some("limited".to_owned());
    request.selection = vec!["--role=limited".into()];
    let error = DumpRun::new().run(&request, lease().as_ref()).expect_err("two rows are not all shown");
    let text = format!("{error}: {:?}", std::error::Error::source(&error).map(ToString::to_string));
    assert!(text.contains("row-level security"), "{text}");
    assert!(!target(&request).exists());
    request.session.has_row_security = true;
    request.selection.push("--enable-row-security".into());
    let dumped = dump(&request);
    assert_eq!(dumped.index.tables.iter().map(|table| table.rows).sum::<u64>(), 1);
}
