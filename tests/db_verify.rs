//! `mh db verify` on real servers: a restored archive is the same, and every change of it is found.

use crate::place::{said, wait_until};
use crate::sources::PostgresSource;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use testkit::program::{Exit, ProgramOutcome};

const SCHEMA: &str = r#"
create schema "Odd.Schema";
create table events (id bigint primary key, at timestamptz, f float8, b bytea, note text, twice bigint generated always as (id * 2) stored);
insert into events (id, at, f, b, note) select i, timestamptz '2026-03-29 00:59:59+00' + i * interval '1 s', i / 7.0, decode(md5(i::text), 'hex'),
    case i % 3 when 0 then null when 1 then E'tab\t\\.\n' else repeat('ä', i % 90) end from generate_series(1, 20000) i;
create table "Odd.Schema"."it's ""odd"" (€)" ("a, b" int, "order" text);
insert into "Odd.Schema"."it's ""odd"" (€)" values (1, E'\\.'), (2, null), (2, null);
create table empty (a int);
create table no_columns ();
insert into no_columns default values;
create table parts (id int, v text) partition by range (id);
create table parts_1 partition of parts for values from (0) to (500);
insert into parts select i, 'v' || i from generate_series(0, 499) i;
"#;

fn verify(source: &PostgresSource, words: &[&str]) -> ProgramOutcome {
    let words: Vec<&str> = ["verify"].into_iter().chain(words.iter().copied()).collect();
    source.db(&words, b"")
}

fn printed(outcome: &ProgramOutcome) -> String {
    String::from_utf8(outcome.stdout.clone()).expect("text")
}

/// The tables of the JSON objects that are not the same, with their reasons.
fn different(outcome: &ProgramOutcome) -> Vec<(String, String, String)> {
    let objects = printed(outcome);
    let objects = objects.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let text = |object: &Value, name: &str| object[name].as_str().expect("text").to_owned();
    let tables = objects.map(|object| (text(&object, "table"), text(&object, "verdict"), text(&object, "reason")));
    tables.filter(|(_, verdict, _)| verdict != "same").collect()
}

/// A dumped database and its copy, whose server shows times of another zone and has rows in another order.
fn dumped() -> Option<PostgresSource> {
    let source = PostgresSource::start(&[])?;
    source.sql("postgres", SCHEMA);
    let address = source.address("postgres");
    let outcome = source.db(&["dump", "-q", "-d", &address, "-f", "d", "-Z", "gzip:1"], b"");
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    source.sql("postgres", "create database copy");
    let words = ["--exit-on-error", "-j2", "-d", "copy", "d"];
    source.program("pg_restore").run(words, b"").expect("it starts").stdout_of_success();
    source.sql(
        "postgres",
        "alter database copy set timezone = 'Europe/Berlin'; alter database copy set bytea_output = 'escape'",
    );
    source.sql("copy", "update events set note = note where id % 7 = 0");
    Some(source)
}

#[test]
fn a_restored_archive_is_the_same_and_so_is_its_server() {
    let Some(source) = dumped() else { return };
    let (one, copy) = (source.address("postgres"), source.address("copy"));
    for words in [vec!["-d", &copy, "d"], vec!["d", &one], vec!["-d", &one, "--other", &copy], vec![&copy, &one, "-j3"]]
    {
        let outcome = verify(&source, &words);
        assert_eq!(outcome.exit, Exit::Code(0), "{words:?}: {}{}", printed(&outcome), said(&outcome));
        let lines = printed(&outcome);
        assert_eq!(lines.lines().filter(|line| line.starts_with("same ")).count(), 5, "{lines}");
        assert!(lines.contains("public.events") && lines.contains("20,000 rows, digest "), "{lines}");
    }
    let quiet = verify(&source, &["-q", "-d", &copy, "d"]);
    assert_eq!((quiet.exit, printed(&quiet), said(&quiet)), (Exit::Code(0), String::new(), String::new()));
    let plan = verify(&source, &["--explain", "-d", &copy, "d"]);
    assert!(
        printed(&plan).contains("no rows are read") && printed(&plan).contains("of 5 tables"),
        "{}",
        printed(&plan)
    );
}

#[test]
fn every_change_is_found() {
    let Some(source) = dumped() else { return };
    let copy = source.address("copy");
    source.sql("copy", "update events set f = f + 1e-9 where id = 4711; delete from parts where id = 7; insert into parts values (8, 'v8')");
    source.sql("copy", "alter table empty rename to elsewhere; create table more (a int)");
    source.sql("copy", r#"delete from "Odd.Schema"."it's ""odd"" (€)" where ctid = '(0,3)'"#);
    let outcome = verify(&source, &["--json", "-d", &copy, "d"]);
    assert_eq!(outcome.exit, Exit::Code(1), "{}", said(&outcome));
    let found = different(&outcome);
    let found: Vec<_> =
        found.iter().map(|(table, verdict, reason)| (table.as_str(), verdict.as_str(), reason.as_str())).collect();
    assert_eq!(found.len(), 4, "{found:?}");
    assert_eq!(found[0], ("\"Odd.Schema\".\"it's \"\"odd\"\" (€)\"", "differs", "3 rows and 2 rows"));
    assert_eq!(found[1], ("public.empty", "differs", "not on the second side"));
    assert_eq!((found[2].0, found[3].0), ("public.events", "public.parts_1"));
    assert!(found[2].2.starts_with("20,000 rows on both sides, not all the same: digests "), "{found:?}");
    assert!(said(&outcome).contains("1 table the same, 4 differ"), "{}", said(&outcome));
    let servers = verify(&source, &["--json", "-d", &source.address("postgres"), "--other", &copy]);
    let extra: Vec<_> =
        different(&servers).into_iter().filter(|(.., reason)| reason == "not on the first side").collect();
    assert_eq!(extra.iter().map(|(table, ..)| table.as_str()).collect::<Vec<_>>(), ["public.elsewhere", "public.more"]);
    const MORE: &str = "second side: it has the column 'More, x', and the other side has not";
    source.sql("copy", "alter table parts add \"More, x\" int, add twice int generated always as (id * 2) stored");
    let one = source.address("postgres");
    let sides: [&[&str]; 3] = [&["-d", &copy, "d"], &[&one, &copy], &[&copy, &one]];
    for (words, reason) in sides.into_iter().zip([MORE, MORE, "42703 column \"More, x\""]) {
        let more = verify(&source, &[words, &["--json", "-q", "-t", "parts_1", "-t", "no_columns"]].concat());
        let found = different(&more);
        assert_eq!((more.exit, printed(&more).lines().count()), (Exit::Code(1), 1), "{words:?}: {}", printed(&more));
        assert!(found[0].2.contains(reason), "{words:?}: {found:?}");
    }
    source.sql("copy", "alter table events rename note to text");
    let renamed = verify(&source, &["--json", "-d", &copy, "d", "-t", "public.events"]);
    assert!(different(&renamed)[0].2.contains("42703 column \"note\" of relation"), "{}", printed(&renamed));
}

#[test]
fn what_cannot_be_read_is_not_called_the_same() {
    let Some(source) = dumped() else { return };
    source.sql(
        "copy",
        "create role limited login; grant usage on schema public to limited; grant select on empty, parts_1 to limited",
    );
    source.sql("copy", "grant select on events to limited; alter table events enable row level security");
    let limited = source.address("copy").replace("user=postgres", "user=limited");
    let outcome = verify(&source, &["-d", &limited, "d"]);
    assert_eq!(outcome.exit, Exit::Code(2), "{}{}", printed(&outcome), said(&outcome));
    for text in ["2 tables the same, 3 cannot be read", "row-level security", "permission denied for"] {
        let all = printed(&outcome) + &said(&outcome);
        assert!(all.contains(text), "no '{text}' in {all}");
    }
    let index = source.place.read("d/mh.index");
    source.place.write("d/mh.index", "{");
    source.sql("postgres", "create database other");
    let full = source.db(&["restore", "--verify", "d", "-d", &source.address("other")], b"");
    assert_eq!(full.exit, Exit::Code(2), "{}", said(&full));
    assert!(
        said(&full).contains("could not restore into ") && said(&full).contains("verify: mh.index is damaged"),
        "{}",
        said(&full)
    );
    let quiet = source.db(&["restore", "-q", "d", "-d", &source.address("other")], b"");
    assert_eq!(quiet.exit, Exit::Code(0), "{}", said(&quiet));
    assert!(
        said(&quiet).contains("warning: mh.index is damaged") && said(&quiet).contains("not verified"),
        "{}",
        said(&quiet)
    );
    std::fs::write(source.place.path("d/mh.index"), index).expect("ours");
    let usual = source.address("copy");
    let nowhere = source.address("nothing");
    let cases: [(&[&str], &str); 5] = [
        (&["-d", &nowhere, "d"], "database \"nothing\" does not exist"),
        (&["-d", &usual], "two sides are compared, and 1 are named"),
        (&["-d", &usual, "no/such"], "is no directory"),
        (&["-d", &usual, "."], "could not read './mh.index'"),
        (&["-d", &usual, "d", "-t", "nothing"], "could not find table 'nothing' on the first side"),
    ];
    for (words, text) in cases {
        let outcome = verify(&source, words);
        assert!(said(&outcome).contains(text), "{words:?}: {}", said(&outcome));
        assert_eq!(outcome.exit, Exit::Code(2), "{words:?}");
    }
}

#[test]
fn databases_of_two_encodings_are_compared_in_one() {
    let Some(source) = PostgresSource::start(&[]) else { return };
    source.sql("postgres", "create database latin encoding 'LATIN1' locale 'C' template template0");
    for database in ["postgres", "latin"] {
        source.sql(
            database,
            "create table t (a text); insert into t select 'caf' || chr(233) || i from generate_series(1, 100) i",
        );
    }
    let (utf8, latin) = (source.address("postgres"), source.address("latin"));
    let dump = source.db(&["dump", "-q", "-d", &latin, "-f", "d"], b"");
    assert_eq!(dump.exit, Exit::Code(0), "{}", said(&dump));
    for words in
        [["-d", utf8.as_str(), "--other", &latin], ["-d", &latin, "--other", &utf8], ["-d", &utf8, "--other", "d"]]
    {
        let outcome = verify(&source, &words);
        assert_eq!(outcome.exit, Exit::Code(0), "{words:?}: {}{}", printed(&outcome), said(&outcome));
    }
}

#[test]
fn an_end_in_the_midst_is_no_verdict() {
    let Some(source) = PostgresSource::start(&[]) else { return };
    source
        .sql("postgres", "create table big as select i, repeat(md5(i::text), 40) s from generate_series(1, 200000) i");
    let address = source.address("postgres");
    let reading = || {
        source.sql("postgres", "select count(*) from pg_stat_activity where query like 'COPY %' and state = 'active'")
    };
    let mut running = source.start_db(&["verify", "-j2", "-d", &address, "--other", &address]);
    wait_until("rows are read", || reading().trim() != "0");
    let pid = i32::try_from(running.child.id()).ok().and_then(Pid::from_raw).expect("a PID");
    kill_process(pid, Signal::INT).expect("it runs");
    assert_eq!(running.end().code(), Some(130));
    wait_until("connections end", || source.others() == "0");
    let mut running = source.start_db(&["verify", "-j2", "-d", &address, "--other", &address]);
    let kill = "select count(pg_terminate_backend(pid)) from (select pid from pg_stat_activity where query like 'COPY %' and state = 'active' limit 1) one";
    wait_until("a reader is ended", || source.sql("postgres", kill).trim() != "0");
    assert_eq!(running.end().code(), Some(2));
    let text = String::from_utf8(source.place.read("printed")).expect("text");
    let is_lost = text.contains("57P01") || text.contains("the server closed the connection");
    assert!(is_lost && text.contains("could not compare"), "{text}");
    wait_until("connections end", || source.others() == "0");
}
