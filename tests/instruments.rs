//! The instruments on real processes that do on purpose what is to be found: spin, crowd one CPU, use up a quota, wait for a disk.
//! Loads have the highest priority where root may give it, so that neighbours of the test do not change what they are.

use crate::place::{Place, binary, said};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use testkit::program::{Exit, ProgramOutcome, TestProgram, left_out};

/// A load that ends with the test.
struct Load {
    child: Child,
}

impl Load {
    fn start(program: &str, arguments: &[&str], directory: &Path) -> Self {
        // In a session of its own, which priorities are of where the scheduler groups processes by sessions.
        let mut command = Command::new("setsid");
        command
            .arg(program)
            .args(arguments)
            .current_dir(directory)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .stdout(Stdio::null());
        Self { child: command.spawn().expect("the load starts") }
    }

    fn spinner(directory: &Path) -> Self {
        // Nobody ends it where the test is killed.
        Self::start("sh", &["-c", "ulimit -t 900; while :; do :; done"], directory)
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn on_cpu(self, cpu: usize) -> Self {
        let mut set = CpuSet::new();
        set.set(cpu);
        sched_setaffinity(Some(self.pid()), &set).expect("a child may be moved");
        self
    }

    /// Before all others that are not real-time. False where we may not. Real time itself would be less: of that the kernel
    /// keeps a twentieth for the others, whoever they are.
    fn goes_first(&self) -> bool {
        let session = format!("/proc/{}/autogroup", self.number());
        if Path::new(&session).exists() {
            until_it_is_itself(self);
            return fs::write(session, "-20").is_ok();
        }
        let set = Command::new("renice").args(["-n", "-20", "-p", &self.number()]).stdout(Stdio::null()).status();
        set.is_ok_and(|status| status.success())
    }

    fn number(&self) -> String {
        self.child.id().to_string()
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let _it_may_have_ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// Waits until `setsid` has become the load.
fn until_it_is_itself(load: &Load) {
    let name = format!("/proc/{}/comm", load.number());
    let began = Instant::now();
    while fs::read_to_string(&name).is_ok_and(|name| name == "setsid\n") {
        assert!(began.elapsed().as_secs() < 60, "it never began");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn first_cpu() -> usize {
    let allowed = rustix::thread::sched_getaffinity(None).expect("Linux tells");
    (0..CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu)).expect("we run on one")
}

fn ceiling(place: &Place, load: &Load, seconds: &str) -> ProgramOutcome {
    let number = load.number();
    let words = ["ceiling", seconds, number.as_str()];
    TestProgram::at(binary()).in_directory(place.directory()).run(words, b"").expect("the program starts")
}

#[track_caller]
fn assert_verdict(outcome: &ProgramOutcome, code: i32, begins: &str) {
    let text = String::from_utf8_lossy(&outcome.stdout);
    assert!(outcome.exit == Exit::Code(code) && text.starts_with(begins), "{outcome:?}\n{text}");
}

/// What `mh ceiling` says of a load that `is_undisturbed` by programs besides the test, which can take its CPU even from the
/// highest priority: then the truth is another one, and it is asked again. None when there is no peace.
fn undisturbed(
    place: &Place,
    load: &Load,
    seconds: &str,
    is_undisturbed: impl Fn(Spent) -> bool,
) -> Option<ProgramOutcome> {
    (0..20).find_map(|_| {
        let (before, idle, began) = (Spent::by(load), idle_ticks(), Instant::now());
        let outcome = ceiling(place, load, seconds);
        let (after, wall) = (Spent::by(load), began.elapsed().as_nanos() as f64);
        let is_idle = (idle_ticks() - idle) * 1e7 / wall > 0.3;
        let spent =
            Spent { ran: (after.ran - before.ran) / wall, waited: (after.waited - before.waited) / wall, is_idle };
        is_undisturbed(spent).then_some(outcome)
    })
}

/// What a load's own clocks say: nanoseconds, or a share of the time between two looks.
struct Spent {
    ran: f64,
    waited: f64,
    /// Whether a CPU of the machine had little to do meanwhile.
    is_idle: bool,
}

/// Hundredths of a second that CPUs had nothing to run.
fn idle_ticks() -> f64 {
    let text = fs::read_to_string("/proc/stat").expect("Linux tells");
    text.split_whitespace().skip(4).take(2).filter_map(|word| word.parse::<f64>().ok()).sum()
}

impl Spent {
    fn by(load: &Load) -> Self {
        let text = fs::read_to_string(format!("/proc/{}/schedstat", load.number())).expect("the load is there");
        let mut words = text.split(' ').map(|word| word.trim().parse().expect("a number"));
        Self {
            ran: words.next().expect("time on a CPU"),
            waited: words.next().expect("time in the run queue"),
            is_idle: true,
        }
    }
}

/// A control group with a quota of version 1, removed at the end.
struct Quota {
    directory: PathBuf,
}

impl Quota {
    fn of(microseconds: u32) -> Option<Self> {
        let directory = PathBuf::from(format!("/sys/fs/cgroup/cpu/mh-test-{}-{microseconds}", std::process::id()));
        fs::create_dir(&directory).ok()?;
        let quota = Self { directory };
        fs::write(quota.directory.join("cpu.cfs_period_us"), "100000").ok()?;
        fs::write(quota.directory.join("cpu.cfs_quota_us"), microseconds.to_string()).ok()?;
        // Its neighbours wait for it as long as it has a quota left.
        fs::write(quota.directory.join("cpu.shares"), "262144").ok()?;
        Some(quota)
    }

    fn take_in(&self, load: &Load) {
        fs::write(self.directory.join("cgroup.procs"), load.number()).expect("root may move its processes");
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        let _still_in_use = fs::remove_dir(&self.directory);
    }
}

fn finds_a_ceiling(times: u32) {
    let place = Place::new();
    let load = Load::spinner(place.directory()).on_cpu(first_cpu());
    if !load.goes_first() {
        return left_out("ceiling of a spinner: only root may keep its neighbours off its CPU");
    }
    for _ in 0..times {
        let Some(outcome) = undisturbed(&place, &load, "1", |spent| spent.ran > 0.985) else {
            return left_out("ceiling of a spinner: other programs take its CPU all the time");
        };
        assert_verdict(&outcome, 3, "maxed out: sh (");
    }
}

fn finds_starvation(times: u32) {
    let place = Place::new();
    let loads = [(); 2].map(|()| Load::spinner(place.directory()).on_cpu(first_cpu()));
    (0..times).for_each(|_| assert_verdict(&ceiling(&place, &loads[0], "1"), 4, "short of CPUs: sh ("));
}

fn finds_throttling(times: u32) {
    let place = Place::new();
    let Some(quota) = Quota::of(30_000) else {
        return left_out("throttling by a quota: no control group of version 1 can be made here");
    };
    let load = Load::spinner(place.directory());
    quota.take_in(&load);
    // Where neighbours leave it less than its quota, it is short of CPUs and not throttled.
    let outcomes: Option<Vec<ProgramOutcome>> =
        (0..times).map(|_| undisturbed(&place, &load, "1", |spent| spent.ran > 0.27)).collect();
    drop(load);
    let Some(outcomes) = outcomes else {
        return left_out("throttling by a quota: other programs take its CPU all the time");
    };
    outcomes.iter().for_each(|outcome| assert_verdict(outcome, 5, "throttled: sh ("));
}

/// Whether what neither ran nor waited for a CPU is far more than the half of the time that the verdict asks for.
fn is_at_the_disk(spent: Spent) -> bool {
    spent.is_idle && spent.ran + spent.waited < 0.2
}

fn finds_disk_sleep(times: u32) {
    let place = Place::new();
    // A directory in memory never waits for a disk.
    let directory = Path::new("/var/tmp");
    let name = format!("mh-test-{}", std::process::id());
    let Some(compiler) = TestProgram::find("cc") else { return left_out("disk sleep: needs a C compiler (cc)") };
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/instruments/writer.c");
    let compiled =
        compiler.in_directory(place.directory()).run(["-O2", "-o", "mh-writer", source], b"").expect("cc starts");
    compiled.stdout_of_success();
    let writer = place.path("mh-writer");
    let load = Load::start(writer.to_str().expect("a name of ours"), &[&name], directory);
    let is_first = load.goes_first();
    let outcomes: Option<Vec<ProgramOutcome>> =
        (0..times).map(|_| undisturbed(&place, &load, "3", is_at_the_disk)).collect();
    drop(load);
    let _it_was_never_made = fs::remove_file(directory.join(name));
    if !is_first {
        return left_out("disk sleep: only root may keep its neighbours off its CPU");
    }
    let Some(outcomes) = outcomes else {
        return left_out("disk sleep: the disk is too fast, or other programs take its CPU all the time");
    };
    outcomes.iter().for_each(|outcome| assert_verdict(outcome, 7, "bound by I/O: mh-writer ("));
}

#[test]
fn each_state_that_is_made_on_purpose_is_found() {
    // One after the other: they would be each other's neighbours.
    finds_a_ceiling(1);
    finds_starvation(1);
    finds_throttling(1);
    finds_disk_sleep(1);
}

#[test]
#[ignore = "takes minutes: the long tier"]
fn no_verdict_of_a_hundred_is_wrong() {
    finds_a_ceiling(100);
    finds_starvation(100);
    finds_throttling(100);
    finds_disk_sleep(100);
}

#[test]
fn a_sleeping_process_is_not_held_back() {
    let place = Place::new();
    let load = Load::start("sleep", &["60"], place.directory());
    assert_verdict(&ceiling(&place, &load, "1"), 0, "not maxed out: none of the threads asked for is held back.");
}

#[test]
fn a_recording_of_live_processes_replays_as_the_same_table() {
    let place = Place::new();
    let load = Load::spinner(place.directory());
    let run = |words: &[&str]| {
        TestProgram::at(binary())
            .in_directory(place.directory())
            .run(words.iter(), b"")
            .expect("the program starts")
            .stdout_of_success()
    };
    let number = load.number();
    let live = run(&["pstime", "-n", "3", "--record", "rec", "0.2", &number]);
    let replayed = run(&["pstime", "--replay", "rec", &number]);
    assert_eq!(String::from_utf8_lossy(&live), String::from_utf8_lossy(&replayed));
    let refused =
        TestProgram::at(binary()).in_directory(place.directory()).run(["pstime", "--record", "rec", "0.2"], b"");
    assert_eq!(refused.expect("the program starts").exit, Exit::Code(1), "a recording is never overwritten");
}

#[test]
fn a_program_s_times_are_those_the_kernel_charged() {
    let place = Place::new();
    let words = ["pstime", "--", "sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; times"];
    let outcome =
        TestProgram::at(binary()).in_directory(place.directory()).run(words, b"").expect("the program starts");
    let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
    let told = said.lines().find_map(|line| line.strip_prefix("cpu ")).expect("a sum");
    let told: f64 = told.split_whitespace().next().and_then(|word| word.parse().ok()).expect("seconds");
    // `times` says minutes and seconds of the shell itself, user and system, in its first line.
    let own = String::from_utf8_lossy(&outcome.stdout).lines().next().expect("times prints two lines").to_owned();
    let own: f64 = own
        .split_whitespace()
        .filter_map(|word| word.trim_end_matches('s').split_once('m'))
        .filter_map(|(minutes, seconds)| Some(60.0 * minutes.parse::<f64>().ok()? + seconds.parse::<f64>().ok()?))
        .sum();
    // What the shell needs to end comes after it said so; its own steps are of ten milliseconds each.
    assert!(told >= own - 0.02 && told > 0.0, "{told} {own}");
}

/// A loop of the shell makes no calls, and a copy of zeros does nothing else: which is which no tick has to tell.
#[test]
fn user_and_system_time_are_told_apart_by_calls() {
    let place = Place::new();
    let spinner = Load::spinner(place.directory());
    let copier = Load::start("dd", &["if=/dev/zero", "of=/dev/null", "bs=64k"], place.directory());
    let _they_have_time_enough = spinner.goes_first() && copier.goes_first();
    let words = ["pstime", "--exact", "--json", "0.5", &spinner.number(), &copier.number()];
    let outcome =
        TestProgram::at(binary()).in_directory(place.directory()).run(words, b"").expect("the program starts");
    if outcome.exit != Exit::Code(0) {
        let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
        assert!(said.starts_with("mh pstime: could not put programs into the kernel"), "{said}");
        return left_out(&format!("exact measuring is not possible: {}", said.trim_end()));
    }
    let told: serde_json::Value = serde_json::from_slice(&outcome.stdout).expect("JSON");
    assert_eq!(told["tier"], "bpf", "{told}");
    let share = |load: &Load, mode: &str| {
        let rows = told["rows"].as_array().expect("rows");
        let row = rows.iter().find(|row| row["pid"] == load.child.id()).expect("it has a row");
        row[mode].as_f64().expect("a number") / row["cores"].as_f64().expect("a number")
    };
    // The more switches a busy machine makes, the wider is the error that is printed; the truth is inside it.
    let error = share(&spinner, "error_cores");
    if error > 0.02 {
        return left_out("user and system time: other programs take the CPUs all the time");
    }
    assert!(share(&spinner, "user_cores") > 0.999 - error, "{told}");
    assert!(share(&copier, "system_cores") > 0.8, "{told}");
}

#[test]
fn what_an_instrument_starts_begins_with_the_signals_of_the_shell() {
    let place = Place::new();
    let of = |line: &str| {
        let outcome = place.shell(&format!("{line} grep -E '^Sig(Blk|Ign)' /proc/self/status"));
        String::from_utf8_lossy(&outcome.stdout).lines().take(2).collect::<Vec<_>>().join(" ")
    };
    let plain = of("");
    assert_eq!(of("$mh pstime --"), plain);
    assert_eq!(of("$mh systime --"), plain);
    // Who is told to end ends what it started, and says what that used.
    let told_to_end = |instrument: &str, after: &str| {
        let outcome = place.shell(&format!("$mh {instrument} -- sh -c '{after}; kill -TERM $PPID; exec sleep 60'"));
        assert_eq!(outcome.exit, Exit::Code(128 + 15), "{}", said(&outcome));
        outcome
    };
    let outcome = told_to_end("pstime", "true");
    assert!(said(&outcome).contains("'sh' and the children it waited for"), "{}", said(&outcome));
    told_to_end("systime", "true");
    // Where threads are looked at from outside, it must have lived long enough to be seen.
    let outcome = told_to_end("systime", "sleep 0.5");
    assert!(String::from_utf8_lossy(&outcome.stdout).contains("the command and its descendants"), "{outcome:?}");
}

#[test]
fn who_is_not_there_is_no_good_news() {
    let place = Place::new();
    let outcome = place.shell("$mh ceiling 0.1 mh-no-such-process");
    assert_eq!(outcome.exit, Exit::Code(1));
    assert!(said(&outcome).ends_with("could not find 'mh-no-such-process': there is no such process or thread\n"));
    assert_eq!(place.shell("$mh pstime 0.1 mh-no-such-process").exit, Exit::Code(1));
    assert_eq!(place.shell("$mh pstime 0.1 999999999").exit, Exit::Code(1));
    let load = Load::start("sleep", &["60"], place.directory());
    let found = place.shell(&format!("$mh pstime 0.1 {}", load.number()));
    assert_eq!(found.exit, Exit::Code(0));
    let threads = place.shell(&format!("$mh pstime -m 0.1 {}", load.number()));
    let text = String::from_utf8_lossy(&threads.stdout);
    assert!(text.lines().any(|line| line.ends_with(" sleep")), "who was asked for and slept is shown: {text}");
}

/// Half a second with ten programs that each live for less.
fn came_and_went(place: &Place, who_looks: &str) -> String {
    let busy = "./mh-brief -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'";
    let outcome = place.shell(&format!(
        "rm -f stop; cp /bin/sh mh-brief; (until [ -e stop ]; do {busy}; done) & {who_looks} $mh pstime 0.6; touch stop; wait"
    ));
    let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    match text.contains("(tier: no rights") {
        true if rustix::process::geteuid().is_root() => {
            assert!(text.contains("(tiers taskstats and BPF name them)"), "{text}");
        }
        true => assert!(text.contains("(run it as root to see them)"), "{text}"),
        false => assert!(text.contains("\n  ended: ") && text.contains("mh-brief ("), "{text}"),
    }
    text
}

#[test]
fn those_that_came_and_went_are_named_where_that_is_possible() {
    came_and_went(&Place::new(), "");
}

#[test]
fn instances_that_ended_are_counted_where_their_name_is_asked_for() {
    let place = Place::new();
    // It ends once a row has shown it.
    let script = "cp /bin/sh mh-counted; ./mh-counted -c 'while [ ! -e stop ]; do :; done' & \
                  timeout 60 $mh pstime -n 0 0.2 mh-counted | while read -r line; do \
                  case $line in *./mh-counted*) : > stop;; '(ended)'*) echo \"$line\"; break;; esac; done; touch stop; wait";
    let outcome = place.shell(script);
    let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    assert!(text.starts_with("(ended)        processes: mh-counted (1)"), "{text} {}", said(&outcome));
}

/// With the rights of one who administers networks, and with none.
#[test]
fn who_ended_is_named_by_the_accounting_of_tasks() {
    if !rustix::process::geteuid().is_root() || TestProgram::find("setpriv").is_none() {
        return left_out("tiers of pstime: needs root, to give up rights, and setpriv");
    }
    let place = Place::new();
    let text = came_and_went(&place, "setpriv --inh-caps=-all --bounding-set=-all");
    assert!(text.contains("(tier: no rights"), "{text}");
    let text = came_and_went(&place, "setpriv --bounding-set=-all,+net_admin");
    if text.contains("(tier: no rights") {
        return left_out("tier taskstats of pstime: this kernel reports no ended tasks, or not here");
    }
    assert!(text.contains("(tier: taskstats)"), "{text}");
}

#[test]
fn a_terminal_that_obeys_no_orders_gets_plain_text() {
    let place = Place::new();
    if TestProgram::find("script").is_none() {
        return left_out("there is no script(1)");
    }
    let shown = |term: &str| {
        let line = "script -qec \"timeout --foreground -s INT 2 $mh pstime -n 0 0.2\" /dev/null </dev/null";
        String::from_utf8_lossy(&place.shell(&format!("TERM={term} {line}")).stdout).into_owned()
    };
    let (plain, full) = (shown("dumb"), shown("xterm"));
    assert!(!plain.contains('\u{1b}') && plain.contains("average: "), "{plain}");
    assert!(full.contains("\u{1b}[?1049h"), "{full}");
}

#[test]
fn progress_is_drawn_only_where_the_cursor_obeys() {
    let place = Place::new();
    if TestProgram::find("script").is_none() {
        return left_out("there is no script(1)");
    }
    let shown = |term: &str| {
        let line = "script -qec \"echo 1 | $mh xjobs sleep\" /dev/null </dev/null";
        String::from_utf8_lossy(&place.shell(&format!("TERM={term} {line}")).stdout).into_owned()
    };
    assert_eq!(shown("dumb"), "");
    assert!(shown("xterm").contains("1 running"));
}
