//! A server that stands still for a second at a steady rate: what each tool's percentiles say beside the model of an ideal queue, and whether the rate was kept.

use super::LoadBench;
use super::client::{ClientRun, run};
use super::server::{BenchServer, ServerKind};
use crate::instruments::Due;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How long it stands still.
const STALL: Duration = Duration::from_secs(1);
const CONNECTIONS: u32 = 8;

/// Rows 4 and 5.
pub fn run_all(bench: &mut LoadBench) -> Result<(), String> {
    let server = BenchServer::start(ServerKind::MariaDb, &[])?;
    let mh =
        format!("{} load '{}' point-select --table-size 50000 -c {CONNECTIONS}", bench.mh.display(), server.address());
    run(&format!("{mh} prepare"), &server)?;
    let flat_out = run(&format!("{mh} -T {} --warmup 2s --json", bench.seconds), &server)?.end()?;
    let capacity = flat_out["transactions_per_s"].as_f64().ok_or("no capacity")?;
    let seconds = bench.seconds_at_rate;
    for percent in [50, 80, 95] {
        let share = f64::from(percent) / 100.0;
        let rate = (capacity * share).floor();
        let kept = run(&format!("{mh} -R {rate} --arrivals fixed -T {seconds} --json"), &server)?.end()?;
        rate_kept(bench, percent, rate, &kept);
        let line = format!("{mh} -R {rate} --arrivals fixed -T {seconds} --json");
        let ran = with_stall(&line, &server, seconds)?;
        let ideal_s = ideal_quantile_s(0.999, share, f64::from(seconds));
        stall_line(
            bench,
            &format!("4 server stopped for 1 s at {percent} % of capacity: p99.9"),
            ours_s(&ran)?,
            ideal_s,
            true,
        );
    }
    rivals(bench, &server, capacity, seconds)
}

/// The same on the echo server, whose capacity is known and does not vary: 2 ms for each request, eight at once.
pub fn known_truth(bench: &mut LoadBench) -> Result<(), String> {
    let seconds = bench.seconds_at_rate;
    let echo = EchoServer::start(&bench.mh)?;
    let mh =
        format!("{} load echo:{} -c {CONNECTIONS} --server-pid {}", bench.mh.display(), echo.address, echo.child.id());
    let flat_out = own_end(&format!("{mh} -T {} --warmup 1s --json", bench.seconds))?;
    let capacity = flat_out["transactions_per_s"].as_f64().ok_or("no capacity")?;
    for percent in [50, 80, 95] {
        let share = f64::from(percent) / 100.0;
        let rate = (capacity * share).floor();
        let line = format!("{mh} -R {rate} --arrivals fixed -T {seconds} --json");
        let end = while_stopped(seconds, |signal| echo.signal(signal), || own_end(&line))?;
        let found_s = end.pointer("/response/percentiles_s/99.9").and_then(serde_json::Value::as_f64);
        // Each request takes its own 2 ms besides.
        let ideal_s = ideal_quantile_s(0.999, share, f64::from(seconds)) + f64::from(CONNECTIONS) / capacity;
        stall_line(
            bench,
            &format!("4 echo server stopped for 1 s at {percent} % of capacity: p99.9"),
            found_s,
            ideal_s,
            true,
        );
    }
    Ok(())
}

/// An echo server of its own process.
struct EchoServer {
    child: Child,
    address: String,
}

impl EchoServer {
    fn start(mh: &Path) -> Result<Self, String> {
        let mut command = Command::new(mh);
        command.args(["load", "--serve-echo", "each/wait:2ms"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("could not start the echo server: {error}"))?;
        let mut address = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output)
                .read_line(&mut address)
                .map_err(|error| format!("the echo server said nothing: {error}"))?;
        }
        Ok(Self { child, address: address.trim().to_owned() })
    }

    fn signal(&self, signal: Signal) {
        let _it_may_have_ended = kill_process(Pid::from_child(&self.child), signal);
    }
}

impl Drop for EchoServer {
    fn drop(&mut self) {
        let _it_may_have_ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

fn own_end(line: &str) -> Result<serde_json::Value, String> {
    let output =
        Command::new("sh").args(["-c", line]).output().map_err(|error| format!("could not run '{line}': {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    serde_json::from_str(text.lines().last().unwrap_or_default())
        .map_err(|error| format!("no JSON of '{line}': {error}"))
}

/// What responses have at quantile `q` where a server that can do 1 / `share` of the rate stands still once: those that were due meanwhile wait from [`STALL`] to
/// nothing, and so do those until the queue is gone. All others are served at once.
fn ideal_quantile_s(q: f64, share: f64, seconds: f64) -> f64 {
    let stall = STALL.as_secs_f64();
    let waiting = stall / (1.0 - share) / seconds;
    (stall * (1.0 - (1.0 - q) / waiting)).max(0.0)
}

/// Runs a client, and stops the server in its middle.
fn with_stall(line: &str, server: &BenchServer, seconds: u32) -> Result<ClientRun, String> {
    while_stopped(seconds, |signal| server.signal(signal), || run(line, server))
}

fn while_stopped<T>(
    seconds: u32,
    signal: impl Fn(Signal) + Sync,
    run: impl FnOnce() -> Result<T, String>,
) -> Result<T, String> {
    std::thread::scope(|scope| {
        let stall = scope.spawn(|| {
            std::thread::sleep(Duration::from_secs(u64::from(seconds) / 3));
            signal(Signal::STOP);
            std::thread::sleep(STALL);
            signal(Signal::CONT);
        });
        let ran = run();
        stall.join().ok().ok_or("the server was not stopped")?;
        ran
    })
}

/// mh's own figure; an error where it refuses to have one.
fn ours_s(ran: &ClientRun) -> Result<Option<f64>, String> {
    Ok(ran.end()?.pointer("/response/percentiles_s/99.9").and_then(serde_json::Value::as_f64))
}

fn stall_line(bench: &mut LoadBench, name: &str, found_s: Option<f64>, ideal_s: f64, is_ours: bool) {
    let off = found_s.map(|found| (found / ideal_s - 1.0).abs());
    let text = found_s
        .map_or_else(|| "refused: the generator was the limit".to_owned(), |found| format!("{:.0} ms", found * 1e3));
    // The model has no queue before the stall and a server that never varies; what a busy one adds is above it.
    let is_met = found_s.is_some_and(|found| found >= 0.9) && off.is_some_and(|off| off < 0.02);
    bench.line(
        name,
        text,
        format!(
            "ideal queue {:.0} ms{}",
            ideal_s * 1e3,
            off.map_or_else(String::new, |off| format!(", {:.1} % off", off * 100.0))
        ),
        is_ours.then_some(Due { words: ">= 900 ms and < 2 % off", is_met }),
    );
}

fn rate_kept(bench: &mut LoadBench, percent: u32, rate: f64, kept: &serde_json::Value) {
    let done = kept["succeeded"].as_f64().unwrap_or(0.0) / kept["elapsed_s"].as_f64().unwrap_or(1.0);
    let off = (done / rate - 1.0).abs();
    bench.line(
        format!("5 {percent} % of capacity: rate kept"),
        format!("{done:.1} a second, {:.3} % off", off * 100.0),
        format!("{rate:.0} a second"),
        Some(Due { words: "within 0.1 %", is_met: off <= 0.001 }),
    );
    let slip_us = kept.pointer("/slip/percentiles_s/99").and_then(serde_json::Value::as_f64).unwrap_or(f64::NAN) * 1e6;
    bench.line(
        format!("4 {percent} % of capacity: the generator's slip, p99"),
        format!("{slip_us:.0} us"),
        "200 us".to_owned(),
        (percent < 80).then_some(Due { words: "< 200 us below 80 %", is_met: slip_us < 200.0 }),
    );
}

/// The same stall as others see it, at 80 %.
fn rivals(bench: &mut LoadBench, server: &BenchServer, capacity: f64, seconds: u32) -> Result<(), String> {
    let rate = (capacity * 0.8).floor();
    let line = format!(
        "sysbench oltp_point_select --mysql-socket={} --mysql-user=root --mysql-db=test --tables=1 --table-size=50000 --threads={CONNECTIONS} --rate={rate} \
         --percentile=99 --time={seconds} run",
        server.socket().display()
    );
    let ideal_s = ideal_quantile_s(0.99, 0.8, f64::from(seconds));
    match with_stall(&line, server, seconds).and_then(|ran| ran.number_behind("99th percentile:")) {
        Ok(ms) => stall_line(
            bench,
            "4 the same at 80 %, sysbench --rate: p99 (it has whole percentiles alone)",
            Some(ms / 1e3),
            ideal_s,
            false,
        ),
        Err(reason) => bench.left_out.push(format!("sysbench with a stall: {reason}")),
    }
    let postgres = BenchServer::start(ServerKind::Postgres, &[])?;
    let at = postgres.directory().display().to_string();
    run(&format!("pgbench -i -q -s 1 -h {at} -U postgres postgres 2>&1"), &postgres)?;
    let line = format!(
        "pgbench -n -S -M prepared -c {CONNECTIONS} -j 1 -R {:.0} -T {seconds} -h {at} -U postgres postgres",
        rate.min(10_000.0)
    );
    let ran = with_stall(&line, &postgres, seconds)?;
    let (mean, most) = (ran.number_behind("latency average =")?, ran.number_behind("max ")?);
    bench.line(
        "4 the same, pgbench -R, which has no percentiles",
        format!("mean {mean:.1} ms, schedule lag at most {most:.0} ms"),
        "-".to_owned(),
        None,
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ideal_queue_forgets_a_stall_as_fast_as_its_server_has_time() {
        // At half of the capacity a stall of 1 s makes 2 s of 60 wait, evenly from 1 s to nothing.
        assert!((ideal_quantile_s(0.999, 0.5, 60.0) - 0.97).abs() < 1e-9);
        assert!((ideal_quantile_s(0.999, 0.95, 60.0) - 0.997).abs() < 1e-9);
        assert_eq!(ideal_quantile_s(0.9, 0.5, 60.0), 0.0);
    }
}
