//! `mh mtwrite`: an unmodified program whose files are written by other threads. Finds the library (`bindings/mtwrite`), runs the
//! program with it and a share of the cores, and says what came of it. What is queued and when is decided in the library.

use crate::crew::run::{self, RunArgs};
use crate::preload::{Library, OF_PACKAGES, Preload, file_in_memory};
use ::crew::plan::Plan;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use mh_kit::context::Context;
use mh_kit::entry::{Entry, Group, Signals};
use mh_kit::failure::{Failure, Outcome, with_causes};
use mh_kit::report::{counted, show_plan};
use mh_kit::shared_args::{ReportFormat, SharedArgs};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// How messages begin.
const NAME: &str = "mh mtwrite";

/// The registry's line. Signals are the program's.
pub const ENTRY: Entry = Entry::new("mtwrite", Group::Do, Signals::Own, command, start);

const LIBRARY: Preload =
    Preload { command: NAME, file_name: "libmhwrite.so", embedded: EMBEDDED, directories: &["", OF_PACKAGES] };
#[cfg(has_embedded_library)]
const EMBEDDED: &[u8] = include_bytes!(env!("MH_MTWRITE_LIBRARY"));
#[cfg(not(has_embedded_library))]
const EMBEDDED: &[u8] = &[];

/// What the library does where nothing is said, in bytes; it is its own default.
const MEMORY_BYTES: u64 = 8 << 20;
/// And the least that it takes.
const MEMORY_MIN_BYTES: u64 = 1 << 20;

/// LIMIT: what is read of what the processes tell; each tells two short lines.
const TOLD_BYTES: usize = 1 << 20;

/// Run a program whose new files are written by other threads
///
/// For programs that make files with write(2) and libc: GNU tar, bsdtar, cpio. Exit code: the program's; 1 where it ended well
/// but something could not be written; 126 it could not be run, 127 it was not found.
#[derive(Args, Debug)]
struct MtwriteArgs {
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,

    #[command(flatten)]
    shared: SharedArgs,
}

fn command() -> Command {
    MtwriteArgs::augment_args(Command::new("mtwrite")).after_help(
        "Examples:\n  mh mtwrite -- tar xf a.tar               as it was, on more cores\n  \
         mh mtwrite --report -- bsdtar xf a.tar   and what was queued",
    )
}

fn start(context: &mut Context, matches: &ArgMatches) -> Result<Outcome, Failure> {
    let mut args = MtwriteArgs::from_arg_matches(matches).map_err(Failure::CommandLine)?;
    args.shared.settle(&context.settings.crew);
    let library = LIBRARY.find()?;
    if args.shared.explain {
        show_plan(context, &plan(context, &args, &library.origin()), None)?;
        return Ok(Outcome::Done);
    }
    let ear = Ear::open()?;
    let variables = variables(context, &args, &library, &ear);
    let program = terminal::quote(args.command.first().expect("clap asks for one"));
    let outcome = run::run(context, RunArgs::of(NAME, &args.shared, args.command, variables))?;
    let told = ear.told()?;
    if let Some(words) = told.nothing(&program, &outcome) {
        context.messages.warning(NAME, &words, &[]);
    }
    if let Some(format) = args.shared.report {
        context.messages.report(&told.report(format));
    }
    Ok(outcome)
}

fn hands(context: &Context, args: &MtwriteArgs) -> usize {
    args.shared.hands_asked().unwrap_or_else(|| context.machine.hands_allowed())
}

fn variables(context: &Context, args: &MtwriteArgs, library: &Library, ear: &Ear) -> Vec<OsString> {
    let mut variables =
        vec![library.variable(), format!("MH_MTWRITE_HANDS={}", hands(context, args)).into(), ear.variable()];
    if let Some(bytes) = args.shared.memory {
        variables.push(format!("MH_MTWRITE_MEMORY={bytes}").into());
    }
    variables
}

fn plan(context: &Context, args: &MtwriteArgs, library: &str) -> Plan {
    let words: Vec<_> = args.command.iter().map(|word| word.to_string_lossy()).collect();
    let mut plan = Plan::new(format!("run {}", terminal::printable(&words.join(" "))));
    let (hands, workers) = (hands(context, args), hands(context, args).saturating_sub(1).max(1));
    let why = if args.shared.hands_asked().is_some() { "-j" } else { "the CPUs that this process may use" };
    plan.choose("hands", counted(hands as u64, "hand"), why);
    plan.choose("workers", format!("up to {workers}"), "the program's own thread works too where memory is used up");
    let bytes = args.shared.memory.unwrap_or(MEMORY_BYTES).max(MEMORY_MIN_BYTES);
    let why = if args.shared.memory.is_some() { "--memory" } else { "far enough ahead, and still in the CPU's cache" };
    plan.choose("memory", terminal::bytes(bytes), why);
    plan.choose("library", library, "loaded into the program and all that it starts");
    plan.choose("queued", "new files opened for writing alone", "what else could see them early is made to wait");
    plan
}

/// Where the library of each process tells that it is there, and at the end what it did.
struct Ear {
    file: File,
    path: String,
}

impl Ear {
    /// A file without a name; processes find it by way of this one, which lives longer. A descriptor that they inherit could be
    /// closed, and its number another file's when they come to write to it.
    fn open() -> Result<Self, Failure> {
        let failed = |error: &(dyn std::error::Error + 'static)| Failure::Environment {
            command: NAME,
            message: format!("make a file in memory: {}", with_causes(error)),
        };
        let (file, path) = file_in_memory("mtwrite").map_err(|error| failed(&error))?;
        Ok(Self { file, path })
    }

    fn variable(&self) -> OsString {
        format!("MH_MTWRITE_TELL={}", self.path).into()
    }

    fn told(&self) -> Result<Told, Failure> {
        let mut bytes = vec![0; TOLD_BYTES];
        let count = self.file.read_at(&mut bytes, 0).map_err(|error| Failure::Environment {
            command: NAME,
            message: format!("read what the library told: {}", with_causes(&error)),
        })?;
        Ok(Told::from_text(&String::from_utf8_lossy(&bytes[..count])))
    }
}

/// What all processes told together.
#[derive(Debug, Default, PartialEq, Eq)]
struct Told {
    processes: u64,
    counts: BTreeMap<String, u64>,
}

impl Told {
    fn from_text(text: &str) -> Self {
        let mut told = Self::default();
        for line in text.lines() {
            if line == "loaded" {
                told.processes += 1;
            }
            let pairs =
                line.strip_prefix("done ").unwrap_or_default().split(' ').filter_map(|word| word.split_once('='));
            for (name, count) in pairs {
                let sum = told.counts.entry(name.to_owned()).or_default();
                *sum = sum.saturating_add(count.parse().unwrap_or(0));
            }
        }
        told
    }

    fn count(&self, name: &str) -> u64 {
        self.counts.get(name).copied().unwrap_or(0)
    }

    /// Why the program was no faster, if nothing was queued at all. That one was not started has been said, by its exit code too.
    fn nothing(&self, program: &str, outcome: &Outcome) -> Option<String> {
        let may_have_run = matches!(outcome, Outcome::Code(code) if ![126, 127].contains(code));
        if !may_have_run || self.count("files") > 0 {
            return None;
        }
        Some(match self.processes {
            0 => format!("nothing was queued: {program} did not load the library; is it static, or set-user-ID?"),
            _ => format!(
                "nothing was queued: {program} made no file by open(2) and write(2); stdio, dup2 and other ways are not seen"
            ),
        })
    }

    fn report(&self, format: ReportFormat) -> String {
        match format {
            ReportFormat::Json => {
                let counts: Vec<String> =
                    self.counts.iter().map(|(name, count)| format!("\"{name}\":{count}")).collect();
                let counts = if counts.is_empty() { String::new() } else { format!(",{}", counts.join(",")) };
                format!("{{\"processes\":{}{counts}}}", self.processes)
            }
            ReportFormat::Text => format!(
                "queued: {}, {}, {}\n{} waited for a file to be finished, {} for memory\n{} in {}",
                counted(self.count("files"), "file"),
                terminal::bytes(self.count("bytes")),
                counted(self.count("calls"), "call"),
                counted(self.count("drained"), "call"),
                self.count("full"),
                counted(self.count("workers"), "worker"),
                counted(self.processes, "program"),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Host;
    use mh_kit::context::Terminals;
    use mh_kit::settings::Settings;
    use testkit::fake_machine::FakeMachine;

    fn decided(typed: &str, subject: &str) -> String {
        let machine = FakeMachine::new(4, 1 << 30);
        let context = Context::on(Host::rooted_at(machine.root()), Terminals::default(), Settings::default());
        let matches = command().get_matches_from(["mtwrite"].into_iter().chain(typed.split(' ')));
        let args = MtwriteArgs::from_arg_matches(&matches).expect("good options");
        let plan = plan(&context, &args, "/lib/libmhwrite.so");
        plan.about(subject).map(|choice| choice.decision.clone()).expect("it is decided")
    }

    #[test]
    fn the_programs_own_thread_is_one_of_its_hands() {
        assert_eq!((decided("tar", "hands"), decided("tar", "workers")), ("4 hands".to_owned(), "up to 3".to_owned()));
        assert_eq!(decided("-j 2 tar", "workers"), "up to 1");
        assert_eq!(
            (decided("-j 1 tar", "hands"), decided("-j 1 tar", "workers")),
            ("1 hand".to_owned(), "up to 1".to_owned())
        );
    }

    #[test]
    fn memory_has_a_lower_bound() {
        assert_eq!(decided("--memory 1G tar", "memory"), terminal::bytes(1 << 30));
        assert_eq!(decided("--memory 1 tar", "memory"), terminal::bytes(MEMORY_MIN_BYTES));
    }

    #[test]
    fn what_processes_told_is_added_up() {
        let told = Told::from_text("loaded\nloaded\ndone files=2 bytes=10 full=x\ndone files=3 bytes=5\ngarbage=1\n");
        assert_eq!((told.processes, told.count("files"), told.count("bytes"), told.count("full")), (2, 5, 15, 0));
        assert_eq!(told.count("garbage"), 0);
        assert_eq!(told.nothing("tar", &Outcome::Code(0)), None);
    }

    #[test]
    fn nothing_queued_has_a_reason() {
        let of = |text: &str, code| Told::from_text(text).nothing("'tar'", &Outcome::Code(code)).unwrap_or_default();
        assert!(of("", 0).contains("did not load"));
        assert!(of("loaded\ndone files=0\n", 0).contains("no file by open(2) and write(2)"));
        assert!(of("", 2).contains("did not load"), "it failed, and gained nothing");
        assert_eq!(of("", 127), "", "it was not there: that was said");
    }
}
