//! Documents: links and paths must exist, every dependency must have its reason, every corpus file too.

use super::Finding;
use crate::workspace::{self, root};
use std::path::Path;

/// Ends of words that make them look like files of ours.
const FILE_ENDINGS: &[&str] = &[".rs", ".md", ".toml", ".svg", ".csv"];

/// Checks the links and the paths in backticks of one document.
pub fn check(path: &Path, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut in_code = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        let place = format!("{}:{}", path.display(), index + 1);
        for target in links(line).filter(|target| !exists_from(path, target)) {
            findings.push(Finding::new(&place, format!("link to {target}, which does not exist: mend or remove it")));
        }
        for word in backticked(line).filter(|word| looks_like_a_path(word) && !root().join(word).exists()) {
            findings.push(Finding::new(
                &place,
                format!("names {word}, which does not exist: write the path from the root"),
            ));
        }
    }
    findings
}

/// Targets of `[text](target)` that are files of ours.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split(')').next()).filter(|target| {
        !target.starts_with("http") && !target.starts_with('#') && !target.is_empty() && !target.contains(' ')
    })
}

fn exists_from(document: &Path, target: &str) -> bool {
    let file = target.split('#').next().unwrap_or(target);
    let folder = document.parent().unwrap_or(Path::new(""));
    root().join(folder).join(file).exists()
}

fn backticked(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// A word that begins with a top-level folder of ours, or ends like a file and has a folder in it.
fn looks_like_a_path(word: &str) -> bool {
    let is_plain = word.chars().all(|letter| letter.is_ascii_alphanumeric() || "/._-".contains(letter));
    let has_ending = FILE_ENDINGS.iter().any(|ending| word.ends_with(ending));
    let mut parts = word.split('/');
    let first = parts.next().unwrap_or(word);
    let has_folder = parts.next().is_some();
    is_plain && has_folder && (root().join(first).is_dir() || has_ending) && !word.starts_with('/')
}

/// Every dependency from outside is named in the decision record that gives its reason.
pub fn check_dependencies() -> Result<Vec<Finding>, String> {
    let record = workspace::read(Path::new("docs/decisions/0002-dependencies.md"))?;
    let manifest = workspace::read(Path::new("Cargo.toml"))?;
    let table = manifest.split("[workspace.dependencies]").nth(1).unwrap_or_default();
    let table = table.split("\n[").next().unwrap_or_default();
    let names = table.lines().filter(|line| !line.contains("path =")).filter_map(|line| line.split_once(" = "));
    Ok(names
        .map(|(name, _)| name.trim())
        .filter(|name| !name.starts_with('#') && !record.contains(&format!("`{name}`")))
        .map(|name| {
            Finding::new("Cargo.toml", format!("{name} has no reason in docs/decisions/0002-dependencies.md: add one"))
        })
        .collect())
}

/// Every file of the corpus is named in its README, which says why it is there.
pub fn check_corpus() -> Result<Vec<Finding>, String> {
    let corpus = Path::new("tests/corpus");
    let files: Vec<_> = workspace::files()?.into_iter().filter(|path| path.starts_with(corpus)).collect();
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let reasons = workspace::read(&corpus.join("README.md"))?;
    let unexplained = files.iter().filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name != "README.md" && !reasons.contains(name.as_ref())
    });
    Ok(unexplained
        .map(|path| {
            Finding::new(path.display().to_string(), "has no reason in tests/corpus/README.md: say why it exists")
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_links_and_paths_are_found_and_others_are_not() {
        let bad = "See [this](nowhere.md) and `foundation/nowhere.rs`.";
        assert_eq!(check(Path::new("README.md"), bad).len(), 2);
        let good =
            "See [that](ARCHITECTURE.md), [web](https://example.org), `foundation/crew/README.md`, `a/b`, `--long=31`.";
        assert_eq!(check(Path::new("README.md"), good), []);
        let code = "```\n`foundation/nowhere.rs`\n```";
        assert_eq!(check(Path::new("README.md"), code), []);
    }
}
