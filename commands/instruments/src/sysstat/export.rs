//! An interval for programs and pipes: a line as vmstat prints, CSV, JSON, all metrics with their meaning. Pure but for `write_view`.

use super::bands::figures::memory_available;
use super::bands::{PARTS, busy, cpu_shares};
use super::line::{TintedLine, age, count, millions, percent, size, whole_percent};
use super::session::ShownMoment;
use super::table::user_name;
use super::words::{sentence, word};
use mh_kit::instrument::csv_field;
use observe::host::fields::*;
use observe::host::interval::HostInterval;
use observe::host::recording::HostFacts;
use observe::host::snapshot::{ProcessLine, Snapshot};
use observe::host::values::WHOLE;
use observe::host::verdict::verdicts;
use observe::source::accounts::Accounts;
use serde_json::{Map, Value, json};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use sys::civil_time::{CivilTime, local, seconds};
use terminal::Tint;

/// The time of day: `13:06:54`.
pub fn clock(wall_ns: u64) -> String {
    let seconds = i64::try_from(wall_ns / 1_000_000_000).unwrap_or(i64::MAX);
    local(seconds).map_or_else(|| "-".to_owned(), |at| format!("{:02}:{:02}:{:02}", at.hour, at.minute, at.second))
}

/// Nanoseconds since 1970 of `13:05`, `13:05:30` on the day of `near_ns`, or of `-5m`, `-90`, `+1h` from it.
pub fn parse_time(text: &str, near_ns: u64) -> Option<u64> {
    if let Some(by) = text.strip_prefix(['-', '+']) {
        let by = u64::try_from(terminal::parse_duration(by).ok()?.as_nanos()).ok()?;
        return if text.starts_with('-') { near_ns.checked_sub(by) } else { near_ns.checked_add(by) };
    }
    let mut parts = text.split(':').map(|part| part.parse::<u8>().ok().filter(|_| part.len() <= 2));
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next().unwrap_or(Some(0))?);
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let day = local(i64::try_from(near_ns / 1_000_000_000).ok()?)?;
    let seconds = seconds(CivilTime { hour, minute, second, ..day })?;
    u64::try_from(seconds).ok()?.checked_mul(1_000_000_000)
}

/// What a line tells, for CSV and for people.
struct Figures {
    cpu: f64,
    parts: [f64; PARTS.len()],
    runnable: f64,
    switches: f64,
    pressure: [f64; 3],
    available: u64,
    swap_used: u64,
    read: f64,
    written: f64,
    disk_busy: f64,
    received: f64,
    sent: f64,
    verdict: String,
}

impl Figures {
    fn of(interval: &HostInterval<'_>) -> Self {
        let parts = cpu_shares(interval).unwrap_or_default();
        let rate = |field| interval.rate(field).unwrap_or(0.0);
        let sum = |field| {
            interval.instances(field).filter_map(|(instance, _)| interval.rate_of(field, instance)).sum::<f64>()
        };
        let busiest = interval
            .instances(DISK_BUSY)
            .filter_map(|(disk, _)| interval.share_of(DISK_BUSY, disk))
            .fold(0.0, f64::max);
        // What a host sends to itself crosses no wire.
        let wire = |field| {
            let links = interval.instances(field).filter(|(_, name)| *name != "lo");
            links.filter_map(|(link, _)| interval.rate_of(field, link)).sum::<f64>()
        };
        let gauge = |field| interval.gauge(field).unwrap_or(0);
        let first =
            verdicts(interval).first().map(|verdict| format!("{} {}", word(verdict.trouble), sentence(verdict)));
        Self {
            cpu: busy(&parts),
            parts,
            runnable: gauge(RUNNABLE) as f64,
            switches: rate(SWITCHES),
            pressure: [PSI_CPU_SOME, PSI_MEMORY_SOME, PSI_IO_SOME].map(|field| interval.share(field).unwrap_or(0.0)),
            available: memory_available(interval),
            swap_used: gauge(SWAP_TOTAL).saturating_sub(gauge(SWAP_FREE)),
            read: sum(DISK_READ),
            written: sum(DISK_WRITTEN),
            disk_busy: busiest.min(1.0),
            received: wire(NET_RECEIVED),
            sent: wire(NET_SENT),
            verdict: first.unwrap_or_else(|| "ok".to_owned()),
        }
    }
}

/// The heading of [`plain`].
pub const PLAIN_HEADING: &str = "    time   cpu%   usr   sys   irq    st    io runq ctx/s  psi%  avail   swap  rMB/s  wMB/s util%   rxMb   txMb  verdict";

/// One line, as vmstat has one.
pub fn plain(interval: &HostInterval<'_>) -> TintedLine {
    let figures = Figures::of(interval);
    let parts: String = figures.parts.iter().take(5).map(|part| format!(" {:>5}", percent(*part))).collect();
    let text = format!(
        "{} {:>6}{parts} {:>4} {:>5} {:>5} {:>6} {:>6} {:>6} {:>6} {:>5} {:>6} {:>6}  {}",
        clock(interval.later.at.wall_ns),
        percent(figures.cpu),
        count(figures.runnable),
        count(figures.switches),
        percent(figures.pressure[0]),
        size(figures.available),
        size(figures.swap_used),
        millions(figures.read),
        millions(figures.written),
        whole_percent(figures.disk_busy),
        millions(figures.received * 8.0),
        millions(figures.sent * 8.0),
        figures.verdict,
    );
    TintedLine::of(text)
}

/// The heading of [`csv`]: units stand in the names.
pub const CSV_HEADING: &str = "TIME_S,CPU_SHARE,USER_SHARE,SYSTEM_SHARE,IRQ_SHARE,STEAL_SHARE,IOWAIT_SHARE,RUNNABLE,SWITCHES_S,PSI_CPU_SHARE,PSI_MEMORY_SHARE,\
    PSI_IO_SHARE,AVAILABLE_BYTES,SWAP_USED_BYTES,READ_BYTES_S,WRITTEN_BYTES_S,DISK_BUSY_SHARE,RECEIVED_BYTES_S,SENT_BYTES_S,PROCESSES,VERDICT";

/// One line of comma-separated values (RFC 4180).
pub fn csv(interval: &HostInterval<'_>) -> String {
    let figures = Figures::of(interval);
    let [user, system, irq, steal, iowait, _] = figures.parts;
    let shares = [figures.cpu, user, system, irq, steal, iowait].map(|share| format!("{share:.4}")).join(",");
    let pressure = figures.pressure.map(|share| format!("{share:.4}")).join(",");
    format!(
        "{:.3},{shares},{},{:.1},{pressure},{},{},{:.0},{:.0},{:.4},{:.0},{:.0},{},{}\n",
        interval.later.at.wall_ns as f64 / 1e9,
        figures.runnable,
        figures.switches,
        figures.available,
        figures.swap_used,
        figures.read,
        figures.written,
        figures.disk_busy,
        figures.received,
        figures.sent,
        interval.later.rest.count,
        csv_field(&figures.verdict),
    )
}

/// All of it, in one object.
pub fn json(interval: &HostInterval<'_>, facts: &HostFacts, accounts: &Accounts) -> Value {
    let later = interval.later;
    let verdicts: Vec<Value> = verdicts(interval)
        .iter()
        .map(|verdict| {
            json!({
                "trouble": verdict.trouble, "text": sentence(verdict), "place": verdict.place, "measure": verdict.measure,
                "seconds": verdict.seconds, "pid": verdict.thread.map(|thread| thread.pid), "tid": verdict.thread.map(|thread| thread.tid),
            })
        })
        .collect();
    let rest = &later.rest;
    json!({
        "time_ns": later.at.wall_ns,
        "since_boot_ns": later.at.boot_ns,
        "interval_s": interval.seconds(),
        "host": {"name": facts.name, "kernel": facts.kernel, "boot": facts.boot, "tier": facts.tier},
        "verdicts": verdicts,
        "values": by_name(interval, |field, instance, value| {
            let _value_is_enough = (field, instance);
            Some(json!(value))
        }),
        "rates": by_name(interval, |field, instance, _| {
            let rate = interval.rate_of(field.id, instance).filter(|_| field.kind == FieldKind::Counter)?;
            Some(json!(rate))
        }),
        "processes": later.processes.iter().map(|line| process_json(line, accounts)).collect::<Vec<Value>>(),
        "rest": {
            "processes": rest.count, "running": rest.running, "born": rest.born, "ended": rest.ended,
            "used_cores": rest.total.map(cores), "unlisted_cores": rest.unlisted.map(|used| f64::from(used) / 1e6), "cut_cores": cores(rest.cut),
            "ended_names": rest.ended_names,
        },
    })
}

fn cores(millionths: u32) -> f64 {
    f64::from(millionths) / 1e6
}

/// Metrics by name; those of disks, interfaces ... by their names in an object.
fn by_name(
    interval: &HostInterval<'_>,
    value: impl Fn(&FieldInfo, observe::host::values::InstanceId, u64) -> Option<Value>,
) -> Value {
    let mut all = Map::new();
    for (key, number) in interval.later.values.entries() {
        let Some(field) = field(key.field) else { continue };
        let Some(value) = value(field, key.instance, *number) else { continue };
        if key.instance == WHOLE {
            all.insert(field.name.to_owned(), value);
        } else {
            let of_field = all.entry(field.name).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(of_field) = of_field {
                of_field.insert(interval.later.names.name(key.instance).to_owned(), value);
            }
        }
    }
    Value::Object(all)
}

fn process_json(line: &ProcessLine, accounts: &Accounts) -> Value {
    json!({
        "pid": line.id.pid, "start_ticks": line.id.start_ticks, "ppid": line.parent, "uid": line.user, "user": user_name(line, accounts),
        "name": line.text.name, "command": line.text.command, "group": line.text.group, "state": char::from(line.state).to_string(),
        "threads": line.threads, "nice": line.nice, "virtual_bytes": line.virtual_bytes, "cpu_s": line.cpu_time_ms as f64 / 1e3, "cores": cores(line.cpu.used), "error_cores": cores(line.cpu.error), "system_cores": cores(line.cpu.system),
        "wait_cores": line.cpu.waited.map(cores), "resident_bytes": line.resident_bytes,
        "read_bytes_s": line.io.map(|io| io.read), "written_bytes_s": line.io.map(|io| io.written),
    })
}

/// Every metric: its value or rate, and where it comes from.
pub fn metrics(interval: &HostInterval<'_>) -> Vec<TintedLine> {
    let heading =
        "a share is a counter's growth over the time that passed; rates are a second; what ran backwards has none";
    let mut lines = vec![TintedLine::tinted(heading, Tint::Dim)];
    let mut last = None;
    for (key, number) in interval.later.values.entries() {
        let Some(info) = field(key.field) else { continue };
        if last != Some(info.id) {
            lines.push(
                TintedLine::tinted(info.name, Tint::Bold).and_tinted(format!("  {}", info.help), Some(Tint::Dim)),
            );
            last = Some(info.id);
        }
        let rate = interval.rate_of(info.id, key.instance).filter(|_| info.kind == FieldKind::Counter);
        let shown = match (info.kind, rate) {
            (FieldKind::Gauge, _) => in_unit(info.unit, *number as f64),
            (FieldKind::Counter, Some(rate)) if info.unit == FieldUnit::Nanoseconds => {
                format!("{} % of the time", percent(rate / 1e9))
            }
            (FieldKind::Counter, Some(rate)) => format!("{}/s", in_unit(info.unit, rate)),
            (FieldKind::Counter, None) => "no rate yet".to_owned(),
        };
        let name = interval.later.names.name(key.instance);
        lines.push(TintedLine::of(format!("    {name:<24} {shown}  (raw {number})")));
    }
    lines
}

fn in_unit(unit: FieldUnit, value: f64) -> String {
    match unit {
        FieldUnit::Bytes => size(value as u64),
        FieldUnit::Nanoseconds => age(value / 1e9),
        FieldUnit::Count => count(value),
        FieldUnit::Millicores => format!("{:.2} cpu", value / 1000.0),
        FieldUnit::Hundredths => format!("{:.2}", value / 100.0),
        FieldUnit::Kilohertz => format!("{:.2} GHz", value / 1e6),
        FieldUnit::Megabits => format!("{value:.0} Mb/s"),
        FieldUnit::Millicelsius => format!("{:.1} C", value / 1000.0),
    }
}

/// All that is known of a process.
pub fn process(line: &ProcessLine, snapshot: &Snapshot, accounts: &Accounts) -> Vec<TintedLine> {
    let cpu = &line.cpu;
    let share = |millionths: u32| format!("{} % of a core", percent(f64::from(millionths) / 1e6));
    let began = snapshot.at.boot_ns as f64 / 1e9 - line.id.start_ticks as f64 / 100.0;
    let io = line.io.map_or_else(
        || "not known: no right to look, or not among the busiest".to_owned(),
        |io| format!("read {}/s, written {}/s, from and to storage", size(io.read), size(io.written)),
    );
    let all = [
        (
            "process",
            format!(
                "{}  parent {}  state {}  {} threads",
                line.id.pid,
                line.parent,
                char::from(line.state),
                line.threads
            ),
        ),
        ("name", line.text.name.clone()),
        ("command", line.text.command.clone()),
        ("user", user_name(line, accounts)),
        ("group", line.text.group.clone()),
        ("age", age(began)),
        ("cpu", format!("{} (± {}), of it in the kernel {}", share(cpu.used), share(cpu.error), share(cpu.system))),
        (
            "waited",
            cpu.waited.map_or_else(
                || "not known".to_owned(),
                |waited| format!("{} for a CPU, all threads added up", percent(f64::from(waited) / 1e6) + " %"),
            ),
        ),
        ("cpu time", format!("{} s since it began, nice {}", line.cpu_time_ms / 1000, line.nice)),
        ("memory", format!("{} resident, {} of addresses", size(line.resident_bytes), size(line.virtual_bytes))),
        ("transfer", io),
    ];
    all.into_iter().map(|(name, text)| TintedLine::tinted(format!("{name:>10}  "), Tint::Bold).and(text)).collect()
}

/// Writes what is shown to a new file in the current directory; says what came of it.
pub fn write_view(shown: &ShownMoment, facts: &HostFacts) -> String {
    let seconds = i64::try_from(shown.later.at.wall_ns / 1_000_000_000).unwrap_or(0);
    let Some(at) = local(seconds) else { return "the time of this moment cannot be written".to_owned() };
    let name = format!(
        "mh-sysstat-{:04}{:02}{:02}-{:02}{:02}{:02}.json",
        at.year, at.month, at.day, at.hour, at.minute, at.second
    );
    let accounts = Accounts::of(facts.users.clone());
    let text = mh_kit::report::json_line(&json(&shown.interval(), facts, &accounts));
    // Command lines hold secrets.
    let created = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&name);
    let written = created.and_then(|mut file| file.write_all(text.as_bytes()));
    match written {
        Ok(()) => format!("written to {name}"),
        Err(error) => format!("could not write {name}: {}", sys::error_text::message(&error)),
    }
}

#[cfg(test)]
mod tests;
