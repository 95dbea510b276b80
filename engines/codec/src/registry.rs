//! The formats there are, by name, by file name ending and by content.

use crate::format::{Facts, Format};
use crate::formats::gzip::Gzip;
use crate::formats::zstd::Zstd;

/// All formats; the first is the default.
pub fn formats() -> &'static [&'static dyn Format] {
    &[&Zstd, &Gzip]
}

/// The format called `name`.
pub fn by_name(name: &str) -> Option<&'static dyn Format> {
    formats().iter().copied().find(|format| format.facts().name == name)
}

/// The format whose files begin like `head`. Content decides; names lie.
pub fn by_content(head: &[u8]) -> Option<&'static dyn Format> {
    formats().iter().copied().find(|format| format.recognises(head))
}

/// LIMIT: the longest magic is four bytes; gzip's fourth byte tells a plausible header from chance.
pub const HEAD_BYTES: usize = 18;

/// The name without its ending, where the ending is one of ours: `a.tgz` gives `a.tar`.
pub fn plain_name(name: &str) -> Option<String> {
    let endings = formats().iter().flat_map(|format| format.facts().suffixes);
    endings
        .filter_map(|(ending, replacement)| Some(format!("{}{replacement}", name.strip_suffix(ending)?)))
        .find(|plain| !plain.is_empty() && *plain != ".tar")
}

/// Whether `name` already ends as a packed file of this format does.
pub fn is_packed_name(facts: &Facts, name: &str) -> bool {
    facts.suffixes.iter().any(|(ending, _)| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_go_and_short_forms_become_tar() {
        assert_eq!(plain_name("db.export.gz").as_deref(), Some("db.export"));
        assert_eq!(plain_name("linux.tgz").as_deref(), Some("linux.tar"));
        assert_eq!(plain_name("linux.tar.zst").as_deref(), Some("linux.tar"));
        assert_eq!(plain_name("plain"), None);
        assert_eq!(plain_name(".gz"), None);
    }

    #[test]
    fn content_decides() {
        let name = |head: &[u8]| by_content(head).map(|format| format.facts().name);
        assert_eq!(name(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]), Some("gz"));
        assert_eq!(name(&[0x28, 0xb5, 0x2f, 0xfd, 0, 0]), Some("zst"));
        assert_eq!(name(&[0x5e, 0x2a, 0x4d, 0x18, 0, 0]), Some("zst"));
        assert_eq!(name(b"#!/bin/sh"), None);
        assert_eq!(name(b""), None);
    }
}
