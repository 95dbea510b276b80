//! What the instruments have in common: a screen, a pace, intervals as typed, fields of CSV. Knows no samples.

pub mod grammar;
pub mod live;
pub mod look;
pub mod pace;

use crate::failure::{Failure, with_causes};
use clap::Args;
use look::{LookArgs, TextLook};
use std::error::Error;
use std::time::Duration;

/// How a result is written, as typed. Commands that have more to say about it change the help.
#[derive(Args, Clone, Copy, Debug)]
pub struct FormatArgs {
    /// Print one JSON object
    #[arg(long, conflicts_with = "csv")]
    json: bool,

    /// Print comma-separated values
    #[arg(long)]
    csv: bool,

    #[command(flatten)]
    look: LookArgs,
}

/// How a result is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Text,
    /// JSON.
    Json,
    /// Comma-separated values.
    Csv,
}

impl FormatArgs {
    /// The one that was asked for.
    pub fn format(self) -> Format {
        match (self.json, self.csv) {
            (true, _) => Format::Json,
            (false, true) => Format::Csv,
            (false, false) => Format::Text,
        }
    }

    /// How text looks.
    pub fn look(self) -> TextLook {
        self.look.look()
    }
}

/// A failure of the machine or of a file, in words.
pub fn failure(command: &'static str, error: &(dyn Error + 'static)) -> Failure {
    Failure::Environment { command, message: with_causes(error) }
}

/// Whether `/proc/PID/status` is of a process that has ended and was not waited for, which may last for ever. One whose first thread
/// alone has ended looks alike, but for the number of its threads.
pub fn is_unburied(status: &str) -> bool {
    let value = |key: &str| status.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
    value("State:").is_some_and(|state| state.starts_with(['Z', 'X'])) && value("Threads:") == Some("1")
}

/// Reads an interval: `10`, `500ms`, `1h30m`.
pub fn parse_interval(text: &str) -> Result<Duration, String> {
    // LIMIT: below a tick nothing is measured but the tick itself; above ten years the clock's own arithmetic ends.
    const SECONDS: std::ops::RangeInclusive<f64> = 0.01..=3e8;
    let time = terminal::parse_duration(text).map_err(|error| error.to_string())?;
    let is_measurable = SECONDS.contains(&time.as_secs_f64());
    if is_measurable {
        Ok(time)
    } else {
        Err("10ms is the shortest that is measured, ten years the longest".to_owned())
    }
}

/// Names as a CSV field: escaped for people's terminals, quoted where the format needs it (RFC 4180).
pub fn csv_field(text: &str) -> String {
    let text = terminal::printable(text);
    match text.contains([',', '"']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_seconds_from_a_tick_on() {
        assert_eq!(parse_interval("0.5"), Ok(Duration::from_millis(500)));
        for bad in ["0", "-1", "0.001", "ten", "inf", "nan", "1e300", ""] {
            assert!(parse_interval(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn hostile_names_stay_one_field() {
        assert_eq!(csv_field("a,\"b\"\n\x1b"), "\"a,\"\"b\"\"\\n\\x1b\"");
        assert_eq!(csv_field("plain"), "plain");
    }
}
