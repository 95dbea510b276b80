//! A server that is started for a measurement and stopped behind it: in a process group of its own, so that the keys of the terminal are not for it, and
//! ended with us. What it prints goes into a file, whose last lines are in every error.

use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};
use std::fs::{File, read_to_string};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use sys::error_text::message;
use sys::reap::{has_ended, signal_group, signal_process};

/// Whose process it is: numbers of a user and a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunAs {
    /// The user.
    pub user: u32,
    /// The group.
    pub group: u32,
}

impl RunAs {
    /// Has `command` run as this user, with no other groups.
    pub fn put_on(self, command: &mut Command) {
        command.gid(self.group).uid(self.user);
    }
}

/// The signal that asks a server to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum StopSignal {
    /// SIGTERM
    #[default]
    Term,
    /// SIGINT: PostgreSQL's fast shutdown.
    Int,
    /// SIGQUIT
    Quit,
}

impl StopSignal {
    fn number(self) -> i32 {
        match self {
            Self::Term => Signal::TERM.as_raw(),
            Self::Int => Signal::INT.as_raw(),
            Self::Quit => Signal::QUIT.as_raw(),
        }
    }
}

/// A server that runs.
#[derive(Debug)]
pub struct ArmServer {
    child: Child,
    log: PathBuf,
}

impl ArmServer {
    /// Starts it; what it prints is written into `log`.
    pub fn start(command: &mut Command, log: &Path) -> Result<Self, String> {
        let name = terminal_name(command);
        let failed = |error: io::Error| format!("start {name}: {}", message(&error));
        let output = File::create(log).map_err(|error| format!("write {}: {}", log.display(), message(&error)))?;
        command.stdin(Stdio::null()).stdout(output.try_clone().map_err(failed)?).stderr(output).process_group(0);
        sys::signals::ends_with_us(sys::signals::as_at_start(command));
        let child = command.spawn().map_err(failed)?;
        Ok(Self { child, log: log.to_owned() })
    }

    /// Its first process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it has ended, if it has. What it has left in its group is ended, too: it would keep the socket of the next one.
    pub fn end(&mut self) -> Option<ExitStatus> {
        // While its end is seen and not taken, the number of its group is nobody else's.
        if let Some(leader) = self.leader().filter(|leader| has_ended(*leader)) {
            let _gone_anyway = signal_group(leader, Signal::KILL.as_raw());
        }
        self.child.try_wait().ok().flatten()
    }

    fn leader(&self) -> Option<Pid> {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// The last lines that it printed.
    pub fn last_words(&self) -> String {
        let text = end_of_file(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        // Messages are one line.
        lines[lines.len().saturating_sub(LAST_LINES)..].join("; ")
    }

    /// Whether a library is mapped into the process, by its path or by the name of its file.
    pub fn has_mapped(pid: u32, library: &Path) -> Result<bool, String> {
        let maps = format!("/proc/{pid}/maps");
        let text = read_to_string(&maps).map_err(|error| format!("read {maps}: {}", message(&error)))?;
        Ok(is_mapped(&text, library))
    }

    /// Asks it by `signal` to end, and ends it by force where it does not within a time, which is an error.
    pub fn stop(mut self, signal: StopSignal, within: Duration) -> Result<(), String> {
        let asked = self.leader().map_or(Ok(()), |pid| signal_process(pid, signal.number()));
        asked.map_err(|error| format!("stop the server: {}", message(&error)))?;
        let began = Instant::now();
        while self.end().is_none() {
            if began.elapsed() > within {
                return Err(format!("stop the server within {} s; it was killed", within.as_secs()));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

/// LIMIT: lines of a log in an error, and bytes in which they are looked for.
const LAST_LINES: usize = 8;
const LAST_BYTES: u64 = 64 << 10;

fn end_of_file(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LAST_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(LAST_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

impl Drop for ArmServer {
    fn drop(&mut self) {
        if self.end().is_some() {
            return;
        }
        // Its children, too: they are in its group, unless they made one of their own.
        let _gone_anyway = self.leader().map(|leader| signal_group(leader, Signal::KILL.as_raw()));
        let _gone_anyway = self.child.wait();
    }
}

fn terminal_name(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

/// Whether a text of `/proc/PID/maps` has a file with this path, with the path that it leads to, or where only a name is given with this name.
fn is_mapped(maps: &str, library: &Path) -> bool {
    let has_directory = library.components().count() > 1;
    let real = if has_directory { std::fs::canonicalize(library).ok() } else { None };
    let is_it = |path: &Path| match has_directory {
        true => path == library || real.as_deref() == Some(path),
        // The loader took it from its own directories, where a name of this kind is a link to one with more numbers.
        false => path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&*library.to_string_lossy())),
    };
    maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..])).any(|path| is_it(Path::new(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "7f00-7f01 r-xp 00000000 08:01 42    /usr/lib/x86_64-linux-gnu/libjemalloc.so.2\n\
                        7f02-7f03 r-xp 00000000 08:01 43    /usr/lib/x86_64-linux-gnu/libc.so.6\n7f04-7f05 rw-p 0 00:00 0 [heap]\n";

    #[test]
    fn a_library_is_mapped_by_its_path_or_its_name() {
        for there in ["libjemalloc.so.2", "libjemalloc.so", "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"] {
            assert!(is_mapped(MAPS, Path::new(there)), "{there}");
        }
        for not_there in ["libtcmalloc.so", "/opt/libjemalloc.so.2", "jemalloc"] {
            assert!(!is_mapped(MAPS, Path::new(not_there)), "{not_there}");
        }
    }

    #[test]
    fn a_server_that_ends_is_seen_with_its_last_words() {
        let place = tempfile::tempdir().expect("a directory");
        let mut command = Command::new("sh");
        command.args(["-c", "echo starting; echo no room >&2; exit 3"]);
        let mut server = ArmServer::start(&mut command, &place.path().join("log")).expect("it starts");
        while server.end().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(server.end().and_then(|end| end.code()), Some(3));
        assert_eq!(server.last_words(), "starting; no room");
    }

    #[test]
    fn what_a_server_leaves_in_its_group_ends_with_it() {
        let place = tempfile::tempdir().expect("a directory");
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 1000 & echo $!; exit 0"]);
        let mut server = ArmServer::start(&mut command, &place.path().join("log")).expect("it starts");
        while server.end().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let child = server.last_words();
        let is_gone = || read_to_string(format!("/proc/{child}/stat")).map_or(true, |stat| stat.contains(") Z "));
        while !is_gone() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn one_that_does_not_end_is_killed_with_its_children_and_told() {
        let place = tempfile::tempdir().expect("a directory");
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' TERM; sleep 1000 & echo $!; while :; do wait; done"]);
        let server = ArmServer::start(&mut command, &place.path().join("log")).expect("it starts");
        while server.last_words().is_empty() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let child = server.last_words();
        let stopped = server.stop(StopSignal::Term, Duration::from_millis(50));
        assert!(stopped.is_err_and(|error| error.contains("was killed")));
        let is_gone = || read_to_string(format!("/proc/{child}/stat")).map_or(true, |stat| stat.contains(") Z "));
        while !is_gone() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
