//! What samples are worth. Waits are exact, so the time on a CPU is too, as a whole: life less waits. Samples only share
//! it out between the calls and the program's own work.

use super::layout::CALL_BETWEEN;
use super::snapshot::{CallSnapshot, OwnerTimes};

/// Turns counted samples into times; calls that are not wanted become part of the time between calls (`wanted` empty: all are).
pub fn estimate(snapshot: &mut CallSnapshot, wanted: &[u32]) {
    snapshot.owners.iter_mut().for_each(|owner| estimate_owner(owner, wanted));
    snapshot.samples = snapshot.owners.iter().map(|owner| owner.samples).sum();
}

fn estimate_owner(owner: &mut OwnerTimes, wanted: &[u32]) {
    for call in &mut owner.calls {
        // The cell's first counts are no durations: see the layout.
        let [samples, waits, ..] = std::mem::take(&mut call.durations);
        (call.samples, call.waits, call.ended) = (samples, waits, 0);
        owner.samples += samples;
    }
    owner.keep(|call| call != CALL_BETWEEN && (wanted.is_empty() || wanted.contains(&call)));
    let waiting_ns = owner.between_waiting_ns + owner.calls.iter().map(|call| call.waiting_ns).sum::<u64>();
    let on_cpu_ns = owner.life_ns.saturating_sub(waiting_ns);
    for call in &mut owner.calls {
        let share = call.samples as f64 / owner.samples.max(1) as f64;
        call.total_ns = call.waiting_ns + (on_cpu_ns as f64 * share) as u64;
    }
}

/// Half the width of the interval around the time on a CPU that `samples` of the owner's samples stand for.
pub fn uncertain_ns(owner: &OwnerTimes, samples: u64) -> u64 {
    let in_calls_waiting_ns = owner.calls.iter().map(|call| call.waiting_ns).sum::<u64>();
    let on_cpu_ns = owner.life_ns.saturating_sub(in_calls_waiting_ns + owner.between_waiting_ns);
    if owner.samples == 0 {
        // Nobody looked: all of it or nothing.
        return on_cpu_ns;
    }
    (on_cpu_ns as f64 * share_within(samples, owner.samples).1) as u64
}

/// Half the width of the interval that the true share of `of` samples lies in with 95 % confidence, when `count` of them
/// were counted (Wilson's score interval, which holds for few samples too, around its own middle).
pub fn share_within(count: u64, of: u64) -> (f64, f64) {
    const DEVIATIONS: f64 = 1.96;
    if of == 0 {
        return (0.5, 0.5);
    }
    let (n, share) = (of as f64, count as f64 / of as f64);
    let z2 = DEVIATIONS * DEVIATIONS;
    let middle = (share + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = DEVIATIONS / (1.0 + z2 / n) * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
    (middle, half)
}

#[cfg(test)]
mod tests {
    use super::super::snapshot::TimeOwner;
    use super::*;

    fn owner() -> OwnerTimes {
        let mut owner = OwnerTimes { life_ns: 1_000_000, ..OwnerTimes::new(TimeOwner::All) };
        for (number, samples, waits, waiting_ns) in [(0, 30, 2, 200_000), (1, 10, 0, 0), (CALL_BETWEEN, 60, 1, 100_000)]
        {
            let call = owner.call(number);
            (call.durations[0], call.durations[1], call.waiting_ns) = (samples, waits, waiting_ns);
            call.total_ns = waiting_ns;
            call.ended = samples + waits;
        }
        owner
    }

    #[test]
    fn samples_share_out_what_waits_left() {
        let mut all = owner();
        estimate_owner(&mut all, &[]);
        assert_eq!((all.samples, all.between_waiting_ns), (100, 100_000));
        let [read, write] = all.calls.as_slice() else { panic!("{:?}", all.calls) };
        assert_eq!((read.total_ns, read.waiting_ns, read.samples, read.waits), (200_000 + 210_000, 200_000, 30, 2));
        assert_eq!((write.total_ns, write.ended), (70_000, 0));
        assert_eq!(all.between_on_cpu_ns(), 420_000);
    }

    #[test]
    fn calls_that_are_not_wanted_are_time_between_calls() {
        let mut one = owner();
        estimate_owner(&mut one, &[1]);
        assert_eq!(one.calls.len(), 1);
        assert_eq!((one.between_waiting_ns, one.calls[0].total_ns), (300_000, 70_000));
    }

    #[test]
    fn without_a_sample_all_time_on_a_cpu_is_uncertain() {
        let mut one = OwnerTimes { life_ns: 1000, between_waiting_ns: 300, ..OwnerTimes::new(TimeOwner::All) };
        assert_eq!(uncertain_ns(&one, 0), 700);
        one.samples = 10_000;
        assert!((1..10).contains(&uncertain_ns(&one, 5000)), "{}", uncertain_ns(&one, 5000));
    }

    #[test]
    fn intervals_are_wilsons() {
        let (middle, half) = share_within(50, 100);
        assert!((middle - 0.5).abs() < 1e-9 && (half - 0.0962).abs() < 1e-3, "{middle} {half}");
        let (middle, half) = share_within(0, 10);
        assert!((middle - half).abs() < 1e-9 && (middle + half - 0.2775).abs() < 1e-3, "{middle} {half}");
        assert_eq!(share_within(0, 0), (0.5, 0.5));
    }
}
