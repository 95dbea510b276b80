//! Takes snapshots: reads the kernel's files of the host as a whole beside a sample of its processes. What moves slowly (frequencies,
//! temperatures, limits) is read more rarely; nothing here waits for a disk or a network.

use super::fields::*;
use super::file_systems::FileSystemProbe;
use super::groups::GroupReader;
use super::oom;
use super::processes::{HeldSince, ProcessTexts, lines, rest, thread_lines};
use super::snapshot::{HostMoment, ProcessId, ProcessTransfer, Snapshot};
use super::sources::{cpu, disk, memory, network, waiting};
use super::values::{InstanceNames, Values, WHOLE};
use crate::ceiling::CeilingFinding;
use crate::files::Files;
use crate::model::Interval;
use crate::sample::HostSample;
use crate::source::words::{number, number_of, text_of};
use machine::{ControlGroups, Host, HostError};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use sys::cpu_clock::{Counted, other_process_ns};

/// Takes snapshots of one host.
pub struct SnapshotSampler {
    host: Host,
    proc: Files,
    sys: Option<Files>,
    names: Arc<InstanceNames>,
    file_systems: FileSystemProbe,
    groups: Option<GroupReader>,
    texts: ProcessTexts,
    since: HeldSince,
    slow: SlowValues,
    transfers: HashMap<ProcessId, (u64, ProcessTransfer)>,
    oom_kills: Option<u64>,
    page_bytes: u64,
}

/// What is read more rarely, as it was read last.
#[derive(Default)]
struct SlowValues {
    values: Values,
    disks: HashSet<String>,
    age: u32,
}

/// Snapshots between two readings of what moves slowly.
const SLOW_EVERY: u32 = 10;
/// LIMIT: processes whose transfers are read; each costs the kernel a walk over its threads.
const TRANSFERS_MAX: usize = 50;
/// LIMIT: CPUs whose frequency is read; each may cost a message to it.
const FREQUENCIES_MAX: usize = 64;

/// What happened since the snapshot before.
pub struct Since<'a> {
    /// Between the samples.
    pub interval: &'a Interval,
    /// The sample before.
    pub earlier: &'a HostSample,
    /// Threads that were held back.
    pub findings: &'a [CeilingFinding],
}

impl SnapshotSampler {
    /// Of `host`. An error where it has no `/proc`.
    pub fn open(host: &Host) -> Result<Self, HostError> {
        Ok(Self {
            host: host.clone(),
            proc: Files::open(host, Path::new("/proc"))?,
            sys: Files::open(host, Path::new("/sys")).ok(),
            names: Arc::default(),
            file_systems: FileSystemProbe::new(host),
            groups: GroupReader::open(host),
            texts: ProcessTexts::default(),
            since: HeldSince::default(),
            slow: SlowValues::default(),
            transfers: HashMap::new(),
            oom_kills: None,
            page_bytes: rustix::param::page_size() as u64,
        })
    }

    /// The snapshot of `sample`'s moment; the first has nothing that happened before it.
    pub fn take(&mut self, sample: &HostSample, since: Option<&Since<'_>>) -> Snapshot {
        let at = HostMoment { monotonic_ns: sample.at_ns, boot_ns: sample.since_boot_ns, wall_ns: sample.wall_ns };
        let mut snapshot =
            Snapshot { at, values: self.values(sample), names: Arc::clone(&self.names), ..Snapshot::default() };
        match since {
            Some(since) => {
                snapshot.processes = lines(since.interval, sample, self.page_bytes, &mut self.texts);
                snapshot.threads = thread_lines(since.interval, sample, self.page_bytes, &mut self.texts);
                snapshot.rest = rest(since.interval, sample);
                snapshot.findings = self.since.note(since.findings, since.earlier.since_boot_ns);
                snapshot.values.push(THREAD_BUSIEST, WHOLE, busiest_millicores(since.interval));
                snapshot.values.sort();
                self.read_transfers(&mut snapshot);
                snapshot.oom_victims = self.oom_victims(&snapshot.values, since.earlier.at_ns);
            }
            None => snapshot.rest.count = u32::try_from(sample.processes.len()).unwrap_or(u32::MAX),
        }
        snapshot
    }

    /// Whom the kernel ended since `since_ns`; its log is read only if it ended somebody.
    fn oom_victims(&mut self, values: &Values, since_ns: u64) -> Vec<String> {
        let now = values.get(OOM_KILLS);
        let has_grown = now.zip(self.oom_kills).is_some_and(|(now, before)| now > before);
        self.oom_kills = now;
        // The log has a clock of its own, which is within a second of this one.
        if has_grown { oom::victims(&self.host, since_ns.saturating_sub(1_000_000_000)) } else { Vec::new() }
    }

    fn values(&mut self, sample: &HostSample) -> Values {
        let mut values = Values::default();
        let mut names = std::mem::take(&mut self.names);
        // A list that has grown too long is begun anew; rates of this one interval are then found by name.
        if names.len() >= super::values::INSTANCES_MAX {
            names = Arc::default();
            self.slow = SlowValues::default();
        }
        let numbered = Arc::make_mut(&mut names);
        if self.slow.age.is_multiple_of(SLOW_EVERY) {
            self.read_slowly(numbered);
        }
        self.slow.age = self.slow.age.wrapping_add(1);
        self.read_texts(numbered, &mut values);
        let used = sample.machine.total.map(|total| total.used_ns);
        used.into_iter().for_each(|used_ns| values.push(CPU_USED, WHOLE, used_ns));
        self.read_file_systems(numbered, &mut values);
        if let Some(groups) = &mut self.groups {
            groups.read(sample, numbered, &mut values);
        }
        self.read_self(&mut values);
        self.slow.values.entries().iter().for_each(|(key, value)| values.push(key.field, key.instance, *value));
        self.names = names;
        values.sort();
        values
    }

    fn read_texts(&mut self, names: &mut InstanceNames, values: &mut Values) {
        if let Ok(text) = self.proc.read("stat") {
            cpu::stat(text, names, values);
        }
        let arc = self.proc.read("spl/kstat/zfs/arcstats").ok().and_then(memory::arc);
        let page_bytes = self.page_bytes;
        let mut read = |path: &str, parse: &mut dyn FnMut(&[u8])| {
            if let Ok(text) = self.proc.read(path) {
                parse(text);
            }
        };
        read("loadavg", &mut |text| cpu::load(text, values));
        read("uptime", &mut |text| cpu::uptime(text, values));
        read("meminfo", &mut |text| memory::meminfo(text, arc, values));
        read("vmstat", &mut |text| memory::vmstat(text, page_bytes, values));
        let disks = &self.slow.disks;
        read("diskstats", &mut |text| disk::diskstats(text, names, values, |name| disks.contains(name)));
        // Of this process's network namespace, not of who opened /proc.
        read("self/net/dev", &mut |text| network::interfaces(text, names, values));
        read("self/net/snmp", &mut |text| network::protocols(text, values));
        read("self/net/netstat", &mut |text| network::protocols(text, values));
        read("self/net/sockstat", &mut |text| network::sockets(text, values));
        for (path, some, full) in waiting::FILES {
            read(path, &mut |text| waiting::pressure(text, some, full, values));
        }
    }

    fn read_file_systems(&mut self, names: &mut InstanceNames, values: &mut Values) {
        for one in self.file_systems.look() {
            let Some(place) = names.number(&text_of(one.place.as_os_str().as_encoded_bytes())) else { return };
            let Some(sizes) = one.sizes else {
                values.push(FS_SILENT, place, 1);
                continue;
            };
            let all = [(FS_SIZE, sizes.size), (FS_FREE, sizes.free), (FS_USED, sizes.used)];
            all.into_iter().for_each(|(field, value)| values.push(field, place, value));
            if sizes.inodes > 0 {
                values.push(FS_INODES, place, sizes.inodes);
                values.push(FS_INODES_FREE, place, sizes.inodes_free);
            }
        }
    }

    fn read_self(&mut self, values: &mut Values) {
        if self.host.is_real() {
            let used = other_process_ns(std::process::id(), Counted::Scheduled);
            used.into_iter().for_each(|used_ns| values.push(SELF_CPU, WHOLE, used_ns));
        }
        let pages = self.proc.read("self/statm").ok().and_then(|text| number(text.split(|&byte| byte == b' ').nth(1)?));
        pages.into_iter().for_each(|pages| values.push(SELF_MEMORY, WHOLE, pages.saturating_mul(self.page_bytes)));
    }

    /// Limits, frequencies, temperatures, which disks there are, what links carry.
    fn read_slowly(&mut self, names: &mut InstanceNames) {
        let mut values = Values::default();
        self.read_limits(&mut values);
        let names_of = |path: &str| entries(&self.host, path);
        self.slow.disks = names_of("/sys/block").into_iter().collect();
        let interfaces = names_of("/sys/class/net");
        let zones = names_of("/sys/class/thermal");
        let cpus = names_of("/sys/devices/system/cpu");
        let Some(sys) = &mut self.sys else { return };
        let mut read = |path: &str| sys.read(path).ok().and_then(|text| number(text.trim_ascii()));
        for name in interfaces {
            // LIE: links that are down, and virtual ones, say -1.
            let speed = read(&format!("class/net/{name}/speed")).filter(|speed| *speed > 0 && *speed < 1 << 31);
            let interface = speed.and_then(|_| names.number(&name));
            interface.zip(speed).into_iter().for_each(|(interface, speed)| values.push(NET_SPEED, interface, speed));
        }
        for name in cpus.iter().filter(|name| name.starts_with("cpu")).take(FREQUENCIES_MAX) {
            let frequency = read(&format!("devices/system/cpu/{name}/cpufreq/scaling_cur_freq"));
            let cpu = frequency.and_then(|_| names.number(name));
            cpu.zip(frequency).into_iter().for_each(|(cpu, frequency)| values.push(EACH_FREQUENCY, cpu, frequency));
        }
        for name in zones.iter().filter(|name| name.starts_with("thermal_zone")) {
            let temperature = read(&format!("class/thermal/{name}/temp"));
            let sensor = temperature.and_then(|_| names.number(name));
            sensor.zip(temperature).into_iter().for_each(|(sensor, now)| values.push(TEMPERATURE, sensor, now));
        }
        values.sort();
        self.slow.values = values;
    }

    fn read_limits(&mut self, values: &mut Values) {
        let Ok(groups) = ControlGroups::of(&self.host) else { return };
        let allowed = machine::allowed_cpus(&self.host).ok().map(|cpus| cpus as u64 * 1000);
        let quota = groups.cpu_quota(&self.host).ok().flatten();
        let cpus = quota.as_ref().map(|quota| quota.millicores).into_iter().chain(allowed).min();
        cpus.into_iter().for_each(|limit| values.push(LIMIT_CPUS, WHOLE, limit));
        let memory = groups.memory(&self.host).unwrap_or_default();
        memory.limit_bytes.into_iter().for_each(|limit| values.push(LIMIT_MEMORY, WHOLE, limit));
        memory.headroom_bytes.into_iter().for_each(|left| values.push(LIMIT_HEADROOM, WHOLE, left));
    }

    /// Of the busiest, and of who waits for a disk: bytes since the snapshot before, a second.
    fn read_transfers(&mut self, snapshot: &mut Snapshot) {
        let mut read = HashMap::with_capacity(TRANSFERS_MAX);
        let is_of_interest = |used: u32, state: u8| used > 0 || state == b'D';
        let of_interest = snapshot.processes.iter_mut().filter(|line| is_of_interest(line.cpu.used, line.state));
        for line in of_interest.take(TRANSFERS_MAX) {
            let Some(now) = self.proc.read(&format!("{}/io", line.id.pid)).ok().and_then(transferred) else { continue };
            let at_ns = snapshot.at.monotonic_ns;
            if let Some((before_ns, before)) = self.transfers.get(&line.id) {
                let rate = |now: u64, before: u64| {
                    let grown = u128::from(now.saturating_sub(before)) * 1_000_000_000;
                    u64::try_from(grown / u128::from(at_ns.saturating_sub(*before_ns).max(1))).unwrap_or(u64::MAX)
                };
                line.io = Some(ProcessTransfer {
                    read: rate(now.read, before.read),
                    written: rate(now.written, before.written),
                });
            }
            read.insert(line.id, (at_ns, now));
        }
        self.transfers = read;
    }
}

/// What the busiest thread used, in thousandths of a core.
fn busiest_millicores(interval: &Interval) -> u64 {
    let used = interval.threads.iter().map(|thread| {
        // One that was taken to sleep has more in this interval than fits.
        thread.cpu.total_ns.min(thread.elapsed_ns).saturating_mul(1000) / thread.elapsed_ns.max(1)
    });
    used.max().unwrap_or(0)
}

/// `/proc/PID/io` (proc_pid_io(5)): what storage was asked for, not what pipes and caches gave.
fn transferred(text: &[u8]) -> Option<ProcessTransfer> {
    Some(ProcessTransfer { read: number_of(text, b"read_bytes: ")?, written: number_of(text, b"write_bytes: ")? })
}

/// The names in a directory of the host; none where it cannot be read.
fn entries(host: &Host, path: &str) -> Vec<String> {
    let Ok(listed) = std::fs::read_dir(host.locate(Path::new(path))) else { return Vec::new() };
    let mut names: Vec<String> = listed.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Idlers;
    use crate::sampler::{Depth, HostSampler, ProcessSelection, SampleContent, Sleepers, Texts};

    #[test]
    fn a_host_without_anything_has_no_values_and_no_panic() {
        let fake = crate::fake::FakeProcHost::new();
        let mut sampler = SnapshotSampler::open(&fake.host()).expect("/proc is there");
        let snapshot = sampler.take(&HostSample::default(), None);
        assert_eq!(snapshot.values.entries(), []);
    }

    #[test]
    fn a_fake_host_is_told_as_its_files_say() {
        let fake = crate::fake::FakeProcHost::new();
        fake.file("/proc/stat", "cpu  1 0 0 9\ncpu0 1 0 0 9\nctxt 5\n");
        fake.file("/proc/diskstats", "8 0 sda 1 0 8 1 0 0 0 0 0 1 1\n8 1 sda1 1 0 8 1 0 0 0 0 0 1 1\n");
        fake.file("/sys/block/sda/size", "8\n");
        fake.file("/sys/class/net/eth0/speed", "1000\n");
        fake.file("/sys/class/net/tap0/speed", "-1\n");
        fake.file("/sys/class/thermal/thermal_zone0/temp", "45000\n");
        let mut sampler = SnapshotSampler::open(&fake.host()).expect("/proc is there");
        let snapshot = sampler.take(&HostSample::default(), None);
        let named =
            |field| snapshot.values.each(field).map(|(at, value)| (snapshot.names.name(at), value)).collect::<Vec<_>>();
        assert_eq!((named(DISK_READS), named(NET_SPEED)), (vec![("sda", 1)], vec![("eth0", 1000)]));
        assert_eq!((named(TEMPERATURE), named(CPUS_ONLINE)), (vec![("thermal_zone0", 45_000)], vec![("", 1)]));
    }

    #[test]
    fn this_host_is_seen_to_do_something() {
        let host = Host::real();
        let wanted = SampleContent {
            who: ProcessSelection::Everybody,
            texts: Texts::OfAll,
            depth: Depth::Threads,
            sleepers: Sleepers::Trusted,
        };
        let (mut processes, mut sampler) =
            (HostSampler::open(&host).expect("Linux"), SnapshotSampler::open(&host).expect("Linux"));
        let (mut earlier, mut later) = (HostSample::default(), HostSample::default());
        processes.take(&wanted, None, &mut earlier).expect("readable");
        let first = sampler.take(&earlier, None);
        let mut sum = 0_u64;
        while sys::cpu_clock::monotonic_ns() < earlier.at_ns + 30_000_000 {
            sum = std::hint::black_box(sum.wrapping_mul(31) + 1);
        }
        processes.take(&wanted, Some(&earlier), &mut later).expect("readable");
        let mut interval = Interval::new(Idlers::Listed);
        interval.update(&earlier, &later);
        let second = sampler.take(&later, Some(&Since { interval: &interval, earlier: &earlier, findings: &[] }));
        let own = second.processes.iter().find(|line| line.id.pid == std::process::id()).expect("it lives");
        assert!(own.cpu.used > 0 && own.resident_bytes > 0 && own.threads > 0);
        let between = super::super::interval::HostInterval::new(Some(&first), &second);
        assert!(between.rate(SELF_CPU).is_some_and(|rate| rate > 0.0), "it worked for all of the time");
        assert!(between.gauge(MEM_TOTAL).is_some_and(|total| total > 0));
        assert!(between.gauge(THREAD_BUSIEST).is_some_and(|used| (1..=1000).contains(&used)), "a thread worked");
    }
}
