//! Bands in the room there is: stacked on a narrow terminal, side by side on a wide one, with at least so many lines for processes. Pure.

use super::bands::{self, BandContext};
use super::line::TintedLine;
use super::usual::Usual;
use super::words;
use observe::host::interval::HostInterval;
use terminal::Tint;

/// From this width on bands stand side by side.
const WIDE: usize = 140;
/// Processes have this share of the lines at least.
const PROCESS_SHARE: usize = 3;

/// Whether all verdicts are shown, and whether every CPU has a cell.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExpandedBands {
    /// All verdicts and what would help.
    pub verdicts: bool,
    /// The map of CPUs.
    pub cpus: bool,
    /// All disks, interfaces, file systems.
    pub devices: bool,
    /// All groups.
    pub groups: bool,
}

/// The lines above the processes, for a terminal of `width` and `height`.
pub fn above(
    interval: &HostInterval<'_>,
    standing: &BandContext<'_>,
    expanded: ExpandedBands,
    width: usize,
    height: usize,
) -> Vec<TintedLine> {
    let mut lines = vec![bands::header(interval, standing)];
    let most = height.saturating_sub((height / PROCESS_SHARE).max(3));
    match expanded.verdicts || height >= 40 {
        true => lines.extend(words::all(interval).into_iter().take(if expanded.verdicts { most } else { 6 })),
        false => lines.push(words::headline(interval)),
    }
    if width >= WIDE {
        wide(interval, standing, expanded, width, most, &mut lines)
    } else {
        narrow(interval, standing, expanded, width, most, &mut lines)
    }
    lines.truncate(most.max(2));
    lines
}

fn narrow(
    interval: &HostInterval<'_>,
    standing: &BandContext<'_>,
    expanded: ExpandedBands,
    width: usize,
    most: usize,
    lines: &mut Vec<TintedLine>,
) {
    lines.extend(bands::cpu(interval, standing.usual, width));
    if expanded.cpus {
        lines.extend(bands::cpu_map(interval, width));
    }
    lines.extend(bands::memory(interval, standing.usual));
    // Each gets a third of what is left, three lines at least; all of it where that is wanted.
    let left = most.saturating_sub(lines.len() + 2);
    let devices = (left / 3).clamp(3, 8);
    if expanded.devices {
        lines.extend(bands::all_devices(interval, standing, 53, left));
    } else {
        let (usual, most) = (standing.usual, devices);
        lines.extend(beside(bands::disks(interval, usual, most), bands::network(interval, usual, most), 53));
        lines.push(bands::file_systems(interval, standing, 2));
    }
    let groups = if expanded.groups { left } else { 1 };
    lines.extend(titled("cgroup", group_lines(interval, standing.usual, groups, expanded.groups)));
}

fn wide(
    interval: &HostInterval<'_>,
    standing: &BandContext<'_>,
    expanded: ExpandedBands,
    width: usize,
    most: usize,
    lines: &mut Vec<TintedLine>,
) {
    let half = width / 2;
    let mut left = bands::cpu(interval, standing.usual, half - 2);
    if expanded.cpus || bands::each_cpu(interval).len() > 4 {
        left.extend(bands::cpu_map(interval, half - 2));
    }
    lines.extend(beside(left, bands::memory(interval, standing.usual), half));
    let room = most.saturating_sub(lines.len() + 4);
    let groups = titled(
        "cgroup",
        group_lines(interval, standing.usual, if expanded.groups { room } else { 5 }, expanded.groups),
    );
    if expanded.devices {
        lines.extend(bands::all_devices(interval, standing, half, room));
        return lines.extend(groups);
    }
    let (usual, most) = (standing.usual, (room / 2).clamp(3, 12));
    lines.extend(beside(bands::disks(interval, usual, most), bands::network(interval, usual, most), half));
    lines.extend(beside(vec![bands::file_systems(interval, standing, 4)], groups, half));
}

/// Groups that do something; if all are wanted and none does, that is said.
fn group_lines(
    interval: &HostInterval<'_>,
    usual: Option<&Usual>,
    most: usize,
    are_all_wanted: bool,
) -> Vec<TintedLine> {
    match bands::groups(interval, usual, most) {
        lines if lines.is_empty() && are_all_wanted => {
            vec![TintedLine::tinted("  none used 0.5 % of a core", Tint::Dim)]
        }
        lines => lines,
    }
}

/// Lines with a title in the first, and none where there are none.
fn titled(title: &str, lines: Vec<TintedLine>) -> Vec<TintedLine> {
    let titled = |(at, line): (usize, TintedLine)| {
        let title = if at == 0 { title.to_owned() } else { " ".repeat(title.len()) };
        TintedLine::tinted(title, Tint::Bold).beside(0, line)
    };
    lines.into_iter().enumerate().map(titled).collect()
}

/// Two bands side by side, the second from column `at` on.
pub fn beside(left: Vec<TintedLine>, right: Vec<TintedLine>, at: usize) -> Vec<TintedLine> {
    let count = left.len().max(right.len());
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    (0..count)
        .map(|_| {
            let line = left.next().unwrap_or_default();
            match right.next() {
                Some(right) => line.beside(at, right),
                None => line,
            }
        })
        .collect()
}
