//! Streams of a run that other threads may work ahead of.

use crate::format::AheadOfStream;
use crew::measures::DividedTurns;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Those that are under way.
#[derive(Default)]
pub struct AheadOfStreams {
    hands: AtomicUsize,
    streams: Mutex<Vec<Arc<dyn AheadOfStream>>>,
    /// How more hands would divide the turns of one of them.
    divided: Mutex<Option<DividedTurns>>,
}

impl AheadOfStreams {
    /// So many hands may work on one.
    pub fn set_hands(&self, hands: usize) {
        self.hands.store(hands, Ordering::Relaxed);
    }

    pub fn hands(&self) -> usize {
        self.hands.load(Ordering::Relaxed)
    }

    pub fn note_divided(&self, divided: DividedTurns) {
        *self.divided.lock() = Some(divided);
    }

    pub fn divided(&self) -> Option<DividedTurns> {
        *self.divided.lock()
    }

    /// One more begins; those that have ended are forgotten.
    pub fn begin(&self, stream: Arc<dyn AheadOfStream>) {
        let mut streams = self.streams.lock();
        streams.retain(|known| !known.is_over());
        streams.push(stream);
    }

    pub fn has_work(&self) -> bool {
        self.streams.lock().iter().any(|stream| stream.has_work())
    }

    /// A piece for the first one that has some.
    pub fn work(&self) {
        let stream = self.streams.lock().iter().find(|stream| stream.has_work()).cloned();
        stream.into_iter().for_each(|stream| stream.work());
    }
}
