//! Each state on purpose, on fake hosts from 1 to 4,096 CPUs; real ones are made by the acceptance tests.

use super::*;
use crate::clocks::HostClocks;
use crate::crowding::busy_cores;
use crate::fake::{FakeProcHost, FakeThread};
use crate::groups::Hierarchies;
use crate::looker::Looker;
use crate::model::Idlers;
use crate::sampler::{Depth, HostSampler, ProcessSelection, SampleContent, Sleepers, Texts};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use sys::cpu_clock::Counted;

const S: u64 = 1_000_000_000;

/// A clock that the test moves; processes have none, so that their files count.
#[derive(Clone, Default)]
struct MovedClock(Arc<AtomicU64>);

impl HostClocks for MovedClock {
    fn now_ns(&self) -> u64 {
        // ORDER: one thread moves and reads it.
        self.0.load(Ordering::Relaxed)
    }
    fn since_boot_ns(&self) -> u64 {
        self.now_ns()
    }
    fn wall_ns(&self) -> u64 {
        self.now_ns()
    }
    fn tick_ns(&self) -> u64 {
        4_000_000
    }
    fn process_ns(&self, _pid: u32, _counted: Counted) -> Option<u64> {
        None
    }
}

/// A host that is looked at twice, ten seconds apart, and what is found.
struct Scene {
    fake: FakeProcHost,
    cpus: u32,
}

const AT_FIRST: FakeThread<'_> = FakeThread {
    name: "mysqld",
    state: 'R',
    parent: 1,
    threads: 1,
    user_ticks: 0,
    system_ticks: 0,
    start_ticks: 5,
    cpu: 0,
    run_ns: S,
    wait_ns: S,
};

impl Scene {
    fn new(cpus: u32) -> Self {
        let scene = Self { fake: FakeProcHost::new(), cpus };
        scene.fake.file("/proc/self/mountinfo", "32 31 0:29 / /cg/cpu rw - cgroup cgroup rw,cpu\n");
        scene
    }

    fn machine(&self, busy_ticks: u64, steal_ticks: u64, idle_ticks: u64) {
        let mut text = format!("cpu  {busy_ticks} 0 0 {idle_ticks} 0 0 0 {steal_ticks} 0 0\n");
        // CPU 0 has it all; every fifth of the others is switched off.
        for cpu in (0..self.cpus).filter(|cpu| *cpu == 0 || cpu % 5 != 0) {
            let (busy, steal) = if cpu == 0 { (busy_ticks, steal_ticks) } else { (0, 0) };
            text.push_str(&format!("cpu{cpu} {busy} 0 0 {} 0 0 0 {steal} 0 0\n", 1000 - busy.min(1000)));
        }
        self.fake.file("/proc/stat", text + "procs_running 1\n");
    }

    fn quota(&self, periods: u64, throttled: u64) {
        self.fake.file("/cg/cpu/cpu.stat", format!("nr_periods {periods}\nnr_throttled {throttled}\n"));
    }

    fn found(
        &self,
        change: impl FnOnce(&FakeProcHost),
        looks: u32,
        seen: StatesSeen,
    ) -> (Vec<CeilingFinding>, Option<f64>) {
        let clock = MovedClock::default();
        let mut sampler = HostSampler::with_clocks(&self.fake.host(), Box::new(clock.clone())).expect("a proc folder");
        let wanted = SampleContent {
            who: ProcessSelection::Everybody,
            texts: Texts::OfAll,
            depth: Depth::Threads,
            sleepers: Sleepers::Asked,
        };
        let (mut earlier, mut later) = (HostSample::default(), HostSample::default());
        clock.0.store(100 * S, Ordering::Relaxed);
        sampler.take(&wanted, None, &mut earlier).expect("listed");
        change(&self.fake);
        clock.0.store(110 * S, Ordering::Relaxed);
        sampler.take(&wanted, Some(&earlier), &mut later).expect("listed");
        later.machine.looks = looks;
        later.threads.iter_mut().for_each(|thread| thread.seen = seen);
        let mut interval = Interval::new(Idlers::Listed);
        interval.update(&earlier, &later);
        let quota = Hierarchies::find(&self.fake.host()).quota;
        (findings(&interval, &earlier, &later, quota.as_ref()), busy_cores(&interval, &earlier, &later))
    }
}

use crate::sample::StatesSeen;

/// What is found of one thread that ran and waited so long of ten seconds.
fn limits(run_ns: u64, wait_ns: u64, state: char) -> Vec<Limit> {
    let scene = Scene::new(4);
    scene.machine(0, 0, 0);
    scene.fake.process(7, AT_FIRST);
    let change = |fake: &FakeProcHost| {
        let after = FakeThread { state, run_ns: S + run_ns, wait_ns: S + wait_ns, ..AT_FIRST };
        fake.process(7, after);
    };
    scene.found(change, 0, StatesSeen::default()).0.iter().map(|finding| finding.limit).collect()
}

#[test]
fn one_thread_of_256_cpus_is_at_its_ceiling() {
    let scene = Scene::new(256);
    scene.machine(0, 0, 0);
    scene.fake.process(7, FakeThread { threads: 2, ..AT_FIRST });
    scene.fake.thread(7, 8, FakeThread { name: "log_writer", threads: 2, cpu: 3, ..AT_FIRST });
    let (found, busy) = scene.found(
        |fake| {
            scene.machine(1000, 0, 255_000);
            let after = FakeThread { name: "log_writer", threads: 2, cpu: 9, run_ns: S + 9_800_000_000, ..AT_FIRST };
            fake.thread(7, 8, after);
            fake.thread(7, 7, FakeThread { threads: 2, state: 'S', run_ns: S + 1000, ..AT_FIRST });
        },
        0,
        StatesSeen::default(),
    );
    assert_eq!(found.len(), 1, "{found:?}");
    let finding = &found[0];
    assert_eq!((finding.limit, finding.pid, finding.tid), (Limit::Ceiling, 7, 8));
    assert_eq!((finding.name.as_str(), finding.process.as_str()), ("log_writer", "mysqld"));
    assert!((finding.on_cpu - 0.98).abs() < 1e-9);
    assert_eq!(finding.cpu, Some(9), "it has moved to another CPU");
    assert_eq!(busy, Some(1.0));
}

#[test]
fn shares_decide_between_ceiling_starved_and_nothing() {
    assert_eq!(limits(9_800_000_000, 0, 'R'), [Limit::Ceiling]);
    assert_eq!(limits(9_000_000_000, 800_000_000, 'R'), [Limit::Ceiling]);
    assert_eq!(limits(9_600_000_000, 0, 'R'), []);
    assert_eq!(limits(5_000_000_000, 5_000_000_000, 'R'), [Limit::Starved]);
    assert_eq!(limits(100_000_000, 1_100_000_000, 'S'), [Limit::Starved]);
    assert_eq!(limits(100_000_000, 900_000_000, 'S'), []);
    assert_eq!(limits(0, 0, 'S'), []);
    // Of the waiting that ended here some was before.
    assert_eq!(limits(9_800_000_000, 2_000_000_000, 'R'), [Limit::Ceiling]);
}

#[test]
fn running_and_waiting_take_no_more_than_the_time() {
    let scene = Scene::new(4);
    scene.machine(0, 0, 0);
    scene.fake.process(7, AT_FIRST);
    let change = |fake: &FakeProcHost| {
        fake.process(7, FakeThread { run_ns: S + 3_200_000_000, wait_ns: S + 8_400_000_000, ..AT_FIRST });
    };
    let found = scene.found(change, 0, StatesSeen::default()).0;
    let shares = (found[0].limit, found[0].on_cpu, found[0].waited);
    assert!(shares.0 == Limit::Starved && (shares.1 + shares.2 - 1.0).abs() < 1e-9, "{shares:?}");
}

#[test]
fn of_a_wait_that_began_before_only_what_looks_have_seen_is_of_the_interval() {
    for (state, run_ns, looks, runnable, limits) in [
        ('R', S / 10, 20, 1, &[][..]),
        ('R', S / 10, 20, 8, &[Limit::Starved]),
        ('R', S / 10, 0, 0, &[Limit::Starved]),
        ('S', S / 10, 20, 1, &[Limit::Starved]),
        // Nobody looked at it.
        ('R', 4 * S, 20, 0, &[Limit::Starved]),
    ] {
        let scene = Scene::new(4);
        scene.machine(0, 0, 0);
        scene.fake.process(7, FakeThread { state, ..AT_FIRST });
        let change = |fake: &FakeProcHost| {
            let after = FakeThread { state: 'S', run_ns: S + run_ns, wait_ns: 6 * S, ..AT_FIRST };
            fake.process(7, after);
        };
        let found = scene.found(change, looks, StatesSeen { runnable, uninterruptible: 0 }).0;
        assert_eq!(found.iter().map(|finding| finding.limit).collect::<Vec<_>>(), limits, "{state} {looks} {runnable}");
    }
}

#[test]
fn a_thread_that_never_got_a_cpu_is_starved_though_no_counter_says_so() {
    assert_eq!(limits(0, 0, 'R'), [Limit::Starved]);
}

#[test]
fn waiting_under_a_used_up_quota_is_throttling() {
    for (throttled_after, limit) in [(90, Limit::Throttled), (3, Limit::Starved), (0, Limit::Starved)] {
        let scene = Scene::new(2);
        scene.machine(0, 0, 0);
        scene.quota(10, 0);
        scene.fake.process(7, AT_FIRST);
        let (found, _) = scene.found(
            |fake| {
                scene.quota(110, throttled_after);
                fake.process(7, FakeThread { run_ns: 4 * S, wait_ns: 8 * S, ..AT_FIRST });
            },
            0,
            StatesSeen::default(),
        );
        assert_eq!(found.iter().map(|finding| finding.limit).collect::<Vec<_>>(), [limit], "{throttled_after}");
        assert_eq!(found[0].group.is_some(), limit == Limit::Throttled);
    }
}

#[test]
fn what_the_hypervisor_took_is_not_the_program_s() {
    for (steal, limit) in [(300, Limit::Stolen), (50, Limit::Ceiling)] {
        let scene = Scene::new(4096);
        scene.machine(0, 0, 0);
        scene.fake.process(7, AT_FIRST);
        let (found, _) = scene.found(
            |fake| {
                scene.machine(1000 - steal, steal, 0);
                fake.process(7, FakeThread { run_ns: S + (1000 - steal) * 10_000_000, ..AT_FIRST });
            },
            0,
            StatesSeen::default(),
        );
        assert_eq!(found.iter().map(|finding| finding.limit).collect::<Vec<_>>(), [limit], "{steal}");
    }
}

#[test]
fn disk_sleep_is_told_from_enough_looks() {
    for (looks, seen, expected) in [(20, 16, 1), (20, 12, 0), (4, 4, 1), (3, 3, 0), (0, 0, 0), (2, 9, 0)] {
        let scene = Scene::new(1);
        scene.machine(0, 0, 0);
        scene.fake.process(7, AT_FIRST);
        let seen = StatesSeen { uninterruptible: seen, ..StatesSeen::default() };
        let (found, _) = scene.found(
            |fake| fake.process(7, FakeThread { state: 'D', run_ns: S + 1_000_000_000, ..AT_FIRST }),
            looks,
            seen,
        );
        assert_eq!(found.len(), expected, "{looks} {seen:?}");
        assert!(found.iter().all(|finding| finding.limit == Limit::IoBound));
    }
}

/// The looks are those of a thread that runs for a fifth of its time: what it slept its clocks say, and how it slept the rest of the looks.
#[test]
fn disk_sleep_of_a_thread_that_works_between_is_told_by_its_clocks_and_looks_together() {
    for (runnable, uninterruptible, expected) in
        [(8, 17, 1), (2, 21, 1), (2, 16, 0), (8, 12, 0), (17, 8, 0), (25, 0, 0)]
    {
        let scene = Scene::new(1);
        scene.machine(0, 0, 0);
        scene.fake.process(7, AT_FIRST);
        let working = |fake: &FakeProcHost| fake.process(7, FakeThread { state: 'D', run_ns: 3 * S, ..AT_FIRST });
        let (found, _) = scene.found(working, 25, StatesSeen { runnable, uninterruptible });
        assert_eq!(found.len(), expected, "{runnable} {uninterruptible}");
        assert!(found.iter().all(|finding| finding.limit == Limit::IoBound && finding.in_disk_sleep < 0.801));
    }
}

#[test]
fn a_host_without_groups_ticks_or_pressure_is_judged_all_the_same() {
    let scene = Scene::new(1);
    scene.fake.remove("/proc/self/mountinfo");
    scene.fake.process(7, AT_FIRST);
    let (found, busy) =
        scene.found(|fake| fake.process(7, FakeThread { run_ns: 11 * S, ..AT_FIRST }), 0, StatesSeen::default());
    assert_eq!((found.len(), busy), (1, None));
}

/// What most of them do, what one in 10,000 does, and what one in 1,000 does.
fn threads_of_three_kinds(fake: &FakeProcHost, seconds: u64) {
    let many = FakeThread { threads: THREADS, ..AT_FIRST };
    fake.thread_in("/kinds/sleeps", 1, FakeThread { state: 'S', run_ns: S + 10 * seconds, ..many });
    fake.thread_in("/kinds/spins", 1, FakeThread { run_ns: S + 980_000_000 * seconds, ..many });
    fake.thread_in("/kinds/reads", 1, FakeThread { state: 'D', run_ns: S + 1_000_000 * seconds, ..many });
}

const THREADS: u32 = 100_000;

#[test]
fn a_hundred_thousand_threads_of_one_process_are_added_up_and_judged() {
    let scene = Scene::new(4);
    scene.machine(0, 0, 0);
    scene.fake.process(7, FakeThread { threads: THREADS, state: 'S', ..AT_FIRST });
    threads_of_three_kinds(&scene.fake, 0);
    for tid in 8..7 + THREADS {
        let kind = match tid {
            tid if tid % 10_000 == 0 => "spins",
            tid if tid % 1_000 == 0 => "reads",
            _ => "sleeps",
        };
        scene.fake.link(&format!("/proc/7/task/{tid}"), &format!("../../../kinds/{kind}"));
    }
    let clock = MovedClock::default();
    let mut sampler = HostSampler::with_clocks(&scene.fake.host(), Box::new(clock.clone())).expect("a proc folder");
    let mut looker = Looker::open(&scene.fake.host()).expect("a proc folder");
    let wanted = SampleContent {
        who: ProcessSelection::Everybody,
        texts: Texts::OfAll,
        depth: Depth::Threads,
        sleepers: Sleepers::Asked,
    };
    let (mut earlier, mut later) = (HostSample::default(), HostSample::default());
    clock.0.store(100 * S, Ordering::Relaxed);
    sampler.take(&wanted, None, &mut earlier).expect("listed");
    looker.look();
    threads_of_three_kinds(&scene.fake, 10);
    clock.0.store(110 * S, Ordering::Relaxed);
    sampler.take(&wanted, Some(&earlier), &mut later).expect("listed");
    looker.tell(&mut later);
    assert_eq!((later.threads.len(), later.machine.looks), (THREADS as usize, 1));
    // One look is not enough for a verdict, and a second one would be over the budget: as if there had been four.
    later.machine.looks *= 4;
    later.threads.iter_mut().for_each(|thread| thread.seen.uninterruptible *= 4);
    let mut interval = Interval::new(Idlers::Listed);
    interval.update(&earlier, &later);
    let (spinning, reading) = (10, 90);
    let sleeping = u64::from(THREADS) - 1 - spinning - reading;
    let used_ns = sleeping * 100 + spinning * 9_800_000_000 + reading * 10_000_000;
    assert_eq!(interval.processes.iter().map(|usage| usage.cpu.total_ns).collect::<Vec<_>>(), [used_ns]);
    let found = findings(&interval, &earlier, &later, None);
    let count = |limit| found.iter().filter(|finding| finding.limit == limit).count() as u64;
    assert_eq!((count(Limit::Ceiling), count(Limit::IoBound), found.len()), (spinning, reading, 100));
    // A sample of processes alone adds nothing up by thread.
    sampler.take(&SampleContent { depth: Depth::Processes, ..wanted }, None, &mut earlier).expect("listed");
    assert_eq!((earlier.threads.len(), earlier.processes[0].may_run), (0, THREADS));
}
