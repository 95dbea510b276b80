//! Words that are never written, words that product code does not use, and words that foundation and engines do not use
//! because they are mute. Each with what to write instead.

use super::Finding;
use super::scanned::{Scanned, word_at};

/// A word, what is wrong with it, what to do instead.
type Refused = (&'static str, &'static str, &'static str);

/// Not anywhere, tests included.
const NEVER: &[Refused] = &[
    ("mpsc::channel(", "unbounded channel", "use mpsc::sync_channel with a bound that has a reason"),
    ("mpsc::channel::<", "unbounded channel", "use mpsc::sync_channel with a bound that has a reason"),
    ("unbounded(", "unbounded channel", "use a bounded one with a bound that has a reason"),
    ("unbounded::<", "unbounded channel", "use a bounded one with a bound that has a reason"),
    ("unbounded_channel(", "unbounded channel", "use a bounded one with a bound that has a reason"),
    (".map_err(|_", "dropped cause", "keep it as the error's source; where it tells nothing, .ok().ok_or(...) says so"),
    ("#[allow(", "allowed lint", "use #[expect(..., reason = ...)], which tells when it is no longer needed"),
    ("#![allow(", "allowed lint", "use #![expect(..., reason = ...)], which tells when it is no longer needed"),
    ("dbg!", "left over from debugging", "remove it"),
    ("todo!", "unfinished", "finish it or leave it out"),
];

/// In code and in comments.
const NEVER_IN_COMMENTS: Refused = ("FIXME", "unfinished", "mend it, or open an issue and name it");

/// Outside tests.
const NOT_IN_PRODUCT: &[Refused] =
    &[(".unwrap()", "unwrap", "use expect with the reason why it cannot fail, or return the error")];

/// Outside tests, below `commands`.
const NOT_IN_ENGINES: &[Refused] = &[
    ("println!", "engines are mute", "return a value and let commands show it"),
    ("print!", "engines are mute", "return a value and let commands show it"),
    ("eprintln!", "engines are mute", "return an error or a note and let commands show it"),
    ("eprint!", "engines are mute", "return an error or a note and let commands show it"),
    ("process::exit", "engines do not exit", "return an error"),
    ("std::env", "engines do not read the environment", "take a typed value from commands"),
    ("env::", "engines do not read the environment", "take a typed value from commands"),
    ("static mut", "global state", "pass it down"),
];

/// Checks one file.
pub fn check(file: &Scanned) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, code) in file.numbered() {
        let is_product = !file.is_test(number);
        let mut lists = vec![NEVER];
        if is_product {
            lists.push(NOT_IN_PRODUCT);
        }
        if is_product && is_mute(file) {
            lists.push(NOT_IN_ENGINES);
        }
        for list in lists {
            // One finding a line and list: `std::env::var` is one mistake.
            if let Some((_, rule, instead)) = list.iter().find(|(word, ..)| stands_in(code, word)) {
                findings.push(Finding::new(file.place(number), *rule, *instead));
            }
        }
        let (word, rule, instead) = NEVER_IN_COMMENTS;
        if code.contains(word) || file.comments[number - 1].contains(word) {
            findings.push(Finding::new(file.place(number), format!("{rule} ({word})"), instead));
        }
    }
    findings
}

/// A word that begins with a sign has no letter to be a part of.
fn stands_in(code: &str, word: &str) -> bool {
    if word.starts_with(['.', '#']) { code.contains(word) } else { word_at(code, word).is_some() }
}

/// testkit is for tests only, and terminal is the one crate that writes to a terminal.
fn is_mute(file: &Scanned) -> bool {
    let is_below = file.path.starts_with("foundation") || file.path.starts_with("engines");
    is_below && !file.path.starts_with("foundation/terminal") && !file.path.starts_with("foundation/testkit")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn rules(path: &str, text: &str) -> Vec<String> {
        check(&Scanned::new(Path::new(path), text)).into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn some_words_are_never_written() {
        let bad = [
            "mpsc::channel();",
            "mpsc::channel::<u8>();",
            "crossbeam::channel::unbounded();",
            "a.map_err(|_| b)",
            "a.map_err(|_not_a_number| b)",
            "#[allow(dead_code)]",
            "#![allow(dead_code)]",
            "dbg!(a)",
            "todo!()",
            "// FIXME later",
        ];
        for text in bad {
            assert_eq!(rules("commands/src/x.rs", text).len(), 1, "{text}");
            assert_eq!(rules("engines/a/tests/x.rs", text).len(), 1, "{text} in a test");
        }
    }

    #[test]
    fn their_neighbours_are() {
        let good = [
            "mpsc::sync_channel(4);",
            "is_unbounded(a)",
            "a.map_err(|error| b(error))",
            "#[expect(dead_code, reason = \"a\")]",
            "const A: &str = \"dbg! todo! #[allow( .unwrap()\";",
            "a.expect(\"it is there\")",
            "a.unwrap_or(b)",
        ];
        for text in good {
            assert_eq!(rules("engines/a/src/x.rs", text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn engines_and_foundation_are_mute() {
        let bad = [
            "println!(\"x\");",
            "eprint!(\"x\");",
            "std::process::exit(1);",
            "std::env::var(\"X\");",
            "use std::env;",
            "env::args();",
            "static mut A: u8 = 0;",
        ];
        for text in bad {
            assert_eq!(rules("engines/a/src/x.rs", text).len(), 1, "{text}");
            assert_eq!(rules("foundation/crew/src/x.rs", text).len(), 1, "{text}");
            assert_eq!(rules("foundation/terminal/src/x.rs", text).len(), 0, "{text}");
            assert_eq!(rules("commands/src/x.rs", text).len(), 0, "{text}");
            assert_eq!(rules("engines/a/src/x.rs", &format!("#[cfg(test)]\nmod tests {{\n{text}\n}}")).len(), 0);
        }
        assert_eq!(rules("engines/a/src/x.rs", "env!(\"X\"); // println!"), Vec::<String>::new());
    }

    #[test]
    fn unwrap_is_for_tests() {
        assert_eq!(rules("commands/src/x.rs", "a.unwrap()").len(), 1);
        assert_eq!(rules("commands/src/x.rs", "#[cfg(test)]\nmod tests {\n    a.unwrap()\n}").len(), 0);
        assert_eq!(rules("tests/x.rs", "a.unwrap()").len(), 0);
        let after = "#[cfg(test)]\nmod tests {\n    a.unwrap()\n}\nfn b() { a.unwrap() }";
        assert_eq!(rules("commands/src/x.rs", after).len(), 1, "what stands behind the tests is checked");
    }
}
