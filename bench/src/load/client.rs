//! One run of a client: what it printed, and the CPU time and memory of its processes.

use super::server::BenchServer;
use std::process::{Command, Stdio};
use std::time::Instant;

/// What a run of a client took.
#[derive(Clone, Debug)]
pub struct ClientRun {
    /// What it printed.
    pub text: String,
    /// Of all its processes.
    pub cpu_s: f64,
    /// The largest of its processes.
    pub memory_mb: f64,
    /// From start to end.
    pub wall_s: f64,
    /// Of the server meanwhile.
    pub server_cpu_s: f64,
}

/// Runs a shell line under `time`, with the server's CPU time beside it.
pub fn run(line: &str, server: &BenchServer) -> Result<ClientRun, String> {
    let before = server.cpu_s();
    let began = Instant::now();
    let mut command = Command::new("/usr/bin/time");
    command.args(["-f", "\nbench-time %U %S %M", "sh", "-c", line]).stdin(Stdio::null());
    let output = command.output().map_err(|error| format!("could not run time: {error}"))?;
    let wall_s = began.elapsed().as_secs_f64();
    let server_cpu_s = server.cpu_s() - before;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let figures: Vec<f64> = said
        .lines()
        .find_map(|line| line.strip_prefix("bench-time "))
        .map(|rest| rest.split_whitespace().filter_map(|word| word.parse().ok()).collect())
        .unwrap_or_default();
    let [user_s, system_s, kib] = figures[..] else { return Err(format!("time said nothing of '{line}': {said}")) };
    // mh load ends with 3 where it refuses percentiles; its throughput counts.
    if !output.status.success() && output.status.code() != Some(3) {
        return Err(format!("'{line}' ended with {}: {said}", output.status));
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(ClientRun { text, cpu_s: user_s + system_s, memory_mb: kib * 1024.0 / 1e6, wall_s, server_cpu_s })
}

impl ClientRun {
    /// The first number behind `label`.
    pub fn number_behind(&self, label: &str) -> Result<f64, String> {
        let rest = self.text.split(label).nth(1).ok_or_else(|| format!("no '{label}' in {}", self.text))?;
        let digits: String = rest
            .chars()
            .skip_while(|letter| !letter.is_ascii_digit())
            .take_while(|letter| letter.is_ascii_digit() || *letter == '.')
            .collect();
        digits.parse().map_err(|error| format!("no number behind '{label}': {error}"))
    }

    /// The object that `mh load --json` printed at the end.
    pub fn end(&self) -> Result<serde_json::Value, String> {
        let last = self.text.lines().last().unwrap_or_default();
        serde_json::from_str(last).map_err(|error| format!("no JSON at the end of {}: {error}", self.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_behind_their_labels() {
        let run = ClientRun {
            text: "scaling factor: 10\ntps = 31313.5 (without)\n    transactions:   1234   (205.6 per sec.)\n"
                .to_owned(),
            cpu_s: 0.0,
            memory_mb: 0.0,
            wall_s: 1.0,
            server_cpu_s: 0.0,
        };
        assert_eq!(run.number_behind("tps ="), Ok(31313.5));
        assert_eq!(run.number_behind("transactions:"), Ok(1234.0));
        assert!(run.number_behind("errors:").is_err() && run.end().is_err());
    }
}
