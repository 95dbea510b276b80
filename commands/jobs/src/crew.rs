//! `mh crew`: who holds the cores and why the others wait; and orders to runs that are under way.
//! Shows what stands in the table of this user's runs (`foundation/crew/BUDGET.md`); decides nothing.

mod other_versions;
pub mod run;
mod screen;
mod show;
mod unread_slots;
mod usage;
mod wait;

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use crew::budget::census::census;
use crew::budget::orders::{PauseOrder, RunOrder, give};
use crew::budget::table::TableError;
use crew::budget::{CrewDirectory, Weight};
use mh_kit::context::Context;
use mh_kit::entry::{Entry, Group, Signals};
use mh_kit::failure::{Failure, Outcome};
use mh_kit::instrument::look::LookArgs;
use mh_kit::instrument::parse_interval;
use mh_kit::report::{json_line, print};
use mh_kit::shared_args::{PriorityArg, parse_weight};
use mh_kit::sharing::crew_directory;
use show::CensusView;
use std::time::Duration;
use usage::{OwnSession, UsageLook};

/// How messages begin.
const NAME: &str = "mh crew";

/// The registry's line.
pub const ENTRY: Entry = Entry::new("crew", Group::Manage, Signals::Own, command, run);

/// Show which runs hold the cores, and control them
///
/// All runs of a user share one budget of cores. Orders take effect at a run's next yield point, mostly within 50 ms.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
struct CrewArgs {
    #[command(subcommand)]
    order: Option<OrderArgs>,

    /// Time between two looks of a live view or a repeated list [default: 1]
    #[arg(value_name = "INTERVAL", value_parser = parse_look_every)]
    interval: Option<Duration>,

    /// Print the list COUNT times; 0 goes on until Ctrl-C. On a terminal the default is a live view, elsewhere 1
    #[arg(short = 'n', long, value_name = "COUNT")]
    count: Option<u64>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Print which run holds which cores now, and exit: the same as -n 1
    #[arg(long, conflicts_with = "count")]
    once: bool,

    #[command(flatten)]
    look: LookArgs,
}

#[derive(Debug, Subcommand)]
enum OrderArgs {
    /// Change a run's class or weight
    #[command(group(clap::ArgGroup::new("change").required(true).multiple(true)))]
    Set {
        /// Process id of the run
        pid: u32,
        /// Its new class
        #[arg(long, value_enum, value_name = "CLASS", group = "change")]
        priority: Option<PriorityArg>,
        /// Its new share within the class; 100 is usual
        #[arg(long, value_name = "N", value_parser = parse_weight(), group = "change")]
        weight: Option<u16>,
    },
    /// Make a run give back all its cores; it keeps its memory
    Pause {
        /// Process id of the run
        pid: u32,
    },
    /// Resume a paused run
    Resume {
        /// Process id of the run
        pid: u32,
    },
    Wait(wait::WaitArgs),
    Run(run::RunArgs),
}

/// A word that is no time is mostly a command that was typed wrong.
fn parse_look_every(text: &str) -> Result<Duration, String> {
    parse_interval(text).map_err(|reason| format!("crew has no such command, and as an INTERVAL it is {reason}"))
}

/// How often a live view looks where nobody says: its figures go on, and cores that nobody waits for move in silence.
const LOOK_EVERY: Duration = Duration::from_secs(1);

fn command() -> Command {
    let command = CrewArgs::augment_args(Command::new("crew")).mut_subcommand("run", run::described);
    command.after_help(
        "Examples:\n  mh crew                              which run holds which cores, and why\n  \
         mh crew -n 0 10                      the same as a list, every ten seconds\n  \
         mh crew set 4711 --priority high     this one first\n  \
         mh crew pause 4711                   its cores to the others, for now\n  \
         mh crew resume 4711                  it goes on\n  \
         mh crew run --priority low -- make   a program that knows nothing of hands\n  \
         mh crew wait 4711 && shutdown        when that one has ended",
    )
}

fn run(context: &mut Context, matches: &ArgMatches) -> Result<Outcome, Failure> {
    let mut args = CrewArgs::from_arg_matches(matches).map_err(Failure::CommandLine)?;
    let order = match args.order.take() {
        // It runs without a table, too.
        Some(OrderArgs::Run(args)) => return run::run(context, args),
        order => order,
    };
    let Some(directory) = crew_directory() else {
        return Err(Failure::Usage {
            command: NAME,
            message: "MH_CREW_DIR is empty: no runs share their cores".to_owned(),
        });
    };
    let (pid, order) = match order {
        None | Some(OrderArgs::Run(_)) => {
            let is_live = context.terminals.have_a_screen() && !args.json && !args.once && args.count.is_none();
            let every = args.interval.unwrap_or(LOOK_EVERY);
            return match is_live {
                true => screen::open(&directory, every, args.look.look().colour),
                false => show_repeatedly(context, &directory, &args, every),
            };
        }
        Some(OrderArgs::Wait(args)) => return wait::run(context, &directory, &args),
        Some(OrderArgs::Set { pid, priority, weight }) => {
            let class = priority.map(PriorityArg::class);
            (pid, RunOrder { class, weight: weight.map(Weight::new), ..RunOrder::default() })
        }
        Some(OrderArgs::Pause { pid }) => (pid, RunOrder { pause: Some(PauseOrder::Rest), ..RunOrder::default() }),
        Some(OrderArgs::Resume { pid }) => (pid, RunOrder { pause: Some(PauseOrder::GoOn), ..RunOrder::default() }),
    };
    match give(&directory, pid, order).map_err(|error| failure("change the table", &error))? {
        0 => {
            let hint = ["mh crew shows those there are".to_owned()];
            context.messages.error(NAME, &format!("find a run of process {pid}: there is none"), &hint);
            Ok(Outcome::Partial)
        }
        _ => Ok(Outcome::Done),
    }
}

fn failure(operation: &str, error: &TableError) -> Failure {
    Failure::Environment { command: NAME, message: format!("{operation}: {}", mh_kit::failure::with_causes(error)) }
}

/// The list, as often as was asked for.
fn show_repeatedly(
    context: &Context,
    directory: &CrewDirectory,
    args: &CrewArgs,
    every: Duration,
) -> Result<Outcome, Failure> {
    let count = args.count.unwrap_or(1);
    let (mut shown, mut earlier) = (0, None);
    loop {
        if shown > 0 && !args.json {
            print("\n")?;
        }
        earlier = Some(show(context, directory, args, earlier.as_ref())?);
        shown += 1;
        if count > 0 && shown >= count {
            return Ok(Outcome::Done);
        }
        std::thread::sleep(every);
    }
}

/// The list once; what was used is counted from `earlier` on, or from the beginning of each run.
fn show(
    context: &Context,
    directory: &CrewDirectory,
    args: &CrewArgs,
    earlier: Option<&UsageLook>,
) -> Result<UsageLook, Failure> {
    let mut census = census(directory).map_err(|error| failure("read the table", &error))?;
    if census.runs.is_empty() {
        // Nobody has said which CPUs are to be shared: all that a run would find.
        (census.cpus, census.free) = (context.machine.hands_allowed(), context.machine.hands_allowed());
    }
    let now = UsageLook::now(&census);
    if args.json {
        print(&json_line(&census))?;
        return Ok(now);
    }
    let usage = earlier.map_or_else(|| now.on_average(&census), |earlier| now.since(earlier));
    let own = OwnSession::of(&census);
    let others = if earlier.is_none() { other_versions::living(directory) } else { Vec::new() };
    if let Some(text) = other_versions::remark(&others) {
        context.messages.note(NAME, &text);
    }
    print(&show::as_text(&CensusView { census, usage, own }, args.look.look()))?;
    Ok(now)
}
