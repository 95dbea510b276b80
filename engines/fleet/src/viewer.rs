//! The side that looks: finds hosts, decides whether they are believed, keeps one connection to each, by agent or by
//! ssh, and gives what arrives as events. One loop without a thread, for all hosts: `wait` does what is due. Shows
//! nothing and looks into no sample.

mod agent_link;
mod asking;
mod backoff;
mod connecting;
mod events;
mod finding;
mod host_table;
mod known_hosts;
mod serving;
mod trust;

pub use events::{FleetEvent, HostId};
pub use known_hosts::{KnownHost, KnownHosts};

use crate::keys::{FeedRole, FleetKeyFile};
use crate::network::{Ready, SleepList};
use crate::ssh::{SshOptions, check_destination};
use crate::{Error, HostName};
use agent_link::FeedDemand;
use asking::Asker;
use connecting::ConnectQueue;
use finding::HostFinder;
use host_table::{FleetHost, HostReach, HostStanding, HostTable};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};
use trust::FleetTrust;

const ANSWERS_V4: u64 = 0;
const ANSWERS_V6: u64 = 1;
const INTERFACES: u64 = 2;
/// Above: two for each host, its socket or standard output, and its standard error.
const HOSTS: u64 = 16;

/// LIMIT: parts of samples of all hosts together.
const BUFFERED_MAX: usize = 40 << 20;

/// LIMIT: what one host gives in one turn.
const SCRATCH_BYTES: usize = 32 << 10;

/// LIMIT: of what may be asked for; agents keep to the same.
const INTERVAL_MIN: Duration = Duration::from_millis(100);
const INTERVAL_MAX: Duration = Duration::from_secs(3600);

/// Known hosts are written so often, and at the end.
const KEPT_EVERY: Duration = Duration::from_secs(5);

/// How a viewer looks.
#[derive(Clone, Debug)]
pub struct ViewerOptions {
    /// The fleet's keys; without any, agents are not looked for.
    pub keys: Option<FleetKeyFile>,
    /// Hosts that were accepted before.
    pub known: KnownHosts,
    /// The agents' port.
    pub port: u16,
    /// Whether this host and its networks are asked.
    pub multicast: bool,
    /// Names of interfaces whose networks are asked; all if there is none.
    pub interfaces: Vec<String>,
    /// Where agents may be besides.
    pub addresses: Vec<SocketAddr>,
    /// Hosts that ssh reaches.
    pub ssh_hosts: Vec<String>,
    /// How.
    pub ssh: SshOptions,
    /// Time between samples: 0.1 s to an hour, the nearest of them otherwise.
    pub interval: Duration,
    /// What is wanted of them; agents give no more than the line allows.
    pub role: FeedRole,
}

/// A running viewer.
#[derive(Debug)]
pub struct Viewer {
    sleep: SleepList,
    finder: Option<HostFinder>,
    trust: FleetTrust,
    hosts: HostTable,
    queue: ConnectQueue,
    ssh: SshOptions,
    demand: FeedDemand,
    buffered: usize,
    scratch: Vec<u8>,
    events: Vec<FleetEvent>,
    kept_at: Instant,
}

impl Viewer {
    /// Opens sockets, and knows its hosts. The first question is asked, and the first connection begun, by
    /// [`Self::wait`].
    pub fn open(options: ViewerOptions) -> Result<Self, Error> {
        options.ssh_hosts.iter().try_for_each(|host| check_destination(host))?;
        let now = Instant::now();
        let sleep = SleepList::new()?;
        let finder = match &options.keys {
            Some(_) => {
                let asker = Asker::open(options.port, options.multicast, options.interfaces, now)?;
                let mut places = options.addresses;
                if options.multicast {
                    // Loopback has no multicast, and may be the only interface.
                    places.push(([127, 0, 0, 1], options.port).into());
                }
                Some(HostFinder { asker, places })
            }
            None => None,
        };
        if let Some(finder) = &finder {
            let added = finder.asker.add_to(&sleep, [ANSWERS_V4, ANSWERS_V6, INTERFACES]);
            added.map_err(|cause| Error::system("wait for answers of", "the network", cause))?;
        }
        let mut viewer = Self {
            sleep,
            finder,
            trust: FleetTrust::new(options.keys, options.known),
            hosts: HostTable::default(),
            queue: ConnectQueue::default(),
            ssh: options.ssh,
            demand: FeedDemand { interval: options.interval.clamp(INTERVAL_MIN, INTERVAL_MAX), role: options.role },
            buffered: 0,
            scratch: vec![0; SCRATCH_BYTES],
            events: Vec::new(),
            kept_at: now,
        };
        viewer.add_first_hosts(&options.ssh_hosts, now);
        Ok(viewer)
    }

    fn add_first_hosts(&mut self, ssh_hosts: &[String], now: Instant) {
        for destination in ssh_hosts {
            let reach = HostReach::Ssh(destination.clone());
            self.show(FleetHost::new(HostName::new(destination.as_bytes()), reach, HostStanding::Away, now), now);
        }
        if self.finder.is_none() {
            return;
        }
        let known: Vec<_> = self.trust.known().iter().map(|(name, host)| (name.clone(), *host)).collect();
        for (name, host) in known {
            let reach = HostReach::Agent { key: host.key, addresses: host.address.into_iter().collect(), pair: 0 };
            self.show(FleetHost::new(name, reach, HostStanding::Away, now), now);
        }
    }

    fn show(&mut self, host: FleetHost, now: Instant) {
        let (name, place) = (host.name.clone(), host.place());
        if let Some(id) = self.hosts.add(host) {
            self.hosts.look_at(id, now);
            self.events.push(FleetEvent::Appeared { host: id, name, place });
        }
    }

    /// When [`Self::wait`] has something to do by itself, if so.
    pub fn due(&self) -> Option<Instant> {
        let asker = self.finder.as_ref().map(|finder| finder.asker.due());
        let events = (!self.events.is_empty()).then_some(self.kept_at);
        [self.hosts.first_due(), asker, events].into_iter().flatten().min()
    }

    /// Does what is due, sleeps for at most `limit` before if nothing is, and gives what has happened. One call takes a
    /// bounded part of what has arrived.
    pub fn wait(&mut self, limit: Duration) -> Result<Vec<FleetEvent>, Error> {
        let now = Instant::now();
        if let Some(finder) = &mut self.finder {
            finder.ask(&self.trust, &self.hosts, now)?;
        }
        self.look_at_due(now);
        let limit = self.due().map_or(limit, |due| limit.min(due.saturating_duration_since(now)));
        for ready in self.sleep.sleep(limit)? {
            self.take(ready);
        }
        let now = Instant::now();
        self.look_at_due(now);
        if now.saturating_duration_since(self.kept_at) >= KEPT_EVERY {
            self.keep(now);
        }
        Ok(std::mem::take(&mut self.events))
    }

    fn take(&mut self, ready: Ready) {
        let now = Instant::now();
        match (ready.token, &mut self.finder) {
            (ANSWERS_V4 | ANSWERS_V6, Some(finder)) => {
                finder.take_answers(&self.trust, &mut self.hosts, ready.token == ANSWERS_V6, now);
            }
            (INTERFACES, Some(finder)) => finder.asker.look_again(now),
            (token, _) => self.serve(token, ready, now),
        }
    }

    fn keep(&mut self, now: Instant) {
        self.kept_at = now;
        if let Err(error) = self.trust.keep() {
            self.events.push(FleetEvent::NotKept { reason: error.to_string() });
        }
    }

    /// Another pace, for all hosts. ssh's hosts keep the one that their command has.
    pub fn set_interval(&mut self, interval: Duration) {
        self.demand.interval = interval.clamp(INTERVAL_MIN, INTERVAL_MAX);
        self.renew_demand(Instant::now());
    }

    /// Believes a host that is unconfirmed, or that has another key, from now on: its data follow, and it gets a ticket
    /// of the fleet.
    pub fn accept(&mut self, host: HostId) {
        self.believe(host, Instant::now());
    }
}

impl Drop for Viewer {
    /// What cannot be written now was reported before, or is asked again next time.
    fn drop(&mut self) {
        let _is_asked_again = self.trust.keep();
    }
}

impl AsFd for Viewer {
    /// Readable when [`Viewer::wait`] has something to do; what is due by time is in [`Viewer::due`].
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.sleep.as_fd()
    }
}
