//! One client's way through sysbench's transactions: which table, which keys, which texts. Nothing is allocated for a step once each statement was
//! sent.

use super::digits;
use super::oltp::{OltpPlan, OltpStatement, StageKind};
use crate::arrivals::RandomSource;
use crate::distribution::below;
use crate::player::{PlayerStep, StepError, TransactionPlayer};
use crate::session::{Parameter, SessionRequest};
use std::fmt::Write;
use std::sync::Arc;

/// A client of a mix.
#[derive(Debug)]
pub(super) struct OltpPlayer {
    plan: Arc<OltpPlan>,
    random: RandomSource,
    seed: u64,
    stage: usize,
    /// How often the stage was carried out.
    times: u32,
    /// The stage's table, from 0.
    table: usize,
    /// The key whose row was deleted and is to be inserted again.
    deleted: Option<u64>,
    /// By statement, so that texts find their memory again.
    parameters: Vec<Vec<Parameter>>,
    text: String,
}

impl OltpPlayer {
    pub fn new(plan: Arc<OltpPlan>) -> Self {
        let parameters = |statement: &OltpStatement| vec![Parameter::Null; statement.parameters];
        let parameters = plan.statements.iter().map(parameters).collect();
        let random = RandomSource::new(0, 0);
        Self { plan, random, seed: 0, stage: 0, times: 0, table: 0, deleted: None, parameters, text: String::new() }
    }

    fn begin_here(&mut self) {
        self.random = RandomSource::new(self.seed, 0);
        self.deleted = None;
        self.begin_stage(0);
    }

    /// A stage has one table for all its statements, as sysbench has it.
    fn begin_stage(&mut self, stage: usize) {
        (self.stage, self.times) = (stage, 0);
        self.table = below(&mut self.random, self.plan.tables) as usize;
    }

    /// Fills the parameters of the next statement, and tells which it is.
    fn next_statement(&mut self) -> Option<usize> {
        while self.plan.stages.get(self.stage).is_some_and(|stage| self.times == stage.times) {
            self.begin_stage(self.stage + 1);
        }
        let stage = *self.plan.stages.get(self.stage)?;
        let Self { plan, random, parameters, deleted, .. } = self;
        let parameters = &mut parameters[stage.statement..];
        let key = |random: &mut RandomSource| plan.keys.draw(random);
        self.times += 1;
        match stage.kind {
            StageKind::Begin | StageKind::Commit => {}
            StageKind::PointSelect | StageKind::IndexUpdate | StageKind::Delete => {
                parameters[0][0] = integer(key(random));
            }
            StageKind::Range => {
                let first = key(random);
                parameters[0][0] = integer(first);
                parameters[0][1] = integer(first + u64::from(plan.range_size) - 1);
            }
            StageKind::NonIndexUpdate => {
                set_digits(&mut parameters[0][0], digits::C_GROUPS, random);
                parameters[0][1] = integer(key(random));
            }
            StageKind::DeleteInsert => match deleted.take() {
                None => {
                    let id = key(random);
                    parameters[0][0] = integer(id);
                    *deleted = Some(id);
                    // The insert is the second half of this time.
                    self.times -= 1;
                }
                Some(id) => {
                    parameters[1][0] = integer(id);
                    fill_row(&mut parameters[1][1..], key(random), random);
                    return Some(stage.statement + 1);
                }
            },
            StageKind::InsertWithKey => {
                parameters[0][0] = Parameter::Integer(plan.new_keys.next());
                fill_row(&mut parameters[0][1..], key(random), random);
            }
            StageKind::Insert => {
                let k = key(random);
                fill_row(&mut parameters[0], k, random);
            }
        }
        Some(stage.statement)
    }
}

/// Columns k, c and pad.
fn fill_row(parameters: &mut [Parameter], k: u64, random: &mut RandomSource) {
    parameters[0] = integer(k);
    set_digits(&mut parameters[1], digits::C_GROUPS, random);
    set_digits(&mut parameters[2], digits::PAD_GROUPS, random);
}

fn integer(value: u64) -> Parameter {
    Parameter::Integer(value as i64)
}

/// Overwrites a parameter by digits, in the memory of the text that it had.
fn set_digits(parameter: &mut Parameter, groups: usize, random: &mut RandomSource) {
    if let Parameter::Text(text) = parameter {
        text.clear();
        return digits::write(groups, random, text);
    }
    let mut text = String::new();
    digits::write(groups, random, &mut text);
    *parameter = Parameter::Text(text);
}

/// Writes a statement with its parameters in it; none of them needs an escape.
fn write_text(statement: &str, parameters: &[Parameter], text: &mut String) {
    text.clear();
    let mut values = parameters.iter();
    let mut rest = statement;
    while let Some(at) = rest.find(['?', '$']) {
        text.push_str(&rest[..at]);
        rest = rest[at + 1..].trim_start_matches(|letter: char| letter.is_ascii_digit());
        match values.next() {
            Some(Parameter::Integer(value)) => {
                let _always_written = write!(text, "{value}");
            }
            Some(Parameter::Text(value)) => {
                let _always_written = write!(text, "'{value}'");
            }
            _ => text.push_str("NULL"),
        }
    }
    text.push_str(rest);
}

impl TransactionPlayer for OltpPlayer {
    fn begin(&mut self, random: &mut RandomSource) -> usize {
        self.seed = random.bits();
        self.begin_here();
        0
    }

    fn begin_again(&mut self) {
        self.begin_here();
    }

    fn step(&mut self, _random: &mut RandomSource) -> Result<PlayerStep<'_>, StepError> {
        let Some(index) = self.next_statement() else { return Ok(PlayerStep::End) };
        let statement = &self.plan.statements[index];
        let parameters = &self.parameters[index];
        let table = if statement.texts.len() > 1 { self.table } else { 0 };
        let request = match statement.prepared {
            Some(first) => SessionRequest { prepared: Some(first + table), text: &statement.texts[table], parameters },
            None => {
                write_text(&statement.texts[table], parameters, &mut self.text);
                SessionRequest { prepared: None, text: &self.text, parameters: &[] }
            }
        };
        Ok(PlayerStep::Statement { index, request, wants_row: false })
    }

    fn take_row(&mut self, _row: Option<&[Option<String>]>) -> Result<(), StepError> {
        Ok(())
    }
}
