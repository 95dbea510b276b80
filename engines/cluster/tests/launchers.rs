//! Workers started by the real Slurm and the real sshd. A worker is a script here; what it does with a spool is tested elsewhere.

mod stage;

use cluster::launcher::{
    EngineEnvironment, Launcher, LauncherFault, LocalLauncher, SlurmLauncher, SshHost, SshLauncher, WorkerRequest,
};
use stage::{Stage, environment, until};
use std::time::Duration;
use testkit::program::left_out;
use testkit::slurm::{Slurm, SlurmOptions};

fn slurm(options: &SlurmOptions) -> Option<(Slurm, SlurmLauncher)> {
    let slurm = Slurm::start(options).map_err(|reason| left_out(&reason)).ok()?;
    let launcher = SlurmLauncher::new(Some("p".to_owned()), environment(slurm.environment()));
    Some((slurm, launcher))
}

fn with_settings(settings: &[&str]) -> SlurmOptions {
    SlurmOptions { settings: settings.iter().map(|&line| line.to_owned()).collect(), ..SlurmOptions::default() }
}

#[test]
fn slurm_starts_workers_looks_at_them_and_ends_them() {
    let Some((_slurm, mut launcher)) = slurm(&SlurmOptions::default()) else { return };
    let stage = Stage::new();
    let limits = launcher.limits().expect("it answers");
    assert_eq!((limits.workers_max, limits.nodes, limits.cores), (Some(10001), Some(2), Some(1)));
    assert!(limits.queue.is_some_and(|queue| queue < Duration::from_secs(600)), "{limits:?}");
    let started = launcher.start(&stage.request(5, 3)).expect("it takes them");
    assert_eq!((started.workers, started.refused), (3, None));
    until(|| launcher.look(&started.id).expect("it answers").running == 2);
    let state = launcher.look(&started.id).expect("it answers");
    assert_eq!((state.pending, state.running), (1, 2), "there are two nodes of one core");
    until(|| stage.said(5).contains("started") && stage.said(6).contains("started"));
    assert_eq!(stage.said(5), stage.expected(5));
    launcher.end(&started.id).expect("it agrees");
    until(|| launcher.look(&started.id).expect("it answers").running == 0);
    assert_eq!(launcher.look(&started.id).expect("it answers").pending, 0);
    until(|| stage.said(5).ends_with("ended by TERM\n"));
    launcher.end(&started.id).expect("those that have gone are no error");
}

#[test]
fn slurm_is_given_odd_paths_and_a_number_beyond_the_first() {
    let Some((_slurm, mut launcher)) = slurm(&SlurmOptions { nodes: 1, ..SlurmOptions::default() }) else { return };
    let stage = Stage::at("it's 100% \"odd\" \\ %a\nof two lines;$(x)");
    stage.let_workers_go();
    let started = launcher.start(&stage.request(7, 1)).expect("it takes it");
    until(|| stage.said(7) == stage.expected(7) + "done\n");
    until(|| launcher.look(&started.id).expect("it answers").running == 0);
    assert_eq!(launcher.look(&started.id).expect("it answers").lost, None, "it ended well");
}

#[test]
fn slurm_takes_as_many_as_its_arrays_hold() {
    let Some((_slurm, mut launcher)) = slurm(&with_settings(&["MaxArraySize=5"])) else { return };
    let stage = Stage::new();
    assert_eq!(launcher.limits().expect("it answers").workers_max, Some(5));
    let whole = launcher.start(&stage.request(0, 5)).expect("it takes them");
    assert_eq!((whole.workers, whole.refused), (5, None));
    let part = launcher.start(&stage.request(5, 11)).expect("it takes some");
    let said = part.refused.expect("it says why");
    assert_eq!(part.workers, 5);
    assert!(said.contains("Invalid job array specification"), "{said}");
    for id in [whole.id, part.id] {
        launcher.end(&id).expect("it agrees");
    }
}

#[test]
fn slurm_says_in_its_own_words_why_it_takes_none() {
    let Some((slurm, _)) = slurm(&SlurmOptions { nodes: 1, ..SlurmOptions::default() }) else { return };
    let mut launcher = SlurmLauncher::new(Some("night".to_owned()), environment(slurm.environment()));
    let fault = launcher.limits().expect_err("there is no such partition");
    assert_eq!(fault.to_string(), "sinfo: no partition is called 'night'; there are: p");
    let fault = launcher.start(&Stage::new().request(0, 4)).expect_err("there is no such partition").to_string();
    assert!(fault.contains("invalid partition specified: night"), "{fault}");
    let mut launcher = SlurmLauncher::new(None, environment(slurm.environment()));
    assert_eq!(launcher.look("4711").expect("it has forgotten it").running, 0);
    let request = WorkerRequest { engine_args: vec!["--qos-of-ours".into()], ..Stage::new().request(0, 1) };
    let fault = launcher.start(&request).expect_err("there is no such option").to_string();
    assert!(fault.contains("unrecognized option '--qos-of-ours'"), "{fault}");
}

#[test]
fn slurm_names_what_pending_workers_wait_for_and_what_ended_them() {
    let Some((_slurm, mut launcher)) = slurm(&SlurmOptions { nodes: 1, ..SlurmOptions::default() }) else { return };
    let stage = Stage::new();
    let started = launcher.start(&stage.request(0, 3)).expect("it takes them");
    let mut look = || launcher.look(&started.id).expect("it answers");
    until(|| look().waits.is_some_and(|why| why.contains("2 PENDING: Resources")));
    stage.fail_workers();
    until(|| look().lost.as_deref() == Some("3 FAILED on n1: NonZeroExitCode"));
}

#[test]
fn a_controller_that_does_not_answer_is_a_fault_and_workers_go_on() {
    if std::env::var_os("MH_LONG").is_none() {
        return left_out("a controller that is away for a minute is for the second tier");
    }
    let Some((mut slurm, mut launcher)) = slurm(&SlurmOptions { nodes: 1, ..SlurmOptions::default() }) else { return };
    let stage = Stage::new();
    let started = launcher.start(&stage.request(0, 1)).expect("it takes it");
    until(|| stage.said(0) == stage.expected(0));
    let is_no_answer = |fault| matches!(fault, LauncherFault::Silent { .. } | LauncherFault::Refused { .. });
    slurm.suspend_controller();
    assert!(is_no_answer(launcher.look(&started.id).expect_err("nobody answers")));
    slurm.resume_controller();
    until(|| launcher.look(&started.id).is_ok_and(|state| state.running == 1));
    slurm.stop_controller();
    assert!(is_no_answer(launcher.look(&started.id).expect_err("nobody answers")));
    assert!(launcher.start(&stage.request(1, 1)).is_err());
    slurm.start_controller().expect("it starts");
    until(|| launcher.look(&started.id).is_ok_and(|state| state.running == 1));
    launcher.end(&started.id).expect("it agrees");
    until(|| stage.said(0).ends_with("ended by TERM\n"));
}

#[test]
fn slurm_takes_the_time_limits_that_are_asked_for() {
    let Some((slurm, mut launcher)) = slurm(&SlurmOptions { nodes: 1, ..SlurmOptions::default() }) else { return };
    let stage = Stage::new();
    for (seconds, shown) in [(59, "1:00"), (3661, "1:02:00"), (360_000, "4-04:00:00")] {
        let request = WorkerRequest { time: Some(Duration::from_secs(seconds)), ..stage.request(0, 1) };
        let id = launcher.start(&request).expect("it takes it").id;
        assert_eq!(slurm.output("squeue", &["-h", "-j", &id, "-o", "%l"]).trim(), shown, "whole minutes");
        launcher.end(&id).expect("it agrees");
    }
}

#[test]
fn this_machine_starts_workers_looks_at_them_and_ends_them() {
    let stage = Stage::at("a 'dir' of\n\"two\" lines");
    let mut launcher = LocalLauncher::new(environment([]));
    let started = launcher.start(&stage.request(3, 2)).expect("it takes them");
    assert_eq!((started.workers, started.refused), (2, None));
    until(|| stage.said(3) == stage.expected(3) && stage.said(4) == stage.expected(4));
    assert_eq!(launcher.look(&started.id).expect("it is this machine").running, 2);
    let mut another = LocalLauncher::new(environment([]));
    assert_eq!(another.look(&started.id).expect("it is this machine").running, 2, "whoever attaches sees them");
    launcher.end(&started.id).expect("they end");
    assert_eq!(launcher.look(&started.id).expect("it is this machine").running, 0);
    assert_eq!(stage.said(4), stage.expected(4) + "ended by TERM\n");
    let elsewhere = launcher.look("another-boot:1@2").expect("it is no error");
    assert_eq!((elsewhere.running, elsewhere.lost.is_some()), (0, true));
    assert!(launcher.end("another-boot:1@2").is_err());
}

#[test]
fn this_machine_says_why_it_starts_none() {
    let stage = Stage::new();
    let mut launcher = LocalLauncher::new(environment([]));
    let request = WorkerRequest { program: "/nowhere/mh".into(), ..stage.request(0, 2) };
    let fault = launcher.start(&request).expect_err("there is no such program");
    assert!(matches!(&fault, LauncherFault::Run { command, .. } if command == "/nowhere/mh"), "{fault:?}");
    let request = WorkerRequest { spool: "/nowhere".into(), ..stage.request(0, 2) };
    assert!(launcher.start(&request).is_err(), "there is no place for messages");
}

#[test]
fn hosts_start_workers_that_outlive_the_connection() {
    let sshd = match stage::Sshd::start() {
        Ok(sshd) => sshd,
        Err(reason) => return left_out(&reason),
    };
    let stage = Stage::at("a 'dir' of\n\"two\" lines");
    let hosts = format!("127.0.0.1:{0},[127.0.0.1]:{0}", sshd.port());
    let hosts = SshHost::list(&hosts).expect("hosts");
    let mut launcher = SshLauncher::new(hosts, sshd.client_words(), environment([]));
    let limits = launcher.limits().expect("they answer");
    assert_eq!((limits.workers_max, limits.nodes), (Some(2), Some(2)));
    assert!(limits.cores.is_some_and(|cores| cores > 0));
    let started = launcher.start(&stage.request(0, 2)).expect("they start");
    assert_eq!((started.workers, started.refused), (2, None));
    until(|| stage.said(0) == stage.expected(0) && stage.said(1) == stage.expected(1));
    assert_eq!(launcher.look(&started.id).expect("nobody is asked").running, 2);
    launcher.end(&started.id).expect("they end");
    assert_eq!(stage.said(1), stage.expected(1) + "ended by TERM\n");
}

#[test]
fn a_host_whose_key_is_not_known_is_refused_in_sshs_words() {
    let sshd = match stage::Sshd::start() {
        Ok(sshd) => sshd,
        Err(reason) => return left_out(&reason),
    };
    let hosts = SshHost::list(&format!("127.0.0.1:{}", sshd.port())).expect("hosts");
    let mut launcher =
        SshLauncher::new(hosts, sshd.words_without_its_key(), EngineEnvironment::new("/usr/bin:/bin".as_ref(), []));
    let fault = launcher.start(&Stage::new().request(0, 1)).expect_err("its key is not known").to_string();
    assert!(fault.contains("Host key verification failed"), "{fault}");
}
