//! `--warning`: GNU tar's keywords, and which warnings are wanted by them.

use super::TarArgs;
use mh_kit::context::Context;

/// COMPAT: all keywords of GNU tar, so that its scripts run, and `ambiguous`, which is our own. `docs/commands/tar.md` says which of them
/// anything is told under.
const KEYWORDS: [&str; 28] = [
    "all",
    "alone-zero-block",
    "ambiguous",
    "bad-dumpdir",
    "cachedir",
    "contiguous-cast",
    "decompress-program",
    "existing-file",
    "failed-read",
    "file-changed",
    "file-ignored",
    "file-removed",
    "file-shrank",
    "file-unchanged",
    "filename-with-nuls",
    "ignore-archive",
    "ignore-newer",
    "missing-zero-blocks",
    "new-directory",
    "record-size",
    "rename-directory",
    "symlink-cast",
    "timestamp",
    "unknown-cast",
    "unknown-keyword",
    "verbose",
    "xattr-write",
    "xdev",
];

/// What one `--warning` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    On(&'static str),
    Off(&'static str),
}

/// A keyword, perhaps behind `no-`; `none` is `no-all`.
pub fn parse(text: &str) -> Result<Wish, String> {
    if text == "none" {
        return Ok(Wish::Off("all"));
    }
    let (name, wish): (_, fn(&'static str) -> Wish) = match text.strip_prefix("no-") {
        Some(name) => (name, Wish::Off),
        None => (text, Wish::On),
    };
    let whole = KEYWORDS.into_iter().find(|keyword| *keyword == name);
    // COMPAT: keywords may be cut short as far as one is left.
    let mut longer = KEYWORDS.into_iter().filter(|keyword| keyword.starts_with(name));
    match (whole, longer.next(), longer.next()) {
        (Some(keyword), ..) | (None, Some(keyword), None) => Ok(wish(keyword)),
        _ => Err(format!("the keywords are none, {}, each also behind 'no-'", KEYWORDS.join(", "))),
    }
}

/// Whether warnings of a keyword are wanted: the last that was said of it, or of all, counts.
fn wants(wishes: &[Wish], keyword: &str) -> bool {
    debug_assert!(KEYWORDS.contains(&keyword), "a warning that nobody could turn off: {keyword}");
    wishes.iter().fold(true, |wanted, wish| match wish {
        Wish::On(said) if *said == keyword || *said == "all" => true,
        Wish::Off(said) if *said == keyword || *said == "all" => false,
        _ => wanted,
    })
}

/// Tells of what does not count as a failure, if it is wanted: in GNU tar's words under its name, in ours elsewhere.
pub fn warn(context: &Context, args: &TarArgs, keyword: &str, (theirs, ours): (&str, &str)) {
    match wants(&args.warning, keyword) {
        true if context.program != super::NAME => context.messages.note(&context.program, theirs),
        true => context.messages.warning(&context.program, ours, &[]),
        false => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_wish_counts() {
        let wanted = |words: &[&str], keyword| {
            let wishes: Vec<Wish> = words.iter().map(|word| parse(word).expect("a keyword")).collect();
            wants(&wishes, keyword)
        };
        assert!(wanted(&[], "cachedir"));
        assert!(!wanted(&["none"], "cachedir") && !wanted(&["no-all"], "cachedir"));
        assert!(!wanted(&["no-cachedir"], "cachedir") && wanted(&["no-cachedir"], "ambiguous"));
        assert!(wanted(&["none", "cachedir"], "cachedir") && !wanted(&["none", "cachedir"], "ambiguous"));
        assert!(wanted(&["none", "all"], "cachedir") && !wanted(&["cachedir", "none"], "cachedir"));
    }

    #[test]
    fn keywords_are_those_that_there_are_or_their_beginnings() {
        assert_eq!(parse("no-file-c"), Ok(Wish::Off("file-changed")));
        assert_eq!(parse("all"), Ok(Wish::On("all")));
        for wrong in ["bogus", "no-bogus", "no-none", "al", "file-", "", "no-"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
