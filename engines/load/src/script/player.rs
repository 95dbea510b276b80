//! One client's way through scripts: its variables, where it is, and the statement that it sends. Nothing is allocated for a step once each statement
//! was sent.

use super::expression::Evaluation;
use super::mix::Weighted;
use super::scalar::{Scalar, Variable};
use super::{Amount, CLIENT_ID, Instruction, LoadScript};
use crate::arrivals::RandomSource;
use crate::player::{PlayerStep, StepError, TransactionPlayer};
use crate::session::{Parameter, SessionRequest};
use std::sync::Arc;

/// LIMIT: bytes of a value that a row gives to a variable.
const VALUE_BYTES_MAX: usize = 1 << 20;

/// A client that plays scripts.
#[derive(Debug)]
pub(super) struct ScriptPlayer {
    scripts: Arc<Weighted>,
    clients: Vec<ClientOfScript>,
    current: usize,
    /// The next instruction.
    at: usize,
    /// The statement that was sent last.
    sent: usize,
    /// Draws of the transaction, which its repetition draws again.
    random: RandomSource,
    seed: u64,
    text: String,
    /// Whether statements are those of a pipeline.
    is_pipelined: bool,
}

/// What a client keeps of a script.
#[derive(Debug)]
struct ClientOfScript {
    variables: Vec<Variable>,
    /// As they were when the transaction began.
    at_begin: Vec<Variable>,
    /// By statement, so that texts find their memory again.
    parameters: Vec<Vec<Parameter>>,
}

impl ClientOfScript {
    fn new(script: &LoadScript, client: usize) -> Self {
        let mut variables = script.initial.clone();
        // A definition of this name on the command line goes before.
        if variables[CLIENT_ID].scalar("client_id").is_err() {
            variables[CLIENT_ID].set(Scalar::Integer(i64::try_from(client).unwrap_or(i64::MAX)));
        }
        let parameters = |statement: &super::ScriptStatement| {
            let count = statement.template.prepared().map_or(0, |prepared| prepared.places.len());
            vec![Parameter::Null; count]
        };
        let parameters = script.statements.iter().map(parameters).collect();
        Self { at_begin: variables.clone(), variables, parameters }
    }
}

impl ScriptPlayer {
    pub fn new(scripts: Arc<Weighted>, client: usize) -> Self {
        let clients = scripts.scripts.iter().map(|script| ClientOfScript::new(script, client)).collect();
        let random = RandomSource::new(0, 0);
        Self { scripts, clients, current: 0, at: 0, sent: 0, random, seed: 0, text: String::new(), is_pipelined: false }
    }

    fn begin_here(&mut self) {
        self.random = RandomSource::new(self.seed, 0);
        self.at = 0;
        self.is_pipelined = false;
    }

    /// Carries out instructions up to the next one that the outside takes part in.
    fn next_statement(&mut self) -> Result<Pause, StepError> {
        let Self { scripts, clients, current, at, random, .. } = self;
        let script = &scripts.scripts[*current];
        let variables = &mut clients[*current].variables;
        while let Some(instruction) = script.instructions.get(*at) {
            *at += 1;
            let mut with = Evaluation { variables, names: &script.names, random };
            match instruction {
                Instruction::Statement(index) => return Ok(Pause::Statement(*index)),
                Instruction::Set { line, place, value } => {
                    let value = value.evaluate(&mut with).map_err(|cause| failed(script, *line, &cause))?;
                    variables[*place].set(value);
                }
                Instruction::JumpUnless { line, condition, to } => {
                    let value = condition.evaluate(&mut with).map_err(|cause| failed(script, *line, &cause))?;
                    if !value.is_true() {
                        *at = *to;
                    }
                }
                Instruction::Jump { to } => *at = *to,
                Instruction::BeginPipeline(pipeline) => return Ok(Pause::BeginPipeline(*pipeline)),
                Instruction::SyncPipeline => return Ok(Pause::SyncPipeline),
                Instruction::EndPipeline => return Ok(Pause::EndPipeline),
                Instruction::Sleep { line, amount, unit_ns } => {
                    let amount = match amount {
                        Amount::Fixed(amount) => *amount,
                        Amount::Variable(place) => sleep_of(&variables[*place], &script.names[*place])
                            .map_err(|cause| failed(script, *line, &cause))?,
                    };
                    return Ok(Pause::Sleep(amount.saturating_mul(*unit_ns)));
                }
            }
        }
        Ok(Pause::End)
    }

    fn send(&mut self, index: usize) -> Result<PlayerStep<'_>, StepError> {
        self.sent = index;
        let script = &self.scripts.scripts[self.current];
        let client = &mut self.clients[self.current];
        let statement = &script.statements[index];
        let parameters = &mut client.parameters[index];
        let is_failed = |cause: String| failed(script, statement.line, &cause);
        let request = match statement.template.prepared() {
            Some(prepared) => {
                prepared.fill(&client.variables, &script.names, parameters).map_err(is_failed)?;
                let number = self.scripts.numbers[self.current] + index;
                SessionRequest { prepared: Some(number), text: &prepared.text, parameters }
            }
            None => {
                statement.template.write(&client.variables, &script.names, &mut self.text).map_err(is_failed)?;
                SessionRequest { prepared: None, text: &self.text, parameters: &[] }
            }
        };
        Ok(match self.is_pipelined {
            true => PlayerStep::Append { index, request },
            false => PlayerStep::Statement { index, request, wants_row: statement.row_to.is_some() },
        })
    }
}

/// Where the outside takes part.
enum Pause {
    Statement(usize),
    Sleep(u64),
    BeginPipeline(usize),
    SyncPipeline,
    EndPipeline,
    End,
}

fn sleep_of(variable: &Variable, name: &str) -> Result<u64, String> {
    let amount = variable.scalar(name)?.integer()?;
    u64::try_from(amount).ok().ok_or_else(|| format!("a pause of {amount} cannot be made"))
}

fn failed(script: &LoadScript, line: usize, cause: &str) -> StepError {
    StepError(format!("{}:{line}: {cause}", script.name))
}

impl TransactionPlayer for ScriptPlayer {
    fn begin(&mut self, random: &mut RandomSource) -> usize {
        self.current = self.scripts.choose(random);
        self.seed = random.bits();
        let client = &mut self.clients[self.current];
        client.at_begin.clone_from(&client.variables);
        self.begin_here();
        self.current
    }

    fn begin_again(&mut self) {
        let client = &mut self.clients[self.current];
        client.variables.clone_from(&client.at_begin);
        self.begin_here();
    }

    fn step(&mut self, _random: &mut RandomSource) -> Result<PlayerStep<'_>, StepError> {
        match self.next_statement()? {
            Pause::Statement(index) => self.send(index),
            Pause::Sleep(ns) => Ok(PlayerStep::Sleep(ns)),
            Pause::BeginPipeline(pipeline) => {
                self.is_pipelined = true;
                Ok(PlayerStep::BeginPipeline(&self.scripts.scripts[self.current].pipelines[pipeline]))
            }
            Pause::SyncPipeline => Ok(PlayerStep::SyncPipeline),
            Pause::EndPipeline => {
                self.is_pipelined = false;
                Ok(PlayerStep::EndPipeline)
            }
            Pause::End => Ok(PlayerStep::End),
        }
    }

    fn take_row(&mut self, row: Option<&[Option<String>]>) -> Result<(), StepError> {
        let script = &self.scripts.scripts[self.current];
        let statement = &script.statements[self.sent];
        let Some(places) = &statement.row_to else { return Ok(()) };
        let is_failed = |cause: &str| Err(failed(script, statement.line, cause));
        let Some(row) = row else { return is_failed("\\gset needs a row, and there was none") };
        if row.len() != places.len() {
            return is_failed(&format!("the row has {} columns, its statement names {}", row.len(), places.len()));
        }
        let variables = &mut self.clients[self.current].variables;
        for (value, &place) in row.iter().zip(places) {
            match value {
                None => variables[place].set(Scalar::Null),
                Some(text) if text.len() > VALUE_BYTES_MAX => {
                    let cause = format!("a column has {} bytes, a variable holds {VALUE_BYTES_MAX}", text.len());
                    return is_failed(&cause);
                }
                Some(text) => variables[place].set_text(text),
            }
        }
        Ok(())
    }
}
