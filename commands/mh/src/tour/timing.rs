//! How long a command took, and how many cores other programs kept busy meanwhile: two times can be compared only where both runs had
//! the machine to themselves.

use machine::{Host, ProcessorTime};
use std::time::{Duration, Instant};

/// One command's time.
#[derive(Clone, Copy, Debug)]
pub struct Timed {
    /// From its start to its end.
    pub elapsed: Duration,
    /// Cores that other programs used, on average; none where the kernel does not say.
    pub others_cores: Option<f64>,
}

/// Runs `body`, and measures.
pub fn timed<T>(body: impl FnOnce() -> T) -> (T, Timed) {
    let host = Host::real();
    let (before, own_before, began) = (machine::processor_time(&host).ok(), children_cpu(), Instant::now());
    let result = body();
    let elapsed = began.elapsed();
    let own = children_cpu().saturating_sub(own_before);
    let others_cores = before
        .zip(machine::processor_time(&host).ok())
        .map(|(before, after)| others_cores(busy_between(&before, &after), own, elapsed));
    (result, Timed { elapsed, others_cores })
}

/// CPU time that all CPUs were busy.
fn busy_between(before: &ProcessorTime, after: &ProcessorTime) -> Duration {
    let ticks = after.busy_ticks.saturating_sub(before.busy_ticks);
    Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

fn others_cores(busy: Duration, own: Duration, elapsed: Duration) -> f64 {
    busy.saturating_sub(own).as_secs_f64() / elapsed.as_secs_f64().max(1e-3)
}

/// What the children that have ended used of the CPUs.
fn children_cpu() -> Duration {
    let ticks = machine::process_cpu_ticks(&Host::real(), std::process::id()).ok().flatten().unwrap_or(0);
    Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// The same work on all cores and on one.
pub struct Compared {
    /// Cores there are.
    pub cores: usize,
    /// On all of them.
    pub by_all: Timed,
    /// On one.
    pub by_one: Timed,
}

/// LIMIT: others that use more than this share of the machine make a ratio of two times worth nothing.
const OTHERS_SHARE: f64 = 0.2;
/// LIMIT: times below this are mostly those of starting a program.
const SHORTEST: Duration = Duration::from_millis(200);

impl Compared {
    /// What the two times say about the cores, or why they say nothing.
    pub fn sentence(&self) -> String {
        let (all, one) = (self.by_all.elapsed, self.by_one.elapsed);
        let times = format!("{} on all cores, {} on one", terminal::duration(all), terminal::duration(one));
        let others = [self.by_all, self.by_one].iter().filter_map(|timed| timed.others_cores).fold(0.0, f64::max);
        match () {
            () if self.cores < 2 => format!("{times}: there is one core here, so that the two are the same."),
            () if others > OTHERS_SHARE * self.cores as f64 => format!(
                "{times}. Other programs kept {others:.1} of {} cores busy meanwhile: these times say nothing about the cores.",
                self.cores
            ),
            () if all < SHORTEST => format!("{times}: too short to compare; give mh tour a larger file."),
            () => format!(
                "{times}: {:.1} times as fast with {} cores.",
                one.as_secs_f64() / all.as_secs_f64(),
                self.cores
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(cores: usize, milliseconds: [u64; 2], others: [f64; 2]) -> String {
        let [by_all, by_one] =
            [0, 1].map(|at| Timed { elapsed: Duration::from_millis(milliseconds[at]), others_cores: Some(others[at]) });
        Compared { cores, by_all, by_one }.sentence()
    }

    #[test]
    fn a_busy_machine_gives_no_ratio() {
        assert_eq!(
            compared(4, [1000, 3500], [0.1, 0.2]),
            "1 s on all cores, 3.5 s on one: 3.5 times as fast with 4 cores."
        );
        for others in [[1.5, 0.0], [0.0, 1.5]] {
            let text = compared(4, [1000, 3500], others);
            assert!(text.contains("kept 1.5 of 4 cores busy") && !text.contains("times as fast"), "{text}");
        }
        assert!(compared(1, [1000, 1000], [0.0, 0.0]).contains("one core here"));
        assert!(compared(4, [20, 50], [0.0, 0.0]).contains("too short"));
    }

    #[test]
    fn others_are_what_was_busy_beside_our_own() {
        let seconds = Duration::from_secs;
        assert!((others_cores(seconds(10), seconds(4), seconds(3)) - 2.0).abs() < 1e-9);
        assert_eq!(others_cores(seconds(1), seconds(4), seconds(3)), 0.0, "ticks are rough");
    }
}
