//! What a job's whole process tree used: its own process with the children that it waited for, orphans of its process group that
//! the runner inherited and reaped, and what goes on in its group when it has ended. Pure books; asks the kernel for nothing.
//! What leaves both its parent and its group cannot be told from another job's; it is counted apart. See `README.md`.

use crate::key::JobKey;
use machine::ProcessIo;
use rustix::process::Pid;
use serde::Serialize;
use std::collections::HashMap;
use sys::reap::Usage;

/// What processes used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Processes that were reaped, children that these waited for not counted.
    pub processes: u32,
    /// CPU, size, device blocks, switches.
    pub usage: Usage,
    /// Bytes moved; none where nobody looked, or one of them could not be looked at.
    pub moved: Option<ProcessIo>,
}

impl Spent {
    /// One process.
    pub fn of(usage: Usage, moved: Option<ProcessIo>) -> Self {
        Self { processes: 1, usage, moved }
    }

    /// Both together.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        let moved = match (self, other) {
            // No process has moved nothing.
            (Self { processes: 0, .. }, one) | (one, Self { processes: 0, .. }) => one.moved,
            (one, other) => one.moved.zip(other.moved).map(|(one, other)| ProcessIo {
                read_bytes: one.read_bytes + other.read_bytes,
                written_bytes: one.written_bytes + other.written_bytes,
            }),
        };
        Self { processes: self.processes + other.processes, usage: self.usage.with(other.usage), moved }
    }
}

/// A process that goes on when the run is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Survivor {
    /// Its number.
    pub pid: i32,
    /// Its name, cut as the kernel cuts it.
    pub name: String,
    /// The job in whose group it is, if it is in any.
    pub job: Option<u64>,
}

/// What a job has left in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// The job's number.
    pub number: u64,
    /// What it is in the journal.
    pub key: Option<JobKey>,
    /// What has ended of it since.
    pub spent: Spent,
}

/// Jobs that have ended while processes of theirs go on, by their groups; and what nobody can be asked about.
#[derive(Debug, Default)]
pub(crate) struct Leftovers {
    groups: HashMap<Pid, Leftover>,
    strays: Spent,
    late: Usage,
}

impl Leftovers {
    /// A job has ended, and its group has not.
    pub fn begin(&mut self, group: Pid, number: u64, key: Option<JobKey>) {
        self.groups.insert(group, Leftover { number, key, spent: Spent::default() });
    }

    /// A process that is no job's has been reaped. Whether its group is one of ours.
    pub fn note(&mut self, group: Option<Pid>, spent: Spent) -> bool {
        self.late = self.late.with(spent.usage);
        match group.and_then(|group| self.groups.get_mut(&group)) {
            Some(leftover) => {
                leftover.spent = leftover.spent.with(spent);
                true
            }
            None => {
                self.strays = self.strays.with(spent);
                false
            }
        }
    }

    /// The group is empty now.
    pub fn end(&mut self, group: Pid) -> Option<Leftover> {
        self.groups.remove(&group)
    }

    /// Groups that are not empty yet, in the order of their jobs.
    pub fn groups(&self) -> Vec<Pid> {
        let mut groups: Vec<(u64, Pid)> = self.groups.iter().map(|(group, left)| (left.number, *group)).collect();
        groups.sort_unstable_by_key(|(number, _)| *number);
        groups.into_iter().map(|(_, group)| group).collect()
    }

    /// The job that has left something in a group.
    pub fn job_of(&self, group: Pid) -> Option<u64> {
        self.groups.get(&group).map(|leftover| leftover.number)
    }

    /// What no job's end has told, as it came later or was nobody's.
    pub fn late(&self) -> Usage {
        self.late
    }

    /// Processes that had left their job's group before the runner reaped them.
    pub fn strays(&self) -> Spent {
        self.strays
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(cpu_ns: u64, bytes: Option<u64>) -> Spent {
        let usage = Usage { user_ns: cpu_ns, rss_peak_bytes: Some(cpu_ns), ..Usage::default() };
        Spent::of(usage, bytes.map(|bytes| ProcessIo { read_bytes: bytes, written_bytes: 0 }))
    }

    fn pid(number: i32) -> Pid {
        Pid::from_raw(number).expect("above 0")
    }

    #[test]
    fn bytes_are_known_only_where_all_are() {
        let both = spent(1, Some(10)).with(spent(2, Some(5)));
        assert_eq!((both.processes, both.usage.user_ns, both.moved.map(|moved| moved.read_bytes)), (2, 3, Some(15)));
        assert_eq!(both.with(spent(1, None)).moved, None);
        assert_eq!(Spent::default().with(both), both);
        assert_eq!(both.with(Spent::default()), both);
    }

    #[test]
    fn a_process_goes_to_its_groups_job_or_to_the_strays() {
        let mut leftovers = Leftovers::default();
        leftovers.begin(pid(7), 3, None);
        leftovers.begin(pid(9), 1, None);
        assert!(leftovers.note(Some(pid(7)), spent(5, None)) && leftovers.note(Some(pid(7)), spent(6, None)));
        assert!(!leftovers.note(Some(pid(8)), spent(1, None)) && !leftovers.note(None, spent(1, None)));
        let ended = leftovers.end(pid(7)).expect("it was there");
        assert_eq!((ended.number, ended.spent.processes, ended.spent.usage.user_ns), (3, 2, 11));
        assert_eq!(leftovers.end(pid(7)), None);
        assert_eq!((leftovers.groups(), leftovers.job_of(pid(9))), (vec![pid(9)], Some(1)));
        assert_eq!((leftovers.late().cpu_ns(), leftovers.late().rss_peak_bytes), (13, Some(6)));
        assert_eq!((leftovers.strays().processes, leftovers.strays().usage.user_ns), (2, 2));
    }
}
