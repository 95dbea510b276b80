//! `mh db index` against a real PostgreSQL: what it makes is what pg_restore makes, and what it cannot make has its line.

use crate::mariadb::MariaDbPlace;
use crate::place::{said, wait_until};
use crate::sources::PostgresSource;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use testkit::program::Exit;

const SCHEMA: &str = "create table orders (id int not null, customer int, note text);
    insert into orders select i, i % 100, 'note ' || i from generate_series(1, 20000) i;
    create table customers (id int not null);
    insert into customers select i from generate_series(0, 99) i;";

const SCRIPT: &str = "-- for the shop\nALTER TABLE ONLY orders ADD CONSTRAINT \"Orders key\" PRIMARY KEY (id);\n\
    ALTER TABLE customers ADD PRIMARY KEY (id);\nCREATE INDEX by_note ON orders (lower(note));\n\
    CREATE INDEX by_customer ON orders (customer) WHERE id > 5;\n\
    ALTER TABLE orders ADD FOREIGN KEY (customer) REFERENCES customers (id);\nCOMMENT ON INDEX by_note IS 'by; note';\n";

fn pid_of(running: &crate::place::Running) -> Pid {
    i32::try_from(running.child.id()).ok().and_then(Pid::from_raw).expect("a PID")
}

#[test]
fn a_file_is_carried_out_and_a_second_time_passed_over() {
    let Some(source) = PostgresSource::start(&[]) else { return };
    for database in ["one", "two"] {
        source.sql("postgres", &format!("create database {database}"));
        source.sql(database, SCHEMA);
    }
    source.sql("one", SCRIPT);
    source.place.write("f.sql", SCRIPT);
    let address = source.address("two");
    let outcome = source.db(&["index", "-d", &address, "f.sql", "-j4", "--report=json"], b"");
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    let text = said(&outcome);
    let report = text.lines().find(|line| line.starts_with('{')).expect("a report");
    let report: Value = serde_json::from_str(report).expect("JSON");
    assert_eq!((report["statements"].as_u64(), report["lanes"].as_u64()), (Some(6), Some(4)));
    assert_eq!(report["builds"].as_array().map(Vec::len), Some(6));
    let dumped = |database: &str| {
        let words = ["--section=post-data", database];
        let text = source.program("pg_dump").run(words, b"").expect("it starts").stdout_of_success();
        let text = String::from_utf8(text).expect("text");
        text.lines().filter(|line| !line.starts_with('\\')).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(dumped("two"), dumped("one"));
    let again = source.db(&["index", "-d", &address, "-", "--resume"], SCRIPT.as_bytes());
    assert_eq!(again.exit, Exit::Code(0), "{}", said(&again));
    assert!(
        said(&again).contains("1 statement carried out") && said(&again).contains("5 there before"),
        "{}",
        said(&again)
    );
    assert_eq!(dumped("two"), dumped("one"));
}

#[test]
fn a_failure_has_its_line_and_what_is_kept_is_named() {
    let Some(source) = PostgresSource::start(&[]) else { return };
    source.sql("postgres", SCHEMA);
    let script = SCRIPT.replace("CREATE INDEX by_customer", "CREATE UNIQUE INDEX by_customer");
    source.place.write("f.sql", script);
    let address = source.address("postgres");
    let outcome = source.db(&["index", "-d", &address, "f.sql"], b"");
    assert_eq!(outcome.exit, Exit::Code(1), "{}", said(&outcome));
    for text in
        ["'f.sql', line 5: 23505", "1 of 6 statements not carried out", "kept: primary key \"Orders key\" of orders, "]
    {
        assert!(said(&outcome).contains(text), "no '{text}' in {}", said(&outcome));
    }
    let outcome = source.db(&["index", "-d", &address, "f.sql"], b"");
    assert_eq!(outcome.exit, Exit::Code(1), "{}", said(&outcome));
    assert!(
        said(&outcome).contains("--resume passes over indexes and constraints that are there"),
        "{}",
        said(&outcome)
    );
}

#[test]
fn what_is_no_file_of_indexes_is_refused_before_anything_is_made() {
    let Some(source) = PostgresSource::start(&[]) else { return };
    source.sql("postgres", SCHEMA);
    let address = source.address("postgres");
    let cases: [(&[u8], &str); 4] = [
        (
            b"create index i on orders (id);\n\ndrop table orders;",
            "could not use standard input: line 3: 'drop table orders' is no statement",
        ),
        (
            b"create index i on orders (id);\ncreate index j on orders ('x);",
            "line 2: a quote or comment that begins here does not end",
        ),
        (b"create index i on orders (id); -- \xff", "byte 34 is not UTF-8"),
        (b"\\c other\ncreate index i on orders (id);", "line 1: psql's command '\\c' is not carried out"),
    ];
    for (script, text) in cases {
        let outcome = source.db(&["index", "-d", &address, "-"], script);
        assert!(said(&outcome).contains(text), "{}", said(&outcome));
        assert_eq!(outcome.exit, Exit::Code(2), "{}", said(&outcome));
    }
    let outcome = source.db(&["index", "-d", &address, "--rebuild", "-t", "nothing"], b"");
    assert_eq!((outcome.exit, said(&outcome).contains("could not find table 'nothing'")), (Exit::Code(2), true));
    assert_eq!(source.sql("postgres", "select count(*) from pg_indexes where schemaname = 'public'").trim(), "0");
    let plan = source.db(&["index", "-d", &address, "-", "--explain", "-j4"], SCRIPT.as_bytes());
    assert_eq!(plan.exit, Exit::Code(0), "{}", said(&plan));
    let plan = String::from_utf8(plan.stdout).expect("text");
    assert!(plan.contains("an index first, then the constraint") && plan.contains("behind them"), "{plan}");
    assert_eq!(source.sql("postgres", "select count(*) from pg_indexes where schemaname = 'public'").trim(), "0");
}

/// Each row takes a hundredth of a second.
const SLOW: &str = "create function slow(int) returns int immutable language sql as 'select $1 from pg_sleep(0.01)'";

#[test]
fn ctrl_c_and_kill_leave_nothing_running() {
    let Some(source) = PostgresSource::start(&[]) else { return };
    source.sql("postgres", SCHEMA);
    source.sql("postgres", SLOW);
    source.place.write("f.sql", "create index quick on customers (id);\ncreate index a on orders (slow(id));");
    let address = source.address("postgres");
    let building = || source.sql("postgres", "select count(*) from pg_stat_progress_create_index").trim().to_owned();
    let quick =
        || source.sql("postgres", "select count(*) from pg_indexes where indexname = 'quick'").trim().to_owned();
    let mut running = source.start_db(&["index", "-d", &address, "f.sql", "-j4"]);
    wait_until("builds run", || building() == "1" && quick() == "1");
    kill_process(pid_of(&running), Signal::INT).expect("it runs");
    assert_eq!(running.end().code(), Some(130));
    let printed = String::from_utf8(source.place.read("printed")).expect("text");
    assert!(
        printed.contains("interrupted: 1 of 2 statements") && printed.contains("kept: index quick of customers"),
        "{printed}"
    );
    wait_until("connections end", || source.others() == "0");
    let mut running = source.start_db(&["index", "-d", &address, "f.sql", "-j4", "--resume"]);
    wait_until("builds run", || building() == "1");
    kill_process(pid_of(&running), Signal::KILL).expect("it runs");
    running.end();
    // Without a client the server notices the end when it has something to send.
    source.sql("postgres", "select count(pg_terminate_backend(pid)) from pg_stat_progress_create_index");
    wait_until("connections end", || source.others() == "0");
    assert_eq!(source.sql("postgres", "select count(*) from pg_index where not indisvalid").trim(), "0");
}

#[test]
fn a_server_that_ends_is_reported_and_what_is_left_as_well() {
    let Some(source) = PostgresSource::start(&[]) else { return };
    source.sql("postgres", SCHEMA);
    source.sql("postgres", SLOW);
    source.place.write("f.sql", "create index a on orders (slow(id));\ncreate index b on orders (slow(customer));\ncreate index c on orders (id);");
    let address = source.address("postgres");
    let mut running = source.start_db(&["index", "-d", &address, "f.sql", "-j1"]);
    let kill = "select count(pg_terminate_backend(pid)) from pg_stat_progress_create_index";
    wait_until("a build is ended", || source.sql("postgres", kill).trim() != "0");
    assert_eq!(running.end().code(), Some(1));
    let printed = String::from_utf8(source.place.read("printed")).expect("text");
    assert!(printed.contains("57P01") && printed.contains("3 of 3 statements not carried out"), "{printed}");
}

#[test]
fn indexes_are_rebuilt_and_invalid_ones_named() {
    let Some(source) = PostgresSource::start(&[]) else { return };
    source.sql("postgres", SCHEMA);
    source.sql("postgres", "create index good on orders (id)");
    // It fails, and leaves what is not used.
    let failing = ["-X", "-d", "postgres", "-c", "create unique index concurrently bad on orders (customer)"];
    source.program("psql").run(failing, b"").expect("it starts");
    let node = || source.sql("postgres", "select relfilenode from pg_class where relname = 'good'");
    let before = node();
    let address = source.address("postgres");
    let outcome = source.db(&["index", "-d", &address, "--rebuild", "-t", "customers"], b"");
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    assert!(said(&outcome).contains("1 index is invalid and not used by queries: public.bad"), "{}", said(&outcome));
    let outcome = source.db(&["index", "-d", &address, "--rebuild", "--concurrently"], b"");
    assert_eq!(outcome.exit, Exit::Code(1), "{}", said(&outcome));
    assert!(said(&outcome).contains("could not make index public.bad of orders: 23505"), "{}", said(&outcome));
    assert_ne!(node(), before);
}

#[test]
fn tables_of_one_name_in_two_databases_of_mariadb_are_two() {
    let Some(source) = MariaDbPlace::start(&[]) else { return };
    source.sql("mysql", "create database da; create database db");
    for database in ["shop", "da", "db"] {
        source.sql(database, "create table t (x int, y int, key before_x (x))");
    }
    source.sql("db", "drop index before_x on t");
    source.place.write(
        "f.sql",
        "alter table t add key k0 (x);\nUSE da;\nalter table t add key k1 (x), add key before_x (x);\nalter table `db` . `t` add key k2 (y);\nUSE db;\n\
         alter table t add key k3 (x), add key before_x (x);\nanalyze table da.t;\n",
    );
    let outcome = source.index(&["f.sql", "--resume", "-j2"]);
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    assert!(said(&outcome).contains("1 there before"), "{}", said(&outcome));
    let keys = |database: &str| {
        let sql = "select group_concat(distinct index_name order by 1) from information_schema.statistics where table_schema = ";
        source.sql("mysql", &format!("{sql}'{database}'"))
    };
    assert_eq!((keys("shop").as_str(), keys("da").as_str()), ("before_x,k0", "before_x,k1"));
    assert_eq!(keys("db"), "before_x,k2,k3");
    // One statement that is refused keeps none of its table from being carried out.
    source.sql("shop", "insert into t values (1, 1), (1, 1)");
    source.place.write(
        "f.sql",
        "alter table t add key good (y);\nalter table t add key fine (y), add unique key twice (x);\ncreate index well on t (y);\n",
    );
    let outcome = source.index(&["f.sql"]);
    assert_eq!(outcome.exit, Exit::Code(1), "{}", said(&outcome));
    let text = said(&outcome);
    assert!(
        text.contains("could not make keys fine, twice of t: 'f.sql', line 2: 1062 (23000) Duplicate entry"),
        "{text}"
    );
    assert!(
        text.contains("1 of 3 statements not carried out") && text.contains("kept: key good of t, key well of t"),
        "{text}"
    );
    assert_eq!(keys("shop"), "before_x,good,k0,well");
}
