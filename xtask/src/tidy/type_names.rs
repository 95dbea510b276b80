//! One public type name per workspace: a reader who meets a name, or searches for it, finds one type.
//! Does not look at private types, at tests, at fuzz targets and benches, nor at the scripts themselves.

use super::Finding;
use super::scanned::Scanned;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What declares a type.
const DECLARATIONS: &[&str] = &["struct ", "enum ", "trait ", "union ", "type "];

/// Tools and tests: nobody reads them beside the product.
const NOT_LOOKED_AT: &[&str] = &["bench", "fuzz", "tests", "xtask"];

/// Names that every engine or every command has one of, below which directory.
const ONE_EACH: &[(&str, &str)] = &[("engines", "Error"), ("commands", "Args"), ("commands", "Plan")];

/// Names that several types have: name, in how many files. To be renamed; none may grow, and none may be added.
const SHARED_NAMES: &[(&str, usize)] = &[
    ("Attribute", 2),
    ("Begun", 2),
    ("Bound", 2),
    ("Choice", 3),
    ("Chosen", 2),
    ("Complaint", 3),
    ("Counted", 2),
    ("Entry", 3),
    ("Event", 4),
    ("Existing", 2),
    ("Failed", 3),
    ("Feed", 2),
    ("Finished", 2),
    ("Fitting", 2),
    ("Format", 3),
    ("Found", 3),
    ("Growth", 2),
    ("Index", 2),
    ("Job", 3),
    ("Kept", 2),
    ("Kind", 4),
    ("Layout", 2),
    ("Links", 3),
    ("Listener", 2),
    ("Look", 2),
    ("Made", 2),
    ("Manner", 3),
    ("Names", 3),
    ("Opened", 2),
    ("Operand", 3),
    ("Place", 3),
    ("Said", 2),
    ("Seen", 2),
    ("Shown", 3),
    ("Source", 3),
    ("Step", 2),
    ("Style", 2),
    ("Tally", 2),
    ("There", 2),
    ("Told", 4),
    ("Unfinished", 2),
    ("Unfit", 2),
    ("Unit", 2),
    ("Way", 5),
    ("When", 2),
    ("Wish", 2),
    ("Words", 3),
];

/// The files of each name's types.
#[derive(Default)]
pub struct TypeNames {
    files: BTreeMap<String, BTreeSet<PathBuf>>,
}

impl TypeNames {
    /// Notes the types of one file.
    pub fn note(&mut self, file: &Scanned) {
        if NOT_LOOKED_AT.iter().any(|directory| file.path.starts_with(directory)) {
            return;
        }
        let product = file.numbered().filter(|(number, _)| !file.is_test(*number));
        for name in product.filter_map(|(_, code)| public_type(code)).filter(|name| !is_one_each(&file.path, name)) {
            self.files.entry(name.to_owned()).or_default().insert(file.path.clone());
        }
    }

    /// Names in more files than they may be, and waivers that are no longer needed.
    pub fn findings(&self) -> Vec<Finding> {
        let waived = |name: &str| SHARED_NAMES.iter().find(|(waived, _)| *waived == name).map_or(1, |(_, most)| *most);
        let shared = self.files.iter().filter(|(name, files)| files.len() > waived(name)).map(|(name, files)| {
            let places: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
            Finding::new(places.join(", "), format!("{name} is the name of several types"), "name what each of them is")
        });
        let is_single = |name: &str| self.files.get(name).is_none_or(|files| files.len() == 1);
        let stale = SHARED_NAMES.iter().filter(|(name, _)| is_single(name)).map(|(name, _)| {
            Finding::new("xtask/src/tidy/type_names.rs", format!("{name} is shared no longer"), "remove its waiver")
        });
        shared.chain(stale).collect()
    }
}

/// The name of a type that other modules may use.
fn public_type(code: &str) -> Option<&str> {
    let rest = code.trim_start().strip_prefix("pub")?;
    let rest = if rest.starts_with('(') { rest.split_once(')')?.1 } else { rest };
    let rest = rest.strip_prefix(' ')?;
    let rest = rest.strip_prefix("unsafe ").unwrap_or(rest);
    let name = DECLARATIONS.iter().find_map(|declaration| rest.strip_prefix(declaration))?;
    name.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()
}

fn is_one_each(path: &Path, name: &str) -> bool {
    ONE_EACH.iter().any(|(directory, each)| path.starts_with(directory) && *each == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(files: &[(&str, &str)]) -> Vec<String> {
        let mut names = TypeNames::default();
        files.iter().for_each(|(path, text)| names.note(&Scanned::new(Path::new(path), text)));
        let findings = names.findings().into_iter().map(|finding| finding.rule);
        findings.filter(|rule| !rule.ends_with("no longer")).collect()
    }

    #[test]
    fn a_public_type_has_a_name_of_its_own() {
        for declaration in
            ["pub struct Abc;", "pub(crate) enum Abc {}", "pub unsafe trait Abc {}", "pub type Abc<T> = T;"]
        {
            let found = rules(&[("engines/a/src/x.rs", declaration), ("commands/src/y.rs", "pub struct Abc {\n}")]);
            assert_eq!(found, ["Abc is the name of several types"], "{declaration}");
        }
    }

    #[test]
    fn private_types_and_tools_may_share_one() {
        let other = ("commands/src/y.rs", "pub struct Abc {\n}");
        assert_eq!(rules(&[("engines/a/src/x.rs", "struct Abc;"), other]).len(), 0);
        assert_eq!(rules(&[("engines/a/src/x.rs", "#[cfg(test)]\npub struct Abc;"), other]).len(), 0);
        assert_eq!(rules(&[("bench/src/x.rs", "pub struct Abc;"), other]).len(), 0);
        assert_eq!(
            rules(&[("engines/a/src/x.rs", "pub struct Abc;\npub fn abc() {}"), ("a", "pub struct Abcd;")]).len(),
            0
        );
    }

    #[test]
    fn every_command_has_its_plan() {
        let plan = "pub struct Plan {\n}";
        assert_eq!(rules(&[("commands/src/a.rs", plan), ("commands/src/b.rs", plan)]).len(), 0);
        assert_eq!(rules(&[("engines/a/src/x.rs", plan), ("engines/b/src/x.rs", plan)]).len(), 1);
    }

    #[test]
    fn a_waived_name_may_not_spread() {
        let (name, most) = SHARED_NAMES.first().expect("remove this test with the last waiver");
        let texts: Vec<(String, String)> =
            (0..=*most).map(|number| (format!("engines/a/src/{number}.rs"), format!("pub struct {name};"))).collect();
        let files: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        assert_eq!(rules(&files[..*most]).len(), 0);
        assert_eq!(rules(&files).len(), 1);
    }
}
