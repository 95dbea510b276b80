//! When a run stops before its list ends: GNU parallel's `--halt` as a pure rule over counts.

use std::fmt;
use std::str::FromStr;

/// A rule for stopping early.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Halt {
    /// What happens to jobs that run.
    pub manner: HaltManner,
    kind: Kind,
    amount: Amount,
}

/// What happens to jobs that run when a run stops early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HaltManner {
    /// They end by themselves; no more start.
    Soon,
    /// They are ended.
    Now,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Fail,
    Success,
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Amount {
    Count(u64),
    Share(f64),
    Never,
}

/// How many jobs have ended, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndCounts {
    /// With success.
    pub succeeded: u64,
    /// Without.
    pub failed: u64,
}

/// LIMIT: a share means little before this many jobs have ended (GNU parallel's own number).
const SHARE_COUNTS_FROM: u64 = 3;

impl Halt {
    /// Whether the rule is met. A share is of the whole list, where its length is known, else of what has ended.
    pub fn is_met(&self, counts: EndCounts, total: Option<u64>) -> bool {
        let ended = counts.succeeded + counts.failed;
        let counted = match self.kind {
            Kind::Fail => counts.failed,
            Kind::Success => counts.succeeded,
            Kind::Done => ended,
        };
        match self.amount {
            Amount::Never => false,
            Amount::Count(count) => counted >= count,
            Amount::Share(share) => {
                ended >= SHARE_COUNTS_FROM && counted as f64 >= share * total.unwrap_or(ended) as f64 && counted > 0
            }
        }
    }
}

impl Halt {
    /// COMPAT: a run that was to go on until so many succeeded has done what it was to do, whatever else failed.
    pub fn is_for_success(&self) -> bool {
        self.kind == Kind::Success
    }
}

/// As it is typed.
impl fmt::Display for Halt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let manner = if self.manner == HaltManner::Now { "now" } else { "soon" };
        let kind = match self.kind {
            Kind::Fail => "fail",
            Kind::Success => "success",
            Kind::Done => "done",
        };
        match self.amount {
            Amount::Never => formatter.write_str("never"),
            Amount::Count(count) => write!(formatter, "{manner},{kind}={count}"),
            Amount::Share(share) => write!(formatter, "{manner},{kind}={}%", share * 100.0),
        }
    }
}

/// `now,fail=1`, `soon,success=50%`, `soon,done=10`, `never`, and the old `0` (never), `1` (soon, one failure) and `2` (now).
impl FromStr for Halt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = match text {
            "never" | "0" => return Ok(Self { manner: HaltManner::Soon, kind: Kind::Done, amount: Amount::Never }),
            "1" => "soon,fail=1",
            "2" => "now,fail=1",
            other => other,
        };
        let refused =
            || "a rule is never, or now or soon, a comma, fail, success or done, =, and N or N%: now,fail=1".to_owned();
        let (manner, rule) = text.split_once(',').ok_or_else(refused)?;
        let (kind, amount) = rule.split_once('=').ok_or_else(refused)?;
        let manner = match manner {
            "now" => HaltManner::Now,
            "soon" => HaltManner::Soon,
            _ => return Err(refused()),
        };
        let kind = match kind {
            "fail" => Kind::Fail,
            "success" => Kind::Success,
            "done" => Kind::Done,
            _ => return Err(refused()),
        };
        let amount = match amount.strip_suffix('%') {
            Some(share) => share.parse().ok().map(|share: f64| Amount::Share(share / 100.0)),
            None => amount.parse().ok().filter(|count| *count > 0).map(Amount::Count),
        };
        Ok(Self { manner, kind, amount: amount.ok_or_else(refused)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_met_when_they_say() {
        let met = |text: &str, succeeded, failed, total| {
            text.parse::<Halt>().expect("a rule").is_met(EndCounts { succeeded, failed }, total)
        };
        assert!(met("now,fail=1", 0, 1, None) && !met("now,fail=2", 9, 1, None));
        assert!(met("soon,done=3", 2, 1, None) && met("soon,success=1", 1, 0, None));
        assert!(!met("never", 0, 9, None) && !met("0", 9, 0, Some(9)));
        assert!(!met("soon,fail=50%", 0, 2, None) && met("soon,fail=50%", 1, 2, None));
        assert!(!met("soon,fail=50%", 1, 2, Some(10)) && met("soon,fail=50%", 1, 5, Some(10)));
        assert_eq!("2".parse::<Halt>().expect("a rule").manner, HaltManner::Now);
        for text in ["now,fail=1", "soon,success=50%", "soon,done=3", "never"] {
            assert_eq!(text.parse::<Halt>().expect("a rule").to_string(), text);
        }
    }

    #[test]
    fn what_is_no_rule_is_refused() {
        for text in ["", "now", "now,fail", "later,fail=1", "now,fail=0", "now,fall=1", "now,fail=x%"] {
            assert!(text.parse::<Halt>().is_err(), "{text}");
        }
    }
}
