//! CPUs that are not equal: threads of one core, which share what it can do, and cores of different capacity
//! (`/sys/devices/system/cpu`, Documentation/ABI/stable/sysfs-devices-system-cpu). What cannot be read counts as equal.

use crate::affinity::numbers_in;
use crate::host::Host;
use std::path::PathBuf;

/// What some CPUs are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// CPU, its siblings (itself not among them), its capacity.
    cpus: Vec<(usize, Vec<usize>, u64)>,
}

/// The kernel's scale: what its fastest CPU can do. Also what a CPU has of which nothing is told.
const FULL_CAPACITY: u64 = 1024;

/// Looks at `cpus`.
pub fn topology(host: &Host, cpus: &[usize]) -> Topology {
    let read = |cpu: usize, file: &str| {
        let path = PathBuf::from(format!("/sys/devices/system/cpu/cpu{cpu}/{file}"));
        let text = host.read_if_there(&path).ok().flatten();
        text.map(|text| (path, text))
    };
    let of = |&cpu: &usize| {
        let listed = read(cpu, "topology/thread_siblings_list")
            .and_then(|(path, text)| numbers_in(&path, "the siblings", &text).ok());
        let siblings = listed.unwrap_or_default().into_iter().filter(|&sibling| sibling != cpu).collect();
        let capacity = read(cpu, "cpu_capacity").and_then(|(_, text)| text.parse().ok());
        (cpu, siblings, capacity.unwrap_or(FULL_CAPACITY))
    };
    Topology { cpus: cpus.iter().map(of).collect() }
}

impl Topology {
    /// Whether all its CPUs are the same: no siblings among them, no smaller ones.
    pub fn is_flat(&self) -> bool {
        let first = self.cpus.first().map(|(_, _, capacity)| capacity);
        let is_known = |cpu: &usize| self.cpus.iter().any(|(known, ..)| known == cpu);
        self.cpus.iter().all(|(_, siblings, capacity)| Some(capacity) == first && !siblings.iter().any(is_known))
    }

    /// Cores: threads of one count once.
    pub fn cores(&self) -> usize {
        let is_first = |cpu: usize, siblings: &[usize]| {
            let earlier = |sibling: &usize| *sibling < cpu && self.cpus.iter().any(|(known, ..)| known == sibling);
            !siblings.iter().any(earlier)
        };
        self.cpus.iter().filter(|(cpu, siblings, _)| is_first(*cpu, siblings)).count()
    }

    /// The CPUs for which `is_free` that are the best to take next: first those whose core nobody uses, of these the fastest.
    pub fn best(&self, is_free: impl Fn(usize) -> bool) -> Vec<usize> {
        let rank = |siblings: &[usize], capacity: u64| (siblings.iter().all(|&sibling| is_free(sibling)), capacity);
        let free = || self.cpus.iter().filter(|(cpu, ..)| is_free(*cpu));
        let highest = free().map(|(_, siblings, capacity)| rank(siblings, *capacity)).max();
        let best = free().filter(|(_, siblings, capacity)| Some(rank(siblings, *capacity)) == highest);
        best.map(|(cpu, ..)| *cpu).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_host::FakeHost;

    fn host(cpus: &[(&str, &str)]) -> FakeHost {
        let fake = FakeHost::new();
        for (number, (siblings, capacity)) in cpus.iter().enumerate() {
            let directory = format!("/sys/devices/system/cpu/cpu{number}");
            fake.file(&format!("{directory}/topology/thread_siblings_list"), siblings);
            fake.file(&format!("{directory}/cpu_capacity"), capacity);
        }
        fake
    }

    #[test]
    fn whole_cores_come_first_then_halves() {
        let fake = host(&[("0,2\n", "1024\n"), ("1,3\n", "1024\n"), ("0,2\n", "1024\n"), ("1,3\n", "1024\n")]);
        let topology = topology(&fake.host(), &[0, 1, 2, 3]);
        assert!(!topology.is_flat());
        assert_eq!(topology.cores(), 2);
        assert_eq!(topology.best(|_| true), [0, 1, 2, 3]);
        assert_eq!(topology.best(|cpu| cpu != 0), [1, 3], "2 is half of a core in use");
        assert_eq!(topology.best(|cpu| cpu > 1), [2, 3]);
        assert!(topology.best(|_| false).is_empty());
    }

    #[test]
    fn of_whole_cores_the_fast_ones_come_first() {
        let fake = host(&[("0\n", "446\n"), ("1\n", "1024\n"), ("2\n", "1024\n")]);
        let topology = topology(&fake.host(), &[0, 1, 2]);
        assert_eq!((topology.is_flat(), topology.cores()), (false, 3));
        assert_eq!(topology.best(|_| true), [1, 2]);
        assert_eq!(topology.best(|cpu| cpu == 0), [0]);
    }

    #[test]
    fn what_is_not_told_counts_as_equal_and_a_sibling_that_is_not_ours_too() {
        let bare = topology(&FakeHost::new().host(), &[4, 5]);
        assert!(bare.is_flat());
        assert_eq!((bare.cores(), bare.best(|_| true)), (2, vec![4, 5]));
        let fake = host(&[("0-1\n", "1024\n"), ("0-1\n", "1024\n")]);
        assert!(topology(&fake.host(), &[0]).is_flat());
        let fake = host(&[("nonsense\n", "fast\n")]);
        assert!(topology(&fake.host(), &[0]).is_flat());
    }
}
