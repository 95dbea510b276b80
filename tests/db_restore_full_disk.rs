//! `mh db restore` onto a disk of the server that is full, once while rows come and once while an index is made: the error names table or index, and
//! the restore goes on when there is room. The disk is a file system in memory that only the server sees.

use crate::mariadb::MariaDbPlace;
use crate::place::said;
use crate::sources::PostgresSource;
use testkit::program::{Exit, ProgramOutcome};

/// It has ended with these words, and with the hint to go on.
fn assert_full(outcome: &ProgramOutcome, words: &[&str]) {
    assert_eq!(outcome.exit, Exit::Code(1), "{}", said(outcome));
    for text in words.iter().chain(&["the same command with --resume goes on"]) {
        assert!(said(outcome).contains(text), "no '{text}' in {}", said(outcome));
    }
}

#[test]
fn a_full_disk_of_postgresql_ends_the_restore_and_it_goes_on() {
    let Some(source) = PostgresSource::start_with_own_mounts() else { return };
    std::fs::create_dir(source.server.directory().join("small")).expect("ours");
    let disk = source.server.small_disk("small", 15);
    source.sql(
        "postgres",
        "create table big as select i, md5(i::text) || md5((i + 1)::text) s from generate_series(1, 100000) i;
         create index big_s on big (s); alter table big add primary key (i)",
    );
    let address = source.address("postgres");
    let dumped = source.db(&["dump", "-q", "-d", &address, "-f", "d"], b"");
    assert_eq!(dumped.exit, Exit::Code(0), "{}", said(&dumped));
    source.sql("postgres", &format!("create tablespace small location '{}'", disk.path().display()));
    source.sql("postgres", "create database copy tablespace small");
    // Its files have their sizes only then.
    source.sql("postgres", "checkpoint");
    let address = source.address("copy");
    let restore = |words: &[&str]| {
        let words: Vec<&str> = ["restore", "d", "-d", &address].into_iter().chain(words.iter().copied()).collect();
        source.db(&words, b"")
    };
    // An empty database has 8 MB, the table 10, the index another 10.
    assert_full(&restore(&[]), &["restore rows of public.big: 53100 could not", "No space left on device"]);
    disk.grow_to(30);
    assert_full(&restore(&["--resume"]), &[" of public.big: 53100 could not", "No space left on device"]);
    assert_eq!(source.sql("copy", "select count(*) from big"), "100000\n");
    disk.grow_to(200);
    let outcome = restore(&["--resume", "--verify"]);
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    let all = "select count(*), sum(hashtext(b::text)::bigint), (select string_agg(indexname, ' ' order by 1) from pg_indexes where tablename = 'big'),
        (select count(*) from pg_namespace where nspname like 'mh%') from big b";
    assert_eq!(source.sql("copy", all), source.sql("postgres", all));
}

#[test]
fn a_full_disk_of_mariadb_ends_the_restore_and_it_goes_on() {
    let Some(source) = MariaDbPlace::start_with_own_mounts() else { return };
    source.sql(
        "shop",
        "create table big (i int primary key, s char(64) character set latin1, key a (s), key b (s, i), key c (i, s));
         insert into big select seq, concat(md5(seq), md5(seq + 1)) from seq_1_to_100000",
    );
    source.dumped(&["-q"]);
    source.make("copy");
    let disk = source.server.small_disk("copy", 6);
    // The file with its character set is below the small disk.
    source.sql("mysql", "alter database copy character set utf8mb4");
    // The file with the rows has 18 MB, of which 10 are used; each key has 10.
    assert_full(&source.restore_into("copy", &[]), &["restore rows of 'big'", "1114 (HY000) The table 'big' is full"]);
    disk.grow_to(24);
    assert_full(&source.restore_into("copy", &["--resume"]), &["`big`", "is full"]);
    assert_eq!(source.sql("copy", "select count(*) from big"), "100000");
    disk.grow_to(100);
    let outcome = source.restore_into("copy", &["--resume", "--verify"]);
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    assert_eq!(source.content("copy"), source.content("shop"));
}
