//! The names of the metrics in Prometheus and OpenMetrics: node_exporter's where the meaning is the same, else `mh_` and ours.
//! Base units: seconds, bytes, hertz, cores, ratios. Those of one name stand together, as the format asks for.

use super::fields::*;

/// How a metric behaves, in the format's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricType {
    /// Only grows: its samples are called `NAME_total`.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Not told: node_exporter tells no type of what it copies from vmstat and netstat, and no `_total` stands there.
    Unknown,
}

/// The name of a field in the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricName {
    /// The field.
    pub field: FieldId,
    /// The name, without `_total`.
    pub name: &'static str,
    /// How it behaves.
    pub kind: MetricType,
    /// A label besides the one of its scope.
    pub label: Option<(&'static str, &'static str)>,
    step: MetricStep,
}

/// What one step of the written number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MetricStep {
    /// The base unit of the field's unit.
    Base,
    /// 1024 bytes, as node_exporter copies them from vmstat.
    Kibibyte,
    /// A page of memory, likewise.
    Page,
}

impl MetricName {
    /// A value of the field, in what the name promises.
    pub fn value(&self, value: u64) -> f64 {
        let value = value as f64;
        let unit = field(self.field).map_or(FieldUnit::Count, |field| field.unit);
        // Divided, not multiplied by a part: 1.5 s are to be written as 1.5.
        match (self.step, unit) {
            (MetricStep::Kibibyte, _) => value / 1024.0,
            (MetricStep::Page, _) => value / rustix::param::page_size() as f64,
            (MetricStep::Base, FieldUnit::Nanoseconds) => value / 1e9,
            (MetricStep::Base, FieldUnit::Bytes | FieldUnit::Count) => value,
            (MetricStep::Base, FieldUnit::Millicores | FieldUnit::Millicelsius) => value / 1e3,
            (MetricStep::Base, FieldUnit::Hundredths) => value / 1e2,
            (MetricStep::Base, FieldUnit::Kilohertz) => value * 1e3,
            // A link's megabits in bytes.
            (MetricStep::Base, FieldUnit::Megabits) => value * 125_000.0,
        }
    }

    const fn with(mut self, name: &'static str, value: &'static str) -> Self {
        self.label = Some((name, value));
        self
    }

    const fn in_steps_of(mut self, step: MetricStep) -> Self {
        self.step = step;
        self
    }
}

/// The label that names a disk, an interface ...; none for the host.
pub fn scope_label(scope: FieldScope) -> Option<&'static str> {
    match scope {
        FieldScope::Host => None,
        FieldScope::Cpu => Some("cpu"),
        FieldScope::Disk | FieldScope::Interface => Some("device"),
        FieldScope::FileSystem => Some("mountpoint"),
        FieldScope::Group => Some("cgroup"),
        FieldScope::Sensor => Some("sensor"),
    }
}

const fn named(field: FieldId, name: &'static str, kind: MetricType) -> MetricName {
    MetricName { field, name, kind, label: None, step: MetricStep::Base }
}

const fn counter(field: FieldId, name: &'static str) -> MetricName {
    named(field, name, MetricType::Counter)
}

const fn gauge(field: FieldId, name: &'static str) -> MetricName {
    named(field, name, MetricType::Gauge)
}

const fn unknown(field: FieldId, name: &'static str) -> MetricName {
    named(field, name, MetricType::Unknown)
}

/// All names, in the order in which they are written.
pub const METRIC_NAMES: &[MetricName] = &[
    gauge(UPTIME, "mh_uptime_seconds"),
    gauge(LOAD_1, "node_load1"),
    gauge(LOAD_5, "node_load5"),
    gauge(LOAD_15, "node_load15"),
    gauge(RUNNABLE, "node_procs_running"),
    gauge(BLOCKED, "node_procs_blocked"),
    gauge(THREADS, "node_processes_threads"),
    counter(SWITCHES, "node_context_switches"),
    counter(FORKS, "node_forks"),
    counter(INTERRUPTS, "node_intr"),
    gauge(THREAD_BUSIEST, "mh_busiest_thread_ratio"),
    // Of each CPU, nice counts as user and softirq as irq; the host's own has them apart.
    counter(EACH_USER, "node_cpu_seconds").with("mode", "user"),
    counter(EACH_SYSTEM, "node_cpu_seconds").with("mode", "system"),
    counter(EACH_IRQ, "node_cpu_seconds").with("mode", "irq"),
    counter(EACH_STEAL, "node_cpu_seconds").with("mode", "steal"),
    counter(EACH_IOWAIT, "node_cpu_seconds").with("mode", "iowait"),
    counter(EACH_IDLE, "node_cpu_seconds").with("mode", "idle"),
    counter(CPU_USER, "mh_cpu_seconds").with("mode", "user"),
    counter(CPU_NICE, "mh_cpu_seconds").with("mode", "nice"),
    counter(CPU_SYSTEM, "mh_cpu_seconds").with("mode", "system"),
    counter(CPU_IRQ, "mh_cpu_seconds").with("mode", "irq"),
    counter(CPU_SOFTIRQ, "mh_cpu_seconds").with("mode", "softirq"),
    counter(CPU_STEAL, "mh_cpu_seconds").with("mode", "steal"),
    counter(CPU_GUEST, "mh_cpu_seconds").with("mode", "guest"),
    counter(CPU_IOWAIT, "mh_cpu_seconds").with("mode", "iowait"),
    counter(CPU_IDLE, "mh_cpu_seconds").with("mode", "idle"),
    counter(CPU_USED, "mh_processes_cpu_seconds"),
    gauge(CPUS_ONLINE, "mh_cpus_online"),
    gauge(EACH_FREQUENCY, "node_cpu_scaling_frequency_hertz"),
    gauge(LIMIT_CPUS, "mh_limit_cpus"),
    gauge(LIMIT_MEMORY, "mh_limit_memory_bytes"),
    gauge(LIMIT_HEADROOM, "mh_limit_memory_headroom_bytes"),
    counter(LIMIT_PERIODS, "mh_limit_periods"),
    counter(LIMIT_THROTTLED, "mh_limit_throttled_periods"),
    counter(PSI_CPU_SOME, "node_pressure_cpu_waiting_seconds"),
    counter(PSI_MEMORY_SOME, "node_pressure_memory_waiting_seconds"),
    counter(PSI_MEMORY_FULL, "node_pressure_memory_stalled_seconds"),
    counter(PSI_IO_SOME, "node_pressure_io_waiting_seconds"),
    counter(PSI_IO_FULL, "node_pressure_io_stalled_seconds"),
    counter(PSI_IRQ_FULL, "node_pressure_irq_stalled_seconds"),
    gauge(MEM_TOTAL, "node_memory_MemTotal_bytes"),
    gauge(MEM_FREE, "node_memory_MemFree_bytes"),
    gauge(MEM_AVAILABLE, "node_memory_MemAvailable_bytes"),
    gauge(MEM_BUFFERS, "node_memory_Buffers_bytes"),
    gauge(MEM_CACHED, "node_memory_Cached_bytes"),
    gauge(MEM_APP, "node_memory_AnonPages_bytes"),
    gauge(MEM_SHARED, "node_memory_Shmem_bytes"),
    gauge(MEM_SLAB, "node_memory_SUnreclaim_bytes"),
    gauge(MEM_SLAB_CACHE, "node_memory_SReclaimable_bytes"),
    gauge(MEM_DIRTY, "node_memory_Dirty_bytes"),
    gauge(MEM_WRITEBACK, "node_memory_Writeback_bytes"),
    gauge(SWAP_TOTAL, "node_memory_SwapTotal_bytes"),
    gauge(SWAP_FREE, "node_memory_SwapFree_bytes"),
    gauge(HUGE_TOTAL, "node_memory_Hugetlb_bytes"),
    gauge(HUGE_FREE, "mh_memory_huge_pages_free_bytes"),
    gauge(MEM_HUGE_APP, "node_memory_AnonHugePages_bytes"),
    gauge(MEM_TABLES, "node_memory_PageTables_bytes"),
    gauge(MEM_COMMITTED, "node_memory_Committed_AS_bytes"),
    gauge(MEM_ARC, "node_zfs_arc_size"),
    gauge(MEM_ARC_LEAST, "node_zfs_arc_c_min"),
    unknown(PAGED_IN, "node_vmstat_pgpgin").in_steps_of(MetricStep::Kibibyte),
    unknown(PAGED_OUT, "node_vmstat_pgpgout").in_steps_of(MetricStep::Kibibyte),
    unknown(SWAPPED_IN, "node_vmstat_pswpin").in_steps_of(MetricStep::Page),
    unknown(SWAPPED_OUT, "node_vmstat_pswpout").in_steps_of(MetricStep::Page),
    unknown(FAULTS, "node_vmstat_pgfault"),
    unknown(FAULTS_MAJOR, "node_vmstat_pgmajfault"),
    unknown(OOM_KILLS, "node_vmstat_oom_kill"),
    counter(SCANNED, "mh_reclaim_scanned_pages"),
    counter(STALLS, "mh_reclaim_stalls"),
    counter(DISK_READS, "node_disk_reads_completed"),
    counter(DISK_READ, "node_disk_read_bytes"),
    counter(DISK_READ_TIME, "node_disk_read_time_seconds"),
    counter(DISK_WRITES, "node_disk_writes_completed"),
    counter(DISK_WRITTEN, "node_disk_written_bytes"),
    counter(DISK_WRITE_TIME, "node_disk_write_time_seconds"),
    gauge(DISK_IN_FLIGHT, "node_disk_io_now"),
    counter(DISK_BUSY, "node_disk_io_time_seconds"),
    counter(DISK_QUEUE, "node_disk_io_time_weighted_seconds"),
    counter(DISK_FLUSHES, "node_disk_flush_requests"),
    counter(DISK_FLUSH_TIME, "node_disk_flush_requests_time_seconds"),
    gauge(FS_SIZE, "node_filesystem_size_bytes"),
    gauge(FS_FREE, "node_filesystem_avail_bytes"),
    gauge(FS_USED, "mh_filesystem_used_bytes"),
    gauge(FS_INODES, "node_filesystem_files"),
    gauge(FS_INODES_FREE, "node_filesystem_files_free"),
    gauge(FS_SILENT, "mh_filesystem_silent"),
    counter(NET_RECEIVED, "node_network_receive_bytes"),
    counter(NET_PACKETS_IN, "node_network_receive_packets"),
    counter(NET_ERRORS_IN, "node_network_receive_errs"),
    counter(NET_DROPS_IN, "node_network_receive_drop"),
    counter(NET_SENT, "node_network_transmit_bytes"),
    counter(NET_PACKETS_OUT, "node_network_transmit_packets"),
    counter(NET_ERRORS_OUT, "node_network_transmit_errs"),
    counter(NET_DROPS_OUT, "node_network_transmit_drop"),
    gauge(NET_SPEED, "node_network_speed_bytes"),
    unknown(TCP_SENT, "node_netstat_Tcp_OutSegs"),
    unknown(TCP_RETRANSMITTED, "node_netstat_Tcp_RetransSegs"),
    unknown(TCP_RECEIVED, "node_netstat_Tcp_InSegs"),
    unknown(TCP_OPENED, "node_netstat_Tcp_ActiveOpens"),
    unknown(TCP_ACCEPTED, "node_netstat_Tcp_PassiveOpens"),
    unknown(TCP_ESTABLISHED, "node_netstat_Tcp_CurrEstab"),
    unknown(LISTEN_OVERFLOWS, "node_netstat_TcpExt_ListenOverflows"),
    unknown(LISTEN_DROPS, "node_netstat_TcpExt_ListenDrops"),
    unknown(UDP_ERRORS, "node_netstat_Udp_InErrors"),
    gauge(SOCKETS, "node_sockstat_sockets_used"),
    gauge(TCP_TIME_WAIT, "node_sockstat_TCP_tw"),
    counter(GROUP_USED, "mh_cgroup_cpu_seconds"),
    gauge(GROUP_QUOTA, "mh_cgroup_cpu_limit_cores"),
    counter(GROUP_PERIODS, "mh_cgroup_periods"),
    counter(GROUP_THROTTLED, "mh_cgroup_throttled_periods"),
    gauge(GROUP_MEMORY, "mh_cgroup_memory_bytes"),
    gauge(GROUP_MEMORY_LIMIT, "mh_cgroup_memory_limit_bytes"),
    counter(GROUP_OOM_KILLS, "mh_cgroup_oom_kills"),
    gauge(TEMPERATURE, "mh_temperature_celsius"),
    counter(SELF_CPU, "mh_sampler_cpu_seconds"),
    gauge(SELF_MEMORY, "mh_sampler_resident_memory_bytes"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_metric_has_one_name_and_those_of_a_name_stand_together() {
        let of_fields: HashSet<u16> = METRIC_NAMES.iter().map(|one| one.field.0).collect();
        assert_eq!(of_fields, ALL.iter().map(|one| one.id.0).collect::<HashSet<u16>>());
        assert_eq!(of_fields.len(), METRIC_NAMES.len());
        let runs: Vec<&[MetricName]> = METRIC_NAMES.chunk_by(|one, other| one.name == other.name).collect();
        assert_eq!(runs.iter().map(|run| run[0].name).collect::<HashSet<_>>().len(), runs.len());
        for run in runs.into_iter().filter(|run| run.len() > 1) {
            let labels: HashSet<_> = run.iter().map(|one| one.label).collect();
            assert!(labels.len() == run.len() && run.iter().all(|one| one.kind == run[0].kind), "{}", run[0].name);
        }
    }

    #[test]
    fn names_tell_their_unit_and_counters_count() {
        for one in METRIC_NAMES {
            let info = field(one.field).expect("a field");
            let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            assert!(one.name.starts_with("node_") || one.name.starts_with("mh_"), "{}", one.name);
            assert!(one.name.chars().all(is_plain) && !one.name.ends_with("_total"), "{}", one.name);
            assert_eq!(one.kind == MetricType::Gauge, info.kind == FieldKind::Gauge && one.kind != MetricType::Unknown);
            if info.unit == FieldUnit::Nanoseconds {
                assert!(one.name.ends_with("_seconds") && one.value(1_500_000_000) == 1.5, "{}", one.name);
            }
        }
    }

    #[test]
    fn values_are_in_base_units() {
        let value = |field, value| METRIC_NAMES.iter().find(|one| one.field == field).map(|one| one.value(value));
        assert_eq!(value(LOAD_1, 105), Some(1.05));
        assert_eq!((value(NET_SPEED, 1000), value(EACH_FREQUENCY, 2_000_000)), (Some(125e6), Some(2e9)));
        assert_eq!((value(PAGED_IN, 4096), value(LIMIT_CPUS, 1500)), (Some(4.0), Some(1.5)));
    }
}
