//! Fleets for tests: hosts whose figures are given, and that come as real ones do.

use super::SharedFleet;
use ::fleet::HostName;
use ::fleet::viewer::{FleetEvent, HostId};
use observe::host::envelope::{EnvelopeKind, Sealer};
use observe::host::fields::*;
use observe::host::frame::SnapshotEncoder;
use observe::host::snapshot::Snapshot;
use observe::host::values::{InstanceNames, WHOLE};
use std::sync::Arc;
use std::time::Duration;
use terminal::full_screen::Bell;

/// A look at a host whose CPUs are busy for `busy` percent of the time.
pub fn look(busy: u64, memory_used: u64, second: u64) -> Snapshot {
    let mut names = InstanceNames::default();
    let mut snapshot = Snapshot::default();
    let now = second * 1_000_000_000;
    (snapshot.at.monotonic_ns, snapshot.at.boot_ns, snapshot.at.wall_ns) = (now, now, now);
    let cpu = names.number("cpu0").expect("room");
    let values = [
        (CPU_USER, WHOLE, second * busy),
        (CPU_IDLE, WHOLE, second * (100 - busy)),
        (EACH_USER, cpu, second * busy),
        (EACH_SYSTEM, cpu, 0),
        (EACH_IRQ, cpu, 0),
        (EACH_STEAL, cpu, 0),
        (EACH_IDLE, cpu, second * (100 - busy)),
        (MEM_TOTAL, WHOLE, 100 << 30),
        (MEM_AVAILABLE, WHOLE, (100 - memory_used) << 30),
        (CPUS_ONLINE, WHOLE, 1),
    ];
    values.into_iter().for_each(|(field, of, value)| snapshot.values.push(field, of, value));
    snapshot.values.sort();
    snapshot.names = Arc::new(names);
    snapshot
}

/// A fleet of hosts by name, with the use of their CPUs and memory in percent, each of which was looked at twice.
pub fn fleet_of(hosts: &[(&str, u64, u64)]) -> Arc<SharedFleet> {
    let shared = SharedFleet::new(Duration::from_secs(1), Bell::silent());
    for (number, (name, busy, memory)) in hosts.iter().enumerate() {
        let host = HostId(number as u32 + 1);
        let name = HostName::new(name.as_bytes());
        shared.take(FleetEvent::Appeared { host, name, place: String::new() });
        take_looks(&shared, host, *busy, *memory, 1);
    }
    shared
}

/// Two looks more, as a host sends them that has come back: in the second `from`, and in the next.
pub fn take_looks(shared: &SharedFleet, host: HostId, busy: u64, memory_used: u64, from: u64) {
    let (mut encoder, mut sealer) = (SnapshotEncoder::default(), Sealer::default());
    for second in [from, from + 1] {
        let look = look(busy, memory_used, second);
        let wall_ns = look.at.wall_ns;
        let (kind, frame) = encoder.encode(look, 9);
        shared.take(FleetEvent::Envelope { host, bytes: sealer.seal(EnvelopeKind::Frame(kind), wall_ns, &frame) });
    }
}
