//! Bands in the room there is: stacked on a narrow terminal, side by side on a wide one, with at least so many lines for processes. Pure.

use super::bands::{self, BandContext};
use super::line::TintedLine;
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
    let devices = if expanded.devices { left } else { (left / 3).clamp(3, 8) };
    lines.extend(beside(
        bands::disks(interval, standing.usual, devices),
        bands::network(interval, standing.usual, devices),
        53,
    ));
    lines.push(bands::file_systems(interval, standing, if expanded.devices { 99 } else { 2 }));
    let groups = if expanded.groups { left } else { 1 };
    lines.extend(titled("cgroup", bands::groups(interval, groups)));
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
    let devices = if expanded.devices { room } else { (room / 2).clamp(3, 12) };
    lines.extend(beside(
        bands::disks(interval, standing.usual, devices),
        bands::network(interval, standing.usual, devices),
        half,
    ));
    let groups = titled("cgroup", bands::groups(interval, if expanded.groups { room } else { 5 }));
    lines.extend(beside(
        vec![bands::file_systems(interval, standing, if expanded.devices { 99 } else { 4 })],
        groups,
        half,
    ));
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
fn beside(left: Vec<TintedLine>, right: Vec<TintedLine>, at: usize) -> Vec<TintedLine> {
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
