//! `mh tar`: make, list and extract tar archives on all cores.
//! Does not read, write or place members (engines/archive). Reading order: `TarArgs` -> `plan` of each operation -> run -> show.

mod archive;
mod args;
mod checkpoints;
mod chosen;
mod compare;
mod create;
mod defaults;
mod destination;
mod edit;
mod extract;
mod incremental;
mod index;
mod label;
mod list;
mod member_lines;
mod memory;
mod messages;
mod moment;
mod old_end;
mod old_style;
mod packer;
mod pax_options;
mod progress;
mod questions;
mod selection;
mod small;
mod there;
mod totals;
mod transform;
mod volumes;
mod warnings;
mod words;

use args::TarArgs;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use crew::budget::{Lease, LeaseShare, Request, Waiting};
use crew::pipeline::Executor;
use messages::could_not;
use mh_kit::context::{Context, signal_failure, variable};
use mh_kit::descriptors::hands_for_descriptors;
use mh_kit::entry::{Entry, Group, LinkProfile, Signals};
use mh_kit::failure::{Failure, Outcome};
use mh_kit::report::counted;
use mh_kit::sharing::{self, Shared};
use mh_kit::width::{self, Bound};
use selection::{SelectionStep, TypedSelection};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// COMPAT: scripts look for GNU tar in its first line, and for a number of it behind.
const VERSION_OF_TAR: &str = concat!("(GNU tar) 1.35 (compatible; manyhands ", env!("CARGO_PKG_VERSION"), ")");

/// How messages begin.
const NAME: &str = "mh tar";

/// The registry's line.
pub const ENTRY: Entry = Entry {
    refuse: |typed| old_style::refuse(typed).or_else(defaults::refuse),
    rewrite: |typed| [defaults::words(), old_style::rewrite(typed)].concat(),
    link: LinkProfile {
        usage_code,
        usage_words,
        abbreviates: true,
        version: VERSION_OF_TAR,
        usage: "Usage: tar [OPTION...] [FILE]...",
        ..LinkProfile::NEW
    },
    ..Entry::new("tar", Group::Do, Signals::TidyUpLater, command, run)
};

/// COMPAT: GNU tar's exit codes: some files differ or changed, and everything that went wrong.
const DIFFERENT: Outcome = Outcome::Code(1);
const FAILED: Outcome = Outcome::Code(2);

/// COMPAT: GNU tar ends with 64 when its parser refuses a command line: options that there are not, values that are missing or one too many.
/// What else is wrong the program finds itself.
fn usage_code(error: &clap::Error) -> u8 {
    let is_refused_by_argp = match error.kind() {
        ErrorKind::ArgumentConflict | ErrorKind::MissingRequiredArgument | ErrorKind::ValueValidation => false,
        ErrorKind::InvalidValue => {
            matches!(error.get(ContextKind::InvalidValue), Some(ContextValue::String(value)) if value.is_empty())
        }
        _ => true,
    };
    if is_refused_by_argp { 64 } else { 2 }
}

/// COMPAT: what GNU tar says where it is not clear what to do.
fn usage_words(error: &clap::Error) -> Option<&'static str> {
    let is_of_operations = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => is_operation(text),
        Some(ContextValue::Strings(texts)) => texts.iter().all(|text| is_operation(text)),
        _ => false,
    };
    match error.kind() {
        ErrorKind::MissingRequiredArgument if is_of_operations(ContextKind::InvalidArg) => {
            Some("You must specify one of the '-Acdtrux', '--delete' or '--test-label' options")
        }
        ErrorKind::ArgumentConflict
            if is_of_operations(ContextKind::InvalidArg) && is_of_operations(ContextKind::PriorArg) =>
        {
            Some("You may not specify more than one '-Acdtrux', '--delete' or  '--test-label' option")
        }
        _ => None,
    }
}

/// Whether it names an operation, or all of them: `--extract`, `<--create|--extract>`.
fn is_operation(argument: &str) -> bool {
    const OPERATIONS: [&str; 10] = [
        "--create",
        "--extract",
        "--list",
        "--append",
        "--update",
        "--diff",
        "--concatenate",
        "--delete",
        "--test-label",
        "--show-defaults",
    ];
    let mut names = argument.trim_matches(['<', '>']).split('|');
    names.all(|name| OPERATIONS.contains(&name))
}

fn command() -> Command {
    // COMPAT: -j, -T, -p and -h are tar's own here.
    let hands = |_| {
        Arg::new("hands")
            .long("hands")
            .value_name("N")
            .value_parser(mh_kit::shared_args::parse_hands)
            .help_heading("Cores and memory")
            .help("Use at most N cores (default, and 0: all that this process may use)")
    };
    let command = TarArgs::augment_args(Command::new("tar").disable_help_flag(true).disable_version_flag(true));
    command
        .mut_arg("hands", hands)
        .args_override_self(true)
        .infer_long_args(true)
        .version(env!("CARGO_PKG_VERSION"))
        .after_help(
            "Examples:\n  mh tar xf linux.tar.xz -C /usr/src     unpack and extract on all cores\n  \
         mh tar cf home.tar.zst --zstd home     the same bytes for any number of cores\n  \
         mh tar tvf home.tar.zst                what is in it\n  \
         mh tar xf strange.tar --untrusted      what strangers made",
        )
}

fn usage(message: String) -> Failure {
    Failure::Usage { command: NAME, message }
}

fn run(context: &mut Context, matches: &ArgMatches) -> Result<Outcome, Failure> {
    let outcome = carry_out(context, matches);
    messages::end(context, outcome)
}

fn carry_out(context: &mut Context, matches: &ArgMatches) -> Result<Outcome, Failure> {
    let mut args = TarArgs::from_arg_matches(matches).map_err(Failure::CommandLine)?;
    if args.operation.show_defaults {
        return defaults::show();
    }
    args.shared.settle(&context.settings.crew);
    // COMPAT: the archive of GNU tar where no -f names one.
    if args.file.is_empty()
        && let Some(tape) = variable("TAPE").filter(|tape| !tape.is_empty())
    {
        args.file.push(tape.into());
    }
    incremental::refuse(&args)?;
    volumes::refuse(&args)?;
    let reads = args.operation.list || args.operation.extract || args.operation.diff;
    let is_stdin = args.archive().is_none_or(|path| path == Path::new("-"));
    if reads && is_stdin && context.terminals.stdin && !args.shared.explain {
        let theirs = "Refusing to read archive contents from terminal (missing -f option?)";
        return Err(messages::usage(theirs, "an archive is not read from a terminal: -f names one"));
    }
    args.metadata.no_same_owner |= args.metadata.old;
    if args.operation.create && args.archive().is_some_and(destination::is_stdout) {
        args.file.clear();
    }
    checkpoints::hold_signals(&args)?;
    let signals = context.hold_signals().map_err(signal_failure)?;
    args.selection = TypedSelection::of(matches)?;
    for list in &args.selection.lists_with_nul {
        let theirs = format!("{}: file name read contains nul character", list.display());
        let ours = format!("names in {} end in NUL bytes (--null says so)", terminal::quote(list));
        warnings::warn(context, &args, "filename-with-nuls", (&theirs, &ours));
    }
    for (list, by) in &args.selection.lists_again {
        let (list, by) = (list.display(), by.display());
        let theirs = format!("{list}: file list requested from {by} already read from command line");
        messages::failed(context, &theirs, &format!("read the list {list} again: {by}, which it names, names it"));
    }
    if args.packing.use_compress_program.is_none() {
        args.packing.use_compress_program = packer::instead_of_codec(&args).map(str::to_owned);
    }
    args.quoting = words::Quoting::new(&args.telling);
    args.is_small = small::is_small(&args);
    if !args.is_small {
        signals.attend().map_err(signal_failure)?;
    }
    args.progress.print_at_signals(context, &args)?;
    sys::allocator::keep_large_buffers_apart();
    refuse_pointless(&args)?;
    if args.dry_run && !args.operation.extract {
        return Err(usage("--dry-run goes with -x; -cvf /dev/null prints what would be archived".to_owned()));
    }
    label::check(context, &args)?;
    let outcome = operate(context, &args, matches)?;
    Ok(if args.selection.lists_again.is_empty() { outcome } else { FAILED })
}

/// What was asked for.
fn operate(context: &mut Context, args: &TarArgs, matches: &ArgMatches) -> Result<Outcome, Failure> {
    match () {
        () if args.operation.test_label => label::test(context, args),
        () if args.operation.list || args.dry_run => list::run(context, args),
        () if args.operation.extract => extract::run(context, args),
        () if args.operation.diff => compare::run(context, args),
        () if args.operation.create || args.operation.append || args.operation.update => {
            create::run(context, args, matches)
        }
        () if args.operation.concatenate => edit::concatenate(context, args),
        () => edit::delete(context, args),
    }
}

/// Options that say nothing beside others. COMPAT: those that GNU tar refuses.
fn refuse_pointless(args: &TarArgs) -> Result<(), Failure> {
    let operation = &args.operation;
    let writes = operation.create || operation.append || operation.update || operation.concatenate;
    if args.metadata.clamp_mtime && args.metadata.mtime.is_none() {
        return Err(usage("--clamp-mtime needs a date specified using --mtime".to_owned()));
    }
    if args.writing.verify && !writes {
        return Err(messages::usage(
            &format!("'--verify' cannot be used with '{}'", operation.letter()),
            "--verify is for archives that are made",
        ));
    }
    refuse_other_machines(args)?;
    match args.occurrence {
        Some(_) if writes => Err(messages::usage(
            &format!("'--occurrence' cannot be used with '{}'", operation.letter()),
            "--occurrence is for archives that are read, and for --delete",
        )),
        Some(_) if args.selection.names().is_empty() => {
            Err(usage("--occurrence is meaningless without a file list".to_owned()))
        }
        _ => Ok(()),
    }
}

/// COMPAT: what stands in front of a colon is a machine, unless there is a slash in it, or `--force-local`.
fn refuse_other_machines(args: &TarArgs) -> Result<(), Failure> {
    let is_elsewhere = |path: &&PathBuf| {
        let name = path.as_os_str().as_bytes();
        name.iter().position(|&byte| byte == b':').is_some_and(|colon| colon > 0 && !name[..colon].contains(&b'/'))
    };
    match args.file.iter().find(is_elsewhere).filter(|_| !args.habits.force_local) {
        None => Ok(()),
        Some(path) => {
            let shown = terminal::quote(path);
            let why =
                "it is on another machine: ssh HOST cat FILE | tar x reads it; --force-local takes the name as it is";
            let ours = Failure::Environment { command: NAME, message: format!("open {shown}: {why}") };
            let theirs = format!("{}: Cannot open: {why}\nError is not recoverable: exiting now", path.display());
            Err(Failure::ByName { ours: Box::new(ours), theirs })
        }
    }
}

/// What `-T` or `-X` names: a file, or standard input.
fn read_list(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = match path.as_os_str() == "-" {
        true => io::stdin().read_to_end(&mut bytes),
        false => File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)),
    };
    read.map_err(|error| could_not("read", path.as_os_str(), &error))?;
    Ok(bytes)
}

/// Hands that a run may use at most.
fn width(context: &Context, args: &TarArgs) -> usize {
    if args.is_serial() {
        return 1;
    }
    let wanted = args.shared.hands_asked().unwrap_or_else(|| context.machine.hands_allowed());
    wanted.min(hands_for_descriptors()).max(1)
}

/// The workers of a part of a run.
struct Workers {
    most: usize,
    /// Those that share a hand, since they wait.
    a_hand: usize,
    /// How many, in words, and why.
    shown: String,
    why: String,
}

impl Workers {
    /// For the report.
    fn sentence(&self) -> String {
        width::sentence(&self.shown, &self.why)
    }

    /// Hands for as many workers.
    fn hands(&self, workers: usize) -> usize {
        workers.div_ceil(self.a_hand)
    }

    /// A part of `lease` for them.
    fn share_of<'a>(&self, lease: &'a dyn Lease) -> Box<dyn Lease + 'a> {
        let share = Box::new(LeaseShare::of(lease));
        if self.a_hand > 1 { Box::new(Waiting::on(share, self.a_hand)) } else { share }
    }
}

/// As many as there may be hands.
fn workers(context: &Context, args: &TarArgs) -> Workers {
    let most = width(context, args);
    let why = match args.shared.hands_asked() {
        _ if args.telling.interactive => "--interactive asks before each file".to_owned(),
        Some(_) => "--hands".to_owned(),
        None if args.is_small => "too short for a second hand to help".to_owned(),
        None => format!("{} allowed CPUs", context.machine.hands_allowed()),
    };
    Workers { most, a_hand: 1, shown: counted(most as u64, "hand"), why }
}

/// Those that read or make files at `paths`.
fn workers_on(context: &Context, args: &TarArgs, paths: &[PathBuf]) -> Workers {
    match bound(context, args, paths) {
        None => workers(context, args),
        Some(bound) => {
            let bound = bound.with_workers(bound.workers.min(hands_for_descriptors()));
            Workers { most: bound.workers, a_hand: bound.workers_a_hand, shown: bound.shown(), why: bound.why }
        }
    }
}

fn bound(context: &Context, args: &TarArgs, paths: &[PathBuf]) -> Option<Bound> {
    let paths = paths.iter().map(|path| path.as_os_str().as_bytes());
    if args.is_serial() {
        None
    } else {
        width::bound(&context.host, args.shared.hands_asked(), || context.machine.hands_allowed(), paths)
    }
}

/// How a pipeline of this run works.
fn mode(args: &TarArgs) -> Executor {
    if args.is_serial() { Executor::SingleCore } else { Executor::Threaded }
}

/// Signs the run up.
fn lease(context: &Context, args: &TarArgs, width: usize, what: &str) -> (Shared, Box<dyn Lease>) {
    let priority = args.shared.priority();
    let steps = priority.nicer_by();
    if steps > 0
        && let Err(error) = sys::scheduling::be_nicer(steps)
    {
        context.messages.warning(&context.program, &format!("could not lower its priority: {error}"), &[]);
    }
    // Nobody waits for one who waits for answers, and a decoder works beside the one thread.
    let width = if args.telling.interactive { 2 } else { width };
    let shared =
        if args.is_serial() { Shared::alone(width) } else { sharing::budget(context, width, priority.class()) };
    let lease = shared.budget.lease(Request {
        priority: priority.class(),
        weight: args.shared.weight(),
        useful_width: width,
        what: format!("tar: {what}"),
    });
    (shared, lease)
}

/// Goes where `-C` says, directory after directory, as `cd` would.
fn enter_directories(args: &TarArgs) -> Result<(), Failure> {
    args.selection.steps.iter().try_for_each(|step| match step {
        SelectionStep::Enter(directory) => selection::enter(directory),
        SelectionStep::Name(_) => Ok(()),
    })
}
