//! The suites of single instruments: each line of their run directory is one figure, what it was held against, and what was due.
//! Does not interleave programs as the other suites do: each check orders its own runs.

pub mod fit;
pub mod sysstat;
pub mod timers;

use super::machine;
use std::fmt::Write;
use xtask::workspace::root;

/// One figure beside the truth or a rival.
pub struct Line {
    /// What was measured.
    pub name: String,
    /// Ours, with its unit.
    pub ours: String,
    /// What it was held against, with its unit.
    pub against: String,
    /// What was due, in words; none where it is shown for contrast.
    pub due: Option<Due>,
}

/// What was due, and whether it was met.
pub struct Due {
    pub words: &'static str,
    pub is_met: bool,
}

/// Writes `bench/runs/<date>-<machine>-<suffix>` and says what came of it.
pub fn finish(suffix: &str, command: &str, how: &str, lines: &[Line], left_out: &[String]) -> Result<(), String> {
    let name = format!("{}-{}-{suffix}", machine::date(), machine::name());
    // A run is never written over another.
    let names = std::iter::once(name.clone()).chain((2..).map(|again| format!("{name}-{again}")));
    let directory = names.map(|name| root().join("bench/runs").join(name)).find(|directory| !directory.exists());
    let directory = directory.ok_or("no name is left for the run's directory")?;
    let fail = |error: std::io::Error| format!("could not write {}: {error}", directory.display());
    std::fs::create_dir_all(&directory).map_err(fail)?;
    let mut text = format!(
        "# {suffix}\n\n`{command}` on {} with kernel {}; load before: {}\n\n{how}\n\n| what | ours | against | due |\n|---|---|---|---|\n",
        machine::cpu_model(),
        machine::kernel(),
        machine::load()
    );
    let mut raw = "what,ours,against,due,met\n".to_owned();
    for Line { name, ours, against, due } in lines {
        let (words, met) =
            due.as_ref().map_or(("for contrast", ""), |due| (due.words, if due.is_met { "met" } else { "MISSED" }));
        let line = format!("| {name} | {ours} | {against} | {words} {met} |");
        println!("{line}");
        writeln!(text, "{}", line.replace("  |", " |")).map_err(|error| error.to_string())?;
        writeln!(raw, "{}", [name, ours, against, words, met].map(|cell| cell.replace(',', ";")).join(","))
            .map_err(|error| error.to_string())?;
    }
    for reason in left_out {
        println!("left out: {reason}");
        writeln!(text, "\nLeft out: {reason}").map_err(|error| error.to_string())?;
    }
    std::fs::write(directory.join("README.md"), text).map_err(fail)?;
    std::fs::write(directory.join("raw.csv"), raw).map_err(fail)?;
    println!("written: {}", directory.display());
    let missed = lines.iter().filter_map(|line| line.due.as_ref()).filter(|due| !due.is_met).count();
    if missed == 0 { Ok(()) } else { Err(format!("{missed} figures are not what was due")) }
}

/// A number out of an answer in JSON.
pub fn number(answer: &serde_json::Value, path: &str) -> Result<f64, String> {
    answer.pointer(path).and_then(serde_json::Value::as_f64).ok_or_else(|| format!("no {path} in {answer}"))
}

/// What a program printed, as JSON.
pub fn answer(program: &std::path::Path, arguments: &[&str]) -> Result<serde_json::Value, String> {
    let output = std::process::Command::new(program).args(arguments).output();
    let output = output.map_err(|error| format!("could not run {}: {error}", program.display()))?;
    if !output.status.success() {
        return Err(format!("{arguments:?} ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("{arguments:?} printed no JSON: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_their_path() {
        let found = answer("/bin/echo".as_ref(), &[r#"{"a":{"b":[1,2.5]}}"#]).expect("JSON");
        assert_eq!(number(&found, "/a/b/1"), Ok(2.5));
        assert!(number(&found, "/a/c").is_err());
        assert!(answer("/bin/false".as_ref(), &[]).is_err() && answer("/bin/echo".as_ref(), &["x"]).is_err());
    }
}
