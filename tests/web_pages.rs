//! `mh sysstat` as others meet it: a real Prometheus that scrapes it, a real browser that shows it.

mod browser;
mod fleet;
mod prometheus;

use crate::place::{Place, Running, binary};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;
use testkit::program::{Exit, TestProgram};

/// A server and the URLs that it printed.
struct Served {
    running: Running,
    urls: Vec<String>,
}

impl Served {
    /// Starts `mh sysstat` with these options, each of which prints a URL.
    fn start(place: &Place, options: &[&str]) -> Self {
        let mut command = Command::new(binary());
        command.arg("sysstat").args(options).arg("100ms");
        Self::read(place, command, options.len())
    }

    /// Starts a command that prints so many URLs.
    fn read(place: &Place, mut command: Command, urls: usize) -> Self {
        command.current_dir(place.directory());
        command.env("MH_CONFIG", "").stdin(Stdio::null()).stdout(Stdio::piped());
        let mut running = Running { child: command.spawn().expect("the program starts") };
        let mut printed = BufReader::new(running.child.stdout.take().expect("a pipe"));
        let line = |_| {
            let mut line = String::new();
            printed.read_line(&mut line).expect("text");
            line.trim_end().split_once(": ").expect("a word and a URL").1.to_owned()
        };
        let urls = (0..urls).map(line).collect();
        Self { running, urls }
    }

    /// `127.0.0.1:PORT` of a URL.
    fn address(&self, url: usize) -> &str {
        self.urls[url].strip_prefix("http://").and_then(|rest| rest.split('/').next()).expect("a URL")
    }

    fn token(&self, url: usize) -> &str {
        self.urls[url].split_once("#token=").expect("a token").1
    }
}

/// The answer to a GET: its first line and its body.
fn get(address: &str, path: &str, headers: &str) -> Option<(String, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    Some((head.lines().next()?.to_owned(), body.to_owned()))
}

#[test]
fn it_serves_until_it_is_interrupted() {
    let place = Place::new();
    let mut served = Served::start(&place, &["--web=0", "--metrics=0"]);
    let (web, metrics) = (served.address(0).to_owned(), served.address(1).to_owned());
    crate::place::wait_until("there is a sample", || {
        get(&metrics, "/metrics", "").is_some_and(|(status, _)| status == "HTTP/1.1 200 OK")
    });
    let bearer = format!("Authorization: Bearer {}\r\n", served.token(0));
    assert_eq!(get(&web, "/metrics", "").expect("an answer").0, "HTTP/1.1 401 Unauthorized");
    let newer = format!("{bearer}Accept: application/openmetrics-text\r\n");
    assert!(get(&web, "/metrics", &newer).expect("an answer").1.contains("# EOF\n"));
    let taken = TestProgram::at(binary()).with_variable("MH_CONFIG", "");
    let taken = taken.run(["sysstat", &format!("--metrics={metrics}")], b"").expect("the program starts");
    assert_eq!(taken.exit, Exit::Code(1));
    let said = String::from_utf8_lossy(&taken.stderr).into_owned();
    assert!(said.starts_with(&format!("mh sysstat: could not listen at '{metrics}': ")), "{said}");
    let process = Pid::from_child(&served.running.child);
    kill_process(process, Signal::INT).expect("it runs");
    assert!(served.running.child.wait().expect("it ends").success());
    assert!(TcpStream::connect(&web).is_err() && TcpStream::connect(&metrics).is_err());
}

#[test]
fn one_who_does_not_read_holds_nobody_up() {
    let place = Place::new();
    let served = Served::start(&place, &["--web=0"]);
    let host = TestProgram::find("uname").expect("every system has it").run(["-n"], b"").expect("it runs");
    let host = String::from_utf8(host.stdout_of_success()).expect("text");
    let ask = |stream: &mut TcpStream| {
        let head = format!("GET /api/hosts/{}/events HTTP/1.1\r\nHost: localhost\r\n", host.trim_end());
        write!(stream, "{head}Authorization: Bearer {}\r\n\r\n", served.token(0)).expect("it listens");
    };
    let connect = || TcpStream::connect(served.address(0)).expect("it listens");
    let mut idle: Vec<TcpStream> = (0..8).map(|_| connect()).collect();
    idle.iter_mut().for_each(ask);
    let mut reader = connect();
    ask(&mut reader);
    let numbers = BufReader::new(reader).lines().map_while(Result::ok);
    let numbers: Vec<u64> = numbers.filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).take(10).collect();
    assert!(numbers.len() == 10 && numbers.is_sorted_by(|one, other| one < other), "{numbers:?}");
}
