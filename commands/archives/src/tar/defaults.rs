//! `TAR_OPTIONS`: options in front of those that were typed. COMPAT: GNU tar's variable, quotes and refusals.

use super::selection::words_of;
use mh_kit::context::variable;
use mh_kit::entry::Refusal;
use mh_kit::failure::{Failure, Outcome};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use terminal::{StandardStream, TextOutput};

const VARIABLE: &str = "TAR_OPTIONS";

/// Why the variable is refused, if it is.
pub fn refuse() -> Option<Refusal> {
    let text = variable(VARIABLE).filter(|text| !text.is_empty())?;
    let refusal = |message: &str| Some(Refusal { message: message.to_owned(), code: 2 });
    let Some(words) = words_of(text.as_bytes()) else {
        return refusal("cannot split TAR_OPTIONS: missing closing quote");
    };
    if has_names(words) { refusal("non-option arguments in TAR_OPTIONS") } else { None }
}

/// `--show-defaults`.
pub fn show() -> Result<Outcome, Failure> {
    let mut output = TextOutput::to(StandardStream::Output);
    let delivered = output.line("--format=posix -f- -b20 --quoting-style=escape").and_then(|_| output.finish());
    let _reader_may_have_left =
        delivered.map_err(|error| super::could_not("write to", "standard output".as_ref(), &error))?;
    Ok(Outcome::Done)
}

/// The words of the variable.
pub fn words() -> Vec<OsString> {
    variable(VARIABLE).and_then(|text| words_of(text.as_bytes())).unwrap_or_default()
}

/// Whether there are words that are no options, as far as the options are good: others are refused with what was typed.
fn has_names(words: Vec<OsString>) -> bool {
    let command = super::command().no_binary_name(true).ignore_errors(true);
    command.try_get_matches_from(words).is_ok_and(|matches| matches.contains_id("names"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_options_may_stand_there() {
        let has_names = |text: &str| has_names(words_of(text.as_bytes()).expect("words"));
        assert!(!has_names("--format=gnu --exclude='a b' -b 20 --sort name -v"));
        assert!(has_names("--format=gnu x") && has_names("x"));
    }
}
