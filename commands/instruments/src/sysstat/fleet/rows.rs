//! Hosts as rows: how each stands, its figures, what is wrong with it. Pure.

use super::{FleetRow, JudgedHost};
use crate::sysstat::bands::{busy, cpu_shares, each_cpu};
use crate::sysstat::line::{TintedLine, age, count, latency, limit, millions, percent, size, whole_percent};
use crate::sysstat::words::{sentence, tint, word};
use observe::host::fields::*;
use observe::host::interval::HostInterval;
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
const CLOCK_OFF_MS: i64 = 2_000;

/// The order in which hosts are shown: the worst first, then by use of their CPUs, then by name.
pub fn order(rows: &mut [(::fleet::viewer::HostId, FleetRow)]) {
    let key = |row: &FleetRow| {
        let JudgedHost { trouble, used } = row.judged;
        // A host that is up and has no trouble comes behind all that have one.
        (row.state.rank(), trouble.is_none(), trouble, (used * -20.0) as i64)
    };
    rows.sort_by_cached_key(|(_, row)| (key(row), row.name.clone()));
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

/// The heading of [`line`].
pub fn heading() -> TintedLine {
    TintedLine::tinted(
        "host             state         cpu%  hot runq  psi  mem%  avail  psi disk% await  rxMb  txMb  verdict",
        Tint::Bold,
    )
}

/// One host.
pub fn line(row: &FleetRow) -> TintedLine {
    let shown = row.host.session.lock().latest();
    let interval = shown.interval();
    let name = terminal::shorten_middle(&terminal::printable(&row.name), 16);
    let found = verdicts(&interval);
    let trouble = found.first().filter(|_| matches!(row.state, RowState::Up { .. }));
    let (state, state_tint) = match trouble {
        Some(verdict) => (word(verdict.trouble).to_owned(), tint(verdict.trouble)),
        None => state_word(&row.state),
    };
    let line =
        TintedLine::tinted(format!("{name:<17}"), Tint::Bold).and_tinted(format!("{state:<12}"), Some(state_tint));
    match &row.state {
        RowState::Up { .. } | RowState::Late { .. } if interval.earlier.is_some() => {
            let text = trouble.map(sentence).unwrap_or_default();
            let clock = row.state.clock_offset_ms().filter(|offset| offset.abs() >= CLOCK_OFF_MS);
            let clock = clock.map(|offset| format!("  its clock is {} s off", offset / 1000)).unwrap_or_default();
            figures(line, &interval).and(format!("  {text}{clock}"))
        }
        RowState::Unconfirmed { code, is_changed } => {
            let what = if *is_changed {
                "its name was known with another key: installed anew, or not the host"
            } else {
                "no ticket"
            };
            line.and(format!("  code {code}; {what}; n accepts if mh sysstat key shows the same there"))
        }
        RowState::Lost { reason, .. } => line.and(format!("  {reason}")),
        RowState::Reaching { place } => line.and_tinted(format!("  {place}"), Some(Tint::Dim)),
        _ => line,
    }
}

fn figures(line: TintedLine, interval: &HostInterval<'_>) -> TintedLine {
    let used = cpu_shares(interval).map_or(0.0, |shares| busy(&shares));
    let hottest = each_cpu(interval).iter().map(|(_, share)| *share).fold(0.0, f64::max);
    let gauge = |field| interval.gauge(field).unwrap_or(0);
    let cpus = gauge(CPUS_ONLINE).max(1) as f64;
    let total = gauge(MEM_TOTAL).max(1) as f64;
    let short = 1.0 - gauge(MEM_AVAILABLE) as f64 / total;
    let disks = || interval.instances(DISK_BUSY);
    let disk = disks().filter_map(|(disk, _)| interval.share_of(DISK_BUSY, disk)).fold(0.0, f64::max);
    let sum = |field| disks().filter_map(|(disk, _)| interval.rate_of(field, disk)).sum::<f64>();
    let requests = sum(DISK_READS) + sum(DISK_WRITES);
    let awaited = if requests > 0.0 { (sum(DISK_READ_TIME) + sum(DISK_WRITE_TIME)) / 1e9 / requests } else { 0.0 };
    let wire = |field| {
        let links = interval.instances(field).filter(|(_, name)| *name != "lo");
        links.filter_map(|(link, _)| interval.rate_of(field, link)).sum::<f64>() * 8.0
    };
    let psi = |field| interval.share(field).map_or_else(|| "-".to_owned(), whole_percent);
    line.and_tinted(format!("{:>6}", percent(used)), limit(used, 0.8, 0.95))
        .and_tinted(format!("{:>5}", whole_percent(hottest)), limit(hottest, 0.9, 0.98))
        .and_tinted(format!("{:>5}", count(gauge(RUNNABLE) as f64)), limit(gauge(RUNNABLE) as f64 / cpus, 1.01, 2.0))
        .and(format!("{:>5}", psi(PSI_CPU_SOME)))
        .and_tinted(format!("{:>6}", whole_percent(short)), limit(short, 0.9, 0.97))
        .and(format!("{:>7}{:>5}", size(gauge(MEM_AVAILABLE)), psi(PSI_MEMORY_SOME)))
        .and_tinted(format!("{:>6}", whole_percent(disk.min(1.0))), limit(disk, 0.7, 0.95))
        .and(format!("{:>6}{:>6}{:>6}", latency(awaited), millions(wire(NET_RECEIVED)), millions(wire(NET_SENT))))
}

/// All of it as lines, for a pipe.
pub fn as_text(rows: Vec<(::fleet::viewer::HostId, FleetRow)>) -> Vec<TintedLine> {
    let mut rows = rows;
    order(&mut rows);
    let mut lines = vec![headline(&rows), heading()];
    lines.extend(rows.iter().map(|(_, row)| line(row)));
    lines
}
