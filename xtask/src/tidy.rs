//! `cargo xtask tidy`: the project's own rules, as a test. A rule is added when something has hurt.
//! Each finding says where, which rule, and what to do instead.

mod layers;
mod prose;
mod source;

use crate::workspace;

/// Something that a rule refuses.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    /// `path` or `path:line`.
    pub place: String,
    /// Which rule, and what to do instead.
    pub rule: String,
}

impl Finding {
    fn new(place: impl Into<String>, rule: impl Into<String>) -> Self {
        Self { place: place.into(), rule: rule.into() }
    }
}

/// Checks everything.
pub fn run() -> Result<(), String> {
    let findings = findings()?;
    for finding in &findings {
        eprintln!("{}: {}", finding.place, finding.rule);
    }
    match findings.len() {
        0 => Ok(()),
        count => Err(format!("{count} findings")),
    }
}

fn findings() -> Result<Vec<Finding>, String> {
    let mut findings = layers::check()?;
    for path in workspace::files()? {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("rs") => findings.extend(source::check(&path, &workspace::read(&path)?)),
            Some("md") => findings.extend(prose::check(&path, &workspace::read(&path)?)),
            _ => {}
        }
    }
    findings.extend(prose::check_dependencies()?);
    findings.extend(prose::check_corpus()?);
    Ok(findings)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_tree_is_tidy() {
        let findings = super::findings().expect("the tree can be read");
        assert!(findings.is_empty(), "{findings:#?}");
    }
}
