//! Workers on this machine: processes of their own, in sessions of their own, so that they outlive whoever started them.

use super::{EngineLimits, EngineState, StartedWorkers, Starter, StarterFault, WorkerRequest};
use std::process::{Child, Command, Stdio};

/// Starts processes.
#[derive(Debug, Default)]
pub struct LocalStarter {
    children: Vec<Child>,
}

impl LocalStarter {
    /// None is started yet.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Starter for LocalStarter {
    fn name(&self) -> &'static str {
        "local"
    }

    fn limits(&mut self) -> Result<EngineLimits, StarterFault> {
        Ok(EngineLimits::default())
    }

    fn shown(&self, request: &WorkerRequest) -> String {
        format!("{} xjobs --worker", request.program.display())
    }

    fn start(&mut self, request: &WorkerRequest) -> Result<StartedWorkers, StarterFault> {
        for number in request.first..request.first + request.workers {
            let log = std::fs::File::create(request.spool.join("log").join(number.to_string())).unwrap();
            let child = Command::new("setsid")
                .arg(&request.program)
                .args(["xjobs", "--worker"])
                .arg(&request.spool)
                .args(["--worker-run", &request.run_id, "--worker-number", &number.to_string()])
                .stdin(Stdio::null())
                .stdout(log.try_clone().unwrap())
                .stderr(log)
                .spawn();
            self.children.push(child.map_err(|cause| StarterFault::Run { command: "mh".to_owned(), cause })?);
        }
        Ok(StartedWorkers { id: String::new(), workers: request.workers, refused: None })
    }

    fn look(&mut self, _id: &str) -> Result<EngineState, StarterFault> {
        let running =
            self.children.iter_mut().filter_map(|child| child.try_wait().ok()).filter(Option::is_none).count();
        Ok(EngineState { pending: 0, running: running as u32, reason: None })
    }

    fn end(&mut self, _id: &str) -> Result<(), StarterFault> {
        Ok(())
    }
}
