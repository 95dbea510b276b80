//! An instrument on a screen of its own: the last interval, redrawn as the next one comes, rows to scroll through. The instrument
//! goes on as it does without one; it only puts its text here, and what it says at the end is printed when the screen is gone.

use super::failure;
use super::look::TextLook;
use crate::failure::Failure;
use crate::report::print_as;
use crate::screen::{LiveScreen, ScreenContent};
use parking_lot::Mutex;
use rustix::process::{Signal, getpid, kill_process};
use std::sync::Arc;
use sys::cpu_clock::{Counted, monotonic_ns, other_process_ns};
use terminal::full_screen::{Bell, Canvas, FullScreen, KeyEffect, ScreenEnd};
use terminal::{Colour, Messages, Tint};

/// The longest that fits is shown.
const KEYS: [&str; 3] = ["up/down scroll   space hold, go on   ? help   q leave", "? help   q leave", "q leave"];

/// What `?` shows below the command's own lines.
const HELP_KEYS: &[&str] = &[
    "",
    "arrows     scroll; home, end, page up and page down too",
    "space      hold what is shown, to read it; again: go on",
    "q          leave, as escape and ctrl-c do",
    "",
    "any key: back",
];

/// An interval's text, by what moves and what stays when rows are scrolled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    heading: String,
    /// How the heading stands out, besides being bold; none without colour.
    tint: Option<Tint>,
    columns: String,
    rows: Vec<String>,
    foot: Vec<String>,
}

impl Page {
    /// The first line of `table` says what its columns are.
    pub fn new(heading: &str, table: &str, foot: &str) -> Self {
        let mut lines = table.lines().map(str::to_owned);
        Self {
            heading: heading.trim_end().to_owned(),
            tint: None,
            columns: lines.next().unwrap_or_default(),
            rows: lines.collect(),
            foot: foot.lines().map(str::to_owned).collect(),
        }
    }

    /// With a heading in `tint` where colour is wanted.
    #[must_use]
    pub fn tinted(self, look: TextLook, tint: Tint) -> Self {
        Self { tint: Some(tint).filter(|_| look.colour == Colour::On), ..self }
    }
}

/// Where an instrument's text goes.
#[derive(Clone)]
pub enum Output {
    /// To standard output, one interval after the other.
    Printed(&'static str),
    /// To a screen.
    Shown(Arc<Shown>),
}

/// What is between the instrument and its screen.
pub struct Shown {
    page: Mutex<Page>,
    left_behind: Mutex<String>,
    bell: Bell,
}

impl Output {
    /// Whether it is a screen: what comes next replaces what was there.
    pub fn is_shown(&self) -> bool {
        matches!(self, Self::Shown(_))
    }

    /// An interval: `text` where it is printed, a page where there is a screen.
    pub fn interval(&self, text: impl FnOnce() -> String, page: impl FnOnce() -> Page) -> Result<(), Failure> {
        match self {
            Self::Printed(command) => print_as(command, &text()),
            Self::Shown(shown) => {
                *shown.page.lock() = page();
                shown.bell.ring();
                Ok(())
            }
        }
    }

    /// A remark: on standard error at once, or when the screen is gone.
    pub fn remark(&self, messages: &Messages, command: &str, text: &str) {
        match self {
            Self::Printed(_) => messages.note(command, text),
            Self::Shown(shown) => shown.left_behind.lock().push_str(&format!("{command}: {text}\n")),
        }
    }

    /// What is to be read when all is over.
    pub fn end(&self, text: &str) -> Result<(), Failure> {
        match self {
            Self::Printed(command) => print_as(command, text),
            Self::Shown(shown) => {
                shown.left_behind.lock().push_str(text);
                Ok(())
            }
        }
    }
}

/// Runs `instrument` with a screen until it ends, or the user leaves: then it is interrupted as by Ctrl-C.
///
/// Signals that end programs must be held back by now.
pub fn with_screen<T>(
    command: &'static str,
    help: &'static [&'static str],
    instrument: impl FnOnce(Output) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut screen = FullScreen::enter().map_err(|error| failure(command, &error))?;
    let bell = screen.bell();
    let shown = Arc::new(Shown { page: Mutex::default(), left_behind: Mutex::default(), bell: screen.bell() });
    let mut pages = LiveScreen::new(Pages::new(Arc::clone(&shown), help));
    let drawing = std::thread::Builder::new().name("screen".to_owned()).spawn(move || {
        let left = screen.show(&mut pages);
        drop(screen);
        if !matches!(left, Ok(ScreenEnd::Ended(_))) {
            let _we_live = kill_process(getpid(), Signal::INT);
        }
    });
    let drawing = drawing.map_err(|error| failure(command, &error))?;
    let result = instrument(Output::Shown(Arc::clone(&shown)));
    bell.end(0);
    let _a_panic_has_been_told = drawing.join();
    print_as(command, &shown.left_behind.lock())?;
    result
}

/// What is on the screen.
struct Pages {
    shown: Arc<Shown>,
    page: Page,
    help: &'static [&'static str],
    /// The row that is drawn first.
    top: usize,
    is_held: bool,
    own: OwnUse,
}

/// What this process uses: whoever watches is watched, too.
#[derive(Default)]
struct OwnUse {
    /// When a page came last, and what had been used by then.
    last_ns: Option<(u64, u64)>,
    cores: Option<f64>,
}

impl OwnUse {
    fn note(&mut self, at_ns: u64, cpu_ns: u64) {
        self.cores = self
            .last_ns
            .filter(|(last_ns, _)| *last_ns < at_ns)
            .map(|(last_ns, had_ns)| cpu_ns.saturating_sub(had_ns) as f64 / (at_ns - last_ns) as f64);
        self.last_ns = Some((at_ns, cpu_ns));
    }
}

impl Pages {
    fn new(shown: Arc<Shown>, help: &'static [&'static str]) -> Self {
        let (page, own) = (Page::default(), OwnUse::default());
        Self { shown, page, help, top: 0, is_held: false, own }
    }
    /// The keys, what is not seen, what watching costs; as much as there is room for.
    fn last_line(&self, below: usize, width: usize) -> String {
        let held = if self.is_held { "   HELD" } else { "" };
        let more = if below > 0 { format!("   {below} more rows below") } else { String::new() };
        let own = |cores: f64| format!("   mh itself {} % of a core", terminal::error_digits(cores * 100.0));
        let own = self.own.cores.map(own).unwrap_or_default();
        let lines = [own.as_str(), ""].into_iter().flat_map(|own| KEYS.map(|keys| format!("{keys}{held}{more}{own}")));
        let mut lines = lines.filter(|line| line.len() <= width);
        lines.next().unwrap_or_else(|| format!("{held}{more}").trim_start().to_owned())
    }
}

impl ScreenContent for Pages {
    const PAGE: usize = 15;

    fn help(&self) -> impl Iterator<Item = &'static str> {
        self.help.iter().chain(HELP_KEYS).copied()
    }

    fn draw(&self, canvas: &mut Canvas<'_>) {
        // A small screen has the columns, one row and the keys; the verdict and the sums share half of the lines that are left.
        let spare = canvas.height().saturating_sub(3);
        let mut heading = terminal::wrapped_line(&self.page.heading, canvas.width());
        heading.truncate((spare / 2).max(1).max(spare.saturating_sub(self.page.foot.len() + self.page.rows.len())));
        let mut foot: Vec<String> =
            self.page.foot.iter().flat_map(|line| terminal::wrapped_line(line, canvas.width())).collect();
        foot.truncate(spare.saturating_sub(heading.len()) / 2);
        let tint = self.page.tint.unwrap_or(Tint::Bold);
        heading.iter().enumerate().for_each(|(row, line)| canvas.tinted(row, line, tint));
        let (first, last) = (heading.len() + 1, canvas.height().saturating_sub(1));
        if first <= last {
            canvas.heading(heading.len(), &self.page.columns);
        }
        let room = last.saturating_sub(foot.len()).saturating_sub(first);
        for (at, row) in self.page.rows.iter().skip(self.top).take(room).enumerate() {
            canvas.line(first + at, row);
        }
        foot.iter().enumerate().for_each(|(at, line)| canvas.line(last - foot.len() + at, line));
        let below = self.page.rows.len().saturating_sub(self.top + room);
        canvas.line(last, &self.last_line(below, canvas.width()));
    }

    fn position(&self) -> usize {
        self.top
    }

    fn go_to(&mut self, top: usize) {
        self.top = top.min(self.page.rows.len().saturating_sub(1));
    }

    fn letter(&mut self, letter: char) -> KeyEffect {
        if letter != ' ' {
            return KeyEffect::Stay;
        }
        self.is_held = !self.is_held;
        self.refresh();
        KeyEffect::Draw
    }

    fn refresh(&mut self) -> bool {
        if self.is_held {
            return false;
        }
        let page = self.shown.page.lock().clone();
        let is_new = page != self.page;
        self.page = page;
        if is_new {
            let own = other_process_ns(std::process::id(), Counted::Scheduled);
            own.into_iter().for_each(|cpu_ns| self.own.note(monotonic_ns(), cpu_ns));
        }
        self.go_to(self.top);
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terminal::full_screen::{Key, ScreenView, drawn};

    fn pages(rows: usize) -> LiveScreen<Pages> {
        let table: String = (0..=rows).map(|row| format!("row {row}\n")).collect();
        let page = Page::new("a verdict of six words here\n", &table, "(total)  all\n");
        let shown = Shown { page: Mutex::new(page), left_behind: Mutex::default(), bell: Bell::silent() };
        let mut pages = LiveScreen::new(Pages::new(Arc::new(shown), &["HELP"]));
        assert!(pages.refresh() && !pages.refresh());
        pages
    }

    #[test]
    fn the_verdict_and_the_sums_stay_while_rows_scroll() {
        let mut pages = pages(9);
        let text = drawn(&pages, 24, 8);
        assert_eq!(text, "a verdict of six words\nhere\nrow 0\nrow 1\nrow 2\nrow 3\n(total)  all\n6 more rows below\n");
        pages.key(Key::PageDown);
        pages.key(Key::Up);
        assert!(drawn(&pages, 80, 8).contains("row 0\nrow 8\nrow 9\n"), "the last rows");
        pages.key(Key::Home);
        assert!(drawn(&pages, 200, 8).ends_with("   5 more rows below\n"));
    }

    #[test]
    fn a_small_screen_has_whole_lines_of_what_matters_most() {
        let pages = pages(9);
        assert_eq!(drawn(&pages, 20, 5), "a verdict of six\nrow 0\nrow 1\nrow 2\n7 more rows below\n");
        assert_eq!(drawn(&pages, 20, 3), "a verdict of six\nrow 0\n9 more rows below\n");
        for (columns, rows) in (1..30).flat_map(|columns| (1..12).map(move |rows| (columns, rows))) {
            let text = drawn(&pages, columns, rows);
            assert_eq!(text.lines().count(), usize::from(rows), "{columns}x{rows}");
            assert!(text.lines().all(|line| line.chars().count() <= usize::from(columns)), "{text}");
        }
    }

    #[test]
    fn a_heading_has_its_tint_only_where_colour_is_wanted() {
        let tint = |colour| Page::new("a", "", "").tinted(TextLook { colour, ..TextLook::PLAIN }, Tint::Bad).tint;
        assert_eq!((tint(Colour::On), tint(Colour::Off)), (Some(Tint::Bad), None));
    }

    #[test]
    fn watching_says_what_it_costs() {
        let mut pages = pages(9);
        pages.content.own.note(1_000_000_000, 5_000_000);
        pages.content.own.note(3_000_000_000, 9_000_000);
        assert!(drawn(&pages, 80, 8).ends_with("? help   q leave   5 more rows below   mh itself 0.20 % of a core\n"));
        assert!(drawn(&pages, 40, 8).ends_with("? help   q leave   5 more rows below\n"), "keys come first");
    }

    #[test]
    fn what_is_held_stays_and_help_goes_with_any_key() {
        let mut pages = pages(1);
        pages.key(Key::Letter(' '));
        *pages.content.shown.page.lock() = Page::new("new", "", "");
        assert!(!pages.refresh() && drawn(&pages, 80, 8).contains("HELD"));
        pages.key(Key::Letter(' '));
        assert!(drawn(&pages, 80, 8).starts_with("new\n"));
        pages.key(Key::Letter('?'));
        assert!(drawn(&pages, 80, 12).starts_with("HELP\n"));
        assert_eq!((pages.key(Key::Letter('q')), pages.key(Key::Letter('q'))), (KeyEffect::Draw, KeyEffect::Leave));
    }
}
