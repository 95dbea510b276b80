//! What `mh xjobs` will do, decided before anything is done, each choice with its reason.
//! Opens the list, since its kind decides; reads nothing from it but its number of lines.

use super::inputs::{self, Input, List};
use super::{Called, NAME, XjobsArgs, explain};
use crew::plan::Plan;
use jobs::classes::Classes;
use jobs::halt::Halt;
use jobs::joblog::{self, Commands, ExistingLog, Joblog};
use jobs::journal::{Journal, JournalDone, Resume};
use jobs::results::ResultLayout;
use jobs::run::{Asking, Discarded, EndStep, Errors, MemoryRule, OutputManner, OutputOrder, RunOptions, TimeLimit};
use jobs::template::{Shell, Template};
use mh_kit::context::{Context, temporary_folder, variable};
use mh_kit::failure::{Failure, with_causes};
use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use terminal::quote;

/// LIMIT: more jobs at once than this are a typing mistake; each costs descriptors and a process.
pub const WIDTH_MAX: usize = 4096;

/// Everything that `run` needs.
pub struct Job {
    pub plan: Plan,
    pub options: RunOptions,
    /// Taken when the run begins.
    pub source: Option<Input>,
    /// Jobs in the list, where that is known.
    pub total: Option<u64>,
    /// What faults of the list are told with.
    pub list_name: String,
    pub called: Called,
}

/// Makes the plan.
pub fn plan(context: &Context, args: &XjobsArgs, called: Called) -> Result<Job, Failure> {
    let mut words = inputs::words(args, called)?;
    let (syntax, why_syntax) = inputs::syntax(args, &words.template, called);
    let (width, why_width) = width(context, args)?;
    let list = inputs::open(args, &mut words, syntax.clone())?;
    if args.ask {
        let failure = |error: std::io::Error| Failure::Environment {
            command: NAME,
            message: format!("ask on the terminal (-p): {}", with_causes(&error)),
        };
        super::ask::can_be_asked().map_err(failure)?;
    }
    let options = RunOptions {
        width,
        hands: width,
        slots: None,
        // A block that waits is held in memory.
        queue_max: if args.parallel.pipe { 1 } else { args.queue },
        template: words.template,
        defaults: words.defaults,
        output: output(args),
        order: if args.keep_order { OutputOrder::AsListed } else { OutputOrder::AsEnded },
        tag: tag(args),
        // COMPAT: xjobs puts errors of jobs among their output.
        errors: if called == Called::OldName { Errors::WithOutput } else { Errors::Apart },
        spill_directory: temporary_folder(),
        // COMPAT: none at all, as GNU parallel has it.
        timeout: args.timeout.filter(|limit| *limit != TimeLimit::Fixed(Duration::ZERO)),
        ending: ending(&args.term_seq)?,
        retries: retries(args),
        delay: args.delay.unwrap_or_default(),
        load_max: load(context, args)?,
        memory_free_bytes: args.memfree,
        memory: memory(context, args)?,
        halt: halt(args),
        asking: if args.ask { Asking::Always } else { Asking::Never },
        path: variable("PATH")
            .map_or_else(|| b"/usr/local/bin:/usr/bin:/bin".to_vec(), |path| path.as_bytes().to_vec()),
        // One that has been removed has no name: nobody can come back to it.
        directory: std::env::current_dir().unwrap_or_default(),
        environment: inputs::environment(),
    };
    let List { source, name, is_server, total } = list;
    let facts = explain::Facts { why_width, syntax: &syntax, why_syntax, list_name: &name, is_server, total };
    let plan = explain::plan(args, &options, &facts);
    Ok(Job { plan, options, source: Some(source), total, list_name: name, called })
}

/// A command line that does not go together.
pub fn usage(message: impl Into<String>) -> Failure {
    Failure::Usage { command: NAME, message: message.into() }
}

fn width(context: &Context, args: &XjobsArgs) -> Result<(usize, String), Failure> {
    let allowed = context.machine.hands_allowed();
    let Some(text) = args.jobs.as_deref().filter(|text| *text != "0") else {
        return Ok((allowed, format!("{allowed} allowed CPUs")));
    };
    let refused = || usage(format!("-j {text} is not a number from 0 to {WIDTH_MAX}, 2.5x or 150%"));
    let factor = |number: &str| number.parse().ok().filter(|factor: &f64| factor.is_finite() && *factor > 0.0);
    let (asked, why) = match (text.strip_suffix(['x', 'X']), text.strip_suffix('%')) {
        (Some(number), _) => {
            let factor = factor(number.trim_end()).ok_or_else(refused)?;
            (rounded_up(allowed as f64 * factor), format!("-j {text} of {allowed} allowed CPUs"))
        }
        (_, Some(number)) => {
            let share = factor(number).ok_or_else(refused)?;
            ((allowed as f64 * share / 100.0) as usize, format!("-j {text} of {allowed} allowed CPUs"))
        }
        _ if text.starts_with(['+', '-']) => {
            let more: isize = text.parse().ok().ok_or_else(refused)?;
            (allowed.saturating_add_signed(more), format!("-j {text} to {allowed} allowed CPUs"))
        }
        _ => {
            let number = text.parse::<usize>().ok().or_else(|| factor(text).map(rounded_up));
            (number.ok_or_else(refused)?, "-j".to_owned())
        }
    };
    if asked > WIDTH_MAX { Err(refused()) } else { Ok((asked.max(1), why)) }
}

/// COMPAT: GNU parallel counts the first run, and 0 is without end.
fn retries(args: &XjobsArgs) -> u32 {
    args.retries.map_or(0, |runs| runs.checked_sub(1).unwrap_or(u32::MAX))
}

/// COMPAT: xjobs rounds up. What is above a whole number by less than products of decimals err is that number.
fn rounded_up(number: f64) -> usize {
    (number - 1e-9).ceil() as usize
}

fn load(context: &Context, args: &XjobsArgs) -> Result<Option<f64>, Failure> {
    let Some(text) = &args.load else { return Ok(None) };
    let cores = context.machine.allowed_cpus as f64;
    let number = match text.strip_suffix('%') {
        Some(share) => share.parse().ok().map(|share: f64| share * cores / 100.0),
        None => text.parse().ok(),
    };
    match number.filter(|number: &f64| number.is_finite() && *number > 0.0) {
        Some(number) => Ok(Some(number)),
        None => Err(usage(format!("--load {text} is not a number or a share"))),
    }
}

/// Most of what is available: a part is left for the machine, the runner and what jobs write into the page cache.
const MEMORY_SHARE: f64 = 7.0 / 8.0;

fn memory(context: &Context, args: &XjobsArgs) -> Result<MemoryRule, Failure> {
    let available = context.machine.memory_budget_bytes() as f64 * MEMORY_SHARE;
    let classes = match &args.journal {
        Some(path) => Classes::learn(path).map_err(|error| journal_failure("read", path, &error))?,
        None => Classes::default(),
    };
    Ok(MemoryRule { cap_bytes: args.memory.unwrap_or(available as u64), classes })
}

fn journal_failure(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::Environment {
        command: NAME,
        message: format!("{what} the journal {}: {}", quote(path), with_causes(error)),
    }
}

fn output(args: &XjobsArgs) -> OutputManner {
    let discarded = match () {
        () if args.discard_all => Some(Discarded::OutputAndErrors),
        () if args.discard_output => Some(Discarded::Output),
        () => None,
    };
    match (&args.results, discarded) {
        (Some(name), _) => OutputManner::Files(layout(name)),
        (None, Some(discarded)) => OutputManner::Discarded(discarded),
        (None, None) if args.ungroup => OutputManner::Direct,
        (None, None) if args.line_buffer => OutputManner::Lines,
        (None, None) => OutputManner::Whole,
    }
}

/// COMPAT: with placeholders it is a name, else a folder.
fn layout(name: &OsStr) -> ResultLayout {
    let template = Template::with_placeholders(&[name.as_bytes().to_vec()], b"{}", Shell::None);
    if template.has_placeholders() {
        ResultLayout::Name(template)
    } else {
        ResultLayout::Directory(PathBuf::from(name))
    }
}

fn tag(args: &XjobsArgs) -> Option<Template> {
    match &args.parallel.tagstring {
        Some(text) => Some(Template::constant_unless_filled(text.as_bytes())),
        None => args.tag.then(|| Template::appending(&[], Shell::None)),
    }
}

fn halt(args: &XjobsArgs) -> Option<Halt> {
    let on_error = || "soon,fail=1".parse().expect("it is a rule");
    args.halt.or_else(|| args.end_on_error.then(on_error))
}

/// `TERM,200,KILL,25`: signals, and milliseconds behind each.
fn ending(text: &str) -> Result<Vec<EndStep>, Failure> {
    let refused = || usage(format!("--term-seq {text} is not signals with milliseconds between them"));
    let mut steps: Vec<EndStep> = Vec::new();
    for part in text.split(',') {
        match (part.parse::<u64>(), steps.last_mut()) {
            (Ok(milliseconds), Some(step)) => step.wait = Duration::from_millis(milliseconds),
            _ => steps.push(EndStep { signal: signal_number(part).ok_or_else(refused)?, wait: Duration::ZERO }),
        }
    }
    if steps.is_empty() { Err(refused()) } else { Ok(steps) }
}

fn signal_number(name: &str) -> Option<i32> {
    use sys::signals::number;
    match name.trim_start_matches("SIG") {
        "TERM" => Some(number::SIGTERM),
        "KILL" => Some(number::SIGKILL),
        "INT" => Some(number::SIGINT),
        "HUP" => Some(number::SIGHUP),
        "QUIT" => Some(number::SIGQUIT),
        "USR1" => Some(number::SIGUSR1),
        "USR2" => Some(number::SIGUSR2),
        _ => None,
    }
}

/// A job takes a handful of descriptors. Jobs inherit the limit, so it is raised only where the width needs it.
pub fn allow_descriptors(context: &Context, job: &Job) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let needed = job.options.width as u64 * 8 + 600;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return;
    }
    let wanted = limit.maximum.map_or(needed, |maximum| needed.min(maximum));
    if setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum }).is_err() {
        context.messages.warning(
            NAME,
            "could not raise the limit of open files; jobs may have to wait for each other",
            &[],
        );
    }
}

/// What is written about jobs, and what an earlier run has done.
pub struct Books {
    pub journal: Option<Journal>,
    pub joblog: Option<Joblog>,
    pub done: Option<JournalDone>,
}

/// Opens journal and job log. What has been done is read from the journal, which knows more, else from the log.
pub fn open_books(context: &Context, args: &XjobsArgs, template: &Template) -> Result<Books, Failure> {
    let resume = match (args.resume, args.resume_failed) {
        (true, _) => Some(Resume::Ended),
        (_, true) => Some(Resume::Succeeded),
        _ => None,
    };
    let failure = |what: &str, path: &Path, error: &std::io::Error| Failure::Environment {
        command: NAME,
        message: format!("{what} {}: {}", quote(path), with_causes(error)),
    };
    let opening_failure = |what: &str, path: &Path, error: &std::io::Error| match error.kind() {
        std::io::ErrorKind::WouldBlock => Failure::Environment {
            command: NAME,
            message: format!("{what} {}: {}", quote(path), in_use(context, path)),
        },
        _ => failure(what, path, error),
    };
    // Opened before they are read: nobody else adds to them from now on.
    let journal = args
        .journal
        .as_deref()
        .map(|path| Journal::open(path).map_err(|error| opening_failure("open the journal", path, &error)))
        .transpose()?;
    let log = args.parallel.joblog.as_ref().map(|name| log_path(name, resume));
    let joblog = log.as_ref().map(|(path, opening)| {
        Joblog::open(path, *opening).map_err(|error| opening_failure("open the job log", path, &error))
    });
    let joblog = joblog.transpose()?;
    let done = match (resume, &args.journal, &log) {
        (None, ..) => None,
        (Some(resume), Some(path), _) => {
            Some(JournalDone::read(path, resume).map_err(|error| failure("read the journal", path, &error))?)
        }
        (Some(_), None, Some(_)) if template.names_slot() => {
            return Err(usage("--resume by --joblog cannot know jobs with {%} in their commands; by --journal it can"));
        }
        (Some(resume), None, Some((path, _))) => {
            let commands = if template.is_for_shell() { Commands::ForShell } else { Commands::Words };
            Some(joblog::read(path, resume, commands).map_err(|error| failure("read the job log", path, &error))?)
        }
        (Some(_), None, None) => return Err(usage("--resume needs --journal or --joblog")),
    };
    if let Some(done) = done.as_ref().filter(|done| done.lines_unread > 0) {
        let count = mh_kit::report::counted(done.lines_unread, "line");
        let book = if args.journal.is_some() { "journal" } else { "job log" };
        let message = format!("{count} of the {book} could not be read: an earlier run was cut off");
        context.messages.warning(NAME, &message, &[]);
    }
    Ok(Books { journal, joblog, done })
}

/// Who adds to a journal or log, as far as this can be seen.
fn in_use(context: &Context, path: &Path) -> String {
    use std::os::unix::fs::MetadataExt;
    let holder = std::fs::metadata(path).ok().and_then(|file| {
        let device = machine::DeviceNumber::of(file.dev());
        machine::lock_holder(&context.host, device, file.ino()).ok().flatten()
    });
    let name = holder.and_then(|pid| machine::process_name(&context.host, pid).ok().flatten());
    match (holder, name) {
        (Some(pid), Some(name)) => format!("process {pid} ({name}) adds to it"),
        (Some(pid), None) => format!("process {pid} adds to it"),
        (None, _) => "another run adds to it".to_owned(),
    }
}

/// COMPAT: a log begins anew, unless its name begins with + or the run resumes.
fn log_path(name: &OsStr, resume: Option<Resume>) -> (PathBuf, ExistingLog) {
    match name.as_bytes().strip_prefix(b"+") {
        Some(name) => (PathBuf::from(OsStr::from_bytes(name)), ExistingLog::Append),
        None if resume.is_some() => (PathBuf::from(name), ExistingLog::Append),
        None => (PathBuf::from(name), ExistingLog::Replace),
    }
}

/// Standard output and error, for the engine.
pub fn own_streams() -> Result<[Arc<OwnedFd>; 2], Failure> {
    let copy = |stream: std::os::fd::BorrowedFd<'_>| {
        rustix::io::fcntl_dupfd_cloexec(stream, 3).map(Arc::new).map_err(|error| Failure::Environment {
            command: NAME,
            message: format!("use its own output: {}", with_causes(&std::io::Error::from(error))),
        })
    };
    Ok([copy(std::io::stdout().as_fd())?, copy(std::io::stderr().as_fd())?])
}
