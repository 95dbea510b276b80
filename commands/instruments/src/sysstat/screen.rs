//! The screen of one host: bands above, processes below, and what keys do to them. What is shown is made anew from the session at each
//! drawing; orders to processes are in `orders`, typed answers in `prompt`.

mod draw;
mod followed;
mod keys;

use super::layout::ExpandedBands;
use super::orders::ProcessOrderToGive;
use super::prompt::Prompt;
use super::session::{HostSession, ShownMoment};
use super::table::TableChoice;
use followed::FollowedFigures;
use mh_kit::failure::Failure;
use mh_kit::instrument::failure;
use observe::host::recording::HostFacts;
use observe::host::snapshot::ProcessLine;
use observe::source::accounts::Accounts;
use parking_lot::Mutex;
use rustix::process::{Signal, getpid, kill_process};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use terminal::full_screen::{Bell, Canvas, FullScreen, Key, KeyEffect, ScreenEnd, ScreenView};

/// What the screen and whoever brings snapshots have in common.
pub struct SharedHost {
    /// The host.
    pub session: Mutex<HostSession>,
    /// How often it is looked at, in milliseconds; the screen's keys change it.
    interval_ms: AtomicU64,
    /// What goes wrong beside the screen, as long as it does; empty otherwise.
    complaint: Mutex<String>,
    bell: Bell,
}

impl SharedHost {
    /// Of a host that is looked at so often.
    pub fn new(session: HostSession, interval: Duration, bell: Bell) -> Arc<Self> {
        let interval_ms = AtomicU64::new(u64::try_from(interval.as_millis()).unwrap_or(u64::MAX));
        Arc::new(Self { session: Mutex::new(session), interval_ms, complaint: Mutex::default(), bell })
    }

    /// How often it is looked at.
    pub fn interval(&self) -> Duration {
        // ORDER: Relaxed: a number that means nothing but itself.
        Duration::from_millis(self.interval_ms.load(Ordering::Relaxed))
    }

    fn set_interval(&self, interval: Duration) {
        // ORDER: Relaxed: as above.
        self.interval_ms.store(u64::try_from(interval.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Something beside the screen went wrong, or does no longer.
    pub fn report(&self, text: String, is_wrong: bool) {
        *self.complaint.lock() = if is_wrong { text } else { String::new() };
    }

    /// There is something new.
    pub fn ring(&self) {
        self.bell.ring();
    }
}

/// Where a view stands in the host's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// With the newest.
    Newest,
    /// At a moment, where it stays.
    Place(usize),
    /// A recording is played: at a moment, and on with each bell.
    Playing(usize),
}

impl At {
    /// The place in the history; none for the newest.
    fn place(self) -> Option<usize> {
        match self {
            Self::Newest => None,
            Self::Place(place) | Self::Playing(place) => Some(place),
        }
    }
}

/// What lies over the processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Sheet {
    /// Nothing.
    #[default]
    None,
    /// Keys.
    Help,
    /// All metrics, and how they are made.
    Metrics,
    /// The chosen process.
    Process,
}

/// The screen of one host.
pub struct HostScreen {
    shared: Arc<SharedHost>,
    facts: HostFacts,
    accounts: Accounts,
    shown: ShownMoment,
    usual: FollowedFigures,
    at: At,
    choice: TableChoice,
    expanded: ExpandedBands,
    /// Whether processes have all of the screen.
    only_processes: bool,
    sheet: Sheet,
    prompt: Option<Prompt>,
    asked: Option<ProcessOrderToGive>,
    /// What came of the last key.
    said: String,
    /// The row that is drawn first, of whatever scrolls.
    top: usize,
}

impl HostScreen {
    /// Of a host; its recording from the beginning, or as it comes.
    pub fn new(shared: Arc<SharedHost>, is_recording: bool) -> Self {
        let (facts, accounts) = {
            let session = shared.session.lock();
            (session.facts.clone(), session.accounts.clone())
        };
        let mut screen = Self {
            shared,
            facts,
            accounts,
            shown: ShownMoment::default(),
            usual: FollowedFigures::default(),
            at: if is_recording { At::Place(0) } else { At::Newest },
            choice: TableChoice::default(),
            expanded: ExpandedBands::default(),
            only_processes: false,
            sheet: Sheet::None,
            prompt: None,
            asked: None,
            said: String::new(),
            top: 0,
        };
        screen.take();
        screen
    }

    /// Takes what is to be shown.
    fn take(&mut self) {
        let mut session = self.shared.session.lock();
        let shown = match self.at {
            At::Newest => Some(session.latest()),
            At::Place(place) | At::Playing(place) => session.at(place),
        };
        match shown {
            Some(shown) => {
                self.usual.follow(&mut session, self.at.place(), &shown);
                self.shown = shown;
            }
            None => self.said = "that moment cannot be read".to_owned(),
        }
    }

    /// The process that is chosen, or whose thread is.
    fn chosen_process(&self) -> Option<&ProcessLine> {
        let snapshot = &self.shown.later;
        let chosen = self.choice.chosen?;
        let threads = snapshot.threads.iter().filter(|_| self.choice.are_threads);
        let pid = threads.into_iter().find(|thread| thread.id.pid == chosen).map_or(chosen, |thread| thread.parent);
        snapshot.processes.iter().find(|line| line.id.pid == pid)
    }

    /// Goes through the history by moments.
    fn step(&mut self, by: isize) {
        let places = self.shared.session.lock().places();
        if places.is_empty() {
            return;
        }
        let last = places.end - 1;
        let from = match self.at {
            At::Newest => last,
            At::Place(place) | At::Playing(place) => place,
        };
        self.at = At::Place(from.saturating_add_signed(by).clamp(places.start, last));
        self.take();
    }

    /// Goes to a time of day.
    fn go_to_time(&mut self, wall_ns: u64) {
        let place = self.shared.session.lock().find(wall_ns);
        self.at = At::Place(place);
        self.take();
    }
}

impl ScreenView for HostScreen {
    fn draw(&self, canvas: &mut Canvas<'_>) {
        draw::draw(self, canvas);
    }

    fn key(&mut self, key: Key) -> KeyEffect {
        keys::key(self, key)
    }

    fn refresh(&mut self) -> bool {
        match self.at {
            At::Newest => self.take(),
            At::Place(_) => return false,
            At::Playing(place) => {
                let last = self.shared.session.lock().places().end.saturating_sub(1);
                self.at = if place >= last { At::Place(last) } else { At::Playing(place + 1) };
                self.take();
            }
        }
        true
    }
}

/// Shows a host, with `notice` until the first key, until the user leaves, or `bring` ends, which brings the snapshots. It is interrupted when the user leaves.
///
/// Signals that end programs must be held back by now.
pub fn show(
    command: &'static str,
    session: HostSession,
    interval: Duration,
    notice: String,
    bring: impl FnOnce(&SharedHost) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut screen = FullScreen::enter().map_err(|error| failure(command, &error))?;
    let bell = screen.bell();
    let is_recording = !session.is_live();
    let shared = SharedHost::new(session, interval, screen.bell());
    let mut view = HostScreen::new(Arc::clone(&shared), is_recording);
    view.said = notice;
    let drawing = std::thread::Builder::new().name("screen".to_owned()).spawn(move || {
        let left = screen.show(&mut view);
        drop(screen);
        if !matches!(left, Ok(ScreenEnd::Ended(_))) {
            let _we_live = kill_process(getpid(), Signal::INT);
        }
    });
    let drawing = drawing.map_err(|error| failure(command, &error))?;
    let brought = bring(&shared);
    bell.end(0);
    let _a_panic_has_been_told = drawing.join();
    brought
}

#[cfg(test)]
mod tests;
