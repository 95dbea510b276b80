//! A run on a screen of its own (`--live`): the run brings what happened, a thread shows it, and the key that leaves ends the run as Ctrl-C does.

mod heat;
mod screen;

use super::environment;
use super::history::LoadMoment;
use super::plan::PreparedLoad;
use super::shown;
use ::load::generator::ThreadUse;
use ::load::late::{LoadKind, WhoWasLate, judge};
use ::load::ledger::Ledger;
use ::load::session::SqlDialect;
use mh_kit::context::variable;
use mh_kit::failure::Failure;
use mh_kit::screen::LiveScreen;
use parking_lot::Mutex;
use rustix::process::{Signal, getpid, kill_process};
use screen::RunView;
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;
use sys::error_text::message;
use terminal::full_screen::{Bell, FullScreen, ScreenEnd};
use terminal::{Colour, TextDestination};

/// LIMIT: intervals that a screen shows beside each other; no terminal is wider.
const COLUMNS_MAX: usize = 512;

/// What does not change while a run is shown.
#[derive(Clone, Debug)]
struct LiveFacts {
    /// What was begun, in one line.
    opening: String,
    kind: LoadKind,
    /// Threads of the generator.
    threads: usize,
    warmup_s: f64,
    duration_s: f64,
    interval_s: f64,
}

/// What the screen knows of a run.
#[derive(Clone, Debug, Default)]
struct LiveSeen {
    moments: VecDeque<LoadMoment>,
    /// In the last interval.
    late: Option<WhoWasLate>,
    /// Since measuring began.
    failed: u64,
    dropped: u64,
}

impl LiveSeen {
    fn push(&mut self, moment: LoadMoment, late: WhoWasLate) {
        if !moment.is_warmup {
            self.failed += moment.counts.failed;
            self.dropped += moment.counts.dropped;
        }
        if self.moments.len() == COLUMNS_MAX {
            self.moments.pop_front();
        }
        self.moments.push_back(moment);
        self.late = Some(late);
    }
}

/// A run that is shown.
pub struct LiveRun {
    facts: LiveFacts,
    seen: Arc<Mutex<LiveSeen>>,
    bell: Bell,
    drawing: JoinHandle<()>,
}

impl LiveRun {
    /// Takes the terminal over, which has a screen. Signals that end programs must be held back by now.
    pub fn begin(prepared: &PreparedLoad) -> Result<Self, Failure> {
        let refused = |error: std::io::Error| environment(format!("take the terminal over: {}", message(&error)));
        let mut screen = FullScreen::enter().map_err(refused)?;
        let (bell, seen) = (screen.bell(), Arc::new(Mutex::new(LiveSeen::default())));
        let facts = facts(prepared);
        let colour = Colour::decide(variable("NO_COLOR").as_deref(), TextDestination::of(&std::io::stdout()));
        let glyphs = heat::Glyphs::of_locale(|name| variable(name)?.into_string().ok());
        let mut view = LiveScreen::new(RunView::new(facts.clone(), Arc::clone(&seen), colour, glyphs));
        let drawing = std::thread::Builder::new().name("screen".to_owned()).spawn(move || {
            let left = screen.show(&mut view);
            drop(screen);
            if !matches!(left, Ok(ScreenEnd::Ended(_))) {
                let _we_live = kill_process(getpid(), Signal::INT);
            }
        });
        Ok(Self { facts, seen, bell, drawing: drawing.map_err(refused)? })
    }

    /// Shows an interval.
    pub fn show(&self, moment: LoadMoment, ledger: &Ledger) {
        let late = self.facts.judge(&moment, ledger);
        self.seen.lock().push(moment, late);
        self.bell.ring();
    }

    /// Gives the terminal back.
    pub fn end(self) {
        self.bell.end(0);
        let _a_panic_has_been_told = self.drawing.join();
    }
}

fn facts(prepared: &PreparedLoad) -> LiveFacts {
    let plan = &prepared.plan;
    LiveFacts {
        opening: shown::opening(prepared),
        kind: LoadKind {
            is_open: shown::is_open(prepared),
            is_embedded: prepared.target.dialect() == SqlDialect::Sqlite,
        },
        threads: plan.threads.clamp(1, plan.clients.max(1)),
        warmup_s: plan.warmup.as_secs_f64(),
        duration_s: plan.duration.as_secs_f64(),
        interval_s: plan.interval.as_secs_f64(),
    }
}

impl LiveFacts {
    /// Who was late in one interval. CPU time is the process's, evenly among the threads.
    fn judge(&self, moment: &LoadMoment, ledger: &Ledger) -> WhoWasLate {
        let used = ThreadUse {
            cpu_ns: moment.own_cpu_ns / self.threads as u64,
            elapsed_ns: (moment.elapsed_s * 1e9) as u64,
            ..ThreadUse::default()
        };
        judge(ledger, &[used], self.kind)
    }
}
