//! What a client does: transactions as steps. A script and a built-in workload are played alike.

use crate::arrivals::RandomSource;
use crate::session::{PreparedText, SessionRequest};
use std::num::NonZeroUsize;

/// The next thing that a client does.
#[derive(Debug)]
pub enum PlayerStep<'a> {
    /// Send this; `index` is its place in the script.
    Statement {
        /// Its place in the script, for the statement's own histogram.
        index: usize,
        /// What to send.
        request: SessionRequest<'a>,
        /// Whether its last row is wanted.
        wants_row: bool,
    },
    /// A pipeline begins: prepare these, as that cannot be done inside.
    BeginPipeline(&'a [PreparedText]),
    /// Append this to the pipeline, and wait for nothing; `index` is its place in the script.
    Append {
        /// Its place in the script, for the statement's own histogram.
        index: usize,
        /// What to append.
        request: SessionRequest<'a>,
    },
    /// End what the server takes as one transaction; the pipeline goes on.
    SyncPipeline,
    /// Send the pipeline, and wait for all its replies.
    EndPipeline,
    /// Do nothing for so many nanoseconds.
    Sleep(u64),
    /// The transaction is over.
    End,
}

/// A step that cannot be taken: a variable that has no value, a division by 0.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StepError(pub String);

/// One client's way through a workload.
pub trait TransactionPlayer: Send {
    /// Begins a transaction, and says which script it is.
    fn begin(&mut self, random: &mut RandomSource) -> usize;

    /// Begins the same transaction once more, with the values that it had: after a deadlock.
    fn begin_again(&mut self);

    /// The next step.
    fn step(&mut self, random: &mut RandomSource) -> Result<PlayerStep<'_>, StepError>;

    /// The last row of the statement before, which wanted it; none if there was no row.
    fn take_row(&mut self, row: Option<&[Option<String>]>) -> Result<(), StepError>;
}

/// What clients play.
pub trait Workload: Send + Sync {
    /// The player of one client of the run.
    fn player(&self, client: usize) -> Box<dyn TransactionPlayer>;

    /// Scripts by name, each with its statements as they are shown.
    fn scripts(&self) -> Vec<(String, Vec<String>)>;
}

/// One statement over and over: what `yesmark` and the echo server are loaded with.
#[derive(Clone, Debug)]
pub struct Repeated {
    /// The workload's name.
    pub name: String,
    /// The statement.
    pub text: String,
    /// Whether it is prepared.
    pub is_prepared: bool,
    /// How many are sent before a reply is waited for; a transaction is all of them.
    pub pipeline: NonZeroUsize,
}

impl Workload for Repeated {
    fn player(&self, _client: usize) -> Box<dyn TransactionPlayer> {
        let prepared = self.is_prepared.then(|| PreparedText { number: 0, text: self.text.clone() });
        let (text, prepared) = (self.text.clone(), prepared.into_iter().collect());
        Box::new(RepeatedPlayer { text, prepared, pipeline: self.pipeline.get(), taken: 0 })
    }

    fn scripts(&self) -> Vec<(String, Vec<String>)> {
        vec![(self.name.clone(), vec![self.text.clone()])]
    }
}

struct RepeatedPlayer {
    text: String,
    /// The text once more, if it is prepared.
    prepared: Vec<PreparedText>,
    pipeline: usize,
    /// Steps of the transaction so far.
    taken: usize,
}

impl TransactionPlayer for RepeatedPlayer {
    fn begin(&mut self, _random: &mut RandomSource) -> usize {
        self.taken = 0;
        0
    }

    fn begin_again(&mut self) {
        self.taken = 0;
    }

    fn step(&mut self, _random: &mut RandomSource) -> Result<PlayerStep<'_>, StepError> {
        let step = self.taken;
        self.taken += 1;
        let prepared = (!self.prepared.is_empty()).then_some(0);
        let request = SessionRequest { prepared, text: &self.text, parameters: &[] };
        Ok(match step {
            0 if self.pipeline == 1 => PlayerStep::Statement { index: 0, request, wants_row: false },
            _ if self.pipeline == 1 => PlayerStep::End,
            0 => PlayerStep::BeginPipeline(&self.prepared),
            step if step <= self.pipeline => PlayerStep::Append { index: 0, request },
            step if step == self.pipeline + 1 => PlayerStep::EndPipeline,
            _ => PlayerStep::End,
        })
    }

    fn take_row(&mut self, _row: Option<&[Option<String>]>) -> Result<(), StepError> {
        Ok(())
    }
}
