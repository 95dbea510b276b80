//! `mh db restore` against a real PostgreSQL: what pg_dump and we have written comes back, whatever ends a restore in between.

use crate::place::{Running, names_in, said, wait_until};
use crate::sources::PostgresSource;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use testkit::program::{Exit, ProgramOutcome};

const SCHEMA: &str = r#"
create schema "Odd.Schema";
create table parent (id int generated always as identity primary key, name text unique);
insert into parent (name) select 'name ' || i from generate_series(1, 500) i;
create table events (id bigint primary key, who int references parent (id), note text, twice bigint generated always as (id * 2) stored);
insert into events (id, who, note) select i, i % 500 + 1, case i % 3 when 0 then null when 1 then E'tab\t\\.' else repeat('x', i % 90) end
    from generate_series(1, 20000) i;
create index on events (who);
create table "Odd.Schema"."it's ""odd"" (€)" ("a, b" int, "order" text);
insert into "Odd.Schema"."it's ""odd"" (€)" values (1, E'\\.'), (2, null), (3, E'a\nb');
create materialized view seen as select who, count(*) from events group by who;
select lo_from_bytea(0, decode(repeat('deadbeef', 1000), 'hex')) from generate_series(1, 20);
"#;

const FINGERPRINT: &str = r#"
select 'parent', count(*), sum(hashtext(t::text)::bigint) from parent t
union all select 'events', count(*), sum(hashtext(t::text)::bigint) from events t
union all select 'odd', count(*), sum(hashtext(t::text)::bigint) from "Odd.Schema"."it's ""odd"" (€)" t
union all select 'seen', count(*), sum(hashtext(t::text)::bigint) from seen t
union all select 'objects', count(distinct loid), sum(hashtext(data::text)::bigint) from pg_largeobject
union all select 'next', last_value, 0 from parent_id_seq
union all select 'indexes', count(*), sum(hashtext(indexdef)::bigint) from pg_indexes where schemaname = 'public'
union all select 'constraints', count(*), sum(hashtext(conname)::bigint) from pg_constraint where connamespace = 'public'::regnamespace
union all select 'ledger', count(*), 0 from pg_namespace where nspname = 'mh_restore'
order by 1"#;

/// A server with a database, and an archive `d` of it, of which pg_dump has written all.
fn dumped(schema: &str, options: &[&str]) -> Option<PostgresSource> {
    let source = PostgresSource::start(&[])?;
    source.sql("postgres", schema);
    let words = ["-Fd", "-f", "d", "postgres"].into_iter().chain(options.iter().copied());
    source.program("pg_dump").run(words, b"").expect("it starts").stdout_of_success();
    source.sql("postgres", "create database copy");
    Some(source)
}

fn restore(source: &PostgresSource, address: &str, words: &[&str]) -> ProgramOutcome {
    source.db(&[&["restore", "-d", address], words].concat(), b"")
}

/// As many rows as take some seconds, with indexes.
const MUCH: &str = "create table big as select i, repeat(md5(i::text), 20) s from generate_series(1, 200000) i; \
    alter table big add primary key (i); create index on big (s)";

const OF_MUCH: &str = "select count(*), sum(hashtext(big::text)::bigint), (select count(*) from pg_indexes where tablename = 'big') from big";

/// A restore of `d` on its own.
fn start(source: &PostgresSource, words: &[&str]) -> Running {
    source.start_db(&[&["restore", "-q", "d", "-d", &source.address("copy")], words].concat())
}

fn active(source: &PostgresSource) -> String {
    let sql =
        "select count(*) from pg_stat_activity where datname = 'copy' and state <> 'idle' and pid <> pg_backend_pid()";
    source.sql("postgres", sql).trim().to_owned()
}

#[test]
fn an_archive_comes_back_whole() {
    let Some(source) = dumped(SCHEMA, &[]) else { return };
    let outcome = restore(&source, &source.address("copy"), &["d", "--report=json", "--vacuum"]);
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    let text = said(&outcome);
    let report = text.lines().find(|line| line.starts_with('{')).expect("a report");
    let report: Value = serde_json::from_str(report).expect("JSON");
    assert_eq!((report["tables"].as_u64(), report["rows"].as_u64()), (Some(3), Some(20_503)));
    assert_eq!(report["indexes"].as_u64(), Some(4));
    assert_eq!(source.sql("copy", FINGERPRINT), source.sql("postgres", FINGERPRINT));
    let vacuumed =
        "select count(*) from pg_class where relname = 'events' and relallvisible = relpages and reltuples = 20000";
    assert_eq!(source.sql("copy", vacuumed).trim(), "1");
    assert_eq!(source.place.names(), ["d"], "nothing else is left");
    let again = restore(&source, &source.address("copy"), &["d"]);
    assert_eq!(again.exit, Exit::Code(2), "{}", said(&again));
    assert!(
        said(&again).contains("the database is not empty: it has 5 tables, views and sequences"),
        "{}",
        said(&again)
    );
    let resumed = restore(&source, &source.address("copy"), &["d", "--resume"]);
    assert_eq!(resumed.exit, Exit::Code(2), "{}", said(&resumed));
    assert!(said(&resumed).contains("no interrupted restore of this archive is noted"), "{}", said(&resumed));
    assert!(!said(&resumed).contains("--clean"), "what is whole is not to be dropped: {}", said(&resumed));
    let again = restore(&source, &source.address("copy"), &["d", "--clean", "-j1"]);
    assert_eq!(again.exit, Exit::Code(0), "{}", said(&again));
    assert_eq!(source.sql("copy", FINGERPRINT), source.sql("postgres", FINGERPRINT));
}

#[test]
fn options_select_what_pg_restore_selects() {
    let Some(source) = dumped(SCHEMA, &[]) else { return };
    let restored = |database: &str, words: &[&str]| {
        source.sql("postgres", &format!("drop database if exists {database}"));
        source.sql("postgres", &format!("create database {database}"));
        let words: Vec<&str> = ["d"].into_iter().chain(words.iter().copied()).collect();
        let outcome = restore(&source, &source.address(database), &words);
        assert_eq!(outcome.exit, Exit::Code(0), "{words:?}: {}", said(&outcome));
        let sql = "select string_agg(relname || ' ' || reltuples, ', ' order by relname) from pg_class where relkind in ('r', 'm') \
            and relnamespace in (select oid from pg_namespace where nspname in ('public', 'Odd.Schema'))";
        source.sql(database, "analyze");
        source.sql(database, sql).trim().to_owned()
    };
    assert_eq!(restored("a", &["-t", "parent"]), "parent 500");
    assert_eq!(restored("a", &["--schema-only"]), "events 0, it's \"odd\" (€) 0, parent 0, seen 0");
    let both = restored("a", &["--section=pre-data", "--section=data"]);
    assert_eq!(both, "events 20000, it's \"odd\" (€) 3, parent 500, seen 0");
    assert_eq!(source.sql("a", "select count(*) from pg_indexes where schemaname = 'public'").trim(), "0");
    assert_eq!(restored("a", &["-n", "public", "--no-owner", "-x"]), "events 20000, parent 500, seen 500");
    // Rows alone, into tables that are there with their keys: those that others refer to first.
    restored("b", &["--schema-only"]);
    let outcome = restore(&source, &source.address("b"), &["d", "--data-only"]);
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    assert!(!said(&outcome).contains("not empty"), "{}", said(&outcome));
    assert_eq!(source.sql("b", "select count(*) from events join parent on parent.id = who").trim(), "20000");
    source.sql("b", "truncate events, parent; select lo_unlink(oid) from pg_largeobject_metadata");
    let outcome = restore(&source, &source.address("b"), &["d", "--data-only"]);
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    let text = "\"Odd.Schema\".\"it's \"\"odd\"\" (€)\" is not empty: rows are added to those that it has";
    assert!(said(&outcome).contains(text), "{}", said(&outcome));
    assert_eq!(source.sql("b", r#"select count(*) from "Odd.Schema"."it's ""odd"" (€)""#).trim(), "6");
}

#[test]
fn a_refused_statement_is_named_and_the_rest_is_restored() {
    let schema =
        "create table a (n int); insert into a values (1), (1), (2); create table b (n int); insert into b values (7);
        create role somebody; alter table b owner to somebody";
    let Some(source) = dumped(schema, &[]) else { return };
    // Two rows with one value: what has changed behind a dump's back.
    let words = ["-Fd", "-f", "e", "postgres"];
    source.sql("postgres", "delete from a where ctid = '(0,1)'; create unique index one on a (n)");
    source.program("pg_dump").run(words, b"").expect("it starts").stdout_of_success();
    let rows = |archive: &str| {
        let names = names_in(&source.place.path(archive));
        let name = names.iter().filter(|name| name.contains(".dat") && *name != "toc.dat").min().expect("rows").clone();
        format!("{archive}/{name}")
    };
    std::fs::copy(source.place.path(rows("d")), source.place.path(rows("e"))).expect("ours");
    source.sql("postgres", "alter table b owner to postgres; drop role somebody");
    source.sql("postgres", "create database c2");
    let outcome = restore(&source, &source.address("copy"), &["e"]);
    assert_eq!(outcome.exit, Exit::Code(1), "{}", said(&outcome));
    let text = said(&outcome);
    assert!(
        text.contains("could not create unique index") && text.contains("role \"somebody\" does not exist"),
        "{text}"
    );
    assert_eq!(source.sql("copy", "select (select count(*) from a), (select count(*) from b)").trim(), "3|1");
    let outcome = restore(&source, &source.address("c2"), &["e", "--exit-on-error"]);
    assert_eq!(outcome.exit, Exit::Code(1), "{}", said(&outcome));
    assert!(said(&outcome).contains("somebody"), "{}", said(&outcome));
}

#[test]
fn a_killed_restore_leaves_nothing_running_and_goes_on() {
    let Some(source) = dumped(MUCH, &["-Z1"]) else { return };
    for signal in [Signal::KILL, Signal::INT, Signal::TERM] {
        let mut running = start(&source, &["-j2"]);
        let has_rows = || {
            let sql = "select count(*) from pg_stat_progress_copy where datname = 'copy' and tuples_processed > 1000";
            source.sql("postgres", sql).trim() != "0"
        };
        wait_until("rows are under way", || has_rows() || running.child.try_wait().expect("ours").is_some());
        let pid = Pid::from_child(&running.child);
        kill_process(pid, signal).expect("it runs");
        let status = running.child.wait().expect("ours");
        if signal != Signal::KILL {
            assert_eq!(status.code(), Some(128 + signal.as_raw()), "{signal:?}");
        }
        wait_until("nothing runs on the server", || active(&source) == "0");
        let again = restore(&source, &source.address("copy"), &["d"]);
        assert_eq!(again.exit, Exit::Code(2), "{}", said(&again));
        let outcome = restore(&source, &source.address("copy"), &["d", "--resume", "-j3"]);
        assert_eq!(outcome.exit, Exit::Code(0), "{signal:?}: {}", said(&outcome));
        assert_eq!(source.sql("copy", OF_MUCH), source.sql("postgres", OF_MUCH), "{signal:?}");
        source.sql("postgres", "drop database copy");
        source.sql("postgres", "create database copy");
    }
}

#[test]
fn a_server_that_is_stopped_in_between_is_reported() {
    let Some(source) = dumped(MUCH, &["-Z1"]) else { return };
    let mut running = start(&source, &["-j2"]);
    let has_rows =
        || source.sql("postgres", "select count(*) from pg_stat_progress_copy where datname = 'copy'").trim() != "0";
    wait_until("rows are under way", || has_rows() || running.child.try_wait().expect("ours").is_some());
    let end = "select count(pg_terminate_backend(pid)) from pg_stat_activity where datname = 'copy'";
    source.sql("postgres", end);
    assert_eq!(running.child.wait().expect("ours").code(), Some(1));
    let outcome = restore(&source, &source.address("copy"), &["d", "--resume"]);
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    assert_eq!(source.sql("copy", OF_MUCH), source.sql("postgres", OF_MUCH));
}
