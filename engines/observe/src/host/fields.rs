//! The table of all metrics of a host: number, name, unit, what it counts. Recordings, feeds, JSON, CSV and OpenMetrics take their
//! names from here, so one metric has one name everywhere. Numbers are for ever: a metric that goes leaves a gap.

use serde::Serialize;

/// A metric's number in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldId(pub u16);

/// What one step of a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FieldUnit {
    /// Nanoseconds.
    Nanoseconds,
    /// Bytes.
    Bytes,
    /// Things.
    Count,
    /// Thousandths of a CPU.
    Millicores,
    /// Hundredths.
    Hundredths,
    /// Kilohertz.
    Kilohertz,
    /// Bits a second, in millions.
    Megabits,
    /// Thousandths of a degree Celsius.
    Millicelsius,
}

/// How values follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FieldKind {
    /// Grows since boot, or since the thing exists: rates are made of two values.
    Counter,
    /// What is now.
    Gauge,
}

/// What a metric is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FieldScope {
    /// The host as a whole.
    Host,
    /// Each CPU, by number.
    Cpu,
    /// Each block device.
    Disk,
    /// Each file system, by mount point.
    FileSystem,
    /// Each network interface.
    Interface,
    /// Each control group, by path.
    Group,
    /// Each sensor of a temperature.
    Sensor,
}

/// A metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldInfo {
    /// Its number.
    pub id: FieldId,
    /// Its name in recordings, JSON and CSV.
    pub name: &'static str,
    /// The unit of its values.
    pub unit: FieldUnit,
    /// How its values follow each other.
    pub kind: FieldKind,
    /// What it is told of.
    pub scope: FieldScope,
    /// Where it comes from and what it means.
    pub help: &'static str,
}

macro_rules! fields {
    ($($id:literal $constant:ident $name:literal $scope:ident $kind:ident $unit:ident $help:literal;)*) => {
        $(#[doc = $help] pub const $constant: FieldId = FieldId($id);)*
        /// All metrics, by number.
        pub const ALL: &[FieldInfo] = &[$(FieldInfo {
            id: FieldId($id), name: $name, unit: FieldUnit::$unit, kind: FieldKind::$kind, scope: FieldScope::$scope, help: $help,
        },)*];
    };
}

fields! {
    1 UPTIME "uptime" Host Gauge Nanoseconds "Time since boot, suspensions included (/proc/uptime).";
    2 LOAD_1 "load.1" Host Gauge Hundredths "Threads that could run or slept uninterruptibly, mean of a minute (/proc/loadavg).";
    3 LOAD_5 "load.5" Host Gauge Hundredths "The same, mean of five minutes (/proc/loadavg).";
    4 LOAD_15 "load.15" Host Gauge Hundredths "The same, mean of fifteen minutes (/proc/loadavg).";
    5 RUNNABLE "threads.runnable" Host Gauge Count "Threads that have a CPU or wait for one (procs_running of /proc/stat).";
    6 BLOCKED "threads.blocked" Host Gauge Count "Threads that wait for a disk (procs_blocked of /proc/stat).";
    7 THREADS "threads" Host Gauge Count "Threads there are (/proc/loadavg).";
    8 SWITCHES "cpu.switches" Host Counter Count "Context switches (ctxt of /proc/stat).";
    9 FORKS "cpu.forks" Host Counter Count "Processes and threads that were started (processes of /proc/stat).";
    10 INTERRUPTS "cpu.interrupts" Host Counter Count "Interrupts that CPUs served (intr of /proc/stat).";
    11 THREAD_BUSIEST "threads.busiest" Host Gauge Millicores "CPU time of the thread that used most since the sample before.";

    20 CPU_USER "cpu.user" Host Counter Nanoseconds "CPU time in programs of usual priority, guests' time left out; ticks that met it (/proc/stat).";
    21 CPU_NICE "cpu.nice" Host Counter Nanoseconds "CPU time in programs of lowered priority, guests' time left out.";
    22 CPU_SYSTEM "cpu.system" Host Counter Nanoseconds "CPU time in the kernel for programs.";
    23 CPU_IRQ "cpu.irq" Host Counter Nanoseconds "CPU time in interrupt handlers.";
    24 CPU_SOFTIRQ "cpu.softirq" Host Counter Nanoseconds "CPU time in deferred interrupt work.";
    25 CPU_STEAL "cpu.steal" Host Counter Nanoseconds "Time in which a CPU had work and the hypervisor ran another guest.";
    26 CPU_GUEST "cpu.guest" Host Counter Nanoseconds "CPU time that virtual machines of this host used.";
    27 CPU_IOWAIT "cpu.iowait" Host Counter Nanoseconds "Time without work on a CPU whose last thread waits for a disk.";
    28 CPU_IDLE "cpu.idle" Host Counter Nanoseconds "Time without work.";
    29 CPU_USED "cpu.used" Host Counter Nanoseconds "CPU time of all processes, ended ones too: the topmost control group's account, else ticks.";
    30 CPUS_ONLINE "cpus.online" Host Gauge Count "CPUs that are switched on.";

    40 EACH_USER "percpu.user" Cpu Counter Nanoseconds "The same of each CPU: in programs, of whatever priority.";
    41 EACH_SYSTEM "percpu.system" Cpu Counter Nanoseconds "In the kernel for programs.";
    42 EACH_IRQ "percpu.irq" Cpu Counter Nanoseconds "For interrupts, at once or deferred.";
    43 EACH_STEAL "percpu.steal" Cpu Counter Nanoseconds "The hypervisor ran another guest.";
    44 EACH_IOWAIT "percpu.iowait" Cpu Counter Nanoseconds "Without work, its last thread waits for a disk.";
    45 EACH_IDLE "percpu.idle" Cpu Counter Nanoseconds "Without work.";
    46 EACH_FREQUENCY "percpu.frequency" Cpu Gauge Kilohertz "Its clock now (cpufreq/scaling_cur_freq).";

    50 LIMIT_CPUS "limit.cpus" Host Gauge Millicores "CPU time that this process's control groups and affinity allow.";
    51 LIMIT_MEMORY "limit.memory" Host Gauge Bytes "Memory that its control groups allow.";
    52 LIMIT_HEADROOM "limit.memory.headroom" Host Gauge Bytes "What of that can still be had, file cache counted as free.";
    53 LIMIT_PERIODS "limit.periods" Host Counter Count "Quota periods of the tightest group in which something could run.";
    54 LIMIT_THROTTLED "limit.throttled" Host Counter Count "Of these, periods in which the quota was used up.";

    60 PSI_CPU_SOME "psi.cpu.some" Host Counter Nanoseconds "Time in which some thread waited for a CPU (/proc/pressure/cpu, total).";
    61 PSI_MEMORY_SOME "psi.memory.some" Host Counter Nanoseconds "Time in which some thread waited for memory.";
    62 PSI_MEMORY_FULL "psi.memory.full" Host Counter Nanoseconds "Time in which all threads that were not idle waited for memory.";
    63 PSI_IO_SOME "psi.io.some" Host Counter Nanoseconds "Time in which some thread waited for a disk.";
    64 PSI_IO_FULL "psi.io.full" Host Counter Nanoseconds "Time in which all threads that were not idle waited for a disk.";
    65 PSI_IRQ_FULL "psi.irq.full" Host Counter Nanoseconds "Time that interrupts took from threads.";

    70 MEM_TOTAL "memory.total" Host Gauge Bytes "Memory that the kernel manages (MemTotal of /proc/meminfo).";
    71 MEM_FREE "memory.free" Host Gauge Bytes "Memory with nothing in it (MemFree).";
    72 MEM_AVAILABLE "memory.available" Host Gauge Bytes "Memory that programs can have without swapping (MemAvailable), ZFS's cache above its minimum added.";
    73 MEM_BUFFERS "memory.buffers" Host Gauge Bytes "Cache of block devices (Buffers).";
    74 MEM_CACHED "memory.cached" Host Gauge Bytes "Cache of files, shared memory included (Cached).";
    75 MEM_APP "memory.app" Host Gauge Bytes "Memory of programs that is no file's (AnonPages).";
    76 MEM_SHARED "memory.shared" Host Gauge Bytes "Shared memory and tmpfs (Shmem).";
    77 MEM_SLAB "memory.slab.kept" Host Gauge Bytes "The kernel's objects that stay (SUnreclaim).";
    78 MEM_SLAB_CACHE "memory.slab.reclaimable" Host Gauge Bytes "The kernel's objects that go if memory is short (SReclaimable).";
    79 MEM_DIRTY "memory.dirty" Host Gauge Bytes "File data not yet written (Dirty).";
    80 MEM_WRITEBACK "memory.writeback" Host Gauge Bytes "File data on their way to disks (Writeback).";
    81 SWAP_TOTAL "swap.total" Host Gauge Bytes "Swap space (SwapTotal).";
    82 SWAP_FREE "swap.free" Host Gauge Bytes "Of it, free (SwapFree).";
    83 HUGE_TOTAL "memory.huge" Host Gauge Bytes "Reserved huge pages (Hugetlb).";
    84 HUGE_FREE "memory.huge.free" Host Gauge Bytes "Of them, free, of the usual size (HugePages_Free).";
    85 MEM_HUGE_APP "memory.huge.transparent" Host Gauge Bytes "Programs' memory in transparent huge pages (AnonHugePages).";
    86 MEM_TABLES "memory.tables" Host Gauge Bytes "Page tables (PageTables).";
    87 MEM_COMMITTED "memory.committed" Host Gauge Bytes "Memory that was promised to programs (Committed_AS).";
    88 MEM_ARC "memory.arc" Host Gauge Bytes "ZFS's cache (arcstats size).";
    89 MEM_ARC_LEAST "memory.arc.least" Host Gauge Bytes "What it does not give up (arcstats c_min).";

    100 PAGED_IN "paging.in" Host Counter Bytes "Read from disks for memory (pgpgin of /proc/vmstat).";
    101 PAGED_OUT "paging.out" Host Counter Bytes "Written to disks from memory (pgpgout).";
    102 SWAPPED_IN "swap.in" Host Counter Bytes "Brought back from swap (pswpin).";
    103 SWAPPED_OUT "swap.out" Host Counter Bytes "Sent to swap (pswpout).";
    104 FAULTS "faults" Host Counter Count "Page faults (pgfault).";
    105 FAULTS_MAJOR "faults.major" Host Counter Count "Page faults that waited for a disk (pgmajfault).";
    106 OOM_KILLS "oom.kills" Host Counter Count "Processes that the kernel ended for want of memory (oom_kill).";
    107 SCANNED "reclaim.scanned" Host Counter Count "Pages looked at to free some (pgscan_kswapd, pgscan_direct).";
    108 STALLS "reclaim.stalls" Host Counter Count "Times that a program had to free memory itself (allocstall).";

    110 DISK_READS "disk.reads" Disk Counter Count "Reads that ended (/proc/diskstats).";
    111 DISK_READ "disk.read" Disk Counter Bytes "Bytes read (/proc/diskstats).";
    112 DISK_READ_TIME "disk.read.time" Disk Counter Nanoseconds "Time of all reads, added up.";
    113 DISK_WRITES "disk.writes" Disk Counter Count "Writes that ended.";
    114 DISK_WRITTEN "disk.written" Disk Counter Bytes "Bytes written (/proc/diskstats).";
    115 DISK_WRITE_TIME "disk.write.time" Disk Counter Nanoseconds "Time of all writes, added up.";
    116 DISK_IN_FLIGHT "disk.inflight" Disk Gauge Count "Requests under way.";
    117 DISK_BUSY "disk.busy" Disk Counter Nanoseconds "Time in which a request was under way. A device that serves many at once is not full at 100 %.";
    118 DISK_QUEUE "disk.queue" Disk Counter Nanoseconds "Time of all requests under way, added up: its rate is the mean length of the queue.";
    119 DISK_FLUSHES "disk.flushes" Disk Counter Count "Flushes of the device's cache.";
    120 DISK_FLUSH_TIME "disk.flush.time" Disk Counter Nanoseconds "Time of all flushes, added up.";

    130 FS_SIZE "fs.size" FileSystem Gauge Bytes "Size of the file system (statvfs).";
    131 FS_FREE "fs.free" FileSystem Gauge Bytes "Free for users without rights.";
    132 FS_USED "fs.used" FileSystem Gauge Bytes "In use.";
    133 FS_INODES "fs.inodes" FileSystem Gauge Count "Inodes there may be.";
    134 FS_INODES_FREE "fs.inodes.free" FileSystem Gauge Count "Inodes left.";
    135 FS_SILENT "fs.silent" FileSystem Gauge Count "1 where the file system does not answer.";

    140 NET_RECEIVED "net.rx" Interface Counter Bytes "Bytes received (/proc/net/dev).";
    141 NET_PACKETS_IN "net.rx.packets" Interface Counter Count "Packets received.";
    142 NET_ERRORS_IN "net.rx.errors" Interface Counter Count "Packets received in error.";
    143 NET_DROPS_IN "net.rx.drops" Interface Counter Count "Packets received and dropped.";
    144 NET_SENT "net.tx" Interface Counter Bytes "Bytes sent (/proc/net/dev).";
    145 NET_PACKETS_OUT "net.tx.packets" Interface Counter Count "Packets sent.";
    146 NET_ERRORS_OUT "net.tx.errors" Interface Counter Count "Packets that could not be sent.";
    147 NET_DROPS_OUT "net.tx.drops" Interface Counter Count "Packets dropped instead of sent.";
    148 NET_SPEED "net.speed" Interface Gauge Megabits "What the link can carry (sysfs, speed).";

    160 TCP_SENT "tcp.out" Host Counter Count "TCP segments sent (OutSegs of /proc/net/snmp).";
    161 TCP_RETRANSMITTED "tcp.retransmitted" Host Counter Count "Of these, sent again (RetransSegs).";
    162 TCP_RECEIVED "tcp.in" Host Counter Count "TCP segments received (InSegs).";
    163 TCP_OPENED "tcp.opened" Host Counter Count "Connections opened from here (ActiveOpens).";
    164 TCP_ACCEPTED "tcp.accepted" Host Counter Count "Connections opened from elsewhere (PassiveOpens).";
    165 TCP_ESTABLISHED "tcp.established" Host Gauge Count "Connections there are (CurrEstab).";
    166 LISTEN_OVERFLOWS "tcp.listen.overflows" Host Counter Count "Connections refused as a queue of a listener was full (ListenOverflows of /proc/net/netstat).";
    167 LISTEN_DROPS "tcp.listen.drops" Host Counter Count "Connections refused by a listener for whatever reason (ListenDrops).";
    168 UDP_ERRORS "udp.errors" Host Counter Count "Datagrams lost here: no memory, full buffer, damage (InErrors).";
    169 SOCKETS "sockets" Host Gauge Count "Sockets in use (/proc/net/sockstat).";
    170 TCP_TIME_WAIT "tcp.timewait" Host Gauge Count "TCP sockets that wait for late segments (tw).";

    180 GROUP_USED "cgroup.cpu" Group Counter Nanoseconds "CPU time of all threads of the group, ended ones too (cpuacct.usage, cpu.stat).";
    181 GROUP_QUOTA "cgroup.cpu.limit" Group Gauge Millicores "CPU time that it may use (cfs_quota, cpu.max).";
    182 GROUP_PERIODS "cgroup.periods" Group Counter Count "Quota periods in which something could run.";
    183 GROUP_THROTTLED "cgroup.throttled" Group Counter Count "Of these, periods in which the quota was used up.";
    184 GROUP_MEMORY "cgroup.memory" Group Gauge Bytes "Memory in use, file cache included.";
    185 GROUP_MEMORY_LIMIT "cgroup.memory.limit" Group Gauge Bytes "Memory that it may use.";
    186 GROUP_OOM_KILLS "cgroup.oom.kills" Group Counter Count "Processes that the kernel ended for want of the group's memory.";

    200 TEMPERATURE "temperature" Sensor Gauge Millicelsius "Temperature (/sys/class/thermal).";

    210 SELF_CPU "self.cpu" Host Counter Nanoseconds "CPU time of this sampler.";
    211 SELF_MEMORY "self.memory" Host Gauge Bytes "Its resident memory.";
}

/// The metric of that number.
pub fn field(id: FieldId) -> Option<&'static FieldInfo> {
    ALL.binary_search_by_key(&id, |field| field.id).ok().map(|at| &ALL[at])
}

/// The metric of that name.
pub fn named(name: &str) -> Option<&'static FieldInfo> {
    ALL.iter().find(|field| field.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn numbers_grow_and_names_differ() {
        assert!(ALL.is_sorted_by_key(|field| field.id.0));
        let names: HashSet<&str> = ALL.iter().map(|field| field.name).collect();
        let numbers: HashSet<u16> = ALL.iter().map(|field| field.id.0).collect();
        assert_eq!((names.len(), numbers.len()), (ALL.len(), ALL.len()));
        assert!(ALL.iter().all(|field| field.help.ends_with('.') && !field.name.contains([' ', ',', '"'])));
    }

    #[test]
    fn fields_are_found_by_number_and_name() {
        assert_eq!(field(DISK_BUSY).map(|field| field.name), Some("disk.busy"));
        assert_eq!(named("disk.busy").map(|field| field.id), Some(DISK_BUSY));
        assert!(field(FieldId(999)).is_none() && named("nothing").is_none());
    }
}
