//! Processes as they end: a program at the kernel's own mark of it notes how each was called and what it had used. That names those
//! that came and went between two samples.
//! What a process uses from the mark on is not in it: giving its memory back, mostly.

use super::programs::WalkFields;
use super::record::{self, ThreadRecord};
use super::{ListedProcess, ahead_ns};
use crate::sample::{Ending, Endings, ThreadName};
use std::cmp::Reverse;
use std::sync::atomic::Ordering::Relaxed;
use sys::bpf::probe::kernel_types;
use sys::bpf::{Attached, KernelWords, Place, Program};

/// A slot: a thread's record, its process's name, its number among all slots from 1 on.
pub const NAME: usize = record::WORDS;
pub const NUMBER: usize = NAME + 2;
pub const WORDS: usize = NUMBER + 1;
/// LIMIT: of more that end between two samples the first are not named; their number is told. A power of two.
pub const SLOTS: usize = 1 << 14;

/// The program, and what it has noted.
pub struct NotedEndings {
    words: KernelWords,
    taken: u64,
    _as_long_as_this: Attached,
}

impl NotedEndings {
    /// None where the kernel does not take the program.
    pub fn begin() -> Option<Self> {
        let btf = kernel_types().ok()?;
        let words = KernelWords::new("mh_endings", 1 + SLOTS * WORDS).ok()?;
        let code = WalkFields::find(&btf)?.ending(&words).ok()?;
        let place = Place::Tracepoint("sched_process_exit");
        let attached = Program::load(place, "mh_endings", &code, &btf).ok()?.attach().ok()?;
        Some(Self { words, taken: 0, _as_long_as_this: attached })
    }

    /// Fills `endings` with those since the last time.
    pub fn take(&mut self, between_clocks_ns: i64, endings: &mut Endings) {
        endings.named.clear();
        endings.unnamed = 0;
        let count = self.words.words()[0].load(Relaxed);
        let first = self.taken.max(count.saturating_sub(SLOTS as u64));
        endings.unnamed = first - self.taken;
        for number in first..count {
            match self.slot(number) {
                Some((record, name)) => endings.named.push(ending_of(&record, name, between_clocks_ns)),
                // Half written, or written over by now.
                None => endings.unnamed += 1,
            }
        }
        self.taken = count;
        // LIE: of threads that end at the same moment each may see none of its process living any more, and what the others used is not
        // in the account yet.
        endings.named.sort_unstable_by_key(|ending| (ending.pid, ending.folder, Reverse(ending.used_ns)));
        endings.named.dedup_by_key(|ending| (ending.pid, ending.folder));
    }

    fn slot(&self, number: u64) -> Option<(ThreadRecord, [u64; 2])> {
        let at = 1 + number as usize % SLOTS * WORDS;
        let words = self.words.words().get(at..at + WORDS)?;
        // ORDER: read before and after; a slot of another number, or of none, is not taken.
        let is_whole = || words[NUMBER].load(Relaxed) == number + 1;
        let whole_before = is_whole();
        let record = std::array::from_fn(|at| words[at].load(Relaxed));
        let name = std::array::from_fn(|half| words[NAME + half].load(Relaxed));
        (whole_before && is_whole()).then_some((record, name))
    }
}

fn ending_of(record: &ThreadRecord, name: [u64; 2], between_clocks_ns: i64) -> Ending {
    let listed = ListedProcess::of_record(record, ahead_ns(record, between_clocks_ns));
    let name = name.map(u64::to_ne_bytes).concat();
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    Ending {
        pid: listed.pid,
        folder: Some(listed.start_ns),
        name: ThreadName::new(&name[..end]),
        used_ns: listed.cpu().total_ns.unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::thread_list::ThreadList;
    use crate::source::thread_list::tests::reads;
    use machine::Host;
    use std::process::Command;

    #[test]
    fn who_came_and_went_is_named_with_what_was_used() {
        let Some(mut list) = ThreadList::open(&Host::real(), true) else { return };
        let mut endings = Endings::default();
        assert!(reads(&mut list) && list.endings(&mut endings));
        // A shell that works for some milliseconds; it waits for what another shell of its name does.
        let busy = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
        let folder = tempfile::tempdir().expect("a folder");
        let shell = folder.path().join("mh-brief");
        std::fs::copy("/bin/sh", &shell).expect("a copy");
        assert!(Command::new(&shell).args(["-c", busy]).status().expect("a shell").success());
        assert!(reads(&mut list) && list.endings(&mut endings));
        let ours: Vec<&Ending> = endings.named.iter().filter(|ending| ending.name.text() == "mh-brief").collect();
        let [one] = ours.as_slice() else { panic!("{endings:?}") };
        assert!(one.used_ns > 1_000_000 && one.used_ns < 10_000_000_000, "{one:?}");
        assert!(list.processes().iter().all(|listed| listed.pid != one.pid || Some(listed.start_ns) != one.folder));
        assert!(list.endings(&mut endings) && endings.named.iter().all(|ending| ending.name.text() != "mh-brief"));
    }
}
