//! Starting workers: the one thing that is asked of an engine. A worker is `PROGRAM xjobs --worker SPOOL --worker-run ID --worker-number
//! N`, with its messages in `SPOOL/log/N`. Whether jobs are done an engine is never asked: the spool says that.

mod command;
mod local;
mod slurm;
mod ssh;
mod worker_command;
mod worker_process;

pub use command::EngineEnvironment;
pub use local::LocalLauncher;
pub use slurm::SlurmLauncher;
pub use ssh::{SshHost, SshLauncher};

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Workers to be started.
#[derive(Clone, Debug)]
pub struct WorkerRequest {
    /// The program on each node, `mh`.
    pub program: PathBuf,
    /// The spool, by its absolute path.
    pub spool: PathBuf,
    /// The run's own id: a worker that finds another one in the spool refuses to work.
    pub run_id: String,
    /// The number of the first of them; others count up from it.
    pub first: u32,
    /// How many.
    pub workers: u32,
    /// Cores for each; all of a node where none are said.
    pub cores: Option<u32>,
    /// How long each may run.
    pub time: Option<Duration>,
    /// More words for the engine's own command.
    pub engine_args: Vec<OsString>,
    /// What the engine's lists call it.
    pub name: String,
}

/// What an engine allows, as far as it says so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineLimits {
    /// Workers in one request.
    pub workers_max: Option<u32>,
    /// Nodes that could work now.
    pub nodes: Option<u32>,
    /// Cores of the smallest of them.
    pub cores: Option<u32>,
    /// How long a request like this would wait, by the engine's estimate.
    pub queue: Option<Duration>,
}

/// Workers that an engine has taken on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartedWorkers {
    /// What the engine knows them by.
    pub id: String,
    /// How many it took, if fewer than asked for.
    pub workers: u32,
    /// Words of the engine about what it did not take.
    pub refused: Option<String>,
}

/// How the workers of one request stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineState {
    /// They wait for nodes.
    pub pending: u32,
    /// They run.
    pub running: u32,
    /// Why some wait, in the engine's words.
    pub waits: Option<String>,
    /// How some have gone that did not end well, in the engine's words, with their nodes.
    pub lost: Option<String>,
}

/// Why an engine could not be used.
#[derive(Debug, thiserror::Error)]
pub enum LauncherFault {
    /// Its command is not on PATH.
    #[error("{engine} was not found: there is no '{looked_for}' on PATH")]
    NotFound {
        /// The engine.
        engine: &'static str,
        /// The command.
        looked_for: &'static str,
    },
    /// It said no.
    #[error("{command}: {said}")]
    Refused {
        /// The command, with its arguments.
        command: String,
        /// Its words.
        said: String,
    },
    /// It did not answer.
    #[error("{command} did not answer within {} s", .after.as_secs())]
    Silent {
        /// The command, with its arguments.
        command: String,
        /// How long it was given.
        after: Duration,
    },
    /// A name is no host's.
    #[error("ssh: '{host}' is no host: {reason}")]
    Host {
        /// The name.
        host: String,
        /// Why.
        reason: &'static str,
    },
    /// It could not be run.
    #[error("run {command}")]
    Run {
        /// The command.
        command: String,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
}

/// An engine that starts workers. Each call may take as long as the engine's command, which is ended after a time of its own.
pub trait Launcher: Send {
    /// What it is called: `slurm`, `ssh`, `local`.
    fn name(&self) -> &'static str;

    /// Whether it is there, and what it allows.
    ///
    /// # Errors
    /// When there is no such engine here, or it does not answer.
    fn limits(&mut self) -> Result<EngineLimits, LauncherFault>;

    /// Whether `look` hears of ends: if not, whoever asks has to go by signs of life.
    fn sees_ends(&self) -> bool {
        true
    }

    /// The command that `start` would run, as it can be typed.
    fn shown(&self, request: &WorkerRequest) -> String;

    /// Starts workers; fewer where the engine allows no more.
    ///
    /// # Errors
    /// When it took none.
    fn start(&mut self, request: &WorkerRequest) -> Result<StartedWorkers, LauncherFault>;

    /// How they stand. Those that it has forgotten are neither pending nor running.
    ///
    /// # Errors
    /// When it does not answer: that says nothing about the workers.
    fn look(&mut self, id: &str) -> Result<EngineState, LauncherFault>;

    /// Ends them all, jobs included.
    ///
    /// # Errors
    /// When it does not answer or refuses.
    fn end(&mut self, id: &str) -> Result<(), LauncherFault>;
}
