//! Holds `manyhands.h` against the library: the same functions with the same types, the same numbers, and text that compilers
//! of C99 and C++ accept without a warning.

use crate::{boundary, memory_pool};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const HEADER: &str = include_str!("../include/manyhands.h");
const BOUNDARY: &str = include_str!("boundary.rs");

/// A type of Rust's as C spells it.
const TYPES: &[(&str, &str)] = &[
    ("*mut *mut OpenedBudget", "mh_crew **"),
    ("*mut *mut MemoryPool", "mh_pool **"),
    ("*mut *mut MemoryRange", "mh_memory **"),
    ("*const MemoryPool", "const mh_pool *"),
    ("*const MemoryRange", "const mh_memory *"),
    ("*mut MemoryPool", "mh_pool *"),
    ("*mut MemoryRange", "mh_memory *"),
    ("*mut c_void", "void *"),
    ("*mut *mut Share", "mh_lease **"),
    ("*const OpenedBudget", "const mh_crew *"),
    ("*const Share", "const mh_lease *"),
    ("*mut OpenedBudget", "mh_crew *"),
    ("*mut Share", "mh_lease *"),
    ("*const c_char", "const char *"),
    ("*mut c_char", "char *"),
    ("*mut u64", "mh_hand *"),
    ("u64", "mh_hand"),
    ("usize", "size_t"),
    ("c_int", "int"),
    ("c_uint", "unsigned"),
    ("", "void"),
];

/// Answer, name and arguments' types of each function of the header, as C spells them.
fn declared() -> Vec<String> {
    let text: String = HEADER.split("/*").map(|part| part.split_once("*/").map_or(part, |(_, code)| code)).collect();
    let text = text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join(" ");
    let functions = text.split([';', '{', '}']).filter(|item| item.contains('(')).map(|item| {
        let (head, rest) = item.split_once('(').expect("it has one");
        let arguments = rest.trim_end().trim_end_matches(')').split(',').map(without_name);
        let head = head.trim();
        let (answer, name) = head.split_at(head.find("mh_").expect("all names begin so"));
        format!("{} {name}({})", answer.trim(), arguments.collect::<Vec<_>>().join(", "))
    });
    functions.collect()
}

/// `const char *text` without `text`.
fn without_name(argument: &str) -> String {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    argument.trim().trim_end_matches(is_letter).trim_end().replace("* *", "**")
}

/// The same of the library's functions.
fn defined() -> Vec<String> {
    let functions = BOUNDARY.split("extern \"C\" fn ").skip(1).map(|item| {
        let (head, _) = item.split_once('{').expect("a body");
        let (name, rest) = head.split_once('(').expect("arguments");
        let (arguments, answer) = rest.rsplit_once(')').expect("their end");
        let types = arguments.split(',').filter_map(|argument| argument.split_once(':')).map(|(_, kind)| in_c(kind));
        let types = types.collect::<Vec<_>>().join(", ");
        format!("{} {name}({types})", in_c(answer.trim().trim_start_matches("->")))
    });
    functions.collect()
}

fn in_c(kind: &str) -> &'static str {
    let found = TYPES.iter().find(|(rust, _)| *rust == kind.trim());
    found.unwrap_or_else(|| panic!("no C for '{kind}'")).1
}

#[test]
fn the_header_declares_what_the_library_has() {
    assert_eq!(declared(), defined());
    assert_eq!(declared().len(), 20);
    assert_eq!(declared()[0], "int mh_crew_open(const char *, mh_crew **)");
    assert_eq!(BOUNDARY.matches("#[unsafe(no_mangle)]").count(), 20, "all can be found by a linker");
}

#[test]
fn the_headers_numbers_are_the_librarys() {
    let value = |name: &str| -> i32 {
        let line = HEADER.lines().find_map(|line| line.strip_prefix(&format!("#define {name} ")));
        line.expect("it is defined").trim_matches(['(', ')']).parse().expect("a number")
    };
    let codes = ["MH_OK", "MH_NOT_NOW", "MH_WRONG_ARGUMENT", "MH_WRONG_HAND", "MH_BROKEN", "MH_NO_MEMORY"].map(value);
    let ours = [
        boundary::OK,
        boundary::NOT_NOW,
        boundary::WRONG_ARGUMENT,
        boundary::WRONG_HAND,
        boundary::BROKEN,
        boundary::NO_MEMORY,
    ];
    assert_eq!(codes, ours);
    assert_eq!(
        ["MH_IDLE", "MH_LOW", "MH_NORMAL", "MH_HIGH"].map(value),
        [0, 1, 2, 3],
        "as `OpenedBudget::lease` reads them"
    );
    let kinds = ["ANON", "SHARED", "FILES", "SYSV", "HUGE"].map(|kind| value(&format!("MH_MEMORY_{kind}")));
    assert_eq!(kinds, [0, 1, 2, 3, 4], "as `MemoryPool::create` reads them");
    let flags = ["LOCKED", "HUGE_PAGES", "BEST_EFFORT"].map(|flag| value(&format!("MH_MEMORY_{flag}")));
    assert_eq!(flags, [memory_pool::LOCKED, memory_pool::HUGE_PAGES, memory_pool::BEST_EFFORT].map(|flag| flag as i32));
}

fn include() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include")
}

/// Whether `compiler` accepts the header, used twice, with all warnings as errors; none where there is no such compiler.
fn is_accepted(compiler: &str, options: &[&str], ending: &str) -> Option<bool> {
    let directory = tempfile::tempdir().expect("a directory");
    let source = directory.path().join(format!("user.{ending}"));
    std::fs::write(&source, "#include <manyhands.h>\n#include <manyhands.h>\nint main(void) { return MH_OK; }\n")
        .expect("written");
    let mut command = Command::new(compiler);
    command.args(options).args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "-I"]);
    match command.arg(include()).arg(source).stdin(Stdio::null()).status() {
        Ok(status) => Some(status.success()),
        Err(error) => {
            assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{compiler}");
            None
        }
    }
}

#[test]
fn compilers_of_c_and_of_cpp_accept_the_header() {
    assert_eq!(is_accepted("cc", &["-std=c99"], "c"), Some(true), "a C compiler is needed to build anyway");
    for standard in ["-std=c++11", "-std=c++17"] {
        match is_accepted("c++", &[standard], "cpp") {
            Some(accepted) => assert!(accepted, "{standard}"),
            None => testkit::program::left_out("there is no C++ compiler"),
        }
    }
}
