//! Arguments of options that are one word of a list, which may be cut short as long as it means one thing.

use super::{shown as quoted, usage};
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};
use mh_kit::context::Context;
use mh_kit::failure::Failure;
use std::ffi::OsStr;

/// What `word` means among `choices`. COMPAT: the sentences of GNU, with the list, in which words that mean the same share a line.
pub fn choose<T: Copy + PartialEq>(
    context: &Context,
    word: &str,
    option: &str,
    choices: &[(&str, T)],
) -> Result<T, Failure> {
    find(word, choices).map_err(|wrong| {
        let lines: String = choices
            .chunk_by(|one, next| one.1 == next.1)
            .map(|same| same.iter().map(|(name, _)| format!("'{name}'")).collect::<Vec<_>>().join(", "))
            .map(|names| format!("\n  - {names}"))
            .collect();
        let word = quoted(word.as_bytes());
        usage(context, &format!("{wrong} argument {word} for '{option}'\nValid arguments are:{lines}"))
    })
}

/// The whole word, or else the beginning of words that all mean the same; else what is wrong.
fn find<T: Copy + PartialEq>(word: &str, choices: &[(&str, T)]) -> Result<T, &'static str> {
    if let Some((_, meant)) = choices.iter().find(|(name, _)| *name == word) {
        return Ok(*meant);
    }
    let mut begun = choices.iter().filter(|(name, _)| name.starts_with(word)).map(|(_, meant)| *meant);
    match begun.next() {
        None => Err("invalid"),
        Some(first) if begun.all(|other| other == first) => Ok(first),
        Some(_) => Err("ambiguous"),
    }
}

/// Takes any word for [`choose`] to judge; help and completions show the choices.
#[derive(Clone)]
pub struct Shown(Vec<&'static str>);

/// See [`Shown`].
pub fn shown<T>(choices: &[(&'static str, T)]) -> Shown {
    Shown(choices.iter().map(|(name, _)| *name).collect())
}

impl TypedValueParser for Shown {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(|name| PossibleValue::new(*name))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_may_be_cut_short_as_long_as_it_means_one_thing() {
        let choices = [("none", 0), ("off", 0), ("never", 1), ("nil", 2), ("nilly", 2)];
        for (word, found) in [
            ("none", Ok(0)),
            ("o", Ok(0)),
            ("nil", Ok(2)),
            ("ni", Ok(2)),
            ("n", Err("ambiguous")),
            ("", Err("ambiguous")),
            ("nope", Err("invalid")),
        ] {
            assert_eq!(find(word, &choices), found, "{word}");
        }
    }
}
