//! `-9`, `-19`, `-dc9`: digits among short options are a level, as for gzip and zstd. clap knows no such options, so they
//! become `--level=N` before clap reads the line.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Short options that take a value: what follows them in a cluster is that value, digits or not.
const TAKE_A_VALUE: &[u8] = b"oSjFTpD";

/// Rewrites the arguments. What stands behind `--` is left alone.
pub fn rewrite(arguments: Vec<OsString>) -> Vec<OsString> {
    let mut rewritten = Vec::with_capacity(arguments.len());
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let bytes = argument.as_bytes();
        if bytes == b"--" {
            rewritten.push(argument);
            rewritten.extend(arguments);
            break;
        }
        let is_cluster = bytes.len() > 1 && bytes[0] == b'-' && bytes[1] != b'-';
        if !is_cluster {
            rewritten.push(argument);
            continue;
        }
        let (others, level, takes_the_next) = split(&bytes[1..]);
        rewritten.extend(level.map(|level| OsString::from(format!("--level={level}"))));
        if !others.is_empty() {
            let mut cluster = vec![b'-'];
            cluster.extend(others);
            rewritten.push(OsString::from_vec(cluster));
        }
        if takes_the_next {
            rewritten.extend(arguments.next());
        }
    }
    rewritten
}

/// Takes the digits out of a cluster. Also tells whether its last letter wants the next argument as its value.
fn split(cluster: &[u8]) -> (Vec<u8>, Option<String>, bool) {
    let mut others = Vec::new();
    let mut level: Option<String> = None;
    let mut at = 0;
    while at < cluster.len() {
        let letter = cluster[at];
        if letter.is_ascii_digit() {
            let digits: String =
                cluster[at..].iter().take_while(|byte| byte.is_ascii_digit()).map(|&byte| char::from(byte)).collect();
            at += digits.len();
            level = Some(digits);
            continue;
        }
        if TAKE_A_VALUE.contains(&letter) {
            others.extend(&cluster[at..]);
            return (others, level, at + 1 == cluster.len());
        }
        others.push(letter);
        at += 1;
    }
    (others, level, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(line: &str) -> String {
        let arguments = line.split(' ').map(OsString::from).collect();
        let words: Vec<String> =
            rewrite(arguments).into_iter().map(|word| word.into_string().expect("it was a string")).collect();
        words.join(" ")
    }

    #[test]
    fn digits_become_a_level() {
        assert_eq!(rewritten("-9 a"), "--level=9 a");
        assert_eq!(rewritten("-19 -T"), "--level=19 -T");
        assert_eq!(rewritten("-dc9v"), "--level=9 -dcv");
        assert_eq!(rewritten("-0"), "--level=0");
    }

    #[test]
    fn values_and_names_are_left_alone() {
        assert_eq!(rewritten("-j8 -9"), "-j8 --level=9");
        assert_eq!(rewritten("-j 8"), "-j 8");
        assert_eq!(rewritten("-co 9"), "-co 9");
        assert_eq!(rewritten("-o -9"), "-o -9");
        assert_eq!(rewritten("-3S.9"), "--level=3 -S.9");
        assert_eq!(rewritten("-- -9"), "-- -9");
        assert_eq!(rewritten("- --fast=3"), "- --fast=3");
    }
}
