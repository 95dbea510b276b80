//! Command lines that getopt_long(3) would refuse, in its words: those that scripts and people know from the tools of old names.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;

/// Getopt's message for `error`, which was found in `words`; none if it has none.
pub fn sentence(words: &[OsString], error: &clap::Error) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        Some(ContextValue::Strings(texts)) => texts.first().map(String::as_str),
        _ => None,
    };
    let argument = text(ContextKind::InvalidArg)?;
    match error.kind() {
        ErrorKind::UnknownArgument => match argument.strip_prefix('-')? {
            long if long.starts_with('-') && long.len() > 1 => Some(format!("unrecognized option '{argument}'")),
            letters => letters.chars().next().map(|letter| format!("invalid option -- '{letter}'")),
        },
        ErrorKind::InvalidValue if text(ContextKind::InvalidValue).is_none_or(str::is_empty) => {
            let long = argument.split([' ', '[', '=']).next()?;
            let typed = words.last()?.to_str()?;
            match typed.strip_prefix('-').filter(|letters| !letters.starts_with('-')) {
                Some(letters) => Some(format!("option requires an argument -- '{}'", letters.chars().last()?)),
                None => Some(format!("option '{long}' requires an argument")),
            }
        }
        ErrorKind::TooManyValues => {
            let long = argument.split([' ', '[', '=']).next()?;
            Some(format!("option '{long}' doesn't allow an argument"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Arg, ArgAction, Command};

    #[test]
    fn what_getopt_refuses_has_its_words() {
        let said = |line: &str| {
            let command = Command::new("x")
                .arg(Arg::new("file").short('f').long("file").value_name("FILE"))
                .arg(Arg::new("all").short('a').long("all").action(ArgAction::SetTrue));
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            let typed = std::iter::once(OsString::from("x")).chain(words.iter().cloned());
            let error = command.try_get_matches_from(typed).expect_err("it is wrong");
            sentence(&words, &error)
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(said("--nosuch"), some("unrecognized option '--nosuch'"));
        assert_eq!(said("-aY"), some("invalid option -- 'Y'"));
        assert_eq!(said("-af"), some("option requires an argument -- 'f'"));
        assert_eq!(said("--file"), some("option '--file' requires an argument"));
        assert_eq!(said("--all=no"), some("option '--all' doesn't allow an argument"));
        assert_eq!(said("-a word"), None);
    }
}
