//! ssh as an engine: one connection for each host to start its worker, one to end it. The worker is a process of its own there, so that it
//! outlives the connection. Scripts travel as standard input of a `sh`, which spares them the quoting of whatever shell is a user's there.
//! ssh asks, trusts and refuses by the user's own settings; nothing is asked on the terminal.

mod host;
mod scripts;

pub use host::SshHost;

use super::command::{EngineCommand, EngineEnvironment};
use super::worker_process::WorkerProcess;
use super::{EngineLimits, EngineState, Launcher, LauncherFault, StartedWorkers, WorkerRequest};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// LIMIT: until a host has done what it was asked; jump hosts and slow logins included. A start is not repeated: the first may have begun.
const HOST_LIMIT: Duration = Duration::from_secs(30);

/// Connections at a time.
const CONNECTIONS_MAX: usize = 16;

/// LIMIT: reasons of hosts in one message.
const REASONS_MAX: usize = 5;

/// Starts workers on hosts.
#[derive(Debug)]
pub struct SshLauncher {
    hosts: Vec<SshHost>,
    environment: EngineEnvironment,
    /// For every call: those of the request are known to `start` alone.
    engine_args: Vec<OsString>,
    limits: Option<EngineLimits>,
}

impl SshLauncher {
    /// On these hosts, with more words for ssh, such as `-p 2222`.
    pub fn new(hosts: Vec<SshHost>, engine_args: Vec<OsString>, environment: EngineEnvironment) -> Self {
        Self { hosts, environment, engine_args, limits: None }
    }

    fn command(&self, host: &SshHost, script: OsString) -> EngineCommand {
        use std::os::unix::ffi::OsStringExt;
        EngineCommand::new("ssh", "ssh")
            .args(["-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "-T"])
            .args(self.engine_args.iter().cloned())
            .args([host.destination(), "exec sh -s".to_owned()])
            .input(script.into_vec())
            .label(format!("ssh {host}"))
            .once_within(HOST_LIMIT)
    }

    /// What hosts print, in the order of the questions.
    fn ask(&self, questions: Vec<(&SshHost, OsString)>) -> Vec<Result<String, LauncherFault>> {
        let commands: Vec<EngineCommand> =
            questions.into_iter().map(|(host, script)| self.command(host, script)).collect();
        let (next, lanes) = (AtomicUsize::new(0), commands.len().min(CONNECTIONS_MAX));
        let (next, commands) = (&next, &commands);
        let lane = move || {
            let mut answers = Vec::new();
            // ORDER: Relaxed: the number alone is shared; answers are handed over by the join.
            while let Some((index, command)) = Some(next.fetch_add(1, Ordering::Relaxed))
                .and_then(|index| commands.get(index).map(|command| (index, command)))
            {
                answers.push((index, command.answer(&self.environment).map(|answer| answer.text())));
            }
            answers
        };
        let mut answers: Vec<_> = std::thread::scope(|scope| {
            let lanes: Vec<_> = (0..lanes).map(|_| scope.spawn(lane)).collect();
            lanes.into_iter().flat_map(|lane| lane.join().expect("it does not panic")).collect()
        });
        answers.sort_by_key(|(index, _)| *index);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }

    /// The host of each worker of a request, as many as there are hosts: the first worker's number says which one begins.
    fn hosts_of(&self, request: &WorkerRequest) -> Vec<(u32, &SshHost)> {
        let begin = request.first as usize % self.hosts.len().max(1);
        let hosts = self.hosts.iter().cycle().skip(begin).take(self.hosts.len());
        (request.first..).zip(hosts).take(request.workers.max(1) as usize).collect()
    }
}

impl Launcher for SshLauncher {
    fn name(&self) -> &'static str {
        "ssh"
    }

    /// Hosts that answer, asked once.
    fn limits(&mut self) -> Result<EngineLimits, LauncherFault> {
        if let Some(limits) = &self.limits {
            return Ok(limits.clone());
        }
        let questions = self.hosts.iter().map(|host| (host, scripts::cores())).collect();
        let mut faults = Vec::new();
        let mut cores = Vec::new();
        for answer in self.ask(questions) {
            match answer {
                Ok(text) => cores.push(scripts::answered_cores(&text)),
                Err(fault) => faults.push(fault),
            }
        }
        if cores.is_empty()
            && let Some(fault) = faults.into_iter().next()
        {
            return Err(fault);
        }
        let count = |number: usize| u32::try_from(number).ok();
        let (workers_max, nodes) = (count(self.hosts.len()), count(cores.len()));
        let cores = cores.into_iter().flatten().min();
        let limits = EngineLimits { workers_max, nodes, cores, queue: Some(Duration::ZERO) };
        Ok(self.limits.insert(limits).clone())
    }

    fn shown(&self, request: &WorkerRequest) -> String {
        let started = self.hosts_of(request).into_iter().map(|(number, host)| {
            let script = scripts::start(request, number);
            format!("{} <<'END'\n{}END\n", self.command(host, OsString::new()).typed(), script.to_string_lossy())
        });
        started.collect()
    }

    /// A worker a host. A host that refuses is named, and the others go on.
    fn start(&mut self, request: &WorkerRequest) -> Result<StartedWorkers, LauncherFault> {
        let hosts = self.hosts_of(request);
        let asked = hosts.iter().map(|(number, host)| (*host, scripts::start(request, *number))).collect();
        let (mut started, mut faults) = (Vec::new(), Vec::new());
        for ((_, host), answer) in hosts.iter().zip(self.ask(asked)) {
            let no_worker = |said: String| LauncherFault::Refused { command: format!("ssh {host}"), said };
            let begun = answer.and_then(|text| {
                let said = || format!("it started no worker and printed: {}", text.trim());
                scripts::started(&text).ok_or_else(|| no_worker(said()))
            });
            match begun {
                Ok(process) => started.push(format!("{host}:{process}")),
                Err(fault) => faults.push(fault),
            }
        }
        if started.is_empty() {
            let no_host = || LauncherFault::Refused { command: "ssh".to_owned(), said: "there is no host".to_owned() };
            return Err(faults.into_iter().next().unwrap_or_else(no_host));
        }
        let workers = u32::try_from(started.len()).unwrap_or(u32::MAX);
        let mut refused: Vec<String> = faults.iter().map(said).take(REASONS_MAX).collect();
        if request.workers as usize > hosts.len() {
            refused.push(format!("there are {} hosts", hosts.len()));
        }
        let refused = (!refused.is_empty()).then(|| refused.join("; "));
        Ok(StartedWorkers { id: started.join(","), workers, refused })
    }

    fn sees_ends(&self) -> bool {
        false
    }

    /// What was started: hosts are not asked, since the spool says who is alive.
    fn look(&mut self, id: &str) -> Result<EngineState, LauncherFault> {
        let running = u32::try_from(processes(id).values().flatten().count()).unwrap_or(u32::MAX);
        Ok(EngineState { running, ..EngineState::default() })
    }

    fn end(&mut self, id: &str) -> Result<(), LauncherFault> {
        let processes = processes(id);
        let questions = processes.iter().map(|(host, processes)| (host, scripts::end(processes))).collect();
        let faults = self.ask(questions).into_iter().filter_map(Result::err);
        faults.map(Err).next().unwrap_or(Ok(()))
    }
}

/// A fault with its cause, in one line.
fn said(fault: &LauncherFault) -> String {
    match fault {
        LauncherFault::Run { command, cause } => format!("run {command}: {}", sys::error_text::message(cause)),
        other => other.to_string(),
    }
}

/// The processes of an id, by their hosts.
fn processes(id: &str) -> BTreeMap<SshHost, Vec<WorkerProcess>> {
    let mut by_host: BTreeMap<SshHost, Vec<WorkerProcess>> = BTreeMap::new();
    for (host, process) in id.split(',').filter_map(|part| part.rsplit_once(':')) {
        // An id may come from a file: what would be an option of ssh is no host here either.
        if let (Ok(host), Ok(process)) = (host.parse(), process.parse()) {
            by_host.entry(host).or_default().push(process);
        }
    }
    by_host
}

#[cfg(test)]
mod tests;
