//! Restores of real archives of pg_dump, and of ours, into a real PostgreSQL: the same as pg_restore makes of them.

use crew::budget::{Budget, InProcess, Lease, Priority, Request, Weight};
use database::dump::{DumpCodec, DumpRequest, DumpRun, DumpSession};
use database::restore::{
    ArchiveReader, LookedArchive, RestoreError, RestoreInto, RestorePhase, RestoreProgress, RestoreRequest, RestoreRun,
    Restored, RowSource,
};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use testkit::postgres_server::PostgresServer;
use testkit::program::left_out;
use wire::{Connection, Environment, ServerAddress};

/// What restores have broken elsewhere: partitions, foreign keys in a circle, views of views, rules, large objects, odd names.
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
create index "odd "" index" on events (lower(note)) where note <> E';\n-- TOC entry 1 (class 1 OID 2)';
alter table events cluster on events_who_idx;
comment on index events_who_idx is 'co; mment';
create table "Odd.Schema"."table ""with"" (quotes" ("column (a, b" int unique, "order" text);
insert into "Odd.Schema"."table ""with"" (quotes" values (1, E'\\.'), (2, null), (3, E'a\\nb'), (4, E'\uFEFF');
create table no_columns ();
insert into no_columns default values;
create table empty (a int primary key);
create table parts (id int, v text, primary key (id)) partition by range (id);
create table parts_1 partition of parts for values from (0) to (500);
create table parts_2 partition of parts for values from (500) to (1000);
create index parts_v on parts (v);
insert into parts select i, 'v' || i from generate_series(0, 999) i;
create table egg (id int primary key, hen int);
create table hen (id int primary key, egg int references egg (id) deferrable);
insert into egg select i, i from generate_series(1, 100) i;
insert into hen select i, i from generate_series(1, 100) i;
alter table egg add foreign key (hen) references hen (id) deferrable;
create table toasted (id int, body text);
alter table toasted alter body set storage external;
insert into toasted select i, repeat(md5(i::text), 6000) from generate_series(1, 40) i;
create materialized view seen as select who, count(*) as n from events group by who;
create unique index on seen (who);
create materialized view seen_more as select n, count(*) from seen group by n;
create table rls (id int, owner text);
insert into rls select i, 'nobody' from generate_series(1, 10) i;
alter table rls enable row level security;
create policy p on rls using (owner = current_user);
create function no_rows() returns trigger language plpgsql as 'begin raise exception ''no''; end';
create trigger raises before insert on rls for each row execute function no_rows();
alter table parent add constraint named unique (name) deferrable initially deferred;
create table keyed (a int, b int, constraint keyed_key unique (a) include (b), exclude using btree (b with =));
insert into keyed select i, i from generate_series(1, 100) i;
create statistics st on who, note from events;
create rule r as on insert to empty where new.a = 5 do instead nothing;
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
union all select 'circle', count(*), sum(hashtext(t::text)::bigint) from egg t join hen on hen.id = t.hen
union all select 'toasted', count(*), sum(hashtext(t::text)::bigint) from toasted t
union all select 'seen', count(*), sum(hashtext(t::text)::bigint) from seen t
union all select 'seen more', count(*), sum(hashtext(t::text)::bigint) from seen_more t
union all select 'rls', count(*), sum(hashtext(t::text)::bigint) from rls t
union all select 'keyed', count(*), sum(hashtext(t::text)::bigint) from keyed t
union all select 'counter', last_value, 0 from counter
union all select 'objects', count(*), sum(hashtext(data::text)::bigint) from pg_largeobject
union all select 'constraints', count(*), sum(hashtext(conname || pg_get_constraintdef(oid))::bigint) from pg_constraint
    where connamespace in ('public'::regnamespace, '"Odd.Schema"'::regnamespace)
union all select 'indexes', count(*), sum(hashtext(indexname || indexdef)::bigint) from pg_indexes
    where schemaname in ('public', 'Odd.Schema')
union all select 'invalid', count(*), 0 from pg_index where not indisvalid or not indisready
union all select 'clustered', count(*), 0 from pg_index where indisclustered
union all select 'comments', count(*), 0 from pg_description where description = 'co; mment'
union all select 'triggers', count(*), 0 from pg_trigger where not tgisinternal
union all select 'policies', count(*), 0 from pg_policy
union all select 'rules', count(*), 0 from pg_rules where schemaname = 'public'
union all select 'inherited', count(*), 0 from pg_inherits
union all select 'left of us', count(*), 0 from pg_namespace where nspname = 'mh_restore'
order by 1
"#;

type Rows = Vec<Vec<Option<Vec<u8>>>>;

struct Place {
    server: PostgresServer,
    directory: tempfile::TempDir,
}

impl Place {
    /// A server with the database `postgres` filled, or a line about why there is none.
    fn start() -> Option<Self> {
        let server = PostgresServer::start(&[]).map_err(|reason| left_out(&reason)).ok()?;
        let directory = tempfile::tempdir().expect("a directory");
        Some(Self { server, directory })
    }

    fn filled() -> Option<(Self, Rows)> {
        let place = Self::start()?;
        let mut connection = place.connection("postgres");
        connection.execute(SCHEMA).expect("it is made");
        let expected = connection.query(FINGERPRINT).expect("all is there");
        Some((place, expected))
    }

    fn address(&self, database: &str) -> ServerAddress {
        let (host, port) = (self.server.directory().display(), self.server.port());
        let text = format!("host={host} port={port} user=postgres dbname={database}");
        ServerAddress::parse(&text, &Environment::default()).expect("a good address")
    }

    fn connection(&self, database: &str) -> Connection {
        Connection::connect(&self.address(database), Duration::from_secs(20)).expect("it listens")
    }

    fn make(&self, database: &str) {
        self.connection("postgres").execute(&format!("create database {database}")).expect("it is made");
    }

    /// An archive of pg_dump's own.
    fn foreign(&self, name: &str, options: &[&str]) -> PathBuf {
        let archive = self.directory.path().join(name);
        let mut command = Command::new(programs().join("pg_dump"));
        command.args(["-Fd", "-h"]).arg(self.server.directory()).args(["-p", &self.server.port().to_string()]);
        command.args(["-U", "postgres", "-f"]).arg(&archive).args(options).arg("postgres");
        let output = command.output().expect("pg_dump runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        archive
    }

    /// An archive of ours.
    fn ours(&self, name: &str, codec: &str) -> PathBuf {
        let sockets = self.directory.path().join(format!("{name}.s"));
        std::fs::create_dir(&sockets).expect("ours");
        let request = DumpRequest {
            address: self.address("postgres"),
            selection: Vec::new(),
            session: DumpSession::default(),
            programs: programs(),
            target: Some(self.directory.path().join(name)),
            sockets,
            connections: 2,
            codec: DumpCodec::parse(codec).expect("a compression"),
            part_bytes: 1 << 20,
            verifies: false,
        };
        DumpRun::new().run(&request, lease().as_ref()).expect("it is dumped");
        request.target.expect("a directory")
    }

    fn restore(&self, archive: &Path, database: &str) -> Restore {
        let scratch = self.directory.path().join(format!("{database}.r{}", std::process::id()));
        let _of_a_run_before = std::fs::remove_dir_all(&scratch);
        std::fs::create_dir(&scratch).expect("ours");
        let request = RestoreRequest {
            address: self.address(database),
            programs: programs(),
            archive: archive.to_owned(),
            options: Vec::new(),
            scratch,
            connections: 3,
            cores: 2,
            index_memory: None,
            chunk_bytes: 1 << 20,
            into: RestoreInto::Empty,
            exits_on_error: false,
            vacuums: false,
            verifies: archive.join("mh.index").exists(),
        };
        Restore { request, selection: Vec::new() }
    }

    fn fingerprint(&self, database: &str) -> Rows {
        self.connection(database).query(FINGERPRINT).expect("all is there")
    }
}

struct Restore {
    request: RestoreRequest,
    selection: Vec<OsString>,
}

impl Restore {
    fn look(&self) -> LookedArchive {
        let request = &self.request;
        let reader = ArchiveReader {
            programs: &request.programs,
            archive: &request.archive,
            scratch: &request.scratch,
            sections: &[],
        };
        LookedArchive::look(&reader, &self.selection, &request.options).expect("an archive")
    }

    fn run(&self) -> Result<Restored, RestoreError> {
        RestoreRun::new().run(&self.request, &self.look(), lease().as_ref())
    }
}

fn lease() -> Box<dyn Lease> {
    let what = "a restore".to_owned();
    InProcess::new(4).lease(Request { priority: Priority::Normal, weight: Weight::default(), useful_width: 4, what })
}

fn programs() -> PathBuf {
    let all = std::fs::read_dir("/usr/lib/postgresql").expect("Debian's place");
    let newest = all.filter_map(|entry| Some(entry.ok()?.path().join("bin"))).max();
    newest.expect("it is installed")
}

fn shown(rows: &Rows) -> Vec<String> {
    let text = |value: &Option<Vec<u8>>| String::from_utf8_lossy(value.as_deref().unwrap_or(b"NULL")).into_owned();
    rows.iter().map(|row| row.iter().map(text).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn archives_of_pg_dump_and_of_ours_are_restored_whole() {
    let Some((place, expected)) = Place::filled() else { return };
    let archives = [
        ("gzip", place.foreign("gzip", &[])),
        ("plain", place.foreign("plain", &["-Z0"])),
        ("inserts", place.foreign("inserts", &["--inserts", "-Z0"])),
        ("ours_gz", place.ours("ours_gz", "gzip:1")),
        ("ours_none", place.ours("ours_none", "none")),
        ("ours_lz4", place.ours("ours_lz4", "lz4")),
        ("ours_zstd", place.ours("ours_zstd", "zstd:1")),
    ];
    for (name, archive) in archives {
        let database = format!("copy_{name}");
        place.make(&database);
        let restore = place.restore(&archive, &database);
        let frames = restore.look().parts.tables.iter().filter(|table| table.source != RowSource::Stream).count();
        assert_eq!(frames > 5, name.starts_with("ours"), "{name}: {frames} tables with frames");
        let restored =
            restore.run().unwrap_or_else(|error| panic!("{name}: {error}: {:?}", std::error::Error::source(&error)));
        assert!(restored.faults.is_empty(), "{name}: {:?}", restored.faults);
        assert_eq!(shown(&place.fingerprint(&database)), shown(&expected), "{name}");
        let rows = if name == "inserts" { 0 } else { 62_355 };
        assert_eq!(restored.progress.rows, rows, "{name}: INSERT statements are pg_restore's");
        assert_eq!(restored.progress.indexes, restored.progress.indexes_done, "{name}");
        assert_eq!(restored.progress.tables, restored.progress.tables_done, "{name}");
    }
}

/// A moment of a restore's progress.
type Moment<'a> = &'a (dyn Fn(&RestoreProgress) -> bool + Sync);

/// Ends a restore at this moment; whether it was not done before.
fn end_when(restore: &Restore, is_it: Moment<'_>) -> bool {
    let run = RestoreRun::new();
    let looked = restore.look();
    std::thread::scope(|scope| {
        let restores = scope.spawn(|| run.run(&restore.request, &looked, lease().as_ref()));
        while !restores.is_finished() && !is_it(&run.progress()) {
            std::thread::sleep(Duration::from_micros(200));
        }
        run.stop();
        match restores.join().expect("it does not panic") {
            Err(RestoreError::Interrupted) => true,
            Err(other) => panic!("{other}: {:?}", std::error::Error::source(&other)),
            // It was done before.
            Ok(_) => false,
        }
    })
}

#[test]
fn an_interrupted_restore_goes_on_and_no_row_comes_twice() {
    let Some((place, expected)) = Place::filled() else { return };
    let archives = [("ours", place.ours("ours", "none")), ("foreign", place.foreign("foreign", &["-Z1"]))];
    for (name, archive) in archives {
        let moments: [(&str, Moment); 5] = [
            ("before", &|_| true),
            ("rows", &|now| now.rows > 20_000),
            ("more", &|now| now.rows > 50_000),
            ("indexes", &|now| now.indexes_done > 3),
            ("after", &|now| now.phase == RestorePhase::After),
        ];
        for (moment, is_it) in moments {
            let database = format!("{name}_{moment}");
            place.make(&database);
            let mut restore = place.restore(&archive, &database);
            let was_ended = end_when(&restore, is_it);
            let active = place
                .connection("postgres")
                .query(&format!("select pid from pg_stat_activity where datname = '{database}' and state = 'active'"))
                .expect("an answer");
            assert!(active.is_empty(), "{database}: something runs on");
            if was_ended {
                let again = restore.run().expect_err("it is not empty");
                assert!(
                    matches!(again, RestoreError::Unfinished { is_ours: true } | RestoreError::NotEmpty(_))
                        || moment == "before",
                    "{database}: {again}"
                );
                restore.request.into = RestoreInto::Interrupted;
                let restored = restore
                    .run()
                    .unwrap_or_else(|error| panic!("{database}: {error}: {:?}", std::error::Error::source(&error)));
                assert!(restored.faults.is_empty(), "{database}: {:?}", restored.faults);
                assert!(moment != "more" || restored.rows_before > 0, "{database}");
            }
            assert_eq!(shown(&place.fingerprint(&database)), shown(&expected), "{database}");
        }
    }
}

#[test]
fn databases_are_cleaned_or_refused() {
    let Some((place, expected)) = Place::filled() else { return };
    let archive = place.ours("archive", "gzip:1");
    place.make("again");
    let mut restore = place.restore(&archive, "again");
    restore.run().expect("it is empty");
    assert!(matches!(restore.run(), Err(RestoreError::NotEmpty(objects)) if objects > 10));
    restore.request.into = RestoreInto::Cleaned { if_exists: false };
    for _ in 0..2 {
        let restored = restore.run().expect("it is cleaned");
        assert!(restored.faults.is_empty(), "{:?}", restored.faults);
        assert_eq!(shown(&place.fingerprint("again")), shown(&expected));
    }
    place.make("nothing");
    let mut restore = place.restore(&archive, "nothing");
    restore.request.into = RestoreInto::Cleaned { if_exists: true };
    assert!(restore.run().expect("nothing is dropped").faults.is_empty());
    assert_eq!(shown(&place.fingerprint("nothing")), shown(&expected));
}

#[test]
fn rows_alone_go_into_tables_that_are_there() {
    let Some((place, _)) = Place::filled() else { return };
    let archive = place.foreign("archive", &["-Z0"]);
    place.make("rows");
    let mut restore = place.restore(&archive, "rows");
    restore.selection = vec!["--schema-only".into()];
    assert!(restore.run().expect("the schema").faults.is_empty());
    place
        .connection("rows")
        .execute("alter table hen drop constraint hen_egg_fkey; alter table rls disable trigger raises")
        .expect("a circle and a trigger");
    restore.selection = vec!["--data-only".into()];
    let looked = restore.look();
    assert!(looked.parts.in_order && looked.parts.before.len() == 1 && looked.parts.after.is_empty());
    let restored = restore.run().unwrap_or_else(|error| panic!("{error}: {:?}", std::error::Error::source(&error)));
    assert_eq!(restored.progress.rows, 62_355);
}

#[test]
fn damage_is_named_and_ends_the_restore() {
    let Some((place, _)) = Place::filled() else { return };
    let damage = |name: &str, archive: PathBuf, change: &dyn Fn(&mut Vec<u8>)| {
        let mut files: Vec<(u64, PathBuf)> = std::fs::read_dir(&archive)
            .expect("ours")
            .map(|file| file.expect("a file").path())
            .filter(|path| path.to_string_lossy().contains(".dat") && !path.ends_with("toc.dat"))
            .map(|path| (std::fs::metadata(&path).expect("there").len(), path))
            .collect();
        files.sort();
        let (_, largest) = files.pop().expect("rows");
        let mut bytes = std::fs::read(&largest).expect("ours");
        change(&mut bytes);
        std::fs::write(&largest, bytes).expect("ours");
        place.make(name);
        match place.restore(&archive, name).run() {
            Err(RestoreError::Damaged { file, what, .. }) => {
                assert!(largest.ends_with(Path::new(&file).file_name().expect("a name")), "{name}: {file}");
                what
            }
            Err(RestoreError::File { path, cause, .. }) => {
                assert!(largest.ends_with(Path::new(&path).file_name().expect("a name")), "{name}: {path}");
                cause.to_string()
            }
            other => panic!("{name}: {other:?}"),
        }
    };
    let flip = |bytes: &mut Vec<u8>| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x40;
    };
    let half = |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() / 2);
    assert!(damage("d1", place.ours("d1", "gzip:1"), &flip).len() > 5);
    assert!(damage("d2", place.ours("d2", "none"), &flip).contains("mh.index"), "no checksum but ours");
    // A file that mh.index is not of is one stream.
    assert!(damage("d3", place.ours("d3", "none"), &half).contains("ends before the line"));
    assert!(damage("d4", place.foreign("d4", &["-Z1"]), &half).len() > 5);
    assert!(damage("d5", place.foreign("d5", &["-Z0"]), &half).contains("ends before the line"));
    let archive = place.foreign("d6", &["-Z0"]);
    let tables = place.restore(&archive, "d6").look().parts.tables;
    std::fs::remove_file(&tables[0].file).expect("ours");
    let restore = place.restore(&archive, "d6");
    let reader = ArchiveReader {
        programs: &restore.request.programs,
        archive: &archive,
        scratch: &restore.request.scratch,
        sections: &[],
    };
    let missing = LookedArchive::look(&reader, &[], &[]).expect_err("a file is missing");
    assert!(
        matches!(&missing, RestoreError::File { path, .. } if tables[0].file.ends_with(Path::new(path).file_name().expect("a name"))),
        "{missing}"
    );
}

#[test]
fn rows_keep_their_meaning_whatever_the_encodings_are() {
    let Some(place) = Place::start() else { return };
    let make = "create table \"tést\" (\"é\" text primary key); insert into \"tést\" values ('é'), ('ü'); \
        create table plain (v text, n int); insert into plain select 'ß' || i, i from generate_series(1, 500) i; \
        create index on plain (v)";
    let ask = "select (select string_agg(\"é\", ',' order by \"é\") from \"tést\"), \
        (select count(*) || ' ' || min(v) from plain), (select count(*) from pg_indexes where schemaname = 'public')";
    for encoding in ["latin1", "sql_ascii"] {
        let encoded = |name: &str, encoding: &str| {
            let sql = format!("create database {name} encoding '{encoding}' template template0 locale 'C'");
            place.connection("postgres").execute(&sql).expect("it is made");
        };
        let source = format!("from_{encoding}");
        encoded(&source, encoding);
        place.connection(&source).execute(make).expect("it is made");
        let expected = shown(&place.connection(&source).query(ask).expect("an answer"));
        assert!(expected[0].starts_with("é,ü 500 ß1"), "{expected:?}");
        let archive = place.directory.path().join(&source);
        let mut dump = Command::new(programs().join("pg_dump"));
        dump.args(["-Fd", "-h"]).arg(place.server.directory()).args(["-p", &place.server.port().to_string()]);
        let output = dump.args(["-U", "postgres", "-f"]).arg(&archive).arg(&source).output().expect("pg_dump runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        for target in [encoding, "utf8"] {
            let database = format!("{encoding}_to_{target}");
            encoded(&database, target);
            let restored = place.restore(&archive, &database).run();
            let restored =
                restored.unwrap_or_else(|error| panic!("{database}: {error}: {:?}", std::error::Error::source(&error)));
            assert!(restored.faults.is_empty(), "{database}: {:?}", restored.faults);
            assert_eq!(shown(&place.connection(&database).query(ask).expect("an answer")), expected, "{database}");
        }
    }
}

/// An archive of these statements in the database `postgres`, and a database to restore it into.
fn archived(sql: &str) -> Option<(Place, PathBuf)> {
    let place = Place::start()?;
    place.connection("postgres").execute(sql).expect("it is made");
    let archive = place.foreign("archive", &["-Z0"]);
    place.make("copy");
    Some((place, archive))
}

fn answer(place: &Place, sql: &str) -> String {
    shown(&place.connection("copy").query(sql).expect("an answer")).join("; ")
}

#[test]
fn rights_on_the_schema_public_come_back() {
    let make = "create role reader; create table t (n int); grant create on schema public to reader; comment on schema public is 'ours'";
    let Some((place, archive)) = archived(make) else { return };
    let restored = place.restore(&archive, "copy").run().expect("it is restored");
    assert!(restored.faults.is_empty(), "{:?}", restored.faults);
    let asked = "select has_schema_privilege('reader', 'public', 'create'), obj_description('public'::regnamespace)";
    assert_eq!(answer(&place, asked), "t ours");
}

#[test]
fn an_interrupted_cleaning_goes_on_and_leaves_no_old_row() {
    let make = "create table a as select i from generate_series(1, 1000) i; create table b as select * from a";
    let Some((place, archive)) = archived(make) else { return };
    let mut restore = place.restore(&archive, "copy");
    restore.run().expect("it is empty");
    let mut holder = place.connection("copy");
    holder.execute("begin; lock table a in access share mode").expect("it is there");
    restore.request.into = RestoreInto::Cleaned { if_exists: true };
    let run = RestoreRun::new();
    let looked = restore.look();
    std::thread::scope(|scope| {
        let restores = scope.spawn(|| run.run(&restore.request, &looked, lease().as_ref()));
        let waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = 'copy'";
        while shown(&place.connection("postgres").query(waiting).expect("an answer")) == ["0"] {
            std::thread::sleep(Duration::from_millis(5));
        }
        run.stop();
        assert!(matches!(restores.join().expect("it ends"), Err(RestoreError::Interrupted)));
    });
    assert_eq!(answer(&place, "select count(*) from a"), "1000", "what was not dropped is there");
    holder.execute("rollback").expect("it lets go");
    restore.request.into = RestoreInto::Interrupted;
    let restored = restore.run().expect("it goes on");
    assert!(restored.faults.is_empty(), "{:?}", restored.faults);
    assert_eq!(answer(&place, "select (select count(*) from a), (select count(*) from b)"), "1000 1000");
}

#[test]
fn refusals_before_an_interruption_are_reported_after_it() {
    let make =
        "create role gone; create table t as select i from generate_series(1, 200000) i; alter table t owner to gone";
    let Some((place, archive)) = archived(make) else { return };
    place.connection("postgres").execute("alter table t owner to postgres; drop role gone").expect("nobody needs it");
    let mut restore = place.restore(&archive, "copy");
    let was_ended = end_when(&restore, &|now| now.rows > 0);
    restore.request.into = RestoreInto::Interrupted;
    if was_ended {
        let restored = restore.run().expect("it goes on");
        assert!(restored.faults.len() == 1 && restored.faults[0].message.contains("gone"), "{:?}", restored.faults);
    }
    assert_eq!(answer(&place, "select count(*) from t"), "200000");
}

#[test]
fn unlogged_rows_that_a_crash_took_come_anew() {
    let make = "create unlogged table u as select i from generate_series(1, 1000) i; create table l as select i from generate_series(1, 400000) i";
    let Some((place, archive)) = archived(make) else { return };
    let mut restore = place.restore(&archive, "copy");
    restore.request.connections = 1;
    let was_ended = end_when(&restore, &|now| now.phase == RestorePhase::After);
    // What recovery does to an unlogged table.
    place.connection("copy").execute("truncate u").expect("it is there");
    restore.request.into = RestoreInto::Interrupted;
    if was_ended {
        restore.run().expect("it goes on");
        assert_eq!(answer(&place, "select (select count(*) from u), (select count(*) from l)"), "1000 400000");
    }
}

#[test]
fn rows_that_refer_to_others_of_their_table_are_one_statement() {
    let make = "create table tree (id int primary key, up int); insert into tree select i, 40001 - i from generate_series(1, 40000) i; \
        alter table tree add foreign key (up) references tree (id)";
    let Some((place, archive)) = archived(make) else { return };
    for archive in [archive, place.foreign("packed", &["-Z1"]), place.ours("ours", "gzip:1")] {
        let mut restore = place.restore(&archive, "copy");
        restore.request.chunk_bytes = 64 << 10;
        restore.request.into = RestoreInto::Cleaned { if_exists: true };
        restore.selection = vec!["--schema-only".into()];
        assert!(restore.run().expect("the schema").faults.is_empty());
        restore.selection = vec!["--data-only".into()];
        restore.request.into = RestoreInto::Empty;
        restore.request.verifies = false;
        let restored = restore.run().unwrap_or_else(|error| panic!("{error}: {:?}", std::error::Error::source(&error)));
        assert_eq!((restored.progress.rows, answer(&place, "select count(*) from tree").as_str()), (40_000, "40000"));
    }
}

#[test]
fn an_archive_that_has_changed_is_another_one() {
    let make = "create table t as select i from generate_series(1, 300000) i";
    let Some((place, _)) = archived(make) else { return };
    let archive = place.ours("ours", "none");
    let mut restore = place.restore(&archive, "copy");
    if end_when(&restore, &|now| now.rows > 0) {
        std::fs::remove_file(archive.join("mh.index")).expect("it is there");
        restore.request.into = RestoreInto::Interrupted;
        restore.request.verifies = false;
        let error = restore.run().expect_err("pieces would mean other rows");
        assert!(matches!(error, RestoreError::Unfinished { is_ours: false }), "{error}");
    }
}

#[test]
fn sessions_outlive_the_limits_of_administrators() {
    let make =
        "create table t as select i from generate_series(1, 1000) i; select lo_create(0) from generate_series(1, 3)";
    let Some((place, archive)) = archived(make) else { return };
    let limits =
        "alter database copy set idle_session_timeout = '300ms'; alter database copy set statement_timeout = '2s'";
    place.connection("postgres").execute(limits).expect("settings");
    let mut holder = place.connection("postgres");
    holder.execute("select pg_sleep(0)").expect("an answer");
    let mut restore = place.restore(&archive, "copy");
    restore.request.vacuums = true;
    restore.run().expect("limits do not count");
    assert_eq!(
        answer(&place, "select (select count(*) from t), (select count(*) from pg_largeobject_metadata)"),
        "1000 3"
    );
}
