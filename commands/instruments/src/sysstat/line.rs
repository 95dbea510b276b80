//! Lines of tinted pieces, and figures that fit into few columns. Plain data: a screen, a pipe and a test draw the same lines.

use terminal::{Colour, Tint};

/// Pieces of text, each as it stands out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TintedLine {
    pieces: Vec<(String, Option<Tint>)>,
}

impl TintedLine {
    /// One piece.
    pub fn of(text: impl Into<String>) -> Self {
        Self::default().and(text)
    }

    /// One piece that stands out.
    pub fn tinted(text: impl Into<String>, tint: Tint) -> Self {
        Self::default().and_tinted(text, Some(tint))
    }

    /// With a piece more.
    #[must_use]
    pub fn and(self, text: impl Into<String>) -> Self {
        self.and_tinted(text, None)
    }

    /// With a piece more that may stand out.
    #[must_use]
    pub fn and_tinted(mut self, text: impl Into<String>, tint: Option<Tint>) -> Self {
        self.pieces.push((text.into(), tint));
        self
    }

    /// Columns it takes.
    pub fn width(&self) -> usize {
        self.pieces.iter().map(|(text, _)| terminal::columns(text)).sum()
    }

    /// With the pieces of another behind it, from column `at` on, or right behind it where it is longer.
    #[must_use]
    pub fn beside(mut self, at: usize, other: Self) -> Self {
        let blanks = at.saturating_sub(self.width()).max(1);
        self.pieces.push((" ".repeat(blanks), None));
        self.pieces.extend(other.pieces);
        self
    }

    /// Its pieces.
    pub fn pieces(&self) -> impl Iterator<Item = (&str, Option<Tint>)> {
        self.pieces.iter().map(|(text, tint)| (text.as_str(), *tint))
    }

    /// As text with a line end; harmless whatever names it holds.
    pub fn text(&self, colour: Colour) -> String {
        let piece = |(text, tint): &(String, Option<Tint>)| {
            let text = terminal::printable(text);
            tint.map_or_else(|| text.clone().into_owned(), |tint| colour.paint(tint, &text))
        };
        let text: String = self.pieces.iter().map(piece).collect();
        format!("{}\n", text.trim_end())
    }
}

/// A warning from `warn` on, worse from `bad` on.
pub fn limit(value: f64, warn: f64, bad: f64) -> Option<Tint> {
    match value {
        value if value >= bad => Some(Tint::Bad),
        value if value >= warn => Some(Tint::Warning),
        _ => None,
    }
}

/// A share of 0 to 1 in percent: `0.4`, `62.4`, `100`.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if !percent.is_finite() => "-".to_owned(),
        percent if percent >= 99.95 => format!("{percent:.0}"),
        percent => format!("{:.1}", percent.max(0.0)),
    }
}

/// A share in whole percent: `21`.
pub fn whole_percent(share: f64) -> String {
    if share.is_finite() { format!("{:.0}", (share * 100.0).max(0.0)) } else { "-".to_owned() }
}

/// Bytes in units of 1024, in at most five columns: `0`, `512K`, `7.4M`, `18.1G`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["K", "M", "G", "T", "P", "E"];
    let (mut value, mut unit) = (bytes as f64 / 1024.0, 0);
    // What would be written as 1000 or more is less of the next unit.
    while value >= 999.5 && unit + 1 < UNITS.len() {
        (value, unit) = (value / 1024.0, unit + 1);
    }
    match value {
        value if bytes == 0 || value < 0.05 => {
            if bytes == 0 {
                "0".to_owned()
            } else {
                "0.1K".to_owned()
            }
        }
        value if value < 99.95 && unit > 0 => format!("{value:.1}{}", UNITS[unit]),
        value => format!("{value:.0}{}", UNITS[unit]),
    }
}

/// A number of things, or of things a second, in at most five columns: `0`, `12`, `14k`, `3.2M`.
pub fn count(value: f64) -> String {
    const UNITS: [&str; 4] = ["", "k", "M", "G"];
    if !value.is_finite() || value < 0.0 {
        return "-".to_owned();
    }
    let (mut value, mut unit) = (value, 0);
    while value >= 9_999.5 || (unit > 0 && value >= 999.5 && unit + 1 < UNITS.len()) {
        (value, unit) = (value / 1000.0, unit + 1);
        if unit + 1 == UNITS.len() {
            break;
        }
    }
    match unit {
        0 if value > 0.0 && value < 0.95 => format!("{value:.1}"),
        0 => format!("{value:.0}"),
        _ if value < 9.95 => format!("{value:.1}{}", UNITS[unit]),
        _ => format!("{value:.0}{}", UNITS[unit]),
    }
}

/// A rate in steps of a million: `0.0`, `81.8`, `1250`.
pub fn millions(value: f64) -> String {
    match value / 1e6 {
        value if !value.is_finite() || value < 0.0 => "-".to_owned(),
        value if value < 999.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

/// Seconds in few columns: `12s`, `3m55`, `3h12`, `41d`.
pub fn age(seconds: f64) -> String {
    let seconds = seconds.max(0.0) as u64;
    match (seconds, seconds / 60, seconds / 3600) {
        (0..60, ..) => format!("{seconds}s"),
        (_, minutes @ 0..60, _) => format!("{minutes}m{:02}", seconds % 60),
        (_, minutes, hours @ 0..24) => format!("{hours}h{:02}", minutes % 60),
        (_, _, hours @ 24..240) => format!("{}d{:02}", hours / 24, hours % 24),
        (_, _, hours) => format!("{}d", hours / 24),
    }
}

/// A time per request: `0.8ms`, `41us`, `1.2s`.
pub fn latency(seconds: f64) -> String {
    match seconds {
        seconds if !seconds.is_finite() || seconds <= 0.0 => "0".to_owned(),
        seconds if seconds < 99.5e-6 => format!("{:.0}us", (seconds * 1e6).max(1.0)),
        seconds if seconds < 9.95e-3 => format!("{:.1}ms", seconds * 1e3),
        seconds if seconds < 0.9995 => format!("{:.0}ms", seconds * 1e3),
        seconds => format!("{seconds:.1}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_fit_into_five_columns() {
        for (bytes, text) in [
            (0, "0"),
            (1, "0.1K"),
            (1024, "1K"),
            (7_759_462, "7.4M"),
            (25_300_000_000, "23.6G"),
            (1 << 40, "1.0T"),
            (u64::MAX, "16.0E"),
            (1_048_064, "1.0M"),
        ] {
            assert_eq!(size(bytes), text, "{bytes}");
        }
        assert!((0..64).all(|bit| size(1 << bit).len() <= 5 && size((1 << bit) - 1).len() <= 5));
    }

    #[test]
    fn counts_rates_and_times_are_short() {
        let counts = [
            (0.0, "0"),
            (0.24, "0.2"),
            (12.3, "12"),
            (9_999.0, "9999"),
            (14_200.0, "14k"),
            (3_249_000.0, "3.2M"),
            (f64::NAN, "-"),
        ];
        counts.into_iter().for_each(|(value, text)| assert_eq!(count(value), text));
        let ages = [(5.9, "5s"), (235.0, "3m55"), (11_520.0, "3h12"), (100_000.0, "1d03"), (3_600_000.0, "41d")];
        ages.into_iter().for_each(|(value, text)| assert_eq!(age(value), text));
        let times = [(0.0, "0"), (41e-6, "41us"), (0.8e-3, "0.8ms"), (0.0512, "51ms"), (1.2, "1.2s")];
        times.into_iter().for_each(|(value, text)| assert_eq!(latency(value), text));
        assert_eq!(
            (percent(0.624), percent(1.0), percent(-0.1), whole_percent(0.214)),
            ("62.4".into(), "100".into(), "0.0".into(), "21".into())
        );
        assert_eq!(
            (millions(81_800_000.0), millions(1.25e9), millions(-1.0)),
            ("81.8".into(), "1250".into(), "-".into())
        );
    }

    #[test]
    fn lines_stand_side_by_side_and_are_harmless() {
        let line = TintedLine::of("ab").beside(5, TintedLine::tinted("c\u{1b}[2J", Tint::Bad));
        assert_eq!(line.text(Colour::Off), "ab   c\\x1b[2J\n");
        assert_eq!(line.text(Colour::On), "ab   \u{1b}[1;31mc\\x1b[2J\u{1b}[0m\n");
        assert_eq!((limit(0.5, 0.4, 0.9), limit(0.1, 0.4, 0.9)), (Some(Tint::Warning), None));
    }
}
