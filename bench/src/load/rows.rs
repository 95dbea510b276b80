//! Rows of the load suite that compare throughput, CPU time and memory of clients.

use super::LoadBench;
use super::client::{ClientRun, run};
use super::server::{BenchServer, ServerKind};
use crate::instruments::Due;
use crate::judge::median;

/// A tool: its name, its command line, and how transactions are counted in what it prints.
struct Client {
    name: &'static str,
    line: String,
    count: fn(&ClientRun) -> Result<f64, String>,
}

/// Of one tool, of each start.
#[derive(Default)]
struct Sample {
    rate: Vec<f64>,
    /// Microseconds of client a transaction.
    client_us: Vec<f64>,
    /// The client's share of all CPU time.
    share: Vec<f64>,
    memory_mb: Vec<f64>,
}

impl Sample {
    fn add(&mut self, run: &ClientRun, count: f64, seconds: f64) {
        self.rate.push(count / seconds);
        self.client_us.push(run.cpu_s * 1e6 / count);
        self.share.push(run.cpu_s / (run.cpu_s + run.server_cpu_s));
        self.memory_mb.push(run.memory_mb);
    }

    fn text(&self) -> String {
        format!("{:.0} a second; {:.2} us of client", median(&self.rate), median(&self.client_us))
    }
}

/// mh's transactions, by its own report.
fn by_mh(run: &ClientRun) -> Result<f64, String> {
    let end = run.end()?;
    let figure = |name: &str| end[name].as_f64().ok_or_else(|| format!("mh load reported no {name}"));
    Ok(figure("transactions_per_s")? * figure("elapsed_s")?)
}

/// Measures all clients on one start of a server, forward or backward.
fn measure(
    clients: &[Client],
    server: &BenchServer,
    is_backward: bool,
    seconds: f64,
    samples: &mut [Sample],
) -> Result<(), String> {
    let mut order: Vec<usize> = (0..clients.len()).collect();
    if is_backward {
        order.reverse();
    }
    for index in order {
        let client = &clients[index];
        let run = run(&client.line, server)?;
        let count = (client.count)(&run)?;
        // Tools that count to a number take as long as they take.
        let seconds = if client.line.contains("head -n") { run.wall_s } else { seconds };
        samples[index].add(&run, count, seconds);
        println!("  {}: {:.0} a second", client.name, count / seconds);
    }
    Ok(())
}

/// Row 1.
pub fn point_select(bench: &mut LoadBench) -> Result<(), String> {
    let seconds = bench.seconds;
    let mut samples = [Sample::default(), Sample::default()];
    for start in 0..bench.starts {
        let server = BenchServer::start(ServerKind::Postgres, &[])?;
        let at = server.directory().display();
        run(&format!("pgbench -i -q -s 10 -h {at} -U postgres postgres 2>&1"), &server)?;
        run(&format!("pgbench -S -M prepared -c 8 -j 2 -T 2 -h {at} -U postgres postgres"), &server)?;
        let clients = [
            Client {
                name: "pgbench -S -M prepared",
                line: format!("pgbench -n -S -M prepared -c 8 -j 2 -T {seconds} -h {at} -U postgres postgres"),
                count: |run| run.number_behind("number of transactions actually processed:"),
            },
            Client {
                name: "mh load tpcb-select",
                line: format!(
                    "{} load '{}' tpcb-select -s 10 -c 8 -T {seconds} --json",
                    bench.mh.display(),
                    server.address()
                ),
                count: by_mh,
            },
        ];
        measure(&clients, &server, start % 2 == 1, f64::from(seconds), &mut samples)?;
    }
    let [theirs, ours] = &samples;
    let rate = median(&ours.rate) / median(&theirs.rate);
    let cpu = median(&ours.client_us) / median(&theirs.client_us);
    bench.line(
        "1 prepared point select, PostgreSQL, 8 connections: transactions",
        format!("{} ({rate:.2} of pgbench)", ours.text()),
        format!("pgbench {}", theirs.text()),
        Some(Due { words: "tps >= 1.05", is_met: rate >= 1.05 }),
    );
    bench.line(
        "1 the same: client CPU a query",
        format!("{cpu:.2}"),
        "pgbench 1".to_owned(),
        Some(Due { words: "<= 0.7", is_met: cpu <= 0.7 }),
    );
    Ok(())
}

/// Statements of the tools that count.
const DO_COUNT: u32 = 150_000;

/// Row 2.
pub fn do_nothing(bench: &mut LoadBench) -> Result<(), String> {
    let seconds = bench.seconds;
    let mut samples: Vec<Sample> = (0..6).map(|_| Sample::default()).collect();
    for start in 0..bench.starts {
        let server = BenchServer::start(ServerKind::MariaDb, &[])?;
        let socket = server.socket().display().to_string();
        let script = server.directory().join("do.lua");
        std::fs::write(&script, "function thread_init() drv = sysbench.sql.driver() con = drv:connect() end\nfunction event() con:query('DO 0') end\n")
            .map_err(|error| error.to_string())?;
        let yes = format!("yes 'DO 0;' | head -n {DO_COUNT} | mariadb --no-defaults -uroot -S{socket} test");
        let mh = |more: &str| {
            format!("{} load '{}' yesmark {more} -T {seconds} --json", bench.mh.display(), server.address())
        };
        let clients = [
            Client {
                name: "yesmark x2",
                line: format!("({yes}) & ({yes}); wait"),
                count: |_| Ok(f64::from(2 * DO_COUNT)),
            },
            Client {
                name: "mysqlslap",
                line: format!(
                    "mariadb-slap --no-defaults -uroot -S{socket} --create-schema=test -c 8 --number-of-queries={DO_COUNT} -q 'DO 0' # head -n"
                ),
                count: |_| Ok(f64::from(DO_COUNT)),
            },
            Client {
                name: "sysbench",
                line: format!(
                    "sysbench {} --mysql-socket={socket} --mysql-user=root --mysql-db=test --threads=8 --time={seconds} run",
                    script.display()
                ),
                count: |run| run.number_behind("total number of events:"),
            },
            Client { name: "mh load yesmark", line: mh("-c 8"), count: by_mh },
            // As mysqlslap and sysbench have it.
            Client { name: "mh load yesmark, a thread each", line: mh("-c 8 -j 8"), count: by_mh },
            Client {
                name: "mh load yesmark --pipeline 10",
                line: mh("-c 8 --pipeline 10"),
                count: |run| run.end()?["statements"].as_f64().ok_or_else(|| "no statements".to_owned()),
            },
        ];
        measure(&clients, &server, start % 2 == 1, f64::from(seconds), &mut samples)?;
    }
    say_do_nothing(bench, &samples);
    Ok(())
}

/// The first three are the rivals.
fn say_do_nothing(bench: &mut LoadBench, samples: &[Sample]) {
    let best = samples[..3].iter().map(|sample| median(&sample.rate)).fold(0.0, f64::max);
    let against = ["yesmark x2", "mysqlslap", "sysbench"]
        .iter()
        .zip(samples)
        .map(|(name, sample)| format!("{name} {:.0}", median(&sample.rate)));
    let against = against.collect::<Vec<_>>().join(", ");
    for (name, sample) in ["one at a time, by one thread", "one at a time, by a thread each", "pipelines of 10"]
        .into_iter()
        .zip(&samples[3..])
    {
        let (ratio, share) = (median(&sample.rate) / best, median(&sample.share));
        let is_first = name == "one at a time, by a thread each";
        let due = |words, is_met| is_first.then_some(Due { words, is_met });
        bench.line(
            format!("2 DO 0 on MariaDB, {name}: statements a second"),
            format!("{:.0} ({ratio:.2} of the best)", median(&sample.rate)),
            against.clone(),
            due(">= 1.2", ratio >= 1.2),
        );
        bench.line(
            format!("2 {name}: the client's share of all CPU time"),
            format!("{:.0} %", share * 100.0),
            "35 %".to_owned(),
            due("<= 35 %", share <= 0.35),
        );
    }
}

/// Row 3.
pub fn oltp(bench: &mut LoadBench) -> Result<(), String> {
    let seconds = bench.seconds;
    let mut samples: Vec<Sample> = (0..4).map(|_| Sample::default()).collect();
    for start in 0..bench.starts {
        let server = BenchServer::start(ServerKind::MariaDb, &[])?;
        let sysbench = format!(
            "--mysql-socket={} --mysql-user=root --mysql-db=test --tables=4 --table-size=50000 --threads=8",
            server.socket().display()
        );
        run(&format!("sysbench oltp_read_write {sysbench} prepare"), &server)?;
        let theirs = |name, script: &str| Client {
            name,
            line: format!("sysbench {script} {sysbench} --rand-type=uniform --time={seconds} run"),
            count: |run| run.number_behind("transactions:"),
        };
        let ours = |name, workload: &str| Client {
            name,
            line: format!(
                "{} load '{}' {workload} --tables 4 --table-size 50000 -c 8 -T {seconds} --json",
                bench.mh.display(),
                server.address()
            ),
            count: by_mh,
        };
        let clients = [
            theirs("sysbench read-only", "oltp_read_only"),
            ours("mh load read-only", "read-only"),
            ours("mh load read-write", "read-write"),
            theirs("sysbench read-write", "oltp_read_write"),
        ];
        measure(&clients, &server, start % 2 == 1, f64::from(seconds), &mut samples)?;
    }
    for (name, theirs, ours) in [("read-only", &samples[0], &samples[1]), ("read-write", &samples[3], &samples[2])] {
        let rate = median(&ours.rate) / median(&theirs.rate);
        let spread = |sample: &Sample| {
            sample.rate.iter().copied().fold(f64::INFINITY, f64::min)..=sample.rate.iter().copied().fold(0.0, f64::max)
        };
        // Equal within what starts differ by, or better.
        let is_met = rate >= 1.0 || spread(ours).end() >= spread(theirs).start();
        bench.line(
            format!("3 {name}, sysbench's tables: transactions"),
            format!("{} ({rate:.2} of sysbench)", ours.text()),
            format!("sysbench {}", theirs.text()),
            Some(Due { words: "equal within the spread, or more", is_met }),
        );
        let cpu = median(&ours.client_us) / median(&theirs.client_us);
        bench.line(
            format!("3 {name}: client CPU a transaction"),
            format!("{cpu:.2}"),
            "sysbench 1".to_owned(),
            Some(Due { words: "<= 0.5", is_met: cpu <= 0.5 }),
        );
    }
    Ok(())
}

/// Row 6: users who think for 200 ms, with both ways of MariaDB to serve them. Two kinds of starts of the same server find the knee; they must agree.
pub fn think(bench: &mut LoadBench) -> Result<(), String> {
    for (name, option) in [
        ("one thread per connection", "--thread-handling=one-thread-per-connection"),
        ("pool of threads", "--thread-handling=pool-of-threads"),
    ] {
        let mut knees = Vec::new();
        let mut intervals = Vec::new();
        for _start in 0..bench.starts.min(3) {
            let server = BenchServer::start(ServerKind::MariaDb, &[option])?;
            run(
                &format!("{} load '{}' read-only --table-size 100000 prepare", bench.mh.display(), server.address()),
                &server,
            )?;
            let line = format!(
                "{} load '{}' read-only --table-size 100000 --think 200ms --sweep connections=10,50,100,200,300,400,600,800,1200,2000 --warmup 1s -T 3s --json",
                bench.mh.display(),
                server.address()
            );
            let answer = run(&line, &server)?.end()?;
            let bound = |name: &str| {
                answer
                    .pointer(&format!("/law/load/{name}"))
                    .and_then(serde_json::Value::as_f64)
                    .ok_or_else(|| format!("no knee in {answer}"))
            };
            knees.push(bound("value")?);
            intervals.push((bound("low")?, bound("high")?));
        }
        let middle = median(&knees);
        let apart = knees.iter().map(|knee| (knee / middle - 1.0).abs()).fold(0.0, f64::max);
        let widest = intervals.iter().map(|(low, high)| (high - low) / 2.0 / middle).fold(0.0, f64::max);
        bench.line(
            format!("6 knee with 200 ms of thought, {name}"),
            format!(
                "{middle:.0} connections; starts differ by {:.1} %, intervals +- {:.1} %",
                apart * 100.0,
                widest * 100.0
            ),
            format!("{} starts", knees.len()),
            Some(Due { words: "within 5 %", is_met: apart <= 0.05 }),
        );
    }
    Ok(())
}

/// Row 7.
pub fn many_connections(bench: &mut LoadBench) -> Result<(), String> {
    let seconds = bench.seconds;
    let mut samples = [Sample::default(), Sample::default()];
    for start in 0..bench.starts {
        let server = BenchServer::start(ServerKind::MariaDb, &["--thread-handling=pool-of-threads"])?;
        let sysbench = format!(
            "--mysql-socket={} --mysql-user=root --mysql-db=test --tables=1 --table-size=50000",
            server.socket().display()
        );
        run(&format!("sysbench oltp_point_select {sysbench} prepare"), &server)?;
        let clients = [
            Client {
                name: "sysbench",
                line: format!(
                    "ulimit -n 20000; sysbench oltp_point_select {sysbench} --threads=2048 --time={seconds} run"
                ),
                count: |run| run.number_behind("transactions:"),
            },
            Client {
                name: "mh load",
                line: format!(
                    "{} load '{}' point-select --table-size 50000 -c 2048 -T {seconds} --json",
                    bench.mh.display(),
                    server.address()
                ),
                count: by_mh,
            },
        ];
        measure(&clients, &server, start % 2 == 1, f64::from(seconds), &mut samples)?;
    }
    let [theirs, ours] = &samples;
    let memory = median(&ours.memory_mb) / median(&theirs.memory_mb);
    bench.line(
        "7 2,048 connections: memory of the client",
        format!("{:.0} MB ({memory:.2})", median(&ours.memory_mb)),
        format!("sysbench {:.0} MB", median(&theirs.memory_mb)),
        Some(Due { words: "<= 0.5", is_met: memory <= 0.5 }),
    );
    bench.line("7 2,048 connections: transactions", ours.text(), format!("sysbench {}", theirs.text()), None);
    Ok(())
}
