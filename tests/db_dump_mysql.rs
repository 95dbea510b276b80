//! `mh db dump` against a real MariaDB: the archive's own script restores it with the client mariadb, and nothing is left of what could not be dumped.

use crate::mariadb::{MariaDbPlace as Source, SCHEMA};
use crate::place::{Place, Running, binary, is_long, said, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use testkit::program::{Exit, TestProgram, left_out};

fn index(place: &Place) -> Value {
    serde_json::from_slice(&place.read("d/mh.index")).expect("JSON")
}

/// Names and rows of tables.
fn tables(place: &Place) -> Vec<(String, u64)> {
    let index = index(place);
    let tables = index["tables"].as_array().expect("a list").iter();
    tables
        .map(|table| (table["table"].as_str().expect("a name").to_owned(), table["rows"].as_u64().expect("a number")))
        .collect()
}

#[test]
fn its_script_makes_the_same_database() {
    let Some(source) = Source::start(&[]) else { return };
    source.sql("shop", SCHEMA);
    let outcome = source.dump(&["--report=json", "--verify"]);
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    let text = said(&outcome);
    let report = text.lines().find(|line| line.starts_with('{')).expect("a report");
    let report: Value = serde_json::from_str(report).expect("JSON");
    assert_eq!((report["tables"].as_u64(), report["rows"].as_u64()), (Some(4), Some(20_504)));
    assert!(report["locked_ns"].as_u64().is_some_and(|held| held > 0) && report["pg_dump"].is_null(), "{report}");
    assert_eq!(source.place.names(), ["d"], "the directory of the password has gone");
    let restored = source.restore("copy");
    assert_eq!(restored.exit, Exit::Code(0), "{}", said(&restored));
    assert_eq!(source.content("copy"), source.content("shop"));
    // A second time there is something in the way, and that is an error.
    let script = TestProgram::at(source.place.path("d/restore.sh"));
    let again = script.run(["copy", "--user=root", &format!("--socket={}", source.server.socket().display())], b"");
    let again = again.expect("it starts");
    assert!(again.exit != Exit::Code(0) && said(&again).contains("already exists"), "{}", said(&again));
}

#[test]
fn options_select_objects_and_definers() {
    let Some(source) = Source::start(&[]) else { return };
    source.sql("shop", SCHEMA);
    let again = |words: &[&str]| {
        source.dumped(words);
        let found = (tables(&source.place), source.place.read("d/restore.sh"));
        let files: Vec<String> = crate::place::names_in(&source.place.path("d"));
        let statements = files.iter().filter(|name| name.ends_with(".sql")).cloned().collect::<Vec<_>>().join(" ");
        let text: Vec<u8> = files
            .iter()
            .filter(|name| name.ends_with(".sql"))
            .flat_map(|name| source.place.read(Path::new("d").join(name)))
            .collect();
        std::fs::remove_dir_all(source.place.path("d")).expect("ours");
        (found.0, statements, String::from_utf8_lossy(&text).into_owned())
    };
    let name = |name: &str, rows| (name.to_owned(), rows);
    let (rows, files, _) = again(&["-t", "shop.par*", "-t", "seen"]);
    assert_eq!((rows, files.as_str()), (vec![name("parent", 500)], "schema.sql triggers.sql views.sql"));
    let (rows, files, text) = again(&["--no-data"]);
    assert_eq!((rows, files.as_str()), (vec![], "events.sql routines.sql schema.sql triggers.sql views.sql"));
    assert_eq!(text.matches("DEFINER=`root`@`localhost`").count(), 4);
    let (_, _, text) = again(&["-s", "--skip-definer"]);
    assert!(
        !text.contains("DEFINER=") && text.contains("PROCEDURE `report`") && text.contains("VIEW `seen`"),
        "{text}"
    );
    let (rows, files, _) =
        again(&["-a", "--exclude-table-data", "old", "-T", "events", "--ignore-table=shop.seen", "-j1", "-Z", "none"]);
    assert_eq!((rows, files.as_str()), (vec![name("it's \"odd\" (€)", 3), name("parent", 500)], ""));
    let (_, files, _) = again(&["--skip-events", "--skip-routines", "--skip-triggers"]);
    assert_eq!(files, "schema.sql views.sql");
}

#[test]
fn what_cannot_be_dumped_is_an_error_and_leaves_nothing() {
    let Some(source) = Source::start(&[]) else { return };
    source.sql("shop", SCHEMA);
    let users = "create user reader; create user half; create user nobody; grant select on shop.* to reader; \
        grant select, show view, trigger, event, execute on shop.* to half; create user locker; \
        grant select, show view, trigger, event on shop.* to locker; grant select on mysql.proc to locker";
    source.sql("mysql", users);
    let [reader, half, nobody, locker, usual] =
        ["reader", "half", "nobody", "locker", "root"].map(|user| source.address(user));
    let nothing = source.address("root").replace("/shop?", "/nothing?");
    let own = nothing.replace("/nothing?", "/Information_Schema?");
    let cases: [(&str, &[&str], i32, &str); 10] = [
        (&own, &[], 2, "Information_Schema is a view of the server's own state"),
        (&usual, &["-t", "nothing"], 2, "no table matches 'nothing'"),
        (&nobody, &[], 2, "Access denied for user 'nobody'"),
        (&reader, &[], 2, "the right SHOW VIEW on `shop`.* is missing"),
        (&reader, &["-T", "seen"], 2, "the right TRIGGER on `shop`.* is missing: --skip-triggers leaves triggers out"),
        (&reader, &["-T", "seen", "--skip-triggers"], 2, "the right EVENT on `shop`.* is missing"),
        (&half, &[], 2, "the right SELECT on mysql.proc is missing"),
        (&locker, &[], 2, "the right RELOAD on *.* is missing"),
        (&nothing, &[], 2, "Unknown database 'nothing'"),
        (&usual, &["-Z", "rar"], 2, "'rar' is none of zstd, gzip, lz4, none"),
    ];
    for (address, words, code, text) in cases {
        let outcome = source.dump_of(address, words);
        assert!(said(&outcome).contains(text), "{words:?}: {}", said(&outcome));
        assert_eq!(outcome.exit, Exit::Code(code), "{words:?}: {}", said(&outcome));
        assert_eq!(source.place.names(), Vec::<String>::new(), "{words:?}");
    }
    let outcome = source.dump_of(&locker, &["--lock=none"]);
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    assert!(said(&outcome).contains("1 table without transactions may change"), "{}", said(&outcome));
    assert_eq!(index(&source.place)["is_consistent"], Value::Bool(true), "one connection sees one moment");
}

#[test]
fn a_password_is_in_no_command_line_and_not_repeated() {
    let Some(source) = Source::start(&[]) else { return };
    source.sql("shop", SCHEMA);
    source.sql("mysql", "create user me identified by 'it''s #\"r1ght\\\\'; grant all on *.* to me");
    let address = format!("mariadb://me:wr0ng-w0rd@127.0.0.1:{}/shop", source.server.port());
    let outcome = source.dump_of(&address, &[]);
    assert_eq!(outcome.exit, Exit::Code(2), "{}", said(&outcome));
    assert!(said(&outcome).contains("Access denied") && !said(&outcome).contains("wr0ng-w0rd"), "{}", said(&outcome));
    let good = address.replace("wr0ng-w0rd", "it%27s%20%23%22r1ght%5C");
    let outcome = source.dump_of(&good, &["-q"]);
    assert_eq!((outcome.exit, said(&outcome).lines().count()), (Exit::Code(0), 0), "{}", said(&outcome));
    assert_eq!(source.place.names(), ["d"]);
    let index = String::from_utf8(source.place.read("d/mh.index")).expect("text");
    assert!(!index.contains("r1ght"), "{index}");
}

/// Rows of two tables that are always written together, in one transaction.
#[test]
fn rows_are_of_one_moment_while_others_write() {
    let Some(source) = Source::start(&["--log-bin=binlog"]) else { return };
    let make = "create table a (id int primary key, n int, pad char(200)); insert into a select seq, 0, 'x' from seq_1_to_20000; \
        create table b like a; insert into b select * from a; create table c like a; alter table c engine = MyISAM; insert into c select * from a; \
        \ndelimiter //\ncreate procedure work() repeat start transaction; update a set n = n + 1 where id < 50; \
        update b set n = n + 1 where id < 50; commit; update c set n = n + 1 where id < 50; until false end repeat //";
    source.sql("shop", make);
    let mut writer = source.session("call work()");
    wait_until("it writes", || source.sql("shop", "select n > 3 from a where id = 1") == "1");
    for lock in ["auto", "flush"] {
        source.dumped(&["-j3", "--lock", lock]);
        let index = index(&source.place);
        let digest = |table: &str| {
            let tables = index["tables"].as_array().expect("a list").iter();
            tables.filter(|known| known["table"] == *table).map(|known| known["digest"].to_string()).collect::<String>()
        };
        assert_eq!(digest("a"), digest("b"), "{lock}: both have seen the same transactions");
        assert!(index["position"]["binlog_position"].as_u64().is_some_and(|position| position > 0), "{index}");
        assert!(index["position"]["gtid_binlog_pos"].is_string() && index["is_consistent"] == true);
        std::fs::remove_dir_all(source.place.path("d")).expect("ours");
    }
    writer.child.kill().expect("ours");
}

#[test]
fn what_is_there_is_kept() {
    let Some(source) = Source::start(&[]) else { return };
    for name in ["d", "d.partial"] {
        source.place.write(Path::new(name).join("mine"), "kept");
        let outcome = source.dump(&[]);
        assert_eq!(outcome.exit, Exit::Code(2), "{name}: {}", said(&outcome));
        assert!(said(&outcome).contains(&format!("'{name}' exists already")), "{}", said(&outcome));
        assert_eq!(source.place.read(Path::new(name).join("mine")), b"kept");
        std::fs::remove_dir_all(source.place.path(name)).expect("ours");
    }
}

#[test]
fn ctrl_c_leaves_nothing_on_either_side() {
    let Some(source) = Source::start(&[]) else { return };
    source.fill();
    let mut running = source.start_dump(&[]);
    wait_until("rows are read", || source.readers() != "0");
    let pid = i32::try_from(running.child.id()).ok().and_then(Pid::from_raw).expect("a PID");
    kill_process(pid, Signal::INT).expect("it runs");
    assert_eq!(running.end().code(), Some(130));
    assert_eq!(source.place.names(), Vec::<String>::new());
    wait_until("connections end", || source.is_alone());
}

#[test]
fn a_kill_leaves_no_archive_under_the_final_name_and_nothing_on_the_server() {
    let Some(source) = Source::start(&[]) else { return };
    source.fill();
    let mut running = source.start_dump(&[]);
    wait_until("rows are read", || source.readers() != "0");
    running.child.kill().expect("it runs");
    running.end();
    assert!(!source.place.has("d") && source.place.has("d.partial"), "{:?}", source.place.names());
    wait_until("connections end", || source.is_alone());
    source.sql("shop", "alter table big add column c int");
}

#[test]
fn a_connection_that_is_lost_fails_the_dump() {
    let Some(source) = Source::start(&[]) else { return };
    source.fill();
    let mut running = source.start_dump(&[]);
    let find = "select id from information_schema.processlist where info like 'select `id`,`s` from `big`%' limit 1";
    let mut reader = String::new();
    wait_until("a reader is found", || {
        reader = source.sql("mysql", find);
        !reader.is_empty()
    });
    source.sql("mysql", &format!("kill {reader}"));
    assert_eq!(running.end().code(), Some(1));
    assert_eq!(source.place.names(), Vec::<String>::new());
}

/// DDL that comes while the dump runs waits until it ends: the columns stay what they were, and nobody waits in a circle.
#[test]
fn a_table_that_is_altered_meanwhile_is_dumped_as_it_was() {
    let Some(source) = Source::start(&[]) else { return };
    source.fill();
    source.sql("shop", "create table zlast (id int primary key); insert into zlast values (1)");
    let mut running = source.start_dump(&["-j2"]);
    wait_until("rows of the large table are read", || source.readers() != "0");
    source.sql("shop", "alter table big add column late int default 7 first; drop table zlast");
    assert_eq!(running.end().code(), Some(0));
    assert_eq!(tables(&source.place), [("big".to_owned(), 100_000), ("zlast".to_owned(), 1)]);
    let restored = source.restore("copy");
    assert_eq!(restored.exit, Exit::Code(0), "{}", said(&restored));
    assert_eq!(source.sql("copy", "select count(*) from information_schema.columns where table_schema = 'copy'"), "3");
}

#[test]
fn a_plan_names_tables_that_are_divided_and_makes_nothing() {
    let Some(source) = Source::start(&[]) else { return };
    source.fill();
    source.sql("shop", "create table keyless like big; alter table keyless drop primary key; insert into keyless select * from big; analyze table big, keyless");
    let outcome = source.dump(&["--explain"]);
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    let plan = String::from_utf8(outcome.stdout).expect("text");
    for text in
        ["big in ", " parts", "keyless whole", "it has no key", "mariadb-dump", "MariaDB ", "BACKUP STAGE BLOCK_COMMIT"]
    {
        assert!(plan.contains(text), "no '{text}' in {plan}");
    }
    assert_eq!(source.place.names(), Vec::<String>::new());
}

/// The server's HEX() gives NULL above max_allowed_packet; packets of the protocol end at 16 MiB.
#[test]
fn rows_of_many_megabytes_are_whole() {
    let Some(source) = Source::start(&["--max-allowed-packet=1G", "--innodb-log-file-size=96M"]) else { return };
    source.sql("shop", "create table t (a longblob, b longtext character set utf8mb4)");
    let pairs = if is_long() { 80_000_000 } else { 12_000_000 };
    let insert = format!(
        "set global max_allowed_packet = 16777216; insert into t values ('x', 'y'), (repeat(x'00ff', {}), repeat('ä', {pairs}))",
        pairs / 2
    );
    let words = ["--max-allowed-packet=1G", "--execute", &insert, "shop"];
    source.client("mariadb", &words);
    source.dumped(&["-Z", "gzip:1"]);
    let restored = source.restore("copy");
    assert_eq!(restored.exit, Exit::Code(0), "{}", said(&restored));
    let question = "select count(*), sum(length(a)), sum(length(b)), max(md5(a)), max(md5(b)) from t";
    assert_eq!(source.sql("copy", question), source.sql("shop", question));
}

/// Characters that do not come back from UTF-8 are asked for as bytes: CAST and HEX would give NULL above max_allowed_packet.
#[test]
fn characters_of_old_sets_are_whole_above_the_limit_of_packets() {
    let Some(source) = Source::start(&["--max-allowed-packet=64M", "--innodb-log-file-size=96M"]) else { return };
    let make =
        "create table t (b longtext character set gbk); insert into t values (repeat('x', 20000000)), (x'81408e5c')";
    source.client("mariadb", &["--max-allowed-packet=64M", "--execute", make, "shop"]);
    source.sql("mysql", "set global max_allowed_packet = 1048576");
    source.dumped(&[]);
    let restored = source.restore("copy");
    assert_eq!(restored.exit, Exit::Code(0), "{}", said(&restored));
    let question = "select length(b), md5(b) from t order by 1";
    assert_eq!(source.sql("copy", question), source.sql("shop", question));
}

#[test]
fn too_few_connections_are_an_error_before_anything_is_made() {
    let Some(source) = Source::start(&["--max-connections=10"]) else { return };
    source.sql("shop", SCHEMA);
    let mut sessions: Vec<Running> = (0..7).map(|_| source.session("select sleep(1000)")).collect();
    wait_until("they sleep", || {
        source.sql("mysql", "select count(*) from information_schema.processlist where info like '%sleep(1000)%' and id <> connection_id()") == "7"
    });
    let outcome = source.dump(&["-j", "8"]);
    assert_eq!(outcome.exit, Exit::Code(2), "{}", said(&outcome));
    assert!(said(&outcome).contains("connections left, and a dump needs 4"), "{}", said(&outcome));
    sessions.iter_mut().for_each(|session| session.child.kill().expect("ours"));
}

#[test]
fn a_full_disk_ends_the_dump_and_keeps_nothing() {
    let Some(source) = Source::start(&[]) else { return };
    source.fill();
    let script = "mkdir disk && mount -t tmpfs -o size=1m none disk || exit 77\n\
        \"$0\" db dump -d \"$1\" -f disk/d -Z none; code=$?; ls -A disk; exit $code";
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script]).arg(binary()).arg(source.address("root"));
    command.current_dir(source.place.directory());
    let outcome = testkit::program::run_to_end(command, b"", testkit::program::TIME_LIMIT).expect("it starts");
    if outcome.exit == Exit::Code(77) || outcome.stdout.is_empty() && said(&outcome).contains("unshare") {
        left_out("no file system can be mounted here");
        return;
    }
    assert_eq!(outcome.exit, Exit::Code(1), "{}", said(&outcome));
    assert!(said(&outcome).contains("No space left on device"), "{}", said(&outcome));
    assert_eq!(outcome.stdout, b"");
}
