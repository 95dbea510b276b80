//! The commands of engines: found on a PATH that the caller gives, run without a terminal, with a limit of time and of output. One that
//! hangs is killed with what it has started. Decides nothing about their answers.

use super::LauncherFault;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{MemfdFlags, OFlags, fcntl_getfl, fcntl_setfl, memfd_create};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use rustix::time::Timespec;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// LIMIT: an engine's command that answers at all answers within this.
pub(super) const TIME_LIMIT: Duration = Duration::from_secs(10);

/// How often a question is asked before its engine counts as silent.
const ATTEMPTS: u32 = 3;

/// LIMIT: bytes kept of an answer; a list of 20,000 workers has fewer.
const OUTPUT_MAX: usize = 4 << 20;

/// LIMIT: bytes of an engine's words in a message.
const WORDS_MAX: usize = 1000;

/// Variables that mean something between a process and its children on one machine only.
const OF_ONE_MACHINE: [&str; 3] = ["MH_LEASE", "MAKEFLAGS", "MFLAGS"];

/// Where programs of engines are looked for, and the variables that they get.
#[derive(Clone, Debug)]
pub struct EngineEnvironment {
    path: OsString,
    variables: Vec<(OsString, OsString)>,
    /// In place of the limits of commands, where tests do not wait for them.
    limit: Option<Duration>,
}

impl EngineEnvironment {
    /// With the directories of `path`, and these variables without those that no other machine can use.
    pub fn new(path: &OsStr, variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let variables = variables.into_iter().filter(|(name, _)| OF_ONE_MACHINE.iter().all(|other| name != *other));
        Self { path: path.to_owned(), variables: variables.collect(), limit: None }
    }

    #[cfg(test)]
    pub(super) fn within(self, limit: Duration) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// Adds a variable, or replaces it.
    #[must_use]
    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.retain(|(other, _)| other != name);
        self.variables.push((name.into(), value.into()));
        self
    }

    pub(super) fn path(&self) -> &OsStr {
        &self.path
    }

    pub(super) fn variables(&self) -> &[(OsString, OsString)] {
        &self.variables
    }

    /// The first program of that name.
    fn find(&self, program: &str) -> Option<PathBuf> {
        let is_program = |path: &PathBuf| {
            fs::metadata(path).is_ok_and(|status| status.is_file() && status.permissions().mode() & 0o111 != 0)
        };
        let directories = self.path.as_bytes().split(|&byte| byte == b':').filter(|directory| !directory.is_empty());
        directories.map(|directory| Path::new(OsStr::from_bytes(directory)).join(program)).find(is_program)
    }
}

/// A command that is to be run.
#[derive(Clone, Debug)]
pub(super) struct EngineCommand {
    engine: &'static str,
    program: &'static str,
    arguments: Vec<OsString>,
    input: Vec<u8>,
    /// What messages call it.
    label: String,
    limit: Duration,
    attempts: u32,
}

/// What a command said.
#[derive(Clone, Debug)]
pub(super) struct EngineAnswer {
    label: String,
    status: ExitStatus,
    pub stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl EngineCommand {
    pub(super) fn new(engine: &'static str, program: &'static str) -> Self {
        let (arguments, input, label) = (Vec::new(), Vec::new(), program.to_owned());
        Self { engine, program, arguments, input, label, limit: TIME_LIMIT, attempts: ATTEMPTS }
    }

    #[must_use]
    pub(super) fn args<Word: Into<OsString>>(mut self, words: impl IntoIterator<Item = Word>) -> Self {
        self.arguments.extend(words.into_iter().map(Into::into));
        self
    }

    /// Its standard input; none is `/dev/null`.
    #[must_use]
    pub(super) fn input(mut self, input: Vec<u8>) -> Self {
        self.input = input;
        self
    }

    /// What messages call it, where its arguments are long.
    #[must_use]
    pub(super) fn label(mut self, label: String) -> Self {
        self.label = label;
        self
    }

    /// Runs it once and for so long: a second time would do the same thing twice.
    #[must_use]
    pub(super) fn once_within(mut self, limit: Duration) -> Self {
        (self.limit, self.attempts) = (limit, 1);
        self
    }

    /// As it is typed in a shell.
    pub(super) fn typed(&self) -> String {
        let words = self.arguments.iter().map(|word| word.as_bytes());
        let line = jobs::shell_words::join(
            [self.program.as_bytes()].into_iter().chain(words),
            jobs::shell_words::Controls::Raw,
        );
        String::from_utf8_lossy(&line).into_owned()
    }

    /// Runs it until it answers. Whether it agreed is in the answer.
    pub(super) fn ask(&self, environment: &EngineEnvironment) -> Result<EngineAnswer, LauncherFault> {
        let not_found = || LauncherFault::NotFound { engine: self.engine, looked_for: self.program };
        let program = environment.find(self.program).ok_or_else(not_found)?;
        let limit = environment.limit.unwrap_or(self.limit);
        let mut said = Vec::new();
        for _ in 0..self.attempts {
            let ran = self.run(&program, environment, limit);
            let cause = |cause| LauncherFault::Run { command: self.label.clone(), cause };
            let (status, stdout, stderr) = ran.map_err(cause)?;
            let label = self.label.clone();
            match status {
                Some(status) => return Ok(EngineAnswer { label, status, stdout, stderr }),
                None => said = stderr,
            }
        }
        Err(match words(&said) {
            said if said.is_empty() => LauncherFault::Silent { command: self.label.clone(), after: limit },
            said => LauncherFault::Refused { command: self.label.clone(), said },
        })
    }

    /// As [`Self::ask`]; an answer that is a refusal is a fault.
    pub(super) fn answer(&self, environment: &EngineEnvironment) -> Result<EngineAnswer, LauncherFault> {
        self.ask(environment)?.agreed()
    }

    /// Its end, none where time was up, with its output.
    fn run(
        &self,
        program: &Path,
        environment: &EngineEnvironment,
        limit: Duration,
    ) -> io::Result<(Option<ExitStatus>, Vec<u8>, Vec<u8>)> {
        let mut command = Command::new(program);
        command.args(&self.arguments).env_clear().env("PATH", &environment.path);
        command.envs(environment.variables.iter().cloned());
        command.stdin(input(&self.input)?).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = sys::signals::as_at_start(&mut command).spawn()?;
        let collected = collect(&mut child, limit);
        if !matches!(collected, Ok((true, ..))) {
            // It is not reaped yet, so that its number cannot have become another group's.
            let _is_gone = kill_process_group(Pid::from_child(&child), Signal::KILL);
        }
        let status = child.wait()?;
        let (has_ended, stdout, stderr) = collected?;
        Ok((has_ended.then_some(status), stdout, stderr))
    }
}

impl EngineAnswer {
    /// Itself where the command ended with success.
    pub(super) fn agreed(self) -> Result<Self, LauncherFault> {
        match (self.status.success(), self.stdout.len() > OUTPUT_MAX) {
            (true, false) => Ok(self),
            (true, true) => Err(self.refused(format!("its output is longer than {} MiB", OUTPUT_MAX >> 20))),
            (false, _) => {
                let said = self.said();
                Err(self.refused(said))
            }
        }
    }

    fn refused(self, said: String) -> LauncherFault {
        LauncherFault::Refused { command: self.label, said }
    }

    /// Its words: what it printed about an error, else what it printed, else how it ended.
    pub(super) fn said(&self) -> String {
        let how = || match (self.status.code(), self.status.signal()) {
            (None, Some(signal)) => format!("it was ended by signal {signal}"),
            (code, _) => format!("it ended with exit code {}", code.unwrap_or_default()),
        };
        let of_output = [&self.stderr, &self.stdout].map(|output| words(output));
        of_output.into_iter().find(|said| !said.is_empty()).unwrap_or_else(how)
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

/// The lines as one, cut where they are long.
fn words(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(&output[..output.len().min(WORDS_MAX)]);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join("; ")
}

/// A file in memory, which cannot fill up as a pipe does.
fn input(bytes: &[u8]) -> io::Result<Stdio> {
    if bytes.is_empty() {
        return Ok(Stdio::null());
    }
    let mut file = File::from(memfd_create("input", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file.into())
}

/// One output of a child.
struct Output {
    pipe: Option<File>,
    bytes: Vec<u8>,
}

impl Output {
    fn of(pipe: Option<impl Into<OwnedFd>>) -> io::Result<Self> {
        let pipe = pipe.map(|pipe| File::from(pipe.into()));
        if let Some(pipe) = &pipe {
            fcntl_setfl(pipe, fcntl_getfl(pipe)? | OFlags::NONBLOCK)?;
        }
        Ok(Self { pipe, bytes: Vec::new() })
    }

    /// Reads what is there, but no more than a few buffers at a time; too much of it is passed over.
    fn take(&mut self) -> io::Result<()> {
        let mut buffer = [0; 16 << 10];
        for _ in 0..64 {
            let Some(pipe) = &mut self.pipe else { return Ok(()) };
            match pipe.read(&mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(read) if self.bytes.len() <= OUTPUT_MAX => self.bytes.extend_from_slice(&buffer[..read]),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Whether the child ended in time, and its output. Processes that it has started may hold the pipes open and are not waited for.
fn collect(child: &mut Child, limit: Duration) -> io::Result<(bool, Vec<u8>, Vec<u8>)> {
    let deadline = Instant::now() + limit;
    let end = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    let (mut stdout, mut stderr) = (Output::of(child.stdout.take())?, Output::of(child.stderr.take())?);
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let has_ended = sleep_until_news(&end, &[&stdout, &stderr], left)?;
        stdout.take()?;
        stderr.take()?;
        if has_ended || left.is_zero() {
            return Ok((has_ended, stdout.bytes, stderr.bytes));
        }
    }
}

/// Sleeps until there is output, or the end, or time is up. Whether it is the end.
fn sleep_until_news(end: &OwnedFd, outputs: &[&Output], left: Duration) -> io::Result<bool> {
    let pipes = outputs.iter().filter_map(|output| output.pipe.as_ref()).map(AsFd::as_fd);
    let mut watched: Vec<PollFd<'_>> =
        [end.as_fd()].into_iter().chain(pipes).map(|of| PollFd::from_borrowed_fd(of, PollFlags::IN)).collect();
    let left = Timespec::try_from(left).map_err(io::Error::other)?;
    match poll(&mut watched, Some(&left)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(!watched[0].revents().is_empty()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use testkit::tree::TempTree;

    /// A directory with programs, each a shell script, in front of the real PATH.
    pub(crate) fn fakes(programs: &[(&str, &str)]) -> (TempTree, EngineEnvironment) {
        let place = TempTree::new();
        for (name, script) in programs {
            place.file(name, format!("#!/bin/sh\n{script}\n")).mode(name, 0o755);
        }
        let path = format!("{}:/usr/bin:/bin", place.path().display());
        let environment = EngineEnvironment::new(OsStr::new(&path), []);
        (place, environment)
    }

    fn fake(script: &str) -> (TempTree, EngineEnvironment, EngineCommand) {
        let (place, environment) = fakes(&[("engine-fake", script)]);
        (place, environment, EngineCommand::new("fake", "engine-fake"))
    }

    #[test]
    fn words_and_input_arrive_and_variables_are_those_given() {
        let (place, _, command) = fake("cat; printf '<%s>' \"$@\"; printf '%s' \"$COLOUR $MH_LEASE\"");
        let variables = [("COLOUR", "red"), ("MH_LEASE", "7")].map(|(name, value)| (name.into(), value.into()));
        let path = format!("{}:/usr/bin:/bin", place.path().display());
        let environment = EngineEnvironment::new(OsStr::new(&path), variables);
        let big = "x".repeat(300_000);
        let answer = command.args(["a b", "c\nd"]).input(big.clone().into()).answer(&environment).expect("it agrees");
        assert_eq!(answer.text(), format!("{big}<a b><c\nd>red "));
    }

    #[test]
    fn a_command_that_hangs_is_killed_with_what_it_started_and_asked_again() {
        let (place, environment, command) = fake("");
        let asked = place.path().join("asked");
        let script = format!("#!/bin/sh\necho $$ >> '{}'; sleep 1000 & sleep 1000", asked.display());
        place.file("engine-fake", script).mode("engine-fake", 0o755);
        let fault = command.ask(&environment.within(Duration::from_millis(200))).expect_err("it hangs");
        assert!(matches!(fault, LauncherFault::Silent { .. }), "{fault}");
        let pids = fs::read_to_string(asked).expect("it was asked");
        assert_eq!(pids.lines().count(), 3);
        for pid in pids.lines() {
            assert!(!fs::exists(format!("/proc/{pid}")).expect("it can be asked"), "{pid} is reaped");
        }
    }

    #[test]
    fn words_before_a_hang_are_the_reason() {
        let (_place, environment, command) = fake("echo sleeping and retrying >&2; sleep 1000");
        let fault = command.ask(&environment.within(Duration::from_millis(300))).expect_err("it hangs");
        assert_eq!(fault.to_string(), "engine-fake: sleeping and retrying");
    }

    #[test]
    fn a_command_that_leaves_a_process_behind_is_not_waited_for() {
        let (_place, environment, command) = fake("sleep 1000 & echo $!");
        let answer = command.answer(&environment).expect("it agrees");
        let left = Pid::from_raw(answer.text().trim().parse().expect("a number")).expect("above 0");
        rustix::process::kill_process(left, Signal::KILL).expect("it lives");
    }

    #[test]
    fn refusals_have_the_commands_words() {
        let said = |script: &str| {
            let (_place, environment, command) = fake(script);
            command.label("engine -x".to_owned()).answer(&environment).expect_err("refused").to_string()
        };
        assert_eq!(said("echo a >&2; echo; echo ' b' >&2; exit 1"), "engine -x: a; b");
        assert_eq!(said("echo out; exit 1"), "engine -x: out");
        assert_eq!(said("exit 7"), "engine -x: it ended with exit code 7");
        assert_eq!(said("kill -9 $$"), "engine -x: it was ended by signal 9");
        assert_eq!(said("head -c 5000000 /dev/zero"), "engine -x: its output is longer than 4 MiB");
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let (_place, environment) = fakes(&[]);
        let fault = EngineCommand::new("Slurm", "engine-fake").ask(&environment).expect_err("not there");
        assert_eq!(fault.to_string(), "Slurm was not found: there is no 'engine-fake' on PATH");
    }

    #[test]
    fn what_is_typed_is_quoted() {
        let command = EngineCommand::new("Slurm", "sbatch").args(["--wrap", "exec 'a b'", "-J", "x"]);
        assert_eq!(command.typed(), r"sbatch --wrap 'exec '\''a b'\''' -J x");
    }
}
