//! What a run says and where: lines on standard output in their order, and messages in the words of the name that was typed.

use crate::request::{SumRequest, ToolVoice};
use digests::DigestError;
use mh_kit::context::Context;
use mh_kit::failure::{Failure, with_causes};
use parking_lot::Mutex;
use std::borrow::Cow;
use std::io;
use std::time::{Duration, Instant};
use sys::signals::{BROKEN_PIPE, die_by};
use terminal::{Delivery, Messages, StandardStream, TextOutput, Verbosity, printable, quote};

/// Our own name in messages.
pub const NAME: &str = "mh sum";

/// LIMIT: a line waits at most so long for others to be written with it.
const LINES_WAIT: Duration = Duration::from_millis(20);

/// Standard output and standard error of a run.
pub struct SumWords {
    voice: ToolVoice,
    program: String,
    messages: Messages,
    /// The noun for a line of a manifest.
    line_type: String,
    /// Whether lines go to the terminal that progress is shown on.
    shares_terminal: bool,
    output: Mutex<Output>,
}

struct Output {
    text: TextOutput<StandardStream>,
    flushed: Instant,
    failure: Option<io::Error>,
}

impl SumWords {
    /// For a run that is known by the name in `context`.
    pub fn new(context: &Context, request: &SumRequest) -> Self {
        let voice = request.voice;
        // COMPAT: cksum's own name where each line says what it is.
        let line_type = request.algorithms.first().map_or("CRC".to_owned(), |algorithm| algorithm.tag());
        let output = Output { text: TextOutput::standard(), flushed: Instant::now(), failure: None };
        let program = if voice == ToolVoice::Own { NAME.to_owned() } else { context.program.clone() };
        let shares_terminal = context.terminals.stdout;
        let (messages, output) = (context.messages.clone(), Mutex::new(output));
        Self { voice, program, messages, line_type, shares_terminal, output }
    }

    /// Writes a line to standard output. If nobody reads any more the process ends, as by a signal.
    pub fn put(&self, line: &[u8]) {
        // COMPAT: the old tools write names as they are to a terminal, too.
        let is_made_safe = self.shares_terminal && self.voice == ToolVoice::Own;
        let line = if is_made_safe { safe_for_terminal(line) } else { Cow::Borrowed(line) };
        let mut output = self.output.lock();
        let is_due = self.shares_terminal || output.flushed.elapsed() >= LINES_WAIT;
        let written = output.text.put(&line).and_then(|delivery| match delivery {
            Delivery::Taken if is_due => self.flush(&mut output),
            delivery => Ok(delivery),
        });
        match written {
            Ok(Delivery::Taken) => {}
            Ok(Delivery::ReaderGone) => die_by(BROKEN_PIPE),
            Err(error) => drop(output.failure.get_or_insert(error)),
        }
    }

    /// Hands over what waits; progress makes room for it on a terminal.
    fn flush(&self, output: &mut Output) -> io::Result<Delivery> {
        if self.shares_terminal {
            self.messages.make_room();
        }
        let flushed = output.text.flush();
        if self.shares_terminal {
            self.messages.show_progress_again();
        }
        output.flushed = Instant::now();
        flushed
    }

    /// Writes what waits, so that a message comes behind it.
    fn catch_up(&self) {
        let mut output = self.output.lock();
        match self.flush(&mut output) {
            Ok(Delivery::Taken) => {}
            Ok(Delivery::ReaderGone) => die_by(BROKEN_PIPE),
            Err(error) => drop(output.failure.get_or_insert(error)),
        }
    }

    /// The end of everything on standard output.
    pub fn finish(&self) -> Result<(), Failure> {
        self.catch_up();
        let Some(error) = self.output.lock().failure.take() else { return Ok(()) };
        let cause = with_causes(&error);
        Err(match self.voice {
            ToolVoice::Own => {
                Failure::Environment { command: NAME, message: format!("write to standard output: {cause}") }
            }
            // COMPAT: GNU's words.
            _ => Failure::InWordsOfOthers { text: format!("{}: write error: {cause}", self.program), code: 1 },
        })
    }

    /// A message in our own words, after "could not".
    pub fn error(&self, fragment: &str) {
        self.catch_up();
        self.messages.error(&self.program, fragment, &[]);
    }

    /// A message of the program, as it is.
    pub fn say(&self, text: &str) {
        self.catch_up();
        match self.voice {
            ToolVoice::Own => self.messages.conclusion(&self.program, text),
            _ => self.messages.in_words_of_others(Verbosity::Quiet, &format!("{}: {text}", self.program)),
        }
    }

    /// A line of another tool without its name.
    pub fn say_plainly(&self, text: &str) {
        self.catch_up();
        self.messages.in_words_of_others(Verbosity::Quiet, text);
    }

    /// A warning in our own words.
    pub fn warn(&self, text: &str) {
        self.catch_up();
        self.messages.warning(&self.program, text, &[]);
    }

    /// COMPAT: how md5sum reports a line that is none.
    pub fn misformatted_line(&self, manifest: &str, line: u64) -> String {
        format!("{manifest}: {line}: improperly formatted {} checksum line", self.line_type)
    }

    /// A file that has no value.
    pub fn unreadable(&self, name: &[u8], error: &DigestError) {
        let cause = with_causes(&error.cause());
        match (self.voice, error) {
            (ToolVoice::Own, DigestError::Open(_)) => self.error(&format!("open {}: {cause}", quoted(name))),
            (ToolVoice::Own, DigestError::Directory) => {
                self.error(&format!("read {}: it is a directory", quoted(name)))
            }
            (ToolVoice::Own, DigestError::Read { offset, .. }) => {
                self.error(&format!("read {} at byte {}: {cause}", quoted(name), terminal::integer(*offset)));
            }
            (ToolVoice::Coreutils, _) => self.say(&format!("{}: {cause}", shell_quoted(name))),
            (ToolVoice::B3sum, _) => self.say(&format!("{}: {}", shown(name), error.cause())),
            (ToolVoice::Xxhsum, DigestError::Directory) => self.say(&format!("{}: {cause} ", shown(name))),
            (ToolVoice::Xxhsum, _) => self.say_plainly(&format!("Error: Could not open '{}': {cause}. ", shown(name))),
            (ToolVoice::Crc32, DigestError::Directory) => self.say(&format!("{}: {cause}", shown(name))),
            (ToolVoice::Crc32, _) => self.say(&format!("Cannot open {}: {cause}", shown(name))),
        }
    }
}

/// A line whose name cannot steer a terminal: a hostile manifest could hide what follows, or write another verdict over it. What ends it stays.
fn safe_for_terminal(line: &[u8]) -> Cow<'_, [u8]> {
    let Some((end, body)) = line.split_last().filter(|(end, _)| matches!(end, b'\n' | 0)) else {
        return Cow::Borrowed(line);
    };
    let mut safe = String::with_capacity(line.len());
    for part in body.utf8_chunks() {
        safe.push_str(&printable(part.valid()));
        part.invalid().iter().for_each(|byte| safe.push_str(&format!("\\x{byte:02x}")));
    }
    let mut safe = safe.into_bytes();
    safe.push(*end);
    Cow::Owned(safe)
}

/// A name as our messages show it.
pub fn quoted(name: &[u8]) -> String {
    use std::os::unix::ffi::OsStrExt;
    quote(std::ffi::OsStr::from_bytes(name))
}

/// A name as text.
pub fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

/// COMPAT: a name as coreutils shows it in messages (gnulib, shell-escape): as it is, if a shell would take it for one word.
pub fn shell_quoted(name: &[u8]) -> String {
    let is_special = |byte: u8| b"!\"$&'()*;<=>?[\\^`| ".contains(&byte);
    let is_text = std::str::from_utf8(name).is_ok();
    let is_letter = |byte: u8| (b' '..=b'~').contains(&byte) || byte >= 0x80 && is_text;
    let begins_special = matches!(name.first(), None | Some(b'#' | b'~'));
    let is_plain = |byte: u8| is_letter(byte) && !is_special(byte);
    if !begins_special && name.iter().all(|byte| is_plain(*byte)) {
        return shown(name);
    }
    let needs_single = |byte: u8| matches!(byte, b'"' | b'$' | b'`' | b'\\' | b'!') || !is_letter(byte);
    if name.contains(&b'\'') && !name.iter().any(|byte| needs_single(*byte)) {
        return format!("\"{}\"", shown(name));
    }
    let (mut quoted, mut is_escape) = (b"'".to_vec(), false);
    for byte in name {
        let is_printable = is_letter(*byte);
        if is_escape == is_printable {
            quoted.extend(if is_printable { b"''".as_slice() } else { b"'$'" });
            is_escape = !is_printable;
        }
        match byte {
            b'\'' => quoted.extend(b"'\\''"),
            b'\n' => quoted.extend(b"\\n"),
            b'\t' => quoted.extend(b"\\t"),
            b'\r' => quoted.extend(b"\\r"),
            _ if is_printable => quoted.push(*byte),
            _ => quoted.extend(format!("\\{byte:03o}").as_bytes()),
        }
    }
    quoted.push(b'\'');
    shown(&quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_steers_a_terminal() {
        for (line, shown) in [
            (&b"x: OK\x1b[8m: FAILED\n"[..], "x: OK\\x1b[8m: FAILED\n"),
            (b"a\rb: OK\x08\n", "a\\rb: OK\\x08\n"),
            (b"a\xff\xc2\x9b: EXTRA\n", "a\\xff\\u{9b}: EXTRA\n"),
            (b"00  a\nb\0", "00  a\\nb\0"),
            ("größe: OK\n".as_bytes(), "größe: OK\n"),
        ] {
            assert_eq!(String::from_utf8_lossy(&safe_for_terminal(line)), shown);
        }
    }

    /// As GNU ls and md5sum show them in the C locale.
    #[test]
    fn names_are_quoted_as_coreutils_does() {
        for (name, shown) in [
            (&b"plain-1.2_x"[..], "plain-1.2_x"),
            (b"standard input", "'standard input'"),
            (b"no\nsuch", "'no'$'\\n''such'"),
            (b"\nx", "''$'\\n''x'"),
            (b"it's", "\"it's\""),
            (b"it's $5", "'it'\\''s $5'"),
            (b"a\xff", "'a'$'\\377'"),
            (b"", "''"),
            (b"#a", "'#a'"),
            (b"a#~", "a#~"),
            ("größe".as_bytes(), "größe"),
        ] {
            assert_eq!(shell_quoted(name), shown);
        }
    }
}
