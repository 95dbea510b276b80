//! A throw-away PostgreSQL: its own directory, socket and loopback port, nothing synced; stopped and removed when dropped.
//! Started as root, it runs as `nobody`, since PostgreSQL refuses root.

use crate::program::TestProgram;
use crate::small_disk::{self, SmallDisk};
use crate::tree::TempDir;
use rustix::process::{Pid, Signal, geteuid, kill_process};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a server may take to start: a busy machine included.
const START_LIMIT: Duration = Duration::from_secs(120);

/// Whose server it is if root starts it.
const NOBODY: u32 = 65534;

/// A server that runs. Its superuser is `postgres`, whom it believes without a password unless `pg_hba.conf` says otherwise.
#[derive(Debug)]
pub struct PostgresServer {
    process: Child,
    place: TempDir,
    port: u16,
}

impl PostgresServer {
    /// Makes a cluster and starts it with these settings. An error says what is missing.
    ///
    /// # Panics
    /// When the programs are there, and the server does not start.
    pub fn start(settings: &[(&str, &str)]) -> Result<Self, String> {
        let programs = programs().ok_or("initdb and postgres are not installed")?;
        Ok(Self::make(&programs, settings, as_server).unwrap_or_else(|reason| panic!("{reason}")))
    }

    /// The same with mounts of its own, for a `SmallDisk`. An error says what is missing.
    ///
    /// # Panics
    /// When the programs are there, and the server does not start.
    pub fn start_with_own_mounts(settings: &[(&str, &str)]) -> Result<Self, String> {
        small_disk::can_mount()?;
        let programs = programs().ok_or("initdb and postgres are not installed")?;
        let command = |program: &Path, directory: &Path| {
            let mut command = small_disk::with_own_mounts(program, Some(NOBODY));
            command.current_dir(directory).stdin(Stdio::null()).stdout(Stdio::null());
            command
        };
        Ok(Self::make(&programs, settings, command).unwrap_or_else(|reason| panic!("{reason}")))
    }

    fn make(
        programs: &Path,
        settings: &[(&str, &str)],
        command: impl Fn(&Path, &Path) -> Command,
    ) -> Result<Self, String> {
        let place = in_memory_directory()?;
        give_away(place.path())?;
        let data = place.path().join("data");
        let mut initdb = as_server(&programs.join("initdb"), place.path());
        initdb.args(["--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "-D"]);
        let made = initdb.arg(&data).output().map_err(|error| format!("initdb does not start: {error}"))?;
        if !made.status.success() {
            return Err(format!("initdb failed: {}", String::from_utf8_lossy(&made.stderr)));
        }
        Self::launch(programs, place, settings, command)
    }

    /// A standby of this server that answers queries, with settings of its own.
    ///
    /// # Panics
    /// When it cannot be made or does not start.
    pub fn standby(&self, settings: &[(&str, &str)]) -> Self {
        let programs = programs().expect("this server has some");
        let made = in_memory_directory().and_then(|place| {
            give_away(place.path())?;
            let mut copy = as_server(&programs.join("pg_basebackup"), place.path());
            copy.args(["--write-recovery-conf", "--checkpoint=fast", "--no-sync", "--username=postgres", "--host"]);
            copy.arg(self.directory())
                .args(["--port", &self.port.to_string(), "--pgdata"])
                .arg(place.path().join("data"));
            let made = copy.output().map_err(|error| format!("pg_basebackup does not start: {error}"))?;
            if !made.status.success() {
                return Err(format!("pg_basebackup failed: {}", String::from_utf8_lossy(&made.stderr)));
            }
            Self::launch(&programs, place, settings, as_server)
        });
        made.unwrap_or_else(|reason| panic!("{reason}"))
    }

    fn launch(
        programs: &Path,
        place: TempDir,
        settings: &[(&str, &str)],
        command: impl Fn(&Path, &Path) -> Command,
    ) -> Result<Self, String> {
        let (port, data) = (free_port()?, place.path().join("data"));
        let mut postgres = command(&programs.join("postgres"), place.path());
        postgres.arg("-D").arg(&data).arg("-k").arg(place.path()).args(["-p", &port.to_string()]);
        for (name, value) in [("listen_addresses", "127.0.0.1"), ("fsync", "off"), ("shared_buffers", "16MB")] {
            postgres.arg("-c").arg(format!("{name}={value}"));
        }
        for (name, value) in settings {
            postgres.arg("-c").arg(format!("{name}={value}"));
        }
        let log = fs::File::create(place.path().join("log")).map_err(|error| format!("no log: {error}"))?;
        let process = postgres.stderr(log).spawn().map_err(|error| format!("postgres does not start: {error}"))?;
        let mut server = Self { process, place, port };
        server.wait()?;
        Ok(server)
    }

    /// The directory of its socket, which is also the test's: the data are in `data`.
    pub fn directory(&self) -> &Path {
        self.place.path()
    }

    /// Its port, on 127.0.0.1 and in the name of its socket.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A small file system at `name` in its directory.
    ///
    /// # Panics
    /// When it cannot be mounted: the server was started with mounts of its own.
    pub fn small_disk(&self, name: &str, megabytes: u32) -> SmallDisk {
        SmallDisk::mount(self.pid(), self.place.path().join(name), megabytes, NOBODY)
    }

    /// The process of the server that accepts connections.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Rules of who is believed how, in force once this returns for connections that come afterwards.
    ///
    /// # Panics
    /// When the file cannot be written or the server has gone.
    pub fn set_rules(&self, rules: &str) {
        fs::write(self.place.path().join("data/pg_hba.conf"), rules).expect("the rules can be written");
        self.signal(Signal::HUP);
    }

    /// Writes a file that the server may read and nobody else, a key say.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn private_file(&self, name: &str, content: &[u8]) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.place.path().join(name);
        fs::write(&path, content).expect("the file can be written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is ours");
        give_away(&path).expect("root may");
        path
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.expect("it has a PID"), signal).expect("it is not waited for yet");
    }

    /// The eighth line of postmaster.pid says when connections are accepted.
    fn wait(&mut self) -> Result<(), String> {
        let begin = Instant::now();
        let path = self.place.path().join("data/postmaster.pid");
        while !fs::read_to_string(&path).is_ok_and(|text| {
            text.lines().nth(7).is_some_and(|line| line.starts_with("ready") || line.starts_with("standby"))
        }) {
            let has_ended = self.process.try_wait().is_ok_and(|end| end.is_some());
            if has_ended || begin.elapsed() > START_LIMIT {
                let log = fs::read_to_string(self.place.path().join("log")).unwrap_or_default();
                return Err(format!("postgres does not start: {log}"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // At once: its data are thrown away.
        self.signal(Signal::QUIT);
        let _gone_anyway = self.process.wait();
    }
}

/// The newest of Debian's directories of PostgreSQL's programs, or that of `PATH`.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().filter_map(Result::ok);
    let number = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = versions
        .map(|entry| entry.path())
        .filter(|path| path.join("bin/initdb").exists())
        .max_by_key(|path| number(path));
    let in_path = || Some(TestProgram::find("initdb")?.path().parent()?.to_owned());
    newest.map(|version| version.join("bin")).or_else(in_path)
}

fn as_server(program: &Path, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(directory).stdin(Stdio::null()).stdout(Stdio::null());
    if geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

fn give_away(path: &Path) -> Result<(), String> {
    if !geteuid().is_root() {
        return Ok(());
    }
    chown(path, Some(NOBODY), Some(NOBODY))
        .map_err(|error| format!("could not give '{}' away: {error}", path.display()))
}

/// Servers write much: memory, if there is any.
pub(crate) fn in_memory_directory() -> Result<TempDir, String> {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() };
    made.map_err(|error| format!("no directory: {error}"))
}

/// A port that nobody has at this moment.
pub(crate) fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(|error| format!("no port: {error}"))?;
    listener.local_addr().map(|address| address.port()).map_err(|error| format!("no port: {error}"))
}
