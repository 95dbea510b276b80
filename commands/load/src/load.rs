//! `mh load`: honest load on a database. Decides what is loaded with what, runs the engine `load`, and shows what it took.

mod args;
mod echo_process;
mod history;
mod html;
mod live;
mod oltp_args;
pub(crate) mod plan;
mod report;
mod search;
mod shown;
mod stopping;
mod study;
mod study_args;
mod sweep;

use crate::page_target::PageTarget;
use ::load::late::WhoWasLate;
use ::load::run::{IntervalReport, RunReport, Watcher, run as run_load};
pub(crate) use args::{ActionArg, LoadArgs};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use history::{History, MomentMaker};
use live::LiveRun;
use mh_kit::context::Context;
use mh_kit::descriptors;
use mh_kit::entry::{Entry, Group, Signals};
use mh_kit::failure::{Failure, Outcome};
use mh_kit::report::{json_line, print_as};
pub(crate) use plan::PreparedLoad;
pub(crate) use stopping::Stopping;

/// How messages begin.
const NAME: &str = "mh load";

/// The registry's line. An interrupted run reports what it has measured.
pub const ENTRY: Entry = Entry::new("load", Group::See, Signals::Own, command, run);

/// The exit code where the generator was the limit, so that times say nothing about the server.
const GENERATOR_WAS_LIMIT: u8 = 3;

fn command() -> Command {
    LoadArgs::augment_args(Command::new("load")).after_help(
        "Examples:\n  mh load                                   a SQLite database in a temporary directory, ten seconds\n  \
         mh load echo -c 8 --rate 5000             a server of our own, whose times are known\n  \
         mh load postgres:///app 'select now()'    a statement of yours, over and over\n  \
         mh load postgres:///app tpcb prepare      the tables of a workload\n  \
         mh load postgres:///app -R 200..2000@60s  more and more of it\n  \
         mh load postgres:///app --find-max 'p99<10ms'  the highest rate that users still find fast\n\n\
         Exit codes: 0 measured, 1 an error ended the run, 2 wrong command line, 3 the generator was the limit",
    )
}

fn run(context: &mut Context, matches: &ArgMatches) -> Result<Outcome, Failure> {
    let args = LoadArgs::from_arg_matches(matches).map_err(Failure::CommandLine)?;
    if let Some(server) = &args.serve_echo {
        return echo_process::serve(server);
    }
    if args.live && !context.terminals.have_a_screen() {
        let message = "--live needs a terminal as its standard input and output, and TERM".to_owned();
        return Err(Failure::Usage { command: NAME, message });
    }
    make_room(args.study.connections_most().unwrap_or(args.connections as usize))?;
    let stopping = Stopping::begin().map_err(|error| environment(format!("could not hold back signals: {error}")))?;
    for warning in plan::warnings(&args)? {
        context.messages.warning(NAME, &warning, &[]);
    }
    if args.action != ActionArg::Run {
        context.messages.note(NAME, &plan::arrange(&args, &stopping)?);
        return Ok(Outcome::Done);
    }
    let page = args.html.as_deref().map(PageTarget::check).transpose().map_err(environment)?;
    let mut prepared = plan::prepare(&args, &stopping)?;
    if let Some(goal) = &args.study.find_max {
        let how = format!("the highest rate that holds {goal}, runs of");
        context.messages.note(NAME, &shown::opening_of(&prepared, &how));
        return search::find(context, &args, &mut prepared, &stopping, goal);
    }
    if let Some(plan) = &args.study.sweep {
        context.messages.note(NAME, &shown::opening_of_sweep(&prepared, plan));
        return sweep::sweep(context, &args, &mut prepared, &stopping, page.as_ref());
    }
    context.messages.note(NAME, &shown::opening(&prepared));
    let live = if args.live { Some(LiveRun::begin(&prepared)?) } else { None };
    let mut watcher = RunWatcher {
        args: &args,
        stopping: &stopping,
        failed: None,
        moments: MomentMaker::new(&prepared.plan),
        history: page.is_some().then(History::default),
        live,
    };
    let workload = std::sync::Arc::clone(&prepared.workload);
    let report = run_load(&prepared.plan, &prepared.target, &*workload, prepared.meter.as_mut(), &mut watcher);
    let RunWatcher { failed, history, live, .. } = watcher;
    live.into_iter().for_each(LiveRun::end);
    let report = report.map_err(not_begun)?;
    if let Some(failure) = failed {
        return Err(failure);
    }
    let outcome = conclude(context, &args, &prepared, &report)?;
    if let Some((page, history)) = page.zip(history) {
        page.write(&html::page(&prepared, &report, &history)).map_err(environment)?;
    }
    Ok(outcome)
}

/// Something that could not be done; said as `could not MESSAGE`, which the engine's messages begin with already.
fn environment(message: String) -> Failure {
    let message = message.strip_prefix("could not ").map(str::to_owned).unwrap_or(message);
    Failure::Environment { command: NAME, message }
}

/// Why a run did not begin: what could not be done, or the database's own words.
fn not_begun(message: String) -> Failure {
    match message.strip_prefix("could not ") {
        Some(_) => environment(message),
        None => environment(format!("begin the load: {message}")),
    }
}

/// LIMIT: descriptors for everything but connections.
const OTHERS_OPEN: usize = 64;

/// Each connection is a descriptor; SQLite has three files for one.
pub(crate) fn make_room(connections: usize) -> Result<(), Failure> {
    descriptors::make_room_for(3 * connections + OTHERS_OPEN).or_else(|allowed| {
        descriptors::make_room_for(connections + OTHERS_OPEN).or(Err(Failure::Environment {
            command: NAME,
            message: format!(
                "make {connections} connections: this process may have {allowed} descriptors (ulimit -Hn)"
            ),
        }))
    })
}

/// Shows the whole run, and decides the exit code.
fn conclude(
    context: &Context,
    args: &LoadArgs,
    prepared: &PreparedLoad,
    report: &RunReport,
) -> Result<Outcome, Failure> {
    match args.json {
        true => print_as(NAME, &json_line(&report::end(prepared, report)))?,
        false => print_as(NAME, &shown::end(prepared, report))?,
    }
    if let Some(path) = &args.hgrm {
        report::write_hgrm(path, report)?;
    }
    if report.error.is_none() && report.ledger.succeeded() == 0 && report.ledger.failures() > 0 {
        let first = report.first_refusal.as_deref().unwrap_or("the connections were lost");
        context.messages.refusal(NAME, &format!("no transaction succeeded: {first}"), &[]);
        return Ok(Outcome::Partial);
    }
    if let Some(error) = &report.error {
        let hints = if prepared.has_tables { vec![HINT_PREPARE.to_owned()] } else { Vec::new() };
        context.messages.refusal(NAME, &format!("the run ended early: {error}"), &hints);
        return Ok(Outcome::Partial);
    }
    Ok(match report.late {
        WhoWasLate::Generator { .. } => Outcome::Code(GENERATOR_WAS_LIMIT),
        WhoWasLate::Nobody | WhoWasLate::Server => Outcome::Done,
    })
}

/// For whoever forgot it: which error says so is every database's own affair.
const HINT_PREPARE: &str = "the workload's tables are made by the same command line with prepare behind the workload";

/// A line for each interval, or a screen of them; for a page they are kept.
struct RunWatcher<'a> {
    args: &'a LoadArgs,
    stopping: &'a Stopping,
    failed: Option<Failure>,
    moments: MomentMaker,
    history: Option<History>,
    live: Option<LiveRun>,
}

impl RunWatcher<'_> {
    fn keep(&mut self, report: &IntervalReport<'_>) {
        if self.history.is_none() && self.live.is_none() {
            return;
        }
        let Some(moment) = self.moments.moment(report) else { return };
        if let Some(live) = &self.live {
            live.show(moment.clone(), report.ledger);
        }
        if let Some(history) = &mut self.history {
            history.push(moment);
        }
    }

    fn print(&mut self, text: &str) {
        if let Err(failure) = print_as(NAME, text) {
            self.failed = Some(failure);
        }
    }
}

impl Watcher for RunWatcher<'_> {
    fn begins(&mut self) {
        if !self.args.json && self.live.is_none() {
            self.print(&shown::heading());
        }
    }

    fn interval(&mut self, report: &IntervalReport<'_>) -> bool {
        self.keep(report);
        match (&self.live, self.args.json) {
            (Some(_), _) => {}
            (None, true) => self.print(&json_line(&report::interval(report))),
            (None, false) => self.print(&shown::interval(report)),
        }
        self.failed.is_none()
    }

    fn wants_to_stop(&mut self) -> bool {
        self.failed.is_some() || self.stopping.is_wanted()
    }
}
