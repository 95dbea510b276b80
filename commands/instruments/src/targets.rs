//! Whom an instrument looks at, how long and how often: the same words and options in pstime and ceiling. How words are read:
//! `mh_kit::instrument::grammar`.

use crate::name_parser;
use clap::Args;
use clap::builder::TypedValueParser;
use mh_kit::context::Context;
use mh_kit::failure::Failure;
use mh_kit::instrument::grammar::{Targets, is_process};

/// Words and options, as typed.
#[derive(Args, Clone, Debug)]
pub struct TargetArgs {
    /// How long to measure, then processes by name or PID; without any, all
    #[arg(value_name = "INTERVAL|NAME|PID", value_parser = name_parser())]
    words: Vec<String>,

    /// This process (may be given again)
    #[arg(short = 'p', long = "pid", value_name = "PID", value_delimiter = ',', value_parser = pid_parser())]
    pids: Vec<u32>,

    /// Repeat COUNT times; 0 goes on until Ctrl-C
    #[arg(short = 'n', long, value_name = "COUNT")]
    pub count: Option<u64>,
}

/// LIMIT: the largest that the kernel gives, as in /proc/sys/kernel/pid_max.
pub fn pid_parser() -> impl TypedValueParser<Value = u32> {
    clap::value_parser!(u32).range(1..=4_194_304)
}

impl TargetArgs {
    /// Reads the words; `has_interval`: not for a recording, which has its own intervals.
    pub fn read(&self, command: &'static str, has_interval: bool) -> Result<Targets, Failure> {
        let read = Targets::read(&self.words, &self.pids, has_interval);
        read.map_err(|message| Failure::Usage { command, message })
    }
}

/// A remark where a number could have been meant otherwise.
pub fn remark(context: &Context, command: &'static str, targets: &Targets) {
    if let Some(text) = targets.remark(is_process) {
        context.messages.note(command, &text);
    }
}
