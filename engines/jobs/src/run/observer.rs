//! Events that observers of a run receive, and their answers.

use super::{ForegroundTurn, JobEnd, JobQuestion};
use crate::halt::Halt;
use crate::journal::JobOutcome;
use crate::list::ListFault;
use crate::start::StartFault;
use crate::tree::Survivor;
use rustix::process::Pid;
use std::io;
use std::time::Duration;
use sys::reap::How;
use sys::spawn::Words;

/// What somebody who watches is told.
#[derive(Debug)]
pub enum RunEvent<'a> {
    /// A job has started.
    Started(JobView<'a>, Pid),
    /// A job has ended.
    Ended(JobView<'a>, &'a JobEnd),
    /// A job could not be started, and will not be.
    NotStarted(u64, &'a Words, &'a StartFault),
    /// A job's output could not be kept.
    OutputLost(JobView<'a>, &'a io::Error),
    /// A job has ended, and its output could not be passed on: it has failed.
    NotDelivered(JobView<'a>, &'a io::Error),
    /// A job has come to its end for good: it is in the books, and all that it printed has been passed on, in this order.
    Concluded(ConcludedJob),
    /// A line cannot be read; none behind it will be.
    BadLine(&'a ListFault),
    /// The list cannot be read on.
    BadInput(&'a io::Error),
    /// Standard output or error cannot be written.
    BadOutput(&'a io::Error),
    /// The journal cannot be written; no more jobs start.
    BadJournal(&'a io::Error),
    /// An earlier run began this job, and nobody knows how it ended; it is run again.
    Interrupted(JobView<'a>),
    /// This job is expected to need more memory than all may have together, so it runs alone. Only the first such job of a run is reported.
    RunsAlone {
        /// The job.
        job: JobView<'a>,
        /// Bytes that it is expected to need.
        expected_bytes: u64,
        /// Bytes that all jobs may have together.
        cap_bytes: u64,
    },
    /// No more jobs start.
    Stopping {
        /// Jobs that run.
        running: usize,
        /// Jobs that were read and will not start.
        dropped: usize,
        /// Whether those that run are ended.
        now: bool,
        /// The rule that says so, if it is one.
        rule: Option<Halt>,
    },
    /// A job was stopped, as it wants the terminal.
    WantsTerminal(JobView<'a>, ForegroundTurn),
    /// The width has been changed by a signal.
    Width(usize),
    /// The run is over, and these processes of its jobs are not.
    StillRun(&'a [Survivor]),
}

/// A job that has come to its end for good.
#[derive(Clone, Copy, Debug)]
pub struct ConcludedJob {
    /// Its number in the list.
    pub number: u64,
    /// How it came out.
    pub outcome: JobOutcome,
    /// How its process ended, if there was one.
    pub how: Option<How>,
    /// How long the last attempt took.
    pub wall: Duration,
    /// It would have been tried again, had the run not been stopped; or it did not start for want of a journal.
    pub has_tries_left: bool,
    /// Bytes that were passed on of it: to standard output, to standard error.
    pub passed_on_bytes: [u64; 2],
}

/// A job, as others see it.
#[derive(Clone, Copy, Debug)]
pub struct JobView<'a> {
    /// Its number in the list.
    pub number: u64,
    /// The words that run.
    pub words: &'a Words,
    /// From 1.
    pub attempt: u32,
}

/// Around something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventMoment {
    /// It is about to be.
    Before,
    /// Some of it has been, the rest follows.
    Within,
    /// It has been.
    After,
}

/// Somebody who watches a run.
pub trait Observer: Send {
    /// Something happened.
    fn tell(&mut self, event: &RunEvent<'_>);
    /// Something is about to be written to standard output, to standard error, or has been.
    fn passes_output(&mut self, moment: EventMoment, streams: [bool; 2]) {
        let _nothing_to_do = (moment, streams);
    }
    /// Whole lines it has to say since it was asked last: they go to standard error in their turn, as outputs of jobs do.
    fn take_messages(&mut self) -> Vec<u8> {
        Vec::new()
    }
    /// The question whether the job may start, where that is wanted; none where nobody can be asked.
    fn ask(&mut self, job: JobView<'_>) -> Option<Box<dyn JobQuestion>> {
        let _nobody = job;
        None
    }
    /// A line to be put before a job's output.
    fn heading(&mut self, job: JobView<'_>, pid: Pid) -> Option<Vec<u8>> {
        let _none = (job, pid);
        None
    }
}
