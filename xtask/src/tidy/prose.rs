//! Documents: links and paths in backticks must exist, every dependency must have its reason, every corpus file too.
//! Exists means: is a file of the project, or a directory with one. What was only built, or left empty here, is not there
//! for whoever clones it. Does not look at anchors, nor at addresses of other sites.

use super::Finding;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use xtask::workspace;

/// Ends of words that make them look like files of ours.
const FILE_ENDINGS: &[&str] = &[".rs", ".md", ".toml"];

const DEPENDENCIES: &str = "docs/decisions/0002-dependencies.md";
const CORPUS: &str = "tests/corpus";

/// The project's files and the directories they are in.
pub struct Tree {
    paths: BTreeSet<PathBuf>,
    names: BTreeSet<String>,
}

impl Tree {
    pub fn new(files: &[PathBuf]) -> Self {
        let paths = files.iter().flat_map(|path| path.ancestors()).map(Path::to_owned).collect();
        let name = |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
        Self { paths, names: files.iter().filter_map(name).collect() }
    }

    fn has(&self, path: &Path) -> bool {
        self.paths.contains(path)
    }

    /// A path as a document writes it, seen from a directory.
    fn has_from(&self, directory: &Path, written: &str) -> bool {
        let mut resolved = PathBuf::new();
        for part in directory.join(written).components() {
            match part {
                Component::ParentDir if !resolved.pop() => return false,
                Component::ParentDir | Component::CurDir => {}
                part => resolved.push(part),
            }
        }
        self.has(&resolved)
    }
}

/// Checks the links and the paths in backticks of one document.
pub fn check(path: &Path, text: &str, tree: &Tree) -> Vec<Finding> {
    let directory = path.parent().unwrap_or(Path::new(""));
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
        for target in links(line).filter(|target| !tree.has_from(directory, target)) {
            let rule = format!("link to {target}, which is no file of the project");
            findings.push(Finding::new(&place, rule, "mend or remove it"));
        }
        for word in backticked(line).filter(|word| looks_like_a_path(word, tree) && !is_found(word, directory, tree)) {
            let rule = format!("names {word}, which is no file of the project");
            findings.push(Finding::new(&place, rule, "write the path from the root, or mend it"));
        }
    }
    findings
}

/// Targets of `[text](target)` that are files of ours, without their anchors.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let is_ours = |target: &&str| !target.contains("://") && !target.starts_with("mailto:") && !target.contains(' ');
    targets.filter(is_ours).filter_map(|target| target.split('#').next()).filter(|target| !target.is_empty())
}

fn backticked(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// A word that begins with a top-level directory of ours, or ends like a source or a document.
fn looks_like_a_path(word: &str, tree: &Tree) -> bool {
    let is_plain = word.chars().all(|letter| letter.is_ascii_alphanumeric() || "/._-".contains(letter));
    let begins_in_ours = word.split_once('/').is_some_and(|(first, _)| !first.is_empty() && tree.has(Path::new(first)));
    let ends_like_ours = FILE_ENDINGS.iter().any(|ending| word.len() > ending.len() && word.ends_with(ending));
    is_plain && !word.starts_with('/') && (begins_in_ours || ends_like_ours)
}

/// From the root, from the document, or, for a bare name, anywhere.
fn is_found(word: &str, directory: &Path, tree: &Tree) -> bool {
    tree.has_from(Path::new(""), word) || tree.has_from(directory, word) || tree.names.contains(word)
}

/// Every dependency from outside is named in the decision record that gives its reason.
pub fn check_dependencies() -> Result<Vec<Finding>, String> {
    let record = workspace::read(Path::new(DEPENDENCIES))?;
    Ok(without_reason(&workspace::read(Path::new("Cargo.toml"))?, &record))
}

fn without_reason(manifest: &str, record: &str) -> Vec<Finding> {
    let lines = manifest.lines().skip_while(|line| *line != "[workspace.dependencies]").skip(1);
    let table = lines.take_while(|line| !line.starts_with('['));
    let outside = table.filter(|line| !line.starts_with('#') && !line.contains("path ="));
    let names = outside.filter_map(|line| line.split_once('=')).map(|(name, _)| name.trim());
    names
        .filter(|name| !record.contains(&format!("`{name}`")))
        .map(|name| Finding::new("Cargo.toml", format!("{name} has no reason"), format!("give it in {DEPENDENCIES}")))
        .collect()
}

/// Every file of the corpus is named in its README, which says why it is there.
pub fn check_corpus(files: &[PathBuf]) -> Result<Vec<Finding>, String> {
    let in_corpus: Vec<&PathBuf> = files.iter().filter(|path| path.starts_with(CORPUS)).collect();
    if in_corpus.is_empty() {
        return Ok(Vec::new());
    }
    Ok(unexplained(&in_corpus, &workspace::read(&Path::new(CORPUS).join("README.md"))?))
}

fn unexplained(files: &[&PathBuf], reasons: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name != "README.md" && !reasons.contains(name.as_ref()) {
            let instead = format!("say in {CORPUS}/README.md why it exists");
            findings.push(Finding::new(path.display().to_string(), "corpus file without a reason", instead));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(path: &str, text: &str) -> Vec<String> {
        let files = ["README.md", "docs/tamp.md", "foundation/crew/README.md", "foundation/crew/src/plan.rs"];
        let tree = Tree::new(&files.map(PathBuf::from));
        check(Path::new(path), text, &tree).into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn missing_links_and_paths_are_found() {
        let bad = "See [this](nowhere.md), `foundation/nowhere`, `nowhere.rs` and [up](../../README.md).";
        assert_eq!(rules("docs/tamp.md", bad).len(), 4);
    }

    #[test]
    fn what_exists_is_found_from_the_root_the_document_or_by_name() {
        let good = "[a](../README.md#first) [b](https://x.org/y.md) [c](#here) `foundation/crew` `plan.rs`";
        assert_eq!(rules("docs/tamp.md", good), Vec::<String>::new());
        assert_eq!(rules("foundation/crew/README.md", "`src/plan.rs` [d](src)"), Vec::<String>::new());
    }

    #[test]
    fn other_words_are_no_paths() {
        let good =
            "`a/b` `--long=31` `/etc/nowhere.toml` `NNNN-*.md` `.rs` `target/release/mh`\n```\n`nowhere.rs`\n```";
        assert_eq!(rules("README.md", good), Vec::<String>::new());
    }

    #[test]
    fn dependencies_need_reasons() {
        let manifest = "[workspace.dependencies]\n# clap = 1\nsys = { path = \"a\" }\nclap = \"4\"\nserde= \"1\"\n[profile.x]\nlto = true";
        let names: Vec<String> =
            without_reason(manifest, "| `clap` |").into_iter().map(|finding| finding.rule).collect();
        assert_eq!(names, ["serde has no reason"]);
    }

    #[test]
    fn corpus_files_need_reasons() {
        let files = ["tests/corpus/a.gz", "tests/corpus/b.gz", "tests/corpus/README.md"].map(PathBuf::from);
        let found = unexplained(&files.iter().collect::<Vec<_>>(), "a.gz: ends too early");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].place, "tests/corpus/b.gz");
    }
}
