//! `--on slurm` on a real Slurm with virtual nodes of one CPU, which each test starts and stops: elements, nodes and the controller go in
//! the middle of a run. Workers among themselves are the matter of `nodes`.

use super::ends::marked;
use super::nodes::{MARKED, SLOW, done, no_spool_is_left, numbers, runs, submission};
use super::{stdout, xjobs};
use crate::place::{Place, Running, binary, is_long, names_in, said, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::Duration;
use testkit::program::{Exit, ProgramOutcome, TestProgram, left_out};
use testkit::slurm::{Slurm, SlurmOptions};

/// A job that takes a fifth of a second, so that a run lasts some seconds.
const STEADY: &str = "echo $1 >> log; sleep 0.2; echo out $1";

/// A Slurm, and the directory in which lists are submitted to it.
struct Site {
    slurm: Slurm,
    place: Place,
}

impl Site {
    fn start(options: &SlurmOptions) -> Option<Self> {
        Self::at(Place::new(), options)
    }

    fn at(place: Place, options: &SlurmOptions) -> Option<Self> {
        let slurm = Slurm::start(options).map_err(|reason| left_out(&reason)).ok()?;
        Some(Self { slurm, place })
    }

    /// Two nodes, with these lines in slurm.conf.
    fn with(settings: &[&str]) -> Option<Self> {
        let settings = settings.iter().map(|line| (*line).to_owned()).collect();
        Self::start(&SlurmOptions { settings, ..SlurmOptions::default() })
    }

    /// `mh xjobs --on slurm` with these arguments, to its end.
    fn run(&self, arguments: &[&str], list: &str) -> ProgramOutcome {
        self.run_with(&[], &[&["--on", "slurm"], arguments].concat(), list)
    }

    /// The same with programs in front of Slurm's.
    fn run_with(&self, programs: &[&Path], arguments: &[&str], list: &str) -> ProgramOutcome {
        let program = TestProgram::at(binary()).in_directory(self.place.directory()).with_variable("MH_CREW_DIR", "");
        let program = self
            .slurm
            .environment()
            .into_iter()
            .fold(program, |program, (name, value)| program.with_variable(name, value));
        let words = ["xjobs"].into_iter().chain(arguments.iter().copied());
        program.with_variable("PATH", path(programs)).run(words, list.as_bytes()).expect("the program starts")
    }

    /// Starts the same on two workers with the spool `s`; it prints into files.
    fn submit(&self, arguments: &[&str], list: &str) -> Running {
        let common = ["--on", "slurm", "--nodes", "2", "--cores", "1", "--spool", "s"];
        let mut command = submission(&self.place, &[&common, arguments].concat(), list);
        Running { child: command.envs(self.slurm.environment()).spawn().expect("the program starts") }
    }

    /// The same, until some jobs are done.
    fn submit_and_wait(&self, arguments: &[&str], count: usize) -> Running {
        let mut running = self.submit(arguments, &numbers(count));
        wait_until("some jobs are done", || {
            let ended = running.child.try_wait().expect("it is our child");
            assert_eq!(ended, None, "{}", self.said());
            done(&self.place) > 5
        });
        running
    }

    fn said(&self) -> String {
        String::from_utf8_lossy(&self.place.read("said")).into_owned()
    }

    /// Elements that Slurm has in these states, `ID_NUMBER`.
    fn elements(&self, states: &str) -> Vec<String> {
        let lines = self.slurm.output("squeue", &["-h", "-r", "-t", states, "-o", "%i"]);
        lines.lines().map(str::to_owned).collect()
    }

    /// No element waits or runs, and no worker is left.
    fn has_nothing_left(&self) {
        wait_until("Slurm has nothing left", || self.elements("PD,R").is_empty());
    }

    /// Removes what a run left here.
    fn clean(&self) {
        self.has_nothing_left();
        for name in ["log", "said", "printed", "list"].iter().filter(|name| self.place.has(name)) {
            std::fs::remove_file(self.place.path(name)).expect("it is ours");
        }
        if self.place.has("s") {
            std::fs::remove_dir_all(self.place.path("s")).expect("it is ours");
        }
    }

    /// Every job was run and printed; those that were under way on what died, maybe more than once, but printed once.
    fn all_are_done(&self, count: usize) {
        let parts = names_in(&self.place.path("s/done"));
        // A line a job, and one at the end.
        let lines = parts
            .iter()
            .map(|part| self.place.read(format!("s/done/{part}")).iter().filter(|&&byte| byte == b'\n').count() - 1);
        assert_eq!((runs(&self.place).len(), lines.sum()), (count, count), "{}", self.said());
        let printed = String::from_utf8(self.place.read("printed")).expect("text");
        let mut lines: Vec<&str> = printed.lines().collect();
        lines.sort_unstable();
        lines.dedup();
        assert_eq!((lines.len(), printed.lines().count()), (count, count), "{}", self.said());
    }

    fn each_ran_once(&self) {
        assert!(runs(&self.place).values().all(|times| *times == 1), "{:?}", runs(&self.place));
    }
}

/// PATH with these directories in front.
fn path(programs: &[&Path]) -> String {
    let own = std::env::var("PATH").expect("tests have one");
    programs.iter().map(|directory| format!("{}:", directory.display())).collect::<String>() + &own
}

/// A directory with a program of ours in place of one of Slurm's.
fn instead(place: &Place, name: &str, script: &str) -> std::path::PathBuf {
    let directory = place.path(format!("instead-of-{name}"));
    place.write(format!("instead-of-{name}/{name}"), format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(directory.join(name), std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    directory
}

/// Ends of jobs in a journal: their words, and how they came out.
fn ends(journal: &[u8]) -> BTreeMap<String, String> {
    let lines = std::str::from_utf8(journal).expect("text").lines();
    let ends = lines.map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    let ends = ends.filter(|end| !end["outcome"].is_null());
    ends.map(|end| (end["key"].to_string() + &end["argv"].to_string(), format!("{}{}", end["outcome"], end["exit"])))
        .collect()
}

/// The lines of a message, without the node and in no order.
fn without_nodes(text: &str) -> BTreeSet<String> {
    text.lines().map(|line| line.split(" (on ").next().expect("one").to_owned()).collect()
}

#[test]
fn a_list_on_two_nodes_comes_out_as_on_one_machine() {
    let Some(site) = Site::with(&[]) else { return };
    let script = "echo out $1; echo err $1 >&2; exit $(($1 % 3 == 0))";
    let arguments = |journal| ["-k", "--tag", "--journal", journal, "sh", "-c", script, "sh"];
    let here = xjobs(&site.place, &arguments("here"), numbers(30));
    let there = site.run(&arguments("there"), &numbers(30));
    assert_eq!((stdout(&there), there.exit), (stdout(&here), Exit::Code(1)), "{}", said(&there));
    assert_eq!(without_nodes(&said(&there)), without_nodes(&said(&here)));
    assert!(said(&there).contains("exit code 1 (on n"), "{}", said(&there));
    let (one, other) = (ends(&site.place.read("here")), ends(&site.place.read("there")));
    assert!(one.len() == 30 && one == other, "{one:?} {other:?}");
    // A job waits until both nodes have one, and none shares its node's only core, though this machine has more.
    let meet = "mkdir busy-$SLURMD_NODENAME || exit 9; touch $SLURMD_NODENAME; \
        until test -e n1 -a -e n2; do sleep 0.02; done; sleep 0.05; rmdir busy-$SLURMD_NODENAME; echo $SLURMD_NODENAME";
    let both = site.run(&["--nodes", "2", "--cores", "1", "sh", "-c", meet], &numbers(12));
    assert_eq!(both.exit, Exit::Code(0), "{}", said(&both));
    assert_eq!(stdout(&both).lines().collect::<BTreeSet<_>>(), BTreeSet::from(["n1", "n2"]));
    site.has_nothing_left();
    assert!(no_spool_is_left(&site.place), "{:?}", site.place.names());
}

#[test]
fn barriers_after_odd_names_and_time_limits_hold_on_nodes() {
    let Some(site) = Site::with(&[]) else { return };
    let list = "{\"id\":\"x\",\"argv\":[\"sh\",\"-c\",\"sleep 0.3; echo x >> log2\"]}\n\
        {\"argv\":[\"sh\",\"-c\",\"echo z >> log2\"],\"after\":[\"x\"]}\n%%\n\
        {\"argv\":[\"sh\",\"-c\",\"sleep 0.3; echo a >> log2\"]}\n{\"argv\":[\"sh\",\"-c\",\"echo a >> log2\"]}\n%%\n\
        {\"argv\":[\"sh\",\"-c\",\"echo b >> log2\"]}\n";
    let odd = "it's a \"spool\"\nof 100% two $(lines) %a";
    let staged = site.run(&["--nodes", "2", "--cores", "1", "--spool", odd], list);
    assert_eq!(
        (site.place.read("log2"), staged.exit),
        (b"x\nz\na\na\nb\n".to_vec(), Exit::Code(0)),
        "{}",
        said(&staged)
    );
    let logs = names_in(&site.place.path(odd).join("log"));
    assert!(logs.contains(&"0".to_owned()) && logs.contains(&"1".to_owned()), "{logs:?}");
    site.has_nothing_left();
    // Slurm counts whole minutes, workers count seconds.
    let mut timed = site.submit(&["--time", "3", "sh", "-c", STEADY, "sh"], &numbers(40));
    assert_eq!(timed.end().code(), Some(0), "{}", site.said());
    site.all_are_done(40);
    site.each_ran_once();
    assert!(names_in(&site.place.path("s/log")).contains(&"2".to_owned()), "others followed");
    site.has_nothing_left();
}

#[test]
fn limits_of_a_site_mean_fewer_workers_and_no_failure() {
    let Some(site) = Site::with(&["MaxArraySize=5"]) else { return };
    let arguments = ["--nodes", "20", "--cores", "1", "--spool", "s", "sh", "-c", MARKED, "sh"];
    let fewer = site.run(&arguments, &numbers(40));
    assert_eq!(fewer.exit, Exit::Code(0), "{}", said(&fewer));
    assert!(said(&fewer).contains("5 workers in place of 20: slurm starts no more at once"), "{}", said(&fewer));
    assert_eq!((stdout(&fewer).lines().count(), runs(&site.place).len()), (40, 40));
    site.clean();
    // LIE: a limit of submissions needs a database of accounts, so the words of Slurm's own program are said by another one.
    let refuse = "case \"$*\" in *--array=0-[2-9]*) echo 'sbatch: error: AssocMaxSubmitJobLimit\n\
        sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user'\"'\"'s size \
        and/or time limits)' >&2; exit 1;; esac; PATH=${PATH#*:} exec sbatch \"$@\"";
    let sbatch = instead(&site.place, "sbatch", refuse);
    // Nothing that squeue says is needed by a run that goes well.
    let squeue = instead(&site.place, "squeue", "exec sleep 1000.54");
    let arguments = [&["--on", "slurm"], &arguments[..]].concat();
    let halved = site.run_with(&[&sbatch, &squeue], &arguments, &numbers(40));
    assert_eq!(halved.exit, Exit::Code(0), "{}", said(&halved));
    assert!(said(&halved).contains("2 of 5 workers were started: "), "{}", said(&halved));
    assert!(said(&halved).contains("job submit limit"), "{}", said(&halved));
    assert_eq!((stdout(&halved).lines().count(), runs(&site.place).len()), (40, 40));
    site.clean();
}

#[test]
fn a_controller_that_stops_and_a_node_that_dies_cost_time_and_no_job() {
    let Some(mut site) = Site::with(&[]) else { return };
    let (count, pause) = if is_long() { (300, 20) } else { (50, 3) };
    let mut running = site.submit_and_wait(&["sh", "-c", STEADY, "sh"], count);
    site.slurm.stop_controller();
    assert_eq!(running.child.try_wait().expect("it is our child"), None, "in the middle");
    std::thread::sleep(Duration::from_secs(pause));
    site.slurm.start_controller().expect("it starts");
    assert_eq!(running.end().code(), Some(0), "{}", site.said());
    site.all_are_done(count);
    site.each_ran_once();
    assert!(site.said().lines().count() <= 1, "{}", site.said());
    site.clean();
    let mut running = site.submit_and_wait(&["--lease", "2", "sh", "-c", STEADY, "sh"], 50);
    site.slurm.kill_node(2);
    assert_eq!(running.end().code(), Some(0), "{}", site.said());
    site.all_are_done(50);
    let again = runs(&site.place).values().filter(|times| **times > 1).count();
    assert!(again <= 4, "only what was under way is run again: {again}");
    site.has_nothing_left();
}

#[test]
fn elements_that_are_cancelled_are_made_up_for() {
    let Some(site) = Site::with(&[]) else { return };
    let mut running = site.submit_and_wait(&["sh", "-c", STEADY, "sh"], 40);
    let elements = site.elements("R");
    site.slurm.output("scancel", &[&elements[0]]);
    assert_eq!(running.end().code(), Some(0), "{}", site.said());
    site.all_are_done(40);
    site.clean();
    let mut running = site.submit_and_wait(&["sh", "-c", STEADY, "sh"], 40);
    let array = site.elements("R")[0].split('_').next().expect("one").to_owned();
    site.slurm.output("scancel", &[&array]);
    assert_eq!(running.end().code(), Some(0), "{}", site.said());
    site.all_are_done(40);
    assert!(names_in(&site.place.path("s/log")).contains(&"2".to_owned()), "a second array followed");
    site.clean();
    // An administrator who means it.
    let mut running = site.submit(&["--lease", "2", "sleep"], "1000\n1001\n");
    let mut cancelled = BTreeSet::new();
    wait_until("it gives up", || {
        for element in site.elements("R").into_iter().filter(|element| cancelled.insert(element.clone())) {
            let _ended_meanwhile = site.slurm.command("scancel").arg(element).output();
        }
        running.child.try_wait().expect("it is our child").is_some()
    });
    assert_eq!(running.end().code(), Some(1));
    let told = site.said();
    assert!(told.contains("could not go on: workers have ended (") && told.contains("CANCELLED"), "{told}");
    assert!(told.contains("2 chunks left") && told.contains("with --spool"), "{told}");
    site.has_nothing_left();
}

#[test]
fn a_requeued_element_and_one_that_is_killed_at_its_limit_lose_nothing() {
    if !is_long() {
        return left_out("Slurm holds a requeued element for two minutes and counts limits in minutes: --long");
    }
    let Some(site) = Site::with(&[]) else { return };
    let mut running = site.submit_and_wait(&["--lease", "2", "sh", "-c", STEADY, "sh"], 100);
    site.slurm.output("scontrol", &["requeue", &site.elements("R")[1]]);
    assert_eq!(running.end().code(), Some(0), "{}", site.said());
    site.all_are_done(100);
    site.clean();
    // Two minutes of work for the one that is left, so that the requeued one comes back to it.
    let mut running = site.submit_and_wait(&["--lease", "2", "sh", "-c", STEADY, "sh"], 800);
    let requeued = site.elements("R")[1].clone();
    site.slurm.output("scontrol", &["requeue", &requeued]);
    wait_until("it is back", || site.elements("R").contains(&requeued));
    assert_eq!(running.end().code(), Some(0), "{}", site.said());
    site.all_are_done(800);
    site.clean();
    // Without --time nobody but Slurm knows of the limit, and no notice comes.
    let limit = "--time=1 --signal=B:CONT@1";
    let mut running = site.submit(&["--engine-args", limit, "--lease", "2", "sh", "-c", STEADY, "sh"], &numbers(800));
    assert_eq!(running.end().code(), Some(0), "{}", site.said());
    site.all_are_done(800);
    assert!(names_in(&site.place.path("s/log")).contains(&"2".to_owned()), "others followed");
}

#[test]
fn interrupts_drain_and_then_end_the_array() {
    let Some(site) = Site::with(&[]) else { return };
    let mut running = site.submit_and_wait(&["sh", "-c", STEADY, "sh"], 40);
    let signal = |running: &Running, signal| {
        kill_process(Pid::from_child(&running.child), signal).expect("it has not been waited for");
    };
    signal(&running, Signal::INT);
    assert_eq!(running.end().signal(), Some(Signal::INT.as_raw()), "{}", site.said());
    assert!(site.said().contains("no more jobs start"), "{}", site.said());
    let before = runs(&site.place).len();
    assert!(before < 40, "{before}");
    site.has_nothing_left();
    let mut rest = site.submit(&["sh", "-c", STEADY, "sh"], &numbers(40));
    assert_eq!(rest.end().code(), Some(0), "{}", site.said());
    site.all_are_done(40);
    site.each_ran_once();
    site.clean();
    // The mark keeps this test's sleepers apart from others.
    let mark = format!("1000.{}", std::process::id());
    let mut running = site.submit(&["sleep"], &format!("{mark}1\n{mark}2\n{mark}3\n"));
    let sleepers = || marked(&mark).len();
    wait_until("jobs run on both", || sleepers() >= 2);
    signal(&running, Signal::INT);
    wait_until("it drains", || site.place.has("s/stop"));
    signal(&running, Signal::INT);
    assert_eq!(running.end().signal(), Some(Signal::INT.as_raw()), "{}", site.said());
    wait_until("squeue is empty", || site.slurm.output("squeue", &["-h"]).is_empty());
    assert_eq!(sleepers(), 0);
}

#[test]
fn a_run_goes_on_without_its_submitter_and_with_two() {
    let Some(site) = Site::with(&[]) else { return };
    let attach = || site.run_with(&[], &["--attach", "s", "-k"], "");
    let expected: String = (1..=40).map(|number| format!("out {number}\n")).collect();
    let mut running = site.submit_and_wait(&["sh", "-c", STEADY, "sh"], 40);
    kill_process(Pid::from_child(&running.child), Signal::KILL).expect("it runs");
    running.end();
    let attached = attach();
    assert_eq!((stdout(&attached), attached.exit), (expected.clone(), Exit::Code(0)), "{}", said(&attached));
    site.each_ran_once();
    site.clean();
    let mut running = site.submit_and_wait(&["sh", "-c", STEADY, "sh"], 40);
    kill_process(Pid::from_child(&running.child), Signal::HUP).expect("it runs");
    assert_eq!(running.end().signal(), Some(Signal::HUP.as_raw()));
    assert!(site.said().contains("the run goes on without this terminal; ") && site.said().contains("--attach"));
    let attached = attach();
    assert_eq!((stdout(&attached), attached.exit), (expected, Exit::Code(0)), "{}", said(&attached));
    site.each_ran_once();
    site.clean();
    let mut first = site.submit_and_wait(&["sh", "-c", SLOW, "sh"], 40);
    let mut second = site.submit(&["sh", "-c", SLOW, "sh"], &numbers(40));
    assert_eq!((first.end().code(), second.end().code()), (Some(0), Some(0)), "{}", site.said());
    assert_eq!((runs(&site.place).len(), done(&site.place)), (40, 40));
    site.each_ran_once();
    site.clean();
}

#[test]
fn a_spool_that_a_node_does_not_see_is_reported_and_nothing_runs_there() {
    if !rustix::process::geteuid().is_root() {
        return left_out("only root may hide a directory from a node");
    }
    let place = Place::new();
    place.write("hidden/list", "");
    let hidden = Some((2, place.path("hidden")));
    let Some(site) = Site::at(place, &SlurmOptions { hidden, ..SlurmOptions::default() }) else { return };
    let script = "echo $1 >> log; sleep 0.4; echo $SLURMD_NODENAME";
    let job = ["sh", "-c", script, "sh"];
    let one = site.run(&[&["--nodes", "2", "--cores", "1", "--spool", "hidden/s"], &job[..]].concat(), &numbers(20));
    assert_eq!((stdout(&one), one.exit), ("n1\n".repeat(20), Exit::Code(0)), "{}", said(&one));
    assert!(said(&one).contains("1 FAILED on n2: JobLaunchFailure"), "{}", said(&one));
    let only = ["--nodes", "1", "--cores", "1", "--engine-args", "--nodelist=n2", "--spool", "hidden/t"];
    let none = site.run(&[&only, &job[..]].concat(), &numbers(20));
    assert_eq!((stdout(&none).as_str(), none.exit, runs(&site.place).len()), ("", Exit::Code(1), 20));
    let directory = site.place.path("hidden/t").display().to_string();
    assert!(said(&none).contains("on n2") && said(&none).contains(&directory), "{}", said(&none));
    assert!(said(&none).contains("no worker has written there"), "{}", said(&none));
    site.has_nothing_left();
}

#[test]
fn without_slurm_the_error_says_what_was_looked_for() {
    let place = Place::new();
    place.write("programs/none", "");
    let run = |arguments: &[&str]| {
        let program = TestProgram::at(binary()).in_directory(place.directory()).with_variable("MH_CREW_DIR", "");
        let program = program.with_variable("PATH", place.path("programs"));
        program.run(["xjobs"].into_iter().chain(arguments.iter().copied()), b"1\n2\n").expect("the program starts")
    };
    let none = run(&["--on", "slurm", "/bin/echo"]);
    assert_eq!((stdout(&none).as_str(), none.exit), ("", Exit::Code(1)));
    assert!(
        said(&none).contains("there is no 'sbatch' on PATH") && said(&none).contains("--on local:N"),
        "{}",
        said(&none)
    );
    assert_eq!(place.names(), ["programs"]);
    let here = run(&["--on", "auto", "-k", "/bin/echo"]);
    assert_eq!((stdout(&here).as_str(), here.exit), ("1\n2\n", Exit::Code(0)), "{}", said(&here));
}
