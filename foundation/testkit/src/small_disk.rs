//! A file system of some megabytes that only one server sees, and that can grow: it is mounted in the mount namespace of that server, and ends with it.
//! Only root may do that.

use rustix::process::geteuid;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A mounted file system.
#[derive(Debug)]
pub struct SmallDisk {
    server: u32,
    path: PathBuf,
}

/// Whether this process may mount; an error says why not.
pub(crate) fn can_mount() -> Result<(), String> {
    if !geteuid().is_root() {
        return Err("a file system in memory: only root may mount one".to_owned());
    }
    let tried = Command::new("unshare").args(["-m", "mount", "-t", "tmpfs", "none", "/tmp"]).output();
    match tried {
        Ok(output) if output.status.success() => Ok(()),
        Ok(_) | Err(_) => Err("no file system can be mounted here".to_owned()),
    }
}

/// A program in a mount namespace of its own, of another user if one is given. It has the PID that is spawned.
pub(crate) fn with_own_mounts(program: &Path, user: Option<u32>) -> Command {
    let mut command = Command::new("unshare");
    command.args(["-m", "--propagation=private"]);
    if let Some(user) = user {
        command.args(["setpriv", "--clear-groups", &format!("--reuid={user}"), &format!("--regid={user}")]);
    }
    command.arg(program);
    command
}

impl SmallDisk {
    pub(crate) fn mount(server: u32, path: PathBuf, megabytes: u32, owner: u32) -> Self {
        let disk = Self { server, path };
        disk.run(&["-t", "tmpfs", "-o", &format!("size={megabytes}m,mode=700,uid={owner},gid={owner}"), "none"]);
        disk
    }

    /// Where the server sees it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes it larger.
    ///
    /// # Panics
    /// When the server has gone.
    pub fn grow_to(&self, megabytes: u32) {
        self.run(&["-o", &format!("remount,size={megabytes}m")]);
    }

    fn run(&self, words: &[&str]) {
        let mut command = Command::new("nsenter");
        command.args(["-m", "-t", &self.server.to_string(), "mount"]).args(words).arg(&self.path);
        let output = command.output().expect("nsenter comes with unshare");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
