//! What a dump of a PostgreSQL must survive, or end at without a half archive: odd contents, settings of administrators, servers that end, signals at any
//! moment. The usual ways are in db_dump.rs.

use crate::place::{binary, is_long, said, wait_until};
use crate::sources::PostgresSource;
use rustix::process::{Pid, Signal, kill_process};
use std::time::Duration;
use testkit::program::{Exit, ProgramOutcome, TestProgram, left_out};
use testkit::random::Random;

fn dump(source: &PostgresSource, words: &[&str]) -> ProgramOutcome {
    let address = source.address("postgres");
    let words: Vec<&str> = ["dump", "-d", &address, "-f", "d"].into_iter().chain(words.iter().copied()).collect();
    source.db(&words, b"")
}

fn start_dump(source: &PostgresSource, words: &[&str]) -> crate::place::Running {
    let address = source.address("postgres");
    let words: Vec<&str> = ["dump", "-q", "-d", &address, "-f", "d"].into_iter().chain(words.iter().copied()).collect();
    source.start_db(&words)
}

fn restore(source: &PostgresSource, database: &str) {
    source.sql("postgres", &format!("create database {database}"));
    let words = ["--exit-on-error", "-j2", "-d", database, "d"];
    source.program("pg_restore").run(words, b"").expect("it starts").stdout_of_success();
}

/// As many rows as take some seconds with gzip:9.
fn fill(source: &PostgresSource) {
    source
        .sql("postgres", "create table big as select i, repeat(md5(i::text), 40) s from generate_series(1, 200000) i");
}

fn is_reading(source: &PostgresSource) -> bool {
    let sql = "select count(*) from pg_stat_activity where query like 'COPY (SELECT%' and state = 'active'";
    source.sql("postgres", sql).trim() != "0"
}

/// What is in the directory, without the place of standard error.
fn left(source: &PostgresSource) -> Vec<String> {
    source.place.names().into_iter().filter(|name| name != "printed").collect()
}

fn pid_of(running: &crate::place::Running) -> Pid {
    i32::try_from(running.child.id()).ok().and_then(Pid::from_raw).expect("a PID")
}

#[test]
fn large_objects_keep_owners_comments_and_contents() {
    let Some(source) = PostgresSource::start(&[]) else { return };
    let count = if is_long() { 20_000 } else { 2_000 };
    source.sql("postgres", "create role painter; create role viewer");
    source.sql(
        "postgres",
        &format!("select count(lo_from_bytea(0, decode(repeat(lpad(to_hex(i), 8, '0'), 700), 'hex'))) from generate_series(1, {count}) i"),
    );
    source.sql(
        "postgres",
        "do $$ declare object oid; begin for object in select oid from pg_largeobject_metadata order by oid limit 20 loop
         execute format('alter large object %s owner to painter', object); execute format('grant select on large object %s to viewer', object);
         execute format('comment on large object %s is %L', object, 'it''s ' || object); end loop; end $$",
    );
    let outcome = dump(&source, &["-q"]);
    assert_eq!((outcome.exit, said(&outcome)), (Exit::Code(0), String::new()));
    restore(&source, "copy");
    let all = "select count(*), count(*) filter (where lomowner = 'painter'::regrole), count(*) filter (where lomacl::text like '%viewer=r%'),
        count(obj_description(oid, 'pg_largeobject')), sum(hashtext(lo_get(oid)::text)::int8) from pg_largeobject_metadata";
    let expected = source.sql("postgres", all);
    assert!(expected.starts_with(&format!("{count}|20|20|20|")), "{expected}");
    assert_eq!(source.sql("copy", all), expected);
}

#[test]
fn cycles_of_foreign_keys_views_and_extensions_come_back() {
    let Some(source) = PostgresSource::start(&[]) else { return };
    source.sql(
        "postgres",
        "create table a (id int primary key, b int); create table b (id int primary key, a int);
         insert into a values (1, 1); insert into b values (1, 1);
         alter table a add foreign key (b) references b (id); alter table b add foreign key (a) references a (id);
         create extension if not exists hstore; create table pairs (p hstore); insert into pairs values ('a=>1, b=>NULL');
         create type mood as enum ('sad', 'it''s'); create domain positive as int check (value > 0);
         create table typed (m mood, p positive, r int4range, x xml, j json, a int[][], c circle, n numeric);
         insert into typed values ('it''s', 1, '[1,5)', '<a>\\n</a>', '{\"a\":  1}', '{{1,2},{3,4}}', '<(1,2),3>', 'NaN');
         create unlogged table fleeting (a int); insert into fleeting values (1);
         create table inherits (c int) inherits (a); insert into inherits values (2, 1, 3);
         create view shown as select * from a; create materialized view first as select * from shown;
         create materialized view second as select count(*) as n from first; create unique index on second (n);
         create materialized view unfilled as select * from a with no data; create unique index on unfilled (id)",
    );
    let outcome = dump(&source, &[]);
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    restore(&source, "copy");
    let all = "select (select count(*) from a), (select count(*) from only a), (select n from second),
        (select string_agg(relname || relispopulated, ',' order by relname) from pg_class where relkind = 'm'),
        (select p::text from pairs), (select t::text from typed t), (select count(*) from fleeting),
        (select count(*) from pg_constraint where contype = 'f' and convalidated)";
    let expected = source.sql("postgres", all);
    assert!(expected.contains("firsttrue,secondtrue,unfilledfalse"), "{expected}");
    assert_eq!(source.sql("copy", all), expected);
    std::fs::remove_dir_all(source.place.path("d")).expect("ours");
    let rows_only = dump(&source, &["-a"]);
    assert_eq!(rows_only.exit, Exit::Code(0), "{}", said(&rows_only));
    assert!(said(&rows_only).contains("circular foreign-key constraints"), "pg_dump's warning: {}", said(&rows_only));
}

#[test]
fn limits_of_time_that_an_administrator_has_set_do_not_end_a_dump() {
    let Some(source) = PostgresSource::start(&[]) else { return };
    fill(&source);
    for limit in ["statement_timeout", "idle_in_transaction_session_timeout", "lock_timeout"] {
        source.sql("postgres", &format!("alter database postgres set {limit} = '400ms'"));
    }
    let outcome = dump(&source, &["-q", "-Z", "gzip:9"]);
    assert_eq!((outcome.exit, said(&outcome)), (Exit::Code(0), String::new()));
    // A lock that is not had: no archive, but nothing was wrong with the command.
    std::fs::remove_dir_all(source.place.path("d")).expect("ours");
    source.sql("postgres", "create table locked (a int)");
    std::thread::scope(|scope| {
        let hold = "begin; lock table locked; select pg_sleep(600)";
        scope.spawn(|| source.program("psql").run(["-X", "-d", "postgres", "-c", hold], b"").expect("it starts"));
        let holders = "from pg_locks where relation = 'locked'::regclass and mode = 'AccessExclusiveLock' and granted";
        wait_until("it is locked", || source.sql("postgres", &format!("select count(*) {holders}")).trim() == "1");
        let outcome = dump(&source, &["--lock-wait-timeout", "200ms"]);
        source.sql("postgres", &format!("select pg_terminate_backend(pid) {holders}"));
        assert_eq!(outcome.exit, Exit::Code(1), "{}", said(&outcome));
        assert!(said(&outcome).contains("lock timeout"), "{}", said(&outcome));
    });
}

#[test]
fn a_reader_of_all_rows_needs_no_other_right() {
    let Some(source) = PostgresSource::start(&[]) else { return };
    source.sql(
        "postgres",
        "create table t as select generate_series(1, 10) a; create role reader login; grant pg_read_all_data to reader",
    );
    let address = source.address("postgres").replace("user=postgres", "user=reader");
    let outcome = source.db(&["dump", "-d", &address, "-f", "d"], b"");
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    assert!(said(&outcome).contains("10 rows"), "{}", said(&outcome));
}

#[test]
fn many_tables_come_back_and_too_many_for_the_servers_locks_are_an_error() {
    let Some(source) = PostgresSource::start(&[("max_locks_per_transaction", "10"), ("max_connections", "12")]) else {
        return;
    };
    let make = |from: usize, to: usize| {
        let sql = format!(
            "do $$ begin for i in {from}..{to} loop execute format('create table t%s (a int); insert into t%s values (%s)', i, i, i); end loop; end $$"
        );
        // A transaction must not have more locks than there are.
        source.sql("postgres", &sql);
    };
    (0..5).for_each(|block| make(block * 20, block * 20 + 19));
    let outcome = dump(&source, &[]);
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    restore(&source, "copy");
    let sum = "select count(*), sum((xpath('/row/a/text()', query_to_xml(format('select a from %s', oid::regclass), false, true, '')))[1]::text::int)
        from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace";
    assert_eq!(source.sql("copy", sum), "100|4950\n");
    std::fs::remove_dir_all(source.place.path("d")).expect("ours");
    (5..100).for_each(|block| make(block * 20, block * 20 + 19));
    let outcome = dump(&source, &[]);
    assert_eq!(outcome.exit, Exit::Code(1), "{}", said(&outcome));
    let text = said(&outcome);
    assert!(
        text.contains("more max_locks_per_transaction may be needed") && text.contains("out of shared memory"),
        "{text}"
    );
    assert_eq!(left(&source), Vec::<String>::new());
}

#[test]
fn a_table_that_is_dropped_while_it_is_read_is_in_the_archive() {
    let Some(source) = PostgresSource::start(&[]) else { return };
    fill(&source);
    let mut running = start_dump(&source, &["-j1", "-Z", "gzip:9"]);
    wait_until("rows are read", || is_reading(&source));
    // It waits for the dump.
    source.sql("postgres", "drop table big");
    assert_eq!(running.end().code(), Some(0));
    restore(&source, "copy");
    assert_eq!(source.sql("copy", "select count(*), max(i) from big"), "200000|200000\n");
}

#[test]
fn a_server_that_goes_down_leaves_no_archive() {
    let Some(source) = PostgresSource::start(&[]) else { return };
    fill(&source);
    let mut running = start_dump(&source, &["-Z", "gzip:9"]);
    wait_until("rows are read", || is_reading(&source));
    let server = i32::try_from(source.server.pid()).ok().and_then(Pid::from_raw).expect("a PID");
    kill_process(server, Signal::INT).expect("it runs");
    assert_eq!(running.end().code(), Some(1));
    let printed = String::from_utf8(source.place.read("printed")).expect("text");
    assert!(printed.contains("could not dump"), "{printed}");
    assert_eq!(left(&source), Vec::<String>::new());
}

#[test]
fn kill_minus_nine_leaves_no_archive_and_no_session() {
    let Some(source) = PostgresSource::start(&[]) else { return };
    fill(&source);
    let mut running = start_dump(&source, &["-Z", "gzip:9"]);
    wait_until("rows are read", || is_reading(&source));
    kill_process(pid_of(&running), Signal::KILL).expect("it runs");
    running.end();
    wait_until("connections end", || source.others() == "0");
    assert!(!source.place.has("d"), "{:?}", left(&source));
    let again = dump(&source, &[]);
    assert_eq!(again.exit, Exit::Code(2), "{}", said(&again));
    assert!(said(&again).contains("'d.partial' exists already"), "{}", said(&again));
}

#[test]
fn a_signal_at_any_moment_leaves_all_or_nothing() {
    let Some(source) = PostgresSource::start(&[]) else { return };
    source.sql("postgres", "create table t as select i, md5(i::text) s from generate_series(1, 60000) i");
    let mut random = Random::seeded(7);
    for round in 0..if is_long() { 60 } else { 12 } {
        let mut running = start_dump(&source, &[]);
        std::thread::sleep(Duration::from_millis(random.below(500) as u64));
        let _may_have_ended = kill_process(pid_of(&running), Signal::TERM);
        let code = running.end().code();
        match code {
            Some(0) => {
                let list =
                    source.program("pg_restore").run(["--list", "d"], b"").expect("it starts").stdout_of_success();
                assert!(String::from_utf8_lossy(&list).contains("TABLE DATA public t"), "round {round}");
                std::fs::remove_dir_all(source.place.path("d")).expect("ours");
            }
            // Before signals are held back it dies by this one.
            Some(143) | None => {}
            other => panic!("round {round}: {other:?}: {}", String::from_utf8_lossy(&source.place.read("printed"))),
        }
        assert_eq!(left(&source), Vec::<String>::new(), "round {round}");
    }
    wait_until("connections end", || source.others() == "0");
}

#[test]
fn a_script_that_ends_early_is_called_incomplete() {
    let Some(source) = PostgresSource::start(&[]) else { return };
    fill(&source);
    let shell = TestProgram::find("sh").expect("every system has it").in_directory(source.place.directory());
    let shell = shell.with_variable("MH", binary()).with_variable("DB", source.address("postgres"));
    let line = "{ $MH db dump -d \"$DB\" -f -; echo code $? >&2; } | head -c 100000 | wc -c";
    let cut = shell.run(["-c", line], b"").expect("it starts");
    assert_eq!((cut.stdout.as_slice(), said(&cut).as_str()), (&b"100000\n"[..], "code 141\n"));
    wait_until("connections end", || source.others() == "0");
    let wait = "head -c 100000 > /dev/null; while [ ! -e go ]; do sleep 0.05; done; cat > /dev/null";
    let line = format!("{{ $MH db dump -d \"$DB\" -f -; echo code $? >&2; }} | {{ {wait}; }}");
    let kill = "select count(pg_terminate_backend(pid)) from pg_stat_activity where query like 'COPY (SELECT%'";
    let outcome = std::thread::scope(|scope| {
        let dumps = scope.spawn(|| shell.run(["-c", &line], b"").expect("it starts"));
        wait_until("readers are ended", || source.sql("postgres", kill).trim() != "0");
        source.place.write("go", "");
        dumps.join().expect("no panic")
    });
    let text = said(&outcome);
    assert!(text.contains("could not dump") && text.contains("the script on standard output is incomplete"), "{text}");
    assert!(text.ends_with("code 1\n"), "{text}");
    wait_until("connections end", || source.others() == "0");
}

#[test]
fn a_standby_that_takes_rows_away_is_named_with_its_settings() {
    let Some(source) = PostgresSource::start(&[]) else { return };
    fill(&source);
    let standby = source.server.standby(&[("max_standby_streaming_delay", "0")]);
    let (directory, port) = (standby.directory().display().to_string(), standby.port().to_string());
    let address = format!("host={directory} port={port} user=postgres dbname=postgres");
    let quiet = source.db(&["dump", "-d", &address, "-f", "d", "-Z", "none"], b"");
    assert_eq!(quiet.exit, Exit::Code(0), "{}", said(&quiet));
    assert!(said(&quiet).contains("the server is a standby"), "{}", said(&quiet));
    std::fs::remove_dir_all(source.place.path("d")).expect("ours");
    let mut running = source.start_db(&["dump", "-d", &address, "-f", "d", "-Z", "gzip:9"]);
    let readers = "select count(*) from pg_stat_activity where query like 'COPY (SELECT%' and state = 'active'";
    let count = || {
        let words = ["-X", "-At", "-h", &directory, "-p", &port, "-d", "postgres", "-c", readers];
        let outcome = source.program("psql").run(words, b"").expect("it starts");
        String::from_utf8(outcome.stdout_of_success()).expect("text")
    };
    wait_until("rows are read", || count().trim() != "0");
    source.sql("postgres", "delete from big where i > 100000");
    source.sql("postgres", "vacuum big");
    let code = running.end().code();
    if code == Some(0) {
        return left_out("a standby that takes rows away: the dump was done before it did");
    }
    let printed = String::from_utf8(source.place.read("printed")).expect("text");
    assert_eq!(code, Some(1), "{printed}");
    let hint = "hint: a standby takes rows away: max_standby_streaming_delay = -1 or hot_standby_feedback = on there";
    assert!(printed.contains("conflict with recovery") && printed.contains(hint), "{printed}");
    assert_eq!(left(&source), Vec::<String>::new());
}
