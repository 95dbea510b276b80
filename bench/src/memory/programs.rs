//! Real programs with 2 GiB of memory: from their start to the end of the first pass over it, plain and under `mh vmtasks run`. What each pass
//! computed is compared. The time of a call that maps less than the size is measured here too.

use super::MemoryBench;
use crate::instruments::{Due, Line};
use crate::judge::median;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is measured, by the words of `--only`.
pub const PROGRAMS: [&str; 4] = ["postgresql", "mariadb", "jvm", "small mmap"];

/// A program and the ways in which it is run, the plain one first.
struct Trial {
    name: &'static str,
    /// Run once, in a directory in memory.
    prepare: &'static str,
    /// Run for each round and way, with `$run` and `$options` set; its last two lines are what was computed, and seconds.
    pass: &'static str,
    /// Name, whether under `mh vmtasks run`, and options of the program.
    ways: &'static [(&'static str, bool, &'static str)],
}

const POSTGRES: Trial = Trial {
    name: "PostgreSQL, 2 GiB of shared_buffers: start to the end of the first pass over 2.0 GB",
    prepare: r#"
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
chmod 755 .; mkdir data; chown postgres data
as() { setpriv --reuid postgres --regid postgres --clear-groups env HOME="$PWD" "$@"; }
as "$bin/initdb" -D data -A trust -U postgres --no-sync > /dev/null
mkdir run; chown postgres run
printf "shared_buffers=2GB\nunix_socket_directories='%s/run'\nlisten_addresses=''\nfsync=off\nautovacuum=off\n" "$PWD" >> data/postgresql.conf
as "$bin/pg_ctl" -D data -w -l run/log start > /dev/null
export PGHOST="$PWD/run" PGUSER=postgres
"$bin/pgbench" -iq -s 155 postgres 2> /dev/null
"$bin/psql" -qc 'create extension pg_prewarm' postgres
as "$bin/pg_ctl" -D data -w stop > /dev/null
"#,
    pass: r#"
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
export PGHOST="$PWD/run" PGUSER=postgres
begin=$(date +%s.%N)
setpriv --reuid postgres --regid postgres --clear-groups env HOME="$PWD" $run "$bin/postgres" -D data > run/log 2>&1 &
server=$!
while ! "$bin/psql" -Atc "select pg_prewarm('pgbench_accounts')" postgres > result 2> /dev/null; do
    kill -0 $server; sleep 0.02
done
end=$(date +%s.%N)
kill -INT "$(head -n 1 data/postmaster.pid)"; wait $server
cat result; awk "BEGIN { print $end - $begin }"
"#,
    ways: &[("plain", false, ""), ("mh vmtasks run", true, "")],
};

const MARIADB: Trial = Trial {
    name: "MariaDB, buffer pool of 2 GiB: start to the end of the first pass over 1.9 GB",
    prepare: r#"
mkdir data
mariadb-install-db --no-defaults --user=root --datadir="$PWD/data" --auth-root-authentication-method=normal > /dev/null 2>&1
cat > start << 'END'
exec $run mariadbd --no-defaults --user=root --datadir="$PWD/data" --socket="$PWD/s" --skip-networking --pid-file="$PWD/pid" \
    --innodb-buffer-pool-size=2G --innodb-buffer-pool-dump-at-shutdown=0 --innodb-buffer-pool-load-at-startup=0 \
    --innodb-flush-log-at-trx-commit=0 --innodb-log-file-size=512M
END
run= sh start > log 2>&1 &
server=$!
ask() { mariadb --no-defaults -uroot -S "$PWD/s" "$@"; }
while ! ask -e 'select 1' > /dev/null 2>&1; do kill -0 $server; sleep 0.1; done
ask -e "create database t; create table t.a (i int primary key auto_increment, s char(200) charset latin1) engine=innodb;
        insert into t.a (s) select repeat('x', seq % 200) from mysql.seq_1_to_7500000"
kill "$(cat pid)"; wait $server
"#,
    pass: r#"
begin=$(date +%s.%N)
sh start > log 2>&1 &
server=$!
while ! mariadb --no-defaults -uroot -S "$PWD/s" -Ne 'select count(*), sum(length(s)) from t.a' > result 2> /dev/null; do
    kill -0 $server; sleep 0.02
done
end=$(date +%s.%N)
kill "$(cat pid)"; wait $server
cat result; awk "BEGIN { print $end - $begin }"
"#,
    ways: &[("plain", false, ""), ("mh vmtasks run", true, "")],
};

const JAVA: Trial = Trial {
    name: "JVM, -Xms2g: start to the end of the first pass over 1.6 GB",
    prepare: r#"
cat > H.java << 'END'
public class H {
    public static void main(String[] words) {
        byte[][] all = new byte[1600][];
        long hash = 0;
        for (int i = 0; i < all.length; i++) { all[i] = new byte[1 << 20]; all[i][i] = 1; }
        for (byte[] one : all) for (int j = 0; j < one.length; j += 64) hash = hash * 31 + one[j];
        System.out.println(hash);
    }
}
END
javac H.java
"#,
    pass: r#"
begin=$(date +%s.%N)
$run java -XX:+UseParallelGC -XX:NewSize=1900m -XX:SurvivorRatio=30 -Xms2g -Xmx2g $options H
end=$(date +%s.%N)
awk "BEGIN { print $end - $begin }"
"#,
    ways: &[("plain", false, ""), ("-XX:+AlwaysPreTouch", false, "-XX:+AlwaysPreTouch"), ("mh vmtasks run", true, "")],
};

/// One of `PROGRAMS`.
pub fn measure(bench: &MemoryBench, part: &str) -> Result<Line, String> {
    match part {
        "postgresql" => POSTGRES.run(bench),
        "mariadb" => MARIADB.run(bench),
        "jvm" => JAVA.run(bench),
        _ => small_calls(bench),
    }
}

impl Trial {
    fn run(&self, bench: &MemoryBench) -> Result<Line, String> {
        let place = tempfile::Builder::new().prefix("mh-bench-memory-").tempdir_in("/dev/shm");
        let place = place.map_err(|error| format!("could not make a directory in memory: {error}"))?;
        shell(place.path(), self.prepare, &bench.mh, false, "")?;
        let mut seconds = vec![Vec::new(); self.ways.len()];
        let mut results = Vec::new();
        // One round more, whose times do not count: it warms up the machine's memory.
        for round in 0..=bench.rounds {
            let mut order: Vec<usize> = (0..self.ways.len()).collect();
            if round % 2 == 1 {
                order.reverse();
            }
            for way in order {
                let (_, is_under_ours, options) = self.ways[way];
                let text = shell(place.path(), self.pass, &bench.mh, is_under_ours, options)?;
                let (result, time) = text.trim_end().rsplit_once('\n').ok_or("a pass printed no result")?;
                results.push(result.to_owned());
                let time: f64 = time.parse().map_err(|error| format!("no time in {text}: {error}"))?;
                if round > 0 {
                    seconds[way].push(time);
                }
            }
        }
        results.dedup();
        if results.len() != 1 {
            return Err(format!("results differ: {results:?}"));
        }
        let medians: Vec<f64> = seconds.iter().map(|times| median(times)).collect();
        let (ours, rivals) = medians.split_last().ok_or("no way to run it")?;
        let against = self.ways.iter().zip(rivals).map(|((name, _, _), time)| format!("{name} {time:.2} s"));
        let fastest = rivals.iter().copied().fold(f64::INFINITY, f64::min);
        let due = Due { words: "shorter", is_met: *ours < fastest };
        let against = against.collect::<Vec<_>>().join(", ");
        Ok(Line { name: self.name.to_owned(), ours: format!("{ours:.2} s"), against, due: Some(due) })
    }
}

fn shell(place: &Path, script: &str, mh: &Path, is_under_ours: bool, options: &str) -> Result<String, String> {
    let run = if is_under_ours { format!("{} vmtasks run --", mh.display()) } else { String::new() };
    let output = Command::new("sh")
        .args(["-euc", script])
        .current_dir(place)
        .env("run", run)
        .env("options", options)
        .output()
        .map_err(|error| format!("could not run sh: {error}"))?;
    if !output.status.success() {
        return Err(format!("ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Maps and unmaps 1 MiB often; prints nanoseconds a pair.
const SMALL: &str = r#"
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
int main(void)
{
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int number = 0; number < 200000; number++) {
        void *memory = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED || munmap(memory, 1 << 20)) return 1;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("mapped\n%f\n", ((end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec)) / 200000);
    return 0;
}
"#;

/// What a call costs that is none of the library's business.
fn small_calls(bench: &MemoryBench) -> Result<Line, String> {
    let place = tempfile::tempdir().map_err(|error| format!("could not make a directory: {error}"))?;
    let source: PathBuf = place.path().join("small.c");
    std::fs::write(&source, SMALL).map_err(|error| format!("could not write {}: {error}", source.display()))?;
    shell(place.path(), "cc -O2 -o small small.c", &bench.mh, false, "")?;
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..bench.rounds * 2 {
        let is_under_ours = round % 2 == 1;
        let text = shell(place.path(), "$run ./small 2> /dev/null", &bench.mh, is_under_ours, "")?;
        let time = text.lines().last().and_then(|line| line.parse::<f64>().ok()).ok_or("small printed no time")?;
        times[usize::from(is_under_ours)].push(time);
    }
    let [plain, ours] = times.map(|times| median(&times));
    let due = Due { words: "<= 1 us more", is_met: ours - plain <= 1000.0 };
    let name = "mmap and munmap of 1 MiB, below the size".to_owned();
    Ok(Line { name, ours: format!("{ours:.0} ns"), against: format!("plain {plain:.0} ns"), due: Some(due) })
}
