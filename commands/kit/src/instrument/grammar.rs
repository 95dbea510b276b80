//! The command line that the instruments share: `[INTERVAL] [NAME|PID]...`, with `-p PID` and `-n COUNT`. Pure.

use super::parse_interval;
use std::time::Duration;

/// How words are read, in the same sentence in every help.
pub const SENTENCE: &str =
    "INTERVAL comes first (10, 500ms, 1h30m). A number behind it is a PID; for a PID alone use -p PID";

/// What measures by intervals measures for so long where nobody says. Long enough that a tick more or less changes no verdict.
pub const INTERVAL: Duration = Duration::from_secs(3);

/// LIMIT: a number up to this may be meant as a count, as with vmstat; larger ones are PIDs to everybody.
const LIKE_A_COUNT: u32 = 300;

/// Words, resolved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets {
    /// How long to measure; none where nobody said.
    pub interval: Option<Duration>,
    /// Processes by number.
    pub pids: Vec<u32>,
    /// Processes by name.
    pub names: Vec<String>,
    /// A number that could have been meant otherwise.
    lone: Option<LoneNumber>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LoneNumber {
    Interval(u32),
    Pid(u32),
}

impl Targets {
    /// Reads `words`, with the PIDs of `-p` behind them. `has_interval`: not for a recording, which has its own intervals. The error reads
    /// behind the command's name.
    pub fn read(words: &[String], options: &[u32], has_interval: bool) -> Result<Self, String> {
        let mut targets = Self::default();
        let mut rest = words;
        if let Some((first, others)) = words.split_first().filter(|(first, _)| has_interval && is_like_a_time(first)) {
            let wrong = |reason: String| format!("INTERVAL is {}: {reason}", terminal::quote(first));
            targets.interval = Some(parse_interval(first).map_err(wrong)?);
            rest = others;
        }
        for word in rest {
            match word.bytes().all(|byte| byte.is_ascii_digit()) && !word.is_empty() {
                true => targets.pids.push(pid(word)?),
                false => targets.names.push(word.clone()),
            }
        }
        targets.lone = match (words, rest, options) {
            ([first], [], []) => first.parse().ok().map(LoneNumber::Interval),
            ([_, _], [_], []) => targets.pids.first().copied().map(LoneNumber::Pid),
            _ => None,
        };
        targets.pids.extend(options);
        Ok(targets)
    }

    /// Whether everybody is meant.
    pub fn is_everybody(&self) -> bool {
        self.pids.is_empty() && self.names.is_empty()
    }

    /// A remark where a lone number could have been meant otherwise: how it was read, and how to say the other.
    pub fn remark(&self, is_process: impl Fn(u32) -> bool) -> Option<String> {
        match self.lone? {
            LoneNumber::Interval(number) if number > LIKE_A_COUNT && is_process(number) => {
                Some(format!("measuring for {number} s; process {number} is -p {number}"))
            }
            LoneNumber::Pid(number) if number <= LIKE_A_COUNT => {
                Some(format!("{number} is read as a PID; -n {number} repeats {number} times"))
            }
            _ => None,
        }
    }
}

/// A time, or digits that make none. What has letters and is no time is a name, such as 7z.
fn is_like_a_time(word: &str) -> bool {
    let has_digits_only = word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b'-');
    terminal::parse_duration(word).is_ok() || (has_digits_only && !word.is_empty())
}

fn pid(word: &str) -> Result<u32, String> {
    word.parse().ok().ok_or_else(|| "a process number is larger than any there is".to_owned())
}

/// Whether a process has this number now.
pub fn is_process(pid: u32) -> bool {
    std::path::Path::new("/proc").join(pid.to_string()).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str, options: &[u32]) -> Result<Targets, String> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        Targets::read(&words, options, true)
    }

    #[test]
    fn an_interval_comes_first_and_numbers_behind_it_are_processes() {
        let targets = read("10 mysqld 7141", &[9]).expect("good words");
        assert_eq!(targets.interval, Some(Duration::from_secs(10)));
        assert_eq!((targets.pids, targets.names), (vec![7141, 9], vec!["mysqld".to_owned()]));
        let named = read("mysqld 7141", &[]).expect("good words");
        assert_eq!((named.interval, named.pids, named.names.len()), (None, vec![7141], 1));
        for (typed, milliseconds) in [("1h30m", 5_400_000), ("500ms", 500), ("0.5", 500), ("10", 10_000)] {
            assert_eq!(read(typed, &[]).map(|targets| targets.interval), Ok(Some(Duration::from_millis(milliseconds))));
        }
        assert_eq!(read("", &[7]).map(|targets| (targets.interval, targets.pids)), Ok((None, vec![7])));
        let replayed = Targets::read(&["7141".to_owned()], &[], false).expect("a recording has its own intervals");
        assert_eq!((replayed.interval, replayed.pids), (None, vec![7141]));
    }

    #[test]
    fn what_looks_like_a_time_and_is_none_is_refused() {
        for typed in ["0", "0.001", "-1", "1ms", "1.2.3"] {
            assert!(read(typed, &[]).expect_err(typed).starts_with(&format!("INTERVAL is '{typed}': ")));
        }
        assert!(read("1 99999999999", &[]).expect_err("no such number").contains("larger than any"));
        for name in ["./a.out", "7z", "10x", ""] {
            assert_eq!(
                Targets::read(&[name.to_owned()], &[], true).map(|targets| targets.names),
                Ok(vec![name.to_owned()])
            );
        }
    }

    #[test]
    fn a_lone_number_that_could_be_meant_otherwise_is_remarked_on() {
        let remark = |words: &str, options: &[u32]| read(words, options).expect("good words").remark(|pid| pid == 4711);
        assert_eq!(remark("4711", &[]).as_deref(), Some("measuring for 4711 s; process 4711 is -p 4711"));
        assert_eq!(remark("1 5", &[]).as_deref(), Some("5 is read as a PID; -n 5 repeats 5 times"));
        for (words, options) in [("10", &[][..]), ("4712", &[]), ("1 4711", &[]), ("1 5 mysqld", &[]), ("4711", &[7])] {
            assert_eq!(remark(words, options), None, "{words}");
        }
    }
}
