//! Options as tar has always taken them: letters in a bunch without a dash (`tar xzf a.tgz`), whose values follow in the letters' order.
//! Rewrites what was typed into what clap reads; knows no meanings.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Letters that take a value.
const WITH_VALUE: &[u8] = b"bfgCFHIKLNTVX";

/// Gives a bunch its dashes.
pub fn rewrite(typed: Vec<OsString>) -> Vec<OsString> {
    let Some(bunch) = typed.first().map(|first| first.as_bytes().to_vec()) else { return typed };
    if bunch.first().is_none_or(|&first| first == b'-') || !bunch.iter().all(u8::is_ascii_alphanumeric) {
        return typed;
    }
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
}
