//! Runs against the echo server, whose times are scripted, and against SQLite.

use super::*;
use crate::arrivals::{RateProfile, Spacing, Think};
use crate::player::Repeated;
use crate::target::echo::{Echo, EchoScheduler, EchoServer, EchoStep, Service};
use crate::target::sqlite::Sqlite;
use std::num::NonZeroUsize;

fn plan(arrivals: ArrivalModel, clients: usize, threads: usize, duration_ms: u64) -> LoadPlan {
    LoadPlan {
        arrivals,
        overload: Overload::default(),
        clients,
        threads,
        warmup: Duration::ZERO,
        duration: Duration::from_millis(duration_ms),
        grace: Duration::from_secs(10),
        events: None,
        seed: 1,
        retries_max: 3,
        goes_on_after_errors: false,
        connect_within: Duration::from_secs(5),
        interval: Duration::from_millis(200),
    }
}

fn echo(scheduler: EchoScheduler, steps: Vec<EchoStep>) -> Arc<dyn Target> {
    let server = EchoServer::listen(([127, 0, 0, 1], 0).into()).expect("a port");
    let address = server.address().expect("it has one");
    std::thread::spawn(move || server.serve(scheduler, Service::new(steps)));
    Arc::new(Echo(address))
}

fn pings() -> Repeated {
    Repeated { name: "ping".to_owned(), text: String::new(), is_prepared: false }
}

#[derive(Default)]
struct Quiet {
    intervals: usize,
    succeeded: u64,
}

impl Watcher for Quiet {
    fn interval(&mut self, report: &IntervalReport<'_>) -> bool {
        self.intervals += 1;
        self.succeeded += report.ledger.succeeded();
        true
    }
}

fn closed() -> ArrivalModel {
    ArrivalModel::Closed(Think::default())
}

fn open(rate: f64) -> ArrivalModel {
    ArrivalModel::Open { rate: RateProfile::constant(rate).expect("a rate"), spacing: Spacing::Fixed }
}

#[test]
fn every_transaction_of_a_closed_load_is_counted_once_by_both_schedulers() {
    for scheduler in [EchoScheduler::ThreadEach, EchoScheduler::Pool(NonZeroUsize::MIN)] {
        let target = echo(scheduler, Vec::new());
        let plan = LoadPlan { events: Some(5_001), ..plan(closed(), 7, 3, 60_000) };
        let report = run(&plan, &target, &pings(), None, &mut Quiet::default()).expect("it runs");
        assert_eq!((report.ledger.sent, report.ledger.succeeded(), report.ledger.statements), (5_001, 5_001, 5_001));
        assert_eq!((report.unfinished(), report.error, report.threads.len()), (0, None, 3));
    }
}

#[test]
fn a_scripted_time_is_what_is_measured() {
    // Nine in ten take 20 ms, one takes 60: waiting and not computing, so that a busy machine adds little.
    let mut steps = vec![EchoStep { wait: Duration::from_millis(20), ..EchoStep::default() }; 9];
    steps.push(EchoStep { wait: Duration::from_millis(60), ..EchoStep::default() });
    let target = echo(EchoScheduler::ThreadEach, steps);
    let plan = LoadPlan { events: Some(200), ..plan(closed(), 4, 1, 60_000) };
    let report = run(&plan, &target, &pings(), None, &mut Quiet::default()).expect("it runs");
    let service = report.ledger.service();
    assert!(service.min_ns() >= 20_000_000 && service.percentile_ns(95.0) >= 60_000_000);
    assert_eq!(service.count(), 200);
    assert!(service.percentile_ns(85.0) < 60_000_000);
}

#[test]
fn an_open_load_that_is_more_than_the_server_can_do_waits_and_the_server_is_late() {
    let target =
        echo(EchoScheduler::ThreadEach, vec![EchoStep { wait: Duration::from_millis(20), ..EchoStep::default() }]);
    // One connection can do 50 a second.
    let report = run(&plan(open(200.0), 1, 1, 1_000), &target, &pings(), None, &mut Quiet::default()).expect("it runs");
    assert_eq!(report.late, WhoWasLate::Server);
    assert_eq!(report.ledger.sent, 200, "all that was due is sent, and waited for");
    assert!(report.ledger.response().percentile_ns(99.0) > 1_000_000_000);
    assert!(report.ledger.service().percentile_ns(50.0) < 1_000_000_000);
}

#[test]
fn what_is_not_carried_out_in_its_grace_is_told() {
    let target =
        echo(EchoScheduler::ThreadEach, vec![EchoStep { wait: Duration::from_millis(100), ..EchoStep::default() }]);
    let plan = LoadPlan { grace: Duration::ZERO, ..plan(open(100.0), 1, 1, 500) };
    let report = run(&plan, &target, &pings(), None, &mut Quiet::default()).expect("it runs");
    assert!(report.unfinished() > 20, "{}", report.unfinished());
}

#[test]
fn a_lost_connection_is_counted_and_made_anew() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = server.local_addr().expect("it has one");
    // Serves ten requests of each connection, and closes it in the midst of the next.
    std::thread::spawn(move || {
        use std::io::{Read, Write};
        for stream in server.incoming().map_while(Result::ok) {
            let mut stream = stream;
            std::thread::spawn(move || {
                let mut frame = [0; 8];
                for _request in 0..10 {
                    let echoed = stream.read_exact(&mut frame).and_then(|()| stream.write_all(&frame));
                    if echoed.is_err() {
                        return;
                    }
                }
                let _next = stream.read(&mut frame);
            });
        }
    });
    let target: Arc<dyn Target> = Arc::new(Echo(address));
    let plan = LoadPlan { events: Some(50), goes_on_after_errors: true, ..plan(closed(), 1, 1, 60_000) };
    let report = run(&plan, &target, &pings(), None, &mut Quiet::default()).expect("it runs");
    let lost = report.ledger.failed.get(&crate::ledger::Failing::Lost).copied().unwrap_or(0);
    assert_eq!(report.ledger.succeeded() + lost, report.ledger.sent);
    assert!(lost >= 3 && report.ledger.reconnects >= 3, "{lost}");
    assert_eq!(report.error, None);
}

#[test]
fn a_target_that_is_not_there_is_an_error_before_anything_is_sent() {
    let address = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("it has one")
    };
    let target: Arc<dyn Target> = Arc::new(Echo(address));
    let error = run(&plan(closed(), 4, 2, 60_000), &target, &pings(), None, &mut Quiet::default())
        .expect_err("nobody is there");
    assert!(error.contains(&address.to_string()), "{error}");
}

#[test]
fn sqlite_runs_and_its_intervals_add_up() {
    let place = tempfile::tempdir().expect("a directory");
    let target: Arc<dyn Target> = Arc::new(Sqlite::new(place.path().join("base"), Duration::from_secs(5)));
    let workload = Repeated { name: "one".to_owned(), text: "select 1".to_owned(), is_prepared: true };
    let mut watcher = Quiet::default();
    let report = run(&plan(closed(), 2, 2, 900), &target, &workload, None, &mut watcher).expect("it runs");
    assert!(report.ledger.succeeded() > 100 && report.error.is_none(), "{:?}", report.error);
    assert_eq!(report.ledger.rows, report.ledger.succeeded());
    assert!(watcher.intervals >= 2 && watcher.succeeded <= report.ledger.succeeded());
}

#[test]
fn a_statement_that_is_wrong_ends_the_run_with_the_servers_words() {
    let place = tempfile::tempdir().expect("a directory");
    let target: Arc<dyn Target> = Arc::new(Sqlite::new(place.path().join("base"), Duration::ZERO));
    let workload = Repeated { name: "wrong".to_owned(), text: "select * from nowhere".to_owned(), is_prepared: true };
    let report =
        run(&plan(closed(), 1, 1, 60_000), &target, &workload, None, &mut Quiet::default()).expect("it begins");
    assert!(report.error.is_some_and(|error| error.contains("nowhere")));
    assert_eq!(report.ledger.failures(), 1);
}
