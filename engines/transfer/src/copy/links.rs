//! Files with several names: the first name that is met makes the file, the others become links to it, whichever worker meets them.
//! The file is known to others as soon as it exists, before its bytes are there: a link is to the file, not to its bytes.

use super::half::Slot;
use files::Identity;
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Where the first name of a file was made.
pub struct Made {
    /// In which job.
    pub job: usize,
    /// The directory, relative to the job's copy, empty for that itself; None where the file is the job's copy.
    pub directory: Option<Vec<u8>>,
    /// Its name there.
    pub name: std::ffi::CString,
    /// Where it is noted while it is under way.
    pub slot: Arc<Slot>,
    /// Under which number.
    pub number: u64,
    /// What it was then, if something else may have its name later.
    pub file: Option<Identity>,
}

/// LIMIT: parts of the table with a lock each; files with several names are rare, so few meet.
const SHARDS: usize = 64;

/// All files with several names.
pub struct Links {
    shards: Vec<Mutex<HashMap<Identity, Made>>>,
    /// Their copies, if something else may have their names later.
    copies: Mutex<HashSet<Identity>>,
}

/// What was to be done about a name.
pub enum First<T, U> {
    /// It was the first one; this is what `make` returned.
    Made(T),
    /// It was not; this is what `link` returned.
    Other(U),
}

impl Links {
    /// An empty table.
    pub fn new() -> Self {
        Self { shards: (0..SHARDS).map(|_| Mutex::default()).collect(), copies: Mutex::default() }
    }

    /// Makes the file if this is its first name, or the copy is there no more; else links to it. Held meanwhile is only a small part of the table, for a few system
    /// calls, or a question to a person. Both get `context`.
    pub fn make_or_link<C, T, U, E>(
        &self,
        identity: Identity,
        context: &mut C,
        is_there: impl FnOnce(&Made) -> bool,
        make: impl FnOnce(&mut C) -> Result<(T, Option<Made>), E>,
        link: impl FnOnce(&mut C, &Made) -> Result<U, E>,
    ) -> Result<First<T, U>, E> {
        let shard = &self.shards[usize::try_from(identity.inode % SHARDS as u64).unwrap_or_default()];
        let mut shard = shard.lock();
        if let Some(made) = shard.get(&identity).filter(|made| is_there(made)) {
            return link(context, made).map(First::Other);
        }
        let (value, made) = make(context)?;
        if let Some(made) = made {
            self.copies.lock().extend(made.file);
            shard.insert(identity, made);
        }
        Ok(First::Made(value))
    }

    /// Whether a file is the copy of one that has several names, which others may be linked to: it is not written over.
    pub fn is_copy(&self, file: Identity) -> bool {
        self.copies.lock().contains(&file)
    }
}
