//! Other programs in tests: finding rivals, running them with input, output and a time limit, saying what was left out.
//! Pipes are read and fed by threads of their own, so that no amount of output or input can lock a test up.

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::time::{Duration, Instant};

/// What a program left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramOutcome {
    /// How it ended.
    pub exit: Exit,
    /// All of its standard output.
    pub stdout: Vec<u8>,
    /// All of its standard error.
    pub stderr: Vec<u8>,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// By our hand, with all of its process group, because its time was up.
    TimedOut,
}

impl ProgramOutcome {
    /// Standard output of a program that had to succeed.
    ///
    /// # Panics
    /// When it did not, with what it said.
    pub fn stdout_of_success(self) -> Vec<u8> {
        let said = String::from_utf8_lossy(&self.stderr);
        assert!(self.exit == Exit::Code(0), "the program ended by {:?} and said: {said}", self.exit);
        self.stdout
    }
}

/// LIMIT: a program that needs longer than this hangs; the slowest test machine included.
pub const TIME_LIMIT: Duration = Duration::from_secs(300);

/// A program with the settings of its runs.
#[derive(Clone, Debug)]
pub struct TestProgram {
    path: PathBuf,
    directory: Option<PathBuf>,
    variables: Vec<(OsString, OsString)>,
    time_limit: Duration,
}

impl TestProgram {
    /// The executable file of that name in `PATH`.
    pub fn find(name: &str) -> Option<Self> {
        let directories = std::env::var_os("PATH")?;
        std::env::split_paths(&directories)
            .map(|directory| directory.join(name))
            .find(|path| is_executable(path))
            .map(Self::at)
    }

    /// The program at `path`.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), directory: None, variables: Vec::new(), time_limit: TIME_LIMIT }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs it in `directory` instead of this process's.
    #[must_use]
    pub fn in_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Adds an environment variable to those of this process.
    #[must_use]
    pub fn with_variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Ends it after another time than [`TIME_LIMIT`].
    #[must_use]
    pub fn within(mut self, time_limit: Duration) -> Self {
        self.time_limit = time_limit;
        self
    }

    /// Runs it with these arguments and `stdin` as its standard input. An error means that it could not be started.
    pub fn run<Argument: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = Argument>,
        stdin: &[u8],
    ) -> io::Result<ProgramOutcome> {
        let mut command = Command::new(&self.path);
        command.args(arguments).envs(self.variables.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        run_to_end(command, stdin, self.time_limit)
    }
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// After a kill, output that another program still holds open is not waited for longer than this.
const AFTER_KILL: Duration = Duration::from_secs(2);

/// Runs `command` in a process group of its own until it has ended and its output is closed, or until time is up; then
/// the whole group is killed.
pub fn run_to_end(mut command: Command, stdin: &[u8], time_limit: Duration) -> io::Result<ProgramOutcome> {
    let deadline = Instant::now() + time_limit;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn()?;
    let (closed, all_closed) = mpsc::sync_channel(2);
    feed(child.stdin.take(), stdin.to_vec());
    let stdout = collect(child.stdout.take(), closed.clone());
    let stderr = collect(child.stderr.take(), closed);
    let ended = ends_before(&child, deadline);
    let in_time = matches!(ended, Ok(true)) && are_closed(&all_closed, deadline);
    if !in_time {
        // The leader has not been waited for, so that its number cannot have become another group's.
        kill_group(&child)?;
        let _another_may_hold_them = are_closed(&all_closed, Instant::now() + AFTER_KILL);
    }
    let status = child.wait()?;
    ended?;
    let exit = if in_time { exit_of(status) } else { Exit::TimedOut };
    Ok(ProgramOutcome { exit, stdout: taken(&stdout), stderr: taken(&stderr) })
}

fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => unreachable!("a process that was waited for has a code or a signal"),
    }
}

fn pid_of(child: &Child) -> Pid {
    Pid::from_child(child)
}

/// Waits for the end without taking the exit status.
fn ends_before(child: &Child, deadline: Instant) -> io::Result<bool> {
    let ended = pidfd_open(pid_of(child), PidfdFlags::empty())?;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = left.try_into().map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(&ended, PollFlags::IN)], Some(&left)) {
            Ok(count) => return Ok(count > 0),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn kill_group(child: &Child) -> io::Result<()> {
    match kill_process_group(pid_of(child), Signal::KILL) {
        Err(rustix::io::Errno::SRCH) | Ok(()) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Whether both outputs are closed before the deadline: each sends one word.
fn are_closed(closed: &Receiver<()>, deadline: Instant) -> bool {
    loop {
        match closed.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(()) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => return true,
            Err(mpsc::RecvTimeoutError::Timeout) => return false,
        }
    }
}

fn feed(pipe: Option<impl Write + Send + 'static>, bytes: Vec<u8>) {
    let Some(mut pipe) = pipe else { return };
    std::thread::spawn(move || match pipe.write_all(&bytes) {
        // A program need not read what it is given.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => panic!("could not feed a program: {error}"),
        _ => {}
    });
}

type Collected = Arc<Mutex<Vec<u8>>>;

/// Reads `pipe` to its end; dropping `closed` tells that it is there.
fn collect(pipe: Option<impl Read + Send + 'static>, closed: SyncSender<()>) -> Collected {
    let collected = Collected::default();
    let bytes = Arc::clone(&collected);
    std::thread::spawn(move || {
        let Some(mut pipe) = pipe else { return };
        let mut buffer = vec![0; 64 << 10];
        loop {
            match pipe.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => bytes.lock().extend_from_slice(&buffer[..read]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => panic!("could not read a program's output: {error}"),
            }
        }
        drop(closed);
    });
    collected
}

fn taken(collected: &Collected) -> Vec<u8> {
    std::mem::take(&mut collected.lock())
}

/// Tells that the calling test was left out and why: on standard error, and in the file that the environment variable
/// `MH_LEFT_OUT` names, so that the test command can list all of them at its end.
pub fn left_out(reason: &str) {
    let thread = std::thread::current();
    let line = format!("left out: {}: {reason}\n", thread.name().unwrap_or("a test"));
    // Not eprint!: the test harness would keep it to itself when the test passes.
    let _nowhere_to_complain = io::stderr().lock().write_all(line.as_bytes());
    if let Some(path) = std::env::var_os("MH_LEFT_OUT") {
        append(Path::new(&path), &line).expect("the file named by MH_LEFT_OUT can be written");
    }
}

/// One write to a file opened for appending: lines of tests that run at once stay whole.
fn append(path: &Path, line: &str) -> io::Result<()> {
    File::options().append(true).create(true).open(path)?.write_all(line.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, stdin: &[u8], time_limit: Duration) -> ProgramOutcome {
        let shell = TestProgram::find("sh").expect("every system has sh").within(time_limit);
        shell.run(["-c", script], stdin).expect("sh starts")
    }

    #[test]
    fn a_program_that_is_there_is_found_and_one_that_is_not_is_none() {
        assert!(TestProgram::find("sh").is_some_and(|program| program.path().ends_with("sh")));
        assert!(TestProgram::find("no-such-program-anywhere").is_none());
    }

    #[test]
    fn outputs_and_code_are_told_apart() {
        let outcome = shell("echo out; echo err >&2; exit 3", b"", TIME_LIMIT);
        let expected = ProgramOutcome { exit: Exit::Code(3), stdout: b"out\n".to_vec(), stderr: b"err\n".to_vec() };
        assert_eq!(outcome, expected);
        assert_eq!(shell("kill -TERM $$", b"", TIME_LIMIT).exit, Exit::Signal(15));
    }

    #[test]
    fn more_than_a_pipe_holds_flows_both_ways() {
        let input = crate::data::random(3 << 20, 1);
        let outcome = shell("cat; cat /dev/zero | head -c 300000 >&2", &input, TIME_LIMIT);
        assert_eq!(outcome.stderr.len(), 300_000);
        assert!(outcome.stdout_of_success() == input);
    }

    #[test]
    fn a_program_need_not_read_its_input() {
        assert_eq!(shell("exit 0", &vec![0; 1 << 20], TIME_LIMIT).exit, Exit::Code(0));
    }

    #[test]
    fn a_hanging_program_is_killed_with_its_children_and_its_output_kept() {
        let outcome = shell("echo started; sleep 1000 & sleep 1000", b"", Duration::from_millis(300));
        assert_eq!((outcome.exit, outcome.stdout), (Exit::TimedOut, b"started\n".to_vec()));
    }

    #[test]
    fn a_child_that_keeps_the_output_open_is_waited_for_and_then_killed() {
        let outcome = shell("sleep 1000 & echo $!", b"", Duration::from_millis(300));
        assert_eq!(outcome.exit, Exit::TimedOut);
        let pid: i32 = String::from_utf8_lossy(&outcome.stdout).trim().parse().expect("a number");
        let deadline = Instant::now() + TIME_LIMIT;
        while !is_dead(pid) {
            assert!(Instant::now() < deadline, "the child outlived its group");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Reaped, or dead and waiting for somebody to reap it.
    fn is_dead(pid: i32) -> bool {
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        state.is_empty() || state.contains(") Z") || state.contains(") X")
    }

    #[test]
    #[should_panic(expected = "said: no luck")]
    fn a_failure_where_success_is_due_shows_what_was_said() {
        shell("echo no luck >&2; exit 1", b"", TIME_LIMIT).stdout_of_success();
    }

    #[test]
    fn lines_are_appended_whole() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("left-out");
        append(&path, "one\n").expect("written");
        append(&path, "two\n").expect("written");
        assert_eq!(fs::read_to_string(&path).expect("readable"), "one\ntwo\n");
    }
}
