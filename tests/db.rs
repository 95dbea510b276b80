//! `mh db load` as it is shipped, on real servers: against psql's \copy, by pipes and compressed, refused rows, signals and kill -9 at any moment, a
//! server that dies, memory. What is reported as kept is what is there.

use crate::place::{Place, Running, binary, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fmt::Write as _;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use testkit::mariadb_server::MariaDbServer;
use testkit::postgres_server::PostgresServer;
use testkit::program::{Exit, ProgramOutcome, TestProgram, left_out};

const ROWS: usize = 6000;

/// Every fifth row has a line end, quotes and a comma within quotes.
fn rows(count: usize) -> String {
    let mut text = String::from("id,name,note\n");
    for number in 0..count {
        match number % 5 {
            0 => writeln!(text, "{number},\"say \"\"{number}\"\",\nand more\","),
            1 => writeln!(text, "{number},,\"\""),
            _ => writeln!(text, "{number},line {number} of many,note \u{e4}"),
        }
        .expect("writing to a string");
    }
    text
}

/// A server, and the program that asks it.
struct Asked {
    address: String,
    client: TestProgram,
    words: Vec<String>,
    place: Place,
    server: Server,
}

enum Server {
    Postgres(PostgresServer),
    MariaDb(#[expect(dead_code, reason = "it ends when it is dropped")] MariaDbServer),
}

impl Asked {
    fn postgres() -> Option<Self> {
        let server = PostgresServer::start(&[]).map_err(|reason| left_out(&reason)).ok()?;
        let Some(client) = TestProgram::find("psql") else {
            left_out("psql is not installed");
            return None;
        };
        let (directory, port) = (server.directory().display().to_string(), server.port());
        let words = [
            "-h",
            &directory,
            "-p",
            &port.to_string(),
            "-U",
            "postgres",
            "-X",
            "-q",
            "-At",
            "-v",
            "ON_ERROR_STOP=1",
            "-c",
        ];
        let words = words.map(str::to_owned).to_vec();
        let address = format!("host={directory} port={port} user=postgres dbname=postgres");
        Some(Self { address, client, words, place: Place::new(), server: Server::Postgres(server) })
    }

    fn mariadb() -> Option<Self> {
        let server = MariaDbServer::start(&[]).map_err(|reason| left_out(&reason)).ok()?;
        let client = TestProgram::find("mariadb").or_else(|| TestProgram::find("mysql"));
        let Some(client) = client else {
            left_out("the client mariadb is not installed");
            return None;
        };
        let socket = server.socket().display().to_string();
        let words = ["--no-defaults", "-N", "-uroot", "-S", &socket, "-e"].map(str::to_owned).to_vec();
        let address = format!("mysql://root@/shop?socket={socket}");
        let asked = Self { address, client, words, place: Place::new(), server: Server::MariaDb(server) };
        asked.ask("create database shop character set utf8mb4");
        Some(asked)
    }

    fn ask(&self, sql: &str) -> String {
        let words = self.words.iter().map(String::as_str).chain([sql]);
        let outcome = self.client.run(words, b"").expect("the client starts");
        String::from_utf8(outcome.stdout_of_success()).expect("text").trim().to_owned()
    }

    fn load(&self, words: &[&str], stdin: &[u8]) -> ProgramOutcome {
        let words = ["db", "load", "-d", &self.address].into_iter().chain(words.iter().copied());
        // Tests run side by side: each has the cores to itself.
        let program = TestProgram::at(binary()).in_directory(self.place.directory());
        let program = program.with_variable("MH_CREW_DIR", "").with_variable("MH_CONFIG", "");
        program.run(words, stdin).expect("the program starts")
    }

    /// Starts a load that takes a while.
    fn begin(&self, words: &[&str]) -> Running {
        let mut command = Command::new(binary());
        command.args(["db", "load", "-d", &self.address]).args(words).current_dir(self.place.directory());
        command.env("MH_CREW_DIR", "").env("MH_CONFIG", "");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        Running { child: command.spawn().expect("the program starts") }
    }
}

fn said(outcome: &ProgramOutcome) -> String {
    String::from_utf8_lossy(&outcome.stderr).into_owned()
}

const TABLE: &str = "create table t (id int primary key, name varchar(60), note varchar(20))";

#[test]
fn rows_are_what_psql_makes_of_them_from_files_pipes_and_compressed() {
    let Some(asked) = Asked::postgres() else { return };
    let text = rows(ROWS);
    asked.place.write("a.csv", &text);
    let sum = "select count(*), sum(hash_record_extended(t, 0)) from t";
    asked.ask(TABLE);
    asked.ask(&format!("\\copy t from '{}' csv header", asked.place.path("a.csv").display()));
    let theirs = asked.ask(sum);
    let same = |words: &[&str], stdin: &[u8]| {
        asked.ask("truncate t");
        let outcome = asked.load(words, stdin);
        assert_eq!(outcome.exit, Exit::Code(0), "{words:?}: {}", said(&outcome));
        assert_eq!(asked.ask(sum), theirs, "{words:?}");
    };
    same(&["t", "a.csv", "--header", "-j3", "--memory", "2M"], b"");
    same(&["a.csv", "t", "--header=match"], b"");
    same(&["t", "-", "--csv", "--header"], text.as_bytes());
    let half = text.find("3000,").expect("it is there");
    asked.place.write("1.csv", &text[..half]).write("2.csv", format!("id,name,note\n{}", &text[half..]));
    same(&["t", "1.csv", "2.csv", "--header", "-j2"], b"");
    asked.ask(&format!("\\copy t to '{}'", asked.place.path("t.tsv").display()));
    same(&["t", "t.tsv", "-j2"], b"");
    if let Some(gzip) = TestProgram::find("gzip") {
        let packed = gzip.run(["-c"], text.as_bytes()).expect("gzip starts").stdout_of_success();
        asked.place.write("b.csv.gz", &packed);
        same(&["t", "b.csv.gz", "--header"], b"");
        same(&["t", "-", "--csv", "--header"], &packed);
    }
    asked.ask("drop table t; create table t (note varchar(20), id int primary key, name varchar(60))");
    let refused = asked.load(&["t", "a.csv", "--header"], b"");
    assert!(said(&refused).contains("the columns in another order"), "{}", said(&refused));
    let named = asked.load(&["t", "a.csv", "--header=names", "--report=json"], b"");
    assert_eq!(named.exit, Exit::Code(0), "{}", said(&named));
    let report = said(&named).lines().next().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    assert_eq!(report.expect("a report")["rows"], ROWS);
    assert_eq!(asked.ask("select count(*) from t where name like 'say%' and note is null"), (ROWS / 5).to_string());
}

#[test]
fn a_wrong_row_keeps_all_out_and_with_reject_itself_alone() {
    let Some(asked) = Asked::postgres() else { return };
    asked.ask(TABLE);
    let text = rows(ROWS).replace("\n2003,", "\nx2003,").replace("\n4002,line", "\n4002,a,b,line");
    asked.place.write("a.csv", &text);
    let line = 1 + text[..text.find("x2003").expect("there")].matches('\n').count();
    let outcome = asked.load(&["t", "a.csv", "--header", "-j2", "--memory", "2M"], b"");
    assert_eq!(outcome.exit, Exit::Code(1));
    let message = said(&outcome);
    assert!(message.contains("'a.csv', line ") && message.contains("no row was kept"), "{message}");
    assert_eq!(asked.ask("select count(*) from t"), "0");
    let outcome = asked.load(&["t", "a.csv", "--header", "-j2", "--reject", "bad.csv"], b"");
    assert_eq!(outcome.exit, Exit::Code(1), "rows are missing");
    assert_eq!(asked.ask("select count(*) from t"), (ROWS - 2).to_string());
    let log = String::from_utf8(asked.place.read("bad.csv.log")).expect("text");
    assert!(log.contains(&format!("a.csv:{line}: byte ")), "{log}");
    let rejected = String::from_utf8(asked.place.read("bad.csv")).expect("text");
    assert_eq!((rejected.lines().count(), log.lines().count()), (2, 2));
    // They are not written over, and neither is an input.
    for words in [["t", "a.csv", "--reject", "bad.csv"], ["t", "a.csv", "--reject", "a.csv"]] {
        assert_eq!(asked.load(&words, b"").exit, Exit::Code(2), "{words:?}");
    }
    assert_eq!(asked.place.read("bad.csv"), rejected.as_bytes());
    assert!(asked.place.read("a.csv") == text.as_bytes());
    assert_eq!(asked.load(&["t", "a.csv", "--encoding", "nix", "--reject", "none"], b"").exit, Exit::Code(2));
    // Mended, they are loaded as any file.
    asked.place.write("good.csv", rejected.replace("x2003", "2003").replace("a,b,line", "line"));
    let outcome = asked.load(&["t", "good.csv"], b"");
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    assert_eq!(asked.ask("select count(*) from t"), ROWS.to_string());
}

/// Each row takes the server a while.
const SLOW: &str = "create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.005); return new; end $$; \
     create trigger slow before insert on t for each row execute function slow()";

const AT_WORK: &str = "select count(*) from pg_stat_activity where application_name = 'mh db load' and state = 'active' and query like 'copy%'";

fn slow_load(asked: &Asked, words: &[&str]) -> Running {
    let running = asked.begin(&[&["t", "a.csv", "--header", "-j2", "--memory", "2M"], words].concat());
    wait_until("two connections load", || asked.ask(AT_WORK) == "2");
    running
}

#[test]
fn an_interrupted_load_leaves_nothing_and_nobody() {
    let Some(asked) = Asked::postgres() else { return };
    asked.ask(&format!("{TABLE}; {SLOW}"));
    asked.place.write("a.csv", rows(20_000));
    for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
        let mut running = slow_load(&asked, &[]);
        let pid = Pid::from_child(&running.child);
        kill_process(pid, signal).expect("it is ours");
        let status = running.child.wait().expect("it is ours");
        let expected = if signal == Signal::KILL { (None, Some(9)) } else { (Some(128 + signal.as_raw()), None) };
        assert_eq!((status.code(), status.signal()), expected);
        wait_until("the server has ended what it did", || asked.ask(AT_WORK) == "0");
        assert_eq!(asked.ask("select count(*) from t"), "0");
    }
}

#[test]
fn a_server_that_dies_is_reported_with_what_is_kept() {
    let Some(asked) = Asked::postgres() else { return };
    asked.ask(&format!("{TABLE}; {SLOW}"));
    asked.place.write("a.csv", rows(20_000));
    let mut running = slow_load(&asked, &[]);
    let Server::Postgres(server) = &asked.server else { return };
    let pid = Pid::from_raw(i32::try_from(server.pid()).expect("a PID")).expect("not 0");
    kill_process(pid, Signal::INT).expect("it is ours");
    let stderr = running.child.stderr.take().expect("a pipe");
    let message = std::io::read_to_string(stderr).expect("text");
    assert_eq!(running.child.wait().expect("it is ours").code(), Some(1), "{message}");
    assert!(message.contains("no row was kept"), "{message}");
}

/// A load that is killed again and again, and begun again, has every row once.
fn killed_and_resumed(asked: &Asked, at_work: &str) {
    let count = 10 * ROWS;
    asked.place.write("a.csv", rows(count));
    let words = ["t", "a.csv", "--header", "-j2", "--memory", "2M", "--resume"];
    for _kill in 0..2 {
        let mut running = asked.begin(&words);
        wait_until("some chunks are in", || {
            let ended = running.child.try_wait().expect("it is ours").is_some();
            ended || asked.ask(at_work).parse::<u64>().is_ok_and(|chunks| chunks >= 1)
        });
        // One that was quicker than the question has loaded all.
        if running.child.try_wait().expect("it is ours").is_some() {
            break;
        }
        kill_process(Pid::from_child(&running.child), Signal::KILL).expect("it is ours");
        running.child.wait().expect("it is ours");
    }
    if asked.ask("select count(*) from shop.t") != count.to_string() {
        let outcome = asked.load(&words, b"");
        assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    }
    let counted = asked.ask("select count(*) from shop.t");
    assert_eq!(counted, count.to_string());
}

#[test]
fn a_killed_load_of_postgresql_goes_on() {
    let Some(asked) = Asked::postgres() else { return };
    asked.ask("create schema shop; alter role postgres set search_path = shop");
    asked.ask(TABLE);
    let chunks = "select case when to_regclass('shop.mh_load_t') is null then 0 else (xpath('/row/c/text()', \
        query_to_xml('select count(*) as c from shop.mh_load_t where source is null', false, true, '')))[1]::text::int end";
    killed_and_resumed(&asked, chunks);
}

#[test]
fn a_killed_load_of_mariadb_goes_on() {
    let Some(asked) = Asked::mariadb() else { return };
    asked.ask(&format!("use shop; {TABLE}"));
    let chunks = "select coalesce(sum(table_rows), 0) from information_schema.tables where table_name = 'mh_load_t'";
    killed_and_resumed(&asked, chunks);
}

/// Rows of a killed load are rolled back for a while: the next one must not send them anew before that is done.
#[test]
fn a_chunk_of_mariadb_uses_the_ledger_from_its_first_row_on() {
    let Some(asked) = Asked::mariadb() else { return };
    asked.ask(&format!("use shop; {TABLE}; create trigger slow before insert on t for each row do sleep(0.005)"));
    asked.place.write("a.csv", rows(20_000));
    let mut running = asked.begin(&["t", "a.csv", "--header", "-j1", "--memory", "2M", "--resume"]);
    let at_work = "select count(*) from information_schema.processlist where info like 'do sleep%'";
    wait_until("rows are loaded", || asked.ask(at_work) == "1");
    assert_eq!(asked.ask("select count(*) from shop.mh_load_t where source is null"), "0");
    let lock = "set lock_wait_timeout = 1; lock tables shop.mh_load_t write";
    let words = asked.words.iter().map(String::as_str).chain([lock]);
    let outcome = asked.client.run(words, b"").expect("the client starts");
    assert!(said(&outcome).contains("Lock wait timeout exceeded"), "{}", said(&outcome));
    kill_process(Pid::from_child(&running.child), Signal::KILL).expect("it is ours");
    running.child.wait().expect("it is ours");
}

#[test]
fn mariadb_gets_null_and_empty_and_refuses_what_it_would_change() {
    let Some(asked) = Asked::mariadb() else { return };
    asked.ask(&format!("use shop; {TABLE}"));
    asked.place.write("a.csv", rows(ROWS));
    let outcome = asked.load(&["t", "a.csv", "--header", "-j2"], b"");
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    let counts = "select count(*), sum(name is null), sum(note = ''), sum(note is null), sum(name like 'say \"%\",\\nand more') from shop.t";
    let fifth = ROWS / 5;
    assert_eq!(asked.ask(counts).replace('\t', " "), format!("{ROWS} {fifth} {fifth} {fifth} {fifth}"));
    // LOAD DATA LOCAL would cut the value off, and fill the row up, with warnings.
    for row in [format!("9000,{},x\n", "n".repeat(100)), "9000,a\n".to_owned(), "5,a,b\n".to_owned()] {
        asked.place.write("b.csv", format!("8999,a,b\n{row}"));
        let outcome = asked.load(&["t", "b.csv", "-j1"], b"");
        assert_eq!(outcome.exit, Exit::Code(1));
        assert!(said(&outcome).contains("no row was kept"), "{}", said(&outcome));
        assert_eq!(asked.ask("select count(*) from shop.t"), ROWS.to_string());
    }
    // A 0 is no request for a number; an empty value is.
    asked.ask("create table shop.numbers (id int auto_increment primary key, name varchar(9))");
    asked.place.write("n.csv", "0,zero\n1,one\n,next\n");
    let outcome = asked.load(&["numbers", "n.csv"], b"");
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    assert_eq!(asked.ask("select group_concat(id order by id) from shop.numbers"), "0,1,2");
    asked.ask("create user nobody@localhost; grant select on shop.* to nobody@localhost");
    let by_nobody = Asked { address: asked.address.replace("root@", "nobody@"), ..asked };
    let outcome = by_nobody.load(&["numbers", "n.csv"], b"");
    assert_eq!(outcome.exit, Exit::Code(2), "{}", said(&outcome));
    assert!(said(&outcome).contains("no right to insert into numbers"), "{}", said(&outcome));
}

#[test]
fn a_row_of_many_megabytes_takes_its_own_size_and_no_more() {
    let Some(asked) = Asked::postgres() else { return };
    let Some(time) = TestProgram::find("time") else { return left_out("time is not installed") };
    asked.ask("create table t (id int, name text)");
    let long = 40 << 20;
    let mut text = format!("1,\"{}\"\n", "x\n".repeat(long / 2));
    for number in 0..400_000 {
        writeln!(text, "{number},a row like all others, but quoted no more").expect("writing to a string");
    }
    asked.place.write("a.csv", text.replace(", but", " but"));
    let path = asked.place.path("a.csv").display().to_string();
    let program = binary().display().to_string();
    let words = ["-f%M", &program, "db", "load", "-q", "-d", &asked.address, "t", &path, "--memory", "8M"];
    let outcome = time.run(words, b"").expect("time starts");
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    let kib: usize = said(&outcome).trim().parse().expect("a number");
    assert!(kib << 10 < 3 * long + (32 << 20), "{kib} KiB");
    assert_eq!(asked.ask("select max(length(name)), count(*) from t"), format!("{long}|400001"));
}

#[test]
fn sqlite_needs_no_server() {
    let place = Place::new();
    let mh = |words: &[&str]| {
        TestProgram::at(binary()).in_directory(place.directory()).run(words, b"").expect("the program starts")
    };
    // The tables of a workload: id, k, c, pad.
    mh(&["load", "sqlite:base.db", "read-write", "prepare", "--table-size", "1"]).stdout_of_success();
    let text: String = (10..5000).map(|number| format!("{number},{number},\"a\nb\",\n")).collect();
    place.write("a.csv", &text);
    let outcome = mh(&["db", "load", "-d", "base.db", "sbtest1", "a.csv", "--report=json"]);
    assert_eq!(outcome.exit, Exit::Code(1), "pad is not null");
    assert!(said(&outcome).contains("'a.csv', line 1, byte 0: NOT NULL constraint failed"), "{}", said(&outcome));
    place.write("a.csv", text.replace("\",\n", "\",p\n"));
    let outcome = mh(&["db", "load", "-d", "base.db", "sbtest1", "a.csv"]);
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    assert!(said(&outcome).contains("sbtest1: 4,990 rows"), "{}", said(&outcome));
}
