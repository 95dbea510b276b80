//! Runs of shell commands: `mh bakeoff --command`.

use super::args::CommandOptions;
use super::file::words;
use super::journal::{LoadRecord, StartRecord};
use super::{environment, usage};
use ::load::bakeoff::timed_command::{CommandRun, run};
use mh_kit::failure::Failure;
use std::collections::BTreeMap;
use std::fs::File;
use std::process::{Command, Stdio};
use std::time::Instant;
use sys::error_text::message;
use sys::reap::How;

/// Runs the commands of a command line.
pub struct CommandBench<'a> {
    commands: &'a [String],
    options: &'a CommandOptions,
}

impl<'a> CommandBench<'a> {
    /// Of these commands; told before any is run if one has no words.
    pub fn new(commands: &'a [String], options: &'a CommandOptions) -> Result<Self, Failure> {
        if commands.len() < 2 {
            return Err(usage("--command compares two commands or more, each in quotes".to_owned()));
        }
        let bench = Self { commands, options };
        commands.iter().try_for_each(|line| bench.command(line).map(drop))?;
        Ok(bench)
    }

    fn command(&self, line: &str) -> Result<Command, Failure> {
        let mut command = match self.options.no_shell {
            true => {
                let words = words(line)?;
                let Some((program, arguments)) = words.split_first() else {
                    return Err(usage("a command has no words".to_owned()));
                };
                let mut command = Command::new(program);
                command.args(arguments);
                command
            }
            false => {
                let mut command = Command::new(&self.options.shell);
                command.args(["-c", line]);
                command
            }
        };
        command.stdin(self.input()?);
        if !self.options.show_output {
            command.stdout(Stdio::null()).stderr(Stdio::null());
        }
        Ok(command)
    }

    fn input(&self) -> Result<Stdio, Failure> {
        let Some(path) = &self.options.input else { return Ok(Stdio::null()) };
        let opened = File::open(path)
            .map_err(|error| environment(format!("read {}: {}", terminal::quote(path), message(&error))))?;
        Ok(opened.into())
    }

    /// One run of the command with this number, with what is to be done before it.
    pub fn measure(&self, index: usize) -> Result<StartRecord, Failure> {
        let began = Instant::now();
        if let Some(line) = &self.options.prepare {
            let mut before = Command::new(&self.options.shell);
            before.args(["-c", line]).stdin(Stdio::null()).stdout(Stdio::null());
            self.checked(line, &mut before, false)?;
        }
        let line = &self.commands[index];
        let measured = self.checked(line, &mut self.command(line)?, self.options.ignore_failure)?;
        let seconds = |ns: u64| ns as f64 / 1e9;
        let mut values = BTreeMap::from([
            ("wall_s".to_owned(), measured.wall.as_secs_f64()),
            ("cpu_s".to_owned(), seconds(measured.usage.cpu_ns())),
            ("user_s".to_owned(), seconds(measured.usage.user_ns)),
            ("system_s".to_owned(), seconds(measured.usage.system_ns)),
        ]);
        values.extend(measured.usage.rss_peak_bytes.map(|bytes| ("memory_peak_bytes".to_owned(), bytes as f64)));
        Ok(StartRecord {
            arm: index,
            took_s: began.elapsed().as_secs_f64(),
            loads: vec![LoadRecord { values, ..LoadRecord::default() }],
        })
    }

    fn checked(&self, line: &str, command: &mut Command, may_fail: bool) -> Result<CommandRun, Failure> {
        let measured = run(command).map_err(|error| environment(format!("start '{line}': {}", message(&error))))?;
        let how = match measured.how {
            How::Exit(0) => return Ok(measured),
            How::Exit(_) if may_fail => return Ok(measured),
            How::Exit(code) => format!("it ended with exit code {code}; --ignore-failure counts such runs, too"),
            How::Signal(signal) => format!("signal {signal} ended it"),
        };
        Err(environment(format!("measure '{line}': {how}")))
    }
}
