//! Options as tar has always taken them: letters in a bunch without a dash (`tar xzf a.tgz`), whose values follow in the letters' order.
//! Rewrites what was typed into what clap reads; knows no meanings.

use mh_kit::entry::Refusal;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Letters that take a value.
const WITH_VALUE: &[u8] = b"bfgCFHIKLNTVX";

/// The letters of a bunch, if what was typed begins with one.
fn bunch(typed: &[OsString]) -> Option<&[u8]> {
    let first = typed.first()?.as_bytes();
    let is_bunch = first.first().is_some_and(|&first| first != b'-') && first.iter().all(u8::is_ascii_alphanumeric);
    is_bunch.then_some(first)
}

/// The first letter of a bunch for which no value is left.
fn without_value(typed: &[OsString]) -> Option<char> {
    let with_value = bunch(typed)?.iter().filter(|letter| WITH_VALUE.contains(letter));
    with_value.copied().nth(typed.len() - 1).map(char::from)
}

/// COMPAT: a bunch ends with tar's own code, since GNU tar's parser never sees it.
pub fn refuse(typed: &[OsString]) -> Option<Refusal> {
    let letter = without_value(typed)?;
    Some(Refusal { message: format!("Old option '{letter}' requires an argument."), code: 2 })
}

/// Gives a bunch its dashes.
pub fn rewrite(typed: Vec<OsString>) -> Vec<OsString> {
    let Some(bunch) = bunch(&typed).map(<[u8]>::to_vec) else { return typed };
    let mut rest = typed.into_iter().skip(1);
    let mut written = Vec::new();
    for letter in bunch {
        written.push(OsString::from_vec(vec![b'-', letter]));
        if WITH_VALUE.contains(&letter) {
            written.extend(rest.next());
        }
    }
    written.extend(rest);
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(typed: &str) -> String {
        let typed = typed.split(' ').map(OsString::from).collect();
        rewrite(typed).iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn values_follow_in_the_order_of_their_letters() {
        assert_eq!(rewritten("xzf a.tgz b"), "-x -z -f a.tgz b");
        assert_eq!(rewritten("cfC a.tar dir x"), "-c -f a.tar -C dir x");
        assert_eq!(rewritten("cbf 20 a.tar x"), "-c -b 20 -f a.tar x");
        assert_eq!(rewritten("-xf a.tar"), "-xf a.tar");
        assert_eq!(rewritten("--list -f a.tar"), "--list -f a.tar");
    }
    #[test]
    fn a_letter_without_its_value_is_known() {
        let found = |typed: &str| without_value(&typed.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(
            (found("cf"), found("xzb"), found("cbf 20"), found("cbf 20 a.tar")),
            (Some('f'), Some('b'), Some('f'), None)
        );
        assert_eq!((found("-cf"), found("x"), found("t a.tar"), without_value(&[])), (None, None, None, None));
    }
}
