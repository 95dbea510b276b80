//! The one place that writes to standard error: text above, a progress line or a block of some lines below it, never mixed.
//! Decides nothing about what is written. A standard error that cannot be written to is nobody's failure: there is no
//! better place to say so.

use parking_lot::{Mutex, MutexGuard};
use rustix::process::Pid;
use std::io::{self, IsTerminal, Write};

/// Standard error, or what a test puts in its place.
pub(crate) struct Screen {
    surface: Mutex<Surface>,
    view: View,
}

struct Surface {
    sink: Box<dyn Write + Send>,
    /// The progress line or block that stands on the terminal now; empty when none does.
    line: String,
    /// What stood there before it was removed for somebody else, or should stand there by now.
    aside: String,
    /// Somebody else writes to the terminal: nothing is drawn.
    gives_way: bool,
    /// Somebody else has written to it: where the cursor stands is not known.
    is_astray: bool,
}

/// Where a progress line could be drawn.
enum View {
    /// Nowhere: not a terminal.
    None,
    /// On the terminal that is standard error, as wide as it is at the moment, by processes of this group.
    StandardError(Option<Pid>),
    /// On a pretended terminal.
    #[cfg(test)]
    Pretended { columns: usize },
}

/// Ends a drawn line: erases what a longer one left behind (ECMA-48 EL, known to every terminal Linux has).
const ERASE_TO_END: &str = "\x1b[K";

impl Screen {
    /// Standard error; nothing is drawn.
    pub(crate) fn plain() -> Self {
        Self::new(Box::new(io::stderr()), View::None)
    }

    /// Standard error, drawn on by the group of this process.
    pub(crate) fn drawn_by(own_group: Option<Pid>) -> Self {
        let view = if io::stderr().is_terminal() { View::StandardError(own_group) } else { View::None };
        Self::new(Box::new(io::stderr()), view)
    }

    /// No terminal: what is written goes to `sink` as it is.
    pub(crate) fn into_writer(sink: Box<dyn Write + Send>) -> Self {
        Self::new(sink, View::None)
    }

    fn new(sink: Box<dyn Write + Send>, view: View) -> Self {
        let surface = Surface { sink, line: String::new(), aside: String::new(), gives_way: false, is_astray: false };
        Self { surface: Mutex::new(surface), view }
    }

    /// Whether a progress line can be seen at all.
    pub(crate) fn is_terminal(&self) -> bool {
        !matches!(self.view, View::None)
    }

    /// How wide a line may be just now; none when nothing should be drawn.
    pub(crate) fn columns(&self) -> Option<usize> {
        match self.view {
            View::None => None,
            View::StandardError(own_group) => in_foreground(own_group).then(terminal_columns),
            #[cfg(test)]
            View::Pretended { columns } => Some(columns),
        }
    }

    /// Writes whole lines above the progress line.
    pub(crate) fn write_above(&self, text: &str) {
        let mut surface = self.lock();
        let text = match surface.line.as_str() {
            "" => text.to_owned(),
            line => format!("{}{text}{line}", erased(line)),
        };
        surface.put(&text);
    }

    /// Draws or replaces the progress line, or the block if it has line ends inside.
    pub(crate) fn draw(&self, line: &str) {
        let columns = self.columns().unwrap_or(0);
        let mut surface = self.lock();
        if surface.gives_way {
            return line.clone_into(&mut surface.aside);
        }
        // A line of blanks goes on in the next line if, and only if, the cursor does not stand at the beginning.
        let found = if surface.is_astray { format!("{}\r", " ".repeat(columns)) } else { String::new() };
        let text = match (surface.line.contains('\n'), line.contains('\n')) {
            (false, false) => format!("{found}\r{line}{ERASE_TO_END}"),
            _ => format!("{found}{}{line}{ERASE_TO_END}", erased(&surface.line)),
        };
        surface.put(&text);
        line.clone_into(&mut surface.line);
        surface.is_astray = false;
    }

    /// Removes the line or block until [`Screen::come_back`]: somebody else writes to the same terminal.
    pub(crate) fn give_way(&self) {
        let mut surface = self.lock();
        if !surface.line.is_empty() {
            let line = surface.remove_line();
            surface.aside = line;
        }
        (surface.gives_way, surface.is_astray) = (true, true);
    }

    /// What is drawn next is drawn, below what was written meanwhile.
    pub(crate) fn come_back(&self) {
        self.lock().gives_way = false;
    }

    /// Draws at once what was removed for somebody else.
    pub(crate) fn draw_again(&self) {
        let line = std::mem::take(&mut self.lock().aside);
        if !line.is_empty() {
            self.draw(&line);
        }
    }

    /// Removes the progress line.
    pub(crate) fn clear(&self) {
        let mut surface = self.lock();
        surface.aside.clear();
        if !surface.line.is_empty() {
            surface.remove_line();
        }
    }

    /// Leaves the progress line where it stands, as others now own the terminal.
    pub(crate) fn abandon(&self) {
        let mut surface = self.lock();
        surface.line.clear();
        surface.aside.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Surface> {
        self.surface.lock()
    }
}

/// What removes a line or block from its last line's end: the cursor then stands where it began.
fn erased(line: &str) -> String {
    match line.matches('\n').count() {
        0 => format!("\r{ERASE_TO_END}"),
        // CUU and ED of ECMA-48.
        above => format!("\r\x1b[{above}A\x1b[J"),
    }
}

impl Surface {
    /// Removes the line, and says what it was.
    fn remove_line(&mut self) -> String {
        let text = erased(&self.line);
        self.put(&text);
        std::mem::take(&mut self.line)
    }

    /// One write for all, so that other processes on the terminal cannot come between.
    fn put(&mut self, text: &str) {
        let _nowhere_to_complain = self.sink.write_all(text.as_bytes()).and_then(|()| self.sink.flush());
    }
}

/// Whether this process may draw: in the background it would write across the shell's prompt, or be stopped for trying.
fn in_foreground(own_group: Option<Pid>) -> bool {
    // A terminal that is not this session's has no foreground of ours, and refuses the question.
    rustix::termios::tcgetpgrp(rustix::stdio::stderr()).map_or(true, |group| Some(group) == own_group)
}

fn terminal_columns() -> usize {
    // LIE: serial lines and some emulators say 0 for "not known".
    const USUAL: usize = 80;
    match rustix::termios::tcgetwinsize(rustix::stdio::stderr()) {
        Ok(size) if size.ws_col > 0 => usize::from(size.ws_col),
        _ => USUAL,
    }
}

#[cfg(test)]
pub(crate) mod fake {
    //! A screen that keeps what is written to it.

    use super::{Screen, View};
    use parking_lot::Mutex;
    use std::io::{self, Write};
    use std::sync::Arc;

    /// What was written.
    #[derive(Clone, Default)]
    pub(crate) struct Written(Arc<Mutex<Vec<u8>>>);

    impl Written {
        pub(crate) fn text(&self) -> String {
            String::from_utf8(self.0.lock().clone()).expect("text")
        }
    }

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A terminal of so many columns, or none.
    pub(crate) fn screen(columns: Option<usize>) -> (Screen, Written) {
        let written = Written::default();
        let view = columns.map_or(View::None, |columns| View::Pretended { columns });
        (Screen::new(Box::new(written.clone()), view), written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stands_above_the_line_which_is_drawn_again() {
        let (screen, written) = fake::screen(Some(80));
        screen.draw("38 %");
        screen.write_above("a message\n");
        screen.clear();
        screen.clear();
        screen.write_above("another\n");
        assert_eq!(written.text(), "\r38 %\x1b[K\r\x1b[Ka message\n38 %\r\x1b[Kanother\n");
    }

    #[test]
    fn an_abandoned_line_is_neither_erased_nor_drawn_again() {
        let (screen, written) = fake::screen(Some(80));
        screen.draw("38 %");
        screen.abandon();
        screen.write_above("a message\n");
        screen.clear();
        assert_eq!(written.text(), "\r38 %\x1b[Ka message\n");
    }

    #[test]
    fn a_block_is_removed_from_its_first_line_on() {
        let (screen, written) = fake::screen(Some(80));
        screen.draw("a\nb\nc");
        screen.write_above("text\n");
        screen.draw("d");
        screen.clear();
        let block = "\r\x1b[Ka\nb\nc\x1b[K";
        let expected = format!("{block}\r\x1b[2A\x1b[Jtext\na\nb\nc\r\x1b[2A\x1b[Jd\x1b[K\r\x1b[K");
        assert_eq!(written.text(), expected);
    }

    #[test]
    fn nothing_is_drawn_while_others_write_and_then_below_it() {
        let (screen, written) = fake::screen(Some(4));
        screen.draw("a");
        screen.give_way();
        screen.draw("b");
        screen.come_back();
        screen.draw("c");
        screen.draw("d");
        assert_eq!(written.text(), "\ra\x1b[K\r\x1b[K    \r\rc\x1b[K\rd\x1b[K");
    }

    #[test]
    fn what_was_removed_for_others_stands_below_their_lines_at_once() {
        let (screen, written) = fake::screen(Some(4));
        screen.draw("a");
        for _ in 0..2 {
            screen.give_way();
            screen.come_back();
            screen.draw_again();
        }
        screen.give_way();
        screen.draw("b");
        screen.come_back();
        screen.draw_again();
        let gap = "\r\x1b[K    \r\r";
        assert_eq!(written.text(), format!("\ra\x1b[K{gap}a\x1b[K{gap}a\x1b[K{gap}b\x1b[K"));
        screen.give_way();
        screen.clear();
        screen.draw_again();
        assert!(written.text().ends_with("b\x1b[K\r\x1b[K"));
    }

    #[test]
    fn a_broken_sink_is_silence() {
        struct Broken;
        impl Write for Broken {
            fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        Screen::new(Box::new(Broken), View::None).write_above("lost\n");
    }
}
