//! Files under their own names that are not complete yet: so that a signal can remove them before the process ends.
//! A worker has a slot, locked by nobody else until then.

use crate::operand::Parent;
use parking_lot::Mutex;
use std::ffi::{CStr, CString};
use std::io;
use std::sync::Arc;

/// All files of a run that are under way.
#[derive(Clone, Debug, Default)]
pub struct HalfDone {
    slots: Arc<Mutex<Vec<Arc<Slot>>>>,
}

/// The names of one file that is under way: one, or more where it has been linked meanwhile.
#[derive(Debug, Default)]
pub struct Slot {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Counts files: who remembers a number knows whether its file is still the one under way.
    number: u64,
    names: Vec<(Parent, CString)>,
    /// Whose names they are, but for the first.
    linked: Vec<Linked>,
}

/// An entry that was copied as another name of a file under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Linked {
    /// In which job.
    pub job: usize,
    /// The entry.
    pub source: Vec<u8>,
    /// Its copy.
    pub target: Vec<u8>,
}

impl HalfDone {
    /// A slot for a worker, or for a file that many work on.
    pub fn slot(&self) -> Arc<Slot> {
        let slot = Arc::new(Slot::default());
        self.slots.lock().push(Arc::clone(&slot));
        slot
    }

    /// Removes what is under way, and lets nobody begin anything new: for the moment before the process ends.
    pub fn remove_all_and_hold(&self) {
        let slots = self.slots.lock();
        for slot in slots.iter() {
            let state = slot.state.lock();
            for (parent, name) in &state.names {
                let _gone_already = parent.directory().unlink(name);
            }
            // Held for good: the process ends.
            std::mem::forget(state);
        }
        std::mem::forget(slots);
    }
}

impl Slot {
    /// Makes a file by `make` and notes that it is under way, in one step as a signal sees it. Returns its number, too.
    #[inline(always)]
    pub fn begin<T>(&self, parent: &Parent, name: &CStr, make: impl FnOnce() -> io::Result<T>) -> io::Result<(T, u64)> {
        let mut state = self.state.lock();
        let made = make()?;
        state.number += 1;
        state.names.clear();
        state.linked.clear();
        state.names.push((parent.clone(), name.to_owned()));
        Ok((made, state.number))
    }

    /// It is complete, or will stay as it is.
    pub fn end(&self) {
        let mut state = self.state.lock();
        state.number += 1;
        state.names.clear();
        state.linked.clear();
    }

    /// It will never be complete: it goes, under all of its names. What is not ours to remove was never noted. Returns the entries that lost their
    /// copy with it.
    #[must_use]
    pub fn give_up(&self) -> Vec<Linked> {
        let mut state = self.state.lock();
        state.number += 1;
        for (parent, name) in std::mem::take(&mut state.names) {
            let _gone_already = parent.directory().unlink(&name);
        }
        std::mem::take(&mut state.linked)
    }

    /// Gives file `number` another name by `link`. If it is under way still, a signal removes that one, too.
    pub fn link(
        &self,
        number: u64,
        parent: &Parent,
        name: &CStr,
        link: impl FnOnce() -> io::Result<()>,
        linked: impl FnOnce() -> Linked,
    ) -> io::Result<()> {
        let mut state = self.state.lock();
        link()?;
        if state.number == number {
            state.names.push((parent.clone(), name.to_owned()));
            state.linked.push(linked());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use files::{Follow, how};
    use std::os::fd::OwnedFd;

    #[test]
    fn what_is_under_way_goes_and_what_is_complete_stays() {
        let directory = tempfile::tempdir().expect("a directory");
        let parent =
            Parent::Directory(Arc::new(OwnedFd::from(std::fs::File::open(directory.path()).expect("open")).into()));
        let half_done = HalfDone::default();
        let make = |name: &CStr| {
            let slot = half_done.slot();
            let made = slot.begin(&parent, name, || parent.directory().open(name, how::NEW, 0o600));
            (slot, made.expect("created").1)
        };
        let (half, number) = make(c"half");
        let (complete, complete_number) = make(c"complete");
        complete.end();
        for (slot, number, from, to) in
            [(&half, number, c"half", c"twin"), (&complete, complete_number, c"complete", c"other")]
        {
            let link = || parent.directory().link(from, parent.directory(), to, Follow::No);
            let linked = || Linked { job: 0, source: Vec::new(), target: Vec::new() };
            slot.link(number, &parent, to, link, linked).expect("linked");
        }
        let (given_up, number) = make(c"given-up");
        let link = || parent.directory().link(c"given-up", parent.directory(), c"lost", Follow::No);
        let lost = || Linked { job: 1, source: b"lost".to_vec(), target: b"to/lost".to_vec() };
        given_up.link(number, &parent, c"lost", link, lost).expect("linked");
        assert_eq!(given_up.give_up(), [lost()], "who lost a copy is told");
        assert_eq!(given_up.give_up(), []);
        half_done.remove_all_and_hold();
        let mut names: Vec<_> =
            std::fs::read_dir(directory.path()).expect("list").map(|entry| entry.expect("entry").file_name()).collect();
        names.sort();
        assert_eq!(names, ["complete", "other"]);
    }
}
