//! Which processes there are, by the list of `/proc`. To read all of it costs the kernel more than anything else in a sample without
//! rights, 1.3 us a process; so where the sample before has most of them, only what has been born since is read.
//!
//! Numbers are given out in order, so those who are new stand behind the number that was given out last (`/proc/loadavg` tells it).
//! Who has ended is found out by its clock.

use crate::files::{Files, Numbered};
use crate::sample::HostSample;
use crate::source::words::{number, words};
use std::io;

/// The list, and what is known of the one before.
#[derive(Debug, Default)]
pub struct ProcessListing {
    newest: [Option<u32>; 2],
    at_ns: Option<u64>,
    /// Where in the directory a number's entry is, less the number; none where entries do not stand by number.
    origin: Option<u64>,
    since_full: u32,
    born: Vec<Numbered>,
}

/// LIMIT: who asks for a number of its own (a restored checkpoint) is not behind the last one, and is found when all are listed.
const LISTS_A_FULL_ONE: u32 = 10;
/// LIMIT: numbers begin again at `kernel.pid_max`, 32,768 at least: so many threads are hardly begun in two seconds.
const AGE_NS_MAX: u64 = 2_000_000_000;

impl ProcessListing {
    /// Fills `found` with the processes there are, and perhaps some that have ended, by number. `earlier` is the sample before.
    pub fn find(
        &mut self,
        proc: &mut Files,
        earlier: Option<&HostSample>,
        at_ns: u64,
        found: &mut Vec<Numbered>,
    ) -> io::Result<()> {
        // Before the list: who is born behind this number is read the next time.
        let newest = newest(proc);
        let behind = earlier.and_then(|earlier| Some((earlier, self.behind(earlier, at_ns, newest?)?)));
        let listed = match behind {
            Some((earlier, position)) => {
                self.since_full += 1;
                let listed = proc.numbers_at(position, &mut self.born);
                join(earlier, &self.born, found);
                listed
            }
            None => {
                self.since_full = 0;
                let listed = proc.numbers(found);
                self.origin = proc.origin();
                listed
            }
        };
        self.newest = [self.newest[1], newest];
        self.at_ns = Some(at_ns);
        listed
    }

    /// From where in the directory on there may be new entries. None where all must be read.
    ///
    /// A process is seen a moment after it has got its number, so the list goes back to the sample before the last.
    fn behind(&self, earlier: &HostSample, at_ns: u64, newest: u32) -> Option<u64> {
        let [before, last] = self.newest;
        let is_in_order = before? <= last? && last? <= newest;
        let is_of_late = self.at_ns == Some(earlier.at_ns) && at_ns.saturating_sub(earlier.at_ns) <= AGE_NS_MAX;
        let may_be = is_in_order && is_of_late && self.since_full < LISTS_A_FULL_ONE;
        self.origin?.checked_add(u64::from(before?) + 1).filter(|_| may_be)
    }
}

/// The number that was given out last.
fn newest(proc: &mut Files) -> Option<u32> {
    let last = words(proc.read("loadavg").ok()?.trim_ascii_end()).last()?;
    u32::try_from(number(last)?).ok()
}

/// Those of the sample and those who are new; of a number that is used again, the new one.
fn join(earlier: &HostSample, born: &[Numbered], found: &mut Vec<Numbered>) {
    let mut born = born.iter().copied().peekable();
    found.clear();
    for process in &earlier.processes {
        while let Some(new) = born.next_if(|new| new.number < process.pid) {
            found.push(new);
        }
        let known = Numbered { number: process.pid, inode: process.folder };
        found.push(born.next_if(|new| new.number == process.pid).unwrap_or(known));
    }
    found.extend(born);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeProcHost;
    use crate::sample::ProcessSample;
    use machine::Host;
    use std::path::Path;
    use std::process::{Child, Command};

    fn sample_of(found: &[Numbered], at_ns: u64) -> HostSample {
        let process =
            |entry: &Numbered| ProcessSample { pid: entry.number, folder: entry.inode, ..ProcessSample::default() };
        HostSample { at_ns, processes: found.iter().map(process).collect(), ..HostSample::default() }
    }

    #[test]
    fn who_is_born_is_listed_by_what_is_new_alone() {
        let mut files = Files::open(&Host::real(), Path::new("/proc")).expect("Linux has /proc");
        let (mut listing, mut found) = (ProcessListing::default(), Vec::new());
        let mut children: Vec<Child> = Vec::new();
        let (mut earlier, mut parts) = (None::<HostSample>, 0);
        for at_ns in 1..=25 {
            children.push(Command::new("/bin/sleep").arg("60").spawn().expect("there is a sleep"));
            listing.find(&mut files, earlier.as_ref(), at_ns, &mut found).expect("readable");
            assert!(found.is_sorted());
            let is_listed = |child: &Child| found.binary_search_by_key(&child.id(), |entry| entry.number).is_ok();
            assert!(children.iter().all(is_listed), "{at_ns}");
            parts += u32::from(listing.since_full > 0);
            earlier = Some(sample_of(&found, at_ns));
        }
        assert!(parts > 0, "numbers do not begin again all the time");
        for child in &mut children {
            child.kill().expect("ours");
            child.wait().expect("it ends");
        }
    }

    #[test]
    fn all_are_listed_where_it_is_not_known_who_is_new() {
        let fake = FakeProcHost::new();
        fake.file("/proc/loadavg", "0.20 0.18 0.12 1/80 11206\n");
        let mut files = Files::open(&fake.host(), Path::new("/proc")).expect("a folder");
        assert_eq!(newest(&mut files), Some(11206));
        let known = ProcessListing {
            newest: [Some(5), Some(8)],
            at_ns: Some(7),
            origin: Some(258),
            ..ProcessListing::default()
        };
        let earlier = sample_of(&[], 7);
        assert_eq!(known.behind(&earlier, 9, 8), Some(258 + 6));
        assert_eq!(known.behind(&earlier, 9, 7), None, "numbers have begun again");
        assert_eq!(known.behind(&earlier, 8 + AGE_NS_MAX, 8), None, "long ago");
        assert_eq!(known.behind(&sample_of(&[], 6), 9, 8), None, "another sample");
        assert_eq!(ProcessListing { since_full: LISTS_A_FULL_ONE, ..known }.behind(&earlier, 9, 8), None, "its turn");
        fake.file("/proc/7/stat", "x");
        let (mut listing, mut found) = (ProcessListing::default(), Vec::new());
        for at_ns in 1..=4 {
            listing.find(&mut files, Some(&sample_of(&found, at_ns - 1)), at_ns, &mut found).expect("readable");
            assert_eq!((found.len(), listing.since_full), (1, 0), "no folder of the kernel's");
        }
    }

    #[test]
    fn a_number_that_is_used_again_is_the_new_one() {
        let entry = |number, inode| Numbered { number, inode };
        let earlier = sample_of(&[entry(3, 30), entry(5, 50), entry(9, 90)], 1);
        let mut found = Vec::new();
        join(&earlier, &[entry(4, 40), entry(5, 51), entry(10, 100), entry(11, 110)], &mut found);
        assert_eq!(found, [entry(3, 30), entry(4, 40), entry(5, 51), entry(9, 90), entry(10, 100), entry(11, 110)]);
    }
}
