//! Beginning connections, not all at once, and ending them.

use super::agent_link::{self, AgentLink};
use super::host_table::{FleetHost, HostReach, HostStanding, Link};
use super::{FleetEvent, HOSTS, HostId, Viewer};
use crate::session::SessionEnd;
use crate::ssh::{self, SshLink};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// LIMIT: agents that are connected to at once.
const AGENTS_MAX: usize = 64;

/// LIMIT: ssh clients that are starting at once, at 0.1 s of CPU each.
const SSH_MAX: usize = 16;

/// A connection over ssh that lasted this long was a good one.
const GOOD: Duration = Duration::from_secs(60);

/// A sample is late after two intervals and this.
const LATE: Duration = Duration::from_secs(1);

/// Hosts that wait for their turn, and how many are being connected to.
#[derive(Debug, Default)]
pub(super) struct ConnectQueue {
    agents: VecDeque<HostId>,
    ssh: VecDeque<HostId>,
}

pub(super) fn token(host: HostId, is_stderr: bool) -> u64 {
    HOSTS + u64::from(host.0) * 2 + u64::from(is_stderr)
}

impl Viewer {
    /// Everything that is due by time.
    pub(super) fn look_at_due(&mut self, now: Instant) {
        while let Some(id) = self.hosts.due(now) {
            self.look_at(id, now);
        }
        self.begin_queued(now);
    }

    fn look_at(&mut self, id: HostId, now: Instant) {
        let late = self.demand.interval * 2 + LATE;
        let Some(host) = self.hosts.get(id) else { return };
        match &host.link {
            Link::Queued => {}
            Link::None(retry) if *retry > now => {
                let retry = *retry;
                self.hosts.look_at(id, retry);
            }
            Link::None(_) => {
                host.link = Link::Queued;
                match &host.reach {
                    HostReach::Agent { .. } => self.queue.agents.push_back(id),
                    HostReach::Ssh(_) => self.queue.ssh.push_back(id),
                }
            }
            Link::Agent(_) | Link::Ssh(_) if host.is_connecting() => {
                let limit = if let Link::Ssh(_) = host.link { ssh::REACH } else { agent_link::REACH };
                let until = host.begun + limit;
                if until <= now {
                    self.lose(id, &SessionEnd::NoAnswer(limit.as_secs()), now)
                } else {
                    self.hosts.look_at(id, until)
                }
            }
            Link::Agent(_) | Link::Ssh(_) if host.standing == HostStanding::Here => {
                let since = host.last_sample.map_or(host.begun, |sample| sample.max(host.begun));
                if !host.is_late && since + late <= now {
                    host.is_late = true;
                    self.events.push(FleetEvent::Late { host: id, since });
                } else if !host.is_late {
                    self.hosts.look_at(id, since + late);
                }
            }
            Link::Agent(_) | Link::Ssh(_) => {}
        }
    }

    fn begin_queued(&mut self, now: Instant) {
        if self.queue.agents.is_empty() && self.queue.ssh.is_empty() {
            return;
        }
        let connecting = |is_ssh: bool| {
            let of_kind = |host: &FleetHost| matches!(host.link, Link::Ssh(_)) == is_ssh;
            self.hosts.iter().filter(|(_, host)| host.is_connecting() && of_kind(host)).count()
        };
        let (agents, ssh) = (connecting(false), connecting(true));
        for _ in agents..AGENTS_MAX {
            let Some(id) = self.queue.agents.pop_front() else { break };
            self.begin(id, now);
        }
        for _ in ssh..SSH_MAX {
            let Some(id) = self.queue.ssh.pop_front() else { break };
            self.begin(id, now);
        }
    }

    fn begin(&mut self, id: HostId, now: Instant) {
        let Some(host) = self.hosts.get(id).filter(|host| matches!(host.link, Link::Queued)) else { return };
        host.begun = now;
        let begun = match &mut host.reach {
            HostReach::Agent { key, addresses, pair } => {
                let pairs = self.trust.pairs();
                let fleet = pairs.get(*pair).or(pairs.first());
                match (addresses.first(), fleet) {
                    (Some(address), Some(fleet)) => {
                        AgentLink::connect(address, key, fleet).map(|link| Link::Agent(Box::new(link)))
                    }
                    _ => Err(SessionEnd::NoAddress),
                }
            }
            HostReach::Ssh(destination) => SshLink::start(&self.ssh, destination).map(|link| Link::Ssh(Box::new(link))),
        };
        let begun = begun.and_then(|link| {
            match &link {
                Link::Agent(agent) => self.sleep.add(&**agent, token(id, false), true)?,
                Link::Ssh(ssh) => {
                    self.sleep.add(&ssh.stdout, token(id, false), false)?;
                    self.sleep.add(&ssh.stderr, token(id, true), false)?;
                }
                Link::None(_) | Link::Queued => {}
            }
            host.link = link;
            host.watches_writes = true;
            Ok(())
        });
        match begun {
            Ok(()) => self.hosts.look_at(id, now),
            Err(end) => self.lose(id, &end, now),
        }
    }

    /// Drops the connection, reports it once, and sets the time of the next try. What was only rumoured is forgotten.
    pub(super) fn lose(&mut self, id: HostId, end: &SessionEnd, now: Instant) {
        let Some(host) = self.hosts.get(id) else { return };
        self.buffered -= host.buffered().min(self.buffered);
        if host.standing == HostStanding::Rumoured {
            return self.hosts.remove(id);
        }
        let is_ssh = matches!(host.reach, HostReach::Ssh(_));
        if is_ssh && host.standing == HostStanding::Here && now.saturating_duration_since(host.begun) > GOOD {
            host.backoff.reset();
        }
        if let HostReach::Agent { addresses, pair, .. } = &mut host.reach
            && host.standing == HostStanding::Away
        {
            // Another address, and another pair of the fleet, may be the right one.
            let step = usize::from(!addresses.is_empty());
            addresses.rotate_left(step);
            *pair = (*pair + 1) % self.trust.pairs().len().max(1);
        }
        let wait = host.backoff.next(getrandom::u64().unwrap_or_default());
        (host.link, host.standing) = (Link::None(now + wait), HostStanding::Away);
        (host.is_late, host.watches_writes) = (false, false);
        let reason = end.to_string();
        if host.lost_for.as_ref() != Some(&reason) {
            host.lost_for = Some(reason.clone());
            self.events.push(FleetEvent::Lost { host: id, since: host.last_sample, reason, next_try: wait });
        }
        self.hosts.look_at(id, now + wait);
    }
}
