//! `mh sysstat`: every metric of a host at a glance. Reading order: SysstatArgs -> run -> local, keep, screen; the metrics and what is
//! judged of them are `observe::host`.

mod agent;
mod bands;
#[cfg(test)]
mod documented;
mod export;
mod feed_out;
mod fleet;
mod fleet_keys;
mod help;
mod hosts;
mod keep;
mod layout;
mod line;
mod local;
mod open_metrics;
mod orders;
mod pair;
mod prompt;
mod replay;
mod screen;
mod session;
#[cfg(test)]
mod soak;
mod table;
mod usual;
mod web;
mod words;

use ::fleet::agent::DEFAULT_PORT;
use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use fleet::SharedFleet;
use fleet_keys::{EnrollArgs, KeyArgs};
use hosts::{FleetPlaces, WantedHosts};
use keep::Keeper;
use line::TintedLine;
use local::LocalHost;
use mh_kit::context::Context;
use mh_kit::entry::{Entry, Group, Signals};
use mh_kit::failure::{Failure, Outcome};
use mh_kit::instrument::parse_interval;
use mh_kit::instrument::{Format, FormatArgs};
use mh_kit::report::{json_line, print_as};
use mh_kit::shared_args::with_help;
use pair::PairArgs;
use screen::SharedHost;
use session::{HostSession, ShownMoment};
use std::path::PathBuf;
use std::time::Duration;
use table::TableChoice;
use web::{WebArgs, WebServer};

/// How messages begin.
const NAME: &str = "mh sysstat";

/// The registry's line.
pub const ENTRY: Entry = Entry::new("sysstat", Group::See, Signals::Own, command, run);

/// Show every metric of this host, and what is wrong with it
///
/// On a terminal a screen that is drawn anew each INTERVAL; elsewhere, or with --plain, a line each, as vmstat prints. The first line says
/// what holds the host back, by whom, and what would help.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
struct SysstatArgs {
    #[command(subcommand)]
    order: Option<FleetOrder>,

    /// Time between two looks [default: 1], then how many, or hosts that ssh reaches: web[1-9], user@host
    #[arg(value_name = "INTERVAL|COUNT|HOST")]
    words: Vec<String>,

    /// Look COUNT times and end, as with COUNT behind INTERVAL; 0 goes on until Ctrl-C
    #[arg(short = 'n', long, value_name = "COUNT", conflicts_with_all = ["once", "replay", "daemon"])]
    count: Option<u64>,

    /// A line an interval, also on a terminal
    #[arg(long, conflicts_with_all = ["once"])]
    plain: bool,

    /// The screen's text once, after one interval: the first 40 processes, or all with --long
    #[arg(long)]
    once: bool,

    /// Without processes
    #[arg(long, hide_short_help = true)]
    header: bool,

    /// Write every look to FILE, or to a file a day in the directory DIR; one that is there is gone on with
    #[arg(long, value_name = "FILE|DIR")]
    record: Option<PathBuf>,

    /// Remove files of a --record DIR that are older than so many days
    #[arg(long, value_name = "DAYS", requires = "record", value_parser = clap::value_parser!(u32).range(1..=36_500), hide_short_help = true)]
    keep: Option<u32>,

    /// Show a recording, with the same keys
    #[arg(long, value_name = "FILE", conflicts_with_all = ["record"])]
    replay: Option<PathBuf>,

    #[command(flatten)]
    fleet: FleetArgs,

    #[command(flatten)]
    web: WebArgs,

    #[command(flatten)]
    format: FormatArgs,
}

/// Many hosts, as typed.
#[derive(Args, Debug)]
struct FleetArgs {
    /// Read hosts from FILE, one a line (may be given again)
    #[arg(long, value_name = "FILE")]
    hosts: Vec<PathBuf>,

    /// All hosts of this user's fleet, also without a screen
    #[arg(long, conflicts_with_all = ["alone", "record", "replay"])]
    fleet: bool,

    /// Look at this host alone, though this user has the key of a fleet
    #[arg(long)]
    alone: bool,

    /// Be this host's agent: silent until a viewer of a fleet asks that it trusts (see mh sysstat key)
    #[arg(short = 'd', long, conflicts_with_all = ["hosts", "record", "replay", "once", "plain"])]
    daemon: bool,

    /// Show a screen without answering viewers of the fleets that this host trusts
    #[arg(long, conflicts_with = "daemon", hide_short_help = true)]
    no_answer: bool,

    /// The agents' port
    #[arg(long, value_name = "PORT", default_value_t = DEFAULT_PORT, hide_short_help = true)]
    port: u16,

    /// Only this network interface (may be given again)
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    interface: Vec<String>,

    /// How mh is called on hosts that ssh reaches
    #[arg(long, value_name = "PROGRAM", default_value = "mh", hide_short_help = true)]
    program: String,

    /// Send samples to standard output, for a viewer elsewhere
    #[arg(long, hide = true)]
    feed: bool,
}

#[derive(Debug, Subcommand)]
enum FleetOrder {
    Key(KeyArgs),
    Enroll(EnrollArgs),
    Pair(PairArgs),
}

fn command() -> Command {
    let usage = "mh sysstat [OPTIONS] [INTERVAL [COUNT]]\n       mh sysstat [OPTIONS] [INTERVAL] HOST...\n       mh sysstat [OPTIONS] --replay FILE\n       \
        mh sysstat -d\n       mh sysstat key|enroll|pair ...";
    let command = SysstatArgs::augment_args(Command::new("sysstat"));
    let command = with_help(command, "json", "Print one JSON object an interval");
    command.override_usage(usage).after_help(
        "Examples:\n  mh sysstat                            this host, on a screen; ? shows the keys\n  \
         mh sysstat --once                     one look as text\n  \
         mh sysstat web[1-9] db1               these hosts by ssh, a row each; Enter opens one\n  \
         mh sysstat 5 12 | tee log             a line every five seconds, for a minute\n  \
         mh sysstat --record /var/log/mh 10 --keep 30   a file a day, for 30 days\n  \
         mh sysstat --web                      in a browser, at the URL that is printed\n  \
         mh sysstat --metrics=:9101 5          for Prometheus, sampled every five seconds\n  \
         mh sysstat --replay /var/log/mh/20261129.mhstat   b jumps to a time",
    )
}

/// How often, how many times, and at whom.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Looks {
    interval: Duration,
    count: Option<u64>,
    /// For ssh; none for this host, or for the fleet.
    hosts: Vec<String>,
}

/// What is looked at where nobody says: what people expect of a monitor.
const INTERVAL: Duration = Duration::from_secs(1);

impl Looks {
    /// Reads `[INTERVAL] [COUNT|HOST...]`.
    fn read(words: &[String]) -> Result<Self, Failure> {
        let wrong = |message: String| Failure::Usage { command: NAME, message };
        let mut looks = Self { interval: INTERVAL, count: None, hosts: Vec::new() };
        let mut rest = words;
        // What begins with a digit or a point is meant as a time; hosts by address are told by their points and colons.
        let is_like_a_time = |word: &String| {
            word.starts_with(|letter: char| letter.is_ascii_digit() || matches!(letter, '.' | '-'))
                && word.matches(['.', ':']).count() < 2
        };
        if let Some((first, others)) = words.split_first().filter(|(first, _)| is_like_a_time(first)) {
            let quoted = terminal::quote_text(first);
            if first.contains(':') {
                return Err(wrong(format!(
                    "INTERVAL is {quoted}: an address is written --web={first} or --metrics={first}"
                )));
            }
            looks.interval =
                parse_interval(first).map_err(|reason| wrong(format!("INTERVAL is {quoted}: {reason}")))?;
            rest = others;
        }
        match rest {
            [word] if rest.len() < words.len() && word.bytes().all(|byte| byte.is_ascii_digit()) => {
                let count = word.parse().ok().filter(|count| *count > 0);
                let quoted = terminal::quote_text(word);
                looks.count =
                    Some(count.ok_or_else(|| wrong(format!("COUNT is {quoted}: a number above 0 is needed")))?);
            }
            [number, ..] if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                let quoted = terminal::quote_text(number);
                return Err(wrong(format!(
                    "{quoted} is no host, and COUNT comes last: INTERVAL COUNT, or INTERVAL HOST..."
                )));
            }
            hosts => looks.hosts = hosts.to_vec(),
        }
        Ok(looks)
    }

    /// With `--count` as typed.
    fn counted(mut self, typed: Option<u64>) -> Result<Self, Failure> {
        if let (Some(behind), Some(typed)) = (self.count, typed) {
            let message = format!("COUNT is {behind} behind INTERVAL, and --count is {typed}: one of them is enough");
            return Err(Failure::Usage { command: NAME, message });
        }
        self.count = self.count.or(typed.filter(|count| *count > 0));
        Ok(self)
    }
}

fn run(context: &mut Context, matches: &ArgMatches) -> Result<Outcome, Failure> {
    let args = SysstatArgs::from_arg_matches(matches).map_err(Failure::CommandLine)?;
    // It runs for months, and the kernel's types (5 MB), which are read at first, must not stay as gaps among small blocks.
    sys::allocator::keep_large_buffers_apart();
    if let Some(path) = &args.replay {
        return replay::replay(context, &args, path);
    }
    let places = FleetPlaces::find();
    let needs_home = || Failure::Environment { command: NAME, message: "find your home: HOME is not set".to_owned() };
    match (&args.order, &args.fleet) {
        (Some(FleetOrder::Key(key)), _) => return fleet_keys::key(NAME, &places.ok_or_else(needs_home)?, key),
        (Some(FleetOrder::Enroll(enroll)), _) => {
            return fleet_keys::enroll(NAME, context, &places.ok_or_else(needs_home)?, enroll);
        }
        (Some(FleetOrder::Pair(args)), _) => return pair::pair(NAME, &places.ok_or_else(needs_home)?, args),
        (None, FleetArgs { daemon: true, port, interface, .. }) => {
            return agent::run(NAME, context, &places.ok_or_else(needs_home)?, *port, interface.clone())
                .map(|()| Outcome::Done);
        }
        _ => {}
    }
    let looks = Looks::read(&args.words)?.counted(args.count)?;
    if args.fleet.feed {
        let host = LocalHost::open(NAME, &context.host, looks.interval)?;
        return feed_out::send(NAME, host).map(|()| Outcome::Done);
    }
    if let Some(outcome) = look_at_fleet(context, &args, &looks, places.as_ref())? {
        return Ok(outcome);
    }
    let mut host = LocalHost::open(NAME, &context.host, looks.interval)?;
    let facts = host.facts();
    let keeper = args.record.as_ref().map(|path| Keeper::open(NAME, path, args.keep, facts.clone()));
    let mut keeper = keeper.transpose()?;
    let is_text = args.format.format() == Format::Text;
    let has_screen = context.terminals.have_a_screen() && is_text && !args.plain && !args.once && looks.count.is_none();
    let session = HostSession::local(facts);
    let web = WebServer::start(NAME, &args.web, &session)?;
    if let Some(web) = &web {
        announce(context, web, !has_screen && is_quiet(&args))?;
    }
    if has_screen {
        let answers = answers_beside_screen(context, &args, places.as_ref());
        let notice: Vec<String> = web.iter().flat_map(|web| web.notice.clone()).chain(answers).collect();
        let notice = notice.join("  ");
        let sinks = Sinks { keeper: keeper.as_mut(), web: web.as_ref() };
        let shown = screen::show(NAME, session, looks.interval, notice, |shared| bring(&mut host, shared, sinks));
        return recorded(context, keeper.as_ref(), shown);
    }
    let printed =
        print(context, &args, &looks, &mut host, session, Sinks { keeper: keeper.as_mut(), web: web.as_ref() });
    recorded(context, keeper.as_ref(), printed)
}

/// Prints this host until it is enough.
fn print(
    context: &Context,
    args: &SysstatArgs,
    looks: &Looks,
    host: &mut LocalHost,
    mut session: HostSession,
    mut sinks: Sinks<'_>,
) -> Result<(), Failure> {
    let (mut looked, mut printed) = (0, 0);
    let count = if args.once { Some(1) } else { looks.count };
    loop {
        let (snapshot, is_last) = host.next()?;
        let report = sinks.keeper.as_mut().and_then(|keeper| keeper.write(&snapshot));
        report.into_iter().for_each(|text| context.messages.warning(NAME, &text, &[]));
        session.push(snapshot);
        sinks.web.iter().for_each(|web| web.publish(&session));
        let shown = session.latest();
        // The first look is what the others are counted from.
        if shown.earlier.is_some() {
            looked += 1;
            if !is_quiet(args) {
                print_as(NAME, &text(args, &session, &shown, printed))?;
                printed += 1;
            }
        }
        if is_last || count.is_some_and(|count| looked >= count) {
            return Ok(());
        }
    }
}

/// How a recording ends, by a signal too: it is an error if samples could not be written, however long ago that was.
fn recorded(context: &Context, keeper: Option<&Keeper>, ended: Result<(), Failure>) -> Result<Outcome, Failure> {
    let missed = keeper.map_or(0, Keeper::missed);
    if missed > 0 {
        let message = format!("could not record everything: {} missing", keep::samples_are(missed));
        context.messages.warning(NAME, &message, &[]);
    }
    ended.map(|()| if missed > 0 { Outcome::Partial } else { Outcome::Done })
}

/// Shows many hosts, where some are named, or this user has the key of a fleet. None where this host alone is meant.
fn look_at_fleet(
    context: &Context,
    args: &SysstatArgs,
    looks: &Looks,
    places: Option<&FleetPlaces>,
) -> Result<Option<Outcome>, Failure> {
    let is_text = args.format.format() == Format::Text;
    let has_screen = context.terminals.have_a_screen() && is_text && !args.plain && !args.once && looks.count.is_none();
    let are_named = !looks.hosts.is_empty() || !args.fleet.hosts.is_empty();
    let has_key = || places.is_some_and(|places| places.key.exists());
    // A script that asks for this host gets it, whoever's key is there.
    let is_for_eyes = has_screen || (args.web.serve_pages() && is_text && !args.plain && looks.count.is_none());
    let is_fleet = are_named
        || args.fleet.fleet
        || (is_for_eyes && !args.fleet.alone && args.record.is_none() && !args.web.serve_metrics() && has_key());
    if !is_fleet {
        return Ok(None);
    }
    if args.record.is_some() || args.web.serve_metrics() || !is_text {
        let message = "--record, --metrics, --json and --csv are of one host: run them there, by ssh".to_owned();
        return Err(Failure::Usage { command: NAME, message });
    }
    let wanted = WantedHosts {
        words: looks.hosts.clone(),
        files: args.fleet.hosts.clone(),
        port: args.fleet.port,
        interfaces: args.fleet.interface.clone(),
        program: args.fleet.program.clone(),
    };
    if args.fleet.fleet && !has_key() {
        let message = "find your fleet's key: mh sysstat key --new NAME makes one".to_owned();
        return Err(Failure::Environment { command: NAME, message });
    }
    let mut viewer = hosts::viewer(NAME, &wanted, places, looks.interval)?;
    let web = WebServer::start_fleet(NAME, &args.web, looks.interval)?;
    if has_screen {
        let answers = answers_beside_screen(context, args, places);
        let notice: Vec<String> = web.iter().flat_map(|web| web.notice.clone()).chain(answers).collect();
        let beside = |shared: &SharedFleet| web.iter().for_each(|web| web.publish_fleet(shared));
        fleet::show(NAME, &mut viewer, looks.interval, notice.join("  "), beside)?;
    } else if let Some(web) = web.as_ref().filter(|_| is_quiet(args)) {
        announce(context, web, true)?;
        hosts::serve(&mut viewer, looks.interval, web)?;
    } else {
        web.iter().try_for_each(|web| announce(context, web, false))?;
        let count = if args.once { 1 } else { looks.count.unwrap_or(0) };
        let look = args.format.look();
        let printed = hosts::print(context, &mut viewer, (looks.interval, count), !are_named, look, web.as_ref());
        return printed.map(Some);
    }
    Ok(Some(Outcome::Done))
}

/// Whoever looks at a screen of this host is seen by others of the fleet, as an agent is. Returns what the user should know of it.
fn answers_beside_screen(context: &Context, args: &SysstatArgs, places: Option<&FleetPlaces>) -> Option<String> {
    let FleetArgs { no_answer, port, interface, .. } = &args.fleet;
    let places = places.filter(|_| !no_answer)?;
    agent::answer_beside_screen(NAME, context, places, *port, interface.clone())
}

/// Whether nothing is to be printed: what is recorded or served, and nobody looks at here.
fn is_quiet(args: &SysstatArgs) -> bool {
    let goes_elsewhere = args.record.is_some() || args.web.serve();
    goes_elsewhere && !args.plain && !args.once && args.format.format() == Format::Text
}

/// Prints where the pages are: as the one thing that is printed, or beside what is.
fn announce(context: &Context, web: &WebServer, is_alone: bool) -> Result<(), Failure> {
    if is_alone {
        return print_as(NAME, &web.notice.iter().map(|line| format!("{line}\n")).collect::<String>());
    }
    web.notice.iter().for_each(|line| context.messages.note(NAME, line));
    Ok(())
}

/// Where snapshots go besides the screen.
struct Sinks<'a> {
    keeper: Option<&'a mut Keeper>,
    web: Option<&'a WebServer>,
}

/// Brings snapshots to the screen.
fn bring(host: &mut LocalHost, shared: &SharedHost, mut sinks: Sinks<'_>) -> Result<(), Failure> {
    loop {
        host.set_interval(shared.interval())?;
        let (snapshot, is_last) = host.next()?;
        if let Some(keeper) = &mut sinks.keeper {
            keeper.write(&snapshot).into_iter().for_each(|text| shared.report(text, keeper.is_failing()));
        }
        {
            let mut session = shared.session.lock();
            session.push(snapshot);
            sinks.web.iter().for_each(|web| web.publish(&session));
        }
        shared.ring();
        if is_last {
            return Ok(());
        }
    }
}

/// Columns of a text that no terminal bounds.
const COLUMNS: usize = 100;
/// Processes of a text.
const PROCESSES: usize = 40;
/// Lines between two headings.
const HEADING_EVERY: u64 = 20;

/// One interval as text.
fn text(args: &SysstatArgs, session: &HostSession, shown: &ShownMoment, printed: u64) -> String {
    let interval = shown.interval();
    let look = args.format.look();
    let lines = |lines: Vec<TintedLine>| lines.iter().map(|line| line.text(look.colour)).collect::<String>();
    match args.format.format() {
        Format::Json => json_line(&export::json(&interval, &session.facts, &session.accounts)),
        Format::Csv if printed == 0 => format!("{}\n{}", export::CSV_HEADING, export::csv(&interval)),
        Format::Csv => export::csv(&interval),
        Format::Text if args.once || args.header => {
            let clock = export::clock(interval.later.at.wall_ns);
            let filling = session.filling();
            let standing = session.standing(&clock, "", &filling);
            let width = look.columns.unwrap_or(COLUMNS).max(40);
            let mut all = layout::above(
                &interval,
                &standing,
                layout::ExpandedBands { devices: true, ..Default::default() },
                width,
                COLUMNS,
            );
            if !args.header {
                let snapshot = &shown.later;
                let processes = table::shown(snapshot, &session.accounts, &TableChoice::default());
                let most = if look.cut.is_none() && look.columns.is_some() { usize::MAX } else { PROCESSES };
                all.push(table::heading(table::ProcessOrder::Cpu, &bands::process_count(snapshot), width));
                all.extend(
                    processes
                        .iter()
                        .take(most)
                        .map(|process| table::row(process, snapshot, &session.accounts, None, width)),
                );
                all.extend(table::rest(snapshot, session.facts.is_contained));
            }
            lines(all)
        }
        Format::Text => {
            let heading = printed
                .is_multiple_of(HEADING_EVERY)
                .then(|| TintedLine::tinted(export::PLAIN_HEADING, terminal::Tint::Bold));
            lines(heading.into_iter().chain([export::plain(&interval)]).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_an_interval_and_a_count() {
        let read = |words: &[&str]| Looks::read(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()).ok();
        let looks = |interval, count, hosts: &[&str]| {
            Some(Looks { interval, count, hosts: hosts.iter().map(|host| (*host).to_owned()).collect() })
        };
        let half = Duration::from_millis(500);
        assert_eq!((read(&[]), read(&["500ms", "3"])), (looks(INTERVAL, None, &[]), looks(half, Some(3), &[])));
        assert_eq!(read(&["web7", "10.0.0.7"]), looks(INTERVAL, None, &["web7", "10.0.0.7"]));
        assert_eq!(read(&["500ms", "root@db[1-9]"]), looks(half, None, &["root@db[1-9]"]));
        assert_eq!(read(&["10.0.0.7"]), looks(INTERVAL, None, &["10.0.0.7"]));
        let counted = |words: &[&str], typed| read(words).and_then(|looks| looks.counted(typed).ok());
        assert_eq!(counted(&["500ms"], Some(3)), looks(half, Some(3), &[]), "--count is COUNT");
        assert_eq!(counted(&["500ms", "3"], None), looks(half, Some(3), &[]));
        assert_eq!((counted(&[], Some(0)), counted(&["1", "3"], Some(3))), (looks(INTERVAL, None, &[]), None));
        for bad in [&["0"][..], &["1", "0"], &["-5"], &["1", "6", "web7"], &["1", "2", "3"]] {
            assert_eq!(read(bad), None, "{bad:?}");
        }
    }
}
