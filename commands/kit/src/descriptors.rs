//! How many descriptors a run's directories, files and hands may take of what the system allows.

use rustix::process::{Resource, getrlimit};

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

fn descriptors_allowed() -> usize {
    getrlimit(Resource::Nofile).current.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX)
}

/// The most hands that descriptors are enough for.
pub fn hands_for_descriptors() -> usize {
    (directory_descriptors() / DESCRIPTORS_A_HAND).max(1)
}
