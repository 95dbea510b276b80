//! Real servers and a real JVM under `mh vmtasks run`: the same answers as without it, from databases that were made, loaded, dumped and
//! restored under it.

use crate::place::{Place, said};
use testkit::program::{Exit, TestProgram, left_out};

/// Runs `script` twice, with `$run` empty and with the command in it; its output must be the same. Returns what the second has reported.
fn same_under_it(place: &Place, script: &str) -> String {
    place.write("script", script);
    let plain = place.shell("run= ; . ./script");
    assert_eq!(plain.exit, Exit::Code(0), "{}", said(&plain));
    let with = place.shell("run=\"$mh vmtasks run --min-size 64M --report=json --\"; . ./script");
    assert_eq!(with.exit, Exit::Code(0), "{}", said(&with));
    assert_eq!(String::from_utf8_lossy(&plain.stdout), String::from_utf8_lossy(&with.stdout));
    std::fs::read_to_string(place.path("report")).expect("the script leaves one")
}

fn populated(report: &str) -> u64 {
    let line =
        report.lines().find(|line| line.starts_with("{\"processes\"")).unwrap_or_else(|| panic!("no report: {report}"));
    let report: serde_json::Value = serde_json::from_str(line).expect("JSON");
    report["populated_bytes"].as_u64().expect("a number")
}

const POSTGRES: &str = r#"
set -e
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
as() { if [ "$(id -u)" = 0 ]; then setpriv --reuid postgres --regid postgres --clear-groups env HOME="$PWD" "$@"; else "$@"; fi; }
rm -rf data report; mkdir data; chmod 777 .; [ "$(id -u)" = 0 ] && chown postgres data
as "$bin/initdb" -D data -A trust -U postgres > /dev/null
printf "shared_buffers=256MB\nunix_socket_directories='%s'\nlisten_addresses=''\nfsync=off\n" "$PWD" >> data/postgresql.conf
as $run "$bin/postgres" -D data 2> report &
server=$!
export PGHOST="$PWD" PGUSER=postgres
for try in $(seq 200); do "$bin/psql" -qc 'select 1' postgres > /dev/null 2>&1 && break; sleep 0.05; done
"$bin/pgbench" -iq postgres 2> /dev/null
"$bin/pgbench" -n -t 100 -c 2 postgres 2> /dev/null | grep processed
"$bin/pg_dump" -Fc -f dump postgres
"$bin/createdb" copy
"$bin/pg_restore" -d copy dump
"$bin/psql" -Atc 'select count(*), sum(aid) from pgbench_accounts' copy
"$bin/psql" -Atc "show shared_buffers" copy
kill -INT "$(head -n 1 data/postmaster.pid)"
wait $server
"#;

#[test]
fn postgresql_loads_dumps_and_restores_the_same() {
    if !std::path::Path::new("/usr/lib/postgresql").exists() || TestProgram::find("setpriv").is_none() {
        return left_out("needs PostgreSQL (postgresql) and setpriv (util-linux)");
    }
    let report = same_under_it(&Place::new(), POSTGRES);
    assert!(populated(&report) > 256 << 20, "{report}");
}

const MARIADB: &str = r#"
set -e
rm -rf data report; mkdir data
user=$(id -un)
$run mariadb-install-db --no-defaults --user="$user" --datadir="$PWD/data" --auth-root-authentication-method=normal > /dev/null 2> /dev/null
$run mariadbd --no-defaults --user="$user" --datadir="$PWD/data" --socket="$PWD/s" --skip-networking --pid-file="$PWD/pid" \
    --innodb-buffer-pool-size=256M 2> report &
server=$!
ask() { mariadb --no-defaults -uroot -S "$PWD/s" "$@"; }
for try in $(seq 200); do ask -e 'select 1' > /dev/null 2>&1 && break; sleep 0.1; done
ask -e "create database t; create table t.a (i int primary key auto_increment, s varchar(100)) engine=innodb;
        insert into t.a (s) select repeat('x', seq % 100) from mysql.seq_1_to_20000; checksum table t.a"
mariadb-dump --no-defaults -uroot -S "$PWD/s" t > dump
ask -e "create database u"; ask u < dump; ask -e "checksum table u.a"
kill "$(cat pid)"
wait $server
"#;

#[test]
fn mariadb_is_made_and_serves_the_same() {
    if TestProgram::find("mariadbd").is_none() || TestProgram::find("mariadb-install-db").is_none() {
        return left_out("needs MariaDB (mariadb-server)");
    }
    let report = same_under_it(&Place::new(), MARIADB);
    assert!(populated(&report) >= 256 << 20, "{report}");
}

const JAVA: &str = r#"
set -e
cat > H.java << 'END'
public class H {
    public static void main(String[] words) {
        byte[][] all = new byte[100][];
        long hash = 0;
        for (int i = 0; i < all.length; i++) { all[i] = new byte[1 << 20]; all[i][i] = 1; }
        for (byte[] one : all) for (int j = 0; j < one.length; j += 64) hash = hash * 31 + one[j];
        System.out.println(hash);
    }
}
END
for collector in Parallel G1 Serial; do $run java -XX:+Use${collector}GC -Xms256m -Xmx256m H.java 2> report; done
"#;

#[test]
fn a_jvm_computes_the_same() {
    if TestProgram::find("javac").is_none() {
        return left_out("needs a JDK");
    }
    let report = same_under_it(&Place::new(), JAVA);
    assert!(populated(&report) >= 64 << 20, "{report}");
}
