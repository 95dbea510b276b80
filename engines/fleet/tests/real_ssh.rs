//! A real ssh client and server on loopback, with keys of their own: one viewer, three names of this host, and one that
//! refuses.

use crate::stage::{connected, lost, turn, viewer_options};
use fleet::ssh::SshOptions;
use fleet::viewer::{FleetEvent, Viewer};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use testkit::program::{TestProgram, left_out};

/// A server that ends with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ended = self.0.kill().and_then(|()| self.0.wait());
    }
}

#[test]
fn hosts_are_read_over_ssh_itself() {
    if !rustix::process::geteuid().is_root() {
        return left_out("only root can start an ssh server for its own account");
    }
    let programs = ["sshd", "ssh", "ssh-keygen"].map(TestProgram::find);
    let [Some(sshd), Some(ssh), Some(keygen)] = programs else {
        return left_out("sshd, ssh or ssh-keygen is not installed");
    };
    let directory = tempfile::tempdir().expect("a directory");
    for name in ["server", "user"] {
        let path = directory.path().join(name).display().to_string();
        let made = keygen.run(["-q", "-t", "ed25519", "-N", "", "-f", path.as_str()], b"").expect("it starts");
        made.stdout_of_success();
    }
    let Some((server, port)) = start(sshd.path(), directory.path()) else {
        return left_out("sshd does not start here");
    };
    let script = r"echo Welcome to mh; printf 'mh\001\002\000\000\000............hi'; exec sleep 100";
    let mut options = viewer_options(None, Vec::new());
    options.ssh = client(ssh.path(), directory.path(), port, script);
    options.ssh_hosts = ["127.0.0.1", "root@localhost", "nobody@127.0.0.2"].map(str::to_owned).to_vec();
    let mut viewer = Viewer::open(options).expect("it opens");
    let events = turn(&mut [], &mut viewer, |events| connected(events).len() == 2 && lost(events).is_some());
    let names: Vec<String> = connected(&events).into_iter().map(|(_, name)| name).collect();
    assert!(names.iter().all(|name| name == "127.0.0.1" || name == "root@localhost"), "{names:?}");
    let samples =
        events.iter().filter(|event| matches!(event, FleetEvent::Envelope { bytes, .. } if bytes.ends_with(b"hi")));
    assert_eq!(samples.count(), 2);
    let reason = lost(&events).expect("just seen");
    assert!(reason.contains("ermission denied"), "{reason}");
    drop((viewer, server));
}

fn start(sshd: &Path, directory: &Path) -> Option<(Server, u16)> {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port").port();
    // Only for the server to start: an installed one has it.
    std::fs::create_dir_all("/run/sshd").ok()?;
    let place = directory.display();
    let lines = format!(
        "Port {port}\nHostKey {place}/server\nAuthorizedKeysFile {place}/user.pub\nStrictModes no\nUsePAM no\n\
         PasswordAuthentication no\nPermitRootLogin yes\nAllowUsers root\nPidFile none\n"
    );
    std::fs::write(directory.join("config"), lines).expect("written");
    let config = directory.join("config").display().to_string();
    let child = Command::new(sshd).args(["-D", "-e", "-f", &config]).stderr(Stdio::null()).spawn().ok()?;
    let server = Server(child);
    let end = Instant::now() + Duration::from_secs(20);
    while Instant::now() < end {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Some((server, port));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    None
}

fn client(ssh: &Path, directory: &Path, port: u16, script: &str) -> SshOptions {
    let mut options = SshOptions::usual([script]);
    options.program[0] = ssh.as_os_str().to_owned();
    let user = directory.join("user").display().to_string();
    let port = port.to_string();
    let known = format!("UserKnownHostsFile={}", directory.join("known").display());
    let more = [
        "-F",
        "none",
        "-i",
        user.as_str(),
        "-p",
        port.as_str(),
        "-o",
        known.as_str(),
        "-o",
        "StrictHostKeyChecking=accept-new",
    ];
    options.program.extend(more.into_iter().map(Into::into));
    options
}
