//! Throw-away servers of the load suite. PostgreSQL does not run as root: it is given to the user nobody.

use super::in_memory;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::read_to_string;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const NOBODY: u32 = 65534;

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerKind {
    Postgres,
    MariaDb,
}

/// A server that runs until this is dropped.
pub struct BenchServer {
    kind: ServerKind,
    place: tempfile::TempDir,
    child: Child,
}

impl BenchServer {
    /// Makes data and starts it, with these words besides.
    pub fn start(kind: ServerKind, more: &[&str]) -> Result<Self, String> {
        let place = in_memory()?;
        let path = place.path().to_path_buf();
        let mut command = match kind {
            ServerKind::Postgres => postgres(&path)?,
            ServerKind::MariaDb => mariadb(&path)?,
        };
        command.args(more).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|error| format!("the server does not start: {error}"))?;
        let mut server = Self { kind, place, child };
        server.wait_until_it_answers()?;
        Ok(server)
    }

    /// Where its socket is.
    pub fn directory(&self) -> &Path {
        self.place.path()
    }

    /// Its socket, for MariaDB.
    pub fn socket(&self) -> PathBuf {
        self.place.path().join("socket")
    }

    /// Its address, as `mh load` takes it.
    pub fn address(&self) -> String {
        match self.kind {
            ServerKind::Postgres => format!("host={} user=postgres dbname=postgres", self.place.path().display()),
            ServerKind::MariaDb => format!("mysql://root@localhost/test?socket={}", self.socket().display()),
        }
    }

    /// CPU time of all its processes that are there, in seconds.
    pub fn cpu_s(&self) -> f64 {
        let ticks: f64 = self.processes().iter().filter_map(|pid| ticks(*pid)).sum();
        ticks / rustix::param::clock_ticks_per_second() as f64
    }

    /// Stops all of it, or lets it go on.
    pub fn signal(&self, signal: Signal) {
        for pid in self.processes() {
            let _it_may_have_ended = Pid::from_raw(pid.cast_signed()).map(|pid| kill_process(pid, signal));
        }
    }

    fn processes(&self) -> Vec<u32> {
        let root = self.child.id();
        let children = read_to_string(format!("/proc/{root}/task/{root}/children")).unwrap_or_default();
        std::iter::once(root).chain(children.split_whitespace().filter_map(|pid| pid.parse().ok())).collect()
    }

    fn wait_until_it_answers(&mut self) -> Result<(), String> {
        let began = Instant::now();
        let asked = |server: &Self| match server.kind {
            ServerKind::Postgres => quiet("psql", &["-h", &server.text(), "-U", "postgres", "-c", "select 1"]),
            ServerKind::MariaDb => {
                quiet("mariadb", &["--no-defaults", "-uroot", &format!("-S{}/socket", server.text()), "-e", "select 1"])
            }
        };
        while !asked(self) {
            if self.child.try_wait().is_ok_and(|end| end.is_some()) || began.elapsed() > Duration::from_secs(120) {
                return Err("the server does not answer".to_owned());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    fn text(&self) -> String {
        self.place.path().display().to_string()
    }
}

impl Drop for BenchServer {
    fn drop(&mut self) {
        // Its data are thrown away.
        self.signal(Signal::KILL);
        let _reaped = self.child.wait();
    }
}

/// CPU time of a process with all children that it waited for: fields 14 to 17 of proc_pid_stat(5).
fn ticks(pid: u32) -> Option<f64> {
    let stat = read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    fields.get(11..15)?.iter().map(|field| field.parse::<f64>().ok()).sum()
}

fn quiet(program: &str, words: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn postgres(path: &Path) -> Result<Command, String> {
    let programs =
        std::fs::read_dir("/usr/lib/postgresql").map_err(|error| format!("PostgreSQL is not installed: {error}"))?;
    let newest = programs.filter_map(|entry| Some(entry.ok()?.path().join("bin"))).max();
    let programs = newest.ok_or("PostgreSQL is not installed")?;
    std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).map_err(|error| error.to_string())?;
    let as_nobody = |program: &str| {
        let mut command = Command::new(programs.join(program));
        command.uid(NOBODY).gid(NOBODY).current_dir(path);
        command
    };
    let mut initdb = as_nobody("initdb");
    initdb
        .args(["--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "-D"])
        .arg(path.join("data"));
    let made = initdb.output().map_err(|error| format!("initdb does not start: {error}"))?;
    if !made.status.success() {
        return Err(format!("initdb failed: {}", String::from_utf8_lossy(&made.stderr)));
    }
    let mut command = as_nobody("postgres");
    command.arg("-D").arg(path.join("data")).arg("-k").arg(path);
    for setting in ["listen_addresses=", "shared_buffers=512MB", "max_connections=200", "fsync=off", "autovacuum=off"] {
        command.args(["-c", setting]);
    }
    Ok(command)
}

fn mariadb(path: &Path) -> Result<Command, String> {
    let at = |name: &str| path.join(name).display().to_string();
    let own = ["--no-defaults".to_owned(), "--user=root".to_owned(), format!("--datadir={}", at("data"))];
    let mut install = Command::new("mariadb-install-db");
    install.args(&own).args(["--auth-root-authentication-method=normal"]);
    let made = install.output().map_err(|error| format!("mariadb-install-db does not start: {error}"))?;
    if !made.status.success() {
        return Err(format!("mariadb-install-db failed: {}", String::from_utf8_lossy(&made.stderr)));
    }
    let mut command = Command::new("mariadbd");
    command.args(&own).args([
        format!("--socket={}", at("socket")),
        format!("--pid-file={}", at("pid")),
        format!("--log-error={}", at("log")),
        format!("--tmpdir={}", at("")),
        "--skip-networking".to_owned(),
        "--innodb-buffer-pool-size=512M".to_owned(),
        "--innodb-flush-log-at-trx-commit=0".to_owned(),
        "--max-connections=5000".to_owned(),
        "--back-log=4096".to_owned(),
        "--open-files-limit=20000".to_owned(),
    ]);
    Ok(command)
}
