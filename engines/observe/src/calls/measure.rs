//! Measuring by programs of ours in the kernel. Exact: they add up every call as it ends; nothing is copied for each. Sampled:
//! they add up every wait, and look a thousand times a second at what each CPU does; calls cost nothing more. What the
//! measuring itself costs is measured on this process first.

use super::layout::{self, CallMemory, Size, header, owner, thread};
use super::programs::births::{self, CallGrouping, KernelName, Selection};
use super::programs::{self, CallFields, CallProgram, MissingField};
use super::snapshot::CallSnapshot;
use super::{reading, sampled};
use crate::groups::{Hierarchies, Version};
use machine::{Host, HostError};
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use sys::bpf::btf::Btf;
use sys::bpf::iterate::visit_all;
use sys::bpf::probe::{Obstacle, kernel_types};
use sys::bpf::{Attached, LoadError, Place, Program, Samples};
use sys::cpu_clock::thread_cpu_ns;
use sys::null_call::{self, null_call};

/// How it is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MeasuringMethod {
    /// Every call.
    Exact,
    /// Every wait, and samples of what the CPUs do.
    Sampled,
}

/// What is to be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasuringRequest {
    /// How.
    pub method: MeasuringMethod,
    /// Whose calls.
    pub selection: Selection,
    /// What the table is by.
    pub grouping: CallGrouping,
    /// Which calls; empty: all.
    pub wanted: Vec<u32>,
}

/// Why it is not possible here.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// No programs in the kernel.
    #[error("put programs into the kernel")]
    Obstacle(#[source] Obstacle),
    /// Process numbers would mean something else.
    #[error("measure from inside a container: the kernel's process numbers are not those seen here")]
    Container,
    /// The kernel lacks a field.
    #[error("find '{0}' among the kernel's own types")]
    Field(&'static str),
    /// A fact about the machine could not be read.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The programs' memory.
    #[error("take memory for the programs in the kernel")]
    Memory(#[source] io::Error),
    /// Assembling failed: a slip of ours.
    #[error("assemble the program '{name}'")]
    Assemble {
        /// Which.
        name: &'static str,
        /// What is wrong with it.
        source: sys::bpf::assemble::AssembleError,
    },
    /// The kernel refused one.
    #[error("load the programs")]
    Load(#[source] LoadError),
    /// The pass over all threads failed.
    #[error("look at the threads there are")]
    Adopt(#[source] io::Error),
}

/// Between two samples of a CPU: 103 a second. Not a divisor or multiple of the kernel's tick, so that work that goes by the tick
/// is not always met, or never, at the same moment. A sample costs up to 11 us on a virtual machine, and what it disturbs as
/// much again: shorter would be felt, longer makes wide intervals (docs/journal/0006-system-calls.md).
pub const SAMPLE_PERIOD_NS: u64 = 9_700_019;

/// A program's name, cut as the kernel cuts it.
pub fn kernel_name(name: &[u8]) -> KernelName {
    let mut cut = [0; 16];
    for (to, from) in cut.iter_mut().take(15).zip(name) {
        *to = *from;
    }
    cut
}

/// What measuring costs here and now, measured on this process.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct MeasuringCost {
    /// The shortest call there is (`getppid`), not measured.
    pub call_ns: f64,
    /// How much longer it takes when it is measured.
    pub measured_ns: f64,
    /// How much longer it takes for everybody else.
    pub bystander_ns: f64,
    /// What is taken off every measured time.
    pub correction_ns: i64,
    /// What a sample costs the thread that is on the CPU; 0 where none are taken.
    pub sample_ns: f64,
}

/// A measurement under way. Dropped, it leaves nothing in the kernel.
pub struct Measurement {
    memory: CallMemory,
    programs: Vec<Program>,
    attached: Vec<Attached>,
    samples: Vec<Samples>,
    /// The pass over all threads, called only when it is read; none where nobody is there yet.
    adoption: Option<Attached>,
    cost: MeasuringCost,
    request: MeasuringRequest,
    began_ns: u64,
    /// The most that was added to a call, so that it is the time its caller sees.
    added_ns: AtomicU64,
}

/// The passes over the threads write nothing.
const ADOPTION_BYTES_MAX: u64 = 4096;

impl Measurement {
    /// Loads and attaches everything, measures its cost, and follows what is asked for from then on.
    pub fn start(host: &Host, request: &MeasuringRequest) -> Result<Self, MeasureError> {
        let btf = kernel_types().map_err(MeasureError::Obstacle)?;
        if !machine::sees_the_kernels_numbers(host)? {
            return Err(MeasureError::Container);
        }
        let old = Hierarchies::find(host).usage.filter(|hierarchy| hierarchy.version == Version::One);
        let fields =
            CallFields::find(&btf, old.map(|_| "cpuacct")).map_err(|MissingField(field)| MeasureError::Field(field))?;
        let size = Size::of(machine::thread_numbers(host)?, machine::possible_cpus(host)?);
        let memory = CallMemory::new(size).map_err(MeasureError::Memory)?;
        let base = Base::now();
        let (programs, mut attached) = load(&memory, &fields, request, &btf)?;
        let adoption = match request.selection {
            Selection::Born => None,
            _ => attached.pop(),
        };
        let mut samples = Vec::new();
        let cost = match request.method {
            MeasuringMethod::Exact => measure_cost(&memory, base),
            MeasuringMethod::Sampled => {
                let sampler = programs.last().expect("the sampler is the last");
                let cost = measure_sample_cost(sampler, base).map_err(MeasureError::Load)?;
                for cpu in 0..size.cpus {
                    samples.extend(Samples::on_cpu(cpu, SAMPLE_PERIOD_NS, sampler).map_err(MeasureError::Load)?);
                }
                cost
            }
        };
        let began_ns = now_ns();
        let request = request.clone();
        let added_ns = AtomicU64::new(added_ns(cost.correction_ns));
        let measurement = Self { memory, programs, attached, samples, adoption, cost, request, began_ns, added_ns };
        measurement.adopt()?;
        Ok(measurement)
    }

    /// Three times: a child that is born during the first pass, of a parent that it had not reached yet, is found by the second;
    /// and each pass mends what changed while the one before looked.
    fn adopt(&self) -> Result<(), MeasureError> {
        let Some(adoption) = &self.adoption else { return Ok(()) };
        for _pass in 0..3 {
            visit_all(adoption, ADOPTION_BYTES_MAX, &mut Vec::new()).map_err(MeasureError::Adopt)?;
        }
        Ok(())
    }

    /// Runs `work`, and follows every process that the calling thread starts in it, from the moment on at which that executes
    /// its program: what it did before, as our child, is not the program's.
    pub fn follow_born_in<Result>(&self, work: impl FnOnce() -> Result) -> Result {
        let row = self.memory.thread(own_thread());
        row.set_word(thread::BORN, now_ns());
        row.set_owner_and_call(layout::OWNER_OURSELVES, 0);
        let result = work();
        row.set_owner_and_call(layout::OWNER_NONE, 0);
        result
    }

    /// How it is measured.
    pub fn method(&self) -> MeasuringMethod {
        self.request.method
    }

    /// What measuring costs.
    pub fn cost(&self) -> MeasuringCost {
        self.cost
    }

    /// Measures anew what the programs take outside of a call's measured part. Others that watch calls come and go, and what
    /// they added when the measurement began would be taken for the calls' own time once they are gone.
    pub fn follow_changes(&self) {
        let row = self.memory.thread(own_thread());
        if self.request.method == MeasuringMethod::Exact && row.half(thread::OWNER) == layout::OWNER_NONE {
            let outside_ns = Pace::followed(&self.memory, RECALL_BATCHES).outside_ns();
            let correction_ns = (self.cost.measured_ns - outside_ns).round() as i64;
            self.memory.set_header(header::CORRECTION_NS, correction_ns.cast_unsigned());
            self.added_ns.fetch_max(added_ns(correction_ns), Ordering::Relaxed);
        }
    }

    /// Everything up to now.
    pub fn read(&self) -> CallSnapshot {
        let (mut snapshot, now_ns) = reading::read(&self.memory, self.request.grouping, now_ns);
        match self.request.method {
            MeasuringMethod::Sampled => sampled::estimate(&mut snapshot, &self.request.wanted),
            // ORDER: relaxed. One thread writes it and reads it.
            MeasuringMethod::Exact => {
                let (wanted, added_ns) = (&self.request.wanted, self.added_ns.load(Ordering::Relaxed));
                for owner in &mut snapshot.owners {
                    owner.keep(|call| wanted.is_empty() || wanted.contains(&call));
                    owner.close(added_ns);
                    owner.take_off_measuring(self.cost.measured_ns);
                }
            }
        }
        snapshot.elapsed_ns = now_ns.saturating_sub(self.began_ns);
        // A program that cannot be asked has not missed anything that we know of.
        snapshot.lost.events_missed = self.programs.iter().filter_map(|program| program.missed().ok()).sum();
        snapshot
    }

    /// Everything up to the end, which is now.
    pub fn finish(mut self) -> CallSnapshot {
        // Last attached, first detached: no call begins any more, those under way may still end. The end is when the last program
        // is gone, so that nobody has spent more time in calls than there was.
        self.samples.clear();
        while self.attached.pop().is_some() {}
        self.read()
    }
}

/// What a correction adds to each call.
fn added_ns(correction_ns: i64) -> u64 {
    correction_ns.min(0).unsigned_abs()
}

fn load(
    memory: &CallMemory,
    fields: &CallFields,
    request: &MeasuringRequest,
    btf: &Btf,
) -> Result<(Vec<Program>, Vec<Attached>), MeasureError> {
    let (selection, grouping, wanted) = (request.selection, request.grouping, request.wanted.as_slice());
    // Measuring the cost needs one more: what is not wanted is not measured.
    let measured = if wanted.is_empty() { Vec::new() } else { [wanted, &[null_call::NUMBER]].concat() };
    // Births first and calls last: whoever is followed is followed whole. The pass over all threads is the last that is
    // attached, the sampler the last that is loaded.
    let adopt = match selection {
        Selection::Born => None,
        _ => Some(("mh_adopt", Place::Iterator("task"), births::adopt(memory, fields, selection, grouping, wanted))),
    };
    let mut all: Vec<(&'static str, Place, CallProgram)> = vec![
        ("mh_fork", Place::Tracepoint("sched_process_fork"), births::fork(memory, fields, grouping)),
        ("mh_exec", Place::Tracepoint("sched_process_exec"), births::execute(memory, fields, selection, grouping)),
        ("mh_end", Place::Tracepoint("sched_process_exit"), births::end(memory, fields)),
    ];
    all.extend(match request.method {
        MeasuringMethod::Exact => vec![
            ("mh_switch", Place::Tracepoint("sched_switch"), programs::switch(memory, fields)),
            ("mh_exit", Place::Tracepoint("sys_exit"), programs::exit(memory, fields)),
            ("mh_enter", Place::Tracepoint("sys_enter"), programs::enter(memory, fields, &measured)),
        ],
        MeasuringMethod::Sampled => {
            vec![("mh_switch", Place::Tracepoint("sched_switch"), programs::sampled::switch(memory, fields))]
        }
    });
    all.extend(adopt);
    if request.method == MeasuringMethod::Sampled {
        all.push(("mh_sample", Place::Clock, programs::sampled::sample(memory, fields)));
    }
    let mut loaded = Vec::new();
    for (name, place, code) in all {
        let code = code.map_err(|source| MeasureError::Assemble { name, source })?;
        loaded.push(Program::load(place, name, &code, btf).map_err(MeasureError::Load)?);
    }
    let attached = loaded
        .iter()
        .filter(|program| program.place() != Place::Clock)
        .map(Program::attach)
        .collect::<Result<_, _>>()
        .map_err(MeasureError::Load)?;
    Ok((loaded, attached))
}

/// The clock that the programs read too.
pub fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// How fast this thread can call the kernel, and what the programs say it takes.
#[derive(Clone, Copy)]
struct Pace {
    call_ns: f64,
    measured_ns: f64,
}

/// Calls in a batch, and batches. The fastest batch counts: what disturbs makes slower, never faster.
const BATCH_CALLS: u64 = 400;
const BATCHES: usize = 40;
/// While it goes on, four times a second: a few milliseconds a second.
const RECALL_BATCHES: usize = 5;

impl Pace {
    fn now() -> Self {
        Self::of(BATCHES, || 0)
    }

    fn of(batches: usize, counted_ns: impl Fn() -> u64) -> Self {
        let mut best = Self { call_ns: f64::MAX, measured_ns: f64::MAX };
        for _batch in 0..batches {
            let (began, counted_before) = (now_ns(), counted_ns());
            for _call in 0..BATCH_CALLS {
                null_call();
            }
            let (took, counted) = (now_ns() - began, counted_ns() - counted_before);
            best.call_ns = best.call_ns.min(took as f64 / BATCH_CALLS as f64);
            best.measured_ns = best.measured_ns.min(counted as f64 / BATCH_CALLS as f64);
        }
        best
    }

    /// This thread while it is followed; what is taken off of its calls is added again.
    fn followed(memory: &CallMemory, batches: usize) -> Self {
        let row = memory.thread(own_thread());
        row.set_word(thread::BORN, now_ns());
        row.set_owner_and_call(layout::OWNER_OURSELVES, 0);
        let mut pace = Self::of(batches, || {
            let number = memory.place(layout::OWNER_OURSELVES, null_call::NUMBER);
            (0..memory.size.cpus).map(|cpu| memory.cell(cpu, number).word(layout::cell::TOTAL)).sum()
        });
        row.set_owner_and_call(layout::OWNER_NONE, 0);
        memory.owner(layout::OWNER_OURSELVES).set_word(owner::LIFE, 0);
        pace.measured_ns += memory.header(header::CORRECTION_NS).cast_signed() as f64;
        pace
    }

    /// Of a call, what the programs do not measure.
    fn outside_ns(self) -> f64 {
        self.call_ns - self.measured_ns
    }
}

fn own_thread() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
}

/// The price of a call for others, and for those who are measured; from here on the difference is taken off.
fn measure_cost(memory: &CallMemory, base: Base) -> MeasuringCost {
    let bystander = Pace::now();
    let measured = Pace::followed(memory, BATCHES);
    let correction_ns = (measured.measured_ns - base.pace.call_ns).round() as i64;
    memory.set_header(header::CORRECTION_NS, correction_ns.cast_unsigned());
    MeasuringCost {
        call_ns: base.pace.call_ns,
        measured_ns: (measured.call_ns - base.pace.call_ns).max(0.0),
        bystander_ns: (bystander.call_ns - base.pace.call_ns).max(0.0),
        correction_ns,
        sample_ns: 0.0,
    }
}

/// What a sample costs: this thread is sampled so often that it shows in the time that a fixed piece of work takes.
fn measure_sample_cost(sampler: &Program, base: Base) -> Result<MeasuringCost, LoadError> {
    let pace = Pace::now();
    let work_ns = {
        let _samples = Samples::on_this_thread(CALIBRATION_PERIOD_NS, sampler)?;
        work_ns()
    };
    let samples = (work_ns / CALIBRATION_PERIOD_NS as f64).max(1.0);
    let added_ns = (pace.call_ns - base.pace.call_ns).max(0.0);
    Ok(MeasuringCost {
        call_ns: base.pace.call_ns,
        measured_ns: added_ns,
        bystander_ns: added_ns,
        correction_ns: 0,
        sample_ns: (work_ns - base.work_ns).max(0.0) / samples,
    })
}

/// As often as the kernel lets samples be taken without complaint in so short a time.
const CALIBRATION_PERIOD_NS: u64 = 40_000;

/// What this thread does undisturbed.
#[derive(Clone, Copy)]
struct Base {
    pace: Pace,
    work_ns: f64,
}

impl Base {
    fn now() -> Self {
        Self { pace: Pace::now(), work_ns: work_ns() }
    }
}

/// How much CPU time a fixed piece of work takes that is no call: about two milliseconds, the least of some. CPU time, because
/// it has the samples' interrupts in it, but not the turns of others.
fn work_ns() -> f64 {
    let one = |_attempt| {
        let began = thread_cpu_ns();
        let mut state = began | 1;
        for _step in 0..1_500_000 {
            state = std::hint::black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
        std::hint::black_box(state);
        thread_cpu_ns() - began
    };
    (0..4).map(one).min().expect("four attempts") as f64
}

#[cfg(test)]
mod tests {
    use super::super::snapshot::{CallTimes, OwnerTimes, TimeOwner};
    use super::*;
    use parking_lot::{Mutex, MutexGuard};
    use rustix::process::getpid;
    use std::time::Duration;
    use sys::session::group_of;

    const SELECTIONS: [fn() -> Selection; 4] = [
        || Selection::AllBut { own: std::process::id() },
        || Selection::Named(kernel_name(b"no such name")),
        || Selection::Tree { root: std::process::id() },
        || Selection::Born,
    ];
    const GROUPINGS: [CallGrouping; 5] =
        [CallGrouping::Together, CallGrouping::Process, CallGrouping::Thread, CallGrouping::Name, CallGrouping::Group];

    /// These tests watch the process that all of them run in: one after the other.
    fn alone() -> MutexGuard<'static, ()> {
        static ALONE: Mutex<()> = Mutex::new(());
        ALONE.lock()
    }

    /// None where this process may not; `sys` tests that it says why.
    fn start(
        method: MeasuringMethod,
        selection: Selection,
        grouping: CallGrouping,
        wanted: Vec<u32>,
    ) -> Option<Measurement> {
        match Measurement::start(&Host::real(), &MeasuringRequest { method, selection, grouping, wanted }) {
            Ok(exact) => Some(exact),
            Err(MeasureError::Obstacle(_) | MeasureError::Container) => None,
            Err(error) => panic!("{error}: {error:?}"),
        }
    }

    fn call<'a>(owner: &'a OwnerTimes, name: &str) -> Option<&'a CallTimes> {
        let number = super::super::names::call_number(name)?;
        owner.calls.iter().find(|call| call.number == number)
    }

    #[test]
    fn the_kernel_takes_the_programs_of_every_request() {
        let _alone = alone();
        for (selection, method) in
            SELECTIONS.iter().flat_map(|s| [(s, MeasuringMethod::Exact), (s, MeasuringMethod::Sampled)])
        {
            for grouping in GROUPINGS {
                let Some(exact) = start(method, selection(), grouping, Vec::new()) else { return };
                let snapshot = exact.finish();
                // A machine may have more threads than are told apart.
                let lost = snapshot.lost;
                assert_eq!((lost.threads_missed, lost.events_missed), (0, 0), "{grouping:?}: {lost:?}");
            }
            assert!(start(method, selection(), CallGrouping::Together, vec![0, 1, 3]).is_some());
        }
    }

    #[test]
    fn calls_of_this_process_are_counted_exactly_and_sums_close() {
        let _alone = alone();
        let Some(exact) = start(
            MeasuringMethod::Exact,
            Selection::Tree { root: std::process::id() },
            CallGrouping::Together,
            Vec::new(),
        ) else {
            return;
        };
        for _call in 0..1000 {
            let _group = group_of(getpid());
            assert_eq!(rustix::process::Pid::from_raw(i32::MAX).and_then(group_of), None);
        }
        std::thread::sleep(Duration::from_millis(20));
        let snapshot = exact.finish();
        let [owner] = snapshot.owners.as_slice() else { panic!("{:?}", snapshot.owners) };
        assert_eq!(owner.who, TimeOwner::All);
        let counted = call(owner, "getpgid").expect("it was called");
        assert_eq!((counted.ended, counted.errors.as_slice()), (2000, &[(3, 1000)][..]), "ESRCH");
        let slept = call(owner, "clock_nanosleep").unwrap_or_else(|| panic!("it was called: {snapshot:?}"));
        assert!(
            slept.total_ns + slept.ended * 1000 >= 20_000_000
                && slept.waiting_ns <= slept.total_ns + 1000 * slept.ended
        );
        assert_eq!(slept.durations.iter().sum::<u64>(), slept.ended);
        assert!(owner.in_calls_ns() <= owner.life_ns, "{owner:?}");
        assert!(owner.threads_living >= 1);
    }

    /// Others that watch calls make them longer; when they are gone nobody may go on taking that off, or adding it.
    #[test]
    fn sums_close_when_other_measurements_come_and_go() {
        let _alone = alone();
        let begin = || start(MeasuringMethod::Exact, Selection::Born, CallGrouping::Together, Vec::new());
        let Some(others) = (0..6).map(|_| begin()).collect::<Option<Vec<_>>>() else { return };
        let measurement = begin().expect("as the others");
        drop(others);
        let copy = || {
            let mut dd = std::process::Command::new("/bin/dd");
            dd.args(["if=/dev/zero", "of=/dev/null", "bs=1", "count=200000"])
                .stderr(std::process::Stdio::null())
                .status()
        };
        assert!(measurement.follow_born_in(copy).expect("there is a dd").success());
        measurement.follow_changes();
        let snapshot = measurement.finish();
        let [owner] = snapshot.owners.as_slice() else { panic!("{:?}", snapshot.owners) };
        assert!(owner.in_calls_ns() + owner.between_waiting_ns <= owner.life_ns, "{owner:?}");
        assert!(call(owner, "read").is_some_and(|call| call.ended >= 200_000), "{owner:?}");
    }

    #[test]
    fn children_are_followed_and_told_apart() {
        let _alone = alone();
        let Some(exact) = start(
            MeasuringMethod::Exact,
            Selection::Tree { root: std::process::id() },
            CallGrouping::Process,
            Vec::new(),
        ) else {
            return;
        };
        let child = std::process::Command::new("/bin/sleep").arg("0.01").spawn().expect("there is a sleep");
        let pid = child.id();
        assert!(child.wait_with_output().expect("waited").status.success());
        let snapshot = exact.finish();
        let owner =
            snapshot.owners.iter().find(|owner| owner.who == TimeOwner::Process { pid, name: "sleep".to_owned() });
        let owner = owner.unwrap_or_else(|| {
            panic!("no {pid}: {:?}", snapshot.owners.iter().map(|owner| &owner.who).collect::<Vec<_>>())
        });
        assert_eq!((owner.threads, owner.threads_living), (1, 0));
        assert!(call(owner, "execve").is_some_and(|call| call.ended == 1), "{owner:?}");
        assert!(call(owner, "clock_nanosleep").is_some());
    }

    #[test]
    fn a_name_is_followed_from_its_start_to_its_next_program() {
        let _alone = alone();
        let name = Selection::Named(kernel_name(b"sleep"));
        let Some(exact) = start(MeasuringMethod::Exact, name, CallGrouping::Name, Vec::new()) else { return };
        // A shell executes sleep: what the shell did before is not in the table.
        assert!(std::process::Command::new("/bin/sh").args(["-c", "exec sleep 0.01"]).status().expect("sh").success());
        let snapshot = exact.finish();
        let owner =
            snapshot.owners.iter().find(|owner| owner.who == TimeOwner::Name("sleep".to_owned())).expect("followed");
        assert!(call(owner, "clock_nanosleep").is_some(), "{owner:?}");
        assert_eq!(call(owner, "vfork").or(call(owner, "clone")), None);
        assert!(snapshot.bystander_calls > 0);
    }

    #[test]
    fn sampled_waits_are_exact_and_work_is_shared_out_by_samples() {
        let _alone = alone();
        let tree = Selection::Tree { root: std::process::id() };
        let Some(sampled) = start(MeasuringMethod::Sampled, tree, CallGrouping::Together, Vec::new()) else { return };
        std::thread::sleep(Duration::from_millis(30));
        let until = now_ns() + 300_000_000;
        while now_ns() < until {
            (0..100).for_each(|_| null_call());
        }
        let snapshot = sampled.finish();
        let owner = &snapshot.owners[0];
        let slept = call(owner, "clock_nanosleep").unwrap_or_else(|| panic!("it was called: {snapshot:?}"));
        assert!(slept.waiting_ns >= 29_000_000, "{slept:?}");
        assert!(snapshot.samples > 0 && owner.samples > 0, "{snapshot:?}");
        assert!(call(owner, "getppid").is_some_and(|call| call.samples > 0 && call.ended == 0), "{owner:?}");
        assert!(owner.in_calls_ns() + owner.between_waiting_ns <= owner.life_ns + 1000, "{owner:?}");
    }

    #[test]
    fn what_this_thread_starts_is_followed_from_its_programs_first_moment() {
        let _alone = alone();
        let Some(exact) = start(MeasuringMethod::Exact, Selection::Born, CallGrouping::Name, Vec::new()) else {
            return;
        };
        let mut child = exact
            .follow_born_in(|| std::process::Command::new("/bin/sleep").arg("0.01").spawn())
            .expect("there is a sleep");
        assert!(child.wait().expect("waited").success());
        let snapshot = exact.finish();
        let owner =
            snapshot.owners.iter().find(|owner| owner.who == TimeOwner::Name("sleep".to_owned())).expect("followed");
        assert!(call(owner, "exit_group").is_none() && owner.cut_ns > 0, "{owner:?}");
        for ours in ["execve", "rt_sigaction", "rt_sigprocmask"] {
            assert!(snapshot.owners.iter().all(|owner| call(owner, ours).is_none()), "{ours}: {:?}", snapshot.owners);
        }
        assert_eq!(snapshot.owners.iter().map(|owner| owner.threads).sum::<u64>(), 1);
    }

    #[test]
    fn control_groups_have_numbers_and_the_own_one_a_path() {
        let _alone = alone();
        let tree = Selection::Tree { root: std::process::id() };
        let Some(exact) = start(MeasuringMethod::Exact, tree, CallGrouping::Group, Vec::new()) else { return };
        let mut snapshot = exact.finish();
        super::super::paths::name_groups(&Host::real(), &mut snapshot);
        let named = snapshot.owners.iter().all(|owner| matches!(&owner.who, TimeOwner::Group { path: Some(_), .. }));
        assert!(
            named && !snapshot.owners.is_empty(),
            "{:?}",
            snapshot.owners.iter().map(|owner| &owner.who).collect::<Vec<_>>()
        );
    }

    #[test]
    fn only_the_calls_that_are_wanted_are_counted() {
        let _alone = alone();
        let wanted = vec![super::super::names::call_number("getpgid").expect("there")];
        let Some(exact) = start(
            MeasuringMethod::Exact,
            Selection::Tree { root: std::process::id() },
            CallGrouping::Together,
            wanted.clone(),
        ) else {
            return;
        };
        let _group = group_of(getpid());
        let snapshot = exact.finish();
        let numbers: Vec<u32> = snapshot.owners[0].calls.iter().map(|call| call.number).collect();
        assert_eq!(numbers, wanted);
    }

    /// As if the thread had left its CPU a millisecond into its call, and come back behind the tracepoint's back.
    #[test]
    fn a_return_that_no_switch_told_ends_the_wait_with_the_call_and_is_said() {
        let _alone = alone();
        let tree = Selection::Tree { root: std::process::id() };
        let Some(exact) = start(MeasuringMethod::Exact, tree, CallGrouping::Together, Vec::new()) else { return };
        let row = exact.memory.thread(own_thread());
        let before = exact.memory.header(header::RETURNS_UNSEEN);
        let mut zeros = std::fs::File::open("/dev/zero").expect("there is one");
        let mut room = vec![0; 64 << 20];
        row.set_word(thread::OFF_SINCE, now_ns() + 1_000_000);
        // Milliseconds of work, and no wait.
        io::Read::read(&mut zeros, &mut room).expect("zeros");
        assert_eq!(row.word(thread::OFF_SINCE), 0);
        // One that began before its call is not that call's.
        row.set_word(thread::OFF_SINCE, now_ns());
        let _group = group_of(getpid());
        assert_eq!(row.word(thread::OFF_SINCE), 0);
        let snapshot = exact.finish();
        assert!(snapshot.lost.returns_unseen >= before + 2, "{:?}", snapshot.lost);
        let read = call(&snapshot.owners[0], "read").expect("it was called");
        assert!(read.waiting_ns > 0 && read.waiting_ns < read.total_ns, "{read:?}");
    }

    #[test]
    fn names_are_cut_as_the_kernel_cuts_them() {
        let _alone = alone();
        assert_eq!(&kernel_name(b"a-name-of-twenty-bytes"), b"a-name-of-twent\0");
        assert_eq!(&kernel_name(b"a")[..3], b"a\0\0");
    }
}
