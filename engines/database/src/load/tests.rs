//! Loads into real servers and SQLite: what goes in comes out, all or nothing, refused rows, what an interrupted load left.

use super::*;
use crate::rows::{CsvFormat, RowFormat};
use crate::target::{Database, TableRequest};
use crew::budget::{Budget, InProcess, Request};
use parking_lot::Mutex;
use std::path::PathBuf;
use std::time::Duration;
use testkit::mariadb_server::MariaDbServer;
use testkit::postgres_server::PostgresServer;
use testkit::program::left_out;
use wire::{Environment, ServerAddress};

/// A database to test with, which is gone with it.
struct TestDatabase {
    database: Database,
    _server: Box<dyn std::any::Any>,
    place: PathBuf,
}

fn server(text: &str) -> Database {
    Database::Server(Box::new(ServerAddress::parse(text, &Environment::default()).expect("an address")))
}

fn postgres() -> Option<TestDatabase> {
    let server_itself = PostgresServer::start(&[]).map_err(|reason| left_out(&reason)).ok()?;
    let place = server_itself.directory().to_owned();
    let text = format!("host={} port={} user=postgres dbname=postgres", place.display(), server_itself.port());
    Some(TestDatabase { database: server(&text), _server: Box::new(server_itself), place })
}

fn mariadb(options: &[&str]) -> Option<TestDatabase> {
    let server_itself = MariaDbServer::start(options).map_err(|reason| left_out(&reason)).ok()?;
    let place = server_itself.directory().to_owned();
    let text = format!("mysql://root@/test?socket={}", server_itself.socket().display());
    let admin = server(&text.replace("/test?", "/?"));
    let made = TestDatabase { database: admin, _server: Box::new(server_itself), place };
    made.execute("create or replace database test character set utf8mb4");
    Some(TestDatabase { database: server(&text), ..made })
}

fn sqlite() -> TestDatabase {
    let place = tempfile::tempdir().expect("a directory");
    let path = place.path().join("base.db");
    rusqlite::Connection::open(&path).expect("it is made").execute_batch("create table made (a)").expect("it is made");
    let directory = place.path().to_owned();
    TestDatabase { database: Database::Sqlite(path), _server: Box::new(place), place: directory }
}

impl TestDatabase {
    fn execute(&self, sql: &str) {
        match &self.database {
            Database::Sqlite(path) => {
                rusqlite::Connection::open(path).expect("it opens").execute_batch(sql).expect("it is done");
            }
            Database::Server(address) => {
                let mut connection = Connection::connect(address, Duration::from_secs(20)).expect("it listens");
                connection.execute(sql).expect("it is done");
            }
        }
    }

    fn target(&self, table: &str) -> TableTarget {
        let format = RowFormat::Csv(CsvFormat::default());
        let request = TableRequest { table: table.to_owned(), columns: None, format, encoding: None };
        TableTarget::look(self.database.clone(), request).expect("it is there")
    }

    fn one(&self, sql: &str) -> String {
        let mut rows = self.target("t").rows_of(sql).expect("an answer");
        rows.swap_remove(0).swap_remove(0).unwrap_or_default()
    }

    fn file(&self, name: &str, content: &str) -> LoadInput {
        let path = self.place.join(name);
        std::fs::write(&path, content).expect("written");
        LoadInput::Path(path)
    }
}

/// Loads files of CSV in small chunks.
struct Trial<'a> {
    inputs: &'a [LoadInput],
    connections: usize,
    commit: Commit,
    resumes: bool,
    reject_limit: Option<u64>,
}

impl<'a> Trial<'a> {
    fn of(inputs: &'a [LoadInput]) -> Self {
        Self { inputs, connections: 3, commit: Commit::AtTheEnd, resumes: false, reject_limit: None }
    }

    fn run(&self, database: &TestDatabase) -> (LoadOutcome, Vec<(u64, Vec<u8>)>) {
        let mut target = database.target("t");
        let looking = target.looking.take();
        let rules = ChunkRules {
            format: target.format().clone(),
            chunk_bytes: 20_000,
            row_bytes_max: 1 << 24,
            has_header: false,
            is_of_database: false,
            refuses_end_marker: target.facts.ends_at_marker,
        };
        let budget = InProcess::new(self.connections);
        let what = String::new();
        let request = Request { priority: Default::default(), weight: Default::default(), useful_width: 4, what };
        let lease = budget.lease(request);
        let rejected = Mutex::new(Vec::new());
        let take = |row: &RejectedRow<'_>| {
            rejected.lock().push((row.place.line, row.row.to_vec()));
            Ok(())
        };
        let rejects = Rejects { take: &take, limit: self.reject_limit.unwrap_or(0) };
        let sources: Vec<_> = self.inputs.iter().map(source).collect();
        let load = TableLoad {
            target: &target,
            inputs: self.inputs,
            rules: &rules,
            connections: self.connections,
            commit: self.commit,
            rejects: self.reject_limit.map(|_| &rejects),
            resumes: self.resumes.then_some(&sources[..]),
            truncates: false,
            header: HeaderUse::Checked,
            held_bytes: 200_000,
            lease: lease.as_ref(),
            decoders: 1,
        };
        let control = LoadControl::new(self.connections);
        let outcome = run(&load, &control, looking);
        let books = lease.books();
        assert_eq!(books.taken, books.returned, "hands are given back");
        let mut rejected = rejected.into_inner();
        rejected.sort();
        (outcome, rejected)
    }
}

fn source(input: &LoadInput) -> SourceFacts {
    let bytes = input.facts().expect("it is there").bytes;
    SourceFacts { name: input.name(), version: format!("{bytes:?}") }
}

const ROWS: usize = 5000;

/// Every seventh row has quotes, a line end and a delimiter within quotes; some values are NULL, some empty.
fn rows() -> String {
    let row = |number: usize| match number % 7 {
        0 => format!("{number},\"say \"\"{number}\"\",\nand more\\\",\"\"\n"),
        1 => format!("{number},,x\n"),
        _ => format!("{number},line {number} of many,\u{e4}\u{1f600}\n"),
    };
    (0..ROWS).map(row).collect()
}

const TABLE: &str = "create table t (a int primary key, b varchar(60), c varchar(20))";

/// The rows are in the database as they were meant.
fn is_whole(database: &TestDatabase) {
    assert_eq!(database.one("select count(*) from t"), ROWS.to_string());
    assert_eq!(database.one("select sum(a) from t"), (ROWS * (ROWS - 1) / 2).to_string());
    let nulls = (0..ROWS).filter(|number| number % 7 == 1).count();
    assert_eq!(database.one("select count(*) from t where b is null"), nulls.to_string());
    assert_eq!(database.one("select b from t where a = 7"), "say \"7\",\nand more\\");
    assert_eq!(database.one("select c from t where a = 8"), "x");
    assert_eq!(
        database.one("select count(*) from t where c = ''"),
        (0..ROWS).filter(|number| number % 7 == 0).count().to_string()
    );
    assert_eq!(database.one("select c from t where a = 9"), "\u{e4}\u{1f600}");
}

fn goes_in_and_comes_out(database: &TestDatabase, connections: usize, commit: Commit) {
    database.execute(TABLE);
    let text = rows();
    let half = text.find("2499,").expect("it is there");
    let inputs = [database.file("a.csv", &text[..half]), database.file("b.csv", &text[half..])];
    let (outcome, _) = Trial { connections, commit, ..Trial::of(&inputs) }.run(database);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    assert_eq!(outcome.rows, ROWS as u64);
    let ends: Vec<_> = outcome.committed.iter().map(|range| (range.input, range.begin, range.end)).collect();
    assert_eq!(ends, [(0, 0, half as u64), (1, 0, (text.len() - half) as u64)]);
    is_whole(database);
}

#[test]
fn rows_go_into_postgresql() {
    let Some(database) = postgres() else { return };
    goes_in_and_comes_out(&database, 3, Commit::AtTheEnd);
}

#[test]
fn rows_go_into_mariadb_by_either_way() {
    for option in ["--local-infile=1", "--local-infile=0"] {
        let Some(database) = mariadb(&[option]) else { return };
        goes_in_and_comes_out(&database, 3, Commit::EachChunk);
    }
}

#[test]
fn rows_go_into_sqlite() {
    goes_in_and_comes_out(&sqlite(), 1, Commit::AtTheEnd);
}

/// The wrong value stands in the middle; its line is that of the file.
fn one_wrong_row(database: &TestDatabase, commit: Commit, connections: usize, kept: bool) {
    database.execute(TABLE);
    let text = rows().replace("\n3000,", "\nwrong,");
    let inputs = [database.file("a.csv", &text)];
    let (outcome, _) = Trial { commit, connections, ..Trial::of(&inputs) }.run(database);
    let line = 1 + text[..text.find("wrong").expect("it is there")].matches('\n').count() as u64;
    match outcome.error {
        Some(LoadFailure::Row { place, .. }) => assert_eq!(place.line, line),
        other => panic!("{other:?}"),
    }
    assert_eq!(database.one("select count(*) from t"), outcome.rows.to_string());
    assert_eq!(outcome.rows > 0, kept);
}

#[test]
fn a_wrong_row_keeps_all_out_of_postgresql_and_is_named() {
    let Some(database) = postgres() else { return };
    one_wrong_row(&database, Commit::AtTheEnd, 3, false);
}

#[test]
fn a_wrong_row_ends_a_load_of_mariadb_and_what_is_kept_is_known() {
    let Some(database) = mariadb(&[]) else { return };
    one_wrong_row(&database, Commit::EachChunk, 2, true);
}

/// Wrong values, too few of them, a key that is there already: each refused with its line, all others taken.
fn refused_rows(database: &TestDatabase, connections: usize) {
    database.execute(TABLE);
    let text = rows().replace("\n3000,", "\n5,").replace("\n3001,", "\nwrong,").replace("\n4001,", "\n") + "5000,a";
    let inputs = [database.file("a.csv", &text)];
    let trial = Trial { connections, commit: Commit::EachChunk, reject_limit: Some(4), ..Trial::of(&inputs) };
    let (outcome, rejected) = trial.run(database);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for (line, row) in &rejected {
        assert!(row.starts_with(lines[*line as usize - 1].as_bytes()), "{line}");
    }
    assert_eq!((rejected.len(), outcome.rejected, outcome.rows), (4, 4, ROWS as u64 - 3));
    assert_eq!(database.one("select count(*) from t"), (ROWS - 3).to_string());
    database.execute("delete from t");
    let (outcome, rejected) = Trial { reject_limit: Some(3), ..trial }.run(database);
    assert!(matches!(outcome.error, Some(LoadFailure::Rejects { limit: 3 })), "{:?}", outcome.error);
    assert!(rejected.len() <= 3);
    assert_eq!(database.one("select count(*) from t"), outcome.rows.to_string(), "what is kept is what is reported");
}

#[test]
fn refused_rows_of_postgresql_are_put_aside() {
    let Some(database) = postgres() else { return };
    refused_rows(&database, 3);
}

#[test]
fn refused_rows_of_mariadb_are_put_aside() {
    for option in ["--local-infile=1", "--local-infile=0"] {
        let Some(database) = mariadb(&[option]) else { return };
        refused_rows(&database, 2);
    }
}

/// What an interrupted load has done is passed over by the next, even with another number of connections.
fn goes_on(database: &TestDatabase, connections: usize) {
    database.execute(TABLE);
    let text = rows();
    let inputs = [database.file("a.csv", &text)];
    // A row that is in already ends the first run.
    database.execute("insert into t values (3000, 'b', 'c')");
    let trial = Trial { connections, commit: Commit::EachChunk, resumes: true, ..Trial::of(&inputs) };
    let (first, _) = trial.run(database);
    assert!(first.error.is_some() && first.rows > 0);
    database.execute("delete from t where a = 3000 and b = 'b'");
    let (second, _) = Trial { connections: 1, ..trial }.run(database);
    assert!(second.error.is_none(), "{:?}", second.error);
    assert_eq!(second.done_before, first.committed);
    assert_eq!(first.rows + second.rows, ROWS as u64);
    is_whole(database);
    let left = database.target("t").rows_of("select 1 from mh_load_t");
    assert!(left.is_err(), "the ledger is gone");
}

#[test]
fn an_interrupted_load_goes_on_in_postgresql() {
    let Some(database) = postgres() else { return };
    goes_on(&database, 3);
}

#[test]
fn an_interrupted_load_goes_on_in_mariadb() {
    let Some(database) = mariadb(&[]) else { return };
    goes_on(&database, 2);
}

#[test]
fn an_interrupted_load_goes_on_in_sqlite() {
    goes_on(&sqlite(), 1);
}

#[test]
fn a_ledger_of_changed_files_is_refused() {
    let database = sqlite();
    database.execute(TABLE);
    let trial = |text: &str| {
        let inputs = [database.file("a.csv", text)];
        let resumes = Trial { connections: 1, commit: Commit::EachChunk, resumes: true, ..Trial::of(&inputs) };
        resumes.run(&database).0
    };
    assert!(trial("1,a,b\n1,a,b\n").error.is_some());
    let Some(LoadFailure::Database(message)) = trial("1,a,b\n").error else { panic!("the file is another one") };
    assert!(message.contains("mh_load_t"), "{message}");
}

/// One key twice in a file: the second waits for the first, whose connection waits for the end of the load.
#[test]
fn two_connections_that_wait_for_each_other_are_found() {
    let Some(database) = postgres() else { return };
    database.execute(TABLE);
    let text = rows().replace("\n3000,", "\n5,");
    let inputs = [database.file("a.csv", &text)];
    let (outcome, _) = Trial { connections: 2, ..Trial::of(&inputs) }.run(&database);
    let is_found =
        matches!(outcome.error, Some(LoadFailure::OwnLock(_) | LoadFailure::Row { .. } | LoadFailure::Rows { .. }));
    assert!(is_found, "{:?}", outcome.error);
    assert_eq!(database.one("select count(*) from t"), "0");
}

/// The second would load every row again.
#[test]
fn two_loads_with_a_ledger_do_not_run_at_once() {
    let databases = [postgres(), mariadb(&[])];
    for database in databases.into_iter().flatten() {
        database.execute(TABLE);
        let sources = [SourceFacts { name: "a".to_owned(), version: "1".to_owned() }];
        let target = database.target("t");
        let first = ChunkLedger::open(&target, &sources).expect("nobody else");
        let second = ChunkLedger::open(&target, &sources).err().expect("the first is there");
        assert!(second.to_string().contains("another load of this table is under way"), "{second}");
        drop(first);
        ChunkLedger::open(&target, &sources).expect("nobody else");
    }
}

/// Gives bytes of a file that gzip has made.
#[test]
fn a_compressed_file_is_loaded_with_the_hands_of_the_load() {
    let Some(database) = postgres() else { return };
    let Some(gzip) = testkit::program::TestProgram::find("gzip") else { return left_out("gzip is not installed") };
    database.execute(TABLE);
    let packed = gzip.run(["-c"], rows().as_bytes()).expect("gzip starts").stdout_of_success();
    let path = database.place.join("a.gz");
    std::fs::write(&path, packed).expect("written");
    let inputs = [LoadInput::Path(path)];
    let (outcome, _) = Trial::of(&inputs).run(&database);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    is_whole(&database);
}

#[test]
fn a_row_of_many_megabytes_is_loaded_within_a_small_bound() {
    let Some(database) = postgres() else { return };
    database.execute("create table t (a int, b text)");
    let text = format!("1,a\n2,\"{}\"\n3,c\n", "\n".repeat(9 << 20));
    let inputs = [database.file("a.csv", &text)];
    let (outcome, _) = Trial::of(&inputs).run(&database);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    assert_eq!(database.one("select max(length(b)) from t"), (9 << 20).to_string());
}
