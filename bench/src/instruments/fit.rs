//! `mh fit` beside the truth: what a memory control group counts when so many more are really started, for Python interpreters
//! and backends of PostgreSQL. What adding up `ps` says stands beside, for contrast.

use super::{Due, Line, answer, finish, number};
use crate::BenchArguments;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;
use xtask::workspace::{self, Packaged, release_binary};

const PACKAGES: &[Packaged] = &[("python3", "python3"), ("setpriv", "util-linux"), ("pg_ctlcluster", "postgresql")];

/// How far price and truth may be apart.
const OFF_MAX: f64 = 0.10;

/// Runs the suite.
pub fn run(arguments: &BenchArguments) -> Result<(), String> {
    if arguments.list {
        println!("Python interpreters\nbackends of PostgreSQL");
        return Ok(());
    }
    let _named_below = workspace::install(PACKAGES);
    let program = arguments.program.clone().map_or_else(release_binary, Ok)?;
    if arguments.program.is_none() {
        workspace::run("cargo", &["build", "--quiet", "--release", "--package", "manyhands"])?;
    }
    let (few, many) = if arguments.quick { (4, 8) } else { (10, 40) };
    let (mut lines, mut left_out) = (Vec::new(), Vec::new());
    for (name, check) in [("a Python interpreter", python as Check), ("a backend of PostgreSQL", postgres)] {
        println!("{name}");
        match check(&program, few, many) {
            Ok(priced) => lines.extend(priced.lines(name)),
            Err(reason) => left_out.push(format!("{name}: {reason}")),
        }
    }
    let how = format!(
        "{few} run; `mh fit` says what one more takes; {many} more are started, and their control group says what they took: its usage \
         less file cache, the kernel's records included."
    );
    finish("fit", &arguments.command_line(), &how, &lines, &left_out)
}

type Check = fn(&Path, usize, usize) -> Result<Priced, String>;

/// What one costs, by three accounts.
struct Priced {
    ours: f64,
    truth: f64,
    resident: f64,
    detail_share: f64,
}

impl Priced {
    fn lines(&self, name: &str) -> [Line; 3] {
        let truth = format!("{:.3} MB really taken", self.truth / 1e6);
        let written = |bytes: f64| format!("{:.3} MB ({:+.1} %)", bytes / 1e6, (bytes / self.truth - 1.0) * 100.0);
        let is_met = (self.ours / self.truth - 1.0).abs() <= OFF_MAX;
        [
            Line {
                name: format!("one more of {name}"),
                ours: written(self.ours),
                against: truth.clone(),
                due: Some(Due { words: "within 10 %", is_met }),
            },
            Line { name: format!("{name}, by the RSS of ps"), ours: written(self.resident), against: truth, due: None },
            Line {
                name: format!("{name}, CPU for looking at pages"),
                ours: format!("{:.2} %", self.detail_share * 100.0),
                against: "-".to_owned(),
                due: Some(Due { words: "at most 1 %", is_met: self.detail_share <= 0.01 }),
            },
        ]
    }
}

/// `few` run and are priced, `many` more are started and counted.
fn price(
    program: &Path,
    choose: &[&str],
    group: &Group,
    (few, many): (usize, usize),
    start: impl Fn() -> Result<Worker, String>,
) -> Result<Priced, String> {
    let first: Vec<Worker> = (0..few).map(|_| start()).collect::<Result<_, _>>()?;
    std::thread::sleep(Duration::from_secs(1));
    let words: Vec<&str> = ["fit"].iter().chain(choose).chain(&["--json", "--time", "3"]).copied().collect();
    let answer = answer(program, &words)?;
    let before = group.bytes()?;
    let more: Vec<Worker> = (0..many).map(|_| start()).collect::<Result<_, _>>()?;
    let truth = (group.bytes()? - before) / many as f64;
    drop((first, more));
    Ok(Priced {
        ours: number(&answer, "/estimate/each_bytes/middle")?,
        truth,
        resident: number(&answer, "/survey/instances/0/resident_bytes")?,
        detail_share: number(&answer, "/survey/detail_cpu_ns")? / number(&answer, "/survey/watched_ns")?,
    })
}

fn python(program: &Path, few: usize, many: usize) -> Result<Priced, String> {
    let group = Group::new("python")?;
    let mark = format!("#fit-bench-{}", std::process::id());
    let script = format!("import json,re,asyncio,sys; print('ready',flush=True); sys.stdin.read() {mark}");
    // What `python3` may be a script that chooses one.
    let found = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    let python = found.map_err(|error| format!("python3: {error}"))?.stdout;
    let python = PathBuf::from(String::from_utf8_lossy(&python).trim());
    let start = || Worker::start(group.command(&python).args(["-c", &script]));
    let comm = python.file_name().map(|name| name.to_string_lossy().into_owned()).ok_or("python3 is not installed")?;
    price(program, &["--comm", &comm, "--args", &mark], &group, (few, many), start)
}

fn postgres(program: &Path, few: usize, many: usize) -> Result<Priced, String> {
    let group = Group::new("postgres")?;
    let server = Server::start(&group)?;
    price(program, &["--comm", "postgres", "--args", "[local]"], &group, (few, many), || server.session())
}

/// A memory control group of version 1, below this process's own.
struct Group {
    directory: PathBuf,
}

impl Group {
    fn new(name: &str) -> Result<Self, String> {
        let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let own = groups.lines().find_map(|line| line.split_once(":memory:")).map_or("", |(_, path)| path);
        let mount = Path::new("/sys/fs/cgroup/memory");
        let above = [mount.join(own.trim_start_matches('/')), mount.to_owned()]
            .into_iter()
            .find(|directory| directory.is_dir());
        let directory =
            above.ok_or("no memory controller of version 1")?.join(format!("mh-bench-{name}-{}", std::process::id()));
        std::fs::create_dir(&directory).map_err(|error| format!("no control group can be made: {error}"))?;
        Ok(Self { directory })
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo $$ > \"$0/cgroup.procs\" && exec \"$@\""]).arg(&self.directory).arg(program);
        command
    }

    fn bytes(&self) -> Result<f64, String> {
        std::thread::sleep(Duration::from_secs(1));
        let read = |file: &str| {
            std::fs::read_to_string(self.directory.join(file))
                .map_err(|error| format!("could not read {file}: {error}"))
        };
        let number = |text: &str| text.trim().parse::<f64>().map_err(|error| error.to_string());
        let statistics = read("memory.stat")?;
        let cache = statistics.lines().find_map(|line| line.strip_prefix("cache ")).unwrap_or("0");
        Ok(number(&read("memory.usage_in_bytes")?)? - number(cache)?)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Processes that end take a moment to leave; a group that is not empty stays.
        for _ in 0..100 {
            if std::fs::remove_dir(&self.directory).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A program that writes a line when it is ready and ends when its input does.
struct Worker {
    child: Child,
    _output: BufReader<ChildStdout>,
}

impl Worker {
    fn start(command: &mut Command) -> Result<Self, String> {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = child.map_err(|error| format!("could not start {command:?}: {error}"))?;
        let mut output = BufReader::new(child.stdout.take().ok_or("no output")?);
        let mut line = String::new();
        match output.read_line(&mut line) {
            Ok(count) if count > 0 => Ok(Self { child, _output: output }),
            _ => Err(format!("{command:?} ended early")),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ended = self.child.wait();
    }
}

/// A throw-away PostgreSQL: its own directory and socket, no network, not root.
struct Server {
    postmaster: Child,
    directory: PathBuf,
    programs: PathBuf,
}

impl Server {
    fn start(group: &Group) -> Result<Self, String> {
        let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let programs = versions.map(|version| version.path().join("bin")).find(|bin| bin.join("initdb").exists());
        let programs = programs.ok_or("PostgreSQL is not installed")?;
        let directory = std::env::temp_dir().join(format!("mh-bench-fit-{}", std::process::id()));
        let user = ["--reuid=postgres", "--regid=postgres", "--clear-groups"];
        let quietly = |command: &mut Command| {
            let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
            if status.is_ok_and(|status| status.success()) { Ok(()) } else { Err(format!("{command:?} failed")) }
        };
        quietly(Command::new("setpriv").args(user).args(["mkdir", "-m", "700"]).arg(&directory))?;
        let data = directory.join("data");
        quietly(
            Command::new("setpriv").args(user).arg(programs.join("initdb")).args(["-A", "trust", "-D"]).arg(&data),
        )?;
        let mut postgres = group.command(Path::new("setpriv"));
        postgres.args(user).arg(programs.join("postgres")).arg("-D").arg(data).arg("-k").arg(&directory);
        postgres.args(["-c", "listen_addresses=", "-c", "autovacuum=off"]).stdin(Stdio::null());
        let postmaster = postgres.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let postmaster = postmaster.map_err(|error| format!("the server does not start: {error}"))?;
        let server = Self { postmaster, directory, programs };
        for _ in 0..600 {
            if server.session().is_ok() {
                return Ok(server);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Err("the server does not answer".to_owned())
    }

    /// A session that has read some tables and is idle.
    fn session(&self) -> Result<Worker, String> {
        let query = "select count(*) from pg_class c join pg_attribute a on a.attrelid = c.oid";
        let mut psql = Command::new(self.programs.join("psql"));
        // The query first, then what comes from standard input, which is nothing until its end.
        psql.arg("-h").arg(&self.directory).args(["-U", "postgres", "-qAtX", "-c", query, "-f", "-", "postgres"]);
        Worker::start(&mut psql)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Fast shutdown: sessions are ended.
        let _gone_already = Command::new("kill").args(["-INT", &self.postmaster.id().to_string()]).status();
        let _ended = self.postmaster.wait();
        let _stays_behind = std::fs::remove_dir_all(&self.directory);
    }
}
