//! The workers of a submission: started, looked after at the pace that an engine bears, and followed by others where work is left.

use super::super::super::NAME;
use super::super::shown::NodeTally;
use cluster::gather::Gatherer;
use cluster::launcher::{EngineState, Launcher, LauncherFault, WorkerRequest};
use mh_kit::context::Context;
use mh_kit::failure::with_causes;
use mh_kit::report::counted;
use parking_lot::Mutex;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

/// Between questions to an engine: at first, and at last. Administrators notice shorter ones.
const ASK: Duration = Duration::from_secs(1);
const ASK_MAX: Duration = Duration::from_secs(30);

/// LIMIT: at the end an engine is waited for so long; workers that come later find nothing to do.
const LAST_ANSWER: Duration = Duration::from_secs(3);

/// The file in which ids of engines are noted, with the number of the first worker that follows.
const IDS: &str = "engine";

/// LIMIT: times that workers are started again though those before them finished nothing.
const IN_VAIN_MAX: u32 = 2;

/// LIMIT: of a worker's log this much is shown.
const LOG_SHOWN: usize = 600;

/// How the workers stand, and the ids of requests of which some are left.
type Answer = Result<(EngineState, Vec<String>), LauncherFault>;

/// Workers, and the engine that they came from.
pub struct WorkerCrowd {
    launcher: Arc<Mutex<Box<dyn Launcher>>>,
    sees_ends: bool,
    request: WorkerRequest,
    ids: Vec<String>,
    /// How long a worker may give no sign of life.
    lease: Duration,
    started: Instant,
    /// The engine has been asked how they stand. Results do not wait for it: it may take long, or hang.
    question: Option<Receiver<Answer>>,
    asked: Instant,
    pause: Duration,
    /// Chunks that were left when workers were last started.
    left: Option<u32>,
    in_vain: u32,
    was_silent: bool,
    is_cancelled: bool,
    has_told_waits: bool,
    /// How workers have gone that did not end well, as far as it was told.
    lost: Option<String>,
}

impl WorkerCrowd {
    /// Those that were started for this spool so far, by whoever it was: none of a new one.
    pub fn of(launcher: Box<dyn Launcher>, mut request: WorkerRequest, lease: Duration) -> Self {
        let noted = std::fs::read_to_string(request.spool.join(IDS)).unwrap_or_default();
        let mut ids = Vec::new();
        for line in noted.lines() {
            if let Some((first, id)) = line.split_once(' ') {
                request.first = request.first.max(first.parse().unwrap_or(0));
                ids.push(id.to_owned());
            }
        }
        Self {
            sees_ends: launcher.sees_ends(),
            launcher: Arc::new(Mutex::new(launcher)),
            request,
            ids,
            lease,
            started: Instant::now(),
            question: None,
            asked: Instant::now(),
            pause: ASK,
            left: None,
            in_vain: 0,
            was_silent: false,
            is_cancelled: false,
            has_told_waits: false,
            lost: None,
        }
    }

    /// Starts workers, as so many chunks are left.
    pub fn start(&mut self, context: &Context, left: u32) -> Result<(), LauncherFault> {
        self.left = Some(left);
        let started = self.launcher.lock().start(&self.request)?;
        if let Some(words) = &started.refused {
            let (got, asked) = (started.workers, self.request.workers);
            let text = format!("{} of {asked} workers were started: {words}", terminal::integer(u64::from(got)));
            context.messages.warning(NAME, &text, &[]);
        }
        self.request.first += self.request.workers;
        // For whoever attaches.
        let noted = File::options().create(true).append(true).open(self.request.spool.join(IDS));
        let line = format!("{} {}\n", self.request.first, started.id);
        let _who_attaches_goes_by_signs_of_life = noted.and_then(|mut file| file.write_all(line.as_bytes()));
        self.ids.push(started.id);
        (self.started, self.asked, self.pause) = (Instant::now(), Instant::now(), ASK);
        Ok(())
    }

    /// Looks after them. Returns whether the run goes on.
    pub fn look(
        &mut self,
        context: &Context,
        gatherer: &Gatherer,
        tally: &NodeTally,
        alive: u32,
        is_ending: bool,
    ) -> bool {
        let answer = match self.question.as_ref().map(Receiver::try_recv) {
            None => {
                self.ask_in_time(gatherer);
                return true;
            }
            Some(Err(TryRecvError::Empty)) => return true,
            Some(answer) => answer,
        };
        (self.question, self.asked) = (None, Instant::now());
        let state = match answer {
            Ok(Ok((state, left))) => {
                self.ids = left;
                state
            }
            Ok(Err(fault)) => {
                if !std::mem::replace(&mut self.was_silent, true) {
                    let text = format!("{}; the run goes on, as its spool says", with_causes(&fault));
                    context.messages.warning(NAME, &text, &[]);
                }
                return true;
            }
            // Its thread is gone; there will be another.
            Err(_) => return true,
        };
        self.was_silent = false;
        tally.pending.store(u64::from(state.pending), Ordering::Relaxed);
        if let Some(lost) = state.lost.as_ref().filter(|_| !is_ending && self.lost.is_none()) {
            context.messages.warning(NAME, &format!("workers have gone: {lost}; others do their work"), &[]);
        }
        if let Some(waits) = state.waits.as_ref().filter(|_| state.running + alive == 0 && !self.has_told_waits) {
            self.has_told_waits = true;
            context.messages.conclusion(NAME, &format!("workers wait for nodes: {waits}"));
        }
        self.lost = state.lost.clone().or(self.lost.take());
        if !self.sees_ends && !have_ended(gatherer) && self.started.elapsed() < self.lease {
            // They may not have come to their first sign of life.
            return true;
        }
        if state.running > 0 || alive > 0 || (state.pending > 0 && !is_ending) {
            return true;
        }
        if is_ending {
            return false;
        }
        self.follow(context, gatherer.left())
    }

    /// Asks the engine, if it is time.
    fn ask_in_time(&mut self, gatherer: &Gatherer) {
        if self.asked.elapsed() >= if have_ended(gatherer) { ASK / 4 } else { self.pause } {
            (self.asked, self.pause) = (Instant::now(), (self.pause * 3 / 2).min(ASK_MAX));
            self.ask();
        }
    }

    fn ask(&mut self) {
        let (launcher, ids) = (Arc::clone(&self.launcher), self.ids.clone());
        let (answer, question) = sync_channel(1);
        let ask = move || {
            let state = state(&mut **launcher.lock(), ids);
            let _nobody_may_wait_for_it = answer.send(state);
        };
        // Without a thread it is asked the next time.
        let started = std::thread::Builder::new().name("engine".to_owned()).spawn(ask);
        self.question = started.is_ok().then_some(question);
    }

    /// All have gone, and work is left.
    fn follow(&mut self, context: &Context, left: u32) -> bool {
        let has_done_something = self.left.is_none_or(|before| left < before);
        self.in_vain = if has_done_something { 0 } else { self.in_vain + 1 };
        if self.in_vain > IN_VAIN_MAX {
            let reason = self.lost.as_deref().map(|lost| format!(" ({lost})")).unwrap_or_default();
            let spool = &self.request.spool;
            let logged = last_words(&spool.join("log")).map(|log| format!("the last log says: {log}"));
            let hint = why_not_written(spool).or_else(|| why_unseen(spool)).or(logged);
            let text = format!("workers have ended{reason} and {} left", counted(u64::from(left), "chunk"));
            let hints: Vec<String> = hint.into_iter().collect();
            context.messages.error(NAME, &format!("go on: {text}"), &hints);
            return false;
        }
        self.request.workers = self.request.workers.min(left.max(1));
        match self.start(context, left) {
            Ok(()) => true,
            Err(fault) => {
                context.messages.error(NAME, &format!("start more workers: {}", with_causes(&fault)), &[]);
                false
            }
        }
    }

    /// Ends those that run and those that wait.
    pub fn cancel(&mut self) {
        if std::mem::replace(&mut self.is_cancelled, true) {
            return;
        }
        for id in &self.ids {
            // The spool says the same to those that run.
            let _said_in_the_spool = self.launcher.lock().end(id);
        }
    }

    /// Nothing is left to do: those that wait for a node need not come, nor those again that died.
    pub fn let_go(mut self, has_dead: bool) {
        if self.question.is_none() && !self.was_silent {
            self.ask();
        }
        let Some(Ok(Ok((state, _)))) = self.question.take().map(|question| question.recv_timeout(LAST_ANSWER)) else {
            return;
        };
        if state.pending > 0 || (has_dead && self.sees_ends && state.running > 0) {
            self.cancel();
        }
    }
}

/// All that were seen have said that they end: then the engine is asked at once.
fn have_ended(gatherer: &Gatherer) -> bool {
    let (seen, ended) = gatherer.workers();
    seen > 0 && ended >= seen
}

/// How the workers of all requests stand. Those that have gone need not be asked about again.
fn state(launcher: &mut dyn Launcher, ids: Vec<String>) -> Answer {
    let (mut all, mut left) = (EngineState::default(), Vec::new());
    for id in ids {
        let mut state = launcher.look(&id)?;
        if !launcher.sees_ends() {
            state.running = 0;
            left.push(id);
        } else if state.pending + state.running > 0 {
            left.push(id);
        }
        all.pending += state.pending;
        all.running += state.running;
        all.waits = state.waits.or(all.waits);
        all.lost = state.lost.or(all.lost);
    }
    Ok((all, left))
}

/// Why no worker has left a trace in the spool, if that is so: even the engine's own files would be there.
fn why_unseen(spool: &Path) -> Option<String> {
    let is_empty = std::fs::read_dir(spool.join("log")).ok()?.next().is_none();
    let spool = terminal::quote(spool);
    is_empty
        .then(|| format!("no worker has written there: all nodes have to see {spool}; --spool DIR names another one"))
}

/// Why the spool cannot be written, if that is so: then there is no log that says it.
fn why_not_written(spool: &Path) -> Option<String> {
    let path = spool.join("probe");
    let written = std::fs::write(&path, [b'x'; 4096]);
    let _it_may_not_be_there = std::fs::remove_file(&path);
    written.err().map(|error| format!("the spool cannot be written: {}", with_causes(&error)))
}

/// The end of the log that was written last.
fn last_words(logs: &Path) -> Option<String> {
    let time = |entry: &std::fs::DirEntry| entry.metadata().and_then(|status| status.modified()).ok();
    let last = std::fs::read_dir(logs).ok()?.flatten().max_by_key(time)?;
    let text = std::fs::read(last.path()).ok()?;
    let text = String::from_utf8_lossy(&text[text.len().saturating_sub(LOG_SHOWN)..]).trim().to_owned();
    Some(text.lines().last()?.to_owned()).filter(|line| !line.is_empty())
}
