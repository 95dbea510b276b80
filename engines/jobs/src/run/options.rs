//! How a list is run: pure data, decided before the run. What a choice does is in the files beside this one.

use super::TimeLimit;
use crate::classes::Classes;
use crate::halt::Halt;
use crate::results::ResultLayout;
use crate::spec::More;
use crate::template::Template;
use crew::jobserver::SlotServer;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use sys::spawn::Words;

/// How a list is run.
#[derive(Debug)]
pub struct RunOptions {
    /// Jobs at once.
    pub width: usize,
    /// Hands that the lease has at most; jobs beyond them run without.
    pub hands: usize,
    /// Cores that no job needs, for the programs that jobs start.
    pub slots: Option<Arc<SlotServer>>,
    /// Jobs that are read ahead.
    pub queue_max: usize,
    /// How words become commands.
    pub template: Template,
    /// What all jobs have: redirections from the command line.
    pub defaults: More,
    /// Where outputs go.
    pub output: OutputManner,
    /// In which order they are passed on.
    pub order: OutputOrder,
    /// What stands before each line of output.
    pub tag: Option<Template>,
    /// Whether errors go the way of outputs.
    pub errors: Errors,
    /// For outputs that are too large for memory.
    pub spill_directory: PathBuf,
    /// A time for each job.
    pub timeout: Option<TimeLimit>,
    /// How jobs are ended.
    pub ending: Vec<EndStep>,
    /// How often a failed job is run again.
    pub retries: u32,
    /// Time between two starts.
    pub delay: Duration,
    /// Jobs start only while fewer threads than this can run, on the whole machine.
    pub load_max: Option<f64>,
    /// Jobs start only while this much memory is available.
    pub memory_free_bytes: Option<u64>,
    /// How much memory jobs may need together, and what is known of what they need.
    pub memory: MemoryRule,
    /// When to stop early.
    pub halt: Option<Halt>,
    /// Whether the observer is asked before each start.
    pub asking: Asking,
    /// Where programs are found: PATH's value.
    pub path: Vec<u8>,
    /// Where the runner is, and each job that names no directory.
    pub directory: PathBuf,
    /// What jobs get: `NAME=value`.
    pub environment: Words,
}

/// How much memory jobs may need together.
#[derive(Debug)]
pub struct MemoryRule {
    /// The sum of what running jobs are expected to need stays within this.
    pub cap_bytes: u64,
    /// What earlier runs have taught.
    pub classes: Classes,
}

/// Where outputs go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputManner {
    /// Passed on whole when the job has ended.
    Whole,
    /// Passed on line by line.
    Lines,
    /// Not through us at all.
    Direct,
    /// Nowhere: standard output, or both.
    Discarded(Discarded),
    /// Into files that stay.
    Files(ResultLayout),
}

/// What is thrown away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discarded {
    /// Standard output; errors are passed on.
    Output,
    /// Both.
    OutputAndErrors,
}

/// In which order outputs are passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputOrder {
    /// As jobs end.
    AsEnded,
    /// As they stand in the list.
    AsListed,
}

/// Where jobs' errors go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errors {
    /// To standard error.
    Apart,
    /// Among the output, in the order in which they were written.
    WithOutput,
}

/// Whether the observer is asked before each start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asking {
    /// It is not.
    Never,
    /// It is.
    Always,
}

/// A step of ending a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndStep {
    /// What its process group gets.
    pub signal: i32,
    /// How long it then has.
    pub wait: Duration,
}

#[cfg(test)]
impl RunOptions {
    /// One place, outputs in the list's order, and nothing that holds jobs back.
    pub(crate) fn for_tests() -> Self {
        Self {
            width: 1,
            hands: 1,
            slots: None,
            queue_max: 9,
            template: Template::appending(&[], crate::template::Shell::None),
            defaults: More::default(),
            output: OutputManner::Whole,
            order: OutputOrder::AsListed,
            tag: None,
            errors: Errors::Apart,
            spill_directory: PathBuf::from("/tmp"),
            timeout: None,
            ending: Vec::new(),
            retries: 0,
            delay: Duration::ZERO,
            load_max: None,
            memory_free_bytes: None,
            memory: MemoryRule { cap_bytes: u64::MAX, classes: Classes::default() },
            halt: None,
            asking: Asking::Never,
            path: b"/bin".to_vec(),
            directory: PathBuf::from("/"),
            environment: Words::default(),
        }
    }
}
