//! The first page: each row of its table of times stands in the table of runs with the same figures, and each command's page is
//! linked from it and from the list of pages. Judges no figure.

use super::Finding;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use xtask::workspace;

const README: &str = "README.md";
const LIST: &str = "docs/README.md";
const RUNS: &str = "bench/runs/README.md";
const COMMANDS: &str = "docs/commands";

/// The README rounds to one decimal; the tables of runs, whose own figures are rounded, may lie on the border.
const ROUNDED_BY: f64 = 0.051;

/// A tool with its number of cores, and how many times faster ours is.
type Times = BTreeMap<(String, u32), f64>;

/// Checks both.
pub fn check(files: &[PathBuf]) -> Result<Vec<Finding>, String> {
    let (readme, list) = (workspace::read(Path::new(README))?, workspace::read(Path::new(LIST))?);
    let mut findings = unfounded(&of_readme(&readme), &of_runs(&workspace::read(Path::new(RUNS))?));
    findings.extend(unlinked(files, [(README, "docs/commands/", &readme), (LIST, "commands/", &list)]));
    Ok(findings)
}

fn unfounded(shown: &Times, founded: &Times) -> Vec<Finding> {
    let finding = |(tool, cores): &(String, u32), times: f64| {
        let rule = format!("no run shows {times} times {tool} on {cores} cores");
        Finding::new(README, rule, format!("name the run in {RUNS}, or leave the figure out"))
    };
    let is_founded = |row, times: f64| founded.get(row).is_some_and(|measured| (measured - times).abs() <= ROUNDED_BY);
    shown.iter().filter(|(row, times)| !is_founded(row, **times)).map(|(row, times)| finding(row, *times)).collect()
}

/// Cells of a table's rows, without its headings.
fn rows<'text>(text: &'text str, heading: &str) -> impl Iterator<Item = Vec<&'text str>> {
    let table = text.split_once(heading).map_or("", |(_, table)| table);
    let lines = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    lines.map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
}

fn of_readme(text: &str) -> Times {
    let mut times = Times::new();
    for row in rows(text, "| your tool | ours |") {
        let [tool, _, two, sixteen] = row[..] else { continue };
        for (cores, cell) in [(2, two), (16, sixteen)] {
            times.extend(cell.parse().ok().map(|figure| ((tool.to_owned(), cores), figure)));
        }
    }
    times
}

/// A row without a tool is of the one above.
fn of_runs(text: &str) -> Times {
    let (mut times, mut above) = (Times::new(), "");
    for row in rows(text, "| row | cores |") {
        let [tool, cores, figure, ..] = row[..] else { continue };
        above = if tool.is_empty() { above } else { tool };
        if let (Ok(cores), Ok(figure)) = (cores.parse(), figure.parse()) {
            times.insert((above.to_owned(), cores), figure);
        }
    }
    times
}

fn unlinked<'text>(
    files: &[PathBuf],
    pages: impl IntoIterator<Item = (&'text str, &'text str, &'text String)>,
) -> Vec<Finding> {
    let commands: Vec<_> =
        files.iter().filter(|path| path.starts_with(COMMANDS)).filter_map(|path| path.file_name()).collect();
    let mut findings = Vec::new();
    for (page, place, text) in pages {
        for name in commands.iter().map(|name| name.to_string_lossy()) {
            if !text.contains(&format!("({place}{name})")) {
                findings.push(Finding::new(page, format!("no link to {COMMANDS}/{name}"), "add the command"));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_that_no_run_shows_is_refused() {
        let readme = "| your tool | ours | 2 cores | 16 cores |\n|---|---|---|---|\n| `a` | `x` | 2.6 | - |\n| `b` | `y` | 1.5 | 7.0 |\n";
        let shown = of_readme(readme);
        assert_eq!(shown.len(), 3, "{shown:?}");
        let runs = "| row | cores | times faster |\n|---|---|---|\n| `a` | 2 | 2.57 | r |\n| `b` | 2 | 1.52 | r |\n| | 16 | 6.95 | r |\n";
        assert_eq!(unfounded(&shown, &of_runs(runs)), []);
        let refused = unfounded(&shown, &of_runs(&runs.replace("2.57", "2.44").replace("| | 16", "| | 8")));
        let rules: Vec<_> = refused.into_iter().map(|finding| finding.rule).collect();
        assert_eq!(rules, ["no run shows 2.6 times `a` on 2 cores", "no run shows 7 times `b` on 16 cores"]);
    }

    #[test]
    fn a_command_without_a_link_is_refused() {
        let files = ["docs/commands/cp.md", "docs/commands/rm.md", "docs/json.md"].map(PathBuf::from);
        let text = "[cp](docs/commands/cp.md)".to_owned();
        let refused = unlinked(&files, [(README, "docs/commands/", &text)]);
        assert_eq!(refused.len(), 1, "{refused:?}");
        assert_eq!(refused[0].rule, "no link to docs/commands/rm.md");
    }
}
