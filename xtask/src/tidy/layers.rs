//! The law of layers: which crate may depend on which, checked from `cargo metadata`.

use super::Finding;
use crate::workspace::root;
use cargo_metadata::{DependencyKind, MetadataCommand};

/// Crate -> the crates of ours that it may use. A crate that is not here may use nothing of ours.
const MAY_USE: &[(&str, &[&str])] = &[
    ("machine", &["sys"]),
    ("crew", &["sys", "machine"]),
    ("codec", &["sys", "machine", "crew"]),
    ("manyhands", &["sys", "machine", "crew", "terminal", "codec"]),
    ("fuzz", &["codec", "crew", "sys", "testkit"]),
    ("acceptance", &["testkit"]),
];

/// What tests may use besides.
const TESTS_MAY_USE: &[&str] = &["testkit", "sys", "machine", "crew"];

/// Checks every edge between crates of the workspace.
pub fn check() -> Result<Vec<Finding>, String> {
    let metadata = MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .no_deps()
        .exec()
        .map_err(|error| format!("could not ask cargo for its metadata: {error}"))?;
    let names: Vec<String> = metadata.packages.iter().map(|package| package.name.to_string()).collect();
    let mut findings = Vec::new();
    for package in &metadata.packages {
        for dependency in package.dependencies.iter().filter(|dependency| names.contains(&dependency.name)) {
            let for_tests = dependency.kind == DependencyKind::Development;
            if !is_allowed(package.name.as_ref(), &dependency.name, for_tests) {
                let rule = format!(
                    "{} may not depend on {}: see the law of layers in ARCHITECTURE.md; a new edge needs a decision record",
                    package.name, dependency.name
                );
                findings.push(Finding::new(package.manifest_path.as_str(), rule));
            }
        }
    }
    Ok(findings)
}

fn is_allowed(user: &str, used: &str, for_tests: bool) -> bool {
    let listed = MAY_USE.iter().any(|(name, may_use)| *name == user && may_use.contains(&used));
    listed || (for_tests && TESTS_MAY_USE.contains(&used))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_go_down_only() {
        assert!(is_allowed("crew", "sys", false));
        assert!(!is_allowed("sys", "crew", false));
        assert!(!is_allowed("codec", "terminal", false));
        assert!(!is_allowed("codec", "manyhands", true));
        assert!(is_allowed("codec", "testkit", true));
        assert!(!is_allowed("codec", "testkit", false));
    }
}
