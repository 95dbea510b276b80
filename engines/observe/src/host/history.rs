//! Snapshots one after the other, to be gone through in both directions: those of the last minutes in memory, or those of a recording.
//! Frames are kept as they would be sent, so a quarter of an hour takes a few hundred KiB.

use super::envelope::{EnvelopeHead, EnvelopeKind, HEAD_BYTES, Opener, Sealer};
use super::frame::{FrameKind, SnapshotDecoder, SnapshotEncoder};
use super::snapshot::Snapshot;
use std::collections::VecDeque;
use std::sync::Arc;

/// Envelopes with places, from which any snapshot can be made again.
pub trait FrameStore {
    /// How many frames there are.
    fn count(&self) -> usize;
    /// The kind of a frame.
    fn kind(&self, place: usize) -> Option<FrameKind>;
    /// When it was, in nanoseconds since 1970.
    fn wall_ns(&self, place: usize) -> Option<u64>;
    /// Its bytes; none where they are damaged.
    fn frame(&mut self, place: usize) -> Option<Vec<u8>>;
}

/// Goes through a store.
#[derive(Default)]
pub struct HistoryReader {
    decoder: SnapshotDecoder,
    /// The place whose snapshot the decoder knows, and the snapshot: it is the one before the next that is read.
    at: Option<usize>,
    last: Option<Arc<Snapshot>>,
}

impl HistoryReader {
    /// The snapshot of a place; none where its frames are damaged, or there is none.
    pub fn read(&mut self, store: &mut dyn FrameStore, place: usize) -> Option<Arc<Snapshot>> {
        let key = (0..=place).rev().find(|place| store.kind(*place) == Some(FrameKind::Key))?;
        if self.at == Some(place) && self.last.is_some() {
            return self.last.clone();
        }
        let first = match self.at {
            Some(at) if at >= key && at < place => at + 1,
            _ => key,
        };
        // Frames between two key frames are few, and each is made in microseconds.
        let mut snapshot = None;
        for place in first..=place {
            let decoded = store
                .kind(place)
                .zip(store.frame(place))
                .and_then(|(kind, frame)| self.decoder.decode(kind, &frame).ok());
            self.at = decoded.as_ref().map(|_| place);
            snapshot = Some(decoded?);
        }
        self.last.clone_from(&snapshot);
        snapshot
    }

    /// The place of the last frame that is not later than `wall_ns`; the first where all are.
    pub fn find(store: &dyn FrameStore, wall_ns: u64) -> usize {
        // Clocks may have been set back: what was written last counts.
        let is_before = |place: &usize| store.wall_ns(*place).is_some_and(|wall| wall <= wall_ns);
        (0..store.count()).rev().find(is_before).unwrap_or(0)
    }
}

/// The last snapshots, in memory.
#[derive(Default)]
pub struct LiveHistory {
    encoder: SnapshotEncoder,
    sealer: Sealer,
    opener: Opener,
    kept: VecDeque<Vec<u8>>,
    bytes: usize,
    bytes_max: Option<usize>,
    /// Frames that were taken away at the beginning.
    dropped: usize,
}

/// LIMIT: frames, and bytes of all of them: 15 minutes of one a second, or less of hosts with thousands of CPUs and disks.
const KEPT_MAX: usize = 960;
const BYTES_MAX: usize = 3 << 20;

impl LiveHistory {
    /// Keeps `snapshot` with its first `processes` processes, and says how it would be sent.
    pub fn push(&mut self, snapshot: &Snapshot, processes: usize) -> &[u8] {
        let wall_ns = snapshot.at.wall_ns;
        let (kind, frame) = self.encoder.encode(snapshot.clone(), processes);
        let sealed = self.sealer.seal(EnvelopeKind::Frame(kind), wall_ns, &frame);
        self.push_sealed(sealed);
        self.kept.back().map_or(&[], Vec::as_slice)
    }

    /// Keeps at most so many bytes from now on.
    pub fn set_limit(&mut self, bytes: usize) {
        self.bytes_max = Some(bytes);
    }

    /// Keeps an envelope with a frame as it came.
    pub fn push_sealed(&mut self, sealed: Vec<u8>) {
        self.bytes += sealed.len();
        self.kept.push_back(sealed);
        let bytes_max = self.bytes_max.unwrap_or(BYTES_MAX);
        // What follows a key frame that is gone cannot be read: all up to the next one goes.
        while self.kept.len() > KEPT_MAX || self.bytes > bytes_max && self.kept.len() > 1 {
            self.drop_first();
            while self.kept.len() > 1 && self.kind(self.dropped) == Some(FrameKind::Delta) {
                self.drop_first();
            }
        }
    }

    fn drop_first(&mut self) {
        if let Some(first) = self.kept.pop_front() {
            self.bytes -= first.len();
            self.dropped += 1;
        }
    }

    /// The first place that is still there.
    pub fn first(&self) -> usize {
        self.dropped
    }

    fn sealed(&self, place: usize) -> Option<&Vec<u8>> {
        self.kept.get(place.checked_sub(self.dropped)?)
    }
}

impl FrameStore for LiveHistory {
    fn count(&self) -> usize {
        self.dropped + self.kept.len()
    }

    fn kind(&self, place: usize) -> Option<FrameKind> {
        match EnvelopeHead::read(self.sealed(place)?)?.kind? {
            EnvelopeKind::Frame(kind) => Some(kind),
            EnvelopeKind::Host | EnvelopeKind::Gap => None,
        }
    }

    fn wall_ns(&self, place: usize) -> Option<u64> {
        EnvelopeHead::read(self.sealed(place)?).map(|head| head.wall_ns)
    }

    fn frame(&mut self, place: usize) -> Option<Vec<u8>> {
        let place = place.checked_sub(self.dropped)?;
        self.opener.open(&self.kept.get(place)?[HEAD_BYTES..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fields::UPTIME;
    use crate::host::values::WHOLE;

    fn snapshot(step: u64) -> Snapshot {
        let mut snapshot = Snapshot::default();
        snapshot.at.wall_ns = step * 1_000;
        snapshot.values.push(UPTIME, WHOLE, step);
        snapshot
    }

    #[test]
    fn the_last_minutes_are_gone_through_in_both_directions() {
        let mut history = LiveHistory::default();
        assert!((0..2000).all(|step| !history.push(&snapshot(step), 9).is_empty()));
        assert!(history.first() >= 2000 - KEPT_MAX && history.count() == 2000);
        let mut reader = HistoryReader::default();
        let places = [1999, 1998, 1997, 1400, 1401, 1402, history.first(), 1999];
        for place in places {
            assert_eq!(reader.read(&mut history, place), Some(Arc::new(snapshot(place as u64))), "{place}");
        }
        let gone = history.first() - 1;
        assert_eq!(reader.read(&mut history, gone), None);
        assert_eq!(reader.read(&mut history, 2000), None);
        assert_eq!(HistoryReader::find(&history, 1_500_999), 1500);
        assert_eq!(HistoryReader::find(&history, u64::MAX), 1999);
    }
}
