//! What `mh xjobs` will do, decided before anything is done, each choice with its reason.
//! Opens the list, since its kind decides; reads nothing from it but its number of lines.

use super::inputs::{self, Input, List, Words};
use super::{Called, NAME, XjobsArgs, explain};
use crew::plan::Plan;
use jobs::classes::Classes;
use jobs::halt::Halt;
use jobs::list::Syntax;
use jobs::results::ResultLayout;
use jobs::run::{Asking, Discarded, EndStep, Errors, MemoryRule, OutputManner, OutputOrder, RunOptions, TimeLimit};
use jobs::template::{Shell, Template};
use mh_kit::context::{Context, temporary_directory, variable};
use mh_kit::failure::{Failure, with_causes};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
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
    plan_with(context, args, called, &mut |words, syntax| inputs::open(args, words, syntax))
}

/// Makes the plan for a list that `open` opens.
pub fn plan_with(
    context: &Context,
    args: &XjobsArgs,
    called: Called,
    open: &mut dyn FnMut(&mut Words, Syntax) -> Result<List, Failure>,
) -> Result<Job, Failure> {
    let mut words = inputs::words(args, called)?;
    let (syntax, why_syntax) = inputs::syntax(args, &words.template, called);
    let (width, why_width) = width(context, args)?;
    let list = open(&mut words, syntax.clone())?;
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
        spill_directory: temporary_directory(),
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
    let plan = explain::described(args, &options, &facts);
    Ok(Job { plan, options, source, total, list_name: name, called })
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

/// COMPAT: with placeholders it is a name, else a directory.
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::FromArgMatches;
    use machine::Host;
    use mh_kit::context::Terminals;
    use mh_kit::settings::Settings;
    use testkit::fake_machine::FakeMachine;

    /// The plan on four CPUs with a gigabyte, for values behind `:::`.
    fn planned(typed: &str) -> Result<Job, String> {
        let machine = FakeMachine::new(4, 1 << 30);
        let context = Context::on(Host::rooted_at(machine.root()), Terminals::default(), Settings::default());
        let matches = crate::xjobs::command().get_matches_from(["xjobs"].into_iter().chain(typed.split(' ')));
        let args = XjobsArgs::from_arg_matches(&matches).expect("good options");
        plan(&context, &args, Called::Mh).map_err(|failure| match failure {
            Failure::Usage { message, .. } | Failure::Environment { message, .. } => message,
            other => panic!("{other:?}"),
        })
    }

    fn decided(typed: &str, subject: &str) -> String {
        let job = planned(typed).expect("a plan");
        job.plan.about(subject).map(|choice| choice.decision.clone()).expect("it is decided")
    }

    fn width(typed: &str) -> usize {
        planned(&format!("{typed} echo ::: a b c")).expect("a plan").options.width
    }

    #[test]
    fn jobs_at_once_are_a_number_a_factor_a_share_or_a_difference() {
        assert_eq!((width("-j 0"), width("-j 7"), width("-j 1.5x")), (4, 7, 6));
        assert_eq!((width("-j 50%"), width("-j 1%"), width("-j +2"), width("-j=-3"), width("-j=-9")), (2, 1, 6, 1, 1));
        for refused in ["-j 4097", "-j many", "-j infx", "-j 0x"] {
            let message = planned(&format!("{refused} echo ::: a")).err().expect(refused);
            assert!(message.contains("is not a number from 0 to 4096, 2.5x or 150%"), "{message}");
        }
    }

    #[test]
    fn memory_starts_and_ends_are_bounded_by_the_machine_and_the_options() {
        let options = |typed: &str| planned(&format!("{typed} echo ::: a")).expect("a plan").options;
        assert_eq!(options("-j 2").memory.cap_bytes, (1 << 30) / 8 * 7);
        assert_eq!(options("--memory 1M").memory.cap_bytes, 1 << 20);
        assert_eq!(options("--load 50%").load_max, Some(2.0));
        assert_eq!((options("--retries 1").retries, options("--retries 0").retries), (0, u32::MAX));
        assert_eq!(options("--timeout 0").timeout, None);
        assert!(planned("--load none echo ::: a").err().expect("no number").contains("is not a number or a share"));
    }

    #[test]
    fn the_plan_says_what_was_decided() {
        let job = planned("-k echo ::: a b c").expect("a plan");
        assert_eq!((job.total, job.options.order == OutputOrder::AsListed), (Some(3), true));
        assert!(job.plan.purpose.starts_with("run echo from "), "{}", job.plan.purpose);
        assert_eq!(decided("-k echo ::: a b c", "jobs at once"), "4");
        assert_eq!(decided("-k echo ::: a b c", "list"), "about 3 jobs");
        assert_eq!(decided("-k echo ::: a b c", "output"), "whole, in the order of the list");
        assert_eq!(decided("-u echo ::: a", "output"), "written by the jobs themselves");
        assert_eq!(decided("--shell echo ::: a", "shell"), "sh -c");
        assert_eq!(decided("echo ::: a", "shell"), "none");
        assert_eq!(decided("-j 1 echo ::: a", "job slots"), "none");
        assert_eq!(decided("echo ::: a", "job slots"), "two descriptors in MAKEFLAGS");
        assert_eq!(decided("--jobserver fifo echo ::: a", "job slots"), "a named pipe in MAKEFLAGS");
        assert_eq!(decided("echo ::: a", "memory"), "940 MB for all jobs");
        let starts = "--delay 2 --timeout 300% --retries 3 --memfree 1M echo ::: a";
        let bounds = "while 1.05 MB of memory are available, 2 s apart, ended after 300 % of the median, run 3 times at most where they fail";
        assert_eq!(decided(starts, "starts"), bounds);
        assert!(planned("echo ::: a").expect("a plan").plan.about("starts").is_none());
    }
}
