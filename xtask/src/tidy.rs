//! `cargo xtask tidy`: the project's own rules, as a test. A rule is added when something has hurt.
//! Each finding reads "place: rule: what to do instead". Changes nothing itself.

mod layers;
mod pages;
mod plain_words;
mod plans;
mod prose;
mod rooms;
mod scanned;
mod shape;
mod structs;
mod type_names;
mod words;

use prose::Tree;
use scanned::Scanned;
use std::fmt;
use xtask::workspace;

/// Something that a rule refuses.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    /// `path` or `path:line`.
    pub place: String,
    pub rule: String,
    pub instead: String,
}

impl Finding {
    fn new(place: impl Into<String>, rule: impl Into<String>, instead: impl Into<String>) -> Self {
        Self { place: place.into(), rule: rule.into(), instead: instead.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}: {}", self.place, self.rule, self.instead)
    }
}

/// Checks everything.
pub fn run() -> Result<(), String> {
    let findings = findings()?;
    for finding in &findings {
        eprintln!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        count => Err(format!("{count} findings")),
    }
}

fn findings() -> Result<Vec<Finding>, String> {
    let files = workspace::files()?;
    let tree = Tree::new(&files);
    let mut findings = layers::check()?;
    let mut impls = structs::Impls::default();
    let mut type_names = type_names::TypeNames::default();
    let mut plans = plans::Plans::default();
    for path in &files {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("rs") => {
                let file = Scanned::new(path, &workspace::read(path)?);
                findings.extend(rooms::check(&file));
                findings.extend(words::check(&file));
                findings.extend(plain_words::check_code(&file));
                findings.extend(shape::check(&file));
                findings.extend(structs::check(&file));
                impls.note(&file);
                type_names.note(&file);
                plans.note(&file);
            }
            Some("md") => {
                let text = workspace::read(path)?;
                findings.extend(prose::check(path, &text, &tree));
                findings.extend(plain_words::check_document(path, &text));
            }
            _ => {}
        }
    }
    findings.extend(impls.findings());
    findings.extend(type_names.findings());
    findings.extend(plans.findings());
    findings.extend(prose::check_dependencies()?);
    findings.extend(prose::check_corpus(&files)?);
    findings.extend(pages::check(&files)?);
    Ok(findings)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_tree_is_tidy() {
        let findings = super::findings().expect("the tree can be read");
        let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert!(lines.is_empty(), "\n{}", lines.join("\n"));
    }
}
