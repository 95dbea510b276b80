//! The screen of many hosts: rows, a chosen one, and the screen of one host above them when it is opened.

use super::fold::{FleetScreenRow, alike_line, fold};
use super::rows::{RowState, explanation, heading, headline, line, order};
use super::{FleetRow, SharedFleet, bring, compare};
use crate::sysstat::export::clock;
use crate::sysstat::line::TintedLine;
use crate::sysstat::screen::HostScreen;
use ::fleet::viewer::{HostId, Viewer};
use mh_kit::failure::Failure;
use mh_kit::instrument::failure;
use rustix::process::{Signal, getpid, kill_process};
use std::collections::HashSet;
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
    "Enter      the chosen host on a screen of its own; Esc comes back      on hosts alike: a row each",
    "space      mark a host, or take the mark away       c   compare the marked hosts, figure by figure",
    "+          a row each, or one for hosts that are alike",
    "/          only hosts with a text in their name     Esc  all again, no marks",
    "n          the chosen host is who it says: the codes were compared",
    "q          leave",
    "",
    "maxcpu: its busiest CPU; runq: threads that run or could; psi: share of the time in which some thread waited, for a CPU, then for",
    "memory; disk%: the busiest disk; await: mean time of a request to all disks.",
    "^ v     far above or below what is usual for that host, by its last 15 minutes. Compared hosts: apart from the middle one.",
    "Hosts are alike if nothing stands out and figures are near: 15 points of CPU, 20 of memory and disk. Four make one row.",
];

/// The screen.
struct FleetScreen {
    shared: Arc<SharedFleet>,
    hosts: Vec<(HostId, FleetRow)>,
    rows: Vec<FleetScreenRow>,
    chosen: Option<HostId>,
    marked: HashSet<HostId>,
    has_row_each: bool,
    only: String,
    said: String,
    sheet: FleetSheet,
    /// The host that is open.
    open: Option<(HostId, Box<HostScreen>)>,
}

/// What is shown in place of rows, or what keys do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FleetSheet {
    Rows,
    /// Letters are a filter.
    Typing,
    Help,
    /// The marked hosts side by side.
    Compared,
}

impl FleetScreen {
    fn new(shared: Arc<SharedFleet>) -> Self {
        Self {
            shared,
            hosts: Vec::new(),
            rows: Vec::new(),
            chosen: None,
            marked: HashSet::new(),
            has_row_each: false,
            only: String::new(),
            said: String::new(),
            sheet: FleetSheet::Rows,
            open: None,
        }
    }

    fn take(&mut self) {
        self.hosts = self.shared.rows();
        self.hosts.retain(|(_, row)| row.name.contains(&self.only));
        order(&mut self.hosts);
        self.rows = match self.has_row_each {
            true => (0..self.hosts.len()).map(FleetScreenRow::Host).collect(),
            false => fold(&self.hosts, |id| self.marked.contains(&id)),
        };
    }

    /// The chosen row.
    fn at(&self) -> Option<usize> {
        let chosen = self.chosen?;
        let host = self.hosts.iter().position(|(id, _)| *id == chosen)?;
        self.rows.iter().position(|row| row.has(host))
    }

    fn choose(&mut self, by: isize) {
        let last = self.rows.len().saturating_sub(1);
        let to = self.at().map_or(0, |at| at.saturating_add_signed(by).min(last));
        self.chosen = self.rows.get(to).and_then(|row| self.hosts.get(row.first())).map(|(id, _)| *id);
    }

    /// The chosen host; none if many are chosen at once.
    fn chosen_host(&self) -> Option<&(HostId, FleetRow)> {
        match self.rows.get(self.at()?)? {
            FleetScreenRow::Host(host) => self.hosts.get(*host),
            FleetScreenRow::Alike(_) => None,
        }
    }

    fn mark_chosen(&mut self) {
        let Some(chosen) = self.chosen.filter(|_| self.at().is_some()) else {
            "choose a host first, by the arrow keys".clone_into(&mut self.said);
            return;
        };
        // Of hosts in one row the first gets a row of its own by its mark.
        if !self.marked.remove(&chosen) {
            self.marked.insert(chosen);
        }
    }

    fn compare(&mut self) {
        if self.compared().len() < 2 {
            "mark two hosts or more by space: c compares them".clone_into(&mut self.said);
        } else {
            self.sheet = FleetSheet::Compared;
        }
    }

    /// The marked hosts, in the order of rows.
    fn compared(&self) -> Vec<&FleetRow> {
        self.hosts.iter().filter(|(id, _)| self.marked.contains(id)).map(|(_, row)| row).collect()
    }

    fn open_chosen(&mut self) {
        match self.chosen_host() {
            Some((id, row)) => {
                self.open = Some((*id, Box::new(HostScreen::new(Arc::clone(&row.host), false))));
            }
            None => self.has_row_each = self.at().is_some(),
        }
    }

    fn accept_chosen(&mut self) {
        let chosen = self.chosen_host().filter(|(_, row)| matches!(row.state, RowState::Unconfirmed { .. }));
        chosen.into_iter().for_each(|(id, _)| self.shared.accept(*id));
    }

    fn typed(&mut self, key: Key) {
        match key {
            Key::Enter => self.sheet = FleetSheet::Rows,
            Key::Escape => {
                self.only.clear();
                self.sheet = FleetSheet::Rows;
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
        match self.sheet {
            FleetSheet::Help => {
                let lines = HELP.iter().flat_map(|text| terminal::wrapped_line(text, width));
                lines.take(height).enumerate().for_each(|(row, text)| canvas.line(row, &text));
            }
            FleetSheet::Compared => {
                let lines = compare::lines(&self.compared(), width);
                lines.iter().take(height).enumerate().for_each(|(row, line)| {
                    canvas.pieces(row, 0, width, line.pieces());
                });
                canvas.tinted(height.saturating_sub(1), "any key: back to all hosts   q quit", Tint::Dim);
            }
            FleetSheet::Rows | FleetSheet::Typing => self.draw_rows(canvas, width, height),
        }
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
        self.said.clear();
        match self.sheet {
            FleetSheet::Typing if key != Key::Interrupt => {
                self.typed(key);
                return KeyEffect::Draw;
            }
            FleetSheet::Help | FleetSheet::Compared if !matches!(key, Key::Interrupt | Key::Letter('q')) => {
                self.sheet = FleetSheet::Rows;
                return KeyEffect::Draw;
            }
            _ => {}
        }
        match key {
            Key::Interrupt | Key::Letter('q') => return KeyEffect::Leave,
            Key::Escape if self.only.is_empty() && self.marked.is_empty() => return KeyEffect::Leave,
            Key::Escape => {
                self.only.clear();
                self.marked.clear();
            }
            Key::Letter('?' | 'h') | Key::Function(1) => self.sheet = FleetSheet::Help,
            Key::Letter('/') => self.sheet = FleetSheet::Typing,
            Key::Letter(' ') => self.mark_chosen(),
            Key::Letter('c') => self.compare(),
            Key::Letter('+') => self.has_row_each = !self.has_row_each,
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

impl FleetScreen {
    /// The first line, a row each, and keys. On a narrow screen the chosen host's verdict has a line of its own.
    fn draw_rows(&self, canvas: &mut Canvas<'_>, width: usize, height: usize) {
        let last = height.saturating_sub(1);
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let time = clock(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX));
        let first = headline(&self.hosts).beside(width.saturating_sub(time.len()), TintedLine::of(time));
        canvas.pieces(0, 0, width, first.pieces());
        canvas.pieces(1, 0, width, heading(width).pieces());
        let whole = self.chosen_host().map(|(_, row)| (row, explanation(row))).filter(|(_, text)| !text.is_empty());
        let whole = whole.filter(|_| width < 200 && height > 6);
        let room = last.saturating_sub(2 + usize::from(whole.is_some()));
        let at = self.at();
        let skipped = at.map_or(0, |at| (at + 1).saturating_sub(room.max(1)));
        for (place, row) in self.rows.iter().skip(skipped).take(room).enumerate() {
            canvas.pieces(2 + place, 0, width, self.row_line(row, width).pieces());
            if at == Some(skipped + place) {
                canvas.reverse(2 + place, width);
            }
        }
        if let Some((row, text)) = whole {
            canvas.tinted(last - 1, &format!("{}: {text}", row.name), Tint::Warning);
        }
        let below = self.rows.len().saturating_sub(skipped + room);
        self.draw_keys(canvas, last, below);
    }

    fn row_line(&self, row: &FleetScreenRow, width: usize) -> TintedLine {
        match row {
            FleetScreenRow::Alike(all) => alike_line(all, &self.hosts, width),
            FleetScreenRow::Host(host) => match self.hosts.get(*host) {
                Some((id, host)) => line(host, width, self.marked.contains(id)),
                None => TintedLine::default(),
            },
        }
    }

    fn draw_keys(&self, canvas: &mut Canvas<'_>, last: usize, below: usize) {
        let more = if below > 0 { format!("   {below} more below") } else { String::new() };
        let (text, tint) = match self.sheet {
            FleetSheet::Typing => (format!("only hosts with: {}_", self.only), Tint::Bold),
            _ if !self.said.is_empty() => (self.said.clone(), Tint::Warning),
            _ => {
                let keys = "Enter opens  space marks  c compares  + row each  / only  n accepts  ? help  q quit";
                let few = "Enter opens  space marks  c compares  + row each  / only  ? help  q quit";
                let keys = if keys.len() + more.len() <= canvas.width() { keys } else { few };
                (format!("{keys}{more}"), Tint::Dim)
            }
        };
        canvas.tinted(last, &text, tint);
    }
}

/// Shows all hosts, with `notice` until the first key, until the user leaves. `beside` is called for whatever else shows them.
pub fn show(
    command: &'static str,
    viewer: &mut Viewer,
    interval: Duration,
    notice: String,
    beside: impl Fn(&SharedFleet),
) -> Result<(), Failure> {
    let mut screen = FullScreen::enter().map_err(|error| failure(command, &error))?;
    let bell = screen.bell();
    let shared = SharedFleet::new(interval, screen.bell());
    let mut view = FleetScreen::new(Arc::clone(&shared));
    view.said = notice;
    let drawing = std::thread::Builder::new().name("screen".to_owned()).spawn(move || {
        let left = screen.show(&mut view);
        drop(screen);
        if !matches!(left, Ok(ScreenEnd::Ended(_))) {
            let _we_live = kill_process(getpid(), Signal::INT);
        }
    });
    let drawing = drawing.map_err(|error| failure(command, &error))?;
    let brought = bring(command, viewer, &shared, |shared| {
        beside(shared);
        false
    });
    bell.end(0);
    let _a_panic_has_been_told = drawing.join();
    brought
}

/// The screen of a fleet, for what is drawn of it elsewhere.
#[cfg(test)]
pub fn screen_of(shared: Arc<SharedFleet>) -> impl ScreenView {
    FleetScreen::new(shared)
}

#[cfg(test)]
mod tests;
