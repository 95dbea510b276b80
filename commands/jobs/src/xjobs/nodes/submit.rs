//! Submitting: the list is read and cut, the spool made, workers started. `gather` does the rest.

mod crowd;

pub use crowd::WorkerCrowd;

use super::super::inputs::Input;
use super::super::plan::{Job, plan, usage};
use super::super::{Called, NAME, XjobsArgs, begin};
use super::gather::{NodeGathering, attend};
use super::list::{self, ListFigures};
use super::spool_failure;
use super::target::NodeTarget;
use cluster::cut::{CutList, cut};
use cluster::forecast::ForecastTable;
use cluster::forecast::costs::RunCosts;
use cluster::forecast::times::JobTimes;
use cluster::gather::Gatherer;
use cluster::launcher::{
    EngineEnvironment, Launcher, LauncherFault, LocalLauncher, SlurmLauncher, SshLauncher, WorkerRequest,
};
use cluster::spool::{MadeSpool, Spool, SpoolHeader, SpoolLimits, digest};
use cluster::text::ByteText;
use jobs::journal::Journal;
use jobs::list::ListItem;
use jobs::shell_words;
use jobs::source::JobSource;
use jobs::spec::Spec;
use mh_kit::context::{Context, variable, variables};
use mh_kit::failure::{Failure, Outcome, with_causes};
use mh_kit::report::counted;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// LIMIT: workers that are asked for where nobody says how many.
const USUAL_MAX: u32 = 16;

/// A list that has been read and cut for an engine.
struct Submission {
    launcher: Box<dyn Launcher>,
    workers: u32,
    cores: Option<u32>,
    list: CutList,
    digest: String,
    left_out: u64,
    /// What the journal lets expect.
    forecast: Option<ForecastTable>,
    journal: Option<Journal>,
}

/// Runs the list on the engine that was asked for.
pub fn submit(context: &mut Context, args: XjobsArgs, called: Called) -> Result<Outcome, Failure> {
    let target = NodeTarget::parse(args.nodes.on.as_deref().unwrap_or_default())?;
    refuse(&args, called, context)?;
    engine_words(&args)?;
    let mut job = plan(context, &args, called)?;
    let submission = match prepare(context, &args, &mut job, &target)? {
        Place::There(submission) => submission,
        Place::Here(items, why) => {
            job.plan.choose("engine", "none: this machine", why);
            job.source = Some(Input::Ready(JobSource::Listed(items.into())));
            return super::super::here(context, &args, job);
        }
    };
    if args.explain {
        explain(&mut job, &args, &submission)?;
        mh_kit::report::show_plan(context, &job.plan, args.report)?;
        return Ok(Outcome::Done);
    }
    carry_out(context, &args, &job, *submission)
}

/// Where the list runs.
enum Place {
    There(Box<Submission>),
    /// On this machine, with the reason.
    Here(Vec<ListItem>, String),
}

/// Options that mean something on one machine alone.
fn refuse(args: &XjobsArgs, called: Called, context: &Context) -> Result<(), Failure> {
    let refused = |option: &str, why: &str| Err(usage(format!("{option} does not go with --on: {why}")));
    match () {
        () if called == Called::OldName || context.words.is_empty() => Err(usage("--on is for mh xjobs")),
        () if args.script.as_deref().is_some_and(is_pipe) => refused("a named pipe", "a list is cut as a whole"),
        () if args.server.listen.is_some() => refused("--listen", "a list is cut as a whole, a server's never ends"),
        () if args.ask => refused("-p", "nobody can be asked on another machine"),
        () if args.ungroup => refused("-u", "outputs come through the spool"),
        () if args.line_buffer => refused("--line-buffer", "outputs come through the spool, a job at a time"),
        () if args.parallel.joblog.is_some() => refused("--joblog", "--journal has all workers' jobs"),
        () if args.dry_run => refused("--dry-run", "without --on it prints the same commands"),
        () => Ok(()),
    }
}

fn is_pipe(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|status| status.file_type().is_fifo())
}

fn prepare(context: &Context, args: &XjobsArgs, job: &mut Job, target: &NodeTarget) -> Result<Place, Failure> {
    if job.options.defaults.stdout.is_some() || job.options.defaults.stderr.is_some() {
        return Err(usage("a redirection of all jobs does not go with --on: redirect mh xjobs itself, or each job"));
    }
    let AskedEngine { mut launcher, workers, cores } = engine_of(context, args, target)?;
    let limits = match launcher.limits() {
        Ok(limits) => limits,
        Err(fault) if *target == NodeTarget::Auto => return Ok(Place::Here(list::read(job)?, with_causes(&fault))),
        Err(fault) => return Err(engine_failure(&fault)),
    };
    let mut items = list::read(job)?;
    let directory = job.options.directory.as_os_str().as_bytes();
    let words = words_of_the_run(context, args);
    let digest = digest(words.iter().map(|word| word.as_bytes()).chain([directory]), &items);
    let times = args.journal.as_deref().and_then(|path| JobTimes::read(path).ok()).unwrap_or_default();
    let expected = list::expected(job, &items, &times);
    let width = width(args, cores.or(limits.cores));
    let usual = workers.or(limits.nodes).unwrap_or(1).clamp(1, USUAL_MAX);
    let costs = RunCosts { queue_s: limits.queue.map(|queue| queue.as_secs_f64()), ..RunCosts::default() };
    let figures = |items: &[ListItem]| Some(ListFigures::new(items, expected.as_ref()?, width, costs));
    if *target == NodeTarget::Auto {
        let Some(figures) = figures(&items) else {
            let why = "how long its jobs take is not known: a journal of an earlier run (--journal) tells";
            return Ok(Place::Here(items, why.to_owned()));
        };
        let choice = figures.forecast().here_or_there(job.options.width, usual as usize);
        if choice.stays_here() {
            return Ok(Place::Here(items, choice.to_string()));
        }
    }
    // A plan changes nothing.
    let books = if args.explain { None } else { Some(begin::open_books(context, args, &job.options.template)?) };
    let (journal, done) = books.map_or((None, None), |books| (books.journal, books.done));
    let left_out = done.map_or(0, |mut done| list::leave_out(job, &mut items, &mut done));
    let count = items.iter().filter(|item| matches!(item, ListItem::Job(_))).count() as u64;
    let wanted = workers.unwrap_or(usual).min(u32::try_from(count).unwrap_or(u32::MAX)).max(1);
    let workers = limits.workers_max.map_or(wanted, |most| wanted.min(most.max(1)));
    if workers < wanted {
        let text = format!("{workers} workers in place of {wanted}: {} starts no more at once", launcher.name());
        context.messages.warning(NAME, &text, &[]);
    }
    // Playing a million jobs through takes seconds: only who asks waits for it.
    let forecast = figures(&items).filter(|_| args.explain).map(|figures| figures.forecast().table(workers as usize));
    let seconds = |spec: &Spec| {
        expected.as_ref().and_then(|times| times.get(&spec.number).map(|seconds| seconds * spec.hands() as f64))
    };
    let list = cut(items, workers as usize, width, seconds);
    Ok(Place::There(Box::new(Submission { launcher, workers, cores, list, digest, left_out, forecast, journal })))
}

/// The typed words that make a run what it is: not those that say where it runs, or what is shown of it.
fn words_of_the_run(context: &Context, args: &XjobsArgs) -> Vec<OsString> {
    // The list counts as it was read.
    const WITH_VALUE: [&str; 12] = [
        "--on",
        "--nodes",
        "--cores",
        "--time",
        "--engine-args",
        "--spool",
        "--lease",
        "--journal",
        "-s",
        "--script",
        "-a",
        "--arg-file",
    ];
    const ALONE: [&str; 9] =
        ["--plain", "--bar", "--report", "-k", "--keep-order", "-t", "--resume", "--resume-failed", "--explain"];
    let options = context.words.len().saturating_sub(args.utility.len());
    let (mut kept, mut words) = (Vec::new(), context.words.iter().take(options));
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        let name = text.split('=').next().unwrap_or_default();
        if WITH_VALUE.contains(&name) {
            if name.len() == text.len() {
                words.next();
            }
        } else if !ALONE.contains(&name) {
            kept.push(word.clone());
        }
    }
    kept.extend(args.utility.iter().cloned());
    kept
}

/// Jobs that a worker runs at once, as far as that is known here.
fn width(args: &XjobsArgs, cores: Option<u32>) -> usize {
    let typed = args.jobs.as_deref().and_then(|text| text.parse().ok());
    typed.or(cores.map(|cores| cores as usize)).filter(|width| *width > 0).unwrap_or(1)
}

/// An engine, and what it is asked for.
struct AskedEngine {
    launcher: Box<dyn Launcher>,
    workers: Option<u32>,
    /// For each of them.
    cores: Option<u32>,
}

fn engine_of(context: &Context, args: &XjobsArgs, target: &NodeTarget) -> Result<AskedEngine, Failure> {
    let path = variable("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let environment = EngineEnvironment::new(&path, variables());
    let (workers, cores) = (args.nodes.nodes, args.nodes.cores);
    Ok(match target {
        NodeTarget::Auto => AskedEngine { launcher: Box::new(SlurmLauncher::new(None, environment)), workers, cores },
        NodeTarget::Slurm(partition) => {
            AskedEngine { launcher: Box::new(SlurmLauncher::new(partition.clone(), environment)), workers, cores }
        }
        NodeTarget::Ssh(hosts) => {
            let launcher = Box::new(SshLauncher::new(hosts.clone(), engine_words(args)?, environment));
            let count = u32::try_from(hosts.len()).unwrap_or(u32::MAX);
            AskedEngine { launcher, workers: workers.or(Some(count)), cores }
        }
        NodeTarget::Local(count) => {
            let share = u32::try_from(context.machine.hands_allowed()).unwrap_or(1) / count;
            let launcher = Box::new(LocalLauncher::new(environment));
            AskedEngine { launcher, workers: Some(*count), cores: cores.or(Some(share.max(1))) }
        }
    })
}

/// Words for the engine's command, divided as a shell would.
fn engine_words(args: &XjobsArgs) -> Result<Vec<OsString>, Failure> {
    let text = args.nodes.engine_args.as_deref().unwrap_or_default();
    let words = shell_words::split(text.as_bytes());
    let words = words.ok_or_else(|| usage("--engine-args: a quotation in it has no end"))?;
    Ok(words.into_iter().map(OsString::from_vec).collect())
}

fn engine_failure(fault: &LauncherFault) -> Failure {
    let hint = match fault {
        LauncherFault::NotFound { .. } => "; --on local:N starts workers on this machine",
        _ => "",
    };
    Failure::Environment { command: NAME, message: format!("start workers: {}{hint}", with_causes(fault)) }
}

fn explain(job: &mut Job, args: &XjobsArgs, submission: &Submission) -> Result<(), Failure> {
    let Submission { launcher, workers, list, cores, .. } = submission;
    let request = request(args, submission, Path::new("SPOOL"), "ID")?;
    let cores = cores.map_or("the node's cores".to_owned(), |cores| counted(u64::from(cores), "core"));
    // Each worker decides that for its node.
    ["jobs at once", "cores", "job slots", "memory", "guard"].iter().for_each(|subject| job.plan.leave_out(subject));
    job.plan.leave_out("list");
    let total = list.chunks.iter().map(Vec::len).sum::<usize>() as u64;
    job.plan.choose("list", counted(total, "job"), "read to its end before anything starts");
    job.plan.choose("workers", format!("{workers} by {}", launcher.name()), format!("{cores} each"));
    let chunks = list.chunks.len() as u64;
    let generations = list.generations.len();
    let stages = if generations > 1 { format!(", {generations} stages by %%") } else { String::new() };
    job.plan.choose(
        "chunks",
        format!("{}{stages}", counted(chunks, "chunk")),
        "workers take the next one as they have room",
    );
    if list.largest_group > 1 {
        let why = "they wait for each other (after), so one worker runs them";
        job.plan.choose("together", counted(list.largest_group as u64, "job"), why);
    }
    if let Some(forecast) = &submission.forecast {
        job.plan.choose("time", forecast.to_string(), "by the journal's times of such jobs");
    } else {
        job.plan.choose("time", "not known", "a journal of earlier runs (--journal) tells how long jobs take");
    }
    job.plan.choose("asked", launcher.shown(&request), "the engine starts workers; who is done is in the spool");
    Ok(())
}

fn request(args: &XjobsArgs, submission: &Submission, spool: &Path, id: &str) -> Result<WorkerRequest, Failure> {
    let bare = bare_request(args, spool, id)?;
    Ok(WorkerRequest { workers: submission.workers, cores: submission.cores, ..bare })
}

fn bare_request(args: &XjobsArgs, spool: &Path, id: &str) -> Result<WorkerRequest, Failure> {
    Ok(WorkerRequest {
        program: std::env::current_exe().unwrap_or_else(|_| PathBuf::from("mh")),
        spool: spool.to_owned(),
        run_id: id.to_owned(),
        first: 0,
        workers: 1,
        cores: None,
        time: args.nodes.time,
        engine_args: engine_words(args)?,
        name: "mh-xjobs".to_owned(),
    })
}

/// A name for a run that no other has.
fn new_id() -> String {
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or(Duration::ZERO);
    format!("{:x}-{:x}", now.as_nanos(), std::process::id())
}

fn carry_out(
    context: &mut Context,
    args: &XjobsArgs,
    job: &Job,
    mut submission: Submission,
) -> Result<Outcome, Failure> {
    if submission.list.chunks.is_empty() && args.nodes.spool.is_none() {
        return Ok(Outcome::Done);
    }
    let spool = Arc::new(spool(context, args, job, &mut submission)?);
    let wish = attend(context, &spool)?;
    let request = request(args, &submission, spool.root(), &spool.header().id)?;
    let mut crowd = WorkerCrowd::of(submission.launcher, request, spool.lease());
    let has_journal = submission.journal.is_some();
    if !is_done(&spool)? {
        crowd.start(context, spool.header().chunks).map_err(|fault| {
            if args.nodes.spool.is_none() {
                let _it_is_ours = spool.remove();
            }
            engine_failure(&fault)
        })?;
    }
    let mut gathering = NodeGathering::new(context, spool, job, crowd, wish, false, has_journal)?;
    gathering.left_out_before(submission.left_out);
    gathering.run(context, args, submission.journal)
}

/// Whether nothing of it is left to do.
fn is_done(spool: &Arc<Spool>) -> Result<bool, Failure> {
    let mut gatherer = Gatherer::new(Arc::clone(spool));
    gatherer.sweep(&mut Vec::new()).map_err(|fault| spool_failure(&fault))?;
    Ok(gatherer.is_complete())
}

/// The workers of a run that somebody else has submitted, and that may need more of them.
pub fn crowd_of(context: &Context, args: &XjobsArgs, spool: &Spool) -> Result<WorkerCrowd, Failure> {
    let target = NodeTarget::parse(args.nodes.on.as_deref().unwrap_or_default())?;
    let AskedEngine { launcher, .. } = engine_of(context, args, &target)?;
    let limits = &spool.header().limits;
    let request = WorkerRequest {
        workers: limits.workers,
        cores: limits.cores,
        ..bare_request(args, spool.root(), &spool.header().id)?
    };
    Ok(WorkerCrowd::of(launcher, request, spool.lease()))
}

/// Makes the spool, or finds the one of the same list.
fn spool(context: &Context, args: &XjobsArgs, job: &Job, submission: &mut Submission) -> Result<Spool, Failure> {
    let id = new_id();
    let root = args.nodes.spool.clone().unwrap_or_else(|| job.options.directory.join(format!(".mh-xjobs-{id}")));
    let list = std::mem::take(&mut submission.list);
    let bytes = |word: OsString| ByteText(word.into_vec());
    let header = SpoolHeader {
        format: SpoolHeader::FORMAT,
        id,
        host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        submitted: SystemTime::UNIX_EPOCH.elapsed().map_or(0.0, |time| time.as_secs_f64()),
        directory: ByteText(job.options.directory.as_os_str().as_bytes().to_vec()),
        argv: context.words.iter().cloned().map(bytes).collect(),
        environment: job.options.environment.iter().map(ByteText::from).collect(),
        digest: submission.digest.clone(),
        jobs: 0,
        chunks: 0,
        generations: list.generations,
        needs: list.needs,
        limits: SpoolLimits {
            workers: submission.workers,
            cores: submission.cores,
            time_s: args.nodes.time.map(|time| time.as_secs_f64()),
            lease_s: args.nodes.lease.as_secs_f64().max(0.1),
        },
    };
    let made = Spool::make(&root, header, list.chunks).map_err(|fault| spool_failure(&fault))?;
    match made {
        MadeSpool::New(spool) => Ok(spool),
        MadeSpool::Old(spool) if spool.header().digest == submission.digest => {
            let limits = &spool.header().limits;
            let other_cores = args.nodes.cores.is_some_and(|cores| limits.cores != Some(cores));
            if other_cores || args.nodes.time.is_some_and(|time| limits.time_s != Some(time.as_secs_f64())) {
                return Err(usage("the run in the spool has another --cores or --time; workers keep to those"));
            }
            spool.go_on().map_err(|fault| spool_failure(&fault))?;
            Ok(spool)
        }
        MadeSpool::Old(spool) => Err(Failure::Environment {
            command: NAME,
            message: format!("use {} as the spool: it has another list or command", terminal::quote(spool.root())),
        }),
    }
}
