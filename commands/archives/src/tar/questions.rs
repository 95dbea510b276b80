//! `-w`: a question about each file or member, where lists of members go, and an answer from standard input; from the terminal, if standard input has
//! the archive or a list of names. COMPAT: GNU tar's words. An answer that begins with a y means yes; after the end of the answers, everything is a no.

use super::member_lines::MemberLines;
use super::words::Quoting;
use super::{TarArgs, could_not};
use mh_kit::context::variable;
use mh_kit::failure::Failure;
use parking_lot::Mutex;
use std::fs::File;
use std::io::{BufRead, BufReader, stdin};
use std::path::Path;

/// Where answers come from without standard input.
const TERMINAL: &str = "/dev/tty";

/// Questions of a run.
pub struct MemberQuestions {
    answers: Mutex<Box<dyn BufRead + Send>>,
    has_utf8: bool,
}

impl MemberQuestions {
    /// None without the option.
    pub fn of(args: &TarArgs) -> Result<Option<Self>, Failure> {
        if !args.telling.interactive {
            return Ok(None);
        }
        let is_stdin = |path: &Path| path == Path::new("-");
        let reads_archive = args.operation.extract && args.archive().is_none_or(is_stdin);
        let mut lists = args.choice.files_from.iter().chain(&args.choice.exclude_from);
        let answers: Box<dyn BufRead + Send> = match reads_archive || lists.any(|path| is_stdin(path)) {
            true => {
                let opened = File::open(TERMINAL);
                Box::new(BufReader::new(opened.map_err(|error| could_not("open", TERMINAL.as_ref(), &error))?))
            }
            false => Box::new(BufReader::new(stdin())),
        };
        let mut locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(variable);
        let locale = locale.find(|value| !value.is_empty()).unwrap_or_default();
        let locale = locale.to_string_lossy().to_ascii_lowercase();
        let has_utf8 = locale.ends_with("utf-8") || locale.ends_with("utf8");
        Ok(Some(Self { answers: Mutex::new(answers), has_utf8 }))
    }

    /// Asks whether to `act` on what has a name.
    pub fn confirm(&self, act: &str, name: &[u8], lines: &mut MemberLines) -> bool {
        // COMPAT: without the slash of a directory.
        let end = name.iter().rposition(|&byte| byte != b'/').map_or(name.len().min(1), |last| last + 1);
        lines.part(&[act.as_bytes(), b" ", &Quoting::asked(&name[..end], self.has_utf8), b"?"].concat());
        let mut answer = Vec::new();
        // An answer that cannot be read is a no.
        if self.answers.lock().read_until(b'\n', &mut answer).is_err() || answer.is_empty() {
            lines.part(b"\n");
        }
        matches!(answer.first(), Some(b'y' | b'Y'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_with_y_is_a_yes_and_the_end_a_no() {
        let questions =
            MemberQuestions { answers: Mutex::new(Box::new(&b"y\nYES\nn\n y\n\nyet"[..])), has_utf8: false };
        let mut lines = MemberLines::nowhere();
        let answers: Vec<bool> = (0..8).map(|_| questions.confirm("add", b"x", &mut lines)).collect();
        assert_eq!(answers, [true, true, false, false, false, true, false, false]);
    }
}
