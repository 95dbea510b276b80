//! What was asked for, resolved: whose calls, which, how, until when. Looks at nothing but the command line.

use super::{NAME, SystimeArgs};
use mh_kit::failure::Failure;
use mh_kit::instrument::grammar::Targets;
use observe::calls::measure::{MeasuringMethod, MeasuringRequest, kernel_name};
use observe::calls::names::call_number;
use observe::calls::{CallGrouping, Selection};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

/// Whose calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Everybody's.
    All,
    /// Those of processes of this name, any bytes, cut as the kernel cuts it.
    Named(OsString),
    /// Those of a process and its descendants.
    Process(u32),
    /// Those of the command that is run.
    Command,
}

/// All that is decided before anything happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Whose.
    pub subject: Subject,
    /// How, and which.
    pub request: MeasuringRequest,
    /// When it ends by itself.
    pub time: Option<Duration>,
    /// When results are printed on the way.
    pub every: Option<Duration>,
    /// The words that said so.
    pub targets: Targets,
}

/// Resolves what was typed.
pub fn plan(args: &SystimeArgs) -> Result<Plan, Failure> {
    if args.histogram && !args.exact && !args.trace {
        return Err(usage("samples have no durations: --histogram needs --exact or --trace".to_owned()));
    }
    let targets = targets(args)?;
    let subject = subject(args, &targets)?;
    let (time, every) = times(args, targets.interval)?;
    let wanted = args.calls.iter().map(|name| {
        let unknown = || usage(format!("'{}' is no system call of this architecture", terminal::printable(name)));
        call_number(name).ok_or_else(unknown)
    });
    let wanted: Vec<u32> = wanted.collect::<Result<_, _>>()?;
    // LIMIT: each wanted call is a comparison in the kernel's path of every call; beyond these it is cheaper to take all.
    const WANTED_MAX: usize = 32;
    if wanted.len() > WANTED_MAX {
        return Err(usage(format!("at most {WANTED_MAX} calls can be chosen; leave -e out for all")));
    }
    let selection = match &subject {
        Subject::All => Selection::AllBut { own: std::process::id() },
        Subject::Named(name) => Selection::Named(kernel_name(name.as_bytes())),
        Subject::Process(pid) => Selection::Tree { root: *pid },
        Subject::Command => Selection::Born,
    };
    let method = if args.exact { MeasuringMethod::Exact } else { MeasuringMethod::Sampled };
    let request = MeasuringRequest { method, selection, grouping: args.by.grouping(), wanted };
    Ok(Plan { subject, request, time, every, targets })
}

/// The words, read as in the instruments beside this one. A name of any bytes is looked at in [`subject`].
fn targets(args: &SystimeArgs) -> Result<Targets, Failure> {
    let words: Vec<String> = args.words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let options: Vec<u32> = args.pid.into_iter().collect();
    Targets::read(&words, &options, true).map_err(usage)
}

/// Whose calls: one name, one process, a command, or everybody's.
fn subject(args: &SystimeArgs, targets: &Targets) -> Result<Subject, Failure> {
    match (targets.names.as_slice(), targets.pids.as_slice(), args.words.last()) {
        ([], [], _) if !args.line.is_empty() => Ok(Subject::Command),
        ([], [], _) => Ok(Subject::All),
        ([], [pid], _) if args.line.is_empty() => Ok(Subject::Process(*pid)),
        // LIMIT: the kernel keeps 15 bytes of a name, and compares no more.
        ([_], [], Some(name)) if args.line.is_empty() => {
            let name = name.as_bytes();
            Ok(Subject::Named(OsStr::from_bytes(&name[..name.len().min(15)]).to_owned()))
        }
        _ => Err(usage("one of a NAME, a PID and a COMMAND can be followed".to_owned())),
    }
}

/// When it ends, and when results are printed on the way.
fn times(args: &SystimeArgs, interval: Option<Duration>) -> Result<(Option<Duration>, Option<Duration>), Failure> {
    if args.time.is_some() && interval.is_some() {
        return Err(usage("--for does not go with an INTERVAL".to_owned()));
    }
    match (args.count, args.time.or(interval)) {
        (None, time) => Ok((time, args.every)),
        (Some(0), interval) => Ok((None, interval)),
        (Some(count), Some(interval)) => {
            Ok((Some(interval.saturating_mul(count)), Some(interval).filter(|_| count > 1)))
        }
        (Some(_), None) => Err(usage("--count needs an INTERVAL".to_owned())),
    }
}

fn usage(message: String) -> Failure {
    Failure::Usage { command: NAME, message }
}

impl Plan {
    /// Whether rows have an owner's name.
    pub fn is_by_owner(&self) -> bool {
        self.request.grouping != CallGrouping::Together
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, Command, FromArgMatches};

    fn planned(typed: &[&str]) -> Result<Plan, String> {
        let command = SystimeArgs::augment_args(Command::new("systime"));
        let matches = command.get_matches_from(["systime"].iter().chain(typed));
        plan(&SystimeArgs::from_arg_matches(&matches).expect("good options")).map_err(|failure| match failure {
            Failure::Usage { message, .. } => message,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn a_word_is_a_name_or_seconds() {
        let everybody = planned(&[]).expect("a plan");
        assert_eq!((everybody.subject, everybody.time), (Subject::All, None));
        assert_eq!(everybody.request.selection, Selection::AllBut { own: std::process::id() });
        let for_a_while = planned(&["2.5"]).expect("a plan");
        assert_eq!((for_a_while.subject, for_a_while.time), (Subject::All, Some(Duration::from_millis(2500))));
        let named = planned(&["a-name-of-more-than-15-bytes", "--for", "3"]).expect("a plan");
        assert_eq!(named.subject, Subject::Named("a-name-of-more-".into()), "as the kernel cuts it");
        assert_eq!(named.time, Some(Duration::from_secs(3)));
        assert!(planned(&["0.001"]).expect_err("below a tick").starts_with("INTERVAL is '0.001'"));
    }

    #[test]
    fn an_interval_comes_first_and_is_repeated() {
        let named = planned(&["1h30m", "mysqld"]).expect("a plan");
        assert_eq!((named.subject, named.time), (Subject::Named("mysqld".into()), Some(Duration::from_secs(5400))));
        assert_eq!(planned(&["10", "17"]).expect("a plan").subject, Subject::Process(17));
        assert_eq!(planned(&["10", "-p", "17"]).expect("a plan").time, Some(Duration::from_secs(10)));
        assert_eq!(planned(&["5", "--", "make"]).expect("a plan").subject, Subject::Command);
        let repeated = planned(&["2", "--count", "3"]).expect("a plan");
        assert_eq!((repeated.time, repeated.every), (Some(Duration::from_secs(6)), Some(Duration::from_secs(2))));
        let endless = planned(&["2", "--count", "0"]).expect("a plan");
        assert_eq!((endless.time, endless.every), (None, Some(Duration::from_secs(2))));
        assert!(planned(&["--count", "3"]).expect_err("how long?").contains("needs an INTERVAL"));
        for two in [&["-p", "1", "sh"][..], &["sh", "bash"], &["1", "17", "18"], &["sh", "--", "true"]] {
            assert!(planned(two).expect_err("two subjects").starts_with("one of a NAME"), "{two:?}");
        }
        let twice = planned(&["--for", "3", "10"]).expect_err("which of them?");
        assert_eq!(twice, "--for does not go with an INTERVAL");
        let old = planned(&["--for", "3", "-i", "1", "-n", "7", "sh"]).expect("old spellings");
        assert_eq!((old.time, old.every), (Some(Duration::from_secs(3)), Some(Duration::from_secs(1))));
    }

    #[test]
    fn processes_and_commands_are_followed_with_their_descendants() {
        let process = planned(&["-p", "17"]).expect("a plan");
        assert_eq!((process.subject, process.request.selection), (Subject::Process(17), Selection::Tree { root: 17 }));
        let command = planned(&["--exact", "--", "make", "-j8"]).expect("a plan");
        assert_eq!((command.subject, command.request.selection), (Subject::Command, Selection::Born));
        assert_eq!(command.request.method, MeasuringMethod::Exact);
        assert_eq!(planned(&[]).expect("a plan").request.method, MeasuringMethod::Sampled);
    }

    #[test]
    fn calls_are_known_by_name_and_few() {
        let plan = planned(&["-e", "read,write", "-e", "openat", "--by", "pid"]).expect("a plan");
        assert_eq!(plan.request.wanted.len(), 3);
        assert!(plan.is_by_owner() && !planned(&[]).expect("a plan").is_by_owner());
        assert_eq!(
            planned(&["-e", "raed"]).expect_err("a typing mistake"),
            "'raed' is no system call of this architecture"
        );
        let many = vec!["read"; 33].join(",");
        assert!(planned(&["-e", &many]).expect_err("too many").starts_with("at most 32 calls"));
        let spread = planned(&["--histogram"]).expect_err("samples have no durations");
        assert!(spread.contains("--histogram needs --exact or --trace"), "{spread}");
    }
}
