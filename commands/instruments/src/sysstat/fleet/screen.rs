//! The screen of many hosts: rows, a chosen one, and the screen of one host above them when it is opened.

use super::rows::{RowState, heading, headline, line, order};
use super::{FleetRow, SharedFleet, bring};
use crate::sysstat::export::clock;
use crate::sysstat::line::TintedLine;
use crate::sysstat::screen::HostScreen;
use ::fleet::viewer::{HostId, Viewer};
use mh_kit::failure::Failure;
use mh_kit::instrument::failure;
use rustix::process::{Signal, getpid, kill_process};
use std::sync::Arc;
use std::time::Duration;
use terminal::Tint;
use terminal::full_screen::{Canvas, FullScreen, Key, KeyEffect, ScreenEnd, ScreenView};

/// Rows that a page key passes.
const PAGE: usize = 15;

/// What `?` shows.
const HELP: &[&str] = &[
    "",
    "arrows     choose a host; page up, page down, home, end",
    "Enter      the chosen host on a screen of its own; Esc comes back",
    "/          only hosts with a text in their name     Esc  all again",
    "n          the chosen host is who it says: the codes were compared",
    "q          leave",
    "",
    "hot: its busiest CPU; runq: threads that run or could; psi: share of the time in which some thread waited; await: of all disks.",
];

/// The screen.
struct FleetScreen {
    shared: Arc<SharedFleet>,
    rows: Vec<(HostId, FleetRow)>,
    chosen: Option<HostId>,
    only: String,
    is_typing: bool,
    is_help: bool,
    /// The host that is open.
    open: Option<(HostId, Box<HostScreen>)>,
}

impl FleetScreen {
    fn new(shared: Arc<SharedFleet>) -> Self {
        Self {
            shared,
            rows: Vec::new(),
            chosen: None,
            only: String::new(),
            is_typing: false,
            is_help: false,
            open: None,
        }
    }

    fn take(&mut self) {
        self.rows = self.shared.rows();
        self.rows.retain(|(_, row)| row.name.contains(&self.only));
        order(&mut self.rows);
    }

    fn at(&self) -> Option<usize> {
        let chosen = self.chosen?;
        self.rows.iter().position(|(id, _)| *id == chosen)
    }

    fn choose(&mut self, by: isize) {
        let last = self.rows.len().saturating_sub(1);
        let to = self.at().map_or(0, |at| at.saturating_add_signed(by).min(last));
        self.chosen = self.rows.get(to).map(|(id, _)| *id);
    }

    fn open_chosen(&mut self) {
        let Some(at) = self.at() else { return };
        if let Some((id, row)) = self.rows.get(at) {
            self.open = Some((*id, Box::new(HostScreen::new(Arc::clone(&row.host), false))));
        }
    }

    fn accept_chosen(&mut self) {
        let row = self.at().and_then(|at| self.rows.get(at));
        if let Some((id, _)) = row.filter(|(_, row)| matches!(row.state, RowState::Unconfirmed { .. })) {
            self.shared.accept(*id);
        }
    }

    fn typed(&mut self, key: Key) {
        match key {
            Key::Enter => self.is_typing = false,
            Key::Escape => {
                self.only.clear();
                self.is_typing = false;
            }
            Key::Backspace => drop(self.only.pop()),
            Key::Letter(letter) if !letter.is_control() => self.only.push(letter),
            _ => {}
        }
        self.take();
    }
}

impl ScreenView for FleetScreen {
    fn draw(&self, canvas: &mut Canvas<'_>) {
        if let Some((_, open)) = &self.open {
            return open.draw(canvas);
        }
        let (width, height) = (canvas.width(), canvas.height());
        let last = height.saturating_sub(1);
        if self.is_help {
            HELP.iter().enumerate().for_each(|(row, text)| canvas.line(row, text));
            return;
        }
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let time = clock(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX));
        let first = headline(&self.rows).beside(width.saturating_sub(time.len()), TintedLine::of(time));
        canvas.pieces(0, 0, width, first.pieces());
        canvas.pieces(1, 0, width, heading().pieces());
        let room = last.saturating_sub(2);
        let at = self.at();
        let skipped = at.map_or(0, |at| (at + 1).saturating_sub(room.max(1)));
        for (row, (_, host)) in self.rows.iter().skip(skipped).take(room).enumerate() {
            canvas.pieces(2 + row, 0, width, line(host).pieces());
            if at == Some(skipped + row) {
                canvas.reverse(2 + row, width);
            }
        }
        let below = self.rows.len().saturating_sub(skipped + room);
        let more = if below > 0 { format!("   {below} more below") } else { String::new() };
        let text = if self.is_typing {
            format!("only hosts with: {}_", self.only)
        } else {
            format!("Enter opens  / only  n accepts  ? help  q quit{more}")
        };
        canvas.tinted(last, &text, if self.is_typing { Tint::Bold } else { Tint::Dim });
    }

    fn key(&mut self, key: Key) -> KeyEffect {
        if let Some((_, open)) = &mut self.open {
            let effect = open.key(key);
            if effect == KeyEffect::Leave && key == Key::Escape {
                self.open = None;
                self.take();
                return KeyEffect::Draw;
            }
            return effect;
        }
        if std::mem::take(&mut self.is_help) {
            return KeyEffect::Draw;
        }
        if self.is_typing && key != Key::Interrupt {
            self.typed(key);
            return KeyEffect::Draw;
        }
        match key {
            Key::Interrupt | Key::Letter('q') => return KeyEffect::Leave,
            Key::Escape if self.only.is_empty() => return KeyEffect::Leave,
            Key::Escape => self.only.clear(),
            Key::Letter('?' | 'h') | Key::Function(1) => self.is_help = true,
            Key::Letter('/') => self.is_typing = true,
            Key::Letter('n') => self.accept_chosen(),
            Key::Enter => self.open_chosen(),
            Key::Up => self.choose(-1),
            Key::Down => self.choose(1),
            Key::PageUp => self.choose(-(PAGE as isize)),
            Key::PageDown => self.choose(PAGE as isize),
            Key::Home => self.choose(isize::MIN + 1),
            Key::End => self.choose(isize::MAX),
            _ => return KeyEffect::Stay,
        }
        self.take();
        KeyEffect::Draw
    }

    fn refresh(&mut self) -> bool {
        self.take();
        match &mut self.open {
            Some((_, open)) => open.refresh(),
            None => true,
        }
    }
}

/// Shows all hosts until the user leaves.
pub fn show(command: &'static str, viewer: &mut Viewer, interval: Duration) -> Result<(), Failure> {
    let mut screen = FullScreen::enter().map_err(|error| failure(command, &error))?;
    let bell = screen.bell();
    let shared = SharedFleet::new(interval, screen.bell());
    let mut view = FleetScreen::new(Arc::clone(&shared));
    let drawing = std::thread::Builder::new().name("screen".to_owned()).spawn(move || {
        let left = screen.show(&mut view);
        drop(screen);
        if !matches!(left, Ok(ScreenEnd::Ended(_))) {
            let _we_live = kill_process(getpid(), Signal::INT);
        }
    });
    let drawing = drawing.map_err(|error| failure(command, &error))?;
    let brought = bring(command, viewer, &shared, |_| false);
    bell.end(0);
    let _a_panic_has_been_told = drawing.join();
    brought
}
