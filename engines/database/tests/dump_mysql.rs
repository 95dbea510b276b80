//! Dumps of a real MariaDB, restored by their own script with the client mariadb alone: mariadb-dump writes the same text of both databases.

use crew::budget::{Budget, InProcess, Lease, Priority, Request, Weight};
use database::dump::DumpCodec;
use database::dump_mysql::{
    DumpLock, MySqlArchive, MySqlDumpProgram, MySqlDumpRequest, MySqlDumpRun, MySqlDumped, MySqlSelection,
};
use database::restore::{RestoreError, RestoreInto, Restored};
use database::restore_mysql::{MySqlRestoreRequest, MySqlRestoreRun, check_files};
use database::verify::{
    ArchiveDigests, MySqlReadOptions, MySqlReading, ServerReading, TableVerdict, WantedTables, compare,
};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use testkit::mariadb_server::MariaDbServer;
use testkit::program::left_out;
use wire::{Connection, Environment, OptionDialect, ServerAddress};

/// Types, character sets, keys and objects whose values a dump could lose.
const SCHEMA: &str = r#"
set names utf8mb4; set sql_mode = 'NO_AUTO_VALUE_ON_ZERO';
create table parent (id int not null auto_increment primary key, name varchar(60), key (name)) default charset utf8mb4;
insert into parent select seq, concat('name ', seq) from seq_1_to_500;
insert into parent values (0, 'zero');
create table events (id bigint primary key, who int, note text, twice bigint as (id * 2) stored, half double as (id / 2) virtual,
    at timestamp null, key (who), constraint who foreign key (who) references parent (id)) default charset utf8mb4;
insert into events (id, who, note, at) select if(seq % 2, seq, 1000000000 + seq), seq % 500 + 1, case seq % 5 when 0 then null when 1 then ''
    when 2 then 'tab\tnew\nline\\N \0 \r\n' when 3 then 'emoji 😀' else repeat('x', seq % 300) end, '2026-03-29 01:30:00' from seq_1_to_20000;
create table kinds (id int primary key, a tinyint, b bit(13), c float, d double, e decimal(40,20), f date, g datetime(6), h time(3), i year,
    j enum('a','b,''c','1'), k set('x','y z'), l binary(4), m varbinary(20), n longblob, o json, p point, q geometry, r char(5), s bigint unsigned,
    t inet6, u uuid, v bit(64), w float(7,3), x varchar(20) invisible default 'unseen') default charset utf8mb4;
insert into kinds (id, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x) values
    (1, -128, b'1000000000001', 0.1, 0.1, 1e-20, '0000-00-00', '0000-00-00', '-838:59:59.999', 2026, 'b,''c', 'x,y z', x'00ff0a00', x'5c', x'00010203090a5c',
     '{"a": [1, "ä\\n"]}', point(1, 2), st_geomfromtext('LINESTRING(0 0,1 1)', 4326), 'a ', 18446744073709551615, '::1', '123e4567-e89b-12d3-a456-426655440000',
     x'ffffffffffffffff', 1234.567, 'seen'),
    (2, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null),
    (3, 0, 0, -0.0, 1.7976931348623157e308, -12345678901234567890.5, '2024-02-30', '0001-01-01', '00:00:00', 0, '', '', '', '', '', '{}', null, null, '', 0, '::',
     '00000000-0000-0000-0000-000000000000', 0, 0, '');
set sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES'; update kinds set f = '2024-02-30', c = 16777217 where id = 3;
create table latin (a varchar(20), b text character set gbk, c varchar(20) character set utf16) default charset latin1;
insert into latin values ('äÿ€', '汉字', '😀'), (x'80819f', x'81408e5c', null);
create table `odd ``name``.. /%$'"; -x` (`column, "(a` int primary key, `order` varchar(10) character set utf8mb4) default charset utf8mb4;
insert into `odd ``name``.. /%$'"; -x` values (1, '\\.'), (2, null);
create table `größe 漢字` (a int primary key); insert into `größe 漢字` values (1);
create table no_key (a int, b varchar(10)); insert into no_key select seq % 7, 'x' from seq_1_to_1000;
create table only_generated (a int as (1 + 1) stored); insert into only_generated values (), (), ();
create table empty (a int primary key);
create table old (a int primary key, b varchar(10)) engine = MyISAM; insert into old values (0, 'zero'), (2, 'two');
create table both_old (a int primary key) engine = MERGE union = (old_too); create table old_too (a int primary key) engine = MyISAM;
create table texts (name varchar(100) primary key, pad char(200)) default charset utf8mb4 collate utf8mb4_unicode_ci;
insert into texts select concat('Name ', char(65 + seq % 26), md5(seq)), 'pad' from seq_1_to_8000;
create table hashes (h binary(16) primary key, pad char(200)); insert into hashes select unhex(md5(seq)), 'pad' from seq_1_to_8000;
create table tenants (tenant int, at datetime(6), pad char(200), primary key (tenant, at));
insert into tenants select if(seq < 6000, 7, seq % 100), '2026-01-01' + interval seq * 1000 microsecond, 'pad' from seq_1_to_8000;
create table parted (id int, v varchar(200)) partition by range (id) (partition p0 values less than (4000), partition `p 1` values less than maxvalue);
insert into parted select seq, repeat('v', 150) from seq_1_to_8000;
create table words (n int, id bigint not null auto_increment, parent_id int not null, word varchar(100) not null, place point not null,
    primary key (n, id), unique key once (id, word), key counting (id), key two (word, n), key (parent_id), fulltext key (word), spatial key (place),
    constraint up foreign key (parent_id) references parent (id) on delete cascade, constraint few check (n < 100)) default charset utf8mb4;
insert into words (n, parent_id, word, place) select seq % 10, seq % 500 + 1, concat('word ', seq), point(seq, 1) from seq_1_to_3000;
alter table parent add column boss int, add constraint boss foreign key (boss) references parent (id), add column first_word bigint;
create sequence counter start with 5; select nextval(counter);
create function twice(x int) returns int deterministic return x * 2;
create view seen as select id, twice(id) as two from parent;
create view `odd view` as select * from seen where two > 3;
create procedure report() select 'CREATE DEFINER=`root`@`localhost` ';
create trigger upper_note before insert on old for each row set new.b = upper(new.b);
create event nightly on schedule every 1 day do delete from empty;
"#;

struct Source {
    server: MariaDbServer,
    directory: tempfile::TempDir,
}

impl Source {
    /// A server, or a line about why there is none.
    fn start(options: &[&str]) -> Option<Self> {
        if !Path::new("/usr/bin/mariadb-dump").exists() {
            left_out("mariadb-dump is not installed");
            return None;
        }
        let options: Vec<&str> = ["--local-infile=1"].iter().chain(options).copied().collect();
        let server = MariaDbServer::start(&options).map_err(|reason| left_out(&reason)).ok()?;
        let source = Self { server, directory: tempfile::tempdir().expect("a directory") };
        source.connection("mysql").execute("create database shop character set utf8mb4").expect("it is made");
        Some(source)
    }

    fn address(&self, user: &str, database: &str) -> ServerAddress {
        let text = format!("mysql://{user}@/{database}?socket={}", self.server.socket().display());
        ServerAddress::parse(&text, &Environment::default()).expect("a good address")
    }

    fn connection(&self, database: &str) -> Connection {
        Connection::connect(&self.address("root", database), Duration::from_secs(20)).expect("it listens")
    }

    fn request(&self, name: &str, codec: &str) -> MySqlDumpRequest {
        let private = self.directory.path().join(format!("{name}.private"));
        std::fs::create_dir(&private).expect("ours");
        MySqlDumpRequest {
            address: self.address("root", "shop"),
            selection: MySqlSelection::everything(),
            program: MySqlDumpProgram { path: "/usr/bin/mariadb-dump".into(), dialect: OptionDialect::MariaDb },
            target: self.directory.path().join(name),
            private,
            connections: 3,
            codec: DumpCodec::parse(codec).expect("it is known"),
            part_bytes: 200 << 10,
            lock: DumpLock::Auto,
            lock_wait: Duration::from_secs(20),
            verifies: true,
        }
    }

    fn client(&self, program: impl AsRef<std::ffi::OsStr>, words: &[&str]) -> Vec<u8> {
        let socket = format!("--socket={}", self.server.socket().display());
        let output = Command::new(program).args(words).args(["--user=root", &socket]).output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    /// Everything in a database, as mariadb-dump has it.
    fn content(&self, database: &str) -> String {
        let words = [
            "--order-by-primary",
            "--hex-blob",
            "--skip-extended-insert",
            "--skip-comments",
            "--routines",
            "--events",
            database,
        ];
        String::from_utf8_lossy(&self.client("mariadb-dump", &words)).into_owned()
    }

    fn restored_by_script(&self, archive: &Path, database: &str) -> String {
        self.connection("mysql")
            .execute(&format!("create database {database} character set utf8mb4"))
            .expect("it is made");
        self.client(archive.join("restore.sh"), &[database]);
        self.content(database)
    }
}

impl Source {
    /// An archive of everything in `shop`.
    fn archive(&self, codec: &str) -> PathBuf {
        self.connection("shop").execute(SCHEMA).expect("it is made");
        let request = self.request("archive", codec);
        dump(&request);
        request.target
    }

    fn restore_request(&self, archive: &Path, database: &str, into: RestoreInto) -> MySqlRestoreRequest {
        self.connection("mysql")
            .execute(&format!("create database if not exists {database} character set utf8mb4"))
            .expect("it is made");
        MySqlRestoreRequest {
            address: self.address("root", database),
            archive: archive.to_owned(),
            tables: Vec::new(),
            has_schema: true,
            has_rows: true,
            connections: 3,
            into,
            exits_on_error: false,
            verifies: true,
        }
    }

    fn restored(&self, archive: &Path, database: &str, into: RestoreInto) -> Result<Restored, RestoreError> {
        let request = self.restore_request(archive, database, into);
        let restored = MySqlRestoreRun::new().run(&request, lease().as_ref());
        if let Ok(restored) = &restored {
            assert!(restored.faults.is_empty(), "{:?}", restored.faults);
            let progress = &restored.progress;
            assert_eq!((progress.tables_done, progress.indexes_done), (progress.tables, progress.indexes));
        }
        restored
    }
}

fn lease() -> Box<dyn Lease> {
    let what = "a dump".to_owned();
    let request = Request { priority: Priority::Normal, weight: Weight::default(), useful_width: 4, what };
    InProcess::new(4).lease(request)
}

fn dump(request: &MySqlDumpRequest) -> MySqlDumped {
    MySqlDumpRun::new()
        .run(request, lease().as_ref())
        .unwrap_or_else(|error| panic!("{error}: {:?}", std::error::Error::source(&error).map(ToString::to_string)))
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).expect("it is there").flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn parts(dumped: &MySqlDumped, table: &str) -> usize {
    dumped.index.tables.iter().find(|known| known.table == table).expect("it is dumped").parts.len()
}

fn rows_of_parts(dumped: &MySqlDumped, table: &str) -> Vec<u64> {
    let table = dumped.index.tables.iter().find(|known| known.table == table).expect("it is dumped");
    table.parts.iter().map(|part| part.rows).collect()
}

fn first_difference(one: &str, other: &str) -> Option<(String, String)> {
    let pair = one.lines().zip(other.lines()).find(|(one, other)| one != other);
    let pair = pair.map(|(one, other)| (one.to_owned(), other.to_owned()));
    pair.or_else(|| (one.lines().count() != other.lines().count()).then(|| ("lines".to_owned(), "missing".to_owned())))
}

#[test]
fn the_client_restores_what_was_dumped_by_many_connections() {
    let Some(source) = Source::start(&["--log-bin=binlog"]) else { return };
    source.connection("shop").execute(SCHEMA).expect("it is made");
    let mut analyze = source.connection("shop");
    analyze.execute("analyze table events, texts, hashes, tenants, parted persistent for all").expect("it counts");
    let expected = source.content("shop");
    for codec in ["none", "zstd:1", "gzip:1", "lz4:1"] {
        let request = source.request(&codec.replace(':', ""), codec);
        let dumped = dump(&request);
        assert_eq!(dumped.warnings, Vec::<String>::new());
        for table in ["events", "texts", "hashes", "tenants"] {
            let sizes = rows_of_parts(&dumped, table);
            assert!(sizes.len() > 3, "{table} is in {} parts", sizes.len());
            let mean = sizes.iter().sum::<u64>() / sizes.len() as u64;
            // InnoDB's estimates of ranges that begin with one tenant are far off at times: its 5,999 rows are divided, be it badly.
            let most = if table == "tenants" { 5_000 } else { mean * 3 / 2 };
            assert!(*sizes.iter().max().expect("some") <= most, "{table}: {sizes:?}");
        }
        assert_eq!((parts(&dumped, "parted"), parts(&dumped, "no_key"), parts(&dumped, "empty")), (2, 1, 0));
        assert!(MySqlArchive::read(&request.target).expect("it is there") == dumped.index);
        assert!(dumped.index.is_consistent && dumped.index.position.is_some(), "{:?}", dumped.index.position);
        assert_eq!(dumped.progress.tables, dumped.progress.tables_done);
        assert_eq!(dumped.progress.rows, dumped.index.tables.iter().map(|table| table.rows).sum::<u64>());
        assert_eq!(dumped.progress.bytes, dumped.index.tables.iter().map(|table| table.bytes).sum::<u64>());
        assert!(names(&request.private).is_empty(), "the password is gone");
        let found = source.restored_by_script(&request.target, &format!("copy_{}", codec.replace(':', "")));
        assert_eq!(first_difference(&found, &expected), None, "{codec}");
    }
}

#[test]
fn many_connections_restore_what_was_dumped() {
    let Some(source) = Source::start(&[]) else { return };
    let archive = source.archive("zstd:1");
    let expected = source.content("shop");
    let restored = source.restored(&archive, "copy", RestoreInto::Empty).expect("it is restored");
    assert_eq!(first_difference(&source.content("copy"), &expected), None);
    assert!(restored.progress.rows > 40_000 && restored.progress.indexes >= 5 && restored.rows_before == 0);
    let refused = source.restored(&archive, "copy", RestoreInto::Empty);
    assert!(matches!(refused, Err(RestoreError::NotEmpty(objects)) if objects > 10), "{refused:?}");
    source.restored(&archive, "copy", RestoreInto::Cleaned { if_exists: true }).expect("it is restored again");
    assert_eq!(first_difference(&source.content("copy"), &expected), None, "cleaned");
}

#[test]
fn a_server_that_takes_no_files_gets_inserts() {
    let Some(source) = Source::start(&[]) else { return };
    let archive = source.archive("none");
    source.connection("mysql").execute("set global local_infile = 0").expect("it may");
    source.restored(&archive, "copy", RestoreInto::Empty).expect("it is restored");
    assert_eq!(first_difference(&source.content("copy"), &source.content("shop")), None);
}

#[test]
fn an_interrupted_restore_goes_on_without_a_row_twice() {
    let Some(source) = Source::start(&[]) else { return };
    let archive = source.archive("gzip:1");
    for after in [1, 2000, 9000, 25_000, 40_000] {
        let request = source.restore_request(&archive, "copy", RestoreInto::Interrupted);
        let run = MySqlRestoreRun::new();
        let outcome = std::thread::scope(|scope| {
            let restores = scope.spawn(|| run.run(&request, lease().as_ref()));
            while run.progress().rows < after && !restores.is_finished() {
                std::thread::sleep(Duration::from_millis(1));
            }
            run.stop();
            restores.join().expect("it does not panic")
        });
        match outcome {
            Err(RestoreError::Interrupted) => {}
            // It was done before it was to end.
            Ok(restored) => {
                assert!(restored.faults.is_empty(), "{:?}", restored.faults);
                return assert_eq!(first_difference(&source.content("copy"), &source.content("shop")), None);
            }
            Err(other) => panic!("{other}"),
        }
        let refused = source.restored(&archive, "copy", RestoreInto::Empty);
        assert!(matches!(refused, Err(RestoreError::Unfinished { is_ours: true })), "{refused:?}");
    }
    let restored = source.restored(&archive, "copy", RestoreInto::Interrupted).expect("it goes on");
    assert!(restored.rows_before > 0, "something was in");
    assert_eq!(first_difference(&source.content("copy"), &source.content("shop")), None);
}

#[test]
fn an_archive_that_is_damaged_is_not_restored_as_if_it_were_good() {
    let Some(source) = Source::start(&[]) else { return };
    let archive = source.archive("none");
    let mut parts = names(&archive).into_iter().filter(|name| name.starts_with("shop.events."));
    let path = archive.join(parts.next_back().expect("it is divided"));
    let good = std::fs::read(&path).expect("ours");
    let mut bad = good.clone();
    let middle = bad.len() / 2;
    bad[middle] ^= 1;
    std::fs::write(&path, &bad).expect("ours");
    let error = source.restored(&archive, "copy", RestoreInto::Empty).expect_err("a bit is another");
    assert!(matches!(&error, RestoreError::Damaged { file, .. } if Path::new(file) == path), "{error}");
    std::fs::write(&path, &good[..middle]).expect("ours");
    let index = MySqlArchive::read(&archive).expect("an index");
    let look = |tables: &[String], has_rows| check_files(&archive, &index, tables, (true, has_rows));
    let error = look(&[], true).expect_err("it is shorter");
    assert!(error.to_string().contains("bytes, and mh.index says"), "{error}");
    assert!(look(&[], false).is_ok() && look(&["parent".to_owned()], true).is_ok(), "it is not needed");
    std::fs::write(&path, &good).expect("ours");
    source.restored(&archive, "copy", RestoreInto::Interrupted).expect("it goes on with the good file");
    assert_eq!(first_difference(&source.content("copy"), &source.content("shop")), None);
}

#[test]
fn rows_that_the_server_leaves_out_fail_the_restore() {
    let Some(source) = Source::start(&[]) else { return };
    let archive = source.archive("none");
    let mut request = source.restore_request(&archive, "copy", RestoreInto::Existing);
    source
        .connection("copy")
        .execute("create table parent like shop.parent; insert into parent (id, name) values (7, 'mine')")
        .expect("it is made");
    (request.has_schema, request.tables) = (false, vec!["parent".to_owned()]);
    let error = MySqlRestoreRun::new().run(&request, lease().as_ref()).expect_err("a key is there");
    let text = error.to_string();
    assert!(text.contains("Duplicate entry '7'") || matches!(error, RestoreError::Rows { .. }), "{text}");
    let rows = source.connection("copy").query("select count(*) from parent").expect("an answer");
    assert_eq!(rows[0][0].as_deref(), Some(&b"1"[..]), "the transaction is rolled back");
}

/// Parts that differ from the dump's, of tables of all types, add up to the same.
#[test]
fn rows_that_are_read_again_have_the_digests_of_the_archive() {
    let Some(source) = Source::start(&[]) else { return };
    let archive = source.archive("none");
    let digests = ArchiveDigests::read(&archive).expect("it is there");
    let wanted = WantedTables::These(digests.tables.iter().map(|(table, _)| table.clone()).collect());
    let lock_wait = Duration::from_secs(20);
    for (part_bytes, connections) in [(100 << 10, 3), (1 << 30, 1)] {
        let options = MySqlReadOptions { lock: DumpLock::Auto, lock_wait, part_bytes };
        let reading = MySqlReading::look(&source.address("root", "shop"), &wanted, options).expect("it is there");
        let is_divided = part_bytes < 1 << 20;
        assert_eq!(reading.parts() > reading.tables().len() as u64, is_divided);
        let held = reading.begin(connections, lease().as_ref()).expect("the lock is had");
        assert!(!held.is_zero(), "there are tables without transactions");
        let states = reading.read(connections, lease().as_ref()).expect("it is read");
        let compared = compare(digests.states(), states);
        let differs: Vec<_> = compared.iter().filter(|table| table.verdict() != TableVerdict::Same).collect();
        assert!(differs.is_empty() && compared.len() == digests.tables.len(), "{differs:?}");
        let progress = reading.progress();
        assert_eq!(
            (progress.tables_done, progress.rows),
            (progress.tables, digests.tables.iter().map(|(_, sum)| sum.rows).sum())
        );
        assert_eq!(progress.bytes, digests.tables.iter().map(|(_, sum)| sum.bytes).sum::<u64>());
    }
}

/// A stand-in for MySQL's program, whose login file goes before the file that it is given.
const LIKE_MYSQLDUMP: &str = r#"#!/bin/sh
here=$(dirname "$0")
sed 's/^ssl-mode=DISABLED/skip-ssl/' "${1#--defaults-file=}" > "$here/options"
shift
login=${MYSQL_TEST_LOGIN_FILE-$here/mylogin.cnf}
found=
if test -e "$login"; then found='--user=nobody --password=wrong'; fi
for word do
    shift
    case $word in --column-statistics=*|--set-gtid-purged=*) ;; *) set -- "$@" "$word" ;; esac
done
echo "$@" >> "$here/words"
exec mariadb-dump --defaults-file="$here/options" $found "$@"
"#;

#[test]
fn a_login_file_of_the_user_does_not_change_where_a_dump_comes_from() {
    let Some(source) = Source::start(&[]) else { return };
    source.connection("shop").execute("create table t (a int primary key)").expect("it is made");
    let program = source.directory.path().join("mysqldump");
    std::fs::write(&program, LIKE_MYSQLDUMP).expect("ours");
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("ours");
    std::fs::write(source.directory.path().join("mylogin.cnf"), "").expect("ours");
    let mut request = source.request("archive", "none");
    request.program = MySqlDumpProgram { path: program, dialect: OptionDialect::MySql };
    dump(&request);
    let words = std::fs::read_to_string(source.directory.path().join("words")).expect("it was run");
    let socket = format!("--socket={}", source.server.socket().display());
    assert!(words.contains("--user=root") && words.contains(&socket), "{words}");
}
