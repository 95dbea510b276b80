//! Hosts that are alike become one row, so that those that are not are seen. Pure.

use super::FleetRow;
use super::columns::{COLUMNS, FleetFigures, columns_for};
use super::rows::RowState;
use crate::sysstat::line::TintedLine;
use ::fleet::viewer::HostId;
use terminal::Tint;

/// A row of the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FleetScreenRow {
    /// A host, by its place among all.
    Host(usize),
    /// Hosts that are alike, by their places.
    Alike(Vec<usize>),
}

impl FleetScreenRow {
    /// The place of its first host.
    pub fn first(&self) -> usize {
        match self {
            Self::Host(at) => *at,
            Self::Alike(all) => all.first().copied().unwrap_or(0),
        }
    }

    /// Whether a host is in it.
    pub fn has(&self, at: usize) -> bool {
        match self {
            Self::Host(host) => *host == at,
            Self::Alike(all) => all.contains(&at),
        }
    }
}

/// LIMIT: fewer hosts are no crowd: each has its row.
const ALIKE_LEAST: usize = 4;

/// Rows of `hosts`, which are in order. Only hosts at which nothing stands out are folded: a verdict, a limit, a figure that is far from what
/// is usual, a mark of the user's or a clock that is off keeps a row of its own.
pub fn fold(hosts: &[(HostId, FleetRow)], is_marked: impl Fn(HostId) -> bool) -> Vec<FleetScreenRow> {
    let is_calm = |(id, row): &(HostId, FleetRow)| {
        let is_up = matches!(row.state, RowState::Up { .. }) && row.is_clock_right();
        is_up && row.judged.trouble.is_none() && row.judged.figures.is_calm() && !is_marked(*id)
    };
    // Each group is of those that are like its first: hosts at both ends of a chain may have nothing in common.
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for at in (0..hosts.len()).filter(|at| is_calm(&hosts[*at])) {
        let figures = |at: usize| &hosts[at].1.judged.figures;
        match groups.iter_mut().find(|group| figures(group[0]).is_like(figures(at))) {
            Some(group) => group.push(at),
            None => groups.push(vec![at]),
        }
    }
    groups.retain(|group| group.len() >= ALIKE_LEAST);
    let mut rows: Vec<FleetScreenRow> = groups.into_iter().map(FleetScreenRow::Alike).collect();
    let alone: Vec<usize> = (0..hosts.len()).filter(|at| !rows.iter().any(|row| row.has(*at))).collect();
    rows.extend(alone.into_iter().map(FleetScreenRow::Host));
    rows.sort_by_key(FleetScreenRow::first);
    rows
}

/// `12 hosts alike   ok   3-11  9-14 ...  web1 web2 web3 ...`
pub fn alike_line(all: &[usize], hosts: &[(HostId, FleetRow)], width: usize) -> TintedLine {
    let members = members(all, hosts);
    let line = TintedLine::tinted(format!("{:<17}", format!("{} hosts alike", all.len())), Tint::Bold)
        .and_tinted(format!("{:<12}", "ok"), Some(Tint::Good));
    let line = columns_for(width).iter().fold(line, |line, at| {
        line.and(format!("{text:>width$}", text = alike_text(&members, *at), width = COLUMNS[*at].width))
    });
    let names: Vec<String> = members.iter().map(|row| terminal::printable(&row.name).into_owned()).collect();
    line.and_tinted(format!("  {}", names.join(" ")), Some(Tint::Dim))
}

/// The hosts of a row.
pub fn members<'a>(all: &[usize], hosts: &'a [(HostId, FleetRow)]) -> Vec<&'a FleetRow> {
    all.iter().filter_map(|at| hosts.get(*at)).map(|(_, row)| row).collect()
}

/// What a column says of hosts that are alike; empty if it is none of those in which they are.
pub fn alike_text(members: &[&FleetRow], at: usize) -> String {
    let values: Vec<f64> = members.iter().filter_map(|row| row.judged.figures.values[at]).collect();
    let column = &COLUMNS[at];
    if column.alike_within.is_some() { range(&values, column.text) } else { String::new() }
}

/// `3-11`, or `3` of values that are written alike.
fn range(values: &[f64], text: fn(f64) -> String) -> String {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // Whole numbers: two of them stand in the width of one.
    let short = |value: f64| text(value).split('.').next().unwrap_or_default().to_owned();
    match (short(least), short(most)) {
        (least, most) if least == most => least,
        (least, most) => format!("{least}-{most}"),
    }
}

/// Figures of several hosts, and which lie apart from the others: more than a quarter, and more than alike hosts do.
pub fn apart(figures: &[&FleetFigures], at: usize) -> Vec<Option<crate::sysstat::usual::Deviation>> {
    use crate::sysstat::usual::Deviation;
    let mut sorted: Vec<f64> = figures.iter().filter_map(|one| one.values[at]).collect();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return vec![None; figures.len()] };
    let middle = f64::midpoint(sorted[last / 2], sorted[last.div_ceil(2)]);
    let least = COLUMNS[at].alike_within.unwrap_or(0.0) / 2.0;
    let far = (middle.abs() / 4.0).max(least);
    let of = |value: f64| match value - middle {
        by if by > far => Some(Deviation::Above),
        by if by < -far => Some(Deviation::Below),
        _ => None,
    };
    figures.iter().map(|one| one.values[at].and_then(of)).collect()
}
