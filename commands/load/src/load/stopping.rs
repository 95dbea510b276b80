//! The wish to end: the first signal ends the load and lets it be reported, the second ends the program, and what it made with it.

use rustix::process::{Pid, Signal, getpid};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use sys::guard::children_of;
use sys::reap::signal_group;
use sys::signals::{ENDING, SignalSet, die_by};

/// Whether the user wants the run to end.
pub struct Stopping {
    wanted: Arc<AtomicBool>,
    left: Arc<Mutex<LeftBehind>>,
}

/// What must not outlive the program.
#[derive(Default)]
struct LeftBehind {
    directory: Option<PathBuf>,
    /// The leader of a group of processes.
    group: Option<Pid>,
}

/// LIMIT: how often a directory is removed in which threads may still make files.
const REMOVALS_MAX: usize = 100;

impl Stopping {
    /// Listens from now on. To be called before any thread is started.
    pub fn begin() -> io::Result<Self> {
        let signals = SignalSet::hold_back(ENDING)?;
        let wanted = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&wanted);
        let left = Arc::new(Mutex::new(LeftBehind::default()));
        let made = Arc::clone(&left);
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
        Ok(Self { wanted, left })
    }

    /// A directory that goes with the program, also if that ends by a second signal.
    pub fn keep_no_longer(&self, directory: &Path) {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).directory = Some(directory.to_path_buf());
    }

    /// A group of processes that goes with the program, also if that ends by a second signal; in place of the one before.
    pub fn end_with_us(&self, leader: u32) {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).group = Pid::from_raw(leader.cast_signed());
    }

    /// Whether a signal has come.
    pub fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }
}

fn remove(left: &Mutex<LeftBehind>) {
    let LeftBehind { directory, group } = std::mem::take(&mut *left.lock().unwrap_or_else(PoisonError::into_inner));
    // It ends before its directory does, which it would fill again. One that is ours still is a child of ours, ended or not.
    if let Some(leader) = group.filter(|leader| children_of(getpid()).contains(leader)) {
        let _gone_anyway = signal_group(leader, Signal::KILL.as_raw());
    }
    let Some(directory) = directory else { return };
    for _attempt in 0..REMOVALS_MAX {
        match std::fs::remove_dir_all(&directory) {
            // A thread of the load has made a file meanwhile.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
            _ => return,
        }
    }
}
