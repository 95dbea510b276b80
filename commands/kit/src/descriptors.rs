//! How many descriptors a run's directories, files and hands may take of what the system allows.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// LIMIT: descriptors for directories a run may hold, where the system allows that many. More would only help in chains that are deeper still.
const DIRECTORIES_OPEN: usize = 1024;

/// LIMIT: descriptors that a hand needs to get on: two files, and directories of both sides around them.
const DESCRIPTORS_A_HAND: usize = 8;

/// LIMIT: descriptors that directories leave to everything else: streams, signals, the budget, the files under way.
const OTHERS_OPEN: usize = 16;

/// Descriptors that directories may take: half of what is not needed otherwise.
pub fn directory_descriptors() -> usize {
    (descriptors_allowed().saturating_sub(OTHERS_OPEN) / 2).clamp(1, DIRECTORIES_OPEN)
}

/// Half of what is allowed: for directories, or for files.
pub fn half_of_descriptors() -> usize {
    (descriptors_allowed() / 2).max(1)
}

/// Lets this process, and what it starts, have so many descriptors, as far as the hard limit goes. An error is how many it may have.
pub fn make_room_for(descriptors: usize) -> Result<(), u64> {
    let (wanted, limit) = (descriptors as u64, getrlimit(Resource::Nofile));
    let Some(allowed) = limit.current.filter(|allowed| *allowed < wanted) else { return Ok(()) };
    if limit.maximum.is_some_and(|most| most < wanted) {
        return Err(limit.maximum.unwrap_or(allowed));
    }
    setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum }).or(Err(allowed))
}

fn descriptors_allowed() -> usize {
    getrlimit(Resource::Nofile).current.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX)
}

/// The most hands that descriptors are enough for.
pub fn hands_for_descriptors() -> usize {
    (directory_descriptors() / DESCRIPTORS_A_HAND).max(1)
}
