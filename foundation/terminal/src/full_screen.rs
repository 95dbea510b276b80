//! A screen of its own for a command that shows something live: entering and leaving it whatever happens, an event loop that
//! draws only what has changed, and rows to choose from. Knows no command: what is shown is a [`ScreenView`].
//!
//! Nothing here wakes up by itself. Keys, the terminal's size and a [`Bell`] do; a bell that rings often draws twice a second.

use crate::display_width::columns;
use crate::emphasis::Tint;
use crate::quote::printable;
use crate::table::TextTable;
use ratatui::backend::{Backend, CrosstermBackend, TestBackend};
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{self, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode, size,
};
use ratatui::crossterm::{cursor, execute};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::{Terminal, TerminalOptions, Viewport};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// LIMIT: between two drawings for changed data. Shorter is not read faster and costs the machine that is looked at.
const DRAW_EVERY: Duration = Duration::from_millis(500);
/// LIMIT: events that wait; a person does not type more, and a bell that finds no room has been rung already.
const EVENTS_MAX: usize = 64;

/// LIMIT: within this time a signal that stops the process has stopped all of its threads.
const STOP_REACHES_ALL: Duration = Duration::from_millis(200);

/// What is shown.
pub trait ScreenView {
    /// Draws all of it.
    fn draw(&self, canvas: &mut Canvas<'_>);
    /// A key was pressed.
    fn key(&mut self, key: Key) -> KeyEffect;
    /// The bell has rung: takes the new data; says whether there is anything new to be seen.
    fn refresh(&mut self) -> bool;
}

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyEffect {
    /// Nothing has changed.
    Stay,
    /// Something has.
    Draw,
    /// That was all.
    Leave,
}

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Letter(char),
    /// Cursor keys.
    Up,
    /// Cursor keys.
    Down,
    /// To the first.
    Home,
    /// To the last.
    End,
    /// A screen back.
    PageUp,
    /// A screen on.
    PageDown,
    /// Cursor keys.
    Left,
    /// Cursor keys.
    Right,
    /// Return.
    Enter,
    /// The key that takes back a letter.
    Backspace,
    /// F1, F2 ...
    Function(u8),
    /// Escape.
    Escape,
    /// Ctrl-C: leaves, whatever is open.
    Interrupt,
}

/// Why the screen was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenEnd {
    /// The view said so.
    ByKey,
    /// The terminal is gone.
    Gone,
    /// Somebody told the bell to end it, with this number.
    Ended(i32),
}

/// Tells a screen from other threads that there is something new, or that it is over.
#[derive(Clone, Debug)]
pub struct Bell(SyncSender<Event>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Key(Key),
    Suspend,
    Resized,
    Rung,
    Gone,
    Ended(i32),
}

impl Bell {
    /// One that nobody hears: for tests of views.
    pub fn silent() -> Self {
        Self(sync_channel(1).0)
    }

    /// There is something new.
    pub fn ring(&self) {
        let _full_means_rung = self.0.try_send(Event::Rung);
    }

    /// It is over: [`FullScreen::show`] returns [`ScreenEnd::Ended`] with this number.
    pub fn end(&self, number: i32) {
        let _or_it_is_over = self.0.send(Event::Ended(number));
    }
}

/// The terminal, taken over. Given back when dropped, and when a thread panics.
pub struct FullScreen {
    terminal: Terminal<CrosstermBackend<io::Stdout>>,
    events: Receiver<Event>,
    bell: Bell,
}

/// Whether the terminal is ours now: a panic and a drop must not give it back twice.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

fn take_over() -> io::Result<()> {
    enable_raw_mode()?;
    // ORDER: SeqCst for simplicity: this happens once in a session.
    IS_TAKEN.store(true, Ordering::SeqCst);
    execute!(io::stdout(), EnterAlternateScreen, cursor::Hide)
}

/// Gives the terminal back at once, whoever shows a screen: for a process that is about to end.
pub fn give_back() {
    if IS_TAKEN.swap(false, Ordering::SeqCst) {
        let _nothing_better_to_do = execute!(io::stdout(), cursor::Show, LeaveAlternateScreen);
        let _nothing_better_to_do = disable_raw_mode();
    }
}

/// An empty screen of the terminal's size at the moment.
///
/// Ratatui's own way of following the size asks the terminal where the cursor is; the answer would go to the thread that reads keys.
fn fresh() -> io::Result<Terminal<CrosstermBackend<io::Stdout>>> {
    // LIE: serial lines and some emulators say 0 for "not known".
    let (columns, rows) = size().ok().filter(|size| size.0 > 0 && size.1 > 0).unwrap_or((80, 24));
    execute!(io::stdout(), Clear(ClearType::All))?;
    let viewport = Viewport::Fixed(Rect::new(0, 0, columns, rows));
    Terminal::with_options(CrosstermBackend::new(io::stdout()), TerminalOptions { viewport })
}

impl FullScreen {
    /// Takes the terminal over. The signals that end a program must be held back by now, or they would leave it as it is.
    pub fn enter() -> io::Result<Self> {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            before(panic);
        }));
        take_over().inspect_err(|_refused| give_back())?;
        let (sender, events) = sync_channel(EVENTS_MAX);
        let bell = Bell(sender.clone());
        // Ends with the process: there is no way to call it back from its read.
        std::thread::Builder::new().name("keys".to_owned()).spawn(move || read_keys(&sender))?;
        Ok(Self { terminal: fresh()?, events, bell })
    }

    /// For the threads that bring the data.
    pub fn bell(&self) -> Bell {
        self.bell.clone()
    }

    /// Shows `view` until it is over.
    pub fn show(&mut self, view: &mut impl ScreenView) -> io::Result<ScreenEnd> {
        draw(&mut self.terminal, view)?;
        let mut pace = Pace::default();
        loop {
            let event = match pace.wait(Instant::now()) {
                None => self.events.recv().unwrap_or(Event::Gone),
                Some(time) => match self.events.recv_timeout(time) {
                    Ok(event) => event,
                    Err(RecvTimeoutError::Timeout) => {
                        pace.drawn(Instant::now());
                        if view.refresh() {
                            draw(&mut self.terminal, view)?;
                        }
                        continue;
                    }
                    Err(RecvTimeoutError::Disconnected) => Event::Gone,
                },
            };
            match event {
                Event::Rung => pace.rung(),
                Event::Resized => {
                    self.terminal = fresh()?;
                    draw(&mut self.terminal, view)?;
                }
                Event::Suspend => self.suspend(view)?,
                Event::Key(key) => match view.key(key) {
                    KeyEffect::Stay => {}
                    KeyEffect::Draw => draw(&mut self.terminal, view)?,
                    KeyEffect::Leave => return Ok(ScreenEnd::ByKey),
                },
                Event::Gone => return Ok(ScreenEnd::Gone),
                Event::Ended(number) => return Ok(ScreenEnd::Ended(number)),
            }
        }
    }

    /// Ctrl-Z: stops as other programs do, and comes back.
    fn suspend(&mut self, view: &impl ScreenView) -> io::Result<()> {
        give_back();
        rustix::process::kill_current_process_group(rustix::process::Signal::TSTP)?;
        // Any thread may be the one that takes it; the stop reaches this one while it sleeps, and the shell has the terminal.
        std::thread::sleep(STOP_REACHES_ALL);
        take_over()?;
        self.terminal = fresh()?;
        draw(&mut self.terminal, view)
    }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        give_back();
    }
}

/// When to look at new data: at once after a rest, then no more often than [`DRAW_EVERY`].
#[derive(Default)]
struct Pace {
    has_rung: bool,
    last: Option<Instant>,
}

impl Pace {
    fn rung(&mut self) {
        self.has_rung = true;
    }

    fn drawn(&mut self, now: Instant) {
        *self = Self { has_rung: false, last: Some(now) };
    }

    /// How long to sleep before a look; none while there is nothing to look at.
    fn wait(&self, now: Instant) -> Option<Duration> {
        let since = |last| now.saturating_duration_since(last);
        self.has_rung.then(|| self.last.map_or(Duration::ZERO, |last| DRAW_EVERY.saturating_sub(since(last))))
    }
}

fn read_keys(events: &SyncSender<Event>) {
    loop {
        let event = match event::read() {
            Ok(event::Event::Resize(..)) => Some(Event::Resized),
            Ok(event::Event::Key(pressed)) if pressed.kind != KeyEventKind::Release => {
                translate(pressed.code, pressed.modifiers)
            }
            Ok(_) => None,
            Err(_) => Some(Event::Gone),
        };
        let Some(event) = event else { continue };
        if events.send(event).is_err() || event == Event::Gone {
            return;
        }
    }
}

fn translate(code: KeyCode, modifiers: KeyModifiers) -> Option<Event> {
    let key = match code {
        KeyCode::Char('z') if modifiers.contains(KeyModifiers::CONTROL) => return Some(Event::Suspend),
        KeyCode::Char('c') if modifiers.contains(KeyModifiers::CONTROL) => Key::Interrupt,
        KeyCode::Char(letter) => Key::Letter(letter),
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::F(number) => Key::Function(number),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        _ => return None,
    };
    Some(Event::Key(key))
}

fn draw<Screen: Backend>(terminal: &mut Terminal<Screen>, view: &impl ScreenView) -> io::Result<()>
where
    Screen::Error: std::error::Error + Send + Sync + 'static,
{
    let drawn = terminal.draw(|frame| view.draw(&mut Canvas { buffer: frame.buffer_mut() }));
    drawn.map(drop).map_err(io::Error::other)
}

/// What a view would draw on a terminal of this size, a line of text a row: for tests.
pub fn drawn(view: &impl ScreenView, columns: u16, rows: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("a pretended terminal refuses nothing");
    draw(&mut terminal, view).expect("a pretended terminal refuses nothing");
    let cells = terminal.backend().buffer().content().chunks(usize::from(columns.max(1)));
    let line = |row: &[ratatui::buffer::Cell]| row.iter().map(ratatui::buffer::Cell::symbol).collect::<String>();
    cells.map(|row| format!("{}\n", line(row).trim_end())).collect()
}

/// Where a view draws.
pub struct Canvas<'a> {
    buffer: &'a mut Buffer,
}

impl Canvas<'_> {
    /// Lines there are.
    pub fn height(&self) -> usize {
        usize::from(self.buffer.area.height)
    }

    /// Characters a line.
    pub fn width(&self) -> usize {
        usize::from(self.buffer.area.width)
    }

    /// Puts text on line `row`, cut off at the edge, made harmless. Lines that there are not are left out.
    pub fn line(&mut self, row: usize, text: &str) {
        self.styled(row, text, Style::new());
    }

    /// The same, to stand out: in bold letters.
    pub fn heading(&mut self, row: usize, text: &str) {
        self.styled(row, text, Style::new().add_modifier(Modifier::BOLD));
    }

    /// The same in a colour.
    pub fn tinted(&mut self, row: usize, text: &str, tint: Tint) {
        self.styled(row, text, style_of(tint));
    }

    /// Pieces of text one after the other on line `row`, from `column` on, each in its tint, cut off after `width` columns. Says
    /// how many columns they took.
    pub fn pieces<'a>(
        &mut self,
        row: usize,
        column: usize,
        width: usize,
        pieces: impl IntoIterator<Item = (&'a str, Option<Tint>)>,
    ) -> usize {
        let end = column.saturating_add(width).min(self.width());
        let mut at = column;
        for (text, tint) in pieces {
            if row >= self.height() || at >= end {
                break;
            }
            let (x, y) = (u16::try_from(at).unwrap_or(u16::MAX), u16::try_from(row).unwrap_or(u16::MAX));
            let style = tint.map_or_else(Style::new, style_of);
            let (next, _) = self.buffer.set_stringn(x, y, printable(text), end - at, style);
            at = usize::from(next);
        }
        at.saturating_sub(column)
    }

    /// Reverses a line's colours over `width` columns: the chosen one.
    pub fn reverse(&mut self, row: usize, width: usize) {
        if row < self.height() {
            let (width, row) = (width.min(self.width()), u16::try_from(row).unwrap_or(u16::MAX));
            let area = Rect::new(0, row, u16::try_from(width).unwrap_or(u16::MAX), 1);
            self.buffer.set_style(area, Style::new().add_modifier(Modifier::REVERSED));
        }
    }

    fn styled(&mut self, row: usize, text: &str, style: Style) {
        if row < self.height() {
            let row = u16::try_from(row).unwrap_or(u16::MAX);
            self.buffer.set_stringn(0, row, printable(text), self.width(), style);
        }
    }

    /// Lays a table over the lines from `first` on, `height` of them: its first row stays, the others scroll so that `chosen` can
    /// be seen. That one has `>` before it and is reversed; the table is to be indented by two.
    pub fn table(&mut self, first: usize, height: usize, table: &TextTable, chosen: usize) {
        let text = table.clone().no_wider_than(Some(self.width())).to_string();
        let mut lines = text.lines();
        if let Some(heading) = lines.next() {
            self.heading(first, heading);
        }
        let room = height.saturating_sub(1).max(1);
        let skipped = (chosen + 1).saturating_sub(room);
        for (at, line) in lines.enumerate().skip(skipped).take(room) {
            let row = first + 1 + at - skipped;
            if at == chosen {
                let padded = format!(">{}", line.get(1..).unwrap_or_default());
                let blanks = self.width().saturating_sub(columns(&padded));
                let reversed = Style::new().add_modifier(Modifier::REVERSED);
                self.styled(row, &format!("{padded}{}", " ".repeat(blanks)), reversed);
            } else {
                self.line(row, line);
            }
        }
    }
}

fn style_of(tint: Tint) -> Style {
    let style = Style::new().add_modifier(Modifier::BOLD);
    match tint {
        Tint::Bold => style,
        Tint::Good => style.fg(Color::Green),
        Tint::Warning => style.fg(Color::Yellow),
        Tint::Bad => style.fg(Color::Red),
        Tint::Unusual => style.fg(Color::Magenta),
        Tint::Dim => Style::new().add_modifier(Modifier::DIM),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Align;

    struct Three {
        chosen: usize,
    }

    impl ScreenView for Three {
        fn draw(&self, canvas: &mut Canvas<'_>) {
            let mut table = TextTable::new(&[Align::Right, Align::Left]).indented(2);
            table.row(["PID", "WHAT"]);
            [["1", "a\u{1b}[2Jb"], ["22", "a name that is longer than the line"], ["3", "c"]]
                .iter()
                .for_each(|row| table.row(row));
            canvas.heading(0, "three runs");
            canvas.table(1, 3, &table, self.chosen);
            canvas.line(99, "beyond");
        }

        fn key(&mut self, _key: Key) -> KeyEffect {
            KeyEffect::Stay
        }

        fn refresh(&mut self) -> bool {
            false
        }
    }

    #[test]
    fn rows_scroll_to_the_chosen_one_and_are_cut_and_harmless() {
        let top = "three runs\n  PID  WHAT\n>   1  a\\x1b[2Jb\n   22  a name that ..\n\n";
        assert_eq!(drawn(&Three { chosen: 0 }, 21, 5), top);
        let bottom = "three runs\n  PID  WHAT\n   22  a name that ..\n>   3  c\n\n";
        assert_eq!(drawn(&Three { chosen: 2 }, 21, 5), bottom);
        assert_eq!(drawn(&Three { chosen: 0 }, 3, 1), "thr\n", "small is no panic");
    }

    #[test]
    fn a_bell_that_rings_often_is_looked_at_twice_a_second_and_silence_never() {
        let (mut pace, begin) = (Pace::default(), Instant::now());
        assert_eq!(pace.wait(begin), None);
        pace.rung();
        assert_eq!(pace.wait(begin), Some(Duration::ZERO));
        pace.drawn(begin);
        assert_eq!(pace.wait(begin), None);
        pace.rung();
        assert_eq!(pace.wait(begin), Some(DRAW_EVERY));
        assert_eq!(pace.wait(begin + DRAW_EVERY), Some(Duration::ZERO));
    }

    #[test]
    fn keys_mean_what_they_mean_elsewhere() {
        let none = KeyModifiers::NONE;
        assert_eq!(translate(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Event::Key(Key::Interrupt)));
        assert_eq!(translate(KeyCode::Esc, none), Some(Event::Key(Key::Escape)));
        assert_eq!(translate(KeyCode::Char('z'), KeyModifiers::CONTROL), Some(Event::Suspend));
        assert_eq!(translate(KeyCode::Char('+'), none), Some(Event::Key(Key::Letter('+'))));
        assert_eq!(translate(KeyCode::F(1), none), Some(Event::Key(Key::Function(1))));
        assert_eq!(translate(KeyCode::Insert, none), None);
    }
}
