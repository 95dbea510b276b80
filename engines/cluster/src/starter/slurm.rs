//! To come.

/// To come.
#[derive(Debug)]
pub struct SlurmStarter;

use super::*;
impl Starter for SlurmStarter {
    fn name(&self) -> &'static str {
        "slurm"
    }
    fn limits(&mut self) -> Result<EngineLimits, StarterFault> {
        todo!()
    }
    fn shown(&self, _: &WorkerRequest) -> String {
        todo!()
    }
    fn start(&mut self, _: &WorkerRequest) -> Result<StartedWorkers, StarterFault> {
        todo!()
    }
    fn look(&mut self, _: &str) -> Result<EngineState, StarterFault> {
        todo!()
    }
    fn end(&mut self, _: &str) -> Result<(), StarterFault> {
        todo!()
    }
}
