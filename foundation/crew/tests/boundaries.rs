//! The budget across what the kernel puts between processes: users, pid and mount namespaces, quota groups, CPU masks. This
//! binary runs itself on the other side. All of it needs root; what cannot be had here is left out by name.
#![expect(clippy::print_stdout, reason = "children tell their parent what happened")]

use crew::budget::census::{Census, census};
use crew::budget::cpu_set::CpuSet;
use crew::budget::row;
use crew::budget::table::{FILE_NAME, MemoryTable};
use crew::budget::{Budget, CrewDirectory, Hand, Lease, MachineWide, Priority, Request, Surroundings, Weight};
use machine::Host;
use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, Lines, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;
use sys::shared_words::SharedWords;
use tempfile::TempDir;
use testkit::program::left_out;

/// CPUs in most of these tables, whatever the machine has: words are numbers, nobody is bound to them.
const CPUS: usize = 4;

/// Users that nobody is.
const USERS: [u32; 2] = [54_321, 54_322];

// ---- The other side ------------------------------------------------------------------------------------------------------

/// Set for a child: what it does, step by step.
const STEPS: &str = "CREW_TEST_STEPS";
/// Where its table's directory is: `in PARENT` (the user's own there), `at DIRECTORY`, or nothing for the usual one.
const DIRECTORY: &str = "CREW_TEST_DIRECTORY";
/// Set where it takes its CPUs and quota as they are instead of [`CPUS`].
const REAL: &str = "CREW_TEST_REAL";

/// Not a test of its own: what a child does. Lives until its standard input ends.
#[test]
fn other_side() {
    let Ok(steps) = std::env::var(STEPS) else { return };
    let told = std::env::var(DIRECTORY).unwrap_or_default();
    let directory = match told.split_once(' ') {
        Some(("in", parent)) => CrewDirectory::of_user_in(Path::new(parent)),
        Some((_, directory)) => CrewDirectory::at(directory),
        None => CrewDirectory::usual(),
    };
    let budget = MachineWide::open(directory, surroundings(std::env::var_os(REAL).is_some()));
    let request =
        |priority| Request { priority, weight: Weight::default(), useful_width: 64, what: "the other side".to_owned() };
    let lease = budget.lease(request(if steps.contains("churn") { Priority::Low } else { Priority::Normal }));
    let mut hands: Vec<Hand> = Vec::new();
    for step in steps.split(", ") {
        let said = match step.split_once(' ').unwrap_or((step, "")) {
            ("why", _) => budget.why_alone().unwrap_or_else(|| "shares".to_owned()),
            ("capacity", _) => budget.capacity().to_string(),
            ("take", _) => {
                hands.push(lease.take());
                "took".to_owned()
            }
            ("try", _) => match lease.try_take() {
                Some(hand) => {
                    hands.push(hand);
                    "had".to_owned()
                }
                None => "had not".to_owned(),
            },
            ("pry", path) => pry(Path::new(path)),
            ("churn", path) => churn(&*lease, Path::new(path)),
            other => panic!("no such step: {other:?}"),
        };
        // On a line of its own: the test runner has begun one.
        println!("\nsays {said}");
    }
    let _ended = std::io::stdin().read_to_end(&mut Vec::new());
    hands.into_iter().for_each(|hand| lease.give_back(hand));
}

fn surroundings(is_real: bool) -> Surroundings {
    let real = Surroundings::look(&Host::real()).expect("a readable /proc");
    if is_real { real } else { Surroundings { cpus: CpuSet::of(0..CPUS), quota: None, ..real } }
}

/// What comes of reading a file, writing to it, and listing its directory.
fn pry(table: &Path) -> String {
    let kind = |outcome: std::io::Result<()>| {
        outcome.map_or_else(|error| format!("{:?}", error.kind()), |()| "done".to_owned())
    };
    let read = kind(File::open(table).map(drop));
    let write = kind(File::options().write(true).open(table).map(drop));
    let list = kind(fs::read_dir(table.parent().expect("a directory")).map(drop));
    format!("{read} {write} {list}")
}

/// Words of the counter file: hands in use now, the most at once, takings.
const COUNTERS: usize = 3;
const TAKINGS: u64 = 600;

/// Takes and gives back with three threads, counting in memory that all children share how many hands are in use.
fn churn(lease: &dyn Lease, counters: &Path) -> String {
    let file = File::options().read(true).write(true).open(counters).expect("the counters are there");
    let counters = SharedWords::map(&file, COUNTERS).expect("they can be mapped");
    let words = counters.words();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while words[2].fetch_add(1, Ordering::SeqCst) < TAKINGS {
                    let hand = lease.take();
                    let in_use = words[0].fetch_add(1, Ordering::SeqCst) + 1;
                    words[1].fetch_max(in_use, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_micros(300));
                    let _looked = lease.must_return(&hand);
                    words[0].fetch_sub(1, Ordering::SeqCst);
                    lease.give_back(hand);
                }
            });
        }
    });
    "churned".to_owned()
}

/// This side's view of a child.
struct OtherSide {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    leash: Option<ChildStdin>,
}

impl OtherSide {
    /// Starts this binary behind `wrapper`, a command line that ends by executing what follows it.
    fn start(wrapper: &[&str], program: &Path, directory: &str, steps: &str) -> Self {
        Self::started(Command::new(wrapper[0]).args(&wrapper[1..]).arg(program), directory, steps)
    }

    fn started(command: &mut Command, directory: &str, steps: &str) -> Self {
        command.args(["other_side", "--exact", "--nocapture", "--test-threads=1"]);
        command.env(STEPS, steps).env(DIRECTORY, directory).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a child");
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let leash = child.stdin.take();
        Self { child, lines, leash }
    }

    /// What it says next.
    fn says(&mut self) -> String {
        loop {
            let line = self.lines.next().expect("it has more to say").expect("text");
            if let Some(said) = line.strip_prefix("says ") {
                return said.to_owned();
            }
        }
    }

    fn end(mut self) {
        drop(self.leash.take());
        assert!(self.child.wait().expect("it ends").success());
    }

    fn kill(&mut self) {
        self.child.kill().expect("it is ours");
        self.child.wait().expect("it ends");
    }
}

impl Drop for OtherSide {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _ended_already = self.child.wait();
    }
}

// ---- This side -----------------------------------------------------------------------------------------------------------

/// A directory in shared memory that everybody may make things in, as /dev/shm itself.
fn shared_memory() -> TempDir {
    let parent =
        tempfile::tempdir_in("/dev/shm").or_else(|_no_shared_memory| tempfile::tempdir()).expect("a directory");
    fs::set_permissions(parent.path(), Permissions::from_mode(0o1777)).expect("it is ours");
    parent
}

fn itself() -> PathBuf {
    std::env::current_exe().expect("this binary")
}

/// This binary where every user may run it. Copied by another process: one that is forked here meanwhile would have the copy
/// open for writing, and the kernel runs no such file.
fn itself_for_all(parent: &Path) -> PathBuf {
    let copy = parent.join("other-side");
    let copied = Command::new("install").args(["-m", "755"]).arg(itself()).arg(&copy).status();
    assert!(copied.expect("every system has install").success());
    copy
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether a command that changes a child's surroundings works here; names the test that is left out when not.
fn works(wrapper: &[&str]) -> bool {
    let probe = Command::new(wrapper[0]).args(&wrapper[1..]).arg("true").stderr(Stdio::null()).status();
    let works = is_root() && probe.is_ok_and(|status| status.success());
    if !works {
        left_out(&format!("'{}' is not allowed here, or not installed; it needs root", wrapper.join(" ")));
    }
    works
}

fn as_user(user: u32) -> [String; 4] {
    ["setpriv".to_owned(), format!("--reuid={user}"), format!("--regid={user}"), "--clear-groups".to_owned()]
}

fn start_as(user: u32, program: &Path, directory: &str, steps: &str) -> OtherSide {
    let wrapper = as_user(user);
    OtherSide::start(&wrapper.each_ref().map(String::as_str), program, directory, steps)
}

fn seen(directory: &CrewDirectory) -> Census {
    census(directory).expect("a table")
}

fn lease(directory: &CrewDirectory) -> Box<dyn Lease> {
    let budget = MachineWide::open(directory.clone(), surroundings(false));
    assert_eq!(budget.why_alone(), None);
    let (priority, weight) = (Priority::Normal, Weight::default());
    budget.lease(Request { priority, weight, useful_width: 64, what: "this side".to_owned() })
}

const ALL: &str = "why, take, take, take, take, try";

fn has_all(child: &mut OtherSide) {
    let said: Vec<String> = (0..6).map(|_| child.says()).collect();
    assert_eq!(said, ["shares", "took", "took", "took", "took", "had not"]);
}

#[test]
fn users_have_tables_of_their_own_and_no_way_into_those_of_others() {
    if !works(&as_user(USERS[0]).each_ref().map(String::as_str)) {
        return;
    }
    let parent = shared_memory();
    let program = itself_for_all(parent.path());
    let place = format!("in {}", parent.path().display());
    let mut first = start_as(USERS[0], &program, &place, ALL);
    has_all(&mut first);
    let table = |user: u32| CrewDirectory::at(parent.path().join(format!("manyhands-{user}"))).table();
    let pry = format!("{ALL}, pry {}", table(USERS[0]).display());
    let mut second = start_as(USERS[1], &program, &place, &pry);
    has_all(&mut second);
    assert_eq!(second.says(), "PermissionDenied PermissionDenied PermissionDenied");
    for user in USERS {
        let (file, directory) = (fs::metadata(table(user)).expect("there"), table(user));
        let directory = fs::metadata(directory.parent().expect("a directory")).expect("there");
        assert_eq!((file.uid(), file.mode() & 0o7777), (user, 0o600));
        assert_eq!((directory.uid(), directory.mode() & 0o7777), (user, 0o700));
    }
    // Told to use the other one's, it is alone and says why.
    let foreign = format!("at {}", table(USERS[0]).parent().expect("a directory").display());
    let mut third = start_as(USERS[1], &program, &foreign, ALL);
    let why = third.says();
    assert!(why.starts_with("open '") && why.ends_with("Permission denied (os error 13)"), "{why}");
    assert_eq!((0..5).map(|_| third.says()).collect::<Vec<_>>(), ["took", "took", "took", "took", "had not"]);
    [first, second, third].into_iter().for_each(OtherSide::end);
}

#[test]
fn a_directory_that_another_user_made_in_advance_is_not_trusted() {
    if !works(&as_user(USERS[0]).each_ref().map(String::as_str)) {
        return;
    }
    let parent = shared_memory();
    let program = itself_for_all(parent.path());
    let place = format!("in {}", parent.path().display());
    let trap = parent.path().join(format!("manyhands-{}", USERS[1]));
    // A whole table of the first user's, where the second one's should be, open to all.
    let mut trapper = start_as(USERS[0], &program, &format!("at {}", trap.display()), "why");
    assert_eq!(trapper.says(), "shares");
    fs::set_permissions(&trap, Permissions::from_mode(0o777)).expect("root may");
    fs::set_permissions(CrewDirectory::at(&trap).table(), Permissions::from_mode(0o666)).expect("root may");
    let mut victim = start_as(USERS[1], &program, &place, ALL);
    assert_eq!(victim.says(), format!("trust '{}': it belongs to another user", trap.display()));
    assert_eq!((0..5).map(|_| victim.says()).collect::<Vec<_>>(), ["took", "took", "took", "took", "had not"]);
    // Root, who could write to it, does not trust it either.
    let why = MachineWide::open(CrewDirectory::at(&trap), surroundings(false)).why_alone().expect("a reason");
    assert!(why.ends_with("it belongs to another user"), "{why}");
    [trapper, victim].into_iter().for_each(OtherSide::end);
}

const OTHER_PIDS: &[&str] = &["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"];

#[test]
fn runs_of_different_pid_namespaces_share_and_see_each_others_deaths() {
    if !works(OTHER_PIDS) {
        return;
    }
    let parent = shared_memory();
    let directory = CrewDirectory::at(parent.path().join("crew"));
    let place = format!("at {}", directory.path().display());
    // Inside dies, outside goes on.
    let mut inside = OtherSide::start(OTHER_PIDS, &itself(), &place, ALL);
    has_all(&mut inside);
    let run = &seen(&directory).runs[0];
    assert_eq!((run.pid, run.holds), (1, 4), "its number in its own namespace");
    let outside = lease(&directory);
    let first = outside.take();
    assert_eq!((seen(&directory).runs.len(), seen(&directory).above_capacity), (2, 1), "one table, one budget");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| outside.take());
        inside.kill();
        outside.give_back(waiting.join().expect("it gets a hand of the dead"));
    });
    outside.give_back(first);
    drop(outside);
    // Outside dies, inside goes on.
    let mut outside = OtherSide::started(&mut Command::new(itself()), &place, ALL);
    has_all(&mut outside);
    let mut inside = OtherSide::start(OTHER_PIDS, &itself(), &place, "take, take");
    assert_eq!(inside.says(), "took");
    outside.kill();
    assert_eq!(inside.says(), "took", "a hand of the dead");
    inside.end();
}

/// A child in a mount namespace of its own, after a script has changed that.
fn behind_mounts(script: &str, directory: &str) -> OtherSide {
    let script = format!("{script} && exec \"$@\"");
    OtherSide::start(&["unshare", "--mount", "sh", "-e", "-c", &script, "sh"], &itself(), directory, ALL)
}

#[test]
fn without_shared_memory_to_write_to_a_run_is_alone_and_says_why() {
    if !works(&["unshare", "--mount"]) {
        return;
    }
    let parent = shared_memory();
    let directory = parent.path().display();
    drop(lease(&CrewDirectory::at(parent.path().join("there"))));
    let read_only = format!("mount --bind '{directory}' '{directory}' && mount -o remount,bind,ro '{directory}'");
    let tiny = format!("mount -t tmpfs -o size=64k none '{directory}'");
    let usual = format!("make '{}': ", CrewDirectory::usual().path().display());
    let cases = [
        ("mount -t tmpfs none /dev", String::new(), usual.clone(), "No such file"),
        ("mount -t tmpfs -o ro none /dev/shm", String::new(), usual, "Read-only file system"),
        (
            &read_only,
            format!("at {directory}/there"),
            format!("open '{directory}/there/{FILE_NAME}': "),
            "Read-only file system",
        ),
        (
            &tiny,
            format!("at {directory}/new"),
            format!("find room for '{directory}/new/{FILE_NAME}': "),
            "No space left",
        ),
    ];
    for (script, told, operation, cause) in cases {
        let mut child = behind_mounts(script, &told);
        let why = child.says();
        assert!(why.starts_with(&operation) && why.contains(cause), "{script}: {why}");
        assert_eq!((0..5).map(|_| child.says()).collect::<Vec<_>>(), ["took", "took", "took", "took", "had not"]);
        child.end();
    }
}

#[test]
fn nothing_is_asked_of_the_environment() {
    let parent = shared_memory();
    let directory = format!("at {}", parent.path().join("crew").display());
    // No home, no runtime directory, no PATH.
    let mut child = OtherSide::started(Command::new(itself()).env_clear(), &directory, ALL);
    has_all(&mut child);
    child.end();
}

// ---- Control groups and masks --------------------------------------------------------------------------------------------

/// A control group of version 1, removed at the end. Its members must be gone by then.
struct Group {
    directory: PathBuf,
}

impl Group {
    /// None, and the test left out, where there is no such controller to write to.
    fn make(controller: &str, settings: &[(&str, &str)]) -> Option<Self> {
        let directory = PathBuf::from(format!("/sys/fs/cgroup/{controller}/manyhands-test-{}", std::process::id()));
        let make = || -> std::io::Result<()> {
            fs::create_dir(&directory)?;
            settings.iter().try_for_each(|(name, value)| fs::write(directory.join(name), value))
        };
        let group = Self { directory: directory.clone() };
        match make() {
            Ok(()) => Some(group),
            Err(error) => {
                left_out(&format!("no controller {controller} of version 1 can be used here: {error}"));
                None
            }
        }
    }

    /// This binary as a member, with the CPUs and the quota that the kernel tells it.
    fn start(&self, directory: &CrewDirectory, steps: &str) -> OtherSide {
        let script = format!("echo $$ > '{}/cgroup.procs'; exec \"$@\"", self.directory.display());
        let mut command = Command::new("sh");
        command.args(["-e", "-c", &script, "sh"]).arg(itself()).env(REAL, "1");
        OtherSide::started(&mut command, &format!("at {}", directory.path().display()), steps)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Never made, or the kernel has not yet let the last member go: then a directory stays in a tree that ends with the machine.
        for _ in 0..100 {
            match fs::remove_dir(&self.directory) {
                Err(error) if error.raw_os_error() == Some(rustix::io::Errno::BUSY.raw_os_error()) => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                _ => return,
            }
        }
    }
}

#[test]
fn runs_in_a_quota_group_never_use_more_hands_than_it_allows() {
    let settings = [("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "70000")];
    let Some(group) = Group::make("cpu", &settings) else { return };
    let parent = shared_memory();
    let directory = CrewDirectory::at(parent.path().join("crew"));
    let counters = parent.path().join("counters");
    fs::write(&counters, [0; 8 * COUNTERS]).expect("written");
    let steps = format!("why, capacity, churn {}", counters.display());
    let mut members: Vec<OtherSide> = (0..3).map(|_| group.start(&directory, &steps)).collect();
    for member in &mut members {
        assert_eq!(
            (member.says(), member.says()),
            ("shares".to_owned(), "1".to_owned()),
            "0.7 cores keep one hand busy"
        );
    }
    members.iter_mut().for_each(|member| assert_eq!(member.says(), "churned"));
    let bytes = fs::read(&counters).expect("counted");
    let count = |word: usize| u64::from_ne_bytes(bytes.as_chunks().0[word]);
    assert_eq!((count(0), count(1)), (0, 1), "of {} takings never two at once", count(2));
    members.into_iter().for_each(OtherSide::end);
}

#[test]
fn a_run_takes_only_cpus_that_its_mask_allows() {
    let all = surroundings(true).cpus;
    let mut numbers = all.iter();
    let (Some(one), Some(other)) = (numbers.next(), numbers.next()) else {
        return left_out("there is only one CPU");
    };
    let settings = [("cpuset.mems", "0"), ("cpuset.cpus", &*one.to_string())];
    let Some(group) = Group::make("cpuset", &settings) else { return };
    let parent = shared_memory();
    let directory = CrewDirectory::at(parent.path().join("crew"));
    let mut confined = group.start(&directory, "why, capacity, take, try");
    assert_eq!((0..4).map(|_| confined.says()).collect::<Vec<_>>(), ["shares", "1", "took", "had not"]);
    // Another one of the same single CPU, by its affinity: its first hand finds no CPU, though others are free.
    let place = format!("at {}", directory.path().display());
    let pinned = |cpu: usize| {
        let mut command = Command::new("taskset");
        command.args(["-c", &cpu.to_string()]).arg(itself()).env(REAL, "1");
        OtherSide::started(&mut command, &place, "take")
    };
    let mut same = pinned(one);
    assert_eq!(same.says(), "took");
    assert_eq!((seen(&directory).cpus, seen(&directory).above_capacity), (1, 1));
    let mut elsewhere = pinned(other);
    assert_eq!(elsewhere.says(), "took");
    let census = seen(&directory);
    assert_eq!((census.cpus, census.above_capacity, census.free), (2, 1, 0), "it has a CPU of its own");
    let table = MemoryTable::open(&directory).expect("a table");
    let masks: Vec<CpuSet> =
        row::present(table.words()).filter_map(|row| row::read(table.words(), row)).map(|seen| seen.cpus).collect();
    assert_eq!(masks, [one, one, other].map(|cpu| CpuSet::of([cpu])));
    [confined, same, elsewhere].into_iter().for_each(OtherSide::end);
}
