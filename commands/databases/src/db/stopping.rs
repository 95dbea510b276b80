//! The wish to end: the first signal ends what the server does for us and lets the run report what is kept; the second, or one that is not obeyed, ends the program. The server then
//! finds the connections closed, and rolls back.

use database::load::LoadControl;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;
use sys::signals::{ENDING, SignalSet, die_by};

/// LIMIT: for the run to end by itself after a signal: a reader may wait for a pipe that brings nothing.
const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// Whether the user wants the run to end.
pub struct EndingSignals {
    signal: Arc<AtomicI32>,
    signals: Arc<SignalSet>,
}

impl EndingSignals {
    /// Holds signals back from now on. To be called before any thread is started.
    pub fn hold() -> io::Result<Self> {
        let signals = Arc::new(SignalSet::hold_back(ENDING)?);
        Ok(Self { signal: Arc::new(AtomicI32::new(0)), signals })
    }

    /// Ends this load when one comes.
    pub fn end(&self, control: Arc<LoadControl>) -> io::Result<()> {
        self.end_with(move || control.interrupt())
    }

    /// Ends something else when one comes, by calling `interrupt` on a thread of its own.
    pub fn end_with(&self, interrupt: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let (signal, signals) = (Arc::clone(&self.signal), Arc::clone(&self.signals));
        let attend = move || {
            let Ok(first) = signals.wait() else { return };
            signal.store(first, Ordering::SeqCst);
            die_later(first);
            let ending = std::thread::Builder::new().name("ending".to_owned()).spawn(interrupt);
            if ending.is_err() {
                die_by(first);
            }
            if let Ok(second) = signals.wait() {
                die_by(second);
            }
        };
        std::thread::Builder::new().name("signals".to_owned()).spawn(attend).map(drop)
    }

    /// The signal that came.
    pub fn signal(&self) -> Option<i32> {
        Some(self.signal.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
    }
}

fn die_later(signal: i32) {
    let wait = move || {
        std::thread::sleep(ENDS_WITHIN);
        die_by(signal);
    };
    let _dies_by_the_second = std::thread::Builder::new().name("patience".to_owned()).spawn(wait);
}
