//! A host that is looked at: what is known of it, its last minutes, what is shown of them. A live host, a recording and another host's
//! feed are the same from here on.

use super::bands::BandContext;
use observe::host::envelope::{EnvelopeHead, EnvelopeKind, HEAD_BYTES, Opener};
use observe::host::fields::{FS_FREE, FS_SIZE};
use observe::host::frame::SnapshotDecoder;
use observe::host::history::{FrameStore, HistoryReader, LiveHistory};
use observe::host::interval::HostInterval;
use observe::host::recording::{HostFacts, SnapshotLog};
use observe::host::snapshot::Snapshot;
use observe::source::accounts::Accounts;
use std::collections::HashMap;
use std::sync::Arc;

/// Processes that are kept of each moment, to be looked back at.
pub const KEPT_PROCESSES: usize = 60;

/// Two moments, one after the other, and what is known beside them.
#[derive(Clone, Default)]
pub struct ShownMoment {
    /// The one before.
    pub earlier: Option<Arc<Snapshot>>,
    /// The one that is shown.
    pub later: Arc<Snapshot>,
}

impl ShownMoment {
    /// What happened between them.
    pub fn interval(&self) -> HostInterval<'_> {
        HostInterval::new(self.earlier.as_deref(), &self.later)
    }
}

/// A host.
pub struct HostSession {
    /// What its values do not tell.
    pub facts: HostFacts,
    /// Names of its users.
    pub accounts: Accounts,
    store: Store,
    reader: HistoryReader,
    latest: ShownMoment,
    filling: FillingFileSystems,
    is_local: bool,
    opener: Opener,
    decoder: SnapshotDecoder,
}

enum Store {
    Live(LiveHistory),
    Recorded(SnapshotLog),
}

impl HostSession {
    /// This one, of which nothing is known yet.
    pub fn local(facts: HostFacts) -> Self {
        Self { is_local: true, ..Self::remote(facts) }
    }

    /// Another one.
    pub fn remote(facts: HostFacts) -> Self {
        Self::new(facts, Store::Live(LiveHistory::default()))
    }

    /// A recorded one.
    pub fn recorded(log: SnapshotLog) -> Self {
        Self::new(log.facts.clone(), Store::Recorded(log))
    }

    fn new(facts: HostFacts, store: Store) -> Self {
        let accounts = Accounts::of(facts.users.clone());
        let (reader, latest, filling) =
            (HistoryReader::default(), ShownMoment::default(), FillingFileSystems::default());
        Self {
            facts,
            accounts,
            store,
            reader,
            latest,
            filling,
            is_local: false,
            opener: Opener::default(),
            decoder: SnapshotDecoder::default(),
        }
    }

    /// A snapshot has come.
    pub fn push(&mut self, snapshot: Snapshot) {
        self.show(Arc::new(snapshot));
        if let Store::Live(history) = &mut self.store {
            history.push(&self.latest.later, KEPT_PROCESSES);
        }
    }

    /// An envelope of another host has come. False where it is none, or what it holds cannot be understood.
    pub fn push_envelope(&mut self, bytes: Vec<u8>) -> bool {
        let Some(head) = EnvelopeHead::read(&bytes).filter(|head| head.confirms(&bytes[HEAD_BYTES..])) else {
            return false;
        };
        let Some(kind) = head.kind else { return true };
        let Some(body) = self.opener.open(&bytes[HEAD_BYTES..]) else { return false };
        let frame = match kind {
            EnvelopeKind::Frame(frame) => frame,
            EnvelopeKind::Gap => return true,
            EnvelopeKind::Host => {
                let facts: Option<HostFacts> = serde_json::from_slice(&body).ok();
                return facts.map(|facts| self.learn(facts)).is_some();
            }
        };
        match self.decoder.decode(frame, &body) {
            Ok(snapshot) => {
                self.show(snapshot);
                if let Store::Live(history) = &mut self.store {
                    history.push_sealed(bytes);
                }
                true
            }
            // The frames behind it wait for the next key frame.
            Err(_) => false,
        }
    }

    /// What the host says of itself. Its name is the one by which it was asked for.
    fn learn(&mut self, facts: HostFacts) {
        let name = if self.facts.name.is_empty() { facts.name.clone() } else { std::mem::take(&mut self.facts.name) };
        self.accounts = Accounts::of(facts.users.clone());
        self.facts = HostFacts { name, ..facts };
    }

    fn show(&mut self, later: Arc<Snapshot>) {
        let earlier = std::mem::replace(&mut self.latest.later, later);
        let is_before = earlier.at.monotonic_ns > 0 && earlier.at.monotonic_ns < self.latest.later.at.monotonic_ns;
        self.latest.earlier = is_before.then_some(earlier);
        self.filling.note(&self.latest.later);
    }

    /// Keeps at most so many bytes of its past.
    pub fn set_limit(&mut self, bytes: usize) {
        if let Store::Live(history) = &mut self.store {
            history.set_limit(bytes);
        }
    }

    /// Whether more comes.
    pub fn is_live(&self) -> bool {
        matches!(self.store, Store::Live(_))
    }

    /// Whether its processes take orders from here.
    pub fn is_local(&self) -> bool {
        self.is_local
    }

    /// Moments there are; the first may be gone already.
    pub fn places(&self) -> std::ops::Range<usize> {
        match &self.store {
            Store::Live(history) => history.first()..history.count(),
            Store::Recorded(log) => 0..log.count(),
        }
    }

    /// Samples that are missing right before a moment of a recording: they could not be written.
    pub fn missed_before(&self, place: usize) -> Option<u64> {
        let Store::Recorded(log) = &self.store else { return None };
        log.gaps.iter().find(|gap| gap.place == place).map(|gap| gap.missed)
    }

    /// The moment that is nearest to a time of day, not later than it.
    pub fn find(&self, wall_ns: u64) -> usize {
        let place = match &self.store {
            Store::Live(history) => HistoryReader::find(history, wall_ns),
            Store::Recorded(log) => HistoryReader::find(log, wall_ns),
        };
        place.max(self.places().start)
    }

    /// The newest moment.
    pub fn latest(&self) -> ShownMoment {
        self.latest.clone()
    }

    /// A moment of the past; the newest where it cannot be read.
    pub fn at(&mut self, place: usize) -> Option<ShownMoment> {
        let earlier = place.checked_sub(1).and_then(|before| self.read(before));
        let later = self.read(place)?;
        let earlier = earlier.filter(|earlier| earlier.at.monotonic_ns < later.at.monotonic_ns);
        Some(ShownMoment { earlier, later })
    }

    fn read(&mut self, place: usize) -> Option<Arc<Snapshot>> {
        match &mut self.store {
            Store::Live(history) => self.reader.read(history, place),
            Store::Recorded(log) => self.reader.read(log, place),
        }
    }

    /// File systems that fill, with the seconds until they are full.
    pub fn filling(&self) -> Vec<(String, f64)> {
        self.filling.seconds()
    }

    /// What stands beside an interval of this host.
    pub fn standing<'a>(&self, clock: &'a str, pace: &'a str, filling: &'a [(String, f64)]) -> BandContext<'a> {
        BandContext { facts: self.facts.clone(), clock, pace, filling, usual: None }
    }
}

/// How fast file systems lose room, over some minutes: a second's write says nothing.
#[derive(Default)]
struct FillingFileSystems {
    /// By name: when it was first looked at in this stretch, what was free then, and what is free now.
    seen: HashMap<String, [u64; 4]>,
}

/// LIMIT: a stretch that is shorter tells no trend; a longer one forgets that something began just now.
const STRETCH_LEAST_NS: u64 = 300_000_000_000;
const STRETCH_MOST_NS: u64 = 1_800_000_000_000;
/// LIMIT: seconds to full that are told; in a week much else happens.
const FULL_WITHIN_S: f64 = 7.0 * 86_400.0;

impl FillingFileSystems {
    fn note(&mut self, snapshot: &Snapshot) {
        let now_ns = snapshot.at.boot_ns;
        for (instance, _) in snapshot.values.each(FS_SIZE) {
            let Some(free) = snapshot.values.of(FS_FREE, instance) else { continue };
            let name = snapshot.names.name(instance);
            match self.seen.get_mut(name) {
                Some([since_ns, was_free, at_ns, is_free]) => {
                    // Somebody made room, more than half of what was lost: the trend begins anew.
                    let has_room_again = free.saturating_sub(*is_free) > was_free.saturating_sub(*is_free) / 2;
                    if has_room_again {
                        (*since_ns, *was_free) = (now_ns, free);
                    } else if now_ns.saturating_sub(*since_ns) > STRETCH_MOST_NS {
                        (*since_ns, *was_free) = (*at_ns, *is_free);
                    }
                    (*at_ns, *is_free) = (now_ns, free);
                }
                None => {
                    self.seen.insert(name.to_owned(), [now_ns, free, now_ns, free]);
                }
            }
        }
        // Those of containers that ended do not come back.
        self.seen.retain(|_, [_, _, at_ns, _]| now_ns.saturating_sub(*at_ns) <= STRETCH_MOST_NS);
    }

    fn seconds(&self) -> Vec<(String, f64)> {
        let of = |(name, [since_ns, was_free, at_ns, is_free]): (&String, &[u64; 4])| {
            let passed_ns = at_ns.checked_sub(*since_ns).filter(|passed| *passed >= STRETCH_LEAST_NS)?;
            let lost = was_free.checked_sub(*is_free).filter(|lost| *lost > 0)?;
            let seconds = *is_free as f64 / lost as f64 * passed_ns as f64 / 1e9;
            (seconds <= FULL_WITHIN_S).then(|| (name.clone(), seconds))
        };
        self.seen.iter().filter_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use observe::host::values::InstanceNames;

    fn snapshot(second: u64, free: u64) -> Snapshot {
        let mut names = InstanceNames::default();
        let root = names.number("/").expect("room");
        let mut snapshot = Snapshot { names: Arc::new(names), ..Snapshot::default() };
        (snapshot.at.monotonic_ns, snapshot.at.boot_ns) = (second * 1_000_000_000, second * 1_000_000_000);
        snapshot.at.wall_ns = second * 1_000_000_000;
        snapshot.values.push(FS_SIZE, root, 1_000);
        snapshot.values.push(FS_FREE, root, free);
        snapshot.values.sort();
        snapshot
    }

    #[test]
    fn a_file_system_that_fills_is_told_with_the_time_left() {
        let mut session = HostSession::remote(HostFacts::default());
        for second in 1..=30 {
            session.push(snapshot(second, 1_000 - second));
        }
        assert_eq!(session.filling(), [], "too short to tell");
        for second in 31..=401 {
            session.push(snapshot(second, 1_000 - second));
        }
        let filling = session.filling();
        assert_eq!((filling[0].0.as_str(), filling[0].1.round()), ("/", 599.0));
        session.push(snapshot(402, 950));
        assert_eq!(session.filling(), [], "somebody made room");
    }

    #[test]
    fn file_systems_that_are_gone_are_forgotten() {
        let mut filling = FillingFileSystems::default();
        filling.note(&snapshot(1, 900));
        let without =
            |second: u64| Snapshot { names: Arc::default(), values: Default::default(), ..snapshot(second, 0) };
        filling.note(&without(1_800));
        assert_eq!(filling.seen.len(), 1, "one that does not answer for a while is not gone");
        filling.note(&without(1_803));
        assert_eq!(filling.seen.len(), 0);
    }

    #[test]
    fn the_past_is_shown_as_it_was() {
        let mut session = HostSession::remote(HostFacts::default());
        for second in 1..=9 {
            session.push(snapshot(second, second));
        }
        assert_eq!(session.places(), 0..9);
        let shown = session.at(4).expect("there");
        assert_eq!((shown.later.at.wall_ns, shown.interval().seconds()), (5_000_000_000, Some(1.0)));
        assert_eq!(session.latest().later.at.wall_ns, 9_000_000_000);
        assert_eq!((session.find(5_500_000_000), session.find(0), session.at(99).is_none()), (4, 0, true));
    }
}
