//! A run that gives way to external programs measures, once a second while it works, how many cores they keep busy, and leaves these out
//! of its row's CPUs. What follows from a measurement is decided in `external_programs`; this only looks.

use super::Member;
use crate::budget::external_programs::{ExternalPrograms, ExternalSample};
use crate::budget::seat::Seat;
use machine::{Host, Resource};
use rustix::process::Pid;
use std::collections::BTreeSet;
use std::time::Instant;
use sys::process_tree;

/// What a run that gives way remembers between two looks.
#[derive(Default)]
pub(super) struct Lookout {
    external_programs: ExternalPrograms,
    before: Option<Look>,
}

/// Sums since the beginning of things.
struct Look {
    at: Instant,
    machine: machine::ProcessorTime,
    /// Clock ticks that the runs of the table and all processes below them have used.
    own_ticks: u64,
    /// Hands of runs that cannot be asked (of another pid namespace): so many cores, at most.
    own_elsewhere: u32,
    pressure_us: Option<u64>,
    delay_ns: u64,
}

impl Look {
    fn now(seat: &Seat) -> Option<Self> {
        let host = Host::real();
        let machine = machine::processor_time(&host).ok()?;
        let (processes, own_elsewhere) = seat.runs();
        let roots: Vec<Pid> = processes.iter().filter_map(|&pid| Pid::from_raw(pid.cast_signed())).collect();
        let below = process_tree::below(&roots).into_iter().map(|process| process.pid);
        let all: BTreeSet<u32> =
            below.chain(roots.iter().copied()).map(|pid| pid.as_raw_nonzero().get().unsigned_abs()).collect();
        // With the children that each has waited for: these are no longer there to be asked.
        let ticks = |&pid: &u32| machine::process_cpu_ticks(&host, pid).ok().flatten().unwrap_or(0);
        let pressure = machine::pressure(&host, Resource::Cpu).ok().flatten();
        Some(Self {
            at: Instant::now(),
            machine,
            own_ticks: all.iter().map(ticks).sum(),
            own_elsewhere,
            pressure_us: pressure.map(|pressure| pressure.total_us),
            delay_ns: machine::own_run_delay_ns(&host),
        })
    }

    fn since(&self, before: &Self) -> Option<ExternalSample> {
        let seconds = self.at.saturating_duration_since(before.at).as_secs_f64();
        let online = machine::online_cpus(&Host::real()).ok()? as f64;
        let share = |now: u64, before: u64, a_second: f64| now.saturating_sub(before) as f64 / a_second / seconds;
        let ticks_a_second = rustix::param::clock_ticks_per_second() as f64;
        let pressure = self.pressure_us.zip(before.pressure_us);
        Some(ExternalSample {
            busy: self.machine.busy_share_since(&before.machine)? * online,
            own: share(self.own_ticks, before.own_ticks, ticks_a_second) + f64::from(self.own_elsewhere),
            pressure: pressure.map(|(now, before)| share(now, before, 1e6)),
            delayed: share(self.delay_ns, before.delay_ns, 1e9),
        })
    }
}

impl Member {
    /// Called about once a second.
    pub(super) fn look_for_external_programs(&self, seat: &Seat) {
        if !self.shared.gives_way(seat.standing().class) {
            return seat.leave_out(0);
        }
        let mut lookout = crate::sync::lock(&self.once_a_second.lookout);
        let Some(now) = Look::now(seat) else { return };
        if let Some(sample) = lookout.before.as_ref().and_then(|before| now.since(before)) {
            let left_out = lookout.external_programs.note(sample, self.shared.surroundings.cpus.count());
            seat.leave_out(left_out);
        }
        lookout.before = Some(now);
    }
}
