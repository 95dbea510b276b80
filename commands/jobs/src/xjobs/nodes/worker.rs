//! `mh xjobs --worker SPOOL`: one worker of a run, as an engine starts it. It has the options of whoever submitted the run, and what it has to say
//! about the run itself goes to its log.

use super::super::plan::{Job, plan_with, usage};
use super::super::teller::{JobTeller, failure_words};
use super::super::{Called, NAME, XjobsArgs, begin, command, lower_priority, refused};
use super::{NodeArgs, go_to_its_directory, spool_failure};
use crate::xjobs::{inputs, plan, slots};
use clap::FromArgMatches;
use cluster::spool::{Spool, SpoolStop};
use cluster::text::ByteText;
use cluster::worker::{Worker, WorkerBooks, WorkerDeadline, WorkerEnd, WorkerIdentity};
use crew::budget::Request;
use jobs::Variables;
use jobs::halt::EndCounts;
use jobs::journal::Journal;
use jobs::run::{FinishedRun, JobTally, JobView, Observer, OutputOrder, RunEvent, RunSurroundings, run as run_jobs};
use jobs::source::JobSource;
use mh_kit::context::{Context, variable};
use mh_kit::failure::{Failure, Outcome, with_causes};
use mh_kit::sharing;
use rustix::process::{Signal, getpid, kill_process};
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// Variables that are the node's and not the submitter's, by how they begin.
const OF_THE_NODE: [&str; 12] = [
    "SLURM",
    "SSH_",
    "MH_",
    "XDG_",
    "TMPDIR=",
    "HOSTNAME=",
    "HOST=",
    "DISPLAY=",
    "CUDA_VISIBLE",
    "ROCR_",
    "GPU_DEVICE",
    "DBUS_",
];

/// Works until nothing is left to do, or until it is asked to end.
pub fn work(context: &mut Context, args: &NodeArgs, root: &Path) -> Result<Outcome, Failure> {
    let run = args.worker_run.as_deref().ok_or_else(|| usage("--worker needs --worker-run"))?;
    let spool = Arc::new(Spool::open_run(root, run).map_err(|fault| spool_failure(&fault))?);
    go_to_its_directory(&spool)?;
    let (args, job, identity) = plan_here(context, &spool, args.worker_number)?;
    carry_out(context, &args, job, &spool, identity)
}

/// The submitter's options, with this node's cores.
fn plan_here(context: &Context, spool: &Spool, number: u32) -> Result<(XjobsArgs, Job, WorkerIdentity), Failure> {
    let header = spool.header();
    let words = header.argv.iter().map(|word| OsString::from_vec(word.0.clone()));
    let matches = command().try_get_matches_from([OsString::from("xjobs")].into_iter().chain(words));
    let mut args =
        XjobsArgs::from_arg_matches(&matches.map_err(Failure::CommandLine)?).map_err(Failure::CommandLine)?;
    args.standing.settle(&context.settings.crew);
    let cores = ["SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE"].into_iter().find_map(|name| number_in(variable(name)));
    if args.jobs.is_none() {
        args.jobs = header.limits.cores.or(cores).map(|cores| cores.to_string());
    }
    let mut job = plan_with(context, &args, Called::Mh, &mut |_, _| {
        Ok(inputs::List { source: None, name: "the spool".to_owned(), is_server: false, total: Some(header.jobs) })
    })?;
    job.options.environment = environment(&header.environment);
    job.options.queue_max = job.options.width;
    // The gatherer knows the order of the list; here most of it is missing.
    job.options.order = OutputOrder::AsEnded;
    let begun = Instant::now();
    let limit = header.limits.time_s.map(Duration::from_secs_f64);
    let identity = WorkerIdentity {
        name: name(number),
        number,
        width: job.options.width,
        deadline: limit.map(|limit| {
            let last = limit.mul_f64(LAST_SHARE).min(LAST);
            WorkerDeadline { drain: begun + limit - last, end: begun + limit - last / 10 }
        }),
    };
    // One failure can be heard of here; what counts more is for whoever sees all workers.
    job.options.halt = job.options.halt.filter(|rule| {
        [(1, 0), (0, 1)].iter().any(|&(succeeded, failed)| rule.is_met(EndCounts { succeeded, failed }, None))
    });
    Ok((args, job, identity))
}

/// Of a worker's time, so much is left at its end for jobs that run.
const LAST_SHARE: f64 = 0.1;
const LAST: Duration = Duration::from_secs(120);

fn number_in(text: Option<OsString>) -> Option<u32> {
    text?.to_str()?.parse().ok().filter(|number| *number > 0)
}

/// A name that no other worker of the run has, nor this one when it is started again.
fn name(number: u32) -> String {
    let node = variable("SLURMD_NODENAME")
        .unwrap_or_else(|| OsString::from_vec(rustix::system::uname().nodename().to_bytes().to_vec()));
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte);
    let node: String =
        node.as_bytes().iter().map(|byte| if is_plain(byte) { char::from(*byte) } else { '_' }).collect();
    let began = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_millis());
    format!("{number}-{node}-{}-{began}", std::process::id())
}

/// The submitter's variables, but for those that are the node's.
fn environment(theirs: &[ByteText]) -> Variables {
    let is_of_the_node = |variable: &[u8]| OF_THE_NODE.iter().any(|name| variable.starts_with(name.as_bytes()));
    let own = inputs::environment();
    let own = own.iter().filter(|variable| is_of_the_node(variable)).map(<[u8]>::to_vec);
    let theirs = theirs.iter().map(|variable| variable.0.clone()).filter(|variable| !is_of_the_node(variable));
    let mut words = Variables::default();
    for variable in theirs.chain(own) {
        // Variables from a kernel have no NUL.
        let _never_refused = words.push(&variable);
    }
    words
}

/// Runs the jobs of chunks as the engine of jobs runs any list.
fn carry_out(
    context: &mut Context,
    args: &XjobsArgs,
    mut job: Job,
    spool: &Arc<Spool>,
    identity: WorkerIdentity,
) -> Result<Outcome, Failure> {
    // A shell's background job ignores what ends a run here.
    sys::signals::heed(sys::signals::ENDING);
    let divided = sys::guard::divide(&[]);
    let signals = sys::signals::SignalQueue::open(sys::signals::JOB_CONTROL)
        .map_err(|error| refused(&format!("set up signal handling: {}", with_causes(&error))))?;
    sys::signals::children_announce_stops();
    lower_priority(context, args.standing.priority(), args.parallel.nice);
    begin::allow_descriptors(context, &job);
    let worker = Worker::begin(Arc::clone(spool), identity).map_err(|fault| spool_failure(&fault))?;
    let streams = worker.outputs().map_err(|fault| spool_failure(&fault))?.map(|file| Arc::new(OwnedFd::from(file)));
    let journal = Journal::open(&worker.journal())
        .map_err(|error| refused(&format!("make its journal in the spool: {}", with_causes(&error))))?;
    let width = job.options.width;
    let class = args.standing.priority().class();
    let known_as = sharing::known_as(&divided);
    let shared = sharing::budget_as(context, width.max(plan::WIDTH_MAX), class, known_as);
    if let Some(why) = &shared.why_alone {
        sharing::tell_why_alone(context, NAME, why);
    }
    job.options.hands = shared.budget.capacity();
    let lease = shared.budget.lease(Request {
        priority: class,
        weight: args.standing.weight(),
        useful_width: width,
        what: format!("xjobs worker: {}", job.plan.purpose),
    });
    slots::open(context, args, &shared, lease.as_ref(), &mut job.options);
    let feed = worker.feed().map_err(|error| refused(&format!("make a timer: {}", with_causes(&error))))?;
    let source = JobSource::Fed(Box::new(feed));
    let mut observer = WorkerObserver {
        teller: JobTeller::new(context, &job, args),
        books: worker.books(),
        spool: Arc::clone(spool),
        stops: Arc::default(),
    };
    let around = RunSurroundings {
        signals: &signals,
        host: &context.host,
        streams,
        journal: Some(journal),
        joblog: None,
        done: None,
        total: None,
        tally: Arc::new(JobTally::default()),
        watched: None,
    };
    let stops = Arc::clone(&observer.stops);
    let living = worker.live(move |stop| end_jobs(stop, &stops));
    let living = living.map_err(|error| refused(&format!("start a thread: {}", with_causes(&error))))?;
    let ran = run_jobs(job.options, source, lease, around, &mut observer);
    context.last_acts.perform();
    observer.teller.say_the_rest();
    drop(observer);
    let end = worker.end();
    drop(living);
    let ran = ran.map_err(|fault| refused(&with_causes(&fault)))?;
    conclude(context, &ran, end)
}

/// The runner hears of it as of a signal from outside. A second interrupt would end the jobs, so there is one at most, an engine's included.
fn end_jobs(stop: SpoolStop, stops: &AtomicBool) {
    let signal = match stop {
        SpoolStop::Drain if stops.swap(true, Ordering::SeqCst) => return,
        SpoolStop::Drain => Signal::INT,
        SpoolStop::Now => Signal::TERM,
    };
    let _it_is_us = kill_process(getpid(), signal);
}

/// After a failure an engine would start the worker again, or call the run failed: only a worker that could not work exits with one.
fn conclude(context: &Context, ran: &FinishedRun, end: WorkerEnd) -> Result<Outcome, Failure> {
    let WorkerEnd { chunks, late, freed, fault } = end;
    let stopped = if ran.stopped_by.is_some() || freed > 0 { "; asked to end" } else { "" };
    let text = format!("{chunks} chunks done, {late} done by others, {freed} given up{stopped}");
    context.messages.conclusion(NAME, &text);
    match fault {
        Some(fault) => Err(spool_failure(&fault)),
        None if ran.is_incomplete => Ok(Outcome::Partial),
        None => Ok(Outcome::Done),
    }
}

/// Passes on what concerns jobs, and says the rest itself.
struct WorkerObserver {
    teller: JobTeller,
    books: WorkerBooks,
    spool: Arc<Spool>,
    /// No more jobs start.
    stops: Arc<AtomicBool>,
}

impl Observer for WorkerObserver {
    fn tell(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Concluded(job) => return self.books.concluded(job),
            RunEvent::Stopping { rule, now, .. } => {
                self.stops.store(true, Ordering::SeqCst);
                if rule.is_none() {
                    self.books.stopping();
                }
                // A rule is the run's: others stop as well.
                let stop = if *now { SpoolStop::Now } else { SpoolStop::Drain };
                if let Some(Err(fault)) = rule.map(|rule| self.spool.halt(&rule.to_string(), stop)) {
                    self.teller.error(&with_causes(&fault));
                }
            }
            _ => {}
        }
        if let Some((job, words)) = failure_words(event) {
            self.books.say(job, words);
        } else {
            self.teller.tell(event);
        }
    }

    fn take_messages(&mut self) -> Vec<u8> {
        // Outputs of jobs are in files of their own: a message among them would be taken for one.
        self.teller.say_the_rest();
        Vec::new()
    }

    fn heading(&mut self, _job: JobView<'_>, _pid: rustix::process::Pid) -> Option<Vec<u8>> {
        None
    }
}
