//! Pipelines of a script: statements between `\startpipeline` and `\endpipeline`, by pgbench's rules. pgbench finds an offence when it gets there, this
//! reader before anything is sent; a pipeline therefore begins and ends in the same branch of an `\if`.

use super::Instruction;
use super::compile::Compiler;
use super::parser::ScriptMistake;
use super::reader::RawCommand;
use crate::session::{PreparedText, SqlDialect};

/// A `\startpipeline` whose end is still to come.
pub(super) struct OpenPipeline {
    at: usize,
    /// How many `\if` it is inside of.
    depth: usize,
    /// Its first statement.
    first: usize,
}

impl Compiler<'_> {
    pub(super) fn begin_pipeline(&mut self, command: &RawCommand<'_>) -> Result<(), ScriptMistake> {
        self.takes_nothing(command)?;
        let refused = |cause: &str| Err((command.at, format!("\\startpipeline: {cause}")));
        if self.pipeline.is_some() {
            return refused("a pipeline is open already");
        }
        let (depth, first) = (self.open.len(), self.statements.len());
        self.pipeline = Some(OpenPipeline { at: command.at, depth, first });
        match self.options.dialect {
            SqlDialect::Sqlite => return refused("SQLite takes one statement at a time"),
            SqlDialect::Postgres if !self.options.is_prepared => {
                return refused("PostgreSQL's simple protocol has no pipelines (--protocol prepared)");
            }
            SqlDialect::Postgres | SqlDialect::MySql | SqlDialect::Echo => {}
        }
        self.instructions.push(Instruction::BeginPipeline(self.pipelines.len()));
        Ok(())
    }

    pub(super) fn sync_pipeline(&mut self, command: &RawCommand<'_>) -> Result<(), ScriptMistake> {
        self.takes_nothing(command)?;
        if self.pipeline.is_none() {
            return Err((command.at, "\\syncpipeline without a \\startpipeline before it".to_owned()));
        }
        self.instructions.push(Instruction::SyncPipeline);
        Ok(())
    }

    pub(super) fn end_pipeline(&mut self, command: &RawCommand<'_>) -> Result<(), ScriptMistake> {
        self.takes_nothing(command)?;
        let Some(pipeline) = self.pipeline.take() else {
            return Err((command.at, "\\endpipeline without a \\startpipeline before it".to_owned()));
        };
        if pipeline.depth != self.open.len() {
            return Err((command.at, "\\endpipeline in another branch than its \\startpipeline".to_owned()));
        }
        let statements = self.statements.iter().enumerate().skip(pipeline.first);
        let prepared = statements.filter_map(|(number, statement)| {
            Some(PreparedText { number, text: statement.template.prepared()?.text.clone() })
        });
        self.pipelines.push(prepared.collect());
        self.instructions.push(Instruction::EndPipeline);
        Ok(())
    }

    /// A statement that was read just now, at `at`: what a pipeline cannot have in it is a mistake.
    pub(super) fn check_pipelined(&self, at: usize) -> Result<(), ScriptMistake> {
        let is_prepared = self.statements.last().is_some_and(|statement| statement.template.prepared().is_some());
        match self.pipeline {
            Some(_) if self.options.dialect == SqlDialect::Postgres && self.options.is_prepared && !is_prepared => {
                Err((at, "a pipeline has single statements, with variables outside of quotes".to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// A branch of an `\if`, or the script, ends: a pipeline that began there must have ended.
    pub(super) fn close_pipeline(&mut self) {
        let is_inside = |pipeline: &mut OpenPipeline| pipeline.depth >= self.open.len();
        if let Some(pipeline) = self.pipeline.take_if(is_inside) {
            self.mistakes.push((pipeline.at, "this \\startpipeline has no \\endpipeline".to_owned()));
        }
    }
}
