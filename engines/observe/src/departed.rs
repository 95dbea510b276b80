//! Processes that were seen and are gone: what they had used when they were last seen belongs into an average over the time in
//! which they lived.

use crate::sample::{Ending, Endings, HostSample, ProcessSample, Span};

use std::collections::HashMap;

/// LIMIT: more are not kept; what they used is unaccounted for.
const DEPARTED_MAX: usize = 100_000;

/// Who has gone, as last seen.
#[derive(Clone, Debug, Default)]
pub struct Departed {
    processes: Vec<ProcessSample>,
    endings: Option<Endings>,
}

impl Departed {
    /// Keeps those of `earlier` that are not in `later`.
    pub fn note(&mut self, earlier: &HostSample, later: &HostSample) {
        let is_gone = |process: &&ProcessSample| later.process(process.pid).is_none();
        let room = DEPARTED_MAX.saturating_sub(self.processes.len());
        let gone = earlier.processes.iter().filter(is_gone).take(room).cloned();
        let ended = later.endings.iter().flat_map(|endings| &endings.named);
        // Of one number the first that ended is the one that was seen.
        let ended: HashMap<u32, &Ending> = ended.rev().map(|ending| (ending.pid, ending)).collect();
        self.processes.extend(gone.map(|mut process| {
            let ending = ended.get(&process.pid).filter(|ending| ending.folder.is_none_or(|is| is == process.folder));
            process.cpu.total_ns = process.cpu.total_ns.max(ending.map(|ending| ending.used_ns));
            process
        }));
        if let Some(more) = &later.endings {
            let all = self.endings.get_or_insert_default();
            let named = more.named.iter().take(DEPARTED_MAX.saturating_sub(all.named.len()));
            let before = all.named.len();
            // Who was seen is known by more than its number from now on: somebody else may get that.
            let folder = |ending: &Ending| earlier.process(ending.pid).map(|process| process.folder);
            let is_seen = |ending: &Ending| ended.get(&ending.pid).is_some_and(|first| std::ptr::eq(*first, ending));
            all.named.extend(named.map(|ending| Ending {
                folder: ending.folder.or_else(|| folder(ending).filter(|_| is_seen(ending))),
                ..*ending
            }));
            all.unnamed += more.unnamed + (before + more.named.len() - all.named.len()) as u64;
        }
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.processes.len()
    }

    /// `last` with them: as if each had slept since it was last seen. LIMIT: not those whose number somebody else has got.
    pub fn join(&self, last: &HostSample) -> HostSample {
        let mut joined = last.clone();
        let gone = self.processes.iter().rev().filter(|process| last.process(process.pid).is_none());
        // Threads are listed with the sample they were seen in.
        joined.processes.extend(gone.map(|process| ProcessSample {
            at_ns: last.at_ns,
            threads: Span::default(),
            ..process.clone()
        }));
        joined.processes.sort_by_key(|process| process.pid);
        joined.processes.dedup_by_key(|process| process.pid);
        joined.endings.clone_from(&self.endings);
        joined
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Interval;
    use crate::sample::CpuReading;

    fn sample(at_ns: u64, processes: &[(u32, u64)]) -> HostSample {
        let process = |&(pid, total_ns): &(u32, u64)| ProcessSample {
            pid,
            folder: u64::from(pid),
            at_ns,
            cpu: CpuReading { total_ns: Some(total_ns), ..CpuReading::default() },
            ..ProcessSample::default()
        };
        HostSample { at_ns, processes: processes.iter().map(process).collect(), ..HostSample::default() }
    }

    #[test]
    fn an_average_has_those_that_came_and_went() {
        let samples =
            [sample(0, &[(1, 10), (5, 7)]), sample(100, &[(1, 20), (3, 60), (5, 9)]), sample(200, &[(1, 30), (9, 1)])];
        let mut departed = Departed::default();
        samples.windows(2).for_each(|pair| departed.note(&pair[0], &pair[1]));
        let mut interval = Interval::default();
        interval.update(&samples[0], &departed.join(&samples[2]));
        let used: Vec<_> =
            interval.processes.iter().map(|usage| (usage.pid, usage.cpu.total_ns, usage.elapsed_ns)).collect();
        assert_eq!(used, [(1, 20, 200), (3, 60, 200), (5, 2, 200), (9, 1, 200)]);
    }
    #[test]
    fn what_was_used_after_the_last_look_is_known_of_those_whose_end_is() {
        let earlier = sample(0, &[(1, 10), (5, 7), (6, 7)]);
        let ending = |pid, folder, used_ns| Ending { pid, folder, used_ns, ..Ending::default() };
        // 5 ended, and then another one of that number; of 6 only another one is told.
        let named = vec![ending(5, None, 60), ending(5, None, 900), ending(6, Some(99), 900)];
        let later = HostSample { endings: Some(Endings { named, unnamed: 0 }), ..sample(100, &[(1, 20)]) };
        let mut departed = Departed::default();
        departed.note(&earlier, &later);
        let joined = departed.join(&later);
        let totals: Vec<_> = joined.processes.iter().map(|process| process.cpu.total_ns).collect();
        assert_eq!(totals, [Some(20), Some(60), Some(7)]);
        let directories = joined.endings.expect("they are told").named;
        let directories: Vec<_> = directories.iter().map(|ending| ending.folder).collect();
        assert_eq!(directories, [Some(5), None, Some(99)], "who was seen is known by more than its number");
    }
}
