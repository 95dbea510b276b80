//! Every `plan` of a command has unit tests: an acceptance test of a decision costs a hundred times as much.
//! A test is in the same file, or in a test module beside it (`<file>/tests.rs`), and calls the function.

use super::Finding;
use super::scanned::Scanned;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const DEFINITION: &str = "fn plan(";
const CALL: &str = "plan(";

/// Where plans are made, and where they are called by tests.
#[derive(Default)]
pub struct Plans {
    made: Vec<(PathBuf, String)>,
    tested: BTreeSet<PathBuf>,
}

impl Plans {
    /// Notes what one file has of both.
    pub fn note(&mut self, file: &Scanned) {
        if !file.path.starts_with("commands") {
            return;
        }
        for (number, line) in file.numbered() {
            match (file.is_test(number), line.contains(DEFINITION)) {
                (false, true) => self.made.push((file.path.clone(), file.place(number))),
                (true, false) if calls(line) => drop(self.tested.insert(file.path.clone())),
                _ => {}
            }
        }
    }

    /// Plans without a test.
    pub fn findings(&self) -> Vec<Finding> {
        let untested = self.made.iter().filter(|(path, _)| !self.is_tested(path));
        let finding = |(_, place): &(PathBuf, String)| {
            Finding::new(place, "this plan has no test", "call it in a unit test, with the machine that it decides for")
        };
        untested.map(finding).collect()
    }

    fn is_tested(&self, path: &Path) -> bool {
        [path.to_owned(), path.with_extension("").join("tests.rs")].iter().any(|place| self.tested.contains(place))
    }
}

/// Whether the line calls a function of that very name.
fn calls(line: &str) -> bool {
    let is_whole = |at: usize| !line[..at].ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
    line.match_indices(CALL).any(|(at, _)| is_whole(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(files: &[(&str, &str)]) -> Vec<String> {
        let mut plans = Plans::default();
        files.iter().for_each(|(path, text)| plans.note(&Scanned::new(Path::new(path), text)));
        plans.findings().into_iter().map(|finding| finding.place).collect()
    }

    #[test]
    fn a_plan_is_called_by_a_test_in_its_file_or_beside_it() {
        let made = "fn plan(args: &Args) -> Plan {\n}\n";
        let tested = format!("{made}#[cfg(test)]\nmod tests {{\n    fn a() {{ let it = plan(&args()); }}\n}}\n");
        assert_eq!(findings(&[("commands/trees/src/rm.rs", made)]), ["commands/trees/src/rm.rs:1"]);
        assert!(findings(&[("commands/trees/src/rm.rs", &tested)]).is_empty());
        let beside = ("commands/trees/src/rm/tests.rs", "fn a() { super::plan(&args()); }\n");
        assert!(findings(&[("commands/trees/src/rm.rs", made), beside]).is_empty());
        let other = tested.replace("= plan(", "= explain_plan(");
        assert_eq!(findings(&[("commands/trees/src/rm.rs", &other)]).len(), 1, "another function's test");
        assert!(findings(&[("engines/codec/src/a.rs", made)]).is_empty());
    }
}
