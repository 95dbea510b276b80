//! Samples of fake hosts, and of this one.

use super::sleepers::TURNS;
use super::*;
use crate::fake::{FakeProcHost, FakeThread};

const ALL: SampleContent = SampleContent {
    who: ProcessSelection::Everybody,
    texts: Texts::OfAll,
    depth: Depth::Threads,
    sleepers: Sleepers::Asked,
};

/// A fake host has no clocks of processes.
struct FakeClocks;

impl HostClocks for FakeClocks {
    fn now_ns(&self) -> u64 {
        1_000
    }
    fn since_boot_ns(&self) -> u64 {
        2_000
    }
    fn wall_ns(&self) -> u64 {
        3_000
    }
    fn tick_ns(&self) -> u64 {
        4_000_000
    }
    fn process_ns(&self, _pid: u32, _counted: Counted) -> Option<u64> {
        None
    }
}

fn sample_of(fake: &FakeProcHost, wanted: &SampleContent) -> HostSample {
    let mut sampler = HostSampler::with_clocks(&fake.host(), Box::new(FakeClocks)).expect("a proc folder");
    let mut sample = HostSample::default();
    sampler.take(wanted, None, &mut sample).expect("listed");
    sample
}

#[test]
fn a_fake_host_is_read_through_its_files() {
    let fake = FakeProcHost::new();
    fake.process(9, FakeThread { name: "a) b\n(c", run_ns: 5_000, wait_ns: 70, ..FakeThread::default() });
    fake.process(3, FakeThread { user_ticks: 2, system_ticks: 1, ..FakeThread::default() });
    let sample = sample_of(&fake, &ALL);
    assert_eq!(sample.processes.iter().map(|process| process.pid).collect::<Vec<_>>(), [3, 9]);
    let process = sample.process(9).expect("there");
    assert_eq!((process.cpu.total_ns, process.cpu.basis), (Some(5_000), CpuBasis::Threads));
    assert_eq!(process.identity.as_ref().expect("read").name, "a) b\n(c");
    assert_eq!(sample.threads_of(process)[0].delay.expect("read").wait_ns, 70);
    let other = sample.process(3).expect("there");
    assert_eq!((other.cpu.total_ns, other.cpu.basis), (Some(30_000_000), CpuBasis::Ticks));
    assert_eq!(sample.machine.total, None, "there is neither /proc/stat nor a control group");
}

#[test]
fn processes_that_vanish_between_two_reads_are_left_out() {
    let fake = FakeProcHost::new();
    fake.process(3, FakeThread::default());
    for (pid, gone) in [(4, "stat"), (5, "task"), (6, "status"), (7, "cmdline")] {
        fake.process(pid, FakeThread { user_ticks: 1, ..FakeThread::default() });
        fake.remove(&format!("/proc/{pid}/{gone}"));
    }
    let sample = sample_of(&fake, &ALL);
    assert_eq!(sample.processes.iter().map(|process| process.pid).collect::<Vec<_>>(), [3, 5, 6, 7]);
    assert_eq!(sample.process(5).expect("there").cpu.total_ns, Some(10_000_000));
    assert_eq!(sample.process(6).expect("there").identity.as_ref().expect("read").user, None);
    assert_eq!(sample.process(7).expect("there").identity.as_ref().expect("read").shown(), "[sh]");
}

#[test]
fn control_group_totals_are_preferred_to_ticks() {
    let fake = FakeProcHost::new();
    fake.file("/proc/stat", "cpu  1 2 4 8 0 0 0 0 0 0\ncpu0 1 2 4 8 0 0 0 0 0 0\nprocs_running 1\n");
    let machine = sample_of(&fake, &ALL).machine;
    assert_eq!(machine.total, Some(MachineTotal { used_ns: 70_000_000, basis: TotalBasis::Ticks }));
    assert_eq!((machine.online_cpus, machine.tick_ns), (1, 4_000_000));
    fake.file("/proc/self/mountinfo", "32 31 0:29 / /cg/acct rw - cgroup cgroup rw,cpuacct\n");
    fake.file("/cg/acct/cpuacct.usage", "71234567\n");
    fake.file("/proc/pressure/cpu", "some avg10=0 total=5\n");
    let machine = sample_of(&fake, &ALL).machine;
    assert_eq!(machine.total, Some(MachineTotal { used_ns: 71_234_567, basis: TotalBasis::ControlGroup }));
    assert_eq!(machine.pressure_us, Some(5));
}

#[test]
fn only_listed_processes_are_looked_at() {
    let fake = FakeProcHost::new();
    [3, 4, 5].into_iter().for_each(|pid| fake.process(pid, FakeThread::default()));
    let sample = sample_of(&fake, &SampleContent { who: ProcessSelection::These(vec![5, 3, 3, 99]), ..ALL });
    assert_eq!(sample.processes.iter().map(|process| process.pid).collect::<Vec<_>>(), [3, 5]);
}

#[test]
fn a_first_sample_of_busy_processes_reads_no_text_and_the_next_does() {
    let mut sampler = HostSampler::open(&Host::real()).expect("Linux has /proc");
    for in_one_pass in [false, true] {
        if in_one_pass && !sampler.use_thread_list() {
            return;
        }
        let wanted = SampleContent {
            who: ProcessSelection::Everybody,
            texts: Texts::OfBusy,
            depth: Depth::Processes,
            sleepers: Sleepers::Asked,
        };
        let (mut earlier, mut later) = (HostSample::default(), HostSample::default());
        sampler.take(&wanted, None, &mut earlier).expect("listed");
        let own = std::process::id();
        let before = earlier.process(own).expect("it lives");
        assert!(before.line.is_none());
        // The one pass does not ask clocks, which are always up to date about who asks: a tick has to come.
        let until = sampler.now_ns() + 3 * KernelClocks.tick_ns();
        while sampler.now_ns() < until {}
        sampler.take(&wanted, Some(&earlier), &mut later).expect("listed");
        let process = later.process(own).expect("it lives");
        assert!(process.cpu.total_ns > before.cpu.total_ns && process.at_ns >= before.at_ns);
        assert!(process.identity.is_some() && process.line.is_some());
        assert_eq!(process.folder, before.folder);
        assert!(later.processes.is_sorted_by_key(|process| process.pid));
    }
}

#[test]
fn whoever_is_asked_for_and_there_is_found_in_whichever_way() {
    let host = Host::real();
    let mut sampler = HostSampler::open(&host).expect("Linux has /proc");
    let wanted = SampleContent {
        who: ProcessSelection::These(vec![0, std::process::id(), 1]),
        texts: Texts::OfAll,
        depth: Depth::Processes,
        sleepers: Sleepers::Asked,
    };
    let mut sample = HostSample::default();
    let first = Path::new("/proc/1").exists().then_some(1);
    let there: Vec<u32> = first.into_iter().chain([std::process::id()]).collect();
    for _way in [sampler.use_thread_list(), false] {
        sampler.take(&wanted, None, &mut sample).expect("listed");
        let found: Vec<u32> = sample.processes.iter().map(|process| process.pid).collect();
        assert_eq!(found, there);
        sampler = HostSampler::open(&host).expect("Linux has /proc");
    }
}

#[test]
fn this_process_s_threads_are_found() {
    let mut sampler = HostSampler::open(&Host::real()).expect("Linux has /proc");
    let own = std::process::id();
    let wanted = SampleContent {
        who: ProcessSelection::These(vec![own]),
        texts: Texts::OfAll,
        depth: Depth::Threads,
        sleepers: Sleepers::Asked,
    };
    let mut sample = HostSample::default();
    sampler.take(&wanted, None, &mut sample).expect("listed");
    let threads = sample.threads_of(sample.process(own).expect("it lives"));
    assert!(threads.iter().any(|thread| thread.tid == own));
    assert!(threads.iter().all(|thread| thread.line.is_some()));
}

#[test]
fn a_process_with_one_thread_is_known_by_its_own_line_unless_others_have_ended() {
    let fake = FakeProcHost::new();
    let mut sampler = HostSampler::with_clocks(&fake.host(), Box::new(FakeClocks)).expect("a proc folder");
    let (mut earlier, mut later) = (HostSample::default(), HostSample::default());
    let ticks = |sample: &HostSample| {
        let process = sample.process(3).expect("there");
        sample.threads_of(process).iter().map(|thread| thread.line.expect("read").user_ticks).collect::<Vec<_>>()
    };
    // What only its thread's line says shows whether that was read.
    for (threads, own, of_process, expected) in [(1, 5, 7, 7), (2, 6, 8, 6), (1, 7, 10, 7), (1, 8, 12, 8)] {
        fake.process(3, FakeThread { threads, user_ticks: of_process, run_ns: 1, ..FakeThread::default() });
        fake.thread(3, 3, FakeThread { threads, user_ticks: own, ..FakeThread::default() });
        let known = (!earlier.processes.is_empty()).then_some(&earlier);
        sampler.take(&ALL, known, &mut later).expect("listed");
        assert_eq!(ticks(&later), [expected]);
        std::mem::swap(&mut earlier, &mut later);
    }
}

#[test]
fn arguments_are_read_again_after_a_while_or_when_the_name_has_changed() {
    let mut identities = Identities::default();
    let due = [0, 1, IDENTITIES_EVERY_NS, IDENTITIES_EVERY_NS + 1].map(|at_ns| {
        identities.begin(at_ns);
        identities.are_due
    });
    assert_eq!(due, [true, false, true, false]);
    let fake = FakeProcHost::new();
    let mut sampler = HostSampler::with_clocks(&fake.host(), Box::new(FakeClocks)).expect("a proc folder");
    let (mut earlier, mut later) = (HostSample::default(), HostSample::default());
    for (name, arguments, expected) in [("sh", "one", "one"), ("sh", "two", "one"), ("ls", "three", "three")] {
        fake.process(3, FakeThread { name, ..FakeThread::default() });
        fake.file("/proc/3/cmdline", arguments);
        let known = (!earlier.processes.is_empty()).then_some(&earlier);
        sampler.take(&ALL, known, &mut later).expect("listed");
        let identity = later.process(3).and_then(|process| process.identity.clone()).expect("read");
        assert_eq!(identity.shown(), expected);
        std::mem::swap(&mut earlier, &mut later);
    }
}

/// Clocks that are moved by hand, and count who is asked.
#[derive(Clone, Default)]
struct HandClocks(std::rc::Rc<HandClocksState>);

#[derive(Default)]
struct HandClocksState {
    now_ns: std::cell::Cell<u64>,
    of_process_ns: std::cell::RefCell<std::collections::BTreeMap<u32, u64>>,
    asked: std::cell::RefCell<std::collections::BTreeSet<u32>>,
}

impl HostClocks for HandClocks {
    fn now_ns(&self) -> u64 {
        self.0.now_ns.set(self.0.now_ns.get() + 1);
        self.0.now_ns.get()
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
    fn process_ns(&self, pid: u32, _counted: Counted) -> Option<u64> {
        self.0.asked.borrow_mut().insert(pid);
        self.0.of_process_ns.borrow().get(&pid).copied()
    }
}

#[test]
fn sleepers_are_asked_in_turn_and_all_of_them_where_somebody_must_have_woken() {
    const SECOND_NS: u64 = 1_000_000_000;
    let fake = FakeProcHost::new();
    let clocks = HandClocks::default();
    let all: Vec<u32> = (1..=80).collect();
    for &pid in &all {
        fake.process(pid, FakeThread::default());
        clocks.0.of_process_ns.borrow_mut().insert(pid, 5_000);
    }
    let mut sampler = HostSampler::with_clocks(&fake.host(), Box::new(clocks.clone())).expect("a proc folder");
    let wanted = SampleContent { sleepers: Sleepers::Trusted, ..ALL };
    let mut earlier = HostSample::default();
    let mut total_ns = 0;
    // Who moves by how much, what the machine's total says of it, and how many sleepers are asked.
    let mut step = |moves: &[(u32, u64)], others_ns: u64| {
        for &(pid, by_ns) in moves {
            clocks.0.of_process_ns.borrow_mut().entry(pid).and_modify(|clock_ns| *clock_ns += by_ns);
            total_ns += by_ns;
        }
        total_ns += others_ns;
        let ticks = total_ns / FILE_TICK_NS;
        fake.file("/proc/stat", format!("cpu  {ticks} 0 0 8 0 0 0 0 0 0\ncpu0 {ticks} 0 0 8 0 0 0 0 0 0\n"));
        clocks.0.now_ns.set(clocks.0.now_ns.get() + SECOND_NS);
        clocks.0.asked.borrow_mut().clear();
        let mut later = HostSample::default();
        let known = Some(&earlier).filter(|sample| !sample.processes.is_empty());
        sampler.take(&wanted, known, &mut later).expect("listed");
        let used_ns = later.process(7).and_then(|process| process.cpu.total_ns);
        earlier = later;
        (clocks.0.asked.borrow().len(), used_ns)
    };
    assert_eq!(step(&[], 0), (80, Some(5_000)), "nobody is known");
    assert_eq!(step(&[], 0), (80, Some(5_000)), "nobody is known to sleep");
    assert_eq!(step(&[], 0).0, 20);
    // A spinner, seen by what it leaves unexplained; then it is known to be awake.
    assert_eq!(step(&[(7, SECOND_NS)], 0), (80, Some(5_000 + SECOND_NS)));
    assert_eq!(step(&[(7, SECOND_NS)], 0), (20, Some(5_000 + 2 * SECOND_NS)), "it is one of those whose turn it is");
    assert_eq!(step(&[(7, SECOND_NS)], 5_000_000).0, 21, "what is negligible");
    assert_eq!(step(&[], SECOND_NS / 2).0, 80, "somebody who has ended, perhaps");
    assert_eq!(step(&[], SECOND_NS / 2).0, 20, "as many as before");
    assert_eq!(step(&[(12, SECOND_NS)], SECOND_NS / 2).0, 80, "more than that");
    // All have had their turn after four samples: the last one is asked then, though it never uses enough to be missed.
    let woken: Vec<_> = (0..TURNS).map(|_| step(&[(7, 1_000)], 0)).collect();
    assert!(woken.iter().any(|(_, used_ns)| *used_ns > Some(5_000 + 3 * SECOND_NS)), "{woken:?}");
}
