//! `mh ceiling`: is this machine maxed out? Names the threads that cannot go faster, and why.
//! Judges nothing itself (engines/observe, `ceiling`). Reading order: CeilingArgs -> run -> words.

mod words;

use crate::feed::{Feed, RecordingArgs, Step};
use crate::name_parser;
use crate::targets::{TargetArgs, remark};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use mh_kit::context::Context;
use mh_kit::entry::{Entry, Group, Signals};
use mh_kit::failure::{Failure, Outcome};
use mh_kit::instrument::grammar::{INTERVAL, SENTENCE, Targets};
use mh_kit::instrument::live::{Output, with_screen};
use mh_kit::instrument::{Format, FormatArgs};
use mh_kit::shared_args::with_help;
use observe::ceiling::{CeilingFinding, Limit, findings};
use observe::crowding::{Crowding, busy_cores, unaccounted_cores};
use observe::groups::Hierarchies;
use observe::model::{Idlers, Interval};
use observe::sample::HostSample;
use observe::sampler::{Depth, ProcessSelection, SampleContent, Sleepers, Texts};
use std::collections::{HashMap, HashSet};
use words::{CeilingScope, Judged, Told};

/// How messages begin.
const NAME: &str = "mh ceiling";

/// The registry's line.
pub const ENTRY: Entry = Entry::new("ceiling", Group::See, Signals::Own, command, run);

/// Show whether the machine is maxed out, and by which threads
///
/// A thread that uses a whole core is 0.4 % of 256 CPUs, and no average shows it. Exit codes: 0 no thread is held back, 3 at the
/// ceiling (always running), 4 starved (could run, had no CPU) or all CPUs are busy and threads wait for them, 5 throttled (quota), 6
/// stolen (hypervisor), 7 I/O-bound; of several the first line's; 1 nobody, and a listed one is not there.
#[derive(Args, Debug)]
struct CeilingArgs {
    #[command(flatten)]
    targets: TargetArgs,

    /// Leave out processes and threads of this name (may be given again)
    #[arg(long, value_name = "NAME", value_parser = name_parser())]
    ignore: Vec<String>,

    /// The same as -n 0
    #[arg(long, hide = true, conflicts_with = "count")]
    watch: bool,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    recording: RecordingArgs,
}

impl CeilingArgs {
    /// Verdicts; 0 for no end.
    fn count(&self) -> u64 {
        if self.watch { 0 } else { self.targets.count.unwrap_or(1) }
    }
}

fn command() -> Command {
    let usage =
        "mh ceiling [OPTIONS] [INTERVAL] [NAME|PID]...\n       mh ceiling [OPTIONS] --replay FILE [NAME|PID]...";
    let command = CeilingArgs::augment_args(Command::new("ceiling"));
    let command = with_help(command, "json", "Print one JSON object a verdict");
    let command = with_help(
        command,
        "words",
        "How long to watch [default: 3], then processes to judge, by name or PID; without any, all",
    );
    let count = "Repeat the verdict COUNT times, with the time since when it holds; 0 goes on until Ctrl-C";
    let command = with_help(command, "count", count);
    with_help(command, "csv", "Comma-separated values, a line a thread").override_usage(usage).after_help(format!(
        "{SENTENCE}.\n\nExamples:\n  mh ceiling                  the next three seconds\n  \
         mh ceiling 10 mysqld        only mysqld's threads, for ten seconds\n  \
         mh ceiling -n 0 5           again and again; since when\n  \
         mh ceiling 1 >/dev/null || echo held back",
    ))
}

fn run(context: &mut Context, matches: &ArgMatches) -> Result<Outcome, Failure> {
    let args = CeilingArgs::from_arg_matches(matches).map_err(Failure::CommandLine)?;
    // Idle threads are looked at once; those that move, each time.
    let wanted = SampleContent {
        who: ProcessSelection::Everybody,
        texts: Texts::OfAll,
        depth: Depth::Threads,
        sleepers: Sleepers::Trusted,
    };
    // A recording has its own intervals: all words are processes then.
    let targets = args.targets.read(NAME, args.recording.replay.is_none())?;
    remark(context, NAME, &targets);
    let interval = targets.interval.unwrap_or(INTERVAL);
    let live = || Feed::live(NAME, &context.host, interval, wanted)?.with_looks(&context.host, interval);
    let mut feed = Feed::open(NAME, &args.recording, live)?;
    let chosen = Chosen { targets: &targets, ignored: &args.ignore, watcher: feed.watcher };
    let is_live = args.count() == 0 && args.format.format() == Format::Text && args.recording.replay.is_none();
    if is_live && context.terminals.have_a_screen() {
        return with_screen(NAME, HELP, |output| judge_all(context, &args, &chosen, &mut feed, &output));
    }
    judge_all(context, &args, &chosen, &mut feed, &Output::Printed(NAME))
}

/// What a screen says of itself.
const HELP: &[&str] = &[
    "ceiling    ran all the time: only a faster core, or another thread, helps",
    "starved    could run and had no CPU     throttled  held back by its group's quota",
    "stolen     the hypervisor had its CPU   I/O-bound  was found waiting for a disk",
    "FOR        since when                   WAITS IN   where in the kernel",
];

fn judge_all(
    context: &Context,
    args: &CeilingArgs,
    chosen: &Chosen<'_>,
    feed: &mut Feed,
    output: &Output,
) -> Result<Outcome, Failure> {
    let hierarchies = Hierarchies::find(&context.host);
    let (mut earlier, mut later) = (HostSample::default(), HostSample::default());
    let could_not = |message: &str| Failure::Environment { command: NAME, message: message.to_owned() };
    if feed.first(&mut earlier)? == Step::End {
        return Err(could_not("find a sample: the recording is empty"));
    }
    if earlier.threads.is_empty() {
        return Err(could_not("judge threads: none are recorded; mh ceiling --record does"));
    }
    let mut interval = Interval::new(Idlers::Listed);
    let mut since: HashMap<(u32, Limit), u64> = HashMap::new();
    let (mut worst, mut has_begun) = (None, false);
    let mut unseen = chosen.all();
    unseen.retain(|target| !is_there(&earlier, target));
    let (mut verdicts, count) = (0, args.count());
    loop {
        let step = feed.next(&earlier, &mut later)?;
        match step {
            Step::Child => continue,
            Step::End => break,
            Step::Sample | Step::Last => {}
        }
        interval.update(&earlier, &later);
        let found = findings(&interval, &earlier, &later, hierarchies.quota.as_ref());
        unseen.retain(|target| !is_there(&later, target));
        let found: Vec<CeilingFinding> = found.into_iter().filter(|finding| chosen.has(&later, finding)).collect();
        let crowding = Crowding::of(&interval, &earlier, &later).filter(|_| chosen.scope() == CeilingScope::Everybody);
        worst = worst_of(&found, crowding);
        remember(&mut since, &found, earlier.since_boot_ns);
        // Clocks on walls are set anew now and then; that moves both ends of a time.
        let on_the_wall = |since_ns| later.wall_ns.saturating_sub(later.since_boot_ns.saturating_sub(since_ns));
        let threads = found.into_iter().map(|finding| Told {
            wait_channel: feed.wait_channel(finding.pid, finding.tid),
            since_ns: since.get(&(finding.tid, finding.limit)).copied().map(on_the_wall),
            may_run_on: may_run_on(&later, &finding),
            finding,
        });
        let threads = threads.collect();
        let busy_cores = busy_cores(&interval, &earlier, &later);
        let judged = Judged {
            tier: feed.tier,
            wall_ns: later.wall_ns,
            elapsed_ns: interval.elapsed_ns,
            busy_cores,
            // Of those who were asked for, each is seen or told to be missing.
            unaccounted_cores: unaccounted_cores(&interval)
                .filter(|_| busy_cores.is_some() && chosen.targets.is_everybody()),
            online_cpus: interval.machine.online_cpus,
            crowding,
            scope: chosen.scope(),
            threads,
        };
        let is_once = count == 1 && args.recording.replay.is_none();
        if is_once && !unseen.is_empty() && unseen.len() == chosen.all().len() {
            // Of nobody there is no verdict.
            break;
        }
        let text = || match args.format.format() {
            Format::Json => judged.json(),
            Format::Csv => judged.csv(has_begun),
            _ => judged.text(count != 1, args.format.look()),
        };
        output.interval(text, || judged.page(args.format.look()))?;
        (has_begun, verdicts) = (true, verdicts + 1);
        std::mem::swap(&mut earlier, &mut later);
        if step == Step::Last || (count > 0 && verdicts >= count && args.recording.replay.is_none()) {
            break;
        }
    }
    Ok(conclusion(context, &unseen, worst))
}

/// The state that the first line has.
fn worst_of(found: &[CeilingFinding], crowding: Option<Crowding>) -> Option<Limit> {
    let first = found.first().map(|finding| finding.limit);
    let is_short = crowding.is_some_and(|crowding| crowding.is_short());
    // A thread that waits for a disk says nothing of those that wait for a CPU.
    if is_short && first.is_none_or(|limit| limit == Limit::IoBound) { Some(Limit::Starved) } else { first }
}

/// Tells who was asked for and never there; the exit code.
fn conclusion(context: &Context, unseen: &[String], worst: Option<Limit>) -> Outcome {
    for target in unseen {
        let message = format!("find {}: there is no such process or thread", terminal::quote_text(target));
        context.messages.error(NAME, &message, &[]);
    }
    match worst {
        None if !unseen.is_empty() => Outcome::Partial,
        worst => Outcome::Code(worst.map_or(0, exit_code)),
    }
}

/// Whether `target` means a process of the sample, or the name of one of its threads.
fn is_there(sample: &HostSample, target: &str) -> bool {
    sample.processes.iter().any(|process| {
        target.parse() == Ok(process.pid)
            || process.identity.as_ref().is_some_and(|identity| identity.is_called(target))
    }) || sample.threads.iter().any(|thread| thread.name.text() == target)
}

/// How many CPUs a thread may use: its last sample's line does not say, its process does.
fn may_run_on(later: &HostSample, finding: &CeilingFinding) -> Option<u32> {
    later.process(finding.pid)?.identity.as_ref()?.cpus_allowed
}

/// Who is judged.
struct Chosen<'args> {
    targets: &'args Targets,
    ignored: &'args [String],
    watcher: Option<u32>,
}

impl Chosen<'_> {
    /// All that were asked for, as typed.
    fn all(&self) -> Vec<String> {
        let pids = self.targets.pids.iter().map(ToString::to_string);
        pids.chain(self.targets.names.iter().cloned()).collect()
    }

    fn scope(&self) -> CeilingScope {
        match (self.targets.is_everybody(), self.ignored.is_empty()) {
            (false, _) => CeilingScope::AskedFor,
            (true, false) => CeilingScope::NotIgnored,
            (true, true) => CeilingScope::Everybody,
        }
    }

    fn has(&self, later: &HostSample, finding: &CeilingFinding) -> bool {
        let identity = later.process(finding.pid).and_then(|process| process.identity.as_deref());
        let is_called = |typed: &String| {
            finding.name == *typed
                || typed.parse() == Ok(finding.pid)
                || identity.is_some_and(|identity| identity.is_called(typed))
        };
        let Targets { pids, names, .. } = self.targets;
        let is_listed = self.targets.is_everybody() || pids.contains(&finding.pid) || names.iter().any(is_called);
        is_listed && self.watcher != Some(finding.pid) && !self.ignored.iter().any(is_called)
    }
}

/// Keeps since when each thread has been held back; those that are not any more are forgotten.
fn remember(since: &mut HashMap<(u32, Limit), u64>, found: &[CeilingFinding], began_ns: u64) {
    let held: HashSet<(u32, Limit)> = found.iter().map(|finding| (finding.tid, finding.limit)).collect();
    since.retain(|key, _| held.contains(key));
    for key in held {
        since.entry(key).or_insert(began_ns);
    }
}

/// Documented in the help: scripts depend on it.
fn exit_code(limit: Limit) -> u8 {
    match limit {
        Limit::Ceiling => 3,
        Limit::Starved => 4,
        Limit::Throttled => 5,
        Limit::Stolen => 6,
        Limit::IoBound => 7,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowded_machine_is_short_of_cpus_unless_a_thread_says_more() {
        let finding = |limit| CeilingFinding {
            limit,
            pid: 7,
            tid: 7,
            name: String::new(),
            process: String::new(),
            command: String::new(),
            on_cpu: 0.0,
            waited: 0.0,
            stolen: 0.0,
            in_disk_sleep: 0.0,
            group: None,
            cpu: None,
            elapsed_ns: 1,
        };
        let (short, full) = (Crowding { waited: Some(0.5) }, Crowding { waited: Some(0.05) });
        assert_eq!(worst_of(&[], Some(short)), Some(Limit::Starved));
        assert_eq!(worst_of(&[finding(Limit::IoBound)], Some(short)), Some(Limit::Starved));
        assert_eq!(worst_of(&[finding(Limit::Ceiling)], Some(short)), Some(Limit::Ceiling));
        assert_eq!(worst_of(&[], Some(full)), None);
        assert_eq!(worst_of(&[finding(Limit::IoBound)], Some(full)), Some(Limit::IoBound));
        assert_eq!(worst_of(&[], None), None);
    }
}
