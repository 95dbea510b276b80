//! `mh innodb`: checks the pages of InnoDB tablespaces on all cores, beside a running server or without one.
//! Judges no page (engines/innodb); decides which files are checked, on how many hands, and how the results are printed.

mod dumped;
mod json;
mod plan;
mod shown;

use ::innodb::check::{PageCheck, check};
use ::innodb::datadir;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use crew::budget::Request;
use crew::measures::Measures;
use crew::tally::Tally;
use mh_kit::context::Context;
use mh_kit::entry::{Entry, Group, Signals};
use mh_kit::failure::{Failure, Outcome, with_causes};
use mh_kit::report::show_plan;
use mh_kit::shared_args::SharedArgs;
use mh_kit::sharing::{self, Shared};
use plan::CheckJob;
use shown::{CheckExit, ShownOutcomes};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use terminal::{Progress, ProgressSample, Verbosity, quote};

/// How messages begin.
const NAME: &str = "mh innodb";

/// The registry's line.
pub const ENTRY: Entry = Entry::new("innodb", Group::Do, Signals::TidyUp, command, run);

/// Check the pages of InnoDB tablespaces on all cores
///
/// Each FILE is a tablespace (t.ibd, ibdata1, undo001) or a server's data directory, in which all tablespaces are found. Checksum, page
/// number, space id and log sequence number of every page are compared, as innochecksum does. The server may run: no lock is taken,
/// and a page that does not pass is read again before it is called corrupt. Nothing is changed.
#[derive(Args, Debug)]
pub struct InnodbArgs {
    /// Tablespaces and data directories; `check` before them is allowed
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Print page types and indexes of each file
    #[arg(short = 'S', long)]
    pub summary: bool,

    /// Print page number PAGE of FILE, field by field and byte by byte
    #[arg(long, value_name = "PAGE", conflicts_with = "summary")]
    pub dump: Option<u32>,

    /// Print one JSON object a file, and one for all of them
    #[arg(long)]
    pub json: bool,

    /// Print only corrupt pages and errors
    #[arg(short = 'q', long, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Print a line for each file
    #[arg(short = 'v', long)]
    pub verbose: bool,

    /// Hands, priority, memory, plan and report.
    #[command(flatten)]
    pub shared: SharedArgs,
}

fn command() -> Command {
    InnodbArgs::augment_args(Command::new("innodb")).version(env!("CARGO_PKG_VERSION")).after_help(
        "Examples:\n  mh innodb /var/lib/mysql              every tablespace of a server, running or not\n  \
         mh innodb shop/orders.ibd             one table\n  \
         mh innodb --summary shop/orders.ibd   and what its pages are\n  \
         mh innodb --dump 3 shop/orders.ibd    page 3, field by field\n  \
         mh innodb --json /backup | jq -r 'select(.corrupt > 0).file'\n\n\
         Exit codes: 0 no page is corrupt, 1 a page is corrupt, 2 something could not be read",
    )
}

fn run(context: &mut Context, matches: &ArgMatches) -> Result<Outcome, Failure> {
    let mut args = InnodbArgs::from_arg_matches(matches).map_err(Failure::CommandLine)?;
    args.shared.settle(&context.settings.crew);
    drop_verb(&mut args)?;
    let verbosity = if args.quiet { Verbosity::Quiet } else { Verbosity::Normal };
    context.messages = context.terminals.messages(verbosity);
    if let Some(page) = args.dump {
        return dumped::show(context, &args, page);
    }
    let inputs = find(context, &args.files);
    let job = plan::plan(context, &args, inputs)?;
    if args.shared.explain {
        show_plan(context, &job.plan, args.shared.report)?;
        return Ok(Outcome::Done);
    }
    let shown = ShownOutcomes::new(context, &args, &job);
    let (measures, hands_from) = carry_out(context, &args, &job, &shown);
    let exit = shown.finish()?;
    shown::report(context, &args, &job, &measures, hands_from);
    Ok(match exit {
        CheckExit::Good => Outcome::Done,
        CheckExit::Corrupt => Outcome::Code(1),
        CheckExit::Unread => Outcome::Code(2),
    })
}

/// The word `check` says what is done anyway. A file of that name is `./check`.
fn drop_verb(args: &mut InnodbArgs) -> Result<(), Failure> {
    if args.files[0] == Path::new("check") {
        args.files.remove(0);
    }
    if args.files.is_empty() {
        let message = "there is no FILE to check".to_owned();
        return Err(Failure::Usage { command: NAME, message });
    }
    Ok(())
}

/// What is to be checked, and how many names came to nothing.
pub struct FoundFiles {
    files: Vec<PathBuf>,
    failed: usize,
}

/// Looks into directories. What cannot be looked at is reported and counted.
fn find(context: &Context, typed: &[PathBuf]) -> FoundFiles {
    let mut inputs = FoundFiles { files: Vec::new(), failed: 0 };
    let mut fail = |message: &str, hints: &[String]| {
        context.messages.error(NAME, message, hints);
        inputs.failed += 1;
    };
    for path in typed {
        if !path.is_dir() {
            inputs.files.push(path.clone());
            continue;
        }
        let found = datadir::find(path);
        if found.files.is_empty() && found.failed.is_empty() {
            let hint = "name the files if they are not called *.ibd, ibdata1 or undo001".to_owned();
            fail(&format!("check {}: no tablespace is in it", quote(path)), &[hint]);
        }
        for (path, error) in &found.failed {
            fail(&format!("look into {}: {}", quote(path), with_causes(error)), &[]);
        }
        inputs.files.extend(found.files);
    }
    inputs
}

/// LIMIT: bytes up to which a run is over before others could notice it.
const BRIEF_BYTES: u64 = 4 << 20;

fn carry_out(
    context: &Context,
    args: &InnodbArgs,
    job: &CheckJob,
    shown: &ShownOutcomes<'_>,
) -> (Measures, Option<&'static str>) {
    let (width, priority) = (job.staffing.width, args.shared.priority().class());
    let shared = match job.bytes {
        ..=BRIEF_BYTES => Shared::alone(width),
        _ => sharing::budget(context, width, priority),
    };
    if let Some(why) = &shared.why_alone {
        sharing::tell_why_alone(context, NAME, why);
    }
    let what = format!("innodb: {}", job.plan.purpose);
    let request = Request { priority, weight: args.shared.weight(), useful_width: width, what };
    let lease = shared.budget.lease(request);
    let hands_from = shared.hands_from(lease.as_ref());
    let tally = Arc::new(Tally::default());
    let progress = progress(context, job, &tally);
    let on_file = |number: usize, outcome| shown.file(number, outcome);
    let what = PageCheck { files: &job.files, takes_census: args.summary, on_file: &on_file };
    let measures = check(&what, &job.staffing, lease.as_ref(), &tally);
    drop(progress);
    (measures, hands_from)
}

fn progress(context: &Context, job: &CheckJob, tally: &Arc<Tally>) -> Progress {
    let (tally, label, bytes) = (Arc::clone(tally), job.label.clone(), job.bytes);
    Progress::start(&context.messages, move || ProgressSample {
        label: label.clone(),
        done_bytes: tally.bytes_in(),
        total_bytes: Some(bytes),
        hands: Some(tally.hands()),
        ..ProgressSample::default()
    })
}
