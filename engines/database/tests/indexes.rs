//! Indexes of files, built by lanes on real servers: the same as the server's own programs make of the same file, and a report on what is missing.

use crew::budget::{Budget, InProcess, Lease, Priority, Request, Weight};
use database::indexes::{
    AfterFailure, BuildEnd, BuildOutcome, IndexLanes, IndexWork, LaneLimits, LaneRule, LaneStop, Present, Rebuild,
    ScriptDialect, invalid_indexes, parse, plan, rebuild, server_workers,
};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use testkit::mariadb_server::MariaDbServer;
use testkit::postgres_server::PostgresServer;
use testkit::program::left_out;
use wire::{Connection, Environment, ServerAddress, WireError};

const SCHEMA: &str = r#"
create schema "Odd";
create table t (id int not null, a text, b int, r int4range, during tsrange);
insert into t select i, 'text ' || i % 977, i % 100, int4range(i, i + 1), tsrange(null, null) from generate_series(1, 20000) i;
create table "Odd"."Ta ble" (id int not null, "or der" int, t_id int);
insert into "Odd"."Ta ble" select i, i, i from generate_series(1, 3000) i;
create table parts (id int not null, v text) partition by range (id);
create table parts_1 partition of parts for values from (0) to (500);
create table parts_2 partition of parts for values from (500) to (1000);
insert into parts select i, 'v' || i from generate_series(0, 999) i;
create table cycle_a (id int not null, b int);
create table cycle_b (id int not null, a int);
insert into cycle_a values (1, 1);
insert into cycle_b values (1, 1);
"#;

/// As people write it, and as pg_dump does.
const SCRIPT: &str = r#"
SET statement_timeout = 0;
SELECT pg_catalog.set_config('search_path', 'public', false);
alter table t add constraint t_key primary key (id) include (b) deferrable initially deferred;
create index t_a on t (a text_pattern_ops, lower(a)) where b > 5; -- a ;
CREATE INDEX ON t (b DESC NULLS LAST) INCLUDE (a);
create index t_hash on t using hash (a);
alter table t add unique (id, b);
ALTER TABLE ONLY "Odd"."Ta ble"
    ADD CONSTRAINT "Odd K" UNIQUE NULLS NOT DISTINCT ("or der") WITH (fillfactor='70');
ALTER TABLE "Odd"."Ta ble" ADD PRIMARY KEY (id);
ALTER TABLE ONLY parts ADD CONSTRAINT parts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY parts_1 ADD CONSTRAINT parts_1_pkey PRIMARY KEY (id);
ALTER TABLE ONLY parts_2 ADD CONSTRAINT parts_2_pkey PRIMARY KEY (id);
CREATE INDEX parts_v ON ONLY parts USING btree (v);
CREATE INDEX parts_1_v ON parts_1 (v);
ALTER INDEX parts_v ATTACH PARTITION parts_1_v;
ALTER INDEX parts_pkey ATTACH PARTITION parts_1_pkey;
ALTER INDEX parts_pkey ATTACH PARTITION parts_2_pkey;
alter table cycle_a add primary key (id);
alter table cycle_b add primary key (id);
alter table cycle_a add constraint to_b foreign key (b) references cycle_b (id);
alter table cycle_b add constraint to_a foreign key (a) references cycle_a (id);
alter table t add constraint apart exclude using gist (r with &&);
alter table t add check (b >= 0);
comment on index t_a is 'it''s; fast';
create index concurrently t_b on t (b);
alter table t cluster on t_b;
"#;

const DEFINITIONS: &str = r#"
select indexdef, i.indisvalid::text, i.indisready::text, coalesce(pg_catalog.obj_description(c.oid), '')
    from pg_indexes x join pg_class c on c.relname = x.indexname join pg_index i on i.indexrelid = c.oid
    where schemaname in ('public', 'Odd')
union all select conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid), convalidated::text, conindid::regclass::text, ''
    from pg_constraint where conrelid <> 0 and connamespace in ('public'::regnamespace, '"Odd"'::regnamespace) order by 1
"#;

struct Postgres(PostgresServer);

impl Postgres {
    fn start() -> Option<Self> {
        PostgresServer::start(&[]).map_err(|reason| left_out(&reason)).ok().map(Self)
    }

    fn connect(&self, database: &str) -> Result<Connection, WireError> {
        let (host, port) = (self.0.directory().display(), self.0.port());
        let text = format!("host={host} port={port} user=postgres dbname={database}");
        let address = ServerAddress::parse(&text, &Environment::default()).expect("a good address");
        Connection::connect(&address, Duration::from_secs(20))
    }

    fn connection(&self, database: &str) -> Connection {
        self.connect(database).expect("it listens")
    }

    fn make(&self, database: &str) -> Connection {
        self.connection("postgres").execute(&format!("create database {database}")).expect("it is made");
        let mut connection = self.connection(database);
        connection.execute(SCHEMA).expect("it is made");
        connection
    }
}

fn lease(hands: usize) -> Box<dyn Lease> {
    let what = "indexes".to_owned();
    let request = Request { priority: Priority::Normal, weight: Weight::default(), useful_width: hands, what };
    InProcess::new(hands).lease(request)
}

fn lanes(connection: &mut Connection, hands: usize, builds: usize, after_failure: AfterFailure) -> IndexLanes {
    let server_workers = server_workers(connection).expect("an answer");
    let limits = LaneLimits { hands, server_workers, memory_bytes: Some(64 << 20) };
    IndexLanes::new(LaneRule::choose(limits, builds), after_failure)
}

fn carry_out(
    lanes: &IndexLanes,
    work: IndexWork,
    connect: &(dyn Fn() -> Result<Connection, WireError> + Sync),
) -> Vec<BuildOutcome> {
    let lease = lease(lanes.rule().hands);
    lanes.add(work.jobs);
    lanes.no_more();
    std::thread::scope(|scope| {
        for _ in 0..lanes.rule().lanes {
            scope.spawn(|| lanes.work(connect, lease.as_ref()));
        }
    });
    assert_eq!(lease.books().taken, lease.books().returned);
    lanes.take_outcomes()
}

fn failures(outcomes: &[BuildOutcome]) -> Vec<(u64, String)> {
    let failure = |outcome: &BuildOutcome| match &outcome.end {
        BuildEnd::Made { .. } | BuildEnd::Present => None,
        BuildEnd::Failed(error) | BuildEnd::OnlyIndex(error) => Some((outcome.line, error.to_string())),
        BuildEnd::NotMade { .. } => Some((outcome.line, "not made".to_owned())),
    };
    outcomes.iter().filter_map(failure).collect()
}

fn psql(server: &Postgres, database: &str, sql: &str) {
    let mut psql = Command::new("psql");
    psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-h"]).arg(server.0.directory());
    let output = psql.args(["-p", &server.0.port().to_string(), "-d", database, "-c", sql]).output();
    let output = output.expect("psql comes with the server");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// psql runs it in its order; CONCURRENTLY is no part of what a file in one piece can have there.
#[test]
fn a_file_makes_what_psql_makes_of_it() {
    let Some(server) = Postgres::start() else { return };
    let in_order = SCRIPT.replace("concurrently ", "");
    let mut expected = server.make("by_psql");
    psql(&server, "by_psql", &in_order);
    let expected = expected.query(DEFINITIONS).expect("an answer");
    let statements = parse(SCRIPT, ScriptDialect::Postgres).expect("statements of indexes");
    for (hands, database) in [(1, "one"), (2, "two"), (6, "six")] {
        let mut connection = server.make(database);
        let work = plan(&mut connection, &statements, Present::Refused).expect("a plan");
        assert!(work.builds() > 10, "{}", work.builds());
        let lanes = lanes(&mut connection, hands, work.builds(), AfterFailure::GoOn);
        let outcomes = carry_out(&lanes, work, &|| server.connect(database));
        assert_eq!(failures(&outcomes), []);
        assert_eq!(outcomes.len(), statements.len());
        assert_eq!(connection.query(DEFINITIONS).expect("an answer"), expected, "{hands} hands");
        let progress = lanes.progress();
        assert_eq!((progress.bytes_done, progress.hands, progress.running.len()), (progress.bytes, 0, 0));
        let work = plan(&mut connection, &statements, Present::PassedOver).expect("a plan");
        let left: Vec<_> = work.jobs.iter().filter(|job| job.phase == 0).map(|job| job.line).collect();
        assert_eq!(left, [6, 15], "an index without a name, and one of which partitions are missing");
    }
}

#[test]
fn what_pg_dump_writes_behind_the_rows_is_carried_out() {
    let Some(server) = Postgres::start() else { return };
    let mut source = server.make("source");
    psql(&server, "source", &SCRIPT.replace("concurrently ", ""));
    let trigger = "create function f() returns trigger language plpgsql as 'begin return new; end';
        create trigger tr before insert on t for each row execute function f();
        alter table t enable row level security; create policy p on t using (true)";
    source.execute(trigger).expect("it is made");
    let dump = |database: &str, section: &str| {
        let mut program = Command::new(programs().join("pg_dump"));
        program.args([section, "-U", "postgres", "-h"]).arg(server.0.directory());
        program.args(["-p", &server.0.port().to_string(), database]);
        String::from_utf8(program.output().expect("it is installed").stdout).expect("text")
    };
    let expected = dump("source", "--section=post-data");
    let mut copy = server.make("copy");
    copy.execute("create function f() returns trigger language plpgsql as 'begin return new; end'")
        .expect("it is made");
    let statements = parse(&expected, ScriptDialect::Postgres).expect("all statements are known");
    let work = plan(&mut copy, &statements, Present::Refused).expect("a plan");
    let lanes = lanes(&mut copy, 4, work.builds(), AfterFailure::GoOn);
    assert_eq!(failures(&carry_out(&lanes, work, &|| server.connect("copy"))), []);
    let without_token =
        |text: String| text.lines().filter(|line| !line.starts_with('\\')).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(without_token(dump("copy", "--section=post-data")), without_token(expected));
}

fn programs() -> PathBuf {
    let all = std::fs::read_dir("/usr/lib/postgresql").expect("Debian's place");
    all.filter_map(|entry| Some(entry.ok()?.path().join("bin"))).max().expect("it is installed")
}

#[test]
fn a_statement_that_fails_is_named_and_the_others_are_kept() {
    let Some(server) = Postgres::start() else { return };
    let script = "create index good on t (id);\ncreate unique index bad on t (b);\nalter table t add constraint k unique (a);\n\
        alter table t add constraint p primary key (id);\nalter table t add foreign key (id) references nothing (id);";
    let statements = parse(script, ScriptDialect::Postgres).expect("statements");
    let mut connection = server.make("failing");
    let work = plan(&mut connection, &statements, Present::Refused).expect("a plan");
    let running = lanes(&mut connection, 4, work.builds(), AfterFailure::GoOn);
    let found = failures(&carry_out(&running, work, &|| server.connect("failing")));
    assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2, 3, 5]);
    assert!(
        found[0].1.contains("could not create unique index \"bad\"") && found[0].1.contains("is duplicated"),
        "{found:?}"
    );
    let names =
        connection.query("select indexname::text from pg_indexes where tablename = 't' order by 1").expect("an answer");
    assert_eq!(names.into_iter().flatten().flatten().collect::<Vec<_>>(), [b"good".to_vec(), b"p".to_vec()]);
    let work = plan(&mut connection, &statements[1..], Present::Refused).expect("a plan");
    let stopping = lanes(&mut connection, 1, work.builds(), AfterFailure::Stop);
    let found = failures(&carry_out(&stopping, work, &|| server.connect("failing")));
    assert_eq!(stopping.stopped(), Some(LaneStop::Failed));
    assert_eq!(found.iter().filter(|(_, text)| text == "not made").count(), 3, "{found:?}");
}

#[test]
fn an_end_from_outside_cancels_all_builds() {
    let Some(server) = Postgres::start() else { return };
    let mut connection = server.make("ended");
    connection
        .execute("create function slow(int) returns int immutable language sql as 'select $1 from pg_sleep(0.01)'")
        .expect("it is made");
    let script = "create index a on t (slow(id)); create index b on t (slow(b)); create index c on t (slow(id + 1)); create index d on t (slow(b + 1))";
    let statements = parse(script, ScriptDialect::Postgres).expect("statements");
    let work = plan(&mut connection, &statements, Present::Refused).expect("a plan");
    let lanes = lanes(&mut connection, 4, work.builds(), AfterFailure::GoOn);
    let building = "select count(*) from pg_stat_progress_create_index";
    let outcomes = std::thread::scope(|scope| {
        let runs = scope.spawn(|| carry_out(&lanes, work, &|| server.connect("ended")));
        while connection.query(building).expect("an answer")[0][0].as_deref() != Some(b"4") {
            std::thread::sleep(Duration::from_millis(5));
        }
        lanes.stop(LaneStop::Interrupted);
        runs.join().expect("it does not panic")
    });
    assert!(
        outcomes.iter().all(|outcome| matches!(outcome.end, BuildEnd::NotMade { has_index: false })),
        "{outcomes:?}"
    );
    assert_eq!(connection.query(building).expect("an answer")[0][0].as_deref(), Some(&b"0"[..]));
    assert_eq!(invalid_indexes(&mut connection).expect("an answer"), Vec::<String>::new());
}

#[test]
fn all_indexes_of_a_database_are_rebuilt() {
    let Some(server) = Postgres::start() else { return };
    let mut connection = server.make("old");
    connection.execute("create index a on t (a); create index b on t (b); create index v on parts (v); create index \"X\" on \"Odd\".\"Ta ble\" (id)").expect("made");
    let nodes = "select relname::text, relfilenode::text from pg_class where relname in ('a', 'b', 'X', 'parts_1_v_idx', 'parts_2_v_idx') order by 1";
    for (tables, how, changed) in [
        (vec![], Rebuild::Locked, 5),
        (vec!["t".to_owned()], Rebuild::Concurrent, 2),
        (vec!["parts".to_owned(), "\"Odd\".\"Ta ble\"".to_owned()], Rebuild::Locked, 3),
    ] {
        let before = connection.query(nodes).expect("an answer");
        let jobs = rebuild(&mut connection, &tables, how).expect("an answer").expect("tables");
        assert_eq!(jobs.len(), changed);
        let lanes = lanes(&mut connection, 4, jobs.len(), AfterFailure::GoOn);
        let work = IndexWork { jobs, present: Vec::new() };
        assert_eq!(failures(&carry_out(&lanes, work, &|| server.connect("old"))), []);
        let after = connection.query(nodes).expect("an answer");
        assert_eq!(before.len(), 5);
        assert_eq!(before.iter().zip(&after).filter(|(before, after)| before != after).count(), changed);
    }
    let missing = rebuild(&mut connection, &["nothing".to_owned()], Rebuild::Locked).expect("an answer");
    assert_eq!(missing.expect_err("no such table"), "find table 'nothing'");
}

#[test]
fn keys_of_mariadb_are_added_table_by_table() {
    let server = match MariaDbServer::start(&[]) {
        Ok(server) => server,
        Err(reason) => return left_out(&reason),
    };
    let address = format!("mysql://root@localhost/test?socket={}", server.socket().display());
    let address = ServerAddress::parse(&address, &Environment::default()).expect("a good address");
    let bare = format!("mysql://root@localhost/?socket={}", server.socket().display());
    let bare = ServerAddress::parse(&bare, &Environment::default()).expect("a good address");
    Connection::connect(&bare, Duration::from_secs(20))
        .expect("it listens")
        .execute("create database test")
        .expect("made");
    let connect = || Connection::connect(&address, Duration::from_secs(20));
    let mut connection = connect().expect("it listens");
    let schema = "create table t (id int not null, a varchar(50), body text); insert into t select seq, concat('a', seq), 'some words' from seq_1_to_500;
        create table `Or ders` (id int not null, t_id int); insert into `Or ders` select seq, seq from seq_1_to_500";
    connection.execute(schema).expect("it is made");
    let script = "set names utf8mb4;\nalter table t add primary key (id);\ncreate index `by a` on t (a) comment 'x;';\ncreate fulltext index f on t (body);\n\
        alter table `Or ders` add primary key (id), add key k (t_id);\nalter table `Or ders` add constraint c foreign key (t_id) references t (id);\n\
        create unique index doubled on t (body(4));";
    let statements = parse(script, ScriptDialect::MySql).expect("statements");
    let work = plan(&mut connection, &statements[..5], Present::Refused).expect("a plan");
    assert_eq!(work.builds(), 3);
    let running = lanes(&mut connection, 4, work.builds(), AfterFailure::GoOn);
    assert_eq!(failures(&carry_out(&running, work, &connect)), []);
    let keys = "select distinct table_name, index_name from information_schema.statistics where table_schema = 'test' order by 1, 2";
    let found = connection.query(keys).expect("an answer");
    let mut names: Vec<_> =
        found.iter().map(|row| String::from_utf8_lossy(row[1].as_deref().unwrap_or_default()).into_owned()).collect();
    names.sort();
    assert_eq!(names, ["PRIMARY", "PRIMARY", "by a", "f", "k"]);
    let again = plan(&mut connection, &statements, Present::PassedOver).expect("a plan");
    let left: Vec<_> = again.jobs.iter().map(|job| job.line).collect();
    assert_eq!((left, again.present.len()), (vec![7, 6], 5));
    let work = plan(&mut connection, &statements[5..], Present::Refused).expect("a plan");
    let failing = lanes(&mut connection, 4, work.builds(), AfterFailure::GoOn);
    let found = failures(&carry_out(&failing, work, &connect));
    assert!(found.len() == 1 && found[0].0 == 7 && found[0].1.contains("Duplicate entry"), "{found:?}");
    let jobs = rebuild(&mut connection, &["t".to_owned()], Rebuild::Locked).expect("an answer").expect("tables");
    let lanes = lanes(&mut connection, 4, jobs.len(), AfterFailure::GoOn);
    assert_eq!(failures(&carry_out(&lanes, IndexWork { jobs, present: Vec::new() }, &connect)), []);
}
