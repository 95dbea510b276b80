//! This machine as an engine: each worker is a process that outlives its launcher. They share the machine's cores as any runs of `mh` do.
//! An id names this start of this machine, so that the same PIDs elsewhere, or after it was switched off, are nobody's.

use super::command::EngineEnvironment;
use super::worker_command::{log, words};
use super::worker_process::{self, WorkerProcess};
use super::{EngineLimits, EngineState, Launcher, LauncherFault, StartedWorkers, WorkerRequest};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// LIMIT: a worker that was asked to end has ended its jobs by then.
const END_LIMIT: Duration = Duration::from_secs(10);

/// Starts workers here.
#[derive(Debug)]
pub struct LocalLauncher {
    environment: EngineEnvironment,
    /// Those that may have to be reaped.
    children: Vec<Child>,
}

impl LocalLauncher {
    /// Workers get the variables of `environment`.
    pub fn new(environment: EngineEnvironment) -> Self {
        Self { environment, children: Vec::new() }
    }

    fn start_one(&mut self, request: &WorkerRequest, number: u32) -> io::Result<WorkerProcess> {
        let log = File::options().append(true).create(true).mode(0o600).open(log(request, number))?;
        let words = words(request);
        let mut command = Command::new(&request.program);
        command.args(&words[1..]).arg(number.to_string()).env_clear().env("PATH", self.environment.path());
        command.envs(self.environment.variables().iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = sys::session::in_own_session(sys::signals::as_at_start(&mut command)).spawn()?;
        let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
        self.children.push(child);
        // One that has ended already is a process all the same, until it is reaped.
        Ok(WorkerProcess::with_pid(pid).unwrap_or(WorkerProcess { pid, begin: 0 }))
    }

    fn reap(&mut self) {
        self.children.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
    }
}

impl Launcher for LocalLauncher {
    fn name(&self) -> &'static str {
        "local"
    }

    fn limits(&mut self) -> Result<EngineLimits, LauncherFault> {
        let cores = std::thread::available_parallelism().ok().and_then(|cores| u32::try_from(cores.get()).ok());
        Ok(EngineLimits { workers_max: None, nodes: Some(1), cores, queue: Some(Duration::ZERO) })
    }

    fn shown(&self, request: &WorkerRequest) -> String {
        let number = request.first.to_string().into();
        let words: Vec<_> = words(request).into_iter().chain([number]).collect();
        super::worker_command::quoted(&words).to_string_lossy().into_owned()
    }

    fn start(&mut self, request: &WorkerRequest) -> Result<StartedWorkers, LauncherFault> {
        let run = |cause| LauncherFault::Run { command: request.program.display().to_string(), cause };
        let boot = boot_id().map_err(run)?;
        let (mut processes, mut refused) = (Vec::new(), None);
        for number in (request.first..).take(request.workers.max(1) as usize) {
            match self.start_one(request, number) {
                Ok(process) => processes.push(process.to_string()),
                Err(error) if processes.is_empty() => return Err(run(error)),
                Err(error) => {
                    refused = Some(sys::error_text::message(&error));
                    break;
                }
            }
        }
        let workers = u32::try_from(processes.len()).unwrap_or(u32::MAX);
        Ok(StartedWorkers { id: format!("{boot}:{}", processes.join(",")), workers, refused })
    }

    fn look(&mut self, id: &str) -> Result<EngineState, LauncherFault> {
        self.reap();
        let Some(processes) = of_this_boot(id)? else {
            let lost = Some("the workers were started on another machine, or before this one was restarted".to_owned());
            return Ok(EngineState { lost, ..EngineState::default() });
        };
        let running = processes.iter().filter(|process| process.is_alive()).count();
        Ok(EngineState { running: u32::try_from(running).unwrap_or(u32::MAX), ..EngineState::default() })
    }

    fn end(&mut self, id: &str) -> Result<(), LauncherFault> {
        let refused = |command: String, said: String| Err(LauncherFault::Refused { command, said });
        let Some(processes) = of_this_boot(id)? else {
            return refused("kill".to_owned(), "the workers were started on another machine".to_owned());
        };
        let remaining = worker_process::end(&processes, END_LIMIT);
        self.reap();
        let Some((process, error)) = remaining.first() else { return Ok(()) };
        let after = format!("{} of the workers go on {} s after SIGTERM", remaining.len(), END_LIMIT.as_secs());
        refused(format!("kill {}", process.pid), error.map_or(after, |error| sys::error_text::message(&error.into())))
    }
}

/// Names this start of this machine.
fn boot_id() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

/// The processes of an id; none where it is another machine's.
fn of_this_boot(id: &str) -> Result<Option<Vec<WorkerProcess>>, LauncherFault> {
    let run = |cause| LauncherFault::Run { command: "look for workers".to_owned(), cause };
    let Some((boot, processes)) = id.split_once(':') else { return Ok(None) };
    if boot != boot_id().map_err(run)? {
        return Ok(None);
    }
    Ok(Some(processes.split(',').filter_map(|process| process.parse().ok()).collect()))
}
