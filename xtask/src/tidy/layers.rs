//! The law of layers: which crate may depend on which, checked from `cargo metadata`. Tests obey it too: besides their
//! crate's own layer they may use testkit. Does not look at crates from outside; `cargo deny` does.

use super::Finding;
use cargo_metadata::{DependencyKind, MetadataCommand};
use std::path::Path;
use xtask::workspace::root;

/// Crate -> the crates of ours that it may use. A crate that is not here, and no engine, may use nothing of ours.
const MAY_USE: &[(&str, &[&str])] = &[
    ("machine", &["sys"]),
    ("files", &["sys", "machine"]),
    ("crew", &["sys", "machine"]),
    ("c", &["machine", "crew", "memory"]),
    ("fuzz", &["sys", "machine", "crew", "testkit"]),
    ("acceptance", &["testkit"]),
    ("bench", &["xtask"]),
];

/// What every crate in engines/ may use: never terminal.
const ENGINES_MAY_USE: &[&str] = &["sys", "machine", "files", "crew"];

/// Engine -> engine. Each edge needs a decision record and a line in ARCHITECTURE.md.
const BETWEEN_ENGINES: &[(&str, &str)] = &[
    ("archive", "codec"),
    ("cluster", "jobs"),
    ("database", "codec"),
    ("database", "wire"),
    ("load", "observe"),
    ("load", "wire"),
];

/// What every crate in commands/ may use. Families may use engines and the kit besides, the program the kit and families; a family may use no
/// other family.
const COMMANDS_MAY_USE: &[&str] = &["sys", "machine", "files", "crew", "terminal"];
const KIT: &str = "mh-kit";

/// The program on top: nobody may use it.
const PROGRAM: &str = "manyhands";

/// What the tests of any crate with something to test may use besides; the scripts have no tests of ours.
const TESTS_MAY_USE: &[&str] = &["testkit"];
const SCRIPTS: &str = "xtask";

/// A crate of ours.
#[derive(Clone, Copy)]
struct Crate<'a> {
    name: &'a str,
    room: Room,
}

/// What a crate is by the directory that it lies in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Room {
    Engine,
    Command,
    Other,
}

impl Room {
    fn of(manifest: &Path) -> Self {
        let is_in = |room: &str| manifest.starts_with(root().join(room));
        match () {
            () if is_in("engines") => Self::Engine,
            () if is_in("commands") => Self::Command,
            () => Self::Other,
        }
    }
}

/// Checks every edge between crates of the workspace.
pub fn check() -> Result<Vec<Finding>, String> {
    let metadata = MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .no_deps()
        .exec()
        .map_err(|error| format!("could not ask cargo for its metadata: {error}"))?;
    let crates: Vec<Crate> = metadata
        .packages
        .iter()
        .map(|package| Crate {
            name: short(package.name.as_ref()),
            room: Room::of(Path::new(package.manifest_path.as_str())),
        })
        .collect();
    let mut findings = Vec::new();
    for (package, user) in metadata.packages.iter().zip(&crates) {
        for dependency in package.dependencies.iter().filter(|dependency| dependency.path.is_some()) {
            let Some(used) = crates.iter().find(|used| used.name == short(&dependency.name)) else { continue };
            if !is_allowed(*user, *used, dependency.kind == DependencyKind::Development) {
                let place = Path::new(package.manifest_path.as_str());
                findings.push(Finding::new(
                    place.strip_prefix(root()).unwrap_or(place).display().to_string(),
                    format!("{} may not depend on {}", user.name, used.name),
                    "turn the edge round or pass a value down; a new edge needs a decision record and a line in the table of layers",
                ));
            }
        }
    }
    Ok(findings)
}

/// A crate's name in this project; under `manyhands-` it could be published.
fn short(package: &str) -> &str {
    package.strip_prefix("manyhands-").unwrap_or(package)
}

fn is_allowed(user: Crate, used: Crate, for_tests: bool) -> bool {
    let listed = MAY_USE.iter().any(|(name, may_use)| *name == user.name && may_use.contains(&used.name));
    let is_engine = used.room == Room::Engine;
    let as_engine = user.room == Room::Engine
        && (ENGINES_MAY_USE.contains(&used.name) || BETWEEN_ENGINES.contains(&(user.name, used.name)));
    let as_command = user.room == Room::Command
        && match user.name {
            _ if COMMANDS_MAY_USE.contains(&used.name) => true,
            KIT => false,
            PROGRAM => used.room == Room::Command,
            _ => is_engine || used.name == KIT,
        };
    let as_fuzz = user.name == "fuzz" && is_engine;
    let as_test = for_tests && user.name != SCRIPTS && TESTS_MAY_USE.contains(&used.name);
    listed || as_engine || as_command || as_fuzz || as_test
}

#[cfg(test)]
mod tests {
    use super::*;

    fn may(user: &'static str, used: &'static str, for_tests: bool) -> bool {
        let room = |name: &str| match name {
            "codec" | "archive" => Room::Engine,
            "mh-kit" | "mh-trees" | "mh-jobs" | "manyhands" => Room::Command,
            _ => Room::Other,
        };
        let named = |name| Crate { name, room: room(name) };
        is_allowed(named(user), named(used), for_tests)
    }

    #[test]
    fn edges_go_down() {
        assert!(may("machine", "sys", false) && may("crew", "machine", false));
        assert!(may("codec", "crew", false) && may("archive", "files", false));
        assert!(may("manyhands", "terminal", false) && may("manyhands", "mh-trees", false));
        assert!(may("mh-trees", "mh-kit", false) && may("mh-trees", "archive", false) && may("mh-kit", "crew", false));
        assert!(may("fuzz", "codec", false) && may("c", "crew", false));
    }

    #[test]
    fn edges_up_and_across_are_refused() {
        assert!(!may("sys", "crew", false) && !may("machine", "crew", false));
        assert!(!may("files", "crew", false) && !may("crew", "files", false) && !may("sys", "files", false));
        assert!(!may("codec", "terminal", false) && !may("crew", "terminal", false));
        assert!(may("archive", "codec", false), "an edge between engines that is listed");
        assert!(!may("codec", "archive", false), "and the same edge turned round");
        assert!(!may("codec", "manyhands", false) && !may("acceptance", "manyhands", true));
        assert!(may("c", "memory", false), "an edge that is listed");
        assert!(!may("c", "codec", false) && !may("manyhands", "c", false));
        assert!(!may("mh-kit", "codec", false) && !may("mh-kit", "mh-trees", false));
        assert!(!may("mh-trees", "mh-jobs", false) && !may("mh-trees", "manyhands", false));
        assert!(!may("manyhands", "codec", false) && !may("codec", "mh-kit", false));
        assert!(!may("xtask", "sys", false) && !may("xtask", "testkit", true));
        assert!(may("bench", "xtask", false) && !may("xtask", "bench", false));
    }

    #[test]
    fn tests_may_use_testkit_and_nothing_above_their_crate() {
        assert!(may("codec", "testkit", true) && may("sys", "testkit", true));
        assert!(!may("codec", "testkit", false));
        assert!(!may("sys", "crew", true) && !may("codec", "terminal", true));
    }
}
