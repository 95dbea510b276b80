//! The wish to end: the first signal ends the load and lets it be reported, the second ends the program.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use sys::signals::{ENDING, SignalSet, die_by};

/// Whether the user wants the run to end.
pub struct Stopping(Arc<AtomicBool>);

impl Stopping {
    /// Listens from now on. To be called before any thread is started.
    pub fn begin() -> io::Result<Self> {
        let signals = SignalSet::hold_back(ENDING)?;
        let wanted = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&wanted);
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            while let Ok(signal) = signals.wait() {
                if seen.swap(true, Ordering::Relaxed) {
                    // A screen must not outlive the program.
                    terminal::full_screen::give_back();
                    die_by(signal);
                }
            }
        })?;
        Ok(Self(wanted))
    }

    /// Whether a signal has come.
    pub fn is_wanted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
