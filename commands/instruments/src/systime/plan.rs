//! What was asked for, resolved: whose calls, which, how, until when. Looks at nothing but the command line.

use super::{NAME, SystimeArgs};
use mh_kit::failure::Failure;
use mh_kit::instrument::parse_interval;
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
}

/// Resolves what was typed.
pub fn plan(args: &SystimeArgs) -> Result<Plan, Failure> {
    if args.histogram && !args.exact && !args.trace {
        return Err(usage("samples have no durations: --histogram needs --exact or --trace".to_owned()));
    }
    let (subject, seconds) = match (&args.target, args.pid) {
        (Some(target), _) => named_or_all(target)?,
        (None, Some(pid)) => (Subject::Process(pid), None),
        (None, None) if !args.line.is_empty() => (Subject::Command, None),
        (None, None) => (Subject::All, None),
    };
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
    Ok(Plan { subject, request, time: args.time.or(seconds) })
}

/// Digits are seconds, as in the instruments beside this one.
fn named_or_all(target: &OsStr) -> Result<(Subject, Option<Duration>), Failure> {
    let seconds = target.to_str().map(parse_interval);
    if let Some(Ok(seconds)) = seconds {
        return Ok((Subject::All, Some(seconds)));
    }
    if let Some(Err(reason)) =
        seconds.filter(|_| target.as_bytes().iter().all(|byte| matches!(byte, b'0'..=b'9' | b'.')))
    {
        return Err(usage(format!("SECONDS is {}: {reason}", terminal::quote(target))));
    }
    // LIMIT: the kernel keeps 15 bytes of a name, and compares no more.
    let name = target.as_bytes();
    Ok((Subject::Named(OsStr::from_bytes(&name[..name.len().min(15)]).to_owned()), None))
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
        assert!(planned(&["0.001"]).expect_err("below a tick").starts_with("SECONDS is '0.001'"));
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
