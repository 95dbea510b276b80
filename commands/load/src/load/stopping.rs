//! The wish to end: the first signal ends the load and lets it be reported, the second ends the program, and what it made with it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use sys::signals::{ENDING, SignalSet, die_by};

/// Whether the user wants the run to end.
pub struct Stopping {
    wanted: Arc<AtomicBool>,
    /// A directory that must not outlive the program.
    temporary: Arc<Mutex<Option<PathBuf>>>,
}

/// LIMIT: how often a directory is removed in which threads may still make files.
const REMOVALS_MAX: usize = 100;

impl Stopping {
    /// Listens from now on. To be called before any thread is started.
    pub fn begin() -> io::Result<Self> {
        let signals = SignalSet::hold_back(ENDING)?;
        let wanted = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&wanted);
        let temporary = Arc::new(Mutex::new(None));
        let made = Arc::clone(&temporary);
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            while let Ok(signal) = signals.wait() {
                if seen.swap(true, Ordering::Relaxed) {
                    // A screen must not outlive the program.
                    terminal::full_screen::give_back();
                    remove(&made);
                    die_by(signal);
                }
            }
        })?;
        Ok(Self { wanted, temporary })
    }

    /// A directory that goes with the program, also if that ends by a second signal.
    pub fn keep_no_longer(&self, directory: &Path) {
        *self.temporary.lock().unwrap_or_else(PoisonError::into_inner) = Some(directory.to_path_buf());
    }

    /// Whether a signal has come.
    pub fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }
}

fn remove(temporary: &Mutex<Option<PathBuf>>) {
    let Some(directory) = temporary.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
    for _attempt in 0..REMOVALS_MAX {
        match std::fs::remove_dir_all(&directory) {
            // A thread of the load has made a file meanwhile.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
            _ => return,
        }
    }
}
