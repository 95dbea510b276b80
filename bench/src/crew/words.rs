//! What taking and giving back cost at the words, and how soon a dead run's hands are in use again: measured by a test of
//! the crate `crew`, since the scripts use no crate of ours. Reads what it prints.

use std::process::Command;
use xtask::workspace::root;

/// A line of the test.
#[derive(Debug, PartialEq)]
pub struct Figure {
    pub name: String,
    pub value: f64,
    pub unit: String,
}

/// Builds and runs the test.
pub fn measure() -> Result<Vec<Figure>, String> {
    let mut cargo = Command::new("cargo");
    cargo.args(["test", "--quiet", "--release", "--package", "manyhands-crew", "--test", "bench_of_hands", "--"]);
    cargo.args(["--ignored", "--nocapture", "--test-threads=1"]).current_dir(root());
    let output = cargo.output().map_err(|error| format!("could not run cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "bench_of_hands ended with {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    let figures: Vec<Figure> = String::from_utf8_lossy(&output.stdout).lines().filter_map(figure).collect();
    if figures.is_empty() { Err("bench_of_hands told no figure".to_owned()) } else { Ok(figures) }
}

/// `figure NAME: VALUE UNIT`.
fn figure(line: &str) -> Option<Figure> {
    let (name, value) = line.strip_prefix("figure ")?.rsplit_once(": ")?;
    let (value, unit) = value.split_once(' ')?;
    Some(Figure { name: name.to_owned(), value: value.parse().ok()?, unit: unit.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_lines_of_their_own() {
        let read = figure("figure take: and give back: 24.1 ns");
        assert_eq!(read, Some(Figure { name: "take: and give back".into(), value: 24.1, unit: "ns".into() }));
        assert_eq!((figure("test holder ... ok"), figure("figure it: out")), (None, None));
    }
}
