//! Work that a command divides over machines: where it goes, the directory of its plan, and its list of jobs, which `mh xjobs --on` runs.
//! How work is divided is the command's own affair; engines/cluster has the back end, which is used by its command line.

pub mod shards;

use crate::context::{signal_failure, variable};
use crate::failure::{Failure, Outcome, with_causes};
use clap::Args;
use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use sys::signals::{Arrived, ENDING, SignalQueue, as_at_start, die_by};

/// Where the work goes.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Other machines")]
pub struct OnArgs {
    /// Divide the work over machines: slurm[:PARTITION], ssh:HOST,HOST..., or local:N (workers on this one)
    #[arg(long, value_name = "ENGINE", hide_short_help = true)]
    pub on: Option<String>,

    /// Workers (default: as mh xjobs --on has it)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), hide_short_help = true)]
    pub nodes: Option<u32>,

    /// Cores for each worker
    #[arg(long, value_name = "C", requires = "on", value_parser = clap::value_parser!(u32).range(1..), hide_short_help = true)]
    pub cores: Option<u32>,

    /// How long a worker may run
    #[arg(long, value_name = "TIME", requires = "on", hide_short_help = true)]
    pub time: Option<String>,

    /// More words for the engine's command
    #[arg(long, value_name = "WORDS", requires = "on", allow_hyphen_values = true, hide_short_help = true)]
    pub engine_args: Option<String>,

    /// Keep the plan in DIR, which all machines see: the same command resumes there (default: a new directory here, removed at the end)
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub spool: Option<PathBuf>,

    /// Print the list of jobs and leave the plan for any runner of jobs
    #[arg(long, conflicts_with = "on", hide_short_help = true)]
    pub plan_only: bool,

    /// When a worker without a sign of life counts as dead: for tests.
    #[arg(long, value_name = "TIME", requires = "on", hide = true)]
    pub spool_lease: Option<String>,
}

/// LIMIT: workers that a plan counts on where nobody says how many.
const USUAL_WORKERS: u32 = 4;

impl OnArgs {
    /// Whether the work is divided.
    pub fn is_asked(&self) -> bool {
        self.on.is_some() || self.plan_only
    }

    /// How many workers there may be.
    pub fn workers(&self) -> u32 {
        let local = self.on.as_deref().and_then(|on| on.strip_prefix("local:")).and_then(|count| count.parse().ok());
        let hosts = self.on.as_deref().and_then(|on| on.strip_prefix("ssh:"));
        let hosts = hosts.and_then(|hosts| u32::try_from(hosts.split(',').count()).ok());
        self.nodes.or(local).or(hosts).unwrap_or(USUAL_WORKERS).max(1)
    }

    /// The options for `mh xjobs`.
    fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        let mut add = |option: &str, value: Option<OsString>| {
            words.extend(value.map(|value| [OsString::from(option), value]).into_iter().flatten());
        };
        add("--on", self.on.clone().map(Into::into));
        add("--nodes", self.nodes.map(|nodes| nodes.to_string().into()));
        add("--cores", self.cores.map(|cores| cores.to_string().into()));
        add("--time", self.time.clone().map(Into::into));
        if let Some(more) = &self.engine_args {
            words.push(format!("--engine-args={more}").into());
        }
        if let Some(lease) = &self.spool_lease {
            words.push(format!("--lease={lease}").into());
        }
        words
    }
}

/// The name of this machine, as its engine calls it.
pub fn node_name() -> String {
    let own = || OsString::from_vec(rustix::system::uname().nodename().to_bytes().to_vec());
    variable("SLURMD_NODENAME").unwrap_or_else(own).to_string_lossy().into_owned()
}

/// The directory of a plan, as everybody who works on it finds it.
#[derive(Clone, Debug)]
pub struct PlanDirectory {
    root: PathBuf,
    /// Nobody asked for it: it goes at the end.
    is_ours_alone: bool,
}

impl PlanDirectory {
    /// The one that was asked for, or a new one in the working directory.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn make(on: &OnArgs, command: &'static str) -> Result<Self, Failure> {
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or(Duration::ZERO);
        let own =
            || PathBuf::from(format!(".{}-{:x}-{:x}", command.replace(' ', "-"), now.as_nanos(), std::process::id()));
        let root = on.spool.clone().unwrap_or_else(own);
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&root).and_then(|()| root.canonicalize());
        let root = made.map_err(|error| environment(command, "make the directory", &root, &error))?;
        Ok(Self { root, is_ours_alone: on.spool.is_none() && !on.plan_only })
    }

    /// One that is there.
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned(), is_ours_alone: false }
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A path in it.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root.join(name)
    }

    /// Makes a directory in it.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn make_below(&self, name: &str) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(self.path(name))
    }

    /// Prints a list of jobs as a shell runs it.
    ///
    /// # Errors
    /// When standard output cannot be written; a reader that has gone is a closed pipe.
    pub fn print_list(&self, command: &'static str, list: &[u8]) -> Result<Outcome, Failure> {
        let failed = |error: io::Error| environment(command, "print the list of", &self.root, &error);
        let mut output = io::stdout().lock();
        for line in list.split_inclusive(|byte| *byte == b'\n') {
            let is_barrier = line == BARRIER;
            let line = if is_barrier { b"wait # %%: what follows needs all jobs above to have ended\n" } else { line };
            match output.write_all(line) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Err(Failure::BrokenPipe),
                written => written.map_err(failed)?,
            }
        }
        output.flush().map_err(failed)?;
        Ok(Outcome::Done)
    }

    /// Writes a file of it whole: nobody sees a part of it, and it is on the disk.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let (path, unfinished) = (self.path(name), self.path(format!("{name}.{}.{}", node_name(), std::process::id())));
        let write = || {
            let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            std::fs::rename(&unfinished, &path)
        };
        write().inspect_err(|_told_by_the_caller| _ = std::fs::remove_file(&unfinished))
    }

    /// Removes it, if nobody asked for it.
    pub fn end(self) {
        if self.is_ours_alone {
            let _stays_where_it_is = std::fs::remove_dir_all(&self.root);
        }
    }
}

/// A failure that names a file.
pub fn environment(command: &'static str, doing: &str, path: &Path, error: &io::Error) -> Failure {
    let message = format!("{doing} {}: {}", terminal::quote(path), with_causes(error));
    Failure::Environment { command, message }
}

/// A word as a shell takes it.
pub fn shell_word(word: &OsStr) -> Vec<u8> {
    let mut quoted = b"'".to_vec();
    for byte in word.as_bytes() {
        match byte {
            b'\'' => quoted.extend_from_slice(b"'\\''"),
            byte => quoted.push(*byte),
        }
    }
    quoted.push(b'\'');
    quoted
}

/// A job that runs this program: `mh COMMAND OPTION PATH`, as a line of a list.
///
/// # Errors
/// When nobody knows where this program is, or the path cannot stand in a line.
pub fn job_line(command: &str, option: &str, path: &Path) -> io::Result<Vec<u8>> {
    let program = std::env::current_exe()?;
    if [program.as_path(), path].iter().any(|path| path.as_os_str().as_bytes().contains(&b'\n')) {
        return Err(io::Error::other("its path has a line break"));
    }
    let program = shell_word(program.as_os_str());
    Ok([
        &program,
        b" ".as_slice(),
        command.as_bytes(),
        b" ",
        option.as_bytes(),
        b" ",
        &shell_word(path.as_os_str()),
        b"\n",
    ]
    .concat())
}

/// The line between two stages of a list.
pub const BARRIER: &[u8] = b"%%\n";

/// Whether the engine can be asked for workers: before anything is made.
///
/// # Errors
/// With what `mh xjobs` says about it, which has been printed.
pub fn ask_engine(on: &OnArgs) -> Result<(), Failure> {
    let mut command = xjobs(on)?;
    command.args(["--explain", "-s", "/dev/null"]).stdin(Stdio::null()).stdout(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(said_already(status)),
        Err(error) => Err(not_run(&error)),
    }
}

/// Its own line has been printed by the child.
fn said_already(status: ExitStatus) -> Failure {
    if let Some(signal) = status.signal() {
        die_by(signal);
    }
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Failure::InWordsOfOthers { text: "mh: the work was not divided".to_owned(), code }
}

fn not_run(error: &io::Error) -> Failure {
    Failure::Environment { command: "mh", message: format!("run mh xjobs: {}", with_causes(error)) }
}

fn xjobs(on: &OnArgs) -> Result<Command, Failure> {
    let program = std::env::current_exe().map_err(|error| not_run(&error))?;
    let mut command = Command::new(program);
    command.arg("xjobs").args(on.words());
    Ok(command)
}

/// Attends to ending signals: they end this process while it plans, and are passed on to `mh xjobs` while that runs. A terminal's reach both.
pub struct SignalWatch(Arc<Mutex<Standing>>);

/// What a signal means at the moment.
enum Standing {
    /// The end of this process, and of the directory that nobody has asked for.
    Ours(Option<PathBuf>),
    /// Something to the one that works.
    Its(Pid),
}

impl SignalWatch {
    /// Begins. To be called before other threads are started.
    ///
    /// # Errors
    /// When signals cannot be held back, or no thread can be had.
    pub fn begin(plan: &PlanDirectory) -> Result<Self, Failure> {
        let ours = plan.is_ours_alone.then(|| plan.root.clone());
        let standing = Arc::new(Mutex::new(Standing::Ours(ours)));
        let (signals, watched) = (SignalQueue::open(ENDING).map_err(signal_failure)?, Arc::clone(&standing));
        let watch = move || {
            loop {
                let mut wanted = [PollFd::new(&signals, PollFlags::IN)];
                let _looked_again = poll(&mut wanted, None);
                for arrived in signals.take().unwrap_or_default() {
                    pass_on(&watched, arrived);
                }
            }
        };
        std::thread::Builder::new().name("signals".to_owned()).spawn(watch).map_err(signal_failure)?;
        Ok(Self(standing))
    }

    /// Has `mh xjobs` run a list on the engine, with this process's standard streams.
    ///
    /// # Errors
    /// When it cannot be started or waited for.
    pub fn run_list(&self, on: &OnArgs, list: &Path, spool: &Path) -> Result<ExitStatus, Failure> {
        let mut command = xjobs(on)?;
        command.arg("--spool").arg(spool).arg("-s").arg(list).stdin(Stdio::null());
        let mut child = {
            let mut standing = self.0.lock();
            let child = as_at_start(&mut command).spawn().map_err(|error| not_run(&error))?;
            *standing = Standing::Its(Pid::from_child(&child));
            child
        };
        let ended = child.wait().map_err(|error| not_run(&error));
        *self.0.lock() = Standing::Ours(None);
        ended
    }
}

fn pass_on(standing: &Mutex<Standing>, arrived: Arrived) {
    match &*standing.lock() {
        Standing::Ours(directory) => {
            let _stays_where_it_is = directory.as_ref().map(std::fs::remove_dir_all);
            die_by(arrived.signal);
        }
        Standing::Its(pid) if arrived.is_sent_by_process => {
            let signal = Signal::from_named_raw(arrived.signal);
            let _it_has_ended = signal.map(|signal| kill_process(*pid, signal));
        }
        Standing::Its(_) => {}
    }
}

/// Ends as `mh xjobs` has ended by a signal, after `before`; returns if it has not.
pub fn die_as(status: ExitStatus, before: impl FnOnce()) {
    if let Some(signal) = status.signal() {
        before();
        die_by(signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_those_that_are_asked_for() {
        let on = |on: Option<&str>, nodes| OnArgs { on: on.map(str::to_owned), nodes, ..OnArgs::default() }.workers();
        assert_eq!((on(Some("local:3"), None), on(Some("ssh:a,b"), None), on(Some("slurm:long"), Some(9))), (3, 2, 9));
        assert_eq!(
            (on(Some("slurm"), None), on(None, None), on(Some("local:0"), None)),
            (USUAL_WORKERS, USUAL_WORKERS, 1)
        );
    }

    #[test]
    fn what_the_engine_needs_is_passed_on() {
        let on = OnArgs {
            on: Some("slurm".to_owned()),
            nodes: Some(2),
            time: Some("1h".to_owned()),
            engine_args: Some("--qos=x".to_owned()),
            spool: Some("elsewhere".into()),
            ..OnArgs::default()
        };
        assert_eq!(on.words(), ["--on", "slurm", "--nodes", "2", "--time", "1h", "--engine-args=--qos=x"]);
    }

    #[test]
    fn a_shell_reads_words_as_they_are() {
        assert_eq!(shell_word(OsStr::new("a b'c\"$d")), b"'a b'\\''c\"$d'");
        let line = job_line("cp", "--shard", Path::new("/a b")).expect("it can stand in a line");
        assert!(line.ends_with(b"' cp --shard '/a b'\n"));
        assert!(job_line("cp", "--shard", Path::new("/a\nb")).is_err());
    }

    #[test]
    fn a_file_is_there_whole_or_not_at_all() {
        let root = tempfile::tempdir().expect("a directory");
        let place = PlanDirectory::at(root.path());
        place.put("part", b"one").expect("written");
        place.put("part", b"two").expect("written again");
        assert!(place.put("missing/part", b"x").is_err());
        let names: Vec<_> =
            std::fs::read_dir(root.path()).expect("listed").map(|entry| entry.expect("one").file_name()).collect();
        assert_eq!((names, std::fs::read(place.path("part")).expect("there")), (vec!["part".into()], b"two".to_vec()));
    }
}
