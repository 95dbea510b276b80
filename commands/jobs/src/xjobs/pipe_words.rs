//! `--pipe -N 100` as GNU parallel means it, and `-n1` and `-N1` elsewhere, which are not xargs' and GNU parallel's: before clap reads the line, since
//! `-N` and `-n` throw outputs away, and `-N1` is two letters there. Knows where options end.

use clap::{Arg, Command};
use std::ffi::OsString;

/// Letters that may stand before such a number in one word, and take no value.
const BEFORE_NUMBER: &[u8] = b"ku01tXe";

/// Turns `-N 100`, `-N100`, `-n100` and `-kN100` into `-l 100` where `--pipe` stands before the utility, and elsewhere into what is refused: who
/// means xargs' or GNU parallel's would lose all outputs without a word.
pub fn rewrite(typed: Vec<OsString>) -> Vec<OsString> {
    let has_number = |(at, word): (usize, &OsString)| {
        let next = typed.get(at + 1).map(|next| next.as_encoded_bytes());
        word.as_encoded_bytes().starts_with(b"-") && number_of_records(word.as_encoded_bytes(), next).is_some()
    };
    // The table of options costs more than all the rest of a start.
    if !typed.iter().enumerate().any(has_number) {
        return typed;
    }
    let command = super::command();
    let (mut words, mut has_pipe, mut rest) = (Vec::new(), false, typed.iter().cloned());
    let mut number = None;
    while let Some(word) = rest.next() {
        let bytes = word.as_encoded_bytes();
        if bytes.len() < 2 || bytes[0] != b'-' || bytes == b"--" {
            words.push(word);
            break;
        }
        let (option, takes_next) = option_of(&command, bytes);
        has_pipe |= option.is_some_and(|option| option.get_id() == "pipe");
        let next = rest.clone().next();
        match number_of_records(bytes, next.as_ref().map(|next| next.as_encoded_bytes())) {
            Some(found) => {
                let (letters, count) = found.parts();
                words.push(as_lines(letters, count));
                if let Number::Behind(..) = found {
                    rest.next();
                }
                number = number.or(Some(word));
            }
            None => {
                words.push(word);
                words.extend(takes_next.then(|| rest.next()).flatten());
            }
        }
    }
    words.extend(rest);
    match number {
        Some(number) if !has_pipe => {
            let mut refused = OsString::from("--number-typed=");
            refused.push(number);
            vec![refused]
        }
        _ => words,
    }
}

/// Where a number of records was found, and the letters before its own.
enum Number<'a> {
    Within(&'a [u8], &'a [u8]),
    Behind(&'a [u8], &'a [u8]),
}

impl<'a> Number<'a> {
    fn parts(&self) -> (&'a [u8], &'a [u8]) {
        let (Self::Within(letters, number) | Self::Behind(letters, number)) = *self;
        (letters, number)
    }
}

fn number_of_records<'a>(word: &'a [u8], next: Option<&'a [u8]>) -> Option<Number<'a>> {
    let is_number = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let at = word.iter().position(|letter| matches!(letter, b'N' | b'n'))?;
    let (letters, number) = (&word[1..at], &word[at + 1..]);
    // Of `find -print0`, with no output.
    let is_null = word[at] == b'n' && number == b"0";
    if is_null || word.starts_with(b"--") || !letters.iter().all(|letter| BEFORE_NUMBER.contains(letter)) {
        return None;
    }
    match next.filter(|next| number.is_empty() && is_number(next)) {
        Some(next) => Some(Number::Behind(letters, next)),
        None => is_number(number).then_some(Number::Within(letters, number)),
    }
}

fn as_lines(letters: &[u8], number: &[u8]) -> OsString {
    // All of them are letters and digits.
    OsString::from(format!("-{}l{}", String::from_utf8_lossy(letters), String::from_utf8_lossy(number)))
}

/// The option that a word ends with or is, and whether the next word is its value.
fn option_of<'a>(command: &'a Command, word: &[u8]) -> (Option<&'a Arg>, bool) {
    let takes_value = |option: &Arg| {
        let at_least_one = option.get_num_args().is_none_or(|count| count.min_values() > 0);
        option.get_action().takes_values() && at_least_one && !option.is_require_equals_set()
    };
    let text = String::from_utf8_lossy(word);
    if let Some(long) = text.strip_prefix("--") {
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        let is_named = |option: &&Arg| {
            option.get_long() == Some(name) || option.get_all_aliases().is_some_and(|names| names.contains(&name))
        };
        let option = command.get_arguments().find(is_named);
        return (option, value.is_none() && option.is_some_and(takes_value));
    }
    let named = |letter: char| {
        let is_named = |option: &&Arg| {
            option.get_short() == Some(letter)
                || option.get_all_short_aliases().is_some_and(|letters| letters.contains(&letter))
        };
        command.get_arguments().find(is_named)
    };
    let letters = &text[1..];
    let with_value = letters.char_indices().find(|&(_, letter)| named(letter).is_some_and(takes_value));
    match with_value {
        Some((at, letter)) => (named(letter), at + letter.len_utf8() == letters.len()),
        None => (letters.chars().last().and_then(named), false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(line: &str) -> String {
        let words = rewrite(line.split(' ').map(OsString::from).collect());
        words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn numbers_of_records_are_understood_with_blocks_alone() {
        for (typed, expected) in [
            ("--pipe -N1 wc -l", "--pipe -l1 wc -l"),
            ("-N100 --pipe wc -N1", "-l100 --pipe wc -N1"),
            ("--pipe -N 100 wc", "--pipe -l100 wc"),
            ("--pipe -kN2 -n 3 wc", "--pipe -kl2 -l3 wc"),
            ("-k --spreadstdin --block 5 -n10 wc", "-k --spreadstdin --block 5 -l10 wc"),
            ("--pipepart -a -N1 -j2 wc", "--pipepart -a -N1 -j2 wc"),
            ("--pipe -j2 -N wc 1", "--pipe -j2 -N wc 1"),
            ("--pipe --recend -N1 wc", "--pipe --recend -N1 wc"),
            ("-N1 echo --pipe", "--number-typed=-N1"),
            ("-N1 -I --pipe echo", "--number-typed=-N1"),
            ("-j2 -kN1 -- wc --pipe", "--number-typed=-kN1"),
            ("-n 20 gzip", "--number-typed=-n"),
            ("-n -1 gzip", "-n -1 gzip"),
            ("-n0 gzip", "-n0 gzip"),
            ("-N wc -N1", "-N wc -N1"),
            ("--tagstring -n1 echo", "--tagstring -n1 echo"),
        ] {
            assert_eq!(rewritten(typed), expected);
        }
    }
}
