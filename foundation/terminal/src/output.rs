//! Data and tables on standard output. A reader that has gone away (`| head`) is an outcome, not an error.
//! Not for file contents in bulk: those go through an engine's own sink.

use std::ffi::OsStr;
use std::io::{self, IsTerminal, Write};

/// What became of something written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a reader that is gone should end the work"]
pub enum Delivery {
    /// It was taken.
    Taken,
    /// Nobody reads any more: end quietly.
    ReaderGone,
}

/// Buffered output that knows a broken pipe. Dropping it instead of calling [`TextOutput::finish`] loses errors.
#[derive(Debug)]
pub struct TextOutput<Sink: Write> {
    sink: Sink,
    /// What is to be written. It grows with what comes: most runs have little to say.
    waiting: Vec<u8>,
    /// Why nothing is written any more.
    refused: Option<io::ErrorKind>,
}

/// LIMIT: bytes that wait to be written together. More saves no system calls worth having, and does not go into an empty pipe at once;
/// fewer make long lists slow.
const WAITING_BYTES: usize = 64 << 10;

/// A standard stream, unbuffered.
///
/// LIE: the standard library's takes for written what is refused with EBADF: its descriptor was closed, or is for reading.
#[derive(Clone, Copy, Debug)]
pub enum StandardStream {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

impl Write for StandardStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let descriptor = match self {
            Self::Output => rustix::stdio::stdout(),
            Self::Error => rustix::stdio::stderr(),
        };
        Ok(rustix::io::write(descriptor, bytes)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TextOutput<StandardStream> {
    /// Standard output.
    pub fn standard() -> Self {
        Self::to(StandardStream::Output)
    }
}

impl<Sink: Write> TextOutput<Sink> {
    /// Output to anything.
    pub fn to(sink: Sink) -> Self {
        Self { sink, waiting: Vec::new(), refused: None }
    }

    /// Writes bytes as they are.
    pub fn put(&mut self, bytes: &[u8]) -> io::Result<Delivery> {
        self.put_off(&[bytes])
    }

    /// Writes a text and a line end.
    pub fn line(&mut self, text: impl AsRef<[u8]>) -> io::Result<Delivery> {
        self.put_off(&[text.as_ref(), b"\n"])
    }

    /// Hands over what is buffered: after each record of a live list. Nothing follows what was refused: there would be a hole before it.
    pub fn flush(&mut self) -> io::Result<Delivery> {
        if self.refused.is_none()
            && let Err(error) = self.sink.write_all(&self.waiting).and_then(|()| self.sink.flush())
        {
            self.refused = Some(error.kind());
            self.waiting = Vec::new();
            if error.kind() != io::ErrorKind::BrokenPipe {
                return Err(error);
            }
        }
        self.waiting.clear();
        self.answer()
    }

    /// Hands over the rest.
    pub fn finish(mut self) -> io::Result<Delivery> {
        self.flush()
    }

    /// Has more wait, behind what was written because both would be too much.
    #[inline]
    fn put_off(&mut self, parts: &[&[u8]]) -> io::Result<Delivery> {
        let more: usize = parts.iter().map(|part| part.len()).sum();
        if self.refused.is_some() || self.waiting.len() + more > WAITING_BYTES {
            let delivery = self.flush()?;
            if delivery == Delivery::ReaderGone {
                return Ok(delivery);
            }
        }
        parts.iter().for_each(|part| self.waiting.extend_from_slice(part));
        Ok(Delivery::Taken)
    }

    fn answer(&self) -> io::Result<Delivery> {
        match self.refused {
            None => Ok(Delivery::Taken),
            Some(io::ErrorKind::BrokenPipe) => Ok(Delivery::ReaderGone),
            Some(kind) => Err(kind.into()),
        }
    }
}

impl<Sink: Write> Drop for TextOutput<Sink> {
    fn drop(&mut self) {
        let _nobody_to_tell = self.flush();
    }
}

/// Where a text goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextDestination {
    /// A terminal, where a person looks.
    Terminal,
    /// A file, a pipe, another program.
    Elsewhere,
}

impl TextDestination {
    /// Asks whether `stream` is a terminal.
    pub fn of(stream: &impl IsTerminal) -> Self {
        if stream.is_terminal() { Self::Terminal } else { Self::Elsewhere }
    }
}

/// How wide the terminal is that standard output goes to; none where it goes elsewhere or the terminal does not say.
pub fn standard_output_columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(rustix::stdio::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|&columns| columns > 0)
}

/// Whether to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// Use colour.
    On,
    /// Plain text.
    Off,
}

impl Colour {
    /// Decides from the value of `NO_COLOR` (any but an empty one forbids it, no-color.org) and from where the text goes.
    pub fn decide(no_color: Option<&OsStr>, destination: TextDestination) -> Self {
        let is_forbidden = no_color.is_some_and(|value| !value.is_empty());
        if destination == TextDestination::Terminal && !is_forbidden { Self::On } else { Self::Off }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, pipe};
    use std::os::fd::OwnedFd;

    #[test]
    fn everything_arrives_in_order() {
        let (mut reader, writer) = pipe().expect("a pipe");
        let mut output = TextOutput::to(writer);
        assert_eq!(output.line("one").expect("written"), Delivery::Taken);
        assert_eq!(output.put(b"two\0").expect("written"), Delivery::Taken);
        assert_eq!(output.finish().expect("written"), Delivery::Taken);
        let mut read = String::new();
        reader.read_to_string(&mut read).expect("readable");
        assert_eq!(read, "one\ntwo\0");
    }

    #[test]
    fn a_reader_that_left_is_an_outcome_and_stays_one() {
        let (reader, writer) = pipe().expect("a pipe");
        drop(reader);
        let mut output = TextOutput::to(writer);
        assert_eq!(output.line("buffered").expect("only buffered"), Delivery::Taken);
        assert_eq!(output.flush().expect("no error"), Delivery::ReaderGone);
        assert_eq!(output.line("more").expect("no error"), Delivery::ReaderGone);
        assert!(output.waiting.is_empty(), "nothing is kept for nobody");
        assert_eq!(output.finish().expect("no error"), Delivery::ReaderGone);
    }

    #[test]
    fn a_full_disk_is_an_error() {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("Linux has /dev/full");
        let mut output = TextOutput::to(full);
        assert_eq!(output.line("x").expect("only buffered"), Delivery::Taken);
        assert_eq!(output.finish().expect_err("no space").kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn nothing_follows_what_was_refused() {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("Linux has /dev/full");
        let mut output = TextOutput::to(full);
        assert_eq!(output.line("lost").expect("only buffered"), Delivery::Taken);
        assert_eq!(output.flush().expect_err("no space").raw_os_error(), Some(28));
        assert_eq!(output.line("after it").expect_err("for good").kind(), io::ErrorKind::StorageFull);
        assert!(output.waiting.is_empty());
        assert_eq!(output.finish().expect_err("for good").kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn what_is_written_at_once_goes_into_an_empty_pipe() {
        #[derive(Default)]
        struct Sizes(Vec<usize>);
        impl Write for Sizes {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.push(bytes.len());
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut output = TextOutput::to(Sizes::default());
        let line = "x".repeat(996);
        for _ in 0..200 {
            assert_eq!(output.line(&line).expect("written"), Delivery::Taken);
        }
        assert_eq!(output.flush().expect("written"), Delivery::Taken);
        assert_eq!(output.sink.0, [65 * 997, 65 * 997, 65 * 997, 5 * 997]);
        let long = "y".repeat(100_000);
        assert_eq!(output.line(&long).and_then(|_| output.flush()).expect("written"), Delivery::Taken);
        assert_eq!(output.sink.0[4..], [100_001], "one that is longer than all that may wait goes as a whole");
    }

    #[test]
    fn colour_needs_a_terminal_and_no_objection() {
        assert_eq!(Colour::decide(None, TextDestination::Terminal), Colour::On);
        assert_eq!(Colour::decide(Some(OsStr::new("")), TextDestination::Terminal), Colour::On);
        assert_eq!(Colour::decide(Some(OsStr::new("1")), TextDestination::Terminal), Colour::Off);
        assert_eq!(Colour::decide(None, TextDestination::Elsewhere), Colour::Off);
    }

    #[test]
    fn a_pipe_is_not_a_terminal() {
        let (reader, _writer) = pipe().expect("a pipe");
        assert_eq!(TextDestination::of(&OwnedFd::from(reader)), TextDestination::Elsewhere);
    }
}
