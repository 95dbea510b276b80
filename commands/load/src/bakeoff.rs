//! `mh bakeoff`: fair comparisons. Arms are measured in turns, on a server that is started anew each time, until their intervals are narrow.

mod args;
mod arms;
mod commands;
mod file;
mod findings;
mod journal;
mod sheet;
mod shown;
mod work_place;

use crate::load::Stopping;
use crate::page_target::PageTarget;
use ::load::bakeoff::agenda::{Agenda, AgendaProgress, NextStart, WhyEnough};
use ::load::statistics::Bootstrap;
use args::BakeoffArgs;
use arms::{ArmBench, check_loads};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use commands::CommandBench;
use file::BakeoffFile;
use findings::{BakeoffFindings, ComparedArms, OF_COMMANDS, OF_SERVERS, values};
use journal::{ResultJournal, StartRecord};
use mh_kit::context::Context;
use mh_kit::entry::{Entry, Group, Signals};
use mh_kit::failure::{Failure, Outcome};
use mh_kit::report::{json_line, print_as};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::error_text::message;

/// How messages begin.
const NAME: &str = "mh bakeoff";

/// The registry's line. An interrupted comparison reports what it has measured.
pub const ENTRY: Entry = Entry::new("bakeoff", Group::See, Signals::Own, command, run);

/// The exit code of a comparison that the user ended: 128 and SIGINT, as a shell has it.
const INTERRUPTED: u8 = 130;

fn command() -> Command {
    BakeoffArgs::augment_args(Command::new("bakeoff")).after_help(
        "Examples:\n  mh bakeoff --command 'gzip -k -f big' 'mh tamp --format gz -k -f big'\n  \
         mh bakeoff allocators.toml --html allocators.html\n  \
         mh bakeoff allocators.toml --resume --at-most 40   measure more\n\n\
         Exit codes: 0 measured, 1 an error ended it (what was measured is kept), 2 wrong command line or file, 130 interrupted",
    )
}

fn usage(message: String) -> Failure {
    Failure::Usage { command: NAME, message }
}

/// Something that could not be done; said as `could not MESSAGE`.
fn environment(message: String) -> Failure {
    let message = message.strip_prefix("could not ").map(str::to_owned).unwrap_or(message);
    Failure::Environment { command: NAME, message }
}

fn run(context: &mut Context, matches: &ArgMatches) -> Result<Outcome, Failure> {
    let args = BakeoffArgs::from_arg_matches(matches).map_err(Failure::CommandLine)?;
    let page_target = args.html.as_deref().map(PageTarget::check).transpose().map_err(environment)?;
    let stopping = Stopping::begin().map_err(|error| environment(format!("hold back signals: {}", message(&error))))?;
    let request = Request { args: &args, stopping: &stopping, page_target };
    if args.command { of_commands(context, &request) } else { of_file(context, &request) }
}

/// What the user wants.
struct Request<'a> {
    args: &'a BakeoffArgs,
    stopping: &'a Stopping,
    page_target: Option<PageTarget>,
}

fn of_file(context: &Context, request: &Request<'_>) -> Result<Outcome, Failure> {
    let Request { args, stopping, .. } = *request;
    let [path] = &args.what[..] else {
        return Err(usage("it takes one file; --command compares commands".to_owned()));
    };
    let path = Path::new(path);
    let text = std::fs::read_to_string(path)
        .map_err(|error| environment(format!("read {}: {}", terminal::quote(path), message(&error))))?;
    let file = BakeoffFile::parse(path, &text)?;
    check_loads(&file)?;
    let results = args.results.clone().unwrap_or_else(|| beside(path));
    let is_same = |begun: &BakeoffFile| begun.measures_as(&file);
    let mut journal = journal(args, Some(&results), &file, is_same, [file.arms.len(), file.loads.len()])?;
    let repeat = &file.repeat;
    let [least, most] = rounds(args, [repeat.at_least, repeat.at_most])?;
    let agenda = Agenda {
        arms: file.arms.len(),
        least,
        most,
        relative_width: args.width.unwrap_or(repeat.width_percent) / 100.0,
        budget: args.budget.or(repeat.budget.map(|time| time.0)),
    };
    let compared = ComparedArms {
        title: &file.title,
        arms: file.arms.iter().map(|arm| arm.name.as_str()).collect(),
        loads: file.loads.iter().map(|load| load.name.as_str()).collect(),
        baseline: file.baseline_index(),
        measures: OF_SERVERS,
    };
    let course = Course { agenda, compared: &compared, decide_by: repeat.decide_by.key(), stopping };
    let mut bench = None;
    let ended = course.follow(&mut journal, context, &mut |arm| {
        if bench.is_none() {
            let mut says = |text: &str| context.messages.note(NAME, text);
            bench = ArmBench::prepare(&file, args.directory.as_deref(), stopping, &mut says)?;
        }
        bench.as_ref().map_or(Ok(None), |bench: &ArmBench<'_>| bench.measure(arm))
    });
    conclude(context, request, &compared, &journal, ended, Some(&results))
}

/// In the current directory, named after the file.
fn beside(path: &Path) -> PathBuf {
    let stem = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    PathBuf::from(format!("{stem}.results.jsonl"))
}

fn journal<Subject>(
    args: &BakeoffArgs,
    path: Option<&Path>,
    subject: &Subject,
    is_same: impl Fn(&Subject) -> bool,
    [arms, loads]: [usize; 2],
) -> Result<ResultJournal, Failure>
where
    Subject: Serialize + serde::de::DeserializeOwned,
{
    let is_possible = |record: &StartRecord| {
        record.arm < arms && record.loads.len() == loads && (0.0..SECONDS_MAX).contains(&record.took_s)
    };
    match path {
        None if args.resume => Err(usage("--resume needs --results FILE".to_owned())),
        None => Ok(ResultJournal::in_memory()),
        Some(path) if args.resume => ResultJournal::resume(path, subject, is_same, is_possible),
        Some(path) => ResultJournal::begin(path, subject),
    }
}

/// LIMIT: a start that took longer is a damaged result.
const SECONDS_MAX: f64 = 1e9;

/// The fewest and the most rounds: what is given on the command line moves the other one with it.
fn rounds(args: &BakeoffArgs, [least, most]: [usize; 2]) -> Result<[usize; 2], Failure> {
    match (args.at_least.map(|count| count as usize), args.at_most.map(|count| count as usize)) {
        (Some(least), Some(most)) if least > most => Err(usage("--at-least is more than --at-most".to_owned())),
        (Some(least), Some(most)) => Ok([least, most]),
        (Some(least), None) => Ok([least, most.max(least)]),
        (None, Some(most)) => Ok([least.min(most), most]),
        (None, None) => Ok([least, most]),
    }
}

/// What is compared by `--command`, and how: results of anything else do not stand beside it.
#[derive(PartialEq, Serialize, Deserialize)]
struct CommandSubject {
    commands: Vec<String>,
    /// None without a shell.
    shell: Option<String>,
    prepare: Option<String>,
    input: Option<PathBuf>,
    counts_failures: bool,
}

impl CommandSubject {
    fn of(args: &BakeoffArgs) -> Self {
        let options = &args.commands;
        Self {
            commands: args.what.clone(),
            shell: (!options.no_shell).then(|| options.shell.clone()),
            prepare: options.prepare.clone(),
            input: options.input.clone(),
            counts_failures: options.ignore_failure,
        }
    }
}

fn of_commands(context: &Context, request: &Request<'_>) -> Result<Outcome, Failure> {
    let Request { args, stopping, .. } = *request;
    let bench = CommandBench::new(&args.what, &args.commands)?;
    let results = args.results.as_deref();
    let subject = CommandSubject::of(args);
    let is_same = |begun: &CommandSubject| *begun == subject;
    let mut journal = journal(args, results, &subject, is_same, [args.what.len(), 1])?;
    let [least, most] = rounds(args, [10, 1000])?;
    let agenda = Agenda {
        arms: args.what.len(),
        least,
        most,
        relative_width: args.width.unwrap_or(2.0) / 100.0,
        budget: Some(args.budget.unwrap_or(Duration::from_secs(60))),
    };
    let compared = ComparedArms {
        title: "commands",
        arms: args.what.iter().map(String::as_str).collect(),
        loads: vec![""],
        baseline: 0,
        measures: OF_COMMANDS,
    };
    let course = Course { agenda, compared: &compared, decide_by: "wall_s", stopping };
    let warmup = (0..args.commands.warmup).flat_map(|_| 0..args.what.len());
    let warmed = warmup.map(|index| bench.measure(index).map(drop)).find(|run| run.is_err() || stopping.is_wanted());
    let ended = match warmed {
        _ if stopping.is_wanted() => Ok(None),
        Some(Err(failure)) => Err(failure),
        _ => course.follow(&mut journal, context, &mut |index| bench.measure(index).map(Some)),
    };
    conclude(context, request, &compared, &journal, ended, results)
}

/// How a comparison goes on: what is measured next, and what was measured.
struct Course<'a> {
    agenda: Agenda,
    compared: &'a ComparedArms<'a>,
    decide_by: &'static str,
    stopping: &'a Stopping,
}

impl Course<'_> {
    /// Measures until there is enough; none if the user ended it.
    fn follow(
        &self,
        journal: &mut ResultJournal,
        context: &Context,
        measure: &mut dyn FnMut(usize) -> Result<Option<StartRecord>, Failure>,
    ) -> Result<Option<WhyEnough>, Failure> {
        let before = journal.records.len();
        loop {
            let arm = match self.next(&journal.records, before) {
                NextStart::Enough(why) => return Ok(Some(why)),
                NextStart::Of(arm) => arm,
            };
            let measured = if self.stopping.is_wanted() { Ok(None) } else { measure(arm) };
            // A run that a signal has ended early measured the signal, and fails by it.
            let measured = if self.stopping.is_wanted() { None } else { measured? };
            let Some(record) = measured else { return Ok(None) };
            self.say(context, journal.records.len() / self.agenda.arms + 1, &record);
            journal.add(record)?;
        }
    }

    /// `before` of the records are from earlier sessions.
    fn next(&self, records: &[StartRecord], before: usize) -> NextStart {
        let of_load = |load| (0..self.agenda.arms).map(|arm| values(records, arm, load, self.decide_by)).collect();
        let samples: Vec<Vec<Vec<f64>>> = (0..self.compared.loads.len()).map(of_load).collect();
        let took = |records: &[StartRecord]| {
            Duration::try_from_secs_f64(records.iter().map(|record| record.took_s).sum()).unwrap_or_default()
        };
        let progress = AgendaProgress {
            starts: records.len(),
            samples: &samples,
            baseline: self.compared.baseline,
            spent: took(&records[before..]),
            longest_round: records.chunks(self.agenda.arms.max(1)).map(took).max().unwrap_or_default(),
        };
        self.agenda.next(&progress, &Bootstrap::default())
    }

    /// A line for each start; commands are over too soon for that.
    fn say(&self, context: &Context, round: usize, record: &StartRecord) {
        if self.compared.loads == [""] {
            return;
        }
        let first = self.compared.measures.iter().find(|measure| measure.key == self.decide_by);
        let of_load = |(name, load): (&&str, &journal::LoadRecord)| {
            let value = first.and_then(|measure| Some(measure.unit.text(*load.values.get(measure.key)?)));
            format!("{name} {}", value.unwrap_or_else(|| "-".to_owned()))
        };
        let figures: Vec<String> = self.compared.loads.iter().zip(&record.loads).map(of_load).collect();
        let title = first.map_or("", |measure| measure.title);
        let arm = self.compared.arms[record.arm];
        context.messages.note(NAME, &format!("round {round}, {arm}: {title}: {}", figures.join(", ")));
    }
}

/// Reports what was measured, also where an error or the user ended it.
fn conclude(
    context: &Context,
    request: &Request<'_>,
    compared: &ComparedArms<'_>,
    journal: &ResultJournal,
    ended: Result<Option<WhyEnough>, Failure>,
    results: Option<&Path>,
) -> Result<Outcome, Failure> {
    if journal.records.is_empty() {
        return ended.map(|_| Outcome::Code(INTERRUPTED));
    }
    let why = match &ended {
        Ok(Some(WhyEnough::Narrow)) => "the intervals are as narrow as was wanted",
        Ok(Some(WhyEnough::AllRounds)) => "all rounds were measured",
        Ok(Some(WhyEnough::BudgetUsed)) => "the time was used",
        Ok(None) => "interrupted",
        Err(_) => "ended by an error",
    };
    let findings = BakeoffFindings::of(compared, &journal.records, why);
    match request.args.json {
        true => print_as(NAME, &json_line(&findings))?,
        false => print_as(NAME, &shown::report(&findings, request.args.all))?,
    }
    if let Some(page_target) = &request.page_target {
        let page =
            sheet::page(&findings, &journal.records).map_err(|error| environment(format!("draw the page: {error}")))?;
        page_target.write(&page).map_err(environment)?;
    }
    if let (Ok(None) | Err(_), Some(results)) = (&ended, results) {
        context.messages.note(NAME, &format!("--resume goes on; what was measured is in {}", terminal::quote(results)));
    }
    ended.map(|why| if why.is_some() { Outcome::Done } else { Outcome::Code(INTERRUPTED) })
}
