//! A throw-away PostgreSQL: its own directory, its own socket, no network, a user that is not root; stopped when dropped.

use super::counted::{Counted, Worker};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use testkit::program::TestProgram;

/// The server.
pub struct Server {
    postmaster: Child,
    directory: PathBuf,
    programs: PathBuf,
    /// In the command line of its sessions alone: the database they are connected to.
    mark: String,
}

/// PostgreSQL does not run as root.
const USER: &str = "postgres";

impl Server {
    /// An error says what is missing.
    pub fn start(group: &Counted) -> Result<Self, String> {
        let setpriv = TestProgram::find("setpriv").ok_or("setpriv is not installed")?;
        let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let programs = versions.map(|version| version.path().join("bin")).find(|bin| bin.join("initdb").exists());
        let programs = programs.ok_or("PostgreSQL is not installed")?;
        let mark = format!("fit{}", std::process::id());
        let directory = std::env::temp_dir().join(format!("mh-{mark}"));
        let as_user = |mut command: Command| {
            command.arg(format!("--reuid={USER}")).arg(format!("--regid={USER}")).arg("--clear-groups");
            command
        };
        let made = as_user(Command::new(setpriv.path())).args(["mkdir", "-m", "700"]).arg(&directory).status();
        if !made.is_ok_and(|status| status.success()) {
            return Err(format!("user {USER} may not make a directory, or is not there"));
        }
        let mut initdb = as_user(Command::new(setpriv.path()));
        initdb.arg(programs.join("initdb")).args(["-A", "trust", "-D"]).arg(directory.join("data"));
        let made = initdb.stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !made.is_ok_and(|status| status.success()) {
            return Err("initdb failed".to_owned());
        }
        let mut postgres = as_user(group.command(setpriv.path()));
        postgres.arg(programs.join("postgres")).arg("-D").arg(directory.join("data")).arg("-k").arg(&directory);
        postgres.args(["-c", "listen_addresses=", "-c", "autovacuum=off"]).stdin(Stdio::null());
        let postmaster = postgres.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let postmaster = postmaster.map_err(|error| format!("the server does not start: {error}"))?;
        let server = Self { postmaster, directory, programs, mark };
        server.make_database()?;
        Ok(server)
    }

    fn make_database(&self) -> Result<(), String> {
        for _ in 0..600 {
            let mut createdb = Command::new(self.programs.join("createdb"));
            createdb.arg("-h").arg(&self.directory).args(["-U", USER, &self.mark]).stderr(Stdio::null());
            if createdb.status().is_ok_and(|status| status.success()) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Err("the server does not answer".to_owned())
    }

    /// What stands in the command line of its sessions.
    pub fn mark(&self) -> &str {
        &self.mark
    }

    /// A session that has read some tables and is idle.
    pub fn session(&self) -> Worker {
        let query = "select count(*) from pg_class c join pg_attribute a on a.attrelid = c.oid";
        let mut psql = Command::new(self.programs.join("psql"));
        // The query first, then what comes from standard input, which is nothing until its end.
        psql.arg("-h").arg(&self.directory).args(["-U", USER, "-qAtX", "-c", query, "-f", "-", &self.mark]);
        Worker::start(&mut psql)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SIGINT: fast shutdown, sessions are ended.
        if let Some(pid) = rustix::process::Pid::from_raw(self.postmaster.id().cast_signed()) {
            let _gone_already = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        }
        let _ended = self.postmaster.wait();
        let _stays_behind = std::fs::remove_dir_all(&self.directory);
    }
}
