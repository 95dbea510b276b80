//! How a command ends: the exit codes, the one place where an error becomes lines on stderr, and silence for broken pipes.

use crate::command_line::{self, RefusedLine, shows_options};
use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::io::IsTerminal;
use terminal::{Delivery, Messages, TextOutput, Verbosity};

/// How a command ended that did not fail as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All that was asked.
    Done,
    /// Some of it; each failure has been told.
    Partial,
    /// With the exit code of the tool whose name was used; everything has been told.
    Code(u8),
}

impl Outcome {
    /// The process's exit code: 0 done, 1 partial or failed, 2 usage.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Partial => 1,
            Self::Code(code) => code,
        }
    }
}

/// Why a command could not do what was asked at all.
#[derive(Debug)]
pub enum Failure {
    /// The command line was wrong; clap's own text, ready to print (help and version are such texts too).
    CommandLine(clap::Error),
    /// The command line asks for what does not go together.
    Usage {
        /// `mh tamp`.
        command: &'static str,
        /// What is wrong with it.
        message: String,
    },
    /// clap has refused the command line; said in our dialect.
    Refused {
        /// `mh tamp`.
        program: String,
        /// What is wrong, and what to do.
        refused: RefusedLine,
    },
    /// The environment refused.
    Environment {
        /// `mh tamp`.
        command: &'static str,
        /// What could not be done, after `could not`.
        message: String,
    },
    /// The same in the words and with the exit code of the tool whose name was used.
    InWordsOfOthers {
        /// One line or several.
        text: String,
        /// The tool's.
        code: u8,
    },
    /// By whose name was used: ours, or a line of the tool's without its name.
    ByName {
        /// In our words.
        ours: Box<Failure>,
        /// In the tool's.
        theirs: String,
    },
    /// Nobody reads our output any more: the shell sees the signal, the user nothing.
    BrokenPipe,
}

impl Failure {
    /// `error`, which `command`, called `program`, has found in `words`.
    pub fn refused(command: &clap::Command, program: &str, words: &[OsString], error: &clap::Error) -> Self {
        Self::Refused { program: program.to_owned(), refused: command_line::refused(command, program, words, error) }
    }

    /// Tells the user and turns into an exit code.
    pub fn end(self) -> u8 {
        match self {
            Self::CommandLine(error) if error.use_stderr() => {
                let _unheard = error.print();
                2
            }
            Self::CommandLine(asked) => show(&asked),
            Self::Usage { command, message } => {
                let hints = [shows_options(command)];
                Messages::standard_error(Verbosity::Normal).refusal(command, &message, &hints);
                2
            }
            Self::Refused { program, refused: RefusedLine { message, hints } } => {
                Messages::standard_error(Verbosity::Normal).refusal(&program, &message, &hints);
                2
            }
            Self::InWordsOfOthers { text, code } => {
                Messages::standard_error(Verbosity::Normal).in_words_of_others(Verbosity::Quiet, &text);
                code
            }
            Self::Environment { command, message } => {
                Messages::standard_error(Verbosity::Normal).error(command, &message, &[]);
                1
            }
            Self::ByName { ours, .. } => ours.end(),
            Self::BrokenPipe => sys::signals::die_by(sys::signals::BROKEN_PIPE),
        }
    }
}

/// Help, or the version.
fn show(asked: &clap::Error) -> u8 {
    let shown = if std::io::stdout().is_terminal() {
        asked.print().map(|()| Delivery::Taken)
    } else {
        let mut output = TextOutput::standard();
        output.put(asked.render().to_string().as_bytes()).and_then(|_| output.finish())
    };
    match shown {
        Ok(Delivery::Taken) => 0,
        Ok(Delivery::ReaderGone) => Failure::BrokenPipe.end(),
        Err(error) => {
            let message = format!("write to standard output: {}", with_causes(&error));
            Failure::Environment { command: "mh", message }.end()
        }
    }
}

/// COMPAT: as env(1), nice(1) and the like end when a program cannot be run: it was not there.
pub const NOT_FOUND: u8 = 127;
/// It was there.
pub const NOT_RUNNABLE: u8 = 126;

/// `program`, which the user named, cannot be run.
pub fn program_not_run(command: &str, program: &OsStr, error: &std::io::Error) -> Failure {
    let code = if error.kind() == std::io::ErrorKind::NotFound { NOT_FOUND } else { NOT_RUNNABLE };
    let text = format!("{command}: could not run {}: {}\n", terminal::quote(program), with_causes(error));
    Failure::InWordsOfOthers { text, code }
}

/// An error with its causes, each once, outermost first: `cannot open it: Permission denied`.
pub fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut text = plain_words(error);
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = plain_words(error);
        // An enum that shows its cause in its own text would tell it twice.
        if !text.ends_with(&words) {
            write!(text, ": {words}").expect("writing to a string");
        }
        cause = error.source();
    }
    text
}

/// The text of one error; of the kernel's errors without the number that Rust appends.
fn plain_words(error: &(dyn Error + 'static)) -> String {
    let of_kernel = error.downcast_ref::<std::io::Error>();
    match of_kernel.map(|error| (error.raw_os_error(), error.get_ref())) {
        Some((Some(code), _)) => sys::error_text::error_text(code),
        // It shows what it was made of.
        Some((None, Some(inner))) => plain_words(inner),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As engines have them: what could not be done, and why.
    #[derive(Debug)]
    struct Open(std::io::Error);

    impl std::fmt::Display for Open {
        fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            to.write_str("cannot open it")
        }
    }

    impl Error for Open {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn causes_are_told_once_and_without_numbers() {
        let cause = std::io::Error::from_raw_os_error(13);
        assert_eq!(with_causes(&Open(cause)), "cannot open it: Permission denied");
        let wrapped = std::io::Error::other(std::io::Error::from_raw_os_error(28));
        assert_eq!(with_causes(&Open(wrapped)), "cannot open it: No space left on device");
    }
}
