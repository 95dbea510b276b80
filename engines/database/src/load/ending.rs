//! The end of a load that keeps all or nothing: no connection commits before all have come so far. A load that has failed lets all go.

use parking_lot::{Condvar, Mutex};

/// Where connections meet.
#[derive(Debug)]
pub struct CommitMeeting {
    connections: usize,
    state: Mutex<MeetingState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct MeetingState {
    /// Connections that have come to each meeting.
    came: [usize; MEETINGS],
    is_stopped: bool,
}

/// All rows are in; all constraints are checked.
const MEETINGS: usize = 2;

impl CommitMeeting {
    pub fn new(connections: usize) -> Self {
        Self { connections, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Waits until all connections have come to this meeting; false if the load has failed.
    pub fn meet(&self, meeting: usize) -> bool {
        let mut state = self.state.lock();
        state.came[meeting] += 1;
        self.changed.notify_all();
        while state.came[meeting] < self.connections && !state.is_stopped {
            self.changed.wait(&mut state);
        }
        !state.is_stopped
    }

    /// Nobody waits any more.
    pub fn stop(&self) {
        self.state.lock().is_stopped = true;
        self.changed.notify_all();
    }
}
