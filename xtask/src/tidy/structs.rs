//! How much one value holds: fields of a struct, and in how many files of a crate its methods stand.
//! Knows formatted code only: a field a line, an impl at the line's beginning. Does not look at enums, nor at command lines.

use super::Finding;
use super::scanned::{Scanned, item_end};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// LIMIT: more than a reader can keep in mind while he reads one method.
const FIELDS_MAX: usize = 15;
const IMPL_FILES_MAX: usize = 3;

/// Structs that have more fields: path, name, how many. To be divided; none may grow, and none may be added.
const LARGER_STRUCTS: &[(&str, &str, usize)] = &[
    ("commands/instruments/src/pstime/plan.rs", "Plan", 18),
    ("commands/streams/src/tamp/manners.rs", "Manners", 16),
    ("engines/archive/src/create/choice.rs", "Choice", 18),
    ("engines/archive/src/member.rs", "Member", 18),
    ("engines/jobs/src/journal.rs", "JobRecord", 18),
    ("engines/jobs/src/journal.rs", "EndLine", 17),
    ("engines/jobs/src/list.rs", "ListReader", 16),
    ("engines/jobs/src/measures.rs", "JobMeasures", 19),
    ("engines/jobs/src/run/options.rs", "RunOptions", 23),
    ("engines/observe/src/looker.rs", "Looker", 17),
    ("engines/observe/src/row.rs", "ProcessRow", 20),
    ("engines/observe/src/sampler.rs", "HostSampler", 18),
    ("engines/observe/src/source/thread_list/programs.rs", "WalkFields", 16),
    ("engines/transfer/src/copy.rs", "Manner", 21),
    // The kernel's union, as bpf(2) has it.
    ("foundation/sys/src/bpf/call.rs", "ProgramLoad", 22),
];

/// Types whose methods stand in more files: crate, name, how many.
const WIDER_IMPLS: &[(&str, &str, usize)] = &[("bench", "Suite", 5), ("engines/transfer", "Run", 10)];

/// Checks the structs of one file.
pub fn check(file: &Scanned) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, code) in file.numbered().filter(|(number, _)| !file.is_test(*number)) {
        let Some(name) = declared(code, "struct ") else { continue };
        let Some((from, to)) = item_end(&file.code[number - 1..]) else { continue };
        let body = &file.code[number - 1 + from..number - 1 + to];
        // Options of a command line are its own table, which clap makes a struct of.
        if body.iter().any(|line| line.contains("#[arg(") || line.contains("#[command(")) {
            continue;
        }
        let fields = body.iter().filter(|line| is_field(line)).count();
        let waived = |(path, waived, most): &&(&str, &str, usize)| {
            file.path == Path::new(path) && *waived == name && fields <= *most
        };
        if fields > FIELDS_MAX && !LARGER_STRUCTS.iter().any(|entry| waived(&entry)) {
            findings.push(Finding::new(
                file.place(number),
                format!("{name} has {fields} fields, {FIELDS_MAX} are the most"),
                "divide it by owner: what changes together stands together",
            ));
        }
    }
    findings
}

/// Files of each type's methods, by crate and name.
#[derive(Default)]
pub struct Impls {
    files: BTreeMap<(PathBuf, String), BTreeSet<PathBuf>>,
}

impl Impls {
    /// Notes the methods of one file.
    pub fn note(&mut self, file: &Scanned) {
        let Some(source) = file.path.iter().position(|part| part == "src") else { return };
        let owner: PathBuf = file.path.iter().take(source).collect();
        for (_, code) in file.numbered().filter(|(number, _)| !file.is_test(*number)) {
            let Some(name) = inherent(code) else { continue };
            self.files.entry((owner.clone(), name.to_owned())).or_default().insert(file.path.clone());
        }
    }

    /// Those that stand in too many.
    pub fn findings(&self) -> Vec<Finding> {
        let is_waived = |owner: &Path, name: &str, count: usize| {
            WIDER_IMPLS.iter().any(|(path, waived, most)| owner == Path::new(path) && *waived == name && count <= *most)
        };
        let wide = self
            .files
            .iter()
            .filter(|((owner, name), files)| files.len() > IMPL_FILES_MAX && !is_waived(owner, name, files.len()));
        wide.map(|((owner, name), files)| {
            Finding::new(
                owner.display().to_string(),
                format!("methods of {name} stand in {} files, {IMPL_FILES_MAX} are the most", files.len()),
                "give what a file does an owner of its own",
            )
        })
        .collect()
    }
}

/// The name of what is declared at the line's beginning.
fn declared<'a>(code: &'a str, word: &str) -> Option<&'a str> {
    let rest = code.trim_start();
    let rest = rest.strip_prefix("pub ").or_else(|| rest.strip_prefix("pub(crate) ")).unwrap_or(rest);
    first_word(rest.strip_prefix(word)?)
}

/// The type of `impl Name {` and `impl<'a> Name<'a> {`; none for a trait's.
fn inherent(code: &str) -> Option<&str> {
    let rest = code.trim_start().strip_prefix("impl")?;
    let rest = match rest.strip_prefix('<') {
        Some(generics) => generics.split_once('>')?.1,
        None => rest,
    };
    let rest = rest.strip_prefix(' ')?;
    if rest.contains(" for ") { None } else { first_word(rest) }
}

fn first_word(text: &str) -> Option<&str> {
    let end = text.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(text.len());
    (end > 0).then(|| &text[..end])
}

/// `name: Type,` one level in, with or without its visibility.
fn is_field(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("    ").filter(|rest| !rest.starts_with(' ')) else { return false };
    let rest = match rest.strip_prefix("pub") {
        Some(scoped) if scoped.starts_with('(') => scoped.split_once(") ").map_or(rest, |(_, rest)| rest),
        Some(public) => public.strip_prefix(' ').unwrap_or(rest),
        None => rest,
    };
    let rest = rest.strip_prefix("r#").unwrap_or(rest);
    first_word(rest).is_some_and(|name| rest[name.len()..].starts_with(": "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        check(&Scanned::new(Path::new(path), text)).len()
    }

    fn with_fields(head: &str, field: &str, fields: usize) -> String {
        format!("{head} {{\n{}}}\n", format!("    {field}: u8,\n").repeat(fields))
    }

    #[test]
    fn a_struct_has_15_fields_at_most() {
        for field in ["a", "pub a", "pub(crate) r#type", "pub(super) a"] {
            assert_eq!(count("a/src/x.rs", &with_fields("pub struct A<'a>", field, 15)), 0, "{field}");
            assert_eq!(count("a/src/x.rs", &with_fields("pub struct A<'a>", field, 16)), 1, "{field}");
        }
        assert_eq!(count("a/src/x.rs", &with_fields("enum A", "a", 16)), 0);
        assert_eq!(count("a/src/x.rs", &format!("#[cfg(test)]\n{}", with_fields("struct A", "a", 16))), 0);
        assert_eq!(count("a/src/x.rs", &with_fields("struct A", "#[arg(long)]\n    a", 16)), 0);
    }

    #[test]
    fn a_waived_struct_may_not_grow() {
        let path = "commands/streams/src/tamp/manners.rs";
        assert_eq!(count(path, &with_fields("pub struct Manners", "a", 16)), 0);
        assert_eq!(count(path, &with_fields("pub struct Manners", "a", 17)), 1);
    }

    fn impls(files: &[(&str, &str)]) -> usize {
        let mut impls = Impls::default();
        files.iter().for_each(|(path, text)| impls.note(&Scanned::new(Path::new(path), text)));
        impls.findings().len()
    }

    #[test]
    fn methods_stand_in_3_files_at_most() {
        let paths = ["a/src/1.rs", "a/src/2.rs", "a/src/3.rs", "a/src/4.rs"];
        let all = |text: &'static str| paths.map(|path| (path, text));
        assert_eq!(impls(&all("impl<'a> B<'a> {\n}\n")), 1);
        assert_eq!(impls(&all("impl B {\n}\n")[..3]), 0);
        assert_eq!(impls(&all("impl Iterator for B {\n}\n")), 0);
        assert_eq!(impls(&[("a/src/1.rs", "impl B {}"), ("b/src/2.rs", "impl B {}"), ("c/src/3.rs", "impl B {}")]), 0);
    }
}
