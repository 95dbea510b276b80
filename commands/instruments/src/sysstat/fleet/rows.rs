//! Hosts as rows: how each stands, its figures, what is wrong with it. Pure.

use super::columns::{COLUMNS, FleetFigures, columns_for};
use super::{FleetRow, JudgedHost};
use crate::sysstat::line::{TintedLine, age};
use crate::sysstat::words::{sentence, tint, word};
use observe::host::verdict::verdicts;
use std::time::Instant;
use terminal::Tint;

/// How a host stands.
#[derive(Clone, Debug, PartialEq)]
pub enum RowState {
    /// Nothing has come yet.
    Reaching {
        /// Where it is looked for.
        place: String,
    },
    /// It has no ticket, and nobody has accepted its key.
    Unconfirmed {
        /// To be compared with what the host shows.
        code: String,
        /// Its name is known with another key.
        is_changed: bool,
    },
    /// Samples will come.
    Connected {
        /// Its clock minus ours, where that is known.
        clock_offset_ms: Option<i64>,
    },
    /// Samples come.
    Up {
        /// When the last came.
        at: Instant,
        /// Its clock minus ours, where that is known.
        clock_offset_ms: Option<i64>,
    },
    /// A sample is overdue.
    Late {
        /// When the last came.
        since: Instant,
    },
    /// Not reached.
    Lost {
        /// When the last sample came, if one did.
        since: Option<Instant>,
        /// Why.
        reason: String,
    },
}

impl RowState {
    /// Its clock minus ours.
    pub fn clock_offset_ms(&self) -> Option<i64> {
        match self {
            Self::Connected { clock_offset_ms } | Self::Up { clock_offset_ms, .. } => *clock_offset_ms,
            _ => None,
        }
    }

    /// Worst first: lost ones, then those that wait for the user, then by what is wrong with them.
    fn rank(&self) -> u8 {
        match self {
            Self::Lost { .. } => 0,
            Self::Unconfirmed { .. } => 1,
            Self::Late { .. } => 2,
            Self::Up { .. } => 3,
            Self::Reaching { .. } | Self::Connected { .. } => 4,
        }
    }
}

/// A clock that is further off is told: certificates, builds and logs of clusters suffer.
pub const CLOCK_OFF_MS: i64 = 2_000;

/// The order in which hosts are shown: the worst first, then by use of their CPUs, then by name.
pub fn order(rows: &mut [(::fleet::viewer::HostId, FleetRow)]) {
    let key = |row: &FleetRow| {
        let JudgedHost { trouble, figures } = row.judged;
        let used = figures.values[0].unwrap_or(0.0);
        // A host that is up and has no trouble comes behind all that have one.
        (row.state.rank(), trouble.is_none(), trouble, (used * -20.0) as i64)
    };
    rows.sort_by_cached_key(|(_, row)| (key(row), row.name.clone()));
}

/// Another order: by the figure of a column. Hosts without one come last whichever way.
pub fn order_by_column(rows: &mut [(::fleet::viewer::HostId, FleetRow)], at: usize, falls: bool) {
    let figure = |row: &FleetRow| row.judged.figures.values[at].filter(|_| has_figures(row));
    rows.sort_by(|(_, one), (_, other)| match (figure(one), figure(other)) {
        (Some(one), Some(other)) if falls => other.total_cmp(&one),
        (Some(one), Some(other)) => one.total_cmp(&other),
        (one, other) => one.is_none().cmp(&other.is_none()),
    });
}

/// Whether a row has figures: those of a host that is away would be old ones.
pub fn has_figures(row: &FleetRow) -> bool {
    row.is_up() && row.judged.figures.values[0].is_some()
}

/// `12 hosts  10 ok  1 CEILING  1 late`
pub fn headline(rows: &[(::fleet::viewer::HostId, FleetRow)]) -> TintedLine {
    let mut ok = 0;
    let mut words: Vec<(String, usize)> = Vec::new();
    for (_, row) in rows {
        let text = match &row.state {
            RowState::Up { .. } => match row.judged.trouble {
                Some(trouble) => word(trouble).to_owned(),
                None => {
                    ok += 1;
                    continue;
                }
            },
            state => state_word(state).0,
        };
        match words.iter_mut().find(|(known, _)| *known == text) {
            Some((_, count)) => *count += 1,
            None => words.push((text, 1)),
        }
    }
    let hosts = if rows.len() == 1 { "host" } else { "hosts" };
    let line = TintedLine::tinted(format!("{} {hosts}", rows.len()), Tint::Bold)
        .and_tinted(format!("  {ok} ok"), Some(Tint::Good));
    words
        .into_iter()
        .fold(line, |line, (text, count)| line.and_tinted(format!("  {count} {text}"), Some(Tint::Warning)))
}

fn state_word(state: &RowState) -> (String, Tint) {
    let ago = |at: &Instant| age(at.elapsed().as_secs_f64());
    match state {
        RowState::Reaching { .. } => ("reaching".to_owned(), Tint::Dim),
        RowState::Connected { .. } => ("waiting".to_owned(), Tint::Dim),
        RowState::Unconfirmed { is_changed: false, .. } => ("new key".to_owned(), Tint::Warning),
        RowState::Unconfirmed { is_changed: true, .. } => ("KEY CHANGED".to_owned(), Tint::Bad),
        RowState::Up { .. } => ("ok".to_owned(), Tint::Good),
        RowState::Late { since } => (format!("late {}", ago(since)), Tint::Warning),
        RowState::Lost { since: Some(since), .. } => (format!("lost {}", ago(since)), Tint::Bad),
        RowState::Lost { since: None, .. } => ("not reached".to_owned(), Tint::Bad),
    }
}

/// How a host stands, in a word or two: what is wrong with it, or whether samples come.
pub fn state_text(row: &FleetRow) -> (String, Tint) {
    match row.judged.trouble.filter(|_| matches!(row.state, RowState::Up { .. })) {
        Some(trouble) => (word(trouble).to_owned(), tint(trouble)),
        None => state_word(&row.state),
    }
}

/// The heading of [`line`].
pub fn heading(width: usize) -> TintedLine {
    let columns = columns_for(width).iter().map(|at| &COLUMNS[*at]);
    let headings: String = columns.map(|column| format!("{:>width$}", column.heading, width = column.width)).collect();
    TintedLine::tinted(format!("{:<17}{:<12}{headings}  verdict", "host", "state"), Tint::Bold)
}

/// One host, with a star if the user has marked it.
pub fn line(row: &FleetRow, width: usize, is_marked: bool) -> TintedLine {
    let name = terminal::shorten_middle(&terminal::printable(&row.name), 16);
    let (state, state_tint) = state_text(row);
    let mark = if is_marked { "*" } else { " " };
    let line = TintedLine::tinted(format!("{name:<16}{mark}"), Tint::Bold)
        .and_tinted(format!("{state:<12}"), Some(state_tint));
    match &row.state {
        _ if has_figures(row) => figures(line, &row.judged.figures, width).and(format!("  {}", explanation(row))),
        RowState::Reaching { place } => line.and_tinted(format!("  {place}"), Some(Tint::Dim)),
        _ => line.and(format!("  {}", explanation(row))),
    }
}

/// What is wrong with a host, in full; empty if nothing is.
pub fn explanation(row: &FleetRow) -> String {
    explanation_with(row, "n accepts if mh sysstat key shows the same there")
}

/// The same, with the way in which a key is accepted.
pub fn explanation_with(row: &FleetRow, accepting: &str) -> String {
    match &row.state {
        RowState::Up { .. } => {
            let shown = row.host.session.lock().latest();
            let text = verdicts(&shown.interval()).first().map(sentence).unwrap_or_default();
            let clock = row.state.clock_offset_ms().filter(|_| !row.is_clock_right());
            text + &clock.map(|offset| format!("  its clock is {} s off", offset / 1000)).unwrap_or_default()
        }
        RowState::Unconfirmed { code, is_changed } => {
            let what = if *is_changed {
                "its name was known with another key: installed anew, or not the host"
            } else {
                "your fleet has not signed its key"
            };
            format!("code {code}; {what}; {accepting}")
        }
        RowState::Lost { reason, .. } => reason.clone(),
        RowState::Late { .. } | RowState::Reaching { .. } | RowState::Connected { .. } => String::new(),
    }
}

fn figures(line: TintedLine, figures: &FleetFigures, width: usize) -> TintedLine {
    columns_for(width).iter().fold(line, |line, at| {
        let text = format!("{:>width$}", figures.text(*at), width = COLUMNS[*at].width);
        line.and_figure(text, figures.limit(*at), figures.deviations[*at])
    })
}

/// All of it as lines, for a pipe.
pub fn as_text(rows: Vec<(::fleet::viewer::HostId, FleetRow)>) -> Vec<TintedLine> {
    let mut rows = rows;
    order(&mut rows);
    let mut lines = vec![headline(&rows), heading(usize::MAX)];
    lines.extend(rows.iter().map(|(_, row)| line(row, usize::MAX, false)));
    lines
}
