//! Sources: where `unsafe` may stand, what engines must not do, how long files and functions may be, and what is never
//! written. Reads lines with strings and comments taken out; knows as much Rust as that needs.

use super::Finding;
use std::path::Path;

/// Lines of a file, and of a function's body, that a reader can hold.
const FILE_LINES_MAX: usize = 700;
const FUNCTION_LINES_MAX: usize = 70;

/// Functions and files that are longer, each with its reason.
const LONGER: &[(&str, &str)] = &[(
    "engines/codec/src/formats/gzip/kernel/fast.rs",
    "the decoder's inner loop: taking it apart costs the registers that make it fast",
)];

/// Names that say nothing.
const EMPTY_NAMES: &[&str] =
    &["util", "utils", "common", "helper", "helpers", "misc", "manager", "handler", "imp", "mod"];

/// Never written, and what to write instead. The words are split so that this file does not find itself.
const NEVER: &[(&str, &str)] = &[
    (concat!("mpsc::", "channel("), "an unbounded channel: use a bounded one"),
    (concat!("channel::unbounded", "("), "an unbounded channel: use a bounded one"),
    (concat!("map_err", "(|_|"), "a dropped cause: keep it as the error's source"),
    (
        concat!("#[", "allow("),
        "an allowed lint: use #[expect(..., reason = ...)], which tells when it is no longer needed",
    ),
    (
        concat!("#![", "allow("),
        "an allowed lint: use #![expect(..., reason = ...)], which tells when it is no longer needed",
    ),
    (concat!("dbg", "!("), "left over from debugging: remove it"),
    (concat!("to", "do!("), "unfinished: finish it"),
    (concat!("FIX", "ME"), "unfinished: finish it"),
];

/// What must not stand below `commands`: engines are mute.
const NOT_IN_ENGINES: &[(&str, &str)] = &[
    ("println!(", "printing: return a value and let commands show it"),
    ("print!(", "printing: return a value and let commands show it"),
    ("process::exit", "exiting: return an error"),
    ("std::env::", "reading the environment: take a typed value from commands"),
    ("static mut", "global state: pass it down"),
];

/// Checks one file.
pub fn check(path: &Path, text: &str) -> Vec<Finding> {
    let place = path.display().to_string();
    let mut findings = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    let tests_from = lines.iter().position(|line| line.trim() == "mod tests {").unwrap_or(lines.len());
    let is_test = path.components().any(|part| part.as_os_str() == "tests") || path.ends_with("tests.rs");
    check_shape(path, &lines, &mut findings);
    for (index, line) in lines.iter().enumerate() {
        let code = without_strings_and_comments(line);
        let at = format!("{place}:{}", index + 1);
        check_unsafe(path, &lines, index, &code, &at, &mut findings);
        for (word, instead) in NEVER.iter().filter(|(word, _)| code.contains(word)) {
            findings.push(Finding::new(&at, format!("{word} is {instead}")));
        }
        if index < tests_from && !is_test {
            check_product_code(path, &code, &at, &mut findings);
        }
    }
    if !is_test {
        check_functions(path, &lines[..tests_from], &mut findings);
    }
    findings
}

fn check_shape(path: &Path, lines: &[&str], findings: &mut Vec<Finding>) {
    let place = path.display().to_string();
    let header = lines.iter().take_while(|line| line.starts_with("//!")).count();
    if !(1..=14).contains(&header) {
        findings.push(Finding::new(
            &place,
            "no header: begin with 2 to 6 lines of //! that say its role and what it does not do",
        ));
    }
    if lines.len() > FILE_LINES_MAX && !is_waived(&place) {
        findings.push(Finding::new(&place, format!("{} lines: divide it, {FILE_LINES_MAX} are the most", lines.len())));
    }
    let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    if EMPTY_NAMES.contains(&name) {
        findings.push(Finding::new(&place, format!("{name} says nothing: name the file after what it holds")));
    }
}

fn is_waived(place: &str) -> bool {
    LONGER.iter().any(|(waived, _)| *waived == place)
}

fn check_unsafe(path: &Path, lines: &[&str], index: usize, code: &str, at: &str, findings: &mut Vec<Finding>) {
    if !has_word(code, "unsafe") {
        return;
    }
    let has_room = path.starts_with("foundation/sys")
        || path.starts_with("preload")
        || path.ends_with("kernel.rs")
        || path.components().any(|part| part.as_os_str() == "kernel");
    if !has_room {
        findings.push(Finding::new(at, "unsafe: it belongs in foundation/sys, preload or a leaf module named kernel"));
    }
    let above = &lines[index.saturating_sub(10)..=index];
    let is_argued = above.iter().any(|line| line.contains("SAFETY") || line.contains("# Safety"));
    let opens = code.contains("unsafe {") || code.contains("unsafe impl") || code.contains("unsafe fn");
    if opens && !is_argued {
        findings.push(Finding::new(at, "unsafe without a SAFETY comment: say which invariant makes it sound"));
    }
}

fn check_product_code(path: &Path, code: &str, at: &str, findings: &mut Vec<Finding>) {
    if code.contains(".unwrap()") {
        findings.push(Finding::new(at, "unwrap: use expect with the reason why it cannot fail, or return the error"));
    }
    let is_mute =
        (path.starts_with("foundation") && !path.starts_with("foundation/testkit")) || path.starts_with("engines");
    for (word, instead) in NOT_IN_ENGINES.iter().filter(|(word, _)| is_mute && code.contains(word)) {
        findings.push(Finding::new(at, format!("{word} is {instead}")));
    }
}

/// Counts the lines from each `fn` to the end of its body.
fn check_functions(path: &Path, lines: &[&str], findings: &mut Vec<Finding>) {
    let mut index = 0;
    while index < lines.len() {
        let code = without_strings_and_comments(lines[index]);
        if !has_word(&code, "fn") || code.trim_start().starts_with("//") {
            index += 1;
            continue;
        }
        let length = body_lines(&lines[index..]);
        let at = format!("{}:{}", path.display(), index + 1);
        if length > FUNCTION_LINES_MAX && !is_waived(&path.display().to_string()) {
            findings.push(Finding::new(
                at,
                format!("{length} lines in a function: divide it by phase, {FUNCTION_LINES_MAX} are the most"),
            ));
        }
        index += 1;
    }
}

/// Lines of the body that begins at or after the first line; 0 for a declaration.
fn body_lines(lines: &[&str]) -> usize {
    let mut depth = 0_usize;
    let mut opened_at = None;
    for (index, line) in lines.iter().enumerate() {
        for letter in without_strings_and_comments(line).chars() {
            match letter {
                '{' => {
                    depth += 1;
                    opened_at.get_or_insert(index);
                }
                '}' => depth = depth.saturating_sub(1),
                ';' if opened_at.is_none() => return 0,
                _ => {}
            }
        }
        if let (Some(from), 0) = (opened_at, depth) {
            return index - from;
        }
    }
    0
}

fn has_word(code: &str, word: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = code[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// A line of code without what stands in strings, character literals and behind `//`.
fn without_strings_and_comments(line: &str) -> String {
    let mut code = String::with_capacity(line.len());
    let letters: Vec<char> = line.chars().collect();
    let (mut at, mut in_string) = (0, false);
    while at < letters.len() {
        let letter = letters[at];
        let next = letters.get(at + 1);
        if in_string {
            match letter {
                '\\' => at += 1,
                '"' => in_string = false,
                _ => {}
            }
        } else if letter == '"' {
            in_string = true;
        } else if letter == '/' && next == Some(&'/') {
            break;
        } else if letter == '\'' && letters.get(at + 2) == Some(&'\'') {
            at += 2;
        } else if letter == '\'' && next == Some(&'\\') {
            at += letters[at + 2..].iter().position(|&letter| letter == '\'').map_or(1, |end| end + 2);
        } else {
            code.push(letter);
        }
        at += 1;
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(path: &str, text: &str) -> Vec<String> {
        check(Path::new(path), text).into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn a_clean_file_has_no_findings() {
        assert_eq!(rules("engines/codec/src/x.rs", "//! A role.\nfn f() -> u8 {\n    1\n}\n"), Vec::<String>::new());
    }

    #[test]
    fn unsafe_stays_in_its_rooms_and_is_argued() {
        let bare = "//! A role.\nfn f() {\n    unsafe { g() }\n}\n";
        assert_eq!(rules("engines/codec/src/x.rs", bare).len(), 2);
        assert_eq!(rules("foundation/sys/src/x.rs", bare).len(), 1);
        let argued = "//! A role.\nfn f() {\n    // SAFETY: it is sound.\n    unsafe { g() }\n}\n";
        assert_eq!(rules("engines/codec/src/formats/gzip/kernel.rs", argued), Vec::<String>::new());
    }

    #[test]
    fn engines_are_mute_and_strings_do_not_count() {
        assert_eq!(rules("engines/codec/src/x.rs", "//! A role.\nfn f() { println!(\"x\"); }\n").len(), 1);
        assert_eq!(rules("commands/src/x.rs", "//! A role.\nfn f() { println!(\"x\"); }\n").len(), 0);
        assert_eq!(rules("engines/codec/src/x.rs", "//! A role.\nconst A: &str = \"println!(\";\n").len(), 0);
    }

    #[test]
    fn long_functions_and_missing_headers_are_found() {
        let long = format!("//! A role.\nfn f() {{\n{}}}\n", "    g();\n".repeat(71));
        assert_eq!(rules("commands/src/x.rs", &long).len(), 1);
        assert_eq!(rules("commands/src/x.rs", "fn f() {}\n").len(), 1);
        assert_eq!(rules("commands/src/utils.rs", "//! A role.\n").len(), 1);
    }

    #[test]
    fn unwrap_is_for_tests_only() {
        let text = "//! A role.\nfn f() { g().unwrap(); }\n";
        assert_eq!(rules("commands/src/x.rs", text).len(), 1);
        assert_eq!(rules("engines/codec/tests/x.rs", text).len(), 0);
    }
}
