//! A throw-away MariaDB: its own directory, socket and loopback port, nothing synced; killed and removed when dropped.
//! Its superuser is `root`, without a password.

use crate::postgres_server::{free_port, in_memory_directory};
use crate::program::TestProgram;
use crate::small_disk::{self, SmallDisk};
use crate::tree::TempDir;
use rustix::process::geteuid;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a server may take to start: a busy machine included.
const START_LIMIT: Duration = Duration::from_secs(120);

/// A server that runs.
#[derive(Debug)]
pub struct MariaDbServer {
    process: Child,
    place: TempDir,
    port: u16,
}

impl MariaDbServer {
    /// Makes a data directory and starts a server with these options besides. An error says what is missing.
    ///
    /// # Panics
    /// When the programs are there, and the server does not start.
    pub fn start(options: &[&str]) -> Result<Self, String> {
        for program in ["mariadbd", "mariadb-install-db"] {
            find(program).ok_or_else(|| format!("{program} is not installed"))?;
        }
        Ok(Self::make(options, Command::new).unwrap_or_else(|reason| panic!("{reason}")))
    }

    /// The same with mounts of its own, for a `SmallDisk`. An error says what is missing.
    ///
    /// # Panics
    /// When the programs are there, and the server does not start.
    pub fn start_with_own_mounts(options: &[&str]) -> Result<Self, String> {
        small_disk::can_mount()?;
        for program in ["mariadbd", "mariadb-install-db"] {
            find(program).ok_or_else(|| format!("{program} is not installed"))?;
        }
        let command = |program: PathBuf| small_disk::with_own_mounts(&program, None);
        Ok(Self::make(options, command).unwrap_or_else(|reason| panic!("{reason}")))
    }

    fn make(options: &[&str], of_server: impl Fn(PathBuf) -> Command) -> Result<Self, String> {
        let place = in_memory_directory()?;
        let port = free_port()?;
        let path = |name: &str| place.path().join(name).display().to_string();
        let mut own = vec!["--no-defaults".to_owned(), format!("--datadir={}", path("data"))];
        if geteuid().is_root() {
            own.push("--user=root".to_owned());
        }
        let mut install = command("mariadb-install-db")?;
        // A server that starts removes the temporary tables that it finds: one directory for all would be the others', too.
        install.env("TMPDIR", place.path());
        install.args(&own).args(["--auth-root-authentication-method=normal", "--skip-test-db"]);
        let made = install.output().map_err(|error| format!("mariadb-install-db does not start: {error}"))?;
        if !made.status.success() {
            return Err(format!("mariadb-install-db failed: {}", String::from_utf8_lossy(&made.stderr)));
        }
        own.extend([
            format!("--socket={}", path("socket")),
            format!("--pid-file={}", path("pid")),
            format!("--log-error={}", path("log.err")),
            format!("--tmpdir={}", path("")),
            format!("--port={port}"),
            "--bind-address=127.0.0.1".to_owned(),
            "--innodb-buffer-pool-size=16M".to_owned(),
            "--innodb-log-file-size=8M".to_owned(),
            "--innodb-flush-log-at-trx-commit=0".to_owned(),
        ]);
        let mut mariadbd = of_server(find("mariadbd").ok_or("mariadbd is not installed")?);
        mariadbd.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).args(&own).args(options);
        let process = mariadbd.spawn().map_err(|error| format!("mariadbd does not start: {error}"))?;
        let mut server = Self { process, place, port };
        server.wait()?;
        Ok(server)
    }

    /// The test's directory: the data are in `data`.
    pub fn directory(&self) -> &Path {
        self.place.path()
    }

    /// Its socket in the file system.
    pub fn socket(&self) -> PathBuf {
        self.place.path().join("socket")
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// A small file system in place of the directory of an empty database.
    ///
    /// # Panics
    /// When it cannot be mounted: the server was started with mounts of its own.
    pub fn small_disk(&self, database: &str, megabytes: u32) -> SmallDisk {
        SmallDisk::mount(self.pid(), self.place.path().join("data").join(database), megabytes, geteuid().as_raw())
    }

    fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.place.path().join("log.err")).unwrap_or_default()).into_owned()
    }

    fn wait(&mut self) -> Result<(), String> {
        let begin = Instant::now();
        while UnixStream::connect(self.socket()).is_err() {
            let has_ended = self.process.try_wait().is_ok_and(|end| end.is_some());
            if has_ended || begin.elapsed() > START_LIMIT {
                return Err(format!("mariadbd does not start: {}", self.log()));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}

impl Drop for MariaDbServer {
    #[expect(clippy::print_stderr, reason = "who reads that a test failed wants to know whether the server did")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("mariadbd: {:?}, and its log:\n{}", self.process.try_wait(), self.log());
        }
        // At once: its data are thrown away.
        let _gone_anyway = self.process.kill();
        let _gone_anyway = self.process.wait();
    }
}

/// A server's program is not in everybody's `PATH`.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let in_path = TestProgram::find(program).map(|found| found.path().to_owned());
    in_path.or_else(|| Some(Path::new("/usr/sbin").join(program)).filter(|path| path.exists()))
}

fn command(program: &str) -> Result<Command, String> {
    let mut command = Command::new(find(program).ok_or_else(|| format!("{program} is not installed"))?);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    Ok(command)
}
