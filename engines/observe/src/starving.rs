//! Waiting that has not ended: the kernel counts a wait when it ends, so that over a long time the last one of a thread that
//! gets no CPU any more would be missing. The intervals between have seen it.

use crate::model::{Idlers, Interval};
use std::collections::HashMap;

/// A thread, by process and number.
type Thread = (u32, u32);

/// Since when threads get no CPU, over consecutive intervals.
#[derive(Clone, Debug, Default)]
pub struct Starving {
    waiting_ns: HashMap<Thread, u64>,
}

impl Starving {
    /// One more interval: who is not starved at its end has its waiting in its own counter.
    pub fn note(&mut self, interval: &Interval) {
        let before = std::mem::take(&mut self.waiting_ns);
        let starved = interval.threads.iter().filter(|thread| thread.is_starved);
        self.waiting_ns = starved
            .map(|thread| {
                let key = (thread.pid, thread.tid);
                (key, before.get(&key).copied().unwrap_or(0).saturating_add(thread.elapsed_ns))
            })
            .collect();
    }

    /// Adds what has not ended to the interval of all that were noted, which lists idle processes: one whose only wait has not ended
    /// is none. Who was starved in all of it has it already.
    pub fn add_to(&self, all: &mut Interval, idlers: Idlers) {
        let mut by_process: HashMap<u32, u64> = HashMap::new();
        for thread in &mut all.threads {
            let Some(waiting_ns) = self.waiting_ns.get(&(thread.pid, thread.tid)) else { continue };
            let taken_ns = thread.cpu.total_ns.saturating_add(thread.wait_ns);
            let more_ns = (*waiting_ns).min(thread.elapsed_ns.saturating_sub(taken_ns));
            thread.wait_ns = thread.wait_ns.saturating_add(more_ns);
            *by_process.entry(thread.pid).or_default() += more_ns;
        }
        for usage in &mut all.processes {
            let more_ns = by_process.get(&usage.pid).copied().unwrap_or(0);
            usage.wait_ns = usage.wait_ns.map(|wait_ns| wait_ns.saturating_add(more_ns));
        }
        all.count_idle(idlers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{HostSample, ProcessSample, Span, ThreadSample};
    use crate::source::process_stat::{StatLine, ThreadState};
    use crate::source::run_delay::ThreadRunDelay;

    /// One process of one thread.
    fn sample(at_ns: u64, run_ns: u64, wait_ns: u64, state: ThreadState) -> HostSample {
        let line = Some(StatLine { state, ..StatLine::default() });
        let delay = Some(ThreadRunDelay { run_ns, wait_ns, turns: run_ns });
        let thread = ThreadSample { tid: 7, at_ns, delay, line, ..ThreadSample::default() };
        let mut process = ProcessSample { pid: 7, folder: 7, at_ns, ..ProcessSample::default() };
        process.cpu.total_ns = Some(run_ns);
        process.threads = Span { start: 0, end: 1 };
        HostSample { at_ns, processes: vec![process], threads: vec![thread], ..HostSample::default() }
    }

    /// The waiting of an average over all samples: of the thread and of its process.
    fn average(samples: &[HostSample]) -> (u64, Option<u64>) {
        let mut starving = Starving::default();
        let mut interval = Interval::new(Idlers::Listed);
        for pair in samples.windows(2) {
            interval.update(&pair[0], &pair[1]);
            starving.note(&interval);
        }
        interval.update(&samples[0], &samples[samples.len() - 1]);
        starving.add_to(&mut interval, Idlers::Counted);
        (interval.threads[0].wait_ns, interval.processes[0].wait_ns)
    }

    #[test]
    fn a_wait_that_has_not_ended_is_waiting_in_the_average() {
        use ThreadState::{Runnable, Sleeping};
        let ran_then_starved = [
            sample(0, 0, 0, Runnable),
            sample(100, 60, 40, Runnable),
            sample(200, 60, 40, Runnable),
            sample(300, 60, 40, Runnable),
        ];
        assert_eq!(average(&ran_then_starved), (240, Some(240)), "40 that ended and 200 that did not");
        let and_then_ran = [&ran_then_starved[..], &[sample(400, 100, 300, Runnable)]].concat();
        assert_eq!(average(&and_then_ran), (300, Some(300)), "its own counter has it");
        let starved_always = [sample(0, 5, 5, Runnable), sample(100, 5, 5, Runnable), sample(200, 5, 5, Runnable)];
        assert_eq!(average(&starved_always), (200, Some(200)), "not twice");
        let slept = [sample(0, 0, 0, Runnable), sample(100, 60, 40, Sleeping), sample(200, 60, 40, Sleeping)];
        assert_eq!(average(&slept), (40, Some(40)));
        let never_ran = [sample(0, 5, 5, Sleeping), sample(100, 5, 5, Runnable), sample(200, 5, 5, Runnable)];
        assert_eq!(average(&never_ran), (100, Some(100)), "by its counters it was idle");
    }
}
