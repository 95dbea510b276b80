//! `mh db verify` on a real MariaDB: a restored archive is the same, every change of it is found, and each side is of one moment.

use crate::mariadb::{MariaDbPlace, SCHEMA};
use crate::place::{Running, binary, said, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::process::{Command, Stdio};
use testkit::program::{Exit, ProgramOutcome, TestProgram};

const NO_KEY: &str = "create table no_key (n int, f float, word text character set gbk); \
    insert into no_key select seq % 7, seq / 7, '汉字' from seq_1_to_100";

fn address(source: &MariaDbPlace, database: &str) -> String {
    source.address("root").replace("/shop?", &format!("/{database}?"))
}

fn verify(source: &MariaDbPlace, words: &[&str]) -> ProgramOutcome {
    let program = TestProgram::at(binary()).in_directory(source.place.directory());
    let program = program.with_variable("TMPDIR", source.place.directory()).with_variable("XDG_RUNTIME_DIR", "");
    program.run(["db", "verify"].iter().chain(words), b"").expect("the program starts")
}

fn start_verify(source: &MariaDbPlace, words: &[&str]) -> Running {
    let printed = std::fs::File::create(source.place.path("printed")).expect("ours");
    let mut command = Command::new(binary());
    command.args(["db", "verify"]).args(words).current_dir(source.place.directory());
    command.env("TMPDIR", source.place.directory()).env_remove("XDG_RUNTIME_DIR");
    Running { child: command.stdout(Stdio::null()).stderr(printed).spawn().expect("it starts") }
}

fn printed(outcome: &ProgramOutcome) -> String {
    String::from_utf8(outcome.stdout.clone()).expect("text")
}

fn objects(outcome: &ProgramOutcome) -> Vec<Value> {
    printed(outcome).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The tables of the JSON objects that are not the same, with their reasons.
fn different(outcome: &ProgramOutcome) -> Vec<(String, String)> {
    let text = |object: &Value, name: &str| object[name].as_str().expect("text").to_owned();
    let objects = objects(outcome).into_iter().filter(|object| object["verdict"] != "same");
    objects.map(|object| (text(&object, "table"), text(&object, "reason"))).collect()
}

/// A database `shop` with an archive `d`, and its copy, which was restored and verified.
fn dumped() -> Option<MariaDbPlace> {
    let source = MariaDbPlace::start(&[])?;
    source.sql("shop", SCHEMA);
    source.sql("shop", NO_KEY);
    source.dumped(&[]);
    source.make("copy");
    let restored = source.restore_into("copy", &["--verify", "-q"]);
    assert_eq!((restored.exit, said(&restored)), (Exit::Code(0), String::new()));
    Some(source)
}

#[test]
fn a_restored_archive_is_the_same_and_so_is_its_server() {
    let Some(source) = dumped() else { return };
    let (shop, copy) = (source.address("root"), address(&source, "copy"));
    let cases: [&[&str]; 5] = [
        &["-d", &copy, "d"],
        &["d", &shop, "-j3"],
        &["-d", &shop, "--other", &copy, "-j3"],
        &[&copy, &shop, "--lock", "flush", "-j2"],
        &[&copy, &shop, "--lock", "none"],
    ];
    for words in cases {
        let outcome = verify(&source, words);
        assert_eq!(outcome.exit, Exit::Code(0), "{words:?}: {}{}", printed(&outcome), said(&outcome));
        let lines = printed(&outcome);
        assert_eq!(lines.lines().filter(|line| line.starts_with("same ")).count(), 5, "{lines}");
        assert!(lines.contains("20,000 rows, digest ") && lines.contains("it's \"odd\" (€)"), "{lines}");
    }
    wait_until("connections end", || source.is_alone());
    let quiet = verify(&source, &["-q", "-d", &copy, "d", "--report=json"]);
    let report: Value = serde_json::from_str(&said(&quiet)).expect("a report alone");
    assert_eq!((quiet.exit, report["rows"].as_u64(), printed(&quiet)), (Exit::Code(0), Some(20_604), String::new()));
    assert!(report["locked_ns"].as_u64().is_some_and(|held| held > 0), "{report}");
    let plan = printed(&verify(&source, &["--explain", "-d", &copy, "d"]));
    for text in ["no rows are read", "MariaDB 10.", "of 5 tables", "BACKUP STAGE", "until 1 table without transactions"]
    {
        assert!(plan.contains(text), "no '{text}' in {plan}");
    }
    let full = std::fs::File::options().write(true).open("/dev/full").expect("a device");
    let mut unprinted = Command::new(binary());
    unprinted.args(["db", "verify", "-q", "--explain", "-d", &copy, "d"]).current_dir(source.place.directory());
    let unprinted = unprinted.stdout(full).output().expect("it starts");
    assert_eq!(unprinted.status.code(), Some(2), "1 is for tables that differ");
    assert!(String::from_utf8_lossy(&unprinted.stderr).contains("could not write to standard output"), "{unprinted:?}");
    let some = verify(&source, &["-d", &copy, "d", "-t", "pa*", "-t", "shop.no_key"]);
    assert_eq!((some.exit, printed(&some).lines().count()), (Exit::Code(0), 2), "{}", printed(&some));
}

#[test]
fn every_change_is_found() {
    let Some(source) = dumped() else { return };
    let copy = address(&source, "copy");
    // A row for another one, and one twice: counts stay.
    source.sql(
        "copy",
        "insert into no_key select * from no_key where n = 3 limit 1; delete from no_key where n = 4 limit 1",
    );
    source.sql("copy", "update events set raw = x'5c00' where id = 4711; set foreign_key_checks = 0; delete from parent where id = 0 or id = 7");
    source.sql("copy", "drop table old; create table more (a int)");
    let outcome = verify(&source, &["--json", "-d", &copy, "d"]);
    assert_eq!(outcome.exit, Exit::Code(1), "{}", said(&outcome));
    let found = different(&outcome);
    let names: Vec<&str> = found.iter().map(|(table, _)| table.as_str()).collect();
    assert_eq!(names, ["events", "no_key", "old", "parent"]);
    assert!(found[0].1.starts_with("20,000 rows on both sides, not all the same: digests "), "{found:?}");
    assert!(found[1].1.starts_with("100 rows on both sides, not all the same: digests "), "{found:?}");
    assert_eq!((found[2].1.as_str(), found[3].1.as_str()), ("not on the second side", "500 rows and 498 rows"));
    for text in ["1 table the same, 4 differ", "1 table of the database not in the archive"] {
        assert!(said(&outcome).contains(text), "{}", said(&outcome));
    }
    let servers = verify(&source, &["--json", "-d", &source.address("root"), "--other", &copy]);
    assert_eq!(servers.exit, Exit::Code(1), "{}", said(&servers));
    assert!(different(&servers).contains(&("more".to_owned(), "not on the first side".to_owned())));
    const MORE: &str = "second side: it has the column 'more', and the other side has not";
    source.sql("copy", "alter table no_key add more int");
    let sides: [&[&str]; 3] =
        [&["-d", &copy, "d"], &[&source.address("root"), &copy], &[&copy, &source.address("root")]];
    for (words, reason) in sides.into_iter().zip([MORE, MORE, "there is no column 'more'"]) {
        let more = verify(&source, &[words, &["--json", "-q", "-t", "no_key", "-t", "events"]].concat());
        assert_eq!((more.exit, objects(&more).len()), (Exit::Code(1), 2), "{words:?}: {}", said(&more));
        let found = different(&more);
        assert!(found[1].0 == "no_key" && found[1].1.contains(reason), "{words:?}: {found:?}");
    }
    source.sql("copy", "alter table parent rename column name to title");
    let renamed = verify(&source, &["--json", "-d", &copy, "d", "-t", "parent"]);
    assert_eq!(
        (renamed.exit, different(&renamed)[0].1.as_str()),
        (Exit::Code(1), "second side: there is no column 'name'")
    );
}

#[test]
fn what_cannot_be_read_is_not_called_the_same() {
    let Some(source) = dumped() else { return };
    source.sql(
        "mysql",
        "create user limited; grant select on copy.parent to limited; grant select (id) on copy.events to limited",
    );
    let limited = address(&source, "copy").replace("root@", "limited@");
    let outcome = verify(&source, &["--json", "-d", &limited, "d", "-j3"]);
    assert_eq!(outcome.exit, Exit::Code(2), "{}{}", printed(&outcome), said(&outcome));
    assert!(said(&outcome).contains("1 table the same, 4 cannot be read"), "{}", said(&outcome));
    let found = different(&outcome);
    assert!(found[0].0 == "events" && found[0].1.contains("denied"), "{found:?}");
    assert!(found.iter().any(|(_, reason)| reason.contains("no table 'old', or no right to see it")), "{found:?}");
    source.sql("mysql", "grant select on copy.* to limited");
    let unlocked = verify(&source, &["--explain", "-d", &limited, "d", "-t", "parent", "-t", "events", "-j3"]);
    assert!(printed(&unlocked).contains("without the right RELOAD"), "{}", printed(&unlocked));
    assert_eq!(verify(&source, &["-q", "-d", &limited, "d"]).exit, Exit::Code(0));
    source.sql("mysql", "revoke select on copy.* from limited");
    let copy = address(&source, "copy");
    let nowhere = address(&source, "nothing");
    let cases: [(&[&str], &str); 5] = [
        (&["-d", &copy, "no_such"], "there is no archive 'no_such', and as the name of a database it has no server: "),
        (&[&limited, &copy], "the right SELECT on `copy`.* is missing: -t TABLE leaves the others out"),
        (&["-d", &nowhere, "d"], "Unknown database 'nothing'"),
        (&["-d", &copy, "d", "-t", "nothing"], "could not find table 'nothing' on the first side"),
        (&["d", "postgres://me@/shop"], "could not compare MariaDB or MySQL with PostgreSQL"),
    ];
    for (words, text) in cases {
        let outcome = verify(&source, words);
        assert!(said(&outcome).contains(text), "{words:?}: {}", said(&outcome));
        assert_eq!(outcome.exit, Exit::Code(2), "{words:?}");
    }
}

/// A session writes the same to two tables in each of its transactions: on a side of one moment, they have the same rows.
#[test]
fn each_side_is_of_one_moment() {
    let Some(source) = MariaDbPlace::start(&[]) else { return };
    let make = "create table a (id int primary key, n int, pad char(200)); insert into a select seq, 0, 'x' from seq_1_to_20000; \
        create table b like a; insert into b select * from a; create table c like a; alter table c engine = MyISAM; insert into c select * from a; \
        \ndelimiter //\ncreate procedure work() repeat start transaction; update a set n = n + 1 where id = 1; \
        update b set n = n + 1 where id = 1; commit; until false end repeat //";
    source.sql("shop", make);
    let mut writer = source.session("call work()");
    wait_until("it writes", || source.sql("shop", "select n > 3 from a where id = 1") == "1");
    let root = source.address("root");
    // Without a lock, about one side in four has two moments.
    for lock in ["auto", "flush"].repeat(10) {
        let outcome = verify(&source, &["--json", "-j3", "--lock", lock, &root, &root]);
        let objects = objects(&outcome);
        assert_eq!(objects.len(), 3, "{}", said(&outcome));
        for side in ["first", "second"] {
            let digest = |table: usize| objects[table][side]["digest"].as_str().expect("text");
            assert_eq!(digest(0), digest(1), "{lock}: both have seen the same transactions");
        }
    }
    writer.child.kill().expect("ours");
}

#[test]
fn an_end_in_the_midst_is_no_verdict() {
    let Some(source) = MariaDbPlace::start(&[]) else { return };
    source.fill();
    let root = source.address("root");
    let mut running = start_verify(&source, &["-j2", &root, &root]);
    wait_until("rows are read", || source.readers() != "0");
    let pid = i32::try_from(running.child.id()).ok().and_then(Pid::from_raw).expect("a PID");
    kill_process(pid, Signal::INT).expect("it runs");
    assert_eq!(running.end().code(), Some(130));
    wait_until("connections end", || source.is_alone());
    let mut running = start_verify(&source, &["-j2", &root, &root]);
    let find = "select id from information_schema.processlist where info like 'select `id`,`s` from `big`%' limit 1";
    let mut reader = String::new();
    wait_until("a reader is found", || {
        reader = source.sql("mysql", find);
        !reader.is_empty()
    });
    source.sql("mysql", &format!("kill {reader}"));
    assert_eq!(running.end().code(), Some(2));
    let text = String::from_utf8(source.place.read("printed")).expect("text");
    assert!(text.contains("could not compare mysql://root@/shop"), "{text}");
    wait_until("connections end", || source.is_alone());
}

#[test]
fn a_lock_that_is_not_had_ends_it() {
    let Some(source) = MariaDbPlace::start(&[]) else { return };
    source.sql("shop", "create table old (word text) engine = MyISAM");
    let _holder = source.session("backup stage start; select sleep(600)");
    let held = "select count(*) from information_schema.processlist where info = 'select sleep(600)'";
    wait_until("the lock is held", || source.sql("mysql", held) == "1");
    let root = source.address("root");
    let mut running = start_verify(&source, &["-j2", &root, &root]);
    let waiting = "select count(*) from information_schema.processlist where info = 'backup stage start'";
    wait_until("it waits", || source.sql("mysql", waiting) == "1");
    let pid = i32::try_from(running.child.id()).ok().and_then(Pid::from_raw).expect("a PID");
    kill_process(pid, Signal::TERM).expect("it runs");
    assert_eq!(running.end().code(), Some(143));
    let unlocked = verify(&source, &["-q", "--lock", "none", &root, &root]);
    assert_eq!((unlocked.exit, said(&unlocked)), (Exit::Code(0), String::new()));
}

/// The archive says of a table what its files do not, so that only reading it again finds it.
#[test]
fn a_restore_that_verifies_finds_what_differs() {
    let Some(source) = dumped() else { return };
    let path = source.place.path("d/mh.index");
    let mut index: Value = serde_json::from_slice(&source.place.read("d/mh.index")).expect("JSON");
    let tables = index["tables"].as_array_mut().expect("a list");
    let parent = tables.iter_mut().find(|table| table["table"] == "parent").expect("it is dumped");
    parent["digest"] = Value::from("000000000000000000000000000000ff");
    std::fs::write(path, index.to_string()).expect("ours");
    source.make("other");
    let outcome = source.restore_into("other", &["--verify"]);
    assert_eq!(outcome.exit, Exit::Code(1), "{}", said(&outcome));
    assert!(
        said(&outcome).contains("could not verify rows of parent: its 500 rows, read again, are not those"),
        "{}",
        said(&outcome)
    );
    assert_eq!(said(&outcome).matches("read again").count(), 1, "{}", said(&outcome));
    assert_eq!(source.content("other"), source.content("shop"), "the rest is carried out");
    source.make("third");
    let without = source.restore_into("third", &["-q"]);
    assert_eq!((without.exit, said(&without)), (Exit::Code(0), String::new()));
}
