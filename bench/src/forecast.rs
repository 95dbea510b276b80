//! Holds forecasts against real runs: a run on one core says what two would take, then two are taken and timed from outside.
//! Forecasts nothing itself.

use super::judge::median;
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::Instant;

/// A command line, with what stands before and behind it in the pipe.
pub struct Check {
    pub name: String,
    pub before: String,
    pub command: String,
    pub after: String,
}

/// One round: a run on one core with its forecast, and a run on two.
#[derive(Clone, Copy)]
pub struct Round {
    pub one_core_s: f64,
    pub expected_s: f64,
    pub measured_s: f64,
}

/// What came of a check.
pub struct Checked {
    pub name: String,
    pub rounds: Vec<Round>,
}

impl Checked {
    /// The median of each figure.
    pub fn middle(&self) -> Round {
        let middle = |figure: fn(&Round) -> f64| median(&self.rounds.iter().map(figure).collect::<Vec<_>>());
        Round {
            one_core_s: middle(|round| round.one_core_s),
            expected_s: middle(|round| round.expected_s),
            measured_s: middle(|round| round.measured_s),
        }
    }

    /// How far the forecast was off, as a share of what was measured.
    pub fn error(&self) -> f64 {
        let Round { expected_s, measured_s, .. } = self.middle();
        expected_s / measured_s - 1.0
    }
}

/// LIMIT: a forecast further off than this is missed.
pub const ERROR_MAX: f64 = 0.15;

/// Interleaves runs on one core and on two.
pub fn check(check: &Check, rounds: usize) -> Result<Checked, String> {
    let mut measured = Vec::with_capacity(rounds);
    for round in 0..=rounds {
        let (one_core_s, report) = run(check, "-j1 --report=json")?;
        let (measured_s, _) = run(check, "-j2 --report=json")?;
        let expected_s = expected_seconds(&report, 2).ok_or_else(|| format!("no forecast for 2 cores in {report}"))?;
        // The first round warms up.
        if round > 0 {
            measured.push(Round { one_core_s, expected_s, measured_s });
        }
    }
    Ok(Checked { name: check.name.clone(), rounds: measured })
}

/// Wall seconds of the command line, and the report.
fn run(check: &Check, options: &str) -> Result<(f64, String), String> {
    let script = format!("{} {} {options} {}", check.before, check.command, check.after);
    let begin = Instant::now();
    let output = Command::new("sh")
        .args(["-c", &script])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("could not run {script}: {error}"))?;
    let wall_s = begin.elapsed().as_secs_f64();
    let report = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        return Ok((wall_s, report));
    }
    Err(format!("{script} ended with {}: {report}", output.status))
}

fn parsed(report: &str) -> Option<Value> {
    report.lines().find_map(|line| serde_json::from_str(line).ok())
}

/// What a report expects of a number of cores.
fn expected_seconds(report: &str, cores: u64) -> Option<f64> {
    let report = parsed(report)?;
    let points = report["forecast"]["points"].as_array()?;
    points.iter().find(|point| point["cores"].as_u64() == Some(cores))?["seconds"].as_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forecast_is_found_in_a_report() {
        let report = r#"{"forecast":{"points":[{"cores":1,"seconds":4.0},{"cores":2,"seconds":2.5}]}}"#;
        assert_eq!(expected_seconds(report, 2), Some(2.5));
        assert_eq!(expected_seconds(&format!("a warning\n{report}"), 2), Some(2.5));
        assert_eq!(expected_seconds(report, 8), None);
        assert_eq!(expected_seconds("no report", 2), None);
    }

    #[test]
    fn a_check_takes_the_command_at_its_word() {
        let script = r#"sh -c 'echo "{\"forecast\":{\"points\":[{\"cores\":2,\"seconds\":0.5}]}}" >&2; sleep 0.05' sh"#;
        let it = Check { name: "a".into(), before: "true |".into(), command: script.into(), after: "| cat".into() };
        let checked = check(&it, 2).expect("it forecasts");
        assert_eq!(checked.rounds.len(), 2);
        assert_eq!(checked.middle().expected_s, 0.5);
        assert!(checked.middle().measured_s >= 0.05);
        let silent = Check { command: "true".into(), ..it };
        assert!(check(&silent, 1).err().expect("no forecast").starts_with("no forecast"));
    }

    #[test]
    fn errors_are_shares_of_what_was_measured() {
        let round = |expected_s| Round { one_core_s: 9.0, expected_s, measured_s: 2.0 };
        let checked = Checked { name: "a".into(), rounds: vec![round(1.0), round(1.5), round(9.0)] };
        assert_eq!(checked.error(), -0.25);
    }
}
