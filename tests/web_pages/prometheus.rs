//! Prometheus reads what we write: by its checker, and by a scrape.

use super::{Served, get};
use crate::place::{Place, Running, wait_until};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use testkit::program::{TestProgram, left_out};

#[test]
fn the_checker_finds_nothing_but_the_names_of_others() {
    let Some(promtool) = TestProgram::find("promtool") else { return left_out("prometheus is not installed") };
    let place = Place::new();
    let served = Served::start(&place, &["--metrics=0"]);
    wait_until("there is a process in it", || {
        get(served.address(0), "/metrics", "")
            .is_some_and(|(_, text)| text.contains("node_load1") && text.contains("{comm="))
    });
    let (_, text) = get(served.address(0), "/metrics", "").expect("an answer");
    let outcome = promtool.run(["check", "metrics"], text.as_bytes()).expect("promtool starts");
    // node_exporter took over the kernel's names: the checker finds nothing else in its own text either.
    let of_others =
        |line: &str| line.starts_with("node_") && line.ends_with("should be written in 'snake_case' not 'camelCase'");
    let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
    assert!(said.lines().all(of_others), "{said}");
}

#[test]
fn a_scrape_succeeds_and_the_figures_arrive() {
    let Some(prometheus) = TestProgram::find("prometheus") else { return left_out("prometheus is not installed") };
    let place = Place::new();
    let served = Served::start(&place, &["--metrics=0"]);
    let config = format!(
        "global: {{scrape_interval: 200ms, scrape_timeout: 200ms}}\nscrape_configs: [{{job_name: mh, static_configs: [{{targets: ['{}']}}]}}]\n",
        served.address(0)
    );
    place.write("prometheus.yml", config);
    let address = {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|port| port.local_addr()).expect("a free port");
        free.to_string()
    };
    let mut command = Command::new(prometheus.path());
    command.arg("--config.file=prometheus.yml").arg(format!("--web.listen-address={address}"));
    command.arg("--storage.tsdb.path=data").current_dir(place.directory()).stdout(Stdio::null()).stderr(Stdio::null());
    let _scraping = Running { child: command.spawn().expect("prometheus starts") };
    let value = |query: &str| {
        let (_, body) = get(&address, &format!("/api/v1/query?query={query}"), "")?;
        let (_, value) = body.split_once("\"value\":[")?;
        value.split('"').nth(1)?.parse::<f64>().ok()
    };
    wait_until("the scrape succeeds", || value("up") == Some(1.0));
    let meminfo = std::fs::read_to_string("/proc/meminfo").expect("Linux");
    let total_kib: f64 = meminfo.split_whitespace().nth(1).and_then(|word| word.parse().ok()).expect("MemTotal");
    assert_eq!(value("node_memory_MemTotal_bytes"), Some(total_kib * 1024.0));
    assert!(value("count(node_cpu_seconds_total)").is_some_and(|count| count >= 6.0));
    assert_eq!(value("count(mh_verdict)"), Some(12.0));
    wait_until("its own CPU time grows", || {
        value("sum(rate(mh_sampler_cpu_seconds_total[5s]))").is_some_and(|rate| rate > 0.0)
    });
}
