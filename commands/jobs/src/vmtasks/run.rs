//! `mh vmtasks run`: an unmodified program whose large mappings are populated by several threads.

use super::NAME;
use crate::prefault::{self, Wishes, ledger};
use clap::Args;
use crew::plan::Plan;
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome};
use mh_kit::report::{counted, show_plan};
use mh_kit::shared_args::{ReportFormat, StandingArgs, parse_hands, parse_size};
use std::ffi::OsString;
use std::time::Duration;

/// Run an unmodified program whose large mappings are populated by several threads
///
/// Mappings (mmap, shmat, and what is committed by mprotect) of at least --min-size are populated before the program gets them. Seen are
/// calls through the C library; the memory of glibc's malloc, static programs and raw system calls are not. Exit code: the program's; 126
/// it could not be run, 127 it was not found.
#[derive(Args, Debug)]
pub struct VmtasksRunArgs {
    /// Lock what is populated (mlock2), as far as RLIMIT_MEMLOCK allows; given back by the program, it is unlocked
    #[arg(long)]
    lock: bool,

    /// Ask for transparent huge pages first
    #[arg(long)]
    huge: bool,

    /// Leave smaller mappings alone
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = prefault::parse_min_size)]
    min_size: u64,

    /// Populate behind the program, with one thread of low priority, and stay in front of it; -j does not matter then
    #[arg(long)]
    ahead: bool,

    /// How far --ahead goes in front of the program
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = parse_window, requires = "ahead")]
    window: u64,

    /// Refuse a mapping that does not fit into free memory (ENOMEM), instead of leaving it to the kernel
    #[arg(long)]
    strict: bool,

    /// Use at most N threads for a mapping, the program's own among them (default, and 0: all that this process may use, 17 at most)
    #[arg(short = 'j', long = "hands", value_name = "N", value_parser = parse_hands)]
    hands: Option<usize>,

    #[command(flatten)]
    standing: StandingArgs,

    /// Print the plan with its reasons and do nothing
    #[arg(long)]
    explain: bool,

    /// At the end, print each mapping and the time that was saved
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, require_equals = true, default_missing_value = "text")]
    report: Option<ReportFormat>,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// It is waited for the program at every 64 MiB.
fn parse_window(text: &str) -> Result<u64, String> {
    match parse_size(text)? {
        bytes if bytes < 64 << 20 => Err("at least 64M".to_owned()),
        bytes => Ok(bytes),
    }
}

/// Runs it.
pub fn run(context: &mut Context, mut args: VmtasksRunArgs) -> Result<Outcome, Failure> {
    args.standing.settle(&context.settings.crew);
    if args.explain {
        let plan = plan(context, &args, &prefault::library(NAME)?.origin());
        show_plan(context, &plan, None)?;
        return Ok(Outcome::Done);
    }
    let wishes = Wishes {
        name: NAME,
        min_bytes: args.min_size,
        mode: mode(&args),
        window_bytes: args.window,
        startup: None,
        startup_time: Duration::ZERO,
        later: None,
        helpers: threads(context, &args).saturating_sub(1),
        standing: args.standing.clone(),
    };
    let (outcome, done) = prefault::run(context, wishes, args.command)?;
    match args.report {
        Some(ReportFormat::Json) => context.messages.report(&done.as_json()),
        Some(ReportFormat::Text) => context.messages.report(&done.as_text()),
        None => {}
    }
    Ok(outcome)
}

fn threads(context: &Context, args: &VmtasksRunArgs) -> usize {
    let hands = args.hands.filter(|&hands| hands > 0).unwrap_or_else(|| context.machine.hands_allowed());
    hands.clamp(1, prefault::THREADS_MAX)
}

fn mode(args: &VmtasksRunArgs) -> u64 {
    let choices = [
        (args.lock, ledger::MODE_LOCK),
        (args.huge, ledger::MODE_HUGE),
        (args.ahead, ledger::MODE_AHEAD),
        (args.strict, ledger::MODE_STRICT),
    ];
    choices.iter().filter(|(is_chosen, _)| *is_chosen).fold(ledger::MODE_POPULATE, |mode, (_, bit)| mode | bit)
}

fn plan(context: &Context, args: &VmtasksRunArgs, library: &str) -> Plan {
    let words: Vec<_> = args.command.iter().map(|word| word.to_string_lossy()).collect();
    let mut plan = Plan::new(format!("run {}", terminal::printable(&words.join(" "))));
    plan.choose("mappings", format!("of {} and more", terminal::bytes(args.min_size)), "--min-size");
    match args.ahead {
        true => plan.choose(
            "populated",
            format!("up to {} in front of the program", terminal::bytes(args.window)),
            "--ahead: one thread of low priority",
        ),
        false => {
            let threads = counted(threads(context, args) as u64, "thread");
            plan.choose("populated", format!("by up to {threads}"), "before the call that maps returns");
        }
    }
    plan.choose("locked", if args.lock { "yes" } else { "no" }, "--lock");
    let (pages, why) =
        if args.huge { ("transparent huge pages", "--huge") } else { ("as the program asks", "no --huge") };
    plan.choose("pages", pages, why);
    let (unfit, why) =
        if args.strict { ("ENOMEM", "--strict") } else { ("left to the kernel", "and reported at the end") };
    plan.choose("what does not fit", unfit, why);
    plan.choose("cores", "the program's own, and core tokens for helpers", "taken while a mapping is populated");
    plan.choose("library", library, "loaded into the program and all that it starts");
    plan
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, FromArgMatches};
    use machine::Host;
    use mh_kit::context::Terminals;
    use mh_kit::settings::Settings;
    use testkit::fake_machine::FakeMachine;

    fn args(typed: &str) -> VmtasksRunArgs {
        let command = VmtasksRunArgs::augment_args(Command::new("run"));
        let matches = command.get_matches_from(["run"].into_iter().chain(typed.split(' ')));
        VmtasksRunArgs::from_arg_matches(&matches).expect("good options")
    }

    fn decided(cpus: usize, typed: &str, subject: &str) -> String {
        let machine = FakeMachine::new(cpus, 1 << 30);
        let context = Context::on(Host::rooted_at(machine.root()), Terminals::default(), Settings::default());
        let plan = plan(&context, &args(typed), "/lib/x.so");
        plan.about(subject).map(|choice| choice.decision.clone()).expect("it is decided")
    }

    #[test]
    fn as_many_threads_as_there_are_cores_but_no_more_than_help() {
        assert_eq!(decided(4, "postgres", "populated"), "by up to 4 threads");
        assert_eq!(decided(64, "postgres", "populated"), "by up to 17 threads");
        assert_eq!(decided(4, "-j 1 postgres", "populated"), "by up to 1 thread");
        assert_eq!(decided(4, "--ahead --window 2G postgres", "populated"), "up to 2.15 GB in front of the program");
    }

    #[test]
    fn options_are_bits_for_the_library() {
        assert_eq!(mode(&args("x")), ledger::MODE_POPULATE);
        let all = ledger::MODE_POPULATE | ledger::MODE_LOCK | ledger::MODE_HUGE | ledger::MODE_STRICT;
        assert_eq!(mode(&args("--lock --huge --strict x")), all);
        assert_eq!(decided(2, "--strict x", "what does not fit"), "ENOMEM");
        assert_eq!(decided(2, "--min-size 1G x", "mappings"), "of 1.07 GB and more");
    }
}
