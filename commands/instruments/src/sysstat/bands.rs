//! The bands of the screen above the processes: header, CPUs, memory, disks and network, file systems and groups. Pure: an interval in,
//! lines out. What is zero is left out, and what does not fit is counted: nothing falls off silently.

pub mod figures;

use super::line::{TintedLine, age, count, latency, limit, millions, percent, size, whole_percent};
use super::usual::{Deviation, Figure, Usual};
use figures::{DiskFigures, group_deviations, memory_available, memory_used, memory_used_bytes, sent_again, wire};
use observe::host::fields::*;
use observe::host::interval::HostInterval;
use observe::host::recording::HostFacts;
use observe::host::snapshot::Snapshot;
use observe::host::values::InstanceId;
use observe::host::verdict::file_system_use;
use terminal::Tint;

/// What stands beside the interval in the header.
#[derive(Clone, Debug, Default)]
pub struct BandContext<'a> {
    /// The host.
    pub facts: HostFacts,
    /// The time of day.
    pub clock: &'a str,
    /// How often it is looked at, or what is going on instead: `every 1 s`, `HELD`, `replay`.
    pub pace: &'a str,
    /// File systems that fill: name and seconds to full.
    pub filling: &'a [(String, f64)],
    /// What is usual for it, if that is known.
    pub usual: Option<&'a Usual>,
}

/// How far a figure of the host as a whole is from what is usual.
fn deviation(usual: Option<&Usual>, figure: Figure, value: f64) -> Option<Deviation> {
    usual?.deviation(figure, "", value)
}

/// `web7  up 41d 3h  8 cpu, 24 G  linux 6.18   13:06:54  every 1 s   self 0.3 % 6 MB`
pub fn header(interval: &HostInterval<'_>, standing: &BandContext<'_>) -> TintedLine {
    let gauge = |field| interval.gauge(field);
    let facts = &standing.facts;
    let kernel: String = facts.kernel.split('.').take(2).collect::<Vec<_>>().join(".");
    let up = gauge(UPTIME).map(|ns| format!("  up {}", age(ns as f64 / 1e9))).unwrap_or_default();
    let memory = gauge(MEM_TOTAL).map(|bytes| format!(", {}", size(bytes))).unwrap_or_default();
    let cpus = gauge(CPUS_ONLINE).map(|cpus| format!("  {cpus} cpu{memory}")).unwrap_or_default();
    let own = interval.share(SELF_CPU).map(|share| format!("  self {} %", terminal::error_digits(share * 100.0)));
    let resident = gauge(SELF_MEMORY).map(|bytes| format!(" {}", size(bytes))).unwrap_or_default();
    let line = TintedLine::tinted(&facts.name, Tint::Bold).and(format!("{up}{cpus}"));
    let line = if kernel.is_empty() { line } else { line.and(format!("  linux {kernel}")) };
    line.and(format!("  {}  {}", standing.clock, standing.pace)).and(own.map(|own| own + &resident).unwrap_or_default())
}

/// Time of all CPUs, 0 to 1 of them all, in the order of [`PARTS`].
pub fn cpu_shares(interval: &HostInterval<'_>) -> Option<[f64; PARTS.len()]> {
    let growth = |field| interval.growth(field).unwrap_or(0) as f64;
    let parts = PARTS.map(|(_, fields)| fields.iter().map(|field| growth(*field)).sum::<f64>());
    let all: f64 = parts.iter().sum();
    interval.earlier.filter(|_| all > 0.0).map(|_| parts.map(|part| part / all))
}

/// What CPUs do, by name.
pub const PARTS: [(&str, &[FieldId]); 6] = [
    ("usr", &[CPU_USER, CPU_NICE, CPU_GUEST]),
    ("sys", &[CPU_SYSTEM]),
    ("irq", &[CPU_IRQ, CPU_SOFTIRQ]),
    ("st", &[CPU_STEAL]),
    ("io", &[CPU_IOWAIT]),
    ("idle", &[CPU_IDLE]),
];

/// Shares in which CPUs work for this host.
pub fn busy(shares: &[f64; PARTS.len()]) -> f64 {
    shares[0] + shares[1] + shares[2]
}

/// CPUs: all together, then the busiest by name.
pub fn cpu(interval: &HostInterval<'_>, usual: Option<&Usual>, width: usize) -> Vec<TintedLine> {
    let Some(shares) = cpu_shares(interval) else {
        return vec![TintedLine::tinted("cpu", Tint::Bold).and("  the first figures come with the next look")];
    };
    let busy = busy(&shares);
    let far = |figure, value| deviation(usual, figure, value);
    let line = TintedLine::tinted("cpu", Tint::Bold).and_figure(
        format!(" {:>5} %", percent(busy)),
        limit(busy, 0.8, 0.95),
        far(Figure::CpuBusy, busy),
    );
    let is_shown =
        |(at, share): &(usize, &f64)| *at < 2 || **share >= 0.0005 || far(Figure::CpuPart(*at), **share).is_some();
    let line = shares.iter().enumerate().take(5).filter(is_shown).fold(line.and(" "), |line, (at, share)| {
        let deviation = far(Figure::CpuPart(at), *share);
        line.and(format!(" {}", PARTS[at].0)).and_figure(format!(" {}", percent(*share)), None, deviation)
    });
    let cpus = interval.gauge(CPUS_ONLINE).unwrap_or(1).max(1) as f64;
    // Each CPU meets a tick 100 times a second: that is how often each share was asked for.
    let asked = (interval.seconds().unwrap_or(1.0) * 100.0 * cpus).max(1.0);
    let error = (shares[0].max(shares[1]) * (1.0 - shares[0].max(shares[1])) / asked).sqrt() * 2.0;
    let line = line.and(format!(" (±{})", percent(error)));
    let line = queue_and_waits(interval, usual, line, cpus);
    let load = [LOAD_1, LOAD_5, LOAD_15].map(|field| interval.gauge(field).unwrap_or(0) as f64 / 100.0);
    let forks = interval.rate(FORKS).filter(|rate| *rate >= 0.5).map(|rate| format!("  forks {}/s", count(rate)));
    let tail =
        format!("load {:.2} {:.2} {:.2}{}{}", load[0], load[1], load[2], forks.unwrap_or_default(), limits(interval));
    let room = width.saturating_sub(terminal::columns(&tail) + 7);
    vec![line, TintedLine::of("     ").and(busiest(interval, room)).and(format!("  {tail}"))]
}

/// What wants a CPU, how often they change hands, and who waits.
fn queue_and_waits(interval: &HostInterval<'_>, usual: Option<&Usual>, line: TintedLine, cpus: f64) -> TintedLine {
    let far = |figure, value| deviation(usual, figure, value);
    let queue = interval.gauge(RUNNABLE).unwrap_or(0) as f64;
    let (queue_limit, queue_far) = (limit(queue / cpus, 1.01, 2.0), far(Figure::Runnable, queue));
    let line = line.and("  runq").and_figure(format!(" {}", count(queue)), queue_limit, queue_far).and("  ctx");
    let line = match interval.rate(SWITCHES) {
        Some(rate) => line.and_figure(format!(" {}/s", count(rate)), None, far(Figure::Switches, rate)),
        None => line.and(" -/s"),
    };
    match interval.share(PSI_CPU_SOME) {
        Some(share) => line.and("  psi").and_figure(
            format!(" {}", percent(share)),
            limit(share, 0.2, 0.5),
            far(Figure::WaitCpu, share),
        ),
        None => line,
    }
}

/// `cpu3 99  cpu0 97  5 below 30`, in at most `room` columns.
fn busiest(interval: &HostInterval<'_>, room: usize) -> String {
    let mut cpus = each_cpu(interval);
    cpus.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(other.0)));
    let mut text = String::new();
    let mut shown = 0;
    for (name, share) in &cpus {
        let one = format!("{}{name} {}", if text.is_empty() { "" } else { "  " }, whole_percent(*share));
        let rest = if shown + 1 < cpus.len() { 26 } else { 0 };
        if text.len() + one.len() + rest > room {
            break;
        }
        text.push_str(&one);
        shown += 1;
    }
    match cpus.get(shown) {
        Some((_, most)) if shown > 0 => {
            format!("{text}  {} others at most {}", cpus.len() - shown, whole_percent(*most))
        }
        Some(_) => format!("{} cpus", cpus.len()),
        None => text,
    }
}

/// How busy each CPU is, 0 to 1, in the kernel's order.
pub fn each_cpu<'a>(interval: &HostInterval<'a>) -> Vec<(&'a str, f64)> {
    let of = |(instance, name): (InstanceId, &'a str)| {
        let growth = |field| interval.growth_of(field, instance).map(|growth| growth as f64);
        let works = growth(EACH_USER)? + growth(EACH_SYSTEM)? + growth(EACH_IRQ)?;
        let rests = growth(EACH_STEAL)? + growth(EACH_IOWAIT).unwrap_or(0.0) + growth(EACH_IDLE).unwrap_or(0.0);
        (works + rests > 0.0).then(|| (name, works / (works + rests)))
    };
    let mut all: Vec<(&str, f64)> = interval.instances(EACH_USER).filter_map(of).collect();
    let number = |name: &str| name.trim_start_matches("cpu").parse::<u32>().unwrap_or(u32::MAX);
    all.sort_by_key(|(name, _)| number(name));
    all
}

/// What this process's groups allow, where that is less than the host.
fn limits(interval: &HostInterval<'_>) -> String {
    let online = interval.gauge(CPUS_ONLINE).unwrap_or(0).saturating_mul(1000);
    let allowed = interval.gauge(LIMIT_CPUS).filter(|limit| *limit < online);
    let text = allowed.map(|limit| format!("  limit {:.1} cpu", limit as f64 / 1000.0)).unwrap_or_default();
    let held = |field| interval.instances(field).filter_map(|(group, _)| interval.growth_of(field, group)).sum::<u64>();
    let (periods, throttled) = (held(GROUP_PERIODS), held(GROUP_THROTTLED));
    if throttled == 0 { text } else { format!("{text}  throttled {throttled} of {periods}") }
}

/// A cell a CPU: tenths of its time that it was busy; `.` for none. `columns` cells a line.
pub fn cpu_map(interval: &HostInterval<'_>, width: usize) -> Vec<TintedLine> {
    let cpus = each_cpu(interval);
    // Rows of 8, 16, 32 or 64, so that a place is found again.
    let columns = [64, 32, 16, 8].into_iter().find(|columns| columns + columns / 8 + 6 <= width).unwrap_or(8);
    let rows = cpus.chunks(columns).enumerate().map(|(row, cpus)| {
        let mut line = TintedLine::tinted(format!("{:>5} ", row * columns), Tint::Dim);
        for (at, (_, share)) in cpus.iter().enumerate() {
            if at > 0 && at % 8 == 0 {
                line = line.and(" ");
            }
            let tenths = (share * 10.0).floor().clamp(0.0, 9.0) as u32;
            let cell = if *share < 0.005 { ".".to_owned() } else { tenths.to_string() };
            line = line.and_tinted(cell, limit(*share, 0.8, 0.97));
        }
        line
    });
    rows.collect()
}

/// Memory and swap.
pub fn memory(interval: &HostInterval<'_>, usual: Option<&Usual>) -> Vec<TintedLine> {
    let gauge = |field| interval.gauge(field);
    let Some(total) = gauge(MEM_TOTAL).filter(|total| *total > 0) else { return Vec::new() };
    let of = |field| gauge(field).unwrap_or(0);
    let (available, used) = (memory_available(interval), memory_used_bytes(interval));
    let cache = of(MEM_CACHED).saturating_add(of(MEM_BUFFERS)).saturating_sub(of(MEM_SHARED));
    let short = 1.0 - available as f64 / total as f64;
    let far = memory_used(interval).and_then(|used| deviation(usual, Figure::MemoryUsed, used));
    let line = TintedLine::tinted("mem", Tint::Bold).and_figure(format!(" {:>5}", size(used)), None, far);
    let line = line.and(format!("/{}  app {} file {}", size(total), size(of(MEM_APP)), size(cache)));
    let more = [
        ("shared", of(MEM_SHARED)),
        ("slab", of(MEM_SLAB).saturating_add(of(MEM_SLAB_CACHE))),
        ("huge", of(HUGE_TOTAL)),
        ("arc", of(MEM_ARC)),
    ];
    let more: String = more
        .into_iter()
        .filter(|(_, bytes)| *bytes >= total / 200)
        .map(|(name, bytes)| format!(" {name} {}", size(bytes)))
        .collect();
    let line = line.and(format!("{more}  free for use ")).and_tinted(size(available), limit(short, 0.9, 0.97));
    let waits = interval.share(PSI_MEMORY_SOME).zip(interval.share(PSI_MEMORY_FULL));
    let line = match waits {
        Some((some, full)) => {
            let far = deviation(usual, Figure::WaitMemory, some);
            let text = format!(" {}/{}", percent(some), percent(full));
            line.and("  psi").and_figure(text, limit(full, 0.02, 0.1), far)
        }
        None => line,
    };
    vec![line, swap(interval, usual)]
}

fn swap(interval: &HostInterval<'_>, usual: Option<&Usual>) -> TintedLine {
    let of = |field| interval.gauge(field).unwrap_or(0);
    let rate = |field| interval.rate(field).unwrap_or(0.0);
    let line = match of(SWAP_TOTAL) {
        0 => TintedLine::of("     swap none"),
        total => TintedLine::of(format!("     swap {}/{}", size(total.saturating_sub(of(SWAP_FREE))), size(total))),
    };
    let moved = rate(SWAPPED_IN) + rate(SWAPPED_OUT);
    let line = if moved > 0.0 {
        line.and_tinted(
            format!("  in {}/s out {}/s", size(rate(SWAPPED_IN) as u64), size(rate(SWAPPED_OUT) as u64)),
            Some(Tint::Warning),
        )
    } else {
        line
    };
    let limit_text = match (interval.gauge(LIMIT_HEADROOM), interval.gauge(LIMIT_MEMORY)) {
        (Some(left), Some(limit)) => format!("  limit {} ({} left)", size(limit), size(left)),
        _ => String::new(),
    };
    let dirty = of(MEM_DIRTY).saturating_add(of(MEM_WRITEBACK));
    let (faults, major) = (rate(FAULTS), rate(FAULTS_MAJOR));
    let line = line.and(format!("  dirty {}  faults", size(dirty))).and_figure(
        format!(" {}/s", count(faults)),
        None,
        deviation(usual, Figure::Faults, faults),
    );
    let major_far = deviation(usual, Figure::MajorFaults, major);
    let major_text = format!(" {}/s", count(major));
    let line = line.and("  major").and_figure(major_text, limit(major, 100.0, 1000.0), major_far).and(limit_text);
    match interval.growth(OOM_KILLS).unwrap_or(0) {
        0 => line,
        kills => line.and_tinted(format!("  oom {kills}"), Some(Tint::Bad)),
    }
}

/// Disks that moved, those that do what is not usual and then the busiest first; at most `most` lines, heading included.
pub fn disks(interval: &HostInterval<'_>, usual: Option<&Usual>, most: usize) -> Vec<TintedLine> {
    let mut rows: Vec<DeviceRow> =
        interval.instances(DISK_BUSY).filter_map(|(disk, name)| disk_row(interval, usual, disk, name)).collect();
    rows.retain(|row| !row.is_idle);
    sort_rows(&mut rows);
    let all = interval.instances(DISK_BUSY).count();
    let (total, resting) = (rows.len(), all - rows.len());
    let mut lines = vec![TintedLine::tinted(DISK_HEADING, Tint::Bold)];
    let room = most.saturating_sub(1);
    let shown = if total > room { room.saturating_sub(1) } else { total };
    lines.extend(rows.into_iter().take(shown).map(|row| row.line));
    let idle = format!("{resting} {} idle", if resting == 1 { "disk" } else { "disks" });
    let folded = match (total - shown, resting) {
        (0, 0) => None,
        (0, _) => Some(format!(" {idle}")),
        (more, 0) => Some(format!(" +{more} less busy")),
        (more, _) => Some(format!(" +{more} less busy, {idle}")),
    };
    lines.extend(folded.filter(|_| lines.len() < most).map(|text| TintedLine::tinted(text, Tint::Dim)));
    lines
}

const DISK_HEADING: &str = "disk      util   r/s   w/s  rMB/s  wMB/s await queue";
const NET_HEADING: &str = "net       rx Mb/s tx Mb/s";

/// A disk or an interface as a line, and where it stands.
struct DeviceRow {
    is_unusual: bool,
    /// Whether it did nothing, which is usual for it: folded unless all are wanted.
    is_idle: bool,
    busy: f64,
    line: TintedLine,
}

/// Those that do what is not usual first, whatever has to be folded for them; then the busiest.
fn sort_rows(rows: &mut [DeviceRow]) {
    rows.sort_by(|one, other| other.is_unusual.cmp(&one.is_unusual).then(other.busy.total_cmp(&one.busy)));
}

/// None before the second look.
fn disk_row(interval: &HostInterval<'_>, usual: Option<&Usual>, disk: InstanceId, name: &str) -> Option<DeviceRow> {
    let figures = DiskFigures::of(interval, disk)?;
    let deviations @ [busy_far, requests_far, bytes_far, await_far, queue_far] = figures.deviations(usual, name);
    let is_unusual = deviations.iter().any(Option::is_some);
    let DiskFigures { busy, requests, bytes, awaited, queue, has_moved } = figures;
    // The larger of two is why their sum is far above; if it is far below, both are.
    let of_larger = |values: [f64; 2], far: Option<Deviation>| match far {
        Some(Deviation::Above) if values[0] > values[1] => [far, None],
        Some(Deviation::Above) => [None, far],
        _ => [far, far],
    };
    let [reads_far, writes_far] = of_larger(requests, requests_far);
    let [read_far, written_far] = of_larger(bytes, bytes_far);
    let line = TintedLine::of(format!(" {:<8}", terminal::shorten_middle(&terminal::printable(name), 8)))
        .and_figure(format!("{:>4}%", whole_percent(busy)), limit(busy, 0.7, 0.95), busy_far)
        .and_figure(format!("{:>6}", count(requests[0])), None, reads_far)
        .and_figure(format!("{:>6}", count(requests[1])), None, writes_far)
        .and_figure(format!("{:>7}", millions(bytes[0])), None, read_far)
        .and_figure(format!("{:>7}", millions(bytes[1])), None, written_far)
        .and_figure(format!("{:>6}", latency(awaited)), limit(awaited, 0.02, 0.1), await_far)
        .and_figure(format!("{queue:>6.1}"), None, queue_far);
    Some(DeviceRow { is_unusual, is_idle: !has_moved && !is_unusual, busy, line })
}

/// Interfaces that moved, ordered as disks are, then TCP; at most `most` lines, heading included.
pub fn network(interval: &HostInterval<'_>, usual: Option<&Usual>, most: usize) -> Vec<TintedLine> {
    let all = interval.instances(NET_RECEIVED).count();
    let interfaces = interval.instances(NET_RECEIVED);
    let mut rows: Vec<DeviceRow> =
        interfaces.map(|(interface, name)| interface_row(interval, usual, interface, name)).collect();
    rows.retain(|row| !row.is_idle);
    sort_rows(&mut rows);
    let mut lines = vec![TintedLine::tinted(NET_HEADING, Tint::Bold)];
    let (room, total) = (most.saturating_sub(2), rows.len());
    lines.extend(rows.into_iter().take(room).map(|row| row.line));
    let (more, resting) = (total.saturating_sub(room), all - total);
    let tcp = tcp(interval, usual);
    let folded = [(more, "more"), (resting, "idle")].into_iter().filter(|(count, _)| *count > 0);
    let folded: Vec<String> = folded.map(|(count, what)| format!("{count} {what}")).collect();
    let folded = if folded.is_empty() { String::new() } else { format!(" {}", folded.join(", ")) };
    lines.extend(Some(tcp.and_tinted(folded, Some(Tint::Dim))).filter(|_| lines.len() < most));
    lines
}

fn interface_row(interval: &HostInterval<'_>, usual: Option<&Usual>, interface: InstanceId, name: &str) -> DeviceRow {
    let rate = |field| interval.rate_of(field, interface).unwrap_or(0.0);
    let [received, sent] = wire(interval, interface);
    let far = |figure, value| usual.and_then(|usual| usual.deviation(figure, name, value));
    let (received_far, sent_far) = (far(Figure::Received, received), far(Figure::Sent, sent));
    let is_unusual = received_far.is_some() || sent_far.is_some();
    let lost: f64 = [NET_ERRORS_IN, NET_DROPS_IN, NET_ERRORS_OUT, NET_DROPS_OUT].into_iter().map(rate).sum();
    let line = TintedLine::of(format!(" {:<9}", terminal::shorten_middle(&terminal::printable(name), 9)))
        .and_figure(format!("{:>8}", millions(received)), None, received_far)
        .and_figure(format!("{:>8}", millions(sent)), None, sent_far);
    let line = if lost > 0.0 { line.and_tinted(format!(" lost {}/s", count(lost)), Some(Tint::Warning)) } else { line };
    DeviceRow { is_unusual, is_idle: received + sent <= 0.0 && !is_unusual, busy: received + sent, line }
}

fn tcp(interval: &HostInterval<'_>, usual: Option<&Usual>) -> TintedLine {
    let share = sent_again(interval);
    let line = TintedLine::of(format!(" tcp {}", count(interval.gauge(TCP_ESTABLISHED).unwrap_or(0) as f64)));
    let far = deviation(usual, Figure::SentAgain, share);
    let line = line.and(" retrans").and_figure(format!(" {}%", percent(share)), limit(share, 0.005, 0.02), far);
    match interval.growth(LISTEN_DROPS).unwrap_or(0) {
        0 => line,
        drops => line.and_tinted(format!("  refused {drops}"), Some(Tint::Bad)),
    }
}

/// Every disk and every interface side by side, idle ones too, then every file system: at most `most` lines.
pub fn all_devices(interval: &HostInterval<'_>, standing: &BandContext<'_>, at: usize, most: usize) -> Vec<TintedLine> {
    let usual = standing.usual;
    let mut disks: Vec<DeviceRow> =
        interval.instances(DISK_BUSY).filter_map(|(disk, name)| disk_row(interval, usual, disk, name)).collect();
    let interfaces = interval.instances(NET_RECEIVED);
    let mut links: Vec<DeviceRow> =
        interfaces.map(|(interface, name)| interface_row(interval, usual, interface, name)).collect();
    sort_rows(&mut disks);
    sort_rows(&mut links);
    let tcp = tcp(interval, usual);
    let left: Vec<TintedLine> = std::iter::once(TintedLine::tinted(DISK_HEADING, Tint::Bold))
        .chain(disks.into_iter().map(|row| row.line))
        .collect();
    let right: Vec<TintedLine> = std::iter::once(TintedLine::tinted(NET_HEADING, Tint::Bold))
        .chain(links.into_iter().map(|row| row.line))
        .chain([tcp])
        .collect();
    let mut lines = super::layout::beside(left, right, at);
    lines.extend(each_file_system(interval, standing));
    if lines.len() > most {
        let more = lines.len() + 1 - most;
        lines.truncate(most.saturating_sub(1));
        lines.push(TintedLine::tinted(format!(" +{more} lines that do not fit"), Tint::Dim));
    }
    lines
}

/// A line a file system, the fullest first.
fn each_file_system(interval: &HostInterval<'_>, standing: &BandContext<'_>) -> Vec<TintedLine> {
    let heading = TintedLine::tinted("file system                   full   size   free  inodes", Tint::Bold);
    let mut rows: Vec<(f64, TintedLine)> = Vec::new();
    for (place, name) in interval.instances(FS_SIZE) {
        let Some(used) = file_system_use(interval, place) else { continue };
        let gauge = |field| interval.gauge_of(field, place).unwrap_or(0);
        let (all, left) = (gauge(FS_INODES), gauge(FS_INODES_FREE));
        let inodes =
            if all == 0 { "-".to_owned() } else { whole_percent(all.saturating_sub(left) as f64 / all as f64) + "%" };
        let name = terminal::shorten_middle(&terminal::printable(name), 27);
        let filling = standing.filling.iter().find(|(filling, _)| *filling == name);
        let full = filling.map(|(_, seconds)| format!("  full in {}", age(*seconds))).unwrap_or_default();
        let line = TintedLine::of(format!(" {name:<28}"))
            .and_tinted(format!("{:>4}%", whole_percent(used)), limit(used, 0.9, 0.98))
            .and(format!("{:>7}{:>7}{inodes:>8}{full}", size(gauge(FS_SIZE)), size(gauge(FS_FREE))));
        rows.push((used, line));
    }
    rows.sort_by(|one, other| other.0.total_cmp(&one.0));
    let silent = interval
        .instances(FS_SILENT)
        .map(|(_, place)| TintedLine::tinted(format!(" {place} does not answer"), Tint::Bad));
    std::iter::once(heading).chain(silent).chain(rows.into_iter().map(|(_, line)| line)).collect()
}

/// Below this a file system is not told by name where there is little room.
const FS_NOTABLE: f64 = 0.80;

/// `fs   /var 91 %, full in 6h   +4 below 80 %`, the fullest first.
pub fn file_systems(interval: &HostInterval<'_>, standing: &BandContext<'_>, most: usize) -> TintedLine {
    let line = TintedLine::tinted("fs  ", Tint::Bold);
    let far = |place: &str, used| standing.usual?.deviation(Figure::FileSystemUsed, place, used);
    let mut used: Vec<(f64, &str)> = interval
        .instances(FS_SIZE)
        .filter_map(|(instance, place)| Some((file_system_use(interval, instance)?, place)))
        .collect();
    let is_unusual = |(share, place): &(f64, &str)| far(place, *share).is_some();
    used.sort_by(|one, other| is_unusual(other).cmp(&is_unusual(one)).then(other.0.total_cmp(&one.0)));
    let silent: Vec<&str> = interval.instances(FS_SILENT).map(|(_, place)| place).collect();
    if used.is_empty() && silent.is_empty() {
        return line.and(" none known yet");
    }
    let mut line =
        silent.iter().take(2).fold(line, |line, place| line.and_tinted(format!(" {place} silent "), Some(Tint::Bad)));
    let is_told = |at: usize, one: &(f64, &str)| at == 0 || (at < most && (one.0 >= FS_NOTABLE || is_unusual(one)));
    let told = used.iter().enumerate().take_while(|(at, one)| is_told(*at, one)).count();
    for (share, place) in &used[..told] {
        let full = standing
            .filling
            .iter()
            .find(|(name, _)| name == place)
            .map(|(_, seconds)| format!(", full in {}", age(*seconds)));
        let figure = format!(" {} %", whole_percent(*share));
        line = line.and(format!(" {place}")).and_figure(figure, limit(*share, 0.9, 0.98), far(place, *share));
        line = line.and(full.unwrap_or_default()).and(" ");
    }
    match used.get(told) {
        Some((next, _)) => {
            line.and_tinted(format!("  +{} at most {} %", used.len() - told, whole_percent(*next)), Some(Tint::Dim))
        }
        None => line,
    }
}

/// The groups that use most of what they may, or most CPU time where they have no limit; at most `most`.
pub fn groups(interval: &HostInterval<'_>, usual: Option<&Usual>, most: usize) -> Vec<TintedLine> {
    let mut rows: Vec<(f64, TintedLine)> = Vec::new();
    for (group, path) in interval.instances(GROUP_USED) {
        let Some(cores) = interval.share_of(GROUP_USED, group).filter(|cores| *cores >= 0.005) else { continue };
        let limit_cores = interval.gauge_of(GROUP_QUOTA, group).map(|millicores| millicores as f64 / 1000.0);
        let share = limit_cores.map(|limit| cores / limit.max(0.001));
        let name = observe::source::control_group::unit(path);
        let [cores_far, memory_far] = group_deviations(interval, usual, group);
        let line = TintedLine::of(format!(" {:<24}", terminal::shorten_middle(&terminal::printable(name), 24)));
        let line = match (share, limit_cores) {
            (Some(share), Some(cores)) => line
                .and_figure(format!(" {:>3} %", whole_percent(share)), limit(share, 0.8, 0.95), cores_far)
                .and(format!(" of {cores:.1} cpu")),
            _ => line.and_figure(format!(" {cores:.2} cpu"), None, cores_far),
        };
        let of = interval.gauge_of(GROUP_MEMORY_LIMIT, group).map(|bytes| format!(" of {}", size(bytes)));
        let line = match interval.gauge_of(GROUP_MEMORY, group) {
            Some(bytes) => line.and_figure(format!("  {}", size(bytes)), None, memory_far).and(of.unwrap_or_default()),
            None => line,
        };
        let throttled = interval.growth_of(GROUP_THROTTLED, group).unwrap_or(0);
        let line =
            if throttled > 0 { line.and_tinted(format!("  throttled {throttled}"), Some(Tint::Bad)) } else { line };
        rows.push((share.unwrap_or(cores / 1000.0), line));
    }
    rows.sort_by(|one, other| other.0.total_cmp(&one.0));
    let more = rows.len().saturating_sub(most);
    let mut lines: Vec<TintedLine> = rows.into_iter().take(most).map(|(_, line)| line).collect();
    if more > 0
        && let Some(last) = lines.last_mut()
    {
        *last = last.clone().and_tinted(format!("  +{more} groups"), Some(Tint::Dim));
    }
    lines
}

/// What processes and the rest used, for the heading of their table.
pub fn process_count(snapshot: &Snapshot) -> String {
    format!("{}, {} run", snapshot.rest.count, snapshot.rest.running)
}

#[cfg(test)]
pub mod recorded;
#[cfg(test)]
mod tests;
