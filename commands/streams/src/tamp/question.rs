//! Asks before a file is replaced, as gzip, pigz, lz4 and zstd do where a person answers. Asked for all files before any is
//! worked on: files are worked on at the same time, and a question must not wait behind another file.

use super::TampArgs;
use super::manners::Manners;
use codec::lane::{Lane, LaneOutput};
use mh_kit::context::Context;
use std::io::{self, BufRead, Write};

/// How a tool asks.
#[derive(Clone, Copy, Debug)]
pub struct OverwriteQuestion {
    /// The question about an output of this name, without a line's end.
    pub asked: fn(&Manners, &str) -> String,
    /// The text to print if the answer is no.
    pub refused: fn(&Manners, &str) -> String,
    /// The exit code of a no.
    pub code: u8,
    /// Whether it asks a terminal alone; otherwise whatever standard input is.
    pub needs_terminal: bool,
}

/// Asks about each output that exists and may not be replaced. A lane whose output may be replaced says so afterwards; one
/// whose output may not goes. Returns how many went.
pub fn settle(context: &Context, args: &TampArgs, lanes: &mut Vec<Lane>) -> usize {
    let Some(question) = args.question.filter(|_| !args.shared.explain) else { return 0 };
    if question.needs_terminal && !context.terminals.stdin || reads_stdin(args) {
        return 0;
    }
    let before = lanes.len();
    lanes.retain_mut(|lane| {
        let LaneOutput::Path { path, replace } = &mut lane.output else { return true };
        // A directory is refused by whoever opens the output.
        let is_there = path.symlink_metadata().is_ok_and(|there| !there.is_dir());
        if *replace || !is_there {
            return true;
        }
        let name = terminal::printable(&path.to_string_lossy()).into_owned();
        *replace = is_yes(&(question.asked)(&args.manners, &name));
        if !*replace {
            args.manners.codes.note(question.code);
            write(&(question.refused)(&args.manners, &name));
        }
        *replace
    });
    before - lanes.len()
}

fn reads_stdin(args: &TampArgs) -> bool {
    args.files.is_empty() || args.files.iter().any(|file| file.as_os_str() == "-")
}

/// Asks and reads a line. A line that begins with `y` is a yes; no answer is a no.
pub fn is_yes(question: &str) -> bool {
    write(question);
    let mut answer = Vec::new();
    // LIMIT: nobody answers in more.
    let read = io::Read::take(io::stdin().lock(), 4096).read_until(b'\n', &mut answer);
    read.is_ok() && begins_with_yes(&answer)
}

fn begins_with_yes(answer: &[u8]) -> bool {
    matches!(answer.trim_ascii_start().first(), Some(b'y' | b'Y'))
}

fn write(text: &str) {
    // Without a terminal there is no answer.
    let _unanswered = io::stderr().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_its_first_letter() {
        for (answer, is_yes) in
            [("y\n", true), ("Yes\n", true), ("  y", true), ("n\n", false), ("\n", false), ("", false), ("ny\n", false)]
        {
            assert_eq!(begins_with_yes(answer.as_bytes()), is_yes, "{answer:?}");
        }
    }
}
