//! A day on a made-up clock: the ring of the last minutes, a recording, the fleet's viewer, both pages with readers that are slow or do not read
//! at all, while containers, their mounts and interfaces come and go. Memory is counted by allocations that live, in a process of its own.

use super::fleet::SharedFleet;
use super::keep::Keeper;
use super::screen::{HostScreen, SharedHost};
use super::session::HostSession;
use super::web::soak::Pages;
use ::fleet::HostName;
use ::fleet::viewer::{FleetEvent, HostId};
use observe::host::envelope::{EnvelopeKind, Sealer};
use observe::host::fields::*;
use observe::host::frame::SnapshotEncoder;
use observe::host::recording::HostFacts;
use observe::host::snapshot::{ProcessCpu, ProcessId, ProcessLine, ProcessText, Snapshot};
use observe::host::values::{InstanceNames, WHOLE};
use peak_alloc::PeakAlloc;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use terminal::full_screen::{Bell, ScreenView};

#[global_allocator]
static ALLOCATIONS: PeakAlloc = PeakAlloc;

/// How many hours the process of its own has.
const HOURS: &str = "SYSSTAT_SOAK_HOURS";
/// LIMIT: until then rings fill and maps reach their size.
const WARM_S: u64 = 3_600;
/// LIMIT: of what is alive then, by which it may differ later: samples are of different lengths.
const GROWTH_PART: usize = 20;
const HOSTS: u32 = 4;
/// How long a container lives: three hours see two thousand of them.
const CONTAINER_S: u64 = 5;

#[test]
fn three_hours_of_everything_take_no_more_memory_than_one() {
    run_apart(3);
}

#[test]
#[ignore = "takes minutes: the long tier"]
fn a_day_of_everything_takes_no_more_memory_than_an_hour() {
    run_apart(24);
}

/// Other tests allocate, too.
fn run_apart(hours: u64) {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "sysstat::soak::the_process_of_the_tests_above", "--ignored", "--nocapture"]);
    let status = command.env(HOURS, hours.to_string()).status().expect("this program starts");
    assert!(status.success(), "memory grows, or it failed: {status}");
}

#[test]
#[ignore = "a part of the tests above, which start it"]
fn the_process_of_the_tests_above() {
    let Some(hours) = std::env::var(HOURS).ok().and_then(|hours| hours.parse::<u64>().ok()) else { return };
    let mut world = World::new();
    let mut warm = 0;
    for second in 1..=hours * 3_600 {
        world.pass(second);
        if second.is_multiple_of(60) {
            let alive = ALLOCATIONS.current_usage();
            if second <= WARM_S {
                warm = warm.max(alive);
            }
            assert!(alive <= warm + warm / GROWTH_PART, "{alive} bytes are alive after {second} s, and {warm} were");
        }
    }
    // A process that counts nothing would pass, too.
    assert!(warm > 1 << 20, "{warm} bytes");
}

/// A sampler's numbers of names: it begins a new list when one is full, here a small one.
#[derive(Default)]
struct Sampler {
    names: Arc<InstanceNames>,
}

const NAMES_MAX: usize = 400;

impl Sampler {
    fn number(&mut self, name: &str) -> observe::host::values::InstanceId {
        if self.names.len() >= NAMES_MAX {
            self.names = Arc::default();
        }
        Arc::make_mut(&mut self.names).number(name).expect("room")
    }

    /// The host in that second: now and then a container ends and another begins.
    fn look(&mut self, second: u64, host: u64) -> Snapshot {
        let mut snapshot = Snapshot::default();
        let now = second * 1_000_000_000;
        (snapshot.at.monotonic_ns, snapshot.at.boot_ns) = (now, now);
        snapshot.at.wall_ns = 1_700_000_000_000_000_000 + now;
        let number = second / CONTAINER_S + host;
        // A name of the list that is dropped would be another one's number.
        let needed = 6;
        if self.names.len() + needed >= NAMES_MAX {
            self.names = Arc::default();
        }
        let container = format!("{:012x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16);
        let [root, mount, disk, link, group] = [
            "/".to_owned(),
            format!("/var/lib/docker/overlay2/{}/merged", container.repeat(5)),
            "nvme0n1".to_owned(),
            format!("veth{}", &container[..7]),
            format!("/system.slice/docker-{container}.scope"),
        ]
        .map(|name| self.number(&name));
        let busy = 10 + (second + host) % 7;
        let values = [
            (CPU_USER, WHOLE, now / 100 * busy),
            (CPU_IDLE, WHOLE, now / 100 * (100 - busy)),
            (CPUS_ONLINE, WHOLE, 1),
            (MEM_TOTAL, WHOLE, 8 << 30),
            (MEM_AVAILABLE, WHOLE, (4 << 30) + ((second % 97) << 20)),
            (FS_SIZE, root, 1 << 40),
            (FS_FREE, root, (1 << 39) - (second << 12)),
            (FS_SIZE, mount, 1 << 30),
            (FS_FREE, mount, 1 << 29),
            (DISK_BUSY, disk, now / 10),
            (DISK_READS, disk, second * 40),
            (NET_RECEIVED, link, second << 12),
            (NET_SENT, link, second << 10),
            (GROUP_USED, group, now / 20),
        ];
        values.into_iter().for_each(|(field, of, value)| snapshot.values.push(field, of, value));
        snapshot.values.sort();
        snapshot.names = Arc::clone(&self.names);
        snapshot.processes = (0..20).map(|number| process(number, second)).collect();
        snapshot
    }
}

/// Some stay, some are another one each few seconds.
fn process(number: u64, second: u64) -> ProcessLine {
    let start = if number < 10 { number } else { second / (number - 8) };
    let id = ProcessId { pid: (1_000 + number * 50_000 + start % 40_000) as u32, start_ticks: 100 * start };
    let text = ProcessText { command: format!("worker --number {number} --began {start}"), ..ProcessText::default() };
    let cpu = ProcessCpu { used: (second * 7_919 % 90_000) as u32, ..ProcessCpu::default() };
    ProcessLine { id, text: Arc::new(text), cpu, resident_bytes: 1 << 20, ..ProcessLine::default() }
}

/// A host of the fleet, which sends.
struct Sender {
    id: HostId,
    sampler: Sampler,
    encoder: SnapshotEncoder,
    sealer: Sealer,
}

struct World {
    start: Instant,
    _directory: tempfile::TempDir,
    keeper: Keeper,
    sampler: Sampler,
    local: Arc<SharedHost>,
    screen: HostScreen,
    fleet: Arc<SharedFleet>,
    senders: Vec<Sender>,
    next_id: u32,
    pages: Pages,
}

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let keeper = Keeper::open("x", directory.path(), Some(1), HostFacts::default()).expect("opened");
        let interval = Duration::from_secs(1);
        let local = SharedHost::new(HostSession::local(HostFacts::default()), interval, Bell::silent());
        let screen = HostScreen::new(Arc::clone(&local), false);
        let fleet = SharedFleet::new(interval, Bell::silent());
        let (start, pages) = (Instant::now(), Pages::new(interval));
        let mut world = Self {
            start,
            _directory: directory,
            keeper,
            sampler: Sampler::default(),
            local,
            screen,
            fleet,
            senders: Vec::new(),
            next_id: 0,
            pages,
        };
        (0..HOSTS).for_each(|number| world.appear(number as usize));
        world
    }

    /// A host comes, in place of the one that had this number.
    fn appear(&mut self, number: usize) {
        let id = HostId(self.next_id);
        self.next_id += 1;
        let name = HostName::new(format!("web{number}").as_bytes());
        self.fleet.take(FleetEvent::Appeared { host: id, name, place: "10.0.0.1:7764".to_owned() });
        let sender =
            Sender { id, sampler: Sampler::default(), encoder: SnapshotEncoder::default(), sealer: Sealer::default() };
        match self.senders.get_mut(number) {
            Some(gone) => {
                let gone = std::mem::replace(gone, sender);
                self.fleet.take(FleetEvent::Gone { host: gone.id });
            }
            None => self.senders.push(sender),
        }
    }

    fn pass(&mut self, second: u64) {
        let snapshot = self.sampler.look(second, 0);
        assert_eq!(self.keeper.write(&snapshot), None, "recorded");
        self.local.session.lock().push(snapshot);
        self.screen.refresh();
        if second.is_multiple_of(1_000) {
            self.appear((second / 1_000 % u64::from(HOSTS)) as usize);
        }
        for sender in &mut self.senders {
            let look = sender.sampler.look(second, u64::from(sender.id.0));
            let wall_ns = look.at.wall_ns;
            let (kind, frame) = sender.encoder.encode(look, 25);
            let bytes = sender.sealer.seal(EnvelopeKind::Frame(kind), wall_ns, &frame);
            self.fleet.take(FleetEvent::Envelope { host: sender.id, bytes });
        }
        self.pages.pass(second, &self.local, &self.fleet, self.start + Duration::from_secs(second));
        if second % 700 == 650 {
            self.pages.open(self.senders[0].id);
        }
    }
}
