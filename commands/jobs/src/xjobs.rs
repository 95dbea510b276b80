//! `mh xjobs`: run the jobs of a list, N at once.
//! Does not start, watch or end programs (engines/jobs). Reading order: XjobsArgs -> plan -> run -> show.
//! Under the old name, xjobs, it has that program's words and prints what it prints (`old_name`).

mod ask;
mod begin;
mod dry_run;
mod explain;
mod inputs;
mod more_args;
mod nodes;
mod old_name;
mod pipe_words;
mod plan;
mod progress;
mod report;
mod send;
mod slots;
mod teller;

use crate::job_slots::SlotStyle;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use crew::budget::Request;
use jobs::columns::Columns;
use jobs::halt::Halt;
use jobs::run::{FinishedRun, JobTally, RunSurroundings, TimeLimit, run as run_jobs};
use mh_kit::context::Context;
use mh_kit::entry::{Entry, Group, OldNames, Signals};
use mh_kit::failure::{Failure, Outcome, with_causes};
use mh_kit::shared_args::{PriorityArg, ReportFormat, StandingArgs, parse_size, with_help};
use mh_kit::sharing;
use more_args::{ParallelArgs, ServerArgs};
use nodes::NodeArgs;
use plan::Job;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use teller::JobTeller;

pub use inputs::environment;

/// How messages begin.
const NAME: &str = "mh xjobs";

/// The registry's line.
pub const ENTRY: Entry = Entry {
    rewrite: pipe_words::rewrite,
    old_names: OldNames { names: &["xjobs"], run: run_old_name },
    ..Entry::new("xjobs", Group::Do, Signals::Own, command, |context, matches| run(context, matches, Called::Mh))
};

/// By which name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Called {
    /// `mh xjobs`.
    Mh,
    /// `xjobs`, through a link.
    OldName,
}

/// Run the jobs of a list, N at once
///
/// Each line of standard input, or of -s FILE, is a job: UTILITY with the line's words behind its arguments, or the line's
/// own program. Lines are xjobs' (quotes, comments, < > >> redirections, cd DIR;, %% as a barrier) or JSON records. No shell
/// is involved unless --shell asks for one.
#[derive(Args, Debug)]
pub struct XjobsArgs {
    /// Program and arguments for all jobs; {} {.} {/} {//} {/.} {1} {#} {%} are filled in, ::: brings values instead of lines
    #[arg(value_name = "UTILITY", trailing_var_arg = true)]
    pub utility: Vec<OsString>,

    /// Run N jobs at once (default: the cores this process may use); 2.5x and 150% are multiples, +1 and -1 more and fewer
    #[arg(
        short = 'j',
        visible_short_alias = 'P',
        long = "jobs",
        visible_aliases = ["hands", "max-procs"],
        value_name = "N",
        allow_hyphen_values = true
    )]
    pub jobs: Option<String>,

    /// Read jobs from FILE; a named pipe makes a server that any number of programs feed
    #[arg(short = 's', visible_short_alias = 'a', long = "script", visible_alias = "arg-file", value_name = "FILE")]
    pub script: Option<PathBuf>,

    /// Make one job of N lines (with --pipe: one block of N records, and so do -N N and -n N)
    #[arg(short = 'l', long = "max-args", visible_alias = "max-replace-args", value_name = "N", value_parser = parse_count, hide_short_help = true)]
    pub lines: Option<usize>,

    /// Each line is one argument, as it is
    #[arg(short = '1', conflicts_with = "null")]
    pub raw: bool,

    /// The same, ended by NUL instead of line ends
    #[arg(short = '0', long)]
    pub null: bool,

    /// Discard standard output of jobs
    #[arg(short = 'n')]
    pub discard_output: bool,

    /// Discard standard output and standard error of jobs
    #[arg(short = 'N', hide_short_help = true)]
    pub discard_all: bool,

    /// Jobs write directly, mixed as it comes
    #[arg(short = 'u', visible_short_alias = 'd', long = "ungroup", hide_short_help = true)]
    pub ungroup: bool,

    /// Read at most N jobs ahead
    #[arg(short = 'q', value_name = "N", default_value_t = 1000, value_parser = parse_count, hide_short_help = true)]
    pub queue: usize,

    /// Ask before each job, on the terminal
    #[arg(short = 'p', long = "interactive", hide_short_help = true)]
    pub ask: bool,

    /// Stop when a job fails, as --halt soon,fail=1
    #[arg(short = 'e', conflicts_with = "halt", hide_short_help = true)]
    pub end_on_error: bool,

    /// Print the number of jobs and the total time at the end
    #[arg(short = 't', hide_short_help = true)]
    pub total_time: bool,

    /// Leave out resource usage when the end of each job is printed (-v 3)
    #[arg(short = 'r', hide_short_help = true)]
    pub no_usage: bool,

    /// Verbosity: 0 nothing, 1 errors, 2 warnings, 3 each start and end, 4 details
    #[arg(short = 'v', value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=4), hide_short_help = true)]
    pub verbosity: Option<u8>,

    /// Print the version
    #[arg(short = 'V', long, action = clap::ArgAction::Version, hide_short_help = true)]
    pub version: Option<bool>,

    /// Pass outputs on in the order of the list
    #[arg(short = 'k', long = "keep-order")]
    pub keep_order: bool,

    /// Pass outputs on line by line, as they come; with -k those of one job at a time, in the order of the list
    #[arg(long, visible_alias = "lb", conflicts_with = "ungroup", hide_short_help = true)]
    pub line_buffer: bool,

    /// Prefix each line of output with the command of its job
    #[arg(long, conflicts_with = "ungroup", hide_short_help = true)]
    pub tag: bool,

    /// Keep outputs in DIR/1/VALUE/stdout and stderr, and print none (with placeholders: in NAME and NAME.err)
    #[arg(long, visible_alias = "res", value_name = "DIR", conflicts_with_all = ["tag", "line_buffer", "ungroup"], hide_short_help = true)]
    pub results: Option<OsString>,

    /// Append a JSON line about each job to FILE
    #[arg(long, value_name = "FILE")]
    pub journal: Option<PathBuf>,

    /// Leave out jobs that have ended by the journal (or --joblog), whatever their place in the list
    #[arg(long)]
    pub resume: bool,

    /// The same, but run those again that failed
    #[arg(long, conflicts_with = "resume", hide_short_help = true)]
    pub resume_failed: bool,

    /// Run a job that fails again, N times in all at most (0: until it succeeds); in a record, "retries" are those after the first
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub retries: Option<u32>,

    /// End jobs that take longer (90, 1.5m, 2h; 300% is of the median so far)
    #[arg(long, value_name = "TIME", value_parser = parse_limit)]
    pub timeout: Option<TimeLimit>,

    /// How jobs are ended: signals and milliseconds between them
    #[arg(long, value_name = "SEQUENCE", default_value = "TERM,200,TERM,100,TERM,50,KILL,25", hide_short_help = true)]
    pub term_seq: String,

    /// Stop early: now or soon, then fail, success or done, then =N or =N%
    #[arg(long, visible_alias = "halt-on-error", value_name = "RULE", hide_short_help = true)]
    pub halt: Option<Halt>,

    /// Time between two starts
    #[arg(long, value_name = "TIME", value_parser = parse_time, hide_short_help = true)]
    pub delay: Option<Duration>,

    /// Start jobs only while fewer than N threads can run on the machine; 80% is of the cores
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub load: Option<String>,

    /// Start jobs only while their expected memory fits into SIZE (default: most of the available memory)
    #[arg(long, value_name = "SIZE", value_parser = parse_size, hide_short_help = true)]
    pub memory: Option<u64>,

    /// Start jobs only while SIZE of memory is available
    #[arg(long, visible_alias = "mem-free", value_name = "SIZE", value_parser = parse_size, hide_short_help = true)]
    pub memfree: Option<u64>,

    /// A shell runs the jobs; values reach it as parameters and are never read as commands
    #[arg(long, hide_short_help = true)]
    pub shell: bool,

    /// Use TEXT in place of {}
    #[arg(short = 'I', value_name = "TEXT", hide_short_help = true)]
    pub replace: Option<OsString>,

    /// Split lines into arguments at matches of REGEXP and strip blanks; {1}, {2} are the parts
    #[arg(short = 'C', long, visible_alias = "col-sep", value_name = "REGEXP", value_parser = parse_columns, allow_hyphen_values = true, hide_short_help = true)]
    pub colsep: Option<Columns>,

    /// Put as many lines into one job as a command line holds
    #[arg(short = 'X', hide_short_help = true)]
    pub fill: bool,

    /// Show one line of progress on a terminal, without the jobs that run
    #[arg(
        long,
        visible_aliases = ["eta", "progress"],
        overrides_with = "bar",
        conflicts_with = "plain",
        hide_short_help = true
    )]
    pub bar: bool,

    /// Show no progress on a terminal
    #[arg(long, hide_short_help = true)]
    pub plain: bool,

    /// Print the commands and run none
    #[arg(long)]
    pub dry_run: bool,

    #[command(flatten)]
    pub nodes: NodeArgs,

    #[command(flatten)]
    pub server: ServerArgs,

    #[command(flatten)]
    pub parallel: ParallelArgs,

    #[command(flatten)]
    pub standing: StandingArgs,

    /// How make, ninja and cargo in jobs get the cores that no job needs: two descriptors, a named pipe (make from 4.4 on), or not
    #[arg(long, value_enum, default_value = "fds", value_name = "HOW", hide_short_help = true)]
    pub jobserver: SlotStyle,

    /// Print the plan with its reasons and do nothing
    #[arg(long)]
    pub explain: bool,

    /// After the run, print its limit and the gain of one more core
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, require_equals = true, default_missing_value = "text")]
    pub report: Option<ReportFormat>,
}

fn parse_count(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&count| count > 0).ok_or_else(|| "a number from 1 on is needed".to_owned())
}

fn parse_columns(text: &str) -> Result<Columns, String> {
    Columns::parse(text).map_err(|error| error.to_string())
}

/// A time as typed: `90`, `1.5m`, `2h`.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    terminal::parse_duration(text).ok().ok_or_else(|| "a time is needed: 90, 1.5m, 2h".to_owned())
}

fn parse_limit(text: &str) -> Result<TimeLimit, String> {
    let Some(share) = text.strip_suffix('%') else { return parse_time(text).map(TimeLimit::Fixed) };
    let factor = share.parse().ok().filter(|share: &f64| share.is_finite() && *share > 0.0).map(|share| share / 100.0);
    factor.map(TimeLimit::OfMedian).ok_or_else(|| "a share is needed: 300%".to_owned())
}

fn command() -> Command {
    let command = more_args::with_refused(XjobsArgs::augment_args(Command::new("xjobs")));
    with_help(command, "weight", "Share among runs of the same class; 100 is usual")
        .version(env!("CARGO_PKG_VERSION"))
        .disable_version_flag(true)
        .after_help(
            "Examples:\n  ls *.zip | mh xjobs -1 unzip                   unpack all, on all cores; -1: a line is one name\n  \
         mh xjobs -s jobs --journal log --resume        a list, from where it was left\n  \
         mh xjobs -k flac -s {} -o {/.}.flac ::: *.wav  values instead of lines, output in order\n  \
         find . -name '*.log' -print0 | mh xjobs -0 --shell 'gzip -c {} > {}.gz'",
        )
}

/// Under the old name.
fn run_old_name(_name: &str, words: Vec<OsString>) -> Result<Outcome, Failure> {
    // Options end at the utility: xjobs itself reads its own behind it too, so that `xjobs gzip -v0` would not be gzip's -v0.
    let typed = [OsString::from("xjobs")].into_iter().chain(words.iter().cloned());
    let mut command = command().bin_name("xjobs");
    let matches = command.try_get_matches_from_mut(typed).map_err(|error| match error.use_stderr() {
        true => Failure::refused(&command, "xjobs", &words, &error),
        false => Failure::CommandLine(error),
    })?;
    let mut context = Context::with_own_signals()?;
    run(&mut context, &matches, Called::OldName)
}

fn run(context: &mut Context, matches: &ArgMatches, called: Called) -> Result<Outcome, Failure> {
    more_args::refuse(matches)?;
    let mut args = XjobsArgs::from_arg_matches(matches).map_err(Failure::CommandLine)?;
    args.standing.settle(&context.settings.crew);
    if called == Called::OldName {
        be_as_old_name(&mut args, matches);
    }
    if let Some(path) = &args.server.send {
        return send::send(path, &args.server, &args.utility);
    }
    if let Some(spool) = args.nodes.worker.clone() {
        return nodes::work(context, &args.nodes, &spool);
    }
    if let Some(spool) = args.nodes.attach.clone() {
        return nodes::attach(context, &args, &spool);
    }
    if args.nodes.on.is_some() {
        return nodes::submit(context, args, called);
    }
    let job = plan::plan(context, &args, called)?;
    here(context, &args, job)
}

/// Runs a list on this machine, or shows what would be done.
fn here(context: &mut Context, args: &XjobsArgs, job: Job) -> Result<Outcome, Failure> {
    if args.explain {
        mh_kit::report::show_plan(context, &job.plan, args.report)?;
        return Ok(Outcome::Done);
    }
    let is_to_come = args.nodes.on.is_none();
    if is_to_come && job.list_name == inputs::STANDARD_INPUT && context.terminals.stdin && job.called == Called::Mh {
        let what = if args.parallel.pipe { "the input of jobs" } else { "jobs, one a line," };
        context.messages.note(NAME, &format!("reads {what} from the keyboard; Ctrl-D ends it"));
    }
    if args.dry_run {
        return dry_run::show(context, job);
    }
    carry_out(context, args, job)
}

/// What is usual under the old name.
fn be_as_old_name(args: &mut XjobsArgs, matches: &ArgMatches) {
    args.verbosity = args.verbosity.or(Some(old_name::USUAL_VERBOSITY));
    if matches.value_source("jobserver") == Some(ValueSource::DefaultValue) {
        // COMPAT: xjobs tells its jobs nothing, and a make with a -j of its own would warn of slots that it was not asked to use.
        args.jobserver = SlotStyle::Off;
    }
}

/// Divides the process, so that no job outlives its runner; then runs the engine.
fn carry_out(context: &mut Context, args: &XjobsArgs, mut job: Job) -> Result<Outcome, Failure> {
    let divided = sys::guard::divide(&[]);
    if let Err(error) = &divided {
        let words = with_causes(error);
        context.messages.warning(
            NAME,
            &format!("could not start a supervisor: {words}; a killed run leaves its jobs"),
            &[],
        );
    }
    let signals = sys::signals::SignalQueue::open(sys::signals::JOB_CONTROL)
        .map_err(|error| refused(&format!("set up signal handling: {}", with_causes(&error))))?;
    sys::signals::children_announce_stops();
    lower_priority(context, args.standing.priority(), args.parallel.nice);
    begin::allow_descriptors(context, &job);
    let books = begin::open_books(context, args, &job.options.template)?;
    let streams = begin::own_streams()?;
    let tally = Arc::new(JobTally::default());
    let total = job.total;
    let width = job.options.width;
    let known_as = sharing::known_as(&divided);
    // A width can grow while the run goes.
    let class = args.standing.priority().class();
    let shared = sharing::budget_as(context, width.max(plan::WIDTH_MAX), class, known_as);
    if let Some(why) = &shared.why_alone {
        sharing::tell_why_alone(context, NAME, why);
    }
    job.options.hands = shared.budget.capacity();
    let lease = shared.budget.lease(Request {
        priority: args.standing.priority().class(),
        weight: args.standing.weight(),
        useful_width: width,
        what: format!("xjobs: {}", job.plan.purpose),
    });
    lease.show_progress(progress::jobs_ended(&tally, total));
    slots::open(context, args, &shared, lease.as_ref(), &mut job.options);
    let look = progress::look(context, &job, args);
    let (progress, watched) = progress::start(context, &job, look, Arc::clone(&tally)).unzip();
    let mut teller = JobTeller::new(context, &job, args);
    teller.shares_terminal = [progress.is_some() && context.terminals.stdout, progress.is_some()];
    let source = job.source.take().expect("a plan has a source, and it is taken once").open()?;
    let begin::Books { journal, joblog, done } = books;
    let host = &context.host;
    let around = RunSurroundings { signals: &signals, host, streams, journal, joblog, done, total, tally, watched };
    let ran = run_jobs(job.options, source, lease, around, &mut teller);
    // A hand that was asked for and not needed may still arrive.
    context.last_acts.perform();
    // What is said from here on may wait for its reader: signals end that as they end any program.
    signals.let_go(sys::signals::ENDING);
    if let Ok(FinishedRun { messages_given_up: true, stopped_by: Some(signal), .. }) = ran {
        sys::signals::die_by(signal);
    }
    teller.say_the_rest();
    let ran = ran.map_err(|fault| refused(&with_causes(&fault)))?;
    let was_watched = look == progress::Look::Block && progress.is_some();
    drop(progress);
    let told = teller.finish(&ran);
    match args.report {
        _ if ran.reader_gone => {}
        Some(format) => report::show(context, &ran, known_as, format),
        None if was_watched => report::tell_bound(context, &ran, known_as),
        None => {}
    }
    conclude(context, &ran, told, args.journal.is_some())
}

/// A refusal costs politeness, not the run.
fn lower_priority(context: &Context, priority: PriorityArg, nice: u8) {
    let lowered = sys::scheduling::be_as_nice_as(priority.nicer_by());
    let lowered = lowered.and_then(|()| if nice > 0 { sys::scheduling::be_nicer(nice) } else { Ok(()) });
    if let Err(error) = lowered {
        context.messages.warning(NAME, &format!("could not lower its priority: {error}"), &[]);
    }
}

fn refused(message: &str) -> Failure {
    Failure::Environment { command: NAME, message: message.to_owned() }
}

fn conclude(context: &Context, ran: &FinishedRun, told: teller::Told, has_journal: bool) -> Result<Outcome, Failure> {
    if ran.reader_gone {
        return Err(Failure::BrokenPipe);
    }
    if told == teller::Told::Nothing {
        report::conclude(context, ran, has_journal);
    }
    if let Some(signal) = ran.stopped_by {
        sys::signals::die_by(signal);
    }
    // COMPAT: what --halt waited for counts, not what else failed.
    let is_well = ran.halted.is_some_and(|rule| rule.is_for_success()) || ran.counts.failed == 0;
    let is_success = is_well && !ran.is_incomplete;
    Ok(if is_success { Outcome::Done } else { Outcome::Partial })
}
