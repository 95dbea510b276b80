//! `mh db dump` of a replica of MariaDB whose appliers work side by side: the GTIDs in the archive are those of its rows.

use crate::mariadb::MariaDbPlace;
use crate::place::{said, wait_until};
use serde_json::Value;
use std::path::Path;
use testkit::program::Exit;

/// The number of a domain's last transaction.
fn number(gtids: &str, domain: u64) -> u64 {
    let numbers = gtids.split(',').filter_map(|gtid| gtid.strip_prefix(&format!("{domain}-")));
    numbers.filter_map(|rest| rest.split('-').nth(1)?.parse().ok()).next().unwrap_or(0)
}

/// Each row of `one` is a transaction of domain 1, each row of `two` one of domain 3.
#[test]
fn the_position_of_a_replica_is_that_of_its_rows() {
    let Some(primary) = MariaDbPlace::start(&["--server-id=1", "--log-bin=bin", "--gtid-domain-id=1"]) else { return };
    let own = ["--server-id=2", "--log-bin=bin", "--gtid-domain-id=2", "--log-slave-updates"];
    let appliers = ["--slave-parallel-threads=4", "--slave-parallel-mode=optimistic", "--gtid-strict-mode=0"];
    let Some(replica) = MariaDbPlace::start(&[&own[..], &appliers].concat()) else { return };
    // Nothing but rows is replicated.
    let tables = "set sql_log_bin = 0; create table one (a int primary key auto_increment); create table two like one";
    let work = |name: &str, table: &str| {
        format!(
            "create procedure {name}() begin declare n int default 0; \
             repeat insert into {table} values (); set n = n + 1; until n = 1000000 end repeat; end //"
        )
    };
    let procedures = format!("\ndelimiter //\n{}{}", work("first", "one"), work("second", "two"));
    primary.sql(
        "shop",
        &format!("{tables}; create user follower; grant replication slave on *.* to follower; {procedures}"),
    );
    replica.sql("shop", tables);
    let begin = primary.sql("mysql", "select @@gtid_binlog_pos");
    let follow = format!(
        "set global gtid_slave_pos = '{begin}'; change master to master_host = '127.0.0.1', master_port = {}, \
         master_user = 'follower', master_use_gtid = slave_pos; start slave",
        primary.server.port()
    );
    replica.sql("mysql", &follow);
    let before = [number(&begin, 1), number(&begin, 3)];
    let mut writers =
        ["call first()", "call first()", "set gtid_domain_id = 3; call second()"].map(|sql| primary.session(sql));
    wait_until("it follows", || {
        replica.sql("shop", "select (select count(*) from one) > 100 and (select count(*) from two) > 100") == "1"
    });
    for round in 0..8 {
        replica.dumped(&["-q", "-j2"]);
        let index: Value = serde_json::from_slice(&replica.place.read(Path::new("d/mh.index"))).expect("JSON");
        let rows = |table: &str| {
            let tables = index["tables"].as_array().expect("a list").iter();
            tables.filter(|known| known["table"] == *table).filter_map(|known| known["rows"].as_u64()).sum::<u64>()
        };
        let expected = [before[0] + rows("one"), before[1] + rows("two")];
        for position in ["gtid_slave_pos", "gtid_binlog_pos"] {
            let gtids = index["position"][position].as_str().expect("a position");
            assert_eq!([number(gtids, 1), number(gtids, 3)], expected, "round {round}: {position} {gtids}");
        }
        std::fs::remove_dir_all(replica.place.path("d")).expect("ours");
    }
    let limited = "set sql_log_bin = 0; create user dumper; grant select, show view, trigger, event on shop.* to dumper; \
        grant reload, binlog monitor on *.* to dumper; grant select on mysql.proc to dumper";
    replica.sql("mysql", limited);
    let outcome = replica.dump_of(&replica.address("dumper"), &[]);
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    assert!(said(&outcome).contains("the user may not read mysql.gtid_slave_pos"), "{}", said(&outcome));
    writers.iter_mut().for_each(|writer| writer.child.kill().expect("it has a million rows to write"));
}
