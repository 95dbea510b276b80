//! What the page shows of an interval, as plain data: the figures of the terminal's bands, counted by the same functions. Pure. Texts from
//! outside are written as the screens write them, so nothing reorders or hides a line.

use crate::sysstat::bands::figures::{self, DiskFigures};
use crate::sysstat::bands::{PARTS, busy, cpu_shares, each_cpu};
use crate::sysstat::table::user_name;
use crate::sysstat::usual::{Deviation, Figure, Usual};
use crate::sysstat::words::{advice, sentence, tint, word};
use observe::host::fields::*;
use observe::host::interval::HostInterval;
use observe::host::recording::HostFacts;
use observe::host::snapshot::{ProcessLine, Snapshot};
use observe::host::values::InstanceId;
use observe::host::verdict::{file_system_use, verdicts};
use observe::source::accounts::Accounts;
use serde_json::{Value, json};
use terminal::{Tint, printable};

/// LIMIT: processes that are sent: the busiest, and of the others the largest.
const BUSIEST_MAX: usize = 500;
const LARGEST_MAX: usize = 100;
/// LIMIT: disks, interfaces, file systems and groups that are sent, the busiest first.
const ROWS_MAX: usize = 100;
/// LIMIT: letters of a command line.
const COMMAND_MAX: usize = 200;

/// What the charts show, in the order of [`point`].
pub const POINT_COLUMNS: [&str; 17] = [
    "time_s",
    "usr",
    "sys",
    "irq",
    "st",
    "io",
    "app",
    "cache",
    "used",
    "available",
    "read",
    "written",
    "received",
    "sent",
    "psi_cpu",
    "psi_memory",
    "psi_io",
];

/// A point of each line of the charts: shares, bytes, bytes a second.
pub fn point(interval: &HostInterval<'_>) -> [f64; POINT_COLUMNS.len()] {
    let [usr, sys, irq, st, io, _] = cpu_shares(interval).unwrap_or_default();
    let gauge = |field| interval.gauge(field).unwrap_or(0) as f64;
    let sum = |field, is_counted: &dyn Fn(&str) -> bool| {
        let counted = interval.instances(field).filter(|(_, name)| is_counted(name));
        counted.filter_map(|(one, _)| interval.rate_of(field, one)).sum::<f64>()
    };
    // What a host sends to itself crosses no wire.
    let (any, wire) = (|_: &str| true, |name: &str| name != "lo");
    let share = |field| interval.share(field).unwrap_or(0.0);
    let cache = (gauge(MEM_CACHED) + gauge(MEM_BUFFERS) - gauge(MEM_SHARED)).max(0.0);
    [
        interval.later.at.wall_ns as f64 / 1e9,
        usr,
        sys,
        irq,
        st,
        io,
        gauge(MEM_APP),
        cache,
        figures::memory_used_bytes(interval) as f64,
        figures::memory_available(interval) as f64,
        sum(DISK_READ, &any),
        sum(DISK_WRITTEN, &any),
        sum(NET_RECEIVED, &wire),
        sum(NET_SENT, &wire),
        share(PSI_CPU_SOME),
        share(PSI_MEMORY_SOME),
        share(PSI_IO_SOME),
    ]
}

/// A number as JSON with no more digits than anybody reads: a second's frame stays small.
pub fn short(value: f64) -> Value {
    if value == value.trunc() || value.abs() >= 1e4 {
        json!(value.round() as i64)
    } else {
        json!((value * 1e5).round() / 1e5)
    }
}

/// The whole page.
pub fn frame(
    interval: &HostInterval<'_>,
    known: (&HostFacts, &Accounts),
    filling: &[(String, f64)],
    usual: &Usual,
) -> Value {
    let (facts, accounts) = known;
    let gauge = |field| interval.gauge(field);
    json!({
        "time_ns": interval.later.at.wall_ns,
        "interval_s": interval.seconds(),
        "up_s": gauge(UPTIME).map(|ns| ns as f64 / 1e9),
        "cpus": gauge(CPUS_ONLINE),
        "self_share": interval.share(SELF_CPU).map(short),
        "self_bytes": gauge(SELF_MEMORY),
        "verdicts": verdict_lines(interval),
        "cpu": cpu(interval),
        "limits": limits(interval),
        "psi": psi(interval),
        "memory": memory(interval),
        "far": whole_far(interval, usual),
        "disks": disks(interval, usual),
        "file_systems": file_systems(interval, filling, usual),
        "network": network(interval, usual),
        "tcp": tcp(interval),
        "groups": groups(interval, usual),
        "processes": processes(interval.later, accounts, usual),
        "rest": rest(interval.later, facts.is_contained),
    })
}

/// What stands before a figure that lies far from what is usual; empty before others.
fn mark(deviation: Option<Deviation>) -> String {
    deviation.map(|deviation| deviation.mark().to_string()).unwrap_or_default()
}

/// Marks of the figures of the host as a whole.
fn whole_far(interval: &HostInterval<'_>, usual: &Usual) -> Value {
    let parts = cpu_shares(interval).unwrap_or_default();
    let mut far: serde_json::Map<String, Value> = PARTS[..PARTS.len() - 1]
        .iter()
        .enumerate()
        .map(|(at, (name, _))| ((*name).to_owned(), json!(mark(usual.deviation(Figure::CpuPart(at), "", parts[at])))))
        .collect();
    for (figure, value) in figures::whole(interval) {
        let name = match figure {
            Figure::CpuBusy => "busy",
            Figure::Runnable => "runnable",
            Figure::Switches => "switches",
            Figure::WaitCpu => "psi_cpu",
            Figure::WaitMemory => "psi_memory",
            Figure::MemoryUsed => "memory",
            Figure::Faults => "faults",
            Figure::MajorFaults => "faults_major",
            Figure::SentAgain => "again",
            _ => continue,
        };
        far.insert(name.to_owned(), json!(mark(usual.deviation(figure, "", value))));
    }
    Value::Object(far)
}

fn verdict_lines(interval: &HostInterval<'_>) -> Vec<Value> {
    let line = |verdict: &observe::host::verdict::HostVerdict<'_>| {
        json!({
            "word": word(verdict.trouble), "is_bad": tint(verdict.trouble) == Tint::Bad,
            "text": printable(&sentence(verdict)), "advice": advice(verdict.trouble),
        })
    };
    verdicts(interval).iter().map(line).collect()
}

fn cpu(interval: &HostInterval<'_>) -> Value {
    let shares = cpu_shares(interval);
    let parts = shares.map(|shares| {
        let named = PARTS.iter().zip(shares).map(|((name, _), share)| ((*name).to_owned(), short(share)));
        named.collect::<serde_json::Map<String, Value>>()
    });
    let load = [LOAD_1, LOAD_5, LOAD_15].map(|field| interval.gauge(field).unwrap_or(0) as f64 / 100.0);
    let each: Vec<Value> = each_cpu(interval).into_iter().map(|(name, share)| json!([name, short(share)])).collect();
    json!({
        "busy": shares.map(|shares| short(busy(&shares))), "parts": parts, "load": load, "each": each,
        "runnable": interval.gauge(RUNNABLE), "blocked": interval.gauge(BLOCKED),
        "switches": interval.rate(SWITCHES).map(short), "forks": interval.rate(FORKS).map(short),
        "busiest_thread": interval.gauge(THREAD_BUSIEST).map(|millicores| millicores as f64 / 1000.0),
    })
}

fn limits(interval: &HostInterval<'_>) -> Value {
    let held = |field| interval.instances(field).filter_map(|(group, _)| interval.growth_of(field, group)).sum::<u64>();
    let gauge = |field| interval.gauge(field);
    json!({
        "cpus": gauge(LIMIT_CPUS).map(|millicores| millicores as f64 / 1000.0), "memory": gauge(LIMIT_MEMORY),
        "headroom": gauge(LIMIT_HEADROOM), "periods": held(GROUP_PERIODS), "throttled": held(GROUP_THROTTLED),
    })
}

fn psi(interval: &HostInterval<'_>) -> Value {
    let share = |field| interval.share(field).map(short);
    json!({
        "cpu": share(PSI_CPU_SOME), "memory": share(PSI_MEMORY_SOME), "memory_full": share(PSI_MEMORY_FULL),
        "io": share(PSI_IO_SOME), "io_full": share(PSI_IO_FULL), "irq_full": share(PSI_IRQ_FULL),
    })
}

fn memory(interval: &HostInterval<'_>) -> Value {
    let of = |field| interval.gauge(field).unwrap_or(0);
    let rate = |field| interval.rate(field).map(short);
    json!({
        "total": of(MEM_TOTAL), "used": figures::memory_used_bytes(interval), "free": of(MEM_FREE), "app": of(MEM_APP),
        "cache": of(MEM_CACHED).saturating_add(of(MEM_BUFFERS)).saturating_sub(of(MEM_SHARED)),
        "available": figures::memory_available(interval), "shared": of(MEM_SHARED),
        "slab": of(MEM_SLAB).saturating_add(of(MEM_SLAB_CACHE)), "huge": of(HUGE_TOTAL), "arc": of(MEM_ARC),
        "dirty": of(MEM_DIRTY).saturating_add(of(MEM_WRITEBACK)), "swap_total": of(SWAP_TOTAL),
        "swap_used": of(SWAP_TOTAL).saturating_sub(of(SWAP_FREE)), "swapped_in": rate(SWAPPED_IN),
        "swapped_out": rate(SWAPPED_OUT), "faults": rate(FAULTS), "faults_major": rate(FAULTS_MAJOR),
        "oom_kills": interval.growth(OOM_KILLS),
    })
}

/// A row, and by what it is sorted.
struct SortedRow {
    /// Whether it comes first, also at rest: it does what is not usual for it, or does not answer.
    is_marked: bool,
    size: f64,
    row: Value,
}

/// Marked rows first, then those with the largest of what they are sorted by, and how many there are.
fn largest(mut rows: Vec<SortedRow>) -> Value {
    rows.sort_by(|one, other| other.is_marked.cmp(&one.is_marked).then(other.size.total_cmp(&one.size)));
    let count = rows.len();
    rows.truncate(ROWS_MAX);
    json!({"count": count, "rows": rows.into_iter().map(|row| row.row).collect::<Vec<_>>()})
}

fn disks(interval: &HostInterval<'_>, usual: &Usual) -> Value {
    let row = |(disk, name): (InstanceId, &str)| {
        let rate = |field| interval.rate_of(field, disk).unwrap_or(0.0);
        let (reads, writes) = (rate(DISK_READS), rate(DISK_WRITES));
        let busy = interval.share_of(DISK_BUSY, disk)?;
        let waited_s = (rate(DISK_READ_TIME) + rate(DISK_WRITE_TIME)) / 1e9;
        let far = DiskFigures::of(interval, disk)?.deviations(Some(usual), name);
        let await_s = (reads + writes > 0.0).then(|| waited_s / (reads + writes));
        let row = json!({
            "name": printable(name), "busy": short(busy.min(1.0)), "reads": short(reads), "writes": short(writes),
            "read": short(rate(DISK_READ)), "written": short(rate(DISK_WRITTEN)), "await_s": await_s.map(short),
            "queue": interval.share_of(DISK_QUEUE, disk).map(short),
            "far": far.map(mark),
        });
        Some(SortedRow { is_marked: far.iter().any(Option::is_some), size: busy, row })
    };
    largest(interval.instances(DISK_BUSY).filter_map(row).collect())
}

fn file_systems(interval: &HostInterval<'_>, filling: &[(String, f64)], usual: &Usual) -> Value {
    let row = |(instance, place): (InstanceId, &str)| {
        let used = file_system_use(interval, instance)?;
        let full_s = filling.iter().find(|(name, _)| name == place).map(|(_, seconds)| short(*seconds));
        let bytes = |field| interval.gauge_of(field, instance);
        let far = usual.deviation(Figure::FileSystemUsed, place, used);
        let row = json!({
            "name": printable(place), "used": short(used), "size": bytes(FS_SIZE), "free": bytes(FS_FREE), "full_s": full_s,
            "is_silent": false, "far": mark(far),
        });
        Some(SortedRow { is_marked: far.is_some(), size: used, row })
    };
    let silent = interval.instances(FS_SILENT).map(|(_, place)| {
        let row = json!({"name": printable(place), "used": null, "size": null, "free": null, "full_s": null, "is_silent": true});
        SortedRow { is_marked: true, size: f64::INFINITY, row }
    });
    largest(interval.instances(FS_SIZE).filter_map(row).chain(silent).collect())
}

fn network(interval: &HostInterval<'_>, usual: &Usual) -> Value {
    let row = |(interface, name): (InstanceId, &str)| {
        let rate = |field| interval.rate_of(field, interface).unwrap_or(0.0);
        let lost: f64 = [NET_ERRORS_IN, NET_DROPS_IN, NET_ERRORS_OUT, NET_DROPS_OUT].into_iter().map(rate).sum();
        let (received, sent) = (rate(NET_RECEIVED), rate(NET_SENT));
        let far = [(Figure::Received, received), (Figure::Sent, sent)]
            .map(|(figure, bytes)| usual.deviation(figure, name, bytes * 8.0));
        let row = json!({
            "name": printable(name), "received": short(received), "sent": short(sent), "lost": short(lost),
            "packets": short(rate(NET_PACKETS_IN) + rate(NET_PACKETS_OUT)),
            "speed_mbit": interval.gauge_of(NET_SPEED, interface),
            "far": far.map(mark),
        });
        SortedRow { is_marked: far.iter().any(Option::is_some), size: received + sent, row }
    };
    largest(interval.instances(NET_RECEIVED).map(row).collect())
}

fn tcp(interval: &HostInterval<'_>) -> Value {
    let (sent, again) = (interval.rate(TCP_SENT).unwrap_or(0.0), interval.rate(TCP_RETRANSMITTED).unwrap_or(0.0));
    let again = if sent > 0.0 { again / sent } else { 0.0 };
    json!({
        "established": interval.gauge(TCP_ESTABLISHED), "again": short(again), "refused": interval.growth(LISTEN_DROPS),
        "sockets": interval.gauge(SOCKETS),
    })
}

fn groups(interval: &HostInterval<'_>, usual: &Usual) -> Value {
    let row = |(group, path): (InstanceId, &str)| {
        let cores = interval.share_of(GROUP_USED, group).filter(|cores| *cores >= 0.0005)?;
        let limit = interval.gauge_of(GROUP_QUOTA, group).map(|millicores| millicores as f64 / 1000.0);
        let row = json!({
            "name": printable(observe::source::control_group::unit(path)), "cores": short(cores), "limit": limit,
            "memory": interval.gauge_of(GROUP_MEMORY, group), "memory_limit": interval.gauge_of(GROUP_MEMORY_LIMIT, group),
            "throttled": interval.growth_of(GROUP_THROTTLED, group),
            "far": figures::group_deviations(interval, Some(usual), group).map(mark),
        });
        // By what they use, as on the screens.
        Some(SortedRow { is_marked: false, size: cores, row })
    };
    largest(interval.instances(GROUP_USED).filter_map(row).collect())
}

/// `[pid, user, cores, error, waited, resident bytes, bytes a second, age, command, mark of cores, mark of bytes]` each; marks only if
/// there is one.
fn processes(snapshot: &Snapshot, accounts: &Accounts, usual: &Usual) -> Vec<Value> {
    let (busiest, others) = snapshot.processes.split_at(snapshot.processes.len().min(BUSIEST_MAX));
    let mut others: Vec<&ProcessLine> = others.iter().collect();
    others.sort_by_key(|line| std::cmp::Reverse(line.resident_bytes));
    let cores = |millionths: u32| short(f64::from(millionths) / 1e6);
    let row = |line: &ProcessLine| {
        let began_s = line.id.start_ticks as f64 / 100.0;
        let age_s = (line.id.start_ticks > 0).then(|| (snapshot.at.boot_ns as f64 / 1e9 - began_s).max(0.0).round());
        let command: String = line.text.command.chars().take(COMMAND_MAX).collect();
        let far = figures::process_deviations(Some(usual), line);
        let mut row = json!([
            line.id.pid,
            printable(&user_name(line, accounts)),
            cores(line.cpu.used),
            cores(line.cpu.error),
            line.cpu.waited.map(cores),
            line.resident_bytes,
            line.io.map(|io| io.read.saturating_add(io.written)),
            age_s.map(short),
            printable(&command),
        ]);
        if let Some(row) = row.as_array_mut().filter(|_| far.iter().any(Option::is_some)) {
            row.extend(far.map(|far| json!(mark(far))));
        }
        row
    };
    busiest.iter().chain(others.into_iter().take(LARGEST_MAX)).map(row).collect()
}

fn rest(snapshot: &Snapshot, is_contained: bool) -> Value {
    let rest = &snapshot.rest;
    let sent = snapshot.processes.len().min(BUSIEST_MAX + LARGEST_MAX);
    json!({
        "processes": rest.count, "running": rest.running, "ended": rest.ended, "sent": sent, "is_contained": is_contained,
        "unlisted_cores": rest.unlisted.map(|used| short(f64::from(used.max(0)) / 1e6)),
        "ended_names": rest.ended_names.iter().map(|name| printable(name).into_owned()).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysstat::bands::{BandContext, file_systems, groups};
    use crate::sysstat::line::TintedLine;
    use crate::sysstat::table;
    use observe::host::snapshot::{ProcessCpu, ProcessText};
    use observe::host::values::{InstanceNames, WHOLE};
    use std::sync::Arc;

    fn process(pid: u32, used: u32, resident_bytes: u64, command: &str) -> ProcessLine {
        let text = ProcessText { command: command.to_owned(), ..ProcessText::default() };
        let cpu = ProcessCpu { used, ..ProcessCpu::default() };
        let id = observe::host::snapshot::ProcessId { pid, start_ticks: 0 };
        ProcessLine { id, text: Arc::new(text), cpu, resident_bytes, ..ProcessLine::default() }
    }

    #[test]
    fn hostile_names_are_text_of_one_line() {
        let mut names = InstanceNames::default();
        let place = names.number("/mnt/\u{202e}<img src=x>\n\"'").expect("room");
        let mut snapshot = Snapshot { names: Arc::new(names), ..Snapshot::default() };
        snapshot.values.push(FS_SILENT, place, 1);
        snapshot.processes = vec![process(7, 1, 1, "<script>alert(1)</script>\n\u{202e}\u{1b}[2J")];
        let frame = frame(
            &HostInterval::new(None, &snapshot),
            (&HostFacts::default(), &Accounts::default()),
            &[],
            &Usual::default(),
        );
        assert_eq!(frame["file_systems"]["rows"][0]["name"], "/mnt/\\u{202e}<img src=x>\\n\"'");
        assert_eq!(frame["processes"][0][8], "<script>alert(1)</script>\\n\\u{202e}\\x1b[2J");
        assert!(frame["verdicts"][0]["text"].as_str().expect("text").starts_with("/mnt/\\u{202e}<img"));
        assert!(!serde_json::to_string(&frame).expect("plain data").contains('\n'), "a line of an event");
    }

    #[test]
    fn what_is_far_from_usual_is_marked_as_the_screens_mark_it() {
        let mut usual = Usual::default();
        let look = |second: u64, cores: u32, used: u64| {
            let mut names = InstanceNames::default();
            let (root, group) = (names.number("/").expect("room"), names.number("/web.slice").expect("room"));
            let mut snapshot = Snapshot { names: Arc::new(names), ..Snapshot::default() };
            let now = second * 1_000_000_000;
            (snapshot.at.monotonic_ns, snapshot.at.boot_ns) = (now, now);
            let values = [
                (CPU_USER, WHOLE, now / 10),
                (CPU_IDLE, WHOLE, now / 10 * 9),
                (FS_SIZE, root, 1000),
                (FS_FREE, root, 1000 - used),
                (FS_USED, root, used),
                (GROUP_USED, group, if cores > 500_000 { now / 10 + 2_000_000_000 } else { now / 10 }),
            ];
            values.into_iter().for_each(|(field, of, value)| snapshot.values.push(field, of, value));
            snapshot.values.sort();
            snapshot.processes = vec![process(7, cores, 1 << 20, "steady")];
            snapshot
        };
        for second in (5..=300).step_by(5) {
            let (earlier, later) = (look(second - 1, 1, 500), look(second, 1, 500));
            let interval = HostInterval::new(Some(&earlier), &later);
            usual.note(later.at.boot_ns, figures::all(&interval));
        }
        let (earlier, later) = (look(300, 1, 500), look(301, 900_000, 600));
        let known = (&HostFacts::default(), &Accounts::default());
        let shown = frame(&HostInterval::new(Some(&earlier), &later), known, &[], &usual);
        assert_eq!((&shown["file_systems"]["rows"][0]["far"], &shown["far"]["busy"]), (&json!("^"), &json!("")));
        assert_eq!(shown["groups"]["rows"][0]["far"], json!(["^", ""]));
        assert_eq!((&shown["processes"][0][9], &shown["processes"][0][10]), (&json!("^"), &json!("")));
        let interval = HostInterval::new(Some(&earlier), &later);
        let text = |line: &TintedLine| line.text(terminal::Colour::Off);
        assert!(text(&groups(&interval, Some(&usual), 1)[0]).contains("^2.10 cpu"));
        let standing = BandContext { facts: known.0.clone(), clock: "", pace: "", filling: &[], usual: Some(&usual) };
        assert_eq!(text(&file_systems(&interval, &standing, 2)), "fs   /^60 %\n");
        let all = table::shown(&later, known.1, &table::TableChoice::default());
        assert!(text(&table::row(&all[0], &later, known.1, Some(&usual), 80)).contains(" ^90.00"));
        assert!(text(&table::row(&all[0], &later, known.1, None, 80)).contains("  90.00"));
        let calm = frame(&HostInterval::new(Some(&look(299, 1, 500)), &earlier), known, &[], &usual);
        assert_eq!(calm["processes"][0].as_array().map(Vec::len), Some(9), "no marks, no bytes");
    }

    #[test]
    fn disks_links_and_file_systems_with_a_mark_come_first_also_at_rest() {
        let look = |second: u64, rests: bool| {
            let mut names = InstanceNames::default();
            let [sda, sdb, eth0, eth1, root, home] =
                ["sda", "sdb", "eth0", "eth1", "/", "/home"].map(|name| names.number(name).expect("room"));
            let mut snapshot = Snapshot { names: Arc::new(names), ..Snapshot::default() };
            let now = second * 1_000_000_000;
            (snapshot.at.monotonic_ns, snapshot.at.boot_ns) = (now, now);
            // What was busy until the last second, and rests in that.
            let until = if rests { now - 1_000_000_000 } else { now };
            let values = [
                (CPU_USER, WHOLE, now / 10),
                (CPU_IDLE, WHOLE, now / 10 * 9),
                (DISK_BUSY, sda, now / 2),
                (DISK_BUSY, sdb, until / 10 * 9),
                (NET_RECEIVED, eth0, now / 1_000),
                (NET_RECEIVED, eth1, until / 100),
                (FS_SIZE, root, 1_000),
                (FS_USED, root, 900),
                (FS_FREE, root, 100),
                (FS_SIZE, home, 1_000),
                (FS_USED, home, if rests { 300 } else { 100 }),
                (FS_FREE, home, if rests { 700 } else { 900 }),
            ];
            values.into_iter().for_each(|(field, of, value)| snapshot.values.push(field, of, value));
            snapshot.values.sort();
            snapshot
        };
        let mut usual = Usual::default();
        for second in (5..=300).step_by(5) {
            let (earlier, later) = (look(second - 1, false), look(second, false));
            usual.note(later.at.boot_ns, figures::all(&HostInterval::new(Some(&earlier), &later)));
        }
        let names = |later: &Snapshot| {
            let earlier = look(300, false);
            let known = (&HostFacts::default(), &Accounts::default());
            let shown = frame(&HostInterval::new(Some(&earlier), later), known, &[], &usual);
            ["disks", "network", "file_systems"].map(|what| {
                let rows = shown[what]["rows"].as_array().expect("rows").iter();
                rows.map(|row| row["name"].as_str().expect("text").to_owned()).collect::<Vec<_>>().join(" ")
            })
        };
        assert_eq!(names(&look(301, false)), ["sdb sda", "eth1 eth0", "/ /home"], "all is as usual");
        assert_eq!(names(&look(301, true)), ["sdb sda", "eth1 eth0", "/home /"], "what rests is not usual");
    }

    #[test]
    fn many_processes_are_the_busiest_and_the_largest() {
        let all = (0..2000).map(|pid| process(pid, 2000 - pid, u64::from(pid), &"x".repeat(999))).collect();
        let snapshot = Snapshot { processes: all, ..Snapshot::default() };
        let sent = processes(&snapshot, &Accounts::default(), &Usual::default());
        assert_eq!(sent.len(), BUSIEST_MAX + LARGEST_MAX);
        assert_eq!((&sent[0][0], &sent[BUSIEST_MAX][0]), (&json!(0), &json!(1999)));
        assert_eq!(sent[0][8].as_str().map(str::len), Some(COMMAND_MAX));
    }

    #[test]
    fn figures_are_short_and_those_of_the_screens() {
        assert_eq!(
            [0.0, 1.0, 0.123_456_78, 123_456.7].map(short),
            [json!(0), json!(1), json!(0.12346), json!(123_457)]
        );
        let at = |second: u64, used: u64| {
            let mut snapshot = Snapshot::default();
            (snapshot.at.monotonic_ns, snapshot.at.wall_ns) = (second * 1_000_000_000, second * 1_000_000_000);
            for (field, value) in
                [(CPU_USER, used), (CPU_IDLE, second * 1_000_000_000 - used), (MEM_TOTAL, 100), (MEM_FREE, 40)]
            {
                snapshot.values.push(field, WHOLE, value);
            }
            snapshot.values.sort();
            snapshot
        };
        let (earlier, later) = (at(1, 0), at(2, 250_000_000));
        let interval = HostInterval::new(Some(&earlier), &later);
        let frame = frame(&interval, (&HostFacts::default(), &Accounts::default()), &[], &Usual::default());
        assert_eq!((&frame["cpu"]["busy"], &frame["cpu"]["parts"]["usr"]), (&json!(0.25), &json!(0.25)));
        let point = point(&interval);
        let column = |name| point[POINT_COLUMNS.iter().position(|column| *column == name).expect("a column")];
        assert_eq!((column("time_s"), column("usr"), column("used"), column("psi_io")), (2.0, 0.25, 60.0, 0.0));
    }

    #[test]
    fn used_memory_is_what_programs_cannot_have_here_and_on_the_screens() {
        let mut snapshot = Snapshot::default();
        for (field, gib) in [(MEM_TOTAL, 20), (MEM_FREE, 2), (MEM_AVAILABLE, 15), (MEM_CACHED, 12)] {
            snapshot.values.push(field, WHOLE, gib << 30);
        }
        snapshot.values.sort();
        let interval = HostInterval::new(None, &snapshot);
        let used = point(&interval)[POINT_COLUMNS.iter().position(|column| *column == "used").expect("a column")];
        let memory = memory(&interval);
        assert_eq!(
            (&memory["used"], &memory["free"], used as u64),
            (&json!(5_u64 << 30), &json!(2_u64 << 30), 5 << 30)
        );
        let line = crate::sysstat::bands::memory(&interval, None)[0].text(terminal::Colour::Off);
        assert!(line.starts_with("mem  5.0G/20.0G "), "{line}");
        assert_eq!(figures::memory_used(&interval), Some(0.25));
    }
}
