//! A throw-away sshd on a loopback port: a host key, a user's key and settings of its own, in a directory of its own.

use std::ffi::OsString;
use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use testkit::program::TestProgram;
use testkit::tree::TempTree;

/// LIMIT: until it accepts connections.
const START_LIMIT: Duration = Duration::from_secs(60);

/// One that runs; killed when dropped.
#[derive(Debug)]
pub struct Sshd {
    process: Child,
    place: TempTree,
    port: u16,
}

impl Sshd {
    /// Starts one, which lets this user in. An error says what is missing.
    pub fn start() -> Result<Self, String> {
        let sshd = find("sshd").ok_or("sshd is not installed")?;
        TestProgram::find("ssh").ok_or("ssh is not installed")?;
        if rustix::process::geteuid().is_root() {
            // Where it changes its root to while nobody is logged in; only its own service makes it otherwise.
            fs::create_dir_all("/run/sshd").map_err(|error| format!("sshd cannot have its directory: {error}"))?;
        }
        let place = TempTree::new();
        for key in ["host", "user"] {
            keygen(&place.path().join(key))?;
        }
        let (user, host) = (read(&place, "user.pub")?, read(&place, "host.pub")?);
        place.file("authorized_keys", user).mode("authorized_keys", 0o600);
        let port = free_port()?;
        place.file("known_hosts", format!("[127.0.0.1]:{port} {host}"));
        let path = place.path().display();
        let settings = format!(
            "ListenAddress 127.0.0.1\nPort {port}\nHostKey {path}/host\nAuthorizedKeysFile {path}/authorized_keys\n\
             StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\nPidFile none\nUseDNS no\n"
        );
        place.file("settings", settings);
        let log = File::create(place.path().join("log")).map_err(|error| format!("no log: {error}"))?;
        let mut command = Command::new(sshd);
        command.args(["-D", "-e", "-f"]).arg(place.path().join("settings"));
        let spawned = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn();
        let process = spawned.map_err(|error| format!("sshd does not start: {error}"))?;
        let mut sshd = Self { process, place, port };
        sshd.wait()?;
        Ok(sshd)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Words for an ssh that knows it and is known.
    pub fn client_words(&self) -> Vec<OsString> {
        self.words("known_hosts")
    }

    /// Words for an ssh that has not seen its key.
    pub fn words_without_its_key(&self) -> Vec<OsString> {
        self.words("nothing")
    }

    fn words(&self, known_hosts: &str) -> Vec<OsString> {
        let path = self.place.path().display();
        let known = format!("UserKnownHostsFile={path}/{known_hosts}");
        let words = ["-F", "none", "-o", &known, "-o", "StrictHostKeyChecking=yes", "-o", "IdentitiesOnly=yes", "-i"];
        words.into_iter().map(OsString::from).chain([self.place.path().join("user").into()]).collect()
    }

    fn wait(&mut self) -> Result<(), String> {
        let begin = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let has_ended = self.process.try_wait().is_ok_and(|end| end.is_some());
            if has_ended || begin.elapsed() > START_LIMIT {
                let log = fs::read_to_string(self.place.path().join("log")).unwrap_or_default();
                return Err(format!("sshd does not start: {log}"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _gone_anyway = self.process.kill();
        let _gone_anyway = self.process.wait();
    }
}

/// sshd wants to be started by its whole path, and is not in everybody's `PATH`.
fn find(program: &str) -> Option<PathBuf> {
    let in_path = TestProgram::find(program).map(|found| found.path().to_owned());
    in_path.or_else(|| Some(Path::new("/usr/sbin").join(program)).filter(|path| path.exists()))
}

fn keygen(path: &Path) -> Result<(), String> {
    let mut command = Command::new("ssh-keygen");
    command.args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"]).arg(path).stdin(Stdio::null());
    let made = command.output().map_err(|error| format!("ssh-keygen does not start: {error}"))?;
    if made.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&made.stderr).into_owned()) }
}

fn read(place: &TempTree, name: &str) -> Result<String, String> {
    fs::read_to_string(place.path().join(name)).map_err(|error| format!("no key: {error}"))
}

fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(|error| format!("no port: {error}"))?;
    listener.local_addr().map(|address| address.port()).map_err(|error| format!("no port: {error}"))
}
