//! Gathering: prints what workers publish, in the order of the list or as it comes, keeps counts and books, and has new workers started where
//! some have gone and work is left.

use super::super::plan::Job;
use super::super::{Called, NAME, XjobsArgs, begin, command, inputs, plan, report};
use super::books::{JournalCredits, PrintedChunks};
use super::shown::{self, NodeTally};
use super::submit::WorkerCrowd;
use super::watched::WatchedWorkers;
use super::{go_to_its_directory, spool_failure};
use clap::FromArgMatches;
use cluster::alive::worker_signs;
use cluster::forecast::verdict::verdict;
use cluster::gather::{Gatherer, OutputFault};
use cluster::part::{ChunkPart, JobResult};
use cluster::spool::{Spool, SpoolStop};
use jobs::halt::{EndCounts, Halt, HaltManner};
use jobs::journal::{JobOutcome, Journal};
use jobs::run::FinishedRun;
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome, with_causes};
use mh_kit::report::counted;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ffi::OsString;
use std::io::{self, ErrorKind, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::time::{Duration, Instant};
use sys::signals::{ENDING, SignalSet, die_by, number};
use terminal::Messages;

/// Between looks at the spool: short while results come, longer while none do.
const PAUSE: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_millis(100);

/// LIMIT: workers of a run whose reader has left are waited for so long.
const GIVEN_UP_WITHIN: Duration = Duration::from_secs(5);

/// Signals within this are one wish to end.
const ONE_WISH: Duration = Duration::from_secs(1);

/// Once jobs were ended, workers are waited for so long.
const ENDS_WITHIN: Duration = Duration::from_secs(15);

/// The wish to end, and how far it goes.
#[derive(Debug, Default)]
pub struct EndWish {
    signal: AtomicI32,
    /// 1: drained, 2: ended.
    level: AtomicU32,
}

/// Attends to signals on a thread of its own, so that a slow reader keeps nobody from ending the run. To be called before other threads.
pub fn attend(context: &Context, spool: &Arc<Spool>) -> Result<Arc<EndWish>, Failure> {
    let failure = |error: io::Error| mh_kit::context::signal_failure(error);
    let signals = SignalSet::hold_back(ENDING).map_err(failure)?;
    let wish = Arc::new(EndWish::default());
    let (told, spool, messages) = (Arc::clone(&wish), Arc::clone(spool), context.messages.clone());
    let attend = move || {
        let mut ended_since: Option<Instant> = None;
        while let Ok(signal) = signals.wait() {
            if signal == number::SIGHUP {
                let spool = terminal::quote(spool.root());
                let text = format!("the run goes on without this terminal; to watch it: {NAME} --attach {spool}");
                messages.conclusion(NAME, &text);
                die_by(signal);
            }
            let interrupts = told.level.load(Ordering::SeqCst);
            let _first_one_counts = told.signal.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
            match (signal, interrupts) {
                (number::SIGINT, 0) => {
                    told.level.store(1, Ordering::SeqCst);
                    let _or_the_next = spool.stop(SpoolStop::Drain);
                    messages.conclusion(
                        NAME,
                        "no more jobs start; those that run end by themselves (the next interrupt ends them)",
                    );
                }
                (_, 0 | 1) => {
                    told.level.store(2, Ordering::SeqCst);
                    ended_since = Some(Instant::now());
                    let _or_the_engine = spool.stop(SpoolStop::Now);
                    messages.conclusion(NAME, "ending the jobs that run");
                }
                // timeout(1) signals its child and then the group: that is one wish.
                _ if ended_since.is_some_and(|since| since.elapsed() < ONE_WISH) => {}
                _ => die_by(signal),
            }
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(attend).map_err(failure)?;
    Ok(wish)
}

impl EndWish {
    fn signal(&self) -> Option<i32> {
        Some(self.signal.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
    }

    fn level(&self) -> u32 {
        self.level.load(Ordering::SeqCst)
    }
}

/// Results in the order of the list.
#[derive(Default)]
struct InOrder {
    /// Jobs whose turn is still to come.
    numbers: VecDeque<u64>,
    waiting: BTreeMap<u64, (u32, JobResult)>,
    /// Results of each chunk that have not been printed.
    unprinted: HashMap<u32, usize>,
}

/// What is gathered with.
pub struct NodeGathering {
    spool: Arc<Spool>,
    gatherer: Gatherer,
    crowd: WorkerCrowd,
    wish: Arc<EndWish>,
    tally: Arc<NodeTally>,
    in_order: Option<InOrder>,
    gathered: PrintedChunks,
    halt: Option<Halt>,
    ran: FinishedRun,
    /// Where the user has a journal.
    credits: Option<JournalCredits>,
    messages: Messages,
    watched: WatchedWorkers,
    left_out_before: u64,
    /// Jobs that failed before this submission went on with them.
    failed_before: u64,
    begun: Instant,
}

/// What was found about workers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    GoOn,
    Over,
}

impl NodeGathering {
    /// Begins. Chunks that were printed by an earlier submission are left out unless `again`.
    pub fn new(
        context: &Context,
        spool: Arc<Spool>,
        job: &Job,
        crowd: WorkerCrowd,
        wish: Arc<EndWish>,
        again: bool,
        has_journal: bool,
    ) -> Result<Self, Failure> {
        let gathered = PrintedChunks::open(&spool, "gathered")?;
        let mut gathering = Self {
            gatherer: Gatherer::new(Arc::clone(&spool)),
            crowd,
            wish,
            tally: Arc::default(),
            in_order: None,
            gathered,
            halt: job.options.halt,
            ran: FinishedRun::default(),
            credits: has_journal.then(|| JournalCredits::open(&spool)).transpose()?,
            messages: context.messages.clone(),
            watched: WatchedWorkers::default(),
            left_out_before: 0,
            failed_before: 0,
            begun: Instant::now(),
            spool,
        };
        if job.options.order == jobs::run::OutputOrder::AsListed {
            gathering.in_order = Some(gathering.order(again)?);
        }
        if !again {
            gathering.pass_over_gathered()?;
        }
        Ok(gathering)
    }

    /// The numbers of all jobs whose turn is to come.
    fn order(&self, again: bool) -> Result<InOrder, Failure> {
        let mut numbers = Vec::new();
        for chunk in (0..self.spool.header().chunks).filter(|chunk| again || !self.gathered.has(*chunk)) {
            let jobs = self.spool.chunk(chunk).map_err(|fault| spool_failure(&fault))?;
            numbers.extend(jobs.iter().map(|spec| spec.number));
        }
        numbers.sort_unstable();
        Ok(InOrder { numbers: numbers.into(), ..InOrder::default() })
    }

    fn pass_over_gathered(&mut self) -> Result<(), Failure> {
        let mut parts = Vec::new();
        self.gatherer.sweep(&mut parts).map_err(|fault| spool_failure(&fault))?;
        for part in parts {
            match self.gathered.has(part.chunk) {
                true => {
                    self.ran.left_out += part.results.len() as u64;
                    let failed = part.results.iter().filter(|result| result.outcome != JobOutcome::Ok).count();
                    self.failed_before += failed as u64;
                    self.credits.iter_mut().for_each(|credits| credits.take(&part));
                }
                false => self.take(part)?,
            }
        }
        self.tally.ended.fetch_add(self.ran.left_out, Ordering::Relaxed);
        self.tally.before.fetch_add(self.ran.left_out, Ordering::Relaxed);
        Ok(())
    }

    /// Jobs that an earlier run has done by its journal.
    pub fn left_out_before(&mut self, count: u64) {
        self.ran.left_out += count;
        self.left_out_before = count;
    }

    /// Until every chunk is done, or the run is ended.
    pub fn run(mut self, context: &Context, args: &XjobsArgs, journal: Option<Journal>) -> Result<Outcome, Failure> {
        let total = self.spool.header().jobs;
        let progress = shown::progress(context, &self.tally, total, args.plain);
        let gathered = self.until_the_end(context);
        drop(progress);
        match gathered {
            Ok(()) => self.finish(context, args, journal),
            Err(Failure::BrokenPipe) => {
                self.give_up(is_ours_alone(args));
                Err(Failure::BrokenPipe)
            }
            Err(failure) => {
                // Those that run end by themselves: what they do is not lost.
                let _the_fault_is_told = self.spool.stop(SpoolStop::Drain);
                context.messages.conclusion(NAME, &shown::goes_on(self.spool.root()));
                self.crowd.let_go(false);
                Err(failure)
            }
        }
    }

    /// Nobody reads any more, and as on one machine all jobs end. A spool that nobody has named goes with its workers.
    fn give_up(mut self, is_ours_alone: bool) {
        let _the_engine_is_asked_too = self.spool.stop(SpoolStop::Now);
        self.crowd.cancel();
        let begun = Instant::now();
        let any_lives = || worker_signs(self.spool.root(), self.spool.lease()).is_ok_and(|signs| signs.fresh > 0);
        while begun.elapsed() < GIVEN_UP_WITHIN && any_lives() {
            std::thread::sleep(PAUSE);
        }
        let Self { spool, gatherer, gathered, credits, .. } = self;
        drop((gatherer, gathered, credits));
        if is_ours_alone {
            let _nobody_would_read_it = spool.remove();
        }
    }

    fn until_the_end(&mut self, context: &Context) -> Result<(), Failure> {
        let (mut pause, mut ended, mut unread_since) = (PAUSE, None, None);
        loop {
            let parts = match self.gatherer.poll() {
                Ok(parts) => {
                    unread_since = None;
                    parts
                }
                // A server of files may be away for a while.
                Err(fault) if unread_since.get_or_insert_with(Instant::now).elapsed() > self.spool.lease() => {
                    return Err(spool_failure(&fault));
                }
                Err(_) => Vec::new(),
            };
            self.watched.look(&self.gatherer);
            pause = if parts.is_empty() { (pause * 5 / 4).min(PAUSE_MAX) } else { PAUSE };
            parts.into_iter().try_for_each(|part| self.take(part))?;
            if self.gatherer.is_complete() || self.look_at_workers(context) == Standing::Over {
                return Ok(());
            }
            if self.wish.level() == 2 && ended.get_or_insert_with(Instant::now).elapsed() > ENDS_WITHIN {
                return Ok(());
            }
            std::thread::sleep(pause);
        }
    }

    fn look_at_workers(&mut self, context: &Context) -> Standing {
        // Where it cannot be seen somebody may be at work.
        let alive = worker_signs(self.spool.root(), self.spool.lease()).map_or(1, |signs| signs.fresh);
        self.tally.workers.store(u64::from(alive), Ordering::Relaxed);
        if self.wish.level() == 2 {
            self.crowd.cancel();
        }
        let is_ending = self.wish.level() > 0 || self.spool.stopped().is_some();
        let goes_on = self.crowd.look(context, &self.gatherer, &self.tally, alive, is_ending);
        if goes_on { Standing::GoOn } else { Standing::Over }
    }

    fn take(&mut self, part: ChunkPart) -> Result<(), Failure> {
        if self.tally.first_ns.load(Ordering::Relaxed) == 0 {
            self.tally.first_ns.store(self.begun.elapsed().as_nanos() as u64, Ordering::Relaxed);
        }
        self.watched.take(&part);
        part.results.iter().for_each(|result| self.count(result));
        self.credits.iter_mut().for_each(|credits| credits.take(&part));
        let chunk = part.chunk;
        match &mut self.in_order {
            None => {
                let is_printed = part.results.iter().try_fold(true, |all, result| Ok(self.print(result)? && all))?;
                if is_printed {
                    self.note_printed(chunk)?;
                }
            }
            Some(order) => {
                order.unprinted.insert(chunk, part.results.len());
                order.waiting.extend(part.results.into_iter().map(|result| (result.job, (chunk, result))));
                self.print_in_turn()?;
            }
        }
        self.consider_halting()
    }

    fn count(&mut self, result: &JobResult) {
        match result.outcome {
            JobOutcome::Ok => self.ran.counts.succeeded += 1,
            _ => self.ran.counts.failed += 1,
        }
        self.tally.failed.store(self.ran.counts.failed, Ordering::Relaxed);
        self.tally.ended.fetch_add(1, Ordering::Relaxed);
    }

    fn note_printed(&mut self, chunk: u32) -> Result<(), Failure> {
        self.gathered.note(chunk).map_err(|error| note_failure(&error))
    }

    fn print_in_turn(&mut self) -> Result<(), Failure> {
        while let Some(order) = &mut self.in_order
            && let Some(next) = order.numbers.front()
            && let Some((chunk, result)) = order.waiting.remove(next)
        {
            order.numbers.pop_front();
            self.print_of(chunk, &result)?;
        }
        Ok(())
    }

    /// Prints one result of a chunk, and notes the chunk with its last one.
    fn print_of(&mut self, chunk: u32, result: &JobResult) -> Result<(), Failure> {
        let is_printed = self.print(result)?;
        let Some(order) = &mut self.in_order else { return Ok(()) };
        let Some(left) = order.unprinted.get_mut(&chunk).filter(|_| is_printed) else {
            // It is printed again by a submission that goes on.
            order.unprinted.remove(&chunk);
            return Ok(());
        };
        *left -= 1;
        if *left == 0 {
            order.unprinted.remove(&chunk);
            self.note_printed(chunk)?;
        }
        Ok(())
    }

    /// Prints what a job printed, and what is to be said about it. Returns whether the spool had all of it.
    fn print(&mut self, result: &JobResult) -> Result<bool, Failure> {
        self.messages.make_room();
        let printed = self.print_outputs(result);
        self.messages.show_progress_again();
        let node = node_of(&result.worker);
        for text in &result.said {
            self.messages.conclusion(NAME, &format!("{text} (on {node})"));
        }
        printed
    }

    fn print_outputs(&mut self, result: &JobResult) -> Result<bool, Failure> {
        let mut is_all = true;
        let outputs: [&mut dyn Write; 2] = [&mut io::stdout().lock(), &mut io::stderr().lock()];
        for (stream, to) in outputs.into_iter().enumerate() {
            let copied = self.gatherer.copy(result, stream, to);
            match copied.and_then(|()| to.flush().map_err(OutputFault::Write)) {
                Ok(()) => {}
                Err(OutputFault::Write(error)) if error.kind() == ErrorKind::BrokenPipe && stream == 0 => {
                    return Err(Failure::BrokenPipe);
                }
                // Who closes standard error wants none of it.
                Err(OutputFault::Write(_)) if stream == 1 => {}
                Err(fault @ OutputFault::Write(_)) => {
                    return Err(Failure::Environment { command: NAME, message: with_causes(&fault) });
                }
                Err(fault) => {
                    (self.ran.is_incomplete, is_all) = (true, false);
                    let text = format!("{NAME}: could not print job {}: {}\n", result.job, with_causes(&fault));
                    let _nobody_reads_it = to.write_all(text.as_bytes());
                }
            }
        }
        Ok(is_all)
    }

    fn consider_halting(&mut self) -> Result<(), Failure> {
        let (counts, total) = (self.ran.counts, self.spool.header().jobs);
        if self.ran.halted.is_none()
            && let Some(rule) = self.halt.filter(|rule| rule.is_met(counts, Some(total)))
        {
            self.ran.halted = Some(rule);
            let stop = if rule.manner == HaltManner::Now { SpoolStop::Now } else { SpoolStop::Drain };
            self.spool.halt(&rule.to_string(), stop).map_err(|fault| spool_failure(&fault))?;
        }
        Ok(())
    }

    fn finish(mut self, context: &Context, args: &XjobsArgs, journal: Option<Journal>) -> Result<Outcome, Failure> {
        // Those that would be printed first may never be.
        let waiting = self.in_order.as_mut().map(|order| std::mem::take(&mut order.waiting)).unwrap_or_default();
        waiting.values().try_for_each(|(chunk, result)| self.print_of(*chunk, result))?;
        let unfinished = self.gatherer.unfinished().map_err(|fault| spool_failure(&fault))?;
        let mut in_part: u64 = unfinished.iter().map(|part| part.results.len() as u64).sum();
        if self.spool.halted().is_some() && !self.gatherer.is_complete() {
            // The rule was met by one of them, and nothing is to go on.
            in_part = 0;
            unfinished.iter().try_for_each(|part| self.take_part_of(part))?;
        }
        if let Some((mut journal, credits)) = journal.zip(self.credits.take()) {
            credits.merge(&self.spool, &mut journal).map_err(|error| Failure::Environment {
                command: NAME,
                message: format!("add to the journal: {}", with_causes(&error)),
            })?;
        }
        let EndCounts { succeeded, failed } = self.ran.counts;
        let known = succeeded + failed + self.ran.left_out - self.left_out_before;
        let missing = self.spool.header().jobs.saturating_sub(known);
        self.ran.stopped_by = self.wish.signal();
        let is_complete = self.gatherer.is_complete();
        self.ran.is_incomplete |= !is_complete && self.ran.halted.is_none();
        if args.total_time {
            let seconds = self.begun.elapsed().as_secs_f64();
            context.messages.conclusion(NAME, &format!("{} jobs in {seconds:.3} sec.", succeeded + failed));
        }
        if !is_complete {
            let halted = self.spool.halted().map(|rule| format!("--halt {rule} is met; ")).unwrap_or_default();
            let partly = match in_part {
                0 => String::new(),
                count => format!(
                    " ({} of unfinished chunks have ended: they are printed when it goes on)",
                    counted(count, "job")
                ),
            };
            let text = format!("{halted}{} not done{partly}", counted(missing, "job"));
            context.messages.conclusion(NAME, &text);
            context.messages.conclusion(NAME, &shown::goes_on(self.spool.root()));
        }
        report::conclude(context, &self.ran, false);
        if let Some(format) = args.report {
            let asked = self.spool.header().limits.workers as usize;
            let watched = std::mem::take(&mut self.watched);
            shown::report(context, &verdict(&watched.run(asked)), &self.ran, format);
        }
        self.conclude(context, args, is_complete)
    }

    /// Counts and prints what has ended of a chunk that is not done.
    fn take_part_of(&mut self, part: &ChunkPart) -> Result<(), Failure> {
        for result in &part.results {
            self.count(result);
            self.print(result)?;
        }
        self.consider_halting()
    }

    fn conclude(self, context: &Context, args: &XjobsArgs, is_complete: bool) -> Result<Outcome, Failure> {
        let Self { spool, gatherer, crowd, gathered, ran, failed_before, .. } = self;
        crowd.let_go(worker_signs(spool.root(), spool.lease()).is_ok_and(|signs| signs.old > 0));
        // Nothing of the spool may be open when it is removed.
        drop((gatherer, gathered));
        if is_complete
            && is_ours_alone(args)
            && !ran.is_incomplete
            && let Err(fault) = spool.remove()
        {
            context.messages.warning(NAME, &format!("could not {}", with_causes(&fault)), &[]);
        }
        if failed_before > 0 {
            let text = format!("{} failed before this submission", counted(failed_before, "job"));
            context.messages.conclusion(NAME, &text);
        }
        if let Some(signal) = ran.stopped_by {
            die_by(signal);
        }
        // COMPAT: what --halt waited for counts, not what else failed.
        let is_well = ran.halted.is_some_and(|rule| rule.is_for_success()) || ran.counts.failed + failed_before == 0;
        Ok(if is_well && !ran.is_incomplete { Outcome::Done } else { Outcome::Partial })
    }
}

/// Whether the spool is one that nobody has named.
fn is_ours_alone(args: &XjobsArgs) -> bool {
    args.nodes.on.is_some() && args.nodes.spool.is_none()
}

/// The node in a worker's name: `NUMBER-NODE-PID-TIME`.
fn node_of(worker: &str) -> &str {
    let behind = worker.split_once('-').map_or("?", |(_, rest)| rest);
    behind.rsplitn(3, '-').nth(2).unwrap_or("?")
}

fn note_failure(error: &io::Error) -> Failure {
    Failure::Environment {
        command: NAME,
        message: format!("note in the spool what was printed: {}", with_causes(error)),
    }
}

/// `--attach SPOOL`: with the options of whoever submitted it, in their directory.
pub fn attach(context: &mut Context, own: &XjobsArgs, root: &Path) -> Result<Outcome, Failure> {
    let absolute = |path: &Path| {
        std::path::absolute(path).map_err(|error| Failure::Environment {
            command: NAME,
            message: format!("find {}: {}", terminal::quote(path), with_causes(&error)),
        })
    };
    let spool = Arc::new(Spool::open(&absolute(root)?).map_err(|fault| spool_failure(&fault))?);
    let own_journal = own.journal.as_deref().map(absolute).transpose()?;
    go_to_its_directory(&spool)?;
    let words = spool.header().argv.iter().map(|word| OsString::from_vec(word.0.clone()));
    let matches = command().try_get_matches_from([OsString::from("xjobs")].into_iter().chain(words));
    let mut args =
        XjobsArgs::from_arg_matches(&matches.map_err(Failure::CommandLine)?).map_err(Failure::CommandLine)?;
    args.plain |= own.plain;
    args.keep_order |= own.keep_order;
    args.report = own.report.or(args.report);
    args.journal = own_journal.or(args.journal);
    let job = plan::plan_with(context, &args, Called::Mh, &mut |_, _| {
        Ok(inputs::List { source: None, name: "the spool".to_owned(), is_server: false, total: None })
    })?;
    let wish = attend(context, &spool)?;
    let books = begin::open_books(context, &args, &job.options.template)?;
    let crowd = super::submit::crowd_of(context, &args, &spool)?;
    let gathering = NodeGathering::new(context, spool, &job, crowd, wish, true, books.journal.is_some())?;
    gathering.run(context, &args, books.journal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_named_whatever_is_in_their_names() {
        assert_eq!((node_of("3-node-12-77-1795"), node_of("0-n1-5-6"), node_of("")), ("node-12", "n1", "?"));
    }
}
