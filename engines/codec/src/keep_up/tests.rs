//! The controller against producers, data, sinks and machines in simulated time. What is asked of it: the producer blocked for at most
//! 5 % after a warm-up, levels within reach of the best constant one in hindsight, quick recovery, no wild swings.

use super::simulation::{
    DataKind, GZ_BYTE_NS, ProducerStretch, SimulationOutcome, World, ZST_BYTE_NS, best_constant, controlled,
    for_seconds,
};

/// The first second: nothing is known yet.
const WARM_UP: f64 = 1.0;

const MEGABYTES: f64 = 1e6;

fn assert_keeps_up(name: &str, world: &World, levels_below_best: f64) -> SimulationOutcome {
    let outcome = controlled(world);
    let (best, constant) = best_constant(world, WARM_UP);
    let share = outcome.blocked_share_from(WARM_UP);
    let mean = outcome.mean_level(5.0..f64::INFINITY);
    let told = format!(
        "{name}: blocked {:.2} % of {:.1} s, mean level {mean:.2}, {:.3e} bytes; constant {best}: {:.2} %, {:.1} s, {:.3e} bytes",
        share * 100.0,
        outcome.seconds,
        outcome.packed_bytes,
        constant.blocked_share_from(WARM_UP) * 100.0,
        constant.seconds,
        constant.packed_bytes,
    );
    assert!(share <= 0.05, "{told}");
    assert!(mean >= f64::from(best) - levels_below_best, "{told}");
    outcome
}

#[test]
fn steady_producers() {
    for hands in [1, 2, 64] {
        for rate_a_hand in [1.0, 5.0, 20.0, 60.0, 150.0] {
            let rate = rate_a_hand * MEGABYTES * hands as f64;
            let world = World::new(&ZST_BYTE_NS, hands, vec![for_seconds(30.0, rate, DataKind::Text)]);
            assert_keeps_up(&format!("zst, {hands} hands, {rate_a_hand} MB/s each"), &world, 1.0);
        }
        for rate_a_hand in [15.0, 50.0, 120.0] {
            let rate = rate_a_hand * MEGABYTES * hands as f64;
            let world = World::new(&GZ_BYTE_NS, hands, vec![for_seconds(30.0, rate, DataKind::Text)]);
            assert_keeps_up(&format!("gz, {hands} hands, {rate_a_hand} MB/s each"), &world, 1.0);
        }
    }
}

#[test]
fn bursts_and_pauses() {
    for hands in [1, 2, 64] {
        let burst = for_seconds(0.7, 100.0 * MEGABYTES * hands as f64, DataKind::Text);
        let stretches = [burst, ProducerStretch::Pause { seconds: 3.0 }].repeat(12);
        assert_keeps_up(&format!("bursts, {hands} hands"), &World::new(&ZST_BYTE_NS, hands, stretches), 2.5);
    }
}

#[test]
fn easy_hard_easy() {
    for hands in [1, 2, 64] {
        let rate = 25.0 * MEGABYTES * hands as f64;
        let stretch = |kind| for_seconds(20.0, rate, kind);
        let stretches = vec![stretch(DataKind::Easy), stretch(DataKind::Hard), stretch(DataKind::Easy)];
        let world = World::new(&ZST_BYTE_NS, hands, stretches);
        let outcome = assert_keeps_up(&format!("easy-hard-easy, {hands} hands"), &world, 0.0);
        let (first, middle, last) =
            (outcome.mean_level(5.0..20.0), outcome.mean_level(22.0..40.0), outcome.mean_level(43.0..60.0));
        assert!(first > middle + 3.0 && last > middle + 3.0, "it climbs again: {first:.1}, {middle:.1}, {last:.1}");
    }
}

#[test]
fn twenty_times_slower_and_twenty_times_faster() {
    for hands in [1, 2, 64] {
        let (fast, slow) = (150.0 * MEGABYTES * hands as f64, 7.5 * MEGABYTES * hands as f64);
        let one_after_the_other = |first, second| {
            let stretches = vec![for_seconds(10.0, first, DataKind::Text), for_seconds(20.0, second, DataKind::Text)];
            World::new(&ZST_BYTE_NS, hands, stretches)
        };
        let down = assert_keeps_up(&format!("20 x slower, {hands} hands"), &one_after_the_other(fast, slow), 0.0);
        let up = assert_keeps_up(&format!("20 x faster, {hands} hands"), &one_after_the_other(slow, fast), 1.0);
        let (down, up) = (down.mean_level(14.0..30.0), up.mean_level(14.0..30.0));
        assert!(down > 10.0, "it climbs within four seconds: {down:.1}");
        assert!(up < 6.0, "it falls: {up:.1}");
    }
}

#[test]
fn a_slow_sink_calls_for_higher_levels() {
    for hands in [2, 64] {
        let rate = 100.0 * MEGABYTES * hands as f64;
        let mut world = World::new(&ZST_BYTE_NS, hands, vec![for_seconds(20.0, rate, DataKind::Text)]);
        world.sink_rate = rate / 10.0;
        let outcome = controlled(&world);
        let best = world
            .levels()
            .map(|level| super::simulation::simulate(&world, super::simulation::Policy::Constant(level)).seconds)
            .fold(f64::INFINITY, f64::min);
        assert!(outcome.seconds < best * 1.1, "{:.1} s, best constant {best:.1} s", outcome.seconds);
    }
}

#[test]
fn an_incompressible_stretch_leaves_nothing_behind() {
    for hands in [1, 2, 64] {
        let rate = 10.0 * MEGABYTES * hands as f64;
        let stretch = |kind| for_seconds(15.0, rate, kind);
        let stretches = vec![stretch(DataKind::Text), stretch(DataKind::Noise), stretch(DataKind::Text)];
        let outcome = controlled(&World::new(&ZST_BYTE_NS, hands, stretches));
        let share = outcome.blocked_share_from(WARM_UP);
        let (before, within, after) =
            (outcome.mean_level(5.0..15.0), outcome.mean_level(17.0..29.0), outcome.mean_level(31.0..45.0));
        assert!(share <= 0.05);
        assert!(within < 1.5, "no effort for nothing: {within:.1}");
        assert!(after > before - 0.7, "before {before:.1}, after {after:.1}");
    }
}

#[test]
fn a_steady_stream_has_steady_levels() {
    for hands in [1, 2, 64] {
        let rate = 30.0 * MEGABYTES * hands as f64;
        let outcome = controlled(&World::new(&ZST_BYTE_NS, hands, vec![for_seconds(30.0, rate, DataKind::Text)]));
        let levels: Vec<i32> = outcome.steps.iter().filter(|step| step.second > 5.0).map(|step| step.level).collect();
        let wild = levels.windows(2).filter(|pair| (pair[0] - pair[1]).abs() > 3).count();
        assert!(wild * 20 <= levels.len(), "{wild} of {} steps are wild", levels.len());
    }
}

#[test]
fn a_worker_that_was_stopped_does_not_make_it_stick() {
    for hands in [1, 2, 64] {
        let rate = 10.0 * MEGABYTES * hands as f64;
        let mut world = World::new(&ZST_BYTE_NS, hands, vec![for_seconds(40.0, rate, DataKind::Text)]);
        world.stopped_chunk = Some(30);
        let outcome = controlled(&world);
        let stopped_at = outcome.steps[30].second;
        let later = outcome.mean_level(stopped_at + 15.0..60.0);
        assert!(later > 12.0, "{later:.1}");
    }
}

#[test]
fn the_bounds_hold() {
    let world = World::new(&ZST_BYTE_NS, 2, vec![for_seconds(5.0, 1.0 * MEGABYTES, DataKind::Text)]);
    let controller = super::LevelController::new(3..=7, super::simulation::CHUNK_BYTES, 2, 66);
    let outcome = super::simulation::simulate(&world, super::simulation::Policy::Controlled(Box::new(controller)));
    assert_eq!((outcome.kept.level_lowest, outcome.kept.level_highest), (3, 7));
}
