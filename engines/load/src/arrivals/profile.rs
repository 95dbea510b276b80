//! A rate that may change: segments between two rates, linear in between, in closed form both ways.

use std::fmt;
use std::str::FromStr;

/// A part of a profile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSegment {
    /// Transactions a second at its beginning.
    pub from: f64,
    /// At its end.
    pub to: f64,
    /// How long it is; the last may be endless.
    pub seconds: f64,
}

impl RateSegment {
    fn count(&self) -> f64 {
        if self.seconds.is_infinite() && self.from == 0.0 && self.to == 0.0 {
            return 0.0;
        }
        (self.from + self.to) / 2.0 * self.seconds
    }

    /// When `count` arrivals have been, in seconds since its beginning.
    fn time_of(&self, count: f64) -> f64 {
        if count <= 0.0 {
            return 0.0;
        }
        let slope = if self.seconds.is_finite() { (self.to - self.from) / self.seconds } else { 0.0 };
        // The root of a quadratic equation in the form that loses no digits where the slope is small.
        2.0 * count / (self.from + (self.from * self.from + 2.0 * slope * count).max(0.0).sqrt())
    }

    fn rate_at(&self, seconds: f64) -> f64 {
        if self.seconds.is_finite() { self.from + (self.to - self.from) * seconds / self.seconds } else { self.from }
    }
}

/// How many transactions are due a second, over time.
#[derive(Clone, Debug, PartialEq)]
pub struct RateProfile {
    segments: Vec<RateSegment>,
    /// Whether it begins again at its end; otherwise its last rate stays.
    repeats: bool,
}

/// LIMIT: higher rates are not kept by any generator, and their gaps are below what clocks tell apart.
const RATE_MAX: f64 = 1e8;

/// Why a text is no profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// A number that is none, or out of bounds.
    #[error("'{0}' is not a rate: a number of transactions a second, above 0 and at most 1e8")]
    Rate(String),
    /// A duration that is none.
    #[error("'{0}' is not a duration, such as 30s, 500ms or 2m")]
    Duration(String),
    /// A part that has no duration and is not the last.
    #[error("'{0}' has no duration (RATE@TIME), and only the last part may go on for ever")]
    Endless(String),
    /// Nothing is ever due.
    #[error("at this rate nothing is ever due")]
    Never,
}

impl RateProfile {
    /// Always the same rate.
    pub fn constant(rate: f64) -> Result<Self, ProfileError> {
        if !(rate > 0.0 && rate <= RATE_MAX) {
            return Err(ProfileError::Rate(rate.to_string()));
        }
        Ok(Self { segments: vec![RateSegment { from: rate, to: rate, seconds: f64::INFINITY }], repeats: false })
    }

    /// The highest rate there is.
    pub fn rate_max(&self) -> f64 {
        self.segments.iter().fold(0.0, |most, segment| most.max(segment.from).max(segment.to))
    }

    /// The rate `seconds` after the beginning.
    pub fn rate_at(&self, seconds: f64) -> f64 {
        let mut left = if self.repeats { seconds % self.seconds() } else { seconds };
        for segment in &self.segments {
            if left < segment.seconds {
                return segment.rate_at(left);
            }
            left -= segment.seconds;
        }
        self.segments.last().map_or(0.0, |segment| segment.to)
    }

    /// When the arrival behind `count` others is due, in seconds; none if it never is.
    pub fn time_of(&self, count: f64) -> Option<f64> {
        let (mut left, mut before) = (count, 0.0);
        if self.repeats {
            let (round, seconds) = (self.count(), self.seconds());
            let rounds = (count / round).floor();
            (left, before) = (count - rounds * round, rounds * seconds);
        }
        for segment in &self.segments {
            let in_segment = segment.count();
            if left < in_segment {
                return Some(before + segment.time_of(left));
            }
            left -= in_segment;
            before += segment.seconds;
        }
        let rate = self.segments.last().map_or(0.0, |segment| segment.to);
        match self.repeats {
            // What rounding left over belongs to the next round's first instant.
            true => Some(before),
            false => (rate > 0.0 && before.is_finite()).then(|| before + left / rate),
        }
    }

    fn count(&self) -> f64 {
        self.segments.iter().map(RateSegment::count).sum()
    }

    fn seconds(&self) -> f64 {
        self.segments.iter().map(|segment| segment.seconds).sum()
    }
}

/// `500`, `100@30s,200@30s`, `0..1000@60s,1000`, and with `,repeat` at the end from the beginning again.
impl FromStr for RateProfile {
    type Err = ProfileError;

    fn from_str(text: &str) -> Result<Self, ProfileError> {
        let (parts, repeats) = text.strip_suffix(",repeat").map_or((text, false), |parts| (parts, true));
        let mut segments: Vec<RateSegment> = Vec::new();
        for part in parts.split(',') {
            if let Some(last) = segments.last().filter(|last| last.seconds.is_infinite()) {
                return Err(ProfileError::Endless(last.to.to_string()));
            }
            segments.push(segment(part)?);
        }
        let endless = segments.last().filter(|last| last.seconds.is_infinite());
        if let (true, Some(last)) = (repeats, endless) {
            return Err(ProfileError::Endless(last.to.to_string()));
        }
        let profile = Self { segments, repeats };
        // A count of nothing at all would be divided by.
        if profile.count() > 0.0 { Ok(profile) } else { Err(ProfileError::Never) }
    }
}

fn segment(part: &str) -> Result<RateSegment, ProfileError> {
    let (rates, seconds) = match part.split_once('@') {
        Some((rates, time)) => (rates, duration(time)?),
        None => (part, f64::INFINITY),
    };
    let (from, to) = match rates.split_once("..") {
        Some(_) if seconds.is_infinite() => return Err(ProfileError::Endless(part.to_owned())),
        Some((from, to)) => (rate(from)?, rate(to)?),
        None => (rate(rates)?, rate(rates)?),
    };
    Ok(RateSegment { from, to, seconds })
}

fn rate(text: &str) -> Result<f64, ProfileError> {
    let rate = text.trim().parse::<f64>().ok().filter(|rate| (0.0..=RATE_MAX).contains(rate));
    rate.ok_or_else(|| ProfileError::Rate(text.to_owned()))
}

fn duration(text: &str) -> Result<f64, ProfileError> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = match unit {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(ProfileError::Duration(text.to_owned())),
    };
    let seconds =
        number.parse::<f64>().ok().map(|number| number * unit).filter(|seconds| (1e-3..=1e9).contains(seconds));
    seconds.ok_or_else(|| ProfileError::Duration(text.to_owned()))
}

impl fmt::Display for RateProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, segment) in self.segments.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { "," })?;
            match segment.from == segment.to {
                true => write!(f, "{}", segment.from)?,
                false => write!(f, "{}..{}", segment.from, segment.to)?,
            }
            if segment.seconds.is_finite() {
                write!(f, "@{}s", segment.seconds)?;
            }
        }
        f.write_str(if self.repeats { ",repeat" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_no_profile_is_refused_with_the_part_that_is_wrong() {
        let error = |text: &str| RateProfile::from_str(text).expect_err(text).to_string();
        assert!(error("x").contains("'x' is not a rate"));
        assert!(error("-1").contains("'-1'"));
        assert!(error("NaN").contains("'NaN'"));
        assert!(error("100@x").contains("'x' is not a duration"));
        assert!(error("100,200@3s").contains("'100' has no duration"));
        assert!(error("100,repeat").contains("'100' has no duration"));
        assert!(error("1..5").contains("'1..5' has no duration"));
        assert_eq!(RateProfile::from_str("0"), Err(ProfileError::Never));
        assert_eq!(RateProfile::from_str("0@5s,repeat"), Err(ProfileError::Never));
    }

    #[test]
    fn bursts_come_again() {
        let bursts: RateProfile = "100@9s,1000@1s,repeat".parse().expect("a profile");
        assert_eq!(bursts.time_of(900.0), Some(9.0));
        assert_eq!(bursts.time_of(1900.0), Some(10.0));
        assert_eq!(bursts.time_of(2800.0), Some(19.0));
        assert_eq!((bursts.rate_at(8.9), bursts.rate_at(19.5), bursts.rate_max()), (100.0, 1000.0, 1000.0));
        assert_eq!(bursts.to_string(), "100@9s,1000@1s,repeat");
    }

    #[test]
    fn a_pause_has_no_arrivals_and_the_last_rate_stays() {
        let pause: RateProfile = "10@1s,0@5s,20@1s".parse().expect("a profile");
        assert_eq!(pause.time_of(9.0), Some(0.9));
        assert_eq!(pause.time_of(10.0), Some(6.0));
        assert_eq!(pause.time_of(50.0), Some(8.0));
        let ended: RateProfile = "10@1s,0".parse().expect("a profile");
        assert_eq!(ended.time_of(10.0), None);
    }

    proptest! {
        #[test]
        fn times_never_run_backwards(rates in proptest::collection::vec((0_u32..500, 0_u32..500, 1_u32..30), 1..6), repeats: bool) {
            let parts: Vec<String> = rates.iter().map(|(from, to, seconds)| format!("{from}..{to}@{seconds}s")).collect();
            let text = parts.join(",") + if repeats { ",repeat" } else { "" };
            let Ok(profile) = text.parse::<RateProfile>() else { return Ok(()) };
            let mut last = 0.0;
            for count in 0..2000 {
                let Some(time) = profile.time_of(f64::from(count)) else { break };
                prop_assert!(time >= last - 1e-9, "{text}: {count}: {time} after {last}");
                last = time;
            }
        }
    }
}
