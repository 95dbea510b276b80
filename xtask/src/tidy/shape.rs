//! Headers, lengths and names: what a reader meets first.
//! Counts lines; does not judge what is in them.

use super::Finding;
use super::scanned::{Scanned, has_word, item_end, word_at};

/// Lines of a file, and of a function's body, that a reader can hold.
const FILE_LINES_MAX: usize = 700;
const FUNCTION_LINES_MAX: usize = 70;

/// LIMIT: a header says role and absences; one that needs more is the theory, which has a README.
const HEADER_LINES: std::ops::RangeInclusive<usize> = 1..=12;

/// Files that are longer: path, reason.
const LONGER_FILES: &[(&str, &str)] = &[];

/// Functions that are longer: path, name, reason.
const LONGER_FUNCTIONS: &[(&str, &str, &str)] = &[
    (
        "engines/codec/src/formats/gzip/kernel/fast.rs",
        "turns",
        "the decoder's inner loop: taking it apart costs the registers that make it fast",
    ),
    ("engines/codec/src/formats/xz/kernel/fast.rs", "symbols", "the same"),
];

/// Names that say nothing.
const EMPTY_NAMES: &[&str] =
    &["util", "utils", "common", "helper", "helpers", "misc", "manager", "handler", "imp", "mod"];

/// Checks one file.
pub fn check(file: &Scanned) -> Vec<Finding> {
    let mut findings = check_header_and_length(file);
    findings.extend(check_functions(file));
    findings.extend(check_names(file));
    findings
}

fn check_header_and_length(file: &Scanned) -> Vec<Finding> {
    let place = file.path.display().to_string();
    let header = file.comments.iter().take_while(|line| line.starts_with("//!")).count();
    // The scanner counts what follows the last line's end as a line.
    let lines = file.code.len() - usize::from(file.code.last().is_some_and(String::is_empty));
    let mut findings = Vec::new();
    if !HEADER_LINES.contains(&header) {
        findings.push(Finding::new(
            &place,
            format!("header of {header} lines"),
            "begin with 1 to 12 lines of //! that say its role, what it does not do, and where the theory is",
        ));
    }
    if lines > FILE_LINES_MAX && !LONGER_FILES.iter().any(|(path, _)| *path == place) {
        findings.push(Finding::new(
            &place,
            format!("{lines} lines, {FILE_LINES_MAX} are the most"),
            "divide it by what a reader looks for",
        ));
    }
    findings
}

fn check_functions(file: &Scanned) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, code) in file.numbered().filter(|(number, _)| !file.is_test(*number)) {
        let Some(name) = function_name(code) else { continue };
        // From the word on: what stands before it in the line may close something else.
        let at = word_at(code, "fn").expect("a function has a name behind the word");
        let mut lines = file.code[number - 1..].to_vec();
        lines[0].replace_range(..at, "");
        let Some((opened_at, closed_at)) = item_end(&lines) else { continue };
        let body_lines = (closed_at - opened_at).saturating_sub(1);
        let is_waived = LONGER_FUNCTIONS.iter().any(|(path, waived, _)| file.path.ends_with(path) && *waived == name);
        if body_lines > FUNCTION_LINES_MAX && !is_waived {
            findings.push(Finding::new(
                file.place(number),
                format!("{name} has {body_lines} lines, {FUNCTION_LINES_MAX} are the most"),
                "divide it by phase: parents branch, leaves compute",
            ));
        }
    }
    findings
}

/// The name behind `fn`; none for the type of a function pointer.
fn function_name(code: &str) -> Option<&str> {
    let rest = code[word_at(code, "fn")? + "fn".len()..].trim_start();
    let name = rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()?;
    (!name.is_empty()).then_some(name)
}

fn check_names(file: &Scanned) -> Vec<Finding> {
    let is_test_root = |part: &str| part == "mod" && file.path.iter().any(|part| part == "tests");
    let instead = "name it after what it holds; a module with parts is name.rs beside name/";
    let mut findings = Vec::new();
    for part in file.path.iter().filter_map(|part| part.to_str()) {
        let name = part.strip_suffix(".rs").unwrap_or(part);
        if EMPTY_NAMES.contains(&name) && !is_test_root(name) {
            findings.push(Finding::new(file.path.display().to_string(), format!("{part} says nothing"), instead));
        }
    }
    for (number, code) in file.numbered().filter(|(_, code)| has_word(code, "mod")) {
        let name = code.trim_end_matches([' ', '{', '}', ';']).rsplit(' ').next().unwrap_or_default();
        let is_module = code.trim_end_matches([' ', '{', '}', ';']).ends_with(&format!("mod {name}"));
        if is_module && EMPTY_NAMES.contains(&name) {
            findings.push(Finding::new(file.place(number), format!("mod {name} says nothing"), instead));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const HEADER: &str = "//! A role.\n//! Not more.\n";

    fn count(path: &str, text: &str) -> usize {
        check(&Scanned::new(Path::new(path), text)).len()
    }

    #[test]
    fn a_header_has_1_to_12_lines() {
        assert_eq!(count("commands/src/x.rs", HEADER), 0);
        assert_eq!(count("commands/src/x.rs", "fn f() {}\n"), 1);
        assert_eq!(count("commands/src/x.rs", "//! A role.\n"), 0);
        assert_eq!(count("commands/src/x.rs", &"//! A role.\n".repeat(13)), 1);
    }

    #[test]
    fn long_files_are_found() {
        assert_eq!(count("commands/src/x.rs", &format!("{HEADER}{}", "const A: u8 = 1;\n".repeat(698))), 0);
        assert_eq!(count("commands/src/x.rs", &format!("{HEADER}{}", "const A: u8 = 1;\n".repeat(699))), 1);
    }

    #[test]
    fn long_functions_are_found_whatever_their_signature() {
        let body = |lines| "    g();\n".repeat(lines);
        for signature in [
            "fn f()",
            "pub(crate) const fn f<T>(a: [u8; 4]) -> u8",
            "fn f(\n    a: &dyn Fn(u8),\n)\nwhere\n    A: B,\n",
        ] {
            assert_eq!(
                count("commands/src/x.rs", &format!("{HEADER}{signature} {{\n{}}}\n", body(70))),
                0,
                "{signature}"
            );
            assert_eq!(
                count("commands/src/x.rs", &format!("{HEADER}{signature} {{\n{}}}\n", body(71))),
                1,
                "{signature}"
            );
        }
    }

    #[test]
    fn declarations_pointers_and_tests_are_no_long_functions() {
        let long = "    g();\n".repeat(71);
        assert_eq!(count("a/src/x.rs", &format!("{HEADER}trait A {{\n    fn f();\n}}\nmod b {{\n{long}}}\n")), 0);
        assert_eq!(count("a/src/x.rs", &format!("{HEADER}struct A {{\n    f: fn(u8),\n}}\nmod b {{\n{long}}}\n")), 0);
        assert_eq!(count("a/src/x.rs", &format!("{HEADER}#[cfg(test)]\nmod t {{\nfn f() {{\n{long}}}\n}}\n")), 0);
        assert_eq!(count("a/tests/x.rs", &format!("{HEADER}fn f() {{\n{long}}}\n")), 0);
    }

    #[test]
    fn names_say_something() {
        for path in ["a/src/utils.rs", "a/src/helpers/x.rs", "a/src/x/mod.rs"] {
            assert_eq!(count(path, HEADER), 1, "{path}");
        }
        assert_eq!(count("a/tests/x/mod.rs", HEADER), 0);
        assert_eq!(count("a/src/manager_list.rs", HEADER), 0);
        assert_eq!(count("a/src/x.rs", &format!("{HEADER}mod common;\npub mod misc {{}}\nmod commonplace;\n")), 2);
    }
}
