//! A host for Prometheus: its text format, or OpenMetrics where that is asked for. Pure: a moment in, text out. Names are those of
//! `observe::host::metric_names`; here are those that come of no field: verdicts, processes, what the host is.

use super::session::ShownMoment;
use observe::host::fields::{FieldInfo, FieldScope, field};
use observe::host::metric_names::{METRIC_NAMES, MetricName, MetricType, scope_label};
use observe::host::recording::HostFacts;
use observe::host::snapshot::Snapshot;
use observe::host::verdict::{HostTrouble, verdicts};
use std::collections::HashMap;
use std::fmt::Write;

/// Names of processes that have a sample of their own; the others are added up.
const PROCESS_NAMES: usize = 20;

/// Which of the two formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpositionFormat {
    /// Prometheus' own, which every version reads.
    Prometheus,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

impl ExpositionFormat {
    /// What a client accepts: OpenMetrics where it is named with a quality above 0, else the older one.
    pub fn accepted(accept: &str) -> Self {
        let is_wanted = |one: &str| {
            let mut parts = one.split(';').map(str::trim);
            let is_named = parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/openmetrics-text"));
            let is_refused = parts.any(|part| {
                part.strip_prefix("q=").and_then(|q| q.parse::<f64>().ok()).is_some_and(|quality| quality <= 0.0)
            });
            is_named && !is_refused
        };
        if accept.split(',').any(is_wanted) { Self::OpenMetrics } else { Self::Prometheus }
    }

    /// The value of the header `Content-Type`.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// Text that grows, a family of metrics at a time.
struct Exposition {
    format: ExpositionFormat,
    text: String,
}

impl Exposition {
    fn family(&mut self, name: &str, kind: MetricType, help: &str) {
        let (total, kind) = match (kind, self.format) {
            (MetricType::Counter, ExpositionFormat::Prometheus) => ("_total", "counter"),
            (MetricType::Counter, ExpositionFormat::OpenMetrics) => ("", "counter"),
            (MetricType::Gauge, _) => ("", "gauge"),
            (MetricType::Unknown, ExpositionFormat::Prometheus) => ("", "untyped"),
            (MetricType::Unknown, ExpositionFormat::OpenMetrics) => ("", "unknown"),
        };
        // The older format knows no escaped quotes in a help.
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        let help = if self.format == ExpositionFormat::OpenMetrics { help.replace('"', "\\\"") } else { help };
        self.put(format_args!("# HELP {name}{total} {help}\n# TYPE {name}{total} {kind}\n"));
    }

    fn sample(&mut self, name: &str, kind: MetricType, labels: &[(&str, &str)], value: f64) {
        let total = if kind == MetricType::Counter { "_total" } else { "" };
        let labels: Vec<String> =
            labels.iter().map(|(label, value)| format!("{label}=\"{}\"", label_value(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        self.put(format_args!("{name}{total}{labels} {value}\n"));
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        self.text.write_fmt(text).expect("a string takes every write");
    }
}

/// Text from outside, as it may stand in quotes. Control characters and those that reorder lines are written as the screens do:
/// somebody reads this on a terminal.
fn label_value(text: &str) -> String {
    terminal::printable(text).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// All metrics of a moment.
pub fn exposition(shown: &ShownMoment, facts: &HostFacts, format: ExpositionFormat) -> String {
    let mut out = Exposition { format, text: String::with_capacity(32 << 10) };
    for family in METRIC_NAMES.chunk_by(|one, other| one.name == other.name) {
        fields(&mut out, family, &shown.later);
    }
    host(&mut out, facts, &shown.later);
    verdict_samples(&mut out, shown);
    processes(&mut out, &shown.later);
    if format == ExpositionFormat::OpenMetrics {
        out.text.push_str("# EOF\n");
    }
    out.text
}

fn fields(out: &mut Exposition, family: &[MetricName], snapshot: &Snapshot) {
    let known = |one: &&MetricName| snapshot.values.each(one.field).next().is_some();
    let Some(first) = family.iter().find(known) else { return };
    let help = match (first.label, field(first.field)) {
        (Some((label, _)), _) => format!("CPU time in seconds, by {label} (/proc/stat)."),
        (None, info) => info.map_or("", |info| info.help).to_owned(),
    };
    out.family(first.name, first.kind, &help);
    for one in family {
        let Some(info) = field(one.field) else { continue };
        for (instance, value) in snapshot.values.each(one.field) {
            let name = instance_name(info, snapshot.names.name(instance));
            let scope = scope_label(info.scope).map(|label| (label, name));
            let labels: Vec<(&str, &str)> = scope.into_iter().chain(one.label).collect();
            out.sample(one.name, one.kind, &labels, one.value(value));
        }
    }
}

/// CPUs are called by number alone.
fn instance_name<'a>(info: &FieldInfo, name: &'a str) -> &'a str {
    if info.scope == FieldScope::Cpu { name.trim_start_matches("cpu") } else { name }
}

fn host(out: &mut Exposition, facts: &HostFacts, snapshot: &Snapshot) {
    let gauge = MetricType::Gauge;
    out.family("node_boot_time_seconds", gauge, "When the host was booted, in seconds since 1970.");
    let booted_s = snapshot.at.wall_ns.saturating_sub(snapshot.at.boot_ns) / 1_000_000_000;
    out.sample("node_boot_time_seconds", gauge, &[], booted_s as f64);
    out.family("node_time_seconds", gauge, "When the sample was taken, in seconds since 1970.");
    out.sample("node_time_seconds", gauge, &[], snapshot.at.wall_ns as f64 / 1e9);
    out.family("node_uname_info", gauge, "The host's name and kernel (uname).");
    let labels = [("sysname", "Linux"), ("nodename", facts.name.as_str()), ("release", facts.kernel.as_str())];
    out.sample("node_uname_info", gauge, &labels, 1.0);
    out.family("mh_build_info", gauge, "The version of mh sysstat, and which rights its figures had.");
    out.sample("mh_build_info", gauge, &[("version", &facts.version), ("tier", &facts.tier)], 1.0);
    out.family("mh_processes", gauge, "Processes there are.");
    out.sample("mh_processes", gauge, &[], f64::from(snapshot.rest.count));
}

fn verdict_samples(out: &mut Exposition, shown: &ShownMoment) {
    let interval = shown.interval();
    let found = verdicts(&interval);
    out.family("mh_verdict", MetricType::Gauge, "1 for what held the host back in the last interval.");
    for trouble in HostTrouble::ALL {
        let kind = serde_json::to_value(trouble).ok();
        let kind = kind.as_ref().and_then(|kind| kind.as_str()).unwrap_or_default();
        let is_found = found.iter().any(|one| one.trouble == trouble);
        out.sample("mh_verdict", MetricType::Gauge, &[("kind", kind)], f64::from(u8::from(is_found)));
    }
}

/// Names, not numbers of processes: those would be new series without end.
fn processes(out: &mut Exposition, snapshot: &Snapshot) {
    let mut by_name: HashMap<&str, u64> = HashMap::new();
    for line in &snapshot.processes {
        *by_name.entry(&line.text.name).or_default() += u64::from(line.cpu.used);
    }
    let mut by_name: Vec<(&str, u64)> = by_name.into_iter().filter(|(name, _)| !name.is_empty()).collect();
    by_name.sort_unstable_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(other.0)));
    by_name.truncate(PROCESS_NAMES);
    by_name.retain(|(_, used)| *used > 0);
    let named: u64 = by_name.iter().map(|(_, used)| used).sum();
    let listed: u64 = snapshot.processes.iter().map(|line| u64::from(line.cpu.used)).sum();
    let unlisted = u64::try_from(snapshot.rest.unlisted.unwrap_or(0)).unwrap_or(0);
    let rest = listed + u64::from(snapshot.rest.cut) + unlisted - named;
    let help = "CPU time a second of the processes of a name, in cores, in the last interval; those that used less, and those that \
        ended, are added up under no name.";
    out.family("mh_process_cpu_ratio", MetricType::Gauge, help);
    for (name, used) in by_name.into_iter().chain([("", rest)]) {
        out.sample("mh_process_cpu_ratio", MetricType::Gauge, &[("comm", name)], used as f64 / 1e6);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use observe::host::fields::{DISK_READ, EACH_IDLE, EACH_USER, FAULTS, FS_SILENT, LOAD_1};
    use observe::host::snapshot::{ProcessCpu, ProcessLine, ProcessText};
    use observe::host::values::{InstanceNames, WHOLE};
    use std::sync::Arc;

    fn shown() -> ShownMoment {
        let mut names = InstanceNames::default();
        let mut number = |name: &str| names.number(name).expect("room");
        let (cpu, disk, place) = (number("cpu0"), number("vda"), number("/mnt/a\"b\\c\nd\u{202e}"));
        let mut snapshot = Snapshot { names: Arc::new(names), ..Snapshot::default() };
        (snapshot.at.wall_ns, snapshot.at.boot_ns) = (90_500_000_000, 60_000_000_000);
        for (field, instance, value) in [
            (LOAD_1, WHOLE, 105),
            (EACH_USER, cpu, 1_500_000_000),
            (EACH_IDLE, cpu, 10_000_000),
            (DISK_READ, disk, 512),
            (FAULTS, WHOLE, 7),
            (FS_SILENT, place, 1),
        ] {
            snapshot.values.push(field, instance, value);
        }
        snapshot.values.sort();
        ShownMoment { earlier: None, later: Arc::new(snapshot) }
    }

    #[test]
    fn names_units_and_types_are_those_of_node_exporter() {
        let text = exposition(&shown(), &HostFacts::default(), ExpositionFormat::Prometheus);
        for line in [
            "# TYPE node_load1 gauge\nnode_load1 1.05\n",
            "# TYPE node_cpu_seconds_total counter\nnode_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 1.5\nnode_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 0.01\n",
            "node_disk_read_bytes_total{device=\"vda\"} 512\n",
            "# TYPE node_vmstat_pgfault untyped\nnode_vmstat_pgfault 7\n",
            "node_boot_time_seconds 30\n",
            "mh_verdict{kind=\"silent-file-system\"} 1\nmh_verdict{kind=\"full-file-system\"} 0\n",
            "mh_process_cpu_ratio{comm=\"\"} 0\n",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        assert!(!text.contains("# EOF"));
    }

    #[test]
    fn open_metrics_names_families_without_total_and_ends() {
        let text = exposition(&shown(), &HostFacts::default(), ExpositionFormat::OpenMetrics);
        assert!(text.contains("# TYPE node_disk_read_bytes counter\nnode_disk_read_bytes_total{device=\"vda\"} 512\n"));
        assert!(text.contains("# TYPE node_vmstat_pgfault unknown\n"));
        assert!(text.ends_with("\n# EOF\n"));
    }

    #[test]
    fn hostile_names_stay_in_their_quotes_and_on_their_line() {
        let text = exposition(&shown(), &HostFacts::default(), ExpositionFormat::Prometheus);
        let expected = "mh_filesystem_silent{mountpoint=\"/mnt/a\\\"b\\\\c\\\\nd\\\\u{202e}\"} 1";
        assert!(text.lines().any(|line| line == expected), "{text}");
    }

    #[test]
    fn names_beyond_the_busiest_are_added_up() {
        let process = |name: String, used| ProcessLine {
            text: Arc::new(ProcessText { name, ..ProcessText::default() }),
            cpu: ProcessCpu { used, ..ProcessCpu::default() },
            ..ProcessLine::default()
        };
        let mut all: Vec<ProcessLine> =
            (1..=22).map(|number| process(format!("p{number}"), number * 100_000)).collect();
        all.push(process("p22".to_owned(), 50_000));
        let mut shown = shown();
        let snapshot = Arc::make_mut(&mut shown.later);
        (snapshot.processes, snapshot.rest.cut, snapshot.rest.unlisted) = (all, 250_000, Some(-7));
        let text = exposition(&shown, &HostFacts::default(), ExpositionFormat::Prometheus);
        let samples: Vec<&str> = text.lines().filter(|line| line.starts_with("mh_process_cpu_ratio")).collect();
        assert_eq!(samples.len(), PROCESS_NAMES + 1);
        assert_eq!(samples[0], "mh_process_cpu_ratio{comm=\"p22\"} 2.25");
        assert_eq!(samples[PROCESS_NAMES], "mh_process_cpu_ratio{comm=\"\"} 0.55", "p1, p2 and those that are cut");
    }

    #[test]
    fn who_accepts_the_newer_format_gets_it() {
        let newer = [
            "application/openmetrics-text;version=1.0.0,text/plain;q=0.5",
            "text/plain, application/OpenMetrics-text; q=0.1",
        ];
        newer.iter().for_each(|accept| assert_eq!(ExpositionFormat::accepted(accept), ExpositionFormat::OpenMetrics));
        for accept in ["", "*/*", "text/plain", "application/openmetrics-text;q=0"] {
            assert_eq!(ExpositionFormat::accepted(accept), ExpositionFormat::Prometheus, "{accept}");
        }
    }
}
