//! This host, looked at once an interval: a sample of processes and threads, what is judged of them, and the values of the host.

use crate::feed::{Feed, Step};
use machine::Host;
use mh_kit::failure::Failure;
use mh_kit::instrument::failure;
use observe::ceiling::findings;
use observe::groups::{Hierarchies, Hierarchy};
use observe::host::recording::HostFacts;
use observe::host::sampler::{Since, SnapshotSampler};
use observe::host::snapshot::Snapshot;
use observe::model::{Idlers, Interval};
use observe::sample::HostSample;
use observe::sampler::{Depth, ProcessSelection, SampleContent, Sleepers, Texts};
use std::time::Duration;

/// So many intervals ago is too long to be told of.
const OLD_PARTS: u64 = 5;

/// Snapshots of this host, one after the other.
pub struct LocalHost {
    feed: Feed,
    sampler: SnapshotSampler,
    quota: Option<Hierarchy>,
    interval: Interval,
    earlier: HostSample,
    later: HostSample,
    has_begun: bool,
}

impl LocalHost {
    /// Looks every `interval`.
    pub fn open(command: &'static str, host: &Host, interval: Duration) -> Result<Self, Failure> {
        let wanted = SampleContent {
            who: ProcessSelection::Everybody,
            texts: Texts::OfAll,
            depth: Depth::Threads,
            sleepers: Sleepers::Trusted,
        };
        Ok(Self {
            feed: Feed::live(command, host, interval, wanted)?.with_looks(host, interval)?,
            sampler: SnapshotSampler::open(host).map_err(|error| failure(command, &error))?,
            quota: Hierarchies::find(host).quota,
            interval: Interval::new(Idlers::Listed),
            earlier: HostSample::default(),
            later: HostSample::default(),
            has_begun: false,
        })
    }

    /// The next snapshot, when it is due, and whether it is the last, since somebody interrupted.
    pub fn next(&mut self) -> Result<(Snapshot, bool), Failure> {
        if !self.has_begun {
            self.feed.first(&mut self.earlier)?;
            self.has_begun = true;
            return Ok((self.sampler.take(&self.earlier, None), false));
        }
        let mut step = Step::Child;
        while step == Step::Child {
            step = self.feed.next(&self.earlier, &mut self.later)?;
        }
        Ok((self.judged(), matches!(step, Step::Last | Step::End)))
    }

    /// The snapshot of the later sample, which is then the earlier one.
    fn judged(&mut self) -> Snapshot {
        self.interval.update(&self.earlier, &self.later);
        let found = findings(&self.interval, &self.earlier, &self.later, self.quota.as_ref());
        let since = Since { interval: &self.interval, earlier: &self.earlier, findings: &found };
        let snapshot = self.sampler.take(&self.later, Some(&since));
        std::mem::swap(&mut self.earlier, &mut self.later);
        snapshot
    }

    /// A snapshot at once. What happened since the one before is in it, unless that is much longer ago than `interval`: then nobody asks for it.
    pub fn take_now(&mut self, interval: Duration) -> Result<Snapshot, Failure> {
        let oldest_ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX).saturating_mul(OLD_PARTS);
        let age_ns = sys::cpu_clock::monotonic_ns().saturating_sub(self.earlier.at_ns);
        if !self.has_begun || age_ns > oldest_ns {
            self.feed.take(None, &mut self.earlier)?;
            self.has_begun = true;
            return Ok(self.sampler.take(&self.earlier, None));
        }
        self.feed.take(Some(&self.earlier), &mut self.later)?;
        Ok(self.judged())
    }

    /// From the next look on, looks every `interval`.
    pub fn set_interval(&mut self, interval: Duration) -> Result<(), Failure> {
        self.feed.set_interval(interval)
    }

    /// What its values do not tell.
    pub fn facts(&self) -> HostFacts {
        HostFacts { users: self.feed.accounts.all(), tier: self.feed.tier.to_string(), ..standing_facts() }
    }
}

/// What is known of this host without looking at it.
pub fn standing_facts() -> HostFacts {
    let system = rustix::system::uname();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    HostFacts {
        name: system.nodename().to_string_lossy().into_owned(),
        kernel: system.release().to_string_lossy().into_owned(),
        boot: boot.trim().to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        // PROC_PID_INIT_INO, include/linux/proc_ns.h: the namespace that sees all.
        is_contained: std::fs::read_link("/proc/self/ns/pid").is_ok_and(|own| own.as_os_str() != "pid:[4026531836]"),
        ..HostFacts::default()
    }
}
