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

fn repeated(text: &str, is_prepared: bool, pipeline: usize) -> Repeated {
    let pipeline = NonZeroUsize::new(pipeline).expect("one at least");
    Repeated { name: "repeated".to_owned(), text: text.to_owned(), is_prepared, pipeline }
}

fn pings() -> Repeated {
    repeated("", false, 1)
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

/// Wants to stop from the beginning.
struct Hasty;

impl Watcher for Hasty {
    fn interval(&mut self, _report: &IntervalReport<'_>) -> bool {
        false
    }

    fn wants_to_stop(&mut self) -> bool {
        true
    }
}

#[test]
fn one_who_stops_while_connections_are_made_gets_a_report_of_nothing_and_no_error() {
    let target = echo(EchoScheduler::ThreadEach, Vec::new());
    for clients in [1, 300] {
        let report = run(&plan(closed(), clients, 2, 60_000), &target, &pings(), None, &mut Hasty).expect("a report");
        assert!(report.is_stopped && report.error.is_none(), "{:?}", report.error);
        assert!(report.elapsed < Duration::from_secs(60));
    }
}

#[test]
fn sqlite_runs_and_its_intervals_add_up() {
    let place = tempfile::tempdir().expect("a directory");
    let target: Arc<dyn Target> = Arc::new(Sqlite::new(place.path().join("base"), Duration::from_secs(5)));
    let workload = repeated("select 1", true, 1);
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
    let workload = repeated("select * from nowhere", true, 1);
    let report =
        run(&plan(closed(), 1, 1, 60_000), &target, &workload, None, &mut Quiet::default()).expect("it begins");
    assert!(report.error.is_some_and(|error| error.contains("nowhere")));
    assert_eq!(report.ledger.failures(), 1);
}

/// Ten at once: replies come one after the other from a server that serves a connection's requests in turn, and each has its own time.
#[test]
fn a_pipeline_is_one_transaction_and_each_statement_has_its_own_time() {
    let target =
        echo(EchoScheduler::ThreadEach, vec![EchoStep { wait: Duration::from_millis(2), ..EchoStep::default() }]);
    let plan = LoadPlan { events: Some(20), ..plan(closed(), 2, 1, 60_000) };
    let report = run(&plan, &target, &repeated("", false, 10), None, &mut Quiet::default()).expect("it runs");
    assert_eq!((report.ledger.succeeded(), report.ledger.statements, report.error), (20, 200, None));
    let statements = &report.ledger.scripts[0].statements[0];
    assert!(statements.count() == 200 && statements.min_ns() < report.ledger.service().min_ns() / 2);
    assert!(report.ledger.service().min_ns() >= 20_000_000, "ten of 2 ms each");
}

#[test]
fn sqlite_takes_one_statement_at_a_time_and_says_so() {
    let place = tempfile::tempdir().expect("a directory");
    let target: Arc<dyn Target> = Arc::new(Sqlite::new(place.path().join("base"), Duration::ZERO));
    let report =
        run(&plan(closed(), 1, 1, 60_000), &target, &repeated("select 1", true, 2), None, &mut Quiet::default())
            .expect("it begins");
    assert!(report.error.is_some_and(|error| error.contains("one statement at a time")));
}

/// Pipelines on real servers: counts, an error in the midst, and what follows it.
mod servers {
    use super::*;
    use crate::ledger::Failing;
    use crate::player::Workload;
    use crate::script::{LoadScript, ScriptMix, ScriptOptions};
    use crate::session::SessionRequest;
    use crate::target::server::Server;
    use testkit::mariadb_server::MariaDbServer;
    use testkit::postgres_server::PostgresServer;
    use testkit::program::left_out;

    fn is_pipelined(address: &str) -> Arc<dyn Target> {
        let address = wire::ServerAddress::parse(address, &wire::Environment::default()).expect("an address");
        let target: Arc<dyn Target> = Arc::new(Server(address));
        let plan = LoadPlan { events: Some(50), ..plan(closed(), 3, 1, 60_000) };
        let report =
            run(&plan, &target, &repeated("select 1", true, 10), None, &mut Quiet::default()).expect("it runs");
        let ledger = &report.ledger;
        assert_eq!((ledger.succeeded(), ledger.statements, ledger.rows, report.error), (50, 500, 500, None));
        let refused = run(&plan, &target, &repeated("selec 1", true, 3), None, &mut Quiet::default()).expect("it runs");
        assert_eq!((refused.ledger.succeeded(), refused.error.is_some()), (0, true));
        target
    }

    fn script(target: &dyn Target, text: &str) -> ScriptMix {
        let options = ScriptOptions { is_prepared: true, ..ScriptOptions::new(target.dialect()) };
        let script = LoadScript::parse("test.sql", text, &options).unwrap_or_else(|errors| panic!("{}", errors[0]));
        ScriptMix::new(vec![(script, 1)]).expect("it has a weight")
    }

    fn count(target: &dyn Target, question: &str) -> String {
        let mut session = target.connect(Duration::from_secs(20)).expect("it listens");
        session.keep_last_row(true);
        let reply = crate::session::ask(&mut *session, &SessionRequest::plain(question)).expect("it answers");
        let crate::session::SessionReply::Done { last_row: Some(row), .. } = reply else { panic!("{reply:?}") };
        row[0].clone().expect("a number")
    }

    fn arrange(target: &dyn Target) {
        let mut session = target.connect(Duration::from_secs(20)).expect("it listens");
        for statement in ["create table once (a int primary key)", "create table log (a int)"] {
            crate::session::ask(&mut *session, &SessionRequest::plain(statement)).expect("it answers");
        }
    }

    /// In each of four transactions the second statement fails but for the first time.
    const FAILS: &str = "\\startpipeline\ninsert into log values (1);\ninsert into once values (1);\n\
                         insert into log values (2);\n\\endpipeline\nselect count(*) from log;\n";

    #[test]
    fn postgresql_undoes_a_pipeline_with_an_error_and_the_connection_goes_on() {
        let server = match PostgresServer::start(&[]) {
            Ok(server) => server,
            Err(reason) => return left_out(&reason),
        };
        let address =
            format!("host={} port={} user=postgres dbname=postgres", server.directory().display(), server.port());
        let target = is_pipelined(&address);
        arrange(&*target);
        let plan = LoadPlan { events: Some(4), goes_on_after_errors: true, ..plan(closed(), 1, 1, 60_000) };
        let workload: &dyn Workload = &script(&*target, FAILS);
        let report = run(&plan, &target, workload, None, &mut Quiet::default()).expect("it runs");
        let failed = report.ledger.failed.get(&Failing::Refused).copied();
        assert_eq!((report.ledger.succeeded(), failed, report.error), (1, Some(3), None));
        assert_eq!(count(&*target, "select count(*) from log"), "2", "what failed left nothing");
    }

    #[test]
    fn mariadb_carries_out_what_is_behind_an_error() {
        let server = match MariaDbServer::start(&[]) {
            Ok(server) => server,
            Err(reason) => return left_out(&reason),
        };
        let target = is_pipelined(&format!("mysql://root@127.0.0.1:{}/mysql", server.port()));
        arrange(&*target);
        let plan = LoadPlan { events: Some(4), goes_on_after_errors: true, ..plan(closed(), 1, 1, 60_000) };
        let workload: &dyn Workload = &script(&*target, FAILS);
        let report = run(&plan, &target, workload, None, &mut Quiet::default()).expect("it runs");
        let failed = report.ledger.failed.get(&Failing::Refused).copied();
        assert_eq!((report.ledger.succeeded(), failed, report.error), (1, Some(3), None));
        assert_eq!(count(&*target, "select count(*) from log"), "8", "each statement is by itself");
    }
}
