//! `mh db restore` of archives of a real MariaDB: what was dumped comes back, whatever ends a restore in between.

use crate::mariadb::{MariaDbPlace, SCHEMA};
use crate::place::{Running, names_in, said, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use testkit::program::Exit;

/// A server with an archive `d` of `shop`, and an empty database `copy`.
fn dumped(sql: &str, options: &[&str]) -> Option<MariaDbPlace> {
    let source = MariaDbPlace::start(options)?;
    source.sql("shop", sql);
    source.dumped(&[]);
    source.make("copy");
    Some(source)
}

/// As many rows as take some seconds, with keys.
const MUCH: &str = "create table big (id int primary key, s text, n int, key (n), key (s(20))); \
    insert into big select seq, repeat(md5(seq), 20), seq % 1000 from seq_1_to_150000; \
    create table old (id int primary key, s varchar(100)) engine = MyISAM; insert into old select seq, md5(seq) from seq_1_to_20000; \
    analyze table big";

const LOADS: &str =
    "select count(*) from information_schema.processlist where info like 'load data local infile%into table `big`%'";

#[test]
fn it_makes_the_same_database() {
    let Some(source) = dumped(SCHEMA, &[]) else { return };
    let outcome = source.restore_into("copy", &["--report=json"]);
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    let text = said(&outcome);
    let report = text.lines().find(|line| line.starts_with('{')).expect("a report");
    let report: Value = serde_json::from_str(report).expect("JSON");
    assert_eq!((report["tables"].as_u64(), report["rows"].as_u64()), (Some(4), Some(20_504)));
    assert_eq!(source.content("copy"), source.content("shop"));
    let again = source.restore_into("copy", &[]);
    assert_eq!(again.exit, Exit::Code(2), "{}", said(&again));
    assert!(said(&again).contains("the database is not empty"), "{}", said(&again));
    let resumed = source.restore_into("copy", &["--resume"]);
    assert_eq!(resumed.exit, Exit::Code(2), "{}", said(&resumed));
    assert!(said(&resumed).contains("no interrupted restore of this archive is noted"), "{}", said(&resumed));
    assert!(!said(&resumed).contains("--clean"), "what is whole is not to be dropped: {}", said(&resumed));
    // A view where a table is to be has no rows of its own; a table where a view is to be has.
    source.sql("copy", "drop table old; create view old as select 1; drop view seen; create table seen (mine int)");
    let kept = source.restore_into("copy", &["--clean"]);
    assert_eq!(kept.exit, Exit::Code(2), "{}", said(&kept));
    assert!(said(&kept).contains("'seen' is a table in the database and a view in the archive"), "{}", said(&kept));
    assert_eq!(source.sql("copy", "select count(*) from parent; select * from old"), "500\n1", "nothing was dropped");
    source.sql("copy", "drop table seen");
    let cleaned = source.restore_into("copy", &["--clean", "-q"]);
    assert_eq!((cleaned.exit, said(&cleaned)), (Exit::Code(0), String::new()));
    assert_eq!(source.content("copy"), source.content("shop"));
}

#[test]
fn options_select_tables_statements_and_rows() {
    let Some(source) = dumped(SCHEMA, &[]) else { return };
    let names = "select group_concat(table_name order by 1) from information_schema.tables where table_schema = 'copy'";
    let restored = |words: &[&str]| {
        let outcome = source.restore_into("copy", words);
        assert_eq!(outcome.exit, Exit::Code(0), "{words:?}: {}", said(&outcome));
    };
    restored(&["-s", "-t", "par*"]);
    assert_eq!(
        (source.sql("copy", names).as_str(), source.sql("copy", "select count(*) from parent").as_str()),
        ("parent", "0")
    );
    restored(&["-a", "-t", "parent", "--into-existing"]);
    assert_eq!(source.sql("copy", "select count(*) from parent"), "500");
    source.sql(
        "copy",
        "delete from parent; create trigger shout before insert on parent for each row set new.name = 'x'",
    );
    let fired = source.restore_into("copy", &["-a", "-t", "parent"]);
    assert_eq!(fired.exit, Exit::Code(0), "{}", said(&fired));
    assert!(
        said(&fired).contains("triggers fire for each row and may change it, of `parent`; --verify"),
        "{}",
        said(&fired)
    );
    assert!(!said(&fired).contains("not empty"), "{}", said(&fired));
    let twice = source.restore_into("copy", &["-a", "-t", "parent"]);
    assert_eq!(twice.exit, Exit::Code(1), "{}", said(&twice));
    for text in ["`parent` is not empty", "did not take all rows of 'parent' as they are: 1062 Duplicate entry"] {
        assert!(said(&twice).contains(text), "no '{text}' in {}", said(&twice));
    }
    source.sql("mysql", "set global local_infile = 0");
    source.make("other");
    let outcome = source.restore_into("other", &["-j1"]);
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    assert_eq!(source.content("other"), source.content("shop"), "by INSERT");
    let plan = source.restore_into("other", &["--explain"]);
    let plan = String::from_utf8(plan.stdout).expect("text");
    assert!(plan.contains("INSERT") && plan.contains("of database shop"), "{plan}");
}

/// Ends a restore once rows are on their way, by a signal.
fn end(source: &MariaDbPlace, words: &[&str], signal: Signal) -> Option<i32> {
    let mut running: Running = source.start_restore("copy", words);
    wait_until("rows are loaded", || {
        source.sql("mysql", LOADS) != "0" || running.child.try_wait().is_ok_and(|end| end.is_some())
    });
    let pid = i32::try_from(running.child.id()).ok().and_then(Pid::from_raw).expect("a PID");
    let _ended_already = kill_process(pid, signal);
    running.end().code()
}

const ASLEEP: &str = "select id from information_schema.processlist where info like 'do sleep%'";

/// Whether a statement that begins so waits for a lock.
fn waits(source: &MariaDbPlace, beginning: &str) -> bool {
    let find = format!(
        "select count(*) from information_schema.processlist where info like '{beginning}%' and state like 'Waiting%'"
    );
    source.sql("mysql", &find) == "1"
}

/// A server may still be at what a killed restore asked for: to read the ledger now would be too early.
#[test]
fn one_that_goes_on_waits_for_the_end_of_what_was_begun() {
    let Some(source) = dumped(MUCH, &[]) else { return };
    assert_eq!(end(&source, &["-j2"], Signal::INT), Some(130));
    let ledgers = "select table_name from information_schema.tables where table_schema = 'copy' and table_name like 'mh%restore%'";
    let ledger = source.sql("mysql", ledgers);
    let mut late = source.session(&format!("begin; select 1 from copy.{ledger} limit 0 for update; do sleep(600)"));
    wait_until("it is in its transaction", || !source.sql("mysql", ASLEEP).is_empty());
    let mut running = source.start_restore("copy", &["-j2", "--resume"]);
    wait_until("the restore waits", || waits(&source, "lock tables"));
    source.sql("mysql", &format!("kill {}", source.sql("mysql", ASLEEP)));
    late.end();
    assert_eq!(running.end().code(), Some(0));
    assert_eq!(source.content("copy"), source.content("shop"));
}

#[test]
fn keys_that_the_server_goes_on_to_make_are_not_made_twice() {
    let Some(source) = dumped(MUCH, &[]) else { return };
    let mut restore = source.start_restore("copy", &["-j2"]);
    wait_until("rows are loaded", || source.sql("mysql", LOADS) != "0");
    // As long as it reads, the ALTER cannot end.
    let mut reader = source.session("begin; select 1 from copy.big limit 1; do sleep(600)");
    wait_until("keys are all but made", || waits(&source, "alter table `big`"));
    kill_process(Pid::from_child(&restore.child), Signal::KILL).expect("it runs");
    restore.end();
    let mut next = source.start_restore("copy", &["-j2", "--resume"]);
    wait_until("the next restore waits", || waits(&source, "lock tables `big`"));
    source.sql("mysql", &format!("kill {}", source.sql("mysql", ASLEEP)));
    reader.end();
    assert_eq!(next.end().code(), Some(0));
    assert_eq!(source.content("copy"), source.content("shop"));
}

#[test]
fn an_interrupted_restore_goes_on() {
    let Some(source) = dumped(MUCH, &[]) else { return };
    assert_eq!(end(&source, &["-j2"], Signal::INT), Some(130));
    let refused = source.restore_into("copy", &[]);
    assert_eq!(refused.exit, Exit::Code(2), "{}", said(&refused));
    assert!(
        said(&refused).contains("was interrupted in this database") && said(&refused).contains("--resume"),
        "{}",
        said(&refused)
    );
    for _ in 0..3 {
        let _killed_or_done = end(&source, &["-j2", "--resume"], Signal::KILL);
    }
    if source.sql("mysql", "select count(*) from information_schema.tables where table_name like 'mh%restore%'") == "1"
    {
        let outcome = source.restore_into("copy", &["--resume"]);
        assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    }
    assert_eq!(source.content("copy"), source.content("shop"));
}

/// The server ends the transaction with its connection; the file is sent again over a new one.
#[test]
fn a_connection_that_is_lost_is_made_again() {
    let Some(source) = dumped(MUCH, &[]) else { return };
    let mut running = source.start_restore("copy", &["-j2"]);
    let find = "select id from information_schema.processlist where info like 'load data local infile%into table `big`%' limit 1";
    let mut loader = String::new();
    wait_until("a loader is found", || {
        loader = source.sql("mysql", find);
        !loader.is_empty() || running.child.try_wait().is_ok_and(|end| end.is_some())
    });
    if !loader.is_empty() {
        // It may be done by then.
        let _killed = source.session(&format!("kill {loader}")).end();
    }
    assert_eq!(running.end().code(), Some(0));
    assert_eq!(source.content("copy"), source.content("shop"));
}

#[test]
fn what_is_not_what_was_dumped_fails_the_restore() {
    let Some(source) = dumped(SCHEMA, &[]) else { return };
    let file = names_in(&source.place.path("d"))
        .into_iter()
        .find(|name| name.starts_with("shop.parent."))
        .expect("it has rows");
    let path = source.place.path("d").join(file);
    let mut bytes = std::fs::read(&path).expect("ours");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    std::fs::write(&path, bytes).expect("ours");
    let outcome = source.restore_into("copy", &[]);
    assert_eq!(outcome.exit, Exit::Code(1), "{}", said(&outcome));
    assert!(
        said(&outcome).contains("shop.parent.00000.tsv") && said(&outcome).contains("--resume"),
        "{}",
        said(&outcome)
    );
    source.make("other");
    let by_script = source.restore("third");
    assert!(by_script.exit != Exit::Code(0), "the script has noticed it, too");
    std::fs::remove_file(&path).expect("ours");
    let outcome = source.restore_into("other", &[]);
    assert_eq!(outcome.exit, Exit::Code(2), "{}", said(&outcome));
    assert!(said(&outcome).contains("No such file") && !said(&outcome).contains("--resume"), "{}", said(&outcome));
    assert_eq!(source.sql("mysql", "select count(*) from information_schema.tables where table_schema = 'other'"), "0");
}

/// A view of somebody who is not here can be made by a superuser; a procedure that does not parse cannot, and the others come nevertheless.
#[test]
fn a_statement_that_is_refused_is_reported_and_the_others_are_carried_out() {
    let Some(source) = dumped(SCHEMA, &[]) else { return };
    let path = source.place.path("d/routines.sql");
    let text = std::fs::read_to_string(&path).expect("ours").replace("select 1\n", "selec 1\n");
    std::fs::write(&path, text).expect("ours");
    let views = source.place.path("d/views.sql");
    let broken = "/*!50001 CREATE ALGORITHM=UNDEFINED */\n/*!50001 VIEW `broken` AS select nothing from parent */;\n";
    std::fs::write(&views, std::fs::read_to_string(&views).expect("ours") + broken).expect("ours");
    let outcome = source.restore_into("copy", &[]);
    assert_eq!(outcome.exit, Exit::Code(1), "{}", said(&outcome));
    assert!(said(&outcome).contains("could not restore view `broken`: 1054 "), "{}", said(&outcome));
    assert!(
        said(&outcome).contains("restore procedure `report`") && said(&outcome).contains("syntax"),
        "{}",
        said(&outcome)
    );
    let made = "select (select count(*) from information_schema.views where table_schema = 'copy') + \
        (select count(*) from information_schema.triggers where trigger_schema = 'copy') + \
        (select count(*) from information_schema.events where event_schema = 'copy')";
    assert_eq!(source.sql("mysql", made), "3");
    source.make("other");
    let strict = source.restore_into("other", &["--exit-on-error"]);
    assert_eq!(strict.exit, Exit::Code(1), "{}", said(&strict));
    assert_eq!(source.sql("mysql", "select count(*) from information_schema.views where table_schema = 'other'"), "0");
}

/// Waits until a restore is at a statement, and kills it.
fn kill_at(source: &MariaDbPlace, words: &[&str], statement: &str) {
    let mut running = source.start_restore("copy", words);
    let find = format!("select id from information_schema.processlist where info like '{statement}%' limit 1");
    let mut connection = String::new();
    wait_until("it is at the statement", || {
        connection = source.sql("mysql", &find);
        !connection.is_empty()
    });
    let pid = i32::try_from(running.child.id()).ok().and_then(Pid::from_raw).expect("a PID");
    kill_process(pid, Signal::KILL).expect("it runs");
    running.end();
    source.sql("mysql", &format!("kill {connection}"));
    wait_until("connections end", || source.is_alone());
}

/// Has a restore wait in a file of the archive, before this text. Returns what puts the file right.
fn wait_before(source: &MariaDbPlace, file: &str, text: &str) -> impl FnOnce() + use<> {
    let path = source.place.path("d").join(file);
    let good = std::fs::read_to_string(&path).expect("ours");
    let bad = good.replacen(text, &format!("select sleep(600);\n{text}"), 1);
    assert_ne!(bad, good);
    std::fs::write(&path, bad).expect("ours");
    move || std::fs::write(path, good).expect("ours")
}

#[test]
fn what_was_there_before_is_neither_dropped_nor_replaced() {
    let Some(source) = dumped(SCHEMA, &[]) else { return };
    source.sql("copy", "create table events (mine int); insert into events values (7); create view seen as select 1");
    for (name, what) in [("events", "table"), ("seen", "view")] {
        for words in [["--into-existing"], ["--resume"]] {
            let outcome = source.restore_into("copy", &words);
            assert_eq!(outcome.exit, Exit::Code(2), "{words:?}: {}", said(&outcome));
        }
        let outcome = source.restore_into("copy", &["--into-existing"]);
        let text = format!("the database has the {what} '{name}' already");
        assert!(said(&outcome).contains(&text) && said(&outcome).contains("--clean"), "{}", said(&outcome));
        assert_eq!(source.sql("copy", &format!("select * from {name}")), if name == "seen" { "1" } else { "7" });
        source.sql("copy", &format!("drop {what} {name}"));
    }
    source.sql("copy", "create procedure report() select 2");
    let outcome = source.restore_into("copy", &[]);
    assert_eq!(outcome.exit, Exit::Code(2), "{}", said(&outcome));
    assert!(said(&outcome).contains("the procedure 'report' already"), "{}", said(&outcome));
    assert_eq!(source.sql("copy", "show tables"), "");
}

#[test]
fn one_that_goes_on_drops_only_what_it_has_made() {
    let Some(source) = dumped(SCHEMA, &[]) else { return };
    source.sql("copy", "create table mine (a int); insert into mine values (1)");
    let mend = wait_before(&source, "schema.sql", "CREATE TABLE `parent`");
    kill_at(&source, &["--into-existing"], "select sleep");
    mend();
    // Of a name in the archive, but the restore had not come to it; and rows that are not the restore's.
    source.sql("copy", "create table parent (id int primary key); insert into parent values (7)");
    source.sql("copy", "insert into old values ('mine')");
    let outcome = source.restore_into("copy", &["--resume"]);
    assert_eq!(outcome.exit, Exit::Code(1), "{}", said(&outcome));
    assert!(said(&outcome).contains("'old' already exists"), "{}", said(&outcome));
    assert_eq!(source.sql("copy", "select * from parent; select * from old; select * from mine"), "7\nmine\n1");
    source.sql("copy", "drop table old");
    let outcome = source.restore_into("copy", &["--resume"]);
    assert_eq!(outcome.exit, Exit::Code(1), "{}", said(&outcome));
    assert!(said(&outcome).contains("'parent' already exists"), "{}", said(&outcome));
    source.sql("copy", "set foreign_key_checks = 0; drop table parent");
    let outcome = source.restore_into("copy", &["--resume"]);
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    assert_eq!(source.sql("copy", "select * from mine"), "1");
    source.sql("copy", "drop table mine");
    assert_eq!(source.content("copy"), source.content("shop"));
}

#[test]
fn rows_before_a_restore_stay_in_a_table_without_transactions() {
    let Some(source) = dumped(SCHEMA, &[]) else { return };
    source.sql("copy", "create table old like shop.old; insert into old values ('mine')");
    let words = ["-a", "-t", "old", "--into-existing"];
    let mut lock = source.session("lock tables copy.old read; select sleep(600)");
    wait_until("it is locked", || {
        source.sql("mysql", "select count(*) from information_schema.processlist where info like 'select sleep%'")
            == "1"
    });
    let running = |like: &str| {
        format!("select id from information_schema.processlist where info like '{like}%' and id <> connection_id()")
    };
    let mut restore = source.start_restore("copy", &words);
    wait_until("it waits for the lock", || !source.sql("mysql", &running("load data")).is_empty());
    let pid = i32::try_from(restore.child.id()).ok().and_then(Pid::from_raw).expect("a PID");
    kill_process(pid, Signal::KILL).expect("it runs");
    restore.end();
    source.sql("mysql", &format!("kill {}", source.sql("mysql", &running("load data"))));
    source.sql("mysql", &format!("kill {}", source.sql("mysql", &running("select sleep"))));
    lock.end();
    wait_until("connections end", || source.is_alone());
    let resumed = ["-a", "-t", "old", "--resume"];
    source.sql("copy", "insert into old values ('later')");
    let outcome = source.restore_into("copy", &resumed);
    assert_eq!(outcome.exit, Exit::Code(2), "{}", said(&outcome));
    assert!(said(&outcome).contains("'old' had 1 rows before the interrupted restore"), "{}", said(&outcome));
    source.sql("copy", "delete from old where word = 'later'");
    let outcome = source.restore_into("copy", &resumed);
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    assert_eq!(source.sql("copy", "select group_concat(word order by 1) from old"), "mine,sesame");
}

#[test]
fn a_refused_statement_is_reported_again_by_one_that_goes_on() {
    let Some(source) = dumped(SCHEMA, &[]) else { return };
    let path = source.place.path("d/routines.sql");
    let text = std::fs::read_to_string(&path).expect("ours").replace("select 1\n", "selec 1\n");
    std::fs::write(&path, text).expect("ours");
    let mend = wait_before(&source, "triggers.sql", "DELIMITER ;;");
    kill_at(&source, &[], "select sleep");
    mend();
    let outcome = source.restore_into("copy", &["--resume"]);
    assert_eq!(outcome.exit, Exit::Code(1), "{}", said(&outcome));
    assert!(
        said(&outcome).contains("restore procedure `report`") && said(&outcome).contains("syntax"),
        "{}",
        said(&outcome)
    );
    let others = "select (select count(*) from information_schema.views where table_schema = 'copy') + \
        (select count(*) from information_schema.triggers where trigger_schema = 'copy')";
    assert_eq!(source.sql("mysql", others), "2");
}
