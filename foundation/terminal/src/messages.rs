//! Messages of a run to a person, on standard error, apart from its data: errors, warnings, notes, reports, with hints.
//! Chooses no text and no exit code; control characters in any text are escaped.

use crate::emphasis::wrapped;
use crate::quote::printable;
use crate::screen::Screen;
use parking_lot::Mutex;
use rustix::process::Pid;
use std::collections::HashSet;
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

/// How much is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Nothing but reports that were asked for.
    Silent,
    /// Errors and final counts only, no progress.
    Quiet,
    /// Warnings and notes too.
    #[default]
    Normal,
    /// Details too.
    Verbose,
}

/// Standard error, shared by all who speak on it: clones write to the same one.
#[derive(Clone)]
pub struct Messages {
    verbosity: Verbosity,
    screen: Arc<Screen>,
    /// Hints that were given: a thousand files with one remedy get it once.
    hinted: Arc<Mutex<HashSet<String>>>,
}

/// What was said and has not been written.
#[derive(Clone, Debug, Default)]
pub struct KeptMessages(Arc<Mutex<Vec<u8>>>);

impl KeptMessages {
    /// Takes it: whole lines.
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock())
    }
}

impl Write for KeptMessages {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// LIMIT: more hints than this are a manual page.
const HINTS_SHOWN: usize = 2;

/// LIMIT: hints remembered; more different ones in one run name files.
const HINTS_REMEMBERED: usize = 64;

impl Messages {
    /// Messages on standard error, lines alone.
    pub fn standard_error(verbosity: Verbosity) -> Self {
        Self::through(Screen::plain(), verbosity)
    }

    /// Messages on standard error, and progress below them while it is a terminal in whose foreground `own_group` is: this process's
    /// group, none where that has no number in this container.
    pub fn with_progress(verbosity: Verbosity, own_group: Option<Pid>) -> Self {
        Self::through(Screen::drawn_by(own_group), verbosity)
    }

    fn through(screen: Screen, verbosity: Verbosity) -> Self {
        Self { verbosity, screen: Arc::new(screen), hinted: Arc::default() }
    }

    /// Says `command: could not fragment`, then the first two hints. Said at every verbosity.
    ///
    /// `fragment` is an operation, its quoted object and the cause: `decompress 'a.gz': the file ends early`.
    pub fn error(&self, command: &str, fragment: &str, hints: &[String]) {
        self.say(&format!("{command}: could not {}", printable(fragment)), hints);
    }

    /// Says `command: text` at every verbosity: the count at the end of a run that went on after errors.
    pub fn conclusion(&self, command: &str, text: &str) {
        self.say(&format!("{command}: {}", printable(text)), &[]);
    }

    /// Says `command: text` at every verbosity, then the first two hints: a command line that cannot be carried out.
    pub fn refusal(&self, command: &str, text: &str, hints: &[String]) {
        self.say(&format!("{command}: {}", printable(text)), hints);
    }

    /// Says `command: warning: text`, then the first two hints, unless quiet.
    pub fn warning(&self, command: &str, text: &str, hints: &[String]) {
        if self.verbosity >= Verbosity::Normal {
            self.say(&format!("{command}: warning: {}", printable(text)), hints);
        }
    }

    /// Says `command: text`, unless quiet.
    pub fn note(&self, command: &str, text: &str) {
        if self.verbosity >= Verbosity::Normal {
            self.say(&format!("{command}: {}", printable(text)), &[]);
        }
    }

    /// Says `command: text` when verbose.
    pub fn detail(&self, command: &str, text: &str) {
        if self.verbosity >= Verbosity::Verbose {
            self.say(&format!("{command}: {}", printable(text)), &[]);
        }
    }

    /// Says `text` in another tool's shape from verbosity `least` on, for commands that answer to its name. Its lines and
    /// tabs stay; whoever puts names into it escapes those.
    pub fn in_words_of_others(&self, least: Verbosity, text: &str) {
        if self.verbosity < least {
            return;
        }
        let mut lines = String::with_capacity(text.len() + 1);
        for line in text.lines() {
            let parts: Vec<_> = line.split('\t').map(printable).collect();
            lines.extend([parts.join("\t").as_str(), "\n"]);
        }
        self.screen.write_above(&lines);
    }

    /// Writes the lines of a plan or a report, which was asked for and therefore is shown at every verbosity. On a terminal its sentences
    /// break between words; tables, which are indented, and JSON stay as they are.
    pub fn report(&self, text: &str) {
        let columns = self.screen.columns().filter(|columns| *columns > 0);
        let mut lines = String::with_capacity(text.len() + 1);
        for line in text.lines() {
            let width = columns.filter(|_| !line.starts_with([' ', '{']));
            lines.push_str(&wrapped(&printable(line), width));
            lines.push('\n');
        }
        self.screen.write_above(&lines);
    }

    fn say(&self, line: &str, hints: &[String]) {
        if self.verbosity == Verbosity::Silent {
            return;
        }
        let mut lines = format!("{line}\n");
        for hint in hints.iter().take(HINTS_SHOWN).filter(|hint| self.is_new(hint)) {
            lines.extend(["  hint: ", &printable(hint), "\n"]);
        }
        self.screen.write_above(&lines);
    }

    /// Whether a hint is to be given: each one once.
    fn is_new(&self, hint: &str) -> bool {
        let mut hinted = self.hinted.lock();
        let is_new = !hinted.contains(hint);
        if is_new && hinted.len() < HINTS_REMEMBERED {
            hinted.insert(hint.to_owned());
        }
        is_new
    }

    /// Messages of the same verbosity that nobody writes: they are kept for who takes them, and writes when there is room.
    pub fn kept(&self) -> (Self, KeptMessages) {
        let kept = KeptMessages::default();
        let screen = Arc::new(Screen::into_writer(Box::new(kept.clone())));
        (Self { verbosity: self.verbosity, screen, hinted: Arc::clone(&self.hinted) }, kept)
    }

    /// Writes what was kept.
    pub fn pass_on(&self, kept: &KeptMessages) {
        self.screen.write_above(&String::from_utf8_lossy(&kept.take()));
    }

    /// Somebody else begins to write to the terminal that progress is shown on.
    pub fn make_room(&self) {
        self.screen.give_way();
    }

    /// Somebody else has written; progress may be shown again.
    pub fn take_room_back(&self) {
        self.screen.come_back();
    }

    /// Somebody else has written whole lines; progress is shown again, below them.
    pub fn show_progress_again(&self) {
        self.screen.come_back();
        self.screen.draw_again();
    }

    /// Whether progress can be seen, and is wanted.
    pub fn shows_progress(&self) -> bool {
        self.screen_for_progress().is_some()
    }

    /// Where progress may be shown; none when nobody would see it or wants to.
    pub(crate) fn screen_for_progress(&self) -> Option<Arc<Screen>> {
        let wanted = self.verbosity >= Verbosity::Normal && self.screen.is_terminal();
        wanted.then(|| Arc::clone(&self.screen))
    }

    #[cfg(test)]
    pub(crate) fn on(screen: Screen, verbosity: Verbosity) -> Self {
        Self::through(screen, verbosity)
    }
}

impl fmt::Debug for Messages {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Messages").field("verbosity", &self.verbosity).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::fake;

    fn said(verbosity: Verbosity, speak: impl Fn(&Messages)) -> String {
        let (screen, written) = fake::screen(None);
        speak(&Messages::on(screen, verbosity));
        written.text()
    }

    #[test]
    fn an_error_has_at_most_two_hints() {
        let hints = ["first".to_owned(), "second".to_owned(), "third".to_owned()];
        let text = said(Verbosity::Normal, |messages| messages.error("mh tamp", "read 'a.gz': no such file", &hints));
        assert_eq!(text, "mh tamp: could not read 'a.gz': no such file\n  hint: first\n  hint: second\n");
    }

    #[test]
    fn sentences_of_a_report_break_between_words_on_a_terminal() {
        let text = "one more core buys 33 %.\n  a table has its own columns\n{\"wall_ns\": 12345678}\n";
        assert_eq!(said(Verbosity::Silent, |messages| messages.report(text)), text);
        let (screen, written) = fake::screen(Some(20));
        Messages::on(screen, Verbosity::Silent).report(text);
        assert_eq!(written.text(), text.replace("buys 33", "buys\n33"));
    }

    #[test]
    fn a_hint_is_given_once_a_run() {
        let hints = ["use -r".to_owned()];
        let text = said(Verbosity::Normal, |messages| {
            messages.error("mh", "read 'a': is a directory", &hints);
            messages.clone().error("mh", "read 'b': is a directory", &hints);
        });
        let expected =
            "mh: could not read 'a': is a directory\n  hint: use -r\nmh: could not read 'b': is a directory\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn what_is_kept_is_written_by_who_takes_it_or_when_it_is_passed_on() {
        let (screen, written) = fake::screen(None);
        let messages = Messages::on(screen, Verbosity::Normal);
        let (keeping, kept) = messages.kept();
        keeping.note("mh", "one");
        keeping.detail("mh", "not said");
        assert_eq!((kept.take(), written.text().as_str()), (b"mh: one\n".to_vec(), ""));
        keeping.note("mh", "two");
        messages.pass_on(&kept);
        messages.pass_on(&kept);
        assert_eq!(written.text(), "mh: two\n");
    }

    #[test]
    fn verbosity_decides_what_is_said() {
        let speak = |messages: &Messages| {
            messages.error("mh", "e", &[]);
            messages.conclusion("mh", "c");
            messages.warning("mh", "w", &[]);
            messages.note("mh", "n");
            messages.detail("mh", "d");
        };
        assert_eq!(said(Verbosity::Quiet, speak), "mh: could not e\nmh: c\n");
        assert_eq!(said(Verbosity::Normal, speak), "mh: could not e\nmh: c\nmh: warning: w\nmh: n\n");
        assert_eq!(said(Verbosity::Verbose, speak), "mh: could not e\nmh: c\nmh: warning: w\nmh: n\nmh: d\n");
    }

    #[test]
    fn words_of_others_keep_their_lines_and_tabs() {
        let speak = |messages: &Messages| messages.in_words_of_others(Verbosity::Normal, "a:\tb\x1b\nc");
        assert_eq!(said(Verbosity::Normal, speak), "a:\tb\\x1b\nc\n");
        assert_eq!(said(Verbosity::Quiet, speak), "");
    }

    #[test]
    fn no_text_can_steer_the_terminal_or_forge_a_line() {
        let text = said(Verbosity::Normal, |messages| {
            messages.error("mh", "read \x1b[2J\nmh: all is well", &["\x07".to_owned()]);
            messages.report("one\ntwo\x1b[0m");
        });
        assert_eq!(text, "mh: could not read \\x1b[2J\\nmh: all is well\n  hint: \\x07\none\ntwo\\x1b[0m\n");
    }
}
