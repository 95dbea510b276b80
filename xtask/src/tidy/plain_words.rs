//! Words of ours for which the field has its own: in names, in comments and in documents. PLAIN_WORDS says what to write instead.
//! Does not look at texts that a user sees, at code in documents, nor at what stands in the journal, which is history.

use super::Finding;
use super::scanned::Scanned;
use std::path::Path;

/// A word of ours and the field's.
const PLAIN_WORDS: &[(&str, &str)] = &[
    ("folder", "directory"),
    ("folders", "directories"),
    ("subfolder", "subdirectory"),
    ("subfolders", "subdirectories"),
    ("heir", "inherited lease"),
    ("heirs", "inherited leases"),
    ("knot", "node"),
    ("knots", "nodes"),
    ("passport", "lease token"),
    ("passports", "lease tokens"),
    ("starter", "spawner"),
    ("starters", "spawners"),
    ("stranger", "external program"),
    ("strangers", "external programs"),
];

/// What is not looked at: path, word, or any, and why.
const WAIVED: &[(&str, &str, &str)] = &[
    ("CHANGELOG.md", "", "history"),
    ("bench/runs", "", "history"),
    ("docs/journal", "", "history"),
    ("engines/observe", "folder", "a key of recordings, which older ones have"),
    ("tests/tar", "strangers", "people whose archives are not trusted"),
    ("tests/tar.rs", "strangers", "the same"),
    ("tests/tar/corpus/README.md", "folder", "names of its files"),
    ("tests/tar/corpus/README.md", "folders", "the same"),
    ("xtask/src/tidy/plain_words.rs", "", "names them"),
];

/// Checks names and comments of a Rust file.
pub fn check_code(file: &Scanned) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, code) in file.numbered() {
        let words = words_of(code).chain(words_of(&file.comments[number - 1]));
        findings.extend(refused(&file.path, words).map(|found| finding(file.place(number), found)));
    }
    findings
}

/// Checks the prose of a document.
pub fn check_document(path: &Path, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut in_code = false;
    for (index, line) in text.lines().enumerate() {
        in_code ^= line.trim_start().starts_with("```");
        if in_code || line.starts_with("    ") {
            continue;
        }
        let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join(" ");
        let place = format!("{}:{}", path.display(), index + 1);
        findings.extend(refused(path, words_of(&prose)).map(|found| finding(place.clone(), found)));
    }
    findings
}

fn finding(place: String, (word, instead): (&str, &str)) -> Finding {
    Finding::new(place, format!("the word {word}"), format!("write {instead}"))
}

fn refused<'a>(
    path: &'a Path,
    words: impl Iterator<Item = String> + 'a,
) -> impl Iterator<Item = (&'static str, &'static str)> + 'a {
    let is_waived = |word: &str| {
        let matches =
            |(waived, of, _): &&(&str, &str, &str)| path.starts_with(waived) && (of.is_empty() || *of == word);
        WAIVED.iter().any(|waiver| matches(&waiver))
    };
    let plain = words.filter_map(|word| PLAIN_WORDS.iter().find(|(ours, _)| *ours == word).copied());
    plain.filter(move |(word, _)| !is_waived(word))
}

/// Words in lower case; a name is as many as it is made of: `CrewDirectory` and `crew_directory` are two.
fn words_of(text: &str) -> impl Iterator<Item = String> {
    text.split(|letter: char| !letter.is_alphanumeric()).flat_map(parts_of)
}

fn parts_of(name: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut was_lower = true;
    for letter in name.chars() {
        if letter.is_uppercase() && was_lower || parts.is_empty() {
            parts.push(String::new());
        }
        was_lower = !letter.is_uppercase();
        parts.last_mut().expect("one was just pushed").extend(letter.to_lowercase());
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_code(path: &str, text: &str) -> Vec<String> {
        check_code(&Scanned::new(Path::new(path), text)).into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn names_and_comments_have_the_fields_words() {
        for text in ["let own_folder = 1;", "struct CrewFolder;", "const FOLDER: u8 = 1;", "// A folder."] {
            assert_eq!(in_code("foundation/crew/src/x.rs", text), ["the word folder"], "{text}");
        }
        for text in ["let own_directory = 1;", "let a = \"a folder\";", "struct Folded;", "// An unfolder, started."] {
            assert_eq!(in_code("foundation/crew/src/x.rs", text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn a_waiver_is_for_its_word() {
        assert_eq!(in_code("engines/observe/src/x.rs", "let folder = 1;").len(), 0);
        assert_eq!(in_code("engines/observe/src/x.rs", "let folders = 1;").len(), 1);
    }

    #[test]
    fn documents_have_them_but_in_code() {
        let count = |text| check_document(Path::new("README.md"), text).len();
        assert_eq!(
            (count("A folder."), count("`folder`"), count("```\nfolder\n```"), count("    folder")),
            (1, 0, 0, 0)
        );
    }
}
