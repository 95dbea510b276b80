//! Where a comparison's servers live: a directory of its own with their data, sockets and logs. Data are prepared once, and copied anew for each start.

use super::environment;
use super::file::{ServerSection, words};
use crate::load::Stopping;
use ::load::bakeoff::arm_server::{ArmServer, RunAs};
use mh_kit::failure::Failure;
use std::collections::BTreeMap;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use sys::error_text::message;

/// The directory of a comparison, removed when dropped.
pub struct WorkPlace {
    directory: tempfile::TempDir,
    port: u16,
    owner: Option<RunAs>,
}

impl WorkPlace {
    /// Makes it below `parent`, or where temporary files are.
    pub fn make(parent: Option<&Path>, server: &ServerSection) -> Result<Self, Failure> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("mh-bakeoff-");
        let made = parent.map_or_else(|| builder.tempdir(), |parent| builder.tempdir_in(parent));
        let directory =
            made.map_err(|error| environment(format!("make a directory for the servers: {}", message(&error))))?;
        let owner = owner(server)?;
        if let Some(owner) = owner {
            std::os::unix::fs::chown(directory.path(), Some(owner.user), Some(owner.group))
                .map_err(|error| failed("give away", directory.path(), &error))?;
        }
        let port = free_port().map_err(|error| environment(format!("find a free port: {}", message(&error))))?;
        Ok(Self { directory, port, owner })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    fn within(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A text with `{directory}`, `{data}`, `{socket}`, `{port}` and `{configuration}` replaced.
    pub fn filled_in(&self, text: &str) -> String {
        text.replace("{directory}", &self.path().to_string_lossy())
            .replace("{data}", &self.within("data").to_string_lossy())
            .replace("{socket}", &self.within("socket").to_string_lossy())
            .replace("{port}", &self.port.to_string())
            .replace("{configuration}", &self.within("configuration").to_string_lossy())
    }

    /// A command of these words, as the servers' user, with a clean LD_PRELOAD.
    fn command(&self, line: &str, more: &str) -> Result<Command, Failure> {
        let mut all = words(line)?;
        all.extend(words(more)?);
        let all: Vec<String> = all.iter().map(|word| self.filled_in(word)).collect();
        let Some((program, arguments)) = all.split_first() else {
            return Err(super::usage("a command has no words".to_owned()));
        };
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.path()).env_remove("LD_PRELOAD");
        if let Some(owner) = self.owner {
            owner.put_on(&mut command);
            command.env("HOME", self.path());
        }
        Ok(command)
    }

    /// Carries out a command that prepares, to its end; none if the user wants to end.
    pub fn carry_out(&self, line: &str, stopping: &Stopping) -> Result<Option<()>, Failure> {
        let mut command = self.command(line, "")?;
        let mut running = ArmServer::start(&mut command, &self.within("log")).map_err(environment)?;
        stopping.end_with_us(running.pid());
        let end = loop {
            match running.end() {
                Some(end) => break end,
                None if stopping.is_wanted() => return Ok(None),
                None => std::thread::sleep(POLL),
            }
        };
        match end.success() {
            true => Ok(Some(())),
            false => Err(environment(format!("carry out '{line}': {end}: {}", running.last_words()))),
        }
    }

    /// Starts a server with an arm's options and variables. What it printed is in `log`.
    pub fn start(
        &self,
        server: &ServerSection,
        options: &str,
        environment_of: &BTreeMap<String, String>,
    ) -> Result<ArmServer, Failure> {
        let mut command = self.command(&server.start, options)?;
        command.envs(environment_of.iter().map(|(name, value)| (name, self.filled_in(value))));
        ArmServer::start(&mut command, &self.within("log")).map_err(environment)
    }

    /// Writes the file that a server reads its settings from; of an arm without any it is empty.
    pub fn configure(&self, parts: [&str; 2]) -> Result<(), Failure> {
        let path = self.within("configuration");
        let text = self.filled_in(&parts.join("\n"));
        std::fs::write(&path, text).map_err(|error| failed("write", &path, &error))?;
        let Some(owner) = self.owner else { return Ok(()) };
        std::os::unix::fs::chown(&path, Some(owner.user), Some(owner.group))
            .map_err(|error| failed("give away", &path, &error))
    }

    /// Takes the data that are there now as those that each start begins with.
    pub fn keep_data(&self) -> Result<(), Failure> {
        let data = self.within("data");
        if !data.exists() {
            return Ok(());
        }
        std::fs::rename(&data, self.within("prepared")).map_err(|error| failed("rename", &data, &error))
    }

    /// Puts the data back as they were prepared.
    pub fn restore_data(&self) -> Result<(), Failure> {
        let (data, prepared) = (self.within("data"), self.within("prepared"));
        if !prepared.exists() {
            return Ok(());
        }
        if data.exists() {
            std::fs::remove_dir_all(&data).map_err(|error| failed("remove", &data, &error))?;
        }
        let own =
            std::env::current_exe().map_err(|error| environment(format!("find this program: {}", message(&error))))?;
        let copied = Command::new(own).args(["cp", "-a", "--"]).args([&prepared, &data]).stdin(Stdio::null()).output();
        let copied = copied.map_err(|error| failed("copy", &prepared, &error))?;
        match copied.status.success() {
            true => Ok(()),
            false => Err(environment(format!("copy the data: {}", String::from_utf8_lossy(&copied.stderr).trim_end()))),
        }
    }
}

/// How often it is looked whether a command has ended.
const POLL: std::time::Duration = std::time::Duration::from_millis(5);

fn failed(operation: &str, path: &Path, error: &io::Error) -> Failure {
    environment(format!("{operation} {}: {}", terminal::quote(path), message(error)))
}

/// Only root can give a process to somebody else; for others it stays their own.
fn owner(server: &ServerSection) -> Result<Option<RunAs>, Failure> {
    let Some(name) = server.user.as_deref().filter(|_| rustix::process::geteuid().is_root()) else { return Ok(None) };
    match sys::names::user_and_group_numbers(name.as_bytes()) {
        Some((user, group)) => Ok(Some(RunAs { user, group })),
        None => Err(environment(format!("find the user '{name}' on this host"))),
    }
}

/// Free a moment ago; if somebody takes it meanwhile, the server says so.
fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
