//! Slurm: workers are the elements of one job array, so that each starts as soon as a node is free. Asks by sbatch, squeue, scancel,
//! sinfo and scontrol, a question a call; never sacct, which is a burden to sites and not always there.

mod answers;
mod submission;

use super::command::{EngineCommand, EngineEnvironment};
use super::{EngineLimits, EngineState, Launcher, LauncherFault, StartedWorkers, WorkerRequest};
use std::time::{Duration, SystemTime};

/// LIMIT: a submission may be slow where much is submitted, and is not repeated: the first one may have been taken.
const SUBMIT_LIMIT: Duration = Duration::from_secs(30);

/// An estimate beyond this means that Slurm knows no time.
const NEVER: Duration = Duration::from_secs(366 * 24 * 3600);

/// Starts workers by Slurm.
#[derive(Debug)]
pub struct SlurmLauncher {
    partition: Option<String>,
    environment: EngineEnvironment,
}

impl SlurmLauncher {
    /// In a partition, else where Slurm puts jobs that name none.
    pub fn new(partition: Option<String>, environment: EngineEnvironment) -> Self {
        // Ids of elements are not to be cut in lists, and times are to be numbers.
        let environment = environment.with("SLURM_BITSTR_LEN", "0").with("SLURM_TIME_FORMAT", "%s");
        Self { partition, environment }
    }

    /// A command about a job; the name of its cluster, if sbatch gave one, stands behind its number.
    fn about(&self, program: &'static str, id: &str) -> (EngineCommand, String) {
        let command = EngineCommand::new(NAME, program).label(format!("{program} {id}"));
        match id.split_once(';') {
            Some((number, cluster)) => (command.args([format!("--clusters={cluster}")]), number.to_owned()),
            None => (command, id.to_owned()),
        }
    }

    fn in_partition(&self) -> Option<String> {
        self.partition.as_ref().map(|partition| format!("--partition={partition}"))
    }

    fn submission(&self, request: &WorkerRequest, workers: u32) -> EngineCommand {
        let command = EngineCommand::new(NAME, "sbatch").args(submission::arguments(request, workers));
        let command = command.args(self.in_partition()).args(request.engine_args.iter().cloned());
        let label = format!("sbatch --array={}", submission::array(workers));
        command.args([std::ffi::OsString::from("--wrap"), submission::script(request)]).label(label)
    }

    /// Submits so many; the id of the array.
    fn submit(&self, request: &WorkerRequest, workers: u32) -> Result<String, LauncherFault> {
        let answer = self.submission(request, workers).once_within(SUBMIT_LIMIT).answer(&self.environment);
        let fault = match answer {
            Ok(answer) => match answers::submitted(&answer.text()) {
                Some(id) => return Ok(id),
                None => LauncherFault::Refused { command: "sbatch".to_owned(), said: answer.said() },
            },
            Err(fault) => fault,
        };
        // Without an answer it may have been taken all the same.
        let is_open = match &fault {
            LauncherFault::Silent { .. } => true,
            LauncherFault::Refused { said, .. } => answers::says_that_time_was_up(said),
            _ => false,
        };
        let found = if is_open { self.submitted_already(request)? } else { None };
        found.ok_or(fault)
    }

    /// The array that was made of this very request, if there is one.
    fn submitted_already(&self, request: &WorkerRequest) -> Result<Option<String>, LauncherFault> {
        let user = rustix::process::geteuid().as_raw();
        let command = EngineCommand::new(NAME, "squeue").args(["-h", "-o", "%F|%k"]);
        let answer = command.args([format!("--user={user}")]).answer(&self.environment)?;
        Ok(answers::array_with_comment(&answer.text(), &submission::comment(request)))
    }

    /// Slurm's estimate of how long the smallest of jobs would wait.
    fn queue(&self) -> Result<Option<Duration>, LauncherFault> {
        let command = EngineCommand::new(NAME, "sbatch").label("sbatch --test-only".to_owned());
        let command = command.args(["--test-only", "--nodes=1"]).args(self.in_partition()).args(["--wrap", "true"]);
        let answer = command.ask(&self.environment)?;
        let begin = answers::begin_of_test(&answer.said()).map(Duration::from_secs);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Ok(begin.map(|begin| begin.saturating_sub(now)).filter(|queue| *queue < NEVER))
    }
}

const NAME: &str = "Slurm";

impl Launcher for SlurmLauncher {
    fn name(&self) -> &'static str {
        "slurm"
    }

    fn limits(&mut self) -> Result<EngineLimits, LauncherFault> {
        let queue = self.queue()?;
        let settings = EngineCommand::new(NAME, "scontrol").args(["show", "config"]).answer(&self.environment)?;
        // All partitions, hidden ones included, one line for nodes that are alike.
        let sinfo = EngineCommand::new(NAME, "sinfo").args(["-h", "-a", "-e", "-o", "%P|%D|%c|%t"]);
        let answer = sinfo.answer(&self.environment)?;
        let nodes = answers::nodes(&answer.text(), self.partition.as_deref())
            .map_err(|said| LauncherFault::Refused { command: "sinfo".to_owned(), said })?;
        let workers_max = answers::setting(&settings.text(), "MaxArraySize");
        Ok(EngineLimits { workers_max, nodes: Some(nodes.count), cores: nodes.cores, queue })
    }

    fn shown(&self, request: &WorkerRequest) -> String {
        self.submission(request, request.workers).typed()
    }

    /// Half as many at a time, until Slurm takes the array.
    fn start(&mut self, request: &WorkerRequest) -> Result<StartedWorkers, LauncherFault> {
        let (mut workers, mut refused) = (request.workers.max(1), None);
        loop {
            match self.submit(request, workers) {
                Ok(id) => return Ok(StartedWorkers { id, workers, refused }),
                Err(LauncherFault::Refused { said, .. }) if workers > 1 && answers::says_too_many(&said) => {
                    refused = Some(said);
                    workers /= 2;
                }
                Err(fault) => return Err(fault),
            }
        }
    }

    fn look(&mut self, id: &str) -> Result<EngineState, LauncherFault> {
        let (command, number) = self.about("squeue", id);
        let command = command.args(["-h", "-t", "all", "-o", "%i|%T|%N|%r", "-j", &number]);
        match command.answer(&self.environment) {
            Ok(answer) => Ok(answers::state(&answer.text())),
            Err(LauncherFault::Refused { said, .. }) if answers::says_forgotten(&said) => Ok(EngineState::default()),
            Err(fault) => Err(fault),
        }
    }

    fn end(&mut self, id: &str) -> Result<(), LauncherFault> {
        let (command, number) = self.about("scancel", id);
        match command.args([number]).answer(&self.environment) {
            Err(LauncherFault::Refused { said, .. }) if answers::says_forgotten(&said) => Ok(()),
            answer => answer.map(|_| ()),
        }
    }
}

#[cfg(test)]
mod tests;
