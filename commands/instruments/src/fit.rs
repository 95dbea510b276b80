//! `mh fit`: how many more fit, and what binds. The engine `observe` reads and reckons; this asks and shows.

mod show;

use crate::targets::{pid_parser, remark};
use crate::{accounts, name_parser};
use clap::builder::TypedValueParser;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use mh_kit::context::Context;
use mh_kit::entry::{Entry, Group, Signals};
use mh_kit::failure::{Failure, Outcome};
use mh_kit::instrument::grammar::{SENTENCE, Targets};
use mh_kit::instrument::{Format, FormatArgs, failure};
use mh_kit::report::{counted, print};
use mh_kit::shared_args::{parse_size, with_help};
use observe::clocks::KernelClocks;
use observe::fit::estimate::{FitEstimate, Suppose, estimate};
use observe::fit::survey::Surveyor;
use observe::fit::{HostSurvey, Instances};
use observe::source::accounts::Accounts;
use std::time::Duration;

/// How messages begin.
const NAME: &str = "mh fit";

/// The registry's line.
pub const ENTRY: Entry = Entry::new("fit", Group::See, Signals::TidyUp, command, run);

/// Show how many more processes fit, and which limit is met first
///
/// One more costs its private memory, page tables and kernel stacks. Shared memory is there already.
#[derive(Args, Debug)]
struct FitArgs {
    /// How long to watch [default: 2], then a process by name or PID: how many more like it. Memory is sampled for 1 % of that
    /// time, CPU use is measured over all of it
    #[arg(value_name = "INTERVAL|NAME|PID", value_parser = name_parser())]
    words: Vec<String>,

    /// How many more processes called as this one is
    #[arg(short = 'p', long, value_name = "PID", value_parser = pid_parser(), conflicts_with_all = ["user", "comm", "cgroup"])]
    pid: Option<u32>,

    /// How many more users like this one (without any choice: like the middle one of all)
    #[arg(long, value_name = "USER", conflicts_with_all = ["comm", "cgroup"])]
    user: Option<String>,

    /// How many more processes of this name
    #[arg(long, value_name = "NAME", value_parser = name_parser(), conflicts_with = "cgroup")]
    comm: Option<String>,

    /// Of these processes, only those with TEXT in their command line
    #[arg(long, value_name = "TEXT", value_parser = name_parser())]
    args: Option<String>,

    /// How many more control groups like this one, all its processes together
    #[arg(long, value_name = "PATH", value_parser = group_parser())]
    cgroup: Option<String>,

    /// Suppose that the machine had this much memory (32G)
    #[arg(long = "with", value_name = "SIZE", value_parser = parse_size)]
    memory: Option<u64>,

    /// Say whether this many more fit; exit code 3 when they do not
    #[arg(long, value_name = "N")]
    add: Option<u64>,

    /// Leave this much memory alone [default: a twentieth of it]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    reserve: Option<u64>,

    /// The same as INTERVAL
    #[arg(long, value_name = "TIME", value_parser = parse_time, hide = true)]
    time: Option<Duration>,

    #[command(flatten)]
    format: FormatArgs,
}

/// The topmost group is `/`: nothing at all is more likely a variable that was not set.
fn group_parser() -> impl TypedValueParser<Value = String> {
    name_parser().try_map(|group| match group.is_empty() {
        true => Err("the path of a control group is needed, as /proc/PID/cgroup has it: /system.slice, /"),
        false => Ok(group),
    })
}

/// LIMIT: in less than a tenth no CPU time can be measured; a day is longer than anybody waits.
const TIMES: std::ops::RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(86_400);

fn parse_time(text: &str) -> Result<Duration, String> {
    let time = terminal::parse_duration(text).map_err(|error| error.to_string())?;
    if TIMES.contains(&time) { Ok(time) } else { Err("0.1 s is the shortest, a day the longest".to_owned()) }
}

/// How long to watch where nobody says.
const USUAL_TIME: Duration = Duration::from_secs(2);

/// Puts what the words say where the options are; how long to watch.
fn settle(args: &mut FitArgs, context: &Context) -> Result<Duration, Failure> {
    let usage = |message: String| Failure::Usage { command: NAME, message };
    let options: Vec<u32> = args.pid.into_iter().collect();
    let targets = Targets::read(&args.words, &options, true).map_err(usage)?;
    remark(context, NAME, &targets);
    let mut names = targets.names;
    for pid in targets.pids {
        let found = machine::process_name(&context.host, pid).ok().flatten();
        let missing = || Failure::Environment { command: NAME, message: format!("find process {pid}: there is none") };
        names.push(found.ok_or_else(missing)?);
    }
    names.extend(args.comm.take());
    if names.len() + usize::from(args.user.is_some()) + usize::from(args.cgroup.is_some()) > 1 {
        return Err(usage("one of a NAME, a PID, --user and --cgroup can be learned from".to_owned()));
    }
    args.comm = names.pop();
    if args.args.is_some() && args.comm.is_none() {
        return Err(usage("--args needs the NAME of processes".to_owned()));
    }
    let time = args.time.or(targets.interval).unwrap_or(USUAL_TIME);
    if TIMES.contains(&time) { Ok(time) } else { Err(usage("INTERVAL is 0.1 s at least, a day at most".to_owned())) }
}

fn command() -> Command {
    let command = FitArgs::augment_args(Command::new("fit"));
    let command = command.override_usage("mh fit [OPTIONS] [INTERVAL] [NAME|PID]");
    with_help(command, "csv", "Print the instances as comma-separated values").after_help(format!(
        "{SENTENCE}.\n\n\
         Examples:\n  mh fit                               how many more users, and who has what now\n  \
         mh fit 10 postgres --args idle       how many more idle connections\n  \
         mh fit --comm python3 --with 32G     the same on a larger machine\n  \
         mh fit --comm worker --add 4         do four more fit? (exit code 3: no)"
    ))
}

/// The exit code when `--add` do not fit.
const DO_NOT_FIT: u8 = 3;

fn run(context: &mut Context, matches: &ArgMatches) -> Result<Outcome, Failure> {
    let mut args = FitArgs::from_arg_matches(matches).map_err(Failure::CommandLine)?;
    let time = settle(&mut args, context)?;
    let accounts = accounts();
    let wanted = wanted(&args, &accounts)?;
    let surveyor = Surveyor::open(&context.host, &KernelClocks, &accounts).map_err(|error| failure(NAME, &error))?;
    let survey = surveyor.survey(&wanted, time, &mut std::thread::sleep);
    let survey = survey.map_err(|error| failure(NAME, &error))?;
    if survey.room.memory_total_bytes == 0 {
        let message = "find how much memory there is: it is not in '/proc/meminfo'".to_owned();
        return Err(Failure::Environment { command: NAME, message });
    }
    let suppose = Suppose { memory_bytes: args.memory, reserve_bytes: args.reserve };
    let Some(estimate) = estimate(&survey, suppose) else {
        return Err(Failure::Environment { command: NAME, message: nobody(&args, &survey) });
    };
    let answer = Answer { what: noun(&args), survey: &survey, estimate: &estimate, add: args.add };
    print(&match args.format.format() {
        Format::Json => show::as_json(&answer),
        Format::Csv => show::as_csv(&answer),
        Format::Text => show::as_text(&answer, args.format.look()),
    })?;
    let is_refused = args.add.is_some_and(|add| !answer.fits(add));
    Ok(if is_refused { Outcome::Code(DO_NOT_FIT) } else { Outcome::Done })
}

/// All that is shown.
struct Answer<'a> {
    what: String,
    survey: &'a HostSurvey,
    estimate: &'a FitEstimate,
    add: Option<u64>,
}

impl Answer<'_> {
    /// Whether so many more fit, most likely.
    fn fits(&self, add: u64) -> bool {
        self.estimate.fits.is_none_or(|fits| fits.middle >= add as f64)
    }
}

fn wanted(args: &FitArgs, accounts: &Accounts) -> Result<Instances, Failure> {
    if let Some(typed) = &args.user {
        let unknown =
            || Failure::Usage { command: NAME, message: format!("no user is called {}", terminal::quote(typed)) };
        return Ok(Instances::Users(Some(accounts.number(typed).ok_or_else(unknown)?)));
    }
    Ok(match (&args.comm, &args.cgroup) {
        (Some(name), _) => Instances::Processes { name: name.clone(), words: args.args.clone() },
        (None, Some(group)) => Instances::Group(group.clone()),
        (None, None) => Instances::Users(None),
    })
}

/// What the answer counts.
fn noun(args: &FitArgs) -> String {
    match (&args.user, &args.comm, &args.cgroup) {
        (Some(user), ..) => format!("users like {}", terminal::quote(user)),
        (_, Some(comm), _) => format!("{} processes", terminal::quote_text(comm)),
        (.., Some(group)) => format!("groups like {}", terminal::quote(group)),
        _ => "users".to_owned(),
    }
}

fn kind(args: &FitArgs) -> String {
    match (&args.user, &args.comm, &args.cgroup) {
        (Some(user), ..) => format!("a process of user {}", terminal::quote(user)),
        (_, Some(comm), _) => format!("a process called {}", terminal::quote_text(comm)),
        (.., Some(group)) => format!("a process in group {}", terminal::quote(group)),
        _ => "a process".to_owned(),
    }
}

/// Why there is nothing to learn from.
fn nobody(args: &FitArgs, survey: &HostSurvey) -> String {
    let why = if survey.vanished > 0 { "all have ended while they were watched" } else { "there is none" };
    format!("find {} to learn from: {why}{}", kind(args), hidden(survey))
}

fn hidden(survey: &HostSurvey) -> String {
    match survey.hidden_threads {
        0 => String::new(),
        count => format!(" ({} of this machine cannot be seen from here)", counted(count, "thread")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mh_kit::context::Terminals;
    use mh_kit::settings::Settings;

    fn settled(typed: &[&str]) -> Result<(Option<String>, Duration), Failure> {
        let matches = command().get_matches_from(["fit"].iter().chain(typed));
        let mut args = FitArgs::from_arg_matches(&matches).expect("typed well");
        let context = Context::on(machine::Host::real(), Terminals::default(), Settings::default());
        let time = settle(&mut args, &context)?;
        Ok((args.comm, time))
    }

    #[test]
    fn words_say_how_long_and_whom_as_the_options_do() {
        let seconds = Duration::from_secs;
        assert_eq!(settled(&[]).ok(), Some((None, seconds(2))));
        assert_eq!(settled(&["1m", "postgres"]).ok(), Some((Some("postgres".to_owned()), seconds(60))));
        assert_eq!(settled(&["--time", "0.5", "--comm", "sh"]).ok(), Some((Some("sh".to_owned()), seconds(1) / 2)));
        assert!(settled(&["3", "--user", "root"]).is_ok(), "a time says nobody");
        let own = std::process::id().to_string();
        assert!(settled(&["-p", &own]).is_ok_and(|(name, _)| name.is_some()));
        for wrong in [&["sh", "bash"][..], &["sh", "--user", "root"], &["0.01"], &["--args", "x"], &["1", "4194303999"]]
        {
            assert!(settled(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn nobody_is_told_from_those_who_have_ended() {
        let matches = command().get_matches_from(["fit", "--comm", "work"]);
        let args = FitArgs::from_arg_matches(&matches).expect("typed well");
        let none = HostSurvey::default();
        assert_eq!(nobody(&args, &none), "find a process called 'work' to learn from: there is none");
        let ended = HostSurvey { vanished: 2, ..none };
        assert!(nobody(&args, &ended).ends_with("to learn from: all have ended while they were watched"));
    }
}
