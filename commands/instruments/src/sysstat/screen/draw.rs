//! Draws the screen of a host. Pure but for the canvas.

use super::{At, HostScreen, Sheet};
use crate::sysstat::layout::above;
use crate::sysstat::line::TintedLine;
use crate::sysstat::table::{heading, rest, row, shown};
use crate::sysstat::{bands, export, help};
use terminal::Tint;
use terminal::full_screen::Canvas;

/// All of it.
pub(super) fn draw(screen: &HostScreen, canvas: &mut Canvas<'_>) {
    let (width, height) = (canvas.width(), canvas.height());
    let body = height.saturating_sub(1);
    let lines = lines(screen, width, height);
    for (row, line) in lines.iter().take(body).enumerate() {
        canvas.pieces(row, 0, width, line.pieces());
    }
    if screen.sheet == Sheet::None {
        mark_chosen(screen, canvas, &lines);
    }
    let last = last_line(screen, width);
    canvas.pieces(body, 0, width, last.pieces());
}

/// The lines above the last one.
fn lines(screen: &HostScreen, width: usize, height: usize) -> Vec<TintedLine> {
    let interval = screen.shown.interval();
    let clock = export::clock(interval.later.at.wall_ns);
    let (pace, filling) = (pace(screen), screen.shared.session.lock().filling());
    let (facts, usual) = (screen.facts.clone(), Some(&screen.usual.figures));
    let standing = bands::BandContext { facts, clock: &clock, pace: &pace, filling: &filling, usual };
    let mut lines = match (&screen.sheet, screen.only_processes) {
        (Sheet::None, false) => above(&interval, &standing, screen.expanded, width, height),
        _ => vec![bands::header(&interval, &standing)],
    };
    match screen.sheet {
        Sheet::Help => {
            let all = help::KEYS.iter().flat_map(|line| terminal::wrapped_line(line, width));
            lines.extend(all.skip(screen.top).map(TintedLine::of));
        }
        Sheet::Metrics => lines.extend(export::metrics(&interval).into_iter().skip(screen.top)),
        Sheet::Process => lines.extend(process_sheet(screen)),
        Sheet::None => lines.extend(processes(screen, height.saturating_sub(lines.len() + 1), width)),
    }
    lines
}

/// What is going on: how often the host is looked at, or where in the past this is.
fn pace(screen: &HostScreen) -> String {
    match screen.at {
        At::Newest => {
            format!("every {}", terminal::duration_coarse(screen.shared.interval()).replace("0 s", &short(screen)))
        }
        At::Place(place) => format!("HELD at {}{}", of_all(screen, place), gap_before(screen, place)),
        At::Playing(place) => format!("playing {}{}", of_all(screen, place), gap_before(screen, place)),
    }
}

fn short(screen: &HostScreen) -> String {
    let interval = screen.shared.interval();
    if interval.as_secs() == 0 { format!("{} ms", interval.as_millis()) } else { "0 s".to_owned() }
}

/// How many samples are missing right before a place.
fn gap_before(screen: &HostScreen, place: usize) -> String {
    let missed = screen.shared.session.lock().missed_before(place);
    missed.map_or_else(String::new, |missed| format!("  GAP of {missed} before it"))
}

fn of_all(screen: &HostScreen, place: usize) -> String {
    let places = screen.shared.session.lock().places();
    format!("{} of {}", place.saturating_sub(places.start) + 1, places.len())
}

/// The heading and as many processes as there is room for.
fn processes(screen: &HostScreen, room: usize, width: usize) -> Vec<TintedLine> {
    let snapshot = &screen.shown.later;
    let all = shown(snapshot, &screen.accounts, &screen.choice);
    let mut tail = bands::process_count(snapshot);
    if all.len() < snapshot.processes.len() {
        tail = format!("{} of {tail}", all.len());
    }
    // Little room is for processes alone.
    let rest = if room >= 6 { rest(snapshot, screen.facts.is_contained) } else { Vec::new() };
    let for_rows = room.saturating_sub(1 + rest.len());
    let first = first_row(screen, &all, for_rows);
    let mut lines = vec![heading(screen.choice.order, &tail, width)];
    lines.extend(
        all.iter()
            .skip(first)
            .take(for_rows)
            .map(|process| row(process, snapshot, &screen.accounts, Some(&screen.usual.figures), width)),
    );
    if lines.len() + rest.len() <= room.max(1) {
        lines.extend(rest);
    }
    lines
}

/// The first row that is drawn: the chosen process is to be seen.
fn first_row(screen: &HostScreen, all: &[crate::sysstat::table::ShownProcess<'_>], room: usize) -> usize {
    let chosen = screen.choice.chosen.and_then(|pid| all.iter().position(|one| one.line.id.pid == pid));
    chosen.map_or(0, |at| (at + 1).saturating_sub(room.max(1)))
}

/// Reverses the chosen process's line.
fn mark_chosen(screen: &HostScreen, canvas: &mut Canvas<'_>, lines: &[TintedLine]) {
    let Some(pid) = screen.choice.chosen else { return };
    let begins = format!("{pid:>7} ");
    let width = canvas.width();
    let at = lines.iter().rposition(|line| line.pieces().next().is_some_and(|(text, _)| text.starts_with(&begins)));
    at.into_iter().for_each(|row| canvas.reverse(row, width));
}

/// Keys, a question, or what came of the last one.
fn last_line(screen: &HostScreen, width: usize) -> TintedLine {
    if let Some(prompt) = &screen.prompt {
        return TintedLine::tinted(prompt.label(), Tint::Bold).and(format!("{}_", prompt.text));
    }
    if let Some(asked) = &screen.asked {
        return TintedLine::tinted(asked.question(), Tint::Warning);
    }
    if !screen.said.is_empty() {
        return TintedLine::tinted(&screen.said, Tint::Warning);
    }
    let complaint = screen.shared.complaint.lock();
    if !complaint.is_empty() {
        return TintedLine::tinted(complaint.as_str(), Tint::Bad);
    }
    let fits = help::LAST_LINES.iter().find(|keys| terminal::columns(keys) <= width);
    TintedLine::tinted(fits.copied().unwrap_or("q quit"), Tint::Dim)
}

/// All that is known of the chosen process.
fn process_sheet(screen: &HostScreen) -> Vec<TintedLine> {
    let snapshot = &screen.shown.later;
    let chosen = screen.chosen_process();
    let Some(line) = chosen else { return vec![TintedLine::of("the chosen process has ended, or is not kept here")] };
    export::process(line, snapshot, &screen.accounts)
}
