//! One job as the list describes it: words, and its other settings. Pure data; nothing is resolved.
//! A waiting job costs its words and about 90 bytes; what few jobs have is boxed.

use std::time::Duration;
use sys::spawn::Words;

/// A job in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spec {
    /// Its place in the list, from 1.
    pub number: u64,
    /// Its own words; the utility's are put before them when it starts.
    pub words: Words,
    /// What it asks for besides.
    pub more: Option<Box<More>>,
}

/// What a job may ask for besides its words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct More {
    /// Where it runs.
    pub directory: Option<Vec<u8>>,
    /// A file for its standard input; /dev/null where there is none.
    pub stdin: Option<Vec<u8>>,
    /// What its standard input holds, where it is a block of the runner's own.
    pub block: Option<Vec<u8>>,
    /// A file for its standard output.
    pub stdout: Option<OutputTarget>,
    /// A file for its standard error.
    pub stderr: Option<OutputTarget>,
    /// Variables besides those of the runner, or instead of them: `NAME=value`.
    pub variables: Vec<Vec<u8>>,
    /// What others call it in their `after`.
    pub id: Option<String>,
    /// Jobs that must have succeeded before it starts. They stand before it in the list.
    pub after: Vec<String>,
    /// Hands that it keeps busy; 0 and 1 mean one.
    pub cores: usize,
    /// Memory that must be available for it to start, in bytes.
    pub memory_bytes: Option<u64>,
    /// It is ended when it takes longer.
    pub timeout: Option<Duration>,
    /// How often it is run again when it fails.
    pub retries: Option<u32>,
    /// Files whose change makes it another job for `--resume`.
    pub inputs: Vec<Vec<u8>>,
    /// Whether its words are one line for a shell.
    pub is_for_shell: bool,
}

/// A file that a job's output goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputTarget {
    /// Its name, relative to the job's directory.
    pub path: Vec<u8>,
    /// What happens when it is there.
    pub opening: ExistingOutput,
}

/// What happens when an output file is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExistingOutput {
    /// `>`: the job is not started.
    New,
    /// `>!`: it is emptied.
    Replace,
    /// `>>`: it is kept and added to.
    Append,
}

impl Spec {
    /// What few jobs have, to be changed.
    pub fn more_mut(&mut self) -> &mut More {
        self.more.get_or_insert_default()
    }

    /// Hands that it needs, at least one.
    pub fn hands(&self) -> usize {
        self.more.as_ref().map_or(1, |more| more.cores.max(1))
    }
}
