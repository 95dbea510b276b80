//! What a client does: transactions as steps. A script and a built-in workload are played alike.

use crate::arrivals::RandomSource;
use crate::session::SessionRequest;

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
}

impl Workload for Repeated {
    fn player(&self, _client: usize) -> Box<dyn TransactionPlayer> {
        Box::new(RepeatedPlayer { text: self.text.clone(), is_prepared: self.is_prepared, is_sent: false })
    }

    fn scripts(&self) -> Vec<(String, Vec<String>)> {
        vec![(self.name.clone(), vec![self.text.clone()])]
    }
}

struct RepeatedPlayer {
    text: String,
    is_prepared: bool,
    is_sent: bool,
}

impl TransactionPlayer for RepeatedPlayer {
    fn begin(&mut self, _random: &mut RandomSource) -> usize {
        self.is_sent = false;
        0
    }

    fn begin_again(&mut self) {
        self.is_sent = false;
    }

    fn step(&mut self, _random: &mut RandomSource) -> Result<PlayerStep<'_>, StepError> {
        if std::mem::replace(&mut self.is_sent, true) {
            return Ok(PlayerStep::End);
        }
        let request = SessionRequest { prepared: self.is_prepared.then_some(0), text: &self.text, parameters: &[] };
        Ok(PlayerStep::Statement { index: 0, request, wants_row: false })
    }

    fn take_row(&mut self, _row: Option<&[Option<String>]>) -> Result<(), StepError> {
        Ok(())
    }
}
