//! Workloads beside what sysbench and pgbench do, and on a database that is there in every test: SQLite.

use super::*;
use crate::arrivals::RandomSource;
use crate::player::{PlayerStep, TransactionPlayer};
use crate::session::{Parameter, Session, SessionReply, SessionRequest, Target, ask};
use crate::target::sqlite::Sqlite;
use std::collections::BTreeSet;
use std::time::Duration;

const DIALECTS: [SqlDialect; 3] = [SqlDialect::Postgres, SqlDialect::MySql, SqlDialect::Sqlite];

fn options(dialect: SqlDialect) -> WorkloadOptions {
    WorkloadOptions { rows: 1000, ..WorkloadOptions::new(dialect) }
}

fn player(workload: BuiltIn, options: &WorkloadOptions) -> Box<dyn TransactionPlayer> {
    workload.workload(options).expect("it can be").player(0)
}

/// The texts and parameters of a transaction.
fn played(player: &mut dyn TransactionPlayer, random: &mut RandomSource) -> Vec<(String, Vec<Parameter>)> {
    let mut done = Vec::new();
    while let PlayerStep::Statement { request, .. } = player.step(random).expect("there is a step") {
        done.push((request.text.to_owned(), request.parameters.to_vec()));
    }
    done
}

fn transaction(workload: BuiltIn, options: &WorkloadOptions) -> Vec<(String, Vec<Parameter>)> {
    let (mut player, mut random) = (player(workload, options), RandomSource::new(1, 0));
    player.begin(&mut random);
    played(&mut *player, &mut random)
}

fn texts(workload: BuiltIn, options: &WorkloadOptions) -> Vec<String> {
    transaction(workload, options).into_iter().map(|(text, _)| text).collect()
}

#[test]
fn read_write_has_the_statements_of_sysbench_in_their_order() {
    let point = "SELECT c FROM sbtest1 WHERE id=?";
    let mut expected = vec!["BEGIN"];
    expected.extend([point; 10]);
    expected.extend([
        "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?",
        "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN ? AND ?",
        "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c",
        "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c",
        "UPDATE sbtest1 SET k=k+1 WHERE id=?",
        "UPDATE sbtest1 SET c=? WHERE id=?",
        "DELETE FROM sbtest1 WHERE id=?",
        "INSERT INTO sbtest1 (id, k, c, pad) VALUES (?, ?, ?, ?)",
        "COMMIT",
    ]);
    assert_eq!(texts(BuiltIn::ReadWrite, &options(SqlDialect::MySql)), expected);
}

#[test]
fn a_transaction_has_what_options_of_sysbench_say() {
    let oltp = OltpOptions {
        point_selects: 2,
        has_ranges: false,
        index_updates: 3,
        non_index_updates: 0,
        delete_inserts: 0,
        skips_transactions: true,
        ..OltpOptions::default()
    };
    let options = WorkloadOptions { oltp, ..options(SqlDialect::MySql) };
    let point = "SELECT c FROM sbtest1 WHERE id=?";
    let update = "UPDATE sbtest1 SET k=k+1 WHERE id=?";
    assert_eq!(texts(BuiltIn::ReadWrite, &options), [point, point, update, update, update]);
    let nothing = OltpOptions { point_selects: 0, index_updates: 0, ..options.oltp.clone() };
    let empty = WorkloadOptions { oltp: nothing, ..options };
    assert!(matches!(BuiltIn::ReadWrite.workload(&empty), Err(WorkloadError::Empty)));
}

#[test]
fn tables_have_what_options_of_sysbench_say() {
    let oltp = OltpOptions {
        has_secondary_index: false,
        has_auto_increment: false,
        storage_engine: "aria".to_owned(),
        ..OltpOptions::default()
    };
    for dialect in DIALECTS {
        let usual = BuiltIn::Insert.tables(&options(dialect)).expect("tables").remove(0);
        assert!(usual.finish.iter().any(|statement| statement.contains("CREATE INDEX k_1")), "{usual:?}");
        assert_eq!(usual.create[0].contains("innodb"), dialect == SqlDialect::MySql, "{}", usual.create[0]);
        let changed = WorkloadOptions { oltp: oltp.clone(), ..options(dialect) };
        let table = BuiltIn::Insert.tables(&changed).expect("tables").remove(0);
        assert_eq!((table.rows, table.finish.len()), (0, 0), "keys of ours could meet those of rows that are there");
        assert!(table.create[0].contains("id INTEGER NOT NULL, k"), "{}", table.create[0]);
        assert_eq!(table.create[0].contains("/*! ENGINE = aria */"), dialect == SqlDialect::MySql);
        assert_eq!(BuiltIn::ReadOnly.tables(&changed).expect("tables")[0].rows, 1000);
        let inserted = transaction(BuiltIn::Insert, &changed);
        assert!(inserted[0].0.starts_with("INSERT INTO sbtest1 (id, k, c, pad)"), "{inserted:?}");
    }
}

#[test]
fn mixes_are_parts_of_it() {
    let options = options(SqlDialect::Postgres);
    assert_eq!(texts(BuiltIn::PointSelect, &options), ["SELECT c FROM sbtest1 WHERE id=$1"]);
    assert_eq!(texts(BuiltIn::ReadOnly, &options).len(), 16);
    assert_eq!(texts(BuiltIn::WriteOnly, &options).len(), 6);
    assert_eq!(texts(BuiltIn::UpdateIndex, &options), ["UPDATE sbtest1 SET k=k+1 WHERE id=$1"]);
    assert_eq!(texts(BuiltIn::UpdateNonIndex, &options), ["UPDATE sbtest1 SET c=$1 WHERE id=$2"]);
    assert_eq!(texts(BuiltIn::Insert, &options), ["INSERT INTO sbtest1 (k, c, pad) VALUES ($1, $2, $3)"]);
    assert_eq!(texts(BuiltIn::Delete, &options), ["DELETE FROM sbtest1 WHERE id=$1"]);
    assert_eq!(texts(BuiltIn::Yesmark, &options), ["SELECT 1"]);
    assert_eq!(texts(BuiltIn::Yesmark, &self::options(SqlDialect::MySql)), ["DO 0"]);
}

#[test]
fn options_change_the_transaction() {
    let mut options = options(SqlDialect::MySql);
    options.oltp = OltpOptions {
        point_selects: 2,
        has_ranges: false,
        skips_transactions: true,
        delete_inserts: 2,
        ..OltpOptions::default()
    };
    let kinds: Vec<String> = texts(BuiltIn::ReadWrite, &options).iter().map(|text| text[..6].to_owned()).collect();
    assert_eq!(kinds, ["SELECT", "SELECT", "UPDATE", "UPDATE", "DELETE", "INSERT", "DELETE", "INSERT"]);
    options.oltp = OltpOptions { index_updates: 0, ..OltpOptions::default() };
    assert!(matches!(BuiltIn::UpdateIndex.workload(&options), Err(WorkloadError::Empty)));
}

#[test]
fn a_deleted_row_is_inserted_again() {
    let done = transaction(BuiltIn::WriteOnly, &options(SqlDialect::Sqlite));
    assert_eq!(done[0].0, "BEGIN IMMEDIATE");
    let (delete, insert) = (&done[3].1, &done[4].1);
    assert_eq!(delete[0], insert[0]);
    let [_, _, Parameter::Text(c), Parameter::Text(pad)] = insert.as_slice() else { panic!("{insert:?}") };
    assert_eq!((c.len(), pad.len()), (119, 59));
}

#[test]
fn a_range_has_its_size() {
    let done = transaction(BuiltIn::ReadOnly, &options(SqlDialect::MySql));
    let ranges: Vec<_> = done.iter().filter(|(text, _)| text.contains("BETWEEN")).collect();
    assert_eq!(ranges.len(), 4);
    for (text, parameters) in ranges {
        let [Parameter::Integer(first), Parameter::Integer(last)] = parameters.as_slice() else { panic!("{text}") };
        assert_eq!(last - first, 99, "{text}");
    }
}

#[test]
fn text_and_parameters_say_the_same() {
    for dialect in DIALECTS {
        let prepared = transaction(BuiltIn::ReadWrite, &options(dialect));
        let plain = transaction(BuiltIn::ReadWrite, &WorkloadOptions { is_prepared: false, ..options(dialect) });
        assert_eq!(prepared.len(), plain.len());
        for ((template, parameters), (text, none)) in prepared.into_iter().zip(plain) {
            assert!(none.is_empty());
            let mut expected = template;
            for (index, parameter) in parameters.into_iter().enumerate() {
                let place = if dialect == SqlDialect::Postgres { format!("${}", index + 1) } else { "?".to_owned() };
                let value = match parameter {
                    Parameter::Integer(value) => value.to_string(),
                    Parameter::Text(value) => format!("'{value}'"),
                    other => panic!("{other:?}"),
                };
                expected = expected.replacen(&place, &value, 1);
            }
            assert_eq!(text, expected);
        }
    }
}

#[test]
fn tables_are_drawn_for_each_stage_and_their_statements_have_numbers() {
    let options = WorkloadOptions { tables: 4, ..options(SqlDialect::Postgres) };
    let (mut player, mut random) = (player(BuiltIn::ReadWrite, &options), RandomSource::new(1, 0));
    let (mut numbers, mut tables) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..200 {
        player.begin(&mut random);
        while let Ok(PlayerStep::Statement { request, .. }) = player.step(&mut random) {
            numbers.insert((request.prepared.expect("it is prepared"), request.text.to_owned()));
            tables.extend(request.text.split_once("sbtest").map(|(_, behind)| behind.as_bytes()[0]));
        }
    }
    // BEGIN, COMMIT and nine statements for each of four tables: each number is one text.
    assert_eq!(numbers.len(), 2 + 9 * 4);
    assert_eq!(numbers.iter().map(|(number, _)| *number).collect::<BTreeSet<_>>(), (0..38).collect());
    assert_eq!(tables, BTreeSet::from(*b"1234"));
}

#[test]
fn a_transaction_begun_again_is_the_same() {
    for workload in BuiltIn::ALL {
        let (mut player, mut random) = (player(workload, &options(SqlDialect::MySql)), RandomSource::new(1, 0));
        player.begin(&mut random);
        // Given up in its midst.
        let _first = player.step(&mut random).expect("there is a step");
        player.begin_again();
        let first = played(&mut *player, &mut random);
        player.begin_again();
        assert_eq!(played(&mut *player, &mut random), first, "{workload:?}");
        player.begin(&mut random);
        let next = played(&mut *player, &mut random);
        assert!(next != first || workload == BuiltIn::Yesmark, "{workload:?}");
    }
}

#[test]
fn names_of_the_peers_are_known() {
    for workload in BuiltIn::ALL {
        assert_eq!(BuiltIn::parse(workload.name()), Some(workload));
        assert!(!workload.summary().is_empty());
    }
    let cases = [
        ("oltp_read_write", Some(BuiltIn::ReadWrite)),
        ("oltp_update_non_index", Some(BuiltIn::UpdateNonIndex)),
        ("tpcb-like", Some(BuiltIn::Tpcb)),
        ("select-only", Some(BuiltIn::TpcbSelect)),
        ("nosuch", None),
    ];
    for (name, expected) in cases {
        assert_eq!(BuiltIn::parse(name), expected, "{name}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let with = |change: fn(&mut WorkloadOptions)| {
        let mut options = options(SqlDialect::Postgres);
        change(&mut options);
        BuiltIn::ReadWrite.workload(&options).err().expect("it is refused").to_string()
    };
    assert_eq!(with(|options| options.tables = 0), "tables: at least 1 is needed");
    assert_eq!(with(|options| options.rows = 1 << 40), "rows of a table: 1099511627776 is above 2147483647");
    assert_eq!(with(|options| options.scale = 20_001), "scale: 20001 is above 20000");
    assert_eq!(with(|options| options.dialect = SqlDialect::Echo), "an echo server takes no SQL");
    let keys = with(|options| options.keys = KeyDistribution::Pareto { h: 2.0 });
    assert_eq!(keys, "keys: h is to be above 0 and below 1, not 2");
}

#[test]
fn the_programs_own_scripts_have_no_mistake() {
    for dialect in DIALECTS {
        for workload in [BuiltIn::Tpcb, BuiltIn::TpcbSelect, BuiltIn::TpcbSimple] {
            for is_prepared in [false, true] {
                let options = WorkloadOptions { is_prepared, ..options(dialect) };
                let statements = texts(workload, &options).len();
                let expected = match workload {
                    BuiltIn::Tpcb => 7,
                    BuiltIn::TpcbSimple => 5,
                    _ => 1,
                };
                assert_eq!(statements, expected, "{workload:?} for {dialect:?}");
            }
        }
    }
}

#[test]
fn rows_are_the_same_however_the_table_is_divided() {
    let options = options(SqlDialect::Postgres);
    for workload in [BuiltIn::ReadOnly, BuiltIn::Tpcb] {
        for table in workload.tables(&options).expect("they can be made") {
            let (mut whole, mut parts) = (String::new(), String::new());
            let some = table.rows.min(1000);
            table.write_rows(0..some, RowForm::Lines, &mut whole);
            (0..some)
                .step_by(70)
                .for_each(|row| table.write_rows(row..(row + 70).min(some), RowForm::Lines, &mut parts));
            assert!(whole == parts, "{}", table.name);
            assert_eq!(whole.lines().count() as u64, some);
        }
    }
}

#[test]
fn rows_beyond_the_end_are_none() {
    let table = &BuiltIn::ReadOnly.tables(&options(SqlDialect::MySql)).expect("it can be made")[0];
    let mut text = String::new();
    table.write_rows(1000..2000, RowForm::Insert, &mut text);
    assert_eq!(text, "");
    table.write_rows(998..2000, RowForm::Insert, &mut text);
    assert_eq!(text.matches('(').count(), 3, "{text}");
    assert!(text.starts_with("INSERT INTO sbtest1 (id, k, c, pad) VALUES (999,"), "{text}");
}

/// A database with a workload's tables in it.
fn prepared(workload: BuiltIn, options: &WorkloadOptions) -> (tempfile::TempDir, Box<dyn Session>) {
    let directory = tempfile::tempdir().expect("there is room");
    let target = Sqlite::new(directory.path().join("load.db"), Duration::from_secs(5));
    let mut session = target.connect(Duration::from_secs(5)).expect("a file can be opened");
    for table in workload.tables(options).expect("they can be made") {
        let mut statements = vec![table.drop_statement()];
        statements.extend(table.create.clone());
        for first in (0..table.rows).step_by(5000) {
            let mut text = String::new();
            table.write_rows(first..first + 5000, RowForm::Insert, &mut text);
            statements.push(text);
        }
        statements.extend(table.finish.clone());
        for statement in statements {
            let reply = ask(&mut *session, &SessionRequest::plain(&statement)).expect("it answers");
            assert!(
                matches!(reply, SessionReply::Done { .. }),
                "{}: {reply:?}",
                &statement[..statement.len().min(200)]
            );
        }
    }
    (directory, session)
}

fn run(player: &mut dyn TransactionPlayer, session: &mut dyn Session, transactions: usize) {
    let mut random = RandomSource::new(3, 0);
    for _ in 0..transactions {
        player.begin(&mut random);
        while let PlayerStep::Statement { request, .. } = player.step(&mut random).expect("there is a step") {
            let reply = ask(session, &request).expect("it answers");
            assert!(matches!(reply, SessionReply::Done { .. }), "{}: {reply:?}", request.text);
        }
    }
}

fn number(session: &mut dyn Session, question: &str) -> i64 {
    session.keep_last_row(true);
    let reply = ask(session, &SessionRequest::plain(question)).expect("it answers");
    session.keep_last_row(false);
    let SessionReply::Done { last_row: Some(row), .. } = reply else { panic!("{reply:?}") };
    row[0].as_ref().expect("it is a number").parse().expect("it is a number")
}

#[test]
fn each_mix_runs_on_sqlite() {
    for workload in [BuiltIn::ReadWrite, BuiltIn::Insert, BuiltIn::Delete, BuiltIn::UpdateIndex] {
        for is_prepared in [false, true] {
            let options = WorkloadOptions { is_prepared, tables: 2, ..options(SqlDialect::Sqlite) };
            let (_directory, mut session) = prepared(workload, &options);
            let sum = "SELECT (SELECT sum(k) FROM sbtest1) + (SELECT sum(k) FROM sbtest2)";
            let count = "SELECT (SELECT count(*) FROM sbtest1) + (SELECT count(*) FROM sbtest2)";
            let before = number(&mut *session, sum);
            run(&mut *player(workload, &options), &mut *session, 50);
            let rows = number(&mut *session, count);
            match workload {
                BuiltIn::ReadWrite => assert_eq!(rows, 2000),
                BuiltIn::Insert => assert_eq!(rows, 2050),
                BuiltIn::Delete => assert!((1950..2000).contains(&rows), "{rows}"),
                _ => assert_eq!((rows, number(&mut *session, sum)), (2000, before + 50)),
            }
        }
    }
}

#[test]
fn money_is_kept_by_tpcb() {
    let options = options(SqlDialect::Sqlite);
    let (_directory, mut session) = prepared(BuiltIn::Tpcb, &options);
    assert_eq!(number(&mut *session, "SELECT count(*) FROM pgbench_accounts"), 100_000);
    run(&mut *player(BuiltIn::Tpcb, &options), &mut *session, 50);
    run(&mut *player(BuiltIn::TpcbSelect, &options), &mut *session, 5);
    assert_eq!(number(&mut *session, "SELECT count(*) FROM pgbench_history"), 50);
    let all = number(&mut *session, "SELECT sum(delta) FROM pgbench_history");
    for sum in ["abalance) FROM pgbench_accounts", "tbalance) FROM pgbench_tellers", "bbalance) FROM pgbench_branches"]
    {
        assert_eq!(number(&mut *session, &format!("SELECT sum({sum}")), all, "{sum}");
    }
}

#[test]
fn keys_of_rows_follow_their_distribution() {
    let options = WorkloadOptions { keys: KeyDistribution::Pareto { h: 0.2 }, ..options(SqlDialect::Sqlite) };
    let (_directory, mut session) = prepared(BuiltIn::ReadOnly, &options);
    let hot = number(&mut *session, "SELECT count(*) FROM sbtest1 WHERE k <= 200");
    assert!((750..850).contains(&hot), "{hot} of 1000");
    assert_eq!(number(&mut *session, "SELECT count(*) FROM sbtest1 WHERE length(c) = 119 AND length(pad) = 59"), 1000);
}
