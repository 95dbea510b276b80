//! `mh db dump` against a real PostgreSQL: pg_restore reads what it wrote, and nothing is left of what it could not write.

use crate::place::{Place, Running, binary, is_long, said, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use testkit::postgres_server::PostgresServer;
use testkit::program::{Exit, ProgramOutcome, TestProgram, left_out};

const SCHEMA: &str = r#"
create schema "Odd.Schema";
create table parent (id int generated always as identity primary key, name text);
insert into parent (name) select 'name ' || i from generate_series(1, 500) i;
create table events (id bigint primary key, who int references parent (id), note text, twice bigint generated always as (id * 2) stored);
insert into events (id, who, note) select i, i % 500 + 1, case i % 3 when 0 then null when 1 then E'tab\t\\.' else repeat('x', i % 90) end
    from generate_series(1, 20000) i;
create table "Odd.Schema"."it's ""odd"" (€)" ("a, b" int, "order" text);
insert into "Odd.Schema"."it's ""odd"" (€)" values (1, E'\\.'), (2, null), (3, E'a\nb');
create table secret (word text);
insert into secret values ('sesame');
select lo_from_bytea(0, decode(repeat('deadbeef', 1000), 'hex')) from generate_series(1, 20);
"#;

const FINGERPRINT: &str = r#"
select 'parent', count(*), sum(hashtext(t::text)::bigint) from parent t
union all select 'events', count(*), sum(hashtext(t::text)::bigint) from events t
union all select 'odd', count(*), sum(hashtext(t::text)::bigint) from "Odd.Schema"."it's ""odd"" (€)" t
union all select 'objects', count(distinct loid), sum(hashtext(data::text)::bigint) from pg_largeobject
union all select 'next', nextval(pg_get_serial_sequence('parent', 'id')), 0
order by 1"#;

/// A server and a directory to dump into.
struct Source {
    server: PostgresServer,
    place: Place,
}

impl Source {
    fn start(settings: &[(&str, &str)]) -> Option<Self> {
        let server = PostgresServer::start(settings).map_err(|reason| left_out(&reason)).ok()?;
        Some(Self { server, place: Place::new() })
    }

    fn program(&self, name: &str) -> TestProgram {
        let program = TestProgram::find(name).unwrap_or_else(|| panic!("{name} comes with the server"));
        let program = program.in_directory(self.place.directory()).with_variable("PGUSER", "postgres");
        program.with_variable("PGHOST", self.server.directory()).with_variable("PGPORT", self.server.port().to_string())
    }

    fn sql(&self, database: &str, sql: &str) -> String {
        let words = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", database, "-c", sql];
        String::from_utf8(self.program("psql").run(words, b"").expect("it starts").stdout_of_success()).expect("text")
    }

    fn address(&self, database: &str) -> String {
        format!(
            "host={} port={} user=postgres dbname={database}",
            self.server.directory().display(),
            self.server.port()
        )
    }

    fn dump(&self, words: &[&str]) -> ProgramOutcome {
        self.dump_of(&self.address("postgres"), words)
    }

    fn dump_of(&self, address: &str, words: &[&str]) -> ProgramOutcome {
        self.dump_to("d", address, words)
    }

    fn dump_to(&self, file: &str, address: &str, words: &[&str]) -> ProgramOutcome {
        let program = TestProgram::at(binary()).in_directory(self.place.directory());
        let program = program.with_variable("TMPDIR", self.place.directory()).with_variable("XDG_RUNTIME_DIR", "");
        let words = ["db", "dump", "-d", address, "-f", file].into_iter().chain(words.iter().copied());
        program.run(words, b"").expect("the program starts")
    }

    /// What the archive lists of a kind.
    fn listed(&self, kind: &str) -> usize {
        let list = self.program("pg_restore").run(["--list", "d"], b"").expect("it starts").stdout_of_success();
        String::from_utf8_lossy(&list).lines().filter(|line| line.contains(kind)).count()
    }

    fn restore(&self, database: &str) {
        self.sql("postgres", &format!("create database {database}"));
        let words = ["--exit-on-error", "-j2", "-d", database, "d"];
        self.program("pg_restore").run(words, b"").expect("it starts").stdout_of_success();
    }

    /// A dump on its own, with rows that are still to come.
    fn start_dump(&self, words: &[&str]) -> Running {
        let mut command = Command::new(binary());
        command.args(["db", "dump", "-q", "-f", "d", "-Z", "gzip:9", "-d", &self.address("postgres")]).args(words);
        command.current_dir(self.place.directory()).env("TMPDIR", self.place.directory()).env_remove("XDG_RUNTIME_DIR");
        Running { child: command.stderr(Stdio::null()).spawn().expect("it starts") }
    }

    /// As many rows as take some seconds.
    fn fill(&self) {
        self.sql(
            "postgres",
            "create table big as select i, repeat(md5(i::text), 40) s from generate_series(1, 200000) i",
        );
    }

    fn readers(&self) -> String {
        let sql = "select count(*) from pg_stat_activity where query like 'COPY (SELECT%' and state = 'active'";
        self.sql("postgres", sql).trim().to_owned()
    }
}

fn tables(place: &Place) -> Vec<(String, u64)> {
    let index: Value = serde_json::from_slice(&place.read("d/mh.index")).expect("JSON");
    let tables = index["tables"].as_array().expect("a list").iter();
    tables
        .map(|table| (table["table"].as_str().expect("a name").to_owned(), table["rows"].as_u64().expect("a number")))
        .collect()
}

#[test]
fn pg_restore_makes_the_same_database() {
    let Some(source) = Source::start(&[]) else { return };
    source.sql("postgres", SCHEMA);
    let outcome = source.dump(&["--report=json", "--verify"]);
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    let text = said(&outcome);
    let report = text.lines().find(|line| line.starts_with('{')).expect("a report");
    let report: Value = serde_json::from_str(report).expect("JSON");
    assert_eq!((report["tables"].as_u64(), report["rows"].as_u64()), (Some(4), Some(20_504)));
    source.restore("copy");
    let expected = source.sql("postgres", FINGERPRINT);
    assert_eq!(source.sql("copy", FINGERPRINT), expected);
    assert_eq!(source.place.names(), ["d"], "the directory of the socket has gone");
}

/// The bytes of pg_dump's own script, in which each newer version has a key of its own.
#[test]
fn a_script_on_standard_output_is_that_of_pg_dump() {
    let Some(source) = Source::start(&[]) else { return };
    source.sql("postgres", SCHEMA);
    source
        .sql("postgres", "create table long as select i, repeat(md5(i::text), 20) s from generate_series(1, 60000) i");
    let without_keys = |script: Vec<u8>| {
        let text = String::from_utf8(script).expect("text");
        let keys = |line: &&str| !line.starts_with("\\restrict ") && !line.starts_with("\\unrestrict ");
        text.split_inclusive('\n').filter(keys).collect::<String>()
    };
    let theirs = source.program("pg_dump").run(["postgres"], b"").expect("it starts").stdout_of_success();
    let theirs = without_keys(theirs);
    for connections in ["1", "4"] {
        let outcome = source.dump_to("-", &source.address("postgres"), &["-q", "-Fp", "-j", connections]);
        assert_eq!((outcome.exit, said(&outcome)), (Exit::Code(0), String::new()));
        assert!(without_keys(outcome.stdout) == theirs, "{connections} connections write another script");
    }
    let schema = source.dump_to("-", &source.address("postgres"), &["-s", "-t", "parent", "--clean", "--if-exists"]);
    assert!(said(&schema).contains("standard output: 0 tables"), "{}", said(&schema));
    assert!(String::from_utf8_lossy(&schema.stdout).contains("DROP TABLE IF EXISTS public.parent"));
    assert_eq!(source.place.names(), Vec::<String>::new());
}

#[test]
fn options_select_what_pg_dump_selects() {
    let Some(source) = Source::start(&[]) else { return };
    source.sql("postgres", SCHEMA);
    let again = |words: &[&str]| {
        let outcome = source.dump(words);
        assert_eq!(outcome.exit, Exit::Code(0), "{words:?}: {}", said(&outcome));
        let found = (source.listed(" TABLE "), source.listed(" TABLE DATA "), tables(&source.place));
        std::fs::remove_dir_all(source.place.path("d")).expect("ours");
        found
    };
    let name = |name: &str, rows| (name.to_owned(), rows);
    assert_eq!(again(&["-t", "public.e*"]), (2, 1, vec![name("public.events", 20_000)]));
    assert_eq!(again(&["-s"]), (4, 0, vec![]));
    let (listed, with_rows, rows) = again(&["--exclude-table-data", "secret", "-T", "events", "-j1", "-Z", "none"]);
    assert_eq!((listed, with_rows), (5, 2));
    assert_eq!(rows, [name("\"Odd.Schema\".\"it's \"\"odd\"\" (€)\"", 3), name("public.parent", 500)]);
}

#[test]
fn what_cannot_be_dumped_is_an_error_and_leaves_nothing() {
    let Some(source) = Source::start(&[]) else { return };
    source.sql("postgres", "create table t (a int); create role limited login; create role outsider login");
    source.sql("postgres", "alter table t enable row level security; grant select on t to limited");
    let limited = source.address("postgres").replace("user=postgres", "user=limited");
    let outsider = source.address("postgres").replace("user=postgres", "user=outsider");
    let nowhere = source.address("nothing");
    let usual = source.address("postgres");
    let cases: [(&str, &[&str], i32, &str); 5] = [
        (&usual, &["-t", "nothing"], 1, "no matching tables were found"),
        (&limited, &[], 2, "row-level security"),
        (&outsider, &[], 2, "permission denied"),
        (&nowhere, &[], 2, "database \"nothing\" does not exist"),
        (&usual, &["-Z", "rar"], 2, "'rar' is none of zstd, gzip, lz4, none"),
    ];
    for (address, words, code, text) in cases {
        let outcome = source.dump_of(address, words);
        assert!(said(&outcome).contains(text), "{words:?}: {}", said(&outcome));
        assert_eq!(outcome.exit, Exit::Code(code), "{words:?}: {}", said(&outcome));
        assert_eq!(source.place.names(), Vec::<String>::new(), "{words:?}");
    }
}

#[test]
fn a_wrong_password_is_not_repeated() {
    let Some(source) = Source::start(&[]) else { return };
    source.sql("postgres", "alter role postgres password 'right'");
    source.server.set_rules("local all all scram-sha-256\nhost all all all scram-sha-256\n");
    let address = format!("postgres://postgres:wr0ng-w0rd@127.0.0.1:{}/postgres", source.server.port());
    let outcome = source.dump_of(&address, &[]);
    assert_eq!(outcome.exit, Exit::Code(2), "{}", said(&outcome));
    assert!(said(&outcome).contains("password authentication failed"), "{}", said(&outcome));
    assert!(!said(&outcome).contains("wr0ng-w0rd"), "{}", said(&outcome));
    let good = address.replace("wr0ng-w0rd", "right");
    let outcome = source.dump_of(&good, &["-q"]);
    assert_eq!((outcome.exit, said(&outcome)), (Exit::Code(0), String::new()));
}

#[test]
fn what_is_there_is_kept() {
    let Some(source) = Source::start(&[]) else { return };
    for name in ["d", "d.partial", "d.partial.rows"] {
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
    let status = running.end();
    assert_eq!(status.code(), Some(130));
    assert_eq!(source.place.names(), Vec::<String>::new());
    let others =
        "select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()";
    wait_until("connections end", || source.sql("postgres", others).trim() == "0");
}

#[test]
fn a_connection_that_is_lost_fails_the_dump() {
    let Some(source) = Source::start(&[]) else { return };
    source.fill();
    let mut running = source.start_dump(&[]);
    let kill = "select count(pg_terminate_backend(pid)) from (select pid from pg_stat_activity \
        where query like 'COPY (SELECT%' and state = 'active' limit 1) one";
    wait_until("a reader is ended", || source.sql("postgres", kill).trim() != "0");
    let status = running.end();
    assert_eq!(status.code(), Some(1));
    assert_eq!(source.place.names(), Vec::<String>::new());
}

/// DDL waits for the dump, and a reader that comes after it waits behind it: no server sees that circle.
#[test]
fn a_table_that_another_session_wants_for_itself_does_not_hang_the_dump() {
    let Some(source) = Source::start(&[]) else { return };
    source.fill();
    source.sql("postgres", "create table small (a int)");
    let mut running = source.start_dump(&["-j1", "--lock-wait-timeout", "1s"]);
    wait_until("rows of the large table are read", || source.readers() != "0");
    // It gets its turn when the dump has given up.
    source.sql("postgres", "alter table small rename to other");
    let code = running.end().code();
    if code == Some(0) {
        return left_out("a table that another session wants: the dump was done before that session came");
    }
    assert_eq!(code, Some(1));
    assert_eq!(source.place.names(), Vec::<String>::new());
}

#[test]
fn a_plan_names_tables_that_are_divided_and_makes_nothing() {
    let Some(source) = Source::start(&[]) else { return };
    source.fill();
    let outcome = source.dump(&["--explain"]);
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    let plan = String::from_utf8(outcome.stdout).expect("text");
    for text in ["public.big in ", " parts", "pg_dump ", "PostgreSQL "] {
        assert!(plan.contains(text), "no '{text}' in {plan}");
    }
    assert_eq!(source.place.names(), Vec::<String>::new());
}

#[test]
fn a_row_of_many_megabytes_is_one_frame() {
    let Some(source) = Source::start(&[]) else { return };
    source.sql("postgres", "create table t (a bytea); alter table t alter a set storage external");
    // In text twice as long: 20 MB, in the long tier 200 MB.
    let pairs = if is_long() { 50_000_000 } else { 5_000_000 };
    let insert = format!("insert into t select decode(repeat('00ff', {pairs}), 'hex'); insert into t values ('x')");
    source.sql("postgres", &insert);
    let outcome = source.dump(&["-Z", "gzip:1"]);
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    source.restore("copy");
    let question = "select count(*), sum(length(a)), max(md5(a)) from t";
    assert_eq!(source.sql("copy", question), source.sql("postgres", question));
}

#[test]
fn too_few_connections_are_an_error_before_anything_is_made() {
    let Some(source) = Source::start(&[("max_connections", "7"), ("superuser_reserved_connections", "3")]) else {
        return;
    };
    let outcome = source.dump(&["-j", "8"]);
    assert_eq!(outcome.exit, Exit::Code(2), "{}", said(&outcome));
    assert!(said(&outcome).contains("connections left, and a dump needs 5"), "{}", said(&outcome));
}

#[test]
fn a_full_disk_ends_the_dump_and_keeps_nothing() {
    let Some(source) = Source::start(&[]) else { return };
    source.fill();
    let script = "mkdir disk && mount -t tmpfs -o size=1m none disk || exit 77\n\
        \"$0\" db dump -d \"$1\" -f disk/d -Z none; code=$?; ls -A disk; exit $code";
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script]).arg(binary()).arg(source.address("postgres"));
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
