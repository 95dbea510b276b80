//! What every screen of a command has: help, keys to leave and to move among rows. The loop is the terminal's (`full_screen`); what is shown is
//! the content's.

use terminal::full_screen::{Canvas, Key, KeyEffect, ScreenView};

/// What a screen shows.
pub trait ScreenContent {
    /// Rows that a page key passes.
    const PAGE: usize;

    /// The lines of `?`.
    fn help(&self) -> impl Iterator<Item = &'static str>;

    /// Draws what is there.
    fn draw(&self, canvas: &mut Canvas<'_>);

    /// Takes what is new; whether anything is.
    fn refresh(&mut self) -> bool;

    /// The row that is chosen, or drawn first.
    fn position(&self) -> usize;

    /// Goes to a row, to the last one if there are not so many.
    fn go_to(&mut self, position: usize);

    /// A key of its own.
    fn letter(&mut self, letter: char) -> KeyEffect;
}

/// A content with help.
pub struct LiveScreen<C> {
    /// What it shows.
    pub content: C,
    is_help: bool,
}

impl<C: ScreenContent> LiveScreen<C> {
    /// Shows `content`.
    pub fn new(content: C) -> Self {
        Self { content, is_help: false }
    }

    fn go_to(&mut self, position: usize) -> KeyEffect {
        self.content.go_to(position);
        KeyEffect::Draw
    }
}

impl<C: ScreenContent> ScreenView for LiveScreen<C> {
    fn draw(&self, canvas: &mut Canvas<'_>) {
        match self.is_help {
            true => self.content.help().enumerate().for_each(|(row, line)| canvas.line(row, line)),
            false => self.content.draw(canvas),
        }
    }

    fn key(&mut self, key: Key) -> KeyEffect {
        if std::mem::take(&mut self.is_help) {
            return KeyEffect::Draw;
        }
        let at = self.content.position();
        match key {
            Key::Letter('q') | Key::Escape | Key::Interrupt => KeyEffect::Leave,
            Key::Letter('?' | 'h') => {
                self.is_help = true;
                KeyEffect::Draw
            }
            Key::Up => self.go_to(at.saturating_sub(1)),
            Key::Down => self.go_to(at + 1),
            Key::PageUp => self.go_to(at.saturating_sub(C::PAGE)),
            Key::PageDown => self.go_to(at + C::PAGE),
            Key::Home => self.go_to(0),
            Key::End => self.go_to(usize::MAX),
            Key::Letter(letter) => self.content.letter(letter),
            Key::Enter | Key::Left | Key::Right | Key::Backspace | Key::Function(_) => KeyEffect::Stay,
        }
    }

    fn refresh(&mut self) -> bool {
        self.content.refresh()
    }
}
