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
use self::program::Loads;
use self::report::PrefaultOutcome;
use crate::crew::run::{self, RunArgs};
use crate::preload::{Library, OF_PACKAGES, Preload};
use mh_kit::context::{Context, variable};
use mh_kit::failure::{Failure, NOT_FOUND, NOT_RUNNABLE, Outcome};
use mh_kit::shared_args::{StandingArgs, parse_size};
use std::ffi::OsString;
use std::time::Duration;

#[cfg(has_embedded_library)]
const EMBEDDED: &[u8] = include_bytes!(env!("MH_PREFAULT_LIBRARY"));
#[cfg(not(has_embedded_library))]
const EMBEDDED: &[u8] = &[];

/// The least size of mappings that are looked at.
pub const MIN_BYTES: u64 = 1 << 20;

/// A size for --min-size.
pub fn parse_min_size(text: &str) -> Result<u64, String> {
    match parse_size(text)? {
        bytes if bytes < MIN_BYTES => Err("at least 1M: smaller mappings gain nothing".to_owned()),
        bytes => Ok(bytes),
    }
}

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
    // Not beside this program: a build for tests needs what programs may not have; the copy within needs libc alone.
    let directories = &[OF_PACKAGES];
    Preload { command: name, file_name: "libmhprefault.so", embedded: EMBEDDED, directories }.find()
}

/// Runs a program, and says what was done for it.
pub fn run(
    context: &mut Context,
    wishes: Wishes,
    command: Vec<OsString>,
) -> Result<(Outcome, PrefaultOutcome), Failure> {
    let name = wishes.name;
    let found = library(name)?;
    let program = terminal::quote(command.first().expect("clap asks for one"));
    let passes_by = match program::check(&command) {
        Loads::Yes => None,
        Loads::Not(why) => Some(why),
        Loads::Ignores(why) => {
            context.messages.error(name, &format!("run {program}: {why}"), &[]);
            return Ok((Outcome::Code(NOT_RUNNABLE), PrefaultOutcome::default()));
        }
    };
    if variable("MH_PREFAULT_LEDGER").is_some() {
        let words = "this run is within another one that looks after mappings, which no longer does for this program";
        context.messages.warning(name, words, &[]);
    }
    let broker = Broker::open(&wishes)?;
    let variables = vec![found.variable(), broker.variable()];
    let wanted =
        HelpersWanted { helpers: wishes.helpers, standing: wishes.standing, what: format!("populate for {program}") };
    let args = RunArgs::unheld(name, command, variables);
    let (outcome, running) = run::run_beside(context, args, |context| Ok(broker.begin(context, wanted)))?;
    let Some(running) = running else { return Ok((outcome, PrefaultOutcome::default())) };
    let done = running.end();
    let may_have_run = !matches!(outcome, Outcome::Code(code) if [NOT_RUNNABLE, NOT_FOUND].contains(&code));
    for words in done.warnings(&program, passes_by).iter().filter(|_| may_have_run) {
        context.messages.warning(name, words, &[]);
    }
    Ok((outcome, done))
}
