//! What the screen of a run shows, by the room there is: the verdict on the last interval first, its figures, then a picture of the intervals before it.

use super::heat::{Glyphs, rows};
use super::{LiveFacts, LiveSeen};
use crate::load::history::{LoadMoment, OVER_TIME};
use crate::load::shown::time_text;
use ::load::late::WhoWasLate;
use mh_kit::screen::ScreenContent;
use parking_lot::Mutex;
use std::sync::Arc;
use terminal::full_screen::{Canvas, KeyEffect};
use terminal::{Colour, Tint, columns, integer};

/// The longest that fits is shown.
const KEYS: [&str; 3] = ["p hold, go on   ? help   q end the run and report", "? help   q end", "q end"];

const HELP: &[&str] = &[
    "All figures are of the last interval (--report-interval).",
    "",
    "response   from when a transaction was due until it was done",
    "slip       how late the generator sent what it could have sent",
    "server     CPU time of all its processes for a transaction, and its memory",
    "process    CPU time of this program, which the database is a part of",
    "picture    transactions a second; below them a column for each interval and a",
    "           row for each range of response times, from so long to the row above",
    "",
    "p, space   hold what is shown, to read it; the run goes on; again: go on",
    "q          end the run and print its report, as escape and ctrl-c do",
    "",
    "any key: back",
];

/// Columns before a picture, for its scale.
const SCALE: usize = 10;
/// LIMIT: lines of the verdict.
const VERDICT_LINES: usize = 2;
/// LIMIT: columns of an interval, where few are to come.
const COLUMN_WIDTH_MAX: f64 = 8.0;

/// What is shown.
pub struct RunView {
    facts: LiveFacts,
    seen: Arc<Mutex<LiveSeen>>,
    shown: LiveSeen,
    colour: Colour,
    glyphs: Glyphs,
    is_held: bool,
}

impl RunView {
    /// Shows what is `seen`.
    pub fn new(facts: LiveFacts, seen: Arc<Mutex<LiveSeen>>, colour: Colour, glyphs: Glyphs) -> Self {
        Self { facts, seen, shown: LiveSeen::default(), colour, glyphs, is_held: false }
    }

    fn verdict(&self) -> (String, Tint) {
        let Some((late, last)) = self.shown.late.as_ref().zip(self.shown.moments.back()) else {
            return ("no interval has ended yet".to_owned(), Tint::Bold);
        };
        match late {
            _ if last.counts.done == 0 => ("nothing was done in the last interval".to_owned(), Tint::Bad),
            WhoWasLate::Generator { reason } => (format!("the generator is late: {reason}"), Tint::Bad),
            WhoWasLate::Server if self.facts.kind.is_open => {
                ("the server is late: transactions wait for it".to_owned(), Tint::Warning)
            }
            WhoWasLate::Server => ("the server is the limit: connections wait for nothing else".to_owned(), Tint::Good),
            WhoWasLate::Nobody => ("nobody is late: what is due is sent and answered in time".to_owned(), Tint::Good),
        }
    }

    /// Figures of the last interval, a list a line.
    fn figures(&self, last: &LoadMoment) -> Vec<Vec<String>> {
        let (seen, counts) = (&self.shown, &last.counts);
        let mut throughput = vec![format!("done       {} a second", a_second(last.a_second(counts.done)))];
        throughput.extend(counts.offered.map(|due| format!("offered {}", a_second(due / last.elapsed_s.max(1e-9)))));
        throughput.push(trouble("failed", counts.failed, seen.failed));
        if seen.dropped > 0 {
            throughput.push(trouble("dropped", counts.dropped, seen.dropped));
        }
        let mut response = vec!["response  ".to_owned()];
        match &last.percentiles_ns {
            None => response.push("-".to_owned()),
            Some(times) => response
                .extend(OVER_TIME.iter().zip(times).map(|((name, _), ns)| format!("{name} {}", time_text(*ns as f64)))),
        }
        vec![throughput, response, self.generator(last), self.server(last)]
    }

    fn generator(&self, last: &LoadMoment) -> Vec<String> {
        let cores = last.own_cpu_ns as f64 / 1e9 / last.elapsed_s.max(1e-9);
        let who = if self.facts.kind.is_embedded { "process  " } else { "generator" };
        vec![
            format!("{who}  {} of a core", terminal::percentage(cores)),
            format!("slip p99 {}", time_text(last.slip_p99_ns as f64)),
            format!("longest {}", time_text(last.slip_max_ns as f64)),
        ]
    }

    /// Nothing where the database is in the generator.
    fn server(&self, last: &LoadMoment) -> Vec<String> {
        let Some(cost) = &last.cost else {
            let text = if self.facts.kind.is_embedded { "" } else { "server     not measured" };
            return vec![text.to_owned()];
        };
        let mut parts = match last.counts.done {
            0 => vec!["server     -".to_owned()],
            done => vec![format!("server     {} of CPU a transaction", time_text(cost.cpu_ns as f64 / done as f64))],
        };
        parts.push(format!("{} of a core", terminal::percentage(cost.cpu_ns as f64 / 1e9 / last.elapsed_s.max(1e-9))));
        parts.extend(cost.memory_bytes.map(|bytes| format!("memory {}", terminal::bytes(bytes))));
        parts
    }

    /// How far the run is.
    fn progress(&self) -> String {
        let facts = &self.facts;
        let at_s = self.shown.moments.back().map_or(0.0 - facts.warmup_s, |last| last.at_s);
        let held = if self.is_held { "   HELD: p goes on" } else { "" };
        match at_s < 0.0 {
            true => format!("warm-up: {:.0} s left{held}", -at_s),
            false => format!("{:.0} of {:.0} s{held}", at_s, facts.duration_s),
        }
    }

    /// How many columns an interval takes: as many as all that are to come have room for.
    fn column_width(&self, room: usize) -> usize {
        let facts = &self.facts;
        let intervals = ((facts.warmup_s + facts.duration_s) / facts.interval_s.max(1e-3)).ceil().max(1.0);
        (room as f64 / intervals).clamp(1.0, COLUMN_WIDTH_MAX) as usize
    }

    /// The picture of the last intervals on the rows from `first` to before `end`: done a second, and response times.
    fn picture(&self, canvas: &mut Canvas<'_>, first: usize, end: usize) {
        let room = canvas.width().saturating_sub(SCALE);
        let wide = self.column_width(room);
        let moments = &self.shown.moments;
        let shown = moments.iter().skip(moments.len().saturating_sub(room / wide));
        let height = end.saturating_sub(first);
        let (Some(oldest), Some(last)) = (shown.clone().next(), moments.back()) else { return };
        if height == 0 || room == 0 {
            return;
        }
        let stretched = |cells: &mut dyn Iterator<Item = char>| -> String {
            cells.flat_map(|cell| std::iter::repeat_n(cell, wide)).collect()
        };
        let rates = shown.clone().map(|moment| moment.a_second(moment.counts.done));
        let most = rates.clone().fold(0.0, f64::max);
        let bars = stretched(&mut rates.map(|rate| self.glyphs.bar(if most > 0.0 { rate / most } else { 0.0 })));
        canvas.line(first, &format!("{:>8}  {bars}", a_second(most)));
        let heat = rows(shown, height.saturating_sub(2), self.glyphs);
        for (at, row) in heat.iter().enumerate() {
            let scale = time_text(row.from_ns as f64);
            canvas.line(first + 1 + at, &format!("{scale:>8}  {}", stretched(&mut row.cells.iter().copied())));
        }
        if height > heat.len() + 1 {
            let (from, until) = (format!("{:.0} s", oldest.at_s - oldest.elapsed_s), format!("{:.0} s", last.at_s));
            let between = columns(&bars).saturating_sub(columns(&from) + columns(&until));
            let until = if between > 0 { until } else { String::new() };
            canvas.line(first + 1 + heat.len(), &format!("{:SCALE$}{from}{:between$}{until}", "", ""));
        }
    }
}

/// In this interval, and in all.
fn trouble(name: &str, now: u64, in_all: u64) -> String {
    match in_all {
        0 => format!("{name} 0"),
        _ => format!("{name} {} ({} in all)", integer(now), integer(in_all)),
    }
}

fn a_second(rate: f64) -> String {
    if rate < 100.0 { format!("{rate:.1}") } else { integer(rate.round() as u64) }
}

/// As many parts as fit into a line; the first one always.
fn fitting(parts: &[String], width: usize) -> String {
    const BETWEEN: &str = "   ";
    let mut parts = parts.iter();
    let mut line = parts.next().cloned().unwrap_or_default();
    for part in parts {
        if columns(&line) + BETWEEN.len() + columns(part) <= width {
            line.push_str(BETWEEN);
            line.push_str(part);
        }
    }
    line
}

impl ScreenContent for RunView {
    const PAGE: usize = 1;

    fn help(&self) -> impl Iterator<Item = &'static str> {
        HELP.iter().copied()
    }

    /// The verdict, keys, figures and the picture find room in this order.
    fn draw(&self, canvas: &mut Canvas<'_>) {
        let (width, height) = (canvas.width(), canvas.height());
        let (verdict, tint) = self.verdict();
        let tint = if self.colour == Colour::On { tint } else { Tint::Bold };
        let verdict: Vec<String> = terminal::wrapped_line(&verdict, width).into_iter().take(VERDICT_LINES).collect();
        verdict.iter().enumerate().for_each(|(row, line)| canvas.tinted(row, line, tint));
        let last = height.saturating_sub(1);
        let top = verdict.len();
        if last < top {
            return;
        }
        let keys = KEYS.iter().find(|keys| columns(keys) <= width).unwrap_or(&"");
        canvas.line(last, keys);
        let mut lines = vec![format!("{}   {}", self.progress(), self.facts.opening)];
        if let Some(moment) = self.shown.moments.back() {
            lines.extend(self.figures(moment).iter().map(|parts| fitting(parts, width)));
        }
        lines.retain(|line| !line.is_empty());
        let used = lines.len().min(last - top);
        lines.iter().take(used).enumerate().for_each(|(at, line)| canvas.line(top + at, line));
        // A blank line before it if there is room for that, and one with the meaning of the shades below it.
        let (first, is_roomy) = (top + used, last - top - used > 8);
        self.picture(canvas, first + usize::from(is_roomy), last - usize::from(is_roomy));
        if is_roomy && !self.shown.moments.is_empty() {
            canvas.line(last - 1, &format!("{:SCALE$}{}", "", self.glyphs.legend()));
        }
    }

    fn refresh(&mut self) -> bool {
        if self.is_held {
            return false;
        }
        self.shown.clone_from(&self.seen.lock());
        true
    }

    fn position(&self) -> usize {
        0
    }

    fn go_to(&mut self, _position: usize) {}

    fn letter(&mut self, letter: char) -> KeyEffect {
        match letter {
            'p' | ' ' => {
                self.is_held = !self.is_held;
                self.refresh();
                KeyEffect::Draw
            }
            _ => KeyEffect::Stay,
        }
    }
}

#[cfg(test)]
mod tests;
