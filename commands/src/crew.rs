//! `mh crew`: who holds the cores and why the others wait; and orders to runs that are under way.
//! Shows what stands in the table of this user's runs (`foundation/crew/BUDGET.md`); decides nothing.

mod run;
mod wait;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::registry::{Entry, Group, Signals};
use crate::report::print;
use crate::shared_args::PriorityArg;
use crate::sharing::crew_folder;
use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use crew::budget::census::{Census, Run, State, census};
use crew::budget::orders::{Order, Pause, give};
use crew::budget::table::TableError;
use crew::budget::{CrewFolder, Weight};
use std::time::Duration;
use terminal::{Align, Table};

/// How messages begin.
const NAME: &str = "mh crew";

/// The registry's line.
pub const ENTRY: Entry =
    Entry { name: "crew", group: Group::Manage, command, rewrite: |line| line, run, signals: Signals::Own };

/// Show which runs hold the cores, and give orders to them
///
/// All runs of a user share one budget of cores. Orders take effect at a run's next yield point: between two chunks.
#[derive(Args, Debug)]
struct CrewArgs {
    #[command(subcommand)]
    order: Option<OrderArgs>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum OrderArgs {
    /// Change a run's class or weight
    Set {
        /// Process id of the run
        pid: u32,
        /// Its new class
        #[arg(long, value_enum, value_name = "CLASS", required_unless_present = "weight")]
        priority: Option<PriorityArg>,
        /// Its new share within the class; 100 is usual
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=10_000))]
        weight: Option<u16>,
    },
    /// Have a run give back all its cores and keep what it has in memory
    Pause {
        /// Process id of the run
        pid: u32,
    },
    /// Let a paused run go on
    Resume {
        /// Process id of the run
        pid: u32,
    },
    Wait(wait::WaitArgs),
    Run(run::RunArgs),
}

fn command() -> Command {
    CrewArgs::augment_args(Command::new("crew")).after_help(
        "Examples:\n  mh crew                              who holds what, and why\n  \
         mh crew set 4711 --priority high     this one first\n  \
         mh crew pause 4711                   its cores to the others, for now\n  \
         mh crew run --priority low -- make   a program that knows nothing of hands\n  \
         mh crew wait 4711 && shutdown        when that one has ended",
    )
}

fn run(context: &mut Context, matches: &ArgMatches) -> Result<Outcome, Failure> {
    let args = CrewArgs::from_arg_matches(matches).map_err(Failure::CommandLine)?;
    let order = match args.order {
        // It runs without a table, too.
        Some(OrderArgs::Run(args)) => return run::run(context, &args),
        order => order,
    };
    let Some(folder) = crew_folder() else {
        return Err(Failure::Usage {
            command: NAME,
            message: "MH_CREW_DIR is empty: no runs share their cores".to_owned(),
        });
    };
    let (pid, order) = match order {
        None | Some(OrderArgs::Run(_)) => return show(&folder, args.json),
        Some(OrderArgs::Wait(args)) => return wait::run(context, &folder, &args),
        Some(OrderArgs::Set { pid, priority, weight }) => {
            let class = priority.map(PriorityArg::class);
            (pid, Order { class, weight: weight.map(Weight::new), ..Order::default() })
        }
        Some(OrderArgs::Pause { pid }) => (pid, Order { pause: Some(Pause::Rest), ..Order::default() }),
        Some(OrderArgs::Resume { pid }) => (pid, Order { pause: Some(Pause::GoOn), ..Order::default() }),
    };
    match give(&folder, pid, order).map_err(|error| failure("change the table", &error))? {
        0 => {
            let hint = ["mh crew shows those there are".to_owned()];
            context.messages.error(NAME, &format!("find a run of process {pid}: there is none"), &hint);
            Ok(Outcome::Partial)
        }
        _ => Ok(Outcome::Done),
    }
}

fn failure(operation: &str, error: &TableError) -> Failure {
    Failure::Environment { command: NAME, message: format!("{operation}: {}", crate::failure::with_causes(error)) }
}

fn show(folder: &CrewFolder, json: bool) -> Result<Outcome, Failure> {
    let census = census(folder).map_err(|error| failure("read the table", &error))?;
    let text =
        if json { format!("{}\n", serde_json::to_string(&census).expect("plain data")) } else { as_text(&census) };
    print(&text)?;
    Ok(Outcome::Done)
}

fn as_text(census: &Census) -> String {
    if census.runs.is_empty() {
        return "no run shares the cores now\n".to_owned();
    }
    let held = census.cpus - census.free.min(census.cpus);
    let lent: u32 = census.runs.iter().map(|run| run.lent).sum();
    let mut text = format!("{}: {held} held, {lent} lent, {} free", cores(census.cpus), census.free);
    if census.above_capacity > 0 {
        text.push_str(&format!("; {} above capacity", census.above_capacity));
    }
    text.push('\n');
    let mut table =
        Table::new(&[Align::Right, Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Left])
            .indented(2);
    table.row(["PID", "CLASS", "HOLDS", "WANTS", "USEFUL TO", "RUNNING", "WHAT"]);
    census.runs.iter().for_each(|run| table.row(cells(run)));
    text.push_str(&table.to_string());
    text
}

fn cores(count: usize) -> String {
    format!("{count} core{}", if count == 1 { "" } else { "s" })
}

fn cells(run: &Run) -> [String; 7] {
    let what = terminal::printable(&run.what).into_owned();
    let what = if run.state == State::Working { what } else { format!("{what}     {}: {}", state(run.state), run.why) };
    [
        run.pid.to_string(),
        format!("{:?}", run.class).to_lowercase(),
        holds(run),
        run.wants.to_string(),
        run.useful.to_string(),
        terminal::duration_coarse(Duration::from_secs(run.seconds)),
        what,
    ]
}

/// Hands of its own, and those it uses that are counted elsewhere.
fn holds(run: &Run) -> String {
    match run.inherited + run.external {
        0 => run.holds.to_string(),
        others => format!("{} +{others}", run.holds),
    }
}

fn state(state: State) -> String {
    format!("{state:?}").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crew::budget::Priority;

    #[test]
    fn a_run_that_waits_says_why() {
        let run = Run {
            pid: 9001,
            class: Priority::Idle,
            weight: Weight::default(),
            holds: 0,
            above_capacity: 0,
            lent: 0,
            inherited: 0,
            external: 0,
            wants: 64,
            useful: 64,
            seconds: 480,
            what: "tar\u{1b}".to_owned(),
            state: State::Waiting,
            why: "runs of a higher class have the CPUs".to_owned(),
        };
        let census = Census { cpus: 64, free: 6, above_capacity: 1, runs: vec![run] };
        let text = as_text(&census);
        assert!(text.starts_with("64 cores: 58 held, 0 lent, 6 free; 1 above capacity\n"), "{text}");
        assert!(text.contains("waiting: runs of a higher class") && !text.contains('\u{1b}'), "{text}");
        assert_eq!(as_text(&Census::default()), "no run shares the cores now\n");
    }
}
