//! Bands of hosts that are made up: one CPU and a thousand, no disk and many.

use super::*;
use observe::host::values::{InstanceNames, WHOLE};
use std::sync::Arc;
use terminal::Colour;

fn snapshot(second: u64, values: &[(FieldId, &str, u64)]) -> Snapshot {
    let mut names = InstanceNames::default();
    let mut snapshot = Snapshot::default();
    (snapshot.at.monotonic_ns, snapshot.at.boot_ns) = (second * 1_000_000_000, second * 1_000_000_000);
    for (field, name, value) in values {
        let instance = if name.is_empty() { WHOLE } else { names.number(name).expect("room") };
        snapshot.values.push(*field, instance, *value);
    }
    snapshot.values.sort();
    snapshot.names = Arc::new(names);
    snapshot
}

fn text(lines: &[TintedLine]) -> String {
    lines.iter().map(|line| line.text(Colour::Off)).collect()
}

/// So many CPUs, of which each is busy for a share of a second that grows with its number.
fn cpus(count: u64, second: u64) -> Snapshot {
    let mut values = vec![(CPUS_ONLINE, String::new(), count)];
    for cpu in 0..count {
        let busy = second * 1_000_000_000 * cpu / count.max(2);
        values.push((EACH_USER, format!("cpu{cpu}"), busy));
        values.push((EACH_SYSTEM, format!("cpu{cpu}"), 0));
        values.push((EACH_IRQ, format!("cpu{cpu}"), 0));
        values.push((EACH_STEAL, format!("cpu{cpu}"), 0));
        values.push((EACH_IDLE, format!("cpu{cpu}"), second * 1_000_000_000 - busy));
    }
    let values: Vec<(FieldId, &str, u64)> =
        values.iter().map(|(field, name, value)| (*field, name.as_str(), *value)).collect();
    snapshot(second, &values)
}

#[test]
fn every_cpu_has_its_cell_up_to_a_thousand() {
    for count in [1, 2, 3, 8, 64, 255, 1024] {
        let (earlier, later) = (cpus(count, 1), cpus(count, 2));
        let interval = HostInterval::new(Some(&earlier), &later);
        for width in [40, 60, 80, 100, 200] {
            let map = cpu_map(&interval, width);
            let cells: usize = map
                .iter()
                .map(|line| line.text(Colour::Off)[6..].chars().filter(|cell| !cell.is_whitespace()).count())
                .sum();
            assert_eq!(cells as u64, count);
            assert!(map.iter().all(|line| line.width() <= width), "{count} at {width}");
        }
        assert_eq!(each_cpu(&interval).len() as u64, count);
    }
    let (earlier, later) = (cpus(16, 1), cpus(16, 2));
    let interval = HostInterval::new(Some(&earlier), &later);
    assert_eq!(text(&cpu_map(&interval, 80)), format!("    0 {}\n", expected_cells(16)));
}

/// Tenths of each of `count` CPUs, in groups of eight.
fn expected_cells(count: u64) -> String {
    let cell = |cpu: u64| if cpu == 0 { '.' } else { char::from(b'0' + (cpu * 10 / count) as u8) };
    let cells: Vec<char> = (0..count).map(cell).collect();
    cells.chunks(8).map(|cells| cells.iter().collect::<String>()).collect::<Vec<_>>().join(" ")
}

#[test]
fn shares_are_of_all_that_cpus_did() {
    let earlier = snapshot(1, &[(CPU_USER, "", 0), (CPU_SYSTEM, "", 0), (CPU_IDLE, "", 0), (CPUS_ONLINE, "", 1)]);
    let later = snapshot(
        2,
        &[(CPU_USER, "", 500), (CPU_SYSTEM, "", 250), (CPU_IDLE, "", 250), (CPUS_ONLINE, "", 1), (RUNNABLE, "", 3)],
    );
    let shown = text(&cpu(&HostInterval::new(Some(&earlier), &later), None, 80));
    assert!(shown.starts_with("cpu  75.0 %  usr 50.0 sys 25.0 (±10.0)  runq 3  ctx -/s\n"), "{shown}");
    assert!(text(&cpu(&HostInterval::new(None, &later), None, 80)).contains("the first figures come"));
}

#[test]
fn disks_at_rest_are_folded_and_what_does_not_fit_is_counted() {
    let at = |second: u64, busy: u64| {
        let values: Vec<(FieldId, String, u64)> = (0..12)
            .flat_map(|disk| {
                let of = |field, value| (field, format!("sd{disk}"), value);
                let moved = if disk < 9 { second * (disk + 1) } else { 0 };
                [
                    of(DISK_READS, moved),
                    of(DISK_READ, moved * 4096),
                    of(DISK_BUSY, if disk < 9 { second * busy * (disk + 1) } else { 0 }),
                    of(DISK_READ_TIME, moved * 800_000),
                ]
            })
            .collect();
        let values: Vec<(FieldId, &str, u64)> =
            values.iter().map(|(field, name, value)| (*field, name.as_str(), *value)).collect();
        snapshot(second, &values)
    };
    let (earlier, later) = (at(1, 10_000_000), at(2, 10_000_000));
    let interval = HostInterval::new(Some(&earlier), &later);
    let all = text(&disks(&interval, None, 99));
    assert!(all.contains(" sd8        9%     9     0    0.0    0.0 0.8ms   0.0\n"), "{all}");
    assert!(all.lines().count() >= 11 && all.contains("3 disks idle"), "{all}");
    let few = text(&disks(&interval, None, 4));
    assert_eq!(few.lines().count(), 4);
    assert!(few.lines().last().is_some_and(|last| last.contains("less busy")), "{few}");
    assert_eq!(text(&disks(&HostInterval::new(None, &Snapshot::default()), None, 9)).lines().count(), 1, "no disk");
}

#[test]
fn a_disk_that_rests_and_never_does_is_shown_and_marked() {
    let at = |second: u64, busy_ns: u64| {
        let of = |disk: &'static str, busy_ns: u64, reads: u64| [(DISK_BUSY, disk, busy_ns), (DISK_READS, disk, reads)];
        let disks =
            [of("sda", second * 400_000_000, second * 9), of("sdb", busy_ns, busy_ns / 1_000_000), of("sdc", 5, 5)];
        let cpus = [(CPU_USER, "", second), (CPU_IDLE, "", second)];
        snapshot(second, &disks.into_iter().flatten().chain(cpus).collect::<Vec<_>>())
    };
    let mut usual = Usual::default();
    for step in 0..50 {
        let (earlier, later) =
            (at(5 * step + 1, (5 * step + 1) * 900_000_000), at(5 * step + 2, (5 * step + 2) * 900_000_000));
        usual.note(later.at.boot_ns, figures::all(&HostInterval::new(Some(&earlier), &later)));
    }
    let (earlier, later) = (at(300, 7), at(301, 7));
    let interval = HostInterval::new(Some(&earlier), &later);
    let shown = text(&disks(&interval, Some(&usual), 9));
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines[1], " sdb       v0%    v0    v0    0.0    0.0     0   0.0", "{shown}");
    assert!(lines[2].starts_with(" sda       40%     9     0") && lines.len() == 4, "{shown}");
    assert!(!text(&disks(&interval, None, 9)).contains("sdb"), "nothing is known of its past");
}

#[test]
fn lost_packets_full_file_systems_and_silent_ones_stand_out() {
    let net = |second: u64| {
        let values = [
            (NET_RECEIVED, "eth0", second * 1_000_000),
            (NET_SENT, "eth0", second * 250_000),
            (NET_DROPS_IN, "eth0", second * 7),
            (NET_RECEIVED, "lo", 5),
        ];
        snapshot(second, &values)
    };
    let (earlier, later) = (net(1), net(2));
    let shown = text(&network(&HostInterval::new(Some(&earlier), &later), None, 9));
    assert!(shown.contains(" eth0          8.0     2.0 lost 7/s\n") && shown.contains("1 idle"), "{shown}");
    let later = snapshot(
        2,
        &[
            (FS_SIZE, "/", 100),
            (FS_USED, "/", 10),
            (FS_FREE, "/", 90),
            (FS_SIZE, "/var", 100),
            (FS_USED, "/var", 91),
            (FS_FREE, "/var", 9),
            (FS_SILENT, "/nfs", 1),
        ],
    );
    let filling = [("/var".to_owned(), 21_600.0)];
    let standing = BandContext { filling: &filling, ..BandContext::default() };
    let shown = file_systems(&HostInterval::new(None, &later), &standing, 2).text(Colour::Off);
    assert_eq!(shown, "fs   /nfs silent  /var 91 %, full in 6h00   +1 at most 10 %\n");
}

#[test]
fn all_devices_are_idle_ones_too_and_each_file_system() {
    let at = |second: u64| {
        let disks = [(DISK_BUSY, "sda", second * 400_000_000), (DISK_BUSY, "sdb", 5)];
        let links = [(NET_RECEIVED, "eth0", second * 1_000_000), (NET_RECEIVED, "lo", 5)];
        let place = [(FS_SIZE, "/var", 100 << 30), (FS_USED, "/var", 91 << 30), (FS_FREE, "/var", 9 << 30)];
        snapshot(second, &disks.into_iter().chain(links).chain(place).collect::<Vec<_>>())
    };
    let (earlier, later) = (at(1), at(2));
    let interval = HostInterval::new(Some(&earlier), &later);
    let shown = text(&all_devices(&interval, &BandContext::default(), 53, 20));
    assert!(
        ["\n sda ", "\n sdb ", " eth0 ", " lo ", " tcp 0 retrans 0.0%"].iter().all(|row| shown.contains(row)),
        "{shown}"
    );
    assert!(shown.contains("\n /var                          91%   100G   9.0G       -\n"), "{shown}");
    let few = text(&all_devices(&interval, &BandContext::default(), 53, 4));
    assert!(few.lines().count() == 4 && few.ends_with(" +3 lines that do not fit\n"), "{few}");
}

#[test]
fn groups_near_their_limit_come_first() {
    let at = |second: u64| {
        let values = [
            (GROUP_USED, "/web.service", second * 1_400_000_000),
            (GROUP_QUOTA, "/web.service", 2_000),
            (GROUP_THROTTLED, "/web.service", second),
            (GROUP_USED, "/batch", second * 3_000_000_000),
            (GROUP_USED, "/idle", 5),
        ];
        snapshot(second, &values)
    };
    let (earlier, later) = (at(1), at(2));
    let shown = text(&groups(&HostInterval::new(Some(&earlier), &later), None, 1));
    assert_eq!(shown, " web.service               70 % of 2.0 cpu  throttled 1  +1 groups\n");
}

#[test]
fn memory_is_told_by_what_programs_can_have() {
    const GIB: u64 = 1 << 30;
    let values = [
        (MEM_TOTAL, "", 24 * GIB),
        (MEM_FREE, "", 6 * GIB),
        (MEM_AVAILABLE, "", 18 * GIB),
        (MEM_APP, "", 4 * GIB),
        (MEM_CACHED, "", 13 * GIB),
        (SWAP_TOTAL, "", 0),
    ];
    let shown = text(&memory(&HostInterval::new(None, &snapshot(1, &values)), None));
    assert!(shown.starts_with("mem  6.0G/24.0G  app 4.0G file 13.0G  free for use 18.0G\n     swap none"), "{shown}");
    assert_eq!(memory(&HostInterval::new(None, &Snapshot::default()), None), []);
}
