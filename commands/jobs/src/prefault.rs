//! Programs whose large mappings are looked after by a preloaded library (`bindings/prefault`): finds it, runs the program with it, and answers
//! its questions while the program runs. `mh vmtasks run` and `mh numa run` differ in what they want of a mapping.

mod broker;
mod judge;
// The layout of the shared memory is written once, with the library that other processes have it mapped by.
#[path = "../../../bindings/prefault/src/ledger.rs"]
pub mod ledger;
pub mod policy;
mod program;
pub mod report;

use self::broker::{Broker, HelpersWanted};
use self::policy::PolicyRequest;
use self::report::PrefaultOutcome;
use crate::crew::run::{self, RunArgs};
use crate::preload::{Library, Preload};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome};
use mh_kit::shared_args::StandingArgs;
use std::ffi::OsString;
use std::time::Duration;

#[cfg(has_embedded_library)]
const EMBEDDED: &[u8] = include_bytes!(env!("MH_PREFAULT_LIBRARY"));
#[cfg(not(has_embedded_library))]
const EMBEDDED: &[u8] = &[];

/// LIMIT: threads of one mapping, the program's own among them.
pub const THREADS_MAX: usize = broker::HELPERS_MAX + 1;

/// What is wanted of the mappings of a program.
pub struct Wishes {
    /// How messages begin: the command.
    pub name: &'static str,
    /// Mappings below it are left alone.
    pub min_bytes: u64,
    /// Bits of `ledger::MODE_*`.
    pub mode: u64,
    /// How far `ledger::MODE_AHEAD` goes in front of the program.
    pub window_bytes: u64,
    /// The policy of what is mapped before the start-up ends.
    pub startup: Option<PolicyRequest>,
    /// How long that is.
    pub startup_time: Duration,
    /// The policy of what is mapped later.
    pub later: Option<PolicyRequest>,
    /// Core tokens that helpers may have at once.
    pub helpers: usize,
    /// Their standing among other runs.
    pub standing: StandingArgs,
}

/// The library.
pub fn library(name: &'static str) -> Result<Library, Failure> {
    Preload { command: name, file_name: "libmhprefault.so", embedded: EMBEDDED }.find()
}

/// Runs a program, and says what was done for it.
pub fn run(
    context: &mut Context,
    wishes: Wishes,
    command: Vec<OsString>,
) -> Result<(Outcome, PrefaultOutcome), Failure> {
    let name = wishes.name;
    let found = library(name)?;
    let passes_by = program::check(name, &command)?;
    let program = terminal::quote(command.first().expect("clap asks for one"));
    let broker = Broker::open(&wishes)?;
    let variables = vec![found.variable(), broker.variable()];
    let wanted =
        HelpersWanted { helpers: wishes.helpers, standing: wishes.standing, what: format!("populate for {program}") };
    let args = RunArgs::unheld(name, command, variables);
    let (outcome, running) = run::run_beside(context, args, |context| Ok(broker.begin(context, wanted)))?;
    let Some(running) = running else { return Ok((outcome, PrefaultOutcome::default())) };
    let done = running.end();
    for words in done.warnings(&program, passes_by) {
        context.messages.warning(name, &words, &[]);
    }
    Ok((outcome, done))
}
